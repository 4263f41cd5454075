//! Objects are created and changed.

use std::sync::Arc;

use podium_fieldmanager::managed;
use podium_meta::{FieldError, GroupVersionKind};
use podium_schema::Source;
use podium_store::{Error as StoreError, Expect, Key, Object};
use serde_json::{Value, json};

use crate::address::Place;
use crate::answer::{Answer, Wanted, warn};
use crate::api::{Api, Caller};
use crate::model::{self, Format, Given};
use crate::query::{Strictness, WriteOptions};
use crate::refusal::{Outcome, Refusal, of_store};
use crate::served::Resource;
use crate::{clock, form, meta, random, rules};

/// How often a write is tried again when others are faster.
const TRIES: usize = 100;
/// How often a name is made anew that is taken.
const NAMES: usize = 8;
/// The longest beginning of a name that is made.
const LONGEST_PREFIX: usize = 58;

/// What is kept beside an object whose first change is one, even if it changes nothing.
const LATE: &str = "late";

/// A write to an object, or to a part of one.
pub struct Write<'w> {
    /// Where it happens.
    pub api: &'w Api,
    /// Who asks.
    pub caller: &'w Caller,
    /// The resource.
    pub resource: &'w Arc<Resource>,
    /// The address.
    pub place: &'w Place,
    /// Its options.
    pub options: WriteOptions,
    /// What the client is warned of.
    pub warnings: Vec<String>,
    /// The moment of it.
    pub now: String,
    /// The body of a built-in kind as it was sent, before anything was filled in.
    pub given: Option<Value>,
}

/// What came of a write.
pub enum Written {
    /// The object as it is stored.
    Stored(Object),
    /// The object as it would be, in the version of the request.
    Tried(Value),
}

impl<'w> Write<'w> {
    /// A write of this caller.
    pub fn new(
        api: &'w Api,
        caller: &'w Caller,
        resource: &'w Arc<Resource>,
        place: &'w Place,
        options: WriteOptions,
    ) -> Self {
        Self { api, caller, resource, place, options, warnings: Vec::new(), now: clock::now(), given: None }
    }

    /// Reads a body, and complains as strictly as the client wants.
    pub fn read(&mut self, body: &[u8], format: Format) -> Outcome<Value> {
        self.given = if self.resource.custom.is_none() { model::sent(body, format) } else { None };
        let given = match &self.resource.custom {
            Some(custom) => custom.decode(body, format, &self.resource.kind, Source::Sent)?,
            None => model::decode_built_in(body, format, &self.resource.kind)?,
        };
        self.strict(given)
    }

    fn strict(&mut self, given: Given) -> Outcome<Value> {
        if !given.strict.is_empty() {
            match self.options.strictness {
                Strictness::Ignore => {}
                Strictness::Warn => self.warnings.extend(given.strict),
                Strictness::Strict => {
                    let kind = &self.resource.kind;
                    return Err(Refusal::bad_request(format!(
                        "{} in version {:?} cannot be handled as a {}: strict decoding error: {}",
                        kind.kind,
                        kind.version,
                        kind.kind,
                        given.strict.join(", ")
                    )));
                }
            }
        }
        Ok(given.object)
    }

    /// Creates the object of a body.
    pub async fn create(&mut self, mut object: Value) -> Outcome<Written> {
        self.settle_namespace(&mut object)?;
        self.check_namespace(true)?;
        wipe(&mut object);
        let mut object = self.owned(None, object)?;
        dedup_owners(&mut object, &mut self.warnings);
        rules::admit_create(self, &mut object)?;
        if self.resource.is("", "LimitRange") && names_nothing(&object) {
            meta::set(&mut object, "name", random::uid());
        }
        let named = meta::text(&object, "name").to_owned();
        let prefix = meta::text(&object, "generateName").to_owned();
        let makes_name = named.is_empty() && !prefix.is_empty();
        for attempt in 1.. {
            let mut new = object.clone();
            if makes_name {
                let end =
                    prefix.char_indices().map(|(at, _)| at).take_while(|at| *at <= LONGEST_PREFIX).last();
                let start = prefix.get(..prefix.len().min(end.unwrap_or(0))).unwrap_or_default();
                let start = if prefix.len() <= LONGEST_PREFIX { prefix.as_str() } else { start };
                meta::set(&mut new, "name", format!("{start}{}", random::suffix()));
            }
            match self.insert(new).await {
                Err(refusal) if refusal.reason == "AlreadyExists" && makes_name => {
                    if attempt >= NAMES {
                        return Err(refusal.retry_after(1));
                    }
                }
                outcome => return outcome,
            }
        }
        Err(Refusal::internal("no name could be made"))
    }

