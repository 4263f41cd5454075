//! Numbers as Go's `strconv` writes and reads them.

use std::fmt::Write as _;

/// The shortest decimal digits that read back as the same number: `0.d1d2d3… × 10^point`.
pub(crate) struct Digits {
    text: [u8; 32],
    len: usize,
    point: i32,
}

/// Enough room for `{:e}` of any `f64`.
struct Room {
    text: [u8; 32],
    len: usize,
}

impl std::fmt::Write for Room {
    fn write_str(&mut self, s: &str) -> std::fmt::Result {
        let end = self.len + s.len();
        self.text.get_mut(self.len..end).ok_or(std::fmt::Error)?.copy_from_slice(s.as_bytes());
        self.len = end;
        Ok(())
    }
}

impl Digits {
    /// The digits of a finite number; its sign is left out.
    fn of(f: f64) -> Self {
        let mut room = Room { text: [0; 32], len: 0 };
        // The room is larger than the longest answer, so this cannot fail.
        let _ = write!(room, "{:e}", f.abs());
        let written = room.text.get(..room.len).unwrap_or_default();
        let cut = written.iter().position(|&b| b == b'e').unwrap_or(written.len());
        let (mantissa, exponent) = written.split_at(cut);
        let exponent = exponent.get(1..).and_then(|e| std::str::from_utf8(e).ok());
        let point = exponent.and_then(|e| e.parse::<i32>().ok()).unwrap_or_default() + 1;
        let mut digits = Self { text: [0; 32], len: 0, point };
        for (to, &digit) in digits.text.iter_mut().zip(mantissa.iter().filter(|&&b| b != b'.')) {
            *to = digit;
            digits.len += 1;
        }
        digits.settle_tie(f);
        digits
    }

    /// Where two shortest forms are equally near, Go takes the one with the even last digit, Rust the larger one.
    fn settle_tie(&mut self, f: f64) {
        let Some(exact) = exact_digits(f) else { return };
        let lower = exact / 10;
        if exact.ilog10() as usize != self.len || lower.ilog10() as usize + 1 != self.len {
            return;
        }
        let even = lower + lower % 2;
        let mut text = Vec::with_capacity(self.text.len());
        unsigned(&mut text, even);
        let exponent = self.point - self.len as i32;
        let number = std::str::from_utf8(&text).map(|t| format!("{t}e{exponent}").parse::<f64>());
        if text.len() == self.len && number == Ok(Ok(f.abs())) {
            self.text.iter_mut().zip(text).for_each(|(to, digit)| *to = digit);
        }
    }

    fn all(&self) -> &[u8] {
        self.text.get(..self.len).unwrap_or_default()
    }

    /// `1.25e+09`, the exponent with at least `width` digits.
    fn scientific(&self, out: &mut Vec<u8>, width: usize) {
        let (head, tail) = self.all().split_at(1);
        out.extend_from_slice(head);
        if !tail.is_empty() {
            out.push(b'.');
            out.extend_from_slice(tail);
        }
        let exponent = self.point - 1;
        out.extend_from_slice(if exponent < 0 { b"e-" } else { b"e+" });
        if exponent.unsigned_abs() < 10 && width == 2 {
            out.push(b'0');
        }
        unsigned(out, u64::from(exponent.unsigned_abs()));
    }

    /// `1250000000` or `0.00125`.
    fn positional(&self, out: &mut Vec<u8>) {
        let digits = self.all();
        let Ok(whole) = usize::try_from(self.point) else {
            out.extend_from_slice(b"0.");
            out.extend(std::iter::repeat_n(b'0', self.point.unsigned_abs() as usize));
            return out.extend_from_slice(digits);
        };
        if whole == 0 {
            out.extend_from_slice(b"0.");
            return out.extend_from_slice(digits);
        }
        match digits.split_at_checked(whole) {
            Some((before, after)) => {
                out.extend_from_slice(before);
                if !after.is_empty() {
                    out.push(b'.');
                    out.extend_from_slice(after);
                }
            }
            None => {
                out.extend_from_slice(digits);
                out.extend(std::iter::repeat_n(b'0', whole - digits.len()));
            }
        }
    }
}

