//! Manifests that are applied when the cluster is up.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use podium_goyaml::{json, yaml};
use podium_objects::{Kind, Resource};
use podium_runtime::client::Apply;
use podium_runtime::{Client, Discovery};
use serde_json::Value;
use tokio::time::sleep;

use super::stacks;
use crate::output::print;

/// In whose name.
const MANAGER: &str = "podium";
/// How long a kind, or what becomes of a resource, is waited for.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long after its definition a kind is served at the latest.
const SOON: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(20);

/// Applies all objects of a file; those that say whether they are deployed are waited for.
pub async fn apply(client: &Client, file: &str) -> Result<()> {
    let text = std::fs::read(file).with_context(|| file.to_owned())?;
    for document in yaml::documents(&text) {
        let document = document.with_context(|| file.to_owned())?;
        let node = yaml::parse_exact(&document.text, 0).with_context(|| file.to_owned())?;
        let text = json::to_raw_string(&&node).with_context(|| file.to_owned())?;
        let object: Value = serde_json::from_slice(&text)?;
        if object.is_null() {
            continue;
        }
        one(client, &object).await.with_context(|| file.to_owned())?;
    }
    Ok(())
}

async fn one(client: &Client, object: &Value) -> Result<()> {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let (kind, name) = (Kind::new(text("/apiVersion"), text("/kind")), text("/metadata/name"));
    if kind.kind.is_empty() || name.is_empty() {
        bail!("an object has no kind or no metadata.name");
    }
    let resource = find(client, &kind).await?;
    let namespace = match text("/metadata/namespace") {
        "" => "default",
        namespace => namespace,
    };
    let namespace = resource.namespaced.then_some(namespace);
    let how = Apply { manager: MANAGER, force: true, dry_run: false };
    client.apply(&resource, namespace, name, object, how).await?;
    let place = Path::new(namespace.unwrap_or_default()).join(name);
    print(format!("{} {} is applied\n", kind.kind, place.display()).as_bytes())?;
    let begin = Instant::now();
    // Only resources of the stacks say so.
    while kind.kind.ends_with("Stack") || kind.kind.ends_with("Orchestra") {
        let live = client.get(&resource, namespace, name).await?.unwrap_or_default();
        let conditions = live.pointer("/status/conditions").and_then(Value::as_array);
        let deployed =
            conditions.into_iter().flatten().find(|one| one.get("type") == Some(&"Deployed".into()));
        if deployed.and_then(|one| one.get("status")) == Some(&"True".into()) {
            return print(format!("{} {} is deployed\n", kind.kind, place.display()).as_bytes());
        }
        if begin.elapsed() > PATIENCE {
            let why = deployed
                .and_then(|one| one.get("message"))
                .and_then(Value::as_str)
                .unwrap_or("nobody says why");
            bail!("{} {} is not deployed after {} s: {why}", kind.kind, place.display(), PATIENCE.as_secs());
        }
        sleep(PAUSE).await;
    }
    Ok(())
}

/// Where objects of a kind are kept; the kinds of the stacks come a moment after the cluster, others after their definition.
async fn find(client: &Client, kind: &Kind) -> Result<Resource> {
    let begin = Instant::now();
    let patience = if stacks::define_kind(kind) { PATIENCE } else { SOON };
    loop {
        let known = Discovery::read(client).await?;
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