    /// Stores an object that is not there yet, if it is as it should be.
    async fn insert(&mut self, mut object: Value) -> Outcome<Written> {
        let resource = self.resource;
        wipe(&mut object);
        meta::set(&mut object, "uid", random::uid());
        meta::set(&mut object, "creationTimestamp", self.now.as_str());
        let late = rules::settles_late(resource, &object);
        let _held = rules::allocate(self, &mut object, None).await?;
        rules::prepare_create(self, &mut object);
        let name = meta::text(&object, "name").to_owned();
        let mut flaws = rules::validate_create(self, &object);
        if !flaws.is_empty() {
            if let Some(exact) = self.as_sent(&object) {
                flaws =
                    Some(rules::validate_create(self, &exact)).filter(|all| !all.is_empty()).unwrap_or(flaws);
            }
            return Err(Refusal::invalid_object(&self.said_kind(&object), &name, &flaws));
        }
        self.warnings.extend(rules::warnings(resource, &object, None));
        rules::authorize_write(self, &object, None)?;
        // A version that is no number is none.
        if meta::text(&object, "resourceVersion").parse::<u64>().is_ok_and(|version| version > 0) {
            return Err(Refusal::failed("resourceVersion should not be set on objects to be created"));
        }
        resource.forget_empty(&mut object);
        if self.options.dry_run {
            if self.api.store().collection(&resource.place).get(&self.path(&name)).is_some() {
                return Err(self.taken(Refusal::exists(resource, &name), &name));
            }
            return Ok(Written::Tried(object));
        }
        let mut stored = resource.keep(object);
        meta::set(&mut stored, "resourceVersion", "");
        let mut draft = resource.draft(&stored)?;
        if late {
            draft = draft.field(LATE, "1");
        }
        let ticket = self.api.store().put(self.key(&name), Expect::Absent, draft);
        let written = ticket.await.map_err(|error| self.taken(of_store(&error, resource, &name), &name))?;
        Ok(Written::Stored(written.object))
    }

    /// A name that is taken by an object which is on its way out is another matter.
    fn taken(&self, mut refusal: Refusal, name: &str) -> Refusal {
        let found = self.api.store().collection(&self.resource.place).get(&self.path(name));
        let going = found.is_some_and(|found| meta::is_deleted(&self.resource.load(&found)));
        if refusal.reason == "AlreadyExists" && going {
            refusal.message = format!("object is being deleted: {}", refusal.message);
        }
        refusal
    }

