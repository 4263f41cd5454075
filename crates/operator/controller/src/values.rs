//! The values of a release: those of Secrets and ConfigMaps, then the resource's spec, then the overrides of
//! `watches.yaml`; later ones take precedence.

use podium_chart::chart::merge_maps;
use podium_client::{Client, client};
use podium_deploy::object::json_to_node;
use podium_goyaml::{Map, Node, yaml};
use podium_meta::Resource;
use podium_project::overrides::{self, As};
use podium_project::watches::{Holder, ValuesFrom, Watch};
use podium_sprig::encoding::base64_decode;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::chart::hex;
use crate::custom_resource::CustomResource;

/// Why the values cannot be collected.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The spec is not a map.
    #[error("the spec of the resource is no map: write what the chart's values should be into it")]
    NoSpec,
    /// An override is invalid.
    #[error(transparent)]
    Override(#[from] overrides::Error),
    /// A Secret or ConfigMap is missing or invalid.
    #[error("valuesFrom: {0}")]
    Source(String),
    /// A request failed.
    #[error(transparent)]
    Client(#[from] client::Error),
}

/// The values of a resource and the versions of their sources.
pub struct CollectedValues {
    /// The coalesced values.
    pub values: Map,
    /// The resource versions of the Secrets and ConfigMaps.
    pub source_versions: Vec<String>,
}

/// Collects the values of a resource.
pub async fn collect(client: &Client, watch: &Watch, cr: &CustomResource) -> Result<CollectedValues, Error> {
    let spec = cr.spec().ok_or(Error::NoSpec)?;
    let mut values = Map::new();
    let mut source_versions = Vec::new();
    for source in &watch.values_from {
        let (more, version) = read_source(client, source, cr.namespace()).await?;
        merge_maps(&mut values, more);
        source_versions.push(version);
    }
    let spec = json_to_node(Value::Object(spec));
    merge_maps(&mut values, spec.as_map().cloned().unwrap_or_default());
    overrides::apply(&watch.override_values, &mut values, As::Strings, &|name: &str| {
        std::env::var(name).ok()
    })?;
    Ok(CollectedValues { values, source_versions })
}

/// The values under a key of a Secret or ConfigMap, and its resource version.
async fn read_source(client: &Client, source: &ValuesFrom, namespace: &str) -> Result<(Map, String), Error> {
    let resource = source_resource(source.kind);
    let what = format!("the {} {namespace}/{}", resource.kind.kind, source.name);
    let Some(object) = client.get(&resource, Some(namespace), &source.name).await? else {
        return match source.optional {
            true => Ok((Map::new(), String::new())),
            false => Err(Error::Source(format!("{what} is not there"))),
        };
    };
    let version = object.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default();
    let text = object.get("data").and_then(|data| data.get(&source.key)).and_then(Value::as_str);
    let text = match (text, source.kind) {
        (None, _) if source.optional => return Ok((Map::new(), version.to_owned())),
        (None, _) => return Err(Error::Source(format!("{what} has no key {:?}", source.key))),
        (Some(text), Holder::ConfigMap) => text.as_bytes().to_vec(),
        (Some(text), Holder::Secret) => base64_decode(text.as_bytes()).map_err(|at| {
            Error::Source(format!("{what}: its key {:?} is damaged at byte {at}", source.key))
        })?,
    };
    // The parser's message may quote the content of a Secret, so only the line is reported.
    let map = yaml::parse_object(&text, 0).map_err(|e| {
        Error::Source(format!("{what}: its key {:?} is no map in YAML (line {})", source.key, e.pos().line))
    })?;
    Ok((map, version.to_owned()))
}

/// The API resource of a values source.
pub fn source_resource(kind: Holder) -> Resource {
    match kind {
        Holder::Secret => Resource::core("Secret", "secrets", true),
        Holder::ConfigMap => Resource::core("ConfigMap", "configmaps", true),
    }
}

/// The digest of the input of a render: the values and the chart.
pub fn digest(values: &Map, chart: &str) -> String {
    let mut hasher = Sha256::new();
    hasher.update(chart);
    let node = Node::new(podium_goyaml::Value::Map(values.clone()), podium_goyaml::Pos::default());
    hasher.update(podium_goyaml::json::to_string(&&node).unwrap_or_default());
    hex(&hasher.finalize())
}

/// The values that the chart does not know: they are missing in its defaults, while their siblings have defaults.
pub fn unknown(values: &Map, defaults: &Node) -> Vec<String> {
    /// How many are reported.
    const MOST: usize = 8;
    let mut out = Vec::new();
    let mut work = vec![(String::new(), values, defaults)];
    while let Some((path, values, defaults)) = work.pop() {
        // A map without defaults takes any keys.
        let Some(known) = defaults.as_map().filter(|map| !map.is_empty()) else { continue };
        for (key, value) in values.iter() {
            let path = if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
            match (known.get(key), value.as_map()) {
                (None, _) if out.len() < MOST && key.as_ref() != "global" => out.push(path),
                (Some(inner), Some(map)) => work.push((path, map, inner)),
                _ => {}
            }
        }
    }
    out.sort();
    out
}
