//! Releases of every kind, made by both majors of helm.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use podium_rig::cluster::{Cluster, Options, Server, User, run};
use podium_rig::request::Dialect;
use podium_sprig::encoding::{base64_decode, base64_encode};
use serde_json::{Value, json};

static WORLD: LazyLock<Cluster> = LazyLock::new(|| {
    let cluster = Cluster::with(Options {
        server: Some(Server::Kubernetes),
        users: vec![User::weak("weak")],
        ..Options::default()
    })
    .unwrap();
    fill(&cluster);
    cluster
});

/// The cluster with the releases below, made once for all tests.
pub fn world() -> &'static Cluster {
    &WORLD
}

/// Runs a command line of a helm; what it says when it has to fail.
pub fn helm(cluster: &Cluster, dialect: Dialect, driver: &str, line: &str) {
    let fails = line.contains("broken=true");
    let mut command = cluster.helm(dialect);
    command.env("HELM_DRIVER", driver).current_dir(cluster.folder()).args(line.split_whitespace());
    let result = run(&mut command);
    assert_eq!(result.is_err(), fails, "helm {line}: {result:?}");
}

fn fill(cluster: &Cluster) {
    use Dialect::{Helm3, Helm4};
    write_charts(cluster.folder());
    for namespace in ["one", "two", "maps", "odd"] {
        cluster.namespace(namespace).unwrap();
    }
    for (dialect, line) in [
        (Helm4, "install full full -n one -f types.yaml --labels team=red,tier=web --description <first>&"),
        (Helm4, "upgrade full full -n one --set replicas=2 --set-string note=é<b>&"),
        (Helm4, "upgrade full full -n one --reuse-values --set sub.deep.x=1 --labels team=blue"),
        (Helm4, "upgrade full full -n one --set broken=true"),
        (Helm4, "rollback full 2 -n one"),
        (Helm4, "test full -n one"),
        (Helm3, "install bare bare -n one"),
        (Helm3, "upgrade bare bare -n one --labels team=red,empty="),
        (Helm3, "upgrade bare bare -n one --set a=null"),
        (Helm4, "install a-long-name-with-1.dots bare -n one --server-side=false --set x={1,2,3}"),
        (Helm3, "install other full -n two -f types.yaml --labels team=red"),
        (Helm3, "upgrade other full -n two -f types.yaml --set sub.enabled=false"),
        (Helm3, "upgrade other full -n two --set broken=true"),
        (Helm3, "rollback other 1 -n two"),
        (Helm3, "test other -n two"),
        (Helm4, "upgrade other full -n two --set replicas=0"),
        (Helm3, "install gone3 bare -n two"),
        (Helm3, "upgrade gone3 bare -n two"),
        (Helm3, "uninstall gone3 -n two --keep-history --description bye"),
        (Helm4, "install gone4 bare -n two"),
        (Helm4, "uninstall gone4 -n two --keep-history"),
        (Helm4, "install hooked full -n two --set broken=true"),
        (Helm3, "install failed3 full -n two --set broken=true"),
    ] {
        helm(cluster, dialect, "", line);
    }
    for (dialect, line) in [
        (Helm4, "install full full -n maps -f types.yaml --labels team=red,tier=web"),
        (Helm4, "upgrade full full -n maps --set replicas=2"),
        (Helm4, "rollback full 1 -n maps"),
        (Helm3, "install bare bare -n maps"),
        (Helm3, "upgrade bare bare -n maps --set a=1"),
        (Helm3, "install gone bare -n maps"),
        (Helm3, "uninstall gone -n maps --keep-history"),
    ] {
        helm(cluster, dialect, "configmap", line);
    }
    cluster.admin().delete("configmaps", "two", "other-late").unwrap();
    // There are no controllers: these are what a Deployment's pods would be.
    for (namespace, release, name) in [("one", "full", "a"), ("one", "full", "b"), ("two", "other", "c")] {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace, "labels": {"app": release, "part": "web"}},
            "spec": {"containers": [{"name": "main", "image": "any"}]},
        });
        create(cluster, &[pod]);
    }
    create(cluster, &odd(&read_record(cluster, "one", "sh.helm.release.v1.full.v1")));
}

