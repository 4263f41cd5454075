//! The bundle of an operator project: a ClusterServiceVersion and what belongs to it, every name with its version.

use std::collections::BTreeMap;

use podium_versions::blang::Version;
use serde_json::{Map, Value, json};

use crate::value::{list, text, to_yaml};
use crate::{ANNOTATIONS_FILE, CHANNELS, CSV, DEFAULT_CHANNEL, MANIFESTS, PACKAGE};

/// The label and annotation with the form of a bundle.
pub const MEDIA_TYPE: &str = "operators.operatorframework.io.bundle.mediatype.v1";
/// The label and annotation with the folder of the objects.
pub const MANIFESTS_FOLDER: &str = "operators.operatorframework.io.bundle.manifests.v1";
/// The label and annotation with the folder of what is said about them.
pub const METADATA_FOLDER: &str = "operators.operatorframework.io.bundle.metadata.v1";
/// The definitions of the kinds that the operator serves, also of those that the bundle does not own. Neither opm nor
/// the lifecycle controller looks at it; versions are compared by it.
pub const KINDS_FILE: &str = "metadata/kinds.yaml";

/// A kind that the operator serves.
#[derive(Debug, Clone)]
pub struct Served {
    /// The CustomResourceDefinition.
    pub crd: Value,
    /// The definition that the values of the chart would have, if that is another one.
    pub values: Option<Value>,
    /// The version that the operator asks for.
    pub version: String,
    /// The labels that a resource needs for this operator to care.
    pub labels: BTreeMap<String, String>,
}

/// What a bundle is made from.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The package.
    pub package: String,
    /// The version.
    pub version: String,
    /// The channels that the author wishes.
    pub channels: Vec<String>,
    /// The channel that is the usual one, if the author wishes one.
    pub default_channel: Option<String>,
    /// The kinds that it serves.
    pub kinds: Vec<Served>,
    /// Whether the bundle installs their definitions. Only one extension of a cluster can.
    pub owns_kinds: bool,
    /// Rules for every namespace that it watches.
    pub permissions: Vec<Value>,
    /// Rules for the whole cluster.
    pub cluster_permissions: Vec<Value>,
    /// The Deployment, under the name that [`suffixed`] gives.
    pub deployment: Value,
    /// A ClusterServiceVersion with what people read: names, descriptions, icons, links; null for none.
    pub base: Value,
}

/// Why there is no bundle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The version is none.
    #[error("the version {version:?} is no semantic version ({error}): write it as 1.2.3")]
    Version {
        /// What was given.
        version: String,
        /// Why.
        error: String,
    },
    /// The name of the package is none.
    #[error("the package name {0:?} is no DNS label: use small letters, digits and '-', at most 63 of them")]
    Package(String),
    /// A name with its version is too long.
    #[error("{0:?} is longer than 63 signs: choose a shorter package name (--package)")]
    Long(String),
    /// No channel at all.
    #[error("a bundle is in at least one channel: --channels stable")]
    NoChannel,
    /// The usual channel is none of the channels.
    #[error("the default channel {0:?} is none of the channels: add it to --channels")]
    DefaultChannel(String),
    /// The base is something else.
    #[error("the base is a {0:?}, not a ClusterServiceVersion")]
    Base(String),
}

/// A name with a version behind it, so that several versions can be in one cluster.
pub fn suffixed(name: &str, version: &str) -> String {
    let sign = |sign: char| if sign.is_ascii_alphanumeric() { sign.to_ascii_lowercase() } else { '-' };
    format!("{name}-{}", version.chars().map(sign).collect::<String>())
}

fn is_label(name: &str) -> bool {
    name.len() <= 63 && !name.contains('.') && crate::names::subdomain(name).is_empty()
}

/// The files of the bundle.
pub fn generate(plan: &Plan) -> Result<BTreeMap<String, Vec<u8>>, Error> {
    check(plan)?;
    let mut files = BTreeMap::new();
    let csv_file = format!("{MANIFESTS}/{}.clusterserviceversion.yaml", plan.package);
    files.insert(csv_file, to_yaml(&csv(plan)));
    for served in &plan.kinds {
        let (group, plural) = (text(&served.crd, "/spec/group"), text(&served.crd, "/spec/names/plural"));
        if plan.owns_kinds {
            files.insert(format!("{MANIFESTS}/{group}_{plural}.yaml"), to_yaml(&served.crd));
        }
        for (role, verbs) in [
            ("editor", &["create", "delete", "get", "list", "patch", "update", "watch"][..]),
            ("viewer", &["get", "list", "watch"]),
        ] {
            let name = suffixed(&format!("{plural}.{group}-{role}"), &plan.version);
            let labels = json!({"app.kubernetes.io/name": plan.package, "app.kubernetes.io/version": label(&plan.version)});
            let object = json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                "metadata": {"name": name, "labels": labels},
                "rules": [
                    {"apiGroups": [group], "resources": [plural], "verbs": verbs},
                    {"apiGroups": [group], "resources": [format!("{plural}/status")], "verbs": ["get"]},
                ],
            });
            files.insert(format!("{MANIFESTS}/{plural}.{group}-{role}.clusterrole.yaml"), to_yaml(&object));
        }
    }
    files.insert(ANNOTATIONS_FILE.to_owned(), to_yaml(&json!({"annotations": labels(plan)})));
    if !plan.kinds.is_empty() {
        let crds: Vec<&Value> = plan.kinds.iter().map(|served| &served.crd).collect();
        let mut kinds = json!({"kinds": crds});
        let values: Vec<&Value> = plan.kinds.iter().filter_map(|served| served.values.as_ref()).collect();
        if !values.is_empty() {
            kinds["values"] = json!(values);
        }
        files.insert(KINDS_FILE.to_owned(), to_yaml(&kinds));
    }
    Ok(files)
}

