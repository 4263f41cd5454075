//! Authentication challenges, bearer tokens and token scopes.

use std::time::{Duration, Instant};

use serde_json::Value;

/// An authentication challenge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Challenge {
    /// Basic authentication.
    Basic,
    /// A bearer token from a token service.
    Bearer {
        /// URL of the token service.
        realm: String,
        /// Service name.
        service: Option<String>,
        /// Scope requested by the registry.
        scope: Option<String>,
    },
}

impl Challenge {
    /// Parses `WWW-Authenticate` headers; prefers Bearer to Basic.
    pub fn parse<'h>(headers: impl Iterator<Item = &'h str>) -> Option<Self> {
        let mut basic = None;
        for header in headers.take(8) {
            let header = header.trim().get(..8192).unwrap_or(header.trim());
            let (scheme, rest) = header.split_once(' ').unwrap_or((header, ""));
            if scheme.eq_ignore_ascii_case("basic") {
                basic = Some(Self::Basic);
            } else if scheme.eq_ignore_ascii_case("bearer") {
                let parameters = parse_parameters(rest);
                let get = |name: &str| {
                    parameters.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone())
                };
                if let Some(realm) = get("realm") {
                    return Some(Self::Bearer { realm, service: get("service"), scope: get("scope") });
                }
            }
        }
        basic
    }
}

/// Parses `key="value",key=value`.
fn parse_parameters(text: &str) -> Vec<(String, String)> {
    let mut parsed = Vec::new();
    let mut rest = text.trim_start();
    while let Some((key, after)) = rest.split_once('=') {
        let key = key.trim_matches([',', ' ']).to_ascii_lowercase();
        let mut value = String::new();
        if let Some(quoted) = after.strip_prefix('"') {
            let mut characters = quoted.char_indices();
            let mut end = quoted.len();
            while let Some((index, character)) = characters.next() {
                match character {
                    '"' => {
                        end = index + 1;
                        break;
                    }
                    '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
                    other => value.push(other),
                }
            }
            rest = quoted.get(end..).unwrap_or_default();
        } else {
            let end = after.find(',').unwrap_or(after.len());
            value.push_str(after.get(..end).unwrap_or_default().trim());
            rest = after.get(end..).unwrap_or_default();
        }
        parsed.push((key, value));
        rest = rest.trim_start_matches([',', ' ']);
    }
    parsed
}

/// A bearer token and its expiry.
#[derive(Clone)]
pub(super) struct Token {
    pub value: String,
    pub expires_at: Instant,
}

impl Token {
    /// Parses the response of a token service.
    pub(super) fn parse(data: &[u8], now: Instant) -> Option<Self> {
        let value: Value = serde_json::from_slice(data).ok()?;
        let text = |key: &str| value.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        let token = text("token").or_else(|| text("access_token"))?;
        // Prevents header injection.
        if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return None;
        }
        let seconds = value.get("expires_in").and_then(Value::as_u64).unwrap_or(60).clamp(10, 24 * 3600);
        // Expire early, so that the token does not run out during a request.
        Some(Self { value: token.to_owned(), expires_at: now + Duration::from_secs(seconds * 9 / 10) })
    }
}

/// The token scope of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Scope {
    /// Repository; `None` for the registry itself.
    pub repository: Option<String>,
    /// Actions: `pull`, `pull,push` or `delete`.
    pub actions: &'static str,
    /// Source repository of a cross-repository mount.
    pub mount_from: Option<String>,
}

impl Scope {
    pub(super) fn new(repository: &str, actions: &'static str) -> Self {
        Self { repository: Some(repository.to_owned()), actions, mount_from: None }
    }

    pub(super) fn to_strings(&self) -> Vec<String> {
        let own = self.repository.as_ref().map(|name| format!("repository:{name}:{}", self.actions));
        let other = self.mount_from.as_ref().map(|name| format!("repository:{name}:pull"));
        own.into_iter().chain(other).collect()
    }
}

/// Percent-encodes a query value.
pub(super) fn percent_encode(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_challenges() {
        let bearer = |realm: &str, service: Option<&str>, scope: Option<&str>| Challenge::Bearer {
            realm: realm.to_owned(),
            service: service.map(str::to_owned),
            scope: scope.map(str::to_owned),
        };
        for (header, expected) in [
            ("Basic realm=\"x\"", Some(Challenge::Basic)),
            (
                "Bearer realm=\"https://a.example/token\",service=\"s, t\",scope=\"repository:a/b:pull,push\"",
                Some(bearer("https://a.example/token", Some("s, t"), Some("repository:a/b:pull,push"))),
            ),
            (
                "bearer service=x, realm=https://a.example/t",
                Some(bearer("https://a.example/t", Some("x"), None)),
            ),
            ("Bearer realm=\"a\\\"b\"", Some(bearer("a\"b", None, None))),
            ("Bearer", None),
            ("Bearer realm", None),
            ("Bearer realm=\"unterminated", Some(bearer("unterminated", None, None))),
            ("Negotiate x", None),
            ("", None),
        ] {
            assert_eq!(Challenge::parse([header].into_iter()), expected, "{header}");
        }
        let both = ["Basic realm=x", "Bearer realm=\"r\""];
        assert_eq!(Challenge::parse(both.into_iter()), Some(bearer("r", None, None)));
    }

    #[test]
    fn parses_tokens_and_rejects_header_injection() {
        let now = Instant::now();
        assert_eq!(Token::parse(br#"{"token":"a.b","expires_in":100}"#, now).unwrap().value, "a.b");
        assert_eq!(Token::parse(br#"{"access_token":"c"}"#, now).unwrap().value, "c");
        for text in ["{}", "[]", "{\"token\":\"\"}", "{\"token\":\"a\\r\\nX: y\"}", "{\"token\":1}", "x"] {
            assert!(Token::parse(text.as_bytes(), now).is_none(), "{text}");
        }
        assert_eq!(percent_encode("a/b:c d"), "a%2Fb%3Ac%20d");
    }
}
