//! Semantic versions, and the version object with its methods.

use std::any::Any;
use std::rc::Rc;

use podium_gotmpl::types::STRING;
use podium_gotmpl::{Error, Func, Opaque, Shape, Type, Value};
use podium_versions::masterminds::{Constraints, Version, VersionError};

use crate::args::{NIL_POINTER, Outcome, func, string, text};

/// The functions of this module.
pub static FUNCS: &[Func] = &[
    func("semver", &[&STRING], |_, a| Ok(value(parse(text(a, 0))?, &VERSION_POINTER))),
    func("semverCompare", &[&STRING, &STRING], |_, a| {
        let constraint = Constraints::new(text(a, 0)).map_err(|e| Error::new(e.to_string()))?;
        Ok(Value::Bool(constraint.check(&parse(text(a, 1))?)))
    }),
];

/// `semver.Version`, what the methods that change a version give.
static VERSION: Type = Type::defined("semver.Version", Shape::Struct(&[]), VALUE_METHODS);
/// `*semver.Version`, what `semver` gives.
static VERSION_POINTER: Type = Type {
    name: "*semver.Version",
    shape: Shape::Pointer(&VERSION),
    defined: false,
    methods: POINTER_METHODS,
};

/// The methods that a version has, pointer or not, and more.
macro_rules! methods {
    ($($more:expr),*) => {
        &[
            func("String", &[], |_, a| string(nth(a, 0)?.to_string())),
            func("Major", &[], |_, a| Ok(Value::Uint64(nth(a, 0)?.major()))),
            func("Minor", &[], |_, a| Ok(Value::Uint64(nth(a, 0)?.minor()))),
            func("Patch", &[], |_, a| Ok(Value::Uint64(nth(a, 0)?.patch()))),
            func("Prerelease", &[], |_, a| string(nth(a, 0)?.prerelease().to_owned())),
            func("Metadata", &[], |_, a| string(nth(a, 0)?.metadata().to_owned())),
            func("IncPatch", &[], |_, a| changed(nth(a, 0)?.inc_patch())),
            func("IncMinor", &[], |_, a| changed(nth(a, 0)?.inc_minor())),
            func("IncMajor", &[], |_, a| changed(nth(a, 0)?.inc_major())),
            func("SetPrerelease", &[&STRING], |_, a| changed(nth(a, 0)?.set_prerelease(text(a, 1)))),
            func("SetMetadata", &[&STRING], |_, a| changed(nth(a, 0)?.set_metadata(text(a, 1)))),
            func("MarshalJSON", &[], |cx, a| Ok(cx.heap.bytes(nth(a, 0)?.to_json().into_bytes()))),
            func("MarshalText", &[], |cx, a| Ok(cx.heap.bytes(nth(a, 0)?.to_string().into_bytes()))),
            func("Value", &[], |_, a| string(nth(a, 0)?.to_string())),
            $($more),*
        ]
    };
}

static VALUE_METHODS: &[Func] = methods!();
static POINTER_METHODS: &[Func] = methods!(
    func("Original", &[], |_, a| string(nth(a, 0)?.original().to_owned())),
    func("Compare", &[&VERSION_POINTER], |_, a| Ok(Value::Int(nth(a, 0)?.compare(nth(a, 1)?) as i64))),
    func("Equal", &[&VERSION_POINTER], |_, a| Ok(Value::Bool(equal(a)))),
    func("LessThan", &[&VERSION_POINTER], |_, a| Ok(Value::Bool(nth(a, 0)?.less_than(nth(a, 1)?)))),
    func("LessThanEqual", &[&VERSION_POINTER], |_, a| {
        Ok(Value::Bool(nth(a, 0)?.less_than_equal(nth(a, 1)?)))
    }),
    func("GreaterThan", &[&VERSION_POINTER], |_, a| Ok(Value::Bool(nth(a, 0)?.greater_than(nth(a, 1)?)))),
    func("GreaterThanEqual", &[&VERSION_POINTER], |_, a| {
        Ok(Value::Bool(nth(a, 0)?.greater_than_equal(nth(a, 1)?)))
    })
);

/// A version in a template, as a pointer or as a plain struct.
struct Held {
    version: Version,
    ty: &'static Type,
}

impl Opaque for Held {
    fn ty(&self) -> &'static Type {
        self.ty
    }

    fn string(&self) -> Option<String> {
        Some(self.version.to_string())
    }

    fn parts(&self) -> Vec<(&'static str, Value<'static>)> {
        let v = &self.version;
        let text = |s: &str| Value::string(s.to_owned());
        vec![
            ("major", Value::Uint64(v.major())),
            ("minor", Value::Uint64(v.minor())),
            ("patch", Value::Uint64(v.patch())),
            ("pre", text(v.prerelease())),
            ("metadata", text(v.metadata())),
            ("original", text(v.original())),
        ]
    }

    fn json(&self) -> Option<Result<String, String>> {
        Some(Ok(self.version.to_json()))
    }

    fn same(&self, other: &dyn Opaque) -> bool {
        if self.ty.is(&VERSION_POINTER) {
            other.as_any().downcast_ref().is_some_and(|other| std::ptr::eq(self, other))
        } else {
            self.deep_same(other)
        }
    }

    fn deep_same(&self, other: &dyn Opaque) -> bool {
        let same = |v: &Version, w: &Version| v.to_string() == w.to_string() && v.original() == w.original();
        other.as_any().downcast_ref::<Held>().is_some_and(|other| same(&self.version, &other.version))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

fn value<'h>(version: Version, ty: &'static Type) -> Value<'h> {
    Value::Opaque(Rc::new(Held { version, ty }))
}

fn parse(text: &[u8]) -> Result<Version, Error> {
    Version::new(text).map_err(|e| Error::new(e.to_string()))
}

fn changed<'h>(version: Result<Version, VersionError>) -> Outcome<'h> {
    Ok(value(version.map_err(|e| Error::new(e.to_string()))?, &VERSION))
}

/// The receiver or an argument of a method. Only a `nil` is no version.
fn nth<'a>(args: &'a [Value<'_>], index: usize) -> Result<&'a Version, Error> {
    match args.get(index) {
        Some(Value::Opaque(o)) => o.as_any().downcast_ref::<Held>().map(|held| &held.version),
        _ => None,
    }
    .ok_or_else(|| Error::new(NIL_POINTER))
}

/// A `nil` equals no version.
fn equal(args: &[Value<'_>]) -> bool {
    matches!((nth(args, 0), nth(args, 1)), (Ok(v), Ok(w)) if v.equal(w))
}

/// A deep copy of a version: a copier cannot see into it and leaves an empty one.
pub(crate) fn copied<'h>(object: &dyn Opaque) -> Option<Value<'h>> {
    object.as_any().downcast_ref::<Held>().map(|held| value(Version::default(), held.ty))
}
