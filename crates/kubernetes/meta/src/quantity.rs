//! Quantities such as `100m` and `1.5Gi`, parsed and formatted exactly as Kubernetes does.

use std::cmp::Ordering;
use std::fmt;

/// Why a quantity cannot be parsed, with the API server's messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// The text does not have the form of a quantity.
    #[error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    Format,
    /// The number is invalid.
    #[error("unable to parse numeric part of quantity")]
    Numeric,
    /// The suffix is invalid.
    #[error("unable to parse quantity's suffix")]
    Suffix,
}

/// The suffix family of a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    /// Decimal exponent, such as `e3`.
    Exponent,
    /// Decimal SI: `k`, `M`, `m`.
    Decimal,
    /// Binary SI: `Ki`, `Mi`.
    Binary,
}

/// A quantity with nano precision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quantity {
    negative: bool,
    /// Decimal digits without leading zeros; empty for zero.
    digits: Vec<u8>,
    /// The power of ten that the digits are multiplied by.
    exponent: i64,
    format: Format,
    /// The original text, if it is in canonical form.
    text: Option<String>,
    /// Kubernetes would hold it as an int64, which keeps the original text in more cases.
    fits_int64: bool,
}

/// The smallest unit: nano.
const NANO: i64 = -9;
/// Maximum number of zeros appended to align two quantities for addition.
const MAX_ALIGN_ZEROS: usize = 10_000;
/// The number of digits that always fit an int64.
const MAX_INT64_DIGITS: i64 = 18;

