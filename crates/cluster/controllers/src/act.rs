//! The writes of the controllers. Each says which object it means, or which version of it.

use http::Method;
use podium_client::client::{Error, Representation};
use podium_client::write::PropagationPolicy;
use podium_client::{Client, ObjectKey};
use podium_controller::work_queue::ReconcileResult;
use podium_meta::Resource;
use serde_json::{Value, json};

use crate::meta::{finalizers, text};

/// In whose name: the one that everybody knows for this work.
pub const MANAGER: &str = "kube-controller-manager";

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";

/// Whether a server refused with a status.
pub fn refused(error: &Error, code: u16) -> bool {
    error.status().is_some_and(|status| status.code == code)
}

/// Whether an object was not made because its namespace is going or gone.
pub fn is_ending(error: &Error) -> bool {
    let ends =
        |status: &podium_meta::Status| status.causes.iter().any(|c| c.reason == "NamespaceTerminating");
    refused(error, 404) || error.status().is_some_and(ends)
}

/// What becomes of a write whose object may have changed or gone meanwhile: who watches hears of that.
pub fn written(result: Result<Value, Error>) -> Result<ReconcileResult, Error> {
    match result {
        Ok(_) => Ok(ReconcileResult::Done),
        Err(error) if refused(&error, 404) => Ok(ReconcileResult::Done),
        Err(error) if refused(&error, 409) => Ok(ReconcileResult::Failed),
        Err(error) => Err(error),
    }
}

/// The options of a deletion.
pub fn options(propagation: PropagationPolicy, uid: Option<&str>, version: u64) -> Value {
    let word = match propagation {
        PropagationPolicy::Background => "Background",
        PropagationPolicy::Foreground => "Foreground",
        PropagationPolicy::Orphan => "Orphan",
    };
    let mut options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": word});
    if let Some(uid) = uid {
        options["preconditions"] = json!({"uid": uid});
        if version > 0 {
            options["preconditions"]["resourceVersion"] = version.to_string().into();
        }
    }
    options
}

/// Deletes an object.
pub async fn delete(
    client: &Client,
    resource: &Resource,
    key: &ObjectKey,
    options: &Value,
) -> Result<Value, Error> {
    let path = resource.object(key.namespace(), key.name());
    let body = Some((JSON, options.to_string().into_bytes()));
    client.request_as(Method::DELETE, &path, &Representation::Metadata.accept(false), body).await
}

/// Deletes all objects of a kind in a namespace, or in the cluster.
pub async fn delete_all(client: &Client, resource: &Resource, namespace: Option<&str>) -> Result<(), Error> {
    let body = Some((JSON, options(PropagationPolicy::Background, None, 0).to_string().into_bytes()));
    let accept = Representation::Metadata.accept(true);
    client.request_as(Method::DELETE, &resource.collection(namespace), &accept, body).await.map(drop)
}

/// Changes fields of an object.
pub async fn merge(
    client: &Client,
    resource: &Resource,
    key: &ObjectKey,
    patch: &Value,
) -> Result<Value, Error> {
    patch_as(client, resource, key, patch, MERGE).await
}

/// Changes fields of an object of a kind that the server was built with.
pub async fn strategic(
    client: &Client,
    resource: &Resource,
    key: &ObjectKey,
    patch: &Value,
) -> Result<Value, Error> {
    patch_as(client, resource, key, patch, STRATEGIC).await
}

async fn patch_as(
    client: &Client,
    resource: &Resource,
    key: &ObjectKey,
    patch: &Value,
    kind: &str,
) -> Result<Value, Error> {
    let path = format!("{}?fieldManager={MANAGER}", resource.object(key.namespace(), key.name()));
    let body = Some((kind, patch.to_string().into_bytes()));
    client.request_as(Method::PATCH, &path, &Representation::Metadata.accept(false), body).await
}

/// Puts an object, or a part of it with a name of its own, in the place of the version that it was made from.
pub async fn put(
    client: &Client,
    resource: &Resource,
    key: &ObjectKey,
    part: &str,
    object: &Value,
) -> Result<Value, Error> {
    let path = format!("{}{part}?fieldManager={MANAGER}", resource.object(key.namespace(), key.name()));
    client.request(Method::PUT, &path, Some((JSON, object.to_string().into_bytes()))).await
}

/// The change that takes a finalizer away from this version of an object, if it has it.
pub fn without_finalizer(object: &Value, finalizer: &str) -> Option<Value> {
    let rest: Vec<&str> = finalizers(object).filter(|name| *name != finalizer).collect();
    let had = finalizers(object).any(|name| name == finalizer);
    had.then(|| {
        let rest = if rest.is_empty() { Value::Null } else { json!(rest) };
        let version = text(object, "/metadata/resourceVersion");
        json!({"metadata": {"resourceVersion": version, "finalizers": rest}})
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_named_finalizer_goes() {
        let object = |list: Value| json!({"metadata": {"resourceVersion": "7", "finalizers": list}});
        assert_eq!(without_finalizer(&object(json!(["b"])), "a"), None);
        assert_eq!(without_finalizer(&object(json!(["a"])), "a"), Some(object(Value::Null)));
        assert_eq!(without_finalizer(&object(json!(["b", "a", "c"])), "a"), Some(object(json!(["b", "c"]))));
    }

    #[test]
    fn a_deletion_says_which_object_and_which_version_of_it() {
        let whole = options(PropagationPolicy::Foreground, Some("u"), 7);
        assert_eq!(whole["preconditions"], json!({"uid": "u", "resourceVersion": "7"}));
        assert_eq!(options(PropagationPolicy::Orphan, Some("u"), 0)["preconditions"], json!({"uid": "u"}));
        assert!(options(PropagationPolicy::Background, None, 7).get("preconditions").is_none());
    }
}
