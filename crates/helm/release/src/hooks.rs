//! Runs the hooks of a release.

use std::time::Duration;

use podium_client::client;
use podium_client::write::PropagationPolicy;
use podium_deploy::object::{self, Object};
use podium_deploy::plan::{Action, DeployOptions};
use podium_deploy::wait::{self, WaitCondition};
use podium_deploy::{Deployer, ObjectRef, ReleaseRef, apply};
use podium_meta::Resource;
use podium_meta::kind::escape;
use serde_json::Value;

use crate::engine::Engine;
use crate::record::{Hook, HookExecution, Release};
use crate::store;

/// Why a hook failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The hook's manifest is invalid.
    #[error("unable to build kubernetes object for hook {path}: {source}")]
    Object {
        /// The template.
        path: String,
        /// The parse error.
        #[source]
        source: object::Error,
    },
    /// The API server rejected the hook's objects.
    #[error("warning: Hook {event} {path} failed: {reason}")]
    Refused {
        /// The event.
        event: String,
        /// The template.
        path: String,
        /// The reason.
        reason: String,
    },
    /// The hook failed or timed out.
    #[error("hook {path}: {source}")]
    Wait {
        /// The template.
        path: String,
        /// The reason.
        #[source]
        source: wait::Error,
    },
    /// The API server rejected a request or could not be reached.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// The record cannot be written.
    #[error(transparent)]
    Store(#[from] store::Error),
}

const BEFORE_HOOK_CREATION: &str = "before-hook-creation";
const HOOK_SUCCEEDED: &str = "hook-succeeded";
const HOOK_FAILED: &str = "hook-failed";

/// Which hooks to run, and how.
pub struct HookRequest<'m> {
    /// The event, such as `pre-install`.
    pub event: &'m str,
    /// The timeout of each hook.
    pub timeout: Duration,
    /// Selects among the hooks of the event.
    pub filter: &'m (dyn Fn(&Hook) -> bool + Sync),
    /// Whether to print all output, not only where a policy asks for it.
    pub all_output: bool,
}

impl<'m> HookRequest<'m> {
    /// Selects all hooks of an event.
    pub fn new(event: &'m str, timeout: Duration) -> Self {
        Self { event, timeout, filter: &|_| true, all_output: false }
    }
}

impl Engine<'_> {
    /// Runs the hooks of an event in order of weight and name.
    pub async fn run_hooks(&self, release: &mut Release, request: &HookRequest<'_>) -> Result<(), Error> {
        let selected = |hook: &Hook| hook.events.iter().any(|e| e == request.event) && (request.filter)(hook);
        let mut order: Vec<usize> =
            release.hooks.iter().enumerate().filter(|(_, hook)| selected(hook)).map(|(at, _)| at).collect();
        order.sort_by_key(|at| release.hooks.get(*at).map(|hook| (hook.weight, hook.name.clone())));
        let release_ref = ReleaseRef { name: release.name.clone(), namespace: release.namespace.clone() };
        let deployer = Deployer {
            client: &self.store.client,
            kinds: self.kinds,
            release: &release_ref,
            owner_uid: None,
        };
        let runner = HookRunner { engine: self, deployer, request };
        let mut succeeded: Vec<Hook> = Vec::new();
        for at in order {
            let Some(hook) = release.hooks.get_mut(at) else { continue };
            if hook.delete_policies.is_empty() {
                hook.delete_policies.push(BEFORE_HOOK_CREATION.to_owned());
            }
            runner.delete_objects(hook, BEFORE_HOOK_CREATION).await?;
            hook.last_run = HookExecution {
                started_at: Some(self.store.now()),
                completed_at: None,
                phase: "Running".to_owned(),
            };
            let copy = hook.clone();
            self.store.update(release).await?;
            let ran = runner.run(&copy).await;
            let Some(hook) = release.hooks.get_mut(at) else { continue };
            hook.last_run.completed_at = Some(self.store.now());
            hook.last_run.phase = if ran.is_ok() { "Succeeded" } else { "Failed" }.to_owned();
            if let Err(error) = ran {
                runner.show_output(&copy, HOOK_FAILED).await;
                if let Err(second) = runner.delete_objects(&copy, HOOK_FAILED).await {
                    self.reporter
                        .warn(&format!("hook {}: its objects cannot be deleted: {second}", copy.path));
                }
                for before in &succeeded {
                    runner.delete_objects(before, HOOK_SUCCEEDED).await?;
                }
                return Err(error);
            }
            succeeded.push(copy);
        }
        for hook in succeeded.iter().rev() {
            runner.show_output(hook, HOOK_SUCCEEDED).await;
            runner.delete_objects(hook, HOOK_SUCCEEDED).await?;
        }
        Ok(())
    }

    /// Prints the container logs of the pods that a query selects.
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
                self.reporter.output(name, container, &client.get_raw(&path).await?);
            }
        }
        Ok(())
    }
}

