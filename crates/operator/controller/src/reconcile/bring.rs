//! Brings the release of a resource to what the resource wants.

use std::time::Duration;

use http::Method;
use podium_chart::render::Release as Facts;
use podium_client::ObjectKey;
use podium_controller::events::EventType;
use podium_controller::work_queue::ReconcileResult;
use podium_deploy::plan::{Action, Step};
use podium_deploy::wait::WaitCondition;
use podium_release::RenderedRelease;
use podium_release::engine::{self, Engine, Options, Outcome, ReleaseHistory};
use serde_json::json;

use super::claim::owner;
use super::{Context, Trouble, release_trouble};
use crate::card::{self, Card, Done, Held, heed};
use crate::chart::Chart;
use crate::controller::Controller;
use crate::custom::{Custom, Wishes};
use crate::keeper::Owned;
use crate::names::{CHART, FINALIZER, MANAGER, OWNER, RENDER};
use crate::render::Job;
use crate::values;

/// How long what somebody else does to a release is waited for.
const PATIENCE: Duration = Duration::from_secs(300);
/// For how many seconds that is not worth a word.
const SHORT: i64 = 5;

impl Context {
    /// Whether the last thing that was done for a resource is still what it wants.
    pub(super) fn is_settled(&self, controller: &Controller, key: &ObjectKey, card: &Card) -> bool {
        let Some(done) = &card.done else { return false };
        let record = self.hub.record(controller.place(key), key.name());
        // A record may be behind what was done, never ahead of it.
        let ahead = record.is_some_and(|record| {
            record.revision > done.revision
                || record.revision == done.revision
                    && matches!(record.status.as_str(), "failed" | "superseded" | "uninstalling")
        });
        done.turn == card.turn && done.wish == card.wish && done.chart == controller.digest() && !ahead
    }

    /// Reads the resource and does what has to be done.
    pub(super) async fn bring(
        &self,
        controller: &Controller,
        key: &ObjectKey,
    ) -> Result<ReconcileResult, Trouble> {
        // What the watch has told is as good as what the server would say, as long as nothing was done with it.
        let told = controller.change(key, |card| card.body.take()).flatten();
        let object = match told {
            Some(told) => Some(*told),
            None => self.client.get_confirmed(&controller.resource, key.namespace(), key.name()).await?,
        };
        let Some(object) = object else {
            controller.forget(key);
            return Ok(ReconcileResult::Done);
        };
        let custom = Custom(object);
        if controller.card(key).is_some_and(|card| custom.number() < card.version) {
            // Done with an older one, what was heard of it since would be forgotten.
            let message = "the server answers with an older state of the resource, and is asked again";
            return Err(Trouble { quiet: true, ..Trouble::irreconcilable("ReconcileError", message) });
        }
        if !controller.watch.selector.matches(&custom.labels()) {
            controller.forget(key);
            return Ok(ReconcileResult::Done);
        }
        let turn = controller.change(key, |card| {
            card.wish = custom.wish();
            card.working = card.wish;
            card.status = custom.status();
            card.turn
        });
        if custom.is_deleted() {
            return self.remove(controller, key, &custom).await;
        }
        let wishes = custom.wishes().map_err(|e| Trouble::irreconcilable("ReconcileError", e))?;
        if !podium_chart::renderer::is_release_name(key.name()) {
            let message = format!(
                "{:?} cannot be the name of a release: names have up to 53 lower-case letters, digits, dots and lines; \
                 make a resource with a shorter name",
                key.name()
            );
            return Err(Trouble::irreconcilable("ReconcileError", message));
        }
        let custom = self.hold(controller, custom).await?;
        let found = values::collect(&self.client, &controller.watch, &custom).await.map_err(|e| match e {
            values::Error::Client(error) => error.into(),
            other => Trouble::irreconcilable("ErrorGettingValues", other),
        })?;
        let chart = Self::chart(controller)?;
        // What was made for another kind of resource is not what this one wants.
        let kind = owner(&controller.watch.kind);
        let (values, digest, warnings) = {
            let (values, chart) = (found.values, chart.clone());
            let hash = move || {
                let digest = values::digest(&values, &format!("{kind} {}", chart.digest));
                let warnings = warnings(&values, &chart);
                (values, digest, warnings)
            };
            self.pool.run(hash).await.map_err(|e| Trouble::irreconcilable("ReconcileError", e))?
        };
        let intact = self.intact(controller, key);
        let keeper = Owned { custom: &custom, kind: &controller.watch.kind, chart: &chart.name, intact };
        let store = self.store(controller.place(key));
        let listener = self.listener(controller, key);
        let engine = self.engine(&store, &listener, Some(&keeper));
        let mut done = Done {
            wish: custom.wish(),
            generation: custom.generation(),
            chart: chart.digest.clone(),
            sources: found.sources,
            warnings,
            period: wishes.period,
            turn: turn.unwrap_or_default(),
            ..Done::default()
        };
        if let Some(held) = self.still_there(controller, key, &digest) {
            done.held = with_left(held, &custom);
            done.revision =
                self.hub.record(controller.place(key), key.name()).map_or(0, |record| record.revision);
            done.deployed = deployed_before(&custom, done.revision);
        } else {
            let steps =
                self.install_or_upgrade(controller, &custom, &engine, &wishes, values, &digest).await?;
            done.revision = steps.release.revision;
            done.deployed = deployed(done.revision, &steps.release.info.notes);
            done.held = held(&steps.steps);
        }
        let discovery = self.kinds.get().await?;
        if controller.watch.watch_dependent_resources {
            let kinds = done.held.iter().filter_map(|held| discovery.find(&held.named.kind));
            kinds.for_each(|resource| self.hub.watch(resource));
        }
        controller.change(key, |card| {
            let mut done = done;
            heed(&mut done.held, card.done.as_ref().map_or(&[], |done| &done.held));
            card.done = Some(done);
        });
        self.look(controller, key).await
    }

