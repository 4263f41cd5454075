//! How ownership changes with an object.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use super::conflict::Conflicts;
use super::owners::{Operation, Owner, Owners, are_entries};
use super::{BEFORE, Error, Scope, UNKNOWN, address, bare, cap, prune};
use crate::go;
use crate::set::FieldSet;
use crate::typed::{self, Comparison, Duplicates};

/// Fields that nobody owns.
const STRIPPED: [&[&str]; 12] = [
    &["apiVersion"],
    &["kind"],
    &["metadata"],
    &["metadata", "name"],
    &["metadata", "namespace"],
    &["metadata", "creationTimestamp"],
    &["metadata", "selfLink"],
    &["metadata", "uid"],
    &["metadata", "clusterName"],
    &["metadata", "generation"],
    &["metadata", "managedFields"],
    &["metadata", "resourceVersion"],
];

fn writer<'a>(scope: &Scope<'a>, manager: &'a str, operation: Operation) -> Owner<'a> {
    Owner {
        manager: Cow::Borrowed(if manager.is_empty() { UNKNOWN } else { manager }),
        operation,
        subresource: Cow::Borrowed(scope.subresource),
        version: Cow::Borrowed(scope.version),
        fields: FieldSet::default(),
    }
}

/// What an applied configuration makes of an object and its owners.
pub(super) struct Merged<'a> {
    /// The object, without managed fields.
    pub(super) object: Value,
    /// Whether it differs from the live one.
    pub(super) changed: bool,
    pub(super) owners: Owners<'a>,
    /// Whether the owners are those that were.
    pub(super) same_owners: bool,
}

/// Merges a configuration into the live object.
pub(super) fn apply<'a>(
    scope: &Scope<'a>,
    live: &'a Value,
    config: &'a Value,
    mut owners: Owners<'a>,
    manager: &'a str,
    force: bool,
) -> Result<Merged<'a>, Error> {
    let mut merged = bare(live);
    if owners.is_empty() {
        let empty = scope.versions.zero().unwrap_or_else(|| scope.empty());
        let before = self::update(scope, &empty, &merged, Owners::default(), BEFORE).map_err(|error| {
            Error::Failed(format!("failed to create manager for existing fields: {error}"))
        })?;
        owners = into_owned(before);
    }
    if config.pointer("/metadata/managedFields").is_some_and(are_entries) {
        return Err(Error::BadRequest("metadata.managedFields must be nil".to_owned()));
    }
    scope.check("create typed patch", config, Duplicates::Refused, "")?;
    scope.check("create typed live", &merged, Duplicates::Allowed, "")?;
    let fitted = !fit(scope, &merged, &mut owners)?;

    let shape = scope.shape()?;
    let hollow = typed::merge(scope.shapes, shape, &mut merged, config);
    let mut me = writer(scope, manager, Operation::Apply);
    let id = me.id();
    me.fields = scope.filtered(scope.version, typed::fields(scope.shapes, shape, config));
    let last = owners.all.insert(id.clone(), me);
    if let Some(last) = last.as_ref().filter(|last| hollow || !is_kept(scope, &owners, &id, last)) {
        prune::prune(scope, &mut merged, &owners, last)?;
    }
    let same = is_same(live, &merged);
    if !same {
        let compared = typed::compare(scope.shapes, shape, live, &merged);
        pass(scope, live, &merged, &compared, &mut owners, &id, force)?;
    }
    let count = owners.all.len();
    owners.all.retain(|_, owner| !owner.fields.is_empty());
    strip(&mut owners, &id);
    let same_owners = same && fitted && count == owners.all.len() && owners.all.get(&id) == last.as_ref();
    if !same {
        owners.times.insert(id, Some(scope.now.to_owned()));
    }
    Ok(Merged { object: merged, changed: !same, owners, same_owners })
}

