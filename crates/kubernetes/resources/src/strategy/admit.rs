//! What the server's own admission does with objects.

use std::cmp::Ordering;

use podium_meta::GroupVersionKind;
use serde_json::{Value, json};

use super::amounts;
use super::facts::{Facts, Refused};
use crate::stored::view::{Object, made, part};

const TOKENS: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
const VOLUME: &str = "kube-api-access-";
const OLD_CLASS: &str = "volume.beta.kubernetes.io/storage-class";
const MIRROR: &str = "kubernetes.io/config.mirror";
/// How long a pod stays on a node that is not there any more.
const AWAY_SECONDS: i64 = 300;
/// Seconds that the tokens of pods are good for: a bit more than an hour, by which they are known.
const TOKEN_SECONDS: i64 = 3607;

/// What becomes of a new object before it is prepared and checked.
pub fn admit_create(kind: &GroupVersionKind, object: &mut Value, facts: &Facts<'_>) -> Result<(), Refused> {
    let Some(map) = object.as_object_mut() else { return Ok(()) };
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Pod") => {
            service_account(map, facts)?;
            priority(map, facts)?;
            tolerations(map);
            runtime_class(map, facts)
        }
        ("", "Node") => {
            not_ready(map);
            Ok(())
        }
        ("", "PersistentVolumeClaim") => {
            default_class(map, facts);
            finalizer(map, "kubernetes.io/pvc-protection");
            Ok(())
        }
        ("", "PersistentVolume") => {
            finalizer(map, "kubernetes.io/pv-protection");
            Ok(())
        }
        ("storage.k8s.io", "VolumeAttributesClass") => {
            finalizer(map, "kubernetes.io/vac-protection");
            Ok(())
        }
        ("networking.k8s.io", "Ingress") => {
            ingress_class(map, facts);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// What becomes of a changed object before it is prepared and checked.
pub fn admit_update(
    kind: &GroupVersionKind,
    subresource: &str,
    new: &mut Value,
    old: &Value,
    facts: &Facts<'_>,
) {
    let Some(map) = new.as_object_mut().filter(|_| subresource.is_empty()) else { return };
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Pod") => {
            if let Some(spec) = part(map, "spec") {
                for key in ["priority", "preemptionPolicy"] {
                    let before = old.pointer(&format!("/spec/{key}"));
                    if let (false, Some(before)) = (spec.contains_key(key), before) {
                        spec.insert(key.to_owned(), before.clone());
                    }
                }
            }
            tolerations(map);
        }
        ("", "PersistentVolumeClaim") => default_class(map, facts),
        _ => {}
    }
}

/// What is asked last, of objects that have passed all checks; `old` is what a changed one was before.
pub fn admit_checked(
    kind: &GroupVersionKind,
    new: &Value,
    old: Option<&Value>,
    facts: &Facts<'_>,
) -> Result<(), Refused> {
    let Some(map) = new.as_object() else { return Ok(()) };
    match (kind.group.as_str(), kind.kind.as_str(), old) {
        ("", "Pod", None) => {
            let class = class_of_pod(map, facts)?;
            let overhead = class.as_ref().and_then(|class| class.pointer("/overhead/podFixed"));
            let own = map.get("spec").and_then(|spec| spec.get("overhead"));
            if own.is_some() && overhead.is_none() {
                let why =
                    "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";
                return Err(forbidden(map, "pods", why));
            }
            Ok(())
        }
        ("", "PersistentVolumeClaim", Some(old)) => resize(map, old, facts),
        ("scheduling.k8s.io", "PriorityClass", _) => only_default(map, facts),
        _ => Ok(()),
    }
}

