//! Where the values of a release come from.

use serde_json::json;

use crate::story::Story;
use crate::{TINY, TINY_VALUES};

#[tokio::test]
async fn values_from_sources_are_below_those_of_the_resource() {
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: \"{{ .Release.Name }}\"}\nstringData: {password: \"{{ .Values.password }}\"}\n";
    let values = ("values.yaml", "color: red\npassword: none\n");
    let story = Story::new("sources", &[TINY, values, ("templates/secret.yaml", secret)]).await;
    story.watches("valuesFrom:\n- {kind: ConfigMap, name: shared}\n- {kind: Secret, name: hidden, key: v}\n- {kind: Secret, name: perhaps, optional: true}");
    let _operator = story.operator().await;
    story.apply("a", json!({})).await;
    let said = story.wait_condition("a", "Irreconcilable", "True", "ErrorGettingValues").await;
    assert!(
        said["message"].as_str().unwrap().contains("the ConfigMap sources/shared is not there"),
        "{said}"
    );
    let source = |kind: &str, name: &str, key: &str, text: &str| {
        let field = if kind == "Secret" { "stringData" } else { "data" };
        json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, field: {key: text}})
    };
    story.create(source("ConfigMap", "shared", "values.yaml", "color: shared\npassword: shared\n")).await;
    story.wait_condition("a", "Irreconcilable", "True", "the Secret sources/hidden is not there").await;
    story.create(source("Secret", "hidden", "v", "password: top-secret-1\n")).await;
    story.wait_deployed("a").await;
    assert_eq!(story.get("ConfigMap", "a").await["data"]["color"], "shared");
    let password = "/data/password";
    story.wait_field("Secret", "a", password, "dG9wLXNlY3JldC0x").await;
    story.edit("Secret", "hidden", json!({"stringData": {"v": "password: top-secret-2\n"}})).await;
    story.wait_field("Secret", "a", password, "dG9wLXNlY3JldC0y").await;
    story.apply("a", json!({"password": "mine"})).await;
    story.wait_field("Secret", "a", password, "bWluZQ==").await;
    story.apply("a", json!({})).await;
    story.wait_field("Secret", "a", password, "dG9wLXNlY3JldC0y").await;
    story.create(source("Secret", "perhaps", "values.yaml", "color: perhaps\n")).await;
    story.wait_field("ConfigMap", "a", "/data/color", "perhaps").await;
    // What is wrong in a Secret is not repeated anywhere.
    story.edit("Secret", "hidden", json!({"stringData": {"v": "top-secret-3"}})).await;
    story.wait_condition("a", "Irreconcilable", "True", "is no map").await;
    story.delete("Secret", "hidden").await;
    story.wait_condition("a", "Irreconcilable", "True", "is not there").await;
    let mut all = story.logs() + &story.custom("a").await.to_string();
    for event in story.list("Event").await {
        all += &event.to_string();
    }
    assert!(!all.contains("top-secret"), "{all}");
}

#[tokio::test]
async fn override_values_win_and_are_reported() {
    let story = Story::new("overrides", &[TINY, TINY_VALUES]).await;
    story.watches("overrideValues:\n  color: $STORY_COLOR\n  other.x: \"{{ upper \\\"deep\\\" }}\"");
    let operator = story
        .operator_with(|command| {
            command.env("STORY_COLOR", "forced");
        })
        .await;
    story.apply("a", json!({"color": "mine"})).await;
    story.wait_deployed("a").await;
    assert_eq!(story.get("ConfigMap", "a").await["data"]["color"], "forced");
    let message = story.wait_event("a", "OverrideValuesInUse").await;
    assert_eq!(message, "Chart value \"color\" overridden to \"forced\" by operator's watches.yaml");
    operator.stop().await;
    let start = |color: &'static str| {
        story.operator_with(move |command| {
            command.env("STORY_COLOR", color).arg("--suppress-override-values");
        })
    };
    let operator = start("hidden-color").await;
    story.wait_field("ConfigMap", "a", "/data/color", "hidden-color").await;
    story
        .until("an Event without the value", async || {
            let all = story.list("Event").await;
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
async fn warns_of_values_unknown_to_the_chart() {
    let story = Story::new("typo", &[TINY, ("values.yaml", "color: red\nnested: {a: 1}\nfree: {}\n")]).await;
    let _operator = story.operator().await;
    story
        .apply("a", json!({"colour": "blue", "nested": {"b": 1}, "free": {"x": 1}, "global": {"y": 1}}))
        .await;
    let custom = story.wait_deployed("a").await;
    let warnings = ["the chart typo has no value colour", "the chart typo has no value nested.b"];
    assert_eq!(custom["status"]["warnings"], json!(warnings));
    story.apply("a", json!({"color": "blue"})).await;
    story.wait_field("Widget", "a", "/status/warnings", json!(null)).await;
}

#[tokio::test]
async fn stores_descriptions_in_the_history() {
    let story = Story::new("described", &[TINY, TINY_VALUES]).await;
    let _operator = story.operator().await;
    let said = |what: &str, text: &str| json!({"annotations": {format!("helm.sdk.operatorframework.io/{what}-description"): text}});
    story.apply_with("a", json!({}), said("install", "because")).await;
    story.wait_deployed("a").await;
    story.apply_with("a", json!({"color": "x"}), said("upgrade", "why not")).await;
    story.wait_revision("a", 2).await;
    let history = story.helm(podium_rig::request::Dialect::Helm3, &["history", "a"]);
    assert!(history.contains("because") && history.contains("why not"), "{history}");
}
