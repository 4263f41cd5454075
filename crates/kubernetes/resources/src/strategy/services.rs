//! Services.

use serde_json::Value;

use super::addresses;
use super::formats;
use super::jobs::domain_path;
use super::place::{Flaws, Place, shown};
use super::rules::{Rule, check, one_of};
use super::selectors;
use crate::typed::json::quote;

const PROTOCOLS: &[&str] = &["SCTP", "TCP", "UDP"];
const OLD_HINTS: &str = "service.kubernetes.io/topology-aware-hints";
const HINTS: &str = "service.kubernetes.io/topology-mode";
const OLD_RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";

/// Whether a service has no address of its own.
pub fn is_headless(service: &Place<'_>) -> bool {
    let all = service.at("spec.clusterIPs");
    all.count() == 1 && all.index(0).text() == "None"
}

/// Whether it can be reached from outside.
pub fn is_open(service: &Place<'_>) -> bool {
    let spec = service.at("spec");
    match spec.at("type").text() {
        "LoadBalancer" | "NodePort" => true,
        "ClusterIP" => spec.at("externalIPs").count() > 0,
        _ => false,
    }
}

/// Whether a balancer has to ask each machine.
pub fn needs_health(service: &Place<'_>) -> bool {
    let spec = service.at("spec");
    spec.at("type").text() == "LoadBalancer" && spec.at("externalTrafficPolicy").text() == "Local"
}

fn texts<'v>(place: &Place<'v>) -> Vec<&'v str> {
    place.items().map(|one| one.text()).collect()
}

pub fn service(object: &Place<'_>, out: &mut Flaws) {
    service_with(object, None, out);
}

pub fn service_change(new: &Place<'_>, old: &Place<'_>, out: &mut Flaws) {
    addresses_stay(new, old, out);
    families_stay(new, old, out);
    let class = |object: &Place<'_>| object.at("spec.loadBalancerClass").value.clone();
    let balanced = |object: &Place<'_>| object.at("spec.type").text() == "LoadBalancer";
    if balanced(new) && balanced(old) && class(new) != class(old) {
        out.invalid(&new.at("spec.loadBalancerClass"), "may not change once set");
    }
    balancer_class(new, out);
    let port = new.at("spec.healthCheckNodePort");
    if needs_health(new) && needs_health(old) && port.number() != old.at("spec.healthCheckNodePort").number()
    {
        out.forbidden(&port, "field is immutable");
    }
    service_with(new, Some(old), out);
}

fn service_with(object: &Place<'_>, old: Option<&Place<'_>>, out: &mut Flaws) {
    let (spec, headless) = (object.at("spec"), is_headless(object));
    let annotations = object.at("metadata").at("annotations");
    let (hints, old_hints) = (annotations.key(HINTS), annotations.key(OLD_HINTS));
    if hints.is() && old_hints.is() && hints.text() != old_hints.text() {
        let detail = format!("must match annotations[{OLD_HINTS}] when both are specified");
        out.invalid_text(&hints, &detail);
    }
    let kind = spec.at("type").text();
    let ports = spec.at("ports");
    if ports.count() == 0 && !headless && kind != "ExternalName" {
        out.required(&ports, "");
    }
    match kind {
        "LoadBalancer" | "NodePort" if headless => {
            let detail = format!("may not be set to 'None' for {kind} services");
            out.invalid_text(&spec.at("clusterIPs").index(0), &detail);
        }
        "ExternalName" => external_name(&spec, out),
        _ => {}
    }
    let mut names: Vec<&str> = Vec::new();
    for port in ports.items() {
        service_port(&port, ports.count() > 1, &mut names, out);
    }
    selectors::labels(&spec.at("selector"), out);
    affinity(&spec, out);
    cluster_addresses(object, old, out);
    let known = old.map(|old| texts(&old.at("spec.externalIPs"))).unwrap_or_default();
    for address in spec.each("externalIPs") {
        if addresses::address(&address, &known, out) {
            addresses::reachable(&address, out);
        }
    }
    one_of(&spec.at("type"), &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"], out);
    if kind == "ClusterIP" {
        for port in ports.items().filter(|port| port.at("nodePort").number() != 0) {
            out.forbidden(&port.at("nodePort"), "may not be used when `type` is 'ClusterIP'");
        }
    }
    unique_ports(&ports, out);
    source_ranges(object, old, out);
    let allocates = spec.at("allocateLoadBalancerNodePorts");
    if allocates.is() && kind != "LoadBalancer" {
        out.forbidden(&allocates, "may only be used when `type` is 'LoadBalancer'");
    }
    if !allocates.is() && kind == "LoadBalancer" {
        out.required(&allocates.moved("allocateLoadBalancerNodePorts"), "");
    }
    balancer_class(object, out);
    traffic(object, out);
}

fn external_name(spec: &Place<'_>, out: &mut Flaws) {
    for key in ["clusterIPs", "ipFamilies"] {
        if spec.at(key).count() > 0 {
            out.forbidden(&spec.at(key), "may not be set for ExternalName services");
        }
    }
    if spec.has("ipFamilyPolicy") {
        out.forbidden(&spec.at("ipFamilyPolicy"), "may not be set for ExternalName services");
    }
    let name = spec.at("externalName");
    let text: Value = name.text().strip_suffix('.').unwrap_or(name.text()).into();
    match text.as_str().unwrap_or_default() {
        "" => out.required(&name, ""),
        plain => out.wrong(&Place { value: &text, path: name.path.clone() }, formats::subdomain(plain)),
    }
}

fn service_port<'n>(port: &Place<'n>, named: bool, names: &mut Vec<&'n str>, out: &mut Flaws) {
    let name = port.at("name");
    if name.text().is_empty() {
        if named {
            out.required(&name, "");
        }
    } else {
        out.wrong(&name, formats::label(name.text()));
        if names.contains(&name.text()) {
            out.duplicate(&name);
        } else {
            names.push(name.text());
        }
    }
    let number = port.at("port");
    formats::port(number.number()).iter().for_each(|detail| out.invalid_number(&number, detail));
    one_of(&port.at("protocol"), PROTOCOLS, out);
    let target = port.at("targetPort");
    match target.value {
        Value::String(text) => out.wrong(&target, formats::port_name(text)),
        _ => formats::port(target.number()).iter().for_each(|detail| out.invalid_number(&target, detail)),
    }
    if port.has("appProtocol") {
        selectors::key(&port.at("appProtocol"), out);
    }
}

