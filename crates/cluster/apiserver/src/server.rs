//! A server that listens: its directory, its keys, its store, and what keeps it in order.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use podium_rbac::User;
use podium_rbac::token::{Fixed, Issuer};
use podium_serve::tls::{self, TlsIdentity};
use podium_serve::{ConnectionLimits, Server, server};
use podium_store::Store;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::api::Api;
use crate::guard::Guard;
use crate::home::{self, Home};
use crate::{establish, expire, start};

/// Who signs tokens.
const ISSUER: &str = "https://kubernetes.default.svc";

/// How a server is run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Its directory.
    pub home: PathBuf,
    /// Where it listens, such as `127.0.0.1:6443`; port 0 is any.
    pub address: String,
    /// Names and addresses that it is reached by beside those of this machine.
    pub hosts: Vec<String>,
    /// Users that are known by a token.
    pub users: Vec<(String, User)>,
    /// How the store is run.
    pub store: podium_store::Options,
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Its directory cannot be used.
    #[error(transparent)]
    Home(#[from] home::Error),
    /// Its store cannot be used.
    #[error(transparent)]
    Store(#[from] podium_store::Error),
    /// It cannot listen.
    #[error(transparent)]
    Listen(#[from] server::Error),
    /// Its certificate cannot be used.
    #[error(transparent)]
    Identity(#[from] tls::Error),
    /// What every cluster has could not be made.
    #[error("the cluster could not be prepared: {0}")]
    Prepare(String),
}

/// A server that runs; it ends when it is told to, or when this is dropped.
pub struct Running {
    /// The server.
    pub api: Api,
    /// Where it listens.
    pub address: SocketAddr,
    /// Its address for clients.
    pub url: String,
    /// How the administrator reaches it.
    pub kubeconfig: PathBuf,
    /// The certificate that clients trust, PEM.
    pub authority: String,
    stop: watch::Sender<bool>,
    tasks: Vec<JoinHandle<()>>,
}

impl Running {
    /// Ends it: requests that are being answered are finished.
    pub async fn stop(mut self) {
        let _ = self.stop.send(true);
        for task in self.tasks.drain(..) {
            let _ = task.await;
        }
    }
}

/// Many clients, each with many watches; none is sent away for being idle.
fn limits() -> ConnectionLimits {
    ConnectionLimits {
        max_connections: 20_000,
        max_header_bytes: 1 << 20,
        max_headers: 200,
        header_read_timeout: Duration::from_secs(120),
        max_connection_age: Duration::from_secs(u32::MAX.into()),
        shutdown_timeout: Duration::from_secs(2),
    }
}

/// Starts a server.
pub async fn run(options: Options) -> Result<Running, Error> {
    let home = Home::open(&options.home)?;
    let server = Server::bind(&options.address, limits()).await?;
    let address = server.local_addr().unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 0)));
    let mut hosts = vec![
        "127.0.0.1",
        "::1",
        "localhost",
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
        "10.96.0.1",
    ];
    hosts.extend(options.hosts.iter().map(String::as_str));
    let own = address.ip().to_string();
    if !address.ip().is_unspecified() && !hosts.contains(&own.as_str()) {
        hosts.push(&own);
    }
    let issued = home.server(&hosts)?;
    let authority = home.authority();
    let identity = TlsIdentity::with_client_ca(
        issued.to_pem().as_bytes(),
        issued.key.to_pem().as_bytes(),
        Some(authority.as_bytes()),
    )?;
    let store = Store::open(home.store(), options.store)?;
    let mut fixed = Fixed::default();
    for (token, user) in options.users {
        fixed.add(&token, user);
    }
    let guard = Guard::new(&store, fixed, Issuer::new(ISSUER, home.tokens()?));
    let api = Api::new(store, guard);
    start::bootstrap(&api).await.map_err(|refusal| Error::Prepare(refusal.message))?;
    let host = if address.ip().is_unspecified() { "127.0.0.1".to_owned() } else { own.clone() };
    let host = if host.contains(':') { format!("[{host}]") } else { host };
    let url = format!("https://{host}:{}", address.port());
    let kubeconfig = home.write_kubeconfig(&url)?;
    let (stop, stopped) = watch::channel(false);
    let ended = |mut stopped: watch::Receiver<bool>| async move {
        let _ = stopped.wait_for(|stop| *stop).await;
    };
    let serving = {
        let api = api.clone();
        server.with_tls(identity).run(move |request| api.clone().answer(request), ended(stopped.clone()))
    };
    let establishing = {
        let (api, end) = (api.clone(), ended(stopped));
        async move {
            tokio::select! {
                () = establish::run(&api) => {}
                () = expire::run(&api) => {}
                () = end => {}
            }
        }
    };
    let tasks = vec![tokio::spawn(serving), tokio::spawn(establishing)];
    Ok(Running { api, address, url, kubeconfig, authority, stop, tasks })
}
