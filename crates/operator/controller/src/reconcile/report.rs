//! Report: writes the status, if it changes, and Events and log lines.

use http::Method;
use jiff::Timestamp;
use podium_client::{ObjectKey, client};
use podium_controller::events::{EventType, ObjectReference};
use podium_deploy::plan::{Action, Step};
use podium_release::engine::Outcome;
use serde_json::{Map, Value, json};

use super::error::ReconcileError;
use super::{Context, check_readiness};
use crate::chart_controller::ChartController;
use crate::custom_resource::CustomResource;
use crate::names::FIELD_MANAGER;
use crate::peers::Role;
use crate::resource_state::LastApplied;
use crate::status::{Condition, Report};

/// The condition of resources that no operator or more than one selects.
const ANSWERED: &str = "Answered";
/// The condition of resources whose objects cannot be watched.
const WATCHED: &str = "Watched";

impl Context {
    /// Records an Event about a resource.
    pub(super) fn record_event(&self, cr: &CustomResource, kind: EventType, reason: &str, message: &str) {
        let mut about = ObjectReference::from_object(&cr.0);
        // Events about cluster-scoped resources are in the namespace default.
        about.namespace = about.namespace.or_else(|| Some("default".to_owned()));
        self.recorder.record(&about, kind, reason, message);
    }

    /// Reports that no operator selects a resource.
    pub async fn report_unclaimed(&self, controller: &ChartController, object: &Value, why: &str) {
        let cr = CustomResource(object.clone());
        let report =
            Report { set: vec![Condition::new(ANSWERED, false, "NoOperator", why)], ..Report::default() };
        let log = self.log.with("controller", &controller.name).with("resource", cr.key());
        match self.patch_status(controller, &cr.key(), &cr.status(), &report).await {
            Ok(Some(after)) => {
                log.info(why, &[]);
                self.record_event(&after, EventType::Warning, "NoOperator", why);
            }
            Ok(None) => {}
            Err(error) => log.error("the status cannot be written", &[("error", &error)]),
        }
    }

    /// Reports the values that `watches.yaml` overrides.
    pub(super) fn report_overrides(&self, controller: &ChartController, cr: &CustomResource) {
        for (key, value) in &controller.watch.override_values {
            let value = if self.hide_overrides { "****" } else { value };
            let message = format!("Chart value {key:?} overridden to {value:?} by operator's watches.yaml");
            self.record_event(cr, EventType::Warning, "OverrideValuesInUse", &message);
        }
    }

    /// Reports a new revision.
    pub(super) fn report_deployed(
        &self,
        controller: &ChartController,
        cr: &CustomResource,
        outcome: &Outcome,
        install: bool,
    ) {
        let (reason, verb) = if install { ("Installed", "installed") } else { ("Upgraded", "upgraded") };
        let release = &outcome.release;
        let message = format!("the release {} is {verb} as revision {}", release.name, release.revision);
        let namespace = controller.release_namespace(&cr.key()).to_owned();
        self.log.info(&message, &[("controller", &controller.name), ("namespace", &namespace)]);
        self.record_event(cr, EventType::Normal, reason, &message);
    }

    /// Reports the objects that were applied again.
    pub(super) fn report_repairs(&self, controller: &ChartController, cr: &CustomResource, steps: &[Step]) {
        for step in steps.iter().filter(|step| !matches!(step.action, Action::Keep)) {
            let message = format!("{} was changed or deleted, and is put right", step.object);
            self.log.info(&message, &[("controller", &controller.name), ("resource", &cr.key())]);
            self.record_event(cr, EventType::Normal, "Repaired", &message);
        }
    }

