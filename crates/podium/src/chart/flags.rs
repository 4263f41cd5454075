//! The flags of the commands that render a chart.

use crate::flag::{Flag, Takes};

const REGISTRY: &str = "charts are read from a directory or an archive on this machine; fetching them comes with the authors' tools";
const PGP: &str = "signatures cannot be checked yet";
const PLUGIN: &str = "helm plugins cannot be run; pipe the output through a program instead";

/// Where values come from.
pub const VALUES: &[Flag] = &[
    Flag::new(
        "values",
        Takes::List("FILE"),
        "read values from a YAML file; `-` is standard input (repeatable, later files win)",
    )
    .short('f'),
    Flag::new("set", Takes::Many("KEY=VALUE"), "set a value: a.b=1,c[0]=x (repeatable)"),
    Flag::new("set-string", Takes::Many("KEY=VALUE"), "set a value that stays a string (repeatable)"),
    Flag::new(
        "set-json",
        Takes::Many("KEY=JSON"),
        "set a value written in JSON, or a whole object (repeatable)",
    ),
    Flag::new("set-file", Takes::Many("KEY=FILE"), "set a value to the content of a file (repeatable)"),
    Flag::new(
        "set-literal",
        Takes::Many("KEY=TEXT"),
        "set a value to a text as it is, commas and all (repeatable)",
    ),
];

/// How a chart is rendered.
pub const RENDER: &[Flag] = &[
    Flag::new("helm-version", Takes::One("3|4"), "which Helm to be like, to the byte (default 4)"),
    Flag::new("skip-schema-validation", Takes::Switch, "do not check the values against values.schema.json"),
    Flag::new(
        "max-seconds",
        Takes::One("SECONDS"),
        "stop a render that takes longer (default 60; 0 is no limit)",
    ),
];

/// What a render is told about its release and its cluster.
pub const TOLD: &[Flag] = &[
    Flag::new("name-template", Takes::One("TEMPLATE"), "a template that makes the name of the release"),
    Flag::new("is-upgrade", Takes::Switch, "set .Release.IsUpgrade instead of .Release.IsInstall"),
    Flag::new("kube-version", Takes::One("VERSION"), "the version of Kubernetes that templates see"),
    Flag::new(
        "api-versions",
        Takes::List("GROUP/VERSION"),
        "API versions that templates see besides the usual ones (repeatable)",
    )
    .short('a'),
    Flag::new("debug", Takes::Switch, "with an error, print what was rendered all the same"),
];

/// What is printed of a rendered chart.
pub const OUTPUT: &[Flag] = &[
    Flag::new("show-only", Takes::Many("TEMPLATE"), "print only what these templates render (repeatable)")
        .short('s'),
    Flag::new("include-crds", Takes::Switch, "print the CRDs of crds/ too"),
    Flag::new("no-hooks", Takes::Switch, "leave hooks out"),
    Flag::new("skip-tests", Takes::Switch, "leave test hooks out"),
    Flag::new(
        "output-dir",
        Takes::One("DIR"),
        "write a file per template below this directory instead of printing",
    ),
    Flag::new(
        "release-name",
        Takes::Switch,
        "with --output-dir: a directory named like the release below it",
    ),
    Flag::new("enable-dns", Takes::Switch, "let templates look host names up"),
];

/// Flags of `helm template` that change nothing in what it prints.
pub const INERT: &[Flag] = &[
    Flag::inert("generate-name", Takes::Switch).short('g'),
    Flag::inert("atomic", Takes::Switch),
    Flag::inert("rollback-on-failure", Takes::Switch),
    Flag::inert("create-namespace", Takes::Switch),
    Flag::inert("description", Takes::One("TEXT")),
    Flag::inert("devel", Takes::Switch),
    Flag::inert("disable-openapi-validation", Takes::Switch),
    Flag::inert("force", Takes::Switch),
    Flag::inert("force-conflicts", Takes::Switch),
    Flag::inert("force-replace", Takes::Switch),
    Flag::inert("hide-notes", Takes::Switch),
    Flag::inert("labels", Takes::Many("KEY=VALUE")).short('l'),
    Flag::inert("render-subchart-notes", Takes::Switch),
    Flag::inert("replace", Takes::Switch),
    Flag::inert("server-side", Takes::Switch),
    Flag::inert("skip-crds", Takes::Switch),
    Flag::inert("take-ownership", Takes::Switch),
    Flag::inert("timeout", Takes::One("DURATION")),
    Flag::inert("wait", Takes::Optional("STRATEGY", "watcher")),
    Flag::inert("wait-for-jobs", Takes::Switch),
    Flag::inert("version", Takes::One("RANGE")),
    Flag::inert("burst-limit", Takes::One("N")),
    Flag::inert("qps", Takes::One("N")),
    Flag::inert("color", Takes::One("WHEN")),
    Flag::inert("colour", Takes::One("WHEN")),
];

/// Flags of `helm template` that need what is not there.
pub const REFUSED: &[Flag] = &[
    Flag::refused("ca-file", Takes::One("FILE"), REGISTRY),
    Flag::refused("cert-file", Takes::One("FILE"), REGISTRY),
    Flag::refused("key-file", Takes::One("FILE"), REGISTRY),
    Flag::refused("insecure-skip-tls-verify", Takes::Switch, REGISTRY),
    Flag::refused("plain-http", Takes::Switch, REGISTRY),
    Flag::refused("pass-credentials", Takes::Switch, REGISTRY),
    Flag::refused("username", Takes::One("NAME"), REGISTRY),
    Flag::refused("password", Takes::One("PASSWORD"), REGISTRY),
    Flag::refused("repo", Takes::One("URL"), REGISTRY),
    Flag::refused("registry-config", Takes::One("FILE"), REGISTRY),
    Flag::refused("repository-cache", Takes::One("DIR"), REGISTRY),
    Flag::refused("repository-config", Takes::One("FILE"), REGISTRY),
    Flag::refused("content-cache", Takes::One("DIR"), REGISTRY),
    Flag::refused("dependency-update", Takes::Switch, REGISTRY),
    Flag::refused("verify", Takes::Switch, PGP),
    Flag::refused("keyring", Takes::One("FILE"), PGP),
    Flag::refused("post-renderer", Takes::One("NAME"), PLUGIN),
    Flag::refused("post-renderer-args", Takes::Many("ARG"), PLUGIN),
];

/// What `--dry-run` without a value is, as in Helm.
pub const BARE_DRY_RUN: &str = "unset";

/// What a cluster may be asked for a render.
pub const CLUSTER: &[Flag] = &[
    Flag::new(
        "dry-run",
        Takes::Optional("client|server", BARE_DRY_RUN),
        "server: ask the cluster for its version, its kinds and what templates look up, and check that nothing is in \
         the way; client (the default): ask nobody",
    ),
    Flag::new("validate", Takes::Switch, "the older name of --dry-run=server"),
];
