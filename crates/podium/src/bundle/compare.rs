//! `bundle check` and `bundle diff`.

use anyhow::{Result, anyhow, bail};
use clap::ArgMatches;
use podium_bundle::compare::{Comparison, VersionBump, compare};
use podium_bundle::render::{self as rendering, Options, RenderedObject};
use podium_bundle::{BundleFiles, RegistryV1};
use serde_json::{Value, json};

use super::input::{arguments, options, read};
use super::show::{Form, form, structured, told};
use crate::output::print;

/// The steps that a comparison needs and makes, in words.
fn steps(comparison: &Comparison) -> (&'static str, &'static str) {
    let word = |step: Option<VersionBump>, none| step.map_or(none, VersionBump::as_str);
    (word(comparison.required_bump(), "none"), word(comparison.actual_bump(), "none"))
}

/// Why a version is not honest, with the next step.
pub fn dishonest(comparison: &Comparison) -> String {
    let (needed, made) = steps(comparison);
    let (old, new, least) = (&comparison.old, &comparison.new, comparison.minimum_version());
    if comparison.actual_bump().is_none() {
        return format!("{new} is not newer than {old}: the least version is {least}");
    }
    format!(
        "from {old} to {new} is a {made} step, but a {needed} one is needed: the least version is {least}"
    )
}

/// `bundle check`.
pub fn check(matches: &ArgMatches) -> Result<()> {
    let [old, new] = arguments(matches, "check", "OLD NEW")?;
    let form = form(matches, Form::Text)?;
    let comparison = compare(&read(&old, matches)?, &read(&new, matches)?)?;
    match form {
        Form::Text => print(text(&comparison).as_bytes())?,
        form => structured(value(&comparison), form)?,
    }
    if comparison.satisfies_semver() { Ok(()) } else { bail!("{}", dishonest(&comparison)) }
}

/// A comparison for people.
pub fn text(comparison: &Comparison) -> String {
    let mut out = format!("{} {} -> {}\n", comparison.package, comparison.old, comparison.new);
    for change in &comparison.changes {
        out.push_str(&format!("  {change}\n"));
    }
    if comparison.changes.is_empty() {
        out.push_str("  nothing that users can tell\n");
    }
    out.push_str(&format!("the least honest version is {}\n", comparison.minimum_version()));
    out
}

fn value(comparison: &Comparison) -> Value {
    let (needed, made) = steps(comparison);
    let changes: Vec<Value> = comparison
        .changes
        .iter()
        .map(|one| json!({"step": one.bump.as_str(), "area": one.area.as_str(), "change": one.message}))
        .collect();
    json!({
        "package": comparison.package, "old": comparison.old.to_string(), "new": comparison.new.to_string(),
        "needed": needed, "made": made, "honest": comparison.satisfies_semver(), "least": comparison.minimum_version(),
        "changes": changes,
    })
}

fn objects(tree: &BundleFiles, place: &str, options: &Options) -> Result<(RegistryV1, Vec<RenderedObject>)> {
    let wrong =
        |findings: &[podium_bundle::Finding]| anyhow!("{place} cannot be rendered:\n{}", told(findings));
    let registry = RegistryV1::new(tree).map_err(|finding| wrong(&[finding]))?;
    let objects = rendering::render(&registry, options).map_err(|findings| wrong(&findings))?;
    Ok((registry, objects))
}

/// `bundle diff`.
pub fn diff(matches: &ArgMatches) -> Result<()> {
    let [old, new] = arguments(matches, "diff", "OLD NEW")?;
    let form = form(matches, Form::Text)?;
    let options = options(matches)?;
    let (was, before) = objects(&read(&old, matches)?, &old, &options)?;
    let (is, after) = objects(&read(&new, matches)?, &new, &options)?;
    let all = podium_bundle::diff::diff(&was, &before, &is, &after);
    match form {
        Form::Text => {
            let lines: String = all.iter().map(|one| format!("{one}\n")).collect();
            print(lines.as_bytes())
        }
        form => {
            let one = |one: &podium_bundle::diff::Difference| json!({"object": one.object, "path": one.path, "old": one.old, "new": one.new});
            structured(Value::Array(all.iter().map(one).collect()), form)
        }
    }
}
