//! Limits, quotas, budgets, priorities, leases and events.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use podium_meta::Quantity;

use super::amounts;
use super::formats;
use super::inner;
use super::place::{Flaws, IMMUTABLE, Place, go_json};
use super::rules::{Rule, check, one_of};
use super::selectors;
use super::workloads;
use crate::typed::json::quote;

pub fn limit_range(object: &Place<'_>, out: &mut Flaws) {
    let mut seen: Vec<&str> = Vec::new();
    for limit in object.each("spec.limits") {
        let kind = limit.at("type");
        let wrong = formats::key(kind.text());
        if wrong.is_empty()
            && !kind.text().contains('/')
            && !matches!(kind.text(), "Pod" | "Container" | "PersistentVolumeClaim")
        {
            out.invalid_text(&kind, "must be a standard limit type or fully qualified");
        }
        out.wrong(&kind, wrong);
        if seen.contains(&kind.text()) {
            out.duplicate(&kind);
        }
        seen.push(kind.text());
        one_limit(&limit, kind.text(), out);
    }
}

fn one_limit(limit: &Place<'_>, kind: &str, out: &mut Flaws) {
    let names = |key: &str, out: &mut Flaws| {
        for (name, place) in limit.at(key).members() {
            match kind {
                "Pod" | "Container" => amounts::container_resource(name, &place, out),
                _ => drop(amounts::resource_name(name, &place, out)),
            }
        }
    };
    names("max", out);
    names("min", out);
    for key in ["default", "defaultRequest"] {
        if kind != "Pod" {
            names(key, out);
        } else if limit.at(key).count() > 0 {
            out.forbidden(&limit.at(key), "may not be specified when `type` is 'Pod'");
        }
    }
    if kind == "PersistentVolumeClaim"
        && !limit.at("min").key("storage").is()
        && !limit.at("max").key("storage").is()
    {
        let detail = "either minimum or maximum storage value is required, but neither was provided";
        out.required(&limit.at("limits"), detail);
    }
    names("maxLimitRequestRatio", out);
    let lists = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"];
    let all: BTreeSet<&str> = lists
        .iter()
        .filter(|key| kind != "Pod" || !key.starts_with("default"))
        .flat_map(|key| limit.at(key).members())
        .map(|(name, _)| name)
        .collect();
    all.into_iter().for_each(|name| bounds(limit, kind, name, out));
}

fn bounds(limit: &Place<'_>, kind: &str, name: &str, out: &mut Flaws) {
    let amount = |key: &str| {
        let known = kind != "Pod" || !key.starts_with("default");
        amounts::amount(limit.at(key).key(name).value).filter(|_| known)
    };
    let (least, most) = (amount("min"), amount("max"));
    let (usual, asked, ratio) = (amount("default"), amount("defaultRequest"), amount("maxLimitRequestRatio"));
    let more = |a: &Option<Quantity>, b: &Option<Quantity>| match (a, b) {
        (Some(a), Some(b)) => a.compare(b) == Ordering::Greater,
        _ => false,
    };
    let text = |one: &Option<Quantity>| one.as_ref().map(ToString::to_string).unwrap_or_default();
    let mut refuse = |key: &str, shown: &Option<Quantity>, detail: String| {
        out.invalid_as(limit.at(key).key(name).path, &quote(&text(shown)), &detail);
    };
    for (a, b, key, shown, words) in [
        (&least, &most, "min", &least, "min value {a} is greater than max value {b}"),
        (&least, &asked, "defaultRequest", &asked, "min value {a} is greater than default request value {b}"),
        (&asked, &most, "defaultRequest", &asked, "default request value {a} is greater than max value {b}"),
        (
            &asked,
            &usual,
            "defaultRequest",
            &asked,
            "default request value {a} is greater than default limit value {b}",
        ),
        (&least, &usual, "default", &least, "min value {a} is greater than default value {b}"),
        (&usual, &most, "default", &most, "default value {a} is greater than max value {b}"),
    ] {
        if more(a, b) {
            refuse(key, shown, words.replace("{a}", &text(a)).replace("{b}", &text(b)));
        }
    }
    let one = Quantity::parse("1").ok();
    if more(&one, &ratio) {
        refuse("maxLimitRequestRatio", &ratio, format!("ratio {} is less than 1", text(&ratio)));
    }
    if let (Some(usual), Some(asked_for)) = (&usual, &asked)
        && !amounts::overcommits(name)
        && usual.compare(asked_for) != Ordering::Equal
    {
        let detail =
            format!("default value {usual} must equal to defaultRequest value {asked_for} in {name}");
        refuse("defaultRequest", &asked, detail);
    }
}

