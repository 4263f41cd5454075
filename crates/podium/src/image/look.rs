//! `podium image inspect` and `list`.

use std::sync::Arc;

use anyhow::{Result, bail};
use clap::ArgMatches;
use podium_oci::archive::Archive;
use podium_oci::files::ExtractLimits;
use podium_oci::{
    BlobSource, Descriptor, ImageLocation, Layout, ManifestOrIndex, Platform, Platforms, Reference,
};
use serde_json::{Value, json};

use super::{access, names, only, show, size, store};
use crate::flag::{on, one};
use crate::output::print;

/// Shows what an image is.
pub fn inspect(matches: &ArgMatches) -> Result<()> {
    let name = only(matches, "image")?;
    let (remote, local) = (on(matches, "remote"), store::open(matches)?);
    let place = match store::find(&local, &name) {
        Ok(Some(image)) if !remote => {
            let shown = image.ref_name().unwrap_or(&name).to_owned();
            return tell(matches, &shown, &local, &image);
        }
        _ => ImageLocation::parse(&name)?,
    };
    match &place {
        ImageLocation::Layout(path, tag) => {
            let layout = Layout::open(path)?;
            tell(matches, &name, &layout, &layout.find(tag.as_deref())?)
        }
        ImageLocation::OciArchive(path, tag) => {
            let archive = Archive::open(path, &std::env::temp_dir())?;
            let image = archive.find(tag.as_deref())?;
            tell(matches, &name, &archive, &image)
        }
        ImageLocation::DockerArchive(..) => {
            bail!("podium image load takes docker archives; then they can be looked into")
        }
        ImageLocation::Registry(reference) => {
            let client = access::client(matches)?;
            access::block_on(async {
                let platforms = match one(matches, "platform") {
                    Some(platform) => Platforms::One(Platform::parse(platform)?),
                    None => Platforms::All,
                };
                let remote = Arc::new(client.open(reference, &platforms).await.map_err(|e| near(e, &name))?);
                tokio::task::block_in_place(|| {
                    tell(matches, &reference.to_string(), remote.as_ref(), &remote.root)
                })
            })
        }
    }
}

fn near(error: podium_oci::client::Error, name: &str) -> anyhow::Error {
    if error.is_not_found() {
        return anyhow::anyhow!(
            "{error}, neither on this machine nor in its registry: podium image list {} shows its tags",
            name.split(['@']).next().unwrap_or(name).rsplit_once(':').map_or(name, |(name, _)| name)
        );
    }
    error.into()
}

fn tell(matches: &ArgMatches, name: &str, blobs: &dyn BlobSource, image: &Descriptor) -> Result<()> {
    let platform = one(matches, "platform").map(Platform::parse).transpose()?;
    // Who names a platform wants the image for it, not the index that it is in.
    let chosen = platform.as_ref().map(|platform| blobs.select_image_exact(image, platform)).transpose()?;
    let image = chosen.as_ref().map_or(image, |(chosen, _)| chosen);
    if on(matches, "raw") {
        return print(&blobs.read(image, podium_oci::model::MAX_MANIFEST)?);
    }
    let document = blobs.manifest_or_index(image)?;
    let here = Platform::host();
    let chosen = match &document {
        // An index without an image for here is shown without one.
        ManifestOrIndex::Index(index) if index.select(&here).is_err() => None,
        _ => Some(blobs.select_image(image, &here)?),
    };
    let mut value =
        json!({"name": name, "digest": image.digest.to_string(), "mediaType": document.media_type()});
    let mut text = format!("name        {name}\ndigest      {}\n", image.digest);
    if let ManifestOrIndex::Index(index) = &document {
        let platforms: Vec<Value> = index.manifests.iter().map(|entry| {
            json!({"platform": entry.platform.as_ref().map(ToString::to_string), "digest": entry.digest.to_string()})
        }).collect();
        for entry in &index.manifests {
            let platform = entry.platform.as_ref().map_or("any".to_owned(), ToString::to_string);
            text.push_str(&format!("image       {platform:<14} {}\n", entry.digest));
        }
        set(&mut value, "platforms", platforms.into());
    }
    let Some((_, manifest)) = chosen else {
        return show(one(matches, "output"), &value, &text);
    };
    if on(matches, "config") {
        return print(&blobs.read(&manifest.config, podium_oci::model::MAX_CONFIG)?);
    }
    let config = blobs.config(&manifest)?;
    let bytes: u64 = manifest.layers.iter().map(|layer| layer.size).sum();
    let platform = config.platform().map_or("any".to_owned(), |platform| platform.to_string());
    let created = config.as_json().get("created").and_then(Value::as_str).unwrap_or_default().to_owned();
    text.push_str(&format!("platform    {platform}\ncreated     {created}\nsize        {}\n", size(bytes)));
    let rows = [
        ("command", config.command().join(" ")),
        ("user", config.string("User").to_owned()),
        ("workdir", config.string("WorkingDir").to_owned()),
    ];
    for (key, row) in rows.iter().filter(|(_, row)| !row.is_empty()) {
        text.push_str(&format!("{key:<11} {row}\n"));
    }
    for word in config.string_list("Env") {
        text.push_str(&format!("env         {word}\n"));
    }
    for (key, label) in config.labels() {
        text.push_str(&format!("label       {key}={label}\n"));
    }
    for layer in &manifest.layers {
        text.push_str(&format!("layer       {} {}\n", layer.digest, size(layer.size)));
    }
    let layers: Vec<Value> = manifest.layers.iter().map(|layer| {
        json!({"digest": layer.digest.to_string(), "size": layer.size, "mediaType": layer.media_type})
    }).collect();
    for (key, part) in [
        ("platform", platform.into()),
        ("created", created.into()),
        ("size", bytes.into()),
        ("layers", layers.into()),
        ("entrypoint", config.string_list("Entrypoint").into()),
        ("cmd", config.string_list("Cmd").into()),
        ("env", config.string_list("Env").into()),
        ("labels", json!(config.labels())),
        ("user", config.string("User").into()),
        ("workdir", config.string("WorkingDir").into()),
        ("annotations", json!(manifest.annotations)),
    ] {
        set(&mut value, key, part);
    }
    if on(matches, "files") {
        let found = blobs.files(&manifest, &["/"], ExtractLimits::default())?;
        let mut list = Vec::new();
        for (path, file) in &found.files {
            text.push_str(&format!("file        {:04o} {:>10} /{path}\n", file.mode, file.data.len()));
            list.push(json!({"path": format!("/{path}"), "mode": format!("{:04o}", file.mode), "size": file.data.len()}));
        }
        for (path, target) in &found.links {
            text.push_str(&format!("link        /{path} -> {target}\n"));
            list.push(json!({"path": format!("/{path}"), "link": target}));
        }
        set(&mut value, "files", list.into());
    }
    show(one(matches, "output"), &value, &text)
}

