//! Whole charts (`tests/charts`): the `helm` binaries and `podium chart template` on the same command line.
//!
//! A case is a line of `cases.txt` beside a chart: `name: flags`, run as `template rel ./chart flags`; after a
//! `!` come all the arguments. `{out}` is a fresh folder whose files count as output.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::generate::Case;
use crate::request::Dialect;
use crate::tools;

/// Why charts could not be run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An original is missing.
    #[error(transparent)]
    Tools(#[from] tools::Error),
    /// A file or program could not be used.
    #[error("{path}: {source}")]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// One command line on one chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartCase {
    /// `chart/case`.
    pub name: String,
    /// The folder that the command runs in.
    pub folder: PathBuf,
    /// What follows `template`.
    pub args: Vec<String>,
}

/// What a command did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// Exit status; a signal counts as 255.
    pub status: i32,
    /// Standard output, and the files written.
    pub stdout: Vec<u8>,
    /// The error message from `Error: ` on; log lines before it are not compared.
    pub error: Vec<u8>,
}

impl Ran {
    /// The original itself broke: nothing to compare with.
    pub fn crashed(&self) -> bool {
        self.status != 0 && self.error.is_empty()
    }

    /// Success, or the message: what is recorded.
    pub fn text(&self) -> &[u8] {
        if self.status == 0 { &self.stdout } else { &self.error }
    }
}

/// A program that renders like `helm template`.
pub trait Command: Sync {
    /// How reports call it.
    fn name(&self) -> String;
    /// Runs one case.
    fn run(&self, case: &ChartCase, dialect: Dialect) -> Result<Ran, Error>;
}

/// The `helm` of each dialect.
pub struct Helm;

/// `podium chart template`.
pub struct Podium(
    /// The binary.
    pub PathBuf,
);

impl Command for Helm {
    fn name(&self) -> String {
        "helm".to_owned()
    }

    fn run(&self, case: &ChartCase, dialect: Dialect) -> Result<Ran, Error> {
        execute(&tools::helm(dialect)?, &["template"], case)
    }
}

impl Command for Podium {
    fn name(&self) -> String {
        "podium".to_owned()
    }

    fn run(&self, case: &ChartCase, dialect: Dialect) -> Result<Ran, Error> {
        execute(&self.0, &["chart", "template", "--helm-version", dialect.major()], case)
    }
}

fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Io { path, source }
}

/// All cases of a folder of charts, in order.
pub fn discover(folder: &Path) -> Result<Vec<ChartCase>, Error> {
    let mut out = Vec::new();
    let mut charts: Vec<PathBuf> =
        std::fs::read_dir(folder).map_err(io(folder))?.filter_map(|e| e.ok().map(|e| e.path())).collect();
    charts.sort();
    for chart in charts {
        let list = chart.join("cases.txt");
        let text = std::fs::read_to_string(&list).map_err(io(&list))?;
        for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
            let (name, rest) = line.split_once(": ").unwrap_or((line, ""));
            let args = match rest.strip_prefix('!') {
                Some(all) => words(all),
                None => ["rel", "./chart"].map(str::to_owned).into_iter().chain(words(rest)).collect(),
            };
            let stem = chart.file_name().unwrap_or_default().to_string_lossy().into_owned();
            out.push(ChartCase {
                name: format!("{stem}/{}", name.trim_end_matches(':')),
                folder: chart.clone(),
                args,
            });
        }
    }
    Ok(out)
}

/// Charts of other people: every chart folder and archive below a folder is one case.
pub fn public(folder: &Path) -> Result<Vec<ChartCase>, Error> {
    let mut out = Vec::new();
    let mut work = vec![folder.to_owned()];
    while let Some(place) = work.pop() {
        for entry in std::fs::read_dir(&place).map_err(io(&place))?.flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                work.push(path.clone());
            }
            if path.join("Chart.yaml").is_file() || path.extension().is_some_and(|e| e == "tgz") {
                let name = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().into_owned();
                let args = vec!["rel".to_owned(), path.to_string_lossy().into_owned()];
                out.push(ChartCase { name, folder: folder.to_owned(), args });
            }
        }
    }
    out.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(out)
}