const SCOPES: &[&str] = &[
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "VolumeAttributesClass",
    "CrossNamespacePodAffinity",
];

fn scope_fits(scope: &str, name: &str) -> bool {
    let pods = name == "pods";
    let compute = ["cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"];
    match scope {
        "Terminating"
        | "NotTerminating"
        | "NotBestEffort"
        | "PriorityClass"
        | "CrossNamespacePodAffinity" => pods || compute.contains(&name),
        "BestEffort" => pods,
        "VolumeAttributesClass" => matches!(name, "persistentvolumeclaims" | "requests.storage"),
        _ => true,
    }
}

fn conflicts(scopes: &[&str]) -> usize {
    let pairs = [("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating")];
    pairs.iter().filter(|(a, b)| scopes.contains(a) && scopes.contains(b)).count()
}

fn quota_amounts(place: &Place<'_>, out: &mut Flaws) {
    for (name, amount) in place.members() {
        amounts::quota_resource(name, &amount, out);
        amounts::resource_amount(name, &amount, out);
    }
}

pub fn quota(object: &Place<'_>, out: &mut Flaws) {
    let spec = object.at("spec");
    quota_amounts(&spec.at("hard"), out);
    let scopes = spec.at("scopes");
    let hard: Vec<&str> = spec.at("hard").members().iter().map(|(name, _)| *name).collect();
    let unfit = |scope: &str| {
        hard.iter().filter(|name| amounts::is_standard_quota(name) && !scope_fits(scope, name)).count()
    };
    let names: Vec<&str> = scopes.items().map(|one| one.text()).collect();
    for scope in &names {
        if !SCOPES.contains(scope) {
            out.invalid(&scopes, "unsupported scope");
        }
        (0..unfit(scope)).for_each(|_| out.invalid(&scopes, "unsupported scope applied to resource"));
    }
    (0..conflicts(&names)).for_each(|_| out.invalid(&scopes, "conflicting scopes"));
    let selector = spec.at("scopeSelector");
    if selector.is() {
        scope_terms(&spec, &selector, &unfit, out);
    }
}

fn scope_terms(spec: &Place<'_>, selector: &Place<'_>, unfit: &dyn Fn(&str) -> usize, out: &mut Flaws) {
    let terms = selector.at("matchExpressions");
    let mut names: Vec<&str> = Vec::new();
    for term in terms.items() {
        // The server does not say which one.
        let term = term.moved(&terms.path);
        let (scope, operator, values) = (term.at("scopeName"), term.at("operator"), term.at("values"));
        if !SCOPES.contains(&scope.text()) {
            out.invalid_text(&scope, "unsupported scope");
        }
        for _ in 0..unfit(scope.text()) {
            let shown = inner::shown("core.ScopeSelector", selector.value);
            out.invalid_as(&terms.path, &shown, "unsupported scope applied to resource");
        }
        let plain =
            ["BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity"];
        if plain.contains(&scope.text()) && operator.text() != "Exists" {
            out.invalid_text(
                &operator,
                "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, \
                 ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or \
                 ResourceQuotaScopeCrossNamespacePodAffinity",
            );
        }
        match operator.text() {
            "In" | "NotIn" if values.count() == 0 => {
                let detail =
                    "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
                out.required(&values, detail);
            }
            "Exists" | "DoesNotExist" if values.count() > 0 => {
                let detail =
                    "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
                out.invalid(&values, detail);
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => out.invalid_text(&operator, "not a valid selector operator"),
        }
        names.push(scope.text());
    }
    for _ in 0..conflicts(&names) {
        out.invalid_as(&terms.path, &go_json(spec.at("scopes").value), "conflicting scopes");
    }
}

pub fn quota_change(new: &Place<'_>, old: &Place<'_>, out: &mut Flaws) {
    let scopes = |object: &Place<'_>| -> BTreeSet<String> {
        object.each("spec.scopes").iter().map(|one| one.text().to_owned()).collect()
    };
    if scopes(new) != scopes(old) {
        out.invalid(&new.at("spec.scopes"), IMMUTABLE);
    }
}

pub fn quota_status(object: &Place<'_>, out: &mut Flaws) {
    quota_amounts(&object.at("status.hard"), out);
    quota_amounts(&object.at("status.used"), out);
}

