//! The types of expressions, and which fit into which.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// A type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    /// Any type, known when the expression runs.
    Dyn,
    /// What a wrong expression has.
    Error,
    /// `null`
    Null,
    /// `true` and `false`.
    Bool,
    /// Whole numbers of 64 bits.
    Int,
    /// Whole numbers without a sign.
    Uint,
    /// Floating point numbers.
    Double,
    /// Text.
    String,
    /// Bytes.
    Bytes,
    /// A length of time.
    Duration,
    /// A moment.
    Timestamp,
    /// A list.
    List(Arc<Type>),
    /// A map from one type to another.
    Map(Arc<(Type, Type)>),
    /// An object with fields, known by its name.
    Object(Arc<str>),
    /// A type of a library, with parameters.
    Opaque(Arc<str>, Arc<[Type]>),
    /// A type that a call decides.
    Param(Arc<str>),
    /// The type of a type.
    Type(Option<Arc<Type>>),
}

impl Type {
    /// A list.
    pub fn list(element: Type) -> Self {
        Self::List(Arc::new(element))
    }

    /// A map.
    pub fn map(key: Type, value: Type) -> Self {
        Self::Map(Arc::new((key, value)))
    }

    /// A value that may be absent.
    pub fn optional(value: Type) -> Self {
        Self::Opaque("optional_type".into(), Arc::new([value]))
    }

    /// The type of a type.
    pub fn of(inner: Type) -> Self {
        Self::Type(Some(Arc::new(inner)))
    }

    /// What is in an optional value.
    pub fn unwrapped(&self) -> Option<&Type> {
        match self {
            Self::Opaque(name, params) if &**name == "optional_type" => params.first(),
            _ => None,
        }
    }

    /// The name that values of the type carry at run time.
    pub fn runtime_name(&self) -> &str {
        match self {
            Self::Dyn => "dyn",
            Self::Error => "error",
            Self::Null => "null_type",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Duration => "google.protobuf.Duration",
            Self::Timestamp => "google.protobuf.Timestamp",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Object(name) | Self::Opaque(name, _) | Self::Param(name) => name,
            Self::Type(_) => "type",
        }
    }

    fn is_open(&self) -> bool {
        matches!(self, Self::Dyn | Self::Param(_))
    }

    /// Whether the same types stand in the same places, however parameters are called.
    pub fn is_equivalent(&self, other: &Type) -> bool {
        match (self, other) {
            (Self::Param(_), Self::Param(_)) => true,
            (Self::List(a), Self::List(b)) => a.is_equivalent(b),
            (Self::Map(a), Self::Map(b)) => a.0.is_equivalent(&b.0) && a.1.is_equivalent(&b.1),
            (Self::Opaque(a, x), Self::Opaque(b, y)) => {
                a == b && x.len() == y.len() && x.iter().zip(y.iter()).all(|(a, b)| a.is_equivalent(b))
            }
            (Self::Type(Some(a)), Self::Type(Some(b))) => a.is_equivalent(b),
            (a, b) => a == b,
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Error => f.write_str("!error!"),
            Self::Null => f.write_str("null"),
            Self::Duration => f.write_str("duration"),
            Self::Timestamp => f.write_str("timestamp"),
            Self::List(element) => write!(f, "list({element})"),
            Self::Map(types) => write!(f, "map({}, {})", types.0, types.1),
            Self::Opaque(name, params) if !params.is_empty() => {
                write!(f, "{name}({})", joined(params))
            }
            Self::Type(Some(inner)) => write!(f, "type({inner})"),
            other => f.write_str(other.runtime_name()),
        }
    }
}

/// Types with commas between them.
pub fn joined(types: &[Type]) -> String {
    types.iter().map(Type::to_string).collect::<Vec<_>>().join(", ")
}

/// What is known of the types that calls decide.
#[derive(Debug, Default)]
pub struct Bindings {
    known: HashMap<Arc<str>, Type>,
    /// What a trial has changed, to take it back.
    changed: Vec<(Arc<str>, Option<Type>)>,
    fresh: usize,
}

impl Bindings {
    /// A type that is not known yet.
    pub fn fresh(&mut self) -> Type {
        self.fresh += 1;
        Type::Param(format!("_var{}", self.fresh - 1).into())
    }

    fn find(&self, t: &Type) -> Option<&Type> {
        match t {
            Type::Param(name) => self.known.get(name),
            _ => None,
        }
    }

