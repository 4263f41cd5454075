//! All objects of a kind, and everything that becomes of them.
//!
//! ```text
//!         ┌──────────── 410: the version is forgotten ───────────┐
//!         ▼                                                      │
//!  list, page by page ──▶ watch from the list's version ──▶ connection closed
//!  Begin, Applied…, End    Applied, Deleted                      │
//!                              ▲────── from the last version ────┘
//! ```
//!
//! The consumer is a function that is called in the task of the watch: while it works, nothing is read, and nothing
//! is kept for it. An object is parsed, given away and forgotten.

mod json;
mod lines;

use std::convert::Infallible;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use http_body_util::BodyExt;
use podium_meta::kind::escape;
use podium_meta::{Resource, Status};
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout};

use crate::client::{Client, Error, Representation};
use crate::object_key::ObjectKey;

/// How many objects the first page of a list has, and how many the others may have.
const PAGE_LIMITS: (usize, usize) = (100, 500);
/// About how many bytes a page should have: objects may be a kilobyte or a megabyte each.
const TARGET_PAGE_BYTES: usize = 1 << 20;
/// The longest line of a stream: several times the largest object that a server stores.
const MAX_EVENT_BYTES: usize = if cfg!(test) { 64 << 10 } else { 16 << 20 };
/// How long a server may say nothing: bookmarks come every minute.
const IDLE_TIMEOUT: Duration = Duration::from_secs(if cfg!(test) { 2 } else { 180 });
/// How long one stream lasts, in seconds; half of it is left to chance, so that streams do not end together.
const MAX_WATCH_SECONDS: u64 = 1800;
/// A stream that lasted so long was good, whatever ended it.
const STABLE_AFTER: Duration = Duration::from_secs(5);
/// The first and the longest pause between tries.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

/// What is watched.
#[derive(Clone, Debug)]
pub struct ListWatch {
    /// The kind.
    pub resource: Resource,
    /// One namespace, or all.
    pub namespace: Option<String>,
    /// A label selector, or nothing.
    pub label_selector: String,
    /// A field selector, or nothing.
    pub field_selector: String,
    /// Whole objects, or what is known of them without their body.
    pub representation: Representation,
}

/// What a consumer is told. Every object carries its apiVersion and kind.
#[derive(Clone, Debug, PartialEq)]
pub enum WatchEvent {
    /// A list begins: what is not named until its end is gone.
    ListStarted,
    /// An object is there, new or changed.
    Applied(Value),
    /// An object is gone, or no longer chosen by a selector.
    Deleted(Value),
    /// An object is there, but cannot be held because it is nested too deeply.
    TooDeep(ObjectKey),
    /// The list is complete.
    ListDone,
    /// Nothing is stats of the cluster; said once, until the kind of trouble changes.
    Failing(WatchFailure),
    /// The trouble is over.
    Recovered,
}

/// Why nothing is stats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchFailure {
    /// What kind of trouble it is.
    pub kind: WatchFailureKind,
    /// The sentence for people.
    pub message: String,
}

/// The kinds of trouble that somebody would act on differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchFailureKind {
    /// We may not list or watch this.
    Forbidden,
    /// The cluster does not know the kind.
    NotFound,
    /// Nobody answers.
    Unreachable,
    /// The server refuses for another reason.
    Rejected,
    /// The server says something that cannot be read.
    Malformed,
}

/// Why a list or a stream ended before its time.
enum StreamError {
    /// The version is too old.
    Expired,
    /// Nothing was said at all, not even a bookmark.
    Idle,
    /// The connection broke, or the server refuses.
    Request(Error),
    /// The stream is no stream of events.
    Malformed(String),
}

impl From<Error> for StreamError {
    fn from(error: Error) -> Self {
        match error {
            Error::Api(Status { code: 410, .. }) => StreamError::Expired,
            other => StreamError::Request(other),
        }
    }
}

impl ListWatch {
    /// All objects of a kind, in some form.
    pub fn new(resource: Resource, representation: Representation) -> Self {
        Self {
            resource,
            namespace: None,
            label_selector: String::new(),
            field_selector: String::new(),
            representation,
        }
    }

