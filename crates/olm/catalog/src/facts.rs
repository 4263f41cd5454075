//! What the rules need to know of a catalog: small, so that the documents themselves need not stay in memory.

use podium_goyaml::yaml::types::Type;
use podium_versions::blang::Version;

use crate::config::{Config, Kind, Meta, Property};
use crate::generation::Generation;
use crate::problem::{Place, Problem, quoted};
use crate::reference;
use crate::release::{Release, VersionRelease};
use crate::schema;

/// The type of the property that names package and version.
pub const PACKAGE_PROPERTY: &str = "olm.package";

/// What is known of a catalog.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Its packages.
    pub packages: Vec<PackageFacts>,
    /// Its channels.
    pub channels: Vec<ChannelFacts>,
    /// Its bundles.
    pub bundles: Vec<BundleFacts>,
    /// Its deprecations.
    pub deprecations: Vec<DeprecationFacts>,
}

/// What is known of a package.
#[derive(Clone, Debug, Default)]
pub struct PackageFacts {
    /// Its name.
    pub name: String,
    /// The channel for those who do not choose.
    pub default_channel: String,
    /// Where it is.
    pub place: Place,
}

/// What is known of a channel.
#[derive(Clone, Debug, Default)]
pub struct ChannelFacts {
    /// Its package.
    pub package: String,
    /// Its name.
    pub name: String,
    /// Its entries, in order.
    pub entries: Vec<Entry>,
    /// Where it is.
    pub place: Place,
}

/// An entry of a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The bundle.
    pub name: String,
    /// The bundle that it replaces.
    pub replaces: String,
    /// The bundles that it skips.
    pub skips: Vec<String>,
    /// The versions that it skips.
    pub skip_range: String,
    /// The line.
    pub line: u32,
}

/// What is known of a bundle.
#[derive(Clone, Debug)]
pub struct BundleFacts {
    /// Its package.
    pub package: String,
    /// Its name.
    pub name: String,
    /// Its image.
    pub image: String,
    /// Whether objects are embedded.
    pub has_objects: bool,
    /// Its version, or what is wrong with its properties and images.
    pub version: Result<VersionRelease, Box<(Place, String)>>,
    /// Where it is.
    pub place: Place,
}

/// What is known of the deprecations of a package.
#[derive(Clone, Debug, Default)]
pub struct DeprecationFacts {
    /// The package.
    pub package: String,
    /// What is deprecated.
    pub entries: Vec<Deprecated>,
    /// Where it is.
    pub place: Place,
}

/// Something deprecated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deprecated {
    /// `olm.package`, `olm.channel` or `olm.bundle`.
    pub schema: String,
    /// Its name; empty for the package.
    pub name: String,
    /// What users are told.
    pub message: String,
    /// The line.
    pub line: u32,
}

impl Facts {
    /// The facts of a whole catalog.
    pub fn of(config: &Config, generation: Generation) -> Self {
        let mut facts = Self::default();
        config.metas.iter().for_each(|meta| facts.add(meta, generation));
        facts
    }

    /// Adds the facts of a document.
    pub fn add(&mut self, meta: &Meta, generation: Generation) {
        let place = meta.place.clone();
        match meta.kind {
            Kind::Package => self.packages.push(PackageFacts {
                name: meta.head.name.clone(),
                default_channel: meta.string("defaultChannel").into_owned(),
                place,
            }),
            Kind::Channel => self.channels.push(ChannelFacts {
                package: meta.head.package.clone(),
                name: meta.head.name.clone(),
                entries: entries(meta),
                place,
            }),
            Kind::Bundle => self.bundles.push(BundleFacts {
                package: meta.head.package.clone(),
                name: meta.head.name.clone(),
                image: meta.string("image").into_owned(),
                has_objects: meta.has_objects(),
                version: version(meta, generation).map_err(Box::new),
                place,
            }),
            Kind::Deprecations => self.deprecations.push(DeprecationFacts {
                package: meta.head.package.clone(),
                entries: deprecated(meta),
                place,
            }),
            Kind::Other => {}
        }
    }

    /// Takes the facts of another part of the catalog, which comes behind this one.
    pub fn append(&mut self, mut other: Self) {
        self.packages.append(&mut other.packages);
        self.channels.append(&mut other.channels);
        self.bundles.append(&mut other.bundles);
        self.deprecations.append(&mut other.deprecations);
    }
}

/// The entries of a channel.
pub fn entries(meta: &Meta) -> Vec<Entry> {
    let list = meta.root().get("entries");
    let entry = |item: crate::json::Value<'_>| Entry {
        name: item.string("name").into_owned(),
        replaces: item.string("replaces").into_owned(),
        skips: item
            .get("skips")
            .into_iter()
            .flat_map(|skips| skips.items())
            .map(|skip| skip.as_str().unwrap_or_default().into_owned())
            .collect(),
        skip_range: item.string("skipRange").into_owned(),
        line: item.line(),
    };
    list.into_iter().flat_map(|list| list.items()).map(entry).collect()
}

