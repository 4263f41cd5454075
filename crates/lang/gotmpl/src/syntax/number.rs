//! Number literals.

use crate::gostr;

/// A number literal and every type it fits.
#[derive(Clone, Debug, Default)]
pub struct Number {
    /// The literal.
    pub text: Box<str>,
    /// As an integer.
    pub int: Option<i64>,
    /// As an unsigned integer.
    pub uint: Option<u64>,
    /// As a float.
    pub float: Option<f64>,
    /// As a complex number that is no real one.
    pub complex: Option<(f64, f64)>,
}

/// `strconv.ParseUint(text, 0, 64)`.
pub fn parse_uint(text: &str) -> Option<u64> {
    let bytes = text.as_bytes();
    let (base, digits) = match bytes {
        [b'0', b'x' | b'X', ..] => (16, &text[2..]),
        [b'0', b'o' | b'O', ..] => (8, &text[2..]),
        [b'0', b'b' | b'B', ..] => (2, &text[2..]),
        [b'0', _, ..] => (8, &text[1..]),
        _ => (10, text),
    };
    if !underscores_ok(text) || digits.starts_with('+') {
        return None;
    }
    let digits: String = digits.chars().filter(|c| *c != '_').collect();
    if digits.is_empty() {
        return None;
    }
    u64::from_str_radix(&digits, base).ok()
}

/// `strconv.ParseInt(text, 0, 64)`.
pub fn parse_int(text: &str) -> Option<i64> {
    let (negative, digits) = match text.as_bytes() {
        [b'-', ..] => (true, &text[1..]),
        [b'+', ..] => (false, &text[1..]),
        _ => (false, text),
    };
    let u = parse_uint(digits)?;
    if negative { (u <= 1 << 63).then(|| (u as i64).wrapping_neg()) } else { i64::try_from(u).ok() }
}

/// Underscores only between digits, or between the base prefix and a digit.
fn underscores_ok(text: &str) -> bool {
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let mut last = '^';
    let mut rest = text;
    let mut hex = false;
    if let [b'0', p, ..] = text.as_bytes()
        && matches!(p.to_ascii_lowercase(), b'b' | b'o' | b'x')
    {
        hex = p.eq_ignore_ascii_case(&b'x');
        rest = &text[2..];
        last = '0';
    }
    for c in rest.chars() {
        if c.is_ascii_digit() || (hex && c.is_ascii_hexdigit()) {
            last = '0';
        } else if c == '_' {
            if last != '0' {
                return false;
            }
            last = '_';
        } else {
            if last == '_' {
                return false;
            }
            last = '!';
        }
    }
    last != '_'
}

/// `strconv.ParseFloat(text, 64)`; nothing for bad syntax and for what is out of range.
pub fn parse_float(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(unsigned.as_bytes(), [b'0', b'x' | b'X', ..]) {
        let value = parse_hex_float(&unsigned[2..], text)?;
        return Some(if text.starts_with('-') { -value } else { value });
    }
    if unsigned.contains('_') {
        // Only with a base prefix may there be underscores.
        return None;
    }
    let lower = unsigned.to_ascii_lowercase();
    if matches!(lower.as_str(), "inf" | "infinity" | "nan") {
        return text.parse().ok();
    }
    if !unsigned.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-')) {
        return None;
    }
    let value: f64 = text.parse().ok()?;
    value.is_finite().then_some(value)
}

fn parse_hex_float(digits: &str, whole: &str) -> Option<f64> {
    if !underscores_ok(whole) {
        return None;
    }
    let digits: String = digits.chars().filter(|c| *c != '_').collect();
    let (mantissa, exponent) = digits.split_once(['p', 'P'])?;
    let exponent: i64 = exponent.parse().ok()?;
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut value: u128 = 0;
    let mut scale: i64 = 0;
    let mut seen = false;
    let mut sticky = false;
    for (i, c) in before.chars().chain(after.chars()).enumerate() {
        let d = c.to_digit(16)?;
        seen = true;
        if value >> 120 == 0 {
            value = value << 4 | u128::from(d);
            scale -= if i >= before.len() { 4 } else { 0 };
        } else {
            sticky |= d != 0;
            scale += if i < before.len() { 4 } else { 0 };
        }
    }
    if !seen {
        return None;
    }
    if sticky {
        value |= 1;
    }
    let exponent = exponent.checked_add(scale)?.clamp(-5000, 5000);
    // Two steps keep the power of two in range; the product is rounded once.
    let bits = 128 - i64::from(value.leading_zeros());
    if value == 0 {
        return Some(0.0);
    }
    if bits + exponent > 1024 {
        return None;
    }
    let keep = (53.min(bits + exponent + 1074)).max(0);
    let drop = bits - keep;
    let mut kept = if drop >= 128 {
        0
    } else if drop > 0 {
        value >> drop
    } else {
        value
    };
    let mut exponent = exponent;
    if drop > 0 {
        let rest = if drop >= 128 { value } else { value & ((1u128 << drop) - 1) };
        let half = if drop > 128 { u128::MAX } else { 1u128 << (drop - 1).min(127) };
        if rest > half || (rest == half && kept & 1 == 1) {
            kept += 1;
        }
        exponent += drop;
    }
    let mut result = kept as f64;
    while exponent > 0 {
        let step = exponent.min(1000);
        result *= 2f64.powi(step as i32);
        exponent -= step;
    }
    while exponent < 0 {
        let step = (-exponent).min(1000);
        result /= 2f64.powi(step as i32);
        exponent += step;
    }
    result.is_finite().then_some(result)
}

