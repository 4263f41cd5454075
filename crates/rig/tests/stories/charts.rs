//! Charts that a story is told with: versions of one chart that add, drop and rename objects, fields, keys and items.

use std::fmt::Write;
use std::path::Path;

use podium_rig::random::Random;

/// How many versions a story's chart has.
pub const VERSIONS: usize = 3;

const EVENTS: [&str; 9] = [
    "pre-install",
    "post-install",
    "pre-upgrade",
    "post-upgrade",
    "pre-rollback",
    "post-rollback",
    "pre-delete",
    "post-delete",
    "test",
];
const POLICIES: [&str; 5] =
    ["", "before-hook-creation", "hook-succeeded", "hook-failed", "before-hook-creation,hook-succeeded"];

/// Writes the versions of the chart of a story. `token` is a word that stands for whoever acts in it; everything else is
/// the same for all. Hooks that helm 3 runs too are deleted before they run again: it cannot do without.
pub fn write(folder: &Path, token: &str, seed: u64, helm3: bool) {
    for version in 1..=VERSIONS {
        let chart = folder.join(format!("v{version}"));
        let mut random = Random::for_case(seed, "chart", version as u64);
        for (name, text) in files(&mut random, version, helm3) {
            let path = chart.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text.replace("TOKEN", token)).unwrap();
        }
    }
}

fn files(random: &mut Random, version: usize, helm3: bool) -> Vec<(&'static str, String)> {
    let mut files = vec![
        (
            "Chart.yaml",
            format!("apiVersion: v2\nname: story\nversion: 0.{version}.0\nappVersion: \"{version}\"\n"),
        ),
        (
            "values.yaml",
            format!(
                "replicas: 0\nnote: default{version}\ndeep: {{ a: 1, b: {version} }}\nonly{version}: true\n"
            ),
        ),
        ("crds/thing.yaml", CRD.to_owned()),
        ("files/text.txt", format!("a file of version {version}\n")),
        ("templates/all.yaml", objects(random, version)),
        ("templates/hooks.yaml", hooks(random, helm3)),
        ("templates/fail.yaml", FAIL.to_owned()),
    ];
    if random.chance(70) {
        files.push((
            "templates/NOTES.txt",
            "Revision {{ .Release.Revision }} of {{ .Release.Name }}: {{ .Values.note }}\n".to_owned(),
        ));
    }
    files
}

/// Some of a list, in its order.
fn some<'a>(random: &mut Random, items: &[&'a str]) -> Vec<&'a str> {
    items.iter().copied().filter(|_| random.chance(60)).collect()
}

/// A mapping of some keys on one line.
fn map(random: &mut Random, keys: &[&str]) -> String {
    let keys = some(random, keys);
    let pairs: Vec<String> = keys.iter().map(|key| format!("{key}: \"{}\"", random.below(3))).collect();
    format!("{{ {} }}", pairs.join(", "))
}

fn objects(random: &mut Random, version: usize) -> String {
    let mut out = String::new();
    for (kind, percent, body) in OBJECTS {
        if !random.chance(*percent) {
            continue;
        }
        // A renamed object is another one.
        let name = match random.chance(15) {
            true => format!("{kind}-{version}"),
            false => (*kind).to_owned(),
        };
        let env: Vec<String> = some(random, &["A", "B", "C"])
            .iter()
            .map(|n| format!("{{ name: {n}, value: \"{}\" }}", random.below(3)))
            .collect();
        let ports: Vec<String> = some(random, &["80", "81", "82"])
            .iter()
            .map(|p| format!("{{ name: p{p}, port: {p}, targetPort: {} }}", 8000 + random.below(3)))
            .collect();
        let ports = if ports.is_empty() { "{ name: only, port: 9 }".to_owned() } else { ports.join(", ") };
        let verbs = some(random, &["get", "list", "watch"]);
        let body = body
            .replace("NAME", &name)
            .replace("DATA", &map(random, &["a", "b", "c", "d"]))
            .replace("LABELS", &map(random, &["one", "two", "three"]))
            .replace("NOTES", &map(random, &["example.com/x", "example.com/y"]))
            .replace("ENV", &format!("[{}]", env.join(", ")))
            .replace("PORTS", &format!("[{ports}]"))
            .replace("VERBS", &format!("[get, {}]", verbs.join(", ")).replace(", ]", "]"))
            .replace("NUMBER", &random.below(5).to_string());
        let _ = write!(out, "---\n{}\n", body.trim());
    }
    out
}

fn hooks(random: &mut Random, helm3: bool) -> String {
    let mut out = String::new();
    for number in 0..random.below(4) {
        let mut events = some(random, &EVENTS);
        events.truncate(4);
        let events = events.join(",");
        let policy = match random.pick(&POLICIES) {
            "" => String::new(),
            policy if helm3 => format!("    helm.sh/hook-delete-policy: before-hook-creation,{policy}\n"),
            policy => format!("    helm.sh/hook-delete-policy: {policy}\n"),
        };
        let weight = random.between(-2, 2);
        let body = if random.chance(12) { POD } else { "data: { a: \"{{ .Release.Revision }}\" }" };
        let kind = if body == POD { "Pod" } else { "ConfigMap" };
        if events.is_empty() {
            continue;
        }
        let _ = write!(
            out,
            "---\napiVersion: v1\nkind: {kind}\nmetadata:\n  name: \"{{{{ .Release.Name }}}}-hook-{number}\"\n  annotations:\n    \
             helm.sh/hook: {events}\n    helm.sh/hook-weight: \"{weight}\"\n{policy}{body}\n"
        );
    }
    out
}

