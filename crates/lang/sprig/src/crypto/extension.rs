//! The extensions of certificates that Go looks into.

use std::collections::BTreeSet;

use podium_gotmpl::{Error, gostr};

use super::certificate::{Extension, or};
use super::der::{self, Reader, tag};
use crate::text::{UrlError, UrlParts, url_parse};

const ACCESS: &[u32] = &[1, 3, 6, 1, 5, 5, 7, 1, 1];

/// Checks an extension. Returns the subject key identifier if it is the one with it.
pub fn check<'a>(extension: &Extension<'a>) -> Result<Option<&'a [u8]>, Error> {
    let mut value = Reader::new(extension.value);
    match extension.id.as_slice() {
        [2, 5, 29, 14] => return key_id(extension).map(Some),
        [2, 5, 29, 15] => or(value.bits(), "x509: invalid key usage").map(|_| ())?,
        [2, 5, 29, 17] => alternative_names(value)?,
        [2, 5, 29, 19] => or(basic_constraints(value), "x509: invalid basic constraints")?,
        [2, 5, 29, 30] => name_constraints(value)?,
        [2, 5, 29, 31] => distribution_points(value)?,
        [2, 5, 29, 32] => or(policies(value), "x509: invalid certificate policies")?,
        [2, 5, 29, 33] => or(policy_mappings(value), "x509: invalid policy mappings extension")?,
        [2, 5, 29, 35] => authority_key_id(extension)?,
        [2, 5, 29, 36] => or(policy_constraints(value), "x509: invalid policy constraints extension")?,
        [2, 5, 29, 37] => or(usages(value), "x509: invalid extended key usages")?,
        [2, 5, 29, 54] => or(value.int64(), "x509: invalid inhibit any policy extension").map(|_| ())?,
        ACCESS => access(extension)?,
        _ => {}
    }
    Ok(None)
}

fn key_id<'a>(extension: &Extension<'a>) -> Result<&'a [u8], Error> {
    if extension.critical {
        return Err("x509: subject key identifier incorrectly marked critical".into());
    }
    or(Reader::new(extension.value).read(tag::OCTETS), "x509: invalid subject key identifier")
}

fn authority_key_id(extension: &Extension<'_>) -> Result<(), Error> {
    if extension.critical {
        return Err("x509: authority key identifier incorrectly marked critical".into());
    }
    let id =
        Reader::new(extension.value).enter(tag::SEQUENCE).and_then(|mut id| id.optional(tag::context(0)));
    or(id, "x509: invalid authority key identifier").map(|_| ())
}

fn basic_constraints(mut value: Reader<'_>) -> Option<()> {
    let mut constraints = value.enter(tag::SEQUENCE)?;
    if constraints.peek(tag::BOOLEAN) {
        constraints.boolean()?;
    }
    if constraints.peek(tag::INTEGER) {
        constraints.int64().filter(|length| *length >= 0)?;
    }
    Some(())
}

fn usages(mut value: Reader<'_>) -> Option<()> {
    let mut usages = value.enter(tag::SEQUENCE)?;
    while !usages.is_empty() {
        usages.oid()?;
    }
    Some(())
}

fn policies(mut value: Reader<'_>) -> Option<()> {
    let mut list = value.enter(tag::SEQUENCE)?;
    let mut seen = BTreeSet::new();
    while !list.is_empty() {
        let id = list.enter(tag::SEQUENCE)?.read(tag::OID)?;
        if !seen.insert(id) || !is_oid(id) {
            return None;
        }
    }
    Some(())
}

/// Whether the numbers are written in their shortest form; they may be of any size.
fn is_oid(content: &[u8]) -> bool {
    let mut start = true;
    for byte in content {
        if start && *byte == 0x80 {
            return false;
        }
        start = byte & 0x80 == 0;
    }
    start && !content.is_empty()
}

fn policy_mappings(mut value: Reader<'_>) -> Option<()> {
    let mut list = value.enter(tag::SEQUENCE)?;
    while !list.is_empty() {
        let mut pair = list.enter(tag::SEQUENCE)?;
        pair.read(tag::OID)?;
        pair.read(tag::OID)?;
    }
    Some(())
}

