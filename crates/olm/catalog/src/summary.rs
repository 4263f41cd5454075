//! Summary of a catalog for validation, so that the documents need not stay in memory.

use podium_goyaml::yaml::types::Type;
use podium_versions::blang::Version;

use crate::compat::OpmCompat;
use crate::declcfg::{DeclarativeConfig, Meta, MetaKind, Property};
use crate::error::{CatalogError, SourceSpan, quote};
use crate::go_types;
use crate::reference;
use crate::release::{Release, VersionRelease};

/// Type of the property with package name and version.
pub const PACKAGE_PROPERTY: &str = "olm.package";

/// Summary of a catalog.
#[derive(Clone, Debug, Default)]
pub struct CatalogSummary {
    /// Packages.
    pub packages: Vec<PackageSummary>,
    /// Channels.
    pub channels: Vec<ChannelSummary>,
    /// Bundles.
    pub bundles: Vec<BundleSummary>,
    /// Deprecations.
    pub deprecations: Vec<DeprecationSummary>,
}

/// Summary of an `olm.package`.
#[derive(Clone, Debug, Default)]
pub struct PackageSummary {
    /// Name.
    pub name: String,
    /// Default channel; may be empty.
    pub default_channel: String,
    /// Source position.
    pub span: SourceSpan,
}

/// Summary of an `olm.channel`.
#[derive(Clone, Debug, Default)]
pub struct ChannelSummary {
    /// Package name.
    pub package: String,
    /// Name.
    pub name: String,
    /// Entries in order.
    pub entries: Vec<ChannelEntry>,
    /// Source position.
    pub span: SourceSpan,
}

/// An entry of a channel with its upgrade edges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChannelEntry {
    /// Bundle name.
    pub name: String,
    /// Name of the replaced bundle; may be empty.
    pub replaces: String,
    /// Names of the skipped bundles.
    pub skips: Vec<String>,
    /// Range of skipped versions; may be empty.
    pub skip_range: String,
    /// Line.
    pub line: u32,
}

/// Summary of an `olm.bundle`.
#[derive(Clone, Debug)]
pub struct BundleSummary {
    /// Package name.
    pub package: String,
    /// Name.
    pub name: String,
    /// Image reference.
    pub image: String,
    /// Whether the bundle embeds objects.
    pub has_objects: bool,
    /// Version, or the first error in properties or images.
    pub version: Result<VersionRelease, Box<(SourceSpan, String)>>,
    /// Source position.
    pub span: SourceSpan,
}

/// Summary of an `olm.deprecations`.
#[derive(Clone, Debug, Default)]
pub struct DeprecationSummary {
    /// Package name.
    pub package: String,
    /// Entries in order.
    pub entries: Vec<DeprecationEntry>,
    /// Source position.
    pub span: SourceSpan,
}

/// An entry of `olm.deprecations`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeprecationEntry {
    /// Schema of the reference: `olm.package`, `olm.channel` or `olm.bundle`.
    pub schema: String,
    /// Name of the reference; empty for the package.
    pub name: String,
    /// Message for users.
    pub message: String,
    /// Line.
    pub line: u32,
}

impl CatalogSummary {
    /// Summarizes a catalog.
    pub fn from_config(config: &DeclarativeConfig, compat: OpmCompat) -> Self {
        let mut summary = Self::default();
        config.metas.iter().for_each(|meta| summary.add(meta, compat));
        summary
    }

    /// Adds a meta.
    pub fn add(&mut self, meta: &Meta, compat: OpmCompat) {
        let span = meta.span.clone();
        match meta.kind {
            MetaKind::Package => self.packages.push(PackageSummary {
                name: meta.header.name.clone(),
                default_channel: meta.string("defaultChannel").into_owned(),
                span,
            }),
            MetaKind::Channel => self.channels.push(ChannelSummary {
                package: meta.header.package.clone(),
                name: meta.header.name.clone(),
                entries: channel_entries(meta),
                span,
            }),
            MetaKind::Bundle => self.bundles.push(BundleSummary {
                package: meta.header.package.clone(),
                name: meta.header.name.clone(),
                image: meta.string("image").into_owned(),
                has_objects: meta.has_objects(),
                version: bundle_version(meta, compat).map_err(Box::new),
                span,
            }),
            MetaKind::Deprecations => self.deprecations.push(DeprecationSummary {
                package: meta.header.package.clone(),
                entries: deprecation_entries(meta),
                span,
            }),
            MetaKind::Other => {}
        }
    }

    /// Appends the summary of the following files.
    pub fn append(&mut self, mut other: Self) {
        self.packages.append(&mut other.packages);
        self.channels.append(&mut other.channels);
        self.bundles.append(&mut other.bundles);
        self.deprecations.append(&mut other.deprecations);
    }
}

/// Reads the entries of a channel.
pub fn channel_entries(meta: &Meta) -> Vec<ChannelEntry> {
    let list = meta.root().get("entries");
    let entry = |item: crate::json::Value<'_>| ChannelEntry {
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

fn deprecation_entries(meta: &Meta) -> Vec<DeprecationEntry> {
    let list = meta.root().get("entries");
    let entry = |item: crate::json::Value<'_>| {
        let part = |key: &str| item.get("reference").map(|r| r.string(key).into_owned()).unwrap_or_default();
        DeprecationEntry {
            schema: part("schema"),
            name: part("name"),
            message: item.string("message").into_owned(),
            line: item.line(),
        }
    };
    list.into_iter().flat_map(|list| list.items()).map(entry).collect()
}

