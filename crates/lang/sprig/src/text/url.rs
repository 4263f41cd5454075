//! `urlParse` and `urlJoin`: a URL taken apart and put together.

use podium_gotmpl::gostr::quote;

use super::ip::{self, Family};

/// Why a URL could not be taken apart or put together; texts in the variants are quoted already.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// The text is no URL.
    #[error("unable to parse url: parse {url}: {fault}")]
    Parse {
        /// The URL.
        url: String,
        /// What is wrong with it.
        fault: Fault,
    },
    /// The user information does not fit into a URL.
    #[error("unable to parse userinfo in dict: parse {url}: {fault}")]
    Userinfo {
        /// A URL with nothing but this information.
        url: String,
        /// What is wrong with it.
        fault: Fault,
    },
}

/// What is wrong with a URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// There is a control character.
    #[error("net/url: invalid control character in URL")]
    Control,
    /// The text begins with a colon.
    #[error("missing protocol scheme")]
    MissingScheme,
    /// There is a colon where no scheme can be.
    #[error("first path segment in URL cannot contain colon")]
    ColonInFirstSegment,
    /// The user information has a character that must be escaped.
    #[error("net/url: invalid userinfo")]
    Userinfo,
    /// Brackets hold something that is not an address of the sixth version.
    #[error("invalid IP-literal")]
    IpLiteral,
    /// A bracket is not closed.
    #[error("missing ']' in host")]
    MissingBracket,
    /// Brackets hold something that is no address.
    #[error("invalid host: {0}")]
    Address(String),
    /// The port is no number.
    #[error("invalid port {0} after host")]
    Port(String),
    /// A percent sign does not begin an escape.
    #[error("invalid URL escape {0}")]
    Escape(String),
    /// The host has a character that must be escaped.
    #[error("invalid character {0} in host name")]
    HostCharacter(String),
}

/// The parts of a URL as templates see them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UrlParts {
    /// What stands before the first colon.
    pub scheme: Vec<u8>,
    /// Host and port.
    pub host: Vec<u8>,
    /// The host without port and brackets.
    pub hostname: Vec<u8>,
    /// The path, escapes resolved.
    pub path: Vec<u8>,
    /// The query as it was written.
    pub query: Vec<u8>,
    /// What follows the scheme when that is no path.
    pub opaque: Vec<u8>,
    /// The fragment, escapes resolved.
    pub fragment: Vec<u8>,
    /// User and password, escaped.
    pub userinfo: Vec<u8>,
}

/// User name and maybe a password, escapes resolved.
struct User {
    name: Vec<u8>,
    password: Option<Vec<u8>>,
}

/// What part of a URL a text is, which decides what must be escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Path,
    Host,
    Zone,
    User,
    Fragment,
}

impl Part {
    fn allows(self, byte: u8) -> bool {
        let more: &[u8] = match self {
            Self::Path => b"$&+,/:;=@",
            Self::Host | Self::Zone => b"!\"$&'()*+,:;<=>[]",
            Self::User => b"$&+,;=",
            Self::Fragment => b"!$&()*+,/:;=?@",
        };
        byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || more.contains(&byte)
    }
}

fn quoted(text: &[u8]) -> String {
    String::from_utf8_lossy(&quote(text)).into_owned()
}

fn escape(text: &[u8], part: Part) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for &byte in text {
        if part.allows(byte) {
            out.push(byte);
        } else {
            out.extend(format!("%{byte:02X}").bytes());
        }
    }
    out
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

fn unescape(text: &[u8], part: Part) -> Result<Vec<u8>, Fault> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        if byte == b'%' {
            let written = rest.get(..3).unwrap_or(rest);
            let value = match written {
                [_, high, low] => hex(*high).zip(hex(*low)).map(|(high, low)| high << 4 | low),
                _ => None,
            };
            let allowed = |value: &u8| match part {
                // In hosts only bytes beyond ASCII are escaped, and the percent sign that begins a zone.
                Part::Host => *value >= 0x80 || written == b"%25",
                Part::Zone => written == b"%25" || *value == b' ' || Part::Host.allows(*value),
                _ => true,
            };
            let value = value.filter(allowed).ok_or_else(|| Fault::Escape(quoted(written)))?;
            out.push(value);
            rest = rest.get(3..).unwrap_or_default();
            continue;
        }
        if matches!(part, Part::Host | Part::Zone) && byte.is_ascii() && !part.allows(byte) {
            return Err(Fault::HostCharacter(quoted(&[byte])));
        }
        out.push(byte);
        rest = after;
    }
    Ok(out)
}

