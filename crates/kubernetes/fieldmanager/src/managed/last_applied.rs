//! The annotation in which kubectl keeps what it last applied from its own side.

use serde_json::{Map, Value};

use super::{Scope, line};
use crate::set::FieldSet;
use crate::typed::{self, Duplicates};

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// How large all annotations of an object may be.
const MOST: usize = 256 * 1024;

fn annotation(object: &Value) -> Option<&str> {
    let text = object.get("metadata")?.get("annotations")?.get(ANNOTATION)?.as_str()?;
    (!text.is_empty()).then_some(text)
}

/// The fields of the last applied configuration that still have its values in the live object.
pub(super) fn unchanged(scope: &Scope<'_>, live: &Value) -> Option<FieldSet<'static>> {
    let last: Value = serde_json::from_str(annotation(live)?).ok()?;
    if last.get("apiVersion")?.as_str()? != scope.version || last.get("kind")?.as_str()? != scope.kind {
        return None;
    }
    let shape = scope.shape().ok()?;
    typed::validate(scope.shapes, shape, live, Duplicates::Refused).ok()?;
    typed::validate(scope.shapes, shape, &last, Duplicates::Refused).ok()?;
    let compared = typed::compare(scope.shapes, shape, &last, live);
    let all = typed::fields(scope.shapes, shape, &last);
    let same = all.difference(&compared.modified).difference(&compared.added).difference(&compared.removed);
    Some(same.into_owned())
}

/// Writes the configuration into the annotation of an object that has one.
pub(super) fn renew(object: &mut Value, config: &Value) {
    if annotation(object).is_none() {
        return;
    }
    let mut config = config.clone();
    match annotations(&mut config) {
        Some(Value::Object(annotations)) => {
            annotations.remove(ANNOTATION);
            settle(annotations);
        }
        Some(_) => {
            let metadata = config.get_mut("metadata").and_then(Value::as_object_mut);
            metadata.and_then(|metadata| metadata.remove("annotations"));
        }
        None => {}
    }
    let Some(Value::Object(annotations)) = annotations(object) else { return };
    settle(annotations);
    annotations.insert(ANNOTATION.to_owned(), Value::String(line(&config)));
    if size(annotations) > MOST {
        annotations.remove(ANNOTATION);
    }
}

fn annotations(object: &mut Value) -> Option<&mut Value> {
    object.get_mut("metadata")?.get_mut("annotations")
}

/// Annotations are texts: nothing is an empty one.
fn settle(annotations: &mut Map<String, Value>) {
    for value in annotations.values_mut().filter(|value| value.is_null()) {
        *value = Value::String(String::new());
    }
}

fn size(annotations: &Map<String, Value>) -> usize {
    annotations.iter().map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum()
}
