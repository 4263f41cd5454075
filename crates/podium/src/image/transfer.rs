//! `podium image push`, `pull` and `copy`.

use std::sync::Arc;

use anyhow::{Result, bail};
use clap::ArgMatches;
use podium_oci::archive::{Archive, import, save_docker, save_oci};
use podium_oci::model::ANNOTATION_REF_NAME;
use podium_oci::{BlobSource, Descriptor, ImageLocation, Layout, Platform, Platforms, Reference};
use serde_json::json;

use super::progress::Line;
use super::{access, build, names, only, show, store};
use crate::flag::{on, one};
use crate::scratch::Scratch;

/// For which platform, if it was said.
fn platform(matches: &ArgMatches) -> Result<Option<Platform>> {
    Ok(one(matches, "platform").map(Platform::parse).transpose()?)
}

/// Sends an image of this machine.
pub fn push(matches: &ArgMatches) -> Result<()> {
    let words = names(matches);
    let (name, to) = match words.as_slice() {
        [name] => (name, name),
        [name, to] => (name, to),
        [] => bail!("the name of an image is missing: podium image list shows those of this machine"),
        _ => bail!("write NAME, or NAME and the name in the registry"),
    };
    let to = Reference::parse(to)?;
    let layout = store::open(matches)?;
    let image = store::get(&layout, name)?;
    let client = access::client(matches)?;
    let line = Line::new("pushing");
    access::block_on(async {
        access::may_push(matches, &client, &layout, &image, &to).await?;
        client.push(&layout, &image, &to, &line.listener()).await?;
        Ok(())
    })?;
    let value = json!({"name": to.to_string(), "digest": image.digest.to_string()});
    show(one(matches, "output"), &value, &format!("pushed {to} {} ({})\n", image.digest, line.end()))
}

/// Gets an image.
pub fn pull(matches: &ArgMatches) -> Result<()> {
    let name = Reference::parse(&only(matches, "the name of an image")?)?;
    let said = platform(matches)?;
    let platforms = match (said.clone(), on(matches, "all-platforms")) {
        (Some(_), true) => bail!("--platform and --all-platforms: write one of them"),
        (_, true) => Platforms::All,
        (Some(platform), false) => Platforms::One(platform),
        (None, false) => Platforms::One(Platform::host()),
    };
    let layout = store::open(matches)?;
    let _held = layout.lock_prune()?;
    let client = access::client(matches)?;
    let line = Line::new("pulling");
    let image = access::block_on(async {
        if let Some(platform) = &said {
            offers(&client, &name, platform).await?;
        }
        Ok(client.pull(&name, &layout, &platforms, &line.listener()).await?)
    })?;
    let kept = match &name.tag {
        Some(_) => Some(Reference { digest: None, ..name.clone() }.to_string()),
        None => Some(name.to_string()),
    };
    layout.tag(&image, kept.as_deref())?;
    let value = json!({"name": name.to_string(), "digest": image.digest.to_string()});
    show(one(matches, "output"), &value, &format!("pulled {name} {} ({})\n", image.digest, line.end()))
}

/// Refuses an image of a registry that is not for a platform, before it is moved.
async fn offers(client: &podium_oci::Client, name: &Reference, platform: &Platform) -> Result<()> {
    let remote = client.open(name, &Platforms::One(platform.clone())).await?;
    let blobs: &dyn BlobSource = &remote;
    tokio::task::block_in_place(|| blobs.select_image_exact(&remote.root, platform))?;
    Ok(())
}

/// Something that has an image.
struct Source {
    blobs: Arc<dyn BlobSource>,
    image: Descriptor,
    /// The repository that it is in, if it is in a registry.
    sibling: Option<Reference>,
    /// A layout that goes away when all is done.
    _scratch: Option<Scratch>,
}

