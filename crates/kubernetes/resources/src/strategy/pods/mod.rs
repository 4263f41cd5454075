//! Pods, and templates of pods wherever they stand.

mod containers;
mod env;
mod probes;
mod scheduling;
mod security;
mod update;
mod volumes;
mod windows;

use serde_json::Value;

use super::addresses;
use super::amounts::{self, Whose};
use super::formats;
use super::metadata;
use super::place::{Flaws, Place, between};
use super::rules::one_of;
use super::selectors;
pub use scheduling::{taints, tolerations};
pub use update::{status as pod_status, update as pod_update};
pub use volumes::{access_modes, claim_spec, driver_name, host_path, nfs, quobyte};

/// What a pod's parts have to know of the whole.
pub struct Scene<'p> {
    /// A pod itself, and not a template of pods.
    pub is_pod: bool,
    /// The name of the pod, if there is one by now.
    pub name: &'p str,
    /// The pod's specification.
    pub spec: Place<'p>,
}

impl<'p> Scene<'p> {
    /// The lists of containers that run.
    fn containers(&self) -> Vec<Place<'p>> {
        let lists = ["initContainers", "containers", "ephemeralContainers"];
        lists.iter().flat_map(|list| self.spec.each(list)).collect()
    }

    fn grace(&self) -> Option<i64> {
        self.spec.at("terminationGracePeriodSeconds").value.as_i64()
    }

    fn shares_users(&self) -> bool {
        self.spec.at("hostUsers").value.as_bool().unwrap_or(true)
    }
}

/// A new pod.
pub fn pod(object: &Place<'_>, out: &mut Flaws) {
    pod_itself(object, out);
    let spec = object.at("spec");
    if spec.at("ephemeralContainers").count() > 0 {
        out.forbidden(&spec.at("ephemeralContainers"), "cannot be set on create");
    }
    if !spec.at("nodeName").text().is_empty() && spec.at("schedulingGates").count() > 0 {
        out.forbidden(&spec.at("nodeName"), "cannot be set until all schedulingGates have been cleared");
    }
    security::annotations_match(&object.at("metadata"), &spec, out);
}

/// What is asked of new and of changed pods.
fn pod_itself(object: &Place<'_>, out: &mut Flaws) {
    let (meta, spec) = (object.at("metadata"), object.at("spec"));
    metadata::create(&meta, metadata::NameRule::Subdomain, true, out);
    metadata::known_finalizers(&meta.at("finalizers"), out);
    annotations(&meta.at("annotations"), &spec, out);
    specification(&Scene { is_pod: true, name: meta.at("name").text(), spec: spec.clone() }, out);
    if spec.at("serviceAccountName").text().is_empty() {
        for volume in spec.each("volumes") {
            for source in volume.each("projected.sources") {
                if source.has("serviceAccountToken") {
                    let detail = "must not be specified when serviceAccountName is not set";
                    out.forbidden(&source.at("serviceAccountToken"), detail);
                }
            }
        }
    }
    for list in ["containers", "initContainers"] {
        for container in spec.each(list) {
            image_is_trimmed(&container, out);
        }
    }
}

fn image_is_trimmed(container: &Place<'_>, out: &mut Flaws) {
    let image = container.at("image");
    if image.text().trim().len() != image.text().len() {
        out.invalid_text(&image, "must not have leading or trailing whitespace");
    }
}

/// A template of pods.
pub fn template(place: &Place<'_>, out: &mut Flaws) {
    let (meta, spec) = (place.at("metadata"), place.at("spec"));
    // The server leaves `metadata` out of these paths.
    selectors::labels(&meta.at("labels").moved(place.child("labels")), out);
    let own = meta.at("annotations").moved(place.child("annotations"));
    metadata::annotations(&own, out);
    annotations(&own, &spec, out);
    specification(&Scene { is_pod: false, name: "", spec: spec.clone() }, out);
    security::annotations_match(&meta, &spec, out);
    if spec.at("ephemeralContainers").count() > 0 {
        out.forbidden(&spec.at("ephemeralContainers"), "ephemeral containers not allowed in pod template");
    }
}

