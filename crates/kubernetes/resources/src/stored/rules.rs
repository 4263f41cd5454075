//! The rules that are facts, and which functions look after the rest.

use super::walk::Rule::{self, Call, Set, Try};
use super::{autoscaling, definitions, pods, resources, services, workloads};

const MODE: &[Rule] = &[Set("defaultMode", "420")];
const PORT: &[Rule] = &[Set("port", "443")];
const FAIL: &[Rule] = &[Set("failurePolicy", "\"Fail\"")];
const RBAC: &[Rule] = &[Set("roleRef.apiGroup", "\"rbac.authorization.k8s.io\"")];

const WEBHOOK: &[Rule] = &[
    Set("failurePolicy", "\"Fail\""),
    Set("matchPolicy", "\"Equivalent\""),
    Set("namespaceSelector", "{}"),
    Set("objectSelector", "{}"),
    Set("timeoutSeconds", "10"),
];

/// The defaults of the server's code.
pub const DEFAULTS: &[(&str, &[Rule])] = &[
    ("core/v1.Pod", &[Call(pods::pod)]),
    (
        "core/v1.PodSpec",
        &[
            Set("dnsPolicy", "\"ClusterFirst\""),
            Set("restartPolicy", "\"Always\""),
            Set("securityContext", "{}"),
            Set("terminationGracePeriodSeconds", "30"),
            Set("schedulerName", "\"default-scheduler\""),
        ],
    ),
    ("core/v1.Container", pods::CONTAINER),
    ("core/v1.EphemeralContainerCommon", pods::CONTAINER),
    (
        "core/v1.Probe",
        &[
            Set("timeoutSeconds", "1"),
            Set("periodSeconds", "10"),
            Set("successThreshold", "1"),
            Set("failureThreshold", "3"),
        ],
    ),
    ("core/v1.HTTPGetAction", &[Set("path", "\"/\""), Set("scheme", "\"HTTP\"")]),
    ("core/v1.Volume", &[Call(pods::volume)]),
    ("core/v1.SecretVolumeSource", MODE),
    ("core/v1.ConfigMapVolumeSource", MODE),
    ("core/v1.DownwardAPIVolumeSource", MODE),
    ("core/v1.ProjectedVolumeSource", MODE),
    ("core/v1.HostPathVolumeSource", &[Set("type", "\"\"")]),
    ("core/v1.ServiceAccountTokenProjection", &[Set("expirationSeconds", "3600")]),
    ("core/v1.ObjectFieldSelector", &[Set("apiVersion", "\"v1\"")]),
    ("core/v1.ReplicationController", &[Call(workloads::replication_controller)]),
    ("core/v1.Service", &[Call(services::service)]),
    ("core/v1.Secret", &[Set("type", "\"Opaque\"")]),
    (
        "core/v1.PersistentVolume",
        &[
            Set("status.phase", "\"Pending\""),
            Set("spec.persistentVolumeReclaimPolicy", "\"Retain\""),
            Set("spec.volumeMode", "\"Filesystem\""),
        ],
    ),
    ("core/v1.PersistentVolumeClaim", &[Set("status.phase", "\"Pending\"")]),
    ("core/v1.PersistentVolumeClaimSpec", &[Set("volumeMode", "\"Filesystem\"")]),
    ("core/v1.EndpointPort", &[Set("protocol", "\"TCP\"")]),
    ("core/v1.Namespace", &[Call(services::namespace)]),
    ("core/v1.NamespaceStatus", &[Set("phase", "\"Active\"")]),
    ("core/v1.NodeStatus", &[Call(resources::node)]),
    ("core/v1.LimitRangeItem", &[Call(resources::limit_range)]),
    (
        "apps/v1.Deployment",
        &[
            Set("spec.replicas", "1"),
            Set("spec.revisionHistoryLimit", "10"),
            Set("spec.progressDeadlineSeconds", "600"),
            Call(workloads::deployment),
        ],
    ),
    ("apps/v1.DaemonSet", &[Set("spec.revisionHistoryLimit", "10"), Call(workloads::daemon_set)]),
    (
        "apps/v1.StatefulSet",
        &[
            Set("spec.podManagementPolicy", "\"OrderedReady\""),
            Set("spec.replicas", "1"),
            Set("spec.revisionHistoryLimit", "10"),
            Set("spec.persistentVolumeClaimRetentionPolicy", "{}"),
            Set("spec.persistentVolumeClaimRetentionPolicy.whenDeleted", "\"Retain\""),
            Set("spec.persistentVolumeClaimRetentionPolicy.whenScaled", "\"Retain\""),
            Call(workloads::stateful_set),
        ],
    ),
    ("apps/v1.ReplicaSet", &[Set("spec.replicas", "1")]),
    (
        "batch/v1.Job",
        &[
            Call(workloads::job),
            Set("spec.parallelism", "1"),
            Set("spec.completionMode", "\"NonIndexed\""),
            Set("spec.suspend", "false"),
            Set("spec.manualSelector", "false"),
        ],
    ),
    (
        "batch/v1.CronJob",
        &[
            Set("spec.concurrencyPolicy", "\"Allow\""),
            Set("spec.suspend", "false"),
            Set("spec.successfulJobsHistoryLimit", "3"),
            Set("spec.failedJobsHistoryLimit", "1"),
        ],
    ),
    ("batch/v1.PodFailurePolicyOnPodConditionsPattern", &[Set("status", "\"True\"")]),
    ("autoscaling/v1.HorizontalPodAutoscaler", &[Set("spec.minReplicas", "1")]),
    (
        "autoscaling/v2.HorizontalPodAutoscaler",
        &[Set("spec.minReplicas", "1"), Call(autoscaling::metrics), Call(autoscaling::behavior)],
    ),
    ("admissionregistration/v1.ValidatingWebhook", WEBHOOK),
    ("admissionregistration/v1.MutatingWebhook", WEBHOOK),
    ("admissionregistration/v1.MutatingWebhook", &[Set("reinvocationPolicy", "\"Never\"")]),
    ("admissionregistration/v1.Rule", &[Set("scope", "\"*\"")]),
    ("admissionregistration/v1.ServiceReference", PORT),
    ("admissionregistration/v1.ValidatingAdmissionPolicySpec", FAIL),
    ("admissionregistration/v1.MutatingAdmissionPolicySpec", FAIL),
    (
        "admissionregistration/v1.MatchResources",
        &[Set("matchPolicy", "\"Equivalent\""), Set("namespaceSelector", "{}"), Set("objectSelector", "{}")],
    ),
    ("networking/v1.NetworkPolicyPort", &[Set("protocol", "\"TCP\"")]),
    ("networking/v1.NetworkPolicy", &[Call(services::network_policy)]),
    ("networking/v1.IngressClass", &[Set("spec.parameters.scope", "\"Cluster\"")]),
    ("rbac/v1.ClusterRoleBinding", RBAC),
    ("rbac/v1.RoleBinding", RBAC),
    ("rbac/v1.Subject", &[Call(services::subject)]),
    (
        "storage/v1.StorageClass",
        &[Set("reclaimPolicy", "\"Delete\""), Set("volumeBindingMode", "\"Immediate\"")],
    ),
    (
        "storage/v1.CSIDriver",
        &[
            Set("spec.attachRequired", "true"),
            Set("spec.podInfoOnMount", "false"),
            Set("spec.storageCapacity", "false"),
            Set("spec.fsGroupPolicy", "\"ReadWriteOnceWithFSType\""),
            Set("spec.volumeLifecycleModes", "[\"Persistent\"]"),
            Set("spec.requiresRepublish", "false"),
            Set("spec.seLinuxMount", "false"),
        ],
    ),
    ("discovery/v1.EndpointPort", &[Set("name", "\"\""), Set("protocol", "\"TCP\"")]),
    ("scheduling/v1.PriorityClass", &[Set("preemptionPolicy", "\"PreemptLowerPriority\"")]),
    ("flowcontrol/v1.FlowSchemaSpec", &[Set("matchingPrecedence", "1000")]),
    (
        "flowcontrol/v1.ExemptPriorityLevelConfiguration",
        &[Set("nominalConcurrencyShares", "0"), Set("lendablePercent", "0")],
    ),
    (
        "flowcontrol/v1.LimitedPriorityLevelConfiguration",
        &[Set("nominalConcurrencyShares", "30"), Set("lendablePercent", "0")],
    ),
    (
        "flowcontrol/v1.QueuingConfiguration",
        &[Set("handSize", "8"), Set("queues", "64"), Set("queueLengthLimit", "50")],
    ),
    ("resource/v1.ExactDeviceRequest", &[Call(resources::device_request)]),
    ("resource/v1.DeviceSubRequest", &[Call(resources::device_request)]),
    ("resource/v1.Device", &[Call(resources::device)]),
    ("authentication/v1.TokenRequestSpec", &[Set("expirationSeconds", "3600")]),
    ("apiextensions/v1.CustomResourceDefinition", &[Call(definitions::names)]),
    ("apiextensions/v1.ServiceReference", PORT),
    ("apiregistration/v1.ServiceReference", PORT),
];

