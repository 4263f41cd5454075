//! registry+v1 bundles: the operator of one version, ready to be installed.
//!
//! ```text
//! files ──┬─ opm's reading (lenient) ────────▶ olm.bundle for catalogs
//!         └─ the controller's reading (strict) ▶ checks ──▶ objects for a cluster
//! ```
//!
//! The two readings differ, as the originals do; [`report`](mod@report) names who refuses what. Everything is a function of the files.

mod check;
pub mod compare;
mod decode;
pub mod diff;
pub mod generate;
mod grants;
mod names;
mod olm;
mod opm;
mod raw;
pub mod registry;
pub mod render;
pub mod report;
mod tree;
mod types;
mod value;

pub use olm::{OlmBundle, RelatedImage};
pub use opm::{Parsed, Property, Source};
pub use registry::Registry;
pub use report::{Finding, Refuser, Rule};
pub use tree::{Error as TreeError, Tree};

pub(crate) const CSV: &str = "ClusterServiceVersion";
pub(crate) const CRD: &str = "CustomResourceDefinition";
pub(crate) const MANIFESTS: &str = "manifests";
pub(crate) const METADATA: &str = "metadata";
pub(crate) const ANNOTATIONS_FILE: &str = "metadata/annotations.yaml";
pub(crate) const PROPERTIES_FILE: &str = "metadata/properties.yaml";
pub(crate) const PROPERTIES: &str = "olm.properties";

/// The label and annotation that name the package of a bundle.
pub const PACKAGE: &str = "operators.operatorframework.io.bundle.package.v1";
/// The label and annotation with the channels that the author wishes.
pub const CHANNELS: &str = "operators.operatorframework.io.bundle.channels.v1";
/// The label and annotation with the channel that the author wishes to be the usual one.
pub const DEFAULT_CHANNEL: &str = "operators.operatorframework.io.bundle.channel.default.v1";

/// What `opm render` makes of a bundle whose image has this reference; an empty one is that of a folder.
pub fn olm_bundle(tree: &Tree, image: &str) -> Result<OlmBundle, Finding> {
    OlmBundle::new(&Parsed::new(tree)?, image)
}

/// Everything that opm or the lifecycle controller refuses, sorted by place.
pub fn validate(tree: &Tree, options: &render::Options) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(olm_bundle(tree, "").err());
    match Registry::new(tree) {
        Ok(registry) => findings.extend(render::render(&registry, options).err().into_iter().flatten()),
        Err(finding) => findings.push(finding),
    }
    findings.sort_by(|a, b| (&a.file, a.line, a.by, a.rule).cmp(&(&b.file, b.line, b.by, b.rule)));
    findings.dedup();
    findings
}