/// Copies between places.
pub fn copy(matches: &ArgMatches) -> Result<()> {
    let words = names(matches);
    let [from, to] = words.as_slice() else { bail!("write FROM and TO: two names or places") };
    let (from, to) = (ImageLocation::parse(from)?, ImageLocation::parse(to)?);
    let platform = platform(matches)?;
    let client = access::client(matches)?;
    let line = Line::new("copying");
    let image = access::block_on(async {
        if let (ImageLocation::Registry(from), ImageLocation::Layout(path, tag)) = (&from, &to) {
            if let Some(platform) = &platform {
                offers(&client, from, platform).await?;
            }
            // Side by side, and the next try goes on where this one breaks off.
            let fresh = !path.exists();
            let layout = Layout::create_transient(path)?;
            let held = layout.lock_prune()?;
            let platforms = platform.clone().map_or(Platforms::All, Platforms::One);
            let pulled = client.pull(from, &layout, &platforms, &line.listener()).await;
            if fresh && pulled.as_ref().is_err_and(podium_oci::client::Error::is_not_found) {
                drop(held);
                let _ = std::fs::remove_dir_all(path);
            }
            let image = pulled?;
            layout.tag(&image, tag.as_deref())?;
            return Ok(image);
        }
        let source = source(&client, &from, platform.as_ref()).await?;
        let image = source.image.clone();
        let name = |tag: &Option<String>| {
            let mut named = image.clone();
            named.annotations.clear();
            named.annotations.extend(tag.clone().map(|tag| (ANNOTATION_REF_NAME.to_owned(), tag)));
            named
        };
        match &to {
            ImageLocation::Registry(to) => {
                access::may_push(matches, &client, source.blobs.as_ref(), &image, to).await?;
                let sibling = source.sibling.as_ref().filter(|from| from.registry == to.registry);
                let sibling = sibling.map(|from| from.repository.as_str());
                client.push_from(source.blobs.clone(), &image, to, sibling, &line.listener()).await?;
            }
            ImageLocation::Layout(path, tag) => {
                let layout = Layout::create_transient(path)?;
                let _held = layout.lock_prune()?;
                on_disk(&source, |blobs, image| Ok(import(blobs, image, &layout)?)).await?;
                layout.tag(&image, tag.as_deref())?;
            }
            ImageLocation::OciArchive(path, tag) => {
                let named = name(tag);
                on_disk(&source, |blobs, _| Ok(save_oci(blobs, std::slice::from_ref(&named), path)?)).await?;
            }
            ImageLocation::DockerArchive(path, tag) => {
                let tags: Vec<String> = tag.iter().cloned().collect();
                let platform = platform.clone().unwrap_or_else(Platform::host);
                on_disk(&source, |blobs, image| {
                    Ok(save_docker(blobs, &[(image.clone(), tags.clone())], &platform, path)?)
                })
                .await?;
            }
        }
        Ok(image)
    })?;
    let done = line.end();
    let done = if done.is_empty() { String::new() } else { format!(" ({done})") };
    let value = json!({"from": from.to_string(), "to": to.to_string(), "digest": image.digest.to_string()});
    show(one(matches, "output"), &value, &format!("copied {from} to {to} {}{done}\n", image.digest))
}

/// What reads a registry must not stand in the way of what gets it.
async fn on_disk(
    source: &Source,
    work: impl FnOnce(&dyn BlobSource, &Descriptor) -> Result<()>,
) -> Result<()> {
    tokio::task::block_in_place(|| work(source.blobs.as_ref(), &source.image))
}

async fn source(
    client: &podium_oci::Client,
    from: &ImageLocation,
    platform: Option<&Platform>,
) -> Result<Source> {
    let chosen = |blobs: &dyn BlobSource, image: Descriptor| match platform {
        Some(platform) => Ok::<_, anyhow::Error>(blobs.select_image_exact(&image, platform)?.0),
        None => Ok(image),
    };
    Ok(match from {
        ImageLocation::Registry(reference) => {
            let platforms = platform.cloned().map_or(Platforms::All, Platforms::One);
            let remote = client.open(reference, &platforms).await?;
            let image = tokio::task::block_in_place(|| chosen(&remote, remote.root.clone()))?;
            Source { blobs: Arc::new(remote), image, sibling: Some(reference.clone()), _scratch: None }
        }
        ImageLocation::Layout(path, tag) => {
            let layout = Layout::open(path)?;
            let image = chosen(&layout, layout.find(tag.as_deref())?)?;
            Source { blobs: Arc::new(layout), image, sibling: None, _scratch: None }
        }
        ImageLocation::OciArchive(path, tag) => {
            let archive = Archive::open(path, &std::env::temp_dir())?;
            let image = chosen(&archive, archive.find(tag.as_deref())?)?;
            Source { blobs: Arc::new(archive), image, sibling: None, _scratch: None }
        }
        ImageLocation::DockerArchive(path, tag) => {
            let scratch = Scratch::new("podium-image")?;
            let layout = Layout::create_transient(scratch.path())?;
            let image = build::docker(path, tag.as_deref(), &layout)?;
            Source { blobs: Arc::new(layout), image, sibling: None, _scratch: Some(scratch) }
        }
    })
}
