//! Uninstalls releases.

use podium_deploy::ObjectRef;
use podium_deploy::plan::{Action, Step};
use podium_deploy::wait::WaitCondition;

use super::{Engine, Error, Options, ReleaseHistory, release_ref};
use crate::hooks::HookRequest;
use crate::record::Release;
use crate::store::{self, RecordEntry};

/// The result of an uninstall.
#[derive(Clone, Debug)]
pub struct Uninstalled {
    /// The last revision.
    pub release: Release,
    /// What was done with each object.
    pub steps: Vec<Step>,
}

impl Engine<'_> {
    /// Deletes the objects of a release and its records, unless the history is kept.
    pub async fn uninstall(
        &self,
        name: &str,
        keep_history: bool,
        options: &Options,
    ) -> Result<Uninstalled, Error> {
        let history = self.history(name).await?;
        self.uninstall_with_history(name, history, keep_history, options).await
    }

    /// Uninstalls a release whose history was just read.
    pub async fn uninstall_with_history(
        &self,
        name: &str,
        history: ReleaseHistory,
        keep_history: bool,
        options: &Options,
    ) -> Result<Uninstalled, Error> {
        let mut history = history;
        let (mut release, entries) = loop {
            let Some(last) = history.last() else { return Err(store::Error::NotFound.into()) };
            let mut release = last.clone();
            if is_uninstalled(&release) && keep_history {
                return Err(Error::AlreadyUninstalled(name.to_owned()));
            }
            if options.dry_run {
                let release_ref = release_ref(&release);
                let deployer = self.deployer(&release_ref);
                let steps =
                    podium_deploy::plan::preview(&deployer, &[], &[], &history.objects(), false).await?;
                return Ok(Uninstalled { release, steps });
            }
            if !is_uninstalled(&release) {
                release.info.deleted = Some(self.store.now());
                release.info.status = "uninstalling".to_owned();
                release.info.description = "Deletion in progress (or silently failed)".to_owned();
            }
            let version = self.store.update(&release).await?;
            // The history may be stale: objects that only a newer revision has would be orphaned.
            let entries = self.store.release_entries(name, version).await?;
            if entries.last().is_none_or(|entry| entry.revision() <= release.revision) {
                break (release, entries);
            }
            history = self.history_at_least(name, version).await?;
        };
        if is_uninstalled(&release) {
            self.delete_records(&entries).await?;
            return Ok(Uninstalled { release, steps: Vec::new() });
        }
        let release_ref = release_ref(&release);
        let deployer = self.deployer(&release_ref);
        let objects = history.objects();
        let hooks = async |release: &mut Release, event: &str| {
            if !options.hooks {
                return Ok(());
            }
            let ran = self.run_hooks(release, &HookRequest::new(event, options.timeout)).await;
            ran.map_err(|why| Error::Hook(why.to_string()))
        };
        hooks(&mut release, "pre-delete").await?;
        let steps = deployer.prune(&objects, &[], options.propagation).await?;
        let mut errors = Vec::new();
        if options.wait.is_some() {
            let gone =
                steps.iter().filter(|step| step.action == Action::Delete).map(|step| step.object.clone());
            let gone: Vec<ObjectRef> = gone.collect();
            let report = |what: &str| self.reporter.waiting(what);
            match deployer.wait(&gone, WaitCondition::Deleted, options.timeout, &report).await {
                Err(error) if options.require_deletion => return Err(error.into()),
                waited => errors.extend(waited.err().map(|e| e.to_string())),
            }
        }
        errors.extend(hooks(&mut release, "post-delete").await.err().map(|e| e.to_string()));
        release.info.status = "uninstalled".to_owned();
        release.info.description = match options.description.as_str() {
            "" => "Uninstallation complete".to_owned(),
            said => said.to_owned(),
        };
        if keep_history {
            self.store.update(&release).await?;
            let others = entries.iter().filter(|entry| entry.revision() != release.revision);
            for old in others.filter(|entry| matches!(entry.status(), "deployed" | "uninstalling")) {
                self.mark_superseded(old).await?;
            }
        } else {
            self.delete_records(&entries).await?;
        }
        if errors.is_empty() {
            Ok(Uninstalled { release, steps })
        } else {
            Err(Error::UninstallErrors(errors))
        }
    }

    /// Deletes records, oldest first, so that an interrupted uninstall can be resumed.
    async fn delete_records(&self, entries: &[RecordEntry]) -> Result<(), Error> {
        for entry in entries {
            self.store.delete(entry).await?;
        }
        Ok(())
    }
}

/// Whether only records are left.
fn is_uninstalled(release: &Release) -> bool {
    release.info.status == "uninstalled"
}