    /// The objects of a release that is right already, from what its record says; nothing when it is not, or not known.
    fn still_there(&self, controller: &Controller, key: &ObjectKey, digest: &str) -> Option<Vec<Held>> {
        let record = self.hub.record(controller.place(key), key.name())?;
        // What the watch has told may be older than what was done.
        let done = controller.card(key).and_then(|card| card.done).map_or(0, |done| done.revision);
        let right = record.revision >= done
            && record.status == "deployed"
            && record.deployed.len() == 1
            && record.render == mark(digest, record.revision);
        record.objects.filter(|_| right).and_then(|line| card::read(&line))
    }

    /// Puts the finalizer on a resource: it must not go before its objects.
    async fn hold(&self, controller: &Controller, custom: Custom) -> Result<Custom, Trouble> {
        if custom.is_held() {
            return Ok(custom);
        }
        let mut finalizers: Vec<&str> = custom.finalizers();
        finalizers.push(FINALIZER);
        let patch = json!({"metadata": {"finalizers": finalizers, "resourceVersion": custom.version()}});
        let namespace = Some(custom.namespace()).filter(|namespace| !namespace.is_empty());
        let path = format!("{}?fieldManager={MANAGER}", controller.resource.object(namespace, custom.name()));
        let body = Some(("application/merge-patch+json", patch.to_string().into_bytes()));
        let after = Custom(self.client.request(Method::PATCH, &path, body).await?);
        // It is our own change: not worth a second look.
        controller.change(&after.key(), |card| {
            card.wish = after.wish();
            card.working = card.wish;
        });
        Ok(after)
    }

