//! What an author makes of a chart: a project, the rights that its operator needs, and the manifests that run it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use clap::ArgMatches;
use podium_chart::capabilities::Capabilities;
use podium_chart::chart::Chart;
use podium_chart::dialect::HELM3;
use podium_chart::render::Release;
use podium_chart::renderer::Renderer;
use podium_chart::values::Values;
use podium_converge::object::{Object, plain, tree};
use podium_gotmpl::Limits;
use podium_goyaml::{Map, Pos, emit, yaml};
use podium_objects::{Kind, Resource};
use podium_project::crd::{Names, Options};
use podium_project::rbac::{Duties, Rendered, Rules, Scope, rules};
use podium_project::watches::{Holder, Watch};
use podium_release::draft::{Draft, Form};
use podium_release::stored::Extent;
use serde_json::{Value, json};

use super::run::watches;
use crate::chart::crd::{generate, names};
use crate::flag::{list, many, on, one};
use crate::output::{complain, print};
use crate::world::Machine;

/// A kind of a project with its chart.
struct Part {
    watch: Watch,
    chart: std::sync::Arc<Chart>,
    resource: Resource,
}

fn plural(kind: &str) -> String {
    format!("{}s", kind.to_lowercase())
}

/// The CRDs that a project keeps in `crds/`.
fn own_crds(folder: &Path) -> Result<Vec<Object>> {
    let mut out = Vec::new();
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder.join("crds"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    files.sort();
    for file in files {
        let text =
            std::fs::read_to_string(&file).with_context(|| format!("{} cannot be read", file.display()))?;
        out.extend(plain(&text).with_context(|| file.display().to_string())?);
    }
    Ok(out)
}

/// The resource that a CRD defines.
fn defined(crd: &Value, version: &str) -> Option<Resource> {
    let text = |path: &str| crd.pointer(path).and_then(Value::as_str);
    Some(Resource {
        kind: Kind::new(&format!("{}/{version}", text("/spec/group")?), text("/spec/names/kind")?),
        plural: text("/spec/names/plural")?.to_owned(),
        namespaced: text("/spec/scope")? == "Namespaced",
    })
}

fn parts(matches: &ArgMatches) -> Result<(PathBuf, Vec<Part>)> {
    let file = one(matches, "watches-file").unwrap_or("watches.yaml");
    let folder =
        Path::new(file).parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let crds = own_crds(folder)?;
    let mut parts = Vec::new();
    for watch in watches(file)?.entries {
        let chart = podium_chart::load::load(Path::new(&watch.chart), &HELM3)
            .map_err(|e| anyhow!("the chart {}: {e}", watch.chart))?
            .chart;
        let same = |resource: &Resource| {
            (&resource.kind.group, &resource.kind.kind) == (&watch.kind.group, &watch.kind.kind)
        };
        let known = crds.iter().filter_map(|crd| defined(&crd.body, &watch.kind.version)).find(same);
        let resource = known.unwrap_or_else(|| Resource {
            kind: watch.kind.clone(),
            plural: plural(&watch.kind.kind),
            namespaced: true,
        });
        parts.push(Part { watch, chart, resource });
    }
    Ok((folder.to_path_buf(), parts))
}

/// The values that a chart is rendered with: none, and those of the files that are meant for it.
fn value_sets(part: &Part, files: &[String]) -> Result<Vec<Map>> {
    let mut sets = vec![Map::new()];
    for file in files {
        let text = std::fs::read(file).with_context(|| format!("{file} cannot be read"))?;
        for document in yaml::documents(&text) {
            let document = document.map_err(|e| anyhow!("{file}: {e}"))?;
            let map = yaml::parse_object(&document.text, 0).map_err(|e| anyhow!("{file}: {e}"))?;
            match map.get("kind").and_then(podium_goyaml::Node::as_str) {
                // A resource counts for its own kind, plain values for all.
                Some(kind) if kind != part.watch.kind.kind => {}
                Some(_) => sets
                    .push(map.get("spec").and_then(podium_goyaml::Node::as_map).cloned().unwrap_or_default()),
                None => sets.push(map),
            }
        }
    }
    Ok(sets)
}

/// All objects that a chart renders with some values, hooks too.
fn render(part: &Part, set: &Map, capabilities: &Capabilities) -> Result<Vec<Object>> {
    let renderer = Renderer::new(part.chart.clone(), &HELM3);
    let facts = Release {
        name: "release".to_owned(),
        namespace: "namespace".to_owned(),
        is_upgrade: false,
        revision: 1,
    };
    let wrong = |error: podium_chart::renderer::Error| {
        anyhow!("the chart {}: {}", part.watch.chart, String::from_utf8_lossy(&error.text()))
    };
    let prepared = renderer.prepare(&Values::from_map(set, Pos::default())?, false).map_err(wrong)?;
    let world = Machine::new(false, Some(std::time::Duration::from_secs(60)));
    let files = renderer.render(&prepared, &facts, capabilities, &world, Limits::default()).map_err(wrong)?;
    let form = Form { dialect: &HELM3, extent: Extent::Slim, all_notes: false };
    let draft = Draft::new(&prepared, files, &facts, set.clone(), form).map_err(|e| wrong(e.into()))?;
    let draft = draft.with_crds(&prepared)?;
    let mut objects = plain(&draft.manifest)?;
    for hook in &draft.hooks {
        objects.extend(plain(&hook.manifest)?);
    }
    objects.extend(draft.crds);
    Ok(objects)
}

/// The least rights for everything that the charts of a project render.
fn needed(parts: &[Part], matches: &ArgMatches, namespace: &str) -> Result<Rules> {
    let mut capabilities = Capabilities::default();
    capabilities.api_versions.extend(list(matches, "api-versions"));
    let files = many(matches, "values");
    let mut objects = Vec::new();
    let mut guessed = BTreeSet::new();
    for part in parts {
        for set in value_sets(part, &files)? {
            let rendered = match render(part, &set, &capabilities) {
                // Charts may ask for values that they have no defaults for.
                Err(error) if set.is_empty() && !files.is_empty() => {
                    complain(&format!("Warning: without values: {error}"));
                    continue;
                }
                rendered => rendered?,
            };
            let crds: Vec<Value> = rendered.iter().map(|object| object.body.clone()).collect();
            for object in rendered {
                let kind = &object.named.kind;
                let here = |resource: &Resource| resource.kind == *kind;
                let resource = podium_kinds::usual(kind)
                    .or_else(|| crds.iter().filter_map(|crd| defined(crd, &kind.version)).find(here))
                    .unwrap_or_else(|| {
                        guessed.insert(kind.to_string());
                        Resource { kind: kind.clone(), plural: plural(&kind.kind), namespaced: true }
                    });
                objects.push(Rendered { resource, namespace: object.named.namespace, object: object.body });
            }
        }
    }
    for kind in guessed {
        complain(&format!(
            "Warning: {kind} is not a kind of Kubernetes: its plural is guessed; check it in the rules"
        ));
    }
    let custom: Vec<Resource> = parts.iter().map(|part| part.resource.clone()).collect();
    let mut reads = vec![Resource::core("Pod", "pods", true)];
    let sources = parts.iter().flat_map(|part| &part.watch.values_from);
    if sources.into_iter().any(|source| source.kind == Holder::ConfigMap) {
        reads.push(Resource::core("ConfigMap", "configmaps", true));
    }
    let scope = match list(matches, "watch-namespace") {
        names if names.is_empty() => Scope::Cluster,
        names => Scope::Namespaces(names),
    };
    Ok(rules(&Duties { custom: &custom, objects: &objects, reads: &reads, scope, namespace }))
}

fn operator_name(matches: &ArgMatches) -> &str {
    one(matches, "name").unwrap_or("chart-operator")
}

fn show(objects: &[Value]) -> Result<()> {
    let mut out = Vec::new();
    for object in objects {
        out.extend_from_slice(b"---\n");
        out.extend(emit::to_yaml(&&tree(object.clone()))?);
    }
    print(&out)
}

/// `operator rbac`.
pub fn rbac(matches: &ArgMatches) -> Result<()> {
    let (_, parts) = parts(matches)?;
    let namespace = one(matches, "namespace").unwrap_or("default");
    let name = operator_name(matches);
    show(&needed(&parts, matches, namespace)?.objects(name, namespace, name))
}

/// `operator manifests`.
pub fn manifests(matches: &ArgMatches) -> Result<()> {
    let Some(image) = one(matches, "image") else {
        bail!("--image is needed: the image with podium, watches.yaml and the charts below /opt/helm")
    };
    let (folder, parts) = parts(matches)?;
    let namespace = one(matches, "namespace").unwrap_or("default");
    let name = operator_name(matches);
    let mut objects: Vec<Value> = Vec::new();
    if namespace != "default" {
        objects.push(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}));
    }
    let crds = own_crds(&folder)?;
    objects.extend(crds.iter().map(|crd| crd.body.clone()));
    for part in &parts {
        let kind = &part.watch.kind;
        let there =
            crds.iter().filter_map(|crd| defined(&crd.body, &kind.version)).any(|known| known.kind == *kind);
        if !there {
            let names = Names {
                group: kind.group.clone(),
                kind: kind.kind.clone(),
                plural: part.resource.plural.clone(),
                short: Vec::new(),
                cluster: false,
                versions: vec![kind.version.clone()],
            };
            let options = Options { closed: false, defaults: false };
            objects.push(generate(&part.watch.chart, &part.chart, &names, options, false)?);
        }
    }
    objects.push(json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}}));
    objects.extend(needed(&parts, matches, namespace)?.objects(name, namespace, name));
    objects.push(deployment(name, namespace, image, &list(matches, "watch-namespace")));
    show(&objects)
}

