//! What is decided for each kind when an object is written: what is filled in, what is refused, what is given.

use podium_meta::{FieldError, GroupVersionKind};
use podium_resources::stored::convert;
use podium_resources::strategy::{self, Facts, NameRule, Refused, Want, metadata};
use podium_schema::definition;
use podium_store::{Object, Query};
use serde_json::{Value, json};
use tokio::sync::OwnedMutexGuard;

use crate::language::language;
use crate::refusal::{Outcome, Refusal};
use crate::served::Resource;
use crate::write::Write;
use crate::{meta, random};

/// Whether a resource is that of definitions of kinds.
fn is_definition(resource: &Resource) -> bool {
    resource.is("apiextensions.k8s.io", "CustomResourceDefinition")
}

impl Write<'_> {
    /// Does something with what is known beside the object.
    fn with_facts<T>(&self, act: impl FnOnce(&Facts<'_>) -> T) -> T {
        let suffix = || random::suffix();
        let look_up = |resource: &str, namespace: &str, name: &str| self.look_up(resource, namespace, name);
        let user = self.caller.user.to_json();
        act(&Facts {
            now: &self.now,
            suffix: &suffix,
            lookup: &look_up,
            given: self.given.as_ref(),
            user: Some(&user),
        })
    }

    /// An object by its resource (`plural.group`), namespace and name; without a name, the one that is the default.
    fn look_up(&self, resource: &str, namespace: &str, name: &str) -> Option<Value> {
        let (plural, group) = resource.split_once('.').unwrap_or((resource, ""));
        let collection = self.api.store().collection(&crate::served::place(group, plural));
        let read = |object: &Object| serde_json::from_slice::<Value>(object.body()).ok();
        if !name.is_empty() {
            let path = if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") };
            return read(&collection.get(&path)?);
        }
        let page = collection.list(Query::default(), |_| true).ok()?;
        page.objects.iter().filter_map(read).find(is_default)
    }

    fn refuse(&self, refused: Refused, object: &Value) -> Refusal {
        let name = meta::text(object, "name");
        if refused.flaws.is_empty() {
            let mut refusal =
                Refusal::about(refused.code, refused.reason, refused.message, self.resource, name);
            if refused.code == 500 {
                refusal.details = None;
            }
            return refusal;
        }
        Refusal::invalid_object(&self.resource.kind, name, &refused.flaws)
    }
}

/// Whether an object is the one that is taken when none is named.
fn is_default(object: &Value) -> bool {
    let annotations = object.pointer("/metadata/annotations");
    let marked = annotations
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .any(|(key, value)| key.ends_with("/is-default-class") && value.as_str() == Some("true"));
    marked || object.get("globalDefault").and_then(Value::as_bool).unwrap_or(false)
}

/// What becomes of a new object before it is prepared.
pub fn admit_create(write: &Write<'_>, object: &mut Value) -> Outcome<()> {
    if write.resource.custom.is_some() {
        return Ok(());
    }
    write
        .with_facts(|facts| strategy::admit_create(&write.resource.kind, object, facts))
        .map_err(|refused| write.refuse(refused, object))
}

/// Puts an object into the version that is kept, where what is prepared has other fields than what was sent.
fn as_kept<'r>(resource: &'r Resource, object: &mut Value) -> &'r GroupVersionKind {
    if resource.kind.group != "autoscaling" {
        return &resource.kind;
    }
    convert(object, &resource.stored);
    &resource.stored
}

/// Makes of a new object what is checked and stored.
pub fn prepare_create(write: &Write<'_>, object: &mut Value) {
    let resource = write.resource;
    match &resource.custom {
        Some(custom) => {
            if let Some(rules) = custom.rules(&resource.kind) {
                rules.prepare_create(object);
            }
        }
        None if is_definition(resource) => definition::prepare_create(object),
        None => {
            let kept = as_kept(resource, object);
            write.with_facts(|facts| strategy::prepare_create(kept, object, facts));
            convert(object, &resource.kind);
        }
    }
}

/// Whether the original stores a new object without what it fills in whenever it reads it: then the first change, even
/// to the same, stores another one.
pub fn settles_late(resource: &Resource, object: &Value) -> bool {
    let labels = object.pointer("/metadata/labels").and_then(Value::as_object);
    let own = object.pointer("/spec/manualSelector") == Some(&Value::Bool(true));
    // A claim's phase; the labels that a job takes over from its template, which gets them later.
    resource.is("", "PersistentVolumeClaim")
        || resource.is("batch", "Job") && !own && labels.is_none_or(serde_json::Map::is_empty)
}

