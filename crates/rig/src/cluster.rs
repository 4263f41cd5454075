//! A real Kubernetes control plane on loopback, with real clients to talk to it.
//!
//! ```text
//! etcd <── kube-apiserver <─┬─ kube-controller-manager   (Options::controllers)
//!                           ├─ a node that runs nothing  (Options::node)
//!                           └─ kubectl, helm             (Cluster::kubectl, Cluster::helm)
//! ```

mod guard;
pub mod node;

use std::fmt::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::podium::Podium;
use crate::request::{Dialect, File, Outcome, RenderRequest};
use crate::subject::Subject;
use crate::tools;

use guard::Guard;
use node::Node;

const PATIENCE: Duration = Duration::from_secs(60);
const ADMIN: &str = "admin";

/// Why there is no cluster, or why it did not do what was asked.
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
    /// A server ended or did not become ready.
    #[error("{name} did not come up: {reason}; the end of its log:\n{log}")]
    Server {
        /// Which.
        name: &'static str,
        /// What was seen.
        reason: String,
        /// The last lines that it wrote.
        log: String,
    },
    /// A command said no.
    #[error("{command}: {message}")]
    Command {
        /// The command line.
        command: String,
        /// What it wrote to standard error.
        message: String,
    },
    /// A key or a configuration could not be made.
    #[error("cannot render a file of the cluster: {0}")]
    Template(String),
    /// The node could not be played.
    #[error("the node did not come up: {0}")]
    Node(String),
}

impl Error {
    fn io(path: impl AsRef<Path>) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.as_ref().to_owned();
        move |source| Error::Io { path, source }
    }

    fn port_taken(&self) -> bool {
        matches!(self, Error::Server { log, .. } if log.contains("address already in use"))
    }
}

/// Somebody whom the API server knows by a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// User name.
    pub name: String,
    /// Bearer token.
    pub token: String,
    /// Groups beside `system:authenticated`.
    pub groups: Vec<String>,
}

impl User {
    /// A user of no group, who may do only what roles allow.
    pub fn weak(name: &str) -> Self {
        User { name: name.to_owned(), token: format!("token-of-{name}"), groups: Vec::new() }
    }
}

/// Whose API server a cluster has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    /// etcd and kube-apiserver.
    Kubernetes,
    /// Our own.
    Podium,
}

impl Server {
    /// The one that `PODIUM_SERVER` names: `podium`, or the real one.
    pub fn chosen() -> Self {
        match std::env::var("PODIUM_SERVER").as_deref() {
            Ok("podium") => Self::Podium,
            _ => Self::Kubernetes,
        }
    }
}

/// What a cluster consists of.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Whose API server; nothing is the one that `PODIUM_SERVER` names.
    pub server: Option<Server>,
    /// Start kube-controller-manager too: without it Deployments make no pods, namespaces are never gone.
    pub controllers: bool,
    /// Play a [`node`], so that pods become ready or end.
    pub node: bool,
    /// What is answered is on the disk; else the store of the real servers only says so, which is faster.
    pub durable: bool,
    /// Users beside the admin.
    pub users: Vec<User>,
    /// Who makes something the owner of an object has to be allowed to, as some distributions want it.
    pub strict_owners: bool,
}

/// A running control plane; its processes and files are gone when it is dropped or the rig's process ends.
pub struct Cluster {
    // Before the guard, whose end is the end of all that the node talks to.
    node: Option<Node>,
    guard: Guard,
    kubectl: PathBuf,
    helms: [PathBuf; 2],
    kubeconfig: PathBuf,
    controllers: bool,
    strict_owners: bool,
    users: Vec<User>,
    port: u16,
    etcd: u16,
    server: Server,
    ready_after: Duration,
}

impl Cluster {
    /// Starts etcd and kube-apiserver.
    pub fn start() -> Result<Self, Error> {
        Self::with(Options::default())
    }

    /// Starts what the options say.
    pub fn with(options: Options) -> Result<Self, Error> {
        let mut tries = 0;
        loop {
            tries += 1;
            match Self::attempt(&options, free_ports()?) {
                // Somebody took a port between our asking for a free one and the server's using it.
                Err(error) if error.port_taken() && tries < 5 => {}
                result => return result,
            }
        }
    }

    /// The cluster without controllers that all tests of a process share; each should work in namespaces of its own.
    pub fn shared() -> Result<&'static Self, &'static Error> {
        static SHARED: OnceLock<Result<Cluster, Error>> = OnceLock::new();
        SHARED.get_or_init(Cluster::start).as_ref()
    }