/// The Deployment that runs an operator with few rights and little memory.
fn deployment(name: &str, namespace: &str, image: &str, watched: &[String]) -> Value {
    let labels = json!({"app.kubernetes.io/name": name, "app.kubernetes.io/component": "operator"});
    let probe = |path: &str| json!({"httpGet": {"path": path, "port": 8081}, "periodSeconds": 10});
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "serviceAccountName": name,
                    "securityContext": {"runAsNonRoot": true, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
                    "containers": [{
                        "name": "operator",
                        "image": image,
                        "workingDir": "/opt/helm",
                        "args": ["operator", "run", "--leader-elect", format!("--leader-election-id={name}")],
                        "env": [
                            {"name": "WATCH_NAMESPACE", "value": watched.join(",")},
                            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                        ],
                        "ports": [{"name": "metrics", "containerPort": 8080}, {"name": "probes", "containerPort": 8081}],
                        "livenessProbe": probe("/healthz"),
                        "readinessProbe": probe("/readyz"),
                        "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"memory": "128Mi"}},
                        "securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
                            "capabilities": {"drop": ["ALL"]}},
                    }],
                },
            },
        },
    })
}

fn write(path: &Path, data: &[u8]) -> Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).with_context(|| format!("{} cannot be made", parent.display()))?;
    }
    std::fs::write(path, data).with_context(|| format!("{} cannot be written", path.display()))
}

