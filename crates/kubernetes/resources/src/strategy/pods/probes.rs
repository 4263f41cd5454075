//! Probes of containers, and what is done when they start and stop.

use serde_json::Value;

use super::super::formats;
use super::super::place::{Flaws, Place};
use super::super::rules::one_of;
use super::Scene;

/// The probes and handlers of a container that stays.
pub fn of_container(scene: &Scene<'_>, container: &Place<'_>, out: &mut Flaws) {
    for key in ["lifecycle.postStart", "lifecycle.preStop"] {
        if container.has(key) {
            handler(scene, &container.at(key), out);
        }
    }
    let signal = container.at("lifecycle.stopSignal");
    if signal.is() && !scene.spec.has("os") {
        out.forbidden(&signal, "may not be set for containers with empty `spec.os.name`");
    }
    for (key, once) in [("livenessProbe", true), ("readinessProbe", false), ("startupProbe", true)] {
        let place = container.at(key);
        if !place.is() {
            continue;
        }
        probe(scene, &place, out);
        if once && place.at("successThreshold").number() != 1 {
            out.invalid_number(&place.at("successThreshold"), "must be 1");
        }
        let grace = place.at("terminationGracePeriodSeconds");
        if !once && grace.is() {
            out.invalid(&grace, "must not be set for readinessProbes");
        }
    }
}

fn probe(scene: &Scene<'_>, place: &Place<'_>, out: &mut Flaws) {
    handler(scene, place, out);
    for key in
        ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"]
    {
        out.not_negative(&place.at(key));
    }
    let grace = place.at("terminationGracePeriodSeconds");
    if grace.is() && grace.number() <= 0 {
        out.invalid_number(&grace, "must be greater than 0");
    }
}

fn handler(scene: &Scene<'_>, place: &Place<'_>, out: &mut Flaws) {
    let kinds = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"];
    let found: Vec<&str> = kinds.into_iter().filter(|key| place.has(key)).collect();
    for (at, key) in found.iter().enumerate() {
        let field = place.at(key);
        if at > 0 {
            out.forbidden(&field, "may not specify more than 1 handler type");
            continue;
        }
        match *key {
            "exec" if field.at("command").count() == 0 => out.required(&field.at("command"), ""),
            "httpGet" => get(&field, out),
            "tcpSocket" | "grpc" => port(&field.at("port"), out),
            "sleep" => sleep(scene, &field, out),
            _ => {}
        }
    }
    if found.is_empty() {
        out.required(place, "must specify a handler type");
    }
}

fn get(place: &Place<'_>, out: &mut Flaws) {
    if place.at("path").text().is_empty() {
        out.required(&place.at("path"), "");
    }
    port(&place.at("port"), out);
    let scheme = place.at("scheme");
    if !matches!(scheme.text(), "HTTP" | "HTTPS") {
        out.unsupported(&scheme, &["HTTP", "HTTPS"]);
    }
    for header in place.each("httpHeaders") {
        let name = header.at("name").moved(place.child("httpHeaders"));
        out.wrong(&name, formats::header(name.text()));
    }
}

/// A port by its number or by its name.
pub fn port(place: &Place<'_>, out: &mut Flaws) {
    match place.value {
        Value::String(text) => out.wrong(place, formats::port_name(text)),
        _ => formats::port(place.number()).iter().for_each(|detail| out.invalid_number(place, detail)),
    }
}

fn sleep(scene: &Scene<'_>, place: &Place<'_>, out: &mut Flaws) {
    let Some(grace) = scene.grace() else { return };
    let seconds = place.at("seconds").number();
    if seconds < 0 || seconds > grace {
        let detail = format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
        out.invalid_as(&place.path, &seconds.to_string(), &detail);
    }
}

/// The policy of an image that a volume is made of.
pub fn pull_policy(place: &Place<'_>, out: &mut Flaws) {
    one_of(place, &["Always", "IfNotPresent", "Never"], out);
}
