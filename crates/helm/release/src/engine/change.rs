//! Creates a revision: install, upgrade or rollback.

use std::collections::BTreeMap;

use podium_client::client;
use podium_client::write::PropagationPolicy;
use podium_deploy::deployer::ObservedObject;
use podium_deploy::object::Object;
use podium_deploy::plan::{Action, DeployOptions, Step};
use podium_deploy::{Deployer, ObjectRef, apply};
use podium_meta::Resource;
use serde_json::{Value, json};

use super::{Engine, Error, Options, Outcome, ReleaseHistory, release_ref};
use crate::encode::MAX_RECORD_SIZE;
use crate::hooks::HookRequest;
use crate::record::{Info, Release};
use crate::rendered::RenderedRelease;

/// The operation that creates a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Creates the first revision.
    Install,
    /// Creates the next revision from a chart.
    Upgrade,
    /// Creates the next revision from an older one.
    Rollback,
}

/// Helm's texts for an operation.
struct OperationTexts {
    pending: &'static str,
    underway: &'static str,
    pre: &'static str,
    post: &'static str,
    done: &'static str,
    noun: &'static str,
    hook_failed: fn(&str, String) -> String,
}

impl Operation {
    fn texts(self) -> OperationTexts {
        match self {
            Operation::Install => OperationTexts {
                pending: "pending-install",
                underway: "Initial install underway",
                pre: "pre-install",
                post: "post-install",
                done: "Install complete",
                noun: "Release",
                hook_failed: |event, why| format!("failed {event}: {why}"),
            },
            Operation::Upgrade => OperationTexts {
                pending: "pending-upgrade",
                underway: "Preparing upgrade",
                pre: "pre-upgrade",
                post: "post-upgrade",
                done: "Upgrade complete",
                noun: "Upgrade",
                hook_failed: |event, why| format!("{event} hooks failed: {why}"),
            },
            Operation::Rollback => OperationTexts {
                pending: "pending-rollback",
                underway: "",
                pre: "pre-rollback",
                post: "post-rollback",
                done: "",
                noun: "Rollback",
                hook_failed: |_, why| why,
            },
        }
    }
}

/// What the steps of an operation share.
struct ChangeContext<'w> {
    operation: Operation,
    deployer: Deployer<'w>,
    objects: &'w [Object],
    before: &'w [ObjectRef],
    client_side_hooks: &'w [ObjectRef],
    options: &'w Options,
    deploy_options: DeployOptions,
}

