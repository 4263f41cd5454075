//! Containers: those that run, those before them, and those that join later.

use std::collections::BTreeMap;

use super::super::amounts::{self, Whose};
use super::super::formats;
use super::super::place::{Flaws, Place, shown};
use super::super::rules::{Rule, check, one_of};
use super::volumes::Known;
use super::{Scene, env, image_is_trimmed, probes, security, volumes};
use crate::typed::json::quote;

const PROTOCOLS: &[&str] = &["SCTP", "TCP", "UDP"];
const START: &[Rule] = &[
    Rule::Name("name", formats::label),
    Rule::Need("image"),
    Rule::OneOf("terminationMessagePolicy", &["File", "FallbackToLogsOnError"]),
    Rule::Call(ports),
    Rule::Call(env::variables),
];

/// What an ephemeral container cannot have: what it is called, and what it is called in sentences.
/// What containers that join a running pod may not have, in the order of the server's type.
const NOT_LATER: &[&str] = &[
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
];

/// The containers that a pod is for.
pub fn main(scene: &Scene<'_>, volumes: &Known<'_>, claims: &[&str], out: &mut Flaws) {
    let list = scene.spec.at("containers");
    if list.count() == 0 {
        return out.required(&list, "");
    }
    let mut names: Vec<&str> = Vec::new();
    for container in list.items() {
        common(scene, &container, volumes, claims, out);
        unique(&container, &mut names, out);
        probes::of_container(scene, &container, out);
        restart(&container, out);
    }
    host_ports(&list, &list.items().collect::<Vec<_>>(), out);
}

/// The containers that run before the others.
pub fn before(scene: &Scene<'_>, volumes: &Known<'_>, claims: &[&str], out: &mut Flaws) {
    let list = scene.spec.at("initContainers");
    let mut names: Vec<&str> =
        scene.spec.each("containers").iter().map(|one| one.at("name").text()).collect();
    for container in list.items() {
        common(scene, &container, volumes, claims, out);
        if !container.has("restartPolicy") && container.at("restartPolicyRules").count() > 0 {
            let detail = "must specify restartPolicy when restart rules are used";
            out.required(&container.at("restartPolicy"), detail);
        } else if container.has("restartPolicy") {
            restart(&container, out);
        }
        unique(&container, &mut names, out);
        // The server counts these ports from the start of the list.
        host_ports(&list, std::slice::from_ref(&container), out);
        let stays = container.at("restartPolicy").text() == "Always";
        if stays {
            probes::of_container(scene, &container, out);
        } else {
            for key in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
                if container.has(key) {
                    let detail = "may not be set for init containers without restartPolicy=Always";
                    out.forbidden(&container.at(key), detail);
                }
            }
            for policy in container.each("resizePolicy") {
                if policy.at("restartPolicy").text() == "RestartContainer" {
                    let detail = "must not be set to 'RestartContainer' for non-sidecar initContainers";
                    out.invalid_text(&policy.at("restartPolicy"), detail);
                }
            }
        }
    }
}

/// The containers that join a running pod.
pub fn later(scene: &Scene<'_>, volumes: &Known<'_>, claims: &[&str], out: &mut Flaws) {
    let list = scene.spec.at("ephemeralContainers");
    let others: Vec<&str> = ["containers", "initContainers"]
        .iter()
        .flat_map(|list| scene.spec.each(list))
        .map(|one| one.at("name").text())
        .collect();
    let mut names = others.clone();
    for container in list.items() {
        common(scene, &container, volumes, claims, out);
        image_is_trimmed(&container, out);
        unique(&container, &mut names, out);
        let target = container.at("targetContainerName");
        if !target.text().is_empty() && !others.contains(&target.text()) {
            out.not_found(&target);
        }
        // An empty list is one too; only needs are no needs without any.
        let set = |key: &str| container.has(key) && (key != "resources" || container.at(key).count() > 0);
        for key in NOT_LATER.iter().filter(|key| set(key)) {
            out.forbidden(&container.at(key), "cannot be set for an Ephemeral Container");
        }
        for mount in container.each("volumeMounts") {
            for key in ["subPath", "subPathExpr"].iter().filter(|key| !mount.at(key).text().is_empty()) {
                out.forbidden(&mount.at(key), "cannot be set for an Ephemeral Container");
            }
        }
    }
}