    /// Puts what is known into a type; what is not becomes `dyn` if asked for.
    pub fn substitute(&self, t: &Type, open_is_dyn: bool) -> Type {
        if let Some(known) = self.find(t) {
            return self.substitute(known, open_is_dyn);
        }
        let inner = |t: &Type| self.substitute(t, open_is_dyn);
        match t {
            Type::Param(_) if open_is_dyn => Type::Dyn,
            Type::List(element) => Type::list(inner(element)),
            Type::Map(types) => Type::map(inner(&types.0), inner(&types.1)),
            Type::Opaque(name, params) => Type::Opaque(name.clone(), params.iter().map(inner).collect()),
            Type::Type(Some(param)) => Type::of(inner(param)),
            other => other.clone(),
        }
    }

    /// Whether a value of one type can be taken for another; learns from it only if so.
    pub fn assignable(&mut self, to: &Type, from: &Type) -> bool {
        self.assignable_all(std::slice::from_ref(to), std::slice::from_ref(from))
    }

    /// The same for several pairs at once.
    pub fn assignable_all(&mut self, to: &[Type], from: &[Type]) -> bool {
        let fits = self.all_fit(to, from);
        while let Some((name, before)) = self.changed.pop() {
            match before {
                _ if fits => {}
                Some(before) => drop(self.known.insert(name, before)),
                None => drop(self.known.remove(&name)),
            }
        }
        fits
    }

    fn learn(&mut self, name: &Arc<str>, t: Type) {
        let before = self.known.insert(name.clone(), t);
        self.changed.push((name.clone(), before));
    }

    fn all_fit(&mut self, to: &[Type], from: &[Type]) -> bool {
        to.len() == from.len() && to.iter().zip(from).all(|(to, from)| self.fits(to, from))
    }

    fn fits(&mut self, one: &Type, two: &Type) -> bool {
        if let Type::Param(_) = two {
            let (valid, known) = self.bind(one, two);
            if valid {
                return true;
            }
            if known {
                return false;
            }
        }
        if let Type::Param(_) = one {
            return self.bind(two, one).0;
        }
        match (one, two) {
            (Type::Dyn | Type::Error, _) | (_, Type::Dyn | Type::Error) => true,
            (Type::Null, other) | (other, Type::Null) => matches!(
                other,
                Type::Null | Type::Opaque(..) | Type::Object(_) | Type::Duration | Type::Timestamp
            ),
            (Type::Type(_), Type::Type(_)) => true,
            (Type::List(a), Type::List(b)) => self.fits(a, b),
            (Type::Map(a), Type::Map(b)) => self.fits(&a.0, &b.0) && self.fits(&a.1, &b.1),
            (Type::Opaque(a, x), Type::Opaque(b, y)) => a == b && self.all_fit(x, y),
            (a, b) => a == b,
        }
    }

    /// Whether a parameter can stand for a type, and whether it stood for one before.
    fn bind(&mut self, t: &Type, param: &Type) -> (bool, bool) {
        if t == param {
            return (true, true);
        }
        let Type::Param(name) = param else { return (false, false) };
        if let Some(known) = self.find(param).cloned() {
            if *t == known {
                return (true, true);
            }
            if !self.fits(t, &known) {
                return (false, true);
            }
            let general = most_general(t, &known);
            if self.is_free_of(param, &general) {
                self.learn(name, general);
            }
            return (true, true);
        }
        if self.is_free_of(param, t) {
            self.learn(name, t.clone());
            return (true, false);
        }
        (false, false)
    }

    fn is_free_of(&self, param: &Type, within: &Type) -> bool {
        if param == within {
            return false;
        }
        match within {
            Type::Param(_) => self.find(within).is_none_or(|known| self.is_free_of(param, known)),
            Type::List(element) => self.is_free_of(param, element),
            Type::Map(types) => self.is_free_of(param, &types.0) && self.is_free_of(param, &types.1),
            Type::Opaque(_, params) => params.iter().all(|t| self.is_free_of(param, t)),
            Type::Type(Some(inner)) => self.is_free_of(param, inner),
            _ => true,
        }
    }
}

/// The one of two types that says less.
pub fn most_general(one: &Type, two: &Type) -> Type {
    if is_as_general(one, two) { one.clone() } else { two.clone() }
}

fn is_as_general(one: &Type, two: &Type) -> bool {
    if one.is_open() {
        return true;
    }
    if two.is_open() {
        return false;
    }
    match (one, two) {
        (Type::List(a), Type::List(b)) => is_as_general(a, b),
        (Type::Map(a), Type::Map(b)) => is_as_general(&a.0, &b.0) && is_as_general(&a.1, &b.1),
        (Type::Opaque(a, x), Type::Opaque(b, y)) => {
            a == b && x.len() == y.len() && x.iter().zip(y.iter()).all(|(a, b)| is_as_general(a, b))
        }
        (Type::Type(_), Type::Type(_)) => true,
        (a, b) => a == b,
    }
}
