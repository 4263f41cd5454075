//! Go's time as templates see it: instants, durations, zones and layouts.
//!
//! Nothing here reads a clock, the environment or a file: the present moment and the local zone are passed in
//! with a [`Clock`]. Zone data come with the crate (`zones.bin`), because an image without a base has none.
//! Numbers wrap and saturate exactly where Go's do, so that even absurd dates print the same text.

mod calendar;
mod duration;
mod format;
mod functions;
mod helm;
mod layout;
mod location;
mod parse;
mod rule;
mod time;
mod tzif;
mod zones;

pub use calendar::{MONTHS, WEEKDAYS};
pub use duration::{Duration, DurationError};
pub use functions::{
    Arg, Clock, ago, date, date_in_zone, date_modify, duration, duration_round, html_date, html_date_in_zone,
    must_date_modify, must_to_date, to_date, unix_epoch,
};
pub use helm::{
    ToDurationError, duration_days, duration_hours, duration_microseconds, duration_milliseconds,
    duration_minutes, duration_nanoseconds, duration_round_to, duration_seconds, duration_truncate_to,
    duration_weeks, must_to_duration,
};
pub use location::{Location, LocationError};
pub use parse::{ParseError, parse, parse_in_location};
pub use time::{Time, TimeError};

#[cfg(test)]
pub(crate) mod tests;
