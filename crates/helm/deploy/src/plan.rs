//! Plans and applies the objects of a manifest: create, change, adopt, keep, delete, leave, or blocked.

use futures_util::stream::{StreamExt, iter};
use podium_client::client::{self, ApplyOptions};
use podium_controller::object_store::drift_signature;
use podium_meta::fields::{Change, changes};
use podium_meta::{GroupVersionKind, Resource, Status};
use serde_json::Value;

use crate::check::build_error;
use crate::deployer::{Deployer, MAX_CONCURRENT_REQUESTS, ObservedObject};
use crate::field_ownership;
use crate::managed_fields;
use crate::object::Object;
use crate::object_ref::ObjectRef;
use crate::wait::Readiness;

/// The field manager of a release; Helm uses the same name.
pub const FIELD_MANAGER: &str = "helm";
/// The annotation that keeps an object when its release no longer has it.
const RESOURCE_POLICY: &str = "/metadata/annotations/helm.sh~1resource-policy";

/// A resourceVersion that no object has: applying with it creates the object, or conflicts when it exists.
const CREATE_ONLY_VERSION: &str = "1";
/// How often a patch is retried after a conflict.
const MAX_CONFLICT_RETRIES: usize = 10;

/// What the plan does with an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Creates it.
    Create,
    /// Changes fields.
    Change(Vec<Change>),
    /// Takes ownership of an object that the release did not own; may change fields too.
    Adopt(Vec<Change>),
    /// Keeps it unchanged.
    Keep,
    /// Deletes it.
    Delete,
    /// Leaves it in the cluster although the release no longer has it.
    Leave,
    /// Cannot be applied.
    Blocked,
}

impl Action {
    /// The changed fields.
    pub fn changes(&self) -> &[Change] {
        match self {
            Action::Change(changes) | Action::Adopt(changes) => changes,
            _ => &[],
        }
    }
}

/// A step of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The object, with its namespace resolved.
    pub object: ObjectRef,
    /// What is done with it.
    pub action: Action,
    /// Reasons, and fields left to other managers.
    pub notes: Vec<String>,
    /// The [`managed_fields_hash`] after apply; 0 when nothing was applied.
    pub managed_fields_hash: u64,
    /// The resourceVersion after apply; 0 when nothing was applied.
    pub resource_version: u64,
    /// The readiness after apply, without its pods; `None` when nothing was applied.
    pub readiness: Option<Readiness>,
}

impl Step {
    pub(crate) fn new(object: ObjectRef, action: Action) -> Self {
        Self {
            object,
            action,
            notes: Vec::new(),
            managed_fields_hash: 0,
            resource_version: 0,
            readiness: None,
        }
    }

    pub(crate) fn with_note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }
}

/// How objects are applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeployOptions {
    /// Takes ownership of objects that the release does not own.
    pub adopt: bool,
    /// Server-side dry run.
    pub dry_run: bool,
    /// Expects no object to exist: creates them without reading them first.
    pub expect_absent: bool,
}

/// Hashes the set of fields that the release applies. The hash changes when another manager takes one of them, and not
/// when the status or fields of other managers change.
pub fn managed_fields_hash(object: &Value) -> u64 {
    drift_signature(object, FIELD_MANAGER)
}

/// Whether an object is the CRD of a kind.
pub(crate) fn defines_kind(object: &Value, kind: &GroupVersionKind) -> bool {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str);
    text("/kind") == Some("CustomResourceDefinition")
        && text("/spec/group") == Some(&kind.group)
        && text("/spec/names/kind") == Some(&kind.kind)
}

/// Whether one of the objects is the CRD of a kind.
pub(crate) fn is_kind_defined(objects: &[Object], kind: &GroupVersionKind) -> bool {
    objects.iter().any(|object| defines_kind(&object.body, kind))
}

