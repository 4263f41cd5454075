//! Values with their shapes: the set of their fields, what differs between two, and one merged into another.
//!
//! The input is JSON that was parsed with a limit on its depth; [`validate`] refuses what is deeper than
//! [`DEEPEST`], and all else here recurses only as deep as a value that passed it.

mod compare;
mod fields;
mod keys;
mod merge;
mod reconcile;
mod remove;
mod validate;

use podium_schema::shape::{List, Merge, Object, Scalar, Shape, Shapes};
use serde_json::Value;

pub use compare::{Comparison, compare};
pub use fields::fields;
pub use merge::merge;
pub use reconcile::reconcile;
pub use remove::{extract, remove};
pub use validate::{Duplicates, Errors, Problem, validate};

/// How deep values may be.
pub const DEEPEST: usize = 256;

/// What all unknown things look like.
static ANYTHING: Shape = Shape::Anything;

/// A shape as ownership sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Parts<'a> {
    /// Nothing is known: objects have parts, all else has none.
    Any,
    /// Nothing is known, and nothing has parts.
    Opaque,
    /// A value without parts.
    Scalar(Kind),
    /// An object.
    Map(&'a Object),
    /// A list.
    List(&'a List),
}

/// What a value without parts must be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Text,
    Number,
    Boolean,
    Any,
}

/// What a value is to the walks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// One value.
    Leaf,
    /// An object whose keys have owners.
    Map,
    /// A list whose items have owners.
    List,
}

pub(crate) fn parts(shape: &Shape) -> Parts<'_> {
    match shape {
        Shape::Anything | Shape::Scalar(Scalar::IntOrString) => Parts::Any,
        Shape::Scalar(scalar) => Parts::Scalar(match scalar {
            Scalar::String | Scalar::Bytes => Kind::Text,
            Scalar::Int32 | Scalar::Int64 | Scalar::Number => Kind::Number,
            Scalar::Boolean => Kind::Boolean,
            _ => Kind::Any,
        }),
        Shape::Object(object)
            if object.whole && object.keeps_unknown && object.fields.is_empty() && object.rest.is_none() =>
        {
            Parts::Opaque
        }
        Shape::Object(object) => Parts::Map(object),
        Shape::List(list) => Parts::List(list),
    }
}

impl<'a> Parts<'a> {
    /// The shape under a key; nothing where the key is not declared.
    pub(crate) fn child<'s: 'a>(&self, shapes: &'s Shapes, key: &str) -> Option<&'a Shape> {
        let Parts::Map(object) = self else { return Some(&ANYTHING) };
        if let Some(field) = object.field(key) {
            return Some(shapes.get(field.shape));
        }
        match object.rest {
            Some(rest) => Some(shapes.get(rest)),
            None if object.keeps_unknown || object.fields.is_empty() => Some(&ANYTHING),
            None => None,
        }
    }

    /// Whether a key is a declared field.
    pub(crate) fn declares(&self, key: &str) -> bool {
        matches!(self, Parts::Map(object) if object.field(key).is_some())
    }

    /// How a value of this shape is walked. Nothing is whatever it is compared with.
    pub(crate) fn way(&self, value: &Value) -> Way {
        match self {
            Parts::Opaque | Parts::Scalar(_) => Way::Leaf,
            Parts::Any if value.is_object() || value.is_null() => Way::Map,
            Parts::Any => Way::Leaf,
            Parts::Map(object) if object.whole => Way::Leaf,
            Parts::Map(_) => Way::Map,
            Parts::List(list) if list.merge == Merge::Whole => Way::Leaf,
            Parts::List(_) => Way::List,
        }
    }
}

/// The object, unless it has no keys.
pub(crate) fn filled_map(value: Option<&Value>) -> Option<&serde_json::Map<String, Value>> {
    value.and_then(Value::as_object).filter(|map| !map.is_empty())
}

/// The list, unless it has no items.
pub(crate) fn filled_list(value: Option<&Value>) -> Option<&[Value]> {
    value.and_then(Value::as_array).filter(|list| !list.is_empty()).map(Vec::as_slice)
}
