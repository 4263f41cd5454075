//! The order of merged lists.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::strategic::Error;

/// Below this size Go sorts by insertion, and an order that is none shows.
const INSERTED: usize = 20;

/// What tells an item from others: the value of its key, or itself; empty where it has no key.
pub(super) fn mark(item: &Value, key: Option<&str>) -> String {
    match key {
        Some(key) => item.get(key).map(Value::to_string).unwrap_or_default(),
        None => item.to_string(),
    }
}

/// The first place of each item in a list.
pub(super) fn places(list: &[String]) -> HashMap<&str, usize> {
    let mut places = HashMap::with_capacity(list.len());
    for (at, mark) in list.iter().enumerate() {
        places.entry(mark.as_str()).or_insert(at);
    }
    places
}

/// Splits items into those that are in a list and those that are not.
pub(super) fn partition(items: Vec<Value>, list: &[String], key: Option<&str>) -> (Vec<Value>, Vec<Value>) {
    let wanted: HashSet<&str> = list.iter().map(String::as_str).collect();
    items.into_iter().partition(|item| wanted.contains(mark(item, key).as_str()))
}

/// Items of the patch in the order of the patch, those that only the server has in the order of the live list, and
/// these where they were relative to the former, as far as both are known.
pub(super) fn join(
    patch: Vec<Value>,
    server: Vec<Value>,
    patch_order: &[String],
    server_order: &[String],
    key: Option<&str>,
) -> Vec<Value> {
    let (wanted, live) = (places(patch_order), places(server_order));
    let patch = sort(patch, &wanted, key);
    let server = sort(server, &live, key);
    let place = |item: &Value| live.get(mark(item, key).as_str()).copied();
    let mut out = Vec::with_capacity(patch.len() + server.len());
    let (mut lefts, mut rights) = (server.into_iter().peekable(), patch.into_iter().peekable());
    loop {
        let left_first = match (lefts.peek(), rights.peek()) {
            (Some(left), Some(right)) => {
                matches!((place(left), place(right)), (Some(left), Some(right)) if left < right)
            }
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => return out,
        };
        out.extend(if left_first { lefts.next() } else { rights.next() });
    }
}

/// Sorts by place; items that are to be deleted go to the end.
fn sort(items: Vec<Value>, places: &HashMap<&str, usize>, key: Option<&str>) -> Vec<Value> {
    let deletes = |item: &Value| key.is_some() && item.get("$patch").is_some_and(|word| word == "delete");
    let (last, items): (Vec<Value>, Vec<Value>) = items.into_iter().partition(deletes);
    let mut items: Vec<(Option<usize>, Value)> =
        items.into_iter().map(|item| (places.get(mark(&item, key).as_str()).copied(), item)).collect();
    let before = |a: Option<usize>, b: Option<usize>| match (a, b) {
        (Some(a), Some(b)) => a < b,
        _ => true,
    };
    if items.iter().all(|(place, _)| place.is_some()) || items.len() > INSERTED {
        items.sort_by_key(|(place, _)| *place);
    } else {
        for at in 1..items.len() {
            for at in (1..=at).rev() {
                let (Some((a, _)), Some((b, _))) = (items.get(at), items.get(at - 1)) else { break };
                if !before(*a, *b) {
                    break;
                }
                items.swap(at, at - 1);
            }
        }
    }
    items.into_iter().map(|(_, item)| item).chain(last).collect()
}

/// Every item must be an object with the key.
pub(super) fn check(items: &[Value], key: &str) -> Result<(), Error> {
    for item in items {
        match item {
            Value::Object(map) if map.contains_key(key) => {}
            Value::Object(map) => return Err(Error::no_key(map, key)),
            other => return Err(Error::not_a_map(other)),
        }
    }
    Ok(())
}
