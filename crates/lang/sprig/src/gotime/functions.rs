//! Sprig's date functions, over the types of this module.

use super::duration::{Duration, DurationError};
use super::location::Location;
use super::parse::{ParseError, parse_in_location};
use super::time::Time;
use crate::strconv::parse_int;

/// The present and the local zone.
#[derive(Debug, Clone)]
pub struct Clock {
    /// The present, seen from the local zone.
    pub now: Time,
    /// What `Local` means.
    pub local: Location,
}

/// A value of a template as far as time is concerned.
#[derive(Debug, Clone, Copy)]
pub enum Arg<'a> {
    /// No value.
    Nil,
    /// Go's `int`.
    Int(i64),
    /// Go's `int32`.
    Int32(i32),
    /// Go's `int64`.
    Int64(i64),
    /// Any other type that is an integer at heart, such as a month.
    OtherInt(i64),
    /// Any type of unsigned integer.
    Uint(u64),
    /// Any type of floating-point number.
    Float(f64),
    /// A string.
    Str(&'a [u8]),
    /// A duration.
    Duration(Duration),
    /// A time.
    Time(&'a Time),
    /// Anything else, by the name of its Go type.
    Other(&'a str),
}

const HTML_DATE: &[u8] = b"2006-01-02";

impl Clock {
    fn at(&self, unix: i64) -> Time {
        Time::from_unix(unix, 0, self.local.clone())
    }

    fn location(&self, name: &[u8]) -> Location {
        if name == b"Local" { self.local.clone() } else { Location::load(name).unwrap_or_default() }
    }
}

/// `date`: writes a time, or a number of seconds since 1970, in the local zone.
pub fn date(clock: &Clock, layout: &[u8], value: Arg<'_>) -> Vec<u8> {
    date_in_zone(clock, layout, value, b"Local")
}

/// `dateInZone`: writes a time in a zone; an unknown zone is universal time, and what is no time is the present.
pub fn date_in_zone(clock: &Clock, layout: &[u8], value: Arg<'_>, zone: &[u8]) -> Vec<u8> {
    let time = match value {
        Arg::Time(time) => time.clone(),
        Arg::Int(unix) | Arg::Int64(unix) => clock.at(unix),
        Arg::Int32(unix) => clock.at(unix.into()),
        _ => clock.now.clone(),
    };
    time.with_location(clock.location(zone)).format(layout)
}

/// `htmlDate`: the date as HTML writes it, in the local zone.
pub fn html_date(clock: &Clock, value: Arg<'_>) -> Vec<u8> {
    date(clock, HTML_DATE, value)
}

/// `htmlDateInZone`: the date as HTML writes it.
pub fn html_date_in_zone(clock: &Clock, value: Arg<'_>, zone: &[u8]) -> Vec<u8> {
    date_in_zone(clock, HTML_DATE, value, zone)
}

/// `dateModify`: adds a duration; one that cannot be read changes nothing.
pub fn date_modify(duration: &[u8], time: &Time) -> Time {
    must_date_modify(duration, time).unwrap_or_else(|_| time.clone())
}

/// `mustDateModify`: adds a duration.
pub fn must_date_modify(duration: &[u8], time: &Time) -> Result<Time, DurationError> {
    Ok(time.add(Duration::parse(duration)?))
}

/// `ago`: how long ago a time was, to the second.
pub fn ago(clock: &Clock, value: Arg<'_>) -> String {
    let since = match value {
        Arg::Time(time) => clock.now.sub(time),
        Arg::Int(unix) | Arg::Int64(unix) => clock.now.sub(&clock.at(unix)),
        _ => Duration(0),
    };
    since.round(Duration::SECOND).to_string()
}

/// `duration`: seconds as a duration; only strings and `int64` count.
pub fn duration(seconds: Arg<'_>) -> String {
    let seconds = match seconds {
        Arg::Str(text) => parse_int(text, 10).0,
        Arg::Int64(seconds) => seconds,
        _ => 0,
    };
    Duration(seconds.wrapping_mul(Duration::SECOND.0)).to_string()
}

/// `durationRound`: a duration in its largest unit, without its sign.
pub fn duration_round(clock: &Clock, value: Arg<'_>) -> String {
    let duration = match value {
        Arg::Str(text) => Duration::parse(text).unwrap_or_default(),
        Arg::Int64(nanoseconds) => Duration(nanoseconds),
        Arg::Time(time) => clock.now.sub(time),
        _ => Duration(0),
    };
    let size = duration.0.unsigned_abs();
    let (second, hour) = (Duration::SECOND.0 as u64, Duration::HOUR.0 as u64);
    let units = [
        ("y", hour * 24 * 365),
        ("mo", hour * 24 * 30),
        ("d", hour * 24),
        ("h", hour),
        ("m", second * 60),
        ("s", second),
    ];
    let largest = units.iter().find(|(_, unit)| size > *unit);
    largest.map_or("0s".to_string(), |(name, unit)| format!("{}{name}", size / unit))
}

/// `toDate`: reads a time; what cannot be read is the zero time.
pub fn to_date(clock: &Clock, layout: &[u8], value: &[u8]) -> Time {
    must_to_date(clock, layout, value).unwrap_or_default()
}

/// `mustToDate`: reads a time in the local zone.
pub fn must_to_date(clock: &Clock, layout: &[u8], value: &[u8]) -> Result<Time, ParseError> {
    parse_in_location(layout, value, &clock.local)
}

/// `unixEpoch`: the seconds since 1970.
pub fn unix_epoch(time: &Time) -> String {
    time.unix().to_string()
}
