//! What an author makes of a chart: a project, the rights that its operator needs, and the manifests that run it.

use std::cell::RefCell;
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
use podium_deploy::object::{Object, json_to_node, parse_manifest};
use podium_gotmpl::{Heap, Limits, Value as Template, World};
use podium_goyaml::{Map, Pos, emit, yaml};
use podium_meta::{GroupVersionKind, Resource};
use podium_project::crd::{Names, Options};
use podium_project::name;
use podium_project::rbac::{self, Duties, Read, Rendered, Rules, Scope, rules};
use podium_project::watches::{FILE, Holder, Watch};
use podium_release::rendered::{BuildOptions, RenderedRelease};
use podium_release::stored_chart::StoredContent;
use serde_json::{Value, json};

use super::run::watches;
use crate::chart::crd::{generate, names};
use crate::chart::input::absolute;
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
        out.extend(parse_manifest(&text).with_context(|| file.display().to_string())?);
    }
    Ok(out)
}

/// The resource that a CRD defines.
fn defined(crd: &Value, version: &str) -> Option<Resource> {
    let text = |path: &str| crd.pointer(path).and_then(Value::as_str);
    Some(Resource {
        kind: GroupVersionKind::new(
            &format!("{}/{version}", text("/spec/group")?),
            text("/spec/names/kind")?,
        ),
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
    for watch in watches(file, true)?.entries {
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

/// The documents of files, each with the file that it is in.
fn documents(files: &[String]) -> Result<Vec<(&str, Map)>> {
    let mut all = Vec::new();
    for file in files {
        let text = std::fs::read(file).map_err(|error| anyhow!("{file} cannot be read: {error}"))?;
        for document in yaml::documents(&text) {
            let document = document.map_err(|e| anyhow!("{file}: {e}"))?;
            let map = yaml::parse_object(&document.text, 0).map_err(|e| anyhow!("{file}: {e}"))?;
            all.push((file.as_str(), map));
        }
    }
    Ok(all)
}

/// What a document says that it is; plain values say nothing.
fn kind_of(document: &Map) -> Option<&str> {
    document.get("kind").and_then(podium_goyaml::Node::as_str)
}

/// The values that a chart is rendered with: none, and those of the documents that are meant for it.
fn value_sets(part: &Part, documents: &[(&str, Map)]) -> Vec<Map> {
    let of = |(_, map): &(&str, Map)| match kind_of(map) {
        // A resource counts for its own kind, plain values for all.
        Some(kind) if kind != part.watch.kind.kind => None,
        Some(_) => Some(map.get("spec").and_then(podium_goyaml::Node::as_map).cloned().unwrap_or_default()),
        None => Some(map.clone()),
    };
    std::iter::once(Map::new()).chain(documents.iter().filter_map(of)).collect()
}

/// Says which resources are of a kind that the project does not have: nothing is rendered for them.
fn warn_of_strangers(parts: &[Part], documents: &[(&str, Map)]) {
    for (file, map) in documents {
        if let Some(kind) =
            kind_of(map).filter(|kind| !parts.iter().any(|part| part.watch.kind.kind == *kind))
        {
            complain(&format!(
                "Warning: {file}: {kind} is no kind of watches.yaml, so nothing is rendered for it"
            ));
        }
    }
}

/// Refuses what cannot be the name of an image.
pub fn check_image(image: &str) -> Result<()> {
    podium_oci::Reference::parse(image).map(drop).map_err(|error| anyhow!("--image: {error}"))
}

/// The namespace of releases whose place is not known yet.
const SOMEWHERE: &str = "namespace";
/// The annotation of hooks whose output is shown.
const OUTPUT: &str = "/metadata/annotations/helm.sh~1hook-output-log-policy";

/// A kind, a namespace and a name that a template looks up.
type Question = (GroupVersionKind, String, String);

/// A world without a cluster, which notes what templates look up in it.
struct Noting {
    machine: Machine,
    asked: RefCell<BTreeSet<Question>>,
}

impl World for Noting {
    fn now(&self) -> (i64, u32) {
        self.machine.now()
    }

    fn random(&self, buffer: &mut [u8]) {
        self.machine.random(buffer);
    }

    fn local_zone(&self) -> &str {
        self.machine.local_zone()
    }

    fn lookup<'h>(
        &self,
        heap: &'h Heap<'h>,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Template<'h>, String> {
        let question = (GroupVersionKind::new(api_version, kind), namespace.to_owned(), name.to_owned());
        self.asked.borrow_mut().insert(question);
        Ok(Template::Map(heap.map(Default::default())))
    }

    fn out_of_time(&self) -> bool {
        self.machine.out_of_time()
    }
}

/// What a chart renders with some values, and what it looks up meanwhile.
struct Made {
    objects: Vec<(rbac::Part, Object)>,
    asked: BTreeSet<Question>,
}

fn render(part: &Part, set: &Map, capabilities: &Capabilities) -> Result<Made> {
    let renderer = Renderer::new(part.chart.clone(), &HELM3);
    let facts = Release {
        name: "release".to_owned(),
        namespace: SOMEWHERE.to_owned(),
        is_upgrade: false,
        revision: 1,
    };
    let wrong = |error: podium_chart::renderer::Error| {
        anyhow!("the chart {}: {}", part.watch.chart, String::from_utf8_lossy(&error.text()))
    };
    let prepared = renderer.prepare(&Values::from_map(set, Pos::default())?, false).map_err(wrong)?;
    let machine = Machine::new(false, Some(std::time::Duration::from_secs(60)));
    let world = Noting { machine, asked: RefCell::default() };
    let files = renderer.render(&prepared, &facts, capabilities, &world, Limits::default()).map_err(wrong)?;
    let options =
        BuildOptions { dialect: &HELM3, stored: StoredContent::MetadataAndValues, all_notes: false };
    let draft =
        RenderedRelease::new(&prepared, files, &facts, set.clone(), options).map_err(|e| wrong(e.into()))?;
    let draft = draft.with_crds(&prepared)?;
    let of = |part: rbac::Part| move |object: Object| (part, object);
    let mut objects: Vec<_> =
        parse_manifest(&draft.manifest)?.into_iter().map(of(rbac::Part::Object)).collect();
    for hook in &draft.hooks {
        objects.extend(parse_manifest(&hook.manifest)?.into_iter().map(of(rbac::Part::Hook)));
    }
    objects.extend(draft.crds.into_iter().map(of(rbac::Part::Definition)));
    Ok(Made { objects, asked: world.asked.into_inner() })
}

/// Where objects of a kind are, if that is known without a cluster; else a guess, which is noted.
fn resource_of(kind: &GroupVersionKind, crds: &[Value], guessed: &mut BTreeSet<String>) -> Resource {
    let here = |resource: &Resource| resource.kind == *kind;
    podium_resources::usual(kind)
        .or_else(|| crds.iter().filter_map(|crd| defined(crd, &kind.version)).find(here))
        .unwrap_or_else(|| {
            guessed.insert(kind.to_string());
            Resource { kind: kind.clone(), plural: plural(&kind.kind), namespaced: true }
        })
}

/// The namespace of something that a chart names; nothing when it is where the release is.
fn elsewhere(namespace: &str) -> Option<String> {
    Some(namespace.to_owned()).filter(|namespace| namespace != SOMEWHERE)
}

/// Whether an object has pods; the selector of a Job is made by the server.
fn keeps_pods(object: &Object) -> bool {
    podium_kstatus::pod_selector(&object.body).is_some() || object.object_ref.kind.kind == "Job"
}

/// What is read because of an object: the pods that say why it is not ready, and what hooks have printed.
fn reads_for(part: rbac::Part, object: &Object) -> Vec<Read> {
    let pods = |plural: &str, verbs| Read {
        resource: Resource { plural: plural.to_owned(), ..Resource::core("Pod", "pods", true) },
        namespace: object.object_ref.namespace.as_deref().and_then(elsewhere),
        verbs,
    };
    let shown = part == rbac::Part::Hook && object.body.pointer(OUTPUT).is_some();
    let mut reads = Vec::new();
    if shown || part == rbac::Part::Object && keeps_pods(object) {
        reads.push(pods("pods", &["list"]));
    }
    if shown {
        reads.push(pods("pods/log", &["get"]));
    }
    reads
}

/// The least rights for everything that the charts of a project render.
fn needed(parts: &[Part], matches: &ArgMatches, namespace: &str) -> Result<Rules> {
    let mut capabilities = Capabilities::default();
    capabilities.api_versions.extend(list(matches, "api-versions"));
    let files = many(matches, "values");
    let documents = documents(&files)?;
    warn_of_strangers(parts, &documents);
    let mut objects = Vec::new();
    let mut reads = Vec::new();
    let mut guessed = BTreeSet::new();
    for part in parts {
        for set in value_sets(part, &documents) {
            let made = match render(part, &set, &capabilities) {
                // Charts may ask for values that they have no defaults for.
                Err(error) if set.is_empty() && !files.is_empty() => {
                    complain(&format!("Warning: without values: {error}"));
                    continue;
                }
                made => made?,
            };
            let crds: Vec<Value> = made.objects.iter().map(|(_, object)| object.body.clone()).collect();
            for (role, object) in made.objects {
                reads.extend(reads_for(role, &object));
                let resource = resource_of(&object.object_ref.kind, &crds, &mut guessed);
                let namespace = object.object_ref.namespace.as_deref().and_then(elsewhere);
                objects.push(Rendered { part: role, resource, namespace, object: object.body });
            }
            for (kind, namespace, name) in made.asked {
                reads.push(Read {
                    resource: resource_of(&kind, &crds, &mut guessed),
                    namespace: elsewhere(&namespace).filter(|namespace| !namespace.is_empty()),
                    verbs: if name.is_empty() { &["list"] } else { &["get"] },
                });
            }
        }
        for source in &part.watch.values_from {
            let resource = match source.kind {
                Holder::ConfigMap => Resource::core("ConfigMap", "configmaps", true),
                Holder::Secret => Resource::core("Secret", "secrets", true),
            };
            reads.push(Read { resource, namespace: None, verbs: &["get", "list", "watch"] });
        }
    }
    for kind in guessed {
        complain(&format!(
            "Warning: {kind} is not a kind of Kubernetes: its plural is guessed; check it in the rules"
        ));
    }
    let custom: Vec<Resource> = parts.iter().map(|part| part.resource.clone()).collect();
    let scope = match list(matches, "watch-namespace") {
        names if names.is_empty() => Scope::Cluster,
        names => Scope::Namespaces(names),
    };
    Ok(rules(&Duties { custom: &custom, objects: &objects, reads: &reads, scope, namespace }))
}

/// What the project of a `watches.yaml` is called, for whoever gives it no name with a flag.
pub fn project_name(matches: &ArgMatches, flag: &str) -> Result<String> {
    if let Some(name) = one(matches, flag) {
        return Ok(name.to_owned());
    }
    let file = absolute(one(matches, "watches-file").unwrap_or(FILE));
    let folder = file.parent().unwrap_or(Path::new("/"));
    let said = std::fs::read(folder.join(name::FILE)).ok();
    let own = folder.file_name().map(|own| own.to_string_lossy()).unwrap_or_default();
    name::of(said.as_deref(), &own).with_context(|| {
        format!("the folder {} cannot name the project: name it with --{flag}", folder.display())
    })
}

/// The name of the operator's objects.
fn operator_name(matches: &ArgMatches) -> Result<String> {
    let name = project_name(matches, "name")?;
    match name.len() <= 63 && podium_meta::names::is_subdomain(&name) {
        true => Ok(name),
        false => bail!("--name {name}: use small letters, digits and '-', at most 63 of them"),
    }
}

fn show(objects: &[Value]) -> Result<()> {
    let mut out = Vec::new();
    for object in objects {
        out.extend_from_slice(b"---\n");
        out.extend(emit::to_yaml(&&json_to_node(object.clone()))?);
    }
    print(&out)
}

/// `operator rbac`.
pub fn rbac(matches: &ArgMatches) -> Result<()> {
    let (_, parts) = parts(matches)?;
    let namespace = one(matches, "namespace").unwrap_or("default");
    let name = operator_name(matches)?;
    show(&needed(&parts, matches, namespace)?.objects(&name, namespace, &name))
}

/// What a project is, for who packages it.
pub struct Project {
    /// Its kinds.
    pub kinds: Vec<Kept>,
    /// The least rights of its operator.
    pub rules: Rules,
}

/// A kind of a project.
pub struct Kept {
    /// Who watches it.
    pub watch: Watch,
    /// Its CRD.
    pub crd: Value,
    /// The CRD that the chart's values would have, if the project has another one.
    pub values: Option<Value>,
}

/// Looks at a project; its operator is to run in this namespace.
pub fn project(matches: &ArgMatches, namespace: &str) -> Result<Project> {
    let (folder, parts) = parts(matches)?;
    let rules = needed(&parts, matches, namespace)?;
    let crds = own_crds(&folder)?;
    let mut kinds = Vec::new();
    for part in parts {
        let kind = &part.watch.kind;
        let own = crds
            .iter()
            .find(|crd| defined(&crd.body, &kind.version).is_some_and(|known| known.kind == *kind));
        let kept = match own {
            Some(crd) => {
                // Charts without a schema that a CRD can have say nothing beyond the CRD.
                let values = definition(&part, true).ok().filter(|values| values["spec"] != crd.body["spec"]);
                Kept { watch: part.watch, crd: crd.body.clone(), values }
            }
            None => Kept { crd: definition(&part, false)?, watch: part.watch, values: None },
        };
        kinds.push(kept);
    }
    Ok(Project { kinds, rules })
}

/// The CRD of a kind whose project has none.
fn definition(part: &Part, quiet: bool) -> Result<Value> {
    let kind = &part.watch.kind;
    let names = Names {
        group: kind.group.clone(),
        kind: kind.kind.clone(),
        plural: part.resource.plural.clone(),
        short: Vec::new(),
        cluster: false,
        versions: vec![kind.version.clone()],
    };
    let options = Options { closed: false, defaults: false };
    generate(&part.watch.chart, &part.chart, &names, options, quiet)
}

/// `operator manifests`.
pub fn manifests(matches: &ArgMatches) -> Result<()> {
    let Some(image) = one(matches, "image") else {
        bail!("--image is needed: the image with podium, watches.yaml and the charts below /opt/helm")
    };
    check_image(image)?;
    let (folder, parts) = parts(matches)?;
    let namespace = one(matches, "namespace").unwrap_or("default");
    let name = &operator_name(matches)?;
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
            objects.push(definition(part, false)?);
        }
    }
    objects.push(json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}}));
    objects.extend(needed(&parts, matches, namespace)?.objects(name, namespace, name));
    objects.push(deployment(name, namespace, image, &list(matches, "watch-namespace")));
    show(&objects)
}

/// The Deployment that runs an operator with few rights and little memory.
pub fn deployment(name: &str, namespace: &str, image: &str, watched: &[String]) -> Value {
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
    let chart = crate::chart::remote::locate_here(path)?
        .load(&HELM3)
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
    write(&folder.join("crds").join(&file), &emit::to_yaml(&&json_to_node(crd))?)?;
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
