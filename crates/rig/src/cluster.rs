//! A Kubernetes control plane on loopback: our own API server, or the upstream programs.
//!
//! ```text
//!          podium up  ─┐    ┌─ workload controllers      (Options::controllers)
//!                      ├──<─┼─ a node that runs nothing  (Options::node)
//! etcd, kube-apiserver ─┘   ├─ the admin client          (Cluster::admin)
//!                           └─ kubectl, helm             (Cluster::kubectl, Cluster::helm)
//! ```
//!
//! On our own API server nothing but `podium` is needed: the rig plays the workload controllers and the node itself, and
//! `kubectl` and `helm` are looked for only by a test that asks for them.

pub mod admin;
mod background;
mod guard;
pub mod node;
mod options;
pub mod workloads;

use std::fmt::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::podium::Podium;
use crate::request::{Dialect, File, Outcome, RenderRequest};
use crate::subject::Subject;
use crate::tools;

use admin::Admin;
use background::Background;
use guard::Guard;
pub use options::{Controllers, Options, Server, User};

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
    /// The admin's request failed.
    #[error(transparent)]
    Api(#[from] podium_client::Error),
    /// The server has no resource of this name.
    #[error("the server doesn't have a resource type {0:?}")]
    UnknownResource(String),
    /// The node or the workload controllers could not be started.
    #[error("a thread of the cluster did not start: {0}")]
    Background(String),
}

impl Error {
    fn io(path: impl AsRef<Path>) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.as_ref().to_owned();
        move |source| Error::Io { path, source }
    }

    fn port_taken(&self) -> bool {
        let taken = ["address already in use", "Address already in use"];
        matches!(self, Error::Server { log, .. } if taken.iter().any(|words| log.contains(words)))
    }

    /// The HTTP status with which the API server refused the admin's request.
    pub fn code(&self) -> Option<u16> {
        match self {
            Error::Api(error) => error.status().map(|status| status.code),
            _ => None,
        }
    }
}

/// A running control plane; its processes and files are gone when it is dropped or the rig's process ends.
pub struct Cluster {
    // Before the guard, which ends the servers that these talk to.
    background: Vec<Background>,
    admin: Admin,
    guard: Guard,
    kubeconfig: PathBuf,
    controllers: Controllers,
    strict_owners: bool,
    users: Vec<User>,
    port: u16,
    etcd: u16,
    server: Server,
    ready_after: Duration,
}

impl Cluster {
    /// Starts the chosen API server.
    pub fn start() -> Result<Self, Error> {
        Self::with(Options::default())
    }

    /// Starts etcd and kube-apiserver.
    pub fn upstream() -> Result<Self, Error> {
        Self::with(Options { server: Some(Server::Kubernetes), ..Options::default() })
    }

    /// Starts what the options say.
    pub fn with(options: Options) -> Result<Self, Error> {
        let mut tries = 0;
        loop {
            tries += 1;
            match Self::attempt(&options, free_ports()?) {
                // Another process took a port after it was found free and before the server used it.
                Err(error) if error.port_taken() && tries < 5 => {}
                result => return result,
            }
        }
    }

    /// The cluster without controllers that all tests of a process share; each should work in namespaces of its own.
    pub fn shared() -> Result<&'static Self, &'static Error> {
        Self::shared_on(Server::chosen())
    }

    /// The shared cluster for tests that compare with the upstream API server.
    pub fn shared_upstream() -> Result<&'static Self, &'static Error> {
        Self::shared_on(Server::Kubernetes)
    }

