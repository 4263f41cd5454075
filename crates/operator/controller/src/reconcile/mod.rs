//! The reconcile of a custom resource: observe, validate, plan, apply, report.
//!
//! From the event to the status, in reading order:
//!
//! 1. `chart_controller.rs`: events of custom resources become state and keys in the work queue.
//! 2. `informers.rs`: so do events of the objects and records of releases.
//! 3. `reconcile/mod.rs`, this file: the driver.
//! 4. `observe.rs`: is the last sync up to date? If not, reads the resource.
//! 5. `plan.rs`: validates the resource, collects its values and decides whether there is anything to deploy.
//! 6. `ownership.rs`: adds the finalizer, and checks that the release belongs to the resource.
//! 7. `sync.rs`: installs or upgrades the release.
//! 8. `repair_drift.rs`: applies objects again that other clients changed or deleted.
//! 9. `check_readiness.rs`: reads the objects whose readiness may have changed.
//! 10. `report.rs`: writes conditions, Events and log lines.
//!
//! A resource that is being deleted goes from 4 to `uninstall.rs`. A resource that fails keeps its deployed revision,
//! which 8 repairs while it backs off. `context.rs` has what the steps share, `error.rs` how they fail.

mod check_readiness;
mod context;
mod error;
mod observe;
mod ownership;
mod plan;
mod repair_drift;
mod report;
mod sync;
mod uninstall;

use std::time::Duration;

use podium_client::ObjectKey;
use podium_controller::work_queue::ReconcileResult;
use podium_release::engine::Reporter;

pub use self::context::Context;
use self::error::ReconcileError;
use crate::chart_controller::ChartController;
use crate::missing_dependencies::Dependency;
use crate::peers::Role;
use crate::resource_state::ResourceState;

/// How long a reconcile runs before a change of the spec cancels it.
const CANCEL_AFTER: Duration = Duration::from_secs(2);

impl Context {
    /// Reconciles a resource, unless another operator is responsible for it or it backs off.
    pub async fn reconcile(&self, controller: &ChartController, key: &ObjectKey) -> ReconcileResult {
        let Some(state) = controller.state(key) else {
            controller.forget(key);
            return ReconcileResult::Done;
        };
        if let Role::Standby(peer) = self.peers.role(&controller.watch.kind, key, &state.labels) {
            self.log.debug("an older operator is responsible", &[("resource", key), ("operator", &peer)]);
            return ReconcileResult::Done;
        }
        if let Some(wait) = controller.backoff_left(key) {
            self.repair_deployed(controller, key).await;
            return ReconcileResult::BackingOff(wait);
        }
        controller.update_state(key, |state| state.reconciling_hash = state.spec_hash);
        let result = tokio::select! {
            biased;
            result = self.converge(controller, key, &state) => result,
            () = superseded(controller, key) => {
                self.listener(controller, key).warn("the spec has changed: the running reconcile is cancelled");
                controller.queue.add(key.clone());
                return ReconcileResult::Done;
            }
        };
        match result {
            Ok(result) => {
                controller.clear_failure(key);
                self.informers.missing.set(&controller.watch.kind, &key.to_string(), None);
                result
            }
            Err(error) => {
                controller.record_failure(key);
                let missing = Dependency::from_message(&error.message);
                self.informers.missing.set(&controller.watch.kind, &key.to_string(), missing);
                self.report_failure(controller, key, &error).await;
                self.repair_deployed(controller, key).await;
                ReconcileResult::Failed
            }
        }
    }

    /// Brings the release of a resource to its desired state: observes, validates, plans, applies and reports. Sends no
    /// request when nothing has changed.
    async fn converge(
        &self,
        controller: &ChartController,
        key: &ObjectKey,
        state: &ResourceState,
    ) -> Result<ReconcileResult, ReconcileError> {
        if !self.is_up_to_date(controller, key, state) {
            let Some(observed) = self.observe(controller, key).await? else {
                return Ok(ReconcileResult::Done);
            };
            if observed.cr.is_being_deleted() {
                return self.uninstall(controller, key, &observed.cr).await;
            }
            let options = plan::validate(&observed.cr)?;
            let observed = self.ensure_finalizer(controller, observed).await?;
            let plan = self.plan(controller, &observed.cr, options).await?;
            self.sync(controller, key, &observed, plan).await?;
        }
        self.repair_drift(controller, key).await?;
        self.check_readiness(controller, key).await?;
        self.report(controller, key).await?;
        Ok(self.next_reconcile(controller, key))
    }
}

/// Resolves when the spec has changed since a long reconcile started. The next reconcile recovers what this one leaves
/// half done, as after a crash.
async fn superseded(controller: &ChartController, key: &ObjectKey) {
    tokio::time::sleep(CANCEL_AFTER).await;
    loop {
        let changed = controller.spec_changed.notified();
        if controller.state(key).is_none_or(|state| state.spec_hash != state.reconciling_hash) {
            return;
        }
        changed.await;
    }
}
