//! `podium release diff` on an API server: what it says is what `helm upgrade` then does, and it writes nothing.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::path::Path;
use std::process::Command;

use podium_client::client::ApplyOptions;
use podium_rig::cluster::{Cluster, run};
use podium_rig::request::Dialect;
use podium_rig::tools;
use serde_json::{Value, json};

struct World {
    cluster: &'static Cluster,
    namespace: &'static str,
    chart: String,
}

impl World {
    fn new(cluster: &'static Cluster, namespace: &'static str) -> Self {
        cluster.namespace(namespace).unwrap();
        let chart = cluster.folder().join("diff").join(namespace);
        std::fs::create_dir_all(chart.join("templates")).unwrap();
        std::fs::write(chart.join("Chart.yaml"), "apiVersion: v2\nname: demo\nversion: 0.1.0\n").unwrap();
        std::fs::write(chart.join("values.yaml"), "a: one\nreplicas: 2\nimage: x\nextra: true\n").unwrap();
        std::fs::write(chart.join("templates/t.yaml"), TEMPLATE).unwrap();
        Self { cluster, namespace, chart: chart.display().to_string() }
    }

    fn helm(&self, dialect: Dialect, args: &[&str]) {
        run(self.cluster.release(dialect, args).unwrap().args(["-n", self.namespace])).unwrap();
    }

    fn list(&self, kind: &str, selector: &str) -> Vec<Value> {
        self.cluster.admin().list(kind, self.namespace, selector).unwrap()
    }

    /// Versions of everything in the namespace: they change with every write.
    fn versions(&self) -> Vec<String> {
        let lists = ["configmaps", "secrets", "deployments"].map(|kind| self.list(kind, ""));
        // A controller publishes this one in every namespace, at any time.
        let all = lists.iter().flatten().filter(|o| o["metadata"]["name"] != "kube-root-ca.crt");
        let mut versions: Vec<String> = all.map(|o| o["metadata"]["resourceVersion"].to_string()).collect();
        versions.sort();
        versions
    }

    /// The lines of the text form.
    fn diff(&self, args: &[&str]) -> (String, String, bool) {
        let before = self.versions();
        let output = Command::new(tools::podium().unwrap())
            .args(["release", "diff", "demo", &self.chart, "-n", self.namespace])
            .args(args)
            .env("KUBECONFIG", self.cluster.kubeconfig())
            .output()
            .unwrap();
        assert_eq!(self.versions(), before, "diff must not write");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&output.stdout), text(&output.stderr), output.status.success())
    }

    fn lines(&self, args: &[&str]) -> Vec<String> {
        let (stdout, stderr, good) = self.diff(args);
        assert!(good, "{stderr}");
        let lines: Vec<String> =
            stdout.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        lines[..lines.len() - 1].to_vec()
    }
}

const TEMPLATE: &str = r#"apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}"}
data: {a: "{{ .Values.a }}", revision: "{{ .Release.Revision }}"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: "{{ .Release.Name }}"}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: demo}}
  template:
    metadata: {labels: {app: demo}}
    spec: {containers: [{name: c, image: "{{ .Values.image }}"}]}
{{- if .Values.extra }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}-extra"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}-kept", annotations: {helm.sh/resource-policy: keep}}
{{- end }}
"#;

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn what_is_said_is_what_helm_does() {
    for (dialect, namespace) in [(Dialect::Helm3, "said-three"), (Dialect::Helm4, "said-four")] {
        let world = World::new(Cluster::shared_upstream().unwrap(), namespace);
        let all = world.lines(&[]);
        assert_eq!(all.len(), 4, "{all:?}");
        assert!(all.iter().all(|line| line.starts_with("create ")), "{all:?}");
        world.helm(dialect, &["install", "demo", &world.chart]);
        // What helm 3 wrote as a client is handed over to the server, and that is said.
        let handed = "fields written by client-side updates become owned by the release; those no longer in the manifest are removed";
        let handed = (dialect == Dialect::Helm3).then(|| handed.to_owned());
        let mut expected = vec![
            format!("change v1/ConfigMap {namespace}/demo"),
            ".data.revision: \"1\" -> \"2\"".to_owned(),
        ];
        expected.extend(handed.clone());
        expected.extend([
            format!("change apps/v1/Deployment {namespace}/demo"),
            ".spec.template.spec.containers[name=\"c\"].image: \"x\" -> \"y\"".to_owned(),
        ]);
        expected.extend(handed);
        expected.extend([
            format!("leave v1/ConfigMap {namespace}/demo-kept"),
            "helm.sh/resource-policy is keep".to_owned(),
            format!("delete v1/ConfigMap {namespace}/demo-extra"),
        ]);
        assert_eq!(world.lines(&["--set", "image=y,extra=false"]), expected);
        world.helm(dialect, &["upgrade", "demo", &world.chart, "--set", "image=y,extra=false"]);
        let deployment = &world.list("deployments", "")[0];
        assert_eq!(deployment["spec"]["template"]["spec"]["containers"][0]["image"], "y");
        let left = world.list("configmaps", "app.kubernetes.io/managed-by=Helm");
        let left: Vec<&str> = left.iter().filter_map(|map| map["metadata"]["name"].as_str()).collect();
        assert_eq!(left, ["demo", "demo-kept"]);
        // Without values those of the last revision count, as under helm.
        let again = world.lines(&[]);
        assert_eq!(
            again[..2],
            [format!("change v1/ConfigMap {namespace}/demo"), ".data.revision: \"2\" -> \"3\"".to_owned()]
        );
        let touched = |line: &String| !line.starts_with("keep") && line.contains("Deployment");
        assert!(!again.iter().any(|line| touched(line) || line.contains("extra")), "{again:?}");
        let reset = world.lines(&["--reset-values"]);
        assert!(reset.iter().any(|line| line.ends_with("image: \"y\" -> \"x\"")), "{reset:?}");
        for flag in ["--reuse-values", "--reset-then-reuse-values"] {
            let reused = world.lines(&["--set", "a=two", flag]);
            assert!(reused.contains(&".data.a: \"one\" -> \"two\"".to_owned()), "{reused:?}");
            assert!(!reused.iter().any(touched), "{reused:?}");
        }
    }
}

