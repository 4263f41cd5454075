//! Output for programs: JSON and YAML.

use std::borrow::Cow;
use std::collections::BTreeMap;

use podium_goyaml::{Doc, Map, Node, View, emit, json};
use serde_json::Value;

/// A value that prints as JSON with its fields in order, or as YAML with sorted keys, as Go's tools do.
#[derive(Clone, Debug)]
pub enum Output<'a> {
    /// An integer.
    Number(i64),
    /// A string.
    Text(Cow<'a, str>),
    /// A list.
    List(Vec<Output<'a>>),
    /// An object with ordered fields.
    Fields(Vec<(&'static str, Output<'a>)>),
    /// A value of a record.
    Node(&'a Node),
    /// A map of a record, or null.
    Map(Option<&'a Map>),
    /// Strings by key.
    StringMap(&'a BTreeMap<String, String>),
    /// Objects by key.
    Objects(&'a BTreeMap<String, Vec<Value>>),
}

impl<'a> From<&'a str> for Output<'a> {
    fn from(text: &'a str) -> Self {
        Output::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Output<'_> {
    fn from(text: String) -> Self {
        Output::Text(Cow::Owned(text))
    }
}

impl Output<'_> {
    /// Prints one line of JSON.
    pub fn json(&self) -> Result<Vec<u8>, json::Error> {
        let mut line = json::to_string(&OutputRef::Output(self))?;
        line.push(b'\n');
        Ok(line)
    }

    /// Prints YAML.
    pub fn yaml(&self) -> Result<Vec<u8>, emit::Error> {
        emit::to_yaml(&OutputRef::Output(self))
    }
}

/// Builds an [`Output::Fields`], like a Go struct with `omitempty` tags.
#[derive(Default)]
pub struct OutputFields<'a>(Vec<(&'static str, Output<'a>)>);

impl<'a> OutputFields<'a> {
    /// Adds a field.
    pub fn add(mut self, name: &'static str, value: impl Into<Output<'a>>) -> Self {
        self.0.push((name, value.into()));
        self
    }

    /// Adds a field if it has a value.
    pub fn add_some(mut self, name: &'static str, value: Option<impl Into<Output<'a>>>) -> Self {
        self.0.extend(value.map(|value| (name, value.into())));
        self
    }

    /// Adds a string unless it is empty.
    pub fn add_text(self, name: &'static str, text: &'a str) -> Self {
        self.add_some(name, Some(text).filter(|text| !text.is_empty()))
    }

    /// Adds a number unless it is zero.
    pub fn add_number(self, name: &'static str, number: i64) -> Self {
        self.add_some(name, Some(Output::Number(number)).filter(|_| number != 0))
    }

    /// Adds a list of strings unless it is empty.
    pub fn add_texts(self, name: &'static str, texts: &'a [String]) -> Self {
        let list = Output::List(texts.iter().map(|text| text.as_str().into()).collect());
        self.add_some(name, Some(list).filter(|_| !texts.is_empty()))
    }

    /// Finishes the object.
    pub fn build(self) -> Output<'a> {
        Output::Fields(self.0)
    }
}

#[derive(Clone, Copy)]
enum OutputRef<'a> {
    Output(&'a Output<'a>),
    Node(&'a Node),
    Text(&'a str),
    Json(&'a Value),
    Items(&'a [Value]),
}

impl Doc for OutputRef<'_> {
    fn view(&self) -> View<'_, Self> {
        match *self {
            OutputRef::Text(text) => View::Str(Cow::Borrowed(text.as_bytes())),
            OutputRef::Node(node) => node_view(node),
            OutputRef::Items(items) => View::List(items.iter().map(OutputRef::Json).collect()),
            OutputRef::Json(value) => json_view(value),
            OutputRef::Output(out) => match out {
                Output::Number(number) => View::Int(*number),
                Output::Text(text) => View::Str(Cow::Borrowed(text.as_bytes())),
                Output::List(items) => View::List(items.iter().map(OutputRef::Output).collect()),
                Output::Fields(fields) => {
                    let field = |name: &'static str| Cow::Borrowed(name.as_bytes());
                    View::Fields(
                        fields.iter().map(|(name, value)| (field(name), OutputRef::Output(value))).collect(),
                    )
                }
                Output::Node(node) => node_view(node),
                Output::Map(map) => map.map_or(View::Null, map_view),
                Output::StringMap(texts) => View::Map(
                    texts.iter().map(|(k, v)| (Cow::Borrowed(k.as_bytes()), OutputRef::Text(v))).collect(),
                ),
                Output::Objects(objects) => View::Map(
                    objects.iter().map(|(k, v)| (Cow::Borrowed(k.as_bytes()), OutputRef::Items(v))).collect(),
                ),
            },
        }
    }
}

fn map_view(map: &Map) -> View<'_, OutputRef<'_>> {
    View::Map(map.iter().map(|(k, v)| (Cow::Borrowed(k.as_bytes()), OutputRef::Node(v))).collect())
}

fn node_view(node: &Node) -> View<'_, OutputRef<'_>> {
    use podium_goyaml::Value;
    match &node.value {
        Value::Null => View::Null,
        Value::Bool(b) => View::Bool(*b),
        Value::Int(i) => View::Int(*i),
        Value::Float(f) => View::Float(*f),
        Value::String(s) => View::Str(Cow::Borrowed(s.as_bytes())),
        Value::List(l) => View::List(l.iter().map(OutputRef::Node).collect()),
        Value::Map(m) => map_view(m),
    }
}

fn json_view(value: &Value) -> View<'_, OutputRef<'_>> {
    match value {
        Value::Null => View::Null,
        Value::Bool(b) => View::Bool(*b),
        Value::Number(n) => match (n.as_i64(), n.as_u64(), n.as_f64()) {
            (Some(i), _, _) => View::Int(i),
            (_, Some(u), _) => View::Uint(u),
            (_, _, f) => View::Float(f.unwrap_or(f64::NAN)),
        },
        Value::String(s) => View::Str(Cow::Borrowed(s.as_bytes())),
        Value::Array(items) => View::List(items.iter().map(OutputRef::Json).collect()),
        Value::Object(map) => {
            View::Map(map.iter().map(|(k, v)| (Cow::Borrowed(k.as_bytes()), OutputRef::Json(v))).collect())
        }
    }
}
