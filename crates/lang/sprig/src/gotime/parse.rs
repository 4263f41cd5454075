//! Reading an instant by a layout.

use super::calendar::{MONTHS, WEEKDAYS, days_before, days_in, is_leap};
use super::format::quote;
use super::layout::{Element, Fraction, Offset, next_piece};
use super::location::Location;
use super::time::Time;

/// Why a text is not the time that a layout asks for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// A piece of the text does not fit a piece of the layout.
    #[error(
        "parsing time {} as {}: cannot parse {} as {}",
        quote(value),
        quote(layout),
        quote(value_piece),
        quote(layout_piece)
    )]
    Mismatch {
        /// The whole layout.
        layout: Vec<u8>,
        /// The whole text.
        value: Vec<u8>,
        /// The piece of the layout.
        layout_piece: Vec<u8>,
        /// The text from the piece on.
        value_piece: Vec<u8>,
    },
    /// The text goes on after the end of the layout.
    #[error("parsing time {}: extra text: {}", quote(value), quote(extra))]
    ExtraText {
        /// The whole text.
        value: Vec<u8>,
        /// What is too much.
        extra: Vec<u8>,
    },
    /// A number is too large or too small.
    #[error("parsing time {}: {what} out of range", quote(value))]
    OutOfRange {
        /// The whole text.
        value: Vec<u8>,
        /// What the number stands for.
        what: &'static str,
    },
    /// The day of the year is another one than the date.
    #[error("parsing time {}: day-of-year does not match {what}", quote(value))]
    YearDayMismatch {
        /// The whole text.
        value: Vec<u8>,
        /// Month or day.
        what: &'static str,
    },
}

/// Reads a time; without a zone it is universal, and offsets are looked for in the local zone.
pub fn parse(
    layout: impl AsRef<[u8]>,
    value: impl AsRef<[u8]>,
    local: &Location,
) -> Result<Time, ParseError> {
    read(layout.as_ref(), value.as_ref(), &Location::UTC, local)
}

/// Reads a time that belongs to a place when the text does not say otherwise.
pub fn parse_in_location(
    layout: impl AsRef<[u8]>,
    value: impl AsRef<[u8]>,
    location: &Location,
) -> Result<Time, ParseError> {
    read(layout.as_ref(), value.as_ref(), location, location)
}

/// What is wrong with one element.
enum Trouble {
    Bad,
    Range(&'static str),
}

type Step<T> = Result<T, Trouble>;

/// What has been read so far; nothing of the date means that the text did not say.
#[derive(Default)]
struct Fields {
    year: i64,
    month: Option<i64>,
    day: Option<i64>,
    year_day: Option<i64>,
    hour: i64,
    minute: i64,
    second: i64,
    nanosecond: i64,
    /// Whether PM was said, and whether AM was.
    afternoon: bool,
    morning: bool,
    universal: bool,
    offset: Option<i64>,
    zone_name: Vec<u8>,
}

fn read(layout: &[u8], value: &[u8], default: &Location, local: &Location) -> Result<Time, ParseError> {
    let mut fields = Fields::default();
    let (mut layout_rest, mut rest) = (layout, value);
    let mismatch = |layout_piece: &[u8], value_piece: &[u8]| ParseError::Mismatch {
        layout: layout.to_vec(),
        value: value.to_vec(),
        layout_piece: layout_piece.to_vec(),
        value_piece: value_piece.to_vec(),
    };
    loop {
        let piece = next_piece(layout_rest);
        skip_literal(&mut rest, piece.literal).map_err(|_| mismatch(piece.literal, rest))?;
        let Some((element, written)) = piece.element else { break };
        layout_rest = piece.rest;
        let before = rest;
        fields.read(element, &mut rest, layout_rest).map_err(|trouble| match trouble {
            Trouble::Bad => mismatch(written, before),
            Trouble::Range(what) => ParseError::OutOfRange { value: value.to_vec(), what },
        })?;
    }
    if !rest.is_empty() {
        return Err(ParseError::ExtraText { value: value.to_vec(), extra: rest.to_vec() });
    }
    let date = fields.settle_date(value)?;
    Ok(fields.into_time(date, default, local))
}

/// Takes literal text away; a run of spaces fits any run of spaces, at the end of the text even none.
fn skip_literal(value: &mut &[u8], literal: &[u8]) -> Result<(), Trouble> {
    let mut literal = literal;
    while let Some(&wanted) = literal.first() {
        match (wanted, value.first()) {
            (b' ', None | Some(b' ')) => {
                literal = without_spaces(literal);
                *value = without_spaces(value);
            }
            (wanted, Some(&byte)) if wanted == byte => {
                literal = literal.get(1..).unwrap_or_default();
                *value = value.get(1..).unwrap_or_default();
            }
            _ => return Err(Trouble::Bad),
        }
    }
    Ok(())
}

fn without_spaces(text: &[u8]) -> &[u8] {
    let spaces = text.iter().take_while(|byte| **byte == b' ').count();
    text.get(spaces..).unwrap_or_default()
}

fn take<'a>(text: &mut &'a [u8], len: usize) -> Step<&'a [u8]> {
    let (head, rest) = text.split_at_checked(len).ok_or(Trouble::Bad)?;
    *text = rest;
    Ok(head)
}

