//! The kinds that every cluster has, so that nobody has to ask for them.

use podium_meta::{GroupVersionKind, Resource};

/// Kind, plural, and whether it lives in namespaces.
type Row = (&'static str, &'static str, bool);

/// By group and version; what is only asked and never kept (reviews) is left out, and so is what servers from 1.30 on
/// may lack.
const USUAL: &[(&str, &[Row])] = &[
    (
        "v1",
        &[
            ("ComponentStatus", "componentstatuses", false),
            ("ConfigMap", "configmaps", true),
            ("Endpoints", "endpoints", true),
            ("Event", "events", true),
            ("LimitRange", "limitranges", true),
            ("Namespace", "namespaces", false),
            ("Node", "nodes", false),
            ("PersistentVolume", "persistentvolumes", false),
            ("PersistentVolumeClaim", "persistentvolumeclaims", true),
            ("Pod", "pods", true),
            ("PodTemplate", "podtemplates", true),
            ("ReplicationController", "replicationcontrollers", true),
            ("ResourceQuota", "resourcequotas", true),
            ("Secret", "secrets", true),
            ("Service", "services", true),
            ("ServiceAccount", "serviceaccounts", true),
        ],
    ),
    (
        "admissionregistration.k8s.io/v1",
        &[
            ("MutatingWebhookConfiguration", "mutatingwebhookconfigurations", false),
            ("ValidatingAdmissionPolicy", "validatingadmissionpolicies", false),
            ("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", false),
            ("ValidatingWebhookConfiguration", "validatingwebhookconfigurations", false),
        ],
    ),
    ("apiextensions.k8s.io/v1", &[("CustomResourceDefinition", "customresourcedefinitions", false)]),
    ("apiregistration.k8s.io/v1", &[("APIService", "apiservices", false)]),
    (
        "apps/v1",
        &[
            ("ControllerRevision", "controllerrevisions", true),
            ("DaemonSet", "daemonsets", true),
            ("Deployment", "deployments", true),
            ("ReplicaSet", "replicasets", true),
            ("StatefulSet", "statefulsets", true),
        ],
    ),
    ("autoscaling/v1", &[("HorizontalPodAutoscaler", "horizontalpodautoscalers", true)]),
    ("autoscaling/v2", &[("HorizontalPodAutoscaler", "horizontalpodautoscalers", true)]),
    ("batch/v1", &[("CronJob", "cronjobs", true), ("Job", "jobs", true)]),
    ("certificates.k8s.io/v1", &[("CertificateSigningRequest", "certificatesigningrequests", false)]),
    ("coordination.k8s.io/v1", &[("Lease", "leases", true)]),
    ("discovery.k8s.io/v1", &[("EndpointSlice", "endpointslices", true)]),
    ("events.k8s.io/v1", &[("Event", "events", true)]),
    (
        "networking.k8s.io/v1",
        &[
            ("Ingress", "ingresses", true),
            ("IngressClass", "ingressclasses", false),
            ("NetworkPolicy", "networkpolicies", true),
        ],
    ),
    ("node.k8s.io/v1", &[("RuntimeClass", "runtimeclasses", false)]),
    ("policy/v1", &[("PodDisruptionBudget", "poddisruptionbudgets", true)]),
    (
        "rbac.authorization.k8s.io/v1",
        &[
            ("ClusterRole", "clusterroles", false),
            ("ClusterRoleBinding", "clusterrolebindings", false),
            ("Role", "roles", true),
            ("RoleBinding", "rolebindings", true),
        ],
    ),
    ("scheduling.k8s.io/v1", &[("PriorityClass", "priorityclasses", false)]),
    (
        "storage.k8s.io/v1",
        &[
            ("CSIDriver", "csidrivers", false),
            ("CSINode", "csinodes", false),
            ("CSIStorageCapacity", "csistoragecapacities", true),
            ("StorageClass", "storageclasses", false),
            ("VolumeAttachment", "volumeattachments", false),
        ],
    ),
];

/// Where the objects of one of the usual kinds are; nothing for kinds that only discovery knows.
pub fn usual(kind: &GroupVersionKind) -> Option<Resource> {
    all_usual().find(|resource| resource.kind == *kind)
}

/// All of the usual kinds.
pub fn all_usual() -> impl Iterator<Item = Resource> {
    USUAL.iter().flat_map(|(version, rows)| {
        rows.iter().map(|(kind, plural, namespaced)| Resource {
            kind: GroupVersionKind::new(version, kind),
            plural: (*plural).to_owned(),
            namespaced: *namespaced,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_kinds_have_addresses_and_others_none() {
        let address = |version: &str, kind: &str| {
            usual(&GroupVersionKind::new(version, kind)).map(|resource| resource.object(Some("ns"), "x"))
        };
        let deployment = address("apps/v1", "Deployment");
        assert_eq!(deployment.as_deref(), Some("/apis/apps/v1/namespaces/ns/deployments/x"));
        let role = address("rbac.authorization.k8s.io/v1", "ClusterRole");
        assert_eq!(role.as_deref(), Some("/apis/rbac.authorization.k8s.io/v1/clusterroles/x"));
        assert_eq!(address("apps/v1beta1", "Deployment"), None);
        assert_eq!(address("v1", "Deployment"), None);
    }

    #[test]
    fn every_kind_is_there_once() {
        let mut all: Vec<GroupVersionKind> = all_usual().map(|resource| resource.kind).collect();
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
