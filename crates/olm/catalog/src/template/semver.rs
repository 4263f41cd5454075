//! `olm.semver`: lists of images from which channels, edges and the default channel follow.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use podium_goyaml::yaml::{self, Error as YamlError};
use podium_goyaml::{Map, Node, Pos, Value};
use podium_versions::blang::Version;

use super::Render;
use super::link::{Placed, link_current, link_old};
use crate::config::{CHANNEL, Config, Kind, Meta, PACKAGE};
use crate::facts::{Entry, package_properties};
use crate::generation::Generation;
use crate::problem::{Place, Problem, quoted};
use crate::schema;

/// The schema of such a template.
pub const SCHEMA: &str = "olm.semver";

/// The lists of a template, the least stable first.
pub const STREAMS: [&str; 3] = ["candidate", "fast", "stable"];

/// Which channels a version belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Width {
    /// `stable-v1`.
    Major,
    /// `stable-v1.2`.
    Minor,
}

/// A template that has been read.
#[derive(Clone, Debug)]
pub struct Template {
    major: bool,
    minor: bool,
    preference: Width,
    /// The images of each stream.
    pub images: [Vec<String>; 3],
}

/// Reads a template. Only the fields of a template may be there, in any case.
pub fn read(text: &[u8], generation: Generation) -> Result<Template, Problem> {
    let ty = if generation == Generation::V151 { &schema::OLD_SEMVER } else { &schema::SEMVER };
    let refused =
        |error: YamlError| Problem::at(Place { file: "".into(), line: error.pos().line }, error.to_string());
    let node = yaml::parse_strict(text, 0, ty).map_err(refused)?;
    let flag = |key: &str| node.get(key).and_then(Node::as_bool).unwrap_or(false);
    let string = |key: &str| node.get(key).and_then(Node::as_str).unwrap_or_default();
    if string("schema") != SCHEMA {
        let text = format!("readFile: input file has unknown schema, should be {}", quoted(SCHEMA));
        return Err(Problem::new(text));
    }
    let major = flag("generateMajorChannels");
    let minor = flag("generateMinorChannels") || !major;
    let preference = match string("defaultChannelTypePreference") {
        "" if minor => Width::Minor,
        "" => Width::Major,
        "minor" if minor => Width::Minor,
        "major" if major => Width::Major,
        name @ ("minor" | "major") => {
            return Err(Problem::new(format!(
                "schema attribute mismatch: DefaultChannelTypePreference set to '{name}' doesn't make sense if not \
                 generating {name}-version channels"
            )));
        }
        other => {
            return Err(Problem::new(format!(
                "unknown DefaultChannelTypePreference: {}\nValid values are 'major' or 'minor'",
                quoted(other)
            )));
        }
    };
    let images = STREAMS.map(|stream| {
        let bundles = node.get(stream).and_then(|stream| stream.get("bundles")).and_then(Node::as_list);
        let image = |bundle: &Node| bundle.get("image").and_then(Node::as_str).unwrap_or_default().to_owned();
        bundles.map(|list| list.iter().map(image).collect()).unwrap_or_default()
    });
    Ok(Template { major, minor, preference, images })
}

/// Makes a catalog.
pub fn render(text: &[u8], generation: Generation, render: Render<'_>) -> Result<Config, Problem> {
    let template =
        read(text, generation).map_err(|problem| problem.within("render: unable to read file: "))?;
    let mut rendered: BTreeMap<&str, String> = BTreeMap::new();
    let mut config = Config::default();
    for image in template.images.iter().flatten() {
        if rendered.contains_key(image.as_str()) {
            continue;
        }
        let metas = render(image)?;
        let bundles: Vec<&Meta> = metas.iter().filter(|meta| meta.kind == Kind::Bundle).collect();
        let [bundle] = bundles.as_slice() else {
            let (image, count) = (quoted(image), bundles.len());
            return Err(Problem::new(format!(
                "bundle reference {image} resulted in {count} bundles, expected 1"
            )));
        };
        rendered.insert(image, bundle.string("image").into_owned());
        config.metas.extend(metas);
    }
    if !config.metas.iter().any(|meta| meta.kind == Kind::Bundle) {
        return Err(Problem::new("render: no bundles specified or no bundles could be rendered"));
    }
    let mut builder = Builder { template: &template, rendered, generation, package: None };
    let streams = builder
        .versions(&config)
        .map_err(|problem| problem.within("render: unable to post-process bundle info: "))?;
    let package = builder.package.unwrap_or_default();
    let (channels, default) = channels(&template, streams, generation);
    let mut node = object([("schema", PACKAGE), ("name", &package), ("defaultChannel", &default)]);
    if generation == Generation::V173
        && let Some(head) = channels.get(&default).and_then(|entries| entries.last())
    {
        describe(&mut node, &config, &head.name);
    }
    let file: Arc<str> = "".into();
    config.metas.push(Meta::of_node(&node, &file)?);
    for (name, entries) in channels {
        let mut node = object([("schema", CHANNEL), ("name", &name), ("package", &package)]);
        let entries = entries.iter().map(entry_node).collect::<podium_goyaml::List>();
        if let Some(map) = node.as_map_mut() {
            map.insert("entries", Value::List(entries));
        }
        config.metas.push(Meta::of_node(&node, &file)?);
    }
    Ok(config)
}

