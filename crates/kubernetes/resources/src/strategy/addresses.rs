//! Addresses of machines and networks.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::place::{Flaws, Place};

/// Reads an address with the tolerance of old: the parts of a short one may start with zeros.
pub fn read(text: &str) -> Option<IpAddr> {
    if text.contains(':') {
        return text.parse::<Ipv6Addr>().ok().map(IpAddr::V6);
    }
    let parts: Vec<u8> = text.split('.').map(octet).collect::<Option<_>>()?;
    <[u8; 4]>::try_from(parts).ok().map(|parts| IpAddr::V4(Ipv4Addr::from(parts)))
}

fn octet(text: &str) -> Option<u8> {
    let good = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let digits = text.trim_start_matches('0');
    good.then(|| if digits.is_empty() { Some(0) } else { digits.parse().ok() })?
}

/// Whether it is one of the long ones.
pub fn is_long(text: &str) -> bool {
    matches!(read(text), Some(IpAddr::V6(address)) if address.to_ipv4_mapped().is_none())
}

/// A network: its address as it is written, and how many bits are the network's.
pub fn network(text: &str) -> Option<(IpAddr, u32)> {
    let (address, length) = text.split_once('/')?;
    let address = read(address)?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let good = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
    let length = good.then(|| length.parse::<u32>().ok())??;
    (length <= most).then_some((address, length))
}

/// The first address of a network.
pub fn first_of(address: IpAddr, length: u32) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - length.min(32)).unwrap_or(0);
            IpAddr::V4(Ipv4Addr::from(u32::from(address) & mask))
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - length.min(128)).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from(u128::from(address) & mask))
        }
    }
}

/// Whether an address belongs to a network.
pub fn contains(network: (IpAddr, u32), address: IpAddr) -> bool {
    network.0.is_ipv4() == address.is_ipv4() && first_of(address, network.1) == first_of(network.0, network.1)
}

fn mapped(address: &IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some())
}

/// An address that must be one; those that were there before are left alone.
pub fn address(place: &Place<'_>, known: &[&str], out: &mut Flaws) -> bool {
    let text = place.text();
    if known.contains(&text) {
        return true;
    }
    let before = out.list.len();
    match read(text) {
        None => out.invalid_text(place, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
        Some(_) if text.parse::<IpAddr>().is_err() => out.invalid_text(place, "must not have leading 0s"),
        Some(address) if mapped(&address) => {
            out.invalid_text(place, "must not be an IPv4-mapped IPv6 address");
        }
        Some(_) => {}
    }
    before == out.list.len()
}

/// An address in the one way in which it should be written.
pub fn canonical(place: &Place<'_>, out: &mut Flaws) -> bool {
    let good = address(place, &[], out);
    match read(place.text()).map(|address| address.to_string()) {
        Some(written) if good && written != place.text() => {
            out.invalid_text(place, &format!("must be in canonical form ({written:?})"));
            false
        }
        _ => good,
    }
}

/// A network that must be one; those that were there before are left alone.
pub fn range(place: &Place<'_>, text: &str, known: &[&str], out: &mut Flaws) {
    if known.contains(&text) {
        return;
    }
    let quoted = super::place::shown(&text.into());
    let mut wrong = |detail: &str| out.invalid_as(&place.path, &quoted, detail);
    let Some((address, length)) = network(text) else {
        return wrong("must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)");
    };
    let (written, bits) = text.split_once('/').unwrap_or_default();
    if written.parse::<IpAddr>().is_err() || bits.len() > 1 && bits.starts_with('0') {
        wrong("must not have leading 0s in IP or prefix length");
    } else if mapped(&address) {
        wrong("must not have an IPv4-mapped IPv6 address");
    } else if first_of(address, length) != address {
        wrong("must not have bits set beyond the prefix length");
    }
}

/// An address that others can reach.
pub fn reachable(place: &Place<'_>, out: &mut Flaws) {
    let text = place.text();
    let Some(address) = read(text) else {
        return out.invalid_text(place, "must be a valid IP address");
    };
    let address = match address {
        IpAddr::V6(long) => long.to_ipv4_mapped().map_or(address, IpAddr::V4),
        short => short,
    };
    if address.is_unspecified() {
        out.invalid_text(place, &format!("may not be unspecified ({text})"));
    }
    if address.is_loopback() {
        out.invalid_text(place, "may not be in the loopback range (127.0.0.0/8, ::1/128)");
    }
    let (near, group) = match address {
        IpAddr::V4(short) => (short.is_link_local(), short.octets().starts_with(&[224, 0, 0])),
        IpAddr::V6(long) => {
            let first = long.segments().first().copied().unwrap_or(0);
            (first & 0xffc0 == 0xfe80, first & 0xff0f == 0xff02)
        }
    };
    if near {
        out.invalid_text(place, "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
    }
    if group {
        out.invalid_text(place, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
    }
}

/// What is said of an address that could be written better.
pub fn warning(path: &str, text: &str) -> Option<String> {
    let address = read(text)?;
    let written = match address {
        IpAddr::V6(long) => long.to_ipv4_mapped().map_or_else(|| long.to_string(), |short| short.to_string()),
        IpAddr::V4(short) => short.to_string(),
    };
    if text.parse::<IpAddr>().is_err() || mapped(&address) {
        return Some(format!("{path}: non-standard IP address {text:?} is invalid: use {written:?}"));
    }
    (address.is_ipv6() && written != text).then(|| {
        format!("{path}: IPv6 address {text:?} should be in RFC 5952 canonical format ({written:?})")
    })
}

/// What is said of a network that could be written better.
pub fn range_warnings(path: &str, text: &str) -> Vec<String> {
    let Some((address, length)) = network(text) else { return Vec::new() };
    let first = first_of(address, length);
    let mut out = Vec::new();
    if first != address {
        let most = if address.is_ipv4() { 32 } else { 128 };
        out.push(format!(
            "{path}: CIDR value {text:?} is ambiguous in this context (should be \"{first}/{length}\" or \
             \"{address}/{most}\"?)"
        ));
    }
    let (written, bits) = text.split_once('/').unwrap_or_default();
    if written.parse::<IpAddr>().is_err() || bits.len() > 1 && bits.starts_with('0') || mapped(&address) {
        out.push(format!("{path}: non-standard CIDR value {text:?} is invalid: use \"{first}/{length}\""));
    }
    let best = format!("{address}/{length}");
    if out.is_empty() && address.is_ipv6() && best != text {
        out.push(format!(
            "{path}: IPv6 CIDR value {text:?} should be in RFC 5952 canonical format ({best:?})"
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn addresses_are_read_with_the_tolerance_of_old() {
        assert_eq!(read("010.0.0.1"), Some(IpAddr::from([10, 0, 0, 1])));
        assert_eq!(read("1.2.3"), None);
        assert_eq!(read("256.2.3.4"), None);
        let text = json!("010.0.0.1");
        let mut out = Flaws::default();
        assert!(!address(&Place::root(&text), &[], &mut out));
        assert!(address(&Place::root(&text), &["010.0.0.1"], &mut out));
        assert_eq!(network("10.0.0.0/33"), None);
        assert!(contains((IpAddr::from([10, 0, 0, 0]), 8), IpAddr::from([10, 1, 0, 0])));
    }
}
