//! Writes what became of a resource into its status, if that says something new.

use http::Method;
use jiff::Timestamp;
use podium_client::{ObjectKey, client};
use podium_controller::events::EventType;
use serde_json::{Map, Value, json};

use super::{Context, Trouble, look};
use crate::card::Done;
use crate::controller::Controller;
use crate::custom::Custom;
use crate::names::MANAGER;
use crate::roster::Role;
use crate::status::{Condition, Report};

/// The condition that says who answers for a resource, where that is a question.
pub const ANSWERED: &str = "Answered";

/// The condition that says that objects of a resource cannot be watched.
pub const WATCHED: &str = "Watched";

impl Context {
    /// Says of a resource that nobody answers for it.
    pub async fn report_orphan(&self, controller: &Controller, object: &Value, why: &str) {
        let custom = Custom(object.clone());
        let report =
            Report { set: vec![Condition::new(ANSWERED, false, "NoOperator", why)], ..Report::default() };
        let log = self.log.with("controller", &controller.name).with("resource", custom.key());
        match self.write_status(controller, &custom.key(), &custom.status(), &report).await {
            Ok(Some(after)) => {
                log.info(why, &[]);
                self.say(&after, EventType::Warning, "NoOperator", why);
            }
            Ok(None) => {}
            Err(error) => log.error("the status cannot be written", &[("error", &error)]),
        }
    }

    /// Says how a release is that was brought about.
    pub(super) async fn report(&self, controller: &Controller, key: &ObjectKey) -> Result<(), client::Error> {
        let Some(card) = controller.card(key) else { return Ok(()) };
        let Some(done) = card.done else { return Ok(()) };
        let mut report = good(key, &done);
        match self.roster.role(&controller.watch.kind, key, &card.labels) {
            Role::Contested(others) => {
                let message =
                    format!("this operator is the oldest; these would answer too: {}", others.join(", "));
                report.set.push(Condition::new(ANSWERED, true, "SeveralOperators", message));
            }
            _ => report.clear.push(ANSWERED),
        }
        let kinds = self.hub.missing.unwatched(done.held.iter().map(|held| &held.named.kind));
        match kinds {
            Some(why) => {
                let message = format!("what others change or delete is not seen: {why}");
                report.set.push(Condition::new(WATCHED, false, "CannotWatch", message));
            }
            None => report.clear.push(WATCHED),
        }
        self.write(controller, key, &report, None).await
    }

    /// Says why a resource is not as it should be, and when it is tried again.
    pub(super) async fn fail(&self, controller: &Controller, key: &ObjectKey, trouble: &Trouble) {
        let log = self.log.with("controller", &controller.name).with("resource", key);
        if trouble.quiet {
            return log.info(&trouble.message, &[]);
        }
        log.error(&trouble.message, &[("reason", &trouble.reason)]);
        let wait = controller.queue.next_backoff(key);
        let next = Timestamp::now() + jiff::SignedDuration::try_from(wait).unwrap_or_default();
        let message = format!("{} (next try at {})", trouble.message, next.strftime("%Y-%m-%dT%H:%M:%SZ"));
        let mut report = Report::default();
        report.set.push(Condition::new("Initialized", true, "", ""));
        report.set.push(Condition::new(trouble.condition, true, trouble.reason, message));
        let before = controller.card(key).map(|card| card.status).unwrap_or_default();
        report.set.extend(not_deployed(&before, trouble));
        let other = if trouble.condition == "Irreconcilable" { "ReleaseFailed" } else { "Irreconcilable" };
        report.clear.push(other);
        if let Err(error) = self.write(controller, key, &report, Some(trouble)).await {
            log.error("the status cannot be written", &[("error", &error)]);
        }
    }

    async fn write(
        &self,
        controller: &Controller,
        key: &ObjectKey,
        report: &Report,
        trouble: Option<&Trouble>,
    ) -> Result<(), client::Error> {
        let Some(card) = controller.card(key) else { return Ok(()) };
        let Some(after) = self.write_status(controller, key, &card.status, report).await? else {
            return Ok(());
        };
        controller.change(key, |card| card.status = after.status());
        if let Some(trouble) = trouble {
            self.say(&after, EventType::Warning, trouble.reason, &trouble.message);
        }
        Ok(())
    }

