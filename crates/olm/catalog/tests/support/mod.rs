//! Both sides of a comparison: what opm's packages answer, and what we answer.

#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests")]

pub mod resolution;
pub mod resolutions;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

use podium_catalog::config::Config;
use podium_catalog::generation::Generation;
use podium_catalog::graph::{Options, mermaid};
use podium_catalog::ignore::{Ignore, NAME};
use podium_catalog::json::Text;
use podium_catalog::model::model;
use podium_catalog::template::{self, Kind};
use podium_catalog::write::{Format, to_vec};
use podium_catalog::{Facts, Problem};
use podium_sprig::encoding::{base64_decode, base64_encode};
use serde_json::{Value, json};

use crate::cases::{Case, Template};

/// The seed of the cases whose answers are recorded, and how many catalogs there are for each generation.
pub const SEED: u64 = 6;
pub const RECORDED: u64 = 480;

/// Answers by name; an error begins with `error: `.
pub type Answers = BTreeMap<String, Vec<u8>>;

/// The program that asks opm's packages.
pub struct Probe {
    child: Child,
    stdin: BufWriter<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Probe {
    /// Starts the probe of a generation, on one core: then opm reads files in order.
    pub fn start(generation: Generation) -> Self {
        Self::named(if generation == Generation::V151 { "probe-opm151" } else { "probe-opm173" })
    }

    /// Starts a probe, on one core.
    pub fn named(name: &str) -> Self {
        let folder = std::env::var("PODIUM_TOOLS")
            .unwrap_or_else(|_| format!("{}/.cache/podium/tools", std::env::var("HOME").unwrap_or_default()));
        let program = format!("{folder}/{name}");
        // What a probe writes is read at once and forgotten: memory is quicker than a disk.
        let memory = std::path::Path::new("/dev/shm");
        let scratch = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let mut child = Command::new("taskset")
            .args(["-c", "0", &program])
            .env("TMPDIR", scratch)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|e| panic!("{program} does not start ({e}): run `make tools`"));
        let stdin = BufWriter::new(child.stdin.take().unwrap());
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdin, stdout }
    }

    /// Asks one thing.
    pub fn ask(&mut self, request: &Value) -> Value {
        serde_json::to_writer(&mut self.stdin, request).unwrap();
        self.stdin.write_all(b"\n").unwrap();
        self.stdin.flush().unwrap();
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("the probe answered {line:?}: {e}"))
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn encoded(data: &[u8]) -> String {
    String::from_utf8(base64_encode(data)).unwrap()
}

fn graphs(case: &Case) -> Vec<(String, String, bool)> {
    vec![
        (String::new(), String::new(), false),
        (String::new(), String::new(), true),
        (case.bundle.clone(), String::new(), true),
        (String::new(), case.package.clone(), false),
    ]
}

fn note(answers: &mut Answers, name: &str, text: &Value) {
    let answer = match text["error"].as_str() {
        Some(error) => [b"error: ", error.as_bytes()].concat(),
        None => base64_decode(text["out"].as_str().unwrap_or_default().as_bytes()).unwrap(),
    };
    answers.insert(name.to_owned(), answer);
}

/// What opm says to a catalog.
pub fn theirs(probe: &mut Probe, case: &Case) -> Answers {
    let files: BTreeMap<&str, String> =
        case.files.iter().map(|(name, data)| (name.as_str(), encoded(data))).collect();
    let graphs: Vec<Value> = graphs(case)
        .into_iter()
        .map(|(min, package, v0)| json!({ "minEdge": min, "package": package, "v0": v0 }))
        .collect();
    let answer = probe.ask(&json!({ "op": "catalog", "files": files, "graphs": graphs }));
    assert!(answer["bad"].is_null(), "{answer}");
    let mut answers = Answers::new();
    for name in ["validate", "json", "yaml"] {
        note(&mut answers, name, &answer[name]);
    }
    for (at, graph) in answer["graphs"].as_array().unwrap().iter().enumerate() {
        note(&mut answers, &format!("graph {at}"), graph);
    }
    answers
}

/// What opm says to a template.
pub fn theirs_of_template(probe: &mut Probe, template: &Template) -> Answers {
    let bundles: BTreeMap<&str, String> =
        template.bundles.iter().map(|(image, data)| (image.as_str(), encoded(data))).collect();
    let request = json!({ "op": "template", "type": template.kind, "text": encoded(&template.text), "bundles": bundles });
    let answer = probe.ask(&request);
    let mut answers = Answers::new();
    if !answer["bad"].is_null() {
        answers.insert("json".to_owned(), format!("crash: {}", answer["bad"]).into_bytes());
        return answers;
    }
    for name in ["json", "yaml"] {
        note(&mut answers, name, &answer[name]);
    }
    answers
}