#[test]
fn edits_are_undone_and_the_fields_of_others_left_alone() {
    let world = World::new(Cluster::shared().unwrap(), "owners");
    world.helm(Dialect::Helm4, &["install", "demo", &world.chart]);
    let admin = world.cluster.admin();
    let edit = json!({"data": {"a": "edited", "mine": "x"}});
    admin.merge("configmaps", "owners", "demo", &edit).unwrap();
    admin.scale("deployments", "owners", "demo", 7).unwrap();
    let labels = json!({"app": "demo"});
    let theirs = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "demo"}, "spec": {
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "theirs"}]}}}});
    let how = ApplyOptions { field_manager: "other", force: true, dry_run: false };
    let deployments = admin.resource("deployments").unwrap();
    admin.run(async |client| client.apply(&deployments, Some("owners"), "demo", &theirs, how).await).unwrap();
    assert_eq!(
        world.lines(&[]),
        [
            "change v1/ConfigMap owners/demo",
            ".data.a: \"edited\" -> \"one\"",
            ".data.revision: \"1\" -> \"2\"",
            "keep apps/v1/Deployment owners/demo",
            ".spec.replicas is left to \"kubectl\", which scales it",
            ".spec.template.spec.containers[name=\"c\"].image is left to \"other\", which applies it",
        ]
    );
}

#[test]
fn what_cannot_be_installed_is_named() {
    let world = World::new(Cluster::shared().unwrap(), "blocked");
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "demo"}});
    world.cluster.admin().create("blocked", &map).unwrap();
    let template = format!(
        "{TEMPLATE}---\napiVersion: foo.io/v1\nkind: Foo\nmetadata: {{name: a}}\n---\napiVersion: v1\nkind: Service\n\
         metadata: {{name: bad}}\nspec: {{ports: [{{port: 99999}}]}}\n---\napiVersion: own.io/v1\nkind: Own\nmetadata: {{name: a}}\n"
    );
    let chart = Path::new(&world.chart);
    std::fs::write(chart.join("templates/t.yaml"), template).unwrap();
    std::fs::create_dir_all(chart.join("crds")).unwrap();
    let crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: owns.own.io}\nspec:\n  \
               group: own.io\n  scope: Namespaced\n  names: {kind: Own, plural: owns}\n  versions:\n  - {name: v1, served: true, \
               storage: true, schema: {openAPIV3Schema: {type: object}}}\n";
    std::fs::write(chart.join("crds/own.yaml"), crd).unwrap();
    let (stdout, stderr, good) = world.diff(&["-o", "json"]);
    assert!(!good && stderr.contains("3 objects are blocked"), "{stderr}");
    let steps: Vec<Value> = serde_json::from_str(&stdout).unwrap();
    let of = |name: &str, kind: &str| {
        let step = steps.iter().find(|s| s["name"] == name && s["kind"] == kind).unwrap();
        (step["action"].as_str().unwrap().to_owned(), step["notes"].to_string())
    };
    let expect = |name: &str, kind: &str, action: &str, note: &str| {
        let (found, notes) = of(name, kind);
        assert!(found == action && notes.contains(note), "{kind} {name}: {found} {notes}");
    };
    expect("demo", "ConfigMap", "blocked", "not owned by this release");
    expect("a", "Foo", "blocked", "no matches for kind");
    expect("bad", "Service", "blocked", "99999");
    expect("a", "Own", "create", "defined by this release");
    expect("owns.own.io", "CustomResourceDefinition", "create", "crds/");
    expect("demo-extra", "ConfigMap", "create", "");
}
