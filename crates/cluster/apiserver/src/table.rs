//! Objects as rows of a table, for people.

use std::borrow::Cow;
use std::sync::Arc;

use podium_resources::print::{self, Printer};
use podium_store::Object;
use serde_json::{Value, json};

use crate::refusal::{Outcome, Refusal};
use crate::served::Resource;

/// What of an object stands beside its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Include {
    None,
    Metadata,
    Object,
}

/// Makes rows of the objects of a resource.
pub struct Rows {
    resource: Arc<Resource>,
    printer: Printer,
    include: Include,
    now: i64,
}

impl Rows {
    /// `include` is what the client wants beside each row; `now` is in seconds since 1970.
    pub fn new(resource: &Arc<Resource>, include: &str, now: i64) -> Outcome<Self> {
        let include = match include {
            "" | "Metadata" => Include::Metadata,
            "None" => Include::None,
            "Object" => Include::Object,
            other => {
                return Err(Refusal::bad_request(format!(
                    "Unable to convert to Table as requested: includeObject: Invalid value: {other:?}: must be 'Metadata', \
                     'Object', 'None', or empty"
                )));
            }
        };
        Ok(Self { resource: Arc::clone(resource), printer: Printer::new(&resource.kind), include, now })
    }

    fn columns(&self) -> String {
        let columns = match &self.resource.custom {
            Some(custom) => custom.columns(&self.resource.kind),
            None => print::columns(&self.resource.kind)
                .iter()
                .map(|column| {
                    json!({"name": column.name, "type": column.kind, "format": column.format,
                        "description": "", "priority": column.priority})
                })
                .collect(),
        };
        let column = |column: &Value| {
            let part = |key: &str| column.get(key).cloned().unwrap_or_default();
            format!(
                r#"{{"name":{},"type":{},"format":{},"description":{},"priority":{}}}"#,
                part("name"),
                part("type"),
                part("format"),
                part("description"),
                part("priority")
            )
        };
        let columns: Vec<String> = columns.iter().map(column).collect();
        columns.join(",")
    }

    /// The row of an object.
    pub fn row(&self, object: &Object, version: &str, out: &mut Vec<u8>) {
        let current = self.resource.is_current(object);
        out.extend_from_slice(b"{\"cells\":");
        let value = if current && self.cells(object, out) {
            None
        } else {
            // No column is about who owns which field, which is often most of an object.
            let value = match self.include {
                Include::None | Include::Metadata if current => {
                    serde_json::from_slice(&without_owners(object.body())).unwrap_or_default()
                }
                _ => self.resource.load(object),
            };
            self.cells_of(&value, out);
            Some(value)
        };
        out.extend_from_slice(b",\"object\":");
        match self.include {
            Include::None => out.extend_from_slice(b"null"),
            Include::Object => match value {
                Some(value) => out.extend_from_slice(self.resource.text(&value).as_bytes()),
                None => out.extend_from_slice(object.body()),
            },
            Include::Metadata => partial(&self.resource.metadata(object), version, out),
        }
        out.push(b'}');
    }

    /// The cells of a stored object from its bytes; false, and nothing, where they need more than a few of its fields.
    fn cells(&self, object: &Object, out: &mut Vec<u8>) -> bool {
        match &self.resource.custom {
            Some(custom) => match custom.cells_of_stored(&self.resource.kind, object, self.now) {
                Some(cells) => {
                    out.extend_from_slice(Value::Array(cells).to_string().as_bytes());
                    true
                }
                None => false,
            },
            None => self.printer.write(object.body(), object.metadata().len(), self.now, out),
        }
    }

    /// The cells of an object, with what is to be known of its row.
    fn cells_of(&self, value: &Value, out: &mut Vec<u8>) {
        let (cells, conditions) = match &self.resource.custom {
            Some(custom) => (custom.cells(&self.resource.kind, value, self.now), Value::Null),
            None => {
                let row = self.printer.row(value, self.now);
                (row.cells, row.conditions)
            }
        };
        out.extend_from_slice(Value::Array(cells).to_string().as_bytes());
        if !conditions.is_null() {
            out.extend_from_slice(b",\"conditions\":");
            out.extend_from_slice(conditions.to_string().as_bytes());
        }
    }

    /// The row of an object with this metadata.
    fn row_of(&self, value: &Value, metadata: &str, version: &str, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"cells\":");
        self.cells_of(value, out);
        out.extend_from_slice(b",\"object\":");
        match self.include {
            Include::None => out.extend_from_slice(b"null"),
            Include::Object => out.extend_from_slice(self.resource.text(value).as_bytes()),
            Include::Metadata => partial(metadata.as_bytes(), version, out),
        }
        out.push(b'}');
    }
}

/// Metadata as an object of its own.
fn partial(metadata: &[u8], version: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"");
    out.extend_from_slice(version.as_bytes());
    out.extend_from_slice(b"\",\"metadata\":");
    out.extend_from_slice(metadata);
    out.push(b'}');
}

