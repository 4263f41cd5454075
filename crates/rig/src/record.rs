//! Recorded answers of the originals: one JSON line per case, sorted, so that a change reads well in a diff.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::compare::{self, Difference};
use crate::generate::{self, Case, Check, Family};
use crate::request::{Dialect, File, Outcome, RenderRequest};
use crate::subject::Subject;

/// The seed of the recorded cases.
pub const SEED: u64 = 2026;
/// How many generated cases are considered.
pub const CASES: usize = 6000;
/// An answer longer than this is not worth its place in the repository.
const LONGEST: usize = 1200;
/// How often the originals are asked, to be sure that an answer does not vary.
const ASKED: usize = 24;

/// Why recordings could not be read or made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A line is not a record.
    #[error("{path}:{line}: not a record")]
    Line {
        /// Which file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
    },
}

/// A case with the answers of both originals; none when they vary or are too long.
#[derive(Clone, Debug)]
pub struct Record {
    /// The case.
    pub case: Case,
    /// What each original answers.
    pub answers: Option<BTreeMap<Dialect, Outcome>>,
}

fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Io { path, source }
}

/// Cases written by hand: `=== name` begins one, the text up to the next is a template in the world.
pub fn hand_written(folder: &Path) -> Result<Vec<Case>, Error> {
    let mut out = Vec::new();
    for path in sorted(folder, "txt")? {
        let text = std::fs::read_to_string(&path).map_err(io(&path))?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        for block in format!("\n{text}").split("\n=== ").skip(1) {
            let (name, template) = block.split_once('\n').unwrap_or((block, ""));
            let template = template.strip_suffix('\n').unwrap_or(template);
            let mut case = Case::new(Family::HandWritten, RenderRequest::template(template), Check::Exact);
            case.id = format!("{stem}/{}", name.trim());
            case.only4 = stem == "helm4";
            out.push(case);
        }
    }
    Ok(out)
}

fn sorted(folder: &Path, ending: &str) -> Result<Vec<PathBuf>, Error> {
    let mut out: Vec<PathBuf> = std::fs::read_dir(folder)
        .map_err(io(folder))?
        .filter_map(|entry| entry.ok().map(|e| e.path()))
        .filter(|path| path.extension().is_some_and(|e| e == ending))
        .collect();
    out.sort();
    Ok(out)
}

/// All cases that are recorded.
pub fn cases(hand: &Path) -> Result<Vec<Case>, Error> {
    let mut out = hand_written(hand)?;
    out.extend(generate::cases(SEED, CASES));
    Ok(out)
}

/// Asks both originals often, and keeps what is stable and short.
pub fn make(cases: Vec<Case>, originals: &BTreeMap<Dialect, &dyn Subject>) -> Vec<Record> {
    let mut kept: Vec<Option<BTreeMap<Dialect, Outcome>>> = vec![Some(BTreeMap::new()); cases.len()];
    for (dialect, original) in originals {
        for round in 0..ASKED {
            let asked: Vec<usize> = (0..cases.len()).filter(|i| kept[*i].is_some()).collect();
            let requests: Vec<RenderRequest> = asked.iter().map(|i| cases[*i].request.clone()).collect();
            for (index, outcome) in asked.into_iter().zip(original.render_many(&requests)) {
                let outcome = tidy(cases[index].check, outcome);
                let before = kept[index].as_ref().and_then(|answers| answers.get(dialect));
                let crashed = matches!(outcome, Outcome::Crash(_));
                if crashed || length(&outcome) > LONGEST || before.is_some_and(|b| *b != outcome) {
                    kept[index] = None;
                } else if round == 0
                    && let Some(answers) = kept[index].as_mut()
                {
                    answers.insert(*dialect, outcome);
                }
            }
        }
    }
    cases.into_iter().zip(kept).map(|(case, answers)| Record { case, answers }).collect()
}

/// Asks once for what was kept, and says where the answers are no longer the recorded ones.
///
/// Where both are ours but for an address, the original was only linked anew: its constants have moved.
pub fn check(
    records: &[Record],
    originals: &BTreeMap<Dialect, &dyn Subject>,
    ours: &dyn Subject,
) -> Vec<Difference> {
    let only_moved = |difference: &Difference| {
        let Case { check, request, .. } = &difference.case;
        let ours = tidy(*check, ours.render(request));
        let now = tidy(*check, difference.subject.clone());
        compare::equal(*check, &difference.original, &ours) && compare::equal(*check, &now, &ours)
    };
    let mut changed: Vec<Difference> =
        originals.iter().flat_map(|(dialect, original)| replay(records, *dialect, *original)).collect();
    changed.retain(|difference| !only_moved(difference));
    changed
}

/// Gives recorded cases to a subject and says where it differs from what was recorded.
pub fn replay(records: &[Record], dialect: Dialect, subject: &dyn Subject) -> Vec<Difference> {
    let kept: Vec<(&Record, &Outcome)> =
        records.iter().filter_map(|r| Some((r, r.answers.as_ref()?.get(&dialect)?))).collect();
    let requests: Vec<RenderRequest> =
        kept.iter().map(|(r, _)| RenderRequest { dialect, ..r.case.request.clone() }).collect();
    let mut out = Vec::new();
    for (((record, expected), request), ours) in
        kept.into_iter().zip(&requests).zip(subject.render_many(&requests))
    {
        if !compare::equal(record.case.check, expected, &tidy(record.case.check, ours.clone())) {
            let case = Case { request: request.clone(), ..record.case.clone() };
            out.push(Difference { case, original: expected.clone(), subject: ours });
        }
    }
    out
}

