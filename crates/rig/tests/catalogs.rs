//! Whole command lines: podium beside the real opm, on generated catalogs, and on real ones in `PODIUM_CATALOGS`.
#![allow(clippy::panic, clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

#[path = "../../olm/catalog/tests/cases/mod.rs"]
mod cases;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use podium_rig::tools;

/// As many generated catalogs are shown to the real program; all rules come.
const CASES: u64 = 156;

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("podium-catalogs-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// On one core, opm reads files in order.
fn run(program: &Path, args: &[&str], home: &Path) -> Output {
    let mut command = Command::new("taskset");
    command
        .args(["-c", "0"])
        .arg(program)
        .args(args)
        .env_clear()
        .env("HOME", home)
        .env("PATH", "/usr/bin:/bin");
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The words of an error in any order, without what each program adds.
fn words(message: &str) -> Vec<String> {
    let mut lines: Vec<String> = message
        .lines()
        .map(|line| line.trim_start_matches(['│', ' ', '├', '└', '─']).to_owned())
        .filter(|line| !line.is_empty())
        .collect();
    lines.sort();
    lines
}

/// Runs the same work with both and says what differs: exit status, and standard output if both succeed.
fn differs(opm: (&Path, &[&str]), podium: (&Path, &[&str]), home: &Path) -> Option<String> {
    let (theirs, ours) = (run(opm.0, opm.1, home), run(podium.0, podium.1, home));
    let status = (theirs.status.code(), ours.status.code());
    if status.0 != status.1 {
        return Some(format!(
            "{:?}: exit {status:?}\n{}\n{}",
            podium.1,
            text(&theirs.stderr),
            text(&ours.stderr)
        ));
    }
    (status.0 == Some(0) && theirs.stdout != ours.stdout).then(|| {
        format!("{:?}:\n--- opm\n{}\n--- podium\n{}", podium.1, text(&theirs.stdout), text(&ours.stdout))
    })
}

/// What can be asked about a catalog: opm's command line and ours.
fn works<'p>(place: &'p str, package: &'p str) -> Vec<(Vec<&'p str>, Vec<&'p str>)> {
    vec![
        (vec!["validate", place], vec!["catalog", "validate", place]),
        (vec!["render", place], vec!["catalog", "render", place]),
        (vec!["render", place, "-o", "yaml"], vec!["catalog", "render", place, "-o", "yaml"]),
        (vec!["alpha", "render-graph", place], vec!["catalog", "graph", place, "-o", "mermaid"]),
        (vec!["alpha", "list", "packages", place], vec!["catalog", "list", "packages", place]),
        (vec!["alpha", "list", "channels", place], vec!["catalog", "list", "channels", place]),
        (
            vec!["alpha", "list", "bundles", place, package],
            vec!["catalog", "list", "bundles", place, package],
        ),
    ]
}

#[test]
#[ignore = "needs opm 1.73 and 1.51 (make tools) and podium built with the same profile"]
fn command_lines_do_what_opms_do() {
    let (opm, old, podium) =
        (tools::opm("opm173").unwrap(), tools::opm("opm151").unwrap(), tools::podium().unwrap());
    let home = folder("home");
    let seed = std::env::var("PODIUM_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(6);
    println!("PODIUM_SEED={seed}");
    let (mut failures, mut runs) = (Vec::new(), 0);
    for number in 0..CASES {
        let case = cases::case(seed, number);
        let place = folder(&number.to_string());
        for (name, data) in &case.files {
            let path = place.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, data).unwrap();
        }
        let shown = place.to_string_lossy().into_owned();
        let all = works(&shown, &case.package);
        // The verdict of each case, and one other work in turn.
        let chosen = [0, 1 + number as usize % (all.len() - 1)];
        for (theirs, ours) in chosen.iter().filter_map(|&at| all.get(at)) {
            runs += 1;
            failures.extend(
                differs((&opm, theirs), (&podium, ours), &home).map(|why| format!("{} {why}", case.mutation)),
            );
        }
        let answer = run(&opm, &["validate", &shown, "-o", "json"], &home);
        let own = run(&podium, &["catalog", "validate", &shown, "-o", "json"], &home);
        let message = |output: &Output| -> Vec<String> {
            let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
            words(value["error"]["message"].as_str().unwrap_or_default())
        };
        if message(&answer) != message(&own) {
            failures.push(format!("{}: {:?} {:?}", case.mutation, message(&answer), message(&own)));
        }
        runs += 1;
        if number % 4 == 0 {
            let ours = ["catalog", "validate", &shown, "--compat", "1.51"];
            runs += 1;
            failures.extend(differs((&old, &["validate", &shown]), (&podium, &ours), &home));
        }
        std::fs::remove_dir_all(&place).unwrap();
    }
    std::fs::remove_dir_all(&home).unwrap();
    println!("{runs} command lines, {} differ", failures.len());
    assert!(failures.is_empty(), "{}", failures[..failures.len().min(5)].join("\n"));
}

#[test]
#[ignore = "needs opm 1.73 (make tools) and podium built with the same profile"]
fn packages_begin_as_with_opm() {
    let (opm, podium) = (tools::opm("opm173").unwrap(), tools::podium().unwrap());
    let home = folder("init");
    let (readme, icon) = (home.join("README.md"), home.join("icon.svg"));
    std::fs::write(&readme, "# Demo\n\nA <b>text</b>.\n").unwrap();
    std::fs::write(&icon, "<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>\n").unwrap();
    let (readme, icon) = (readme.to_string_lossy().into_owned(), icon.to_string_lossy().into_owned());
    for form in ["json", "yaml"] {
        let args = ["init", "demo", "-c", "stable", "-d", &readme, "-i", &icon, "-o", form];
        let ours: Vec<&str> = std::iter::once("catalog").chain(args).collect();
        assert_eq!(differs((&opm, &args), (&podium, &ours), &home), None);
    }
    std::fs::remove_dir_all(&home).unwrap();
}

/// `PODIUM_CATALOGS` names a folder of catalogs, a folder each; what opm renders and accepts, we do in the same way.
#[test]
#[ignore = "needs opm 1.73 (make tools), podium built with the same profile, and PODIUM_CATALOGS"]
fn real_catalogs_are_the_same() {
    let Some(root) = std::env::var_os("PODIUM_CATALOGS") else {
        println!("PODIUM_CATALOGS is not set: nothing was compared");
        return;
    };
    let (opm, podium) = (tools::opm("opm173").unwrap(), tools::podium().unwrap());
    let home = folder("real");
    let (mut failures, mut count) = (Vec::new(), 0);
    for entry in std::fs::read_dir(root).unwrap() {
        let place = entry.unwrap().path();
        if !place.is_dir() {
            continue;
        }
        count += 1;
        let place = place.to_string_lossy().into_owned();
        for (theirs, ours) in works(&place, "").iter().take(6) {
            failures.extend(
                differs((&opm, theirs), (&podium, ours), &home)
                    .map(|why| format!("{place}: {}", why.chars().take(2000).collect::<String>())),
            );
        }
    }
    std::fs::remove_dir_all(&home).unwrap();
    println!("{count} catalogs, {} differences", failures.len());
    assert!(failures.is_empty(), "{}", failures[..failures.len().min(3)].join("\n"));
}