impl Engine<'_> {
    /// Installs a release. The name must be free, or its release uninstalled or failed and `replace` set.
    pub async fn install(
        &self,
        history: &ReleaseHistory,
        rendered: RenderedRelease,
        replace: bool,
        options: &Options,
    ) -> Result<Outcome, Error> {
        let free = match history.last().map(|last| last.info.status.as_str()) {
            None => true,
            Some("uninstalled" | "failed") => replace,
            Some(_) => false,
        };
        if !free {
            return Err(Error::NameInUse);
        }
        self.apply_revision(Operation::Install, history, rendered, options).await
    }

    /// Upgrades a release.
    pub async fn upgrade(
        &self,
        history: &ReleaseHistory,
        rendered: RenderedRelease,
        options: &Options,
    ) -> Result<Outcome, Error> {
        match history.last().map(|last| last.info.status.as_str()) {
            None | Some("uninstalled") => Err(Error::NothingDeployed(rendered.name)),
            Some("uninstalling") => Err(Error::Uninstalling(rendered.name)),
            Some(_) => self.apply_revision(Operation::Upgrade, history, rendered, options).await,
        }
    }

    /// Rolls back to revision `to`, or to the previous one.
    pub async fn rollback(
        &self,
        name: &str,
        history: &ReleaseHistory,
        to: Option<i64>,
        options: &Options,
    ) -> Result<Outcome, Error> {
        let last = history.last().ok_or(crate::store::Error::NotFound)?;
        let to = to.unwrap_or(last.revision - 1);
        let entry =
            history.entries.iter().find(|entry| entry.revision() == to).ok_or(Error::RevisionNotFound(to))?;
        let old = self.store.read(entry).await?;
        let mut labels = old.labels;
        if let Some(owner) = self.owner {
            owner.relabel(&mut labels, to, history.next_revision());
        }
        let rendered = RenderedRelease {
            name: name.to_owned(),
            namespace: last.namespace.clone(),
            chart: old.chart,
            config: old.config.unwrap_or_default(),
            manifest: old.manifest,
            hooks: old.hooks,
            notes: old.info.notes,
            labels,
            rollback_to: to,
            ..RenderedRelease::default()
        };
        self.apply_revision(Operation::Rollback, history, rendered, options).await
    }

    async fn apply_revision(
        &self,
        operation: Operation,
        history: &ReleaseHistory,
        rendered: RenderedRelease,
        options: &Options,
    ) -> Result<Outcome, Error> {
        let crds = rendered.crds.clone();
        let mut release = self.pending_release(operation, history, rendered, options);
        let release_ref = release_ref(&release);
        let deployer = self.deployer(&release_ref);
        let expect_absent = operation == Operation::Install
            && options.expect_absent
            && !(options.adopt || options.dry_run)
            && history.entries.is_empty()
            && release.hooks.is_empty()
            && crds.is_empty();
        let deploy_options = DeployOptions { adopt: options.adopt, dry_run: false, expect_absent };
        let objects = self.objects(&release.manifest, &crds, &release_ref).await?;
        let crd_steps = deployer.plan_crds(&crds).await?;
        let blocked: Vec<Step> =
            crd_steps.iter().filter(|step| step.action == Action::Blocked).cloned().collect();
        if !blocked.is_empty() {
            return Err(apply::Error::Blocked(blocked).into());
        }
        let unchanged = match operation {
            Operation::Upgrade if !(options.adopt || options.dry_run) => {
                self.unchanged_objects(history, &objects, &crds, &deployer).await?
            }
            _ => Vec::new(),
        };
        let same = |object: &&Object| {
            unchanged.iter().any(|step| deployer.same_object(&step.object, &object.object_ref))
        };
        let changed: Vec<Object> = objects.iter().filter(|object| !same(object)).cloned().collect();
        let observed = deployer.check(&changed, &crds, deploy_options).await?;
        let record = self.store.prepare(&release).await?;
        if options.dry_run {
            let before = history.objects();
            let steps =
                podium_deploy::plan::preview(&deployer, &objects, &crds, &before, options.adopt).await?;
            let (blocked, steps): (Vec<Step>, Vec<Step>) =
                steps.into_iter().partition(|step| step.action == Action::Blocked);
            if !blocked.is_empty() {
                return Err(apply::Error::Blocked(blocked).into());
            }
            release.info.description = "Dry run complete".to_owned();
            return Ok(Outcome { release, steps });
        }
        match operation {
            Operation::Install if options.create_namespace => {
                self.create_namespace(&release.namespace).await?
            }
            // The namespace of an owning resource exists.
            Operation::Install if self.owner.is_none() => self.require_namespace(&release.namespace).await?,
            _ => {}
        }
        if let Some(size) = record.full_size {
            self.reporter.warn(&format!(
                "the record of revision {} would need {size} bytes, and a Secret or ConfigMap holds {MAX_RECORD_SIZE}: the \
                 chart is stored without its templates and files, which no upgrade or rollback needs",
                release.revision
            ));
        }
        deployer.apply_crds(&crds, &crd_steps).await?;
        match operation {
            Operation::Install => self.supersede_replaced(history).await?,
            _ => self.prune_history(history, options.max_history).await?,
        }
        self.store.create(&release, record.object).await?;
        let (before, client_side_hooks) = (history.objects(), history.client_side_hooks());
        let client_side_hooks = &client_side_hooks;
        let context = ChangeContext {
            operation,
            deployer,
            objects: &objects,
            before: &before,
            client_side_hooks,
            options,
            deploy_options,
        };
        let mut steps = crd_steps;
        steps.extend(unchanged);
        match self.run_change(&mut release, &context, observed, &mut steps).await {
            Ok(()) => {
                release.info.status = "deployed".to_owned();
                if release.info.description.is_empty()
                    || options.description.is_empty() && operation != Operation::Rollback
                {
                    release.info.description = operation.texts().done.to_owned();
                }
                if let Some(owner) = self.owner {
                    release.annotations = owner.annotations(&steps);
                }
                self.store.update(&release).await?;
                self.supersede_deployed(history).await?;
                Ok(Outcome { release, steps })
            }
            Err(error) => {
                if expect_absent
                    && let Err(foreign @ apply::Error::Foreign(_)) = deployer
                        .check(&objects, &crds, DeployOptions { expect_absent: false, ..deploy_options })
                        .await
                {
                    return Err(self.revert_install(&release, foreign.into()).await);
                }
                Err(self.handle_failure(release, history, &context, &steps, error).await)
            }
        }
    }

    /// The pending record of the new revision.
    fn pending_release(
        &self,
        operation: Operation,
        history: &ReleaseHistory,
        rendered: RenderedRelease,
        options: &Options,
    ) -> Release {
        let texts = operation.texts();
        let now = self.store.now();
        let first = history
            .base()
            .filter(|_| operation != Operation::Install)
            .and_then(|base| base.info.first_deployed.clone());
        let description = match (operation, options.description.as_str()) {
            (Operation::Rollback, "") => format!("Rollback to {}", rendered.rollback_to),
            (_, "") => texts.underway.to_owned(),
            (_, said) => said.to_owned(),
        };
        Release {
            name: rendered.name,
            namespace: rendered.namespace,
            revision: history.next_revision(),
            info: Info {
                first_deployed: first.or(Some(now.clone())),
                last_deployed: Some(now),
                deleted: None,
                description,
                status: texts.pending.to_owned(),
                rollback_revision: rendered.rollback_to,
                notes: rendered.notes,
            },
            chart: rendered.chart,
            config: Some(rendered.config),
            manifest: rendered.manifest,
            hooks: rendered.hooks,
            apply_method: "ssa".to_owned(),
            labels: rendered.labels,
            annotations: BTreeMap::new(),
        }
    }

    async fn run_change(
        &self,
        release: &mut Release,
        context: &ChangeContext<'_>,
        observed: Vec<ObservedObject<'_>>,
        steps: &mut Vec<Step>,
    ) -> Result<(), Error> {
        let texts = context.operation.texts();
        let hooks = async |release: &mut Release, event: &str| {
            if !context.options.hooks {
                return Ok(());
            }
            let ran = self.run_hooks(release, &HookRequest::new(event, context.options.timeout)).await;
            ran.map_err(|why| Error::Hook((texts.hook_failed)(event, why.to_string())))
        };
        // Hooks written by client-side updates would conflict with the next apply.
        context.deployer.upgrade_managed_fields(context.client_side_hooks).await?;
        hooks(release, texts.pre).await?;
        context.deployer.apply_all(observed, context.deploy_options, context.options.timeout, steps).await?;
        steps.extend(
            context.deployer.prune(context.before, context.objects, PropagationPolicy::Background).await?,
        );
        if let Some(condition) = context.options.wait {
            let names: Vec<ObjectRef> =
                context.objects.iter().map(|object| object.object_ref.clone()).collect();
            let report = |what: &str| self.reporter.waiting(what);
            context.deployer.wait(&names, condition, context.options.timeout, &report).await?;
        }
        hooks(release, texts.post).await
    }

    /// The objects that the deployed revision has in the same form and that are known to be unmodified since; they
    /// need no request.
    async fn unchanged_objects(
        &self,
        history: &ReleaseHistory,
        objects: &[Object],
        crds: &[Object],
        deployer: &Deployer<'_>,
    ) -> Result<Vec<Step>, Error> {
        let last = history.last().filter(|last| last.info.status == "deployed");
        let (Some(owner), Some(last)) = (self.owner, last) else { return Ok(Vec::new()) };
        let before = self.objects(&last.manifest, crds, deployer.release).await?;
        let discovery = self.kinds.get().await?;
        let same = |object: &Object| {
            let object_ref =
                deployer.resolve_namespace(&object.object_ref, discovery.find(&object.object_ref.kind));
            before.contains(object).then(|| owner.unchanged_step(last, &object_ref)).flatten()
        };
        Ok(objects.iter().filter_map(same).collect())
    }

    /// Reverts the first revision when objects of another owner block it.
    async fn revert_install(&self, release: &Release, foreign: Error) -> Error {
        match Box::pin(self.uninstall(&release.name, false, &Options::default())).await {
            Ok(_) => foreign,
            Err(second) => Error::RollbackFailed { first: Box::new(foreign), second: Box::new(second) },
        }
    }

    /// Records the failure and rolls back if the options say so; returns the error to report.
    async fn handle_failure(
        &self,
        mut release: Release,
        history: &ReleaseHistory,
        context: &ChangeContext<'_>,
        steps: &[Step],
        error: Error,
    ) -> Error {
        let (operation, options) = (context.operation, context.options);
        release.info.status = "failed".to_owned();
        release.info.description = format!("{} {:?} failed: {error}", operation.texts().noun, release.name);
        if let Err(second) = self.store.update(&release).await {
            return Error::RollbackFailed { first: Box::new(error), second: Box::new(second.into()) };
        }
        if operation == Operation::Rollback
            && matches!(error, Error::Apply(_))
            && let Err(second) = self.supersede_last(history).await
        {
            return Error::RollbackFailed { first: Box::new(error), second: Box::new(second) };
        }
        if options.cleanup_on_failure {
            let created =
                steps.iter().filter(|step| step.action == Action::Create).map(|step| step.object.clone());
            let created: Vec<ObjectRef> = created.collect();
            if let Err(second) = context.deployer.delete(&created, PropagationPolicy::Background).await {
                return Error::RollbackFailed { first: Box::new(error), second: Box::new(second.into()) };
            }
        }
        if !options.rollback_on_failure || operation == Operation::Rollback {
            return error;
        }
        let undo_options =
            Options { rollback_on_failure: false, description: String::new(), ..options.clone() };
        let (how, undone) = match operation {
            Operation::Install => {
                ("uninstalled", Box::pin(self.uninstall(&release.name, false, &undo_options)).await.map(drop))
            }
            _ => ("rolled back", self.roll_back_to_last_good(&release.name, history, &undo_options).await),
        };
        match undone {
            Ok(()) => Error::RolledBack { name: release.name, how, why: Box::new(error) },
            Err(second) => Error::RollbackFailed { first: Box::new(error), second: Box::new(second) },
        }
    }

    async fn roll_back_to_last_good(
        &self,
        name: &str,
        history: &ReleaseHistory,
        options: &Options,
    ) -> Result<(), Error> {
        let good = |entry: &&crate::store::RecordEntry| matches!(entry.status(), "deployed" | "superseded");
        let to = history.entries.iter().rev().find(good).map(|entry| entry.revision());
        let to = to.ok_or_else(|| Error::NothingDeployed(name.to_owned()))?;
        let history = self.history(name).await?;
        Box::pin(self.rollback(name, &history, Some(to), options)).await.map(drop)
    }

    /// Marks the last revision superseded when a failed rollback has changed its objects.
    async fn supersede_last(&self, history: &ReleaseHistory) -> Result<(), Error> {
        let Some(last) = history.last() else { return Ok(()) };
        let mut last = last.clone();
        last.info.status = "superseded".to_owned();
        self.store.update(&last).await?;
        Ok(())
    }

    /// Marks the last revision superseded when its name is reused; a failed one stays failed.
    async fn supersede_replaced(&self, history: &ReleaseHistory) -> Result<(), Error> {
        let Some(last) = history.last().filter(|last| last.info.status != "failed") else { return Ok(()) };
        let mut last = last.clone();
        last.info.status = "superseded".to_owned();
        last.info.description = "superseded by new release".to_owned();
        self.store.update(&last).await?;
        Ok(())
    }

    /// Marks all deployed revisions superseded.
    async fn supersede_deployed(&self, history: &ReleaseHistory) -> Result<(), Error> {
        for entry in &history.entries {
            let known = history.revisions.iter().find(|release| release.revision == entry.revision());
            // The record was read after the list, so its status is newer.
            if known.map_or(entry.status(), |known| &known.info.status) != "deployed" {
                continue;
            }
            let mut old = match known {
                Some(known) => known.clone(),
                None => self.store.read(entry).await?,
            };
            old.info.status = "superseded".to_owned();
            self.store.update(&old).await?;
        }
        Ok(())
    }

    /// Deletes the oldest records beyond the history limit, except the deployed one.
    async fn prune_history(&self, history: &ReleaseHistory, max_history: usize) -> Result<(), Error> {
        let Some(kept) = max_history.checked_sub(1) else { return Ok(()) };
        let deployed = history.entries.iter().rposition(|entry| entry.status() == "deployed");
        let surplus = history.entries.len().saturating_sub(kept);
        let old = history
            .entries
            .iter()
            .enumerate()
            .filter(|(at, _)| Some(*at) != deployed)
            .map(|(_, entry)| entry);
        for entry in old.take(surplus) {
            self.store.delete(entry).await?;
        }
        Ok(())
    }

    /// Fails when the namespace does not exist; without permission to read it, the first write fails instead.
    async fn require_namespace(&self, name: &str) -> Result<(), Error> {
        let resource = Resource::core("Namespace", "namespaces", false);
        match self.store.client.get(&resource, None, name).await {
            Ok(None) => Err(Error::NamespaceNotFound(name.to_owned())),
            Err(client::Error::Api(_)) | Ok(Some(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    async fn create_namespace(&self, name: &str) -> Result<(), Error> {
        let body: Value = json!({"apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": name, "labels": {"name": name}}});
        let resource = Resource::core("Namespace", "namespaces", false);
        match self.store.client.create(&resource, None, &body, podium_deploy::plan::FIELD_MANAGER).await {
            Err(client::Error::Api(status)) if status.code == 409 => Ok(()),
            result => Ok(result.map(drop)?),
        }
    }
}

impl Engine<'_> {
    /// Applies the objects of a deployed revision again: those that `chosen` selects. Repairs drift.
    pub async fn repair(
        &self,
        release: &Release,
        chosen: &dyn Fn(&ObjectRef) -> bool,
        adopt: bool,
    ) -> Result<Vec<Step>, Error> {
        let release_ref = release_ref(release);
        let deployer = self.deployer(&release_ref);
        let mut objects = self.objects(&release.manifest, &[], &release_ref).await?;
        let discovery = self.kinds.get().await?;
        objects.retain(|object| {
            chosen(&deployer.resolve_namespace(&object.object_ref, discovery.find(&object.object_ref.kind)))
        });
        let deploy_options = DeployOptions { adopt, ..DeployOptions::default() };
        let observed = deployer.check(&objects, &[], deploy_options).await?;
        let mut steps = Vec::new();
        let timeout = Options::default().timeout;
        deployer.apply_all(observed, deploy_options, timeout, &mut steps).await?;
        Ok(steps)
    }

    /// Records that the user interrupted an operation.
    pub async fn mark_interrupted(&self, name: &str) -> Result<(), Error> {
        let mut history = self.history(name).await?;
        let Some(last) = history.revisions.last_mut().filter(|last| last.info.status.starts_with("pending-"))
        else {
            return Ok(());
        };
        last.info.description = format!("Interrupted while it was {}", last.info.status);
        last.info.status = "failed".to_owned();
        self.store.update(last).await?;
        Ok(())
    }
}
