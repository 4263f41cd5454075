//! Both sides of the choice of a bundle: what the controller's resolver answers, and what we answer.

use podium_catalog::compat::OpmCompat;
use podium_catalog::declcfg::DeclarativeConfig;
use podium_catalog::json::SourceText;
use podium_catalog::release::VersionRelease;
use podium_catalog::resolve::{Catalog, resolve};
use serde_json::{Value, json};

use super::resolution_cases::ResolutionCase;
use super::{Outputs, Probe, encode_base64};

/// The seed of the choices whose answers are recorded, and how many there are.
pub const SEED: u64 = 11;
pub const RECORDED: u64 = 600;

fn call(probe: &mut Probe, case: &ResolutionCase, only: Option<&str>) -> Value {
    let catalogs: Vec<Value> = case
        .catalogs
        .iter()
        .filter(|(name, ..)| only.is_none_or(|only| only == name))
        .map(|(name, priority, data)| json!({ "name": name, "priority": priority, "documents": encode_base64(data) }))
        .collect();
    let request = &case.request;
    let installed = request.installed.as_ref().map(|i| json!({ "name": i.name, "version": i.version }));
    let policy = if request.self_certified { "SelfCertified" } else { "CatalogProvided" };
    let answer = probe.call(&json!({ "op": "resolve", "wish": {
        "catalogs": catalogs, "package": request.package, "channels": request.channels, "version": request.version,
        "policy": policy, "installed": installed,
    }}));
    assert!(answer["panic"].is_null(), "{answer}");
    answer
}

/// What the controller would take.
pub fn upstream_resolution(probe: &mut Probe, case: &ResolutionCase) -> Outputs {
    let answer = call(probe, case, None);
    if let Some(error) = answer["error"].as_str() {
        return error_output(error);
    }
    let image = answer["choice"]["image"].as_str().unwrap();
    let catalog = image.split('/').nth(1).unwrap();
    // The resolver tells the deprecations of the catalog that it read last, even if it takes the bundle of another:
    // those of the right one are told by the resolver that knows no other.
    let single = call(probe, case, Some(catalog));
    let choice = &single["choice"];
    assert_eq!(choice["image"], image, "alone, the catalog gives another bundle");
    let part = |key: &str| choice[key].as_str().unwrap().to_owned();
    outputs(
        [catalog.to_owned(), part("bundle"), part("version"), part("release"), image.to_owned()],
        deprecation_message(case, choice),
    )
}

/// What the controller makes of deprecations, once the bundle is installed: for the package, the channels, the bundle.
fn deprecation_message(case: &ResolutionCase, choice: &Value) -> String {
    let entries = choice["deprecated"].as_array().cloned().unwrap_or_default();
    let mut messages = Vec::new();
    for schema in ["olm.package", "olm.channel", "olm.bundle"] {
        for entry in entries.iter().filter(|entry| entry["reference"]["schema"] == schema) {
            let name = entry["reference"]["name"].as_str().unwrap_or_default();
            let applies = match schema {
                "olm.package" => true,
                "olm.channel" => {
                    case.request.channels.is_empty() || case.request.channels.iter().any(|own| own == name)
                }
                _ => !name.is_empty() && choice["bundle"] == name,
            };
            if applies {
                messages.extend(entry["message"].as_str().filter(|text| !text.is_empty()).map(str::to_owned));
            }
        }
    }
    messages.join("\n")
}

/// What we would take.
pub fn our_resolution(case: &ResolutionCase) -> Outputs {
    let read = |data: &[u8]| {
        let mut config = DeclarativeConfig::default();
        config.read(&"".into(), &SourceText::new(data), OpmCompat::V173).unwrap();
        config
    };
    let configs: Vec<DeclarativeConfig> = case.catalogs.iter().map(|(.., data)| read(data)).collect();
    let catalogs: Vec<Catalog<'_>> = case
        .catalogs
        .iter()
        .zip(&configs)
        .map(|((name, priority, _), config)| Catalog { name, priority: *priority, config })
        .collect();
    match resolve(&catalogs, &case.request).bundle {
        Err(text) => error_output(&text),
        Ok(bundle) => {
            let release = VersionRelease::legacy(&bundle.version).unwrap().release.to_string();
            let deprecation = bundle.deprecation.unwrap_or_default();
            outputs([bundle.catalog, bundle.bundle, bundle.version, release, bundle.image], deprecation)
        }
    }
}

