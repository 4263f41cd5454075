//! Renders the upgrade graph as mermaid, like opm.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;

use podium_versions::blang::{Range, Version};

use super::versions_by_bundle;
use crate::compat::OpmCompat;
use crate::declcfg::{self, DeclarativeConfig, MetaKind};
use crate::error::{CatalogError, quote};
use crate::summary::{CatalogSummary, ChannelEntry, DeprecationEntry};

/// What to render.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Bundle below which nothing is rendered; empty for all.
    pub minimum_edge: String,
    /// Package; empty for all.
    pub package: String,
    /// Whether to highlight bundles that OLM v0 would skip.
    pub v0_semantics: bool,
}

/// A rendered graph.
#[derive(Clone, Debug, Default)]
pub struct MermaidGraph {
    /// Mermaid text.
    pub text: String,
    /// opm's warnings.
    pub warnings: Vec<String>,
}

/// Renders the channels of a catalog.
pub fn mermaid(
    config: &DeclarativeConfig,
    options: &Options,
    compat: OpmCompat,
) -> Result<MermaidGraph, CatalogError> {
    let versions = versions_by_bundle(config, compat)?;
    let minimum_version = match options.minimum_edge.as_str() {
        "" => Version::default(),
        name => versions
            .get(name)
            .cloned()
            .ok_or_else(|| CatalogError::new(format!("unknown minimum edge name: {}", quote(name))))?,
    };
    let summary = CatalogSummary::from_config(config, compat);
    let mut deprecated = DeprecatedNames::default();
    for summary in &summary.deprecations {
        for DeprecationEntry { schema, name, .. } in &summary.entries {
            match schema.as_str() {
                declcfg::SCHEMA_PACKAGE => drop(deprecated.packages.insert(summary.package.clone())),
                declcfg::SCHEMA_CHANNEL => drop(deprecated.channels.insert(name.clone())),
                declcfg::SCHEMA_BUNDLE => drop(deprecated.bundles.insert(name.clone())),
                _ => {}
            }
        }
    }
    let mut channels: Vec<_> = summary.channels.iter().collect();
    channels.sort_by(|a, b| a.name.cmp(&b.name));
    let contains_minimum =
        |entries: &[ChannelEntry]| entries.iter().any(|entry| entry.name == options.minimum_edge);
    let minimum_package = channels
        .iter()
        .find(|channel| !options.minimum_edge.is_empty() && contains_minimum(&channel.entries));
    let minimum_package = minimum_package.map(|channel| channel.package.clone()).unwrap_or_default();

    let mut writer = GraphWriter {
        options,
        versions: &versions,
        minimum_version,
        deprecated,
        compat,
        packages: BTreeMap::new(),
        deprecated_package: String::new(),
        deprecated_channels: Vec::new(),
        classes: BTreeMap::new(),
        links: 0,
        skipped_links: Vec::new(),
        warnings: Vec::new(),
    };
    for channel in channels {
        let selected = (options.package.is_empty() || options.package == channel.package)
            && (minimum_package.is_empty() || minimum_package == channel.package);
        let unfiltered = options.minimum_edge.is_empty() && options.package.is_empty();
        let entries = if unfiltered {
            channel.entries.clone()
        } else if selected {
            writer.filter(&channel.entries)
        } else {
            Vec::new()
        };
        if unfiltered || !entries.is_empty() {
            writer.write_channel(&channel.package, &channel.name, &entries);
        }
    }
    Ok(writer.finish())
}

#[derive(Default)]
struct DeprecatedNames {
    packages: HashSet<String>,
    channels: HashSet<String>,
    bundles: HashSet<String>,
}

struct GraphWriter<'o> {
    options: &'o Options,
    versions: &'o HashMap<String, Version>,
    minimum_version: Version,
    deprecated: DeprecatedNames,
    compat: OpmCompat,
    packages: BTreeMap<String, String>,
    deprecated_package: String,
    deprecated_channels: Vec<String>,
    /// Nodes by class: deprecated, deprecatedskipped, skipped.
    classes: BTreeMap<&'static str, Vec<String>>,
    links: usize,
    skipped_links: Vec<String>,
    warnings: Vec<String>,
}

