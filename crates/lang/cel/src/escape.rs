//! Property names as identifiers.

/// The words that the language keeps for itself.
const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// What stands for characters that identifiers cannot have.
const ESCAPES: [(&str, &str); 4] = [("__", "underscores"), (".", "dot"), ("-", "dash"), ("/", "slash")];

/// Whether a word is reserved.
pub fn is_reserved(word: &str) -> bool {
    RESERVED.contains(&word)
}

/// The identifier of a property, if there is one.
pub fn escape(name: &str) -> Option<String> {
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if is_reserved(name) {
        return Some(format!("__{name}__"));
    }
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        if let Some((text, word)) = ESCAPES.iter().find(|(text, _)| rest.starts_with(text)) {
            out.push_str("__");
            out.push_str(word);
            out.push_str("__");
            rest = rest.strip_prefix(text).unwrap_or_default();
        } else if first.is_ascii_alphanumeric() || first == '_' {
            out.push(first);
            rest = rest.get(1..).unwrap_or_default();
        } else {
            return None;
        }
    }
    Some(out)
}

/// The property of an identifier, if it is one.
pub fn unescape(name: &str) -> Option<String> {
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let inner = rest.strip_prefix("__").and_then(|inner| {
            let end = inner.find('_').filter(|end| *end > 0)?;
            inner.get(end..)?.starts_with("__").then(|| inner.split_at(end))
        });
        let Some((word, tail)) = inner else {
            out.push(first);
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
            continue;
        };
        match ESCAPES.iter().find(|(_, known)| *known == word) {
            Some((text, _)) => out.push_str(text),
            None if is_reserved(word) && word.len() + 4 == name.len() => out.push_str(word),
            None => return None,
        }
        rest = tail.get(2..).unwrap_or_default();
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_identifiers_and_back() {
        for (name, identifier) in [
            ("a", "a"),
            ("namespace", "__namespace__"),
            ("a.b-c/d", "a__dot__b__dash__c__slash__d"),
            ("a__b", "a__underscores__b"),
            ("__namespace__", "__underscores__namespace__underscores__"),
            ("self", "self"),
            ("a_b", "a_b"),
        ] {
            assert_eq!(escape(name).as_deref(), Some(identifier));
            assert_eq!(unescape(identifier).as_deref(), Some(name));
        }
        assert_eq!(escape(""), None);
        assert_eq!(escape("1a"), None);
        assert_eq!(escape("a$"), None);
        assert_eq!(unescape("__what__"), None);
        assert_eq!(unescape("x__namespace__"), None);
        assert_eq!(unescape("__a"), Some("__a".to_owned()));
    }
}