/// Whether an applier still owns all that it owned, and all is told in one version. A set that was made from a value has all that leads to its
/// fields, so that nothing can go then.
fn is_kept(scope: &Scope<'_>, owners: &Owners<'_>, id: &str, last: &Owner<'_>) -> bool {
    let present = owners.all.get(id).map(|owner| &owner.fields);
    let alone = owners.all.values().chain([last]).all(|owner| owner.version == scope.version);
    alone && present.is_some_and(|fields| last.fields.is_within(fields))
}

/// Whether an object is the live one, managed fields aside, which it does not have.
fn is_same(live: &Value, object: &Value) -> bool {
    let (Value::Object(live), Value::Object(object)) = (live, object) else { return false };
    let metadata = |live: &Value, new: &Value| match (live, new) {
        (Value::Object(live), Value::Object(new)) => {
            let stored = live.len() - usize::from(live.contains_key("managedFields"));
            stored == new.len()
                && new.iter().all(|(key, value)| live.get(key).is_some_and(|live| go::same(live, value)))
        }
        _ => go::same(live, new),
    };
    live.len() == object.len()
        && live.iter().zip(object).all(|((key, live), (other, new))| {
            key == other && if key == "metadata" { metadata(live, new) } else { go::same(live, new) }
        })
}

/// The owners after a write that made `live` to `new`.
pub(super) fn update<'a>(
    scope: &Scope<'a>,
    live: &'a Value,
    new: &'a Value,
    mut owners: Owners<'a>,
    manager: &'a str,
) -> Result<Owners<'a>, Error> {
    scope.check("convert new", new, Duplicates::Allowed, " to smd typed")?;
    scope.check("convert live", live, Duplicates::Allowed, " to smd typed")?;
    let compared = typed::compare(scope.shapes, scope.shape()?, live, new);
    let tracked = fit(scope, live, &mut owners)
        .and_then(|_| pass(scope, live, new, &compared, &mut owners, "", true))
        .map_err(|error| {
            Error::Failed(format!("failed to update ManagedFields ({}): {error}", address(new)))
        })?;
    owners.all.retain(|_, owner| !owner.fields.is_empty());
    let mut written = scope.filtered(scope.version, tracked.modified.union(&tracked.added));
    written.subtract(&FieldSet::of(&STRIPPED));
    if !written.is_empty() {
        let mut me = writer(scope, manager, Operation::Update);
        let id = me.id();
        me.fields = match owners.all.get(&id) {
            Some(former) => written.union(&former.fields),
            None => written,
        };
        owners.times.insert(id.clone(), Some(scope.now.to_owned()));
        owners.all.insert(id, me);
    }
    cap::cap(&mut owners);
    Ok(owners)
}

/// Drops the entries of versions that are not known, and makes the others fit the present schema. An object that
/// is none in the version of an entry is refused. Tells whether anything had to change.
fn fit(scope: &Scope<'_>, live: &Value, owners: &mut Owners<'_>) -> Result<bool, Error> {
    let count = owners.all.len();
    owners.all.retain(|_, owner| scope.versions.shape(&owner.version).is_some());
    let mut changed = count != owners.all.len();
    let mut checked: Option<&str> = None;
    for owner in owners.all.values_mut() {
        let Some(shape) = scope.shape_of(&owner.version) else { continue };
        if let Some(fields) = typed::reconcile(scope.shapes, shape, &owner.fields) {
            owner.fields = fields;
            changed = true;
        }
        if owner.version != scope.version && checked != Some(&*owner.version) {
            convert(scope, live, &owner.version).map_err(Error::Failed)?;
            checked = Some(&owner.version);
        }
    }
    Ok(changed)
}