struct Builder<'t> {
    template: &'t Template,
    /// The image that each image of the template says it is.
    rendered: BTreeMap<&'t str, String>,
    generation: Generation,
    package: Option<String>,
}

/// A bundle of a stream.
pub(super) type Versions = Vec<(String, Version)>;

impl Builder<'_> {
    /// The bundles of each stream, with their versions, the lowest first.
    fn versions(&mut self, config: &Config) -> Result<[Versions; 3], Problem> {
        let mut all = [Vec::new(), Vec::new(), Vec::new()];
        for (images, versions) in self.template.images.iter().zip(&mut all) {
            *versions = self.stream(images, config)?;
            comparable(versions)?;
            versions.sort_by(|a, b| a.1.compare(&b.1));
        }
        Ok(all)
    }

    fn stream(&mut self, images: &[String], config: &Config) -> Result<Versions, Problem> {
        let mut versions: Versions = Vec::new();
        for image in images {
            let own = self.rendered.get(image.as_str());
            let found =
                config.of(Kind::Bundle).find(|meta| own.is_some_and(|own| meta.string("image") == *own));
            let Some(bundle) = found else {
                return Err(Problem::new(format!(
                    "supplied bundle image name {} not found in rendered bundle images",
                    quoted(image)
                )));
            };
            let name = bundle.head.name.clone();
            let properties = package_properties(bundle, self.generation).map_err(|(_, text)| {
                Problem::new(format!("parse properties for bundle {}: {text}", quoted(&name)))
            })?;
            let [property] = properties.as_slice() else {
                return Err(Problem::new(format!(
                    "bundle {} has multiple \"olm.package\" properties, expected exactly 1",
                    quoted(&name)
                )));
            };
            let version = Version::parse(&property.version).map_err(|error| {
                let (name, version) = (quoted(&name), quoted(&property.version));
                Problem::new(format!("bundle {name} has invalid version {version}: {error}"))
            })?;
            match &self.package {
                Some(package) if !package.is_empty() && *package != property.name => {
                    return Err(Problem::new(format!(
                        "bundle {} does not belong to this package: {}",
                        quoted(&property.name),
                        quoted(package)
                    )));
                }
                Some(package) if !package.is_empty() => {}
                _ => self.package = Some(property.name.clone()),
            }
            if versions.iter().any(|(other, _)| *other == name) {
                return Err(Problem::new(format!("duplicate bundle name {}", quoted(&name))));
            }
            versions.push((name, version));
        }
        Ok(versions)
    }
}

