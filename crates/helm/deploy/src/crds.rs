//! The CRDs of `crds/`: created when missing, upgraded when that is safe for existing resources.

use podium_client::client::{self, ApplyOptions};
use podium_meta::Resource;
use serde_json::Value;

use crate::deployer::Deployer;
use crate::object::Object;
use crate::plan::{Action, FIELD_MANAGER, Step};
use podium_meta::fields::changes;

/// Whether a release is one of the object's field managers.
fn is_installed_by_release(live: &Value) -> bool {
    let entries = live.pointer("/metadata/managedFields").and_then(Value::as_array);
    entries
        .into_iter()
        .flatten()
        .any(|entry| entry.get("manager").and_then(Value::as_str) == Some(FIELD_MANAGER))
}

/// Plans one CRD; `None` when it is up to date, or the cluster does not serve CRDs.
pub(crate) async fn plan_crd(
    deployer: &Deployer<'_>,
    crd: &Object,
) -> Result<Option<(Step, Resource)>, client::Error> {
    let discovery = deployer.kinds.get().await?;
    let Some(resource) = discovery.find(&crd.object_ref.kind) else { return Ok(None) };
    let object_ref = deployer.resolve_namespace(&crd.object_ref, Some(resource));
    let step = match deployer.get_live(resource, &object_ref).await? {
        None => Step::new(object_ref, Action::Create).with_note("from crds/"),
        Some(live) => {
            let how = ApplyOptions { field_manager: FIELD_MANAGER, force: true, dry_run: true };
            let changes = match deployer.client.apply(resource, None, &object_ref.name, &crd.body, how).await
            {
                Ok(after) => changes(&live, &after),
                Err(client::Error::Api(status)) => {
                    let why = format!("from crds/: the API server rejects it: {status}");
                    return Ok(Some((
                        Step::new(object_ref, Action::Blocked).with_note(why),
                        resource.clone(),
                    )));
                }
                Err(error) => return Err(error),
            };
            // Metadata set by other field managers is not drift.
            if changes.iter().all(|change| change.path.starts_with("metadata")) {
                return Ok(None);
            }
            if !is_installed_by_release(&live) {
                let why = "from crds/: left unchanged, since no release installed it";
                return Ok(Some((Step::new(object_ref, Action::Leave).with_note(why), resource.clone())));
            }
            match podium_schema::upgrade(&live, &crd.body) {
                Ok(()) => Step::new(object_ref, Action::Change(changes)).with_note("from crds/"),
                Err(problems) => {
                    let mut step = Step::new(object_ref, Action::Blocked).with_note(
                        "from crds/: existing resources could break (--skip-crds leaves the CRD unchanged)",
                    );
                    step.notes.extend(problems.iter().map(ToString::to_string));
                    step
                }
            }
        }
    };
    Ok(Some((step, resource.clone())))
}

impl Deployer<'_> {
    /// Plans all CRDs; a blocked step blocks the whole operation.
    pub async fn plan_crds(&self, crds: &[Object]) -> Result<Vec<Step>, client::Error> {
        let mut steps = Vec::new();
        for crd in crds {
            steps.extend(plan_crd(self, crd).await?.map(|(step, _)| step));
        }
        Ok(steps)
    }

    /// Applies the CRDs that the plan creates or changes.
    pub async fn apply_crds(&self, crds: &[Object], steps: &[Step]) -> Result<(), client::Error> {
        let discovery = self.kinds.get().await?;
        for step in steps.iter().filter(|step| matches!(step.action, Action::Create | Action::Change(_))) {
            let crd = crds.iter().find(|crd| self.same_object(&crd.object_ref, &step.object));
            let Some((crd, resource)) = crd.zip(discovery.find(&step.object.kind)) else { continue };
            let how = ApplyOptions { field_manager: FIELD_MANAGER, force: true, dry_run: false };
            self.client.apply(resource, None, &step.object.name, &crd.body, how).await?;
        }
        Ok(())
    }
}
