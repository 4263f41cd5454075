//! What others change is put right by events, and what is theirs is left to them.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::time::sleep;

use crate::story::{Story, port, read};
use crate::{SMALL, SMALL_VALUES, TINY, TINY_VALUES};

const EVERYTHING: &str = r#"
{{- $n := .Release.Name }}
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ $n }}"}
data: {a: b}
---
apiVersion: v1
kind: Secret
metadata: {name: "{{ $n }}"}
stringData: {a: b}
---
apiVersion: v1
kind: Service
metadata: {name: "{{ $n }}"}
spec: {selector: {app: "{{ $n }}"}, ports: [{port: 80}]}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: "{{ $n }}"}
automountServiceAccountToken: false
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: "{{ $n }}", labels: {size: small}}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
{{- range list "Deployment" "StatefulSet" "DaemonSet" }}
apiVersion: apps/v1
kind: {{ . }}
metadata: {name: "{{ $n }}"}
spec:
  {{ if eq . "StatefulSet" }}serviceName: "{{ $n }}"{{ end }}
  selector: {matchLabels: {app: "{{ $n }}-{{ . | lower }}"}}
  template:
    metadata: {labels: {app: "{{ $n }}-{{ . | lower }}"}}
    spec: {terminationGracePeriodSeconds: 0, containers: [{name: main, image: "app:1"}]}
---
{{- end }}
apiVersion: batch/v1
kind: Job
metadata: {name: "{{ $n }}"}
spec: {parallelism: 1, template: {spec: {restartPolicy: Never, containers: [{name: main, image: "app:1"}]}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: "{{ $n }}"}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: "{{ $n }}"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: "{{ $n }}"}
subjects: [{kind: ServiceAccount, name: "{{ $n }}", namespace: "{{ .Release.Namespace }}"}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "{{ $n }}"}
rules: [{apiGroups: [""], resources: [nodes], verbs: [get]}]
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: "{{ $n }}"}
spec: {defaultBackend: {service: {name: "{{ $n }}", port: {number: 80}}}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: "{{ $n }}"}
spec: {podSelector: {matchLabels: {app: "{{ $n }}"}}, policyTypes: [Ingress]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: "{{ $n }}"}
spec: {minAvailable: 1, selector: {matchLabels: {app: "{{ $n }}"}}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: "{{ $n }}"}
spec: {minReplicas: 1, maxReplicas: 1, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: "{{ $n }}"}}
---
apiVersion: stories.podium.dev/v1
kind: Other
metadata: {name: "{{ $n }}"}
spec: {a: {b: c}}
"#;

