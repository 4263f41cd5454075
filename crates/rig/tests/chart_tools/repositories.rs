//! Dependencies, indexes, repositories and registries.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use podium_rig::request::Dialect;

use crate::files::files;
use crate::flaws::{Edit, Files, chart};
use crate::run::{Place, Program, Said, number, run};
use crate::web::{Answer, Registry, Web};

/// A chart of a name and a version.
fn versioned(name: &str, version: &str) -> Files {
    let mut files = chart(name);
    Edit::Swap("Chart.yaml", "version: 1.2.3", "version: VERSION").apply(&mut files);
    if let Some(Some(text)) = files.get_mut("Chart.yaml") {
        *text = String::from_utf8_lossy(text)
            .replace("version: VERSION", &format!("version: {version}"))
            .into_bytes();
    }
    files
}

/// A repository: archives, made by podium, and an index, made by helm.
fn repository(place: &Place, home: &Path) -> PathBuf {
    let root = place.path().join("repository");
    fs::create_dir_all(root.join("sub")).unwrap();
    for (name, version) in [
        ("apple", "0.1.0"),
        ("apple", "0.2.0"),
        ("apple", "1.0.0-rc.1"),
        ("pear", "2.1.0+build.5"),
        ("pear", "2.0.0"),
    ] {
        let folder = format!("made/{name}-{version}");
        place.write(&folder, &versioned(name, version));
        let to = if version == "2.0.0" { "repository/sub" } else { "repository" };
        let said = run(Program::Podium, Dialect::Helm4, place.path(), home, &["package", &folder, "-d", to]);
        assert_eq!(said.status, Some(0), "{said:?}");
    }
    fs::write(root.join("broken.tgz"), "no archive").unwrap();
    run(Program::Helm, Dialect::Helm4, place.path(), home, &["repo", "index", "repository"]);
    root
}

/// The text with times, and the order of what helm does at once, taken out.
fn masked(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let is_time = ["created:", "generated:", "\"created\":", "\"generated\":"].iter();
        match is_time.clone().find(|word| line.trim_start().trim_start_matches("- ").starts_with(**word)) {
            Some(word) => {
                lines.push(format!("{} TIME", line.split(word).next().unwrap_or_default().to_owned() + word))
            }
            None => lines.push(line.to_owned()),
        }
    }
    lines.join("\n")
}

fn plain(said: &Said, from: &str, to: &str) -> Said {
    let mut updates: Vec<String> = Vec::new();
    let mut rest: Vec<String> = Vec::new();
    for line in said.out.replace(from, to).lines() {
        let list = if line.starts_with("...") { &mut updates } else { &mut rest };
        list.push(line.to_owned());
    }
    updates.sort();
    rest.extend(updates);
    let mut error = said.error.replace(from, to).replace("podium chart", "helm");
    // Helm names the file that it writes beside the index, which has a random number.
    if let Some((head, tail)) = error.split_once("/index.yaml") {
        error = format!("{head}/index.yaml{}", tail.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    Said { out: rest.join("\n"), error, status: said.status }
}

/// The files below a folder; archives by what is in them.
fn below(folder: &Path) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut work = vec![folder.to_path_buf()];
    while let Some(path) = work.pop() {
        if path.is_dir() {
            work.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let name = path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
        let bytes = fs::read(&path).unwrap();
        let text = match name.ends_with(".tgz") && bytes.starts_with(b"\x1f\x8b") {
            true => format!("{:?}", files(&path).keys()),
            false => masked(&String::from_utf8_lossy(&bytes)),
        };
        all.insert(name, text);
    }
    all
}

/// Runs helm and podium each on its own copy of a folder; says what differs, also in what they leave behind.
fn twice(
    dialect: Dialect,
    place: &Place,
    folder: &str,
    home: &Path,
    commands: &[&[&str]],
    out: &mut Vec<String>,
) {
    let helm = number(dialect);
    let copies = ["theirs", "ours"].map(|who| place.path().join(format!("{who}-{helm}-{folder}")));
    for copy in &copies {
        copy_all(&place.path().join(folder), copy);
    }
    for args in commands {
        let (theirs, ours) = (
            run(Program::Helm, dialect, &copies[0], &copy_of_home(home, "theirs"), args),
            run(Program::Podium, dialect, &copies[1], &copy_of_home(home, "ours"), args),
        );
        let (theirs, ours) = (plain(&theirs, "theirs-", ""), plain(&ours, "ours-", ""));
        if theirs != ours {
            out.push(format!("helm {helm} {folder} {args:?}\n--- helm\n{theirs:#?}\n--- podium\n{ours:#?}"));
        }
        let (theirs, ours) = (below(&copies[0]), below(&copies[1]));
        if theirs != ours {
            out.push(format!(
                "helm {helm} {folder} {args:?} leaves\n--- helm\n{theirs:#?}\n--- podium\n{ours:#?}"
            ));
        }
    }
}

/// Each program has a home of its own, with the same files.
fn copy_of_home(home: &Path, who: &str) -> PathBuf {
    let copy = home.with_file_name(format!("home-{who}"));
    if !copy.exists() {
        copy_all(home, &copy);
    }
    copy
}

fn copy_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).into_iter().flatten() {
        let path = entry.unwrap().path();
        let copy = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_all(&path, &copy);
        } else {
            fs::copy(&path, &copy).unwrap();
        }
    }
}

