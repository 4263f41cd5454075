//! Differential tests against opm's and operator-controller's Go packages, with generated and published
//! bundles: output and verdicts must be equal.
//!
//! `PODIUM_CASES` is the number of generated bundles and `PODIUM_SEED` the first seed. `PODIUM_BUNDLES` is a
//! directory that contains bundle directories at any depth.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "test helpers")]

#[path = "../recorded/cases.rs"]
mod cases;
#[path = "../recorded/outcome.rs"]
mod outcome;
mod probe;
#[path = "../recorded/record.rs"]
mod record;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use outcome::{Outcome, ours, sorted};
use podium_bundle::render::{CertificateProvider, Options};
use podium_bundle::{BundleFiles, Finding, Rule};
use probe::{Input, Probe, UpstreamOutcome};

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Rules whose messages are equal to upstream's.
const SAME_MESSAGE_RULES: &[Rule] = &[
    Rule::DuplicateDeployment,
    Rule::DeploymentName,
    Rule::DuplicateCrd,
    Rule::PackageName,
    Rule::ConversionModes,
    Rule::WebhookDeployment,
    Rule::DuplicateWebhook,
    Rule::WebhookName,
    Rule::ConversionTwice,
    Rule::ConversionForeign,
    Rule::ConversionPreserve,
    Rule::WebhookRule,
    Rule::Kind,
    Rule::ApiService,
    Rule::Certificates,
    Rule::AllNamespaces,
    Rule::InstallModes,
    Rule::Subfolder,
    Rule::NoCsv,
];

fn kinds(objects: &[String]) -> Vec<String> {
    let kind = |text: &String| {
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        value["kind"].as_str().unwrap_or_default().to_owned()
    };
    objects.iter().map(kind).collect()
}

/// Describes the first line in which two texts differ.
fn difference(ours: &str, upstream: &str) -> String {
    let at = ours.lines().zip(upstream.lines()).position(|(a, b)| a != b);
    let at = at.unwrap_or(ours.lines().count().min(upstream.lines().count()));
    let show = |text: &str| text.lines().nth(at).unwrap_or("(end)").chars().take(4000).collect::<String>();
    format!("line {}:\n  ours   {}\n  upstream {}", at + 1, show(ours), show(upstream))
}

fn display_findings(findings: &[Finding]) -> String {
    findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n    ")
}

/// Sorts related images by image and name: opm's sort reorders equal images in lists of more than twelve
/// (docs/reference/opm-differences.md).
fn with_sorted_images(text: &str) -> Option<serde_json::Value> {
    let mut bundle: serde_json::Value = serde_json::from_str(text).ok()?;
    let images = bundle.get_mut("relatedImages")?.as_array_mut()?;
    let part = |item: &serde_json::Value, key: &str| item[key].as_str().unwrap_or_default().to_owned();
    (images.len() > 12).then(|| images.sort_by_key(|item| (part(item, "image"), part(item, "name"))))?;
    Some(bundle)
}

/// Reports whether the outputs differ only in the order of equal images.
fn differs_only_in_image_order(ours: &Outcome, opm: &UpstreamOutcome) -> bool {
    let (Ok(ours), UpstreamOutcome::Rendered(upstream)) = (&ours.opm, opm) else { return false };
    ours != upstream
        && with_sorted_images(ours).is_some_and(|ours| Some(ours) == with_sorted_images(upstream))
}

