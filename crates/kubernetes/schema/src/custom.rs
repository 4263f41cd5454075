//! What becomes of a custom resource on its way into the store.

use podium_meta::{ErrorType, FieldError};
use serde_json::{Map, Value};

use crate::expressions::{Language, Rules, Verdict};
use crate::go;
use crate::metadata::{self, Naming};
use crate::names;
use crate::path::Path;
use crate::structural::Structural;
use crate::version::order;

/// One version of a kind that a definition makes.
#[derive(Debug)]
pub struct Custom {
    api_version: String,
    kind: String,
    namespaced: bool,
    schema: Option<Structural>,
    rules: Option<Rules>,
    status: bool,
    scale: Option<Scale>,
    deprecation: Option<String>,
}

/// Where an object comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A client has sent it.
    Sent,
    /// A configuration that was applied has made it: a null in it is meant, or is what was left of a map.
    Applied,
    /// The store.
    Stored,
}

/// Where a kind keeps its numbers of replicas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Where the wanted number is: `.spec.replicas`.
    pub spec: String,
    /// Where the present number is.
    pub status: String,
    /// Where the selector of its pods is.
    pub selector: Option<String>,
}

impl Scale {
    /// The scale subresource of a version.
    pub fn of(version: &Value) -> Option<Self> {
        let scale = version.pointer("/subresources/scale")?.as_object()?;
        let text = |name: &str| scale.get(name).and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            spec: text("specReplicasPath").unwrap_or_default(),
            status: text("statusReplicasPath").unwrap_or_default(),
            selector: text("labelSelectorPath"),
        })
    }
}

impl Custom {
    /// A version of a definition; an error says why the server could not serve it.
    pub fn new(definition: &Value, version: &str, language: Option<&dyn Language>) -> Result<Self, String> {
        let text =
            |path: &str| definition.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
        let versions = definition.pointer("/spec/versions").and_then(Value::as_array);
        let found = versions
            .into_iter()
            .flatten()
            .find(|one| one.get("name").and_then(Value::as_str) == Some(version));
        let found = found.ok_or_else(|| format!("no version {version}"))?;
        let schema = found.pointer("/schema/openAPIV3Schema").filter(|schema| schema.is_object());
        let schema = schema.map(Structural::compile).transpose()?;
        let rules = schema.as_ref().zip(language).and_then(|(schema, language)| schema.rules(language));
        Ok(Self {
            api_version: format!("{}/{version}", text("/spec/group")),
            kind: text("/spec/names/kind"),
            namespaced: text("/spec/scope") == "Namespaced",
            schema,
            rules,
            status: found.pointer("/subresources/status").is_some_and(|status| !status.is_null()),
            scale: Scale::of(found),
            deprecation: deprecation(definition, found),
        })
    }

    /// What everybody is told who uses the version, if it is deprecated.
    pub fn deprecation(&self) -> Option<&str> {
        self.deprecation.as_deref()
    }

    /// The schema of the version.
    pub fn schema(&self) -> Option<&Structural> {
        self.schema.as_ref()
    }

    /// Where the numbers of replicas are.
    pub fn scale(&self) -> Option<&Scale> {
        self.scale.as_ref()
    }

    /// Whether the status is written on its own.
    pub fn has_status(&self) -> bool {
        self.status
    }

    /// Makes an object what the version says: metadata is read and written back, unknown fields and empty nulls go,
    /// defaults come. Names of unknown fields come back. From the store, broken metadata is dropped instead of refused,
    /// and a generation is made up where there is none.
    pub fn decode(&self, object: &mut Value, source: Source) -> Result<Vec<String>, String> {
        let stored = source == Source::Stored;
        let Value::Object(fields) = object else { return Err("object expected".to_owned()) };
        let kind = text_field(fields, "kind")?;
        let api_version = text_field(fields, "apiVersion")?;
        let metadata =
            fields.get("metadata").map(|metadata| metadata::decode(metadata, stored)).transpose()?;
        if api_version != "/" && api_version.matches('/').count() > 1 {
            return Err(format!("unexpected GroupVersion string: {api_version}"));
        }
        let mut unknown: Vec<String> = Vec::new();
        if let Some(metadata) = &metadata {
            unknown.extend(metadata.unknown.iter().map(|path| format!("metadata.{path}")));
        }
        let ours = api_version == self.api_version && kind == self.kind;
        if ours && let Some(schema) = &self.schema {
            unknown.extend(schema.prune(object));
            if source != Source::Applied {
                schema.prune_nulls(object);
            }
            unknown.extend(schema.coerce(object, stored).map_err(|flaw| flaw.to_string())?);
        }
        if let (Some(mut metadata), Value::Object(fields)) = (metadata, &mut *object) {
            if stored
                && ours
                && let Value::Object(metadata) = &mut metadata.value
            {
                metadata.entry("generation").or_insert_with(|| 1.into());
            }
            fields.insert("metadata".to_owned(), metadata.value);
        }
        if ours && let Some(schema) = &self.schema {
            schema.default(object);
        }
        Ok(unknown)
    }

