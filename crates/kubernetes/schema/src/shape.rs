//! The shape of a kind's values: what has which fields, and how two writers of one value are merged.
//!
//! One graph serves strict decoding, server-side apply, strategic merge and `explain`. Shapes refer to each
//! other by number, because some contain themselves (a schema describes schemas).

use std::collections::BTreeMap;

use serde_json::Value;

/// Shapes that refer to each other.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shapes {
    all: Vec<Shape>,
}

/// The number of a shape among its [`Shapes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ShapeId(u32);

/// What a value may look like.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Shape {
    /// Nothing is known: objects merge by key, lists are one value.
    #[default]
    Anything,
    /// A value without parts.
    Scalar(Scalar),
    /// An object with declared fields, or with free keys, or both.
    Object(Object),
    /// A list.
    List(List),
}

/// The kinds of values without parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scalar {
    /// Text, in one of the formats below.
    String,
    /// Text in a format that only validation knows.
    Formatted,
    /// Text that is bytes in base64.
    Bytes,
    /// Text that is a moment in seconds.
    Time,
    /// Text that is a moment in microseconds.
    MicroTime,
    /// A quantity such as `100m`: text, or a number that becomes text.
    Quantity,
    /// A whole number of 32 bits.
    Int32,
    /// A whole number of 64 bits.
    Int64,
    /// Any number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A whole number or text.
    IntOrString,
}

/// An object's parts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Object {
    /// The declared fields, sorted by name.
    pub fields: Vec<Field>,
    /// The shape of the values under keys that are not declared; without it, such keys are unknown.
    pub rest: Option<ShapeId>,
    /// Keys that are not declared are kept as they are. An object of which nothing is known but that it is kept,
    /// and as a whole, may be any value.
    pub keeps_unknown: bool,
    /// One writer owns the object as a whole.
    pub whole: bool,
}

/// A declared field.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The key.
    pub name: String,
    /// The shape of its value.
    pub shape: ShapeId,
    /// What stands for an absent value.
    pub default: Option<Value>,
    /// Without it the object is refused.
    pub required: bool,
    /// How a strategic merge patch treats it.
    pub patch: Patch,
}

/// How a strategic merge patch treats a field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Patch {
    /// Lists: items are merged (by key if there is one) and not replaced.
    pub merge: bool,
    /// Objects: keys that the patch does not list in `$retainKeys` go.
    pub retain_keys: bool,
    /// Objects: the patch's value replaces the whole.
    pub replace: bool,
    /// The field that tells items of the list apart.
    pub key: Option<String>,
}

/// A list's parts.
#[derive(Debug, Clone, PartialEq)]
pub struct List {
    /// The shape of an item.
    pub items: ShapeId,
    /// Who owns what of it.
    pub merge: Merge,
}

/// How the items of a list are told apart when several write it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Merge {
    /// One writer owns the list as a whole.
    #[default]
    Whole,
    /// Each value is there once and has its own owners.
    Set,
    /// Items are told apart by these fields.
    Keyed(Vec<String>),
}

impl Shapes {
    /// Adds a shape and tells its number.
    pub fn add(&mut self, shape: Shape) -> ShapeId {
        self.all.push(shape);
        ShapeId(u32::try_from(self.all.len() - 1).unwrap_or(u32::MAX))
    }

    /// Puts a shape in the place of one that was added before: how shapes that contain themselves are built.
    pub fn set(&mut self, id: ShapeId, shape: Shape) {
        if let Some(place) = self.all.get_mut(id.0 as usize) {
            *place = shape;
        }
    }

    /// Copies a shape of other shapes, with everything that it refers to.
    pub fn copy(&mut self, from: &Shapes, id: ShapeId) -> ShapeId {
        self.copy_known(from, id, &mut BTreeMap::new())
    }

    fn copy_known(&mut self, from: &Shapes, id: ShapeId, known: &mut BTreeMap<ShapeId, ShapeId>) -> ShapeId {
        if let Some(copied) = known.get(&id) {
            return *copied;
        }
        let copied = self.add(Shape::Anything);
        known.insert(id, copied);
        let mut shape = from.get(id).clone();
        match &mut shape {
            Shape::Object(object) => {
                for field in &mut object.fields {
                    field.shape = self.copy_known(from, field.shape, known);
                }
                object.rest = object.rest.map(|rest| self.copy_known(from, rest, known));
            }
            Shape::List(list) => list.items = self.copy_known(from, list.items, known),
            Shape::Anything | Shape::Scalar(_) => {}
        }
        self.set(copied, shape);
        copied
    }

    /// The shape of this number; a number of other shapes is `Anything`.
    pub fn get(&self, id: ShapeId) -> &Shape {
        self.all.get(id.0 as usize).unwrap_or(&Shape::Anything)
    }
}

impl Object {
    /// The declared field of this name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields
            .binary_search_by(|field| field.name.as_str().cmp(name))
            .ok()
            .and_then(|at| self.fields.get(at))
    }
}
