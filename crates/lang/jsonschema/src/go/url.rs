//! URLs as `net/url` reads, joins and writes them, with its errors.

use super::addr::{self, Addr};
use super::quote;

/// The part of a URL that is escaped or unescaped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Path,
    Segment,
    Host,
    Zone,
    User,
    Fragment,
}

/// Whether a byte stands for itself in a part.
fn plain(byte: u8, part: Part) -> bool {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => true,
        b'!' | b'(' | b')' | b'*' => matches!(part, Part::Host | Part::Zone | Part::Fragment),
        b'\'' | b'[' | b']' | b'<' | b'>' | b'"' => matches!(part, Part::Host | Part::Zone),
        b'$' | b'&' | b'+' | b'=' => true,
        b',' | b';' => part != Part::Segment,
        b':' => part != Part::User,
        b'@' => !matches!(part, Part::User | Part::Host | Part::Zone),
        b'/' => matches!(part, Part::Path | Part::Fragment),
        b'?' => part == Part::Fragment,
        _ => false,
    }
}

fn escape(text: &[u8], part: Part) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text {
        if plain(*byte, part) {
            out.push(char::from(*byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

fn bad_escape(text: &[u8]) -> String {
    format!("invalid URL escape {}", quote::double(text))
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|d| u8::try_from(d).ok())
}

fn unescape(text: &[u8], part: Part) -> Result<Vec<u8>, String> {
    let host = matches!(part, Part::Host | Part::Zone);
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [byte, after @ ..] = rest {
        if *byte == b'%' {
            let digits = match after {
                [high, low, ..] => hex(*high).zip(hex(*low)),
                _ => None,
            };
            let triple = rest.get(..3).unwrap_or(rest);
            let Some((high, low)) = digits else { return Err(bad_escape(triple)) };
            let value = high << 4 | low;
            let odd = match part {
                // Only bytes beyond ASCII and the percent sign itself.
                Part::Host => high < 8 && triple != b"%25",
                Part::Zone => triple != b"%25" && value != b' ' && !plain(value, Part::Host),
                _ => false,
            };
            if odd {
                return Err(bad_escape(triple));
            }
            out.push(value);
            rest = after.get(2..).unwrap_or_default();
        } else {
            if host && byte.is_ascii() && !plain(*byte, part) {
                return Err(format!("invalid character {} in host name", quote::double([*byte])));
            }
            out.push(*byte);
            rest = after;
        }
    }
    Ok(out)
}

/// `url.PathUnescape`.
pub(crate) fn path_unescape(text: &str) -> Result<String, String> {
    let bytes = unescape(text.as_bytes(), Part::Segment)?;
    Ok(String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
}

/// A JSON pointer as the fragment of a URL: every token escaped, the slashes kept.
pub(crate) fn escape_pointer(pointer: &str) -> String {
    let tokens: Vec<String> = pointer.split('/').map(|t| escape(t.as_bytes(), Part::Segment)).collect();
    tokens.join("/")
}

/// A parsed URL; the fragment is only checked.
#[derive(Clone, Debug, Default)]
pub struct Url {
    /// The scheme in small letters.
    pub scheme: String,
    /// What follows the scheme, if it is no path.
    pub opaque: String,
    user: Option<(Vec<u8>, Option<Vec<u8>>)>,
    host: Vec<u8>,
    path: Vec<u8>,
    /// How the path was written, where escaping it again gives something else.
    pub raw_path: String,
    query: String,
    force_query: bool,
    omit_host: bool,
}

fn failed(text: &str, reason: String) -> String {
    format!("parse {}: {reason}", quote::double(text))
}

/// `url.ParseRequestURI`.
pub fn parse_request(raw: &str) -> Result<Url, String> {
    if raw.is_empty() {
        return Err(failed(raw, "empty url".into()));
    }
    parse_body(raw, true).map_err(|reason| failed(raw, reason))
}

/// `url.Parse`.
pub fn parse(raw: &str) -> Result<Url, String> {
    let (body, fragment) = raw.split_once('#').unwrap_or((raw, ""));
    let url = parse_body(body, false).map_err(|reason| failed(body, reason))?;
    unescape(fragment.as_bytes(), Part::Fragment).map_err(|reason| failed(raw, reason))?;
    Ok(url)
}

fn parse_body(raw: &str, request: bool) -> Result<Url, String> {
    if raw.bytes().any(|b| b < b' ' || b == 0x7F) {
        return Err("net/url: invalid control character in URL".into());
    }
    let mut url = Url::default();
    if raw == "*" {
        url.path = b"*".to_vec();
        return Ok(url);
    }
    let (scheme, mut rest) = split_scheme(raw)?;
    url.scheme = scheme.to_ascii_lowercase();
    match rest.strip_suffix('?') {
        Some(before) if !before.contains('?') => {
            url.force_query = true;
            rest = before;
        }
        _ => {
            if let Some((before, query)) = rest.split_once('?') {
                rest = before;
                url.query = query.into();
            }
        }
    }
    if !rest.starts_with('/') {
        if !url.scheme.is_empty() {
            url.opaque = rest.into();
            return Ok(url);
        }
        if request {
            return Err("invalid URI for request".into());
        }
        if rest.split('/').next().unwrap_or_default().contains(':') {
            return Err("first path segment in URL cannot contain colon".into());
        }
    }
    let absolute = !url.scheme.is_empty();
    if let Some(after) = rest.strip_prefix("//").filter(|_| absolute || !request && !rest.starts_with("///"))
    {
        let end = after.find('/').unwrap_or(after.len());
        let (authority, path) = after.split_at(end);
        url.authority(authority)?;
        rest = path;
    } else if absolute && rest.starts_with('/') {
        url.omit_host = true;
    }
    url.set_path(rest)?;
    Ok(url)
}

fn split_scheme(raw: &str) -> Result<(&str, &str), String> {
    for (i, byte) in raw.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if i > 0 => {}
            b':' if i == 0 => return Err("missing protocol scheme".into()),
            b':' => return Ok((raw.get(..i).unwrap_or_default(), raw.get(i + 1..).unwrap_or_default())),
            _ => break,
        }
    }
    Ok(("", raw))
}

fn is_port(text: &str) -> bool {
    text.is_empty() || text.strip_prefix(':').is_some_and(|port| port.bytes().all(|b| b.is_ascii_digit()))
}

fn bad_port(port: &str) -> String {
    format!("invalid port {} after host", quote::double(port))
}

fn parse_host(scheme: &str, host: &str) -> Result<Vec<u8>, String> {
    match host.rfind('[') {
        Some(0) => return parse_literal(host),
        Some(_) => return Err("invalid IP-literal".into()),
        None => {}
    }
    if let Some(first) = host.find(':') {
        let strict = matches!(scheme, "http" | "https");
        let colon = if strict { first } else { host.rfind(':').unwrap_or(first) };
        let port = host.get(colon..).unwrap_or_default();
        if !is_port(port) {
            return Err(bad_port(port));
        }
    }
    unescape(host.as_bytes(), Part::Host)
}

/// A host in square brackets.
fn parse_literal(host: &str) -> Result<Vec<u8>, String> {
    let Some(close) = host.rfind(']') else { return Err("missing ']' in host".into()) };
    let port = host.get(close + 1..).unwrap_or_default();
    if !is_port(port) {
        return Err(bad_port(port));
    }
    let port = unescape(port.as_bytes(), Part::Host)?;
    let name = host.get(1..close).unwrap_or_default();
    let zone = name.find("%25").unwrap_or(name.len());
    let (address, zone) = name.split_at(zone);
    let mut name = unescape(address.as_bytes(), Part::Host)?;
    name.extend(unescape(zone.as_bytes(), Part::Zone)?);
    match addr::parse(&String::from_utf8_lossy(&name)) {
        Err(reason) => Err(format!("invalid host: {reason}")),
        Ok(Addr::V4) => Err("invalid IP-literal".into()),
        Ok(Addr::V6 { .. }) => Ok([b"[".to_vec(), name, b"]".to_vec(), port].concat()),
    }
}

/// The path of a reference on a base, with its dots resolved. Both are escaped.
fn resolve_path(base: &str, reference: &str) -> String {
    let full = match reference.as_bytes().first() {
        None => base.to_owned(),
        Some(b'/') => reference.to_owned(),
        Some(_) => {
            let keep = base.rfind('/').map_or(0, |i| i + 1);
            format!("{}{reference}", base.get(..keep).unwrap_or_default())
        }
    };
    if full.is_empty() {
        return full;
    }
    let mut out = String::from("/");
    let mut first = true;
    let mut last = "";
    for element in full.split('/') {
        last = element;
        match element {
            "." => first = false,
            ".." => {
                let cut = out.get(1..).and_then(|tail| tail.rfind('/')).map_or(1, |i| i + 1);
                out.truncate(cut);
                first = out.len() == 1;
            }
            _ => {
                if !first {
                    out.push('/');
                }
                out.push_str(element);
                first = false;
            }
        }
    }
    if matches!(last, "." | "..") {
        out.push('/');
    }
    match out.strip_prefix('/') {
        Some(tail) if tail.starts_with('/') => tail.to_owned(),
        _ => out,
    }
}

impl Url {
    fn authority(&mut self, authority: &str) -> Result<(), String> {
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        self.host = parse_host(&self.scheme, host)?;
        let Some(user) = user else { return Ok(()) };
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&b);
        if !user.bytes().all(allowed) {
            return Err("net/url: invalid userinfo".into());
        }
        let decode = |text: &str| unescape(text.as_bytes(), Part::User);
        self.user = Some(match user.split_once(':') {
            Some((name, password)) => (decode(name)?, Some(decode(password)?)),
            None => (decode(user)?, None),
        });
        Ok(())
    }

    fn set_path(&mut self, path: &str) -> Result<(), String> {
        self.path = unescape(path.as_bytes(), Part::Path)?;
        let same = escape(&self.path, Part::Path) == path;
        self.raw_path = if same { String::new() } else { path.into() };
        Ok(())
    }

    /// The path as it is sent.
    pub fn escaped_path(&self) -> String {
        let as_is = |b: u8| b"!$&'()*+,;=:@[]%".contains(&b) || plain(b, Part::Path);
        if !self.raw_path.is_empty() && self.raw_path.bytes().all(as_is) {
            return self.raw_path.clone();
        }
        if self.path == b"*" { "*".into() } else { escape(&self.path, Part::Path) }
    }

    /// What follows the question mark.
    pub fn query(&self) -> &str {
        &self.query
    }

    /// Whether it names a scheme.
    pub fn is_absolute(&self) -> bool {
        !self.scheme.is_empty()
    }

    /// The host without its port and brackets, and the host as it stands.
    pub fn hosts(&self) -> (String, String) {
        let whole = String::from_utf8_lossy(&self.host).into_owned();
        let mut name = whole.as_str();
        if let Some(colon) = name.rfind(':')
            && name.get(colon..).is_some_and(is_port)
        {
            name = name.get(..colon).unwrap_or_default();
        }
        if let Some(inner) = name.strip_prefix('[').and_then(|n| n.strip_suffix(']')) {
            name = inner;
        }
        (name.to_owned(), whole)
    }

    /// `ResolveReference`, but a base without a path (`urn:x`) stays as it is under a relative reference.
    pub fn join(&self, reference: &Url) -> Url {
        let mut url = reference.clone();
        if reference.is_absolute() {
            url.set_resolved(&reference.escaped_path(), "");
            return url;
        }
        url.scheme.clone_from(&self.scheme);
        url.opaque.clone_from(&self.opaque);
        if !reference.host.is_empty() || reference.user.is_some() {
            url.set_resolved(&reference.escaped_path(), "");
            return url;
        }
        if reference.path.is_empty() && !reference.force_query && reference.query.is_empty() {
            url.query.clone_from(&self.query);
        }
        url.host.clone_from(&self.host);
        url.user.clone_from(&self.user);
        url.set_resolved(&self.escaped_path(), &reference.escaped_path());
        url
    }

    fn set_resolved(&mut self, base: &str, reference: &str) {
        // Paths that were read once can be read again.
        let _ = self.set_path(&resolve_path(base, reference));
    }
}

impl std::fmt::Display for Url {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = String::new();
        if !self.scheme.is_empty() {
            out = format!("{}:", self.scheme);
        }
        if self.opaque.is_empty() {
            self.write_hierarchy(&mut out);
        } else {
            out.push_str(&self.opaque);
        }
        if self.force_query || !self.query.is_empty() {
            out.push('?');
            out.push_str(&self.query);
        }
        f.write_str(&out)
    }
}

