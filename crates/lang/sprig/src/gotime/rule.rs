//! The rule that goes on after the last recorded change of a zone, such as `PST8PDT,M3.2.0,M11.1.0`.

use super::calendar::{DAY, Days, days_before, days_in, is_leap};
use super::location::{Kind, Span};

const HOUR: i64 = 3600;

/// A yearly rule, or none with a single kind of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rule {
    standard: Kind,
    summer: Option<Summer>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Summer {
    kind: Kind,
    start: Change,
    end: Change,
}

/// When in the year the clocks change: a day, and seconds of local time after its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Change {
    day: ChangeDay,
    time: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChangeDay {
    /// Day of the year from 1, the leap day never counted.
    WithoutLeapDay(i64),
    /// Day of the year from 0.
    OfYear(i64),
    /// A weekday of a month; week 5 is the last.
    OfMonth { month: i64, week: i64, weekday: i64 },
}

impl Rule {
    /// Reads a rule; `None` when it is not understood.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let mut rest = text;
        let name = take_name(&mut rest)?;
        let offset = -take_offset(&mut rest)?;
        let standard = Kind { name, offset, summer: false };
        if matches!(rest, [] | [b',', ..]) {
            return Some(Self { standard, summer: None });
        }
        let name = take_name(&mut rest)?;
        let offset = match rest {
            [] | [b',', ..] => offset + HOUR,
            _ => -take_offset(&mut rest)?,
        };
        if rest.is_empty() {
            rest = b",M3.2.0,M11.1.0";
        }
        rest = rest.strip_prefix(b",").or_else(|| rest.strip_prefix(b";"))?;
        let start = take_change(&mut rest)?;
        rest = rest.strip_prefix(b",")?;
        let end = take_change(&mut rest)?;
        let kind = Kind { name, offset, summer: true };
        rest.is_empty().then_some(Self { standard, summer: Some(Summer { kind, start, end }) })
    }

    /// The kind of time at a moment, and between which moments it is certain to hold; `last` is the moment of the
    /// last recorded change.
    pub(super) fn lookup(&self, last: i64, unix: i64) -> Span<'_> {
        let Some(Summer { kind, start, end }) = &self.summer else {
            return self.standard.span(last, i64::MAX);
        };
        let date = Days::of_seconds((unix as u64).wrapping_add(super::calendar::EPOCH_TO_1970)).date();
        let in_year = (date.year_day - 1) * DAY + unix % DAY;
        let new_year = unix.wrapping_sub(in_year);
        let from = start.seconds(date.year) - self.standard.offset;
        let to = end.seconds(date.year) - kind.offset;
        // In the south summer time spans the new year, so the roles change.
        let (outer, inner, from, to) =
            if to < from { (kind, &self.standard, to, from) } else { (&self.standard, kind, from, to) };
        let at = |seconds: i64| new_year.wrapping_add(seconds);
        if in_year < from {
            outer.span(new_year, at(from))
        } else if in_year >= to {
            outer.span(at(to), at(365 * DAY))
        } else {
            inner.span(at(from), at(to))
        }
    }
}

impl Change {
    /// Seconds of local time since the start of the year.
    fn seconds(self, year: i64) -> i64 {
        let leap = i64::from(is_leap(year));
        let day = match self.day {
            ChangeDay::WithoutLeapDay(day) => day - 1 + if day >= 60 { leap } else { 0 },
            ChangeDay::OfYear(day) => day,
            ChangeDay::OfMonth { month, week, weekday } => {
                let mut day = (weekday - first_weekday(year, month)).rem_euclid(7) + 7 * (week - 1);
                while day >= days_in(month, year) {
                    day -= 7;
                }
                days_before(month) + if month > 2 { leap } else { 0 } + day
            }
        };
        day * DAY + self.time
    }
}

/// The weekday of the first of a month by Zeller's congruence. Like Go's it is right from the year 0 on, and the
/// division towards zero makes it wrong in the same way before.
fn first_weekday(year: i64, month: i64) -> i64 {
    let since_march = (month + 9) % 12 + 1;
    let year = if month <= 2 { year - 1 } else { year };
    let (century, year) = (year / 100, year % 100);
    ((26 * since_march - 2) / 10 + 1 + year + year / 4 + century / 4 - 2 * century).rem_euclid(7)
}

fn take_name(text: &mut &[u8]) -> Option<Vec<u8>> {
    if let Some(inside) = text.strip_prefix(b"<") {
        let end = inside.iter().position(|byte| *byte == b'>')?;
        *text = inside.get(end + 1..)?;
        return inside.get(..end).map(<[u8]>::to_vec);
    }
    let end = text.iter().take_while(|byte| !matches!(byte, b'0'..=b'9' | b',' | b'-' | b'+')).count();
    let (name, rest) = text.split_at_checked(end)?;
    *text = rest;
    (end >= 3).then(|| name.to_vec())
}

fn take_number(text: &mut &[u8], allowed: std::ops::RangeInclusive<i64>) -> Option<i64> {
    let len = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at_checked(len)?;
    *text = rest;
    let add =
        |sum: i64, digit: &u8| Some(sum * 10 + i64::from(digit - b'0')).filter(|sum| sum <= allowed.end());
    let number = digits.iter().try_fold(0, add)?;
    (len > 0 && allowed.contains(&number)).then_some(number)
}

fn take_offset(text: &mut &[u8]) -> Option<i64> {
    let (sign, rest) = match *text {
        [b'-', rest @ ..] => (-1, rest),
        [b'+', rest @ ..] => (1, rest),
        rest => (1, rest),
    };
    *text = rest;
    let mut seconds = take_number(text, 0..=24 * 7)? * HOUR;
    for unit in [60, 1] {
        let Some(rest) = text.strip_prefix(b":") else { break };
        *text = rest;
        seconds += take_number(text, 0..=59)? * unit;
    }
    Some(sign * seconds)
}

fn take_change(text: &mut &[u8]) -> Option<Change> {
    let day = match text {
        [] => return None,
        [b'J', rest @ ..] => {
            *text = rest;
            ChangeDay::WithoutLeapDay(take_number(text, 1..=365)?)
        }
        [b'M', rest @ ..] => {
            *text = rest;
            let month = take_number(text, 1..=12)?;
            *text = text.strip_prefix(b".")?;
            let week = take_number(text, 1..=5)?;
            *text = text.strip_prefix(b".")?;
            ChangeDay::OfMonth { month, week, weekday: take_number(text, 0..=6)? }
        }
        _ => ChangeDay::OfYear(take_number(text, 0..=365)?),
    };
    let time = match text.strip_prefix(b"/") {
        Some(rest) => {
            *text = rest;
            take_offset(text)?
        }
        None => 2 * HOUR,
    };
    Some(Change { day, time })
}
