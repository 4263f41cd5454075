//! Who leads: a `Lease` that one of several holds, as client-go's leader election writes it.
//!
//! A record counts as long as its duration after *we* saw it change: clocks of others are never compared. Who holds
//! it gives up after the deadline, before the duration is over for anybody else.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::Method;
use jiff::Timestamp;
use podium_meta::kind::{Kind, Resource};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use podium_client::client::{Client, Error, Representation};
use podium_client::watch::{ListWatch, WatchEvent};

/// Where Leases are.
pub fn resource() -> Resource {
    Resource {
        kind: Kind::new("coordination.k8s.io/v1", "Lease"),
        plural: "leases".to_owned(),
        namespaced: true,
    }
}

/// One of those who want to lead.
#[derive(Clone, Debug)]
pub struct LeaderElection {
    /// The namespace of the Lease.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Who we are; no two may be the same.
    pub identity: String,
    /// How long others wait after the last sign of life.
    pub duration: Duration,
    /// How long a leader tries to renew before it gives up; shorter than the duration.
    pub deadline: Duration,
    /// How often a leader renews.
    pub renew: Duration,
    /// The pause after a failed try.
    pub retry: Duration,
    leads: Arc<AtomicBool>,
}

/// How a time as leader ended.
#[derive(Debug, PartialEq, Eq)]
pub enum LeadershipEnd<T> {
    /// The work was done; the Lease is free for the next at once.
    Finished(T),
    /// Somebody else may lead now; the work was dropped where it waited.
    Lost(String),
}

/// What a Lease says.
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

/// The Lease as we last saw it, and when it last changed for us.
struct Seen {
    lease: Value,
    record: Record,
    at: Instant,
}

