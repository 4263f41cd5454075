//! Kinds that users define.

use std::collections::BTreeMap;
use std::sync::Arc;

use podium_kinds::typed::json as typed;
use podium_kinds::{Writing, kinds, print};
use podium_objects::{Kind, time};
use podium_schema::from_structural;
use podium_schema::shape::{Shape, ShapeId, Shapes};
use serde_json::{Map, Value, json};

use crate::model::{Format, Given, yaml_to_json};
use crate::refusal::{Outcome, Refusal};
use crate::served::{Part, Resource, place};

/// What can be done with every kind that is defined.
pub const VERBS: &[&str] = &["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
const PART_VERBS: &[&str] = &["get", "patch", "update"];

/// A kind that is defined.
#[derive(Debug)]
pub struct Custom {
    /// The definition.
    pub definition: Value,
    /// The name of the definition.
    pub name: String,
    /// Its group.
    pub group: String,
    /// Its kind.
    pub kind: String,
    /// The name in addresses.
    pub plural: String,
    /// The versions that are served or stored.
    versions: BTreeMap<String, Version>,
    /// The version that is stored.
    storage: String,
    shapes: Shapes,
}

/// A version of it.
#[derive(Debug)]
struct Version {
    served: bool,
    shape: ShapeId,
    columns: Vec<Value>,
    status: bool,
    scale: Option<Value>,
    selectable: Vec<String>,
}

impl Custom {
    /// From its definition.
    pub fn new(definition: Value) -> Self {
        let text = |path: &str| definition.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut shapes = Shapes::default();
        let metadata = metadata_shape(&mut shapes);
        let mut versions = BTreeMap::new();
        let mut storage = String::new();
        let none = Value::Null;
        for version in definition.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten() {
            let name = version.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
            if version.get("storage").and_then(Value::as_bool).unwrap_or(false) {
                storage.clone_from(&name);
            }
            let schema = version.pointer("/schema/openAPIV3Schema").unwrap_or(&none);
            let list = |key: &str| version.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
            let selectable = list("selectableFields");
            let path = |field: &Value| {
                let path = field.get("jsonPath").and_then(Value::as_str)?;
                Some(path.trim_start_matches('.').to_owned())
            };
            versions.insert(
                name,
                Version {
                    served: version.get("served").and_then(Value::as_bool).unwrap_or(false),
                    shape: from_structural(&mut shapes, schema, metadata),
                    columns: list("additionalPrinterColumns"),
                    status: version.pointer("/subresources/status").is_some_and(|status| !status.is_null()),
                    scale: version.pointer("/subresources/scale").filter(|scale| !scale.is_null()).cloned(),
                    selectable: selectable.iter().filter_map(path).collect(),
                },
            );
        }
        Self {
            name: text("/metadata/name"),
            group: text("/spec/group"),
            kind: text("/spec/names/kind"),
            plural: text("/spec/names/plural"),
            versions,
            storage,
            shapes,
            definition,
        }
    }

    /// What is served of it.
    pub fn resources(self: &Arc<Self>) -> Vec<Resource> {
        let namespaced = self.is_namespaced();
        let verbs = |all: &[&str]| all.iter().map(|verb| (*verb).to_owned()).collect::<Vec<String>>();
        let stored =
            Kind { group: self.group.clone(), version: self.storage.clone(), kind: self.kind.clone() };
        let one = |(name, version): (&String, &Version)| {
            let kind = Kind { version: name.clone(), ..stored.clone() };
            let mut parts = Vec::new();
            if version.status {
                parts.push(Part { name: "status".to_owned(), kind: kind.clone(), verbs: verbs(PART_VERBS) });
            }
            if version.scale.is_some() {
                let kind = Kind::new("autoscaling/v1", "Scale");
                parts.push(Part { name: "scale".to_owned(), kind, verbs: verbs(PART_VERBS) });
            }
            Resource {
                plural: self.plural.clone(),
                namespaced,
                verbs: verbs(VERBS),
                parts,
                place: place(&self.group, &self.plural),
                stored: stored.clone(),
                writing: Writing { counted: true, unconditional: false, creates: false, orphans: false },
                custom: Some(Arc::clone(self)),
                kind,
            }
        };
        self.versions.iter().filter(|(_, version)| version.served).map(one).collect()
    }

    /// The versions that are served.
    pub fn served(&self) -> impl Iterator<Item = &str> {
        self.versions.iter().filter(|(_, version)| version.served).map(|(name, _)| name.as_str())
    }

    /// The names that it was given, once they were found to be free.
    pub fn accepted_names(&self) -> &Value {
        let accepted = self.definition.pointer("/status/acceptedNames");
        accepted.or_else(|| self.definition.pointer("/spec/names")).unwrap_or(&Value::Null)
    }

    /// Whether its objects live in namespaces.
    pub fn is_namespaced(&self) -> bool {
        self.definition.pointer("/spec/scope").and_then(Value::as_str) == Some("Namespaced")
    }

    /// Whether the status of a version is written through an address of its own.
    pub fn version_has_status(&self, version: &str) -> bool {
        self.versions.get(version).is_some_and(|version| version.status)
    }

    /// Whether a version has a number of replicas.
    pub fn version_has_scale(&self, version: &str) -> bool {
        self.versions.get(version).is_some_and(|version| version.scale.is_some())
    }

    /// The name of its schema: the group the other way round, the version, the kind.
    pub fn schema_name(&self, kind: &Kind) -> String {
        let group: Vec<&str> = self.group.rsplit('.').collect();
        format!("{}.{}.{}", group.join("."), kind.version, kind.kind)
    }

    /// Its schemas in an OpenAPI document.
    pub fn schemas(&self, kind: &Kind) -> Map<String, Value> {
        let version = self.definition.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten();
        let version = version.into_iter().find(|one| one.get("name").and_then(Value::as_str) == Some(&kind.version));
        let mut schema = version
            .and_then(|version| version.pointer("/schema/openAPIV3Schema"))
            .cloned()
            .unwrap_or_else(|| json!({"type": "object"}));
        if let Some(schema) = schema.as_object_mut() {
            let properties = schema.entry("properties").or_insert_with(|| json!({}));
            if let Some(properties) = properties.as_object_mut() {
                properties.insert("apiVersion".to_owned(), json!({"type": "string"}));
                properties.insert("kind".to_owned(), json!({"type": "string"}));
                let meta = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
                properties.insert("metadata".to_owned(), json!({"$ref": meta}));
            }
            let full = podium_kinds::openapi::full(kind);
            schema.insert("x-kubernetes-group-version-kind".to_owned(), json!([full]));
        }
        [(self.schema_name(kind), schema)].into_iter().collect()
    }

    fn version(&self, kind: &Kind) -> Option<&Version> {
        self.versions.get(&kind.version)
    }

    /// Reads a body.
    pub fn decode(&self, body: &[u8], format: Format, kind: &Kind) -> Outcome<Given> {
        let text;
        let body = match format {
            Format::Yaml => {
                text = yaml_to_json(body).map_err(Refusal::bad_request)?;
                text.as_bytes()
            }
            _ => body,
        };
        let none = Kind::default();
        let said = typed::kind_of(body, &none).map_err(|error| {
            Refusal::bad_request(format!(
                "the object provided is unrecognized (must be of type {}): {error}",
                kind.kind
            ))
        })?;
        let object: Value =
            serde_json::from_slice(body).map_err(|error| Refusal::bad_request(error.to_string()))?;
        if said.api_version() != kind.api_version() {
            return Err(Refusal::bad_request(format!(
                "the API version in the data ({}) does not match the expected API version ({})",
                said.api_version(),
                kind.api_version()
            )));
        }
        Ok(Given { object, strict: Vec::new() })
    }

    /// A stored object in another version.
    pub fn serve(&self, mut value: Value, kind: &Kind) -> Value {
        if let Some(object) = value.as_object_mut() {
            object.insert("apiVersion".to_owned(), kind.api_version().into());
        }
        value
    }

    /// An object in the version that is stored.
    pub fn keep(&self, value: Value) -> Value {
        let kind = Kind { group: self.group.clone(), version: self.storage.clone(), kind: self.kind.clone() };
        self.serve(value, &kind)
    }

    /// Whether stored bytes can be sent as they are.
    pub fn serves_as_stored(&self, kind: &Kind) -> bool {
        kind.version == self.storage
    }

    /// Whether lists can be narrowed by a field; an error is the server's.
    pub fn check_field(&self, kind: &Kind, field: &str) -> Result<(), String> {
        let own = self.version(kind).map(|version| version.selectable.as_slice()).unwrap_or_default();
        if matches!(field, "metadata.name" | "metadata.namespace") || own.iter().any(|one| one == field) {
            return Ok(());
        }
        Err(format!("field label not supported: {field}"))
    }

    /// The fields that lists can be narrowed by, with their values.
    pub fn selectable(&self, stored: &Value, kind: &Kind) -> Vec<(String, String)> {
        let fields = self.version(kind).map(|version| version.selectable.as_slice()).unwrap_or_default();
        let value = |field: &String| {
            let found = field.split('.').try_fold(stored, |value, key| value.get(key))?;
            let text = match found {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            Some((field.clone(), text))
        };
        fields.iter().filter_map(value).collect()
    }

    /// The shapes of all versions.
    pub fn shapes(&self) -> &Shapes {
        &self.shapes
    }

    /// The shape of a version.
    pub fn shape(&self, kind: &Kind) -> Option<ShapeId> {
        if kind.group != self.group {
            return None;
        }
        self.version(kind).map(|version| version.shape)
    }

    /// The fields that a write to a part leaves as they are.
    pub fn reset_fields(&self, kind: &Kind, part: &str) -> Vec<&'static str> {
        let status = self.version(kind).is_some_and(|version| version.status);
        match part {
            "status" => vec!["metadata", "spec"],
            "" if status => vec!["status"],
            _ => Vec::new(),
        }
    }

    /// Whether its status is written through an address of its own.
    pub fn has_status(&self, kind: &Kind) -> bool {
        self.version(kind).is_some_and(|version| version.status)
    }

    /// Where it has the number of its replicas, if it has one.
    pub fn scale(&self, kind: &Kind) -> Option<&Value> {
        self.version(kind).and_then(|version| version.scale.as_ref())
    }

    /// The columns of its tables.
    pub fn columns(&self, kind: &Kind) -> Vec<Value> {
        let mut columns = vec![json!({"name": "Name", "type": "string", "format": "name", "description": "", "priority": 0})];
        let own = self.version(kind).map(|version| version.columns.as_slice()).unwrap_or_default();
        if own.is_empty() {
            columns.push(json!({"name": "Age", "type": "date", "format": "", "description": "", "priority": 0}));
        }
        for column in own {
            let text = |key: &str| column.get(key).and_then(Value::as_str).unwrap_or_default();
            let priority = column.get("priority").and_then(Value::as_i64).unwrap_or(0);
            columns.push(json!({"name": text("name"), "type": text("type"), "format": text("format"),
                "description": text("description"), "priority": priority}));
        }
        columns
    }

    /// The cells of an object's row.
    pub fn cells(&self, kind: &Kind, object: &Value, now: i64) -> Vec<Value> {
        let at = |path: &str| path.trim_start_matches('.').split('.').try_fold(object, |value, key| value.get(key));
        let age = |value: Option<&Value>| {
            let then = value.and_then(Value::as_str).and_then(time::seconds);
            Value::from(then.map_or("<unknown>".to_owned(), |then| print::since(now - then)))
        };
        let mut cells = vec![at("metadata.name").cloned().unwrap_or_default()];
        let own = self.version(kind).map(|version| version.columns.as_slice()).unwrap_or_default();
        if own.is_empty() {
            cells.push(age(at("metadata.creationTimestamp")));
        }
        for column in own {
            let text = |key: &str| column.get(key).and_then(Value::as_str).unwrap_or_default();
            let found = at(text("jsonPath"));
            cells.push(match text("type") {
                "date" => age(found),
                _ => found.cloned().unwrap_or_default(),
            });
        }
        cells
    }
}

fn metadata_shape(shapes: &mut Shapes) -> ShapeId {
    let table = kinds();
    let known = table.shape_of(&Kind::new("v1", "ConfigMap")).map(|id| table.shapes().get(id));
    match known {
        Some(Shape::Object(object)) => match object.field("metadata") {
            Some(field) => shapes.copy(table.shapes(), field.shape),
            None => shapes.add(Shape::Anything),
        },
        _ => shapes.add(Shape::Anything),
    }
}
