//! Answers of kube-apiserver 1.36's own compiler and evaluator, recorded once.
//!
//! `object.json` has the schema, an object and what it was before. Each line of `recorded.jsonl` is a rule (`rule`) or,
//! with `message`, a message expression; `optional` says that `oldSelf` is an optional value. Then either `compile`, why
//! it is refused, or `error` or `result`, with `cost` and with `most`, the estimate of the cost.
#![allow(clippy::unwrap_used)]

use podium_cel::{Environment, Program, Purpose, Shape, Value};
use serde_json::Value as Json;

#[test]
fn every_answer_is_the_recorded_one() {
    let given: Json = serde_json::from_str(include_str!("data/object.json")).unwrap();
    let shape = Shape::new(&given["schema"], true).unwrap();
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in include_str!("data/recorded.jsonl").lines() {
        let case: Json = serde_json::from_str(line).unwrap();
        let found = answer(&case, &shape, &given);
        count += 1;
        if found != case {
            wrong.push(format!("wanted {case}\nfound  {found}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 500);
}

fn answer(case: &Json, shape: &Shape, given: &Json) -> Json {
    let mut out = case.clone();
    let map = out.as_object_mut().unwrap();
    map.retain(|key, _| ["rule", "message", "optional"].contains(&key.as_str()));
    let environment = Environment::for_rule(shape, case.get("optional").is_some());
    let purpose = if case.get("message").is_some() { Purpose::Message } else { Purpose::Rule };
    let program = match Program::compile(case["rule"].as_str().unwrap(), purpose, &environment) {
        Ok(program) => program,
        Err(error) => {
            map.insert("compile".to_owned(), error.to_string().into());
            return out;
        }
    };
    let outcome = program.run(&given["self"], Some(&given["old"]));
    map.insert("cost".to_owned(), outcome.cost.into());
    map.insert("most".to_owned(), program.estimated_cost().into());
    match outcome.result {
        Ok(Value::Bool(flag)) => map.insert("result".to_owned(), flag.to_string().into()),
        Ok(Value::String(text)) => map.insert("result".to_owned(), (*text).into()),
        Ok(other) => map.insert("result".to_owned(), format!("{other:?}").into()),
        Err(error) => map.insert("error".to_owned(), error.to_string().into()),
    };
    out
}
