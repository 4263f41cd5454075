//! Records Events, which `kubectl describe` shows.
//!
//! Recording the same Event about the same object again raises its count. Recording never blocks and never fails: an Event
//! that cannot be written is counted, and each object has a rate limit.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::Method;
use jiff::Timestamp;
use podium_meta::Resource;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::Instant;

use podium_client::client::{Client, Error};

/// How many different Events wait to be written, and how many written ones can be raised.
const CAPACITY: usize = 512;
/// How long an Event waits, so that repetitions become one write and urgent requests go first.
const DELAY: Duration = Duration::from_secs(1);
/// How many objects have a rate limit at the same time.
const MAX_BUCKETS: usize = 1024;
/// The rate limit of an object: the burst, and the time until one more Event is allowed.
const BURST: u32 = 25;
const REFILL: Duration = Duration::from_secs(60);
/// API servers delete Events after an hour: an older one is not raised, a new one is created.
const TTL: Duration = Duration::from_secs(50 * 60);
/// The longest message that an API server accepts, in bytes.
const MAX_MESSAGE: usize = 1024;

/// The object that an Event is about (`involvedObject`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ObjectReference {
    /// The apiVersion.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The namespace, unless the object is cluster-scoped.
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
    /// The uid.
    pub uid: String,
}

impl ObjectReference {
    /// The reference to an object.
    pub fn from_object(object: &Value) -> Self {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).map(str::to_owned);
        Self {
            api_version: text("/apiVersion").unwrap_or_default(),
            kind: text("/kind").unwrap_or_default(),
            namespace: text("/metadata/namespace").filter(|namespace| !namespace.is_empty()),
            name: text("/metadata/name").unwrap_or_default(),
            uid: text("/metadata/uid").unwrap_or_default(),
        }
    }
}

/// The type of an Event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventType {
    /// Something happened as expected.
    Normal,
    /// Something needs the attention of a user.
    Warning,
}

/// What identifies an Event: recording an equal one raises its count.
#[derive(Clone, PartialEq, Eq, Hash)]
struct EventKey {
    about: ObjectReference,
    event_type: EventType,
    reason: String,
    message: String,
}

/// An Event that exists on the API server.
struct Written {
    namespace: String,
    name: String,
    count: u64,
    at: Instant,
}

/// How often an Event was recorded since it was last written.
struct Pending {
    times: u64,
    first: Timestamp,
    last: Timestamp,
}

#[derive(Default)]
struct State {
    order: VecDeque<EventKey>,
    pending: HashMap<EventKey, Pending>,
    buckets: HashMap<String, Bucket>,
    /// The Event that is being written.
    writing: Option<EventKey>,
    stats: RecorderStats,
}

struct Bucket {
    left: u32,
    at: Instant,
}

/// How many Events were written and lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecorderStats {
    /// Events written, created or raised.
    pub written: u64,
    /// Events dropped by a rate limit or because too many were waiting.
    pub dropped: u64,
    /// Events that the API server rejected.
    pub failed: u64,
}

/// Records Events about objects; clones share one queue.
#[derive(Clone)]
pub struct EventRecorder(Arc<Inner>);

struct Inner {
    component: String,
    instance: String,
    state: Mutex<State>,
    wake: Notify,
}

