//! Makes a cluster's objects equal to a manifest's.

use std::time::Duration;

use futures_util::stream::{StreamExt, iter};
use podium_client::client;
use podium_client::write::PropagationPolicy;
use podium_meta::Kind;
use tokio::time::Instant;

use crate::check;
use crate::named::Named;
use crate::object::Object;
use crate::place::{AT_ONCE, Place, Seen};
use crate::plan::{Action, Rules, Step, defined};

/// How often it is looked whether a new kind is there.
const LOOK: Duration = Duration::from_millis(100);

/// Why a cluster could not be made equal to a manifest.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server says no, or nothing.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// Some documents are no objects of this cluster, or nobody has their names.
    #[error(transparent)]
    Check(#[from] check::Error),
    /// Objects cannot be had; what comes before them may have been written.
    #[error("{}", blocked(.0))]
    Blocked(Vec<Step>),
    /// Objects are somebody else's; nothing was written.
    #[error("{}", blocked(.0))]
    Foreign(Vec<Step>),
    /// A kind that the release defines is not there in time.
    #[error("the kind {kind} is defined by this release, but the server does not know it after {} s", .after.as_secs())]
    Kind {
        /// The kind.
        kind: Kind,
        /// How long was waited.
        after: Duration,
    },
}

fn blocked(steps: &[Step]) -> String {
    let line = |step: &Step| format!("{}: {}", step.object, step.notes.join("; "));
    steps.iter().map(line).collect::<Vec<_>>().join("\n")
}

impl Place<'_> {
    /// Looks at all objects, and objects when one of them cannot be had; nothing is written.
    pub async fn check<'o>(
        &self,
        objects: &'o [Object],
        crds: &[Object],
        rules: Rules,
    ) -> Result<Vec<Seen<'o>>, Error> {
        let all = self.observe(objects, rules).await?;
        let discovery = self.kinds.get().await?;
        let unknown = |seen: &&Seen<'_>| {
            let kind = &seen.named.kind;
            seen.resource.is_none() && !defined(crds, kind) && !defined(objects, kind)
        };
        let unfit: Vec<String> = all
            .iter()
            .filter(unknown)
            .filter_map(|seen| check::unfit(&seen.object.named, &discovery))
            .collect();
        if !unfit.is_empty() {
            return Err(check::Error::Unfit(unfit).into());
        }
        for seen in &all {
            let Named { kind, name, generate_name, .. } = &seen.named;
            let place = seen.named.namespace.as_deref().unwrap_or_default();
            match (name.is_empty(), generate_name.is_empty()) {
                (true, true) => {
                    let what = format!("{} {name:?} in namespace {place:?}", kind.kind);
                    return Err(check::Error::NoName(what).into());
                }
                (false, false) => return Err(check::Error::TwoNames.into()),
                _ => {}
            }
        }
        let barred: Vec<Step> = all.iter().filter_map(|seen| self.barred(seen, rules)).collect();
        if barred.is_empty() { Ok(all) } else { Err(Error::Foreign(barred)) }
    }

    /// Applies objects that were looked at, in their order; those of one kind that follow each other at the same time.
    /// Stops at what the server refuses.
    pub async fn apply_all(
        &self,
        all: Vec<Seen<'_>>,
        rules: Rules,
        patience: Duration,
        done: &mut Vec<Step>,
    ) -> Result<(), Error> {
        let until = Instant::now() + patience;
        let mut rest = all.as_slice();
        while let Some(first) = rest.first() {
            let kind = &first.named.kind;
            let count = rest.iter().take_while(|seen| seen.named.kind == *kind).count();
            let (wave, after) = rest.split_at(count);
            rest = after;
            if first.resource.is_none() {
                self.wait_for_kind(kind, until, patience).await?;
            }
            let known = self.kinds.get().await?;
            let tasks = wave.iter().map(async |seen| {
                if seen.resource.is_some() {
                    return self.apply(seen, rules).await;
                }
                // It was not there when it was looked at: its kind was not.
                let resource = known.find(kind).cloned();
                let named = self.placed(&seen.object.named, resource.as_ref());
                self.apply(&Seen { named, resource, ..seen.clone() }, rules).await
            });
            let answers: Vec<_> = iter(tasks).buffered(AT_ONCE).collect().await;
            let mut blocked = Vec::new();
            for answer in answers {
                match answer? {
                    step if step.action == Action::Blocked => blocked.push(step),
                    step => done.push(step),
                }
            }
            if !blocked.is_empty() {
                return Err(Error::Blocked(blocked));
            }
        }
        Ok(())
    }

    /// Waits until the cluster knows a kind that was just defined.
    async fn wait_for_kind(&self, kind: &Kind, until: Instant, patience: Duration) -> Result<(), Error> {
        while self.kinds.refresh().await?.find(kind).is_none() {
            if Instant::now() > until {
                return Err(Error::Kind { kind: kind.clone(), after: patience });
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }

    /// Deletes the objects before that are not wanted any more, the last kind first; those of one kind at the same time.
    pub async fn prune(
        &self,
        before: &[Named],
        objects: &[Object],
        propagation: PropagationPolicy,
    ) -> Result<Vec<Step>, client::Error> {
        let all = self.unwanted(before, objects).await?;
        for wave in all.chunk_by(|(a, _), (b, _)| a.object.kind == b.object.kind) {
            let leaving = wave.iter().filter(|(step, _)| step.action == Action::Delete);
            let tasks = leaving.map(async |(step, leaving)| {
                let Named { namespace, name, .. } = &step.object;
                let uid = Some(leaving.uid.as_str());
                self.client.delete(&leaving.resource, namespace.as_deref(), name, uid, propagation).await
            });
            let answers: Vec<_> = iter(tasks).buffered(AT_ONCE).collect().await;
            answers.into_iter().collect::<Result<Vec<bool>, _>>()?;
        }
        Ok(all.into_iter().map(|(step, _)| step).collect())
    }

    /// Deletes objects whatever they are; says which were there.
    pub async fn delete(
        &self,
        objects: &[Named],
        propagation: PropagationPolicy,
    ) -> Result<Vec<Named>, client::Error> {
        let discovery = self.kinds.get().await?;
        let mut gone = Vec::new();
        for object in objects.iter().filter(|object| !object.name.is_empty()) {
            let Some(resource) = discovery.find(&object.kind) else { continue };
            let named = self.placed(object, Some(resource));
            let namespace = named.namespace.as_deref();
            if self.client.delete(resource, namespace, &named.name, None, propagation).await? {
                gone.push(named);
            }
        }
        Ok(gone)
    }
}
