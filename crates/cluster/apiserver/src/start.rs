//! What every cluster has from the beginning.

use podium_meta::GroupVersionKind;
use podium_rbac::User;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::address::Place;
use crate::api::{Api, Caller};
use crate::meta;
use crate::query::{Strictness, WriteOptions};
use crate::refusal::{Outcome, Refusal};
use crate::write::Write;

/// The namespaces of the system.
const NAMESPACES: &[&str] = &["default", "kube-node-lease", "kube-public", "kube-system"];

/// Makes what is not there: the namespaces first, then everything in them at once, so that all share few
/// synchronisations of the disk.
pub async fn bootstrap(api: &Api) -> Outcome<()> {
    let namespace =
        |name: &&str| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    ensure_all(api, NAMESPACES.iter().map(namespace).collect()).await?;
    let mut rest = podium_rbac::bootstrap();
    rest.push(service());
    rest.extend(priorities());
    ensure_all(api, rest).await
}

async fn ensure_all(api: &Api, objects: Vec<Value>) -> Outcome<()> {
    let mut tasks = JoinSet::new();
    for object in objects {
        let api = api.clone();
        tasks.spawn(async move { ensure(&api, object).await });
    }
    while let Some(done) = tasks.join_next().await {
        done.map_err(Refusal::internal)??;
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

/// The priorities of what a cluster cannot do without.
fn priorities() -> [Value; 2] {
    let class = |name: &str, value: i64, about: &str| {
        json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value,
            "description": about, "preemptionPolicy": "PreemptLowerPriority"})
    };
    [
        class(
            "system-node-critical",
            2_000_001_000,
            "Used for system critical pods that must not be moved from their current node.",
        ),
        class(
            "system-cluster-critical",
            2_000_000_000,
            "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
        ),
    ]
}

/// Makes an object if it is not there.
async fn ensure(api: &Api, object: Value) -> Outcome<()> {
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let kind = GroupVersionKind::new(text("apiVersion"), text("kind"));
    let Some(row) = podium_resources::kinds().row_of(&kind) else { return Ok(()) };
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
