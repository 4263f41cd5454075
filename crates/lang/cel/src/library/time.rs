//! Parts of moments and durations.

use podium_sprig::gotime::{Duration, Location, Time};

use super::Native;
use crate::value::{NO_OVERLOAD, Value};

/// The place that a moment is seen from: a name, or hours and minutes.
fn location(name: &str) -> Result<Location, String> {
    let Some((hours, minutes)) = name.split_once(':') else {
        return Location::load(name).map_err(|error| error.to_string());
    };
    let number = |text: &str| {
        text.parse::<i64>().map_err(|_| {
            let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
            let numeric = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            let problem = if numeric { "value out of range" } else { "invalid syntax" };
            format!("strconv.Atoi: parsing \"{text}\": {problem}")
        })
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    let offset = hours.wrapping_mul(60);
    let offset =
        if name.starts_with('-') { offset.wrapping_sub(minutes) } else { offset.wrapping_add(minutes) };
    Ok(Location::fixed("", offset.wrapping_mul(60)))
}

fn of<'a>(args: &[Value<'a>], read: fn(&Time) -> i64) -> Value<'a> {
    let Some(Value::Timestamp(time)) = args.first() else { return Value::error(NO_OVERLOAD) };
    let place = match args.get(1) {
        None => Ok(Location::UTC),
        Some(Value::String(name)) => location(name),
        Some(other) => return other.no_overload(),
    };
    match place {
        Ok(place) => Value::Int(read(&time.with_location(place))),
        Err(error) => Value::error(error),
    }
}

fn span<'a>(args: &[Value<'a>], read: fn(Duration) -> i64) -> Value<'a> {
    match args.first() {
        Some(Value::Duration(nanoseconds)) => Value::Int(read(Duration(*nanoseconds))),
        _ => Value::error(NO_OVERLOAD),
    }
}

/// The function of an overload.
pub fn native(id: &str) -> Option<Native> {
    let id = id.strip_suffix("_with_tz").or_else(|| id.strip_suffix("_tz")).unwrap_or(id);
    Some(match id {
        "timestamp_to_year" => |args| of(args, |time| time.date()[0]),
        "timestamp_to_month" => |args| of(args, |time| time.date()[1] - 1),
        "timestamp_to_day_of_year" => |args| of(args, |time| time.year_day() - 1),
        "timestamp_to_day_of_month" => |args| of(args, |time| time.date()[2] - 1),
        "timestamp_to_day_of_month_1_based" => |args| of(args, |time| time.date()[2]),
        "timestamp_to_day_of_week" => |args| of(args, |time| time.weekday()),
        "timestamp_to_hours" => |args| of(args, |time| time.clock()[0]),
        "timestamp_to_minutes" => |args| of(args, |time| time.clock()[1]),
        "timestamp_to_seconds" => |args| of(args, |time| time.clock()[2]),
        "timestamp_to_milliseconds" => |args| of(args, |time| i64::from(time.nanosecond()) / 1_000_000),
        "duration_to_hours" => |args| span(args, |duration| duration.hours() as i64),
        "duration_to_minutes" => |args| span(args, |duration| duration.minutes() as i64),
        "duration_to_seconds" => |args| span(args, |duration| duration.seconds() as i64),
        "duration_to_milliseconds" => |args| span(args, Duration::milliseconds),
        _ => return None,
    })
}
