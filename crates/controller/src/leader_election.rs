//! Leader election by a `Lease`, compatible with client-go.
//!
//! A candidate takes over when it has not seen the Lease change for the lease duration; clocks of different processes are
//! never compared. The leader steps down after the renew deadline, before any candidate may take over.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::Method;
use jiff::Timestamp;
use podium_meta::kind::{GroupVersionKind, Resource};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use podium_client::client::{Client, Error, Representation};
use podium_client::watch::{ListWatch, WatchEvent};

/// The resource of Leases.
pub fn resource() -> Resource {
    Resource {
        kind: GroupVersionKind::new("coordination.k8s.io/v1", "Lease"),
        plural: "leases".to_owned(),
        namespaced: true,
    }
}

/// A candidate for leadership.
#[derive(Clone, Debug)]
pub struct LeaderElection {
    /// The namespace of the Lease.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The holder identity, unique to this process.
    pub identity: String,
    /// The lease duration: how long candidates wait after the last change of the Lease.
    pub duration: Duration,
    /// The renew deadline: how long the leader tries to renew before it steps down; shorter than the duration.
    pub deadline: Duration,
    /// How often the leader renews.
    pub renew: Duration,
    /// The pause after a failed attempt.
    pub retry: Duration,
    leader: Arc<AtomicBool>,
}

/// How a term as leader ended.
#[derive(Debug, PartialEq, Eq)]
pub enum LeadershipEnd<T> {
    /// The work finished, and the Lease was released.
    Finished(T),
    /// Another candidate may be the leader now; the work was dropped where it waited.
    Lost(String),
}

/// The record in the spec of a Lease.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Record {
    holder: String,
    seconds: u64,
    renewed: String,
    transitions: u64,
}

impl Record {
    fn read(lease: &Value) -> Self {
        let text = |key: &str| lease.pointer(&format!("/spec/{key}")).and_then(Value::as_str);
        let number = |key: &str| lease.pointer(&format!("/spec/{key}")).and_then(Value::as_u64);
        Self {
            holder: text("holderIdentity").unwrap_or_default().to_owned(),
            seconds: number("leaseDurationSeconds").unwrap_or_default(),
            renewed: text("renewTime").unwrap_or_default().to_owned(),
            transitions: number("leaseTransitions").unwrap_or_default(),
        }
    }
}

/// The Lease as it was last observed, and when it was observed to change.
struct ObservedLease {
    lease: Value,
    record: Record,
    at: Instant,
}

