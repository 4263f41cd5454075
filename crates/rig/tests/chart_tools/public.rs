//! Charts that people publish: verdicts, what they say about themselves, and packages.

use std::path::{Path, PathBuf};

use podium_rig::request::Dialect;

use crate::files::files;
use crate::run::{Place, Program, number, run};

/// The directories with a `Chart.yaml`, without those inside of other charts.
fn charts(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut work = vec![folder.to_path_buf()];
    while let Some(path) = work.pop() {
        if path.join("Chart.yaml").is_file() {
            found.push(path);
            continue;
        }
        let entries = std::fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path());
        work.extend(entries.filter(|path| path.is_dir()));
    }
    found.sort();
    found
}

#[test]
#[ignore = "needs the originals (make tools), podium, and PODIUM_CHARTS, a folder with charts"]
fn public_charts_are_linted_shown_and_packaged_as_helm_does() {
    let folder =
        PathBuf::from(std::env::var_os("PODIUM_CHARTS").expect("PODIUM_CHARTS names a folder with charts"));
    let place = Place::new("public");
    let home = place.path().join("home");
    let all = charts(&folder);
    let mut differences = Vec::new();
    let mut packed = 0;
    for dialect in Dialect::ALL {
        let helm = number(dialect);
        for path in &all {
            let name = path.to_string_lossy().into_owned();
            for args in [&["lint", &name][..], &["show", "all", &name], &["package", &name, "-d", "out"]] {
                let theirs = run(Program::Helm, dialect, place.path(), &home, args);
                let out = place.path().join("out");
                let kept = place.path().join("kept");
                let _ = std::fs::remove_dir_all(&kept);
                if out.exists() {
                    std::fs::rename(&out, &kept).unwrap();
                }
                let ours = run(Program::Podium, dialect, place.path(), &home, args);
                if theirs != ours {
                    let parts = podium_rig::compare::excerpts(&format!("{theirs:#?}"), &format!("{ours:#?}"));
                    differences.push(format!(
                        "helm {helm} {args:?}\n--- helm\n{}\n--- podium\n{}",
                        parts.0, parts.1
                    ));
                }
                if kept.exists() && out.exists() {
                    let file = std::fs::read_dir(&kept).unwrap().next().unwrap().unwrap().file_name();
                    packed += 1;
                    if files(&kept.join(&file)) != files(&out.join(&file)) {
                        differences.push(format!("helm {helm} {name}: other files in the package"));
                    }
                }
                let _ = std::fs::remove_dir_all(&out);
            }
        }
    }
    println!("{} charts, {packed} packages", all.len());
    assert!(!all.is_empty(), "there are no charts in {}", folder.display());
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
}
