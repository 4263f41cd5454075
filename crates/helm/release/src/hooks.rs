//! Objects that are created at moments of a release's life.

use std::time::Duration;

use podium_client::client;
use podium_client::write::PropagationPolicy;
use podium_deploy::object::{self, Object};
use podium_deploy::plan::{Action, Rules};
use podium_deploy::wait::{self, Until};
use podium_deploy::{Named, Owner, Place, apply};
use podium_meta::Resource;
use podium_meta::kind::escape;
use serde_json::Value;

use crate::engine::Engine;
use crate::record::{Hook, Release, Run};
use crate::store;

/// Why hooks did not do their work.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What is no object.
    #[error("unable to build kubernetes object for hook {path}: {source}")]
    Object {
        /// The template.
        path: String,
        /// What is wrong.
        #[source]
        source: object::Error,
    },
    /// The server does not take it.
    #[error("warning: Hook {event} {path} failed: {reason}")]
    Refused {
        /// The moment.
        event: String,
        /// The template.
        path: String,
        /// Why.
        reason: String,
    },
    /// It does not end well, or not in time.
    #[error("hook {path}: {source}")]
    Run {
        /// The template.
        path: String,
        /// Why.
        #[source]
        source: wait::Error,
    },
    /// The server says no, or nothing.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// The record cannot be written.
    #[error(transparent)]
    Store(#[from] store::Error),
}

const BEFORE: &str = "before-hook-creation";
const SUCCEEDED: &str = "hook-succeeded";
const FAILED: &str = "hook-failed";

/// Which hooks run.
pub struct Moment<'m> {
    /// The event.
    pub event: &'m str,
    /// How long each may take.
    pub timeout: Duration,
    /// Which of the event's.
    pub wanted: &'m (dyn Fn(&Hook) -> bool + Sync),
    /// Whether all of their output is shown, not only where a policy asks for it.
    pub all_output: bool,
}

impl<'m> Moment<'m> {
    /// All hooks of an event.
    pub fn new(event: &'m str, timeout: Duration) -> Self {
        Self { event, timeout, wanted: &|_| true, all_output: false }
    }
}

impl Engine<'_> {
    /// Runs the hooks of a moment, the lowest weight first.
    pub async fn run_hooks(&self, release: &mut Release, moment: &Moment<'_>) -> Result<(), Error> {
        let chosen = |hook: &Hook| hook.events.iter().any(|e| e == moment.event) && (moment.wanted)(hook);
        let mut order: Vec<usize> =
            release.hooks.iter().enumerate().filter(|(_, hook)| chosen(hook)).map(|(at, _)| at).collect();
        order.sort_by_key(|at| release.hooks.get(*at).map(|hook| (hook.weight, hook.name.clone())));
        let owner = Owner { name: release.name.clone(), namespace: release.namespace.clone() };
        let place = Place { client: &self.store.client, kinds: self.kinds, owner: &owner, holder: None };
        let runner = Runner { engine: self, place, moment };
        let mut succeeded: Vec<Hook> = Vec::new();
        for at in order {
            let Some(hook) = release.hooks.get_mut(at) else { continue };
            if hook.delete_policies.is_empty() {
                hook.delete_policies.push(BEFORE.to_owned());
            }
            runner.clean(hook, BEFORE).await?;
            hook.last_run =
                Run { started_at: Some(self.store.now()), completed_at: None, phase: "Running".to_owned() };
            let copy = hook.clone();
            self.store.update(release).await?;
            let ran = runner.run(&copy).await;
            let Some(hook) = release.hooks.get_mut(at) else { continue };
            hook.last_run.completed_at = Some(self.store.now());
            hook.last_run.phase = if ran.is_ok() { "Succeeded" } else { "Failed" }.to_owned();
            if let Err(error) = ran {
                runner.show(&copy, FAILED).await;
                if let Err(second) = runner.clean(&copy, FAILED).await {
                    self.listener.warn(&format!("hook {}: it could not be deleted: {second}", copy.path));
                }
                for before in &succeeded {
                    runner.clean(before, SUCCEEDED).await?;
                }
                return Err(error);
            }
            succeeded.push(copy);
        }
        for hook in succeeded.iter().rev() {
            runner.show(hook, SUCCEEDED).await;
            runner.clean(hook, SUCCEEDED).await?;
        }
        Ok(())
    }

    /// Prints what the containers of the pods that a selector chooses have printed.
    async fn show_logs(&self, namespace: &str, query: &str) -> Result<(), client::Error> {
        let pods = Resource::core("Pod", "pods", true);
        let client = &self.store.client;
        let list = client.list_objects(&pods, Some(namespace), query).await?;
        for pod in list.get("items").and_then(Value::as_array).into_iter().flatten() {
            let name = pod.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
            let containers = pod.pointer("/spec/containers").and_then(Value::as_array);
            for container in containers.into_iter().flatten() {
                let container = container.get("name").and_then(Value::as_str).unwrap_or_default();
                let path =
                    format!("{}/log?container={}", pods.object(Some(namespace), name), escape(container));
                self.listener.output(name, container, &client.get_raw(&path).await?);
            }
        }
        Ok(())
    }
}