/// Records that a helm of another time or another tool may have written, each a release of its own.
fn odd(record: &Value) -> Vec<Value> {
    let changes = [
        ("pending-upgrade", json!({"info": {"status": "pending-upgrade"}})),
        ("pending-install", json!({"info": {"status": "pending-install", "description": ""}})),
        ("pending-rollback", json!({"info": {"status": "pending-rollback", "rollback_revision": 7}})),
        ("uninstalling", json!({"info": {"status": "uninstalling"}})),
        ("unknown", json!({"info": {"status": "unknown"}})),
        ("strange", json!({"info": {"status": "strange"}})),
        ("superseded", json!({"info": {"status": "superseded"}})),
        (
            "no-chart-name",
            json!({"chart": {"metadata": {"name": null, "version": null, "appVersion": null}}}),
        ),
        ("no-chart", json!({"chart": null})),
        ("no-metadata", json!({"chart": {"metadata": null}})),
        (
            "no-app",
            json!({"chart": {"metadata": {"appVersion": null, "annotations": null, "dependencies": null}}}),
        ),
        ("empty-deleted", json!({"info": {"deleted": ""}})),
        ("deleted", json!({"info": {"deleted": "2024-02-29T23:59:59Z", "status": "uninstalled"}})),
        (
            "offset",
            json!({"info": {
                "first_deployed": "2023-01-02T03:04:05.000000006+05:30",
                "last_deployed": "2024-07-02T23:04:05.120-11:00",
                "deleted": "2024-07-03T00:00:00+00:00",
            }}),
        ),
        ("old", json!({"info": {"last_deployed": "1900-01-01T00:00:00Z"}})),
        ("zero", json!({"info": {"last_deployed": "0001-01-01T00:00:00Z", "first_deployed": null}})),
        ("far", json!({"info": {"last_deployed": "9999-12-31T23:59:59.999999999Z"}})),
        ("no-config", json!({"config": null})),
        ("empty-config", json!({"config": {"a": null}})),
        ("no-hooks", json!({"hooks": null, "manifest": ""})),
        ("method", json!({"apply_method": "other"})),
        ("no-method", json!({"apply_method": null})),
        ("no-notes", json!({"info": {"notes": null}})),
        ("blank-notes", json!({"info": {"notes": "\n\n  <a href=\"x\">&  \n\n"}})),
        ("other-namespace", json!({"namespace": "elsewhere"})),
        ("no-namespace", json!({"namespace": null})),
        ("dry-run", json!({"info": {"description": "Dry run complete"}})),
        (
            "wide",
            json!({"info": {"description": "日本語 é\ttab\u{1f600}"},
                        "chart": {"metadata": {"version": "1.0.0-é", "appVersion": "日本語"}}}),
        ),
        (
            "lines",
            json!({"info": {"description": "two\nlines\u{2028}<&>"}, "chart": {"metadata": {"appVersion": "a\nb"}}}),
        ),
        (
            "controls",
            json!({"info": {"description": "\u{0}\u{1b}[31m\u{7f}\u{feff}", "notes": "a\r\nb\u{0}c"}}),
        ),
        ("negative", json!({"version": -3})),
        ("unknown-fields", json!({"more": {"a": [1]}, "info": {"what": true}})),
        (
            "crds-only",
            json!({"manifest": "---\napiVersion: example.com/v1\nkind: Thing\nmetadata:\n  name: x\n"}),
        ),
    ];
    let mut all = Vec::new();
    for (minute, (name, change)) in changes.into_iter().enumerate() {
        // Helm leaves the order of two of the same second to chance.
        let time = format!("2025-01-01T00:{minute:02}:00Z");
        let mut changed = merged(
            record,
            &json!({"name": name, "version": 1, "namespace": "odd", "info": {"last_deployed": time}}),
        );
        if name != "no-hooks" && name != "crds-only" {
            changed = merged(&changed, &json!({"manifest": MANIFEST}));
        }
        all.push(secret("odd", name, 1, &pack(&merged(&changed, &change), name.len() % 2 == 0)));
    }
    all
}

const MANIFEST: &str = "---\n# Source: x\napiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: default\n";

/// A JSON merge patch.
pub fn merged(base: &Value, change: &Value) -> Value {
    match (base, change) {
        (Value::Object(base), Value::Object(change)) => {
            let mut out = base.clone();
            for (key, value) in change {
                match value {
                    Value::Null => drop(out.remove(key)),
                    value => {
                        let value = merged(base.get(key).unwrap_or(&Value::Null), value);
                        out.insert(key.clone(), value);
                    }
                }
            }
            Value::Object(out)
        }
        (_, change) => change.clone(),
    }
}

/// The text of a record; without gzip, as very old helms wrote it, when not compressed.
pub fn pack(record: &Value, compressed: bool) -> Vec<u8> {
    let plain = record.to_string().into_bytes();
    base64_encode(&if compressed { gzip(&plain) } else { plain })
}

/// gzip.
pub fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    packer.write_all(plain).unwrap();
    packer.finish().unwrap()
}

/// What a Secret of helm's holds.
pub fn read_record(cluster: &Cluster, namespace: &str, key: &str) -> Value {
    let secret = cluster.admin().find("secrets", namespace, key).unwrap().unwrap();
    let text = secret["data"]["release"].as_str().unwrap();
    let packed = base64_decode(&base64_decode(text.as_bytes()).unwrap()).unwrap();
    let mut plain = String::new();
    GzDecoder::new(packed.as_slice()).read_to_string(&mut plain).unwrap();
    serde_json::from_str(&plain).unwrap()
}

