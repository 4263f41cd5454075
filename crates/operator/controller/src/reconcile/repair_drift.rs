//! Drift: detects objects that other clients changed or deleted, and applies them again.
//!
//! An object has drifted when the signature of the fields that the release owns differs from the one that was applied,
//! or when it is gone. Informers detect both without reading the object.

use podium_client::ObjectKey;
use podium_deploy::ObjectRef;
use podium_deploy::plan::{Action, Step};
use podium_release::engine;

use super::Context;
use super::error::{ReconcileError, release_error};
use crate::chart_controller::ChartController;
use crate::custom_resource::CustomResource;
use crate::informers::ObservedObject;
use crate::release_owner::CustomResourceOwner;
use crate::resource_state::{self, AppliedObject};

impl Context {
    /// Whether another client has taken a field of an object, or deleted the object. Without informers of dependent
    /// resources every object counts as drifted and is applied again.
    fn is_drifted(&self, controller: &ChartController, applied: &AppliedObject) -> bool {
        if !controller.watch.watch_dependent_resources {
            return true;
        }
        match self.informers.observe(&applied.object) {
            _ if applied.deleted_at_version.is_some() => true,
            ObservedObject::Present(state) => {
                state.version > applied.version && state.signature != applied.signature
            }
            // Deleted before its informer synced, or while the operator was down.
            ObservedObject::Absent(observed_version) => applied.version <= observed_version,
            ObservedObject::Unknown | ObservedObject::Unwatched => false,
        }
    }

    fn drifted(&self, controller: &ChartController, objects: &[AppliedObject]) -> Vec<ObjectRef> {
        objects
            .iter()
            .filter(|applied| self.is_drifted(controller, applied))
            .map(|applied| applied.object.clone())
            .collect()
    }

    /// The revision of the last sync, and its objects that this process applied and no other client has changed since.
    pub(super) fn unchanged_objects(
        &self,
        controller: &ChartController,
        key: &ObjectKey,
    ) -> (i64, Vec<Step>) {
        let Some(last) = Self::last_applied(controller, key) else { return (0, Vec::new()) };
        let is_unchanged = |applied: &&AppliedObject| {
            let observed = self.informers.observe(&applied.object);
            let exists =
                matches!(observed, ObservedObject::Present(state) if state.signature == applied.signature);
            exists
                && applied.version != 0
                && applied.left_to_others.is_empty()
                && !self.is_drifted(controller, applied)
        };
        let step = |applied: &AppliedObject| Step {
            object: applied.object.clone(),
            action: Action::Keep,
            notes: Vec::new(),
            managed_fields_hash: applied.signature,
            resource_version: applied.version,
            readiness: applied.readiness.as_ref().map(|(_, sight)| sight.clone()),
        };
        (last.revision, last.objects.iter().filter(is_unchanged).map(step).collect())
    }

    /// Applies the drifted objects of the last sync again.
    pub(super) async fn repair_drift(
        &self,
        controller: &ChartController,
        key: &ObjectKey,
    ) -> Result<(), ReconcileError> {
        let Some(last) = Self::last_applied(controller, key) else { return Ok(()) };
        let drifted = self.drifted(controller, &last.objects);
        if drifted.is_empty() {
            return Ok(());
        }
        let Some(object) =
            self.client.get_confirmed(&controller.resource, key.namespace(), key.name()).await?
        else {
            return Ok(());
        };
        let cr = CustomResource(object);
        if cr.is_being_deleted() {
            return Ok(());
        }
        let chart = Self::chart(controller)?;
        let keeper = CustomResourceOwner {
            custom_resource: &cr,
            kind: &controller.watch.kind,
            chart_name: &chart.name,
            intact: (0, Vec::new()),
        };
        let store = self.store(controller.release_namespace(key));
        let listener = self.listener(controller, key);
        let engine = self.engine(&store, &listener, Some(&keeper));
        let failed = |error| release_error(false, error);
        let past = engine.history(key.name()).await.map_err(failed)?;
        let Some(release) = past.last().filter(|last_record| last_record.revision == last.revision) else {
            // Another client changed the records: the next reconcile syncs. The applied objects stay in the state,
            // because in a terminating namespace the records may be gone before the resource, and the uninstall needs
            // them.
            controller.update_state(key, |state| state.input_generation += 1);
            controller.queue.add(key.clone());
            return Ok(());
        };
        let steps = engine.repair(release, &|named| drifted.contains(named), false).await.map_err(failed)?;
        self.report_repairs(controller, &cr, &steps);
        controller.update_state(key, |state| {
            for applied in state.last_applied.iter_mut().flat_map(|last| &mut last.objects) {
                if let Some(step) = steps.iter().find(|step| step.object == applied.object) {
                    let readiness = applied.readiness.take();
                    *applied = AppliedObject { readiness, ..applied.reapplied(step) };
                }
            }
        });
        Ok(())
    }

    /// Repairs the deployed revision of a resource whose reconcile failed. An error is only logged: the status reports
    /// the failure already, and the next event tries again.
    pub(super) async fn repair_deployed(&self, controller: &ChartController, key: &ObjectKey) {
        if let Err(error) = self.try_repair_deployed(controller, key).await {
            self.log
                .debug("the deployed revision cannot be repaired", &[("resource", key), ("error", &error)]);
        }
    }

    async fn try_repair_deployed(
        &self,
        controller: &ChartController,
        key: &ObjectKey,
    ) -> Result<(), engine::Error> {
        let record = self.informers.record(controller.release_namespace(key), key.name());
        let record = record.filter(|record| record.status == "deployed");
        let Some(record) = record else { return Ok(()) };
        let recorded = record.encoded_objects.as_deref().and_then(resource_state::decode_objects);
        let Some(recorded) = recorded else { return Ok(()) };
        if !controller.watch.watch_dependent_resources {
            return Ok(());
        }
        let mut objects = controller.deployed_objects(key, record.revision).unwrap_or(recorded);
        let discovery = self.kinds.get().await?;
        let kinds = objects.iter().filter_map(|applied| discovery.find(&applied.object.kind));
        kinds.for_each(|resource| self.informers.watch(resource));
        let drifted = self.drifted(controller, &objects);
        if drifted.is_empty() {
            return Ok(());
        }
        let found = self.client.get_confirmed(&controller.resource, key.namespace(), key.name()).await?;
        let cr = found.map(CustomResource).filter(|cr| !cr.is_being_deleted());
        let (Some(cr), Ok(chart)) = (cr, controller.chart()) else { return Ok(()) };
        let keeper = CustomResourceOwner {
            custom_resource: &cr,
            kind: &controller.watch.kind,
            chart_name: &chart.name,
            intact: (0, Vec::new()),
        };
        let store = self.store(controller.release_namespace(key));
        let listener = self.listener(controller, key);
        let engine = self.engine(&store, &listener, Some(&keeper));
        let past = engine.history(key.name()).await?;
        let last =
            past.last().filter(|last| last.revision == record.revision && last.info.status == "deployed");
        let Some(release) = last else { return Ok(()) };
        if self.other_owner(controller, key, &past).await?.is_some() {
            return Ok(());
        }
        let steps = engine.repair(release, &|named| drifted.contains(named), false).await?;
        self.report_repairs(controller, &cr, &steps);
        for applied in &mut objects {
            if let Some(step) = steps.iter().find(|step| step.object == applied.object) {
                *applied = applied.reapplied(step);
            }
        }
        controller.set_deployed_objects(key, record.revision, objects);
        Ok(())
    }
}
