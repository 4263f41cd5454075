//! `podium catalog resolve`.

use anyhow::{anyhow, bail};
use clap::ArgMatches;
use podium_catalog::compat::OpmCompat;
use podium_catalog::declcfg::{DeclarativeConfig, MetaKind};
use podium_catalog::resolve::{Catalog, InstalledBundle, Resolution, ResolveRequest, resolve};
use podium_catalog::summary::package_properties;
use serde_json::json;

use super::input::catalog;
use super::output::{arguments, format, print_value, table};
use crate::flag::{list, on, one};
use crate::output::print;

/// Says which bundle would be installed.
pub fn run(matches: &ArgMatches) -> anyhow::Result<()> {
    let args = arguments(matches, 1, usize::MAX, "resolve CATALOG... --package NAME")?;
    let format = format(matches, &["table", "json", "yaml"])?;
    let package =
        one(matches, "package").ok_or_else(|| anyhow!("--package is needed: which package is wanted?"))?;
    let mut catalogs = Vec::new();
    for (at, arg) in args.iter().enumerate() {
        let (name, priority, path) = named(arg, at, args.len())?;
        catalogs.push((name, priority, catalog(path, OpmCompat::V173, matches)?));
    }
    let known = |(_, _, config): &(String, i32, DeclarativeConfig)| config.package_names().contains(&package);
    if !catalogs.iter().any(known) {
        let names: Vec<&str> = catalogs.iter().flat_map(|(_, _, config)| config.package_names()).collect();
        bail!("package {package:?} not found; there is {}", names.join(", "));
    }
    let wish = ResolveRequest {
        package: package.to_owned(),
        channels: list(matches, "channel"),
        version: one(matches, "version").unwrap_or_default().to_owned(),
        installed: one(matches, "installed").map(|given| installed(given, package, &catalogs)),
        self_certified: on(matches, "any-upgrade"),
    };
    let views: Vec<Catalog<'_>> = catalogs
        .iter()
        .map(|(name, priority, config)| Catalog { name, priority: *priority, config })
        .collect();
    let outcome = resolve(&views, &wish);
    match format {
        "table" => print(text(&outcome, catalogs.len() > 1).as_bytes())?,
        _ => print_value(value(&outcome), format)?,
    }
    outcome.bundle.map(drop).map_err(|text| anyhow!(text))
}

/// `NAME:PRIORITY=PATH`, `NAME=PATH` or `PATH`.
fn named(arg: &str, at: usize, count: usize) -> anyhow::Result<(String, i32, &str)> {
    let Some((name, path)) = arg.split_once('=') else {
        let name = if count == 1 { "catalog".to_owned() } else { format!("catalog{}", at + 1) };
        return Ok((name, 0, arg));
    };
    match name.split_once(':') {
        None => Ok((name.to_owned(), 0, path)),
        Some((name, priority)) => match priority.parse() {
            Ok(priority) => Ok((name.to_owned(), priority, path)),
            Err(_) => bail!("{arg}: the priority {priority} is no whole number"),
        },
    }
}

/// What is installed, by the name of its bundle or by its version.
fn installed(given: &str, package: &str, catalogs: &[(String, i32, DeclarativeConfig)]) -> InstalledBundle {
    let bundles = || {
        catalogs
            .iter()
            .flat_map(|(_, _, config)| config.of_kind(MetaKind::Bundle))
            .filter(|m| m.header.package == package)
    };
    let version = |meta: &podium_catalog::Meta| {
        let properties = package_properties(meta, OpmCompat::V173).unwrap_or_default();
        properties.into_iter().next().map(|property| property.version).unwrap_or_default()
    };
    if let Some(meta) = bundles().find(|meta| meta.header.name == given) {
        return InstalledBundle { name: given.to_owned(), version: version(meta) };
    }
    let bare = given.trim_start_matches('v');
    match bundles().find(|meta| version(meta) == bare) {
        Some(meta) => InstalledBundle { name: meta.header.name.clone(), version: bare.to_owned() },
        // A bundle that no catalog has any more: its name is most likely this.
        None => InstalledBundle { name: format!("{package}.v{bare}"), version: bare.to_owned() },
    }
}

fn text(outcome: &Resolution, several: bool) -> String {
    let mut text = match &outcome.bundle {
        Ok(chosen) => {
            let from = if several { format!(" from catalog {}", chosen.catalog) } else { String::new() };
            // A line for each: the package, a channel and the bundle may all be deprecated.
            let messages = chosen.deprecation.iter().flat_map(|messages| messages.lines());
            let warning: String = messages.map(|message| format!("\nDeprecated: {message}")).collect();
            format!(
                "{} (version {}, image {}){from} would be installed.{warning}\n",
                chosen.bundle, chosen.version, chosen.image
            )
        }
        Err(_) => "Nothing would be installed.\n".to_owned(),
    };
    let others: Vec<Vec<String>> = outcome
        .candidates
        .iter()
        .filter_map(|candidate| {
            let why = candidate.rejection.clone()?;
            let name = match several {
                true => format!("{}/{}", candidate.catalog, candidate.bundle),
                false => candidate.bundle.clone(),
            };
            Some(vec![format!("  {name}"), candidate.version.clone(), why])
        })
        .collect();
    if !others.is_empty() {
        text += "Why not the others:\n";
        text += &table(&others);
    }
    text
}

fn value(outcome: &Resolution) -> serde_json::Value {
    let candidates: Vec<_> = outcome
        .candidates
        .iter()
        .map(|c| json!({ "catalog": c.catalog, "bundle": c.bundle, "version": c.version, "whyNot": c.rejection }))
        .collect();
    match &outcome.bundle {
        Ok(chosen) => json!({
            "chosen": {
                "catalog": chosen.catalog, "bundle": chosen.bundle, "version": chosen.version, "image": chosen.image,
                "deprecation": chosen.deprecation,
            },
            "candidates": candidates,
        }),
        Err(error) => json!({ "error": error, "candidates": candidates }),
    }
}
