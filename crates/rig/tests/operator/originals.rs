//! The same project, resources and edits under both originals and ours.

use std::process::Command;

use podium_rig::tools;
use serde_json::{Value, json};

use crate::masks::MASKS;
use crate::story::{Operator, Story, condition};
use crate::{SMALL, SMALL_VALUES};

const MORE: &str = r#"
apiVersion: v1
kind: Service
metadata: {name: "{{ .Release.Name }}"}
spec: {selector: {app: "{{ .Release.Name }}"}, ports: [{port: 80, name: web}]}
---
apiVersion: v1
kind: Secret
metadata: {name: "{{ .Release.Name }}"}
stringData: {color: "{{ .Values.color }}"}
---
{{- if .Values.extra }}
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}-extra"}
data: {a: b}
{{- end }}
"#;
const KINDS: [&str; 4] = ["ConfigMap", "Deployment", "Service", "Secret"];

/// Starts one of the originals in the namespace of a story.
fn original(story: &Story, program: &str) -> Operator {
    story.start(|command| {
        // In the images of both it has this name, which is also that of their field manager.
        let path = story.path("helm-operator");
        if !path.exists() {
            std::os::unix::fs::symlink(tools::kubernetes(program).unwrap(), &path).unwrap();
        }
        *command = Command::new(path);
        command
            .args([
                "run",
                "--metrics-bind-address=0",
                "--health-probe-bind-address=0",
                "--reconcile-period=2s",
            ])
            .current_dir(story.path(""))
            .env("KUBECONFIG", story.cluster.kubeconfig())
            .env("WATCH_NAMESPACE", &story.name);
    })
}

/// The path and both values of the first difference.
fn difference(path: &str, ours: &Value, theirs: &Value) -> Option<String> {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            let null = Value::Null;
            keys.into_iter().find_map(|key| {
                let of = |map: &serde_json::Map<String, Value>| map.get(key).unwrap_or(&null).clone();
                difference(&format!("{path}/{key}"), &of(a), &of(b))
            })
        }
        (a, b) if a == b => None,
        (a, b) => Some(format!("{path}: ours {a}, theirs {b}")),
    }
}

/// An object without what is masked, as if it was in any namespace.
async fn plain(story: &Story, kind: &str) -> Value {
    let text = story.get(kind, "same").await.to_string().replace(&story.name, "anywhere");
    let mut object: Value = serde_json::from_str(&text).unwrap();
    for (path, _) in MASKS {
        let (parent, key) = path.rsplit_once('/').unwrap();
        let key = key.replace("~1", "/");
        if let Some(map) = object.pointer_mut(parent).and_then(Value::as_object_mut) {
            map.remove(&key);
        }
    }
    // A mapping that only had what is masked is none.
    let template = object.pointer_mut("/spec/template/metadata").and_then(Value::as_object_mut);
    if let Some(metadata) = template.filter(|metadata| metadata.get("annotations") == Some(&json!({}))) {
        metadata.remove("annotations");
    }
    for field in ["labels", "annotations"] {
        if object["metadata"][field] == json!({}) {
            object["metadata"].as_object_mut().unwrap().remove(field);
        }
    }
    object
}

/// The edits: an install, a change, an object more and less, and drift.
async fn live(story: &Story) {
    story.apply("same", json!({"color": "green", "extra": true})).await;
    story.wait_condition("same", "Deployed", "True", "").await;
    story.wait_created("ConfigMap", "same-extra").await;
    story.apply("same", json!({"color": "blue", "replicas": 2})).await;
    story.wait_field("ConfigMap", "same", "/data/color", "blue").await;
    story.wait_deleted("ConfigMap", "same-extra").await;
    story.wait_condition("same", "Deployed", "True", "UpgradeSuccessful").await;
    story.edit("ConfigMap", "same", json!({"data": {"color": "x", "theirs": "stays"}})).await;
    story.wait_field("ConfigMap", "same", "/data/color", "blue").await;
}

#[tokio::test]
#[ignore = "compares with upstream programs: make tools"]
async fn upstream_operators_create_the_same_objects_and_hand_them_over() {
    println!("not compared:");
    MASKS.iter().for_each(|(path, why)| println!("  {path}: {why}"));
    let begin =
        async |name: &str| Story::new(name, &[SMALL, SMALL_VALUES, ("templates/more.yaml", MORE)]).await;
    let (ours, sdk, plugins) =
        (begin("original-ours").await, begin("original-sdk").await, begin("original-plugins").await);
    // The chart's name is part of what is compared.
    for story in [&ours, &sdk, &plugins] {
        story.file("chart/Chart.yaml", "apiVersion: v2\nname: same\nversion: 0.1.0\n");
    }
    let _ours = ours.operator().await;
    let (one, two) = (original(&sdk, "helm-operator"), original(&plugins, "helm-operator-plugins"));
    tokio::join!(live(&ours), live(&sdk), live(&plugins));
    for kind in KINDS {
        let mine = plain(&ours, kind).await;
        for theirs in [&sdk, &plugins] {
            assert_eq!(difference("", &mine, &plain(theirs, kind).await), None, "{kind} of {}", theirs.name);
        }
    }
    println!("{} kinds are equal field by field under 3 operators", KINDS.len());
    tokio::join!(
        handed_over(&sdk, one, "helm-operator"),
        handed_over(&plugins, two, "helm-operator-plugins"),
    );
}

/// Ours goes on with what an original has made, and the original with what ours has.
async fn handed_over(story: &Story, old: Operator, program: &str) {
    // Operator-sdk's makes an object anew without the marks of its release.
    story.delete("Service", "same").await;
    story.wait_created("Service", "same").await;
    old.stop().await;
    let uid = async |kind: &str| story.get(kind, "same").await["metadata"]["uid"].clone();
    let (map, deployment) = (uid("ConfigMap").await, uid("Deployment").await);
    let operator = story.operator().await;
    story.apply("same", json!({"color": "taken over"})).await;
    story.wait_field("ConfigMap", "same", "/data/color", "taken over").await;
    let custom = story.wait_deployed("same").await;
    assert!(condition(&custom, "Ready").is_some());
    let service = story.get("Service", "same").await;
    assert_eq!(service["metadata"]["annotations"]["meta.helm.sh/release-name"], "same");
    story.edit("Deployment", "same", json!({"spec": {"minReadySeconds": 1}})).await;
    // Fields that the old operator wrote and the chart does not have any more are not left behind.
    assert_eq!(story.get("Deployment", "same").await["spec"]["replicas"], 1);
    operator.stop().await;
    let back = original(story, program);
    story.apply("same", json!({"color": "back"})).await;
    story.wait_field("ConfigMap", "same", "/data/color", "back").await;
    assert_eq!((uid("ConfigMap").await, uid("Deployment").await), (map, deployment));
    story.delete("Widget", "same").await;
    story.wait_deleted("Widget", "same").await;
    story.wait_deleted("ConfigMap", "same").await;
    drop(back);
}
