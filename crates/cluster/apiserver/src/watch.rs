//! Watches: what happens to the objects of a resource, as it happens.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use podium_store::{Change, Collection, Error as StoreError, Event, Object, Query as Scan, Revision, Watch};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::answer::{Answer, Body, Form, JSON, Pieces, Wanted, answer};
use crate::list::{Convert, ListOptions, METADATA};
use crate::refusal::{Outcome, Refusal, of_store};
use crate::select::Selection;
use crate::served::Resource;
use crate::table::{self, Rows};
use crate::{clock, random};

/// How large a piece may become while there is more to tell.
const PIECE: usize = 32 << 10;
/// How often a watch says how far it is.
const BOOKMARKS: Duration = Duration::from_secs(60);
/// How long before its end a watch says so once more.
const LAST: Duration = Duration::from_secs(2);
/// How long a watch lasts whose client does not say.
const USUAL_SECONDS: u64 = 1800;

/// Begins a watch.
pub fn start(
    collection: &Collection,
    newest: Revision,
    resource: &Arc<Resource>,
    namespace: &str,
    selection: Selection,
    options: &ListOptions,
    wanted: Wanted,
    include: &str,
) -> Outcome<Answer> {
    let prefix = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
    // Checked now, because later it is too late for a refusal.
    let _ = Rows::new(resource, include, 0)?;
    let replay = match (options.initial, options.revision) {
        (Some(initial), _) => initial,
        (None, revision) => revision.unwrap_or(0) == 0,
    };
    let mut begun = Vec::new();
    let mut from = options.revision.filter(|revision| *revision > 0).unwrap_or(newest);
    if replay {
        let page = collection
            .list(Scan { prefix: &prefix, after: "", limit: 0, at: None }, |object| selection.matches(object))
            .map_err(|error| of_store(&error, resource, ""))?;
        from = page.revision;
        begun = page.objects;
    }
    let (watch, refused) = match collection.watch(&prefix, from) {
        Ok(watch) => (Some(watch), None),
        Err(StoreError::Compacted { asked, oldest }) => {
            (None, Some(Refusal::expired(format!("too old resource version: {asked} ({oldest})"))))
        }
        Err(error) => return Err(of_store(&error, resource, "")),
    };
    let seconds = match options.seconds {
        Some(seconds) if seconds > 0 => seconds.unsigned_abs(),
        _ => USUAL_SECONDS + random::below(USUAL_SECONDS),
    };
    let end = Instant::now() + Duration::from_secs(seconds);
    let telling = Telling {
        resource: Arc::clone(resource),
        convert: Convert::new(resource),
        selection,
        form: wanted.form,
        include: include.to_owned(),
        first: true,
    };
    let mut watching = Watching {
        telling,
        watch,
        refused,
        begun: begun.into_iter(),
        replayed: (replay && options.initial == Some(true)).then_some(from),
        bookmarks: options.bookmarks,
        told: from,
        end,
        alarm: Box::pin(sleep_until(end)),
        started: false,
    };
    watching.set_alarm();
    let mut response = answer(200, JSON, Bytes::new());
    *response.body_mut() = Body::Pieces(Box::new(watching));
    Ok(response)
}

/// A watch, event by event.
struct Watching {
    telling: Telling,
    watch: Option<Watch>,
    refused: Option<Refusal>,
    /// What was there at the beginning.
    begun: std::vec::IntoIter<Object>,
    /// The revision that is told when everything of the beginning was.
    replayed: Option<Revision>,
    bookmarks: bool,
    /// The last revision that was told.
    told: Revision,
    end: Instant,
    alarm: Pin<Box<Sleep>>,
    started: bool,
}

impl Watching {
    fn set_alarm(&mut self) {
        let now = Instant::now();
        let next = if self.bookmarks {
            let last = self.end.checked_sub(LAST).filter(|last| *last > now).unwrap_or(self.end);
            last.min(now + BOOKMARKS)
        } else {
            self.end
        };
        self.alarm.as_mut().reset(next);
    }

    fn refuse(&mut self, refusal: &Refusal, out: &mut BytesMut) {
        out.extend_from_slice(b"{\"type\":\"ERROR\",\"object\":");
        out.extend_from_slice(refusal.body().as_bytes());
        out.extend_from_slice(b"}\n");
        self.watch = None;
    }

