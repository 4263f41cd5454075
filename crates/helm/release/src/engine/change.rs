//! A new revision: by an install, an upgrade or a rollback.

use std::collections::BTreeMap;

use podium_client::client;
use podium_client::write::PropagationPolicy;
use podium_deploy::object::Object;
use podium_deploy::place::Seen;
use podium_deploy::plan::{Action, Rules, Step};
use podium_deploy::{Named, Place, apply};
use podium_meta::Resource;
use serde_json::{Value, json};

use super::{Engine, Error, Options, Outcome, Past, owner};
use crate::draft::Draft;
use crate::encode::ROOM;
use crate::hooks::Moment;
use crate::record::{Info, Release};

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// A first revision.
    Install,
    /// A next one.
    Upgrade,
    /// An old one again.
    Rollback,
}

/// The words of a verb, which are Helm's.
struct Words {
    pending: &'static str,
    underway: &'static str,
    pre: &'static str,
    post: &'static str,
    done: &'static str,
    noun: &'static str,
    hook_failed: fn(&str, String) -> String,
}

impl Verb {
    fn words(self) -> Words {
        match self {
            Verb::Install => Words {
                pending: "pending-install",
                underway: "Initial install underway",
                pre: "pre-install",
                post: "post-install",
                done: "Install complete",
                noun: "Release",
                hook_failed: |event, why| format!("failed {event}: {why}"),
            },
            Verb::Upgrade => Words {
                pending: "pending-upgrade",
                underway: "Preparing upgrade",
                pre: "pre-upgrade",
                post: "post-upgrade",
                done: "Upgrade complete",
                noun: "Upgrade",
                hook_failed: |event, why| format!("{event} hooks failed: {why}"),
            },
            Verb::Rollback => Words {
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

/// What the steps of a change work on.
struct Work<'w> {
    verb: Verb,
    place: Place<'w>,
    objects: &'w [Object],
    before: &'w [Named],
    client_hooks: &'w [Named],
    options: &'w Options,
    rules: Rules,
}

impl Engine<'_> {
    /// Makes a first revision. The name has to be free, or its release uninstalled and `replace` said.
    pub async fn install(
        &self,
        past: &Past,
        draft: Draft,
        replace: bool,
        options: &Options,
    ) -> Result<Outcome, Error> {
        let free = match past.last().map(|last| last.info.status.as_str()) {
            None => true,
            Some("uninstalled" | "failed") => replace,
            Some(_) => false,
        };
        if !free {
            return Err(Error::InUse);
        }
        self.change(Verb::Install, past, draft, options).await
    }

    /// Makes a next revision.
    pub async fn upgrade(&self, past: &Past, draft: Draft, options: &Options) -> Result<Outcome, Error> {
        match past.last().map(|last| last.info.status.as_str()) {
            None | Some("uninstalled") => Err(Error::NothingDeployed(draft.name)),
            Some("uninstalling") => Err(Error::Uninstalling(draft.name)),
            Some(_) => self.change(Verb::Upgrade, past, draft, options).await,
        }
    }

    /// Makes an old revision the next one: `to`, or the one before the last.
    pub async fn rollback(
        &self,
        name: &str,
        past: &Past,
        to: Option<i64>,
        options: &Options,
    ) -> Result<Outcome, Error> {
        let last = past.last().ok_or(crate::store::Error::NotFound)?;
        let to = to.unwrap_or(last.revision - 1);
        let entry = past.entries.iter().find(|entry| entry.revision() == to).ok_or(Error::NoRevision(to))?;
        let old = self.store.read(entry).await?;
        let mut labels = old.labels;
        if let Some(keeper) = self.keeper {
            keeper.again(&mut labels, to, past.next());
        }
        let draft = Draft {
            name: name.to_owned(),
            namespace: last.namespace.clone(),
            chart: old.chart,
            config: old.config.unwrap_or_default(),
            manifest: old.manifest,
            hooks: old.hooks,
            notes: old.info.notes,
            labels,
            rollback_to: to,
            ..Draft::default()
        };
        self.change(Verb::Rollback, past, draft, options).await
    }

    async fn change(
        &self,
        verb: Verb,
        past: &Past,
        draft: Draft,
        options: &Options,
    ) -> Result<Outcome, Error> {
        let crds = draft.crds.clone();
        let mut release = self.revision(verb, past, draft, options);
        let owner = owner(&release);
        let place = self.place(&owner);
        let fresh = verb == Verb::Install
            && options.fresh
            && !(options.adopt || options.dry_run)
            && past.entries.is_empty()
            && release.hooks.is_empty()
            && crds.is_empty();
        let rules = Rules { adopt: options.adopt, dry_run: false, fresh };
        let objects = self.objects(&release.manifest, &crds, &owner).await?;
        let crd_steps = place.plan_crds(&crds).await?;
        let blocked: Vec<Step> =
            crd_steps.iter().filter(|step| step.action == Action::Blocked).cloned().collect();
        if !blocked.is_empty() {
            return Err(apply::Error::Blocked(blocked).into());
        }
        let intact = match verb {
            Verb::Upgrade if !(options.adopt || options.dry_run) => {
                self.intact(past, &objects, &crds, &place).await?
            }
            _ => Vec::new(),
        };
        let same = |object: &&Object| intact.iter().any(|step| place.same(&step.object, &object.named));
        let changed: Vec<Object> = objects.iter().filter(|object| !same(object)).cloned().collect();
        let seen = place.check(&changed, &crds, rules).await?;
        let record = self.store.draft(&release).await?;
        if options.dry_run {
            let before = past.objects();
            let steps = podium_deploy::plan::preview(&place, &objects, &crds, &before, options.adopt).await?;
            let (blocked, steps): (Vec<Step>, Vec<Step>) =
                steps.into_iter().partition(|step| step.action == Action::Blocked);
            if !blocked.is_empty() {
                return Err(apply::Error::Blocked(blocked).into());
            }
            release.info.description = "Dry run complete".to_owned();
            return Ok(Outcome { release, steps });
        }
        match verb {
            Verb::Install if options.create_namespace => self.make_namespace(&release.namespace).await?,
            // What a resource is in is there.
            Verb::Install if self.keeper.is_none() => self.needs_namespace(&release.namespace).await?,
            _ => {}
        }
        if let Some(size) = record.whole {
            self.listener.warn(&format!(
                "the record of revision {} would need {size} bytes, and a Secret or ConfigMap holds {ROOM}: the chart is stored \
                 without its templates and files, which no upgrade or rollback needs",
                release.revision
            ));
        }
        place.apply_crds(&crds, &crd_steps).await?;
        match verb {
            Verb::Install => self.replace(past).await?,
            _ => self.make_room(past, options.history).await?,
        }
        self.store.create(&release, record.object).await?;
        let (before, client_hooks) = (past.objects(), past.client_hooks());
        let client_hooks = &client_hooks;
        let work = Work { verb, place, objects: &objects, before: &before, client_hooks, options, rules };
        let mut steps = crd_steps;
        steps.extend(intact);
        match self.perform(&mut release, &work, seen, &mut steps).await {
            Ok(()) => {
                release.info.status = "deployed".to_owned();
                if release.info.description.is_empty()
                    || options.description.is_empty() && verb != Verb::Rollback
                {
                    release.info.description = verb.words().done.to_owned();
                }
                if let Some(keeper) = self.keeper {
                    release.annotations = keeper.annotations(&steps);
                }
                self.store.update(&release).await?;
                self.supersede(past).await?;
                Ok(Outcome { release, steps })
            }
            Err(error) => {
                if fresh
                    && let Err(foreign @ apply::Error::Foreign(_)) =
                        place.check(&objects, &crds, Rules { fresh: false, ..rules }).await
                {
                    return Err(self.take_back(&release, foreign.into()).await);
                }
                Err(self.failed(release, past, &work, &steps, error).await)
            }
        }
    }

    /// The record of the new revision, as long as it is underway.
    fn revision(&self, verb: Verb, past: &Past, draft: Draft, options: &Options) -> Release {
        let words = verb.words();
        let now = self.store.now();
        let first =
            past.base().filter(|_| verb != Verb::Install).and_then(|base| base.info.first_deployed.clone());
        let description = match (verb, options.description.as_str()) {
            (Verb::Rollback, "") => format!("Rollback to {}", draft.rollback_to),
            (_, "") => words.underway.to_owned(),
            (_, said) => said.to_owned(),
        };
        Release {
            name: draft.name,
            namespace: draft.namespace,
            revision: past.next(),
            info: Info {
                first_deployed: first.or(Some(now.clone())),
                last_deployed: Some(now),
                deleted: None,
                description,
                status: words.pending.to_owned(),
                rollback_revision: draft.rollback_to,
                notes: draft.notes,
            },
            chart: draft.chart,
            config: Some(draft.config),
            manifest: draft.manifest,
            hooks: draft.hooks,
            apply_method: "ssa".to_owned(),
            labels: draft.labels,
            annotations: BTreeMap::new(),
        }
    }

    async fn perform(
        &self,
        release: &mut Release,
        work: &Work<'_>,
        seen: Vec<Seen<'_>>,
        steps: &mut Vec<Step>,
    ) -> Result<(), Error> {
        let words = work.verb.words();
        let hooks = async |release: &mut Release, event: &str| {
            if !work.options.hooks {
                return Ok(());
            }
            let ran = self.run_hooks(release, &Moment::new(event, work.options.timeout)).await;
            ran.map_err(|why| Error::Hook((words.hook_failed)(event, why.to_string())))
        };
        // What hooks left of the time when a client wrote them would be in the way of whoever applies them next.
        work.place.take_over(work.client_hooks).await?;
        hooks(release, words.pre).await?;
        work.place.apply_all(seen, work.rules, work.options.timeout, steps).await?;
        steps.extend(work.place.prune(work.before, work.objects, PropagationPolicy::Background).await?);
        if let Some(until) = work.options.wait {
            let names: Vec<Named> = work.objects.iter().map(|object| object.named.clone()).collect();
            let say = |what: &str| self.listener.waiting(what);
            work.place.wait(&names, until, work.options.timeout, &say).await?;
        }
        hooks(release, words.post).await
    }

    /// The objects that the deployed revision has with the same words, and that nobody has touched since: they cost
    /// nothing.
    async fn intact(
        &self,
        past: &Past,
        objects: &[Object],
        crds: &[Object],
        place: &Place<'_>,
    ) -> Result<Vec<Step>, Error> {
        let last = past.last().filter(|last| last.info.status == "deployed");
        let (Some(keeper), Some(last)) = (self.keeper, last) else { return Ok(Vec::new()) };
        let before = self.objects(&last.manifest, crds, place.owner).await?;
        let discovery = self.kinds.get().await?;
        let same = |object: &Object| {
            let named = place.placed(&object.named, discovery.find(&object.named.kind));
            before.contains(object).then(|| keeper.intact(last, &named)).flatten()
        };
        Ok(objects.iter().filter_map(same).collect())
    }

    /// Leaves everything as it was before a first revision in whose way somebody else's objects are.
    async fn take_back(&self, release: &Release, foreign: Error) -> Error {
        match Box::pin(self.uninstall(&release.name, false, &Options::default())).await {
            Ok(_) => foreign,
            Err(second) => Error::Stuck { first: Box::new(foreign), second: Box::new(second) },
        }
    }

    /// Records that a change failed, and undoes it if that is wanted; gives what is to be told.
    async fn failed(
        &self,
        mut release: Release,
        past: &Past,
        work: &Work<'_>,
        steps: &[Step],
        error: Error,
    ) -> Error {
        let (verb, options) = (work.verb, work.options);
        release.info.status = "failed".to_owned();
        release.info.description = format!("{} {:?} failed: {error}", verb.words().noun, release.name);
        if let Err(second) = self.store.update(&release).await {
            return Error::Stuck { first: Box::new(error), second: Box::new(second.into()) };
        }
        if verb == Verb::Rollback
            && matches!(error, Error::Apply(_))
            && let Err(second) = self.give_up(past).await
        {
            return Error::Stuck { first: Box::new(error), second: Box::new(second) };
        }
        if options.cleanup {
            let made =
                steps.iter().filter(|step| step.action == Action::Create).map(|step| step.object.clone());
            let made: Vec<Named> = made.collect();
            if let Err(second) = work.place.delete(&made, PropagationPolicy::Background).await {
                return Error::Stuck { first: Box::new(error), second: Box::new(second.into()) };
            }
        }
        if !options.undo || verb == Verb::Rollback {
            return error;
        }
        let quiet = Options { undo: false, description: String::new(), ..options.clone() };
        let (how, undone) = match verb {
            Verb::Install => {
                ("uninstalled", Box::pin(self.uninstall(&release.name, false, &quiet)).await.map(drop))
            }
            _ => ("rolled back", self.roll_back_to_good(&release.name, past, &quiet).await),
        };
        match undone {
            Ok(()) => Error::Undone { name: release.name, how, why: Box::new(error) },
            Err(second) => Error::Stuck { first: Box::new(error), second: Box::new(second) },
        }
    }

    async fn roll_back_to_good(&self, name: &str, past: &Past, options: &Options) -> Result<(), Error> {
        let good = |entry: &&crate::store::Entry| matches!(entry.status(), "deployed" | "superseded");
        let to = past.entries.iter().rev().find(good).map(|entry| entry.revision());
        let to = to.ok_or_else(|| Error::NothingDeployed(name.to_owned()))?;
        let past = self.past(name).await?;
        Box::pin(self.rollback(name, &past, Some(to), options)).await.map(drop)
    }

    /// The last revision is no longer what is there, when a rollback has changed some of its objects.
    async fn give_up(&self, past: &Past) -> Result<(), Error> {
        let Some(last) = past.last() else { return Ok(()) };
        let mut last = last.clone();
        last.info.status = "superseded".to_owned();
        self.store.update(&last).await?;
        Ok(())
    }

    /// The last revision of a release whose name is taken again is old now; one that failed stays what it is.
    async fn replace(&self, past: &Past) -> Result<(), Error> {
        let Some(last) = past.last().filter(|last| last.info.status != "failed") else { return Ok(()) };
        let mut last = last.clone();
        last.info.status = "superseded".to_owned();
        last.info.description = "superseded by new release".to_owned();
        self.store.update(&last).await?;
        Ok(())
    }

    /// All revisions that were deployed are old now.
    async fn supersede(&self, past: &Past) -> Result<(), Error> {
        for entry in &past.entries {
            let known = past.revisions.iter().find(|release| release.revision == entry.revision());
            // What was read is newer than what was listed.
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

    /// Takes the oldest records away, so that there is room for one more; never the deployed one.
    async fn make_room(&self, past: &Past, history: usize) -> Result<(), Error> {
        let Some(most) = history.checked_sub(1) else { return Ok(()) };
        let deployed = past.entries.iter().rposition(|entry| entry.status() == "deployed");
        let surplus = past.entries.len().saturating_sub(most);
        let old =
            past.entries.iter().enumerate().filter(|(at, _)| Some(*at) != deployed).map(|(_, entry)| entry);
        for entry in old.take(surplus) {
            self.store.delete(entry).await?;
        }
        Ok(())
    }

    /// Objects before anything is written when the namespace is missing; who may not see it finds out later.
    async fn needs_namespace(&self, name: &str) -> Result<(), Error> {
        let resource = Resource::core("Namespace", "namespaces", false);
        match self.store.client.get(&resource, None, name).await {
            Ok(None) => Err(Error::NoNamespace(name.to_owned())),
            Err(client::Error::Api(_)) | Ok(Some(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    async fn make_namespace(&self, name: &str) -> Result<(), Error> {
        let body: Value = json!({"apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": name, "labels": {"name": name}}});
        let resource = Resource::core("Namespace", "namespaces", false);
        match self.store.client.create(&resource, None, &body, podium_deploy::plan::MANAGER).await {
            Err(client::Error::Api(status)) if status.code == 409 => Ok(()),
            answer => Ok(answer.map(drop)?),
        }
    }
}

impl Engine<'_> {
    /// Applies the objects of a deployed revision again: all, or those that are chosen. What they were before does not
    /// matter.
    pub async fn repair(
        &self,
        release: &Release,
        chosen: &dyn Fn(&Named) -> bool,
        adopt: bool,
    ) -> Result<Vec<Step>, Error> {
        let owner = owner(release);
        let place = self.place(&owner);
        let mut objects = self.objects(&release.manifest, &[], &owner).await?;
        let discovery = self.kinds.get().await?;
        objects.retain(|object| chosen(&place.placed(&object.named, discovery.find(&object.named.kind))));
        let rules = Rules { adopt, ..Rules::default() };
        let seen = place.check(&objects, &[], rules).await?;
        let mut steps = Vec::new();
        let timeout = Options::default().timeout;
        place.apply_all(seen, rules, timeout, &mut steps).await?;
        Ok(steps)
    }

    /// Records that a change was interrupted by its user.
    pub async fn interrupted(&self, name: &str) -> Result<(), Error> {
        let mut past = self.past(name).await?;
        let Some(last) = past.revisions.last_mut().filter(|last| last.info.status.starts_with("pending-"))
        else {
            return Ok(());
        };
        last.info.description = format!("Interrupted while it was {}", last.info.status);
        last.info.status = "failed".to_owned();
        self.store.update(last).await?;
        Ok(())
    }
}