    fn attempt(options: &Options, ports: [u16; 4]) -> Result<Self, Error> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("podium-cluster-{}-{number}", std::process::id()));
        let guard = Guard::new(folder)?;
        let [etcd, peer, port, manager] = ports;
        let admin = User {
            name: ADMIN.to_owned(),
            token: "token-of-admin".to_owned(),
            groups: vec!["system:masters".to_owned()],
        };
        let users = std::iter::once(admin).chain(options.users.iter().cloned()).collect();
        let mut cluster = Cluster {
            node: None,
            kubeconfig: kubeconfig(guard.folder(), ADMIN),
            kubectl: tools::kubernetes("kubectl")?,
            helms: [tools::helm(Dialect::Helm3)?, tools::helm(Dialect::Helm4)?],
            guard,
            controllers: options.controllers,
            strict_owners: options.strict_owners,
            users,
            port,
            etcd,
            server: options.server.unwrap_or_else(Server::chosen),
            ready_after: Duration::ZERO,
        };
        let begin = Instant::now();
        if cluster.server == Server::Kubernetes {
            cluster.start_etcd(etcd, peer, options.durable)?;
        }
        cluster.write("tokens.csv", &token_file(&cluster.users))?;
        cluster.write("sa.key", &made("{{ genPrivateKey \"ecdsa\" }}", Vec::new())?)?;
        cluster.start_api()?;
        cluster.ready_after = begin.elapsed();
        if options.controllers {
            cluster.start_controllers(manager)?;
        } else if cluster.server == Server::Podium {
            // It brings the most necessary controllers along.
            cluster.wait("podium", || cluster.has_service_account("default"))?;
        } else {
            cluster.service_account("default")?;
        }
        if options.node {
            cluster.node = Some(Node::start(cluster.kubeconfig.clone())?);
        }
        Ok(cluster)
    }

    fn start_etcd(&self, port: u16, peer: u16, durable: bool) -> Result<(), Error> {
        let (here, peer) = (format!("http://127.0.0.1:{port}"), format!("http://127.0.0.1:{peer}"));
        self.spawn(
            "etcd",
            &[
                ("name", "rig"),
                ("data-dir", "etcd"),
                ("listen-client-urls", &here),
                ("advertise-client-urls", &here),
                ("listen-peer-urls", &peer),
                ("initial-advertise-peer-urls", &peer),
                ("initial-cluster", &format!("rig={peer}")),
                ("unsafe-no-fsync", if durable { "false" } else { "true" }),
                ("log-level", "error"),
            ],
        )?;
        self.wait("etcd", || connects(port))
    }

    /// Kills the API server; it is away until [`Cluster::start_api`].
    pub fn kill_api(&self) -> Result<(), Error> {
        self.guard.kill(self.api_name())
    }

    fn api_name(&self) -> &'static str {
        match self.server {
            Server::Kubernetes => "kube-apiserver",
            Server::Podium => "podium",
        }
    }

    /// Starts our own API server.
    fn start_podium(&self) -> Result<(), Error> {
        let mut command = tools::quiet_command(&tools::podium()?);
        command.env("HOME", self.guard.folder()).arg("up").arg("--no-stacks");
        command.args(["--data", "podium", "--token-file", "tokens.csv", "--port", &self.port.to_string()]);
        self.guard.spawn("podium", &mut command)?;
        self.wait("podium", || connects(self.port) && self.authority().is_file())?;
        self.write_kubeconfigs()?;
        self.wait("podium", || self.says_yes(&["get", "--raw", "/readyz"]))
    }

    /// Starts the API server, after it was killed also with the keys that it had.
    pub fn start_api(&self) -> Result<(), Error> {
        if self.server == Server::Podium {
            return self.start_podium();
        }
        let plugins = if self.strict_owners { "OwnerReferencesPermissionEnforcement" } else { "" };
        self.spawn(
            "kube-apiserver",
            &[
                ("etcd-servers", &format!("http://127.0.0.1:{}", self.etcd)),
                ("bind-address", "127.0.0.1"),
                ("advertise-address", "127.0.0.1"),
                ("secure-port", &self.port.to_string()),
                ("cert-dir", "tls"),
                ("token-auth-file", "tokens.csv"),
                ("service-account-issuer", "https://kubernetes.default.svc"),
                ("service-account-key-file", "sa.key"),
                ("service-account-signing-key-file", "sa.key"),
                ("service-cluster-ip-range", "10.96.0.0/16"),
                ("authorization-mode", "RBAC"),
                ("allow-privileged", "true"),
                ("enable-admission-plugins", plugins),
                // A loopback address is no valid endpoint: it would log an error at every sync.
                ("endpoint-reconciler-type", "none"),
            ],
        )?;
        // It writes its certificate before it listens.
        self.wait("kube-apiserver", || connects(self.port) && self.authority().is_file())?;
        self.write_kubeconfigs()?;
        self.wait("kube-apiserver", || self.says_yes(&["get", "--raw", "/readyz"]))
    }

    fn start_controllers(&self, port: u16) -> Result<(), Error> {
        self.spawn(
            "kube-controller-manager",
            &[
                ("kubeconfig", &self.kubeconfig().to_string_lossy()),
                ("leader-elect", "false"),
                ("bind-address", "127.0.0.1"),
                ("secure-port", &port.to_string()),
                ("cert-dir", "manager"),
                ("service-account-private-key-file", "sa.key"),
                ("root-ca-file", &self.authority().to_string_lossy()),
                ("use-service-account-credentials", "true"),
                // All controllers ask for their credentials at once: held back, they need seconds.
                ("kube-api-qps", "1000"),
                ("kube-api-burst", "1000"),
                // It would declare a node lost that sends no signs of life.
                ("controllers", "*,-node-lifecycle-controller"),
            ],
        )?;
        self.wait("kube-controller-manager", || self.has_service_account("default"))
    }

    fn spawn(&self, name: &'static str, flags: &[(&str, &str)]) -> Result<(), Error> {
        let mut command = tools::quiet_command(&tools::kubernetes(name)?);
        command.env("HOME", self.guard.folder());
        command.args(flags.iter().map(|(flag, value)| format!("--{flag}={value}")));
        self.guard.spawn(name, &mut command)
    }

    fn wait(&self, name: &'static str, ready: impl Fn() -> bool) -> Result<(), Error> {
        let begin = Instant::now();
        let fail = |name, reason: String| Err(Error::Server { name, reason, log: self.guard.tail(name) });
        loop {
            // In this order: what answers in place of a server that has died is somebody else's. And all are
            // looked at: a server may find its port taken only after we have spoken to who took it.
            let answered = ready();
            if let Some(name) = self.guard.ended() {
                return fail(name, "it ended".to_owned());
            }
            if answered {
                return Ok(());
            }
            if begin.elapsed() > PATIENCE {
                return fail(name, format!("not ready after {} s", PATIENCE.as_secs()));
            }
            // Not more often: asking may cost a process, which takes its time from the server that starts.
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Where the API server listens.
    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// The admin's bearer token.
    pub fn token(&self) -> &str {
        self.users.first().map(|user| user.token.as_str()).unwrap_or_default()
    }

    /// The file with the certificates that the API server is to be trusted by, PEM.
    pub fn authority(&self) -> PathBuf {
        self.guard.folder().join(match self.server {
            Server::Kubernetes => "tls/apiserver.crt",
            Server::Podium => "podium/keys/ca.crt",
        })
    }

    /// The admin's kubeconfig.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// The kubeconfig of a user of the options.
    pub fn kubeconfig_of(&self, user: &str) -> PathBuf {
        kubeconfig(self.folder(), user)
    }

    /// The folder of this cluster, for files that shall vanish with it.
    pub fn folder(&self) -> &Path {
        self.guard.folder()
    }

    /// How long the servers took until they were ready.
    pub fn ready_after(&self) -> Duration {
        self.ready_after
    }

    /// The process ids of the servers.
    pub fn ids(&self) -> Vec<u32> {
        self.guard.ids()
    }

    /// `kubectl` as the admin; set KUBECONFIG to be another user.
    pub fn kubectl(&self) -> Command {
        client(self.folder(), &self.kubectl, "kubectl")
    }

    /// Any other client as the admin, with a home folder of that name.
    pub fn client(&self, program: &Path, home: &str) -> Command {
        client(self.folder(), program, home)
    }

    /// `helm` as the admin; set KUBECONFIG to be another user.
    pub fn helm(&self, dialect: Dialect) -> Command {
        let [three, four] = &self.helms;
        let home = dialect.to_string();
        let mut command = client(self.folder(), if dialect == Dialect::Helm3 { three } else { four }, &home);
        for name in ["CACHE", "CONFIG", "DATA"] {
            let place = self.guard.folder().join(&home).join(name.to_lowercase());
            command.env(format!("HELM_{name}_HOME"), place);
        }
        command
    }

    /// Creates a namespace with its `default` ServiceAccount, without which no pod is accepted in it.
    pub fn namespace(&self, name: &str) -> Result<(), Error> {
        run(self.kubectl().args(["create", "namespace", name]))?;
        self.service_account(name)
    }

    /// Waits until the server serves what a definition defines.
    pub fn established(&self, definition: &str) -> Result<(), Error> {
        let wait = ["wait", "--for=condition=Established", "--timeout=60s", "crd", definition];
        let begin = Instant::now();
        loop {
            match run(self.kubectl().args(wait)) {
                // kubectl does not wait for a definition whose conditions are still null.
                Err(Error::Command { message, .. })
                    if message.contains("accessor error") && begin.elapsed() < PATIENCE =>
                {
                    std::thread::sleep(Duration::from_millis(50));
                }
                answer => return answer.map(drop),
            }
        }
    }

    /// Makes the ServiceAccount that the controller manager would make, or waits until it has.
    fn service_account(&self, namespace: &str) -> Result<(), Error> {
        let begin = Instant::now();
        loop {
            let result = if self.controllers || self.server == Server::Podium {
                run(self.kubectl().args(["get", "serviceaccount", "default", "-n", namespace]))
            } else {
                run(self.kubectl().args(["create", "serviceaccount", "default", "-n", namespace]))
            };
            match result {
                // The namespace `default` itself is made soon after the server is ready.
                Err(_) if begin.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(50)),
                result => return result.map(drop),
            }
        }
    }

    fn has_service_account(&self, namespace: &str) -> bool {
        self.says_yes(&["get", "serviceaccount", "default", "-n", namespace])
    }

    fn says_yes(&self, args: &[&str]) -> bool {
        run(self.kubectl().args(args)).is_ok()
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Error> {
        let path = self.guard.folder().join(name);
        std::fs::write(&path, text).map_err(Error::io(&path))
    }

    fn write_kubeconfigs(&self) -> Result<(), Error> {
        let authority = self.authority();
        let authority = std::fs::read(&authority).map_err(Error::io(&authority))?;
        let authority = made("{{ .Files.Get \"data\" | b64enc }}", authority)?;
        for User { name, token, .. } in &self.users {
            let cluster = json!({ "server": self.url(), "certificate-authority-data": authority });
            let context = json!({ "cluster": "rig", "user": name, "namespace": "default" });
            let config = json!({
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{ "name": "rig", "cluster": cluster }],
                "users": [{ "name": name, "user": { "token": token } }],
                "contexts": [{ "name": "rig", "context": context }],
                "current-context": "rig",
            });
            self.write(&format!("{name}.kubeconfig"), &config.to_string())?;
        }
        Ok(())
    }
}

