//! Lists: of objects, of their metadata, or as tables, in pages of one revision.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use std::vec::IntoIter;

use bytes::Bytes;
use http::HeaderValue;
use podium_meta::{ErrorType, FieldError};
use podium_store::{Error as StoreError, Object, Page, Query as Scan, Revision, Store};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::answer::{Answer, Body, Form, JSON, Pieces, Wanted, not_acceptable, object};
use crate::model::package;
use crate::query::{Query, unsupported};
use crate::refusal::{Outcome, Refusal, of_store};
use crate::select::Selection;
use crate::served::Resource;
use crate::table::{self, Rows};

/// How long a list waits for a revision that is not there yet.
const PATIENCE: Duration = Duration::from_secs(3);

/// How large the pieces of a list are.
const PIECE: usize = 64 << 10;

/// The options of a list or a watch.
#[derive(Debug, Clone, Default)]
pub struct ListOptions {
    /// The revision that it is about.
    pub revision: Option<Revision>,
    /// Whether the revision was given as a text at all.
    pub given: bool,
    /// Exactly that one, or one that is not older.
    pub exact: Option<bool>,
    /// How many objects there are in a page; 0 for all.
    pub limit: usize,
    /// Where the page begins.
    pub next: String,
    /// How long it lasts.
    pub seconds: Option<i64>,
    /// Watches: bookmarks are wanted.
    pub bookmarks: bool,
    /// Watches: what is there comes first, and a bookmark after it.
    pub initial: Option<bool>,
}

