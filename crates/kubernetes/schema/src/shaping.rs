//! Shapes from schemas: those that an API server publishes, and those in the definition of a kind.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::shape::{Field, List, Merge, Object, Patch, Scalar, Shape, ShapeId, Shapes};

/// Schemas nested deeper than this are taken as unknown.
const DEEPEST: usize = 200;

/// Types whose published schema does not tell what they are.
const SPECIAL: [(&str, fn() -> Shape); 4] = [
    ("io.k8s.apimachinery.pkg.api.resource.Quantity", || Shape::Scalar(Scalar::Quantity)),
    ("io.k8s.apimachinery.pkg.util.intstr.IntOrString", || Shape::Scalar(Scalar::IntOrString)),
    ("io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime", || Shape::Scalar(Scalar::MicroTime)),
    ("io.k8s.apimachinery.pkg.runtime.RawExtension", || {
        Shape::Object(Object { keeps_unknown: true, whole: true, ..Object::default() })
    }),
];

/// Adds the shapes of the schemas under `components/schemas` of OpenAPI 3 documents, and tells them by name.
/// What two documents define alike is added once.
pub fn from_openapi<'v>(
    shapes: &mut Shapes,
    documents: impl IntoIterator<Item = &'v Value>,
) -> BTreeMap<String, ShapeId> {
    let mut schemas = BTreeMap::new();
    for document in documents {
        let found = document.pointer("/components/schemas").and_then(Value::as_object);
        for (name, schema) in found.into_iter().flatten() {
            schemas.entry(name.as_str()).or_insert(schema);
        }
    }
    let names: BTreeMap<String, ShapeId> =
        schemas.keys().map(|name| ((*name).to_owned(), shapes.add(Shape::Anything))).collect();
    let mut builder = Builder { shapes, names: &names, metadata: None, overridden: Vec::new() };
    for (name, schema) in &schemas {
        let special = SPECIAL.iter().find(|(special, _)| special == name);
        let shape = match special {
            Some((_, make)) => make(),
            None => builder.shape(schema, false, 0),
        };
        if let Some(&id) = names.get(*name) {
            builder.shapes.set(id, shape);
        }
    }
    builder.settle();
    names
}

/// Adds the shape of a kind from the structural schema in its definition (`openAPIV3Schema`); `metadata` is the
/// shape of `ObjectMeta`. As ownership sees it, what is below a schema that keeps unknown fields keeps them too; pruning
/// sees that otherwise, and reads the schema itself.
pub fn from_structural(shapes: &mut Shapes, schema: &Value, metadata: ShapeId) -> ShapeId {
    let names = BTreeMap::new();
    let mut builder = Builder { shapes, names: &names, metadata: Some(metadata), overridden: Vec::new() };
    let mut shape = builder.shape(schema, false, 0);
    if let Shape::Object(object) = &mut shape {
        builder.make_resource(object);
    }
    builder.shapes.add(shape)
}

struct Builder<'a> {
    shapes: &'a mut Shapes,
    names: &'a BTreeMap<String, ShapeId>,
    /// The shape of `ObjectMeta`, where schemas may embed whole objects.
    metadata: Option<ShapeId>,
    /// References that say for themselves whether the object is one value: the copy, the original, the word.
    overridden: Vec<(ShapeId, ShapeId, bool)>,
}

