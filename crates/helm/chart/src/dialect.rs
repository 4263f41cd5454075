//! Where the two majors of Helm disagree: one named field per difference.
//!
//! Code that depends on the major reads a field of [`Dialect`]; nothing compares versions.

use podium_sprig::Library;

/// How one major of Helm reads charts and values and writes manifests.
#[derive(Clone, Debug)]
pub struct Dialect {
    /// What the major is called, for messages of our own.
    pub name: &'static str,

    /// Whether every YAML document of a values file counts (they are merged in order), or only the first.
    pub values_all_documents: bool,
    /// What stands before the YAML error of a values document.
    pub values_error_prefix: &'static str,
    /// Whether `--set-json` takes a whole object besides `key=json` pairs.
    pub set_json_object: bool,
    /// Whether a `--set` line that ends inside `[…` ends there without an error.
    pub set_open_index_ends: bool,

    /// Whether nulls of a chart's own defaults are dropped when its values are coalesced.
    pub drop_default_nulls: bool,
    /// Whether a dependency that is listed in `Chart.yaml` gets its own copy of its requirements and of its
    /// direct subcharts. Where it does not, two aliases of one chart share them, and the first one processed
    /// renames and uses up what the second one needed.
    pub alias_owns_children: bool,
    /// What stands before an error of the dependency step.
    pub dependency_error_prefix: &'static str,
    /// What stands before an error of the release's name.
    pub release_name_error_prefix: &'static str,
    /// What stands before the reason why objects cannot be installed.
    pub install_error_prefix: &'static str,
    /// What stands before the list of dependencies that are not in `charts/`.
    pub missing_dependency_prefix: &'static str,

    /// Whether only `apiVersion` v1 and v2 are charts.
    pub checks_api_version: bool,
    /// Whether objects may leave their names to the server.
    pub generated_names: bool,
    /// Whether `--dry-run=server` and `--validate` are the same. If not, the one only looks things up, and the other
    /// only takes the cluster's capabilities and checks what is in the way.
    pub one_server_dry_run: bool,
    /// Whether the reason why an archive could not be read is hidden behind one general sentence.
    pub hides_archive_errors: bool,
    /// The largest single file of a chart, in bytes.
    pub max_file_size: Option<u64>,
    /// The largest chart directory, in bytes. Helm 3 has no limit; ours only keeps the memory bounded.
    pub max_directory_size: u64,
    /// How the archive's total limit is called in its error.
    pub archive_limit_words: &'static str,
    /// Whether a rule of `.helmignore` that begins with several slashes loses one more each time it is tried.
    pub ignore_rules_lose_slashes: bool,
    /// The Go package of the metadata types, as type errors name it.
    pub metadata_package: &'static str,
    /// The Go type that an object's head is decoded into.
    pub head_type: &'static str,
    /// The Go package of the types of `.Values` and `.Capabilities`.
    pub go_package: &'static str,
    /// What `.Chart` is.
    pub chart_object: ChartObject,
    /// Whether the error of a template is shown as a trace of places, where every place is of the language's making.
    pub traces_errors: bool,
    /// The functions that templates may call.
    pub functions: Library,
    /// What `.Capabilities.HelmVersion` says.
    pub helm_version: HelmVersion,

    /// How a rendered file is cut into documents.
    pub split: Split,
    /// The kinds in the order in which they are installed.
    pub install_order: &'static [&'static str],
    /// The kinds in the order in which they are removed.
    pub uninstall_order: &'static [&'static str],

    /// Whether `--kube-version` keeps a suffix such as `-gke.1` in what templates see.
    pub kube_version_keeps_suffix: bool,
    /// How a log line looks on standard error.
    pub log: LogStyle,

    /// Which rules `lint` has.
    pub lint: LintRules,
    /// Whether `show crds` puts a line between all CRDs, or `show all` one before the first.
    pub separates_crds: bool,
    /// How it is said that a registry has no version of a chart in a range.
    pub no_such_tag: &'static str,
    /// Whether commands that move charts say so on standard output, or on standard error.
    pub transfers_on_output: bool,
    /// What to do about a lock file that is not for the chart's dependencies.
    pub stale_lock_advice: &'static str,
    /// What is said of a schema that is no JSON when a chart is packaged.
    pub schema_error: &'static str,
}

