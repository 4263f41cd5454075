//! Claims, volumes, and classes of storage.

use std::cmp::Ordering;

use serde_json::Value;

use super::amounts;
use super::formats;
use super::inner;
use super::place::{Flaws, IMMUTABLE, Place, go_json};
use super::pods;
use super::rules::{Rule, check};
use super::selectors;
use crate::typed::json::quote;

const OLD_CLASS: &str = "volume.beta.kubernetes.io/storage-class";
const MOUNT_OPTIONS: &str = "volume.beta.kubernetes.io/mount-options";

pub fn claim(object: &Place<'_>, out: &mut Flaws) {
    pods::claim_spec(&object.at("spec"), out);
}

pub fn claim_change(new: &Place<'_>, old: &Place<'_>, out: &mut Flaws) {
    let (spec, before) = (new.at("spec"), old.at("spec"));
    let (mut own, mut was) = (spec.value.clone(), before.value.clone());
    let (Some(own_map), Some(was_map)) = (own.as_object_mut(), was.as_object_mut()) else { return };
    if before.at("volumeName").text().is_empty() {
        match own_map.get("volumeName").cloned() {
            Some(name) => drop(was_map.insert("volumeName".to_owned(), name)),
            None => drop(was_map.remove("volumeName")),
        }
    }
    let class = spec.at("storageClassName");
    let annotation = |object: &Place<'_>| {
        object.at("metadata").at("annotations").key(OLD_CLASS).value.as_str().map(str::to_owned)
    };
    let (now_said, said) = (annotation(new), annotation(old));
    let none = !before.has("storageClassName");
    let moved = said.is_some()
        && none
        && class.is()
        && Some(class.text()) == said.as_deref()
        && (now_said.is_none() || now_said == said);
    if moved {
        own_map.remove("storageClassName");
    } else {
        let (now_said, said) = (now_said.unwrap_or_default(), said.clone().unwrap_or_default());
        if now_said != said {
            let path = format!("metadata.annotations.{OLD_CLASS}");
            out.invalid_as(path, &quote(&now_said), IMMUTABLE);
        }
        if class.is() && none && (annotation(old).is_none() || class.text() == said) {
            own_map.remove("storageClassName");
        }
    }
    let bound = new.at("status.phase").text() == "Bound";
    if bound {
        let size = was_map.get("resources").and_then(|one| one.pointer("/requests/storage")).cloned();
        let requests = own_map.get_mut("resources").and_then(|one| one.get_mut("requests"));
        if let (Some(requests), Some(size)) = (requests.and_then(Value::as_object_mut), size) {
            requests.insert("storage".to_owned(), size);
        }
        match was_map.get("volumeAttributesClassName").cloned() {
            Some(name) => drop(own_map.insert("volumeAttributesClassName".to_owned(), name)),
            None => drop(own_map.remove("volumeAttributesClassName")),
        }
    }
    if own != was {
        let diff = inner::difference("core.PersistentVolumeClaimSpec", &was, &own);
        out.forbidden(
            &spec,
            &format!(
                "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound \
                 claims\n{diff}"
            ),
        );
    }
    let size = |place: &Place<'_>| amounts::amount(place.value).unwrap_or_else(podium_meta::Quantity::zero);
    let now = size(&spec.at("resources.requests.storage"));
    let was = size(&before.at("resources.requests.storage"));
    let real = size(&old.at("status.capacity.storage"));
    if now.compare(&was) == Ordering::Less && now.compare(&real) != Ordering::Greater {
        let field = spec.at("resources.requests.storage");
        out.forbidden(&field, "field can not be less than status.capacity");
    }
    out.fixed(&spec.at("volumeMode").moved("volumeMode"), before.at("volumeMode").value);
    let attributes = spec.at("volumeAttributesClassName");
    let changed = attributes.value != before.at("volumeAttributesClassName").value;
    if changed && old.has("status.currentVolumeAttributesClassName") && attributes.text().is_empty() {
        let to = if attributes.is() { "empty string" } else { "nil" };
        let detail =
            format!("update to {to} is forbidden when status.currentVolumeAttributesClassName is not nil");
        out.forbidden(&attributes, &detail);
    }
}

/// A status is written on top of a version.
pub fn has_version(object: &Place<'_>, out: &mut Flaws) {
    if object.at("metadata.resourceVersion").text().is_empty() {
        out.required(&object.at("resourceVersion"), "");
    }
}

pub fn claim_status(object: &Place<'_>, out: &mut Flaws) {
    if object.at("spec.accessModes").count() == 0 {
        out.required(&object.at("spec.accessModes").moved("Spec.accessModes"), "");
    }
}

