//! The values that templates work on.
//!
//! Containers live in the render's [`Heap`](crate::heap::Heap) and are plain references, so that a map can contain
//! itself and everything still goes away with the heap, in one sweep and without recursion. Maps change; lists never
//! change once they are made, but for `sortAlpha`, which sorts a `[]string` where it is.

use std::any::Any;
use std::borrow::Borrow;
use std::cell::{Cell, OnceCell, Ref, RefCell};
use std::cmp::Ordering;
use std::fmt;
use std::rc::Rc;

use crate::entries::Entries;
use crate::types::{self, Kind, Shape, Type};

/// A Go string: any bytes, shared or borrowed from something that outlives the render.
#[derive(Clone)]
pub enum Str<'h> {
    /// Bytes that outlive the render: template text, chart files.
    Borrowed(&'h [u8]),
    /// Bytes that a function made.
    Shared(Rc<[u8]>),
}

/// A value.
#[derive(Clone, Default)]
pub enum Value<'h> {
    /// No value (`reflect`'s zero Value), which is also what functions see for any `nil`.
    #[default]
    Nil,
    /// A `nil` that is known to be an `interface {}`: a missing map entry. Only the evaluator sees it.
    NilAny,
    /// `bool`.
    Bool(bool),
    /// `int`.
    Int(i64),
    /// `int64`.
    Int64(i64),
    /// `int32`.
    Int32(i32),
    /// `uint8`.
    Uint8(u8),
    /// `uint64`.
    Uint64(u64),
    /// `float64`.
    Float(f64),
    /// `complex128`.
    Complex(f64, f64),
    /// `string`.
    Str(Str<'h>),
    /// `[]uint8`: the bytes of a file.
    Bytes(&'h [u8]),
    /// A slice of any other type.
    List(&'h List<'h>),
    /// A map.
    Map(&'h Map<'h>),
    /// A struct, or a pointer to one.
    Struct(&'h Struct<'h>),
    /// A value of a type that has behaviour of its own: a time, a duration, a version.
    Opaque(Rc<dyn Opaque>),
}

/// A slice.
pub struct List<'h> {
    /// Its type, e.g. `[]string`.
    pub ty: &'static Type,
    /// Whether it is Go's nil slice, which JSON prints as `null`.
    pub nil: bool,
    /// The elements.
    pub items: Items<'h>,
    pub(crate) watch: Watch<'h>,
}

/// Whom to tell that something has changed which outlives the template that changes it.
pub(crate) type Watch<'h> = Option<&'h Cell<bool>>;

/// The elements of a slice: read it as `[Value]`.
pub struct Items<'h> {
    made: Vec<Value<'h>>,
    sorted: OnceCell<Vec<Value<'h>>>,
}

/// A map from strings. Two of different types may share their entries: a chart's `.Values` and the table in its
/// parent's values are one.
pub struct Map<'h> {
    /// Its type, e.g. `map[string]interface {}`.
    pub ty: &'static Type,
    /// Whether it is Go's nil map.
    pub nil: bool,
    /// Which of the tables it comes from.
    table: u32,
    entries: Held<'h>,
    watch: Watch<'h>,
}

/// What maps are made of when a template looks at them for the first time.
pub trait Tables<'h> {
    /// The entries of a table.
    fn entries(&'h self, table: u32) -> Entries<'h>;
}

enum Held<'h> {
    Own(RefCell<Entries<'h>>),
    /// Nobody may have looked yet.
    Later(OnceCell<RefCell<Entries<'h>>>, &'h dyn Tables<'h>),
    /// The same map under another type.
    Of(&'h Map<'h>),
}

/// A struct (or, when the type is a pointer, what it points to).
pub struct Struct<'h> {
    /// Its type.
    pub ty: &'static Type,
    /// The values of the fields, in the order of the type.
    pub fields: Vec<Value<'h>>,
    /// Whether it is a copy in an `interface {}`: it has no address, and so no methods of its pointer.
    pub boxed: bool,
}

