//! The way of an author, from a chart to an operator in a cluster: `operator init`, `chart crd`, `operator manifests`,
//! `kubectl apply`; and then the operator runs as the service account that the manifests make. What it may do is enough,
//! and nothing of it is too much: every right is used.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use http::Method;
use podium_client::{Client, ClientConfig};
use podium_rig::cluster::admin::Admin;
use podium_rig::cluster::{Cluster, Controllers, Options, run};
use podium_rig::proxy::{Asked, Proxy};
use podium_rig::tools;
use serde_json::{Value, json};

const GROUP: &str = "authors.podium.dev";
const PATIENCE: Duration = Duration::from_secs(90);

static CLUSTER: LazyLock<Cluster> = LazyLock::new(|| {
    let options = Options {
        controllers: Controllers::Workloads,
        node: true,
        strict_owners: true,
        ..Options::default()
    };
    Cluster::with(options).unwrap_or_else(|error| panic!("{error}"))
});

/// A right: where (nothing is everywhere), group, resource, name (nothing is all), verb.
type Right = (Option<String>, String, String, String, String);

/// An author with a chart.
struct Author {
    name: &'static str,
    kind: &'static str,
    folder: PathBuf,
    /// The namespaces that are watched; none is all.
    watched: &'static [&'static str],
}

fn admin() -> &'static Admin {
    CLUSTER.admin()
}

fn until<T>(what: &str, mut look: impl FnMut() -> Result<T, String>) -> T {
    let begin = Instant::now();
    loop {
        match look() {
            Ok(found) => return found,
            Err(seen) if begin.elapsed() > PATIENCE => panic!("waited in vain for {what}: {seen}"),
            Err(_) => std::thread::sleep(Duration::from_millis(150)),
        }
    }
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// An object: `configmap/name`.
fn find(object: &str, namespace: &str) -> Option<Value> {
    let (resource, name) = object.split_once('/').unwrap();
    admin().find(resource, namespace, name).unwrap()
}

fn delete(object: &str, namespace: &str) {
    let (resource, name) = object.split_once('/').unwrap();
    admin().delete(resource, namespace, name).unwrap();
}

/// Waits until an object exists that is another one than before.
fn returns(object: &str, namespace: &str, before: &Value) {
    until(object, || match find(object, namespace) {
        Some(now) if now["metadata"]["uid"] != before["metadata"]["uid"] => Ok(()),
        seen => Err(format!("{seen:?}")),
    });
}

/// A process of the operator as the account, and what it asks for.
struct Running<'a> {
    author: &'a Author,
    proxy: Proxy,
    log: PathBuf,
}

