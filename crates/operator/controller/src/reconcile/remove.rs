//! Takes away what was made for a resource that is being deleted.

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

use super::{Context, Trouble};
use crate::controller::Controller;
use crate::custom::Custom;
use crate::names::{FINALIZERS, MANAGER, ORPHAN};

/// How often a resource is tried that others change at the same time.
const TRIES: usize = 20;

/// What an engine's error is in a condition.
fn uninstall_trouble(error: engine::Error) -> Trouble {
    match error {
        engine::Error::Client(error) | engine::Error::Store(podium_release::Error::Client(error)) => {
            error.into()
        }
        error => Trouble::new("ReleaseFailed", "UninstallError", error),
    }
}

impl Context {
    /// Uninstalls the release, then lets the resource go.
    pub(super) async fn remove(
        &self,
        controller: &Controller,
        key: &ObjectKey,
        custom: &Custom,
    ) -> Result<ReconcileResult, Trouble> {
        if !custom.is_held() {
            return Ok(ReconcileResult::Done);
        }
        if custom.finalizers().contains(&ORPHAN) {
            // Who orphans wants to keep what was made: it goes on as a release of Helm.
            self.let_go(controller, custom).await?;
            controller.forget(key);
            return Ok(ReconcileResult::Done);
        }
        let wishes = custom.wishes().unwrap_or_default();
        let store = self.store(controller.place(key));
        let listener = self.listener(controller, key);
        let engine = self.engine(&store, &listener, None);
        let options = Options {
            hooks: !wishes.uninstall_without_hooks,
            wait: wishes.uninstall_wait.then_some(WaitCondition::Deleted),
            require_deletion: true,
            ..Options::default()
        };
        let past = engine.history(key.name()).await.map_err(uninstall_trouble)?;
        let known = self.hub.record(controller.place(key), key.name()).map_or(0, |record| record.revision);
        if past.entries.last().map_or(0, |entry| entry.revision()) < known {
            // What the last revision made would stay.
            let message = format!("the records are listed without revision {known}, and are looked at again");
            return Err(Trouble { quiet: true, ..Trouble::irreconcilable("ReconcileError", message) });
        }
        if let Some(other) = self.rival(controller, key, &past).await? {
            listener.warn(&format!("the release is not this resource's but that of the {other}: it stays"));
            self.let_go(controller, custom).await?;
            controller.forget(key);
            return Ok(ReconcileResult::Done);
        }
        match engine.uninstall_with_history(key.name(), past, false, &options).await {
            Ok(_) => self.say(
                custom,
                EventType::Normal,
                "Uninstalled",
                &format!("the release {} is uninstalled", key.name()),
            ),
            // The record went first, with the resource's other dependents: what is remembered goes now.
            Err(engine::Error::Store(podium_release::Error::NotFound)) => {
                self.prune_remembered(controller, key, &options).await?
            }
            Err(error) => return Err(uninstall_trouble(error)),
        }
        self.hub.forget(controller.place(key), key.name());
        self.hub.wake_namesakes(controller.place(key), key.name());
        self.let_go(controller, custom).await?;
        controller.forget(key);
        Ok(ReconcileResult::Done)
    }

    async fn prune_remembered(
        &self,
        controller: &Controller,
        key: &ObjectKey,
        options: &Options,
    ) -> Result<(), Trouble> {
        let release_ref =
            ReleaseRef { name: key.name().to_owned(), namespace: controller.place(key).to_owned() };
        let deployer =
            Deployer { client: &self.client, kinds: &self.kinds, release: &release_ref, owner_uid: None };
        let held = controller.card(key).and_then(|card| card.done).map(|done| done.held).unwrap_or_default();
        let names: Vec<ObjectRef> = held.into_iter().map(|held| held.named).collect();
        let steps = deployer.prune(&names, &[], PropagationPolicy::Background).await?;
        if options.wait.is_some() {
            let gone = steps.into_iter().filter(|step| step.action == Action::Delete).map(|step| step.object);
            let gone: Vec<ObjectRef> = gone.collect();
            let waited = deployer.wait(&gone, WaitCondition::Deleted, options.timeout, &|_| ()).await;
            waited.map_err(|e| Trouble::new("ReleaseFailed", "UninstallError", e))?;
        }
        Ok(())
    }

    /// Takes the finalizers away. Others do the same with theirs at the same time: what was decided by those that were
    /// there must not be decided again without them.
    async fn let_go(&self, controller: &Controller, custom: &Custom) -> Result<(), client::Error> {
        for _ in 1..TRIES {
            match self.try_to_let_go(controller, custom).await {
                Err(client::Error::Api(status)) if status.code == 409 => {}
                other => return other,
            }
        }
        self.try_to_let_go(controller, custom).await
    }

    /// The same, once; a resource that is gone already is fine.
    async fn try_to_let_go(&self, controller: &Controller, custom: &Custom) -> Result<(), client::Error> {
        let namespace = Some(custom.namespace()).filter(|namespace| !namespace.is_empty());
        let current = self.client.get_confirmed(&controller.resource, namespace, custom.name()).await?;
        let Some(current) = current.map(Custom).filter(|current| current.uid() == custom.uid()) else {
            return Ok(());
        };
        let left: Vec<&str> =
            current.finalizers().into_iter().filter(|name| !FINALIZERS.contains(name)).collect();
        let patch = json!({"metadata": {"finalizers": left, "resourceVersion": current.version()}});
        let path = format!("{}?fieldManager={MANAGER}", controller.resource.object(namespace, custom.name()));
        let body = Some(("application/merge-patch+json", patch.to_string().into_bytes()));
        match self.client.request(Method::PATCH, &path, body).await {
            Err(client::Error::Api(status)) if status.is_not_found() => Ok(()),
            answer => answer.map(drop),
        }
    }
}
