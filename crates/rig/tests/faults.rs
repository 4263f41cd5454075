//! Whatever goes wrong between podium and the API server, the end is the same: for every story that writes, the
//! process is killed at its n-th write for every n, answers are lost, refused and old, watches break.
//!
//! `PODIUM_SOAK=N` makes N random plans per story instead of those that fit into CI. `PODIUM_SEED` chooses them;
//! `PODIUM_LANES` is how many run at the same time, `PODIUM_FAULT_SECONDS` how long new ones are begun.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "helpers of tests")]

mod stage;

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use podium_meta::Resource;
use podium_rig::cluster::Cluster;
use podium_rig::faults::{self, BLOWS};
use podium_rig::proxy::{Plan, Proxy};
use serde_json::json;

use stage::state::State;
use stage::{Desk, Project, podium, resource, shows, tail};

/// How long the end of a story may take after the last fault.
const PATIENCE: Duration = Duration::from_secs(25);
/// The name of the resource and its release.
const NAME: &str = "demo";
/// How many seconds new plans are begun in `make test`.
const BUDGET: usize = 30;

const TEMPLATES: &str = r#"apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}-config"}
data: {text: "{{ .Values.text }}"}
---
apiVersion: v1
kind: Secret
metadata: {name: "{{ .Release.Name }}-secret"}
stringData: {text: "{{ .Values.text }}"}
---
apiVersion: v1
kind: Service
metadata: {name: "{{ .Release.Name }}"}
spec:
  selector: {app: "{{ .Release.Name }}"}
  ports: [{port: 80}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: "{{ .Release.Name }}"}
spec:
  replicas: 1
  selector: {matchLabels: {app: "{{ .Release.Name }}"}}
  template:
    metadata: {labels: {app: "{{ .Release.Name }}"}}
    spec:
      containers: [{name: c, image: "image:{{ .Values.text }}", envFrom: [{configMapRef: {name: "{{ .Release.Name }}-config"}}]}]
{{- if .Values.left }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}-left"}
{{- end }}
{{- if .Values.right }}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: "{{ .Release.Name }}-right"}
{{- end }}
"#;

const HOOK: &str = r#"apiVersion: batch/v1
kind: Job
metadata:
  name: "{{ .Release.Name }}-hook"
  annotations: {helm.sh/hook: "pre-install,post-upgrade,pre-delete", helm.sh/hook-delete-policy: "before-hook-creation,hook-succeeded"}
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: c, image: "image"}]}
"#;

fn files(group: &str) -> Vec<(&'static str, String)> {
    let own = format!(
        "apiVersion: {group}/v1\nkind: Own\nmetadata: {{name: \"{{{{ .Release.Name }}}}\"}}\nspec: {{text: {{{{ .Values.text }}}}}}\n"
    );
    vec![
        ("Chart.yaml", "apiVersion: v2\nname: show\nversion: 0.1.0\n".to_owned()),
        ("values.yaml", "text: none\nleft: false\nright: false\n".to_owned()),
        ("templates/all.yaml", TEMPLATES.to_owned()),
        ("templates/hook.yaml", HOOK.to_owned()),
        ("templates/own.yaml", own),
        ("crds/own.yaml", stage::crd(group, "Own", "owns", false).to_string()),
    ]
}

/// A chapter of a story.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chapter {
    Create,
    Change,
    Exchange,
    Drift,
    Meddle,
    Delete,
    Install,
    Upgrade,
    Rollback,
    Uninstall,
}

use Chapter::*;

/// With the operator, and by hand.
const STORIES: [&[Chapter]; 2] =
    [&[Create, Change, Exchange, Drift, Meddle, Delete], &[Install, Upgrade, Rollback, Uninstall]];

impl Chapter {
    /// The command line, for what is done by hand.
    fn command(self, chart: &str) -> Option<Vec<String>> {
        let line = match self {
            Install => format!("install {NAME} {chart} --set text=one,left=true --replace"),
            Upgrade => format!("upgrade {NAME} {chart} --set text=two,left=false,right=true"),
            Rollback => format!("rollback {NAME} 1"),
            Uninstall => format!("uninstall {NAME}"),
            _ => return None,
        };
        Some(line.split(' ').map(str::to_owned).collect())
    }
}

/// How a chapter goes when nothing goes wrong.
struct Model {
    state: State,
    numbers: [usize; 3],
}

/// A namespace after the other, with everything that is needed for them.
struct Lane {
    desk: Desk,
    proxy: Proxy,
    /// How to reach the cluster without the proxy.
    direct: PathBuf,
    project: Project,
    group: String,
    number: usize,
    runs: usize,
    namespace: String,
    log: PathBuf,
}

