//! Go types, as far as templates can see them.

use crate::func::Func;

/// A Go type. Every type is one static; two types are the same when they are the same static.
#[derive(Debug)]
pub struct Type {
    /// The name that `%T` prints, e.g. `map[string]interface {}`.
    pub name: &'static str,
    /// What it is made of.
    pub shape: Shape,
    /// Whether the type has a name of its own (a defined type), which matters for assignment.
    pub defined: bool,
    /// What can be called on a value of the type.
    pub methods: &'static [Func],
}

/// The structure of a type.
#[derive(Debug)]
pub enum Shape {
    /// `interface {}`.
    Any,
    /// `reflect.Value`: a parameter that takes everything as it is, `nil` too.
    Reflect,
    /// `bool`.
    Bool,
    /// A signed integer of so many bits (0 for `int`).
    Int(u8),
    /// An unsigned integer of so many bits (0 for `uint`).
    Uint(u8),
    /// `float64`.
    Float,
    /// `complex128`.
    Complex,
    /// `string`.
    String,
    /// A slice of an element type.
    Slice(&'static Type),
    /// A map from strings to an element type.
    Map(&'static Type),
    /// A struct.
    Struct(&'static [Field]),
    /// A pointer to a type.
    Pointer(&'static Type),
    /// A function.
    Func,
}

/// A field of a struct.
#[derive(Debug)]
pub struct Field {
    /// The Go name.
    pub name: &'static str,
    /// The declared type.
    pub ty: &'static Type,
    /// The key in JSON; empty when the field is not written.
    pub json: &'static str,
    /// Whether JSON leaves it out when it is empty.
    pub omit_empty: bool,
    /// Whether the field is an embedded struct, whose fields are seen as fields of the outer one.
    pub embedded: bool,
}

/// What `reflect.Kind` says of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No value at all.
    Invalid,
    /// `bool`.
    Bool,
    /// A signed integer of so many bits (0 for `int`).
    Int(u8),
    /// An unsigned integer of so many bits (0 for `uint`).
    Uint(u8),
    /// `float64`.
    Float64,
    /// `complex128`.
    Complex128,
    /// `string`.
    String,
    /// A slice.
    Slice,
    /// A map.
    Map,
    /// A struct.
    Struct,
    /// A pointer.
    Ptr,
    /// An interface (only a nil one is seen as such).
    Interface,
    /// A function.
    Func,
}

impl Kind {
    /// The name that `kindOf` prints.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Invalid => "invalid",
            Kind::Bool => "bool",
            Kind::Int(0) => "int",
            Kind::Int(8) => "int8",
            Kind::Int(16) => "int16",
            Kind::Int(32) => "int32",
            Kind::Int(_) => "int64",
            Kind::Uint(0) => "uint",
            Kind::Uint(8) => "uint8",
            Kind::Uint(16) => "uint16",
            Kind::Uint(32) => "uint32",
            Kind::Uint(_) => "uint64",
            Kind::Float64 => "float64",
            Kind::Complex128 => "complex128",
            Kind::String => "string",
            Kind::Slice => "slice",
            Kind::Map => "map",
            Kind::Struct => "struct",
            Kind::Ptr => "ptr",
            Kind::Interface => "interface",
            Kind::Func => "func",
        }
    }
}

impl Type {
    const fn basic(name: &'static str, shape: Shape) -> Self {
        Self { name, shape, defined: true, methods: &[] }
    }

    /// A type without a name of its own.
    pub const fn literal(name: &'static str, shape: Shape) -> Self {
        Self { name, shape, defined: false, methods: &[] }
    }

    /// A defined type with methods.
    pub const fn defined(name: &'static str, shape: Shape, methods: &'static [Func]) -> Self {
        Self { name, shape, defined: true, methods }
    }

    /// Whether the two are one type.
    pub fn is(&self, other: &Type) -> bool {
        std::ptr::eq(self, other)
    }

    /// The kind of its values.
    pub fn kind(&self) -> Kind {
        match self.shape {
            Shape::Any => Kind::Interface,
            Shape::Reflect | Shape::Struct(_) => Kind::Struct,
            Shape::Bool => Kind::Bool,
            Shape::Int(bits) => Kind::Int(bits),
            Shape::Uint(bits) => Kind::Uint(bits),
            Shape::Float => Kind::Float64,
            Shape::Complex => Kind::Complex128,
            Shape::String => Kind::String,
            Shape::Slice(_) => Kind::Slice,
            Shape::Map(_) => Kind::Map,
            Shape::Pointer(_) => Kind::Ptr,
            Shape::Func => Kind::Func,
        }
    }

    /// Whether a value of this type may be given where `to` is declared.
    pub fn assignable_to(&self, to: &Type) -> bool {
        if self.is(to) || matches!(to.shape, Shape::Any) {
            return true;
        }
        // Equal structure is enough when one of the two has no name of its own.
        (!self.defined || !to.defined) && same_shape(&self.shape, &to.shape)
    }

    /// Whether an untyped `nil` may be given where this type is declared.
    pub fn can_be_nil(&self) -> bool {
        matches!(
            self.shape,
            Shape::Any | Shape::Reflect | Shape::Slice(_) | Shape::Map(_) | Shape::Pointer(_) | Shape::Func
        )
    }

    /// Finds a method by name.
    pub fn method(&self, name: &[u8]) -> Option<&'static Func> {
        self.methods.iter().find(|m| m.name.as_bytes() == name)
    }
}

fn same_shape(a: &Shape, b: &Shape) -> bool {
    match (a, b) {
        (Shape::Slice(x), Shape::Slice(y)) | (Shape::Map(x), Shape::Map(y)) => x.is(y),
        _ => false,
    }
}

/// `interface {}`.
pub static ANY: Type = Type::literal("interface {}", Shape::Any);
/// `reflect.Value`.
pub static REFLECT: Type = Type::basic("reflect.Value", Shape::Reflect);
/// `bool`.
pub static BOOL: Type = Type::basic("bool", Shape::Bool);
/// `int`.
pub static INT: Type = Type::basic("int", Shape::Int(0));
/// `int32`.
pub static INT32: Type = Type::basic("int32", Shape::Int(32));
/// `int64`.
pub static INT64: Type = Type::basic("int64", Shape::Int(64));
/// `uint8`.
pub static UINT8: Type = Type::basic("uint8", Shape::Uint(8));
/// `uint64`.
pub static UINT64: Type = Type::basic("uint64", Shape::Uint(64));
/// `float64`.
pub static FLOAT64: Type = Type::basic("float64", Shape::Float);
/// `complex128`.
pub static COMPLEX128: Type = Type::basic("complex128", Shape::Complex);
/// `string`.
pub static STRING: Type = Type::basic("string", Shape::String);
/// `[]interface {}`.
pub static LIST: Type = Type::literal("[]interface {}", Shape::Slice(&ANY));
/// `[][]interface {}`.
pub static LISTS: Type = Type::literal("[][]interface {}", Shape::Slice(&LIST));
/// `[]string`.
pub static STRINGS: Type = Type::literal("[]string", Shape::Slice(&STRING));
/// `[]int`.
pub static INTS: Type = Type::literal("[]int", Shape::Slice(&INT));
/// `[]uint8`.
pub static BYTES: Type = Type::literal("[]uint8", Shape::Slice(&UINT8));
/// `map[string]interface {}`.
pub static MAP: Type = Type::literal("map[string]interface {}", Shape::Map(&ANY));
/// `map[string]string`.
pub static STRING_MAP: Type = Type::literal("map[string]string", Shape::Map(&STRING));
