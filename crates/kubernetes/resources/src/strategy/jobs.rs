//! Jobs, and jobs by schedule.

use serde_json::Value;

use super::cron;
use super::formats;
use super::inner;
use super::place::{Flaws, IMMUTABLE, Place, go_json};
use super::pods;
use super::rules::{Rule, check};
use super::selectors;
use super::workloads::must_be_known;
use crate::typed::json::quote;

const OLD_UID: &str = "controller-uid";
const OLD_NAME: &str = "job-name";
/// The labels by which the pods of a job are known.
pub const UID: &str = "batch.kubernetes.io/controller-uid";
/// The label with the name of a pod's job.
pub const NAME: &str = "batch.kubernetes.io/job-name";
pub(super) const INDEXED: &str = "Indexed";

/// All four labels, with whether they have the job's identity or its name.
pub const LABELS: [(&str, bool); 4] = [(OLD_NAME, false), (NAME, false), (OLD_UID, true), (UID, true)];

pub fn job(object: &Place<'_>, out: &mut Flaws) {
    job_with(object, true, out);
}

fn job_with(object: &Place<'_>, all_labels: bool, out: &mut Flaws) {
    let spec = object.at("spec");
    own_selector(object, all_labels, out);
    whole_spec(&spec, out);
    let count = spec.at("completions");
    if spec.at("completionMode").text() == INDEXED && count.number() > 0 {
        let name = object.at("metadata").at("name");
        let last = format!("{}-{}", name.text(), count.number() - 1);
        if !formats::label(&last).is_empty() {
            let detail = format!("will not able to create pod with invalid DNS label: {last}");
            out.invalid_text(&name, &detail);
        }
    }
}

fn own_selector(object: &Place<'_>, all_labels: bool, out: &mut Flaws) {
    let (spec, meta) = (object.at("spec"), object.at("metadata"));
    if spec.at("manualSelector").truth() || !spec.has("selector") {
        return;
    }
    let (uid, name) = (meta.at("uid").text(), meta.at("name").text());
    if uid.is_empty() {
        out.required(&meta.at("uid"), "");
    }
    let labels = spec.at("template").at("metadata").at("labels");
    let mut expected = serde_json::Map::new();
    let order: &[(&str, &str)] = &[(OLD_UID, uid), (OLD_NAME, name), (UID, uid), (NAME, name)];
    for (key, value) in order.iter().take(if all_labels { 4 } else { 2 }) {
        expected.insert((*key).to_owned(), (*value).into());
        let own = labels.key(key);
        let detail = format!("must be '{value}'");
        if !own.is() {
            out.required(&own, &detail);
        } else if own.text() != *value {
            out.invalid_as(&own.path, &go_json(labels.value), &detail);
        }
    }
    if selectors::selects(spec.at("selector").value, &Value::Object(expected)) == Some(false) {
        out.invalid(&spec.at("selector"), "`selector` not auto-generated");
    }
}

fn whole_spec(spec: &Place<'_>, out: &mut Flaws) {
    bare_spec(spec, out);
    let selector = spec.at("selector");
    if selector.is() {
        selectors::selector(&selector, out);
    } else {
        out.required(&selector, "");
    }
    let labels = spec.at("template").at("metadata").at("labels");
    if selectors::selects(selector.value, labels.value) == Some(false) {
        out.invalid(&labels, "`selector` does not match template `labels`");
    }
}

