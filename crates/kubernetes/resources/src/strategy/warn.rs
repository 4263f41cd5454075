//! What the server warns of.

use std::cmp::Ordering;

use podium_meta::GroupVersionKind;

use super::addresses;
use super::amounts;
use super::formats;
use super::place::Place;
use super::warn_pods::pod;
use crate::typed::json::quote;

/// Labels of nodes that have other names by now.
const OLD_LABELS: &[(&str, &str)] = &[
    ("beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead"),
    ("beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead"),
    (
        "failure-domain.beta.kubernetes.io/region",
        "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead",
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead",
    ),
    (
        "beta.kubernetes.io/instance-type",
        "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead",
    ),
    ("app.kubernetes.io/created-by", "deprecated since v1.9"),
    (
        "scheduler.alpha.kubernetes.io/preferAvoidPods",
        "deprecated since v1.22; use Taints and Tolerations instead",
    ),
    ("node-role.kubernetes.io/master", "use \"node-role.kubernetes.io/control-plane\" instead"),
];

pub(super) const OLD_VOLUMES: &[(&str, &str, &str)] = &[
    ("photonPersistentDisk", "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("gitRepo", "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("ephemeral", "", ""),
    ("cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"),
];

/// What is said of an object that is fine but could be better; `old` is what it was before a change, and both are
/// prepared.
pub fn warnings(
    kind: &GroupVersionKind,
    new: &serde_json::Value,
    old: Option<&serde_json::Value>,
) -> Vec<String> {
    let mut out = Vec::new();
    let object = Place::root(new);
    let old = old.map(Place::root);
    let same_generation = old.as_ref().is_some_and(|old| {
        old.at("metadata.generation").number() == object.at("metadata.generation").number()
    });
    match kind.kind.as_str() {
        "Pod" if old.is_none() => {
            name(&object, "this is used in the Pod's hostname", &mut out);
            pod(&object, &mut out);
        }
        "Deployment" | "ReplicaSet" | "ReplicationController" => {
            if old.is_none() {
                name(&object, "this is used in Pod names and hostnames", &mut out);
            }
            if !same_generation {
                // The old one's template is looked at here: so does the original.
                let before = old.as_ref().filter(|_| kind.kind == "ReplicationController");
                pod(&before.unwrap_or(&object).at("spec.template"), &mut out);
            }
        }
        "DaemonSet" => {
            let count = |object: &Place<'_>| {
                object.at("metadata.annotations").key(super::workloads::TEMPLATES).text().to_owned()
            };
            if old.as_ref().is_none_or(|old| count(old) != count(&object)) {
                pod(&object.at("spec.template"), &mut out);
            }
        }
        "StatefulSet" => stateful_set(&object, old.is_some(), same_generation, &mut out),
        "PodTemplate" if !same_generation => pod(&object.at("template"), &mut out),
        "Job" => {
            if old.is_none() {
                name(&object, "this is used in Pod names and hostnames", &mut out);
            }
            if !same_generation {
                job(&object.at("spec"), &mut out);
            }
        }
        "CronJob" => {
            if old.is_none() {
                name(&object, "this is used in Pod names and hostnames", &mut out);
            }
            if !same_generation {
                job(&object.at("spec.jobTemplate.spec"), &mut out);
            }
            let schedule = object.at("spec.schedule").text();
            if old.is_some() && schedule.contains("TZ") {
                out.push(format!(
                    "cannot use TZ or CRON_TZ in {schedule}, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
                ));
            }
        }
        "Service" => service(&object, &mut out),
        "Secret" if object.at("type").text() == "kubernetes.io/tls" => {
            out.extend(key_pair(&object.at("data")))
        }
        "Ingress" => {
            let class = "kubernetes.io/ingress.class";
            if old.is_none()
                && object.at("metadata.annotations").key(class).is()
                && !object.has("spec.ingressClassName")
            {
                out.push(format!(
                    "annotation {class:?} is deprecated, please use 'spec.ingressClassName' instead"
                ));
            }
        }
        "PersistentVolumeClaim" => {
            let class = "volume.beta.kubernetes.io/storage-class";
            if object.at("metadata.annotations").key(class).is() {
                let detail = "deprecated since v1.8; use \"storageClassName\" attribute instead";
                out.push(format!("metadata.annotations[{class}]: {detail}"));
            }
            claim(&object.at("spec"), &mut out);
        }
        "PersistentVolume" => volume(&object, &mut out),
        "StorageClass" => {
            for one in object.each("allowedTopologies") {
                for term in one.each("matchLabelExpressions") {
                    if let Some(detail) = old_label(term.at("key").text()) {
                        out.push(format!("{}: {detail}", term.child("key")));
                    }
                }
            }
        }
        "Node" => {
            if !object.at("spec.externalID").text().is_empty() {
                let detail = "this field is deprecated, and is unused by Kubernetes";
                out.push(format!("spec.externalID: {detail}"));
            }
            for range in object.each("spec.podCIDRs") {
                out.extend(addresses::range_warnings(&range.path, range.text()));
            }
        }
        "NetworkPolicy" => {
            for (list, peers) in [("spec.ingress", "from"), ("spec.egress", "to")] {
                for peer in object.each(list).iter().flat_map(|rule| rule.each(peers)) {
                    let block = peer.at("ipBlock");
                    if block.is() {
                        let ranges = std::iter::once(block.at("cidr")).chain(block.each("except"));
                        out.extend(ranges.flat_map(|one| addresses::range_warnings(&one.path, one.text())));
                    }
                }
            }
        }
        "Endpoints" => {
            for subset in object.each("subsets") {
                for list in ["addresses", "notReadyAddresses"] {
                    let ips = subset.each(list).into_iter().map(|one| one.at("ip"));
                    out.extend(ips.filter_map(|ip| addresses::warning(&ip.path, ip.text())));
                }
            }
        }
        "EndpointSlice" => {
            if old.is_none() && object.at("addressType").text() == "FQDN" {
                out.push("spec.addressType: FQDN endpoints are deprecated".to_owned());
            }
            for address in object.each("endpoints").iter().flat_map(|one| one.each("addresses")) {
                out.extend(addresses::warning(&address.path, address.text()));
            }
        }
        "ServiceAccount" => {
            let key = "kubernetes.io/enforce-mountable-secrets";
            let has = |object: &Place<'_>| object.at("metadata.annotations").key(key).is();
            if has(&object) && !old.as_ref().is_some_and(has) {
                out.push(format!(
                    "metadata.annotations[{key}]: deprecated in v1.32+; prefer separate namespaces to isolate access \
                     to mounted secrets"
                ));
            }
        }
        "ResourceQuota" if old.is_none() => quota(&object, &mut out),
        _ => {}
    }
    out
}