/// Plans by server-side dry run: what applying objects changes, and which previous objects it prunes.
pub async fn preview(
    deployer: &Deployer<'_>,
    objects: &[Object],
    crds: &[Object],
    previous: &[ObjectRef],
    adopt: bool,
) -> Result<Vec<Step>, client::Error> {
    let discovery = deployer.kinds.get().await?;
    let options = DeployOptions { adopt, dry_run: true, expect_absent: false };
    let mut steps = Vec::new();
    for crd in crds {
        steps.extend(crate::crds::plan_crd(deployer, crd).await?.map(|(step, _)| step));
    }
    for observed in deployer.observe(objects, options).await? {
        let kind = &observed.object_ref.kind;
        steps.push(if let Some(step) = deployer.ownership_conflict(&observed, options) {
            step
        } else if observed.resource.is_some() {
            deployer.apply(&observed, options).await?
        } else if is_kind_defined(crds, kind) || is_kind_defined(objects, kind) {
            Step::new(observed.object_ref, Action::Create).with_note("its kind is defined by this release")
        } else {
            let why = build_error(&observed.object.object_ref, &discovery).unwrap_or_default();
            Step::new(observed.object_ref, Action::Blocked).with_note(why.replace('\n', ": "))
        });
    }
    steps.extend(deployer.prunable(previous, objects).await?.into_iter().map(|(step, _)| step));
    Ok(steps)
}

/// The step of an object that was applied.
fn applied_step(object_ref: &ObjectRef, action: Action, after: &Value, notes: Vec<String>) -> Step {
    let text = after.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default();
    let (managed_fields_hash, resource_version) = (managed_fields_hash(after), text.parse().unwrap_or(0));
    let readiness = Some(Readiness::from_object(after, &[]));
    Step { object: object_ref.clone(), action, notes, managed_fields_hash, resource_version, readiness }
}

/// A live object to prune.
pub(crate) struct PruneTarget {
    pub(crate) resource: Resource,
    pub(crate) uid: String,
}

