//! Looks after what is there while what is wanted fails: the last revision that was deployed stays as it is.

use podium_client::ObjectKey;
use podium_controller::events::EventType;
use podium_deploy::ObjectRef;
use podium_deploy::plan::{Action, Step};
use podium_release::engine;

use super::Context;
use crate::card;
use crate::controller::Controller;
use crate::custom::Custom;
use crate::keeper::Owned;

impl Context {
    /// Mends the objects of the deployed revision. What goes wrong here is tried again with the next event: the
    /// resource says already what matters more.
    pub(super) async fn keep(&self, controller: &Controller, key: &ObjectKey) {
        if let Err(error) = self.keep_deployed(controller, key).await {
            self.log.debug("what is there cannot be kept", &[("resource", key), ("error", &error)]);
        }
    }

    async fn keep_deployed(&self, controller: &Controller, key: &ObjectKey) -> Result<(), engine::Error> {
        let record = self.hub.record(controller.place(key), key.name());
        let record = record.filter(|record| record.status == "deployed");
        let Some(record) = record else { return Ok(()) };
        let Some(told) = record.objects.as_deref().and_then(card::read) else { return Ok(()) };
        if !controller.watch.watch_dependent_resources {
            return Ok(());
        }
        let mut held = controller.kept(key, record.revision).unwrap_or(told);
        let discovery = self.kinds.get().await?;
        held.iter().filter_map(|held| discovery.find(&held.named.kind)).for_each(|kind| self.hub.watch(kind));
        let drifted: Vec<ObjectRef> = held
            .iter()
            .filter(|held| self.is_drifted(controller, held))
            .map(|held| held.named.clone())
            .collect();
        if drifted.is_empty() {
            return Ok(());
        }
        let found = self.client.get_confirmed(&controller.resource, key.namespace(), key.name()).await?;
        let Some(custom) = found.map(Custom).filter(|custom| !custom.is_deleted()) else { return Ok(()) };
        let Ok(chart) = controller.chart() else { return Ok(()) };
        let keeper = Owned {
            custom: &custom,
            kind: &controller.watch.kind,
            chart: &chart.name,
            intact: (0, Vec::new()),
        };
        let store = self.store(controller.place(key));
        let listener = self.listener(controller, key);
        let engine = self.engine(&store, &listener, Some(&keeper));
        let past = engine.history(key.name()).await?;
        let last =
            past.last().filter(|last| last.revision == record.revision && last.info.status == "deployed");
        let Some(release) = last else { return Ok(()) };
        if self.rival(controller, key, &past).await?.is_some() {
            return Ok(());
        }
        let steps = engine.repair(release, &|named| drifted.contains(named), false).await?;
        self.tell_repaired(controller, &custom, &steps);
        for held in &mut held {
            if let Some(step) = steps.iter().find(|step| step.object == held.named) {
                *held = held.renewed(step);
            }
        }
        controller.remember_kept(key, record.revision, held);
        Ok(())
    }

    /// Says what was put right.
    pub(super) fn tell_repaired(&self, controller: &Controller, custom: &Custom, steps: &[Step]) {
        for step in steps.iter().filter(|step| !matches!(step.action, Action::Keep)) {
            let message = format!("{} was changed or deleted, and is put right", step.object);
            self.log.info(&message, &[("controller", &controller.name), ("resource", &custom.key())]);
            self.say(custom, EventType::Normal, "Repaired", &message);
        }
    }
}
