//! URLs.

use std::sync::Arc;

use podium_jsonschema::go::url;

use super::Native;
use crate::map::{Entries, Map};
use crate::value::{NO_OVERLOAD, Value};

/// A URL.
#[derive(Debug)]
pub struct Url {
    parts: url::Url,
    fragment: String,
}

impl Url {
    fn parse(text: &str) -> Result<Self, String> {
        url::parse_request(text)?;
        let parts = url::parse(text)?;
        let fragment = text.split_once('#').map(|(_, fragment)| fragment.to_owned()).unwrap_or_default();
        Ok(Self { parts, fragment })
    }

    /// The whole URL.
    pub fn text(&self) -> String {
        match self.fragment.as_str() {
            "" => self.parts.to_string(),
            fragment => format!("{}#{fragment}", self.parts),
        }
    }

    fn port(&self) -> String {
        let (_, host) = self.parts.hosts();
        let after = host.rsplit_once(']').map_or(host.as_str(), |(_, after)| after);
        after.rsplit_once(':').map(|(_, port)| port.to_owned()).unwrap_or_default()
    }
}

/// A part of a query, unescaped.
fn unescape(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'+' => out.push(b' '),
            b'%' => {
                let mut digit = || bytes.next().and_then(|b| char::from(b).to_digit(16));
                let (high, low) = (digit()?, digit()?);
                out.push(u8::try_from(high * 16 + low).ok()?);
            }
            other => out.push(other),
        }
    }
    Some(String::from_utf8_lossy(&out).into_owned())
}

/// The values of each name of a query; what cannot be read is left out.
fn query<'a>(url: &Url) -> Value<'a> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for pair in url.parts.query().split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (Some(name), Some(value)) = (unescape(name), unescape(value)) else { continue };
        match found.iter_mut().find(|(known, _)| *known == name) {
            Some((_, values)) => values.push(value),
            None => found.push((name, vec![value])),
        }
    }
    let mut entries = Entries::default();
    for (name, values) in found {
        entries.insert(Value::text(name), Value::texts(values));
    }
    Value::Map(Map::of(entries))
}

fn of<'a>(args: &[Value<'a>], make: fn(&Url) -> String) -> Value<'a> {
    match args.first() {
        Some(Value::Url(url)) => Value::text(make(url)),
        _ => Value::error(NO_OVERLOAD),
    }
}

/// The function of an overload.
pub fn native(id: &str) -> Option<Native> {
    Some(match id {
        "string_to_url" => |args| {
            let text = args.first().and_then(Value::as_str).unwrap_or_default();
            match Url::parse(text) {
                Ok(url) => Value::Url(Arc::new(url)),
                Err(error) => Value::error(format!("URL parse error during conversion from string: {error}")),
            }
        },
        "is_url_string" => |args| {
            let text = args.first().and_then(Value::as_str).unwrap_or_default();
            Value::Bool(url::parse_request(text).is_ok())
        },
        "url_get_scheme" => |args| of(args, |url| url.parts.scheme.clone()),
        "url_get_host" => |args| of(args, |url| url.parts.hosts().1),
        "url_get_hostname" => |args| of(args, |url| url.parts.hosts().0),
        "url_get_port" => |args| of(args, Url::port),
        "url_get_escaped_path" => |args| of(args, |url| url.parts.escaped_path()),
        "url_get_query" => |args| match args.first() {
            Some(Value::Url(url)) => query(url),
            _ => Value::error(NO_OVERLOAD),
        },
        _ => return None,
    })
}
