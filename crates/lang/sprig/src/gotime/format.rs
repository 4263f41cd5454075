//! Writing an instant by a layout.

use super::calendar::{Date, MONTHS, WEEKDAYS};
use super::layout::{Element, Fraction, Offset, next_piece};
use super::time::Time;

/// Quotes text for an error of the time package: all but plain ASCII is written byte by byte.
pub(super) fn quote(text: &[u8]) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for &byte in text {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(byte)]),
            b' '..=0x7F => out.push(char::from(byte)),
            _ => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out.push('"');
    out
}

/// Appends a number with zeros in front; the sign is not counted.
fn push_number(out: &mut Vec<u8>, number: i64, width: usize) {
    if number < 0 {
        out.push(b'-');
    }
    out.extend(format!("{:0width$}", number.unsigned_abs()).bytes());
}

/// Appends a number with spaces in front.
fn push_padded(out: &mut Vec<u8>, number: i64, width: usize) {
    out.extend(format!("{number:width$}").bytes());
}

/// The name of a month or weekday; `from` is the number of the first.
fn name<const N: usize>(names: &[&'static str; N], number: i64, from: i64) -> &'static str {
    usize::try_from(number - from).ok().and_then(|at| names.get(at)).copied().unwrap_or_default()
}

pub(super) fn format(time: &Time, layout: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(layout.len() + 10);
    let Date { year, month, day, year_day } = time.full_date();
    let [hour, minute, second] = time.clock();
    let hour12 = if hour % 12 == 0 { 12 } else { hour % 12 };
    let month_name = name(&MONTHS, month, 1);
    let weekday_name = name(&WEEKDAYS, time.weekday(), 0);
    let mut rest = layout;
    while !rest.is_empty() {
        let piece = next_piece(rest);
        rest = piece.rest;
        out.extend(piece.literal);
        let Some((element, _)) = piece.element else { break };
        match element {
            Element::Year => push_number(&mut out, (year % 100).abs(), 2),
            Element::LongYear => push_number(&mut out, year, 4),
            Element::Month => out.extend(month_name.bytes().take(3)),
            Element::LongMonth => out.extend(month_name.bytes()),
            Element::NumMonth => push_number(&mut out, month, 0),
            Element::ZeroMonth => push_number(&mut out, month, 2),
            Element::Weekday => out.extend(weekday_name.bytes().take(3)),
            Element::LongWeekday => out.extend(weekday_name.bytes()),
            Element::Day => push_number(&mut out, day, 0),
            Element::UnderDay => push_padded(&mut out, day, 2),
            Element::ZeroDay => push_number(&mut out, day, 2),
            Element::UnderYearDay => push_padded(&mut out, year_day, 3),
            Element::ZeroYearDay => push_number(&mut out, year_day, 3),
            Element::Hour => push_number(&mut out, hour, 2),
            Element::Hour12 => push_number(&mut out, hour12, 0),
            Element::ZeroHour12 => push_number(&mut out, hour12, 2),
            Element::Minute => push_number(&mut out, minute, 0),
            Element::ZeroMinute => push_number(&mut out, minute, 2),
            Element::Second => push_number(&mut out, second, 0),
            Element::ZeroSecond => push_number(&mut out, second, 2),
            Element::UpperPm => out.extend(if hour >= 12 { b"PM" } else { b"AM" }),
            Element::LowerPm => out.extend(if hour >= 12 { b"pm" } else { b"am" }),
            Element::Offset(style) => push_offset(&mut out, time.zone().1, style),
            Element::ZoneName => match time.zone() {
                (b"", offset) => {
                    push_offset(&mut out, offset, Offset { zulu: false, colons: false, parts: 2 })
                }
                (name, _) => out.extend(name),
            },
            Element::Fraction(style) => push_fraction(&mut out, time.nanosecond(), style),
        }
    }
    out
}

fn push_offset(out: &mut Vec<u8>, offset: i64, style: Offset) {
    if offset == 0 && style.zulu {
        out.push(b'Z');
        return;
    }
    // Less than a minute west of universal time counts as east.
    let west = offset <= -60;
    out.push(if west { b'-' } else { b'+' });
    let size = if west { -offset } else { offset };
    for (at, part) in [size / 3600, size / 60 % 60, size % 60].into_iter().take(style.parts).enumerate() {
        if style.colons && at > 0 {
            out.push(b':');
        }
        push_number(out, part, 2);
    }
}

fn push_fraction(out: &mut Vec<u8>, nanoseconds: u32, style: Fraction) {
    let digits = format!("{nanoseconds:09}");
    let digits = digits.get(..style.digits).unwrap_or(&digits);
    if !style.trimmed {
        out.push(style.separator);
        out.extend(digits.bytes());
        return;
    }
    let digits = digits.trim_end_matches('0');
    if !digits.is_empty() {
        out.push(style.separator);
        out.extend(digits.bytes());
    }
}