const DECIMAL: [(&str, i64); 10] =
    [("", 0), ("n", -9), ("u", -6), ("m", -3), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
const BINARY: [(&str, u32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];

/// The parts of a quantity's text.
struct Parts<'t> {
    negative: bool,
    whole: &'t str,
    fraction: &'t str,
    /// Whether there are digits at all; a decimal point alone is not a number.
    number: bool,
    suffix: &'t str,
}

impl Quantity {
    /// The quantity zero.
    pub fn zero() -> Self {
        Self {
            negative: false,
            digits: Vec::new(),
            exponent: 0,
            format: Format::Decimal,
            text: None,
            fits_int64: true,
        }
    }

    /// Parses a quantity.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        if text.is_empty() {
            return Err(QuantityError::Format);
        }
        let parts = split(text)?;
        let (format, power) = parse_suffix(parts.suffix).ok_or(QuantityError::Suffix)?;
        match parse_int64(text, &parts, format, power) {
            Some(quantity) => Ok(quantity),
            None => parse_decimal(&parts, format, power),
        }
    }

    /// Whether the quantity is zero.
    pub fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    /// Rounds up, away from zero, to a power of ten.
    pub fn round_up(&mut self, power: i32) {
        if self.fits_int64 && self.exponent >= i64::from(power) {
            return;
        }
        self.text = None;
        let rounded_up = round(&mut self.digits, &mut self.exponent, i64::from(power));
        // Rounding up only nines adds a digit.
        if rounded_up {
            self.fits_int64 = self.fits_int64 && self.digits.len() <= 19;
        }
    }

    /// Adds a quantity; zero takes the suffix family of the other.
    pub fn add(&mut self, other: &Quantity) {
        self.text = None;
        if self.is_zero() {
            self.format = other.format;
        }
        let exponent = self.exponent.min(other.exponent);
        let (Some(this), Some(that)) = (self.aligned(exponent), other.aligned(exponent)) else {
            // The smaller one is negligible at such a difference in magnitude.
            if self.compare(other) == Ordering::Less {
                *self = Self { text: None, ..other.clone() };
            }
            return;
        };
        (self.negative, self.digits) = if self.negative == other.negative {
            (self.negative, sum(&this, &that))
        } else if compare_magnitude(&this, &that) == Ordering::Less {
            (other.negative, difference(&that, &this))
        } else {
            (self.negative, difference(&this, &that))
        };
        self.exponent = exponent;
        self.fits_int64 = self.fits_int64 && other.fits_int64 && self.digits.len() <= 18;
        trim(&mut self.digits);
    }

    /// Compares by value.
    pub fn compare(&self, other: &Quantity) -> Ordering {
        let sign = |one: &Self| if one.is_zero() { 0 } else { 1 - 2 * i8::from(one.negative) };
        let (this, that) = (sign(self), sign(other));
        if this != that || this == 0 {
            return this.cmp(&that);
        }
        let places = |one: &Self| i64::try_from(one.digits.len()).unwrap_or(0).saturating_add(one.exponent);
        let longest = self.digits.len().max(other.digits.len());
        let digits =
            |one: &Self| (0..longest).map(|at| one.digits.get(at).copied().unwrap_or(0)).collect::<Vec<u8>>();
        let order = places(self).cmp(&places(other)).then_with(|| digits(self).cmp(&digits(other)));
        if self.negative { order.reverse() } else { order }
    }

    /// The digits extended with zeros down to an exponent; `None` if there are too many.
    fn aligned(&self, exponent: i64) -> Option<Vec<u8>> {
        let zeros = if self.is_zero() { 0 } else { usize::try_from(self.exponent - exponent).ok()? };
        (zeros <= MAX_ALIGN_ZEROS)
            .then(|| self.digits.iter().copied().chain(std::iter::repeat_n(0, zeros)).collect())
    }

    /// The value as an integer, if it is one and fits.
    fn to_integer(&self) -> Option<u128> {
        let mut value: u128 = 0;
        for digit in &self.digits {
            value = value.checked_mul(10)?.checked_add(u128::from(*digit))?;
        }
        let mut exponent = self.exponent;
        while exponent < 0 {
            if !value.is_multiple_of(10) {
                return None;
            }
            value /= 10;
            exponent += 1;
            if value == 0 {
                return Some(0);
            }
        }
        for _ in 0..exponent.min(40) {
            value = value.checked_mul(10)?;
        }
        Some(value)
    }

    fn below_1024(&self) -> bool {
        let places = i64::try_from(self.digits.len()).unwrap_or(i64::MAX).saturating_add(self.exponent);
        if places != 4 {
            return places < 4;
        }
        let leading =
            (0..4).fold(0, |sum, at| sum * 10 + u32::from(self.digits.get(at).copied().unwrap_or(0)));
        leading < 1024
    }

    fn write_decimal(&self, f: &mut fmt::Formatter<'_>, format: Format) -> fmt::Result {
        let zeros = self.digits.iter().rev().take_while(|digit| **digit == 0).count();
        let digits = self.digits.get(..self.digits.len() - zeros).unwrap_or_default();
        let exponent = self.exponent.saturating_add(i64::try_from(zeros).unwrap_or(0));
        let pad = exponent.rem_euclid(3);
        for digit in digits {
            write!(f, "{digit}")?;
        }
        for _ in 0..pad {
            f.write_str("0")?;
        }
        match exponent - pad {
            0 => Ok(()),
            power if format == Format::Exponent => write!(f, "e{power}"),
            // Kubernetes, too, drops a power without a suffix.
            power => f.write_str(DECIMAL.iter().find(|(_, p)| *p == power).map_or("", |(word, _)| word)),
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(text) = &self.text {
            return f.write_str(text);
        }
        if self.is_zero() {
            return f.write_str("0");
        }
        if self.negative {
            f.write_str("-")?;
        }
        let whole =
            (self.format == Format::Binary && !self.below_1024()).then(|| self.to_integer()).flatten();
        let Some(mut value) = whole else {
            let format = if self.format == Format::Binary { Format::Decimal } else { self.format };
            return self.write_decimal(f, format);
        };
        let mut power = 0;
        while value != 0 && value.is_multiple_of(1024) {
            value /= 1024;
            power += 10;
        }
        write!(f, "{value}{}", BINARY.iter().find(|(_, p)| *p == power).map_or("", |(word, _)| word))
    }
}

/// Splits a text into sign, number and suffix.
fn split(text: &str) -> Result<Parts<'_>, QuantityError> {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes.iter().skip(from).take_while(|byte| byte.is_ascii_digit()).count();
    let sign = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let zeros = bytes.iter().skip(sign).take_while(|byte| **byte == b'0').count();
    let mut at = sign + zeros;
    let mut parts = Parts {
        negative: bytes.first() == Some(&b'-'),
        whole: "",
        fraction: "",
        number: zeros > 0,
        suffix: "",
    };
    let length = digits(at);
    parts.whole = text.get(at..at + length).unwrap_or_default();
    parts.number |= length > 0;
    at += length;
    if bytes.get(at) == Some(&b'.') {
        let length = digits(at + 1);
        parts.fraction = text.get(at + 1..at + 1 + length).unwrap_or_default();
        parts.number |= length > 0;
        at += 1 + length;
    }
    parts.suffix = text.get(at..).ok_or(QuantityError::Format)?;
    let letters = bytes.iter().skip(at).take_while(|byte| b"eEinumkKMGTP".contains(byte)).count();
    let mut end = at + letters;
    if end < bytes.len() {
        end += usize::from(matches!(bytes.get(end), Some(b'+' | b'-')));
        end += digits(end);
    }
    if end < bytes.len() { Err(QuantityError::Format) } else { Ok(parts) }
}

