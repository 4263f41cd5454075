//! Uninstall: deletes the release of a resource that is being deleted, and then removes the finalizer.

use http::Method;
use podium_client::write::PropagationPolicy;
use podium_client::{ObjectKey, client};
use podium_controller::events::EventType;
use podium_controller::work_queue::ReconcileResult;
use podium_deploy::deployer::Deployer;
use podium_deploy::plan::Action;
use podium_deploy::wait::WaitCondition;
use podium_deploy::{ObjectRef, ReleaseRef};
use podium_release::engine::{self, Options, Reporter};
use serde_json::json;

use super::Context;
use super::error::{ReconcileError, uninstall_error};
use crate::chart_controller::ChartController;
use crate::custom_resource::CustomResource;
use crate::names::{FIELD_MANAGER, FINALIZERS, ORPHAN_FINALIZER};

/// How often the removal of the finalizers is tried while other clients change the resource.
const MAX_CONFLICTS: usize = 20;

impl Context {
    /// Uninstalls the release and removes the finalizers.
    pub(super) async fn uninstall(
        &self,
        controller: &ChartController,
        key: &ObjectKey,
        cr: &CustomResource,
    ) -> Result<ReconcileResult, ReconcileError> {
        if !cr.has_finalizer() {
            return Ok(ReconcileResult::Done);
        }
        if cr.finalizers().contains(&ORPHAN_FINALIZER) {
            // Orphaned objects stay, as a release that `helm` manages.
            self.remove_finalizers(controller, cr).await?;
            controller.forget(key);
            return Ok(ReconcileResult::Done);
        }
        let reconcile_options = cr.reconcile_options().unwrap_or_default();
        let store = self.store(controller.release_namespace(key));
        let listener = self.listener(controller, key);
        let engine = self.engine(&store, &listener, None);
        let options = Options {
            hooks: !reconcile_options.uninstall_disable_hooks,
            wait: reconcile_options.uninstall_wait.then_some(WaitCondition::Deleted),
            require_deletion: true,
            ..Options::default()
        };
        let past = engine.history(key.name()).await.map_err(uninstall_error)?;
        let record = self.informers.record(controller.release_namespace(key), key.name());
        let known = record.map_or(0, |record| record.revision);
        if past.entries.last().map_or(0, |entry| entry.revision()) < known {
            // Without the last revision, the objects that only it has would stay.
            let message =
                format!("the list of release records lacks revision {known}; they are listed again");
            return Err(ReconcileError::transient(message));
        }
        if let Some(other) = self.other_owner(controller, key, &past).await? {
            listener
                .warn(&format!("the release belongs to the {other} with this name: it is not uninstalled"));
            self.remove_finalizers(controller, cr).await?;
            controller.forget(key);
            return Ok(ReconcileResult::Done);
        }
        match engine.uninstall_with_history(key.name(), past, false, &options).await {
            Ok(_) => self.record_event(
                cr,
                EventType::Normal,
                "Uninstalled",
                &format!("the release {} is uninstalled", key.name()),
            ),
            // Another client deleted the records: the objects in memory are deleted instead.
            Err(engine::Error::Store(podium_release::Error::NotFound)) => {
                self.prune_last_applied(controller, key, &options).await?
            }
            Err(error) => return Err(uninstall_error(error)),
        }
        self.informers.forget(controller.release_namespace(key), key.name());
        self.informers.enqueue_release(controller.release_namespace(key), key.name());
        self.remove_finalizers(controller, cr).await?;
        controller.forget(key);
        Ok(ReconcileResult::Done)
    }

    /// Deletes the objects of the last sync.
    async fn prune_last_applied(
        &self,
        controller: &ChartController,
        key: &ObjectKey,
        options: &Options,
    ) -> Result<(), ReconcileError> {
        let owner = ReleaseRef {
            name: key.name().to_owned(),
            namespace: controller.release_namespace(key).to_owned(),
        };
        let place = Deployer { client: &self.client, kinds: &self.kinds, release: &owner, owner_uid: None };
        let objects = Self::last_applied(controller, key).map(|last| last.objects).unwrap_or_default();
        let names: Vec<ObjectRef> = objects.into_iter().map(|applied| applied.object).collect();
        let steps = place.prune(&names, &[], PropagationPolicy::Background).await?;
        if options.wait.is_some() {
            let gone = steps.into_iter().filter(|step| step.action == Action::Delete).map(|step| step.object);
            let gone: Vec<ObjectRef> = gone.collect();
            let waited = place.wait(&gone, WaitCondition::Deleted, options.timeout, &|_| ()).await;
            waited.map_err(|e| ReconcileError::new("ReleaseFailed", "UninstallError", e))?;
        }
        Ok(())
    }

    /// Removes the operator's finalizers. Conflicts with other controllers that remove theirs are retried here and not
    /// by another reconcile, which could no longer see the finalizer that decided this one.
    async fn remove_finalizers(
        &self,
        controller: &ChartController,
        cr: &CustomResource,
    ) -> Result<(), client::Error> {
        for _ in 1..MAX_CONFLICTS {
            match self.try_remove_finalizers(controller, cr).await {
                Err(client::Error::Api(status)) if status.code == 409 => {}
                other => return other,
            }
        }
        self.try_remove_finalizers(controller, cr).await
    }

    /// Removes them once; succeeds when the resource is gone already.
    async fn try_remove_finalizers(
        &self,
        controller: &ChartController,
        cr: &CustomResource,
    ) -> Result<(), client::Error> {
        let namespace = Some(cr.namespace()).filter(|namespace| !namespace.is_empty());
        let current = self.client.get_confirmed(&controller.resource, namespace, cr.name()).await?;
        let Some(current) = current.map(CustomResource).filter(|current| current.uid() == cr.uid()) else {
            return Ok(());
        };
        let left: Vec<&str> =
            current.finalizers().into_iter().filter(|name| !FINALIZERS.contains(name)).collect();
        let patch = json!({"metadata": {"finalizers": left, "resourceVersion": current.resource_version()}});
        let path =
            format!("{}?fieldManager={FIELD_MANAGER}", controller.resource.object(namespace, cr.name()));
        let body = Some(("application/merge-patch+json", patch.to_string().into_bytes()));
        match self.client.request(Method::PATCH, &path, body).await {
            Err(client::Error::Api(status)) if status.is_not_found() => Ok(()),
            answer => answer.map(drop),
        }
    }
}
