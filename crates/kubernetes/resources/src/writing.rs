//! How objects of each kind are written: what a write may do, and what it leaves alone.

use podium_meta::GroupVersionKind;

/// What writes of a kind's objects may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Writing {
    /// Changes are counted in `metadata.generation`.
    pub counted: bool,
    /// An update needs no `resourceVersion`.
    pub unconditional: bool,
    /// An update of what is not there makes it.
    pub creates: bool,
    /// A delete that says nothing leaves the dependents.
    pub orphans: bool,
}

const APPS: &str = "apps";
const BATCH: &str = "batch";
const ADMISSION: &str = "admissionregistration.k8s.io";
const NETWORKING: &str = "networking.k8s.io";
const STORAGE: &str = "storage.k8s.io";
const RBAC: &str = "rbac.authorization.k8s.io";
const RESOURCE: &str = "resource.k8s.io";
const FLOW: &str = "flowcontrol.apiserver.k8s.io";
const EXTENSIONS: &str = "apiextensions.k8s.io";
const REGISTRATION: &str = "apiregistration.k8s.io";

/// Kinds whose changes are counted.
const COUNTED: &[(&str, &str)] = &[
    ("", "Pod"),
    ("", "PodTemplate"),
    ("", "ReplicationController"),
    (APPS, "DaemonSet"),
    (APPS, "Deployment"),
    (APPS, "ReplicaSet"),
    (APPS, "StatefulSet"),
    (BATCH, "CronJob"),
    (BATCH, "Job"),
    (ADMISSION, "MutatingAdmissionPolicy"),
    (ADMISSION, "MutatingAdmissionPolicyBinding"),
    (ADMISSION, "MutatingWebhookConfiguration"),
    (ADMISSION, "ValidatingAdmissionPolicy"),
    (ADMISSION, "ValidatingAdmissionPolicyBinding"),
    (ADMISSION, "ValidatingWebhookConfiguration"),
    ("discovery.k8s.io", "EndpointSlice"),
    (FLOW, "FlowSchema"),
    (FLOW, "PriorityLevelConfiguration"),
    (NETWORKING, "Ingress"),
    (NETWORKING, "IngressClass"),
    (NETWORKING, "NetworkPolicy"),
    ("policy", "PodDisruptionBudget"),
    (RESOURCE, "DeviceClass"),
    (RESOURCE, "ResourceSlice"),
    ("scheduling.k8s.io", "PriorityClass"),
    (EXTENSIONS, "CustomResourceDefinition"),
];

/// Kinds whose updates must say what they are based on.
const CONDITIONAL: &[(&str, &str)] = &[
    (ADMISSION, "MutatingAdmissionPolicy"),
    (ADMISSION, "MutatingAdmissionPolicyBinding"),
    (ADMISSION, "MutatingWebhookConfiguration"),
    (ADMISSION, "ValidatingAdmissionPolicy"),
    (ADMISSION, "ValidatingAdmissionPolicyBinding"),
    (ADMISSION, "ValidatingWebhookConfiguration"),
    ("coordination.k8s.io", "Lease"),
    ("node.k8s.io", "RuntimeClass"),
    ("policy", "PodDisruptionBudget"),
    (STORAGE, "CSIDriver"),
    (STORAGE, "CSINode"),
    (STORAGE, "CSIStorageCapacity"),
    (STORAGE, "VolumeAttachment"),
    (EXTENSIONS, "CustomResourceDefinition"),
    (REGISTRATION, "APIService"),
];

/// Kinds whose updates make what is not there.
const CREATING: &[(&str, &str)] = &[
    ("", "Endpoints"),
    ("", "Event"),
    ("", "LimitRange"),
    ("", "Service"),
    ("events.k8s.io", "Event"),
    ("coordination.k8s.io", "Lease"),
    ("node.k8s.io", "RuntimeClass"),
    (RBAC, "ClusterRole"),
    (RBAC, "ClusterRoleBinding"),
    (RBAC, "Role"),
    (RBAC, "RoleBinding"),
];

