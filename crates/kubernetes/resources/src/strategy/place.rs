//! Places in objects, and the flaws that are found there.

use podium_meta::{ErrorType, FieldError};
use serde_json::Value;

use crate::typed::json::quote;

static NOTHING: Value = Value::Null;

/// A value, and where it stands; a place with nothing in it has the value null.
#[derive(Clone, Debug)]
pub struct Place<'v> {
    pub value: &'v Value,
    pub path: String,
}

impl<'v> Place<'v> {
    /// The object as a whole.
    pub fn root(value: &'v Value) -> Self {
        Self { value, path: String::new() }
    }

    /// The same value, said to be elsewhere.
    pub fn moved(&self, path: impl Into<String>) -> Self {
        Self { value: self.value, path: path.into() }
    }

    /// A field, or a field of a field: `template.spec`.
    pub fn at(&self, key: &str) -> Self {
        let value = key.split('.').fold(self.value, |value, key| value.get(key).unwrap_or(&NOTHING));
        Self { value, path: self.child(key) }
    }

    /// The path of a field, which need not be one of the value.
    pub fn child(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// A member of a map.
    pub fn key(&self, key: &str) -> Self {
        Self { value: self.value.get(key).unwrap_or(&NOTHING), path: format!("{}[{key}]", self.path) }
    }

    /// An item of a list.
    pub fn index(&self, at: usize) -> Self {
        Self { value: self.value.get(at).unwrap_or(&NOTHING), path: format!("{}[{at}]", self.path) }
    }

    /// The items of a list.
    pub fn items(&self) -> impl Iterator<Item = Place<'v>> + use<'v, '_> {
        let list: &'v [Value] = self.value.as_array().map(Vec::as_slice).unwrap_or_default();
        list.iter().enumerate().map(|(at, value)| Place { value, path: format!("{}[{at}]", self.path) })
    }

    /// The items of a field that is a list.
    pub fn each(&self, key: &str) -> Vec<Place<'v>> {
        self.at(key).items().collect()
    }

    /// The members of a map.
    pub fn members(&self) -> Vec<(&'v str, Place<'v>)> {
        let map = self.value.as_object().into_iter().flatten();
        map.map(|(key, value)| (key.as_str(), Place { value, path: format!("{}[{key}]", self.path) }))
            .collect()
    }

    /// Whether there is something.
    pub fn is(&self) -> bool {
        !self.value.is_null()
    }

    /// Whether a field has something.
    pub fn has(&self, key: &str) -> bool {
        self.at(key).is()
    }

    /// The text; empty if there is none.
    pub fn text(&self) -> &'v str {
        self.value.as_str().unwrap_or_default()
    }

    /// The number; zero if there is none.
    pub fn number(&self) -> i64 {
        self.value.as_i64().unwrap_or_default()
    }

    /// Whether it is true.
    pub fn truth(&self) -> bool {
        self.value.as_bool().unwrap_or_default()
    }

    /// How many items or members there are.
    pub fn count(&self) -> usize {
        match self.value {
            Value::Array(list) => list.len(),
            Value::Object(map) => map.len(),
            _ => 0,
        }
    }
}

/// The flaws that were found, in their order.
#[derive(Debug, Default)]
pub struct Flaws {
    pub list: Vec<FieldError>,
}

/// A value as the server shows it in a sentence.
pub fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quote(text),
        other => go_json(other),
    }
}

/// The order of fields in types that the API and the server share.
const ORDERS: &[&[&str]] = &[
    &["matchLabels", "matchExpressions"],
    &["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"],
];

/// JSON with the escapes that Go adds, and with fields in the order of their types where these are known.
pub fn go_json(value: &Value) -> String {
    if let Value::Array(list) = value
        && list.iter().any(Value::is_object)
    {
        let items: Vec<String> = list.iter().map(go_json).collect();
        return format!("[{}]", items.join(","));
    }
    let order = value
        .as_object()
        .filter(|map| map.len() > 1)
        .and_then(|map| ORDERS.iter().find(|order| map.keys().all(|key| order.contains(&key.as_str()))));
    if let Some(order) = order {
        let fields = order.iter().filter_map(|key| Some(format!("\"{key}\":{}", go_json(value.get(*key)?))));
        return format!("{{{}}}", fields.collect::<Vec<String>>().join(","));
    }
    let text = value.to_string();
    if !text.contains(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 16);
    for sign in text.chars() {
        match sign {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => out.push_str(&format!("\\u{:04x}", u32::from(sign))),
            sign => out.push(sign),
        }
    }
    out
}

