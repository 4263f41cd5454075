//! registry+v1 bundles: the operator of one version, ready to be installed.
//!
//! ```text
//! files ──┬─ opm's reading (lenient) ────────▶ olm.bundle for catalogs
//!         └─ the controller's reading (strict) ▶ checks ──▶ objects for a cluster
//! ```
//!
//! The two readings differ, as the originals do; [`report`](mod@report) names who refuses what. Everything is a function of the files.

pub mod compare;
mod decode;
pub mod diff;
mod files;
pub mod generate;
mod names;
mod olm;
mod opm;
mod policy_rules;
mod raw_json;
pub mod registry_v1;
pub mod render;
pub mod report;
mod types;
mod validation;
mod value;

pub use files::{BundleFiles, Error as FilesError};
pub use olm::{OlmBundle, RelatedImage};
pub use opm::{Property, RegistryBundle, Unstructured};
pub use registry_v1::RegistryV1;
pub use report::{Finding, Rule, Validator};

pub(crate) const CSV_KIND: &str = "ClusterServiceVersion";
pub(crate) const CRD_KIND: &str = "CustomResourceDefinition";
pub(crate) const MANIFESTS_DIR: &str = "manifests";
pub(crate) const METADATA_DIR: &str = "metadata";
pub(crate) const ANNOTATIONS_FILE: &str = "metadata/annotations.yaml";
pub(crate) const PROPERTIES_FILE: &str = "metadata/properties.yaml";
pub(crate) const PROPERTIES_ANNOTATION: &str = "olm.properties";

/// The label and annotation that name the package of a bundle.
pub const PACKAGE_LABEL: &str = "operators.operatorframework.io.bundle.package.v1";
/// The label and annotation with the channels that the author wishes.
pub const CHANNELS_LABEL: &str = "operators.operatorframework.io.bundle.channels.v1";
/// The label and annotation with the channel that the author wishes to be the usual one.
pub const DEFAULT_CHANNEL_LABEL: &str = "operators.operatorframework.io.bundle.channel.default.v1";

/// What `opm render` makes of a bundle whose image has this reference; an empty one is that of a folder.
pub fn olm_bundle(files: &BundleFiles, image: &str) -> Result<OlmBundle, Finding> {
    OlmBundle::new(&RegistryBundle::new(files)?, image)
}

/// Everything that opm or the lifecycle controller refuses, sorted by place.
pub fn validate(files: &BundleFiles, options: &render::Options) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(olm_bundle(files, "").err());
    match RegistryV1::new(files) {
        Ok(bundle) => findings.extend(render::render(&bundle, options).err().into_iter().flatten()),
        Err(finding) => findings.push(finding),
    }
    findings
        .sort_by(|a, b| (&a.file, a.line, a.validator, a.rule).cmp(&(&b.file, b.line, b.validator, b.rule)));
    findings.dedup();
    findings
}
