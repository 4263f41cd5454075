//! What changed between two catalogs, for those who use them.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::{Config, Kind, Meta};
use crate::facts::{Entry, Facts};
use crate::generation::Generation;
use crate::json::{self, Style};

/// Something that changed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    /// The package.
    pub package: String,
    /// What it is about: `package`, `channel`, `bundle`, `deprecation` or `other`.
    pub what: &'static str,
    /// Its name.
    pub name: String,
    /// What happened.
    pub how: How,
    /// More about it, a line each.
    pub details: Vec<String>,
}

/// What happened to a thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// It is another one.
    Changed,
}

impl How {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
        }
    }
}

impl Change {
    /// Whether those who installed what the old catalog offered may now lack it: a bundle that is gone or another one.
    pub fn breaks_a_promise(&self) -> bool {
        self.what == "bundle" && self.how != How::Added
    }
}

/// The changes from one catalog to another, in order.
pub fn diff(old: &Config, new: &Config) -> Vec<Change> {
    let mut changes = Vec::new();
    let (before, after) = (Facts::of(old, Generation::V173), Facts::of(new, Generation::V173));
    let mut note = |package: &str, what: &'static str, name: &str, how: How, details: Vec<String>| {
        changes.push(Change { package: package.to_owned(), what, name: name.to_owned(), how, details });
    };

    let packages = |facts: &Facts| -> BTreeMap<String, String> {
        facts.packages.iter().map(|p| (p.name.clone(), p.default_channel.clone())).collect()
    };
    each(&packages(&before), &packages(&after), |name, old, new| match (old, new) {
        (Some(old), Some(new)) => {
            let details = vec![format!("the default channel was {old} and is {new}")];
            note(name, "package", name, How::Changed, details);
        }
        (old, _) => note(name, "package", name, how(old), Vec::new()),
    });

    type Channels = BTreeMap<(String, String), BTreeMap<String, Entry>>;
    let channels = |facts: &Facts| -> Channels {
        let entries = |entries: &[Entry]| {
            entries.iter().map(|entry| (entry.name.clone(), Entry { line: 0, ..entry.clone() })).collect()
        };
        facts.channels.iter().map(|c| ((c.package.clone(), c.name.clone()), entries(&c.entries))).collect()
    };
    each(&channels(&before), &channels(&after), |(package, name), old, new| match (old, new) {
        (Some(old), Some(new)) => {
            let mut details = Vec::new();
            each(old, new, |entry, old, new| match (old, new) {
                (Some(old), Some(new)) => {
                    details.push(format!("{entry}: {} (was: {})", edges(new), edges(old)))
                }
                (None, Some(new)) => details.push(format!("{entry} added: {}", edges(new))),
                (_, None) => details.push(format!("{entry} removed")),
            });
            note(package, "channel", name, How::Changed, details);
        }
        (old, _) => note(package, "channel", name, how(old), Vec::new()),
    });

    each(&bundles(old), &bundles(new), |(package, name), old, new| match (old, new) {
        (Some(old), Some(new)) => {
            let mut details = Vec::new();
            each(old, new, |key, old, new| {
                let short = |text: &String| text.chars().take(120).collect::<String>();
                details.push(match (old, new) {
                    (Some(old), Some(new)) => format!("{key}: {} (was: {})", short(new), short(old)),
                    (None, Some(new)) => format!("{key} added: {}", short(new)),
                    (_, None) => format!("{key} removed"),
                });
            });
            note(package, "bundle", name, How::Changed, details);
        }
        (old, _) => note(package, "bundle", name, how(old), Vec::new()),
    });

    let deprecated = |facts: &Facts| -> BTreeMap<(String, String), String> {
        let entries =
            facts.deprecations.iter().flat_map(|d| d.entries.iter().map(|entry| (&d.package, entry)));
        entries
            .map(|(package, entry)| {
                let name = format!("{} {}", entry.schema, entry.name);
                ((package.clone(), name.trim_end().to_owned()), entry.message.clone())
            })
            .collect()
    };
    each(&deprecated(&before), &deprecated(&after), |(package, name), old, new| {
        let how = if old.is_some() && new.is_some() { How::Changed } else { how(old) };
        note(package, "deprecation", name, how, new.cloned().into_iter().collect());
    });

    let others = |config: &Config| -> BTreeMap<(String, String), BTreeSet<Vec<u8>>> {
        let mut all: BTreeMap<_, BTreeSet<Vec<u8>>> = BTreeMap::new();
        for meta in config.of(Kind::Other) {
            let name = format!("{} {}", meta.head.schema, meta.head.name);
            let key = (meta.head.package.clone(), name.trim_end().to_owned());
            all.entry(key).or_default().insert(blob(meta));
        }
        all
    };
    each(&others(old), &others(new), |(package, name), old, new| {
        let how = if old.is_some() && new.is_some() { How::Changed } else { how(old) };
        note(package, "other", name, how, Vec::new());
    });
    changes.sort();
    changes
}

/// What happened to a thing that only one of the two has.
fn how<T>(old: Option<T>) -> How {
    if old.is_some() { How::Removed } else { How::Added }
}

/// Shows what differs between two maps.
fn each<K: Ord, V: PartialEq>(
    old: &BTreeMap<K, V>,
    new: &BTreeMap<K, V>,
    mut show: impl FnMut(&K, Option<&V>, Option<&V>),
) {
    for (key, value) in old {
        match new.get(key) {
            Some(other) if other == value => {}
            other => show(key, Some(value), other),
        }
    }
    new.iter()
        .filter(|(key, _)| !old.contains_key(key))
        .for_each(|(key, value)| show(key, None, Some(value)));
}

fn edges(entry: &Entry) -> String {
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

fn blob(meta: &Meta) -> Vec<u8> {
    let mut out = Vec::new();
    json::write(&mut out, meta.root(), Style::Compact);
    out
}

/// What there is to know of each bundle: image, properties by type, related images.
fn bundles(config: &Config) -> BTreeMap<(String, String), BTreeMap<String, String>> {
    let mut all = BTreeMap::new();
    for meta in config.of(Kind::Bundle) {
        let mut parts = BTreeMap::new();
        parts.insert("image".to_owned(), meta.string("image").into_owned());
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
            parts.insert(ty, values.into_iter().collect::<Vec<_>>().join(" "));
        }
        let related = meta.root().get("relatedImages");
        let images: BTreeSet<String> = related
            .into_iter()
            .flat_map(|list| list.items())
            .map(|item| item.string("image").into_owned())
            .collect();
        parts.insert("related images".to_owned(), images.into_iter().collect::<Vec<_>>().join(" "));
        all.insert((meta.head.package.clone(), meta.head.name.clone()), parts);
    }
    all
}
