//! Ingresses, policies of the network, and endpoints.

use serde_json::Value;

use super::addresses;
use super::formats;
use super::metadata::NameRule;
use super::place::{Flaws, Place, shown};
use super::rules::{Rule, check, one_of};
use super::selectors;
use super::services;

const INGRESS_CLASS: &str = "kubernetes.io/ingress.class";
const PROTOCOLS: &[&str] = &["SCTP", "TCP", "UDP"];

pub fn ingress(object: &Place<'_>, out: &mut Flaws) {
    ingress_spec(object, out);
    let annotation = object.at("metadata").at("annotations").key(INGRESS_CLASS);
    let class = object.at("spec.ingressClassName");
    if annotation.is() && class.is() && annotation.text() != class.text() {
        let field = annotation.moved(format!("annotations.{INGRESS_CLASS}"));
        out.invalid_text(&field, "must match `ingressClassName` when both are specified");
    }
}

pub fn ingress_spec(object: &Place<'_>, out: &mut Flaws) {
    let spec = object.at("spec");
    let (rules, backend_of_all) = (spec.at("rules"), spec.at("defaultBackend"));
    if rules.count() == 0 && !backend_of_all.is() {
        out.invalid_as(
            &spec.path,
            &shown(rules.value),
            "either `defaultBackend` or `rules` must be specified",
        );
    }
    if backend_of_all.is() {
        backend(&backend_of_all, out);
    }
    for rule in rules.items() {
        let host = rule.at("host");
        if !host.text().is_empty() {
            if addresses::read(host.text()).is_some() {
                out.invalid_text(&host, "must be a DNS name, not an IP address");
            }
            domain(&host, out);
        }
        let http = rule.at("http");
        if http.is() && http.at("paths").count() == 0 {
            out.required(&http.at("paths"), "");
        }
        http.each("paths").iter().for_each(|one| path(one, out));
    }
    for tls in spec.each("tls") {
        tls.each("hosts").iter().for_each(|host| domain(host, out));
        check(&tls, &[Rule::Form("secretName", formats::subdomain)], out);
    }
    if spec.has("ingressClassName") {
        let class = spec.at("ingressClassName");
        out.wrong(&class, formats::subdomain(class.text()));
    }
}

fn domain(host: &Place<'_>, out: &mut Flaws) {
    let format = if host.text().contains('*') { formats::wildcard } else { formats::subdomain };
    out.wrong(host, format(host.text()));
}

fn path(place: &Place<'_>, out: &mut Flaws) {
    let (kind, path) = (place.at("pathType"), place.at("path"));
    if !kind.is() {
        return out.required(&kind, "pathType must be specified");
    }
    let absolute = path.text().starts_with('/');
    match kind.text() {
        "Exact" | "Prefix" => {
            if !absolute {
                out.invalid_text(&path, "must be an absolute path");
            }
            for part in ["//", "/./", "/../", "%2f", "%2F"].iter().filter(|part| path.text().contains(**part))
            {
                out.invalid_text(&path, &format!("must not contain '{part}'"));
            }
            for end in ["/..", "/."].iter().filter(|end| path.text().ends_with(**end)) {
                out.invalid_text(&path, &format!("cannot end with '{end}'"));
            }
        }
        "ImplementationSpecific" => {
            if !path.text().is_empty() && !absolute {
                out.invalid_text(&path, "must be an absolute path");
            }
        }
        _ => out.unsupported(&kind, &["Exact", "ImplementationSpecific", "Prefix"]),
    }
    backend(&place.at("backend"), out);
}

