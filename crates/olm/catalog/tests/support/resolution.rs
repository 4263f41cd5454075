//! Runs resolutions against operator-controller's resolver and against our implementation.

use podium_catalog::compat::OpmCompat;
use podium_catalog::declcfg::DeclarativeConfig;
use podium_catalog::json::SourceText;
use podium_catalog::release::VersionRelease;
use podium_catalog::resolve::{Catalog, resolve};
use serde_json::{Value, json};

use super::resolution_cases::ResolutionCase;
use super::{Outputs, Probe, encode_base64};

/// Seed and number of the recorded resolutions.
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
    let output = probe.call(&json!({ "op": "resolve", "wish": {
        "catalogs": catalogs, "package": request.package, "channels": request.channels, "version": request.version,
        "policy": policy, "installed": installed,
    }}));
    assert!(output["panic"].is_null(), "{output}");
    output
}

/// Returns operator-controller's resolution.
pub fn upstream_resolution(probe: &mut Probe, case: &ResolutionCase) -> Outputs {
    let output = call(probe, case, None);
    if let Some(error) = output["error"].as_str() {
        return error_output(error);
    }
    let image = output["choice"]["image"].as_str().unwrap();
    let catalog = image.split('/').nth(1).unwrap();
    // The resolver returns the deprecations of the catalog that it read last, even if the bundle comes from
    // another one. Resolving from one catalog gives the right ones.
    let single = call(probe, case, Some(catalog));
    let choice = &single["choice"];
    assert_eq!(choice["image"], image, "alone, the catalog gives another bundle");
    let part = |key: &str| choice[key].as_str().unwrap().to_owned();
    outputs(
        [catalog.to_owned(), part("bundle"), part("version"), part("release"), image.to_owned()],
        deprecation_message(case, choice),
    )
}

/// Returns the messages of operator-controller's deprecation conditions for package, channels and bundle.
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

/// Returns our resolution.
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

/// Name and predicate of an outcome.
type OutcomeClass = (&'static str, fn(&ResolutionCase, &str, &Outputs) -> bool);

fn field<'a>(outputs: &'a Outputs, key: &str) -> &'a [u8] {
    outputs.get(key).map(Vec::as_slice).unwrap_or_default()
}

/// Outcomes that the cases have to cover; several may apply at once.
pub const OUTCOME_CLASSES: &[OutcomeClass] = &[
    ("resolved", |_, error, _| error.is_empty()),
    ("resolved, of several catalogs", |case, error, _| error.is_empty() && case.catalogs.len() > 1),
    ("resolved, a prerelease", |_, _, a| field(a, "version").contains(&b'-')),
    ("resolved, with a release", |_, _, a| !field(a, "release").is_empty()),
    ("resolved, with build metadata", |_, _, a| {
        field(a, "release").is_empty() && field(a, "version").contains(&b'+')
    }),
    ("resolved, something is deprecated", |_, _, a| !field(a, "deprecation").is_empty()),
    ("resolved, in a range", |case, error, _| error.is_empty() && !case.request.version.is_empty()),
    ("resolved, in channels", |case, error, _| error.is_empty() && !case.request.channels.is_empty()),
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
    ("unknown package", |_, error, _| error.contains("no bundles found for package \"nobody\"")),
    ("nothing found to upgrade to", |_, error, _| error.contains(": no bundles found for package \"demo\"")),
    ("nothing found in the range", |_, error, _| {
        error.contains("no bundles") && error.contains(" matching version ")
    }),
    ("nothing found in the channels", |_, error, _| {
        error.contains("no bundles") && error.contains(" in channels [")
    }),
    ("found in several catalogs", |_, error, _| error.starts_with("found bundles for package ")),
    ("upgrades in several catalogs", |_, error, _| error.contains(": found bundles for package ")),
    ("invalid version", |_, error, _| {
        error.starts_with("error getting resolved bundle version for bundle ")
            && !error.contains(": no package property")
    }),
    ("malformed package property", |_, error, _| error.contains("error unmarshalling package property: ")),
    ("missing package property", |_, error, _| error.contains("no package property found in bundle ")),
    ("requires a package", |_, error, _| error.contains("property \"olm.package.required\" which")),
    ("requires a GVK", |_, error, _| error.contains("property \"olm.gvk.required\" which")),
    ("has a constraint", |_, error, _| error.contains("property \"olm.constraint\" which")),
];
