//! The graph for mermaid, in opm's bytes.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;

use podium_versions::blang::{Range, Version};

use super::versions;
use crate::config::{self, Config, Kind};
use crate::facts::{Deprecated, Entry, Facts};
use crate::generation::Generation;
use crate::problem::{Problem, quoted};

/// What to draw.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The bundle below which nothing is drawn; empty for all.
    pub minimum_edge: String,
    /// The package to draw; empty for all.
    pub package: String,
    /// Whether to mark what the older lifecycle manager would not use.
    pub v0_semantics: bool,
}

/// What is drawn, and what was left out.
#[derive(Clone, Debug, Default)]
pub struct Drawing {
    /// The text for mermaid.
    pub text: String,
    /// Warnings, in opm's words.
    pub warnings: Vec<String>,
}

/// Draws the channels of a catalog.
pub fn mermaid(config: &Config, options: &Options, generation: Generation) -> Result<Drawing, Problem> {
    let versions = versions(config, generation)?;
    let floor = match options.minimum_edge.as_str() {
        "" => Version::default(),
        name => versions
            .get(name)
            .cloned()
            .ok_or_else(|| Problem::new(format!("unknown minimum edge name: {}", quoted(name))))?,
    };
    let facts = Facts::of(config, generation);
    let mut deprecated = Marks::default();
    for facts in &facts.deprecations {
        for Deprecated { schema, name, .. } in &facts.entries {
            match schema.as_str() {
                config::PACKAGE => drop(deprecated.packages.insert(facts.package.clone())),
                config::CHANNEL => drop(deprecated.channels.insert(name.clone())),
                config::BUNDLE => drop(deprecated.bundles.insert(name.clone())),
                _ => {}
            }
        }
    }
    let mut channels: Vec<_> = facts.channels.iter().collect();
    channels.sort_by(|a, b| a.name.cmp(&b.name));
    let holds = |entries: &[Entry]| entries.iter().any(|entry| entry.name == options.minimum_edge);
    let of_floor =
        channels.iter().find(|channel| !options.minimum_edge.is_empty() && holds(&channel.entries));
    let of_floor = of_floor.map(|channel| channel.package.clone()).unwrap_or_default();

    let mut draw = Draw {
        options,
        versions: &versions,
        floor,
        deprecated,
        generation,
        packages: BTreeMap::new(),
        deprecated_package: String::new(),
        deprecated_channels: Vec::new(),
        classes: BTreeMap::new(),
        links: 0,
        skipped_links: Vec::new(),
        warnings: Vec::new(),
    };
    for channel in channels {
        let chosen = (options.package.is_empty() || options.package == channel.package)
            && (of_floor.is_empty() || of_floor == channel.package);
        let filtered = options.minimum_edge.is_empty() && options.package.is_empty();
        let entries = if filtered {
            channel.entries.clone()
        } else if chosen {
            draw.filter(&channel.entries)
        } else {
            Vec::new()
        };
        if filtered || !entries.is_empty() {
            draw.channel(&channel.package, &channel.name, &entries);
        }
    }
    Ok(draw.finish())
}

#[derive(Default)]
struct Marks {
    packages: HashSet<String>,
    channels: HashSet<String>,
    bundles: HashSet<String>,
}

struct Draw<'o> {
    options: &'o Options,
    versions: &'o HashMap<String, Version>,
    floor: Version,
    deprecated: Marks,
    generation: Generation,
    packages: BTreeMap<String, String>,
    deprecated_package: String,
    deprecated_channels: Vec<String>,
    /// The nodes of each class: deprecated, deprecatedskipped, skipped.
    classes: BTreeMap<&'static str, Vec<String>>,
    links: usize,
    skipped_links: Vec<String>,
    warnings: Vec<String>,
}