fn policy_constraints(mut value: Reader<'_>) -> Option<()> {
    let mut constraints = value.enter(tag::SEQUENCE)?;
    for number in [0, 1] {
        if constraints.peek(tag::context(number)) {
            der::int64(constraints.integer_tagged(tag::context(number))?)?;
        }
    }
    Some(())
}

fn distribution_points(mut value: Reader<'_>) -> Result<(), Error> {
    let mut points = or(value.enter(tag::SEQUENCE), "x509: invalid CRL distribution points")?;
    while !points.is_empty() {
        or(distribution_point(&mut points), "x509: invalid CRL distribution point")?;
    }
    Ok(())
}

fn distribution_point(points: &mut Reader<'_>) -> Option<()> {
    let mut point = points.enter(tag::SEQUENCE)?;
    if let Some(name) = point.optional(tag::inside(0))? {
        let mut names = Reader::new(name).enter(tag::inside(0))?;
        while names.peek(tag::context(6)) {
            names.read(tag::context(6))?;
        }
    }
    Some(())
}

fn access(extension: &Extension<'_>) -> Result<(), Error> {
    if extension.critical {
        return Err("x509: authority info access incorrectly marked critical".into());
    }
    let descriptions = || {
        let mut list = Reader::new(extension.value).enter(tag::SEQUENCE)?;
        while !list.is_empty() {
            let mut description = list.enter(tag::SEQUENCE)?;
            description.oid()?;
            description.optional(tag::context(6))?;
        }
        Some(())
    };
    or(descriptions(), "x509: invalid authority info access")
}

fn alternative_names(mut value: Reader<'_>) -> Result<(), Error> {
    let mut names = or(value.enter(tag::SEQUENCE), "x509: invalid subject alternative names")?;
    while !names.is_empty() {
        let name = or(names.any(), "x509: invalid subject alternative name")?;
        let ascii = |kind: &str| match name.content.is_ascii() {
            true => Ok(()),
            false => Err(Error::new(format!("x509: SAN {kind} is malformed"))),
        };
        // Go looks at the number only and takes some odd tags for these.
        match name.tag ^ 0x80 {
            1 => ascii("rfc822Name")?,
            2 => ascii("dNSName")?,
            6 => {
                ascii("uniformResourceIdentifier")?;
                check_uri(name.content)?;
            }
            7 if !matches!(name.content.len(), 4 | 16) => {
                return Err(format!("x509: cannot parse IP address of length {}", name.content.len()).into());
            }
            _ => {}
        }
    }
    Ok(())
}

fn check_uri(uri: &[u8]) -> Result<(), Error> {
    let problem = match url_parse(uri) {
        Ok(UrlParts { host, .. }) if host.is_empty() || is_domain(&host, false) => return Ok(()),
        Ok(_) => "invalid domain".to_owned(),
        Err(UrlError::Parse { url, fault } | UrlError::Userinfo { url, fault }) => {
            format!("parse {url}: {fault}")
        }
    };
    let quoted = gostr::quote(uri);
    Err(Error::new([b"x509: cannot parse URI ", quoted.as_slice(), b": ", problem.as_bytes()].concat()))
}

fn name_constraints(mut value: Reader<'_>) -> Result<(), Error> {
    let invalid = "x509: invalid NameConstraints extension";
    let mut top = or(value.enter(tag::SEQUENCE).filter(|_| value.is_empty()), invalid)?;
    let permitted = or(top.optional(tag::inside(0)), invalid)?.unwrap_or_default();
    let excluded = or(top.optional(tag::inside(1)), invalid)?.unwrap_or_default();
    if !top.is_empty() {
        return Err(invalid.into());
    }
    if permitted.is_empty() && excluded.is_empty() {
        return Err("x509: empty name constraints extension".into());
    }
    for subtrees in [permitted, excluded] {
        let mut subtrees = Reader::new(subtrees);
        while !subtrees.is_empty() {
            let name = or(subtrees.enter(tag::SEQUENCE).and_then(|mut tree| tree.any()), invalid)?;
            check_constraint(name.tag, name.content)?;
        }
    }
    Ok(())
}

