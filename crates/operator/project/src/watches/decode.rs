//! The Go types that the originals read `watches.yaml` into, and ours.

use podium_goyaml::Value;
use podium_goyaml::yaml::types::{
    BOOL, INT_POINTER, Kind, Refused, STRING, STRING_MAP, STRINGS, Struct, Type,
};
use podium_sprig::gotime::Duration;

static PROMOTED: Type = Type::new("string", Kind::Promoted("GroupVersionKind"));
static BOOL_POINTER: Type = Type::pointer("bool", Kind::Bool);
static DURATION: Type = Type::pointer("v1.Duration", Kind::Own(duration));

static OPERATOR: Type = Type::new("v1.LabelSelectorOperator", Kind::Str);
static REQUIREMENT: Struct = Struct {
    name: "LabelSelectorRequirement",
    fields: &[("key", &STRING), ("operator", &OPERATOR), ("values", &STRINGS)],
};
static REQUIREMENT_TYPE: Type = Type::new("v1.LabelSelectorRequirement", Kind::Struct(&REQUIREMENT));
static REQUIREMENTS: Type = Type::new("[]v1.LabelSelectorRequirement", Kind::List(&REQUIREMENT_TYPE));
static SELECTOR: Struct = Struct {
    name: "LabelSelector",
    fields: &[("matchLabels", &STRING_MAP), ("matchExpressions", &REQUIREMENTS)],
};
static SELECTOR_TYPE: Type = Type::pointer("v1.LabelSelector", Kind::Struct(&SELECTOR));

static VALUES_FROM: Struct = Struct {
    name: "ValuesFrom",
    fields: &[("kind", &STRING), ("name", &STRING), ("key", &STRING), ("optional", &BOOL)],
};
static VALUES_FROM_TYPE: Type = Type::new("watches.ValuesFrom", Kind::Struct(&VALUES_FROM));
static VALUES_FROM_LIST: Type = Type::new("[]watches.ValuesFrom", Kind::List(&VALUES_FROM_TYPE));

/// One entry.
pub static WATCH: Struct = Struct {
    name: "Watch",
    fields: &[
        ("Group", &PROMOTED),
        ("Version", &PROMOTED),
        ("Kind", &PROMOTED),
        ("chart", &STRING),
        ("watchDependentResources", &BOOL_POINTER),
        ("overrideValues", &STRING_MAP),
        ("reconcilePeriod", &DURATION),
        ("maxConcurrentReconciles", &INT_POINTER),
        ("selector", &SELECTOR_TYPE),
        ("dryRunOption", &STRING),
        ("wait", &BOOL),
        ("valuesFrom", &VALUES_FROM_LIST),
    ],
};
static WATCH_TYPE: Type = Type::new("watches.Watch", Kind::Struct(&WATCH));

/// The whole file.
pub static WATCHES: Type = Type::new("[]watches.Watch", Kind::List(&WATCH_TYPE));

/// A duration is a string that Go can read.
fn duration(value: &Value) -> Result<(), Refused> {
    match value {
        Value::String(text) => {
            Duration::parse(text.as_bytes()).map(drop).map_err(|e| Refused::Text(e.to_string()))
        }
        _ => Err(Refused::Type("string")),
    }
}
