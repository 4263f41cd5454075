//! What every cluster has from the beginning.

use podium_access::User;
use podium_objects::Kind;
use serde_json::{Value, json};

use crate::address::Place;
use crate::api::{Api, Caller};
use crate::meta;
use crate::query::{Strictness, WriteOptions};
use crate::refusal::Outcome;
use crate::write::Write;

/// The namespaces of the system.
const NAMESPACES: &[&str] = &["default", "kube-node-lease", "kube-public", "kube-system"];

/// Makes what is not there.
pub async fn bootstrap(api: &Api) -> Outcome<()> {
    for name in NAMESPACES {
        ensure(api, json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})).await?;
    }
    ensure(api, service()).await?;
    for object in podium_access::bootstrap() {
        ensure(api, object).await?;
    }
    Ok(())
}

/// The API itself, as pods find it.
fn service() -> Value {
    json!({"apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "kubernetes", "namespace": "default",
            "labels": {"component": "apiserver", "provider": "kubernetes"}},
        "spec": {"clusterIP": "10.96.0.1", "clusterIPs": ["10.96.0.1"], "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack", "type": "ClusterIP",
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}]}})
}

/// Makes an object if it is not there.
async fn ensure(api: &Api, object: Value) -> Outcome<()> {
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let kind = Kind::new(text("apiVersion"), text("kind"));
    let Some(row) = podium_kinds::kinds().row_of(&kind) else { return Ok(()) };
    let served = api.served();
    let Some(resource) = served.resource(row.group, row.version, row.plural) else { return Ok(()) };
    let place = Place {
        group: row.group.to_owned(),
        version: row.version.to_owned(),
        plural: row.plural.to_owned(),
        namespace: meta::text(&object, "namespace").to_owned(),
        ..Place::default()
    };
    let name = meta::text(&object, "name");
    let path = if row.namespaced { format!("{}/{name}", place.namespace) } else { name.to_owned() };
    if api.store().collection(&resource.place).get(&path).is_some() {
        return Ok(());
    }
    let options = WriteOptions {
        dry_run: false,
        manager: "kube-apiserver".to_owned(),
        strictness: Strictness::Ignore,
        force: None,
    };
    let caller = Caller { user: User::new("system:apiserver", &["system:masters"]) };
    let mut write = Write::new(api, &caller, resource, &place, options);
    let object = write.read(object.to_string().as_bytes(), crate::model::Format::Json)?;
    match write.create(object).await {
        Err(refusal) if refusal.reason != "AlreadyExists" => Err(refusal),
        _ => Ok(()),
    }
}