impl Author {
    /// Makes a project of a chart, and applies its manifests.
    fn begin(
        name: &'static str,
        kind: &'static str,
        chart: &Path,
        watched: &'static [&'static str],
        example: &Value,
    ) -> Self {
        let folder = CLUSTER.folder().join("authors").join(name);
        let author = Self { name, kind, folder, watched };
        let chart = chart.to_str().unwrap();
        let names = ["--group", GROUP, "--kind", kind];
        author
            .podium(&[&["operator", "init", chart, author.path("").to_str().unwrap()], &names[..]].concat());
        let crd = author.podium(&[&["chart", "crd", chart], &names[..]].concat());
        let plural = author.plural();
        let file = author.path(&format!("crds/{plural}.{GROUP}.yaml"));
        assert_eq!(std::fs::read_to_string(file).unwrap(), crd, "init and crd make the same definition");
        write(&author.path("examples/more.yaml"), &example.to_string());
        author
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.join(path)
    }

    fn plural(&self) -> String {
        format!("{}s.{GROUP}", self.kind.to_lowercase()).split_once('.').unwrap().0.to_owned()
    }

    /// Runs a command in the folder of the project.
    fn podium(&self, args: &[&str]) -> String {
        std::fs::create_dir_all(&self.folder).unwrap();
        run(tools::quiet_command(&tools::podium().unwrap()).args(args).current_dir(&self.folder)).unwrap()
    }

    fn manifests(&self) -> String {
        let watched = self.watched.join(",");
        let mut args =
            vec!["operator", "manifests", "--image", "image:1", "-n", self.name, "--name", self.name];
        args.extend(["-f", "examples/more.yaml"]);
        if !watched.is_empty() {
            args.extend(["--watch-namespace", &watched]);
        }
        self.podium(&args)
    }

    /// Applies the manifests, and starts the operator as they say.
    fn install(&self) -> Running<'_> {
        admin().apply("default", &self.manifests()).unwrap();
        CLUSTER.established(&format!("{}.{GROUP}", self.plural())).unwrap();
        // The server knows the new kind as an owner only after a while. It asks whether the account may set it.
        let account = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let config = ClientConfig {
            kubeconfig: Some(CLUSTER.kubeconfig().to_owned()),
            as_user: Some(format!("system:serviceaccount:{0}:{0}", self.name)),
            ..ClientConfig::default()
        };
        let client = account.block_on(Client::new(&config)).unwrap();
        until("a server that knows the kind", || {
            let owner = json!([{"apiVersion": format!("{GROUP}/v1alpha1"), "kind": self.kind, "name": "x", "uid": "x",
                "blockOwnerDeletion": true}]);
            let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "try", "namespace": self.name, "ownerReferences": owner}});
            let body = Some(("application/json", object.to_string().into_bytes()));
            let path = format!("/api/v1/namespaces/{}/configmaps?dryRun=All", self.name);
            let answer = account.block_on(client.request(Method::POST, &path, body));
            answer.map(drop).map_err(|error| error.to_string())
        });
        self.run()
    }

    fn run(&self) -> Running<'_> {
        let token = admin().token(self.name, self.name).unwrap();
        let proxy = Proxy::of_user(&CLUSTER, &token).unwrap();
        let deployment = admin().find("deployments", self.name, self.name).unwrap().unwrap();
        let container = &deployment["spec"]["template"]["spec"]["containers"][0];
        let log = self.path("log");
        let out = std::fs::OpenOptions::new().create(true).append(true).open(&log).unwrap();
        let mut command = tools::quiet_command(&tools::podium().unwrap());
        command.args(container["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()));
        // In a pod, the namespace is that of the pod, and the ports are its own.
        command.args(["-n", self.name, "--metrics-bind-address=0", "--health-probe-bind-address=0"]);
        for variable in container["env"].as_array().unwrap() {
            if let Some(value) = variable["value"].as_str() {
                command.env(variable["name"].as_str().unwrap(), value);
            }
        }
        command.env("KUBECONFIG", proxy.kubeconfig()).current_dir(&self.folder).stdin(Stdio::null());
        command.stdout(out.try_clone().unwrap()).stderr(out);
        proxy.run(&mut command).unwrap();
        let running = Running { author: self, proxy, log };
        running.says("all kinds are watched");
        running
    }

    fn apply(&self, namespace: &str, spec: &Value) {
        let object = json!({"apiVersion": format!("{GROUP}/v1alpha1"), "kind": self.kind,
            "metadata": {"name": "example", "namespace": namespace}, "spec": spec});
        admin().apply(namespace, &object.to_string()).unwrap();
    }

    fn resource(&self) -> String {
        format!("{}.{GROUP}/example", self.plural())
    }

    /// The rights that the manifests give.
    fn rights(&self) -> BTreeSet<Right> {
        let mut rights = BTreeSet::new();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let texts =
            |value: &Value| -> Vec<String> { value.as_array().into_iter().flatten().map(text).collect() };
        for kind in ["roles", "clusterroles"] {
            let roles = admin().list(kind, "", "").unwrap();
            for role in roles.iter().filter(|role| role["metadata"]["name"] == self.name) {
                let place = role["metadata"]["namespace"].as_str().map(str::to_owned);
                for rule in role["rules"].as_array().unwrap() {
                    let mut names = texts(&rule["resourceNames"]);
                    if names.is_empty() {
                        names.push(String::new());
                    }
                    for group in texts(&rule["apiGroups"]) {
                        for resource in texts(&rule["resources"]) {
                            for name in &names {
                                for verb in texts(&rule["verbs"]) {
                                    let right =
                                        (place.clone(), group.clone(), resource.clone(), name.clone(), verb);
                                    rights.insert(right);
                                }
                            }
                        }
                    }
                }
            }
        }
        assert!(!rights.is_empty());
        rights
    }
}

