//! Patches of all kinds, and configurations that are applied.

use std::collections::BTreeSet;

use podium_fieldmanager::managed;
use podium_fieldmanager::patch::{self, JsonError, StrategicError};
use podium_meta::{FieldError, GroupVersionKind};
use podium_resources::kinds;
use podium_schema::Source;
use serde_json::{Map, Value, json};

use crate::model::{self, Format};
use crate::query::{PatchType, Strictness};
use crate::refusal::{Outcome, Refusal};
use crate::write::{Write, Written};
use crate::{meta, shown};

const JSON: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

/// What kind of patch the client says it sends.
pub fn patch_type(content_type: &str, custom: bool) -> Outcome<PatchType> {
    match content_type.split(';').next().unwrap_or_default().trim() {
        JSON => Ok(PatchType::Json),
        MERGE => Ok(PatchType::Merge),
        STRATEGIC if !custom => Ok(PatchType::Strategic),
        APPLY => Ok(PatchType::Apply),
        _ if custom => Err(Refusal::unsupported_media(&[JSON, MERGE, APPLY])),
        _ => {
            let mut refusal = Refusal::new(415, "UnsupportedMediaType", "415: Unsupported Media Type");
            refusal.details = Some(json!({}));
            Err(refusal)
        }
    }
}

/// A patch that was read.
pub enum Patch {
    /// Operations.
    Json(Value),
    /// A merge, and what was there twice.
    Merge(Value),
    /// A strategic merge.
    Strategic(Map<String, Value>),
    /// A configuration.
    Apply(Value),
}

impl Patch {
    /// Reads the body of a patch.
    pub fn read(kind: PatchType, body: &[u8]) -> Outcome<Self> {
        let json = |prefix: &str| -> Outcome<Value> {
            serde_json::from_slice(body)
                .map_err(|error| Refusal::bad_request(format!("{prefix}{}", decode_error(body, &error))))
        };
        match kind {
            PatchType::Json => {
                let value = json("error decoding patch: ")?;
                if !value.is_array() && !value.is_null() {
                    let why = format!(
                        "json: cannot unmarshal {} into Go value of type []handlers.jsonPatchOp",
                        type_name(&value)
                    );
                    return Err(Refusal::bad_request(format!("error decoding patch: {why}")));
                }
                Ok(Self::Json(value))
            }
            PatchType::Merge => match json("error decoding patch: ")? {
                value @ Value::Object(_) => Ok(Self::Merge(value)),
                Value::Null => Ok(Self::Merge(Value::Null)),
                other => Err(Refusal::bad_request(format!(
                    "error decoding patch: json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
                    type_name(&other)
                ))),
            },
            PatchType::Strategic => match json("")? {
                Value::Object(map) => Ok(Self::Strategic(map)),
                Value::Null => Ok(Self::Strategic(Map::new())),
                other => Err(Refusal::bad_request(format!(
                    "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
                    type_name(&other)
                ))),
            },
            PatchType::Apply => {
                let wrong = |why: String| Refusal::bad_request(format!("error decoding YAML: {why}"));
                let text = model::yaml_to_json(body).map_err(wrong)?;
                let value: Value = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
                match value {
                    Value::Object(_) => Ok(Self::Apply(value)),
                    Value::Null => Ok(Self::Apply(json!({}))),
                    other => Err(wrong(format!(
                        "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
                        type_name(&other)
                    ))),
                }
            }
        }
    }

    /// The objects and lists of a live object that it goes through.
    pub fn touched(&self, live: &Value) -> BTreeSet<String> {
        let mut all = BTreeSet::from([String::new()]);
        match self {
            Self::Json(operations) => {
                for operation in operations.as_array().into_iter().flatten() {
                    let text = |key: &str| operation.get(key).and_then(Value::as_str);
                    for path in ["path", "from"].into_iter().filter_map(text) {
                        all.extend(
                            path.match_indices('/').filter_map(|(at, _)| path.get(..at)).map(str::to_owned),
                        );
                    }
                    if let (Some("copy" | "move"), Some(from), Some(path)) =
                        (text("op"), text("from"), text("path"))
                    {
                        carried(&mut all, from, path);
                    }
                }
            }
            Self::Merge(patch) => merged(live, patch, "", &mut all),
            Self::Strategic(_) | Self::Apply(_) => {}
        }
        all
    }

