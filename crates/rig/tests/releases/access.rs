//! Who asks whom: kubeconfigs, flags, users, servers that are away.

use std::net::TcpListener;
use std::time::Duration;

use podium_rig::cluster::Cluster;
use serde_json::json;

use crate::both::{Ran, each, equal, podium, refused};
use crate::world::world;

fn write(cluster: &Cluster, name: &str, text: &str) -> String {
    let path = cluster.folder().join(name);
    std::fs::write(&path, text).unwrap();
    path.to_string_lossy().into_owned()
}

const LINES: &[&str] =
    &["list -n one", "list -n one -o json", "status full -n one -o json", "history other -n two"];

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn a_weak_user_gets_the_servers_words() {
    let config = world().kubeconfig_of("weak").to_string_lossy().into_owned();
    let forbidden = "secrets is forbidden: User \"weak\" cannot list resource \"secrets\" in API group \"\"";
    let cases = ["list", "list -A", "history full -n one", "status full -n one", "get all full -n one"];
    refused(world(), &[("KUBECONFIG", &config)], &cases.map(|line| (line, forbidden)));
    let forbidden = forbidden.replace("secrets", "configmaps");
    let env = [("KUBECONFIG", config.as_str()), ("HELM_DRIVER", "configmap")];
    refused(world(), &env, &[("list -n one", &forbidden)]);
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn a_user_who_may_read_secrets_only_sees_what_helm_shows_him() {
    let role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: reader}\n\
        rules: [{apiGroups: [''], resources: [secrets], verbs: [get, list]}]\n---\n\
        apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: reader}\n\
        roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}\n\
        subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: reader}]\n";
    world().admin().apply("one", role).unwrap();
    let user = ["--kube-as-user reader"];
    equal(world(), &[], &each(&["list -n one", "history full -n one", "get all full -n one"], &user));
    refused(
        world(),
        &[],
        &[
            ("list -A --kube-as-user reader", "at the cluster scope"),
            ("list -n two --kube-as-user reader", "in the namespace \"two\""),
        ],
    );
    // Helm says nothing of what it was not shown.
    equal(world(), &[], &["status full -n one --kube-as-user reader".to_owned()]);
    let status = podium(world(), &[], "status full -n one --kube-as-user reader");
    assert!(
        status.stderr.contains("left out: configmaps \"full-map\" is forbidden: User \"reader\""),
        "{status}"
    );
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn flags_and_variables_choose_the_cluster_and_the_user() {
    let cluster = world();
    let (url, token) = (cluster.url(), cluster.token());
    let ca = cluster.authority().to_string_lossy().into_owned();
    let nowhere = [("KUBECONFIG", "/nonexistent")];
    let tails = [
        format!("--kube-apiserver {url} --kube-token {token} --kube-ca-file {ca}"),
        format!("--kube-apiserver={url} --kube-token={token} --kube-insecure-skip-tls-verify"),
        format!(
            "--kube-apiserver {url} --kube-token {token} --kube-ca-file {ca} --kube-tls-server-name localhost"
        ),
        format!("--kubeconfig {}", cluster.kubeconfig().display()),
        format!("--kubeconfig {} --kube-context rig", cluster.kubeconfig().display()),
    ];
    let tails = tails.each_ref().map(String::as_str);
    equal(cluster, &nowhere, &each(&LINES[..2], &tails));
    let weak = cluster.kubeconfig_of("weak").to_string_lossy().into_owned();
    let token_flag = format!("--kube-token {token}");
    equal(cluster, &[("KUBECONFIG", &weak)], &each(LINES, &[&token_flag]));
    equal(
        cluster,
        &[],
        &each(
            LINES,
            &[
                "--kube-as-user somebody --kube-as-group system:masters",
                "--kube-as-user somebody --kube-as-group others --kube-as-group system:masters",
                "--kube-insecure-skip-tls-verify",
                "--kube-tls-server-name kubernetes",
                "--debug=false --burst-limit 10 --qps 5 --color never",
            ],
        ),
    );
    let environment = [
        ("KUBECONFIG", "/nonexistent"),
        ("HELM_KUBEAPISERVER", &url),
        ("HELM_KUBETOKEN", token),
        ("HELM_KUBECAFILE", &ca),
        ("HELM_NAMESPACE", "two"),
        ("HELM_KUBEASUSER", "somebody"),
        ("HELM_KUBEASGROUPS", "others,system:masters"),
    ];
    equal(cluster, &environment, &each(&["list", "history -n one full"], &["", "-o json"]));
    let insecure = [&environment[..3], &[("HELM_KUBEINSECURE_SKIP_TLS_VERIFY", "true")]].concat();
    equal(cluster, &insecure, &each(LINES, &[""]));
    equal(
        cluster,
        &[("HELM_KUBECONTEXT", "rig"), ("HELM_NAMESPACE", "two")],
        &each(&["list"], &["", "-A", "-n one"]),
    );
    refused(
        cluster,
        &[],
        &[
            ("list --kube-context nobody", "nobody"),
            ("list --kube-as-user somebody", "User \"somebody\" cannot list"),
            ("list --kube-token nonsense", "nauthorized"),
            ("list --kube-ca-file /nonexistent", "/nonexistent"),
            ("list --kubeconfig /nonexistent/file", "/nonexistent/file"),
            ("list --kube-tls-server-name example.com", "example.com"),
        ],
    );
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn the_namespace_and_the_context_of_the_kubeconfig_count() {
    let cluster = world();
    let text = std::fs::read_to_string(cluster.kubeconfig()).unwrap();
    let mut config: serde_json::Value = serde_json::from_str(&text).unwrap();
    config["contexts"][0]["context"]["namespace"] = "two".into();
    let other = json!({"name": "other", "context": {"cluster": "rig", "user": "admin", "namespace": "one"}});
    config["contexts"].as_array_mut().unwrap().push(other);
    let path = write(cluster, "contexts.kubeconfig", &config.to_string());
    let env = [("KUBECONFIG", path.as_str())];
    equal(cluster, &env, &each(&["list", "list --kube-context other"], &["", "-n odd -q", "-A -q"]));
    // The first file that names a thing wins; the current context may be in another file than its cluster.
    let current =
        write(cluster, "current.kubeconfig", "apiVersion: v1\nkind: Config\ncurrent-context: other\n");
    let both = format!("{current}:/nonexistent:{path}");
    equal(cluster, &[("KUBECONFIG", &both)], &each(&["list"], &["", "-o json"]));
}

fn named(ran: &Ran, things: &[&str]) {
    let named = things.iter().all(|thing| ran.stderr.contains(thing));
    assert!(ran.status == Some(1) && named && ran.stdout.is_empty(), "{things:?}: {ran}");
    assert!(ran.took < Duration::from_secs(5), "{:?}: {ran}", ran.took);
}

#[test]
fn a_cluster_that_is_away_or_not_configured_is_named_soon() {
    let cluster = Cluster::shared().unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let away = std::fs::read_to_string(cluster.kubeconfig()).unwrap();
    let place = format!("127.0.0.1:{port}");
    let away = write(cluster, "away.kubeconfig", &away.replace(&cluster.url(), &format!("https://{place}")));
    for line in ["list", "status full", "get values full"] {
        named(&podium(cluster, &[("KUBECONFIG", &away)], line), &[&place, "unreachable"]);
    }
    let empty = [("KUBECONFIG", ""), ("HOME", "/nonexistent")];
    named(&podium(cluster, &empty, "list"), &["--kubeconfig"]);
    let broken = write(cluster, "broken.kubeconfig", "clusters: [\n  - {\n");
    named(&podium(cluster, &[("KUBECONFIG", &broken)], "list"), &[&broken]);
    let wrong = write(cluster, "wrong.kubeconfig", "clusters: 5\n");
    named(&podium(cluster, &[("KUBECONFIG", &wrong)], "list"), &[&wrong]);
    let folder = cluster.folder().to_string_lossy().into_owned();
    named(&podium(cluster, &[("KUBECONFIG", &folder)], "list"), &[&folder]);
    named(&podium(cluster, &[], "list --kube-apiserver 'not a url'"), &["not a url"]);
    named(&podium(cluster, &[], "list --kube-context nobody"), &["nobody"]);
}
