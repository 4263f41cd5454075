//! `podium catalog build` and `podium catalog push`.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use clap::ArgMatches;
use podium_catalog::compat::OpmCompat;
use podium_catalog::declcfg::{DeclarativeConfig, MetaKind};
use podium_catalog::diff::diff;
use podium_catalog::model::convert_to_model;
use podium_catalog::write::{Format, to_vec};
use podium_catalog::{CatalogSummary, Meta, write::sorted_metas};
use podium_deploy::object::parse_manifest;
use podium_oci::build::{FileAttributes, ImageBuilder, LayerBuilder};
use podium_oci::{Client, Descriptor, ImageLocation, Layout, Platform, Reference, no_progress};
use podium_versions::blang::Version;
use serde_json::{Value, json};

use super::diff::text;
use super::images::{CONFIGS, FOLDER, documents};
use super::input::catalog;
use super::output::{arguments, format, generation, print_value, refused};
use super::template::{self, is_template};
use crate::bundle::input::flat;
use crate::flag::{many, on, one};
use crate::image::access::{block_on, client};
use crate::output::{complain, print};

/// A catalog that may be published.
struct Ready {
    config: DeclarativeConfig,
}

/// Reads a catalog or makes it from a template, and checks it.
fn ready(place: &str, matches: &ArgMatches) -> Result<Ready> {
    let generation = generation(matches)?;
    let config = match is_template(place) {
        true => template::make(&template::read(place)?, None, generation, matches, place)?,
        false => {
            let mut config = catalog(place, generation, matches)?;
            config.normalize();
            config
        }
    };
    convert_to_model(&CatalogSummary::from_config(&config, generation), generation)
        .map_err(|problem| refused(problem, place))?;
    if config.of_kind(MetaKind::Bundle).next().is_none() {
        bail!("{place} has no bundles: there is nothing to publish");
    }
    for file in many(matches, "chart") {
        check_chart(&config, &file)?;
    }
    Ok(Ready { config })
}

/// Refuses a catalog that takes away what the published one has.
fn keeps(old: &DeclarativeConfig, ready: &Ready, name: &str, matches: &ArgMatches) -> Result<()> {
    let changes = diff(old, &ready.config);
    let broken: Vec<_> = changes.iter().filter(|change| change.breaks_installed()).cloned().collect();
    if broken.is_empty() {
        return Ok(());
    }
    complain(text(&broken).trim_end());
    let names: Vec<&str> = broken.iter().map(|change| change.name.as_str()).collect();
    let words = format!(
        "{} in {name} and gone or another one now: those who installed a version need it in the catalog",
        match names.as_slice() {
            [one] => format!("{one} is"),
            several => format!("{} are", several.join(", ")),
        }
    );
    if on(matches, "allow-removal") {
        complain(&format!("Warning: {words}"));
        return Ok(());
    }
    bail!("{words}. Put the versions back, or say --allow-removal")
}