/// Reads the files of a case as the program reads a folder.
fn load(case: &Case, generation: Generation) -> Result<Config, Problem> {
    // By name, folder by folder, as a walk finds them.
    let mut files: Vec<&(String, Vec<u8>)> = case.files.iter().collect();
    files.sort_by(|a, b| a.0.split('/').cmp(b.0.split('/')));
    let is_ignore = |name: &str| name.rsplit('/').next() == Some(NAME);
    let mut ignore = Ignore::default();
    files.iter().filter(|(name, _)| is_ignore(name)).for_each(|(name, data)| ignore.add(name, data));
    let mut config = Config::default();
    for (name, data) in files.iter().filter(|(name, _)| !is_ignore(name) && !ignore.ignores(name)) {
        config.read(&Arc::from(name.as_str()), &Text::new(data.as_slice()), generation)?;
    }
    Ok(config)
}

fn told(result: Result<Vec<u8>, String>) -> Vec<u8> {
    result.unwrap_or_else(|error| [b"error: ", error.as_bytes()].concat())
}

/// What we say to a catalog.
pub fn ours(case: &Case, generation: Generation) -> Answers {
    let mut answers = Answers::new();
    let loaded = load(case, generation).map_err(|problem| {
        assert!(!problem.places.is_empty(), "{problem} has no place");
        problem.text
    });
    let checked = loaded.clone().and_then(|config| {
        model(&Facts::of(&config, generation), generation).map_err(|problem| {
            let places = problem.places.iter().all(|(place, _)| place.line > 0);
            assert!(!problem.places.is_empty() && places, "{problem} has no place: {:?}", problem.places);
            problem.text
        })
    });
    answers.insert("validate".to_owned(), told(checked.map(|_| Vec::new())));
    let rendered = loaded.map(|mut config| {
        config.arrange();
        config
    });
    for (name, format) in [("json", Format::Json), ("yaml", Format::Yaml)] {
        let text = rendered.clone().and_then(|config| to_vec(&config, format).map_err(|e| e.to_string()));
        answers.insert(name.to_owned(), told(text));
    }
    for (at, (minimum_edge, package, v0_semantics)) in graphs(case).into_iter().enumerate() {
        let options = Options { minimum_edge, package, v0_semantics };
        let drawn = rendered.clone().and_then(|config| {
            mermaid(&config, &options, generation)
                .map(|d| d.text.into_bytes())
                .map_err(|problem| problem.text)
        });
        answers.insert(format!("graph {at}"), told(drawn));
    }
    answers
}

/// What we say to a template.
pub fn ours_of_template(case: &Template, generation: Generation) -> Answers {
    let mut render = |image: &str| {
        let text = case.bundles.get(image).ok_or_else(|| Problem::new(format!("no image {image:?}")))?;
        let mut config = Config::default();
        config.read(&"".into(), &Text::new(text.as_slice()), generation)?;
        Ok(config.metas)
    };
    let made =
        template::render(&case.text, Kind::named(case.kind), generation, &mut render).map_err(|p| p.text);
    let mut answers = Answers::new();
    for (name, format) in [("json", Format::Json), ("yaml", Format::Yaml)] {
        let text = made.clone().and_then(|config| to_vec(&config, format).map_err(|e| e.to_string()));
        answers.insert(name.to_owned(), told(text));
    }
    answers
}

/// An answer with everything in one order that opm says in any order: siblings in a tree of errors, and which of two
/// versions cannot be compared.
pub fn normal(answer: &[u8]) -> String {
    let text = String::from_utf8_lossy(answer).into_owned();
    if text.starts_with("error: invalid index:") {
        let mut lines: Vec<String> = Vec::new();
        // Every line with all that is around it.
        let mut around: Vec<String> = Vec::new();
        for line in text.lines().skip(1) {
            let body = line.trim_start_matches(['│', ' ', '├', '└', '─']);
            let depth = (line.chars().count() - body.chars().count()) / 4;
            around.truncate(depth.saturating_sub(1));
            around.push(body.to_owned());
            lines.push(around.join(" / "));
        }
        lines.sort();
        return lines.join("\n");
    }
    match text.find("cannot be ordered: ") {
        Some(at) => text[..at].to_owned(),
        None => text,
    }
}

/// A short mark of answers (FNV-1a).
pub fn mark(answers: &Answers) -> u64 {
    let mut word = 0xcbf2_9ce4_8422_2325_u64;
    for (name, answer) in answers {
        for byte in [name.as_bytes(), b"\0", normal(answer).as_bytes(), b"\0"].concat() {
            word = (word ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    word
}

/// Whether opm takes it.
pub fn taken(answers: &Answers) -> bool {
    answers.values().all(|answer| !answer.starts_with(b"error: ") && !answer.starts_with(b"crash: "))
}