impl EventRecorder {
    /// A recorder of a component (the source of its Events) and of one instance of it.
    pub fn new(component: &str, instance: &str) -> Self {
        let (component, instance) = (component.to_owned(), instance.to_owned());
        Self(Arc::new(Inner { component, instance, state: Mutex::default(), wake: Notify::new() }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records an Event; it is written soon.
    pub fn record(&self, about: &ObjectReference, event_type: EventType, reason: &str, message: &str) {
        let mut message = message.to_owned();
        if message.len() > MAX_MESSAGE {
            message.truncate(message.floor_char_boundary(MAX_MESSAGE - 3));
            message.push_str("...");
        }
        let event_key = EventKey { about: about.clone(), event_type, reason: reason.to_owned(), message };
        self.state().record(event_key, Timestamp::now(), Instant::now());
        self.0.wake.notify_one();
    }

    /// Whether an Event about the object with this uid is not written yet.
    pub fn is_pending(&self, uid: &str) -> bool {
        let state = self.state();
        state.order.iter().chain(&state.writing).any(|event_key| event_key.about.uid == uid)
    }

    /// How many Events were written and lost.
    pub fn stats(&self) -> RecorderStats {
        self.state().stats
    }

    /// Writes the recorded Events; `failed` is called for each that cannot be written.
    pub async fn run(&self, client: &Client, mut failed: impl FnMut(&Error)) -> Infallible {
        let mut written = HashMap::new();
        loop {
            while let Some((event_key, pending)) = self.next() {
                let result = self.write(client, &mut written, &event_key, &pending).await;
                let mut state = self.state();
                state.writing = None;
                match &result {
                    Ok(()) => state.stats.written += 1,
                    Err(error) => {
                        state.stats.failed += 1;
                        drop(state);
                        failed(error);
                    }
                }
            }
            self.0.wake.notified().await;
            tokio::time::sleep(DELAY).await;
        }
    }

    fn next(&self) -> Option<(EventKey, Pending)> {
        let mut state = self.state();
        let event_key = state.order.pop_front()?;
        let pending = state.pending.remove(&event_key)?;
        state.writing = Some(event_key.clone());
        Some((event_key, pending))
    }

    async fn write(
        &self,
        client: &Client,
        written: &mut HashMap<EventKey, Written>,
        event_key: &EventKey,
        pending: &Pending,
    ) -> Result<(), Error> {
        let events = Resource::core("Event", "events", true);
        if let Some(known) = written.get_mut(event_key).filter(|known| known.at.elapsed() < TTL) {
            let count = known.count.saturating_add(pending.times);
            let patch = json!({"count": count, "lastTimestamp": second(pending.last)});
            let path = events.object(Some(&known.namespace), &known.name);
            let body = Some(("application/merge-patch+json", patch.to_string().into_bytes()));
            match client.request(Method::PATCH, &path, body).await {
                Ok(_) => {
                    // Every write restarts the time to live.
                    (known.count, known.at) = (count, Instant::now());
                    return Ok(());
                }
                // Expired or deleted: a new one is created.
                Err(Error::Api(status)) if status.is_not_found() => {}
                Err(error) => return Err(error),
            }
        }
        let event = self.event(event_key, pending);
        let namespace = event_key.about.namespace.as_deref().unwrap_or("default");
        let body = Some(("application/json", event.to_string().into_bytes()));
        client.request(Method::POST, &events.collection(Some(namespace)), body).await?;
        let name = event.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
        if written.len() >= CAPACITY {
            forget_oldest(written);
        }
        let (namespace, at) = (namespace.to_owned(), Instant::now());
        written.insert(event_key.clone(), Written { namespace, name, count: pending.times, at });
        Ok(())
    }

    fn event(&self, event_key: &EventKey, pending: &Pending) -> Value {
        let EventKey { about, event_type, reason, message } = event_key;
        let namespace = about.namespace.as_deref().unwrap_or("default");
        let mut involved = json!({"apiVersion": about.api_version, "kind": about.kind, "name": about.name, "uid": about.uid});
        if let Some(namespace) = &about.namespace {
            involved["namespace"] = namespace.as_str().into();
        }
        // Named as client-go names Events: the object, a dot, the time in hexadecimal.
        let short = about.name.get(..about.name.floor_char_boundary(200)).unwrap_or_default();
        let name = format!("{}.{:x}", short.trim_end_matches(['.', '-']), pending.first.as_nanosecond());
        json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": involved,
            "type": match event_type { EventType::Normal => "Normal", EventType::Warning => "Warning" },
            "reason": reason,
            "message": message,
            "count": pending.times,
            "firstTimestamp": second(pending.first),
            "lastTimestamp": second(pending.last),
            "source": {"component": self.0.component},
            "reportingComponent": self.0.component,
            "reportingInstance": self.0.instance,
        })
    }
}

impl State {
    fn record(&mut self, event_key: EventKey, time: Timestamp, now: Instant) {
        if !self.allowed(&event_key.about.uid, now) {
            self.stats.dropped += 1;
            return;
        }
        if let Some(pending) = self.pending.get_mut(&event_key) {
            pending.times += 1;
            pending.last = time;
        } else if self.order.len() >= CAPACITY {
            self.stats.dropped += 1;
        } else {
            self.order.push_back(event_key.clone());
            self.pending.insert(event_key, Pending { times: 1, first: time, last: time });
        }
    }

