//! Words to values.

use super::date;
use super::lex::Word;
use super::tables::Leaf;
use crate::number::{self, Integer};
use crate::tree::Value;
use crate::unicode;

/// The value of a word that is complete in itself; an error has its text.
pub(super) fn leaf(word: Word) -> Result<Leaf, String> {
    match word {
        Word::Date(text) => moment(&text).map(Leaf::Date),
        word => value(word).map(Leaf::Value),
    }
}

fn value(word: Word) -> Result<Value, String> {
    match word {
        Word::Bool(b) => Ok(Value::Bool(b)),
        Word::Integer(text) => integer(&text),
        Word::Float(text) => float(&text),
        // The containers are opened by the reader.
        Word::List | Word::Table => Ok(Value::Null),
        word => string(word).map(Value::from),
    }
}

/// The string that a word stands for.
pub(super) fn string(word: Word) -> Result<String, String> {
    match word {
        Word::Verbatim(text) => Ok(text),
        Word::Escaped(text) => unescape(&text),
        Word::Lines(text) => unescape(&join_lines(without_first_break(&text))),
        Word::RawLines(text) => Ok(without_first_break(&text).to_owned()),
        _ => Ok(String::new()),
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::new();
    unicode::quote(&mut out, text.as_bytes());
    out
}

fn integer(text: &str) -> Result<Value, String> {
    if !has_good_underscores(text) {
        return Err(format!("Invalid integer {}: underscores must be surrounded by digits", quoted(text)));
    }
    if has_leading_zero(text) {
        return Err(format!("Invalid integer {}: cannot have leading zeroes", quoted(text)));
    }
    match number::integer(text.replace('_', "").as_bytes()) {
        Integer::Signed(i) => Ok(Value::Int(i)),
        _ => Err(format!("{text} is out of range for int64")),
    }
}

fn float(text: &str) -> Result<Value, String> {
    let mut parts = text.split(['.', 'e', 'E']).filter(|part| !part.is_empty());
    if !parts.clone().all(has_good_underscores) {
        return Err(format!("Invalid float {}: underscores must be surrounded by digits", quoted(text)));
    }
    if parts.next().is_some_and(has_leading_zero) {
        return Err(format!("Invalid float {}: cannot have leading zeroes", quoted(text)));
    }
    let bare_point = |(i, _): (usize, &str)| !text.as_bytes().get(i + 1).is_some_and(u8::is_ascii_digit);
    if text.match_indices('.').any(bare_point) {
        return Err(format!("Invalid float {}: '.' must be followed by one or more digits", quoted(text)));
    }
    match text {
        "inf" | "+inf" => return Ok(Value::Float(f64::INFINITY)),
        "-inf" => return Ok(Value::Float(f64::NEG_INFINITY)),
        "nan" | "+nan" => return Ok(Value::Float(f64::NAN)),
        "-nan" => return Ok(Value::Float(f64::NAN.copysign(-1.0))),
        _ => {}
    }
    match text.replace('_', "").parse::<f64>() {
        Ok(f) if f.is_finite() => Ok(Value::Float(f)),
        Ok(_) => Err(format!("{text} is out of range for float64")),
        Err(_) => Err(format!("Invalid float value: {}", quoted(text))),
    }
}

/// Whether every underscore follows a digit and the number ends in one.
fn has_good_underscores(text: &str) -> bool {
    if matches!(text, "nan" | "+nan" | "-nan" | "inf" | "+inf" | "-inf") {
        return true;
    }
    let mut digit = false;
    for c in text.chars() {
        if c == '_' && !digit {
            return false;
        }
        digit = c.is_ascii_hexdigit();
    }
    digit
}

fn has_leading_zero(text: &str) -> bool {
    match text.as_bytes() {
        [b'0', second, ..] => !matches!(second, b'b' | b'o' | b'x'),
        [b'+' | b'-', b'0', _, ..] => true,
        _ => false,
    }
}

fn moment(text: &str) -> Result<String, String> {
    let text: String = text
        .chars()
        .map(|c| match c {
            't' | ' ' => 'T',
            'z' => 'Z',
            c => c,
        })
        .collect();
    match date::to_json(&text) {
        Some(_) => Ok(text),
        None => Err(format!("invalid datetime: {}", quoted(&text))),
    }
}

fn without_first_break(text: &str) -> &str {
    text.strip_prefix('\n').or_else(|| text.strip_prefix("\r\n")).unwrap_or(text)
}

/// Takes out every backslash at the end of a line, with all white space after it.
fn join_lines(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, from) = rest.split_at(at);
        joined.push_str(before);
        let tail = from.get(1..).unwrap_or_default();
        let next = tail.trim_start_matches([' ', '\t', '\r', '\n']);
        let white = tail.get(..tail.len() - next.len()).unwrap_or_default();
        if white.contains('\n') {
            rest = next;
        } else {
            // An escape: its second character is no start of another one.
            let width = 1 + tail.chars().next().map_or(0, char::len_utf8);
            let (escape, after) = from.split_at_checked(width).unwrap_or((from, ""));
            joined.push_str(escape);
            rest = after;
        }
    }
    joined.push_str(rest);
    joined
}

fn unescape(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let mut chars = from.chars();
        let digits = match chars.by_ref().nth(1) {
            Some('x') => 2,
            Some('u') => 4,
            Some('U') => 8,
            Some(c) => {
                out.push(match c {
                    'b' => '\u{8}',
                    't' => '\t',
                    'n' => '\n',
                    'f' => '\u{c}',
                    'r' => '\r',
                    'e' => '\u{1b}',
                    ' ' | '\t' => return Err(format!("invalid escape: '\\{c}'")),
                    c => c,
                });
                0
            }
            None => 0,
        };
        rest = chars.as_str();
        if digits > 0 {
            let (code, after) = rest.split_at_checked(digits).unwrap_or((rest, ""));
            let c = u32::from_str_radix(code, 16).ok().and_then(char::from_u32);
            out.push(c.ok_or_else(|| format!("Escaped character '\\u{code}' is not valid UTF-8."))?);
            rest = after;
        }
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_floats_are_read() {
        let read = |text: &str| match value(Word::Float(text.to_owned())) {
            Ok(Value::Float(f)) => f,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            (read("inf"), read("+inf"), read("-inf")),
            (f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY)
        );
        assert!(read("nan").is_nan() && read("+nan").is_sign_positive() && read("-nan").is_sign_negative());
        assert_eq!(read("-0.0").to_bits(), (-0.0_f64).to_bits());
    }

    #[test]
    fn a_backslash_joins_lines_and_an_escaped_one_does_not() {
        let (text, joined) = ("a\\\n  b \\  \r\n\tc \\\\\n d\\n", "ab c \\\\\n d\\n");
        assert_eq!(join_lines(text), joined);
    }
}
