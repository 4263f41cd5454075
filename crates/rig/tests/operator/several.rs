//! Several operators, and operators of few namespaces.

use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;

use crate::trouble::role;
use crate::world::{Tale, condition, port, read};
use crate::{TINY, TINY_VALUES};

#[tokio::test]
async fn a_label_says_which_operator_answers_and_a_resource_may_move() {
    let tale = Tale::begin("movers", &[TINY, TINY_VALUES]).await;
    for version in ["v0", "v1"] {
        let text = format!(
            "- {{group: tales.podium.dev, version: v1, kind: Tale, chart: chart-{version}, \
             selector: {{matchLabels: {{operatorVersion: {version}}}}}}}\n"
        );
        tale.file(&format!("{version}.yaml"), &text);
        tale.file(
            &format!("chart-{version}/Chart.yaml"),
            &format!("apiVersion: v2\nname: movers\nversion: {version}.0.0\n"),
        );
        tale.file(&format!("chart-{version}/values.yaml"), "color: red\n");
        let template = TINY.1.replace("\ndata: {", &format!("\ndata: {{by: {version}, "));
        tale.file(&format!("chart-{version}/templates/tiny.yaml"), &template);
    }
    let start = async |version: &str| {
        tale.operator_with(|command| {
            command.arg(format!("--watches-file={version}.yaml"));
        })
        .await
    };
    let (_zero, one) = (start("v0").await, start("v1").await);
    let label = |version: &str| json!({"labels": {"operatorVersion": version}});
    tale.apply_with("a", json!({}), label("v0")).await;
    tale.apply_with("b", json!({}), label("v1")).await;
    tale.apply_with("nobody", json!({}), label("v2")).await;
    for (name, by) in [("a", "v0"), ("b", "v1")] {
        tale.deployed(name).await;
        assert_eq!(tale.get("ConfigMap", name).await["data"]["by"], by);
    }
    let uid = tale.get("ConfigMap", "a").await["metadata"]["uid"].clone();
    tale.apply_with("a", json!({}), label("v1")).await;
    let map = tale.holds("ConfigMap", "a", "/data/by", "v1").await;
    assert_eq!(map["metadata"]["uid"], uid, "nothing is uninstalled");
    // The old one does not answer any more: neither to drift nor to deletion.
    tale.edit("ConfigMap", "a", json!({"data": {"by": "x"}})).await;
    tale.holds("ConfigMap", "a", "/data/by", "v1").await;
    tale.apply_with("a", json!({}), label("v2")).await;
    sleep(Duration::from_millis(500)).await;
    tale.edit("ConfigMap", "a", json!({"data": {"by": "free"}})).await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(tale.get("ConfigMap", "a").await["data"]["by"], "free");
    assert!(tale.find("ConfigMap", "nobody").await.is_none());
    one.stop().await;
    tale.delete("Tale", "b").await;
    sleep(Duration::from_secs(1)).await;
    tale.get("ConfigMap", "b").await;
    let _one = start("v1").await;
    tale.vanishes("Tale", "b").await;
    tale.vanishes("ConfigMap", "b").await;
}

#[tokio::test]
async fn two_namespaces_with_only_a_role_in_each() {
    let tale = Tale::begin("narrow-a", &[TINY, TINY_VALUES]).await;
    for namespace in ["narrow-b", "narrow-c"] {
        tale.namespace(namespace).await;
    }
    tale.manifests(&role("narrow-a", "narrow", "configmaps"));
    tale.manifests(&role("narrow-b", "narrow", "configmaps"));
    let kubeconfig = tale.cluster.kubeconfig_of("narrow");
    let start = async |namespaces: &str| {
        tale.operator_with(|command| {
            command.env("KUBECONFIG", &kubeconfig).env("WATCH_NAMESPACE", namespaces);
        })
        .await
    };
    let operator = start("narrow-a, narrow-b").await;
    for place in ["narrow-a", "narrow-b", "narrow-c"] {
        tale.apply(&format!("{place}/a"), json!({})).await;
    }
    for place in ["narrow-a", "narrow-b"] {
        tale.deployed(&format!("{place}/a")).await;
        let name = format!("{place}/a");
        tale.edit("ConfigMap", &name, json!({"data": {"color": "x"}})).await;
        tale.holds("ConfigMap", &name, "/data/color", "red").await;
    }
    assert!(tale.find("ConfigMap", "narrow-c/a").await.is_none());
    operator.stop().await;
    // What changed meanwhile is seen in both.
    for place in ["narrow-a", "narrow-b"] {
        tale.edit("ConfigMap", &format!("{place}/a"), json!({"data": {"color": "x"}})).await;
    }
    let operator = start("narrow-b,narrow-a").await;
    for place in ["narrow-a", "narrow-b"] {
        tale.holds("ConfigMap", &format!("{place}/a"), "/data/color", "red").await;
        tale.apply(&format!("{place}/a"), json!({"color": "blue"})).await;
    }
    for place in ["narrow-a", "narrow-b"] {
        tale.holds("ConfigMap", &format!("{place}/a"), "/data/color", "blue").await;
    }
    operator.stop().await;
    let _operator = start("narrow-a").await;
    for place in ["narrow-a", "narrow-b"] {
        tale.delete("Tale", &format!("{place}/a")).await;
    }
    tale.vanishes("Tale", "narrow-a/a").await;
    tale.get("ConfigMap", "narrow-b/a").await;
}