impl Builder<'_> {
    /// `keeps` is inherited: below a schema that keeps unknown fields, all do.
    fn shape(&mut self, schema: &Value, keeps: bool, depth: usize) -> Shape {
        let Some(schema) = schema.as_object().filter(|_| depth < DEEPEST) else { return Shape::Anything };
        let keeps = keeps || is(schema, "x-kubernetes-preserve-unknown-fields");
        if is(schema, "x-kubernetes-int-or-string") {
            return Shape::Scalar(Scalar::IntOrString);
        }
        let format = text(schema, "format").unwrap_or_default();
        match text(schema, "type") {
            Some("object") => Shape::Object(self.object(schema, keeps, depth)),
            Some("array") => Shape::List(self.list(schema, keeps, depth)),
            Some("boolean") => Shape::Scalar(Scalar::Boolean),
            Some("integer") if format == "int32" => Shape::Scalar(Scalar::Int32),
            Some("integer") => Shape::Scalar(Scalar::Int64),
            Some("number") => Shape::Scalar(Scalar::Number),
            Some("string") => Shape::Scalar(match format {
                "" => Scalar::String,
                "byte" => Scalar::Bytes,
                "date-time" => Scalar::Time,
                _ => Scalar::Formatted,
            }),
            _ if schema.contains_key("properties") => Shape::Object(self.object(schema, keeps, depth)),
            _ => Shape::Anything,
        }
    }

    fn object(&mut self, schema: &Map<String, Value>, keeps: bool, depth: usize) -> Object {
        let required = schema.get("required").and_then(Value::as_array);
        let mut object =
            Object { keeps_unknown: keeps, whole: is_whole(schema).unwrap_or(false), ..Object::default() };
        for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            object.fields.push(Field {
                name: name.clone(),
                shape: self.refer(property, keeps, depth + 1),
                default: property.get("default").filter(|default| !default.is_null()).cloned(),
                required: required.is_some_and(|all| all.iter().any(|one| one == name.as_str())),
                patch: patch(property),
            });
        }
        match schema.get("additionalProperties") {
            Some(Value::Bool(true)) => object.keeps_unknown = true,
            Some(rest @ Value::Object(_)) => {
                object.keeps_unknown = false;
                object.rest = Some(self.refer(rest, keeps, depth + 1));
            }
            _ => {}
        }
        if object.keeps_unknown && object.whole && object.fields.is_empty() && object.rest.is_none() {
            // Still an object, and not any value.
            object.rest = Some(self.shapes.add(Shape::Anything));
        }
        if is(schema, "x-kubernetes-embedded-resource") {
            self.make_resource(&mut object);
        }
        object
    }

    fn list(&mut self, schema: &Map<String, Value>, keeps: bool, depth: usize) -> List {
        let items = match schema.get("items") {
            Some(items) => self.refer(items, keeps, depth + 1),
            None => self.shapes.add(Shape::Anything),
        };
        List { items, merge: merge(schema) }
    }

    /// The number of a schema's shape: the one that it refers to, alone or as the only part of `allOf`, or a new one.
    fn refer(&mut self, schema: &Value, keeps: bool, depth: usize) -> ShapeId {
        let only = || schema.get("allOf").and_then(Value::as_array).filter(|all| all.len() == 1)?.first();
        let reference = schema.get("$ref").or_else(|| only()?.get("$ref")).and_then(Value::as_str);
        let target = reference.and_then(|reference| self.names.get(reference.rsplit('/').next()?)).copied();
        match (target, schema.as_object().and_then(is_whole)) {
            (Some(target), None) => target,
            (Some(target), Some(whole)) => {
                let copy = self.shapes.add(Shape::Anything);
                self.overridden.push((copy, target, whole));
                copy
            }
            (None, _) => {
                let shape = self.shape(schema, keeps, depth);
                self.shapes.add(shape)
            }
        }
    }

    /// Now that all originals are there, makes the copies that differ from them.
    fn settle(&mut self) {
        for (copy, target, whole) in std::mem::take(&mut self.overridden) {
            let mut shape = self.shapes.get(target).clone();
            if let Shape::Object(object) = &mut shape {
                object.whole = whole;
            }
            self.shapes.set(copy, shape);
        }
    }

    /// A whole Kubernetes object has a type and metadata, whatever its schema says of them.
    fn make_resource(&mut self, object: &mut Object) {
        let Some(metadata) = self.metadata else { return };
        let text = self.shapes.add(Shape::Scalar(Scalar::String));
        for (name, shape) in [("apiVersion", text), ("kind", text), ("metadata", metadata)] {
            let field = Field {
                name: name.to_owned(),
                shape,
                default: None,
                required: false,
                patch: Patch::default(),
            };
            match object.fields.binary_search_by(|field| field.name.as_str().cmp(name)) {
                Ok(at) => object.fields[at] = field,
                Err(at) => object.fields.insert(at, field),
            }
        }
    }
}

fn text<'v>(schema: &'v Map<String, Value>, key: &str) -> Option<&'v str> {
    schema.get(key).and_then(Value::as_str)
}

fn is(schema: &Map<String, Value>, key: &str) -> bool {
    schema.get(key) == Some(&Value::Bool(true))
}

fn is_whole(schema: &Map<String, Value>) -> Option<bool> {
    text(schema, "x-kubernetes-map-type").map(|kind| kind == "atomic")
}

