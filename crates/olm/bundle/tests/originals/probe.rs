//! Client of the Go program in `tools/bundle`.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use podium_bundle::render::{CertificateProvider, Options};
use serde_json::{Value, json};

/// The bundle to process.
#[derive(Clone, Copy)]
pub enum Input<'a> {
    /// Files in memory.
    Files(&'a BTreeMap<String, Vec<u8>>),
    /// A bundle directory.
    Dir(&'a Path),
}

/// Result of the upstream implementation.
pub enum UpstreamOutcome {
    /// Output of opm.
    Rendered(String),
    /// Objects that operator-controller applies.
    Objects(Vec<String>),
    /// Error message.
    Rejected(String),
}

/// The running program.
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

fn encode_base64(bytes: &[u8]) -> String {
    podium_meta::base64::encode(bytes)
}

fn decode_base64(text: &str) -> Vec<u8> {
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

    fn call(&mut self, mut request: Value, input: Input<'_>) -> Value {
        match input {
            Input::Files(files) => {
                let files = files.iter().map(|(name, data)| (name.clone(), Value::from(encode_base64(data))));
                request["files"] = Value::Object(files.collect());
            }
            Input::Dir(dir) => request["dir"] = Value::from(dir.to_str().unwrap()),
        }
        serde_json::to_writer(&mut self.stdin, &request).unwrap();
        self.stdin.write_all(b"\n").unwrap();
        self.stdin.flush().unwrap();
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        assert!(!line.is_empty(), "the probe died");
        serde_json::from_str(&line).unwrap()
    }

    /// Runs `opm render`.
    pub fn opm(&mut self, input: Input<'_>, image: &str, migrate: bool) -> UpstreamOutcome {
        let response = self.call(json!({"op": "opm", "image": image, "migrate": migrate}), input);
        match response["error"].as_str() {
            Some(error) => UpstreamOutcome::Rejected(error.to_owned()),
            None => UpstreamOutcome::Rendered(
                String::from_utf8(decode_base64(response["out"].as_str().unwrap_or_default())).unwrap(),
            ),
        }
    }

    /// Runs operator-controller's renderer.
    pub fn controller(&mut self, input: Input<'_>, options: &Options) -> UpstreamOutcome {
        let provider = match options.certificate_provider {
            None => "",
            Some(CertificateProvider::CertManager) => "cert-manager",
            Some(CertificateProvider::OpenShift) => "openshift",
        };
        let mut config = json!({});
        if let Some(target) = options.target_namespaces.first() {
            config["watchNamespace"] = Value::from(target.as_str());
        }
        if !options.deployment_config.is_null() {
            config["deploymentConfig"] = options.deployment_config.clone();
        }
        let mut request = json!({
            "op": "controller", "namespace": options.install_namespace, "certificates": provider,
            "single": options.single_own_namespace, "deployment": !options.deployment_config.is_null(),
        });
        if config != json!({}) {
            request["config"] = config;
        }
        let response = self.call(request, input);
        match response["error"].as_str() {
            Some(error) => UpstreamOutcome::Rejected(error.to_owned()),
            None => {
                let all = response["objects"].as_array().into_iter().flatten();
                UpstreamOutcome::Objects(all.map(|one| one.as_str().unwrap().to_owned()).collect())
            }
        }
    }
}
