//! `podium chart values`.

use std::fmt::Write;

use anyhow::bail;
use clap::ArgMatches;
use podium_chart::origin::{Origin, Source, Sources};
use podium_goyaml::{List, Map, Node, Value, emit, json};

use crate::chart::input::Input;
use crate::flag::{Flag, Takes, one};
use crate::output::{complain, print};

/// The flags of this command alone.
pub const FLAGS: &[Flag] = &[
    Flag::new("output", Takes::One("text|json|yaml"), "how to print (default text)").short('o'),
    Flag::new("show", Takes::One("PATH"), "only the values below this path, for example image or image.tag"),
];

/// Shows what a render would see.
pub fn run(matches: &ArgMatches) -> anyhow::Result<()> {
    let format = one(matches, "output").unwrap_or("text");
    if !matches!(format, "text" | "json" | "yaml") {
        bail!("-o {format}: write text, json or yaml");
    }
    let input = Input::read("chart values", matches)?;
    let prepared = input.prepare()?;
    for warning in &prepared.warnings {
        complain(&warning.line(input.renderer.dialect()));
    }
    let values = prepared.values.to_node()?;
    let mut origins = input.sources.explain(&values);
    if let Some(path) = one(matches, "show") {
        let below = format!("{path}.");
        origins.retain(|o| o.path == path || o.path.starts_with(&below));
        if origins.is_empty() {
            bail!("there is no value {path:?}; `podium chart values` without --show lists all");
        }
    }
    match format {
        "text" => print(text(&origins, &input.sources).as_bytes()),
        "yaml" => print(&emit::to_yaml(&&machine_readable(&origins, &input.sources))?),
        _ => {
            let mut out = json::to_pretty(&&machine_readable(&origins, &input.sources))?;
            out.push(b'\n');
            print(&out)
        }
    }
}

/// One line per value: path, value, origin.
fn text(origins: &[Origin<'_>], sources: &Sources) -> String {
    let rows: Vec<(String, String)> = origins
        .iter()
        .map(|o| {
            let value = json::to_string(&o.value).unwrap_or_default();
            let value = String::from_utf8_lossy(&value).into_owned();
            let short: String = value.chars().take(60).collect();
            let value = if short.len() < value.len() { format!("{short}…") } else { value };
            (format!("{}: {value}", o.path), sources.describe(o.value.pos))
        })
        .collect();
    let width = rows.iter().map(|(left, _)| left.chars().count()).max().unwrap_or(0).min(70);
    let mut out = String::new();
    for (left, origin) in rows {
        let pad = width.saturating_sub(left.chars().count());
        let _ = writeln!(out, "{left}{:pad$}  # {origin}", "");
    }
    out
}

/// A list of objects with path, value and origin.
fn machine_readable(origins: &[Origin<'_>], sources: &Sources) -> Node {
    let mut list = List::new();
    for origin in origins {
        let pos = origin.value.pos;
        let mut place = Map::new();
        let kind = match origin.source {
            Some(Source::Chart { chart, file }) => {
                place.insert("chart", Value::from(chart.as_str()));
                place.insert("file", Value::from(file.as_str()));
                place.insert("line", Value::Int(i64::from(pos.line)));
                "default"
            }
            Some(Source::File(file)) => {
                place.insert("file", Value::from(file.as_str()));
                place.insert("line", Value::Int(i64::from(pos.line)));
                "file"
            }
            Some(Source::Flag { flag, text }) => {
                place.insert("flag", Value::from(*flag));
                place.insert("text", Value::from(text.as_str()));
                "flag"
            }
            Some(Source::Other(_)) => "other",
            None => "unknown",
        };
        place.insert("kind", Value::from(kind));
        place.insert("text", Value::from(sources.describe(pos)));
        let mut entry = Map::new();
        entry.insert("path", Value::from(origin.path.as_str()));
        entry.insert("value", origin.value.clone());
        entry.insert("origin", Value::Map(place));
        list.push(Value::Map(entry).into());
    }
    Value::List(list).into()
}