/// All digits of a fraction, if they are few enough to be one more than a shortest form can have.
fn exact_digits(f: f64) -> Option<u64> {
    let bits = f.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32;
    let mantissa = bits & ((1 << 52) - 1) | 1 << 52;
    let fraction = 1075 - exponent - mantissa.trailing_zeros() as i32;
    if exponent == 0 || !(1..=25).contains(&fraction) {
        return None;
    }
    let odd = mantissa >> mantissa.trailing_zeros();
    odd.checked_mul(5_u64.pow(fraction.unsigned_abs()))
}

/// The largest magnitude below which every whole `f64` has exactly its own digits.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Appends a number without sign.
pub(crate) fn unsigned(out: &mut Vec<u8>, mut n: u64) {
    let mut text = [0_u8; 20];
    let mut used = 0;
    for slot in text.iter_mut().rev() {
        *slot = b'0' + (n % 10) as u8;
        n /= 10;
        used += 1;
        if n == 0 {
            break;
        }
    }
    out.extend_from_slice(text.get(text.len() - used..).unwrap_or_default());
}

/// Appends an integer.
pub(crate) fn signed(out: &mut Vec<u8>, n: i64) {
    if n < 0 {
        out.push(b'-');
    }
    unsigned(out, n.unsigned_abs());
}

/// Appends what `strconv.FormatFloat(f, 'g', -1, 64)` gives.
pub(crate) fn general(out: &mut Vec<u8>, f: f64) {
    if f.is_nan() {
        return out.extend_from_slice(b"NaN");
    }
    if f.is_infinite() {
        return out.extend_from_slice(if f > 0.0 { b"+Inf" } else { b"-Inf" });
    }
    if f.is_sign_negative() {
        out.push(b'-');
    }
    if f.trunc() == f && f.abs() < 1e6 {
        return unsigned(out, f.abs() as u64);
    }
    let digits = Digits::of(f);
    if (-3..=6).contains(&digits.point) { digits.positional(out) } else { digits.scientific(out, 2) }
}

/// Appends a finite number as `encoding/json` writes it.
pub(crate) fn json(out: &mut Vec<u8>, f: f64) {
    if f.is_sign_negative() {
        out.push(b'-');
    }
    let size = f.abs();
    if f.trunc() == f && size < EXACT {
        return unsigned(out, size as u64);
    }
    let digits = Digits::of(f);
    if (1e-6..1e21).contains(&size) {
        digits.positional(out);
    } else {
        // Only a negative exponent of one digit loses its zero; positive ones are at least 21.
        digits.scientific(out, 1);
    }
}

/// Appends a finite number as it stands after its JSON form was read and written by go-yaml v2: whole numbers that fit
/// 64 bits in full, all others as `%g`.
pub(crate) fn through_json(out: &mut Vec<u8>, f: f64) {
    if f.trunc() != f || f.abs() >= 1e21 {
        return general(out, f);
    }
    if f.abs() < EXACT {
        return signed(out, f as i64);
    }
    let start = out.len();
    json(out, f);
    let text = out.get(start..).and_then(|t| std::str::from_utf8(t).ok()).unwrap_or_default();
    if text.parse::<i64>().is_err() && text.parse::<u64>().is_err() {
        out.truncate(start);
        general(out, f);
    }
}

/// What a text is to `strconv.ParseInt` and `strconv.ParseUint`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Integer {
    /// Fits `int64`.
    Signed(i64),
    /// Fits only `uint64`, and has no sign.
    Unsigned(u64),
    /// Well formed, but too large.
    OutOfRange,
    /// Not an integer.
    Malformed,
}

/// Reads an integer whose base is told by its prefix (`0x`, `0o`, `0b`, `0`). Underscores must be gone.
pub(crate) fn integer(text: &[u8]) -> Integer {
    let (negative, digits) = sign(text);
    let (base, digits) = match digits {
        [b'0', b'x' | b'X', rest @ ..] if !rest.is_empty() => (16, rest),
        [b'0', b'o' | b'O', rest @ ..] if !rest.is_empty() => (8, rest),
        [b'0', b'b' | b'B', rest @ ..] if !rest.is_empty() => (2, rest),
        [b'0', rest @ ..] if !rest.is_empty() => (8, rest),
        _ => (10, digits),
    };
    whole(negative, matches!(text, [b'+' | b'-', ..]), digits, base)
}

