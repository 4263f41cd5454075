//! Go types, as far as reading into them shows: which scalars become strings, and what errors say.

use super::error::{Error, Origin};
use crate::number;
use crate::tree::{List, Map, Node, Value};

/// A Go type to read into.
#[derive(Debug, Clone, Copy)]
pub struct Type {
    /// Its name as Go prints it, such as `map[string]string` or `chart.Metadata`; of a pointer, what it points to.
    pub go: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// Whether it is a pointer, so that null makes it nil.
    pub pointer: bool,
}

/// What a Go type holds.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// `interface{}`.
    Any,
    /// `string`.
    Str,
    /// `bool`.
    Bool,
    /// An integer, such as `int` or `int32`.
    Int,
    /// `[]byte`, in base64.
    Bytes(fn(&str) -> Result<(), String>),
    /// A type that reads its own JSON. The function says what is wrong with a value; then reading ends at once.
    Own(fn(&Value) -> Result<(), Refused>),
    /// A `string` of an embedded struct, whose name errors have. No other scalar is made a string for it.
    Promoted(&'static str),
    /// A slice of the type.
    List(&'static Type),
    /// A map from strings to the type.
    Map(&'static Type),
    /// A struct.
    Struct(&'static Struct),
}

/// Why a type that reads its own JSON does not take a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// The JSON is not for this Go type.
    Type(&'static str),
    /// Something else, in Go's words.
    Text(String),
}

/// A Go struct.
#[derive(Debug)]
pub struct Struct {
    /// Its name without package; empty if it has none.
    pub name: &'static str,
    /// Its fields by their JSON names.
    pub fields: &'static [(&'static str, &'static Type)],
}

/// `interface{}`.
pub static ANY: Type = Type::new("interface {}", Kind::Any);
/// `string`.
pub static STRING: Type = Type::new("string", Kind::Str);
/// `bool`.
pub static BOOL: Type = Type::new("bool", Kind::Bool);
/// `*int`.
pub static INT_POINTER: Type = Type::pointer("int", Kind::Int);
/// `[]string`.
pub static STRINGS: Type = Type::new("[]string", Kind::List(&STRING));
/// `[]interface{}`.
pub static LIST: Type = Type::new("[]interface {}", Kind::List(&ANY));
/// `map[string]string`.
pub static STRING_MAP: Type = Type::new("map[string]string", Kind::Map(&STRING));
/// `map[string]interface{}`.
pub static OBJECT: Type = Type::new("map[string]interface {}", Kind::Map(&ANY));

impl Type {
    /// A type that is no pointer.
    pub const fn new(go: &'static str, kind: Kind) -> Self {
        Self { go, kind, pointer: false }
    }

    /// A pointer to a type.
    pub const fn pointer(go: &'static str, kind: Kind) -> Self {
        Self { go, kind, pointer: true }
    }

    /// The type of the elements of a list.
    pub(super) fn element(&self) -> Option<&Type> {
        match self.kind {
            Kind::List(element) => Some(element),
            _ => None,
        }
    }

    /// The type of the value of a key.
    pub(super) fn of_key(&self, key: &str) -> Option<&Type> {
        match self.kind {
            Kind::Map(element) => Some(element),
            Kind::Struct(of) => of.field(key).map(|(_, ty)| ty),
            _ => None,
        }
    }
}

impl Struct {
    /// The field of a name: the same one, or else one that differs in case only.
    pub(super) fn field(&self, key: &str) -> Option<(&'static str, &'static Type)> {
        let exact = self.fields.iter().find(|(name, _)| *name == key);
        exact.or_else(|| self.fields.iter().find(|(name, _)| folds_to(key, name))).copied()
    }
}

/// Whether two names are equal but for their case, by Unicode's simple folding. The second one is ASCII.
pub(super) fn folds_to(key: &str, name: &str) -> bool {
    let fold = |c: char| match c {
        '\u{212a}' => 'k',
        '\u{17f}' => 's',
        c => c.to_ascii_lowercase(),
    };
    key.chars().map(fold).eq(name.chars().map(fold))
}

/// Reads a value into a type, as Go's JSON decoder does.
///
/// A struct becomes a mapping from the names of its fields, without those that were not written.
pub(super) fn conform(value: Node, ty: &Type, origin: Origin) -> Result<Node, Error> {
    read_into(value, ty, origin, false)
}

/// The same, and what a struct does not have is an error.
pub(super) fn conform_strictly(value: Node, ty: &Type, origin: Origin) -> Result<Node, Error> {
    read_into(value, ty, origin, true)
}

fn read_into(value: Node, ty: &Type, origin: Origin, strict: bool) -> Result<Node, Error> {
    let mut fit = Fit { holder: None, path: Vec::new(), error: None, ended: false, strict };
    let mut slot = Node { value: zero(ty), pos: value.pos };
    fit.read(&mut slot, value, ty);
    match fit.error {
        None => Ok(slot),
        Some((text, mut pos)) => {
            pos.source = origin.source;
            Err(Error::Decode { text, pos })
        }
    }
}

/// Reads a value of a JSON text into a type; the error is the decoder's, without anything in front.
pub fn fit(value: Node, ty: &Type) -> Result<Node, String> {
    conform(value, ty, Origin::from(0)).map_err(|error| match error {
        Error::Convert { text, .. } | Error::Decode { text, .. } | Error::Separator { text, .. } => text,
    })
}

fn zero(ty: &Type) -> Value {
    match ty.kind {
        _ if ty.pointer => Value::Null,
        Kind::Str | Kind::Promoted(_) => Value::String("".into()),
        Kind::Bool => Value::Bool(false),
        Kind::Int => Value::Int(0),
        _ => Value::Null,
    }
}

struct Fit {
    /// The name of the struct around the value.
    holder: Option<&'static str>,
    path: Vec<&'static str>,
    /// The first error; the rest is still read.
    error: Option<(String, crate::tree::Pos)>,
    /// Whether the error is one after which nothing is read.
    ended: bool,
    /// Whether what a struct does not have is an error.
    strict: bool,
}

impl Fit {
    /// Reads into a place that may hold something already. The depth of recursion is that of the type.
    fn read(&mut self, slot: &mut Node, node: Node, ty: &Type) {
        let pos = node.pos;
        if self.ended {
            return;
        }
        match (ty.kind, node.value) {
            (Kind::Any, value) => *slot = Node { value, pos },
            (Kind::List(_) | Kind::Map(_), Value::Null) => *slot = Node { value: Value::Null, pos },
            (_, Value::Null) if ty.pointer => *slot = Node { value: Value::Null, pos },
            (Kind::Own(check), value) => match check(&value) {
                Ok(()) => *slot = Node { value, pos },
                Err(refused) => {
                    let text = match refused {
                        Refused::Type(go) => self.mismatch(&value, go),
                        Refused::Text(text) => text,
                    };
                    self.error = Some((text, pos));
                    self.ended = true;
                }
            },
            (_, Value::Null) => {}
            (Kind::Str | Kind::Promoted(_), value @ Value::String(_))
            | (Kind::Bool, value @ Value::Bool(_)) => *slot = Node { value, pos },
            (Kind::Int, Value::Int(i)) => *slot = Node { value: Value::Int(i), pos },
            (Kind::Int, Value::Float(f)) if is_int(f, ty.go) => {
                *slot = Node { value: Value::Int(f as i64), pos }
            }
            (Kind::Bytes(check), Value::String(text)) => {
                if let Err(text) = check(&text) {
                    self.error.get_or_insert((text, pos));
                }
                *slot = Node { value: Value::String(text), pos };
            }
            (Kind::List(element), Value::List(items)) => {
                slot.pos = pos;
                self.read_list(slot, items, element);
            }
            (Kind::Map(element), Value::Map(entries)) => {
                let mut map = take_map(slot);
                for (key, value) in entries.into_entries() {
                    let mut item = Node { value: zero(element), pos: value.pos };
                    self.read(&mut item, value, element);
                    map.insert(key, item);
                }
                *slot = Node { value: Value::Map(map), pos };
            }
            (Kind::Struct(of), Value::Map(entries)) => {
                let mut map = take_map(slot);
                self.read_struct(&mut map, entries, of);
                *slot = Node { value: Value::Map(map), pos };
            }
            (_, value) => {
                if self.error.is_none() {
                    self.error = Some((self.mismatch(&value, ty.go), pos));
                }
            }
        }
    }

    fn read_list(&mut self, slot: &mut Node, items: List, element: &Type) {
        if !matches!(slot.value, Value::List(_)) {
            slot.value = Value::List(List::new());
        }
        let Value::List(list) = &mut slot.value else { return };
        let list = list.as_vec_mut();
        let len = items.len();
        for (at, item) in items.into_vec().into_iter().enumerate() {
            if at == list.len() {
                list.push(Node { value: zero(element), pos: item.pos });
            }
            if let Some(slot) = list.get_mut(at) {
                self.read(slot, item, element);
            }
        }
        list.truncate(len);
    }

    fn read_struct(&mut self, map: &mut Map, entries: Map, of: &'static Struct) {
        // In the order of the keys, so that the later spelling of a field wins.
        for (key, value) in entries.into_entries() {
            let Some((name, ty)) = of.field(&key) else {
                if self.strict {
                    let mut text = String::from("json: unknown field ");
                    crate::unicode::quote(&mut text, key.as_bytes());
                    self.error.get_or_insert((text, value.pos));
                }
                continue;
            };
            let holder = self.holder.replace(of.name);
            let depth = self.path.len();
            if let Kind::Promoted(embedded) = ty.kind {
                self.path.push(embedded);
            }
            self.path.push(name);
            let missing = !map.contains_key(name);
            let mut item = map.remove(name).unwrap_or(Node { value: zero(ty), pos: value.pos });
            let null = value.is_null();
            self.read(&mut item, value, ty);
            if !(missing && null && !ty.pointer) {
                map.insert(name, item);
            }
            self.path.truncate(depth);
            self.holder = holder;
        }
    }

    fn mismatch(&self, value: &Value, go: &str) -> String {
        let number;
        let kind = match value {
            // Go says which number only if another one would have been right.
            Value::Float(f) if go.starts_with("int") => {
                let mut text = b"number ".to_vec();
                number::json(&mut text, *f);
                number = String::from_utf8_lossy(&text).into_owned();
                &number
            }
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Int(_) | Value::Float(_) => "number",
            Value::String(_) => "string",
            Value::List(_) => "array",
            Value::Map(_) => "object",
        };
        match self.holder {
            None => format!("json: cannot unmarshal {kind} into Go value of type {go}"),
            Some(holder) => {
                let path = self.path.join(".");
                format!("json: cannot unmarshal {kind} into Go struct field {holder}.{path} of type {go}")
            }
        }
    }
}

/// Whether a number has no fraction and is in the range of the integer type.
fn is_int(f: f64, go: &str) -> bool {
    let range = match go {
        "int32" => f64::from(i32::MIN)..=f64::from(i32::MAX),
        _ => i64::MIN as f64..=i64::MAX as f64,
    };
    f.fract() == 0.0 && range.contains(&f)
}

/// Takes the mapping out of a place; an empty one if there is none.
fn take_map(slot: &mut Node) -> Map {
    match &mut slot.value {
        Value::Map(map) => std::mem::take(map),
        _ => Map::new(),
    }
}
