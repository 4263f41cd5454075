//! From a schema that was written out to a structural one.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::check::takes;
use super::flatten::{Flat, Schema, Trail};
use super::{Note, Options, Problem};

/// A schema of more parts would be more than a server keeps.
pub const MAX_PARTS: usize = 20_000;

const OPEN: &str = "x-kubernetes-preserve-unknown-fields";
const INT_OR_STRING: &str = "x-kubernetes-int-or-string";

/// Formats that a server checks as JSON Schema means them, or that are hints.
const FORMATS: [&str; 16] = [
    "date",
    "date-time",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uuid",
    "byte",
    "password",
    "int32",
    "int64",
    "float",
    "double",
    "cidr",
    "mac",
];

/// The types of JSON Schema.
const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// Words that a structural schema has no word for.
const UNSAID: [&str; 14] = [
    "if",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "contains",
    "minContains",
    "maxContains",
    "propertyNames",
    "unevaluatedItems",
    "$dynamicRef",
    "$recursiveRef",
    "contentEncoding",
    "contentSchema",
    "additionalItems",
];

/// Rules by the type that they are about.
const RULES: [(&str, &[&str]); 4] = [
    ("string", &["minLength", "maxLength", "pattern"]),
    ("number", &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]),
    ("array", &["minItems", "maxItems"]),
    ("object", &["minProperties", "maxProperties", "required"]),
];

/// Other words from which a type can be told.
const TELLING: [(&str, &[&str]); 3] = [
    ("string", &["format"]),
    ("array", &["items", "prefixItems", "uniqueItems"]),
    ("object", &["properties", "additionalProperties", "patternProperties", "unevaluatedProperties"]),
];

/// What a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Of one type.
    One(String),
    /// A whole number or a text.
    IntOrString,
    /// Anything, or one of several types.
    Any,
}

/// A conversion under way.
pub struct Converter<'a> {
    /// The whole schema, into which references lead.
    pub root: &'a Value,
    /// Whether its draft is from before 2019-09.
    pub old: bool,
    /// Parts that have a name of their own.
    pub anchors: HashMap<String, Value>,
    /// How it is read.
    pub options: Options,
    /// What cannot be said.
    pub notes: Vec<Note>,
    /// What is wrong.
    pub problems: Vec<Problem>,
    /// How often something was left unsaid.
    pub dropped: usize,
    /// How much was written out.
    pub parts: usize,
    /// How often a reference is followed on the way to a place. Once is too little for a part that is used by another
    /// part at the same place.
    pub repeats: usize,
}

/// The structural schema of values, and what it does not say.
pub fn convert(
    schema: &Value,
    values: Option<&Value>,
    options: Options,
) -> Result<(Value, Vec<Note>), Vec<Problem>> {
    let draft = schema["$schema"].as_str().unwrap_or_default();
    let old =
        ["draft-03", "draft-04", "draft-05", "draft-06", "draft-07"].iter().any(|old| draft.contains(old));
    let mut anchors = HashMap::new();
    collect_anchors(schema, &mut anchors, 0);
    let mut converter = Converter {
        root: schema,
        old,
        anchors,
        options,
        notes: Vec::new(),
        problems: Vec::new(),
        dropped: 0,
        parts: 0,
        repeats: 2,
    };
    let mut spec = converter.structure(schema, Trail { values, ..Trail::default() });
    if converter.parts > MAX_PARTS {
        // Parts that refer to each other grow fast.
        converter = Converter { notes: Vec::new(), problems: Vec::new(), parts: 0, repeats: 1, ..converter };
        spec = converter.structure(schema, Trail { values, ..Trail::default() });
    }
    if converter.parts > MAX_PARTS {
        converter.problems.push(Problem::TooLarge(MAX_PARTS));
    }
    match spec.get("type").and_then(Value::as_str) {
        Some("object") => {}
        None if spec.get(INT_OR_STRING).is_none() => spec["type"] = "object".into(),
        _ => converter.problems.push(Problem::Root),
    }
    let Converter { notes, problems, .. } = converter;
    if problems.is_empty() { Ok((spec, notes)) } else { Err(problems) }
}

fn collect_anchors(schema: &Value, anchors: &mut HashMap<String, Value>, depth: usize) {
    if depth > 128 {
        return;
    }
    match schema {
        Value::Object(object) => {
            for name in ["$anchor", "$id", "id"] {
                if let Some(name) = object.get(name).and_then(Value::as_str)
                    && depth > 0
                {
                    anchors.insert(name.trim_start_matches('#').to_owned(), schema.clone());
                }
            }
            object.values().for_each(|value| collect_anchors(value, anchors, depth + 1));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_anchors(item, anchors, depth + 1)),
        _ => {}
    }
}

