//! The time in a lock file: checked as Go's JSON decoder checks it, with the same errors.

use podium_goyaml::{Node, json};

const LAYOUT: &str = "2006-01-02T15:04:05Z07:00";

/// Checks an RFC 3339 time and hands back its text.
pub(crate) fn check(node: &Node) -> Result<String, String> {
    let text = node.as_str().ok_or("Time.UnmarshalJSON: input is not a JSON string")?;
    // The decoder looks at the JSON text between the quotes, escapes and all.
    let json = json::to_string(&node).map_err(|error| error.to_string())?;
    let inside = json.get(1..json.len().saturating_sub(1)).unwrap_or_default();
    Parser { whole: inside, rest: inside }.time()?;
    Ok(text.to_owned())
}

/// A time that was checked, as Go writes it: no zeros at the end of the fraction, nine digits at most, and `Z` for
/// Greenwich. No time at all is the first second of the calendar.
pub(crate) fn written(text: &str) -> String {
    if text.is_empty() {
        return "0001-01-01T00:00:00Z".to_owned();
    }
    let zone = text.find(['Z', '+']).or_else(|| text.rfind('-')).unwrap_or(text.len());
    let (clock, zone) = text.split_at(zone);
    let zone = if matches!(zone, "+00:00" | "-00:00") { "Z" } else { zone };
    match clock.split_once(['.', ',']) {
        None => format!("{clock}{zone}"),
        Some((seconds, fraction)) => {
            let fraction = fraction.get(..9).unwrap_or(fraction).trim_end_matches('0');
            let dot = if fraction.is_empty() { "" } else { "." };
            format!("{seconds}{dot}{fraction}{zone}")
        }
    }
}

struct Parser<'a> {
    whole: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Parser<'a> {
    fn cannot_parse(&self, value: &[u8], element: &str) -> String {
        let (whole, value) = (quote(self.whole), quote(value));
        format!("parsing time {whole} as \"{LAYOUT}\": cannot parse {value} as \"{element}\"")
    }

    fn complain(&self, message: &str) -> String {
        format!("parsing time {}: {message}", quote(self.whole))
    }

    fn literal(&mut self, byte: u8) -> Result<(), String> {
        match self.rest.split_first() {
            Some((first, rest)) if *first == byte => {
                self.rest = rest;
                Ok(())
            }
            _ => Err(self.cannot_parse(self.rest, &char::from(byte).to_string())),
        }
    }

    /// A number of two digits, or of one where that is allowed.
    fn number(&mut self, element: &str, one_digit: bool) -> Result<u32, String> {
        let digit = |byte: &u8| byte.is_ascii_digit().then(|| u32::from(byte - b'0'));
        let mut digits = self.rest.iter().map_while(digit);
        let (number, length) = match (digits.next(), digits.next()) {
            (Some(tens), Some(ones)) => (tens * 10 + ones, 2),
            (Some(ones), None) if one_digit => (ones, 1),
            _ => return Err(self.cannot_parse(self.rest, element)),
        };
        self.rest = self.rest.get(length..).unwrap_or_default();
        Ok(number)
    }

    fn in_range(&self, number: u32, range: std::ops::Range<u32>, what: &str) -> Result<u32, String> {
        if range.contains(&number) { Ok(number) } else { Err(self.complain(&format!("{what} out of range"))) }
    }

    fn time(&mut self) -> Result<(), String> {
        let year = match self.rest.split_at_checked(4) {
            Some((digits, rest)) if digits.iter().all(u8::is_ascii_digit) => {
                self.rest = rest;
                digits.iter().fold(0, |year, byte| year * 10 + u32::from(byte - b'0'))
            }
            _ => return Err(self.cannot_parse(self.rest, "2006")),
        };
        self.literal(b'-')?;
        let month = self.number("01", false)?;
        let month = self.in_range(month, 1..13, "month")?;
        self.literal(b'-')?;
        let day = self.number("02", false)?;
        self.literal(b'T')?;
        let hour = self.number("15", true)?;
        self.in_range(hour, 0..24, "hour")?;
        self.literal(b':')?;
        let minute = self.number("04", false)?;
        self.in_range(minute, 0..60, "minute")?;
        self.literal(b':')?;
        let second = self.number("05", false)?;
        self.in_range(second, 0..60, "second")?;
        self.fraction();
        self.zone()?;
        if !self.rest.is_empty() {
            return Err(self.complain(&format!("extra text: {}", quote(self.rest))));
        }
        self.in_range(day, 1..days_in(month, year) + 1, "day").map(drop)
    }

    fn fraction(&mut self) {
        if let [b'.' | b',', rest @ ..] = self.rest {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if digits > 0 {
                self.rest = rest.get(digits..).unwrap_or_default();
            }
        }
    }

    fn zone(&mut self) -> Result<(), String> {
        if let [b'Z', rest @ ..] = self.rest {
            self.rest = rest;
            return Ok(());
        }
        let start = self.rest;
        let bad = self.cannot_parse(start, "Z07:00");
        let [sign, _, _, b':', _, _, rest @ ..] = start else { return Err(bad) };
        let number = |at: usize| {
            let digits = start.get(at..at + 2).filter(|digits| digits.iter().all(u8::is_ascii_digit));
            digits.map(|digits| digits.iter().fold(0u32, |n, byte| n * 10 + u32::from(byte - b'0')))
        };
        self.rest = rest;
        let (hours, minutes) = (number(1), number(4));
        if hours.is_some_and(|hours| hours > 24) && minutes.is_none_or(|minutes| minutes <= 60) {
            return Err(self.complain("time zone offset hour out of range"));
        }
        if hours.is_some() && minutes.is_some_and(|minutes| minutes > 60) {
            return Err(self.complain("time zone offset minute out of range"));
        }
        match (hours, minutes, sign) {
            (Some(_), Some(_), b'+' | b'-') => Ok(()),
            _ => Err(bad),
        }
    }
}

fn days_in(month: u32, year: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The time package's own quoting: everything outside of printable ASCII byte by byte.
fn quote(text: &[u8]) -> String {
    let mut out = String::from("\"");
    for byte in text {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(*byte)]),
            b' '..=b'~' | 0x7F => out.push(char::from(*byte)),
            _ => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out.push('"');
    out
}
