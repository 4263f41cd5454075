//! Looks after a release that is what its resource wants: mends what others changed, and sees how its objects are.

use std::time::Duration;

use podium_client::ObjectKey;
use podium_controller::work_queue::{Backoff, ReconcileResult};
use podium_deploy::deployer::Deployer;
use podium_deploy::plan::{Action, Step};
use podium_deploy::{ObjectRef, ReleaseRef};
use podium_kstatus::Status;

use super::{Context, Trouble, release_trouble};
use crate::card::{Done, Held};
use crate::controller::Controller;
use crate::custom::Custom;
use crate::hub::Known;
use crate::keeper::Owned;

/// How often is looked at what is made, when it is not watched and nobody says how often.
const UNWATCHED: Duration = Duration::from_secs(60);
/// How often is looked at what is not ready: ever more seldom as long as nothing changes.
const LOOKS: Backoff = Backoff { base: Duration::from_secs(3), cap: Duration::from_secs(300) };

impl Context {
    /// Mends, looks, and says how it is. Costs no request when nothing has changed.
    pub(super) async fn look(
        &self,
        controller: &Controller,
        key: &ObjectKey,
    ) -> Result<ReconcileResult, Trouble> {
        self.mend(controller, key).await?;
        self.check_health(controller, key).await?;
        self.report(controller, key).await?;
        let Some(done) = Self::done(controller, key) else { return Ok(ReconcileResult::Done) };
        let unwatched = (!controller.watch.watch_dependent_resources).then_some(UNWATCHED);
        let period = done.period.or(controller.watch.reconcile_period).or(self.period).or(unwatched);
        let period = period.filter(|period| !period.is_zero());
        let waits = done.held.iter().any(|held| self.may_change_unheard(held));
        let soon = waits.then(|| LOOKS.after(done.looks));
        Ok([period, soon]
            .into_iter()
            .flatten()
            .min()
            .map_or(ReconcileResult::Done, ReconcileResult::RequeueAfter))
    }

    fn done(controller: &Controller, key: &ObjectKey) -> Option<Done> {
        controller.card(key).and_then(|card| card.done)
    }

    /// Whether somebody has taken a field of an object, or the object itself.
    pub(super) fn is_drifted(&self, controller: &Controller, held: &Held) -> bool {
        if !controller.watch.watch_dependent_resources {
            return true;
        }
        match self.hub.known(&held.named) {
            _ if held.lost.is_some() => true,
            Known::There(row) => row.version > held.version && row.signature != held.signature,
            // What went while it was not known here yet, and what was there before we came and is in no list.
            Known::Absent(heard) => held.version <= heard,
            Known::Nothing | Known::Unwatched => false,
        }
    }

    /// The objects that were applied by this process and that nobody has touched since, with their revision.
    pub(super) fn intact(&self, controller: &Controller, key: &ObjectKey) -> (i64, Vec<Step>) {
        let Some(done) = Self::done(controller, key) else { return (0, Vec::new()) };
        let untouched = |held: &&Held| {
            let there =
                matches!(self.hub.known(&held.named), Known::There(row) if row.signature == held.signature);
            there && held.version != 0 && held.left.is_empty() && !self.is_drifted(controller, held)
        };
        let step = |held: &Held| Step {
            object: held.named.clone(),
            action: Action::Keep,
            notes: Vec::new(),
            managed_fields_hash: held.signature,
            resource_version: held.version,
            readiness: held.sight.as_ref().map(|(_, sight)| sight.clone()),
        };
        (done.revision, done.held.iter().filter(untouched).map(step).collect())
    }

    /// Whether an object that is not ready may change without a word: its pods do, and what is not watched.
    fn may_change_unheard(&self, held: &Held) -> bool {
        let Some((_, sight)) = &held.sight else { return false };
        !sight.health.is_current() && (sight.has_pods || self.hub.known(&held.named) == Known::Unwatched)
    }

