//! Several operators, and operators of few namespaces.

use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;

use crate::story::{Story, condition, port, read};
use crate::trouble::role;
use crate::{TINY, TINY_VALUES};

#[tokio::test]
async fn moves_a_resource_to_another_operator_by_label() {
    let story = Story::new("movers", &[TINY, TINY_VALUES]).await;
    for version in ["v0", "v1"] {
        let text = format!(
            "- {{group: stories.podium.dev, version: v1, kind: Widget, chart: chart-{version}, \
             selector: {{matchLabels: {{operatorVersion: {version}}}}}}}\n"
        );
        story.file(&format!("{version}.yaml"), &text);
        story.file(
            &format!("chart-{version}/Chart.yaml"),
            &format!("apiVersion: v2\nname: movers\nversion: {version}.0.0\n"),
        );
        story.file(&format!("chart-{version}/values.yaml"), "color: red\n");
        let template = TINY.1.replace("\ndata: {", &format!("\ndata: {{by: {version}, "));
        story.file(&format!("chart-{version}/templates/tiny.yaml"), &template);
    }
    let start = async |version: &str| {
        story
            .operator_with(|command| {
                command.arg(format!("--watches-file={version}.yaml"));
            })
            .await
    };
    let (_zero, one) = (start("v0").await, start("v1").await);
    let label = |version: &str| json!({"labels": {"operatorVersion": version}});
    story.apply_with("a", json!({}), label("v0")).await;
    story.apply_with("b", json!({}), label("v1")).await;
    story.apply_with("nobody", json!({}), label("v2")).await;
    for (name, by) in [("a", "v0"), ("b", "v1")] {
        story.wait_deployed(name).await;
        assert_eq!(story.get("ConfigMap", name).await["data"]["by"], by);
    }
    let uid = story.get("ConfigMap", "a").await["metadata"]["uid"].clone();
    story.apply_with("a", json!({}), label("v1")).await;
    let map = story.wait_field("ConfigMap", "a", "/data/by", "v1").await;
    assert_eq!(map["metadata"]["uid"], uid, "nothing is uninstalled");
    // The old one does not answer any more: neither to drift nor to deletion.
    story.edit("ConfigMap", "a", json!({"data": {"by": "x"}})).await;
    story.wait_field("ConfigMap", "a", "/data/by", "v1").await;
    story.apply_with("a", json!({}), label("v2")).await;
    sleep(Duration::from_millis(500)).await;
    story.edit("ConfigMap", "a", json!({"data": {"by": "free"}})).await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(story.get("ConfigMap", "a").await["data"]["by"], "free");
    assert!(story.find("ConfigMap", "nobody").await.is_none());
    one.stop().await;
    story.delete("Widget", "b").await;
    sleep(Duration::from_secs(1)).await;
    story.get("ConfigMap", "b").await;
    let _one = start("v1").await;
    story.wait_deleted("Widget", "b").await;
    story.wait_deleted("ConfigMap", "b").await;
}

#[tokio::test]
async fn watches_two_namespaces_with_a_role_in_each() {
    let story = Story::new("narrow-a", &[TINY, TINY_VALUES]).await;
    for namespace in ["narrow-b", "narrow-c"] {
        story.namespace(namespace).await;
    }
    story.manifests(&role("narrow-a", "narrow", "configmaps"));
    story.manifests(&role("narrow-b", "narrow", "configmaps"));
    let kubeconfig = story.cluster.kubeconfig_of("narrow");
    let start = async |namespaces: &str| {
        story
            .operator_with(|command| {
                command.env("KUBECONFIG", &kubeconfig).env("WATCH_NAMESPACE", namespaces);
            })
            .await
    };
    let operator = start("narrow-a, narrow-b").await;
    for place in ["narrow-a", "narrow-b", "narrow-c"] {
        story.apply(&format!("{place}/a"), json!({})).await;
    }
    for place in ["narrow-a", "narrow-b"] {
        story.wait_deployed(&format!("{place}/a")).await;
        let name = format!("{place}/a");
        story.edit("ConfigMap", &name, json!({"data": {"color": "x"}})).await;
        story.wait_field("ConfigMap", &name, "/data/color", "red").await;
    }
    assert!(story.find("ConfigMap", "narrow-c/a").await.is_none());
    operator.stop().await;
    // What changed meanwhile is seen in both.
    for place in ["narrow-a", "narrow-b"] {
        story.edit("ConfigMap", &format!("{place}/a"), json!({"data": {"color": "x"}})).await;
    }
    let operator = start("narrow-b,narrow-a").await;
    for place in ["narrow-a", "narrow-b"] {
        story.wait_field("ConfigMap", &format!("{place}/a"), "/data/color", "red").await;
        story.apply(&format!("{place}/a"), json!({"color": "blue"})).await;
    }
    for place in ["narrow-a", "narrow-b"] {
        story.wait_field("ConfigMap", &format!("{place}/a"), "/data/color", "blue").await;
    }
    operator.stop().await;
    let _operator = start("narrow-a").await;
    for place in ["narrow-a", "narrow-b"] {
        story.delete("Widget", &format!("{place}/a")).await;
    }
    story.wait_deleted("Widget", "narrow-a/a").await;
    story.get("ConfigMap", "narrow-b/a").await;
}

