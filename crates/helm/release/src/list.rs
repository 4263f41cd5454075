//! Which releases a list shows, and in which order.

use std::collections::BTreeMap;

use podium_meta::Selector;
use podium_re2::Regex;

use crate::record::Release;
use crate::store::{Entry, Error, Store};

/// The words for a state, with the flag that asks for it.
pub const STATES: [(&str, &[&str]); 6] = [
    ("deployed", &["deployed"]),
    ("uninstalled", &["uninstalled"]),
    ("uninstalling", &["uninstalling"]),
    ("superseded", &["superseded"]),
    ("failed", &["failed"]),
    ("pending", &["pending-install", "pending-upgrade", "pending-rollback"]),
];

/// What the user wants to see.
#[derive(Default)]
pub struct Wanted {
    /// The states; all known ones when empty.
    pub states: Vec<&'static str>,
    /// A pattern that names have to match.
    pub filter: Option<Regex>,
    /// What the labels of the record have to be.
    pub selector: Selector,
    /// The last deployed come last.
    pub by_date: bool,
    /// Backwards.
    pub reverse: bool,
    /// How many are left out at the start.
    pub offset: usize,
    /// How many are shown at most; 0 is all.
    pub max: usize,
}

/// A list, and the records that could not be read.
pub struct Listed {
    /// The releases.
    pub releases: Vec<Release>,
    /// What was left out, and why.
    pub unreadable: Vec<Error>,
}

impl Wanted {
    /// Reads no more records than it has to: the newest of each release, unless old ones are asked for.
    pub async fn list(&self, store: &Store) -> Result<Listed, Error> {
        let index = store.index().await?;
        let chosen = self.choose(index);
        let mut listed = Listed { releases: Vec::new(), unreadable: Vec::new() };
        for answer in store.read_all(chosen).await {
            match answer {
                Ok(release) => listed.releases.push(release),
                // It was deleted since the index was read.
                Err(Error::NotFound) => {}
                Err(error @ (Error::Record { .. } | Error::Empty(_))) => listed.unreadable.push(error),
                Err(error) => return Err(error),
            }
        }
        listed.releases = self.arrange(listed.releases);
        Ok(listed)
    }

    /// Whether only old revisions are asked for; the newest of a release is never superseded.
    fn only_superseded(&self) -> bool {
        self.states == ["superseded"]
    }

    fn choose(&self, index: Vec<Entry>) -> Vec<Entry> {
        let matching =
            |entry: &Entry| self.filter.as_ref().is_none_or(|filter| filter.is_match(entry.release()));
        let mut index: Vec<Entry> = index.into_iter().filter(matching).collect();
        if !self.only_superseded() {
            let mut newest = BTreeMap::<(String, String), Entry>::new();
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

    fn arrange(&self, mut releases: Vec<Release>) -> Vec<Release> {
        let known = || STATES.iter().flat_map(|(_, words)| words.iter().copied());
        let wanted: Vec<&str> = if self.states.is_empty() { known().collect() } else { self.states.clone() };
        releases.retain(|release| wanted.contains(&release.info.status.as_str()));
        releases
            .sort_by(|a, b| (&a.name, &a.namespace, a.revision).cmp(&(&b.name, &b.namespace, b.revision)));
        if self.by_date {
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

    fn entry(release: &str, revision: &str) -> Entry {
        let labels = [("name", release), ("version", revision)].map(|(k, v)| (k.to_owned(), v.to_owned()));
        Entry { key: format!("{release}.v{revision}"), labels: labels.into(), ..Entry::default() }
    }

    #[test]
    fn only_the_newest_revision_of_each_release_is_read() {
        let index = || vec![entry("a", "9"), entry("a", "10"), entry("b", "1")];
        let keys = |wanted: &Wanted| wanted.choose(index()).into_iter().map(|e| e.key).collect::<Vec<_>>();
        assert_eq!(keys(&Wanted::default()), ["a.v10", "b.v1"]);
        let superseded = Wanted { states: vec!["superseded"], ..Wanted::default() };
        assert_eq!(keys(&superseded), ["a.v9", "a.v10", "b.v1"]);
        let filtered = Wanted { filter: Regex::new("^b").ok(), ..Wanted::default() };
        assert_eq!(keys(&filtered), ["b.v1"]);
    }
}
