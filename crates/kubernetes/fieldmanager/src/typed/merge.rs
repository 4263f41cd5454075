//! One value merged into another: how a configuration becomes part of the live object.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use podium_schema::shape::{List, Shape, Shapes};
use serde_json::Value;

use super::{Parts, Way, filled_list, filled_map, keys, parts};
use crate::step::Step;

/// Merges `config` into `live`. Nothing goes: what `config` does not mention stays. Both are of the shape. Tells
/// whether something empty met something that is not, and therefore owns it without having any of it.
pub fn merge(shapes: &Shapes, shape: &Shape, live: &mut Value, config: &Value) -> bool {
    let parts = parts(shape);
    let mut hollow = false;
    match parts.way(config) {
        Way::Map if filled_map(Some(config)).is_some() || filled_map(Some(live)).is_some() => {
            match (live, config) {
                (Value::Object(live), Value::Object(config)) => {
                    hollow = config.is_empty();
                    for (key, value) in config {
                        match (live.get_mut(key), parts.child(shapes, key)) {
                            (Some(old), Some(child)) => hollow |= merge(shapes, child, old, value),
                            _ => {
                                live.insert(key.clone(), value.clone());
                            }
                        }
                    }
                }
                (live, Value::Object(_)) => *live = config.clone(),
                // Nothing does not take the place of an object that has something in it.
                _ => hollow = true,
            }
        }
        Way::List if filled_list(Some(config)).is_some() || filled_list(Some(live)).is_some() => {
            let Parts::List(list) = parts else { return hollow };
            match (live, config) {
                (Value::Array(live), Value::Array(config)) if !live.is_empty() && !config.is_empty() => {
                    *live = items(shapes, list, std::mem::take(live), config, &mut hollow);
                }
                (Value::Array(live), Value::Array(_)) if !live.is_empty() => hollow = true,
                (live, Value::Array(_)) => *live = config.clone(),
                _ => hollow = true,
            }
        }
        _ => live.clone_from(config),
    }
    hollow
}

/// The items of both. Those that both have are in the order of the configuration; what only one has stays behind
/// what it followed.
fn items(
    shapes: &Shapes,
    list: &List,
    mut live: Vec<Value>,
    config: &[Value],
    hollow: &mut bool,
) -> Vec<Value> {
    let shape = shapes.get(list.items);
    let in_order = |(old, new): (&Value, &Value)| {
        let (old, new) = (keys::step(shapes, list, old), keys::step(shapes, list, new));
        old.is_ok() && old == new
    };
    if live.len() == config.len() && live.iter().zip(config).all(in_order) {
        for (old, new) in live.iter_mut().zip(config) {
            *hollow |= merge(shapes, shape, old, new);
        }
        return live;
    }
    let wanted: Vec<Step<'_>> =
        config.iter().filter_map(|item| keys::step(shapes, list, item).ok()).collect();
    if wanted.len() != config.len() {
        return live;
    }
    // The steps to live items must not hold on to the items, which are taken out one by one.
    let present: Vec<Step<'static>> =
        live.iter().filter_map(|item| keys::step(shapes, list, item).ok().map(Step::into_owned)).collect();
    if present.len() != live.len() {
        return live;
    }
    let mut by_step: BTreeMap<&Step<'_>, Place> = BTreeMap::new();
    for (at, step) in present.iter().enumerate() {
        by_step.entry(step).and_modify(|place| *place = Place::Many).or_insert(Place::At(at));
    }
    let in_config: BTreeSet<&Step<'_>> = wanted.iter().collect();
    let mut shared: VecDeque<&Step<'_>> = wanted.iter().filter(|step| by_step.contains_key(step)).collect();
    let mut next = shared.pop_front();
    let mut taken: BTreeSet<&Step<'_>> = BTreeSet::new();
    let mut out = Vec::with_capacity(live.len().max(config.len()));
    let mut take = |step: &Step<'_>, value: &Value, live: &mut Vec<Value>, out: &mut Vec<Value>| {
        let place = by_step.get(step);
        let mut merged = match place {
            Some(Place::At(at)) => live.get_mut(*at).map(Value::take).unwrap_or_default(),
            // Of several none is merged into.
            Some(Place::Many) => Value::Null,
            None => return out.push(value.clone()),
        };
        *hollow |= merge(shapes, shape, &mut merged, value);
        out.push(merged);
    };
    let (mut left, mut right) = (0, 0);
    while left < present.len() || right < wanted.len() {
        let (step, want) = (present.get(left), wanted.get(right));
        if let (Some(step), Some(want)) = (step, want) {
            if step == want {
                taken.insert(want);
                if let Some(value) = config.get(right) {
                    take(want, value, &mut live, &mut out);
                }
                (left, right) = (left + 1, right + 1);
                next = shared.pop_front();
                continue;
            }
            if in_config.contains(step) && next.is_some_and(|next| next != step) {
                left += 1;
                continue;
            }
        }
        if let Some(step) = step {
            if !in_config.contains(step) {
                out.extend(live.get_mut(left).map(Value::take));
                left += 1;
                continue;
            }
            if taken.contains(step) {
                left += 1;
            }
        }
        if let (Some(want), Some(value)) = (want, config.get(right)) {
            taken.insert(want);
            take(want, value, &mut live, &mut out);
            right += 1;
            if next == Some(want) {
                next = shared.pop_front();
            }
        }
    }
    out
}

/// Where live items with a step are.
enum Place {
    At(usize),
    Many,
}
