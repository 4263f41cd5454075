//! Requests that are wrong in themselves, and those about the server.

use serde_json::json;

use super::run::Runner;
use super::sequence::Sequence;
use super::wire::{self, Body, Request};
use crate::random::Random;

const AGGREGATED: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

/// Bodies that are no objects.
const BODIES: &[&str] = &[
    "",
    "{",
    "[]",
    "null",
    "1",
    "\"x\"",
    "{\"kind\":1}",
    "{\"kind\":\"Foo\",\"apiVersion\":\"v1\"}",
    "{\"apiVersion\":\"v2\"}",
    "{\"metadata\":[]}",
    "{\"metadata\":{\"name\":\"x\"},\"metadata\":{}}",
    "a: b: c",
    "- x",
    "{\"a\":\u{7f}}",
    "{\"metadata\":{\"name\":\"x\"}} trailing",
];

const TYPES: &[&str] = &[
    "application/json",
    "application/yaml",
    "text/plain",
    "application/json; charset=utf-8",
    "application/x-www-form-urlencoded",
    "nonsense",
    "application/cbor",
    "application/merge-patch+json",
    "application/json-patch+json",
    "application/apply-patch+yaml",
    "application/apply-patch+cbor",
];

/// A request that a careful client would not send.
pub fn request(random: &mut Random, sequence: &Sequence<'_, '_>) -> Request {
    let name = sequence.names.get(random.below(sequence.names.len())).cloned().unwrap_or_default();
    let (all, one) = (sequence.collection(), sequence.object(&name));
    let place = if random.chance(50) { all.clone() } else { one.clone() };
    let sent = |method: &str, place: String, kind: &str, text: &str| {
        let mut request = Request::new(method, place).header("Content-Type", kind);
        request.body = Body::Text(text.to_owned());
        request
    };
    match random.below(12) {
        0 => sent("POST", all, random.pick(TYPES), random.pick(BODIES)),
        1 => sent("PUT", one, random.pick(TYPES), random.pick(BODIES)),
        2 => sent("PATCH", one, random.pick(TYPES), random.pick(BODIES)).with("fieldManager", "m"),
        3 => sent("DELETE", one, random.pick(TYPES), random.pick(BODIES)).with("dryRun", "All"),
        4 => Request::new(random.pick(&["POST", "PUT", "PATCH", "HEAD", "OPTIONS"]), place),
        5 => Request::get(format!("{one}/{}", random.pick(&["nope", "status", "scale", "status/x", ""]))),
        6 => Request::get(format!("{all}x")),
        7 => Request::get(all.replace("/v1/", "/v9/")),
        8 => Request::post(all, json!({"apiVersion": "v1", "kind": "Foo", "metadata": {"name": name}})),
        9 => {
            let mut seed = sequence.seed(&name);
            let kinds = [
                ("apiVersion", "apps/v1beta1"),
                ("kind", "Secret"),
                ("kind", ""),
                ("apiVersion", ""),
                ("kind", "Foo"),
            ];
            let (key, value) = kinds.get(random.below(kinds.len())).copied().unwrap_or_default();
            seed[key] = value.into();
            if random.chance(50) { Request::post(all, seed) } else { Request::put(one, seed) }
        }
        10 => sequence
            .selected(Request::get(all))
            .with(random.pick(&["foo", "timeout", "pretty", ""]), random.pick(&["", "32s", "x"])),
        _ => {
            let mut request = Request::post(all, sequence.seed(&name)).with("dryRun", "All");
            request.headers.clear();
            request
        }
    }
}

/// Discovery and what else is about no object.
pub fn discovery(runner: &mut Runner<'_>) -> Result<(), wire::Error> {
    let mut paths: Vec<String> = [
        "/api",
        "/apis",
        "/api/v1",
        "/apis/",
        "/api/",
        "/openapi/v3",
        "/version/x",
        "/nope",
        "/apis/nope",
        "/apis/apps/v9",
        "/api/v2",
        "/api/v1/nope",
        "/apis/apps/v1/nope/x",
        "/api/v1/namespaces/default/nope",
        "/healthz",
        "/livez",
        "/readyz",
    ]
    .map(str::to_owned)
    .to_vec();
    for subject in &runner.subjects {
        if let Some((group, _)) = subject.api_version.split_once('/') {
            paths.push(format!("/apis/{group}"));
            paths.push(format!("/apis/{}", subject.api_version));
        }
    }
    paths.sort();
    paths.dedup();
    for path in paths {
        runner.step("Discovery", "get", &Request::get(path))?;
    }
    for path in ["/api", "/apis"] {
        runner.step("Discovery", "get", &Request::get(path).header("Accept", AGGREGATED))?;
        runner.step("Discovery", "get", &Request::get(path).header("Accept", "application/yaml"))?;
        runner.step("Discovery", "post", &Request::post(path, json!({})))?;
    }
    runner.step("Discovery", "post", &Request::post("/healthz", json!({})))?;
    Ok(())
}
