//! Where the objects of a release are: the cluster, and whose they are there.

use std::sync::Arc;

use futures_util::stream::{StreamExt, iter};
use podium_client::client;
use podium_client::{Client, Discovery, DiscoveryCache};
use podium_meta::Resource;
use serde_json::Value;

use crate::named::Named;
use crate::object::Object;
use crate::owner::Owner;
use crate::plan::Rules;

/// How many requests are under way at the same time.
pub(crate) const AT_ONCE: usize = 8;

/// A cluster with the owner that works on it.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// The cluster.
    pub client: &'a Client,
    /// Its kinds.
    pub kinds: &'a DiscoveryCache,
    /// Whose objects are meant.
    pub owner: &'a Owner,
    /// The uid of what the release is made for, if it is made for something.
    pub holder: Option<&'a str>,
}

/// An object of a manifest beside the one of the cluster.
#[derive(Clone, Debug)]
pub struct Seen<'o> {
    /// What is wanted.
    pub object: &'o Object,
    /// Its name, with the namespace that it has in the cluster.
    pub named: Named,
    /// Where it is; nothing when the cluster does not know its kind.
    pub resource: Option<Resource>,
    /// What is there; nothing also when it was not looked at.
    pub live: Option<Value>,
}

impl Place<'_> {
    /// The namespace of an object, if it has one.
    pub(crate) fn namespace<'o>(&'o self, object: &'o Named) -> &'o str {
        object.namespace.as_deref().unwrap_or(&self.owner.namespace)
    }

    /// Whether two names mean the same object; its version does not matter.
    pub fn same(&self, a: &Named, b: &Named) -> bool {
        (&a.kind.group, &a.kind.kind, &a.name) == (&b.kind.group, &b.kind.kind, &b.name)
            && self.namespace(a) == self.namespace(b)
    }

    /// The object with the namespace that it has in the cluster.
    pub fn placed(&self, object: &Named, resource: Option<&Resource>) -> Named {
        let namespaced = resource.is_some_and(|resource| resource.namespaced);
        let namespace = namespaced.then(|| self.namespace(object).to_owned());
        Named { namespace, ..object.clone() }
    }

    /// The object of the cluster; nothing when there is none, or its name is left to the server.
    pub(crate) async fn live(
        &self,
        resource: &Resource,
        named: &Named,
    ) -> Result<Option<Value>, client::Error> {
        if named.name.is_empty() {
            return Ok(None);
        }
        self.client.get(resource, named.namespace.as_deref(), &named.name).await
    }

    /// The same; what is not there is not there for sure.
    pub(crate) async fn get_from_storage(
        &self,
        resource: &Resource,
        named: &Named,
    ) -> Result<Option<Value>, client::Error> {
        match self.live(resource, named).await? {
            None if !named.name.is_empty() => {
                self.client.get_from_storage(resource, named.namespace.as_deref(), &named.name).await
            }
            found => Ok(found),
        }
    }

    /// What the cluster has of the objects, in their order.
    pub(crate) async fn observe<'o>(
        &self,
        objects: &'o [Object],
        rules: Rules,
    ) -> Result<Vec<Seen<'o>>, client::Error> {
        let discovery = self.kinds.get().await?;
        let looks = objects.iter().map(|object| self.look(object, discovery.clone(), rules));
        let answers: Vec<_> = iter(looks).buffered(AT_ONCE).collect().await;
        answers.into_iter().collect()
    }

    async fn look<'o>(
        &self,
        object: &'o Object,
        discovery: Arc<Discovery>,
        rules: Rules,
    ) -> Result<Seen<'o>, client::Error> {
        let resource = discovery.find(&object.named.kind).cloned();
        let named = self.placed(&object.named, resource.as_ref());
        let live = match &resource {
            Some(resource) if !rules.fresh => self.live(resource, &named).await?,
            _ => None,
        };
        Ok(Seen { object, named, resource, live })
    }
}
