//! Objects are removed, or marked when somebody else has to do something first.

use std::sync::Arc;

use bytes::Bytes;
use podium_meta::{FieldError, GroupVersionKind, time};
use podium_resources::typed::write::to_json;
use podium_store::{Error as StoreError, Expect, Key, Object};
use serde_json::{Map, Value, json};

use crate::address::Place;
use crate::answer::{Answer, Wanted, object as answer_object, success};
use crate::api::Api;
use crate::list::{self, ListOptions};
use crate::model::{self, Format};
use crate::query::{Query, dry_run, unsupported};
use crate::refusal::{Outcome, Refusal, of_store};
use crate::select::Selection;
use crate::served::Resource;
use crate::{clock, form, meta, rules};

const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";
/// How often a deletion is tried again when others are faster.
const TRIES: usize = 100;

/// Kinds whose removal is answered with the object.
const TOLD: &[(&str, &str)] = &[
    ("", "Pod"),
    ("", "Service"),
    ("", "ServiceAccount"),
    ("", "PersistentVolumeClaim"),
    ("", "PersistentVolume"),
    ("", "Namespace"),
    ("", "PodTemplate"),
    ("", "ResourceQuota"),
    ("storage.k8s.io", "CSIDriver"),
    ("storage.k8s.io", "CSINode"),
    ("storage.k8s.io", "StorageClass"),
    ("storage.k8s.io", "VolumeAttachment"),
    ("storage.k8s.io", "VolumeAttributesClass"),
];

/// Namespaces that stay.
const IMMORTAL: &[&str] = &["default", "kube-system", "kube-public"];

/// What is to become of those that belong to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Policy {
    Background,
    Foreground,
    Orphan,
}

/// The options of a deletion.
#[derive(Debug, Clone, Default)]
pub struct DeleteOptions {
    grace: Option<i64>,
    policy: Option<Policy>,
    orphan: Option<bool>,
    uid: Option<String>,
    revision: Option<String>,
    dry_run: bool,
}

impl DeleteOptions {
    /// From the body, or from the query when there is none.
    pub fn read(body: &[u8], content_type: &str, query: &Query) -> Outcome<Self> {
        let kind = GroupVersionKind::new("v1", "DeleteOptions");
        let value = if body.is_empty() {
            let mut value = Map::new();
            if let Some(seconds) = query.number("gracePeriodSeconds")? {
                value.insert("gracePeriodSeconds".to_owned(), seconds.into());
            }
            if query.has("propagationPolicy") {
                value.insert("propagationPolicy".to_owned(), query.get("propagationPolicy").into());
            }
            if let Some(orphan) = query.truth("orphanDependents") {
                value.insert("orphanDependents".to_owned(), orphan.into());
            }
            let dry: Vec<&str> = query.all("dryRun").collect();
            if !dry.is_empty() {
                value.insert("dryRun".to_owned(), json!(dry));
            }
            Value::Object(value)
        } else {
            let format = Format::read(content_type, false)?;
            let body = match format {
                Format::Yaml => model::yaml_to_json(body).map_err(Refusal::bad_request)?.into_bytes(),
                _ => body.to_vec(),
            };
            match format {
                Format::Protobuf => podium_resources::typed::protobuf::transcode(&body, Some(&kind))
                    .map_err(|error| Refusal::bad_request(error.to_string()))?,
                _ => podium_resources::typed::json::read(podium_resources::kinds(), &body, &kind)
                    .map(|read| read.value)
                    .map_err(|error| Refusal::bad_request(error.to_string()))?,
            }
        };
        Self::of(&value)
    }

    /// From their JSON.
    pub fn of(value: &Value) -> Outcome<Self> {
        let mut flaws = Vec::new();
        let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
        let dry: Vec<&str> = value
            .get("dryRun")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let orphan = value.get("orphanDependents").and_then(Value::as_bool);
        let policy = match value.get("propagationPolicy").and_then(Value::as_str) {
            None => None,
            Some("Background") => Some(Policy::Background),
            Some("Foreground") => Some(Policy::Foreground),
            Some("Orphan") => Some(Policy::Orphan),
            Some(other) => {
                flaws.push(unsupported(
                    "propagationPolicy",
                    other,
                    &["Foreground", "Background", "Orphan", "nil"],
                ));
                None
            }
        };
        if orphan.is_some() && value.get("propagationPolicy").is_some() {
            let detail = "orphanDependents and deletionPropagation cannot be both set";
            flaws.insert(
                0,
                FieldError::invalid("propagationPolicy", &text("propagationPolicy").into(), detail),
            );
        }
        let dry_run = dry_run(&dry, &mut flaws);
        if !flaws.is_empty() {
            return Err(Refusal::invalid("meta.k8s.io", "DeleteOptions", "", &flaws));
        }
        let wanted = |key: &str| {
            value.pointer(&format!("/preconditions/{key}")).and_then(Value::as_str).map(str::to_owned)
        };
        Ok(Self {
            grace: value.get("gracePeriodSeconds").and_then(Value::as_i64),
            policy,
            orphan,
            uid: wanted("uid"),
            revision: wanted("resourceVersion"),
            dry_run,
        })
    }

