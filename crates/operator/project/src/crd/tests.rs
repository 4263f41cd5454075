use serde_json::{Value, json};

use super::*;

fn names() -> Names {
    Names {
        group: "x.io".to_owned(),
        kind: "Thing".to_owned(),
        plural: "things".to_owned(),
        versions: vec!["v1".to_owned()],
        ..Names::default()
    }
}

fn spec_of(generated: &Generated) -> Value {
    generated.crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"].clone()
}

fn spec(schema: Value) -> (Value, Vec<String>) {
    let made = crd(&names(), &schema, None, Options::default()).unwrap();
    (spec_of(&made), made.notes.iter().map(ToString::to_string).collect())
}

/// The schema of one field, with what is noted of it.
fn field(schema: Value) -> (Value, Vec<String>) {
    let (spec, notes) = spec(json!({ "type": "object", "properties": { "a": schema } }));
    (spec["properties"]["a"].clone(), notes)
}

#[test]
fn words_become_those_of_a_structural_schema() {
    let open = json!({ "x-kubernetes-preserve-unknown-fields": true });
    let cases = [
        (json!({ "type": ["string", "null"] }), json!({ "type": "string", "nullable": true })),
        (json!({ "type": ["integer", "string"] }), json!({ "x-kubernetes-int-or-string": true })),
        (json!({ "type": ["integer", "number"] }), json!({ "type": "number" })),
        (json!({ "const": 1 }), json!({ "type": "integer", "enum": [1] })),
        (
            json!({ "enum": ["a", null, "b.c"] }),
            json!({ "type": "string", "nullable": true, "pattern": "^(?:a|b\\.c)$" }),
        ),
        (
            json!({ "type": "number", "exclusiveMinimum": 2, "minimum": 1 }),
            json!({ "type": "number", "minimum": 2, "exclusiveMinimum": true }),
        ),
        (
            json!({ "type": "object" }),
            json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true }),
        ),
        (json!({ "type": "object", "additionalProperties": false }), json!({ "type": "object" })),
        (
            json!({ "type": "object", "additionalProperties": { "type": "string" } }),
            json!({ "type": "object", "additionalProperties": { "type": "string" } }),
        ),
        (json!({ "type": "array" }), json!({ "type": "array", "items": open })),
        (
            json!({ "type": "array", "items": { "type": "string" }, "uniqueItems": true }),
            json!({ "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": "set" }),
        ),
        (
            json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] }),
            json!({ "type": "string", "nullable": true }),
        ),
        (
            json!({ "type": "integer", "default": 3.0, "examples": [1] }),
            json!({ "type": "integer", "default": 3 }),
        ),
        (json!(true), open.clone()),
        (
            json!({ "description": "x" }),
            json!({ "x-kubernetes-preserve-unknown-fields": true, "description": "x" }),
        ),
        (
            json!({ "type": "string", "not": { "const": "x" } }),
            json!({ "type": "string", "not": { "enum": ["x"] } }),
        ),
    ];
    for (schema, expected) in cases {
        assert_eq!(field(schema.clone()), (expected, vec![]), "{schema}");
    }
}

#[test]
fn what_cannot_be_said_is_noted_where_it_is() {
    let cases = [
        (
            json!({ "type": ["string", "boolean"] }),
            "a: one of several types (boolean, string) cannot be said; any value is taken",
        ),
        (json!({ "type": "object", "if": {}, "then": {} }), "a: \"if\" is not checked by the server"),
        (
            json!({ "type": "string", "format": "time" }),
            "a: the format \"time\" is not checked by the server",
        ),
        (
            json!({ "type": "string", "pattern": "(?=x)" }),
            "a: the pattern \"(?=x)\" is one that the server cannot run",
        ),
        (json!({ "type": "string", "default": 1 }), "a: the default does not fit the schema and is left out"),
        (json!({ "minLength": 1 }), "a: no type is said; string is assumed"),
        (
            json!({ "$ref": "https://x.io/y" }),
            "a: \"https://x.io/y\" is another document, which is not read; any value is taken",
        ),
        (json!({ "$ref": "#" }), "a.a.a: \"#\" refers to itself; any value is taken from here on"),
        (
            json!({ "type": "array", "items": [true] }),
            "a: items that differ by their position cannot be said; any item is taken",
        ),
        (json!({ "type": "string", "not": { "type": "string" } }), "a: \"not\" is not checked by the server"),
    ];
    for (schema, note) in cases {
        assert_eq!(field(schema.clone()).1, [note], "{schema}");
    }
}

