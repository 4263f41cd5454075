//! Integers and floats with Go's flags.

use super::float;
use super::printer::{Flags, Printer};
use crate::gostr;

/// Writes an integer in base ten into a buffer.
pub fn decimal(i: i64, buffer: &mut [u8; 20]) -> &[u8] {
    let mut at = buffer.len();
    let mut u = i.unsigned_abs();
    loop {
        at -= 1;
        buffer[at] = b'0' + (u % 10) as u8;
        u /= 10;
        if u == 0 {
            break;
        }
    }
    if i < 0 {
        at -= 1;
        buffer[at] = b'-';
    }
    &buffer[at..]
}

fn in_base(mut u: u64, base: u64, upper: bool) -> Vec<u8> {
    let digits: &[u8; 16] = if upper { b"0123456789ABCDEF" } else { b"0123456789abcdef" };
    let mut out = Vec::with_capacity(20);
    loop {
        out.push(digits[(u % base) as usize]);
        u /= base;
        if u == 0 {
            break;
        }
    }
    out.reverse();
    out
}

impl Printer {
    /// An integer with any verb. False when the verb is not one for integers.
    pub(super) fn integer(&mut self, u: u64, signed: bool, verb: char) -> bool {
        match verb {
            'v' if self.flags.sharp_v && !signed => {
                let sharp = std::mem::replace(&mut self.flags.sharp, true);
                self.plain_integer(u, 16, false, 'v', false);
                self.flags.sharp = sharp;
            }
            'v' | 'd' => self.plain_integer(u, 10, signed, verb, false),
            'b' => self.plain_integer(u, 2, signed, verb, false),
            'o' | 'O' => self.plain_integer(u, 8, signed, verb, false),
            'x' => self.plain_integer(u, 16, signed, verb, false),
            'X' => self.plain_integer(u, 16, signed, verb, true),
            'c' => {
                let mut text = Vec::new();
                gostr::append_rune(&mut text, rune_of(u));
                self.pad(&text);
            }
            'q' => {
                let rune = rune_of(u);
                let text =
                    if self.flags.plus { gostr::quote_rune_to_ascii(rune) } else { gostr::quote_rune(rune) };
                self.pad(&text);
            }
            'U' => self.code_point(u),
            _ => return false,
        }
        true
    }

    fn plain_integer(&mut self, u: u64, base: u64, signed: bool, verb: char, upper: bool) {
        let Flags { sharp, plus, space, minus, zero, width, precision, .. } = self.flags;
        let negative = signed && (u as i64) < 0;
        let u = if negative { u.wrapping_neg() } else { u };
        let mut least = 0;
        if let Some(precision) = precision {
            if precision == 0 && u == 0 {
                self.spaces(width.unwrap_or(0));
                return;
            }
            least = precision;
        } else if let (true, false, Some(width)) = (zero, minus, width) {
            least = width.saturating_sub(usize::from(negative || plus || space));
        }
        let digits = in_base(u, base, upper);
        let mut number = vec![b'0'; least.saturating_sub(digits.len())];
        number.extend_from_slice(&digits);
        let mut text = Vec::with_capacity(number.len() + 4);
        if negative {
            text.push(b'-');
        } else if plus {
            text.push(b'+');
        } else if space {
            text.push(b' ');
        }
        if verb == 'O' {
            text.extend_from_slice(b"0o");
        }
        if sharp {
            match base {
                2 => text.extend_from_slice(b"0b"),
                8 if number.first() != Some(&b'0') => text.push(b'0'),
                16 => text.extend_from_slice(if upper { b"0X" } else { b"0x" }),
                _ => {}
            }
        }
        text.extend_from_slice(&number);
        self.pad_with_spaces(&text);
    }