/// A version as the value of a label.
fn label(version: &str) -> String {
    version.chars().map(|sign| if sign == '+' { '_' } else { sign }).take(63).collect()
}

/// The labels of the image of a bundle, which are also its annotations.
pub fn labels(plan: &Plan) -> Map<String, Value> {
    let mut labels = Map::new();
    for (key, value) in [
        (MEDIA_TYPE, "registry+v1"),
        (MANIFESTS_FOLDER, "manifests/"),
        (METADATA_FOLDER, "metadata/"),
        (PACKAGE, &plan.package),
        (CHANNELS, &plan.channels.join(",")),
    ] {
        labels.insert(key.to_owned(), Value::from(value));
    }
    if let Some(channel) = &plan.default_channel {
        labels.insert(DEFAULT_CHANNEL.to_owned(), Value::from(channel.as_str()));
    }
    labels
}

fn check(plan: &Plan) -> Result<(), Error> {
    Version::parse(&plan.version)
        .map_err(|error| Error::Version { version: plan.version.clone(), error: error.to_string() })?;
    if !is_label(&plan.package) {
        return Err(Error::Package(plan.package.clone()));
    }
    let name = suffixed(&plan.package, &plan.version);
    if name.len() > 63 {
        return Err(Error::Long(name));
    }
    if plan.channels.is_empty() {
        return Err(Error::NoChannel);
    }
    if let Some(channel) = plan.default_channel.as_ref().filter(|channel| !plan.channels.contains(channel)) {
        return Err(Error::DefaultChannel(channel.clone()));
    }
    match text(&plan.base, "/kind") {
        "" | CSV => Ok(()),
        other => Err(Error::Base(other.to_owned())),
    }
}

/// The images of a Deployment.
fn images(deployment: &Value) -> Vec<Value> {
    let pods =
        ["containers", "initContainers"].map(|key| list(deployment, &format!("/spec/template/spec/{key}")));
    let all = pods.into_iter().flatten();
    all.map(|one| json!({"name": text(one, "/name"), "image": text(one, "/image")})).collect()
}

fn csv(plan: &Plan) -> Value {
    let name = suffixed(&plan.package, &plan.version);
    let examples: Vec<Value> = plan.kinds.iter().map(example).collect();
    let mut annotations = json!({
        "alm-examples": serde_json::to_string_pretty(&examples).unwrap_or_default(),
        "capabilities": "Basic Install",
    });
    if let Some(image) = images(&plan.deployment).first() {
        annotations["containerImage"] = image["image"].clone();
    }
    let owned = plan.kinds.iter().filter(|_| plan.owns_kinds).map(|served| {
        let kind = text(&served.crd, "/spec/names/kind");
        json!({"name": text(&served.crd, "/metadata/name"), "version": served.version, "kind": kind, "displayName": kind})
    });
    let permission = |rules: &[Value]| json!([{"serviceAccountName": name, "rules": rules}]);
    let mut strategy = json!({"deployments": [{
        "name": text(&plan.deployment, "/metadata/name"),
        "label": plan.deployment.pointer("/metadata/labels"),
        "spec": plan.deployment.get("spec"),
    }]});
    for (key, rules) in
        [("permissions", &plan.permissions), ("clusterPermissions", &plan.cluster_permissions)]
    {
        if !rules.is_empty() {
            strategy[key] = permission(rules);
        }
    }
    let mode = |mode: &str| json!({"type": mode, "supported": mode == "AllNamespaces"});
    let modes: Vec<Value> =
        ["OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces"].map(mode).into();
    let mut csv = json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": CSV,
        "metadata": {"name": format!("{}.v{}", plan.package, plan.version), "annotations": annotations},
        "spec": {"displayName": plan.package, "description": format!("The operator of {}.", plan.package),
            "installModes": modes, "relatedImages": images(&plan.deployment)},
    });
    // What people read is theirs; what is computed is not.
    for section in ["annotations", "labels"] {
        let given = plan.base.pointer(&format!("/metadata/{section}")).and_then(Value::as_object);
        for (key, value) in given.into_iter().flatten() {
            csv["metadata"][section][key] = value.clone();
        }
    }
    for (key, value) in plan.base.get("spec").and_then(Value::as_object).into_iter().flatten() {
        csv["spec"][key] = value.clone();
    }
    csv["spec"]["version"] = Value::from(plan.version.as_str());
    csv["spec"]["install"] = json!({"strategy": "deployment", "spec": strategy});
    csv["spec"]["customresourcedefinitions"] = json!({"owned": owned.collect::<Vec<_>>()});
    csv
}