#[test]
fn a_field_that_the_chart_has_a_default_for_need_not_be_in_a_resource() {
    let schema = json!({
        "type": "object",
        "required": ["a", "b", "c"],
        "properties": { "a": { "type": "object", "required": ["x", "y"] } },
        "anyOf": [{ "required": ["a"] }, { "required": ["z"] }],
    });
    let values = json!({ "a": { "x": 1 }, "c": null });
    let spec = spec_of(&crd(&names(), &schema, Some(&values), Options::default()).unwrap());
    assert_eq!(spec["required"], json!(["b", "c"]));
    assert_eq!(spec["properties"]["a"]["required"], json!(["y"]));
    assert_eq!(spec.get("anyOf"), None);
}

#[test]
fn defaults_of_the_values_are_taken_when_they_are_asked_for() {
    let schema = json!({ "type": "object", "properties": {
        "a": { "type": "object", "properties": { "x": { "type": "integer" }, "y": { "type": "string" } } },
        "b": { "type": "string", "default": "schema" },
        "c": { "type": "object" },
    } });
    let values = json!({ "a": { "x": 1 }, "b": "values", "c": { "free": 1 } });
    let options = Options { defaults: true, closed: false };
    let spec = spec_of(&crd(&names(), &schema, Some(&values), options).unwrap());
    assert_eq!(spec["properties"]["a"]["default"], json!({}));
    assert_eq!(spec["properties"]["a"]["properties"]["x"]["default"], json!(1));
    assert_eq!(spec["properties"]["b"]["default"], json!("schema"));
    assert_eq!(spec["properties"]["c"].get("default"), None);
}

#[test]
fn without_a_schema_types_are_those_of_the_values() {
    let values = json!({ "a": 1, "b": { "c": "x" }, "d": null, "e": [], "f": ["x"], "g": 1.5 });
    let spec = spec_of(&crd(&names(), &Value::Null, Some(&values), Options::default()).unwrap());
    let kind = |path: &str| spec.pointer(path).cloned().unwrap_or_default();
    assert_eq!(kind("/properties/a/type"), "integer");
    assert_eq!(kind("/properties/b/properties/c/type"), "string");
    assert_eq!(kind("/properties/b/x-kubernetes-preserve-unknown-fields"), true);
    assert_eq!(kind("/properties/d"), json!({ "x-kubernetes-preserve-unknown-fields": true }));
    assert_eq!(kind("/properties/f/items/type"), "string");
    assert_eq!(kind("/properties/g/type"), "number");
}

#[test]
fn mistakes_are_named() {
    let bad = Names { group: "x".to_owned(), versions: Vec::new(), ..names() };
    let problems = crd(&bad, &json!({ "type": "object" }), None, Options::default()).unwrap_err();
    assert_eq!(problems.len(), 2, "{problems:?}");
    for (schema, expected) in [
        (json!({ "type": "string" }), "the schema does not allow an object: the values of a chart are one"),
        (
            json!({ "properties": { "a": { "$ref": "#/$defs/no" } } }),
            "a: there is nothing at $ref \"#/$defs/no\"",
        ),
        (json!({ "properties": { "a": 3 } }), "a: a schema is an object, true or false"),
    ] {
        let problems = crd(&names(), &schema, None, Options::default()).unwrap_err();
        assert_eq!(problems[0].to_string(), expected);
    }
}

#[test]
fn a_schema_that_grows_without_end_is_refused() {
    // Each level has two references to the next: a million parts from twenty.
    let mut parts = serde_json::Map::new();
    for level in 0..20 {
        let next = json!({ "$ref": format!("#/$defs/l{}", level + 1) });
        parts
            .insert(format!("l{level}"), json!({ "type": "object", "properties": { "a": next, "b": next } }));
    }
    parts.insert("l20".to_owned(), json!({ "type": "string" }));
    let schema = json!({ "$defs": parts, "type": "object", "properties": { "l": { "$ref": "#/$defs/l0" } } });
    let problems = crd(&names(), &schema, None, Options::default()).unwrap_err();
    assert!(matches!(problems.as_slice(), [Problem::TooLarge(_)]), "{problems:?}");
}

#[test]
fn subcharts_have_their_values_below_their_names() {
    let schema = json!({ "type": "object", "additionalProperties": false, "properties": { "a": { "type": "string" } } });
    let open = with_subcharts(&schema, &["db".to_owned()]);
    assert_eq!(open["properties"], json!({ "a": { "type": "string" }, "db": true, "global": true }));
    assert_eq!(with_subcharts(&schema, &[]), schema);
}
