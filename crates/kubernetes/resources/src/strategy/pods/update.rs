//! What may change of a pod that is there.

use serde_json::{Map, Value};

use super::super::addresses;
use super::super::formats;
use super::super::inner;
use super::super::place::{Flaws, Place, between};
use super::super::selectors;
use super::{annotations, image_is_trimmed, pod_itself, tolerations};

const MIRROR: &str = "kubernetes.io/config.mirror";
const OLD_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

/// A change of a pod through its main address.
pub fn update(new: &Place<'_>, old: &Place<'_>, out: &mut Flaws) {
    pod_itself(new, out);
    annotation_changes(new, old, out);
    let (spec, before) = (new.at("spec"), old.at("spec"));
    for list in ["containers", "initContainers"] {
        let own = spec.at(list);
        if own.count() != before.at(list).count() {
            return out.forbidden(&own, "pod updates may not add or remove containers");
        }
        for container in own.items() {
            if container.at("image").text().is_empty() {
                out.required(&container.at("image"), "");
            }
            image_is_trimmed(&container, out);
        }
    }
    let (deadline, was) = (spec.at("activeDeadlineSeconds"), before.at("activeDeadlineSeconds"));
    if deadline.is() {
        if !(0..=i64::from(i32::MAX)).contains(&deadline.number()) {
            return out.invalid_number(&deadline, &between(0, i64::from(i32::MAX)));
        }
        if was.is() && was.number() < deadline.number() {
            return out.invalid_number(&deadline, "must be less than or equal to previous value");
        }
    } else if was.is() {
        out.invalid(&deadline, "must not update from a positive integer to nil value");
    }
    only_more_tolerations(&spec.at("tolerations"), &before.at("tolerations"), out);
    only_fewer_gates(&spec.at("schedulingGates"), &before.at("schedulingGates"), out);
    if spec.value == before.value {
        return;
    }
    let masked = masked(spec.value, before.value);
    if &masked != before.value {
        let diff = inner::difference("core.PodSpec", before.value, &masked);
        out.forbidden(
            &spec,
            &format!(
                "pod updates may not change fields other than `spec.containers[*].image`,\
                 `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to \
                 existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was \
                 previously negative)\n{diff}"
            ),
        );
    }
}

/// The new specification with all that may change as it was before.
fn masked(new: &Value, old: &Value) -> Value {
    let mut out = new.clone();
    let Some(spec) = out.as_object_mut() else { return out };
    for list in ["containers", "initContainers"] {
        let before = old.get(list).and_then(Value::as_array).into_iter().flatten();
        let own = spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
        for (container, before) in own.zip(before) {
            keep(container.as_object_mut(), before, "image");
        }
    }
    let keys = ["activeDeadlineSeconds", "schedulingGates", "tolerations"];
    keys.iter().for_each(|key| keep(Some(spec), old, key));
    let grace = |value: &Value| value.get("terminationGracePeriodSeconds").and_then(Value::as_i64);
    if grace(old).is_some_and(|seconds| seconds < 0) && grace(new) == Some(1) {
        keep(Some(spec), old, "terminationGracePeriodSeconds");
    }
    if old.get("schedulingGates").and_then(Value::as_array).is_some_and(|gates| !gates.is_empty()) {
        keep(Some(spec), old, "nodeSelector");
        let nodes = old.pointer("/affinity/nodeAffinity");
        match (spec.get_mut("affinity").and_then(Value::as_object_mut), nodes) {
            (Some(affinity), Some(nodes)) => {
                affinity.insert("nodeAffinity".to_owned(), nodes.clone());
            }
            (Some(affinity), None) => {
                affinity.remove("nodeAffinity");
                if affinity.is_empty() && old.get("affinity").is_none() {
                    spec.remove("affinity");
                }
            }
            (None, Some(nodes)) => {
                spec.insert("affinity".to_owned(), serde_json::json!({"nodeAffinity": nodes}));
            }
            (None, None) => {}
        }
    }
    out
}

