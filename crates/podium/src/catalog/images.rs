//! Catalogs and bundles in images.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use clap::ArgMatches;
use podium_bundle::{BundleFiles, olm_bundle};
use podium_catalog::compat::OpmCompat;
use podium_catalog::declcfg::{DeclarativeConfig, for_each_meta};
use podium_catalog::indexignore::{FILE_NAME, IndexIgnore};
use podium_catalog::json::SourceText;
use podium_catalog::{CatalogError, Meta};
use podium_oci::files::{ExtractLimits, ImageFiles};
use podium_oci::{BlobSource, Client, ImageLocation, Layout, Platform, Reference};
use tokio::sync::Semaphore;

use super::output::refused;
use crate::bundle::input::flat;
use crate::image::access::{block_on, client};

/// The label that says where the catalog is in an image.
pub const CONFIGS: &str = "operators.operatorframework.io.index.configs.v1";
/// Where it usually is.
pub const FOLDER: &str = "/configs";
/// The label of older catalogs, which are a database.
const DATABASE: &str = "operators.operatorframework.io.index.database.v1";

/// Where catalogs and bundles are in their images.
const FOLDERS: [&str; 3] = [FOLDER, "/manifests", "/metadata"];
/// The most that may be in them.
const LIMITS: ExtractLimits =
    ExtractLimits { max_file_bytes: 1 << 30, max_unpacked_bytes: 4 << 30, max_entries: 1_000_000 };
/// As many images are asked for at once.
const AT_ONCE: usize = 16;

/// What was found in an image.
struct Found {
    labels: BTreeMap<String, String>,
    files: ImageFiles,
}

/// The documents in an image: those of a catalog, or the one of a bundle.
pub fn documents(place: &str, matches: &ArgMatches, generation: OpmCompat) -> Result<DeclarativeConfig> {
    let found = match ImageLocation::parse(place) {
        Ok(ImageLocation::Registry(reference)) => {
            let client = client(matches)?;
            block_on(fetch(&client, &reference, &FOLDERS)).map_err(|error| missing(place, &error))?
        }
        Ok(ImageLocation::Layout(path, name)) => {
            open(Path::new(&path), name.as_deref(), &FOLDERS).map_err(flat)?
        }
        Ok(_) => bail!("{place}: archives of images are not read here; use oci:PATH or a registry"),
        Err(error) => return Err(missing(place, &anyhow!(error))),
    };
    let Some(folder) = found.labels.get(CONFIGS).cloned() else {
        return Ok(DeclarativeConfig { metas: vec![bundle(place, &found)?] });
    };
    let elsewhere = !FOLDERS.contains(&folder.trim_end_matches('/'));
    let found = match (elsewhere, ImageLocation::parse(place)) {
        (true, Ok(ImageLocation::Registry(reference))) => {
            block_on(fetch(&client(matches)?, &reference, &[&folder]))?
        }
        (true, Ok(ImageLocation::Layout(path, name))) => open(Path::new(&path), name.as_deref(), &[&folder])?,
        _ => found,
    };
    catalog(place, &found, &folder, generation)
}

fn missing(place: &str, error: &anyhow::Error) -> anyhow::Error {
    anyhow!("{place} is no folder, no file and no image: {error:#}")
}

async fn fetch(client: &Client, reference: &Reference, folders: &[&str]) -> Result<Found> {
    let found = client.files(reference, &Platform::parse("linux/amd64")?, folders, LIMITS).await?;
    Ok(Found { labels: found.config.labels(), files: found.files })
}

fn open(path: &Path, name: Option<&str>, folders: &[&str]) -> Result<Found> {
    let layout = Layout::open(path)?;
    let descriptor = layout.find(name)?;
    let blobs: &dyn BlobSource = &layout;
    let (_, manifest) = blobs.select_image(&descriptor, &Platform::parse("linux/amd64")?)?;
    Ok(Found { labels: blobs.config(&manifest)?.labels(), files: blobs.files(&manifest, folders, LIMITS)? })
}

/// The catalog in an image.
fn catalog(place: &str, found: &Found, folder: &str, generation: OpmCompat) -> Result<DeclarativeConfig> {
    let mut files: Vec<_> = found.files.files_under(folder).collect();
    files.sort_by(|a, b| a.0.split('/').cmp(b.0.split('/')));
    let is_ignore = |path: &str| path.rsplit('/').next() == Some(FILE_NAME);
    let mut ignore = IndexIgnore::default();
    files.iter().filter(|(path, _)| is_ignore(path)).for_each(|(path, file)| ignore.add(path, &file.data));
    let mut config = DeclarativeConfig::default();
    for (path, file) in files.into_iter().filter(|(path, _)| !is_ignore(path) && !ignore.ignores(path)) {
        config
            .read(&Arc::from(path), &SourceText::new(file.data.to_vec()), generation)
            .map_err(|p| refused(p, place))?;
    }
    Ok(config)
}

/// The bundle in an image, as opm renders it.
fn bundle(place: &str, found: &Found) -> Result<Meta> {
    if found.labels.contains_key(DATABASE) {
        bail!("{place} is a catalog of the old kind, a database: publish it anew from its bundles");
    }
    if !found.labels.contains_key(podium_bundle::PACKAGE_LABEL) {
        bail!(
            "{place} is the image of neither catalog nor bundle: it has neither the label {CONFIGS} nor {}",
            podium_bundle::PACKAGE_LABEL
        );
    }
    let files = found.files.files.iter().map(|(path, file)| (path.clone(), Arc::clone(&file.data)));
    let tree = BundleFiles::new(files).with_context(|| place.to_owned())?;
    of_tree(&tree, place)
}

/// The bundle in a folder; it has no image.
pub fn of_folder(path: &str) -> Result<Meta> {
    of_tree(&BundleFiles::read(Path::new(path))?, "")
}

fn of_tree(tree: &BundleFiles, image: &str) -> Result<Meta> {
    let made = olm_bundle(tree, image).map_err(|finding| anyhow!("{image}: {finding}"))?;
    let text = SourceText::new(made.to_json().into_bytes());
    let mut found = None;
    for_each_meta(&Arc::from(""), &text, OpmCompat::V173, |meta| {
        found = Some(meta);
        Ok(())
    })
    .map_err(|problem: CatalogError| refused(problem, image))?;
    found.ok_or_else(|| anyhow!("{image} holds no bundle"))
}

/// What several bundle images hold, asked for at once.
pub fn bundles(images: &[String], matches: &ArgMatches) -> Result<BTreeMap<String, Meta>> {
    let client = client(matches)?;
    let mut wanted = Vec::new();
    for image in images {
        let ImageLocation::Registry(reference) =
            ImageLocation::parse(image).with_context(|| image.clone())?
        else {
            bail!("{image}: a template names images in registries; name files by --bundles");
        };
        wanted.push((image.clone(), reference));
    }
    block_on(async {
        let places = Arc::new(Semaphore::new(AT_ONCE));
        let mut tasks = Vec::new();
        for (image, reference) in wanted {
            let (client, places) = (client.clone(), places.clone());
            tasks.push(tokio::spawn(async move {
                let _place = places.acquire_owned().await;
                let found = fetch(&client, &reference, &["/manifests", "/metadata"]).await;
                let found = found.map_err(|error| anyhow!("failed to pull image {image:?}: {error:#}"))?;
                let meta = bundle(&image, &found)?;
                anyhow::Ok((image, meta))
            }));
        }
        let mut all = BTreeMap::new();
        for task in tasks {
            let (image, meta) = task.await??;
            all.insert(image, meta);
        }
        Ok(all)
    })
}
