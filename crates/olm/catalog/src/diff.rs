//! Diff of two catalogs.

use std::collections::{BTreeMap, BTreeSet};

use crate::compat::OpmCompat;
use crate::declcfg::{DeclarativeConfig, Meta, MetaKind};
use crate::json::{self, Style};
use crate::summary::{CatalogSummary, ChannelEntry};

/// A change between two catalogs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    /// Package name.
    pub package: String,
    /// Subject: `package`, `channel`, `bundle`, `deprecation` or `other`.
    pub subject: &'static str,
    /// Name of the subject.
    pub name: String,
    /// Kind of change.
    pub kind: ChangeKind,
    /// Details, one line each.
    pub details: Vec<String>,
}

/// Kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    /// Only in the new catalog.
    Added,
    /// Only in the old catalog.
    Removed,
    /// Different in the new catalog.
    Changed,
}

impl ChangeKind {
    /// Name in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
        }
    }
}

impl Change {
    /// Reports whether the change removes or modifies a bundle that users may have installed.
    pub fn breaks_installed(&self) -> bool {
        self.subject == "bundle" && self.kind != ChangeKind::Added
    }
}

/// Returns the changes from one catalog to another, sorted.
pub fn diff(old: &DeclarativeConfig, new: &DeclarativeConfig) -> Vec<Change> {
    let mut changes = Vec::new();
    let (before, after) = (
        CatalogSummary::from_config(old, OpmCompat::V173),
        CatalogSummary::from_config(new, OpmCompat::V173),
    );
    let mut record = |package: &str,
                      subject: &'static str,
                      name: &str,
                      kind: ChangeKind,
                      details: Vec<String>| {
        changes.push(Change { package: package.to_owned(), subject, name: name.to_owned(), kind, details });
    };

    let packages = |summary: &CatalogSummary| -> BTreeMap<String, String> {
        summary.packages.iter().map(|p| (p.name.clone(), p.default_channel.clone())).collect()
    };
    for_each_difference(&packages(&before), &packages(&after), |name, old, new| match (old, new) {
        (Some(old), Some(new)) => {
            let details = vec![format!("the default channel was {old} and is {new}")];
            record(name, "package", name, ChangeKind::Changed, details);
        }
        (old, _) => record(name, "package", name, added_or_removed(old), Vec::new()),
    });

    type Channels = BTreeMap<(String, String), BTreeMap<String, ChannelEntry>>;
    let channels = |summary: &CatalogSummary| -> Channels {
        let entries = |entries: &[ChannelEntry]| {
            entries
                .iter()
                .map(|entry| (entry.name.clone(), ChannelEntry { line: 0, ..entry.clone() }))
                .collect()
        };
        summary.channels.iter().map(|c| ((c.package.clone(), c.name.clone()), entries(&c.entries))).collect()
    };
    for_each_difference(&channels(&before), &channels(&after), |(package, name), old, new| {
        match (old, new) {
            (Some(old), Some(new)) => {
                let mut details = Vec::new();
                for_each_difference(old, new, |entry, old, new| match (old, new) {
                    (Some(old), Some(new)) => details.push(format!(
                        "{entry}: {} (was: {})",
                        describe_edges(new),
                        describe_edges(old)
                    )),
                    (None, Some(new)) => details.push(format!("{entry} added: {}", describe_edges(new))),
                    (_, None) => details.push(format!("{entry} removed")),
                });
                record(package, "channel", name, ChangeKind::Changed, details);
            }
            (old, _) => record(package, "channel", name, added_or_removed(old), Vec::new()),
        }
    });

    for_each_difference(&bundles(old), &bundles(new), |(package, name), old, new| match (old, new) {
        (Some(old), Some(new)) => {
            let mut details = Vec::new();
            for_each_difference(old, new, |key, old, new| {
                let truncate = |text: &String| text.chars().take(120).collect::<String>();
                details.push(match (old, new) {
                    (Some(old), Some(new)) => format!("{key}: {} (was: {})", truncate(new), truncate(old)),
                    (None, Some(new)) => format!("{key} added: {}", truncate(new)),
                    (_, None) => format!("{key} removed"),
                });
            });
            record(package, "bundle", name, ChangeKind::Changed, details);
        }
        (old, _) => record(package, "bundle", name, added_or_removed(old), Vec::new()),
    });

    let deprecated = |summary: &CatalogSummary| -> BTreeMap<(String, String), String> {
        let entries =
            summary.deprecations.iter().flat_map(|d| d.entries.iter().map(|entry| (&d.package, entry)));
        entries
            .map(|(package, entry)| {
                let name = format!("{} {}", entry.schema, entry.name);
                ((package.clone(), name.trim_end().to_owned()), entry.message.clone())
            })
            .collect()
    };
    for_each_difference(&deprecated(&before), &deprecated(&after), |(package, name), old, new| {
        let kind = if old.is_some() && new.is_some() { ChangeKind::Changed } else { added_or_removed(old) };
        record(package, "deprecation", name, kind, new.cloned().into_iter().collect());
    });

    let others = |config: &DeclarativeConfig| -> BTreeMap<(String, String), BTreeSet<Vec<u8>>> {
        let mut all: BTreeMap<_, BTreeSet<Vec<u8>>> = BTreeMap::new();
        for meta in config.of_kind(MetaKind::Other) {
            let name = format!("{} {}", meta.header.schema, meta.header.name);
            let key = (meta.header.package.clone(), name.trim_end().to_owned());
            all.entry(key).or_default().insert(compact_json(meta));
        }
        all
    };
    for_each_difference(&others(old), &others(new), |(package, name), old, new| {
        let kind = if old.is_some() && new.is_some() { ChangeKind::Changed } else { added_or_removed(old) };
        record(package, "other", name, kind, Vec::new());
    });
    changes.sort();
    changes
}

