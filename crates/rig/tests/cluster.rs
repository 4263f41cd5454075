//! The control planes that the rig starts, with their clients.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use podium_client::client::Representation;
use podium_client::write::PropagationPolicy;
use podium_client::{Client, ClientConfig};
use podium_rig::cluster::{Cluster, Controllers, Options, Server, User, run};
use podium_rig::request::Dialect;
use serde_json::{Value, json};

const UPSTREAM: Option<Server> = Some(Server::Kubernetes);

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn client_and_server_are_the_pinned_version() {
    let versions =
        run(Cluster::shared_upstream().unwrap().kubectl().args(["version", "-o", "json"])).unwrap();
    let versions: Value = serde_json::from_str(&versions).unwrap();
    for side in ["clientVersion", "serverVersion"] {
        assert_eq!(versions[side]["gitVersion"], "v1.36.3", "{versions}");
    }
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn both_majors_of_helm_install_list_and_uninstall() {
    let cluster = Cluster::shared_upstream().unwrap();
    for dialect in Dialect::ALL {
        let namespace = format!("install-{dialect}");
        cluster.namespace(&namespace).unwrap();
        let chart = chart(cluster.folder().join(format!("chart-{dialect}")), MAP);
        let helm = |args: &[&str]| run(cluster.helm(dialect).args(args).args(["-n", &namespace])).unwrap();
        let maps =
            || run(cluster.kubectl().args(["get", "configmap", "-o", "name", "-n", &namespace])).unwrap();
        helm(&["install", "rel", chart.to_str().unwrap(), "--set", "word=hello"]);
        let list: Value = serde_json::from_str(&helm(&["list", "-o", "json"])).unwrap();
        assert_eq!((&list[0]["name"], &list[0]["status"]), (&"rel".into(), &"deployed".into()), "{list}");
        assert_eq!(maps(), "configmap/rel-map\n");
        helm(&["uninstall", "rel"]);
        assert_eq!((helm(&["list", "-o", "json"]).trim(), maps().as_str()), ("[]", ""));
    }
}

const MAP: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata: { name: "{{ .Release.Name }}-map" }
data: { word: "{{ .Values.word }}" }
"#;

#[test]
fn a_weak_user_is_refused_and_nothing_is_left_when_the_cluster_is_dropped() {
    let cluster = Cluster::with(Options { users: vec![User::weak("weak")], ..Options::default() }).unwrap();
    let secrets = cluster.admin().resource("secrets").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let list = |user| {
        let kubeconfig = Some(cluster.kubeconfig_of(user));
        runtime.block_on(async {
            let client = Client::new(&ClientConfig { kubeconfig, ..ClientConfig::default() }).await?;
            client.list(&secrets, None, "", Representation::Metadata).await
        })
    };
    let refused = list("weak").unwrap_err().to_string();
    assert!(refused.contains("User \"weak\" cannot list resource \"secrets\""), "{refused}");
    list("admin").unwrap();

    let (folder, ids) = (cluster.folder().to_owned(), cluster.ids());
    let servers = if cluster.server() == Server::Podium { 1 } else { 2 };
    assert!(folder.is_dir() && ids.len() == servers && ids.iter().all(|id| runs(*id)));
    drop(cluster);
    assert!(!folder.exists() && !ids.iter().any(|id| runs(*id)));
}

/// Waits until an object has a condition that is true.
fn wait_for(cluster: &Cluster, resource: &str, name: &str, what: &str, holds: impl Fn(&Value) -> bool) {
    let begin = Instant::now();
    loop {
        let found = cluster.admin().find(resource, "work", name).unwrap();
        if found.as_ref().is_some_and(&holds) {
            return;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "{resource}/{name} is not {what}: {found:#?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn condition(kind: &'static str) -> impl Fn(&Value) -> bool {
    move |object| {
        let conditions = object["status"]["conditions"].as_array();
        conditions.is_some_and(|all| all.iter().any(|c| c["type"] == kind && c["status"] == "True"))
    }
}

#[test]
fn controllers_and_node_bring_all_kinds_of_workloads_to_their_end() {
    let options = Options { controllers: Controllers::Workloads, node: true, ..Options::default() };
    let cluster = Cluster::with(options).unwrap();
    let admin = cluster.admin();
    cluster.namespace("work").unwrap();
    admin.apply("work", WORK).unwrap();
    for (kind, resource, name) in [
        ("Available", "deployment", "good"),
        ("Complete", "job", "good"),
        ("Failed", "job", "bad"),
        ("PodScheduled", "pod", "bad"),
    ] {
        wait_for(&cluster, resource, name, kind, condition(kind));
    }
    let rolled_out = |total: &'static str, updated: &'static str, count: u64| {
        move |set: &Value| {
            let current = set["status"]["observedGeneration"] == set["metadata"]["generation"];
            current && set["status"][total] == count && set["status"][updated] == count
        }
    };
    let daemons = rolled_out("numberAvailable", "updatedNumberScheduled", 1);
    wait_for(&cluster, "daemonset", "every", "rolled out", daemons);
    wait_for(&cluster, "statefulset", "row", "rolled out", rolled_out("readyReplicas", "updatedReplicas", 2));
    let reason = "/status/containerStatuses/0/state/waiting/reason";
    let pulls = |pod: &Value| pod.pointer(reason).is_some_and(|reason| reason == "ImagePullBackOff");
    wait_for(&cluster, "pod", "bad", "pulling", pulls);
    let ready = json!({"metadata": {"annotations": {"rig.podium/ready": null}}});
    admin.merge("pods", "work", "bad", &ready).unwrap();
    wait_for(&cluster, "pod", "bad", "ready", condition("Ready"));
    // A new template, and fewer replicas.
    let image = json!([{"name": "main", "image": "other"}]);
    for (resource, name) in [("deployment", "good"), ("daemonset", "every"), ("statefulset", "row")] {
        let patch = json!({"spec": {"template": {"spec": {"containers": image}}}});
        admin.merge(resource, "work", name, &patch).unwrap();
    }
    admin.scale("deployment", "work", "good", 1).unwrap();
    wait_for(&cluster, "deployment", "good", "rolled out", rolled_out("replicas", "updatedReplicas", 1));
    wait_for(&cluster, "statefulset", "row", "rolled out", rolled_out("readyReplicas", "updatedReplicas", 2));
    wait_for(&cluster, "daemonset", "every", "rolled out", daemons);
    let images = |pods: &[Value]| pods.iter().all(|pod| pod["spec"]["containers"][0]["image"] == "other");
    let begin = Instant::now();
    for (app, count) in [("good", 1), ("every", 1), ("row", 2)] {
        loop {
            let pods = admin.list("pods", "work", &format!("app={app}")).unwrap();
            if pods.len() == count && images(&pods) {
                break;
            }
            assert!(begin.elapsed() < Duration::from_secs(60), "{app}: {pods:#?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    // In the foreground: the Deployment goes after its pods, which the node has to let go.
    let deployments = admin.resource("deployments").unwrap();
    let foreground = PropagationPolicy::Foreground;
    admin
        .run(async |client| client.delete(&deployments, Some("work"), "good", None, foreground).await)
        .unwrap();
    let begin = Instant::now();
    while admin.find("deployments", "work", "good").unwrap().is_some() {
        assert!(begin.elapsed() < Duration::from_secs(60), "the deployment stays");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(admin.list("pods", "work", "app=good").unwrap().is_empty());
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn both_majors_of_helm_wait_for_workloads_and_hooks() {
    let controllers = Controllers::Workloads;
    let options = Options { server: UPSTREAM, controllers, node: true, ..Options::default() };
    let cluster = Cluster::with(options).unwrap();
    let chart = chart(cluster.folder().join("chart"), HOOKED);
    for dialect in Dialect::ALL {
        let release = dialect.to_string();
        run(cluster.helm(dialect).args(["install", &release]).arg(&chart).args(["--wait", "--timeout=30s"]))
            .unwrap();
    }
    let ids = cluster.ids();
    assert!(ids.len() == 3 && ids.iter().all(|id| runs(*id)));
    drop(cluster);
    assert!(!ids.iter().any(|id| runs(*id)));
}

const HOOKED: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata: { name: "{{ .Release.Name }}" }
spec:
  selector: { matchLabels: { app: "{{ .Release.Name }}" } }
  template:
    metadata: { labels: { app: "{{ .Release.Name }}" } }
    spec: { containers: [{ name: main, image: any }] }
---
apiVersion: batch/v1
kind: Job
metadata: { name: "{{ .Release.Name }}", annotations: { helm.sh/hook: pre-install } }
spec:
  template:
    spec: { restartPolicy: Never, containers: [{ name: main, image: any }] }
"#;

const WORK: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata: { name: good }
spec:
  replicas: 2
  selector: { matchLabels: { app: good } }
  template:
    metadata: { labels: { app: good } }
    spec: { containers: [{ name: main, image: any }] }
---
apiVersion: apps/v1
kind: DaemonSet
metadata: { name: every }
spec:
  selector: { matchLabels: { app: every } }
  template:
    metadata: { labels: { app: every } }
    spec: { containers: [{ name: main, image: any }] }
---
apiVersion: apps/v1
kind: StatefulSet
metadata: { name: row }
spec:
  replicas: 2
  serviceName: row
  selector: { matchLabels: { app: row } }
  template:
    metadata: { labels: { app: row } }
    spec: { containers: [{ name: main, image: any }] }
---
apiVersion: batch/v1
kind: Job
metadata: { name: good }
spec:
  template:
    spec: { restartPolicy: Never, containers: [{ name: main, image: any }] }
---
apiVersion: batch/v1
kind: Job
metadata: { name: bad }
spec:
  backoffLimit: 0
  template:
    metadata: { annotations: { rig.podium/fail: "true" } }
    spec: { restartPolicy: Never, containers: [{ name: main, image: any }] }
---
apiVersion: v1
kind: Pod
metadata: { name: bad, annotations: { rig.podium/ready: "false" } }
spec: { containers: [{ name: main, image: any }] }
"#;

fn runs(id: u32) -> bool {
    Path::new(&format!("/proc/{id}")).exists()
}

fn chart(folder: PathBuf, template: &str) -> PathBuf {
    std::fs::create_dir_all(folder.join("templates")).unwrap();
    std::fs::write(folder.join("Chart.yaml"), "apiVersion: v2\nname: small\nversion: 1.0.0\n").unwrap();
    std::fs::write(folder.join("templates/all.yaml"), template).unwrap();
    folder
}