/// Runs a command to its end; its output when it succeeds, its complaint when not.
pub fn run(command: &mut Command) -> Result<String, Error> {
    let fail =
        |command: &Command, message: String| Error::Command { command: format!("{command:?}"), message };
    match command.output() {
        Ok(Output { status, stdout, .. }) if status.success() => {
            Ok(String::from_utf8_lossy(&stdout).into_owned())
        }
        Ok(output) => Err(fail(command, String::from_utf8_lossy(&output.stderr).trim().to_owned())),
        Err(error) => Err(fail(command, error.to_string())),
    }
}

/// Ports of etcd (two), the API server and the controller manager that are free now: all are held until the last is known.
fn free_ports() -> Result<[u16; 4], Error> {
    let mut held = Vec::new();
    let mut ports = [0; 4];
    for port in &mut ports {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(Error::io("127.0.0.1"))?;
        *port = listener.local_addr().map_err(Error::io("127.0.0.1"))?.port();
        held.push(listener);
    }
    Ok(ports)
}

fn connects(port: u16) -> bool {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok()
}

fn token_file(users: &[User]) -> String {
    let mut text = String::new();
    for User { name, token, groups } in users {
        let _ = writeln!(text, "{token},{name},{name},\"{}\"", groups.join(","));
    }
    text
}

