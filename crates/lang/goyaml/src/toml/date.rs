//! Dates and times.

use crate::emit::is_date;

/// A TOML date or time in the form that Go's JSON gives it: with a date (the first day of the year 0 for a time alone)
/// and a zone (UTC for what is local). `text` has `T` and `Z` in upper case.
pub(super) fn to_json(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let (date, time) = match date(bytes) {
        Some([b'T', time @ ..]) => (text.get(..10)?, Some(time)),
        Some([]) => (text, None),
        Some(_) => return None,
        None => ("0000-01-01", Some(bytes)),
    };
    let mut json = String::with_capacity(32);
    json.push_str(date);
    json.push('T');
    match time {
        Some(time) => clock(&mut json, time, bytes.len() != time.len())?,
        None => json.push_str("00:00:00Z"),
    }
    Some(json)
}

/// What follows the date at the start.
fn date(text: &[u8]) -> Option<&[u8]> {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, rest @ ..] = text else { return None };
    let year = number(&[*y1, *y2, *y3, *y4])?;
    is_date(year, number(&[*m1, *m2])?, number(&[*d1, *d2])?).then_some(rest)
}

fn number(digits: &[u8]) -> Option<u32> {
    let digit = |b: &u8| b.is_ascii_digit().then(|| u32::from(b - b'0'));
    digits.iter().try_fold(0, |n, b| Some(n * 10 + digit(b)?))
}

/// Appends the time of day and its zone; only after a date may a zone be written.
fn clock(json: &mut String, text: &[u8], dated: bool) -> Option<()> {
    let [h1, h2, b':', m1, m2, rest @ ..] = text else { return None };
    let (hour, minute) = (number(&[*h1, *h2])?, number(&[*m1, *m2])?);
    let (second, rest) = match rest {
        [b':', s1, s2, rest @ ..] => (number(&[*s1, *s2])?, rest),
        rest => (0, rest),
    };
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    json.push_str(&format!("{hour:02}:{minute:02}:{second:02}"));
    let has_seconds = text.get(5) == Some(&b':');
    let rest = if has_seconds { fraction(json, rest)? } else { rest };
    match rest {
        [] => json.push('Z'),
        [b'Z'] if dated => json.push('Z'),
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] if dated => {
            let (hours, minutes) = (number(&[*h1, *h2])?, number(&[*m1, *m2])?);
            if hours > 24 || minutes > 60 {
                return None;
            }
            match hours * 60 + minutes {
                0 => json.push('Z'),
                offset => {
                    json.push_str(&format!("{}{:02}:{:02}", char::from(*sign), offset / 60, offset % 60))
                }
            }
        }
        _ => return None,
    }
    Some(())
}

/// Appends the fraction of a second, cut to nanoseconds and without zeroes at its end; gives what follows it.
fn fraction<'t>(json: &mut String, text: &'t [u8]) -> Option<&'t [u8]> {
    let [b'.', b'0'..=b'9', ..] = text else { return Some(text) };
    let digits = text.iter().skip(1).take_while(|b| b.is_ascii_digit()).count();
    let (shown, rest) = text.split_at_checked(1 + digits)?;
    let shown = std::str::from_utf8(shown.get(..shown.len().min(10))?).ok()?;
    json.push_str(shown.trim_end_matches('0').trim_end_matches('.'));
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::to_json;

    #[test]
    fn times_become_what_go_marshals() {
        for (text, json) in [
            ("1979-05-27T07:32:00Z", Some("1979-05-27T07:32:00Z")),
            ("1979-05-27T00:32:00.999999-07:00", Some("1979-05-27T00:32:00.999999-07:00")),
            ("1979-05-27T07:32:00.5000", Some("1979-05-27T07:32:00.5Z")),
            ("1979-05-27T07:32:00.0000", Some("1979-05-27T07:32:00Z")),
            ("1979-05-27T07:32", Some("1979-05-27T07:32:00Z")),
            ("1979-05-27", Some("1979-05-27T00:00:00Z")),
            ("07:32:00.1234567891", Some("0000-01-01T07:32:00.123456789Z")),
            ("07:32", Some("0000-01-01T07:32:00Z")),
            ("1979-05-27T07:32:00-00:00", Some("1979-05-27T07:32:00Z")),
            ("1979-05-27T07:32:00+00:60", Some("1979-05-27T07:32:00+01:00")),
            ("1979-02-29", None),
            ("07:32Z", None),
            ("7:32", None),
            ("1979-05-27T", None),
            ("1979-05-27T07:32:00.", None),
        ] {
            assert_eq!(to_json(text).as_deref(), json, "{text}");
        }
    }
}