/// A Secret with helm's labels around a record.
pub fn secret(namespace: &str, name: &str, revision: i64, text: &[u8]) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1",
        "metadata": {
            "name": format!("sh.helm.release.v1.{name}.v{revision}"),
            "namespace": namespace,
            "labels": {"owner": "helm", "name": name, "version": revision.to_string(), "status": "deployed"},
        },
        "data": {"release": String::from_utf8(base64_encode(text)).unwrap()},
    })
}

/// Creates objects.
pub fn create(cluster: &Cluster, objects: &[Value]) {
    for object in objects {
        cluster.admin().create("default", object).unwrap();
    }
}

fn write_charts(folder: &Path) {
    let write = |path: &str, text: &str| {
        let path: PathBuf = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("types.yaml", TYPES);
    write("bare/Chart.yaml", "apiVersion: v2\nname: bare\nversion: 0.1.0\n");
    write(
        "bare/templates/all.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata: { name: \"{{ .Release.Name }}\" }\n",
    );
    write("full/Chart.yaml", CHART);
    write("full/values.yaml", VALUES);
    write("full/templates/all.yaml", ALL);
    write("full/templates/hooks.yaml", HOOKS);
    write("full/templates/NOTES.txt", "\n  Hello {{ .Release.Name }} <&>\n\nBye é\n\n");
    write("full/charts/sub/Chart.yaml", "apiVersion: v2\nname: sub\nversion: 0.2.0\nappVersion: \"7\"\n");
    write("full/charts/sub/values.yaml", "deep: { x: 5, y: [1] }\nenabled: true\n");
    write("full/charts/sub/templates/NOTES.txt", "never shown\n");
}

const CHART: &str = r#"
apiVersion: v2
name: full
version: 1.2.3-rc.1+build.5
appVersion: "v4.5 <x>"
description: "all & more"
annotations: { example.com/b: "2, 3", example.com/a: "<1>", empty: "" }
keywords: [a, b]
maintainers: [{ name: me, email: me@example.com }]
dependencies:
  - { name: sub, version: "0.x.x", condition: sub.enabled, tags: [t], import-values: [] }
  - { name: sub, version: ">=0", alias: again, condition: again.enabled, repository: "file://charts/sub" }
"#;

const VALUES: &str = r#"
replicas: 1
broken: false
note: default
list: [1, two, 3.5, { a: b }]
again: { enabled: false }
nothing: null
"#;

const TYPES: &str = r##"
"yes": "yes"
number: 12
large: 9007199254740993
larger: 18446744073709551615
negative: -9223372036854775808
half: 1.5
huge: 1e21
tiny: 1.0e-9
million: 1000000
float: 100000000.0
"null": n
nothing: null
empty: ""
map: {}
seq: []
truth: true
date: 2024-01-02
octal: 0o17
hex: 0x1F
html: "<a href='x'>&amp;</a>"
unicode: "日本語 é 😀 \u2028 \u0085"
control: "\u0001\u001b tab\t"
long: "a very long line of text that goes on and on until it is longer than eighty columns, and then some more words"
lines: |
  one
    two
  three
keep: |+
  one

folded: >-
  a
  b
looks: { a: "1", b: "true", c: "null", d: "1e3", e: "~", f: "- x", g: "a: b", h: " x", i: "#c", j: "0x1", k: "=" }
nested: [[1, [2, [3]]], { a: [{ b: { c: [] } }] }]
"quoted key: x": 1
"1": one
"": empty
"##;

const ALL: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata: { name: "{{ .Release.Name }}-map" }
data:
  values: {{ .Values.note | quote }}
---
apiVersion: v1
kind: ConfigMap
metadata: { name: "{{ .Release.Name }}-late" }
---
apiVersion: v1
kind: Service
metadata: { name: "{{ .Release.Name }}" }
spec: { ports: [{ port: 80 }], clusterIP: None }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: "{{ .Release.Name }}" }
spec:
  replicas: {{ .Values.replicas }}
  selector: { matchLabels: { app: "{{ .Release.Name }}", part: web } }
  template:
    metadata: { labels: { app: "{{ .Release.Name }}", part: web } }
    spec: { containers: [{ name: main, image: any }] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: "{{ .Release.Name }}-{{ .Release.Namespace }}" }
{{- if .Values.broken }}
---
apiVersion: v1
kind: ConfigMap
metadata: { name: "Not A Name" }
{{- end }}
"#;

const HOOKS: &str = r#"
{{- range $i, $e := list "pre-install" "post-install,post-upgrade" "pre-upgrade" "pre-rollback,post-delete" "test" "test" }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ $.Release.Name }}-hook-{{ $i }}
  annotations:
    helm.sh/hook: {{ $e }}
    helm.sh/hook-weight: {{ sub $i 2 | quote }}
    {{- if mod $i 2 }}
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
    {{- else }}
    helm.sh/hook-delete-policy: before-hook-creation
    helm.sh/hook-output-log-policy: hook-failed
    {{- end }}
data: { html: "<&>" }
{{- end }}
"#;
