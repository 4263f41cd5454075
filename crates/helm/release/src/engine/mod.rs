//! Installs, upgrades, rolls back and uninstalls.
//!
//! Everything that can be refused is refused before anything is written. A revision is recorded as pending before the
//! first object is, so that whoever comes after a crash knows which objects may be there.

mod change;
mod history;
mod uninstall;

use std::collections::BTreeMap;
use std::time::Duration;

use podium_client::write::Propagation;
use podium_client::{Kinds, client};
use podium_deploy::object::{self, Object};
use podium_deploy::plan::Step;
use podium_deploy::wait::{self, WaitCondition};
use podium_deploy::{Deployer, ObjectRef, ReleaseRef, apply};
use podium_meta::Kind;
use serde_json::Value;

use crate::record::Release;
use crate::store::{self, Store};
pub use change::Operation;
pub use history::ReleaseHistory;
pub use uninstall::Uninstalled;

/// Why a release was not changed, or only in part.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Records cannot be read or written.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The server says no, or nothing.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// The manifest has something that is no object.
    #[error(transparent)]
    Object(#[from] object::Error),
    /// Objects cannot be had.
    #[error(transparent)]
    Apply(#[from] apply::Error),
    /// Objects do not become ready.
    #[error(transparent)]
    Wait(#[from] wait::Error),
    /// A hook failed.
    #[error("{0}")]
    Hook(String),
    /// The name is taken.
    #[error("cannot reuse a name that is still in use")]
    NameInUse,
    /// It has no deployer.
    #[error("the namespace {0:?} is not there: make it, or add --create-namespace")]
    NamespaceNotFound(String),
    /// There is nothing to upgrade.
    #[error("{0:?} has no deployed releases")]
    NothingDeployed(String),
    /// Somebody else is at it.
    #[error(
        "another operation (install/upgrade/rollback) is in progress: revision {revision} is {status} since {seconds} s. \
         If whoever did this is gone, it is recovered by itself {left} s from now, or at once with --recover"
    )]
    Pending {
        /// The revision.
        revision: i64,
        /// Its status.
        status: String,
        /// For how long.
        seconds: i64,
        /// How long it is left in peace.
        left: i64,
    },
    /// It is half gone.
    #[error("{0:?} is being uninstalled: finish that with `podium release uninstall {0}`")]
    Uninstalling(String),
    /// It was uninstalled before.
    #[error("the release named {0:?} is already deleted")]
    AlreadyUninstalled(String),
    /// There is no such revision.
    #[error("release has no {0} version")]
    RevisionNotFound(i64),
    /// It failed, and was undone.
    #[error("release {name} failed, and has been {how} due to rollback-on-failure being set: {why}")]
    RolledBack {
        /// The release.
        name: String,
        /// What was done.
        how: &'static str,
        /// Why it failed.
        why: Box<Error>,
    },
    /// It failed, and could not even be undone.
    #[error("an error occurred while undoing the change: {second}; original error: {first}")]
    RollbackFailed {
        /// Why it failed.
        first: Box<Error>,
        /// Why it could not be undone.
        second: Box<Error>,
    },
    /// It is gone, but not everything went well.
    #[error("uninstallation completed with {} error(s): {}", .0.len(), .0.join("; "))]
    UninstallErrors(Vec<String>),
}

/// Is told what happens meanwhile.
pub trait Reporter: Sync {
    /// What is waited for.
    fn waiting(&self, what: &str);
    /// Something that is not as it should be, but stops nothing.
    fn warn(&self, what: &str);
    /// What a container of a hook has printed.
    fn output(&self, pod: &str, container: &str, text: &[u8]);
}

/// How a release is changed.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether hooks run.
    pub hooks: bool,
    /// What is waited for before it counts as deployed.
    pub wait: Option<WaitCondition>,
    /// How long each wait may take.
    pub timeout: Duration,
    /// Objects of others become the release's.
    pub adopt: bool,
    /// What fails is undone.
    pub rollback_on_failure: bool,
    /// Objects that a failed change made are deleted.
    pub cleanup_on_failure: bool,
    /// A sentence for the history instead of the usual one.
    pub description: String,
    /// How many revisions are kept; 0 is all.
    pub max_history: usize,
    /// The namespace is made if it is missing.
    pub create_namespace: bool,
    /// What becomes of the objects that depend on deleted ones.
    pub propagation: Propagation,
    /// Only says what would be done.
    pub dry_run: bool,
    /// Nothing of a first revision is expected to be there: its objects are made without a look before, which costs
    /// half the requests. Where somebody else's object is in the way, what was made is taken back.
    pub expect_absent: bool,
    /// A release whose objects are not gone in time stays, so that whoever comes again waits again.
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
            propagation: Propagation::Background,
            dry_run: false,
            expect_absent: false,
            require_deletion: false,
        }
    }
}

/// What became of a release.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its new revision.
    pub release: Release,
    /// What was done with each object.
    pub steps: Vec<Step>,
}

/// Changes the releases of a cluster.
#[derive(Clone, Copy)]
pub struct Engine<'a> {
    /// Where records are kept.
    pub store: &'a Store,
    /// The kinds of the cluster.
    pub kinds: &'a Kinds,
    /// Who is told what happens.
    pub reporter: &'a dyn Reporter,
    /// On whose behalf it is done, if not a user's.
    pub owner: Option<&'a dyn ReleaseOwner>,
}

/// On whose behalf a release is kept.
pub trait ReleaseOwner: Sync {
    /// The uid of what the release is made for.
    fn uid(&self) -> &str;
    /// Adds to objects what they carry besides what the chart says.
    fn decorate(&self, objects: &mut [Object], namespaced: &dyn Fn(&Kind) -> bool);
    /// The labels of a revision that is made from an older one.
    fn relabel(&self, labels: &mut BTreeMap<String, String>, from: i64, to: i64);
    /// What the record says besides, once its objects are there.
    fn annotations(&self, steps: &[Step]) -> BTreeMap<String, String>;
    /// That an object of a revision is still as it was applied then; nothing when that is not known.
    fn unchanged_step(&self, revision: &Release, object: &ObjectRef) -> Option<Step>;
}

impl<'a> Engine<'a> {
    /// The objects of a manifest as they are applied, beside the CRDs of `crds/`.
    async fn objects(
        &self,
        manifest: &str,
        crds: &[Object],
        release_ref: &ReleaseRef,
    ) -> Result<Vec<Object>, Error> {
        let mut all = object::release_objects(manifest, release_ref)?;
        if let Some(owner) = self.owner {
            let discovery = self.kinds.known().await?;
            let scopes: Vec<(String, String, bool)> = all.iter().chain(crds).filter_map(scope).collect();
            let namespaced = |kind: &Kind| match discovery.find(kind) {
                Some(resource) => resource.namespaced,
                // A kind that the release itself defines.
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

/// The group, kind and scope that a CRD defines.
fn scope(object: &Object) -> Option<(String, String, bool)> {
    let text = |path: &str| object.body.pointer(path).and_then(Value::as_str);
    (text("/kind") == Some("CustomResourceDefinition")).then_some(())?;
    let namespaced = text("/spec/scope")? == "Namespaced";
    Some((text("/spec/group")?.to_owned(), text("/spec/names/kind")?.to_owned(), namespaced))
}

fn release_ref(release: &Release) -> ReleaseRef {
    ReleaseRef { name: release.name.clone(), namespace: release.namespace.clone() }
}