fn check_constraint(tag: u8, value: &[u8]) -> Result<(), Error> {
    let quoted = || String::from_utf8_lossy(&gostr::quote(value)).into_owned();
    let failed = |kind: &str, more: &str| {
        Err(format!("x509: failed to parse {kind} constraint {}{more}", quoted()).into())
    };
    const EMAIL: u8 = tag::context(1);
    const DNS: u8 = tag::context(2);
    const URI: u8 = tag::context(6);
    const IP: u8 = tag::context(7);
    if matches!(tag, EMAIL | DNS | URI) && !value.is_ascii() {
        return Err(format!(
            "x509: invalid constraint value: x509: {} cannot be encoded as an IA5String",
            quoted()
        )
        .into());
    }
    match tag {
        DNS if !is_domain(value, true) => failed("dnsName", ""),
        EMAIL if value.contains(&b'@') && !is_mailbox(value) => failed("rfc822Name", ""),
        EMAIL if !value.contains(&b'@') && !is_domain(value, true) => failed("rfc822Name", ""),
        URI if is_ip(value) => failed("URI", ": cannot be IP address"),
        URI if !is_domain(value, true) => failed("URI", ""),
        IP if !matches!(value.len(), 8 | 32) => {
            Err(format!("x509: IP constraint contained value of length {}", value.len()).into())
        }
        IP => {
            let mask = value.get(value.len() / 2..).unwrap_or_default();
            let bits: String = mask.iter().map(|b| format!("{b:08b}")).collect();
            if bits.trim_start_matches('1').contains('1') {
                let hex: String = mask.iter().map(|b| format!("{b:02x}")).collect();
                return Err(format!("x509: IP constraint contained invalid mask {hex}").into());
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn is_ip(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|t| t.parse::<std::net::IpAddr>().is_ok())
}

/// What Go takes for a domain: labels that are not empty, of visible characters.
fn is_domain(name: &[u8], constraint: bool) -> bool {
    let name = match name {
        [] => return true,
        [.., b'.'] => return false,
        [b'.', rest @ ..] if constraint => rest,
        _ => name,
    };
    name.iter().all(|b| (33..=126).contains(b)) && is_labels(name)
}

/// Whether there is something before, between and after all dots.
fn is_labels(name: &[u8]) -> bool {
    name.split(|b| *b == b'.').all(|label| !label.is_empty())
}

/// A mailbox with its local part plain or in quotes.
fn is_mailbox(text: &[u8]) -> bool {
    let local = match text {
        [b'"', rest @ ..] => quoted_local(rest),
        _ => plain_local(text),
    };
    match local {
        Some([b'@', domain @ ..]) => {
            domain.iter().all(|b| (33..=126).contains(b)) && (domain.is_empty() || is_labels(domain))
        }
        _ => false,
    }
}

/// What follows a local part in quotes.
fn quoted_local(mut rest: &[u8]) -> Option<&[u8]> {
    loop {
        match rest {
            [b'"', after @ ..] => return Some(after),
            [b'\\', 1..=9 | 11 | 12 | 14..=127, after @ ..] => rest = after,
            [1..=8 | 11 | 12 | 14..=31 | 32 | 33 | 35..=91 | 93..=127, after @ ..] => rest = after,
            _ => return None,
        }
    }
}

/// What follows a plain local part.
fn plain_local(mut rest: &[u8]) -> Option<&[u8]> {
    let mut local = Vec::new();
    loop {
        rest = match rest {
            [b'\\'] => return None,
            [b'\\', c, after @ ..] => {
                local.push(*c);
                after
            }
            [c, after @ ..] if c.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~.".contains(c) => {
                local.push(*c);
                after
            }
            _ => break,
        };
    }
    (!local.is_empty() && is_labels(&local)).then_some(rest)
}