/// Reads digits, at least `least` and at most `most`.
fn take_digits(text: &mut &[u8], least: usize, most: usize) -> Step<i64> {
    let count = text.iter().take(most).take_while(|byte| byte.is_ascii_digit()).count();
    if count < least {
        return Err(Trouble::Bad);
    }
    Ok(take(text, count)?.iter().fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0')))
}

/// Reads one or two digits, or exactly two.
fn take_two(text: &mut &[u8], fixed: bool) -> Step<i64> {
    take_digits(text, if fixed { 2 } else { 1 }, 2)
}

fn take_name<const N: usize>(text: &mut &[u8], names: &[&str; N], len: usize) -> Step<i64> {
    for (number, name) in (0..).zip(names) {
        let name = name.as_bytes().get(..len).unwrap_or(name.as_bytes());
        if text.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name)) {
            take(text, name.len())?;
            return Ok(number);
        }
    }
    Err(Trouble::Bad)
}

/// Reads digits at the front, maybe none; `None` when the number needs more than 63 bits and a bit.
pub(super) fn leading_int(text: &[u8]) -> Option<(u64, &[u8])> {
    let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at_checked(count)?;
    let add = |sum: u64, digit: &u8| {
        sum.checked_mul(10)?.checked_add(u64::from(digit - b'0')).filter(|sum| *sum <= 1 << 63)
    };
    Some((digits.iter().try_fold(0, add)?, rest))
}

/// Reads a whole number with an optional sign.
fn number(text: &[u8]) -> Step<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    match leading_int(digits) {
        Some((size, [])) => Ok(if negative { (size as i64).wrapping_neg() } else { size as i64 }),
        _ => Err(Trouble::Bad),
    }
}

/// The nanoseconds of a separator and digits; what follows the ninth digit does not count.
fn nanoseconds(text: &[u8]) -> Step<i64> {
    let (separator, digits) = text.split_first().ok_or(Trouble::Bad)?;
    if !matches!(separator, b'.' | b',') {
        return Err(Trouble::Bad);
    }
    let digits = digits.get(..9).unwrap_or(digits);
    let scale = 10i64.pow(9u32.saturating_sub(digits.len() as u32));
    match number(digits)? {
        negative if negative < 0 => Err(Trouble::Range("fractional second")),
        value => Ok(value * scale),
    }
}

fn within(value: i64, allowed: std::ops::Range<i64>, what: &'static str) -> Step<i64> {
    if allowed.contains(&value) { Ok(value) } else { Err(Trouble::Range(what)) }
}

/// How long the fraction at the front is, when a separator and a digit begin it.
fn fraction_len(text: &[u8]) -> Option<usize> {
    match text {
        [b'.' | b',', b'0'..=b'9', ..] => {
            Some(1 + text.iter().skip(1).take_while(|byte| byte.is_ascii_digit()).count())
        }
        _ => None,
    }
}

