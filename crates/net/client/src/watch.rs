//! List and watch of a resource, with resume, relist and backoff.
//!
//! ```text
//!     ┌──────────────────── 410 Gone: expired ─────────────────────┐
//!     ▼                                                            │
//!  list, page by page ────▶ watch from the list's version ──▶ stream closed
//!  ListStarted, Applied…,   Applied, Deleted                       │
//!  ListDone                    ▲───── from the last version ───────┘
//! ```
//!
//! The event handler runs on the task of the watch. While it runs, the stream is not read and nothing is buffered for
//! it. Objects are parsed, handed over and dropped.

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

/// Page size of a list: that of the first page, and the largest one.
const PAGE_LIMITS: (usize, usize) = (100, 500);
/// Page weight to aim for: objects range from a kilobyte to a megabyte.
const TARGET_PAGE_BYTES: usize = 1 << 20;
/// Limit for one watch event: several times the largest object that the API server stores.
const MAX_EVENT_BYTES: usize = if cfg!(test) { 64 << 10 } else { 16 << 20 };
/// Limit for a stream without events: bookmarks arrive every minute.
const IDLE_TIMEOUT: Duration = Duration::from_secs(if cfg!(test) { 2 } else { 180 });
/// Longest `timeoutSeconds` of a stream; half of it is jitter, so that streams do not end together.
const MAX_WATCH_SECONDS: u64 = 1800;
/// Age from which a stream counts as successful, however it ended.
const STABLE_AFTER: Duration = Duration::from_secs(5);
/// First and longest delay between retries.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

/// Selection of objects to list and watch.
#[derive(Clone, Debug)]
pub struct ListWatch {
    /// Resource to watch.
    pub resource: Resource,
    /// Namespace; all namespaces if unset.
    pub namespace: Option<String>,
    /// Label selector; empty selects everything.
    pub label_selector: String,
    /// Field selector; empty selects everything.
    pub field_selector: String,
    /// Whole objects or only their metadata.
    pub representation: Representation,
}

/// Event for the handler. Every object has its apiVersion and kind set.
#[derive(Clone, Debug, PartialEq)]
pub enum WatchEvent {
    /// A list starts: objects that it does not contain no longer exist.
    ListStarted,
    /// An object was listed, added or modified.
    Applied(Value),
    /// An object was deleted or no longer matches the selectors.
    Deleted(Value),
    /// An object exists but is nested too deeply to be parsed.
    TooDeep(ObjectKey),
    /// The list is complete.
    ListDone,
    /// The watch fails; reported once until the failure kind changes.
    Failing(WatchFailure),
    /// The watch works again.
    Recovered,
}

/// Failure of a watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchFailure {
    /// Kind of the failure.
    pub kind: WatchFailureKind,
    /// Message for users.
    pub message: String,
}

/// Failures that callers handle differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchFailureKind {
    /// Unauthenticated, or not authorized to list or watch the resource.
    Forbidden,
    /// The cluster does not serve the resource.
    NotFound,
    /// The API server cannot be reached.
    Unreachable,
    /// The API server rejects the request for another reason.
    Rejected,
    /// The response cannot be decoded.
    Malformed,
}

/// Premature end of a list or stream.
enum StreamError {
    /// 410 Gone: the resource version has been compacted.
    Expired,
    /// No event arrived, not even a bookmark.
    Idle,
    /// The request failed.
    Request(Error),
    /// The stream does not consist of watch events.
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
    /// Selects all objects of a resource.
    pub fn new(resource: Resource, representation: Representation) -> Self {
        Self {
            resource,
            namespace: None,
            label_selector: String::new(),
            field_selector: String::new(),
            representation,
        }
    }

    /// Lists and watches for ever and passes every event to the handler; drop the future to stop.
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
                // Backs off when the server keeps closing streams at once.
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
                    // A resource version in the future (a cluster restored from a backup) yields no events.
                    if idle_streams > 1 {
                        (reflector.resource_version, idle_streams) = (None, 0);
                    }
                    continue;
                }
                StreamError::Malformed(_) => {
                    malformed_streams += 1;
                    // Watching again from the same resource version would fail the same way.
                    if malformed_streams > 1 {
                        reflector.resource_version = None;
                    }
                }
                StreamError::Request(_) => {}
            }
            failures = failures.saturating_add(1);
            reflector.report_failure(error);
            // The first retry is immediate: an expired version or a broken connection needs no delay.
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

