//! What `kubectl describe` shows at the end: Events about objects.
//!
//! EventKey the same of the same object again raises the count of one Event. Who says it never waits and never fails:
//! what cannot be written is counted, and an object that is spoken of too often is spoken of less.

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

/// How many different Events wait to be written, and how many written ones are remembered.
const MOST: usize = 512;
/// How long an Event waits: what is said again meanwhile is the same write, and whatever is urgent goes first.
const SOON: Duration = Duration::from_secs(1);
/// How many objects have their rate remembered.
const OBJECTS: usize = 1024;
/// How many Events about one object may come at once, and after how long there is one more.
const BURST: u32 = 25;
const REFILL: Duration = Duration::from_secs(60);
/// A server forgets Events after an hour: older ones are not raised but written anew.
const FORGET: Duration = Duration::from_secs(50 * 60);
/// The longest message that a server takes, in bytes.
const LONGEST: usize = 1024;

/// What an Event is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ObjectReference {
    /// apiVersion.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// The namespace, unless the object has none.
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
    /// The uid.
    pub uid: String,
}

impl ObjectReference {
    /// The object itself.
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

/// How serious it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventType {
    /// As expected.
    Normal,
    /// Somebody should look.
    Warning,
}

/// What is said; the same again is the same Event.
#[derive(Clone, PartialEq, Eq, Hash)]
struct EventKey {
    about: ObjectReference,
    mood: EventType,
    reason: String,
    message: String,
}

/// An Event that was written.
struct Written {
    namespace: String,
    name: String,
    count: u64,
    at: Instant,
}

/// How often something was said and not yet written.
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
    /// What is being written now.
    writing: Option<EventKey>,
    stats: RecorderStats,
}

struct Bucket {
    left: u32,
    at: Instant,
}

/// What became of what was said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecorderStats {
    /// Events written, new or raised.
    pub written: u64,
    /// Not said because the object was spoken of too often, or too much was waiting.
    pub dropped: u64,
    /// Not written because the server would not have it.
    pub failed: u64,
}

/// Says things about objects; copies are the same.
#[derive(Clone)]
pub struct EventRecorder(Arc<Inner>);

struct Inner {
    component: String,
    instance: String,
    state: Mutex<State>,
    wake: Notify,
}

