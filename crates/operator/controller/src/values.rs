//! The values of a release: what the resource wants, over what Secrets and ConfigMaps say, under what the operator
//! overrides.

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
use crate::custom::Custom;

/// Why there are no values.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The resource does not say what values are.
    #[error("the spec of the resource is no map: write what the chart's values should be into it")]
    NoSpec,
    /// An override is none.
    #[error(transparent)]
    Override(#[from] overrides::Error),
    /// What values come from is not there.
    #[error("valuesFrom: {0}")]
    Source(String),
    /// The server says no, or nothing.
    #[error(transparent)]
    Client(#[from] client::Error),
}

/// Values, and what they come from.
pub struct Found {
    /// All of them.
    pub values: Map,
    /// The versions of the Secrets and ConfigMaps.
    pub sources: Vec<String>,
}

/// Collects the values of a resource.
pub async fn collect(client: &Client, watch: &Watch, custom: &Custom) -> Result<Found, Error> {
    let spec = custom.spec().ok_or(Error::NoSpec)?;
    let mut values = Map::new();
    let mut sources = Vec::new();
    for source in &watch.values_from {
        let (more, version) = read(client, source, custom.namespace()).await?;
        merge_maps(&mut values, more);
        sources.push(version);
    }
    let spec = json_to_node(Value::Object(spec));
    merge_maps(&mut values, spec.as_map().cloned().unwrap_or_default());
    overrides::apply(&watch.override_values, &mut values, As::Strings, &|name: &str| {
        std::env::var(name).ok()
    })?;
    Ok(Found { values, sources })
}

/// The values that a Secret or ConfigMap holds under a key, and its version.
async fn read(client: &Client, source: &ValuesFrom, namespace: &str) -> Result<(Map, String), Error> {
    let resource = holder(source.kind);
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
    // What is wrong in a Secret is not repeated: it might be secret.
    let map = yaml::parse_object(&text, 0).map_err(|e| {
        Error::Source(format!("{what}: its key {:?} is no map in YAML (line {})", source.key, e.pos().line))
    })?;
    Ok((map, version.to_owned()))
}

/// What holds values.
pub fn holder(kind: Holder) -> Resource {
    match kind {
        Holder::Secret => Resource::core("Secret", "secrets", true),
        Holder::ConfigMap => Resource::core("ConfigMap", "configmaps", true),
    }
}

/// What a render depends on, in digits: the values and the chart.
pub fn digest(values: &Map, chart: &str) -> String {
    let mut hasher = Sha256::new();
    hasher.update(chart);
    let node = Node::new(podium_goyaml::Value::Map(values.clone()), podium_goyaml::Pos::default());
    hasher.update(podium_goyaml::json::to_string(&&node).unwrap_or_default());
    hex(&hasher.finalize())
}

/// Values that the chart does not know: they are not in its defaults, where it has defaults for others beside them.
pub fn unknown(values: &Map, defaults: &Node) -> Vec<String> {
    /// How many are told.
    const MOST: usize = 8;
    let mut out = Vec::new();
    let mut work = vec![(String::new(), values, defaults)];
    while let Some((path, values, defaults)) = work.pop() {
        // A map without defaults is for the user to fill.
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
