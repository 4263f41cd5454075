//! Addresses of networks.

/// An address with or without leading zeros; whether it is one of the fourth or sixth kind.
pub fn sloppy(text: &str) -> Option<u8> {
    match text.find(['.', ':']).and_then(|at| text.as_bytes().get(at)) {
        Some(b'.') => sloppy4(text).then_some(4),
        Some(b':') => sloppy6(text).then_some(6),
        _ => None,
    }
}

fn sloppy4(text: &str) -> bool {
    let octet = |part: &str| {
        let digits = part.trim_start_matches('0');
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()) && digits.len() <= 3 && {
            digits.is_empty() || digits.parse::<u16>().is_ok_and(|value| value <= 255)
        }
    };
    text.split('.').count() == 4 && text.split('.').all(octet)
}

fn sloppy6(text: &str) -> bool {
    let (head, tail) = match text.split_once("::") {
        Some((_, tail)) if tail.contains("::") => return false,
        Some((head, tail)) => (head, Some(tail)),
        None => (text, None),
    };
    let groups = |part: &str, last: bool| -> Option<usize> {
        if part.is_empty() {
            return Some(0);
        }
        let words: Vec<&str> = part.split(':').collect();
        let mut count = 0;
        for (index, word) in words.iter().enumerate() {
            if last && index + 1 == words.len() && word.contains('.') {
                count += if sloppy4(word) { 2 } else { return None };
            } else {
                let digits = word.trim_start_matches('0');
                let fits =
                    !word.is_empty() && word.bytes().all(|b| b.is_ascii_hexdigit()) && digits.len() <= 4;
                count += if fits { 1 } else { return None };
            }
        }
        Some(count)
    };
    match tail {
        None => groups(head, true) == Some(8),
        Some(tail) => {
            let before = groups(head, tail.is_empty());
            let after = groups(tail, true);
            before.zip(after).is_some_and(|(before, after)| before + after < 8)
                && !(head.contains('.') && tail.is_empty())
        }
    }
}

/// A block of addresses.
pub fn cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let most = match sloppy(address) {
        Some(4) => 32,
        Some(_) => 128,
        None => return false,
    };
    let digits = bits.trim_start_matches('0');
    !bits.is_empty()
        && bits.bytes().all(|b| b.is_ascii_digit())
        && (digits.is_empty() || digits.len() <= 3 && digits.parse::<u16>().is_ok_and(|bits| bits <= most))
}

/// A hardware address of 6, 8 or 20 bytes.
pub fn mac(text: &str) -> bool {
    if text.len() < 14 {
        return false;
    }
    let bytes = match text.as_bytes().get(2) {
        Some(separator @ (b':' | b'-')) => groups(text, char::from(*separator), 2),
        _ if text.as_bytes().get(4) == Some(&b'.') => groups(text, '.', 4).map(|count| count * 2),
        _ => None,
    };
    matches!(bytes, Some(6 | 8 | 20))
}

/// How many groups of so many hexadecimal digits there are.
fn groups(text: &str, separator: char, width: usize) -> Option<usize> {
    let fits = |part: &str| part.len() == width && part.bytes().all(|b| b.is_ascii_hexdigit());
    text.split(separator).all(fits).then(|| text.split(separator).count())
}
