//! Installs, upgrades, rolls back and uninstalls releases.
//!
//! All checks run before the first write. A revision is recorded as pending before its first object is written, so
//! that after a crash the record names the objects that may exist.

mod change;
mod history;
mod uninstall;

use std::collections::BTreeMap;
use std::time::Duration;

use podium_client::write::PropagationPolicy;
use podium_client::{DiscoveryCache, client};
use podium_deploy::object::{self, Object};
use podium_deploy::plan::Step;
use podium_deploy::wait::{self, WaitCondition};
use podium_deploy::{Deployer, ObjectRef, ReleaseRef, apply};
use podium_meta::GroupVersionKind;
use serde_json::Value;

use crate::record::Release;
use crate::store::{self, Store};
pub use change::Operation;
pub use history::ReleaseHistory;
pub use uninstall::Uninstalled;

/// Why an operation failed, completely or in part.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Records cannot be read or written.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The API server rejected a request or could not be reached.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// The manifest is invalid.
    #[error(transparent)]
    Object(#[from] object::Error),
    /// Objects cannot be applied.
    #[error(transparent)]
    Apply(#[from] apply::Error),
    /// Objects did not become ready.
    #[error(transparent)]
    Wait(#[from] wait::Error),
    /// A hook failed.
    #[error("{0}")]
    Hook(String),
    /// The release name is in use.
    #[error("cannot reuse a name that is still in use")]
    NameInUse,
    /// The release's namespace does not exist.
    #[error("the namespace {0:?} does not exist: create it, or add --create-namespace")]
    NamespaceNotFound(String),
    /// There is nothing to upgrade.
    #[error("{0:?} has no deployed releases")]
    NothingDeployed(String),
    /// Another operation is in progress.
    #[error(
        "another operation (install/upgrade/rollback) is in progress: revision {revision} is {status} since {seconds} s. \
         If that process is gone, the release is recovered automatically in {left} s, or at once with --recover"
    )]
    Pending {
        /// The revision.
        revision: i64,
        /// Its status.
        status: String,
        /// How long it has had that status.
        seconds: i64,
        /// Seconds until it is recovered automatically.
        left: i64,
    },
    /// The release is half uninstalled.
    #[error("{0:?} is being uninstalled: finish that with `podium release uninstall {0}`")]
    Uninstalling(String),
    /// The release is uninstalled, with its history kept.
    #[error("the release named {0:?} is already deleted")]
    AlreadyUninstalled(String),
    /// There is no such revision.
    #[error("release has no {0} version")]
    RevisionNotFound(i64),
    /// The operation failed and was rolled back.
    #[error("release {name} failed, and has been {how} due to rollback-on-failure being set: {why}")]
    RolledBack {
        /// The release.
        name: String,
        /// `uninstalled` or `rolled back`.
        how: &'static str,
        /// The original error.
        why: Box<Error>,
    },
    /// The operation failed, and so did its rollback.
    #[error("an error occurred while undoing the change: {second}; original error: {first}")]
    RollbackFailed {
        /// The original error.
        first: Box<Error>,
        /// Why the rollback failed.
        second: Box<Error>,
    },
    /// The release is uninstalled, but with errors.
    #[error("uninstallation completed with {} error(s): {}", .0.len(), .0.join("; "))]
    UninstallErrors(Vec<String>),
}

/// Reports the progress of an operation.
pub trait Reporter: Sync {
    /// Reports what the operation waits for.
    fn waiting(&self, what: &str);
    /// Reports a problem that does not stop the operation.
    fn warn(&self, what: &str);
    /// Reports the output of a hook's container.
    fn output(&self, pod: &str, container: &str, text: &[u8]);
}

