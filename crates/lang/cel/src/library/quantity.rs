//! Quantities such as `100m` and `1.5Gi`.

use std::cmp::Ordering;

use super::Native;
use crate::value::{NO_OVERLOAD, Value};

const FORMAT: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const NUMERIC: &str = "unable to parse numeric part of quantity";
const SUFFIX: &str = "unable to parse quantity's suffix";

/// The finest part that is kept: billionths.
const NANO: i64 = -9;
/// The digits that fit into 64 bits for sure.
const QUICK_DIGITS: i64 = 18;
/// The digits that are computed with; what is longer is cut.
const DIGITS: usize = 36;

const DECIMAL: [(&str, i64); 10] =
    [("", 0), ("n", -9), ("u", -6), ("m", -3), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
const BINARY: [(&str, u32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];

/// An amount: a number times a power of ten.
#[derive(Debug, Clone, Copy)]
pub struct Quantity {
    number: i128,
    scale: i64,
    /// It is in the original's quick form, which only knows 64 bits.
    quick: bool,
}

/// The parts of a written quantity.
struct Parts<'t> {
    negative: bool,
    whole: &'t str,
    fraction: &'t str,
    suffix: &'t str,
    /// There is a number at all.
    digits: bool,
}

fn parts(text: &str) -> Result<Parts<'_>, &'static str> {
    let negative = text.starts_with('-');
    let rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    let trimmed = rest.trim_start_matches('0');
    let zeros = trimmed.len() < rest.len();
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    if trimmed.is_empty() {
        return Ok(Parts { negative, whole: "0", fraction: "", suffix: "", digits: true });
    }
    let (whole, rest) = trimmed.split_at(digits(trimmed));
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(after) => after.split_at(digits(after)),
        None => ("", rest),
    };
    let letters = rest.bytes().take_while(|byte| b"eEinumkKMGTP".contains(byte)).count();
    let after = rest.get(letters..).unwrap_or_default();
    let after = after.strip_prefix(['+', '-']).unwrap_or(after);
    if digits(after) != after.len() {
        return Err(FORMAT);
    }
    let found = zeros || !whole.is_empty() || !fraction.is_empty();
    Ok(Parts {
        negative,
        whole: if whole.is_empty() { "0" } else { whole },
        fraction,
        suffix: rest,
        digits: found,
    })
}

impl Quantity {
    /// Reads a quantity.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        if text.is_empty() {
            return Err(FORMAT);
        }
        let parts = parts(text)?;
        let length = (parts.whole.len() + parts.fraction.len()) as i64;
        let binary = BINARY.iter().find(|(name, _)| *name == parts.suffix);
        let (exponent, precision) = match (DECIMAL.iter().find(|(name, _)| *name == parts.suffix), binary) {
            (Some((_, exponent)), _) => (*exponent, QUICK_DIGITS - length),
            (None, Some((_, power))) if parts.fraction.is_empty() => {
                (0, 15 - parts.whole.len() as i64 - i64::from(power * 3 / 10) - 1)
            }
            (None, Some(_)) => (0, -1),
            (None, None) => {
                let number = parts.suffix.strip_prefix(['e', 'E']).filter(|number| !number.is_empty());
                let exponent: i64 = number.and_then(|number| number.parse().ok()).ok_or(SUFFIX)?;
                (i64::from(exponent as i32), QUICK_DIGITS - length)
            }
        };
        let factor = binary.map_or(1_i128, |(_, power)| 1 << power);
        let scale = exponent - parts.fraction.len() as i64;
        let digits = format!("{}{}", parts.whole, parts.fraction);
        let sign = if parts.negative { -1 } else { 1 };
        if precision >= 0 && scale >= NANO {
            let number = digits.parse::<i128>().map_err(|_| NUMERIC)?.saturating_mul(factor);
            if i64::try_from(number).is_ok() {
                return Ok(Self { number: number * sign, scale, quick: true });
            }
        }
        if !parts.digits {
            return Err(NUMERIC);
        }
        Ok(Self::slow(&digits, scale, factor, sign, binary.is_some()))
    }

    /// The exact form: cut above, and rounded up to billionths.
    fn slow(digits: &str, scale: i64, factor: i128, sign: i128, binary: bool) -> Self {
        let digits = digits.trim_start_matches('0');
        let kept = digits.get(..DIGITS.min(digits.len())).unwrap_or_default();
        let mut scale = scale.saturating_add((digits.len() - kept.len()) as i64);
        let mut number = kept.parse::<i128>().unwrap_or(0);
        if binary {
            number = number.checked_mul(factor).unwrap_or(i128::MAX);
        }
        while number != 0 && scale < NANO {
            number = number / 10 + i128::from(number % 10 != 0);
            scale += 1;
        }
        let most = Self { number: i128::from(i64::MAX), scale: 0, quick: false };
        let found = Self { number, scale, quick: false };
        let found = if binary && found.compare(&most).is_gt() { most } else { found };
        Self { number: found.number * sign, ..found }
    }

    fn of_int(int: i64) -> Self {
        Self { number: i128::from(int), scale: 0, quick: true }
    }

    /// Which of two is less.
    pub fn compare(&self, other: &Self) -> Ordering {
        let signs = self.number.signum().cmp(&other.number.signum());
        if signs.is_ne() || self.number == 0 {
            return signs;
        }
        let magnitude = |q: &Self| q.number.unsigned_abs().to_string();
        let (a, b) = (magnitude(self), magnitude(other));
        let length = |text: &str, scale: i64| text.len() as i64 + scale;
        let order = length(&a, self.scale).cmp(&length(&b, other.scale)).then_with(|| {
            let digits = a.len().max(b.len());
            let padded = |text: &str| format!("{text:0<digits$}");
            padded(&a).cmp(&padded(&b))
        });
        if self.number < 0 { order.reverse() } else { order }
    }

    fn as_int(&self) -> Option<i64> {
        if !self.quick || self.scale < 0 {
            return None;
        }
        let power = u32::try_from(self.scale).ok().and_then(|scale| 10_i128.checked_pow(scale))?;
        self.number.checked_mul(power).and_then(|number| i64::try_from(number).ok())
    }

    fn as_float(&self) -> f64 {
        let power = match i32::try_from(self.scale) {
            Ok(0) => return self.number as f64,
            Ok(scale) => format!("1e{scale}").parse().unwrap_or(0.0),
            Err(_) => 0.0,
        };
        self.number as f64 * power
    }

    fn add(&self, other: &Self) -> Self {
        if self.quick && other.quick && (self.number == 0 || other.number == 0) {
            return if other.number == 0 { *self } else { *other };
        }
        let scale = self.scale.min(other.scale);
        let scaled = |q: &Self| {
            let power = u32::try_from(q.scale - scale).ok().and_then(|power| 10_i128.checked_pow(power));
            power.and_then(|power| q.number.checked_mul(power))
        };
        match (scaled(self), scaled(other)) {
            (Some(a), Some(b)) => {
                let number = a.saturating_add(b);
                let fits = [a, b, number].iter().all(|number| i64::try_from(*number).is_ok());
                Self { number, scale, quick: self.quick && other.quick && fits }
            }
            // One is so much larger that the other does not show.
            _ if self.compare(other).is_gt() => Self { quick: false, ..*self },
            _ => Self { quick: false, ..*other },
        }
    }

    fn negated(&self) -> Self {
        Self { number: -self.number, ..*self }
    }
}

