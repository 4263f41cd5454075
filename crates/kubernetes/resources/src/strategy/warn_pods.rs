//! What the server warns of in pods, and in templates of pods.

use super::addresses;
use super::place::Place;
use super::warn::{OLD_VOLUMES, claim, fraction, node_term, old_label};
use crate::typed::json::quote;

const OLD_ANNOTATIONS: &[(&str, &str)] = &[
    (
        "scheduler.alpha.kubernetes.io/critical-pod",
        "non-functional in v1.16+; use the \"priorityClassName\" field instead",
    ),
    ("security.alpha.kubernetes.io/sysctls", "non-functional in v1.11+; use the \"sysctls\" field instead"),
    (
        "security.alpha.kubernetes.io/unsafe-sysctls",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    ),
];

/// A pod, or a template of pods.
pub(super) fn pod(place: &Place<'_>, out: &mut Vec<String>) {
    let (spec, annotations) = (place.at("spec"), place.at("metadata.annotations"));
    for (key, field) in spec.at("nodeSelector").members() {
        if let Some(detail) = old_label(key) {
            out.push(format!("{}: {detail}", field.path));
        }
    }
    let (required, preferred) =
        ("requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution");
    let nodes = spec.at("affinity.nodeAffinity");
    for term in nodes.at(required).each("nodeSelectorTerms") {
        node_term(&term, false, out);
    }
    for term in nodes.each(preferred) {
        node_term(&term.at("preference"), true, out);
    }
    for one in spec.each("topologySpreadConstraints") {
        let key = one.at("topologyKey");
        if let Some(detail) = old_label(key.text()) {
            out.push(format!("{}: {} is {detail}", key.path, key.text()));
        }
        no_selector(&one, out);
    }
    for (key, detail) in OLD_ANNOTATIONS {
        if annotations.key(key).is() {
            out.push(format!("{}: {detail}", annotations.key(key).path));
        }
    }
    volumes(&spec, out);
    overlaps(&spec, out);
    repeated(&spec, out);
    for key in ["memory", "ephemeral-storage"] {
        fraction(&spec.at("overhead").key(key), out);
    }
    containers(place, &spec, &annotations, out);
    ports(&spec, out);
    if spec.at("terminationGracePeriodSeconds").number() < 0 {
        let detail = "must be >= 0; negative values are invalid and will be treated as 1";
        out.push(format!("{}: {detail}", spec.child("terminationGracePeriodSeconds")));
    }
    for key in ["affinity.podAffinity", "affinity.podAntiAffinity"] {
        spec.at(key).each(required).iter().for_each(|one| no_selector(one, out));
        spec.at(key).each(preferred).iter().for_each(|one| no_selector(&one.at("podAffinityTerm"), out));
    }
    for server in spec.each("dnsConfig.nameservers") {
        out.extend(addresses::warning(&server.path, server.text()));
    }
    for alias in spec.each("hostAliases") {
        out.extend(addresses::warning(&alias.at("ip").path, alias.at("ip").text()));
    }
}

fn no_selector(term: &Place<'_>, out: &mut Vec<String>) {
    if !term.has("labelSelector") {
        out.push(format!("{}: a null labelSelector results in matching no pod", term.child("labelSelector")));
    }
}

fn volumes(spec: &Place<'_>, out: &mut Vec<String>) {
    for volume in spec.each("volumes") {
        for (key, shown, detail) in OLD_VOLUMES.iter().filter(|(key, ..)| volume.has(key)) {
            if *key == "ephemeral" {
                claim(&volume.at("ephemeral.volumeClaimTemplate.spec"), out);
            } else {
                out.push(format!("{}: {detail}", volume.child(shown)));
            }
        }
    }
}

/// Files of one volume that would be in each other's places.
fn overlaps(spec: &Place<'_>, out: &mut Vec<String>) {
    for volume in spec.each("volumes") {
        let name = quote(volume.at("name").text());
        let paths = |place: &Place<'_>, from: &str| -> Vec<(String, String)> {
            let items = place.each("items");
            items.iter().map(|one| (one.at("path").text().to_owned(), from.to_owned())).collect()
        };
        let single =
            [("configMap", "ConfigMap", "name"), ("secret", "Secret", "secretName"), ("downwardAPI", "", "")];
        for (key, what, named) in single {
            let place = volume.at(key);
            let what = match what {
                "" => "DownwardAPI".to_owned(),
                what => format!("{what} {}", quote(place.at(named).text())),
            };
            let found = clashes(&mut Vec::new(), &paths(&place, ""));
            out.extend(found.iter().map(|one| format!("volume {name} ({what}): overlapping paths: {one}")));
        }
        let mut all = Vec::new();
        for source in volume.each("projected.sources") {
            if source.count() == 0 {
                out.push(format!("volume {name} (Projected) has no sources provided"));
                continue;
            }
            let named = |key: &str, what: &str| format!("{what} {}", quote(source.at(key).at("name").text()));
            let own = if source.at("configMap").has("items") {
                paths(&source.at("configMap"), &named("configMap", "ConfigMap"))
            } else if source.at("secret").has("items") {
                paths(&source.at("secret"), &named("secret", "Secret"))
            } else if source.at("downwardAPI").has("items") {
                paths(&source.at("downwardAPI"), "DownwardAPI")
            } else if source.has("serviceAccountToken") {
                let path = source.at("serviceAccountToken").at("path").text().to_owned();
                vec![(path, "ServiceAccountToken".to_owned())]
            } else {
                Vec::new()
            };
            let found = clashes(&mut all, &own);
            out.extend(
                found.iter().map(|one| format!("volume {name} (Projected): overlapping paths: {one}")),
            );
        }
    }
}

