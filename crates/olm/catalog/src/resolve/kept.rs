//! What the lifecycle controller keeps of a catalog, and what it reads of a bundle.

use std::collections::BTreeMap;

use crate::config::{self, Config, Kind, Meta};
use crate::facts::{DeprecationFacts, Entry, Facts, PACKAGE_PROPERTY, package_property};
use crate::generation::Generation;
use crate::problem::quoted;
use crate::release::VersionRelease;
use crate::schema;

/// A package of a catalog.
pub(super) struct Package<'c> {
    /// Its bundles, in the order in which the controller reads them.
    pub bundles: Vec<&'c Meta>,
    /// What is known of the other documents.
    facts: Facts,
}

impl<'c> Package<'c> {
    /// The package as the controller has it; nothing if the catalog does not know it.
    ///
    /// The controller has one file for each document, named by schema and name: of equal names the last one counts, and
    /// the order is that of the files.
    pub fn of(config: &'c Config, name: &str) -> Option<Self> {
        let mut files: BTreeMap<Vec<&str>, &Meta> = BTreeMap::new();
        let mut names: Vec<String> = Vec::new();
        let metas: Vec<&Meta> = config.metas.iter().filter(|meta| meta.package() == name).collect();
        for Meta { head, .. } in &metas {
            let file = if head.name.is_empty() { &head.schema } else { &head.name };
            names.push(format!("{}/{file}.json", head.schema));
        }
        for (path, meta) in names.iter().zip(&metas) {
            files.insert(path.split('/').collect(), meta);
        }
        if files.is_empty() {
            return None;
        }
        let (bundles, others): (Vec<&Meta>, Vec<&Meta>) =
            files.into_values().partition(|meta| meta.kind == Kind::Bundle);
        let mut facts = Facts::default();
        others.iter().for_each(|meta| facts.add(meta, Generation::V173));
        Some(Self { bundles, facts })
    }

    /// The entries of a bundle in the channels; in all channels, if none is given.
    pub fn entries(&self, channels: &[String], bundle: &str) -> Vec<&Entry> {
        let chosen = self.facts.channels.iter().filter(|c| channels.is_empty() || channels.contains(&c.name));
        chosen.flat_map(|channel| &channel.entries).filter(|entry| entry.name == bundle).collect()
    }

    /// Whether a bundle is deprecated.
    pub fn is_deprecated(&self, bundle: &str) -> bool {
        let mut entries = self.deprecations().flat_map(|facts| &facts.entries);
        entries.any(|entry| entry.schema == config::BUNDLE && entry.name == bundle)
    }

    /// What the controller tells those who have installed the bundle from the channels: of the package, of the channels,
    /// of the bundle. Who deprecates without a word is not heard.
    pub fn deprecation(&self, channels: &[String], bundle: &str) -> Option<String> {
        let mut messages = Vec::new();
        for schema in [config::PACKAGE, config::CHANNEL, config::BUNDLE] {
            let entries = self.deprecations().flat_map(|facts| &facts.entries);
            let concerned = |name: &String| match schema {
                config::PACKAGE => true,
                config::CHANNEL => channels.is_empty() || channels.contains(name),
                _ => !bundle.is_empty() && name == bundle,
            };
            let entries = entries.filter(|entry| entry.schema == schema && concerned(&entry.name));
            messages
                .extend(entries.map(|entry| entry.message.as_str()).filter(|message| !message.is_empty()));
        }
        (!messages.is_empty()).then(|| messages.join("\n"))
    }

    /// Only the first document of deprecations counts.
    fn deprecations(&self) -> impl Iterator<Item = &DeprecationFacts> {
        self.facts.deprecations.iter().take(1)
    }
}

/// The version of a bundle as it is written, and what it is or why it is none, in the controller's words. It is that of
/// the first property of its type; what the other properties are does not matter.
pub(super) fn version(meta: &Meta) -> (String, Result<VersionRelease, String>) {
    let Some(property) = meta.properties().find(|property| property.ty == PACKAGE_PROPERTY) else {
        let name = quoted(&meta.head.name);
        return (String::new(), Err(format!("no package property found in bundle {name}")));
    };
    if let Err(error) = property.check(&schema::PACKAGE_PROPERTY) {
        return (String::new(), Err(format!("error unmarshalling package property: {error}")));
    }
    let written = package_property(&property, Generation::V173).version;
    let version = VersionRelease::legacy(&written);
    (written, version)
}
