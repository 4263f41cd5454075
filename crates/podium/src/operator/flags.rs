//! The flags of the operator, with the names of the originals.

use crate::flag::{Flag, Takes};

/// Of `operator run`.
pub const RUN: &[Flag] = &[
    Flag::new(
        "watches-file",
        Takes::One("FILE"),
        "which kinds are handled with which charts (default ./watches.yaml)",
    ),
    Flag::new(
        "reconcile-period",
        Takes::One("DURATION"),
        "look at every resource so often even if nothing happens (default: never; changes are seen by watching)",
    ),
    Flag::new(
        "max-concurrent-reconciles",
        Takes::One("N"),
        "how many resources of a kind are worked on at the same time (default 6)",
    ),
    Flag::new(
        "metrics-bind-address",
        Takes::One("ADDRESS"),
        "where /metrics is served (default :8080; 0 is nowhere)",
    ),
    Flag::new(
        "metrics-secure",
        Takes::Switch,
        "serve /metrics with TLS, with a certificate that is made at the start",
    ),
    Flag::new(
        "metrics-require-rbac",
        Takes::Switch,
        "serve /metrics only to those who may get it: needs --metrics-secure, and the right to create token and subject access reviews",
    ),
    Flag::new(
        "health-probe-bind-address",
        Takes::One("ADDRESS"),
        "where /healthz and /readyz are served (default :8081; 0 is nowhere)",
    ),
    Flag::new("leader-elect", Takes::Switch, "of several operators with the same lease, one works"),
    Flag::new("leader-election-id", Takes::One("NAME"), "the name of that lease"),
    Flag::new("leader-election-namespace", Takes::One("NAME"), "its namespace (default: the operator's)"),
    Flag::new("suppress-override-values", Takes::Switch, "hide override values in Events"),
    Flag::new(
        "history-max",
        Takes::One("N"),
        "keep at most so many revisions of a release (default 10; 0 is all)",
    ),
    Flag::new("reload", Takes::Switch, "load charts anew when their files change: for authors"),
    Flag::new("zap-log-level", Takes::One("LEVEL"), "debug, info (the default) or error"),
    Flag::new("zap-encoder", Takes::One("FORM"), "console (the default) or json"),
    Flag::new("zap-devel", Takes::Switch, "debug lines on the console, as with --zap-log-level debug"),
];

/// Flags of the originals that change nothing here.
pub const INERT: &[Flag] = &[
    Flag::inert("enable-http2", Takes::Switch),
    Flag::inert("zap-stacktrace-level", Takes::One("LEVEL")),
    Flag::inert("zap-time-encoding", Takes::One("FORM")),
];

/// The older names of some flags.
pub const OLD: [(Flag, &str); 2] = [
    (
        Flag::new("metrics-addr", Takes::One("ADDRESS"), "the older name of --metrics-bind-address"),
        "metrics-bind-address",
    ),
    (Flag::new("enable-leader-election", Takes::Switch, "the older name of --leader-elect"), "leader-elect"),
];

/// Of what renders the charts of a project.
pub const CHARTS: &[Flag] = &[
    Flag::new("watches-file", Takes::One("FILE"), "the project's watches.yaml (default ./watches.yaml)"),
    Flag::new(
        "values",
        Takes::Many("FILE"),
        "values or resources that the charts are rendered with besides their defaults (repeatable)",
    )
    .short('f'),
    Flag::new(
        "api-versions",
        Takes::List("GROUP/VERSION"),
        "API versions that templates see besides the usual ones",
    )
    .short('a'),
];

/// Of what makes objects for the operator of a project.
pub const PROJECT: &[Flag] = &[
    Flag::new(
        "watch-namespace",
        Takes::List("NAME"),
        "the namespaces that are watched (default: all of them, which needs a ClusterRole)",
    ),
    Flag::new("namespace", Takes::One("NAME"), "the namespace that the operator runs in (default: default)")
        .short('n'),
    Flag::new(
        "name",
        Takes::One("NAME"),
        "the name of the operator's objects (default: projectName of the file PROJECT, then the project's folder)",
    ),
];

/// Of `operator manifests`.
pub const MANIFESTS: &[Flag] = &[Flag::new(
    "image",
    Takes::One("IMAGE"),
    "the image: podium, with watches.yaml and the charts below /opt/helm",
)];
