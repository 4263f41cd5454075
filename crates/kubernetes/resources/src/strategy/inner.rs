//! How the server shows values whose types are its own: under names that are not those of the API.
//!
//! `inner.txt` (written by `make kinds`) has a line for each of these types: its name, and for each field the name,
//! the key of the API and the form. Forms are `s` text, `i` number, `b` truth, `*` pointer, `[` list, `{` map, `q`
//! amount, `t` time, `n` number or text, `m` metadata, `j` as the API has it, or the name of a type. A key that
//! starts with `^` is one of the object around it.

use std::collections::HashMap;
use std::sync::OnceLock;

use serde_json::Value;

use super::place::go_json;

static TEXT: &str = include_str!("../../inner.txt");

type Fields = Vec<(&'static str, &'static str, &'static str)>;

fn types() -> &'static HashMap<&'static str, Fields> {
    static TYPES: OnceLock<HashMap<&'static str, Fields>> = OnceLock::new();
    TYPES.get_or_init(|| {
        let line = |line: &'static str| {
            let mut words = line.split(' ');
            let name = words.next()?;
            let field = |word: &'static str| {
                let (name, rest) = word.split_once('=')?;
                let (key, form) = rest.split_once(':')?;
                Some((name, key, form))
            };
            Some((name, words.filter_map(field).collect()))
        };
        TEXT.lines().filter_map(line).collect()
    })
}

/// A value of the API as the server shows it.
pub fn shown(shape: &str, value: &Value) -> String {
    let mut out = String::new();
    write(shape, value, &Value::Null, None, 0, &mut out);
    out
}

/// Where two values differ, as the server says it: lines of their JSON.
pub fn difference(shape: &str, old: &Value, new: &Value) -> String {
    let lines = |value: &Value| {
        let mut out = String::new();
        write(shape, value, &Value::Null, Some(0), 0, &mut out);
        out
    };
    super::difference::unified(&lines(old), &lines(new))
}

/// How deep values are followed.
const DEEPEST: usize = 64;

fn write(shape: &str, value: &Value, around: &Value, indent: Option<usize>, depth: usize, out: &mut String) {
    if depth > DEEPEST {
        return out.push_str("null");
    }
    let first = shape.chars().next().unwrap_or('j');
    let rest = shape.get(1..).unwrap_or_default();
    match (first, value) {
        ('*', Value::Null) | ('[', Value::Null) | ('{', Value::Null) => out.push_str("null"),
        ('*', value) => write(rest, value, around, indent, depth + 1, out),
        ('[', Value::Array(list)) => {
            let items = list.iter().map(|item| (None, rest, item));
            members(items.collect(), ('[', ']'), around, indent, depth, out);
        }
        ('{', Value::Object(map)) => {
            let items = map.iter().map(|(key, item)| (Some(key.as_str()), rest, item));
            members(items.collect(), ('{', '}'), around, indent, depth, out);
        }
        ('s', Value::Null) if shape == "s" => out.push_str("\"\""),
        ('i', Value::Null) if shape == "i" => out.push('0'),
        ('b', Value::Null) if shape == "b" => out.push_str("false"),
        ('n', Value::Null) if shape == "n" => out.push('0'),
        ('q', Value::Null) if shape == "q" => out.push_str("\"0\""),
        _ => match types().get(shape) {
            Some(fields) => {
                static NOTHING: Value = Value::Null;
                let mut list = Vec::with_capacity(fields.len());
                for (name, key, form) in fields {
                    if *form == "m" {
                        metadata(value.get(*key).unwrap_or(&NOTHING), &mut list);
                        continue;
                    }
                    let found = match key.strip_prefix('^') {
                        Some(key) => around.get(key),
                        None if key.is_empty() => Some(value),
                        None => value.get(*key),
                    };
                    list.push((Some(*name), *form, found.unwrap_or(&NOTHING)));
                }
                members(list, ('{', '}'), value, indent, depth, out);
            }
            None => plain(value, indent, out),
        },
    }
}

/// Metadata is flat, and only what is there is shown.
fn metadata<'v>(value: &'v Value, list: &mut Vec<(Option<&'static str>, &'static str, &'v Value)>) {
    const KEYS: &[&str] = &[
        "name",
        "generateName",
        "namespace",
        "selfLink",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "labels",
        "annotations",
        "ownerReferences",
        "finalizers",
        "managedFields",
    ];
    for key in KEYS {
        if let Some(found) = value.get(*key).filter(|found| !found.is_null()) {
            list.push((Some(*key), "j", found));
        }
    }
}

fn members(
    list: Vec<(Option<&str>, &str, &Value)>,
    (open, close): (char, char),
    around: &Value,
    indent: Option<usize>,
    depth: usize,
    out: &mut String,
) {
    out.push(open);
    let count = list.len();
    for (at, (key, form, value)) in list.into_iter().enumerate() {
        line(indent.map(|indent| indent + 1), out);
        if let Some(key) = key {
            out.push_str(&go_json(&key.into()));
            out.push_str(if indent.is_some() { ": " } else { ":" });
        }
        write(form, value, around, indent.map(|indent| indent + 1), depth + 1, out);
        if at + 1 < count {
            out.push(',');
        }
    }
    if count > 0 {
        line(indent, out);
    }
    out.push(close);
}

fn line(indent: Option<usize>, out: &mut String) {
    if let Some(indent) = indent {
        out.push('\n');
        out.extend(std::iter::repeat_n(' ', indent));
    }
}

/// A value as the API has it.
fn plain(value: &Value, indent: Option<usize>, out: &mut String) {
    match (value, indent) {
        (Value::Array(list), Some(_)) => {
            let items = list.iter().map(|item| (None, "j", item)).collect();
            members(items, ('[', ']'), &Value::Null, indent, 0, out);
        }
        (Value::Object(map), Some(_)) => {
            let items = map.iter().map(|(key, item)| (Some(key.as_str()), "j", item)).collect();
            members(items, ('{', '}'), &Value::Null, indent, 0, out);
        }
        _ => out.push_str(&go_json(value)),
    }
}
