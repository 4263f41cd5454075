//! Renders the upgrade graph for a terminal: highest version first, with the upgrade edges below each bundle.
//!
//! ```text
//! stable-v1 (default)
//!   ● demo.v1.2.0   1.2.0
//!   │ ├─ skips demo.v1.1.0
//!   ● demo.v1.1.1   1.1.1
//!   ○ demo.v1.0.0   1.0.0   not in this catalog
//! ```

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;

use podium_versions::blang::{Range, Version};

use super::versions_by_bundle;
use crate::compat::OpmCompat;
use crate::declcfg::{self, DeclarativeConfig};
use crate::error::CatalogError;
use crate::summary::{CatalogSummary, ChannelEntry, ChannelSummary};

/// Renders the channels of a package, or of all packages if the name is empty.
pub fn text_graph(
    config: &DeclarativeConfig,
    package: &str,
    compat: OpmCompat,
) -> Result<String, CatalogError> {
    let versions = versions_by_bundle(config, compat)?;
    let summary = CatalogSummary::from_config(config, compat);
    let mut text = String::new();
    let mut names: Vec<&str> = summary.packages.iter().map(|package| package.name.as_str()).collect();
    names.sort_unstable();
    for name in names.into_iter().filter(|name| package.is_empty() || *name == package) {
        let default = summary
            .packages
            .iter()
            .find(|summary| summary.name == name)
            .map(|summary| &summary.default_channel);
        let deprecated: BTreeMap<(&str, &str), &str> = summary
            .deprecations
            .iter()
            .filter(|summary| summary.package == name)
            .flat_map(|summary| &summary.entries)
            .map(|entry| ((entry.schema.as_str(), entry.name.as_str()), entry.message.as_str()))
            .collect();
        let deprecation_note = |schema: &str, name: &str| match deprecated.get(&(schema, name)) {
            Some(message) => format!("   deprecated: {}", message.lines().next().unwrap_or_default()),
            None => String::new(),
        };
        let _ = writeln!(text, "{name}{}", deprecation_note(declcfg::SCHEMA_PACKAGE, ""));
        let mut channels: Vec<&ChannelSummary> =
            summary.channels.iter().filter(|c| c.package == name).collect();
        channels.sort_by(|a, b| a.name.cmp(&b.name));
        for channel in channels {
            let mark = if Some(&channel.name) == default { " (default)" } else { "" };
            let _ = writeln!(
                text,
                "  {}{mark}{}",
                channel.name,
                deprecation_note(declcfg::SCHEMA_CHANNEL, &channel.name)
            );
            write_channel(&mut text, channel, &versions, |bundle| {
                deprecation_note(declcfg::SCHEMA_BUNDLE, bundle)
            });
        }
    }
    Ok(text)
}

fn write_channel(
    text: &mut String,
    channel: &ChannelSummary,
    versions: &HashMap<String, Version>,
    deprecation_note: impl Fn(&str) -> String,
) {
    let unknown = Version::default();
    let version = |name: &str| versions.get(name).unwrap_or(&unknown);
    let mut entries: Vec<&ChannelEntry> = channel.entries.iter().collect();
    entries.sort_by(|a, b| version(&b.name).compare(version(&a.name)));
    let in_channel: HashSet<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    let width = entries.iter().map(|entry| entry.name.chars().count()).max().unwrap_or_default();
    for (index, entry) in entries.iter().enumerate() {
        let last = index + 1 == entries.len();
        let marker = if versions.contains_key(&entry.name) { "●" } else { "○" };
        let number = versions.get(&entry.name).map_or_else(|| "no bundle".to_owned(), Version::to_string);
        let _ =
            writeln!(text, "    {marker} {:width$}   {number}{}", entry.name, deprecation_note(&entry.name));
        let rail = if last { " " } else { "│" };
        let mut edges = Vec::new();
        if !entry.replaces.is_empty() {
            let suffix =
                if in_channel.contains(entry.replaces.as_str()) { "" } else { " (not in this channel)" };
            edges.push(format!("replaces {}{suffix}", entry.replaces));
        }
        if !entry.skips.is_empty() {
            edges.push(format!("skips {}", entry.skips.join(", ")));
        }
        if !entry.skip_range.is_empty() {
            let matching = Range::parse(&entry.skip_range).map(|range| {
                let names = entries.iter().filter(|other| range.contains(version(&other.name)));
                names.map(|other| other.name.as_str()).collect::<Vec<_>>().join(", ")
            });
            edges.push(match matching {
                Ok(names) if names.is_empty() => format!("skips {}", entry.skip_range),
                Ok(names) => format!("skips {} ({names})", entry.skip_range),
                Err(_) => format!("skips {} (invalid range)", entry.skip_range),
            });
        }
        for (number, edge) in edges.iter().enumerate() {
            let corner = if number + 1 == edges.len() { "└─" } else { "├─" };
            let _ = writeln!(text, "    {rail} {corner} {edge}");
        }
    }
}