/// Options of an operation.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether hooks run.
    pub hooks: bool,
    /// What to wait for before the revision counts as deployed.
    pub wait: Option<WaitCondition>,
    /// The timeout of each wait.
    pub timeout: Duration,
    /// Takes ownership of objects that the release does not own.
    pub adopt: bool,
    /// Rolls back when the operation fails.
    pub rollback_on_failure: bool,
    /// Deletes the objects that a failed operation created.
    pub cleanup_on_failure: bool,
    /// The description in the history, instead of the default.
    pub description: String,
    /// Maximum number of revisions to keep; 0 keeps all.
    pub max_history: usize,
    /// Creates the namespace if it does not exist.
    pub create_namespace: bool,
    /// How dependents of deleted objects are treated.
    pub propagation: PropagationPolicy,
    /// Plans only.
    pub dry_run: bool,
    /// Expects no object of a first revision to exist: creates them without reading them first, which halves the
    /// requests. If an object of another owner exists, the install is reverted.
    pub expect_absent: bool,
    /// Keeps the release when its objects are not deleted before the timeout, so that a retry waits for them.
    pub require_deletion: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            hooks: true,
            wait: None,
            timeout: Duration::from_secs(300),
            adopt: false,
            rollback_on_failure: false,
            cleanup_on_failure: false,
            description: String::new(),
            max_history: 10,
            create_namespace: false,
            propagation: PropagationPolicy::Background,
            dry_run: false,
            expect_absent: false,
            require_deletion: false,
        }
    }
}

/// The result of an operation.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The new revision.
    pub release: Release,
    /// What was done with each object.
    pub steps: Vec<Step>,
}

/// Runs operations on the releases of a cluster.
#[derive(Clone, Copy)]
pub struct Engine<'a> {
    /// The store of release records.
    pub store: &'a Store,
    /// The discovery cache.
    pub kinds: &'a DiscoveryCache,
    /// Receives progress.
    pub reporter: &'a dyn Reporter,
    /// The owner of the release, if it is not a user's.
    pub owner: Option<&'a dyn ReleaseOwner>,
}

/// The owner of a release, such as the custom resource that a chart operator reconciles.
pub trait ReleaseOwner: Sync {
    /// The uid of the owning object.
    fn uid(&self) -> &str;
    /// Adds labels, annotations and owner references to objects before they are applied.
    fn decorate(&self, objects: &mut [Object], namespaced: &dyn Fn(&GroupVersionKind) -> bool);
    /// Changes the labels of revision `from` for its copy `to`.
    fn relabel(&self, labels: &mut BTreeMap<String, String>, from: i64, to: i64);
    /// Annotations of the record, once its objects are applied.
    fn annotations(&self, steps: &[Step]) -> BTreeMap<String, String>;
    /// The step that applied an object of a revision, if the object is known to be unmodified since.
    fn unchanged_step(&self, revision: &Release, object: &ObjectRef) -> Option<Step>;
}

impl<'a> Engine<'a> {
    /// The objects of a manifest, decorated by the owner. `crds` are those of `crds/`.
    async fn objects(
        &self,
        manifest: &str,
        crds: &[Object],
        release_ref: &ReleaseRef,
    ) -> Result<Vec<Object>, Error> {
        let mut all = object::release_objects(manifest, release_ref)?;
        if let Some(owner) = self.owner {
            let discovery = self.kinds.get().await?;
            let scopes: Vec<(String, String, bool)> = all.iter().chain(crds).filter_map(scope).collect();
            let namespaced = |kind: &GroupVersionKind| match discovery.find(kind) {
                Some(resource) => resource.namespaced,
                // The release defines the kind itself.
                None => {
                    scopes.iter().any(|(g, k, namespaced)| *namespaced && *g == kind.group && *k == kind.kind)
                }
            };
            owner.decorate(&mut all, &namespaced);
        }
        Ok(all)
    }

    fn deployer<'p>(&'p self, release: &'p ReleaseRef) -> Deployer<'p> {
        let owner_uid = self.owner.map(ReleaseOwner::uid);
        Deployer { client: &self.store.client, kinds: self.kinds, release, owner_uid }
    }
}

/// The group, kind and scope of a CRD.
fn scope(object: &Object) -> Option<(String, String, bool)> {
    let text = |path: &str| object.body.pointer(path).and_then(Value::as_str);
    (text("/kind") == Some("CustomResourceDefinition")).then_some(())?;
    let namespaced = text("/spec/scope")? == "Namespaced";
    Some((text("/spec/group")?.to_owned(), text("/spec/names/kind")?.to_owned(), namespaced))
}

fn release_ref(release: &Release) -> ReleaseRef {
    ReleaseRef { name: release.name.clone(), namespace: release.namespace.clone() }
}
