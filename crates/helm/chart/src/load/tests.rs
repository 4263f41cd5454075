use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::dialect::{HELM3, HELM4};

/// A directory that goes away with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("podium-load-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let path = fs::canonicalize(std::env::temp_dir()).unwrap().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn chart() -> Self {
        let scratch = Self::new();
        scratch.write("Chart.yaml", "apiVersion: v2\nname: demo\nversion: 1.0.0\n");
        scratch
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn load(&self) -> Result<Loaded, Error> {
        load(&self.0, &HELM4)
    }

    fn error(&self) -> String {
        self.load().unwrap_err().to_string().replace(&shown(&self.0), "<dir>")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn names(loaded: &Loaded) -> Vec<String> {
    loaded.chart.raw.iter().map(|file| file.name.to_string()).collect()
}

#[test]
fn files_come_in_order_without_the_ignored_ones() {
    let scratch = Scratch::chart();
    scratch.write(".helmignore", "*.md\nsecret/\n");
    scratch.write("README.md", "");
    scratch.write("secret/x.txt", "");
    scratch.write("templates/b.yaml", "");
    scratch.write("templates/.hidden", "");
    scratch.write("templates/a/z.yaml", "\u{feff}bom");
    let loaded = scratch.load().unwrap();
    assert_eq!(names(&loaded), [".helmignore", "Chart.yaml", "templates/a/z.yaml", "templates/b.yaml"]);
    assert_eq!(&*loaded.chart.templates[0].data, b"bom");
}

#[test]
fn links_are_followed_with_a_warning() {
    let scratch = Scratch::chart();
    let other = Scratch::new();
    other.write("deep/x.txt", "x");
    symlink(&other.0, scratch.0.join("linked")).unwrap();
    symlink("Chart.yaml", scratch.0.join("again.yaml")).unwrap();
    let loaded = scratch.load().unwrap();
    assert_eq!(names(&loaded), ["Chart.yaml", "again.yaml", "linked/deep/x.txt"]);
    let lines: Vec<_> = loaded.warnings.iter().map(|warning| warning.line(&HELM3)).collect();
    let chart_yaml = shown(&scratch.0.join("Chart.yaml"));
    let again = shown(&scratch.0.join("again.yaml"));
    let text = "Contents of linked file included and used";
    assert_eq!(
        lines[0],
        format!("walk.go:75: found symbolic link in path: {again} resolves to {chart_yaml}. {text}")
    );
    assert_eq!(lines.len(), 2);
}

#[test]
fn links_to_nowhere_and_in_circles_are_errors() {
    let scratch = Scratch::chart();
    symlink("nowhere", scratch.0.join("bad")).unwrap();
    assert_eq!(
        scratch.error(),
        "error evaluating symlink <dir>/bad: lstat <dir>/nowhere: no such file or directory"
    );
    let scratch = Scratch::chart();
    symlink("round", scratch.0.join("round")).unwrap();
    assert_eq!(scratch.error(), "error evaluating symlink <dir>/round: EvalSymlinks: too many links");
    let scratch = Scratch::chart();
    scratch.write("templates/x", "");
    symlink("..", scratch.0.join("templates/up")).unwrap();
    assert!(scratch.error().starts_with("symlink <dir>/templates/up leads to <dir>, which contains it"));
}

#[test]
fn directories_that_are_no_charts_say_so() {
    let scratch = Scratch::new();
    assert_eq!(
        scratch.error(),
        "unable to detect chart at <dir>/Chart.yaml: open <dir>/Chart.yaml: no such file or directory"
    );
    let helm3 = load(&scratch.0, &HELM3).unwrap_err().to_string();
    assert_eq!(helm3, "Chart.yaml file is missing");
    let missing = load(&scratch.0.join("x"), &HELM4).unwrap_err().to_string();
    assert!(missing.ends_with("/x: no such file or directory") && missing.starts_with("stat "));
}

#[test]
fn single_files_have_a_limit_in_helm_3() {
    let scratch = Scratch::chart();
    scratch.write("sub/big.bin", &"x".repeat(5 * 1024 * 1024 + 1));
    assert!(scratch.load().is_ok());
    let error = load(&scratch.0, &HELM3).unwrap_err().to_string();
    assert_eq!(error, "chart file \"big.bin\" is larger than the maximum file size 5242880");
}

#[test]
fn what_is_no_archive_is_named() {
    let scratch = Scratch::new();
    let long = "a: b\n".repeat(200);
    for (name, text, want) in [
        (
            "values.yaml",
            "a: b",
            "file '<dir>/values.yaml' seems to be a YAML file, but expected a gzipped archive",
        ),
        (
            "x.txt",
            &long,
            "file '<dir>/x.txt' does not appear to be a gzipped archive; got 'text/plain; charset=utf-8'",
        ),
        (
            "y.txt",
            "a",
            "file '<dir>/y.txt' does not appear to be a gzipped archive; got 'application/octet-stream'",
        ),
        (
            "z.tgz",
            "\u{1f}",
            "file '<dir>/z.tgz' does not appear to be a gzipped archive; got 'application/octet-stream'",
        ),
    ] {
        scratch.write(name, text);
        let error = load(&scratch.0.join(name), &HELM4).unwrap_err().to_string();
        assert_eq!(error.replace(&shown(&scratch.0), "<dir>"), want);
    }
}

#[test]
fn reasons_of_bad_archives_are_hidden_in_helm_4() {
    let bytes = b"\x1f\x8b\x08\0\0\0\0\0\0\0";
    let error = |dialect| load_archive_bytes(bytes, "x.tgz", dialect).unwrap_err().to_string();
    assert_eq!(error(&HELM4), "unable to load chart archive");
    assert_eq!(error(&HELM3), "unexpected EOF");
}

#[test]
fn the_first_file_that_cannot_be_read_counts_before_charts_that_cannot_be_loaded() {
    let scratch = Scratch::chart();
    for n in 10..70 {
        scratch.write(
            &format!("charts/s{n}/Chart.yaml"),
            &format!("apiVersion: v2\nname: s{n}\nversion: 1.0.0\n"),
        );
    }
    scratch.write("charts/s10/Chart.yaml", "name: [");
    assert_eq!(
        scratch.error(),
        "error unpacking subchart s10 in demo: cannot load Chart.yaml: error converting YAML to JSON: yaml: line 1: did \
         not find expected node content"
    );
    let error = || load(&scratch.0, &HELM3).unwrap_err().to_string();
    let large = "x".repeat((5 << 20) + 1);
    for n in [69, 40, 50] {
        scratch.write(&format!("charts/s{n}/large{n}"), &large);
    }
    for _ in 0..5 {
        assert_eq!(error(), "chart file \"large40\" is larger than the maximum file size 5242880");
    }
    // A file of no subchart counts at its turn, too.
    scratch.write("values.yaml", &large);
    assert_eq!(error(), "chart file \"large40\" is larger than the maximum file size 5242880");
    scratch.write("a/large", &large);
    assert_eq!(error(), "chart file \"large\" is larger than the maximum file size 5242880");
}
