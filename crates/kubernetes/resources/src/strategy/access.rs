//! Roles, and who has them.

use super::formats;
use super::place::{Flaws, Place, go_json};
use super::rules::{Rule, check};
use super::selectors;

const GROUP: &str = "rbac.authorization.k8s.io";

pub fn role(object: &Place<'_>, out: &mut Flaws) {
    object.each("rules").iter().for_each(|one| rule(one, true, out));
}

pub fn cluster_role(object: &Place<'_>, out: &mut Flaws) {
    object.each("rules").iter().for_each(|one| rule(one, false, out));
    let aggregation = object.at("aggregationRule");
    let list = aggregation.at("clusterRoleSelectors");
    if aggregation.is() && list.count() == 0 {
        out.required(&list, "at least one clusterRoleSelector required if aggregationRule is non-nil");
    }
    for selector in list.items() {
        selectors::selector(&selector, out);
        if selectors::selects(selector.value, &serde_json::Value::Null).is_none() {
            out.invalid_as(&selector.path, "null", "invalid label selector.");
        }
    }
}

fn rule(place: &Place<'_>, namespaced: bool, out: &mut Flaws) {
    check(place, &[Rule::NeedBecause("verbs", "verbs must contain at least one value")], out);
    let urls = place.at("nonResourceURLs");
    if urls.count() > 0 {
        if namespaced {
            out.invalid(&urls, "namespaced rules cannot apply to non-resource URLs");
        }
        if ["apiGroups", "resources", "resourceNames"].iter().any(|key| place.at(key).count() > 0) {
            out.invalid(&urls, "rules cannot apply to both regular resources and non-resource URLs");
        }
        return;
    }
    check(
        place,
        &[
            Rule::NeedBecause("apiGroups", "resource rules must supply at least one api group"),
            Rule::NeedBecause("resources", "resource rules must supply at least one resource"),
        ],
        out,
    );
}

pub fn role_binding(object: &Place<'_>, out: &mut Flaws) {
    binding(object, &["Role", "ClusterRole"], true, out);
}

pub fn cluster_role_binding(object: &Place<'_>, out: &mut Flaws) {
    binding(object, &["ClusterRole"], false, out);
}

fn binding(object: &Place<'_>, kinds: &[&str], namespaced: bool, out: &mut Flaws) {
    let role = object.at("roleRef");
    if role.at("apiGroup").text() != GROUP {
        out.unsupported(&role.at("apiGroup"), &[GROUP]);
    }
    if !kinds.contains(&role.at("kind").text()) {
        out.unsupported(&role.at("kind"), kinds);
    }
    check(&role, &[Rule::Name("name", formats::segment)], out);
    object.each("subjects").iter().for_each(|one| subject(one, namespaced, out));
}

fn subject(place: &Place<'_>, namespaced: bool, out: &mut Flaws) {
    let (name, group) = (place.at("name"), place.at("apiGroup"));
    if name.text().is_empty() {
        out.required(&name, "");
    }
    match place.at("kind").text() {
        "ServiceAccount" => {
            check(place, &[Rule::Form("name", formats::subdomain)], out);
            if !group.text().is_empty() {
                out.unsupported(&group, &[""]);
            }
            if !namespaced && place.at("namespace").text().is_empty() {
                out.required(&place.at("namespace"), "");
            }
        }
        "User" | "Group" => {
            if group.text() != GROUP {
                out.unsupported(&group, &[GROUP]);
            }
        }
        _ => out.unsupported(&place.at("kind"), &["ServiceAccount", "User", "Group"]),
    }
}

pub fn role_stays(new: &Place<'_>, old: &Place<'_>, out: &mut Flaws) {
    let (new, old) = (new.at("roleRef"), old.at("roleRef"));
    if new.value != old.value {
        let shown = format!(
            "{{\"APIGroup\":{},\"Kind\":{},\"Name\":{}}}",
            go_json(new.at("apiGroup").value),
            go_json(new.at("kind").value),
            go_json(new.at("name").value)
        );
        out.invalid_as(&new.path, &shown, "cannot change roleRef");
    }
}
