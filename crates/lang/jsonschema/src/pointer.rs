//! JSON pointers and where a schema is.

use crate::go::url::escape_pointer;

/// A token as it stands in a pointer.
pub(crate) fn escape(token: &str) -> String {
    token.replace('~', "~0").replace('/', "~1")
}

/// What a token of a pointer means; nothing if a `~` has no meaning.
pub(crate) fn unescape(token: &str) -> Option<String> {
    let mut parts = token.split('~');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (sign, rest) = match part.as_bytes().first() {
            Some(b'0') => ('~', part.get(1..)?),
            Some(b'1') => ('/', part.get(1..)?),
            _ => return None,
        };
        out.push(sign);
        out.push_str(rest);
    }
    Some(out)
}

/// A pointer with further tokens.
pub(crate) fn join(pointer: &str, tokens: &[&str]) -> String {
    let mut out = pointer.to_owned();
    for token in tokens {
        out.push('/');
        out.push_str(&escape(token));
    }
    out
}

/// A place as messages name it.
pub(crate) fn location(url: &str, pointer: &str) -> String {
    format!("{url}#{}", escape_pointer(pointer))
}

/// What the part of a reference after `#` means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fragment {
    Pointer(String),
    Anchor(String),
}

impl Fragment {
    pub fn new(text: String) -> Self {
        if text.is_empty() || text.starts_with('/') { Self::Pointer(text) } else { Self::Anchor(text) }
    }

    pub fn text(&self) -> &str {
        match self {
            Self::Pointer(text) | Self::Anchor(text) => text,
        }
    }
}
