//! Addresses and ranges of them.

use std::net::{IpAddr, Ipv6Addr};

use podium_gotmpl::gostr;
use podium_jsonschema::go::addr;

use super::Native;
use crate::value::{NO_OVERLOAD, Value};

fn quoted(text: &str) -> String {
    String::from_utf8_lossy(&gostr::quote(text.as_bytes())).into_owned()
}

/// An address as text.
pub fn address(ip: &IpAddr) -> String {
    ip.to_string()
}

fn mapped(ip: &IpAddr) -> bool {
    matches!(ip, IpAddr::V6(ip) if ip.to_ipv4_mapped().is_some())
}

/// An address of a text, without the rules that forbid some.
fn any_ip(text: &str) -> Result<(IpAddr, bool), String> {
    let zone = matches!(addr::parse(text)?, addr::Addr::V6 { zone: true });
    let plain = text.split('%').next().unwrap_or_default();
    let ip = plain.parse().unwrap_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED));
    Ok((ip, zone))
}

fn ip(text: &str) -> Result<IpAddr, String> {
    let name = quoted(text);
    let (ip, zone) = any_ip(text)
        .map_err(|error| format!("IP Address {name} parse error during conversion from string: {error}"))?;
    if zone {
        return Err(format!("IP address {name} with zone value is not allowed"));
    }
    if mapped(&ip) {
        return Err(format!("IPv4-mapped IPv6 address {name} is not allowed"));
    }
    Ok(ip)
}

fn prefix(text: &str) -> Result<(IpAddr, u8), String> {
    let failed = |problem: String| format!("netip.ParsePrefix({}): {problem}", quoted(text));
    let (ip, bits) = text.rsplit_once('/').ok_or_else(|| failed("no '/'".to_owned()))?;
    let (ip, zone) = any_ip(ip).map_err(failed)?;
    if zone {
        return Err(failed("IPv6 zones cannot be present in a prefix".to_owned()));
    }
    let bad = || failed(format!("bad bits after slash: {}", quoted(bits)));
    if bits.len() > 1 && !bits.starts_with(|c: char| ('1'..='9').contains(&c)) {
        return Err(bad());
    }
    let number: i64 = bits.parse().map_err(|_| bad())?;
    let most = if ip.is_ipv4() { 32 } else { 128 };
    match u8::try_from(number).ok().filter(|bits| *bits <= most) {
        Some(bits) => Ok((ip, bits)),
        None => Err(failed("prefix length out of range".to_owned())),
    }
}

fn cidr(text: &str) -> Result<(IpAddr, u8), String> {
    let (ip, bits) = prefix(text)
        .map_err(|error| format!("network address parse error during conversion from string: {error}"))?;
    if mapped(&ip) {
        return Err(format!("IPv4-mapped IPv6 address {} is not allowed", quoted(text)));
    }
    Ok((ip, bits))
}

/// The first bits of an address, the rest zero.
fn masked(ip: IpAddr, bits: u8) -> IpAddr {
    match ip {
        IpAddr::V4(ip) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits.min(32))).unwrap_or(0);
            IpAddr::V4((u32::from(ip) & mask).into())
        }
        IpAddr::V6(ip) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits.min(128))).unwrap_or(0);
            IpAddr::V6((u128::from(ip) & mask).into())
        }
    }
}

fn text<'v>(args: &'v [Value<'_>], at: usize) -> &'v str {
    args.get(at).and_then(Value::as_str).unwrap_or_default()
}

fn on_ip<'a>(args: &[Value<'a>], test: fn(&IpAddr) -> bool) -> Value<'a> {
    match args.first() {
        Some(Value::Ip(ip)) => Value::Bool(test(ip)),
        _ => Value::error(NO_OVERLOAD),
    }
}

fn is_link_local(ip: &IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.segments()[0] & 0xffc0 == 0xfe80,
    }
}

fn is_link_local_multicast(ip: &IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.octets()[..3] == [224, 0, 0],
        IpAddr::V6(ip) => ip.segments()[0] & 0xff0f == 0xff02,
    }
}

