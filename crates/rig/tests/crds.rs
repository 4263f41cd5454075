//! CRDs that `podium_project::crd` makes, on an API server: it takes them, and then refuses what the chart would
//! refuse.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

#[path = "../../operator/project/tests/random/mod.rs"]
mod random;

use podium_project::crd::{Names, Options, crd};
use podium_rig::cluster::Cluster;
use serde_json::{Value, json};

fn names(plural: &str, kind: &str) -> Names {
    Names {
        group: "crds.rig.test".to_owned(),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
        versions: vec!["v1alpha1".to_owned(), "v1".to_owned()],
        ..Names::default()
    }
}

struct Case {
    name: &'static str,
    schema: Value,
    values: Value,
    options: Options,
    good: Vec<Value>,
    /// A spec, and what the server says of it.
    bad: Vec<(Value, &'static str)>,
}

fn case(name: &'static str, schema: Value) -> Case {
    Case {
        name,
        schema,
        values: Value::Null,
        options: Options::default(),
        good: vec![json!({})],
        bad: Vec::new(),
    }
}

impl Case {
    fn good(mut self, spec: Value) -> Self {
        self.good.push(spec);
        self
    }

    fn bad(mut self, spec: Value, says: &'static str) -> Self {
        self.bad.push((spec, says));
        self
    }
}

fn cases() -> Vec<Case> {
    let unknown = "unknown field";
    vec![
        case(
            "plain",
            json!({
                "$schema": "http://json-schema.org/draft-07/schema#",
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "replicas": { "type": "integer", "minimum": 0, "exclusiveMaximum": 10, "default": 1.0 },
                    "image": {
                        "type": "object",
                        "additionalProperties": false,
                        "required": ["tag"],
                        "properties": {
                            "tag": { "type": ["string", "null"], "minLength": 1 },
                            "port": { "type": ["integer", "string"] },
                            "policy": { "enum": ["Always", "Never", null] },
                        },
                    },
                    "mode": { "const": "fast" },
                    "free": { "type": "object" },
                    "labels": { "type": "object", "additionalProperties": { "type": "string" } },
                    "names": { "type": "array", "uniqueItems": true, "items": { "type": "string", "pattern": "^a" } },
                    "anything": true,
                    "never": false,
                    "when": { "type": "string", "format": "date-time" },
                    "time": { "type": "string", "format": "time" },
                    "ahead": { "type": "string", "pattern": "^(?=a)a" },
                },
            }),
        )
        .good(json!({ "replicas": 3, "image": { "tag": null, "port": "http", "policy": null } }))
        .good(json!({ "image": { "tag": "x", "port": 80 }, "free": { "a": [1, null] }, "labels": { "a": "b" } }))
        .good(json!({ "anything": [1, "a", {}], "names": ["a", "ab"], "when": "2024-01-01T00:00:00Z", "time": "x" }))
        .good(json!({ "anything": null }))
        .bad(json!({ "replicsa": 3 }), unknown)
        .bad(json!({ "image": { "tag": "x", "tga": "x" } }), "unknown field \"spec.image.tga\"")
        .bad(json!({ "replicas": "3" }), "must be of type integer")
        .bad(json!({ "replicas": 10 }), "should be less than 10")
        .bad(json!({ "image": {} }), "Required value")
        .bad(json!({ "image": { "tag": "" } }), "should be at least 1 chars long")
        .bad(json!({ "image": { "tag": "x", "port": 1.5 } }), "integer,string")
        .bad(json!({ "mode": "slow" }), "Unsupported value")
        .bad(json!({ "labels": { "a": 1 } }), "must be of type string")
        .bad(json!({ "names": ["a", "a"] }), "Duplicate value")
        .bad(json!({ "names": ["b"] }), "should match '^a'")
        .bad(json!({ "never": 1 }), unknown)
        .bad(json!({ "when": "yesterday" }), "must be of type date-time"),
        case(
            "references",
            json!({
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "$defs": {
                    "port": { "$anchor": "port", "type": "integer", "minimum": 1, "maximum": 65535 },
                    "tree": {
                        "type": "object",
                        "additionalProperties": false,
                        "properties": { "name": { "type": "string" }, "children": { "type": "array", "items": { "$ref": "#/$defs/tree" } } },
                    },
                    "named": { "type": "object", "required": ["name"], "properties": { "name": { "type": "string" } } },
                },
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "port": { "$ref": "#/$defs/port", "description": "which", "maximum": 1024 },
                    "other": { "$ref": "#port" },
                    "tree": { "$ref": "#/$defs/tree" },
                    "thing": {
                        "allOf": [
                            { "$ref": "#/$defs/named" },
                            { "properties": { "size": { "type": "integer" }, "name": { "maxLength": 3 } } },
                        ],
                        "unevaluatedProperties": false,
                    },
                    "self": { "$ref": "#" },
                    "remote": { "$ref": "https://example.com/schema.json" },
                    "slash": { "$ref": "#/properties/thing/allOf/1/properties/size" },
                },
            }),
        )
        .good(json!({ "port": 80, "other": 65535, "tree": { "name": "a", "children": [{ "children": [{ "x": 1 }] }] } }))
        .good(json!({ "thing": { "name": "abc", "size": 1 }, "self": { "self": { "self": 1 } }, "remote": 1, "slash": 2 }))
        .bad(json!({ "port": 1025 }), "should be less than or equal to 1024")
        .bad(json!({ "other": 0 }), "should be greater than or equal to 1")
        .bad(json!({ "tree": { "nmae": "a" } }), unknown)
        .bad(json!({ "thing": { "size": 1 } }), "Required value")
        .bad(json!({ "thing": { "name": "abcd" } }), "may not be more than 3 ")
        .bad(json!({ "thing": { "name": "a", "more": 1 } }), unknown)
        .bad(json!({ "slash": "2" }), "must be of type integer"),
        case(
            "branches",
            json!({
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "a": { "type": "string" },
                    "b": { "type": "string" },
                    "maybe": { "anyOf": [{ "type": "string", "pattern": "^x" }, { "type": "null" }] },
                    "quantity": { "oneOf": [{ "type": "integer", "minimum": 1 }, { "type": "string", "pattern": "^[0-9]+Mi$" }] },
                    "mixed": { "anyOf": [{ "type": "boolean" }, { "type": "string" }, { "type": "array" }] },
                    "source": {
                        "oneOf": [
                            {
                                "type": "object",
                                "additionalProperties": false,
                                "required": ["kind", "url"],
                                "properties": { "kind": { "const": "http" }, "url": { "type": "string" } },
                            },
                            {
                                "type": "object",
                                "additionalProperties": false,
                                "required": ["kind", "claim"],
                                "properties": { "kind": { "const": "disk" }, "claim": { "type": "object", "properties": { "size": { "type": "integer", "minimum": 5 } }, "additionalProperties": false } },
                            },
                        ],
                    },
                    "list": { "type": "array", "anyOf": [{ "minItems": 2 }, { "items": { "type": "object", "required": ["only"] } }], "items": { "type": "object" } },
                    "no": { "type": "string", "not": { "enum": ["root"] } },
                    "notype": { "type": ["string", "integer"], "not": { "type": "string" } },
                    "both": { "allOf": [{ "pattern": "^a" }, { "pattern": "b$" }], "type": "string" },
                    "deep": { "anyOf": [{ "anyOf": [{ "required": ["x"] }, { "required": ["y"] }] }, { "required": ["z"] }], "type": "object" },
                },
                "anyOf": [{ "required": ["a"] }, { "required": ["b"] }, { "maxProperties": 0 }],
                "if": { "required": ["a"] },
                "then": { "required": ["b"] },
                "dependentRequired": { "a": ["b"] },
            }),
        )
        .good(json!({ "a": "1", "maybe": null }))
        .good(json!({ "b": "1", "maybe": "x", "quantity": 1, "mixed": [1] }))
        .good(json!({ "b": "1", "quantity": "5Mi", "mixed": true, "source": { "kind": "disk", "claim": { "size": 5 } } }))
        .good(json!({ "b": "1", "list": [{ "only": 1 }], "no": "me", "both": "ab", "deep": { "y": 1 } }))
        .bad(json!({ "no": "me" }), "must validate at least one schema (anyOf)")
        .bad(json!({ "a": "1", "maybe": "y" }), "should match '^x'")
        .bad(json!({ "a": "1", "quantity": 0 }), "should be greater than or equal to 1")
        .bad(json!({ "a": "1", "quantity": "5Gi" }), "should match")
        .bad(json!({ "a": "1", "source": { "kind": "disk", "url": "x" } }), "must validate at least one schema (anyOf)")
        .bad(json!({ "a": "1", "source": { "kind": "ftp", "url": "x" } }), "Unsupported value")
        .bad(json!({ "a": "1", "source": { "kind": "disk", "claim": { "size": 1 } } }), "greater than or equal to 5")
        .bad(json!({ "a": "1", "source": { "kind": "http", "url": 1 } }), "must be of type string")
        .bad(json!({ "a": "1", "source": { "kind": "http", "url": "x", "more": 1 } }), unknown)
        .bad(json!({ "a": "1", "list": [{ "x": 1 }] }), "must validate at least one schema (anyOf)")
        .bad(json!({ "a": "1", "no": "root" }), "must not validate the schema (not)")
        .bad(json!({ "a": "1", "both": "ac" }), "should match 'b$'")
        .bad(json!({ "a": "1", "deep": { "w": 1 } }), "must validate at least one schema (anyOf)"),
        case(
            "strange",
            json!({
                "type": "object",
                "additionalProperties": { "type": "integer" },
                "properties": {
                    "tuple": { "type": "array", "items": [{ "type": "string" }, { "type": "integer" }] },
                    "prefix": { "prefixItems": [{ "type": "string" }], "items": false },
                    "unique": { "type": "array", "uniqueItems": true, "items": { "type": "object" } },
                    "pattern": { "type": "object", "patternProperties": { "^x-": { "type": "string" } }, "additionalProperties": false },
                    "patterns": { "type": "object", "patternProperties": { "^x-": { "type": "string" }, "^y-": { "type": "integer" } } },
                    "named": { "propertyNames": { "pattern": "^[a-z]+$" }, "type": "object" },
                    "untyped": { "minLength": 2 },
                    "unclear": { "minLength": 2, "minimum": 3 },
                    "nulls": { "type": "null" },
                    "numbers": { "type": ["integer", "number"], "multipleOf": 0.5 },
                    "all": { "type": ["string", "number", "object", "array", "boolean", "null"] },
                    "listless": { "type": "array" },
                    "none": { "type": "array", "items": false },
                    "bounds": { "type": "number", "minimum": 1, "exclusiveMinimum": 2, "maximum": 9.5 },
                    "defaults": { "type": "object", "default": { "a": "wrong" }, "properties": { "a": { "type": "integer" } }, "additionalProperties": false },
                    "right": { "type": "object", "default": { "a": 1 }, "properties": { "a": { "type": "integer" } }, "additionalProperties": false },
                    "enums": { "enum": [1, "a", { "b": 2 }] },
                    "required": { "type": "object", "required": ["a", "a"] },
                    "embedded": { "type": "object", "x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-embedded-resource": true },
                    "cel": { "type": "integer", "x-kubernetes-validations": [{ "rule": "self != 7", "message": "not seven" }] },
                },
            }),
        )
        .good(json!({ "tuple": [1, "a"], "prefix": [1, 2], "unique": [{}, {}], "pattern": { "x-a": "b" } }))
        .good(json!({ "nulls": null, "numbers": 1.5, "all": { "a": 1 }, "listless": [1, {}], "none": [], "more": 3 }))
        .good(json!({ "enums": { "b": 2 }, "unclear": {}, "bounds": 2.5, "named": { "A": 1 }, "cel": 6 }))
        .bad(json!({ "pattern": { "x-a": 1 } }), "must be of type string")
        .bad(json!({ "untyped": "a" }), "should be at least 2 chars long")
        .bad(json!({ "numbers": 1.3 }), "multiple of 0.5")
        .bad(json!({ "none": [1] }), "must have at most 0 items")
        .bad(json!({ "bounds": 2 }), "should be greater than 2")
        .bad(json!({ "enums": 2 }), "Unsupported value")
        .bad(json!({ "cel": 7 }), "not seven")
        .bad(json!({ "required": {} }), "Required value"),
        Case {
            values: json!({ "replicas": 2, "image": { "tag": "x", "pull": { "policy": "Always" } }, "list": ["a"], "empty": {}, "nothing": null, "ratio": 0.5, "on": true, "objects": [{ "a": 1 }] }),
            options: Options { defaults: true, closed: false },
            ..case("inferred", Value::Null)
        }
        .good(json!({ "replicas": 3, "image": { "tag": "y", "extra": 1 }, "list": ["b"], "empty": { "a": 1 }, "nothing": { "a": 1 } }))
        .bad(json!({ "replicas": "3" }), "must be of type integer")
        .bad(json!({ "list": [1] }), "must be of type string")
        .bad(json!({ "on": "yes" }), "must be of type boolean"),
        Case {
            options: Options { defaults: false, closed: true },
            ..case("closed", json!({ "type": "object", "properties": { "a": { "type": "object", "properties": { "b": { "type": "string" } } }, "open": { "type": "object" } } }))
        }
        .good(json!({ "a": { "b": "c" }, "open": { "x": 1 } }))
        .bad(json!({ "a": { "c": "c" } }), unknown)
        .bad(json!({ "b": 1 }), unknown),
        case("draft4", json!({ "$schema": "http://json-schema.org/draft-04/schema#", "type": "object", "definitions": { "p": { "type": "number", "minimum": 1, "exclusiveMinimum": true } }, "properties": { "p": { "$ref": "#/definitions/p" } } }))
            .good(json!({ "p": 1.5, "other": { "kept": true } }))
            .bad(json!({ "p": 1 }), "should be greater than 1"),
        case("open", json!({})).good(json!({ "a": { "b": [1] } })),
    ]
}

