//! The graph for a terminal: the newest version on top, and from each the ways down.
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

use super::versions;
use crate::config::{self, Config};
use crate::facts::{ChannelFacts, Entry, Facts};
use crate::generation::Generation;
use crate::problem::Problem;

/// Draws the channels of a package, or of all if the name is empty.
pub fn picture(config: &Config, package: &str, generation: Generation) -> Result<String, Problem> {
    let versions = versions(config, generation)?;
    let facts = Facts::of(config, generation);
    let mut text = String::new();
    let mut names: Vec<&str> = facts.packages.iter().map(|package| package.name.as_str()).collect();
    names.sort_unstable();
    for name in names.into_iter().filter(|name| package.is_empty() || *name == package) {
        let default =
            facts.packages.iter().find(|facts| facts.name == name).map(|facts| &facts.default_channel);
        let deprecated: BTreeMap<(&str, &str), &str> = facts
            .deprecations
            .iter()
            .filter(|facts| facts.package == name)
            .flat_map(|facts| &facts.entries)
            .map(|entry| ((entry.schema.as_str(), entry.name.as_str()), entry.message.as_str()))
            .collect();
        let note = |schema: &str, name: &str| match deprecated.get(&(schema, name)) {
            Some(message) => format!("   deprecated: {}", message.lines().next().unwrap_or_default()),
            None => String::new(),
        };
        let _ = writeln!(text, "{name}{}", note(config::PACKAGE, ""));
        let mut channels: Vec<&ChannelFacts> = facts.channels.iter().filter(|c| c.package == name).collect();
        channels.sort_by(|a, b| a.name.cmp(&b.name));
        for channel in channels {
            let mark = if Some(&channel.name) == default { " (default)" } else { "" };
            let _ = writeln!(text, "  {}{mark}{}", channel.name, note(config::CHANNEL, &channel.name));
            draw(&mut text, channel, &versions, |bundle| note(config::BUNDLE, bundle));
        }
    }
    Ok(text)
}

fn draw(
    text: &mut String,
    channel: &ChannelFacts,
    versions: &HashMap<String, Version>,
    note: impl Fn(&str) -> String,
) {
    let unknown = Version::default();
    let version = |name: &str| versions.get(name).unwrap_or(&unknown);
    let mut entries: Vec<&Entry> = channel.entries.iter().collect();
    entries.sort_by(|a, b| version(&b.name).compare(version(&a.name)));
    let here: HashSet<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    let width = entries.iter().map(|entry| entry.name.chars().count()).max().unwrap_or_default();
    for (at, entry) in entries.iter().enumerate() {
        let last = at + 1 == entries.len();
        let dot = if versions.contains_key(&entry.name) { "●" } else { "○" };
        let number = versions.get(&entry.name).map_or_else(|| "no bundle".to_owned(), Version::to_string);
        let _ = writeln!(text, "    {dot} {:width$}   {number}{}", entry.name, note(&entry.name));
        let side = if last { " " } else { "│" };
        let mut ways = Vec::new();
        if !entry.replaces.is_empty() {
            let absent = if here.contains(entry.replaces.as_str()) { "" } else { " (not in this channel)" };
            ways.push(format!("replaces {}{absent}", entry.replaces));
        }
        if !entry.skips.is_empty() {
            ways.push(format!("skips {}", entry.skips.join(", ")));
        }
        if !entry.skip_range.is_empty() {
            let inside = Range::parse(&entry.skip_range).map(|range| {
                let names = entries.iter().filter(|other| range.contains(version(&other.name)));
                names.map(|other| other.name.as_str()).collect::<Vec<_>>().join(", ")
            });
            ways.push(match inside {
                Ok(names) if names.is_empty() => format!("skips {}", entry.skip_range),
                Ok(names) => format!("skips {} ({names})", entry.skip_range),
                Err(_) => format!("skips {} (no range)", entry.skip_range),
            });
        }
        for (number, way) in ways.iter().enumerate() {
            let corner = if number + 1 == ways.len() { "└─" } else { "├─" };
            let _ = writeln!(text, "    {side} {corner} {way}");
        }
    }
}
