//! The ways between versions, drawn.

mod mermaid;
mod picture;

pub use mermaid::{Options, mermaid};
pub use picture::picture;

use std::collections::HashMap;

use podium_versions::blang::Version;

use crate::config::{Config, Kind};
use crate::facts::package_properties;
use crate::generation::Generation;
use crate::problem::{Problem, quoted};

/// The versions of all bundles by name; the first of equal names counts.
fn versions(config: &Config, generation: Generation) -> Result<HashMap<String, Version>, Problem> {
    let mut versions = HashMap::new();
    for bundle in config.of(Kind::Bundle) {
        let name = &bundle.head.name;
        if versions.contains_key(name) {
            continue;
        }
        let refuse = |text: String| Problem::at(bundle.place.clone(), text);
        let properties = package_properties(bundle, generation)
            .map_err(|(_, text)| refuse(format!("parse properties for bundle {}: {text}", quoted(name))))?;
        let [property] = properties.as_slice() else {
            return Err(refuse(format!(
                "bundle {} has multiple \"olm.package\" properties, expected exactly 1",
                quoted(name)
            )));
        };
        let version = Version::parse(&property.version).map_err(|error| {
            let (name, version) = (quoted(name), quoted(&property.version));
            refuse(format!("bundle {name} has invalid version {version}: {error}"))
        })?;
        versions.insert(name.clone(), version);
    }
    Ok(versions)
}