/// Cuts at the first separator.
fn cut(text: &[u8], separator: u8) -> (&[u8], Option<&[u8]>) {
    let mut halves = text.splitn(2, |byte| *byte == separator);
    (halves.next().unwrap_or_default(), halves.next())
}

fn split_scheme(text: &[u8]) -> Result<(Vec<u8>, &[u8]), Fault> {
    let end = text.iter().position(|byte| !byte.is_ascii_alphanumeric() && !b"+-.".contains(byte));
    match (end, text.first()) {
        (Some(0), Some(b':')) => Err(Fault::MissingScheme),
        (Some(end), Some(first)) if first.is_ascii_alphabetic() && text.get(end) == Some(&b':') => {
            let (scheme, rest) = text.split_at(end);
            Ok((scheme.to_ascii_lowercase(), rest.get(1..).unwrap_or_default()))
        }
        _ => Ok((Vec::new(), text)),
    }
}

fn is_port(text: &[u8]) -> bool {
    match text {
        [] => true,
        [b':', digits @ ..] => digits.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

fn check_port(text: &[u8]) -> Result<(), Fault> {
    if is_port(text) { Ok(()) } else { Err(Fault::Port(quoted(text))) }
}

fn parse_host(scheme: &[u8], host: &[u8]) -> Result<Vec<u8>, Fault> {
    match host.iter().rposition(|byte| *byte == b'[') {
        Some(0) => return parse_bracketed(host),
        Some(_) => return Err(Fault::IpLiteral),
        None => {}
    }
    let is_colon = |byte: &u8| *byte == b':';
    // The web's schemes allow a single colon; elsewhere the last one begins the port.
    let colon = match scheme {
        b"http" | b"https" => host.iter().position(is_colon),
        _ => host.iter().rposition(is_colon),
    };
    check_port(colon.and_then(|at| host.get(at..)).unwrap_or_default())?;
    unescape(host, Part::Host)
}

fn parse_bracketed(host: &[u8]) -> Result<Vec<u8>, Fault> {
    let close = host.iter().rposition(|byte| *byte == b']').ok_or(Fault::MissingBracket)?;
    let (inside, port) = (host.get(1..close).unwrap_or_default(), host.get(close + 1..).unwrap_or_default());
    check_port(port)?;
    let zone = inside.windows(3).position(|window| window == b"%25").unwrap_or(inside.len());
    let (name, zone) = inside.split_at(zone);
    let mut address = unescape(name, Part::Host)?;
    address.extend(unescape(zone, Part::Zone)?);
    match ip::parse(&address) {
        Ok(Family::V6) => Ok([b"[", &address[..], b"]", port].concat()),
        Ok(Family::V4) => Err(Fault::IpLiteral),
        Err(fault) => Err(Fault::Address(fault)),
    }
}

fn parse_authority(scheme: &[u8], authority: &[u8]) -> Result<(Option<User>, Vec<u8>), Fault> {
    let Some(at) = authority.iter().rposition(|byte| *byte == b'@') else {
        return Ok((None, parse_host(scheme, authority)?));
    };
    let (user, host) = authority.split_at(at);
    let host = parse_host(scheme, host.get(1..).unwrap_or_default())?;
    if !user.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(byte)) {
        return Err(Fault::Userinfo);
    }
    let (name, password) = cut(user, b':');
    let name = unescape(name, Part::User)?;
    let password = password.map(|password| unescape(password, Part::User)).transpose()?;
    Ok((Some(User { name, password }), host))
}

/// Takes a URL without fragment apart.
fn parse_main(text: &[u8]) -> Result<(UrlParts, Option<User>), Fault> {
    if text.iter().any(u8::is_ascii_control) {
        return Err(Fault::Control);
    }
    let mut parts = UrlParts::default();
    if text == b"*" {
        parts.path = text.to_vec();
        return Ok((parts, None));
    }
    let (scheme, rest) = split_scheme(text)?;
    parts.scheme = scheme;
    let (mut rest, query) = cut(rest, b'?');
    parts.query = query.unwrap_or_default().to_vec();
    if rest.first() != Some(&b'/') {
        if !parts.scheme.is_empty() {
            parts.opaque = rest.to_vec();
            return Ok((parts, None));
        }
        if cut(rest, b'/').0.contains(&b':') {
            return Err(Fault::ColonInFirstSegment);
        }
    }
    let mut user = None;
    let authority =
        rest.strip_prefix(b"//").filter(|_| !parts.scheme.is_empty() || !rest.starts_with(b"///"));
    if let Some(authority) = authority {
        let end = authority.iter().position(|byte| *byte == b'/').unwrap_or(authority.len());
        let (authority, path) = authority.split_at(end);
        rest = path;
        (user, parts.host) = parse_authority(&parts.scheme, authority)?;
    }
    parts.path = unescape(rest, Part::Path)?;
    Ok((parts, user))
}

fn parse(text: &[u8]) -> Result<(UrlParts, Option<User>), (String, Fault)> {
    let (main, fragment) = cut(text, b'#');
    let (mut parts, user) = parse_main(main).map_err(|fault| (quoted(main), fault))?;
    parts.fragment =
        unescape(fragment.unwrap_or_default(), Part::Fragment).map_err(|fault| (quoted(text), fault))?;
    parts.hostname = hostname(&parts.host).to_vec();
    parts.userinfo = user.as_ref().map(User::text).unwrap_or_default();
    Ok((parts, user))
}

fn hostname(host: &[u8]) -> &[u8] {
    let colon = host.iter().rposition(|byte| *byte == b':');
    let name = match colon.and_then(|at| host.split_at_checked(at)) {
        Some((name, port)) if is_port(port) => name,
        _ => host,
    };
    match name {
        [b'[', inside @ .., b']'] => inside,
        _ => name,
    }
}

impl User {
    fn text(&self) -> Vec<u8> {
        let mut text = escape(&self.name, Part::User);
        if let Some(password) = &self.password {
            text.push(b':');
            text.extend(escape(password, Part::User));
        }
        text
    }
}

/// `urlParse`: takes a URL apart.
pub fn url_parse(text: &[u8]) -> Result<UrlParts, UrlError> {
    parse(text).map(|(parts, _)| parts).map_err(|(url, fault)| UrlError::Parse { url, fault })
}

/// `urlJoin`: puts a URL together; the host name alone is not used.
pub fn url_join(parts: &UrlParts) -> Result<Vec<u8>, UrlError> {
    let mut user = None;
    if !parts.userinfo.is_empty() {
        let example = [b"proto://", &parts.userinfo[..], b"@host"].concat();
        user = parse(&example).map_err(|(url, fault)| UrlError::Userinfo { url, fault })?.1;
    }
    let mut out = Vec::new();
    if !parts.scheme.is_empty() {
        out.extend(&parts.scheme);
        out.push(b':');
    }
    if parts.opaque.is_empty() {
        push_hierarchy(&mut out, parts, user.as_ref());
    } else {
        out.extend(&parts.opaque);
    }
    if !parts.query.is_empty() {
        out.push(b'?');
        out.extend(&parts.query);
    }
    if !parts.fragment.is_empty() {
        out.push(b'#');
        out.extend(escape(&parts.fragment, Part::Fragment));
    }
    Ok(out)
}

fn push_hierarchy(out: &mut Vec<u8>, parts: &UrlParts, user: Option<&User>) {
    let has_authority = !parts.host.is_empty() || user.is_some();
    if has_authority || !parts.scheme.is_empty() && !parts.path.is_empty() {
        out.extend(b"//");
    }
    if let Some(user) = user {
        out.extend(user.text());
        out.push(b'@');
    }
    out.extend(escape(&parts.host, Part::Host));
    let path = if parts.path == b"*" { parts.path.clone() } else { escape(&parts.path, Part::Path) };
    if !parts.host.is_empty() && path.first().is_some_and(|first| *first != b'/') {
        out.push(b'/');
    }
    // A colon in the first segment would make it a scheme.
    if out.is_empty() && cut(&path, b'/').0.contains(&b':') {
        out.extend(b"./");
    }
    out.extend(path);
}
