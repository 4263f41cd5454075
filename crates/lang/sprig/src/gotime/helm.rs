//! Helm's own functions about durations.

use podium_gotmpl::gostr;

use super::duration::Duration;
use super::functions::Arg;
use crate::strconv::parse_float;

/// Why a value is no duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToDurationError {
    /// A text with nothing but white space.
    #[error("empty duration")]
    Empty,
    /// A text, quoted here, that is neither a duration nor a number.
    #[error("could not parse duration {0}")]
    Text(String),
    /// No value.
    #[error("invalid duration")]
    Nil,
    /// A type, named here, that is no number.
    #[error("unsupported duration type {0}")]
    Type(String),
    /// Seconds, printed here, that are no number at all.
    #[error("invalid duration seconds: {0}")]
    Seconds(String),
    /// Seconds, printed here, that do not fit.
    #[error("duration seconds overflow: {0}")]
    SecondsOverflow(String),
    /// Nanoseconds, printed here, that do not fit.
    #[error("duration nanoseconds overflow: {0}")]
    NanosecondsOverflow(String),
}

const BILLION: f64 = 1e9;
/// The first number above all that 64 bits with a sign hold.
const LIMIT: f64 = 9_223_372_036_854_775_808.0;

/// Prints a number that is not finite or larger than a million, as Go's `%v` does.
fn print_large(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_string();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_string();
    }
    // The shortest form tells how many digits are needed; of two that are as near, Go takes the even one, which
    // is what rounding to so many digits gives.
    let shortest = format!("{number:e}");
    let (digits, exponent) = shortest.split_once('e').unwrap_or((&shortest, ""));
    let places = digits.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let rounded = format!("{number:.places$e}");
    let digits = rounded.split('e').next().unwrap_or(digits);
    format!("{digits}e+{exponent:0>2}")
}

fn from_seconds(seconds: i64) -> Result<Duration, ToDurationError> {
    let nanoseconds = seconds.checked_mul(Duration::SECOND.0);
    nanoseconds.map(Duration).ok_or_else(|| ToDurationError::SecondsOverflow(seconds.to_string()))
}

fn from_float(seconds: f64) -> Result<Duration, ToDurationError> {
    if !seconds.is_finite() {
        return Err(ToDurationError::Seconds(print_large(seconds)));
    }
    if seconds.abs() > LIMIT / BILLION {
        return Err(ToDurationError::SecondsOverflow(print_large(seconds)));
    }
    let nanoseconds = seconds * BILLION;
    if nanoseconds.abs() > LIMIT {
        return Err(ToDurationError::NanosecondsOverflow(print_large(nanoseconds)));
    }
    // The limit itself becomes the least number, as the processor does it.
    Ok(Duration(if nanoseconds >= LIMIT { i64::MIN } else { nanoseconds as i64 }))
}

fn from_text(text: &[u8]) -> Result<Duration, ToDurationError> {
    let trimmed = gostr::trim_space(text);
    if trimmed.is_empty() {
        return Err(ToDurationError::Empty);
    }
    if let Ok(duration) = Duration::parse(trimmed) {
        return Ok(duration);
    }
    match parse_float(trimmed) {
        Some(seconds) => from_float(seconds),
        None => Err(ToDurationError::Text(String::from_utf8_lossy(&gostr::quote(text)).into_owned())),
    }
}

/// `mustToDuration`: a duration, a text that says one, or a number of seconds.
pub fn must_to_duration(value: Arg<'_>) -> Result<Duration, ToDurationError> {
    match value {
        Arg::Duration(duration) => Ok(duration),
        Arg::Str(text) => from_text(text),
        Arg::Nil => Err(ToDurationError::Nil),
        Arg::Int(seconds) | Arg::Int64(seconds) | Arg::OtherInt(seconds) => from_seconds(seconds),
        Arg::Int32(seconds) => from_seconds(seconds.into()),
        Arg::Uint(seconds) => match i64::try_from(seconds) {
            Ok(seconds) => from_seconds(seconds),
            Err(_) => Err(ToDurationError::SecondsOverflow(seconds.to_string())),
        },
        Arg::Float(seconds) => from_float(seconds),
        Arg::Time(_) => Err(ToDurationError::Type("time.Time".to_string())),
        Arg::Other(name) => Err(ToDurationError::Type(name.to_string())),
    }
}

fn lenient(value: Arg<'_>) -> Duration {
    must_to_duration(value).unwrap_or_default()
}

/// `durationSeconds`: the seconds, 0 when the value is no duration.
pub fn duration_seconds(value: Arg<'_>) -> f64 {
    lenient(value).seconds()
}

/// `durationMilliseconds`: the whole milliseconds, 0 when the value is no duration.
pub fn duration_milliseconds(value: Arg<'_>) -> i64 {
    lenient(value).milliseconds()
}

/// `durationMicroseconds`: the whole microseconds, 0 when the value is no duration.
pub fn duration_microseconds(value: Arg<'_>) -> i64 {
    lenient(value).microseconds()
}

/// `durationNanoseconds`: the nanoseconds, 0 when the value is no duration.
pub fn duration_nanoseconds(value: Arg<'_>) -> i64 {
    lenient(value).nanoseconds()
}

/// `durationMinutes`: the minutes, 0 when the value is no duration.
pub fn duration_minutes(value: Arg<'_>) -> f64 {
    lenient(value).minutes()
}

/// `durationHours`: the hours, 0 when the value is no duration.
pub fn duration_hours(value: Arg<'_>) -> f64 {
    lenient(value).hours()
}

/// `durationDays`: the days, 0 when the value is no duration.
pub fn duration_days(value: Arg<'_>) -> f64 {
    lenient(value).hours() / 24.0
}

/// `durationWeeks`: the weeks, 0 when the value is no duration.
pub fn duration_weeks(value: Arg<'_>) -> f64 {
    lenient(value).hours() / 24.0 / 7.0
}

/// `durationRoundTo`: the nearest multiple; a bad multiple changes nothing.
pub fn duration_round_to(value: Arg<'_>, multiple: Arg<'_>) -> Duration {
    let duration = lenient(value);
    must_to_duration(multiple).map_or(duration, |multiple| duration.round(multiple))
}

/// `durationTruncateTo`: the nearest multiple towards zero; a bad multiple changes nothing.
pub fn duration_truncate_to(value: Arg<'_>, multiple: Arg<'_>) -> Duration {
    let duration = lenient(value);
    must_to_duration(multiple).map_or(duration, |multiple| duration.truncate(multiple))
}
