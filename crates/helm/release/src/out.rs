//! What a command says, in a form for programs.

use std::borrow::Cow;
use std::collections::BTreeMap;

use podium_goyaml::{Doc, Map, Node, View, emit, json};
use serde_json::Value;

/// A value that is printed as JSON, with its fields in their order, or as YAML, sorted, as Go's tools do it.
#[derive(Clone, Debug)]
pub enum Out<'a> {
    /// A whole number.
    Number(i64),
    /// A text.
    Text(Cow<'a, str>),
    /// A list.
    List(Vec<Out<'a>>),
    /// Fields in their order.
    Fields(Vec<(&'static str, Out<'a>)>),
    /// Something from a record.
    Node(&'a Node),
    /// A mapping from a record, or null.
    Map(Option<&'a Map>),
    /// Texts by name.
    Texts(&'a BTreeMap<String, String>),
    /// Objects by name.
    Objects(&'a BTreeMap<String, Vec<Value>>),
}

impl<'a> From<&'a str> for Out<'a> {
    fn from(text: &'a str) -> Self {
        Out::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Out<'_> {
    fn from(text: String) -> Self {
        Out::Text(Cow::Owned(text))
    }
}

impl Out<'_> {
    /// One line of JSON.
    pub fn json(&self) -> Result<Vec<u8>, json::Error> {
        let mut line = json::to_string(&Handle::Out(self))?;
        line.push(b'\n');
        Ok(line)
    }

    /// YAML.
    pub fn yaml(&self) -> Result<Vec<u8>, emit::Error> {
        emit::to_yaml(&Handle::Out(self))
    }
}

/// Fields that are left out when they are empty.
#[derive(Default)]
pub struct Fields<'a>(Vec<(&'static str, Out<'a>)>);

impl<'a> Fields<'a> {
    /// Adds a field.
    pub fn add(mut self, name: &'static str, value: impl Into<Out<'a>>) -> Self {
        self.0.push((name, value.into()));
        self
    }

    /// Adds a field if it is there.
    pub fn maybe(mut self, name: &'static str, value: Option<impl Into<Out<'a>>>) -> Self {
        self.0.extend(value.map(|value| (name, value.into())));
        self
    }

    /// Adds a text unless it is empty.
    pub fn text(self, name: &'static str, text: &'a str) -> Self {
        self.maybe(name, Some(text).filter(|text| !text.is_empty()))
    }

    /// Adds a number unless it is zero.
    pub fn number(self, name: &'static str, number: i64) -> Self {
        self.maybe(name, Some(Out::Number(number)).filter(|_| number != 0))
    }

    /// Adds texts unless there are none.
    pub fn texts(self, name: &'static str, texts: &'a [String]) -> Self {
        let list = Out::List(texts.iter().map(|text| text.as_str().into()).collect());
        self.maybe(name, Some(list).filter(|_| !texts.is_empty()))
    }

    /// All of them.
    pub fn done(self) -> Out<'a> {
        Out::Fields(self.0)
    }
}

#[derive(Clone, Copy)]
enum Handle<'a> {
    Out(&'a Out<'a>),
    Node(&'a Node),
    Text(&'a str),
    Json(&'a Value),
    Items(&'a [Value]),
}

impl Doc for Handle<'_> {
    fn view(&self) -> View<'_, Self> {
        match *self {
            Handle::Text(text) => View::Str(Cow::Borrowed(text.as_bytes())),
            Handle::Node(node) => of_node(node),
            Handle::Items(items) => View::List(items.iter().map(Handle::Json).collect()),
            Handle::Json(value) => of_json(value),
            Handle::Out(out) => match out {
                Out::Number(number) => View::Int(*number),
                Out::Text(text) => View::Str(Cow::Borrowed(text.as_bytes())),
                Out::List(items) => View::List(items.iter().map(Handle::Out).collect()),
                Out::Fields(fields) => {
                    let field = |name: &'static str| Cow::Borrowed(name.as_bytes());
                    View::Fields(
                        fields.iter().map(|(name, value)| (field(name), Handle::Out(value))).collect(),
                    )
                }
                Out::Node(node) => of_node(node),
                Out::Map(map) => map.map_or(View::Null, of_map),
                Out::Texts(texts) => View::Map(
                    texts.iter().map(|(k, v)| (Cow::Borrowed(k.as_bytes()), Handle::Text(v))).collect(),
                ),
                Out::Objects(objects) => View::Map(
                    objects.iter().map(|(k, v)| (Cow::Borrowed(k.as_bytes()), Handle::Items(v))).collect(),
                ),
            },
        }
    }
}

fn of_map(map: &Map) -> View<'_, Handle<'_>> {
    View::Map(map.iter().map(|(k, v)| (Cow::Borrowed(k.as_bytes()), Handle::Node(v))).collect())
}

fn of_node(node: &Node) -> View<'_, Handle<'_>> {
    use podium_goyaml::Value;
    match &node.value {
        Value::Null => View::Null,
        Value::Bool(b) => View::Bool(*b),
        Value::Int(i) => View::Int(*i),
        Value::Float(f) => View::Float(*f),
        Value::String(s) => View::Str(Cow::Borrowed(s.as_bytes())),
        Value::List(l) => View::List(l.iter().map(Handle::Node).collect()),
        Value::Map(m) => of_map(m),
    }
}

fn of_json(value: &Value) -> View<'_, Handle<'_>> {
    match value {
        Value::Null => View::Null,
        Value::Bool(b) => View::Bool(*b),
        Value::Number(n) => match (n.as_i64(), n.as_u64(), n.as_f64()) {
            (Some(i), _, _) => View::Int(i),
            (_, Some(u), _) => View::Uint(u),
            (_, _, f) => View::Float(f.unwrap_or(f64::NAN)),
        },
        Value::String(s) => View::Str(Cow::Borrowed(s.as_bytes())),
        Value::Array(items) => View::List(items.iter().map(Handle::Json).collect()),
        Value::Object(map) => {
            View::Map(map.iter().map(|(k, v)| (Cow::Borrowed(k.as_bytes()), Handle::Json(v))).collect())
        }
    }
}
