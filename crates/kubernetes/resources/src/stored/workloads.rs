//! Deployments and their like, and jobs.

use serde_json::Value;

use super::view::{Object, count, has, made, part, set, text};

const ROLLBACK: &str = "deprecated.deployment.rollback.to";
const GENERATION: &str = "deprecated.daemonset.template.generation";

pub fn deployment(object: &mut Object) {
    let Some(strategy) = part(object, "spec").and_then(|spec| part(spec, "strategy")) else { return };
    set(strategy, "type", "RollingUpdate");
    if text(strategy, "type") == "RollingUpdate"
        && let Some(rolling) = made(strategy, "rollingUpdate")
    {
        set(rolling, "maxUnavailable", "25%");
        set(rolling, "maxSurge", "25%");
    }
}

pub fn daemon_set(object: &mut Object) {
    let Some(strategy) = part(object, "spec").and_then(|spec| part(spec, "updateStrategy")) else { return };
    set(strategy, "type", "RollingUpdate");
    if text(strategy, "type") == "RollingUpdate"
        && let Some(rolling) = made(strategy, "rollingUpdate")
    {
        set(rolling, "maxUnavailable", 1);
        set(rolling, "maxSurge", 0);
    }
}

pub fn stateful_set(object: &mut Object) {
    let Some(strategy) = part(object, "spec").and_then(|spec| part(spec, "updateStrategy")) else { return };
    if text(strategy, "type").is_empty() {
        strategy.insert("type".to_owned(), "RollingUpdate".into());
        let _ = made(strategy, "rollingUpdate");
    }
    if text(strategy, "type") == "RollingUpdate"
        && let Some(rolling) = part(strategy, "rollingUpdate")
    {
        set(rolling, "partition", 0);
    }
}

pub fn job(object: &mut Object) {
    let labels = labels_of_template(object);
    if let Some(spec) = part(object, "spec") {
        if !has(spec, "completions") && !has(spec, "parallelism") {
            set(spec, "completions", 1);
        }
        let limit = if has(spec, "backoffLimitPerIndex") { i32::MAX } else { 6 };
        set(spec, "backoffLimit", limit);
        let replace = if has(spec, "podFailurePolicy") { "Failed" } else { "TerminatingOrFailed" };
        set(spec, "podReplacementPolicy", replace);
    }
    label(object, labels);
}

pub fn replication_controller(object: &mut Object) {
    let labels = labels_of_template(object);
    if let (Some(labels), Some(spec)) = (&labels, part(object, "spec"))
        && count(spec, "selector") == 0
    {
        spec.insert("selector".to_owned(), labels.clone());
    }
    label(object, labels);
}

fn labels_of_template(object: &Object) -> Option<Value> {
    let labels = object.get("spec")?.pointer("/template/metadata/labels")?;
    labels.is_object().then(|| labels.clone())
}

/// What has no labels has those of its pods.
fn label(object: &mut Object, labels: Option<Value>) {
    if let (Some(labels), Some(metadata)) = (labels, part(object, "metadata"))
        && count(metadata, "labels") == 0
    {
        metadata.insert("labels".to_owned(), labels);
    }
}

fn annotation(object: &Object, key: &str) -> Option<String> {
    object.get("metadata")?.get("annotations")?.get(key)?.as_str().map(str::to_owned)
}

/// A number with a sign, as the original reads it.
fn number(text: &str) -> Result<i64, String> {
    let problem = |reason: &str| format!("strconv.ParseInt: parsing {text:?}: {reason}");
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(problem("invalid syntax"));
    }
    text.parse().map_err(|_| problem("value out of range"))
}

/// An old annotation asks for a rollback; it must be a number.
pub fn deployment_through(object: &mut Object) -> Result<(), String> {
    let Some(revision) = annotation(object, ROLLBACK) else { return Ok(()) };
    let annotations = part(object, "metadata").and_then(|metadata| part(metadata, "annotations"));
    let Some(annotations) = annotations else { return Ok(()) };
    if revision.is_empty() {
        annotations.remove(ROLLBACK);
    } else {
        let wrong =
            |problem| format!("failed to parse annotation[{ROLLBACK}]={revision} as int64: {problem}");
        let number = number(&revision).map_err(wrong)?;
        annotations.insert(ROLLBACK.to_owned(), number.to_string().into());
    }
    drop_empty_annotations(object);
    Ok(())
}

/// An old annotation counts templates; every one has it.
pub fn daemon_set_through(object: &mut Object) -> Result<(), String> {
    let count = annotation(object, GENERATION).map_or(Ok(0), |text| number(&text))?;
    let annotations = part(object, "metadata").and_then(|metadata| made(metadata, "annotations"));
    if let Some(annotations) = annotations {
        annotations.insert(GENERATION.to_owned(), count.to_string().into());
    }
    Ok(())
}

pub(super) fn drop_empty_annotations(object: &mut Object) {
    if let Some(metadata) = part(object, "metadata")
        && count(metadata, "annotations") == 0
    {
        metadata.remove("annotations");
    }
}

/// Templates of claims say what they are.
pub fn claims_through(spec: &mut Object) {
    for claim in super::view::items(spec, "volumeClaimTemplates") {
        claim.insert("apiVersion".to_owned(), "v1".into());
        claim.insert("kind".to_owned(), "PersistentVolumeClaim".into());
    }
}
