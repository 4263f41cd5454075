//! Schedules, as far as it matters whether they are some.

/// The lowest and highest number of a field, and the names of its numbers.
type Bounds = (u64, u64, &'static [&'static str]);

const MONTHS: &[&str] =
    &["", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: &[&str] = &["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const FIELDS: [Bounds; 5] = [(0, 59, &[]), (0, 23, &[]), (1, 31, &[]), (1, 12, MONTHS), (0, 6, DAYS)];

/// Why a text is no schedule, in the words of the library that reads them.
pub fn problem(text: &str) -> Option<String> {
    let mut text = text;
    if text.starts_with("TZ=") || text.starts_with("CRON_TZ=") {
        // Zones are not looked up here: a schedule with one is refused for having it anyway.
        text = text.split_once(' ').map_or("", |(_, rest)| rest).trim();
    }
    if text.starts_with('@') {
        return descriptor(text);
    }
    let fields: Vec<&str> = text.split_whitespace().collect();
    if fields.len() != 5 {
        let list = fields.join(" ");
        return Some(format!("expected exactly 5 fields, found {}: [{list}]", fields.len()));
    }
    fields.iter().zip(FIELDS).find_map(|(field, bounds)| {
        field.split(',').filter(|part| !part.is_empty()).find_map(|part| range(part, bounds).err())
    })
}

fn descriptor(text: &str) -> Option<String> {
    match text {
        "@yearly" | "@annually" | "@monthly" | "@weekly" | "@daily" | "@midnight" | "@hourly" => None,
        _ => match text.strip_prefix("@every ") {
            Some(time) if is_duration(time) => None,
            Some(time) => Some(format!("failed to parse duration {text}: time: invalid duration {time:?}")),
            None => Some(format!("unrecognized descriptor: {text}")),
        },
    }
}

fn is_duration(text: &str) -> bool {
    let mut rest = text.trim_start_matches(['+', '-']);
    if rest == "0" {
        return true;
    }
    let mut any = false;
    while !rest.is_empty() {
        let number =
            rest.len() - rest.trim_start_matches(|sign: char| sign.is_ascii_digit() || sign == '.').len();
        let (digits, after) = rest.split_at(number);
        let unit = after.find(|sign: char| sign.is_ascii_digit() || sign == '.').unwrap_or(after.len());
        let (unit, next) = after.split_at(unit);
        if digits.trim_matches('.').is_empty() || !["ns", "us", "µs", "ms", "s", "m", "h"].contains(&unit) {
            return false;
        }
        any = true;
        rest = next;
    }
    any
}

fn range(text: &str, (low, high, names): Bounds) -> Result<(), String> {
    let mut parts = text.split('/');
    let (span, step) = (parts.next().unwrap_or_default(), parts.next());
    let ends: Vec<&str> = span.split('-').collect();
    let first = ends.first().copied().unwrap_or_default();
    let (start, mut end) = if matches!(first, "*" | "?") {
        (low, high)
    } else {
        let start = number(first, names)?;
        match ends.as_slice() {
            [_] => (start, start),
            [_, last] => (start, number(last, names)?),
            _ => return Err(format!("too many hyphens: {text}")),
        }
    };
    let mut pace = 1;
    if let Some(step) = step {
        pace = plain(step)?;
        if parts.next().is_some() {
            return Err(format!("too many slashes: {text}"));
        }
        if ends.len() == 1 {
            end = high;
        }
    }
    if start < low {
        return Err(format!("beginning of range ({start}) below minimum ({low}): {text}"));
    }
    if end > high {
        return Err(format!("end of range ({end}) above maximum ({high}): {text}"));
    }
    if start > end {
        return Err(format!("beginning of range ({start}) beyond end of range ({end}): {text}"));
    }
    if pace == 0 {
        return Err(format!("step of range should be a positive number: {text}"));
    }
    Ok(())
}

fn number(text: &str, names: &[&str]) -> Result<u64, String> {
    let lower = text.to_lowercase();
    let named = names.iter().position(|name| !name.is_empty() && *name == lower);
    named.map_or_else(|| plain(text), |at| Ok(u64::try_from(at).unwrap_or(0)))
}

fn plain(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let why = if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        "invalid syntax"
    } else {
        match text.parse::<i64>() {
            Ok(number) if number < 0 => {
                return Err(format!("negative number ({number}) not allowed: {text}"));
            }
            Ok(number) => return Ok(number.unsigned_abs()),
            Err(_) => "value out of range",
        }
    };
    Err(format!("failed to parse int from {text}: strconv.Atoi: parsing {text:?}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::problem;

    #[test]
    fn texts_that_are_no_schedules_are_named() {
        for good in ["* * * * *", "*/5 0-23/2 1,15 jan-DEC mon", "@daily", "@every 1h30m", "0 0 ? * 6"] {
            assert_eq!(problem(good), None, "{good}");
        }
        let table = [
            ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
            ("60 * * * *", "end of range (60) above maximum (59): 60"),
            ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
            ("*/0 * * * *", "step of range should be a positive number: */0"),
            ("a * * * *", "failed to parse int from a: strconv.Atoi: parsing \"a\": invalid syntax"),
            ("@never", "unrecognized descriptor: @never"),
        ];
        for (text, expected) in table {
            assert_eq!(problem(text).as_deref(), Some(expected), "{text}");
        }
    }
}