/// Makes of a changed object what is checked and stored.
pub fn prepare_update(write: &Write<'_>, new: &mut Value, live: &Value) {
    let (resource, part) = (write.resource, write.place.part.as_str());
    match &resource.custom {
        Some(custom) => {
            if let Some(rules) = custom.rules(&resource.kind) {
                match part {
                    "status" => rules.prepare_status(new, live),
                    _ => rules.prepare_update(new, live),
                }
            }
        }
        None if is_definition(resource) => match part {
            "status" => definition::prepare_status(new, live),
            _ => definition::prepare_update(new, live),
        },
        None => {
            let kind = as_kept(resource, new);
            let mut live = live.clone();
            convert(&mut live, kind);
            write.with_facts(|facts| strategy::admit_update(kind, part, new, &live, facts));
            write.with_facts(|facts| strategy::prepare_update(kind, part, new, &live, facts));
            convert(new, &resource.kind);
        }
    }
}

/// All that is wrong with a new object.
pub fn validate_create(write: &mut Write<'_>, object: &Value) -> Vec<FieldError> {
    let resource = write.resource;
    match &resource.custom {
        Some(custom) => {
            let verdict = custom.rules(&resource.kind).map(|rules| rules.validate_create(object));
            let verdict = verdict.unwrap_or_default();
            write.warnings.extend(verdict.warnings);
            verdict.flaws
        }
        None if is_definition(resource) => definition::validate_create(object, language()),
        None => strategy::validate_create(&resource.kind, object),
    }
}

/// All that is wrong with a changed object.
pub fn validate_update(write: &mut Write<'_>, new: &Value, live: &Value) -> Vec<FieldError> {
    let (resource, part) = (write.resource, write.place.part.as_str());
    match &resource.custom {
        Some(custom) => {
            let rules = custom.rules(&resource.kind);
            let verdict = rules.map(|rules| match part {
                "status" => rules.validate_status(new, live),
                _ => rules.validate_update(new, live),
            });
            let verdict = verdict.unwrap_or_default();
            write.warnings.extend(verdict.warnings);
            // What can be said of all objects comes first, and the kind says much of it again.
            let mut flaws = metadata::validate_create(new, NameRule::Segment, resource.namespaced);
            flaws.extend(metadata::validate_update(new, live));
            flaws.extend(verdict.flaws);
            flaws
        }
        None if is_definition(resource) => match part {
            "status" => definition::validate_status(new, live),
            _ => definition::validate_update(new, live, language()),
        },
        None => strategy::validate_update(&resource.kind, part, new, live),
    }
}

/// What its writer is warned of.
pub fn warnings(resource: &Resource, new: &Value, live: Option<&Value>) -> Vec<String> {
    match &resource.custom {
        Some(custom) => {
            custom.rules(&resource.kind).map(|rules| rules.warnings(new, live)).unwrap_or_default()
        }
        None if is_definition(resource) => definition::warnings(new, live),
        None => strategy::warnings(&resource.kind, new, live),
    }
}

/// Refuses what may not be done though nothing is wrong with the object: roles and bindings that give more than their
/// writer has, and what the server's own admission says in the end.
pub fn authorize_write(write: &Write<'_>, new: &Value, live: Option<&Value>) -> Outcome<()> {
    if write.resource.custom.is_none() && write.place.part.is_empty() {
        let kind = &write.resource.kind;
        write
            .with_facts(|facts| strategy::admit_checked(kind, new, live, facts))
            .map_err(|refused| write.refuse(refused, new))?;
    }
    if write.resource.kind.group != "rbac.authorization.k8s.io" {
        return Ok(());
    }
    let place = write.place;
    write.api.guard().check_rights(&write.caller.user, &place.namespace, &place.name, new, live)
}

/// Whoever has it is the only one who gives addresses.
pub type Held = Option<OwnedMutexGuard<()>>;

/// Gives a Service what it needs. What it was given is its own while it is stored: nobody else may be given anything
/// until then.
pub async fn allocate(write: &Write<'_>, object: &mut Value, live: Option<&Value>) -> Outcome<Held> {
    if !write.resource.is("", "Service") || !write.place.part.is_empty() {
        return Ok(None);
    }
    let held = write.api.services().clone().lock_owned().await;
    let mut taken = Taken::of(write);
    let tried = write.options.dry_run;
    let mut give = |want: Want<'_>| match want {
        // Who only tries is given the same address each time.
        Want::Address(None) if tried => Ok("10.96.0.0".to_owned()),
        want => taken.give(want),
    };
    let given = match live {
        None => strategy::allocate_create(object, &mut give),
        Some(live) => strategy::allocate_update(object, live, &mut give),
    };
    given.map_err(|refused| write.refuse(refused, object))?;
    Ok(Some(held))
}

