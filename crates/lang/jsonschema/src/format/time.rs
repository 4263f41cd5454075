//! Formats of dates, times and durations.

use super::{atoi, ensure, leading_digits};
use crate::go::date;
use crate::go::quote::character;

pub(super) fn date(text: &str) -> Result<(), String> {
    date::parse(text.as_bytes())
}

/// Two or three numbers with colons between them, none of them negative.
fn numbers(text: Option<&str>, count: usize, what: &str, place: &str) -> Result<Vec<i64>, String> {
    let mut out = Vec::with_capacity(count);
    // A text that is cut inside a character has something else than digits.
    for token in text.unwrap_or("?").splitn(count, ':') {
        let n = atoi(token).map_err(|_| format!("invalid {what}{place}"))?;
        ensure(n >= 0, &format!("non-positive {what}{place}"))?;
        out.push(n);
    }
    Ok(out)
}

pub(super) fn time(text: &str) -> Result<(), String> {
    let bytes = text.as_bytes();
    ensure(bytes.len() >= 9, "less than 9 characters long")?;
    let colon = |at: usize, bytes: &[u8]| bytes.get(at) == Some(&b':');
    ensure(colon(2, bytes) && colon(5, bytes), "missing colon in correct place")?;
    let clock = numbers(text.get(..8), 3, "hour/min/sec", "")?;
    let [mut hour, mut minute, second] = clock[..] else { return Err("missing hour/min/sec".into()) };
    ensure(hour <= 23 && minute <= 59 && second <= 60, "hour/min/sec out of range")?;
    let mut rest = text.get(8..).unwrap_or_default();
    if let Some(fraction) = rest.strip_prefix('.') {
        let digits = leading_digits(fraction);
        ensure(digits > 0, "no digits in second fraction")?;
        rest = fraction.get(digits..).unwrap_or_default();
    }
    if !matches!(rest, "z" | "Z") {
        ensure(rest.len() == 6, "offset must be 6 characters long")?;
        let direction = match rest.as_bytes().first() {
            Some(b'+') => -1,
            Some(b'-') => 1,
            _ => return Err("offset must begin with plus/minus".into()),
        };
        let offset = rest.get(1..);
        ensure(rest.as_bytes().get(3) == Some(&b':'), "missing colon in offset in correct place")?;
        let offset = numbers(offset, 2, "hour/min", " in offset")?;
        let [hours, minutes] = offset[..] else { return Err("invalid hour/min in offset".into()) };
        ensure(hours <= 23 && minutes <= 59, "hour/min in offset out of range")?;
        let mut total = hour * 60 + minute + direction * (hours * 60 + minutes);
        if total < 0 {
            total += 24 * 60;
        }
        (hour, minute) = (total / 60, total % 60);
    }
    ensure(second < 60 || (hour == 23 && minute == 59), "invalid leap second")
}

pub(super) fn date_time(text: &str) -> Result<(), String> {
    let bytes = text.as_bytes();
    ensure(bytes.len() >= 20, "less than 20 characters long")?;
    ensure(matches!(bytes.get(10), Some(b't' | b'T')), "11th character must be t or T")?;
    let day = bytes.get(..10).unwrap_or_default();
    date::parse(day).map_err(|reason| format!("invalid date element: {reason}"))?;
    time(text.get(11..).unwrap_or_default()).map_err(|reason| format!("invalid time element: {reason}"))
}

pub(super) fn duration(text: &str) -> Result<(), String> {
    let text = text.strip_prefix('P').ok_or("must start with P")?;
    ensure(!text.is_empty(), "nothing after P")?;
    if let Some(weeks) = text.strip_suffix('W') {
        ensure(!weeks.is_empty(), "no number in week")?;
        return ensure(leading_digits(weeks) == weeks.len(), "invalid week");
    }
    for (i, mut part) in text.split('T').enumerate() {
        ensure(i == 0 || !part.is_empty(), "no time elements")?;
        let all = match i {
            0 => "YMD",
            1 => "HMS",
            _ => return Err("more than one T".into()),
        };
        let mut units = all;
        while !part.is_empty() {
            let digits = leading_digits(part);
            ensure(digits > 0, "missing number")?;
            part = part.get(digits..).unwrap_or_default();
            let unit = *part.as_bytes().first().ok_or("missing unit")?;
            let Some(at) = units.find(char::from(unit)) else {
                let unit = character(char::from(unit));
                let known = all.contains(unit.trim_matches('\''));
                return Err(if known {
                    format!("unit {unit} out of order")
                } else {
                    format!("invalid unit {unit}")
                });
            };
            units = units.get(at + 1..).unwrap_or_default();
            part = part.get(1..).unwrap_or_default();
        }
    }
    Ok(())
}

pub(super) fn period(text: &str) -> Result<(), String> {
    let (start, end) = text.split_once('/').ok_or("missing slash")?;
    let is = |check: fn(&str) -> Result<(), String>, text: &str, what: &str| {
        check(text).map_err(|reason| format!("invalid {what}: {reason}"))
    };
    if start.starts_with('P') {
        is(duration, start, "start duration")?;
        return is(date_time, end, "end date-time");
    }
    is(date_time, start, "start date-time")?;
    if end.starts_with('P') { is(duration, end, "end duration") } else { is(date_time, end, "end date-time") }
}