    /// What becomes of the dependents: as asked, else as was asked before, else as is usual for the kind.
    fn policy(&self, resource: &Resource, finalizers: &[&str]) -> Policy {
        match (self.orphan, self.policy) {
            (Some(true), _) => return Policy::Orphan,
            (Some(false), _) => return Policy::Background,
            (None, Some(policy)) => return policy,
            (None, None) => {}
        }
        for finalizer in finalizers {
            match *finalizer {
                ORPHAN => return Policy::Orphan,
                FOREGROUND => return Policy::Foreground,
                _ => {}
            }
        }
        if resource.writing.orphans { Policy::Orphan } else { Policy::Background }
    }
}

/// What came of a deletion.
pub enum Deleted {
    /// It is gone.
    Gone(Object),
    /// It only waits.
    Marked(Object),
    /// Nothing was stored; what it would be, in the version of the request.
    Tried(Value),
}

/// A deletion.
pub struct Delete<'d> {
    /// Where it happens.
    pub api: &'d Api,
    /// The resource.
    pub resource: &'d Arc<Resource>,
    /// Its options.
    pub options: DeleteOptions,
}

/// What the next step of a deletion is.
enum Step {
    /// Nothing: it waits already.
    Wait,
    /// It is marked, and then removed at once or not.
    Mark(Value, bool),
    /// It is removed.
    Remove,
}

