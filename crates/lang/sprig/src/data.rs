//! JSON, YAML and TOML, in and out.

use std::collections::HashSet;
use std::fmt::Display;

use podium_gotmpl::types::{ANY, LIST, MAP, STRING};
use podium_gotmpl::{Ctx, Error, Func, Shape, Str, Type, Value};
use podium_goyaml::{List, Map, Node, emit, json, toml, tree, yaml};

use crate::args::{Outcome, any, func, string, text};
use crate::convert::from_tree;
use crate::dates::local_zone;
use crate::document::{Document, Format, LOCAL_FORMS, RFC3339_NANO};
use crate::gotime::{Location, Time, parse_in_location};
use crate::times::time;

/// The functions of this module.
pub static FUNCS: &[Func] = &[
    func("toJson", &[&ANY], |cx, a| or_empty(to_json(cx, a))),
    func("mustToJson", &[&ANY], |cx, a| string(to_json(cx, a)?)),
    func("toPrettyJson", &[&ANY], |cx, a| or_empty(to_pretty_json(cx, a))),
    func("mustToPrettyJson", &[&ANY], |cx, a| string(to_pretty_json(cx, a)?)),
    func("toRawJson", &[&ANY], to_raw_json),
    func("mustToRawJson", &[&ANY], to_raw_json),
    func("fromJson", &[&STRING], |cx, a| {
        room_to_read(cx, a)?;
        let (map, error) = json::parse_map(text(a, 0), 0);
        Ok(map_or_error(cx, map, error))
    }),
    func("fromJsonArray", &[&STRING], |cx, a| {
        room_to_read(cx, a)?;
        Ok(list_or_error(cx, json::parse_list(text(a, 0), 0)))
    }),
    func("mustFromJson", &[&STRING], |cx, a| {
        room_to_read(cx, a)?;
        let node = json::parse(text(a, 0), 0).map_err(|e| Error::new(e.to_string()))?;
        Ok(from_tree(cx.heap, &node))
    }),
    func("toYaml", &[&ANY], |cx, a| or_empty(to_yaml(cx, a))),
    func("toYamlPretty", &[&ANY], |cx, a| {
        let document = Document::new(cx.heap, any(a, 0), Format::Yaml).indented();
        match cx.heap.for_a_while(|| emit::to_yaml_pretty(&document)) {
            // Go returns the other errors, which Helm drops, but panics with this one.
            Err(error @ emit::Error::Type(_)) => Err(refused(cx, error)),
            written => or_empty(kept(cx, written.map(without_break))),
        }
    }),
    func("fromYaml", &[&STRING], |cx, a| {
        room_to_read(cx, a)?;
        Ok(match yaml::parse_object(text(a, 0), 0) {
            Ok(map) => map_or_error(cx, Some(map), None::<String>),
            Err(error) => map_or_error(cx, Some(Map::new()), Some(error)),
        })
    }),
    func("fromYamlArray", &[&STRING], |cx, a| {
        room_to_read(cx, a)?;
        Ok(match yaml::parse_as(text(a, 0), 0, &yaml::types::LIST) {
            // Unlike JSON's, YAML's null leaves the list as it was: empty.
            Ok(node) if node.is_null() => cx.heap.list(Vec::new()),
            Ok(node) => from_tree(cx.heap, &node),
            Err(error) => list_or_error(cx, Err(error)),
        })
    }),
    func("toToml", &[&ANY], |cx, a| match to_toml(cx, a) {
        Err((false, error)) if !error.fatal => string(error.message),
        written => string(written.map_err(|(_, error)| error)?),
    }),
    func("fromToml", &[&STRING], |cx, a| {
        room_to_read(cx, a)?;
        Ok(match toml::parse_with(text(a, 0), 0, &mut FromToml(cx)) {
            Ok(value) => value.unwrap_or_default(),
            Err(error) => map_or_error(cx, Some(Map::new()), Some(error)),
        })
    }),
];

