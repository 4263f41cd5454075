//! Fields by which lists and watches can be narrowed.

use podium_meta::GroupVersionKind;
use serde_json::Value;

/// The two that every kind has that has no list of its own.
const USUAL: &[&str] = &["metadata.name", "metadata.namespace"];

const EVENT: &[&str] = &[
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
    "metadata.namespace",
    "metadata.name",
];

/// Group, kind, fields, and how a field that is not among them is refused.
const OWN: &[(&str, &str, &[&str], Words)] = &[
    (
        "",
        "Pod",
        &[
            "metadata.name",
            "metadata.namespace",
            "spec.nodeName",
            "spec.host",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.podIPs",
            "status.nominatedNodeName",
        ],
        Words::Plain,
    ),
    ("", "Node", &["metadata.name", "spec.unschedulable"], Words::Plain),
    ("", "ReplicationController", &["metadata.name", "metadata.namespace", "status.replicas"], Words::Plain),
    ("", "Event", EVENT, Words::Plain),
    ("", "Namespace", &["status.phase", "metadata.name"], Words::Plain),
    ("", "Secret", &["type", "metadata.namespace", "metadata.name"], Words::Plain),
    ("", "Service", &["metadata.namespace", "metadata.name", "spec.clusterIP", "spec.type"], Words::Plain),
    (
        "events.k8s.io",
        "Event",
        &[
            "reason",
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
            "regarding.apiVersion",
            "regarding.resourceVersion",
            "regarding.fieldPath",
            "reportingController",
            "type",
            "metadata.namespace",
            "metadata.name",
        ],
        Words::Plain,
    ),
    ("batch", "Job", &["metadata.name", "metadata.namespace", "status.successful"], Words::ForJob),
    ("certificates.k8s.io", "CertificateSigningRequest", &["metadata.name", "spec.signerName"], Words::Plain),
    ("resource.k8s.io", "ResourceSlice", &["metadata.name", "spec.nodeName", "spec.driver"], Words::ForKind),
];

/// How the server refuses a field; its kinds do not agree.
#[derive(Clone, Copy)]
enum Words {
    Plain,
    ForJob,
    ForKind,
}

/// Whether lists of a kind can be narrowed by a field; an error is the server's.
pub fn check_field(kind: &GroupVersionKind, field: &str) -> Result<(), String> {
    let own = OWN.iter().find(|(group, name, ..)| *group == kind.group && *name == kind.kind);
    match own {
        Some((_, _, fields, _)) if fields.contains(&field) => Ok(()),
        Some((.., Words::Plain)) => Err(format!("field label not supported: {field}")),
        Some((.., Words::ForJob)) => Err(format!("field label {field:?} not supported for Job")),
        Some((.., Words::ForKind)) => {
            Err(format!("field label not supported for {}, Kind={}: {field}", kind.api_version(), kind.kind))
        }
        None if USUAL.contains(&field) => Ok(()),
        None => Err(format!(
            "{field:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
        )),
    }
}

/// The fields by which lists of a kind can be narrowed, beside name and namespace.
pub fn selectable_fields(kind: &GroupVersionKind) -> impl Iterator<Item = &'static str> {
    let own = OWN.iter().find(|(group, name, ..)| *group == kind.group && *name == kind.kind);
    let fields = own.map(|(_, _, fields, _)| *fields).unwrap_or_default();
    fields.iter().copied().filter(|field| !USUAL.contains(field) && *field != "spec.host")
}

/// What an object has in a field that lists can be narrowed by; empty if it has nothing.
pub fn field_value(object: &Value, field: &str) -> String {
    let at = |path: &str| path.split('.').try_fold(object, |value, key| value.get(key));
    let text = |path: &str| at(path).and_then(Value::as_str).unwrap_or_default().to_owned();
    let truth = |path: &str| at(path).and_then(Value::as_bool).unwrap_or(false).to_string();
    let number = |path: &str| at(path).and_then(Value::as_i64).unwrap_or(0).to_string();
    let either = |one: &str, other: &str| match text(one) {
        found if found.is_empty() => text(other),
        found => found,
    };
    match field {
        "spec.host" => text("spec.nodeName"),
        "spec.hostNetwork" | "spec.unschedulable" => truth(field),
        "status.replicas" => number(field),
        "status.successful" => number("status.succeeded"),
        "status.podIP" => {
            object.pointer("/status/podIPs/0/ip").and_then(Value::as_str).unwrap_or_default().to_owned()
        }
        // Accepted, and never set.
        "status.podIPs" => String::new(),
        // Events of both groups are the same objects under two sets of names.
        "reportingComponent" | "reportingController" => either("reportingComponent", "reportingController"),
        "source" => match either("source.component", "deprecatedSource.component") {
            source if source.is_empty() => either("reportingComponent", "reportingController"),
            source => source,
        },
        field => match field.strip_prefix("involvedObject.").or_else(|| field.strip_prefix("regarding.")) {
            Some(part) => either(&format!("involvedObject.{part}"), &format!("regarding.{part}")),
            None => text(field),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_refused_in_the_servers_words() {
        let refused = |api_version: &str, kind: &str, field: &str| {
            check_field(&GroupVersionKind::new(api_version, kind), field).unwrap_err()
        };
        assert_eq!(refused("v1", "Pod", "spec.x"), "field label not supported: spec.x");
        assert_eq!(
            refused("v1", "ConfigMap", "data.x"),
            "\"data.x\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
        );
        assert_eq!(refused("batch/v1", "Job", "x"), "field label \"x\" not supported for Job");
        assert_eq!(
            refused("v1", "Node", "metadata.namespace"),
            "field label not supported: metadata.namespace"
        );
        assert!(check_field(&GroupVersionKind::new("apps/v1", "Deployment"), "metadata.name").is_ok());
    }

    #[test]
    fn values_come_from_where_the_server_takes_them() {
        let pod = json!({"spec": {"nodeName": "n"}, "status": {"podIP": "1", "podIPs": [{"ip": "2"}]}});
        assert_eq!(field_value(&pod, "spec.host"), "n");
        assert_eq!(field_value(&pod, "spec.hostNetwork"), "false");
        assert_eq!(field_value(&pod, "status.podIP"), "2");
        let event = json!({"regarding": {"name": "p"}, "reportingController": "c"});
        assert_eq!(field_value(&event, "involvedObject.name"), "p");
        assert_eq!(field_value(&event, "source"), "c");
        assert_eq!(field_value(&json!({"status": {"succeeded": 2}}), "status.successful"), "2");
    }
}