    /// Reports the state of a deployed release.
    pub(super) async fn report(
        &self,
        controller: &ChartController,
        key: &ObjectKey,
    ) -> Result<(), client::Error> {
        let Some(state) = controller.state(key) else { return Ok(()) };
        let Some(last_applied) = state.last_applied else { return Ok(()) };
        let mut report = deployed_report(key, &last_applied);
        match self.peers.role(&controller.watch.kind, key, &state.labels) {
            Role::Contested(others) => {
                let message = format!(
                    "this operator is the oldest and reconciles the resource; these operators select it too: {}",
                    others.join(", ")
                );
                report.set.push(Condition::new(ANSWERED, true, "SeveralOperators", message));
            }
            _ => report.clear.push(ANSWERED),
        }
        let kinds = last_applied.objects.iter().map(|applied| &applied.object.kind);
        match self.informers.missing.unwatched(kinds) {
            Some(why) => {
                let message = format!("changes by other clients are not detected: {why}");
                report.set.push(Condition::new(WATCHED, false, "CannotWatch", message));
            }
            None => report.clear.push(WATCHED),
        }
        self.write(controller, key, &report, None).await
    }

    /// Reports a failed reconcile and the time of the next try.
    pub(super) async fn report_failure(
        &self,
        controller: &ChartController,
        key: &ObjectKey,
        failure: &ReconcileError,
    ) {
        let log = self.log.with("controller", &controller.name).with("resource", key);
        if failure.transient {
            return log.info(&failure.message, &[]);
        }
        log.error(&failure.message, &[("reason", &failure.reason)]);
        let wait = controller.queue.next_backoff(key);
        let next = Timestamp::now() + jiff::SignedDuration::try_from(wait).unwrap_or_default();
        let message = format!("{} (next try at {})", failure.message, next.strftime("%Y-%m-%dT%H:%M:%SZ"));
        let mut report = Report::default();
        report.set.push(Condition::new("Initialized", true, "", ""));
        report.set.push(Condition::new(failure.condition, true, failure.reason, message));
        let before = controller.state(key).map(|state| state.status).unwrap_or_default();
        report.set.extend(not_deployed(&before, failure));
        let other = if failure.condition == "Irreconcilable" { "ReleaseFailed" } else { "Irreconcilable" };
        report.clear.push(other);
        if let Err(error) = self.write(controller, key, &report, Some(failure)).await {
            log.error("the status cannot be written", &[("error", &error)]);
        }
    }

    /// Writes the status if it changes, and then records an Event for a failure.
    async fn write(
        &self,
        controller: &ChartController,
        key: &ObjectKey,
        report: &Report,
        failure: Option<&ReconcileError>,
    ) -> Result<(), client::Error> {
        let Some(state) = controller.state(key) else { return Ok(()) };
        let Some(after) = self.patch_status(controller, key, &state.status, report).await? else {
            return Ok(());
        };
        controller.update_state(key, |state| state.status = after.status());
        if let Some(failure) = failure {
            self.record_event(&after, EventType::Warning, failure.reason, &failure.message);
        }
        Ok(())
    }

    /// Patches the status; returns the resource afterwards, or `None` when the status stays the same or the resource is
    /// gone.
    async fn patch_status(
        &self,
        controller: &ChartController,
        key: &ObjectKey,
        before: &Value,
        report: &Report,
    ) -> Result<Option<CustomResource>, client::Error> {
        let Some(status) = report.apply(before, Timestamp::now()) else { return Ok(None) };
        let path = controller.resource.object(key.namespace(), key.name());
        let patch = json!({"status": difference(before, &status)}).to_string().into_bytes();
        let send = async |path: String| {
            let body = Some(("application/merge-patch+json", patch.clone()));
            self.client.request(Method::PATCH, &path, body).await
        };
        let answer = match send(format!("{path}/status?fieldManager={FIELD_MANAGER}")).await {
            // Without the subresource, the status is a field of the resource.
            Err(client::Error::Api(status)) if status.is_not_found() => {
                send(format!("{path}?fieldManager={FIELD_MANAGER}")).await
            }
            answer => answer,
        };
        match answer {
            Err(client::Error::Api(status)) if status.is_not_found() => Ok(None),
            answer => answer.map(|object| Some(CustomResource(object))),
        }
    }
}