/// What a volume can be made of, and what is asked of it; the rest is not looked into.
const SOURCES: &[(&str, &[Rule])] = &[
    ("hostPath", &[Rule::Call(pods::host_path)]),
    ("gcePersistentDisk", &[]),
    ("awsElasticBlockStore", &[]),
    ("glusterfs", &[Rule::Need("endpoints"), Rule::Need("path"), Rule::Call(endpoints_namespace)]),
    ("flocker", &[]),
    ("nfs", &[Rule::Call(pods::nfs)]),
    ("rbd", &[Rule::Need("monitors"), Rule::Need("image")]),
    ("quobyte", &[Rule::Call(pods::quobyte)]),
    ("cephfs", &[Rule::Need("monitors")]),
    ("iscsi", &[Rule::Need("targetPortal"), Rule::Need("iqn")]),
    ("cinder", &[Rule::Need("volumeID")]),
    ("fc", &[]),
    ("flexVolume", &[Rule::Need("driver")]),
    ("azureFile", &[Rule::Need("secretName"), Rule::Need("shareName")]),
    ("vsphereVolume", &[Rule::Need("volumePath")]),
    ("photonPersistentDisk", &[Rule::Need("pdID")]),
    ("portworxVolume", &[Rule::Need("volumeID")]),
    ("azureDisk", &[Rule::Need("diskName"), Rule::Need("diskURI")]),
    ("scaleIO", &[]),
    ("local", &[Rule::Name("path", formats::no_steps_back)]),
    ("storageos", &[]),
    ("csi", &[Rule::Call(csi)]),
];

/// Kinds of volumes that do not mind options given by annotation.
const MOUNTABLE: &[&str] = &[
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "nfs",
    "rbd",
    "quobyte",
    "iscsi",
    "cinder",
    "cephfs",
    "azureFile",
    "vsphereVolume",
    "azureDisk",
    "photonPersistentDisk",
];

fn csi(place: &Place<'_>, out: &mut Flaws) {
    let driver = place.at("driver");
    if driver.text().is_empty() {
        out.required(&driver, "");
    } else {
        if driver.text().len() > 63 {
            out.too_long(&driver.path, 63);
        }
        out.wrong(&driver, formats::subdomain(&driver.text().to_lowercase()));
    }
    check(place, &[Rule::Need("volumeHandle")], out);
    for key in [
        "controllerPublishSecretRef",
        "controllerExpandSecretRef",
        "nodePublishSecretRef",
        "nodeExpandSecretRef",
    ] {
        let secret = place.at(key);
        if secret.is() {
            check(
                &secret,
                &[Rule::Name("name", formats::subdomain), Rule::Name("namespace", formats::label)],
                out,
            );
        }
    }
}

pub fn volume(object: &Place<'_>, out: &mut Flaws) {
    let spec = object.at("spec");
    let modes = spec.at("accessModes");
    if modes.count() == 0 {
        out.required(&modes, "");
    }
    pods::access_modes(&modes, out);
    let capacity = spec.at("capacity");
    if capacity.count() == 0 {
        out.required(&capacity, "");
    }
    if capacity.count() != 1 || !capacity.key("storage").is() {
        out.unsupported_as(&capacity.path, &go_json(capacity.value), &["storage"]);
    }
    for (_, amount) in capacity.members() {
        if let Some(amount_of) = amounts::amount(amount.value)
            && amounts::sign(&amount_of) != Ordering::Greater
        {
            if amounts::sign(&amount_of) == Ordering::Less {
                let whole = amounts::whole(&amount_of).unwrap_or(0);
                out.invalid_as(&amount.path, &whole.to_string(), "must be a valid resource quantity");
            }
            out.invalid_as(&amount.path, &quote(&amount_of.to_string()), "must be greater than zero");
        }
    }
    let policy = spec.at("persistentVolumeReclaimPolicy");
    let policies = ["Delete", "Recycle", "Retain"];
    if !policy.text().is_empty() && !policies.contains(&policy.text()) {
        out.unsupported(&policy, &policies);
    }
    let nodes = spec.at("nodeAffinity");
    if nodes.is() {
        if nodes.has("required") {
            selectors::node_selector(&nodes.at("required"), out);
        } else {
            out.required(&nodes.at("required"), "must specify required node constraints");
        }
    }
    volume_source(&spec, out);
    check(&spec, &[Rule::Form("storageClassName", formats::subdomain)], out);
    check(&spec, &[Rule::Among("volumeMode", &["Block", "Filesystem"])], out);
    let attributes = spec.at("volumeAttributesClassName");
    if attributes.is() {
        if attributes.text().is_empty() {
            out.required(&attributes, "an empty string is disallowed");
        } else {
            out.wrong(&attributes, formats::subdomain(attributes.text()));
        }
        if !spec.has("csi") {
            out.required(&spec.at("csi"), "has to be specified when using volumeAttributesClassName");
        }
    }
}