/// Annotations that mean something for pods.
pub fn annotations(place: &Place<'_>, spec: &Place<'_>, out: &mut Flaws) {
    let get = |key: &str| place.value.get(key).and_then(Value::as_str);
    if get("kubernetes.io/config.mirror").is_some() && spec.at("nodeName").text().is_empty() {
        let field = place.key("kubernetes.io/config.mirror");
        out.invalid_text(&field, "must set spec.nodeName if mirror pod annotation is set");
    }
    let cost = "controller.kubernetes.io/pod-deletion-cost";
    if get(cost).is_some_and(|text| !is_cost(text)) {
        out.invalid_text(&place.key(cost), "must be a 32bit integer");
    }
    security::annotations(place, spec, out);
}

/// A number with or without a minus, but no other sign and no zero before it.
fn is_cost(text: &str) -> bool {
    let plus = text.starts_with('+') || (text.starts_with('0') && text.len() > 1);
    !plus && text.parse::<i32>().is_ok()
}

const RESTARTS: &[&str] = &["Always", "OnFailure", "Never"];
const DNS: &[&str] = &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];

/// The specification of a pod.
pub fn specification(scene: &Scene<'_>, out: &mut Flaws) {
    let spec = &scene.spec;
    if scene.grace().is_none() {
        out.required(&spec.at("terminationGracePeriodSeconds"), "");
    }
    let volumes = volumes::volumes(scene, out);
    let claims = scheduling::claims(scene, out);
    let claims: Vec<&str> = claims.iter().map(String::as_str).collect();
    containers::main(scene, &volumes, &claims, out);
    containers::before(scene, &volumes, &claims, out);
    containers::later(scene, &volumes, &claims, out);
    whole(scene, &claims, out);
    network(scene, out);
    one_of(&spec.at("restartPolicy"), RESTARTS, out);
    one_of(&spec.at("dnsPolicy"), DNS, out);
    selectors::labels(&spec.at("nodeSelector"), out);
    security::pod(scene, out);
    scheduling::affinity(&spec.at("affinity"), out);
    dns(spec, out);
    for gate in spec.each("readinessGates") {
        selectors::key(&gate.at("conditionType"), out);
    }
    scheduling::gates(&spec.at("schedulingGates"), out);
    scheduling::spread(&spec.at("topologySpreadConstraints"), out);
    windows::processes(scene, out);
    security::users(scene, out);
    hostname(spec, out);
    rest(spec, out);
    security::system(scene, out);
    env::files(scene, out);
}

fn rest(spec: &Place<'_>, out: &mut Flaws) {
    let form = |key: &str, format: formats::Format, out: &mut Flaws| {
        let field = spec.at(key);
        if !field.text().is_empty() {
            out.wrong(&field, format(field.text()));
        }
    };
    form("serviceAccountName", formats::subdomain, out);
    form("nodeName", formats::subdomain, out);
    let deadline = spec.at("activeDeadlineSeconds");
    if deadline.is() && !(1..=i64::from(i32::MAX)).contains(&deadline.number()) {
        out.invalid_number(&deadline, &between(1, i64::from(i32::MAX)));
    }
    form("hostname", formats::label, out);
    form("subdomain", formats::label, out);
    tolerations(&spec.at("tolerations"), out);
    for alias in spec.each("hostAliases") {
        addresses::address(&alias.at("ip"), &[], out);
        for name in alias.each("hostnames") {
            out.wrong(&name, formats::subdomain(name.text()));
        }
    }
    form("priorityClassName", formats::subdomain, out);
    if spec.has("runtimeClassName") {
        let class = spec.at("runtimeClassName");
        out.wrong(&class, formats::subdomain(class.text()));
    }
    if spec.has("preemptionPolicy") {
        one_of(&spec.at("preemptionPolicy"), &["PreemptLowerPriority", "Never"], out);
    }
    if spec.has("overhead") {
        let overhead = serde_json::json!({"limits": spec.at("overhead").value});
        let place = Place { value: &overhead, path: spec.child("overhead") };
        amounts::requirements(&place, Whose::Container, &[], out);
    }
}