impl Fields {
    fn read(&mut self, element: Element, text: &mut &[u8], layout_rest: &[u8]) -> Step<()> {
        match element {
            Element::Year => {
                let year = number(take(text, 2)?)?;
                self.year = year + if year >= 69 { 1900 } else { 2000 };
            }
            Element::LongYear => {
                if !text.first().is_some_and(u8::is_ascii_digit) {
                    return Err(Trouble::Bad);
                }
                self.year = number(take(text, 4)?)?;
            }
            Element::Month => self.month = Some(take_name(text, &MONTHS, 3)? + 1),
            Element::LongMonth => self.month = Some(take_name(text, &MONTHS, usize::MAX)? + 1),
            Element::NumMonth | Element::ZeroMonth => {
                self.month = Some(within(take_two(text, element == Element::ZeroMonth)?, 1..13, "month")?);
            }
            Element::Weekday => drop(take_name(text, &WEEKDAYS, 3)?),
            Element::LongWeekday => drop(take_name(text, &WEEKDAYS, usize::MAX)?),
            Element::Day | Element::UnderDay | Element::ZeroDay => {
                if element == Element::UnderDay {
                    *text = text.strip_prefix(b" ").unwrap_or(text);
                }
                self.day = Some(take_two(text, element == Element::ZeroDay)?);
            }
            Element::UnderYearDay => {
                for _ in 0..2 {
                    *text = text.strip_prefix(b" ").unwrap_or(text);
                }
                self.year_day = Some(take_digits(text, 1, 3)?);
            }
            Element::ZeroYearDay => self.year_day = Some(take_digits(text, 3, 3)?),
            Element::Hour => self.hour = within(take_two(text, false)?, 0..24, "hour")?,
            Element::Hour12 | Element::ZeroHour12 => {
                self.hour = within(take_two(text, element == Element::ZeroHour12)?, 0..13, "hour")?;
            }
            Element::Minute | Element::ZeroMinute => {
                self.minute = within(take_two(text, element == Element::ZeroMinute)?, 0..60, "minute")?;
            }
            Element::Second | Element::ZeroSecond => {
                self.second = within(take_two(text, element == Element::ZeroSecond)?, 0..60, "second")?;
                // A fraction may follow the seconds even when the layout does not tell of one.
                let told = matches!(next_piece(layout_rest).element, Some((Element::Fraction(_), _)));
                if let Some(len) = fraction_len(text).filter(|_| !told) {
                    self.nanosecond = nanoseconds(take(text, len)?)?;
                }
            }
            Element::UpperPm | Element::LowerPm => {
                let (am, pm) = if element == Element::UpperPm { (b"AM", b"PM") } else { (b"am", b"pm") };
                let half = take(text, 2)?;
                self.afternoon |= half == pm;
                self.morning |= half == am;
                if half != am && half != pm {
                    return Err(Trouble::Bad);
                }
            }
            Element::Offset(style) => self.read_offset(style, text)?,
            Element::ZoneName => match text.strip_prefix(b"UTC") {
                Some(rest) => (self.universal, *text) = (true, rest),
                None => self.zone_name = take(text, zone_name_len(text).ok_or(Trouble::Bad)?)?.to_vec(),
            },
            Element::Fraction(Fraction { digits, trimmed: false, .. }) => {
                self.nanosecond = nanoseconds(take(text, 1 + digits)?)?;
            }
            Element::Fraction(_) => {
                if let Some(len) = fraction_len(text) {
                    self.nanosecond = nanoseconds(take(text, len)?)?;
                }
            }
        }
        Ok(())
    }

    fn read_offset(&mut self, style: Offset, text: &mut &[u8]) -> Step<()> {
        if let Some(rest) = text.strip_prefix(b"Z").filter(|_| style.zulu) {
            (self.universal, *text) = (true, rest);
            return Ok(());
        }
        let gap = usize::from(style.colons);
        let written = take(text, 1 + 2 * style.parts + gap * (style.parts - 1))?;
        let mut parts = [0; 3];
        let mut trouble = None;
        for (at, part) in parts.iter_mut().enumerate().take(style.parts) {
            let start = 1 + at * (2 + gap);
            if style.colons && at > 0 && written.get(start - 1) != Some(&b':') {
                return Err(Trouble::Bad);
            }
            let mut digits = written.get(start..start + 2).unwrap_or_default();
            match take_two(&mut digits, true) {
                Ok(value) if trouble.is_none() => *part = value,
                Ok(_) => {}
                Err(bad) => trouble = trouble.or(Some(bad)),
            }
        }
        let [hour, minute, second] = parts;
        // A number out of range is told before text that is no number, and the last of them.
        for (value, limit, what) in [
            (second, 60, "time zone offset second"),
            (minute, 60, "time zone offset minute"),
            (hour, 24, "time zone offset hour"),
        ] {
            within(value, 0..limit + 1, what)?;
        }
        if let Some(trouble) = trouble {
            return Err(trouble);
        }
        let size = (hour * 60 + minute) * 60 + second;
        let offset = match written.first() {
            Some(b'+') => size,
            Some(b'-') => -size,
            _ => return Err(Trouble::Bad),
        };
        // Go marks the absence of an offset with -1, so one second west of universal time is no offset.
        self.offset = Some(offset).filter(|offset| *offset != -1);
        Ok(())
    }

