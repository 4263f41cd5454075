//! What an install or an upgrade would make of a release.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use clap::ArgMatches;
use podium_chart::values::Values;
use podium_chart::warning::Warning;
use podium_goyaml::{Map, Node, Pos, Value};
use podium_release::rendered::{BuildOptions, RenderedRelease};
use podium_release::store::is_system_label;
use podium_release::stored_chart::StoredContent;
use podium_release::{Release, engine::ReleaseHistory};

use crate::chart::input::Input;
use crate::chart::template::failed;
use crate::cluster::Cluster;
use crate::flag::{many, on};
use crate::output::complain;

/// Renders the chart as the next revision of a release, with the cluster as it is.
pub fn render(
    input: &mut Input,
    cluster: &std::rc::Rc<Cluster>,
    past: &ReleaseHistory,
    matches: &ArgMatches,
) -> Result<RenderedRelease> {
    if let Some(base) = past.base().filter(|_| !past.is_uninstalled()) {
        input.release.is_upgrade = true;
        reuse(input, base, matches)?;
    }
    // As in Helm, also where a name is taken again and the record has a higher number.
    input.release.revision = if past.is_uninstalled() { 1 } else { past.next_revision() };
    input.capabilities = cluster.capabilities()?;
    input.world.cluster = Some(cluster.clone());
    let prepared = input.prepare()?;
    let skip_crds = on(matches, "skip-crds");
    if !skip_crds {
        // The kinds of crds/ are there when the objects are made.
        let crds = RenderedRelease::default().with_crds(&prepared)?.crds;
        input.capabilities.api_versions.extend(crds.iter().flat_map(|crd| kinds(&crd.body)));
    }
    let files = input.render(&prepared).map_err(|error| failed(error, &prepared, true))?;
    let set = input.set.to_node()?;
    let config = set.as_map().cloned().unwrap_or_default();
    let dialect = input.renderer.dialect();
    let options = BuildOptions {
        dialect,
        stored: StoredContent::Full,
        all_notes: on(matches, "render-subchart-notes"),
    };
    let draft = RenderedRelease::new(&prepared, files, &input.release, config, options)
        .map_err(|error| failed(error.into(), &prepared, true))?;
    for events in &draft.unknown_hooks {
        complain(&Warning::UnknownHook { events: events.clone() }.line(dialect));
    }
    let mut draft = if skip_crds { draft } else { draft.with_crds(&prepared)? };
    draft.labels = labels(past, matches)?;
    Ok(draft)
}

/// What `.Capabilities.APIVersions` says of a CRD.
fn kinds(crd: &serde_json::Value) -> Vec<String> {
    let text = |path: &str| crd.pointer(path).and_then(serde_json::Value::as_str).unwrap_or_default();
    let versions = crd.pointer("/spec/versions").and_then(serde_json::Value::as_array);
    let names = versions.into_iter().flatten().filter_map(|version| version.get("name")?.as_str());
    names
        .flat_map(|version| {
            let group = format!("{}/{version}", text("/spec/group"));
            [format!("{group}/{}", text("/spec/names/kind")), group]
        })
        .collect()
}

/// The labels of the last record with those that are given; `null` takes one away.
fn labels(past: &ReleaseHistory, matches: &ArgMatches) -> Result<BTreeMap<String, String>> {
    let mut labels =
        past.last().filter(|_| !past.is_uninstalled()).map(|last| last.labels.clone()).unwrap_or_default();
    labels.retain(|key, _| !is_system_label(key));
    for pair in many(matches, "labels").iter().flat_map(|pairs| pairs.split(',')) {
        let Some((key, value)) = pair.split_once('=') else { bail!("--labels {pair}: write key=value") };
        if is_system_label(key) {
            bail!("--labels {key}: this label is Helm's own");
        }
        match value {
            "null" => labels.remove(key),
            value => labels.insert(key.to_owned(), value.to_owned()),
        };
    }
    Ok(labels)
}

/// Takes values of an older revision, by the rules of `helm upgrade`.
fn reuse(input: &mut Input, base: &Release, matches: &ArgMatches) -> Result<()> {
    let given = input.set.to_node()?;
    let given = given.as_map().cloned().unwrap_or_default();
    let none = Map::new();
    let config = base.config.as_ref().unwrap_or(&none);
    if on(matches, "reset-values") {
        return Ok(());
    }
    let set = if on(matches, "reset-then-reuse-values") || on(matches, "reuse-values") {
        let mut set = config.clone();
        set_over(&mut set, given);
        set
    } else if given.is_empty() {
        config.clone()
    } else {
        return Ok(());
    };
    if on(matches, "reuse-values") && !on(matches, "reset-then-reuse-values") {
        input.replace_defaults(base.computed_values(input.renderer.dialect())?)?;
    }
    input.set = Values::from_owned(set, Pos::default())?;
    Ok(())
}

/// Puts what is set now over what was set before. Null takes a value of before away, so that the chart's default comes
/// back; where there was none, it stays, and takes the default away.
fn set_over(before: &mut Map, now: Map) {
    let mut work = vec![(before, now)];
    while let Some((before, now)) = work.pop() {
        let mut inner = BTreeMap::new();
        for (key, node) in now.into_entries() {
            let there = before.get(&key);
            let merges = there.is_some_and(|there| there.as_map().is_some());
            let was_set = there.is_some_and(|there| !matches!(there.value, Value::Null));
            match node.value {
                Value::Map(map) if merges => drop(inner.insert(key, map)),
                Value::Null if was_set => drop(before.remove(&key)),
                value => drop(before.insert(key, Node { value, pos: node.pos })),
            }
        }
        for (key, there) in before.iter_mut() {
            if let (Some(there), Some(map)) = (there.as_map_mut(), inner.remove(key)) {
                work.push((there, map));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use podium_goyaml::yaml;

    use super::*;

    #[test]
    fn null_brings_a_default_back_or_takes_it_away() {
        let parse = |text: &str| yaml::parse(text.as_bytes(), 0).unwrap().as_map().cloned().unwrap();
        // As `helm upgrade --reset-then-reuse-values` stores them.
        for (before, now, after) in [
            ("{a: {b: 1, c: 2}, d: 3}", "{a: {b: null}, d: null}", r#"{"a":{"c":2}}"#),
            ("{a: 1}", "{b: null, c: {d: null}}", r#"{"a":1,"b":null,"c":{"d":null}}"#),
            ("{a: null}", "{a: null}", r#"{"a":null}"#),
            ("{a: {b: 1}}", "{a: 5}", r#"{"a":5}"#),
            ("{a: 5}", "{a: {b: 1}}", r#"{"a":{"b":1}}"#),
        ] {
            let mut map = parse(before);
            set_over(&mut map, parse(now));
            assert_eq!(map, parse(after), "{before} {now}");
        }
    }
}