#[tokio::test]
async fn repairs_edits_and_deletions_in_each_kind() {
    let story = Story::new("drift", &[("templates/all.yaml", EVERYTHING)]).await;
    let _operator = story.operator().await;
    story.apply("drift-a", json!({})).await;
    story.wait_deployed("drift-a").await;
    let containers = json!([{"name": "main", "image": "evil:1"}]);
    let pods = json!({"spec": {"template": {"spec": {"containers": containers}}}});
    let edits = [
        ("ConfigMap", json!({"data": {"a": "x"}})),
        ("Secret", json!({"data": {"a": "eA=="}})),
        ("Service", json!({"spec": {"selector": {"app": "x"}}})),
        ("ServiceAccount", json!({"automountServiceAccountToken": true})),
        ("PersistentVolumeClaim", json!({"metadata": {"labels": {"size": "x"}}})),
        ("Deployment", pods.clone()),
        ("StatefulSet", pods.clone()),
        ("DaemonSet", pods),
        ("Job", json!({"spec": {"parallelism": 3}})),
        ("Role", json!({"rules": null})),
        ("RoleBinding", json!({"subjects": null})),
        ("ClusterRole", json!({"rules": []})),
        ("Ingress", json!({"spec": {"defaultBackend": {"service": {"name": "x"}}}})),
        ("NetworkPolicy", json!({"spec": {"podSelector": {"matchLabels": {"app": "x"}}}})),
        ("PodDisruptionBudget", json!({"spec": {"minAvailable": 2}})),
        ("HorizontalPodAutoscaler", json!({"spec": {"maxReplicas": 5}})),
        ("Other", json!({"spec": {"a": {"b": "x"}}})),
    ];
    // Controllers are still at work on what is new; the Job ends and cannot change then.
    story.wait_condition("drift-a", "Deployed", "True", "").await;
    let mut slowest = Duration::ZERO;
    for (kind, edit) in edits {
        let before = wanted(&story.get(kind, "drift-a").await);
        // Nothing is watched before the list of its kind is there.
        story.edit(kind, "drift-a", edit).await;
        let begin = Instant::now();
        story
            .until(&format!("{kind} to be put right"), async || {
                match wanted(&story.get(kind, "drift-a").await) {
                    now if now == before => Ok(()),
                    now => Err(format!("{now}\nbefore: {before}")),
                }
            })
            .await;
        slowest = slowest.max(begin.elapsed());
        let uid = story.get(kind, "drift-a").await["metadata"]["uid"].clone();
        story.delete(kind, "drift-a").await;
        if kind == "PersistentVolumeClaim" {
            // It is protected until nobody uses it.
            story
                .until("the claim to go", async || match story.find(kind, "drift-a").await {
                    Some(same) if same["metadata"]["uid"] == uid => Err(String::new()),
                    _ => Ok(()),
                })
                .await;
        }
        let begin = Instant::now();
        story
            .until(&format!("{kind} to be made anew"), async || match story.find(kind, "drift-a").await {
                Some(new) if new["metadata"]["uid"] != uid => Ok(()),
                seen => Err(format!("{seen:?}")),
            })
            .await;
        slowest = slowest.max(begin.elapsed());
    }
    println!("drift in 17 kinds, edited and deleted: put right after at most {slowest:?}");
    assert!(slowest < Duration::from_secs(4), "{slowest:?}");
    assert!(story.wait_event("drift-a", "Repaired").await.contains("is put right"));
    story.wait_revision("drift-a", 1).await;
    story.delete("Widget", "drift-a").await;
    story.wait_deleted("Widget", "drift-a").await;
    story.wait_deleted("ClusterRole", "drift-a").await;
    story.wait_deleted("Other", "drift-a").await;
}

/// An object without what the server and controllers write.
fn wanted(object: &Value) -> Value {
    let mut object = object.clone();
    object.as_object_mut().unwrap().remove("status");
    let kept = |key: &str| matches!(key, "labels" | "ownerReferences");
    object["metadata"].as_object_mut().unwrap().retain(|key, _| kept(key));
    object
}

#[tokio::test]
async fn leaves_scaled_and_applied_fields_to_their_managers() {
    let story = Story::new("scale", &[SMALL, SMALL_VALUES]).await;
    let operator = story.operator().await;
    story.apply("a", json!({})).await;
    story.wait_deployed("a").await;
    story.scale("a", 3);
    story
        .wait_field(
            "Widget",
            "a",
            "/status/leftToOthers/0",
            "apps/v1/Deployment scale/a: .spec.replicas is left to \"kubectl\", which scales it",
        )
        .await;
    assert_eq!(story.get("Deployment", "a").await["spec"]["replicas"], 3);
    // Other fields are still the chart's.
    story.edit("Deployment", "a", json!({"spec": {"revisionHistoryLimit": 3}})).await;
    let patch =
        json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "evil:1"}]}}}});
    story.edit("Deployment", "a", patch).await;
    story.wait_field("Deployment", "a", "/spec/template/spec/containers/0/image", "app:1").await;
    // It stays so over an upgrade and a restart.
    story.apply("a", json!({"color": "new"})).await;
    story.wait_revision("a", 2).await;
    assert_eq!(story.get("Deployment", "a").await["spec"]["replicas"], 3);
    story.wait_condition("a", "Ready", "True", "").await;
    operator.stop().await;
    story.watches("reconcilePeriod: 200ms");
    let (_operator, metrics) = story.operator_with_metrics().await;
    story.assert_no_writes(&metrics, 8).await;
    let found = story.get("Deployment", "a").await;
    assert_eq!((&found["spec"]["replicas"], &found["spec"]["revisionHistoryLimit"]), (&json!(3), &json!(3)));
}

