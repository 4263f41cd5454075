//! Bundles that are made up and bundles that people have published, rendered by opm's and the lifecycle controller's
//! own packages and by us: bytes and verdicts must be equal.
//!
//! `PODIUM_CASES` is how many are made up, `PODIUM_SEED` where to begin; `PODIUM_BUNDLES` is a folder with bundles
//! (folders with `manifests/` and `metadata/`, at any depth).

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "helpers of tests")]

#[path = "../recorded/answer.rs"]
mod answer;
#[path = "../recorded/draft.rs"]
mod draft;
#[path = "../recorded/line.rs"]
mod line;
mod probe;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use answer::{Answer, ours, sorted};
use podium_bundle::render::{Certificates, Options};
use podium_bundle::{Finding, Rule, Tree};
use probe::{Outcome, Probe, Question};

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// Rules whose words are the original's own.
const SAME_WORDS: &[Rule] = &[
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

/// The first line in which two texts differ.
fn difference(ours: &str, theirs: &str) -> String {
    let at = ours.lines().zip(theirs.lines()).position(|(a, b)| a != b);
    let at = at.unwrap_or(ours.lines().count().min(theirs.lines().count()));
    let show = |text: &str| text.lines().nth(at).unwrap_or("(end)").chars().take(4000).collect::<String>();
    format!("line {}:\n  ours   {}\n  theirs {}", at + 1, show(ours), show(theirs))
}

fn told(findings: &[Finding]) -> String {
    findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n    ")
}

/// Images of the same place in one order: opm's sort leaves more than twelve in any (docs/reference/opm-differences.md).
fn settled(text: &str) -> Option<serde_json::Value> {
    let mut bundle: serde_json::Value = serde_json::from_str(text).ok()?;
    let images = bundle.get_mut("relatedImages")?.as_array_mut()?;
    let part = |one: &serde_json::Value, key: &str| one[key].as_str().unwrap_or_default().to_owned();
    (images.len() > 12).then(|| images.sort_by_key(|one| (part(one, "image"), part(one, "name"))))?;
    Some(bundle)
}

/// Whether only the order of images differs that opm's sort takes for equal.
fn only_ties(ours: &Answer, opm: &Outcome) -> bool {
    let (Ok(ours), Outcome::Text(theirs)) = (&ours.opm, opm) else { return false };
    ours != theirs && settled(ours).is_some_and(|ours| Some(ours) == settled(theirs))
}

/// How our answer differs from theirs.
fn compare(ours: &Answer, opm: &Outcome, controller: &Outcome) -> Option<String> {
    let opm = match (&ours.opm, opm) {
        (Ok(ours), Outcome::Text(theirs)) if ours == theirs => None,
        (Ok(ours), Outcome::Text(theirs)) => Some(format!("opm: {}", difference(ours, theirs))),
        (Ok(_), Outcome::Refused(error)) => Some(format!("opm refuses what we take: {error}")),
        (Err(findings), Outcome::Text(_)) => {
            Some(format!("opm takes what we refuse:\n    {}", told(findings)))
        }
        (Err(_), Outcome::Refused(_)) => None,
        (_, Outcome::Objects(_)) => Some("opm: nonsense".to_owned()),
    };
    let controller = match (&ours.controller, controller) {
        (Ok(ours), Outcome::Objects(theirs)) if kinds(ours) != kinds(theirs) => {
            Some(format!("controller: kinds {:?}, theirs {:?}", kinds(ours), kinds(theirs)))
        }
        (Ok(ours), Outcome::Objects(theirs)) => {
            let (ours, theirs) = (sorted(ours.clone()).join("\n"), sorted(theirs.clone()).join("\n"));
            (ours != theirs).then(|| format!("controller: {}", difference(&ours, &theirs)))
        }
        (Ok(_), Outcome::Refused(error)) => Some(format!("the controller refuses what we take: {error}")),
        (Err(findings), Outcome::Refused(error)) => {
            let all = findings.iter().all(|one| SAME_WORDS.contains(&one.rule));
            let joined = findings.iter().map(|one| one.text.as_str()).collect::<Vec<_>>().join("\n");
            (all && !joined.contains(error)).then(|| format!("controller says {error}\n  we say {joined}"))
        }
        (Err(findings), _) => Some(format!("the controller takes what we refuse:\n    {}", told(findings))),
        (_, Outcome::Text(_)) => Some("controller: nonsense".to_owned()),
    };
    match (opm, controller) {
        (None, None) => None,
        (opm, controller) => Some([opm, controller].into_iter().flatten().collect::<Vec<_>>().join("\n")),
    }
}

#[test]
#[ignore = "needs the probe of tools/bundle (make tools)"]
fn bundles_that_are_made_up() {
    let (begin, count) = (number("PODIUM_SEED", 1), number("PODIUM_CASES", 3000));
    let mut probe = Probe::start();
    let mut cells: BTreeMap<&str, usize> = Rule::ALL.iter().map(|rule| (rule.id(), 0)).collect();
    let mut done: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut opm_takes, mut controller_takes) = (0, 0);
    let mut wrong = Vec::new();
    for seed in begin..begin + count {
        let case = draft::case(seed);
        let tree = Tree::new(case.files.clone()).unwrap();
        let ours = ours(&tree, &case.image, case.migrate, &case.options);
        for finding in
            [ours.opm.as_ref().err(), ours.controller.as_ref().err()].into_iter().flatten().flatten()
        {
            *cells.entry(finding.rule.id()).or_default() += 1;
        }
        for one in &case.done {
            *done.entry(one).or_default() += 1;
        }
        opm_takes += usize::from(ours.opm.is_ok());
        controller_takes += usize::from(ours.controller.is_ok());
        let question = Question::Files(&case.files);
        let opm = probe.opm(question, &case.image, case.migrate);
        let controller = probe.controller(question, &case.options);
        if let Some(difference) = compare(&ours, &opm, &controller) {
            wrong.push(format!("seed {seed} {:?}: {difference}", case.done));
        }
    }
    eprintln!("{count} bundles: opm takes {opm_takes}, the controller takes {controller_takes}");
    eprintln!("refused by rule: {cells:?}");
    for one in wrong.iter().take(12) {
        eprintln!("{one}\n");
    }
    assert!(wrong.is_empty(), "{} of {count} differ", wrong.len());
    // Folders are always there in what is made up.
    let empty: Vec<_> = cells.iter().filter(|(_, count)| **count == 0).map(|(id, _)| *id).collect();
    assert!(count < 1000 || empty.is_empty(), "no case for {empty:?}");
    assert!(count < 1000 || opm_takes * 4 > count as usize && controller_takes * 5 > count as usize);
}