/// What other Services have.
struct Taken {
    addresses: Vec<String>,
    ports: Vec<i64>,
}

/// The addresses of Services are 10.96.0.0/16; the first one is the API's.
const FIRST: u64 = 10;
const SIZE: u64 = 65_534;
const PORTS: std::ops::Range<i64> = 30_000..32_768;

impl Taken {
    fn of(write: &Write<'_>) -> Self {
        let mut taken = Self { addresses: Vec::new(), ports: Vec::new() };
        let services = write.api.store().collection("services");
        let own = format!("{}/{}", write.place.namespace, write.place.name);
        let page = services.list(Query::default(), |_| true);
        for object in page.map(|page| page.objects).unwrap_or_default() {
            if object.path() == own {
                continue;
            }
            let held = strategy::held(&serde_json::from_slice(object.body()).unwrap_or_default());
            taken.addresses.extend(held.addresses);
            taken.ports.extend(held.ports);
        }
        taken
    }

    fn give(&mut self, want: Want<'_>) -> Result<String, String> {
        match want {
            Want::Address(Some(address)) => {
                if self.addresses.iter().any(|one| one == address) {
                    return Err("provided IP is already allocated".to_owned());
                }
                if !address.starts_with("10.96.") {
                    return Err("the provided network does not match the current range".to_owned());
                }
                self.addresses.push(address.to_owned());
                Ok(address.to_owned())
            }
            Want::Address(None) => {
                let start = random::below(SIZE);
                for step in 0..SIZE {
                    let number = FIRST + (start + step) % (SIZE - FIRST);
                    let address = format!("10.96.{}.{}", number / 256, number % 256);
                    if !self.addresses.contains(&address) {
                        self.addresses.push(address.clone());
                        return Ok(address);
                    }
                }
                Err("range is full".to_owned())
            }
            Want::Port(Some(port)) => {
                if self.ports.contains(&port) {
                    return Err("provided port is already allocated".to_owned());
                }
                if !PORTS.contains(&port) {
                    return Err(
                        "provided port is not in the valid range. The range of valid ports is 30000-32767"
                            .to_owned(),
                    );
                }
                self.ports.push(port);
                Ok(port.to_string())
            }
            Want::Port(None) => {
                let count = PORTS.end - PORTS.start;
                let start = i64::try_from(random::below(count.unsigned_abs())).unwrap_or(0);
                for step in 0..count {
                    let port = PORTS.start + (start + step) % count;
                    if !self.ports.contains(&port) {
                        self.ports.push(port);
                        return Ok(port.to_string());
                    }
                }
                Err("range is full".to_owned())
            }
        }
    }
}

/// Whether an object that nobody waits for may go: a namespace has finalizers of its own.
pub fn may_go(resource: &Resource, object: &Value) -> bool {
    let spec = object.pointer("/spec/finalizers").and_then(Value::as_array);
    !resource.is("", "Namespace") || spec.is_none_or(Vec::is_empty)
}

const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Whether a definition is deleted for the first time: its objects go before it.
pub fn definition_must_wait(resource: &Resource, live: &Value) -> bool {
    is_definition(resource) && !meta::is_deleted(live)
}

/// A definition that waits for its objects says so.
pub fn mark_definition(definition: &mut Value, now: &str) {
    let mut finalizers: Vec<String> = meta::finalizers(definition).into_iter().map(str::to_owned).collect();
    if !finalizers.iter().any(|one| one == CLEANUP) {
        finalizers.push(CLEANUP.to_owned());
        meta::set(definition, "finalizers", json!(finalizers));
    }
    let condition = json!({"type": "Terminating", "status": "True", "lastTransitionTime": now,
        "reason": "InstanceDeletionPending",
        "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"});
    let status = definition.as_object_mut().map(|one| one.entry("status").or_insert_with(|| json!({})));
    if let Some(status) = status.and_then(Value::as_object_mut) {
        let conditions = status.entry("conditions").or_insert_with(|| json!([]));
        match conditions.as_array_mut() {
            Some(list) => {
                list.retain(|one| one.get("type").and_then(Value::as_str) != Some("Terminating"));
                list.push(condition);
            }
            None => *conditions = json!([condition]),
        }
    }
}
