//! `podium registry serve`.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use clap::ArgMatches;
use podium_oci::registry::htpasswd::Htpasswd;
use podium_oci::registry::store::{self, Store};
use podium_oci::registry::{Registry, server_limits};
use podium_serve::Server;
use podium_serve::server::Error;
use podium_serve::tls::TlsIdentity;

use crate::flag::{on, one};
use crate::image::size;
use crate::local::home::Home;
use crate::output::{complain, print};

const ADDRESS: &str = "127.0.0.1:5000";
/// What nothing needs may be about to be named: so long it stays.
const GARBAGE: u64 = 3600;

/// Serves until it is told to end.
pub fn run(matches: &ArgMatches) -> Result<()> {
    let folder = match one(matches, "data") {
        Some(folder) => PathBuf::from(folder),
        None => Home::of(matches)?.root.join("registry"),
    };
    let read = |flag: &str| match one(matches, flag) {
        Some(file) => fs::read(file).map_err(|e| anyhow!("--{flag} {file}: {e}")).map(Some),
        None => Ok(None),
    };
    let identity = match (read("tls-cert")?, read("tls-key")?) {
        (Some(certificate), Some(key)) => Some(TlsIdentity::new(&certificate, &key)?),
        (None, None) => None,
        _ => bail!("--tls-cert and --tls-key: write both, or none"),
    };
    let htpasswd = match read("htpasswd")? {
        Some(text) => {
            Some(Htpasswd::parse(&String::from_utf8_lossy(&text)).map_err(|e| anyhow!("--htpasswd: {e}"))?)
        }
        None => None,
    };
    let age = one(matches, "garbage-after").map_or(Ok(GARBAGE), str::parse);
    let age = age.context("--garbage-after: write a number of seconds")?;
    let address = one(matches, "listen").unwrap_or(ADDRESS);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let store = Store::open_exclusive(&folder, true).map_err(|error| match error {
            store::Error::InUse(_) => anyhow!("{error}: choose another folder with --data"),
            other => other.into(),
        })?;
        let store = Arc::new(store);
        let mut registry = Registry::new(store.clone());
        let open = htpasswd.is_none();
        if let Some(htpasswd) = htpasswd {
            registry = registry.with_htpasswd(htpasswd);
        }
        if on(matches, "read-only") {
            registry = registry.read_only();
        }
        let mut server = Server::bind(address, server_limits()).await.map_err(|error| match error {
            Error::Listen { address, source } if source.kind() == std::io::ErrorKind::AddrInUse => {
                anyhow!("{address} is taken by another program: choose another address with --listen HOST:PORT")
            }
            other => other.into(),
        })?;
        let scheme = if identity.is_some() { "https" } else { "http" };
        if let Some(identity) = identity {
            server = server.with_tls(identity);
        }
        let bound = server.local_addr().context("no address")?;
        print(format!("The registry is up: {scheme}://{bound}, images in {}\n", folder.display()).as_bytes())?;
        if open && !bound.ip().is_loopback() && !on(matches, "read-only") {
            complain("Everybody who reaches this address may change its images: --htpasswd FILE lets in only some.");
        }
        let sweeper = (age > 0 && !on(matches, "read-only")).then(|| tokio::spawn(sweep(store, Duration::from_secs(age))));
        server.run(registry.service(), podium_controller::shutdown_signal()).await;
        if let Some(sweeper) = sweeper {
            sweeper.abort();
        }
        Ok(())
    })
}

/// Removes garbage, now and every so often.
async fn sweep(store: Arc<Store>, age: Duration) {
    loop {
        let store = store.clone();
        match tokio::task::spawn_blocking(move || store.collect_garbage(age)).await {
            Ok(Ok((0, _))) | Err(_) => {}
            Ok(Ok((count, bytes))) => {
                complain(&format!("removed {count} files that nothing needed, {}", size(bytes)))
            }
            Ok(Err(error)) => complain(&format!("garbage was not collected: {error}")),
        }
        tokio::time::sleep(age).await;
    }
}
