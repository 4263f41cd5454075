//! Generates the bundle of an operator project: CSV, CRDs, roles and annotations, with versioned names.

use std::collections::BTreeMap;

use podium_versions::blang::Version;
use serde_json::{Map, Value, json};

use crate::value::{array_at, string_at, to_yaml};
use crate::{
    ANNOTATIONS_FILE, CHANNELS_LABEL, CSV_KIND, DEFAULT_CHANNEL_LABEL, MANIFESTS_DIR, PACKAGE_LABEL,
};

/// Label and annotation with the bundle format.
pub const MEDIA_TYPE_LABEL: &str = "operators.operatorframework.io.bundle.mediatype.v1";
/// Label and annotation with the manifests directory.
pub const MANIFESTS_LABEL: &str = "operators.operatorframework.io.bundle.manifests.v1";
/// Label and annotation with the metadata directory.
pub const METADATA_LABEL: &str = "operators.operatorframework.io.bundle.metadata.v1";
/// CRDs that the operator watches, including those that the bundle does not own. opm and operator-controller
/// ignore the file; [`compare`](mod@crate::compare) reads it.
pub const KINDS_FILE: &str = "metadata/kinds.yaml";

/// A kind that the operator watches.
#[derive(Debug, Clone)]
pub struct WatchedKind {
    /// CustomResourceDefinition.
    pub crd: Value,
    /// CRD derived from the chart values, if it differs from `crd`.
    pub values: Option<Value>,
    /// API version that the operator watches.
    pub version: String,
    /// Labels that the watch selector requires.
    pub labels: BTreeMap<String, String>,
}

/// Input of [`generate`].
#[derive(Debug, Clone)]
pub struct BundleSpec {
    /// Package name.
    pub package: String,
    /// Version.
    pub version: String,
    /// Channels of the bundle.
    pub channels: Vec<String>,
    /// Default channel, if set.
    pub default_channel: Option<String>,
    /// Watched kinds.
    pub kinds: Vec<WatchedKind>,
    /// Whether the bundle contains the CRDs. Only one ClusterExtension per cluster can own a CRD.
    pub owns_kinds: bool,
    /// Policy rules for each target namespace.
    pub permissions: Vec<Value>,
    /// Policy rules for the whole cluster.
    pub cluster_permissions: Vec<Value>,
    /// The operator's Deployment, named by [`versioned_name`].
    pub deployment: Value,
    /// CSV with display name, description, icons and links to start from; null for none.
    pub base: Value,
}

/// Why no bundle can be generated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The version is not a semantic version.
    #[error("the version {version:?} is not a semantic version ({error}): write it as 1.2.3")]
    Version {
        /// The given version.
        version: String,
        /// Parse error.
        error: String,
    },
    /// The package name is not a DNS label.
    #[error("the package name {0:?} is not a DNS label: use at most 63 lower-case letters, digits and '-'")]
    Package(String),
    /// A versioned name exceeds 63 characters.
    #[error("{0:?} is longer than 63 characters: choose a shorter package name (--package)")]
    NameTooLong(String),
    /// The bundle has no channel.
    #[error("a bundle needs at least one channel: --channels stable")]
    NoChannel,
    /// The default channel is not one of the channels.
    #[error("the default channel {0:?} is not one of the channels: add it to --channels")]
    DefaultChannel(String),
    /// The base object is not a ClusterServiceVersion.
    #[error("the base is a {0:?}, not a ClusterServiceVersion")]
    BaseKind(String),
}

/// Appends a version to a name, so that several versions can run in one cluster.
pub fn versioned_name(name: &str, version: &str) -> String {
    let c = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    format!("{name}-{}", version.chars().map(c).collect::<String>())
}

fn is_dns1123_label(name: &str) -> bool {
    name.len() <= 63 && !name.contains('.') && crate::names::validate_dns1123_subdomain(name).is_empty()
}