/// Conversions that fail the render, which only Helm 4 has.
pub static MUST_FUNCS: &[Func] = &[
    func("mustToYaml", &[&ANY], |cx, a| string(to_yaml(cx, a)?)),
    func("mustToToml", &[&ANY], |cx, a| string(to_toml(cx, a).map_err(|(_, error)| error)?)),
];

/// `[]map[string]interface {}`, the list that `[[…]]` makes.
static TABLES: Type = Type::literal("[]map[string]interface {}", Shape::Slice(&MAP));

/// Makes values of what is read from TOML.
struct FromToml<'c, 'h>(&'c Ctx<'h>);

impl<'h> toml::Build for FromToml<'_, 'h> {
    type Made = Value<'h>;

    fn leaf(&mut self, leaf: toml::Leaf, pos: tree::Pos) -> Value<'h> {
        match leaf {
            toml::Leaf::Value(value) => from_tree(self.0.heap, &Node::new(value, pos)),
            toml::Leaf::Date(text) => toml_date(self.0, &text).map_or_else(|| Value::string(text), time),
        }
    }

    fn list(&mut self, items: Vec<Value<'h>>, tables: bool, _: tree::Pos) -> Value<'h> {
        self.0.heap.typed_list(if tables { &TABLES } else { &LIST }, items)
    }

    fn table(&mut self, entries: Vec<(Box<str>, Value<'h>)>, _: tree::Pos) -> Value<'h> {
        let entries = entries.into_iter().map(|(key, value)| (Str::from(String::from(key)), value));
        Value::Map(self.0.heap.map(entries.collect()))
    }
}

/// A time in local zone if the text has an offset, else in a zone that says what is missing.
fn toml_date(cx: &Ctx<'_>, text: &str) -> Option<Time> {
    let local = local_zone(cx);
    let (seconds, _) = cx.world.now();
    let (_, offset) = Time::from_unix(seconds, 0, local.clone()).zone();
    let [datetime, date, clock] = LOCAL_FORMS.map(|(name, layout)| (layout, Location::fixed(name, offset)));
    let short = [
        ("2006-01-02T15:04Z07:00", local.clone()),
        ("2006-01-02T15:04", datetime.1.clone()),
        ("15:04", clock.1.clone()),
    ];
    let layouts = [(RFC3339_NANO, local), datetime, date, clock].into_iter().chain(short);
    layouts.into_iter().find_map(|(layout, zone)| parse_in_location(layout, text, &zone).ok())
}

/// An error of a writer, unless the document was refused because memory ran out.
fn refused(cx: &Ctx<'_>, error: impl Display) -> Error {
    match cx.heap.charge(1) {
        Err(limit) => limit,
        Ok(()) => Error::new(error.to_string()),
    }
}

/// Helm prints nothing when a value cannot be written.
fn or_empty<'h>(written: Result<Vec<u8>, Error>) -> Outcome<'h> {
    match written {
        Err(error) if error.fatal => Err(error),
        written => string(written.unwrap_or_default()),
    }
}

/// A text that stays, or why there is none.
fn kept(cx: &Ctx<'_>, written: Result<Vec<u8>, impl Display>) -> Result<Vec<u8>, Error> {
    let text = written.map_err(|e| refused(cx, e))?;
    cx.heap.charge(text.len())?;
    Ok(text)
}

/// The writer takes a value that is very deep for one that contains itself. Helm prints nothing for that, but writes
/// the other, so that nothing would be wrong.
fn kept_json<'h>(
    cx: &Ctx<'h>,
    args: &[Value<'h>],
    written: Result<Vec<u8>, json::Error>,
) -> Result<Vec<u8>, Error> {
    match written {
        Err(json::Error::Cycle(_)) if !contains_itself(any(args, 0)) => {
            Err(Error::limit("nesting", json::MAX_DEPTH))
        }
        written => kept(cx, written),
    }
}

/// Whether a map or list is somewhere inside of itself.
fn contains_itself(value: &Value<'_>) -> bool {
    let address = |value: &Value<'_>| match value {
        Value::Map(m) => Some(std::ptr::from_ref(m.origin()).addr()),
        Value::List(l) => Some(std::ptr::from_ref(*l).addr()),
        _ => None,
    };
    let (mut open, mut done) = (HashSet::new(), HashSet::new());
    // Each container is looked at when it is met first, and closed after all that is in it.
    let mut work = vec![(value.clone(), false)];
    while let Some((value, closes)) = work.pop() {
        let Some(at) = address(&value) else { continue };
        if closes {
            open.remove(&at);
            done.insert(at);
            continue;
        }
        if done.contains(&at) {
            continue;
        }
        if !open.insert(at) {
            return true;
        }
        work.push((value.clone(), true));
        match &value {
            Value::Map(m) => work.extend(m.borrow().values().map(|v| (v.clone(), false))),
            Value::List(l) => work.extend(l.items.iter().map(|v| (v.clone(), false))),
            _ => {}
        }
    }
    false
}

fn to_json<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Result<Vec<u8>, Error> {
    let document = Document::new(cx.heap, any(args, 0), Format::Json);
    kept_json(cx, args, cx.heap.for_a_while(|| json::to_string(&document)))
}

fn to_pretty_json<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Result<Vec<u8>, Error> {
    let document = Document::new(cx.heap, any(args, 0), Format::Json).indented();
    kept_json(cx, args, cx.heap.for_a_while(|| json::to_pretty(&document)))
}

fn to_raw_json<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    let document = Document::new(cx.heap, any(args, 0), Format::Json);
    string(kept_json(cx, args, cx.heap.for_a_while(|| json::to_raw_string(&document)))?)
}

