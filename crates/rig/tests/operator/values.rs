//! Where the values of a release come from.

use serde_json::json;

use crate::world::Tale;
use crate::{TINY, TINY_VALUES};

#[tokio::test]
async fn values_of_secrets_and_config_maps_are_below_those_of_the_resource() {
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: \"{{ .Release.Name }}\"}\nstringData: {password: \"{{ .Values.password }}\"}\n";
    let values = ("values.yaml", "color: red\npassword: none\n");
    let tale = Tale::begin("sources", &[TINY, values, ("templates/secret.yaml", secret)]).await;
    tale.watches("valuesFrom:\n- {kind: ConfigMap, name: shared}\n- {kind: Secret, name: hidden, key: v}\n- {kind: Secret, name: perhaps, optional: true}");
    let _operator = tale.operator().await;
    tale.apply("a", json!({})).await;
    let said = tale.says("a", "Irreconcilable", "True", "ErrorGettingValues").await;
    assert!(
        said["message"].as_str().unwrap().contains("the ConfigMap sources/shared is not there"),
        "{said}"
    );
    let source = |kind: &str, name: &str, key: &str, text: &str| {
        let field = if kind == "Secret" { "stringData" } else { "data" };
        json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, field: {key: text}})
    };
    tale.create(source("ConfigMap", "shared", "values.yaml", "color: shared\npassword: shared\n")).await;
    tale.says("a", "Irreconcilable", "True", "the Secret sources/hidden is not there").await;
    tale.create(source("Secret", "hidden", "v", "password: top-secret-1\n")).await;
    tale.deployed("a").await;
    assert_eq!(tale.get("ConfigMap", "a").await["data"]["color"], "shared");
    let password = "/data/password";
    tale.holds("Secret", "a", password, "dG9wLXNlY3JldC0x").await;
    tale.edit("Secret", "hidden", json!({"stringData": {"v": "password: top-secret-2\n"}})).await;
    tale.holds("Secret", "a", password, "dG9wLXNlY3JldC0y").await;
    tale.apply("a", json!({"password": "mine"})).await;
    tale.holds("Secret", "a", password, "bWluZQ==").await;
    tale.apply("a", json!({})).await;
    tale.holds("Secret", "a", password, "dG9wLXNlY3JldC0y").await;
    tale.create(source("Secret", "perhaps", "values.yaml", "color: perhaps\n")).await;
    tale.holds("ConfigMap", "a", "/data/color", "perhaps").await;
    // What is wrong in a Secret is not repeated anywhere.
    tale.edit("Secret", "hidden", json!({"stringData": {"v": "top-secret-3"}})).await;
    tale.says("a", "Irreconcilable", "True", "is no map").await;
    tale.delete("Secret", "hidden").await;
    tale.says("a", "Irreconcilable", "True", "is not there").await;
    let mut all = tale.logs() + &tale.custom("a").await.to_string();
    for event in tale.all("Event").await {
        all += &event.to_string();
    }
    assert!(!all.contains("top-secret"), "{all}");
}

#[tokio::test]
async fn overrides_win_and_are_told() {
    let tale = Tale::begin("overrides", &[TINY, TINY_VALUES]).await;
    tale.watches("overrideValues:\n  color: $TALE_COLOR\n  other.x: \"{{ upper \\\"deep\\\" }}\"");
    let operator = tale
        .operator_with(|command| {
            command.env("TALE_COLOR", "forced");
        })
        .await;
    tale.apply("a", json!({"color": "mine"})).await;
    tale.deployed("a").await;
    assert_eq!(tale.get("ConfigMap", "a").await["data"]["color"], "forced");
    let message = tale.event("a", "OverrideValuesInUse").await;
    assert_eq!(message, "Chart value \"color\" overridden to \"forced\" by operator's watches.yaml");
    operator.stop().await;
    let start = |color: &'static str| {
        tale.operator_with(move |command| {
            command.env("TALE_COLOR", color).arg("--suppress-override-values");
        })
    };
    let operator = start("hidden-color").await;
    tale.holds("ConfigMap", "a", "/data/color", "hidden-color").await;
    tale.until("an Event without the value", async || {
        let all = tale.all("Event").await;
        assert!(!all.iter().any(|event| event["message"].to_string().contains("hidden-color")));
        match all.iter().any(|event| event["message"].to_string().contains("****")) {
            true => Ok(()),
            false => Err(String::new()),
        }
    })
    .await;
    assert!(!operator.log().contains("hidden-color"));
}

#[tokio::test]
async fn values_that_the_chart_does_not_know_are_a_warning() {
    let tale = Tale::begin("typo", &[TINY, ("values.yaml", "color: red\nnested: {a: 1}\nfree: {}\n")]).await;
    let _operator = tale.operator().await;
    tale.apply("a", json!({"colour": "blue", "nested": {"b": 1}, "free": {"x": 1}, "global": {"y": 1}}))
        .await;
    let custom = tale.deployed("a").await;
    let warnings = ["the chart typo has no value colour", "the chart typo has no value nested.b"];
    assert_eq!(custom["status"]["warnings"], json!(warnings));
    tale.apply("a", json!({"color": "blue"})).await;
    tale.holds("Tale", "a", "/status/warnings", json!(null)).await;
}

#[tokio::test]
async fn a_value_that_is_an_owners_reason_is_in_the_history() {
    let tale = Tale::begin("described", &[TINY, TINY_VALUES]).await;
    let _operator = tale.operator().await;
    let said = |what: &str, text: &str| json!({"annotations": {format!("helm.sdk.operatorframework.io/{what}-description"): text}});
    tale.apply_with("a", json!({}), said("install", "because")).await;
    tale.deployed("a").await;
    tale.apply_with("a", json!({"color": "x"}), said("upgrade", "why not")).await;
    tale.revision("a", 2).await;
    let history = tale.helm(podium_rig::request::Dialect::Helm3, &["history", "a"]);
    assert!(history.contains("because") && history.contains("why not"), "{history}");
}
