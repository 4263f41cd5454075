//! RFC 3339 timestamps, parsed and formatted as Go does, with Go's error messages.

/// Go's zero time, the start of year 1, which stands for "not set".
pub const ZERO_TIME: i64 = -62_135_596_800;
const SECONDS_PER_DAY: i64 = 86_400;

/// Formats a timestamp, optionally with microseconds; `None` for the zero time.
pub fn format(seconds: i64, nanoseconds: u32, micro: bool) -> Option<String> {
    if seconds == ZERO_TIME && nanoseconds == 0 {
        return None;
    }
    let (days, rest) = (seconds.div_euclid(SECONDS_PER_DAY), seconds.rem_euclid(SECONDS_PER_DAY));
    let (year, month, day) = date(days);
    let sign = if year < 0 { "-" } else { "" };
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    let fraction = if micro { format!(".{:06}", nanoseconds / 1000) } else { String::new() };
    let year = year.unsigned_abs();
    Some(format!("{sign}{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z"))
}

/// The date of a day counted from 1970-01-01.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days.saturating_add(719_468);
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let rest = day - (365 * year + year / 4 - year / 100);
    let shifted = (5 * rest + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year + era * 400 + i64::from(month <= 2), month, rest - (153 * shifted + 2) / 5 + 1)
}

