//! A namespace of a cluster, and the users who work in it.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use podium_rig::cluster::{Cluster, Controllers, Options, User};
use podium_rig::request::Dialect;
use serde_json::Value;

static CLUSTER: LazyLock<Cluster> = LazyLock::new(|| {
    let users = vec![User::weak("weak"), User::weak("blind")];
    Cluster::with(Options { controllers: Controllers::Workloads, node: true, users, ..Options::default() })
        .unwrap()
});

/// How a command ended.
#[derive(Debug)]
pub struct Ran {
    pub line: String,
    pub ok: bool,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// It ended well.
    pub fn good(self) -> Self {
        assert!(self.ok, "{}: {}", self.line, self.stderr);
        self
    }

    /// It failed, and says all of these.
    pub fn bad(self, words: &[&str]) -> Self {
        let said = words.iter().all(|word| self.stderr.contains(word));
        assert!(
            !self.ok && said,
            "{} should fail and say {words:?}: {}{}",
            self.line,
            self.stdout,
            self.stderr
        );
        self
    }

    /// It tells all of these on standard error.
    pub fn tells(self, words: &[&str]) -> Self {
        let said = words.iter().all(|word| self.stderr.contains(word));
        assert!(said, "{} should tell {words:?}: {}", self.line, self.stderr);
        self
    }
}

/// A namespace.
pub struct Space {
    pub name: &'static str,
    pub cluster: &'static Cluster,
}

impl Space {
    /// Makes it.
    pub fn new(name: &'static str) -> Self {
        let space = Self::missing(name);
        space.cluster.namespace(name).unwrap();
        space
    }

    /// One that is not there yet.
    pub fn missing(name: &'static str) -> Self {
        Self { name, cluster: &CLUSTER }
    }

    /// Writes a file of a chart; its folder is the first part of the path.
    pub fn write(&self, path: &str, text: &str) -> &Self {
        let path = self.folder().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    /// Writes a chart with one template.
    pub fn chart(&self, name: &str, template: &str) -> &Self {
        self.write(&format!("{name}/Chart.yaml"), "apiVersion: v2\nname: made\nversion: 0.1.0\n");
        self.write(&format!("{name}/templates/all.yaml"), template)
    }

    fn folder(&self) -> PathBuf {
        self.cluster.folder().join("charts").join(self.name)
    }

    fn command(&self, mut command: Command, line: &str) -> Command {
        command.current_dir(self.folder()).args(line.split_whitespace()).args(["-n", self.name]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn podium_command(&self, line: &str) -> Command {
        let mut command = self.cluster.podium().unwrap();
        command.arg("release");
        std::fs::create_dir_all(self.folder()).unwrap();
        self.command(command, line)
    }

    /// `podium release`.
    pub fn podium(&self, line: &str) -> Ran {
        ran(self.podium_command(line), line)
    }

    /// `podium release` of another user, or with another driver.
    pub fn podium_with(&self, name: &str, value: &str, line: &str) -> Ran {
        let mut command = self.podium_command(line);
        command.env(name, value);
        ran(command, line)
    }

    /// `podium release`, which goes on meanwhile.
    pub fn begin(&self, line: &str) -> Child {
        self.podium_command(line).spawn().unwrap()
    }

    /// Works on a release as another user: with helm, or with `podium release` in its place.
    pub fn helm(&self, dialect: Dialect, line: &str) -> Ran {
        let words: Vec<&str> = line.split_whitespace().collect();
        ran(self.command(self.cluster.release(dialect, &words).unwrap(), ""), line)
    }

    /// Creates or changes objects.
    pub fn apply(&self, objects: &str) {
        self.cluster.admin().apply(self.name, objects).unwrap();
    }

    /// Merges a patch into an object: `configmap/name`.
    pub fn merge(&self, object: &str, patch: Value) {
        let (resource, name) = object.split_once('/').unwrap();
        self.cluster.admin().merge(resource, self.name, name, &patch).unwrap();
    }

    /// Deletes an object, if it exists, and waits until it is gone.
    pub fn delete(&self, object: &str) {
        let (resource, name) = object.split_once('/').unwrap();
        self.cluster.admin().delete(resource, self.name, name).unwrap();
        self.until(&format!("{object} is gone"), || !self.has(object));
    }

    /// A field of an object; empty when there is none.
    pub fn field(&self, object: &str, path: &str) -> String {
        let (resource, name) = object.split_once('/').unwrap();
        let found = self.cluster.admin().find(resource, self.name, name).unwrap().unwrap_or_default();
        let pointer = path.replace(['.', '['], "/").replace(']', "");
        match found.pointer(&pointer).unwrap_or(&Value::Null) {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }

    /// Whether an object exists.
    pub fn has(&self, object: &str) -> bool {
        !self.field(object, ".metadata.name").is_empty()
    }

    /// Names and versions of everything in the namespace that a release may have made; not of the ConfigMap that a
    /// controller publishes in every namespace, at any time.
    pub fn everything(&self) -> String {
        let kinds = ["secrets", "configmaps", "services", "deployments", "jobs", "roles"];
        let list = |kind| self.cluster.admin().list(kind, self.name, "").unwrap();
        let line = |o: &Value| {
            format!("{} {} {}\n", o["kind"], o["metadata"]["name"], o["metadata"]["resourceVersion"])
        };
        let own = |o: &&Value| o["metadata"]["name"] != "kube-root-ca.crt";
        kinds.map(list).concat().iter().filter(own).map(line).collect()
    }

    /// The revisions of a release, as helm 4 prints them: their states and descriptions.
    pub fn history(&self, name: &str) -> Vec<(String, String)> {
        let told = self.helm(Dialect::Helm4, &format!("history {name} -o json")).good();
        let told: Value = serde_json::from_str(&told.stdout).unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let all = told.as_array().unwrap().iter();
        all.map(|revision| (text(&revision["status"]), text(&revision["description"]))).collect()
    }

    /// The states of the revisions.
    pub fn states(&self, name: &str) -> Vec<String> {
        self.history(name).into_iter().map(|(state, _)| state).collect()
    }

    /// Waits until something is so.
    pub fn until(&self, what: &str, so: impl Fn() -> bool) {
        let begin = Instant::now();
        while !so() {
            assert!(begin.elapsed() < Duration::from_secs(60), "{}: not yet: {what}", self.name);
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn ran(mut command: Command, line: &str) -> Ran {
    ended(command.spawn().unwrap(), line)
}

/// Waits for the end of a command.
pub fn ended(child: Child, line: &str) -> Ran {
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ran {
        line: line.to_owned(),
        ok: output.status.success(),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    }
}

/// Text that no packing makes small.
pub fn noise(length: usize) -> String {
    let mut state = 7_u64;
    let mut out = String::new();
    while out.len() < length {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        out += &format!("{:012x}", state >> 16);
    }
    out
}
