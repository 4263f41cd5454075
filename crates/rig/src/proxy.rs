//! A proxy between a process and the API server that injects faults by a plan.
//!
//! ```text
//! process ── HTTP ──> Proxy (Plan: the n-th write, read, event) ── TLS, token ──> kube-apiserver
//!    ▲                  │
//!    └──── kill -9 ─────┘
//! ```
//!
//! At the n-th write the process is killed (before it, after it, or with its response lost), the response alone is lost, or the
//! server rejects the write. Reads are answered from an old state, also that an object does not exist: therefore Podium
//! reads an object again, by an empty dry-run patch, before it treats it as deleted or gives it up. Watch events
//! are delayed, lost, or end their stream.
//!
//! - `tests/faults.rs` runs every scenario that writes, by the operator and by command, first without faults and then with a plan for
//!   every write and with random plans: the end state has to be the same, object by object and field by field, with one
//!   deployed revision and nothing pending.
//! - `tests/fuzz_resources.rs` edits custom resources and their objects at random: after each edit the cluster equals the render,
//!   or the status says why not, and going back to the first spec gives the first state.
//!
//! Both print how much they did: hundreds of plans with `make test-real`, thousands with `make soak`. A plan that fails is printed
//! with its run; `PODIUM_RUN` runs one run alone, `PODIUM_SEED` chooses others.

mod plan;

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST};
use http::{HeaderValue, Request, Response, Uri};
use http_body_util::channel::{Channel, Sender};
use http_body_util::{BodyExt, Either, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

pub use plan::{Answer, Blow, Cut, Faults, Plan, Sort};

use crate::cluster::Cluster;

/// How long a process that has to die after an answer may go on when it asks for nothing else.
const LAST: Duration = Duration::from_millis(60);
/// How long a stream stays open after an event was lost.
const LATE: Duration = Duration::from_millis(150);

/// Why there is no proxy.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file, a port or a program cannot be used.
    #[error("{what}: {source}")]
    Io {
        /// Which.
        what: String,
        /// Why.
        source: std::io::Error,
    },
    /// The server's certificate cannot be used.
    #[error("the certificate of the API server: {0}")]
    Certificate(String),
}

impl Error {
    fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Error::Io { what, source }
    }
}

pub(crate) type Upstream = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;
type Body = Either<Full<Bytes>, Channel<Bytes, Gone>>;

/// The connection ends without an answer.
#[derive(Debug, thiserror::Error)]
#[error("the connection is cut")]
struct Gone;

/// Where the real server is, and who asks.
#[derive(Clone, Debug)]
struct Target {
    url: String,
    token: String,
}

#[derive(Default)]
struct State {
    faults: Faults,
    /// The process that is to be killed.
    process: Option<Child>,
    /// The number of the process: connections of those before it are dead.
    age: usize,
    /// It hears nothing any more.
    doomed: bool,
    /// All that was asked, with the status of the answer.
    asked: BTreeSet<Asked>,
    /// Writes that are under way, and those that were so at the same time as another one.
    underway: Vec<String>,
    together: BTreeSet<(String, String)>,
}

/// A request: its method, its address, and the status of its answer.
pub type Asked = (String, String, u16);

impl State {
    fn kill(&mut self) {
        self.doomed = true;
        if let Some(process) = &mut self.process {
            let _ = process.kill();
        }
    }
}

struct Shared {
    state: Mutex<State>,
    target: Target,
    upstream: Upstream,
}

