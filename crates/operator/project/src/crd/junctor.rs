//! `anyOf`, `oneOf`, `allOf` and `not`.
//!
//! In a structural schema they hold rules only: every type and every field has to be said outside of them. So types and
//! fields of the branches are lifted out, and the branches keep what is left.

use serde_json::{Map, Value, json};

use super::convert::{Converter, Kind, constant, nullable, told, types};
use super::flatten::{Flat, Schema, Trail, merge};

/// Rules of one type that hold beside those of another.
const MERGED: [&str; 7] =
    ["pattern", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];

impl Converter<'_> {
    /// Writes the branches of a place out, and lifts types and fields from them.
    pub fn settle(&mut self, flat: &mut Schema, trail: &Trail<'_>) {
        for word in ["anyOf", "oneOf"] {
            let Some(Value::Array(given)) = flat.remove(word) else { continue };
            let mut branches: Vec<Schema> = Vec::new();
            let mut trivial = false;
            let dropped = self.dropped;
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
            // One more or one less that holds is not the same for `oneOf`.
            trivial |= word == "oneOf" && self.dropped > dropped;
            if trivial {
                if word == "oneOf" {
                    self.note(trail, "\"oneOf\" is not checked by the server");
                }
                continue;
            }
            let before = branches.len();
            branches.retain(|branch| !only_null(branch));
            let null = branches.len() < before;
            if null {
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
                    if null {
                        and_null(flat);
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
                let guessed = |branch: &Schema| types(branch).is_empty() && !branch.contains_key("enum");
                if branches.iter().any(guessed) {
                    self.note(
                        trail,
                        &format!("no type is said in {word:?}; {} is assumed", each.concat().join(", ")),
                    );
                }
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
                    let shapes: Vec<Value> = branches
                        .iter()
                        .map(|branch| branch.get("items").cloned().unwrap_or(Value::Bool(true)))
                        .map(|items| self.skeleton(&items, &mut trail.clone()))
                        .collect();
                    insert_either(flat, "items", shapes);
                }
                flat.insert(word.to_owned(), branches.into_iter().map(Value::Object).collect());
            }
            // Branches of different types: each rule is about its own type only, so all of them hold together.
            _ => {
                let number = |kind: String| if kind == "integer" { "number".to_owned() } else { kind };
                let each: Vec<Vec<String>> = branches
                    .iter()
                    .map(|branch| known_types(branch).into_iter().map(number).collect())
                    .collect();
                let alone = |at: usize| {
                    let others = each.iter().enumerate().filter(|(other, _)| *other != at);
                    let mut others = others.flat_map(|(_, types)| types);
                    each.get(at).is_some_and(|own| !others.any(|other| own.contains(other)))
                };
                let mut lost = false;
                for (at, mut branch) in branches.into_iter().enumerate() {
                    for word in ["type", "nullable", "title", "description"] {
                        branch.remove(word);
                    }
                    let before = branch.len();
                    branch.retain(|word, _| MERGED.contains(&word.as_str()) && alone(at));
                    lost |= branch.len() < before || !merge(flat, branch).is_empty();
                }
                if lost {
                    self.note(trail, &format!("{word:?} is not checked by the server"));
                }
            }
        }
    }

    /// Fields that only branches name are named outside too, with the types that all branches leave them.
    fn lift_fields(&mut self, branches: &[Schema], flat: &mut Schema, trail: &Trail<'_>) {
        let mut properties = flat.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
        let fields = |branch: &Schema| {
            branch.get("properties").and_then(Value::as_object).cloned().unwrap_or_default()
        };
        let mut names: Vec<String> =
            branches.iter().flat_map(|branch| fields(branch).into_iter().map(|(name, _)| name)).collect();
        names.sort();
        names.dedup();
        for name in names {
            let mut shapes: Vec<Value> = Vec::new();
            for branch in branches {
                match fields(branch).get(&name) {
                    Some(schema) => shapes.push(self.skeleton(schema, &mut trail.below(&name))),
                    None if is_closed(branch) => {}
                    None => shapes.push(Value::Bool(true)),
                }
            }
            match properties.get(&name) {
                None => insert_either(&mut properties, &name, shapes),
                Some(there) => {
                    let shapes = distinct(shapes);
                    let deep =
                        |shape: &Value| shape.get("properties").is_some() || shape.get("items").is_some();
                    if shapes.iter().any(deep) && !shapes.contains(&Value::Bool(true)) {
                        let both = json!({ "allOf": [there, { "anyOf": shapes }] });
                        properties.insert(name, both);
                    }
                }
            }
        }
        if !flat.contains_key("additionalProperties") && branches.iter().all(is_closed) {
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
        let dropped = self.dropped;
        let rule = match self.flatten(not, &mut trail.clone()) {
            Flat::Says(mut not) => {
                constant(&mut not);
                self.strip(&not, out, &mut lost, trail)
            }
            _ => Value::Null,
        };
        lost |= self.dropped > dropped;
        if lost || rule.as_object().is_none_or(Map::is_empty) {
            self.note(trail, "\"not\" is not checked by the server");
        } else {
            out["not"] = rule;
        }
    }

    /// What of a branch is a rule about fields that the structural schema names.
    fn strip(&mut self, branch: &Schema, structure: &Value, lost: &mut bool, trail: &Trail<'_>) -> Value {
        // A branch may have branches, and they may refer to it.
        let trail = &Trail { depth: trail.depth + 1, ..trail.clone() };
        let mut branch = branch.clone();
        constant(&mut branch);
        let kind = match structure["type"].as_str() {
            Some(kind) => Kind::One(kind.to_owned()),
            None => Kind::Any,
        };
        let mut out = Map::new();
        if structure.get("nullable").is_some() {
            and_null(&mut branch);
        }
        let null =
            branch.get("enum").and_then(Value::as_array).is_some_and(|list| list.contains(&Value::Null));
        *lost |= null && kind != Kind::One("string".to_owned());
        let dropped = self.dropped;
        self.rules(&branch, &kind, &mut out, trail);
        let said = types(&branch);
        *lost |= !said.is_empty() && !said.iter().any(|said| structure["type"].as_str() == Some(said));
        *lost |= !said.is_empty() && structure.get("nullable").is_some() && !nullable(&branch);
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
                    let dropped = self.dropped;
                    self.join(&flat, &mut inner, trail);
                    *lost |= self.dropped > dropped;
                    for word in ["anyOf", "oneOf", "allOf"] {
                        if let Some(rules) = inner.get(word) {
                            out.insert(word.to_owned(), rules.clone());
                        }
                    }
                }
                ("additionalProperties" | "unevaluatedProperties", Value::Bool(false)) => {
                    let fields = |of: Option<&Value>| of.and_then(Value::as_object).map_or(0, Map::len);
                    let open = structure.get("x-kubernetes-preserve-unknown-fields").is_some()
                        || structure.get("additionalProperties").is_some();
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
        *lost |= self.dropped > dropped;
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

/// Whether a branch takes no fields but those that it names.
fn is_closed(branch: &Schema) -> bool {
    branch.get("additionalProperties") == Some(&Value::Bool(false))
        && !branch.contains_key("patternProperties")
}

/// Null is a value too: an enum has to name it.
fn and_null(flat: &mut Schema) {
    if let Some(list) = flat.get_mut("enum").and_then(Value::as_array_mut)
        && !list.contains(&Value::Null)
    {
        list.push(Value::Null);
    }
}

fn distinct(values: Vec<Value>) -> Vec<Value> {
    let mut out: Vec<Value> = Vec::new();
    for value in values {
        if !out.contains(&value) {
            out.push(value);
        }
    }
    out
}

/// Puts one of several schemas at a key; anything if one of them takes anything.
fn insert_either(map: &mut Schema, key: &str, shapes: Vec<Value>) {
    let mut shapes = distinct(shapes);
    let schema = match shapes.len() {
        0 => return,
        _ if shapes.contains(&Value::Bool(true)) => Value::Bool(true),
        1 => shapes.pop().unwrap_or(Value::Bool(true)),
        _ => json!({ "anyOf": shapes }),
    };
    map.insert(key.to_owned(), schema);
}
