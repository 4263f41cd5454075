//! ConfigMaps, Secrets, Namespaces and Nodes.

use podium_meta::{ErrorType, FieldError};
use serde_json::Value;

use super::addresses;
use super::amounts;
use super::formats;
use super::metadata;
use super::place::{Flaws, IMMUTABLE, Place, go_json};
use super::pods;
use super::rules::{Rule, check};
use crate::typed::decode_base64;
use crate::typed::json::quote;

const MOST: usize = 1024 * 1024;

fn bytes(value: &Value) -> Vec<u8> {
    decode_base64(value.as_str().unwrap_or_default().as_bytes()).unwrap_or_default()
}

fn keys(place: &Place<'_>, out: &mut Flaws) {
    for (key, field) in place.members() {
        for message in formats::data_key(key) {
            out.invalid_as(&field.path, &quote(key), &message);
        }
    }
}

pub fn config_map(object: &Place<'_>, out: &mut Flaws) {
    let (texts, binary) = (object.at("data"), object.at("binaryData"));
    let mut size = 0;
    for (key, field) in texts.members() {
        for message in formats::data_key(key) {
            out.invalid_as(&field.path, &quote(key), &message);
        }
        if binary.value.get(key).is_some() {
            out.invalid_as(&field.path, &quote(key), "duplicate of key present in binaryData");
        }
        size += field.text().len();
    }
    keys(&binary, out);
    size += binary.members().iter().map(|(_, field)| bytes(field.value).len()).sum::<usize>();
    if size > MOST {
        out.too_long("[]", MOST);
    }
}

pub fn frozen_map(new: &Place<'_>, old: &Place<'_>, out: &mut Flaws) {
    frozen(new, old, &["data", "binaryData"], out);
}

fn frozen(new: &Place<'_>, old: &Place<'_>, keys: &[&str], out: &mut Flaws) {
    if !old.at("immutable").truth() {
        return;
    }
    let detail = "field is immutable when `immutable` is set";
    if !new.at("immutable").truth() {
        out.forbidden(&new.at("immutable"), detail);
    }
    for key in keys {
        if new.at(key).value != old.at(key).value {
            out.forbidden(&new.at(key), detail);
        }
    }
}

/// What a Secret of a type has to have; any of those in one list is enough.
const TYPES: &[(&str, &[&[&str]])] = &[
    ("kubernetes.io/dockercfg", &[&[".dockercfg"]]),
    ("kubernetes.io/dockerconfigjson", &[&[".dockerconfigjson"]]),
    ("kubernetes.io/basic-auth", &[&["username", "password"]]),
    ("kubernetes.io/ssh-auth", &[&["ssh-privatekey"]]),
    ("kubernetes.io/tls", &[&["tls.crt"], &["tls.key"]]),
];

pub fn secret(object: &Place<'_>, out: &mut Flaws) {
    let data = object.at("data");
    keys(&data, out);
    let size: usize = data.members().iter().map(|(_, field)| bytes(field.value).len()).sum();
    if size > MOST {
        out.too_long("data", MOST);
    }
    let kind = object.at("type").text();
    let account = object.at("metadata").at("annotations").key("kubernetes.io/service-account.name");
    if kind == "kubernetes.io/service-account-token" && account.text().is_empty() {
        out.required(&account, "");
    }
    let needed = TYPES.iter().find(|(name, _)| *name == kind).map(|(_, needed)| *needed).unwrap_or_default();
    for group in needed {
        let there = |key: &&str| match kind {
            "kubernetes.io/ssh-auth" => !data.key(key).text().is_empty(),
            _ => data.value.get(*key).is_some(),
        };
        if !group.iter().any(there) {
            group.iter().for_each(|key| out.required(&data.key(key), ""));
        }
    }
    if kind.starts_with("kubernetes.io/docker")
        && let Some(field) = needed.first().and_then(|group| group.first()).map(|key| data.key(key))
        && field.is()
        && let Some(why) = no_json_object(&bytes(field.value))
    {
        out.invalid_as(&field.path, "\"<secret contents redacted>\"", &why);
    }
}

/// Why bytes are no object in JSON, in Go's words.
fn no_json_object(bytes: &[u8]) -> Option<String> {
    match crate::typed::json::problem(bytes) {
        Some(why) => Some(why),
        None => match serde_json::from_slice::<Value>(bytes) {
            Ok(Value::Object(_) | Value::Null) | Err(_) => None,
            Ok(other) => {
                let what = match other {
                    Value::Array(_) => "array",
                    Value::String(_) => "string",
                    Value::Number(_) => "number",
                    _ => "bool",
                };
                Some(format!("json: cannot unmarshal {what} into Go value of type map[string]interface {{}}"))
            }
        },
    }
}