/// Describes how our outcome differs from upstream's.
fn compare(ours: &Outcome, opm: &UpstreamOutcome, controller: &UpstreamOutcome) -> Option<String> {
    let opm = match (&ours.opm, opm) {
        (Ok(ours), UpstreamOutcome::Rendered(upstream)) if ours == upstream => None,
        (Ok(ours), UpstreamOutcome::Rendered(upstream)) => {
            Some(format!("opm: {}", difference(ours, upstream)))
        }
        (Ok(_), UpstreamOutcome::Rejected(error)) => Some(format!("opm rejects what we accept: {error}")),
        (Err(findings), UpstreamOutcome::Rendered(_)) => {
            Some(format!("opm accepts what we reject:\n    {}", display_findings(findings)))
        }
        (Err(_), UpstreamOutcome::Rejected(_)) => None,
        (_, UpstreamOutcome::Objects(_)) => Some("opm: unexpected outcome".to_owned()),
    };
    let controller = match (&ours.controller, controller) {
        (Ok(ours), UpstreamOutcome::Objects(upstream)) if kinds(ours) != kinds(upstream) => {
            Some(format!("controller: kinds {:?}, upstream {:?}", kinds(ours), kinds(upstream)))
        }
        (Ok(ours), UpstreamOutcome::Objects(upstream)) => {
            let (ours, upstream) = (sorted(ours.clone()).join("\n"), sorted(upstream.clone()).join("\n"));
            (ours != upstream).then(|| format!("controller: {}", difference(&ours, &upstream)))
        }
        (Ok(_), UpstreamOutcome::Rejected(error)) => {
            Some(format!("the controller rejects what we accept: {error}"))
        }
        (Err(findings), UpstreamOutcome::Rejected(error)) => {
            let all = findings.iter().all(|item| SAME_MESSAGE_RULES.contains(&item.rule));
            let joined = findings.iter().map(|item| item.message.as_str()).collect::<Vec<_>>().join("\n");
            (all && !joined.contains(error)).then(|| format!("controller says {error}\n  we say {joined}"))
        }
        (Err(findings), _) => {
            Some(format!("the controller accepts what we reject:\n    {}", display_findings(findings)))
        }
        (_, UpstreamOutcome::Rendered(_)) => Some("controller: unexpected outcome".to_owned()),
    };
    match (opm, controller) {
        (None, None) => None,
        (opm, controller) => Some([opm, controller].into_iter().flatten().collect::<Vec<_>>().join("\n")),
    }
}

#[test]
#[ignore = "needs the probe of tools/bundle (make tools)"]
fn generated_bundles_match_upstream() {
    let (begin, count) = (number("PODIUM_SEED", 1), number("PODIUM_CASES", 3000));
    let mut probe = Probe::start();
    let mut rejections: BTreeMap<&str, usize> = Rule::ALL.iter().map(|rule| (rule.id(), 0)).collect();
    let mut mutations: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut opm_accepts, mut controller_accepts) = (0, 0);
    let mut mismatches = Vec::new();
    for seed in begin..begin + count {
        let case = cases::case(seed);
        let files = BundleFiles::new(case.files.clone()).unwrap();
        let ours = ours(&files, &case.image, case.migrate, &case.options);
        for finding in
            [ours.opm.as_ref().err(), ours.controller.as_ref().err()].into_iter().flatten().flatten()
        {
            *rejections.entry(finding.rule.id()).or_default() += 1;
        }
        for item in &case.mutations {
            *mutations.entry(item).or_default() += 1;
        }
        opm_accepts += usize::from(ours.opm.is_ok());
        controller_accepts += usize::from(ours.controller.is_ok());
        let input = Input::Files(&case.files);
        let opm = probe.opm(input, &case.image, case.migrate);
        let controller = probe.controller(input, &case.options);
        if let Some(difference) = compare(&ours, &opm, &controller) {
            mismatches.push(format!("seed {seed} {:?}: {difference}", case.mutations));
        }
    }
    eprintln!("{count} bundles: opm accepts {opm_accepts}, the controller accepts {controller_accepts}");
    eprintln!("rejected by rule: {rejections:?}");
    for item in mismatches.iter().take(12) {
        eprintln!("{item}\n");
    }
    assert!(mismatches.is_empty(), "{} of {count} differ", mismatches.len());
    // Generated bundles always have both directories.
    let empty: Vec<_> = rejections.iter().filter(|(_, count)| **count == 0).map(|(id, _)| *id).collect();
    assert!(count < 1000 || empty.is_empty(), "no case for {empty:?}");
    assert!(count < 1000 || opm_accepts * 4 > count as usize && controller_accepts * 5 > count as usize);
}