impl Draw<'_> {
    fn version(&self, name: &str) -> Version {
        self.versions.get(name).cloned().unwrap_or_default()
    }

    fn reaches_floor(&self, name: &str) -> bool {
        self.version(name).compare(&self.floor).is_ge()
    }

    /// The entries that are drawn, with the edges that are drawn.
    fn filter(&self, entries: &[Entry]) -> Vec<Entry> {
        let bare = |entry: &Entry| {
            entry.replaces.is_empty() && entry.skips.is_empty() && entry.skip_range.is_empty()
        };
        let keep = |entry: &Entry| -> Option<Entry> {
            if self.options.minimum_edge.is_empty() {
                return Some(entry.clone());
            }
            let name = entry.name.clone();
            if name == self.options.minimum_edge {
                return Some(Entry { name, ..Entry::default() });
            }
            let replaces = Some(&entry.replaces).filter(|name| !name.is_empty() && self.reaches_floor(name));
            let range = Range::parse(&entry.skip_range).ok();
            let kept = Entry {
                name,
                replaces: replaces.cloned().unwrap_or_default(),
                skips: entry.skips.iter().filter(|skip| self.reaches_floor(skip)).cloned().collect(),
                skip_range: match range {
                    Some(range) if range.contains(&self.floor) => entry.skip_range.clone(),
                    _ => String::new(),
                },
                line: entry.line,
            };
            let shown = !bare(&kept) || (bare(entry) && self.reaches_floor(&entry.name));
            shown.then_some(kept)
        };
        entries.iter().filter_map(keep).collect()
    }

    fn channel(&mut self, package: &str, name: &str, entries: &[Entry]) {
        let mut text = self.packages.remove(package).unwrap_or_default();
        let id = format!("{package}-{name}");
        let _ = writeln!(text, "    %% channel {}\n    subgraph {id}[{}]", quoted(name), quoted(name));
        if self.deprecated.packages.contains(package) {
            self.deprecated_package = package.to_owned();
        }
        if self.deprecated.channels.contains(name) {
            self.deprecated_channels.push(id.clone());
        }
        match self.generation {
            Generation::V173 => self.entries(&mut text, package, &id, entries),
            Generation::V151 => self.old_entries(&mut text, package, &id, entries),
        }
        text.push_str("    end\n");
        self.packages.insert(package.to_owned(), text);
    }

    fn entries(&mut self, text: &mut String, package: &str, id: &str, entries: &[Entry]) {
        let mut sorted: Vec<&Entry> = entries.iter().collect();
        sorted.sort_by(|a, b| self.version(&b.name).compare(&self.version(&a.name)));
        let mut skipped: HashSet<&str> = HashSet::new();
        for entry in sorted {
            let own = format!("{id}-{}", entry.name);
            let _ = writeln!(text, "      {own}[{}]", quoted(&entry.name));
            let is_skipped = skipped.contains(entry.name.as_str());
            let class = match (self.deprecated.bundles.contains(&entry.name), is_skipped) {
                (true, true) => Some("deprecatedskipped"),
                (true, false) => Some("deprecated"),
                (false, true) => Some("skipped"),
                (false, false) => None,
            };
            if let Some(class) = class {
                self.classes.entry(class).or_default().push(own.clone());
            }
            for skip in &entry.skips {
                edge(text, id, skip, "skip", &entry.name);
                let again = self.options.v0_semantics && !skipped.insert(skip);
                self.link(again);
            }
            for from in self.in_range(package, entry, entries) {
                edge(text, id, &from, &format!("\"skipRange({})\"", entry.skip_range), &entry.name);
                self.link(skipped.contains(entry.name.as_str()));
            }
            if !entry.replaces.is_empty() {
                edge(text, id, &entry.replaces, "replace", &entry.name);
                self.link(skipped.contains(entry.name.as_str()));
            }
        }
    }

    fn old_entries(&mut self, text: &mut String, package: &str, id: &str, entries: &[Entry]) {
        for entry in entries {
            if !self.reaches_floor(&entry.name) {
                continue;
            }
            let mark = if self.deprecated.bundles.contains(&entry.name) { ":::deprecated" } else { "" };
            let _ = writeln!(text, "      {id}-{}[{}]{mark}", entry.name, quoted(&entry.name));
            if !entry.replaces.is_empty() {
                edge(text, id, &entry.replaces, "replace", &entry.name);
            }
            entry.skips.iter().for_each(|skip| edge(text, id, skip, "skip", &entry.name));
            for from in self.in_range(package, entry, entries) {
                edge(text, id, &from, &format!("\"skipRange({})\"", entry.skip_range), &entry.name);
            }
        }
    }

    /// The entries whose versions an entry skips by range.
    fn in_range(&mut self, package: &str, entry: &Entry, entries: &[Entry]) -> Vec<String> {
        if entry.skip_range.is_empty() {
            return Vec::new();
        }
        match Range::parse(&entry.skip_range) {
            Ok(range) => {
                let inside = entries.iter().filter(|other| range.contains(&self.version(&other.name)));
                inside.map(|other| other.name.clone()).collect()
            }
            Err(error) => {
                let (package, name) = (quoted(package), quoted(&entry.name));
                self.warnings.push(format!(
                    "warning: ignoring invalid SkipRange for package/edge {package}/{name}: {error}"
                ));
                Vec::new()
            }
        }
    }

    fn link(&mut self, skipped: bool) {
        if skipped {
            self.skipped_links.push(self.links.to_string());
        }
        self.links += 1;
    }

    fn finish(self) -> Drawing {
        let mut text = String::from("graph LR\n  classDef deprecated fill:#E8960F\n");
        if self.generation == Generation::V173 {
            text.push_str("  classDef skipped stroke:#FF0000,stroke-width:4px\n");
            text.push_str("  classDef deprecatedskipped fill:#E8960F,stroke:#FF0000,stroke-width:4px\n");
        }
        for (package, channels) in &self.packages {
            let name = quoted(package);
            let _ = writeln!(text, "  %% package {name}\n  subgraph {name}\n{channels}  end");
        }
        if !self.deprecated_package.is_empty() {
            let _ = writeln!(text, "style {} fill:#989695", self.deprecated_package);
        }
        for channel in &self.deprecated_channels {
            let _ = writeln!(text, "style {channel} fill:#DCD0FF");
        }
        for (class, mut nodes) in self.classes {
            nodes.sort();
            let _ = writeln!(text, "class {} {class}", nodes.join(","));
        }
        if !self.skipped_links.is_empty() {
            let links = self.skipped_links.join(",");
            let _ = writeln!(text, "linkStyle {links} stroke:#FF0000,stroke-width:3px,stroke-dasharray:5;");
        }
        Drawing { text, warnings: self.warnings }
    }
}

fn edge(text: &mut String, id: &str, from: &str, how: &str, to: &str) {
    let _ = writeln!(text, "      {id}-{from}[{}]-- {how} --> {id}-{to}[{}]", quoted(from), quoted(to));
}

impl Config {
    /// The names of its packages, in order.
    pub fn package_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.of(Kind::Package).map(|meta| meta.head.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}
