//! Objects as rows of a table, for people.

use std::borrow::Cow;

use podium_kinds::print;
use podium_store::Object;
use serde_json::{Value, json};

use crate::list::METADATA;
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
pub struct Rows<'r> {
    resource: &'r Resource,
    include: Include,
    now: i64,
}

impl<'r> Rows<'r> {
    /// `include` is what the client wants beside each row; `now` is in seconds since 1970.
    pub fn new(resource: &'r Resource, include: &str, now: i64) -> Outcome<Self> {
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
        Ok(Self { resource, include, now })
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

    fn row(&self, object: &Object, version: &str, out: &mut String) {
        // No column is about who owns which field, which is often most of an object.
        let value = match self.include {
            Include::None | Include::Metadata if self.resource.is_current(object) => {
                serde_json::from_slice(&without_owners(object.body())).unwrap_or_default()
            }
            _ => self.resource.load(object),
        };
        let (cells, conditions) = match &self.resource.custom {
            Some(custom) => (custom.cells(&self.resource.kind, &value, self.now), Value::Null),
            None => {
                let row = print::row(&self.resource.kind, &value, self.now);
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
            Include::Object => out.push_str(&self.resource.text(&value)),
            Include::Metadata => {
                let head = str::from_utf8(METADATA).unwrap_or_default();
                out.push_str(&head.replace("meta.k8s.io/v1", version));
                out.push_str(str::from_utf8(object.metadata()).unwrap_or("{}"));
                out.push('}');
            }
        }
        out.push('}');
    }
}

/// The JSON of an object without its managed fields. Their key cannot stand in a text: its quotes would be escaped.
fn without_owners(body: &[u8]) -> Cow<'_, [u8]> {
    const KEY: &[u8] = b"\"managedFields\":[";
    let Some(start) = body.windows(KEY.len()).position(|part| part == KEY) else {
        return Cow::Borrowed(body);
    };
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

/// A table of objects; the metadata is that of the list.
pub fn list<'o>(
    rows: &Rows<'_>,
    version: &str,
    metadata: &Value,
    objects: impl Iterator<Item = &'o Object>,
) -> String {
    let mut out = format!(
        r#"{{"kind":"Table","apiVersion":"{version}","metadata":{metadata},"columnDefinitions":[{}],"rows":["#,
        rows.columns()
    );
    for (at, object) in objects.enumerate() {
        if at > 0 {
            out.push(',');
        }
        rows.row(object, version, &mut out);
    }
    out.push_str("]}\n");
    out
}

/// The table of one event of a watch: only the first one names the columns.
pub fn event(rows: &Rows<'_>, version: &str, object: &Object, first: bool) -> String {
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
pub fn bookmark(rows: &Rows<'_>, version: &str, bookmark: &str, revision: u64, first: bool) -> String {
    let value: Value = serde_json::from_str(bookmark).unwrap_or_default();
    let cells = match &rows.resource.custom {
        Some(custom) => custom.cells(&rows.resource.kind, &value, rows.now),
        None => print::row(&rows.resource.kind, &value, rows.now).cells,
    };
    let cells = Value::Array(cells);
    let columns = if first { format!("[{}]", rows.columns()) } else { "null".to_owned() };
    format!(
        r#"{{"kind":"Table","apiVersion":"{version}","metadata":{{"resourceVersion":"{revision}"}},"columnDefinitions":{columns},"rows":[{{"cells":{cells},"object":{bookmark}}}]}}"#
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
