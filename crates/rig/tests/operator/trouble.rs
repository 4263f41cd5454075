//! What goes wrong is said, does no harm, and goes on by itself.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::time::sleep;

use crate::story::{Operator, Story, condition, crd, port, read};
use crate::{SMALL, SMALL_VALUES, TINY, TINY_VALUES};

#[tokio::test]
async fn rejects_values_that_fail_the_schema() {
    let schema = r#"{"type": "object", "properties": {"color": {"type": "string"}}}"#;
    let story = Story::new("schema", &[TINY, TINY_VALUES, ("values.schema.json", schema)]).await;
    let _operator = story.operator().await;
    story.apply("never", json!({"color": 5})).await;
    story.wait_condition("never", "Irreconcilable", "True", "color").await;
    assert!(story.find("ConfigMap", "never").await.is_none());
    story.apply("a", json!({"color": "good"})).await;
    story.wait_deployed("a").await;
    story.apply("a", json!({"color": 5})).await;
    let said = story.wait_condition("a", "Irreconcilable", "True", "next try at").await;
    assert!(said["message"].as_str().unwrap().contains("color"), "{said}");
    assert_eq!(story.get("ConfigMap", "a").await["data"]["color"], "good");
    story.apply("a", json!({"color": "better"})).await;
    story.wait_field("ConfigMap", "a", "/data/color", "better").await;
    assert!(condition(&story.wait_deployed("a").await, "Irreconcilable").is_none());
    story.delete("Widget", "never").await;
    story.wait_deleted("Widget", "never").await;
}

#[tokio::test]
async fn reports_a_chart_that_fails_to_render() {
    let broken = "{{ if .Values.broken }}{{ fail \"it is broken on purpose\" }}{{ end }}";
    let story = Story::new("broken", &[TINY, TINY_VALUES, ("templates/broken.yaml", broken)]).await;
    let operator = story.operator().await;
    story.apply("a", json!({"broken": true})).await;
    story.wait_condition("a", "Irreconcilable", "True", "it is broken on purpose").await;
    assert!(story.wait_event("a", "ReconcileError").await.contains("on purpose"));
    operator.wait_log("it is broken on purpose").await;
    story.apply("a", json!({})).await;
    story.wait_deployed("a").await;
}