/// Lays a generated case out on disk, so that the commands can judge it as well.
pub fn lay_out(case: &Case, folder: &Path) -> Result<ChartCase, Error> {
    let request = &case.request;
    let root = folder.join(&case.id);
    let mut files: Vec<(PathBuf, Vec<u8>)> =
        request.chart_files().into_iter().map(|f| (root.join("chart").join(f.name), f.data)).collect();
    files.extend(request.side.iter().map(|f| (root.join(&f.name), f.data.clone())));
    for (path, data) in files {
        let parent = path.parent().unwrap_or(&root);
        std::fs::create_dir_all(parent).map_err(io(parent))?;
        std::fs::write(&path, data).map_err(io(&path))?;
    }
    let mut args = Vec::new();
    let mut flag = |name: &str, value: &str| args.push(format!("--{name}={value}"));
    flag("namespace", &request.namespace);
    for (name, values) in [
        ("values", &request.values),
        ("set", &request.set),
        ("set-string", &request.set_string),
        ("set-json", &request.set_json),
        ("set-file", &request.set_file),
        ("set-literal", &request.set_literal),
        ("api-versions", &request.api_versions),
    ] {
        values.iter().for_each(|value| flag(name, value));
    }
    if !request.kube_version.is_empty() {
        flag("kube-version", &request.kube_version);
    }
    for (name, on) in [
        ("is-upgrade", request.upgrade),
        ("include-crds", request.include_crds),
        ("no-hooks", request.no_hooks),
        ("skip-tests", request.skip_tests),
        ("skip-schema-validation", request.skip_schema),
    ] {
        if on {
            flag(name, "true");
        }
    }
    // Behind the flags, since a name may look like one.
    args.extend(["--", &request.release, "./chart"].map(str::to_owned));
    Ok(ChartCase { name: case.id.clone(), folder: root, args })
}

/// Splits as a shell does, with both quotes and the backslash.
fn words(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('\'' | '"', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (_, Some(open)) if letter == open => quote = None,
            ('\\', None | Some('"')) => word.get_or_insert_default().extend(letters.next()),
            (' ', None) => out.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    out.extend(word);
    out
}

static FOLDERS: AtomicUsize = AtomicUsize::new(0);

fn execute(program: &Path, first: &[&str], case: &ChartCase) -> Result<Ran, Error> {
    let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
    let written = std::env::temp_dir().join(format!("podium-rig-{}-{number}", std::process::id()));
    let place = written.to_string_lossy().into_owned();
    let output = tools::quiet_command(program)
        .args(first)
        .args(case.args.iter().map(|arg| arg.replace("{out}", &place)))
        .env("KUBECONFIG", "/nonexistent")
        .current_dir(&case.folder)
        .stdin(Stdio::null())
        .output()
        .map_err(io(program))?;
    // Messages may name absolute paths, which differ from checkout to checkout.
    let here = case.folder.canonicalize().map_err(io(&case.folder))?.to_string_lossy().into_owned();
    let tidy = |text: &[u8]| replace(&replace(text, place.as_bytes(), b"{out}"), here.as_bytes(), b"{here}");
    let mut stdout = tidy(&output.stdout);
    if written.is_dir() {
        list(&written, &written, &mut stdout);
        let _ = std::fs::remove_dir_all(&written);
    }
    Ok(Ran {
        status: output.status.code().unwrap_or(255),
        stdout,
        error: error_message(&tidy(&output.stderr)),
    })
}

fn replace(text: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with(from) {
            out.extend_from_slice(to);
            at += from.len();
        } else {
            out.push(text[at]);
            at += 1;
        }
    }
    out
}

/// Appends every file below a folder, by path.
fn list(root: &Path, folder: &Path, out: &mut Vec<u8>) {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().filter_map(|e| e.ok().map(|e| e.path())).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            list(root, &path, out);
        } else {
            let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
            out.extend_from_slice(format!("=== {name}\n").as_bytes());
            out.extend(std::fs::read(&path).unwrap_or_default());
        }
    }
}

fn error_message(stderr: &[u8]) -> Vec<u8> {
    const MARK: &[u8] = b"Error: ";
    let starts = |at: usize| stderr[at..].starts_with(MARK) && (at == 0 || stderr[at - 1] == b'\n');
    match (0..stderr.len()).find(|at| starts(*at)) {
        Some(at) => stderr[at..].to_vec(),
        None => Vec::new(),
    }
}