/// The family and power of a suffix.
fn parse_suffix(text: &str) -> Option<(Format, i64)> {
    if let Some((_, power)) = DECIMAL.iter().find(|(word, _)| *word == text) {
        return Some((Format::Decimal, *power));
    }
    if let Some((_, power)) = BINARY.iter().find(|(word, _)| *word == text) {
        return Some((Format::Binary, i64::from(*power)));
    }
    let rest = text.strip_prefix(['e', 'E']).filter(|rest| !rest.is_empty())?;
    let power: i64 = rest.parse().ok()?;
    // Kubernetes keeps 32 bits of it.
    Some((Format::Exponent, i64::from(power as i32)))
}

/// Parses a quantity that fits an int64; keeps its text if it is in canonical form.
fn parse_int64(text: &str, parts: &Parts<'_>, format: Format, power: i64) -> Option<Quantity> {
    let whole = if parts.whole.is_empty() { "0" } else { parts.whole };
    let length = |text: &str| i64::try_from(text.len()).unwrap_or(i64::MAX);
    let count = length(whole).saturating_add(length(parts.fraction));
    let (mut exponent, mut factor) = (0, 1_i64);
    let spare = if format == Format::Binary {
        if !parts.fraction.is_empty() {
            return None;
        }
        factor = 1_i64.checked_shl(u32::try_from(power).ok()?)?;
        15 - length(whole) - power * 3 / 10 - 1
    } else {
        exponent = power;
        MAX_INT64_DIGITS.saturating_sub(count)
    };
    if spare < 0 {
        return None;
    }
    exponent -= length(parts.fraction);
    if exponent < NANO {
        return None;
    }
    let shifted = format!("{whole}{}", parts.fraction);
    let value: i64 = shifted.parse().ok()?;
    let amount = value.checked_mul(factor)?;
    let canonical = match format {
        Format::Binary => value & 7 != 0,
        _ => exponent % 3 == 0 && !shifted.ends_with("000") && !shifted.starts_with('0'),
    };
    let digits = amount.to_string().bytes().map(|byte| byte - b'0').collect();
    let mut quantity = Quantity {
        negative: parts.negative,
        digits,
        exponent,
        format,
        text: (canonical || text == "0").then(|| text.to_owned()),
        fits_int64: true,
    };
    trim(&mut quantity.digits);
    Some(quantity)
}

/// Parses any quantity with arbitrary precision.
fn parse_decimal(parts: &Parts<'_>, mut format: Format, power: i64) -> Result<Quantity, QuantityError> {
    if !parts.number {
        return Err(QuantityError::Numeric);
    }
    let mut digits: Vec<u8> =
        parts.whole.bytes().chain(parts.fraction.bytes()).map(|byte| byte - b'0').collect();
    let mut exponent = -i64::try_from(parts.fraction.len()).unwrap_or(i64::MAX);
    if format == Format::Binary {
        digits = multiply(&digits, 1_u128 << u32::try_from(power).unwrap_or(0).min(60));
    } else {
        exponent = exponent.saturating_add(power);
    }
    trim(&mut digits);
    if !digits.is_empty() {
        round(&mut digits, &mut exponent, NANO);
    }
    let mut quantity =
        Quantity { negative: parts.negative, digits, exponent, format, text: None, fits_int64: false };
    if format == Format::Binary {
        let places = i64::try_from(quantity.digits.len()).unwrap_or(i64::MAX).saturating_add(exponent);
        let largest: u128 = i64::MAX.unsigned_abs().into();
        if places > 19 || places == 19 && quantity.floor() >= largest {
            quantity.digits = largest.to_string().bytes().map(|byte| byte - b'0').collect();
            quantity.exponent = 0;
        } else if places <= 0 && !quantity.digits.is_empty() {
            format = Format::Decimal;
        }
    }
    quantity.format = format;
    Ok(quantity)
}