#[tokio::test]
async fn reports_a_release_record_without_labels() {
    let story = Story::new("unlisted", &[TINY, TINY_VALUES]).await;
    let _operator = story.operator().await;
    // From then on records are listed as the server has them at hand.
    story.apply("known", json!({})).await;
    story.wait_deployed("known").await;
    let hidden = "sh.helm.release.v1.hidden.v1";
    story.create(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": hidden}})).await;
    story.apply("hidden", json!({})).await;
    let said = story.wait_condition("hidden", "ReleaseFailed", "True", "InstallError").await;
    assert!(said["message"].as_str().unwrap().contains("already exists"), "{said}");
    assert!(story.find("ConfigMap", "hidden").await.is_none());
    story.delete("Secret", hidden).await;
    story.wait_deployed("hidden").await;
}

#[tokio::test]
async fn rolls_back_rejected_upgrades_and_retries_with_backoff() {
    const LAST: &str = "{{ if .Values.bad }}\napiVersion: v1\nkind: Service\nmetadata: {name: \"{{ .Release.Name }}\"}\n\
        spec: {ports: [{port: 99999}]}\n{{ end }}";
    let story = Story::new("refused", &[TINY, TINY_VALUES, ("templates/last.yaml", LAST)]).await;
    let operator = story.operator().await;
    story.apply("first", json!({"bad": true})).await;
    let said = story.wait_condition("first", "ReleaseFailed", "True", "InstallError").await;
    assert!(said["message"].as_str().unwrap().contains("99999"), "{said}");
    story.apply("a", json!({"color": "good"})).await;
    story.wait_deployed("a").await;
    story.apply("a", json!({"color": "bad", "bad": true})).await;
    let said = story.wait_condition("a", "ReleaseFailed", "True", "UpgradeError").await;
    let message = said["message"].as_str().unwrap();
    assert!(message.contains("99999") && message.contains("next try at"), "{said}");
    story.wait_field("ConfigMap", "a", "/data/color", "good").await;
    // Half a second, one, two, four: each pause is longer than all before it, not one of hundreds.
    let tries = || operator.log().matches("reason=UpgradeError").count();
    let more = async |count: usize| {
        story
            .until(&format!("{count} tries"), async || match tries() {
                seen if seen < count => Err(seen.to_string()),
                seen => {
                    assert_eq!(seen, count, "{}", operator.log());
                    Ok(())
                }
            })
            .await;
        Instant::now()
    };
    let seen = tries();
    let (one, two) = (more(seen + 1).await, more(seen + 2).await);
    let pause = two - one;
    assert!(pause > Duration::from_millis(800), "{pause:?}\n{}", operator.log());
    let records = story.list("Secret").await.len();
    assert!(records <= 22, "{records} records");
    assert!(
        story
            .find("ConfigMap", "first")
            .await
            .is_none_or(|map| map["metadata"]["deletionTimestamp"].is_string())
    );
    story.apply("a", json!({"color": "better"})).await;
    story.wait_field("ConfigMap", "a", "/data/color", "better").await;
    assert!(condition(&story.wait_deployed("a").await, "ReleaseFailed").is_none());
    story.apply("first", json!({})).await;
    story.wait_deployed("first").await;
}

#[tokio::test]
async fn repairs_drift_while_an_upgrade_fails() {
    const LAST: &str = "{{ if .Values.bad }}\napiVersion: v1\nkind: Service\nmetadata: {name: \"{{ .Release.Name }}\"}\n\
        spec: {ports: [{port: 99999}]}\n{{ end }}{{ if .Values.broken }}{{ fail \"broken on purpose\" }}{{ end }}";
    let story = Story::new("kept", &[TINY, TINY_VALUES, ("templates/last.yaml", LAST)]).await;
    let operator = story.operator().await;
    for name in ["refused", "broken"] {
        story.apply(name, json!({"color": "good"})).await;
        story.wait_deployed(name).await;
    }
    story.apply("refused", json!({"color": "bad", "bad": true})).await;
    story.wait_condition("refused", "ReleaseFailed", "True", "UpgradeError").await;
    story.apply("broken", json!({"broken": true})).await;
    story.wait_condition("broken", "Irreconcilable", "True", "on purpose").await;
    // What is put right while nothing is tried is not put right by a try: pauses grow until one is long enough.
    let heals = async |operator: &Operator, name: &str| {
        let tries = || operator.log().matches("reason=").count();
        for _ in 0..6 {
            let before = tries();
            story.edit("ConfigMap", name, json!({"data": {"color": "drifted"}})).await;
            story.wait_field("ConfigMap", name, "/data/color", "good").await;
            story.delete("ConfigMap", name).await;
            story.wait_field("ConfigMap", name, "/data/color", "good").await;
            if tries() == before {
                return;
            }
        }
        panic!("{name} is never put right between two tries\n{}", story.logs());
    };
    for name in ["refused", "broken"] {
        heals(&operator, name).await;
    }
    let tries = operator.log().matches("reason=UpgradeError").count();
    assert!(tries <= 7, "mending is no try: {tries}\n{}", operator.log());
    operator.stop().await;
    // Also of what a new operator has never seen well.
    story.edit("ConfigMap", "broken", json!({"data": {"color": "drifted"}})).await;
    let operator = story.operator().await;
    story.wait_field("ConfigMap", "broken", "/data/color", "good").await;
    heals(&operator, "broken").await;
    for name in ["refused", "broken"] {
        story.apply(name, json!({"color": "better"})).await;
        story.wait_field("ConfigMap", name, "/data/color", "better").await;
        story.wait_deployed(name).await;
    }
}

#[tokio::test]
async fn keeps_the_old_state_when_a_field_is_immutable() {
    let job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: \"{{ .Release.Name }}\"}\nspec: {template: {spec: \
        {restartPolicy: Never, containers: [{name: main, image: \"{{ .Values.image }}\"}]}}}\n";
    let story = Story::new(
        "immutable",
        &[TINY, ("templates/job.yaml", job), ("values.yaml", "image: a\ncolor: a\n")],
    )
    .await;
    let _operator = story.operator().await;
    story.apply("a", json!({})).await;
    story.wait_deployed("a").await;
    story.apply("a", json!({"image": "b", "color": "b"})).await;
    story.wait_condition("a", "ReleaseFailed", "True", "field is immutable").await;
    story.wait_field("ConfigMap", "a", "/data/color", "a").await;
    story.apply("a", json!({"color": "c"})).await;
    story.wait_deployed("a").await;
    story.wait_field("ConfigMap", "a", "/data/color", "c").await;
}

#[tokio::test]
async fn waits_for_a_crd_that_comes_and_goes() {
    let story = Story::for_kind("Late", "late", &[TINY, TINY_VALUES]).await;
    let operator = story.start(|_| ());
    operator.wait_log("the cluster does not know this kind yet").await;
    story.create(crd("Late", "Namespaced")).await;
    operator.wait_log("all kinds are watched").await;
    story.apply("a", json!({})).await;
    story.wait_deployed("a").await;
    // With the definition its resources go, and the operator still takes away what it made.
    story.delete("CustomResourceDefinition", "lates.stories.podium.dev").await;
    story.wait_deleted("CustomResourceDefinition", "lates.stories.podium.dev").await;
    story.wait_deleted("ConfigMap", "a").await;
    story.create(crd("Late", "Namespaced")).await;
    story
        .until("the kind", async || {
            match story
                .kinds
                .refresh()
                .await
                .unwrap()
                .find(&podium_meta::GroupVersionKind::new("stories.podium.dev/v1", "Late"))
            {
                Some(_) => Ok(()),
                None => Err(String::new()),
            }
        })
        .await;
    story.apply("b", json!({})).await;
    story.wait_deployed("b").await;
}

#[tokio::test]
async fn uninstalls_when_its_namespace_is_deleted() {
    const FAR: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"from-{{ .Release.Name }}\", namespace: ending-far}\n";
    let story = Story::new("ending", &[SMALL, SMALL_VALUES, ("templates/far.yaml", FAR)]).await;
    story.namespace("ending-far").await;
    let _operator = story.operator_everywhere().await;
    for name in ["a", "b", "c"] {
        story.apply(name, json!({})).await;
    }
    for name in ["a", "b", "c"] {
        story.wait_deployed(name).await;
    }
    story.delete("Namespace", "ending").await;
    story.wait_deleted("Namespace", "ending").await;
    for name in ["a", "b", "c"] {
        story.wait_deleted("ConfigMap", &format!("ending-far/from-{name}")).await;
    }
}

#[tokio::test]
async fn reports_a_missing_permission_and_goes_on_when_granted() {
    let story = Story::new("moody", &[TINY, TINY_VALUES]).await;
    story.manifests(&role("moody", "moody", "configmaps"));
    let kubeconfig = story.cluster.kubeconfig_of("moody");
    let operator = story
        .operator_with(|command| {
            command.env("KUBECONFIG", kubeconfig);
        })
        .await;
    story.apply("a", json!({})).await;
    story.wait_deployed("a").await;
    // Taken away: a change fails and says what is missing.
    story.manifests(&role("moody", "moody", "services"));
    story.apply("a", json!({"color": "new"})).await;
    let said = story.wait_condition("a", "ReleaseFailed", "True", "forbidden").await;
    let message = said["message"].as_str().unwrap();
    assert!(message.contains("configmaps") && message.contains("moody"), "{message}");
    assert!(story.wait_event("a", "UpgradeError").await.contains("configmaps"));
    assert!(operator.log().contains("configmaps"));
    // Given back: it goes on by itself.
    story.manifests(&role("moody", "moody", "configmaps"));
    story.wait_field("ConfigMap", "a", "/data/color", "new").await;
    story.wait_deployed("a").await;
}

/// Waits until a metric has a line, or has none.
async fn measures(story: &Story, metrics: &str, kind: &str, what: &str, count: Option<usize>) {
    let begin = format!("podium_missing{{kind=\"{kind}\",what=\"{what}\"}} ");
    story
        .until(&format!("{begin}{count:?}"), async || {
            let page = read(metrics, "/metrics");
            let found = page.lines().find_map(|line| line.strip_prefix(&begin)).map(str::to_owned);
            if found == count.map(|count| count.to_string()) { Ok(()) } else { Err(format!("{found:?}")) }
        })
        .await;
}

#[tokio::test]
async fn counts_missing_crds_namespaces_and_charts_in_metrics() {
    const FAR: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ .Release.Name }}\", namespace: measures-far}\n";
    let story =
        Story::for_kind("Absent", "measures", &[TINY, TINY_VALUES, ("templates/far.yaml", FAR)]).await;
    let metrics = format!("127.0.0.1:{}", port());
    let operator = story.start(|command| {
        command.args(["--reload", "--metrics-bind-address", &metrics]);
    });
    operator.wait_log("the cluster does not know this kind yet").await;
    let kind = "stories.podium.dev/v1/Absent";
    measures(&story, &metrics, kind, "crd", Some(1)).await;
    story.create(crd("Absent", "Namespaced")).await;
    operator.wait_log("all kinds are watched").await;
    measures(&story, &metrics, kind, "crd", None).await;
    for name in ["a", "b"] {
        story.apply(name, json!({})).await;
        story.wait_condition(name, "ReleaseFailed", "True", "measures-far").await;
    }
    measures(&story, &metrics, kind, "namespace", Some(2)).await;
    story.namespace("measures-far").await;
    story.wait_deployed("a").await;
    story.wait_deployed("b").await;
    measures(&story, &metrics, kind, "namespace", None).await;
    story.file("chart/values.yaml", "{");
    measures(&story, &metrics, kind, "chart", Some(1)).await;
    story.file("chart/values.yaml", "color: blue\n");
    measures(&story, &metrics, kind, "chart", None).await;
    story.wait_field("ConfigMap", "a", "/data/color", "blue").await;
}