fn unique<'n>(container: &Place<'n>, names: &mut Vec<&'n str>, out: &mut Flaws) {
    let name = container.at("name");
    if names.contains(&name.text()) {
        out.duplicate(&name);
    } else {
        names.push(name.text());
    }
}

fn common(scene: &Scene<'_>, container: &Place<'_>, known: &Known<'_>, claims: &[&str], out: &mut Flaws) {
    check(container, START, out);
    volumes::mounts(container, known, out);
    one_of(&container.at("imagePullPolicy"), &["Always", "IfNotPresent", "Never"], out);
    amounts::requirements(&container.at("resources"), Whose::Container, claims, out);
    resize(scene, &container.at("resizePolicy"), out);
    security::container(&container.at("securityContext"), scene.shares_users(), out);
}

fn ports(container: &Place<'_>, out: &mut Flaws) {
    let mut names: Vec<&str> = Vec::new();
    for port in container.each("ports") {
        let name = port.at("name");
        if !name.text().is_empty() {
            let wrong = formats::port_name(name.text());
            if !wrong.is_empty() {
                out.wrong(&name, wrong);
            } else if names.contains(&name.text()) {
                out.duplicate(&name);
            } else {
                names.push(name.text());
            }
        }
        let number = port.at("containerPort");
        if number.number() == 0 {
            out.required(&number, "");
        } else {
            formats::port(number.number()).iter().for_each(|detail| out.invalid_number(&number, detail));
        }
        let host = port.at("hostPort");
        if host.number() != 0 {
            formats::port(host.number()).iter().for_each(|detail| out.invalid_number(&host, detail));
        }
        one_of(&port.at("protocol"), PROTOCOLS, out);
    }
}

/// No two ports of the machine are the same.
fn host_ports(list: &Place<'_>, containers: &[Place<'_>], out: &mut Flaws) {
    let mut seen: BTreeMap<String, ()> = BTreeMap::new();
    for (at, container) in containers.iter().enumerate() {
        for (index, port) in container.each("ports").iter().enumerate() {
            let host = port.at("hostPort").number();
            if host == 0 {
                continue;
            }
            let key = format!("{}/{}/{host}", port.at("protocol").text(), port.at("hostIP").text());
            if seen.insert(key.clone(), ()).is_some() {
                out.duplicate_as(format!("{}[{at}].ports[{index}].hostPort", list.path), &quote(&key));
            }
        }
    }
}

fn resize(scene: &Scene<'_>, list: &Place<'_>, out: &mut Flaws) {
    let mut seen: Vec<&str> = Vec::new();
    for policy in list.items() {
        let (resource, restart) = (policy.at("resourceName"), policy.at("restartPolicy"));
        if seen.contains(&resource.text()) {
            out.duplicate_as(&policy.path, &shown(resource.value));
        }
        seen.push(resource.text());
        one_of(&resource.moved(&list.path), &["cpu", "memory"], out);
        one_of(&restart.moved(&list.path), &["NotRequired", "RestartContainer"], out);
        if scene.spec.at("restartPolicy").text() == "Never" && restart.text() != "NotRequired" {
            let detail = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
            out.invalid_text(&restart.moved(&list.path), detail);
        }
    }
}

/// When a container starts again.
fn restart(container: &Place<'_>, out: &mut Flaws) {
    let (policy, rules) = (container.at("restartPolicy"), container.at("restartPolicyRules"));
    if !policy.is() {
        if rules.count() == 0 {
            return;
        }
        out.required(&policy, "must specify restartPolicy when restart rules are used");
    } else if !matches!(policy.text(), "Always" | "Never" | "OnFailure") {
        out.unsupported(&policy, &["Always", "Never", "OnFailure"]);
    }
    if rules.count() > 20 {
        out.too_many(&rules, 20);
    }
    for rule in rules.items() {
        let actions = ["Restart", "RestartAllContainers"];
        if !actions.contains(&rule.at("action").text()) {
            out.unsupported(&rule.at("action"), &actions);
        }
        let codes = rule.at("exitCodes");
        if !codes.is() {
            out.required(&codes, "must be specified");
            continue;
        }
        if !matches!(codes.at("operator").text(), "In" | "NotIn") {
            out.unsupported(&codes.at("operator"), &["In", "NotIn"]);
        }
        if codes.at("values").count() > 255 {
            out.too_many(&codes.at("values"), 255);
        }
    }
}
