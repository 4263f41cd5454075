//! Volumes and claims.

use serde_json::Value;

use super::cell::{Look, at, list, text, texts};

const MODES: [(&str, &str); 4] = [
    ("ReadWriteOnce", "RWO"),
    ("ReadOnlyMany", "ROX"),
    ("ReadWriteMany", "RWX"),
    ("ReadWriteOncePod", "RWOP"),
];

fn modes(look: &Look<'_>, path: &str) -> String {
    let all = texts(look.object, path);
    let words: Vec<&str> =
        MODES.iter().filter(|(mode, _)| all.contains(mode)).map(|(_, short)| *short).collect();
    words.join(",")
}

pub fn volume_modes(look: &Look<'_>) -> String {
    modes(look, "spec.accessModes")
}

/// A claim's modes and size are known once it has a volume.
pub fn claim_modes(look: &Look<'_>) -> String {
    if look.text("spec.volumeName").is_empty() { String::new() } else { modes(look, "status.accessModes") }
}

pub fn claim_size(look: &Look<'_>) -> String {
    match (look.text("spec.volumeName"), look.text("status.capacity.storage")) {
        ("", _) => "",
        (_, "") => "0",
        (_, size) => size,
    }
    .to_owned()
}

pub fn phase(look: &Look<'_>) -> String {
    let deleted = at(look.object, "metadata.deletionTimestamp").is_some();
    if deleted { "Terminating" } else { look.text("status.phase") }.to_owned()
}

pub fn claim(look: &Look<'_>) -> String {
    match at(look.object, "spec.claimRef") {
        Some(claim) => format!("{}/{}", text(claim, "namespace"), text(claim, "name")),
        None => String::new(),
    }
}

fn annotation<'o>(look: &Look<'o>, key: &str) -> Option<&'o str> {
    look.object.pointer("/metadata/annotations")?.get(key)?.as_str()
}

/// The class, also where it was an annotation.
pub fn class(look: &Look<'_>) -> String {
    annotation(look, "volume.beta.kubernetes.io/storage-class")
        .unwrap_or_else(|| look.text("spec.storageClassName"))
        .to_owned()
}

pub fn class_name(look: &Look<'_>) -> String {
    let keys =
        ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];
    let mark = if keys.iter().any(|key| annotation(look, key) == Some("true")) { " (default)" } else { "" };
    format!("{}{mark}", look.text("metadata.name"))
}

pub fn token_requests(look: &Look<'_>) -> String {
    match at(look.object, "spec.tokenRequests") {
        None => "<unset>".to_owned(),
        Some(_) => {
            let audiences = list(look.object, "spec.tokenRequests").iter().map(|one| text(one, "audience"));
            audiences.collect::<Vec<&str>>().join(",")
        }
    }
}

pub fn lifecycle_modes(look: &Look<'_>) -> String {
    let modes = list(look.object, "spec.volumeLifecycleModes").iter().filter_map(Value::as_str);
    match modes.collect::<Vec<&str>>().join(",") {
        modes if modes.is_empty() => "<none>".to_owned(),
        modes => modes,
    }
}
