//! What has to be done so that a cluster has the objects of a manifest: seen before anything is written, or done.

use futures_util::stream::{StreamExt, iter};
use podium_client::client::{self, ApplyOptions};
use podium_meta::fields::{Change, changes};
use podium_meta::{Kind, Resource, Status};
use serde_json::Value;

use crate::check::unfit;
use crate::managers;
use crate::named::Named;
use crate::object::Object;
use crate::place::{AT_ONCE, Place, Seen};
use crate::wait::Sight;
use crate::yields;

/// Who the fields of a release belong to; Helm uses the same name.
pub const MANAGER: &str = "helm";
/// The annotation that keeps an object when its release does not want it any more.
const POLICY: &str = "/metadata/annotations/helm.sh~1resource-policy";

/// A version that no object has: whoever applies it makes the object, or is refused because there is one.
const NO_VERSION: &str = "1";
/// How often an object is tried that others change at the same time.
const TRIES: usize = 10;

/// What becomes of an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// It is made.
    Create,
    /// Fields of it change.
    Change(Vec<Change>),
    /// It was somebody else's and becomes the release's; fields of it may change too.
    Adopt(Vec<Change>),
    /// It is right as it is.
    Keep,
    /// It goes.
    Delete,
    /// It stays although the release does not want it any more.
    Leave,
    /// It cannot be had.
    Blocked,
}

impl Action {
    /// The fields that change.
    pub fn changes(&self) -> &[Change] {
        match self {
            Action::Change(changes) | Action::Adopt(changes) => changes,
            _ => &[],
        }
    }
}

/// An object with what becomes of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The object; its namespace is filled in.
    pub object: Named,
    /// What becomes of it.
    pub action: Action,
    /// Why, or what is left alone.
    pub notes: Vec<String>,
    /// The signature of our fields afterwards; 0 when nothing was applied.
    pub signature: u64,
    /// The version of the object afterwards; 0 when nothing was applied.
    pub version: u64,
    /// How the object is afterwards, as far as it says itself; nothing when nothing was applied.
    pub sight: Option<Sight>,
}

impl Step {
    pub(crate) fn new(object: Named, action: Action) -> Self {
        Self { object, action, notes: Vec::new(), signature: 0, version: 0, sight: None }
    }

    pub(crate) fn because(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }
}

/// How objects are applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Objects of others become the release's.
    pub adopt: bool,
    /// The server only says what would become of them.
    pub dry_run: bool,
    /// None of them is expected to be there: they are made without a look before.
    pub fresh: bool,
}

/// A number for the set of fields that are ours by applying them. It changes when somebody takes one of them, and not
/// when an object's status or somebody else's fields change.
pub fn signature(object: &Value) -> u64 {
    let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    let ours = entries.into_iter().flatten().find(|entry| {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
        text("manager") == MANAGER && text("operation") == "ApplyOptions" && text("subresource").is_empty()
    });
    let deleted = object.pointer("/metadata/deletionTimestamp").is_some();
    let fields = ours.and_then(|entry| entry.get("fieldsV1")).map(ToString::to_string).unwrap_or_default();
    // FNV-1a: it has to be the same in every build, since it is stored.
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    fields.bytes().chain([u8::from(deleted)]).fold(0xcbf2_9ce4_8422_2325, mix)
}

/// Whether an object is the CRD of a kind.
pub(crate) fn defines(object: &Value, kind: &Kind) -> bool {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str);
    text("/kind") == Some("CustomResourceDefinition")
        && text("/spec/group") == Some(&kind.group)
        && text("/spec/names/kind") == Some(&kind.kind)
}

/// Whether one of these objects is the CRD of a kind.
pub(crate) fn defined(objects: &[Object], kind: &Kind) -> bool {
    objects.iter().any(|object| defines(&object.body, kind))
}

/// Asks what applying objects would change, and which of the objects before them would go.
pub async fn preview(
    place: &Place<'_>,
    objects: &[Object],
    crds: &[Object],
    before: &[Named],
    adopt: bool,
) -> Result<Vec<Step>, client::Error> {
    let discovery = place.kinds.get().await?;
    let rules = Rules { adopt, dry_run: true, fresh: false };
    let mut steps = Vec::new();
    for crd in crds {
        steps.extend(crate::crds::plan(place, crd).await?.map(|(step, _)| step));
    }
    for seen in place.observe(objects, rules).await? {
        let kind = &seen.named.kind;
        steps.push(if let Some(step) = place.barred(&seen, rules) {
            step
        } else if seen.resource.is_some() {
            place.apply(&seen, rules).await?
        } else if defined(crds, kind) || defined(objects, kind) {
            Step::new(seen.named, Action::Create).because("its kind is defined by this release")
        } else {
            let why = unfit(&seen.object.named, &discovery).unwrap_or_default();
            Step::new(seen.named, Action::Blocked).because(why.replace('\n', ": "))
        });
    }
    steps.extend(place.unwanted(before, objects).await?.into_iter().map(|(step, _)| step));
    Ok(steps)
}