/// Generates the files of the bundle.
pub fn generate(spec: &BundleSpec) -> Result<BTreeMap<String, Vec<u8>>, Error> {
    validate_spec(spec)?;
    let mut files = BTreeMap::new();
    let csv_file = format!("{MANIFESTS_DIR}/{}.clusterserviceversion.yaml", spec.package);
    files.insert(csv_file, to_yaml(&build_csv(spec)));
    for watched in &spec.kinds {
        let (group, plural) =
            (string_at(&watched.crd, "/spec/group"), string_at(&watched.crd, "/spec/names/plural"));
        if spec.owns_kinds {
            files.insert(format!("{MANIFESTS_DIR}/{group}_{plural}.yaml"), to_yaml(&watched.crd));
        }
        for (role, verbs) in [
            ("editor", &["create", "delete", "get", "list", "patch", "update", "watch"][..]),
            ("viewer", &["get", "list", "watch"]),
        ] {
            let name = versioned_name(&format!("{plural}.{group}-{role}"), &spec.version);
            let labels = json!({"app.kubernetes.io/name": spec.package, "app.kubernetes.io/version": label_value(&spec.version)});
            let object = json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                "metadata": {"name": name, "labels": labels},
                "rules": [
                    {"apiGroups": [group], "resources": [plural], "verbs": verbs},
                    {"apiGroups": [group], "resources": [format!("{plural}/status")], "verbs": ["get"]},
                ],
            });
            files.insert(
                format!("{MANIFESTS_DIR}/{plural}.{group}-{role}.clusterrole.yaml"),
                to_yaml(&object),
            );
        }
    }
    files.insert(ANNOTATIONS_FILE.to_owned(), to_yaml(&json!({"annotations": labels(spec)})));
    if !spec.kinds.is_empty() {
        let crds: Vec<&Value> = spec.kinds.iter().map(|watched| &watched.crd).collect();
        let mut kinds = json!({"kinds": crds});
        let values: Vec<&Value> = spec.kinds.iter().filter_map(|watched| watched.values.as_ref()).collect();
        if !values.is_empty() {
            kinds["values"] = json!(values);
        }
        files.insert(KINDS_FILE.to_owned(), to_yaml(&kinds));
    }
    Ok(files)
}

/// Converts a version to a label value.
fn label_value(version: &str) -> String {
    version.chars().map(|c| if c == '+' { '_' } else { c }).take(63).collect()
}

/// Returns the labels of the bundle image, which are also the bundle annotations.
pub fn labels(spec: &BundleSpec) -> Map<String, Value> {
    let mut labels = Map::new();
    for (key, value) in [
        (MEDIA_TYPE_LABEL, "registry+v1"),
        (MANIFESTS_LABEL, "manifests/"),
        (METADATA_LABEL, "metadata/"),
        (PACKAGE_LABEL, &spec.package),
        (CHANNELS_LABEL, &spec.channels.join(",")),
    ] {
        labels.insert(key.to_owned(), Value::from(value));
    }
    if let Some(channel) = &spec.default_channel {
        labels.insert(DEFAULT_CHANNEL_LABEL.to_owned(), Value::from(channel.as_str()));
    }
    labels
}

fn validate_spec(spec: &BundleSpec) -> Result<(), Error> {
    Version::parse(&spec.version)
        .map_err(|error| Error::Version { version: spec.version.clone(), error: error.to_string() })?;
    if !is_dns1123_label(&spec.package) {
        return Err(Error::Package(spec.package.clone()));
    }
    let name = versioned_name(&spec.package, &spec.version);
    if name.len() > 63 {
        return Err(Error::NameTooLong(name));
    }
    if spec.channels.is_empty() {
        return Err(Error::NoChannel);
    }
    if let Some(channel) = spec.default_channel.as_ref().filter(|channel| !spec.channels.contains(channel)) {
        return Err(Error::DefaultChannel(channel.clone()));
    }
    match string_at(&spec.base, "/kind") {
        "" | CSV_KIND => Ok(()),
        other => Err(Error::BaseKind(other.to_owned())),
    }
}

/// Returns the container images of a Deployment.
fn images(deployment: &Value) -> Vec<Value> {
    let pods = ["containers", "initContainers"]
        .map(|key| array_at(deployment, &format!("/spec/template/spec/{key}")));
    let all = pods.into_iter().flatten();
    all.map(|one| json!({"name": string_at(one, "/name"), "image": string_at(one, "/image")})).collect()
}

fn build_csv(spec: &BundleSpec) -> Value {
    let name = versioned_name(&spec.package, &spec.version);
    let examples: Vec<Value> = spec.kinds.iter().map(minimal_resource).collect();
    let mut annotations = json!({
        "alm-examples": serde_json::to_string_pretty(&examples).unwrap_or_default(),
        "capabilities": "Basic Install",
    });
    if let Some(image) = images(&spec.deployment).first() {
        annotations["containerImage"] = image["image"].clone();
    }
    let owned = spec.kinds.iter().filter(|_| spec.owns_kinds).map(|watched| {
        let kind = string_at(&watched.crd, "/spec/names/kind");
        json!({"name": string_at(&watched.crd, "/metadata/name"), "version": watched.version, "kind": kind, "displayName": kind})
    });
    let permission = |rules: &[Value]| json!([{"serviceAccountName": name, "rules": rules}]);
    let mut install_spec = json!({"deployments": [{
        "name": string_at(&spec.deployment, "/metadata/name"),
        "label": spec.deployment.pointer("/metadata/labels"),
        "spec": spec.deployment.get("spec"),
    }]});
    for (key, rules) in
        [("permissions", &spec.permissions), ("clusterPermissions", &spec.cluster_permissions)]
    {
        if !rules.is_empty() {
            install_spec[key] = permission(rules);
        }
    }
    let install_mode =
        |install_mode: &str| json!({"type": install_mode, "supported": install_mode == "AllNamespaces"});
    let install_modes: Vec<Value> =
        ["OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces"].map(install_mode).into();
    let mut csv = json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": CSV_KIND,
        "metadata": {"name": format!("{}.v{}", spec.package, spec.version), "annotations": annotations},
        "spec": {"displayName": spec.package, "description": format!("The operator of {}.", spec.package),
            "installModes": install_modes, "relatedImages": images(&spec.deployment)},
    });
    // The base overrides descriptive fields but not computed ones.
    for section in ["annotations", "labels"] {
        let base_entries = spec.base.pointer(&format!("/metadata/{section}")).and_then(Value::as_object);
        for (key, value) in base_entries.into_iter().flatten() {
            csv["metadata"][section][key] = value.clone();
        }
    }
    for (key, value) in spec.base.get("spec").and_then(Value::as_object).into_iter().flatten() {
        csv["spec"][key] = value.clone();
    }
    csv["spec"]["version"] = Value::from(spec.version.as_str());
    csv["spec"]["install"] = json!({"strategy": "deployment", "spec": install_spec});
    csv["spec"]["customresourcedefinitions"] = json!({"owned": owned.collect::<Vec<_>>()});
    csv
}

