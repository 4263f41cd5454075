//! Lists releases: filters and order.

use std::collections::BTreeMap;

use podium_meta::Selector;
use podium_re2::Regex;

use crate::record::Release;
use crate::store::{Error, RecordEntry, Store};

/// Flags of `release list`, with the statuses that they select.
pub const STATUSES: [(&str, &[&str]); 6] = [
    ("deployed", &["deployed"]),
    ("uninstalled", &["uninstalled"]),
    ("uninstalling", &["uninstalling"]),
    ("superseded", &["superseded"]),
    ("failed", &["failed"]),
    ("pending", &["pending-install", "pending-upgrade", "pending-rollback"]),
];

/// Options of `release list`.
#[derive(Default)]
pub struct ListOptions {
    /// The statuses to include; all known ones when empty.
    pub statuses: Vec<&'static str>,
    /// A pattern for release names.
    pub filter: Option<Regex>,
    /// A selector for the labels of records.
    pub selector: Selector,
    /// Sorts by deployment time, latest last.
    pub sort_by_date: bool,
    /// Reverses the order.
    pub reverse: bool,
    /// How many releases to skip.
    pub offset: usize,
    /// How many releases to return; 0 is all.
    pub max: usize,
}

/// The listed releases, and records that could not be decoded.
pub struct ListResult {
    /// The releases.
    pub releases: Vec<Release>,
    /// Records that were skipped, and why.
    pub unreadable: Vec<Error>,
}

impl ListOptions {
    /// Lists releases. Reads only the newest record of each release, unless superseded revisions are selected.
    pub async fn list(&self, store: &Store) -> Result<ListResult, Error> {
        let index = store.list_entries().await?;
        let chosen = self.select_entries(index);
        let mut result = ListResult { releases: Vec::new(), unreadable: Vec::new() };
        for read in store.read_all(chosen).await {
            match read {
                Ok(release) => result.releases.push(release),
                // Deleted after the list.
                Err(Error::NotFound) => {}
                Err(error @ (Error::Decode { .. } | Error::MissingData(_))) => result.unreadable.push(error),
                Err(error) => return Err(error),
            }
        }
        result.releases = self.filter_and_sort(result.releases);
        Ok(result)
    }

    /// Whether only superseded revisions are selected; the newest of a release is never superseded.
    fn only_superseded(&self) -> bool {
        self.statuses == ["superseded"]
    }

    fn select_entries(&self, index: Vec<RecordEntry>) -> Vec<RecordEntry> {
        let matching =
            |entry: &RecordEntry| self.filter.as_ref().is_none_or(|filter| filter.is_match(entry.release()));
        let mut index: Vec<RecordEntry> = index.into_iter().filter(matching).collect();
        if !self.only_superseded() {
            let mut newest = BTreeMap::<(String, String), RecordEntry>::new();
            for entry in index {
                let key = (entry.release().to_owned(), entry.namespace.clone());
                match newest.get(&key) {
                    Some(known) if known.revision() > entry.revision() => {}
                    _ => drop(newest.insert(key, entry)),
                }
            }
            index = newest.into_values().collect();
        }
        index.retain(|entry| self.selector.matches(&entry.labels));
        index
    }

    fn filter_and_sort(&self, mut releases: Vec<Release>) -> Vec<Release> {
        let known = || STATUSES.iter().flat_map(|(_, words)| words.iter().copied());
        let wanted: Vec<&str> =
            if self.statuses.is_empty() { known().collect() } else { self.statuses.clone() };
        releases.retain(|release| wanted.contains(&release.info.status.as_str()));
        releases
            .sort_by(|a, b| (&a.name, &a.namespace, a.revision).cmp(&(&b.name, &b.namespace, b.revision)));
        if self.sort_by_date {
            let date =
                |release: &Release| release.info.last_deployed.as_ref().map_or(i64::MIN, |time| time.unix());
            releases.sort_by_key(date);
        }
        if self.reverse {
            releases.reverse();
        }
        let max = if self.max == 0 { usize::MAX } else { self.max };
        releases.into_iter().skip(self.offset).take(max).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(release: &str, revision: &str) -> RecordEntry {
        let labels = [("name", release), ("version", revision)].map(|(k, v)| (k.to_owned(), v.to_owned()));
        RecordEntry { key: format!("{release}.v{revision}"), labels: labels.into(), ..RecordEntry::default() }
    }

    #[test]
    fn selects_newest_revision_of_each_release() {
        let index = || vec![entry("a", "9"), entry("a", "10"), entry("b", "1")];
        let keys = |options: &ListOptions| {
            options.select_entries(index()).into_iter().map(|e| e.key).collect::<Vec<_>>()
        };
        assert_eq!(keys(&ListOptions::default()), ["a.v10", "b.v1"]);
        let superseded = ListOptions { statuses: vec!["superseded"], ..ListOptions::default() };
        assert_eq!(keys(&superseded), ["a.v9", "a.v10", "b.v1"]);
        let filtered = ListOptions { filter: Regex::new("^b").ok(), ..ListOptions::default() };
        assert_eq!(keys(&filtered), ["b.v1"]);
    }
}