fn name(object: &Place<'_>, what: &str, out: &mut Vec<String>) {
    let wrong = formats::label(object.at("metadata.name").text());
    if !wrong.is_empty() {
        out.push(format!(
            "metadata.name: {what}, which can result in surprising behavior; a DNS label is recommended: [{}]",
            wrong.join(" ")
        ));
    }
}

pub(super) fn old_label(key: &str) -> Option<&'static str> {
    OLD_LABELS.iter().find(|(old, _)| *old == key).map(|(_, detail)| *detail)
}

pub(super) fn node_term(term: &Place<'_>, values: bool, out: &mut Vec<String>) {
    for one in term.each("matchExpressions") {
        let key = one.at("key");
        if let Some(detail) = old_label(key.text()) {
            out.push(format!("{}: {} is {detail}", key.path, key.text()));
        }
        for value in one.each("values").iter().filter(|_| values) {
            for message in formats::label_value(value.text()) {
                out.push(format!("{}: {} is invalid, {message}", value.path, value.text()));
            }
        }
    }
}

pub(super) fn fraction(place: &Place<'_>, out: &mut Vec<String>) {
    if let Some(amount) = amounts::amount(place.value).filter(|amount| !amounts::is_whole(amount)) {
        let value = quote(&amount.to_string());
        out.push(format!("{}: fractional byte value {value} is invalid, must be an integer", place.path));
    }
}

