//! The cells of all other kinds.

use std::collections::BTreeSet;

use serde_json::Value;

use super::age::{age, since};
use super::cell::{Look, at, list, number, text, texts};

// Events: the two groups have other names for the same fields.

fn either<'o>(look: &Look<'o>, one: &str, other: &str) -> Option<&'o Value> {
    at(look.object, one).or_else(|| at(look.object, other))
}

fn either_text<'o>(look: &Look<'o>, one: &str, other: &str) -> &'o str {
    either(look, one, other).and_then(Value::as_str).unwrap_or_default()
}

pub fn first_seen(look: &Look<'_>) -> String {
    match either_text(look, "firstTimestamp", "deprecatedFirstTimestamp") {
        "" => look.age_of("eventTime"),
        first => age(first, look.now),
    }
}

pub fn last_seen(look: &Look<'_>) -> String {
    if at(look.object, "series").is_some() {
        return look.age_of("series.lastObservedTime");
    }
    match either_text(look, "lastTimestamp", "deprecatedLastTimestamp") {
        "" => first_seen(look),
        last => age(last, look.now),
    }
}

pub fn event_object(look: &Look<'_>) -> String {
    let part = |key: &str| either_text(look, &format!("involvedObject.{key}"), &format!("regarding.{key}"));
    match (part("kind").to_lowercase(), part("name")) {
        (kind, "") => kind,
        (kind, name) => format!("{kind}/{name}"),
    }
}

pub fn event_part(look: &Look<'_>) -> String {
    either_text(look, "involvedObject.fieldPath", "regarding.fieldPath").to_owned()
}

pub fn event_source(look: &Look<'_>) -> String {
    let part = |key: &str| either_text(look, &format!("source.{key}"), &format!("deprecatedSource.{key}"));
    let or = |first: &str, second: &str| if first.is_empty() { second.to_owned() } else { first.to_owned() };
    let component = or(part("component"), either_text(look, "reportingComponent", "reportingController"));
    match or(part("host"), look.text("reportingInstance")) {
        host if host.is_empty() => component,
        host => format!("{component}, {host}"),
    }
}

pub fn event_message(look: &Look<'_>) -> String {
    either_text(look, "message", "note").trim().to_owned()
}

pub fn event_count(look: &Look<'_>) -> Value {
    if at(look.object, "series").is_some() {
        return number(look.object, "series.count").into();
    }
    match either(look, "count", "deprecatedCount").and_then(Value::as_i64) {
        None | Some(0) => 1.into(),
        Some(count) => count.into(),
    }
}

// Bindings.

fn subjects(look: &Look<'_>, kind: &str) -> String {
    let all = list(look.object, "subjects").iter().filter(|one| text(one, "kind") == kind);
    let word = |one: &Value| match kind {
        "ServiceAccount" => format!("{}/{}", text(one, "namespace"), text(one, "name")),
        _ => text(one, "name").to_owned(),
    };
    all.map(word).collect::<Vec<String>>().join(", ")
}

pub fn users(look: &Look<'_>) -> String {
    subjects(look, "User")
}

pub fn groups(look: &Look<'_>) -> String {
    subjects(look, "Group")
}

pub fn service_accounts(look: &Look<'_>) -> String {
    subjects(look, "ServiceAccount")
}

// Nodes.

pub fn node_state(look: &Look<'_>) -> String {
    // The last one counts.
    let ready = list(look.object, "status.conditions").iter().rev().find(|one| text(one, "type") == "Ready");
    let mut state = match ready.map(|one| text(one, "status")) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    }
    .to_owned();
    if at(look.object, "spec.unschedulable") == Some(&Value::Bool(true)) {
        state.push_str(",SchedulingDisabled");
    }
    state
}

pub fn node_roles(look: &Look<'_>) -> String {
    let mut roles = BTreeSet::new();
    for (key, value) in at(look.object, "metadata.labels").and_then(Value::as_object).into_iter().flatten() {
        let value = value.as_str().unwrap_or_default();
        match key.strip_prefix("node-role.kubernetes.io/") {
            Some("") => {}
            Some(role) => drop(roles.insert(role)),
            None if key == "kubernetes.io/role" && !value.is_empty() => drop(roles.insert(value)),
            None => {}
        }
    }
    if roles.is_empty() { "<none>".to_owned() } else { roles.into_iter().collect::<Vec<&str>>().join(",") }
}

fn node_address(look: &Look<'_>, kind: &str) -> String {
    let found = list(look.object, "status.addresses").iter().find(|one| text(one, "type") == kind);
    found.map_or("<none>", |one| text(one, "address")).to_owned()
}

pub fn internal_ip(look: &Look<'_>) -> String {
    node_address(look, "InternalIP")
}

pub fn external_ip(look: &Look<'_>) -> String {
    node_address(look, "ExternalIP")
}