fn resize(map: &Object, old: &Value, facts: &Facts<'_>) -> Result<(), Refused> {
    let size = |spec: Option<&Value>| {
        spec.and_then(|spec| amounts::amount(spec.pointer("/resources/requests/storage")?))
    };
    let (now, was) = (size(map.get("spec")), size(old.get("spec")));
    let grows = match (&now, &was) {
        (Some(now), Some(was)) => now.compare(was) == Ordering::Greater,
        (Some(now), None) => !now.is_zero(),
        _ => false,
    };
    if !grows {
        return Ok(());
    }
    let refuse = |why: &str| Err(forbidden(map, "persistentvolumeclaims", why));
    if old.pointer("/status/phase").and_then(Value::as_str) != Some("Bound") {
        return refuse("Only bound persistent volume claims can be expanded");
    }
    let class = |map: &Object| {
        let field = map.get("spec").and_then(|spec| spec.get("storageClassName")).and_then(Value::as_str);
        annotation(map, OLD_CLASS).or(field).unwrap_or_default().to_owned()
    };
    let (own, before) = (class(map), old.as_object().map(class).unwrap_or_default());
    let found = (facts.lookup)("storageclasses.storage.k8s.io", "", &own)
        .filter(|_| !own.is_empty() && own == before);
    if found.and_then(|class| class.get("allowVolumeExpansion")?.as_bool()) == Some(true) {
        return Ok(());
    }
    refuse(
        "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support \
         resize",
    )
}

/// A new node is not ready.
fn not_ready(map: &mut Object) {
    let (key, effect) = ("node.kubernetes.io/not-ready", "NoSchedule");
    let Some(spec) = made(map, "spec") else { return };
    let taints = spec.entry("taints").or_insert_with(|| json!([]));
    let Some(taints) = taints.as_array_mut() else { return };
    let is = |one: &Value| {
        one.get("key").is_some_and(|own| own == key) && one.get("effect").is_some_and(|own| own == effect)
    };
    if !taints.iter().any(is) {
        taints.push(json!({"key": key, "effect": effect}));
    }
}

fn class_of_pod(map: &Object, facts: &Facts<'_>) -> Result<Option<Value>, Refused> {
    let name = map.get("spec").and_then(|spec| spec.get("runtimeClassName")).and_then(Value::as_str);
    let Some(name) = name else { return Ok(None) };
    match (facts.lookup)("runtimeclasses.node.k8s.io", "", name) {
        Some(class) => Ok(Some(class)),
        None => {
            let why = format!("pod rejected: RuntimeClass {} not found", crate::typed::json::quote(name));
            Err(forbidden(map, "pods", &why))
        }
    }
}

/// What the class of a pod's runtime costs, and where it is.
fn runtime_class(map: &mut Object, facts: &Facts<'_>) -> Result<(), Refused> {
    let Some(class) = class_of_pod(map, facts)? else { return Ok(()) };
    let own = map.get("spec").and_then(|spec| spec.get("overhead")).cloned();
    if let Some(overhead) = class.pointer("/overhead/podFixed") {
        if own.is_some_and(|own| own != *overhead) {
            let why = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";
            return Err(forbidden(map, "pods", why));
        }
        if let Some(spec) = part(map, "spec") {
            spec.insert("overhead".to_owned(), overhead.clone());
        }
    }
    let selector = class.pointer("/scheduling/nodeSelector").and_then(Value::as_object);
    for (key, value) in selector.into_iter().flatten() {
        let own = map.get("spec").and_then(|spec| spec.get("nodeSelector")).and_then(|all| all.get(key));
        if let Some(own) = own.filter(|own| *own != value) {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let why = format!(
                "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {}; pod.spec.nodeSelector[{key}] = {}",
                text(value),
                text(own)
            );
            return Err(forbidden(map, "pods", &why));
        }
        if let Some(own) = part(map, "spec").and_then(|spec| made(spec, "nodeSelector")) {
            own.insert(key.clone(), value.clone());
        }
    }
    let more = class.pointer("/scheduling/tolerations").and_then(Value::as_array);
    for one in more.into_iter().flatten() {
        let list = part(map, "spec").map(|spec| spec.entry("tolerations").or_insert_with(|| json!([])));
        if let Some(list) = list.and_then(Value::as_array_mut)
            && !list.contains(one)
        {
            list.push(one.clone());
        }
    }
    Ok(())
}

fn metadata<'o>(map: &'o Object, key: &str) -> &'o str {
    map.get("metadata").and_then(|meta| meta.get(key)).and_then(Value::as_str).unwrap_or_default()
}

fn annotation<'o>(map: &'o Object, key: &str) -> Option<&'o str> {
    map.get("metadata")?.get("annotations")?.get(key)?.as_str()
}

fn forbidden(map: &Object, resource: &str, why: &str) -> Refused {
    let name = metadata(map, "name");
    let shown = if name.is_empty() { String::new() } else { format!(" {}", crate::typed::json::quote(name)) };
    Refused::forbidden(format!("{resource}{shown} is forbidden: {why}"))
}

