//! What is wrong with a value: a tree of failures and its text.

use std::fmt::{self, Display, Write};

use crate::decimal::Decimal;
use crate::go::english::{float, integer};
use crate::go::quote::{double, single};
use crate::pointer::escape;

/// The rule that a value broke.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// Nobody will read it.
    Silent,
    InvalidValue(&'static str),
    Group,
    Not,
    AllOf,
    AnyOf,
    OneOf(Option<(usize, usize)>),
    FalseSchema,
    Cycle {
        url: Box<str>,
        first: String,
        second: String,
    },
    Type {
        got: &'static str,
        want: Vec<&'static str>,
    },
    /// The values that are allowed, if all of them can be shown.
    Enum(Option<Vec<String>>),
    Const(Option<String>),
    Format {
        got: Box<str>,
        want: &'static str,
        reason: String,
    },
    Reference,
    /// A count (keyword, got, want).
    Count(&'static str, i64, i64),
    /// A bound (keyword, got, want).
    Bound(&'static str, Decimal, Decimal),
    AdditionalItems(usize),
    Required(Vec<Box<str>>),
    Dependency {
        property: Box<str>,
        missing: Vec<Box<str>>,
    },
    AdditionalProperties(Vec<Box<str>>),
    PropertyName(Box<str>),
    UniqueItems(usize, usize),
    Contains,
    MinContains {
        matched: Vec<usize>,
        want: i64,
    },
    MaxContains {
        matched: Vec<usize>,
        want: i64,
    },
    Pattern {
        got: Box<str>,
        want: Box<str>,
    },
}

fn quoted(names: &[Box<str>]) -> String {
    names.iter().map(|name| single(name)).collect::<Vec<_>>().join(", ")
}

fn places(indexes: &[usize]) -> String {
    let places: Vec<String> = indexes.iter().map(usize::to_string).collect();
    format!("{} items at {}", count(indexes.len()), places.join(" "))
}

fn count(n: usize) -> String {
    integer(i64::try_from(n).unwrap_or(i64::MAX))
}

impl Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silent | Self::Group | Self::Reference => f.write_str("validation failed"),
            Self::InvalidValue(kind) => write!(f, "invalid jsonType {kind}"),
            Self::Not => f.write_str("'not' failed"),
            Self::AllOf => f.write_str("'allOf' failed"),
            Self::AnyOf => f.write_str("'anyOf' failed"),
            Self::OneOf(None) => f.write_str("'oneOf' failed, none matched"),
            Self::OneOf(Some((a, b))) => {
                write!(f, "'oneOf' failed, subschemas {}, {} matched", count(*a), count(*b))
            }
            Self::FalseSchema => f.write_str("false schema"),
            Self::Cycle { url, first, second } => {
                let url = double(url.as_bytes());
                write!(f, "both {first} and {second} resolve to {url} causing reference cycle")
            }
            Self::Type { got, want } => write!(f, "got {got}, want {}", want.join(" or ")),
            Self::Enum(None) => f.write_str("'enum' failed"),
            Self::Enum(Some(want)) if want.len() == 1 => write!(f, "value must be {}", want.join("")),
            Self::Enum(Some(want)) => write!(f, "value must be one of {}", want.join(", ")),
            Self::Const(None) => f.write_str("'const' failed"),
            Self::Const(Some(want)) => write!(f, "value must be {want}"),
            Self::Format { got, want, reason } => write!(f, "{} is not valid {want}: {reason}", single(got)),
            Self::Count(keyword, got, want) => {
                write!(f, "{keyword}: got {}, want {}", integer(*got), integer(*want))
            }
            Self::Bound(keyword, got, want) => {
                write!(f, "{keyword}: got {}, want {}", float(got.to_f64()), float(want.to_f64()))
            }
            Self::AdditionalItems(n) => write!(f, "last {} additionalItem(s) not allowed", count(*n)),
            Self::Required(missing) if missing.len() == 1 => {
                write!(f, "missing property {}", quoted(missing))
            }
            Self::Required(missing) => write!(f, "missing properties {}", quoted(missing)),
            Self::Dependency { property, missing } => {
                write!(f, "properties {} required, if {} exists", quoted(missing), single(property))
            }
            Self::AdditionalProperties(names) => {
                write!(f, "additional properties {} not allowed", quoted(names))
            }
            Self::PropertyName(name) => write!(f, "invalid propertyName {}", single(name)),
            Self::UniqueItems(a, b) => write!(f, "items at {} and {} are equal", count(*a), count(*b)),
            Self::Contains => f.write_str("no items match contains schema"),
            Self::MinContains { matched, want } => {
                write!(f, "min {} items required to match contains schema, but ", integer(*want))?;
                match matched.as_slice() {
                    [] => f.write_str("none matched"),
                    matched => write!(f, "matched {}", places(matched)),
                }
            }
            Self::MaxContains { matched, want } => {
                let (want, matched) = (integer(*want), places(matched));
                write!(f, "max {want} items required to match contains schema, but matched {matched}")
            }
            Self::Pattern { got, want } => {
                write!(f, "{} does not match pattern {}", single(got), single(want))
            }
        }
    }
}

/// A rule that a value broke, where, and what led to it.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The way to the value.
    pub(crate) at: Vec<Box<str>>,
    pub(crate) kind: Kind,
    pub(crate) causes: Vec<Failure>,
}

impl Failure {
    /// Where the value is, as a JSON pointer.
    pub fn instance(&self) -> String {
        self.at.iter().map(|token| format!("/{}", escape(token))).collect()
    }

    /// What is wrong, without the place.
    pub fn message(&self) -> String {
        self.kind.to_string()
    }

    /// What led to it.
    pub fn causes(&self) -> &[Failure] {
        &self.causes
    }

    /// A reference that failed for one reason says nothing of its own.
    fn is_passed_over(&self) -> bool {
        matches!(self.kind, Kind::Reference) && self.causes.len() == 1
    }

    fn write(&self, out: &mut String, indent: usize) {
        let mut inner = indent;
        if !self.is_passed_over() {
            let _ = write!(out, "\n{}- at {}: {}", "  ".repeat(indent), single(&self.instance()), self.kind);
            inner += 1;
        }
        for cause in &self.causes {
            cause.write(out, inner);
        }
    }
}

/// What Helm says before the reason when a check does not come to an end.
const ABORTED: &str = "unable to validate schema: ";

/// Everything that is wrong with a value.
#[derive(Clone, Debug)]
pub struct ValidationError {
    pub(crate) schema: Box<str>,
    pub(crate) causes: Vec<Failure>,
    /// Why the check was given up; then nothing else is known.
    pub(crate) aborted: Option<&'static str>,
}

impl ValidationError {
    /// The failures, one per rule that was broken.
    pub fn causes(&self) -> &[Failure] {
        &self.causes
    }

    /// The lines that Helm shows under the name of a chart, with a line break after the last.
    pub fn helm_text(&self) -> String {
        if let Some(reason) = self.aborted {
            return format!("{ABORTED}{reason}");
        }
        let mut out = String::new();
        self.causes.iter().for_each(|cause| cause.write(&mut out, 0));
        let mut lines = out.trim_start_matches('\n').to_owned();
        lines.push('\n');
        lines
    }
}

impl Display for ValidationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(reason) = self.aborted {
            return write!(f, "{ABORTED}{reason}");
        }
        let mut out = format!("jsonschema validation failed with {}", single(&self.schema));
        self.causes.iter().for_each(|cause| cause.write(&mut out, 0));
        f.write_str(&out)
    }
}

impl std::error::Error for ValidationError {}