fn deprecated(meta: &Meta) -> Vec<Deprecated> {
    let list = meta.root().get("entries");
    let entry = |item: crate::json::Value<'_>| {
        let part = |key: &str| item.get("reference").map(|r| r.string(key).into_owned()).unwrap_or_default();
        Deprecated {
            schema: part("schema"),
            name: part("name"),
            message: item.string("message").into_owned(),
            line: item.line(),
        }
    };
    list.into_iter().flat_map(|list| list.items()).map(entry).collect()
}

/// The Go type of a property that opm looks into.
fn property_type(ty: &str, generation: Generation) -> Option<&'static Type> {
    Some(match ty {
        PACKAGE_PROPERTY if generation == Generation::V151 => &schema::OLD_PACKAGE_PROPERTY,
        PACKAGE_PROPERTY => &schema::PACKAGE_PROPERTY,
        "olm.package.required" => &schema::REQUIRED_PROPERTY,
        "olm.gvk" => &schema::GVK_PROPERTY,
        "olm.gvk.required" => &schema::GVK_REQUIRED_PROPERTY,
        "olm.bundle.object" => &schema::OBJECT_PROPERTY,
        "olm.csv.metadata" => &schema::CSV_PROPERTY,
        "olm.channel" => &schema::CHANNEL_PROPERTY,
        _ => return None,
    })
}

/// What an `olm.package` property says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackageProperty {
    /// The name of the package.
    pub name: String,
    /// The version.
    pub version: String,
    /// The release.
    pub release: String,
}

/// Reads the properties as opm does: all that are known have to be well formed. An error is in opm's words, with the
/// line.
pub fn package_properties(
    meta: &Meta,
    generation: Generation,
) -> Result<Vec<PackageProperty>, (u32, String)> {
    let mut packages = Vec::new();
    for (index, property) in meta.properties().enumerate() {
        let wrong = |text: String| {
            let ty = quoted(&property.ty);
            (property.line, format!("parse property[{index}] of type {ty}: {text}"))
        };
        match property_type(&property.ty, generation) {
            Some(ty) => property.check(ty).map_err(wrong)?,
            None if property.value.is_none() => {
                return Err(wrong("unexpected end of JSON input".to_owned()));
            }
            None => {}
        }
        if property.ty == PACKAGE_PROPERTY {
            packages.push(package_property(&property, generation));
        }
    }
    Ok(packages)
}

/// Reads an `olm.package` property; what does not fit is as if it were not there.
pub(crate) fn package_property(property: &Property<'_>, generation: Generation) -> PackageProperty {
    let ty = property_type(PACKAGE_PROPERTY, generation);
    let document = property.value.zip(ty).and_then(|(value, ty)| schema::read(value, ty).ok());
    let string = |key: &str| document.as_ref().map(|d| d.root().string(key).into_owned()).unwrap_or_default();
    let release = if generation == Generation::V151 { String::new() } else { string("release") };
    PackageProperty { name: string("packageName"), version: string("version"), release }
}

/// The version of a bundle, after everything has been looked at that concerns the bundle alone.
fn version(meta: &Meta, generation: Generation) -> Result<VersionRelease, (Place, String)> {
    let here = |text: String| (meta.place.clone(), text);
    let (package, name) = (&meta.head.package, quoted(&meta.head.name));
    let packages = package_properties(meta, generation).map_err(|(line, text)| {
        (Place::new(&meta.place.file, line), format!("parse properties for bundle {name}: {text}"))
    })?;
    let [property] = packages.as_slice() else {
        let (package, found) = (quoted(package), packages.len());
        return Err(here(format!(
            "package {package} bundle {name} must have exactly 1 \"olm.package\" property, found {found}"
        )));
    };
    if property.name != *package {
        let (package, other) = (quoted(package), quoted(&property.name));
        return Err(here(format!("package {package} does not match \"olm.package\" property {other}")));
    }
    if generation == Generation::V173 {
        check_images(meta)?;
    }
    let version = Version::parse(&property.version).map_err(|e| {
        here(format!("error parsing bundle {name} version {}: {e}", quoted(&property.version)))
    })?;
    let release = Release::parse(&property.release).map_err(|e| {
        here(format!("error parsing bundle {name} release version {}: {e}", quoted(&property.release)))
    })?;
    Ok(VersionRelease { version, release })
}

/// Refuses images that cannot be pulled, because their names are none.
fn check_images(meta: &Meta) -> Result<(), (Place, String)> {
    let check = |image: &str, what: &str, line: u32| match reference::parse(image) {
        Err(error) if !image.is_empty() => {
            let (package, name) = (quoted(&meta.head.package), quoted(&meta.head.name));
            let text = format!(
                "package {package} bundle {name} {what}: invalid image pull spec {}: {error}",
                quoted(image)
            );
            Err((Place::new(&meta.place.file, line), text))
        }
        _ => Ok(()),
    };
    let image = meta.root().get("image");
    check(&meta.string("image"), "image", image.map_or(meta.place.line, |image| image.line()))?;
    let related = meta.root().get("relatedImages");
    for (index, item) in related.into_iter().flat_map(|list| list.items()).enumerate() {
        check(&item.string("image"), &format!("relatedImages[{index}].image"), item.line())?;
    }
    Ok(())
}

/// A problem of a fact.
pub(crate) fn problem(place: &Place, text: impl Into<String>) -> Problem {
    Problem::at(place.clone(), text)
}
