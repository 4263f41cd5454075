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
const PAGE: (usize, usize) = (100, 500);
/// About how many bytes a page should have: objects may be a kilobyte or a megabyte each.
const WEIGHT: usize = 1 << 20;
/// The longest line of a stream: several times the largest object that a server stores.
const LONGEST: usize = if cfg!(test) { 64 << 10 } else { 16 << 20 };
/// How long a server may say nothing: bookmarks come every minute.
const SILENCE: Duration = Duration::from_secs(if cfg!(test) { 2 } else { 180 });
/// How long one stream lasts, in seconds; half of it is left to chance, so that streams do not end together.
const LASTS: u64 = 1800;
/// A stream that lasted so long was good, whatever ended it.
const GOOD: Duration = Duration::from_secs(5);
/// The first and the longest pause between tries.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

/// What is watched.
#[derive(Clone, Debug)]
pub struct ListWatch {
    /// The kind.
    pub resource: Resource,
    /// One namespace, or all.
    pub namespace: Option<String>,
    /// A label selector, or nothing.
    pub labels: String,
    /// A field selector, or nothing.
    pub fields: String,
    /// Whole objects, or what is known of them without their body.
    pub form: Representation,
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
    /// Nothing is heard of the cluster; said once, until the kind of trouble changes.
    Failing(WatchFailure),
    /// The trouble is over.
    Recovered,
}

/// Why nothing is heard.
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
enum Failure {
    /// The version is too old.
    Gone,
    /// Nothing was said at all, not even a bookmark.
    Silent,
    /// The connection broke, or the server refuses.
    Request(Error),
    /// The stream is no stream of events.
    Unreadable(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Api(Status { code: 410, .. }) => Failure::Gone,
            other => Failure::Request(other),
        }
    }
}

impl ListWatch {
    /// All objects of a kind, in some form.
    pub fn new(resource: Resource, form: Representation) -> Self {
        Self { resource, namespace: None, labels: String::new(), fields: String::new(), form }
    }

    /// Tells a function everything, for ever; dropping the future ends it.
    pub async fn run(&self, client: &Client, tell: impl FnMut(WatchEvent)) -> Infallible {
        let mut run = Run { watch: self, client, tell, version: None, paged: true, trouble: None };
        let (mut failures, mut silences, mut unread) = (0_u32, 0, 0);
        loop {
            let mut heard = Heard::default();
            let result = run.turn(&mut heard).await;
            if heard.event {
                silences = 0;
            }
            if heard.event || heard.since.is_some_and(|since| since.elapsed() >= GOOD) {
                (failures, unread) = (0, 0);
            }
            let Err(failure) = result else {
                // A server that closes at once, time and again, is not asked without a pause.
                failures = if heard.event { 0 } else { failures.saturating_add(1) };
                if failures > 1 {
                    sleep(pause(failures)).await;
                }
                continue;
            };
            match &failure {
                Failure::Gone => run.version = None,
                Failure::Silent => {
                    silences += 1;
                    // A version that lies in the future (a cluster restored from a backup) is answered by silence.
                    if silences > 1 {
                        (run.version, silences) = (None, 0);
                    }
                    continue;
                }
                Failure::Unreadable(_) => {
                    unread += 1;
                    // What cannot be read now cannot be read again from the same version either.
                    if unread > 1 {
                        run.version = None;
                    }
                }
                Failure::Request(_) => {}
            }
            failures = failures.saturating_add(1);
            run.report(failure);
            // The first try again is at once where that may help: a version too old, a connection cut off.
            if failures > 1 || run.trouble.is_some() {
                sleep(pause(failures)).await;
            }
        }
    }

    fn query(&self) -> String {
        let mut query = String::new();
        for (name, value) in [("labelSelector", &self.labels), ("fieldSelector", &self.fields)] {
            if !value.is_empty() {
                query.push_str(&format!("&{name}={}", escape(value)));
            }
        }
        query
    }
}

/// What one stream gave.
#[derive(Default)]
struct Heard {
    /// When it was opened.
    since: Option<Instant>,
    /// Whether there was an event, or a bookmark.
    event: bool,
}

