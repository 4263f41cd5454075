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