fn affinity(spec: &Place<'_>, out: &mut Flaws) {
    one_of(&spec.at("sessionAffinity"), &["ClientIP", "None"], out);
    let config = spec.at("sessionAffinityConfig");
    match spec.at("sessionAffinity").text() {
        "ClientIP" => {
            let seconds = config.at("clientIP").at("timeoutSeconds");
            let places = [&config, &config.at("clientIP"), &seconds];
            if let Some(missing) = places.into_iter().find(|place| !place.is()) {
                out.required(missing, "when session affinity type is ClientIP");
            } else if !(1..=86_400).contains(&seconds.number()) {
                out.invalid(&seconds, "must be greater than 0 and less than 86400");
            }
        }
        "None" if config.is() => {
            out.forbidden(&config, "must not be set when session affinity is None");
        }
        _ => {}
    }
}

/// All that is asked of addresses and families; also before they are given out.
pub fn cluster_addresses(object: &Place<'_>, old: Option<&Place<'_>>, out: &mut Flaws) {
    let spec = object.at("spec");
    if spec.at("type").text() == "ExternalName" {
        return;
    }
    let (one, all) = (spec.at("clusterIP"), spec.at("clusterIPs"));
    if one.text().is_empty() {
        if all.count() > 0 {
            out.invalid(&all, "must be empty when `clusterIP` is not specified");
        }
    } else if all.count() == 0 {
        out.required(&all, "");
    } else if all.index(0).text() != one.text() {
        out.invalid(&all, "first value must match `clusterIP`");
    }
    let mut seen: Vec<&str> = Vec::new();
    for family in spec.each("ipFamilies") {
        if !matches!(family.text(), "IPv4" | "IPv6") {
            out.unsupported(&family, &["IPv4", "IPv6"]);
        }
        if seen.contains(&family.text()) {
            out.duplicate(&family);
        }
        seen.push(family.text());
    }
    check(
        &spec,
        &[Rule::Among("ipFamilyPolicy", &["PreferDualStack", "RequireDualStack", "SingleStack"])],
        out,
    );
    let known = old.map(|old| texts(&old.at("spec.clusterIPs"))).unwrap_or_default();
    let mut good = true;
    for (at, address) in all.items().enumerate() {
        if at == 0 && address.text() == "None" {
            if all.count() > 1 {
                good = false;
                out.invalid(&all, "'None' must be the first and only value");
            }
            continue;
        }
        good &= addresses::address(&address, &known, out);
    }
    if all.count() > 2 {
        out.invalid(&all, "may only hold up to 2 values");
    }
    if !good {
        return;
    }
    let long = all.items().filter(|address| addresses::is_long(address.text())).count();
    if all.count() > 1 && (long == 0 || long == all.count()) {
        out.invalid(&all, "may specify no more than one IP for each IP family");
    }
    if !is_headless(object) {
        for (at, (address, family)) in all.items().zip(spec.each("ipFamilies")).enumerate() {
            let long = addresses::is_long(address.text());
            if long && family.text() == "IPv4" || !long && family.text() == "IPv6" {
                let detail =
                    format!("expected an {} value as indicated by `ipFamilies[{at}]`", family.text());
                out.invalid_text(&address, &detail);
            }
        }
    }
}