fn backend(place: &Place<'_>, out: &mut Flaws) {
    let (resource, service) = (place.at("resource"), place.at("service"));
    match (resource.is(), service.is()) {
        (true, true) => out.invalid_as(&place.path, "\"\"", "cannot set both resource and service backends"),
        (true, false) => reference(&resource, out),
        (false, true) => {
            check(&service, &[Rule::Name("name", formats::label)], out);
            let (name, number) = (service.at("port").at("name"), service.at("port").at("number"));
            match (!name.text().is_empty(), number.number() != 0) {
                (true, true) => {
                    out.invalid_as(&place.path, "\"\"", "cannot set both port name & port number")
                }
                (true, false) => out.wrong(&name, formats::port_name(name.text())),
                (false, true) => {
                    formats::port(number.number())
                        .iter()
                        .for_each(|detail| out.invalid_number(&number, detail));
                }
                (false, false) => out.required(place, "port name or number is required"),
            }
        }
        (false, false) => out.invalid_as(&place.path, "\"\"", "resource or service backend is required"),
    }
}

fn reference(place: &Place<'_>, out: &mut Flaws) {
    if place.has("apiGroup") {
        let group = place.at("apiGroup");
        out.wrong(&group, formats::subdomain(group.text()));
    }
    check(place, &[Rule::Name("kind", formats::segment), Rule::Name("name", formats::segment)], out);
}

pub fn ingress_status(new: &Place<'_>, old: &Place<'_>, out: &mut Flaws) {
    let list = "status.loadBalancer.ingress";
    let known: Vec<&str> = old.each(list).iter().map(|one| one.at("ip").text()).collect();
    for one in new.each(list) {
        if !one.at("ip").text().is_empty() {
            addresses::address(&one.at("ip"), &known, out);
        }
        services::hostname(&one.at("hostname"), out);
    }
}

pub fn ingress_class(object: &Place<'_>, out: &mut Flaws) {
    let spec = object.at("spec");
    services::controller(&spec.at("controller"), out);
    let parameters = spec.at("parameters");
    if !parameters.is() {
        return;
    }
    reference(&parameters, out);
    let (scope, namespace) = (parameters.at("scope"), parameters.at("namespace"));
    match scope.text() {
        _ if !scope.is() => out.required(&scope, ""),
        "Namespace" if !namespace.is() => {
            out.required(&namespace, "`parameters.scope` is set to 'Namespace'");
        }
        "Namespace" => out.wrong(&namespace, NameRule::Label.flaws(namespace.text(), false)),
        "Cluster" if namespace.is() => {
            out.forbidden(&namespace, "`parameters.scope` is set to 'Cluster'");
        }
        "Cluster" => {}
        _ => out.unsupported(&scope, &["Cluster", "Namespace"]),
    }
}

pub fn controller_stays(new: &Place<'_>, old: &Place<'_>, out: &mut Flaws) {
    out.fixed_text(&new.at("spec.controller"), &old.at("spec.controller"));
}

pub fn network_policy(object: &Place<'_>, out: &mut Flaws) {
    policy(object, &[], false, out);
}

pub fn network_policy_change(new: &Place<'_>, old: &Place<'_>, out: &mut Flaws) {
    let spec = old.at("spec");
    let mut known: Vec<&str> = Vec::new();
    for (list, peers) in [("ingress", "from"), ("egress", "to")] {
        for peer in spec.each(list).iter().flat_map(|rule| rule.each(peers)) {
            let block = peer.at("ipBlock");
            if block.is() {
                known.push(block.at("cidr").text());
                known.extend(block.each("except").iter().map(Place::text));
            }
        }
    }
    let mut before = Flaws::default();
    selectors::selector(&spec.at("podSelector"), &mut before);
    policy(new, &known, !before.is_empty(), out);
}

fn policy(object: &Place<'_>, known: &[&str], any_value: bool, out: &mut Flaws) {
    let spec = object.at("spec");
    selectors::selector_with(&spec.at("podSelector"), any_value, out);
    for (list, peers) in [("ingress", "from"), ("egress", "to")] {
        for rule in spec.each(list) {
            rule.each("ports").iter().for_each(|port| policy_port(port, out));
            rule.each(peers).iter().for_each(|one| peer(one, known, any_value, out));
        }
    }
    let types = spec.at("policyTypes");
    if types.count() > 2 {
        return out.invalid(&types, "may not specify more than two policyTypes");
    }
    for one in types.items().filter(|one| !matches!(one.text(), "Ingress" | "Egress")) {
        out.unsupported(&one, &["Ingress", "Egress"]);
    }
}

