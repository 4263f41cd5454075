//! Apply: installs or upgrades the release of a resource.

use std::time::Duration;

use podium_chart::render::Release as Facts;
use podium_client::ObjectKey;
use podium_deploy::plan::{Action, Step};
use podium_deploy::wait::WaitCondition;
use podium_release::RenderedRelease;
use podium_release::engine::{self, Engine, Options, Outcome, ReleaseHistory};

use super::Context;
use super::error::{ReconcileError, release_error};
use super::observe::Observed;
use super::ownership::owner_label;
use super::plan::{Plan, render_label};
use crate::chart::Chart;
use crate::chart_controller::ChartController;
use crate::custom_resource::{CustomResource, ReconcileOptions};
use crate::names::{CHART_LABEL, OWNER_LABEL, RENDER_LABEL};
use crate::release_owner::CustomResourceOwner;
use crate::render::ChartRenderer;
use crate::resource_state::{AppliedObject, LastApplied, carry_over_deletions};

/// How long a pending operation of another client is waited for before it counts as interrupted.
const PENDING_TIMEOUT: Duration = Duration::from_secs(300);
/// For how many seconds a pending operation is logged only and not reported in the status.
const UNREPORTED_PENDING: i64 = 5;

impl Context {
    /// Deploys the planned release unless it is deployed already, starts the informers of its objects and stores the
    /// result as the last applied state.
    pub(super) async fn sync(
        &self,
        controller: &ChartController,
        key: &ObjectKey,
        observed: &Observed,
        mut plan: Plan,
    ) -> Result<(), ReconcileError> {
        let cr = &observed.cr;
        let chart = plan.chart.clone();
        let intact = self.unchanged_objects(controller, key);
        let keeper = CustomResourceOwner {
            custom_resource: cr,
            kind: &controller.watch.kind,
            chart_name: &chart.name,
            intact,
        };
        let store = self.store(controller.release_namespace(key));
        let listener = self.listener(controller, key);
        let engine = self.engine(&store, &listener, Some(&keeper));
        let mut last_applied = LastApplied {
            spec_hash: cr.spec_hash(),
            generation: cr.generation(),
            chart_digest: chart.digest.clone(),
            source_versions: std::mem::take(&mut plan.source_versions),
            warnings: std::mem::take(&mut plan.warnings),
            reconcile_period: plan.options.reconcile_period,
            input_generation: observed.input_generation,
            ..LastApplied::default()
        };
        if let Some((revision, objects)) = plan.deployed.take() {
            last_applied.objects = with_left_to_others(objects, cr);
            last_applied.revision = revision;
            last_applied.deployed = previous_deployed_condition(cr, revision);
        } else {
            let outcome = self.install_or_upgrade(controller, cr, &engine, plan).await?;
            last_applied.revision = outcome.release.revision;
            last_applied.deployed = deployed_condition(last_applied.revision, &outcome.release.info.notes);
            last_applied.objects = applied_objects(&outcome.steps);
        }
        let discovery = self.kinds.get().await?;
        if controller.watch.watch_dependent_resources {
            let kinds =
                last_applied.objects.iter().filter_map(|applied| discovery.find(&applied.object.kind));
            kinds.for_each(|resource| self.informers.watch(resource));
        }
        controller.update_state(key, |state| {
            let mut last_applied = last_applied;
            let previous = state.last_applied.as_ref().map_or(&[][..], |last| &last.objects);
            carry_over_deletions(&mut last_applied.objects, previous);
            state.last_applied = Some(last_applied);
        });
        Ok(())
    }