fn endpoints_namespace(gluster: &Place<'_>, out: &mut Flaws) {
    let namespace = gluster.at("endpointsNamespace");
    match namespace.text() {
        _ if !namespace.is() => {}
        "" => {
            out.invalid_text(&namespace, "if the endpointnamespace is set, it must be a valid namespace name")
        }
        text => out.wrong(&namespace, formats::label(text)),
    }
}

fn volume_source(spec: &Place<'_>, out: &mut Flaws) {
    let found: Vec<_> = SOURCES.iter().filter(|(key, _)| spec.has(key)).collect();
    for (at, (key, rules)) in found.iter().enumerate() {
        if at > 0 && *key != "flexVolume" {
            out.forbidden(&spec.at(key), "may not specify more than 1 volume type");
            continue;
        }
        check(&spec.at(key), rules, out);
        if *key == "local" && !spec.has("nodeAffinity") {
            out.required(&spec.at("nodeAffinity"), "Local volume requires node affinity");
        }
    }
    if found.is_empty() {
        out.required(spec, "must specify a volume type");
    }
    let path = spec.at("hostPath").at("path").text();
    let root = !path.is_empty()
        && path.split('/').all(|step| step.is_empty() || step == ".")
        && path.starts_with('/');
    let policy = spec.at("persistentVolumeReclaimPolicy");
    if root && policy.text() == "Recycle" {
        out.forbidden(&policy, "may not be 'recycle' for a hostPath mount of '/'");
    }
}

/// Options given by annotation, for kinds of volumes that mind them.
pub fn mount_options(object: &Place<'_>, out: &mut Flaws) {
    let spec = object.at("spec");
    if !MOUNTABLE.iter().any(|key| spec.has(key))
        && object.at("metadata").at("annotations").key(MOUNT_OPTIONS).is()
    {
        let place = object.moved(format!("metadata.annotations.{MOUNT_OPTIONS}"));
        out.forbidden(&place, "may not specify mount options for this volume type");
    }
}

pub fn volume_change(new: &Place<'_>, old: &Place<'_>, out: &mut Flaws) {
    let (spec, before) = (new.at("spec"), old.at("spec"));
    let sources = |spec: &Place<'_>| -> Value {
        let own = SOURCES.iter().filter(|(key, _)| spec.has(key));
        Value::Object(own.map(|(key, _)| ((*key).to_owned(), spec.at(key).value.clone())).collect())
    };
    let (mut own, was) = (sources(&spec), sources(&before));
    if before.has("csi")
        && !before.has("csi.controllerExpandSecretRef")
        && let Some(csi) = own.get_mut("csi").and_then(Value::as_object_mut)
    {
        csi.remove("controllerExpandSecretRef");
    }
    if own != was {
        let diff = inner::difference("core.PersistentVolumeSource", &was, &own);
        let place = spec.moved("spec.persistentvolumesource");
        out.forbidden(&place, &format!("spec.persistentvolumesource is immutable after creation\n{diff}"));
    }
    out.fixed(&spec.at("volumeMode").moved("volumeMode"), before.at("volumeMode").value);
    let nodes = spec.at("nodeAffinity");
    if before.has("nodeAffinity") && nodes.value != before.at("nodeAffinity").value {
        let shown = inner::shown("core.VolumeNodeAffinity", nodes.value);
        let detail = format!("{IMMUTABLE}, except for updating from beta label to GA");
        out.invalid_as("nodeAffinity", &shown, &detail);
    }
    if before.has("volumeAttributesClassName") && !spec.has("volumeAttributesClassName") {
        let field = spec.at("volumeAttributesClassName");
        out.forbidden(&field, "update from non-nil value to nil is forbidden");
    }
}

/// A volume that a node has.
pub fn attachment(object: &Place<'_>, out: &mut Flaws) {
    let spec = object.at("spec");
    pods::driver_name(&spec.at("attacher"), out);
    let source = spec.at("source");
    let (inline, name) = (source.at("inlineVolumeSpec"), source.at("persistentVolumeName"));
    let one = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    match (inline.is(), name.is()) {
        (false, false) => out.required(&source, one),
        (true, true) => out.forbidden(&source, one),
        (false, true) if name.text().is_empty() => {
            out.required(&name, "must specify non empty persistentVolumeName");
        }
        _ => {}
    }
    out.wrong(&spec.at("nodeName"), formats::subdomain(spec.at("nodeName").text()));
    if name.is() {
        out.wrong(&name, formats::subdomain(name.text()));
    }
}

