//! Whose an object is.

use serde_json::json;

use crate::world::{Tale, condition};
use crate::{TINY, TINY_VALUES};

const SPREAD: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}", namespace: "{{ .Values.far }}"}
data: {a: b}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "{{ .Release.Name }}"}
rules: [{apiGroups: [""], resources: [nodes], verbs: [get]}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}-kept", annotations: {helm.sh/resource-policy: keep}}
"#;

#[tokio::test]
async fn children_elsewhere_name_their_owner_and_go_with_it() {
    let tale = Tale::begin("spread", &[("templates/spread.yaml", SPREAD)]).await;
    tale.namespace("spread-far").await;
    let operator = tale.operator_everywhere().await;
    tale.apply("spread-a", json!({"far": "spread-far"})).await;
    tale.deployed("spread-a").await;
    for (kind, name) in
        [("ConfigMap", "spread-far/spread-a"), ("ClusterRole", "spread-a"), ("ConfigMap", "spread-a-kept")]
    {
        let metadata = tale.get(kind, name).await["metadata"].clone();
        let annotations = &metadata["annotations"];
        assert_eq!(annotations["operator-sdk/primary-resource"], "spread/spread-a", "{kind} {name}");
        assert_eq!(annotations["operator-sdk/primary-resource-type"], "Tale.tales.podium.dev");
        assert!(metadata["ownerReferences"].is_null());
    }
    assert!(tale.get("ConfigMap", "spread-a").await["metadata"]["ownerReferences"].is_array());
    // They are looked after, too: by events.
    tale.edit("ConfigMap", "spread-far/spread-a", json!({"data": {"a": "x"}})).await;
    tale.holds("ConfigMap", "spread-far/spread-a", "/data/a", "b").await;
    tale.delete("ClusterRole", "spread-a").await;
    tale.appears("ClusterRole", "spread-a").await;
    // And go although the operator was away.
    operator.stop().await;
    tale.delete("Tale", "spread-a").await;
    let _operator = tale.operator_everywhere().await;
    tale.vanishes("Tale", "spread-a").await;
    tale.vanishes("ConfigMap", "spread-far/spread-a").await;
    tale.vanishes("ClusterRole", "spread-a").await;
    tale.get("ConfigMap", "spread-a-kept").await;
}

#[tokio::test]
async fn a_resource_of_the_whole_cluster() {
    let tale = Tale::of("World", "worldly", &[("templates/spread.yaml", SPREAD)]).await;
    let start = async || tale.operator_everywhere().await;
    let operator = start().await;

    tale.namespace("worldly-far").await;
    tale.apply("whole", json!({"far": "worldly-far"})).await;
    let custom = tale.deployed("whole").await;
    for (kind, name) in [("ConfigMap", "whole"), ("ConfigMap", "worldly-far/whole"), ("ClusterRole", "whole")]
    {
        let object = tale.get(kind, name).await;
        assert_eq!(
            object["metadata"]["ownerReferences"][0]["uid"], custom["metadata"]["uid"],
            "{kind} {name}"
        );
    }
    tale.delete("ConfigMap", "worldly-far/whole").await;
    tale.appears("ConfigMap", "worldly-far/whole").await;
    operator.stop().await;
    let _operator = start().await;
    tale.delete("ClusterRole", "whole").await;
    tale.appears("ClusterRole", "whole").await;
    tale.delete("World", "whole").await;
    tale.vanishes("World", "whole").await;
    for (kind, name) in [("ConfigMap", "whole"), ("ConfigMap", "worldly-far/whole"), ("ClusterRole", "whole")]
    {
        tale.vanishes(kind, name).await;
    }
}