/// Reads an integer of the given base, which may have a sign.
pub(crate) fn integer_of_base(text: &[u8], base: u32) -> Integer {
    let (negative, digits) = sign(text);
    whole(negative, digits.len() != text.len(), digits, base)
}

fn sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    }
}

fn whole(negative: bool, has_sign: bool, digits: &[u8], base: u32) -> Integer {
    if digits.is_empty() {
        return Integer::Malformed;
    }
    let mut n = 0_u64;
    for &byte in digits {
        let Some(digit) = char::from(byte).to_digit(base) else { return Integer::Malformed };
        match n.checked_mul(u64::from(base)).and_then(|n| n.checked_add(u64::from(digit))) {
            Some(next) => n = next,
            // As in Go, what follows the digit that overflows is not looked at.
            None => return Integer::OutOfRange,
        }
    }
    let value = if negative { 0_i64.checked_sub_unsigned(n) } else { i64::try_from(n).ok() };
    match value {
        Some(value) => Integer::Signed(value),
        None if has_sign => Integer::OutOfRange,
        None => Integer::Unsigned(n),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: fn(&mut Vec<u8>, f64), f: f64) -> String {
        let mut out = Vec::new();
        write(&mut out, f);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn floats_are_written_as_go_does() {
        for (f, g, j, y) in [
            (0.0, "0", "0", "0"),
            (-0.0, "-0", "-0", "0"),
            (1.0, "1", "1", "1"),
            (999_999.0, "999999", "999999", "999999"),
            (1e6, "1e+06", "1000000", "1000000"),
            (1_234_567.5, "1.2345675e+06", "1234567.5", "1.2345675e+06"),
            (123_456.75, "123456.75", "123456.75", "123456.75"),
            (0.0001, "0.0001", "0.0001", "0.0001"),
            (0.000_01, "1e-05", "0.00001", "1e-05"),
            (0.000_001, "1e-06", "0.000001", "1e-06"),
            (1e-7, "1e-07", "1e-7", "1e-07"),
            (1.5e-10, "1.5e-10", "1.5e-10", "1.5e-10"),
            (1e20, "1e+20", "100000000000000000000", "1e+20"),
            (1e21, "1e+21", "1e+21", "1e+21"),
            (9_007_199_254_740_993.0, "9.007199254740992e+15", "9007199254740992", "9007199254740992"),
            (9.223372036854775e18, "9.223372036854775e+18", "9223372036854775000", "9223372036854775000"),
            (9.223372036854776e18, "9.223372036854776e+18", "9223372036854776000", "9223372036854776000"),
            (
                -9.223372036854776e18,
                "-9.223372036854776e+18",
                "-9223372036854776000",
                "-9.223372036854776e+18",
            ),
            (
                1.8446744073709552e19,
                "1.8446744073709552e+19",
                "18446744073709552000",
                "1.8446744073709552e+19",
            ),
            (5e-324, "5e-324", "5e-324", "5e-324"),
            (f64::MAX, "1.7976931348623157e+308", "1.7976931348623157e+308", "1.7976931348623157e+308"),
            (2_f64.powi(-25), "2.9802322387695312e-08", "2.9802322387695312e-8", "2.9802322387695312e-08"),
            (0.1 + 0.2, "0.30000000000000004", "0.30000000000000004", "0.30000000000000004"),
        ] {
            assert_eq!(
                (text(general, f), text(json, f), text(through_json, f)),
                (g.into(), j.into(), y.into())
            );
        }
    }

    #[test]
    fn integers_are_read_as_go_does() {
        for (text, value) in [
            ("0", Integer::Signed(0)),
            ("-0x1F", Integer::Signed(-31)),
            ("+0b11", Integer::Signed(3)),
            ("0o17", Integer::Signed(15)),
            ("017", Integer::Signed(15)),
            ("08", Integer::Malformed),
            ("0x", Integer::Malformed),
            ("-", Integer::Malformed),
            ("-9223372036854775808", Integer::Signed(i64::MIN)),
            ("9223372036854775808", Integer::Unsigned(1 << 63)),
            ("+9223372036854775808", Integer::OutOfRange),
            ("18446744073709551616", Integer::OutOfRange),
            ("184467440737095516160z", Integer::OutOfRange),
            ("1e3", Integer::Malformed),
        ] {
            assert_eq!(integer(text.as_bytes()), value, "{text}");
        }
    }
}