#[test]
#[ignore = "writes the record that `make test` compares with"]
fn record() {
    let mut probe = Probe::start();
    let mut lines = String::new();
    for seed in 1..=400 {
        let case = draft::case(seed);
        let question = Question::Files(&case.files);
        let opm = match probe.opm(question, &case.image, case.migrate) {
            Outcome::Text(text) => Some(text),
            _ => None,
        };
        let objects = match probe.controller(question, &case.options) {
            Outcome::Objects(objects) => Some(objects),
            _ => None,
        };
        lines.push_str(&line::line(seed, opm.as_deref(), objects));
        lines.push('\n');
    }
    std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recorded/answers.txt"), lines).unwrap();
}

/// The folders below a folder that have a bundle.
fn bundles(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut work = vec![root.to_path_buf()];
    while let Some(folder) = work.pop() {
        if folder.join("manifests").is_dir() && folder.join("metadata").is_dir() {
            found.push(folder);
            continue;
        }
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
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
#[ignore = "needs a folder with bundles (PODIUM_BUNDLES) and the probe of tools/bundle"]
fn bundles_that_people_publish() {
    let Some(root) = std::env::var_os("PODIUM_BUNDLES") else {
        eprintln!("PODIUM_BUNDLES names no folder: nothing to compare");
        return;
    };
    let all = bundles(Path::new(&root));
    assert!(!all.is_empty(), "no bundles below {root:?}");
    let (begin, count) = (number("PODIUM_SEED", 0), number("PODIUM_CASES", u64::MAX));
    let step = number("PODIUM_STEP", 1);
    let mut probe = Probe::start();
    let (mut seen, mut opm_takes, mut controller_takes, mut ties) = (0usize, 0, 0, 0);
    let mut wrong = Vec::new();
    for folder in all.iter().skip(begin as usize).step_by(step as usize).take(count as usize) {
        let tree = match Tree::read(folder) {
            Ok(tree) => tree,
            Err(error) => {
                wrong.push(format!("{}: {error}", folder.display()));
                continue;
            }
        };
        seen += 1;
        let image = "example.com/some/bundle:v1";
        let migrate = seen % 2 == 0;
        let watched = [&[][..], &["operators"][..], &["team-a"][..]][seen % 3];
        let options = Options {
            namespace: "operators".to_owned(),
            targets: watched.iter().map(|one| (*one).to_owned()).collect(),
            certificates: Some(if migrate { Certificates::CertManager } else { Certificates::OpenShift }),
            namespaces: true,
            deployment: serde_json::Value::Null,
        };
        let ours = ours(&tree, image, migrate, &options);
        opm_takes += usize::from(ours.opm.is_ok());
        controller_takes += usize::from(ours.controller.is_ok());
        let question = Question::Folder(folder);
        let mut opm = probe.opm(question, image, migrate);
        let controller = probe.controller(question, &options);
        if only_ties(&ours, &opm) {
            ties += 1;
            opm = Outcome::Text(ours.opm.as_ref().ok().cloned().unwrap_or_default());
        }
        if let Some(difference) = compare(&ours, &opm, &controller) {
            wrong.push(format!("{}: {difference}", folder.display()));
        }
    }
    eprintln!(
        "{seen} bundles: opm takes {opm_takes}, the controller takes {controller_takes}, {ties} differ in the order of \
         equal images alone, {} otherwise",
        wrong.len()
    );
    for one in wrong.iter().take(25) {
        eprintln!("{one}\n");
    }
    assert!(wrong.is_empty(), "{} of {seen} differ", wrong.len());
}
