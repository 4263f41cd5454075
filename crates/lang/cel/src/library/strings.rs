//! Functions of texts.

use podium_gotmpl::gostr;
use podium_re2::Regex;

use super::{LARGEST, Native, TOO_LARGE};
use crate::value::{NO_OVERLOAD, Value};

/// Texts and numbers of the arguments; a wrong type is a failure.
fn texts<'v>(args: &'v [Value<'_>]) -> Option<Vec<&'v str>> {
    args.iter().map_while(Value::as_str).map(Some).collect()
}

fn number(args: &[Value<'_>], at: usize) -> i64 {
    match args.get(at) {
        Some(Value::Int(int)) => *int,
        _ => 0,
    }
}

fn with<'a>(args: &[Value<'a>], count: usize, make: impl FnOnce(&[&str]) -> Value<'a>) -> Value<'a> {
    match texts(args) {
        Some(texts) if texts.len() >= count => make(&texts),
        _ => Value::error(NO_OVERLOAD),
    }
}

fn out_of_range<'a>(index: i64) -> Value<'a> {
    Value::error(format!("index out of range: {index}"))
}

/// The characters from one place to another.
fn part<'a>(text: &str, start: i64, end: Option<i64>) -> Value<'a> {
    let characters: Vec<char> = text.chars().collect();
    let length = characters.len() as i64;
    if let Some(end) = end.filter(|end| start > *end) {
        return Value::error(format!("invalid substring range. start: {start}, end: {end}"));
    }
    let end = end.unwrap_or(length);
    if let Some(wrong) = [start, end].into_iter().find(|at| !(0..=length).contains(at)) {
        return out_of_range(wrong);
    }
    Value::text(characters.get(start as usize..end as usize).unwrap_or_default().iter().collect::<String>())
}

/// Where a text is in another, from a place on or back from it.
fn find<'a>(text: &str, wanted: &str, offset: i64, back: bool) -> Value<'a> {
    if wanted.is_empty() {
        return Value::Int(offset);
    }
    if offset < 0 {
        return out_of_range(offset);
    }
    let text: Vec<char> = text.chars().collect();
    let wanted: Vec<char> = wanted.chars().collect();
    let offset = usize::try_from(offset).unwrap_or(usize::MAX);
    let (Some(last), true) = (text.len().checked_sub(wanted.len()), offset < text.len()) else {
        return Value::Int(-1);
    };
    let is_at = |at: &usize| text.get(*at..*at + wanted.len()) == Some(&wanted[..]);
    let found = if back { (0..=offset.min(last)).rev().find(is_at) } else { (offset..=last).find(is_at) };
    Value::Int(found.map_or(-1, |at| at as i64))
}

/// Replaces the first `n` places, or all of them if it is negative.
fn replace<'a>(text: &str, old: &str, new: &str, n: i64) -> Value<'a> {
    if n == 0 || old == new {
        return Value::text(text);
    }
    let places = if old.is_empty() { text.chars().count() + 1 } else { text.matches(old).count() };
    let places = usize::try_from(n).map_or(places, |n| n.min(places));
    if places.saturating_mul(new.len()).saturating_add(text.len()) > LARGEST {
        return Value::error(TOO_LARGE);
    }
    Value::text(text.replacen(old, new, places))
}

/// Splits into at most `n` parts, or all of them if it is negative.
fn split<'a>(text: &str, separator: &str, n: i64) -> Value<'a> {
    let n = usize::try_from(n).unwrap_or(usize::MAX);
    if n == 0 {
        return Value::list(Vec::new());
    }
    if !separator.is_empty() {
        return Value::texts(text.splitn(n, separator));
    }
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if parts.len() + 1 == n {
            break;
        }
        let (character, tail) = rest.split_at(first.len_utf8());
        parts.push(character);
        rest = tail;
    }
    if !rest.is_empty() {
        parts.push(rest);
    }
    Value::texts(parts)
}

fn join<'a>(args: &[Value<'a>]) -> Value<'a> {
    let Some(Value::List(list)) = args.first() else { return Value::error(NO_OVERLOAD) };
    let separator = args.get(1).and_then(Value::as_str).unwrap_or_default();
    let mut out = String::new();
    for (at, item) in list.iter().enumerate() {
        if at > 0 {
            out.push_str(separator);
        }
        match &item {
            Value::String(text) => out.push_str(text),
            other => return Value::error(format!("join: invalid input: {}", super::show(other))),
        }
        if out.len() > LARGEST {
            return Value::error(TOO_LARGE);
        }
    }
    Value::text(out)
}

fn quote<'a>(text: &str) -> Value<'a> {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            other => out.push(other),
        }
    }
    out.push('"');
    Value::text(out)
}

/// A pattern of an argument.
fn pattern<'a>(args: &[Value<'a>], run: impl FnOnce(&Regex) -> Value<'a>, illegal: &str) -> Value<'a> {
    match args.get(1).and_then(Value::as_str) {
        Some(pattern) => match Regex::new(pattern.as_bytes()) {
            Ok(regex) => run(&regex),
            Err(error) => Value::error(format!("{illegal}{error}")),
        },
        None => args.get(1).map_or_else(|| Value::error(NO_OVERLOAD), Value::no_overload),
    }
}