impl Delete<'_> {
    /// Deletes one object and answers.
    pub async fn one(&self, place: &Place, wanted: Wanted, include: &str) -> Outcome<Answer> {
        let name = place.name.as_str();
        let namespace = if self.resource.namespaced { place.namespace.as_str() } else { "" };
        // Who asked in the old way that all goes at once is told that it has only begun.
        let begun = if self.options.orphan == Some(false) { 202 } else { 200 };
        match self.delete(namespace, name).await? {
            Deleted::Marked(object) => form::answer(self.resource, begun, wanted, include, &object),
            Deleted::Gone(object) if self.tells() => {
                form::answer(self.resource, 200, wanted, include, &object)
            }
            Deleted::Gone(object) => {
                let value: Value = serde_json::from_slice(object.body()).unwrap_or_default();
                Ok(self.done(&value, wanted))
            }
            Deleted::Tried(value) if self.tells() || meta::is_deleted(&value) => {
                form::tried(self.resource, 200, wanted, include, &value)
            }
            Deleted::Tried(value) => Ok(self.done(&value, wanted)),
        }
    }

    /// What the client is warned of.
    pub fn warnings(&self) -> Vec<String> {
        let silent = self.options.policy.is_none() && self.options.orphan.is_none();
        if silent && self.resource.is("batch", "Job") {
            let text = "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove \
                        them or set propagationPolicy=Orphan to suppress this warning";
            return vec![text.to_owned()];
        }
        Vec::new()
    }

    fn tells(&self) -> bool {
        let kind = &self.resource.kind;
        self.resource.custom.is_none()
            && (TOLD.contains(&(kind.group.as_str(), kind.kind.as_str())) || kind.group == "resource.k8s.io")
    }

    fn done(&self, object: &Value, wanted: Wanted) -> Answer {
        let mut details = Map::new();
        details.insert("name".to_owned(), meta::text(object, "name").into());
        if !self.resource.kind.group.is_empty() {
            details.insert("group".to_owned(), self.resource.kind.group.as_str().into());
        }
        details.insert("kind".to_owned(), self.resource.plural.as_str().into());
        details.insert("uid".to_owned(), meta::text(object, "uid").into());
        let status = success(Value::Object(details));
        let text = to_json(&GroupVersionKind::new("v1", "Status"), &status) + "\n";
        answer_object(200, wanted, Bytes::from(text))
    }

    /// Deletes all that are selected, and answers with their list.
    pub async fn all(
        &self,
        namespace: &str,
        selection: &Selection,
        options: &ListOptions,
        wanted: Wanted,
    ) -> Outcome<Answer> {
        let listed = list::list(self.api.store(), self.resource, namespace, selection, options).await?;
        let objects = listed.page.objects.clone();
        for object in &objects {
            match self.delete(object.namespace(), object.name()).await {
                Err(refusal) if refusal.code == 404 => {}
                Err(refusal) => return Err(refusal),
                Ok(_) => {}
            }
        }
        list::answer(self.resource, wanted, "", clock::seconds(), listed)
    }

    /// Deletes an object.
    pub async fn delete(&self, namespace: &str, name: &str) -> Outcome<Deleted> {
        let resource = self.resource;
        if resource.is("", "Namespace") && IMMORTAL.contains(&name) {
            return Err(Refusal::forbidden(resource, name, "this namespace may not be deleted"));
        }
        let key = Key::new(Arc::clone(&resource.place), namespace, name);
        let collection = self.api.store().collection(&resource.place);
        let mut marked: Option<Object> = None;
        for _ in 0..TRIES {
            let Some(found) = collection.get(key.path()) else {
                return match marked {
                    Some(object) => Ok(Deleted::Gone(object)),
                    None => Err(Refusal::not_found(resource, name)),
                };
            };
            let live: Value = serde_json::from_slice(found.body()).unwrap_or_default();
            self.check(&live, name, marked.is_some())?;
            let step = if marked.is_some() { Step::Remove } else { self.step(&live) };
            match step {
                Step::Wait if self.options.dry_run => return Ok(Deleted::Tried(resource.serve(live))),
                Step::Wait => return Ok(Deleted::Marked(found)),
                Step::Mark(new, _) if self.options.dry_run => return Ok(Deleted::Tried(resource.serve(new))),
                Step::Remove if self.options.dry_run => return Ok(Deleted::Tried(resource.serve(live))),
                Step::Mark(new, ends) => {
                    let object = if new == live {
                        found
                    } else {
                        let draft = resource.draft(&new)?;
                        let ticket = self.api.store().put(key.clone(), Expect::At(found.revision()), draft);
                        match ticket.await {
                            Ok(written) => written.object,
                            Err(StoreError::Conflict { .. } | StoreError::Absent { .. }) => continue,
                            Err(error) => return Err(of_store(&error, resource, name)),
                        }
                    };
                    if !ends {
                        return Ok(Deleted::Marked(object));
                    }
                    marked = Some(object);
                }
                Step::Remove => {
                    let ticket = self.api.store().delete(key.clone(), Expect::At(found.revision()));
                    match ticket.await {
                        Ok(written) => return Ok(Deleted::Gone(written.object)),
                        Err(StoreError::Conflict { .. } | StoreError::Absent { .. }) => {}
                        Err(error) => return Err(of_store(&error, resource, name)),
                    }
                }
            }
        }
        Err(Refusal::modified(resource, name))
    }

    /// It is the object that the client means.
    fn check(&self, live: &Value, name: &str, marked: bool) -> Outcome<()> {
        let kind = &self.resource.stored;
        let namespace = self.resource.is("", "Namespace");
        let differs = |what: &str, wanted: &str, found: &str, end: &str| {
            if namespace {
                let why = format!(
                    "Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}"
                );
                return Refusal::conflict(self.resource, name, &why);
            }
            let full = if kind.group.is_empty() {
                kind.kind.clone()
            } else {
                format!("{}.{}", kind.kind, kind.group)
            };
            let message = format!(
                "Operation cannot be fulfilled on {full} \"{name}\": the {what} in the precondition ({wanted}) does not \
                 match the {what} in record ({found}). The object might have been {end}"
            );
            let mut refusal = Refusal::about(409, "Conflict", message, self.resource, name);
            if let Some(details) = refusal.details.as_mut().and_then(Value::as_object_mut) {
                details.insert("kind".to_owned(), kind.kind.as_str().into());
                if kind.group.is_empty() {
                    details.remove("group");
                }
            }
            refusal
        };
        if let Some(uid) = self.options.uid.as_deref()
            && uid != meta::text(live, "uid")
        {
            return Err(differs("UID", uid, meta::text(live, "uid"), "deleted and then recreated"));
        }
        if let Some(revision) = self.options.revision.as_deref()
            && !marked
            && revision != meta::text(live, "resourceVersion")
        {
            return Err(differs(
                "ResourceVersion",
                revision,
                meta::text(live, "resourceVersion"),
                "modified",
            ));
        }
        Ok(())
    }

    /// What is to be done with an object of the stored version.
    fn step(&self, live: &Value) -> Step {
        let resource = self.resource;
        let mut new = live.clone();
        let finalizers: Vec<String> = {
            let old = meta::finalizers(live);
            let policy = if resource.is("", "Event") || resource.is("events.k8s.io", "Event") {
                Policy::Background
            } else {
                self.options.policy(resource, &old)
            };
            let ours = match policy {
                Policy::Orphan => Some(ORPHAN),
                Policy::Foreground => Some(FOREGROUND),
                Policy::Background => None,
            };
            let rest = old.into_iter().filter(|one| *one != ORPHAN && *one != FOREGROUND);
            rest.chain(ours).map(str::to_owned).collect()
        };
        let now = clock::seconds();
        if resource.is("", "Namespace") && !meta::is_deleted(live) {
            mark(&mut new, now, 0);
            meta::remove(&mut new, "deletionGracePeriodSeconds");
            set_finalizers(&mut new, &finalizers);
            set_phase(&mut new, "Terminating");
            let waits =
                new.pointer("/spec/finalizers").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
            return Step::Mark(new, !waits && finalizers.is_empty());
        }
        if resource.is("", "Namespace") {
            let waits =
                live.pointer("/spec/finalizers").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
            return if waits || !meta::finalizers(live).is_empty() { Step::Wait } else { Step::Remove };
        }
        if rules::definition_must_wait(resource, live) {
            rules::mark_definition(&mut new, &time::format_seconds(now));
            mark(&mut new, now, 0);
            meta::remove(&mut new, "deletionGracePeriodSeconds");
            return Step::Mark(new, false);
        }
        if resource.is("", "Pod") {
            return self.pod_step(live, new, &finalizers, now);
        }
        if finalizers.is_empty() {
            return Step::Remove;
        }
        set_finalizers(&mut new, &finalizers);
        mark(&mut new, now, 0);
        Step::Mark(new, false)
    }

    /// Pods get time to end.
    fn pod_step(&self, live: &Value, mut new: Value, finalizers: &[String], now: i64) -> Step {
        let pending = !finalizers.is_empty();
        if meta::is_deleted(live) {
            let left = meta::number(live, "deletionGracePeriodSeconds").unwrap_or(0);
            // Who has no time left waits for others at most, like everything else.
            if left == 0 {
                set_finalizers(&mut new, finalizers);
                mark(&mut new, now, 0);
                return if pending { Step::Mark(new, false) } else { Step::Remove };
            }
            let asked = self.options.grace.map(|asked| if asked < 0 { 1 } else { asked });
            let Some(asked) = asked.filter(|asked| *asked < left) else { return Step::Wait };
            let until =
                time::parse_seconds(meta::text(live, "deletionTimestamp")).unwrap_or(now) - left + asked;
            meta::set(&mut new, "deletionTimestamp", time::format_seconds(until));
            meta::set(&mut new, "deletionGracePeriodSeconds", asked);
            set_finalizers(&mut new, finalizers);
            return Step::Mark(new, asked == 0 && !pending);
        }
        let text = |path: &str| live.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let usual = live.pointer("/spec/terminationGracePeriodSeconds").and_then(Value::as_i64).unwrap_or(0);
        let mut grace = self.options.grace.unwrap_or(usual);
        if text("/spec/nodeName").is_empty() || matches!(text("/status/phase"), "Failed" | "Succeeded") {
            grace = 0;
        }
        let grace = if grace < 0 { 1 } else { grace };
        mark(&mut new, now, grace);
        set_finalizers(&mut new, finalizers);
        Step::Mark(new, grace == 0 && !pending)
    }
}

/// Marks an object that is to go; what was marked before stays so.
fn mark(object: &mut Value, now: i64, grace: i64) {
    if !meta::is_deleted(object) {
        if let Some(generation) = meta::number(object, "generation").filter(|generation| *generation > 0) {
            meta::set(object, "generation", generation + 1);
        }
        meta::set(object, "deletionTimestamp", time::format_seconds(now + grace));
    }
    meta::set(object, "deletionGracePeriodSeconds", grace);
}

fn set_finalizers(object: &mut Value, finalizers: &[String]) {
    if finalizers.is_empty() {
        meta::remove(object, "finalizers");
    } else {
        meta::set(object, "finalizers", json!(finalizers));
    }
}

fn set_phase(object: &mut Value, phase: &str) {
    let Some(object) = object.as_object_mut() else { return };
    let status = object.entry("status").or_insert_with(|| json!({}));
    if let Some(status) = status.as_object_mut() {
        status.insert("phase".to_owned(), phase.into());
    }
}
