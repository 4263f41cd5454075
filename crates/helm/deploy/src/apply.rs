//! Applies and prunes the objects of a manifest.

use std::time::Duration;

use futures_util::stream::{StreamExt, iter};
use podium_client::client;
use podium_client::write::PropagationPolicy;
use podium_meta::GroupVersionKind;
use tokio::time::Instant;

use crate::check;
use crate::deployer::{Deployer, MAX_CONCURRENT_REQUESTS, ObservedObject};
use crate::object::Object;
use crate::object_ref::ObjectRef;
use crate::plan::{Action, DeployOptions, Step, is_kind_defined};

/// How often discovery is polled for a kind that the release just defined.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Why applying a manifest failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The API server rejected a request or could not be reached.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// The manifest has invalid documents or objects with invalid names.
    #[error(transparent)]
    Check(#[from] check::Error),
    /// The API server rejected objects; objects before them may have been written.
    #[error("{}", format_blocked(.0))]
    Blocked(Vec<Step>),
    /// Objects exist and are not owned by the release; nothing was written.
    #[error("{}", format_blocked(.0))]
    Foreign(Vec<Step>),
    /// The API server does not serve a kind that the release defines before the timeout.
    #[error("the kind {kind} is defined by this release, but the server does not know it after {} s", .after.as_secs())]
    KindNotServed {
        /// The kind.
        kind: GroupVersionKind,
        /// The timeout.
        after: Duration,
    },
}

fn format_blocked(steps: &[Step]) -> String {
    let line = |step: &Step| format!("{}: {}", step.object, step.notes.join("; "));
    steps.iter().map(line).collect::<Vec<_>>().join("\n")
}

impl Deployer<'_> {
    /// Observes all objects without writing; fails when the manifest is invalid or an object is not owned by the
    /// release.
    pub async fn check<'o>(
        &self,
        objects: &'o [Object],
        crds: &[Object],
        options: DeployOptions,
    ) -> Result<Vec<ObservedObject<'o>>, Error> {
        let all = self.observe(objects, options).await?;
        let discovery = self.kinds.get().await?;
        let unknown = |observed: &&ObservedObject<'_>| {
            let kind = &observed.object_ref.kind;
            observed.resource.is_none() && !is_kind_defined(crds, kind) && !is_kind_defined(objects, kind)
        };
        let invalid: Vec<String> = all
            .iter()
            .filter(unknown)
            .filter_map(|observed| check::build_error(&observed.object.object_ref, &discovery))
            .collect();
        if !invalid.is_empty() {
            return Err(check::Error::InvalidManifest(invalid).into());
        }
        for observed in &all {
            let ObjectRef { kind, name, generate_name, .. } = &observed.object_ref;
            let namespace = observed.object_ref.namespace.as_deref().unwrap_or_default();
            match (name.is_empty(), generate_name.is_empty()) {
                (true, true) => {
                    let object_name = format!("{} {name:?} in namespace {namespace:?}", kind.kind);
                    return Err(check::Error::MissingName(object_name).into());
                }
                (false, false) => return Err(check::Error::NameAndGenerateName.into()),
                _ => {}
            }
        }
        let foreign: Vec<Step> =
            all.iter().filter_map(|observed| self.ownership_conflict(observed, options)).collect();
        if foreign.is_empty() { Ok(all) } else { Err(Error::Foreign(foreign)) }
    }

    /// Applies observed objects in manifest order; consecutive objects of one kind are applied concurrently. Stops at
    /// the first batch with an object that the API server rejects.
    pub async fn apply_all(
        &self,
        all: Vec<ObservedObject<'_>>,
        options: DeployOptions,
        timeout: Duration,
        done: &mut Vec<Step>,
    ) -> Result<(), Error> {
        let deadline = Instant::now() + timeout;
        let mut rest = all.as_slice();
        while let Some(first) = rest.first() {
            let kind = &first.object_ref.kind;
            let count = rest.iter().take_while(|observed| observed.object_ref.kind == *kind).count();
            let (batch, after) = rest.split_at(count);
            rest = after;
            if first.resource.is_none() {
                self.wait_for_kind(kind, deadline, timeout).await?;
            }
            let known = self.kinds.get().await?;
            let tasks = batch.iter().map(async |observed| {
                if observed.resource.is_some() {
                    return self.apply(observed, options).await;
                }
                // Its kind was not served when it was observed, so it could not exist.
                let resource = known.find(kind).cloned();
                let object_ref = self.resolve_namespace(&observed.object.object_ref, resource.as_ref());
                self.apply(&ObservedObject { object_ref, resource, ..observed.clone() }, options).await
            });
            let results: Vec<_> = iter(tasks).buffered(MAX_CONCURRENT_REQUESTS).collect().await;
            let mut blocked = Vec::new();
            for result in results {
                match result? {
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

    /// Waits until discovery lists a kind that was just defined.
    async fn wait_for_kind(
        &self,
        kind: &GroupVersionKind,
        deadline: Instant,
        timeout: Duration,
    ) -> Result<(), Error> {
        while self.kinds.refresh().await?.find(kind).is_none() {
            if Instant::now() > deadline {
                return Err(Error::KindNotServed { kind: kind.clone(), after: timeout });
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        Ok(())
    }

    /// Deletes the previous objects that are no longer in the manifest, in reverse order; consecutive objects of one
    /// kind are deleted concurrently.
    pub async fn prune(
        &self,
        previous: &[ObjectRef],
        objects: &[Object],
        propagation: PropagationPolicy,
    ) -> Result<Vec<Step>, client::Error> {
        let all = self.prunable(previous, objects).await?;
        for batch in all.chunk_by(|(a, _), (b, _)| a.object.kind == b.object.kind) {
            let targets = batch.iter().filter(|(step, _)| step.action == Action::Delete);
            let tasks = targets.map(async |(step, target)| {
                let ObjectRef { namespace, name, .. } = &step.object;
                let uid = Some(target.uid.as_str());
                self.client.delete(&target.resource, namespace.as_deref(), name, uid, propagation).await
            });
            let results: Vec<_> = iter(tasks).buffered(MAX_CONCURRENT_REQUESTS).collect().await;
            results.into_iter().collect::<Result<Vec<bool>, _>>()?;
        }
        Ok(all.into_iter().map(|(step, _)| step).collect())
    }

    /// Deletes objects without an ownership check and returns those that existed.
    pub async fn delete(
        &self,
        objects: &[ObjectRef],
        propagation: PropagationPolicy,
    ) -> Result<Vec<ObjectRef>, client::Error> {
        let discovery = self.kinds.get().await?;
        let mut gone = Vec::new();
        for object in objects.iter().filter(|object| !object.name.is_empty()) {
            let Some(resource) = discovery.find(&object.kind) else { continue };
            let object_ref = self.resolve_namespace(object, Some(resource));
            let namespace = object_ref.namespace.as_deref();
            if self.client.delete(resource, namespace, &object_ref.name, None, propagation).await? {
                gone.push(object_ref);
            }
        }
        Ok(gone)
    }
}