pub fn budget(object: &Place<'_>, out: &mut Flaws) {
    let spec = object.at("spec");
    let (least, gone) = (spec.at("minAvailable"), spec.at("maxUnavailable"));
    if least.is() && gone.is() {
        let shown = inner::shown("policy.PodDisruptionBudgetSpec", spec.value);
        out.invalid_as(&spec.path, &shown, "minAvailable and maxUnavailable cannot be both set");
    }
    for field in [&least, &gone].into_iter().filter(|field| field.is()) {
        workloads::number_or_percent(field, out);
        workloads::at_most_all(field, out);
    }
    selectors::selector(&spec.at("selector"), out);
    check(&spec, &[Rule::Among("unhealthyPodEvictionPolicy", &["AlwaysAllow", "IfHealthyBudget"])], out);
}

pub fn budget_status(object: &Place<'_>, out: &mut Flaws) {
    conditions(&object.at("status").at("conditions"), out);
    for key in ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"] {
        out.not_negative(&object.at("status").at(key));
    }
}

/// As much as a condition may say: its reason, and its message.
const LONGEST_WORDS: (usize, usize) = (1 << 10, 32 << 10);

/// Conditions of the sort that all kinds can have.
fn conditions(list: &Place<'_>, out: &mut Flaws) {
    let mut seen: Vec<String> = Vec::new();
    for condition in list.items() {
        let (kind, reason) = (condition.at("type"), condition.at("reason"));
        if seen.iter().any(|one| one == kind.text()) {
            out.duplicate(&kind);
        } else {
            seen.push(kind.text().to_owned());
        }
        selectors::key(&kind, out);
        if !matches!(condition.at("status").text(), "True" | "False" | "Unknown") {
            out.unsupported(&condition.at("status"), &["False", "True", "Unknown"]);
        }
        if condition.at("observedGeneration").number() < 0 {
            out.invalid_number(&condition.at("observedGeneration"), "must be greater than or equal to zero");
        }
        if condition.at("lastTransitionTime").text().is_empty() {
            out.required(&condition.at("lastTransitionTime"), "");
        }
        if reason.text().is_empty() {
            out.required(&reason, "");
        } else {
            out.wrong(&reason, formats::reason(reason.text()));
            if reason.text().len() > LONGEST_WORDS.0 {
                out.too_long(&reason.path, LONGEST_WORDS.0);
            }
        }
        if condition.at("message").text().len() > LONGEST_WORDS.1 {
            out.too_long(&condition.at("message").path, LONGEST_WORDS.1);
        }
    }
}