    /// Writes a status; gives the resource afterwards, or nothing when there was nothing to say or nobody to say it of.
    async fn write_status(
        &self,
        controller: &Controller,
        key: &ObjectKey,
        before: &Value,
        report: &Report,
    ) -> Result<Option<Custom>, client::Error> {
        let Some(status) = report.apply(before, Timestamp::now()) else { return Ok(None) };
        let path = controller.resource.object(key.namespace(), key.name());
        let patch = json!({"status": difference(before, &status)}).to_string().into_bytes();
        let send = async |path: String| {
            let body = Some(("application/merge-patch+json", patch.clone()));
            self.client.request(Method::PATCH, &path, body).await
        };
        let answer = match send(format!("{path}/status?fieldManager={MANAGER}")).await {
            // A kind without the subresource has its status in the object itself.
            Err(client::Error::Api(status)) if status.is_not_found() => {
                send(format!("{path}?fieldManager={MANAGER}")).await
            }
            answer => answer,
        };
        match answer {
            // It is gone: there is nothing to say any more.
            Err(client::Error::Api(status)) if status.is_not_found() => Ok(None),
            answer => answer.map(|object| Some(Custom(object))),
        }
    }
}

/// The fields that changed; those that are gone are null.
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

/// What is said besides of a resource that fails before anything was ever deployed for it. What was deployed stays so
/// while a change of it fails, and is as ready as it is.
fn not_deployed(before: &Value, trouble: &Trouble) -> Vec<Condition> {
    let conditions = before.get("conditions").and_then(Value::as_array);
    let is =
        |condition: &&Value, key: &str, text: &str| condition.get(key).and_then(Value::as_str) == Some(text);
    let mut conditions = conditions.into_iter().flatten();
    if conditions.any(|condition| is(&condition, "type", "Deployed") && is(&condition, "status", "True")) {
        return Vec::new();
    }
    let message = format!("nothing was deployed: {} says why", trouble.condition);
    vec![
        Condition::new("Deployed", false, trouble.reason, message.clone()),
        Condition::new("Ready", false, "NotDeployed", message),
    ]
}

/// What is said of a release that is as it should be.
fn good(key: &ObjectKey, done: &Done) -> Report {
    let mut report = Report { clear: vec!["ReleaseFailed", "Irreconcilable"], ..Report::default() };
    report.set.push(Condition::new("Initialized", true, "", ""));
    let (reason, message) = &done.deployed;
    report.set.push(Condition::new("Deployed", true, reason, message));
    if let Some((lines, failed)) = look::not_ready(done) {
        report.set.push(match (lines.is_empty(), failed) {
            (true, _) => Condition::new("Ready", true, "Ready", ""),
            (false, false) => Condition::new("Ready", false, "NotReady", lines.join("\n")),
            (false, true) => Condition::new("Ready", false, "Failed", lines.join("\n")),
        });
    }
    let left: Vec<String> = done
        .held
        .iter()
        .flat_map(|held| held.left.iter().map(|what| format!("{}: {what}", held.named)))
        .collect();
    let list = |items: &[String]| if items.is_empty() { Value::Null } else { json!(items) };
    report
        .fields
        .insert("deployedRelease".to_owned(), json!({"name": key.name(), "revision": done.revision}));
    report.fields.insert("observedGeneration".to_owned(), done.generation.into());
    report.fields.insert("warnings".to_owned(), list(&done.warnings));
    report.fields.insert("leftToOthers".to_owned(), list(&left));
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_that_never_came_about_says_no_and_one_that_did_stays() {
        let trouble = Trouble::new("ReleaseFailed", "InstallError", "no");
        let after = |before: Value| {
            let report = Report { set: not_deployed(&before, &trouble), ..Report::default() };
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