#[tokio::test]
async fn repairs_drift_of_its_downtime_after_a_restart() {
    let story = Story::new("away", &[TINY, TINY_VALUES]).await;
    let operator = story.operator().await;
    for name in ["edited", "deleted", "changed", "gone", "same", "unrecorded"] {
        story.apply(name, json!({"color": "one"})).await;
        story.wait_deployed(name).await;
    }
    operator.kill();
    story.edit("ConfigMap", "edited", json!({"data": {"color": "x"}})).await;
    story.delete("ConfigMap", "deleted").await;
    story.apply("changed", json!({"color": "two"})).await;
    story.delete("Widget", "gone").await;
    story.apply("new", json!({"color": "new"})).await;
    story.delete("Secret", "sh.helm.release.v1.unrecorded.v1").await;
    let same = story.get("ConfigMap", "same").await;
    let operator = story.operator().await;
    for (name, color) in
        [("edited", "one"), ("deleted", "one"), ("changed", "two"), ("new", "new"), ("unrecorded", "one")]
    {
        story.wait_field("ConfigMap", name, "/data/color", color).await;
    }
    story.wait_deleted("Widget", "gone").await;
    story.wait_deleted("ConfigMap", "gone").await;
    story.wait_created("Secret", "sh.helm.release.v1.unrecorded.v1").await;
    assert_eq!(story.get("ConfigMap", "same").await, same);
    // A record that goes while the operator is there is written anew too.
    story.delete("Secret", "sh.helm.release.v1.edited.v1").await;
    story.wait_created("Secret", "sh.helm.release.v1.edited.v1").await;
    story.wait_deployed("edited").await;
    drop(operator);
}

#[tokio::test]
async fn writes_nothing_without_a_change() {
    let story = Story::new("still", &[SMALL, SMALL_VALUES]).await;
    story.watches("reconcilePeriod: 200ms");
    let (operator, metrics) = story.operator_with_metrics().await;
    for name in ["a", "b", "c"] {
        story.apply(name, json!({"color": name})).await;
    }
    for name in ["a", "b", "c"] {
        story.wait_deployed(name).await;
        story.wait_condition(name, "Ready", "True", "").await;
    }
    // Events are written a second late, or later where there is much to do.
    for name in ["a", "b", "c"] {
        story.wait_any_event(name).await;
    }
    sleep(Duration::from_secs(1)).await;
    story.assert_no_writes(&metrics, 3 * 8).await;
    let before = story.versions().await;
    operator.stop().await;
    let (_operator, metrics) = story.operator_with_metrics().await;
    story.assert_no_writes(&metrics, 3 * 8).await;
    assert_eq!(before, story.versions().await);
}

#[tokio::test]
async fn keeps_random_values_and_lookups_stable() {
    const CHANCE: &str = r#"
apiVersion: v1
kind: Secret
metadata: {name: "{{ .Release.Name }}-random"}
stringData: {password: "{{ randAlphaNum 20 }}", color: "{{ .Values.color }}"}
---
{{- $old := (lookup "v1" "Secret" .Release.Namespace (printf "%s-kept" .Release.Name)).data | default dict }}
apiVersion: v1
kind: Secret
metadata: {name: "{{ .Release.Name }}-kept"}
data: {password: "{{ $old.password | default (randAlphaNum 20 | b64enc) }}", color: "{{ .Values.color | b64enc }}"}
"#;
    let story = Story::new("chance", &[("templates/chance.yaml", CHANCE), TINY_VALUES]).await;
    story.watches("reconcilePeriod: 200ms");
    let (operator, metrics) = story.operator_with_metrics().await;
    story.apply("a", json!({})).await;
    story.wait_deployed("a").await;
    story.wait_any_event("a").await;
    sleep(Duration::from_secs(1)).await;
    story.assert_no_writes(&metrics, 8).await;
    let password = async |name: &str| story.get("Secret", name).await["data"]["password"].clone();
    let (random, kept) = (password("a-random").await, password("a-kept").await);
    operator.stop().await;
    let (_operator, metrics) = story.operator_with_metrics().await;
    story.assert_no_writes(&metrics, 8).await;
    // Drift is put right with the password that there was.
    story.delete("Secret", "a-random").await;
    assert_eq!(story.wait_created("Secret", "a-random").await["data"]["password"], random);
    story.delete("Secret", "a-kept").await;
    assert_eq!(story.wait_created("Secret", "a-kept").await["data"]["password"], kept);
    story.apply("a", json!({"color": "new"})).await;
    story.wait_revision("a", 2).await;
    assert_eq!(password("a-kept").await, kept);
}

