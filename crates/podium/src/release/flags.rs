//! The flags of the commands about releases, with Helm's names.

use crate::flag::{Flag, Takes};

/// Which form a program wants.
pub const OUTPUT: &[Flag] =
    &[Flag::new("output", Takes::One("FORMAT"), "table (the default), json or yaml").short('o')];

/// What becomes of the values of the last revision.
pub const REUSE: &[Flag] = &[
    Flag::new("reset-values", Takes::Switch, "forget the values of the last revision"),
    Flag::new("reuse-values", Takes::Switch, "keep the values of the last revision and its chart's defaults"),
    Flag::new(
        "reset-then-reuse-values",
        Takes::Switch,
        "keep the values of the last revision, with the new defaults",
    ),
];

/// Which revision.
pub const REVISION: &[Flag] =
    &[Flag::new("revision", Takes::One("N"), "this revision instead of the last one")];

/// Which values.
pub const VALUES: &[Flag] =
    &[Flag::new("all", Takes::Switch, "with the chart's defaults, not only what the user set").short('a')];

/// Of `get all`.
pub const GET_ALL: &[Flag] = &[Flag::refused(
    "template",
    Takes::One("TEMPLATE"),
    "take what you need from `podium release status -o json` or `release get metadata -o json`",
)];

/// Of `history`.
pub const HISTORY: &[Flag] = &[
    Flag::new("max", Takes::One("N"), "show at most so many revisions (default 256)"),
    Flag::new(
        "show-rollback-revision",
        Takes::Switch,
        "add a column with the revision that was gone back to",
    ),
];

/// Of `list`.
pub const LIST: &[Flag] = &[
    Flag::new("all-namespaces", Takes::Switch, "the releases of all namespaces").short('A'),
    Flag::new("filter", Takes::One("REGEX"), "only releases whose names match").short('f'),
    Flag::new("selector", Takes::One("LABELS"), "only releases with these labels: a=b,c!=d").short('l'),
    Flag::new("deployed", Takes::Switch, "only deployed releases (the state flags can be combined)"),
    Flag::new("failed", Takes::Switch, "only failed releases"),
    Flag::new("pending", Takes::Switch, "only releases in the middle of something"),
    Flag::new("superseded", Takes::Switch, "only superseded revisions"),
    Flag::new("uninstalled", Takes::Switch, "only releases that were uninstalled with their history kept"),
    Flag::new("uninstalling", Takes::Switch, "only releases that are being uninstalled"),
    Flag::new("date", Takes::Switch, "in the order of their deployment, not of their names").short('d'),
    Flag::new("reverse", Takes::Switch, "in the opposite order").short('r'),
    Flag::new("max", Takes::One("N"), "show at most so many (default 256; 0 is all)").short('m'),
    Flag::new("offset", Takes::One("N"), "leave so many out at the start"),
    Flag::new("short", Takes::Switch, "print names only").short('q'),
    Flag::new("no-headers", Takes::Switch, "print no headings"),
    Flag::new(
        "time-format",
        Takes::One("LAYOUT"),
        "how times are printed, as a layout of Go's: \"2006-01-02 15:04\"",
    ),
];

const SERVER_SIDE: &str =
    "objects are always applied by the server; the release can be changed by `helm` all the same";

/// Of everything that changes a release.
pub const CHANGE: &[Flag] = &[
    Flag::new(
        "wait",
        Takes::Optional("watcher|hookOnly", "watcher"),
        "wait until all objects are ready, not only for hooks",
    ),
    Flag::new("wait-for-jobs", Takes::Switch, "with --wait: until Jobs have ended too"),
    Flag::new("timeout", Takes::One("DURATION"), "how long each wait may take (default 5m)"),
    Flag::new("no-hooks", Takes::Switch, "run no hooks"),
    Flag::new("description", Takes::One("TEXT"), "a sentence for the history"),
    Flag::new(
        "recover",
        Takes::Switch,
        "take over at once from whoever left the release in the middle of a change (else after --timeout)",
    ),
];

