//! The entries of `metadata.managedFields`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use podium_meta::time;
use serde_json::{Map, Value};

use crate::go;
use crate::set::{FieldSet, NotASet};

/// How somebody came to own fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// By an applied configuration.
    Apply,
    /// By any other write.
    Update,
}

impl Operation {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Operation::Apply => "Apply",
            Operation::Update => "Update",
        }
    }
}

/// Somebody who owns fields, and which.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner<'a> {
    /// The name of the field manager.
    pub manager: Cow<'a, str>,
    /// How the fields came.
    pub operation: Operation,
    /// The part of the object's address that was written to; empty is the object itself.
    pub subresource: Cow<'a, str>,
    /// The version in which the fields are told.
    pub version: Cow<'a, str>,
    /// The fields.
    pub fields: FieldSet<'a>,
}

impl Owner<'_> {
    /// What tells owners apart; the order of conflicts is the order of these texts.
    pub(crate) fn id(&self) -> String {
        let version = if self.operation == Operation::Update { &self.version } else { "" };
        let parts = [
            ("manager", &*self.manager),
            ("operation", self.operation.word()),
            ("apiVersion", version),
            ("subresource", &*self.subresource),
        ];
        let mut out = String::from("{");
        for (key, value) in parts.into_iter().filter(|(_, value)| !value.is_empty()) {
            if out.len() > 1 {
                out.push(',');
            }
            go::json_text(&mut out, key, true);
            out.push(':');
            go::json_text(&mut out, value, true);
        }
        out.push('}');
        out
    }
}

/// All owners of an object's fields, by what tells them apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Owners<'a> {
    pub(crate) all: BTreeMap<String, Owner<'a>>,
    /// When each last changed something, as the stored text; kept for owners that come back.
    pub(crate) times: BTreeMap<String, Option<String>>,
}

/// Why managed fields cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// The operation is neither of the two.
    #[error("operation must be `Apply` or `Update`")]
    Operation,
    /// There is no version.
    #[error("apiVersion must not be empty")]
    Version,
    /// The form of the fields is not told.
    #[error("missing fieldsType in managed fields entry {0}")]
    NoType(usize),
    /// The form of the fields is not known.
    #[error("invalid fieldsType {1} in managed fields entry {0}")]
    Type(usize, String),
    /// A part is of the wrong type.
    #[error("managed fields entry {0} is malformed")]
    Malformed(usize),
    /// The fields are not a set.
    #[error("error decoding set: {0}")]
    Set(#[from] NotASet),
}

impl<'a> Owners<'a> {
    /// Reads `metadata.managedFields`.
    pub fn read(entries: &'a Value) -> Result<Self, Unreadable> {
        let mut owners = Owners::default();
        for (at, entry) in entries.as_array().into_iter().flatten().enumerate() {
            let (owner, time) = read(at, entry)?;
            let id = owner.id();
            owners.times.insert(id.clone(), time);
            owners.all.insert(id, owner);
        }
        Ok(owners)
    }

    /// Whether nobody owns anything.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The owners with the times of their last change, in the order of `metadata.managedFields`.
    pub fn sorted(&self) -> Vec<(&Owner<'a>, Option<&str>)> {
        let mut out: Vec<_> = self.all.iter().map(|(id, owner)| (owner, self.time(id))).collect();
        out.sort_by(|(a, at), (b, bt)| {
            let order = |owner: &Owner<'_>, time: Option<&str>| (owner.operation, seconds(time));
            let names = |owner: &'_ Owner<'a>| -> [Cow<'a, str>; 3] {
                [owner.manager.clone(), owner.version.clone(), owner.subresource.clone()]
            };
            order(a, *at).cmp(&order(b, *bt)).then_with(|| names(a).cmp(&names(b)))
        });
        out
    }

    pub(crate) fn time(&self, id: &str) -> Option<&str> {
        self.times.get(id).and_then(Option::as_deref)
    }

    /// `metadata.managedFields`.
    pub fn to_value(&self) -> Value {
        let entry = |(owner, time): (&Owner<'a>, Option<&str>)| {
            let mut entry = Map::new();
            let texts = [
                ("manager", &*owner.manager),
                ("operation", owner.operation.word()),
                ("apiVersion", &*owner.version),
                ("time", time.unwrap_or_default()),
                ("fieldsType", "FieldsV1"),
                ("subresource", &*owner.subresource),
            ];
            for (key, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
                entry.insert(key.to_owned(), Value::String(text.to_owned()));
            }
            entry.insert("fieldsV1".to_owned(), owner.fields.to_value());
            Value::Object(entry)
        };
        Value::Array(self.sorted().into_iter().map(entry).collect())
    }
}

pub(crate) fn seconds(time: Option<&str>) -> i64 {
    time.and_then(time::parse_seconds).unwrap_or(0)
}

fn read(at: usize, entry: &Value) -> Result<(Owner<'_>, Option<String>), Unreadable> {
    let entry = entry.as_object().ok_or(Unreadable::Malformed(at))?;
    let text = |key: &str| match entry.get(key) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text.as_str()),
        Some(_) => Err(Unreadable::Malformed(at)),
    };
    let operation = match text("operation")? {
        "Apply" => Operation::Apply,
        "Update" => Operation::Update,
        _ => return Err(Unreadable::Operation),
    };
    let version = text("apiVersion")?;
    if version.is_empty() {
        return Err(Unreadable::Version);
    }
    match text("fieldsType")? {
        "FieldsV1" => {}
        "" => return Err(Unreadable::NoType(at)),
        other => return Err(Unreadable::Type(at, go::quote(other))),
    }
    let time = match text("time")? {
        "" => None,
        given => Some(time::format_seconds(time::parse_seconds(given).ok_or(Unreadable::Malformed(at))?)),
    };
    let fields = match entry.get("fieldsV1") {
        None | Some(Value::Null) => FieldSet::default(),
        Some(fields) => FieldSet::read(fields)?,
    };
    let owner = Owner {
        manager: Cow::Borrowed(text("manager")?),
        operation,
        subresource: Cow::Borrowed(text("subresource")?),
        version: Cow::Borrowed(version),
        fields,
    };
    Ok((owner, time))
}

/// Whether managed fields are a list of entries, whatever these say; all else is taken as nothing.
pub(crate) fn are_entries(entries: &Value) -> bool {
    let texts = ["manager", "operation", "apiVersion", "fieldsType", "subresource"];
    let entry = |entry: &Value| {
        let text = |key: &str| entry.get(key).is_none_or(|value| value.is_null() || value.is_string());
        let time = entry.get("time").filter(|time| !time.is_null());
        entry.is_object()
            && texts.into_iter().all(text)
            && time.is_none_or(|time| time.as_str().is_some_and(|time| time::parse_seconds(time).is_some()))
    };
    entries.as_array().is_some_and(|entries| entries.iter().all(entry))
}

/// Whether managed fields, as a request gives them, ask to forget all: an empty list, or one empty entry.
pub(crate) fn asks_to_forget(entries: &Value) -> bool {
    match entries.as_array().map(Vec::as_slice) {
        Some([]) => true,
        Some([Value::Object(only)]) => only.values().all(|value| value.is_null() || value == ""),
        _ => false,
    }
}