    /// Whether the rate limit of an object allows one more Event.
    fn allowed(&mut self, uid: &str, now: Instant) -> bool {
        if !self.buckets.contains_key(uid) && self.buckets.len() >= MAX_BUCKETS {
            // Full buckets need not be kept. If all are in use, many objects record a little each.
            self.buckets.retain(|_, bucket| {
                bucket.fill(now);
                bucket.left < BURST
            });
            if self.buckets.len() >= MAX_BUCKETS {
                return true;
            }
        }
        let bucket = self.buckets.entry(uid.to_owned()).or_insert(Bucket { left: BURST, at: now });
        bucket.fill(now);
        let allowed = bucket.left > 0;
        bucket.left = bucket.left.saturating_sub(1);
        allowed
    }
}

impl Bucket {
    fn fill(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.at).as_secs() / REFILL.as_secs();
        let more = u32::try_from(passed).unwrap_or(u32::MAX);
        self.left = self.left.saturating_add(more).min(BURST);
        self.at += REFILL.saturating_mul(more);
    }
}

fn forget_oldest(written: &mut HashMap<EventKey, Written>) {
    written.retain(|_, known| known.at.elapsed() < TTL);
    let mut times: Vec<Instant> = written.values().map(|known| known.at).collect();
    if times.len() >= CAPACITY {
        // Removes half of them at once, which needs no ordered structure.
        let (_, middle, _) = times.select_nth_unstable(CAPACITY / 2);
        let middle = *middle;
        written.retain(|_, known| known.at > middle);
    }
}

/// A timestamp in the format of Events.
fn second(time: Timestamp) -> String {
    format!("{time:.0}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event_key(uid: &str, message: &str) -> EventKey {
        let about = ObjectReference {
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            namespace: Some("n".to_owned()),
            name: "a".to_owned(),
            uid: uid.to_owned(),
        };
        EventKey {
            about,
            event_type: EventType::Normal,
            reason: "Tested".to_owned(),
            message: message.to_owned(),
        }
    }

    #[test]
    fn repetitions_become_one_event() {
        let mut state = State::default();
        let (time, now) = (Timestamp::UNIX_EPOCH, Instant::now());
        for message in ["x", "y", "x", "x"] {
            state.record(event_key("u", message), time, now);
        }
        let times = |message| state.pending.get(&event_key("u", message)).map(|pending| pending.times);
        assert_eq!((state.order.len(), times("x"), times("y")), (2, Some(3), Some(1)));
    }

    #[test]
    fn limits_the_rate_per_object() {
        let mut state = State::default();
        let now = Instant::now();
        let count_allowed =
            |state: &mut State, now, uid| (0..100).filter(|_| state.allowed(uid, now)).count();
        assert_eq!(count_allowed(&mut state, now, "a"), 25);
        assert_eq!(count_allowed(&mut state, now + REFILL * 3, "a"), 3);
        assert_eq!(count_allowed(&mut state, now, "b"), 25);
        assert_eq!(count_allowed(&mut state, now + Duration::from_secs(1 << 30), "a"), 25);
    }

    #[test]
    fn memory_is_bounded() {
        let mut state = State::default();
        let (time, now) = (Timestamp::UNIX_EPOCH, Instant::now());
        for number in 0..5000 {
            state.record(event_key(&number.to_string(), "x"), time, now);
        }
        assert_eq!((state.order.len(), state.pending.len()), (CAPACITY, CAPACITY));
        assert!(state.buckets.len() <= MAX_BUCKETS);
        assert_eq!(state.stats.dropped, 5000 - CAPACITY as u64);
        let mut written = HashMap::new();
        for number in 0..5000_u32 {
            if written.len() >= CAPACITY {
                forget_oldest(&mut written);
            }
            let (namespace, name) = (String::new(), String::new());
            let at = now + Duration::from_nanos(number.into());
            written.insert(event_key(&number.to_string(), "x"), Written { namespace, name, count: 1, at });
        }
        assert!(written.len() <= CAPACITY);
    }

    #[test]
    fn event_has_the_fields_of_kubectl_describe() {
        let recorder = EventRecorder::new("demo-controller", "pod-1");
        let time: Timestamp = "2026-01-02T03:04:05.6789Z".parse().unwrap();
        let event = recorder.event(&event_key("u", "m"), &Pending { times: 2, first: time, last: time });
        assert_eq!(event["involvedObject"]["uid"], "u");
        assert_eq!((&event["metadata"]["namespace"], &event["count"]), (&json!("n"), &json!(2)));
        assert_eq!(event["lastTimestamp"], "2026-01-02T03:04:05Z");
        assert!(event["metadata"]["name"].as_str().unwrap().starts_with("a."));
    }
}
