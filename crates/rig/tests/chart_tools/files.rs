//! What is shown and what is packaged.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use podium_chart::archive::{MAX_SIZE, extract};
use podium_chart::dialect::HELM4;
use podium_rig::request::Dialect;

use crate::flaws::{FLAWS, generate};
use crate::run::{Place, Program, both, number, run};

/// Every so many charts one is looked at, since a process each takes its time.
const EVERY: usize = 5;

#[test]
#[ignore = "needs the originals (make tools) and podium"]
fn what_is_shown_is_what_helm_shows() {
    let place = Place::new("show");
    let home = place.path().join("home");
    let mut differences = Vec::new();
    for (at, dialect) in Dialect::ALL.into_iter().enumerate() {
        for case in (at..FLAWS.len() + 40).step_by(EVERY) {
            let name = format!("c{case}");
            place.write(&name, &generate(case));
            let part = ["all", "chart", "values", "readme", "crds"][case / EVERY % 5];
            for part in if case % 2 == 0 { vec!["all"] } else { vec![part] } {
                differences.extend(both(dialect, place.path(), &home, &["show", part, &name]).err());
            }
        }
    }
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
}

/// The files of an archive: what they are called below the chart, and their bytes.
pub fn files(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = extract(&fs::read(path).unwrap(), &HELM4, &mut MAX_SIZE.clone()).unwrap();
    files.into_iter().map(|file| (file.name.to_string(), file.data.to_vec())).collect()
}

#[test]
#[ignore = "needs the originals (make tools) and podium"]
fn packages_have_helms_files_and_helm_reads_them_as_its_own() {
    let place = Place::new("package");
    let home = place.path().join("home");
    let mut differences = Vec::new();
    let mut packed = 0;
    for (at, dialect) in Dialect::ALL.into_iter().enumerate() {
        for case in (at..FLAWS.len() + 60).step_by(EVERY) {
            let (name, helm) = (format!("c{case}"), number(dialect));
            place.write(&name, &generate(case));
            let mut args = vec!["package", name.as_str(), "-d", "out"];
            match case % 4 {
                1 => args.extend(["--version", "7.8.9-x+y"]),
                2 => args.extend(["--app-version", "new"]),
                3 if case % 8 == 3 => args.extend(["--version", "none"]),
                _ => {}
            }
            // Both write to the same place, one after the other.
            let out = place.path().join("out");
            let theirs = run(Program::Helm, dialect, place.path(), &home, &args);
            let kept = place.path().join(format!("theirs-{helm}-{case}"));
            if out.exists() {
                fs::rename(&out, &kept).unwrap();
            }
            let ours = run(Program::Podium, dialect, place.path(), &home, &args);
            if theirs != ours {
                differences.push(format!("helm {helm} {args:?}: {theirs:?} {ours:?}"));
                let _ = fs::remove_dir_all(&out);
                continue;
            }
            if theirs.status != Some(0) {
                let _ = fs::remove_dir_all(&out);
                continue;
            }
            let file = fs::read_dir(&out).unwrap().next().unwrap().unwrap();
            let (our, their) = (file.path(), kept.join(file.file_name()));
            let bytes = fs::read(&our).unwrap();
            run(Program::Podium, dialect, place.path(), &home, &args);
            assert_eq!(bytes, fs::read(&our).unwrap(), "made twice, packages are the same");
            if files(&our) != files(&their) {
                differences.push(format!("helm {helm} {args:?}: {:?} {:?}", files(&their), files(&our)));
            }
            packed += 1;
            if packed % 6 == 0 {
                let text = our.to_string_lossy().into_owned();
                for args in [&["show", "all", &text][..], &["template", "x", &text], &["lint", &text]] {
                    let said = run(Program::Helm, dialect, place.path(), &home, args);
                    let there = their.to_string_lossy().into_owned();
                    let args: Vec<&str> =
                        args.iter().map(|arg| if *arg == text { there.as_str() } else { arg }).collect();
                    let own = run(Program::Helm, dialect, place.path(), &home, &args);
                    let mine = run(Program::Podium, dialect, place.path(), &home, &args);
                    let plain = |text: &str| text.replace(&there, &text_of(&our));
                    assert_eq!(plain(&own.out), said.out, "helm reads our package as its own: {args:?}");
                    assert_eq!(plain(&own.error), said.error);
                    if args[0] != "lint" {
                        assert_eq!(own, mine, "we read helm's package as helm does: {args:?}");
                    }
                }
            }
            fs::remove_dir_all(&out).unwrap();
        }
    }
    assert!(packed > 40, "most charts can be packed: {packed}");
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
}

fn text_of(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[test]
#[ignore = "needs the originals (make tools) and podium"]
fn a_package_has_the_time_that_is_asked_for() {
    let place = Place::new("epoch");
    place.write("c", &crate::flaws::chart("c"));
    let pack = |epoch: &str| {
        let podium = podium_rig::tools::podium().unwrap();
        let mut command = podium_rig::tools::quiet_command(&podium);
        command.current_dir(place.path()).env("SOURCE_DATE_EPOCH", epoch);
        let output = command.args(["chart", "package", "c"]).output().unwrap();
        (output.status.success(), fs::read(place.path().join("c-1.2.3.tgz")).unwrap())
    };
    let (first, second, usual) = (pack("1700000000"), pack("1700000001"), pack(""));
    assert!(first.0 && second.0 && usual.0);
    assert!(first.1 != second.1 && first.1 != usual.1);
    assert!(!pack("yesterday").0);
}
