//! Random edits of a custom resource, valid and invalid, and of its objects: after each the cluster equals the render,
//! or the status says why not; going back to the first spec gives the first state.
//!
//! `PODIUM_FUZZ_SECONDS` is how long it goes on, `PODIUM_SEED` where it begins.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "helpers of tests")]

mod stage;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use podium_deploy::object::parse_manifest;
use podium_meta::Resource;
use podium_rig::cluster::Cluster;
use podium_rig::proxy::Proxy;
use podium_rig::random::Random;
use serde_json::{Value, json};

use stage::state::{State, kinds, record, text};
use stage::{Desk, Project, podium, shows, tail};

/// How long a step may take until what it leads to is there.
const PATIENCE: Duration = Duration::from_secs(25);
/// How many steps a sequence has.
const STEPS: usize = 12;
const NAME: &str = "demo";
/// A ConfigMap of somebody else.
const TAKEN: &str = "-taken";

const TEMPLATES: &str = r#"{{- if eq .Values.text "boom" }}{{ fail "boom" }}{{ end -}}
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}{{ .Values.name }}", labels: {flag: "{{ .Values.flag }}"}}
data:
  text: {{ .Values.text | quote }}
  number: {{ .Values.number | quote }}
  items: {{ .Values.items | toJson | quote }}
{{- range $key, $value := .Values.map }}
  map.{{ $key }}: {{ $value | quote }}
{{- end }}
---
apiVersion: v1
kind: Service
metadata: {name: "{{ .Release.Name }}"}
spec:
  selector: {app: "{{ .Values.app }}"}
  ports: [{port: {{ .Values.port }}, name: web}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: "{{ .Release.Name }}"}
spec:
  replicas: {{ .Values.number }}
  selector: {matchLabels: {app: "{{ .Values.app }}"}}
  template:
    metadata: {labels: {app: "{{ .Values.app }}"}}
    spec:
      containers:
      - name: c
        image: image
        args: {{ .Values.items | toJson }}
        env: [{name: TEXT, valueFrom: {configMapKeyRef: {name: "{{ .Release.Name }}{{ .Values.name }}", key: text}}}]
{{- range .Values.items }}
---
apiVersion: v1
kind: Secret
metadata: {name: "{{ $.Release.Name }}-item-{{ . }}"}
data: {item: "{{ . | b64enc }}"}
{{- end }}
"#;

const SCHEMA: &str = r#"{"type": "object", "properties": {
  "text": {"type": "string", "maxLength": 30}, "number": {"type": "integer", "minimum": 0, "maximum": 10},
  "flag": {"type": "boolean"}, "items": {"type": "array", "items": {"type": "string", "pattern": "^[a-z]+$"}},
  "map": {"type": "object", "additionalProperties": {"type": "string"}}, "app": {"type": "string"},
  "name": {"type": "string"}, "port": {"type": "integer"}}}"#;

fn files() -> Vec<(&'static str, String)> {
    let values = "text: none\nnumber: 1\nflag: false\nitems: []\nmap: {}\napp: demo\nname: \"\"\nport: 80\n";
    vec![
        ("Chart.yaml", "apiVersion: v2\nname: fuzzed\nversion: 0.1.0\n".to_owned()),
        ("values.yaml", values.to_owned()),
        ("values.schema.json", SCHEMA.to_owned()),
        ("templates/all.yaml", TEMPLATES.to_owned()),
    ]
}

