//! `podium chart template --dry-run=server` and `--validate` beside both helms, on a real API server.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::process::Command;

use podium_rig::cluster::{Cluster, Server, User, run};
use podium_rig::request::Dialect;
use podium_rig::tools;

const REASON: &str = "compares with upstream programs: make tools";

struct Ran {
    stdout: String,
    error: String,
    status: Option<i32>,
}

/// What counts: standard output, status, and the error message without log lines before it.
fn ran(command: &mut Command) -> Ran {
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let error = stderr.find("Error: ").map_or(String::new(), |at| stderr[at..].to_owned());
    Ran { stdout: String::from_utf8_lossy(&output.stdout).into_owned(), error, status: output.status.code() }
}

fn chart(cluster: &Cluster, name: &str, template: &str) -> String {
    let folder = cluster.folder().join("charts").join(name);
    std::fs::create_dir_all(folder.join("templates")).unwrap();
    std::fs::write(folder.join("Chart.yaml"), format!("apiVersion: v2\nname: {name}\nversion: 0.1.0\n"))
        .unwrap();
    std::fs::write(folder.join("templates/t.yaml"), template).unwrap();
    folder.display().to_string()
}

fn compare(cluster: &Cluster, user: &str, args: &[&str]) -> [Ran; 2] {
    [Dialect::Helm3, Dialect::Helm4].map(|dialect| {
        let config = cluster.kubeconfig_of(user);
        let theirs = ran(cluster.helm(dialect).arg("template").args(args).env("KUBECONFIG", &config));
        let ours = ran(Command::new(tools::podium().unwrap())
            .args(["chart", "template", "--helm-version", dialect.major()])
            .args(args)
            .env("KUBECONFIG", &config));
        let what = format!("{dialect} template {args:?} as {user}");
        assert_eq!(theirs.stdout, ours.stdout, "{what}: {}", ours.error);
        assert_eq!(theirs.error, ours.error, "{what}");
        assert_eq!(theirs.status, ours.status, "{what}");
        ours
    })
}

const WORLD: &str = r#"apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}}
data:
  version: {{ .Capabilities.KubeVersion | quote }}
  struct: {{ printf "%s %v" .Capabilities.KubeVersion .Capabilities.KubeVersion | quote }}
  parts: {{ .Capabilities.KubeVersion.Major }} {{ .Capabilities.KubeVersion.Minor }} {{ .Capabilities.KubeVersion.GitVersion }}
  count: "{{ len .Capabilities.APIVersions }}"
  has: "{{ range list "apps/v1" "apps/v1/Deployment" "apps/v1/Scale" "v1" "v1/Pod" "x/v1" }}{{ $.Capabilities.APIVersions.Has . }} {{ end }}"
  object: {{ (lookup "v1" "Namespace" "" "default") | toYaml | quote }}
  none: {{ lookup "v1" "ConfigMap" "default" "nope" | toJson | quote }}
  unknown: {{ lookup "v1" "Nope" "default" "nope" | toJson | quote }}
  list: {{ range (lookup "v1" "Namespace" "" "").items }}{{ if hasPrefix "kube-" .metadata.name }}{{ .metadata.name }}/{{ .kind }}/{{ .apiVersion }} {{ end }}{{ end }}
  kind: {{ (lookup "v1" "Namespace" "" "").kind }}
  numbers: {{ range (lookup "v1" "Service" "default" "").items }}{{ range .spec.ports }}{{ .port | kindOf }}{{ end }} {{ typeOf .spec }}{{ end }}