    async fn install_or_upgrade(
        &self,
        controller: &ChartController,
        cr: &CustomResource,
        engine: &Engine<'_>,
        plan: Plan,
    ) -> Result<Outcome, ReconcileError> {
        let name = cr.name();
        let Plan { chart, options: reconcile_options, values, digest, .. } = plan;
        let failed = |error| release_error(true, error);
        let pending = |error| match error {
            engine::Error::Pending { seconds, .. } => {
                let transient = seconds < UNREPORTED_PENDING;
                ReconcileError { transient, ..ReconcileError::irreconcilable("ReconcileError", error) }
            }
            error => release_error(true, error),
        };
        let namespace = controller.release_namespace(&cr.key()).to_owned();
        let first = controller.queue.failures(&cr.key()) == 0;
        let read =
            if first { engine.history_after_own_writes(name).await } else { engine.history(name).await };
        let mut past = read.map_err(failed)?;
        // A sync that writes no new revision would not notice a concurrent one, so it needs a consistent read.
        if first && desired_revision(&past, &digest).is_some() {
            past = engine.history(name).await.map_err(failed)?;
        }
        self.check_ownership(controller, &cr.key(), &past).await?;
        // A pending operation of the operator was interrupted; that of another client may still be running.
        let timeout = if past.last().is_some_and(is_operators) { Duration::ZERO } else { PENDING_TIMEOUT };
        engine.recover(&mut past, timeout).await.map_err(pending)?;
        if past.last().is_some_and(|last| last.info.status == "uninstalling") {
            engine.uninstall(name, false, &Options::default()).await.map_err(failed)?;
            past = ReleaseHistory::default();
        }
        if let Some(release) = desired_revision(&past, &digest) {
            let steps =
                engine.repair(release, &|_| true, false).await.map_err(|e| release_error(false, e))?;
            return Ok(Outcome { release: release.clone(), steps });
        }
        let known = past.base().map(|base| base.chart_field("name").to_owned());
        // A chart may be renamed as long as the release is certain to belong to this resource.
        let label = owner_label(&controller.watch.kind);
        let is_owned = past.last().is_some_and(|last| last.labels.get(OWNER_LABEL) == Some(&label));
        if let Some(known) = known.filter(|known| !is_owned && !past.is_uninstalled() && *known != chart.name)
        {
            let message = format!(
                "duplicate release name: found existing release with name {name:?} for chart {known:?}: give the resource \
                 another name, or uninstall that release"
            );
            return Err(ReconcileError::irreconcilable("ReconcileError", message));
        }
        let install = past.is_uninstalled();
        let facts =
            Facts { name: name.to_owned(), namespace, is_upgrade: !install, revision: past.next_revision() };
        let capabilities = self.capabilities().await?;
        let is_slow =
            controller.update_state(&cr.key(), |state| state.renders_slowly.clone()).unwrap_or_default();
        let renderer = ChartRenderer {
            pool: &self.pool,
            is_slow: &is_slow,
            chart: chart.clone(),
            client: &self.client,
            kinds: &self.kinds,
            capabilities,
        };
        let draft = match renderer.render(&facts, values).await {
            Err(crate::render::Error::Client(error)) => return Err(error.into()),
            draft => draft.map_err(|e| ReconcileError::irreconcilable("ReconcileError", e))?,
        };
        self.report_overrides(controller, cr);
        let mut draft = labelled(draft, &chart, &digest, past.next_revision());
        draft.labels.insert(OWNER_LABEL.to_owned(), label);
        let expect_absent = install && first;
        let options =
            Options { expect_absent, ..self.engine_options(controller, &reconcile_options, install) };
        let outcome = match install {
            true => engine.install(&past, draft, true, &options).await,
            false => engine.upgrade(&past, draft, &options).await,
        };
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(engine::Error::Store(error @ podium_release::Error::AlreadyExists { .. })) if first => {
                // Another client wrote the revision first: the next try reads the records again.
                return Err(ReconcileError::transient(error));
            }
            Err(error) => {
                // A kind that was missing may be served at the next try.
                self.kinds.refresh().await?;
                return Err(release_error(install, error));
            }
        };
        self.report_deployed(controller, cr, &outcome, install);
        Ok(outcome)
    }

    fn engine_options(
        &self,
        controller: &ChartController,
        options: &ReconcileOptions,
        install: bool,
    ) -> Options {
        let (disable_hooks, description) = match install {
            true => (options.install_disable_hooks, &options.install_description),
            false => (options.upgrade_disable_hooks, &options.upgrade_description),
        };
        Options {
            hooks: !disable_hooks,
            wait: controller.watch.wait.then_some(WaitCondition::Ready),
            rollback_on_failure: true,
            description: description.clone(),
            max_history: self.history,
            ..Options::default()
        }
    }
}

/// Whether the operator made a revision: its render label has its own number, which `helm` copies without changing it.
fn is_operators(release: &podium_release::Release) -> bool {
    let number = format!("-{}", release.revision);
    release.labels.get(RENDER_LABEL).is_some_and(|label| label.ends_with(&number))
}

fn labelled(mut draft: RenderedRelease, chart: &Chart, digest: &str, revision: i64) -> RenderedRelease {
    draft.labels.insert(CHART_LABEL.to_owned(), chart.name.clone());
    draft.labels.insert(RENDER_LABEL.to_owned(), render_label(digest, revision));
    draft
}

/// The last revision, if it is deployed and was rendered from the same input.
fn desired_revision<'p>(past: &'p ReleaseHistory, digest: &str) -> Option<&'p podium_release::Release> {
    let last = past.last().filter(|last| last.info.status == "deployed")?;
    (last.labels.get(RENDER_LABEL) == Some(&render_label(digest, last.revision))).then_some(last)
}

fn applied_objects(steps: &[Step]) -> Vec<AppliedObject> {
    let exists = |step: &&Step| {
        step.managed_fields_hash != 0 && !matches!(step.action, Action::Delete | Action::Leave)
    };
    steps.iter().filter(exists).map(AppliedObject::from_step).collect()
}

/// Adds the fields that are left to other field managers, as the status lists them.
fn with_left_to_others(mut objects: Vec<AppliedObject>, cr: &CustomResource) -> Vec<AppliedObject> {
    let status = cr.status();
    let lines = status.get("leftToOthers").and_then(serde_json::Value::as_array);
    for line in lines.into_iter().flatten().filter_map(serde_json::Value::as_str) {
        for applied in &mut objects {
            let field =
                line.strip_prefix(&applied.object.to_string()).and_then(|rest| rest.strip_prefix(": "));
            applied.left_to_others.extend(field.map(str::to_owned));
        }
    }
    objects
}

/// The reason and message of the condition `Deployed`.
fn deployed_condition(revision: i64, notes: &str) -> (String, String) {
    let (reason, otherwise) = match revision {
        1 => ("InstallSuccessful", "release was successfully installed"),
        _ => ("UpgradeSuccessful", "release was successfully upgraded"),
    };
    let message = if notes.is_empty() { otherwise } else { notes };
    (reason.to_owned(), message.to_owned())
}

/// The reason and message of `Deployed` that the status has already, so that the record need not be read for its notes.
fn previous_deployed_condition(cr: &CustomResource, revision: i64) -> (String, String) {
    let status = cr.status();
    let conditions = status.get("conditions").and_then(serde_json::Value::as_array);
    let deployed = conditions.into_iter().flatten().find(|condition| {
        let text = |key: &str| condition.get(key).and_then(serde_json::Value::as_str);
        text("type") == Some("Deployed") && text("status") == Some("True")
    });
    let text =
        |key: &str| deployed.and_then(|deployed| deployed.get(key)).and_then(serde_json::Value::as_str);
    match (text("reason"), text("message")) {
        (Some(reason), Some(message)) => (reason.to_owned(), message.to_owned()),
        _ => deployed_condition(revision, ""),
    }
}