impl LeaderElection {
    /// A candidate with the durations of client-go that renews half as often.
    pub fn new(namespace: &str, name: &str, identity: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            identity: identity.to_owned(),
            duration: Duration::from_secs(15),
            deadline: Duration::from_secs(10),
            renew: Duration::from_secs(4),
            retry: Duration::from_secs(2),
            leader: Arc::default(),
        }
    }

    /// Whether this process is the leader.
    pub fn is_leader(&self) -> bool {
        self.leader.load(Ordering::Relaxed)
    }

    /// Waits for leadership, then runs `work`, and releases the Lease when the work is done. When the Lease cannot be renewed
    /// in time, the work is dropped at the point where it waits: it must own everything that it started. `failed` is called
    /// for every failed request.
    pub async fn run<T>(
        &self,
        client: &Client,
        failed: impl FnMut(&Error),
        work: impl Future<Output = T>,
    ) -> LeadershipEnd<T> {
        let mut failed = failed;
        let (mut lease, begin) = self.acquire(client, &mut failed).await;
        let flag = LeaderFlag::set(&self.leader);
        let ended = tokio::select! {
            // Checked first: a leader whose lease has expired must not go on.
            biased;
            reason = self.renew_until_lost(client, &mut lease, begin, &mut failed) => LeadershipEnd::Lost(reason),
            done = work => LeadershipEnd::Finished(done),
        };
        drop(flag);
        if matches!(ended, LeadershipEnd::Finished(_)) {
            self.release(client, &lease).await;
        }
        ended
    }

    /// Acquires the Lease; the time is that of the last renewal that candidates may have observed.
    async fn acquire(&self, client: &Client, failed: &mut impl FnMut(&Error)) -> (Value, Instant) {
        let changed = Notify::new();
        let watch_failing = AtomicBool::new(false);
        let observed = Mutex::new(None);
        let only = ListWatch {
            namespace: Some(self.namespace.clone()),
            field_selector: format!("metadata.name={}", self.name),
            ..ListWatch::new(resource(), Representation::Full)
        };
        let listen = only.run(client, |event| {
            let lease = match event {
                WatchEvent::Failing(_) | WatchEvent::Recovered => {
                    watch_failing.store(matches!(event, WatchEvent::Failing(_)), Ordering::Relaxed);
                    None
                }
                WatchEvent::Applied(lease) => Some(lease),
                WatchEvent::Deleted(_) | WatchEvent::TooDeep(_) => None,
                WatchEvent::ListStarted | WatchEvent::ListDone => return,
            };
            *observed.lock().unwrap_or_else(PoisonError::into_inner) = lease;
            changed.notify_one();
        });
        let run = async {
            let mut seen = None;
            let mut known = None;
            loop {
                let begin = Instant::now();
                match self.attempt(client, known.take(), &mut seen).await {
                    Ok(Some(lease)) => return (lease, begin),
                    Ok(None) => {}
                    Err(error) if is_conflict(&error) => {
                        // Not without a pause: the winner of the race is still writing.
                        sleep(self.retry / 10).await;
                        continue;
                    }
                    Err(error) => {
                        failed(&error);
                        sleep(self.retry).await;
                        continue;
                    }
                }
                let expires = seen.as_ref().map_or(begin, |seen| seen.at + lease_duration(&seen.record));
                let poll = Instant::now() + self.retry;
                tokio::select! {
                    () = changed.notified() => {
                        known = observed.lock().unwrap_or_else(PoisonError::into_inner).take();
                    }
                    () = sleep_until(expires) => {}
                    // Polls only where the Lease cannot be watched.
                    () = sleep_until(poll), if watch_failing.load(Ordering::Relaxed) => {}
                }
            }
        };
        tokio::select! {
            biased;
            won = run => won,
            never = listen => match never {},
        }
    }

    /// Takes the Lease if it is free or expired; reads it unless the watch delivered it.
    async fn attempt(
        &self,
        client: &Client,
        known: Option<Value>,
        seen: &mut Option<ObservedLease>,
    ) -> Result<Option<Value>, Error> {
        let (here, all) = (self.path(), resource().collection(Some(&self.namespace)));
        let asked = match known {
            Some(lease) => Ok(lease),
            None => client.request(Method::GET, &here, None).await,
        };
        let lease = match asked {
            Ok(lease) => lease,
            Err(Error::Api(status)) if status.is_not_found() => {
                let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                    "metadata": {"name": self.name, "namespace": self.namespace}});
                let body = self.claim(&lease, false);
                return client.request(Method::POST, &all, json_body(&body)).await.map(Some);
            }
            Err(error) => return Err(error),
        };
        let record = Record::read(&lease);
        let at = match &*seen {
            Some(before) if before.record == record => before.at,
            _ => Instant::now(),
        };
        let (ours, free) = (record.holder == self.identity, record.holder.is_empty());
        let expired = at + lease_duration(&record) <= Instant::now();
        *seen = Some(ObservedLease { lease, record, at });
        match seen {
            Some(ObservedLease { lease, .. }) if ours || free || expired => {
                let body = self.claim(lease, ours);
                client.request(Method::PUT, &here, json_body(&body)).await.map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Renews the Lease until that fails for the renew deadline; returns the reason.
    async fn renew_until_lost(
        &self,
        client: &Client,
        lease: &mut Value,
        mut renewed_at: Instant,
        failed: &mut impl FnMut(&Error),
    ) -> String {
        let here = self.path();
        let mut next = renewed_at + self.renew;
        loop {
            let deadline = renewed_at + self.deadline;
            let late = || format!("the lease {}/{} was not renewed in time", self.namespace, self.name);
            if next >= deadline {
                sleep_until(deadline).await;
                return late();
            }
            sleep_until(next).await;
            let begin = Instant::now();
            let body = self.claim(lease, true);
            match timeout_at(deadline, client.request(Method::PUT, &here, json_body(&body))).await {
                Err(_) => return late(),
                Ok(Ok(renewed)) => {
                    (*lease, renewed_at, next) = (renewed, begin, begin + self.renew);
                    continue;
                }
                Ok(Err(error)) if is_conflict(&error) => {
                    // Another client wrote the Lease: a label, or a new leader.
                    match timeout_at(deadline, client.request(Method::GET, &here, None)).await {
                        Err(_) => return late(),
                        Ok(Ok(now)) if Record::read(&now).holder == self.identity => {
                            *lease = now;
                            // Not without a pause: two processes of the same identity would fight at full speed.
                            next = Instant::now() + self.retry / 10;
                            continue;
                        }
                        Ok(Ok(now)) => {
                            let holder = Record::read(&now).holder;
                            return format!("{holder:?} holds the lease {}/{}", self.namespace, self.name);
                        }
                        Ok(Err(error)) => failed(&error),
                    }
                }
                Ok(Err(Error::Api(status))) if status.is_not_found() => {
                    return format!("the lease {}/{} was deleted", self.namespace, self.name);
                }
                Ok(Err(error)) => failed(&error),
            }
            next = Instant::now() + self.retry;
        }
    }

    /// Releases the Lease; if that fails, it expires.
    async fn release(&self, client: &Client, lease: &Value) {
        let here = self.path();
        let give = async {
            match client.request(Method::PUT, &here, json_body(&released(lease))).await {
                // A renewal that was under way came first.
                Err(error) if is_conflict(&error) => {}
                _ => return,
            }
            let Ok(now) = client.request(Method::GET, &here, None).await else { return };
            if Record::read(&now).holder == self.identity {
                let _ = client.request(Method::PUT, &here, json_body(&released(&now))).await;
            }
        };
        let _ = timeout_at(Instant::now() + self.retry, give).await;
    }

    /// The Lease with this process as its holder.
    fn claim(&self, lease: &Value, ours: bool) -> Value {
        let mut lease = lease.clone();
        let before = Record::read(&lease);
        let now = micro(Timestamp::now());
        let is_new = lease.get("spec").is_none();
        if let Some(object) = lease.as_object_mut() {
            let spec = object.entry("spec").or_insert_with(|| json!({}));
            if let Some(spec) = spec.as_object_mut() {
                spec.insert("holderIdentity".to_owned(), self.identity.as_str().into());
                spec.insert("leaseDurationSeconds".to_owned(), self.duration.as_secs().max(1).into());
                spec.insert("renewTime".to_owned(), now.clone().into());
                if !ours {
                    spec.insert("acquireTime".to_owned(), now.into());
                    let transitions = before.transitions + u64::from(!is_new);
                    spec.insert("leaseTransitions".to_owned(), transitions.into());
                }
            }
        }
        lease
    }

    fn path(&self) -> String {
        resource().object(Some(&self.namespace), &self.name)
    }
}

/// Marks this process as the leader while it lives, also when the work is dropped.
struct LeaderFlag<'l>(&'l AtomicBool);