    /// Makes an object of another version of the kind one of this version, as definitions do that convert nothing.
    pub fn convert(&self, object: &mut Value) -> Result<(), String> {
        if let Value::Object(fields) = object {
            fields.insert("apiVersion".to_owned(), self.api_version.as_str().into());
        }
        self.decode(object, Source::Sent).map(drop)
    }

    /// Prepares a new object.
    pub fn prepare_create(&self, object: &mut Value) {
        let Value::Object(fields) = object else { return };
        if self.status {
            fields.remove("status");
        }
        set_generation(fields, 1);
    }

    /// Prepares an object that replaces another: the status is kept, and every change but to the metadata counts.
    pub fn prepare_update(&self, new: &mut Value, old: &Value) {
        let (Value::Object(fields), Value::Object(before)) = (new, old) else { return };
        if self.status {
            match before.get("status") {
                Some(status) => _ = fields.insert("status".to_owned(), status.clone()),
                None => _ = fields.remove("status"),
            }
        }
        let rest = |fields: &Map<String, Value>| {
            fields
                .iter()
                .filter(|(name, _)| *name != "metadata")
                .map(|(n, v)| (n.clone(), v.clone()))
                .collect()
        };
        let (now, then): (Map<String, Value>, Map<String, Value>) = (rest(fields), rest(before));
        if now != then {
            let generation = old.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or_default();
            set_generation(fields, generation.saturating_add(1));
        }
    }

    /// Prepares a write of the status: everything else is kept, but for who manages which field.
    pub fn prepare_status(&self, new: &mut Value, old: &Value) {
        let mut kept = old.clone();
        if let Value::Object(fields) = &mut kept {
            match new.get("status") {
                Some(status) => _ = fields.insert("status".to_owned(), status.clone()),
                None => _ = fields.remove("status"),
            }
            if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
                match new.pointer("/metadata/managedFields") {
                    Some(managers) => _ = metadata.insert("managedFields".to_owned(), managers.clone()),
                    None => _ = metadata.remove("managedFields"),
                }
            }
        }
        *new = kept;
    }

    /// What is wrong with a new object.
    pub fn validate_create(&self, new: &Value) -> Verdict {
        let mut flaws = self.says_itself(new);
        if flaws.is_empty() {
            let naming: Naming<'_> = &name_rule;
            flaws.extend(metadata::on_create(meta(new), self.namespaced, naming, &Path::new("metadata")));
            flaws.extend(self.schema.iter().flat_map(|schema| schema.check(new, None)));
            flaws.extend(self.scale_spec(new));
            flaws.extend(self.scale_status(new));
        }
        flaws.extend(self.schema.iter().flat_map(|schema| schema.embedded(new)));
        flaws.extend(self.schema.iter().flat_map(|schema| schema.repeated(new, None)));
        self.ask(new, None, flaws)
    }

    /// What is wrong with an object that replaces another.
    pub fn validate_update(&self, new: &Value, old: &Value) -> Verdict {
        let mut flaws = self.says_itself(new);
        if flaws.is_empty() {
            flaws.extend(metadata::on_update(meta(new), meta(old), &Path::new("metadata")));
            flaws.extend(self.schema.iter().flat_map(|schema| schema.check(new, Some(old))));
            flaws.extend(self.scale_spec(new));
            flaws.extend(self.scale_status(new));
        }
        flaws.extend(self.schema.iter().flat_map(|schema| schema.embedded(new)));
        flaws.extend(self.schema.iter().flat_map(|schema| schema.repeated(new, Some(old))));
        self.ask(new, Some(old), flaws)
    }

    /// What is wrong with a write of the status.
    pub fn validate_status(&self, new: &Value, old: &Value) -> Verdict {
        let mut flaws = self.says_itself(new);
        if flaws.is_empty() {
            flaws.extend(metadata::on_update(meta(new), meta(old), &Path::new("metadata")));
            if let (Some(schema), Some(status)) = (&self.schema, new.get("status")) {
                flaws.extend(schema.check_status(status, Some(old.get("status").unwrap_or(&Value::Null))));
            }
            flaws.extend(self.scale_status(new));
        }
        flaws.extend(self.schema.iter().flat_map(|schema| schema.repeated(new, Some(old))));
        self.ask(new, Some(old), flaws)
    }

    /// What is worth saying about finalizers that a write adds.
    pub fn warnings(&self, new: &Value, old: Option<&Value>) -> Vec<String> {
        let all = |object: &Value| -> Vec<String> {
            let list = object.pointer("/metadata/finalizers").and_then(Value::as_array);
            list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let before = old.map(all).unwrap_or_default();
        let mut fresh: Vec<String> = all(new).into_iter().filter(|name| !before.contains(name)).collect();
        fresh.sort_unstable();
        fresh.dedup();
        fresh.iter().flat_map(|name| finalizer_warnings(name)).collect()
    }

    fn ask(&self, new: &Value, old: Option<&Value>, flaws: Vec<FieldError>) -> Verdict {
        let mut verdict = match (&self.schema, &self.rules) {
            (Some(schema), Some(rules)) => schema.ask(rules, new, old, &flaws),
            _ => Verdict::default(),
        };
        let mut all = flaws;
        all.append(&mut verdict.flaws);
        Verdict { flaws: all, warnings: verdict.warnings }
    }

    /// The object has to say that it is of this kind and version.
    fn says_itself(&self, object: &Value) -> Vec<FieldError> {
        let wanted = [("kind", &self.kind), ("apiVersion", &self.api_version)];
        let wrong = wanted.into_iter().filter_map(|(name, wanted)| {
            let found = object.get(name).and_then(Value::as_str).unwrap_or_default();
            let detail = format!("must be {wanted}");
            (found != wanted).then(|| FieldError::new(ErrorType::Invalid, name, &go::quote(found), &detail))
        });
        wrong.collect()
    }

    fn scale_spec(&self, object: &Value) -> Vec<FieldError> {
        self.scale.iter().flat_map(|scale| replicas(object, &scale.spec)).collect()
    }

    fn scale_status(&self, object: &Value) -> Vec<FieldError> {
        let Some(scale) = &self.scale else { return Vec::new() };
        let mut flaws = replicas(object, &scale.status);
        if let Some(path) = &scale.selector {
            let odd = match nested(object, path) {
                Ok(None | Some(Value::String(_))) => None,
                Ok(Some(value)) => Some(accessor(&steps(path), value, "string")),
                Err(error) => Some(error),
            };
            flaws.extend(odd.map(|error| FieldError::new(ErrorType::Invalid, path.as_str(), "\"\"", &error)));
        }
        flaws
    }
}