impl Lane {
    fn new(cluster: &Cluster, number: usize) -> Self {
        let group = format!("lane{number}.rig.podium");
        let folder = cluster.folder().join(&group);
        let project = Project::write(&folder, &files(&group));
        let proxy = Proxy::start(cluster).unwrap();
        let (desk, log) = (Desk::new(cluster), folder.join("log"));
        let direct = cluster.kubeconfig().to_owned();
        Lane { desk, proxy, direct, project, group, number, runs: 0, namespace: String::new(), log }
    }

    /// Begins in a namespace of its own, without the chart's CRD.
    fn begin(&mut self) {
        self.runs += 1;
        self.namespace = format!("faults-{}-{}", self.number, self.runs);
        self.desk.delete_crd(&format!("owns.{}", self.group));
        self.desk.namespace(&self.namespace);
        self.proxy.kill();
        self.proxy.forget();
        self.proxy.plan(Plan::default());
        let _ = std::fs::remove_file(&self.log);
    }

    fn operator(&self) {
        let mut command = self.project.operator(self.proxy.kubeconfig(), &self.namespace, &self.log);
        self.proxy.run(&mut command).unwrap();
    }

    /// What a user, or somebody else, does.
    fn act(&self, chapter: Chapter) {
        let (shows, place) = (shows(), self.namespace.as_str());
        let merge = |resource: &Resource, name: &str, patch| {
            assert!(self.desk.merge(resource, place, name, &patch), "{chapter:?}: {patch}");
        };
        match chapter {
            Create => self.desk.make(
                &shows,
                Some(place),
                &json!({"apiVersion": shows.kind.api_version(), "kind": "Show", "metadata": {"name": NAME},
                    "spec": {"text": "one", "left": true}}),
            ),
            Change => merge(&shows, NAME, json!({"spec": {"text": "two"}})),
            Exchange => merge(&shows, NAME, json!({"spec": {"left": null, "right": true}})),
            Drift => {
                let deployments = resource("apps/v1", "Deployment", "deployments");
                self.desk.delete(
                    &Resource::core("ConfigMap", "configmaps", true),
                    place,
                    &format!("{NAME}-config"),
                );
                let containers = json!([{"name": "c", "image": "wrong"}]);
                merge(
                    &deployments,
                    NAME,
                    json!({"spec": {"template": {"spec": {"containers": containers}}}}),
                );
                self.desk.delete(&Resource::core("Service", "services", true), place, NAME);
            }
            Meddle => {
                // Somebody makes a revision by hand, which the operator may not have heard of when it makes its own.
                let mut command = podium(&self.direct, &self.log);
                command.args(["release", "rollback", NAME, "-n", place]);
                assert!(command.status().unwrap().success(), "{}", tail(&self.log, 3));
                merge(&shows, NAME, json!({"spec": {"text": "three"}}));
            }
            Delete => self.desk.delete(&shows, place, NAME),
            Install | Upgrade | Rollback | Uninstall => {}
        }
    }

    fn state(&self) -> State {
        State::read(&self.desk, &self.namespace, &self.group)
    }

    /// A chapter in which nothing goes wrong.
    fn model(&self, chapter: Chapter) -> Model {
        self.proxy.plan(Plan::default());
        self.act(chapter);
        if chapter.command(&self.chart()).is_some() {
            self.by_hand(chapter).unwrap();
        } else {
            faults::wait_until_quiet(&self.proxy, PATIENCE);
        }
        Model { state: self.state(), numbers: self.proxy.numbers() }
    }

    fn chart(&self) -> String {
        self.project.chart.display().to_string()
    }

    /// Runs a command until it says that it is done.
    fn by_hand(&self, chapter: Chapter) -> Result<(), String> {
        for again in 0..8 {
            // A person tries again, and knows that nobody else is at it.
            let recover = if again == 0 { &[][..] } else { &["--recover"][..] };
            let mut command = podium(self.proxy.kubeconfig(), &self.log);
            command.arg("release").args(chapter.command(&self.chart()).unwrap()).args(recover);
            command.args(["-n", &self.namespace]);
            self.proxy.run(&mut command).unwrap();
            let begin = Instant::now();
            let ended = loop {
                match self.proxy.ended() {
                    Some(ended) => break ended,
                    None if begin.elapsed() > PATIENCE => return Err("the command does not end".to_owned()),
                    None => std::thread::sleep(Duration::from_millis(5)),
                }
            };
            let said = tail(&self.log, 3);
            let over = match chapter {
                Install => said.contains("still in use"),
                Uninstall => said.contains("not found"),
                _ => false,
            };
            if ended.success() || again > 0 && over {
                return Ok(());
            }
        }
        Err("the command never succeeds".to_owned())
    }

