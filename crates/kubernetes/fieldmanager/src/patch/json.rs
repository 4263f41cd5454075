//! JSON patches (RFC 6902), with the liberties of the library that kube-apiserver uses: a path may point back from
//! the end of a list, `replace` and `copy` need not find anything, and what is missing is null.

use serde_json::{Map, Value};

use crate::go;
use crate::typed::DEEPEST;

/// How many operations a patch may have.
pub const MOST_OPERATIONS: usize = 10_000;
/// How many bytes of JSON all `copy` of a patch may add.
pub const MOST_COPIED: usize = 3 * 1024 * 1024;

/// Why a patch is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It is no patch (400).
    #[error("json: cannot unmarshal {0} into Go value of type jsonpatch.{1}")]
    NotAPatch(&'static str, &'static str),
    /// It has too many operations (413).
    #[error("The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, got {0}")]
    TooMany(usize),
    /// An operation does not fit the document (422).
    #[error("{0}")]
    Failed(String),
    /// The document would become too deep (422).
    #[error("the patched document is nested too deeply")]
    TooDeep,
}

const MISSING: &str = "missing value";

/// Applies a patch to an object.
pub fn json(document: Value, patch: &Value) -> Result<Value, Error> {
    let operations = match patch {
        Value::Array(operations) => operations.as_slice(),
        Value::Null => &[],
        other => return Err(Error::NotAPatch(kind(other), "Patch")),
    };
    let objects = operations.iter().find(|op| !op.is_object() && !op.is_null());
    if let Some(other) = objects {
        return Err(Error::NotAPatch(kind(other), "Operation"));
    }
    if operations.len() > MOST_OPERATIONS {
        return Err(Error::TooMany(operations.len()));
    }
    let depth = depth(&document);
    let mut state = State { document, copied: 0, depth };
    let none = Map::new();
    for operation in operations {
        state.operate(operation.as_object().unwrap_or(&none))?;
    }
    Ok(state.document)
}

struct State {
    document: Value,
    /// The bytes that were copied so far.
    copied: usize,
    /// The document is not deeper than this.
    depth: usize,
}

/// Reads one of the texts of an operation.
fn text<'v>(operation: &'v Map<String, Value>, key: &str) -> Result<&'v str, String> {
    match operation.get(key) {
        Some(Value::String(text)) => Ok(text),
        None | Some(Value::Null) if key == "from" => Err(format!("operation, missing from field: {MISSING}")),
        None | Some(Value::Null) => Err(format!("operation missing {key} field: {MISSING}")),
        Some(other) => Err(format!("json: cannot unmarshal {} into Go value of type string", kind(other))),
    }
}

fn failed<T>(text: String) -> Result<T, Error> {
    Err(Error::Failed(text))
}

impl State {
    fn operate(&mut self, operation: &Map<String, Value>) -> Result<(), Error> {
        match text(operation, "op").unwrap_or("unknown") {
            "add" => self.add(operation),
            "remove" => self.remove(operation),
            "replace" => self.replace(operation),
            "move" => self.shift(operation),
            "test" => self.test(operation),
            "copy" => self.copy(operation),
            other => failed(format!("Unexpected kind: {other}")),
        }
    }

    /// The container of what a path points to, and its key there.
    fn find(&mut self, path: &str) -> Option<(&mut Value, String)> {
        let (_, rest) = path.split_once('/')?;
        let (parents, key) =
            rest.rsplit_once('/').map_or((None, rest), |(parents, key)| (Some(parents), key));
        let mut container = &mut self.document;
        for part in parents.into_iter().flat_map(|parents| parents.split('/')) {
            container = match container {
                Value::Object(map) => map.get_mut(&unescape(part))?,
                Value::Array(items) => {
                    let at = place(items, &unescape(part)).ok()?;
                    items.get_mut(at)?
                }
                _ => return None,
            };
        }
        matches!(container, Value::Object(_) | Value::Array(_)).then(|| (container, unescape(key)))
    }

    /// Makes room in the depth for a value at a path. The bound only grows; when it is too large it is measured.
    fn deepen(&mut self, path: &str, value: usize) -> Result<(), Error> {
        let reach = path.matches('/').count() + value;
        if reach > DEEPEST {
            return Err(Error::TooDeep);
        }
        self.depth = self.depth.max(reach);
        Ok(())
    }

