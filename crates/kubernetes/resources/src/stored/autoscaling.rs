//! Autoscalers.

use serde_json::{Value, json};

use super::twins;
use super::view::{Object, count, has, made, part};
use super::workloads::drop_empty_annotations;

/// Annotations that carry what an older version has no fields for.
pub(super) const CARRIED: [&str; 6] = [
    "autoscaling.alpha.kubernetes.io/metrics",
    "autoscaling.alpha.kubernetes.io/behavior",
    "autoscaling.alpha.kubernetes.io/current-metrics",
    "autoscaling.alpha.kubernetes.io/conditions",
    "autoscaling.alpha.kubernetes.io/scale-down-tolerance",
    "autoscaling.alpha.kubernetes.io/scale-up-tolerance",
];

/// Without a measure it is the processor's load.
pub fn metrics(object: &mut Object) {
    let Some(spec) = part(object, "spec") else { return };
    if count(spec, "metrics") == 0 {
        let target = json!({"type": "Utilization", "averageUtilization": 80});
        let metric = json!([{"type": "Resource", "resource": {"name": "cpu", "target": target}}]);
        spec.insert("metrics".to_owned(), metric);
    }
}

/// How fast it goes up and down.
pub fn behavior(object: &mut Object) {
    let Some(behavior) = part(object, "spec").and_then(|spec| part(spec, "behavior")) else { return };
    let percent = json!({"type": "Percent", "value": 100, "periodSeconds": 15});
    let pods = json!({"type": "Pods", "value": 4, "periodSeconds": 15});
    let up = json!({"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": [pods, percent]});
    let down = json!({"selectPolicy": "Max", "policies": [percent]});
    for (key, usual) in [("scaleUp", up), ("scaleDown", down)] {
        let (Some(place), Value::Object(usual)) = (made(behavior, key), usual) else { continue };
        for (key, value) in usual {
            if !has(place, &key) {
                place.insert(key, value);
            }
        }
    }
}

/// The newer version has fields for them.
pub fn annotations_through(object: &mut Object) {
    let annotations = part(object, "metadata").and_then(|metadata| part(metadata, "annotations"));
    if let Some(annotations) = annotations {
        let before = annotations.len();
        CARRIED.iter().for_each(|key| drop(annotations.remove(*key)));
        if before != annotations.len() {
            drop_empty_annotations(object);
        }
    }
}

/// An empty list is not written.
pub fn rules_through(rules: &mut Object) {
    if count(rules, "policies") == 0 {
        rules.remove("policies");
    }
}

/// The older version goes through the newer one, which has fields for what it has annotations for.
pub fn through_second(object: &mut Object) {
    twins::to_second(object);
    twins::to_first(object);
}