    /// Applies again what was changed.
    async fn mend(&self, controller: &Controller, key: &ObjectKey) -> Result<(), Trouble> {
        let Some(done) = Self::done(controller, key) else { return Ok(()) };
        let drifted: Vec<ObjectRef> = done
            .held
            .iter()
            .filter(|held| self.is_drifted(controller, held))
            .map(|held| held.named.clone())
            .collect();
        if drifted.is_empty() {
            return Ok(());
        }
        let Some(object) =
            self.client.get_confirmed(&controller.resource, key.namespace(), key.name()).await?
        else {
            return Ok(());
        };
        let custom = Custom(object);
        if custom.is_deleted() {
            return Ok(());
        }
        let chart = Self::chart(controller)?;
        let keeper = Owned {
            custom: &custom,
            kind: &controller.watch.kind,
            chart: &chart.name,
            intact: (0, Vec::new()),
        };
        let store = self.store(controller.place(key));
        let listener = self.listener(controller, key);
        let engine = self.engine(&store, &listener, Some(&keeper));
        let trouble = |error| release_trouble(false, error);
        let past = engine.history(key.name()).await.map_err(trouble)?;
        let Some(release) = past.last().filter(|last| last.revision == done.revision) else {
            // The record is not what it was: everything is looked at anew. What was made stays remembered: if the
            // resource goes next, as in a namespace that ends, nothing else says what has to go with it.
            controller.change(key, |card| card.turn += 1);
            controller.queue.add(key.clone());
            return Ok(());
        };
        let steps = engine.repair(release, &|named| drifted.contains(named), false).await.map_err(trouble)?;
        self.tell_repaired(controller, &custom, &steps);
        controller.change(key, |card| {
            for held in card.done.iter_mut().flat_map(|done| &mut done.held) {
                if let Some(step) = steps.iter().find(|step| step.object == held.named) {
                    *held = Held { sight: held.sight.take(), ..held.renewed(step) };
                }
            }
        });
        Ok(())
    }

    /// Looks at the objects whose state may have changed since it was last seen.
    async fn check_health(&self, controller: &Controller, key: &ObjectKey) -> Result<(), Trouble> {
        let Some(done) = Self::done(controller, key) else { return Ok(()) };
        let release_ref =
            ReleaseRef { name: key.name().to_owned(), namespace: controller.place(key).to_owned() };
        let deployer =
            Deployer { client: &self.client, kinds: &self.kinds, release: &release_ref, owner_uid: None };
        let discovery = self.kinds.get().await?;
        let mut changed = false;
        for held in done.held.iter().filter(|held| has_health(&held.named)) {
            let version = match self.hub.known(&held.named) {
                Known::There(row) => row.version.max(held.version),
                // The list that is under way will tell.
                Known::Nothing if held.version == 0 && controller.watch.watch_dependent_resources => continue,
                Known::Absent(_) | Known::Nothing | Known::Unwatched => held.version,
            };
            // What applying it has told is enough for the first look; later, pods say why it is still not ready.
            let first = done.looks == 0;
            let known = held.sight.as_ref().is_some_and(|(seen, _)| *seen == version);
            if known && (first || !self.may_change_unheard(held)) {
                continue;
            }
            let Some(resource) = discovery.find(&held.named.kind) else { continue };
            let sight = deployer.readiness(&held.named, resource).await?;
            controller.change(key, |card| {
                let Some(done) = &mut card.done else { return };
                if let Some(held) = done.held.iter_mut().find(|other| other.named == held.named) {
                    changed |= held.sight.as_ref().is_none_or(|(_, before)| *before != sight);
                    held.sight = Some((version, sight));
                }
            });
        }
        controller.change(key, |card| {
            if let Some(done) = &mut card.done {
                done.looks = if changed { 1 } else { done.looks.saturating_add(1) };
            }
        });
        Ok(())
    }
}

/// Whether an object can be other than ready while it is there.
pub(super) fn has_health(named: &ObjectRef) -> bool {
    const ALWAYS: [&str; 17] = [
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
    !(built_in && ALWAYS.contains(&named.kind.kind.as_str()))
}

/// What is not ready, in words, and whether something failed for good; nothing when not everything was looked at yet.
pub(super) fn not_ready(done: &Done) -> Option<(Vec<String>, bool)> {
    let mut lines = Vec::new();
    let mut failed = false;
    for held in &done.held {
        match held.sight.as_ref().map(|(_, sight)| &sight.health) {
            Some(Status::Current) => {}
            None if !has_health(&held.named) => {}
            None => return None,
            Some(health) => {
                failed |= matches!(health, Status::Failed(_));
                lines.push(format!("{}: {}", held.named, health.reason().unwrap_or_default()));
            }
        }
    }
    Some((lines, failed))
}
