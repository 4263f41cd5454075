//! How commands talk to registries.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, bail};
use clap::ArgMatches;
use podium_oci::client::Error;
use podium_oci::model::Index;
use podium_oci::{
    BlobSource, Client, ClientCertificate, Descriptor, Keyring, ManifestOrIndex, Options, Platform,
    ProxyConfig, Reference, TlsOptions,
};

use crate::flag::{Flag, Takes, many, on, one};
use crate::output::complain;

/// Flags of all commands that talk to registries.
pub const ACCESS: &[Flag] = &[
    Flag::new("plain-http", Takes::Switch, "no TLS; registries of this machine need none anyway"),
    Flag::new(
        "ca-file",
        Takes::Many("FILE"),
        "certificates (PEM) of an authority to believe, too (repeatable)",
    ),
    Flag::new(
        "cert-file",
        Takes::One("FILE"),
        "a certificate (PEM) of your own, for registries that ask for one",
    ),
    Flag::new("key-file", Takes::One("FILE"), "the key (PEM) of that certificate"),
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

/// Refuses a name that has other content already; `way` says how to have it all the same.
pub async fn keep_published(client: &Client, name: &Reference, image: &Descriptor, way: &str) -> Result<()> {
    match client.resolve(name).await?.filter(|there| there.digest != image.digest) {
        None => Ok(()),
        Some(there) => bail!(
            "{name} is there already and is something else ({}): those who use it would get another image. Push it \
             under a new version{way}",
            there.digest
        ),
    }
}

/// Says what is lost when an image takes the place of what has its name in the registry, and refuses that where nothing
/// published may change.
pub async fn may_push(
    matches: &ArgMatches,
    client: &Client,
    blobs: &dyn BlobSource,
    image: &Descriptor,
    name: &Reference,
) -> Result<()> {
    let lost = lost(client, blobs, image, name).await?;
    let lost = lost.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if on(matches, "keep-published") {
        if !lost.is_empty() {
            bail!(
                "{name} is there already, also for {lost}, which this image is not for: those who use it there would \
                 have none. Push it under a new name"
            );
        }
        return keep_published(client, name, image, "").await;
    }
    if !lost.is_empty() {
        complain(&format!(
            "Warning: {name} is there also for {lost}, which this image is not for: those who use it there will have none. \
             podium image pull --all-platforms gets an image for all its platforms, podium image copy moves one"
        ));
    }
    Ok(())
}

/// The platforms that a name in a registry has an image for, and that another image would take from it.
async fn lost(
    client: &Client,
    blobs: &dyn BlobSource,
    image: &Descriptor,
    name: &Reference,
) -> Result<Vec<Platform>> {
    let there = match client.resolve(name).await {
        Ok(there) => there.filter(|there| there.is_index() && there.digest != image.digest),
        Err(error @ (Error::Connect { .. } | Error::Certificate { .. })) => return Err(error.into()),
        // Whoever may write need not be allowed to read.
        Err(_) => None,
    };
    if there.is_none() {
        return Ok(Vec::new());
    }
    let Ok((_, _, ManifestOrIndex::Index(index))) = client.manifest(name).await else {
        return Ok(Vec::new());
    };
    let own = tokio::task::block_in_place(|| -> Result<Vec<Platform>> {
        Ok(match blobs.manifest_or_index(image)? {
            ManifestOrIndex::Index(index) => platforms(&index),
            ManifestOrIndex::Manifest(manifest) => {
                blobs.config(&manifest).ok().and_then(|config| config.platform()).into_iter().collect()
            }
        })
    })?;
    Ok(platforms(&index).into_iter().filter(|platform| !own.contains(platform)).collect())
}

/// The platforms of an index; what is beside images, such as attestations, is for none.
fn platforms(index: &Index) -> Vec<Platform> {
    let mut platforms: Vec<Platform> =
        index.manifests.iter().filter_map(|one| one.platform.clone()).collect();
    platforms.retain(|platform| platform.os != "unknown");
    platforms.sort();
    platforms.dedup();
    platforms
}

/// What is shown to servers that ask who we are: a certificate and its key, by the names of their files.
pub fn certificate(file: Option<&str>, key: Option<&str>) -> Result<Option<ClientCertificate>> {
    let given = |file: Option<&str>| file.filter(|file| !file.is_empty()).map(str::to_owned);
    let (file, key) = match (given(file), given(key)) {
        (None, None) => return Ok(None),
        (Some(file), Some(key)) => (file, key),
        (Some(_), None) => bail!("--cert-file needs the key of the certificate: give it with --key-file"),
        (None, Some(_)) => bail!("--key-file is the key of a certificate: give that with --cert-file"),
    };
    let chain = fs::read(&file).map_err(|e| anyhow!("--cert-file {file}: {e}"))?;
    let secret = fs::read(&key).map_err(|e| anyhow!("--key-file {key}: {e}"))?;
    let made = ClientCertificate::new(&chain, &secret);
    made.map(Some).map_err(|e| anyhow!("--cert-file {file} --key-file {key}: {e}"))
}

/// Believes the authorities of a file.
pub fn believe(trust: &mut TlsOptions, file: &str) -> Result<()> {
    let pem = fs::read(file).map_err(|e| anyhow!("{file}: {e}"))?;
    trust.add_ca(pem).map_err(|e| anyhow!("{file}: {e}"))
}

/// A client as the flags and the environment say.
pub fn client(matches: &ArgMatches) -> Result<Client> {
    let mut trust = TlsOptions::default();
    for file in many(matches, "ca-file") {
        believe(&mut trust, &file).map_err(|e| anyhow!("--ca-file {e}"))?;
    }
    let mut folders: Vec<PathBuf> = FOLDERS.iter().map(PathBuf::from).collect();
    folders
        .extend(std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".config/containers/certs.d")));
    trust.certs_dirs = folders;
    trust.client_certificate = certificate(one(matches, "cert-file"), one(matches, "key-file"))?;
    let jobs = match one(matches, "jobs") {
        Some(text) => text.parse::<usize>().ok().filter(|jobs| (1..=64).contains(jobs)),
        None => Some(Options::default().jobs),
    };
    Ok(Client::new(Options {
        tls: trust,
        keyring: keyring(matches),
        proxies: ProxyConfig::from_environment(&|name| std::env::var_os(name)),
        plain_http: on(matches, "plain-http"),
        jobs: jobs.context("--jobs: write a number from 1 to 64")?,
        ..Options::default()
    }))
}

/// Runs something that talks.
pub fn block_on<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?.block_on(work)
}