struct Runner<'r> {
    engine: &'r Engine<'r>,
    place: Place<'r>,
    moment: &'r Moment<'r>,
}

impl Runner<'_> {
    fn objects(hook: &Hook) -> Result<Vec<Object>, Error> {
        object::plain(&hook.manifest).map_err(|source| Error::Object { path: hook.path.clone(), source })
    }

    fn names(hook: &Hook) -> Result<Vec<Named>, Error> {
        Ok(Self::objects(hook)?.into_iter().map(|object| object.named).collect())
    }

    /// Creates the hook's objects and waits until they have ended.
    async fn run(&self, hook: &Hook) -> Result<(), Error> {
        let refused = |reason: String| Error::Refused {
            event: self.moment.event.to_owned(),
            path: hook.path.clone(),
            reason,
        };
        let objects = Self::objects(hook)?;
        // A hook is nobody's: it takes what has its name.
        let rules = Rules { adopt: true, ..Rules::default() };
        let seen = self.place.check(&objects, &[], rules).await.map_err(|e| refused(e.to_string()))?;
        let mut steps = Vec::new();
        match self.place.apply_all(seen, rules, self.moment.timeout, &mut steps).await {
            Err(apply::Error::Client(error)) => return Err(error.into()),
            answer => answer.map_err(|e| refused(e.to_string()))?,
        }
        let made: Vec<Named> = steps
            .into_iter()
            .filter(|step| !matches!(step.action, Action::Delete | Action::Leave))
            .map(|step| step.object)
            .collect();
        let say = |what: &str| self.engine.listener.waiting(what);
        let waited = self.place.wait(&made, Until::Complete, self.moment.timeout, &say).await;
        waited.map_err(|source| Error::Run { path: hook.path.clone(), source })
    }

    /// Deletes the hook's objects, if a policy says so, and waits until they are gone. CRDs never go: everything of
    /// their kinds would go with them.
    async fn clean(&self, hook: &Hook, policy: &str) -> Result<(), Error> {
        if hook.kind == "CustomResourceDefinition" || !hook.delete_policies.iter().any(|p| p == policy) {
            return Ok(());
        }
        let gone = self.place.delete(&Self::names(hook)?, PropagationPolicy::Background).await?;
        let say = |what: &str| self.engine.listener.waiting(what);
        let waited = self.place.wait(&gone, Until::Gone, self.moment.timeout, &say).await;
        waited.map_err(|source| Error::Run { path: hook.path.clone(), source })
    }

    /// Shows what the hook's pods have printed, if a policy says so.
    async fn show(&self, hook: &Hook, policy: &str) {
        if !self.moment.all_output && !hook.output_log_policies.iter().any(|p| p == policy) {
            return;
        }
        let query = match hook.kind.as_str() {
            "Job" => format!("?labelSelector=job-name%3D{}", escape(&hook.name)),
            "Pod" => format!("?fieldSelector=metadata.name%3D{}", escape(&hook.name)),
            _ => return,
        };
        let names = Self::names(hook).unwrap_or_default();
        let namespace = names.first().and_then(|named| named.namespace.clone());
        let namespace = namespace.unwrap_or_else(|| self.place.owner.namespace.clone());
        if let Err(error) = self.engine.show_logs(&namespace, &query).await {
            self.engine
                .listener
                .warn(&format!("the output of the hook {} cannot be read: {error}", hook.path));
        }
    }
}