impl<'l> LeaderFlag<'l> {
    fn set(flag: &'l AtomicBool) -> Self {
        flag.store(true, Ordering::Relaxed);
        Self(flag)
    }
}

impl Drop for LeaderFlag<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// The Lease without a holder.
fn released(lease: &Value) -> Value {
    let mut free = lease.clone();
    let now = micro(Timestamp::now());
    if let Some(spec) = free.get_mut("spec").and_then(Value::as_object_mut) {
        spec.insert("holderIdentity".to_owned(), "".into());
        spec.insert("leaseDurationSeconds".to_owned(), 1.into());
        spec.insert("renewTime".to_owned(), now.clone().into());
        spec.insert("acquireTime".to_owned(), now.into());
    }
    free
}

/// The lease duration of a record, bounded because another client may have written any number.
fn lease_duration(record: &Record) -> Duration {
    Duration::from_secs(record.seconds.min(24 * 3600))
}

fn is_conflict(error: &Error) -> bool {
    error.status().is_some_and(|status| status.code == 409)
}

fn json_body(value: &Value) -> Option<(&'static str, Vec<u8>)> {
    Some(("application/json", value.to_string().into_bytes()))
}

/// A timestamp in the format of Leases.
pub(crate) fn micro(time: Timestamp) -> String {
    format!("{time:.6}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_the_record_of_client_go() {
        let election = LeaderElection::new("n", "l", "me");
        let fresh = json!({"metadata": {"name": "l", "resourceVersion": "5", "labels": {"a": "b"}}});
        let first = election.claim(&fresh, false);
        assert_eq!(first["metadata"], fresh["metadata"]);
        let spec = &first["spec"];
        assert_eq!((&spec["holderIdentity"], &spec["leaseDurationSeconds"]), (&json!("me"), &json!(15)));
        assert_eq!((&spec["leaseTransitions"], &spec["acquireTime"]), (&json!(0), &spec["renewTime"]));
        let time = spec["renewTime"].as_str().unwrap();
        assert!(time.len() == "2026-01-02T03:04:05.000000Z".len() && time.ends_with('Z'), "{time}");
        let again = election.claim(&first, true);
        assert_eq!(again["spec"]["acquireTime"], spec["acquireTime"]);
        let other = LeaderElection::new("n", "l", "other").claim(&again, false);
        assert_eq!(
            (&other["spec"]["leaseTransitions"], &other["spec"]["holderIdentity"]),
            (&json!(1), &json!("other"))
        );
    }

    #[test]
    fn a_hostile_record_does_not_overflow() {
        let lease =
            json!({"spec": {"leaseDurationSeconds": u64::MAX, "leaseTransitions": -1, "holderIdentity": 7}});
        let record = Record::read(&lease);
        assert_eq!((record.holder.as_str(), record.transitions), ("", 0));
        assert_eq!(lease_duration(&record), Duration::from_secs(24 * 3600));
    }
}