    fn add(&mut self, operation: &Map<String, Value>) -> Result<(), Error> {
        let Ok(path) = text(operation, "path") else {
            return failed(format!("add operation failed to decode path: {MISSING}"));
        };
        let value = operation.get("value").cloned().unwrap_or_default();
        self.deepen(path, depth(&value))?;
        let Some((container, key)) = self.find(path) else {
            return failed(format!(
                "add operation does not apply: doc is missing path: \"{path}\": {MISSING}"
            ));
        };
        put(container, key, value)
            .or_else(|error| failed(format!("error in add for path: '{path}': {error}")))
    }

    fn remove(&mut self, operation: &Map<String, Value>) -> Result<(), Error> {
        let Ok(path) = text(operation, "path") else {
            return failed(format!("remove operation failed to decode path: {MISSING}"));
        };
        let Some((container, key)) = self.find(path) else {
            return failed(format!(
                "remove operation does not apply: doc is missing path: \"{path}\": {MISSING}"
            ));
        };
        take(container, &key)
            .map(drop)
            .or_else(|error| failed(format!("error in remove for path: '{path}': {error}")))
    }

    fn replace(&mut self, operation: &Map<String, Value>) -> Result<(), Error> {
        let path = text(operation, "path")
            .or_else(|error| failed(format!("replace operation failed to decode path: {error}")))?;
        let value = operation.get("value").cloned().unwrap_or_default();
        if path.is_empty() {
            if !value.is_object() && !value.is_array() {
                return failed("replace operation value must be object or array: %!w(<nil>)".to_owned());
            }
            self.depth = depth(&value);
            self.document = value;
            return Ok(());
        }
        self.deepen(path, depth(&value))?;
        let Some((container, key)) = self.find(path) else {
            return failed(format!(
                "replace operation does not apply: doc is missing path: {path}: {MISSING}"
            ));
        };
        match container {
            Value::Object(map) => {
                map.insert(key, value);
            }
            Value::Array(items) => match place(items, &key).ok().and_then(|at| items.get_mut(at)) {
                Some(item) => *item = value,
                None => {
                    return failed(format!(
                        "replace operation does not apply: doc is missing key: {path}: {MISSING}"
                    ));
                }
            },
            _ => {}
        }
        Ok(())
    }

    fn shift(&mut self, operation: &Map<String, Value>) -> Result<(), Error> {
        let from = text(operation, "from")
            .or_else(|error| failed(format!("move operation failed to decode from: {error}")))?;
        let Some((container, key)) = self.find(from) else {
            return failed(format!(
                "move operation does not apply: doc is missing from path: {from}: {MISSING}"
            ));
        };
        let value = take(container, &key)
            .or_else(|error| failed(format!("error in move for path: '{key}': {error}")))?;
        let path = text(operation, "path")
            .or_else(|error| failed(format!("move operation failed to decode path: {error}")))?;
        let most = self.depth.saturating_sub(from.matches('/').count());
        if path.matches('/').count() + most > DEEPEST {
            // The bound is too coarse: measure.
            self.deepen(path, depth(&value))?;
            self.depth = depth(&self.document).max(path.matches('/').count() + depth(&value));
        } else {
            self.deepen(path, most)?;
        }
        let Some((container, key)) = self.find(path) else {
            return failed(format!(
                "move operation does not apply: doc is missing destination path: {path}: {MISSING}"
            ));
        };
        put(container, key, value)
            .or_else(|error| failed(format!("error in move for path: '{path}': {error}")))
    }

    fn copy(&mut self, operation: &Map<String, Value>) -> Result<(), Error> {
        let from = text(operation, "from")
            .or_else(|error| failed(format!("copy operation failed to decode from: {error}")))?;
        let Some((container, key)) = self.find(from) else {
            return failed(format!(
                "copy operation does not apply: doc is missing from path: {from}: {MISSING}"
            ));
        };
        let value = get(container, &key)
            .or_else(|error| failed(format!("error in copy for from: '{from}': {error}")))?;
        // The size is known before the value is copied, so that a patch cannot ask for more than it may have.
        let size = if value.is_null() { 0 } else { written(value) };
        let copied = self.copied + size;
        let value = if copied > MOST_COPIED { Value::Null } else { self.again(from, &key) };
        let Ok(path) = text(operation, "path") else {
            return failed(format!("copy operation failed to decode path: {MISSING}"));
        };
        if self.find(path).is_none() {
            return failed(format!(
                "copy operation does not apply: doc is missing destination path: {path}: {MISSING}"
            ));
        }
        self.copied = copied;
        if copied > MOST_COPIED {
            return failed(format!(
                "Unable to complete the copy, the accumulated size increase of copy is {copied}, exceeding the limit \
                 {MOST_COPIED}"
            ));
        }
        self.deepen(path, depth(&value))?;
        let Some((container, key)) = self.find(path) else { return Ok(()) };
        put(container, key, value)
            .or_else(|error| failed(format!("error while adding value during copy: {error}")))
    }

