//! Names of objects and of what users carry.

use podium_meta::names::{self, LABEL_MAX_LENGTH, SUBDOMAIN_MAX_LENGTH};

/// A label that is not too long.
pub fn is_label(text: &str) -> bool {
    text.len() <= LABEL_MAX_LENGTH && names::is_label(text)
}

/// A subdomain that is not too long; a part may be longer than a label.
pub fn is_subdomain(text: &str) -> bool {
    text.len() <= SUBDOMAIN_MAX_LENGTH && names::is_subdomain(text)
}

/// Whether a text can be a step of a path.
pub fn is_segment(text: &str) -> bool {
    names::path_segment(text, false).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_other_texts() {
        for (text, label, subdomain) in [
            ("a", true, true),
            ("a-1", true, true),
            ("-a", false, false),
            ("a.b", false, true),
            ("a..b", false, false),
            ("A", false, false),
            ("", false, false),
            (&"a".repeat(64), false, true),
            (&"a".repeat(254), false, false),
        ] {
            assert_eq!((is_label(text), is_subdomain(text)), (label, subdomain), "{text}");
        }
    }
}
