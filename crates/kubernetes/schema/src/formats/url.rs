//! URLs, as far as it matters whether they are any and what their parts are.

use crate::go;

/// The parts of a URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Url {
    /// The scheme, in small letters.
    pub scheme: String,
    /// The host, with the port.
    pub host: String,
    /// The name and password before the host.
    pub user: Option<String>,
    /// The path, unescaped.
    pub path: String,
    /// What follows the question mark.
    pub query: String,
    /// What follows the hash sign, unescaped.
    pub fragment: String,
}

impl Url {
    /// What a request may be for: a whole URL or an absolute path.
    pub fn request(text: &str) -> Option<Self> {
        if text.is_empty() {
            return None;
        }
        read(text, true).ok()
    }

    /// Any URL, or why it is none.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (body, fragment) = text.split_once('#').unwrap_or((text, ""));
        let failed = |text: &str, reason: String| format!("parse {}: {reason}", go::quote(text));
        let mut url = read(body, false).map_err(|reason| failed(body, reason))?;
        url.fragment = unescape(fragment, Part::Other).map_err(|reason| failed(text, reason))?;
        Ok(url)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Host,
    Zone,
    Other,
}

fn read(text: &str, request: bool) -> Result<Url, String> {
    if text.bytes().any(|b| b < b' ' || b == 0x7f) {
        return Err("net/url: invalid control character in URL".to_owned());
    }
    let mut url = Url::default();
    if text == "*" {
        return Ok(url);
    }
    let (scheme, rest) = scheme(text)?;
    url.scheme = scheme.to_ascii_lowercase();
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    url.query = query.to_owned();
    if !rest.starts_with('/') {
        if !url.scheme.is_empty() {
            return Ok(url);
        }
        if request {
            return Err("invalid URI for request".to_owned());
        }
        if rest.split('/').next().is_some_and(|segment| segment.contains(':')) {
            return Err("first path segment in URL cannot contain colon".to_owned());
        }
    }
    let authority = !url.scheme.is_empty() || !request && !rest.starts_with("///");
    let mut path = rest;
    if authority && let Some(after) = rest.strip_prefix("//") {
        let end = after.find('/').unwrap_or(after.len());
        let (authority, tail) = after.split_at(end);
        path = tail;
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        url.host = host_of(host)?;
        if let Some(user) = user {
            let welcome = |c: char| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c);
            if !user.chars().all(welcome) {
                return Err("net/url: invalid userinfo".to_owned());
            }
            unescape(user, Part::Other)?;
            url.user = Some(user.to_owned());
        }
    }
    url.path = unescape(path, Part::Other)?;
    Ok(url)
}

fn scheme(text: &str) -> Result<(&str, &str), String> {
    for (at, c) in text.char_indices() {
        match c {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if at > 0 => {}
            ':' if at == 0 => return Err("missing protocol scheme".to_owned()),
            ':' => {
                let (scheme, rest) = text.split_at(at);
                return Ok((scheme, rest.get(1..).unwrap_or_default()));
            }
            _ => break,
        }
    }
    Ok(("", text))
}

fn host_of(host: &str) -> Result<String, String> {
    if let Some(open) = host.find('[') {
        if open > 0 {
            return Err("invalid IP-literal".to_owned());
        }
        let Some(close) = host.rfind(']') else { return Err("missing ']' in host".to_owned()) };
        let (literal, port) = host.split_at(close + 1);
        if !is_port(port) {
            return Err(format!("invalid port {} after host", go::quote(port)));
        }
        let inner = literal.get(1..literal.len() - 1).unwrap_or_default();
        let (address, zone) = match inner.find("%25") {
            Some(at) => inner.split_at(at),
            None => (inner, ""),
        };
        let address = unescape(address, Part::Host)?;
        let zone = unescape(zone, Part::Zone)?;
        if address.parse::<std::net::Ipv6Addr>().is_err() {
            return Err("invalid host".to_owned());
        }
        return Ok(format!("[{address}{zone}]{port}"));
    }
    if let Some(at) = host.find(':') {
        let port = host.get(at..).unwrap_or_default();
        if !is_port(port) {
            return Err(format!("invalid port {} after host", go::quote(port)));
        }
    }
    unescape(host, Part::Host)
}

fn is_port(text: &str) -> bool {
    text.is_empty() || text.strip_prefix(':').is_some_and(|port| port.bytes().all(|b| b.is_ascii_digit()))
}

fn unescape(text: &str, part: Part) -> Result<String, String> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at).copied() {
        if byte == b'%' {
            let triple = bytes.get(at..bytes.len().min(at + 3)).unwrap_or_default();
            let value = std::str::from_utf8(triple.get(1..).unwrap_or_default())
                .ok()
                .filter(|digits| digits.len() == 2 && digits.bytes().all(|b| b.is_ascii_hexdigit()))
                .and_then(|digits| u8::from_str_radix(digits, 16).ok());
            let odd = match (part, value) {
                (_, None) => true,
                (Part::Host, Some(value)) => value < 0x80 && triple != b"%25",
                (Part::Zone, Some(value)) => triple != b"%25" && value != b' ' && !host_byte(value),
                (Part::Other, _) => false,
            };
            if odd {
                let shown = String::from_utf8_lossy(triple).into_owned();
                return Err(format!("invalid URL escape {}", go::quote(&shown)));
            }
            out.extend(value);
            at += 3;
        } else {
            if part != Part::Other && byte.is_ascii() && !host_byte(byte) {
                let shown = char::from(byte).to_string();
                return Err(format!("invalid character {} in host name", go::quote(&shown)));
            }
            out.push(byte);
            at += 1;
        }
    }
    Ok(String::from_utf8(out).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
}

fn host_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:[]<>\"".contains(&byte)
}
