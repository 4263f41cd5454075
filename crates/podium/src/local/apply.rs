//! Manifests that are applied when the cluster is up.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use podium_client::client::ApplyOptions;
use podium_client::{Client, Discovery};
use podium_goyaml::{json, yaml};
use podium_meta::{GroupVersionKind, Resource};
use serde_json::Value;
use tokio::time::sleep;

use super::stacks;
use crate::output::print;

/// In whose name.
const MANAGER: &str = "podium";
/// How long a kind, or what becomes of a resource, is waited for.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long operators may take to find each other after the cluster has come up.
const UNANSWERED: Duration = Duration::from_secs(4);
/// How long after its definition a kind is served at the latest.
const SOON: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(20);

/// The objects of a file, each with a kind and a name.
pub fn read(file: &str) -> Result<Vec<Value>> {
    let text = std::fs::read(file).with_context(|| format!("--apply {file}"))?;
    let mut objects = Vec::new();
    for document in yaml::documents(&text) {
        let document = document.with_context(|| file.to_owned())?;
        let node = yaml::parse_exact(&document.text, 0).with_context(|| file.to_owned())?;
        let text = json::to_raw_string(&&node).with_context(|| file.to_owned())?;
        let object: Value = serde_json::from_slice(&text)?;
        let has = |path: &str| object.pointer(path).and_then(Value::as_str).is_some_and(|v| !v.is_empty());
        match object.is_null() {
            true => continue,
            false if has("/kind") && has("/metadata/name") => objects.push(object),
            false => bail!("{file}: an object has no kind or no metadata.name"),
        }
    }
    Ok(objects)
}

/// Applies all objects of a file; those that say whether they are deployed are waited for.
pub async fn apply(client: &Client, file: &str) -> Result<()> {
    for object in read(file)? {
        one(client, &object).await.with_context(|| file.to_owned())?;
    }
    Ok(())
}

async fn one(client: &Client, object: &Value) -> Result<()> {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let (kind, name) = (GroupVersionKind::new(text("/apiVersion"), text("/kind")), text("/metadata/name"));
    let resource = find(client, &kind).await?;
    let namespace = match text("/metadata/namespace") {
        "" => "default",
        namespace => namespace,
    };
    let namespace = resource.namespaced.then_some(namespace);
    let how = ApplyOptions { field_manager: MANAGER, force: true, dry_run: false };
    client.apply(&resource, namespace, name, object, how).await?;
    let place = Path::new(namespace.unwrap_or_default()).join(name);
    print(format!("{} {} is applied\n", kind.kind, place.display()).as_bytes())?;
    let begin = Instant::now();
    // Only resources of the stacks say so.
    while stacks::define_kind(&kind) {
        let live = client.get(&resource, namespace, name).await?.unwrap_or_default();
        let place = place.display();
        if is_deployed(&live) {
            return print(format!("{} {place} is deployed\n", kind.kind).as_bytes());
        }
        let unanswered = unanswered(&live).filter(|_| begin.elapsed() > UNANSWERED);
        if let Some(why) = failure(&live).or(unanswered) {
            bail!("{} {place} is not deployed: {why}", kind.kind);
        }
        if begin.elapsed() > PATIENCE {
            bail!(
                "{} {place} is not deployed after {} s, and nobody says why: podium logs tells more",
                kind.kind,
                PATIENCE.as_secs()
            );
        }
        sleep(PAUSE).await;
    }
    Ok(())
}

fn condition<'v>(live: &'v Value, kind: &str, status: &str) -> Option<&'v Value> {
    let conditions = live.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().find(|one| one["type"] == kind && one["status"] == status)
}

/// Whether what was asked for last is deployed: what was deployed before says so for a while, too.
fn is_deployed(live: &Value) -> bool {
    condition(live, "Deployed", "True").is_some()
        && failure(live).is_none()
        && live.pointer("/status/observedGeneration") == live.pointer("/metadata/generation")
}

/// Why it is not, as soon as somebody says so.
fn failure(live: &Value) -> Option<String> {
    let found = ["ReleaseFailed", "Irreconcilable"].iter().find_map(|kind| condition(live, kind, "True"))?;
    Some(found["message"].as_str().unwrap_or("the release failed").to_owned())
}

/// That no operator answers for it, or too many do.
fn unanswered(live: &Value) -> Option<String> {
    condition(live, "Answered", "False")?["message"].as_str().map(str::to_owned)
}

/// Where objects of a kind are kept; the kinds of the stacks come a moment after the cluster, others after their definition.
async fn find(client: &Client, kind: &GroupVersionKind) -> Result<Resource> {
    let begin = Instant::now();
    let patience = if stacks::define_kind(kind) { PATIENCE } else { SOON };
    loop {
        let known = Discovery::fetch(client).await?;
        match known.find(kind) {
            Some(resource) => return Ok(resource.clone()),
            None if begin.elapsed() > patience => {
                return Err(anyhow!(
                    "the cluster does not know the kind {} of {}: kubectl api-resources lists what it knows; \
                     a kind of your own needs its CustomResourceDefinition first",
                    kind.kind,
                    kind.api_version()
                ));
            }
            None => sleep(PAUSE).await,
        }
    }
}