fn policy_port(place: &Place<'_>, out: &mut Flaws) {
    let protocol = place.at("protocol");
    if protocol.is() && !PROTOCOLS.contains(&protocol.text()) {
        out.unsupported(&protocol, &["TCP", "UDP", "SCTP"]);
    }
    let (port, end) = (place.at("port"), place.at("endPort"));
    match port.value {
        Value::Null if end.is() => {
            out.invalid_number(&end, "may not be specified when `port` is not specified");
        }
        Value::Null => {}
        Value::String(text) => {
            if end.is() {
                out.invalid_number(&end, "may not be specified when `port` is non-numeric");
            }
            out.wrong(&port, formats::port_name(text));
        }
        _ => {
            formats::port(port.number()).iter().for_each(|detail| out.invalid_number(&port, detail));
            if end.is() {
                if end.number() < port.number() {
                    let detail = "must be greater than or equal to `port`";
                    out.invalid_as(&end.path, &port.number().to_string(), detail);
                }
                formats::port(end.number()).iter().for_each(|detail| out.invalid_number(&end, detail));
            }
        }
    }
}

fn peer(place: &Place<'_>, known: &[&str], any_value: bool, out: &mut Flaws) {
    let (pods, namespaces, block) =
        (place.at("podSelector"), place.at("namespaceSelector"), place.at("ipBlock"));
    for selector in [&pods, &namespaces] {
        selectors::selector_with(selector, any_value, out);
    }
    if block.is() {
        ip_block(&block, known, out);
    }
    let count = [&pods, &namespaces, &block].iter().filter(|one| one.is()).count();
    if count == 0 {
        out.required(place, "must specify a peer");
    } else if count > 1 && block.is() {
        out.forbidden(place, "may not specify both ipBlock and another peer");
    }
}

fn ip_block(block: &Place<'_>, known: &[&str], out: &mut Flaws) {
    let whole = block.at("cidr");
    if whole.text().is_empty() {
        return out.required(&whole, "");
    }
    addresses::range(&whole, whole.text(), known, out);
    let Some(network) = addresses::network(whole.text()) else { return };
    for except in block.each("except") {
        addresses::range(&except, except.text(), known, out);
        let Some((address, length)) = addresses::network(except.text()) else { continue };
        if !addresses::contains(network, addresses::first_of(address, length)) || network.1 >= length {
            out.invalid_text(&except, "must be a strict subset of `cidr`");
        }
    }
}

/// A slice that changes must not change the type of its addresses.
pub fn type_stays(new: &Place<'_>, old: &Place<'_>, out: &mut Flaws) {
    out.fixed_text(&new.at("addressType"), &old.at("addressType"));
}

pub fn endpoints(object: &Place<'_>, out: &mut Flaws) {
    for subset in object.each("subsets") {
        let (ready, others) = (subset.at("addresses"), subset.at("notReadyAddresses"));
        if ready.count() + others.count() == 0 {
            out.required(&subset, "must specify `addresses` or `notReadyAddresses`");
        }
        for address in ready.items().chain(others.items()) {
            addresses::address(&address.at("ip"), &[], out);
            check(&address, &[Rule::Form("hostname", formats::label)], out);
            if address.has("nodeName") {
                out.wrong(&address.at("nodeName"), formats::subdomain(address.at("nodeName").text()));
            }
            addresses::reachable(&address.at("ip"), out);
        }
        let ports = subset.at("ports");
        for port in ports.items() {
            let name = port.at("name");
            if ports.count() > 1 && name.text().is_empty() {
                out.required(&name, "");
            } else {
                check(&port, &[Rule::Form("name", formats::label)], out);
            }
            let number = port.at("port");
            formats::port(number.number()).iter().for_each(|detail| out.invalid_number(&number, detail));
            one_of(&port.at("protocol"), PROTOCOLS, out);
            if port.has("appProtocol") {
                selectors::key(&port.at("appProtocol"), out);
            }
        }
    }
}