/// What is said of a deprecated version: its own words, or what to use instead.
fn deprecation(definition: &Value, version: &Value) -> Option<String> {
    let flag = |version: &Value, name: &str| version.get(name) == Some(&Value::Bool(true));
    if !flag(version, "deprecated") {
        return None;
    }
    if let Some(warning) = version.get("deprecationWarning").and_then(Value::as_str) {
        return Some(warning.to_owned());
    }
    let text = |path: &str| definition.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let name = |version: &Value| version.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let (group, kind) = (text("/spec/group"), text("/spec/names/kind"));
    let this = name(version);
    let all = definition.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten();
    let better = all.filter(|other| flag(other, "served") && !flag(other, "deprecated")).map(name);
    let better = better.filter(|other| order(&this, other).is_lt()).max_by(|a, b| order(a, b));
    let instead = better.map(|other| format!("; use {group}/{other} {kind}")).unwrap_or_default();
    Some(format!("{group}/{this} {kind} is deprecated{instead}"))
}

/// Says that rules were not asked, if there are flaws of the kinds that make them pointless.
pub fn blocked(flaws: &[FieldError]) -> Option<FieldError> {
    let blocking = [
        ErrorType::NotSupported,
        ErrorType::Required,
        ErrorType::TooLong,
        ErrorType::TooMany,
        ErrorType::TypeInvalid,
    ];
    flaws.iter().any(|flaw| blocking.contains(&flaw.error_type)).then(|| {
        let detail = "some validation rules were not checked because the object was invalid; correct the existing \
                      errors to complete validation";
        FieldError::new(ErrorType::Invalid, "<nil>", "null", detail)
    })
}

fn meta(object: &Value) -> &Value {
    object.get("metadata").unwrap_or(&Value::Null)
}

fn name_rule(name: &str, prefix: bool) -> Vec<String> {
    names::subdomain(&masked(name, prefix))
}

/// The beginning of a name as a name: a dash at its end is followed by something.
pub fn masked(name: &str, prefix: bool) -> String {
    let cut = name.char_indices().rev().nth(1).map_or(0, |(at, _)| at);
    if prefix && name.len() > 1 && name.ends_with('-') {
        format!("{}a", name.get(..cut).unwrap_or_default())
    } else {
        name.to_owned()
    }
}

fn set_generation(fields: &mut Map<String, Value>, generation: i64) {
    if let Value::Object(metadata) = fields.entry("metadata").or_insert_with(|| Value::Object(Map::new())) {
        metadata.insert("generation".to_owned(), generation.into());
    }
}

