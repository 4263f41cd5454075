//! A namespace of a real cluster, with everybody who works in it.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use podium_rig::cluster::{Cluster, Options, User, run};
use podium_rig::request::Dialect;
use podium_rig::tools;
use serde_json::Value;

static CLUSTER: LazyLock<Cluster> = LazyLock::new(|| {
    let users = vec![User::weak("weak"), User::weak("blind")];
    Cluster::with(Options { controllers: true, node: true, users, ..Options::default() }).unwrap()
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
        let mut command = tools::quiet_command(&tools::podium().unwrap());
        command
            .env("KUBECONFIG", self.cluster.kubeconfig())
            .env("HOME", self.cluster.folder().join("podium"));
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

    /// `helm`.
    pub fn helm(&self, dialect: Dialect, line: &str) -> Ran {
        ran(self.command(self.cluster.helm(dialect), line), line)
    }

    /// `kubectl`; it has to end well.
    pub fn kubectl(&self, line: &str) -> String {
        run(self.cluster.kubectl().args(line.split_whitespace()).args(["-n", self.name])).unwrap()
    }

    /// Creates or changes objects.
    pub fn apply(&self, objects: &str) {
        let file = self.folder().join("applied.yaml");
        std::fs::create_dir_all(self.folder()).unwrap();
        std::fs::write(&file, objects).unwrap();
        run(self.cluster.kubectl().args(["apply", "-n", self.name, "-f"]).arg(&file)).unwrap();
    }

    /// A field of an object; empty when there is none.
    pub fn field(&self, object: &str, path: &str) -> String {
        let path = format!("-o=jsonpath={{{path}}}");
        let mut command = self.cluster.kubectl();
        run(command.args(["get", "--ignore-not-found", object, "-n", self.name, &path])).unwrap()
    }

    /// Whether an object is there.
    pub fn has(&self, object: &str) -> bool {
        !self.field(object, ".metadata.name").is_empty()
    }

    /// Names and versions of everything in the namespace that a release may have made.
    pub fn everything(&self) -> String {
        let mut command = self.cluster.kubectl();
        let kinds = "secrets,configmaps,services,deployments,jobs,roles";
        let columns = "-o=custom-columns=K:.kind,N:.metadata.name,V:.metadata.resourceVersion";
        run(command.args(["get", kinds, "-n", self.name, columns])).unwrap()
    }

    /// The revisions of a release, as helm 4 tells them: their states and descriptions.
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
