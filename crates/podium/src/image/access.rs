//! How commands talk to registries.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, bail};
use clap::ArgMatches;
use podium_oci::{Client, Descriptor, Keyring, Options, Proxies, Reference, Trust};

use crate::flag::{Flag, Takes, many, on, one};

/// Flags of all commands that talk to registries.
pub const ACCESS: &[Flag] = &[
    Flag::new("plain-http", Takes::Switch, "no TLS; registries of this machine need none anyway"),
    Flag::new(
        "ca-file",
        Takes::Many("FILE"),
        "certificates (PEM) of an authority to believe, too (repeatable)",
    ),
    Flag::new(
        "auth-file",
        Takes::One("FILE"),
        "where credentials are (default: those of docker and podman; REGISTRY_AUTH_FILE, DOCKER_CONFIG)",
    ),
    Flag::new("jobs", Takes::One("N"), "how many blobs are under way at a time (default 4)").short('j'),
];

/// Where docker and podman have the authorities of registries.
const FOLDERS: &[&str] = &["/etc/containers/certs.d", "/etc/docker/certs.d"];

/// Whose credentials are used.
pub fn keyring(matches: &ArgMatches) -> Keyring {
    match one(matches, "auth-file") {
        Some(file) => Keyring::from_file(file),
        None => Keyring::from_environment(&|name| std::env::var_os(name)),
    }
}

/// Refuses, if that was asked for, a name that has other content already.
pub async fn keep_published(
    matches: &ArgMatches,
    client: &Client,
    name: &Reference,
    image: &Descriptor,
) -> Result<()> {
    if on(matches, "keep-published")
        && let Some(there) = client.resolve(name).await?.filter(|there| there.digest != image.digest)
    {
        bail!(
            "{name} is there already and is something else ({}): those who use it would get another image. Push it \
             under a new version",
            there.digest
        );
    }
    Ok(())
}

/// A client as the flags and the environment say.
pub fn client(matches: &ArgMatches) -> Result<Client> {
    let mut authorities = Vec::new();
    for file in many(matches, "ca-file") {
        authorities.push(fs::read(&file).map_err(|e| anyhow!("--ca-file {file}: {e}"))?);
    }
    let mut folders: Vec<PathBuf> = FOLDERS.iter().map(PathBuf::from).collect();
    folders
        .extend(std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".config/containers/certs.d")));
    let jobs = match one(matches, "jobs") {
        Some(text) => text.parse::<usize>().ok().filter(|jobs| (1..=64).contains(jobs)),
        None => Some(Options::default().jobs),
    };
    Ok(Client::new(Options {
        trust: Trust { authorities, folders },
        keyring: keyring(matches),
        proxies: Proxies::from_environment(&|name| std::env::var_os(name)),
        plain_http: on(matches, "plain-http"),
        jobs: jobs.context("--jobs: write a number from 1 to 64")?,
        ..Options::default()
    }))
}

/// Runs something that talks.
pub fn block_on<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?.block_on(work)
}