#[tokio::test]
async fn of_two_with_a_lease_one_works_and_the_other_takes_over() {
    let tale = Tale::begin("elected", &[TINY, TINY_VALUES]).await;
    let elect = ["--leader-elect", "--leader-election-id=tales", "--leader-election-namespace=elected"];
    let first = tale
        .operator_with(|command| {
            command.args(elect);
        })
        .await;
    let second = tale.start(|command| {
        command.args(elect);
    });
    second.says("waiting for the lease").await;
    tale.apply("a", json!({})).await;
    tale.deployed("a").await;
    assert!(!second.log().contains("all kinds are watched"));
    // Told to end, it hands the lease over at once.
    first.stop().await;
    second.says("all kinds are watched").await;
    tale.apply("a", json!({"color": "two"})).await;
    tale.holds("ConfigMap", "a", "/data/color", "two").await;
    // Killed, its time has to run out.
    let third = tale.start(|command| {
        command.args(elect);
    });
    third.says("waiting for the lease").await;
    second.kill();
    // How long that is, it has said itself; here as if it had promised less.
    tale.edit("Lease", "tales", json!({"spec": {"leaseDurationSeconds": 1}})).await;
    tale.apply("a", json!({"color": "three"})).await;
    third.says("all kinds are watched").await;
    tale.holds("ConfigMap", "a", "/data/color", "three").await;
}

#[tokio::test]
async fn metrics_and_probes_answer() {
    let tale = Tale::begin("measured", &[TINY, TINY_VALUES]).await;
    let (metrics, probes) = (format!("127.0.0.1:{}", port()), format!("127.0.0.1:{}", port()));
    let _operator = tale
        .operator_with(|command| {
            command.args(["--metrics-bind-address", &metrics, "--health-probe-bind-address", &probes]);
        })
        .await;
    tale.apply("a", json!({})).await;
    tale.deployed("a").await;
    for path in ["/healthz", "/readyz"] {
        assert!(read(&probes, path).starts_with("HTTP/1.1 200"), "{path}");
    }
    let page = read(&metrics, "/metrics");
    for line in [
        "helm_operator_build_info{",
        "resource_created_at_seconds{name=\"a\",namespace=\"measured\",group=\"tales.podium.dev\",version=\"v1\",kind=\"Tale\"}",
        "controller_runtime_reconcile_total{controller=\"tale-controller\",result=\"success\"}",
        "workqueue_adds_total{name=\"tale-controller\"}",
        "rest_client_requests_total{",
    ] {
        assert!(page.contains(line), "{line}\n{page}");
    }
    tale.delete("Tale", "a").await;
    tale.vanishes("Tale", "a").await;
    tale.until("the measure to go", async || match read(&metrics, "/metrics") {
        page if page.contains("resource_created_at_seconds{") => Err(page),
        _ => Ok(()),
    })
    .await;
}

#[tokio::test]
async fn of_two_with_the_same_selector_the_older_acts() {
    let tale = Tale::begin("twins", &[TINY, TINY_VALUES]).await;
    let start = async |pod: &str| {
        tale.operator_with(|command| {
            command.env("POD_NAME", pod);
        })
        .await
    };
    let first = start("twins-first").await;
    // The time of a Lease has seconds.
    sleep(Duration::from_millis(1_200)).await;
    let second = start("twins-second").await;
    tale.apply("a", json!({})).await;
    let custom = tale.deployed("a").await;
    tale.until("both to be named", async || {
        let custom = tale.get("Tale", "a").await;
        match condition(&custom, "Answered") {
            Some(answered) if answered["reason"] == "SeveralOperators" => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await;
    assert_eq!(custom["status"]["deployedRelease"]["revision"], 1);
    assert!(!second.log().contains("installed"), "{}", second.log());
    first.stop().await;
    tale.apply("a", json!({"color": "two"})).await;
    tale.holds("ConfigMap", "a", "/data/color", "two").await;
    second.says("upgraded as revision 2").await;
    tale.until("nobody else to be named", async || {
        match condition(&tale.get("Tale", "a").await, "Answered") {
            None => Ok(()),
            Some(answered) => Err(answered.to_string()),
        }
    })
    .await;
}

#[tokio::test]
async fn a_resource_that_nobody_answers_for_is_told() {
    let tale = Tale::begin("nobody", &[TINY, TINY_VALUES]).await;
    tale.watches("selector: {matchLabels: {operatorVersion: v1}}");
    let _operator = tale.operator().await;
    let label = |version: &str| json!({"labels": {"operatorVersion": version}});
    tale.apply_with("a", json!({}), label("v7")).await;
    tale.until("the resource to be told", async || {
        let custom = tale.get("Tale", "a").await;
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
    assert!(tale.find("ConfigMap", "a").await.is_none());
    tale.apply_with("a", json!({}), label("v1")).await;
    let custom = tale.deployed("a").await;
    assert!(condition(&custom, "Answered").is_none(), "{custom}");
}