    fn code_point(&mut self, u: u64) {
        let digits = in_base(u, 16, true);
        let least = self.flags.precision.unwrap_or(4).max(4);
        let mut text = b"U+".to_vec();
        text.resize(2 + least.saturating_sub(digits.len()), b'0');
        text.extend_from_slice(&digits);
        if let (true, Some(c)) = (self.flags.sharp, u32::try_from(u).ok().and_then(char::from_u32))
            && gostr::is_print(c)
        {
            text.extend_from_slice(format!(" '{c}'").as_bytes());
        }
        self.pad_with_spaces(&text);
    }

    /// A float with any verb. False when the verb is not one for floats.
    pub(super) fn float(&mut self, f: f64, verb: char) -> bool {
        match verb {
            'v' => self.plain_float(f, b'g', -1),
            'b' | 'g' | 'G' | 'x' | 'X' => self.plain_float(f, verb as u8, -1),
            'f' | 'e' | 'E' => self.plain_float(f, verb as u8, 6),
            'F' => self.plain_float(f, b'f', 6),
            _ => return false,
        }
        true
    }

    /// A complex number with any verb. False when the verb is not one for them.
    pub(super) fn complex(&mut self, re: f64, im: f64, verb: char) -> bool {
        if !matches!(verb, 'v' | 'b' | 'g' | 'G' | 'x' | 'X' | 'f' | 'F' | 'e' | 'E') {
            return false;
        }
        self.out.push(b'(');
        self.float(re, verb);
        let plus = std::mem::replace(&mut self.flags.plus, true);
        self.float(im, verb);
        self.flags.plus = plus;
        self.out.extend_from_slice(b"i)");
        true
    }

    fn plain_float(&mut self, f: f64, verb: u8, precision: i64) {
        let Flags { sharp, plus, space, minus, zero, width, .. } = self.flags;
        let precision = self.flags.precision.map_or(precision, |p| p as i64);
        let mut number = float::format(f, verb, precision).into_bytes();
        if !matches!(number.first(), Some(b'-' | b'+')) {
            number.insert(0, b'+');
        }
        if space && number[0] == b'+' && !plus {
            number[0] = b' ';
        }
        if !f.is_finite() {
            if f.is_nan() && !space && !plus {
                number.remove(0);
            } else if !plus && number[0] == b'+' && f.is_infinite() {
                // Infinity keeps its sign.
            }
            self.pad_with_spaces(&number);
            return;
        }
        if sharp && verb != b'b' {
            keep_zeros(&mut number, verb, precision);
        }
        if plus || number[0] != b'+' {
            if let (true, false, Some(width)) = (zero, minus, width)
                && width > number.len()
            {
                self.out.push(number[0]);
                self.out.resize(self.out.len() + width - number.len(), b'0');
                self.out.extend_from_slice(&number[1..]);
                return;
            }
            self.pad(&number);
        } else {
            self.pad(&number[1..]);
        }
    }
}

/// The `#` flag of floats: a decimal point always, and no trailing zeros removed.
fn keep_zeros(number: &mut Vec<u8>, verb: u8, precision: i64) {
    let mut wanted = match verb {
        b'v' | b'g' | b'G' | b'x' => {
            if precision == -1 {
                6
            } else {
                precision
            }
        }
        _ => 0,
    };
    let hex = matches!(verb, b'x' | b'X');
    let end = (1..number.len())
        .find(|i| match number[*i] {
            b'p' | b'P' => true,
            b'e' | b'E' => !hex,
            _ => false,
        })
        .unwrap_or(number.len());
    let tail = number.split_off(end);
    let mut has_point = false;
    let mut significant = false;
    for b in &number[1..] {
        if *b == b'.' {
            has_point = true;
            continue;
        }
        significant |= *b != b'0';
        if significant {
            wanted -= 1;
        }
    }
    if !has_point {
        if number.len() == 2 && number[1] == b'0' {
            wanted -= 1;
        }
        number.push(b'.');
    }
    for _ in 0..wanted.max(0) {
        number.push(b'0');
    }
    number.extend_from_slice(&tail);
}

fn rune_of(u: u64) -> u32 {
    u32::try_from(u).ok().filter(|r| *r <= 0x10_ffff).unwrap_or(0xfffd)
}