impl Number {
    /// A character constant with its quotes.
    pub fn from_char(text: &str) -> Result<Self, String> {
        let Some((rune, _, tail)) = gostr::unquote_char(&text.as_bytes()[1..], b'\'') else {
            return Err("invalid syntax".to_owned());
        };
        if tail != b"'" {
            return Err(format!("malformed character constant: {text}"));
        }
        Ok(Self {
            text: text.into(),
            int: Some(i64::from(rune)),
            uint: Some(u64::from(rune)),
            float: Some(f64::from(rune)),
            complex: None,
        })
    }

    /// A complex constant like `1+2i`.
    pub fn from_complex(text: &str) -> Result<Self, String> {
        let body = text.strip_suffix('i').unwrap_or(text);
        let split = body
            .char_indices()
            .skip(1)
            .filter(|(i, c)| {
                matches!(c, '+' | '-') && !matches!(body.as_bytes()[i - 1], b'e' | b'E' | b'p' | b'P')
            })
            .map(|(i, _)| i)
            .last();
        let parsed = split.and_then(|at| Some((parse_float(&body[..at])?, parse_float(&body[at..])?)));
        match parsed {
            Some((re, im)) => Ok(Self::complex(text, re, im)),
            None => Err("syntax error scanning complex number".to_owned()),
        }
    }

    fn complex(text: &str, re: f64, im: f64) -> Self {
        let real = im == 0.0;
        Self {
            text: text.into(),
            int: (real && (re as i64) as f64 == re).then_some(re as i64),
            uint: (real && (re as u64) as f64 == re).then_some(re as u64),
            float: real.then_some(re),
            complex: Some((re, im)),
        }
    }

    /// Any other number.
    pub fn from_text(text: &str) -> Result<Self, String> {
        // Most are small: `nindent 4`.
        if let [b'1'..=b'9', rest @ ..] = text.as_bytes()
            && rest.len() < 9
            && rest.iter().all(u8::is_ascii_digit)
        {
            let value = text.bytes().fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'));
            return Ok(Self {
                text: text.into(),
                int: Some(value.into()),
                uint: Some(value.into()),
                float: Some(value.into()),
                complex: None,
            });
        }
        if let Some(im) = text.strip_suffix('i').and_then(parse_float) {
            return Ok(Self::complex(text, 0.0, im));
        }
        let mut number = Self { text: text.into(), ..Self::default() };
        number.uint = parse_uint(text);
        number.int = parse_int(text);
        if number.int == Some(0) && number.uint.is_none() {
            number.uint = Some(0);
        }
        if let Some(i) = number.int {
            number.float = Some(i as f64);
        } else if let Some(u) = number.uint {
            number.float = Some(u as f64);
        } else if let Some(f) = parse_float(text) {
            if !text.contains(['.', 'e', 'E', 'p', 'P']) {
                return Err(format!("integer overflow: {text:?}"));
            }
            number.float = Some(f);
            number.int = ((f as i64) as f64 == f).then_some(f as i64);
            number.uint = ((f as u64) as f64 == f).then_some(f as u64);
        }
        if number.float.is_none() {
            return Err(format!("illegal number syntax: {text:?}"));
        }
        Ok(number)
    }

    /// Whether the literal says that it is a float and not an integer.
    pub fn looks_float(&self) -> bool {
        let text = self.text.as_bytes();
        let hex = text.len() > 2
            && text[0] == b'0'
            && matches!(text[1], b'x' | b'X')
            && !self.text.contains(['p', 'P']);
        let rune = text.first() == Some(&b'\'');
        self.float.is_some() && !hex && !rune && self.text.contains(['.', 'e', 'E', 'p', 'P'])
    }
}