/// What our own template functions make of some data.
fn made(template: &str, data: Vec<u8>) -> Result<String, Error> {
    let request = RenderRequest::chart(vec![
        File::new("Chart.yaml", "apiVersion: v2\nname: made\nversion: 1.0.0\n"),
        File::new("data", data),
        File::new("templates/made", template),
    ]);
    match Podium.render(&request) {
        Outcome::Files(files) => {
            Ok(String::from_utf8_lossy(&files.into_values().next().unwrap_or_default()).into_owned())
        }
        other => Err(Error::Template(other.to_string())),
    }
}

/// A client as the admin, with a home folder of its own, so that nothing of the machine's user leaks in.
fn client(folder: &Path, program: &Path, home: &str) -> Command {
    let mut command = tools::quiet_command(program);
    command.env("KUBECONFIG", kubeconfig(folder, ADMIN)).env("HOME", folder.join(home)).stdin(Stdio::null());
    command
}

fn kubeconfig(folder: &Path, user: &str) -> PathBuf {
    folder.join(format!("{user}.kubeconfig"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[ignore = "needs the pinned originals: make tools"]
    fn a_port_that_somebody_took_is_seen_for_what_it_is() {
        for taken in 0..4 {
            let ports = free_ports().unwrap();
            let _somebody = TcpListener::bind((Ipv4Addr::LOCALHOST, ports[taken])).unwrap();
            let result = Cluster::attempt(&Options { controllers: true, ..Options::default() }, ports);
            let error = result.err().map(|error| (error.port_taken(), error.to_string()));
            assert!(matches!(error, Some((true, _))), "port {taken}: {error:?}");
        }
    }
}
