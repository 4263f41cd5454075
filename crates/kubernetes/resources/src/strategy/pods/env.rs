//! Variables of containers, and the fields and files that they come from.

use serde_json::Value;

use super::super::amounts;
use super::super::formats;
use super::super::place::{Flaws, Place};
use super::super::rules::{Rule, check};
use super::super::selectors;
use super::Scene;
use crate::typed::json::quote;

const SOURCES: &[(&str, fn(&Place<'_>, &mut Flaws))] = &[
    ("fieldRef", env_field),
    ("resourceFieldRef", env_resource),
    ("configMapKeyRef", key_of),
    ("secretKeyRef", key_of),
    ("fileKeyRef", key_of_file),
];

/// Fields of pods that a variable can have.
const ENV_FIELDS: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
/// Fields of pods that a file can have.
const FILE_FIELDS: &[&str] =
    &["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];
/// Fields of pods that are known at all.
const ALL_FIELDS: &[&str] = &[
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.host",
    "spec.restartPolicy",
    "spec.serviceAccountName",
    "spec.schedulerName",
    "status.phase",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
const RESOURCES: &[&str] = &[
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];
const DIVISORS: &[&str] =
    &["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];

/// The variables of a container, and what all of them come from.
pub fn variables(container: &Place<'_>, out: &mut Flaws) {
    for variable in container.each("env") {
        check(&variable, &[Rule::Name("name", formats::variable)], out);
        if variable.has("valueFrom") {
            value_from(&variable, out);
        }
    }
    let all = container.at("envFrom");
    for source in all.items() {
        check(&source, &[Rule::Form("prefix", formats::variable)], out);
        let found: Vec<&str> =
            ["configMapRef", "secretRef"].into_iter().filter(|key| source.has(key)).collect();
        for key in &found {
            // The end of the name may be a dash here.
            let name = source.at(key).at("name");
            if name.text().is_empty() {
                out.required(&name, "");
            } else {
                let rule = super::super::metadata::NameRule::Subdomain;
                out.wrong(&name, rule.flaws(name.text(), true));
            }
        }
        match found.len() {
            0 => out.invalid_as(&all.path, "\"\"", "must specify one of: `configMapRef` or `secretRef`"),
            1 => {}
            _ => out.invalid_as(&all.path, "\"\"", "may not have more than one field specified at a time"),
        }
    }
}

fn value_from(variable: &Place<'_>, out: &mut Flaws) {
    let place = variable.at("valueFrom");
    let found: Vec<_> = SOURCES.iter().filter(|(key, _)| place.has(key)).collect();
    found.iter().for_each(|(key, check)| check(&place.at(key), out));
    let detail = if found.is_empty() {
        "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
    } else if !variable.at("value").text().is_empty() {
        "may not be specified when `value` is not empty"
    } else if found.len() > 1 {
        "may not have more than one field specified at a time"
    } else {
        return;
    };
    out.invalid_as(&place.path, "\"\"", detail);
}

fn key_of(place: &Place<'_>, out: &mut Flaws) {
    out.wrong(&place.at("name"), formats::subdomain(place.at("name").text()));
    check(place, &[Rule::Name("key", formats::data_key)], out);
}

fn key_of_file(place: &Place<'_>, out: &mut Flaws) {
    check(
        place,
        &[
            Rule::Name("key", formats::variable),
            Rule::Name("volumeName", formats::label),
            Rule::Name("path", formats::no_steps_back),
        ],
        out,
    );
}

fn env_field(place: &Place<'_>, out: &mut Flaws) {
    field(place, ENV_FIELDS, out);
}

fn env_resource(place: &Place<'_>, out: &mut Flaws) {
    resource(place, false, out);
}

/// A field of the pod for a file.
pub fn file_field(place: &Place<'_>, out: &mut Flaws) {
    field(place, FILE_FIELDS, out);
}

/// The text before and in the brackets, if there are any.
fn subscript(path: &str) -> Option<(&str, &str)> {
    let (start, key) = path.strip_suffix("']")?.split_once("['")?;
    (!start.is_empty()).then_some((start, key))
}

fn field(place: &Place<'_>, fields: &[&str], out: &mut Flaws) {
    let (version, path) = (place.at("apiVersion"), place.at("fieldPath"));
    for field in [&version, &path] {
        if field.text().is_empty() {
            return out.required(field, "");
        }
    }
    let text = path.text();
    let mut wrong = |why: String| out.invalid_text(&path, &format!("error converting fieldPath: {why}"));
    if version.text() != "v1" {
        return wrong(format!("unsupported pod version: {}", version.text()));
    }
    match subscript(text) {
        Some((start @ ("metadata.annotations" | "metadata.labels"), key)) => {
            let lower = key.to_lowercase();
            let key: Value = if start == "metadata.annotations" { lower.as_str() } else { key }.into();
            selectors::key(&Place { value: &key, path: place.path.clone() }, out);
        }
        Some(_) => wrong(format!("field label does not support subscript: {text}")),
        None if !ALL_FIELDS.contains(&text) => wrong(format!("field label not supported: {text}")),
        None => {
            let text = if text == "spec.host" { "spec.nodeName" } else { text };
            if !fields.contains(&text) {
                out.unsupported_as(&path.path, &quote(text), fields);
            }
        }
    }
}

/// An amount of a container's resources.
pub fn resource(place: &Place<'_>, of_file: bool, out: &mut Flaws) {
    let name = place.at("resource");
    let text = name.text();
    let huge = text.starts_with("requests.hugepages-") || text.starts_with("limits.hugepages-");
    if of_file && place.at("containerName").text().is_empty() {
        out.required(&place.at("containerName"), "");
    } else if text.is_empty() {
        out.required(&name, "");
    } else if !RESOURCES.contains(&text) && !huge {
        out.unsupported(&name, RESOURCES);
    }
    let Some(divisor) = amounts::amount(place.at("divisor").value).filter(|divisor| !divisor.is_zero())
    else {
        return;
    };
    let (divisors, what): (&[&str], &str) = match text {
        "limits.cpu" | "requests.cpu" => (&["1m", "1"], "cpu"),
        "limits.memory" | "requests.memory" => (DIVISORS, "memory"),
        "limits.ephemeral-storage" | "requests.ephemeral-storage" => (DIVISORS, "local ephemeral storage"),
        _ if huge => (DIVISORS, "hugepages"),
        _ => return,
    };
    if !divisors.contains(&divisor.to_string().as_str()) {
        let list = if what == "cpu" { "1m and 1".to_owned() } else { DIVISORS.join(", ") };
        let detail = format!("only divisor's values {list} are supported with the {what} resource");
        out.invalid_as(&place.at("divisor").path, &quote(text), &detail);
    }
}

/// Files of variables are in volumes that are empty at first.
pub fn files(scene: &Scene<'_>, out: &mut Flaws) {
    for container in scene.containers() {
        for variable in container.each("env") {
            let file = variable.at("valueFrom").at("fileKeyRef");
            if !file.is() {
                continue;
            }
            let name = file.at("volumeName");
            let volumes = scene.spec.each("volumes");
            match volumes.iter().rev().find(|volume| volume.at("name").text() == name.text()) {
                None => out.not_found(&name),
                Some(volume) if !volume.has("emptyDir") => {
                    out.invalid_text(&name, "referenced volume must be of type emptyDir");
                }
                Some(_) => {}
            }
        }
    }
}