impl Running<'_> {
    fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    fn tail(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    fn says(&self, text: &str) {
        until(text, || if self.log().contains(text) { Ok(()) } else { Err(self.tail()) });
    }

    /// Waits until the resource is deployed as some revision.
    fn deployed(&self, namespace: &str, revision: i64) {
        until(&format!("revision {revision}"), || {
            let status = find(&self.author.resource(), namespace).unwrap()["status"].clone();
            let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
            let good = |c: &Value| c["type"] == "Deployed" && c["status"] == "True";
            let failed = |c: &Value| c["type"] == "ReleaseFailed" || c["type"] == "Irreconcilable";
            match status["deployedRelease"]["revision"] == revision
                && conditions.iter().any(good)
                && !conditions.iter().any(failed)
            {
                true => Ok(()),
                false => Err(format!("{status}\n{}", self.tail())),
            }
        });
    }

    /// Somebody deletes an object, twice: it comes back. Events of the same kind are counted, not repeated; the second
    /// deletion comes when the first Event is written, so that it has to be raised.
    fn heals(&self, namespace: &str, object: &str) {
        let name = object.rsplit('/').next().unwrap();
        for times in 1..=2 {
            let before = find(object, namespace).unwrap();
            delete(object, namespace);
            returns(object, namespace, &before);
            until(&format!("an Event of {name}, {times} times"), || {
                let events = admin().list("events", namespace, "").unwrap();
                let counted = |e: &Value| {
                    let message = e["message"].as_str().unwrap_or_default();
                    e["reason"] == "Repaired"
                        && message.contains(&format!("/{name} was"))
                        && e["count"].as_i64() >= Some(times)
                };
                if events.iter().any(counted) { Ok(()) } else { Err(self.tail()) }
            });
        }
    }

    /// The resource goes, and with it everything that was made for it.
    fn goes(&self, namespaces: &[&str], kinds: &[&str]) {
        delete(&self.author.resource(), namespaces[0]);
        until("the end of the resource", || match find(&self.author.resource(), namespaces[0]) {
            None => Ok(()),
            Some(_) => Err(self.tail()),
        });
        for namespace in namespaces {
            for kind in kinds.iter().chain(&["secrets"]) {
                let label = "helm.sdk.operatorframework.io/chart";
                until(&format!("the end of {kind}"), || {
                    let left = admin().list(kind, namespace, label).unwrap();
                    if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
                });
            }
        }
    }

    /// Tells it to end, and gives what it used of its rights.
    fn stop(self) -> BTreeSet<Right> {
        let log = self.log();
        assert!(!log.contains("forbidden"), "{log}");
        let id = self.proxy.id().unwrap().to_string();
        run(std::process::Command::new("kill").arg(id)).unwrap();
        until("the end of the operator", || match self.proxy.ended() {
            Some(_) => Ok(()),
            None => Err(self.tail()),
        });
        let asked = self.proxy.asked();
        let refused: Vec<&Asked> = asked.iter().filter(|(_, _, status)| *status == 403).collect();
        assert!(refused.is_empty(), "{refused:#?}");
        asked.iter().flat_map(used).collect()
    }
}

/// The rights that a request needs.
fn used((method, uri, status): &Asked) -> Vec<Right> {
    let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let (group, rest) = match parts.as_slice() {
        ["api", _, rest @ ..] => ("", rest),
        ["apis", group, _, rest @ ..] => (*group, rest),
        _ => return Vec::new(),
    };
    let (place, rest) = match rest {
        ["namespaces", place, rest @ ..] if !rest.is_empty() => (Some((*place).to_owned()), rest),
        rest => (None, rest),
    };
    let (resource, name) = match rest {
        [] => return Vec::new(),
        [resource] => ((*resource).to_owned(), String::new()),
        [resource, name] => ((*resource).to_owned(), (*name).to_owned()),
        [resource, name, below @ ..] => (format!("{resource}/{}", below.join("/")), (*name).to_owned()),
    };
    let verbs: &[&str] = match method.as_str() {
        "GET" if query.contains("watch=true") || query.contains("watch=1") => &["watch"],
        "GET" if name.is_empty() => &["list"],
        "GET" => &["get"],
        "POST" => &["create"],
        "PUT" => &["update"],
        // What is applied and not there is made.
        "PATCH" if *status == 201 => &["patch", "create"],
        "PATCH" => &["patch"],
        "DELETE" => &["delete"],
        _ => &[],
    };
    let right =
        |verb: &&str| (place.clone(), group.to_owned(), resource.clone(), name.clone(), (*verb).to_owned());
    verbs.iter().map(right).collect()
}

