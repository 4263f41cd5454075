//! Whose a release is: a name is one resource's, even if resources of several kinds have it.

use podium_client::{Discovery, ObjectKey, client};
use podium_meta::{Kind, Resource};
use podium_release::engine::ReleaseHistory;
use sha2::{Digest, Sha256};

use super::{Context, Trouble};
use crate::chart::hex;
use crate::controller::Controller;
use crate::names::OWNER;

/// The longest value of a label.
const LONGEST: usize = 63;

/// The kind of a resource as records name it: all of its versions are the same.
pub(super) fn owner(kind: &Kind) -> String {
    match format!("{}.{}", kind.kind, kind.group) {
        name if name.len() <= LONGEST => name,
        name => hex(&Sha256::digest(name)),
    }
}

/// Where resources of a kind are that a record names.
fn find<'d>(discovery: &'d Discovery, owner: &str) -> Option<&'d Resource> {
    let (name, group) = owner.split_once('.')?;
    let kinds = discovery.api_versions().filter_map(|known| {
        let (api_version, kind) = known.rsplit_once('/')?;
        let kind = Kind::new(api_version, kind);
        (kind.kind == name && kind.group == group).then_some(kind)
    });
    kinds.into_iter().find_map(|kind| discovery.find(&kind))
}

impl Context {
    /// The kind of another resource that has the release of a resource, if there is one.
    pub(super) async fn rival(
        &self,
        controller: &Controller,
        key: &ObjectKey,
        past: &ReleaseHistory,
    ) -> Result<Option<String>, client::Error> {
        let last = past.last().filter(|_| !past.is_uninstalled());
        let other = last.and_then(|last| last.labels.get(OWNER));
        let Some(other) = other.filter(|other| **other != owner(&controller.watch.kind)) else {
            return Ok(None);
        };
        let discovery = self.kinds.get().await?;
        let Some(resource) = find(&discovery, other) else {
            // A name that is too long cannot be read; a kind that is gone has no resources.
            return Ok(Some(other.clone()).filter(|other| !other.contains('.')));
        };
        let place = resource.namespaced.then(|| controller.place(key));
        match self.client.get_confirmed(resource, place, key.name()).await {
            Ok(None) => Ok(None),
            // Who may not look cannot know that it is gone.
            Ok(Some(_)) | Err(client::Error::Api(_)) => Ok(Some(other.clone())),
            Err(error) => Err(error),
        }
    }

    /// Objects when the release of a resource is another one's.
    pub(super) async fn claim(
        &self,
        controller: &Controller,
        key: &ObjectKey,
        past: &ReleaseHistory,
    ) -> Result<(), Trouble> {
        let Some(other) = self.rival(controller, key, past).await? else { return Ok(()) };
        let message = format!(
            "the release {:?} of the namespace {:?} belongs to another resource with this name: {other} {}; a release has the \
             name of its resource, so give one of the two another name",
            key.name(),
            controller.place(key),
            key.name(),
        );
        Err(Trouble::irreconcilable("ReconcileError", message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_versions_of_a_kind_are_one_owner_and_a_long_name_fits_into_a_label() {
        let kind = |group: &str, version: &str| Kind::new(&format!("{group}/{version}"), "Stack");
        assert_eq!(owner(&kind("a.dev", "v1")), "Stack.a.dev");
        assert_eq!(owner(&kind("a.dev", "v1")), owner(&kind("a.dev", "v2")));
        let long = owner(&kind(&format!("{}.dev", "x".repeat(60)), "v1"));
        assert!(long.len() <= LONGEST && !long.contains('.'), "{long}");
    }
}
