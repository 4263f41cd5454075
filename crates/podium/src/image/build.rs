//! `podium image build`.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use clap::ArgMatches;
use podium_oci::archive::{Archive, import};
use podium_oci::build::{FileAttributes, ImageBuilder, LayerBuilder, write_index};
use podium_oci::{BlobSource, Descriptor, ImageLocation, Layout, ManifestOrIndex, Platform, Platforms};
use serde_json::json;

use super::progress::Line;
use super::{access, names, show, size, start, store};
use crate::flag::{many, on, one};
use crate::output::complain;

/// What `--add` says.
struct Add {
    from: String,
    to: String,
    rights: FileAttributes,
}

fn add(text: &str) -> Result<Add> {
    let wrong =
        || anyhow!("--add {text}: write FROM:TO, or FROM:TO:MODE:UID:GID; FROM is here, TO is in the image");
    let mut parts = text.split(':');
    let (from, to) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    if from.is_empty() || to.is_empty() {
        return Err(wrong());
    }
    let mut rights = FileAttributes::default();
    if let Some(mode) = parts.next().filter(|mode| !mode.is_empty()) {
        let mode = u32::from_str_radix(mode, 8).ok().filter(|mode| *mode <= 0o7777);
        rights.mode = Some(mode.with_context(|| format!("--add {text}: the mode is octal, as 0755"))?);
    }
    let mut number = || match parts.next().filter(|part| !part.is_empty()) {
        Some(part) => part.parse::<u32>().map(Some).map_err(|_| anyhow!("--add {text}: owners are numbers")),
        None => Ok(None),
    };
    let uid = number()?;
    let gid = number()?.or(uid);
    rights.uid = u64::from(uid.unwrap_or(0));
    rights.gid = u64::from(gid.unwrap_or(0));
    if parts.next().is_some() {
        return Err(wrong());
    }
    Ok(Add { from: from.to_owned(), to: to.to_owned(), rights })
}

fn pairs(matches: &ArgMatches, flag: &str) -> Result<Vec<(String, String)>> {
    let split = |text: String| match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(anyhow!("--{flag} {text}: write NAME=VALUE")),
    };
    many(matches, flag).into_iter().map(split).collect()
}

fn created(matches: &ArgMatches) -> Result<i64> {
    let said = one(matches, "created").map(str::to_owned);
    let (flag, text) = match said {
        Some(text) => ("--created", text),
        None => ("SOURCE_DATE_EPOCH", std::env::var("SOURCE_DATE_EPOCH").unwrap_or_default()),
    };
    if text.is_empty() {
        return Ok(0);
    }
    let seconds = text.parse::<i64>().ok().filter(|seconds| (0..=253_402_300_799).contains(seconds));
    seconds.with_context(|| format!("{flag} {text}: write seconds since 1970"))
}

/// Builds.
pub fn run(matches: &ArgMatches) -> Result<()> {
    if let Some(word) = names(matches).first() {
        bail!("unexpected {word}: files are given as --add FROM:TO");
    }
    let began = Instant::now();
    let tags = many(matches, "tag").iter().map(|tag| store::whole(tag)).collect::<Result<Vec<_>>>()?;
    if tags.iter().any(|tag| tag.digest.is_some()) {
        bail!("--tag: a name that is given to an image has no digest");
    }
    if on(matches, "push") && tags.is_empty() {
        bail!("--push: say under which name, with --tag NAME");
    }
    let layout = store::open(matches)?;
    let _held = layout.lock_prune()?;
    let platforms = many(matches, "platform");
    let platforms = platforms.iter().map(|text| Ok(Platform::parse(text)?)).collect::<Result<Vec<_>>>()?;
    let platforms = if platforms.is_empty() { vec![Platform::host()] } else { platforms };
    let adds = many(matches, "add").iter().map(|text| add(text)).collect::<Result<Vec<_>>>()?;
    if adds.is_empty() && base_name(matches).is_none() {
        bail!(
            "there is nothing to build an image of: give files as --add FROM:TO, or a base as --from IMAGE"
        );
    }
    let mut images = Vec::new();
    for platform in &platforms {
        images.push(for_platform(matches, &layout, platform, &adds)?);
    }
    let image = match images.as_slice() {
        [only] => only.clone(),
        several => write_index(&layout, several, &pairs(matches, "annotation")?.into_iter().collect())?,
    };
    if tags.is_empty() {
        layout.tag(&image, None)?;
    }
    for tag in &tags {
        layout.tag(&image, Some(&tag.to_string()))?;
    }
    let (layers, bytes) = weight(&layout, &images)?;
    let mut text = format!(
        "built {} in {:.2} s: {layers} layer{}, {}\n",
        image.digest,
        began.elapsed().as_secs_f64(),
        if layers == 1 { "" } else { "s" },
        size(bytes)
    );
    for tag in &tags {
        text.push_str(&format!("named {tag}\n"));
    }
    if on(matches, "push") {
        let client = access::client(matches)?;
        access::block_on(async {
            for tag in &tags {
                access::may_push(matches, &client, &layout, &image, tag).await?;
                let line = Line::new("pushing");
                client.push(&layout, &image, tag, &line.listener()).await?;
                text.push_str(&format!("pushed {tag} ({})\n", line.end()));
            }
            Ok(())
        })?;
    }
    let names: Vec<String> = tags.iter().map(ToString::to_string).collect();
    let value = json!({"digest": image.digest.to_string(), "mediaType": image.media_type, "size": bytes,
        "names": names, "pushed": on(matches, "push"),
        "platforms": platforms.iter().map(ToString::to_string).collect::<Vec<_>>()});
    show(one(matches, "output"), &value, &text)
}