/// A chart that needs others.
fn needing(dependencies: &str) -> Files {
    let mut files = chart("top");
    if let Some(Some(text)) = files.get_mut("Chart.yaml") {
        text.extend_from_slice(format!("dependencies:\n{dependencies}").as_bytes());
    }
    files
}

#[test]
#[ignore = "needs the originals (make tools) and podium"]
fn dependencies_are_listed_got_and_locked_as_helm_does() {
    let place = Place::new("dependencies");
    let home = place.path().join("home");
    fs::create_dir_all(home.join("HELM_CONFIG_HOME")).unwrap();
    let web = Web::start(&repository(&place, &home));
    let url = &web.address;
    fs::write(
        home.join("HELM_CONFIG_HOME/repositories.yaml"),
        format!("apiVersion: v1\nrepositories:\n- {{name: fruit, url: \"{url}/\"}}\n"),
    )
    .unwrap();
    let cases = [
        ("local", "- {name: beside, version: 1.x, repository: \"file://../beside\"}\n".to_owned()),
        ("alias", "- {name: beside, version: \">0\", repository: \"file://../beside\", alias: one}\n- {name: beside, version: 1.2.3, repository: \"file://../beside\", alias: two, condition: x.y, tags: [a], import-values: [b, {child: c, parent: d}]}\n".to_owned()),
        ("gone", "- {name: beside, version: 1.x, repository: \"file://../nowhere\"}\n".to_owned()),
        ("range", "- {name: beside, version: 9.x, repository: \"file://../beside\"}\n".to_owned()),
        ("bad", "- {name: beside, version: one, repository: \"file://../beside\"}\n".to_owned()),
        ("none", "- {name: beside, version: 1.x, repository: \"\"}\n".to_owned()),
        ("http", format!("- {{name: apple, version: 0.x, repository: \"{url}\"}}\n- {{name: pear, version: \"~2.0\", repository: \"{url}/\"}}\n")),
        ("rc", format!("- {{name: apple, version: \">0.2.0-0\", repository: \"{url}\"}}\n")),
        ("build", format!("- {{name: pear, version: \">2.0\", repository: \"{url}\"}}\n")),
        ("named", "- {name: apple, version: 0.1.x, repository: \"@fruit\"}\n- {name: pear, version: 2.x, repository: \"alias:fruit\"}\n".to_owned()),
        ("unnamed", "- {name: apple, version: 0.1.x, repository: \"@vegetables\"}\n- {name: pear, version: 2.x, repository: fruit}\n".to_owned()),
        ("lost", format!("- {{name: plum, version: 0.1.x, repository: \"{url}\"}}\n")),
        ("nowhere", format!("- {{name: apple, version: 7.x, repository: \"{url}\"}}\n")),
        ("empty", String::new()),
        ("two", format!("- {{name: apple, version: 0.1.0, repository: \"{url}\", alias: x}}\n- {{name: apple, version: 0.1.0, repository: \"{url}\", alias: y}}\n")),
    ];
    let mut differences = Vec::new();
    for dialect in Dialect::ALL {
        for (name, dependencies) in &cases {
            let folder = format!("case-{name}");
            place.write(&format!("{folder}/top"), &needing(dependencies));
            place.write(&format!("{folder}/beside"), &versioned("beside", "1.2.3"));
            let commands: &[&[&str]] = &[
                &["dependency", "list", "top"],
                &["dependency", "update", "top"],
                &["dep", "ls", "top/", "--max-col-width", "12"],
                &["dependency", "build", "top"],
                &["dep", "up", "top", "--skip-refresh"],
                &["package", "top", "-u"],
            ];
            twice(dialect, &place, &folder, &home, commands, &mut differences);
        }
        // States of what is there.
        let there = needing(
            "- {name: a, version: 1.x}\n- {name: b, version: 1.x}\n- {name: c, version: 9.x}\n- {name: d, version: 1.x}\n- \
             {name: e, version: one}\n- {name: f, version: 1.x}\n- {name: g, version: 1.2.3}\n- {name: h, version: 1.x}\n",
        );
        place.write("case-states/top", &there);
        let charts = place.path().join("case-states/top/charts");
        fs::create_dir_all(&charts).unwrap();
        for (name, file) in [
            ("a", "a-1.2.3"),
            ("b", "b-x"),
            ("c", "c-1.2.3"),
            ("x", "d-1.2.3"),
            ("e", "e-1"),
            ("g", "g-1.2.3"),
            ("g", "g-1.2.4"),
            ("o", "o-1.2.3"),
        ] {
            let folder = format!("made/state-{name}");
            place.write(&folder, &chart(name));
            run(Program::Podium, dialect, place.path(), &home, &["package", &folder, "-d", "made/out"]);
            fs::copy(
                place.path().join(format!("made/out/{name}-1.2.3.tgz")),
                charts.join(format!("{file}.tgz")),
            )
            .unwrap();
        }
        fs::write(charts.join("f-1.0.0.tgz"), "no archive").unwrap();
        place.write("case-states/top/charts/h", &chart("h"));
        place.write("case-states/top/charts/other", &chart("other"));
        place.write("case-states/top/charts/nochart", &[("x.txt".to_owned(), Some(Vec::new()))].into());
        fs::remove_file(charts.join("f-1.0.0.tgz")).unwrap();
        twice(dialect, &place, "case-states", &home, &[&["dependency", "list", "top"]], &mut differences);
    }
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
}