pub fn secret_change(new: &Place<'_>, old: &Place<'_>, out: &mut Flaws) {
    if new.at("type").text() != old.at("type").text() {
        out.invalid_text(&new.at("type"), IMMUTABLE);
    }
    frozen(new, old, &["data"], out);
}

fn finalizer(one: &Place<'_>, out: &mut Flaws) {
    out.wrong(one, formats::key(one.text()));
    metadata::known_finalizer(one, out);
}

pub fn namespace(object: &Place<'_>, out: &mut Flaws) {
    // The server does not say which one.
    object.each("spec.finalizers").iter().for_each(|one| finalizer(&one.moved("spec.finalizers"), out));
}

pub fn namespace_finalize(object: &Place<'_>, out: &mut Flaws) {
    object.each("spec.finalizers").iter().for_each(|one| finalizer(one, out));
}

pub fn namespace_status(object: &Place<'_>, out: &mut Flaws) {
    let phase = object.at("status.phase").moved("status.Phase");
    let (expected, state) = match object.at("metadata").has("deletionTimestamp") {
        false => ("Active", "empty"),
        true => ("Terminating", "not empty"),
    };
    if phase.text() != expected {
        out.invalid_text(&phase, &format!("may only be '{expected}' if `deletionTimestamp` is {state}"));
    }
}

pub fn node(object: &Place<'_>, out: &mut Flaws) {
    // Taints are said to be in the metadata.
    pods::taints(&object.at("spec.taints").moved("metadata.taints"), out);
    node_amounts(object, out);
    let ranges = object.at("spec.podCIDRs");
    ranges.items().for_each(|range| addresses::range(&range, range.text(), &[], out));
    let long = ranges.items().filter(|range| range.text().contains(':')).count();
    let broken = ranges.items().position(|range| addresses::network(range.text()).is_none());
    if let Some((at, range)) = broken.filter(|_| ranges.count() > 1).map(|at| (at, ranges.index(at))) {
        let detail = format!(
            "invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[{at}]: <nil> (invalid CIDR \
             address: {})",
            range.text()
        );
        out.push(FieldError::without_value(ErrorType::Internal, &ranges.path, &detail));
    }
    if ranges.count() > 2 || ranges.count() == 2 && (long != 1 || broken.is_some()) {
        out.invalid(&ranges, "may specify no more than one CIDR for each IP family");
    }
}

fn node_amounts(object: &Place<'_>, out: &mut Flaws) {
    for list in ["status.capacity", "status.allocatable"] {
        for (name, amount) in object.at(list).members() {
            amounts::resource_amount(name, &amount.moved(format!("{list}.{name}")), out);
        }
    }
}

pub fn node_change(new: &Place<'_>, old: &Place<'_>, out: &mut Flaws) {
    node_amounts(new, out);
    let mut seen: Vec<&Value> = Vec::new();
    for address in new.each("status.addresses") {
        if seen.contains(&address.value) {
            let shown = format!(
                "{{\"Type\":{},\"Address\":{}}}",
                go_json(address.at("type").value),
                go_json(address.at("address").value)
            );
            out.duplicate_as(&address.path, &shown);
        }
        seen.push(address.value);
    }
    let (ranges, before) = (new.at("spec.podCIDRs"), old.at("spec.podCIDRs"));
    let detail = "node updates may not change podCIDR except from \"\" to valid";
    if before.count() > 0 && ranges.count() != before.count() {
        out.forbidden(&ranges, detail);
    } else {
        let changed = before.items().zip(ranges.items()).filter(|(old, new)| old.text() != new.text());
        changed.for_each(|_| out.forbidden(&ranges, detail));
    }
    let (id, was) = (new.at("spec.providerID"), old.at("spec.providerID"));
    if !was.text().is_empty() && was.text() != id.text() {
        out.forbidden(&id, "node updates may not change providerID except from \"\" to valid");
    }
    pods::taints(&new.at("spec.taints").moved("metadata.taints"), out);
    if new.at("spec.externalID").text() != old.at("spec.externalID").text() {
        out.forbidden(&new.at("spec.externalID"), "may not be updated");
    }
}

pub fn runtime_class(object: &Place<'_>, out: &mut Flaws) {
    check(object, &[Rule::Name("handler", formats::label)], out);
    if object.has("overhead") {
        let value = serde_json::json!({"limits": object.at("overhead").at("podFixed").value});
        let place = Place { value: &value, path: "overhead".to_owned() };
        amounts::requirements(&place, amounts::Whose::Container, &[], out);
    }
    check(object, &[Rule::Labels("scheduling.nodeSelector")], out);
    pods::tolerations(&object.at("scheduling.tolerations"), out);
}

pub fn handler_stays(new: &Place<'_>, old: &Place<'_>, out: &mut Flaws) {
    out.fixed_text(&new.at("handler"), &old.at("handler"));
}
