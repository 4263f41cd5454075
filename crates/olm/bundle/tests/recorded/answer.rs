//! What we make of a bundle, in the form in which the originals' answers are kept.

use podium_bundle::render::{self, Options};
use podium_bundle::{Finding, Registry, Tree, olm_bundle};

/// An answer of opm and one of the lifecycle controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// What `opm render` prints.
    pub opm: Result<String, Vec<Finding>>,
    /// The objects that the controller applies, each in JSON.
    pub controller: Result<Vec<String>, Vec<Finding>>,
}

/// Our answer.
pub fn ours(tree: &Tree, image: &str, migrate: bool, options: &Options) -> Answer {
    let opm = olm_bundle(tree, image).and_then(|bundle| if migrate { bundle.migrated() } else { Ok(bundle) });
    let objects = Registry::new(tree)
        .map_err(|finding| vec![finding])
        .and_then(|registry| render::render(&registry, options));
    Answer {
        opm: opm.map(|bundle| bundle.to_pretty()).map_err(|finding| vec![finding]),
        controller: objects.map(|all| all.iter().map(render::Object::to_json).collect()),
    }
}

/// Objects in an order of their own: of some the original's is random.
pub fn sorted(mut objects: Vec<String>) -> Vec<String> {
    objects.sort();
    objects
}
