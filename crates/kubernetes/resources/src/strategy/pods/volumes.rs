//! Volumes of pods, and where containers see them.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::super::amounts;
use super::super::formats;
use super::super::metadata;
use super::super::place::{Flaws, Place, between};
use super::super::rules::{Rule, check};
use super::super::selectors;
use super::{Scene, env, probes, security};
use crate::typed::json::quote;

/// The volumes that are fine, by their names.
pub type Known<'v> = BTreeMap<String, Place<'v>>;

const MODE: &str = "must be a number between 0 and 0777 (octal), both inclusive";
const PATHS: &[&str] =
    &["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];

/// All kinds of volumes in the server's order: the field, what a second one is called, and what is asked of it.
const SOURCES: &[(&str, &str, fn(&Scene<'_>, &Place<'_>, &mut Flaws))] = &[
    ("emptyDir", "emptyDir", empty),
    ("hostPath", "hostPath", |_, place, out| host_path(place, out)),
    ("gitRepo", "gitRepo", |_, place, out| {
        check(place, &[Rule::Need("repository")], out);
        out.wrong(&place.at("directory"), formats::descending(place.at("directory").text()));
    }),
    ("gcePersistentDisk", "gcePersistentDisk", |_, place, out| {
        // What is in it is said to be elsewhere.
        let stem = place.path.strip_suffix("gcePersistentDisk").unwrap_or_default();
        disk(&place.moved(format!("{stem}persistentDisk")), "pdName", out);
    }),
    ("awsElasticBlockStore", "awsElasticBlockStore", |_, place, out| disk(place, "volumeID", out)),
    ("secret", "secret", |_, place, out| keys(place, "secretName", out)),
    ("nfs", "nfs", |_, place, out| nfs(place, out)),
    ("iscsi", "iscsi", |_, place, out| check(place, &[Rule::Need("targetPortal"), Rule::Need("iqn")], out)),
    ("glusterfs", "glusterfs", |_, place, out| {
        check(place, &[Rule::Need("endpoints"), Rule::Need("path")], out);
    }),
    ("flocker", "flocker", |_, _, _| {}),
    ("persistentVolumeClaim", "persistentVolumeClaim", |_, place, out| {
        check(place, &[Rule::Need("claimName")], out);
    }),
    ("rbd", "rbd", |_, place, out| check(place, &[Rule::Need("monitors"), Rule::Need("image")], out)),
    ("cinder", "cinder", |_, place, out| check(place, &[Rule::Need("volumeID")], out)),
    ("cephfs", "cephFS", |_, place, out| check(place, &[Rule::Need("monitors")], out)),
    ("quobyte", "quobyte", |_, place, out| quobyte(place, out)),
    ("downwardAPI", "downwarAPI", |_, place, out| {
        mode(&place.at("defaultMode"), out);
        // The server does not say which one.
        place.each("items").iter().for_each(|file| file_of_pod(&file.moved(&place.path), out));
    }),
    ("fc", "fc", |_, _, _| {}),
    ("flexVolume", "flexVolume", |_, place, out| check(place, &[Rule::Need("driver")], out)),
    ("configMap", "configMap", |_, place, out| keys(place, "name", out)),
    ("azureFile", "azureFile", |_, place, out| {
        check(place, &[Rule::Need("secretName"), Rule::Need("shareName")], out);
    }),
    ("vsphereVolume", "vsphereVolume", |_, place, out| check(place, &[Rule::Need("volumePath")], out)),
    ("photonPersistentDisk", "photonPersistentDisk", |_, place, out| {
        check(place, &[Rule::Need("pdID")], out)
    }),
    ("portworxVolume", "portworxVolume", |_, place, out| check(place, &[Rule::Need("volumeID")], out)),
    ("azureDisk", "azureDisk", |_, place, out| {
        check(place, &[Rule::Need("diskName"), Rule::Need("diskURI")], out);
    }),
    ("storageos", "storageos", |_, _, _| {}),
    ("projected", "projected", |_, place, out| projected(place, out)),
    ("scaleIO", "scaleIO", |_, _, _| {}),
    ("csi", "csi", |_, place, out| driver(place, out)),
    ("ephemeral", "ephemeral", ephemeral),
    ("image", "image", |scene, place, out| {
        if scene.is_pod && place.at("reference").text().is_empty() {
            out.required(&place.at("reference"), "");
        }
        probes::pull_policy(&place.at("pullPolicy"), out);
    }),
];

/// The volumes of a pod; those without a flaw are handed back.
pub fn volumes<'p>(scene: &Scene<'p>, out: &mut Flaws) -> Known<'p> {
    let mut known = Known::new();
    let made: Vec<String> = match scene.name {
        "" => Vec::new(),
        name => {
            let own = scene.spec.each("volumes").into_iter().filter(|volume| volume.has("ephemeral"));
            own.map(|volume| format!("{name}-{}", volume.at("name").text())).collect()
        }
    };
    for volume in scene.spec.each("volumes") {
        let before = out.list.len();
        source(scene, &volume, out);
        let name = volume.at("name");
        check(&volume, &[Rule::Name("name", formats::label)], out);
        if known.contains_key(name.text()) {
            out.duplicate(&name);
        }
        if before == out.list.len() {
            known.insert(name.text().to_owned(), volume.clone());
        }
        let claim = volume.at("persistentVolumeClaim").at("claimName");
        if volume.has("persistentVolumeClaim") && made.iter().any(|one| one == claim.text()) {
            let detail = "must not reference a PVC that gets created for an ephemeral volume";
            out.invalid_text(&claim, detail);
        }
    }
    known
}