#[test]
#[ignore = "needs the originals (make tools) and podium"]
fn a_lock_that_helm_wrote_is_taken_and_one_that_is_stale_is_not() {
    let place = Place::new("locks");
    let home = place.path().join("home");
    let mut differences = Vec::new();
    for dialect in Dialect::ALL {
        let folder = format!("lock-{}", number(dialect));
        let dependency = "- {name: beside, version: 1.x, repository: \"file://../beside\"}\n";
        place.write(&format!("{folder}/top"), &needing(dependency));
        place.write(&format!("{folder}/beside"), &chart("beside"));
        let root = place.path().join(&folder);
        let said = run(Program::Helm, dialect, &root, &home, &["dependency", "update", "top"]);
        assert_eq!(said.status, Some(0), "{said:?}");
        fs::remove_dir_all(root.join("top/charts")).unwrap();
        twice(dialect, &place, &folder, &home, &[&["dependency", "build", "top"]], &mut differences);
        let text = fs::read_to_string(root.join("top/Chart.yaml")).unwrap();
        fs::write(root.join("top/Chart.yaml"), text.replace("version: 1.x", "version: \">1\"")).unwrap();
        let stale = format!("{folder}-stale");
        fs::rename(&root, place.path().join(&stale)).unwrap();
        twice(dialect, &place, &stale, &home, &[&["dependency", "build", "top"]], &mut differences);
    }
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
}

