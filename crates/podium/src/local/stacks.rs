//! The stacks that are in the binary.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use podium_client::Client;
use podium_client::client::ApplyOptions;
use podium_goyaml::{json, yaml};
use podium_meta::{GroupVersionKind, Resource};
use serde_json::Value;
use tokio::time::sleep;

mod embedded {
    include!(concat!(env!("OUT_DIR"), "/stacks.rs"));
}

/// In whose name the definitions of the stacks are written.
const MANAGER: &str = "podium";
/// How long the kinds of the stacks are waited for; their operators wait for them longer.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(5);

/// Writes the stacks into a folder; what is there and the same stays.
pub fn unpack(folder: &Path) -> Result<()> {
    for (name, content) in embedded::FILES {
        let path = folder.join(name);
        if fs::read(&path).is_ok_and(|found| found == *content) {
            continue;
        }
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).with_context(|| parent.display().to_string())?;
        fs::write(&path, content).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

/// The files of the stacks that say which resources are handled, with their folders.
pub fn watches() -> Vec<PathBuf> {
    let is_watches = |name: &&str| {
        let file = name.rsplit('/').next().unwrap_or_default();
        file.starts_with("watches") && file.ends_with(".yaml") && name.matches('/').count() == 1
    };
    embedded::FILES.iter().map(|(name, _)| *name).filter(is_watches).map(PathBuf::from).collect()
}

/// The definitions of all stacks, with their names in the binary.
fn definitions() -> impl Iterator<Item = (&'static str, Result<Value>)> {
    let read = |content: &[u8]| -> Result<Value> {
        let node = yaml::parse_exact(content, 0)?;
        Ok(serde_json::from_slice(&json::to_raw_string(&&node)?)?)
    };
    embedded::FILES
        .iter()
        .filter(|(name, _)| name.contains("/crds/"))
        .map(move |(name, content)| (*name, read(content)))
}

/// Whether a stack brings the definition of a kind.
pub fn define_kind(kind: &GroupVersionKind) -> bool {
    definitions().filter_map(|(_, definition)| definition.ok()).any(|definition| {
        let text = |path: &str| definition.pointer(path).and_then(Value::as_str);
        text("/spec/group") == Some(&kind.group) && text("/spec/names/kind") == Some(&kind.kind)
    })
}

/// Applies the definitions of all stacks, and waits until their kinds are served: who watches them would say that they
/// are missing.
pub async fn define(client: &Client) -> Result<()> {
    let kind = GroupVersionKind::new("apiextensions.k8s.io/v1", "CustomResourceDefinition");
    let resource = Resource { kind, plural: "customresourcedefinitions".to_owned(), namespaced: false };
    let mut names = Vec::new();
    for (name, definition) in definitions() {
        let definition = definition.with_context(|| name.to_owned())?;
        let object = definition.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        let apply = ApplyOptions { field_manager: MANAGER, force: true, dry_run: false };
        client.apply(&resource, None, object, &definition, apply).await.with_context(|| name.to_owned())?;
        names.push(object.to_owned());
    }
    let begin = Instant::now();
    for name in names {
        while begin.elapsed() < PATIENCE && !is_served(&client.get(&resource, None, &name).await?) {
            sleep(PAUSE).await;
        }
    }
    Ok(())
}

/// Whether the kind of a definition is served.
fn is_served(definition: &Option<Value>) -> bool {
    let conditions = definition.as_ref().and_then(|found| found.pointer("/status/conditions")?.as_array());
    let holds = |one: &Value| one["type"] == "Established" && one["status"] == "True";
    conditions.into_iter().flatten().any(holds)
}