fn source(scene: &Scene<'_>, volume: &Place<'_>, out: &mut Flaws) {
    let found: Vec<_> = SOURCES.iter().filter(|(key, ..)| volume.has(key)).collect();
    for (at, (key, other, check)) in found.iter().enumerate() {
        if at > 0 {
            let field = volume.at(key).moved(volume.child(other));
            out.forbidden(&field, "may not specify more than 1 volume type");
        } else {
            check(scene, &volume.at(key), out);
        }
    }
    if found.is_empty() {
        out.required(volume, "must specify a volume type");
    }
}

fn empty(_: &Scene<'_>, place: &Place<'_>, out: &mut Flaws) {
    let size = amounts::amount(place.at("sizeLimit").value);
    if size.is_some_and(|size| amounts::sign(&size) == Ordering::Less) {
        out.forbidden(&place.at("sizeLimit"), "SizeLimit field must be a valid resource quantity");
    }
}

/// A path of the machine.
pub fn host_path(place: &Place<'_>, out: &mut Flaws) {
    let path = place.at("path");
    if path.text().is_empty() {
        return out.required(&path, "");
    }
    out.wrong(&path, formats::no_steps_back(path.text()));
    let kind = place.at("type");
    if kind.is() && !PATHS.contains(&kind.text()) {
        out.unsupported(&kind, PATHS);
    }
}

/// A volume of Quobyte.
pub fn quobyte(place: &Place<'_>, out: &mut Flaws) {
    let pairs = "must be a host:port pair or multiple pairs separated by commas";
    let (registry, tenant) = (place.at("registry"), place.at("tenant"));
    if registry.text().is_empty() {
        out.required(&registry, pairs);
    } else if tenant.text().len() > 64 {
        // It is there, but that is what the server says.
        out.required(&tenant, "must be a UUID and may not exceed a length of 64 characters");
    } else {
        let broken = registry.text().split(',').filter(|pair| !is_pair(pair));
        broken.for_each(|_| out.invalid_text(&registry, pairs));
    }
    check(place, &[Rule::Need("volume")], out);
}

/// A host and a port, either of which may be empty.
fn is_pair(text: &str) -> bool {
    match text.strip_prefix('[') {
        Some(rest) => rest.split_once("]:").is_some_and(|(_, port)| !port.contains(':')),
        None => text.matches(':').count() == 1,
    }
}

/// A folder of another machine.
pub fn nfs(place: &Place<'_>, out: &mut Flaws) {
    check(place, &[Rule::Need("server"), Rule::Need("path")], out);
    if !place.at("path").text().starts_with('/') {
        out.invalid_text(&place.at("path"), "must be an absolute path");
    }
}

fn disk(place: &Place<'_>, name: &'static str, out: &mut Flaws) {
    check(place, &[Rule::Need(name)], out);
    if !(0..=255).contains(&place.at("partition").number()) {
        out.invalid_number(&place.at("partition"), &between(1, 255));
    }
}

fn mode(place: &Place<'_>, out: &mut Flaws) {
    if place.is() && !(0..=0o777).contains(&place.number()) {
        out.invalid_number(place, MODE);
    }
}

