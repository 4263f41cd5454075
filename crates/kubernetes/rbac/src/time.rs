//! Moments as the API writes them.

const DAY: i64 = 86_400;

/// A moment in seconds since 1970 as `2026-01-31T12:00:00Z`.
pub fn format(seconds: i64) -> String {
    let (days, second) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
    let (year, month, day) = civil(days);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60)
}

/// The moment of a text as the API writes it; nothing if it is none.
pub fn parse(text: &str) -> Option<i64> {
    let text = text.strip_suffix('Z')?;
    let (date, clock) = text.split_once('T')?;
    let numbers = |text: &str, mark: char| -> Option<[i64; 3]> {
        let parts: Vec<i64> =
            text.split(mark).map(|part| part.parse::<u32>().ok().map(i64::from)).collect::<Option<_>>()?;
        parts.try_into().ok()
    };
    let [year, month, day] = numbers(date, '-')?;
    // Parts of a second do not matter.
    let [hour, minute, second] = numbers(clock.split('.').next()?, ':')?;
    if !(1..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    Some(days(year, month, day) * DAY + hour * 3600 + minute * 60 + second)
}

/// The day of a date, counted from 1970.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // Years here begin in March, so that the leap day is the last one.
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    365 * year + year.div_euclid(4) - year.div_euclid(100)
        + year.div_euclid(400)
        + (153 * month + 2) / 5
        + day
        - 719_469
}

/// Year, month and day of a day counted from 1970.
pub fn civil(day: i64) -> (i64, i64, i64) {
    let mut year = 1970 + day.div_euclid(if day < 0 { 365 } else { 366 });
    while days(year + 1, 1, 1) <= day {
        year += 1;
    }
    let month = (1..=12).rev().find(|month| days(year, *month, 1) <= day).unwrap_or(1);
    (year, month, day - days(year, month, 1) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_and_read() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_868_799, "2000-02-29T23:59:59Z"),
            (1_767_225_600, "2026-01-01T00:00:00Z"),
            (4_102_444_799, "2099-12-31T23:59:59Z"),
            (-1, "1969-12-31T23:59:59Z"),
        ] {
            assert_eq!(format(seconds), text);
            assert_eq!(parse(text), Some(seconds));
        }
        for day in (-1_000_000..1_000_000).step_by(997) {
            let (year, month, of) = civil(day);
            assert_eq!(days(year, month, of), day);
        }
        assert_eq!(parse("2026-01-01T00:00:00.5Z"), Some(1_767_225_600));
        for text in
            ["", "2026-01-01", "2026-13-01T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:00:00+01:00"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
