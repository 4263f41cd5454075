//! What the API server's own code does with resources of random schemas: recorded answers.

use podium_objects::Flaw;
use podium_schema::Structural;
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
fn said(flaws: &[Flaw]) -> Value {
    let mut said: Vec<String> = flaws.iter().map(|flaw| format!("{} {flaw}", flaw.wrong.reason())).collect();
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