fn keys(place: &Place<'_>, name: &'static str, out: &mut Flaws) {
    check(place, &[Rule::Need(name)], out);
    mode(&place.at("defaultMode"), out);
    place.each("items").iter().for_each(|item| key_to_path(item, out));
}

fn key_to_path(item: &Place<'_>, out: &mut Flaws) {
    check(item, &[Rule::Need("key"), Rule::Need("path")], out);
    out.wrong(&item.at("path"), formats::volume_path(item.at("path").text()));
    mode(&item.at("mode"), out);
}

/// A file with something of the pod in it.
fn file_of_pod(file: &Place<'_>, out: &mut Flaws) {
    check(file, &[Rule::Need("path")], out);
    out.wrong(&file.at("path"), formats::volume_path(file.at("path").text()));
    let (field, resource) = (file.at("fieldRef"), file.at("resourceFieldRef"));
    if field.is() {
        env::file_field(&field, out);
        if resource.is() {
            let detail = "fieldRef and resourceFieldRef can not be specified simultaneously";
            out.invalid_as(&file.path, "\"resource\"", detail);
        }
    } else if resource.is() {
        env::resource(&resource, true, out);
    } else {
        out.required(file, "one of fieldRef and resourceFieldRef is required");
    }
    mode(&file.at("mode"), out);
}

fn projected(place: &Place<'_>, out: &mut Flaws) {
    mode(&place.at("defaultMode"), out);
    let mut paths: Vec<&str> = Vec::new();
    let detail = "conflicting duplicate paths";
    for source in place.each("sources") {
        for key in ["secret", "configMap"] {
            let own = source.at(key);
            if own.is() {
                check(&own, &[Rule::Need("name")], out);
                for item in own.each("items") {
                    key_to_path(&item, out);
                    if taken(&mut paths, item.at("path").text()) {
                        out.invalid_as(&place.path, &quote(own.at("name").text()), detail);
                    }
                }
            }
        }
        let pod = source.at("downwardAPI");
        for file in pod.each("items") {
            file_of_pod(&file.moved(&pod.path), out);
            if taken(&mut paths, file.at("path").text()) {
                out.invalid_as(&place.path, &quote(file.at("path").text()), detail);
            }
        }
        let token = source.at("serviceAccountToken");
        if token.is() {
            token_of_account(place, &token, out);
        }
        let bundle = source.at("clusterTrustBundle");
        if bundle.is() && !bundle.has("name") && !bundle.has("signerName") {
            out.required(&bundle, "either name or signerName must be specified");
        }
        let kinds = [
            "secret",
            "configMap",
            "downwardAPI",
            "serviceAccountToken",
            "clusterTrustBundle",
            "podCertificate",
        ];
        if kinds.iter().filter(|key| source.has(key)).count() > 1 {
            out.forbidden(&source, "may not specify more than 1 volume type per source");
        }
    }
}

fn taken<'t>(paths: &mut Vec<&'t str>, path: &'t str) -> bool {
    let known = paths.contains(&path);
    if !path.is_empty() && !known {
        paths.push(path);
    }
    known
}

fn token_of_account(place: &Place<'_>, token: &Place<'_>, out: &mut Flaws) {
    let seconds = token.at("expirationSeconds");
    if seconds.number() < 600 {
        out.invalid_number(&seconds, "may not specify a duration less than 10 minutes");
    }
    if seconds.number() > 1 << 32 {
        out.invalid_number(&seconds, "may not specify a duration larger than 2^32 seconds");
    }
    // The path is said to be the volume's.
    let path = token.at("path").moved(place.child("path"));
    if path.text().is_empty() {
        out.required(&path, "");
    } else {
        out.wrong(&path, formats::volume_path(path.text()));
    }
}

/// The name of a driver of volumes.
pub fn driver_name(place: &Place<'_>, out: &mut Flaws) {
    let name = place.text();
    if name.is_empty() {
        return out.required(place, "");
    }
    if name.len() > 63 {
        out.too_long(&place.path, 63);
    }
    out.wrong(place, formats::subdomain(&name.to_lowercase()));
}

fn driver(place: &Place<'_>, out: &mut Flaws) {
    driver_name(&place.at("driver"), out);
    let secret = place.at("nodePublishSecretRef");
    if secret.is() {
        let name = secret.at("name");
        if name.text().is_empty() {
            out.required(&name, "");
        } else {
            out.wrong(&name.moved(place.child("name")), formats::subdomain(name.text()));
        }
    }
}