/// A case on which two commands do not agree.
#[derive(Clone, Debug)]
pub struct Mismatch {
    /// `chart/case`.
    pub name: String,
    /// In which dialect.
    pub dialect: Dialect,
    /// The original's.
    pub original: Ran,
    /// Ours.
    pub ours: Ran,
}

/// The figures of a run over charts.
#[derive(Debug, Default)]
pub struct Summary {
    /// Runs compared.
    pub runs: usize,
    /// Runs in which the original refused the chart.
    pub errors: usize,
    /// Runs in which the original broke.
    pub crashes: usize,
    /// Runs in which the original's own answer varies.
    pub varying: usize,
    /// Where the two differ.
    pub mismatches: Vec<Mismatch>,
}

impl Mismatch {
    /// Both answers around the first byte at which they part.
    pub fn excerpts(&self) -> (String, String) {
        let whole = |ran: &Ran| {
            let show = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            format!("[exit {}]\n{}{}", ran.status, show(&ran.stdout), show(&ran.error))
        };
        crate::compare::excerpts(&whole(&self.original), &whole(&self.ours))
    }
}

/// Runs every case in both dialects on both commands, two at a time.
pub fn compare(cases: &[ChartCase], original: &dyn Command, ours: &dyn Command) -> Result<Summary, Error> {
    let jobs: Vec<(&ChartCase, Dialect)> =
        cases.iter().flat_map(|case| Dialect::ALL.map(|dialect| (case, dialect))).collect();
    let pairs =
        in_parallel(&jobs, |(case, dialect)| Ok((original.run(case, *dialect)?, ours.run(case, *dialect)?)))?;
    let mut out = Summary::default();
    for ((case, dialect), (theirs, ours)) in jobs.into_iter().zip(pairs) {
        out.runs += 1;
        out.errors += usize::from(theirs.status != 0);
        if theirs.crashed() {
            out.crashes += 1;
        } else if !agree(&theirs, &ours) {
            if varies(case, dialect, original, &theirs, &ours)? {
                out.varying += 1;
            } else {
                out.mismatches.push(Mismatch { name: case.name.clone(), dialect, original: theirs, ours });
            }
        }
    }
    Ok(out)
}

/// How often a command is run again before a difference is believed: several errors of a schema have a random order.
const AGAIN: usize = 24;

/// Whether the original answers differently each time, and ours is one of its answers or has their shape.
fn varies(
    case: &ChartCase,
    dialect: Dialect,
    original: &dyn Command,
    first: &Ran,
    ours: &Ran,
) -> Result<bool, Error> {
    use crate::compare::normal;
    use crate::generate::Check;
    let mut stable = true;
    for _ in 0..AGAIN {
        let again = original.run(case, dialect)?;
        stable &= again == *first;
        if agree(&again, ours) {
            return Ok(true);
        }
    }
    let shape = |ran: &Ran| (ran.status, normal(Check::Shape, &ran.stdout), normal(Check::Shape, &ran.error));
    Ok(!stable && shape(first) == shape(ours))
}

/// Output, status and message must be equal; of a schema's complaint the first line with a path.
fn agree(a: &Ran, b: &Ran) -> bool {
    use crate::compare::normal;
    use crate::generate::Check;
    let schema = a.error.windows(30).any(|w| w == b"values don't meet the specific");
    let check = if schema { Check::SchemaHead } else { Check::Exact };
    a.status == b.status
        && normal(Check::Exact, &a.stdout) == normal(Check::Exact, &b.stdout)
        && normal(check, &a.error) == normal(check, &b.error)
}

fn in_parallel<J: Sync, R: Send>(
    jobs: &[J],
    work: impl Fn(&J) -> Result<R, Error> + Sync,
) -> Result<Vec<R>, Error> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(index) else { return };
                    let result = work(job);
                    if let Ok(mut done) = done.lock() {
                        done.insert(index, result);
                    }
                }
            });
        }
    });
    done.into_inner().unwrap_or_default().into_values().collect()
}

/// Where the recorded answer of a case is, for a dialect of its own or for both.
fn recorded_path(case: &ChartCase, dialect: Option<Dialect>) -> PathBuf {
    let stem = case.name.rsplit('/').next().unwrap_or(&case.name);
    let name = match dialect {
        Some(dialect) => format!("{stem}.{dialect}.txt"),
        None => format!("{stem}.txt"),
    };
    case.folder.join("expected").join(name)
}