    /// What it makes of a live object of a kind: a value that was not read as an object yet.
    pub fn of(&self, kind: &GroupVersionKind, live: &Value) -> Outcome<Value> {
        match self {
            Self::Json(operations) => patch::json(live.clone(), operations).map_err(|error| match error {
                JsonError::NotAPatch(..) => Refusal::bad_request(error.to_string()),
                JsonError::TooMany(_) => Refusal::too_large(error),
                _ => {
                    let mut refusal = Refusal::new(
                        422,
                        "Invalid",
                        "the server rejected our request due to an error in our request",
                    );
                    refusal.details = Some(json!({}));
                    refusal
                }
            }),
            Self::Merge(patch) => patch::merge(live.clone(), patch.clone())
                .map_err(|error| Refusal::bad_request(error.to_string())),
            Self::Strategic(patch) => {
                let shape = kinds().shape_of(kind);
                let (Some(shape), Some(live)) = (shape, live.as_object()) else {
                    return Err(Refusal::internal("there is no such type"));
                };
                let names = |_| None;
                patch::strategic(kinds().shapes(), shape, &names, live.clone(), patch.clone())
                    .map(Value::Object)
                    .map_err(|error| match error {
                        StrategicError::DeleteFormat
                        | StrategicError::RetainFormat
                        | StrategicError::OrderFormat => Refusal::bad_request(error.to_string()),
                        StrategicError::ListOfLists => {
                            let mut refusal = Refusal::new(
                                422,
                                "Invalid",
                                "the server rejected our request due to an error in our request",
                            );
                            refusal.details = Some(json!({}));
                            refusal
                        }
                        StrategicError::Failed(_) => Refusal::failed(error.to_string()),
                    })
            }
            Self::Apply(_) => Ok(live.clone()),
        }
    }
}

/// How many places are remembered as gone through before copies of them are no longer told apart.
const MOST_TOUCHED: usize = 10_000;

/// What is copied or moved is as much taken apart where it comes to as it was where it comes from.
fn carried(touched: &mut BTreeSet<String>, from: &str, path: &str) {
    if touched.len() < MOST_TOUCHED {
        let below = |place: &String| {
            let rest = place.strip_prefix(from)?;
            (rest.is_empty() || rest.starts_with('/')).then(|| format!("{path}{rest}"))
        };
        let more: Vec<String> = touched.iter().filter_map(below).collect();
        touched.extend(more);
    }
}