/// What is asked of jobs that are there and of those that will be made.
fn bare_spec(spec: &Place<'_>, out: &mut Flaws) {
    for key in [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ] {
        out.not_negative(&spec.at(key));
    }
    let (per_index, most) = (spec.at("backoffLimitPerIndex"), spec.at("maxFailedIndexes"));
    if most.is() && !per_index.is() {
        out.required(&per_index, "when maxFailedIndexes is specified");
    }
    if spec.has("managedBy") {
        domain_path(&spec.at("managedBy"), out);
        if spec.at("managedBy").text().len() > 63 {
            out.too_long(spec.child("managedBy"), 63);
        }
    }
    completion(spec, out);
    if spec.has("podFailurePolicy") {
        failure_policy(spec, out);
    }
    let success = spec.at("successPolicy");
    if success.is() {
        if spec.at("completionMode").text() == INDEXED {
            success_policy(spec, &success, out);
        } else {
            let shown = inner::shown("batch.SuccessPolicy", success.value);
            out.invalid_as(&success.path, &shown, "requires indexed completion mode");
        }
    }
    let replaced = spec.at("podReplacementPolicy");
    if replaced.is() {
        if spec.has("podFailurePolicy") {
            if replaced.text() != "Failed" {
                out.unsupported(&replaced, &["Failed"]);
            }
        } else if !matches!(replaced.text(), "Failed" | "TerminatingOrFailed") {
            out.unsupported(&replaced, &["Failed", "TerminatingOrFailed"]);
        }
    }
    let template = spec.at("template");
    pods::template(&template, out);
    let restart = template.at("spec").at("restartPolicy");
    match restart.text() {
        "" | "Always" => out.required(&restart, "valid values: \"OnFailure\", \"Never\""),
        "OnFailure" if spec.has("podFailurePolicy") => {
            out.invalid_text(&restart, "only \"Never\" is supported when podFailurePolicy is specified");
        }
        "OnFailure" | "Never" => {}
        _ => out.unsupported(&restart, &["OnFailure", "Never"]),
    }
}

fn completion(spec: &Place<'_>, out: &mut Flaws) {
    let (mode, count) = (spec.at("completionMode"), spec.at("completions"));
    let (at_once, most) = (spec.at("parallelism"), spec.at("maxFailedIndexes"));
    let per_index = spec.at("backoffLimitPerIndex");
    if mode.is() && !matches!(mode.text(), "NonIndexed" | INDEXED) {
        out.unsupported(&mode, &["NonIndexed", INDEXED]);
    }
    if mode.text() == INDEXED {
        if !count.is() {
            out.required(&count, "when completion mode is Indexed");
        }
        if at_once.number() > 100_000 {
            let detail = "must be less than or equal to 100000 when completion mode is Indexed";
            out.invalid_number(&at_once, detail);
        }
        if count.is() && most.is() && most.number() > count.number() {
            out.invalid_number(&most, "must be less than or equal to completions");
        }
        if most.number() > 100_000 {
            out.invalid_number(&most, "must be less than or equal to 100000");
        }
        if count.number() > 100_000 && per_index.is() {
            let rest = "when completions are above 100000 and used with backoff limit per index";
            if !most.is() {
                out.required(&most, "must be specified when completions is above 100000");
            }
            for field in [&at_once, &most] {
                if field.number() > 10_000 {
                    out.invalid_number(field, &format!("must be less than or equal to 10000 {rest}"));
                }
            }
        }
    }
    if !mode.is() || mode.text() == "NonIndexed" {
        for field in [&per_index, &most].into_iter().filter(|field| field.is()) {
            out.invalid_number(field, "requires indexed completion mode");
        }
    }
}

/// A name of a domain, a slash, and the rest of an address.
pub fn domain_path(place: &Place<'_>, out: &mut Flaws) {
    let text = place.text();
    if text.is_empty() {
        return out.required(place, "");
    }
    let Some((domain, path)) =
        text.split_once('/').filter(|(domain, path)| !domain.is_empty() && !path.is_empty())
    else {
        return out.invalid_text(place, "must be a domain-prefixed path (such as \"acme.io/foo\")");
    };
    for message in formats::subdomain(domain) {
        out.invalid_as(&place.path, &quote(domain), &message);
    }
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&byte);
    if !path.bytes().all(plain) {
        let detail = formats::regex_error("Invalid path", r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+", &[]);
        out.invalid_as(&place.path, &quote(path), &detail);
    }
}