fn set(value: &mut Value, key: &str, part: Value) {
    if let Some(map) = value.as_object_mut() {
        map.insert(key.to_owned(), part);
    }
}

/// Lists images, or tags.
pub fn list(matches: &ArgMatches) -> Result<()> {
    let words = names(matches);
    if let [repository, more @ ..] = words.as_slice() {
        if !more.is_empty() {
            bail!("only one repository is taken, unexpected: {}", more.join(" "));
        }
        let name = Reference::parse_without_default_tag(repository)?;
        if name.tag.is_some() || name.digest.is_some() {
            bail!("{repository}: the tags of a repository are listed; write its name without tag and digest");
        }
        let client = access::client(matches)?;
        let tags = access::block_on(async { Ok(client.tags(&name).await?) })?;
        let text: String = tags.iter().map(|tag| format!("{}:{tag}\n", name.name())).collect();
        return show(one(matches, "output"), &json!({"name": name.name(), "tags": tags}), &text);
    }
    let layout = store::open(matches)?;
    let mut images = layout.index()?.manifests;
    images.sort_by(|a, b| a.ref_name().cmp(&b.ref_name()));
    let mut rows = Vec::new();
    let mut list = Vec::new();
    for image in &images {
        let name = image.ref_name().unwrap_or("<none>").to_owned();
        // What is here is told, even if a part of it is missing.
        let bytes = weight(&layout, image);
        let shown = bytes.map_or("incomplete".to_owned(), size);
        rows.push((name, image.digest.short().to_owned(), shown));
        list.push(json!({"name": image.ref_name(), "digest": image.digest.to_string(), "size": bytes,
            "platform": image.platform.as_ref().map(ToString::to_string)}));
    }
    let wide = rows.iter().map(|row| row.0.len()).max().unwrap_or(0).max(4);
    let mut text = String::new();
    if rows.is_empty() {
        text.push_str("There are no images on this machine: podium image build makes one, podium image pull gets one.\n");
    } else {
        text.push_str(&format!("{:<wide$}  {:<12}  SIZE\n", "NAME", "DIGEST"));
    }
    for (name, digest, bytes) in rows {
        text.push_str(&format!("{name:<wide$}  {digest:<12}  {bytes}\n"));
    }
    show(one(matches, "output"), &list.into(), &text)
}

/// The bytes of an image with all that it needs; nothing if a part is missing.
fn weight(layout: &Layout, image: &Descriptor) -> Option<u64> {
    let mut todo = vec![image.clone()];
    let mut bytes = 0;
    while let Some(descriptor) = todo.pop() {
        let document = (layout as &dyn BlobSource).manifest_or_index(&descriptor).ok()?;
        bytes += descriptor.size;
        for blob in document.blobs() {
            if !layout.has_blob(blob) {
                return None;
            }
            bytes += blob.size;
        }
        todo.extend(document.manifests().iter().cloned());
    }
    Some(bytes)
}
