//! Why a definition may not be replaced, in words.

use std::fmt;

use serde_json::Value;

/// The rule that a change breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Check {
    /// Objects live in namespaces, or they do not.
    Scope,
    /// A version in which objects may be stored is there.
    StoredVersion,
    /// A version that clients can ask for is there.
    ServedVersion,
    /// A field is there.
    FieldRemoval,
    /// What a keyword of the schema says; the name of the keyword.
    Keyword(&'static str),
    /// Any other part of the schema is the same.
    Other,
    /// It can be compared at all.
    Size,
}

/// One reason why a definition may not be replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The name of the definition.
    pub definition: String,
    /// The version; `v1alpha1 -> v1` where two versions of the new definition differ; empty for the whole definition.
    pub version: String,
    /// The field, as `.spec.replicas`, `.spec.list[]` or `.spec.map[*]`; empty for the object or the whole definition.
    pub path: String,
    /// The rule.
    pub check: Check,
    /// What changed, from what to what.
    pub change: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [&self.definition, &self.version, &self.path, &self.change];
        let mut parts = parts.into_iter().filter(|part| !part.is_empty());
        f.write_str(parts.next().map_or("", String::as_str))?;
        parts.try_for_each(|part| write!(f, ": {part}"))
    }
}

/// The longest value that is shown whole, in characters.
const LONGEST: usize = 120;

/// A value as JSON, cut where it is long.
pub fn shown(value: &Value) -> String {
    clip(&value.to_string())
}

/// A text, cut where it is long.
pub fn clip(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// How many values of a list are shown.
const LISTED: usize = 10;

/// Values with commas between them.
pub fn listed<'a>(values: impl IntoIterator<Item = &'a Value>) -> String {
    let mut values = values.into_iter();
    let mut shown: Vec<String> = values.by_ref().take(LISTED).map(shown).collect();
    let more = values.count();
    if more > 0 {
        shown.push(format!("and {more} more"));
    }
    shown.join(", ")
}