impl Deployer<'_> {
    /// A blocked step when the live object is not owned by the release.
    pub(crate) fn ownership_conflict(
        &self,
        observed: &ObservedObject<'_>,
        options: DeployOptions,
    ) -> Option<Step> {
        let why = observed
            .live
            .as_ref()
            .and_then(|live| self.release.foreign_owner(live, self.owner_uid))
            .filter(|_| !options.adopt)?;
        Some(
            Step::new(observed.object_ref.clone(), Action::Blocked)
                .with_note(format!("it is not owned by this release: {why}")),
        )
    }

    /// Creates an object that was not found or not read. If it exists after all, it is read and its ownership checked
    /// before it is changed.
    async fn create(
        &self,
        resource: &Resource,
        observed: &ObservedObject<'_>,
        options: DeployOptions,
    ) -> Result<Step, client::Error> {
        let ObservedObject { object_ref, object, .. } = observed;
        let mut body = object.body.clone();
        if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("resourceVersion".to_owned(), CREATE_ONLY_VERSION.into());
        }
        let how = ApplyOptions { field_manager: FIELD_MANAGER, force: false, dry_run: false };
        let client = self.client.with_metadata_responses();
        let mut after =
            match client.apply(resource, object_ref.namespace.as_deref(), &object_ref.name, &body, how).await
            {
                Err(client::Error::Api(_)) => {
                    let live = self.get_live_consistent(resource, object_ref).await?;
                    let observed = ObservedObject { live, ..observed.clone() };
                    return match self.ownership_conflict(&observed, options) {
                        Some(step) => Ok(step),
                        None => self.apply_over_live(resource, &observed, options).await,
                    };
                }
                result => result?,
            };
        // Apart from its metadata, a new object is what was sent.
        body["metadata"] = after["metadata"].take();
        Ok(applied_step(object_ref, Action::Create, &body, Vec::new()))
    }

    /// Applies an object; a rejection by the API server becomes a blocked step.
    pub(crate) async fn apply(
        &self,
        observed: &ObservedObject<'_>,
        options: DeployOptions,
    ) -> Result<Step, client::Error> {
        match &observed.resource {
            None => Ok(Step::new(observed.object_ref.clone(), Action::Blocked)
                .with_note("the cluster does not serve its kind")),
            Some(resource)
                if observed.live.is_none() && !options.dry_run && !observed.object_ref.name.is_empty() =>
            {
                self.create(resource, observed, options).await
            }
            Some(resource) => self.apply_over_live(resource, observed, options).await,
        }
    }

    /// Applies an object over its live version.
    async fn apply_over_live(
        &self,
        resource: &Resource,
        observed: &ObservedObject<'_>,
        options: DeployOptions,
    ) -> Result<Step, client::Error> {
        let ObservedObject { object_ref, live, object, .. } = observed;
        let namespace = self.namespace(object_ref);
        match self.server_side_apply(resource, observed, options).await {
            Ok((after, notes)) => {
                let foreign = live
                    .as_ref()
                    .is_some_and(|live| self.release.foreign_owner(live, self.owner_uid).is_some());
                let action = match live {
                    None => Action::Create,
                    Some(live) => match changes(live, &after) {
                        all if foreign => Action::Adopt(all),
                        none if none.is_empty() => Action::Keep,
                        some => Action::Change(some),
                    },
                };
                Ok(applied_step(object_ref, action, &after, notes))
            }
            Err(client::Error::Api(status))
                if options.dry_run && live.is_none() && is_missing_namespace(&status, namespace) =>
            {
                Ok(Step::new(object_ref.clone(), Action::Create)
                    .with_note(format!("the namespace {namespace} does not exist yet")))
            }
            Err(client::Error::Api(status)) => {
                let body = if object.object_ref.name.is_empty() { "" } else { " it" };
                Ok(Step::new(object_ref.clone(), Action::Blocked).with_note(format!(
                    "the API server rejects{body}: {}",
                    shorten_message(&status.to_string())
                )))
            }
            Err(error) => Err(error),
        }
    }

    /// Applies an object; returns the result and notes on fields left to other managers.
    async fn server_side_apply(
        &self,
        resource: &Resource,
        observed: &ObservedObject<'_>,
        options: DeployOptions,
    ) -> Result<(Value, Vec<String>), client::Error> {
        let ObservedObject { object_ref, object, .. } = observed;
        let namespace = object_ref.namespace.as_deref();
        if object_ref.name.is_empty() {
            let note = "the API server generates its name on every apply".to_owned();
            let created = match options.dry_run {
                true => object.body.clone(),
                false => self.client.create(resource, namespace, &object.body, FIELD_MANAGER).await?,
            };
            return Ok((created, vec![note]));
        }
        let mut notes = Vec::new();
        let mut live = observed.live.clone();
        if let Some(patch) = live.as_ref().and_then(managed_fields::upgrade_patch) {
            if options.dry_run {
                let note = "fields written by client-side updates become owned by the release; those no longer in the \
                            manifest are removed";
                notes.push(note.to_owned());
            } else {
                live = self.patch_managed_fields(resource, object_ref, patch).await?;
            }
        }
        let how = ApplyOptions { field_manager: FIELD_MANAGER, force: false, dry_run: options.dry_run };
        let apply = async |body: &Value, how| {
            self.client.apply(resource, namespace, &object_ref.name, body, how).await
        };
        let conflict = match apply(&object.body, how).await {
            Err(client::Error::Api(status)) if status.code == 409 && !status.causes.is_empty() => status,
            other => return other.map(|after| (after, notes)),
        };
        let mut body = object.body.clone();
        for cause in &conflict.causes {
            let manager =
                live.as_ref().and_then(|live| field_ownership::respected_manager(live, &cause.message));
            if let Some(manager) = manager {
                field_ownership::remove_field(&mut body, &cause.field);
                notes.push(format!("{} is left to {manager}", cause.field));
            }
        }
        notes.sort();
        Ok((apply(&body, ApplyOptions { force: true, ..how }).await?, notes))
    }

    /// Upgrades the managedFields of existing objects, so that the next apply has no conflicts with client-side
    /// updates.
    pub async fn upgrade_managed_fields(&self, objects: &[ObjectRef]) -> Result<(), client::Error> {
        let discovery = self.kinds.get().await?;
        for object in objects {
            let Some(resource) = discovery.find(&object.kind) else { continue };
            let object_ref = self.resolve_namespace(object, Some(resource));
            let live = self.get_live(resource, &object_ref).await?;
            if let Some(patch) = live.as_ref().and_then(managed_fields::upgrade_patch) {
                self.patch_managed_fields(resource, &object_ref, patch).await?;
            }
        }
        Ok(())
    }

    /// Sends the managedFields patch; computes it again after a conflict.
    async fn patch_managed_fields(
        &self,
        resource: &Resource,
        object_ref: &ObjectRef,
        mut patch: Value,
    ) -> Result<Option<Value>, client::Error> {
        let namespace = object_ref.namespace.as_deref();
        for _ in 1..MAX_CONFLICT_RETRIES {
            match self.client.merge_patch(resource, namespace, &object_ref.name, &patch, FIELD_MANAGER).await
            {
                Err(client::Error::Api(status)) if status.code == 409 => {}
                Err(client::Error::Api(status)) if status.is_not_found() => return Ok(None),
                other => return other.map(Some),
            }
            let live = self.get_live(resource, object_ref).await?;
            match live.as_ref().and_then(managed_fields::upgrade_patch) {
                Some(next) => patch = next,
                None => return Ok(live),
            }
        }
        self.client.merge_patch(resource, namespace, &object_ref.name, &patch, FIELD_MANAGER).await.map(Some)
    }

    /// The previous objects that are no longer in the manifest, last first; those that no longer exist are skipped.
    pub(crate) async fn prunable(
        &self,
        previous: &[ObjectRef],
        objects: &[Object],
    ) -> Result<Vec<(Step, PruneTarget)>, client::Error> {
        let discovery = self.kinds.get().await?;
        let old = previous
            .iter()
            .rev()
            .filter(|old| !objects.iter().any(|new| self.same_object(&new.object_ref, old)));
        let reads = old.filter(|old| !old.name.is_empty()).filter_map(|old| {
            let resource = discovery.find(&old.kind)?;
            let object_ref = self.resolve_namespace(old, Some(resource));
            // An object wrongly taken for deleted would be orphaned.
            Some(async move {
                self.get_live_consistent(resource, &object_ref).await.map(|live| (object_ref, resource, live))
            })
        });
        let results: Vec<_> = iter(reads).buffered(MAX_CONCURRENT_REQUESTS).collect().await;
        let mut out = Vec::new();
        for result in results {
            let (object_ref, resource, Some(live)) = result? else { continue };
            let kept = live
                .pointer(RESOURCE_POLICY)
                .and_then(Value::as_str)
                .is_some_and(|policy| policy.trim() == "keep");
            let step = match self.release.foreign_owner(&live, self.owner_uid) {
                _ if kept => {
                    Step::new(object_ref, Action::Leave).with_note("helm.sh/resource-policy is keep")
                }
                Some(why) => Step::new(object_ref, Action::Leave)
                    .with_note(format!("it is not owned by this release: {why}")),
                None => Step::new(object_ref, Action::Delete),
            };
            let uid = live.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default().to_owned();
            out.push((step, PruneTarget { resource: resource.clone(), uid }));
        }
        Ok(out)
    }
}