/// Every right was used, but for those that are listed.
fn assert_least(rights: &BTreeSet<Right>, used: &BTreeSet<Right>, but: &[(&str, &str)]) {
    let is_used = |right: &Right| {
        let (place, group, resource, name, verb) = right;
        used.iter().any(|(p, g, r, n, v)| {
            (g, r, v) == (group, resource, verb)
                && (place.is_none() || p == place)
                && (name.is_empty() || n == name)
        })
    };
    let listed = |(_, _, resource, _, verb): &Right| but.contains(&(resource.as_str(), verb.as_str()));
    let useless: Vec<&Right> = rights.iter().filter(|right| !listed(right) && !is_used(right)).collect();
    assert!(useless.is_empty(), "rights that nobody used: {useless:#?}");
    // What is listed is there, and was not used: else it need not be listed.
    for (resource, verb) in but {
        let of = |right: &&Right| right.2 == *resource && right.4 == *verb;
        assert!(rights.iter().filter(of).any(|right| !is_used(right)), "{resource} {verb} is listed in vain");
    }
}

fn stack_chart() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../stacks/inference/helm-charts/inference-stack")
}

/// The owner of objects needs this right where a cluster checks it; that is no request.
const OWNER: &str = "update";

#[test]
fn the_inference_stack_runs_with_the_rights_that_were_computed() {
    let spec = |model: &str| {
        json!({"applications": {"hello": {"readerConfig": {"modelName": model},
            "podAnnotations": {"rig.podium/ready": "false"}}}})
    };
    let example = json!({"apiVersion": format!("{GROUP}/v1alpha1"), "kind": "Stack", "metadata": {"name": "x"}, "spec": spec("a")});
    let author = Author::begin("stack", "Stack", &stack_chart(), &[], &example);
    let running = author.install();
    CLUSTER.namespace("models").unwrap();
    author.apply("models", &spec("one"));
    running.deployed("models", 1);
    let model = || {
        let found = ["configmaps", "secrets"].map(|kind| admin().list(kind, "models", "").unwrap());
        serde_json::to_string(&found).unwrap()
    };
    author.apply("models", &spec("two/other"));
    running.deployed("models", 2);
    until("the new model", || {
        let text = model();
        text.contains("two/other").then_some(()).ok_or(text)
    });
    running.heals("models", "service/example-inference-stack-gateway");
    // Why it is not ready is asked of its pods.
    until("the reason", || {
        let text = find(&author.resource(), "models").unwrap().to_string();
        text.contains("ImagePullBackOff").then_some(()).ok_or(text)
    });
    running.goes(&["models"], &["deployments", "services", "configmaps", "serviceaccounts"]);
    let used = running.stop();
    assert_least(&author.rights(), &used, &[("stacks/finalizers", OWNER)]);
}

const SMALL: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}"}
data:
  color: "{{ .Values.color }}"
  seen: {{ (lookup "v1" "Namespace" "" "default").metadata | default dict | toJson | quote }}
---
apiVersion: v1
kind: Secret
metadata: {name: "{{ .Release.Name }}"}
stringData: {color: "{{ .Values.color }}"}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: "{{ .Release.Name }}"}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: "{{ .Release.Name }}"}
rules: [{apiGroups: [""], resources: [endpoints], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: "{{ .Release.Name }}"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: "{{ .Release.Name }}"}
subjects: [{kind: ServiceAccount, name: "{{ .Release.Name }}", namespace: "{{ .Release.Namespace }}"}]
"#;

const HOOK: &str = r#"
apiVersion: batch/v1
kind: Job
metadata:
  name: "{{ .Release.Name }}-hook"
  annotations: {helm.sh/hook: "pre-install,post-upgrade", helm.sh/hook-delete-policy: hook-succeeded}
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: c, image: image}]}
"#;