#[tokio::test]
async fn of_two_kinds_with_the_same_name_the_first_has_the_release() {
    let tale = Tale::begin("namesakes", &[TINY, TINY_VALUES]).await;
    let both = "- {group: tales.podium.dev, version: v1, kind: Tale, chart: chart}\n\
        - {group: tales.podium.dev, version: v1, kind: Other, chart: chart}\n";
    tale.file("watches.yaml", both);
    let operator = tale.operator().await;
    tale.apply("a", json!({"color": "first"})).await;
    tale.deployed("a").await;
    // With the very same values it is still not the second one's.
    let other = |name: &str| json!({"apiVersion": "tales.podium.dev/v1", "kind": "Other", "metadata": {"name": name}, "spec": {"color": "first"}});
    tale.create(other("a")).await;
    let refused = async || {
        tale.until("the other to be told", async || {
            let custom = tale.get("Other", "a").await;
            match condition(&custom, "Irreconcilable") {
                Some(said)
                    if said["message"].as_str().unwrap_or_default().contains("Tale.tales.podium.dev a") =>
                {
                    Ok(())
                }
                said => Err(format!("{said:?}")),
            }
        })
        .await;
    };
    refused().await;
    assert_eq!(tale.get("ConfigMap", "a").await["metadata"]["ownerReferences"][0]["kind"], "Tale");
    // Neither after a restart, nor when it goes.
    operator.stop().await;
    let _operator = tale.operator().await;
    refused().await;
    tale.delete("Other", "a").await;
    tale.vanishes("Other", "a").await;
    let revision = tale.deployed("a").await["status"]["deployedRelease"]["revision"].clone();
    assert_eq!(
        (tale.get("ConfigMap", "a").await["data"]["color"].as_str(), revision),
        (Some("first"), json!(1))
    );
    // When the first goes, the second goes on by itself.
    tale.create(other("a")).await;
    refused().await;
    tale.delete("Tale", "a").await;
    tale.vanishes("Tale", "a").await;
    tale.holds("ConfigMap", "a", "/metadata/ownerReferences/0/kind", "Other").await;
    tale.delete("Other", "a").await;
    tale.vanishes("Other", "a").await;
    tale.vanishes("ConfigMap", "a").await;
}

#[tokio::test]
async fn of_two_resources_that_want_the_same_object_the_first_has_it() {
    let same = TINY.1.replace("{{ .Release.Name }}", "the-same");
    let files = [("templates/own.yaml", TINY.1), ("templates/same.yaml", &same), TINY_VALUES];
    let tale = Tale::begin("rivals", &files).await;
    let _operator = tale.operator().await;
    tale.apply("one", json!({"color": "one"})).await;
    tale.deployed("one").await;
    tale.apply("two", json!({"color": "two"})).await;
    let said = tale.says("two", "ReleaseFailed", "True", "somebody else's").await;
    assert!(
        said["message"].as_str().unwrap().contains("current value is \\\"one\\\"")
            || said["message"].as_str().unwrap().contains("\"one\""),
        "{said}"
    );
    assert_eq!(tale.get("ConfigMap", "the-same").await["data"]["color"], "one");
    // What was made before it was found out is taken back, with its record.
    tale.vanishes("ConfigMap", "two").await;
    tale.vanishes("Secret", "sh.helm.release.v1.two.v1").await;
    // Going takes nothing of the other with it.
    tale.delete("Tale", "two").await;
    tale.vanishes("Tale", "two").await;
    assert_eq!(tale.get("ConfigMap", "the-same").await["data"]["color"], "one");
    // Nor what nobody's is.
    tale.create(
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "plain"}, "data": {"a": "b"}}),
    )
    .await;
    let other = Tale::begin("rivals-two", &[TINY, TINY_VALUES]).await;
    let _operator = other.operator().await;
    other.create(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "plain"}, "data": {"a": "b"}})).await;
    other.apply("plain", json!({})).await;
    other.says("plain", "ReleaseFailed", "True", "somebody else's").await;
    assert_eq!(other.get("ConfigMap", "plain").await["data"], json!({"a": "b"}));
    other.delete("Tale", "plain").await;
    other.vanishes("Tale", "plain").await;
    other.get("ConfigMap", "plain").await;
}
