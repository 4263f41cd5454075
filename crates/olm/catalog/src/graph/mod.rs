//! Renders upgrade graphs.

mod mermaid;
mod text;

pub use mermaid::{Options, mermaid};
pub use text::text_graph;

use std::collections::HashMap;

use podium_versions::blang::Version;

use crate::compat::OpmCompat;
use crate::declcfg::{DeclarativeConfig, MetaKind};
use crate::error::{CatalogError, quote};
use crate::summary::package_properties;

/// Returns the versions of all bundles; the first of duplicate names wins.
fn versions_by_bundle(
    config: &DeclarativeConfig,
    compat: OpmCompat,
) -> Result<HashMap<String, Version>, CatalogError> {
    let mut versions = HashMap::new();
    for bundle in config.of_kind(MetaKind::Bundle) {
        let name = &bundle.header.name;
        if versions.contains_key(name) {
            continue;
        }
        let reject = |text: String| CatalogError::at(bundle.span.clone(), text);
        let properties = package_properties(bundle, compat)
            .map_err(|(_, text)| reject(format!("parse properties for bundle {}: {text}", quote(name))))?;
        let [property] = properties.as_slice() else {
            return Err(reject(format!(
                "bundle {} has multiple \"olm.package\" properties, expected exactly 1",
                quote(name)
            )));
        };
        let version = Version::parse(&property.version).map_err(|error| {
            let (name, version) = (quote(name), quote(&property.version));
            reject(format!("bundle {name} has invalid version {version}: {error}"))
        })?;
        versions.insert(name.clone(), version);
    }
    Ok(versions)
}
