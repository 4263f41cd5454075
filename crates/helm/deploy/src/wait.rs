//! Waits for objects: until they are ready, have ended, or are gone.

use std::time::Duration;

use futures_util::stream::{StreamExt, iter};
use podium_client::client::{self, Representation};
use podium_kstatus::{
    Status, completion_status, compute_with_jobs, compute_with_pods, is_paused, pod_selector,
};
use podium_meta::Resource;
use serde_json::Value;
use tokio::time::Instant;

use crate::named::Named;
use crate::place::{AT_ONCE, Place};

/// How often is looked at first, and at last.
const LOOKS: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(2));

/// How long an object may be gone that should be ready: some are made anew by others, but nobody makes it again for us.
const GONE: Duration = Duration::from_secs(5);

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Objects are as their controllers want them.
    Ready,
    /// That, and Jobs have ended.
    ReadyWithJobs,
    /// Jobs and Pods have ended well; anything else is there.
    Complete,
    /// Objects are not there any more.
    Gone,
}

/// Why waiting ended early.
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
    Late {
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
pub type Watcher<'a> = &'a (dyn Fn(&str) + Sync);

/// How an object was when it was looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Sight {
    /// Whether it is ready, and why not.
    pub health: Status,
    /// Whether it has pods, which may have more to say while it stays as it is.
    pub pods: bool,
}

impl Sight {
    /// Of an object, with its pods if they were asked.
    pub fn of(live: &Value, pods: &[Value]) -> Self {
        let health = match is_paused(live) {
            // Nobody works on it: Helm does not wait for it either.
            true => Status::Current,
            false => compute_with_pods(live, pods, None),
        };
        Self { health, pods: podium_kstatus::has_pods(live) }
    }

    fn absent() -> Self {
        Self { health: Status::InProgress("it is not there".to_owned()), pods: false }
    }
}

impl Place<'_> {
    /// Waits for objects; those that the cluster does not know count as gone.
    pub async fn wait(
        &self,
        objects: &[Named],
        until: Until,
        patience: Duration,
        say: Watcher<'_>,
    ) -> Result<(), Error> {
        let discovery = self.kinds.get().await?;
        let place = |object: &Named| {
            let resource = discovery.find(&object.kind)?;
            Some((self.placed(object, Some(resource)), resource.clone(), None))
        };
        // Each with the moment since which it is gone.
        let mut left: Vec<(Named, Resource, Option<Instant>)> =
            objects.iter().filter(|object| !object.name.is_empty()).filter_map(place).collect();
        let (begin, absent) = (Instant::now(), Sight::absent().health);
        let mut pause = LOOKS.0;
        let mut said = String::new();
        loop {
            let looks = left.iter().map(|(named, resource, _)| self.look_at(named, resource, until));
            let answers: Vec<_> = iter(looks).buffered(AT_ONCE).collect().await;
            let mut waiting = Vec::new();
            let mut reasons = Vec::new();
            for (mut object, answer) in left.into_iter().zip(answers) {
                let answer = answer?;
                object.2 = (answer == absent).then(|| object.2.unwrap_or_else(Instant::now));
                if object.2.is_some_and(|since| since.elapsed() > GONE) {
                    return Err(Error::Failed(format!(
                        "{}: it is gone: somebody deleted it while it was waited for",
                        object.0
                    )));
                }
                match answer {
                    Status::Current => {}
                    Status::Failed(why) => return Err(Error::Failed(format!("{}: {why}", object.0))),
                    Status::InProgress(why) | Status::Terminating(why) => {
                        reasons.push(format!("{}: {why}", object.0));
                        waiting.push(object);
                    }
                }
            }
            if waiting.is_empty() {
                return Ok(());
            }
            let now = reasons.join("\n");
            if now != said {
                say(&now);
                said = now;
            }
            if begin.elapsed() + pause > patience {
                return Err(Error::Late { after: patience, reasons: reasons.join("; ") });
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 3 / 2).min(LOOKS.1);
            left = waiting;
        }
    }

    /// How an object is; one that is not there is waited for.
    pub async fn sight(&self, named: &Named, resource: &Resource) -> Result<Sight, client::Error> {
        let Some(live) = self.live(resource, named).await? else { return Ok(Sight::absent()) };
        let pods = self.pods(&live, named).await?;
        Ok(Sight::of(&live, &pods))
    }

    /// How an object is, as far as is asked.
    async fn look_at(
        &self,
        named: &Named,
        resource: &Resource,
        until: Until,
    ) -> Result<Status, client::Error> {
        let live = match until {
            Until::Gone => self.get_from_storage(resource, named).await?,
            _ => self.live(resource, named).await?,
        };
        Ok(match (live, until) {
            (None, Until::Gone) => Status::Current,
            (Some(_), Until::Gone) => Status::InProgress("it is still there".to_owned()),
            // It was just made: waiting brings nobody to make it again.
            (None, Until::Complete) => Status::Failed(
                "it is gone before it was seen to end: somebody deleted it, or its ttlSecondsAfterFinished is too short"
                    .to_owned(),
            ),
            (None, _) => Sight::absent().health,
            (Some(live), Until::Complete) => completion_status(&live),
            (Some(live), Until::ReadyWithJobs) if named.kind.kind == "Job" => compute_with_jobs(&live),
            (Some(live), _) => {
                let pods = self.pods(&live, named).await?;
                Sight::of(&live, &pods).health
            }
        })
    }

    /// The pods of an object that is not ready: they say why.
    async fn pods(&self, live: &Value, named: &Named) -> Result<Vec<Value>, client::Error> {
        if is_paused(live) || podium_kstatus::compute(live) == Status::Current {
            return Ok(Vec::new());
        }
        let Some(selector) = pod_selector(live) else { return Ok(Vec::new()) };
        let pods = Resource::core("Pod", "pods", true);
        match self.client.list(&pods, named.namespace.as_deref(), &selector, Representation::Full).await {
            // Who may not see pods is told less.
            Err(client::Error::Api(_)) => Ok(Vec::new()),
            answer => answer,
        }
    }
}
