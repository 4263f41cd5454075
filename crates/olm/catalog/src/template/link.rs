//! The edges of a semver template, by both generations of rules.

use std::collections::{BTreeMap, BTreeSet};

use podium_versions::blang::Version;

use super::semver::Width;
use crate::facts::Entry;

/// An entry that has no edges yet.
pub(super) struct Placed {
    /// Which of candidate, fast and stable.
    pub stream: usize,
    pub width: Width,
    /// The channel.
    pub channel: String,
    /// The place in the channel.
    pub index: usize,
    pub version: Version,
}

type Channels = BTreeMap<String, Vec<Entry>>;

fn minor(version: &Version) -> (u64, u64) {
    (version.major, version.minor)
}

/// opm 1.61 and later. In each stream, and for channels of majors and of minors apart, the entries of a major form a
/// row; the highest patch of each minor replaces the highest patch of the minor before it, and skips everything else in
/// the row before it. In channels of minors, what is replaced may thus be in another channel.
pub(super) fn link_current(channels: &mut Channels, mut placed: Vec<Placed>) {
    placed.sort_by(|a, b| {
        (a.stream, a.width).cmp(&(b.stream, b.width)).then_with(|| a.version.compare(&b.version))
    });
    for row in
        placed.chunk_by(|a, b| (a.stream, a.width, a.version.major) == (b.stream, b.width, b.version.major))
    {
        let mut replaces = String::new();
        let mut before: BTreeSet<String> = BTreeSet::new();
        for patches in row.chunk_by(|a, b| minor(&a.version) == minor(&b.version)) {
            let names: Vec<String> = patches.iter().map(|placed| name(channels, placed)).collect();
            let Some((last, lower)) = patches.last().zip(names.split_last()) else { continue };
            before.extend(lower.1.iter().cloned());
            if let Some(entry) =
                channels.get_mut(&last.channel).and_then(|entries| entries.get_mut(last.index))
            {
                entry.skips = before.iter().filter(|name| **name != replaces).cloned().collect();
                entry.replaces.clone_from(&replaces);
            }
            before.insert(lower.0.clone());
            replaces.clone_from(lower.0);
        }
    }
}

fn name(channels: &Channels, placed: &Placed) -> String {
    let entry = channels.get(&placed.channel).and_then(|entries| entries.get(placed.index));
    entry.map(|entry| entry.name.clone()).unwrap_or_default()
}

/// opm up to 1.60. In each channel the highest patch of a minor replaces the highest patch of the minor before it, skips
/// it too, and skips the lower patches of its own minor.
pub(super) fn link_old(channels: &mut Channels, placed: &[Placed]) {
    let versions: BTreeMap<(&str, usize), &Version> =
        placed.iter().map(|placed| ((placed.channel.as_str(), placed.index), &placed.version)).collect();
    for (channel, entries) in channels.iter_mut() {
        let minors: Vec<(u64, u64)> = (0..entries.len())
            .map(|index| versions.get(&(channel.as_str(), index)).map(|v| minor(v)).unwrap_or_default())
            .collect();
        let mut previous: Option<String> = None;
        let mut start = 0;
        for patches in minors.chunk_by(|a, b| a == b) {
            let last = start + patches.len() - 1;
            let lower: Vec<String> =
                entries.get(start..last).unwrap_or_default().iter().map(|entry| entry.name.clone()).collect();
            if let Some(entry) = entries.get_mut(last) {
                entry.skips = previous.iter().cloned().chain(lower).collect();
                entry.replaces = previous.take().unwrap_or_default();
                previous = Some(entry.name.clone());
            }
            start = last + 1;
        }
    }
}
