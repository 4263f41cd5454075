//! What goes from an object when its applier no longer mentions it.

use std::collections::BTreeMap;

use podium_schema::shape::Shape;
use serde_json::Value;

use super::change::convert;
use super::owners::{Owner, Owners};
use super::{Error, Scope};
use crate::set::FieldSet;
use crate::typed;

/// Removes from `merged` what its applier owned by `last` and nobody owns now. Parts of removed items that
/// nobody owned go with them; an item of which somebody owns a part stays.
pub(super) fn prune(
    scope: &Scope<'_>,
    merged: &mut Value,
    owners: &Owners<'_>,
    last: &Owner<'_>,
) -> Result<(), Error> {
    if last.fields.is_empty() {
        return Ok(());
    }
    let Some(shape) = scope.shape_of(&last.version) else { return Ok(()) };
    if last.version != scope.version || owners.all.values().any(|owner| owner.version != last.version) {
        return elsewhere(scope, shape, merged, owners, last);
    }
    let owned = owners.all.values().fold(FieldSet::default(), |all, owner| all.union(&owner.fields));
    let restored = |all: &FieldSet<'_>, pruned| Ok(restore(scope, shape, merged, all, pruned, &owned));
    let gone = gone(scope, shape, merged, last, restored)?;
    typed::remove(scope.shapes, shape, merged, &gone);
    Ok(())
}

/// As [`prune`], where owners tell their fields in several versions.
fn elsewhere(
    scope: &Scope<'_>,
    shape: &Shape,
    merged: &mut Value,
    owners: &Owners<'_>,
    last: &Owner<'_>,
) -> Result<(), Error> {
    let failed = |what: &str, error: String| Error::Failed(format!("failed to prune fields: {what}{error}"));
    let what = "failed to convert merged object to last applied version: ";
    let mut there = convert(scope, merged, &last.version).map_err(|error| failed(what, error))?;
    let gone = gone(scope, shape, &there, last, |_, pruned| {
        restore_all(scope, &there, pruned, owners, &last.version)
            .map_err(|error| failed("failed add back owned items: ", error))
    })?;
    typed::remove(scope.shapes, shape, &mut there, &gone);
    *merged = convert(scope, &there, scope.version).map_err(|error| failed("", error))?;
    Ok(())
}

/// What goes of an object: what its applier owned, nobody owns, and is not needed for what somebody owns. `restore`
/// gets all fields of the object and the object without what its applier owned.
fn gone(
    scope: &Scope<'_>,
    shape: &Shape,
    merged: &Value,
    last: &Owner<'_>,
    restore: impl FnOnce(&FieldSet<'_>, Value) -> Result<Value, Error>,
) -> Result<FieldSet<'static>, Error> {
    let named = last.fields.with_named(scope.shapes, shape);
    let all = typed::fields(scope.shapes, shape, merged).with_named(scope.shapes, shape);
    let mut pruned = merged.clone();
    typed::remove(scope.shapes, shape, &mut pruned, &named);
    let pruned = restore(&all, pruned)?;
    let kept = typed::fields(scope.shapes, shape, &pruned).with_named(scope.shapes, shape);
    Ok(all.difference(&kept).intersection(&named).into_owned())
}

/// `pruned` with all of `merged` that is owned.
fn restore(
    scope: &Scope<'_>,
    shape: &Shape,
    merged: &Value,
    all: &FieldSet<'_>,
    pruned: Value,
    owned: &FieldSet<'_>,
) -> Value {
    let kept = typed::fields(scope.shapes, shape, &pruned).with_named(scope.shapes, shape);
    let lost = all.difference(&kept).difference(&owned.with_named(scope.shapes, shape));
    let mut restored = merged.clone();
    typed::remove(scope.shapes, shape, &mut restored, &lost);
    restored
}

/// As [`restore`], version by version: first that of the pruned object, whose missing parts may be needed to convert
/// it.
fn restore_all(
    scope: &Scope<'_>,
    merged: &Value,
    mut pruned: Value,
    owners: &Owners<'_>,
    first: &str,
) -> Result<Value, String> {
    let mut by_version: BTreeMap<&str, FieldSet<'_>> = BTreeMap::new();
    for owner in owners.all.values() {
        let all = by_version.entry(&owner.version).or_default();
        *all = all.union(&owner.fields);
    }
    let mut merged = merged.clone();
    let mut versions: Vec<_> = by_version.into_iter().collect();
    versions.sort_by_key(|(version, _)| *version != first);
    for (version, owned) in versions {
        let Some(shape) = scope.shape_of(version) else { continue };
        let at = |what: &str, error: String| {
            format!("failed to convert {what} object at version {version}: {error}")
        };
        merged = convert(scope, &merged, version).map_err(|error| at("merged", error))?;
        pruned = convert(scope, &pruned, version).map_err(|error| at("pruned", error))?;
        let all = typed::fields(scope.shapes, shape, &merged).with_named(scope.shapes, shape);
        pruned = restore(scope, shape, &merged, &all, pruned, &owned);
    }
    convert(scope, &pruned, first)
}
