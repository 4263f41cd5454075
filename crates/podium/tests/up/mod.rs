//! `podium up` as a process, and a client of it.
#![allow(dead_code, reason = "each of the tests uses a part of it")]

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(60);
const TOKEN: &str = "token-of-admin";

/// A folder that is gone with the test; the data are in a folder in it.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("podium-up-{}-{number}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("tokens"), format!("{TOKEN},admin,admin,\"system:masters\"\n")).unwrap();
        Self(path)
    }

    /// Where the data are.
    pub fn data(&self) -> PathBuf {
        self.0.join("data")
    }

    /// The program with these arguments, which knows of no other cluster.
    pub fn podium(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_podium"));
        self.clean(&mut command).args(arguments);
        command
    }

    /// Nothing of the user's own environment.
    pub fn clean<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.env_clear().env("HOME", &self.0).env("PODIUM_DATA", self.data()).current_dir(&self.0);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).stdin(Stdio::null())
    }

    /// Runs the program to its end: how it ended, and what it printed.
    pub fn run(&self, arguments: &[&str]) -> (Option<i32>, String) {
        said(&self.podium(arguments).output().unwrap())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A test that fails leaves nothing behind, also not what runs in the background.
        let _ = self.podium(&["reset", "--yes"]).output();
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// How a program ended, and what it printed.
pub fn said(output: &Output) -> (Option<i32>, String) {
    let text = [output.stdout.as_slice(), &output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

/// A cluster in the foreground; it is killed when this goes.
pub struct Up {
    child: Child,
    /// Where its API is.
    pub url: String,
    data: PathBuf,
}

impl Up {
    /// Starts it with what the folder has, and waits until it answers.
    pub fn start(folder: &Folder) -> Self {
        Self::by(folder, folder.podium(&["up", "--no-stacks", "--port", "0", "--token-file", "tokens"]))
    }

    /// Starts it by a command, and waits until it answers.
    pub fn by(folder: &Folder, command: Command) -> Self {
        let mut up = Self::begin(folder, command);
        let begin = Instant::now();
        loop {
            let record = std::fs::read(up.data.join("running.json")).unwrap_or_default();
            let record: Value = serde_json::from_slice(&record).unwrap_or_default();
            if record["pid"] == up.child.id() {
                record["url"].as_str().unwrap_or_default().clone_into(&mut up.url);
                return up;
            }
            let log = || std::fs::read_to_string(folder.0.join("log")).unwrap_or_default();
            assert!(up.child.try_wait().unwrap().is_none(), "it ended: {}", log());
            assert!(begin.elapsed() < PATIENCE, "it does not start: {}", log());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Starts it, and does not wait.
    pub fn begin(folder: &Folder, mut command: Command) -> Self {
        let log = File::create(folder.0.join("log")).unwrap();
        let child = command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        Self { child, url: String::new(), data: folder.data() }
    }

    /// The number of the process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills it as a power cut would.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// A client of it.
    pub fn client(&self) -> Caller {
        let mut roots = RootCertStore::empty();
        let authority = std::fs::read(self.data.join("keys/ca.crt")).unwrap();
        for certificate in CertificateDer::pem_slice_iter(&authority) {
            roots.add(certificate.unwrap()).unwrap();
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let connector =
            HttpsConnectorBuilder::new().with_tls_config(config).https_only().enable_http1().build();
        Caller { http: Client::builder(TokioExecutor::new()).build(connector), url: self.url.clone() }
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Why there is no answer: the server is away.
#[derive(Debug)]
pub struct Away;

/// A client as the administrator.
#[derive(Clone)]
pub struct Caller {
    http: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    url: String,
}

impl Caller {
    fn request(&self, method: &str, path: &str, kind: &str, body: &Value) -> Request<Full<Bytes>> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url))
            .header("authorization", format!("Bearer {TOKEN}"))
            .header("content-type", kind)
            .body(Full::new(body.into()))
            .unwrap()
    }

    /// Sends a request; a merge patch if it is one.
    pub async fn send(&self, method: &str, path: &str, body: &Value) -> Result<(u16, Value), Away> {
        let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let answer = self.http.request(self.request(method, path, kind, body)).await.map_err(|_| Away)?;
        let code = answer.status().as_u16();
        let bytes = answer.into_body().collect().await.map_err(|_| Away)?.to_bytes();
        Ok((code, serde_json::from_slice(&bytes).map_err(|_| Away)?))
    }

    /// Calls for every line of an endless answer, until the server is away.
    pub async fn follow(&self, path: &str, mut line: impl FnMut(Value)) {
        let request = self.request("GET", path, "application/json", &Value::Null);
        let Ok(mut answer) = self.http.request(request).await else { return };
        let mut rest: Vec<u8> = Vec::new();
        while let Some(Ok(frame)) = answer.body_mut().frame().await {
            rest.extend_from_slice(frame.data_ref().map(|data| &data[..]).unwrap_or_default());
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let one: Vec<u8> = rest.drain(..=end).collect();
                line(serde_json::from_slice(&one).unwrap());
            }
        }
    }
}