fn keep(object: Option<&mut Map<String, Value>>, old: &Value, key: &str) {
    let Some(object) = object else { return };
    match old.get(key) {
        Some(value) => drop(object.insert(key.to_owned(), value.clone())),
        None => drop(object.remove(key)),
    }
}

fn annotation_changes(new: &Place<'_>, old: &Place<'_>, out: &mut Flaws) {
    let (own, before) = (new.at("metadata").at("annotations"), old.at("metadata").at("annotations"));
    for (key, value) in before.members() {
        if own.value.get(key) == Some(value.value) {
            continue;
        }
        if key.starts_with(OLD_ARMOR) {
            out.forbidden(&own.key(key), "may not remove or update AppArmor annotations");
        }
        if key == MIRROR {
            out.forbidden(&own.key(key), "may not remove or update mirror pod annotation");
        }
    }
    for (key, value) in own.members() {
        if before.value.get(key).is_some() {
            continue;
        }
        if key.starts_with(OLD_ARMOR) {
            out.forbidden(&value, "may not add AppArmor annotations");
        }
        if key == MIRROR {
            out.forbidden(&value, "may not add mirror pod annotation");
        }
    }
    annotations(&own, &new.at("spec"), out);
}

fn only_more_tolerations(new: &Place<'_>, old: &Place<'_>, out: &mut Flaws) {
    let plain = |one: &Place<'_>| {
        let mut value = one.value.clone();
        if let Some(map) = value.as_object_mut() {
            map.remove("tolerationSeconds");
        }
        value
    };
    let own: Vec<Value> = new.items().map(|one| plain(&one)).collect();
    if old.items().any(|one| !own.contains(&plain(&one))) {
        let detail = "existing toleration can not be modified except its tolerationSeconds";
        return out.forbidden(new, detail);
    }
    tolerations(new, out);
}

fn only_fewer_gates(new: &Place<'_>, old: &Place<'_>, out: &mut Flaws) {
    let known: Vec<&str> = old.items().map(|gate| gate.at("name").text()).collect();
    for gate in new.items() {
        let name = gate.at("name");
        if !known.contains(&name.text()) {
            let detail = format!("only deletion is allowed, but found new scheduling gate '{}'", name.text());
            out.forbidden(&name, &detail);
        }
    }
}

/// A change of a pod's status.
fn claims_of(pod: &Place<'_>, out: &mut Flaws) {
    let known = pod.each("spec.resourceClaims");
    let mut seen: Vec<String> = Vec::new();
    for claim in pod.each("status.resourceClaimStatuses") {
        let name = claim.at("name");
        if !known.iter().any(|one| one.at("name").text() == name.text()) {
            out.invalid_text(&name, "must match the name of an entry in `spec.resourceClaims`");
        }
        if seen.iter().any(|one| one == name.text()) {
            out.duplicate(&name);
        }
        seen.push(name.text().to_owned());
        let object = claim.at("resourceClaimName");
        if object.is() {
            out.wrong(&object, formats::subdomain(object.text()));
        }
    }
}

