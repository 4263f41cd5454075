//! Labels, annotations and finalizers: those of operator-sdk and helm-operator-plugins, and those of this operator.

/// The finalizer that the operator adds to resources: operator-sdk's.
pub const FINALIZER: &str = "helm.sdk.operatorframework.io/uninstall-release";
/// The finalizers that the operator removes after the uninstall: its own and that of helm-operator-plugins.
pub const FINALIZERS: [&str; 2] = [FINALIZER, "uninstall-helm-release"];
/// The finalizer of a resource that is deleted with the propagation policy Orphan.
pub const ORPHAN_FINALIZER: &str = "orphan";
/// The prefix of the annotations of a resource.
pub const ANNOTATION_PREFIX: &str = "helm.sdk.operatorframework.io/";
/// The label with the chart's name, on every object and release record.
pub const CHART_LABEL: &str = "helm.sdk.operatorframework.io/chart";
/// The annotation with the namespace and name of the resource that owns an object, where an owner reference cannot.
pub const PRIMARY_RESOURCE: &str = "operator-sdk/primary-resource";
/// The annotation with the kind of that resource.
pub const PRIMARY_RESOURCE_TYPE: &str = "operator-sdk/primary-resource-type";
/// The label of a release record with the digest of its render input and its revision.
pub const RENDER_LABEL: &str = "podium.dev/render";
/// The label of a release record with the kind of the resource that owns the release.
pub const OWNER_LABEL: &str = "podium.dev/owner";
/// The annotation of a release record with the signatures of its objects.
pub const OBJECTS_ANNOTATION: &str = "podium.dev/objects";
/// The field manager of a resource's status and finalizers.
pub const FIELD_MANAGER: &str = "podium-operator";