#[test]
#[ignore = "needs the originals (make tools) and podium"]
fn indexes_are_written_as_helm_writes_them() {
    let place = Place::new("index");
    let home = place.path().join("home");
    fs::create_dir_all(&home).unwrap();
    repository(&place, &home);
    let old = "apiVersion: v1\ngenerated: 2020-01-02T03:04:05.6Z\nentries:\n  apple:\n  - {name: apple, version: 0.1.0, urls: \
               [old.tgz], created: 2020-01-02T03:04:05Z}\n  - {name: apple, version: 0.0.1, urls: [http://x/y.tgz], digest: \
               abc, created: 2020-01-02T03:04:05.600+01:00, maintainers: [{name: a}], annotations: {b: c}}\n  grape:\n  - \
               {name: grape, version: 1.0.0, urls: null, removed: true, dependencies: [{name: z, version: 1, repository: \
               \"\"}]}\n";
    for folder in ["repository", "other"] {
        fs::create_dir_all(place.path().join(folder)).unwrap();
        fs::write(place.path().join(folder).join("old.yaml"), old.replace("version: 1,", "version: \"1\","))
            .unwrap();
        fs::write(place.path().join(folder).join("bad.yaml"), "apiVersion: v1\nnope: 1\n").unwrap();
        fs::write(place.path().join(folder).join("bare.yaml"), "entries: {}\n").unwrap();
    }
    let mut differences = Vec::new();
    for dialect in Dialect::ALL {
        for (at, args) in [
            &["repo", "index", "."][..],
            &["repo", "index", ".", "--url", "https://example.com/charts"],
            &["repo", "index", ".", "--url", "https://example.com/a b/?x=y", "--json"],
            &["repo", "index", ".", "--merge", "old.yaml"],
            &["repo", "index", ".", "--merge", "old.yaml", "--json"],
            &["repo", "index", ".", "--merge", "new.yaml", "--url", "relative"],
            &["repo", "index", ".", "--merge", "bad.yaml"],
            &["repo", "index", ".", "--merge", "bare.yaml"],
            &["repo", "index", "nowhere"],
        ]
        .into_iter()
        .enumerate()
        {
            let folder = format!("repository-{at}");
            copy_all(&place.path().join("repository"), &place.path().join(&folder));
            twice(dialect, &place, &folder, &home, &[args], &mut differences);
        }
    }
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
}

#[test]
#[ignore = "needs the originals (make tools) and podium"]
fn charts_are_pulled_from_repositories_as_helm_does() {
    let place = Place::new("pull");
    let home = place.path().join("home");
    fs::create_dir_all(home.join("HELM_CONFIG_HOME")).unwrap();
    fs::create_dir_all(home.join("HELM_CACHE_HOME/repository")).unwrap();
    let root = repository(&place, &home);
    let web = Web::start(&root);
    let url = &web.address;
    fs::write(
        home.join("HELM_CONFIG_HOME/repositories.yaml"),
        format!("apiVersion: v1\nrepositories:\n- {{name: fruit, url: \"{url}\"}}\n"),
    )
    .unwrap();
    fs::copy(root.join("index.yaml"), home.join("HELM_CACHE_HOME/repository/fruit-index.yaml")).unwrap();
    let archive = format!("{url}/apple-0.1.0.tgz");
    let cases: &[&[&str]] = &[
        &["pull", "apple", "--repo", url],
        &["pull", "apple", "--repo", url, "--devel"],
        &["pull", "apple", "--repo", url, "--version", "0.1.x", "--untar"],
        &["pull", "pear", "--repo", url, "--untar", "--untardir", "deep/er"],
        &["pull", "pear", "--repo", url, "-d", "there"],
        &["pull", "fruit/pear", "--version", "2.0.0"],
        &["pull", "fruit/apple", "--version", "9"],
        &["pull", "fruit/plum"],
        &["pull", "vegetables/plum"],
        &["pull", "plum"],
        &["pull", &archive],
        &["pull", &archive, "--untar"],
        &["pull", "plum", "--repo", url],
        &["pull", "apple", "--repo", url, "--version", "9"],
        &["show", "chart", "apple", "--repo", url],
        &["show", "values", &archive],
        &["template", "x", "fruit/apple", "--version", "0.1.0"],
        &["template", "x", "apple", "--repo", url],
    ];
    let mut differences = Vec::new();
    for dialect in Dialect::ALL {
        for (at, args) in cases.iter().enumerate() {
            let folder = format!("case-{at}");
            fs::create_dir_all(place.path().join(&folder).join("there")).unwrap();
            twice(dialect, &place, &folder, &home, &[args], &mut differences);
        }
    }
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
}