pub fn status(new: &Place<'_>, old: &Place<'_>, out: &mut Flaws) {
    annotation_changes(new, old, out);
    let (status, before) = (new.at("status"), old.at("status"));
    for condition in status.each("conditions") {
        let generation = condition.at("observedGeneration");
        if generation.number() < 0 {
            out.invalid_number(&generation, "must be a non-negative integer");
        }
        let kind = condition.at("type").moved(condition.child("Type"));
        if !matches!(kind.text(), "PodScheduled" | "Ready" | "Initialized") {
            selectors::key(&kind, out);
        }
    }
    let nominated = status.at("nominatedNodeName");
    if !nominated.text().is_empty() && nominated.text() != before.at("nominatedNodeName").text() {
        out.wrong(&nominated, formats::subdomain(nominated.text()));
        if !old.at("spec.nodeName").text().is_empty() {
            out.forbidden(&nominated, "may not be set on pods that are already bound to a node");
        }
    }
    let generation = status.at("observedGeneration");
    if generation.number() < 0 {
        out.invalid_number(&generation, "must be a non-negative integer");
    }
    if status.at("qosClass").text() != before.at("qosClass").text() {
        out.invalid_text(&status.at("qosClass"), super::super::place::IMMUTABLE);
    }
    for (list, own) in [
        ("containerStatuses", Some("containers")),
        ("initContainerStatuses", Some("initContainers")),
        ("ephemeralContainerStatuses", None),
    ] {
        ended(&status.at(list), &before.at(list), &old.at("spec"), own, out);
    }
    claims_of(new, out);
    addresses_of(&status, &before, "podIPs", out);
    addresses_of(&status, &before, "hostIPs", out);
}

fn addresses_of(status: &Place<'_>, before: &Place<'_>, list: &str, out: &mut Flaws) {
    let all = status.at(list);
    let known: Vec<&str> = before.each(list).iter().map(|one| one.at("ip").text()).collect();
    if list == "hostIPs" && all.count() > 0 {
        let first = all.index(0).at("ip");
        if status.at("hostIP").text() != first.text() {
            out.invalid_text(&first, "must be equal to `hostIP`");
        }
    }
    for one in all.items() {
        addresses::address(&one.at("ip").moved(&one.path), &known, out);
    }
    let long = all.items().filter(|one| addresses::is_long(one.at("ip").text())).count();
    if all.count() > 2 || all.count() == 2 && long != 1 {
        let shown: Vec<Value> =
            all.items().map(|one| serde_json::json!({"IP": one.at("ip").text()})).collect();
        let detail = "may specify no more than one IP for each IP family";
        out.invalid_as(&all.path, &super::super::place::go_json(&Value::Array(shown)), detail);
    }
}

/// What has ended stays so, unless it starts again.
fn ended(new: &Place<'_>, old: &Place<'_>, spec: &Place<'_>, list: Option<&str>, out: &mut Flaws) {
    let all = ["containers", "initContainers", "ephemeralContainers"];
    let restarts_all = all.iter().flat_map(|list| spec.each(list)).any(|container| {
        let rules = container.each("restartPolicyRules");
        rules.iter().any(|rule| rule.at("action").text() == "RestartAllContainers")
    });
    if list.is_some() && restarts_all {
        return;
    }
    for (at, before) in old.items().enumerate() {
        let end = before.at("state").at("terminated");
        let name = before.at("name").text();
        let now = new.items().find(|one| one.at("name").text() == name);
        let lives = now.is_some_and(|one| !one.at("state").has("terminated"));
        if !end.is() || !lives {
            continue;
        }
        let container =
            list.and_then(|list| spec.each(list).into_iter().find(|one| one.at("name").text() == name));
        let again = container.is_some_and(|one| starts_again(spec, &one, end.at("exitCode").number()));
        if !again {
            let place = Place { value: &Value::Null, path: format!("{}[{at}].state", new.path) };
            out.forbidden(&place, "may not be transitioned to non-terminated state");
        }
    }
}

fn starts_again(spec: &Place<'_>, container: &Place<'_>, code: i64) -> bool {
    for rule in container.each("restartPolicyRules") {
        let codes = rule.at("exitCodes");
        let listed = codes.each("values").iter().any(|one| one.number() == code);
        let matches = match codes.at("operator").text() {
            "In" => listed,
            "NotIn" => !listed,
            _ => false,
        };
        if matches {
            return rule.at("action").text() == "Restart";
        }
    }
    let own = container.at("restartPolicy");
    match if own.is() { own.text() } else { spec.at("restartPolicy").text() } {
        "Never" => false,
        "OnFailure" => code != 0,
        _ => true,
    }
}
