//! Checks the dependencies between the crates of the workspace, as `cargo metadata` lists them: they point down the list of
//! layers, only `podium-client` uses `kube`, and the pure crates have no runtime, cluster or randomness.
//! `docs/architecture/README.md` describes the layers.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

/// The folders of `crates/`, highest first. A crate depends on crates of its own layer and of the layers below it.
const LAYERS: [&str; 14] = [
    "podium",
    "rig",
    "console",
    "inference",
    "cluster",
    "workloads",
    "operator",
    "olm",
    "helm",
    "oci",
    "controller",
    "net",
    "kubernetes",
    "lang",
];

/// Layers that no crate depends on: the binary, and what is never shipped.
const ROOTS: [&str; 2] = ["podium", "rig"];

/// Packages with a single user, and that user.
const RESTRICTED: [(&str, &str); 2] = [("kube", "podium-client"), ("k8s-openapi", "podium-client")];

/// Layers whose crates are pure functions of their arguments.
const PURE: [&str; 2] = ["kubernetes", "lang"];

/// Packages that a pure crate does not depend on: runtimes, clusters, randomness.
const IMPURE: [&str; 7] = ["fastrand", "getrandom", "k8s-openapi", "kube", "rand", "ring", "tokio"];

/// Pure crates that depend on an impure package, each with its reason.
const EXCEPTIONS: [(&str, &str, &str); 1] = [(
    "podium-rbac",
    "ring",
    "signs and verifies certificates and tokens; only making keys and serial numbers takes randomness",
)];

/// A package of the workspace.
struct Package {
    name: String,
    /// The folder below `crates/`; `None` for packages elsewhere, such as examples.
    layer: Option<String>,
    dependencies: Vec<Dependency>,
}

struct Dependency {
    name: String,
    /// `normal`, `build` or `dev`.
    kind: String,
    /// Whether the dependency is a path of the workspace.
    local: bool,
}

/// Reads the packages of `cargo metadata --no-deps`.
fn packages(metadata: &Value) -> Vec<Package> {
    let crates = Path::new(metadata["workspace_root"].as_str().unwrap()).join("crates");
    let layer = |manifest: &str| {
        let folder = Path::new(manifest).strip_prefix(&crates).ok()?;
        Some(folder.iter().next()?.to_str()?.to_owned())
    };
    let dependency = |value: &Value| Dependency {
        name: value["name"].as_str().unwrap().to_owned(),
        kind: value["kind"].as_str().unwrap_or("normal").to_owned(),
        local: value["path"].is_string(),
    };
    let package = |value: &Value| Package {
        name: value["name"].as_str().unwrap().to_owned(),
        layer: layer(value["manifest_path"].as_str().unwrap()),
        dependencies: value["dependencies"].as_array().unwrap().iter().map(dependency).collect(),
    };
    metadata["packages"].as_array().unwrap().iter().map(package).collect()
}

fn rank(layer: &str) -> Option<usize> {
    LAYERS.iter().position(|known| *known == layer)
}

/// Everything that breaks a rule, a sentence each. Dev-dependencies follow the same rules as the others.
fn violations(packages: &[Package], exceptions: &[(&str, &str, &str)]) -> Vec<String> {
    let mut found = Vec::new();
    for package in packages {
        let Some(layer) = &package.layer else { continue };
        let Some(own) = rank(layer) else {
            found.push(format!(
                "{}: crates/{layer} is not a layer; move the crate into one of [{}], or add the folder to LAYERS in \
                 crates/rig/tests/architecture.rs and to docs/architecture/README.md",
                package.name,
                LAYERS.join(", ")
            ));
            continue;
        };
        for dependency in &package.dependencies {
            let edge = format!(
                "{} (crates/{layer}): {} dependency on {}",
                package.name, dependency.kind, dependency.name
            );
            if let Some((name, user)) = RESTRICTED.iter().find(|(name, _)| *name == dependency.name)
                && package.name != *user
            {
                found.push(format!("{edge}: only {user} uses {name}; call {user} instead"));
            }
            let excepted = |(crate_name, impure, _): &&(&str, &str, &str)| {
                *crate_name == package.name && *impure == dependency.name
            };
            if PURE.contains(&layer.as_str())
                && IMPURE.contains(&dependency.name.as_str())
                && !exceptions.iter().any(|exception| excepted(&exception))
            {
                found.push(format!(
                    "{edge}: crates of crates/{layer} are pure; pass in what it gives as an argument"
                ));
            }
            if !dependency.local {
                continue;
            }
            let target = packages.iter().find(|package| package.name == dependency.name);
            let Some(target_layer) = target.and_then(|target| target.layer.as_deref()) else {
                found.push(format!("{edge}, which is not under crates/"));
                continue;
            };
            if ROOTS.contains(&target_layer) {
                found.push(format!("{edge}: no crate depends on crates/{target_layer}"));
            } else if rank(target_layer).is_some_and(|target| target < own) {
                found.push(format!("{edge} points up, to crates/{target_layer}; move the shared code down"));
            }
        }
    }
    for (name, impure, _) in exceptions {
        let used = |package: &&Package| {
            package.name == *name && package.dependencies.iter().any(|dependency| dependency.name == *impure)
        };
        if !packages.iter().any(|package| used(&package)) {
            found.push(format!("{name} does not depend on {impure}: remove the exception"));
        }
    }
    found
}

