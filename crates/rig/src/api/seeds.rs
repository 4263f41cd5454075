//! Ordinary objects, and where each kind is served.

use podium_goyaml::{json, yaml};
use serde_json::Value;

use super::pair::Pair;
use super::wire::{self, Request};

/// A kind that requests are made for.
#[derive(Clone, Debug, Default)]
pub struct Subject {
    /// Group and version.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The name in addresses.
    pub plural: String,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
    /// What is served below objects.
    pub parts: Vec<String>,
    /// An ordinary object.
    pub seed: Value,
    /// Its own schema, if users have defined it.
    pub schema: Option<Value>,
}

impl Subject {
    /// Where the objects of a namespace are.
    pub fn collection(&self, namespace: &str) -> String {
        let root = root(&self.api_version);
        match self.namespaced && !namespace.is_empty() {
            true => format!("{root}/namespaces/{namespace}/{}", self.plural),
            false => format!("{root}/{}", self.plural),
        }
    }

    /// Where an object is.
    pub fn place(&self, namespace: &str, name: &str) -> String {
        format!("{}/{name}", self.collection(namespace))
    }

    /// The kind with its group and version, for tables of figures.
    pub fn title(&self) -> String {
        match self.api_version.as_str() {
            "autoscaling/v1" | "events.k8s.io/v1" => format!("{} ({})", self.kind, self.api_version),
            _ => self.kind.clone(),
        }
    }
}

/// Where a group and version is served.
pub fn root(api_version: &str) -> String {
    if api_version.contains('/') { format!("/apis/{api_version}") } else { format!("/api/{api_version}") }
}

/// The ordinary objects.
pub fn objects() -> Vec<Value> {
    let texts = include_str!("seeds.yaml").split("\n---\n");
    texts.map(|text| from_yaml(text).unwrap_or_default()).collect()
}

/// A value that is written as YAML.
pub fn from_yaml(text: &str) -> Option<Value> {
    let node = yaml::parse_exact(text.as_bytes(), 0).ok()?;
    serde_json::from_slice(&json::to_raw_string(&&node).ok()?).ok()
}

/// The kinds of the ordinary objects, as the real server serves them.
pub fn subjects(pair: &Pair) -> Result<Vec<Subject>, wire::Error> {
    let mut all = Vec::new();
    for seed in objects() {
        let text = |key: &str| seed.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut subject = Subject {
            api_version: text("apiVersion"),
            kind: text("kind"),
            seed: seed.clone(),
            ..Subject::default()
        };
        let served = pair.real(&Request::get(root(&subject.api_version)))?.value();
        for one in served.get("resources").and_then(Value::as_array).into_iter().flatten() {
            let name = one.get("name").and_then(Value::as_str).unwrap_or_default();
            let same = one.get("kind").and_then(Value::as_str) == Some(&subject.kind);
            if same && !name.contains('/') {
                subject.plural = name.to_owned();
                subject.namespaced = one.get("namespaced").and_then(Value::as_bool).unwrap_or(false);
            }
        }
        let parts = served.get("resources").and_then(Value::as_array).into_iter().flatten();
        let parts = parts.filter_map(|one| one.get("name").and_then(Value::as_str)?.split_once('/'));
        let parts = parts.filter(|(plural, _)| *plural == subject.plural);
        subject.parts = parts.map(|(_, part)| part.to_owned()).collect();
        all.push(subject);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_seeds_are_objects() {
        let all = objects();
        assert!(all.len() > 30);
        for one in all {
            assert!(one.get("kind").is_some() && one.pointer("/metadata/name").is_some(), "{one}");
        }
    }
}
