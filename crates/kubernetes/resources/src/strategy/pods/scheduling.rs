//! Where pods run: tolerations, affinities, spreading, gates, claims.

use super::super::formats;
use super::super::place::{Flaws, Place, go_json};
use super::super::rules::one_of;
use super::super::selectors;
use super::Scene;
use crate::typed::json::quote;

const EFFECTS: &[&str] = &["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// What a pod tolerates.
pub fn tolerations(list: &Place<'_>, out: &mut Flaws) {
    for one in list.items() {
        let (key, operator, value) = (one.at("key"), one.at("operator"), one.at("value"));
        let effect = one.at("effect");
        if !key.text().is_empty() {
            selectors::key(&key, out);
        } else if operator.text() != "Exists" {
            out.invalid_text(
                &operator,
                "operator must be Exists when `key` is empty, which means \"match all values and all keys\"",
            );
        }
        if one.has("tolerationSeconds") && effect.text() != "NoExecute" {
            out.invalid_text(&effect, "effect must be 'NoExecute' when `tolerationSeconds` is set");
        }
        match operator.text() {
            "" | "Equal" => {
                let wrong = formats::label_value(value.text());
                if !wrong.is_empty() {
                    out.invalid_as(&operator.path, &quote(value.text()), &wrong.join(";"));
                }
            }
            "Exists" if !value.text().is_empty() => {
                let detail = "value must be empty when `operator` is 'Exists'";
                out.invalid_as(&operator.path, &quote(value.text()), detail);
            }
            "Exists" => {}
            "Lt" | "Gt" => out.unsupported(&operator, &["Equal", "Exists", "Lt", "Gt"]),
            _ => out.unsupported(&operator, &["Equal", "Exists"]),
        }
        if !effect.text().is_empty() && !EFFECTS.contains(&effect.text()) {
            out.unsupported(&effect, EFFECTS);
        }
    }
}

/// What a node keeps pods away with.
pub fn taints(list: &Place<'_>, out: &mut Flaws) {
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for one in list.items() {
        selectors::key(&one.at("key"), out);
        let wrong = formats::label_value(one.at("value").text());
        if !wrong.is_empty() {
            out.invalid_text(&one.at("value"), &wrong.join(";"));
        }
        one_of(&one.at("effect"), EFFECTS, out);
        let key = (one.at("effect").text(), one.at("key").text());
        if seen.contains(&key) {
            let shown = format!(
                "{{\"Key\":{},\"Value\":{},\"Effect\":{},\"TimeAdded\":{}}}",
                go_json(&key.1.into()),
                go_json(&one.at("value").text().into()),
                go_json(&key.0.into()),
                go_json(one.at("timeAdded").value)
            );
            let detail = "taints must be unique by key and effect pair";
            out.push(podium_meta::FieldError::new(
                podium_meta::ErrorType::Duplicate,
                &one.path,
                &shown,
                detail,
            ));
        } else {
            seen.push(key);
        }
    }
}

/// Which nodes and which pods a pod wants to be near or far of.
pub fn affinity(place: &Place<'_>, out: &mut Flaws) {
    let (required, preferred) =
        ("requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution");
    let nodes = place.at("nodeAffinity");
    if nodes.has(required) {
        selectors::node_selector(&nodes.at(required), out);
    }
    for term in nodes.each(preferred) {
        weight(&term, out);
        selectors::node_term(&term.at("preference"), true, out);
    }
    for key in ["podAffinity", "podAntiAffinity"] {
        let pods = place.at(key);
        pods.each(required).iter().for_each(|one| term(one, out));
        for one in pods.each(preferred) {
            weight(&one, out);
            term(&one.at("podAffinityTerm"), out);
        }
    }
}

fn weight(term: &Place<'_>, out: &mut Flaws) {
    if !(1..=100).contains(&term.at("weight").number()) {
        out.invalid_number(&term.at("weight"), "must be in the range 1-100");
    }
}

fn term(place: &Place<'_>, out: &mut Flaws) {
    selectors::selector(&place.at("labelSelector"), out);
    selectors::selector(&place.at("namespaceSelector"), out);
    for name in place.each("namespaces") {
        out.wrong(&name.moved(place.child("namespace")), formats::label(name.text()));
    }
    label_keys(place, out);
    if place.at("topologyKey").text().is_empty() {
        out.required(&place.at("topologyKey"), "can not be empty");
    }
    selectors::key(&place.at("topologyKey"), out);
}

/// Labels whose values the pod's own labels give.
fn label_keys(place: &Place<'_>, out: &mut Flaws) {
    let selector = place.at("labelSelector");
    let (same, other) = (place.at("matchLabelKeys"), place.at("mismatchLabelKeys"));
    for keys in [&same, &other] {
        if keys.count() > 0 && !selector.is() {
            out.forbidden(keys, "must not be specified when labelSelector is not set");
        } else {
            keys.items().for_each(|key| selectors::key(&key, out));
        }
    }
    if selector.is() {
        let mut known: Vec<&str> = selector.at("matchLabels").members().iter().map(|(key, _)| *key).collect();
        for one in selector.each("matchExpressions") {
            let key = one.at("key").text();
            let at = same.items().collect::<Vec<_>>().iter().rposition(|one| one.text() == key);
            if let Some(at) = at.filter(|_| known.contains(&key)) {
                let detail = "exists in both matchLabelKeys and labelSelector";
                out.invalid_as(format!("{}[{at}]", place.path), &quote(key), detail);
            } else {
                known.push(key);
            }
        }
    }
    let keys: Vec<&str> = same.items().map(|key| key.text()).collect();
    for key in other.items().filter(|key| keys.contains(&key.text())) {
        out.invalid_text(&key, "exists in both matchLabelKeys and mismatchLabelKeys");
    }
}

/// How pods spread.
pub fn spread(list: &Place<'_>, out: &mut Flaws) {
    let all: Vec<Place<'_>> = list.items().collect();
    let key_of = |one: &Place<'_>| {
        (one.at("topologyKey").text().to_owned(), one.at("whenUnsatisfiable").text().to_owned())
    };
    for (at, one) in all.iter().enumerate() {
        out.positive(&one.at("maxSkew"));
        if one.at("topologyKey").text().is_empty() {
            out.required(&one.at("topologyKey"), "can not be empty");
        }
        let when = one.at("whenUnsatisfiable");
        if !matches!(when.text(), "DoNotSchedule" | "ScheduleAnyway") {
            out.unsupported(&when, &["DoNotSchedule", "ScheduleAnyway"]);
        }
        let key = key_of(one);
        if all.iter().skip(at + 1).any(|later| key_of(later) == key) {
            let shown = quote(&format!("{{{}, {}}}", key.0, key.1));
            out.duplicate_as(one.child("{topologyKey, whenUnsatisfiable}"), &shown);
        }
        let domains = one.at("minDomains");
        if domains.is() {
            out.positive(&domains);
            if when.text() != "DoNotSchedule" {
                let detail = format!(
                    "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {}",
                    when.text()
                );
                out.invalid(&domains, &detail);
            }
        }
        for key in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            let policy = one.at(key);
            if policy.is() && !matches!(policy.text(), "Honor" | "Ignore") {
                out.unsupported(&policy, &["Honor", "Ignore"]);
            }
        }
        label_keys(one, out);
        selectors::selector(&one.at("labelSelector"), out);
    }
}

