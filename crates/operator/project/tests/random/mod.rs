//! Random schemas.

use serde_json::{Map, Value, json};

/// Chance that can be repeated.
pub struct Random(pub u64);

impl Random {
    /// A number below another.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }

    /// One of several values.
    pub fn pick(&mut self, values: &[Value]) -> Value {
        values[self.below(values.len())].clone()
    }
}

/// The names of fields.
pub const KEYS: [&str; 4] = ["a", "b", "c", "d"];

/// A JSON schema with branches, references and all.
pub fn schema(random: &mut Random, depth: usize) -> Value {
    if depth == 0 || random.below(12) == 0 {
        return random.pick(&[
            json!({ "type": "string" }),
            json!({ "type": "integer" }),
            json!({ "type": ["string", "null"] }),
            json!({ "type": ["integer", "string"] }),
            json!({ "type": "boolean" }),
            json!({ "$ref": "#/$defs/shared" }),
            json!(true),
            json!({ "const": "x" }),
            json!({ "enum": ["x", 1, null] }),
            json!({ "enum": ["x", "y", null] }),
            json!({ "type": "null" }),
            json!({ "type": "number", "exclusiveMinimum": 1, "maximum": 5 }),
            json!({ "type": "string", "minLength": 1, "pattern": "^[xy]" }),
        ]);
    }
    let below = |random: &mut Random| schema(random, depth - 1);
    let mut out = Map::new();
    match random.below(10) {
        0..=5 => {
            out.insert("type".to_owned(), "object".into());
            let mut fields = Map::new();
            for _ in 0..random.below(4) {
                fields.insert(KEYS[random.below(4)].to_owned(), below(random));
            }
            out.insert("properties".to_owned(), fields.into());
            match random.below(6) {
                0 | 1 => drop(out.insert("additionalProperties".to_owned(), false.into())),
                2 => drop(out.insert("additionalProperties".to_owned(), below(random))),
                3 => drop(out.insert("patternProperties".to_owned(), json!({ "^[ab]": below(random) }))),
                _ => {}
            }
            if random.below(3) == 0 {
                out.insert("required".to_owned(), json!([KEYS[random.below(4)]]));
            }
        }
        6 => {
            out.insert("type".to_owned(), "array".into());
            out.insert("items".to_owned(), below(random));
            if random.below(2) == 0 {
                out.insert("uniqueItems".to_owned(), true.into());
            }
        }
        7 => out = below(random).as_object().cloned().unwrap_or_default(),
        _ => {}
    }
    for word in ["anyOf", "oneOf", "allOf"] {
        if random.below(6) == 0 {
            let branches: Vec<Value> = (0..=random.below(3)).map(|_| below(random)).collect();
            out.insert(word.to_owned(), branches.into());
        }
    }
    if random.below(10) == 0 {
        out.insert("not".to_owned(), below(random));
    }
    if random.below(20) == 0 {
        out.insert("if".to_owned(), below(random));
        out.insert("then".to_owned(), below(random));
    }
    out.into()
}