#[test]
#[ignore = "needs the originals (make tools) and podium"]
fn passwords_are_for_their_host_and_strange_answers_are_refused() {
    let place = Place::new("hostile");
    let home = place.path().join("home");
    fs::create_dir_all(&home).unwrap();
    let root = repository(&place, &home);
    let (web, stranger) = (Web::start(&root), Web::start(&root));
    let url = &web.address;
    let podium = |args: &[&str]| run(Program::Podium, Dialect::Helm4, place.path(), &home, args);
    let refused = |args: &[&str], why: &str| {
        let said = podium(args);
        assert_eq!(said.status, Some(1), "{args:?} {said:?}");
        assert!(said.error.contains(why), "{args:?} should say {why:?}: {said:?}");
        let left: Vec<_> =
            fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(
            !left.iter().any(|name| name.to_string_lossy().contains("apple")),
            "{args:?} leaves {left:?}"
        );
    };
    // "user:secret".
    web.answer("/index.yaml", Answer::Secret("Basic dXNlcjpzZWNyZXQ=".to_owned()));
    refused(&["pull", "apple", "--repo", url], "401");
    refused(&["pull", "apple", "--repo", url, "--username", "user", "--password", "wrong"], "401");
    web.answer("/apple-0.2.0.tgz", Answer::To(format!("{}/apple-0.2.0.tgz", stranger.address)));
    let said =
        podium(&["pull", "apple", "--repo", url, "--username", "user", "--password", "secret", "-d", "out"]);
    assert_eq!(said.status, Some(1), "there is no such directory: {said:?}");
    fs::create_dir_all(place.path().join("out")).unwrap();
    let said =
        podium(&["pull", "apple", "--repo", url, "--username", "user", "--password", "secret", "-d", "out"]);
    assert_eq!(said.status, Some(0), "{said:?}");
    assert!(
        stranger.seen.lock().unwrap().iter().all(|(_, shown)| shown.is_none()),
        "a stranger sees no password"
    );
    assert!(web.seen.lock().unwrap().iter().any(|(_, shown)| shown.is_some()));
    web.answers.lock().unwrap().clear();
    // Redirections: round in a circle, and to what is no web.
    web.answer("/apple-0.2.0.tgz", Answer::To(format!("{url}/apple-0.2.0.tgz")));
    refused(&["pull", "apple", "--repo", url], "too many");
    web.answer("/apple-0.2.0.tgz", Answer::To("file:///etc/passwd".to_owned()));
    refused(&["pull", "apple", "--repo", url], "redirect from");
    // Too much, and nothing at all.
    web.answer("/apple-0.2.0.tgz", Answer::Zeros(300 << 20));
    refused(&["pull", "apple", "--repo", url], "");
    web.answers.lock().unwrap().clear();
    // What is not what the index says.
    fs::copy(root.join("apple-0.1.0.tgz"), root.join("apple-0.2.0.tgz")).unwrap();
    refused(&["pull", "apple", "--repo", url], "is not what its index says");
    // Paths in names.
    for (address, why) in [("..", "does not name a file"), ("x/", "does not name a file"), ("http://%zz", "")]
    {
        let index = format!(
            "apiVersion: v1\nentries: {{apple: [{{name: apple, version: 1.0.0, urls: [\"{address}\"]}}]}}\n"
        );
        fs::write(root.join("index.yaml"), index).unwrap();
        refused(&["pull", "apple", "--repo", url], why);
    }
    fs::write(
        root.join("index.yaml"),
        "apiVersion: v1\nentries: {apple: [{name: ../apple, version: 1.0.0, urls: [a]}]}\n",
    )
    .unwrap();
    refused(&["pull", "apple", "--repo", url], "not found");
    fs::write(root.join("index.yaml"), "a: [".repeat(200_000)).unwrap();
    refused(&["pull", "apple", "--repo", url], "");
}

