//! What expressions compute with.

use std::cmp::Ordering;
use std::net::IpAddr;
use std::ops::Deref;
use std::sync::Arc;

use podium_sprig::gotime::Time;
use podium_versions::blang::Version;
use serde_json::Value as Json;

use crate::library::formats::NamedFormat;
use crate::library::quantity::Quantity;
use crate::library::url::Url;
use crate::list::List;
use crate::map::Map;

/// A text, of the data or computed.
#[derive(Debug, Clone)]
pub enum Text<'a> {
    /// Of the data.
    Borrowed(&'a str),
    /// Computed.
    Shared(Arc<str>),
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Shared(text) => text,
        }
    }
}

/// A value.
#[derive(Debug, Clone)]
pub enum Value<'a> {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A whole number without a sign.
    Uint(u64),
    /// A floating point number.
    Double(f64),
    /// A text.
    String(Text<'a>),
    /// Bytes.
    Bytes(Arc<[u8]>),
    /// A length of time in nanoseconds.
    Duration(i64),
    /// A moment.
    Timestamp(Arc<Time>),
    /// A list.
    List(List<'a>),
    /// A map or an object.
    Map(Map<'a>),
    /// A type, by its name.
    Type(Arc<str>),
    /// A value that may be absent.
    Optional(Option<Arc<Value<'a>>>),
    /// A URL.
    Url(Arc<Url>),
    /// A quantity, and whether it was computed: those equal nothing.
    Quantity(Quantity, bool),
    /// An address.
    Ip(IpAddr),
    /// A range of addresses.
    Cidr(IpAddr, u8),
    /// A format with a name.
    Format(&'static NamedFormat),
    /// A semantic version.
    Semver(Arc<Version>),
    /// Data that no schema describes.
    Preserved(&'a Json),
    /// A failure; it travels as a value, because `||` and `&&` may absorb it.
    Error(Arc<str>),
}

/// The failure that every type mismatch ends in.
pub const NO_OVERLOAD: &str = "no such overload";

impl<'a> Value<'a> {
    /// A computed text.
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self::String(Text::Shared(text.into()))
    }

    /// A failure.
    pub fn error(message: impl Into<Arc<str>>) -> Self {
        Self::Error(message.into())
    }

    /// The failure of a wrong type; a failure stays what it is.
    pub fn no_overload(&self) -> Self {
        match self {
            Self::Error(_) => self.clone(),
            _ => Self::error(NO_OVERLOAD),
        }
    }

    /// A list of values.
    pub fn list(items: Vec<Value<'a>>) -> Self {
        Self::List(List::Items(items.into()))
    }

    /// A list of texts.
    pub fn texts<T: Into<Arc<str>>>(texts: impl IntoIterator<Item = T>) -> Self {
        Self::list(texts.into_iter().map(Self::text).collect())
    }

    /// A present optional value.
    pub fn some(value: Value<'a>) -> Self {
        Self::Optional(Some(Arc::new(value)))
    }

    /// Whether it is a failure.
    pub fn is_error(&self) -> bool {
        matches!(self, Self::Error(_))
    }

    /// Whether it is `true`.
    pub fn is_true(&self) -> bool {
        matches!(self, Self::Bool(true))
    }

    /// The text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The name of its type.
    pub fn type_name(&self) -> &str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::String(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Type(_) => "type",
            Self::Optional(_) => "optional_type",
            Self::Url(_) => "kubernetes.URL",
            Self::Quantity(..) => "kubernetes.Quantity",
            Self::Ip(_) => "net.IP",
            Self::Cidr(..) => "net.CIDR",
            Self::Format(_) => "kubernetes.NamedFormat",
            Self::Semver(_) => "kubernetes.Semver",
            Self::Preserved(_) => "unknown",
            Self::Error(_) => "error",
        }
    }

    /// The type as failures of conversions print it.
    pub fn shown_type(&self) -> String {
        match self {
            Self::List(_) => "list(dyn)".to_owned(),
            Self::Map(_) => "map(dyn, dyn)".to_owned(),
            Self::Optional(_) => "optional_type(dyn)".to_owned(),
            other => other.type_name().to_owned(),
        }
    }

    /// The size that the cost of work on it goes by.
    pub fn size(&self) -> Option<u64> {
        Some(match self {
            Self::String(text) => text.chars().count() as u64,
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::List(list) => list.len() as u64,
            Self::Map(map) => map.len() as u64,
            Self::Ip(IpAddr::V4(_)) => 4,
            Self::Ip(IpAddr::V6(_)) => 16,
            Self::Cidr(_, bits) => u64::from(bits.div_ceil(8)),
            _ => return None,
        })
    }

    /// The value without what its schema says, as the inside of an optional value is read. The original cannot take
    /// the values of its libraries back.
    pub fn without_schema(self) -> Self {
        let lost = |name: &str, text: String| {
            Self::error(format!("unsupported conversion to ref.Val: ({name}){text}"))
        };
        match self {
            Self::List(list) => Self::List(list.without_schema()),
            Self::Map(map) => Self::Map(map.without_schema()),
            Self::Optional(Some(inner)) => (*inner).clone().without_schema(),
            Self::Optional(None) => Self::Null,
            Self::Type(name) => Self::text(name),
            Self::Url(url) => lost("*url.URL", url.text()),
            Self::Ip(ip) => lost("netip.Addr", ip.to_string()),
            Self::Cidr(ip, bits) => lost("netip.Prefix", format!("{ip}/{bits}")),
            Self::Semver(version) => lost("semver.Version", version.to_string()),
            Self::Quantity(quantity, _) => lost("*resource.Quantity", quantity.to_string()),
            Self::Format(format) => lost("cel.Format", format.name.to_owned()),
            other => other,
        }
    }

    /// Data without a schema.
    pub fn from_json(json: &'a Json) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(flag) => Self::Bool(*flag),
            Json::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(int), _) => Self::Int(int),
                (None, float) => Self::Double(float.unwrap_or_default()),
            },
            Json::String(text) => Self::String(Text::Borrowed(text)),
            Json::Array(items) => Self::List(List::Json(items)),
            Json::Object(map) => Self::Map(Map::Json(map)),
        }
    }

    /// Whether two values are equal, where null equals only null.
    pub fn equals(&self, other: &Value<'a>) -> Value<'a> {
        match (self, other) {
            (Self::Null, _) | (_, Self::Null) => {
                Self::Bool(matches!((self, other), (Self::Null, Self::Null)))
            }
            _ => self.same(other),
        }
    }

    /// Whether two values are equal, in the way of the first.
    pub fn same(&self, other: &Value<'a>) -> Value<'a> {
        let strict = |equal: Option<bool>| equal.map_or_else(|| other.no_overload(), Self::Bool);
        match (self, other) {
            (Self::Null, other) => Self::Bool(matches!(other, Self::Null)),
            (Self::Bool(a), Self::Bool(b)) => Self::Bool(a == b),
            (Self::Int(_) | Self::Uint(_) | Self::Double(_), _) => {
                Self::Bool(numeric_order(self, other) == Some(Ordering::Equal))
            }
            (Self::String(a), Self::String(b)) => Self::Bool(**a == **b),
            (Self::Bytes(a), Self::Bytes(b)) => Self::Bool(a == b),
            (Self::Duration(a), Self::Duration(b)) => Self::Bool(a == b),
            (Self::Timestamp(a), Self::Timestamp(b)) => Self::Bool(a.equal(b)),
            (Self::Type(a), Self::Type(b)) => Self::Bool(a == b),
            (Self::List(list), _) => list.same(other),
            (Self::Map(map), _) => map.same(other),
            (Self::Optional(Some(a)), Self::Optional(Some(b))) => a.same(b),
            (Self::Optional(a), Self::Optional(b)) => Self::Bool(a.is_none() == b.is_none()),
            (Self::Url(a), _) => {
                strict(if let Self::Url(b) = other { Some(a.text() == b.text()) } else { None })
            }
            (Self::Quantity(a, _), _) => {
                strict(if let Self::Quantity(b, false) = other { Some(a.compare(b).is_eq()) } else { None })
            }
            (Self::Ip(a), _) => strict(if let Self::Ip(b) = other { Some(a == b) } else { None }),
            (Self::Cidr(a, m), _) => {
                strict(if let Self::Cidr(b, n) = other { Some((a, m) == (b, n)) } else { None })
            }
            (Self::Format(a), _) => {
                strict(if let Self::Format(b) = other { Some(a.name == b.name) } else { None })
            }
            (Self::Semver(a), _) => {
                strict(if let Self::Semver(b) = other { Some(a.compare(b).is_eq()) } else { None })
            }
            (Self::Preserved(a), _) => Self::Bool(matches!(other, Self::Preserved(b) if a == b)),
            (Self::Error(_), _) => self.clone(),
            _ => Self::Bool(false),
        }
    }

    /// Which of two values is less, or the failure that they have no order.
    pub fn compare(&self, other: &Value<'a>) -> Result<Ordering, Value<'a>> {
        let order = match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => Some(a.cmp(b)),
            (
                Self::Int(_) | Self::Uint(_) | Self::Double(_),
                Self::Int(_) | Self::Uint(_) | Self::Double(_),
            ) => {
                let order = numeric_order(self, other);
                return order.ok_or_else(|| Self::error("NaN values cannot be ordered"));
            }
            (Self::String(a), Self::String(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
            (Self::Bytes(a), Self::Bytes(b)) => Some(a.cmp(b)),
            (Self::Duration(a), Self::Duration(b)) => Some(a.cmp(b)),
            (Self::Timestamp(a), Self::Timestamp(b)) => Some(a.compare(b)),
            (Self::Double(a), _) if a.is_nan() => return Err(Self::error("NaN values cannot be ordered")),
            _ => None,
        };
        order.ok_or_else(|| other.no_overload())
    }

    /// Whether values of its kind have an order.
    pub fn is_comparable(&self) -> bool {
        matches!(
            self,
            Self::Bool(_)
                | Self::Int(_)
                | Self::Uint(_)
                | Self::Double(_)
                | Self::String(_)
                | Self::Bytes(_)
                | Self::Duration(_)
                | Self::Timestamp(_)
        )
    }
}

/// The order of two numbers of any kind; none with a NaN or something else.
fn numeric_order(a: &Value<'_>, b: &Value<'_>) -> Option<Ordering> {
    // As floating point, as the original does.
    let mixed = |int: i128, float: f64| (int as f64).partial_cmp(&float);
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::Uint(a), Value::Uint(b)) => Some(a.cmp(b)),
        (Value::Int(a), Value::Uint(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (Value::Uint(a), Value::Int(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (Value::Double(a), Value::Double(b)) => a.partial_cmp(b),
        (Value::Int(a), Value::Double(b)) => mixed(i128::from(*a), *b),
        (Value::Uint(a), Value::Double(b)) => mixed(i128::from(*a), *b),
        (Value::Double(a), Value::Int(b)) => mixed(i128::from(*b), *a).map(Ordering::reverse),
        (Value::Double(a), Value::Uint(b)) => mixed(i128::from(*b), *a).map(Ordering::reverse),
        _ => None,
    }
}