fn unique_ports(ports: &Place<'_>, out: &mut Flaws) {
    let mut seen: Vec<(&str, i64)> = Vec::new();
    for port in ports.items().filter(|port| port.at("nodePort").number() != 0) {
        let key = (port.at("protocol").text(), port.at("nodePort").number());
        if seen.contains(&key) {
            out.duplicate(&port.at("nodePort"));
        }
        seen.push(key);
    }
    seen.clear();
    for port in ports.items() {
        let key = (port.at("protocol").text(), port.at("port").number());
        if seen.contains(&key) {
            let value = format!(
                "{{\"Name\":\"\",\"Protocol\":{},\"AppProtocol\":null,\"Port\":{},\"TargetPort\":0,\"NodePort\":0}}",
                quote(key.0),
                key.1
            );
            out.duplicate_as(&port.path, &value);
        }
        seen.push(key);
    }
}

fn source_ranges(object: &Place<'_>, old: Option<&Place<'_>>, out: &mut Flaws) {
    let spec = object.at("spec");
    let balanced = spec.at("type").text() == "LoadBalancer";
    let ranges = spec.at("loadBalancerSourceRanges").moved(spec.child("LoadBalancerSourceRanges"));
    let annotation = object.at("metadata").at("annotations").key(OLD_RANGES);
    let detail = "may only be used when `type` is 'LoadBalancer'";
    if ranges.count() > 0 {
        if !balanced {
            out.forbidden(&ranges, detail);
        }
        let known = old.map(|old| texts(&old.at("spec.loadBalancerSourceRanges"))).unwrap_or_default();
        let known: Vec<&str> = known.into_iter().map(str::trim).collect();
        ranges.items().for_each(|range| addresses::range(&range, range.text().trim(), &known, out));
    } else if annotation.is() {
        if !balanced {
            out.forbidden(&annotation, detail);
        }
        let before = old.map(|old| old.at("metadata").at("annotations").key(OLD_RANGES).value.clone());
        if before.as_ref() != Some(annotation.value) && !annotation.text().trim().is_empty() {
            let list = annotation.text().trim().split(',');
            list.for_each(|range| addresses::range(&annotation, range.trim(), &[], out));
        }
    }
}

fn balancer_class(object: &Place<'_>, out: &mut Flaws) {
    let class = object.at("spec.loadBalancerClass");
    if !class.is() {
        return;
    }
    if object.at("spec.type").text() == "LoadBalancer" {
        selectors::key(&class, out);
    } else {
        out.forbidden(&class, "may only be used when `type` is 'LoadBalancer'");
    }
}

fn traffic(object: &Place<'_>, out: &mut Flaws) {
    let spec = object.at("spec");
    let policy = spec.at("externalTrafficPolicy");
    if is_open(object) {
        one_of(&policy, &["Cluster", "Local"], out);
    } else if !policy.text().is_empty() {
        out.invalid_text(&policy, "may only be set for externally-accessible services");
    }
    let port = spec.at("healthCheckNodePort");
    if !needs_health(object) {
        if port.number() != 0 {
            let detail =
                "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
            out.invalid_number(&port, detail);
        }
    } else if port.number() == 0 {
        out.required(&port, "");
    } else {
        formats::port(port.number()).iter().for_each(|detail| out.invalid_number(&port, detail));
    }
    let inside = spec.at("internalTrafficPolicy");
    if !inside.is() && matches!(spec.at("type").text(), "NodePort" | "LoadBalancer" | "ClusterIP") {
        out.required(&inside, "");
    }
    check(&spec, &[Rule::Among("internalTrafficPolicy", &["Cluster", "Local"])], out);
    let spread = spec.at("trafficDistribution");
    let known = ["PreferClose", "PreferSameZone", "PreferSameNode"];
    if spread.is() && !known.contains(&spread.text()) {
        out.unsupported(&spread, &known);
    }
}

