//! `.Capabilities` as templates see it.

use podium_gotmpl::types::STRING;
use podium_gotmpl::{Call, Ctx, Error, Func, Heap, Shape, Str, Type, Value, types};

use crate::capabilities::Capabilities;
use crate::dialect::Dialect;

/// The types of one dialect.
struct Types {
    capabilities: &'static Type,
    kube_version: &'static Type,
    version_set: &'static Type,
    helm_version: &'static Type,
    /// Whether the struct keeps the version without suffixes apart.
    normalized: bool,
}

const fn field(name: &'static str, ty: &'static Type, json: &'static str, omit_empty: bool) -> types::Field {
    types::Field { name, ty, json, omit_empty, embedded: false }
}

static HAS: &[Func] = &[Func { name: "Has", params: &[&STRING], variadic: false, call: Call::Native(has) }];
static VERSION_METHODS: &[Func] = &[
    Func { name: "String", params: &[], variadic: false, call: Call::Native(normalized) },
    Func { name: "GitVersion", params: &[], variadic: false, call: Call::Native(version) },
];
static COPY: &[Func] =
    &[Func { name: "Copy", params: &[], variadic: false, call: Call::Native(|_, args| Ok(args[0].clone())) }];

static HELM4_KUBE: Type = Type::defined(
    "common.KubeVersion",
    Shape::Struct(&[
        field("Version", &STRING, "Version", false),
        field("normalizedVersion", &STRING, "", false),
        field("Major", &STRING, "Major", false),
        field("Minor", &STRING, "Minor", false),
    ]),
    VERSION_METHODS,
);
static HELM3_KUBE: Type = Type::defined(
    "chartutil.KubeVersion",
    Shape::Struct(&[
        field("Version", &STRING, "Version", false),
        field("Major", &STRING, "Major", false),
        field("Minor", &STRING, "Minor", false),
    ]),
    VERSION_METHODS,
);
static HELM4_SET: Type = Type::defined("common.VersionSet", Shape::Slice(&STRING), HAS);
static HELM3_SET: Type = Type::defined("chartutil.VersionSet", Shape::Slice(&STRING), HAS);
static HELM4_HELM: Type = Type::defined(
    "version.BuildInfo",
    Shape::Struct(&[
        field("Version", &STRING, "version", true),
        field("GitCommit", &STRING, "git_commit", true),
        field("GitTreeState", &STRING, "git_tree_state", true),
        field("GoVersion", &STRING, "go_version", true),
        field("KubeClientVersion", &STRING, "kube_client_version", false),
    ]),
    &[],
);
static HELM3_HELM: Type = Type::defined(
    "version.BuildInfo",
    Shape::Struct(&[
        field("Version", &STRING, "version", true),
        field("GitCommit", &STRING, "git_commit", true),
        field("GitTreeState", &STRING, "git_tree_state", true),
        field("GoVersion", &STRING, "go_version", true),
    ]),
    &[],
);
static HELM4_STRUCT: Type = Type::defined(
    "common.Capabilities",
    Shape::Struct(&[
        field("KubeVersion", &HELM4_KUBE, "KubeVersion", false),
        field("APIVersions", &HELM4_SET, "APIVersions", false),
        field("HelmVersion", &HELM4_HELM, "HelmVersion", false),
    ]),
    COPY,
);
static HELM3_STRUCT: Type = Type::defined(
    "chartutil.Capabilities",
    Shape::Struct(&[
        field("KubeVersion", &HELM3_KUBE, "KubeVersion", false),
        field("APIVersions", &HELM3_SET, "APIVersions", false),
        field("HelmVersion", &HELM3_HELM, "HelmVersion", false),
    ]),
    COPY,
);
static HELM4_POINTER: Type = Type::literal("*common.Capabilities", Shape::Pointer(&HELM4_STRUCT));
static HELM3_POINTER: Type = Type::literal("*chartutil.Capabilities", Shape::Pointer(&HELM3_STRUCT));

static HELM4: Types = Types {
    capabilities: &HELM4_POINTER,
    kube_version: &HELM4_KUBE,
    version_set: &HELM4_SET,
    helm_version: &HELM4_HELM,
    normalized: true,
};
static HELM3: Types = Types {
    capabilities: &HELM3_POINTER,
    kube_version: &HELM3_KUBE,
    version_set: &HELM3_SET,
    helm_version: &HELM3_HELM,
    normalized: false,
};

/// The object of a render.
pub fn to_value<'h>(
    heap: &'h Heap<'h>,
    capabilities: &'h Capabilities,
    dialect: &'static Dialect,
) -> Value<'h> {
    let types = if dialect.go_package == "common" { &HELM4 } else { &HELM3 };
    let text = |s: &'h str| Value::Str(Str::from(s));
    let kube = &capabilities.kube_version;
    let mut version = vec![text(&kube.version)];
    if types.normalized {
        version.push(text(&kube.normalized));
    }
    version.extend([text(&kube.major), text(&kube.minor)]);
    let versions = capabilities.api_versions.iter().map(|v| text(v)).collect();
    let helm = dialect.helm_version;
    let mut build = vec![text(helm.version), text(""), text(""), text(helm.go_version)];
    build.extend(helm.kube_client_version.map(text));
    heap.structure(
        types.capabilities,
        vec![
            heap.structure(types.kube_version, version),
            heap.typed_list(types.version_set, versions),
            heap.structure(types.helm_version, build),
        ],
    )
}

fn has<'h>(_: &Ctx<'h>, args: &[Value<'h>]) -> Result<Value<'h>, Error> {
    let [Value::List(set), Value::Str(wanted)] = args else {
        return Ok(Value::Bool(false));
    };
    Ok(Value::Bool(set.items.iter().any(|v| v.as_str().is_some_and(|v| v == wanted))))
}

fn version<'h>(_: &Ctx<'h>, args: &[Value<'h>]) -> Result<Value<'h>, Error> {
    match args {
        [Value::Struct(s)] => Ok(s.fields.first().cloned().unwrap_or_default()),
        _ => Ok(Value::Nil),
    }
}

/// The version without suffixes, where it is kept (a deep copy loses it); else all of it.
fn normalized<'h>(_: &Ctx<'h>, args: &[Value<'h>]) -> Result<Value<'h>, Error> {
    match args {
        [Value::Struct(s)] => {
            let kept = s.fields.get(1).filter(|kept| s.fields.len() > 3 && kept.truth());
            Ok(kept.or(s.fields.first()).cloned().unwrap_or_default())
        }
        _ => Ok(Value::Nil),
    }
}
