//! Waits until objects are ready, completed or deleted.

use std::time::Duration;

use futures_util::stream::{StreamExt, iter};
use podium_client::client::{self, Representation};
use podium_kstatus::{
    Status, completion_status, compute_with_jobs, compute_with_pods, is_paused, pod_selector,
};
use podium_meta::Resource;
use serde_json::Value;
use tokio::time::Instant;

use crate::deployer::{Deployer, MAX_CONCURRENT_REQUESTS};
use crate::object_ref::ObjectRef;

/// The first and the longest polling interval.
const POLL_INTERVALS: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(2));

/// How long an object may be missing while its readiness is awaited: controllers recreate some objects, but not all.
const DELETED_GRACE: Duration = Duration::from_secs(5);

/// What to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitCondition {
    /// Objects are ready.
    Ready,
    /// Objects are ready and Jobs have completed.
    ReadyWithJobs,
    /// Jobs and Pods have succeeded; other objects exist.
    Completed,
    /// Objects do not exist any more.
    Deleted,
}

/// Why waiting failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The API server rejected a request or could not be reached.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// An object failed for good.
    #[error("{0}")]
    Failed(String),
    /// The timeout expired.
    #[error("timed out after {}: {reasons}", seconds(*.after))]
    Timeout {
        /// The timeout.
        after: Duration,
        /// What is not ready, and why.
        reasons: String,
    },
}

fn seconds(time: Duration) -> String {
    match time.as_secs() {
        0 => format!("{} ms", time.as_millis()),
        seconds => format!("{seconds} s"),
    }
}

/// Receives the reasons for waiting, each time they change.
pub type ProgressFn<'a> = &'a (dyn Fn(&str) + Sync);

/// The readiness of an object when it was observed.
#[derive(Clone, Debug, PartialEq)]
pub struct Readiness {
    /// Whether it is ready, and why not.
    pub health: Status,
    /// Whether it has pods, whose state may change while the object does not.
    pub has_pods: bool,
}

impl Readiness {
    /// Evaluates an object, with its pods if they were listed.
    pub fn from_object(live: &Value, pods: &[Value]) -> Self {
        let health = match is_paused(live) {
            // Its controller does nothing while it is paused; Helm does not wait for it either.
            true => Status::Current,
            false => compute_with_pods(live, pods, None),
        };
        Self { health, has_pods: podium_kstatus::has_pods(live) }
    }

    fn missing() -> Self {
        Self { health: Status::InProgress("it does not exist".to_owned()), has_pods: false }
    }
}

impl Deployer<'_> {
    /// Waits for objects; those of unknown kinds count as deleted.
    pub async fn wait(
        &self,
        objects: &[ObjectRef],
        condition: WaitCondition,
        timeout: Duration,
        report: ProgressFn<'_>,
    ) -> Result<(), Error> {
        let discovery = self.kinds.get().await?;
        let resolve = |object: &ObjectRef| {
            let resource = discovery.find(&object.kind)?;
            Some((self.resolve_namespace(object, Some(resource)), resource.clone(), None))
        };
        // Each with the time since when it is missing.
        let mut pending: Vec<(ObjectRef, Resource, Option<Instant>)> =
            objects.iter().filter(|object| !object.name.is_empty()).filter_map(resolve).collect();
        let (started, absent) = (Instant::now(), Readiness::missing().health);
        let mut interval = POLL_INTERVALS.0;
        let mut reported = String::new();
        loop {
            let checks = pending
                .iter()
                .map(|(object_ref, resource, _)| self.check_object(object_ref, resource, condition));
            let results: Vec<_> = iter(checks).buffered(MAX_CONCURRENT_REQUESTS).collect().await;
            let mut still_pending = Vec::new();
            let mut reasons = Vec::new();
            for (mut object, result) in pending.into_iter().zip(results) {
                let result = result?;
                object.2 = (result == absent).then(|| object.2.unwrap_or_else(Instant::now));
                if object.2.is_some_and(|since| since.elapsed() > DELETED_GRACE) {
                    return Err(Error::Failed(format!(
                        "{}: it was deleted while waiting for it to become ready",
                        object.0
                    )));
                }
                match result {
                    Status::Current => {}
                    Status::Failed(why) => return Err(Error::Failed(format!("{}: {why}", object.0))),
                    Status::InProgress(why) | Status::Terminating(why) => {
                        reasons.push(format!("{}: {why}", object.0));
                        still_pending.push(object);
                    }
                }
            }
            if still_pending.is_empty() {
                return Ok(());
            }
            let now = reasons.join("\n");
            if now != reported {
                report(&now);
                reported = now;
            }
            if started.elapsed() + interval > timeout {
                return Err(Error::Timeout { after: timeout, reasons: reasons.join("; ") });
            }
            tokio::time::sleep(interval).await;
            interval = (interval * 3 / 2).min(POLL_INTERVALS.1);
            pending = still_pending;
        }
    }

    /// Observes the readiness of an object; a missing one is waiting.
    pub async fn readiness(
        &self,
        object_ref: &ObjectRef,
        resource: &Resource,
    ) -> Result<Readiness, client::Error> {
        let Some(live) = self.get_live(resource, object_ref).await? else { return Ok(Readiness::missing()) };
        let pods = self.pods(&live, object_ref).await?;
        Ok(Readiness::from_object(&live, &pods))
    }

    /// Evaluates the wait condition for one object.
    async fn check_object(
        &self,
        object_ref: &ObjectRef,
        resource: &Resource,
        condition: WaitCondition,
    ) -> Result<Status, client::Error> {
        let live = match condition {
            WaitCondition::Deleted => self.get_live_consistent(resource, object_ref).await?,
            _ => self.get_live(resource, object_ref).await?,
        };
        Ok(match (live, condition) {
            (None, WaitCondition::Deleted) => Status::Current,
            (Some(_), WaitCondition::Deleted) => Status::InProgress("it still exists".to_owned()),
            // The hook created it, and no controller recreates it.
            (None, WaitCondition::Completed) => Status::Failed(
                "it disappeared before it completed: it was deleted, or its ttlSecondsAfterFinished \
                 is too short"
                    .to_owned(),
            ),
            (None, _) => Readiness::missing().health,
            (Some(live), WaitCondition::Completed) => completion_status(&live),
            (Some(live), WaitCondition::ReadyWithJobs) if object_ref.kind.kind == "Job" => {
                compute_with_jobs(&live)
            }
            (Some(live), _) => {
                let pods = self.pods(&live, object_ref).await?;
                Readiness::from_object(&live, &pods).health
            }
        })
    }

    /// Lists the pods of an object that is not ready, which hold the reason.
    async fn pods(&self, live: &Value, object_ref: &ObjectRef) -> Result<Vec<Value>, client::Error> {
        if is_paused(live) || podium_kstatus::compute(live) == Status::Current {
            return Ok(Vec::new());
        }
        let Some(selector) = pod_selector(live) else { return Ok(Vec::new()) };
        let pods = Resource::core("Pod", "pods", true);
        match self.client.list(&pods, object_ref.namespace.as_deref(), &selector, Representation::Full).await
        {
            // Without permission to list pods, the reason is less precise.
            Err(client::Error::Api(_)) => Ok(Vec::new()),
            result => result,
        }
    }
}