#[tokio::test]
async fn repairs_drift_by_reconcile_period_without_dependent_watches() {
    let story = Story::new("period", &[TINY, TINY_VALUES]).await;
    story.watches("watchDependentResources: false");
    let _operator = story.operator().await;
    let often = json!({"annotations": {"helm.sdk.operatorframework.io/reconcile-period": "1s"}});
    story.apply_with("a", json!({}), often).await;
    story.wait_deployed("a").await;
    story.edit("ConfigMap", "a", json!({"data": {"color": "x"}})).await;
    story.wait_field("ConfigMap", "a", "/data/color", "red").await;
    story.delete("ConfigMap", "a").await;
    story.wait_created("ConfigMap", "a").await;
}

#[tokio::test]
async fn does_not_restart_pods_on_config_change_when_switched_off() {
    let off = SMALL.1.replace(
        "kind: Deployment\nmetadata: {name: \"{{ .Release.Name }}\"}",
        "kind: Deployment\nmetadata: {name: \"{{ .Release.Name }}\", annotations: {podium.dev/restart-on-config-change: \"false\"}}",
    );
    assert_ne!(off, SMALL.1);
    let story = Story::new("restarts", &[("templates/off.yaml", &off), SMALL_VALUES]).await;
    let _operator = story.operator().await;
    story.apply("a", json!({})).await;
    story.wait_deployed("a").await;
    story.apply("a", json!({"color": "new"})).await;
    story.wait_revision("a", 2).await;
    let found = story.get("Deployment", "a").await;
    assert_eq!(found["metadata"]["generation"], 1);
    assert!(found["spec"]["template"]["metadata"]["annotations"].is_null(), "{found}");
}

/// How many requests of a method an operator has sent.
fn sent(metrics: &str, method: &str) -> usize {
    let page = read(metrics, "/metrics");
    let lines = page.lines().filter(|line| line.starts_with("rest_client_requests_total{"));
    let of = lines.filter(|line| line.contains(&format!("method=\"{method}\"")));
    of.map(|line| line.rsplit(' ').next().unwrap().parse::<usize>().unwrap()).sum()
}

#[tokio::test]
async fn requests_grow_with_the_change_not_with_the_chart() {
    let fixed = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ .Release.Name }}-NUMBER\"}\ndata: {a: b}\n---\n";
    let many: String = (0..12).map(|number| fixed.replace("NUMBER", &number.to_string())).collect();
    let story = Story::new("frugal", &[TINY, TINY_VALUES, ("templates/many.yaml", &many)]).await;
    let metrics = format!("127.0.0.1:{}", port());
    let operator = story.start(|command| {
        command.args(["--metrics-bind-address", &metrics]);
    });
    operator.wait_log("all kinds are watched").await;
    story.apply("a", json!({"color": "red"})).await;
    story.wait_deployed("a").await;
    sleep(Duration::from_secs(2)).await;
    let before = (sent(&metrics, "GET"), sent(&metrics, "PATCH"));
    story.apply("a", json!({"color": "blue"})).await;
    story.wait_field("ConfigMap", "a", "/data/color", "blue").await;
    sleep(Duration::from_secs(2)).await;
    let cost = (sent(&metrics, "GET") - before.0, sent(&metrics, "PATCH") - before.1);
    assert!(cost.0 <= 5 && cost.1 <= 4, "{cost:?} GETs and PATCHes for one object of 13");
    // What somebody has touched is looked at again with the next change.
    story.edit("ConfigMap", "a-3", json!({"data": {"a": "c"}})).await;
    story.apply("a", json!({"color": "green"})).await;
    story.wait_field("ConfigMap", "a", "/data/color", "green").await;
    story.wait_field("ConfigMap", "a-3", "/data/a", "b").await;
    // What is missing comes back, though nothing of it has changed.
    story.delete("ConfigMap", "a-5").await;
    story.apply("a", json!({"color": "grey"})).await;
    story.wait_created("ConfigMap", "a-5").await;
}