pub(super) fn claim(spec: &Place<'_>, out: &mut Vec<String>) {
    fraction(&spec.at("resources.requests").key("storage"), out);
    fraction(&spec.at("resources.limits").key("storage"), out);
}

fn job(spec: &Place<'_>, out: &mut Vec<String>) {
    let (count, at_once) = (spec.at("completions").number(), spec.at("parallelism").number());
    if spec.at("completionMode").text() == "Indexed" && count > 100_000 && at_once > 10_000 {
        out.push(format!(
            "{}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, \
             Kubernetes might not be able to track completedIndexes when a big number of indexes fail",
            spec.path
        ));
    }
    pod(&spec.at("template"), out);
}

fn stateful_set(object: &Place<'_>, changed: bool, same: bool, out: &mut Vec<String>) {
    if !same {
        pod(&object.at("spec.template"), out);
    }
    for one in object.each("spec.volumeClaimTemplates") {
        // The path has a slip in both cases.
        let path = if changed { one.child("Spec") } else { one.path.clone() };
        claim(&one.at("spec").moved(path), out);
    }
    if object.at("spec.revisionHistoryLimit").number() < 0 {
        out.push(
            "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is \
             recommended"
                .to_owned(),
        );
    }
}

/// The kinds of blocks that a text in PEM has.
fn blocks(place: &Place<'_>) -> Vec<String> {
    let bytes = crate::typed::decode_base64(place.text().as_bytes()).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let starts =
        text.lines().filter_map(|line| line.trim_end().strip_prefix("-----BEGIN ")?.strip_suffix("-----"));
    let whole = starts.filter(|kind| text.contains(&format!("-----END {kind}-----")));
    whole.map(str::to_owned).collect()
}

/// Why a certificate and a key are none, as far as that can be seen without reading what is in them.
fn key_pair(data: &Place<'_>) -> Option<String> {
    let (certificates, keys) = (blocks(&data.key("tls.crt")), blocks(&data.key("tls.key")));
    let is_key = |kind: &String| kind == "PRIVATE KEY" || kind.ends_with(" PRIVATE KEY");
    let list = |kinds: &[String]| format!("[{}]", kinds.join(" "));
    if !certificates.iter().any(|kind| kind == "CERTIFICATE") {
        return Some(match certificates.as_slice() {
            [] => "tls: failed to find any PEM data in certificate input".to_owned(),
            [one] if one.ends_with("PRIVATE KEY") => {
                "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM \
                 inputs may have been switched"
                    .to_owned()
            }
            others => format!(
                "tls: failed to find \"CERTIFICATE\" PEM block in certificate input after skipping PEM blocks of the \
                 following types: {}",
                list(others)
            ),
        });
    }
    if keys.iter().any(is_key) {
        return None;
    }
    Some(match keys.as_slice() {
        [] => "tls: failed to find any PEM data in key input".to_owned(),
        [one] if one == "CERTIFICATE" => {
            "tls: found a certificate rather than a key in the PEM for the private key".to_owned()
        }
        others => format!(
            "tls: failed to find PEM block with type ending in \"PRIVATE KEY\" in key input after skipping PEM blocks \
             of the following types: {}",
            list(others)
        ),
    })
}