    /// Changes an object, or makes it where that is allowed; `make` is asked again when somebody else was faster.
    pub async fn change(
        &mut self,
        creates: bool,
        mut make: impl FnMut(&mut Self, Option<&Value>) -> Outcome<Value>,
    ) -> Outcome<(Written, bool)> {
        let resource = self.resource;
        let name = self.place.name.as_str();
        let collection = self.api.store().collection(&resource.place);
        for _ in 0..TRIES {
            let warned = self.warnings.len();
            let Some(found) = collection.get(&self.path(name)) else {
                if !creates {
                    return Err(Refusal::not_found(resource, name));
                }
                let mut new = make(self, None)?;
                self.check_name(&mut new)?;
                self.check_namespace(true)?;
                dedup_owners(&mut new, &mut self.warnings);
                rules::admit_create(self, &mut new)?;
                if self.options.manager.is_empty() {
                    meta::remove(&mut new, "managedFields");
                }
                meta::remove(&mut new, "resourceVersion");
                match self.insert(new).await {
                    Err(refusal) if refusal.reason == "AlreadyExists" => {
                        self.warnings.truncate(warned);
                        continue;
                    }
                    outcome => return outcome.map(|written| (written, true)),
                }
            };
            let live = resource.load(&found);
            let mut new = make(self, Some(&live))?;
            self.check_name(&mut new)?;
            self.check_namespace(false)?;
            self.check_version(&new, found.revision())?;
            dedup_owners(&mut new, &mut self.warnings);
            match self.replace(&found, &live, new).await {
                Err(Failure::Faster) => self.warnings.truncate(warned),
                Err(Failure::Refused(refusal)) => return Err(refusal),
                Ok(written) => return Ok((written, false)),
            }
        }
        Err(Refusal::modified(resource, name))
    }

    /// Puts a new content in the place of the one that was found.
    async fn replace(&mut self, found: &Object, live: &Value, mut new: Value) -> Result<Written, Failure> {
        let resource = self.resource;
        let name = self.place.name.as_str();
        let part = self.place.part.as_str();
        meta::keep(&mut new, live, "generation");
        let _held = rules::allocate(self, &mut new, Some(live)).await?;
        rules::prepare_update(self, &mut new, live);
        if meta::text(&new, "uid").is_empty() {
            meta::keep(&mut new, live, "uid");
        }
        meta::keep(&mut new, live, "creationTimestamp");
        if meta::is_deleted(live) {
            meta::keep(&mut new, live, "deletionTimestamp");
        }
        if meta::number(&new, "deletionGracePeriodSeconds").is_none() {
            meta::keep(&mut new, live, "deletionGracePeriodSeconds");
        }
        meta::remove(&mut new, "selfLink");
        meta::keep(&mut new, live, "resourceVersion");
        let mut flaws = rules::validate_update(self, &new, live);
        if !flaws.is_empty() {
            if let Some(exact) = self.as_sent(&new).filter(|_| part.is_empty()) {
                let all = rules::validate_update(self, &exact, live);
                flaws = Some(all).filter(|all| !all.is_empty()).unwrap_or(flaws);
            }
            return Err(Refusal::invalid_object(&self.said_kind(&new), name, &flaws).into());
        }
        if part.is_empty() {
            self.warnings.extend(rules::warnings(resource, &new, Some(live)));
        }
        resource.forget_empty(&mut new);
        managed::keep_times(live, &mut new);
        rules::authorize_write(self, &new, Some(live))?;
        let ends = meta::is_deleted(&new)
            && meta::finalizers(&new).is_empty()
            && meta::number(&new, "deletionGracePeriodSeconds").unwrap_or(0) == 0
            && rules::may_go(resource, &new);
        if self.options.dry_run {
            return Ok(Written::Tried(new));
        }
        if ends {
            let ticket = self.api.store().delete(self.key(name), Expect::At(found.revision()));
            ticket.await.map_err(|error| Failure::of(&error, resource, name))?;
            // What is answered is what the object would have become.
            return Ok(Written::Tried(new));
        }
        if new == *live && found.field(LATE).is_empty() {
            return Ok(Written::Stored(found.clone()));
        }
        let draft = resource.draft(&resource.keep(new))?;
        let ticket = self.api.store().put(self.key(name), Expect::At(found.revision()), draft);
        let written = ticket.await.map_err(|error| Failure::of(&error, resource, name))?;
        Ok(Written::Stored(written.object))
    }

    /// Updates an object with the one of a body.
    pub async fn update(&mut self, given: Value) -> Outcome<(Written, bool)> {
        let creates = self.resource.writing.creates && self.may_create();
        let uid = meta::text(&given, "uid").to_owned();
        self.check_name(&mut given.clone())?;
        self.change(creates, |write, live| {
            if let Some(live) = live
                && !uid.is_empty()
                && uid != meta::text(live, "uid")
            {
                return Err(write.other_uid(&uid, meta::text(live, "uid")));
            }
            if live.is_none() && creates && !uid.is_empty() {
                return Err(write.other_uid(&uid, ""));
            }
            let mut new = given.clone();
            write.settle_namespace(&mut new)?;
            write.owned(live, new)
        })
        .await
    }