    /// Tells a function everything, for ever; dropping the future ends it.
    pub async fn run(&self, client: &Client, handler: impl FnMut(WatchEvent)) -> Infallible {
        let mut reflector =
            Reflector { watch: self, client, handler, resource_version: None, paged: true, failing: None };
        let (mut failures, mut idle_streams, mut malformed_streams) = (0_u32, 0, 0);
        loop {
            let mut stats = StreamStats::default();
            let result = reflector.list_and_watch(&mut stats).await;
            if stats.received {
                idle_streams = 0;
            }
            if stats.received || stats.opened.is_some_and(|opened| opened.elapsed() >= STABLE_AFTER) {
                (failures, malformed_streams) = (0, 0);
            }
            let Err(error) = result else {
                // A server that closes at once, time and again, is not asked without a pause.
                failures = if stats.received { 0 } else { failures.saturating_add(1) };
                if failures > 1 {
                    sleep(backoff(failures)).await;
                }
                continue;
            };
            match &error {
                StreamError::Expired => reflector.resource_version = None,
                StreamError::Idle => {
                    idle_streams += 1;
                    // A version that lies in the future (a cluster restored from a backup) is answered by silence.
                    if idle_streams > 1 {
                        (reflector.resource_version, idle_streams) = (None, 0);
                    }
                    continue;
                }
                StreamError::Malformed(_) => {
                    malformed_streams += 1;
                    // What cannot be read now cannot be read again from the same version either.
                    if malformed_streams > 1 {
                        reflector.resource_version = None;
                    }
                }
                StreamError::Request(_) => {}
            }
            failures = failures.saturating_add(1);
            reflector.report_failure(error);
            // The first try again is at once where that may help: a version too old, a connection truncated off.
            if failures > 1 || reflector.failing.is_some() {
                sleep(backoff(failures)).await;
            }
        }
    }

    fn query(&self) -> String {
        let mut query = String::new();
        for (name, value) in
            [("labelSelector", &self.label_selector), ("fieldSelector", &self.field_selector)]
        {
            if !value.is_empty() {
                query.push_str(&format!("&{name}={}", escape(value)));
            }
        }
        query
    }
}

/// What one stream gave.
#[derive(Default)]
struct StreamStats {
    /// When it was opened.
    opened: Option<Instant>,
    /// Whether there was an event, or a bookmark.
    received: bool,
}

struct Reflector<'w, F> {
    watch: &'w ListWatch,
    client: &'w Client,
    handler: F,
    resource_version: Option<String>,
    /// Whether lists come in pages.
    paged: bool,
    failing: Option<WatchFailureKind>,
}

impl<F: FnMut(WatchEvent)> Reflector<'_, F> {
    /// A list if there is no version, and one stream.
    async fn list_and_watch(&mut self, stats: &mut StreamStats) -> Result<(), StreamError> {
        let resource_version = match self.resource_version.take() {
            Some(resource_version) => resource_version,
            None => self.list().await?,
        };
        self.watch(resource_version, stats).await
    }

    async fn list(&mut self) -> Result<String, StreamError> {
        let ListWatch { resource, namespace, representation, .. } = self.watch;
        let collection = resource.collection(namespace.as_deref());
        let query = self.watch.query();
        let mut limit = if self.paged { PAGE_LIMITS.0 } else { 0 };
        let accept = representation.accept(true);
        let mut next_page = String::new();
        loop {
            let path = format!("{collection}?limit={limit}{query}{next_page}");
            let bytes = match self.client.get_bytes(&path, &accept).await {
                Ok(bytes) => bytes,
                Err(error) => {
                    let error = StreamError::from(error);
                    // The pages outlived the server's memory: all at once is the only way to an end.
                    self.paged = !matches!(error, StreamError::Expired);
                    return Err(error);
                }
            };
            if next_page.is_empty() {
                (self.handler)(WatchEvent::ListStarted);
            }
            let handler = &mut self.handler;
            let list_meta =
                json::parse_list(bytes.as_ref(), &mut |item| handler(applied_event(item, resource)));
            let list_meta = list_meta.map_err(|e| StreamError::Malformed(format!("{path}: {e}")))?;
            if !list_meta.continue_token.is_empty() {
                limit = next_page_limit(limit, bytes.as_ref().len());
                next_page = format!("&continue={}", escape(&list_meta.continue_token));
                continue;
            }
            if list_meta.resource_version.is_empty() {
                return Err(StreamError::Malformed(format!("{path}: the list has no resourceVersion")));
            }
            self.paged = true;
            (self.handler)(WatchEvent::ListDone);
            return Ok(list_meta.resource_version);
        }
    }

    /// One stream, to its end.
    async fn watch(&mut self, resource_version: String, stats: &mut StreamStats) -> Result<(), StreamError> {
        let ListWatch { resource, namespace, representation, .. } = self.watch;
        let collection = resource.collection(namespace.as_deref());
        let query = self.watch.query();
        let timeout_seconds = MAX_WATCH_SECONDS / 2 + random() % (MAX_WATCH_SECONDS / 2);
        let path = format!(
            "{collection}?watch=true&allowWatchBookmarks=true&timeoutSeconds={timeout_seconds}&resourceVersion={}{query}",
            escape(&resource_version)
        );
        // From here on a failure means to go on from this version.
        self.resource_version = Some(resource_version);
        let mut body = self.client.open_stream(&path, &representation.accept(false)).await?;
        stats.opened = Some(Instant::now());
        // A stream that could not be read was open too.
        if self.failing != Some(WatchFailureKind::Malformed) {
            self.report_recovery();
        }
        let mut lines = lines::LineSplitter::new(MAX_EVENT_BYTES);
        loop {
            let idle_timeout =
                if self.failing.is_some() { STABLE_AFTER.min(IDLE_TIMEOUT) } else { IDLE_TIMEOUT };
            let frame = match timeout(idle_timeout, body.frame()).await {
                Err(_) if self.report_recovery() => continue,
                Err(_) if stats.received => return Ok(()),
                Err(_) => return Err(StreamError::Idle),
                // A connection that breaks is as good as one that is closed: the next try says whether anybody is there.
                Ok(None | Some(Err(_))) => return Ok(()),
                Ok(Some(Ok(frame))) => frame,
            };
            let Ok(chunk) = frame.into_data() else { continue };
            let within_limit = lines.push(&chunk, |line| {
                self.handle_event(line)?;
                self.report_recovery();
                stats.received = true;
                Ok::<(), StreamError>(())
            })?;
            if !within_limit {
                return Err(StreamError::Malformed(format!(
                    "{collection}: an event is longer than {MAX_EVENT_BYTES} bytes"
                )));
            }
        }
    }

    /// One event.
    fn handle_event(&mut self, line: &[u8]) -> Result<(), StreamError> {
        let ListWatch { resource, namespace, .. } = self.watch;
        let malformed = |reason: &str| {
            StreamError::Malformed(format!("{}: {reason}", resource.collection(namespace.as_deref())))
        };
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        let json::Parsed { mut value, truncated } =
            json::parse(line).map_err(|e| malformed(&e.to_string()))?;
        let object = value.get_mut("object").map(Value::take).unwrap_or_default();
        let resource_version =
            object.pointer("/metadata/resourceVersion").and_then(Value::as_str).map(str::to_owned);
        let event = match value.get("type").and_then(Value::as_str).unwrap_or_default() {
            "ADDED" | "MODIFIED" => Some(applied_event(json::Parsed { value: object, truncated }, resource)),
            // It is gone, however deep it was.
            "DELETED" => Some(WatchEvent::Deleted(with_type_meta(object, resource))),
            "BOOKMARK" => None,
            "ERROR" => return Err(status_error(&object)),
            other => return Err(malformed(&format!("an event of type {other:?}"))),
        };
        if let Some(event) = event {
            (self.handler)(event);
        }
        // After the consumer has it: whoever resumes from here must not miss it.
        if let Some(resource_version) = resource_version.filter(|version| !version.is_empty()) {
            self.resource_version = Some(resource_version);
        }
        Ok(())
    }

    /// Says that the trouble is over, if there was any.
    fn report_recovery(&mut self) -> bool {
        let was_failing = self.failing.take().is_some();
        if was_failing {
            (self.handler)(WatchEvent::Recovered);
        }
        was_failing
    }

    /// Says what is wrong, unless it was said already.
    fn report_failure(&mut self, error: StreamError) {
        let (kind, message) = match error {
            StreamError::Expired | StreamError::Idle => return,
            StreamError::Malformed(reason) => (WatchFailureKind::Malformed, reason),
            StreamError::Request(error) => (failure_kind(&error), error.to_string()),
        };
        if self.failing != Some(kind) {
            self.failing = Some(kind);
            (self.handler)(WatchEvent::Failing(WatchFailure { kind, message }));
        }
    }
}

