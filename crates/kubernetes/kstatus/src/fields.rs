//! Field access with the tolerance of kstatus: some fields of the wrong type have a default, others are an error.

use serde_json::{Map, Value};

/// Field whose type does not match the schema of its kind.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} has a value of the wrong type")]
pub struct InvalidField(pub &'static str);

/// Limit for text from objects in a reason.
const MAX_MESSAGE_CHARS: usize = 300;

/// String at a path, or an empty one.
pub fn string_at<'a>(object: &'a Value, path: &[&str]) -> &'a str {
    value_at(object, path).and_then(Value::as_str).unwrap_or_default()
}

/// Integer at a path, or the default.
pub fn int_at(object: &Value, path: &[&str], default: i64) -> i64 {
    value_at(object, path).and_then(Value::as_i64).unwrap_or(default)
}

/// Value at a path.
pub fn value_at<'a>(object: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(object, |value, field| value.get(field))
}

/// Items of the list at a path; empty if there is none.
pub fn list_at<'a>(object: &'a Value, path: &[&str]) -> &'a [Value] {
    value_at(object, path).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Field of a top-level map, which may be absent but not of another type.
pub fn nested_field<'a>(
    object: &'a Value,
    part: &str,
    field: &str,
    name: &'static str,
) -> Result<Option<&'a Value>, InvalidField> {
    match object.get(part) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(map)) => Ok(map.get(field)),
        Some(_) => Err(InvalidField(name)),
    }
}

/// String in a map, which may be absent or null but not of another type.
pub fn string_field<'a>(
    map: &'a Map<String, Value>,
    field: &str,
    name: &'static str,
) -> Result<&'a str, InvalidField> {
    match map.get(field) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(InvalidField(name)),
    }
}

/// Joins text into one line and truncates it.
pub fn truncate_line(text: &str) -> String {
    let mut out = String::new();
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if !out.is_empty() {
            out.push(' ');
        }
        let room = MAX_MESSAGE_CHARS.saturating_sub(out.chars().count());
        if word.chars().nth(room).is_some() {
            out.extend(word.chars().take(room));
            out.push('…');
            break;
        }
        out.push_str(word);
    }
    out
}

/// Joins a summary with the reason and message of a condition, if any.
pub fn join_reason(summary: &str, reason: &str, message: &str) -> String {
    let parts = [summary.to_owned(), truncate_line(reason), truncate_line(message)];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(": ")
}

/// Unix time in seconds of an RFC 3339 timestamp; ignores fractions.
pub fn parse_rfc3339(time: &str) -> Option<i64> {
    let digits = |from: usize, to: usize| {
        let part = time.get(from..to)?;
        part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse::<i64>().ok())?
    };
    let mark = |index: usize, byte: u8| time.as_bytes().get(index) == Some(&byte);
    let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    let (year, month, day) = (digits(0, 4)?, digits(5, 7)?, digits(8, 10)?);
    let (hour, minute, second) = (digits(11, 13)?, digits(14, 16)?, digits(17, 19)?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let longest = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let fits = (1..=12).contains(&month) && (1..=longest).contains(&day);
    if !fits || hour > 23 || minute > 59 || second > 59 || !marks.iter().all(|(at, byte)| mark(*at, *byte)) {
        return None;
    }
    let mut zone = time.get(19..)?;
    if let Some(fraction) = zone.strip_prefix('.') {
        let rest = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
        if rest.len() == fraction.len() {
            return None;
        }
        zone = rest;
    }
    let offset = match zone.as_bytes() {
        [b'Z'] => 0,
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2]
            if [h1, h2, m1, m2].iter().all(|c| c.is_ascii_digit()) =>
        {
            let two = |high: &u8, low: &u8| i64::from(high - b'0') * 10 + i64::from(low - b'0');
            let ahead = two(h1, h2) * 3600 + two(m1, m2) * 60;
            if *sign == b'+' { ahead } else { -ahead }
        }
        _ => return None,
    };
    // Years start in March, so that the leap day is the last day.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year.div_euclid(4) - year.div_euclid(100)
        + year.div_euclid(400)
        + (month * 153 + 2) / 5
        + day
        - 1
        - 719_468;
    Some(days * 86_400 + hour * 3600 + minute * 60 + second - offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_rfc3339_to_unix_seconds() {
        let table = [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2026-11-16T07:22:41Z", Some(1_794_813_761)),
            ("2024-02-29T23:59:59.123Z", Some(1_709_251_199)),
            ("2024-03-01T00:00:00+01:00", Some(1_709_247_600)),
            ("0000-01-01T00:00:00Z", Some(-62_167_219_200)),
            ("2023-02-29T00:00:00Z", None),
            ("2024-01-01 00:00:00Z", None),
            ("2024-01-01T00:00:00.Z", None),
            ("2024-01-01T00:00:00", None),
            ("2024-01-01T24:00:00Z", None),
            ("ä024-01-01T00:00:00Z", None),
            ("", None),
        ];
        for (text, expected) in table {
            assert_eq!(parse_rfc3339(text), expected, "{text}");
        }
    }

    #[test]
    fn truncates_text_to_one_short_line() {
        assert_eq!(truncate_line(" a\n\tb \u{7}c "), "a b c");
        let long = truncate_line(&"ä".repeat(100_000));
        assert_eq!(long.chars().count(), MAX_MESSAGE_CHARS + 1);
        assert!(truncate_line(&"word ".repeat(100_000)).chars().count() <= MAX_MESSAGE_CHARS + 2);
    }
}