#[tokio::test]
async fn waits_for_a_chart() {
    let story = Story::new("chartless", &[TINY, TINY_VALUES]).await;
    let (chart, away) = (story.path("chart"), story.path("away"));
    std::fs::rename(&chart, &away).unwrap();
    let metrics = format!("127.0.0.1:{}", port());
    let operator = story.start(|command| {
        command.args(["--metrics-bind-address", &metrics]);
    });
    operator.wait_log("the chart cannot be used, and is waited for").await;
    operator.wait_log("all kinds are watched").await;
    measures(&story, &metrics, "stories.podium.dev/v1/Widget", "chart", Some(1)).await;
    story.apply("a", json!({})).await;
    story.wait_condition("a", "Irreconcilable", "True", "the chart ").await;
    story.apply("b", json!({})).await;
    story.wait_condition("b", "Irreconcilable", "True", "the chart ").await;
    // What waits may go.
    story.delete("Widget", "b").await;
    story.wait_deleted("Widget", "b").await;
    std::fs::rename(away, chart).unwrap();
    story.wait_deployed("a").await;
    story.wait_field("ConfigMap", "a", "/data/color", "red").await;
    measures(&story, &metrics, "stories.podium.dev/v1/Widget", "chart", None).await;
}

#[tokio::test]
async fn reports_a_missing_watch_permission() {
    let story = Story::new("deaf", &[TINY, TINY_VALUES]).await;
    let some = role("deaf", "deaf", "services").replace(
        r#"{"apiGroups":["coordination.k8s.io"]"#,
        r#"{"apiGroups":[""],"resources":["configmaps"],"verbs":["get","patch","create","delete"]},{"apiGroups":["coordination.k8s.io"]"#,
    );
    story.manifests(&some);
    let (kubeconfig, metrics) = (story.cluster.kubeconfig_of("deaf"), format!("127.0.0.1:{}", port()));
    let _operator = story
        .operator_with(|command| {
            command.env("KUBECONFIG", kubeconfig).args(["--metrics-bind-address", &metrics, "-n", "deaf"]);
        })
        .await;
    story.apply("a", json!({})).await;
    story.wait_deployed("a").await;
    let said = story.wait_condition("a", "Watched", "False", "configmaps").await;
    assert_eq!(said["reason"], "CannotWatch");
    measures(&story, &metrics, "v1/ConfigMap", "permission", Some(1)).await;
    story
        .until("an Event", async || {
            let events = story.list("Event").await;
            let told = |e: &Value| e["reason"] == "CannotWatch" && e["involvedObject"]["kind"] == "Lease";
            if events.iter().any(told) { Ok(()) } else { Err(format!("{} others", events.len())) }
        })
        .await;
    // Given, it is watched by itself.
    story.manifests(&role("deaf", "deaf", "configmaps"));
    story
        .until("the condition to go", async || match story.condition("a", "Watched").await {
            None => Ok(()),
            Some(said) => Err(said.to_string()),
        })
        .await;
    measures(&story, &metrics, "v1/ConfigMap", "permission", None).await;
    story.edit("ConfigMap", "a", json!({"data": {"color": "x"}})).await;
    story.wait_field("ConfigMap", "a", "/data/color", "red").await;
}