/// The least resource of a kind that this operator cares for.
fn example(served: &Served) -> Value {
    let kind = text(&served.crd, "/spec/names/kind");
    let mut metadata = json!({"name": format!("my-{}", kind.to_lowercase())});
    if !served.labels.is_empty() {
        metadata["labels"] = json!(served.labels);
    }
    let api_version = format!("{}/{}", text(&served.crd, "/spec/group"), served.version);
    json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": {}})
}

/// The Dockerfile that makes the image of a bundle in a folder, for those who build with Docker.
pub fn dockerfile(labels: &Map<String, Value>, folder: &str) -> String {
    let mut out = String::from("FROM scratch\n\n");
    for (key, value) in labels {
        out.push_str(&format!("LABEL {key}={}\n", value.as_str().unwrap_or_default()));
    }
    out.push_str(&format!("\nCOPY {folder}/manifests /manifests/\nCOPY {folder}/metadata /metadata/\n"));
    out
}

#[cfg(test)]
mod tests {
    use super::{Error, Plan, Served, generate, suffixed};
    use crate::render::{Certificates, Options};
    use crate::{Tree, olm_bundle, validate};
    use serde_json::{Value, json};

    fn plan() -> Plan {
        let name = suffixed("web", "1.2.3-rc.1");
        let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "webs.example.com"},
            "spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Web", "plural": "webs"},
                "versions": [{"name": "v1", "served": true, "storage": true}]}});
        let pod = json!({"containers": [{"name": "operator", "image": "example.com/web:1"}], "serviceAccountName": name});
        let labels = json!({"app": name});
        Plan {
            package: "web".to_owned(),
            version: "1.2.3-rc.1".to_owned(),
            channels: vec!["stable".to_owned()],
            default_channel: None,
            kinds: vec![Served {
                crd,
                values: None,
                version: "v1".to_owned(),
                labels: [("operatorVersion".to_owned(), "v1".to_owned())].into(),
            }],
            owns_kinds: false,
            permissions: vec![json!({"apiGroups": [""], "resources": ["events"], "verbs": ["create"]})],
            cluster_permissions: vec![
                json!({"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["*"]}),
            ],
            deployment: json!({"metadata": {"name": name, "labels": labels},
                "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}}}),
            base: Value::Null,
        }
    }

    fn options() -> Options {
        Options {
            namespace: "x".to_owned(),
            certificates: Some(Certificates::CertManager),
            ..Options::default()
        }
    }

    #[test]
    fn what_is_generated_is_valid_and_says_its_version() {
        for owns_kinds in [false, true] {
            let plan = Plan { owns_kinds, ..plan() };
            let tree = Tree::new(generate(&plan).unwrap()).unwrap();
            assert_eq!(validate(&tree, &options()), []);
            let bundle = olm_bundle(&tree, "example.com/web-bundle:1").unwrap();
            assert_eq!((bundle.name.as_str(), bundle.version().as_str()), ("web.v1.2.3-rc.1", "1.2.3-rc.1"));
            let registry = crate::Registry::new(&tree).unwrap();
            let objects = crate::render::render(&registry, &options()).unwrap();
            let versioned = |name: &str| {
                name.contains("1-2-3-rc-1")
                    || name.contains("v1.2.3-rc.1")
                    || name.contains("webs.example.com")
            };
            assert!(objects.iter().all(|object| versioned(&object.name())), "{objects:?}");
        }
    }

    #[test]
    fn mistakes_are_told_before_anything_is_made() {
        let bad = |change: fn(&mut Plan)| {
            let mut plan = plan();
            change(&mut plan);
            generate(&plan).unwrap_err()
        };
        assert!(matches!(bad(|plan| plan.version = "1.2".to_owned()), Error::Version { .. }));
        assert!(matches!(bad(|plan| plan.package = "a.b".to_owned()), Error::Package(_)));
        assert!(matches!(bad(|plan| plan.package = "a".repeat(60)), Error::Long(_)));
        assert!(matches!(bad(|plan| plan.channels.clear()), Error::NoChannel));
        assert!(matches!(bad(|plan| plan.default_channel = Some("x".to_owned())), Error::DefaultChannel(_)));
        assert!(matches!(bad(|plan| plan.base = json!({"kind": "Pod"})), Error::Base(_)));
    }
}
