//! A CRD never refuses what the schema of the chart takes: random schemas, random values, both judges.

#![allow(clippy::unwrap_used, clippy::panic)]

mod random;

use podium_goyaml::json as reader;
use podium_jsonschema::Schema;
use podium_project::crd::{Names, Options, crd, takes};
use random::{KEYS, Random, schema};
use serde_json::{Map, Value, json};

fn value(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth == 0 { 6 } else { 12 }) {
        0 => "x".into(),
        1 => "".into(),
        2 => json!(random.below(7)),
        3 => json!(1.5),
        4 => random.pick(&[json!(true), Value::Null]),
        5 => "y".into(),
        6 => (0..random.below(3)).map(|_| value(random, depth - 1)).collect(),
        _ => object(random, depth),
    }
}

fn object(random: &mut Random, depth: usize) -> Value {
    let mut fields = Map::new();
    for _ in 0..random.below(4) {
        fields.insert(KEYS[random.below(4)].to_owned(), value(random, depth - 1));
    }
    fields.into()
}

#[test]
fn what_the_schema_takes_the_crd_takes() {
    let names = Names {
        group: "x.io".to_owned(),
        kind: "Thing".to_owned(),
        plural: "things".to_owned(),
        versions: vec!["v1".to_owned()],
        ..Names::default()
    };
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let (mut taken, mut refused, mut both) = (0, 0, 0);
    for _ in 0..1500 {
        let mut top = schema(&mut random, 3).as_object().cloned().unwrap_or_default();
        top.insert("$defs".to_owned(), json!({ "shared": schema(&mut random, 1) }));
        let top = Value::Object(top);
        let Ok(made) = crd(&names, &top, None, Options::default()) else { continue };
        // A type that is not said is assumed, and said to be.
        if made.notes.iter().any(|note| note.text.contains("assumed") || note.text.contains("not known")) {
            continue;
        }
        let spec = &made.crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
        let judge = Schema::compile(top.to_string().as_bytes(), None).unwrap();
        for _ in 0..40 {
            let value = object(&mut random, 3);
            let good = judge.validate(&reader::parse(value.to_string().as_bytes(), 0).unwrap()).is_ok();
            match (good, takes(spec, &value)) {
                (true, true) => taken += 1,
                (true, false) => panic!("{value} is refused\n{top:#}\n{spec:#}\n{:#?}", made.notes),
                (false, false) => both += 1,
                (false, true) => refused += 1,
            }
        }
    }
    // Most of what is wrong is found; the rest is what the notes are about.
    assert!(taken > 5_000 && both > 5_000 && refused < both, "{taken} {both} {refused}");
}
