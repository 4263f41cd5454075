//! `olm.semver`: derives channels, upgrade edges and the default channel from bundle versions.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use podium_goyaml::yaml::{self, Error as YamlError};
use podium_goyaml::{Map, Node, Pos, Value};
use podium_versions::blang::Version;

use super::RenderImage;
use super::link::{VersionedEntry, link_v151, link_v173};
use crate::compat::OpmCompat;
use crate::declcfg::{DeclarativeConfig, Meta, MetaKind, SCHEMA_CHANNEL, SCHEMA_PACKAGE};
use crate::error::{CatalogError, SourceSpan, quote};
use crate::go_types;
use crate::summary::{ChannelEntry, package_properties};

/// Schema of semver templates.
pub const SCHEMA: &str = "olm.semver";

/// Channel archetypes, least stable first.
pub const CHANNEL_ARCHETYPES: [&str; 3] = ["candidate", "fast", "stable"];

/// Granularity of generated channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum StreamType {
    /// Per major version: `stable-v1`.
    Major,
    /// Per minor version: `stable-v1.2`.
    Minor,
}

/// A parsed template.
#[derive(Clone, Debug)]
pub struct Template {
    generate_major: bool,
    generate_minor: bool,
    preference: StreamType,
    /// Bundle images by channel archetype.
    pub images: [Vec<String>; 3],
}

/// Parses a template. Unknown fields are rejected; keys match case-insensitively.
pub fn read(text: &[u8], compat: OpmCompat) -> Result<Template, CatalogError> {
    let ty = if compat == OpmCompat::V151 { &go_types::V151_SEMVER } else { &go_types::SEMVER };
    let parse_error = |error: YamlError| {
        CatalogError::at(SourceSpan { file: "".into(), line: error.pos().line }, error.to_string())
    };
    let node = yaml::parse_strict(text, 0, ty).map_err(parse_error)?;
    let flag = |key: &str| node.get(key).and_then(Node::as_bool).unwrap_or(false);
    let string = |key: &str| node.get(key).and_then(Node::as_str).unwrap_or_default();
    if string("schema") != SCHEMA {
        let text = format!("readFile: input file has unknown schema, should be {}", quote(SCHEMA));
        return Err(CatalogError::new(text));
    }
    let generate_major = flag("generateMajorChannels");
    let generate_minor = flag("generateMinorChannels") || !generate_major;
    let preference = match string("defaultChannelTypePreference") {
        "" if generate_minor => StreamType::Minor,
        "" => StreamType::Major,
        "minor" if generate_minor => StreamType::Minor,
        "major" if generate_major => StreamType::Major,
        name @ ("minor" | "major") => {
            return Err(CatalogError::new(format!(
                "schema attribute mismatch: DefaultChannelTypePreference set to '{name}' doesn't make sense if not \
                 generating {name}-version channels"
            )));
        }
        other => {
            return Err(CatalogError::new(format!(
                "unknown DefaultChannelTypePreference: {}\nValid values are 'major' or 'minor'",
                quote(other)
            )));
        }
    };
    let images = CHANNEL_ARCHETYPES.map(|archetype| {
        let bundles =
            node.get(archetype).and_then(|archetype| archetype.get("bundles")).and_then(Node::as_list);
        let image = |bundle: &Node| bundle.get("image").and_then(Node::as_str).unwrap_or_default().to_owned();
        bundles.map(|list| list.iter().map(image).collect()).unwrap_or_default()
    });
    Ok(Template { generate_major, generate_minor, preference, images })
}

/// Renders a template to a catalog.
pub fn render(
    text: &[u8],
    compat: OpmCompat,
    render: RenderImage<'_>,
) -> Result<DeclarativeConfig, CatalogError> {
    let template = read(text, compat).map_err(|error| error.prefixed("render: unable to read file: "))?;
    let mut rendered: BTreeMap<&str, String> = BTreeMap::new();
    let mut config = DeclarativeConfig::default();
    for image in template.images.iter().flatten() {
        if rendered.contains_key(image.as_str()) {
            continue;
        }
        let metas = render(image)?;
        let bundles: Vec<&Meta> = metas.iter().filter(|meta| meta.kind == MetaKind::Bundle).collect();
        let [bundle] = bundles.as_slice() else {
            let (image, count) = (quote(image), bundles.len());
            return Err(CatalogError::new(format!(
                "bundle reference {image} resulted in {count} bundles, expected 1"
            )));
        };
        rendered.insert(image, bundle.string("image").into_owned());
        config.metas.extend(metas);
    }
    if !config.metas.iter().any(|meta| meta.kind == MetaKind::Bundle) {
        return Err(CatalogError::new("render: no bundles specified or no bundles could be rendered"));
    }
    let mut reader = VersionReader { template: &template, rendered, compat, package: None };
    let versions_by_archetype = reader
        .read_versions(&config)
        .map_err(|error| error.prefixed("render: unable to post-process bundle info: "))?;
    let package = reader.package.unwrap_or_default();
    let (channels, default) = channels(&template, versions_by_archetype, compat);
    let mut node =
        string_map_node([("schema", SCHEMA_PACKAGE), ("name", &package), ("defaultChannel", &default)]);
    if compat == OpmCompat::V173
        && let Some(head) = channels.get(&default).and_then(|entries| entries.last())
    {
        copy_description_and_icon(&mut node, &config, &head.name);
    }
    let file: Arc<str> = "".into();
    config.metas.push(Meta::from_node(&node, &file)?);
    for (name, entries) in channels {
        let mut node = string_map_node([("schema", SCHEMA_CHANNEL), ("name", &name), ("package", &package)]);
        let entries = entries.iter().map(entry_node).collect::<podium_goyaml::List>();
        if let Some(map) = node.as_map_mut() {
            map.insert("entries", Value::List(entries));
        }
        config.metas.push(Meta::from_node(&node, &file)?);
    }
    Ok(config)
}