fn to_yaml<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Result<Vec<u8>, Error> {
    let document = Document::new(cx.heap, any(args, 0), Format::Json).indented();
    kept(cx, cx.heap.for_a_while(|| emit::to_yaml(&document).map(without_break)))
}

/// The flag of an error says that Go panics with it, where it returns the others.
fn to_toml<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Result<Vec<u8>, (bool, Error)> {
    let document = Document::new(cx.heap, any(args, 0), Format::Toml).indented();
    let written = cx.heap.for_a_while(|| toml::to_string(&document));
    let panics = written == Err(toml::Error::Nil);
    kept(cx, written).map_err(|error| (panics, error))
}

fn without_break(mut text: Vec<u8>) -> Vec<u8> {
    if text.last() == Some(&b'\n') {
        text.pop();
    }
    text
}

/// A text becomes a tree of many times its size.
fn room_to_read(cx: &Ctx<'_>, args: &[Value<'_>]) -> Result<(), Error> {
    cx.heap.for_a_while(|| cx.heap.charge(text(args, 0).len().saturating_mul(32)))
}

/// What was read, with the text of an error under the key `Error`.
fn map_or_error<'h>(cx: &Ctx<'h>, map: Option<Map>, error: Option<impl Display>) -> Value<'h> {
    let value = match map {
        Some(map) => from_tree(cx.heap, &Node::from(tree::Value::Map(map))),
        None => cx.heap.nil_map(&MAP),
    };
    if let (Value::Map(m), Some(error)) = (&value, error) {
        m.set("Error".into(), Value::string(error.to_string()));
    }
    value
}

/// What was read, or a list of nothing but the text of the error.
fn list_or_error<'h>(cx: &Ctx<'h>, list: Result<Option<List>, impl Display>) -> Value<'h> {
    match list {
        Ok(Some(list)) => from_tree(cx.heap, &Node::from(tree::Value::List(list))),
        Ok(None) => cx.heap.nil_list(&LIST),
        Err(error) => cx.heap.list(vec![Value::string(error.to_string())]),
    }
}
