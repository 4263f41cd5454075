//! Where bundles come from.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use clap::ArgMatches;
use podium_bundle::BundleFiles;
use podium_bundle::render::{CertificateProvider, Options};
use podium_oci::archive::Archive;
use podium_oci::files::{ExtractLimits, ImageFiles};
use podium_oci::{BlobSource, Descriptor, ImageLocation, Layout, Platform};
use serde_json::Value;

use crate::flag::{list, many, one};
use crate::image::access::{block_on, client};

/// The folders of a bundle in its image.
const FOLDERS: [&str; 2] = ["/manifests", "/metadata"];

/// The most that a bundle may be in an image.
const LIMITS: ExtractLimits =
    ExtractLimits { max_file_bytes: 100 << 20, max_unpacked_bytes: 2 << 30, max_entries: 100_000 };

/// Exactly as many arguments as a command has.
pub fn arguments<const N: usize>(matches: &ArgMatches, command: &str, usage: &str) -> Result<[String; N]> {
    let given = many(matches, "args");
    let count = given.len();
    given.try_into().map_err(|_| {
        let plural = if N == 1 { "" } else { "s" };
        anyhow!("\"podium bundle {command}\" requires {N} argument{plural}, {count} given\n\nUsage:  podium bundle {command} {usage} [flags]")
    })
}

fn tree(files: &ImageFiles, place: &str) -> Result<BundleFiles> {
    if files.links.keys().any(|path| path.starts_with("manifests/") || path.starts_with("metadata/")) {
        bail!("{place} has links in its bundle: put the files themselves there");
    }
    let all = files.files.iter().map(|(path, file)| (path.clone(), Arc::clone(&file.data)));
    let tree = BundleFiles::new(all).map_err(|error| anyhow!("{place}: {error}"))?;
    if !tree.has_dir("manifests") {
        bail!("{place} has no /manifests: it is not the image of a bundle");
    }
    Ok(tree)
}

/// Reads a bundle wherever it is.
pub fn read(text: &str, matches: &ArgMatches) -> Result<BundleFiles> {
    if Path::new(text).exists() {
        let tree = BundleFiles::read(Path::new(text))?;
        if !tree.has_dir("manifests") && !tree.has_dir("metadata") {
            bail!(
                "{text} has neither manifests/ nor metadata/: it is no bundle; `podium bundle generate` makes one"
            );
        }
        return Ok(tree);
    }
    let missing = |why: String| anyhow!("{text} is no folder, no archive and no image: {why}");
    match ImageLocation::parse(text).map_err(|error| missing(error.to_string()))? {
        ImageLocation::Registry(reference) => {
            let client = client(matches)?;
            let platform = Platform::parse("linux/amd64")?;
            let found = block_on(async {
                let found = client.files(&reference, &platform, &FOLDERS, LIMITS).await;
                found.map_err(|error| missing(error.to_string()))
            })?;
            tree(&found.files, text)
        }
        ImageLocation::Layout(path, name) => {
            let layout = Layout::open(path)?;
            let descriptor = layout.find(name.as_deref())?;
            of(&layout, &descriptor, text)
        }
        ImageLocation::OciArchive(path, name) => {
            let archive = Archive::open(&path, &std::env::temp_dir())?;
            let descriptor = archive.find(name.as_deref())?;
            of(&archive, &descriptor, text)
        }
        ImageLocation::DockerArchive(..) => {
            bail!(
                "{text}: what docker saves is not read here; use oci-archive:FILE, or `podium image load` and `push`"
            )
        }
    }
}

/// The bundle in an image of this machine.
fn of(blobs: &dyn BlobSource, descriptor: &Descriptor, place: &str) -> Result<BundleFiles> {
    let (_, manifest) = blobs.select_image(descriptor, &Platform::parse("linux/amd64")?)?;
    tree(&blobs.files(&manifest, &FOLDERS, LIMITS)?, place)
}

/// An error with all its reasons in one text.
pub fn flat(error: anyhow::Error) -> anyhow::Error {
    let all: Vec<String> = error.chain().map(ToString::to_string).collect();
    anyhow!("{}", all.join(": "))
}

/// Where and how a bundle would be installed.
pub fn options(matches: &ArgMatches) -> Result<Options> {
    let certificate_provider = match one(matches, "certificates").unwrap_or("cert-manager") {
        "cert-manager" => Some(CertificateProvider::CertManager),
        "openshift" => Some(CertificateProvider::OpenShift),
        "none" => None,
        other => bail!("--certificates {other}: write cert-manager, openshift or none"),
    };
    let target_namespaces = list(matches, "watch-namespace");
    let deployment_config = match one(matches, "deployment-config") {
        Some(file) => object(file)?,
        None => Value::Null,
    };
    Ok(Options {
        install_namespace: one(matches, "namespace").unwrap_or("default").to_owned(),
        single_own_namespace: !target_namespaces.is_empty(),
        target_namespaces,
        certificate_provider,
        deployment_config,
    })
}

/// The objects of a YAML file.
pub fn objects(file: &str) -> Result<Vec<Value>> {
    let text = std::fs::read_to_string(file).map_err(|error| anyhow!("{file} cannot be read: {error}"))?;
    let all = podium_deploy::object::parse_manifest(&text).with_context(|| file.to_owned()).map_err(flat)?;
    Ok(all.into_iter().map(|object| object.body).collect())
}

/// A YAML file with one value.
fn object(file: &str) -> Result<Value> {
    let text = std::fs::read(file).map_err(|error| anyhow!("{file} cannot be read: {error}"))?;
    let node = podium_goyaml::yaml::parse_exact(&text, 0).map_err(|error| anyhow!("{file}: {error}"))?;
    let json = podium_goyaml::json::to_string(&&node).map_err(|error| anyhow!("{file}: {error}"))?;
    serde_json::from_slice(&json).map_err(|error| anyhow!("{file}: {error}"))
}