/// A value with behaviour of its own. Its methods are in its type.
pub trait Opaque: Any {
    /// The type, with methods.
    fn ty(&self) -> &'static Type;
    /// What `String()` (or `Error()`) gives, if the type has it.
    fn string(&self) -> Option<String>;
    /// What `GoString()` gives, if the type has it: the value as Go source.
    fn go_string(&self) -> Option<String> {
        None
    }
    /// Whether it is the nil of a pointer or slice type.
    fn nil(&self) -> bool {
        false
    }
    /// The value as its underlying basic type (an `int64` for a duration).
    fn basic(&self) -> Option<Value<'static>> {
        None
    }
    /// The fields when it is printed as a struct (or the elements of a slice), in order, with their names.
    fn parts(&self) -> Vec<(&'static str, Value<'static>)> {
        Vec::new()
    }
    /// What JSON writes for it: a JSON text.
    fn json(&self) -> Option<Result<String, String>> {
        None
    }
    /// Whether it equals another value of the same type (Go's `==`).
    fn same(&self, other: &dyn Opaque) -> bool;
    /// Whether it equals another value of the same type all the way down, which differs for pointers.
    fn deep_same(&self, other: &dyn Opaque) -> bool {
        self.same(other)
    }
    /// For looking at the concrete type.
    fn as_any(&self) -> &dyn Any;
}

impl<'h> Str<'h> {
    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Str::Borrowed(b) => b,
            Str::Shared(b) => b,
        }
    }

    /// The text, with U+FFFD for what is no UTF-8.
    pub fn to_text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(self.as_bytes())
    }
}

impl std::ops::Deref for Str<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl Borrow<[u8]> for Str<'_> {
    fn borrow(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl PartialEq for Str<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Str<'_> {}

impl PartialOrd for Str<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Str<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl fmt::Debug for Str<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_text())
    }
}

impl From<Vec<u8>> for Str<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Str::Shared(bytes.into())
    }
}

impl From<String> for Str<'_> {
    fn from(text: String) -> Self {
        Str::Shared(text.into_bytes().into())
    }
}

impl<'h> From<&'h str> for Str<'h> {
    fn from(text: &'h str) -> Self {
        Str::Borrowed(text.as_bytes())
    }
}

impl<'h> From<&'h [u8]> for Str<'h> {
    fn from(bytes: &'h [u8]) -> Self {
        Str::Borrowed(bytes)
    }
}

impl<'h> List<'h> {
    /// Sorts the elements where they are. Sorting again changes nothing.
    pub fn sort(&self, order: impl FnMut(&Value<'h>, &Value<'h>) -> Ordering) {
        tell(self.watch);
        self.items.sorted.get_or_init(|| {
            let mut sorted = self.items.made.clone();
            sorted.sort_by(order);
            sorted
        });
    }
}

impl<'h> std::ops::Deref for Items<'h> {
    type Target = [Value<'h>];

    fn deref(&self) -> &[Value<'h>] {
        self.sorted.get().unwrap_or(&self.made)
    }
}

impl<'h> From<Vec<Value<'h>>> for Items<'h> {
    fn from(made: Vec<Value<'h>>) -> Self {
        Self { made, sorted: OnceCell::new() }
    }
}

impl<'a, 'h> IntoIterator for &'a Items<'h> {
    type Item = &'a Value<'h>;
    type IntoIter = std::slice::Iter<'a, Value<'h>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'h> Map<'h> {
    pub(crate) fn new(ty: &'static Type, nil: bool, entries: Entries<'h>, watch: Watch<'h>) -> Self {
        Self { ty, nil, table: 0, entries: Held::Own(RefCell::new(entries)), watch }
    }

    pub(crate) fn later(ty: &'static Type, from: &'h dyn Tables<'h>, table: u32, watch: Watch<'h>) -> Self {
        Self { ty, nil: false, table, entries: Held::Later(OnceCell::new(), from), watch }
    }

    pub(crate) fn alias(&'h self, ty: &'static Type) -> Self {
        Self { ty, nil: self.nil, table: 0, entries: Held::Of(self.origin()), watch: None }
    }

    /// The map that holds the entries: two maps with the same origin are one map in Go.
    pub fn origin(&self) -> &Map<'h> {
        let mut map = self;
        while let Held::Of(other) = map.entries {
            map = other;
        }
        map
    }

