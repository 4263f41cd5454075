//! Addresses as `netip.ParseAddr` reads them, with its errors.

use super::quote;

/// What was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addr {
    /// Of version 4.
    V4,
    /// Of version 6.
    V6 {
        /// A zone is named.
        zone: bool,
    },
}

/// Why a text is no address: the reason, and where it stopped if that is known.
type Reason<'t> = (&'static str, &'t str);

/// Reads an address.
pub fn parse(text: &str) -> Result<Addr, String> {
    let found = match text.bytes().find(|b| matches!(b, b'.' | b':' | b'%')) {
        Some(b'.') => v4(text).map(|()| Addr::V4),
        Some(b':') => v6(text),
        Some(_) => Err(("missing IPv6 address", "")),
        None => Err(("unable to parse IP", "")),
    };
    found.map_err(|(reason, at)| match at {
        "" => format!("ParseAddr({}): {reason}", quote::double(text)),
        at => format!("ParseAddr({}): {reason} (at {})", quote::double(text), quote::double(at)),
    })
}

fn v4(text: &str) -> Result<(), Reason<'_>> {
    let bytes = text.as_bytes();
    let (mut value, mut digits, mut dots) = (0u32, 0, 0);
    for (i, byte) in bytes.iter().enumerate() {
        let rest = text.get(i..).unwrap_or_default();
        match byte {
            b'0'..=b'9' => {
                if digits == 1 && value == 0 {
                    return Err(("IPv4 field has octet with leading zero", ""));
                }
                value = value * 10 + u32::from(byte - b'0');
                digits += 1;
                if value > 255 {
                    return Err(("IPv4 field has value >255", ""));
                }
            }
            b'.' => {
                let before = i.checked_sub(1).and_then(|i| bytes.get(i));
                if i + 1 == bytes.len() || matches!(before, None | Some(b'.')) {
                    return Err(("IPv4 field must have at least one digit", rest));
                }
                if dots == 3 {
                    return Err(("IPv4 address too long", ""));
                }
                dots += 1;
                (value, digits) = (0, 0);
            }
            _ => return Err(("unexpected character", rest)),
        }
    }
    if dots < 3 { Err(("IPv4 address too short", "")) } else { Ok(()) }
}

fn v6(text: &str) -> Result<Addr, Reason<'_>> {
    let (mut s, zone) = match text.split_once('%') {
        Some((_, "")) => return Err(("zone must be a non-empty string", "")),
        Some((s, _)) => (s, true),
        None => (text, false),
    };
    let mut gap = false;
    if let Some(rest) = s.strip_prefix("::") {
        gap = true;
        s = rest;
        if s.is_empty() {
            return Ok(Addr::V6 { zone });
        }
    }
    let mut length = 0;
    while length < 16 {
        let digits = s.bytes().take_while(u8::is_ascii_hexdigit).count();
        if digits > 4 {
            return Err(("each group must have 4 or less digits", s));
        }
        if digits == 0 {
            return Err(("each colon-separated field must have at least one digit", s));
        }
        let rest = s.get(digits..).unwrap_or_default();
        if rest.starts_with('.') {
            if !gap && length != 12 {
                return Err(("embedded IPv4 address must replace the final 2 fields of the address", s));
            }
            if length + 4 > 16 {
                let reason = "too many hex fields to fit an embedded IPv4 at the end of the address";
                return Err((reason, s));
            }
            v4(s)?;
            s = "";
            length += 4;
            break;
        }
        length += 2;
        s = rest;
        if s.is_empty() {
            break;
        }
        let Some(after) = s.strip_prefix(':') else { return Err(("unexpected character, want colon", s)) };
        if after.is_empty() {
            return Err(("colon must be followed by more characters", s));
        }
        s = after;
        if let Some(after) = s.strip_prefix(':') {
            if gap {
                return Err(("multiple :: in address", s));
            }
            gap = true;
            s = after;
            if s.is_empty() {
                break;
            }
        }
    }
    match (s.is_empty(), length < 16, gap) {
        (false, ..) => Err(("trailing garbage after address", s)),
        (_, true, false) => Err(("address string too short", "")),
        (_, false, true) => Err(("the :: must expand to at least one field of zeros", "")),
        _ => Ok(Addr::V6 { zone }),
    }
}
