//! registry+v1 bundles: parse, validate, render, generate and compare.
//!
//! ```text
//! files ──┬─ opm (lenient) ──────────────▶ olm.bundle for file-based catalogs
//!         └─ operator-controller (strict) ▶ validation ──▶ objects for a cluster
//! ```
//!
//! opm and operator-controller parse bundles differently; [`report`](mod@report) says which of the two
//! rejects a bundle. Every result is a pure function of the bundle files.

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

/// Label and annotation with the package name of a bundle.
pub const PACKAGE_LABEL: &str = "operators.operatorframework.io.bundle.package.v1";
/// Label and annotation with the channels that the bundle author proposes, separated by commas.
pub const CHANNELS_LABEL: &str = "operators.operatorframework.io.bundle.channels.v1";
/// Label and annotation with the default channel that the bundle author proposes.
pub const DEFAULT_CHANNEL_LABEL: &str = "operators.operatorframework.io.bundle.channel.default.v1";

/// Renders the `olm.bundle` of a bundle image like `opm render`. `image` is empty for a bundle directory.
pub fn olm_bundle(files: &BundleFiles, image: &str) -> Result<OlmBundle, Finding> {
    OlmBundle::new(&RegistryBundle::new(files)?, image)
}

/// Returns everything that opm or operator-controller rejects, sorted by file and line.
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