#[test]
#[ignore = "writes the record that `make test` compares with"]
fn record() {
    let mut probe = Probe::start();
    let mut lines = String::new();
    for seed in 1..=400 {
        let case = cases::case(seed);
        let input = Input::Files(&case.files);
        let opm = match probe.opm(input, &case.image, case.migrate) {
            UpstreamOutcome::Rendered(text) => Some(text),
            _ => None,
        };
        let objects = match probe.controller(input, &case.options) {
            UpstreamOutcome::Objects(objects) => Some(objects),
            _ => None,
        };
        lines.push_str(&record::record_line(seed, opm.as_deref(), objects));
        lines.push('\n');
    }
    std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recorded/answers.txt"), lines).unwrap();
}

/// Finds the bundle directories below a directory.
fn bundle_dirs(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut work = vec![root.to_path_buf()];
    while let Some(dir) = work.pop() {
        if dir.join("manifests").is_dir() && dir.join("metadata").is_dir() {
            found.push(dir);
            continue;
        }
        let entries = std::fs::read_dir(&dir).into_iter().flatten().flatten();
        work.extend(
            entries
                .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
                .map(|entry| entry.path()),
        );
    }
    found.sort();
    found
}

#[test]
#[ignore = "needs a directory with bundles (PODIUM_BUNDLES) and the probe of tools/bundle"]
fn published_bundles_match_upstream() {
    let Some(root) = std::env::var_os("PODIUM_BUNDLES") else {
        eprintln!("PODIUM_BUNDLES is not set: nothing to compare");
        return;
    };
    let all = bundle_dirs(Path::new(&root));
    assert!(!all.is_empty(), "no bundles below {root:?}");
    let (begin, count) = (number("PODIUM_SEED", 0), number("PODIUM_CASES", u64::MAX));
    let stride = number("PODIUM_STEP", 1);
    let mut probe = Probe::start();
    let (mut checked, mut opm_accepts, mut controller_accepts, mut ties) = (0usize, 0, 0, 0);
    let mut mismatches = Vec::new();
    for dir in all.iter().skip(begin as usize).step_by(stride as usize).take(count as usize) {
        let files = match BundleFiles::read(dir) {
            Ok(files) => files,
            Err(error) => {
                mismatches.push(format!("{}: {error}", dir.display()));
                continue;
            }
        };
        checked += 1;
        let image = "example.com/some/bundle:v1";
        let migrate = checked % 2 == 0;
        let target_namespaces = [&[][..], &["operators"][..], &["team-a"][..]][checked % 3];
        let options = Options {
            install_namespace: "operators".to_owned(),
            target_namespaces: target_namespaces.iter().map(|item| (*item).to_owned()).collect(),
            certificate_provider: Some(if migrate {
                CertificateProvider::CertManager
            } else {
                CertificateProvider::OpenShift
            }),
            single_own_namespace: true,
            deployment_config: serde_json::Value::Null,
        };
        let ours = ours(&files, image, migrate, &options);
        opm_accepts += usize::from(ours.opm.is_ok());
        controller_accepts += usize::from(ours.controller.is_ok());
        let input = Input::Dir(dir);
        let mut opm = probe.opm(input, image, migrate);
        let controller = probe.controller(input, &options);
        if differs_only_in_image_order(&ours, &opm) {
            ties += 1;
            opm = UpstreamOutcome::Rendered(ours.opm.as_ref().ok().cloned().unwrap_or_default());
        }
        if let Some(difference) = compare(&ours, &opm, &controller) {
            mismatches.push(format!("{}: {difference}", dir.display()));
        }
    }
    eprintln!(
        "{checked} bundles: opm accepts {opm_accepts}, the controller accepts {controller_accepts}, {ties} differ in the order of \
         equal images alone, {} otherwise",
        mismatches.len()
    );
    for item in mismatches.iter().take(25) {
        eprintln!("{item}\n");
    }
    assert!(mismatches.is_empty(), "{} of {checked} differ", mismatches.len());
}