pub fn kernel(look: &Look<'_>) -> String {
    let version = match look.text("status.nodeInfo.kernelVersion") {
        "" => "<unknown>",
        version => version,
    };
    match look.text("status.nodeInfo.architecture") {
        "" => version.to_owned(),
        architecture => format!("{version} ({architecture})"),
    }
}

// Quotas and budgets.

fn quota(look: &Look<'_>, limits: bool) -> String {
    let hard = at(look.object, "status.hard").and_then(Value::as_object).into_iter().flatten();
    let used = at(look.object, "status.used");
    let words: Vec<String> = hard
        .filter(|(name, _)| name.starts_with("limits.") == limits)
        .map(|(name, hard)| {
            let used = used.and_then(|used| used.get(name)).and_then(Value::as_str).unwrap_or("0");
            format!("{name}: {used}/{}", hard.as_str().unwrap_or_default())
        })
        .collect();
    words.join(", ")
}

pub fn quota_requests(look: &Look<'_>) -> String {
    quota(look, false)
}

pub fn quota_limits(look: &Look<'_>) -> String {
    quota(look, true)
}

fn amount(value: Option<&Value>) -> String {
    match value {
        None => "N/A".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(number) => number.to_string(),
    }
}

pub fn min_available(look: &Look<'_>) -> String {
    amount(at(look.object, "spec.minAvailable"))
}

pub fn max_unavailable(look: &Look<'_>) -> String {
    amount(at(look.object, "spec.maxUnavailable"))
}

/// The owner that manages it.
pub fn controller(look: &Look<'_>) -> String {
    let owners = list(look.object, "metadata.ownerReferences").iter();
    let Some(owner) = owners.into_iter().find(|one| one.get("controller") == Some(&Value::Bool(true))) else {
        return "<none>".to_owned();
    };
    let kind = text(owner, "kind");
    let kind = match text(owner, "apiVersion").split_once('/') {
        Some((group, _)) if !group.is_empty() => format!("{kind}.{group}"),
        _ => kind.to_owned(),
    };
    if kind.is_empty() {
        text(owner, "name").to_owned()
    } else {
        format!("{}/{}", kind.to_lowercase(), text(owner, "name"))
    }
}

// Autoscalers.

pub fn least_replicas(look: &Look<'_>) -> String {
    at(look.object, "spec.minReplicas").map_or("<unset>".to_owned(), Value::to_string)
}

/// What is measured and wanted, the first two of it.
pub fn metrics(look: &Look<'_>) -> String {
    const MOST: usize = 2;
    let object = look.object;
    let percent = |value: Option<&Value>, other: &str| {
        value.and_then(Value::as_i64).map_or(other.to_owned(), |number| format!("{number}%"))
    };
    // The first version has a field for the one measure that it knows.
    if let Some(target) = at(object, "spec.targetCPUUtilizationPercentage") {
        let current = at(object, "status.currentCPUUtilizationPercentage");
        return format!("cpu: {}/{}", percent(current, "<unknown>"), percent(Some(target), "<auto>"));
    }
    let specs = list(object, "spec.metrics");
    if specs.is_empty() {
        return "<none>".to_owned();
    }
    let statuses = list(object, "status.currentMetrics");
    let word = |index: usize, spec: &Value| {
        let kind = text(spec, "type");
        let mut letters = kind.chars();
        let key = letters
            .next()
            .map(|first| first.to_ascii_lowercase())
            .into_iter()
            .chain(letters)
            .collect::<String>();
        let (target, current) = (
            |field: &str| at(spec, &format!("{key}.target.{field}")),
            |field: &str| at(statuses.get(index)?, &format!("{key}.current.{field}")),
        );
        let quantity =
            |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or("<unknown>").to_owned();
        let (average, value) = ("averageValue", "value");
        match kind {
            "External" | "Object" if target(average).is_some() => {
                format!("{}/{} (avg)", quantity(current(average)), quantity(target(average)))
            }
            "External" | "Object" => format!("{}/{}", quantity(current(value)), quantity(target(value))),
            "Pods" => format!("{}/{}", quantity(current(average)), quantity(target(average))),
            "Resource" | "ContainerResource" => {
                let name = text(spec, &format!("{key}.name")).to_owned();
                match target(average) {
                    Some(wanted) => {
                        format!("{name}: {}/{}", quantity(current(average)), quantity(Some(wanted)))
                    }
                    None => {
                        let load = "averageUtilization";
                        format!(
                            "{name}: {}/{}",
                            percent(current(load), "<unknown>"),
                            percent(target(load), "<auto>")
                        )
                    }
                }
            }
            _ => "<unknown type>".to_owned(),
        }
    };
    let words: Vec<String> = specs.iter().enumerate().map(|(index, spec)| word(index, spec)).collect();
    let shown = words.get(..MOST.min(words.len())).unwrap_or_default().join(", ");
    if words.len() > MOST { format!("{shown} + {} more...", words.len() - MOST) } else { shown }
}

// The parts of the server itself.

