//! Names that are a contract with the users of the originals, and ours.

/// Finalizers: operator-sdk's, which we write, and that of helm-operator-plugins, which we honour too.
pub const FINALIZER: &str = "helm.sdk.operatorframework.io/uninstall-release";
/// All finalizers that are taken away once a release is gone.
pub const FINALIZERS: [&str; 2] = [FINALIZER, "uninstall-helm-release"];
/// The finalizer that Kubernetes puts on what is deleted without its dependents.
pub const ORPHAN: &str = "orphan";
/// What the annotations of a resource begin with.
pub const ANNOTATIONS: &str = "helm.sdk.operatorframework.io/";
/// The label with the chart's name, on every object and record.
pub const CHART: &str = "helm.sdk.operatorframework.io/chart";
/// The annotations that name the owner of an object where an owner reference cannot.
pub const PRIMARY: &str = "operator-sdk/primary-resource";
/// The kind of that owner.
pub const PRIMARY_TYPE: &str = "operator-sdk/primary-resource-type";
/// The label of a record that says what it was rendered from.
pub const RENDER: &str = "podium.dev/render";
/// The label of a record that says which kind of resource it was made for.
pub const OWNER: &str = "podium.dev/owner";
/// The annotation of a record with the signatures of its objects.
pub const OBJECTS: &str = "podium.dev/objects";
/// The field manager of a resource's status and finalizers.
pub const MANAGER: &str = "podium-operator";
