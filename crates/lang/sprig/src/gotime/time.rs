//! Instants with a place to be seen from.

use std::cmp::Ordering;
use std::fmt;

use super::calendar::{DAY, Date, Days, EPOCH_TO_1970};
use super::duration::Duration;
use super::format;
use super::location::{Location, Span};

/// Why an instant has no form that other programs read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// The year has not four digits.
    #[error("{0}: year outside of range [0,9999]")]
    Year(&'static str),
    /// The zone's offset does not fit into the binary form.
    #[error("{0}: unexpected zone offset")]
    Offset(&'static str),
    /// The zone is a day or more away from universal time.
    #[error("{0}: timezone hour outside of range [0,23]")]
    ZoneHour(&'static str),
}

const BILLION: i64 = 1_000_000_000;
/// Seconds from the first moment of the year 1 to 1970.
const YEAR_1_TO_1970: i64 = 62_135_596_800;
/// Seconds from the first moment of the year 1 to 1885, the first year that Go combines with a clock reading.
const YEAR_1_TO_1885: i64 = 59_453_308_800;

/// An instant with nanoseconds, the place that it is seen from, and maybe a reading of a monotonic clock.
#[derive(Debug, Clone, Default)]
pub struct Time {
    /// Seconds since the year 1.
    seconds: i64,
    nanoseconds: u32,
    /// Nanoseconds that the process had been running.
    monotonic: Option<i64>,
    location: Location,
}

/// Carries what exceeds `base` from the lower of two numbers to the higher.
fn carry(high: i64, low: i64, base: i64) -> (i64, i64) {
    (high.wrapping_add(low.div_euclid(base)), low.rem_euclid(base))
}

impl Time {
    /// The instant so many seconds and nanoseconds after 1970.
    pub fn from_unix(seconds: i64, nanoseconds: i64, location: Location) -> Self {
        let (seconds, nanoseconds) = carry(seconds, nanoseconds, BILLION);
        let seconds = seconds.wrapping_add(YEAR_1_TO_1970);
        Self { seconds, nanoseconds: nanoseconds as u32, monotonic: None, location }
    }

    /// The present as Go's `now` tells it: with the nanoseconds that the process has been running.
    pub fn now(seconds: i64, nanoseconds: u32, monotonic: i64, local: Location) -> Self {
        let mut time = Self::from_unix(seconds, i64::from(nanoseconds), local);
        time.monotonic = Some(monotonic);
        time.forget_impossible_reading();
        time
    }

    /// The instant of a date; every number may be beyond its usual range.
    pub fn from_date(date: [i64; 3], clock: [i64; 3], nanoseconds: i64, location: Location) -> Self {
        let ([year, month, day], [hour, minute, second]) = (date, clock);
        let (year, month) = carry(year, month.wrapping_sub(1), 12);
        let (second, nanoseconds) = carry(second, nanoseconds, BILLION);
        let (minute, second) = carry(minute, second, 60);
        let (hour, minute) = carry(hour, minute, 60);
        let (day, hour) = carry(day, hour, 24);
        let of_day = (hour * 60 + minute) * 60 + second;
        let mut unix = Days::of_date(year, month + 1, day).unix().wrapping_add(of_day);
        // The offset at this moment of local time may be that of the other side of a change.
        let Span { mut offset, start, end, .. } = location.lookup(unix);
        if offset != 0 {
            let universal = unix.wrapping_sub(offset);
            if universal < start || universal >= end {
                offset = location.lookup(universal).offset;
            }
            unix = unix.wrapping_sub(offset);
        }
        Self::from_unix(unix, nanoseconds, location)
    }

    /// The place that the instant is seen from.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// The same instant seen from another place.
    pub fn with_location(&self, location: Location) -> Self {
        Self { location, monotonic: None, ..self.clone() }
    }

    /// The same instant in universal time.
    pub fn utc(&self) -> Self {
        self.with_location(Location::UTC)
    }

    /// Seconds since 1970.
    pub fn unix(&self) -> i64 {
        self.seconds.wrapping_sub(YEAR_1_TO_1970)
    }

    /// Milliseconds since 1970.
    pub fn unix_milli(&self) -> i64 {
        self.unix().wrapping_mul(1_000).wrapping_add(i64::from(self.nanoseconds / 1_000_000))
    }

    /// Microseconds since 1970.
    pub fn unix_micro(&self) -> i64 {
        self.unix().wrapping_mul(1_000_000).wrapping_add(i64::from(self.nanoseconds / 1_000))
    }

    /// Nanoseconds since 1970.
    pub fn unix_nano(&self) -> i64 {
        self.unix().wrapping_mul(BILLION).wrapping_add(i64::from(self.nanoseconds))
    }

    pub(super) fn span(&self) -> Span<'_> {
        self.location.lookup(self.unix())
    }

    /// The abbreviation of the kind of time in force and its seconds east of Greenwich.
    pub fn zone(&self) -> (&[u8], i64) {
        let span = self.span();
        (span.name, span.offset)
    }

    /// Reports whether summer time is in force.
    pub fn is_dst(&self) -> bool {
        self.span().summer
    }

    /// Between which instants the clocks do not change, as far as known.
    pub fn zone_bounds(&self) -> (Self, Self) {
        let Span { start, end, .. } = self.span();
        let bound = |unix: i64, none: i64| match unix {
            unix if unix == none => Self::default(),
            unix => Self::from_unix(unix, 0, self.location.clone()),
        };
        (bound(start, i64::MIN), bound(end, i64::MAX))
    }

    fn local_seconds(&self) -> u64 {
        (self.unix().wrapping_add(self.span().offset) as u64).wrapping_add(EPOCH_TO_1970)
    }

    pub(super) fn days(&self) -> Days {
        Days::of_seconds(self.local_seconds())
    }

    pub(super) fn full_date(&self) -> Date {
        self.days().date()
    }

    /// Year, month (from 1) and day.
    pub fn date(&self) -> [i64; 3] {
        let Date { year, month, day, .. } = self.full_date();
        [year, month, day]
    }

    /// Hour, minute and second.
    pub fn clock(&self) -> [i64; 3] {
        let of_day = (self.local_seconds() % DAY as u64) as i64;
        [of_day / 3600, of_day / 60 % 60, of_day % 60]
    }

    /// The nanoseconds of the second.
    pub fn nanosecond(&self) -> u32 {
        self.nanoseconds
    }

    /// The day of the year, from 1.
    pub fn year_day(&self) -> i64 {
        self.full_date().year_day
    }

    /// The day of the week; Sunday is 0.
    pub fn weekday(&self) -> i64 {
        self.days().weekday()
    }

    /// Year and week by ISO 8601.
    pub fn iso_week(&self) -> (i64, i64) {
        self.days().iso_week()
    }

    /// Reports whether this is the first moment of the year 1, which stands for no time at all.
    pub fn is_zero(&self) -> bool {
        self.seconds == 0 && self.nanoseconds == 0
    }

    fn without_reading(&self) -> Self {
        Self { monotonic: None, ..self.clone() }
    }

    /// Go keeps a clock reading only together with a time between 1885 and 2157.
    fn forget_impossible_reading(&mut self) {
        let since_1885 = self.seconds.wrapping_sub(YEAR_1_TO_1885);
        if !(0..1 << 33).contains(&since_1885) {
            self.monotonic = None;
        }
    }

    /// The instant a duration later, or the limit when there is no such instant.
    pub fn add(&self, duration: Duration) -> Self {
        let nanoseconds = i64::from(self.nanoseconds) + duration.0 % BILLION;
        let (seconds, nanoseconds) = carry(duration.0 / BILLION, nanoseconds, BILLION);
        let mut time = Self {
            // The lower limit is one more than the least number.
            seconds: self.seconds.checked_add(seconds).unwrap_or(if seconds > 0 {
                i64::MAX
            } else {
                -i64::MAX
            }),
            nanoseconds: nanoseconds as u32,
            monotonic: self.monotonic.and_then(|reading| reading.checked_add(duration.0)),
            location: self.location.clone(),
        };
        time.forget_impossible_reading();
        time
    }

    /// The instant so many years, months and days later by the calendar of its place.
    pub fn add_date(&self, years: i64, months: i64, days: i64) -> Self {
        let [year, month, day] = self.date();
        let date = [year.wrapping_add(years), month.wrapping_add(months), day.wrapping_add(days)];
        Self::from_date(date, self.clock(), i64::from(self.nanoseconds), self.location.clone())
    }

    /// Nanoseconds since the year 1.
    fn total(&self) -> i128 {
        i128::from(self.seconds) * i128::from(BILLION) + i128::from(self.nanoseconds)
    }

    /// What two instants are compared by: the clock readings if both have one.
    fn totals(&self, other: &Self) -> (i128, i128) {
        match (self.monotonic, other.monotonic) {
            (Some(one), Some(two)) => (one.into(), two.into()),
            _ => (self.total(), other.total()),
        }
    }

    /// The duration since another instant, or the limit when it does not fit.
    pub fn sub(&self, other: &Self) -> Duration {
        let (one, two) = self.totals(other);
        Duration::saturating(one - two)
    }

    /// Orders instants wherever they are seen from.
    pub fn compare(&self, other: &Self) -> Ordering {
        let (one, two) = self.totals(other);
        one.cmp(&two)
    }

    /// Reports whether both are the same instant.
    pub fn equal(&self, other: &Self) -> bool {
        self.compare(other).is_eq()
    }

    /// Reports whether this instant comes first.
    pub fn before(&self, other: &Self) -> bool {
        self.compare(other).is_lt()
    }

    /// Reports whether this instant comes last.
    pub fn after(&self, other: &Self) -> bool {
        self.compare(other).is_gt()
    }

    /// Reports whether Go's `==` holds: instant, clock reading and place are all the same.
    pub fn is_identical(&self, other: &Self) -> bool {
        (self.seconds, self.nanoseconds, self.monotonic)
            == (other.seconds, other.nanoseconds, other.monotonic)
            && self.location.is_same(&other.location)
    }

    /// The last multiple of a duration since the year 1 that is not later.
    pub fn truncate(&self, multiple: Duration) -> Self {
        let time = self.without_reading();
        if multiple.0 <= 0 { time } else { time.add(Duration(-time.since_multiple(multiple))) }
    }

    /// The nearest multiple of a duration since the year 1, halves to the later.
    pub fn round(&self, multiple: Duration) -> Self {
        let time = self.without_reading();
        if multiple.0 <= 0 {
            return time;
        }
        let rest = time.since_multiple(multiple);
        let down = i128::from(rest) * 2 < i128::from(multiple.0);
        time.add(Duration(if down { -rest } else { multiple.0 - rest }))
    }

    fn since_multiple(&self, multiple: Duration) -> i64 {
        self.total().rem_euclid(i128::from(multiple.0)) as i64
    }

    /// Writes the instant by a layout.
    pub fn format(&self, layout: impl AsRef<[u8]>) -> Vec<u8> {
        format::format(self, layout.as_ref())
    }

    /// The text of `MarshalJSON`, quotes included.
    pub fn marshal_json(&self) -> Result<String, TimeError> {
        Ok(format!("\"{}\"", self.rfc3339("Time.MarshalJSON")?))
    }

    /// The text of `MarshalText`.
    pub fn marshal_text(&self) -> Result<String, TimeError> {
        self.rfc3339("Time.MarshalText")
    }

    /// The text of `AppendText`.
    pub fn append_text(&self) -> Result<String, TimeError> {
        self.rfc3339("Time.AppendText")
    }

    /// The bytes of `MarshalBinary`.
    pub fn marshal_binary(&self, method: &'static str) -> Result<Vec<u8>, TimeError> {
        let (minutes, seconds) = match self.zone().1 {
            _ if self.location.is_utc() => (-1, 0),
            offset => (offset / 60, offset % 60),
        };
        let minutes = i16::try_from(minutes).map_err(|_| TimeError::Offset(method))?;
        if minutes == -1 && !self.location.is_utc() {
            return Err(TimeError::Offset(method));
        }
        let mut bytes = vec![if seconds == 0 { 1 } else { 2 }];
        bytes.extend(self.seconds.to_be_bytes());
        bytes.extend(self.nanoseconds.to_be_bytes());
        bytes.extend(minutes.to_be_bytes());
        if seconds != 0 {
            bytes.push(seconds as u8);
        }
        Ok(bytes)
    }

    fn rfc3339(&self, method: &'static str) -> Result<String, TimeError> {
        if !(0..=9999).contains(&self.full_date().year) {
            return Err(TimeError::Year(method));
        }
        if self.zone().1.abs() >= DAY {
            return Err(TimeError::ZoneHour(method));
        }
        let text = self.format("2006-01-02T15:04:05.999999999Z07:00");
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// Go's fields `wall` and `ext`.
    pub fn words(&self) -> (u64, i64) {
        let nanoseconds = u64::from(self.nanoseconds);
        match self.monotonic {
            Some(reading) => {
                let since_1885 = self.seconds.wrapping_sub(YEAR_1_TO_1885) as u64;
                (1 << 63 | since_1885 << 30 | nanoseconds, reading)
            }
            None => (nanoseconds, self.seconds),
        }
    }

    /// The time as Go source.
    pub fn go_string(&self) -> String {
        let ([year, month, day], [hour, minute, second]) = (self.date(), self.clock());
        let month = usize::try_from(month - 1).ok().and_then(|i| super::MONTHS.get(i)).unwrap_or(&"");
        let (nanosecond, place) = (self.nanoseconds, self.location.go_string());
        format!("time.Date({year}, time.{month}, {day}, {hour}, {minute}, {second}, {nanosecond}, {place})")
    }

    /// The text that Go prints for a time, with the clock reading if there is one.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut text = self.format("2006-01-02 15:04:05.999999999 -0700 MST");
        if let Some(reading) = self.monotonic {
            let sign = if reading < 0 { '-' } else { '+' };
            let (seconds, rest) =
                (reading.unsigned_abs() / BILLION as u64, reading.unsigned_abs() % BILLION as u64);
            text.extend(format!(" m={sign}{seconds}.{rest:09}").bytes());
        }
        text
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.to_bytes()))
    }
}
