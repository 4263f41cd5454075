//! Our outcome for a bundle, in the form in which upstream outcomes are recorded.

use podium_bundle::render::{self, Options};
use podium_bundle::{BundleFiles, Finding, RegistryV1, olm_bundle};

/// Outcome of opm and of operator-controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Output of `opm render`.
    pub opm: Result<String, Vec<Finding>>,
    /// Applied objects as JSON.
    pub controller: Result<Vec<String>, Vec<Finding>>,
}

/// Computes our outcome.
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

/// Sorts objects, because upstream's order is random for some kinds.
pub fn sorted(mut objects: Vec<String>) -> Vec<String> {
    objects.sort();
    objects
}