/// Runs the originals on all cases and gives what should be recorded, by path.
pub fn record(cases: &[ChartCase], original: &dyn Command) -> Result<BTreeMap<PathBuf, Vec<u8>>, Error> {
    use crate::generate::Check;
    let answers = in_parallel(cases, |case| {
        let three = original.run(case, Dialect::Helm3)?;
        let four = original.run(case, Dialect::Helm4)?;
        Ok([(Dialect::Helm3, three), (Dialect::Helm4, four)])
    })?;
    let mut out = BTreeMap::new();
    for (case, answers) in cases.iter().zip(answers) {
        let texts: Vec<(Dialect, Vec<u8>)> = answers
            .iter()
            .filter(|(_, ran)| !ran.crashed())
            .map(|(dialect, ran)| (*dialect, crate::compare::normal(Check::Exact, ran.text())))
            .collect();
        match texts.as_slice() {
            [(_, a), (_, b)] if a == b => drop(out.insert(recorded_path(case, None), a.clone())),
            _ => out.extend(texts.into_iter().map(|(d, text)| (recorded_path(case, Some(d)), text))),
        }
    }
    Ok(out)
}

/// Writes what was recorded and removes what is no longer.
pub fn write(cases: &[ChartCase], recorded: &BTreeMap<PathBuf, Vec<u8>>) -> Result<(), Error> {
    for case in cases {
        let folder = case.folder.join("expected");
        std::fs::create_dir_all(&folder).map_err(io(&folder))?;
        for entry in std::fs::read_dir(&folder).map_err(io(&folder))?.flatten() {
            if !recorded.contains_key(&entry.path()) {
                std::fs::remove_file(entry.path()).map_err(io(&entry.path()))?;
            }
        }
    }
    for (path, text) in recorded {
        std::fs::write(path, text).map_err(io(path))?;
    }
    Ok(())
}

/// The paths whose content on disk is not what was recorded now.
pub fn stale(recorded: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<PathBuf> {
    recorded
        .iter()
        .filter(|(path, text)| std::fs::read(path).ok().as_ref() != Some(text))
        .map(|(p, _)| p.clone())
        .collect()
}

/// Gives all cases to a command and compares with what is recorded; no original is needed.
pub fn replay(cases: &[ChartCase], ours: &dyn Command) -> Result<Summary, Error> {
    let mut jobs = Vec::new();
    for case in cases {
        for dialect in Dialect::ALL {
            let text = std::fs::read(recorded_path(case, None))
                .or_else(|_| std::fs::read(recorded_path(case, Some(dialect))));
            if let Ok(text) = text {
                jobs.push((case, dialect, text));
            }
        }
    }
    let answers = in_parallel(&jobs, |(case, dialect, _)| ours.run(case, *dialect))?;
    let mut out = Summary::default();
    for ((case, dialect, text), ours) in jobs.into_iter().zip(answers) {
        let failed = text.starts_with(b"Error: ");
        let original = Ran {
            status: i32::from(failed),
            stdout: if failed { Vec::new() } else { text.clone() },
            error: if failed { text } else { Vec::new() },
        };
        out.runs += 1;
        out.errors += usize::from(failed);
        // A run that succeeds may say `Error: ` in a log line; a recorded success has no message to compare.
        let ours = Ran { error: if failed { ours.error } else { Vec::new() }, ..ours };
        if !agree(&original, &ours) {
            out.mismatches.push(Mismatch { name: case.name.clone(), dialect, original, ours });
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_are_split_as_a_shell_does() {
        assert_eq!(words(r#"--set 'a=x\,y' "b \"c\"" d\ e ''"#), ["--set", r"a=x\,y", r#"b "c""#, "d e", ""]);
        assert!(words("").is_empty());
    }

    #[test]
    fn the_message_begins_at_a_line() {
        assert_eq!(
            error_message(b"level=INFO msg=\"Error: x\"\nError: real\nmore\n"),
            b"Error: real\nmore\n"
        );
        assert!(error_message(b"warning\n").is_empty());
    }

    #[test]
    fn every_chart_has_cases() {
        let cases = discover(&crate::paths::tests("charts")).unwrap();
        assert!(cases.len() > 300, "{}", cases.len());
        let mut names: Vec<_> = cases.iter().map(|c| &c.name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), cases.len());
    }
}
