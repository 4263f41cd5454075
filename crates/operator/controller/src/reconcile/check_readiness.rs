//! Readiness: reads the objects whose readiness may have changed, and decides when the resource is reconciled again.

use std::time::Duration;

use podium_client::ObjectKey;
use podium_controller::work_queue::{Backoff, ReconcileResult};
use podium_deploy::deployer::Deployer;
use podium_deploy::{ObjectRef, ReleaseRef};
use podium_kstatus::Status;

use super::Context;
use super::error::ReconcileError;
use crate::chart_controller::ChartController;
use crate::informers::ObservedObject;
use crate::resource_state::{AppliedObject, LastApplied};

/// The reconcile period of resources whose objects are not watched, unless another one is set.
const UNWATCHED_PERIOD: Duration = Duration::from_secs(60);
/// The pauses between readiness checks of objects that no event reports; they grow while nothing changes.
const CHECK_BACKOFF: Backoff = Backoff { base: Duration::from_secs(3), cap: Duration::from_secs(300) };

impl Context {
    /// Reads the readiness of the objects that have changed since the last check.
    pub(super) async fn check_readiness(
        &self,
        controller: &ChartController,
        key: &ObjectKey,
    ) -> Result<(), ReconcileError> {
        let Some(last) = Self::last_applied(controller, key) else { return Ok(()) };
        let owner = ReleaseRef {
            name: key.name().to_owned(),
            namespace: controller.release_namespace(key).to_owned(),
        };
        let place = Deployer { client: &self.client, kinds: &self.kinds, release: &owner, owner_uid: None };
        let discovery = self.kinds.get().await?;
        let mut changed = false;
        for applied in last.objects.iter().filter(|applied| has_readiness(&applied.object)) {
            let version = match self.informers.observe(&applied.object) {
                ObservedObject::Present(state) => state.version.max(applied.version),
                // The list in progress will enqueue the resource again.
                ObservedObject::Unknown
                    if applied.version == 0 && controller.watch.watch_dependent_resources =>
                {
                    continue;
                }
                ObservedObject::Absent(_) | ObservedObject::Unknown | ObservedObject::Unwatched => {
                    applied.version
                }
            };
            // The response to the apply is enough for the first check; later ones read pods for the reason.
            let first = last.readiness_checks == 0;
            let known = applied.readiness.as_ref().is_some_and(|(checked, _)| *checked == version);
            if known && (first || !self.may_change_without_event(applied)) {
                continue;
            }
            let Some(resource) = discovery.find(&applied.object.kind) else { continue };
            let sight = place.readiness(&applied.object, resource).await?;
            controller.update_state(key, |state| {
                let Some(last) = &mut state.last_applied else { return };
                if let Some(applied) = last.objects.iter_mut().find(|other| other.object == applied.object) {
                    changed |= applied.readiness.as_ref().is_none_or(|(_, before)| *before != sight);
                    applied.readiness = Some((version, sight));
                }
            });
        }
        controller.update_state(key, |state| {
            if let Some(last) = &mut state.last_applied {
                last.readiness_checks = if changed { 1 } else { last.readiness_checks.saturating_add(1) };
            }
        });
        Ok(())
    }

    /// Whether the readiness of an object can change without an event: it has pods, which are not watched, or its
    /// namespace is not watched.
    fn may_change_without_event(&self, applied: &AppliedObject) -> bool {
        let Some((_, sight)) = &applied.readiness else { return false };
        let is_unwatched = || self.informers.observe(&applied.object) == ObservedObject::Unwatched;
        !sight.health.is_current() && (sight.has_pods || is_unwatched())
    }

    /// When a resource is reconciled again without an event: after its period, or when a readiness check is due.
    pub(super) fn next_reconcile(&self, controller: &ChartController, key: &ObjectKey) -> ReconcileResult {
        let Some(last) = Self::last_applied(controller, key) else { return ReconcileResult::Done };
        let unwatched = (!controller.watch.watch_dependent_resources).then_some(UNWATCHED_PERIOD);
        let period = last.reconcile_period.or(controller.watch.reconcile_period);
        let period = period.or(self.reconcile_period).or(unwatched).filter(|period| !period.is_zero());
        let needs_check = last.objects.iter().any(|applied| self.may_change_without_event(applied));
        let check = needs_check.then(|| CHECK_BACKOFF.after(last.readiness_checks));
        let next = [period, check].into_iter().flatten().min();
        next.map_or(ReconcileResult::Done, ReconcileResult::RequeueAfter)
    }
}

/// Whether objects of a kind can exist without being ready.
fn has_readiness(named: &ObjectRef) -> bool {
    const ALWAYS_READY: [&str; 17] = [
        "ConfigMap",
        "Secret",
        "ServiceAccount",
        "Role",
        "RoleBinding",
        "ClusterRole",
        "ClusterRoleBinding",
        "Ingress",
        "IngressClass",
        "NetworkPolicy",
        "PriorityClass",
        "StorageClass",
        "LimitRange",
        "ResourceQuota",
        "ValidatingWebhookConfiguration",
        "MutatingWebhookConfiguration",
        "HorizontalPodAutoscaler",
    ];
    let built_in = named.kind.group.is_empty()
        || named.kind.group.ends_with(".k8s.io")
        || !named.kind.group.contains('.');
    !(built_in && ALWAYS_READY.contains(&named.kind.kind.as_str()))
}

/// A line for each object that is not ready, and whether one has failed; `None` while an object is unchecked.
pub(super) fn not_ready(last_applied: &LastApplied) -> Option<(Vec<String>, bool)> {
    let mut lines = Vec::new();
    let mut failed = false;
    for applied in &last_applied.objects {
        match applied.readiness.as_ref().map(|(_, sight)| &sight.health) {
            Some(Status::Current) => {}
            None if !has_readiness(&applied.object) => {}
            None => return None,
            Some(health) => {
                failed |= matches!(health, Status::Failed(_));
                lines.push(format!("{}: {}", applied.object, health.reason().unwrap_or_default()));
            }
        }
    }
    Some((lines, failed))
}