impl Write<'_> {
    /// Applies a patch to the object.
    pub async fn patch(&mut self, patch: &Patch) -> Outcome<(Written, bool)> {
        let creates = matches!(patch, Patch::Apply(_)) && self.may_create();
        self.change(creates, |write, live| match (patch, live) {
            (Patch::Apply(config), live) => write.apply(live, config),
            (_, None) => Err(Refusal::not_found(write.resource, &write.place.name)),
            (patch, Some(live)) => {
                let patched = patch.of(&write.resource.kind, live)?;
                let shown = || match patch {
                    Patch::Strategic(map) => podium_fieldmanager::plain(&Value::Object(map.clone())),
                    _ if write.resource.custom.is_some() => patched.to_string(),
                    patch => shown::text(&write.resource.text(live), &patched, &patch.touched(live)),
                };
                let strategic = matches!(patch, Patch::Strategic(_));
                let new = write.reread(&patched, &shown, strategic)?;
                write.owned(Some(live), new)
            }
        })
        .await
    }

    /// An object that has lost its version: the server reads it into a type that has none of its fields.
    fn unread(&mut self, patched: &Value, shown: &dyn Fn() -> String) -> Outcome<Value> {
        let keys = patched.as_object().into_iter().flatten().map(|(key, _)| key.as_str());
        let unknown: Vec<String> = keys
            .filter(|key| !matches!(*key, "apiVersion" | "kind"))
            .map(|key| format!("unknown field {key:?}"))
            .collect();
        match self.options.strictness {
            Strictness::Strict if !unknown.is_empty() => {
                let why = format!("strict decoding error: {}", unknown.join(", "));
                return Err(invalid_patch(&shown(), &why));
            }
            Strictness::Warn => self.warnings.extend(unknown),
            _ => {}
        }
        Ok(
            json!({"apiVersion": self.resource.kind.api_version(), "kind": self.resource.kind.kind, "metadata": {}}),
        )
    }

    /// Reads a patched value as an object, with the complaints of strict reading.
    fn reread(&mut self, patched: &Value, shown: &dyn Fn() -> String, strategic: bool) -> Outcome<Value> {
        let kind = &self.resource.kind;
        self.given = self.resource.custom.is_none().then(|| patched.clone());
        let mut wrapped;
        let patched = if strategic {
            wrapped = patched.clone();
            podium_resources::stored::wrap_numbers(kind, &mut wrapped);
            &wrapped
        } else {
            patched
        };
        let text = patched.to_string();
        let given = match &self.resource.custom {
            Some(_) if patched.get("kind").is_none_or(|kind| kind == "") => {
                return Err(invalid_patch(&shown(), &format!("Object 'Kind' is missing in '{text}'")));
            }
            Some(_) if patched.get("apiVersion").is_none_or(|version| version == "") => {
                let why = "Object 'apiVersion' is missing in 'object has no apiVersion field'";
                return Err(Refusal::internal(why));
            }
            Some(custom) => {
                custom.decode(text.as_bytes(), Format::Json, kind, Source::Sent).map_err(|refusal| {
                    let handled = format!(" cannot be handled as a {}: ", kind.kind);
                    match refusal.message.split_once(&handled) {
                        Some((_, why)) => invalid_patch(&shown(), why),
                        None => refusal,
                    }
                })?
            }
            None => {
                let said = |key: &str| patched.get(key).and_then(Value::as_str).unwrap_or_default();
                if said("apiVersion").is_empty() && said("kind") == kind.kind {
                    return self.unread(patched, shown);
                }
                let said = GroupVersionKind::new(said("apiVersion"), said("kind"));
                if said.kind != kind.kind && !said.kind.is_empty() || said.api_version() != kind.api_version()
                {
                    return model::decode_built_in(text.as_bytes(), Format::Json, kind)
                        .map(|given| given.object);
                }
                let read = podium_resources::stored::decode(text.as_bytes(), kind);
                let read = read.map_err(|error| {
                    let why = error.to_string();
                    let why = if strategic { converted(&why).unwrap_or(why) } else { why };
                    invalid_patch(&shown(), &why)
                })?;
                model::Given { object: read.value, strict: read.strict }
            }
        };
        if !given.strict.is_empty() {
            match self.options.strictness {
                Strictness::Ignore => {}
                Strictness::Warn => self.warnings.extend(given.strict),
                Strictness::Strict => {
                    let why = format!("strict decoding error: {}", given.strict.join(", "));
                    return Err(invalid_patch(&shown(), &why));
                }
            }
        }
        Ok(given.object)
    }

    /// What an applied configuration makes of the live object.
    fn apply(&mut self, live: Option<&Value>, config: &Value) -> Outcome<Value> {
        let part = self.place.part.as_str();
        let kind = &self.resource.kind;
        let version = kind.api_version();
        let tracked = self.resource.tracked(part);
        let scope = model::scope(self.resource, &tracked, &version, part, &self.now);
        let force = self.options.force.unwrap_or(false);
        let applied =
            managed::apply(&scope, live, config, &self.options.manager, force).map_err(not_applied)?;
        let mut merged = applied.object;
        if live.is_none() && !meta::text(&merged, "uid").is_empty() {
            let why = format!(
                "uid mismatch: the provided object specified uid {}, and no existing object was found",
                meta::text(&merged, "uid")
            );
            return Err(Refusal::conflict(self.resource, &self.place.name, &why));
        }
        if let Some(live) = live
            && !applied.changed
        {
            meta::keep(&mut merged, live, "resourceVersion");
        }
        self.given = self.resource.custom.is_none().then(|| merged.clone());
        let text = merged.to_string();
        let given = match &self.resource.custom {
            Some(custom) => custom.decode(text.as_bytes(), Format::Json, kind, Source::Applied)?,
            None => {
                podium_resources::stored::wrap_numbers(kind, &mut merged);
                let text = merged.to_string();
                let read = podium_resources::stored::decode(text.as_bytes(), kind);
                let read = read.map_err(|error| {
                    Refusal::failed(format!(
                        "failed to convert new object ({}/{}; {}) to proper version: {error}",
                        meta::text(&merged, "namespace"),
                        meta::text(&merged, "name"),
                        kind
                    ))
                })?;
                model::Given { object: read.value, strict: read.strict }
            }
        };
        Ok(given.object)
    }
}