/// Returns a minimal custom resource that the operator watches.
fn minimal_resource(watched: &WatchedKind) -> Value {
    let kind = string_at(&watched.crd, "/spec/names/kind");
    let mut metadata = json!({"name": format!("my-{}", kind.to_lowercase())});
    if !watched.labels.is_empty() {
        metadata["labels"] = json!(watched.labels);
    }
    let api_version = format!("{}/{}", string_at(&watched.crd, "/spec/group"), watched.version);
    json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": {}})
}

/// Returns a Dockerfile for the bundle image, for builds with Docker.
pub fn dockerfile(labels: &Map<String, Value>, dir: &str) -> String {
    let mut out = String::from("FROM scratch\n\n");
    for (key, value) in labels {
        out.push_str(&format!("LABEL {key}={}\n", value.as_str().unwrap_or_default()));
    }
    out.push_str(&format!("\nCOPY {dir}/manifests /manifests/\nCOPY {dir}/metadata /metadata/\n"));
    out
}

#[cfg(test)]
mod tests {
    use super::{BundleSpec, Error, WatchedKind, generate, versioned_name};
    use crate::render::{CertificateProvider, Options};
    use crate::{BundleFiles, olm_bundle, validate};
    use serde_json::{Value, json};

    fn spec() -> BundleSpec {
        let name = versioned_name("web", "1.2.3-rc.1");
        let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "webs.example.com"},
            "spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Web", "plural": "webs"},
                "versions": [{"name": "v1", "served": true, "storage": true}]}});
        let pod = json!({"containers": [{"name": "operator", "image": "example.com/web:1"}], "serviceAccountName": name});
        let labels = json!({"app": name});
        BundleSpec {
            package: "web".to_owned(),
            version: "1.2.3-rc.1".to_owned(),
            channels: vec!["stable".to_owned()],
            default_channel: None,
            kinds: vec![WatchedKind {
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
            install_namespace: "x".to_owned(),
            certificate_provider: Some(CertificateProvider::CertManager),
            ..Options::default()
        }
    }

    #[test]
    fn generates_valid_bundle_with_versioned_names() {
        for owns_kinds in [false, true] {
            let spec = BundleSpec { owns_kinds, ..spec() };
            let files = BundleFiles::new(generate(&spec).unwrap()).unwrap();
            assert_eq!(validate(&files, &options()), []);
            let bundle = olm_bundle(&files, "example.com/web-bundle:1").unwrap();
            assert_eq!((bundle.name.as_str(), bundle.version().as_str()), ("web.v1.2.3-rc.1", "1.2.3-rc.1"));
            let bundle = crate::RegistryV1::new(&files).unwrap();
            let objects = crate::render::render(&bundle, &options()).unwrap();
            let versioned = |name: &str| {
                name.contains("1-2-3-rc-1")
                    || name.contains("v1.2.3-rc.1")
                    || name.contains("webs.example.com")
            };
            assert!(objects.iter().all(|object| versioned(&object.kind_and_name())), "{objects:?}");
        }
    }

    #[test]
    fn rejects_invalid_spec() {
        let error_for = |change: fn(&mut BundleSpec)| {
            let mut spec = spec();
            change(&mut spec);
            generate(&spec).unwrap_err()
        };
        assert!(matches!(error_for(|spec| spec.version = "1.2".to_owned()), Error::Version { .. }));
        assert!(matches!(error_for(|spec| spec.package = "a.b".to_owned()), Error::Package(_)));
        assert!(matches!(error_for(|spec| spec.package = "a".repeat(60)), Error::NameTooLong(_)));
        assert!(matches!(error_for(|spec| spec.channels.clear()), Error::NoChannel));
        assert!(matches!(
            error_for(|spec| spec.default_channel = Some("x".to_owned())),
            Error::DefaultChannel(_)
        ));
        assert!(matches!(error_for(|spec| spec.base = json!({"kind": "Pod"})), Error::BaseKind(_)));
    }
}
