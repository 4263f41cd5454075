//! Rules of names, in the words that kinds of users' own have for them.

use podium_meta::names::{self, LengthUnit};
pub use podium_meta::names::{is_label, is_subdomain, label_1035, label_value, path_segment, qualified};

/// What is wrong with a DNS subdomain.
pub fn subdomain(text: &str) -> Vec<String> {
    names::subdomain(text, LengthUnit::Bytes)
}

/// What is wrong with a DNS label.
pub fn label(text: &str) -> Vec<String> {
    names::label(text, LengthUnit::Bytes)
}