/// `operator init`.
pub fn init(matches: &ArgMatches) -> Result<()> {
    let args = many(matches, "args");
    let (path, folder) = match args.as_slice() {
        [chart] => (chart, Path::new(".")),
        [chart, folder] => (chart, Path::new(folder)),
        _ => bail!(
            "\"podium operator init\" requires 1 or 2 arguments\n\nUsage:  podium operator init CHART [FOLDER] --group GROUP --kind KIND"
        ),
    };
    let names = names(matches)?;
    crate::chart::input::locate(path)?;
    let chart = podium_chart::load::load(Path::new(path), &HELM3)
        .map_err(|e| anyhow!("the chart {path}: {e}"))?
        .chart;
    let watches = folder.join("watches.yaml");
    if watches.exists() {
        bail!("{} is there already: add the kind to it by hand, or choose another folder", watches.display());
    }
    let options = Options { closed: on(matches, "closed"), defaults: false };
    let crd = generate(path, &chart, &names, options, on(matches, "quiet"))?;
    let name = &chart.metadata.name;
    let (group, kind) = (&names.group, &names.kind);
    let version = names.versions.first().map(String::as_str).unwrap_or("v1alpha1");
    for file in &chart.raw {
        write(&folder.join("helm-charts").join(name).join(file.name.as_ref()), &file.data)?;
    }
    let entry =
        format!("- group: {group}\n  version: {version}\n  kind: {kind}\n  chart: helm-charts/{name}\n");
    write(&watches, entry.as_bytes())?;
    let file = format!("{}.{group}.yaml", names.plural);
    write(&folder.join("crds").join(&file), &emit::to_yaml(&&tree(crd))?)?;
    let example = format!(
        "# All values of the chart can be set here; those that are left out have the chart's defaults.\n\
         apiVersion: {group}/{version}\nkind: {kind}\nmetadata:\n  name: example\nspec: {{}}\n"
    );
    let example_file = format!("{}.yaml", kind.to_lowercase());
    write(&folder.join("examples").join(&example_file), example.as_bytes())?;
    print(
        format!(
            "A project for {kind} is in {}:\n  watches.yaml\n  helm-charts/{name}\n  crds/{file}\n  examples/{example_file}\n\n\
             Next, there:\n  kubectl apply -f crds\n  podium operator run --reload\n  kubectl apply -f examples\n",
            folder.display()
        )
        .as_bytes(),
    )
}