struct VersionReader<'t> {
    template: &'t Template,
    /// Image of the rendered bundle, by image in the template.
    rendered: BTreeMap<&'t str, String>,
    compat: OpmCompat,
    package: Option<String>,
}

/// Bundle names and versions of a channel archetype.
pub(super) type Versions = Vec<(String, Version)>;

impl VersionReader<'_> {
    /// Returns the bundle versions of each channel archetype, sorted.
    fn read_versions(&mut self, config: &DeclarativeConfig) -> Result<[Versions; 3], CatalogError> {
        let mut all = [Vec::new(), Vec::new(), Vec::new()];
        for (images, versions) in self.template.images.iter().zip(&mut all) {
            *versions = self.read_archetype(images, config)?;
            reject_build_metadata_ties(versions)?;
            versions.sort_by(|a, b| a.1.compare(&b.1));
        }
        Ok(all)
    }

    fn read_archetype(
        &mut self,
        images: &[String],
        config: &DeclarativeConfig,
    ) -> Result<Versions, CatalogError> {
        let mut versions: Versions = Vec::new();
        for image in images {
            let rendered_image = self.rendered.get(image.as_str());
            let found = config.of_kind(MetaKind::Bundle).find(|meta| {
                rendered_image.is_some_and(|rendered_image| meta.string("image") == *rendered_image)
            });
            let Some(bundle) = found else {
                return Err(CatalogError::new(format!(
                    "supplied bundle image name {} not found in rendered bundle images",
                    quote(image)
                )));
            };
            let name = bundle.header.name.clone();
            let properties = package_properties(bundle, self.compat).map_err(|(_, text)| {
                CatalogError::new(format!("parse properties for bundle {}: {text}", quote(&name)))
            })?;
            let [property] = properties.as_slice() else {
                return Err(CatalogError::new(format!(
                    "bundle {} has multiple \"olm.package\" properties, expected exactly 1",
                    quote(&name)
                )));
            };
            let version = Version::parse(&property.version).map_err(|error| {
                let (name, version) = (quote(&name), quote(&property.version));
                CatalogError::new(format!("bundle {name} has invalid version {version}: {error}"))
            })?;
            match &self.package {
                Some(package) if !package.is_empty() && *package != property.name => {
                    return Err(CatalogError::new(format!(
                        "bundle {} does not belong to this package: {}",
                        quote(&property.name),
                        quote(package)
                    )));
                }
                Some(package) if !package.is_empty() => {}
                _ => self.package = Some(property.name.clone()),
            }
            if versions.iter().any(|(other, _)| *other == name) {
                return Err(CatalogError::new(format!("duplicate bundle name {}", quote(&name))));
            }
            versions.push((name, version));
        }
        Ok(versions)
    }
}

