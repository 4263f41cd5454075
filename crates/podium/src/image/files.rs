//! `podium image tag`, `delete`, `load`, `save` and `prune`.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use clap::ArgMatches;
use podium_oci::archive::{Archive, import, save_docker, save_oci};
use podium_oci::model::ANNOTATION_REF_NAME;
use podium_oci::{BlobSource, Descriptor, Platform, Reference};
use serde_json::json;

use super::{access, names, only, show, size, store};
use crate::flag::{on, one};
use crate::output::print;

/// Another name.
pub fn tag(matches: &ArgMatches) -> Result<()> {
    let words = names(matches);
    let [name, new] = words.as_slice() else { bail!("write the name of an image and the new one") };
    let layout = store::open(matches)?;
    let image = store::get(&layout, name)?;
    let new = store::whole(new)?;
    layout.tag(&image, Some(&new.to_string()))?;
    print(format!("named {new}\n").as_bytes())
}

/// Fewer names.
pub fn delete(matches: &ArgMatches) -> Result<()> {
    let words = names(matches);
    if words.is_empty() {
        bail!("the name of an image is missing");
    }
    let mut text = String::new();
    if on(matches, "remote") {
        let client = access::client(matches)?;
        access::block_on(async {
            for word in &words {
                let name = Reference::parse_exact(word)?;
                client.delete(&name).await?;
                text.push_str(&format!("deleted {name}\n"));
            }
            Ok(())
        })?;
        return print(text.as_bytes());
    }
    let layout = store::open(matches)?;
    for word in &words {
        let image = store::get(&layout, word)?;
        let name = image.ref_name().map(str::to_owned);
        match &name {
            Some(name) => layout.untag(name).map(|_| ())?,
            None => layout.remove_untagged(&image)?,
        }
        text.push_str(&format!("deleted {}\n", name.unwrap_or_else(|| image.digest.to_string())));
    }
    print(text.as_bytes())
}

/// From an archive.
pub fn load(matches: &ArgMatches) -> Result<()> {
    let file = only(matches, "the archive")?;
    let layout = store::open(matches)?;
    let _held = layout.lock_prune()?;
    let archive = Archive::open(Path::new(&file), layout.root())?;
    let tag = one(matches, "tag").map(store::whole).transpose()?;
    let images: Vec<(Descriptor, Vec<String>)> = if archive.is_docker() {
        archive.load_docker(&layout)?
    } else {
        let mut images = Vec::new();
        for image in archive.index()?.manifests {
            import(&archive, &image, &layout)?;
            let name = image.ref_name().map(str::to_owned);
            images.push((image, name.into_iter().collect()));
        }
        images
    };
    if tag.is_some() && images.len() != 1 {
        bail!("--tag: {file} has {} images; a name can be given to one", images.len());
    }
    let mut loaded = Vec::new();
    for (image, had) in &images {
        let mut kept: Vec<Option<String>> = match &tag {
            Some(tag) => vec![Some(tag.to_string())],
            // A name in an archive may be a tag alone, which says nothing here.
            None => had
                .iter()
                .filter(|name| name.contains([':', '/']))
                .filter_map(|name| Reference::parse(name).ok())
                .map(|name| Some(name.to_string()))
                .collect(),
        };
        if kept.is_empty() {
            kept.push(None);
        }
        for name in kept {
            layout.tag(image, name.as_deref())?;
            loaded.push((name, image.digest.to_string()));
        }
    }
    let value = loaded.iter().map(|(name, digest)| json!({"name": name, "digest": digest})).collect();
    let text: String = loaded
        .iter()
        .map(|(name, digest)| {
            format!("loaded {}{digest}\n", name.as_ref().map_or(String::new(), |n| format!("{n} ")))
        })
        .collect();
    show(one(matches, "output"), &value, &text)
}

/// Into an archive.
pub fn save(matches: &ArgMatches) -> Result<()> {
    let words = names(matches);
    if words.is_empty() {
        bail!("the name of an image is missing");
    }
    let file = one(matches, "file").context("say which file to write, with --file FILE")?;
    let layout = store::open(matches)?;
    let platform = one(matches, "platform").map(Platform::parse).transpose()?;
    let mut images = Vec::new();
    for word in &words {
        let mut image = store::get(&layout, word)?;
        let name = image.ref_name().map(str::to_owned);
        if let Some(platform) = &platform {
            image = (&layout as &dyn BlobSource)
                .select_image_exact(&image, platform)
                .map_err(|e| anyhow!("{word}: {e}"))?
                .0;
        }
        image.annotations.clear();
        image.annotations.extend(name.map(|name| (ANNOTATION_REF_NAME.to_owned(), name)));
        images.push(image);
    }
    match one(matches, "format").unwrap_or("oci") {
        "oci" => save_oci(&layout, &images, Path::new(file))?,
        "docker" => {
            let platform = platform.unwrap_or_else(Platform::host);
            let named = |image: Descriptor| {
                let names = image.ref_name().map(str::to_owned).into_iter().collect();
                (image, names)
            };
            let images: Vec<_> = images.into_iter().map(named).collect();
            save_docker(&layout, &images, &platform, Path::new(file))?;
        }
        other => bail!("--format {other}: write oci or docker"),
    }
    let bytes = std::fs::metadata(file).map_or(0, |meta| meta.len());
    print(format!("saved {file}, {}\n", size(bytes)).as_bytes())
}

/// What nobody needs.
pub fn prune(matches: &ArgMatches) -> Result<()> {
    if let Some(word) = names(matches).first() {
        bail!("unexpected {word}: podium image delete takes names away");
    }
    let layout = store::open(matches)?;
    if on(matches, "all") {
        for image in layout.index()?.manifests {
            match image.ref_name() {
                Some(name) => layout.untag(name).map(|_| ())?,
                None => layout.remove_untagged(&image)?,
            }
        }
    }
    let (count, bytes) = layout.prune()?;
    let cache = store::cache(matches)?;
    if cache.exists() {
        std::fs::remove_dir_all(&cache).map_err(|e| anyhow!("{}: {e}", cache.display()))?;
    }
    let value = json!({"blobs": count, "bytes": bytes});
    show(one(matches, "output"), &value, &format!("removed {count} blobs, {}\n", size(bytes)))
}