struct Run<'w, F> {
    watch: &'w ListWatch,
    client: &'w Client,
    tell: F,
    version: Option<String>,
    /// Whether lists come in pages.
    paged: bool,
    trouble: Option<WatchFailureKind>,
}

impl<F: FnMut(WatchEvent)> Run<'_, F> {
    /// A list if there is no version, and one stream.
    async fn turn(&mut self, heard: &mut Heard) -> Result<(), Failure> {
        let version = match self.version.take() {
            Some(version) => version,
            None => self.list().await?,
        };
        self.follow(version, heard).await
    }

    async fn list(&mut self) -> Result<String, Failure> {
        let ListWatch { resource, namespace, form, .. } = self.watch;
        let place = resource.collection(namespace.as_deref());
        let query = self.watch.query();
        let mut limit = if self.paged { PAGE.0 } else { 0 };
        let accept = form.accept(true);
        let mut next = String::new();
        loop {
            let path = format!("{place}?limit={limit}{query}{next}");
            let bytes = match self.client.raw(&path, &accept).await {
                Ok(bytes) => bytes,
                Err(error) => {
                    let failure = Failure::from(error);
                    // The pages outlived the server's memory: all at once is the only way to an end.
                    self.paged = !matches!(failure, Failure::Gone);
                    return Err(failure);
                }
            };
            if next.is_empty() {
                (self.tell)(WatchEvent::ListStarted);
            }
            let tell = &mut self.tell;
            let page = json::read_page(bytes.as_ref(), &mut |read| tell(applied(read, resource)));
            let page = page.map_err(|e| Failure::Unreadable(format!("{path}: {e}")))?;
            if !page.next.is_empty() {
                limit = heavier(limit, bytes.as_ref().len());
                next = format!("&continue={}", escape(&page.next));
                continue;
            }
            if page.version.is_empty() {
                return Err(Failure::Unreadable(format!("{path}: the list has no resourceVersion")));
            }
            self.paged = true;
            (self.tell)(WatchEvent::ListDone);
            return Ok(page.version);
        }
    }

    /// One stream, to its end.
    async fn follow(&mut self, version: String, heard: &mut Heard) -> Result<(), Failure> {
        let ListWatch { resource, namespace, form, .. } = self.watch;
        let place = resource.collection(namespace.as_deref());
        let query = self.watch.query();
        let lasts = LASTS / 2 + chance() % (LASTS / 2);
        let path = format!(
            "{place}?watch=true&allowWatchBookmarks=true&timeoutSeconds={lasts}&resourceVersion={}{query}",
            escape(&version)
        );
        // From here on a failure means to go on from this version.
        self.version = Some(version);
        let mut body = self.client.open(&path, &form.accept(false)).await?;
        heard.since = Some(Instant::now());
        // A stream that could not be read was open too.
        if self.trouble != Some(WatchFailureKind::Malformed) {
            self.well();
        }
        let mut lines = lines::Lines::new(LONGEST);
        loop {
            let patience = if self.trouble.is_some() { GOOD.min(SILENCE) } else { SILENCE };
            let frame = match timeout(patience, body.frame()).await {
                Err(_) if self.well() => continue,
                Err(_) if heard.event => return Ok(()),
                Err(_) => return Err(Failure::Silent),
                // A connection that breaks is as good as one that is closed: the next try says whether anybody is there.
                Ok(None | Some(Err(_))) => return Ok(()),
                Ok(Some(Ok(frame))) => frame,
            };
            let Ok(piece) = frame.into_data() else { continue };
            let short = lines.take(&piece, |line| {
                self.line(line)?;
                self.well();
                heard.event = true;
                Ok::<(), Failure>(())
            })?;
            if !short {
                return Err(Failure::Unreadable(format!("{place}: an event is longer than {LONGEST} bytes")));
            }
        }
    }

    /// One event.
    fn line(&mut self, line: &[u8]) -> Result<(), Failure> {
        let ListWatch { resource, namespace, .. } = self.watch;
        let unreadable = |reason: &str| {
            Failure::Unreadable(format!("{}: {reason}", resource.collection(namespace.as_deref())))
        };
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        let json::Read { mut value, cut } = json::read(line).map_err(|e| unreadable(&e.to_string()))?;
        let object = value.get_mut("object").map(Value::take).unwrap_or_default();
        let version = object.pointer("/metadata/resourceVersion").and_then(Value::as_str).map(str::to_owned);
        let event = match value.get("type").and_then(Value::as_str).unwrap_or_default() {
            "ADDED" | "MODIFIED" => Some(applied(json::Read { value: object, cut }, resource)),
            // It is gone, however deep it was.
            "DELETED" => Some(WatchEvent::Deleted(named(object, resource))),
            "BOOKMARK" => None,
            "ERROR" => return Err(refusal(&object)),
            other => return Err(unreadable(&format!("an event of type {other:?}"))),
        };
        if let Some(event) = event {
            (self.tell)(event);
        }
        // After the consumer has it: whoever resumes from here must not miss it.
        if let Some(version) = version.filter(|version| !version.is_empty()) {
            self.version = Some(version);
        }
        Ok(())
    }

    /// Says that the trouble is over, if there was any.
    fn well(&mut self) -> bool {
        let was = self.trouble.take().is_some();
        if was {
            (self.tell)(WatchEvent::Recovered);
        }
        was
    }

    /// Says what is wrong, unless it was said already.
    fn report(&mut self, failure: Failure) {
        let (kind, message) = match failure {
            Failure::Gone | Failure::Silent => return,
            Failure::Unreadable(reason) => (WatchFailureKind::Malformed, reason),
            Failure::Request(error) => (kind(&error), error.to_string()),
        };
        if self.trouble != Some(kind) {
            self.trouble = Some(kind);
            (self.tell)(WatchEvent::Failing(WatchFailure { kind, message }));
        }
    }
}