/// What became of an object that was written.
fn outcome(named: &Named, action: Action, after: &Value, notes: Vec<String>) -> Step {
    let text = after.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default();
    let (signature, version) = (signature(after), text.parse().unwrap_or(0));
    let sight = Some(Sight::of(after, &[]));
    Step { object: named.clone(), action, notes, signature, version, sight }
}

/// What is there of an object that goes or is left.
pub(crate) struct Leaving {
    pub(crate) resource: Resource,
    pub(crate) uid: String,
}

impl Place<'_> {
    /// Why an object may not be touched.
    pub(crate) fn barred(&self, seen: &Seen<'_>, rules: Rules) -> Option<Step> {
        let why = seen
            .live
            .as_ref()
            .and_then(|live| self.owner.bars(live, self.holder))
            .filter(|_| !rules.adopt)?;
        Some(Step::new(seen.named.clone(), Action::Blocked).because(format!("it is somebody else's: {why}")))
    }

    /// Makes an object that was not there, or was not looked for. If there is one, it is not touched before it was looked
    /// at.
    async fn make(&self, resource: &Resource, seen: &Seen<'_>, rules: Rules) -> Result<Step, client::Error> {
        let Seen { named, object, .. } = seen;
        let mut body = object.body.clone();
        if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("resourceVersion".to_owned(), NO_VERSION.into());
        }
        let how = ApplyOptions { field_manager: MANAGER, force: false, dry_run: false };
        let client = self.client.with_metadata_responses();
        let mut after =
            match client.apply(resource, named.namespace.as_deref(), &named.name, &body, how).await {
                Err(client::Error::Api(_)) => {
                    let live = self.get_from_storage(resource, named).await?;
                    let seen = Seen { live, ..seen.clone() };
                    return match self.barred(&seen, rules) {
                        Some(step) => Ok(step),
                        None => self.change(resource, &seen, rules).await,
                    };
                }
                answer => answer?,
            };
        // Besides its metadata it is what was sent, until somebody works on it.
        body["metadata"] = after["metadata"].take();
        Ok(outcome(named, Action::Create, &body, Vec::new()))
    }

    /// Applies an object of a kind that the cluster knows; what the server refuses is blocked.
    pub(crate) async fn apply(&self, seen: &Seen<'_>, rules: Rules) -> Result<Step, client::Error> {
        match &seen.resource {
            None => Ok(Step::new(seen.named.clone(), Action::Blocked).because("its kind is not known")),
            Some(resource) if seen.live.is_none() && !rules.dry_run && !seen.named.name.is_empty() => {
                self.make(resource, seen, rules).await
            }
            Some(resource) => self.change(resource, seen, rules).await,
        }
    }

    /// Applies an object over what there is of it.
    async fn change(
        &self,
        resource: &Resource,
        seen: &Seen<'_>,
        rules: Rules,
    ) -> Result<Step, client::Error> {
        let Seen { named, live, object, .. } = seen;
        let namespace = self.namespace(named);
        match self.write(resource, seen, rules).await {
            Ok((after, notes)) => {
                let foreign = live.as_ref().is_some_and(|live| self.owner.bars(live, self.holder).is_some());
                let action = match live {
                    None => Action::Create,
                    Some(live) => match changes(live, &after) {
                        all if foreign => Action::Adopt(all),
                        none if none.is_empty() => Action::Keep,
                        some => Action::Change(some),
                    },
                };
                Ok(outcome(named, action, &after, notes))
            }
            Err(client::Error::Api(status))
                if rules.dry_run && live.is_none() && is_missing_namespace(&status, namespace) =>
            {
                Ok(Step::new(named.clone(), Action::Create)
                    .because(format!("the namespace {namespace} is not there yet")))
            }
            Err(client::Error::Api(status)) => {
                let body = if object.named.name.is_empty() { "" } else { " it" };
                Ok(Step::new(named.clone(), Action::Blocked)
                    .because(format!("the server refuses{body}: {}", readable(&status.to_string()))))
            }
            Err(error) => Err(error),
        }
    }

    /// The object as it is afterwards, and which fields are left to others.
    async fn write(
        &self,
        resource: &Resource,
        seen: &Seen<'_>,
        rules: Rules,
    ) -> Result<(Value, Vec<String>), client::Error> {
        let Seen { named, object, .. } = seen;
        let namespace = named.namespace.as_deref();
        if named.name.is_empty() {
            let note = "the server makes up its name each time".to_owned();
            let made = match rules.dry_run {
                true => object.body.clone(),
                false => self.client.create(resource, namespace, &object.body, MANAGER).await?,
            };
            return Ok((made, vec![note]));
        }
        let mut notes = Vec::new();
        let mut live = seen.live.clone();
        if let Some(patch) = live.as_ref().and_then(managers::patch) {
            if rules.dry_run {
                notes.push("fields that a client wrote become the release's; those that it does not have any more go".to_owned());
            } else {
                live = self.hand_over(resource, named, patch).await?;
            }
        }
        let how = ApplyOptions { field_manager: MANAGER, force: false, dry_run: rules.dry_run };
        let apply =
            async |body: &Value, how| self.client.apply(resource, namespace, &named.name, body, how).await;
        let conflict = match apply(&object.body, how).await {
            Err(client::Error::Api(status)) if status.code == 409 && !status.causes.is_empty() => status,
            other => return other.map(|after| (after, notes)),
        };
        let mut body = object.body.clone();
        for cause in &conflict.causes {
            let holder = live.as_ref().and_then(|live| yields::holder(live, &cause.message));
            if let Some(holder) = holder {
                yields::remove(&mut body, &cause.field);
                notes.push(format!("{} is left to {holder}", cause.field));
            }
        }
        notes.sort();
        Ok((apply(&body, ApplyOptions { force: true, ..how }).await?, notes))
    }

    /// Makes fields that a client wrote ours, in objects that are there: nobody who applies them next has a conflict.
    pub async fn take_over(&self, objects: &[Named]) -> Result<(), client::Error> {
        let discovery = self.kinds.get().await?;
        for object in objects {
            let Some(resource) = discovery.find(&object.kind) else { continue };
            let named = self.placed(object, Some(resource));
            let live = self.live(resource, &named).await?;
            if let Some(patch) = live.as_ref().and_then(managers::patch) {
                self.hand_over(resource, &named, patch).await?;
            }
        }
        Ok(())
    }

    /// Hands fields over that a client wrote; again, when somebody has changed the object meanwhile.
    async fn hand_over(
        &self,
        resource: &Resource,
        named: &Named,
        mut patch: Value,
    ) -> Result<Option<Value>, client::Error> {
        let namespace = named.namespace.as_deref();
        for _ in 1..TRIES {
            match self.client.merge_patch(resource, namespace, &named.name, &patch, MANAGER).await {
                Err(client::Error::Api(status)) if status.code == 409 => {}
                Err(client::Error::Api(status)) if status.is_not_found() => return Ok(None),
                other => return other.map(Some),
            }
            let live = self.live(resource, named).await?;
            match live.as_ref().and_then(managers::patch) {
                Some(next) => patch = next,
                None => return Ok(live),
            }
        }
        self.client.merge_patch(resource, namespace, &named.name, &patch, MANAGER).await.map(Some)
    }

    /// The objects before that are not wanted any more, the last one first; those that are gone already are left out.
    pub(crate) async fn unwanted(
        &self,
        before: &[Named],
        objects: &[Object],
    ) -> Result<Vec<(Step, Leaving)>, client::Error> {
        let discovery = self.kinds.get().await?;
        let old = before.iter().rev().filter(|old| !objects.iter().any(|new| self.same(&new.named, old)));
        let looks =
            old.filter(|old| !old.name.is_empty()).filter_map(|old| {
                let resource = discovery.find(&old.kind)?;
                let named = self.placed(old, Some(resource));
                // What is there and counts as gone would stay for ever.
                Some(async move {
                    self.get_from_storage(resource, &named).await.map(|live| (named, resource, live))
                })
            });
        let answers: Vec<_> = iter(looks).buffered(AT_ONCE).collect().await;
        let mut out = Vec::new();
        for answer in answers {
            let (named, resource, Some(live)) = answer? else { continue };
            let kept =
                live.pointer(POLICY).and_then(Value::as_str).is_some_and(|policy| policy.trim() == "keep");
            let step = match self.owner.bars(&live, self.holder) {
                _ if kept => Step::new(named, Action::Leave).because("helm.sh/resource-policy is keep"),
                Some(why) => Step::new(named, Action::Leave).because(format!("it is somebody else's: {why}")),
                None => Step::new(named, Action::Delete),
            };
            let uid = live.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default().to_owned();
            out.push((step, Leaving { resource: resource.clone(), uid }));
        }
        Ok(out)
    }
}

/// What a server says, without the objects that it prints whole; and what to do where nothing else helps.
fn readable(message: &str) -> String {
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
        said += " (what cannot be changed has to be made anew: delete the object and run this again, or give it another name)";
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
    fn what_a_server_prints_whole_is_left_out() {
        let whole = format!(
            "Job \"x\" is invalid: spec.template: Invalid value: {{\"a\":{{{}}}}}: field is immutable",
            "1".repeat(500)
        );
        let said = readable(&whole);
        assert!(
            said.starts_with(
                "Job \"x\" is invalid: spec.template: Invalid value: {...}: field is immutable (what"
            ),
            "{said}"
        );
        let short = "x is invalid: a: Invalid value: {}: no";
        assert_eq!(readable(short), short);
    }
}
