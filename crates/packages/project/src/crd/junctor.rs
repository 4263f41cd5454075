//! `anyOf`, `oneOf`, `allOf` and `not`.
//!
//! In a structural schema they hold rules only: every type and every field has to be said outside of them. So types and
//! fields of the branches are lifted out, and the branches keep what is left.

use serde_json::{Map, Value, json};

use super::convert::{Converter, Kind, constant, nullable, told, types};
use super::flatten::{Flat, Schema, Trail, merge};

impl Converter<'_> {
    /// Writes the branches of a place out, and lifts types and fields from them.
    pub fn settle(&mut self, flat: &mut Schema, trail: &Trail<'_>) {
        for word in ["anyOf", "oneOf"] {
            let Some(Value::Array(given)) = flat.remove(word) else { continue };
            let mut branches: Vec<Schema> = Vec::new();
            let mut trivial = false;
            for branch in &given {
                match self.flatten(branch, &mut trail.clone()) {
                    Flat::Says(mut branch) => {
                        constant(&mut branch);
                        branches.push(branch);
                    }
                    Flat::Open => trivial = true,
                    Flat::Never => {}
                }
            }
            if trivial {
                if word == "oneOf" {
                    self.note(trail, "\"oneOf\" is not checked by the server");
                }
                continue;
            }
            let before = branches.len();
            branches.retain(|branch| !only_null(branch));
            if branches.len() < before {
                flat.insert("nullable".to_owned(), true.into());
            }
            match branches.len() {
                0 => {}
                1 => {
                    let rest = branches.pop().map(|branch| merge(flat, branch)).unwrap_or_default();
                    if !rest.is_empty()
                        && let Some(all) = flat.entry("allOf").or_insert_with(|| json!([])).as_array_mut()
                    {
                        all.push(Value::Object(rest));
                    }
                }
                _ => self.lift(word, branches, flat, trail),
            }
        }
    }

    fn lift(&mut self, word: &str, branches: Vec<Schema>, flat: &mut Schema, trail: &Trail<'_>) {
        if types(flat).is_empty() {
            let each: Vec<Vec<String>> = branches.iter().map(known_types).collect();
            if each.iter().all(|types| !types.is_empty()) {
                let mut all: Vec<String> = each.into_iter().flatten().collect();
                all.sort();
                all.dedup();
                let null = branches.iter().any(nullable);
                flat.insert("type".to_owned(), all.into());
                if null {
                    flat.insert("nullable".to_owned(), true.into());
                }
            }
        }
        let kinds = types(flat);
        match kinds.as_slice() {
            [one] => {
                if one == "object" {
                    self.lift_fields(&branches, flat, trail);
                }
                if one == "array" && !flat.contains_key("items") {
                    let items: Vec<Value> =
                        distinct(branches.iter().filter_map(|branch| branch.get("items")));
                    let items: Vec<Value> =
                        items.iter().map(|items| self.skeleton(items, &mut trail.clone())).collect();
                    insert_either(flat, "items", distinct(items.iter()));
                }
                flat.insert(word.to_owned(), branches.into_iter().map(Value::Object).collect());
            }
            // Branches of different types: each rule is about its own type only, so all of them hold together.
            _ => {
                let mut lost = false;
                for mut branch in branches {
                    for word in ["type", "nullable", "title", "description"] {
                        branch.remove(word);
                    }
                    lost |= branch.contains_key("enum") || branch.contains_key("properties");
                    branch.retain(|word, _| {
                        matches!(word.as_str(), "pattern" | "minLength" | "maxLength" | "minimum" | "maximum")
                    });
                    lost |= !merge(flat, branch).is_empty();
                }
                if lost {
                    self.note(trail, &format!("{word:?} is not checked by the server"));
                }
            }
        }
    }

    /// Fields that only branches name are named outside too, with their types.
    fn lift_fields(&mut self, branches: &[Schema], flat: &mut Schema, trail: &Trail<'_>) {
        let closed = |branch: &Schema| branch.get("additionalProperties") == Some(&Value::Bool(false));
        let mut properties = flat.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
        let mut found: Map<String, Value> = Map::new();
        for branch in branches {
            for (name, schema) in branch.get("properties").and_then(Value::as_object).into_iter().flatten() {
                let list = found.entry(name.clone()).or_insert_with(|| json!([]));
                if let Some(list) = list.as_array_mut() {
                    let shape = self.skeleton(schema, &mut trail.below(name));
                    if !list.contains(&shape) {
                        list.push(shape);
                    }
                }
            }
        }
        for (name, shapes) in found {
            let shapes = shapes.as_array().cloned().unwrap_or_default();
            match properties.get(&name) {
                None => insert_either(&mut properties, &name, shapes),
                Some(there) => {
                    let deep =
                        |shape: &&Value| shape.get("properties").is_some() || shape.get("items").is_some();
                    let mut all = vec![there.clone()];
                    all.extend(shapes.iter().filter(deep).cloned());
                    if all.len() > 1 {
                        properties.insert(name, json!({ "allOf": all }));
                    }
                }
            }
        }
        if !flat.contains_key("additionalProperties") && branches.iter().all(closed) {
            flat.insert("additionalProperties".to_owned(), false.into());
        }
        if !properties.is_empty() {
            flat.insert("properties".to_owned(), properties.into());
        }
    }

    /// The types and fields of a schema without its rules.
    fn skeleton(&mut self, schema: &Value, trail: &mut Trail<'_>) -> Value {
        trail.depth += 1;
        let Flat::Says(mut flat) = self.flatten(schema, trail) else { return Value::Bool(true) };
        constant(&mut flat);
        let mut out = Map::new();
        let kinds = known_types(&flat);
        if !kinds.is_empty() {
            out.insert("type".to_owned(), kinds.into());
        }
        if nullable(&flat) {
            out.insert("nullable".to_owned(), true.into());
        }
        for (word, value) in &flat {
            let shape = match (word.as_str(), value) {
                ("properties" | "patternProperties", Value::Object(fields)) => fields
                    .iter()
                    .map(|(name, schema)| (name.clone(), self.skeleton(schema, &mut trail.clone())))
                    .collect::<Map<_, _>>()
                    .into(),
                ("items" | "additionalProperties", Value::Object(_)) => {
                    self.skeleton(value, &mut trail.clone())
                }
                ("anyOf" | "oneOf" | "allOf", Value::Array(branches)) => {
                    let shapes: Vec<Value> =
                        branches.iter().map(|branch| self.skeleton(branch, &mut trail.clone())).collect();
                    let key = if word == "allOf" { "allOf" } else { "anyOf" };
                    out.insert(key.to_owned(), shapes.into());
                    continue;
                }
                ("description" | "title" | "additionalProperties" | "items", value) => value.clone(),
                _ => continue,
            };
            out.insert(word.clone(), shape);
        }
        Value::Object(out)
    }

    /// Adds the branches of a place to its structural schema, as far as they are rules.
    pub fn join(&mut self, flat: &Schema, out: &mut Value, trail: &Trail<'_>) {
        for word in ["allOf", "anyOf", "oneOf"] {
            let Some(Value::Array(branches)) = flat.get(word) else { continue };
            let mut lost = false;
            let mut rules: Vec<Value> = Vec::new();
            for branch in branches {
                if let Value::Object(branch) = branch {
                    rules.push(self.strip(branch, out, &mut lost, trail));
                }
            }
            let empty = |rule: &Value| rule.as_object().is_none_or(Map::is_empty);
            let key = match word {
                "allOf" => {
                    rules.retain(|rule| !empty(rule));
                    "allOf"
                }
                // With types gone two branches may hold where one did.
                "oneOf" if lost => "anyOf",
                word => word,
            };
            if lost {
                self.note(trail, &format!("{word:?} is checked in part only"));
            }
            if rules.is_empty() || key == "anyOf" && rules.iter().any(empty) {
                continue;
            }
            if let Some(there) = out.get_mut(key).and_then(Value::as_array_mut) {
                // `oneOf` that became `anyOf` beside another one: both have to hold.
                let both = json!([{ "anyOf": there.clone() }, { "anyOf": rules }]);
                if let Some(object) = out.as_object_mut() {
                    object.remove(key);
                }
                out["allOf"] = both;
            } else {
                out[key] = rules.into();
            }
        }
        if let Some(not) = flat.get("not") {
            self.negation(not, out, trail);
        }
    }

    fn negation(&mut self, not: &Value, out: &mut Value, trail: &Trail<'_>) {
        let mut lost = false;
        let rule = match self.flatten(not, &mut trail.clone()) {
            Flat::Says(mut not) => {
                constant(&mut not);
                self.strip(&not, out, &mut lost, trail)
            }
            _ => Value::Null,
        };
        if lost || rule.as_object().is_none_or(Map::is_empty) {
            self.note(trail, "\"not\" is not checked by the server");
        } else {
            out["not"] = rule;
        }
    }

    /// What of a branch is a rule about fields that the structural schema names.
    fn strip(&mut self, branch: &Schema, structure: &Value, lost: &mut bool, trail: &Trail<'_>) -> Value {
        let mut branch = branch.clone();
        constant(&mut branch);
        let kind = match structure["type"].as_str() {
            Some(kind) => Kind::One(kind.to_owned()),
            None => Kind::Any,
        };
        let mut out = Map::new();
        self.rules(&branch, &kind, &mut out, trail);
        let said = types(&branch);
        *lost |= !said.is_empty() && !said.iter().any(|said| structure["type"].as_str() == Some(said));
        for (word, value) in &branch {
            match (word.as_str(), value) {
                ("properties", Value::Object(fields)) => {
                    let mut inner = Map::new();
                    for (name, schema) in fields {
                        let (Some(there), Flat::Says(schema)) =
                            (structure["properties"].get(name), self.flatten(schema, &mut trail.below(name)))
                        else {
                            *lost |= *schema != Value::Bool(true);
                            continue;
                        };
                        let rule = self.strip(&schema, there, lost, &trail.below(name));
                        if rule.as_object().is_some_and(|rule| !rule.is_empty()) {
                            inner.insert(name.clone(), rule);
                        }
                    }
                    if !inner.is_empty() {
                        out.insert("properties".to_owned(), inner.into());
                    }
                }
                ("items", Value::Object(_)) => {
                    let below = trail.below("[]");
                    let (Some(there), Flat::Says(schema)) =
                        (structure.get("items"), self.flatten(value, &mut below.clone()))
                    else {
                        *lost = true;
                        continue;
                    };
                    let rule = self.strip(&schema, there, lost, &below);
                    if rule.as_object().is_some_and(|rule| !rule.is_empty()) {
                        out.insert("items".to_owned(), rule);
                    }
                }
                ("anyOf" | "oneOf" | "allOf", Value::Array(_)) => {
                    let mut inner = structure.clone();
                    if let Some(inner) = inner.as_object_mut() {
                        ["anyOf", "oneOf", "allOf", "not"].iter().for_each(|word| drop(inner.remove(*word)));
                    }
                    let mut flat = Map::new();
                    flat.insert(word.clone(), self.flattened(value, trail));
                    let notes = self.notes.len();
                    self.join(&flat, &mut inner, trail);
                    *lost |= self.notes.len() > notes;
                    for word in ["anyOf", "oneOf", "allOf"] {
                        if let Some(rules) = inner.get(word) {
                            out.insert(word.to_owned(), rules.clone());
                        }
                    }
                }
                ("additionalProperties" | "unevaluatedProperties", Value::Bool(false)) => {
                    let fields = |of: Option<&Value>| of.and_then(Value::as_object).map_or(0, Map::len);
                    let open = structure.get("x-kubernetes-preserve-unknown-fields").is_some();
                    *lost |= open || fields(branch.get("properties")) != fields(structure.get("properties"));
                }
                ("additionalProperties" | "unevaluatedProperties", Value::Bool(true)) => {}
                (
                    "type" | "title" | "description" | "default" | "nullable" | "required" | "enum"
                    | "format" | "pattern" | "minLength" | "maxLength" | "minimum" | "maximum"
                    | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" | "minItems" | "maxItems"
                    | "minProperties" | "maxProperties",
                    _,
                ) => {}
                _ => *lost = true,
            }
        }
        Value::Object(out)
    }

    fn flattened(&mut self, branches: &Value, trail: &Trail<'_>) -> Value {
        let branches = branches.as_array().into_iter().flatten();
        let write = |branch: &Value| match self.flatten(branch, &mut trail.clone()) {
            Flat::Says(flat) => Value::Object(flat),
            _ => json!({}),
        };
        branches.map(write).collect()
    }
}

/// The types that a schema names or tells, and null.
fn known_types(flat: &Schema) -> Vec<String> {
    let named = types(flat);
    if named.is_empty() { told(flat) } else { named }
}

fn only_null(branch: &Schema) -> bool {
    branch.get("type") == Some(&Value::from("null")) || branch.get("enum") == Some(&json!([null]))
}

fn distinct<'v>(values: impl Iterator<Item = &'v Value>) -> Vec<Value> {
    let mut out: Vec<Value> = Vec::new();
    for value in values {
        if !out.contains(value) {
            out.push(value.clone());
        }
    }
    out
}

/// Puts one of several schemas at a key.
fn insert_either(map: &mut Schema, key: &str, mut shapes: Vec<Value>) {
    match shapes.len() {
        0 => {}
        1 => drop(map.insert(key.to_owned(), shapes.pop().unwrap_or(Value::Bool(true)))),
        _ => drop(map.insert(key.to_owned(), json!({ "anyOf": shapes }))),
    }
}
