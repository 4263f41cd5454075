//! How long a Deployment takes, here and there.

use std::time::Instant;

use podium_fieldmanager::managed::{self, OneVersion, Scope};
use podium_schema::from_openapi;
use podium_schema::shape::Shapes;
use serde_json::{Value, json};

use crate::probe::Probe;

/// The nanoseconds that this thread has run, which do not depend on what else runs; the clock where they are not told.
fn spent(begin: Instant) -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let told = text.split(' ').next().and_then(|word| word.parse().ok());
    told.unwrap_or_else(|| begin.elapsed().as_nanos() as f64)
}

fn deployment() -> Value {
    let container = |name: &str| {
        json!({
            "name": name, "image": "registry/app:1", "args": ["--port=80", "--verbose"],
            "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}, {"name": "C", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
            "ports": [{"containerPort": 80, "name": "http"}, {"containerPort": 443, "name": "https"}],
            "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "100m", "memory": "128Mi"}},
            "volumeMounts": [{"name": "data", "mountPath": "/data"}, {"name": "config", "mountPath": "/etc/app"}],
            "livenessProbe": {"httpGet": {"path": "/healthz", "port": 80}, "periodSeconds": 10},
            "securityContext": {"runAsNonRoot": true, "capabilities": {"drop": ["ALL"]}},
        })
    };
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default", "labels": {"app": "web", "tier": "front"}, "annotations": {"note": "x"}},
        "spec": {
            "replicas": 3, "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {
                    "containers": [container("app"), container("sidecar")],
                    "volumes": [{"name": "data", "emptyDir": {}}, {"name": "config", "configMap": {"name": "web"}}],
                    "serviceAccountName": "web", "tolerations": [{"key": "a", "operator": "Exists"}],
                },
            },
        },
    })
}

#[test]
#[ignore = "needs the original: make tools"]
fn speed_of_a_deployment() {
    let mut probe = Probe::start();
    let mut shapes = Shapes::default();
    let names = from_openapi(&mut shapes, [&probe.schemas()]);
    let versions =
        OneVersion { version: "apps/v1", shape: names["io.k8s.api.apps.v1.Deployment"], filter: None };
    let scope = Scope {
        shapes: &shapes,
        versions: &versions,
        version: "apps/v1",
        kind: "Deployment",
        subresource: "",
        now: "2026-01-01T00:00:00Z",
    };
    let config = deployment();
    let mut live = managed::apply(&scope, None, &config, "one", false).unwrap().object;
    live["metadata"]["uid"] = json!("u");
    live["status"] = json!({"replicas": 3, "conditions": [{"type": "Available", "status": "True"}]});
    let mut scaled = live.clone();
    scaled["status"]["replicas"] = json!(2);
    live = managed::update(&scope, Some(&live), scaled, "controller").unwrap();
    let mut changed = config.clone();
    changed["spec"]["template"]["spec"]["containers"][0]["image"] = json!("registry/app:2");
    let mut dropped = changed.clone();
    dropped["spec"]["template"]["spec"]["containers"][1]["env"].as_array_mut().unwrap().pop();
    let mut patched = live.clone();
    patched["spec"]["replicas"] = json!(5);
    let time = |name: &str, run: &dyn Fn()| {
        let rounds = u32::try_from(crate::number("PODIUM_ROUNDS", 2000)).unwrap();
        for _ in 0..rounds / 10 {
            run();
        }
        let clock = Instant::now();
        let begin = spent(clock);
        for _ in 0..rounds {
            run();
        }
        eprintln!("{name}: {:.1} µs", (spent(clock) - begin) / 1e3 / f64::from(rounds));
    };
    time("apply, nothing new", &|| drop(managed::apply(&scope, Some(&live), &config, "one", false).unwrap()));
    time("apply, another image", &|| {
        drop(managed::apply(&scope, Some(&live), &changed, "one", false).unwrap())
    });
    time("apply, one variable less", &|| {
        drop(managed::apply(&scope, Some(&live), &dropped, "one", false).unwrap())
    });
    time("create by apply", &|| drop(managed::apply(&scope, None, &config, "one", false).unwrap()));
    time("update of one field", &|| {
        drop(managed::update(&scope, Some(&live), patched.clone(), "two").unwrap())
    });
    time("clone of the object", &|| drop(live.clone()));
    for (name, op, key, value) in [
        ("apply, nothing new", "apply", "config", &config),
        ("apply, another image", "apply", "config", &changed),
        ("apply, one variable less", "apply", "config", &dropped),
        ("update of one field", "update", "new", &patched),
    ] {
        let request = json!({"op": op, "apiVersion": "apps/v1", "kind": "Deployment", "manager": "one", "live": live, key: value, "rounds": 500});
        eprintln!("the original, {name}: {:.1} µs", probe.ask_all(&request)["micros"].as_f64().unwrap());
    }
}
