//! Exact numbers: every number of a schema or a value is a decimal fraction.

use std::cmp::Ordering;

use podium_goyaml::Value;

/// A decimal fraction: digits without zeros at either end, times a power of ten.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Decimal {
    negative: bool,
    digits: Box<str>,
    exponent: i64,
}

/// Go gives up on exponents past this.
const MAX_EXPONENT: i64 = 1_000_000;

impl Decimal {
    /// Reads a number as JSON writes it; nothing if its exponent is out of reach.
    pub fn parse(text: &str) -> Option<Self> {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = [whole, fraction].concat();
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let significant = digits.trim_start_matches('0').trim_end_matches('0');
        if significant.is_empty() {
            return Some(Self::default());
        }
        let exponent = exponent.parse::<i64>().ok()?.checked_sub(i64::try_from(fraction.len()).ok()?)?;
        if !(-MAX_EXPONENT..=MAX_EXPONENT).contains(&exponent) {
            return None;
        }
        let dropped = digits.len() - digits.trim_end_matches('0').len();
        let exponent = exponent.checked_add(i64::try_from(dropped).ok()?)?;
        Some(Self { negative, digits: significant.into(), exponent })
    }

    /// The number that a value is; nothing if it is none, or not finite.
    pub fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Int(n) => Self::parse(&n.to_string()),
            Value::Float(f) if f.is_finite() => Self::parse(&format!("{f:e}")),
            _ => None,
        }
    }

    pub fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    pub fn is_integer(&self) -> bool {
        self.exponent >= 0
    }

    /// The nearest float.
    pub fn to_f64(&self) -> f64 {
        let sign = if self.negative { "-" } else { "" };
        let digits = if self.is_zero() { "0" } else { &self.digits };
        format!("{sign}{digits}e{}", self.exponent).parse().unwrap_or_default()
    }

    /// The whole number, of which Go keeps the low 64 bits; nothing for a fraction.
    pub fn to_i64(&self) -> Option<i64> {
        if !self.is_integer() {
            return None;
        }
        let times_ten = |n: u64, digit: u8| n.wrapping_mul(10).wrapping_add(u64::from(digit));
        let mut low = self.digits.bytes().fold(0, |n, d| times_ten(n, d - b'0'));
        // After 64 factors of two nothing is left.
        for _ in 0..self.exponent.min(64) {
            low = times_ten(low, 0);
        }
        let n = low.cast_signed();
        Some(if self.negative { n.wrapping_neg() } else { n })
    }

    /// A text that equal numbers share.
    pub fn key(&self) -> String {
        format!("{}{}e{}", if self.negative { "-" } else { "" }, self.digits, self.exponent)
    }

    fn magnitude(&self, other: &Self) -> Ordering {
        let length = |d: &Self| d.exponent.saturating_add(i64::try_from(d.digits.len()).unwrap_or(i64::MAX));
        match (self.is_zero(), other.is_zero()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => length(self).cmp(&length(other)).then_with(|| self.digits.cmp(&other.digits)),
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, false) => self.magnitude(other),
            (true, true) => other.magnitude(self),
            (negative, _) => {
                if negative {
                    Ordering::Less
                } else {
                    Ordering::Greater
                }
            }
        }
    }
}

/// A number that others must be multiples of, taken apart once.
#[derive(Clone, Debug)]
pub(crate) struct Divisor {
    pub value: Decimal,
    twos: i64,
    fives: i64,
    /// What is left without the factors two and five; nothing if no value is large enough for it.
    rest: Option<u128>,
}

/// More digits would take long to factor.
const MAX_DIVISOR_DIGITS: usize = 4096;

/// Divides a number in decimal digits by a small one; nothing if something remains.
fn divide(digits: &[u8], by: u8) -> Option<Vec<u8>> {
    let mut remainder = 0;
    let mut out = Vec::with_capacity(digits.len());
    for digit in digits {
        let n = remainder * 10 + digit;
        remainder = n % by;
        if !out.is_empty() || n / by != 0 {
            out.push(n / by);
        }
    }
    (remainder == 0).then_some(out)
}