#[test]
#[ignore = "needs the originals (make tools) and podium"]
fn charts_go_through_registries_between_helm_and_podium() {
    let place = Place::new("oci");
    let home = place.path().join("home");
    fs::create_dir_all(&home).unwrap();
    let registry = Registry::start();
    let host = &registry.host;
    for (name, version) in
        [("apple", "1.2.3"), ("apple", "1.3.0"), ("apple", "2.0.0-rc.1"), ("pear", "2.0.0+b.1")]
    {
        let folder = format!("made/{name}-{version}");
        place.write(&folder, &versioned(name, version));
        let said = run(Program::Podium, Dialect::Helm4, place.path(), &home, &["package", &folder]);
        assert_eq!(said.status, Some(0), "{said:?}");
    }
    let digest = |said: &Said, errors: &str| {
        let text = format!("{}{errors}", said.out);
        text.lines().find_map(|line| Some(line.strip_prefix("Digest: ")?.to_owned()))
    };
    for dialect in Dialect::ALL {
        let helm = number(dialect);
        let (theirs, ours) = (format!("oci://{host}/theirs{helm}"), format!("oci://{host}/ours{helm}"));
        for archive in ["apple-1.2.3.tgz", "apple-1.3.0.tgz", "apple-2.0.0-rc.1.tgz", "pear-2.0.0+b.1.tgz"] {
            let (said, errors) =
                all(Program::Helm, dialect, &place, &home, &["push", archive, &theirs, "--plain-http"]);
            assert_eq!(said.status, Some(0), "{said:?} {errors}");
            let (mine, told) = all(Program::Podium, dialect, &place, &home, &["push", archive, &ours]);
            assert_eq!(mine.status, Some(0), "{mine:?} {told}");
            assert_eq!(digest(&said, &errors), digest(&mine, &told), "the same manifest: {archive}");
        }
        for (at, (name, more, file)) in [
            ("apple", &["--version", "1.2.3"][..], "apple-1.2.3.tgz"),
            ("apple", &[], "apple-1.3.0.tgz"),
            ("apple", &["--version", "~1.2"], "apple-1.2.3.tgz"),
            ("apple", &["--devel"], "apple-2.0.0-rc.1.tgz"),
            ("apple:1.2.3", &[], "apple-1.2.3.tgz"),
            ("pear", &["--version", "2.0.0+b.1"], "pear-2.0.0+b.1.tgz"),
        ]
        .into_iter()
        .enumerate()
        {
            let folder = place.path().join(format!("pulled-{helm}-{at}"));
            for (program, from) in [(Program::Helm, &ours), (Program::Podium, &theirs)] {
                let to = folder.join(format!("{program:?}"));
                fs::create_dir_all(&to).unwrap();
                let reference = format!("{from}/{name}");
                let mut args = vec!["pull", &reference];
                args.extend(more);
                args.extend(if program == Program::Helm { &["--plain-http"][..] } else { &[] });
                let said = run(program, dialect, &to, &home, &args);
                assert_eq!(said.status, Some(0), "{program:?} {args:?} {said:?}");
                let (got, sent) = (fs::read(to.join(file)), fs::read(place.path().join(file)));
                assert_eq!(got.unwrap(), sent.unwrap(), "{program:?} {args:?}");
            }
        }
        let mut differences = Vec::new();
        let reference = format!("{ours}/apple");
        fs::create_dir_all(place.path().join(format!("look-{helm}"))).unwrap();
        let look: &[&[&str]] = &[
            &["show", "all", &reference, "--plain-http"],
            &["template", "x", &reference, "--version", "1.2.3", "--plain-http"],
            &["pull", &reference, "--version", "9.x", "--plain-http"],
            &["push", "nowhere.tgz", &ours, "--plain-http"],
            &["push", ".", &ours, "--plain-http"],
        ];
        twice(dialect, &place, &format!("look-{helm}"), &home, look, &mut differences);
        let folder = format!("needs-{helm}");
        place.write(
            &format!("{folder}/top"),
            &needing(&format!("- {{name: apple, version: 1.x, repository: \"{ours}\"}}\n- {{name: pear, version: 2.0.0+b.1, repository: \"{theirs}\"}}\n")),
        );
        let commands: &[&[&str]] = &[
            &["dependency", "update", "top", "--plain-http"],
            &["dependency", "build", "top", "--plain-http"],
        ];
        twice(dialect, &place, &folder, &home, commands, &mut differences);
        assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
    }
}

/// Runs a program and keeps everything on standard error.
fn all(program: Program, dialect: Dialect, place: &Place, home: &Path, args: &[&str]) -> (Said, String) {
    crate::run::run_with_errors(program, dialect, place.path(), home, args)
}