/// Whether a text matches a pattern.
pub fn matches<'a>(args: &[Value<'a>]) -> Value<'a> {
    match args {
        [Value::String(_), _] => pattern(args, |regex| with_pattern("matches", regex, args), ""),
        [other, ..] => super::operators::without_trait(other, "matches"),
        [] => Value::error(NO_OVERLOAD),
    }
}

/// `matches`, `find` and `findAll` with a pattern that is known.
pub fn with_pattern<'a>(name: &str, regex: &Regex, args: &[Value<'a>]) -> Value<'a> {
    let Some(text) = args.first().and_then(Value::as_str) else {
        return args.first().map_or_else(|| Value::error(NO_OVERLOAD), Value::no_overload);
    };
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match (name, args.get(2)) {
        ("matches", _) => Value::Bool(regex.is_match(text.as_bytes())),
        ("find", _) => Value::text(regex.find(text.as_bytes()).map(shown).unwrap_or_default()),
        (_, None) => Value::texts(regex.find_all(text.as_bytes(), -1).into_iter().map(shown)),
        (_, Some(Value::Int(0))) => Value::list(Vec::new()),
        (_, Some(Value::Int(n))) => Value::texts(regex.find_all(text.as_bytes(), *n).into_iter().map(shown)),
        (_, Some(other)) => other.no_overload(),
    }
}

fn tested<'a>(args: &[Value<'a>], test: fn(&str, &str) -> bool) -> Value<'a> {
    match args {
        [Value::String(text), Value::String(part)] => Value::Bool(test(text, part)),
        [Value::String(_), other] | [other, ..] => other.no_overload(),
        [] => Value::error(NO_OVERLOAD),
    }
}

/// The function of an overload.
pub fn native(id: &str) -> Option<Native> {
    Some(match id {
        "contains_string" => |args| tested(args, |text, part| text.contains(part)),
        "starts_with_string" => |args| tested(args, |text, part| text.starts_with(part)),
        "ends_with_string" => |args| tested(args, |text, part| text.ends_with(part)),
        "string_char_at_int" => |args| {
            with(args, 1, |texts| {
                let index = number(args, 1);
                let length = texts.first().map_or(0, |text| text.chars().count()) as i64;
                match texts {
                    [text, ..] if (0..length).contains(&index) => part(text, index, Some(index + 1)),
                    _ if index == length => Value::text(""),
                    _ => out_of_range(index),
                }
            })
        },
        "string_index_of_string" | "string_index_of_string_int" => {
            |args| with(args, 2, |texts| find(texts[0], texts[1], number(args, 2), false))
        }
        "string_last_index_of_string" => |args| {
            with(args, 2, |texts| {
                let length = texts[0].chars().count() as i64;
                match texts[1] {
                    "" => Value::Int(length),
                    wanted if texts[0].len() < wanted.len() => Value::Int(-1),
                    wanted => find(texts[0], wanted, length - 1, true),
                }
            })
        },
        "string_last_index_of_string_int" => {
            |args| with(args, 2, |texts| find(texts[0], texts[1], number(args, 2), true))
        }
        "string_lower_ascii" => |args| with(args, 1, |texts| Value::text(texts[0].to_ascii_lowercase())),
        "string_upper_ascii" => |args| with(args, 1, |texts| Value::text(texts[0].to_ascii_uppercase())),
        "string_trim" => |args| {
            with(args, 1, |texts| {
                let trimmed = gostr::trim_space(texts[0].as_bytes());
                Value::text(String::from_utf8_lossy(trimmed).into_owned())
            })
        },
        "string_replace_string_string" => {
            |args| with(args, 3, |texts| replace(texts[0], texts[1], texts[2], -1))
        }
        "string_replace_string_string_int" => {
            |args| with(args, 3, |texts| replace(texts[0], texts[1], texts[2], number(args, 3)))
        }
        "string_split_string" => |args| with(args, 2, |texts| split(texts[0], texts[1], -1)),
        "string_split_string_int" => |args| with(args, 2, |texts| split(texts[0], texts[1], number(args, 2))),
        "string_substring_int" => |args| with(args, 1, |texts| part(texts[0], number(args, 1), None)),
        "string_substring_int_int" => {
            |args| with(args, 1, |texts| part(texts[0], number(args, 1), Some(number(args, 2))))
        }
        "string_format" => super::format::native,
        "strings_quote" => |args| with(args, 1, |texts| quote(texts[0])),
        "list_join" | "list_join_string" => join,
        "string_find_string" => {
            |args| pattern(args, |regex| with_pattern("find", regex, args), "Illegal regex: ")
        }
        "string_find_all_string" | "string_find_all_string_int" => {
            |args| pattern(args, |regex| with_pattern("findAll", regex, args), "Illegal regex: ")
        }
        _ => return None,
    })
}
