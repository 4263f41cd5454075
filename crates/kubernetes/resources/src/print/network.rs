//! Services, ingresses and where they lead.

use std::collections::BTreeSet;

use serde_json::Value;

use super::cell::{Look, at, few, list, number, text, texts};

/// As many words as a cell shows.
const MOST: usize = 3;

pub fn cluster_ip(look: &Look<'_>) -> String {
    texts(look.object, "spec.clusterIPs").first().copied().unwrap_or("<none>").to_owned()
}

/// The addresses of load balancers.
pub fn balanced(look: &Look<'_>) -> String {
    let ingress = list(look.object, "status.loadBalancer.ingress").iter();
    let words: BTreeSet<&str> = ingress
        .map(|one| match text(one, "ip") {
            "" => text(one, "hostname"),
            address => address,
        })
        .filter(|word| !word.is_empty())
        .collect();
    words.into_iter().collect::<Vec<&str>>().join(",")
}

pub fn external_ip(look: &Look<'_>) -> String {
    let own = texts(look.object, "spec.externalIPs");
    match look.text("spec.type") {
        "ClusterIP" | "NodePort" if own.is_empty() => "<none>".to_owned(),
        "ClusterIP" | "NodePort" => own.join(","),
        "LoadBalancer" => {
            let balanced = balanced(look);
            let words: Vec<&str> =
                Some(balanced.as_str()).filter(|word| !word.is_empty()).into_iter().chain(own).collect();
            if words.is_empty() { "<pending>".to_owned() } else { words.join(",") }
        }
        "ExternalName" => look.text("spec.externalName").to_owned(),
        _ => "<unknown>".to_owned(),
    }
}

pub fn service_ports(look: &Look<'_>) -> String {
    let port = |port: &Value| {
        let (own, protocol) = (number(port, "port"), text(port, "protocol"));
        match number(port, "nodePort") {
            node if node > 0 => format!("{own}:{node}/{protocol}"),
            _ => format!("{own}/{protocol}"),
        }
    };
    let ports: Vec<String> = list(look.object, "spec.ports").iter().map(port).collect();
    if ports.is_empty() { "<none>".to_owned() } else { ports.join(",") }
}

pub fn endpoints(look: &Look<'_>) -> String {
    let subsets = list(look.object, "subsets");
    if subsets.is_empty() {
        return "<none>".to_owned();
    }
    let mut words = Vec::new();
    for subset in subsets {
        let addresses: Vec<&str> = list(subset, "addresses").iter().map(|one| text(one, "ip")).collect();
        let ports = list(subset, "ports");
        if ports.is_empty() {
            words.extend(addresses.iter().map(|address| (*address).to_owned()));
        }
        for port in ports {
            let port = number(port, "port");
            words.extend(addresses.iter().map(|address| match address.contains([':', '%']) {
                true => format!("[{address}]:{port}"),
                false => format!("{address}:{port}"),
            }));
        }
    }
    few(&words, MOST, words.len())
}

fn or_unset(words: &[String]) -> String {
    match few(words, MOST, words.len()) {
        text if text.is_empty() => "<unset>".to_owned(),
        text => text,
    }
}

pub fn slice_ports(look: &Look<'_>) -> String {
    let port = |port: &Value| match (at(port, "port"), at(port, "name")) {
        (Some(number), _) => number.to_string(),
        (None, Some(name)) => name.as_str().unwrap_or_default().to_owned(),
        (None, None) => "*".to_owned(),
    };
    or_unset(&list(look.object, "ports").iter().map(port).collect::<Vec<String>>())
}

pub fn slice_addresses(look: &Look<'_>) -> String {
    let all = list(look.object, "endpoints").iter().flat_map(|one| texts(one, "addresses"));
    or_unset(&all.map(str::to_owned).collect::<Vec<String>>())
}

/// The hosts; the rules that are beyond those shown count, also those without a host.
pub fn hosts(look: &Look<'_>) -> String {
    let rules = list(look.object, "spec.rules");
    let (mut hosts, mut more) = (Vec::new(), false);
    for rule in rules {
        more |= hosts.len() == MOST;
        let host = text(rule, "host");
        if !more && !host.is_empty() {
            hosts.push(host);
        }
    }
    match (hosts.is_empty(), more) {
        (true, _) => "*".to_owned(),
        (_, true) => format!("{} + {} more...", hosts.join(","), rules.len() - MOST),
        _ => hosts.join(","),
    }
}

pub fn ingress_ports(look: &Look<'_>) -> String {
    if list(look.object, "spec.tls").is_empty() { "80" } else { "80, 443" }.to_owned()
}

pub fn class_name(look: &Look<'_>) -> String {
    let annotations = look.object.pointer("/metadata/annotations");
    let value = annotations.and_then(|all| all.get("ingressclass.kubernetes.io/is-default-class"));
    let mark = if value.and_then(Value::as_str) == Some("true") { " (default)" } else { "" };
    format!("{}{mark}", look.text("metadata.name"))
}

pub fn class_parameters(look: &Look<'_>) -> String {
    let Some(parameters) = at(look.object, "spec.parameters") else { return "<none>".to_owned() };
    let group =
        at(parameters, "apiGroup").and_then(Value::as_str).map_or(String::new(), |group| format!(".{group}"));
    format!("{}{group}/{}", text(parameters, "kind"), text(parameters, "name"))
}

pub fn ranges(look: &Look<'_>) -> String {
    texts(look.object, "spec.cidrs").join(",")
}

pub fn parent(look: &Look<'_>) -> String {
    let Some(parent) = at(look.object, "spec.parentRef") else { return "<none>".to_owned() };
    let part = |key: &str| text(parent, key);
    let resource = match (part("resource"), part("group")) {
        (resource, "") => resource.to_owned(),
        (resource, group) => format!("{resource}.{group}"),
    };
    let namespace = match part("namespace") {
        "" => String::new(),
        namespace => format!("/{namespace}"),
    };
    format!("{}{namespace}/{}", resource.to_lowercase(), part("name"))
}