fn error_output(text: &str) -> Outputs {
    Outputs::from([("choice".to_owned(), format!("error: {text}").into_bytes())])
}

fn outputs(parts: [String; 5], deprecation: String) -> Outputs {
    let names = ["catalog", "choice", "version", "release", "image"];
    let mut outputs: Outputs =
        names.iter().zip(parts).map(|(name, part)| ((*name).to_owned(), part.into_bytes())).collect();
    outputs.insert("deprecation".to_owned(), deprecation.into_bytes());
    outputs
}

/// A way for a choice to end: its name, and how to know it.
type OutcomeClass = (&'static str, fn(&ResolutionCase, &str, &Outputs) -> bool);

fn field<'a>(outputs: &'a Outputs, key: &str) -> &'a [u8] {
    outputs.get(key).map(Vec::as_slice).unwrap_or_default()
}

/// The ways for a choice to end. Several may be true at once.
pub const OUTCOME_CLASSES: &[OutcomeClass] = &[
    ("chosen", |_, error, _| error.is_empty()),
    ("chosen, of several catalogs", |case, error, _| error.is_empty() && case.catalogs.len() > 1),
    ("chosen, a prerelease", |_, _, a| field(a, "version").contains(&b'-')),
    ("chosen, with a release", |_, _, a| !field(a, "release").is_empty()),
    ("chosen, with build metadata", |_, _, a| {
        field(a, "release").is_empty() && field(a, "version").contains(&b'+')
    }),
    ("chosen, something is deprecated", |_, _, a| !field(a, "deprecation").is_empty()),
    ("chosen, in a range", |case, error, _| error.is_empty() && !case.request.version.is_empty()),
    ("chosen, in channels", |case, error, _| error.is_empty() && !case.request.channels.is_empty()),
    ("upgrade", |case, _, a| {
        let installed = case.request.installed.as_ref().filter(|_| !case.request.self_certified);
        installed.is_some_and(|i| a.contains_key("image") && field(a, "version") != i.version.as_bytes())
    }),
    ("nothing newer", |case, _, a| {
        let installed = case.request.installed.as_ref().filter(|_| !case.request.self_certified);
        installed.is_some_and(|i| a.contains_key("image") && field(a, "version") == i.version.as_bytes())
    }),
    ("self-certified upgrade", |case, error, _| {
        error.is_empty() && case.request.self_certified && case.request.installed.is_some()
    }),
    ("the range is invalid", |_, error, _| error.starts_with("desired version range ")),
    ("the installed version is invalid", |_, error, _| {
        error.contains("failed to get version and release of installed")
    }),
    ("nothing found", |_, error, _| error.starts_with("no bundles found for package \"demo\"")),
    ("no such package", |_, error, _| error.contains("no bundles found for package \"nobody\"")),
    ("nothing found to upgrade to", |_, error, _| error.contains(": no bundles found for package \"demo\"")),
    ("nothing found in the range", |_, error, _| {
        error.contains("no bundles") && error.contains(" matching version ")
    }),
    ("nothing found in the channels", |_, error, _| {
        error.contains("no bundles") && error.contains(" in channels [")
    }),
    ("found in several catalogs", |_, error, _| error.starts_with("found bundles for package ")),
    ("upgrades in several catalogs", |_, error, _| error.contains(": found bundles for package ")),
    ("the version is broken", |_, error, _| {
        error.starts_with("error getting resolved bundle version for bundle ")
            && !error.contains(": no package property")
    }),
    ("the package property is broken", |_, error, _| {
        error.contains("error unmarshalling package property: ")
    }),
    ("there is no package property", |_, error, _| error.contains("no package property found in bundle ")),
    ("needs a package", |_, error, _| error.contains("property \"olm.package.required\" which")),
    ("needs a kind", |_, error, _| error.contains("property \"olm.gvk.required\" which")),
    ("has a constraint", |_, error, _| error.contains("property \"olm.constraint\" which")),
];
