//! Durations: nanoseconds in 64 bits, with Go's text form.

use std::fmt;

use super::format::quote;

/// Why a duration could not be read. Texts in the variants are quoted already.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// The text is no duration or does not fit.
    #[error("time: invalid duration {0}")]
    Invalid(String),
    /// A number has no unit.
    #[error("time: missing unit in duration {0}")]
    MissingUnit(String),
    /// A number has a unit that does not exist.
    #[error("time: unknown unit {0} in duration {1}")]
    UnknownUnit(String, String),
}

/// An elapsed time in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(pub i64);

/// Magnitude of the most negative duration.
const LIMIT: u64 = 1 << 63;

impl Duration {
    /// One second.
    pub const SECOND: Self = Self(1_000_000_000);
    /// One minute.
    pub const MINUTE: Self = Self(60 * Self::SECOND.0);
    /// One hour.
    pub const HOUR: Self = Self(60 * Self::MINUTE.0);

    /// Reads a duration such as `300ms`, `-1.5h` or `2h45m`.
    pub fn parse(text: impl AsRef<[u8]>) -> Result<Self, DurationError> {
        let text = text.as_ref();
        let invalid = || DurationError::Invalid(quote(text));
        let (negative, mut rest) = match text {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            rest => (false, rest),
        };
        if rest == b"0" {
            return Ok(Self(0));
        }
        if rest.is_empty() {
            return Err(invalid());
        }
        let mut total = 0u64;
        while !rest.is_empty() {
            let (whole, after) = leading_number(rest).ok_or_else(invalid)?;
            let (fraction, scale, after_fraction) = leading_fraction(after);
            // A dot alone has no digits on either side.
            if after_fraction.len() + usize::from(after.first() == Some(&b'.')) == rest.len() {
                return Err(invalid());
            }
            let unit_len = after_fraction.iter().take_while(|b| **b != b'.' && !b.is_ascii_digit()).count();
            let (name, after_unit) = after_fraction.split_at(unit_len);
            if name.is_empty() {
                return Err(DurationError::MissingUnit(quote(text)));
            }
            let unit = unit(name).ok_or_else(|| DurationError::UnknownUnit(quote(name), quote(text)))?;
            let mut value = whole.checked_mul(unit).filter(|value| *value <= LIMIT).ok_or_else(invalid)?;
            if fraction > 0 {
                value += (fraction as f64 * (unit as f64 / scale)) as u64;
            }
            // Two halves of the whole range add up to nothing, as they do in the original.
            total = total.wrapping_add(value);
            if value > LIMIT || total > LIMIT {
                return Err(invalid());
            }
            rest = after_unit;
        }
        match (negative, i64::try_from(total)) {
            (false, Ok(total)) => Ok(Self(total)),
            (false, Err(_)) => Err(invalid()),
            (true, _) => Ok(Self((total as i64).wrapping_neg())),
        }
    }

    /// The nanoseconds.
    pub fn nanoseconds(self) -> i64 {
        self.0
    }

    /// The whole microseconds.
    pub fn microseconds(self) -> i64 {
        self.0 / 1_000
    }

    /// The whole milliseconds.
    pub fn milliseconds(self) -> i64 {
        self.0 / 1_000_000
    }

    fn units(self, unit: Self) -> f64 {
        (self.0 / unit.0) as f64 + (self.0 % unit.0) as f64 / unit.0 as f64
    }

    /// The seconds with their fraction.
    pub fn seconds(self) -> f64 {
        self.units(Self::SECOND)
    }

    /// The minutes with their fraction.
    pub fn minutes(self) -> f64 {
        self.units(Self::MINUTE)
    }

    /// The hours with their fraction.
    pub fn hours(self) -> f64 {
        self.units(Self::HOUR)
    }

    /// The nearest multiple towards zero; unchanged when `multiple` is not positive.
    pub fn truncate(self, multiple: Self) -> Self {
        if multiple.0 <= 0 { self } else { Self(self.0 - self.0 % multiple.0) }
    }

    /// The nearest multiple, halves away from zero, or the limit when it does not fit.
    pub fn round(self, multiple: Self) -> Self {
        if multiple.0 <= 0 {
            return self;
        }
        let (value, multiple) = (i128::from(self.0), i128::from(multiple.0));
        let rest = value.abs() % multiple;
        let size = value.abs() - rest + if 2 * rest < multiple { 0 } else { multiple };
        Self::saturating(size * value.signum())
    }

    pub(super) fn saturating(nanoseconds: i128) -> Self {
        Self(nanoseconds.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64)
    }

    /// The duration without its sign; the most negative one becomes the largest.
    pub fn abs(self) -> Self {
        Self(self.0.saturating_abs())
    }
}

fn unit(name: &[u8]) -> Option<u64> {
    Some(match name {
        b"ns" => 1,
        // The micro sign and the Greek letter are both in use.
        b"us" | b"\xC2\xB5s" | b"\xCE\xBCs" => 1_000,
        b"ms" => 1_000_000,
        b"s" => 1_000_000_000,
        b"m" => 60_000_000_000,
        b"h" => 3_600_000_000_000,
        _ => return None,
    })
}

/// Reads digits, maybe none; `None` when the number is too large or what comes first belongs to no number.
fn leading_number(text: &[u8]) -> Option<(u64, &[u8])> {
    if !matches!(text.first(), Some(b'0'..=b'9' | b'.')) {
        return None;
    }
    super::parse::leading_int(text)
}

/// Reads a dot and digits, maybe none. Digits beyond what 63 bits hold are dropped.
fn leading_fraction(text: &[u8]) -> (u64, f64, &[u8]) {
    let Some(digits) = text.strip_prefix(b".") else { return (0, 1.0, text) };
    let len = digits.iter().take_while(|b| b.is_ascii_digit()).count();
    let (digits, rest) = digits.split_at(len);
    let (mut value, mut scale) = (0u64, 1.0);
    for digit in digits {
        if value > (LIMIT - 1) / 10 {
            break;
        }
        let next = value * 10 + u64::from(digit - b'0');
        if next > LIMIT {
            break;
        }
        (value, scale) = (next, scale * 10.0);
    }
    (value, scale, rest)
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.0.unsigned_abs();
        if self.0 < 0 {
            f.write_str("-")?;
        }
        match size {
            0 => f.write_str("0s"),
            1..1_000 => write!(f, "{size}ns"),
            1_000..1_000_000 => write!(f, "{}µs", Fraction(size, 3)),
            1_000_000..1_000_000_000 => write!(f, "{}ms", Fraction(size, 6)),
            _ => {
                let minutes = size / Self::MINUTE.0 as u64;
                if minutes >= 60 {
                    write!(f, "{}h", minutes / 60)?;
                }
                if minutes > 0 {
                    write!(f, "{}m", minutes % 60)?;
                }
                write!(f, "{}s", Fraction(size % Self::MINUTE.0 as u64, 9))
            }
        }
    }
}

/// A number with so many decimal places, printed without zeros at its end.
struct Fraction(u64, u32);

impl fmt::Display for Fraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one = 10u64.pow(self.1);
        write!(f, "{}", self.0 / one)?;
        let digits = format!("{:0width$}", self.0 % one, width = self.1 as usize);
        match digits.trim_end_matches('0') {
            "" => Ok(()),
            digits => write!(f, ".{digits}"),
        }
    }
}