impl GraphWriter<'_> {
    fn version(&self, name: &str) -> Version {
        self.versions.get(name).cloned().unwrap_or_default()
    }

    fn reaches_minimum(&self, name: &str) -> bool {
        self.version(name).compare(&self.minimum_version).is_ge()
    }

    /// Returns the entries and edges above the minimum edge.
    fn filter(&self, entries: &[ChannelEntry]) -> Vec<ChannelEntry> {
        let has_no_edges = |entry: &ChannelEntry| {
            entry.replaces.is_empty() && entry.skips.is_empty() && entry.skip_range.is_empty()
        };
        let filter_entry = |entry: &ChannelEntry| -> Option<ChannelEntry> {
            if self.options.minimum_edge.is_empty() {
                return Some(entry.clone());
            }
            let name = entry.name.clone();
            if name == self.options.minimum_edge {
                return Some(ChannelEntry { name, ..ChannelEntry::default() });
            }
            let replaces =
                Some(&entry.replaces).filter(|name| !name.is_empty() && self.reaches_minimum(name));
            let range = Range::parse(&entry.skip_range).ok();
            let filtered_entry = ChannelEntry {
                name,
                replaces: replaces.cloned().unwrap_or_default(),
                skips: entry.skips.iter().filter(|skip| self.reaches_minimum(skip)).cloned().collect(),
                skip_range: match range {
                    Some(range) if range.contains(&self.minimum_version) => entry.skip_range.clone(),
                    _ => String::new(),
                },
                line: entry.line,
            };
            let visible =
                !has_no_edges(&filtered_entry) || (has_no_edges(entry) && self.reaches_minimum(&entry.name));
            visible.then_some(filtered_entry)
        };
        entries.iter().filter_map(filter_entry).collect()
    }

    fn write_channel(&mut self, package: &str, name: &str, entries: &[ChannelEntry]) {
        let mut text = self.packages.remove(package).unwrap_or_default();
        let id = format!("{package}-{name}");
        let _ = writeln!(text, "    %% channel {}\n    subgraph {id}[{}]", quote(name), quote(name));
        if self.deprecated.packages.contains(package) {
            self.deprecated_package = package.to_owned();
        }
        if self.deprecated.channels.contains(name) {
            self.deprecated_channels.push(id.clone());
        }
        match self.compat {
            OpmCompat::V173 => self.write_entries_v173(&mut text, package, &id, entries),
            OpmCompat::V151 => self.write_entries_v151(&mut text, package, &id, entries),
        }
        text.push_str("    end\n");
        self.packages.insert(package.to_owned(), text);
    }

    fn write_entries_v173(&mut self, text: &mut String, package: &str, id: &str, entries: &[ChannelEntry]) {
        let mut sorted: Vec<&ChannelEntry> = entries.iter().collect();
        sorted.sort_by(|a, b| self.version(&b.name).compare(&self.version(&a.name)));
        let mut skipped: HashSet<&str> = HashSet::new();
        for entry in sorted {
            let node_id = format!("{id}-{}", entry.name);
            let _ = writeln!(text, "      {node_id}[{}]", quote(&entry.name));
            let is_skipped = skipped.contains(entry.name.as_str());
            let class = match (self.deprecated.bundles.contains(&entry.name), is_skipped) {
                (true, true) => Some("deprecatedskipped"),
                (true, false) => Some("deprecated"),
                (false, true) => Some("skipped"),
                (false, false) => None,
            };
            if let Some(class) = class {
                self.classes.entry(class).or_default().push(node_id.clone());
            }
            for skip in &entry.skips {
                write_edge(text, id, skip, "skip", &entry.name);
                let already_skipped = self.options.v0_semantics && !skipped.insert(skip);
                self.count_link(already_skipped);
            }
            for from in self.skip_range_sources(package, entry, entries) {
                write_edge(text, id, &from, &format!("\"skipRange({})\"", entry.skip_range), &entry.name);
                self.count_link(skipped.contains(entry.name.as_str()));
            }
            if !entry.replaces.is_empty() {
                write_edge(text, id, &entry.replaces, "replace", &entry.name);
                self.count_link(skipped.contains(entry.name.as_str()));
            }
        }
    }

    fn write_entries_v151(&mut self, text: &mut String, package: &str, id: &str, entries: &[ChannelEntry]) {
        for entry in entries {
            if !self.reaches_minimum(&entry.name) {
                continue;
            }
            let class_suffix =
                if self.deprecated.bundles.contains(&entry.name) { ":::deprecated" } else { "" };
            let _ = writeln!(text, "      {id}-{}[{}]{class_suffix}", entry.name, quote(&entry.name));
            if !entry.replaces.is_empty() {
                write_edge(text, id, &entry.replaces, "replace", &entry.name);
            }
            entry.skips.iter().for_each(|skip| write_edge(text, id, skip, "skip", &entry.name));
            for from in self.skip_range_sources(package, entry, entries) {
                write_edge(text, id, &from, &format!("\"skipRange({})\"", entry.skip_range), &entry.name);
            }
        }
    }

    /// Returns the entries in the skipRange of an entry.
    fn skip_range_sources(
        &mut self,
        package: &str,
        entry: &ChannelEntry,
        entries: &[ChannelEntry],
    ) -> Vec<String> {
        if entry.skip_range.is_empty() {
            return Vec::new();
        }
        match Range::parse(&entry.skip_range) {
            Ok(range) => {
                let sources = entries.iter().filter(|other| range.contains(&self.version(&other.name)));
                sources.map(|other| other.name.clone()).collect()
            }
            Err(error) => {
                let (package, name) = (quote(package), quote(&entry.name));
                self.warnings.push(format!(
                    "warning: ignoring invalid SkipRange for package/edge {package}/{name}: {error}"
                ));
                Vec::new()
            }
        }
    }

    fn count_link(&mut self, skipped: bool) {
        if skipped {
            self.skipped_links.push(self.links.to_string());
        }
        self.links += 1;
    }

    fn finish(self) -> MermaidGraph {
        let mut text = String::from("graph LR\n  classDef deprecated fill:#E8960F\n");
        if self.compat == OpmCompat::V173 {
            text.push_str("  classDef skipped stroke:#FF0000,stroke-width:4px\n");
            text.push_str("  classDef deprecatedskipped fill:#E8960F,stroke:#FF0000,stroke-width:4px\n");
        }
        for (package, channels) in &self.packages {
            let name = quote(package);
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
        MermaidGraph { text, warnings: self.warnings }
    }
}

fn write_edge(text: &mut String, id: &str, from: &str, label: &str, to: &str) {
    let _ = writeln!(text, "      {id}-{from}[{}]-- {label} --> {id}-{to}[{}]", quote(from), quote(to));
}

impl DeclarativeConfig {
    /// Returns the package names, sorted.
    pub fn package_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> =
            self.of_kind(MetaKind::Package).map(|meta| meta.header.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}
