//! Installs, upgrades, rolls back and uninstalls.
//!
//! Everything that can be refused is refused before anything is written. A revision is recorded as pending before the
//! first object is, so that whoever comes after a crash knows which objects may be there.

mod change;
mod past;
mod uninstall;

use std::collections::BTreeMap;
use std::time::Duration;

use podium_client::write::PropagationPolicy;
use podium_client::{DiscoveryCache, client};
use podium_deploy::object::{self, Object};
use podium_deploy::plan::Step;
use podium_deploy::wait::{self, Until};
use podium_deploy::{Named, Owner, Place, apply};
use podium_meta::Kind;
use serde_json::Value;

use crate::record::Release;
use crate::store::{self, Store};
pub use change::Verb;
pub use past::Past;
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
    InUse,
    /// It has no place.
    #[error("the namespace {0:?} is not there: make it, or add --create-namespace")]
    NoNamespace(String),
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
    Deleted(String),
    /// There is no such revision.
    #[error("release has no {0} version")]
    NoRevision(i64),
    /// It failed, and was undone.
    #[error("release {name} failed, and has been {how} due to rollback-on-failure being set: {why}")]
    Undone {
        /// The release.
        name: String,
        /// What was done.
        how: &'static str,
        /// Why it failed.
        why: Box<Error>,
    },
    /// It failed, and could not even be undone.
    #[error("an error occurred while undoing the change: {second}; original error: {first}")]
    Stuck {
        /// Why it failed.
        first: Box<Error>,
        /// Why it could not be undone.
        second: Box<Error>,
    },
    /// It is gone, but not everything went well.
    #[error("uninstallation completed with {} error(s): {}", .0.len(), .0.join("; "))]
    Unclean(Vec<String>),
}

/// Is told what happens meanwhile.
pub trait Listener: Sync {
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
    pub wait: Option<Until>,
    /// How long each wait may take.
    pub timeout: Duration,
    /// Objects of others become the release's.
    pub adopt: bool,
    /// What fails is undone.
    pub undo: bool,
    /// Objects that a failed change made are deleted.
    pub cleanup: bool,
    /// A sentence for the history instead of the usual one.
    pub description: String,
    /// How many revisions are kept; 0 is all.
    pub history: usize,
    /// The namespace is made if it is missing.
    pub create_namespace: bool,
    /// What becomes of the objects that depend on deleted ones.
    pub propagation: PropagationPolicy,
    /// Only says what would be done.
    pub dry_run: bool,
    /// Nothing of a first revision is expected to be there: its objects are made without a look before, which costs
    /// half the requests. Where somebody else's object is in the way, what was made is taken back.
    pub fresh: bool,
    /// A release whose objects are not gone in time stays, so that whoever comes again waits again.
    pub until_gone: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            hooks: true,
            wait: None,
            timeout: Duration::from_secs(300),
            adopt: false,
            undo: false,
            cleanup: false,
            description: String::new(),
            history: 10,
            create_namespace: false,
            propagation: PropagationPolicy::Background,
            dry_run: false,
            fresh: false,
            until_gone: false,
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
    pub kinds: &'a DiscoveryCache,
    /// Who is told what happens.
    pub listener: &'a dyn Listener,
    /// On whose behalf it is done, if not a user's.
    pub keeper: Option<&'a dyn Keeper>,
}

/// On whose behalf a release is kept.
pub trait Keeper: Sync {
    /// The uid of what the release is made for.
    fn holder(&self) -> &str;
    /// Adds to objects what they carry besides what the chart says.
    fn dress(&self, objects: &mut [Object], namespaced: &dyn Fn(&Kind) -> bool);
    /// The labels of a revision that is made from an older one.
    fn again(&self, labels: &mut BTreeMap<String, String>, was: i64, is: i64);
    /// What the record says besides, once its objects are there.
    fn annotations(&self, steps: &[Step]) -> BTreeMap<String, String>;
    /// That an object of a revision is still as it was applied then; nothing when that is not known.
    fn intact(&self, revision: &Release, object: &Named) -> Option<Step>;
}

impl<'a> Engine<'a> {
    /// The objects of a manifest as they are applied, beside the CRDs of `crds/`.
    async fn objects(&self, manifest: &str, crds: &[Object], owner: &Owner) -> Result<Vec<Object>, Error> {
        let mut all = object::objects(manifest, owner)?;
        if let Some(keeper) = self.keeper {
            let discovery = self.kinds.get().await?;
            let scopes: Vec<(String, String, bool)> = all.iter().chain(crds).filter_map(scope).collect();
            let namespaced = |kind: &Kind| match discovery.find(kind) {
                Some(resource) => resource.namespaced,
                // A kind that the release itself defines.
                None => {
                    scopes.iter().any(|(g, k, namespaced)| *namespaced && *g == kind.group && *k == kind.kind)
                }
            };
            keeper.dress(&mut all, &namespaced);
        }
        Ok(all)
    }

    fn place<'p>(&'p self, owner: &'p Owner) -> Place<'p> {
        let holder = self.keeper.map(Keeper::holder);
        Place { client: &self.store.client, kinds: self.kinds, owner, holder }
    }
}

/// The group, kind and scope that a CRD defines.
fn scope(object: &Object) -> Option<(String, String, bool)> {
    let text = |path: &str| object.body.pointer(path).and_then(Value::as_str);
    (text("/kind") == Some("CustomResourceDefinition")).then_some(())?;
    let namespaced = text("/spec/scope")? == "Namespaced";
    Some((text("/spec/group")?.to_owned(), text("/spec/names/kind")?.to_owned(), namespaced))
}

fn owner(release: &Release) -> Owner {
    Owner { name: release.name.clone(), namespace: release.namespace.clone() }
}
