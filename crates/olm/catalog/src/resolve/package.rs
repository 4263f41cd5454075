//! The content of a package as operator-controller's catalog client returns it.

use std::collections::BTreeMap;

use crate::compat::OpmCompat;
use crate::declcfg::{self, DeclarativeConfig, Meta, MetaKind};
use crate::error::quote;
use crate::go_types;
use crate::release::VersionRelease;
use crate::summary::{CatalogSummary, ChannelEntry, DeprecationSummary, PACKAGE_PROPERTY, package_property};

/// A package of a catalog.
pub(super) struct CatalogPackage<'c> {
    /// Bundles in the order in which operator-controller reads them.
    pub bundles: Vec<&'c Meta>,
    /// Summary of the other metas.
    summary: CatalogSummary,
}

impl<'c> CatalogPackage<'c> {
    /// Collects the metas of a package; returns nothing if there are none.
    ///
    /// operator-controller caches one file per meta, named by schema and name: the last of duplicate names
    /// wins, and the order is that of the files.
    pub fn from_config(config: &'c DeclarativeConfig, name: &str) -> Option<Self> {
        let mut files: BTreeMap<Vec<&str>, &Meta> = BTreeMap::new();
        let mut names: Vec<String> = Vec::new();
        let metas: Vec<&Meta> = config.metas.iter().filter(|meta| meta.package() == name).collect();
        for Meta { header, .. } in &metas {
            let file = if header.name.is_empty() { &header.schema } else { &header.name };
            names.push(format!("{}/{file}.json", header.schema));
        }
        for (path, meta) in names.iter().zip(&metas) {
            files.insert(path.split('/').collect(), meta);
        }
        if files.is_empty() {
            return None;
        }
        let (bundles, others): (Vec<&Meta>, Vec<&Meta>) =
            files.into_values().partition(|meta| meta.kind == MetaKind::Bundle);
        let mut summary = CatalogSummary::default();
        others.iter().for_each(|meta| summary.add(meta, OpmCompat::V173));
        Some(Self { bundles, summary })
    }

    /// Returns the entries of a bundle in the given channels, or in all channels if none are given.
    pub fn entries(&self, channels: &[String], bundle: &str) -> Vec<&ChannelEntry> {
        let selected =
            self.summary.channels.iter().filter(|c| channels.is_empty() || channels.contains(&c.name));
        selected.flat_map(|channel| &channel.entries).filter(|entry| entry.name == bundle).collect()
    }

    /// Reports whether a bundle is deprecated.
    pub fn is_deprecated(&self, bundle: &str) -> bool {
        let mut entries = self.deprecations().flat_map(|summary| &summary.entries);
        entries.any(|entry| entry.schema == declcfg::SCHEMA_BUNDLE && entry.name == bundle)
    }

    /// Returns the messages of operator-controller's deprecation conditions for package, channels and bundle.
    /// Empty messages are skipped.
    pub fn deprecation(&self, channels: &[String], bundle: &str) -> Option<String> {
        let mut messages = Vec::new();
        for schema in [declcfg::SCHEMA_PACKAGE, declcfg::SCHEMA_CHANNEL, declcfg::SCHEMA_BUNDLE] {
            let entries = self.deprecations().flat_map(|summary| &summary.entries);
            let applies = |name: &String| match schema {
                declcfg::SCHEMA_PACKAGE => true,
                declcfg::SCHEMA_CHANNEL => channels.is_empty() || channels.contains(name),
                _ => !bundle.is_empty() && name == bundle,
            };
            let entries = entries.filter(|entry| entry.schema == schema && applies(&entry.name));
            messages
                .extend(entries.map(|entry| entry.message.as_str()).filter(|message| !message.is_empty()));
        }
        (!messages.is_empty()).then(|| messages.join("\n"))
    }

    /// Only the first `olm.deprecations` is considered.
    fn deprecations(&self) -> impl Iterator<Item = &DeprecationSummary> {
        self.summary.deprecations.iter().take(1)
    }
}

/// Returns the version text of a bundle and the parsed version or operator-controller's error message. Only
/// the first `olm.package` property is read.
pub(super) fn bundle_version(meta: &Meta) -> (String, Result<VersionRelease, String>) {
    let Some(property) = meta.properties().find(|property| property.ty == PACKAGE_PROPERTY) else {
        let name = quote(&meta.header.name);
        return (String::new(), Err(format!("no package property found in bundle {name}")));
    };
    if let Err(error) = property.check(&go_types::PACKAGE_PROPERTY) {
        return (String::new(), Err(format!("error unmarshalling package property: {error}")));
    }
    let version_text = package_property(&property, OpmCompat::V173).version;
    let version = VersionRelease::legacy(&version_text);
    (version_text, version)
}
