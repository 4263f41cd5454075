//! `metav1.Time`: RFC 3339 with whole seconds in UTC.

/// Parses RFC 3339 into seconds since the Unix epoch.
pub fn parse_seconds(text: &str) -> Option<i64> {
    let number = |range: std::ops::Range<usize>| -> Option<i64> {
        let digits = text.get(range)?;
        digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    let mark =
        |at: usize, marks: &[u8]| text.as_bytes().get(at).is_some_and(|b| marks.contains(b)).then_some(());
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
    for (at, marks) in [(4, "-"), (7, "-"), (10, "T"), (13, ":"), (16, ":")] {
        mark(at, marks.as_bytes())?;
    }
    let fits = (1..=12).contains(&month) && (1..=days_in_month(year, month)).contains(&day);
    if !fits || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let mut rest = text.get(19..)?;
    if let Some(fraction) = rest.strip_prefix('.') {
        let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
        rest = fraction.get(digits..).filter(|_| digits > 0)?;
    }
    let offset = if rest == "Z" {
        0
    } else {
        let at = text.len() - rest.len();
        if rest.len() != 6 {
            return None;
        }
        mark(at, b"+-")?;
        mark(at + 3, b":")?;
        let (hours, minutes) = (number(at + 1..at + 3)?, number(at + 4..at + 6)?);
        if hours > 23 || minutes > 59 {
            return None;
        }
        (hours * 60 + minutes) * if rest.starts_with('-') { -60 } else { 60 }
    };
    Some(day_number(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset)
}

/// Formats seconds since the Unix epoch as RFC 3339 in UTC.
pub fn format_seconds(seconds: i64) -> String {
    let (day, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // 400 years have 146 097 days; counting years from March puts the leap day last.
    let shifted = day + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
}

fn day_number(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, day_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    era * 146_097 + day_of_era * 365 + day_of_era / 4 - day_of_era / 100 + day_of_year - 719_468
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_and_formats_utc() {
        for (given, stored) in [
            ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z"),
            ("2024-02-29T23:59:59Z", "2024-02-29T23:59:59Z"),
            ("2024-03-01T01:00:00+02:00", "2024-02-29T23:00:00Z"),
            ("1999-12-31T23:00:00.25-01:30", "2000-01-01T00:30:00Z"),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ] {
            assert_eq!(parse_seconds(given).map(format_seconds).as_deref(), Some(stored), "{given}");
        }
        for bad in
            ["", "2024-02-30T00:00:00Z", "2024-01-01", "2024-01-01T00:00:00", "2024-01-01T24:00:00Z", "é024"]
        {
            assert_eq!(parse_seconds(bad), None, "{bad}");
        }
    }
}