/// Which of the new paths are above, below or the same as known ones; they are known from then on.
fn clashes(known: &mut Vec<(String, String)>, new: &[(String, String)]) -> Vec<String> {
    let shown = |(path, from): &(String, String)| match from.as_str() {
        "" => quote(path),
        from => format!("{} ({from})", quote(path)),
    };
    let mut out = Vec::new();
    for (path, from) in new {
        let one = (path.trim_end_matches('/').to_owned(), from.clone());
        let below = |a: &str, b: &str| format!("{a}/").starts_with(&format!("{b}/"));
        let hits = known.iter().filter(|other| {
            !one.0.is_empty() && !other.0.is_empty() && (below(&other.0, &one.0) || below(&one.0, &other.0))
        });
        out.extend(hits.map(|other| format!("{} with {}", shown(&one), shown(other))));
        known.push(one);
    }
    out
}

fn repeated(spec: &Place<'_>, out: &mut Vec<String>) {
    for (list, key) in [("hostAliases", "ip"), ("imagePullSecrets", "name")] {
        let mut seen: Vec<&str> = Vec::new();
        for one in spec.each(list) {
            let field = one.at(key);
            if seen.contains(&field.text()) {
                out.push(format!("{}: duplicate {key} {}", field.path, quote(field.text())));
            } else {
                seen.push(field.text());
            }
        }
    }
    for one in spec.each("imagePullSecrets").iter().filter(|one| one.at("name").text().is_empty()) {
        out.push(format!("{}: invalid empty name \"\"", one.child("name")));
    }
}

fn all_containers<'p>(spec: &Place<'p>) -> Vec<Place<'p>> {
    ["initContainers", "containers", "ephemeralContainers"].iter().flat_map(|list| spec.each(list)).collect()
}

fn containers(place: &Place<'_>, spec: &Place<'_>, annotations: &Place<'_>, out: &mut Vec<String>) {
    let seccomp = "seccomp.security.alpha.kubernetes.io/pod";
    let detail = "non-functional in v1.27+; use the \"seccompProfile\" field instead";
    if !spec.has("securityContext.seccompProfile") && annotations.key(seccomp).is() {
        out.push(format!("{}: {detail}", annotations.key(seccomp).path));
    }
    for container in all_containers(spec) {
        let name = container.at("name").text();
        let key = format!("container.seccomp.security.alpha.kubernetes.io/{name}");
        if !container.has("securityContext.seccompProfile") && annotations.key(&key).is() {
            out.push(format!("{}: {detail}", annotations.key(&key).path));
        }
        let armor = annotations.key(&format!("container.apparmor.security.beta.kubernetes.io/{name}"));
        if !place.path.is_empty()
            && !container.has("securityContext.appArmorProfile")
            && armor.is()
            && !spec.has("securityContext.appArmorProfile")
        {
            let detail = "deprecated since v1.30; use the \"appArmorProfile\" field instead";
            out.push(format!("{}: {detail}", armor.path));
        }
        for name in ["memory", "ephemeral-storage"] {
            for list in ["resources.limits", "resources.requests"] {
                fraction(&container.at(list).key(name), out);
            }
        }
        let mut seen: Vec<&str> = Vec::new();
        for one in container.each("env") {
            let (name, value) = (one.at("name").text(), one.at("value").text());
            let refers = format!("$({name})");
            if !seen.contains(&name) {
                seen.push(name);
            } else if one.has("valueFrom") || value == refers || !value.contains(&refers) {
                out.push(format!(
                    "{}: hides previous definition of {}, which may be dropped when using apply",
                    one.path,
                    quote(name)
                ));
            }
        }
    }
}

fn ports(spec: &Place<'_>, out: &mut Vec<String>) {
    let all: Vec<Place<'_>> = all_containers(spec).iter().flat_map(|one| one.each("ports")).collect();
    let mut seen: Vec<&Place<'_>> = Vec::new();
    for port in &all {
        let of = |place: &Place<'_>| (place.at("hostIP").text().to_owned(), place.at("hostPort").number());
        let (address, number) = of(port);
        if !address.is_empty() && number == 0 {
            out.push(format!(
                "{}: hostIP set without hostPort: {{Name:{} HostPort:0 ContainerPort:{} Protocol:{} HostIP:{address}}}",
                port.path,
                port.at("name").text(),
                port.at("containerPort").number(),
                port.at("protocol").text()
            ));
        }
        let same = |other: &Place<'_>| {
            other.at("containerPort").number() == port.at("containerPort").number()
                && other.at("protocol").text() == port.at("protocol").text()
        };
        for other in seen.iter().filter(|other| same(other)) {
            let (their_address, their_number) = of(other);
            let what = if (their_address.as_str(), their_number) == (address.as_str(), number) {
                "duplicate"
            } else if number == 0 || their_number == 0 {
                "overlapping"
            } else if number == their_number && address.is_empty() != their_address.is_empty() {
                "dangerously ambiguous"
            } else {
                continue;
            };
            out.push(format!("{}: {what} port definition with {}", port.path, other.path));
        }
        seen.push(port);
    }
    let mut names: Vec<(&str, &str)> = Vec::new();
    for port in all.iter().filter(|port| !port.at("name").text().is_empty()) {
        let name = port.at("name").text();
        match names.iter().find(|(known, _)| *known == name) {
            Some((_, other)) => out.push(format!(
                "{}: duplicate port name {} with {other}, services and probes that select ports by name will use \
                 {other}",
                port.path,
                quote(name)
            )),
            None => names.push((name, &port.path)),
        }
    }
}
