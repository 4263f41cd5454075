//! What we make of a bundle, in the form in which the originals' answers are kept.

use podium_bundle::render::{self, Options};
use podium_bundle::{BundleFiles, Finding, RegistryV1, olm_bundle};

/// An answer of opm and one of the lifecycle controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// What `opm render` prints.
    pub opm: Result<String, Vec<Finding>>,
    /// The objects that the controller applies, each in JSON.
    pub controller: Result<Vec<String>, Vec<Finding>>,
}

/// Our answer.
pub fn ours(files: &BundleFiles, image: &str, migrate: bool, options: &Options) -> Outcome {
    let opm =
        olm_bundle(files, image).and_then(|bundle| if migrate { bundle.migrated() } else { Ok(bundle) });
    let objects = RegistryV1::new(files)
        .map_err(|finding| vec![finding])
        .and_then(|bundle| render::render(&bundle, options));
    Outcome {
        opm: opm.map(|bundle| bundle.to_pretty()).map_err(|finding| vec![finding]),
        controller: objects.map(|all| all.iter().map(render::RenderedObject::to_json).collect()),
    }
}

/// Objects in an order of their own: of some the original's is random.
pub fn sorted(mut objects: Vec<String>) -> Vec<String> {
    objects.sort();
    objects
}