/// Refuses bundles for whose resources the catalog chart has no definition in that version.
fn check_chart(config: &DeclarativeConfig, chart: &str) -> Result<()> {
    let crds = definitions(chart)?;
    let mut missing = BTreeSet::new();
    for bundle in config.of_kind(MetaKind::Bundle) {
        let owned = bundle.properties().filter(|property| property.ty == "olm.gvk").filter_map(|property| {
            let value = property.value?;
            Some(["group", "version", "kind"].map(|key| value.string(key).into_owned()))
        });
        for [group, version, kind] in owned.chain(exemplified(bundle)) {
            if !crds.contains(&(group.clone(), version.clone(), kind.clone()))
                && !is_inside(bundle, &group, &kind)
            {
                missing.insert(format!(
                    "{} of {}: {kind} in {group}/{version}",
                    bundle.header.name, bundle.header.package
                ));
            }
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let known: Vec<String> =
        crds.iter().map(|(group, version, kind)| format!("{kind} in {group}/{version}")).collect();
    bail!(
        "{chart} does not define what these bundles manage:\n  {}\nIt defines {}. Add the version to the chart first: \
         an operator without its CRD fails in the cluster",
        missing.into_iter().collect::<Vec<_>>().join("\n  "),
        if known.is_empty() { "no resources".to_owned() } else { known.join(", ") }
    )
}

/// The kinds that the author gives examples of: bundles without definitions own none, and still answer for some.
fn exemplified(bundle: &Meta) -> Vec<[String; 3]> {
    let mut found = Vec::new();
    for object in bundle.objects() {
        let Ok(node) = podium_goyaml::yaml::parse(&object, 0) else { continue };
        let examples = ["metadata", "annotations", "alm-examples"];
        let examples =
            examples.iter().try_fold(&node, |node, key| node.get(key)).and_then(|node| node.as_str());
        let Ok(Value::Array(examples)) = serde_json::from_str(examples.unwrap_or_default()) else { continue };
        for example in &examples {
            let text = |key: &str| example.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            let api = text("apiVersion");
            if let Some((group, version)) = api.split_once('/') {
                found.push([group.to_owned(), version.to_owned(), text("kind")]);
            }
        }
    }
    found
}

/// Whether a bundle brings the definition itself.
fn is_inside(bundle: &Meta, group: &str, kind: &str) -> bool {
    bundle.objects().iter().any(|object| {
        let Ok(node) = podium_goyaml::yaml::parse(object, 0) else { return false };
        let string = |path: &[&str]| {
            path.iter()
                .try_fold(&node, |node, key| node.get(key))
                .and_then(|node| node.as_str().map(str::to_owned))
        };
        string(&["kind"]).as_deref() == Some("CustomResourceDefinition")
            && string(&["spec", "group"]).as_deref() == Some(group)
            && string(&["spec", "names", "kind"]).as_deref() == Some(kind)
    })
}

/// The resources that a chart defines: group, version, kind.
fn definitions(chart: &str) -> Result<BTreeSet<(String, String, String)>> {
    let text = crate::chart::with_defaults(Path::new(chart))?;
    let mut found = BTreeSet::new();
    for object in parse_manifest(&text).map_err(|error| anyhow!("{chart}: {error}"))? {
        let body = object.body;
        if body["kind"] != "CustomResourceDefinition" {
            continue;
        }
        let string = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        for version in body["spec"]["versions"].as_array().into_iter().flatten() {
            let kind = string(&body["spec"]["names"]["kind"]);
            found.insert((string(&body["spec"]["group"]), string(&version["name"]), kind));
        }
    }
    Ok(found)
}

/// Makes the image: a file per package under `/configs`, and the label that says so.
fn write(ready: &Ready, layout: &Layout) -> Result<Descriptor> {
    let mut layer = LayerBuilder::new();
    let metas = sorted_metas(&ready.config);
    for part in metas.chunk_by(|a, b| a.package() == b.package()) {
        let package = part.first().map(|meta| meta.package()).unwrap_or_default();
        let path = match package {
            "" => format!("{FOLDER}/catalog.yaml"),
            package => format!("{FOLDER}/{package}/catalog.yaml"),
        };
        let config = DeclarativeConfig { metas: part.iter().map(|meta| (*meta).clone()).collect() };
        layer.add_file(&path, to_vec(&config, Format::Yaml)?, FileAttributes::default())?;
    }
    // A catalog has no program: which processor is said only because something has to be.
    let mut image = ImageBuilder::new(Platform::parse("linux/amd64")?);
    image.layers.push(layer);
    image.labels.insert(CONFIGS.to_owned(), FOLDER.to_owned());
    Ok(image.write(layout)?)
}

/// `catalog build`.
pub fn build(matches: &ArgMatches) -> Result<()> {
    let args = arguments(matches, 2, 2, "build CATALOG oci:PATH[:NAME]")?;
    let [place, to] = [0, 1].map(|at| args.get(at).map(String::as_str).unwrap_or_default());
    let form = format(matches, &["text", "json", "yaml"])?;
    let Ok(ImageLocation::Layout(path, name)) = ImageLocation::parse(to) else {
        bail!("{to}: write oci:PATH[:NAME] for a folder of images; `podium catalog push` sends to a registry")
    };
    let ready = ready(place, matches)?;
    let published = match one(matches, "published") {
        Some("none") => None,
        Some(published) => Some((published.to_owned(), documents(published, matches, OpmCompat::V173)?)),
        // The image that this one replaces.
        None => Layout::open(&path)
            .ok()
            .and_then(|layout| layout.find(name.as_deref()).ok())
            .and_then(|_| Some((to.to_owned(), documents(to, matches, OpmCompat::V173).ok()?))),
    };
    if let Some((name, old)) = published {
        keeps(&old, &ready, &name, matches)?;
    }
    let layout = Layout::create(path)?;
    let descriptor = write(&ready, &layout)?;
    layout.tag(&descriptor, name.as_deref())?;
    done(&ready, to, &descriptor, form)
}

/// `catalog push`.
pub fn push(matches: &ArgMatches) -> Result<()> {
    let args = arguments(matches, 2, 2, "push CATALOG REFERENCE")?;
    let [place, to] = [0, 1].map(|at| args.get(at).map(String::as_str).unwrap_or_default());
    let form = format(matches, &["text", "json", "yaml"])?;
    let ImageLocation::Registry(reference) = ImageLocation::parse(to)? else {
        bail!("{to} is no reference: write REGISTRY/NAME:TAG; `podium catalog build` writes to oci:PATH")
    };
    let ready = ready(place, matches)?;
    let client = client(matches)?;
    let published = match one(matches, "published") {
        Some("none") => None,
        Some(published) => Some(published.to_owned()),
        None => block_on(newest(&client, &reference))?.map(|reference| reference.to_string()),
    };
    if let Some(published) = published {
        let old = documents(&published, matches, OpmCompat::V173);
        let old = old.with_context(|| {
            format!("{published}, the catalog that is published, cannot be read (--published names another, or none)")
        });
        keeps(&old.map_err(flat)?, &ready, &published, matches)?;
    }
    let folder = tempfolder()?;
    let pushed = (|| {
        let layout = Layout::create_transient(&folder)?;
        let descriptor = write(&ready, &layout)?;
        block_on(async { Ok(client.push(&layout, &descriptor, &reference, &no_progress()).await?) })?;
        Ok::<_, anyhow::Error>(descriptor)
    })();
    let _ = std::fs::remove_dir_all(&folder);
    done(&ready, &reference.to_string(), &pushed?, form)
}

/// The catalog that is published: what the tag names now, or else the newest version in the repository.
async fn newest(client: &Client, reference: &Reference) -> Result<Option<Reference>> {
    if client.resolve(reference).await?.is_some() {
        return Ok(Some(reference.clone()));
    }
    let tags = match client.tags(reference).await {
        Ok(tags) => tags,
        Err(error) if error.is_not_found() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let versions =
        tags.iter().filter_map(|tag| Some((Version::parse(tag.strip_prefix('v').unwrap_or(tag)).ok()?, tag)));
    let newest = versions.max_by(|a, b| a.0.compare(&b.0)).map(|(_, tag)| tag);
    newest.map(|tag| reference.with_tag(tag)).transpose().map_err(Into::into)
}

/// A folder for as long as it is needed.
fn tempfolder() -> Result<std::path::PathBuf> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    let path = std::env::temp_dir().join(format!("podium-catalog-{:016x}", u64::from_le_bytes(bytes)));
    std::fs::create_dir(&path)?;
    Ok(path)
}

fn done(ready: &Ready, place: &str, descriptor: &Descriptor, form: &str) -> Result<()> {
    let packages = ready.config.package_names();
    let bundles = ready.config.of_kind(MetaKind::Bundle).count();
    match form {
        "text" => print(
            format!(
                "{place} has {bundles} version{} of {}\ndigest: {}\n",
                if bundles == 1 { "" } else { "s" },
                packages.join(", "),
                descriptor.digest
            )
            .as_bytes(),
        ),
        form => print_value(
            json!({ "image": place, "digest": descriptor.digest.to_string(), "packages": packages, "bundles": bundles }),
            form,
        ),
    }
}
