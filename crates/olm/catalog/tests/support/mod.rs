//! Runs cases against opm's Go packages and against our implementation.

#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test helpers")]

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

/// Seed of the recorded cases, and number of catalogs per compatibility level.
pub const SEED: u64 = 6;
pub const RECORDED: u64 = 480;

/// Outputs by name; an error starts with `error: `.
pub type Outputs = BTreeMap<String, Vec<u8>>;

/// The Go program that calls opm's packages.
pub struct Probe {
    child: Child,
    stdin: BufWriter<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Probe {
    /// Starts the probe of a compatibility level on one core, so that opm reads files in order.
    pub fn start(compat: OpmCompat) -> Self {
        Self::start_named(if compat == OpmCompat::V151 { "probe-opm151" } else { "probe-opm173" })
    }

    /// Starts a probe on one core.
    pub fn start_named(name: &str) -> Self {
        let dir = std::env::var("PODIUM_TOOLS")
            .unwrap_or_else(|_| format!("{}/.cache/podium/tools", std::env::var("HOME").unwrap_or_default()));
        let program = format!("{dir}/{name}");
        // The probe's files are temporary: memory is faster than a disk.
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

    /// Sends a request.
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
    let output = match text["error"].as_str() {
        Some(error) => [b"error: ", error.as_bytes()].concat(),
        None => base64_decode(text["out"].as_str().unwrap_or_default().as_bytes()).unwrap(),
    };
    outputs.insert(name.to_owned(), output);
}

/// Returns opm's output for a catalog.
pub fn upstream(probe: &mut Probe, case: &Case) -> Outputs {
    let files: BTreeMap<&str, String> =
        case.files.iter().map(|(name, data)| (name.as_str(), encode_base64(data))).collect();
    let graph_options: Vec<Value> = graph_options(case)
        .into_iter()
        .map(|(min, package, v0)| json!({ "minEdge": min, "package": package, "v0": v0 }))
        .collect();
    let output = probe.call(&json!({ "op": "catalog", "files": files, "graphs": graph_options }));
    assert!(output["bad"].is_null(), "{output}");
    let mut outputs = Outputs::new();
    for name in ["validate", "json", "yaml"] {
        add_output(&mut outputs, name, &output[name]);
    }
    for (at, graph) in output["graphs"].as_array().unwrap().iter().enumerate() {
        add_output(&mut outputs, &format!("graph {at}"), graph);
    }
    outputs
}

/// Returns opm's output for a template.
pub fn upstream_template(probe: &mut Probe, template: &Template) -> Outputs {
    let bundles: BTreeMap<&str, String> =
        template.bundles.iter().map(|(image, data)| (image.as_str(), encode_base64(data))).collect();
    let request = json!({ "op": "template", "type": template.kind, "text": encode_base64(&template.text), "bundles": bundles });
    let output = probe.call(&request);
    let mut outputs = Outputs::new();
    if !output["bad"].is_null() {
        outputs.insert("json".to_owned(), format!("crash: {}", output["bad"]).into_bytes());
        return outputs;
    }
    for name in ["json", "yaml"] {
        add_output(&mut outputs, name, &output[name]);
    }
    outputs
}

/// Loads the files of a case like a catalog directory.
fn load_config(case: &Case, compat: OpmCompat) -> Result<DeclarativeConfig, CatalogError> {
    // Sorts files in the order of a directory walk.
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

/// Returns our output for a catalog.
pub fn ours(case: &Case, compat: OpmCompat) -> Outputs {
    let mut outputs = Outputs::new();
    let loaded = load_config(case, compat).map_err(|error| {
        assert!(!error.spans.is_empty(), "{error} has no span");
        error.message
    });
    let checked = loaded.clone().and_then(|config| {
        convert_to_model(&CatalogSummary::from_config(&config, compat), compat).map_err(|error| {
            let spans = error.spans.iter().all(|(span, _)| span.line > 0);
            assert!(!error.spans.is_empty() && spans, "{error} has no span: {:?}", error.spans);
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

/// Returns our output for a template.
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

/// Sorts what opm reports in random order: sibling errors, and which of two versions cannot be compared.
pub fn normalize(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output).into_owned();
    if text.starts_with("error: invalid index:") {
        let mut lines: Vec<String> = Vec::new();
        // Each line with its ancestors.
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

/// Hashes outputs (FNV-1a).
pub fn fingerprint(outputs: &Outputs) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for (name, output) in outputs {
        for byte in [name.as_bytes(), b"\0", normalize(output).as_bytes(), b"\0"].concat() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    hash
}

/// Reports whether the input is accepted.
pub fn accepted(outputs: &Outputs) -> bool {
    outputs.values().all(|output| !output.starts_with(b"error: ") && !output.starts_with(b"crash: "))
}