    async fn install_or_upgrade(
        &self,
        controller: &Controller,
        custom: &Custom,
        engine: &Engine<'_>,
        wishes: &Wishes,
        values: podium_goyaml::Map,
        digest: &str,
    ) -> Result<Outcome, Trouble> {
        let name = custom.name();
        let chart = Self::chart(controller)?;
        let state = |error| release_trouble(true, error);
        let pending = |error| match error {
            engine::Error::Pending { seconds, .. } => {
                let quiet = seconds < SHORT;
                Trouble { quiet, ..Trouble::irreconcilable("ReconcileError", error) }
            }
            error => release_trouble(true, error),
        };
        let place = controller.place(&custom.key()).to_owned();
        let first = controller.queue.failures(&custom.key()) == 0;
        let read =
            if first { engine.history_after_own_writes(name).await } else { engine.history(name).await };
        let mut past = read.map_err(state)?;
        // What makes no new revision would not find out that somebody was faster.
        if first && right(&past, digest).is_some() {
            past = engine.history(name).await.map_err(state)?;
        }
        self.claim(controller, &custom.key(), &past).await?;
        // Our own work was interrupted; somebody else's may still go on.
        let patience = if past.last().is_some_and(is_ours) { Duration::ZERO } else { PATIENCE };
        engine.recover(&mut past, patience).await.map_err(pending)?;
        if past.last().is_some_and(|last| last.info.status == "uninstalling") {
            engine.uninstall(name, false, &Options::default()).await.map_err(state)?;
            past = ReleaseHistory::default();
        }
        if let Some(release) = right(&past, digest) {
            let steps =
                engine.repair(release, &|_| true, false).await.map_err(|e| release_trouble(false, e))?;
            return Ok(Outcome { release: release.clone(), steps });
        }
        let known = past.base().map(|base| base.chart_field("name").to_owned());
        // A chart may get another name, as long as it is certain whose the release is.
        let own =
            past.last().is_some_and(|last| last.labels.get(OWNER) == Some(&owner(&controller.watch.kind)));
        if let Some(known) = known.filter(|known| !own && !past.is_uninstalled() && *known != chart.name) {
            let message = format!(
                "duplicate release name: found existing release with name {name:?} for chart {known:?}: give the resource \
                 another name, or uninstall that release"
            );
            return Err(Trouble::irreconcilable("ReconcileError", message));
        }
        let install = past.is_uninstalled();
        let facts = Facts {
            name: name.to_owned(),
            namespace: place,
            is_upgrade: !install,
            revision: past.next_revision(),
        };
        let capabilities = self.capabilities().await?;
        let is_slow =
            controller.change(&custom.key(), |card| card.renders_slowly.clone()).unwrap_or_default();
        let job = Job {
            pool: &self.pool,
            is_slow: &is_slow,
            chart: chart.clone(),
            client: &self.client,
            kinds: &self.kinds,
            capabilities,
        };
        let draft = match job.draft(&facts, values).await {
            Err(crate::render::Error::Client(error)) => return Err(error.into()),
            draft => draft.map_err(|e| Trouble::irreconcilable("ReconcileError", e))?,
        };
        self.tell_overrides(controller, custom);
        let mut draft = marked(draft, &chart, digest, past.next_revision());
        draft.labels.insert(OWNER.to_owned(), owner(&controller.watch.kind));
        let expect_absent = install && first;
        let options = Options { expect_absent, ..self.options(controller, wishes, install) };
        let outcome = match install {
            true => engine.install(&past, draft, true, &options).await,
            false => engine.upgrade(&past, draft, &options).await,
        };
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(engine::Error::Store(error @ podium_release::Error::AlreadyExists { .. })) if first => {
                // Somebody was faster: the next try looks at what is there then.
                return Err(Trouble { quiet: true, ..Trouble::irreconcilable("ReconcileError", error) });
            }
            Err(error) => {
                // A kind that is not there may be there at the next try.
                self.kinds.refresh().await?;
                return Err(release_trouble(install, error));
            }
        };
        let (reason, verb) = if install { ("Installed", "installed") } else { ("Upgraded", "upgraded") };
        let message =
            format!("{} is {verb} as revision {}", release_name(&outcome), outcome.release.revision);
        self.log.info(&message, &[("controller", &controller.name), ("namespace", &facts.namespace)]);
        self.say(custom, EventType::Normal, reason, &message);
        Ok(outcome)
    }

    fn options(&self, controller: &Controller, wishes: &Wishes, install: bool) -> Options {
        let (quiet, said) = match install {
            true => (wishes.install_without_hooks, &wishes.install_description),
            false => (wishes.upgrade_without_hooks, &wishes.upgrade_description),
        };
        Options {
            hooks: !quiet,
            wait: controller.watch.wait.then_some(WaitCondition::Ready),
            rollback_on_failure: true,
            description: said.clone(),
            max_history: self.history,
            ..Options::default()
        }
    }

    fn tell_overrides(&self, controller: &Controller, custom: &Custom) {
        for (key, value) in &controller.watch.override_values {
            let value = if self.hide_overrides { "****" } else { value };
            let message = format!("Chart value {key:?} overridden to {value:?} by operator's watches.yaml");
            self.say(custom, EventType::Warning, "OverrideValuesInUse", &message);
        }
    }
}