pub fn attachment_change(new: &Place<'_>, old: &Place<'_>, out: &mut Flaws) {
    if new.at("spec").value != old.at("spec").value {
        let shown = inner::shown("storage.VolumeAttachmentSpec", new.at("spec").value);
        out.invalid_as("spec", &shown, IMMUTABLE);
    }
}

/// The drivers of a node.
pub fn drivers(object: &Place<'_>, out: &mut Flaws) {
    let mut names: Vec<&str> = Vec::new();
    for driver in object.each("spec.drivers") {
        let (name, id) = (driver.at("name"), driver.at("nodeID"));
        pods::driver_name(&name, out);
        check(&driver, &[Rule::Need("nodeID")], out);
        if id.text().len() > 256 {
            out.invalid_text(&id, "must be 256 characters or less");
        }
        if driver.at("allocatable.count").number() < 0 {
            let field = driver.at("allocatable.count");
            out.invalid_number(&field, super::place::NEGATIVE);
        }
        if names.contains(&name.text()) {
            out.duplicate(&name);
        }
        names.push(name.text());
        let mut keys: Vec<&str> = Vec::new();
        for key in driver.each("topologyKeys") {
            if keys.contains(&key.text()) {
                out.duplicate(&key);
            }
            keys.push(key.text());
            selectors::key(&key, out);
        }
    }
}

pub fn class(object: &Place<'_>, out: &mut Flaws) {
    let maker = object.at("provisioner");
    if maker.text().is_empty() {
        out.required(&maker, "");
    } else {
        let lower: Value = maker.text().to_lowercase().into();
        selectors::key(&Place { value: &lower, path: maker.path.clone() }, out);
    }
    let parameters = object.at("parameters");
    if parameters.count() > 512 {
        out.too_long(&parameters.path, 512);
    } else {
        let mut size = 0;
        for (key, value) in parameters.members() {
            if key.is_empty() {
                out.invalid_as(&parameters.path, "\"\"", "field can not be empty.");
            }
            size += key.len() + value.text().len();
        }
        if size > 256 * 1024 {
            out.too_long(&parameters.path, 256 * 1024);
        }
    }
    let policy = object.at("reclaimPolicy");
    if !policy.text().is_empty() && !matches!(policy.text(), "Delete" | "Retain") {
        out.unsupported(&policy, &["Delete", "Retain"]);
    }
    let mode = object.at("volumeBindingMode");
    if !mode.is() {
        out.required(&mode, "");
    } else if !matches!(mode.text(), "Immediate" | "WaitForFirstConsumer") {
        out.unsupported(&mode, &["Immediate", "WaitForFirstConsumer"]);
    }
    topologies(&object.at("allowedTopologies"), out);
}

fn topologies(list: &Place<'_>, out: &mut Flaws) {
    let mut seen: Vec<&Value> = Vec::new();
    for term in list.items() {
        let mut keys: Vec<&str> = Vec::new();
        for one in term.each("matchLabelExpressions") {
            let values = one.at("values");
            if values.count() == 0 {
                out.required(&values, "");
            }
            let mut known: Vec<&str> = Vec::new();
            for value in values.items() {
                if known.contains(&value.text()) {
                    out.duplicate(&value);
                }
                known.push(value.text());
            }
            selectors::key(&one.at("key"), out);
            if keys.contains(&one.at("key").text()) {
                out.duplicate(&one.at("key"));
            }
            keys.push(one.at("key").text());
        }
        // One that says nothing is counted as often as there are any: so does the original.
        let empty = if keys.is_empty() { list.count() } else { 0 };
        let same = seen.iter().filter(|known| **known == term.value).count();
        (0..empty + same).for_each(|_| out.duplicate_as(term.child("matchLabelExpressions"), "\"\""));
        seen.push(term.value);
    }
}

pub fn class_change(new: &Place<'_>, old: &Place<'_>, out: &mut Flaws) {
    out.fixed(&new.at("parameters"), old.at("parameters").value);
    out.fixed_text(&new.at("provisioner"), &old.at("provisioner"));
    out.fixed(&new.at("reclaimPolicy"), old.at("reclaimPolicy").value);
    out.fixed(&new.at("volumeBindingMode"), old.at("volumeBindingMode").value);
}