/// How many objects the next page may have, after one of so many had so many bytes.
fn next_page_limit(limit: usize, bytes: usize) -> usize {
    (limit.saturating_mul(TARGET_PAGE_BYTES) / bytes.max(1)).clamp(10, PAGE_LIMITS.1)
}

fn failure_kind(error: &Error) -> WatchFailureKind {
    match error {
        Error::Api(Status { code: 401 | 403, .. }) => WatchFailureKind::Forbidden,
        Error::Api(Status { code: 404, .. }) => WatchFailureKind::NotFound,
        Error::Api(_) => WatchFailureKind::Rejected,
        Error::InvalidResponse { .. } => WatchFailureKind::Malformed,
        Error::Unreachable { .. } | Error::Config(_) => WatchFailureKind::Unreachable,
    }
}

fn applied_event(item: json::Parsed, resource: &Resource) -> WatchEvent {
    if item.truncated {
        WatchEvent::TooDeep(ObjectKey::from_object(&item.value))
    } else {
        WatchEvent::Applied(with_type_meta(item.value, resource))
    }
}

/// The object with its kind: the items of a list lack it, and objects without a body have another.
fn with_type_meta(mut object: Value, resource: &Resource) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.insert("apiVersion".to_owned(), resource.kind.api_version().into());
        fields.insert("kind".to_owned(), resource.kind.kind.as_str().into());
    }
    object
}

/// What an ERROR event says.
fn status_error(object: &Value) -> StreamError {
    let code = object.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    Error::Api(Status::read(code.unwrap_or_default(), object.to_string().as_bytes())).into()
}

/// How long to wait after so many failures: longer each time, half of it left to chance.
fn backoff(failures: u32) -> Duration {
    let (first, longest) = BACKOFF;
    let delay = first.saturating_mul(1 << failures.saturating_sub(1).min(10)).min(longest);
    let millis = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX) / 2;
    Duration::from_millis(millis + random() % millis.max(1))
}

/// A number that other processes do not have too; not a secret.
fn random() -> u64 {
    RandomState::new().hash_one(())
}

#[cfg(test)]
mod tests;