fn release_name(outcome: &Outcome) -> String {
    format!("the release {}", outcome.release.name)
}

/// What a record says that it was rendered from. The number is part of it, so that a revision which `helm` makes from
/// ours does not count as ours.
fn mark(digest: &str, revision: i64) -> String {
    format!("{digest}-{revision}")
}

/// Whether a revision was made here: its mark has its own number, which `helm` copies and does not count up.
fn is_ours(release: &podium_release::Release) -> bool {
    let number = format!("-{}", release.revision);
    release.labels.get(RENDER).is_some_and(|mark| mark.ends_with(&number))
}

fn marked(mut draft: RenderedRelease, chart: &Chart, digest: &str, revision: i64) -> RenderedRelease {
    draft.labels.insert(CHART.to_owned(), chart.name.clone());
    draft.labels.insert(RENDER.to_owned(), mark(digest, revision));
    draft
}

/// The last revision, if it is deployed and was rendered from the same.
fn right<'p>(past: &'p ReleaseHistory, digest: &str) -> Option<&'p podium_release::Release> {
    let last = past.last().filter(|last| last.info.status == "deployed")?;
    (last.labels.get(RENDER) == Some(&mark(digest, last.revision))).then_some(last)
}

fn held(steps: &[Step]) -> Vec<Held> {
    let there = |step: &&Step| {
        step.managed_fields_hash != 0 && !matches!(step.action, Action::Delete | Action::Leave)
    };
    steps.iter().filter(there).map(Held::of).collect()
}

/// What the resource says that its objects leave to others.
fn with_left(mut held: Vec<Held>, custom: &Custom) -> Vec<Held> {
    let status = custom.status();
    let lines = status.get("leftToOthers").and_then(serde_json::Value::as_array);
    for line in lines.into_iter().flatten().filter_map(serde_json::Value::as_str) {
        for held in &mut held {
            let what = line.strip_prefix(&held.named.to_string()).and_then(|rest| rest.strip_prefix(": "));
            held.left.extend(what.map(str::to_owned));
        }
    }
    held
}

fn deployed(revision: i64, notes: &str) -> (String, String) {
    let (reason, otherwise) = match revision {
        1 => ("InstallSuccessful", "release was successfully installed"),
        _ => ("UpgradeSuccessful", "release was successfully upgraded"),
    };
    let message = if notes.is_empty() { otherwise } else { notes };
    (reason.to_owned(), message.to_owned())
}

/// What the resource says of its release already; the notes are in the record, which need not be read for them.
fn deployed_before(custom: &Custom, revision: i64) -> (String, String) {
    let status = custom.status();
    let conditions = status.get("conditions").and_then(serde_json::Value::as_array);
    let said = conditions.into_iter().flatten().find(|condition| {
        let text = |key: &str| condition.get(key).and_then(serde_json::Value::as_str);
        text("type") == Some("Deployed") && text("status") == Some("True")
    });
    let text = |key: &str| said.and_then(|said| said.get(key)).and_then(serde_json::Value::as_str);
    match (text("reason"), text("message")) {
        (Some(reason), Some(message)) => (reason.to_owned(), message.to_owned()),
        _ => deployed(revision, ""),
    }
}

fn warnings(values: &podium_goyaml::Map, chart: &Chart) -> Vec<String> {
    let loaded = chart.renderer.chart();
    let Some(defaults) = loaded.values.as_ref().and_then(|values| values.to_node().ok()) else {
        return Vec::new();
    };
    let subcharts: Vec<&str> = loaded.dependencies.iter().map(|chart| chart.metadata.name.as_str()).collect();
    let unknown = values::unknown(values, &defaults);
    let unknown =
        unknown.into_iter().filter(|path| !subcharts.iter().any(|name| path.split('.').next() == Some(name)));
    unknown.map(|path| format!("the chart {} has no value {path}", chart.name)).collect()
}