/// What somebody does.
#[derive(Clone, Debug, PartialEq)]
enum Edit {
    /// A field of the spec, or none of it any more.
    Set(&'static str, Value),
    /// No spec at all: the chart's defaults.
    Empty,
    /// An annotation of the resource.
    Annotate(&'static str, Value),
    /// The resource goes, and comes again.
    Again,
    /// An object is deleted.
    Lose(Resource),
    /// An object is changed.
    Spoil(Resource, Value),
}

fn random_text(random: &mut Random) -> Value {
    let texts =
        ["", "one", "true", "0x10", "null", "ünï ☃", "a: b # c", "{{ .Values }}", "'\"\\n", " space "];
    texts[random.below(texts.len())].into()
}

/// An edit that is fine by itself.
fn fine(random: &mut Random) -> Edit {
    match random.below(9) {
        0 | 1 => Edit::Set("text", random_text(random)),
        2 => Edit::Set("number", random.below(4).into()),
        3 => Edit::Set("flag", random.chance(50).into()),
        4 => {
            let items = ["a", "b", "c", "d"];
            Edit::Set("items", items[..random.below(4)].iter().rev().copied().collect::<Vec<_>>().into())
        }
        5 => {
            let mut map = serde_json::Map::new();
            for _ in 0..random.below(3) {
                map.insert(random.pick(&["x", "y", "z"]).to_owned(), random_text(random));
            }
            Edit::Set("map", map.into())
        }
        6 => Edit::Set("name", random.pick(&["", "-b", "-c"]).into()),
        7 => Edit::Set("port", random.pick(&[80_i64, 81, 8080]).into()),
        _ => Edit::Set(random.pick(&["text", "number", "items", "map", "name", "unknown"]), Value::Null),
    }
}

fn edit(random: &mut Random) -> Edit {
    let maps = Resource::core("ConfigMap", "configmaps", true);
    let services = Resource::core("Service", "services", true);
    match random.below(20) {
        0..8 => fine(random),
        8 | 9 => match random.below(7) {
            0 => Edit::Set("text", 5.into()),
            1 => Edit::Set("number", 99.into()),
            2 => Edit::Set("number", "2".into()),
            3 => Edit::Set("items", json!({"a": 1})),
            4 => Edit::Set("items", json!(["A b"])),
            5 => Edit::Set("map", json!(["x"])),
            _ => Edit::Set("flag", "yes".into()),
        },
        10 => Edit::Set("text", "boom".into()),
        11 => Edit::Set("app", random.pick(&["demo", "other"]).into()),
        12 => Edit::Set("name", TAKEN.into()),
        13 => Edit::Set("port", random.pick(&[0_i64, 70_000, -1]).into()),
        14 => match random.below(3) {
            0 => Edit::Empty,
            1 => Edit::Annotate("helm.sdk.operatorframework.io/reconcile-period", "soon".into()),
            _ => Edit::Annotate("helm.sdk.operatorframework.io/upgrade-description", random_text(random)),
        },
        15 | 16 => Edit::Again,
        17 => Edit::Lose(if random.chance(50) { services } else { maps }),
        18 => Edit::Spoil(services, json!({"spec": {"selector": {"app": "spoilt"}}})),
        _ => Edit::Spoil(maps, json!({"data": {"text": "spoilt", "number": null}})),
    }
}

/// What the resource is, and what its release was the last time that it could be brought about.
#[derive(Clone)]
struct Wish {
    spec: Option<Value>,
    annotations: Value,
    /// The selector that is installed, if anything is.
    installed: Option<String>,
}

impl Wish {
    fn field(&self, name: &str) -> Value {
        self.spec.as_ref().and_then(|spec| spec.get(name)).cloned().unwrap_or_default()
    }

    fn app(&self) -> String {
        self.field("app").as_str().unwrap_or("demo").to_owned()
    }

    /// Whether it can be brought about.
    fn is_good(&self) -> bool {
        let is = |name: &str, fine: &dyn Fn(&Value) -> bool| {
            let value = self.field(name);
            value.is_null() || fine(&value)
        };
        let string = |value: &Value, fine: &dyn Fn(&str) -> bool| value.as_str().is_some_and(fine);
        let word = |value: &Value| string(value, &|text| text.bytes().all(|byte| byte.is_ascii_lowercase()));
        let period = self.annotations.get("helm.sdk.operatorframework.io/reconcile-period");
        period.is_none_or(Value::is_null)
            && is("text", &|value| string(value, &|text| text != "boom"))
            && is("number", &|value| value.as_u64().is_some_and(|number| number <= 10))
            && is("flag", &Value::is_boolean)
            && is("items", &|value| value.as_array().is_some_and(|items| items.iter().all(word)))
            && is("map", &Value::is_object)
            && is("port", &|value| value.as_u64().is_some_and(|port| (1..65_536).contains(&port)))
            && is("name", &|value| string(value, &|name| name != TAKEN))
            && self.installed.as_ref().is_none_or(|installed| *installed == self.app())
    }
}

struct Lane {
    desk: Desk,
    proxy: Proxy,
    project: Project,
    namespace: String,
    log: PathBuf,
    folder: PathBuf,
}

impl Lane {
    fn new(cluster: &Cluster, number: usize) -> Self {
        let folder = cluster.folder().join(format!("fuzz{number}"));
        let project = Project::write(&folder, &files());
        let (desk, proxy) = (Desk::new(cluster), Proxy::start(cluster).unwrap());
        let (namespace, log) = (String::new(), folder.join("log"));
        Lane { desk, proxy, project, namespace, log, folder }
    }

    fn create(&self, wish: &Wish) {
        let mut body = json!({"apiVersion": shows().kind.api_version(), "kind": "Show",
            "metadata": {"name": NAME, "annotations": wish.annotations}});
        if let Some(spec) = &wish.spec {
            body["spec"] = spec.clone();
        }
        self.desk.make(&shows(), Some(&self.namespace), &body);
    }

    /// Writes the spec and the annotations over what is there.
    fn write(&self, wish: &Wish) {
        stage::wait("the resource can be written", || {
            let mut object = self.desk.get(&shows(), &self.namespace, NAME).unwrap();
            match &wish.spec {
                Some(spec) => object["spec"] = spec.clone(),
                None => drop(object.as_object_mut().unwrap().remove("spec")),
            }
            object["metadata"]["annotations"] = wish.annotations.clone();
            let place = Some(self.namespace.as_str());
            self.desk.block(self.desk.client.replace(&shows(), place, NAME, &object, "rig")).is_ok()
        });
    }

    fn children(&self) -> Vec<Value> {
        let mut all = Vec::new();
        for kind in kinds("none.rig.podium").iter().filter(|kind| kind.kind.kind != "Show") {
            let ours =
                |object: &Value| object.pointer("/metadata/annotations/meta.helm.sh~1release-name").is_some();
            all.extend(self.desk.list(kind, &self.namespace).into_iter().filter(ours));
        }
        all
    }

    /// Does an edit; says whether there was something to do.
    fn act(&self, wish: &mut Wish, edit: &Edit, random: &mut Random) -> bool {
        match edit {
            Edit::Set(name, value) => {
                let spec = wish.spec.get_or_insert_with(|| json!({}));
                match value {
                    Value::Null => drop(spec.as_object_mut().unwrap().remove(*name)),
                    value => spec[*name] = value.clone(),
                }
                self.write(wish);
            }
            Edit::Empty => {
                wish.spec = None;
                self.write(wish);
            }
            Edit::Annotate(name, value) => {
                wish.annotations[*name] = value.clone();
                self.write(wish);
            }
            Edit::Again => {
                self.desk.delete(&shows(), &self.namespace, NAME);
                stage::wait("the resource goes", || self.desk.get(&shows(), &self.namespace, NAME).is_none());
                let left = self.children();
                assert!(left.is_empty(), "left behind: {left:?}");
                wish.installed = None;
                self.create(wish);
            }
            Edit::Lose(resource) | Edit::Spoil(resource, _) => {
                // What is not as it should be need not be mended.
                let same = |object: &Value| object["kind"] == resource.kind.kind.as_str();
                let names: Vec<Value> = self.children().into_iter().filter(same).collect();
                let Some(object) = names.get(random.below(names.len())).filter(|_| wish.is_good()) else {
                    return false;
                };
                let name = text(object, "/metadata/name");
                match edit {
                    Edit::Spoil(_, patch) => {
                        assert!(self.desk.merge(resource, &self.namespace, &name, patch));
                    }
                    _ => self.desk.delete(resource, &self.namespace, &name),
                }
            }
        }
        true
    }

    /// What the chart makes of a wish.
    fn render(&self, wish: &Wish) -> String {
        let values = self.folder.join("values.json");
        std::fs::write(&values, wish.spec.clone().unwrap_or_else(|| json!({})).to_string()).unwrap();
        let mut command = podium(self.proxy.kubeconfig(), &self.log);
        command.args(["chart", "template", NAME]).arg(&self.project.chart).arg("-f").arg(&values);
        command.args(["-n", &self.namespace]).stdout(std::process::Stdio::piped());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{:?}: {}", wish.spec, tail(&self.log, 5));
        String::from_utf8(output.stdout).unwrap()
    }

    /// What is not as a manifest wants it.
    fn differs(&self, manifest: &str) -> Option<String> {
        let wanted = parse_manifest(manifest).unwrap();
        let found = self.children();
        let name = |object: &Value| format!("{} {}", text(object, "/kind"), text(object, "/metadata/name"));
        let names: BTreeSet<String> = wanted.iter().map(|object| name(&object.body)).collect();
        let there: BTreeSet<String> = found.iter().map(name).collect();
        if names != there {
            return Some(format!("{names:?} expected, {there:?} found"));
        }
        for object in &wanted {
            let live = found.iter().find(|live| name(live) == name(&object.body))?;
            if let Some(place) = lacks(&object.body, live) {
                return Some(format!("{}{place}", name(live)));
            }
        }
        None
    }

    /// The manifests that are deployed: one at most, but for a moment.
    fn deployed(&self) -> Vec<String> {
        let secrets = self.desk.list(&Resource::core("Secret", "secrets", true), &self.namespace);
        let records =
            secrets.iter().filter(|secret| text(secret, "/type") == "helm.sh/release.v1").map(record);
        let deployed = records.filter(|record| text(record, "/info/status") == "deployed");
        deployed.map(|record| text(&record, "/manifest")).collect()
    }

    /// What is wrong with what a wish has led to.
    fn objection(&self, wish: &Wish, render: Option<&str>) -> Option<String> {
        let custom = self.desk.get(&shows(), &self.namespace, NAME).unwrap();
        let conditions =
            custom.pointer("/status/conditions").and_then(Value::as_array).cloned().unwrap_or_default();
        let holds = |kind: &str| conditions.iter().find(|c| c["type"] == kind && c["status"] == "True");
        let trouble = holds("ReleaseFailed").or(holds("Irreconcilable"));
        match render {
            Some(render) => {
                if let Some(trouble) = trouble {
                    return Some(format!("it is good, and the status says {trouble}"));
                }
                if holds("Deployed").is_none() {
                    return Some("it is good, and not Deployed".to_owned());
                }
                if custom.pointer("/status/observedGeneration") != custom.pointer("/metadata/generation") {
                    return Some("its generation is not observed".to_owned());
                }
                self.differs(render)
            }
            None => match trouble.map(|trouble| text(trouble, "/message")) {
                None => {
                    Some(format!("{:?} cannot be brought about, and the status does not say so", wish.spec))
                }
                Some(message) if message.is_empty() => Some("the status does not say why".to_owned()),
                // What was there before is there still.
                Some(_) => match self.deployed().as_slice() {
                    [] => None,
                    [manifest] => self.differs(manifest),
                    _ => Some("several revisions are deployed".to_owned()),
                },
            },
        }
    }

    /// Waits until a wish has come to its end.
    fn settle(&self, wish: &mut Wish) -> Result<(), String> {
        let render = wish.is_good().then(|| self.render(wish));
        let begin = Instant::now();
        let (mut quiet, mut good) = (usize::MAX, false);
        loop {
            assert!(self.proxy.ended().is_none(), "the operator has ended: {}", tail(&self.log, 20));
            std::thread::sleep(Duration::from_millis(60));
            let writes = self.proxy.numbers()[0];
            if writes != quiet && begin.elapsed() < PATIENCE {
                (quiet, good) = (writes, false);
                continue;
            }
            match self.objection(wish, render.as_deref()) {
                None if good => break,
                None => good = true,
                Some(what) if begin.elapsed() > PATIENCE => return Err(what),
                Some(_) => {
                    good = false;
                    std::thread::sleep(Duration::from_millis(100));
                }
            }
        }
        if wish.is_good() {
            wish.installed = Some(wish.app());
        }
        Ok(())
    }

    /// One sequence of edits.
    fn play(&mut self, seed: u64, steps: &AtomicU64, said: &AtomicU64) -> Result<(), String> {
        self.namespace = format!("fuzz-{seed}");
        self.desk.namespace(&self.namespace);
        let maps = Resource::core("ConfigMap", "configmaps", true);
        let taken =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("{NAME}{TAKEN}")}});
        self.desk.make(&maps, Some(&self.namespace), &taken);
        let _ = std::fs::remove_file(&self.log);
        let operator = &mut self.project.operator(self.proxy.kubeconfig(), &self.namespace, &self.log);
        self.proxy.run(operator).unwrap();
        let first = Wish { spec: Some(json!({"text": "first"})), annotations: json!({}), installed: None };
        let mut wish = first.clone();
        let mut history = Vec::new();
        self.create(&wish);
        let state =
            self.settle(&mut wish).map(|()| State::read(&self.desk, &self.namespace, "none.rig.podium"));
        let state = state.map_err(|what| self.explain(&history, what))?;
        for step in 0..STEPS as u64 {
            let mut random = Random::for_case(seed, "edit", step);
            let edit = edit(&mut random);
            history.push(edit.clone());
            if !self.act(&mut wish, &edit, &mut random) {
                history.pop();
                continue;
            }
            steps.fetch_add(1, Ordering::SeqCst);
            self.settle(&mut wish).map_err(|what| self.explain(&history, what))?;
            said.fetch_add(u64::from(!wish.is_good()), Ordering::SeqCst);
        }
        // The selector of what is installed cannot be changed back: then only a new one can be as the first was.
        if wish.installed.as_ref().is_some_and(|installed| *installed != first.app()) {
            self.act(&mut wish, &Edit::Again, &mut Random::new(0));
        }
        (wish.spec, wish.annotations) = (first.spec, first.annotations);
        self.write(&wish);
        history.push(Edit::Set("everything", "back".into()));
        self.settle(&mut wish).map_err(|what| self.explain(&history, what))?;
        let last = State::read(&self.desk, &self.namespace, "none.rig.podium");
        match last == state {
            true => Ok(()),
            false => Err(self.explain(&history, state.difference(&last))),
        }
    }

    fn explain(&self, history: &[Edit], what: String) -> String {
        format!("after {history:#?}:\n{what}\n{}", tail(&self.log, 15))
    }
}