fn length(outcome: &Outcome) -> usize {
    match outcome {
        Outcome::Files(files) => files.values().map(Vec::len).sum(),
        Outcome::Stdout(bytes) | Outcome::Error(bytes) => bytes.len(),
        Outcome::Crash(text) => text.len(),
    }
}

/// What is random is recorded as its shape only.
fn tidy(check: Check, outcome: Outcome) -> Outcome {
    let change = |bytes: Vec<u8>| compare::normal(check, &bytes);
    match outcome {
        Outcome::Files(files) => Outcome::Files(files.into_iter().map(|(n, d)| (n, change(d))).collect()),
        Outcome::Stdout(bytes) => Outcome::Stdout(change(bytes)),
        Outcome::Error(bytes) => Outcome::Error(change(bytes)),
        crash @ Outcome::Crash(_) => crash,
    }
}

/// Writes records into one file per family, sorted by name.
pub fn write(folder: &Path, records: &[Record]) -> Result<(), Error> {
    let mut files = BTreeMap::<String, Vec<(String, String)>>::new();
    for record in records {
        let line = Value::Object(to_json(record)).to_string();
        files.entry(record.case.family.to_string()).or_default().push((record.case.id.clone(), line));
    }
    for (family, mut lines) in files {
        lines.sort_by_key(|(id, _)| natural(id));
        let text: String = lines.into_iter().map(|(_, line)| line + "\n").collect();
        let path = folder.join(format!("{family}.jsonl"));
        std::fs::write(&path, text).map_err(io(&path))?;
    }
    Ok(())
}

/// `x-9` before `x-10`.
fn natural(id: &str) -> (String, u64) {
    match id.rsplit_once('-') {
        Some((head, number)) => (head.to_owned(), number.parse().unwrap_or(0)),
        None => (id.to_owned(), 0),
    }
}

/// Reads all records of a folder.
pub fn read(folder: &Path) -> Result<Vec<Record>, Error> {
    let mut out = Vec::new();
    for path in sorted(folder, "jsonl")? {
        let text = std::fs::read_to_string(&path).map_err(io(&path))?;
        for (index, line) in text.lines().enumerate() {
            let record = serde_json::from_str(line).ok().and_then(|value: Value| from_json(&value));
            out.push(record.ok_or_else(|| Error::Line { path: path.clone(), line: index + 1 })?);
        }
    }
    Ok(out)
}

fn to_json(record: &Record) -> Map<String, Value> {
    let case = &record.case;
    let mut out = Map::new();
    out.insert("id".to_owned(), json!(case.id));
    out.insert("family".to_owned(), json!(case.family.to_string()));
    match case.check {
        Check::Exact => {}
        Check::Shape => drop(out.insert("check".to_owned(), json!("shape"))),
        Check::SchemaHead => drop(out.insert("check".to_owned(), json!("schema"))),
    }
    let Some(answers) = &record.answers else {
        out.insert("left-out".to_owned(), json!("varies or is long"));
        return out;
    };
    let short = RenderRequest::template(Vec::new());
    match case.request.files.as_slice() {
        [file]
            if RenderRequest { files: short.files.clone(), ..case.request.clone() } == short
                && file.name == short.files[0].name =>
        {
            out.insert("t".to_owned(), crate::text::to_json(&file.data));
        }
        _ => drop(out.insert("request".to_owned(), Value::Object(case.request.to_json()))),
    }
    let mut distinct: Vec<&Outcome> = answers.values().collect();
    distinct.dedup();
    if let [one] = distinct.as_slice() {
        out.insert("both".to_owned(), one.to_json());
    } else {
        for (dialect, answer) in answers {
            out.insert(dialect.to_string(), answer.to_json());
        }
    }
    out
}

fn from_json(value: &Value) -> Option<Record> {
    let name = value.get("family")?.as_str()?;
    let family = Family::ALL.into_iter().find(|f| f.to_string() == name)?;
    let check = match value.get("check").and_then(Value::as_str) {
        Some("shape") => Check::Shape,
        Some("schema") => Check::SchemaHead,
        _ => Check::Exact,
    };
    let left_out = value.get("left-out").is_some();
    let request = match (value.get("t"), value.get("request")) {
        (Some(template), _) => RenderRequest::template(crate::text::from_json(template)?),
        (_, Some(request)) => RenderRequest::from_json(request.as_object()?)?,
        _ if left_out => RenderRequest::chart(Vec::<File>::new()),
        _ => return None,
    };
    let mut answers = BTreeMap::new();
    for dialect in Dialect::ALL {
        if let Some(answer) = value.get("both").or_else(|| value.get(dialect.to_string())) {
            answers.insert(dialect, Outcome::from_json(answer)?);
        }
    }
    let mut case = Case::new(family, request, check);
    case.id = value.get("id")?.as_str()?.to_owned();
    Some(Record { case, answers: (!left_out).then_some(answers) })
}