    /// Everything that there is to tell now; an empty piece if there is nothing.
    fn tell(&mut self, context: &mut Context<'_>) -> Option<BytesMut> {
        let mut out = BytesMut::new();
        while out.len() < PIECE {
            match self.begun.next() {
                Some(object) => self.telling.event("ADDED", &object, &mut out),
                None => break,
            }
        }
        if self.begun.len() > 0 {
            return Some(out);
        }
        if let Some(revision) = self.replayed.take() {
            self.telling.bookmark(revision, true, &mut out);
        }
        if let Some(refusal) = self.refused.take() {
            self.refuse(&refusal, &mut out);
            return Some(out);
        }
        while out.len() < PIECE {
            let watch = self.watch.as_mut()?;
            match watch.poll_next(context) {
                Poll::Pending => break,
                Poll::Ready(Ok(events)) => {
                    for event in events {
                        self.told = event.revision();
                        self.telling.change(&event, &mut out);
                    }
                }
                Poll::Ready(Err(StoreError::Compacted { asked, oldest })) => {
                    let refusal = Refusal::expired(format!("too old resource version: {asked} ({oldest})"));
                    self.refuse(&refusal, &mut out);
                    break;
                }
                Poll::Ready(Err(_)) => {
                    self.watch = None;
                    break;
                }
            }
        }
        Some(out)
    }
}

impl Pieces for Watching {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            let waits = self.begun.len() > 0 || self.replayed.is_some() || self.refused.is_some();
            if self.watch.is_none() && !waits {
                return Poll::Ready(None);
            }
            let Some(mut out) = self.tell(context) else { return Poll::Ready(None) };
            if !out.is_empty() {
                self.started = true;
                return Poll::Ready(Some(out.freeze()));
            }
            if self.watch.is_none() {
                return Poll::Ready(None);
            }
            if self.alarm.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            if Instant::now() >= self.end {
                return Poll::Ready(None);
            }
            self.set_alarm();
            let seen = self.watch.as_mut().map_or(0, Watch::seen);
            if seen > 0 {
                self.telling.bookmark(seen, false, &mut out);
                return Poll::Ready(Some(out.freeze()));
            }
        }
    }
}

/// How events are told to one client.
struct Telling {
    resource: Arc<Resource>,
    convert: Convert,
    selection: Selection,
    form: Form,
    include: String,
    first: bool,
}

impl Telling {
    fn change(&mut self, event: &Event, out: &mut BytesMut) {
        match event.seen(|object| self.selection.matches(object)) {
            Some(Change::Added(object)) => self.event("ADDED", &object, out),
            Some(Change::Modified(object)) => self.event("MODIFIED", &object, out),
            Some(Change::Deleted(object)) => self.event("DELETED", &object, out),
            None => {}
        }
    }

    fn event(&mut self, what: &str, object: &Object, out: &mut BytesMut) {
        out.extend_from_slice(b"{\"type\":\"");
        out.extend_from_slice(what.as_bytes());
        out.extend_from_slice(b"\",\"object\":");
        match self.form {
            Form::Table(version) => {
                if let Ok(rows) = Rows::new(&self.resource, &self.include, clock::seconds()) {
                    let first = std::mem::take(&mut self.first);
                    out.extend_from_slice(&table::event(&rows, version, object, first));
                }
            }
            Form::Metadata | Form::MetadataList => {
                out.extend_from_slice(METADATA);
                out.extend_from_slice(&self.resource.metadata(object));
                out.extend_from_slice(b"}");
            }
            Form::Object => match self.convert.text(object) {
                None => out.extend_from_slice(object.body()),
                Some(text) => out.extend_from_slice(text.as_bytes()),
            },
        }
        out.extend_from_slice(b"}\n");
    }

    fn bookmark(&mut self, revision: Revision, initial: bool, out: &mut BytesMut) {
        let kind = &self.resource.kind;
        let (name, version) = match self.form {
            Form::Metadata | Form::MetadataList => {
                ("PartialObjectMetadata".to_owned(), "meta.k8s.io/v1".to_owned())
            }
            _ => (kind.kind.clone(), kind.api_version()),
        };
        let annotation = if initial { r#","annotations":{"k8s.io/initial-events-end":"true"}"# } else { "" };
        let mut object = format!(
            r#"{{"kind":"{name}","apiVersion":"{version}","metadata":{{"resourceVersion":"{revision}"{annotation}}}}}"#
        );
        if !matches!(self.form, Form::Metadata | Form::MetadataList) {
            object = self.resource.bookmark(object);
        }
        let told = if let Form::Table(version) = self.form
            && let Ok(rows) = Rows::new(&self.resource, &self.include, 0)
        {
            let first = std::mem::take(&mut self.first);
            table::bookmark(&rows, version, &object, revision, first)
        } else {
            object.into_bytes()
        };
        out.extend_from_slice(b"{\"type\":\"BOOKMARK\",\"object\":");
        out.extend_from_slice(&told);
        out.extend_from_slice(b"}\n");
    }
}