"#;

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn templates_see_the_cluster_as_under_helm() {
    let cluster = Cluster::shared_upstream().unwrap_or_else(|e| panic!("{REASON}: {e}"));
    let world = chart(cluster, "world", WORLD);
    for args in [&["--dry-run=server"], &["--validate"], &["--dry-run=client"], &["--dry-run"]] {
        compare(cluster, "admin", &[&["r", &world], args.as_slice()].concat());
    }
    let given = ["r", &world, "--dry-run=server", "--kube-version", "1.20", "--api-versions", "a/b"];
    compare(cluster, "admin", &given);
    let broken = chart(cluster, "broken", "x: {{ lookup \"foo.io/v1\" \"Nope\" \"\" \"\" }}");
    let [_, ours] = compare(cluster, "admin", &["r", &broken, "--dry-run=server"]);
    assert!(ours.error.contains("foo.io/v1, Kind=Nope"), "{}", ours.error);
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn what_is_in_the_way_is_told_as_by_helm() {
    let cluster = Cluster::shared_upstream().unwrap_or_else(|e| panic!("{REASON}: {e}"));
    cluster.namespace("way").unwrap();
    run(cluster.kubectl().args(["create", "configmap", "taken", "-n", "way"])).unwrap();
    let map = |metadata: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{{metadata}}}\n");
    let own = chart(cluster, "own", &map("name: {{ .Release.Name }}-own"));
    run(cluster.helm(Dialect::Helm4).args(["install", "mine", &own, "-n", "way"])).unwrap();
    let list = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: taken}\n";
    let foo = "apiVersion: foo.io/v1\nkind: Foo\nmetadata: {name: a}\n";
    let cases = [
        ("taken", map("name: taken"), true),
        ("elsewhere", map("name: kube-root, namespace: default"), false),
        ("free", map("name: free"), false),
        ("both-names", map("name: a, generateName: b-"), true),
        ("made-up", map("generateName: b-"), false),
        ("nameless", "apiVersion: v1\nkind: ConfigMap\n".to_owned(), true),
        ("list", list.to_owned(), true),
        (
            "cluster-scoped",
            "apiVersion: v1\nkind: Namespace\nmetadata: {name: kube-system}\n".to_owned(),
            true,
        ),
        ("unknown", foo.to_owned(), true),
        ("two-unknown", format!("{foo}---\n{}---\n{}", map("name: free"), foo.replace("Foo", "Bar")), true),
        ("no-kind", "just: text\n".to_owned(), true),
    ];
    for (name, template, fails) in cases {
        let path = chart(cluster, name, &template);
        let [_, ours] = compare(cluster, "admin", &["r", &path, "-n", "way", "--validate"]);
        assert_eq!(ours.status != Some(0), fails, "{name}: {}", ours.error);
        compare(cluster, "admin", &["r", &path, "-n", "way", "--dry-run=server"]);
        compare(cluster, "admin", &["r", &path, "-n", "way", "--validate", "--is-upgrade"]);
    }
    // An object of the release itself is not in the way; one of another release is.
    compare(cluster, "admin", &["mine", &own, "-n", "way", "--validate"]);
    let other = chart(cluster, "other", &map("name: mine-own"));
    let [_, ours] = compare(cluster, "admin", &["thine", &other, "-n", "way", "--validate"]);
    assert!(ours.error.contains("current value is \"mine\""), "{}", ours.error);
    for wrong in ["--dry-run=none", "--dry-run=false", "--dry-run=x", "--dry-run=true", "--dry-run=1"] {
        compare(cluster, "admin", &["r", &own, wrong]);
    }
    compare(cluster, "admin", &["r", &own, "--validate", "--dry-run=server"]);
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn the_server_decides_what_a_user_may_see() {
    let options = podium_rig::cluster::Options {
        server: Some(Server::Kubernetes),
        users: vec![User::weak("weak")],
        ..Default::default()
    };
    let cluster = Cluster::with(options).unwrap_or_else(|e| panic!("{REASON}: {e}"));
    let own = chart(&cluster, "own", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n");
    let [_, ours] = compare(&cluster, "weak", &["r", &own, "--validate"]);
    assert!(ours.error.contains("configmaps \"a\" is forbidden"), "{}", ours.error);
    let look = chart(&cluster, "look", "x: {{ lookup \"v1\" \"Secret\" \"default\" \"a\" }}");
    let [_, ours] = compare(&cluster, "weak", &["r", &look, "--dry-run=server"]);
    assert!(ours.error.contains("secrets \"a\" is forbidden"), "{}", ours.error);
}