    fn again(&mut self, from: &str, key: &str) -> Value {
        let found = self.find(from).and_then(|(container, _)| get(container, key).ok().cloned());
        found.unwrap_or_default()
    }

    fn test(&mut self, operation: &Map<String, Value>) -> Result<(), Error> {
        let path = text(operation, "path")
            .or_else(|error| failed(format!("test operation failed to decode path: {error}")))?;
        let expected = operation.get("value").unwrap_or(&Value::Null);
        let same = if path.is_empty() {
            self.document == *expected
        } else {
            let Some((container, key)) = self.find(path) else {
                return failed(format!("test operation does not apply: is missing path: {path}: {MISSING}"));
            };
            let found = get(container, &key)
                .or_else(|error| failed(format!("error in test for path: '{path}': {error}")))?;
            found == expected
        };
        if same { Ok(()) } else { failed(format!("testing value {path} failed: test failed")) }
    }
}

fn unescape(part: &str) -> String {
    let mut out = String::with_capacity(part.len());
    let mut rest = part;
    while let Some((before, after)) = rest.split_once('~') {
        out.push_str(before);
        let (escaped, left) = match after.as_bytes().first() {
            Some(b'1') => ('/', after.get(1..)),
            Some(b'0') => ('~', after.get(1..)),
            _ => ('~', Some(after)),
        };
        out.push(escaped);
        rest = left.unwrap_or_default();
    }
    out.push_str(rest);
    out
}

/// A number as Go's `strconv.Atoi` reads it.
fn index(key: &str) -> Result<i64, String> {
    let digits = key.strip_prefix(['+', '-']).unwrap_or(key);
    let error = |what: &str| format!("strconv.Atoi: parsing {}: {what}", go::quote(key));
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(error("invalid syntax"));
    }
    key.parse().map_err(|_| error("value out of range"))
}

/// The place of an item; places below zero count from the end.
fn place(items: &[Value], key: &str) -> Result<usize, String> {
    let index = index(key)?;
    let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
    let at = if index < 0 { index + length } else { index };
    match usize::try_from(at) {
        Ok(at) if at < items.len() => Ok(at),
        _ => Err(format!("Unable to access invalid index: {index}: invalid index referenced")),
    }
}

fn get<'v>(container: &'v Value, key: &str) -> Result<&'v Value, String> {
    static NULL: Value = Value::Null;
    match container {
        Value::Array(items) => Ok(items.get(place(items, key)?).unwrap_or(&NULL)),
        _ => Ok(container.get(key).unwrap_or(&NULL)),
    }
}

fn put(container: &mut Value, key: String, value: Value) -> Result<(), String> {
    match container {
        Value::Object(map) => {
            map.insert(key, value);
        }
        Value::Array(items) if key == "-" => items.push(value),
        Value::Array(items) => {
            let index = index(&key)
                .map_err(|error| format!("value was not a proper array index: '{key}': {error}"))?;
            let room = i64::try_from(items.len()).unwrap_or(i64::MAX).saturating_add(1);
            let at = if index < 0 { index.saturating_add(room) } else { index };
            match usize::try_from(at) {
                Ok(at) if at <= items.len() => items.insert(at, value),
                _ => {
                    return Err(format!("Unable to access invalid index: {index}: invalid index referenced"));
                }
            }
        }
        _ => {}
    }
    Ok(())
}

fn take(container: &mut Value, key: &str) -> Result<Value, String> {
    match container {
        Value::Object(map) => {
            map.remove(key).ok_or_else(|| format!("Unable to remove nonexistent key: {key}: {MISSING}"))
        }
        Value::Array(items) => Ok(items.remove(place(items, key)?)),
        _ => Ok(Value::Null),
    }
}

/// How deep a value is: one without parts is 0.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// How many bytes a value has as Go writes it.
fn written(value: &Value) -> usize {
    let mut out = String::new();
    go::json(&mut out, value);
    out.len()
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
