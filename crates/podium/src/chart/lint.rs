//! `podium chart lint`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{anyhow, bail};
use clap::ArgMatches;
use podium_chart::capabilities::KubeVersion;
use podium_chart::dialect::Dialect;
use podium_chart::lint::{Message, Options, Severity, Subject, run as lint};
use podium_chart::load::{go_error, read_regular_file};
use podium_chart::schema::local_document;
use podium_chart::values::Values;
use podium_gotmpl::Limits;
use podium_goyaml::Pos;

use crate::chart::expand::expand;
use crate::chart::input::{DEFAULT_SECONDS, absolute, dialect, namespace, user_values};
use crate::flag::{Flag, Takes, many, on, one};
use crate::output::print;
use crate::scratch::Scratch;
use crate::world::Machine;

/// The flags of this command alone.
pub const FLAGS: &[Flag] = &[
    Flag::new("strict", Takes::Switch, "fail on warnings too"),
    Flag::new("quiet", Takes::Switch, "print only warnings and errors"),
    Flag::new("with-subcharts", Takes::Switch, "look at the charts below charts/ as charts of their own too"),
    Flag::new("skip-schema-validation", Takes::Switch, "do not check the values against values.schema.json"),
    Flag::new(
        "kube-version",
        Takes::One("VERSION"),
        "the version of Kubernetes that templates see, and that objects may be too old for",
    ),
    Flag::new("helm-version", Takes::One("3|4"), "which Helm to be like, to the byte (default 4)"),
];

/// Looks for what is wrong with charts.
pub fn run(matches: &ArgMatches) -> anyhow::Result<()> {
    let dialect = dialect(one(matches, "helm-version"))?;
    let mut paths = many(matches, "args");
    if paths.is_empty() {
        if dialect.lint.needs_a_path {
            bail!(
                "\"podium chart lint\" requires at least 1 argument\n\nUsage:  podium chart lint PATH [flags]"
            );
        }
        paths.push(".".to_owned());
    }
    let version = match one(matches, "kube-version").filter(|text| !text.is_empty()) {
        None => None,
        Some(text) => {
            let parsed = KubeVersion::parse(text, dialect);
            Some(parsed.map_err(|error| anyhow!("invalid kube version '{text}': {error}"))?)
        }
    };
    if on(matches, "with-subcharts") {
        let below: Vec<String> = paths.iter().flat_map(|path| subcharts(path)).collect();
        paths.extend(below);
    }
    let set = Values::from_map(&user_values(matches, dialect)?, Pos::default())?;
    let world = Machine::new(false, Some(Duration::from_secs(DEFAULT_SECONDS)));
    let files = |url: &str| local_document(url, read_regular_file);
    let options = Options {
        set: &set,
        namespace: &namespace(matches),
        kube_version: version.as_ref(),
        schemas: !on(matches, "skip-schema-validation"),
        resolver: Some(&files),
        world: &world,
        limits: Limits::default(),
    };
    let (strict, quiet) = (on(matches, "strict"), on(matches, "quiet"));
    let (mut out, mut failed, mut noteworthy) = (Vec::new(), 0, 0);
    for path in &paths {
        let result = one_chart(path, &options, dialect);
        let worst = result.as_ref().ok().and_then(|messages| messages.iter().map(|m| m.severity).max());
        let is_noteworthy = result.is_err() || worst > Some(Severity::Info);
        noteworthy += usize::from(is_noteworthy);
        if quiet && !is_noteworthy {
            continue;
        }
        let least = if strict { Severity::Warning } else { Severity::Error };
        failed += usize::from(result.is_err() || worst >= Some(least));
        print_result(&mut out, path, &result, quiet);
    }
    print(&out)?;
    let summary = format!("{} chart(s) linted, {failed} chart(s) failed", paths.len());
    if failed > 0 {
        bail!("{summary}");
    }
    if !quiet || noteworthy > 0 {
        print(format!("{summary}\n").as_bytes())?;
    }
    Ok(())
}

fn print_result(out: &mut Vec<u8>, path: &str, result: &Result<Vec<Message>, String>, quiet: bool) {
    out.extend_from_slice(format!("==> Linting {path}\n").as_bytes());
    match result {
        Err(reason) => out.extend_from_slice(format!("Error {reason}\n").as_bytes()),
        Ok(messages) => {
            for message in messages.iter().filter(|m| !quiet || m.severity > Severity::Info) {
                out.extend_from_slice(&message.line());
                out.push(b'\n');
            }
        }
    }
    out.push(b'\n');
}

/// What there is to say about a chart, or why it is none.
fn one_chart(path: &str, options: &Options<'_>, dialect: &'static Dialect) -> Result<Vec<Message>, String> {
    let scratch;
    let mut directory = absolute(path);
    if path.ends_with(".tgz") || path.ends_with(".tar.gz") {
        let bytes = std::fs::read(path).map_err(|error| {
            format!("unable to open tarball: {}", go_error("open", Path::new(path), &error))
        })?;
        scratch = Scratch::new("podium-lint")
            .map_err(|error| format!("unable to create temp dir to extract tarball: {error}"))?;
        let expanded = expand(scratch.path(), &bytes, dialect);
        directory = expanded.map_err(|error| format!("unable to extract tarball: {error}"))?;
    }
    let chart_yaml = directory.join("Chart.yaml");
    if let Err(error) = std::fs::metadata(&chart_yaml) {
        // The path is shown as it was given.
        let shown = if directory == absolute(path) { clean(path).join("Chart.yaml") } else { chart_yaml };
        return Err(format!(
            "unable to check Chart.yaml file in chart: {}",
            go_error("stat", &shown, &error)
        ));
    }
    Ok(lint(&Subject::read(&directory, dialect), options, dialect))
}

fn clean(path: &str) -> PathBuf {
    PathBuf::from(podium_chart::text::clean(path))
}

/// The charts below `charts/`: directories and archives, in the order of their names.
fn subcharts(path: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut work = vec![clean(&format!("{path}/charts"))];
    while let Some(path) = work.pop() {
        let Ok(metadata) = std::fs::symlink_metadata(&path) else { continue };
        let text = path.to_string_lossy().into_owned();
        if path.file_name().is_some_and(|name| name == "Chart.yaml") {
            found.extend(path.parent().map(|parent| parent.to_string_lossy().into_owned()));
        } else if text.ends_with(".tgz") || text.ends_with(".tar.gz") {
            found.push(text);
        }
        if metadata.is_dir() {
            let entries = std::fs::read_dir(&path).into_iter().flatten().flatten();
            let mut names: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
            names.sort();
            work.extend(names.into_iter().rev());
        }
    }
    found
}