    /// Whether something can come into being at this address: also the status of a Service makes it.
    pub fn may_create(&self) -> bool {
        self.place.part.is_empty() || self.resource.is("", "Service") && self.place.part == "status"
    }

    fn other_uid(&self, given: &str, found: &str) -> Refusal {
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: /registry/{}/{}, ResourceVersion: 0, AdditionalErrorMsg: \
             Precondition failed: UID in precondition: {given}, UID in object meta: {found}",
            self.resource.plural,
            self.path(&self.place.name)
        );
        Refusal::conflict(self.resource, &self.place.name, &why)
    }

    /// The object with the empty lists that were sent, where there were any: the original shows them.
    fn as_sent(&self, object: &Value) -> Option<Value> {
        let sent = self.given.as_ref().filter(|_| self.resource.custom.is_none())?;
        let mut exact = object.clone();
        podium_resources::stored::recall_empty(&self.resource.kind, &mut exact, sent);
        (exact != *object).then_some(exact)
    }

    /// The kind that a refusal names: for kinds of users' own it is the one that the object says, be it wrong.
    fn said_kind(&self, object: &Value) -> GroupVersionKind {
        let said = object.get("kind").and_then(Value::as_str).filter(|_| self.resource.custom.is_some());
        let stored = self.resource.stored.clone();
        GroupVersionKind { kind: said.map_or(stored.kind, str::to_owned), ..stored }
    }

    /// Tells who owns what of an object that somebody has written.
    pub fn owned(&self, live: Option<&Value>, new: Value) -> Outcome<Value> {
        let part = self.place.part.as_str();
        let version = self.resource.kind.api_version();
        let tracked = self.resource.tracked(part);
        let scope = model::scope(self.resource, &tracked, &version, part, &self.now);
        // What every object of a type has, nobody has added.
        let zero = if live.is_none() { self.resource.zero() } else { None };
        Ok(managed::update_or_forget(&scope, live.or(zero.as_ref()), new, &self.options.manager))
    }

    /// The object is in the namespace of the address.
    pub fn settle_namespace(&self, object: &mut Value) -> Outcome<()> {
        let wanted = if self.resource.namespaced { self.place.namespace.as_str() } else { "" };
        match meta::text(object, "namespace") {
            found if found == wanted => {}
            _ if wanted.is_empty() => meta::remove(object, "namespace"),
            "" => meta::set(object, "namespace", wanted),
            _ => {
                return Err(Refusal::bad_request(
                    "the namespace of the provided object does not match the namespace sent on the request",
                ));
            }
        }
        Ok(())
    }

    /// The object has the name of the address.
    fn check_name(&self, object: &mut Value) -> Outcome<()> {
        self.settle_namespace(object)?;
        match meta::text(object, "name") {
            "" => Err(Refusal::bad_request(format!(
                "the name of the object ({} based on URL) was undeterminable: name must be provided",
                self.place.name
            ))),
            name if name == self.place.name => Ok(()),
            name => Err(Refusal::bad_request(format!(
                "the name of the object ({name}) does not match the name on the URL ({})",
                self.place.name
            ))),
        }
    }

    /// The object was read before it was changed, if the client says which one it has seen.
    fn check_version(&self, object: &Value, found: u64) -> Outcome<()> {
        let given = meta::text(object, "resourceVersion");
        let number = match given {
            "" => 0,
            text => text.parse::<u64>().map_err(|_| {
                Refusal::failed(format!("strconv.ParseUint: parsing {text:?}: invalid syntax"))
            })?,
        };
        if number == found || number == 0 && self.resource.writing.unconditional {
            return Ok(());
        }
        if number == 0 {
            let flaw =
                FieldError::invalid("metadata.resourceVersion", &json!(0), "must be specified for an update");
            let (group, plural) = (&self.resource.kind.group, &self.resource.plural);
            return Err(Refusal::invalid(group, plural, &self.place.name, &[flaw]));
        }
        Err(Refusal::modified(self.resource, &self.place.name))
    }

    /// The namespace is there and takes new objects.
    pub fn check_namespace(&self, creates: bool) -> Outcome<()> {
        let namespace = self.place.namespace.as_str();
        if !self.resource.namespaced || namespace.is_empty() {
            return Ok(());
        }
        let Some(found) = self.api.store().collection("namespaces").get(namespace) else {
            let message = format!("namespaces \"{namespace}\" not found");
            let mut refusal = Refusal::new(404, "NotFound", message);
            refusal.details = Some(json!({"name": namespace, "kind": "namespaces"}));
            return Err(refusal);
        };
        if creates && found.field("status.phase") == "Terminating" {
            let why = format!(
                "unable to create new content in namespace {namespace} because it is being terminated"
            );
            let cause = json!([{"reason": "NamespaceTerminating", "field": "metadata.namespace",
                "message": format!("namespace {namespace} is being terminated")}]);
            return Err(Refusal::forbidden(self.resource, &self.place.name, &why).with_causes(cause));
        }
        Ok(())
    }

    /// The object's address in the store.
    pub fn key(&self, name: &str) -> Key {
        let namespace = if self.resource.namespaced { self.place.namespace.as_str() } else { "" };
        Key::new(Arc::clone(&self.resource.place), namespace, name)
    }

    fn path(&self, name: &str) -> String {
        if self.resource.namespaced { format!("{}/{name}", self.place.namespace) } else { name.to_owned() }
    }

    /// What came of it; a refusal as well has what the client is warned of.
    pub fn warned<T>(&self, outcome: Outcome<T>) -> Outcome<T> {
        outcome.map_err(|refusal| Refusal { warnings: self.warnings.clone().into(), ..refusal })
    }

    /// The answer for what was written.
    pub fn answer(&self, written: Written, created: bool, wanted: Wanted, include: &str) -> Outcome<Answer> {
        let code = if created { 201 } else { 200 };
        let mut answer = match written {
            Written::Stored(object) => form::answer(self.resource, code, wanted, include, &object)?,
            Written::Tried(value) => form::tried(self.resource, code, wanted, include, &value)?,
        };
        warn(&mut answer, &self.warnings);
        Ok(answer)
    }
}