    fn cell(&self) -> &RefCell<Entries<'h>> {
        let mut map = self;
        loop {
            match &map.entries {
                Held::Own(cell) => return cell,
                Held::Later(made, from) => {
                    return made.get_or_init(|| RefCell::new(from.entries(map.table)));
                }
                Held::Of(other) => map = other,
            }
        }
    }

    /// Whether somebody has looked at it, if it is made only then.
    pub fn is_made(&self) -> bool {
        !matches!(&self.origin().entries, Held::Later(made, _) if made.get().is_none())
    }

    /// The entries, to be changed.
    fn changing(&self) -> &RefCell<Entries<'h>> {
        tell(self.origin().watch);
        self.cell()
    }

    /// The entry of a key.
    pub fn get(&self, key: &[u8]) -> Option<Value<'h>> {
        self.cell().borrow().get(key).cloned()
    }

    /// Whether the key is there.
    pub fn contains(&self, key: &[u8]) -> bool {
        self.cell().borrow().contains_key(key)
    }

    /// Sets an entry.
    pub fn set(&self, key: Str<'h>, value: Value<'h>) {
        self.changing().borrow_mut().insert(key, value);
    }

    /// Takes an entry out.
    pub fn remove(&self, key: &[u8]) {
        self.changing().borrow_mut().remove(key);
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.cell().borrow().len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.cell().borrow().is_empty()
    }

    /// Looks at the entries, in key order. Nothing may change the map meanwhile: for anything but a quick look take
    /// [`entries`](Self::entries).
    pub fn borrow(&self) -> Ref<'_, Entries<'h>> {
        self.cell().borrow()
    }

    /// A copy of the entries, in key order.
    pub fn entries(&self) -> Vec<(Str<'h>, Value<'h>)> {
        self.cell().borrow().iter().map(|(k, v)| (k.clone(), v.clone())).collect()
    }
}

/// Says that something has changed.
fn tell(watch: Watch<'_>) {
    if let Some(changed) = watch {
        changed.set(true);
    }
}

/// The nil of `[]uint8`: no bytes, at a place that no other bytes have.
fn nil_bytes() -> &'static [u8] {
    static PLACE: [u8; 2] = [0; 2];
    PLACE.get(1..1).unwrap_or_default()
}

impl Value<'static> {
    /// The same scalar as a value of some render. Containers belong to one heap and cannot be taken over: they are nil.
    pub fn adopt<'h>(self) -> Value<'h> {
        match self {
            Value::Bool(b) => Value::Bool(b),
            Value::Int(i) => Value::Int(i),
            Value::Int64(i) => Value::Int64(i),
            Value::Int32(i) => Value::Int32(i),
            Value::Uint8(u) => Value::Uint8(u),
            Value::Uint64(u) => Value::Uint64(u),
            Value::Float(f) => Value::Float(f),
            Value::Complex(re, im) => Value::Complex(re, im),
            Value::Str(Str::Borrowed(b)) => Value::Str(Str::Borrowed(b)),
            Value::Str(Str::Shared(b)) => Value::Str(Str::Shared(b)),
            Value::Bytes(b) => Value::Bytes(b),
            Value::Opaque(o) => Value::Opaque(o),
            Value::NilAny => Value::NilAny,
            Value::Nil | Value::List(_) | Value::Map(_) | Value::Struct(_) => Value::Nil,
        }
    }
}

impl<'h> Value<'h> {
    /// A string that a function made.
    pub fn string(text: impl Into<Str<'h>>) -> Self {
        Value::Str(text.into())
    }

    /// Whether it is `nil` (not a typed nil).
    pub fn is_nil(&self) -> bool {
        matches!(self, Value::Nil | Value::NilAny)
    }

