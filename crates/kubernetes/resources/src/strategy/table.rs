//! Which checks each kind has, in the server's order.

use podium_meta::GroupVersionKind;

use super::metadata::{self, NameRule};
use super::place::{Flaws, Place};
use super::{
    access, autoscaling, config, job_status, jobs, limits, network, pods, services, storage, webhooks,
    workloads,
};

/// One step of the checks of a kind.
#[derive(Clone, Copy)]
pub enum Part {
    /// The metadata of an object.
    Meta,
    /// The metadata, with finalizers of any name.
    PlainMeta,
    /// What changed of the metadata.
    MetaChange,
    /// What changed of the metadata, with finalizers of any name.
    PlainMetaChange,
    /// A function looks at the object.
    Check(fn(&Place<'_>, &mut Flaws)),
    /// A function looks at the object and at what it was before.
    Change(fn(&Place<'_>, &Place<'_>, &mut Flaws)),
}

use Part::{Change, Check, Meta, MetaChange, PlainMeta, PlainMetaChange};

/// The checks of a kind.
pub struct Row {
    group: &'static str,
    kind: &'static str,
    /// What its names have to be.
    pub name: NameRule,
    create: &'static [Part],
    update: &'static [Part],
    below: &'static [(&'static str, &'static [Part])],
}

const fn row(
    group: &'static str,
    kind: &'static str,
    name: NameRule,
    create: &'static [Part],
    update: &'static [Part],
) -> Row {
    Row { group, kind, name, create, update, below: &[] }
}

const fn with_status(row: Row, below: &'static [(&'static str, &'static [Part])]) -> Row {
    Row { below, ..row }
}

const APPS: &str = "apps";
const NETWORKING: &str = "networking.k8s.io";
const RBAC: &str = "rbac.authorization.k8s.io";
const STORAGE: &str = "storage.k8s.io";
const ADMISSION: &str = "admissionregistration.k8s.io";
const SUBDOMAIN: NameRule = NameRule::Subdomain;
const SEGMENT: NameRule = NameRule::Segment;

/// Kinds that have nothing of their own.
const OTHERS: Row = row("", "", SUBDOMAIN, &[Meta], &[MetaChange]);

static ROWS: &[Row] = &[
    with_status(
        row("", "Pod", SUBDOMAIN, &[Check(pods::pod)], &[MetaChange, Change(pods::pod_update)]),
        &[("status", &[MetaChange, Change(pods::pod_status)])],
    ),
    with_status(
        row(
            "",
            "Service",
            NameRule::Label,
            &[Meta, Check(services::service)],
            &[MetaChange, Change(services::service_change)],
        ),
        &[("status", &[MetaChange, Change(services::service_status)])],
    ),
    row(
        "",
        "ConfigMap",
        SUBDOMAIN,
        &[Meta, Check(config::config_map)],
        &[MetaChange, Change(config::frozen_map), Meta, Check(config::config_map)],
    ),
    row(
        "",
        "Secret",
        SUBDOMAIN,
        &[Meta, Check(config::secret)],
        &[MetaChange, Change(config::secret_change), Meta, Check(config::secret)],
    ),
    with_status(
        row(
            "",
            "Namespace",
            NameRule::Label,
            &[Meta, Check(config::namespace)],
            &[Meta, Check(config::namespace), MetaChange],
        ),
        &[
            ("status", &[MetaChange, Check(config::namespace_status)]),
            ("finalize", &[MetaChange, Check(config::namespace_finalize)]),
        ],
    ),
    with_status(
        row(
            "",
            "Node",
            SUBDOMAIN,
            &[Meta, Check(config::node)],
            &[Meta, Check(config::node), MetaChange, Change(config::node_change)],
        ),
        &[("status", &[MetaChange, Change(config::node_change)])],
    ),
    row(
        "",
        "LimitRange",
        SUBDOMAIN,
        &[Meta, Check(limits::limit_range)],
        &[Meta, Check(limits::limit_range)],
    ),
    with_status(
        row(
            "",
            "ResourceQuota",
            SUBDOMAIN,
            &[Meta, Check(limits::quota), Check(limits::quota_status)],
            &[MetaChange, Check(limits::quota), Change(limits::quota_change)],
        ),
        &[("status", &[MetaChange, Check(storage::has_version), Check(limits::quota_status)])],
    ),
    with_status(
        row(
            "",
            "PersistentVolume",
            SUBDOMAIN,
            &[Meta, Check(storage::volume), Check(storage::mount_options)],
            &[
                Meta,
                Check(storage::volume),
                Check(storage::mount_options),
                Meta,
                Check(storage::volume),
                Change(storage::volume_change),
            ],
        ),
        &[("status", &[MetaChange, Check(storage::has_version)])],
    ),
    with_status(
        row(
            "",
            "PersistentVolumeClaim",
            SUBDOMAIN,
            &[Meta, Check(storage::claim)],
            &[MetaChange, Meta, Check(storage::claim), Change(storage::claim_change)],
        ),
        &[("status", &[MetaChange, Check(storage::has_version), Check(storage::claim_status)])],
    ),
    row("", "ServiceAccount", SUBDOMAIN, &[Meta], &[MetaChange, Meta]),
    row("", "Event", SUBDOMAIN, &[Check(limits::event)], &[Check(limits::event)]),
    row(
        "events.k8s.io",
        "Event",
        SUBDOMAIN,
        &[Check(limits::new_event), Meta, Check(limits::new_event_rest)],
        &[Check(limits::new_event), MetaChange, Change(limits::new_event_change)],
    ),
    row(
        "",
        "PodTemplate",
        SUBDOMAIN,
        &[Meta, Check(workloads::pod_template)],
        &[MetaChange, Check(workloads::pod_template)],
    ),
    row(
        "",
        "Endpoints",
        SUBDOMAIN,
        &[Meta, Check(network::endpoints)],
        &[MetaChange, Meta, Change(network::endpoints_change)],
    ),
    with_status(
        row(
            "",
            "ReplicationController",
            SUBDOMAIN,
            &[Meta, Check(workloads::replication_controller)],
            &[MetaChange, Check(workloads::replication_controller)],
        ),
        &[("status", &[MetaChange, Check(workloads::replica_status)])],
    ),
    with_status(
        row(
            APPS,
            "Deployment",
            SUBDOMAIN,
            &[Meta, Check(workloads::deployment)],
            &[MetaChange, Check(workloads::deployment), Change(workloads::selector_stays)],
        ),
        &[("status", &[MetaChange, Check(workloads::deployment_status), Change(workloads::collisions_grow)])],
    ),
    with_status(
        row(
            APPS,
            "ReplicaSet",
            SUBDOMAIN,
            &[Meta, Check(workloads::replica_set)],
            &[MetaChange, Check(workloads::replica_set), Change(workloads::selector_stays)],
        ),
        &[("status", &[MetaChange, Check(workloads::replica_status)])],
    ),
    with_status(
        row(
            APPS,
            "DaemonSet",
            SUBDOMAIN,
            &[Meta, Check(workloads::daemon_set)],
            &[
                MetaChange,
                Change(workloads::templates_counted),
                Change(workloads::selector_stays),
                Check(workloads::daemon_set),
            ],
        ),
        &[("status", &[MetaChange, Check(workloads::daemon_status), Change(workloads::collisions_grow)])],
    ),
    with_status(
        row(
            APPS,
            "StatefulSet",
            NameRule::Label,
            &[Meta, Check(workloads::stateful_set)],
            &[MetaChange, Check(workloads::stateful_set_again), Change(workloads::stateful_change)],
        ),
        &[("status", &[Check(workloads::stateful_status), MetaChange, Change(workloads::collisions_grow)])],
    ),
    row(
        APPS,
        "ControllerRevision",
        SUBDOMAIN,
        &[Meta, Check(workloads::revision), Check(workloads::revision_data)],
        &[MetaChange, Meta, Check(workloads::revision), Change(workloads::revision_stays)],
    ),
    with_status(
        row("batch", "Job", SUBDOMAIN, &[Meta, Check(jobs::job)], &[Meta, Change(jobs::job_change)]),
        &[("status", &[MetaChange, Check(job_status::job_status), Change(job_status::job_status_change)])],
    ),
    with_status(
        row(
            "batch",
            "CronJob",
            SUBDOMAIN,
            &[Meta, Check(jobs::cron_job)],
            &[MetaChange, Change(jobs::cron_change)],
        ),
        &[("status", &[])],
    ),
    with_status(
        row(
            "autoscaling",
            "HorizontalPodAutoscaler",
            SUBDOMAIN,
            &[Meta, Check(autoscaling::autoscaler)],
            &[MetaChange, Change(autoscaling::autoscaler_change)],
        ),
        &[("status", &[MetaChange, Check(autoscaling::autoscaler_status)])],
    ),
    with_status(
        row(
            NETWORKING,
            "Ingress",
            SUBDOMAIN,
            &[Meta, Check(network::ingress)],
            &[MetaChange, Meta, Check(network::ingress_spec)],
        ),
        &[("status", &[MetaChange, Change(network::ingress_status)])],
    ),
    row(
        NETWORKING,
        "IngressClass",
        SUBDOMAIN,
        &[Meta, Check(network::ingress_class)],
        &[MetaChange, Change(network::controller_stays), Meta, Check(network::ingress_class)],
    ),
    row(
        NETWORKING,
        "NetworkPolicy",
        SUBDOMAIN,
        &[Meta, Check(network::network_policy)],
        &[MetaChange, Change(network::network_policy_change)],
    ),
    with_status(
        row("policy", "PodDisruptionBudget", SEGMENT, &[Check(limits::budget)], &[Check(limits::budget)]),
        &[("status", &[Check(limits::budget_status)])],
    ),
    row(RBAC, "Role", SEGMENT, &[Meta, Check(access::role)], &[Meta, Check(access::role), MetaChange]),
    row(
        RBAC,
        "ClusterRole",
        SEGMENT,
        &[Meta, Check(access::cluster_role)],
        &[Meta, Check(access::cluster_role), MetaChange],
    ),
    row(
        RBAC,
        "RoleBinding",
        SEGMENT,
        &[Meta, Check(access::role_binding)],
        &[Meta, Check(access::role_binding), MetaChange, Change(access::role_stays)],
    ),
    row(
        RBAC,
        "ClusterRoleBinding",
        SEGMENT,
        &[Meta, Check(access::cluster_role_binding)],
        &[Meta, Check(access::cluster_role_binding), MetaChange, Change(access::role_stays)],
    ),
    row(
        "coordination.k8s.io",
        "Lease",
        SUBDOMAIN,
        &[PlainMeta, Check(limits::lease)],
        &[PlainMetaChange, Check(limits::lease)],
    ),
    row(
        "scheduling.k8s.io",
        "PriorityClass",
        SUBDOMAIN,
        &[Meta, Check(limits::priority)],
        &[MetaChange, Change(limits::priority_change)],
    ),
    row(
        "discovery.k8s.io",
        "EndpointSlice",
        SUBDOMAIN,
        &[Meta, Check(network::slice)],
        &[Meta, Change(network::slice_change), Change(network::type_stays)],
    ),
    row(
        STORAGE,
        "StorageClass",
        SUBDOMAIN,
        &[Meta, Check(storage::class)],
        &[Meta, Check(storage::class), MetaChange, Change(storage::class_change)],
    ),
    with_status(
        row(
            STORAGE,
            "VolumeAttachment",
            SUBDOMAIN,
            &[Meta, Check(storage::attachment)],
            &[Meta, Check(storage::attachment), Change(storage::attachment_change)],
        ),
        &[("status", &[Meta, Check(storage::attachment), Change(storage::attachment_change)])],
    ),
    row(STORAGE, "CSINode", SUBDOMAIN, &[Meta, Check(storage::drivers)], &[Meta, Check(storage::drivers)]),
    row(
        "node.k8s.io",
        "RuntimeClass",
        SUBDOMAIN,
        &[PlainMeta, Check(config::runtime_class)],
        &[PlainMeta, Check(config::runtime_class), PlainMetaChange, Change(config::handler_stays)],
    ),
    row(
        ADMISSION,
        "ValidatingWebhookConfiguration",
        SUBDOMAIN,
        &[PlainMeta, Check(webhooks::configuration)],
        &[PlainMeta, Check(webhooks::configuration)],
    ),
    row(
        ADMISSION,
        "MutatingWebhookConfiguration",
        SUBDOMAIN,
        &[PlainMeta, Check(webhooks::configuration)],
        &[PlainMeta, Check(webhooks::configuration)],
    ),
];

/// The checks of a kind.
pub fn of(kind: &GroupVersionKind) -> &'static Row {
    ROWS.iter().find(|row| row.group == kind.group && row.kind == kind.kind).unwrap_or(&OTHERS)
}

/// Whether a kind has checks of its own.
#[cfg(test)]
pub fn known() -> impl Iterator<Item = (&'static str, &'static str)> {
    ROWS.iter().map(|row| (row.group, row.kind))
}

impl Row {
    /// Asks everything of a new object.
    pub fn create(&self, object: &Place<'_>, namespaced: bool, out: &mut Flaws) {
        self.create.iter().for_each(|part| self.step(*part, object, object, namespaced, out));
    }

