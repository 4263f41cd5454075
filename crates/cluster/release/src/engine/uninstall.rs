//! The end of a release.

use podium_converge::Named;
use podium_converge::plan::{Action, Step};
use podium_converge::wait::Until;

use super::{Engine, Error, Options, Past, owner};
use crate::hooks::Moment;
use crate::record::Release;
use crate::store;

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
        let Some(last) = past.last() else { return Err(store::Error::NotFound.into()) };
        let mut release = last.clone();
        if release.info.status == "uninstalled" {
            if keep_history {
                return Err(Error::Deleted(name.to_owned()));
            }
            if !options.dry_run {
                self.forget(name).await?;
            }
            return Ok(Uninstalled { release, steps: Vec::new() });
        }
        let owner = owner(&release);
        let place = self.place(&owner);
        let objects = past.objects();
        if options.dry_run {
            let steps = podium_converge::plan::preview(&place, &[], &[], &objects, false).await?;
            return Ok(Uninstalled { release, steps });
        }
        release.info.deleted = Some(self.store.now());
        release.info.status = "uninstalling".to_owned();
        release.info.description = "Deletion in progress (or silently failed)".to_owned();
        let hooks = async |release: &mut Release, event: &str| {
            if !options.hooks {
                return Ok(());
            }
            let ran = self.run_hooks(release, &Moment::new(event, options.timeout)).await;
            ran.map_err(|why| Error::Hook(why.to_string()))
        };
        hooks(&mut release, "pre-delete").await?;
        self.store.update(&release).await?;
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
            for mut old in past.revisions {
                if old.info.status == "deployed" && old.revision != release.revision {
                    old.info.status = "superseded".to_owned();
                    self.store.update(&old).await?;
                }
            }
        } else {
            self.forget(name).await?;
        }
        if errors.is_empty() { Ok(Uninstalled { release, steps }) } else { Err(Error::Unclean(errors)) }
    }

    /// Takes all records away, the oldest first: what is interrupted can be done again.
    async fn forget(&self, name: &str) -> Result<(), Error> {
        for entry in self.store.entries_of(name).await? {
            self.store.delete(&entry).await?;
        }
        Ok(())
    }
}