/// Kinds whose dependents stay unless somebody says otherwise.
const ORPHANING: &[(&str, &str)] = &[("", "ReplicationController"), (BATCH, "Job")];

/// What writes of a kind's objects may do; kinds that users define are counted and conditional.
pub fn writing(kind: &GroupVersionKind) -> Writing {
    let is = |list: &[(&str, &str)]| list.contains(&(kind.group.as_str(), kind.kind.as_str()));
    if crate::kinds().row_of(kind).is_none() {
        return Writing { counted: true, unconditional: false, creates: false, orphans: false };
    }
    Writing {
        counted: is(COUNTED),
        unconditional: !is(CONDITIONAL),
        creates: is(CREATING),
        orphans: is(ORPHANING),
    }
}

const SPEC: &[&str] = &["spec"];
const STATUS: &[&str] = &["status"];
const SPEC_AND_METADATA: &[&str] = &["metadata", "spec"];

/// Kinds whose status is written without any metadata.
const STATUS_ONLY: &[(&str, &str)] = &[
    (ADMISSION, "ValidatingAdmissionPolicy"),
    (FLOW, "FlowSchema"),
    (FLOW, "PriorityLevelConfiguration"),
    (NETWORKING, "ServiceCIDR"),
    (RESOURCE, "ResourceClaim"),
    (STORAGE, "VolumeAttachment"),
    (EXTENSIONS, "CustomResourceDefinition"),
    (REGISTRATION, "APIService"),
];

/// The fields of a built-in kind that a write through a subresource (empty: through none) leaves as they are, and
/// that nobody owns by naming them in it.
pub fn reset_fields(kind: &GroupVersionKind, subresource: &str) -> &'static [&'static str] {
    let Some(row) = crate::kinds().row_of(kind) else { return &[] };
    if row.subresource("status").is_none() {
        return &[];
    }
    match (row.kind, subresource) {
        ("CertificateSigningRequest", "") => &["spec", "status"],
        ("CertificateSigningRequest", "status") => &["spec", "status.conditions"],
        ("CertificateSigningRequest", "approval") => &["spec", "status.certificate"],
        ("Deployment", "status") => &["metadata.labels", "spec"],
        ("Pod", "status") => &["metadata.deletionTimestamp", "metadata.ownerReferences", "spec"],
        (_, "" | "finalize") => STATUS,
        (_, "status") if STATUS_ONLY.contains(&(row.group, row.kind)) => SPEC_AND_METADATA,
        (_, "status") => SPEC,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_the_lists_is_served() {
        for (group, name) in [COUNTED, CONDITIONAL, CREATING, ORPHANING, STATUS_ONLY].concat() {
            let found = crate::kinds().rows().any(|row| row.group == group && row.kind == name);
            assert!(found, "{group}/{name}");
        }
    }

    #[test]
    fn writes_follow_the_kind() {
        let of = |api_version: &str, kind: &str| writing(&GroupVersionKind::new(api_version, kind));
        let usual = Writing { counted: false, unconditional: true, creates: false, orphans: false };
        assert_eq!(of("v1", "ConfigMap"), usual);
        assert_eq!(of("apps/v1", "Deployment"), Writing { counted: true, ..usual });
        let lease = Writing { unconditional: false, creates: true, ..usual };
        assert_eq!(of("coordination.k8s.io/v1", "Lease"), lease);
        let job = Writing { counted: true, orphans: true, ..usual };
        assert_eq!(of("batch/v1", "Job"), job);
        assert!(!of("example.com/v1", "Foo").unconditional);
        let reset = |api_version: &str, kind: &str, part: &str| {
            reset_fields(&GroupVersionKind::new(api_version, kind), part)
        };
        assert_eq!(reset("apps/v1", "Deployment", ""), ["status"]);
        assert_eq!(reset("apps/v1", "Deployment", "status"), ["metadata.labels", "spec"]);
        assert_eq!(reset("apps/v1", "ReplicaSet", "status"), ["spec"]);
        assert!(reset("v1", "ConfigMap", "").is_empty());
    }
}