/// Progress of one stream.
#[derive(Default)]
struct StreamStats {
    /// Time of the response header.
    opened: Option<Instant>,
    /// Whether an event or bookmark arrived.
    received: bool,
}

/// State of a list-and-watch loop.
struct Reflector<'w, F> {
    watch: &'w ListWatch,
    client: &'w Client,
    handler: F,
    /// Version to resume from; lists again if unset.
    resource_version: Option<String>,
    /// Whether lists are paged.
    paged: bool,
    /// Failure that the handler knows of.
    failing: Option<WatchFailureKind>,
}

impl<F: FnMut(WatchEvent)> Reflector<'_, F> {
    /// Lists if there is no version to resume from, then watches until the stream ends.
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
                    // The continue token expired: lists everything in one page next time.
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

    /// Watches until the stream ends.
    async fn watch(&mut self, resource_version: String, stats: &mut StreamStats) -> Result<(), StreamError> {
        let ListWatch { resource, namespace, representation, .. } = self.watch;
        let collection = resource.collection(namespace.as_deref());
        let query = self.watch.query();
        let timeout_seconds = MAX_WATCH_SECONDS / 2 + random() % (MAX_WATCH_SECONDS / 2);
        let path = format!(
            "{collection}?watch=true&allowWatchBookmarks=true&timeoutSeconds={timeout_seconds}&resourceVersion={}{query}",
            escape(&resource_version)
        );
        // From here on, a failure resumes from this version.
        self.resource_version = Some(resource_version);
        let mut body = self.client.open_stream(&path, &representation.accept(false)).await?;
        stats.opened = Some(Instant::now());
        // A malformed stream recovers with its first event, because it could be opened before, too.
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
                // A broken connection is handled like a closed one: the next attempt reports an unreachable server.
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

    /// Parses a line, passes its event to the handler and advances the resource version.
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
            // A deletion needs no more than the metadata, so a truncated object is fine.
            "DELETED" => Some(WatchEvent::Deleted(with_type_meta(object, resource))),
            "BOOKMARK" => None,
            "ERROR" => return Err(status_error(&object)),
            other => return Err(malformed(&format!("an event of type {other:?}"))),
        };
        if let Some(event) = event {
            (self.handler)(event);
        }
        // Only after the handler returned: a resume from this version must not skip the event.
        if let Some(resource_version) = resource_version.filter(|version| !version.is_empty()) {
            self.resource_version = Some(resource_version);
        }
        Ok(())
    }

    /// Reports recovery if the watch was failing; returns whether it was.
    fn report_recovery(&mut self) -> bool {
        let was_failing = self.failing.take().is_some();
        if was_failing {
            (self.handler)(WatchEvent::Recovered);
        }
        was_failing
    }

    /// Reports a failure unless the last one reported was of the same kind.
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

/// Page size for the next page, from the size and the bytes of the last one.
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

/// Sets apiVersion and kind: list items lack them, and metadata-only objects have those of `PartialObjectMetadata`.
fn with_type_meta(mut object: Value, resource: &Resource) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.insert("apiVersion".to_owned(), resource.kind.api_version().into());
        fields.insert("kind".to_owned(), resource.kind.kind.as_str().into());
    }
    object
}

/// Error of an ERROR event, which carries a Status.
fn status_error(object: &Value) -> StreamError {
    let code = object.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    Error::Api(Status::read(code.unwrap_or_default(), object.to_string().as_bytes())).into()
}

/// Delay after a number of consecutive failures: exponential, half of it jitter.
fn backoff(failures: u32) -> Duration {
    let (first, longest) = BACKOFF;
    let delay = first.saturating_mul(1 << failures.saturating_sub(1).min(10)).min(longest);
    let millis = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX) / 2;
    Duration::from_millis(millis + random() % millis.max(1))
}

/// Random number that differs between processes; not for cryptography.
fn random() -> u64 {
    RandomState::new().hash_one(())
}

#[cfg(test)]
mod tests;
