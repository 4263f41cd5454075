//! Dates as `time.Parse("2006-01-02")` reads them, with its errors.

const LAYOUT: &[u8] = b"2006-01-02";

/// Quotes as the time package does: everything but plain ASCII as bytes.
fn quote(text: &[u8]) -> String {
    let mut out = String::from("\"");
    for byte in text {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(*byte)]),
            b' '..0x80 => out.push(char::from(*byte)),
            _ => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out.push('"');
    out
}

fn days(year: u32, month: u32) -> u32 {
    let leap = year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Takes a number of exactly `width` digits.
fn number(text: &[u8], width: usize) -> Option<(u32, &[u8])> {
    let (digits, rest) = text.split_at_checked(width)?;
    let add = |n: u32, b: &u8| Some(n * 10 + char::from(*b).to_digit(10)?);
    Some((digits.iter().try_fold(0, add)?, rest))
}

/// Whether the text is a date; if not, why.
pub(crate) fn parse(text: &[u8]) -> Result<(), String> {
    let time = quote(text);
    let mismatch = |rest: &[u8], element: &str| {
        let (layout, rest, element) = (quote(LAYOUT), quote(rest), quote(element.as_bytes()));
        format!("parsing time {time} as {layout}: cannot parse {rest} as {element}")
    };
    let (year, rest) = number(text, 4).ok_or_else(|| mismatch(text, "2006"))?;
    let rest = rest.strip_prefix(b"-").ok_or_else(|| mismatch(rest, "-"))?;
    let (month, rest) = number(rest, 2).ok_or_else(|| mismatch(rest, "01"))?;
    if !(1..=12).contains(&month) {
        return Err(format!("parsing time {time}: month out of range"));
    }
    let rest = rest.strip_prefix(b"-").ok_or_else(|| mismatch(rest, "-"))?;
    let (day, rest) = number(rest, 2).ok_or_else(|| mismatch(rest, "02"))?;
    if !rest.is_empty() {
        return Err(format!("parsing time {time}: extra text: {}", quote(rest)));
    }
    if !(1..=days(year, month)).contains(&day) {
        return Err(format!("parsing time {time}: day out of range"));
    }
    Ok(())
}
