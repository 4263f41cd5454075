//! The language that rules in definitions are written in.

use podium_schema::expressions::Language;

/// The language.
pub fn language() -> Option<&'static dyn Language> {
    None
}