fn failure_policy(spec: &Place<'_>, out: &mut Flaws) {
    let rules = spec.at("podFailurePolicy").at("rules");
    if rules.count() > 20 {
        out.too_many(&rules, 20);
    }
    let pod = spec.at("template").at("spec");
    let lists = ["containers", "initContainers"];
    let names: Vec<&str> =
        lists.iter().flat_map(|list| pod.each(list)).map(|one| one.at("name").text()).collect();
    for rule in rules.items() {
        let action = rule.at("action");
        match action.text() {
            "" => out.required(&action, "valid values: [\"Count\" \"FailIndex\" \"FailJob\" \"Ignore\"]"),
            "FailIndex" if !spec.has("backoffLimitPerIndex") => {
                out.invalid_text(&action, "requires the backoffLimitPerIndex to be set");
            }
            "FailIndex" | "Count" | "FailJob" | "Ignore" => {}
            _ => out.unsupported(&action, &["Count", "FailIndex", "FailJob", "Ignore"]),
        }
        let (codes, conditions) = (rule.at("onExitCodes"), rule.at("onPodConditions"));
        if codes.is() {
            exit_codes(&codes, &names, out);
        }
        if conditions.count() > 20 {
            out.too_many(&conditions, 20);
        }
        for one in conditions.items() {
            selectors::key(&one.at("type"), out);
            let status = one.at("status");
            match status.text() {
                "" => out.required(&status, "valid values: [\"False\" \"True\" \"Unknown\"]"),
                "False" | "True" | "Unknown" => {}
                _ => out.unsupported(&status, &["False", "True", "Unknown"]),
            }
        }
        let detail = match (codes.is(), conditions.count() > 0) {
            (true, true) => "specifying both OnExitCodes and OnPodConditions is not supported",
            (false, false) => "specifying one of OnExitCodes and OnPodConditions is required",
            _ => continue,
        };
        out.push(podium_meta::FieldError::without_value(podium_meta::ErrorType::Invalid, &rule.path, detail));
    }
}

fn exit_codes(place: &Place<'_>, names: &[&str], out: &mut Flaws) {
    let (operator, values) = (place.at("operator"), place.at("values"));
    match operator.text() {
        "" => out.required(&operator, "valid values: [\"In\" \"NotIn\"]"),
        "In" | "NotIn" => {}
        _ => out.unsupported(&operator, &["In", "NotIn"]),
    }
    let detail = "must be one of the container or initContainer names in the pod template";
    must_be_known(&place.at("containerName"), names, detail, out);
    if values.count() == 0 {
        out.invalid(&values, "at least one value is required");
    } else if values.count() > 255 {
        out.too_many(&values, 255);
    }
    let mut seen: Vec<i64> = Vec::new();
    let mut ordered = true;
    for value in values.items() {
        let number = value.number();
        if operator.text() == "In" && number == 0 {
            out.invalid_number(&value, "must not be 0 for the In operator");
        }
        if seen.contains(&number) {
            out.duplicate(&value);
        }
        ordered &= seen.last().is_none_or(|last| *last <= number);
        seen.push(number);
    }
    if !ordered {
        out.invalid(&values, "must be ordered");
    }
}

fn success_policy(spec: &Place<'_>, place: &Place<'_>, out: &mut Flaws) {
    let rules = place.at("rules");
    if rules.count() == 0 {
        out.required(&rules, "at least one rules must be specified when the successPolicy is specified");
    }
    if rules.count() > 20 {
        out.too_many(&rules, 20);
    }
    let completions = spec.at("completions").number();
    for rule in rules.items() {
        let (count, indexes) = (rule.at("succeededCount"), rule.at("succeededIndexes"));
        if !count.is() && !indexes.is() {
            out.required(&rule, "at least one of succeededCount or succeededIndexes must be specified");
        }
        let mut total = 0;
        if indexes.is() {
            if indexes.text().len() > 64 * 1024 {
                out.too_long(&indexes.path, 64 * 1024);
            }
            match index_list(indexes.text(), completions) {
                Ok(number) => total = number,
                Err(why) => out.invalid_text(&indexes, &format!("error parsing succeededIndexes: {why}")),
            }
        }
        if count.is() {
            out.not_negative(&count);
            if count.number() > completions {
                let detail = format!(
                    "must be less than or equal to {completions} (the number of specified completions)"
                );
                out.invalid_number(&count, &detail);
            }
            if indexes.is() && count.number() > total {
                let detail = format!(
                    "must be less than or equal to {total} (the number of indexes in the specified succeededIndexes \
                     field)"
                );
                out.invalid_number(&count, &detail);
            }
        }
    }
}