impl Url {
    fn write_hierarchy(&self, out: &mut String) {
        let has_host = !self.host.is_empty() || self.user.is_some();
        if has_host || !self.omit_host && !self.scheme.is_empty() {
            if has_host || !self.path.is_empty() {
                out.push_str("//");
            }
            if let Some((name, password)) = &self.user {
                out.push_str(&escape(name, Part::User));
                if let Some(password) = password {
                    out.push(':');
                    out.push_str(&escape(password, Part::User));
                }
                out.push('@');
            }
            out.push_str(&escape(&self.host, Part::Host));
        }
        let path = self.escaped_path();
        if !path.is_empty() && !path.starts_with('/') && !self.host.is_empty() {
            out.push('/');
        }
        if out.is_empty() && path.split('/').next().unwrap_or_default().contains(':') {
            out.push_str("./");
        }
        out.push_str(&path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_join_as_in_go() {
        let recorded = [
            ("file:///values.schema.json", "", "file:///values.schema.json"),
            ("file:///values.schema.json", "x", "file:///x"),
            ("file:///values.schema.json", "../x", "file:///x"),
            ("file:///values.schema.json", "/x/./y/../z", "file:///x/z"),
            ("file:///values.schema.json", "?r", "file:///values.schema.json?r"),
            ("file:///values.schema.json", "//k/x", "file://k/x"),
            ("file:///values.schema.json", "ex:opaque", "ex:opaque"),
            ("file:///values.schema.json", "a%20b", "file:///a%20b"),
            ("file:///values.schema.json", "a b", "file:///a%20b"),
            ("file:///values.schema.json", "é", "file:///%C3%A9"),
            ("file:///values.schema.json", "%2Fx", "file:///%2Fx"),
            ("file:///values.schema.json", "./", "file:///"),
            ("file:///values.schema.json", "..", "file:///"),
            ("file:///values.schema.json", "x:y", "x:y"),
            ("file:///values.schema.json", "a/b:c", "file:///a/b:c"),
            ("file:///values.schema.json", "http://[::1%25en0]:80/x", "http://[::1%25en0]:80/x"),
            ("file:///values.schema.json", "?", "file:///values.schema.json?"),
            ("ex://u:p%40@h:80/a/b?q", "", "ex://u:p%40@h:80/a/b?q"),
            ("ex://u:p%40@h:80/a/b?q", "x", "ex://u:p%40@h:80/a/x"),
            ("ex://u:p%40@h:80/a/b?q", "../x", "ex://u:p%40@h:80/x"),
            ("ex://u:p%40@h:80/a/b?q", "/x/./y/../z", "ex://u:p%40@h:80/x/z"),
            ("ex://u:p%40@h:80/a/b?q", "?r", "ex://u:p%40@h:80/a/b?r"),
            ("ex://u:p%40@h:80/a/b?q", "//k/x", "ex://k/x"),
            ("ex://u:p%40@h:80/a/b?q", "ex:opaque", "ex:opaque"),
            ("ex://u:p%40@h:80/a/b?q", "a%20b", "ex://u:p%40@h:80/a/a%20b"),
            ("ex://u:p%40@h:80/a/b?q", "a b", "ex://u:p%40@h:80/a/a%20b"),
            ("ex://u:p%40@h:80/a/b?q", "é", "ex://u:p%40@h:80/a/%C3%A9"),
            ("ex://u:p%40@h:80/a/b?q", "%2Fx", "ex://u:p%40@h:80/a/%2Fx"),
            ("ex://u:p%40@h:80/a/b?q", "./", "ex://u:p%40@h:80/a/"),
            ("ex://u:p%40@h:80/a/b?q", "..", "ex://u:p%40@h:80/"),
            ("ex://u:p%40@h:80/a/b?q", "x:y", "x:y"),
            ("ex://u:p%40@h:80/a/b?q", "a/b:c", "ex://u:p%40@h:80/a/a/b:c"),
            ("ex://u:p%40@h:80/a/b?q", "http://[::1%25en0]:80/x", "http://[::1%25en0]:80/x"),
            ("ex://u:p%40@h:80/a/b?q", "?", "ex://u:p%40@h:80/a/b?"),
            ("urn:a:b", "../x", "urn:a:b"),
            ("urn:a:b", "//k/x", "urn:a:b"),
            ("urn:a:b", "a b", "urn:a:b"),
            ("urn:a:b", "./", "urn:a:b"),
            ("urn:a:b", "a/b:c", "urn:a:b"),
            ("http://h", "", "http://h"),
            ("http://h", "x", "http://h/x"),
            ("http://h", "../x", "http://h/x"),
            ("http://h", "/x/./y/../z", "http://h/x/z"),
            ("http://h", "?r", "http://h?r"),
            ("http://h", "//k/x", "http://k/x"),
            ("http://h", "ex:opaque", "ex:opaque"),
            ("http://h", "a%20b", "http://h/a%20b"),
            ("http://h", "a b", "http://h/a%20b"),
            ("http://h", "é", "http://h/%C3%A9"),
            ("http://h", "%2Fx", "http://h/%2Fx"),
            ("http://h", "./", "http://h/"),
            ("http://h", "..", "http://h/"),
            ("http://h", "x:y", "x:y"),
            ("http://h", "a/b:c", "http://h/a/b:c"),
            ("http://h", "http://[::1%25en0]:80/x", "http://[::1%25en0]:80/x"),
            ("http://h", "?", "http://h?"),
        ];
        for (base, reference, want) in recorded {
            let joined = parse(base).unwrap().join(&parse(reference).unwrap()).to_string();
            assert_eq!(joined, want, "{base} {reference}");
        }
    }
}
