//! Both sides of a comparison: what opm's packages answer, and what we answer.

#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests")]

pub mod resolution;
pub mod resolution_cases;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

use podium_catalog::compat::OpmCompat;
use podium_catalog::declcfg::DeclarativeConfig;
use podium_catalog::graph::{Options, mermaid};
use podium_catalog::indexignore::{FILE_NAME, IndexIgnore};
use podium_catalog::json::SourceText;
use podium_catalog::model::convert_to_model;
use podium_catalog::template::{self, TemplateKind};
use podium_catalog::write::{Format, to_vec};
use podium_catalog::{CatalogError, CatalogSummary};
use podium_sprig::encoding::{base64_decode, base64_encode};
use serde_json::{Value, json};

use crate::cases::{Case, Template};

/// The seed of the cases whose answers are recorded, and how many catalogs there are for each generation.
pub const SEED: u64 = 6;
pub const RECORDED: u64 = 480;

/// Answers by name; an error begins with `error: `.
pub type Outputs = BTreeMap<String, Vec<u8>>;

/// The program that asks opm's packages.
pub struct Probe {
    child: Child,
    stdin: BufWriter<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Probe {
    /// Starts the probe of a generation, on one core: then opm reads files in order.
    pub fn start(compat: OpmCompat) -> Self {
        Self::start_named(if compat == OpmCompat::V151 { "probe-opm151" } else { "probe-opm173" })
    }

    /// Starts a probe, on one core.
    pub fn start_named(name: &str) -> Self {
        let dir = std::env::var("PODIUM_TOOLS")
            .unwrap_or_else(|_| format!("{}/.cache/podium/tools", std::env::var("HOME").unwrap_or_default()));
        let program = format!("{dir}/{name}");
        // What a probe writes is read at once and forgotten: memory is quicker than a disk.
        let shm = std::path::Path::new("/dev/shm");
        let scratch = if shm.is_dir() { shm.to_owned() } else { std::env::temp_dir() };
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
    pub fn call(&mut self, request: &Value) -> Value {
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

fn encode_base64(data: &[u8]) -> String {
    String::from_utf8(base64_encode(data)).unwrap()
}

fn graph_options(case: &Case) -> Vec<(String, String, bool)> {
    vec![
        (String::new(), String::new(), false),
        (String::new(), String::new(), true),
        (case.bundle.clone(), String::new(), true),
        (String::new(), case.package.clone(), false),
    ]
}

fn add_output(outputs: &mut Outputs, name: &str, text: &Value) {
    let answer = match text["error"].as_str() {
        Some(error) => [b"error: ", error.as_bytes()].concat(),
        None => base64_decode(text["out"].as_str().unwrap_or_default().as_bytes()).unwrap(),
    };
    outputs.insert(name.to_owned(), answer);
}

/// What opm says to a catalog.
pub fn upstream(probe: &mut Probe, case: &Case) -> Outputs {
    let files: BTreeMap<&str, String> =
        case.files.iter().map(|(name, data)| (name.as_str(), encode_base64(data))).collect();
    let graph_options: Vec<Value> = graph_options(case)
        .into_iter()
        .map(|(min, package, v0)| json!({ "minEdge": min, "package": package, "v0": v0 }))
        .collect();
    let answer = probe.call(&json!({ "op": "catalog", "files": files, "graphs": graph_options }));
    assert!(answer["bad"].is_null(), "{answer}");
    let mut outputs = Outputs::new();
    for name in ["validate", "json", "yaml"] {
        add_output(&mut outputs, name, &answer[name]);
    }
    for (at, graph) in answer["graphs"].as_array().unwrap().iter().enumerate() {
        add_output(&mut outputs, &format!("graph {at}"), graph);
    }
    outputs
}

/// What opm says to a template.
pub fn upstream_template(probe: &mut Probe, template: &Template) -> Outputs {
    let bundles: BTreeMap<&str, String> =
        template.bundles.iter().map(|(image, data)| (image.as_str(), encode_base64(data))).collect();
    let request = json!({ "op": "template", "type": template.kind, "text": encode_base64(&template.text), "bundles": bundles });
    let answer = probe.call(&request);
    let mut outputs = Outputs::new();
    if !answer["bad"].is_null() {
        outputs.insert("json".to_owned(), format!("crash: {}", answer["bad"]).into_bytes());
        return outputs;
    }
    for name in ["json", "yaml"] {
        add_output(&mut outputs, name, &answer[name]);
    }
    outputs
}

/// Reads the files of a case as the program reads a folder.
fn load_config(case: &Case, compat: OpmCompat) -> Result<DeclarativeConfig, CatalogError> {
    // By name, folder by folder, as a walk finds them.
    let mut files: Vec<&(String, Vec<u8>)> = case.files.iter().collect();
    files.sort_by(|a, b| a.0.split('/').cmp(b.0.split('/')));
    let is_ignore = |name: &str| name.rsplit('/').next() == Some(FILE_NAME);
    let mut ignore = IndexIgnore::default();
    files.iter().filter(|(name, _)| is_ignore(name)).for_each(|(name, data)| ignore.add(name, data));
    let mut config = DeclarativeConfig::default();
    for (name, data) in files.iter().filter(|(name, _)| !is_ignore(name) && !ignore.ignores(name)) {
        config.read(&Arc::from(name.as_str()), &SourceText::new(data.as_slice()), compat)?;
    }
    Ok(config)
}

fn output_or_error(result: Result<Vec<u8>, String>) -> Vec<u8> {
    result.unwrap_or_else(|error| [b"error: ", error.as_bytes()].concat())
}

/// What we say to a catalog.
pub fn ours(case: &Case, compat: OpmCompat) -> Outputs {
    let mut outputs = Outputs::new();
    let loaded = load_config(case, compat).map_err(|error| {
        assert!(!error.spans.is_empty(), "{error} has no place");
        error.message
    });
    let checked = loaded.clone().and_then(|config| {
        convert_to_model(&CatalogSummary::from_config(&config, compat), compat).map_err(|error| {
            let spans = error.spans.iter().all(|(span, _)| span.line > 0);
            assert!(!error.spans.is_empty() && spans, "{error} has no place: {:?}", error.spans);
            error.message
        })
    });
    outputs.insert("validate".to_owned(), output_or_error(checked.map(|_| Vec::new())));
    let rendered = loaded.map(|mut config| {
        config.normalize();
        config
    });
    for (name, format) in [("json", Format::Json), ("yaml", Format::Yaml)] {
        let text = rendered.clone().and_then(|config| to_vec(&config, format).map_err(|e| e.to_string()));
        outputs.insert(name.to_owned(), output_or_error(text));
    }
    for (at, (minimum_edge, package, v0_semantics)) in graph_options(case).into_iter().enumerate() {
        let options = Options { minimum_edge, package, v0_semantics };
        let graph = rendered.clone().and_then(|config| {
            mermaid(&config, &options, compat).map(|d| d.text.into_bytes()).map_err(|error| error.message)
        });
        outputs.insert(format!("graph {at}"), output_or_error(graph));
    }
    outputs
}

/// What we say to a template.
pub fn ours_template(case: &Template, compat: OpmCompat) -> Outputs {
    let mut render = |image: &str| {
        let text = case.bundles.get(image).ok_or_else(|| CatalogError::new(format!("no image {image:?}")))?;
        let mut config = DeclarativeConfig::default();
        config.read(&"".into(), &SourceText::new(text.as_slice()), compat)?;
        Ok(config.metas)
    };
    let rendered = template::render(&case.text, TemplateKind::from_name(case.kind), compat, &mut render)
        .map_err(|e| e.message);
    let mut outputs = Outputs::new();
    for (name, format) in [("json", Format::Json), ("yaml", Format::Yaml)] {
        let text = rendered.clone().and_then(|config| to_vec(&config, format).map_err(|e| e.to_string()));
        outputs.insert(name.to_owned(), output_or_error(text));
    }
    outputs
}

/// An answer with everything in one order that opm says in any order: siblings in a tree of errors, and which of two
/// versions cannot be compared.
pub fn normalize(answer: &[u8]) -> String {
    let text = String::from_utf8_lossy(answer).into_owned();
    if text.starts_with("error: invalid index:") {
        let mut lines: Vec<String> = Vec::new();
        // Every line with all that is around it.
        let mut ancestors: Vec<String> = Vec::new();
        for line in text.lines().skip(1) {
            let body = line.trim_start_matches(['│', ' ', '├', '└', '─']);
            let depth = (line.chars().count() - body.chars().count()) / 4;
            ancestors.truncate(depth.saturating_sub(1));
            ancestors.push(body.to_owned());
            lines.push(ancestors.join(" / "));
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
pub fn fingerprint(outputs: &Outputs) -> u64 {
    let mut word = 0xcbf2_9ce4_8422_2325_u64;
    for (name, answer) in outputs {
        for byte in [name.as_bytes(), b"\0", normalize(answer).as_bytes(), b"\0"].concat() {
            word = (word ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    word
}

/// Whether opm takes it.
pub fn accepted(outputs: &Outputs) -> bool {
    outputs.values().all(|answer| !answer.starts_with(b"error: ") && !answer.starts_with(b"crash: "))
}