fn healthy<'o>(look: &Look<'o>) -> Option<&'o Value> {
    list(look.object, "conditions").iter().find(|one| text(one, "type") == "Healthy")
}

pub fn component_state(look: &Look<'_>) -> String {
    match healthy(look).map(|one| text(one, "status")) {
        Some("True") => "Healthy",
        Some(_) => "Unhealthy",
        None => "Unknown",
    }
    .to_owned()
}

pub fn component_message(look: &Look<'_>) -> String {
    healthy(look).map(|one| text(one, "message")).unwrap_or_default().to_owned()
}

pub fn component_error(look: &Look<'_>) -> String {
    healthy(look).map(|one| text(one, "error")).unwrap_or_default().to_owned()
}

pub fn api_service(look: &Look<'_>) -> String {
    match at(look.object, "spec.service") {
        Some(service) => format!("{}/{}", text(service, "namespace"), text(service, "name")),
        None => "Local".to_owned(),
    }
}

pub fn api_available(look: &Look<'_>) -> String {
    let found = list(look.object, "status.conditions").iter().find(|one| text(one, "type") == "Available");
    match found.map(|one| (text(one, "status"), text(one, "reason"))) {
        None => "Unknown".to_owned(),
        Some(("True", _)) => "True".to_owned(),
        Some((status, reason)) => format!("{status} ({reason})"),
    }
}

pub fn parameters_kind(look: &Look<'_>) -> String {
    match at(look.object, "spec.paramKind") {
        Some(kind) => format!("{}/{}", text(kind, "apiVersion"), text(kind, "kind")),
        None => "<unset>".to_owned(),
    }
}

pub fn parameters(look: &Look<'_>) -> String {
    let (name, namespace) = (look.text("spec.paramRef.name"), look.text("spec.paramRef.namespace"));
    match (name, namespace) {
        ("", _) => at(look.object, "spec.paramRef.selector").map_or("<unset>".to_owned(), selector_in_full),
        (name, "") => format!("*/{name}"),
        (name, namespace) => format!("{namespace}/{name}"),
    }
}

/// A selector as the original prints its type.
fn selector_in_full(selector: &Value) -> String {
    let mut labels = String::new();
    for (key, value) in at(selector, "matchLabels").and_then(Value::as_object).into_iter().flatten() {
        labels.push_str(&format!("{key}: {},", value.as_str().unwrap_or_default()));
    }
    let mut terms = String::new();
    for term in list(selector, "matchExpressions") {
        terms.push_str(&format!(
            "LabelSelectorRequirement{{Key:{},Operator:{},Values:[{}],}},",
            text(term, "key"),
            text(term, "operator"),
            texts(term, "values").join(" ")
        ));
    }
    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{labels}}},\
         MatchExpressions:[]LabelSelectorRequirement{{{terms}}},}}"
    )
}

pub fn requested_time(look: &Look<'_>) -> String {
    at(look.object, "spec.expirationSeconds").and_then(Value::as_i64).map_or("<none>".to_owned(), since)
}

pub fn request_state(look: &Look<'_>) -> String {
    let has = |kind: &str| list(look.object, "status.conditions").iter().any(|one| text(one, "type") == kind);
    let mut state = if has("Denied") {
        "Denied"
    } else if has("Approved") {
        "Approved"
    } else {
        "Pending"
    }
    .to_owned();
    if has("Failed") {
        state.push_str(",Failed");
    }
    if !look.text("status.certificate").is_empty() {
        state.push_str(",Issued");
    }
    state
}

pub fn dangling(look: &Look<'_>) -> String {
    let found = list(look.object, "status.conditions").iter().find(|one| text(one, "type") == "Dangling");
    found.map_or("?", |one| text(one, "status")).to_owned()
}

fn or_none(look: &Look<'_>, parent: &str, key: &str) -> Value {
    match at(look.object, parent) {
        None => "<none>".into(),
        Some(part) => number(part, key).into(),
    }
}

pub fn shares(look: &Look<'_>) -> Value {
    or_none(look, "spec.limited", "nominalConcurrencyShares")
}

pub fn queues(look: &Look<'_>) -> Value {
    or_none(look, "spec.limited.limitResponse.queuing", "queues")
}

pub fn hand_size(look: &Look<'_>) -> Value {
    or_none(look, "spec.limited.limitResponse.queuing", "handSize")
}

pub fn queue_length(look: &Look<'_>) -> Value {
    or_none(look, "spec.limited.limitResponse.queuing", "queueLengthLimit")
}

pub fn claim_state(look: &Look<'_>) -> String {
    let mut states = Vec::new();
    let deleted = at(look.object, "metadata.deletionTimestamp").is_some();
    if deleted {
        states.push("deleted");
    }
    if at(look.object, "status.allocation").is_some() {
        states.push("allocated");
        if !list(look.object, "status.reservedFor").is_empty() {
            states.push("reserved");
        }
    } else if !deleted {
        states.push("pending");
    }
    states.join(",")
}