/// Why a configuration was not applied.
pub fn not_applied(error: managed::Error) -> Refusal {
    match error {
        managed::Error::BadRequest(message) => Refusal::bad_request(message),
        managed::Error::Failed(message) => Refusal::failed(message),
        managed::Error::Conflict(conflicts) => {
            let cause = |cause: managed::Cause| json!({"reason": "FieldManagerConflict", "message": cause.message, "field": cause.field});
            let causes = conflicts.causes().into_iter().map(cause).collect();
            let mut refusal = Refusal::new(409, "Conflict", conflicts.to_string());
            refusal.details = Some(json!({}));
            refusal.with_causes(causes)
        }
    }
}

/// What the server says of a value of another type in a strategic patch, which it reads in another way than a body; of
/// types without parts, lists and maps.
fn converted(why: &str) -> Option<String> {
    let rest = why.strip_prefix("json: cannot unmarshal ")?;
    let (value, rest) = rest.split_once(" into Go ")?;
    let (_, kind) = rest.split_once(" of type ")?;
    let value = match value.split_once(' ') {
        Some(("number", number)) if number.contains(['.', 'e', 'E']) => "float64",
        Some(("number", _)) => "int64",
        _ if value == "number" => "int64",
        _ if value == "array" => "slice",
        _ if value == "object" => "map",
        _ => value,
    };
    let number = matches!(value, "int64" | "float64");
    match kind {
        "int32" | "int64" | "float64" | "string" if number => {
            Some(format!("cannot convert {value} to {kind}"))
        }
        "int32" | "int64" | "float64" | "string" | "bool" => Some(format!("unrecognized type: {kind}")),
        _ if kind.starts_with("[]") => Some(format!("cannot restore slice from {value}")),
        _ if kind.starts_with("map[") => Some(format!("cannot restore map from {value}")),
        _ => None,
    }
}

/// The objects that are merged into.
fn merged(live: &Value, patch: &Value, at: &str, all: &mut BTreeSet<String>) {
    for (key, value) in patch.as_object().into_iter().flatten() {
        if let Some(inner) = live.get(key).filter(|inner| inner.is_object() && value.is_object()) {
            let at = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
            all.insert(at.clone());
            merged(inner, value, &at, all);
        }
    }
}

/// A patch whose result is no object of the kind.
pub fn invalid_patch(shown: &str, why: &str) -> Refusal {
    Refusal::invalid("", "", "", &[FieldError::invalid("patch", &shown.into(), why)])
}

/// Go's name for the type of a JSON value.
fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// What Go says of JSON that is none.
pub fn decode_error(body: &[u8], error: &serde_json::Error) -> String {
    podium_goyaml::json::parse(body, 0).map_or_else(|error| error.to_string(), |_| error.to_string())
}