/// What the way through the server's own types changes.
pub const CHANGES: &[(&str, &[Rule])] = &[
    ("core/v1.Pod", &[Call(pods::pod_through)]),
    ("core/v1.PodSpec", &[Call(pods::spec_through)]),
    ("core/v1.PodStatus", &[Call(pods::status_through)]),
    ("core/v1.PodTemplateSpec", &[Call(pods::annotations_through)]),
    ("core/v1.NodeStatus", &[Call(resources::status_through)]),
    ("core/v1.NodeSpec", &[Call(resources::node_through)]),
    ("core/v1.Secret", &[Call(services::secret_through)]),
    ("apps/v1.Deployment", &[Try(workloads::deployment_through)]),
    ("apps/v1.DaemonSet", &[Try(workloads::daemon_set_through)]),
    ("apps/v1.StatefulSetSpec", &[Call(workloads::claims_through)]),
    // The server's own types have numbers here, where these have none.
    ("apps/v1.RollingUpdateDeployment", &[Set("maxUnavailable", "0"), Set("maxSurge", "0")]),
    ("apps/v1.RollingUpdateDaemonSet", &[Set("maxUnavailable", "0"), Set("maxSurge", "0")]),
    ("apps/v1.RollingUpdateStatefulSetStrategy", &[Set("partition", "0")]),
    ("apiextensions/v1.CustomResourceConversion", &[Call(definitions::conversion_through)]),
    ("autoscaling/v1.HorizontalPodAutoscaler", &[Call(autoscaling::through_second)]),
    ("autoscaling/v2.HorizontalPodAutoscaler", &[Call(autoscaling::annotations_through)]),
    ("policy/v1.PodDisruptionBudgetSpec", &[Call(services::budget_through)]),
    ("autoscaling/v2.HPAScalingRules", &[Call(autoscaling::rules_through)]),
];
