//! `bundle build` and `bundle push`.

use anyhow::{Context, Result, anyhow, bail};
use clap::ArgMatches;
use podium_bundle::compare::compare;
use podium_bundle::render::{CertificateProvider, Options};
use podium_bundle::{BundleFiles, RegistryBundle, generate, validate};
use podium_oci::build::{FileAttributes, ImageBuilder, LayerBuilder};
use podium_oci::{Client, Descriptor, ImageLocation, Layout, Platform, Reference, no_progress};
use podium_versions::blang::Version;
use serde_json::json;

use super::compare::{dishonest, text};
use super::input::{arguments, flat, read};
use super::show::{Form, form, structured, told};
use crate::flag::{on, one};
use crate::image::access::{block_on, client, keep_published};
use crate::image::store;
use crate::output::{complain, print};
use crate::scratch::Scratch;

/// A bundle that may be made an image of.
struct Ready {
    tree: BundleFiles,
    parsed: RegistryBundle,
    version: Version,
}

fn ready(place: &str, matches: &ArgMatches) -> Result<Ready> {
    let tree = read(place, matches)?;
    let options = Options {
        install_namespace: "default".to_owned(),
        certificate_provider: Some(CertificateProvider::CertManager),
        ..Options::default()
    };
    let findings = validate(&tree, &options);
    if !findings.is_empty() {
        bail!("{place} is not valid:\n{}", told(&findings));
    }
    let parsed = RegistryBundle::new(&tree).map_err(|finding| anyhow!("{finding}"))?;
    let said = parsed.version().map_err(|finding| anyhow!("{finding}"))?.to_owned();
    let version = Version::parse(&said).with_context(|| {
        format!("{place}: the version {said:?} is no semantic version; catalogs refuse it: write it as 1.2.3")
    });
    Ok(Ready { tree, parsed, version: version.map_err(flat)? })
}

/// Refuses a version that says less than has changed.
fn honest(old: &BundleFiles, ready: &Ready, matches: &ArgMatches) -> Result<()> {
    let comparison = compare(old, &ready.tree)?;
    if comparison.satisfies_semver() {
        return Ok(());
    }
    complain(text(&comparison).trim_end());
    if on(matches, "allow-breaking") {
        complain(&format!("Warning: {}", dishonest(&comparison)));
        return Ok(());
    }
    bail!("{}; or say --allow-breaking", dishonest(&comparison))
}

/// Makes the image: the files of the bundle, and the labels by which it is known as one.
fn image(ready: &Ready) -> Result<(Scratch, Layout, Descriptor)> {
    let folder = Scratch::new("podium-bundle")?;
    let layout = Layout::create_transient(folder.path())?;
    let descriptor = write(ready, &layout)?;
    Ok((folder, layout, descriptor))
}

fn write(ready: &Ready, layout: &Layout) -> Result<Descriptor> {
    let mut layer = LayerBuilder::new();
    for (path, data) in ready.tree.iter() {
        layer.add_file(&format!("/{path}"), data.to_vec(), FileAttributes::default())?;
    }
    // Bundles have no program: which processor is said only because something has to be.
    let mut image = ImageBuilder::new(Platform::parse("linux/amd64")?);
    image.layers.push(layer);
    let channels = ready.parsed.channels.join(",");
    for (key, value) in [
        (generate::MEDIA_TYPE_LABEL, "registry+v1"),
        (generate::MANIFESTS_LABEL, "manifests/"),
        (generate::METADATA_LABEL, "metadata/"),
        (podium_bundle::PACKAGE_LABEL, &ready.parsed.package),
        (podium_bundle::CHANNELS_LABEL, &channels),
        (podium_bundle::DEFAULT_CHANNEL_LABEL, &ready.parsed.default_channel),
    ] {
        if !value.is_empty() {
            image.labels.insert(key.to_owned(), value.to_owned());
        }
    }
    Ok(image.write(layout)?)
}

/// `bundle build`.
pub fn build(matches: &ArgMatches) -> Result<()> {
    let [place, to] = arguments(matches, "build", "BUNDLE NAME")?;
    let form = form(matches, Form::Text)?;
    let to = ImageLocation::parse(&to)?;
    let ready = ready(&place, matches)?;
    if let Some(previous) = one(matches, "previous") {
        honest(&read(previous, matches)?, &ready, matches)?;
    }
    let (layout, name) = match &to {
        ImageLocation::Layout(path, name) => (Layout::create(path)?, name.clone()),
        ImageLocation::Registry(reference) => (store::open(matches)?, Some(reference.to_string())),
        _ => bail!("{to}: write a reference, or oci:PATH[:NAME]; `podium image save` makes archives"),
    };
    let descriptor = write(&ready, &layout)?;
    layout.tag(&descriptor, name.as_deref())?;
    done(&ready, &to.to_string(), &descriptor, form)
}

/// `bundle push`.
pub fn push(matches: &ArgMatches) -> Result<()> {
    let [place, to] = arguments(matches, "push", "BUNDLE REFERENCE")?;
    let form = form(matches, Form::Text)?;
    let ImageLocation::Registry(reference) = ImageLocation::parse(&to)? else {
        bail!("{to} is no reference: write REGISTRY/NAME:TAG; `podium bundle build` writes to oci:PATH")
    };
    let ready = ready(&place, matches)?;
    let tagged = reference.tag.as_deref().unwrap_or_default();
    let said = Version::parse(tagged.strip_prefix('v').unwrap_or(tagged));
    if said.is_ok_and(|said| said.compare(&ready.version).is_ne()) {
        bail!("the bundle in {place} is of version {}, and the tag says {tagged}", ready.version);
    }
    let client = client(matches)?;
    match one(matches, "previous") {
        Some("none") => {}
        Some(previous) => honest(&read(previous, matches)?, &ready, matches)?,
        None => {
            if let Some(older) = block_on(older(&client, &reference, &ready.version))? {
                let old = read(&older.to_string(), matches);
                let old = old.with_context(|| {
                    format!("{older}, the version before, cannot be read (--previous names another, or none)")
                });
                honest(&old.map_err(flat)?, &ready, matches)?;
            }
        }
    }
    let (_folder, layout, descriptor) = image(&ready)?;
    block_on(async {
        if !on(matches, "overwrite") {
            keep_published(&client, &reference, &descriptor, ", or say --overwrite").await?;
        }
        client.push(&layout, &descriptor, &reference, &no_progress()).await?;
        Ok(())
    })?;
    done(&ready, &reference.to_string(), &descriptor, form)
}

/// The newest version in a repository that is older than this one.
async fn older(client: &Client, reference: &Reference, version: &Version) -> Result<Option<Reference>> {
    let tags = match client.tags(reference).await {
        Ok(tags) => tags,
        Err(error) if error.is_not_found() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let versions = tags.iter().filter_map(|tag| {
        let parsed = Version::parse(tag.strip_prefix('v').unwrap_or(tag)).ok()?;
        (parsed.compare(version) == std::cmp::Ordering::Less).then_some((parsed, tag))
    });
    let newest = versions.max_by(|a, b| a.0.compare(&b.0));
    newest.map(|(_, tag)| reference.with_tag(tag)).transpose().map_err(Into::into)
}

fn done(ready: &Ready, place: &str, descriptor: &Descriptor, form: Form) -> Result<()> {
    let name = &ready.parsed.name;
    match form {
        Form::Text => print(format!("{name} is {place}\ndigest: {}\n", descriptor.digest).as_bytes()),
        form => structured(
            json!({"name": name, "package": ready.parsed.package, "image": place, "digest": descriptor.digest.to_string()}),
            form,
        ),
    }
}