    /// The bytes, if it is a `string`.
    pub fn as_str(&self) -> Option<&Str<'h>> {
        match self {
            Value::Str(s) => Some(s),
            _ => None,
        }
    }

    /// The map, if it is one.
    pub fn as_map(&self) -> Option<&'h Map<'h>> {
        match self {
            Value::Map(m) => Some(m),
            _ => None,
        }
    }

    /// Go's type of the value; nothing for `nil`.
    pub fn ty(&self) -> Option<&'static Type> {
        Some(match self {
            Value::Nil => return None,
            Value::NilAny => &types::ANY,
            Value::Bool(_) => &types::BOOL,
            Value::Int(_) => &types::INT,
            Value::Int64(_) => &types::INT64,
            Value::Int32(_) => &types::INT32,
            Value::Uint8(_) => &types::UINT8,
            Value::Uint64(_) => &types::UINT64,
            Value::Float(_) => &types::FLOAT64,
            Value::Complex(..) => &types::COMPLEX128,
            Value::Str(_) => &types::STRING,
            Value::Bytes(_) => &types::BYTES,
            Value::List(l) => l.ty,
            Value::Map(m) => m.ty,
            Value::Struct(s) => s.ty,
            Value::Opaque(o) => o.ty(),
        })
    }

    /// Go's name of the type, as `%T` prints it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Nil | Value::NilAny => "<nil>",
            other => other.ty().map_or("<nil>", |t| t.name),
        }
    }

    /// Go's kind of the value.
    pub fn kind(&self) -> Kind {
        match self {
            Value::Nil => Kind::Invalid,
            other => other.ty().map_or(Kind::Invalid, Type::kind),
        }
    }

    /// Whether it is a nil of its type, or `nil`.
    pub fn is_nil_of_type(&self) -> bool {
        match self {
            Value::Nil | Value::NilAny => true,
            Value::List(l) => l.nil,
            Value::Map(m) => m.nil,
            Value::Bytes(b) => b.is_empty() && std::ptr::eq(b.as_ptr(), nil_bytes().as_ptr()),
            Value::Opaque(o) => o.nil(),
            _ => false,
        }
    }

    /// The elements of a slice of any type; nothing for anything else.
    pub fn elements(&self) -> Option<std::borrow::Cow<'h, [Value<'h>]>> {
        match self {
            Value::List(l) => Some(std::borrow::Cow::Borrowed(&l.items)),
            Value::Bytes(b) => Some(b.iter().map(|b| Value::Uint8(*b)).collect()),
            _ => None,
        }
    }

    /// What `if` asks: not the empty value of its type.
    pub fn truth(&self) -> bool {
        match self {
            Value::Nil | Value::NilAny => false,
            Value::Bool(b) => *b,
            Value::Int(i) | Value::Int64(i) => *i != 0,
            Value::Int32(i) => *i != 0,
            Value::Uint8(u) => *u != 0,
            Value::Uint64(u) => *u != 0,
            Value::Float(f) => *f != 0.0,
            Value::Complex(re, im) => *re != 0.0 || *im != 0.0,
            Value::Str(s) => !s.is_empty(),
            Value::Bytes(b) => !b.is_empty(),
            Value::List(l) => !l.items.is_empty(),
            Value::Map(m) => !m.is_empty(),
            Value::Struct(_) => true,
            Value::Opaque(o) => o.basic().is_none_or(|b| b.truth()),
        }
    }

    /// `reflect.DeepEqual`: same type and equal all the way down. Cycles are followed only so far.
    pub fn deep_equal(&self, other: &Value<'h>) -> bool {
        crate::deep::equal(self, other)
    }

    /// The zero value of a type.
    pub fn zero(ty: &'static Type, heap: &'h crate::heap::Heap<'h>) -> Value<'h> {
        match ty.shape {
            Shape::Bool => Value::Bool(false),
            Shape::Int(0) => Value::Int(0),
            Shape::Int(32) => Value::Int32(0),
            Shape::Int(_) => Value::Int64(0),
            Shape::Uint(8) => Value::Uint8(0),
            Shape::Uint(_) => Value::Uint64(0),
            Shape::Float => Value::Float(0.0),
            Shape::Complex => Value::Complex(0.0, 0.0),
            Shape::String => Value::Str(Str::Borrowed(b"")),
            Shape::Slice(elem) if elem.is(&types::UINT8) => Value::Bytes(nil_bytes()),
            Shape::Slice(_) => heap.nil_list(ty),
            Shape::Map(_) => heap.nil_map(ty),
            Shape::Any => Value::NilAny,
            Shape::Reflect | Shape::Struct(_) | Shape::Pointer(_) | Shape::Func => Value::Nil,
        }
    }
}