/// The day of a date, counted from 1970-01-01.
fn day_number(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// Parses a timestamp into seconds and nanoseconds; errors are Go's. With `micro`, six fractional digits are required.
pub fn parse(text: &str, micro: bool) -> Result<(i64, u32), String> {
    if let Some(seconds) = parse_common(text.as_bytes()).filter(|_| !micro) {
        return Ok((seconds, 0));
    }
    let layout = if micro { "2006-01-02T15:04:05.000000Z07:00" } else { "2006-01-02T15:04:05Z07:00" };
    let wrong = |rest: &str, part: &str| {
        format!(
            "parsing time {} as {}: cannot parse {} as {}",
            quote(text),
            quote(layout),
            quote(rest),
            quote(part)
        )
    };
    let range = |part: &str| format!("parsing time {}: {part} out of range", quote(text));
    let mut at = 0;
    let mut numbers = [0_i64; 6];
    let parts = [("2006", 4), ("01", 2), ("02", 2), ("15", 2), ("04", 2), ("05", 2)];
    let between = ["", "-", "-", "T", ":", ":"];
    for (index, ((part, width), before)) in parts.into_iter().zip(between).enumerate() {
        let rest = text.get(at..).unwrap_or_default();
        if !rest.starts_with(before) {
            return Err(wrong(rest, before));
        }
        at += before.len();
        let rest = text.get(at..).unwrap_or_default();
        let digits = rest.bytes().take(width).take_while(u8::is_ascii_digit).count();
        // Go's layout accepts one digit for the hour.
        let taken = if part == "15" && digits == 1 { 1 } else { width };
        if digits < taken {
            return Err(wrong(rest, part));
        }
        at += taken;
        let number = rest.get(..taken).and_then(|digits| digits.parse().ok()).unwrap_or(0);
        if let Some(slot) = numbers.get_mut(index) {
            *slot = number;
        }
        let (low, high, name) = match index {
            1 => (1, 12, "month"),
            3 => (0, 23, "hour"),
            4 => (0, 59, "minute"),
            5 => (0, 59, "second"),
            _ => (0, i64::MAX, ""),
        };
        if number < low || number > high {
            return Err(range(name));
        }
    }
    let [year, month, day, hour, minute, second] = numbers;
    let mut nanoseconds = 0;
    let rest = text.get(at..).unwrap_or_default();
    let digits =
        rest.strip_prefix(['.', ',']).map_or(0, |rest| rest.bytes().take_while(u8::is_ascii_digit).count());
    if micro && (digits < 6 || rest.starts_with(',')) {
        return Err(wrong(rest, ".000000"));
    }
    if digits > 0 {
        let kept: String = rest.chars().skip(1).take(digits.min(9)).collect();
        nanoseconds = format!("{kept:0<9}").parse().unwrap_or(0);
        let width = if micro { 6 } else { digits };
        if micro {
            nanoseconds = nanoseconds / 1000 * 1000;
        }
        at += 1 + width;
    }
    let rest = text.get(at..).unwrap_or_default();
    let (offset, taken) = parse_offset(rest).ok_or_else(|| wrong(rest, "Z07:00"))?;
    at += taken;
    let rest = text.get(at..).unwrap_or_default();
    if !rest.is_empty() {
        return Err(format!("parsing time {}: extra text: {}", quote(text), quote(rest)));
    }
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    if day < 1 || day > last {
        return Err(range("day"));
    }
    Ok((
        day_number(year, month, day) * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second - offset,
        nanoseconds,
    ))
}

/// Fast path for the form that API servers write.
fn parse_common(text: &[u8]) -> Option<i64> {
    let [a, b, c, d, b'-', e, f, b'-', g, h, b'T', i, j, b':', k, l, b':', m, n, b'Z'] = text else {
        return None;
    };
    let two = |high: &u8, low: &u8| {
        let digits = high.is_ascii_digit() && low.is_ascii_digit();
        digits.then(|| i64::from(high - b'0') * 10 + i64::from(low - b'0'))
    };
    let (year, month, day) = (two(a, b)? * 100 + two(c, d)?, two(e, f)?, two(g, h)?);
    let (hour, minute, second) = (two(i, j)?, two(k, l)?, two(m, n)?);
    // The days 29 to 31, which depend on the month, are left to the slow path.
    let fits = (1..=12).contains(&month) && (1..=28).contains(&day);
    (fits && hour < 24 && minute < 60 && second < 60)
        .then(|| day_number(year, month, day) * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second)
}

/// Parses a UTC offset into seconds east; returns its length as well.
fn parse_offset(text: &str) -> Option<(i64, usize)> {
    let bytes = text.as_bytes();
    match bytes {
        [b'Z', ..] => Some((0, 1)),
        [sign @ (b'+' | b'-'), a, b, b':', c, d, ..] if [a, b, c, d].iter().all(|d| d.is_ascii_digit()) => {
            let two = |a: &u8, b: &u8| i64::from(a - b'0') * 10 + i64::from(b - b'0');
            let (hours, minutes) = (two(a, b), two(c, d));
            let offset = hours * 3600 + minutes * 60;
            (hours <= 24 && minutes < 60).then_some((if *sign == b'-' { -offset } else { offset }, 6))
        }
        _ => None,
    }
}

/// Quotes a text as Go's `time` package does in errors.
fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if u32::from(c) >= 0x80 || u32::from(c) < 0x20 => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    out.push_str(&format!("\\x{byte:02x}"));
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_and_formats_timestamps() {
        for (text, written) in [
            ("2020-01-02T03:04:05Z", Some("2020-01-02T03:04:05Z")),
            ("2024-02-29T00:00:00+02:00", Some("2024-02-28T22:00:00Z")),
            ("1999-12-31T23:59:59.5-07:30", Some("2000-01-01T07:29:59Z")),
            ("0001-01-01T00:00:00Z", None),
        ] {
            let (seconds, nanoseconds) = parse(text, false).unwrap();
            let nanoseconds = if seconds == ZERO_TIME { nanoseconds } else { 0 };
            assert_eq!(format(seconds, nanoseconds, false).as_deref(), written, "{text}");
        }
        assert_eq!(
            parse("x", false).unwrap_err(),
            "parsing time \"x\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"x\" as \"2006\""
        );
        assert!(parse("2023-02-29T00:00:00Z", false).is_err());
    }

    #[test]
    fn fast_path_agrees_with_slow_path() {
        for day in [0, 1, 9, 27, 28, 29, 30, 31, 32] {
            for (month, time) in [
                (0, "00:00:00"),
                (1, "23:59:59"),
                (2, "24:00:00"),
                (11, "00:60:00"),
                (12, "00:00:60"),
                (13, "1a:00:00"),
            ] {
                for year in ["0000", "1900", "2000", "2023", "2024", "9999"] {
                    let text = format!("{year}-{month:02}-{day:02}T{time}");
                    let any = parse(&format!("{text}+00:00"), false);
                    assert_eq!(parse(&format!("{text}Z"), false).ok(), any.ok(), "{text}");
                }
            }
        }
    }
}