/// Rejects versions that differ only in build metadata.
fn reject_build_metadata_ties(versions: &Versions) -> Result<(), CatalogError> {
    let mut seen = BTreeMap::new();
    let mut errors = Vec::new();
    for (_, version) in versions {
        let without_build = Version { build: Vec::new(), ..version.clone() }.to_string();
        if seen.insert(without_build.clone(), ()).is_some() {
            let version = quote(&version.to_string());
            errors.push(format!("bundle version {version} cannot be compared to {}", quote(&without_build)));
        }
    }
    errors.dedup();
    let text = match errors.as_slice() {
        [] => return Ok(()),
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    let context =
        "encountered bundle versions which differ only by build metadata, which cannot be ordered: ";
    Err(CatalogError::new(format!("{context}{text}")))
}

/// The best default channel so far: by archetype, then by the lowest version in the channel, then by
/// preferred stream type.
struct HighwaterChannel {
    archetype: usize,
    stream_type: Option<StreamType>,
    version: Version,
    name: String,
}

impl HighwaterChannel {
    fn outranks(&self, other: &Self, preference: StreamType) -> bool {
        match self.archetype.cmp(&other.archetype).then_with(|| self.version.compare(&other.version)) {
            Ordering::Greater => true,
            Ordering::Less => false,
            Ordering::Equal if self.stream_type == other.stream_type => false,
            Ordering::Equal if self.stream_type == Some(preference) => true,
            Ordering::Equal if other.stream_type == Some(preference) => false,
            Ordering::Equal => self.stream_type > other.stream_type,
        }
    }
}

/// Generates the channels with their entries, and the name of the default channel.
fn channels(
    template: &Template,
    versions_by_archetype: [Versions; 3],
    compat: OpmCompat,
) -> (BTreeMap<String, Vec<ChannelEntry>>, String) {
    let mut highwater = HighwaterChannel {
        archetype: 0,
        stream_type: None,
        version: Version::default(),
        name: String::new(),
    };
    let mut channels: BTreeMap<String, Vec<ChannelEntry>> = BTreeMap::new();
    let mut unlinked = Vec::new();
    for (archetype, versions) in versions_by_archetype.into_iter().enumerate() {
        let prefix = CHANNEL_ARCHETYPES.get(archetype).copied().unwrap_or_default();
        for (name, version) in versions {
            let stream_types =
                [(template.generate_major, StreamType::Major), (template.generate_minor, StreamType::Minor)];
            for (_, stream_type) in stream_types.into_iter().filter(|(wanted, _)| *wanted) {
                let channel = match stream_type {
                    StreamType::Major => format!("{prefix}-v{}", version.major),
                    StreamType::Minor => format!("{prefix}-v{}.{}", version.major, version.minor),
                };
                if !channels.contains_key(&channel) {
                    let new = HighwaterChannel {
                        archetype,
                        stream_type: Some(stream_type),
                        version: version.clone(),
                        name: channel.clone(),
                    };
                    if new.outranks(&highwater, template.preference) {
                        highwater = new;
                    }
                }
                let entries = channels.entry(channel.clone()).or_default();
                unlinked.push(VersionedEntry {
                    archetype,
                    stream_type,
                    channel,
                    index: entries.len(),
                    version: version.clone(),
                });
                entries.push(ChannelEntry { name: name.clone(), ..ChannelEntry::default() });
            }
        }
    }
    match compat {
        OpmCompat::V173 => link_v173(&mut channels, unlinked),
        OpmCompat::V151 => link_v151(&mut channels, &unlinked),
    }
    (channels, highwater.name)
}

fn string_map_node<const N: usize>(fields: [(&str, &str); N]) -> Node {
    let fields = fields.into_iter().map(|(key, value)| (Arc::from(key), Node::new(value, Pos::default())));
    Value::Map(fields.collect::<Map>()).into()
}

fn entry_node(entry: &ChannelEntry) -> Node {
    let mut map = Map::new();
    map.insert("name", Value::from(entry.name.as_str()));
    map.insert("replaces", Value::from(entry.replaces.as_str()));
    let skips = entry.skips.iter().map(|skip| Node::from(Value::from(skip.as_str())));
    map.insert("skips", Value::List(skips.collect()));
    Value::Map(map).into()
}

/// Copies description and icon from the CSV of a bundle.
fn copy_description_and_icon(package: &mut Node, config: &DeclarativeConfig, bundle: &str) {
    let csv = config.of_kind(MetaKind::Bundle).find(|meta| meta.header.name == bundle).and_then(Meta::csv);
    let spec = csv.as_ref().and_then(|csv| csv.get("spec")).filter(|spec| spec.as_map().is_some());
    let (Some(spec), Some(map)) = (spec, package.as_map_mut()) else { return };
    if let Some(text) = spec.get("description").and_then(Node::as_str).filter(|text| !text.is_empty()) {
        map.insert("description", Value::from(text));
    }
    let icons = spec.get("icon").and_then(Node::as_list);
    let is_valid_icon = |icon: &Node| {
        let string =
            |key: &str| icon.get(key).is_none_or(|value| value.is_null() || value.as_str().is_some());
        icon.as_map().is_some() && string("base64data") && string("mediatype")
    };
    if let Some(icon) = icons.filter(|icons| icons.iter().all(is_valid_icon)).and_then(|icons| icons.first())
    {
        let mut icon_map = Map::new();
        for key in ["base64data", "mediatype"] {
            if let Some(text) = icon.get(key).and_then(Node::as_str) {
                icon_map.insert(key, Value::from(text));
            }
        }
        let valid = icon_map
            .get("base64data")
            .and_then(Node::as_str)
            .is_none_or(|data| podium_sprig::encoding::base64_decode(data.as_bytes()).is_ok());
        if valid {
            map.insert("icon", Value::Map(icon_map));
        }
    }
}
