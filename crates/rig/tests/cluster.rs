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
