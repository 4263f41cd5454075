//! Charts in registries.

use podium_chart::dialect::{Dialect, HELM4};
use podium_chart::load::load_archive_bytes;
use podium_chart::metadata::Metadata;
use podium_chart::metadata::encode::{self, Fields, Laid, Layout, METADATA, PLAIN};
use podium_goyaml::{Value, json};
use podium_oci::blob_source::MemoryBlobs;
use podium_oci::{BlobSource, Descriptor, ManifestOrIndex, Platforms, Reference, no_progress};
use podium_versions::masterminds::{Constraints, Version};

use crate::chart::remote::{MAX_ARCHIVE, OCI, Remote, told};

const CONFIG: &str = "application/vnd.cncf.helm.config.v1+json";
const CHART: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";
const OLD_CHART: &str = "application/tar+gzip";
const PROVENANCE: &str = "application/vnd.cncf.helm.chart.provenance.v1.prov";
const MAX_PROVENANCE: u64 = 1 << 20;

/// A chart that came from a registry.
pub struct Pulled {
    /// `NAME-VERSION.tgz`.
    pub file_name: String,
    /// The archive.
    pub chart: Vec<u8>,
    /// Its signature, if it has one.
    pub provenance: Option<Vec<u8>>,
    /// What there is to say of it.
    pub told: String,
}

/// A tag cannot have a plus sign; Helm writes an underscore for it.
fn tag_of(version: &str) -> String {
    version.replace('+', "_")
}

/// The name of a chart in a registry.
fn parse(reference: &str) -> Result<Reference, String> {
    let name = reference.strip_prefix(OCI).unwrap_or(reference);
    let (path, digest) = name.split_once('@').map_or((name, None), |(path, digest)| (path, Some(digest)));
    let slash = path
        .rfind('/')
        .ok_or_else(|| format!("{reference} does not name a chart: write oci://HOST/PATH/NAME"))?;
    let (head, tail) = path.split_at(slash);
    let tail = match tail.split_once(':') {
        Some((name, tag)) => format!("{name}:{}", tag_of(tag)),
        None => tail.to_owned(),
    };
    let digest = digest.map(|digest| format!("@{digest}")).unwrap_or_default();
    Reference::parse_without_default_tag(&format!("{head}{tail}{digest}")).map_err(|error| error.to_string())
}

/// The versions of a chart, the newest first.
pub fn versions(remote: &Remote, reference: &str) -> Result<Vec<String>, String> {
    let name = parse(reference)?;
    let (runtime, client) = remote.registry(&name.registry);
    let tags = runtime.block_on(client.tags(&name)).map_err(|error| error.to_string())?;
    let mut versions: Vec<Version> =
        tags.iter().filter_map(|tag| Version::strict(tag.replace('_', "+")).ok()).collect();
    versions.sort_by(|a, b| b.compare(a));
    Ok(versions.iter().map(ToString::to_string).collect())
}

/// The newest version in a range.
fn choose(versions: &[String], range: &str, dialect: &Dialect) -> Result<String, String> {
    if let Some(exact) = versions.iter().find(|version| *version == range) {
        return Ok(exact.clone());
    }
    let wanted = if range.is_empty() { "*" } else { range };
    let constraint = Constraints::new(wanted).map_err(|error| error.to_string())?;
    let fits = |version: &&String| Version::new(version).is_ok_and(|version| constraint.check(&version));
    let none = || format!("{} {range}", dialect.no_such_tag);
    versions.iter().find(fits).cloned().ok_or_else(none)
}

/// Gets a chart. The range is the exact version if the reference does not have one.
pub fn pull(remote: &Remote, reference: &str, range: &str) -> Result<Pulled, String> {
    let mut name = parse(reference)?;
    if let Some(tag) = &name.tag {
        if !range.is_empty() && tag_of(range) != *tag {
            return Err(format!(
                "chart reference and version mismatch: {range} is not {}",
                tag.replace('_', "+")
            ));
        }
    } else if name.digest.is_none() {
        let version = match Version::new(range) {
            Ok(_) => range.to_owned(),
            Err(_) => {
                let all = versions(remote, reference)?;
                if all.is_empty() {
                    return Err(format!("unable to locate any tags in provided repository: {reference}"));
                }
                choose(&all, range, remote.dialect)?
            }
        };
        name = name.with_tag(&tag_of(&version)).map_err(|error| error.to_string())?;
    }
    let (runtime, client) = remote.registry(&name.registry);
    let words = |error: podium_oci::client::Error| error.to_string();
    let opened = runtime.block_on(client.open(&name, &Platforms::All)).map_err(words)?;
    let root = opened.root.clone();
    let blobs: &dyn BlobSource = &opened;
    let document =
        opened.documents().find(|(digest, ..)| **digest == root.digest).map(|(_, document, _)| document);
    let Some(ManifestOrIndex::Manifest(manifest)) = document else {
        return Err(format!("{name} is a list of images and no chart"));
    };
    if manifest.config.media_type != CONFIG {
        return Err(format!("could not load config with mediatype {CONFIG}"));
    }
    let layer = |kind: &str| manifest.layers.iter().find(|layer| layer.media_type == kind);
    let Some(layer_of_chart) = layer(CHART).or_else(|| layer(OLD_CHART)) else {
        return Err(format!("manifest does not contain a layer with mediatype {CHART}"));
    };
    let read = |blob: &Descriptor, limit: u64| blobs.read(blob, limit).map_err(|error| error.to_string());
    let chart = read(layer_of_chart, MAX_ARCHIVE as u64)?;
    let provenance = layer(PROVENANCE).map(|blob| read(blob, MAX_PROVENANCE)).transpose()?;
    let told = told("Pulled", &shown(&name), &root.digest.to_string());
    let last = name.repository.rsplit('/').next().unwrap_or_default();
    let version = match &name.tag {
        Some(tag) => tag.replace('_', "+"),
        None => metadata_of(&chart)?.version,
    };
    Ok(Pulled { file_name: format!("{last}-{version}.tgz"), chart, provenance, told })
}

