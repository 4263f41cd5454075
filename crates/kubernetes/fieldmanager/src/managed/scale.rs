//! Owners of a number of replicas, as its own small object tells them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use super::owners::{Owner, Owners, Unreadable};
use crate::set::FieldSet;
use crate::step::Step;

/// The version of `Scale`.
const SCALE: &str = "autoscaling/v1";
/// Where `Scale` has the number.
const REPLICAS: [&str; 2] = ["spec", "replicas"];

/// Where each version of a kind has its number of replicas; nowhere, if it is empty.
pub type Paths = BTreeMap<String, Vec<String>>;

fn steps(path: &[String]) -> Vec<Step<'_>> {
    path.iter().map(|name| Step::field(name)).collect()
}

/// The managed fields of a `Scale` from those of its object.
pub fn to_scale(entries: &Value, paths: &Paths) -> Result<Value, Unreadable> {
    let mut owners = Owners::read(entries)?;
    owners.all.retain(|_, owner| {
        let path = paths.get(&*owner.version).filter(|path| !path.is_empty());
        let owns = path.is_some_and(|path| owner.fields.has(&steps(path)));
        owner.fields = FieldSet::of(&[&REPLICAS]);
        owner.version = Cow::Borrowed(SCALE);
        owns
    });
    Ok(owners.to_value())
}

/// The managed fields of an object, of this version, from its own and those of its written `Scale`: who no longer owns
/// the number there loses it here.
pub fn from_scale(entries: &Value, scale: &Value, version: &str, paths: &Paths) -> Result<Value, Unreadable> {
    let owners = Owners::read(entries)?;
    let mut scales = Owners::read(scale)?;
    let mut out = Owners::default();
    let times = owners.times;
    for (id, mut owner) in owners.all {
        let Some(path) = paths.get(&*owner.version) else { continue };
        let path = steps(path);
        if !path.is_empty() && owner.fields.has(&path) && scales.all.remove(&id).is_none() {
            let mut lost = FieldSet::default();
            lost.insert(&path);
            owner.fields = owner.fields.difference(&lost);
            if owner.fields.is_empty() {
                continue;
            }
        }
        out.all.insert(id, owner);
    }
    let path = paths.get(version).map(|path| steps(path)).unwrap_or_default();
    for (id, owner) in scales.all {
        if owner.fields.has(&REPLICAS.map(Step::field)) {
            let mut fields = FieldSet::default();
            fields.insert(&path);
            out.all.insert(id, Owner { fields, version: Cow::Borrowed(version), ..owner });
        }
    }
    out.times = times;
    Ok(out.to_value())
}
