//! The CRDs of `crds/`: made where they are missing, and upgraded where nobody can be hurt by it.

use podium_client::client::{self, ApplyOptions};
use podium_meta::Resource;
use serde_json::Value;

use crate::object::Object;
use crate::place::Place;
use crate::plan::{Action, MANAGER, Step};
use podium_meta::fields::changes;

/// Whether a release wrote some of an object.
fn is_of_a_release(live: &Value) -> bool {
    let entries = live.pointer("/metadata/managedFields").and_then(Value::as_array);
    entries.into_iter().flatten().any(|entry| entry.get("manager").and_then(Value::as_str) == Some(MANAGER))
}

/// What becomes of a CRD, and where it is; nothing when it is right as it is, or the cluster has no CRDs.
pub(crate) async fn plan(place: &Place<'_>, crd: &Object) -> Result<Option<(Step, Resource)>, client::Error> {
    let discovery = place.kinds.get().await?;
    let Some(resource) = discovery.find(&crd.named.kind) else { return Ok(None) };
    let named = place.placed(&crd.named, Some(resource));
    let step = match place.live(resource, &named).await? {
        None => Step::new(named, Action::Create).because("from crds/"),
        Some(live) => {
            let how = ApplyOptions { field_manager: MANAGER, force: true, dry_run: true };
            let changes = match place.client.apply(resource, None, &named.name, &crd.body, how).await {
                Ok(after) => changes(&live, &after),
                Err(client::Error::Api(status)) => {
                    let why = format!("from crds/: the server refuses it: {status}");
                    return Ok(Some((Step::new(named, Action::Blocked).because(why), resource.clone())));
                }
                Err(error) => return Err(error),
            };
            // Who else applies it may have put other fields there, which are not for us to judge.
            if changes.iter().all(|change| change.path.starts_with("metadata")) {
                return Ok(None);
            }
            if !is_of_a_release(&live) {
                let why = "from crds/: it is left as it is, since no release installed it";
                return Ok(Some((Step::new(named, Action::Leave).because(why), resource.clone())));
            }
            match podium_schema::upgrade(&live, &crd.body) {
                Ok(()) => Step::new(named, Action::Change(changes)).because("from crds/"),
                Err(problems) => {
                    let mut step = Step::new(named, Action::Blocked).because(
                        "from crds/: resources that are there could break (--skip-crds leaves it as it is)",
                    );
                    step.notes.extend(problems.iter().map(ToString::to_string));
                    step
                }
            }
        }
    };
    Ok(Some((step, resource.clone())))
}

impl Place<'_> {
    /// Plans all CRDs; the steps that are blocked stand in the way of everything.
    pub async fn plan_crds(&self, crds: &[Object]) -> Result<Vec<Step>, client::Error> {
        let mut steps = Vec::new();
        for crd in crds {
            steps.extend(plan(self, crd).await?.map(|(step, _)| step));
        }
        Ok(steps)
    }

    /// Writes the CRDs that are to be made or changed.
    pub async fn apply_crds(&self, crds: &[Object], steps: &[Step]) -> Result<(), client::Error> {
        let discovery = self.kinds.get().await?;
        for step in steps.iter().filter(|step| matches!(step.action, Action::Create | Action::Change(_))) {
            let crd = crds.iter().find(|crd| self.same(&crd.named, &step.object));
            let Some((crd, resource)) = crd.zip(discovery.find(&step.object.kind)) else { continue };
            let how = ApplyOptions { field_manager: MANAGER, force: true, dry_run: false };
            self.client.apply(resource, None, &step.object.name, &crd.body, how).await?;
        }
        Ok(())
    }
}