fn both_inside(new: &Place<'_>, old: &Place<'_>) -> bool {
    [new, old].iter().all(|object| object.at("spec.type").text() != "ExternalName")
}

fn addresses_stay(new: &Place<'_>, old: &Place<'_>, out: &mut Flaws) {
    if !both_inside(new, old) || is_headless(new) && is_headless(old) {
        return;
    }
    let (own, before) = (new.at("spec.clusterIPs"), old.at("spec.clusterIPs"));
    let first = own.index(0);
    let changed = |at: usize| own.index(at).text() != before.index(at).text();
    let once = "may not change once set";
    if own.count() == before.count() {
        for at in (0..own.count()).filter(|at| changed(*at)) {
            out.invalid_as(&own.index(at).path, &shown(own.value), once);
        }
    } else if own.count() < before.count() {
        if own.count() == 0 {
            out.invalid_as(&first.path, &shown(own.value), "primary clusterIP can not be unset");
        } else if changed(0) {
            out.invalid_as(&first.path, &shown(own.value), once);
        }
        if own.count() == 1 {
            released(new, "cluster IP", out);
        }
    } else if before.count() > 0 && changed(0) {
        out.invalid_as(&first.path, &shown(own.value), once);
    }
}

fn released(new: &Place<'_>, what: &str, out: &mut Flaws) {
    let policy = new.at("spec.ipFamilyPolicy");
    if policy.text() != "SingleStack" {
        let what = if what == "cluster IP" { "clusterIP" } else { what };
        out.invalid(&policy, &format!("must be set to 'SingleStack' when releasing the secondary {what}"));
    }
}

fn families_stay(new: &Place<'_>, old: &Place<'_>, out: &mut Flaws) {
    if !both_inside(new, old) || is_headless(new) || is_headless(old) {
        return;
    }
    let (own, before) = (new.at("spec.ipFamilies"), old.at("spec.ipFamilies"));
    let first = own.index(0);
    let changed = own.index(0).text() != before.index(0).text();
    let once = "may not change once set";
    if own.count() == before.count() {
        for at in 0..own.count() {
            if own.index(at).text() != before.index(at).text() {
                out.invalid_as(&first.path, &shown(own.value), once);
            }
        }
    } else if own.count() < before.count() {
        if new.at("spec.clusterIPs").count() == 0 {
            out.invalid_as(&first.path, &shown(own.value), "primary ipFamily can not be unset");
        }
        if own.count() > 0 && changed {
            out.invalid_as(&first.path, &shown(new.at("spec.clusterIPs").value), once);
        }
        if own.count() == 1 {
            released(new, "ipFamily", out);
        }
    } else if before.count() > 0 && changed {
        out.invalid_as(&first.path, &shown(new.at("spec.clusterIPs").value), once);
    }
}

/// The status of a service: what a balancer says of itself.
pub fn service_status(new: &Place<'_>, old: &Place<'_>, out: &mut Flaws) {
    let ingress = new.at("status.loadBalancer.ingress");
    if new.at("spec.type").text() != "LoadBalancer" && ingress.count() > 0 {
        return out.forbidden(&ingress, "may only be used when `spec.type` is 'LoadBalancer'");
    }
    let known: Vec<&str> =
        old.each("status.loadBalancer.ingress").iter().map(|one| one.at("ip").text()).collect();
    for one in ingress.items() {
        let (ip, mode) = (one.at("ip"), one.at("ipMode"));
        if !ip.text().is_empty() {
            addresses::address(&ip, &known, out);
        }
        match (mode.is(), ip.text().is_empty()) {
            (false, false) => out.required(&mode, "must be specified when `ip` is set"),
            (true, true) => out.forbidden(&mode, "may not be specified when `ip` is not set"),
            (true, false) if !matches!(mode.text(), "VIP" | "Proxy") => {
                out.unsupported(&mode, &["Proxy", "VIP"]);
            }
            _ => {}
        }
        hostname(&one.at("hostname"), out);
    }
}

/// A name that is no address.
pub fn hostname(place: &Place<'_>, out: &mut Flaws) {
    if !place.text().is_empty() {
        out.wrong(place, formats::subdomain(place.text()));
        if addresses::read(place.text()).is_some() {
            out.invalid_text(place, "must be a DNS name, not an IP address");
        }
    }
}

/// The controller of a class.
pub fn controller(place: &Place<'_>, out: &mut Flaws) {
    if place.text().len() > 250 {
        out.too_long(&place.path, 250);
    }
    domain_path(place, out);
}