/// Which rules `lint` has.
#[derive(Clone, Debug)]
pub struct LintRules {
    /// Whether a chart has to be named; if not, it is the one in the working directory.
    pub needs_a_path: bool,
    /// Whether `Chart.yaml` may not have a key twice or a field that nobody knows.
    pub strict_metadata: bool,
    /// Whether the version has to be a whole one.
    pub strict_version: bool,
    /// Whether `--skip-schema-validation` counts for the chart's own values too.
    pub values_schema_can_be_skipped: bool,
    /// The Go type that `values.yaml` is read into, as errors name it.
    pub values_type: &'static str,
    /// What is said of a chart without templates.
    pub missing_templates: MissingTemplates,
    /// Whether templates are searched for what Helm 2 had.
    pub relics_of_helm_2: bool,
    /// Whether files that end in `.yml`, in whatever case, are looked into as those that end in `.yaml`.
    pub any_yaml_extension: bool,
    /// Whether the type of objects has a name that begins with a capital; errors show it.
    pub object_type_is_exported: bool,
    /// How the message about annotations in lists begins.
    pub annotation_word: &'static str,
    /// Whether `crds/` is looked at.
    pub crds: bool,
}

/// What is said of a chart without templates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingTemplates {
    /// Nothing; and a file in their place is only warned of.
    Fine,
    /// It is warned of, and a file in their place is an error.
    Warned,
}

impl Dialect {
    /// The same, but charts are read without a look at their `apiVersion` first: so do all commands that do not render.
    pub fn reading_plainly(&self) -> Self {
        Self { checks_api_version: false, hides_archive_errors: false, ..self.clone() }
    }
}

/// What `.Chart` is for templates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChartObject {
    /// A map from Go's field names.
    Map,
    /// A Go struct.
    Struct,
}

/// The build of Helm that templates see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HelmVersion {
    /// The version.
    pub version: &'static str,
    /// The version of Go that the originals are built with here.
    pub go_version: &'static str,
    /// The version of Kubernetes that its client library is made for, where it tells.
    pub kube_client_version: Option<&'static str>,
}

/// How a rendered file is cut into documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// At each `---` at the start of a line; the text after it, up to the next one, stays as it is.
    LineStart,
    /// At each `---` together with the white space around it; documents are trimmed.
    Trimmed,
}

/// How a log line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogStyle {
    /// `level=WARN msg="…" key=value`.
    KeyValue,
    /// `file.go:12: …`.
    SourceLine,
}

/// Helm 4 (4.3.1), the default.
pub const HELM4: Dialect = Dialect {
    name: "helm 4",
    values_all_documents: true,
    values_error_prefix: "cannot unmarshal yaml document: ",
    set_json_object: true,
    set_open_index_ends: true,
    drop_default_nulls: true,
    alias_owns_children: true,
    dependency_error_prefix: "chart dependencies processing failed: ",
    release_name_error_prefix: "release name check failed: ",
    install_error_prefix: "unable to continue with install: ",
    missing_dependency_prefix: "an error occurred while checking for chart dependencies. You may need to run 'helm \
                                dependency build' to fetch missing dependencies: ",
    checks_api_version: true,
    generated_names: true,
    one_server_dry_run: true,
    hides_archive_errors: true,
    max_file_size: None,
    max_directory_size: crate::archive::MAX_SIZE,
    archive_limit_words: "maximum size",
    ignore_rules_lose_slashes: false,
    metadata_package: "v2",
    head_type: "util.SimpleHead",
    go_package: "common",
    chart_object: ChartObject::Map,
    traces_errors: true,
    functions: Library { must_writers: true, durations: true, lint: false },
    helm_version: HelmVersion {
        version: "v4.3.1",
        go_version: "go1.26.8",
        kube_client_version: Some("v1.37"),
    },
    split: Split::LineStart,
    install_order: INSTALL_ORDER,
    uninstall_order: UNINSTALL_ORDER,
    kube_version_keeps_suffix: true,
    log: LogStyle::KeyValue,
    lint: LintRules {
        needs_a_path: true,
        strict_metadata: true,
        strict_version: true,
        values_schema_can_be_skipped: true,
        values_type: "common.Values",
        missing_templates: MissingTemplates::Warned,
        relics_of_helm_2: false,
        any_yaml_extension: true,
        object_type_is_exported: false,
        annotation_word: "annotation",
        crds: true,
    },
    separates_crds: true,
    transfers_on_output: true,
    no_such_tag: "could not locate a version matching provided version string",
    stale_lock_advice: "Please update the dependencies with 'helm dependency update'",
    schema_error: "invalid JSON in values.schema.json",
};

