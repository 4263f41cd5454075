//! Amounts of resources, and the names that resources have.

use std::cmp::Ordering;

use podium_meta::{ErrorType, FieldError, Quantity};
use serde_json::Value;

use super::formats;
use super::place::{Flaws, NEGATIVE, Place};
use crate::typed::json::quote;

const HUGE: &str = "hugepages-";
const OBJECTS: &[&str] = &[
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];
const COMPUTE: &[&str] = &[
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "requests.storage",
];

/// The amount at a place.
pub fn amount(value: &Value) -> Option<Quantity> {
    match value {
        Value::String(text) => Quantity::parse(text).ok(),
        Value::Number(number) => Quantity::parse(&number.to_string()).ok(),
        _ => None,
    }
}

/// How an amount compares with nothing.
pub fn sign(amount: &Quantity) -> Ordering {
    amount.compare(&Quantity::zero())
}

/// Whether an amount is a whole number.
pub fn is_whole(amount: &Quantity) -> bool {
    let mut rounded = amount.clone();
    rounded.round_up(0);
    rounded.compare(amount) == Ordering::Equal
}

/// The whole number of an amount, if it is not too large.
pub fn whole(amount: &Quantity) -> Option<i128> {
    let text = amount.to_string();
    let end = text.find(|sign: char| sign.is_ascii_alphabetic()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let factor: i128 = match unit {
        "" => 1,
        "k" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        "P" => 1_000_000_000_000_000,
        "E" => 1_000_000_000_000_000_000,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        "Ti" => 1 << 40,
        "Pi" => 1 << 50,
        "Ei" => 1 << 60,
        _ => return None,
    };
    digits.parse::<i128>().ok()?.checked_mul(factor)
}

pub fn is_huge(name: &str) -> bool {
    name.starts_with(HUGE)
}

/// A resource that the system itself knows.
pub fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// More of it can be promised than there is.
pub fn overcommits(name: &str) -> bool {
    is_native(name) && !is_huge(name)
}

fn is_extended(name: &str) -> bool {
    !is_native(name) && !name.starts_with("requests.") && formats::key(&format!("requests.{name}")).is_empty()
}

fn counts_whole(name: &str) -> bool {
    OBJECTS.contains(&name) || is_extended(name)
}

fn is_standard(name: &str) -> bool {
    OBJECTS.contains(&name)
        || COMPUTE.contains(&name)
        || name == "storage"
        || is_huge(name)
        || name.starts_with("requests.hugepages-")
}

/// Whether a quota may be of it by a name without a domain.
pub fn is_standard_quota(name: &str) -> bool {
    name != "storage" && is_standard(name)
}

fn named(place: &Place<'_>, name: &str, detail: &str, out: &mut Flaws) {
    out.invalid_as(&place.path, &quote(name), detail);
}

/// The name of any resource.
pub fn resource_name(name: &str, place: &Place<'_>, out: &mut Flaws) -> bool {
    let wrong = formats::key(name);
    wrong.iter().for_each(|detail| named(place, name, detail, out));
    if wrong.is_empty() && !name.contains('/') && !is_standard(name) {
        named(place, name, "must be a standard resource type or fully qualified", out);
        return false;
    }
    wrong.is_empty()
}

/// The name of a resource that containers use.
pub fn container_resource(name: &str, place: &Place<'_>, out: &mut Flaws) {
    resource_name(name, place, out);
    if !name.contains('/') {
        if !matches!(name, "cpu" | "memory" | "ephemeral-storage") && !is_huge(name) {
            named(place, name, "must be a standard resource for containers", out);
        }
    } else if !is_native(name) && !is_extended(name) {
        named(place, name, "doesn't follow extended resource name standard", out);
    }
}

/// The name of a resource that pods as a whole use.
fn pod_resource(name: &str, place: &Place<'_>, out: &mut Flaws) {
    if resource_name(name, place, out) && !matches!(name, "cpu" | "memory") && !is_huge(name) {
        out.unsupported_as(&place.path, &quote(name), &["cpu", "hugepages-", "memory"]);
    }
}

/// The name of a resource that there may be a quota of.
pub fn quota_resource(name: &str, place: &Place<'_>, out: &mut Flaws) {
    resource_name(name, place, out);
    if !name.contains('/') && !is_standard_quota(name) {
        named(place, name, "must be a standard resource for quota", out);
    }
}

/// An amount of a resource: not negative, and whole where halves make no sense.
pub fn resource_amount(name: &str, place: &Place<'_>, out: &mut Flaws) {
    let Some(amount) = amount(place.value) else { return };
    if sign(&amount) == Ordering::Less {
        named(place, &amount.to_string(), NEGATIVE, out);
    }
    if counts_whole(name) && !is_whole(&amount) {
        named(place, &amount.to_string(), "must be an integer", out);
    }
}

/// Whose needs are looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    Container,
    Pod,
}