impl Quantity {
    /// The integer part of a quantity of at most 19 places.
    fn floor(&self) -> u128 {
        let places = i64::try_from(self.digits.len()).unwrap_or(0) + self.exponent;
        (0..usize::try_from(places).unwrap_or(0))
            .fold(0, |sum, at| sum * 10 + u128::from(self.digits.get(at).copied().unwrap_or(0)))
    }
}

fn trim(digits: &mut Vec<u8>) {
    let zeros = digits.iter().take_while(|digit| **digit == 0).count();
    digits.drain(..zeros);
}

fn multiply(digits: &[u8], factor: u128) -> Vec<u8> {
    let mut out = Vec::with_capacity(digits.len() + 20);
    let mut carry: u128 = 0;
    for digit in digits.iter().rev() {
        let sum = u128::from(*digit) * factor + carry;
        out.push((sum % 10) as u8);
        carry = sum / 10;
    }
    while carry > 0 {
        out.push((carry % 10) as u8);
        carry /= 10;
    }
    out.reverse();
    out
}

fn compare_magnitude(a: &[u8], b: &[u8]) -> Ordering {
    let strip = |digits: &[u8]| digits.iter().copied().skip_while(|digit| *digit == 0).collect::<Vec<u8>>();
    let (a, b) = (strip(a), strip(b));
    a.len().cmp(&b.len()).then_with(|| a.cmp(&b))
}

fn sum(a: &[u8], b: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(a.len().max(b.len()) + 1);
    let mut carry = 0;
    for at in 0..a.len().max(b.len()) {
        let digit = |list: &[u8]| list.iter().rev().nth(at).copied().unwrap_or(0);
        let value = digit(a) + digit(b) + carry;
        out.push(value % 10);
        carry = value / 10;
    }
    if carry > 0 {
        out.push(carry);
    }
    out.reverse();
    out
}

/// The difference of two digit strings; `a` must not be smaller.
fn difference(a: &[u8], b: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(a.len());
    let mut borrow = 0;
    for at in 0..a.len() {
        let digit = |list: &[u8]| list.iter().rev().nth(at).copied().unwrap_or(0);
        let (this, other) = (digit(a), digit(b) + borrow);
        borrow = u8::from(this < other);
        out.push(this + 10 * borrow - other);
    }
    out.reverse();
    out
}

/// Rounds away from zero; returns whether digits other than zero were dropped.
fn round(digits: &mut Vec<u8>, exponent: &mut i64, power: i64) -> bool {
    if *exponent >= power || digits.is_empty() {
        return false;
    }
    let cut = usize::try_from(power - *exponent).unwrap_or(usize::MAX);
    let kept = digits.len().saturating_sub(cut);
    let rounded_up = digits.iter().skip(kept).any(|digit| *digit != 0);
    digits.truncate(kept);
    *exponent = power;
    if rounded_up {
        let nines = digits.iter().rev().take_while(|digit| **digit == 9).count();
        let at = digits.len() - nines;
        digits.iter_mut().skip(at).for_each(|digit| *digit = 0);
        match at.checked_sub(1).and_then(|at| digits.get_mut(at)) {
            Some(digit) => *digit += 1,
            None => digits.insert(0, 1),
        }
    }
    rounded_up
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_like_kubernetes() {
        for (text, written) in [
            ("0.5", "500m"),
            ("1024Ki", "1Mi"),
            ("100m", "100m"),
            ("+5", "+5"),
            ("1e3", "1e3"),
            ("1000", "1k"),
            ("1.5Gi", "1536Mi"),
            ("0.1n", "1n"),
            (".", "0"),
            ("9Ei", "9223372036854775807"),
            ("0.5Ki", "512"),
            ("-0.0001Ki", "-102400u"),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
            ("1000E", "1"),
        ] {
            assert_eq!(
                Quantity::parse(text).map(|quantity| quantity.to_string()),
                Ok(written.to_owned()),
                "{text}"
            );
        }
        assert_eq!(Quantity::parse("1x"), Err(QuantityError::Format));
        assert_eq!(Quantity::parse("1Kii"), Err(QuantityError::Suffix));
        assert_eq!(Quantity::parse(""), Err(QuantityError::Format));
    }
}
