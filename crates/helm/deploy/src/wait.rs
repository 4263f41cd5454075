//! Waits for objects: condition they are ready, have ended, or are gone.

use std::time::Duration;

use futures_util::stream::{StreamExt, iter};
use podium_client::client::{self, Form};
use podium_meta::Resource;
use podium_resources::{Health, completion, health_with_jobs, health_with_pods, paused, pod_selector};
use serde_json::Value;
use tokio::time::Instant;

use crate::deployer::{Deployer, MAX_CONCURRENT_REQUESTS};
use crate::object_ref::ObjectRef;

/// How often is looked at first, and at last.
const POLL_INTERVALS: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(2));

/// How long an object may be gone that should be ready: some are made anew by others, but nobody makes it again for us.
const DELETED_GRACE: Duration = Duration::from_secs(5);

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitCondition {
    /// Objects are as their controllers want them.
    Ready,
    /// That, and Jobs have ended.
    ReadyWithJobs,
    /// Jobs and Pods have ended well; anything else is there.
    Completed,
    /// Objects are not there any more.
    Deleted,
}

/// Why still_pending ended early.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server says no, or nothing.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// Something cannot become ready any more.
    #[error("{0}")]
    Failed(String),
    /// The time is over.
    #[error("{} is not enough time: {reasons}", seconds(*.after))]
    Timeout {
        /// How long was waited.
        after: Duration,
        /// What is not as it should be.
        reasons: String,
    },
}

fn seconds(time: Duration) -> String {
    match time.as_secs() {
        0 => format!("{} ms", time.as_millis()),
        seconds => format!("{seconds} s"),
    }
}

/// Says what is waited for, each time that it changes.
pub type ProgressFn<'a> = &'a (dyn Fn(&str) + Sync);

/// How an object was when it was looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Readiness {
    /// Whether it is ready, and why not.
    pub health: Health,
    /// Whether it has pods, which may have more to report while it stays as it is.
    pub has_pods: bool,
}

impl Readiness {
    /// Of an object, with its pods if they were asked.
    pub fn from_object(live: &Value, pods: &[Value]) -> Self {
        let health = match paused(live) {
            // Nobody works on it: Helm does not wait for it either.
            true => Health::Ready,
            false => health_with_pods(live, pods, None),
        };
        Self { health, has_pods: podium_resources::has_pods(live) }
    }

    fn missing() -> Self {
        Self { health: Health::Waiting("it is not there".to_owned()), has_pods: false }
    }
}

impl Deployer<'_> {
    /// Waits for objects; those that the cluster does not know count as gone.
    pub async fn wait(
        &self,
        objects: &[ObjectRef],
        condition: WaitCondition,
        timeout: Duration,
        report: ProgressFn<'_>,
    ) -> Result<(), Error> {
        let discovery = self.kinds.known().await?;
        let resolve = |object: &ObjectRef| {
            let resource = discovery.find(&object.kind)?;
            Some((self.resolve_namespace(object, Some(resource)), resource.clone(), None))
        };
        // Each with the moment since which it is gone.
        let mut pending: Vec<(ObjectRef, Resource, Option<Instant>)> =
            objects.iter().filter(|object| !object.name.is_empty()).filter_map(resolve).collect();
        let (started, absent) = (Instant::now(), Readiness::missing().health);
        let mut interval = POLL_INTERVALS.0;
        let mut reported = String::new();
        loop {
            let checks = pending
                .iter()
                .map(|(object_ref, resource, _)| self.check_object(object_ref, resource, condition));
            let answers: Vec<_> = iter(checks).buffered(MAX_CONCURRENT_REQUESTS).collect().await;
            let mut still_pending = Vec::new();
            let mut reasons = Vec::new();
            for (mut object, answer) in pending.into_iter().zip(answers) {
                let answer = answer?;
                object.2 = (answer == absent).then(|| object.2.unwrap_or_else(Instant::now));
                if object.2.is_some_and(|since| since.elapsed() > DELETED_GRACE) {
                    return Err(Error::Failed(format!(
                        "{}: it is gone: somebody deleted it while it was waited for",
                        object.0
                    )));
                }
                match answer {
                    Health::Ready => {}
                    Health::Failed(why) => return Err(Error::Failed(format!("{}: {why}", object.0))),
                    Health::Waiting(why) | Health::Terminating(why) => {
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

    /// How an object is; one that is not there is waited for.
    pub async fn readiness(
        &self,
        object_ref: &ObjectRef,
        resource: &Resource,
    ) -> Result<Readiness, client::Error> {
        let Some(live) = self.get_live(resource, object_ref).await? else { return Ok(Readiness::missing()) };
        let pods = self.pods(&live, object_ref).await?;
        Ok(Readiness::from_object(&live, &pods))
    }

    /// How an object is, as far as is asked.
    async fn check_object(
        &self,
        object_ref: &ObjectRef,
        resource: &Resource,
        condition: WaitCondition,
    ) -> Result<Health, client::Error> {
        let live = match condition {
            WaitCondition::Deleted => self.get_live_consistent(resource, object_ref).await?,
            _ => self.get_live(resource, object_ref).await?,
        };
        Ok(match (live, condition) {
            (None, WaitCondition::Deleted) => Health::Ready,
            (Some(_), WaitCondition::Deleted) => Health::Waiting("it is still there".to_owned()),
            // It was just made: still_pending brings nobody to make it again.
            (None, WaitCondition::Completed) => Health::Failed(
                "it is gone before it was seen to end: somebody deleted it, or its ttlSecondsAfterFinished is too short"
                    .to_owned(),
            ),
            (None, _) => Readiness::missing().health,
            (Some(live), WaitCondition::Completed) => completion(&live),
            (Some(live), WaitCondition::ReadyWithJobs) if object_ref.kind.kind == "Job" => health_with_jobs(&live),
            (Some(live), _) => {
                let pods = self.pods(&live, object_ref).await?;
                Readiness::from_object(&live, &pods).health
            }
        })
    }

    /// The pods of an object that is not ready: they report why.
    async fn pods(&self, live: &Value, object_ref: &ObjectRef) -> Result<Vec<Value>, client::Error> {
        if paused(live) || podium_resources::health(live) == Health::Ready {
            return Ok(Vec::new());
        }
        let Some(selector) = pod_selector(live) else { return Ok(Vec::new()) };
        let pods = Resource::core("Pod", "pods", true);
        match self.client.list(&pods, object_ref.namespace.as_deref(), &selector, Form::Whole).await {
            // Who may not see pods is told less.
            Err(client::Error::Refused(_)) => Ok(Vec::new()),
            answer => answer,
        }
    }
}