fn service_account(map: &mut Object, facts: &Facts<'_>) -> Result<(), Refused> {
    let namespace = metadata(map, "namespace").to_owned();
    let given = map.get("spec").and_then(|spec| spec.get("serviceAccountName")).and_then(Value::as_str);
    let given = given.unwrap_or_default().to_owned();
    if annotation(map, MIRROR).is_some() {
        if !given.is_empty() {
            return Err(forbidden(map, "pods", "a mirror pod may not reference service accounts"));
        }
        return Ok(());
    }
    let name = if given.is_empty() { "default".to_owned() } else { given };
    let Some(account) = (facts.lookup)("serviceaccounts", &namespace, &name) else {
        let why = format!(
            "error looking up service account {namespace}/{name}: serviceaccount \"{name}\" not found"
        );
        return Err(forbidden(map, "pods", &why));
    };
    let Some(spec) = part(map, "spec") else { return Ok(()) };
    spec.insert("serviceAccountName".to_owned(), name.as_str().into());
    spec.insert("serviceAccount".to_owned(), name.into());
    let key = "automountServiceAccountToken";
    let mounts = spec.get(key).or_else(|| account.get(key)).and_then(Value::as_bool).unwrap_or(true);
    if mounts {
        mount_token(spec, facts);
    }
    let secrets = spec.get("imagePullSecrets").and_then(Value::as_array).is_none_or(Vec::is_empty);
    let own =
        account.get("imagePullSecrets").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if secrets && !own.is_empty() {
        let names =
            own.iter().map(|one| one.get("name").map_or_else(|| json!({}), |name| json!({"name": name})));
        spec.insert("imagePullSecrets".to_owned(), names.collect());
    }
    Ok(())
}