/// Takes changed fields from all owners but the one who changes them, or tells the conflicts. Gives the comparison
/// with only the fields that are tracked.
fn pass<'a, 'b>(
    scope: &Scope<'_>,
    old: &Value,
    new: &Value,
    compared: &Comparison<'b>,
    owners: &mut Owners<'a>,
    me: &str,
    force: bool,
) -> Result<Comparison<'b>, Error> {
    let tracked = filtered(scope, scope.version, compared.clone());
    let mut versions: BTreeMap<String, Comparison<'static>> = BTreeMap::new();
    let mut taken: Vec<(&String, FieldSet<'a>)> = Vec::new();
    let mut left: Vec<(String, FieldSet<'a>)> = Vec::new();
    for (id, owner) in owners.all.iter().filter(|(id, _)| *id != me) {
        let compared: &Comparison<'_> = if owner.version == scope.version {
            &tracked
        } else {
            if !versions.contains_key(&*owner.version) {
                versions
                    .insert(owner.version.clone().into_owned(), elsewhere(scope, old, new, &owner.version)?);
            }
            match versions.get(&*owner.version) {
                Some(compared) => compared,
                None => continue,
            }
        };
        if compared.is_same() {
            continue;
        }
        let mut conflict = owner.fields.intersection(&compared.modified);
        if !compared.added.is_empty() {
            conflict = conflict.union(&owner.fields.intersection(&compared.added));
        }
        let mut fields = owner.fields.difference(&compared.removed);
        if !conflict.is_empty() {
            fields = fields.difference(&conflict);
            taken.push((id, conflict));
        }
        left.push((id.clone(), fields));
    }
    if !force && !taken.is_empty() {
        let all = taken.iter().filter_map(|(id, set)| Some((owners.all.get(*id)?, set)));
        return Err(Error::Conflict(Conflicts::of(all)));
    }
    for (id, fields) in left {
        if let Some(owner) = owners.all.get_mut(&id) {
            owner.fields = fields;
        }
    }
    Ok(tracked)
}

/// What differs in another version.
fn elsewhere(
    scope: &Scope<'_>,
    old: &Value,
    new: &Value,
    version: &str,
) -> Result<Comparison<'static>, Error> {
    let (Some(_), Some(shape)) = (scope.versions.shape(version), scope.shape_of(version)) else {
        return Ok(Comparison::default());
    };
    let convert = |what: &str, object: &Value| {
        convert(scope, object, version)
            .map_err(|error| Error::Failed(format!("failed to convert {what}: {error}")))
    };
    let (old, new) = (convert("old object", old)?, convert("new object", new)?);
    let compared = filtered(scope, version, typed::compare(scope.shapes, shape, &old, &new));
    Ok(Comparison {
        added: compared.added.into_owned(),
        removed: compared.removed.into_owned(),
        modified: compared.modified.into_owned(),
    })
}

/// An object in a version that is known.
pub(super) fn convert(scope: &Scope<'_>, object: &Value, version: &str) -> Result<Value, String> {
    if object.get("apiVersion").and_then(Value::as_str) == Some(version) {
        return Ok(object.clone());
    }
    let object = scope.versions.convert(object, version)?;
    if let Some(shape) = scope.shape_of(version) {
        typed::validate(scope.shapes, shape, &object, Duplicates::Refused)
            .map_err(|errors| errors.to_string())?;
    }
    Ok(object)
}

fn filtered<'a>(scope: &Scope<'_>, version: &str, compared: Comparison<'a>) -> Comparison<'a> {
    Comparison {
        added: scope.filtered(version, compared.added),
        removed: scope.filtered(version, compared.removed),
        modified: scope.filtered(version, compared.modified),
    }
}

/// Takes the fields that nobody owns from an owner.
fn strip(owners: &mut Owners<'_>, id: &str) {
    if let Some(owner) = owners.all.get_mut(id) {
        owner.fields.subtract(&FieldSet::of(&STRIPPED));
        if owner.fields.is_empty() {
            owners.all.remove(id);
        }
    }
}

fn into_owned(owners: Owners<'_>) -> Owners<'static> {
    let own = |(id, owner): (String, Owner<'_>)| {
        let owner = Owner {
            manager: Cow::Owned(owner.manager.into_owned()),
            operation: owner.operation,
            subresource: Cow::Owned(owner.subresource.into_owned()),
            version: Cow::Owned(owner.version.into_owned()),
            fields: owner.fields.into_owned(),
        };
        (id, owner)
    };
    Owners { all: owners.all.into_iter().map(own).collect(), times: owners.times }
}
