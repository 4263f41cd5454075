//! Configurations of webhooks.

use super::formats;
use super::place::{Flaws, Place};
use super::rules::{Rule, check};
use super::selectors;
use crate::typed::json::quote;

const HOOK: &[Rule] = &[
    Rule::Among("failurePolicy", &["Fail", "Ignore"]),
    Rule::Among("matchPolicy", &["Equivalent", "Exact"]),
];
const SELECTORS: &[Rule] = &[Rule::Selector("namespaceSelector"), Rule::Selector("objectSelector")];
const OPERATIONS: &[&str] = &["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];

pub fn configuration(object: &Place<'_>, out: &mut Flaws) {
    let mut names: Vec<&str> = Vec::new();
    for hook in object.each("webhooks") {
        webhook(&hook, out);
        versions(&hook.at("admissionReviewVersions"), out);
        let name = hook.at("name");
        if !name.text().is_empty() && names.contains(&name.text()) {
            out.duplicate(&name);
        }
        names.push(name.text());
    }
}

fn webhook(hook: &Place<'_>, out: &mut Flaws) {
    full_name(&hook.at("name"), out);
    hook.each("rules").iter().for_each(|one| rule(one, out));
    check(hook, HOOK, out);
    let effects = hook.at("sideEffects");
    if !effects.is() {
        out.required(&effects, "must specify one of None, NoneOnDryRun");
    } else if !matches!(effects.text(), "None" | "NoneOnDryRun") {
        out.unsupported(&effects, &["None", "NoneOnDryRun"]);
    }
    let timeout = hook.at("timeoutSeconds");
    if timeout.is() && !(1..=30).contains(&timeout.number()) {
        out.invalid_number(&timeout, "the timeout value must be between 1 and 30 seconds");
    }
    check(hook, SELECTORS, out);
    check(hook, &[Rule::Among("reinvocationPolicy", &["IfNeeded", "Never"])], out);
    let client = hook.at("clientConfig");
    let (url, service) = (client.at("url"), client.at("service"));
    match (url.is(), service.is()) {
        (true, false) => address(&url, out),
        (false, true) => service_of(&service, out),
        _ => out.required(&client, "exactly one of url or service is required"),
    }
    conditions(&hook.at("matchConditions"), out);
}

fn full_name(place: &Place<'_>, out: &mut Flaws) {
    let text = place.text();
    let wrong = formats::subdomain(text);
    if text.is_empty() {
        out.required(place, "");
    } else if !wrong.is_empty() {
        out.invalid_text(place, &wrong.join(","));
    } else if text.split('.').count() < 3 {
        out.invalid_text(place, "should be a domain with at least three segments separated by dots");
    }
}

fn starred(list: &Place<'_>) -> bool {
    list.count() > 1 && list.items().any(|one| one.text() == "*")
}

fn rule(place: &Place<'_>, out: &mut Flaws) {
    let operations = place.at("operations");
    check(place, &[Rule::Need("operations")], out);
    if starred(&operations) {
        out.invalid(&operations, "if '*' is present, must not specify other operations");
    }
    for one in operations.items().filter(|one| !OPERATIONS.contains(&one.text())) {
        out.unsupported(&one, OPERATIONS);
    }
    for (key, what) in [("apiGroups", "API groups"), ("apiVersions", "API versions")] {
        let list = place.at(key);
        if list.count() == 0 {
            out.required(&list, "");
        }
        if starred(&list) {
            out.invalid(&list, &format!("if '*' is present, must not specify other {what}"));
        }
    }
    for version in place.each("apiVersions").iter().filter(|version| version.text().is_empty()) {
        out.required(version, "");
    }
    resources(&place.at("resources"), out);
    check(place, &[Rule::Among("scope", &["*", "Cluster", "Namespaced"])], out);
}

fn resources(list: &Place<'_>, out: &mut Flaws) {
    if list.count() == 0 {
        out.required(list, "");
    }
    let (mut all, mut any, mut plain) = (false, false, false);
    let (mut wholes, mut parts): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for one in list.items() {
        let text = one.text();
        if text.is_empty() {
            out.required(&one, "");
            continue;
        }
        all |= text == "*/*";
        any |= text == "*";
        let Some((resource, part)) = text.split_once('/') else {
            plain = text != "*";
            continue;
        };
        if wholes.contains(&resource) {
            out.invalid_text(&one, &format!("if '{resource}/*' is present, must not specify {text}"));
        }
        if parts.contains(&part) {
            out.invalid_text(&one, &format!("if '*/{part}' is present, must not specify {text}"));
        }
        if part == "*" {
            wholes.push(resource);
        }
        if resource == "*" {
            parts.push(part);
        }
    }
    if list.count() > 1 && all {
        out.invalid(list, "if '*/*' is present, must not specify other resources");
    }
    if any && plain {
        out.invalid(list, "if '*' is present, must not specify other resources without subresources");
    }
}

fn versions(list: &Place<'_>, out: &mut Flaws) {
    if list.count() == 0 {
        return out.required(list, "must specify one of v1, v1beta1");
    }
    let mut seen: Vec<&str> = Vec::new();
    for one in list.items() {
        if seen.contains(&one.text()) {
            out.invalid_text(&one, "duplicate version");
            continue;
        }
        seen.push(one.text());
        out.wrong(&one, formats::old_label(one.text()));
    }
    if !seen.iter().any(|one| matches!(*one, "v1" | "v1beta1")) {
        out.invalid(list, "must include at least one of v1, v1beta1");
    }
}

fn address(place: &Place<'_>, out: &mut Flaws) {
    let form = "; desired format: https://host[/path]";
    let text = place.text();
    let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
    let mut wrong = |value: &str, detail: String| out.invalid_as(&place.path, &quote(value), &detail);
    if scheme != "https" {
        wrong(scheme, format!("'https' is the only allowed URL scheme{form}"));
    }
    let (before, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (before, query) = before.split_once('?').unwrap_or((before, ""));
    let authority = if scheme.is_empty() { "" } else { before.split('/').next().unwrap_or_default() };
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    if host.is_empty() {
        wrong("", format!("host must be specified{form}"));
    }
    if let Some(user) = user {
        wrong(user, "user information is not permitted in the URL".to_owned());
    }
    if !fragment.is_empty() {
        wrong(fragment, "fragments are not permitted in the URL".to_owned());
    }
    if !query.is_empty() {
        wrong(query, "query parameters are not permitted in the URL".to_owned());
    }
}

fn service_of(place: &Place<'_>, out: &mut Flaws) {
    // The server takes one for the other here.
    for (key, other) in [("name", "namespace"), ("namespace", "name")] {
        if place.at(other).text().is_empty() {
            out.required(&place.at(key), "");
        }
    }
    let port = place.at("port");
    let wrong = formats::port(port.number());
    if !wrong.is_empty() {
        out.invalid_number(&port, &format!("port is not valid: {}", wrong.join(", ")));
    }
    let path = place.at("path");
    match path.text() {
        "" | "/" => return,
        "//" => return out.invalid_text(&path, "segment[0] may not be empty"),
        text if !text.starts_with('/') => out.invalid_text(&path, "must start with a '/'"),
        _ => {}
    }
    let mut rest: String = path.text().chars().skip(1).collect();
    if rest.ends_with('/') {
        rest.pop();
    }
    for (at, step) in rest.split('/').enumerate() {
        if step.is_empty() {
            out.invalid_text(&path, &format!("segment[{at}] may not be empty"));
        }
        for why in formats::subdomain(step).iter().filter(|_| !step.is_empty()) {
            out.invalid_text(&path, &format!("segment[{at}]: {why}"));
        }
    }
}

fn conditions(list: &Place<'_>, out: &mut Flaws) {
    if list.count() > 64 {
        out.too_many(list, 64);
    }
    let mut names: Vec<&str> = Vec::new();
    for one in list.items() {
        let name = one.at("name");
        if one.at("expression").text().trim().is_empty() {
            out.required(&one.at("expression"), "");
        }
        if name.text().is_empty() {
            out.required(&name, "");
        } else {
            selectors::key(&name, out);
            if names.contains(&name.text()) {
                out.duplicate(&name);
            }
            names.push(name.text());
        }
    }
}