fn names_nothing(object: &Value) -> bool {
    meta::text(object, "name").is_empty() && meta::text(object, "generateName").is_empty()
}

/// Takes what only the server says from a new object.
fn wipe(object: &mut Value) {
    for key in ["creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
        meta::remove(object, key);
    }
}

/// Why an object could not be put in the place of another.
enum Failure {
    /// Somebody else was faster.
    Faster,
    /// It is refused.
    Refused(Refusal),
}

impl Failure {
    fn of(error: &StoreError, resource: &Resource, name: &str) -> Self {
        match error {
            StoreError::Conflict { .. } | StoreError::Absent { .. } => Self::Faster,
            error => Self::Refused(of_store(error, resource, name)),
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// The same owner is named once.
fn dedup_owners(object: &mut Value, warnings: &mut Vec<String>) {
    let owners = meta::of_mut(object).and_then(|metadata| metadata.get_mut("ownerReferences"));
    let Some(owners) = owners.and_then(Value::as_array_mut) else { return };
    let mut seen: Vec<Value> = Vec::with_capacity(owners.len());
    let mut twice = Vec::new();
    for owner in owners.drain(..) {
        if seen.contains(&owner) {
            twice.push(owner.get("uid").and_then(Value::as_str).unwrap_or_default().to_owned());
        } else {
            seen.push(owner);
        }
    }
    *owners = seen;
    if !twice.is_empty() {
        twice.dedup();
        warnings.push(format!(
            ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may \
             reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
            twice.join(", ")
        ));
    }
}