#[test]
fn dependencies_point_down() {
    let output = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline", "--locked"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let packages = packages(&serde_json::from_slice(&output.stdout).unwrap());
    let crates = packages.iter().filter(|package| package.layer.is_some()).count();
    assert!(crates > 20, "only {crates} crates found");
    let found = violations(&packages, &EXCEPTIONS);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// A workspace of the crates `(folder, name, [(dependency, kind)])`; dependencies called `podium-*` are local.
fn workspace(crates: &[(&str, &str, &[(&str, Option<&str>)])]) -> Vec<Package> {
    let dependency = |(name, kind): &(&str, Option<&str>)| {
        let path = name.starts_with("podium").then_some("/w");
        json!({"name": name, "kind": kind, "path": path})
    };
    let package = |(folder, name, dependencies): &(&str, &str, &[(&str, Option<&str>)])| {
        let dependencies: Vec<Value> = dependencies.iter().map(dependency).collect();
        json!({"name": name, "manifest_path": format!("/w/{folder}/Cargo.toml"), "dependencies": dependencies})
    };
    let list: Vec<Value> = crates.iter().map(package).collect();
    packages(&json!({"workspace_root": "/w", "packages": list}))
}

#[test]
fn accepts_dependencies_on_the_same_and_lower_layers() {
    let packages = workspace(&[
        ("crates/podium", "podium", &[("podium-chart", None), ("podium-meta", Some("build"))]),
        ("crates/rig", "podium-rig", &[("podium-chart", Some("dev")), ("tokio", None)]),
        ("crates/helm/chart", "podium-chart", &[("podium-meta", None)]),
        ("crates/helm/release", "podium-release", &[("podium-chart", None)]),
        ("crates/net/client", "podium-client", &[("kube", None), ("k8s-openapi", None)]),
        ("crates/kubernetes/meta", "podium-meta", &[("serde_json", None)]),
        ("examples/controller", "example", &[("podium-client", None)]),
    ]);
    assert_eq!(violations(&packages, &[]), [""; 0]);
}

#[test]
fn rejects_dependencies_that_point_up() {
    for kind in [None, Some("build"), Some("dev")] {
        let packages = workspace(&[
            ("crates/lang/gotmpl", "podium-gotmpl", &[("podium-chart", kind)]),
            ("crates/helm/chart", "podium-chart", &[]),
        ]);
        let kind = kind.unwrap_or("normal");
        let expected = format!(
            "podium-gotmpl (crates/lang): {kind} dependency on podium-chart points up, to crates/helm; move the shared code down"
        );
        assert_eq!(violations(&packages, &[]), [expected]);
    }
}

#[test]
fn rejects_dependencies_on_the_binary_and_the_rig() {
    let packages = workspace(&[
        ("crates/podium", "podium", &[("podium-rig", Some("dev"))]),
        ("crates/rig", "podium-rig", &[("podium", None)]),
    ]);
    let expected = [
        "podium (crates/podium): dev dependency on podium-rig: no crate depends on crates/rig",
        "podium-rig (crates/rig): normal dependency on podium: no crate depends on crates/podium",
    ];
    assert_eq!(violations(&packages, &[]), expected);
}

#[test]
fn rejects_unknown_folders_and_crates_outside() {
    let packages = workspace(&[
        ("crates/edge/runtime", "podium-runtime", &[]),
        ("crates/oci", "podium-oci", &[("podium-example", None)]),
        ("examples/example", "podium-example", &[]),
    ]);
    let found = violations(&packages, &[]);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[0].starts_with("podium-runtime: crates/edge is not a layer; move the crate"),
        "{}",
        found[0]
    );
    assert_eq!(
        found[1],
        "podium-oci (crates/oci): normal dependency on podium-example, which is not under crates/"
    );
}

#[test]
fn rejects_kube_outside_the_client() {
    let packages = workspace(&[("crates/operator/controller", "podium-operator", &[("kube", Some("dev"))])]);
    let expected = "podium-operator (crates/operator): dev dependency on kube: only podium-client uses kube; call \
                    podium-client instead";
    assert_eq!(violations(&packages, &[]), [expected]);
}

#[test]
fn rejects_impure_packages_without_an_exception() {
    let packages = workspace(&[
        ("crates/lang/sprig", "podium-sprig", &[("getrandom", None)]),
        ("crates/kubernetes/rbac", "podium-rbac", &[("ring", None)]),
    ]);
    let exceptions = [("podium-rbac", "ring", "keys"), ("podium-sprig", "tokio", "gone")];
    let expected = [
        "podium-sprig (crates/lang): normal dependency on getrandom: crates of crates/lang are pure; pass in what it gives \
         as an argument",
        "podium-sprig does not depend on tokio: remove the exception",
    ];
    assert_eq!(violations(&packages, &exceptions), expected);
}