#[test]
fn a_server_takes_the_crds_and_refuses_what_their_charts_would_refuse() {
    let cluster = Cluster::shared().unwrap_or_else(|error| panic!("{error}"));
    cluster.namespace("crds").unwrap();
    let create = |object: &Value| cluster.admin().create_with("crds", object, "&fieldValidation=Strict");
    for case in cases() {
        let kind = format!("{}{}", case.name[..1].to_uppercase(), &case.name[1..]);
        let names = names(case.name, &kind);
        let values = Some(&case.values).filter(|values| !values.is_null());
        let made = crd(&names, &case.schema, values, case.options).unwrap();
        let name = format!("{}.crds.rig.test", case.name);
        if let Err(error) = create(&made.crd) {
            panic!("{}: {error}\n{:#}", case.name, made.crd["spec"]["versions"][0]["schema"]);
        }
        cluster.established(&name).unwrap();
        let status = cluster.admin().find("crd", "", &name).unwrap().unwrap()["status"].to_string();
        assert!(!status.contains("NonStructuralSchema"), "{name}: {status}");
        let resource = |at: usize, version: &str, spec: &Value| {
            json!({
                "apiVersion": format!("crds.rig.test/{version}"),
                "kind": kind,
                "metadata": { "name": format!("{}-{at}", case.name) },
                "spec": spec,
            })
        };
        let mut wrong = Vec::new();
        for (at, spec) in case.good.iter().enumerate() {
            let version = if at % 2 == 0 { "v1alpha1" } else { "v1" };
            if let Err(error) = create(&resource(at, version, spec)) {
                wrong.push(format!("{}: {spec} is refused: {error}", case.name));
            }
        }
        for (spec, says) in &case.bad {
            match create(&resource(100, "v1", spec)) {
                Ok(_) => wrong.push(format!("{}: {spec} is taken", case.name)),
                Err(error) if error.to_string().contains(says) => {}
                Err(error) => wrong.push(format!("{}: {spec}: {error}", case.name)),
            }
        }
        let schema = &made.crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
        assert!(wrong.is_empty(), "{}\n{schema:#}\n{:#?}", wrong.join("\n"), made.notes);
    }
}

/// Random schemas, in one request each: whatever comes out of them, a server takes it.
#[test]
fn a_server_takes_the_crd_of_every_schema() {
    let cluster = Cluster::shared().unwrap_or_else(|error| panic!("{error}"));
    let mut random = random::Random(0x2545_F491_4F6C_DD1D);
    let (mut crds, mut tried) = (Vec::new(), 0);
    while crds.len() < 150 {
        tried += 1;
        let mut schema = random::schema(&mut random, 3).as_object().cloned().unwrap_or_default();
        schema.insert("$defs".to_owned(), json!({ "shared": random::schema(&mut random, 1) }));
        let (name, kind) = (format!("r{tried}s"), format!("R{tried}"));
        if let Ok(made) = crd(&names(&name, &kind), &Value::Object(schema), None, Options::default()) {
            crds.push(made.crd);
        }
    }
    for crd in &crds {
        let answer = cluster.admin().create_with("", crd, "&fieldValidation=Strict&dryRun=All");
        answer.unwrap_or_else(|error| panic!("{error}\n{crd}"));
    }
}