/// The API server's message without objects printed in full, and with advice for immutable fields.
fn shorten_message(message: &str) -> String {
    const INVALID: &str = "Invalid value: {";
    const LONG: usize = 200;
    let mut said = message.to_owned();
    if let Some((before, rest)) = message.split_once(INVALID)
        && let Some((value, after)) = rest.rsplit_once("}: ")
        && value.len() > LONG
    {
        said = format!("{before}{INVALID}...}}: {after}");
    }
    let fixed = ["field is immutable", "Forbidden: updates to", "cannot change roleRef"];
    if fixed.iter().any(|words| said.contains(words)) {
        said += " (immutable fields cannot be changed: delete the object and run this again, or give it another name)";
    }
    said
}

fn is_missing_namespace(status: &Status, namespace: &str) -> bool {
    status.code == 404 && status.message == format!("namespaces {namespace:?} not found")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortens_embedded_objects() {
        let whole = format!(
            "Job \"x\" is invalid: spec.template: Invalid value: {{\"a\":{{{}}}}}: field is immutable",
            "1".repeat(500)
        );
        let said = shorten_message(&whole);
        assert!(
            said.starts_with(
                "Job \"x\" is invalid: spec.template: Invalid value: {...}: field is immutable (immutable"
            ),
            "{said}"
        );
        let short = "x is invalid: a: Invalid value: {}: no";
        assert_eq!(shorten_message(short), short);
    }
}
