//! What goes from an object when its applier no longer mentions it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::change::convert;
use super::owners::{Owner, Owners};
use super::{Error, Scope};
use crate::set::FieldSet;
use crate::typed;

/// Removes from `merged` what the applier `me` owned by `last` and nobody owns now. Parts of removed items that
/// nobody owned go with them; an item of which somebody owns a part stays.
pub(super) fn prune(
    scope: &Scope<'_>,
    merged: &mut Value,
    owners: &Owners<'_>,
    me: &str,
    last: &Owner<'_>,
) -> Result<(), Error> {
    let present = owners.all.get(me).map(|owner| &owner.fields);
    if last.fields.is_empty() || (last.version == scope.version && present == Some(&last.fields)) {
        return Ok(());
    }
    let Some(shape) = scope.shape_of(&last.version) else { return Ok(()) };
    let failed =
        |what: &str, error: String| Error::Failed(format!("failed to prune fields: failed {what}: {error}"));
    let home = last.version == scope.version;
    let converted = if home {
        None
    } else {
        let error = |error| failed("to convert merged object to last applied version", error);
        Some(convert(scope, merged, &last.version).map_err(error)?)
    };
    let whole = converted.as_ref().unwrap_or(merged);
    let named = last.fields.with_named(scope.shapes, shape);
    let mut pruned = whole.clone();
    typed::remove(scope.shapes, shape, &mut pruned, &named);
    let pruned = restore(scope, whole, pruned, owners, &last.version)
        .map_err(|error| failed("add back owned items", error))?;
    let all = typed::fields(scope.shapes, shape, whole).with_named(scope.shapes, shape);
    let kept = typed::fields(scope.shapes, shape, &pruned).with_named(scope.shapes, shape);
    let gone = all.difference(&kept).intersection(&named).into_owned();
    let mut result = match converted {
        Some(converted) => converted,
        None => std::mem::take(merged),
    };
    typed::remove(scope.shapes, shape, &mut result, &gone);
    *merged = if home {
        result
    } else {
        convert(scope, &result, scope.version)
            .map_err(|error| Error::Failed(format!("failed to prune fields: {error}")))?
    };
    Ok(())
}

/// `pruned` with all that somebody owns in it, version by version: first that of the pruned object, whose missing
/// parts may be needed to convert it.
fn restore(
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
        let named = |set: &FieldSet<'_>| set.with_named(scope.shapes, shape).into_owned();
        let all = named(&typed::fields(scope.shapes, shape, &merged));
        let kept = named(&typed::fields(scope.shapes, shape, &pruned)).union(&named(&owned));
        pruned.clone_from(&merged);
        typed::remove(scope.shapes, shape, &mut pruned, &all.difference(&kept));
    }
    convert(scope, &pruned, first)
}
