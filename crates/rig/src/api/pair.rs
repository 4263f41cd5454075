//! The two servers.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use podium_apiserver::{Options, Running, User, run};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::wire::{self, Answer, Request, Server, Stream};
use crate::cluster::{self, Cluster};

/// Why the two servers are not there.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The real one.
    #[error(transparent)]
    Cluster(#[from] cluster::Error),
    /// A client of one of them.
    #[error(transparent)]
    Wire(#[from] wire::Error),
    /// Ours.
    #[error("our server did not start: {0}")]
    Ours(String),
}

/// The real server and ours.
pub struct Pair {
    /// The real one.
    pub real: Server,
    /// Ours.
    pub ours: Server,
    runtime: Runtime,
    _running: Running,
    _cluster: Cluster,
}

impl Pair {
    /// Starts both.
    pub fn start() -> Result<Self, Error> {
        let options = cluster::Options { server: Some(cluster::Server::Kubernetes), ..Default::default() };
        let cluster = Cluster::with(options)?;
        let real = Server::new(cluster.url(), cluster.token(), Some(&cluster.authority()))?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .map_err(|error| Error::Ours(error.to_string()))?;
        let running = runtime.block_on(our_server(&cluster))?;
        let authority = cluster.folder().join("ours.crt");
        std::fs::write(&authority, &running.authority).map_err(|error| Error::Ours(error.to_string()))?;
        let ours = Server::new(running.url.clone(), cluster.token(), Some(&authority))?;
        let pair = Self { real, ours, runtime, _running: running, _cluster: cluster };
        // The real one has made its own while it started.
        pair.ours(&Request::post("/api/v1/namespaces/default/serviceaccounts", default_account()))?;
        Ok(pair)
    }

    /// The pair that all tests of a process share; each should work in namespaces of its own.
    pub fn shared() -> Result<&'static Self, &'static Error> {
        static SHARED: OnceLock<Result<Pair, Error>> = OnceLock::new();
        SHARED.get_or_init(Pair::start).as_ref()
    }

    /// Asks the real one.
    pub fn real(&self, request: &Request) -> Result<Answer, wire::Error> {
        self.runtime.block_on(self.real.ask(request))
    }

    /// Asks ours.
    pub fn ours(&self, request: &Request) -> Result<Answer, wire::Error> {
        self.runtime.block_on(self.ours.ask(request))
    }

    /// Asks both at the same time.
    pub fn both(&self, real: &Request, ours: &Request) -> Result<[Answer; 2], wire::Error> {
        self.runtime.block_on(async {
            let (real, ours) = tokio::join!(self.real.ask(real), self.ours.ask(ours));
            Ok([hung_up(real), hung_up(ours)])
        })
    }

    /// Hears both.
    pub fn hear(&self, real: &Request, ours: &Request) -> Result<[Stream; 2], wire::Error> {
        self.runtime.block_on(async {
            let (real, ours) = tokio::join!(self.real.hear(real), self.ours.hear(ours));
            Ok([real?, ours?])
        })
    }

    /// Waits until both streams have the same number of lines for a while, or it takes too long.
    pub fn settle(&self, streams: &[Stream; 2], least: usize) {
        let begin = Instant::now();
        let mut since = Instant::now();
        let mut last = [(0, false); 2];
        while begin.elapsed() < LONG {
            let now = [streams[0].count(), streams[1].count()];
            if now != last {
                (last, since) = (now, Instant::now());
            }
            let alike = now[0].0 == now[1].0 && now[0].0 >= least;
            if alike && since.elapsed() > QUIET || now[0].1 && now[1].1 {
                return;
            }
            std::thread::sleep(Duration::from_millis(3));
        }
    }

    /// Makes a namespace in which pods are accepted.
    pub fn namespace(&self, name: &str) -> Result<(), wire::Error> {
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let request = Request::post("/api/v1/namespaces", object);
        self.both(&request, &request)?;
        let request = Request::post(format!("/api/v1/namespaces/{name}/serviceaccounts"), default_account());
        self.both(&request, &request)?;
        Ok(())
    }
}

/// No answer is one without a status: a server that falls over is found out, and the run goes on.
fn hung_up(answer: Result<Answer, wire::Error>) -> Answer {
    answer.unwrap_or_else(|error| Answer { text: error.to_string(), ..Answer::default() })
}

/// How long events are waited for.
const LONG: Duration = Duration::from_millis(1500);
/// How long nothing more comes.
const QUIET: Duration = Duration::from_millis(25);

fn default_account() -> Value {
    json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}})
}

/// Ours, without controllers, as the real one has none here.
async fn our_server(cluster: &Cluster) -> Result<Running, Error> {
    let admin = User::new("admin", &["system:masters"]);
    let options = Options {
        home: cluster.folder().join("ours"),
        address: "127.0.0.1:0".to_owned(),
        hosts: Vec::new(),
        users: vec![(cluster.token().to_owned(), admin)],
        store: podium_store::Options::default(),
    };
    run(options).await.map_err(|error| Error::Ours(error.to_string()))
}