fn strip(digits: &mut Vec<u8>, factor: u8) -> i64 {
    let mut count = 0;
    while let Some(smaller) = divide(digits, factor).filter(|s| !s.is_empty()) {
        *digits = smaller;
        count += 1;
    }
    count
}

impl Divisor {
    /// Takes a number apart; nothing if it is too long.
    pub fn new(value: Decimal) -> Option<Self> {
        if value.digits.len() > MAX_DIVISOR_DIGITS {
            return None;
        }
        let mut digits: Vec<u8> = value.digits.bytes().map(|b| b - b'0').collect();
        let twos = strip(&mut digits, 2);
        let fives = strip(&mut digits, 5);
        let add = |n: Option<u128>, d: &u8| n?.checked_mul(10)?.checked_add(u128::from(*d));
        let rest = digits.iter().fold(Some(0), add);
        Some(Self { value, twos, fives, rest })
    }

    /// Whether a number is a whole multiple. Of zero nothing is.
    pub fn divides(&self, number: &Decimal) -> bool {
        if self.value.is_zero() {
            return false;
        }
        if number.is_zero() {
            return true;
        }
        let Some(rest) = self.rest else { return false };
        let Ok(mut digits) = number.digits.parse::<u128>() else { return false };
        let mut count = |factor: u128| {
            let mut n = 0;
            while digits.is_multiple_of(factor) {
                digits /= factor;
                n += 1;
            }
            n
        };
        let (twos, fives) = (count(2), count(5));
        let shift = number.exponent - self.value.exponent;
        twos + shift >= self.twos && fives + shift >= self.fives && digits.is_multiple_of(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn d(text: &str) -> Decimal {
        Decimal::parse(text).unwrap_or_default()
    }

    #[test]
    fn order_is_that_of_the_numbers() {
        let sorted = ["-1e30", "-12.5", "-12", "-0.001", "0", "1e-400", "0.1", "0.10001", "9", "10", "1e400"];
        for pair in sorted.windows(2) {
            assert!(d(pair[0]) < d(pair[1]), "{pair:?}");
        }
        assert_eq!(d("1.0"), d("1"));
        assert_eq!(d("100"), d("1e2"));
        assert_eq!(d("-0"), d("0"));
        assert_eq!(d("12e-1"), d("1.2"));
    }

    #[test]
    fn multiples_are_exact() {
        let cases = [
            ("0.3", "0.1", true),
            ("0.35", "0.1", false),
            ("1e300", "3", false),
            ("3e300", "3", true),
            ("4.5", "1.5", true),
            ("7", "0.0000001", true),
            ("0", "7", true),
            ("1024", "1e3", false),
            ("2e20", "4", true),
            ("1", "1267650600228229401496703205376000000000000000000000000000000", false),
        ];
        for (number, divisor, want) in cases {
            let divisor = Divisor::new(d(divisor)).unwrap();
            assert_eq!(divisor.divides(&d(number)), want, "{number} {divisor:?}");
        }
        assert!(!Divisor::new(d("0")).unwrap().divides(&d("0")));
    }

    #[test]
    fn whole_numbers_keep_their_low_bits() {
        assert_eq!(d("12e1").to_i64(), Some(120));
        assert_eq!(d("-3").to_i64(), Some(-3));
        assert_eq!(d("18446744073709551617").to_i64(), Some(1));
        assert_eq!(d("1e99999").to_i64(), Some(0));
        assert_eq!(d("0.5").to_i64(), None);
        assert!(Decimal::parse("1e1000001").is_none());
        assert!(Decimal::parse("0e1000001").is_some());
    }

    #[test]
    fn floats_are_read_by_their_shortest_digits() {
        assert_eq!(Decimal::of(&Value::Float(0.1)), Some(d("0.1")));
        assert_eq!(Decimal::of(&Value::Float(1e21)), Some(d("1e21")));
        assert_eq!(Decimal::of(&Value::Int(i64::MIN)), Some(d("-9223372036854775808")));
        assert_eq!(Decimal::of(&Value::Float(f64::NAN)), None);
        assert_eq!(d("1e400").to_f64(), f64::INFINITY);
    }
}