/// The base, if there is one: `scratch` is the name of none, as in a Dockerfile.
fn base_name(matches: &ArgMatches) -> Option<&str> {
    one(matches, "from").filter(|base| *base != "scratch")
}

fn for_platform(
    matches: &ArgMatches,
    layout: &Layout,
    platform: &Platform,
    adds: &[Add],
) -> Result<Descriptor> {
    let mut image = ImageBuilder::new(platform.clone());
    if let Some(base) = base_name(matches) {
        image.base =
            Some(self::base(matches, layout, base, platform).map_err(|e| anyhow!("--from {base}: {e}"))?);
    }
    let variant = platform.variant.clone().unwrap_or_default();
    let fill = |text: &str| {
        text.replace("{os}", &platform.os)
            .replace("{arch}", &platform.architecture)
            .replace("{variant}", &variant)
    };
    let mut files = Vec::new();
    for add in adds {
        let mut layer = LayerBuilder::new();
        let (from, to) = (fill(&add.from), fill(&add.to));
        layer
            .add_path(Path::new(&from), &to, add.rights)
            .map_err(|error| anyhow!("--add {from}:{to}: {error}"))?;
        image.layers.push(layer);
        files.push((from, to));
    }
    image.entrypoint = many(matches, "entrypoint");
    image.cmd = many(matches, "cmd");
    let program = image.entrypoint.first().or(image.cmd.first());
    if let (None, Some(program)) = (&image.base, program)
        && let Some(why) = start::trouble(program, &files)
    {
        if on(matches, "push") && !on(matches, "allow-no-start") {
            bail!(
                "the image would not start: {why}. Nothing is pushed; --allow-no-start pushes it all the same"
            );
        }
        complain(&format!("Warning: the image will not start: {why}"));
    }
    image.env = pairs(matches, "env")?.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    image.labels = pairs(matches, "label")?.into_iter().collect();
    image.annotations = pairs(matches, "annotation")?.into_iter().collect();
    one(matches, "user").unwrap_or_default().clone_into(&mut image.user);
    one(matches, "workdir").unwrap_or_default().clone_into(&mut image.workdir);
    let port = |port: String| if port.contains('/') { port } else { format!("{port}/tcp") };
    image.ports = many(matches, "port").into_iter().map(port).collect();
    image.created = created(matches)?;
    image.cache = Some(store::cache(matches)?);
    Ok(image.write(layout)?)
}

/// The base, brought into the local images.
fn base(matches: &ArgMatches, layout: &Layout, name: &str, platform: &Platform) -> Result<Descriptor> {
    match ImageLocation::parse(name)? {
        ImageLocation::Registry(reference) => {
            if let Some(found) = store::find(layout, name)? {
                return Ok(found);
            }
            let client = access::client(matches)?;
            let line = Line::new("pulling the base:");
            let pulled = access::block_on(async {
                Ok(client
                    .pull(&reference, layout, &Platforms::One(platform.clone()), &line.listener())
                    .await?)
            });
            line.end();
            pulled
        }
        ImageLocation::Layout(path, tag) => {
            let from = Layout::open(path)?;
            let found = from.find(tag.as_deref())?;
            import(&from, &found, layout)?;
            Ok(found)
        }
        ImageLocation::OciArchive(path, tag) => {
            let from = Archive::open(&path, &std::env::temp_dir())?;
            let found = from.find(tag.as_deref())?;
            import(&from, &found, layout)?;
            Ok(found)
        }
        ImageLocation::DockerArchive(path, tag) => docker(&path, tag.as_deref(), layout),
    }
}

/// The image of a docker archive that is meant.
pub fn docker(path: &Path, name: Option<&str>, layout: &Layout) -> Result<Descriptor> {
    let images = Archive::open(path, &std::env::temp_dir())?.load_docker(layout)?;
    match (name, images.as_slice()) {
        (None, [(only, _)]) => Ok(only.clone()),
        (Some(name), images) => {
            let found = images.iter().find(|(_, names)| names.iter().any(|other| other == name));
            let all: Vec<&str> = images.iter().flat_map(|(_, names)| names).map(String::as_str).collect();
            let missing = || anyhow!("{} has no image {name}; it has {}", path.display(), all.join(", "));
            found.map(|(image, _)| image.clone()).ok_or_else(missing)
        }
        (None, []) => bail!("{} has no image", path.display()),
        (None, _) => {
            bail!("{} has several images: say which one, as docker-archive:FILE:NAME", path.display())
        }
    }
}

/// How many layers, and how many bytes.
fn weight(layout: &Layout, images: &[Descriptor]) -> Result<(usize, u64)> {
    let (mut layers, mut bytes) = (0, 0);
    for image in images {
        if let ManifestOrIndex::Manifest(manifest) = (layout as &dyn BlobSource).manifest_or_index(image)? {
            layers += manifest.layers.len();
            bytes += manifest.layers.iter().map(|layer| layer.size).sum::<u64>()
                + manifest.config.size
                + image.size;
        }
    }
    Ok((layers, bytes))
}