    fn shared_on(server: Server) -> Result<&'static Self, &'static Error> {
        static SHARED: [OnceLock<Result<Cluster, Error>>; 2] = [OnceLock::new(), OnceLock::new()];
        let [ours, upstream] = &SHARED;
        let shared = if server == Server::Podium { ours } else { upstream };
        let start = || Self::with(Options { server: Some(server), ..Options::default() });
        shared.get_or_init(start).as_ref()
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
        let kubeconfig = kubeconfig(guard.folder(), ADMIN);
        let mut cluster = Cluster {
            background: Vec::new(),
            admin: Admin::new(kubeconfig.clone()),
            kubeconfig,
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
        match (options.controllers, cluster.server) {
            (Controllers::Upstream, _) | (Controllers::Workloads, Server::Kubernetes) => {
                cluster.start_controller_manager(manager)?;
            }
            (Controllers::Workloads, Server::Podium) => {
                cluster.background.push(workloads::start(cluster.kubeconfig.clone())?);
            }
            (Controllers::None, _) => {}
        }
        cluster.service_account("default")?;
        if options.node {
            cluster.background.push(node::start(cluster.kubeconfig.clone())?);
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
        self.wait("podium", || self.admin.is_ready())
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
        self.wait("kube-apiserver", || self.admin.is_ready())
    }

    fn start_controller_manager(&self, port: u16) -> Result<(), Error> {
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
            // In this order: what answers in place of a server that has died is another process. And all servers are
            // checked: one may find its port taken only after another process has answered there.
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
            std::thread::sleep(Duration::from_millis(20));
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

    /// Whose API server it is.
    pub fn server(&self) -> Server {
        self.server
    }

    /// The admin's client, for what a test does to the cluster itself.
    pub fn admin(&self) -> &Admin {
        &self.admin
    }

    /// `kubectl` as the admin; set KUBECONFIG to be another user.
    pub fn kubectl(&self) -> Command {
        client(self.folder(), &tools::path("kubectl"), "kubectl")
    }

    /// Any other client as the admin, with a home folder of that name.
    pub fn client(&self, program: &Path, home: &str) -> Command {
        client(self.folder(), program, home)
    }

    /// `podium` as the admin; set KUBECONFIG to be another user.
    pub fn podium(&self) -> Result<Command, Error> {
        Ok(client(self.folder(), &tools::podium()?, "home"))
    }

    /// The client of a user who works on the same releases: `helm` of a major version on the upstream API server, and on
    /// ours `podium release` with the templates of that version.
    pub fn release(&self, dialect: Dialect, args: &[&str]) -> Result<Command, Error> {
        if self.server == Server::Kubernetes {
            let mut command = self.helm(dialect);
            command.args(args);
            return Ok(command);
        }
        let mut command = self.podium()?;
        command.arg("release").args(args);
        if matches!(args.first(), Some(&("install" | "upgrade"))) {
            command.args(["--helm-version", dialect.major()]);
        }
        Ok(command)
    }

    /// `helm` as the admin; set KUBECONFIG to be another user.
    pub fn helm(&self, dialect: Dialect) -> Command {
        let home = dialect.to_string();
        let mut command = client(self.folder(), &tools::path(tools::helm_name(dialect)), &home);
        for name in ["CACHE", "CONFIG", "DATA"] {
            let place = self.guard.folder().join(&home).join(name.to_lowercase());
            command.env(format!("HELM_{name}_HOME"), place);
        }
        command
    }

    /// Creates a namespace with its `default` ServiceAccount, without which no pod is accepted in it.
    pub fn namespace(&self, name: &str) -> Result<(), Error> {
        let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        self.admin.create("", &body)?;
        self.service_account(name)
    }

    /// Waits until the server serves what a CustomResourceDefinition defines.
    pub fn established(&self, definition: &str) -> Result<(), Error> {
        let established = |c: &Value| c["type"] == "Established" && c["status"] == "True";
        self.wait(self.api_name(), || {
            let found = self.admin.find("customresourcedefinitions", "", definition).ok().flatten();
            let conditions = found.and_then(|mut crd| Some(crd.pointer_mut("/status/conditions")?.take()));
            conditions.is_some_and(|all| all.as_array().is_some_and(|all| all.iter().any(established)))
        })
    }

    /// Waits until the `default` ServiceAccount of a namespace exists; without a controller for it, creates it.
    fn service_account(&self, namespace: &str) -> Result<(), Error> {
        let controlled = self.controllers != Controllers::None || self.server == Server::Podium;
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}});
        self.wait(self.api_name(), || {
            // The namespace `default` itself is created soon after the server is ready.
            if controlled {
                self.has_service_account(namespace)
            } else {
                self.admin.create(namespace, &account).is_ok()
            }
        })
    }

    fn has_service_account(&self, namespace: &str) -> bool {
        matches!(self.admin.find("serviceaccounts", namespace, "default"), Ok(Some(_)))
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

/// Runs a command to its end and returns its output; what it wrote to standard error is the error when it fails.
pub fn run(command: &mut Command) -> Result<String, Error> {
    let fail =
        |command: &Command, message: String| Error::Command { command: format!("{command:?}"), message };
    match command.output() {
        Ok(Output { status, stdout, .. }) if status.success() => {
            Ok(String::from_utf8_lossy(&stdout).into_owned())
        }
        Ok(output) => Err(fail(command, String::from_utf8_lossy(&output.stderr).trim().to_owned())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(tools::Error::Missing(command.get_program().into()).into())
        }
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
    #[ignore = "compares with upstream programs: make tools"]
    fn recognizes_a_port_taken_by_another_process() {
        let server = Some(Server::Kubernetes);
        let options = Options { server, controllers: Controllers::Upstream, ..Options::default() };
        for taken in 0..4 {
            let ports = free_ports().unwrap();
            let _other = TcpListener::bind((Ipv4Addr::LOCALHOST, ports[taken])).unwrap();
            let error = Cluster::attempt(&options, ports).err();
            let error = error.map(|error| (error.port_taken(), error.to_string()));
            assert!(matches!(error, Some((true, _))), "port {taken}: {error:?}");
        }
    }
}