/// The JSON of an object without its managed fields. Their key cannot stand in a text: its quotes would be escaped.
fn without_owners(body: &[u8]) -> Cow<'_, [u8]> {
    const KEY: &[u8] = b"\"managedFields\":[";
    let Some(start) = memchr::memmem::find(body, KEY) else { return Cow::Borrowed(body) };
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for (at, byte) in body.iter().enumerate().skip(start + KEY.len() - 1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'[' | b'{' if !quoted => depth += 1,
            b']' | b'}' if !quoted => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    let (before, after) = (body.get(..start), body.get(at + 1..));
                    let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
                    // One comma of two, whichever there is.
                    let (before, after) = match (before.strip_suffix(b","), after.strip_prefix(b",")) {
                        (_, Some(after)) => (before, after),
                        (Some(before), None) => (before, after),
                        (None, None) => (before, after),
                    };
                    return Cow::Owned([before, after].concat());
                }
            }
            _ => {}
        }
    }
    Cow::Borrowed(body)
}

/// How a table of objects begins, before its rows; the metadata is that of the list.
pub fn head(rows: &Rows, version: &str, metadata: &Value) -> String {
    format!(
        r#"{{"kind":"Table","apiVersion":"{version}","metadata":{metadata},"columnDefinitions":[{}],"rows":"#,
        rows.columns()
    )
}

/// A table without rows.
pub fn empty(rows: &Rows, version: &str, metadata: &Value) -> String {
    // Kinds without columns of their own have no rows rather than none.
    let none = rows.resource.custom.is_none() && print::is_usual(&rows.resource.kind);
    head(rows, version, metadata) + if none { "null}\n" } else { "[]}\n" }
}

/// The table of a stored object.
pub fn of(rows: &Rows, version: &str, object: &Object) -> Vec<u8> {
    let revision = object.revision().to_string();
    let mut out = head(rows, version, &json!({"resourceVersion": revision})).into_bytes();
    out.push(b'[');
    rows.row(object, version, &mut out);
    out.extend_from_slice(b"]}\n");
    out
}

/// The table of an object that is not stored.
pub fn one(rows: &Rows, version: &str, value: &Value, metadata: &str) -> Vec<u8> {
    let revision = value.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default();
    let metadata_of_list = match revision {
        "" => json!({}),
        revision => json!({"resourceVersion": revision}),
    };
    let mut out = head(rows, version, &metadata_of_list).into_bytes();
    out.push(b'[');
    rows.row_of(value, metadata, version, &mut out);
    out.extend_from_slice(b"]}\n");
    out
}

/// How the table of one event of a watch begins: only the first one names the columns.
fn event_head(rows: &Rows, version: &str, revision: u64, first: bool) -> Vec<u8> {
    let columns = if first { format!("[{}]", rows.columns()) } else { "null".to_owned() };
    format!(
        r#"{{"kind":"Table","apiVersion":"{version}","metadata":{{"resourceVersion":"{revision}"}},"columnDefinitions":{columns},"rows":["#
    )
    .into_bytes()
}

/// The table of one event of a watch.
pub fn event(rows: &Rows, version: &str, object: &Object, first: bool) -> Vec<u8> {
    let mut out = event_head(rows, version, object.revision(), first);
    rows.row(object, version, &mut out);
    out.extend_from_slice(b"]}");
    out
}

/// The table of a bookmark.
pub fn bookmark(rows: &Rows, version: &str, bookmark: &str, revision: u64, first: bool) -> Vec<u8> {
    let value: Value = serde_json::from_str(bookmark).unwrap_or_default();
    let mut out = event_head(rows, version, revision, first);
    out.extend_from_slice(b"{\"cells\":");
    let cells = match &rows.resource.custom {
        Some(custom) => custom.cells(&rows.resource.kind, &value, rows.now),
        None => rows.printer.row(&value, rows.now).cells,
    };
    out.extend_from_slice(Value::Array(cells).to_string().as_bytes());
    out.extend_from_slice(b",\"object\":");
    match rows.include {
        Include::None => out.extend_from_slice(b"null"),
        Include::Object => out.extend_from_slice(bookmark.as_bytes()),
        Include::Metadata => partial(rows.resource.metadata_of(&value).as_bytes(), version, &mut out),
    }
    out.extend_from_slice(b"}]}");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_are_left_out_wherever_they_stand() {
        for (body, rest) in [
            (
                r#"{"metadata":{"name":"a","managedFields":[{"f":{"k:{\"a\":\"]\"}":{}}}]},"x":1}"#,
                r#"{"metadata":{"name":"a"},"x":1}"#,
            ),
            (r#"{"metadata":{"managedFields":[],"name":"a"}}"#, r#"{"metadata":{"name":"a"}}"#),
            (r#"{"metadata":{"managedFields":[{}]}}"#, r#"{"metadata":{}}"#),
            (
                r#"{"metadata":{"annotations":{"a":"\"managedFields\":[1]"}}}"#,
                r#"{"metadata":{"annotations":{"a":"\"managedFields\":[1]"}}}"#,
            ),
        ] {
            assert_eq!(str::from_utf8(&without_owners(body.as_bytes())).unwrap(), rest);
        }
    }
}