    /// A chapter in which something goes wrong; says what is not as it should be at its end.
    fn play(&self, chapter: Chapter, plan: Plan, model: &Model) -> Result<usize, String> {
        self.proxy.plan(plan);
        self.act(chapter);
        let explain =
            |what: String| format!("{what}\n{}\n{}", self.proxy.log().join("\n"), tail(&self.log, 12));
        if chapter.command(&self.chart()).is_some() {
            self.by_hand(chapter).map_err(explain)?;
            let state = self.state();
            return match state == model.state {
                true => Ok(self.proxy.struck()),
                false => Err(explain(model.state.difference(&state))),
            };
        }
        let found =
            faults::converge(&self.proxy, &|| self.operator(), &|| self.state(), &model.state, PATIENCE);
        found.map_err(|state| explain(model.state.difference(&state)))
    }
}

fn number(name: &str) -> Option<usize> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn whatever_goes_wrong_the_end_is_the_same() {
    let cluster = stage::stage();
    let seed = number("PODIUM_SEED").unwrap_or(1) as u64;
    let begin = Instant::now();
    let mut first = Lane::new(cluster, 0);
    let mut models = Vec::new();
    for story in STORIES {
        first.begin();
        if story.contains(&Create) {
            first.operator();
        }
        models.push(story.iter().map(|chapter| first.model(*chapter)).collect::<Vec<_>>());
    }
    drop(first);
    // A run is one plan for every chapter of a story, one after the other.
    let soak = number("PODIUM_SOAK");
    let mut runs: Vec<(usize, usize, Vec<Plan>)> = Vec::new();
    for (story, (chapters, models)) in STORIES.iter().zip(&models).enumerate() {
        let writes = |model: &Model| model.numbers[0];
        let most = models.iter().map(writes).max().unwrap_or(0);
        let enough = most * BLOWS.len() + 9 + soak.unwrap_or(0);
        let of = |(chapter, model): (&Chapter, &Model)| {
            faults::plans(&format!("{chapter:?}"), model.numbers[0], enough, seed)
        };
        let all: Vec<Vec<Plan>> = chapters.iter().zip(models).map(of).collect();
        runs.extend((0..enough).map(|at| (at, story, all.iter().map(|plans| plans[at].clone()).collect())));
        for (chapter, model) in chapters.iter().zip(models) {
            println!("{chapter:?}: {} writes, {} objects at its end", writes(model), model.state.0.len());
            assert!(writes(model) > 1, "{chapter:?} does not write");
        }
    }
    runs.sort_by_key(|(at, story, _)| (*at, *story));
    let only = number("PODIUM_RUN");
    let budget = Duration::from_secs(number("PODIUM_FAULT_SECONDS").unwrap_or(BUDGET) as u64);
    let (next, done, struck) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let failures = Mutex::new(Vec::new());
    let work = |number: usize| {
        let mut lane = Lane::new(cluster, number);
        while let Some((at, (_, story, plans))) =
            Some(next.fetch_add(1, Ordering::SeqCst)).and_then(|at| Some((at, runs.get(at)?)))
        {
            if only.is_some_and(|only| only != at) {
                continue;
            }
            if soak.is_none() && begin.elapsed() > budget {
                break;
            }
            lane.begin();
            if STORIES[*story].contains(&Create) {
                lane.operator();
            }
            for ((chapter, plan), model) in STORIES[*story].iter().zip(plans).zip(&models[*story]) {
                let played = lane.play(*chapter, plan.clone(), model);
                done.fetch_add(1, Ordering::SeqCst);
                match played {
                    Ok(times) => drop(struck.fetch_add(usize::from(times > 0), Ordering::SeqCst)),
                    Err(what) => {
                        let what = format!("run {at}, {chapter:?} with {plan:?}:\n{what}");
                        println!("{what}\n");
                        failures.lock().unwrap().push(what);
                        break;
                    }
                }
            }
            lane.proxy.kill();
        }
    };
    std::thread::scope(|scope| {
        for number in 1..=number("PODIUM_LANES").unwrap_or(6) {
            let work = &work;
            scope.spawn(move || work(number));
        }
    });
    let failures = failures.into_inner().unwrap();
    println!(
        "{} plans, {} of which struck, in {} s; {} ended otherwise than without faults",
        done.into_inner(),
        struck.into_inner(),
        begin.elapsed().as_secs(),
        failures.len()
    );
    assert!(failures.is_empty(), "{} plans ended otherwise", failures.len());
}
