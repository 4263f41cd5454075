//! The elements of a layout, found by how the reference time shows them.

/// What an element stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Element {
    LongMonth,
    Month,
    NumMonth,
    ZeroMonth,
    LongWeekday,
    Weekday,
    Day,
    UnderDay,
    ZeroDay,
    UnderYearDay,
    ZeroYearDay,
    Hour,
    Hour12,
    ZeroHour12,
    Minute,
    ZeroMinute,
    Second,
    ZeroSecond,
    LongYear,
    Year,
    UpperPm,
    LowerPm,
    ZoneName,
    Offset(Offset),
    Fraction(Fraction),
}

/// How an offset from universal time is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Offset {
    /// Universal time is written `Z`.
    pub(super) zulu: bool,
    pub(super) colons: bool,
    /// How many of hour, minute and second are written.
    pub(super) parts: usize,
}

/// How a fraction of a second is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fraction {
    pub(super) separator: u8,
    pub(super) digits: usize,
    /// Without zeros at the end.
    pub(super) trimmed: bool,
}

const fn offset(zulu: bool, colons: bool, parts: usize) -> Element {
    Element::Offset(Offset { zulu, colons, parts })
}

/// Of two that fit, the first counts.
const ELEMENTS: [(&[u8], Element); 34] = [
    (b"January", Element::LongMonth),
    (b"Jan", Element::Month),
    (b"Monday", Element::LongWeekday),
    (b"Mon", Element::Weekday),
    (b"MST", Element::ZoneName),
    (b"01", Element::ZeroMonth),
    (b"02", Element::ZeroDay),
    (b"03", Element::ZeroHour12),
    (b"04", Element::ZeroMinute),
    (b"05", Element::ZeroSecond),
    (b"06", Element::Year),
    (b"002", Element::ZeroYearDay),
    (b"15", Element::Hour),
    (b"1", Element::NumMonth),
    (b"2006", Element::LongYear),
    (b"2", Element::Day),
    (b"_2006", Element::LongYear),
    (b"_2", Element::UnderDay),
    (b"__2", Element::UnderYearDay),
    (b"3", Element::Hour12),
    (b"4", Element::Minute),
    (b"5", Element::Second),
    (b"PM", Element::UpperPm),
    (b"pm", Element::LowerPm),
    (b"-070000", offset(false, false, 3)),
    (b"-07:00:00", offset(false, true, 3)),
    (b"-0700", offset(false, false, 2)),
    (b"-07:00", offset(false, true, 2)),
    (b"-07", offset(false, false, 1)),
    (b"Z070000", offset(true, false, 3)),
    (b"Z07:00:00", offset(true, true, 3)),
    (b"Z0700", offset(true, false, 2)),
    (b"Z07:00", offset(true, true, 2)),
    (b"Z07", offset(true, false, 1)),
];

/// A piece of a layout: literal text, then an element as it was written, then the rest.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece<'a> {
    pub(super) literal: &'a [u8],
    pub(super) element: Option<(Element, &'a [u8])>,
    pub(super) rest: &'a [u8],
}

/// Finds the first element of a layout.
pub(super) fn next_piece(layout: &[u8]) -> Piece<'_> {
    let mut found = (0..layout.len()).filter_map(|at| {
        let (element, len) = element_at(layout.get(at..)?)?;
        // The underscore before a long year is literal text.
        let skip = usize::from(element == Element::LongYear && len == b"_2006".len());
        let (literal, written) = layout.get(..at + len)?.split_at_checked(at + skip)?;
        Some(Piece { literal, element: Some((element, written)), rest: layout.get(at + len..)? })
    });
    found.next().unwrap_or(Piece { literal: layout, element: None, rest: &[] })
}

fn element_at(text: &[u8]) -> Option<(Element, usize)> {
    match text.first()? {
        b'.' | b',' => fraction_at(text),
        b'J' | b'M' | b'0'..=b'5' | b'_' | b'P' | b'p' | b'-' | b'Z' => {
            let (written, element) = ELEMENTS.iter().find(|(written, element)| {
                let follows = text.strip_prefix(*written);
                // "Month" and "Janet" are words.
                let word = matches!(element, Element::Month | Element::Weekday);
                follows.is_some_and(|rest| !(word && rest.first().is_some_and(u8::is_ascii_lowercase)))
            })?;
            Some((*element, written.len()))
        }
        _ => None,
    }
}

/// A separator and a row of zeros or nines that no other digit follows.
fn fraction_at(text: &[u8]) -> Option<(Element, usize)> {
    let (&separator, rest) = text.split_first()?;
    let &digit = rest.first().filter(|byte| matches!(byte, b'0' | b'9'))?;
    let digits = rest.iter().take_while(|byte| **byte == digit).count();
    if rest.get(digits).is_some_and(u8::is_ascii_digit) {
        return None;
    }
    // Go keeps the number of digits in twelve bits.
    let fraction = Fraction { separator, digits: digits & 0xFFF, trimmed: digit == b'9' };
    Some((Element::Fraction(fraction), digits + 1))
}
