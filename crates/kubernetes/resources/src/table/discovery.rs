//! What discovery answers, in both forms, from rows of the table (and of definitions that users add).

use serde_json::{Map, Value, json};

use super::{Group, Row, Version};

/// The list of all groups but the core one: the answer at `/apis`.
pub fn group_list<'g, 't: 'g>(groups: impl Iterator<Item = &'g Group<'t>>) -> Value {
    let groups: Vec<Value> = groups.filter(|group| !group.name.is_empty()).map(described).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// One group: the answer at `/apis/{group}`.
pub fn group(group: &Group<'_>) -> Value {
    let mut value = described(group);
    if let Some(fields) = value.as_object_mut() {
        fields.insert("kind".to_owned(), "APIGroup".into());
        fields.insert("apiVersion".to_owned(), "v1".into());
    }
    value
}

fn described(group: &Group<'_>) -> Value {
    let version = |version: &Version<'_>| json!({"groupVersion": format!("{}/{}", group.name, version.name), "version": version.name});
    let versions: Vec<Value> = group.versions.iter().map(version).collect();
    json!({"name": group.name, "versions": versions, "preferredVersion": versions.first()})
}

/// The resources of a group and version: the answer at `/apis/{group}/{version}` and `/api/v1`.
pub fn resource_list(group: &str, version: &Version<'_>) -> Value {
    let name = if group.is_empty() { version.name.to_owned() } else { format!("{group}/{}", version.name) };
    let mut resources = Vec::new();
    for row in &version.rows {
        let mut entry = entry(row.plural, row.singular, row.namespaced, row.kind, &row.verbs);
        words(&mut entry, "shortNames", &row.short_names);
        words(&mut entry, "categories", &row.categories);
        if !row.storage_hash.is_empty() {
            entry.insert("storageVersionHash".to_owned(), row.storage_hash.into());
        }
        resources.push(Value::Object(entry));
        for sub in &row.subresources {
            let name = format!("{}/{}", row.plural, sub.name);
            let mut entry = self::entry(&name, "", row.namespaced, sub.kind, &sub.verbs);
            if let Some((group, version)) = sub.api {
                entry.insert("group".to_owned(), group.into());
                entry.insert("version".to_owned(), version.into());
            }
            resources.push(Value::Object(entry));
        }
    }
    let mut list = json!({"kind": "APIResourceList", "groupVersion": name, "resources": resources});
    // The core group's list is the only one without it.
    if let Some(fields) = list.as_object_mut().filter(|_| !group.is_empty()) {
        fields.insert("apiVersion".to_owned(), "v1".into());
    }
    list
}

fn entry(name: &str, singular: &str, namespaced: bool, kind: &str, verbs: &[&str]) -> Map<String, Value> {
    let entry = json!({"name": name, "singularName": singular, "namespaced": namespaced, "kind": kind, "verbs": verbs});
    match entry {
        Value::Object(entry) => entry,
        _ => Map::new(),
    }
}

fn words(entry: &mut Map<String, Value>, key: &str, words: &[&str]) {
    if !words.is_empty() {
        entry.insert(key.to_owned(), json!(words));
    }
}

/// Groups in the aggregated form: the core group for `/api`, all others for `/apis`.
pub fn aggregated<'g, 't: 'g>(groups: impl Iterator<Item = &'g Group<'t>>) -> Value {
    let items: Vec<Value> = groups.map(aggregated_group).collect();
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items})
}

fn aggregated_group(group: &Group<'_>) -> Value {
    let version = |version: &Version<'_>| {
        let resources: Vec<Value> = version.rows.iter().map(aggregated_row).collect();
        json!({"version": version.name, "resources": resources, "freshness": "Current"})
    };
    let versions: Vec<Value> = group.versions.iter().map(version).collect();
    let metadata = if group.name.is_empty() { json!({}) } else { json!({"name": group.name}) };
    json!({"metadata": metadata, "versions": versions})
}

fn aggregated_row(row: &Row<'_>) -> Value {
    let scope = if row.namespaced { "Namespaced" } else { "Cluster" };
    let kind = |kind: &str, (group, version): (&str, &str)| json!({"group": group, "version": version, "kind": kind});
    let mut value = json!({"resource": row.plural, "responseKind": kind(row.kind, ("", "")), "scope": scope,
        "singularResource": row.singular, "verbs": row.verbs});
    let subresources: Vec<Value> = row
        .subresources
        .iter()
        .map(|sub| {
            json!({"subresource": sub.name, "responseKind": kind(sub.kind, sub.api.unwrap_or(("", ""))),
                "verbs": sub.verbs})
        })
        .collect();
    if let Some(fields) = value.as_object_mut() {
        words(fields, "shortNames", &row.short_names);
        words(fields, "categories", &row.categories);
        if !subresources.is_empty() {
            fields.insert("subresources".to_owned(), Value::Array(subresources));
        }
    }
    value
}
