//! Days and dates of the Gregorian calendar, far beyond history in both directions.
//!
//! Days are counted from 1 March of a year that is a multiple of 400 and earlier than any instant of 64 bits, so
//! the count is never negative and the leap day is the last day of its year. Arithmetic wraps like Go's.

/// Names of the months; January comes first.
pub const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Names of the days of the week; Sunday comes first.
pub const WEEKDAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

pub(super) const DAY: i64 = 86_400;

/// Years from the first day of the count to the year 0.
const EPOCH_YEARS: u64 = 292_277_022_400;
const DAYS_OF_400_YEARS: u64 = 146_097;
/// Days from 1 March of the year 0 to 1 January 1970.
const MARCH_0_TO_1970: u64 = 719_468;
/// Seconds from the first day of the count to 1970.
pub(super) const EPOCH_TO_1970: u64 = (EPOCH_YEARS / 400 * DAYS_OF_400_YEARS + MARCH_0_TO_1970) * DAY as u64;
/// Days from 1 March to the end of the year.
const MARCH_TO_DECEMBER: u64 = 306;

/// A count of days since the first day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Days(u64);

/// A date, and its place in the year.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Date {
    pub(super) year: i64,
    pub(super) month: i64,
    pub(super) day: i64,
    pub(super) year_day: i64,
}

impl Days {
    /// The day of a moment that is given in seconds since the first day.
    pub(super) fn of_seconds(seconds: u64) -> Self {
        Self(seconds / DAY as u64)
    }

    /// The day of a date; `month` is 1 to 12, `day` may be anything.
    pub(super) fn of_date(year: i64, month: i64, day: i64) -> Self {
        let early = month < 3;
        let years = (year as u64).wrapping_sub(u64::from(early)).wrapping_add(EPOCH_YEARS);
        let months_since_march = (month as u64).wrapping_add(9) % 12;
        // Months alternate in length so that five of them, from March on, have 153 days.
        let before_month = (153 * months_since_march + 2) / 5;
        let before_century = (DAYS_OF_400_YEARS).wrapping_mul(years / 100) / 4;
        let in_century = 1461 * (years % 100) / 4 + before_month;
        Self(before_century.wrapping_add(in_century).wrapping_add(day as u64).wrapping_sub(1))
    }

    /// The date of the day.
    pub(super) fn date(self) -> Date {
        let quarter_days = 4 * (self.0 % (1 << 62)) + 3;
        let century = quarter_days / DAYS_OF_400_YEARS;
        let in_century = (quarter_days % DAYS_OF_400_YEARS) | 3;
        let (year, day) = (in_century / 1461, in_century % 1461 / 4);
        let months_since_march = (5 * day + 2) / 153;
        let early = day >= MARCH_TO_DECEMBER;
        let leap = year.is_multiple_of(4) && (year != 0 || century.is_multiple_of(4));
        let year_day = if early { day - MARCH_TO_DECEMBER } else { day + 31 + 28 + u64::from(leap) };
        let number = |n: u64| n as i64;
        Date {
            year: number(century.wrapping_mul(100).wrapping_sub(EPOCH_YEARS))
                + number(year)
                + i64::from(early),
            month: number(if early { months_since_march - 9 } else { months_since_march + 3 }),
            day: number(day - (153 * months_since_march + 2) / 5) + 1,
            year_day: number(year_day) + 1,
        }
    }

    /// The day of the week; Sunday is 0.
    pub(super) fn weekday(self) -> i64 {
        ((self.0 % 7 + 3) % 7) as i64
    }

    /// The year and number of the week by ISO 8601: weeks begin on Monday and belong to the year of their Thursday.
    pub(super) fn iso_week(self) -> (i64, i64) {
        let since_monday = (self.weekday() + 6) % 7;
        let thursday = Self(self.0.wrapping_add_signed(3 - since_monday)).date();
        (thursday.year, (thursday.year_day - 1) / 7 + 1)
    }

    /// Seconds since 1970 at the start of the day.
    pub(super) fn unix(self) -> i64 {
        (self.0 as i64).wrapping_mul(DAY).wrapping_sub(EPOCH_TO_1970 as i64)
    }
}

pub(super) fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Days in a month, 1 to 12.
pub(super) fn days_in(month: i64, year: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days before a month, 1 to 12, in a year that is not a leap year.
pub(super) fn days_before(month: i64) -> i64 {
    (1..month).map(|month| days_in(month, 1)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_are_inverse_over_a_whole_cycle() {
        let mut expected = Days::of_date(-5, 1, 1);
        let mut weekday = expected.weekday();
        for year in -5..405 {
            for month in 1..=12 {
                for day in 1..=days_in(month, year) {
                    let days = Days::of_date(year, month, day);
                    assert_eq!((days, days.weekday()), (expected, weekday));
                    let year_day = days_before(month) + day + i64::from(month > 2 && is_leap(year));
                    assert_eq!(days.date(), Date { year, month, day, year_day });
                    expected = Days(expected.0 + 1);
                    weekday = (weekday + 1) % 7;
                }
            }
        }
    }

    #[test]
    fn the_epoch_of_unix_is_where_it_belongs() {
        let day = Days::of_date(1970, 1, 1);
        assert_eq!((day.unix(), day.weekday(), day.iso_week()), (0, 4, (1970, 1)));
    }
}