/// Returns the Go type of a property that opm decodes.
fn property_type(ty: &str, compat: OpmCompat) -> Option<&'static Type> {
    Some(match ty {
        PACKAGE_PROPERTY if compat == OpmCompat::V151 => &go_types::V151_PACKAGE_PROPERTY,
        PACKAGE_PROPERTY => &go_types::PACKAGE_PROPERTY,
        "olm.package.required" => &go_types::REQUIRED_PROPERTY,
        "olm.gvk" => &go_types::GVK_PROPERTY,
        "olm.gvk.required" => &go_types::GVK_REQUIRED_PROPERTY,
        "olm.bundle.object" => &go_types::OBJECT_PROPERTY,
        "olm.csv.metadata" => &go_types::CSV_PROPERTY,
        "olm.channel" => &go_types::CHANNEL_PROPERTY,
        _ => return None,
    })
}

/// Value of an `olm.package` property.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackageProperty {
    /// Package name.
    pub name: String,
    /// Version.
    pub version: String,
    /// Release.
    pub release: String,
}

/// Decodes the `olm.package` properties and checks all property types that opm knows. An error is opm's
/// message with its line.
pub fn package_properties(meta: &Meta, compat: OpmCompat) -> Result<Vec<PackageProperty>, (u32, String)> {
    let mut packages = Vec::new();
    for (index, property) in meta.properties().enumerate() {
        let invalid = |text: String| {
            let ty = quote(&property.ty);
            (property.line, format!("parse property[{index}] of type {ty}: {text}"))
        };
        match property_type(&property.ty, compat) {
            Some(ty) => property.check(ty).map_err(invalid)?,
            None if property.value.is_none() => {
                return Err(invalid("unexpected end of JSON input".to_owned()));
            }
            None => {}
        }
        if property.ty == PACKAGE_PROPERTY {
            packages.push(package_property(&property, compat));
        }
    }
    Ok(packages)
}

/// Decodes an `olm.package` property; invalid fields are empty.
pub(crate) fn package_property(property: &Property<'_>, compat: OpmCompat) -> PackageProperty {
    let ty = property_type(PACKAGE_PROPERTY, compat);
    let document = property.value.zip(ty).and_then(|(value, ty)| go_types::convert(value, ty).ok());
    let string = |key: &str| document.as_ref().map(|d| d.root().string(key).into_owned()).unwrap_or_default();
    let release = if compat == OpmCompat::V151 { String::new() } else { string("release") };
    PackageProperty { name: string("packageName"), version: string("version"), release }
}

/// Returns the version of a bundle after checking its properties and images.
fn bundle_version(meta: &Meta, compat: OpmCompat) -> Result<VersionRelease, (SourceSpan, String)> {
    let at_meta = |text: String| (meta.span.clone(), text);
    let (package, name) = (&meta.header.package, quote(&meta.header.name));
    let packages = package_properties(meta, compat).map_err(|(line, text)| {
        (SourceSpan::new(&meta.span.file, line), format!("parse properties for bundle {name}: {text}"))
    })?;
    let [property] = packages.as_slice() else {
        let (package, found) = (quote(package), packages.len());
        return Err(at_meta(format!(
            "package {package} bundle {name} must have exactly 1 \"olm.package\" property, found {found}"
        )));
    };
    if property.name != *package {
        let (package, other) = (quote(package), quote(&property.name));
        return Err(at_meta(format!("package {package} does not match \"olm.package\" property {other}")));
    }
    if compat == OpmCompat::V173 {
        check_images(meta)?;
    }
    let version = Version::parse(&property.version).map_err(|e| {
        at_meta(format!("error parsing bundle {name} version {}: {e}", quote(&property.version)))
    })?;
    let release = Release::parse(&property.release).map_err(|e| {
        at_meta(format!("error parsing bundle {name} release version {}: {e}", quote(&property.release)))
    })?;
    Ok(VersionRelease { version, release })
}

/// Rejects invalid image references.
fn check_images(meta: &Meta) -> Result<(), (SourceSpan, String)> {
    let check = |image: &str, what: &str, line: u32| match reference::parse(image) {
        Err(error) if !image.is_empty() => {
            let (package, name) = (quote(&meta.header.package), quote(&meta.header.name));
            let text = format!(
                "package {package} bundle {name} {what}: invalid image pull spec {}: {error}",
                quote(image)
            );
            Err((SourceSpan::new(&meta.span.file, line), text))
        }
        _ => Ok(()),
    };
    let image = meta.root().get("image");
    check(&meta.string("image"), "image", image.map_or(meta.span.line, |image| image.line()))?;
    let related = meta.root().get("relatedImages");
    for (index, item) in related.into_iter().flat_map(|list| list.items()).enumerate() {
        check(&item.string("image"), &format!("relatedImages[{index}].image"), item.line())?;
    }
    Ok(())
}

/// Creates an error with a source position.
pub(crate) fn error_at(span: &SourceSpan, text: impl Into<String>) -> CatalogError {
    CatalogError::at(span.clone(), text)
}
