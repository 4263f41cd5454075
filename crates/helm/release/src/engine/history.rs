//! The history of a release, as operations need it.

use std::time::Duration;

use podium_client::client;
use podium_deploy::ObjectRef;
use podium_deploy::object_ref::object_refs;

use super::{Engine, Error};
use crate::record::Release;
use crate::store::{self, RecordEntry};

/// The revisions that matter for the next one: the deployed one and all after it.
#[derive(Clone, Debug, Default)]
pub struct ReleaseHistory {
    /// Oldest first.
    pub revisions: Vec<Release>,
    /// All records, oldest first.
    pub entries: Vec<RecordEntry>,
}

impl ReleaseHistory {
    /// The last revision.
    pub fn last(&self) -> Option<&Release> {
        self.revisions.last()
    }

    /// The deployed revision, or else the last one: its values are reused.
    pub fn base(&self) -> Option<&Release> {
        let deployed = self.revisions.iter().rev().find(|release| release.info.status == "deployed");
        deployed.or(self.last())
    }

    /// Whether there is nothing to upgrade: never installed, or uninstalled.
    pub fn is_uninstalled(&self) -> bool {
        self.last().is_none_or(|last| last.info.status == "uninstalled")
    }

    /// The number of the next revision.
    pub fn next_revision(&self) -> i64 {
        self.last().map_or(1, |last| last.revision + 1)
    }

    /// The hooks of the last revision, if it was written client-side and not by server-side apply.
    pub fn client_side_hooks(&self) -> Vec<ObjectRef> {
        let last = self.last().filter(|last| last.apply_method != "ssa");
        let hooks = last.into_iter().flat_map(|last| &last.hooks);
        hooks.flat_map(|hook| object_refs(&hook.manifest)).collect()
    }

    /// The objects that may exist: those of the deployed revision and of later ones, which may have failed half-way.
    pub fn objects(&self) -> Vec<ObjectRef> {
        let mut all: Vec<ObjectRef> = Vec::new();
        let gone = self.revisions.iter().rposition(|release| release.info.status == "uninstalled");
        for release in self.revisions.iter().skip(gone.map_or(0, |at| at + 1)) {
            for object in object_refs(&release.manifest) {
                if !all.contains(&object) {
                    all.push(object);
                }
            }
        }
        all
    }
}

impl Engine<'_> {
    /// Reads the history of a release; empty when it does not exist.
    pub async fn history(&self, name: &str) -> Result<ReleaseHistory, Error> {
        self.history_at_least(name, 0).await
    }

    /// Reads a history that is at least as new as what this process has written or watched. That is faster than a
    /// consistent list, for which the API server waits up to 100 ms for etcd progress, and safe for an operation that
    /// creates a revision: a conflict shows that the history was stale.
    pub async fn history_after_own_writes(&self, name: &str) -> Result<ReleaseHistory, Error> {
        let version = self.store.read_after_write().resource_version();
        match self.history_at_least(name, version).await {
            // The API server is behind that resourceVersion, or was restored from a backup.
            Err(Error::Store(store::Error::Client(client::Error::Api(status)))) if status.code == 504 => {
                self.history(name).await
            }
            result => result,
        }
    }

    /// Reads a history at least as new as a resourceVersion.
    pub(super) async fn history_at_least(&self, name: &str, version: u64) -> Result<ReleaseHistory, Error> {
        let mut entries = self.store.release_entries(name, version).await?;
        let deployed = entries.iter().rposition(|entry| entry.status() == "deployed").unwrap_or(0);
        let mut revisions = Vec::new();
        let wanted = entries.split_off(deployed);
        for (entry, result) in wanted.clone().into_iter().zip(self.store.read_all(wanted).await) {
            match result {
                // Deleted after the list.
                Err(store::Error::NotFound) => {}
                result => {
                    revisions.push(result?);
                    entries.push(entry);
                }
            }
        }
        // The record may have changed between list and read.
        for entry in &mut entries {
            let read = revisions.iter().find(|release: &&Release| release.revision == entry.revision());
            if let Some(release) = read {
                entry.labels.clone_from(&release.labels);
            }
        }
        Ok(ReleaseHistory { revisions, entries })
    }

    /// Recovers a release whose last operation was interrupted. A pending revision older than `pending_timeout` is
    /// marked failed; before that, another process may still work on it. For a deployed revision, the superseding of
    /// older ones is completed.
    pub async fn recover(
        &self,
        history: &mut ReleaseHistory,
        pending_timeout: Duration,
    ) -> Result<(), Error> {
        if history.last().is_some_and(|last| last.info.status == "deployed") {
            return self.supersede_older_deployed(history).await;
        }
        let now = self.store.now().unix();
        let Some(last) = history.revisions.last_mut() else { return Ok(()) };
        if !last.info.status.starts_with("pending-") {
            return Ok(());
        }
        let stamp =
            ["modifiedAt", "createdAt"].into_iter().find_map(|key| last.labels.get(key)?.parse().ok());
        let since = stamp.or(last.info.last_deployed.as_ref().map(|time| time.unix())).unwrap_or(0);
        let seconds = now.saturating_sub(since);
        let pending_timeout = i64::try_from(pending_timeout.as_secs()).unwrap_or(i64::MAX);
        if seconds < pending_timeout {
            let (revision, status) = (last.revision, last.info.status.clone());
            return Err(Error::Pending { revision, status, seconds, left: pending_timeout - seconds });
        }
        last.info.description = format!("Interrupted while it was {}", last.info.status);
        last.info.status = "failed".to_owned();
        self.reporter.warn(&format!(
            "revision {} of {} was interrupted and counts as failed now",
            last.revision, last.name
        ));
        self.store.update(last).await?;
        Ok(())
    }

    /// Keeps only the last deployed revision deployed: the process that deployed it was interrupted before it
    /// superseded the others.
    async fn supersede_older_deployed(&self, history: &mut ReleaseHistory) -> Result<(), Error> {
        let mut deployed: Vec<&RecordEntry> =
            history.entries.iter().filter(|entry| entry.status() == "deployed").collect();
        deployed.pop();
        for entry in deployed {
            self.mark_superseded(entry).await?;
        }
        Ok(())
    }

    /// Marks a revision superseded; it may have been deleted.
    pub(super) async fn mark_superseded(&self, entry: &RecordEntry) -> Result<(), Error> {
        let mut old = match self.store.read(entry).await {
            Err(store::Error::NotFound) => return Ok(()),
            old => old?,
        };
        old.info.status = "superseded".to_owned();
        self.store.update(&old).await?;
        Ok(())
    }
}
