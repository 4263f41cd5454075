//! The end of a release.

use podium_deploy::Named;
use podium_deploy::plan::{Action, Step};
use podium_deploy::wait::Until;

use super::{Engine, Error, Options, Past, owner};
use crate::hooks::Moment;
use crate::record::Release;
use crate::store::{self, Entry};

/// What is left of a release.
#[derive(Clone, Debug)]
pub struct Uninstalled {
    /// Its last revision.
    pub release: Release,
    /// What was done with each object.
    pub steps: Vec<Step>,
}

impl Engine<'_> {
    /// Deletes the objects of a release and its records, unless the history is to be kept.
    pub async fn uninstall(
        &self,
        name: &str,
        keep_history: bool,
        options: &Options,
    ) -> Result<Uninstalled, Error> {
        let past = self.past(name).await?;
        self.uninstall_known(name, past, keep_history, options).await
    }

    /// The same, for a release that was just read.
    pub async fn uninstall_known(
        &self,
        name: &str,
        past: Past,
        keep_history: bool,
        options: &Options,
    ) -> Result<Uninstalled, Error> {
        let mut past = past;
        let (mut release, entries) = loop {
            let Some(last) = past.last() else { return Err(store::Error::NotFound.into()) };
            let mut release = last.clone();
            if is_over(&release) && keep_history {
                return Err(Error::Deleted(name.to_owned()));
            }
            if options.dry_run {
                let owner = owner(&release);
                let place = self.place(&owner);
                let steps = podium_deploy::plan::preview(&place, &[], &[], &past.objects(), false).await?;
                return Ok(Uninstalled { release, steps });
            }
            if !is_over(&release) {
                release.info.deleted = Some(self.store.now());
                release.info.status = "uninstalling".to_owned();
                release.info.description = "Deletion in progress (or silently failed)".to_owned();
            }
            let version = self.store.update(&release).await?;
            // The list may have been an old one: what only a newer revision made would stay.
            let entries = self.store.entries_of(name, version).await?;
            if entries.last().is_none_or(|entry| entry.revision() <= release.revision) {
                break (release, entries);
            }
            past = self.past_since(name, version).await?;
        };
        if is_over(&release) {
            self.forget(&entries).await?;
            return Ok(Uninstalled { release, steps: Vec::new() });
        }
        let owner = owner(&release);
        let place = self.place(&owner);
        let objects = past.objects();
        let hooks = async |release: &mut Release, event: &str| {
            if !options.hooks {
                return Ok(());
            }
            let ran = self.run_hooks(release, &Moment::new(event, options.timeout)).await;
            ran.map_err(|why| Error::Hook(why.to_string()))
        };
        hooks(&mut release, "pre-delete").await?;
        let steps = place.prune(&objects, &[], options.propagation).await?;
        let mut errors = Vec::new();
        if options.wait.is_some() {
            let gone =
                steps.iter().filter(|step| step.action == Action::Delete).map(|step| step.object.clone());
            let gone: Vec<Named> = gone.collect();
            let say = |what: &str| self.listener.waiting(what);
            match place.wait(&gone, Until::Gone, options.timeout, &say).await {
                Err(error) if options.until_gone => return Err(error.into()),
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
                self.outdate(old).await?;
            }
        } else {
            self.forget(&entries).await?;
        }
        if errors.is_empty() { Ok(Uninstalled { release, steps }) } else { Err(Error::Unclean(errors)) }
    }

    /// Takes records away, the oldest first: what is interrupted can be done again.
    async fn forget(&self, entries: &[Entry]) -> Result<(), Error> {
        for entry in entries {
            self.store.delete(entry).await?;
        }
        Ok(())
    }
}

/// Whether only the records are left.
fn is_over(release: &Release) -> bool {
    release.info.status == "uninstalled"
}