/// Returns the kind of a change of which only one side exists.
fn added_or_removed<T>(old: Option<T>) -> ChangeKind {
    if old.is_some() { ChangeKind::Removed } else { ChangeKind::Added }
}

/// Calls `report` for each key whose values differ.
fn for_each_difference<K: Ord, V: PartialEq>(
    old: &BTreeMap<K, V>,
    new: &BTreeMap<K, V>,
    mut report: impl FnMut(&K, Option<&V>, Option<&V>),
) {
    for (key, value) in old {
        match new.get(key) {
            Some(other) if other == value => {}
            other => report(key, Some(value), other),
        }
    }
    new.iter()
        .filter(|(key, _)| !old.contains_key(key))
        .for_each(|(key, value)| report(key, None, Some(value)));
}

fn describe_edges(entry: &ChannelEntry) -> String {
    let mut parts = Vec::new();
    if !entry.replaces.is_empty() {
        parts.push(format!("replaces {}", entry.replaces));
    }
    if !entry.skips.is_empty() {
        parts.push(format!("skips {}", entry.skips.join(", ")));
    }
    if !entry.skip_range.is_empty() {
        parts.push(format!("skips {}", entry.skip_range));
    }
    if parts.is_empty() { "no edges".to_owned() } else { parts.join("; ") }
}

fn compact_json(meta: &Meta) -> Vec<u8> {
    let mut out = Vec::new();
    json::write(&mut out, meta.root(), Style::Compact);
    out
}

/// Returns image, properties by type and related images of each bundle.
fn bundles(config: &DeclarativeConfig) -> BTreeMap<(String, String), BTreeMap<String, String>> {
    let mut all = BTreeMap::new();
    for meta in config.of_kind(MetaKind::Bundle) {
        let mut attributes = BTreeMap::new();
        attributes.insert("image".to_owned(), meta.string("image").into_owned());
        let mut properties: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for property in meta.properties() {
            let mut value = Vec::new();
            if let Some(found) = property.value {
                json::write(&mut value, found, Style::Compact);
            }
            let text = String::from_utf8_lossy(&value).into_owned();
            properties.entry(format!("property {}", property.ty)).or_default().insert(text);
        }
        for (ty, values) in properties {
            attributes.insert(ty, values.into_iter().collect::<Vec<_>>().join(" "));
        }
        let related = meta.root().get("relatedImages");
        let images: BTreeSet<String> = related
            .into_iter()
            .flat_map(|list| list.items())
            .map(|item| item.string("image").into_owned())
            .collect();
        attributes.insert("related images".to_owned(), images.into_iter().collect::<Vec<_>>().join(" "));
        all.insert((meta.header.package.clone(), meta.header.name.clone()), attributes);
    }
    all
}
