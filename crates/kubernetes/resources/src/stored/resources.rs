//! Amounts of resources, and devices.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use podium_meta::Quantity;
use serde_json::{Map, Value};

use super::view::{Object, has, part, text};

/// The finest amount that is kept: thousandths.
const MILLI: i32 = -3;

/// Rounds all amounts of a list of resources up to thousandths.
pub fn round(value: &mut Value) {
    for amount in value.as_object_mut().into_iter().flat_map(Map::values_mut) {
        if let Some(mut quantity) = amount.as_str().and_then(|text| Quantity::parse(text).ok()) {
            quantity.round_up(MILLI);
            *amount = Value::String(quantity.to_string());
        }
    }
}

/// Adds what another list of the object has and this one lacks.
pub fn complete_from(object: &mut Object, key: &str, from: &str) {
    let Some(Value::Object(other)) = object.get(from).cloned() else { return };
    if other.is_empty() {
        return;
    }
    if let Some(list) = super::view::made(object, key) {
        for (name, amount) in other {
            list.entry(name).or_insert(amount);
        }
    }
}

/// The resources of a pod as a whole follow from those of its containers, once some are given.
pub fn pod_level(spec: &mut Object) {
    let given = |spec: &Object, key: &str| {
        spec.get("resources").and_then(|resources| resources.get(key)).and_then(Value::as_object).cloned()
    };
    if !has(spec, "resources") {
        return;
    }
    let (mut limits, mut requests) = (given(spec, "limits"), given(spec, "requests"));
    let some = |list: &Option<Object>| list.as_ref().is_some_and(|list| !list.is_empty());
    let huge = |name: &str| name.starts_with("hugepages-");
    let known = |name: &str| name == "cpu" || name == "memory" || huge(name);
    if some(&limits) || some(&requests) {
        for (name, amount) in aggregate(spec, "limits") {
            if huge(&name) && !requests.as_ref().is_some_and(|list| list.contains_key(&name)) {
                let amount = Value::String(amount.to_string());
                limits.get_or_insert_default().entry(name).or_insert(amount);
            }
        }
    }
    if some(&limits) {
        let own = requests.get_or_insert_default();
        for (name, amount) in aggregate(spec, "requests") {
            if known(&name) && !huge(&name) {
                own.entry(name).or_insert(Value::String(amount.to_string()));
            }
        }
        for (name, amount) in limits.iter().flatten() {
            if known(name) {
                own.entry(name.clone()).or_insert(amount.clone());
            }
        }
    }
    let Some(resources) = part(spec, "resources") else { return };
    for (key, list) in [("limits", limits), ("requests", requests)] {
        if let Some(list) = list.filter(|list| !list.is_empty()) {
            resources.insert(key.to_owned(), Value::Object(list));
        }
    }
}

/// What all containers need together: those that run at once are added, those before them need the most of each.
fn aggregate(spec: &Object, key: &str) -> BTreeMap<String, Quantity> {
    let lists = |list: &str| {
        let containers = spec.get(list).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        containers
            .iter()
            .map(|container| {
                let amounts = container.pointer(&format!("/resources/{key}")).and_then(Value::as_object);
                let read = |(name, amount): (&String, &Value)| {
                    Some((name.clone(), Quantity::parse(amount.as_str()?).ok()?))
                };
                let always = container.get("restartPolicy").and_then(Value::as_str) == Some("Always");
                (always, amounts.into_iter().flatten().filter_map(read).collect::<BTreeMap<_, _>>())
            })
            .collect::<Vec<_>>()
    };
    let (mut all, mut staying, mut before) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for (_, amounts) in lists("containers") {
        add(&mut all, &amounts);
    }
    for (always, mut amounts) in lists("initContainers") {
        if always {
            add(&mut all, &amounts);
            add(&mut staying, &amounts);
            amounts = staying.clone();
        } else {
            add(&mut amounts, &staying);
        }
        most(&mut before, &amounts);
    }
    most(&mut all, &before);
    all
}

fn add(to: &mut BTreeMap<String, Quantity>, more: &BTreeMap<String, Quantity>) {
    for (name, amount) in more {
        match to.get_mut(name) {
            Some(sum) => sum.add(amount),
            None => drop(to.insert(name.clone(), amount.clone())),
        }
    }
}

fn most(to: &mut BTreeMap<String, Quantity>, more: &BTreeMap<String, Quantity>) {
    for (name, amount) in more {
        if to.get(name).is_none_or(|known| amount.compare(known) == Ordering::Greater) {
            to.insert(name.clone(), amount.clone());
        }
    }
}

/// A node has all that it can have.
pub fn node(status: &mut Object) {
    if !has(status, "allocatable")
        && let Some(capacity) = status.get("capacity").cloned()
    {
        status.insert("allocatable".to_owned(), capacity);
    }
}

/// An empty list is not written.
pub fn status_through(status: &mut Object) {
    if super::view::count(status, "allocatable") == 0 {
        status.remove("allocatable");
    }
}

/// The first range of addresses has two places.
pub fn node_through(spec: &mut Object) {
    let first = spec.get("podCIDRs").and_then(|list| list.get(0)).and_then(Value::as_str).map(str::to_owned);
    let single = text(spec, "podCIDR").to_owned();
    match first {
        Some(first) if single.is_empty() && !first.is_empty() => {
            spec.insert("podCIDR".to_owned(), first.into());
        }
        Some(first) if first == single => {}
        _ if !single.is_empty() => {
            spec.insert("podCIDRs".to_owned(), Value::from(vec![single]));
        }
        _ => {}
    }
}

/// Limits of containers follow from each other.
pub fn limit_range(item: &mut Object) {
    if text(item, "type") == "Container" {
        complete_from(item, "default", "max");
        complete_from(item, "defaultRequest", "default");
        complete_from(item, "defaultRequest", "min");
    }
}

/// A request for a device is for one.
pub fn device_request(request: &mut Object) {
    if text(request, "allocationMode").is_empty() {
        request.insert("allocationMode".to_owned(), "ExactCount".into());
    }
    if text(request, "allocationMode") == "ExactCount" && !has(request, "count") {
        request.insert("count".to_owned(), 1.into());
    }
}

/// What a device takes of a node is taken once.
pub fn device(device: &mut Object) {
    let mappings = part(device, "nodeAllocatableResourceMappings").into_iter().flat_map(Map::values_mut);
    for mapping in mappings.filter_map(Value::as_object_mut) {
        super::view::set(mapping, "allocationMultiplier", "1");
    }
}