/// Endpoints that do not change are not looked at again.
pub fn endpoints_change(new: &Place<'_>, old: &Place<'_>, out: &mut Flaws) {
    if new.at("subsets").value != old.at("subsets").value {
        endpoints(new, out);
    }
}

pub fn slice(object: &Place<'_>, out: &mut Flaws) {
    slice_with(object, true, out);
}

pub fn slice_change(new: &Place<'_>, old: &Place<'_>, out: &mut Flaws) {
    slice_with(new, new.at("endpoints").value != old.at("endpoints").value, out);
}

fn slice_with(object: &Place<'_>, all: bool, out: &mut Flaws) {
    one_of(&object.at("addressType"), &["FQDN", "IPv4", "IPv6"], out);
    let ports = object.at("ports");
    if ports.count() > 20_000 {
        out.too_many(&ports, 20_000);
    } else {
        let mut names: Vec<&str> = Vec::new();
        for port in ports.items() {
            let name = port.at("name");
            check(&port, &[Rule::Form("name", formats::label)], out);
            if names.contains(&name.text()) {
                out.duplicate(&name);
            }
            names.push(name.text());
            one_of(&port.at("protocol"), PROTOCOLS, out);
            if port.has("appProtocol") {
                selectors::key(&port.at("appProtocol"), out);
            }
        }
    }
    let endpoints = object.at("endpoints");
    if all && endpoints.count() > 1000 {
        out.too_many(&endpoints, 1000);
    } else if all {
        endpoints.items().for_each(|one| endpoint(&one, object.at("addressType").text(), out));
    }
}

fn endpoint(place: &Place<'_>, kind: &str, out: &mut Flaws) {
    let all = place.at("addresses");
    if all.count() == 0 {
        out.required(&all, "must contain at least 1 address");
    } else if all.count() > 100 {
        out.too_many(&all, 100);
    }
    for address in all.items() {
        let long = addresses::is_long(address.text());
        let good = match kind {
            "IPv4" => addresses::address(&address, &[], out),
            "IPv6" => addresses::canonical(&address, out),
            "FQDN" => {
                full_domain(&address, out);
                false
            }
            _ => false,
        };
        if good {
            if long != (kind == "IPv6") {
                out.invalid_text(&address.moved(&all.path), &format!("must be an {kind} address"));
            }
            addresses::reachable(&address, out);
        }
    }
    if place.has("nodeName") {
        out.wrong(&place.at("nodeName"), formats::subdomain(place.at("nodeName").text()));
    }
    selectors::labels(&place.at("deprecatedTopology"), out);
    if place.has("hostname") {
        out.wrong(&place.at("hostname"), formats::label(place.at("hostname").text()));
    }
    for (list, format) in [
        ("forZones", formats::label_value as formats::Format),
        ("forNodes", formats::subdomain as formats::Format),
    ] {
        let hints = place.at("hints").at(list);
        if hints.count() > 8 {
            return out.too_many(&hints, 8);
        }
        let mut seen: Vec<&str> = Vec::new();
        for hint in hints.items() {
            let name = hint.at("name");
            if seen.contains(&name.text()) {
                out.duplicate(&name);
            }
            seen.push(name.text());
            out.wrong(&name, format(name.text()));
        }
    }
}

fn full_domain(place: &Place<'_>, out: &mut Flaws) {
    let text = place.text();
    if text.is_empty() {
        return out.required(place, "");
    }
    let plain = text.strip_suffix('.').unwrap_or(text);
    let value: Value = plain.into();
    let own = Place { value: &value, path: place.path.clone() };
    let wrong = formats::subdomain(plain);
    if !wrong.is_empty() {
        return out.invalid_text(&own, &wrong.join(","));
    }
    if !plain.contains('.') {
        return out.invalid_text(&own, "should be a domain with at least two segments separated by dots");
    }
    for part in plain.split('.') {
        let wrong = formats::label(part);
        if !wrong.is_empty() {
            return out.invalid_as(&place.path, &crate::typed::json::quote(part), &wrong.join(","));
        }
    }
}