/// What a pod as a whole needs.
fn whole(scene: &Scene<'_>, claims: &[&str], out: &mut Flaws) {
    let place = scene.spec.at("resources");
    if !place.is() {
        return;
    }
    if scene.spec.at("os.name").text() == "windows" {
        return out.forbidden(&place, "may not be set for a windows pod");
    }
    if place.has("claims") {
        out.forbidden(&place.at("claims"), "claims may not be set for Resources at pod-level");
    }
    amounts::requirements(&place, Whose::Pod, claims, out);
    for (at, container) in scene.spec.each("containers").iter().enumerate() {
        for (name, limit) in container.at("resources.limits").members() {
            let most = amounts::amount(place.at("limits").key(name).value);
            if let (Some(own), Some(most)) = (amounts::amount(limit.value), most)
                && own.compare(&most) == std::cmp::Ordering::Greater
            {
                let path = format!("{}.containers[{at}][{name}].limits", place.path);
                let detail = format!("must be less than or equal to pod limits of {most}");
                out.invalid_as(path, &format!("\"{own}\""), &detail);
            }
        }
    }
}

fn network(scene: &Scene<'_>, out: &mut Flaws) {
    if !scene.spec.at("hostNetwork").truth() {
        return;
    }
    for container in scene.spec.each("containers") {
        for port in container.each("ports") {
            let (host, own) = (port.at("hostPort"), port.at("containerPort"));
            if (scene.is_pod || host.number() != 0) && host.number() != own.number() {
                out.invalid_number(&host, "must match `containerPort` when `hostNetwork` is true");
            }
        }
    }
}

fn dns(spec: &Place<'_>, out: &mut Flaws) {
    let config = spec.at("dnsConfig");
    let (servers, searches) = (config.at("nameservers"), config.at("searches"));
    if spec.at("dnsPolicy").text() == "None" {
        if !config.is() {
            return out.required(&config, "must provide `dnsConfig` when `dnsPolicy` is None");
        }
        if servers.count() == 0 {
            let detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            return out.required(&servers, detail);
        }
    }
    if servers.count() > 3 {
        out.invalid(&servers, "must not have more than 3 nameservers");
    }
    for server in servers.items() {
        addresses::address(&server, &[], out);
    }
    if searches.count() > 32 {
        out.invalid(&searches, "must not have more than 32 search paths");
    }
    let length: usize = searches.items().map(|search| search.text().len() + 1).sum();
    if length > 2049 {
        let detail = "must not have more than 2048 characters (including spaces) in the search list";
        out.invalid(&searches, detail);
    }
    for search in searches.items().filter(|search| search.text() != ".") {
        let text: Value = search.text().strip_suffix('.').unwrap_or(search.text()).into();
        let messages = formats::loose_subdomain(text.as_str().unwrap_or_default());
        out.wrong(&Place { value: &text, path: search.path }, messages);
    }
    for option in config.each("options") {
        if option.at("name").text().is_empty() {
            out.required(&option, "must not be empty");
        }
    }
}

fn hostname(spec: &Place<'_>, out: &mut Flaws) {
    let name = spec.at("hostnameOverride");
    if !name.is() {
        return;
    }
    if spec.at("setHostnameAsFQDN").truth() {
        out.forbidden(&name, "may not be specified when setHostnameAsFQDN is true");
    }
    if spec.at("hostNetwork").truth() {
        out.forbidden(&name, "may not be specified when hostNetwork is true");
    }
    if name.text().len() > 64 {
        out.too_long(&name.path, 64);
    }
    out.wrong(&name, formats::subdomain(name.text()));
}
