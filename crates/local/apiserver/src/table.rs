//! Objects as rows of a table, for people.

use std::borrow::Cow;
use std::sync::Arc;

use podium_kinds::print;
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
        Ok(Self { resource: Arc::clone(resource), include, now })
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
    pub fn row(&self, object: &Object, version: &str, out: &mut String) {
        // No column is about who owns which field, which is often most of an object.
        let value = match self.include {
            Include::None | Include::Metadata if self.resource.is_current(object) => {
                serde_json::from_slice(&without_owners(object.body())).unwrap_or_default()
            }
            _ => self.resource.load(object),
        };
        let metadata = self.resource.metadata(object);
        self.row_of(&value, str::from_utf8(&metadata).unwrap_or("{}"), version, out);
    }

    /// The row of an object with this metadata.
    fn row_of(&self, value: &Value, metadata: &str, version: &str, out: &mut String) {
        let (cells, conditions) = match &self.resource.custom {
            Some(custom) => (custom.cells(&self.resource.kind, value, self.now), Value::Null),
            None => {
                let row = print::row(&self.resource.kind, value, self.now);
                (row.cells, row.conditions)
            }
        };
        out.push_str("{\"cells\":");
        out.push_str(&Value::Array(cells).to_string());
        if !conditions.is_null() {
            out.push_str(",\"conditions\":");
            out.push_str(&conditions.to_string());
        }
        out.push_str(",\"object\":");
        match self.include {
            Include::None => out.push_str("null"),
            Include::Object => out.push_str(&self.resource.text(value)),
            Include::Metadata => out.push_str(&self.partial(metadata, version)),
        }
        out.push('}');
    }

    /// Metadata as an object of its own.
    fn partial(&self, metadata: &str, version: &str) -> String {
        format!(r#"{{"kind":"PartialObjectMetadata","apiVersion":"{version}","metadata":{metadata}}}"#)
    }
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
pub fn of(rows: &Rows, version: &str, object: &Object) -> String {
    let mut out = head(rows, version, &json!({"resourceVersion": object.revision().to_string()}));
    out.push('[');
    rows.row(object, version, &mut out);
    out.push_str("]}\n");
    out
}

/// The table of an object that is not stored.
pub fn one(rows: &Rows, version: &str, value: &Value, metadata: &str) -> String {
    let revision = value.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default();
    let metadata_of_list = match revision {
        "" => json!({}),
        revision => json!({"resourceVersion": revision}),
    };
    let mut out = head(rows, version, &metadata_of_list);
    out.push('[');
    rows.row_of(value, metadata, version, &mut out);
    out.push_str("]}\n");
    out
}

/// The table of one event of a watch: only the first one names the columns.
pub fn event(rows: &Rows, version: &str, object: &Object, first: bool) -> String {
    let columns = if first { format!("[{}]", rows.columns()) } else { "null".to_owned() };
    let mut out = format!(
        r#"{{"kind":"Table","apiVersion":"{version}","metadata":{{"resourceVersion":"{}"}},"columnDefinitions":{columns},"rows":["#,
        object.revision()
    );
    rows.row(object, version, &mut out);
    out.push_str("]}");
    out
}

/// The table of a bookmark.
pub fn bookmark(rows: &Rows, version: &str, bookmark: &str, revision: u64, first: bool) -> String {
    let value: Value = serde_json::from_str(bookmark).unwrap_or_default();
    let cells = match &rows.resource.custom {
        Some(custom) => custom.cells(&rows.resource.kind, &value, rows.now),
        None => print::row(&rows.resource.kind, &value, rows.now).cells,
    };
    let cells = Value::Array(cells);
    let columns = if first { format!("[{}]", rows.columns()) } else { "null".to_owned() };
    let object = match rows.include {
        Include::None => "null".to_owned(),
        Include::Object => bookmark.to_owned(),
        Include::Metadata => rows.partial(&rows.resource.metadata_of(&value), version),
    };
    format!(
        r#"{{"kind":"Table","apiVersion":"{version}","metadata":{{"resourceVersion":"{revision}"}},"columnDefinitions":{columns},"rows":[{{"cells":{cells},"object":{object}}}]}}"#
    )
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