fn chart(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = CLUSTER.folder().join("charts").join(name);
    write(&folder.join("Chart.yaml"), &format!("apiVersion: v2\nname: {name}\nversion: 0.1.0\n"));
    write(&folder.join("values.yaml"), "color: red\n");
    files.iter().for_each(|(path, text)| write(&folder.join(path), text));
    folder
}

fn small_life(author: &Author, running: &Running<'_>, namespace: &str) {
    author.apply(namespace, &json!({"color": "one"}));
    running.deployed(namespace, 1);
    author.apply(namespace, &json!({"color": "two"}));
    running.deployed(namespace, 2);
    assert_eq!(find("configmap/example", namespace).unwrap()["data"]["color"], "two");
    running.heals(namespace, "configmap/example");
}

#[test]
fn one_namespace_needs_only_a_role() {
    let template = SMALL.replace(
        r#"(lookup "v1" "Namespace" "" "default").metadata"#,
        r#"(lookup "v1" "Endpoints" .Release.Namespace "none").metadata"#,
    );
    let files = [("templates/small.yaml", template.as_str()), ("templates/hook.yaml", HOOK)];
    let chart = chart("narrow", &files);
    let author = Author::begin("narrow", "Narrow", &chart, &["narrow"], &json!({}));
    let manifests = author.manifests();
    assert!(!manifests.contains("kind: ClusterRole"), "{manifests}");
    let running = author.install();
    small_life(&author, &running, "narrow");
    running.goes(&["narrow"], &["configmaps", "serviceaccounts", "roles", "rolebindings"]);
    let used = running.stop();
    assert_least(&author.rights(), &used, &[("narrows/finalizers", OWNER)]);
}

const WIDE: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}", namespace: far}
data: {color: "{{ .Values.color }}"}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "wide-{{ .Release.Name }}"}
rules: [{apiGroups: [""], resources: [nodes], verbs: [watch]}]
---
apiVersion: authors.podium.dev/v1
kind: Own
metadata: {name: "{{ .Release.Name }}"}
spec: {color: "{{ .Values.color }}"}
"#;

#[test]
fn children_elsewhere_and_of_kinds_of_their_own_need_rights_there() {
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("owns.{GROUP}")},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": {"kind": "Own", "plural": "owns"}, "versions": [
            {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": any}}]}});
    let crd = crd.to_string();
    let files =
        [("templates/small.yaml", SMALL), ("templates/wide.yaml", WIDE), ("crds/own.yaml", crd.as_str())];
    let chart = chart("wide", &files);
    let author = Author::begin("wide", "Wide", &chart, &[], &json!({}));
    let extra = "  valuesFrom: [{kind: ConfigMap, name: extra, optional: true}]\n";
    let watches = author.path("watches.yaml");
    let text = std::fs::read_to_string(&watches).unwrap();
    write(&watches, &(text + extra));
    for namespace in ["far", "near"] {
        CLUSTER.namespace(namespace).unwrap();
    }
    let running = author.install();
    small_life(&author, &running, "near");
    // A new operator finds everything as it was.
    let mut used = running.stop();
    let running = author.run();
    author.apply("near", &json!({"color": "three"}));
    running.deployed("near", 3);
    for object in ["owns.authors.podium.dev/example", "clusterrole/wide-example"] {
        let before = find(object, "near").unwrap();
        delete(object, "near");
        returns(object, "near", &before);
    }
    running.goes(&["near", "far"], &["configmaps", "clusterroles", "roles", "owns.authors.podium.dev"]);
    used.extend(running.stop());
    let but = [
        ("wides/finalizers", OWNER),
        // What the chart's roles give has to be had.
        ("endpoints", "get"),
        ("nodes", "watch"),
    ];
    assert_least(&author.rights(), &used, &but);
}