/// The text of a field of an object; empty if there is none.
fn text_field(fields: &Map<String, Value>, name: &str) -> Result<String, String> {
    match fields.get(name) {
        None => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(other) => Err(accessor(&[name], other, "string")),
    }
}

fn steps(path: &str) -> Vec<&str> {
    path.strip_prefix('.').unwrap_or(path).split('.').collect()
}

/// The value at a path of names; an error if something in the way is no object.
fn nested<'a>(object: &'a Value, path: &str) -> Result<Option<&'a Value>, String> {
    let names = steps(path);
    let mut value = object;
    for (index, name) in names.iter().enumerate() {
        match value {
            Value::Null => return Ok(None),
            Value::Object(fields) => match fields.get(*name) {
                Some(field) => value = field,
                None => return Ok(None),
            },
            other => {
                let way = names.get(..=index).unwrap_or(&names);
                return Err(accessor(way, other, "map[string]interface{}"));
            }
        }
    }
    Ok(Some(value))
}

fn accessor(way: &[&str], found: &Value, wanted: &str) -> String {
    let kind = match found {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    };
    format!(
        ".{} accessor error: {} is of the type {kind}, expected {wanted}",
        way.join("."),
        go::plain(found)
    )
}

fn replicas(object: &Value, path: &str) -> Vec<FieldError> {
    let number = match nested(object, path) {
        Ok(None) => Ok(0),
        Ok(Some(value)) => value.as_i64().ok_or_else(|| accessor(&steps(path), value, "int64")),
        Err(error) => Err(error),
    };
    let (shown, detail) = match number {
        Err(error) => (0, error),
        Ok(number) if number < 0 => (number, "should be a non-negative integer".to_owned()),
        Ok(number) if number > i64::from(i32::MAX) => {
            (number, format!("should be less than or equal to {}", i32::MAX))
        }
        Ok(_) => return Vec::new(),
    };
    vec![FieldError::new(ErrorType::Invalid, path, &shown.to_string(), &detail)]
}

fn finalizer_warnings(name: &str) -> Vec<String> {
    let at = "metadata.finalizers";
    let quoted = go::quote(name);
    let mut all: Vec<String> =
        names::qualified(name).into_iter().map(|wrong| format!("{at}: {quoted}: {wrong}")).collect();
    if !name.contains('/') && !matches!(name, "orphan" | "foregroundDeletion" | "kubernetes") {
        let how = if name.contains('.') { " including a path (/)" } else { "" };
        all.push(format!(
            "{at}: {quoted}: prefer a domain-qualified finalizer name{how} to avoid accidental conflicts with other \
             finalizer writers"
        ));
    }
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn deprecated_versions_say_what_to_use_instead() {
        let version =
            |name: &str, deprecated: bool| json!({"name": name, "served": true, "deprecated": deprecated});
        let versions = [version("v1beta1", true), version("v1", false), version("v2alpha1", false)];
        let mut definition =
            json!({"spec": {"group": "ex.io", "names": {"kind": "Foo"}, "versions": versions}});
        let said = |definition: &Value, name: &str| {
            Custom::new(definition, name, None).unwrap().deprecation().map(str::to_owned)
        };
        let expected = "ex.io/v1beta1 Foo is deprecated; use ex.io/v1 Foo";
        assert_eq!(said(&definition, "v1beta1").as_deref(), Some(expected));
        assert_eq!(said(&definition, "v1"), None);
        definition["spec"]["versions"][1]["deprecated"] = true.into();
        assert_eq!(said(&definition, "v1").as_deref(), Some("ex.io/v1 Foo is deprecated"));
        definition["spec"]["versions"][0]["deprecationWarning"] = "go away".into();
        assert_eq!(said(&definition, "v1beta1").as_deref(), Some("go away"));
    }

    #[test]
    fn another_version_is_another_name_for_the_same_object() {
        let schema = |field: &str| {
            json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": {
                "kept": {"type": "string"}, field: {"type": "integer", "default": 7}}}}}})
        };
        let versions =
            json!([{"name": "v1", "schema": schema("one")}, {"name": "v2", "schema": schema("two")}]);
        let definition = json!({"spec": {"group": "ex.io", "names": {"kind": "Foo"}, "versions": versions}});
        let mut object = json!({"apiVersion": "ex.io/v1", "kind": "Foo", "metadata": {"name": "a"},
            "spec": {"kept": "x", "one": 1}});
        Custom::new(&definition, "v2", None).unwrap().convert(&mut object).unwrap();
        assert_eq!(object["apiVersion"], "ex.io/v2");
        assert_eq!(object["spec"], json!({"kept": "x", "two": 7}));
    }
}
