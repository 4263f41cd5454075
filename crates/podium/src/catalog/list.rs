//! `podium catalog list`.

use std::collections::BTreeMap;

use anyhow::bail;
use clap::ArgMatches;
use podium_catalog::declcfg::{DeclarativeConfig, MetaKind};
use podium_catalog::model::{Channel, Model, convert_to_model};
use podium_catalog::{CatalogSummary, Meta};
use serde_json::{Value, json};

use super::input::catalog;
use super::output::{arguments, format, generation, print_value, refused, table};
use crate::output::print;

const WHAT: [&str; 3] = ["packages", "channels", "bundles"];

/// Lists what is in a catalog.
pub fn run(matches: &ArgMatches) -> anyhow::Result<()> {
    let mut args = arguments(matches, 1, 3, "list [packages|channels|bundles] CATALOG [PACKAGE]")?;
    let what = match WHAT.iter().find(|what| args.first().is_some_and(|arg| arg == *what)) {
        Some(what) if args.len() > 1 => {
            args.remove(0);
            *what
        }
        _ => "packages",
    };
    let (root, package) = (args.first().cloned().unwrap_or_default(), args.get(1));
    let generation = generation(matches)?;
    let format = format(matches, &["table", "json", "yaml"])?;
    let config = catalog(&root, generation, matches)?;
    let mut model = convert_to_model(&CatalogSummary::from_config(&config, generation), generation)
        .map_err(|problem| refused(problem, &root))?;
    if let Some(package) = package {
        if !model.contains_key(package) {
            bail!(
                "package {package:?} not found; the catalog has {}",
                model.keys().cloned().collect::<Vec<_>>().join(", ")
            );
        }
        model.retain(|name, _| name == package);
    }
    let (head, rows): (&[&str], Vec<Vec<String>>) = match what {
        "channels" => (&["PACKAGE", "CHANNEL", "HEAD"], channels(&model)),
        "bundles" => {
            (&["PACKAGE", "CHANNEL", "BUNDLE", "REPLACES", "SKIPS", "SKIP RANGE", "IMAGE"], bundles(&model))
        }
        _ => (&["NAME", "DISPLAY NAME", "DEFAULT CHANNEL"], packages(&model, &config)),
    };
    if format == "table" {
        let head = head.iter().map(|word| (*word).to_owned()).collect();
        let rows: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
        return print(table(&rows).as_bytes());
    }
    let key = |word: &str| {
        let mut words = word.split(' ').map(str::to_ascii_lowercase);
        let first = words.next().unwrap_or_default();
        first + &words.map(|word| word[..1].to_ascii_uppercase() + &word[1..]).collect::<String>()
    };
    let object = |row: Vec<String>| -> Value {
        head.iter()
            .zip(row)
            .map(|(word, cell)| (key(word), json!(cell)))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    print_value(rows.into_iter().map(object).collect(), format)
}

fn packages(model: &Model, config: &DeclarativeConfig) -> Vec<Vec<String>> {
    let heads: BTreeMap<(&str, &str), &Meta> = config
        .of_kind(MetaKind::Bundle)
        .map(|meta| ((meta.header.package.as_str(), meta.header.name.as_str()), meta))
        .collect();
    let row = |package: &podium_catalog::model::Package| {
        let channel = package.default_channel.clone().unwrap_or_default();
        let head = package.channels.get(&channel).and_then(|channel| channel.head().ok());
        let csv = head.and_then(|head| heads.get(&(package.name.as_str(), head.entry.name.as_str()))?.csv());
        let name = csv.as_ref().and_then(|csv| csv.get("spec")?.get("displayName")?.as_str());
        vec![package.name.clone(), name.unwrap_or_default().to_owned(), channel]
    };
    model.values().map(row).collect()
}

fn channels(model: &Model) -> Vec<Vec<String>> {
    let row = |package: &str, channel: &Channel| {
        let head =
            channel.head().map_or_else(|error| format!("ERROR: {error}"), |head| head.entry.name.clone());
        vec![package.to_owned(), channel.name.clone(), head]
    };
    let all =
        model.values().flat_map(|package| package.channels.values().map(|c| (package.name.as_str(), c)));
    all.map(|(package, channel)| row(package, channel)).collect()
}

fn bundles(model: &Model) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for package in model.values() {
        for channel in package.channels.values() {
            for bundle in channel.bundles.values() {
                let entry = &bundle.entry;
                rows.push(vec![
                    package.name.clone(),
                    channel.name.clone(),
                    entry.name.clone(),
                    entry.replaces.clone(),
                    entry.skips.join(","),
                    entry.skip_range.clone(),
                    bundle.image.clone(),
                ]);
            }
        }
    }
    rows
}