    /// Month and day, from the day of the year if that was given.
    fn settle_date(&self, value: &[u8]) -> Result<[i64; 3], ParseError> {
        let (mut month, mut day) = (self.month, self.day);
        let range = |what| ParseError::OutOfRange { value: value.to_vec(), what };
        if let Some(year_day) = self.year_day {
            let (found_month, found_day) =
                month_and_day(year_day, self.year).ok_or_else(|| range("day-of-year"))?;
            let differs = |given: Option<i64>, found| given.is_some_and(|given| given != found);
            for (differs, what) in [(differs(month, found_month), "month"), (differs(day, found_day), "day")]
            {
                if differs {
                    return Err(ParseError::YearDayMismatch { value: value.to_vec(), what });
                }
            }
            (month, day) = (Some(found_month), Some(found_day));
        }
        let (month, day) = (month.unwrap_or(1), day.unwrap_or(1));
        if day < 1 || day > days_in(month, self.year) {
            return Err(range("day"));
        }
        Ok([self.year, month, day])
    }

    fn into_time(self, date: [i64; 3], default: &Location, local: &Location) -> Time {
        let hour = match self.hour {
            hour if self.afternoon && hour < 12 => hour + 12,
            12 if self.morning => 0,
            hour => hour,
        };
        let clock = [hour, self.minute, self.second];
        let at = |location: &Location| Time::from_date(date, clock, self.nanosecond, location.clone());
        let universal = at(&Location::UTC);
        let moved =
            |offset: i64, location| Time::from_unix(universal.unix() - offset, self.nanosecond, location);
        if self.universal {
            return universal;
        }
        if let Some(offset) = self.offset {
            let span = local.lookup(universal.unix() - offset);
            let fits = span.offset == offset && (self.zone_name.is_empty() || span.name == self.zone_name);
            return moved(offset, if fits { local.clone() } else { Location::fixed(self.zone_name, offset) });
        }
        if self.zone_name.is_empty() {
            return at(default);
        }
        if let Some(offset) = local.offset_of(&self.zone_name, universal.unix()) {
            return moved(offset, local.clone());
        }
        // An unknown abbreviation is kept, with no offset; only after GMT there may be hours.
        let hours = self.zone_name.strip_prefix(b"GMT").and_then(|hours| number(hours).ok()).unwrap_or(0);
        universal.with_location(Location::fixed(self.zone_name, hours * 3600))
    }
}

fn month_and_day(year_day: i64, year: i64) -> Option<(i64, i64)> {
    let leap_day = days_before(3) + 1;
    let mut year_day = year_day;
    if is_leap(year) {
        if year_day == leap_day {
            return Some((2, 29));
        }
        year_day -= i64::from(year_day > leap_day);
    }
    if !(1..=365).contains(&year_day) {
        return None;
    }
    let month = (1..=12).rev().find(|month| days_before(*month) < year_day)?;
    Some((month, year_day - days_before(month)))
}

/// The length of what looks like the abbreviation of a zone.
fn zone_name_len(text: &[u8]) -> Option<usize> {
    if text.len() < 3 {
        return None;
    }
    if text.starts_with(b"ChST") || text.starts_with(b"MeST") {
        return Some(4);
    }
    if let Some(hours) = text.strip_prefix(b"GMT") {
        return Some(3 + signed_hours_len(hours));
    }
    if matches!(text.first(), Some(b'+' | b'-')) {
        return Some(signed_hours_len(text)).filter(|len| *len > 0);
    }
    let upper = text.iter().take(6).take_while(|byte| byte.is_ascii_uppercase()).count();
    match upper {
        3 => Some(3),
        4 if text.get(3) == Some(&b'T') || text.starts_with(b"WITA") => Some(4),
        5 if text.get(4) == Some(&b'T') => Some(5),
        _ => None,
    }
}

/// The length of a sign and a number up to 23, or 0.
fn signed_hours_len(text: &[u8]) -> usize {
    let Some((b'+' | b'-', digits)) = text.split_first() else { return 0 };
    match leading_int(digits) {
        Some((hours, rest)) if hours <= 23 && rest.len() < digits.len() => text.len() - rest.len(),
        _ => 0,
    }
}
