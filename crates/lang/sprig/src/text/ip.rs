//! Internet addresses as far as URLs need them: whether a text is one, of which family, and what is wrong with it.

use podium_gotmpl::gostr::quote;

/// The family of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    V4,
    V6,
}

/// What is wrong with an address, and from where on.
struct Fault<'a> {
    what: &'static str,
    at: &'a [u8],
}

/// A fault without a place.
const fn fault(what: &'static str) -> Fault<'static> {
    Fault { what, at: &[] }
}

/// Reads an address, or says in Go's words why it is none.
pub(super) fn parse(text: &[u8]) -> Result<Family, String> {
    let parsed = match text.iter().find(|byte| b".:%".contains(byte)) {
        Some(b'.') => check_v4(text).map(|()| Family::V4),
        Some(b':') => check_v6(text).map(|()| Family::V6),
        Some(_) => Err(fault("missing IPv6 address")),
        None => Err(fault("unable to parse IP")),
    };
    parsed.map_err(|Fault { what, at }| {
        let quoted = |text: &[u8]| String::from_utf8_lossy(&quote(text)).into_owned();
        let place = if at.is_empty() { String::new() } else { format!(" (at {})", quoted(at)) };
        format!("ParseAddr({}): {what}{place}", quoted(text))
    })
}

fn check_v4(text: &[u8]) -> Result<(), Fault<'_>> {
    let (mut value, mut digits, mut dots) = (0u32, 0usize, 0usize);
    for (at, &byte) in text.iter().enumerate() {
        let rest = text.get(at..).unwrap_or_default();
        match byte {
            b'0'..=b'9' => {
                if digits == 1 && value == 0 {
                    return Err(fault("IPv4 field has octet with leading zero"));
                }
                value = value * 10 + u32::from(byte - b'0');
                digits += 1;
                if value > 255 {
                    return Err(fault("IPv4 field has value >255"));
                }
            }
            b'.' => {
                if digits == 0 || rest.len() == 1 {
                    return Err(Fault { what: "IPv4 field must have at least one digit", at: rest });
                }
                if dots == 3 {
                    return Err(fault("IPv4 address too long"));
                }
                (value, digits, dots) = (0, 0, dots + 1);
            }
            _ => return Err(Fault { what: "unexpected character", at: rest }),
        }
    }
    if dots < 3 { Err(fault("IPv4 address too short")) } else { Ok(()) }
}

fn check_v6(text: &[u8]) -> Result<(), Fault<'_>> {
    let mut rest = text;
    if let Some(percent) = text.iter().position(|byte| *byte == b'%') {
        if percent + 1 == text.len() {
            return Err(fault("zone must be a non-empty string"));
        }
        rest = text.get(..percent).unwrap_or_default();
    }
    // How many of the eight fields are there, and whether `::` stands for more.
    let (mut fields, mut gap) = (0, false);
    if let Some(after) = rest.strip_prefix(b"::") {
        (gap, rest) = (true, after);
        if rest.is_empty() {
            return Ok(());
        }
    }
    while fields < 8 {
        let here = |what: &'static str| Fault { what, at: rest };
        let digits = rest.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        if digits > 4 {
            return Err(here("each group must have 4 or less digits"));
        }
        if digits == 0 {
            return Err(here("each colon-separated field must have at least one digit"));
        }
        let after = rest.get(digits..).unwrap_or_default();
        if after.first() == Some(&b'.') {
            if !gap && fields != 6 {
                return Err(here("embedded IPv4 address must replace the final 2 fields of the address"));
            }
            if fields > 6 {
                return Err(here("too many hex fields to fit an embedded IPv4 at the end of the address"));
            }
            check_v4(rest)?;
            (fields, rest) = (fields + 2, &[]);
            break;
        }
        (fields, rest) = (fields + 1, after);
        let here = |what: &'static str| Fault { what, at: after };
        match after {
            [] => break,
            [b':'] => return Err(here("colon must be followed by more characters")),
            [b':', b':', more @ ..] => {
                if gap {
                    return Err(Fault {
                        what: "multiple :: in address",
                        at: after.get(1..).unwrap_or_default(),
                    });
                }
                (gap, rest) = (true, more);
                if more.is_empty() {
                    break;
                }
            }
            [b':', more @ ..] => rest = more,
            _ => return Err(here("unexpected character, want colon")),
        }
    }
    if !rest.is_empty() {
        return Err(Fault { what: "trailing garbage after address", at: rest });
    }
    match (fields < 8, gap) {
        (true, false) => Err(fault("address string too short")),
        (false, true) => Err(fault("the :: must expand to at least one field of zeros")),
        _ => Ok(()),
    }
}
