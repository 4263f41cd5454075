//! The connection to a cluster on behalf of one release, and the objects observed there.

use std::sync::Arc;

use futures_util::stream::{StreamExt, iter};
use podium_client::client;
use podium_client::{Client, Discovery, DiscoveryCache};
use podium_meta::Resource;
use serde_json::Value;

use crate::object::Object;
use crate::object_ref::ObjectRef;
use crate::ownership::ReleaseRef;
use crate::plan::DeployOptions;

/// Maximum number of requests in flight.
pub(crate) const MAX_CONCURRENT_REQUESTS: usize = 8;

/// Deploys the objects of one release to a cluster.
#[derive(Clone, Copy)]
pub struct Deployer<'a> {
    /// The client of the cluster.
    pub client: &'a Client,
    /// Its discovery cache.
    pub kinds: &'a DiscoveryCache,
    /// The release that owns the objects.
    pub release: &'a ReleaseRef,
    /// The uid of the custom resource that owns the release, if there is one.
    pub owner_uid: Option<&'a str>,
}

/// An object of a manifest with its live counterpart.
#[derive(Clone, Debug)]
pub struct ObservedObject<'o> {
    /// The desired object.
    pub object: &'o Object,
    /// Its reference, with the namespace resolved.
    pub object_ref: ObjectRef,
    /// Its resource; `None` when the cluster does not serve the kind.
    pub resource: Option<Resource>,
    /// The live object; `None` when it does not exist or was not read.
    pub live: Option<Value>,
}

impl Deployer<'_> {
    /// The namespace of an object, which defaults to the release's.
    pub(crate) fn namespace<'o>(&'o self, object: &'o ObjectRef) -> &'o str {
        object.namespace.as_deref().unwrap_or(&self.release.namespace)
    }

    /// Whether two references mean the same object; the API version does not matter.
    pub fn same_object(&self, a: &ObjectRef, b: &ObjectRef) -> bool {
        (&a.kind.group, &a.kind.kind, &a.name) == (&b.kind.group, &b.kind.kind, &b.name)
            && self.namespace(a) == self.namespace(b)
    }

    /// Sets the namespace that an object has in the cluster: none when its resource is cluster-scoped.
    pub fn resolve_namespace(&self, object: &ObjectRef, resource: Option<&Resource>) -> ObjectRef {
        let namespaced = resource.is_some_and(|resource| resource.namespaced);
        let namespace = namespaced.then(|| self.namespace(object).to_owned());
        ObjectRef { namespace, ..object.clone() }
    }

    /// Reads the live object; `None` when it does not exist, or has a generateName only.
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

    /// Like [`get_live`](Self::get_live), but confirms by a consistent read that a missing object does not exist.
    pub(crate) async fn get_live_consistent(
        &self,
        resource: &Resource,
        object_ref: &ObjectRef,
    ) -> Result<Option<Value>, client::Error> {
        match self.get_live(resource, object_ref).await? {
            None if !object_ref.name.is_empty() => {
                self.client
                    .get_from_storage(resource, object_ref.namespace.as_deref(), &object_ref.name)
                    .await
            }
            found => Ok(found),
        }
    }

    /// Reads the live objects, in manifest order.
    pub(crate) async fn observe<'o>(
        &self,
        objects: &'o [Object],
        options: DeployOptions,
    ) -> Result<Vec<ObservedObject<'o>>, client::Error> {
        let discovery = self.kinds.get().await?;
        let reads = objects.iter().map(|object| self.observe_one(object, discovery.clone(), options));
        let results: Vec<_> = iter(reads).buffered(MAX_CONCURRENT_REQUESTS).collect().await;
        results.into_iter().collect()
    }

    async fn observe_one<'o>(
        &self,
        object: &'o Object,
        discovery: Arc<Discovery>,
        options: DeployOptions,
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