impl Flaws {
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub fn push(&mut self, flaw: FieldError) {
        self.list.push(flaw);
    }

    /// Something has to be there.
    pub fn required(&mut self, place: &Place<'_>, detail: &str) {
        self.push(FieldError::required(&place.path, detail));
    }

    /// Something may not be there.
    pub fn forbidden(&mut self, place: &Place<'_>, detail: &str) {
        self.push(FieldError::forbidden(&place.path, detail));
    }

    /// What is there cannot be.
    pub fn invalid(&mut self, place: &Place<'_>, detail: &str) {
        self.push(FieldError::new(ErrorType::Invalid, &place.path, &shown(place.value), detail));
    }

    /// A text cannot be; a text that is not there is an empty one.
    pub fn invalid_text(&mut self, place: &Place<'_>, detail: &str) {
        self.push(FieldError::new(ErrorType::Invalid, &place.path, &quote(place.text()), detail));
    }

    /// A number cannot be; a number that is not there is zero.
    pub fn invalid_number(&mut self, place: &Place<'_>, detail: &str) {
        self.push(FieldError::new(ErrorType::Invalid, &place.path, &place.number().to_string(), detail));
    }

    /// Another value, which is to be shown, cannot be.
    pub fn invalid_as(&mut self, path: impl Into<String>, value: &str, detail: &str) {
        self.push(FieldError::new(ErrorType::Invalid, path, value, detail));
    }

    /// All that is wrong with a text.
    pub fn wrong(&mut self, place: &Place<'_>, messages: Vec<String>) {
        messages.iter().for_each(|message| self.invalid_text(place, message));
    }

    /// It is there twice.
    pub fn duplicate(&mut self, place: &Place<'_>) {
        let value = if place.is() { shown(place.value) } else { quote("") };
        self.duplicate_as(&place.path, &value);
    }

    pub fn duplicate_as(&mut self, path: impl Into<String>, value: &str) {
        self.push(FieldError::new(ErrorType::Duplicate, path, value, ""));
    }

    /// What it names is not there.
    pub fn not_found(&mut self, place: &Place<'_>) {
        self.push(FieldError::new(ErrorType::NotFound, &place.path, &quote(place.text()), ""));
    }

    /// It is not one of a few.
    pub fn unsupported(&mut self, place: &Place<'_>, supported: &[&str]) {
        self.unsupported_as(&place.path, &quote(place.text()), supported);
    }

    pub fn unsupported_as(&mut self, path: impl Into<String>, value: &str, supported: &[&str]) {
        let list: Vec<String> = supported.iter().map(|one| quote(one)).collect();
        let detail = format!("supported values: {}", list.join(", "));
        self.push(FieldError::new(ErrorType::NotSupported, path, value, &detail));
    }

    /// It is longer than so many bytes.
    pub fn too_long(&mut self, path: impl Into<String>, most: usize) {
        self.push(FieldError::without_value(
            ErrorType::TooLong,
            path,
            &format!("may not be more than {most} bytes"),
        ));
    }

    /// It has more than so many items.
    pub fn too_many(&mut self, place: &Place<'_>, most: usize) {
        let detail = format!("must have at most {most} items");
        self.push(FieldError::new(ErrorType::TooMany, &place.path, &place.count().to_string(), &detail));
    }

    /// A number below zero.
    pub fn not_negative(&mut self, place: &Place<'_>) {
        if place.number() < 0 {
            self.invalid_number(place, NEGATIVE);
        }
    }

    /// A number that is not above zero.
    pub fn positive(&mut self, place: &Place<'_>) {
        if place.number() <= 0 {
            self.invalid_number(place, "must be greater than zero");
        }
    }

    /// A text that may not change; none is an empty one.
    pub fn fixed_text(&mut self, new: &Place<'_>, old: &Place<'_>) {
        if new.text() != old.text() {
            self.invalid_text(new, IMMUTABLE);
        }
    }

    /// What may not change.
    pub fn fixed(&mut self, new: &Place<'_>, old: &Value) {
        if new.value != old {
            self.invalid(new, IMMUTABLE);
        }
    }
}

/// What is said of a number below zero.
pub const NEGATIVE: &str = "must be greater than or equal to 0";
/// What is said of a field that may not change.
pub const IMMUTABLE: &str = "field is immutable";
/// What is said of a number out of its range.
pub fn between(low: i64, high: i64) -> String {
    format!("must be between {low} and {high}, inclusive")
}
