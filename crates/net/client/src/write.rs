//! Write requests: create, replace, merge patch and delete.

use http::Method;
use podium_meta::Resource;
use podium_meta::kind::escape;
use serde_json::{Value, json};

use crate::client::{Client, Error};

const JSON: &str = "application/json";

/// What garbage collection does with the dependents of a deleted object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PropagationPolicy {
    /// Deletes dependents after the object.
    #[default]
    Background,
    /// Deletes dependents before the object.
    Foreground,
    /// Keeps dependents.
    Orphan,
}

impl PropagationPolicy {
    fn as_str(self) -> &'static str {
        match self {
            PropagationPolicy::Background => "Background",
            PropagationPolicy::Foreground => "Foreground",
            PropagationPolicy::Orphan => "Orphan",
        }
    }
}

impl Client {
    /// Creates an object and returns the stored one.
    pub async fn create(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        body: &Value,
        field_manager: &str,
    ) -> Result<Value, Error> {
        let path = format!("{}?fieldManager={}", resource.collection(namespace), escape(field_manager));
        self.send(
            Method::POST,
            &path,
            &self.write_response.accept(false),
            Some((JSON, body.to_string().into_bytes())),
        )
        .await
    }

    /// Replaces an object; a resourceVersion in the body is a precondition.
    pub async fn replace(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        name: &str,
        body: &Value,
        field_manager: &str,
    ) -> Result<Value, Error> {
        let path = format!("{}?fieldManager={}", resource.object(namespace, name), escape(field_manager));
        self.send(
            Method::PUT,
            &path,
            &self.write_response.accept(false),
            Some((JSON, body.to_string().into_bytes())),
        )
        .await
    }

    /// Applies a JSON merge patch; null removes a field.
    pub async fn merge_patch(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        name: &str,
        patch: &Value,
        field_manager: &str,
    ) -> Result<Value, Error> {
        self.merge_patch_at(&resource.object(namespace, name), patch, field_manager).await
    }

    /// Applies a JSON merge patch to the status subresource.
    pub async fn merge_patch_status(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        name: &str,
        patch: &Value,
        field_manager: &str,
    ) -> Result<Value, Error> {
        let path = format!("{}/status", resource.object(namespace, name));
        self.merge_patch_at(&path, patch, field_manager).await
    }

    async fn merge_patch_at(&self, path: &str, patch: &Value, field_manager: &str) -> Result<Value, Error> {
        let path = format!("{path}?fieldManager={}", escape(field_manager));
        let body = Some(("application/merge-patch+json", patch.to_string().into_bytes()));
        self.send(Method::PATCH, &path, &self.write_response.accept(false), body).await
    }

    /// Reads an object from storage instead of the watch cache, which may lag behind: a dry-run patch that changes
    /// nothing. `None` if the object does not exist or the user is not authorized to patch it.
    pub async fn get_from_storage(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Option<Value>, Error> {
        let path = format!("{}?dryRun=All", resource.object(namespace, name));
        let body = Some(("application/merge-patch+json", b"{}".to_vec()));
        match self.send(Method::PATCH, &path, JSON, body).await {
            Ok(found) => Ok(Some(found)),
            Err(Error::Api(status)) if (403..=405).contains(&status.code) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads an object and confirms its absence against storage, because a read may lag behind the last write.
    pub async fn get_confirmed(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Option<Value>, Error> {
        match self.get(resource, namespace, name).await? {
            None => self.get_from_storage(resource, namespace, name).await,
            found => Ok(found),
        }
    }

    /// Deletes an object and returns whether it existed. `uid` is a precondition that protects an object recreated
    /// under the same name.
    pub async fn delete(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        name: &str,
        uid: Option<&str>,
        propagation: PropagationPolicy,
    ) -> Result<bool, Error> {
        let mut options =
            json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation.as_str()});
        if let Some(uid) = uid {
            options["preconditions"] = json!({"uid": uid});
        }
        let body = Some((JSON, options.to_string().into_bytes()));
        match self.send(Method::DELETE, &resource.object(namespace, name), JSON, body).await {
            Ok(_) => Ok(true),
            Err(Error::Api(status)) if status.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }
}
