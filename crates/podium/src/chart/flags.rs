//! The flags of the commands that render a chart.

use crate::flag::{Flag, Takes};

const NO_CHECK: &str =
    "connections without checks are none; give the authority's certificate with --ca-file instead";
const PGP: &str = "signatures cannot be checked yet";
const SIGN: &str = "charts cannot be signed yet; sign the archive with gpg instead";
const JSON_PATHS: &str = "`podium chart values CHART --show PATH` shows single values";
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
    Flag::inert("burst-limit", Takes::One("N")),
    Flag::inert("qps", Takes::One("N")),
    Flag::inert("color", Takes::One("WHEN")),
    Flag::inert("colour", Takes::One("WHEN")),
];

/// How registries and repositories are talked to.
pub const REMOTE: &[Flag] = &[
    Flag::new("ca-file", Takes::One("FILE"), "certificates (PEM) that the server's has to be signed by"),
    Flag::new(
        "cert-file",
        Takes::One("FILE"),
        "a certificate (PEM) of your own, for servers that ask for one",
    ),
    Flag::new("key-file", Takes::One("FILE"), "the key (PEM) of that certificate"),
    Flag::refused("insecure-skip-tls-verify", Takes::Switch, NO_CHECK),
    Flag::new(
        "plain-http",
        Takes::Switch,
        "talk to registries without TLS (those of this machine may do so anyway)",
    ),
    Flag::new("username", Takes::One("NAME"), "the name for the repository or registry"),
    Flag::new("password", Takes::One("PASSWORD"), "the password for the repository or registry"),
];

/// Which repository a chart is in.
pub const REPOSITORY: &[Flag] = &[
    Flag::new("repo", Takes::One("URL"), "the repository that the chart is in"),
    Flag::new(
        "pass-credentials",
        Takes::Switch,
        "show the name and the password to the host of the archive too, if that is another one",
    ),
];

/// Which version of a chart is wanted.
pub const WANTED: &[Flag] = &[
    Flag::new("version", Takes::One("RANGE"), "the version, or a range of versions (default: the newest)"),
    Flag::new("devel", Takes::Switch, "take pre-releases too"),
];

/// Where Helm keeps what it knows of repositories.
pub const CACHES: &[Flag] = &[
    Flag::new(
        "registry-config",
        Takes::One("FILE"),
        "credentials of registries (default: HELM_REGISTRY_CONFIG, then helm's, then docker's and podman's)",
    ),
    Flag::new(
        "repository-cache",
        Takes::One("DIR"),
        "indexes of repositories (default: HELM_REPOSITORY_CACHE, then helm's)",
    ),
    Flag::new(
        "repository-config",
        Takes::One("FILE"),
        "names of repositories (default: HELM_REPOSITORY_CONFIG, then helm's)",
    ),
    Flag::inert("content-cache", Takes::One("DIR")),
];

/// Where Helm keeps what it knows of repositories, for commands that need none.
pub const NO_CACHES: &[Flag] = &[
    Flag::inert("registry-config", Takes::One("FILE")),
    Flag::inert("repository-cache", Takes::One("DIR")),
    Flag::inert("repository-config", Takes::One("FILE")),
    Flag::inert("content-cache", Takes::One("DIR")),
];

/// Dependencies that are fetched first.
pub const UPDATE: &[Flag] =
    &[Flag::new("dependency-update", Takes::Switch, "get the charts that are missing in charts/ first")];

/// The same, where it has a short name.
pub const UPDATE_FIRST: &[Flag] = &[Flag::new(
    "dependency-update",
    Takes::Switch,
    "get the newest charts that Chart.yaml allows into charts/ first",
)
.short('u')];

/// Signatures.
pub const SIGNATURES: &[Flag] =
    &[Flag::refused("verify", Takes::Switch, PGP), Flag::refused("keyring", Takes::One("FILE"), PGP)];

/// Programs that change what is rendered.
pub const PLUGINS: &[Flag] = &[
    Flag::refused("post-renderer", Takes::One("NAME"), PLUGIN),
    Flag::refused("post-renderer-args", Takes::Many("ARG"), PLUGIN),
];

/// All flags that may need what is not there.
pub const REFUSED: &[&[Flag]] = &[REMOTE, REPOSITORY, CACHES, SIGNATURES, PLUGINS, SIGNING, JSONPATH];

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

/// Flags of Helm's that every command has, and that have nothing to do with charts on this machine.
pub const GLOBAL: &[Flag] = &[
    Flag::inert("debug", Takes::Switch),
    Flag::inert("kube-apiserver", Takes::One("URL")),
    Flag::inert("kube-token", Takes::One("TOKEN")),
    Flag::inert("kube-as-user", Takes::One("USER")),
    Flag::inert("kube-as-group", Takes::Many("GROUP")),
    Flag::inert("kube-ca-file", Takes::One("FILE")),
    Flag::inert("kube-tls-server-name", Takes::One("NAME")),
    Flag::inert("kube-insecure-skip-tls-verify", Takes::Switch),
    Flag::inert("burst-limit", Takes::One("N")),
    Flag::inert("qps", Takes::One("N")),
    Flag::inert("color", Takes::One("WHEN")),
    Flag::inert("colour", Takes::One("WHEN")),
];

/// Where a cluster would be, for commands that ask none.
pub const NO_CLUSTER: &[Flag] = &[
    Flag::inert("namespace", Takes::One("NAME")).short('n'),
    Flag::inert("kubeconfig", Takes::One("FILE")),
    Flag::inert("kube-context", Takes::One("NAME")),
];

/// Flags of `helm package` that need a key.
pub const SIGNING: &[Flag] = &[
    Flag::refused("sign", Takes::Switch, SIGN),
    Flag::refused("key", Takes::One("NAME"), SIGN),
    Flag::refused("passphrase-file", Takes::One("FILE"), SIGN),
];

/// The flag of `helm show values` that picks values.
pub const JSONPATH: &[Flag] = &[Flag::refused("jsonpath", Takes::One("TEMPLATE"), JSON_PATHS)];

/// Where public keys are, which nobody needs who does not sign.
pub const KEYRING: &[Flag] = &[Flag::inert("keyring", Takes::One("FILE"))];

/// Which Helm to be like.
pub const HELM_VERSION: &[Flag] =
    &[Flag::new("helm-version", Takes::One("3|4"), "which Helm to be like, to the byte (default 4)")];