    /// Asks everything of a changed object.
    pub fn update(
        &self,
        subresource: &str,
        new: &Place<'_>,
        old: &Place<'_>,
        namespaced: bool,
        out: &mut Flaws,
    ) {
        let below = self.below.iter().find(|(name, _)| *name == subresource).map(|(_, parts)| *parts);
        let parts = match (subresource, below) {
            (_, Some(parts)) => parts,
            ("" | "scale", None) => self.update,
            (_, None) => &[MetaChange],
        };
        parts.iter().for_each(|part| self.step(*part, new, old, namespaced, out));
    }

    fn step(&self, part: Part, new: &Place<'_>, old: &Place<'_>, namespaced: bool, out: &mut Flaws) {
        let meta = new.at("metadata");
        match part {
            Meta | PlainMeta => {
                metadata::create(&meta, self.name, namespaced, out);
                if matches!(part, Meta) {
                    metadata::known_finalizers(&meta.at("finalizers"), out);
                }
            }
            MetaChange => metadata_changes(new, old, out),
            PlainMetaChange => metadata::update(&meta, &old.at("metadata"), out),
            Check(check) => check(new, out),
            Change(change) => change(new, old, out),
        }
    }
}

/// What changed of the metadata of a built-in kind.
pub fn metadata_changes(new: &Place<'_>, old: &Place<'_>, out: &mut Flaws) {
    let meta = new.at("metadata");
    metadata::update(&meta, &old.at("metadata"), out);
    metadata::known_finalizers(&meta.at("finalizers"), out);
}
