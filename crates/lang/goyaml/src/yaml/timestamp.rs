//! Whether a text is a point in time, which only `!!timestamp` asks.

/// The separators between date and time, each with whether a zone must follow.
const FORMS: [(&[u8], bool); 3] = [(b"T", true), (b"t", true), (b" ", false)];

/// Whether go-yaml reads the text as a timestamp.
pub(super) fn is_timestamp(text: &[u8]) -> bool {
    let Some((year, rest)) = digits(text, 4, 4) else { return false };
    let Some(rest) = rest.strip_prefix(b"-") else { return false };
    let Some((month, day, rest)) = pair(rest, b"-") else { return false };
    if !(1..=12).contains(&month) || !(1..=days(year, month)).contains(&day) {
        return false;
    }
    rest.is_empty()
        || FORMS.iter().any(|&(separator, zoned)| match rest.strip_prefix(separator) {
            // Go takes any number of spaces for one.
            Some(time) if !zoned => clock(trim_spaces(time)).is_some_and(<[u8]>::is_empty),
            Some(time) => clock(time).is_some_and(zone),
            None => false,
        })
}

/// Between `least` and `most` digits, and what follows.
fn digits(text: &[u8], least: usize, most: usize) -> Option<(u32, &[u8])> {
    let len = text.iter().take(most).take_while(|b| b.is_ascii_digit()).count();
    let (number, rest) = text.split_at_checked(len)?;
    (len >= least).then(|| (number.iter().fold(0, |n, b| n * 10 + u32::from(b - b'0')), rest))
}

/// Two numbers of one or two digits with a separator, and what follows.
fn pair<'t>(text: &'t [u8], separator: &[u8]) -> Option<(u32, u32, &'t [u8])> {
    let (first, rest) = digits(text, 1, 2)?;
    let (second, rest) = digits(rest.strip_prefix(separator)?, 1, 2)?;
    Some((first, second, rest))
}

fn days(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The time of a day, and what follows.
fn clock(text: &[u8]) -> Option<&[u8]> {
    let (hour, minute, rest) = pair(text, b":")?;
    let (second, rest) = digits(rest.strip_prefix(b":")?, 1, 2)?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let [b'.' | b',', fraction @ ..] = rest else { return Some(rest) };
    match fraction.iter().take_while(|b| b.is_ascii_digit()).count() {
        0 => Some(rest),
        len => fraction.get(len..),
    }
}

/// Whether the text is `Z` or an offset.
fn zone(text: &[u8]) -> bool {
    match text {
        b"Z" => true,
        [b'+' | b'-', offset @ ..] if offset.len() == 5 => match digits(offset, 2, 2) {
            Some((hours, [b':', rest @ ..])) => {
                hours <= 24 && digits(rest, 2, 2).is_some_and(|(m, _)| m <= 60)
            }
            _ => false,
        },
        _ => false,
    }
}

fn trim_spaces(mut text: &[u8]) -> &[u8] {
    while let Some(rest) = text.strip_prefix(b" ") {
        text = rest;
    }
    text
}