fn service(object: &Place<'_>, out: &mut Vec<String>) {
    let spec = object.at("spec");
    let old = "service.kubernetes.io/topology-aware-hints";
    if object.at("metadata.annotations").key(old).is() {
        out.push(format!(
            "annotation {old} is deprecated, please use service.kubernetes.io/topology-mode instead"
        ));
    }
    let kind = spec.at("type").text();
    let headless = kind == "ClusterIP" && spec.at("clusterIP").text() == "None";
    if !matches!(spec.at("clusterIP").text(), "" | "None") {
        for one in spec.each("clusterIPs") {
            out.extend(addresses::warning(&one.path, one.text()));
        }
    }
    let outside = spec.at("externalIPs");
    if headless {
        if !spec.at("loadBalancerIP").text().is_empty() {
            out.push("spec.loadBalancerIP is ignored for headless services".to_owned());
        }
        if outside.count() > 0 {
            out.push("spec.externalIPs is ignored for headless services".to_owned());
        }
        if spec.at("sessionAffinity").text() != "None" {
            out.push("spec.SessionAffinity is ignored for headless services".to_owned());
        }
    }
    for one in outside.items() {
        out.extend(addresses::warning(&one.path, one.text()));
    }
    if outside.count() > 0 && !headless && kind != "ExternalName" {
        out.push(
            "spec.externalIPs is deprecated and may no longer be implemented in some clusters".to_owned(),
        );
    }
    let balancer = spec.at("loadBalancerIP");
    out.extend(addresses::warning(&balancer.path, balancer.text()));
    for one in spec.each("loadBalancerSourceRanges") {
        out.extend(addresses::range_warnings(&one.path, one.text()));
    }
    if kind == "ExternalName" && outside.count() > 0 {
        out.push("spec.externalIPs is ignored when spec.type is \"ExternalName\"".to_owned());
    }
    if kind != "ExternalName" && !spec.at("externalName").text().is_empty() {
        out.push("spec.externalName is ignored when spec.type is not \"ExternalName\"".to_owned());
    }
    if spec.at("trafficDistribution").text() == "PreferClose" {
        out.push(
            "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"".to_owned(),
        );
    }
}

fn volume(object: &Place<'_>, out: &mut Vec<String>) {
    let spec = object.at("spec");
    for (key, detail) in [
        (
            "volume.beta.kubernetes.io/storage-class",
            "deprecated since v1.8; use \"storageClassName\" attribute instead",
        ),
        (
            "volume.beta.kubernetes.io/mount-options",
            "deprecated since v1.31; use \"mountOptions\" attribute instead",
        ),
    ] {
        if object.at("metadata.annotations").key(key).is() {
            out.push(format!("metadata.annotations[{key}]: {detail}"));
        }
    }
    if spec.at("persistentVolumeReclaimPolicy").text() == "Recycle" {
        out.push(
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended \
             approach is to use dynamic provisioning."
                .to_owned(),
        );
    }
    for term in spec.at("nodeAffinity.required").each("nodeSelectorTerms") {
        node_term(&term, false, out);
    }
    for key in ["cephfs", "photonPersistentDisk", "scaleIO", "storageos", "glusterfs", "rbd"] {
        if let Some((_, shown, detail)) =
            OLD_VOLUMES.iter().find(|(one, ..)| *one == key).filter(|_| spec.has(key))
        {
            out.push(format!("{}: {detail}", spec.child(shown)));
        }
    }
}

fn quota(object: &Place<'_>, out: &mut Vec<String>) {
    let hard = object.at("spec.hard");
    for name in ["cpu", "memory", "ephemeral-storage"] {
        let (mut request, limit) = (format!("requests.{name}"), format!("limits.{name}"));
        if !hard.key(&request).is() && name != "ephemeral-storage" {
            request = name.to_owned();
        }
        let amount = |key: &str| amounts::amount(hard.key(key).value);
        if let (Some(asked), Some(most)) = (amount(&request), amount(&limit))
            && asked.compare(&most) == Ordering::Greater
        {
            out.push(format!("ResourceQuota {request} ({asked}) should be less than {limit} ({most})"));
        }
    }
}