/// What holds a pod back.
pub fn gates(list: &Place<'_>, out: &mut Flaws) {
    let mut seen: Vec<&str> = Vec::new();
    for gate in list.items() {
        let name = gate.at("name").moved(&gate.path);
        selectors::key(&name, out);
        if seen.contains(&name.text()) {
            out.duplicate(&name);
        }
        seen.push(name.text());
    }
}

/// The claims of a pod; their names are handed back.
pub fn claims(scene: &Scene<'_>, out: &mut Flaws) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for claim in scene.spec.each("resourceClaims") {
        let name = claim.at("name");
        if name.text().is_empty() {
            out.required(&name, "");
        } else if names.iter().any(|one| one == name.text()) {
            out.duplicate(&name);
        } else {
            out.wrong(&name, formats::label(name.text()));
            names.push(name.text().to_owned());
        }
        let (own, made) = (claim.at("resourceClaimName"), claim.at("resourceClaimTemplateName"));
        let shown = || {
            format!(
                "{{\"Name\":{},\"ResourceClaimName\":{},\"ResourceClaimTemplateName\":{}}}",
                go_json(&name.text().into()),
                go_json(own.value),
                go_json(made.value)
            )
        };
        match (own.is(), made.is()) {
            (true, true) => out.invalid_as(
                &claim.path,
                &shown(),
                "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified",
            ),
            (false, false) => out.invalid_as(
                &claim.path,
                &shown(),
                "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
            ),
            _ => {}
        }
        for field in [own, made].into_iter().filter(Place::is) {
            out.wrong(&field, formats::subdomain(field.text()));
        }
    }
    names
}
