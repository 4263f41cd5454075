//! What goes wrong is said, does no harm, and goes on by itself.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::time::sleep;

use crate::world::{Operator, Tale, condition, crd, port, read};
use crate::{SMALL, SMALL_VALUES, TINY, TINY_VALUES};

#[tokio::test]
async fn values_that_the_schema_refuses_change_nothing() {
    let schema = r#"{"type": "object", "properties": {"color": {"type": "string"}}}"#;
    let tale = Tale::begin("schema", &[TINY, TINY_VALUES, ("values.schema.json", schema)]).await;
    let _operator = tale.operator().await;
    tale.apply("never", json!({"color": 5})).await;
    tale.says("never", "Irreconcilable", "True", "color").await;
    assert!(tale.find("ConfigMap", "never").await.is_none());
    tale.apply("a", json!({"color": "good"})).await;
    tale.deployed("a").await;
    tale.apply("a", json!({"color": 5})).await;
    let said = tale.says("a", "Irreconcilable", "True", "next try at").await;
    assert!(said["message"].as_str().unwrap().contains("color"), "{said}");
    assert_eq!(tale.get("ConfigMap", "a").await["data"]["color"], "good");
    tale.apply("a", json!({"color": "better"})).await;
    tale.holds("ConfigMap", "a", "/data/color", "better").await;
    assert!(condition(&tale.deployed("a").await, "Irreconcilable").is_none());
    tale.delete("Tale", "never").await;
    tale.vanishes("Tale", "never").await;
}

#[tokio::test]
async fn a_chart_that_fails_says_its_reason() {
    let broken = "{{ if .Values.broken }}{{ fail \"it is broken on purpose\" }}{{ end }}";
    let tale = Tale::begin("broken", &[TINY, TINY_VALUES, ("templates/broken.yaml", broken)]).await;
    let operator = tale.operator().await;
    tale.apply("a", json!({"broken": true})).await;
    tale.says("a", "Irreconcilable", "True", "it is broken on purpose").await;
    assert!(tale.event("a", "ReconcileError").await.contains("on purpose"));
    operator.says("it is broken on purpose").await;
    tale.apply("a", json!({})).await;
    tale.deployed("a").await;
}