/// Where an object lacks what is wanted.
fn lacks(wanted: &Value, live: &Value) -> Option<String> {
    match (wanted, live) {
        (Value::Object(wanted), Value::Object(live)) => {
            wanted.iter().find_map(|(key, value)| match live.get(key) {
                Some(found) => lacks(value, found).map(|place| format!(".{key}{place}")),
                // The server does not keep what is empty.
                None if value.as_array().is_some_and(Vec::is_empty) => None,
                None => Some(format!(".{key} is not there")),
            })
        }
        (Value::Array(wanted), Value::Array(live)) if wanted.len() == live.len() => {
            let mut pairs = wanted.iter().zip(live).enumerate();
            pairs.find_map(|(at, (wanted, live))| lacks(wanted, live).map(|place| format!("[{at}]{place}")))
        }
        (wanted, live) if wanted == live => None,
        (wanted, live) => Some(format!(": {wanted} expected, {live} found")),
    }
}

#[test]
fn the_cluster_equals_the_render_or_the_status_says_why() {
    let number = |name: &str, default: u64| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let cluster = stage::stage();
    let begin = Instant::now();
    let time = Duration::from_secs(number("PODIUM_FUZZ_SECONDS", 15));
    let next = AtomicU64::new(number("PODIUM_SEED", 1));
    let (sequences, steps, said) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for lane in 0..4 {
            let (next, sequences, steps, said, failures) = (&next, &sequences, &steps, &said, &failures);
            scope.spawn(move || {
                let mut lane = Lane::new(cluster, lane);
                while begin.elapsed() < time {
                    let seed = next.fetch_add(1, Ordering::SeqCst);
                    sequences.fetch_add(1, Ordering::SeqCst);
                    if let Err(what) = lane.play(seed, steps, said) {
                        println!("seed {seed}: {what}\n");
                        failures.lock().unwrap().push(seed);
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    println!(
        "{} sequences, {} edits, {} of which could not be brought about, in {} s; wrong: {failures:?}",
        sequences.into_inner(),
        steps.into_inner(),
        said.into_inner(),
        begin.elapsed().as_secs()
    );
    assert!(failures.is_empty(), "seeds {failures:?}");
}