fn is_global(ip: &IpAddr) -> bool {
    let broadcast = matches!(ip, IpAddr::V4(ip) if ip.is_broadcast());
    !broadcast && !ip.is_unspecified() && !ip.is_loopback() && !ip.is_multicast() && !is_link_local(ip)
}

fn contains<'a>(range: &(IpAddr, u8), ip: &IpAddr) -> Value<'a> {
    let same = range.0.is_ipv4() == ip.is_ipv4();
    Value::Bool(same && masked(range.0, range.1) == masked(*ip, range.1))
}

fn contains_range<'a>(one: &(IpAddr, u8), two: &(IpAddr, u8)) -> Value<'a> {
    let least = one.1.min(two.1);
    let overlap = one.0.is_ipv4() == two.0.is_ipv4() && masked(one.0, least) == masked(two.0, least);
    Value::Bool(overlap && one.1 <= two.1)
}

fn range(args: &[Value<'_>]) -> Option<(IpAddr, u8)> {
    match args.first() {
        Some(Value::Cidr(ip, bits)) => Some((*ip, *bits)),
        _ => None,
    }
}

fn on_range<'a>(args: &[Value<'a>], make: fn((IpAddr, u8)) -> Value<'a>) -> Value<'a> {
    range(args).map_or_else(|| Value::error(NO_OVERLOAD), make)
}

/// The function of an overload.
pub fn native(id: &str) -> Option<Native> {
    Some(match id {
        "string_to_ip" => |args| ip(text(args, 0)).map_or_else(Value::error, Value::Ip),
        "is_ip" => |args| Value::Bool(ip(text(args, 0)).is_ok()),
        "ip_is_canonical" => |args| match ip(text(args, 0)) {
            Ok(ip) => Value::Bool(address(&ip) == text(args, 0)),
            Err(error) => Value::error(error),
        },
        "ip_family" => |args| match args.first() {
            Some(Value::Ip(IpAddr::V4(_))) => Value::Int(4),
            Some(Value::Ip(IpAddr::V6(_))) => Value::Int(6),
            _ => Value::error(NO_OVERLOAD),
        },
        "ip_is_unspecified" => |args| on_ip(args, IpAddr::is_unspecified),
        "ip_is_loopback" => |args| on_ip(args, IpAddr::is_loopback),
        "ip_is_link_local_multicast" => |args| on_ip(args, is_link_local_multicast),
        "ip_is_link_local_unicast" => |args| on_ip(args, is_link_local),
        "ip_is_global_unicast" => |args| on_ip(args, is_global),
        "string_to_cidr" => |args| match cidr(text(args, 0)) {
            Ok((ip, bits)) => Value::Cidr(ip, bits),
            Err(error) => {
                Value::error(format!("network address parse error during conversion from string: {error}"))
            }
        },
        "is_cidr" => |args| Value::Bool(cidr(text(args, 0)).is_ok()),
        "cidr_contains_ip_string" => |args| match (range(args), ip(text(args, 1))) {
            (Some(range), Ok(ip)) => contains(&range, &ip),
            _ => Value::error(NO_OVERLOAD),
        },
        "cidr_contains_ip_ip" => |args| match (range(args), args.get(1)) {
            (Some(range), Some(Value::Ip(ip))) => contains(&range, ip),
            _ => Value::error(NO_OVERLOAD),
        },
        "cidr_contains_cidr_string" => |args| match (range(args), cidr(text(args, 1))) {
            (Some(range), Ok(other)) => contains_range(&range, &other),
            (_, Err(error)) => {
                Value::error(format!("network address parse error during conversion from string: {error}"))
            }
            _ => Value::error(NO_OVERLOAD),
        },
        "cidr_contains_cidr" => |args| match (range(args), args.get(1)) {
            (Some(range), Some(Value::Cidr(ip, bits))) => contains_range(&range, &(*ip, *bits)),
            _ => Value::error(NO_OVERLOAD),
        },
        "cidr_ip" => |args| on_range(args, |(ip, _)| Value::Ip(ip)),
        "cidr_prefix_length" => |args| on_range(args, |(_, bits)| Value::Int(i64::from(bits))),
        "cidr_masked" => |args| on_range(args, |(ip, bits)| Value::Cidr(masked(ip, bits), bits)),
        _ => return None,
    })
}
