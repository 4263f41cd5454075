//! What is printed: problems with their places, tables, and values as JSON or YAML.

use anyhow::bail;
use clap::ArgMatches;
use podium_catalog::compat::OpmCompat;
use podium_catalog::{CatalogError, SourceSpan};
use podium_deploy::object::json_to_node;
use podium_goyaml::emit;
use serde_json::Value;

use crate::flag::{many, one};
use crate::output::print;

/// As many places are named; a catalog with more has one cause for most of them.
const PLACES: usize = 20;

/// A problem as an error: opm's words, then where to look.
#[derive(Debug)]
pub struct Refused {
    /// The problem.
    pub problem: CatalogError,
    /// The folder that the files are in.
    root: String,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.problem.message)?;
        let known = |(place, _): &&(SourceSpan, String)| !place.file.is_empty() || place.line > 0;
        let places: Vec<_> = self.problem.spans.iter().filter(known).collect();
        for (place, reason) in places.iter().take(PLACES) {
            let file = match (self.root.as_str(), &*place.file) {
                (root, "") => root.to_owned(),
                ("" | "-", file) => file.to_owned(),
                (root, file) => format!("{}/{file}", root.trim_end_matches('/')),
            };
            let line = if place.line > 0 { format!(":{}", place.line) } else { String::new() };
            write!(f, "\n  {file}{line}: {reason}")?;
        }
        match places.len().saturating_sub(PLACES) {
            0 => Ok(()),
            more => write!(f, "\n  and {more} more places; repair these, then check again"),
        }
    }
}

impl std::error::Error for Refused {}

/// A problem as an error; `root` is the folder that the files are in.
pub fn refused(problem: CatalogError, root: &str) -> anyhow::Error {
    anyhow::Error::new(Refused { problem, root: root.to_owned() })
}

/// The value of `--compat`.
pub fn generation(matches: &ArgMatches) -> anyhow::Result<OpmCompat> {
    let name = one(matches, "compat").unwrap_or_default();
    match OpmCompat::from_version(name) {
        Some(generation) => Ok(generation),
        None => bail!("--compat {name}: write 1.51 or current"),
    }
}

/// The value of `-o`, which has to be one of these; the first is meant if there is none.
pub fn format(matches: &ArgMatches, known: &[&'static str]) -> anyhow::Result<&'static str> {
    let wanted = one(matches, "output").or(known.first().copied()).unwrap_or_default();
    match known.iter().find(|name| **name == wanted) {
        Some(name) => Ok(name),
        None => bail!("invalid --output value {wanted:?}, expected ({})", known.join("|")),
    }
}

/// What was given besides flags; the command says how many.
pub fn arguments(
    matches: &ArgMatches,
    least: usize,
    most: usize,
    usage: &str,
) -> anyhow::Result<Vec<String>> {
    let given = many(matches, "args");
    if given.len() < least || given.len() > most {
        bail!(
            "{} given: write podium catalog {usage}",
            match given.len() {
                0 => "nothing is".to_owned(),
                1 => "1 argument is".to_owned(),
                n => format!("{n} arguments are"),
            }
        );
    }
    Ok(given)
}

/// Prints a value as JSON or YAML.
pub fn print_value(value: Value, format: &str) -> anyhow::Result<()> {
    match format {
        "yaml" => print(&emit::to_yaml(&&json_to_node(value))?),
        _ => print(format!("{value:#}\n").as_bytes()),
    }
}

/// A table as Go's tabwriter sets it: two spaces between the columns.
pub fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or_default()
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        for (at, (cell, width)) in row.iter().zip(&widths).enumerate() {
            if at + 1 == row.len() {
                text.push_str(cell);
            } else {
                text.push_str(&format!("{cell:width$}  "));
            }
        }
        text.push('\n');
    }
    text
}
