//! The real control plane that the rig starts, with its real clients.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::{Path, PathBuf};

use podium_rig::cluster::{Cluster, Options, User, run};
use podium_rig::request::Dialect;
use serde_json::Value;

#[test]
#[ignore = "needs the pinned originals: make tools"]
fn client_and_server_are_the_pinned_version() {
    let versions = run(Cluster::shared().unwrap().kubectl().args(["version", "-o", "json"])).unwrap();
    let versions: Value = serde_json::from_str(&versions).unwrap();
    for side in ["clientVersion", "serverVersion"] {
        assert_eq!(versions[side]["gitVersion"], "v1.36.3", "{versions}");
    }
}

#[test]
#[ignore = "needs the pinned originals: make tools"]
fn both_majors_of_helm_install_list_and_uninstall() {
    let cluster = Cluster::shared().unwrap();
    for dialect in Dialect::ALL {
        let namespace = format!("install-{dialect}");
        cluster.namespace(&namespace).unwrap();
        let chart = small_chart(&cluster.folder().join(format!("chart-{dialect}")));
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

#[test]
#[ignore = "needs the pinned originals: make tools"]
fn a_weak_user_is_refused_and_nothing_is_left_when_the_cluster_is_dropped() {
    let cluster = Cluster::with(Options { users: vec![User::weak("weak")], ..Options::default() }).unwrap();
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
fn the_node_brings_deployments_and_jobs_to_their_end() {
    let cluster = Cluster::with(Options { controllers: true, node: true, ..Options::default() }).unwrap();
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
    let reason = "--for=jsonpath={.status.containerStatuses[0].state.waiting.reason}=ImagePullBackOff";
    kubectl(&["wait", "-n", "work", reason, "pod/bad", "--timeout=30s"]);
    kubectl(&["annotate", "-n", "work", "pod/bad", "rig.podium/ready-"]);
    kubectl(&["wait", "-n", "work", "--for=condition=Ready", "pod/bad", "--timeout=30s"]);
    // Pods that end and a namespace that goes with all that is in it.
    kubectl(&["delete", "namespace", "work", "--timeout=30s"]);

    let ids = cluster.ids();
    assert!(ids.len() == 3 && ids.iter().all(|id| runs(*id)));
    drop(cluster);
    assert!(!ids.iter().any(|id| runs(*id)));
}

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

fn small_chart(folder: &Path) -> PathBuf {
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-map\ndata:\n  word: {{ .Values.word }}\n";
    std::fs::create_dir_all(folder.join("templates")).unwrap();
    std::fs::write(folder.join("Chart.yaml"), "apiVersion: v2\nname: small\nversion: 1.0.0\n").unwrap();
    std::fs::write(folder.join("templates/map.yaml"), map).unwrap();
    folder.to_owned()
}
