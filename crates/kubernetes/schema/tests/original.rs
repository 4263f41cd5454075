//! What the API server's own code says of random schemas, resources, definitions and columns: recorded answers.

use std::sync::Arc;

use podium_meta::FieldError;
use podium_schema::expressions::{Answer, Candidate, Compiled, Language, Message, Old, Program};
use podium_schema::{Columns, Custom, Source, Structural, definition};
use serde_json::{Value, json};

/// Numbers that are equal are the same, whether they were written with a point or not.
fn plain(value: Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64() {
            Some(float) if float.fract() == 0.0 && float.abs() < 9e15 => json!(float as i64),
            _ => Value::Number(number),
        },
        Value::Array(items) => items.into_iter().map(plain).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, plain(value))).collect(),
        other => other,
    }
}

/// Flaws in the order of their words: the original looks at fields in any order.
fn said(flaws: &[FieldError]) -> Value {
    let mut said: Vec<String> =
        flaws.iter().map(|flaw| format!("{} {flaw}", flaw.error_type.reason())).collect();
    said.sort_unstable();
    said.into()
}

#[test]
fn resources_fare_as_with_the_original() {
    for (index, line) in include_str!("structural.jsonl").lines().enumerate() {
        let case: Value = serde_json::from_str(line).unwrap();
        let (ask, answer) = (&case["ask"], &case["answer"]);
        let schema = match Structural::compile(&ask["schema"]) {
            Ok(schema) => schema,
            Err(why) => {
                assert_eq!(answer["structural"], why, "case {index}");
                continue;
            }
        };
        let same = |what: &str, ours: Value| {
            assert_eq!(plain(ours), plain(answer[what].clone()), "{what} of case {index}: {ask}");
        };
        let object = &ask["object"];
        let mut stored = object.clone();
        same("unknown", schema.prune(&mut stored).into());
        same("pruned", stored.clone());
        schema.prune_nulls(&mut stored);
        same("nulls", stored.clone());
        let mut coerced = stored.clone();
        match schema.coerce(&mut coerced, ask["drop"] == true) {
            Err(flaw) => same("coerceErr", flaw.to_string().into()),
            Ok(unknown) => {
                same("coercePaths", unknown.into());
                same("coerced", coerced);
            }
        }
        schema.default(&mut stored);
        same("defaulted", stored);
        same("check", said(&schema.check(object, ask.get("old"))));
        same("embedded", said(&schema.embedded(object)));
        if object.is_object() {
            same("lists", said(&schema.repeated(object, None)));
        }
    }
}

/// An expression that is one of a few whose meaning is plain.
#[derive(Debug)]
struct Plain(String);

impl Program for Plain {
    fn run(&self, _: &Value, old: Old<'_>) -> Answer {
        let value = match (self.0.as_str(), old) {
            ("true", _) => Ok(true.into()),
            ("false", _) => Ok(false.into()),
            ("oldSelf.hasValue()", Old::Optional(old)) => Ok(old.is_some().into()),
            ("1/0 == 1", _) => Err("division by zero".to_owned()),
            (text, _) => Ok(text.trim_matches('\'').replace("\\n", "\n").into()),
        };
        Answer { value, cost: 1 }
    }
}

struct Few;

impl Language for Few {
    fn compile(&self, _: &Value, _: bool, rules: &[Candidate]) -> Result<Vec<Compiled>, String> {
        let program = |text: &str| -> Arc<dyn Program> { Arc::new(Plain(text.trim().to_owned())) };
        let compile = |Candidate { rule, .. }: &Candidate| Compiled {
            condition: (!rule.rule.trim().is_empty()).then(|| Ok(program(&rule.rule))),
            uses_old_self: rule.rule.contains("oldSelf"),
            cost: 1,
            cardinality: 1,
            message: (!rule.message_expression.is_empty())
                .then(|| Ok(Message { program: program(&rule.message_expression), cost: 1 })),
        };
        Ok(rules.iter().map(compile).collect())
    }
}

fn cases(text: &str) -> impl Iterator<Item = (usize, Value, Value)> {
    text.lines().enumerate().map(|(index, line)| {
        let mut case: Value = line.parse().unwrap_or_default();
        (index, case["ask"].take(), case["answer"].take())
    })
}

#[test]
fn definitions_are_judged_as_by_the_original() {
    for (index, ask, answer) in cases(include_str!("definitions.jsonl")) {
        let mut new = ask["crd"].clone();
        let old = ask.get("oldCrd");
        let flaws = match old {
            None => {
                definition::prepare_create(&mut new);
                definition::validate_create(&new, Some(&Few))
            }
            Some(old) => {
                definition::prepare_update(&mut new, old);
                definition::validate_update(&new, old, Some(&Few))
            }
        };
        assert_eq!(said(&flaws), answer["errors"], "case {index}: {ask}");
        assert_eq!(new["status"], answer["status"], "case {index}");
        assert_eq!(new["metadata"]["generation"], answer["generation"], "case {index}");
        let mut warnings = definition::warnings(&new, old);
        warnings.sort_unstable();
        assert_eq!(Value::from(warnings), answer["warnings"], "case {index}");
    }
}

