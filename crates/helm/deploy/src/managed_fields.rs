//! Upgrades managedFields from client-side updates to server-side apply, so that fields no longer in the manifest are
//! removed.

use serde_json::{Map, Value, json};

use crate::plan::FIELD_MANAGER;

/// The managers that update objects of releases client-side: Helm 3 and helm-operator.
pub(crate) const CLIENT_SIDE_MANAGERS: [&str; 2] = ["helm", "helm-operator"];

fn text<'v>(entry: &'v Value, key: &str) -> &'v str {
    entry.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn is_client_side(entry: &Value) -> bool {
    CLIENT_SIDE_MANAGERS.contains(&text(entry, "manager"))
        && text(entry, "operation") == "Update"
        && text(entry, "subresource").is_empty()
}

/// The managedFields with all client-side entries merged into the apply entry; `None` when there are no client-side
/// entries.
pub fn upgraded_entries(live: &Value) -> Option<Value> {
    let entries = live.pointer("/metadata/managedFields")?.as_array()?;
    if !entries.iter().any(is_client_side) {
        return None;
    }
    let is_ours = |entry: &Value| {
        text(entry, "manager") == FIELD_MANAGER
            && text(entry, "operation") == "Apply"
            && text(entry, "subresource").is_empty()
    };
    let (mut ours, others): (Vec<&Value>, Vec<&Value>) =
        entries.iter().partition(|entry| is_ours(entry) || is_client_side(entry));
    // The last entry that was applied gives the API version and the time.
    ours.sort_by_key(|entry| (is_ours(entry), text(entry, "time").to_owned()));
    let mut fields = Value::Object(Map::new());
    for entry in &ours {
        if let Some(more) = entry.get("fieldsV1") {
            merge_field_sets(&mut fields, more);
        }
    }
    let mut entry = (*ours.last()?).clone();
    let object = entry.as_object_mut()?;
    object.insert("manager".to_owned(), FIELD_MANAGER.into());
    object.insert("operation".to_owned(), "Apply".into());
    object.insert("fieldsV1".to_owned(), fields);
    Some(Value::Array(others.into_iter().cloned().chain([entry]).collect()))
}

/// The merge patch that upgrades the managedFields of the observed version.
pub fn upgrade_patch(live: &Value) -> Option<Value> {
    let version = live.pointer("/metadata/resourceVersion")?;
    Some(json!({"metadata": {"resourceVersion": version, "managedFields": upgraded_entries(live)?}}))
}

/// Merges two field sets. Their depth is bounded by that of the object.
fn merge_field_sets(fields: &mut Value, more: &Value) {
    let (Some(fields), Some(more)) = (fields.as_object_mut(), more.as_object()) else { return };
    for (key, value) in more {
        match fields.get_mut(key) {
            Some(known) => merge_field_sets(known, value),
            None => drop(fields.insert(key.clone(), value.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merges_client_side_entries_into_apply_entry() {
        let entry = |manager: &str, operation: &str, time: &str, fields: Value| json!({"manager": manager, "operation": operation, "time": time, "fieldsV1": fields});
        let live = json!({"metadata": {"resourceVersion": "5", "managedFields": [
            entry("helm", "Update", "2", json!({"f:spec": {"f:a": {}, "f:b": {"f:x": {}}}})),
            entry("kubectl", "Update", "3", json!({"f:spec": {"f:c": {}}})),
            entry("helm", "Apply", "1", json!({"f:spec": {"f:b": {"f:y": {}}}})),
        ]}});
        let expected = json!({"metadata": {"resourceVersion": "5", "managedFields": [
            entry("kubectl", "Update", "3", json!({"f:spec": {"f:c": {}}})),
            entry("helm", "Apply", "1", json!({"f:spec": {"f:a": {}, "f:b": {"f:x": {}, "f:y": {}}}})),
        ]}});
        assert_eq!(upgrade_patch(&live), Some(expected));
    }

    #[test]
    fn leaves_applied_objects_unchanged() {
        let live = json!({"metadata": {"resourceVersion": "5", "managedFields": [
            {"manager": "helm", "operation": "Apply"},
            {"manager": "kube-controller-manager", "operation": "Update", "subresource": "status"}]}});
        assert_eq!(upgrade_patch(&live), None);
        assert_eq!(upgrade_patch(&json!({})), None);
    }
}