impl LeaderElection {
    /// With the durations of client-go, but half of its requests.
    pub fn new(namespace: &str, name: &str, identity: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            identity: identity.to_owned(),
            duration: Duration::from_secs(15),
            deadline: Duration::from_secs(10),
            renew: Duration::from_secs(4),
            retry: Duration::from_secs(2),
            leads: Arc::default(),
        }
    }

    /// Whether we lead now.
    pub fn is_leader(&self) -> bool {
        self.leads.load(Ordering::Relaxed)
    }

    /// Waits until we lead, then works; gives the Lease back when the work is done, which is how to stop. When it cannot
    /// be renewed in time, the work is dropped at the point where it waits: it must own all that it started. Every try
    /// that fails is told.
    pub async fn run<T>(
        &self,
        client: &Client,
        trouble: impl FnMut(&Error),
        work: impl Future<Output = T>,
    ) -> LeadershipEnd<T> {
        let mut trouble = trouble;
        let (mut lease, begin) = self.acquire(client, &mut trouble).await;
        let leads = Leads::new(&self.leads);
        let ended = tokio::select! {
            // Losing counts before anything else that is ready.
            biased;
            reason = self.keep(client, &mut lease, begin, &mut trouble) => LeadershipEnd::Lost(reason),
            done = work => LeadershipEnd::Finished(done),
        };
        drop(leads);
        if matches!(ended, LeadershipEnd::Finished(_)) {
            self.release(client, &lease).await;
        }
        ended
    }

    /// Waits until the Lease is ours; the time is that of the last sign of life which others may have seen.
    async fn acquire(&self, client: &Client, trouble: &mut impl FnMut(&Error)) -> (Value, Instant) {
        let changed = Notify::new();
        let deaf = AtomicBool::new(false);
        let news = Mutex::new(None);
        let only = ListWatch {
            namespace: Some(self.namespace.clone()),
            field_selector: format!("metadata.name={}", self.name),
            ..ListWatch::new(resource(), Representation::Full)
        };
        let listen = only.run(client, |event| {
            let lease = match event {
                WatchEvent::Failing(_) | WatchEvent::Recovered => {
                    deaf.store(matches!(event, WatchEvent::Failing(_)), Ordering::Relaxed);
                    None
                }
                WatchEvent::Applied(lease) => Some(lease),
                WatchEvent::Deleted(_) | WatchEvent::TooDeep(_) => None,
                WatchEvent::ListStarted | WatchEvent::ListDone => return,
            };
            *news.lock().unwrap_or_else(PoisonError::into_inner) = lease;
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
                        // Not without a pause: whoever won may be in the middle of it.
                        sleep(self.retry / 10).await;
                        continue;
                    }
                    Err(error) => {
                        trouble(&error);
                        sleep(self.retry).await;
                        continue;
                    }
                }
                let expires = seen.as_ref().map_or(begin, |seen| seen.at + span(&seen.record));
                let poll = Instant::now() + self.retry;
                tokio::select! {
                    () = changed.notified() => {
                        known = news.lock().unwrap_or_else(PoisonError::into_inner).take();
                    }
                    () = sleep_until(expires) => {}
                    // Who may not watch has to ask.
                    () = sleep_until(poll), if deaf.load(Ordering::Relaxed) => {}
                }
            }
        };
        tokio::select! {
            biased;
            won = run => won,
            never = listen => match never {},
        }
    }

    /// Takes the Lease if nobody holds it; asks for it unless it is known.
    async fn attempt(
        &self,
        client: &Client,
        known: Option<Value>,
        seen: &mut Option<Seen>,
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
        let expired = at + span(&record) <= Instant::now();
        *seen = Some(Seen { lease, record, at });
        match seen {
            Some(Seen { lease, .. }) if ours || free || expired => {
                let body = self.claim(lease, ours);
                client.request(Method::PUT, &here, json_body(&body)).await.map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Renews until that is no longer possible, and says why.
    async fn keep(
        &self,
        client: &Client,
        lease: &mut Value,
        mut sign: Instant,
        trouble: &mut impl FnMut(&Error),
    ) -> String {
        let here = self.path();
        let mut next = sign + self.renew;
        loop {
            let deadline = sign + self.deadline;
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
                    (*lease, sign, next) = (renewed, begin, begin + self.renew);
                    continue;
                }
                Ok(Err(error)) if is_conflict(&error) => {
                    // Somebody else wrote: a label, or the claim of a new leader.
                    match timeout_at(deadline, client.request(Method::GET, &here, None)).await {
                        Err(_) => return late(),
                        Ok(Ok(now)) if Record::read(&now).holder == self.identity => {
                            *lease = now;
                            // Not without a pause: two of the same identity would fight at full speed.
                            next = Instant::now() + self.retry / 10;
                            continue;
                        }
                        Ok(Ok(now)) => {
                            let holder = Record::read(&now).holder;
                            return format!("{holder:?} holds the lease {}/{}", self.namespace, self.name);
                        }
                        Ok(Err(error)) => trouble(&error),
                    }
                }
                Ok(Err(Error::Api(status))) if status.is_not_found() => {
                    return format!("the lease {}/{} was deleted", self.namespace, self.name);
                }
                Ok(Err(error)) => trouble(&error),
            }
            next = Instant::now() + self.retry;
        }
    }

    /// Gives the Lease back, if that works at once: if not, it runs out by itself.
    async fn release(&self, client: &Client, lease: &Value) {
        let here = self.path();
        let give = async {
            match client.request(Method::PUT, &here, json_body(&freed(lease))).await {
                // A renewal that was on its way came first.
                Err(error) if is_conflict(&error) => {}
                _ => return,
            }
            let Ok(now) = client.request(Method::GET, &here, None).await else { return };
            if Record::read(&now).holder == self.identity {
                let _ = client.request(Method::PUT, &here, json_body(&freed(&now))).await;
            }
        };
        let _ = timeout_at(Instant::now() + self.retry, give).await;
    }

    /// The Lease as it is when we hold it.
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

/// Says that we lead, as long as it lives: also when the work is dropped from outside.
struct Leads<'l>(&'l AtomicBool);

impl<'l> Leads<'l> {
    fn new(flag: &'l AtomicBool) -> Self {
        flag.store(true, Ordering::Relaxed);
        Self(flag)
    }
}

impl Drop for Leads<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// The Lease without a holder.
fn freed(lease: &Value) -> Value {
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

/// How long a record counts; a foreign one may say anything.
fn span(record: &Record) -> Duration {
    Duration::from_secs(record.seconds.min(24 * 3600))
}

fn is_conflict(error: &Error) -> bool {
    error.status().is_some_and(|status| status.code == 409)
}

fn json_body(value: &Value) -> Option<(&'static str, Vec<u8>)> {
    Some(("application/json", value.to_string().into_bytes()))
}

/// A time as Leases have it.
pub(crate) fn micro(time: Timestamp) -> String {
    format!("{time:.6}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_what_the_original_would_write() {
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
        assert_eq!(span(&record), Duration::from_secs(24 * 3600));
    }
}
