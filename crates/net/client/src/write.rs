//! Requests that change something.

use http::Method;
use podium_meta::Resource;
use podium_meta::kind::escape;
use serde_json::{Value, json};

use crate::client::{Client, Error};

const JSON: &str = "application/json";

/// What becomes of the objects that depend on a deleted one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PropagationPolicy {
    /// They go afterwards.
    #[default]
    Background,
    /// They go before it.
    Foreground,
    /// They stay.
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
    /// Creates an object and gives it as the server has it.
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

    /// Puts an object in the place of the one that is there; one that says its version is only put over that version.
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

    /// Changes fields of an object: those that the patch has; null takes one away.
    pub async fn merge_patch(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        name: &str,
        patch: &Value,
        field_manager: &str,
    ) -> Result<Value, Error> {
        let path = format!("{}?fieldManager={}", resource.object(namespace, name), escape(field_manager));
        let body = Some(("application/merge-patch+json", patch.to_string().into_bytes()));
        self.send(Method::PATCH, &path, &self.write_response.accept(false), body).await
    }

    /// Reads an object that a read has not found, from the state that writes go to: what answers a read may be behind. A
    /// change of nothing that is not done needs no other right than a change. Who may not do that has to believe the read.
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

    /// Reads an object; what is not there is not there for sure.
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

    /// Deletes an object; `uid` is the one that is meant, so that one made anew in its place is left alone. Says
    /// whether there was one.
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