/// Any value at all.
fn open() -> Value {
    json!({ OPEN: true })
}

impl Converter<'_> {
    /// The structural schema of a place.
    pub fn structure(&mut self, schema: &Value, mut trail: Trail<'_>) -> Value {
        match self.flatten(schema, &mut trail) {
            Flat::Says(flat) => self.say(flat, &trail),
            Flat::Open => open(),
            Flat::Never => {
                self.note(&trail, "nothing is allowed here, which a server cannot be told");
                open()
            }
        }
    }

    fn say(&mut self, mut flat: Schema, trail: &Trail<'_>) -> Value {
        if self.parts > MAX_PARTS {
            return open();
        }
        constant(&mut flat);
        self.settle(&mut flat, trail);
        // Rules of the server's own may say what these words cannot.
        let ruled = flat.contains_key("x-kubernetes-validations");
        for word in UNSAID.iter().filter(|word| flat.contains_key(**word) && !ruled) {
            self.note(trail, &format!("{word:?} is not checked by the server"));
        }
        let nullable = nullable(&flat);
        let kind = self.kind(&flat, trail);
        let mut out = Map::new();
        for (key, value) in &flat {
            if matches!(key.as_str(), "title" | "description") || key.starts_with("x-kubernetes-") {
                out.insert(key.clone(), value.clone());
            }
        }
        match &kind {
            Kind::One(kind) => drop(out.insert("type".to_owned(), kind.clone().into())),
            Kind::IntOrString => drop(out.insert(INT_OR_STRING.to_owned(), true.into())),
            Kind::Any => drop(out.insert(OPEN.to_owned(), true.into())),
        }
        if nullable {
            out.insert("nullable".to_owned(), true.into());
        }
        self.rules(&flat, &kind, &mut out, trail);
        match &kind {
            Kind::One(kind) if kind == "object" => self.fields(&flat, &mut out, trail),
            Kind::One(kind) if kind == "array" => self.items(&flat, &mut out, trail),
            _ => {}
        }
        let mut out = Value::Object(out);
        self.join(&flat, &mut out, trail);
        self.default(&flat, &mut out, trail);
        out
    }

    /// The type of a place: as said, or as its words tell.
    fn kind(&mut self, flat: &Schema, trail: &Trail<'_>) -> Kind {
        if flat.get(INT_OR_STRING) == Some(&Value::Bool(true)) {
            return Kind::IntOrString;
        }
        let mut types = types(flat);
        if types.is_empty() && flat.get(OPEN) != Some(&Value::Bool(true)) {
            types = told(flat);
            if let [one] = types.as_slice()
                && !flat.contains_key("enum")
            {
                self.note(trail, &format!("no type is said; {one} is assumed"));
            }
        }
        match types.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            [] | ["null"] => Kind::Any,
            [one] => Kind::One((*one).to_owned()),
            ["integer", "string"] => Kind::IntOrString,
            several => {
                let text = format!(
                    "one of several types ({}) cannot be said; any value is taken",
                    several.join(", ")
                );
                self.note(trail, &text);
                Kind::Any
            }
        }
    }

    /// Rules that need no types, for a place or for a branch at it.
    pub fn rules(&mut self, flat: &Schema, kind: &Kind, out: &mut Schema, trail: &Trail<'_>) {
        for (about, words) in RULES {
            let concerns = match kind {
                Kind::One(kind) => about == kind || about == "number" && kind == "integer",
                Kind::IntOrString => matches!(about, "string" | "number"),
                Kind::Any => true,
            };
            for word in words.iter().filter(|_| concerns) {
                if let Some(value) = flat.get(*word) {
                    self.rule(word, value, out, trail);
                }
            }
        }
        if let Some(format) = flat.get("format").and_then(Value::as_str)
            && !matches!(kind, Kind::Any)
        {
            match FORMATS.contains(&format) {
                true => drop(out.insert("format".to_owned(), format.into())),
                false => self.note(trail, &format!("the format {format:?} is not checked by the server")),
            }
        }
        if let Some(allowed) = flat.get("enum").and_then(Value::as_array) {
            self.choice(allowed, nullable(flat), out, trail);
        }
    }

    /// One of several values. A server never finds null among them, so then texts are chosen by a pattern.
    fn choice(&mut self, allowed: &[Value], nullable: bool, out: &mut Schema, trail: &Trail<'_>) {
        let mut distinct: Vec<Value> = Vec::new();
        for value in allowed.iter().map(whole) {
            if !distinct.contains(&value) && !value.is_null() {
                distinct.push(value);
            }
        }
        if distinct.is_empty() {
            return;
        }
        if !(nullable && allowed.contains(&Value::Null)) {
            out.insert("enum".to_owned(), distinct.into());
            return;
        }
        let texts: Option<Vec<String>> = distinct
            .iter()
            .map(|value| Some(String::from_utf8_lossy(&podium_re2::quote_meta(value.as_str()?)).into_owned()))
            .collect();
        match texts {
            Some(texts) if !out.contains_key("pattern") => {
                out.insert("pattern".to_owned(), format!("^(?:{})$", texts.join("|")).into());
            }
            _ => self.note(trail, "\"enum\" with null in it is not checked by the server"),
        }
    }

    fn rule(&mut self, word: &str, value: &Value, out: &mut Schema, trail: &Trail<'_>) {
        let value = whole(value);
        match (word, &value) {
            ("pattern", Value::String(pattern)) => match podium_re2::Regex::new(pattern.as_bytes()) {
                Ok(_) => drop(out.insert(word.to_owned(), value)),
                Err(_) => {
                    self.note(trail, &format!("the pattern {pattern:?} is one that the server cannot run"))
                }
            },
            ("exclusiveMinimum" | "exclusiveMaximum", Value::Bool(_)) => {
                drop(out.insert(word.to_owned(), value))
            }
            ("exclusiveMinimum" | "exclusiveMaximum", Value::Number(_)) => {
                let plain = if word == "exclusiveMinimum" { "minimum" } else { "maximum" };
                let (new, there) = (value.as_f64(), out.get(plain).and_then(Value::as_f64));
                let looser = match (there, new) {
                    (Some(there), Some(new)) => {
                        if plain == "minimum" {
                            there > new
                        } else {
                            there < new
                        }
                    }
                    _ => false,
                };
                if !looser {
                    out.insert(plain.to_owned(), value);
                    out.insert(word.to_owned(), true.into());
                }
            }
            ("minimum" | "maximum" | "multipleOf", Value::Number(_)) => {
                drop(out.insert(word.to_owned(), value))
            }
            ("required", Value::Array(names)) => {
                let mut distinct: Vec<Value> = Vec::new();
                // What the chart has a default for is there, though not in the resource.
                let has = |name: &Value| {
                    trail.values.and_then(|v| v.get(name.as_str()?)).is_some_and(|v| !v.is_null())
                };
                for name in names.iter().filter(|name| name.is_string()) {
                    if has(name) {
                        self.dropped += 1;
                    } else if !distinct.contains(name) {
                        distinct.push(name.clone());
                    }
                }
                if !distinct.is_empty() {
                    out.insert(word.to_owned(), distinct.into());
                }
            }
            // Counted with the defaults, which a resource does not have.
            ("minProperties", _) if trail.values.is_some_and(Value::is_object) => self.dropped += 1,
            (_, Value::Number(number)) if number.is_u64() => drop(out.insert(word.to_owned(), value)),
            _ => self.note(trail, &format!("{word:?} cannot be understood")),
        }
    }

    /// The fields of an object.
    fn fields(&mut self, flat: &Schema, out: &mut Schema, trail: &Trail<'_>) {
        let mut properties = Map::new();
        for (name, schema) in flat.get("properties").and_then(Value::as_object).into_iter().flatten() {
            if *schema == Value::Bool(false) {
                self.note(&trail.below(name), "is not allowed, and so not known");
                continue;
            }
            properties.insert(name.clone(), self.structure(schema, trail.below(name)));
        }
        let patterns = flat.get("patternProperties").and_then(Value::as_object).filter(|map| !map.is_empty());
        // What conditions look at counts as known, and is not known here.
        let conditional = ["if", "dependentSchemas"].iter().any(|word| flat.contains_key(*word));
        let unevaluated = flat.get("unevaluatedProperties").filter(|_| !conditional);
        let rest = flat.get("additionalProperties").or(unevaluated);
        let closed = match rest {
            Some(Value::Bool(open)) => !open,
            Some(_) => false,
            None => self.options.closed && !(properties.is_empty() && patterns.is_none()),
        };
        let mut preserve = false;
        match (properties.is_empty(), patterns, rest) {
            (_, None, _) if closed => {}
            (true, None, Some(schema)) if schema.is_object() => {
                let schema = self.structure(schema, trail.below("*"));
                out.insert("additionalProperties".to_owned(), schema);
            }
            (true, Some(patterns), _) if closed && all_equal(patterns) => {
                let schema = patterns.values().next().unwrap_or(&Value::Null);
                let schema = self.structure(schema, trail.below("*"));
                out.insert("additionalProperties".to_owned(), schema);
                self.note(trail, "the names of fields are not checked against their pattern");
            }
            (_, None, None | Some(Value::Bool(_))) => preserve = true,
            _ => {
                preserve = true;
                self.note(trail, "fields beside the named ones are taken unchecked");
            }
        }
        if preserve && !out.contains_key(OPEN) {
            out.insert(OPEN.to_owned(), true.into());
        }
        if !properties.is_empty() {
            out.insert("properties".to_owned(), properties.into());
        }
    }

    /// The items of a list.
    fn items(&mut self, flat: &Schema, out: &mut Schema, trail: &Trail<'_>) {
        let below = trail.below("[]");
        let tuple = flat.contains_key("prefixItems") || flat.get("items").is_some_and(Value::is_array);
        let items = match flat.get("items") {
            _ if tuple => {
                self.note(trail, "items that differ by their position cannot be said; any item is taken");
                open()
            }
            Some(Value::Bool(false)) => {
                out.insert("maxItems".to_owned(), 0.into());
                open()
            }
            Some(schema) => self.structure(schema, below),
            None => open(),
        };
        if flat.get("uniqueItems") == Some(&Value::Bool(true)) && !out.contains_key("x-kubernetes-list-type")
        {
            let scalar = matches!(items["type"].as_str(), Some("string" | "integer" | "number" | "boolean"));
            match scalar && items.get("nullable").is_none() {
                true => drop(out.insert("x-kubernetes-list-type".to_owned(), "set".into())),
                false => self.note(trail, "\"uniqueItems\" is not checked by the server"),
            }
        }
        out.insert("items".to_owned(), items);
    }

    /// The default of a place, if a server would take it.
    fn default(&mut self, flat: &Schema, out: &mut Value, trail: &Trail<'_>) {
        if let Some(default) = flat.get("default") {
            let default = whole(default);
            if takes(out, &default) {
                out["default"] = default;
            } else {
                self.note(trail, "the default does not fit the schema and is left out");
            }
            return;
        }
        let wanted = |value: &&Value| self.options.defaults && !value.is_null();
        let Some(value) = trail.values.filter(wanted) else { return };
        // The fields of an object have their own; it only has to be there.
        let fields = out["properties"].as_object();
        let inner = value.is_object()
            && fields.is_some_and(|fields| fields.values().any(|f| f.get("default").is_some()));
        let value = if inner { json!({}) } else { whole(value) };
        // Anything that is open may be of another shape in the next version of the chart.
        if (inner || !value.is_object()) && takes(out, &value) {
            out["default"] = value;
        }
    }
}