/// Refuses versions that differ in nothing but build metadata.
fn comparable(versions: &Versions) -> Result<(), Problem> {
    let mut seen = BTreeMap::new();
    let mut errors = Vec::new();
    for (_, version) in versions {
        let bare = Version { build: Vec::new(), ..version.clone() }.to_string();
        if seen.insert(bare.clone(), ()).is_some() {
            let version = quoted(&version.to_string());
            errors.push(format!("bundle version {version} cannot be compared to {}", quoted(&bare)));
        }
    }
    errors.dedup();
    let text = match errors.as_slice() {
        [] => return Ok(()),
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    let words = "encountered bundle versions which differ only by build metadata, which cannot be ordered: ";
    Err(Problem::new(format!("{words}{text}")))
}

/// The channel that is the best so far: stable before fast before candidate, then the higher version, then the kind that
/// is preferred. A channel counts with the lowest version in it, because that is when it comes up.
struct Best {
    stream: usize,
    width: Option<Width>,
    version: Version,
    name: String,
}

impl Best {
    fn is_better(&self, other: &Self, preference: Width) -> bool {
        match self.stream.cmp(&other.stream).then_with(|| self.version.compare(&other.version)) {
            Ordering::Greater => true,
            Ordering::Less => false,
            Ordering::Equal if self.width == other.width => false,
            Ordering::Equal if self.width == Some(preference) => true,
            Ordering::Equal if other.width == Some(preference) => false,
            Ordering::Equal => self.width > other.width,
        }
    }
}

/// The channels by name, with their entries, and the default one.
fn channels(
    template: &Template,
    streams: [Versions; 3],
    generation: Generation,
) -> (BTreeMap<String, Vec<Entry>>, String) {
    let mut best = Best { stream: 0, width: None, version: Version::default(), name: String::new() };
    let mut channels: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
    let mut placed = Vec::new();
    for (stream, versions) in streams.into_iter().enumerate() {
        let prefix = STREAMS.get(stream).copied().unwrap_or_default();
        for (name, version) in versions {
            let widths = [(template.major, Width::Major), (template.minor, Width::Minor)];
            for (_, width) in widths.into_iter().filter(|(wanted, _)| *wanted) {
                let channel = match width {
                    Width::Major => format!("{prefix}-v{}", version.major),
                    Width::Minor => format!("{prefix}-v{}.{}", version.major, version.minor),
                };
                if !channels.contains_key(&channel) {
                    let new =
                        Best { stream, width: Some(width), version: version.clone(), name: channel.clone() };
                    if new.is_better(&best, template.preference) {
                        best = new;
                    }
                }
                let entries = channels.entry(channel.clone()).or_default();
                placed.push(Placed {
                    stream,
                    width,
                    channel,
                    index: entries.len(),
                    version: version.clone(),
                });
                entries.push(Entry { name: name.clone(), ..Entry::default() });
            }
        }
    }
    match generation {
        Generation::V173 => link_current(&mut channels, placed),
        Generation::V151 => link_old(&mut channels, &placed),
    }
    (channels, best.name)
}

fn object<const N: usize>(fields: [(&str, &str); N]) -> Node {
    let fields = fields.into_iter().map(|(key, value)| (Arc::from(key), Node::new(value, Pos::default())));
    Value::Map(fields.collect::<Map>()).into()
}

fn entry_node(entry: &Entry) -> Node {
    let mut map = Map::new();
    map.insert("name", Value::from(entry.name.as_str()));
    map.insert("replaces", Value::from(entry.replaces.as_str()));
    let skips = entry.skips.iter().map(|skip| Node::from(Value::from(skip.as_str())));
    map.insert("skips", Value::List(skips.collect()));
    Value::Map(map).into()
}

/// Takes description and icon from the ClusterServiceVersion of a bundle.
fn describe(package: &mut Node, config: &Config, bundle: &str) {
    let csv = config.of(Kind::Bundle).find(|meta| meta.head.name == bundle).and_then(Meta::csv);
    let spec = csv.as_ref().and_then(|csv| csv.get("spec")).filter(|spec| spec.as_map().is_some());
    let (Some(spec), Some(map)) = (spec, package.as_map_mut()) else { return };
    if let Some(text) = spec.get("description").and_then(Node::as_str).filter(|text| !text.is_empty()) {
        map.insert("description", Value::from(text));
    }
    let icons = spec.get("icon").and_then(Node::as_list);
    let fine = |icon: &Node| {
        let string =
            |key: &str| icon.get(key).is_none_or(|value| value.is_null() || value.as_str().is_some());
        icon.as_map().is_some() && string("base64data") && string("mediatype")
    };
    if let Some(icon) = icons.filter(|icons| icons.iter().all(fine)).and_then(|icons| icons.first()) {
        let mut made = Map::new();
        for key in ["base64data", "mediatype"] {
            if let Some(text) = icon.get(key).and_then(Node::as_str) {
                made.insert(key, Value::from(text));
            }
        }
        let valid = made
            .get("base64data")
            .and_then(Node::as_str)
            .is_none_or(|data| podium_sprig::encoding::base64_decode(data.as_bytes()).is_ok());
        if valid {
            map.insert("icon", Value::Map(made));
        }
    }
}