const POD: &str = "spec: { restartPolicy: Never, containers: [{ name: main, image: any }] }";

/// What makes a change fail, when a value says so.
const FAIL: &str = r#"
{{- if .Values.refused }}
---
apiVersion: v1
kind: ConfigMap
metadata: { name: "Not A Name" }
{{- end }}
{{- if .Values.hookfails }}
---
apiVersion: v1
kind: Pod
metadata:
  name: "{{ .Release.Name }}-fails"
  annotations:
    helm.sh/hook: {{ .Values.hookfails }}
    helm.sh/hook-delete-policy: {{ .Values.policy | default "before-hook-creation" }}
    rig.podium/fail: "true"
spec: { restartPolicy: Never, containers: [{ name: main, image: any }] }
{{- end }}
"#;

const CRD: &str = r"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: things.TOKEN.example.com }
spec:
  group: TOKEN.example.com
  scope: Namespaced
  names: { plural: things, singular: thing, kind: Thing, listKind: ThingList }
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: { type: object, x-kubernetes-preserve-unknown-fields: true }
";

/// Kinds with how often they are in a chart, in percent.
const OBJECTS: &[(&str, usize, &str)] = &[
    (
        "sa",
        70,
        r"
apiVersion: v1
kind: ServiceAccount
metadata: { name: '{{ .Release.Name }}-NAME', labels: LABELS, annotations: NOTES }
",
    ),
    (
        "map",
        85,
        r"
apiVersion: v1
kind: ConfigMap
metadata: { name: '{{ .Release.Name }}-NAME', labels: LABELS, annotations: NOTES }
data: {{ merge (dict `note` (toString .Values.note) `upgrade` (toString .Release.IsUpgrade) `install` (toString .Release.IsInstall) `revision` (toString .Release.Revision) `deep` (toJson .Values.deep)) (fromYaml `DATA`) | toYaml | nindent 2 }}
",
    ),
    (
        "secret",
        60,
        r"
apiVersion: v1
kind: Secret
metadata: { name: '{{ .Release.Name }}-NAME', labels: LABELS }
data: { {{- range $k, $v := fromYaml `DATA` }} {{ $k }}: {{ b64enc $v }}, {{- end }} }
",
    ),
    (
        "written",
        30,
        r"
apiVersion: v1
kind: Secret
metadata: { name: '{{ .Release.Name }}-NAME' }
stringData: DATA
",
    ),
    (
        "deploy",
        70,
        r"
apiVersion: apps/v1
kind: Deployment
metadata: { name: '{{ .Release.Name }}-NAME', labels: LABELS }
spec:
  replicas: {{ .Values.replicas }}
  selector: { matchLabels: { app: '{{ .Release.Name }}' } }
  template:
    metadata: { labels: { app: '{{ .Release.Name }}' }, annotations: NOTES }
    spec: { containers: [{ name: main, image: 'any:NUMBER', env: ENV, args: ['--n=NUMBER'] }] }
",
    ),
    (
        "state",
        40,
        r"
apiVersion: apps/v1
kind: StatefulSet
metadata: { name: '{{ .Release.Name }}-NAME', labels: LABELS }
spec:
  replicas: 0
  serviceName: '{{ .Values.immutable | default `x` }}'
  selector: { matchLabels: { app: '{{ .Release.Name }}-state' } }
  template:
    metadata: { labels: { app: '{{ .Release.Name }}-state' } }
    spec: { containers: [{ name: main, image: any, env: ENV }] }
",
    ),
    (
        "service",
        60,
        r"
apiVersion: v1
kind: Service
metadata: { name: '{{ .Release.Name }}-NAME' }
spec: { clusterIP: None, ports: PORTS, selector: { app: '{{ .Release.Name }}' } }
",
    ),
    (
        "job",
        30,
        r"
apiVersion: batch/v1
kind: Job
metadata: { name: '{{ .Release.Name }}-NAME', labels: LABELS }
spec:
  template:
    spec: { restartPolicy: Never, containers: [{ name: main, image: any }] }
",
    ),
    (
        "role",
        50,
        r"
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: '{{ .Release.Name }}-NAME' }
rules: [{ apiGroups: [''], resources: [pods], verbs: VERBS }]
",
    ),
    (
        "binding",
        50,
        r"
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: '{{ .Release.Name }}-NAME', labels: LABELS }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: any }
subjects: [{ kind: ServiceAccount, name: 'default', namespace: '{{ .Release.Namespace }}' }, { kind: User, apiGroup: rbac.authorization.k8s.io, name: 'uNUMBER' }]
",
    ),
    (
        "cluster",
        40,
        r"
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: 'TOKEN-NAME', labels: LABELS }
rules: [{ apiGroups: [''], resources: [nodes], verbs: VERBS }]
",
    ),
    (
        "thing",
        50,
        r"
apiVersion: TOKEN.example.com/v1
kind: Thing
metadata: { name: '{{ .Release.Name }}-NAME', labels: LABELS }
spec: { map: DATA, list: ENV, number: NUMBER }
",
    ),
    (
        "kept",
        40,
        r"
apiVersion: v1
kind: ConfigMap
metadata: { name: '{{ .Release.Name }}-NAME', annotations: { helm.sh/resource-policy: keep } }
data: DATA
",
    ),
    (
        "list",
        30,
        r"
apiVersion: v1
kind: List
items:
  - { apiVersion: v1, kind: ConfigMap, metadata: { name: '{{ .Release.Name }}-NAME-1' }, data: DATA }
  - { apiVersion: v1, kind: ConfigMap, metadata: { name: '{{ .Release.Name }}-NAME-2' }, data: DATA }
",
    ),
];