/// How many numbers a list such as `1,3-5` has.
fn index_list(text: &str, completions: i64) -> Result<i64, String> {
    let (mut total, mut last) = (0, None);
    for part in text.split(',').filter(|_| !text.is_empty()) {
        let number = |text: &str| -> Result<i64, String> {
            let number = text.parse::<i64>();
            let number =
                number.map_err(|_| format!("cannot convert string to integer for index: {}", quote(text)))?;
            if number >= completions {
                return Err(format!("too large index: {}", quote(text)));
            }
            Ok(number)
        };
        let ends: Vec<&str> = part.split('-').collect();
        let (start, end) = match ends.as_slice() {
            [one] => (number(one)?, number(one)?),
            [start, end] => {
                let (start, end) = (number(start)?, number(end)?);
                if start >= end {
                    return Err(format!("non-increasing order, previous: {start}, current: {end}"));
                }
                (start, end)
            }
            _ => {
                return Err(format!(
                    "the fragment {} violates the requirement that an index interval can have at most two parts \
                     separated by '-'",
                    quote(part)
                ));
            }
        };
        if let Some(last) = last.filter(|last| *last >= start) {
            return Err(format!("non-increasing order, previous: {last}, current: {start}"));
        }
        total += end - start + 1;
        last = Some(end);
    }
    Ok(total)
}

/// A change of a job.
pub fn job_change(new: &Place<'_>, old: &Place<'_>, out: &mut Flaws) {
    let (spec, before) = (new.at("spec"), old.at("spec"));
    let labels = before.at("template").at("metadata").at("labels");
    job_with(new, labels.key(NAME).is() && labels.key(UID).is(), out);
    super::table::metadata_changes(new, old, out);
    whole_spec(&spec, out);
    let (count, was) = (spec.at("completions"), before.at("completions"));
    if spec.at("completionMode").text() != INDEXED {
        out.fixed(&count, was.value);
    } else if count.is() && count.value != was.value && count.number() != spec.at("parallelism").number() {
        out.invalid(&count, "can only be modified in tandem with spec.parallelism");
    }
    out.fixed(&spec.at("selector"), before.at("selector").value);
    template_change(&spec, &before, old, out);
    for (key, shape) in [
        ("completionMode", ""),
        ("podFailurePolicy", "batch.PodFailurePolicy"),
        ("backoffLimitPerIndex", ""),
        ("managedBy", ""),
        ("successPolicy", "batch.SuccessPolicy"),
    ] {
        if spec.at(key).value != before.at(key).value {
            out.invalid_as(spec.child(key), &inner::shown(shape, spec.at(key).value), IMMUTABLE);
        }
    }
}

pub(super) fn has_condition(object: &Place<'_>, kind: &str) -> bool {
    let conditions = object.each("status.conditions");
    conditions.iter().any(|one| one.at("type").text() == kind && one.at("status").text() == "True")
}

fn template_change(spec: &Place<'_>, before: &Place<'_>, old: &Place<'_>, out: &mut Flaws) {
    let template = spec.at("template");
    let mut was = before.at("template").value.clone();
    let waits = before.at("suspend").truth();
    let status = old.at("status");
    let open = waits
        && (!status.has("startTime") || has_condition(old, "Suspended"))
        && status.at("active").number() == 0;
    if open {
        let take = |from: &Value, to: &mut Value, keys: &[&str]| {
            let Some(map) = to.as_object_mut() else { return };
            for key in keys {
                match from.get(key) {
                    Some(value) => drop(map.insert((*key).to_owned(), value.clone())),
                    None => drop(map.remove(*key)),
                }
            }
        };
        let nothing = Value::Null;
        if let Some(pod) = was.get_mut("spec") {
            let own = template.at("spec");
            take(own.value, pod, &["nodeSelector", "tolerations", "schedulingGates"]);
            let nodes = own.value.pointer("/affinity/nodeAffinity").cloned();
            if let Some(map) = pod.as_object_mut() {
                let affinity = map.entry("affinity").or_insert_with(|| Value::Object(serde_json::Map::new()));
                if let Some(affinity) = affinity.as_object_mut() {
                    match nodes {
                        Some(nodes) => drop(affinity.insert("nodeAffinity".to_owned(), nodes)),
                        None => drop(affinity.remove("nodeAffinity")),
                    }
                }
                if map.get("affinity").and_then(Value::as_object).is_some_and(serde_json::Map::is_empty) {
                    map.remove("affinity");
                }
            }
            for list in ["containers", "initContainers"] {
                let same =
                    own.at(list).count() == pod.get(list).and_then(Value::as_array).map_or(0, Vec::len);
                let ours = pod.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
                for (container, now) in ours.zip(own.each(list)).filter(|_| same) {
                    if container.get("name").unwrap_or(&nothing) == now.at("name").value {
                        take(now.value, container, &["resources"]);
                    }
                }
            }
        }
        if template.at("spec").value != was.get("spec").unwrap_or(&nothing) {
            let shown = inner::shown("core.PodSpec", template.at("spec").value);
            out.invalid_as(spec.child("template.spec"), &shown, IMMUTABLE);
        }
    } else if template.value != &was {
        out.invalid_as(&template.path, &inner::shown("core.PodTemplateSpec", template.value), IMMUTABLE);
    }
}