/// A name as helm writes it, with a tag or with a digest.
fn shown(name: &Reference) -> String {
    name.to_string()
}

fn metadata_of(archive: &[u8]) -> Result<Metadata, String> {
    let loaded = load_archive_bytes(archive, "the archive", &HELM4.reading_plainly());
    Ok(loaded.map_err(|error| error.to_string())?.chart.metadata.clone())
}

/// Sends a chart to a registry, with its signature if it has one. `created` is when its archive was written.
pub fn push(
    remote: &Remote,
    archive: Vec<u8>,
    provenance: Option<Vec<u8>>,
    to: &str,
    created: &str,
) -> Result<(), String> {
    let metadata = metadata_of(&archive)?;
    let path = to.strip_prefix(OCI).unwrap_or(to).trim_end_matches('/');
    let name = parse(&format!("{path}/{}:{}", metadata.name, metadata.version))?;
    let mut blobs = MemoryBlobs::default();
    let config = json::to_string(&Laid { node: &encode::metadata(&metadata), layout: &METADATA })
        .map_err(|error| error.to_string())?;
    let config = blobs.put_blob(CONFIG, config);
    let mut layers = vec![blobs.put_blob(CHART, archive)];
    layers.extend(provenance.map(|text| blobs.put_blob(PROVENANCE, text)));
    layers.sort_by_key(|layer| layer.digest.to_string());
    let bytes =
        manifest(&config, &layers, &annotations(&metadata, created)).map_err(|error| error.to_string())?;
    let image = blobs.put_blob(podium_oci::model::MEDIA_TYPE_MANIFEST, bytes);
    let (runtime, client) = remote.registry(&name.registry);
    let pushed = runtime.block_on(client.push(&blobs, &image, &name, &no_progress()));
    let pushed = pushed.map_err(|error| error.to_string())?;
    remote.tell(&told("Pushed", &shown(&name), &pushed.digest.to_string()))
}

/// The manifest, to the byte as helm writes it: a chart that both push has one digest.
fn manifest(
    config: &Descriptor,
    layers: &[Descriptor],
    annotations: &[(String, String)],
) -> Result<Vec<u8>, json::Error> {
    static DESCRIPTOR: Layout = Layout {
        fields: &[("mediaType", &PLAIN), ("digest", &PLAIN), ("size", &PLAIN)],
        embedded: None,
        each: None,
    };
    static LAYERS: Layout = Layout { fields: &[], embedded: None, each: Some(&DESCRIPTOR) };
    static MANIFEST: Layout = Layout {
        fields: &[
            ("schemaVersion", &PLAIN),
            ("config", &DESCRIPTOR),
            ("layers", &LAYERS),
            ("annotations", &PLAIN),
        ],
        embedded: None,
        each: None,
    };
    let number = |number: u64| encode::node(Value::Int(i64::try_from(number).unwrap_or(i64::MAX)));
    let descriptor = |blob: &Descriptor| {
        let fields =
            Fields::default().text("mediaType", &blob.media_type).text("digest", &blob.digest.to_string());
        fields.put("size", number(blob.size)).done()
    };
    let said = annotations.iter().fold(Fields::default(), |fields, (key, value)| {
        fields.put(key, encode::node(Value::String(value.as_str().into())))
    });
    let node = Fields::default()
        .put("schemaVersion", number(2))
        .put("config", descriptor(config))
        .put("layers", encode::list(layers.iter().map(descriptor)))
        .put("annotations", said.done())
        .done();
    json::to_string(&Laid { node: &node, layout: &MANIFEST })
}

/// What the manifest says about the chart.
fn annotations(metadata: &Metadata, created: &str) -> Vec<(String, String)> {
    const STANDARD: &str = "org.opencontainers.image";
    let people = metadata.maintainers.iter().map(|person| match person.email.is_empty() {
        true => person.name.clone(),
        false => format!("{} ({})", person.name, person.email),
    });
    let standard = [
        ("description", metadata.description.clone()),
        ("title", metadata.name.clone()),
        ("version", metadata.version.clone()),
        ("url", metadata.home.clone()),
        ("created", created.to_owned()),
        ("source", metadata.sources.first().cloned().unwrap_or_default()),
        ("authors", people.collect::<Vec<_>>().join(", ")),
    ];
    let mut all: Vec<(String, String)> = standard
        .into_iter()
        .filter(|(_, value)| !value.trim().is_empty())
        .map(|(key, value)| (format!("{STANDARD}.{key}"), value))
        .collect();
    let fixed = [format!("{STANDARD}.title"), format!("{STANDARD}.version")];
    for (key, value) in metadata.annotations.iter().flatten().filter(|(key, _)| !fixed.contains(key)) {
        all.retain(|(other, _)| other != key);
        all.push((key.clone(), value.clone()));
    }
    all
}