fn mount_token(spec: &mut Object, facts: &Facts<'_>) {
    let volumes = spec.get("volumes").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let named = volumes.iter().filter_map(|volume| volume.get("name")).filter_map(Value::as_str);
    let known = named.into_iter().find(|name| name.starts_with(VOLUME)).map(str::to_owned);
    let name = known.clone().unwrap_or_else(|| format!("{VOLUME}{}", (facts.suffix)()));
    let mount = json!({"name": name, "readOnly": true, "mountPath": TOKENS});
    let mut needed = false;
    for list in ["initContainers", "containers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let Some(container) = container.as_object_mut() else { continue };
            let mounts = container.entry("volumeMounts").or_insert_with(|| json!([]));
            let Some(mounts) = mounts.as_array_mut() else { continue };
            if !mounts.iter().any(|one| one.get("mountPath").and_then(Value::as_str) == Some(TOKENS)) {
                mounts.push(mount.clone());
                needed = true;
            }
        }
    }
    if known.is_none() && needed {
        let volumes = spec.entry("volumes").or_insert_with(|| json!([]));
        if let Some(volumes) = volumes.as_array_mut() {
            volumes.push(json!({"name": name, "projected": {"defaultMode": 420, "sources": [
                {"serviceAccountToken": {"expirationSeconds": TOKEN_SECONDS, "path": "token"}},
                {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                {"downwardAPI": {"items": [{"path": "namespace",
                    "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}},
            ]}}));
        }
    }
}

fn tolerations(map: &mut Object) {
    let Some(spec) = part(map, "spec") else { return };
    let own = spec.get("tolerations").and_then(Value::as_array).cloned().unwrap_or_default();
    let field = |one: &Value, key: &str| one.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut more = Vec::new();
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let tolerated = own.iter().any(|one| {
            let (own, effect) = (field(one, "key"), field(one, "effect"));
            (own.is_empty() || own == key) && matches!(effect.as_str(), "" | "NoExecute")
        });
        if !tolerated {
            more.push(json!({"key": key, "operator": "Exists", "effect": "NoExecute",
                "tolerationSeconds": AWAY_SECONDS}));
        }
    }
    if !more.is_empty() {
        let list = own.into_iter().chain(more).collect();
        spec.insert("tolerations".to_owned(), Value::Array(list));
    }
}

const CLASSES: &str = "priorityclasses.scheduling.k8s.io";

fn priority(map: &mut Object, facts: &Facts<'_>) -> Result<(), Refused> {
    let name = map.get("spec").and_then(|spec| spec.get("priorityClassName")).and_then(Value::as_str);
    let name = name.unwrap_or_default().to_owned();
    let class = (facts.lookup)(CLASSES, "", &name);
    if class.is_none() && !name.is_empty() {
        return Err(forbidden(map, "pods", &format!("no PriorityClass with name {name} was found")));
    }
    let value = class.as_ref().and_then(|class| class.get("value")).and_then(Value::as_i64).unwrap_or(0);
    let policy = match &class {
        Some(class) => class.get("preemptionPolicy").and_then(Value::as_str).map(str::to_owned),
        None => Some("PreemptLowerPriority".to_owned()),
    };
    let spec = map.get("spec");
    let own = spec.and_then(|spec| spec.get("priority")).and_then(Value::as_i64);
    if let Some(own) = own.filter(|own| *own != value) {
        let why = format!(
            "the integer value of priority ({own}) must not be provided in pod spec; priority admission controller \
             computed {value} from the given PriorityClass name"
        );
        return Err(forbidden(map, "pods", &why));
    }
    let own = spec.and_then(|spec| spec.get("preemptionPolicy")).and_then(Value::as_str);
    if let (Some(own), Some(policy)) = (own.filter(|own| Some(*own) != policy.as_deref()), &policy) {
        let why = format!(
            "the string value of PreemptionPolicy ({own}) must not be provided in pod spec; priority admission \
             controller computed {policy} from the given PriorityClass name"
        );
        return Err(forbidden(map, "pods", &why));
    }
    let Some(spec) = part(map, "spec") else { return Ok(()) };
    if let Some(class) = &class
        && let Some(name) = class.pointer("/metadata/name")
    {
        spec.insert("priorityClassName".to_owned(), name.clone());
    }
    spec.insert("priority".to_owned(), value.into());
    if let Some(policy) = policy {
        spec.insert("preemptionPolicy".to_owned(), policy.into());
    }
    Ok(())
}

fn only_default(map: &Object, facts: &Facts<'_>) -> Result<(), Refused> {
    if map.get("globalDefault") != Some(&Value::Bool(true)) {
        return Ok(());
    }
    let default = (facts.lookup)(CLASSES, "", "");
    let other = default.as_ref().and_then(|class| class.pointer("/metadata/name")).and_then(Value::as_str);
    match other.filter(|other| *other != metadata(map, "name")) {
        None => Ok(()),
        Some(other) => {
            let why =
                format!("PriorityClass {other} is already marked as default. Only one default can exist");
            Err(forbidden(map, CLASSES, &why))
        }
    }
}

fn default_class(map: &mut Object, facts: &Facts<'_>) {
    let given =
        map.get("spec").and_then(|spec| spec.get("storageClassName")).is_some_and(|class| !class.is_null());
    if given || annotation(map, OLD_CLASS).is_some() {
        return;
    }
    let class = (facts.lookup)("storageclasses.storage.k8s.io", "", "");
    if let Some(name) = class.as_ref().and_then(|class| class.pointer("/metadata/name"))
        && let Some(spec) = part(map, "spec")
    {
        spec.insert("storageClassName".to_owned(), name.clone());
    }
}

fn ingress_class(map: &mut Object, facts: &Facts<'_>) {
    let given =
        map.get("spec").and_then(|spec| spec.get("ingressClassName")).is_some_and(|class| !class.is_null());
    if given || annotation(map, "kubernetes.io/ingress.class").is_some() {
        return;
    }
    let class = (facts.lookup)("ingressclasses.networking.k8s.io", "", "");
    if let Some(name) = class.as_ref().and_then(|class| class.pointer("/metadata/name"))
        && let Some(spec) = part(map, "spec")
    {
        spec.insert("ingressClassName".to_owned(), name.clone());
    }
}

fn finalizer(map: &mut Object, name: &str) {
    let Some(meta) = made(map, "metadata") else { return };
    let list = meta.entry("finalizers").or_insert_with(|| json!([]));
    if list.is_null() {
        *list = json!([]);
    }
    if let Some(list) = list.as_array_mut()
        && !list.iter().any(|one| one == name)
    {
        list.push(name.into());
    }
}
