//! What stands in a cell.

use serde_json::{Map, Value};

use super::age::age;

/// An expression; paths are keys with dots.
#[derive(Debug)]
pub enum Cell {
    /// The name.
    Name,
    /// The age.
    Age,
    /// The moment of creation.
    Created,
    /// A text; empty if there is none.
    Text(&'static str),
    /// A text, or another one where there is none.
    Or(&'static str, &'static str),
    /// A text, or another one where there is none or it is empty.
    OrEmpty(&'static str, &'static str),
    /// A number; 0 if there is none.
    Number(&'static str),
    /// How many items or members there are.
    Count(&'static str),
    /// How many there are in two places.
    Sum(&'static str, &'static str),
    /// A truth, or this one where there is none.
    Flag(&'static str, bool),
    /// The age of another moment, or this text where there is none.
    AgeOf(&'static str, &'static str),
    /// The names and the images of containers: two cells.
    Containers(&'static str),
    /// Labels that are wanted.
    Labels(&'static str),
    /// A selector, or this text where it is empty.
    Selector(&'static str, &'static str),
    /// Two numbers, `1/2`.
    Share(&'static str, &'static str),
    /// Two texts, `a/b`.
    Pair(&'static str, &'static str),
    /// A function.
    Call(fn(&Look<'_>) -> String),
    /// A function that gives any value.
    Any(fn(&Look<'_>) -> Value),
}

/// An object that is looked at, and when.
pub struct Look<'o> {
    pub object: &'o Value,
    pub now: i64,
}

/// A part of a value, by a path of keys.
pub fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(value, |value, key| value.get(key)).filter(|value| !value.is_null())
}

/// The text of a part; empty if there is none.
pub fn text<'v>(value: &'v Value, path: &str) -> &'v str {
    at(value, path).and_then(Value::as_str).unwrap_or_default()
}

/// The number of a part; 0 if there is none.
pub fn number(value: &Value, path: &str) -> i64 {
    at(value, path).and_then(Value::as_i64).unwrap_or(0)
}

/// The items of a part.
pub fn list<'v>(value: &'v Value, path: &str) -> &'v [Value] {
    at(value, path).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Whether the condition of a type is true, if there is one.
pub fn condition(value: &Value, kind: &str) -> Option<bool> {
    let found = list(value, "status.conditions").iter().find(|one| text(one, "type") == kind)?;
    Some(text(found, "status") == "True")
}

/// The texts of a list.
pub fn texts<'v>(value: &'v Value, path: &str) -> Vec<&'v str> {
    list(value, path).iter().filter_map(Value::as_str).collect()
}

impl Look<'_> {
    pub fn text(&self, path: &str) -> &str {
        text(self.object, path)
    }

    pub fn age_of(&self, path: &str) -> String {
        age(self.text(path), self.now)
    }

    /// The cell's value; for some, two values.
    pub fn show(&self, cell: &Cell) -> Vec<Value> {
        let object = self.object;
        let one = match cell {
            Cell::Name => self.text("metadata.name").into(),
            Cell::Age => self.age_of("metadata.creationTimestamp").into(),
            Cell::Created => {
                let created = at(object, "metadata.creationTimestamp").cloned();
                created.unwrap_or_else(|| "0001-01-01T00:00:00Z".into())
            }
            Cell::Text(path) => self.text(path).into(),
            Cell::Or(path, other) => at(object, path).and_then(Value::as_str).unwrap_or(other).into(),
            Cell::OrEmpty(path, other) => match self.text(path) {
                "" => (*other).into(),
                text => text.into(),
            },
            Cell::Number(path) => number(object, path).into(),
            Cell::Count(path) => count(object, path).into(),
            Cell::Sum(a, b) => (count(object, a) + count(object, b)).into(),
            Cell::Flag(path, usual) => at(object, path).and_then(Value::as_bool).unwrap_or(*usual).into(),
            Cell::AgeOf(path, other) => match at(object, path) {
                None => (*other).into(),
                Some(_) => self.age_of(path).into(),
            },
            Cell::Containers(path) => return containers(at(object, path)).map(Value::String).to_vec(),
            Cell::Labels(path) => labels(at(object, path)).into(),
            Cell::Selector(path, none) => match selector(at(object, path)) {
                text if text.is_empty() => (*none).into(),
                text => text.into(),
            },
            Cell::Share(a, b) => format!("{}/{}", number(object, a), number(object, b)).into(),
            Cell::Pair(a, b) => format!("{}/{}", self.text(a), self.text(b)).into(),
            Cell::Call(call) => call(self).into(),
            Cell::Any(call) => call(self),
        };
        vec![one]
    }
}

fn count(object: &Value, path: &str) -> usize {
    match at(object, path) {
        Some(Value::Array(list)) => list.len(),
        Some(Value::Object(map)) => map.len(),
        // Bytes are counted by whether there are some.
        _ => 0,
    }
}

fn pairs(map: &Map<String, Value>) -> Vec<(String, String)> {
    map.iter()
        .map(|(key, value)| (key.clone(), format!("{key}={}", value.as_str().unwrap_or_default())))
        .collect()
}

/// The names and the images of containers.
pub fn containers(value: Option<&Value>) -> [String; 2] {
    let all = value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    ["name", "image"].map(|key| all.iter().map(|one| text(one, key)).collect::<Vec<&str>>().join(","))
}

/// Labels as a list, `a=1,b=2`.
pub fn labels(value: Option<&Value>) -> String {
    let words: Vec<String> = value
        .and_then(Value::as_object)
        .map(pairs)
        .unwrap_or_default()
        .into_iter()
        .map(|pair| pair.1)
        .collect();
    if words.is_empty() { "<none>".to_owned() } else { words.join(",") }
}

/// A selector in its short form, by key.
pub fn selector(value: Option<&Value>) -> String {
    let Some(value) = value else { return String::new() };
    let mut terms = at(value, "matchLabels").and_then(Value::as_object).map(pairs).unwrap_or_default();
    for term in list(value, "matchExpressions") {
        let key = text(term, "key").to_owned();
        let mut values = texts(term, "values");
        values.sort_unstable();
        values.dedup();
        let values = values.join(",");
        let words = match text(term, "operator") {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.clone(),
            _ => format!("!{key}"),
        };
        terms.push((key, words));
    }
    terms.sort_by(|a, b| a.0.cmp(&b.0));
    terms.into_iter().map(|term| term.1).collect::<Vec<String>>().join(",")
}

/// The first few words of a list and how many more there are.
pub fn few(words: &[String], most: usize, all: usize) -> String {
    let shown = words.get(..most.min(words.len())).unwrap_or_default().join(",");
    if words.len() > most { format!("{shown} + {} more...", all - most) } else { shown }
}
