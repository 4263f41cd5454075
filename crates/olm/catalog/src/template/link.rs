//! Upgrade edges of semver templates, for both opm compatibility levels.

use std::collections::{BTreeMap, BTreeSet};

use podium_versions::blang::Version;

use super::semver::StreamType;
use crate::summary::ChannelEntry;

/// A channel entry without upgrade edges.
pub(super) struct VersionedEntry {
    /// Index of the channel archetype.
    pub archetype: usize,
    pub stream_type: StreamType,
    /// Channel name.
    pub channel: String,
    /// Index in the channel.
    pub index: usize,
    pub version: Version,
}

type Channels = BTreeMap<String, Vec<ChannelEntry>>;

fn major_minor(version: &Version) -> (u64, u64) {
    (version.major, version.minor)
}

/// opm 1.61 and later. Entries are grouped by archetype, stream type and major version. The highest patch of
/// each minor replaces the highest patch of the previous minor and skips all other lower entries of the
/// group. In minor-version channels the replaced bundle may thus be in another channel.
pub(super) fn link_v173(channels: &mut Channels, mut unlinked: Vec<VersionedEntry>) {
    unlinked.sort_by(|a, b| {
        (a.archetype, a.stream_type)
            .cmp(&(b.archetype, b.stream_type))
            .then_with(|| a.version.compare(&b.version))
    });
    for same_major in unlinked.chunk_by(|a, b| {
        (a.archetype, a.stream_type, a.version.major) == (b.archetype, b.stream_type, b.version.major)
    }) {
        let mut replaces = String::new();
        let mut lower_names: BTreeSet<String> = BTreeSet::new();
        for same_minor in same_major.chunk_by(|a, b| major_minor(&a.version) == major_minor(&b.version)) {
            let names: Vec<String> = same_minor.iter().map(|entry| entry_name(channels, entry)).collect();
            let Some((last, lower)) = same_minor.last().zip(names.split_last()) else { continue };
            lower_names.extend(lower.1.iter().cloned());
            if let Some(entry) =
                channels.get_mut(&last.channel).and_then(|entries| entries.get_mut(last.index))
            {
                entry.skips = lower_names.iter().filter(|name| **name != replaces).cloned().collect();
                entry.replaces.clone_from(&replaces);
            }
            lower_names.insert(lower.0.clone());
            replaces.clone_from(lower.0);
        }
    }
}

fn entry_name(channels: &Channels, unlinked: &VersionedEntry) -> String {
    let entry = channels.get(&unlinked.channel).and_then(|entries| entries.get(unlinked.index));
    entry.map(|entry| entry.name.clone()).unwrap_or_default()
}

/// opm up to 1.60. In each channel the highest patch of a minor replaces the highest patch of the previous
/// minor, skips it too, and skips the lower patches of its own minor.
pub(super) fn link_v151(channels: &mut Channels, unlinked: &[VersionedEntry]) {
    let versions: BTreeMap<(&str, usize), &Version> = unlinked
        .iter()
        .map(|unlinked| ((unlinked.channel.as_str(), unlinked.index), &unlinked.version))
        .collect();
    for (channel, entries) in channels.iter_mut() {
        let minors: Vec<(u64, u64)> = (0..entries.len())
            .map(|index| versions.get(&(channel.as_str(), index)).map(|v| major_minor(v)).unwrap_or_default())
            .collect();
        let mut previous: Option<String> = None;
        let mut start = 0;
        for same_minor in minors.chunk_by(|a, b| a == b) {
            let last = start + same_minor.len() - 1;
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