/// Helm 3 (3.22.0).
pub const HELM3: Dialect = Dialect {
    name: "helm 3",
    values_all_documents: false,
    values_error_prefix: "",
    set_json_object: false,
    set_open_index_ends: false,
    drop_default_nulls: false,
    alias_owns_children: false,
    dependency_error_prefix: "",
    release_name_error_prefix: "",
    install_error_prefix: "Unable to continue with install: ",
    missing_dependency_prefix: "An error occurred while checking for chart dependencies. You may need to run `helm \
                                dependency build` to fetch missing dependencies: ",
    checks_api_version: false,
    generated_names: false,
    one_server_dry_run: false,
    hides_archive_errors: false,
    max_file_size: Some(5 * 1024 * 1024),
    max_directory_size: 1024 * 1024 * 1024,
    archive_limit_words: "maximum file size",
    ignore_rules_lose_slashes: true,
    metadata_package: "chart",
    head_type: "releaseutil.SimpleHead",
    go_package: "chartutil",
    chart_object: ChartObject::Struct,
    traces_errors: false,
    functions: Library { must_writers: false, durations: false, lint: false },
    helm_version: HelmVersion { version: "v3.22.0", go_version: "go1.26.8", kube_client_version: None },
    split: Split::Trimmed,
    install_order: INSTALL_ORDER.split_at(INSTALL_ORDER.len() - WEBHOOKS).0,
    uninstall_order: UNINSTALL_ORDER.split_at(WEBHOOKS).1,
    kube_version_keeps_suffix: false,
    log: LogStyle::SourceLine,
    lint: LintRules {
        needs_a_path: false,
        strict_metadata: false,
        strict_version: false,
        values_schema_can_be_skipped: false,
        values_type: "chartutil.Values",
        missing_templates: MissingTemplates::Fine,
        relics_of_helm_2: true,
        any_yaml_extension: false,
        object_type_is_exported: true,
        annotation_word: "Annotation",
        crds: false,
    },
    separates_crds: false,
    transfers_on_output: false,
    no_such_tag: "Could not locate a version matching provided version string",
    stale_lock_advice: "Please update the dependencies",
    schema_error: "Invalid JSON in values.schema.json",
};

/// The two webhook kinds, known to Helm 4 only: last to install, first to go.
const WEBHOOKS: usize = 2;

const INSTALL_ORDER: &[&str] = &[
    "PriorityClass",
    "Namespace",
    "NetworkPolicy",
    "ResourceQuota",
    "LimitRange",
    "PodSecurityPolicy",
    "PodDisruptionBudget",
    "ServiceAccount",
    "Secret",
    "SecretList",
    "ConfigMap",
    "StorageClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "CustomResourceDefinition",
    "ClusterRole",
    "ClusterRoleList",
    "ClusterRoleBinding",
    "ClusterRoleBindingList",
    "Role",
    "RoleList",
    "RoleBinding",
    "RoleBindingList",
    "Service",
    "DaemonSet",
    "Pod",
    "ReplicationController",
    "ReplicaSet",
    "Deployment",
    "HorizontalPodAutoscaler",
    "StatefulSet",
    "Job",
    "CronJob",
    "IngressClass",
    "Ingress",
    "APIService",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
];

const UNINSTALL_ORDER: &[&str] = &[
    "ValidatingWebhookConfiguration",
    "MutatingWebhookConfiguration",
    "APIService",
    "Ingress",
    "IngressClass",
    "Service",
    "CronJob",
    "Job",
    "StatefulSet",
    "HorizontalPodAutoscaler",
    "Deployment",
    "ReplicaSet",
    "ReplicationController",
    "Pod",
    "DaemonSet",
    "RoleBindingList",
    "RoleBinding",
    "RoleList",
    "Role",
    "ClusterRoleBindingList",
    "ClusterRoleBinding",
    "ClusterRoleList",
    "ClusterRole",
    "CustomResourceDefinition",
    "PersistentVolumeClaim",
    "PersistentVolume",
    "StorageClass",
    "ConfigMap",
    "SecretList",
    "Secret",
    "ServiceAccount",
    "PodDisruptionBudget",
    "PodSecurityPolicy",
    "LimitRange",
    "ResourceQuota",
    "NetworkPolicy",
    "Namespace",
    "PriorityClass",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn webhooks_have_a_place_only_in_helm_4() {
        assert_eq!(HELM4.install_order.len(), 38);
        assert_eq!(HELM3.install_order.len(), 36);
        assert_eq!(HELM3.install_order.last(), Some(&"APIService"));
        assert_eq!(HELM3.uninstall_order.first(), Some(&"APIService"));
        assert!(HELM3.uninstall_order.iter().all(|kind| !kind.contains("Webhook")));
    }

    #[test]
    fn removal_is_not_the_reverse_of_installation() {
        // Services go before workloads, as Helm does it.
        let at = |kind| HELM4.uninstall_order.iter().position(|k| *k == kind);
        assert!(at("Service") < at("CronJob"));
    }
}