/// The kind of list decides; of an older schema, the strategy of patches.
fn merge(schema: &Map<String, Value>) -> Merge {
    let strings = |key: &str| -> Vec<String> {
        let all = schema.get(key).and_then(Value::as_array).into_iter().flatten();
        all.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    match (text(schema, "x-kubernetes-list-type"), text(schema, "x-kubernetes-patch-strategy")) {
        (Some("set"), _) => Merge::Set,
        (Some("map"), _) => Merge::Keyed(strings("x-kubernetes-list-map-keys")),
        (Some(_), _) => Merge::Whole,
        (None, Some("merge" | "merge,retainKeys")) => match text(schema, "x-kubernetes-patch-merge-key") {
            Some(key) => Merge::Keyed(vec![key.to_owned()]),
            None => Merge::Set,
        },
        (None, _) => Merge::Whole,
    }
}

fn patch(schema: &Value) -> Patch {
    let word = |key: &str| schema.get(key).and_then(Value::as_str);
    let strategy =
        |one: &str| word("x-kubernetes-patch-strategy").is_some_and(|all| all.split(',').any(|s| s == one));
    Patch {
        merge: strategy("merge"),
        retain_keys: strategy("retainKeys"),
        replace: strategy("replace"),
        key: word("x-kubernetes-patch-merge-key").map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn field<'a>(shapes: &'a Shapes, shape: &'a Shape, name: &str) -> (&'a Field, &'a Shape) {
        let Shape::Object(object) = shape else { panic!("{shape:?} is no object") };
        let field = object.field(name).unwrap();
        (field, shapes.get(field.shape))
    }

    #[test]
    fn published_schemas_become_shapes() {
        let document = json!({"components": {"schemas": {
            "io.Tree": {"type": "object", "required": ["name"], "properties": {
                "name": {"type": "string", "default": "n"},
                "secret": {"type": "string", "format": "byte"},
                "at": {"type": "string", "format": "date-time"},
                "size": {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.api.resource.Quantity"},
                "left": {"default": {}, "allOf": [{"$ref": "#/components/schemas/io.Tree"}]},
                "copy": {"allOf": [{"$ref": "#/components/schemas/io.Tree"}], "x-kubernetes-map-type": "atomic"},
                "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                "parts": {"type": "array", "items": {"$ref": "#/components/schemas/io.Tree"}, "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"], "x-kubernetes-patch-strategy": "merge,retainKeys",
                    "x-kubernetes-patch-merge-key": "name"},
                "old": {"type": "array", "items": {"$ref": "#/components/schemas/io.Tree"},
                    "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "name"},
                "raw": {"type": "array", "items": {"type": "integer", "format": "int32"}},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}}}},
            "io.k8s.apimachinery.pkg.api.resource.Quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]}}}});
        let mut shapes = Shapes::default();
        let names = from_openapi(&mut shapes, [&document, &document]);
        let tree = shapes.get(names["io.Tree"]);
        let (name, shape) = field(&shapes, tree, "name");
        assert!(name.required && name.default == Some(json!("n")) && *shape == Shape::Scalar(Scalar::String));
        for (key, scalar) in [("secret", Scalar::Bytes), ("at", Scalar::Time), ("size", Scalar::Quantity)] {
            assert_eq!(*field(&shapes, tree, key).1, Shape::Scalar(scalar), "{key}");
        }
        assert_eq!(field(&shapes, tree, "left").0.shape, names["io.Tree"], "a shape may contain itself");
        assert!(
            matches!(field(&shapes, tree, "copy").1, Shape::Object(copy) if copy.whole && copy.fields.len() == 11)
        );
        let merge = |key: &str| match field(&shapes, tree, key).1 {
            Shape::List(list) => list.merge.clone(),
            other => panic!("{other:?}"),
        };
        let named = Merge::Keyed(vec!["name".to_owned()]);
        assert_eq!(
            [merge("tags"), merge("parts"), merge("old"), merge("raw")],
            [Merge::Set, named.clone(), named, Merge::Whole]
        );
        let parts = &field(&shapes, tree, "parts").0.patch;
        assert!(parts.merge && parts.retain_keys && !parts.replace && parts.key.as_deref() == Some("name"));
        assert!(matches!(field(&shapes, tree, "labels").1, Shape::Object(labels) if labels.rest.is_some()));
    }

    #[test]
    fn the_schema_of_a_definition_becomes_a_shape() {
        let mut shapes = Shapes::default();
        let metadata = shapes.add(Shape::Object(Object { whole: true, ..Object::default() }));
        let schema = json!({"type": "object", "properties": {
            "metadata": {"type": "object"},
            "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
                "inner": {"type": "object", "properties": {"day": {"type": "string", "format": "date"}}},
                "port": {"x-kubernetes-int-or-string": true}, "any": {"x-kubernetes-preserve-unknown-fields": true},
                "list": {"type": "array", "items": {"type": "string"}},
                "object": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}}}}});
        let id = from_structural(&mut shapes, &schema, metadata);
        let root = shapes.get(id);
        assert_eq!(field(&shapes, root, "metadata").0.shape, metadata);
        assert_eq!(*field(&shapes, root, "kind").1, Shape::Scalar(Scalar::String));
        let spec = field(&shapes, root, "spec").1;
        let inner = field(&shapes, spec, "inner").1;
        assert!(
            matches!(inner, Shape::Object(inner) if inner.keeps_unknown),
            "what keeps unknown fields does so below"
        );
        assert_eq!(*field(&shapes, inner, "day").1, Shape::Scalar(Scalar::Formatted));
        assert_eq!(*field(&shapes, spec, "port").1, Shape::Scalar(Scalar::IntOrString));
        assert_eq!(*field(&shapes, spec, "any").1, Shape::Anything);
        assert!(matches!(field(&shapes, spec, "list").1, Shape::List(list) if list.merge == Merge::Whole));
        assert_eq!(field(&shapes, field(&shapes, spec, "object").1, "metadata").0.shape, metadata);
    }

    #[test]
    fn deep_schemas_end_in_the_unknown() {
        let schema =
            (0..400).fold(json!({"type": "string"}), |items, _| json!({"type": "array", "items": items}));
        let mut shapes = Shapes::default();
        let metadata = shapes.add(Shape::Anything);
        let id = from_structural(&mut shapes, &schema, metadata);
        assert!(matches!(shapes.get(id), Shape::List(_)));
    }
}