struct HookRunner<'r> {
    engine: &'r Engine<'r>,
    deployer: Deployer<'r>,
    request: &'r HookRequest<'r>,
}

impl HookRunner<'_> {
    fn objects(hook: &Hook) -> Result<Vec<Object>, Error> {
        object::parse_manifest(&hook.manifest)
            .map_err(|source| Error::Object { path: hook.path.clone(), source })
    }

    fn object_refs(hook: &Hook) -> Result<Vec<ObjectRef>, Error> {
        Ok(Self::objects(hook)?.into_iter().map(|object| object.object_ref).collect())
    }

    /// Creates the hook's objects and waits until they have completed.
    async fn run(&self, hook: &Hook) -> Result<(), Error> {
        let refused = |reason: String| Error::Refused {
            event: self.request.event.to_owned(),
            path: hook.path.clone(),
            reason,
        };
        let objects = Self::objects(hook)?;
        // Hooks have no ownership metadata: an existing object of that name is adopted.
        let deploy_options = DeployOptions { adopt: true, ..DeployOptions::default() };
        let observed =
            self.deployer.check(&objects, &[], deploy_options).await.map_err(|e| refused(e.to_string()))?;
        let mut steps = Vec::new();
        match self.deployer.apply_all(observed, deploy_options, self.request.timeout, &mut steps).await {
            Err(apply::Error::Client(error)) => return Err(error.into()),
            result => result.map_err(|e| refused(e.to_string()))?,
        }
        let created: Vec<ObjectRef> = steps
            .into_iter()
            .filter(|step| !matches!(step.action, Action::Delete | Action::Leave))
            .map(|step| step.object)
            .collect();
        let report = |what: &str| self.engine.reporter.waiting(what);
        let waited =
            self.deployer.wait(&created, WaitCondition::Completed, self.request.timeout, &report).await;
        waited.map_err(|source| Error::Wait { path: hook.path.clone(), source })
    }

    /// Deletes the hook's objects if a policy asks for it, and waits until they are deleted. CRDs are kept, because
    /// their custom resources would be deleted with them.
    async fn delete_objects(&self, hook: &Hook, policy: &str) -> Result<(), Error> {
        if hook.kind == "CustomResourceDefinition" || !hook.delete_policies.iter().any(|p| p == policy) {
            return Ok(());
        }
        let deleted = self.deployer.delete(&Self::object_refs(hook)?, PropagationPolicy::Background).await?;
        let report = |what: &str| self.engine.reporter.waiting(what);
        let waited =
            self.deployer.wait(&deleted, WaitCondition::Deleted, self.request.timeout, &report).await;
        waited.map_err(|source| Error::Wait { path: hook.path.clone(), source })
    }

    /// Prints the logs of the hook's pods if a policy asks for it.
    async fn show_output(&self, hook: &Hook, policy: &str) {
        if !self.request.all_output && !hook.output_log_policies.iter().any(|p| p == policy) {
            return;
        }
        let query = match hook.kind.as_str() {
            "Job" => format!("?labelSelector=job-name%3D{}", escape(&hook.name)),
            "Pod" => format!("?fieldSelector=metadata.name%3D{}", escape(&hook.name)),
            _ => return,
        };
        let object_refs = Self::object_refs(hook).unwrap_or_default();
        let namespace = object_refs.first().and_then(|object_ref| object_ref.namespace.clone());
        let namespace = namespace.unwrap_or_else(|| self.deployer.release.namespace.clone());
        if let Err(error) = self.engine.show_logs(&namespace, &query).await {
            self.engine.reporter.warn(&format!("hook {}: its output cannot be read: {error}", hook.path));
        }
    }
}