/// Limits and requests; `claims` are the names of the pod's claims.
pub fn requirements(place: &Place<'_>, whose: Whose, claims: &[&str], out: &mut Flaws) {
    let (limits, requests) = (place.at("limits"), place.at("requests"));
    let (mut usual, mut huge) = (false, false);
    for (list, of_requests) in [(&limits, false), (&requests, true)] {
        for (name, field) in list.members() {
            match whose {
                Whose::Container => container_resource(name, &field, out),
                Whose::Pod => pod_resource(name, &field, out),
            }
            resource_amount(name, &field, out);
            let Some(own) = amount(field.value) else { continue };
            if of_requests {
                against_limit(name, &own, &limits, &requests, out);
            }
            if is_huge(name) {
                huge = true;
                if !divides(name, &own) {
                    let detail = format!("{own} is not positive integer multiple of {name}");
                    named(&field, &own.to_string(), &detail, out);
                }
            }
            usual |= matches!(name, "cpu" | "memory");
        }
    }
    if huge && !usual {
        out.forbidden(place, "HugePages require cpu or memory");
    }
    claim_names(&place.at("claims"), claims, out);
}

fn against_limit(name: &str, own: &Quantity, limits: &Place<'_>, requests: &Place<'_>, out: &mut Flaws) {
    match amount(limits.key(name).value) {
        Some(limit) => {
            let order = own.compare(&limit);
            if order != Ordering::Equal && !overcommits(name) {
                named(requests, &own.to_string(), &format!("must be equal to {name} limit of {limit}"), out);
            } else if order == Ordering::Greater {
                let detail = format!("must be less than or equal to {name} limit of {limit}");
                named(requests, &own.to_string(), &detail, out);
            }
        }
        None if !overcommits(name) => {
            out.required(limits, "Limit must be set for non overcommitable resources");
        }
        None => {}
    }
}

fn divides(name: &str, amount: &Quantity) -> bool {
    let size =
        name.strip_prefix(HUGE).and_then(|size| Quantity::parse(size).ok()).and_then(|size| whole(&size));
    match (size, whole(amount)) {
        (Some(size), Some(amount)) if size > 0 => amount % size == 0,
        _ => false,
    }
}

fn claim_names(place: &Place<'_>, known: &[&str], out: &mut Flaws) {
    let mut seen: Vec<String> = Vec::new();
    for claim in place.items() {
        let (name, request) = (claim.at("name").text(), claim.at("request").text());
        if name.is_empty() {
            out.required(&claim, "");
            continue;
        }
        if seen.iter().any(|one| one == name) {
            out.duplicate_as(&claim.path, &quote(name));
        } else {
            let mut key = name.to_owned();
            if !request.is_empty() {
                out.wrong(&claim.at("request"), formats::label(request));
                key = format!("{name}/{request}");
            }
            let begins = format!("{name}/");
            if seen.contains(&key) {
                out.duplicate_as(&claim.path, &quote(&key));
            } else if request.is_empty() && seen.iter().any(|one| one.starts_with(&begins)) {
                out.duplicate_as(&claim.path, &quote(name));
            }
            seen.push(key);
        }
        if !known.contains(&name) {
            let mut sorted = known.to_vec();
            sorted.sort_unstable();
            let rest = if sorted.is_empty() {
                " which is empty".to_owned()
            } else {
                format!(": {}", sorted.join(", "))
            };
            let detail = format!("must be one of the names in pod.spec.resourceClaims{rest}");
            out.push(FieldError::new(ErrorType::NotFound, &claim.path, &quote(name), &detail));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn requests_stay_within_limits() {
        let value = json!({"limits": {"cpu": "1", "memory": "1Gi", "a.b/c": "2"},
            "requests": {"cpu": "1500m", "memory": "1Gi", "a.b/c": "1", "x": "1"}});
        let mut out = Flaws::default();
        requirements(&Place { value: &value, path: "r".to_owned() }, Whose::Container, &[], &mut out);
        let lines: Vec<String> = out.list.iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                "r.requests: Invalid value: \"1\": must be equal to a.b/c limit of 2",
                "r.requests: Invalid value: \"1500m\": must be less than or equal to cpu limit of 1",
                "r.requests[x]: Invalid value: \"x\": must be a standard resource type or fully qualified",
                "r.requests[x]: Invalid value: \"x\": must be a standard resource for containers",
            ]
        );
        assert_eq!(whole(&Quantity::parse("4Mi").unwrap()), Some(4 << 20));
        assert!(divides("hugepages-2Mi", &Quantity::parse("4Mi").unwrap()));
    }
}