impl std::fmt::Display for Quantity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.scale {
            0 => write!(f, "{}", self.number),
            scale => write!(f, "{}e{scale}", self.number),
        }
    }
}

fn of<'a>(args: &[Value<'a>], make: fn(&Quantity) -> Value<'a>) -> Value<'a> {
    match args.first() {
        Some(Value::Quantity(quantity, _)) => make(quantity),
        _ => Value::error(NO_OVERLOAD),
    }
}

fn both<'a>(args: &[Value<'a>], make: fn(&Quantity, &Quantity) -> Value<'a>) -> Value<'a> {
    match args {
        [Value::Quantity(one, _), Value::Quantity(two, _)] => make(one, two),
        [Value::Quantity(one, _), Value::Int(two)] => make(one, &Quantity::of_int(*two)),
        _ => Value::error(NO_OVERLOAD),
    }
}

/// The function of an overload.
pub fn native(id: &str) -> Option<Native> {
    Some(match id {
        "string_to_quantity" => |args| {
            let text = args.first().and_then(Value::as_str).unwrap_or_default();
            Quantity::parse(text).map_or_else(Value::error, |quantity| Value::Quantity(quantity, false))
        },
        "is_quantity_string" => |args| {
            let text = args.first().and_then(Value::as_str).unwrap_or_default();
            Value::Bool(Quantity::parse(text).is_ok())
        },
        "quantity_sign" => |args| of(args, |quantity| Value::Int(quantity.number.signum() as i64)),
        "quantity_is_greater_than" => |args| both(args, |one, two| Value::Bool(one.compare(two).is_gt())),
        "quantity_is_less_than" => |args| both(args, |one, two| Value::Bool(one.compare(two).is_lt())),
        "quantity_compare_to" => |args| both(args, |one, two| Value::Int(one.compare(two) as i64)),
        "quantity_get_float" => |args| of(args, |quantity| Value::Double(quantity.as_float())),
        "quantity_get_int" => |args| {
            of(args, |quantity| {
                quantity.as_int().map_or_else(|| Value::error("cannot convert value to integer"), Value::Int)
            })
        },
        "quantity_is_integer" => |args| of(args, |quantity| Value::Bool(quantity.as_int().is_some())),
        "quantity_add" | "quantity_add_int" => {
            |args| both(args, |one, two| Value::Quantity(one.add(two), true))
        }
        "quantity_sub" | "quantity_sub_int" => {
            |args| both(args, |one, two| Value::Quantity(one.add(&two.negated()), true))
        }
        _ => return None,
    })
}