/// Lets a user of the cluster run an operator in a namespace whose charts make some resource.
pub fn role(namespace: &str, user: &str, made: &str) -> String {
    let rules = json!([
        {"apiGroups": ["stories.podium.dev"], "resources": ["widgets", "widgets/status", "widgets/finalizers"], "verbs": ["*"]},
        {"apiGroups": [""], "resources": ["secrets", "events", made], "verbs": ["*"]},
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["*"]},
    ]);
    let role: Value = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": {"name": user, "namespace": namespace}, "rules": rules});
    let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": user, "namespace": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": user},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}]});
    format!("{role}\n---\n{binding}\n")
}

#[tokio::test]
async fn ready_follows_the_pods() {
    let story = Story::new("ready", &[SMALL, SMALL_VALUES]).await;
    let _operator = story.operator().await;
    story.apply("a", json!({"podAnnotations": {"rig.podium/ready": "false"}})).await;
    story.wait_deployed("a").await;
    let said = story.wait_condition("a", "Ready", "False", "ImagePullBackOff").await;
    let message = said["message"].as_str().unwrap();
    assert!(message.contains("Deployment ready/a") && message.contains("pod a-"), "{message}");
    let pods = story.list("Pod").await;
    let pod = pods[0]["metadata"]["name"].as_str().unwrap();
    assert!(message.contains(pod), "{message}");
    story.edit("Pod", pod, json!({"metadata": {"annotations": {"rig.podium/ready": null}}})).await;
    story.wait_condition("a", "Ready", "True", "").await;
    story.edit("Pod", pod, json!({"metadata": {"annotations": {"rig.podium/ready": "false"}}})).await;
    story.wait_condition("a", "Ready", "False", "ImagePullBackOff").await;
    story.apply("a", json!({})).await;
    story.wait_condition("a", "Ready", "True", "").await;
}