impl ListOptions {
    /// Refuses options that do not go together; a watch may have others than a list.
    pub fn check(query: &Query, watch: bool) -> Outcome<()> {
        let given = query.get("resourceVersion");
        let initial = query.truth("sendInitialEvents");
        let matching = query.get("resourceVersionMatch");
        let next = query.get("continue");
        let mut flaws = Vec::new();
        match (watch, initial) {
            (false, Some(_)) => {
                flaws.push(FieldError::forbidden(
                    "sendInitialEvents",
                    "sendInitialEvents is forbidden for list",
                ));
            }
            (true, Some(_)) if matching != "NotOlderThan" => flaws.push(FieldError::without_value(
                ErrorType::Forbidden,
                "resourceVersionMatch",
                "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            )),
            (true, None) if !matching.is_empty() => flaws.push(FieldError::forbidden(
                "resourceVersionMatch",
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            )),
            _ => {}
        }
        if !watch && !matching.is_empty() {
            if given.is_empty() {
                flaws.push(FieldError::forbidden(
                    "resourceVersionMatch",
                    "resourceVersionMatch is forbidden unless resourceVersion is provided",
                ));
            }
            if !next.is_empty() {
                flaws.push(FieldError::forbidden(
                    "resourceVersionMatch",
                    "resourceVersionMatch is forbidden when continue is provided",
                ));
            }
            if !matches!(matching, "Exact" | "NotOlderThan") {
                flaws.push(unsupported("resourceVersionMatch", matching, &["Exact", "NotOlderThan", ""]));
            }
            if matching == "Exact" && given == "0" {
                flaws.push(FieldError::forbidden(
                    "resourceVersionMatch",
                    "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
                ));
            }
        }
        if !flaws.is_empty() {
            return Err(Refusal::invalid("meta.k8s.io", "ListOptions", "", &flaws));
        }
        Ok(())
    }

    /// Reads the options; what is no revision is refused in other words for a watch.
    pub fn read(query: &Query, watch: bool) -> Outcome<Self> {
        let given = query.get("resourceVersion");
        let matching = query.get("resourceVersionMatch");
        let revision = match given {
            "" => None,
            text => Some(text.parse::<Revision>().map_err(|_| {
                let flaw = format!(
                    "resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid syntax"
                );
                // The original's watches do not say whose fault it is.
                if watch {
                    Refusal::new(500, "", flaw)
                } else {
                    Refusal::bad_request(format!("invalid resource version: {flaw}"))
                }
            })?),
        };
        let limit = query.number("limit")?.unwrap_or(0);
        Ok(Self {
            revision,
            given: !given.is_empty(),
            exact: (!matching.is_empty()).then_some(matching == "Exact"),
            limit: usize::try_from(limit).unwrap_or(0),
            next: query.get("continue").to_owned(),
            seconds: query.number("timeoutSeconds")?,
            bookmarks: query.truth("allowWatchBookmarks").unwrap_or(false),
            initial: query.truth("sendInitialEvents"),
        })
    }
}

/// Waits until a revision is there, but not for ever.
pub async fn reach(store: &Store, revision: Revision, resource: &Resource) -> Outcome<()> {
    if store.revision() >= revision {
        return Ok(());
    }
    match timeout(PATIENCE, store.reach(revision)).await {
        Ok(_) => Ok(()),
        Err(_) => {
            Err(of_store(&StoreError::Future { asked: revision, newest: store.revision() }, resource, ""))
        }
    }
}

/// A page of a list.
pub struct Listed {
    /// The objects and their revision.
    pub page: Page,
    /// What the next page is asked for with.
    pub next: Option<String>,
    /// How many objects there are behind this page, if that is known.
    pub remaining: Option<usize>,
}

/// Lists the objects of a resource in a namespace, or in all.
pub async fn list(
    store: &Store,
    resource: &Resource,
    namespace: &str,
    selection: &Selection,
    options: &ListOptions,
) -> Outcome<Listed> {
    let prefix = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
    let collection = store.collection(&resource.place);
    let (mut after, mut at, mut limit) = (String::new(), None, options.limit);
    if !options.next.is_empty() {
        if options.given && options.revision != Some(0) {
            return Err(Refusal::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
        let (revision, start) = token::read(&options.next)?;
        (after, at) = (start, revision);
    } else if let Some(revision) = options.revision {
        reach(store, revision, resource).await?;
        match options.exact {
            Some(true) => at = Some(revision),
            None if revision > 0 && limit > 0 => at = Some(revision),
            // Whatever is at hand is good enough, and all of it.
            _ if revision == 0 => limit = 0,
            _ => {}
        }
    }
    let scan = Scan { prefix: &prefix, after: &after, limit, at };
    let page = collection.list(scan, |object| selection.matches(object)).map_err(|error| {
        match (&error, options.next.is_empty()) {
            (StoreError::Compacted { .. }, false) => {
                let mut refusal = Refusal::expired(TOO_OLD);
                refusal.next = Some(token::write(None, &after));
                refusal
            }
            _ => of_store(&error, resource, ""),
        }
    })?;
    let next = page.next.as_deref().map(|path| token::write(Some(page.revision), path));
    let remaining = match &page.next {
        Some(path) if selection.is_all() => {
            let rest = Scan { prefix: &prefix, after: path, limit: 0, at: Some(page.revision) };
            collection.count(rest).ok()
        }
        _ => None,
    };
    Ok(Listed { page, next, remaining })
}

const TOO_OLD: &str = "The provided continue parameter is too old to display a consistent list result. \
    You can start a new list without the continue parameter, or use the continue token in this response to retrieve the \
    remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were \
    created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";

/// What the next page is asked for with.
mod token {
    use podium_meta::base64::{decode_url, encode_url};
    use serde_json::{Value, json};

    use super::{Outcome, Refusal, Revision};
    use crate::patch::decode_error;

    pub fn write(revision: Option<Revision>, path: &str) -> String {
        let revision = revision.map_or(-1, |revision| i64::try_from(revision).unwrap_or(i64::MAX));
        encode_url(
            json!({"v": "meta.k8s.io/v1", "rv": revision, "start": format!("{path}\0")})
                .to_string()
                .as_bytes(),
        )
    }

    pub fn read(text: &str) -> Outcome<(Option<Revision>, String)> {
        let wrong = |why: &str| {
            Refusal::bad_request(format!("invalid continue token: continue key is not valid: {why}"))
        };
        let bytes = decode_url(text).ok_or_else(|| {
            let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
            let at = text.bytes().position(|byte| !plain(&byte)).unwrap_or(text.len());
            wrong(&format!("illegal base64 data at input byte {at}"))
        })?;
        let value: Value =
            serde_json::from_slice(&bytes).map_err(|error| wrong(&decode_error(&bytes, &error)))?;
        let version = value.get("v").and_then(Value::as_str).unwrap_or_default();
        if version != "meta.k8s.io/v1" {
            return Err(wrong(&format!("server does not recognize this encoded version {version}")));
        }
        let revision = value.get("rv").and_then(Value::as_i64).unwrap_or(0);
        if revision == 0 {
            return Err(wrong("incorrect encoded start resourceVersion (version meta.k8s.io/v1)"));
        }
        let start = value.get("start").and_then(Value::as_str).unwrap_or_default();
        let path = start.strip_suffix('\0').filter(|path| !path.is_empty());
        let path = path.ok_or_else(|| wrong("encoded start key empty (version meta.k8s.io/v1)"))?;
        Ok((u64::try_from(revision).ok(), path.to_owned()))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn tokens_come_back() {
            for path in ["a", "ns/a", "ns/ab", "ns/abc"] {
                assert_eq!(read(&write(Some(7), path)).unwrap(), (Some(7), path.to_owned()));
            }
            assert_eq!(read(&write(None, "a")).unwrap(), (None, "a".to_owned()));
            for bad in ["!", "e30", "eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ"] {
                assert_eq!(read(bad).unwrap_err().code, 400, "{bad}");
            }
        }
    }
}

/// The answer for a list.
pub fn answer(
    resource: &Arc<Resource>,
    wanted: Wanted,
    include: &str,
    now: i64,
    listed: Listed,
) -> Outcome<Answer> {
    let Listed { page, next, remaining } = listed;
    let mut metadata = json!({"resourceVersion": page.revision.to_string()});
    if let (Some(next), Some(fields)) = (next, metadata.as_object_mut()) {
        fields.insert("continue".to_owned(), next.into());
        if let Some(remaining) = remaining {
            fields.insert("remainingItemCount".to_owned(), remaining.into());
        }
    }
    // Lists of kinds that users define always say whether there is more.
    if let Some(fields) =
        metadata.as_object_mut().filter(|_| resource.custom.is_some() && wanted.form == Form::Object)
    {
        fields.entry("continue").or_insert_with(|| "".into());
    }
    match wanted.form {
        Form::Metadata => Err(not_acceptable(&format!(
            "you requested PartialObjectMetadata, but the requested object is a list (*{})",
            match &resource.custom {
                Some(_) => "unstructured.UnstructuredList".to_owned(),
                None => format!("{}.{}List", package(&resource.stored.group), resource.kind.kind),
            }
        ))),
        Form::Table(version) => {
            let rows = Rows::new(resource, include, now)?;
            if page.objects.is_empty() {
                return Ok(object(200, wanted, table::empty(&rows, version, &metadata)));
            }
            let head = table::head(&rows, version, &metadata) + "[";
            let items = Items::new(head, page.objects, Style::Row { rows, version }, Convert::new(resource));
            Ok(items.answer(wanted))
        }
        form => {
            let metadata = ordered(&metadata);
            if form == Form::MetadataList && page.objects.is_empty() {
                let text = format!(
                    r#"{{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{metadata},"items":null}}"#
                );
                return Ok(object(200, wanted, text + "\n"));
            }
            let (head, style) = match form {
                Form::MetadataList => (
                    format!(
                        r#"{{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{metadata},"items":["#
                    ),
                    Style::Metadata,
                ),
                _ if resource.custom.is_some() => (
                    format!(r#"{{"apiVersion":{:?},"items":["#, resource.kind.api_version()),
                    Style::Custom {
                        tail: format!(r#"],"kind":"{}List","metadata":{metadata}}}"#, resource.kind.kind),
                    },
                ),
                _ => (
                    format!(
                        r#"{{"kind":"{}List","apiVersion":{:?},"metadata":{metadata},"items":["#,
                        resource.kind.kind,
                        resource.kind.api_version()
                    ),
                    Style::Item,
                ),
            };
            let items = Items::new(head, page.objects, style, Convert::new(resource));
            Ok(items.answer(wanted))
        }
    }
}

/// The metadata of a list, in the order of its fields.
fn ordered(metadata: &Value) -> String {
    let mut out = String::from("{");
    for key in ["resourceVersion", "continue", "remainingItemCount"] {
        if let Some(value) = metadata.get(key) {
            if out.len() > 1 {
                out.push(',');
            }
            out.push_str(&format!("\"{key}\":{value}"));
        }
    }
    out.push('}');
    out
}

/// The text of a stored object in the version that is asked for; nothing when its bytes are good as they are.
pub struct Convert(Arc<Resource>);

impl Convert {
    /// For a resource.
    pub fn new(resource: &Arc<Resource>) -> Self {
        Self(Arc::clone(resource))
    }

    /// The text, if it is another one.
    pub fn text(&self, object: &Object) -> Option<String> {
        let Self(resource) = self;
        (!resource.is_current(object)).then(|| resource.text(&resource.load(object)))
    }
}

/// How the objects of a list are written.
enum Style {
    /// Without kind and version.
    Item,
    /// With them, and with the rest of the list behind them.
    Custom { tail: String },
    /// Only the metadata, with a kind of its own.
    Metadata,
    /// As rows of a table.
    Row { rows: Rows, version: &'static str },
}

/// A list, piece by piece.
struct Items {
    head: Option<String>,
    objects: IntoIter<Object>,
    style: Style,
    convert: Convert,
    first: bool,
    done: bool,
}

impl Items {
    fn new(head: String, objects: Vec<Object>, style: Style, convert: Convert) -> Self {
        Self { head: Some(head), objects: objects.into_iter(), style, convert, first: true, done: false }
    }

    fn piece(&mut self) -> Option<Bytes> {
        if self.done {
            return None;
        }
        // Small lists are small, and a piece that is not the first is rarely the last.
        let mut out = Vec::with_capacity(if self.first { PIECE / 8 } else { PIECE + PIECE / 8 });
        if let Some(head) = self.head.take() {
            out.extend_from_slice(head.as_bytes());
        }
        while out.len() < PIECE {
            let Some(object) = self.objects.next() else {
                let tail = match &self.style {
                    Style::Custom { tail } => tail.as_bytes(),
                    _ => b"]}",
                };
                out.extend_from_slice(tail);
                out.extend_from_slice(b"\n");
                self.done = true;
                break;
            };
            if !std::mem::take(&mut self.first) {
                out.extend_from_slice(b",");
            }
            self.item(&object, &mut out);
        }
        Some(out.into())
    }

    /// The list as an answer: piece by piece, unless it has to be written anew.
    fn answer(self, wanted: Wanted) -> Answer {
        if wanted.yaml || wanted.pretty {
            return object(200, wanted, self.all());
        }
        let mut response = crate::answer::answer(200, JSON, Bytes::new());
        *response.body_mut() = Body::Pieces(Box::new(self));
        response.headers_mut().insert("content-type", HeaderValue::from_static(JSON));
        response
    }

    fn item(&self, object: &Object, out: &mut Vec<u8>) {
        if let Style::Row { rows, version } = &self.style {
            rows.row(object, version, out);
            return;
        }
        if let Style::Metadata = self.style {
            out.extend_from_slice(METADATA);
            out.extend_from_slice(&self.convert.0.metadata(object));
            out.extend_from_slice(b"}");
            return;
        }
        match (&self.style, self.convert.text(object)) {
            (Style::Item, None) => {
                out.extend_from_slice(b"{");
                out.extend_from_slice(object.item());
            }
            (Style::Item, Some(text)) => {
                out.extend_from_slice(b"{");
                out.extend_from_slice(without_kind(text.as_bytes()));
            }
            (_, None) => out.extend_from_slice(object.body()),
            (_, Some(text)) => out.extend_from_slice(text.as_bytes()),
        }
    }

    fn all(mut self) -> Vec<u8> {
        let mut out = Vec::new();
        while let Some(piece) = self.piece() {
            out.extend_from_slice(&piece);
        }
        out
    }
}

impl Pieces for Items {
    fn poll(&mut self, _context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        Poll::Ready(self.piece())
    }
}

/// What the metadata of an object is sent as.
pub const METADATA: &[u8] = br#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":"#;

/// The text of an object behind the brace, its kind and its version, which stand at its beginning.
fn without_kind(text: &[u8]) -> &[u8] {
    let mut rest = text.get(1..).unwrap_or_default();
    for key in [&b"\"kind\":\""[..], b"\"apiVersion\":\""] {
        if let Some(value) = rest.strip_prefix(key)
            && let Some(end) = value.iter().position(|byte| *byte == b'"')
        {
            rest = value.get(end + 1..).unwrap_or_default();
            rest = rest.strip_prefix(b",").unwrap_or(rest);
        }
    }
    rest
}
