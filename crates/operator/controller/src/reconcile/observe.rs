//! Observe: is the last sync up to date, and if not, which state has the resource now?

use podium_client::ObjectKey;

use super::Context;
use super::error::ReconcileError;
use crate::chart_controller::ChartController;
use crate::custom_resource::CustomResource;
use crate::resource_state::ResourceState;

/// A resource at the start of a sync.
pub(super) struct Observed {
    /// The resource.
    pub cr: CustomResource,
    /// Its input generation when it was read.
    pub input_generation: u64,
}

impl Context {
    /// Whether the last sync had the present inputs, and its revision is still the latest.
    pub(super) fn is_up_to_date(
        &self,
        controller: &ChartController,
        key: &ObjectKey,
        state: &ResourceState,
    ) -> bool {
        let Some(last) = &state.last_applied else { return false };
        let record = self.informers.record(controller.release_namespace(key), key.name());
        // The informer may lag behind the last sync; a newer revision is another client's.
        let is_replaced = record.is_some_and(|record| {
            record.revision > last.revision
                || record.revision == last.revision
                    && matches!(record.status.as_str(), "failed" | "superseded" | "uninstalling")
        });
        last.input_generation == state.input_generation
            && last.spec_hash == state.spec_hash
            && last.chart_digest == controller.chart_digest()
            && !is_replaced
    }

    /// Reads the resource; `None` when it does not exist or is not selected any more.
    pub(super) async fn observe(
        &self,
        controller: &ChartController,
        key: &ObjectKey,
    ) -> Result<Option<Observed>, ReconcileError> {
        // The object of the informer's event saves a request; it is used once.
        let delivered = controller.update_state(key, |state| state.object.take()).flatten();
        let object = match delivered {
            Some(object) => Some(*object),
            None => self.client.get_confirmed(&controller.resource, key.namespace(), key.name()).await?,
        };
        let Some(object) = object else {
            controller.forget(key);
            return Ok(None);
        };
        let cr = CustomResource(object);
        if controller.state(key).is_some_and(|state| cr.resource_version_number() < state.version) {
            // A sync of the older version would overwrite the newer state that the informer delivered.
            let message =
                "the API server returned an older version of the resource than its watch; it is read again";
            return Err(ReconcileError::transient(message));
        }
        if !controller.watch.selector.matches(&cr.labels()) {
            controller.forget(key);
            return Ok(None);
        }
        let input_generation = controller.update_state(key, |state| {
            state.spec_hash = cr.spec_hash();
            state.reconciling_hash = state.spec_hash;
            state.status = cr.status();
            state.input_generation
        });
        Ok(Some(Observed { cr, input_generation: input_generation.unwrap_or_default() }))
    }
}
