//! Ownership: the finalizer of a resource, and the owner of a release. A release belongs to one resource, even if
//! resources of several kinds have its name.

use http::Method;
use podium_client::{Discovery, ObjectKey, client};
use podium_meta::{GroupVersionKind, Resource};
use podium_release::engine::ReleaseHistory;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::Context;
use super::error::ReconcileError;
use super::observe::Observed;
use crate::chart::hex;
use crate::chart_controller::ChartController;
use crate::custom_resource::CustomResource;
use crate::names::{FIELD_MANAGER, FINALIZER, OWNER_LABEL};

/// The longest value of a label.
const MAX_LABEL: usize = 63;

/// The value of [`OWNER_LABEL`] for a kind, the same for all of its versions.
pub(super) fn owner_label(kind: &GroupVersionKind) -> String {
    match format!("{}.{}", kind.kind, kind.group) {
        name if name.len() <= MAX_LABEL => name,
        name => hex(&Sha256::digest(name)),
    }
}

/// The API resource of the kind that an owner label names.
fn owner_resource<'d>(discovery: &'d Discovery, owner: &str) -> Option<&'d Resource> {
    let (name, group) = owner.split_once('.')?;
    let kinds = discovery.api_versions().filter_map(|known| {
        let (api_version, kind) = known.rsplit_once('/')?;
        let kind = GroupVersionKind::new(api_version, kind);
        (kind.kind == name && kind.group == group).then_some(kind)
    });
    kinds.into_iter().find_map(|kind| discovery.find(&kind))
}

impl Context {
    /// Adds the finalizer to a resource, so that the API server keeps it until its release is uninstalled.
    pub(super) async fn ensure_finalizer(
        &self,
        controller: &ChartController,
        observed: Observed,
    ) -> Result<Observed, ReconcileError> {
        let Observed { cr, input_generation } = observed;
        if cr.has_finalizer() {
            return Ok(Observed { cr, input_generation });
        }
        let mut finalizers: Vec<&str> = cr.finalizers();
        finalizers.push(FINALIZER);
        let patch = json!({"metadata": {"finalizers": finalizers, "resourceVersion": cr.resource_version()}});
        let namespace = Some(cr.namespace()).filter(|namespace| !namespace.is_empty());
        let path =
            format!("{}?fieldManager={FIELD_MANAGER}", controller.resource.object(namespace, cr.name()));
        let body = Some(("application/merge-patch+json", patch.to_string().into_bytes()));
        let cr = CustomResource(self.client.request(Method::PATCH, &path, body).await?);
        // The event of this patch needs no reconcile.
        controller.update_state(&cr.key(), |state| {
            state.spec_hash = cr.spec_hash();
            state.reconciling_hash = state.spec_hash;
        });
        Ok(Observed { cr, input_generation })
    }

    /// The owner label of another existing resource that the release of this resource belongs to.
    pub(super) async fn other_owner(
        &self,
        controller: &ChartController,
        key: &ObjectKey,
        past: &ReleaseHistory,
    ) -> Result<Option<String>, client::Error> {
        let last = past.last().filter(|_| !past.is_uninstalled());
        let other = last.and_then(|last| last.labels.get(OWNER_LABEL));
        let Some(other) = other.filter(|other| **other != owner_label(&controller.watch.kind)) else {
            return Ok(None);
        };
        let discovery = self.kinds.get().await?;
        let Some(resource) = owner_resource(&discovery, other) else {
            // A hashed label hides the kind, so its resource may exist; a kind that is gone has no resources.
            return Ok(Some(other.clone()).filter(|other| !other.contains('.')));
        };
        let namespace = resource.namespaced.then(|| controller.release_namespace(key));
        match self.client.get_confirmed(resource, namespace, key.name()).await {
            Ok(None) => Ok(None),
            // Without the permission to read it, the other resource counts as existing.
            Ok(Some(_)) | Err(client::Error::Api(_)) => Ok(Some(other.clone())),
            Err(error) => Err(error),
        }
    }

    /// Fails when the release belongs to another resource.
    pub(super) async fn check_ownership(
        &self,
        controller: &ChartController,
        key: &ObjectKey,
        past: &ReleaseHistory,
    ) -> Result<(), ReconcileError> {
        let Some(other) = self.other_owner(controller, key, past).await? else { return Ok(()) };
        let message = format!(
            "the release {:?} of the namespace {:?} belongs to another resource with this name: {other} {}; a release has the \
             name of its resource, so give one of the two another name",
            key.name(),
            controller.release_namespace(key),
            key.name(),
        );
        Err(ReconcileError::irreconcilable("ReconcileError", message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owner_labels_ignore_the_version_and_fit_into_a_label() {
        let kind = |group: &str, version: &str| GroupVersionKind::new(&format!("{group}/{version}"), "Stack");
        assert_eq!(owner_label(&kind("a.dev", "v1")), "Stack.a.dev");
        assert_eq!(owner_label(&kind("a.dev", "v1")), owner_label(&kind("a.dev", "v2")));
        let long = owner_label(&kind(&format!("{}.dev", "x".repeat(60)), "v1"));
        assert!(long.len() <= MAX_LABEL && !long.contains('.'), "{long}");
    }
}
