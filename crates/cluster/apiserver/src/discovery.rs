//! What is served, as clients ask for it: group by group, or all at once.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use podium_resources::table::discovery;
use podium_resources::{Group, Row, Subresource, Version, kinds};
use serde_json::{Value, json};

use crate::custom::Custom;
use crate::served::{Served, built_in_rows, newer_first, serves_part};

/// All groups in the order of discovery.
fn groups(served: &Served) -> Vec<Group<'_>> {
    let mut all: Vec<Group<'_>> = Vec::new();
    for group in kinds().groups() {
        let mut versions = Vec::new();
        for version in &group.versions {
            let of = |row: &&Row<'static>| row.group == group.name && row.version == version.name;
            let rows: Vec<Row<'_>> = built_in_rows()
                .filter(of)
                .map(|row| {
                    let mut row = row.clone();
                    row.subresources.retain(|sub| serves_part(row.plural, sub.name));
                    row
                })
                .collect();
            if !rows.is_empty() {
                versions.push(Version { name: version.name, rows });
            }
        }
        if !versions.is_empty() {
            all.push(Group { name: group.name, versions });
        }
    }
    let mut customs: BTreeMap<&str, BTreeMap<&str, Vec<Row<'_>>>> = BTreeMap::new();
    for custom in &served.customs {
        for (version, row) in rows(custom) {
            customs.entry(&custom.group).or_default().entry(version).or_default().push(row);
        }
    }
    for (name, versions) in customs {
        let mut versions: Vec<Version<'_>> =
            versions.into_iter().map(|(name, rows)| Version { name, rows }).collect();
        versions.sort_by(|a, b| newer_first(a.name, b.name));
        for version in &mut versions {
            version.rows.sort_by(|a, b| a.plural.cmp(b.plural));
        }
        all.push(Group { name, versions });
    }
    all
}

/// The rows of a kind that users define.
fn rows(custom: &Custom) -> Vec<(&str, Row<'_>)> {
    let names = custom.accepted_names();
    let text = |key: &str| names.get(key).and_then(Value::as_str).unwrap_or_default();
    let words = |key: &str| -> Vec<&str> {
        names.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
    };
    let mut all = Vec::new();
    for version in custom.served() {
        let mut subresources = Vec::new();
        if custom.version_has_status(version) {
            subresources.push(Subresource {
                name: "status",
                kind: &custom.kind,
                api: None,
                verbs: vec!["get", "patch", "update"],
            });
        }
        if custom.version_has_scale(version) {
            subresources.push(Subresource {
                name: "scale",
                kind: "Scale",
                api: Some(("autoscaling", "v1")),
                verbs: vec!["get", "patch", "update"],
            });
        }
        all.push((
            version,
            Row {
                group: &custom.group,
                version,
                plural: &custom.plural,
                singular: text("singular"),
                kind: &custom.kind,
                namespaced: custom.is_namespaced(),
                verbs: custom.verbs().to_vec(),
                short_names: words("shortNames"),
                categories: words("categories"),
                storage_hash: "",
                subresources,
            },
        ));
    }
    all
}

/// The answer at `/apis`.
pub fn group_list(served: &Served) -> Value {
    discovery::group_list(groups(served).iter())
}

/// The answer at `/apis/{group}`.
pub fn group(served: &Served, name: &str) -> Option<Value> {
    groups(served).iter().find(|group| group.name == name).map(discovery::group)
}

/// The answer at `/apis/{group}/{version}` and `/api/v1`.
pub fn resource_list(served: &Served, group: &str, version: &str) -> Option<Value> {
    let groups = groups(served);
    let found = groups.iter().find(|one| one.name == group)?;
    found
        .versions
        .iter()
        .find(|one| one.name == version)
        .map(|version| discovery::resource_list(group, version))
}

/// Everything at once: the core group for `/api`, all others for `/apis`.
pub fn aggregated(served: &Served, core: bool) -> Value {
    let groups = groups(served);
    let mut all = discovery::aggregated(groups.iter().filter(|group| group.name.is_empty() == core));
    // Kinds that users define are named in full.
    for group in all.get_mut("items").and_then(Value::as_array_mut).into_iter().flatten() {
        let name = group.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
        if kinds().group(&name).is_some() {
            continue;
        }
        for version in group.get_mut("versions").and_then(Value::as_array_mut).into_iter().flatten() {
            let api = version.get("version").and_then(Value::as_str).unwrap_or_default().to_owned();
            for resource in version.get_mut("resources").and_then(Value::as_array_mut).into_iter().flatten() {
                fill(resource, &name, &api);
                let parts = resource.get_mut("subresources").and_then(Value::as_array_mut);
                for part in parts.into_iter().flatten() {
                    fill(part, &name, &api);
                }
            }
        }
    }
    all
}

fn fill(entry: &mut Value, group: &str, version: &str) {
    if let Some(kind) = entry.get_mut("responseKind").and_then(Value::as_object_mut)
        && kind.get("version").and_then(Value::as_str) == Some("")
    {
        kind.insert("group".to_owned(), group.into());
        kind.insert("version".to_owned(), version.into());
    }
}

/// The answer at `/api`.
pub fn api_versions(host: &str) -> Value {
    json!({"kind": "APIVersions", "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": host}]})
}

/// A name for a content.
pub fn etag(text: &[u8]) -> String {
    let mut first = DefaultHasher::new();
    text.hash(&mut first);
    let mut second = DefaultHasher::new();
    (text, 1).hash(&mut second);
    format!("\"{:016X}{:016X}\"", first.finish(), second.finish())
}