fn all_equal(map: &Schema) -> bool {
    let mut values = map.values();
    let first = values.next();
    values.all(|value| Some(value) == first)
}

/// A number without fraction as a whole one: that is how servers read it.
pub fn whole(value: &Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64() {
            Some(f) if number.is_f64() && f.fract() == 0.0 && f.abs() < 9e15 => json!(f as i64),
            _ => value.clone(),
        },
        Value::Array(items) => items.iter().map(whole).collect(),
        Value::Object(fields) => Value::Object(fields.iter().map(|(k, v)| (k.clone(), whole(v))).collect()),
        _ => value.clone(),
    }
}

/// `const` is an enum of one.
pub fn constant(flat: &mut Schema) {
    if let Some(value) = flat.remove("const") {
        flat.insert("enum".to_owned(), json!([value]));
    }
}

/// The types that a schema names, without null, sorted; `number` stands for `integer` too.
pub fn types(flat: &Schema) -> Vec<String> {
    let mut types: Vec<String> = match flat.get("type") {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    types.retain(|t| TYPES.contains(&t.as_str()));
    types.sort();
    types.dedup();
    if types.iter().any(|t| t == "number") {
        types.retain(|t| t != "integer");
    }
    if types.len() > 1 {
        types.retain(|t| t != "null");
    }
    types
}

/// Whether null is a value.
pub fn nullable(flat: &Schema) -> bool {
    let named = match flat.get("type") {
        Some(Value::String(one)) => one == "null",
        Some(Value::Array(list)) => list.contains(&Value::from("null")),
        _ => flat.get("enum").and_then(Value::as_array).is_some_and(|list| list.contains(&Value::Null)),
    };
    named || flat.get("nullable") == Some(&Value::Bool(true))
}

/// The types that an enum has, or that words are about; as in [`types`].
pub fn told(flat: &Schema) -> Vec<String> {
    let mut types: Vec<String> = match flat.get("enum").and_then(Value::as_array) {
        Some(list) => {
            list.iter().filter(|value| !value.is_null()).map(|value| type_of(value).to_owned()).collect()
        }
        None => RULES
            .iter()
            .map(|(kind, words)| (kind, *words))
            .chain(TELLING.iter().map(|(kind, words)| (kind, *words)))
            .filter(|(_, words)| words.iter().any(|word| flat.contains_key(*word)))
            .map(|(kind, _)| (*kind).to_owned())
            .collect(),
    };
    types.sort();
    types.dedup();
    if types.iter().any(|t| t == "number") {
        types.retain(|t| t != "integer");
    }
    types
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) if whole(value).is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