fn ephemeral(scene: &Scene<'_>, place: &Place<'_>, out: &mut Flaws) {
    let template = place.at("volumeClaimTemplate");
    if template.is() {
        let meta = template.at("metadata");
        metadata::annotations(&meta.at("annotations"), out);
        selectors::labels(&meta.at("labels"), out);
        for key in ["name", "generateName", "namespace"] {
            if !meta.at(key).text().is_empty() {
                out.forbidden(&meta.at(key), "cannot be set for PersistentVolumeClaim template");
            }
        }
        claim_spec(&template.at("spec"), out);
    } else {
        out.required(&template, "");
    }
    let stem = place.path.strip_suffix(".ephemeral").unwrap_or_default().to_owned();
    let own = scene.spec.each("volumes").into_iter().find(|volume| volume.path == stem);
    let name = own.map(|volume| volume.at("name"));
    if let Some(name) = name.filter(|name| !scene.name.is_empty() && !name.text().is_empty()) {
        let claim = format!("{}-{}", scene.name, name.text());
        for message in formats::subdomain(&claim) {
            out.invalid_text(&name, &format!("PVC name {}: {message}", quote(&claim)));
        }
    }
}

const MODES: &[&str] = &["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

/// How a volume may be used at once.
pub fn access_modes(place: &Place<'_>, out: &mut Flaws) {
    let (mut alone, mut others) = (false, false);
    for one in place.items() {
        if !MODES.contains(&one.text()) {
            out.unsupported_as(&place.path, &quote(one.text()), MODES);
        } else {
            alone |= one.text() == "ReadWriteOncePod";
            others |= one.text() != "ReadWriteOncePod";
        }
    }
    if alone && others {
        out.forbidden(place, "may not use ReadWriteOncePod with other access modes");
    }
}

/// What a claim asks for.
pub fn claim_spec(spec: &Place<'_>, out: &mut Flaws) {
    let modes = spec.at("accessModes");
    if modes.count() == 0 {
        out.required(&modes, "at least 1 access mode is required");
    }
    selectors::selector(&spec.at("selector"), out);
    access_modes(&modes, out);
    let size = spec.at("resources.requests").key("storage").moved(spec.child("resources[storage]"));
    match amounts::amount(size.value) {
        None => out.required(&size, ""),
        Some(amount) if amounts::sign(&amount) != Ordering::Greater => {
            out.invalid_as(&size.path, &quote(&amount.to_string()), "must be greater than zero");
        }
        Some(_) => {}
    }
    check(spec, &[Rule::Form("storageClassName", formats::subdomain)], out);
    check(spec, &[Rule::Among("volumeMode", &["Block", "Filesystem"])], out);
    for key in ["dataSource", "dataSourceRef"] {
        let data = spec.at(key);
        if data.is() {
            data_source(&data, out);
        }
    }
    let (data, other) = (spec.at("dataSource"), spec.at("dataSourceRef"));
    if data.is() && other.is() {
        let same = ["apiGroup", "kind", "name"].iter().all(|key| data.at(key).value == other.at(key).value);
        if !other.at("namespace").text().is_empty() {
            let detail = "may not be specified when dataSourceRef.namespace is specified";
            out.invalid_as(&spec.path, "{}", detail);
        } else if !same {
            out.invalid_as(&spec.path, "{}", "must match dataSourceRef");
        }
    }
    check(spec, &[Rule::Form("volumeAttributesClassName", formats::subdomain)], out);
}

fn data_source(place: &Place<'_>, out: &mut Flaws) {
    check(place, &[Rule::Need("name"), Rule::Need("kind")], out);
    let group = place.at("apiGroup");
    if group.text().is_empty() {
        let kind = place.at("kind").text();
        if kind != "PersistentVolumeClaim" {
            let detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
            out.invalid_as(&place.path, &quote(kind), detail);
        }
    } else {
        out.wrong(&group, formats::subdomain(group.text()));
    }
    check(place, &[Rule::Form("namespace", formats::label)], out);
}

/// Where a container sees volumes.
pub fn mounts(container: &Place<'_>, known: &Known<'_>, out: &mut Flaws) {
    let (mounts, devices) = (container.at("volumeMounts"), container.at("volumeDevices"));
    // The last of a name is the one that counts.
    let pairs = |list: &Place<'_>, path: &str| -> BTreeMap<String, String> {
        list.items().map(|one| (one.at("name").text().to_owned(), one.at(path).text().to_owned())).collect()
    };
    let by_device = pairs(&devices, "devicePath");
    let mut seen: Vec<&str> = Vec::new();
    for mount in mounts.items() {
        let (name, path) = (mount.at("name"), mount.at("mountPath"));
        check(&mount, &[Rule::Need("name")], out);
        if !known.contains_key(name.text()) {
            out.not_found(&name);
        }
        check(&mount, &[Rule::Need("mountPath")], out);
        if seen.contains(&path.text()) {
            out.invalid_text(&path, "must be unique");
        }
        seen.push(path.text());
        if by_device.contains_key(name.text()) {
            out.invalid_text(&name, "must not already exist in volumeDevices");
        }
        if by_device.values().any(|one| one == path.text()) {
            out.invalid_text(&path, "must not already exist as a path in volumeDevices");
        }
        // These are said to be of all mounts.
        let below = |key: &str| mount.at(key).moved(mounts.child(key));
        out.wrong(&below("subPath"), formats::descending(below("subPath").text()));
        if !mount.at("subPathExpr").text().is_empty() {
            if !mount.at("subPath").text().is_empty() {
                let detail = "subPathExpr and subPath are mutually exclusive";
                out.invalid_text(&mount.at("subPathExpr"), detail);
            }
            out.wrong(&below("subPathExpr"), formats::descending(below("subPathExpr").text()));
        }
        propagation(container, &mount, &below("mountPropagation"), &below("recursiveReadOnly"), out);
    }
    block_devices(&devices, &pairs(&mounts, "mountPath"), known, out);
}