/// The merge patch of a status: its changed fields, and null for those that are gone.
fn difference(before: &Value, after: &Value) -> Value {
    let none = Map::new();
    let (before, after) = (before.as_object().unwrap_or(&none), after.as_object().unwrap_or(&none));
    let mut out = Map::new();
    for (key, value) in after {
        if before.get(key) != Some(value) {
            out.insert(key.clone(), value.clone());
        }
    }
    for key in before.keys().filter(|key| !after.contains_key(*key)) {
        out.insert(key.clone(), Value::Null);
    }
    Value::Object(out)
}

/// The conditions `Deployed` and `Ready` of a resource that fails before its first release is deployed. Once it is
/// deployed, they describe the deployed revision and stay while a change fails.
fn not_deployed(before: &Value, failure: &ReconcileError) -> Vec<Condition> {
    let conditions = before.get("conditions").and_then(Value::as_array);
    let is =
        |condition: &&Value, key: &str, text: &str| condition.get(key).and_then(Value::as_str) == Some(text);
    let mut conditions = conditions.into_iter().flatten();
    if conditions.any(|condition| is(&condition, "type", "Deployed") && is(&condition, "status", "True")) {
        return Vec::new();
    }
    let message = format!("nothing was deployed: see the condition {}", failure.condition);
    vec![
        Condition::new("Deployed", false, failure.reason, message.clone()),
        Condition::new("Ready", false, "NotDeployed", message),
    ]
}

/// The status of a deployed release.
fn deployed_report(key: &ObjectKey, last_applied: &LastApplied) -> Report {
    let mut report = Report { clear: vec!["ReleaseFailed", "Irreconcilable"], ..Report::default() };
    report.set.push(Condition::new("Initialized", true, "", ""));
    let (reason, message) = &last_applied.deployed;
    report.set.push(Condition::new("Deployed", true, reason, message));
    if let Some((lines, failed)) = check_readiness::not_ready(last_applied) {
        report.set.push(match (lines.is_empty(), failed) {
            (true, _) => Condition::new("Ready", true, "Ready", ""),
            (false, false) => Condition::new("Ready", false, "NotReady", lines.join("\n")),
            (false, true) => Condition::new("Ready", false, "Failed", lines.join("\n")),
        });
    }
    let left_to_others: Vec<String> = last_applied
        .objects
        .iter()
        .flat_map(|applied| applied.left_to_others.iter().map(|field| format!("{}: {field}", applied.object)))
        .collect();
    let list = |items: &[String]| if items.is_empty() { Value::Null } else { json!(items) };
    report
        .fields
        .insert("deployedRelease".to_owned(), json!({"name": key.name(), "revision": last_applied.revision}));
    report.fields.insert("observedGeneration".to_owned(), last_applied.generation.into());
    report.fields.insert("warnings".to_owned(), list(&last_applied.warnings));
    report.fields.insert("leftToOthers".to_owned(), list(&left_to_others));
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_changes_deployed_only_before_the_first_release() {
        let failure = ReconcileError::new("ReleaseFailed", "InstallError", "no");
        let after = |before: Value| {
            let report = Report { set: not_deployed(&before, &failure), ..Report::default() };
            report.apply(&before, Timestamp::UNIX_EPOCH)
        };
        let status = |status: &Value, kind: &str| {
            let all = status["conditions"].as_array().unwrap();
            let found = all.iter().find(|one| one["type"] == kind).unwrap();
            format!("{} {}", found["status"].as_str().unwrap(), found["reason"].as_str().unwrap())
        };
        for before in [json!({}), json!({"conditions": [{"type": "Deployed", "status": "False"}]})] {
            let after = after(before).unwrap();
            assert_eq!(status(&after, "Deployed"), "False InstallError");
            assert_eq!(status(&after, "Ready"), "False NotDeployed");
        }
        let deployed = json!({"conditions": [{"type": "Deployed", "status": "True"}, {"type": "Ready", "status": "True"}]});
        assert_eq!(after(deployed), None);
    }
}
