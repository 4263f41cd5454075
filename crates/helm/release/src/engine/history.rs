//! What is known of a release before it is changed.

use std::time::Duration;

use podium_client::client;
use podium_deploy::ObjectRef;
use podium_deploy::object_ref::object_refs;

use super::{Engine, Error};
use crate::record::Release;
use crate::store::{self, RecordEntry};

/// The revisions of a release that matter for the next one: the deployed one, and everything after it.
#[derive(Clone, Debug, Default)]
pub struct ReleaseHistory {
    /// The oldest first.
    pub revisions: Vec<Release>,
    /// All records, the oldest first.
    pub entries: Vec<RecordEntry>,
}

impl ReleaseHistory {
    /// The last revision.
    pub fn last(&self) -> Option<&Release> {
        self.revisions.last()
    }

    /// The revision whose values and objects count: the deployed one, or else the last.
    pub fn base(&self) -> Option<&Release> {
        let deployed = self.revisions.iter().rev().find(|release| release.info.status == "deployed");
        deployed.or(self.last())
    }

    /// Whether there is nothing to upgrade: never installed, or uninstalled since.
    pub fn is_uninstalled(&self) -> bool {
        self.last().is_none_or(|last| last.info.status == "uninstalled")
    }

    /// The number of the next revision.
    pub fn next_revision(&self) -> i64 {
        self.last().map_or(1, |last| last.revision + 1)
    }

    /// The hooks of the last revision, when it was written by a client and not applied by the server.
    pub fn client_side_hooks(&self) -> Vec<ObjectRef> {
        let last = self.last().filter(|last| last.apply_method != "ssa");
        let hooks = last.into_iter().flat_map(|last| &last.hooks);
        hooks.flat_map(|hook| object_refs(&hook.manifest)).collect()
    }

    /// The objects that may be there: of the deployed revision, and of those after it that failed half-way.
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
    /// Reads what matters of a release; nothing when there is none.
    pub async fn history(&self, name: &str) -> Result<ReleaseHistory, Error> {
        self.history_at_least(name, 0).await
    }

    /// The same, for whoever makes a new revision next and so finds out that somebody was faster: at once, with all that
    /// this process has written or heard of. A server answers a list of what is there right now only after it has asked its
    /// database how far it is, which it does every 100 ms.
    pub async fn history_after_own_writes(&self, name: &str) -> Result<ReleaseHistory, Error> {
        let version = self.store.read_after_write().resource_version();
        match self.history_at_least(name, version).await {
            // It does not know of such a version: it is behind, or was restored from a backup.
            Err(Error::Store(store::Error::Client(client::Error::Refused(status)))) if status.code == 504 => {
                self.history(name).await
            }
            answer => answer,
        }
    }

    /// The same, with all that was written up to a version.
    pub(super) async fn history_at_least(&self, name: &str, version: u64) -> Result<ReleaseHistory, Error> {
        let mut entries = self.store.release_entries(name, version).await?;
        let deployed = entries.iter().rposition(|entry| entry.status() == "deployed").unwrap_or(0);
        let mut revisions = Vec::new();
        let wanted = entries.split_off(deployed);
        for (entry, answer) in wanted.clone().into_iter().zip(self.store.read_all(wanted).await) {
            match answer {
                // It was taken away since.
                Err(store::Error::NotFound) => {}
                answer => {
                    revisions.push(answer?);
                    entries.push(entry);
                }
            }
        }
        // Somebody may have been at it between the list and the reading.
        for entry in &mut entries {
            let read = revisions.iter().find(|release: &&Release| release.revision == entry.revision());
            if let Some(release) = read {
                entry.labels.clone_from(&release.labels);
            }
        }
        Ok(ReleaseHistory { revisions, entries })
    }

    /// Recovers a release whose last change was interrupted. It counts as failed when it is older than `pending_timeout`:
    /// before that, whoever made it may still be at it. One that was interrupted after it was deployed is finished.
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

    /// Of several revisions that are deployed the last one is: whoever deployed it did not come to report so of the others.
    async fn supersede_older_deployed(&self, history: &mut ReleaseHistory) -> Result<(), Error> {
        let mut deployed: Vec<&RecordEntry> =
            history.entries.iter().filter(|entry| entry.status() == "deployed").collect();
        deployed.pop();
        for entry in deployed {
            self.mark_superseded(entry).await?;
        }
        Ok(())
    }

    /// A revision is old now; it may have been taken away.
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