#[tokio::test]
async fn reports_a_failed_job() {
    let job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: \"{{ .Release.Name }}\"}\nspec: {backoffLimit: 0, template: \
        {metadata: {annotations: {rig.podium/fail: \"true\"}}, spec: {restartPolicy: Never, containers: [{name: main, image: a}]}}}\n";
    let story = Story::new("failing", &[("templates/job.yaml", job)]).await;
    let _operator = story.operator().await;
    story.apply("a", json!({})).await;
    story.wait_condition("a", "Ready", "False", "Job failing/a").await;
    story.wait_condition("a", "Ready", "False", "Failed").await;
}

#[tokio::test]
async fn deployed_means_ready_with_wait() {
    let story = Story::new("waiting", &[SMALL, SMALL_VALUES]).await;
    story.watches("wait: true");
    let _operator = story.operator().await;
    story.apply("a", json!({"podAnnotations": {"rig.podium/ready": "false"}})).await;
    story.wait_created("Deployment", "a").await;
    story
        .until("a pod that is not ready", async || {
            let pods = story.list("Pod").await;
            let waits = |pod: &Value| pod["status"]["containerStatuses"][0]["state"]["waiting"].is_object();
            if pods.iter().any(waits) { Ok(()) } else { Err(format!("{} pods", pods.len())) }
        })
        .await;
    sleep(Duration::from_secs(1)).await;
    assert!(story.condition("a", "Deployed").await.is_none_or(|found| found["status"] != "True"));
    for pod in story.list("Pod").await {
        let name = pod["metadata"]["name"].as_str().unwrap().to_owned();
        story.edit("Pod", &name, json!({"metadata": {"annotations": {"rig.podium/ready": null}}})).await;
    }
    story.wait_deployed("a").await;
    story.wait_condition("a", "Ready", "True", "").await;
}

#[tokio::test]
async fn reports_an_invalid_annotation() {
    let story = Story::new("annotated", &[TINY, TINY_VALUES]).await;
    let _operator = story.operator().await;
    let period =
        |text: &str| json!({"annotations": {"helm.sdk.operatorframework.io/reconcile-period": text}});
    story.apply_with("a", json!({}), period("soon")).await;
    story.wait_condition("a", "Irreconcilable", "True", "reconcile-period is no duration").await;
    story.apply_with("a", json!({}), period("5m")).await;
    story.wait_deployed("a").await;
    // Values are a map.
    story.create(json!({"apiVersion": "stories.podium.dev/v1", "kind": "Widget", "metadata": {"name": "empty"}, "spec": [1]}))
        .await;
    story.wait_condition("empty", "Irreconcilable", "True", "is no map").await;
}