/// A proxy with a thread of its own, and the process that talks through it.
pub struct Proxy {
    shared: Arc<Shared>,
    port: u16,
    kubeconfig: PathBuf,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Proxy {
    /// Stands before a cluster, as its admin.
    pub fn start(cluster: &Cluster) -> Result<Self, Error> {
        let target = Target { url: cluster.url(), token: cluster.token().to_owned() };
        Self::before(target, Some(&cluster.authority()), cluster.folder())
    }

    /// Stands before a cluster, as whoever has a token.
    pub fn of_user(cluster: &Cluster, token: &str) -> Result<Self, Error> {
        let target = Target { url: cluster.url(), token: token.to_owned() };
        Self::before(target, Some(&cluster.authority()), cluster.folder())
    }

    /// Everything that was asked so far, each once.
    pub fn asked(&self) -> BTreeSet<Asked> {
        self.state().asked.clone()
    }

    /// The writes that were under way at the same time, each with another one that had begun before it.
    pub fn together(&self) -> BTreeSet<(String, String)> {
        self.state().together.clone()
    }

    fn before(target: Target, authority: Option<&Path>, folder: &Path) -> Result<Self, Error> {
        let listener =
            std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(Error::io("127.0.0.1"))?;
        listener.set_nonblocking(true).map_err(Error::io("127.0.0.1"))?;
        let port = listener.local_addr().map_err(Error::io("127.0.0.1"))?.port();
        let kubeconfig = folder.join(format!("proxy-{port}.kubeconfig"));
        std::fs::write(&kubeconfig, config(port)).map_err(Error::io(kubeconfig.to_string_lossy()))?;
        let shared = Arc::new(Shared { state: Mutex::default(), target, upstream: upstream(authority)? });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(Error::io("a runtime"))?;
        let (stop, stopped) = oneshot::channel();
        let of_thread = shared.clone();
        let thread = std::thread::spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = serve(listener, of_thread) => {}
                    _ = stopped => {}
                }
            });
            runtime.shutdown_background();
        });
        Ok(Proxy { shared, port, kubeconfig, stop: Some(stop), thread: Some(thread) })
    }

    /// Where it listens.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The kubeconfig of whoever shall talk through it.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.shared)
    }

    /// Lets this go wrong from now on; all numbers begin again.
    pub fn plan(&self, plan: Plan) {
        self.state().faults.set(plan);
    }

    /// Forgets all old answers.
    pub fn forget(&self) {
        self.state().faults.forget();
    }

    /// How many writes, reads of what was otherwise before, and events there were since the plan.
    pub fn numbers(&self) -> [usize; 3] {
        self.state().faults.numbers()
    }

    /// How often something went wrong since the plan.
    pub fn struck(&self) -> usize {
        self.state().faults.struck()
    }

    /// What was written, and what went wrong, since the plan.
    pub fn log(&self) -> Vec<String> {
        self.state().faults.log().to_vec()
    }

    /// Starts the process that a plan may kill; one that runs is killed first.
    pub fn run(&self, command: &mut Command) -> Result<(), Error> {
        self.kill();
        let mut state = self.state();
        let what = command.get_program().to_string_lossy().into_owned();
        state.process = Some(command.spawn().map_err(Error::io(what))?);
        state.age += 1;
        state.doomed = false;
        Ok(())
    }

    /// The id of the process, if there is one.
    pub fn id(&self) -> Option<u32> {
        self.state().process.as_ref().map(Child::id)
    }

    /// How the process has ended, if it has.
    pub fn ended(&self) -> Option<ExitStatus> {
        self.state().process.as_mut().and_then(|process| process.try_wait().ok()).flatten()
    }

    /// Kills the process, if there is one.
    pub fn kill(&self) {
        let process = {
            let mut state = self.state();
            state.kill();
            state.process.take()
        };
        if let Some(mut process) = process {
            let _ = process.wait();
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.kill();
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn lock(shared: &Shared) -> MutexGuard<'_, State> {
    shared.state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn config(port: u16) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: proxy\ncontexts:\n- {{name: proxy, context: {{cluster: proxy, user: \
         proxy}}}}\nclusters:\n- {{name: proxy, cluster: {{server: \"http://127.0.0.1:{port}\"}}}}\nusers:\n- {{name: proxy, \
         user: {{}}}}\n"
    )
}

pub(crate) fn upstream(authority: Option<&Path>) -> Result<Upstream, Error> {
    let wrong = |error: &dyn std::fmt::Display| Error::Certificate(error.to_string());
    let mut roots = rustls::RootCertStore::empty();
    if let Some(path) = authority {
        let pem = std::fs::read(path).map_err(Error::io(path.to_string_lossy()))?;
        for certificate in CertificateDer::pem_slice_iter(&pem) {
            roots.add(certificate.map_err(|e| wrong(&e))?).map_err(|e| wrong(&e))?;
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| wrong(&e))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connector = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().build();
    Ok(Client::builder(TokioExecutor::new()).build(connector))
}

async fn serve(listener: std::net::TcpListener, shared: Arc<Shared>) -> Option<Infallible> {
    let listener = TcpListener::from_std(listener).ok()?;
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        let shared = shared.clone();
        let age = lock(&shared).age;
        tokio::spawn(async move {
            let service = service_fn(|request| answer(shared.clone(), age, request));
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

/// Whether a process of some age may still be heard; what should be dead is killed.
fn heard(shared: &Shared, age: usize) -> Result<(), Gone> {
    let mut state = lock(shared);
    if state.age != age {
        return Err(Gone);
    }
    if state.doomed {
        state.kill();
        return Err(Gone);
    }
    Ok(())
}

/// A write, until it is answered.
struct Underway {
    shared: Arc<Shared>,
    what: String,
}

impl Underway {
    fn begin(shared: &Arc<Shared>, what: &str) -> Self {
        let mut state = lock(shared);
        let others: Vec<_> = state.underway.iter().map(|other| (other.clone(), what.to_owned())).collect();
        state.together.extend(others);
        state.underway.push(what.to_owned());
        Self { shared: shared.clone(), what: what.to_owned() }
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        let mut state = lock(&self.shared);
        if let Some(at) = state.underway.iter().position(|what| *what == self.what) {
            state.underway.swap_remove(at);
        }
    }
}

async fn answer(shared: Arc<Shared>, age: usize, request: Request<Incoming>) -> Result<Response<Body>, Gone> {
    heard(&shared, age)?;
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| Gone)?.to_bytes();
    let (path, query) = (parts.uri.path(), parts.uri.query().unwrap_or_default());
    let sort = Sort::of(&parts.method, path, query);
    let what = format!("{} {}", parts.method, parts.uri);
    let accept = parts.headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let place = format!("{what} {accept}");
    heard(&shared, age)?;
    let _underway = (sort == Sort::Write).then(|| Underway::begin(&shared, &what));
    let blow = (sort == Sort::Write).then(|| lock(&shared).faults.write(&what)).flatten();
    match blow {
        Some(Blow::KillBefore) => {
            lock(&shared).kill();
            return Err(Gone);
        }
        Some(Blow::Refuse(code)) => return Ok(whole(Answer::refusal(code))),
        _ => {}
    }
    let mut onward = Request::builder()
        .method(parts.method.clone())
        .uri(format!("{}{}", shared.target.url, parts.uri).parse::<Uri>().map_err(|_| Gone)?);
    if let Some(headers) = onward.headers_mut() {
        headers.extend(parts.headers.iter().map(|(name, value)| (name.clone(), value.clone())));
        // Bodies are read here: they have to come as they are, with the length that they have.
        for name in [HOST, ACCEPT_ENCODING, CONTENT_LENGTH] {
            headers.remove(name);
        }
        let bearer = HeaderValue::from_str(&format!("Bearer {}", shared.target.token)).map_err(|_| Gone)?;
        headers.insert(AUTHORIZATION, bearer);
    }
    let onward = onward.body(Full::new(body)).map_err(|_| Gone)?;
    let answer = shared.upstream.request(onward).await.map_err(|_| Gone)?;
    let asked = (parts.method.to_string(), parts.uri.to_string(), answer.status().as_u16());
    lock(&shared).asked.insert(asked);
    if sort == Sort::Watch && answer.status().is_success() {
        let (head, body) = answer.into_parts();
        let (sender, channel) = Channel::new(1);
        tokio::spawn(stream(shared, age, what, body, sender));
        return Ok(Response::from_parts(head, Either::Right(channel)));
    }
    let (head, body) = answer.into_parts();
    let media = head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let answer = Answer {
        status: head.status.as_u16(),
        media: media.to_owned(),
        body: body.collect().await.map_err(|_| Gone)?.to_bytes(),
    };
    heard(&shared, age)?;
    match (sort, blow) {
        (Sort::Read, _) => return Ok(whole(lock(&shared).faults.read(&place, answer))),
        (_, Some(Blow::KillLost)) => {
            lock(&shared).kill();
            return Err(Gone);
        }
        (_, Some(Blow::Lost)) => return Err(Gone),
        (_, Some(Blow::KillAfter)) => {
            lock(&shared).doomed = true;
            let shared = shared.clone();
            tokio::spawn(async move {
                tokio::time::sleep(LAST).await;
                let _ = heard(&shared, age);
            });
        }
        _ => {}
    }
    Ok(whole(answer))
}

fn whole(answer: Answer) -> Response<Body> {
    let mut response = Response::new(Either::Left(Full::new(answer.body)));
    *response.status_mut() = http::StatusCode::from_u16(answer.status).unwrap_or_default();
    if let Ok(media) = HeaderValue::from_str(&answer.media) {
        response.headers_mut().insert(CONTENT_TYPE, media);
    }
    response
}

/// Passes the events of a watch on, each as soon as it is whole.
async fn stream(
    shared: Arc<Shared>,
    age: usize,
    what: String,
    mut body: Incoming,
    mut to: Sender<Bytes, Gone>,
) {
    let mut rest = BytesMut::new();
    while let Some(Ok(frame)) = body.frame().await {
        let Ok(piece) = frame.into_data() else { continue };
        rest.extend_from_slice(&piece);
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let line = rest.split_to(end + 1).freeze();
            if heard(&shared, age).is_err() {
                return to.abort(Gone);
            }
            let bookmark = line.starts_with(br#"{"type":"BOOKMARK""#);
            let cut = if bookmark { None } else { lock(&shared).faults.event(&what) };
            match cut {
                Some(Cut::Break) => return to.abort(Gone),
                Some(Cut::Delay(time)) => tokio::time::sleep(time).await,
                Some(Cut::Lose) => {
                    tokio::time::sleep(LATE).await;
                    let status = Answer::refusal(410).body;
                    let status = String::from_utf8_lossy(&status).into_owned();
                    let _ =
                        to.send_data(format!("{{\"type\":\"ERROR\",\"object\":{status}}}\n").into()).await;
                    return;
                }
                None => {}
            }
            if to.send_data(line).await.is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests;
