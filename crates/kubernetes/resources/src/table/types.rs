//! The types of the table: the original's own, as far as its JSON and its protobuf depend on them.

use std::collections::HashMap;

/// The number of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(pub(crate) u16);

/// The number of a type with fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct StructId(pub(crate) u16);

/// What a type is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    String,
    Bool,
    Int32,
    Int64,
    Float64,
    /// Base64 in JSON.
    Bytes,
    Time,
    MicroTime,
    Duration,
    Quantity,
    IntOrString,
    /// An object of any kind, kept as it is.
    Raw,
    /// A set of fields, kept as it is.
    Fields,
    /// Any JSON.
    Json,
    SchemaOrBool,
    SchemaOrArray,
    SchemaOrStrings,
    Pointer(TypeId),
    List(TypeId),
    Map(TypeId),
    Struct(StructId),
}

impl Form {
    pub(crate) fn as_struct(self) -> Option<StructId> {
        match self {
            Form::Struct(id) => Some(id),
            _ => None,
        }
    }

    /// Whether there are values that the original takes for empty: it never does so for types with fields.
    pub(crate) fn can_be_empty(self) -> bool {
        matches!(
            self,
            Form::Pointer(_)
                | Form::String
                | Form::Bytes
                | Form::Bool
                | Form::Int32
                | Form::Int64
                | Form::Float64
                | Form::List(_)
                | Form::Map(_)
        )
    }
}

/// The words of the text for the forms without parts, and the originals' names for them.
pub(crate) const WORDS: [(&str, Form, &str); 17] = [
    ("string", Form::String, "string"),
    ("bool", Form::Bool, "bool"),
    ("int32", Form::Int32, "int32"),
    ("int64", Form::Int64, "int64"),
    ("float64", Form::Float64, "float64"),
    ("bytes", Form::Bytes, "[]uint8"),
    ("time", Form::Time, "v1.Time"),
    ("microtime", Form::MicroTime, "v1.MicroTime"),
    ("duration", Form::Duration, "v1.Duration"),
    ("quantity", Form::Quantity, "resource.Quantity"),
    ("intorstring", Form::IntOrString, "intstr.IntOrString"),
    ("raw", Form::Raw, "runtime.RawExtension"),
    ("fields", Form::Fields, "v1.FieldsV1"),
    ("json", Form::Json, "v1.JSON"),
    ("schemaorbool", Form::SchemaOrBool, "v1.JSONSchemaPropsOrBool"),
    ("schemaorarray", Form::SchemaOrArray, "v1.JSONSchemaPropsOrArray"),
    ("schemaorstrings", Form::SchemaOrStrings, "v1.JSONSchemaPropsOrStringArray"),
];

/// A type.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Type {
    pub form: Form,
    /// Its name, such as `core/v1.PullPolicy`; empty for types without one.
    pub name: &'static str,
    /// The name of the type of a map's keys; empty for plain text.
    pub key: &'static str,
    /// A list that is a message of its own in protobuf.
    pub message: bool,
}

/// A type with fields.
#[derive(Debug, Default)]
pub(crate) struct Struct {
    /// Its name, such as `core/v1.Pod`.
    pub name: &'static str,
    /// One writer owns a value as a whole.
    pub whole: bool,
    /// Its own fields in the original's order.
    pub own: Vec<Field>,
    /// All fields of its JSON objects, also those of embedded types, sorted by key.
    pub fields: Vec<Field>,
    /// Places in `fields` of those that are never left out.
    pub always: Vec<u16>,
}

/// A field.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    /// The key in JSON; `-` for embedded types, whose fields stand among those of the outer one.
    pub key: &'static str,
    /// The number in protobuf; 0 if it is not there.
    pub number: u32,
    pub ty: TypeId,
    pub omit_empty: bool,
    pub omit_zero: bool,
    pub embedded: bool,
    pub required: bool,
    /// An empty list or object is not the same as none: defaults depend on it.
    pub empty_counts: bool,
    /// The rest of the line, which only shapes need.
    pub rest: &'static str,
    /// The embedded types that it came through.
    pub via: Vec<&'static str>,
}