#[tokio::test]
async fn a_record_that_no_list_shows_is_told_and_harms_nothing() {
    let tale = Tale::begin("unlisted", &[TINY, TINY_VALUES]).await;
    let _operator = tale.operator().await;
    // From then on records are listed as the server has them at hand.
    tale.apply("known", json!({})).await;
    tale.deployed("known").await;
    let hidden = "sh.helm.release.v1.hidden.v1";
    tale.create(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": hidden}})).await;
    tale.apply("hidden", json!({})).await;
    let said = tale.says("hidden", "ReleaseFailed", "True", "InstallError").await;
    assert!(said["message"].as_str().unwrap().contains("already exists"), "{said}");
    assert!(tale.find("ConfigMap", "hidden").await.is_none());
    tale.delete("Secret", hidden).await;
    tale.deployed("hidden").await;
}

#[tokio::test]
async fn what_the_server_refuses_is_undone_and_tried_again_ever_more_seldom() {
    const LAST: &str = "{{ if .Values.bad }}\napiVersion: v1\nkind: Service\nmetadata: {name: \"{{ .Release.Name }}\"}\n\
        spec: {ports: [{port: 99999}]}\n{{ end }}";
    let tale = Tale::begin("refused", &[TINY, TINY_VALUES, ("templates/last.yaml", LAST)]).await;
    let operator = tale.operator().await;
    tale.apply("first", json!({"bad": true})).await;
    let said = tale.says("first", "ReleaseFailed", "True", "InstallError").await;
    assert!(said["message"].as_str().unwrap().contains("99999"), "{said}");
    tale.apply("a", json!({"color": "good"})).await;
    tale.deployed("a").await;
    tale.apply("a", json!({"color": "bad", "bad": true})).await;
    let said = tale.says("a", "ReleaseFailed", "True", "UpgradeError").await;
    let message = said["message"].as_str().unwrap();
    assert!(message.contains("99999") && message.contains("next try at"), "{said}");
    tale.holds("ConfigMap", "a", "/data/color", "good").await;
    // Half a second, one, two, four: each pause is longer than all before it, not one of hundreds.
    let tries = || operator.log().matches("reason=UpgradeError").count();
    let more = async |count: usize| {
        tale.until(&format!("{count} tries"), async || match tries() {
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
    let records = tale.all("Secret").await.len();
    assert!(records <= 22, "{records} records");
    assert!(
        tale.find("ConfigMap", "first")
            .await
            .is_none_or(|map| map["metadata"]["deletionTimestamp"].is_string())
    );
    tale.apply("a", json!({"color": "better"})).await;
    tale.holds("ConfigMap", "a", "/data/color", "better").await;
    assert!(condition(&tale.deployed("a").await, "ReleaseFailed").is_none());
    tale.apply("first", json!({})).await;
    tale.deployed("first").await;
}

#[tokio::test]
async fn what_is_there_is_looked_after_while_a_change_fails() {
    const LAST: &str = "{{ if .Values.bad }}\napiVersion: v1\nkind: Service\nmetadata: {name: \"{{ .Release.Name }}\"}\n\
        spec: {ports: [{port: 99999}]}\n{{ end }}{{ if .Values.broken }}{{ fail \"broken on purpose\" }}{{ end }}";
    let tale = Tale::begin("kept", &[TINY, TINY_VALUES, ("templates/last.yaml", LAST)]).await;
    let operator = tale.operator().await;
    for name in ["refused", "broken"] {
        tale.apply(name, json!({"color": "good"})).await;
        tale.deployed(name).await;
    }
    tale.apply("refused", json!({"color": "bad", "bad": true})).await;
    tale.says("refused", "ReleaseFailed", "True", "UpgradeError").await;
    tale.apply("broken", json!({"broken": true})).await;
    tale.says("broken", "Irreconcilable", "True", "on purpose").await;
    // What is put right while nothing is tried is not put right by a try: pauses grow until one is long enough.
    let heals = async |operator: &Operator, name: &str| {
        let tries = || operator.log().matches("reason=").count();
        for _ in 0..6 {
            let before = tries();
            tale.edit("ConfigMap", name, json!({"data": {"color": "drifted"}})).await;
            tale.holds("ConfigMap", name, "/data/color", "good").await;
            tale.delete("ConfigMap", name).await;
            tale.holds("ConfigMap", name, "/data/color", "good").await;
            if tries() == before {
                return;
            }
        }
        panic!("{name} is never put right between two tries\n{}", tale.logs());
    };
    for name in ["refused", "broken"] {
        heals(&operator, name).await;
    }
    let tries = operator.log().matches("reason=UpgradeError").count();
    assert!(tries <= 7, "mending is no try: {tries}\n{}", operator.log());
    operator.stop().await;
    // Also of what a new operator has never seen well.
    tale.edit("ConfigMap", "broken", json!({"data": {"color": "drifted"}})).await;
    let operator = tale.operator().await;
    tale.holds("ConfigMap", "broken", "/data/color", "good").await;
    heals(&operator, "broken").await;
    for name in ["refused", "broken"] {
        tale.apply(name, json!({"color": "better"})).await;
        tale.holds("ConfigMap", name, "/data/color", "better").await;
        tale.deployed(name).await;
    }
}

#[tokio::test]
async fn a_field_that_cannot_change_is_said_and_the_old_state_stays() {
    let job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: \"{{ .Release.Name }}\"}\nspec: {template: {spec: \
        {restartPolicy: Never, containers: [{name: main, image: \"{{ .Values.image }}\"}]}}}\n";
    let tale = Tale::begin(
        "immutable",
        &[TINY, ("templates/job.yaml", job), ("values.yaml", "image: a\ncolor: a\n")],
    )
    .await;
    let _operator = tale.operator().await;
    tale.apply("a", json!({})).await;
    tale.deployed("a").await;
    tale.apply("a", json!({"image": "b", "color": "b"})).await;
    tale.says("a", "ReleaseFailed", "True", "field is immutable").await;
    tale.holds("ConfigMap", "a", "/data/color", "a").await;
    tale.apply("a", json!({"color": "c"})).await;
    tale.deployed("a").await;
    tale.holds("ConfigMap", "a", "/data/color", "c").await;
}

#[tokio::test]
async fn a_kind_may_come_later_go_and_come_again() {
    let tale = Tale::of("Late", "late", &[TINY, TINY_VALUES]).await;
    let operator = tale.start(|_| ());
    operator.says("the cluster does not know this kind yet").await;
    tale.create(crd("Late", "Namespaced")).await;
    operator.says("all kinds are watched").await;
    tale.apply("a", json!({})).await;
    tale.deployed("a").await;
    // With the definition its resources go, and the operator still takes away what it made.
    tale.delete("CustomResourceDefinition", "lates.tales.podium.dev").await;
    tale.vanishes("CustomResourceDefinition", "lates.tales.podium.dev").await;
    tale.vanishes("ConfigMap", "a").await;
    tale.create(crd("Late", "Namespaced")).await;
    tale.until("the kind", async || {
        match tale.kinds.refresh().await.unwrap().find(&podium_meta::Kind::new("tales.podium.dev/v1", "Late"))
        {
            Some(_) => Ok(()),
            None => Err(String::new()),
        }
    })
    .await;
    tale.apply("b", json!({})).await;
    tale.deployed("b").await;
}

#[tokio::test]
async fn a_namespace_goes_with_its_resources() {
    const FAR: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"from-{{ .Release.Name }}\", namespace: ending-far}\n";
    let tale = Tale::begin("ending", &[SMALL, SMALL_VALUES, ("templates/far.yaml", FAR)]).await;
    tale.namespace("ending-far").await;
    let _operator = tale.operator_everywhere().await;
    for name in ["a", "b", "c"] {
        tale.apply(name, json!({})).await;
    }
    for name in ["a", "b", "c"] {
        tale.deployed(name).await;
    }
    tale.delete("Namespace", "ending").await;
    tale.vanishes("Namespace", "ending").await;
    for name in ["a", "b", "c"] {
        tale.vanishes("ConfigMap", &format!("ending-far/from-{name}")).await;
    }
}

#[tokio::test]
async fn a_permission_that_is_missing_is_said_and_waited_for() {
    let tale = Tale::begin("moody", &[TINY, TINY_VALUES]).await;
    tale.manifests(&role("moody", "moody", "configmaps"));
    let kubeconfig = tale.cluster.kubeconfig_of("moody");
    let operator = tale
        .operator_with(|command| {
            command.env("KUBECONFIG", kubeconfig);
        })
        .await;
    tale.apply("a", json!({})).await;
    tale.deployed("a").await;
    // Taken away: a change fails and says what is missing.
    tale.manifests(&role("moody", "moody", "services"));
    tale.apply("a", json!({"color": "new"})).await;
    let said = tale.says("a", "ReleaseFailed", "True", "forbidden").await;
    let message = said["message"].as_str().unwrap();
    assert!(message.contains("configmaps") && message.contains("moody"), "{message}");
    assert!(tale.event("a", "UpgradeError").await.contains("configmaps"));
    assert!(operator.log().contains("configmaps"));
    // Given back: it goes on by itself.
    tale.manifests(&role("moody", "moody", "configmaps"));
    tale.holds("ConfigMap", "a", "/data/color", "new").await;
    tale.deployed("a").await;
}

/// Waits until a metric has a line, or has none.
async fn measures(tale: &Tale, metrics: &str, kind: &str, what: &str, count: Option<usize>) {
    let begin = format!("podium_missing{{kind=\"{kind}\",what=\"{what}\"}} ");
    tale.until(&format!("{begin}{count:?}"), async || {
        let page = read(metrics, "/metrics");
        let found = page.lines().find_map(|line| line.strip_prefix(&begin)).map(str::to_owned);
        if found == count.map(|count| count.to_string()) { Ok(()) } else { Err(format!("{found:?}")) }
    })
    .await;
}

#[tokio::test]
async fn what_is_missing_is_measured_until_it_is_there() {
    const FAR: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ .Release.Name }}\", namespace: measures-far}\n";
    let tale = Tale::of("Absent", "measures", &[TINY, TINY_VALUES, ("templates/far.yaml", FAR)]).await;
    let metrics = format!("127.0.0.1:{}", port());
    let operator = tale.start(|command| {
        command.args(["--reload", "--metrics-bind-address", &metrics]);
    });
    operator.says("the cluster does not know this kind yet").await;
    let kind = "tales.podium.dev/v1/Absent";
    measures(&tale, &metrics, kind, "crd", Some(1)).await;
    tale.create(crd("Absent", "Namespaced")).await;
    operator.says("all kinds are watched").await;
    measures(&tale, &metrics, kind, "crd", None).await;
    for name in ["a", "b"] {
        tale.apply(name, json!({})).await;
        tale.says(name, "ReleaseFailed", "True", "measures-far").await;
    }
    measures(&tale, &metrics, kind, "namespace", Some(2)).await;
    tale.namespace("measures-far").await;
    tale.deployed("a").await;
    tale.deployed("b").await;
    measures(&tale, &metrics, kind, "namespace", None).await;
    tale.file("chart/values.yaml", "{");
    measures(&tale, &metrics, kind, "chart", Some(1)).await;
    tale.file("chart/values.yaml", "color: blue\n");
    measures(&tale, &metrics, kind, "chart", None).await;
    tale.holds("ConfigMap", "a", "/data/color", "blue").await;
}

#[tokio::test]
async fn a_chart_may_come_later() {
    let tale = Tale::begin("chartless", &[TINY, TINY_VALUES]).await;
    let (chart, away) = (tale.path("chart"), tale.path("away"));
    std::fs::rename(&chart, &away).unwrap();
    let metrics = format!("127.0.0.1:{}", port());
    let operator = tale.start(|command| {
        command.args(["--metrics-bind-address", &metrics]);
    });
    operator.says("the chart cannot be used, and is waited for").await;
    operator.says("all kinds are watched").await;
    measures(&tale, &metrics, "tales.podium.dev/v1/Tale", "chart", Some(1)).await;
    tale.apply("a", json!({})).await;
    tale.says("a", "Irreconcilable", "True", "the chart ").await;
    tale.apply("b", json!({})).await;
    tale.says("b", "Irreconcilable", "True", "the chart ").await;
    // What waits may go.
    tale.delete("Tale", "b").await;
    tale.vanishes("Tale", "b").await;
    std::fs::rename(away, chart).unwrap();
    tale.deployed("a").await;
    tale.holds("ConfigMap", "a", "/data/color", "red").await;
    measures(&tale, &metrics, "tales.podium.dev/v1/Tale", "chart", None).await;
}

#[tokio::test]
async fn a_right_to_watch_that_is_missing_is_said_by_the_resource() {
    let tale = Tale::begin("deaf", &[TINY, TINY_VALUES]).await;
    let some = role("deaf", "deaf", "services").replace(
        r#"{"apiGroups":["coordination.k8s.io"]"#,
        r#"{"apiGroups":[""],"resources":["configmaps"],"verbs":["get","patch","create","delete"]},{"apiGroups":["coordination.k8s.io"]"#,
    );
    tale.manifests(&some);
    let (kubeconfig, metrics) = (tale.cluster.kubeconfig_of("deaf"), format!("127.0.0.1:{}", port()));
    let _operator = tale
        .operator_with(|command| {
            command.env("KUBECONFIG", kubeconfig).args(["--metrics-bind-address", &metrics, "-n", "deaf"]);
        })
        .await;
    tale.apply("a", json!({})).await;
    tale.deployed("a").await;
    let said = tale.says("a", "Watched", "False", "configmaps").await;
    assert_eq!(said["reason"], "CannotWatch");
    measures(&tale, &metrics, "v1/ConfigMap", "permission", Some(1)).await;
    tale.until("an Event", async || {
        let events = tale.all("Event").await;
        let told = |e: &Value| e["reason"] == "CannotWatch" && e["involvedObject"]["kind"] == "Lease";
        if events.iter().any(told) { Ok(()) } else { Err(format!("{} others", events.len())) }
    })
    .await;
    // Given, it is watched by itself.
    tale.manifests(&role("deaf", "deaf", "configmaps"));
    tale.until("the condition to go", async || match tale.condition("a", "Watched").await {
        None => Ok(()),
        Some(said) => Err(said.to_string()),
    })
    .await;
    measures(&tale, &metrics, "v1/ConfigMap", "permission", None).await;
    tale.edit("ConfigMap", "a", json!({"data": {"color": "x"}})).await;
    tale.holds("ConfigMap", "a", "/data/color", "red").await;
}

/// Lets a user of the cluster run an operator in a namespace whose charts make some resource.
pub fn role(namespace: &str, user: &str, made: &str) -> String {
    let rules = json!([
        {"apiGroups": ["tales.podium.dev"], "resources": ["tales", "tales/status", "tales/finalizers"], "verbs": ["*"]},
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
async fn ready_tells_the_truth() {
    let tale = Tale::begin("ready", &[SMALL, SMALL_VALUES]).await;
    let _operator = tale.operator().await;
    tale.apply("a", json!({"podAnnotations": {"rig.podium/ready": "false"}})).await;
    tale.deployed("a").await;
    let said = tale.says("a", "Ready", "False", "ImagePullBackOff").await;
    let message = said["message"].as_str().unwrap();
    assert!(message.contains("Deployment ready/a") && message.contains("pod a-"), "{message}");
    let pods = tale.all("Pod").await;
    let pod = pods[0]["metadata"]["name"].as_str().unwrap();
    assert!(message.contains(pod), "{message}");
    tale.edit("Pod", pod, json!({"metadata": {"annotations": {"rig.podium/ready": null}}})).await;
    tale.says("a", "Ready", "True", "").await;
    tale.edit("Pod", pod, json!({"metadata": {"annotations": {"rig.podium/ready": "false"}}})).await;
    tale.says("a", "Ready", "False", "ImagePullBackOff").await;
    tale.apply("a", json!({})).await;
    tale.says("a", "Ready", "True", "").await;
}

#[tokio::test]
async fn a_job_that_fails_is_seen() {
    let job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: \"{{ .Release.Name }}\"}\nspec: {backoffLimit: 0, template: \
        {metadata: {annotations: {rig.podium/fail: \"true\"}}, spec: {restartPolicy: Never, containers: [{name: main, image: a}]}}}\n";
    let tale = Tale::begin("failing", &[("templates/job.yaml", job)]).await;
    let _operator = tale.operator().await;
    tale.apply("a", json!({})).await;
    tale.says("a", "Ready", "False", "Job failing/a").await;
    tale.says("a", "Ready", "False", "Failed").await;
}

#[tokio::test]
async fn with_wait_deployed_means_ready() {
    let tale = Tale::begin("waiting", &[SMALL, SMALL_VALUES]).await;
    tale.watches("wait: true");
    let _operator = tale.operator().await;
    tale.apply("a", json!({"podAnnotations": {"rig.podium/ready": "false"}})).await;
    tale.appears("Deployment", "a").await;
    tale.until("a pod that is not ready", async || {
        let pods = tale.all("Pod").await;
        let waits = |pod: &Value| pod["status"]["containerStatuses"][0]["state"]["waiting"].is_object();
        if pods.iter().any(waits) { Ok(()) } else { Err(format!("{} pods", pods.len())) }
    })
    .await;
    sleep(Duration::from_secs(1)).await;
    assert!(tale.condition("a", "Deployed").await.is_none_or(|found| found["status"] != "True"));
    for pod in tale.all("Pod").await {
        let name = pod["metadata"]["name"].as_str().unwrap().to_owned();
        tale.edit("Pod", &name, json!({"metadata": {"annotations": {"rig.podium/ready": null}}})).await;
    }
    tale.deployed("a").await;
    tale.says("a", "Ready", "True", "").await;
}

#[tokio::test]
async fn an_annotation_that_cannot_be_read_is_said() {
    let tale = Tale::begin("annotated", &[TINY, TINY_VALUES]).await;
    let _operator = tale.operator().await;
    let period =
        |text: &str| json!({"annotations": {"helm.sdk.operatorframework.io/reconcile-period": text}});
    tale.apply_with("a", json!({}), period("soon")).await;
    tale.says("a", "Irreconcilable", "True", "reconcile-period is no duration").await;
    tale.apply_with("a", json!({}), period("5m")).await;
    tale.deployed("a").await;
    // Values are a map.
    tale.create(json!({"apiVersion": "tales.podium.dev/v1", "kind": "Tale", "metadata": {"name": "empty"}, "spec": [1]}))
        .await;
    tale.says("empty", "Irreconcilable", "True", "is no map").await;
}