/// How many objects the next page may have, after one of so many had so many bytes.
fn heavier(limit: usize, bytes: usize) -> usize {
    (limit.saturating_mul(WEIGHT) / bytes.max(1)).clamp(10, PAGE.1)
}

fn kind(error: &Error) -> WatchFailureKind {
    match error {
        Error::Api(Status { code: 401 | 403, .. }) => WatchFailureKind::Forbidden,
        Error::Api(Status { code: 404, .. }) => WatchFailureKind::NotFound,
        Error::Api(_) => WatchFailureKind::Rejected,
        Error::InvalidResponse { .. } => WatchFailureKind::Malformed,
        Error::Unreachable { .. } | Error::Config(_) => WatchFailureKind::Unreachable,
    }
}

fn applied(read: json::Read, resource: &Resource) -> WatchEvent {
    if read.cut {
        WatchEvent::TooDeep(ObjectKey::from_object(&read.value))
    } else {
        WatchEvent::Applied(named(read.value, resource))
    }
}

/// The object with its kind: the items of a list lack it, and objects without a body have another.
fn named(mut object: Value, resource: &Resource) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.insert("apiVersion".to_owned(), resource.kind.api_version().into());
        fields.insert("kind".to_owned(), resource.kind.kind.as_str().into());
    }
    object
}

/// What an ERROR event says.
fn refusal(object: &Value) -> Failure {
    let code = object.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    Error::Api(Status::read(code.unwrap_or_default(), object.to_string().as_bytes())).into()
}

/// How long to wait after so many failures: longer each time, half of it left to chance.
fn pause(failures: u32) -> Duration {
    let (first, longest) = PAUSES;
    let whole = first.saturating_mul(1 << failures.saturating_sub(1).min(10)).min(longest);
    let millis = u64::try_from(whole.as_millis()).unwrap_or(u64::MAX) / 2;
    Duration::from_millis(millis + chance() % millis.max(1))
}

/// A number that other processes do not have too; not a secret.
fn chance() -> u64 {
    RandomState::new().hash_one(())
}

#[cfg(test)]
mod tests;