fn propagation(
    container: &Place<'_>,
    mount: &Place<'_>,
    spreads: &Place<'_>,
    deep: &Place<'_>,
    out: &mut Flaws,
) {
    if spreads.is() {
        let list = ["Bidirectional", "HostToContainer", "None"];
        if !list.contains(&spreads.text()) {
            out.unsupported(spreads, &list);
        }
        if spreads.text() == "Bidirectional" && !security::is_privileged(container) {
            let detail = "Bidirectional mount propagation is available only to privileged containers";
            out.forbidden(spreads, detail);
        }
    }
    match deep.text() {
        _ if !deep.is() => {}
        "Disabled" => {}
        "Enabled" | "IfPossible" => {
            if !mount.at("readOnly").truth() {
                out.forbidden(deep, "may only be specified when readOnly is true");
            }
            if spreads.is() && spreads.text() != "None" {
                let detail = "may only be specified when mountPropagation is None or not specified";
                out.forbidden(deep, detail);
            }
        }
        _ => out.unsupported(deep, &["Disabled", "Enabled", "IfPossible"]),
    }
}

fn block_devices(
    devices: &Place<'_>,
    mounted: &BTreeMap<String, String>,
    known: &Known<'_>,
    out: &mut Flaws,
) {
    let (mut names, mut paths): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for device in devices.items() {
        let (name, path) = (device.at("name"), device.at("devicePath"));
        check(&device, &[Rule::Need("name")], out);
        if names.contains(&name.text()) {
            out.invalid_text(&name, "must be unique");
        }
        match known.get(name.text()) {
            Some(volume) if !volume.has("persistentVolumeClaim") && !volume.has("ephemeral") => out
                .invalid_text(
                    &name,
                    "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode",
                ),
            Some(_) => {}
            None => out.not_found(&name),
        }
        check(&device, &[Rule::Need("devicePath")], out);
        if paths.contains(&path.text()) {
            out.invalid_text(&path, "must be unique");
        }
        if !path.text().is_empty() && !formats::no_steps_back(path.text()).is_empty() {
            out.invalid_text(&path, "can not contain backsteps ('..')");
        } else {
            paths.push(path.text());
        }
        if mounted.contains_key(name.text()) {
            out.invalid_text(&name, "must not already exist in volumeMounts");
        }
        if mounted.values().any(|one| one == path.text()) {
            out.invalid_text(&path, "must not already exist as a path in volumeMounts");
        }
        if !name.text().is_empty() {
            names.push(name.text());
        }
    }
}
