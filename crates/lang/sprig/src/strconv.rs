//! Numbers in text, read as Go's strconv reads them.

/// Reads an integer of 64 bits in a base (0: the prefix decides, and `_` may separate digits). The flag says whether
/// Go gives no error; with one the number is still what Go hands back: 0, or the nearest limit.
pub fn parse_int(text: &[u8], base: u32) -> (i64, bool) {
    let (negative, digits) = match text {
        [b'+', rest @ ..] => (false, rest),
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let limit = if negative { 1 << 63 } else { (1 << 63) - 1 };
    let clamped = if negative { i64::MIN } else { i64::MAX };
    match parse_uint(digits, base) {
        Ok(n) if n > limit => (clamped, false),
        Ok(n) if negative => ((n as i64).wrapping_neg(), true),
        Ok(n) => (n as i64, true),
        Err(Trouble::Range) => (clamped, false),
        Err(Trouble::Syntax) => (0, false),
    }
}

enum Trouble {
    Syntax,
    Range,
}

fn parse_uint(text: &[u8], base: u32) -> Result<u64, Trouble> {
    let (radix, digits) = match (base, text) {
        (_, []) => return Err(Trouble::Syntax),
        (0, [b'0', b'b' | b'B', _, ..]) => (2, &text[2..]),
        (0, [b'0', b'o' | b'O', _, ..]) => (8, &text[2..]),
        (0, [b'0', b'x' | b'X', _, ..]) => (16, &text[2..]),
        (0, [b'0', rest @ ..]) => (8, rest),
        (0, _) => (10, text),
        (base, _) => (base, text),
    };
    let mut sum = 0u64;
    let mut separated = false;
    for &byte in digits {
        if byte == b'_' && base == 0 {
            separated = true;
            continue;
        }
        let digit = char::from(byte).to_digit(radix).ok_or(Trouble::Syntax)?;
        sum = sum
            .checked_mul(u64::from(radix))
            .and_then(|n| n.checked_add(u64::from(digit)))
            .ok_or(Trouble::Range)?;
    }
    if separated && !separators_fit(text) { Err(Trouble::Syntax) } else { Ok(sum) }
}

/// Whether every `_` stands between digits; a base prefix counts as a digit.
fn separators_fit(text: &[u8]) -> bool {
    let text = match text {
        [b'+' | b'-', rest @ ..] => rest,
        _ => text,
    };
    let (digits, hex, mut after_digit) = match text {
        [b'0', b'x' | b'X', rest @ ..] => (rest, true, true),
        [b'0', b'b' | b'B' | b'o' | b'O', rest @ ..] => (rest, false, true),
        _ => (text, false, false),
    };
    let mut after_separator = false;
    for byte in digits {
        let is_digit = byte.is_ascii_digit() || hex && byte.is_ascii_hexdigit();
        if *byte == b'_' && !after_digit || after_separator && !is_digit {
            return false;
        }
        after_separator = *byte == b'_';
        after_digit = is_digit;
    }
    !after_separator
}

/// Reads a `float64`; nothing when Go gives an error (a number too large included).
pub fn parse_float(text: &[u8]) -> Option<f64> {
    if let Some(named) = named_float(text) {
        return Some(named);
    }
    if text.contains(&b'_') && !separators_fit(text) {
        return None;
    }
    let plain: Vec<u8> = text.iter().copied().filter(|b| *b != b'_').collect();
    let unsigned = match &plain[..] {
        [b'+' | b'-', rest @ ..] => rest,
        all => all,
    };
    let found = match unsigned {
        [b'0', b'x' | b'X', _, ..] => {
            let size = hex_float(unsigned.get(2..)?)?;
            if plain.first() == Some(&b'-') { -size } else { size }
        }
        // What Rust reads beyond Go's syntax are the names, which are dealt with.
        [b'0'..=b'9' | b'.', ..] => std::str::from_utf8(&plain).ok()?.parse().ok()?,
        _ => return None,
    };
    found.is_finite().then_some(found)
}

fn named_float(text: &[u8]) -> Option<f64> {
    let (negative, signed, name) = match text {
        [b'+', rest @ ..] => (false, true, rest),
        [b'-', rest @ ..] => (true, true, rest),
        _ => (false, false, text),
    };
    if name.eq_ignore_ascii_case(b"inf") || name.eq_ignore_ascii_case(b"infinity") {
        return Some(if negative { f64::NEG_INFINITY } else { f64::INFINITY });
    }
    (!signed && name.eq_ignore_ascii_case(b"nan")).then_some(f64::NAN)
}

/// The part after `0x`: digits with at most one point, and a binary exponent that must be there.
fn hex_float(text: &[u8]) -> Option<f64> {
    let split = text.iter().position(|b| matches!(b, b'p' | b'P'))?;
    let (digits, exponent) = (text.get(..split)?, text.get(split + 1..)?);
    let mut mantissa = 0u64;
    let mut scale = 0i64;
    let mut lost = false;
    let mut point = false;
    let mut any = false;
    for byte in digits {
        if *byte == b'.' && !point {
            point = true;
            continue;
        }
        let digit = u64::from(char::from(*byte).to_digit(16)?);
        any = true;
        if mantissa >> 60 == 0 {
            mantissa = mantissa << 4 | digit;
            scale -= if point { 4 } else { 0 };
        } else {
            lost |= digit != 0;
            scale += if point { 0 } else { 4 };
        }
    }
    let (sign, number) = match exponent {
        [b'+', rest @ ..] => (1, rest),
        [b'-', rest @ ..] => (-1, rest),
        _ => (1, exponent),
    };
    if !any || number.is_empty() || !number.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let power = number.iter().fold(0i64, |n, d| (n * 10 + i64::from(d - b'0')).min(1 << 30));
    Some(assemble(mantissa, scale + sign * power, lost))
}

/// The nearest float to `mantissa * 2^exponent`, ties to even; `lost` says that there was a little more.
fn assemble(mantissa: u64, exponent: i64, lost: bool) -> f64 {
    if mantissa == 0 {
        return 0.0;
    }
    let shift = i64::from(mantissa.leading_zeros());
    let (bits, exponent) = (mantissa << shift, exponent - shift);
    // The value is bits * 2^exponent with the top bit set. Normal floats keep 53 bits, small ones fewer.
    let keep = (exponent + 64 + 1074).clamp(0, 53);
    let drop = 64 - keep;
    let (kept, rest) = if drop == 64 { (0, bits) } else { (bits >> drop, bits << keep) };
    let half = 1u64 << 63;
    let up = if drop == 64 && exponent + 64 < -1074 {
        false
    } else {
        rest > half || rest == half && (lost || kept & 1 == 1)
    };
    let rounded = kept + u64::from(up);
    let mut power = exponent + drop;
    let mut value = rounded as f64;
    // Powers of two are exact; two steps keep each factor in range.
    while power != 0 && value != 0.0 && value.is_finite() {
        let step = power.clamp(-1000, 1000);
        value *= 2f64.powi(step as i32);
        power -= step;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_read_as_go_reads_them() {
        for (text, base, value, good) in [
            ("0x10", 0, 16, true),
            ("010", 0, 8, true),
            ("0b11", 0, 3, true),
            ("1_000", 0, 1000, true),
            ("1__0", 0, 0, false),
            ("0x_1F", 0, 31, true),
            ("_1", 0, 0, false),
            ("1_", 0, 0, false),
            ("08", 0, 0, false),
            ("0", 0, 0, true),
            ("-0x8000000000000000", 0, i64::MIN, true),
            ("0x", 0, 0, false),
            ("1_0", 10, 0, false),
            ("99999999999999999999", 10, i64::MAX, false),
            ("-99999999999999999999", 10, i64::MIN, false),
            ("9223372036854775808", 10, i64::MAX, false),
            ("", 10, 0, false),
            ("+5", 10, 5, true),
            ("+-5", 10, 0, false),
            ("777", 8, 511, true),
        ] {
            assert_eq!(parse_int(text.as_bytes(), base), (value, good), "{text}");
        }
    }

    #[test]
    fn floats_read_as_go_reads_them() {
        for (text, value) in [
            ("1_0", Some(10.0)),
            ("1.", Some(1.0)),
            (".5", Some(0.5)),
            (".", None),
            ("1e3", Some(1000.0)),
            ("1e400", None),
            ("1e-400", Some(0.0)),
            ("0x1p-2", Some(0.25)),
            ("0x1.8p1", Some(3.0)),
            ("-0x.8p0", Some(-0.5)),
            ("0x1", None),
            ("0x1p-1074", Some(5e-324)),
            ("0x1p-1075", Some(0.0)),
            ("0x1.8p-1075", Some(5e-324)),
            ("0x1.fffffffffffff8p1023", None),
            ("0x1.fffffffffffff7p1023", Some(f64::MAX)),
            ("0x1.00000000000008p0", Some(1.0)),
            ("0x1.00000000000018p0", Some(1.0000000000000004)),
            ("infinit", None),
            ("1e", None),
            ("", None),
            (" 1", None),
            ("--1", None),
            ("+.e1", None),
        ] {
            assert_eq!(parse_float(text.as_bytes()), value, "{text}");
        }
        assert_eq!(parse_float(b"-Inf"), Some(f64::NEG_INFINITY));
        assert!(parse_float(b"NaN").is_some_and(f64::is_nan));
        assert!(parse_float(b"+nan").is_none());
    }
}