/// All types.
#[derive(Debug, Default)]
pub(crate) struct Types {
    pub all: Vec<Type>,
    pub structs: Vec<Struct>,
    pub by_name: HashMap<&'static str, TypeId>,
    /// The type of schemas inside of schemas.
    pub schema: Option<TypeId>,
}

impl Types {
    const NOTHING: Type = Type { form: Form::Json, name: "", key: "", message: false };

    pub fn get(&self, id: TypeId) -> Type {
        self.all.get(usize::from(id.0)).copied().unwrap_or(Self::NOTHING)
    }

    pub fn struct_(&self, id: StructId) -> &Struct {
        static NONE: Struct =
            Struct { name: "", whole: false, own: Vec::new(), fields: Vec::new(), always: Vec::new() };
        self.structs.get(usize::from(id.0)).unwrap_or(&NONE)
    }

    pub fn of_struct(&self, id: StructId) -> TypeId {
        self.by_name.get(self.struct_(id).name).copied().unwrap_or(TypeId(0))
    }

    pub fn named(&self, name: &str) -> Option<TypeId> {
        self.by_name.get(name).copied()
    }

    /// What the original calls a type in its messages, such as `[]v1.Container`.
    pub fn go_name(&self, id: TypeId) -> String {
        let ty = self.get(id);
        if !ty.name.is_empty() {
            return last(ty.name).to_owned();
        }
        match ty.form {
            Form::Pointer(inner) => format!("*{}", self.go_name(inner)),
            Form::List(inner) => format!("[]{}", self.go_name(inner)),
            Form::Map(inner) => {
                let key = if ty.key.is_empty() { "string" } else { last(ty.key) };
                format!("map[{key}]{}", self.go_name(inner))
            }
            form => {
                WORDS.iter().find(|(_, one, _)| *one == form).map_or(String::new(), |word| word.2.to_owned())
            }
        }
    }

    /// The type behind pointers.
    pub fn target(&self, id: TypeId) -> (TypeId, Type) {
        match self.get(id) {
            Type { form: Form::Pointer(inner), .. } => self.target(inner),
            ty => (id, ty),
        }
    }
}

/// The package's last part and the name: `core/v1.Pod` is `v1.Pod`.
fn last(name: &str) -> &str {
    name.rsplit_once('/').map_or(name, |(_, last)| last)
}

impl Struct {
    pub fn field(&self, key: &str) -> Option<(usize, &Field)> {
        let at = self.fields.binary_search_by(|field| field.key.cmp(key)).ok()?;
        self.fields.get(at).map(|field| (at, field))
    }

    /// The field whose key differs from this one in case only.
    pub fn folded(&self, key: &str) -> Option<(usize, &Field)> {
        self.fields.iter().enumerate().find(|(_, field)| field.key.eq_ignore_ascii_case(key))
    }

    /// The field of a number; own fields only, as messages are nested where JSON is flat.
    pub fn numbered(&self, number: u32) -> Option<&Field> {
        self.own.iter().find(|field| field.number == number)
    }

    /// The original's name without the package.
    pub fn short_name(&self) -> &'static str {
        self.name.rsplit_once('.').map_or(self.name, |(_, name)| name)
    }

    pub fn schema_name(&self) -> String {
        let (path, name) = self.name.rsplit_once('.').unwrap_or(("", self.name));
        let path = path.replace('/', ".");
        let root = match path.split('.').next().unwrap_or_default() {
            "meta" => "apimachinery.pkg.apis.",
            "apiextensions" => "apiextensions-apiserver.pkg.apis.",
            "apiregistration" => "kube-aggregator.pkg.apis.",
            _ => "api.",
        };
        format!("io.k8s.{root}{path}.{name}")
    }
}