pub fn cron_job(object: &Place<'_>, out: &mut Flaws) {
    cron_spec(object, None, out);
    let name = object.at("metadata").at("name");
    if name.text().len() > 52 {
        out.invalid_text(&name, "must be no more than 52 characters");
    }
}

pub fn cron_change(new: &Place<'_>, old: &Place<'_>, out: &mut Flaws) {
    cron_spec(new, Some(old), out);
}

fn cron_spec(object: &Place<'_>, old: Option<&Place<'_>>, out: &mut Flaws) {
    let spec = object.at("spec");
    let schedule = spec.at("schedule");
    let zone = spec.at("timeZone");
    if schedule.text().is_empty() {
        out.required(&schedule, "");
    } else {
        if let Some(why) = cron::problem(schedule.text()) {
            out.invalid_text(&schedule, &why);
        }
        let zoned = schedule.text().contains("TZ");
        let had = old.is_some_and(|old| old.at("spec.schedule").text().contains("TZ"));
        if had && zoned && zone.is() {
            out.invalid_text(&schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule");
        } else if !had && zoned {
            let detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
            out.invalid_text(&schedule, detail);
        }
    }
    out.not_negative(&spec.at("startingDeadlineSeconds"));
    if zone.is() && old.is_none_or(|old| old.at("spec.timeZone").value != zone.value) {
        time_zone(&zone, out);
    }
    check(&spec, &[Rule::OneOf("concurrencyPolicy", &["Allow", "Forbid", "Replace"])], out);
    let job = spec.at("jobTemplate").at("spec");
    bare_spec(&job, out);
    if job.has("selector") {
        out.invalid(&job.at("selector"), "`selector` will be auto-generated");
    }
    if job.at("manualSelector").truth() {
        out.unsupported_as(job.child("manualSelector"), "true", &["nil", "false"]);
    }
    out.not_negative(&spec.at("successfulJobsHistoryLimit"));
    out.not_negative(&spec.at("failedJobsHistoryLimit"));
}

/// The names of time zones by what stands before their last slash, as Go knows them.
const ZONES: &str = include_str!("zones.txt");

fn is_zone(text: &str) -> bool {
    let (region, city) = text.rsplit_once('/').unwrap_or(("", text));
    let mut lines = ZONES.lines().filter_map(|line| line.split_once(": "));
    lines.any(|(known, cities)| known == region && cities.split(' ').any(|one| one == city))
}

/// A time zone.
fn time_zone(zone: &Place<'_>, out: &mut Flaws) {
    let text = zone.text();
    if text.is_empty() {
        return out.invalid_text(zone, "timeZone must be nil or non-empty string");
    }
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_+".contains(&byte);
    let part = |part: &str| {
        (1..=14).contains(&part.len())
            && part.bytes().all(plain)
            && !matches!(part, "." | "..")
            && !part.starts_with('-')
    };
    if !text.split('/').all(part) {
        out.invalid_text(zone, &format!("unknown time zone {text}"));
    } else if text.eq_ignore_ascii_case("Local") {
        out.invalid_text(
            zone,
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones",
        );
    } else if !is_zone(text) {
        out.invalid_text(zone, &format!("unknown time zone {text}"));
    }
}
