//! Formats of addresses and names in networks.

use super::{atoi, ensure};
use crate::go::addr::{self, Addr};
use crate::go::quote::character;
use crate::go::url::{self, Url};

pub(super) fn ipv4(text: &str) -> Result<(), String> {
    let groups: Vec<&str> = text.split('.').collect();
    ensure(groups.len() == 4, "expected four decimals")?;
    for group in groups {
        ensure(group.len() == 1 || !group.starts_with('0'), "leading zeros")?;
        ensure((0..=255).contains(&atoi(group)?), "decimal must be between 0 and 255")?;
    }
    Ok(())
}

pub(super) fn ipv6(text: &str) -> Result<(), String> {
    ensure(text.contains(':'), "missing colon")?;
    match addr::parse(text)? {
        Addr::V6 { zone: true } => Err("zone id is not a part of ipv6 address".into()),
        _ => Ok(()),
    }
}

pub(super) fn hostname(text: &str) -> Result<(), String> {
    let text = text.strip_suffix('.').unwrap_or(text);
    ensure(text.len() <= 253, "more than 253 characters long")?;
    for label in text.split('.') {
        ensure((1..=63).contains(&label.len()), "label must be 1 to 63 characters long")?;
        ensure(!label.starts_with('-'), "label starts with hyphen")?;
        ensure(!label.ends_with('-'), "label ends with hyphen")?;
        if let Some(c) = label.chars().find(|c| !c.is_ascii_alphanumeric() && *c != '-') {
            return Err(format!("invalid character {}", character(c)));
        }
    }
    Ok(())
}

pub(super) fn email(text: &str) -> Result<(), String> {
    ensure(text.len() <= 254, "more than 255 characters long")?;
    let (local, domain) = text.rsplit_once('@').ok_or("missing @")?;
    ensure(local.len() <= 64, "local part more than 64 characters long")?;
    match local.strip_prefix('"').and_then(|local| local.strip_suffix('"')) {
        Some(quoted) => {
            let reason = "backslash and quote are not allowed within quoted local part";
            ensure(!quoted.contains(['\\', '"']), reason)?;
        }
        None => {
            ensure(!local.starts_with('.'), "starts with dot")?;
            ensure(!local.ends_with('.'), "ends with dot")?;
            ensure(!local.contains(".."), "consecutive dots")?;
            let allowed = |c: &char| c.is_ascii_alphanumeric() || ".!#$%&'*+-/=?^_`{|}~".contains(*c);
            if let Some(c) = local.chars().find(|c| !allowed(c)) {
                return Err(format!("invalid character {}", character(c)));
            }
        }
    }
    if let Some(address) = domain.strip_prefix('[').and_then(|domain| domain.strip_suffix(']')) {
        return match address.strip_prefix("IPv6:") {
            Some(address) => ipv6(address).map_err(|reason| format!("invalid ipv6 address: {reason}")),
            None => ipv4(address).map_err(|reason| format!("invalid ipv4 address: {reason}")),
        };
    }
    hostname(domain).map_err(|reason| format!("invalid domain: {reason}"))
}

fn parse(text: &str) -> Result<Url, String> {
    let url = url::parse(text)?;
    let (name, whole) = url.hosts();
    if name.contains(':') {
        ensure(whole.contains('[') && whole.contains(']'), "ipv6 address not enclosed in brackets")?;
        ipv6(&name).map_err(|reason| format!("invalid ipv6 address: {reason}"))?;
    }
    Ok(url)
}

pub(super) fn uri(text: &str) -> Result<(), String> {
    ensure(parse(text)?.is_absolute(), "relative url")
}

pub(super) fn uri_reference(text: &str) -> Result<(), String> {
    ensure(!text.contains('\\'), "contains \\")?;
    parse(text).map(|_| ())
}

pub(super) fn uri_template(text: &str) -> Result<(), String> {
    let url = parse(text)?;
    for token in url.raw_path.split('/') {
        let token = url::path_unescape(token).map_err(|reason| format!("percent decode failed: {reason}"))?;
        let mut open = false;
        for brace in token.chars().filter(|c| matches!(c, '{' | '}')) {
            ensure(open == (brace == '}'), "nested curly braces")?;
            open = !open;
        }
        ensure(!open, "no matching closing brace")?;
    }
    Ok(())
}