#[tokio::test]
async fn standby_takes_over_the_lease() {
    let story = Story::new("elected", &[TINY, TINY_VALUES]).await;
    let elect = ["--leader-elect", "--leader-election-id=stories", "--leader-election-namespace=elected"];
    let first = story
        .operator_with(|command| {
            command.args(elect);
        })
        .await;
    let second = story.start(|command| {
        command.args(elect);
    });
    second.wait_log("waiting for the lease").await;
    story.apply("a", json!({})).await;
    story.wait_deployed("a").await;
    assert!(!second.log().contains("all kinds are watched"));
    // Told to end, it hands the lease over at once.
    first.stop().await;
    second.wait_log("all kinds are watched").await;
    story.apply("a", json!({"color": "two"})).await;
    story.wait_field("ConfigMap", "a", "/data/color", "two").await;
    // Killed, its time has to run out.
    let third = story.start(|command| {
        command.args(elect);
    });
    third.wait_log("waiting for the lease").await;
    second.kill();
    // How long that is, it has said itself; here as if it had promised less.
    story.edit("Lease", "stories", json!({"spec": {"leaseDurationSeconds": 1}})).await;
    story.apply("a", json!({"color": "three"})).await;
    third.wait_log("all kinds are watched").await;
    story.wait_field("ConfigMap", "a", "/data/color", "three").await;
}

#[tokio::test]
async fn serves_metrics_and_probes() {
    let story = Story::new("measured", &[TINY, TINY_VALUES]).await;
    let (metrics, probes) = (format!("127.0.0.1:{}", port()), format!("127.0.0.1:{}", port()));
    let _operator = story
        .operator_with(|command| {
            command.args(["--metrics-bind-address", &metrics, "--health-probe-bind-address", &probes]);
        })
        .await;
    story.apply("a", json!({})).await;
    story.wait_deployed("a").await;
    for path in ["/healthz", "/readyz"] {
        assert!(read(&probes, path).starts_with("HTTP/1.1 200"), "{path}");
    }
    let page = read(&metrics, "/metrics");
    for line in [
        "helm_operator_build_info{",
        "resource_created_at_seconds{name=\"a\",namespace=\"measured\",group=\"stories.podium.dev\",version=\"v1\",kind=\"Widget\"}",
        "controller_runtime_reconcile_total{controller=\"widget-controller\",result=\"success\"}",
        "workqueue_adds_total{name=\"widget-controller\"}",
        "rest_client_requests_total{",
    ] {
        assert!(page.contains(line), "{line}\n{page}");
    }
    story.delete("Widget", "a").await;
    story.wait_deleted("Widget", "a").await;
    story
        .until("the measure to go", async || match read(&metrics, "/metrics") {
            page if page.contains("resource_created_at_seconds{") => Err(page),
            _ => Ok(()),
        })
        .await;
}

#[tokio::test]
async fn older_of_two_operators_with_the_same_selector_acts() {
    let story = Story::new("twins", &[TINY, TINY_VALUES]).await;
    let start = async |pod: &str| {
        story
            .operator_with(|command| {
                command.env("POD_NAME", pod);
            })
            .await
    };
    let first = start("twins-first").await;
    // The time of a Lease has seconds.
    sleep(Duration::from_millis(1_200)).await;
    let second = start("twins-second").await;
    story.apply("a", json!({})).await;
    let custom = story.wait_deployed("a").await;
    story
        .until("both to be named", async || {
            let custom = story.get("Widget", "a").await;
            match condition(&custom, "Answered") {
                Some(answered) if answered["reason"] == "SeveralOperators" => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await;
    assert_eq!(custom["status"]["deployedRelease"]["revision"], 1);
    assert!(!second.log().contains("installed"), "{}", second.log());
    first.stop().await;
    story.apply("a", json!({"color": "two"})).await;
    story.wait_field("ConfigMap", "a", "/data/color", "two").await;
    second.wait_log("upgraded as revision 2").await;
    story
        .until("nobody else to be named", async || {
            match condition(&story.get("Widget", "a").await, "Answered") {
                None => Ok(()),
                Some(answered) => Err(answered.to_string()),
            }
        })
        .await;
}

#[tokio::test]
async fn reports_a_resource_without_an_operator() {
    let story = Story::new("nobody", &[TINY, TINY_VALUES]).await;
    story.watches("selector: {matchLabels: {operatorVersion: v1}}");
    let _operator = story.operator().await;
    let label = |version: &str| json!({"labels": {"operatorVersion": version}});
    story.apply_with("a", json!({}), label("v7")).await;
    story
        .until("the resource to be told", async || {
            let custom = story.get("Widget", "a").await;
            match condition(&custom, "Answered") {
                Some(answered) if answered["reason"] == "NoOperator" => {
                    let message = answered["message"].as_str().unwrap_or_default();
                    assert!(
                        message.contains("operatorVersion=v7") && message.contains("operatorVersion=v1"),
                        "{message}"
                    );
                    Ok(())
                }
                other => Err(format!("{other:?}")),
            }
        })
        .await;
    assert!(story.find("ConfigMap", "a").await.is_none());
    story.apply_with("a", json!({}), label("v1")).await;
    let custom = story.wait_deployed("a").await;
    assert!(condition(&custom, "Answered").is_none(), "{custom}");
}
