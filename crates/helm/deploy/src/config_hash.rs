//! Restarts pods when a ConfigMap or Secret of their release changes: the pod template carries a hash of what it
//! references.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::object::Object;

/// Pod template annotation with the hash.
pub const CONFIG_HASH_ANNOTATION: &str = "podium.dev/config-hash";
/// Annotation of the workload or its pod template that disables the restart when it is `false`.
pub const RESTART_ANNOTATION: &str = "podium.dev/restart-on-config-change";

/// The kinds that roll out their pods when the pod template changes.
const WORKLOAD_KINDS: [&str; 3] = ["Deployment", "StatefulSet", "DaemonSet"];
/// Maximum depth to which a pod spec is searched for references.
const MAX_DEPTH: usize = 32;

/// Annotates every workload that references ConfigMaps or Secrets among these objects.
pub fn annotate_pod_templates(objects: &mut [Object]) {
    let content = |object: &Object| {
        let kind = object.object_ref.kind.kind.as_str();
        if !object.object_ref.kind.group.is_empty() || !matches!(kind, "ConfigMap" | "Secret") {
            return None;
        }
        let mut hasher = Sha256::new();
        for key in ["data", "stringData", "binaryData"] {
            hasher.update(object.body.get(key).map(ToString::to_string).unwrap_or_default());
        }
        let (kind, namespace) = (object.object_ref.kind.kind.clone(), object.object_ref.namespace.clone());
        Some((kind, namespace, object.object_ref.name.clone(), hasher.finalize()))
    };
    let contents: Vec<_> = objects.iter().filter_map(content).collect();
    for object in objects.iter_mut() {
        let workload = object.object_ref.kind.group == "apps"
            && WORKLOAD_KINDS.contains(&object.object_ref.kind.kind.as_str());
        if !workload
            || is_disabled(&object.body, "/metadata")
            || is_disabled(&object.body, "/spec/template/metadata")
        {
            continue;
        }
        let Some(spec) = object.body.pointer("/spec/template/spec") else { continue };
        let mut names = Vec::new();
        collect_references(spec, MAX_DEPTH, &mut names);
        let mut hasher = Sha256::new();
        let mut uses_config = false;
        for (kind, namespace, name, hash) in &contents {
            if *namespace == object.object_ref.namespace && names.iter().any(|(k, n)| k == kind && n == name)
            {
                hasher.update(hash);
                uses_config = true;
            }
        }
        if uses_config {
            let hash: String = hasher.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
            set_config_hash(&mut object.body, &hash);
        }
    }
}

fn is_disabled(body: &Value, pointer: &str) -> bool {
    let annotations = body.pointer(pointer).and_then(|metadata| metadata.get("annotations"));
    annotations.and_then(|map| map.get(RESTART_ANNOTATION)).and_then(Value::as_str) == Some("false")
}

/// Collects the ConfigMaps and Secrets that a pod spec references: volumes, environment variables, projections.
fn collect_references(value: &Value, depth: usize, names: &mut Vec<(&'static str, String)>) {
    const REFERENCE_FIELDS: [(&str, &str, &str); 6] = [
        ("configMap", "name", "ConfigMap"),
        ("configMapRef", "name", "ConfigMap"),
        ("configMapKeyRef", "name", "ConfigMap"),
        ("secret", "secretName", "Secret"),
        ("secretRef", "name", "Secret"),
        ("secretKeyRef", "name", "Secret"),
    ];
    let Some(depth) = depth.checked_sub(1) else { return };
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect_references(item, depth, names)),
        Value::Object(fields) => {
            for (key, field, kind) in REFERENCE_FIELDS {
                let used = fields.get(key).and_then(|used| used.get(field).or_else(|| used.get("name")));
                names.extend(used.and_then(Value::as_str).map(|name| (kind, name.to_owned())));
            }
            fields.values().for_each(|field| collect_references(field, depth, names));
        }
        _ => {}
    }
}

fn set_config_hash(body: &mut Value, hash: &str) {
    let Some(template) = body.pointer_mut("/spec/template").and_then(Value::as_object_mut) else { return };
    let map = |parent: &mut Map<String, Value>, key: &str| {
        let child = parent.entry(key).or_insert(Value::Null);
        if child.is_null() {
            *child = Value::Object(Map::new());
        }
    };
    map(template, "metadata");
    let Some(metadata) = template.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    map(metadata, "annotations");
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.insert(CONFIG_HASH_ANNOTATION.to_owned(), hash.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::parse_manifest;

    const DEPLOYMENT: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {template: {spec: {\
        volumes: [{configMap: {name: c}}, {projected: {sources: [{secret: {name: p}}]}}], \
        containers: [{envFrom: [{secretRef: {name: s}}]}]}}}\n";

    fn hash(data: &str, workload: &str) -> Option<String> {
        let mut objects = parse_manifest(&format!("{data}---\n{workload}")).unwrap();
        annotate_pod_templates(&mut objects);
        let body = &objects.last().unwrap().body;
        let found = body.pointer("/spec/template/metadata/annotations/podium.dev~1config-hash");
        found.and_then(Value::as_str).map(str::to_owned)
    }

    #[test]
    fn hash_depends_on_referenced_config() {
        let config = |name: &str, text: &str| {
            format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{a: {text}}}\n")
        };
        let secret = |name: &str, text: &str| config(name, text).replace("ConfigMap", "Secret");
        let one = hash(&config("c", "x"), DEPLOYMENT).unwrap();
        assert_eq!(one, hash(&config("c", "x"), DEPLOYMENT).unwrap());
        assert_ne!(one, hash(&config("c", "y"), DEPLOYMENT).unwrap());
        assert!(hash(&secret("s", "x"), DEPLOYMENT).is_some());
        assert!(hash(&secret("p", "x"), DEPLOYMENT).is_some());
        // Neither another name nor another kind matches.
        assert_eq!(hash(&config("other", "x"), DEPLOYMENT), None);
        assert_eq!(hash(&config("s", "x"), DEPLOYMENT), None);
    }

    #[test]
    fn annotation_disables_restart() {
        let config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n";
        let off = DEPLOYMENT
            .replace("{name: d}", "{name: d, annotations: {podium.dev/restart-on-config-change: \"false\"}}");
        assert!(hash(config, DEPLOYMENT).is_some());
        assert_eq!(hash(config, &off), None);
    }
}
