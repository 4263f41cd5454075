//! Where the objects of a release are: the cluster, and whose they are there.

use std::sync::Arc;

use futures_util::stream::{StreamExt, iter};
use podium_client::client;
use podium_client::{Client, Discovery, Kinds};
use podium_meta::Resource;
use serde_json::Value;

use crate::object::Object;
use crate::object_ref::ObjectRef;
use crate::ownership::ReleaseRef;
use crate::plan::ApplyOptions;

/// How many requests are under way at the same time.
pub(crate) const MAX_CONCURRENT_REQUESTS: usize = 8;

/// A cluster with the release that works on it.
#[derive(Clone, Copy)]
pub struct Deployer<'a> {
    /// The cluster.
    pub client: &'a Client,
    /// Its kinds.
    pub kinds: &'a Kinds,
    /// Whose objects are meant.
    pub release: &'a ReleaseRef,
    /// The uid of what the release is made for, if it is made for something.
    pub owner_uid: Option<&'a str>,
}

/// An object of a manifest beside the one of the cluster.
#[derive(Clone, Debug)]
pub struct ObservedObject<'o> {
    /// What is wanted.
    pub object: &'o Object,
    /// Its name, with the namespace that it has in the cluster.
    pub object_ref: ObjectRef,
    /// Where it is; nothing when the cluster does not know its kind.
    pub resource: Option<Resource>,
    /// What is there; nothing also when it was not looked at.
    pub live: Option<Value>,
}

impl Deployer<'_> {
    /// The namespace of an object, if it has one.
    pub(crate) fn namespace<'o>(&'o self, object: &'o ObjectRef) -> &'o str {
        object.namespace.as_deref().unwrap_or(&self.release.namespace)
    }

    /// Whether two names mean the same object; its version does not matter.
    pub fn same_object(&self, a: &ObjectRef, b: &ObjectRef) -> bool {
        (&a.kind.group, &a.kind.kind, &a.name) == (&b.kind.group, &b.kind.kind, &b.name)
            && self.namespace(a) == self.namespace(b)
    }

    /// The object with the namespace that it has in the cluster.
    pub fn resolve_namespace(&self, object: &ObjectRef, resource: Option<&Resource>) -> ObjectRef {
        let namespaced = resource.is_some_and(|resource| resource.namespaced);
        let namespace = namespaced.then(|| self.namespace(object).to_owned());
        ObjectRef { namespace, ..object.clone() }
    }

    /// The object of the cluster; nothing when there is none, or its name is left to the server.
    pub(crate) async fn get_live(
        &self,
        resource: &Resource,
        object_ref: &ObjectRef,
    ) -> Result<Option<Value>, client::Error> {
        if object_ref.name.is_empty() {
            return Ok(None);
        }
        self.client.get(resource, object_ref.namespace.as_deref(), &object_ref.name).await
    }

    /// The same; what is not there is not there for sure.
    pub(crate) async fn get_live_consistent(
        &self,
        resource: &Resource,
        object_ref: &ObjectRef,
    ) -> Result<Option<Value>, client::Error> {
        match self.get_live(resource, object_ref).await? {
            None if !object_ref.name.is_empty() => {
                self.client.surely(resource, object_ref.namespace.as_deref(), &object_ref.name).await
            }
            found => Ok(found),
        }
    }

    /// What the cluster has of the objects, in their order.
    pub(crate) async fn observe<'o>(
        &self,
        objects: &'o [Object],
        options: ApplyOptions,
    ) -> Result<Vec<ObservedObject<'o>>, client::Error> {
        let discovery = self.kinds.known().await?;
        let reads = objects.iter().map(|object| self.observe_one(object, discovery.clone(), options));
        let answers: Vec<_> = iter(reads).buffered(MAX_CONCURRENT_REQUESTS).collect().await;
        answers.into_iter().collect()
    }

    async fn observe_one<'o>(
        &self,
        object: &'o Object,
        discovery: Arc<Discovery>,
        options: ApplyOptions,
    ) -> Result<ObservedObject<'o>, client::Error> {
        let resource = discovery.find(&object.object_ref.kind).cloned();
        let object_ref = self.resolve_namespace(&object.object_ref, resource.as_ref());
        let live = match &resource {
            Some(resource) if !options.expect_absent => self.get_live(resource, &object_ref).await?,
            _ => None,
        };
        Ok(ObservedObject { object, object_ref, resource, live })
    }
}