impl EventRecorder {
    /// In the name of a component (what describes the Event's source) and of one of its processes.
    pub fn new(component: &str, instance: &str) -> Self {
        let (component, instance) = (component.to_owned(), instance.to_owned());
        Self(Arc::new(Inner { component, instance, state: Mutex::default(), wake: Notify::new() }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says something; it is written soon.
    pub fn record(&self, about: &ObjectReference, mood: EventType, reason: &str, message: &str) {
        let mut message = message.to_owned();
        if message.len() > LONGEST {
            message.truncate(message.floor_char_boundary(LONGEST - 3));
            message.push_str("...");
        }
        let saying = EventKey { about: about.clone(), mood, reason: reason.to_owned(), message };
        self.state().say(saying, Timestamp::now(), Instant::now());
        self.0.wake.notify_one();
    }

    /// Whether something that was said of an object, by its uid, is not written yet.
    pub fn is_waiting(&self, uid: &str) -> bool {
        let state = self.state();
        state.order.iter().chain(&state.writing).any(|saying| saying.about.uid == uid)
    }

    /// What became of what was said.
    pub fn stats(&self) -> RecorderStats {
        self.state().stats
    }

    /// Writes what is said, for ever; what the server refuses is told.
    pub async fn run(&self, client: &Client, mut failed: impl FnMut(&Error)) -> Infallible {
        let mut written = HashMap::new();
        loop {
            while let Some((saying, pending)) = self.next() {
                let result = self.write(client, &mut written, &saying, &pending).await;
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
            tokio::time::sleep(SOON).await;
        }
    }

    fn next(&self) -> Option<(EventKey, Pending)> {
        let mut state = self.state();
        let saying = state.order.pop_front()?;
        let pending = state.pending.remove(&saying)?;
        state.writing = Some(saying.clone());
        Some((saying, pending))
    }

    async fn write(
        &self,
        client: &Client,
        written: &mut HashMap<EventKey, Written>,
        saying: &EventKey,
        pending: &Pending,
    ) -> Result<(), Error> {
        let events = Resource::core("Event", "events", true);
        if let Some(known) = written.get_mut(saying).filter(|known| known.at.elapsed() < FORGET) {
            let count = known.count.saturating_add(pending.times);
            let patch = json!({"count": count, "lastTimestamp": second(pending.last)});
            let path = events.object(Some(&known.namespace), &known.name);
            let body = Some(("application/merge-patch+json", patch.to_string().into_bytes()));
            match client.request(Method::PATCH, &path, body).await {
                Ok(_) => {
                    // Every write begins the server's hour anew.
                    (known.count, known.at) = (count, Instant::now());
                    return Ok(());
                }
                // Forgotten by the server, or deleted by somebody: a new one.
                Err(Error::Api(status)) if status.is_not_found() => {}
                Err(error) => return Err(error),
            }
        }
        let event = self.event(saying, pending);
        let namespace = saying.about.namespace.as_deref().unwrap_or("default");
        let body = Some(("application/json", event.to_string().into_bytes()));
        client.request(Method::POST, &events.collection(Some(namespace)), body).await?;
        let name = event.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
        if written.len() >= MOST {
            forget_oldest(written);
        }
        let (namespace, at) = (namespace.to_owned(), Instant::now());
        written.insert(saying.clone(), Written { namespace, name, count: pending.times, at });
        Ok(())
    }

    fn event(&self, saying: &EventKey, pending: &Pending) -> Value {
        let EventKey { about, mood, reason, message } = saying;
        let namespace = about.namespace.as_deref().unwrap_or("default");
        let mut involved = json!({"apiVersion": about.api_version, "kind": about.kind, "name": about.name, "uid": about.uid});
        if let Some(namespace) = &about.namespace {
            involved["namespace"] = namespace.as_str().into();
        }
        // As the originals name them: the object, a dot, the time as a number.
        let short = about.name.get(..about.name.floor_char_boundary(200)).unwrap_or_default();
        let name = format!("{}.{:x}", short.trim_end_matches(['.', '-']), pending.first.as_nanosecond());
        json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": involved,
            "type": match mood { EventType::Normal => "Normal", EventType::Warning => "Warning" },
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
    fn say(&mut self, saying: EventKey, time: Timestamp, now: Instant) {
        if !self.allowed(&saying.about.uid, now) {
            self.stats.dropped += 1;
            return;
        }
        if let Some(pending) = self.pending.get_mut(&saying) {
            pending.times += 1;
            pending.last = time;
        } else if self.order.len() >= MOST {
            self.stats.dropped += 1;
        } else {
            self.order.push_back(saying.clone());
            self.pending.insert(saying, Pending { times: 1, first: time, last: time });
        }
    }

    /// Whether one more Event about an object is bearable.
    fn allowed(&mut self, uid: &str, now: Instant) -> bool {
        if !self.buckets.contains_key(uid) && self.buckets.len() >= OBJECTS {
            // Full buckets say nothing; if all are in use, the objects are many and speak little each.
            self.buckets.retain(|_, bucket| {
                bucket.fill(now);
                bucket.left < BURST
            });
            if self.buckets.len() >= OBJECTS {
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
    written.retain(|_, known| known.at.elapsed() < FORGET);
    let mut times: Vec<Instant> = written.values().map(|known| known.at).collect();
    if times.len() >= MOST {
        // Half at once: this is not worth an order of its own.
        let (_, middle, _) = times.select_nth_unstable(MOST / 2);
        let middle = *middle;
        written.retain(|_, known| known.at > middle);
    }
}

/// A time as Events have it.
fn second(time: Timestamp) -> String {
    format!("{time:.0}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saying(uid: &str, message: &str) -> EventKey {
        let about = ObjectReference {
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            namespace: Some("n".to_owned()),
            name: "a".to_owned(),
            uid: uid.to_owned(),
        };
        EventKey { about, mood: EventType::Normal, reason: "Tested".to_owned(), message: message.to_owned() }
    }

    #[test]
    fn the_same_again_waits_as_one() {
        let mut state = State::default();
        let (time, now) = (Timestamp::UNIX_EPOCH, Instant::now());
        for message in ["x", "y", "x", "x"] {
            state.say(saying("u", message), time, now);
        }
        let times = |message| state.pending.get(&saying("u", message)).map(|pending| pending.times);
        assert_eq!((state.order.len(), times("x"), times("y")), (2, Some(3), Some(1)));
    }

    #[test]
    fn an_object_is_spoken_of_in_measure() {
        let mut state = State::default();
        let now = Instant::now();
        let said = |state: &mut State, now, uid| (0..100).filter(|_| state.allowed(uid, now)).count();
        assert_eq!(said(&mut state, now, "a"), 25);
        assert_eq!(said(&mut state, now + REFILL * 3, "a"), 3);
        assert_eq!(said(&mut state, now, "b"), 25);
        assert_eq!(said(&mut state, now + Duration::from_secs(1 << 30), "a"), 25);
    }

    #[test]
    fn memory_is_bounded_whatever_is_said() {
        let mut state = State::default();
        let (time, now) = (Timestamp::UNIX_EPOCH, Instant::now());
        for number in 0..5000 {
            state.say(saying(&number.to_string(), "x"), time, now);
        }
        assert_eq!((state.order.len(), state.pending.len()), (MOST, MOST));
        assert!(state.buckets.len() <= OBJECTS);
        assert_eq!(state.stats.dropped, 5000 - MOST as u64);
        let mut written = HashMap::new();
        for number in 0..5000_u32 {
            if written.len() >= MOST {
                forget_oldest(&mut written);
            }
            let (namespace, name) = (String::new(), String::new());
            let at = now + Duration::from_nanos(number.into());
            written.insert(saying(&number.to_string(), "x"), Written { namespace, name, count: 1, at });
        }
        assert!(written.len() <= MOST);
    }

    #[test]
    fn an_event_is_what_describe_looks_for() {
        let recorder = EventRecorder::new("demo-controller", "pod-1");
        let time: Timestamp = "2026-01-02T03:04:05.6789Z".parse().unwrap();
        let event = recorder.event(&saying("u", "m"), &Pending { times: 2, first: time, last: time });
        assert_eq!(event["involvedObject"]["uid"], "u");
        assert_eq!((&event["metadata"]["namespace"], &event["count"]), (&json!("n"), &json!(2)));
        assert_eq!(event["lastTimestamp"], "2026-01-02T03:04:05Z");
        assert!(event["metadata"]["name"].as_str().unwrap().starts_with("a."));
    }
}