/// Classes that the system has, with their values.
const SYSTEM: &[(&str, i64)] =
    &[("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)];

pub fn priority(object: &Place<'_>, out: &mut Flaws) {
    let (name, value) = (object.at("metadata").at("name"), object.at("value"));
    if name.text().starts_with("system-") {
        let why = match SYSTEM.iter().find(|(known, _)| *known == name.text()) {
            None => Some(format!("{} is not a known system priority class", name.text())),
            Some((known, right)) if *right != value.number() => {
                Some(format!("value of {known} PriorityClass must be {right}"))
            }
            Some((known, _)) if object.at("globalDefault").truth() => {
                Some(format!("globalDefault of {known} PriorityClass must be false"))
            }
            Some(_) => None,
        };
        if let Some(why) = why {
            let detail = format!(
                "priority class names with 'system-' prefix are reserved for system use only. error: {why}"
            );
            out.forbidden(&name, &detail);
        }
    } else if value.number() > 1_000_000_000 {
        out.forbidden(&value, "maximum allowed value of a user defined priority is 1000000000");
    }
    if object.has("preemptionPolicy") {
        one_of(&object.at("preemptionPolicy"), &["PreemptLowerPriority", "Never"], out);
    }
}

pub fn priority_change(new: &Place<'_>, old: &Place<'_>, out: &mut Flaws) {
    if new.at("value").number() != old.at("value").number() {
        out.forbidden(&new.at("value"), "may not be changed in an update.");
    }
    out.fixed(&new.at("preemptionPolicy"), old.at("preemptionPolicy").value);
}

pub fn lease(object: &Place<'_>, out: &mut Flaws) {
    let spec = object.at("spec");
    let (seconds, changes) = (spec.at("leaseDurationSeconds"), spec.at("leaseTransitions"));
    if seconds.is() && seconds.number() <= 0 {
        out.invalid(&seconds, "must be greater than 0");
    }
    if changes.number() < 0 {
        out.invalid(&changes, "must be greater than or equal to 0");
    }
}

/// An event of the old group.
pub fn event(object: &Place<'_>, out: &mut Flaws) {
    event_as(object, "involvedObject", "reportingComponent", "message", out);
}

fn event_as(object: &Place<'_>, about: &str, who: &str, text: &str, out: &mut Flaws) {
    let own = object.at("metadata").at("namespace").text();
    let about = object.at(about).at("namespace").moved("involvedObject.namespace");
    let other = about.text();
    if !object.has("eventTime") {
        let fits = if other.is_empty() { matches!(own, "" | "default") } else { own == other };
        if !fits {
            out.invalid_text(&about, "does not match event.namespace");
        }
    } else {
        if other.is_empty() && !matches!(own, "default" | "kube-system") {
            out.invalid_text(&about, "does not match event.namespace");
        }
        let reporter = object.at(who);
        if reporter.text().is_empty() {
            out.required(&reporter, "");
        }
        selectors::key(&reporter, out);
        for key in ["reportingInstance", "action", "reason"] {
            let field = object.at(key);
            if field.text().is_empty() {
                out.required(&field, "");
            }
            if field.text().len() > 128 {
                out.invalid_as(&field.path, "\"\"", "can have at most 128 characters");
            }
        }
        if object.at(text).text().len() > 1024 {
            out.invalid_as("message", "\"\"", "can have at most 1024 characters");
        }
    }
    for message in formats::subdomain(own) {
        out.invalid_as("namespace", &quote(own), &message);
    }
}

/// An event of the new group; the metadata comes after.
pub fn new_event(object: &Place<'_>, out: &mut Flaws) {
    event_as(object, "regarding", "reportingController", "note", out);
}

/// What else is asked of a new event.
pub fn new_event_rest(object: &Place<'_>, out: &mut Flaws) {
    series(object, out);
    if !object.has("eventTime") {
        out.required(&object.at("eventTime"), "");
    }
    let kind = object.at("type").text();
    if !matches!(kind, "Normal" | "Warning") {
        out.invalid_as("type", "\"\"", &format!("has invalid value: {kind}"));
    }
    for (key, shown) in [
        ("deprecatedFirstTimestamp", "firstTimestamp"),
        ("deprecatedLastTimestamp", "lastTimestamp"),
        ("deprecatedCount", "count"),
    ] {
        if object.has(key) && object.at(key).value != &serde_json::Value::from(0) {
            out.invalid_as(shown, "\"\"", "needs to be unset");
        }
    }
    if object.at("deprecatedSource").count() > 0 {
        out.invalid_as("source", "\"\"", "needs to be unset");
    }
}

fn series(object: &Place<'_>, out: &mut Flaws) {
    let series = object.at("series");
    if series.is() {
        if series.at("count").number() < 2 {
            out.invalid_as("series.count", "\"\"", "should be at least 2");
        }
        if !series.has("lastObservedTime") {
            out.required(&series.at("lastObservedTime"), "");
        }
    }
}

pub fn new_event_change(new: &Place<'_>, old: &Place<'_>, out: &mut Flaws) {
    if new.at("series").value != old.at("series").value {
        series(new, out);
    }
    for (key, shown, shape) in [
        ("regarding", "involvedObject", "core.ObjectReference"),
        ("reason", "reason", ""),
        ("note", "message", ""),
        ("deprecatedSource", "source", "core.EventSource"),
        ("deprecatedFirstTimestamp", "firstTimestamp", ""),
        ("deprecatedLastTimestamp", "lastTimestamp", ""),
        ("deprecatedCount", "count", ""),
        ("reason", "reason", ""),
        ("type", "type", ""),
        ("eventTime", "eventTime", ""),
        ("action", "action", ""),
        ("related", "related", "core.ObjectReference"),
        ("reportingController", "reportingController", ""),
        ("reportingInstance", "reportingInstance", ""),
    ] {
        if new.at(key).value != old.at(key).value {
            let value = match (shape, new.at(key).value) {
                ("", serde_json::Value::Null) if shown.contains("ime") => "null".to_owned(),
                ("", serde_json::Value::Null) if shown == "count" => "0".to_owned(),
                ("", serde_json::Value::Null) => "\"\"".to_owned(),
                ("", value) => super::place::shown(value),
                (shape, value) => inner::shown(shape, value),
            };
            out.invalid_as(shown, &value, IMMUTABLE);
        }
    }
}
