//! A bound on how many have updated an object.

use super::owners::{Operation, Owner, Owners, seconds};

/// At most so many owners by update are told apart.
const MOST: usize = 10;
/// Who owns what the oldest of them wrote.
const ANCIENT: &str = "ancient-changes";

/// Joins the oldest owners by update, version by version, until there are few enough.
pub(super) fn cap(owners: &mut Owners<'_>) {
    let updates = owners.all.iter().filter(|(_, owner)| owner.operation == Operation::Update);
    let mut oldest: Vec<(i64, String)> =
        updates.map(|(id, _)| (seconds(owners.time(id)), id.clone())).collect();
    let mut count = oldest.len();
    if count <= MOST {
        return;
    }
    oldest.sort();
    let mut firsts: Vec<(String, String)> = Vec::new();
    for (_, id) in oldest {
        if count <= MOST {
            return;
        }
        let Some(owner) = owners.all.get(&id) else { continue };
        let version = owner.version.clone();
        let Some((_, first)) = firsts.iter().find(|(known, _)| *known == version).cloned() else {
            firsts.push((version.into_owned(), id));
            continue;
        };
        let ancient = |owner: &Owner<'_>| Owner {
            manager: ANCIENT.into(),
            operation: Operation::Update,
            subresource: "".into(),
            version: owner.version.clone().into_owned().into(),
            fields: Default::default(),
        };
        let bucket = ancient(owner);
        let place = bucket.id();
        if !owners.all.contains_key(&place)
            && let Some(former) = owners.all.remove(&first)
        {
            owners.all.insert(place.clone(), Owner { fields: former.fields, ..bucket });
        }
        if place == id {
            // It joins itself, and goes: the original forgets it as well.
            owners.all.remove(&id);
        } else if let Some(joined) = owners.all.remove(&id)
            && let Some(bucket) = owners.all.get_mut(&place)
        {
            bucket.fields = joined.fields.union(&bucket.fields);
        }
        count -= 1;
        let time = owners.times.get(&id).cloned().flatten();
        owners.times.insert(place, time);
    }
}
