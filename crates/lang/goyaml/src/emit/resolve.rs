//! Which plain scalars would be read as something else than a string.

use super::Dialect;
use crate::number::{self, Integer};

/// Whether a string that is written without quotation marks would come back as another type, or is one of the spellings
/// that YAML 1.1 gave a meaning to.
pub(super) fn is_ambiguous(text: &[u8], dialect: Dialect) -> bool {
    match text {
        [] => true,
        [b'0'..=b'9' | b'+' | b'-', ..] => {
            is_special_float(text) || is_timestamp(text) || is_number(text, dialect) || is_base60(text)
        }
        [b'.', ..] => is_special_float(text) || is_fraction(text),
        [b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~', ..] => is_word(text),
        _ => false,
    }
}

fn is_word(text: &[u8]) -> bool {
    text.len() <= 5
        && matches!(
            text,
            b"y" | b"Y"
                | b"yes"
                | b"Yes"
                | b"YES"
                | b"n"
                | b"N"
                | b"no"
                | b"No"
                | b"NO"
                | b"on"
                | b"On"
                | b"ON"
                | b"off"
                | b"Off"
                | b"OFF"
                | b"true"
                | b"True"
                | b"TRUE"
                | b"false"
                | b"False"
                | b"FALSE"
                | b"~"
                | b"null"
                | b"Null"
                | b"NULL"
        )
}

fn is_special_float(text: &[u8]) -> bool {
    let name = match text {
        [b'+' | b'-', name @ ..] => name,
        name => name,
    };
    matches!(name, b".inf" | b".Inf" | b".INF") || matches!(text, b".nan" | b".NaN" | b".NAN")
}

fn is_number(text: &[u8], dialect: Dialect) -> bool {
    if !text.contains(&b'_') {
        return is_plain_number(text, dialect);
    }
    let plain: Vec<u8> = text.iter().copied().filter(|&b| b != b'_').collect();
    is_plain_number(&plain, dialect)
}

fn is_plain_number(text: &[u8], dialect: Dialect) -> bool {
    let fits = |i| matches!(i, Integer::Signed(_) | Integer::Unsigned(_));
    if fits(number::integer(text)) || is_decimal(text) {
        return true;
    }
    // A second sign after the prefix is no number to anybody else.
    match text {
        [b'0', b'b', rest @ ..] => fits(number::integer_of_base(rest, 2)),
        [b'0', b'o', rest @ ..] if dialect == Dialect::Pretty => fits(number::integer_of_base(rest, 8)),
        _ => false,
    }
}

/// A sign, digits with a point somewhere or none, an exponent; and not so large that it is infinite.
fn is_decimal(text: &[u8]) -> bool {
    let unsigned = match text {
        [b'+' | b'-', rest @ ..] => rest,
        rest => rest,
    };
    let (whole, rest) = span(unsigned);
    let (has_digits, rest) = match rest {
        [b'.', rest @ ..] => {
            let (fraction, rest) = span(rest);
            (whole + fraction > 0, rest)
        }
        rest => (whole > 0, rest),
    };
    let complete = match rest {
        [] => true,
        [b'e' | b'E', b'+' | b'-', exponent @ ..] | [b'e' | b'E', exponent @ ..] => {
            !exponent.is_empty() && span(exponent).1.is_empty()
        }
        _ => false,
    };
    has_digits && complete && is_finite(text)
}

fn is_finite(text: &[u8]) -> bool {
    std::str::from_utf8(text).ok().and_then(|t| t.parse::<f64>().ok()).is_some_and(f64::is_finite)
}

/// How many digits there are at the start, and what follows them.
fn span(text: &[u8]) -> (usize, &[u8]) {
    let len = text.iter().take_while(|b| b.is_ascii_digit()).count();
    (len, text.get(len..).unwrap_or_default())
}

/// What starts with a point is read by `strconv.ParseFloat` itself, underscores between digits included.
fn is_fraction(text: &[u8]) -> bool {
    if !text.contains(&b'_') {
        return is_decimal(text);
    }
    let between = |i: usize| {
        let digit = |at: Option<usize>| at.and_then(|at| text.get(at)).is_some_and(u8::is_ascii_digit);
        digit(i.checked_sub(1)) && digit(i.checked_add(1))
    };
    let separated = text.iter().enumerate().all(|(i, &b)| b != b'_' || between(i));
    let plain: Vec<u8> = text.iter().copied().filter(|&b| b != b'_').collect();
    separated && is_decimal(&plain)
}

/// `12:30:45.5`: YAML 1.1 reads it with base 60.
fn is_base60(text: &[u8]) -> bool {
    let unsigned = match text {
        [b'+' | b'-', rest @ ..] => rest,
        rest => rest,
    };
    let Some(colon) = unsigned.iter().position(|&b| b == b':') else { return false };
    let (head, mut rest) = unsigned.split_at(colon);
    let digit_or_gap = |b: &u8| b.is_ascii_digit() || *b == b'_';
    if !head.first().is_some_and(u8::is_ascii_digit) || !head.iter().all(digit_or_gap) {
        return false;
    }
    while let [b':', tail @ ..] = rest {
        rest = match tail {
            [b'0'..=b'5', b'0'..=b'9', rest @ ..] => rest,
            [b'0'..=b'9', rest @ ..] => rest,
            _ => return false,
        };
    }
    match rest {
        [] => true,
        [b'.', fraction @ ..] => fraction.iter().all(digit_or_gap),
        _ => false,
    }
}

/// A date, or a date and a time, as go-yaml accepts them: `2001-1-2`, `2001-01-02T15:04:05.6Z`, `2001-01-02 15:4:5`.
fn is_timestamp(text: &[u8]) -> bool {
    let (year_len, rest) = span(text);
    let ([b'-', rest @ ..], 4) = (rest, year_len) else { return false };
    let year = text.iter().take(4).fold(0_u32, |y, b| y * 10 + u32::from(b - b'0'));
    let Some((month, [b'-', rest @ ..])) = one_or_two(rest) else { return false };
    let Some((day, rest)) = one_or_two(rest) else { return false };
    if !is_date(year, month, day) {
        return false;
    }
    match rest {
        [] => true,
        [b'T' | b't', time @ ..] => clock(time).is_some_and(is_zone),
        [b' ', ..] => {
            let spaces = rest.iter().take_while(|&&b| b == b' ').count();
            clock(rest.get(spaces..).unwrap_or_default()).is_some_and(<[u8]>::is_empty)
        }
        _ => false,
    }
}

fn one_or_two(text: &[u8]) -> Option<(u32, &[u8])> {
    match text {
        [a @ b'0'..=b'9', b @ b'0'..=b'9', rest @ ..] => {
            Some((u32::from(a - b'0') * 10 + u32::from(b - b'0'), rest))
        }
        [a @ b'0'..=b'9', rest @ ..] => Some((u32::from(a - b'0'), rest)),
        _ => None,
    }
}

/// Whether there is such a day.
pub(crate) fn is_date(year: u32, month: u32, day: u32) -> bool {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

/// Hours, minutes, seconds and a fraction; gives what follows.
fn clock(text: &[u8]) -> Option<&[u8]> {
    let (hour, [b':', rest @ ..]) = one_or_two(text)? else { return None };
    let (minute, [b':', rest @ ..]) = one_or_two(rest)? else { return None };
    let (second, rest) = one_or_two(rest)?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    Some(match rest {
        [b'.' | b',', b'0'..=b'9', ..] => rest.get(1..).map_or(rest, |fraction| span(fraction).1),
        rest => rest,
    })
}

fn is_zone(text: &[u8]) -> bool {
    match text {
        b"Z" => true,
        [b'+' | b'-', h1, h2, b':', m1, m2] if [h1, h2, m1, m2].iter().all(|b| b.is_ascii_digit()) => {
            [*h1, *h2] <= *b"24" && [*m1, *m2] <= *b"60"
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_go_yaml_reads_as_another_type_is_ambiguous() {
        for text in [
            "",
            "~",
            "y",
            "No",
            "OFF",
            "null",
            "TRUE",
            "1",
            "-1",
            "+1",
            "012",
            "08",
            "0x1F",
            "0b101",
            "0b-1",
            "1_000",
            "1_",
            "1.",
            ".5",
            ".5_0",
            "-.5",
            "1e3",
            "1E+3",
            ".inf",
            "+.INF",
            "-.Inf",
            ".NaN",
            "18446744073709551615",
            "2001-12-14",
            "2001-1-2",
            "2001-12-14t21:59:43.10-05:00",
            "2001-12-14   21:59:43,5",
            "12:30",
            "12:30:45",
            "-1_0:59.5_",
            "0000-01-01",
            "2024-02-29",
            "99999999999999999999",
        ] {
            assert!(is_ambiguous(text.as_bytes(), Dialect::Kubernetes), "{text}");
        }
    }

    #[test]
    fn what_stays_a_string_is_not() {
        for text in [
            "a",
            "yEs",
            "oN",
            "nUll",
            "nulls",
            "0x",
            "_1",
            "1:60",
            "1e",
            "1e999",
            "0b2",
            "1.2.3",
            "-",
            "+",
            ".",
            "..",
            "._5",
            ".5_",
            "-.nan",
            "2001-13-01",
            "2023-02-29",
            "2001-12-14T21:59:43",
            "2001-12-14 21:59:43Z",
            "=",
            "<<",
            "1 ",
            "0o8",
            "12:30:",
            "12::30",
            "-0b-1",
        ] {
            assert!(!is_ambiguous(text.as_bytes(), Dialect::Kubernetes), "{text}");
        }
        assert!(!is_ambiguous(b"0o-7", Dialect::Kubernetes));
        assert!(is_ambiguous(b"0o-7", Dialect::Pretty));
    }
}
