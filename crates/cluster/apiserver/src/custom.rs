//! Kinds that users define.

use std::collections::BTreeMap;
use std::sync::Arc;

use podium_meta::GroupVersionKind;
use podium_resources::typed::json as typed;
use podium_resources::{Writing, kinds, print};
use podium_schema::shape::{Shape, ShapeId, Shapes};
use podium_schema::{Columns, Scale, Source, from_structural};
use podium_store::Object;
use serde_json::{Map, Value, json};

use crate::language;
use crate::meta;
use crate::model::{Format, Given, no_yaml, unrecognized, yaml_to_json};
use crate::refusal::{Outcome, Refusal};
use crate::served::{Part, Resource, place};

/// What can be done with every kind that is defined.
const VERBS: &[&str] = &["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
/// What can still be done when the definition is on its way out.
const ENDING_VERBS: &[&str] = &["delete", "deletecollection", "get", "list", "watch"];
const PART_VERBS: &[&str] = &["get", "patch", "update"];

/// A kind that is defined.
#[derive(Debug)]
pub struct Custom {
    /// The definition.
    pub definition: Value,
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
    /// The revision of the definition: what was stored after it is as it says.
    since: u64,
}

/// A version of it.
#[derive(Debug)]
struct Version {
    served: bool,
    rules: podium_schema::Custom,
    shape: ShapeId,
    columns: Columns,
    selectable: Vec<String>,
}

impl Custom {
    /// From its definition; an error says why it cannot be served.
    pub fn new(definition: Value) -> Result<Self, String> {
        let text =
            |path: &str| definition.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
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
            let selectable = version.get("selectableFields").and_then(Value::as_array);
            let path = |field: &Value| {
                let path = field.get("jsonPath").and_then(Value::as_str)?;
                Some(path.trim_start_matches('.').to_owned())
            };
            let version = Version {
                served: version.get("served").and_then(Value::as_bool).unwrap_or(false),
                rules: podium_schema::Custom::new(&definition, &name, language::language())?,
                shape: from_structural(&mut shapes, schema, metadata),
                columns: Columns::of(version),
                selectable: selectable.into_iter().flatten().filter_map(path).collect(),
            };
            versions.insert(name, version);
        }
        Ok(Self {
            group: text("/spec/group"),
            kind: text("/spec/names/kind"),
            plural: text("/spec/names/plural"),
            since: meta::text(&definition, "resourceVersion").parse().unwrap_or(u64::MAX),
            versions,
            storage,
            shapes,
            definition,
        })
    }

    /// What is served of it.
    pub fn resources(self: &Arc<Self>) -> Vec<Resource> {
        let namespaced = self.is_namespaced();
        let verbs = |all: &[&str]| all.iter().map(|verb| (*verb).to_owned()).collect::<Vec<String>>();
        let stored = GroupVersionKind {
            group: self.group.clone(),
            version: self.storage.clone(),
            kind: self.kind.clone(),
        };
        let one = |(name, version): (&String, &Version)| {
            let kind = GroupVersionKind { version: name.clone(), ..stored.clone() };
            let mut parts = Vec::new();
            if version.rules.has_status() {
                parts.push(Part { name: "status".to_owned(), kind: kind.clone(), verbs: verbs(PART_VERBS) });
            }
            if version.rules.scale().is_some() {
                let kind = GroupVersionKind::new("autoscaling/v1", "Scale");
                parts.push(Part { name: "scale".to_owned(), kind, verbs: verbs(PART_VERBS) });
            }
            Resource {
                plural: self.plural.clone(),
                namespaced,
                // What is on its way out can still be changed: whoever has to be asked takes their finalizers away.
                verbs: verbs(VERBS)
                    .into_iter()
                    .filter(|verb| verb != "create" || !self.is_ending())
                    .collect(),
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

    /// Whether it was deleted, and only waits for its objects to go.
    pub fn is_ending(&self) -> bool {
        meta::is_deleted(&self.definition)
    }

    /// What discovery says can be done with it now.
    pub fn verbs(&self) -> &'static [&'static str] {
        if self.is_ending() { ENDING_VERBS } else { VERBS }
    }

    /// Whether its objects live in namespaces.
    pub fn is_namespaced(&self) -> bool {
        self.definition.pointer("/spec/scope").and_then(Value::as_str) == Some("Namespaced")
    }

    /// Whether the status of a version is written through an address of its own.
    pub fn version_has_status(&self, version: &str) -> bool {
        self.versions.get(version).is_some_and(|version| version.rules.has_status())
    }

    /// Whether a version has a number of replicas.
    pub fn version_has_scale(&self, version: &str) -> bool {
        self.versions.get(version).is_some_and(|version| version.rules.scale().is_some())
    }

    /// The name of its schema: the group the other way round, the version, the kind.
    pub fn schema_name(&self, kind: &GroupVersionKind) -> String {
        let group: Vec<&str> = self.group.rsplit('.').collect();
        format!("{}.{}.{}", group.join("."), kind.version, kind.kind)
    }

    /// Its schemas in an OpenAPI document.
    pub fn schemas(&self, kind: &GroupVersionKind) -> Map<String, Value> {
        let version =
            self.definition.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten();
        let version =
            version.into_iter().find(|one| one.get("name").and_then(Value::as_str) == Some(&kind.version));
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
            let full = podium_resources::openapi::full(kind);
            schema.insert("x-kubernetes-group-version-kind".to_owned(), json!([full]));
        }
        [(self.schema_name(kind), schema)].into_iter().collect()
    }

    fn version(&self, kind: &GroupVersionKind) -> Option<&Version> {
        self.versions.get(&kind.version)
    }

    /// Reads a body.
    pub fn decode(
        &self,
        body: &[u8],
        format: Format,
        kind: &GroupVersionKind,
        source: Source,
    ) -> Outcome<Given> {
        let text;
        let given = body;
        let body = match format {
            Format::Yaml => {
                text = yaml_to_json(body).map_err(|why| unrecognized(kind, &no_yaml(&why), given))?;
                text.as_bytes()
            }
            _ => body,
        };
        let none = GroupVersionKind::default();
        let said =
            typed::kind_of(body, &none).map_err(|error| unrecognized(kind, &error.to_string(), given))?;
        let mut object: Value =
            serde_json::from_slice(body).map_err(|error| Refusal::bad_request(error.to_string()))?;
        podium_schema::settle(&mut object);
        let Some(version) = self.version(kind) else { return Ok(Given { object, strict: Vec::new() }) };
        let unknown = version.rules.decode(&mut object, source).map_err(|why| {
            Refusal::bad_request(format!(
                "{} in version {:?} cannot be handled as a {}: {why}",
                said.kind, said.version, kind.kind
            ))
        })?;
        if said.api_version() != kind.api_version() {
            return Err(Refusal::bad_request(format!(
                "the API version in the data ({}) does not match the expected API version ({})",
                said.api_version(),
                kind.api_version()
            )));
        }
        let strict = unknown.into_iter().map(|path| format!("unknown field {path:?}")).collect();
        Ok(Given { object, strict })
    }

    /// What the version of a kind says of its objects.
    pub fn rules(&self, kind: &GroupVersionKind) -> Option<&podium_schema::Custom> {
        self.version(kind).map(|version| &version.rules)
    }

    /// A stored object in another version.
    pub fn serve(&self, mut value: Value, kind: &GroupVersionKind) -> Value {
        if let Some(object) = value.as_object_mut() {
            object.insert("apiVersion".to_owned(), kind.api_version().into());
        }
        if let Some(version) = self.version(kind) {
            // What is stored and cannot be read is shown as it is.
            let _ = version.rules.decode(&mut value, Source::Stored);
        }
        value
    }

    /// An object in the version that is stored.
    pub fn keep(&self, mut value: Value) -> Value {
        if let Some(version) = self.versions.get(&self.storage) {
            let _ = version.rules.convert(&mut value);
        }
        value
    }

    /// Whether the bytes of a stored object can be sent as they are.
    pub fn is_current(&self, object: &Object, kind: &GroupVersionKind) -> bool {
        kind.version == self.storage && object.revision() > self.since
    }

    /// Whether lists can be narrowed by a field; an error is the server's.
    pub fn check_field(&self, kind: &GroupVersionKind, field: &str) -> Result<(), String> {
        let own = self.version(kind).map(|version| version.selectable.as_slice()).unwrap_or_default();
        let spaced = field == "metadata.namespace" && self.is_namespaced();
        if field == "metadata.name" || spaced || own.iter().any(|one| one == field) {
            return Ok(());
        }
        Err(format!("field label not supported: {field}"))
    }

    /// The fields that lists can be narrowed by, with their values.
    pub fn selectable(&self, stored: &Value, kind: &GroupVersionKind) -> Vec<(String, String)> {
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
    pub fn shape(&self, kind: &GroupVersionKind) -> Option<ShapeId> {
        if kind.group != self.group {
            return None;
        }
        self.version(kind).map(|version| version.shape)
    }

    /// The fields that a write to a part leaves as they are.
    pub fn reset_fields(&self, kind: &GroupVersionKind, part: &str) -> Vec<&'static str> {
        let status = self.version(kind).is_some_and(|version| version.rules.has_status());
        match part {
            "status" => vec!["metadata", "spec"],
            "" if status => vec!["status"],
            _ => Vec::new(),
        }
    }

    /// Where it has the number of its replicas, if it has one.
    pub fn scale(&self, kind: &GroupVersionKind) -> Option<&Scale> {
        self.version(kind).and_then(|version| version.rules.scale())
    }

    /// The columns of its tables.
    pub fn columns(&self, kind: &GroupVersionKind) -> Vec<Value> {
        let headings = self.version(kind).map(|version| version.columns.headings()).unwrap_or_default();
        headings.iter().map(|heading| heading.json()).collect()
    }

    /// The cells of an object's row.
    pub fn cells(&self, kind: &GroupVersionKind, object: &Value, now: i64) -> Vec<Value> {
        let age = |then: i64| print::since(now.saturating_sub(then));
        self.version(kind).map(|version| version.columns.cells(object, &age)).unwrap_or_default()
    }

    /// The same from the bytes of a stored object; nothing if that takes the whole object.
    pub fn cells_of_stored(&self, kind: &GroupVersionKind, object: &Object, now: i64) -> Option<Vec<Value>> {
        let age = |then: i64| print::since(now.saturating_sub(then));
        let columns = &self.version(kind)?.columns;
        columns.cells_of_text(object.body(), object.metadata().len(), &age)
    }
}

fn metadata_shape(shapes: &mut Shapes) -> ShapeId {
    let table = kinds();
    let known = table.shape_of(&GroupVersionKind::new("v1", "ConfigMap")).map(|id| table.shapes().get(id));
    match known {
        Some(Shape::Object(object)) => match object.field("metadata") {
            Some(field) => shapes.copy(table.shapes(), field.shape),
            None => shapes.add(Shape::Anything),
        },
        _ => shapes.add(Shape::Anything),
    }
}
