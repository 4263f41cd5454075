//! What has to be done so that a cluster has the objects of a manifest: seen before anything is written.

use podium_objects::fields::{Change, changes};
use podium_objects::{Kind, Resource, Status};
use podium_runtime::client::{self, Apply};
use podium_runtime::{Client, Discovery};
use serde_json::Value;

use crate::check::unfit;
use crate::named::Named;
use crate::object::Object;
use crate::owner::Owner;
use crate::yields;

/// Who the fields of a release belong to; Helm uses the same name.
pub const MANAGER: &str = "helm";
/// The annotation that keeps an object when its release does not want it any more.
const POLICY: &str = "/metadata/annotations/helm.sh~1resource-policy";

/// What becomes of an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// It is made.
    Create,
    /// Fields of it change.
    Change(Vec<Change>),
    /// It is right as it is.
    Keep,
    /// It goes.
    Delete,
    /// It stays although the release does not want it any more.
    Leave,
    /// It cannot be had.
    Blocked,
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
}

impl Step {
    fn new(object: Named, action: Action) -> Self {
        Self { object, action, notes: Vec::new() }
    }

    fn because(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }
}

/// Asks what applying objects would change, and which of the objects before them would go.
pub async fn preview(
    client: &Client,
    discovery: &Discovery,
    objects: &[Object],
    crds: &[Object],
    before: &[Named],
    owner: &Owner,
) -> Result<Vec<Step>, client::Error> {
    let view = View { client, discovery, owner };
    let mut steps = Vec::new();
    for crd in crds {
        steps.extend(view.crd(crd).await?);
    }
    for object in objects {
        let made_here = crds.iter().chain(objects).any(|other| defines(&other.body, &object.named.kind));
        steps.push(view.wanted(object, made_here).await?);
    }
    // What was installed first goes last.
    for object in before.iter().rev().filter(|old| !objects.iter().any(|new| view.same(&new.named, old))) {
        steps.extend(view.unwanted(object).await?);
    }
    Ok(steps)
}

/// Whether an object is the CRD of a kind.
fn defines(object: &Value, kind: &Kind) -> bool {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str);
    text("/kind") == Some("CustomResourceDefinition")
        && text("/spec/group") == Some(&kind.group)
        && text("/spec/names/kind") == Some(&kind.kind)
}

struct View<'a> {
    client: &'a Client,
    discovery: &'a Discovery,
    owner: &'a Owner,
}

impl View<'_> {
    fn place<'o>(&'o self, object: &'o Named) -> &'o str {
        object.namespace.as_deref().unwrap_or(&self.owner.namespace)
    }

    fn same(&self, a: &Named, b: &Named) -> bool {
        (&a.kind.group, &a.kind.kind, &a.name) == (&b.kind.group, &b.kind.kind, &b.name)
            && self.place(a) == self.place(b)
    }

    /// The object with the namespace that it has in the cluster.
    fn placed(&self, object: &Named, resource: Option<&Resource>) -> Named {
        let namespaced = resource.is_some_and(|resource| resource.namespaced);
        let namespace = namespaced.then(|| self.place(object).to_owned());
        Named { namespace, ..object.clone() }
    }

    /// A CRD of `crds/`, which is installed where it is missing and never changed.
    async fn crd(&self, crd: &Object) -> Result<Option<Step>, client::Error> {
        let Some(resource) = self.discovery.find(&crd.named.kind) else { return Ok(None) };
        let live = self.client.get(resource, None, &crd.named.name).await?;
        let named = self.placed(&crd.named, Some(resource));
        Ok(live.is_none().then(|| Step::new(named, Action::Create).because("from crds/")))
    }

    async fn wanted(&self, object: &Object, made_here: bool) -> Result<Step, client::Error> {
        let resource = self.discovery.find(&object.named.kind);
        let named = self.placed(&object.named, resource);
        let Some(resource) = resource else {
            return Ok(if made_here {
                Step::new(named, Action::Create).because("its kind is defined by this release")
            } else {
                let why = unfit(&object.named, self.discovery).unwrap_or_default();
                Step::new(named, Action::Blocked).because(why.replace('\n', ": "))
            });
        };
        if named.name.is_empty() {
            return Ok(Step::new(named, Action::Create).because("the server makes up its name each time"));
        }
        let place = self.place(&object.named);
        let live = self.client.get(resource, Some(place), &named.name).await?;
        if let Some(why) = live.as_ref().and_then(|live| self.owner.objection(live)) {
            return Ok(Step::new(named, Action::Blocked).because(format!("it is somebody else's: {why}")));
        }
        match self.try_out(resource, object, live.as_ref()).await {
            Ok((after, notes)) => {
                let action = match &live {
                    None => Action::Create,
                    Some(live) => match changes(live, &after) {
                        none if none.is_empty() => Action::Keep,
                        some => Action::Change(some),
                    },
                };
                Ok(Step { object: named, action, notes })
            }
            Err(client::Error::Refused(status)) if live.is_none() && is_missing_namespace(&status, place) => {
                Ok(Step::new(named, Action::Create)
                    .because(format!("the namespace {place} is not there yet")))
            }
            Err(client::Error::Refused(status)) => {
                Ok(Step::new(named, Action::Blocked).because(format!("the server refuses it: {status}")))
            }
            Err(error) => Err(error),
        }
    }

    /// What the object would be, and which fields are left to others.
    async fn try_out(
        &self,
        resource: &Resource,
        object: &Object,
        live: Option<&Value>,
    ) -> Result<(Value, Vec<String>), client::Error> {
        let place = self.place(&object.named);
        let how = Apply { manager: MANAGER, force: false, dry_run: true };
        let apply = async |body: &Value, how| {
            self.client.apply(resource, Some(place), &object.named.name, body, how).await
        };
        let conflict = match apply(&object.body, how).await {
            Err(client::Error::Refused(status)) if status.code == 409 && !status.causes.is_empty() => status,
            other => return other.map(|after| (after, Vec::new())),
        };
        let mut body = object.body.clone();
        let mut notes = Vec::new();
        for cause in &conflict.causes {
            if let Some(holder) = live.and_then(|live| yields::holder(live, &cause.message)) {
                yields::remove(&mut body, &cause.field);
                notes.push(format!("{} is left to {holder}", cause.field));
            }
        }
        notes.sort();
        Ok((apply(&body, Apply { force: true, ..how }).await?, notes))
    }

    /// An object that the manifest does not have any more; nothing when it is gone already.
    async fn unwanted(&self, object: &Named) -> Result<Option<Step>, client::Error> {
        let Some(resource) = self.discovery.find(&object.kind).filter(|_| !object.name.is_empty()) else {
            return Ok(None);
        };
        let named = self.placed(object, Some(resource));
        let Some(live) = self.client.get(resource, Some(self.place(object)), &object.name).await? else {
            return Ok(None);
        };
        let kept = live.pointer(POLICY).and_then(Value::as_str).is_some_and(|policy| policy.trim() == "keep");
        Ok(Some(match self.owner.objection(&live) {
            _ if kept => Step::new(named, Action::Leave).because("helm.sh/resource-policy is keep"),
            Some(why) => Step::new(named, Action::Leave).because(format!("it is somebody else's: {why}")),
            None => Step::new(named, Action::Delete),
        }))
    }
}

fn is_missing_namespace(status: &Status, namespace: &str) -> bool {
    status.code == 404 && status.message == format!("namespaces {namespace:?} not found")
}
