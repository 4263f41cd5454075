//! The real control plane that the rig starts, with its real clients.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::{Path, PathBuf};

use podium_rig::cluster::{Cluster, Controllers, Options, Server, User, run};
use podium_rig::request::Dialect;
use serde_json::Value;

const UPSTREAM: Option<Server> = Some(Server::Kubernetes);

#[test]
#[ignore = "needs the pinned originals: make tools"]
fn client_and_server_are_the_pinned_version() {
    let versions =
        run(Cluster::shared_upstream().unwrap().kubectl().args(["version", "-o", "json"])).unwrap();
    let versions: Value = serde_json::from_str(&versions).unwrap();
    for side in ["clientVersion", "serverVersion"] {
        assert_eq!(versions[side]["gitVersion"], "v1.36.3", "{versions}");
    }
}

#[test]
#[ignore = "needs the pinned originals: make tools"]
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
#[ignore = "needs the pinned originals: make tools"]
fn a_weak_user_is_refused_and_nothing_is_left_when_the_cluster_is_dropped() {
    let cluster =
        Cluster::with(Options { server: UPSTREAM, users: vec![User::weak("weak")], ..Options::default() })
            .unwrap();
    let get = |user| {
        let config = cluster.kubeconfig_of(user);
        run(cluster.kubectl().env("KUBECONFIG", config).args(["get", "secrets", "-A"]))
    };
    let refused = get("weak").unwrap_err().to_string();
    assert!(refused.contains("User \"weak\" cannot list resource \"secrets\""), "{refused}");
    get("admin").unwrap();

    let (folder, ids) = (cluster.folder().to_owned(), cluster.ids());
    assert!(folder.is_dir() && ids.len() == 2 && ids.iter().all(|id| runs(*id)));
    drop(cluster);
    assert!(!folder.exists() && !ids.iter().any(|id| runs(*id)));
}

#[test]
#[ignore = "needs the pinned originals: make tools"]
fn the_node_brings_all_kinds_of_work_to_their_end_and_helm_sees_it() {
    let cluster = Cluster::with(Options {
        server: UPSTREAM,
        controllers: Controllers::Workloads,
        node: true,
        ..Options::default()
    })
    .unwrap();
    let kubectl = |args: &[&str]| run(cluster.kubectl().args(args)).unwrap();
    cluster.namespace("work").unwrap();
    let file = cluster.folder().join("work.yaml");
    std::fs::write(&file, WORK).unwrap();
    kubectl(&["create", "-n", "work", "-f", file.to_str().unwrap()]);
    for (condition, object) in [
        ("Available", "deployment/good"),
        ("Complete", "job/good"),
        ("Failed", "job/bad"),
        ("PodScheduled", "pod/bad"),
    ] {
        let condition = format!("--for=condition={condition}");
        kubectl(&["wait", "-n", "work", &condition, object, "--timeout=30s"]);
    }
    for set in ["daemonset/every", "statefulset/row"] {
        kubectl(&["rollout", "status", "-n", "work", set, "--timeout=30s"]);
    }
    let reason = "--for=jsonpath={.status.containerStatuses[0].state.waiting.reason}=ImagePullBackOff";
    kubectl(&["wait", "-n", "work", reason, "pod/bad", "--timeout=30s"]);
    kubectl(&["annotate", "-n", "work", "pod/bad", "rig.podium/ready-"]);
    kubectl(&["wait", "-n", "work", "--for=condition=Ready", "pod/bad", "--timeout=30s"]);
    let chart = chart(cluster.folder().join("chart"), HOOKED);
    for dialect in Dialect::ALL {
        let release = dialect.to_string();
        run(cluster.helm(dialect).args(["install", &release]).arg(&chart).args(["--wait", "--timeout=30s"]))
            .unwrap();
    }
    // Waits for the pods, which the node has to let go.
    kubectl(&["delete", "-n", "work", "deployment/good", "--cascade=foreground", "--timeout=30s"]);

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