/// Of what has a dry run.
pub const DRY_RUN: &[Flag] = &[Flag::new(
    "dry-run",
    Takes::Optional("server", "server"),
    "change nothing: have the server check every object, and print what would be stored",
)];

/// Of a new revision.
pub const REVISE: &[Flag] = &[
    Flag::new("history-max", Takes::One("N"), "keep at most so many revisions (default 10; 0 is all)"),
    Flag::new("cleanup-on-fail", Takes::Switch, "delete the objects that a failed change has made"),
];

/// Of what renders a chart.
pub const MAKE: &[Flag] = &[
    Flag::new(
        "rollback-on-failure",
        Takes::Switch,
        "undo what fails: uninstall, or go back to the last revision that worked; waits too",
    ),
    Flag::new("atomic", Takes::Switch, "the older name of --rollback-on-failure"),
    Flag::new(
        "take-ownership",
        Takes::Switch,
        "adopt objects that are there and belong to no release, or to another",
    ),
    Flag::new("skip-crds", Takes::Switch, "leave the CRDs of crds/ alone"),
    Flag::new("create-namespace", Takes::Switch, "make the namespace if it is missing"),
    Flag::new("labels", Takes::Many("KEY=VALUE"), "labels of the record; key=null takes one away").short('l'),
    Flag::new("hide-notes", Takes::Switch, "do not print the notes"),
    Flag::new("render-subchart-notes", Takes::Switch, "print the notes of subcharts too"),
    Flag::new("enable-dns", Takes::Switch, "let templates look host names up"),
    Flag::inert("debug", Takes::Switch),
    Flag::inert("force-conflicts", Takes::Switch),
    Flag::inert("disable-openapi-validation", Takes::Switch),
    Flag::inert("burst-limit", Takes::One("N")),
    Flag::inert("qps", Takes::One("N")),
    Flag::inert("color", Takes::One("WHEN")),
    Flag::inert("colour", Takes::One("WHEN")),
];

/// Of `diff`.
pub const DIFF: &[Flag] = &[
    Flag::new("take-ownership", Takes::Switch, "as if objects of others were adopted"),
    Flag::new("skip-crds", Takes::Switch, "leave the CRDs of crds/ out"),
];

/// Of `install`.
pub const INSTALL: &[Flag] = &[
    Flag::new("generate-name", Takes::Switch, "make a name up; give no NAME then").short('g'),
    Flag::new("name-template", Takes::One("TEMPLATE"), "a template that makes the name; give no NAME then"),
    Flag::new(
        "replace",
        Takes::Switch,
        "take the name of a release that was uninstalled with its history kept",
    ),
];

/// Of `upgrade`.
pub const UPGRADE: &[Flag] =
    &[Flag::new("install", Takes::Switch, "install it if there is no such release").short('i')];

/// Of `uninstall`.
pub const UNINSTALL: &[Flag] = &[
    Flag::new("keep-history", Takes::Switch, "keep the records, so that it can be rolled back"),
    Flag::new("ignore-not-found", Takes::Switch, "it is no error when there is no such release"),
    Flag::new(
        "cascade",
        Takes::One("HOW"),
        "background (the default), foreground or orphan: what becomes of dependents",
    ),
];

/// Of `test`.
pub const TEST: &[Flag] = &[
    Flag::new(
        "filter",
        Takes::List("name=NAME"),
        "only these tests, or with !name= all but these (repeatable)",
    ),
    Flag::new("logs", Takes::Switch, "print what the test pods print"),
];

/// Flags of Helm's that would make something else of the objects.
pub const CHANGE_REFUSED: &[Flag] = &[
    Flag::refused("server-side", Takes::Optional("BOOL", "true"), SERVER_SIDE),
    Flag::refused(
        "force-replace",
        Takes::Switch,
        "objects are never replaced as a whole; delete the one that cannot be changed, and run this again",
    ),
    Flag::refused(
        "force",
        Takes::Switch,
        "objects are never replaced as a whole; delete the one that cannot be changed, and run this again",
    ),
    Flag::refused(
        "hide-secret",
        Takes::Switch,
        "`podium release diff` shows what would change without the values of Secrets",
    ),
];
