//! The client of the program in `tools/bundle`.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use podium_bundle::render::{Certificates, Options};
use serde_json::{Value, json};

/// What is asked about.
#[derive(Clone, Copy)]
pub enum Question<'a> {
    /// These files.
    Files(&'a BTreeMap<String, Vec<u8>>),
    /// Those of a folder.
    Folder(&'a Path),
}

/// What an original says.
pub enum Outcome {
    /// What opm prints.
    Text(String),
    /// What the controller applies.
    Objects(Vec<String>),
    /// Why it refuses.
    Refused(String),
}

/// The program, running.
pub struct Probe {
    child: Child,
    stdin: BufWriter<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Drop for Probe {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn base64(bytes: &[u8]) -> String {
    podium_meta::base64::encode(bytes)
}

fn plain(text: &str) -> Vec<u8> {
    podium_meta::base64::decode_url(&text.replace('+', "-").replace('/', "_").replace('=', "")).unwrap()
}

impl Probe {
    pub fn start() -> Self {
        let cache = std::env::var_os("PODIUM_TOOLS")
            .map(PathBuf::from)
            .unwrap_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache/podium/tools"));
        let path = cache.join("probe-bundle");
        let mut child = Command::new(&path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}; run `make tools`", path.display()));
        let stdin = BufWriter::new(child.stdin.take().unwrap());
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdin, stdout }
    }

    fn ask(&mut self, mut request: Value, question: Question<'_>) -> Value {
        match question {
            Question::Files(files) => {
                let files = files.iter().map(|(name, data)| (name.clone(), Value::from(base64(data))));
                request["files"] = Value::Object(files.collect());
            }
            Question::Folder(folder) => request["dir"] = Value::from(folder.to_str().unwrap()),
        }
        serde_json::to_writer(&mut self.stdin, &request).unwrap();
        self.stdin.write_all(b"\n").unwrap();
        self.stdin.flush().unwrap();
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        assert!(!line.is_empty(), "the probe died");
        serde_json::from_str(&line).unwrap()
    }

    /// What `opm render` prints.
    pub fn opm(&mut self, question: Question<'_>, image: &str, migrate: bool) -> Outcome {
        let answer = self.ask(json!({"op": "opm", "image": image, "migrate": migrate}), question);
        match answer["error"].as_str() {
            Some(error) => Outcome::Refused(error.to_owned()),
            None => {
                Outcome::Text(String::from_utf8(plain(answer["out"].as_str().unwrap_or_default())).unwrap())
            }
        }
    }

    /// What the lifecycle controller applies.
    pub fn controller(&mut self, question: Question<'_>, options: &Options) -> Outcome {
        let certificates = match options.certificates {
            None => "",
            Some(Certificates::CertManager) => "cert-manager",
            Some(Certificates::OpenShift) => "openshift",
        };
        let mut config = json!({});
        if let Some(target) = options.targets.first() {
            config["watchNamespace"] = Value::from(target.as_str());
        }
        if !options.deployment.is_null() {
            config["deploymentConfig"] = options.deployment.clone();
        }
        let mut request = json!({
            "op": "controller", "namespace": options.namespace, "certificates": certificates,
            "single": options.namespaces, "deployment": !options.deployment.is_null(),
        });
        if config != json!({}) {
            request["config"] = config;
        }
        let answer = self.ask(request, question);
        match answer["error"].as_str() {
            Some(error) => Outcome::Refused(error.to_owned()),
            None => {
                let all = answer["objects"].as_array().into_iter().flatten();
                Outcome::Objects(all.map(|one| one.as_str().unwrap().to_owned()).collect())
            }
        }
    }
}