#[test]
fn rules_are_asked_of_the_values_that_the_original_asks() {
    for (index, ask, answer) in cases(include_str!("rules.jsonl")) {
        let schema = Structural::compile(&ask["schema"]).unwrap();
        let verdict = schema.rules(&Few).map(|rules| schema.ask(&rules, &ask["object"], ask.get("old"), &[]));
        let mut verdict = verdict.unwrap_or_default();
        assert_eq!(said(&verdict.flaws), answer["check"], "case {index}: {ask}");
        verdict.warnings.sort_unstable();
        assert_eq!(Value::from(verdict.warnings), answer["warnings"], "case {index}");
    }
}

#[test]
fn formats_fit_what_the_original_lets_through() {
    for line in include_str!("formats.jsonl").lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let schema = Structural::compile(&json!({"type": "string", "format": case[0]})).unwrap();
        assert_eq!(Value::from(schema.check(&case[1], None).is_empty()), case[2], "{line}");
    }
}

#[test]
fn cells_show_what_the_original_shows() {
    for (index, ask, answer) in cases(include_str!("columns.jsonl")) {
        let columns = Columns::of(&json!({"additionalPrinterColumns": ask["columns"]}));
        let cells = columns.cells(&ask["object"], &|_| "AGE".to_owned());
        let metadata = ask["object"].get("metadata").map_or(0, |metadata| metadata.to_string().len());
        let text = ask["object"].to_string();
        if let Some(same) = columns.cells_of_text(text.as_bytes(), metadata, &|_| "AGE".to_owned()) {
            assert_eq!(same, cells, "{ask}");
        }
        assert_eq!(plain(cells.into()), plain(answer), "case {index}: {}", ask["columns"]);
    }
}

/// What a server adds to metadata by itself.
fn without_server(mut object: Value) -> Value {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for name in ["uid", "creationTimestamp", "resourceVersion", "managedFields", "generation"] {
            metadata.remove(name);
        }
    }
    plain(object)
}

#[test]
fn writes_of_custom_resources_end_as_on_a_real_server() {
    for (index, ask, answer) in cases(include_str!("custom.jsonl")) {
        let custom = Custom::new(&ask["crd"], "v1", Some(&Few)).unwrap();
        let (mut object, old) = (ask["object"].clone(), &ask["old"]);
        let mut unknown = custom.decode(&mut object, Source::Sent).unwrap();
        let verdict = match ask["how"].as_str() {
            Some("create") => {
                custom.prepare_create(&mut object);
                unknown.sort_unstable();
                assert_eq!(Value::from(unknown), answer["unknown"], "case {index}");
                custom.validate_create(&object)
            }
            Some("update") => {
                custom.prepare_update(&mut object, old);
                custom.validate_update(&object, old)
            }
            _ => {
                custom.prepare_status(&mut object, old);
                custom.validate_status(&object, old)
            }
        };
        let mut causes: Vec<Value> = verdict
            .flaws
            .iter()
            .map(|flaw| json!([flaw.error_type.reason(), flaw.field, flaw.body]))
            .collect();
        let mut expected = answer["causes"].as_array().cloned().unwrap_or_default();
        causes.sort_by_key(Value::to_string);
        expected.sort_by_key(Value::to_string);
        assert_eq!(causes, expected, "case {index}: {ask}");
        if let Some(stored) = answer.get("object") {
            if let Some(generation) = answer.get("generation") {
                assert_eq!(&object["metadata"]["generation"], generation, "case {index}");
            }
            assert_eq!(without_server(object), plain(stored.clone()), "case {index}: {ask}");
        }
    }
}

#[test]
fn hostile_schemas_and_objects_take_bounded_time() {
    let deep = (0..150).fold(json!({"type": "string"}), |inner, _| json!({"type": "array", "items": inner}));
    let schema = Structural::compile(&json!({"type": "object", "properties": {"spec": deep}})).unwrap();
    let value = (0..150).fold(json!(1), |inner, _| json!([inner]));
    assert_eq!(schema.check(&json!({"spec": value}), None).len(), 1);
    let list = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
        "items": {"type": "object", "properties": {"k": {"type": "integer", "minimum": 1_000_000}}}});
    let schema = Structural::compile(&json!({"type": "object", "properties": {"spec": list}})).unwrap();
    let items: Vec<Value> = (0..20_000).map(|k| json!({"k": k})).collect();
    let object = json!({"spec": items});
    assert_eq!(schema.validate(&object, None).len(), 10_000);
    assert_eq!(schema.validate(&object, Some(&object)), []);
}
