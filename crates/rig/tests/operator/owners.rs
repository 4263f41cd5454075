//! Whose an object is.

use serde_json::json;

use crate::story::{Story, condition};
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
async fn deletes_children_in_other_scopes_with_their_owner() {
    let story = Story::new("spread", &[("templates/spread.yaml", SPREAD)]).await;
    story.namespace("spread-far").await;
    let operator = story.operator_everywhere().await;
    story.apply("spread-a", json!({"far": "spread-far"})).await;
    story.wait_deployed("spread-a").await;
    for (kind, name) in
        [("ConfigMap", "spread-far/spread-a"), ("ClusterRole", "spread-a"), ("ConfigMap", "spread-a-kept")]
    {
        let metadata = story.get(kind, name).await["metadata"].clone();
        let annotations = &metadata["annotations"];
        assert_eq!(annotations["operator-sdk/primary-resource"], "spread/spread-a", "{kind} {name}");
        assert_eq!(annotations["operator-sdk/primary-resource-type"], "Widget.stories.podium.dev");
        assert!(metadata["ownerReferences"].is_null());
    }
    assert!(story.get("ConfigMap", "spread-a").await["metadata"]["ownerReferences"].is_array());
    // They are looked after, too: by events.
    story.edit("ConfigMap", "spread-far/spread-a", json!({"data": {"a": "x"}})).await;
    story.wait_field("ConfigMap", "spread-far/spread-a", "/data/a", "b").await;
    story.delete("ClusterRole", "spread-a").await;
    story.wait_created("ClusterRole", "spread-a").await;
    // And go although the operator was away.
    operator.stop().await;
    story.delete("Widget", "spread-a").await;
    let _operator = story.operator_everywhere().await;
    story.wait_deleted("Widget", "spread-a").await;
    story.wait_deleted("ConfigMap", "spread-far/spread-a").await;
    story.wait_deleted("ClusterRole", "spread-a").await;
    story.get("ConfigMap", "spread-a-kept").await;
}

#[tokio::test]
async fn owns_children_of_a_cluster_scoped_resource() {
    let story = Story::for_kind("World", "worldly", &[("templates/spread.yaml", SPREAD)]).await;
    let start = async || story.operator_everywhere().await;
    let operator = start().await;

    story.namespace("worldly-far").await;
    story.apply("whole", json!({"far": "worldly-far"})).await;
    let custom = story.wait_deployed("whole").await;
    for (kind, name) in [("ConfigMap", "whole"), ("ConfigMap", "worldly-far/whole"), ("ClusterRole", "whole")]
    {
        let object = story.get(kind, name).await;
        assert_eq!(
            object["metadata"]["ownerReferences"][0]["uid"], custom["metadata"]["uid"],
            "{kind} {name}"
        );
    }
    story.delete("ConfigMap", "worldly-far/whole").await;
    story.wait_created("ConfigMap", "worldly-far/whole").await;
    operator.stop().await;
    let _operator = start().await;
    story.delete("ClusterRole", "whole").await;
    story.wait_created("ClusterRole", "whole").await;
    story.delete("World", "whole").await;
    story.wait_deleted("World", "whole").await;
    for (kind, name) in [("ConfigMap", "whole"), ("ConfigMap", "worldly-far/whole"), ("ClusterRole", "whole")]
    {
        story.wait_deleted(kind, name).await;
    }
}

#[tokio::test]
async fn gives_a_release_name_to_the_first_of_two_kinds() {
    let story = Story::new("namesakes", &[TINY, TINY_VALUES]).await;
    let both = "- {group: stories.podium.dev, version: v1, kind: Widget, chart: chart}\n\
        - {group: stories.podium.dev, version: v1, kind: Other, chart: chart}\n";
    story.file("watches.yaml", both);
    let operator = story.operator().await;
    story.apply("a", json!({"color": "first"})).await;
    story.wait_deployed("a").await;
    // With the very same values it is still not the second one's.
    let other = |name: &str| json!({"apiVersion": "stories.podium.dev/v1", "kind": "Other", "metadata": {"name": name}, "spec": {"color": "first"}});
    story.create(other("a")).await;
    let refused = async || {
        story
            .until("the other to be told", async || {
                let custom = story.get("Other", "a").await;
                match condition(&custom, "Irreconcilable") {
                    Some(said)
                        if said["message"]
                            .as_str()
                            .unwrap_or_default()
                            .contains("Widget.stories.podium.dev a") =>
                    {
                        Ok(())
                    }
                    said => Err(format!("{said:?}")),
                }
            })
            .await;
    };
    refused().await;
    assert_eq!(story.get("ConfigMap", "a").await["metadata"]["ownerReferences"][0]["kind"], "Widget");
    // Neither after a restart, nor when it goes.
    operator.stop().await;
    let _operator = story.operator().await;
    refused().await;
    story.delete("Other", "a").await;
    story.wait_deleted("Other", "a").await;
    let revision = story.wait_deployed("a").await["status"]["deployedRelease"]["revision"].clone();
    assert_eq!(
        (story.get("ConfigMap", "a").await["data"]["color"].as_str(), revision),
        (Some("first"), json!(1))
    );
    // When the first goes, the second goes on by itself.
    story.create(other("a")).await;
    refused().await;
    story.delete("Widget", "a").await;
    story.wait_deleted("Widget", "a").await;
    story.wait_field("ConfigMap", "a", "/metadata/ownerReferences/0/kind", "Other").await;
    story.delete("Other", "a").await;
    story.wait_deleted("Other", "a").await;
    story.wait_deleted("ConfigMap", "a").await;
}

#[tokio::test]
async fn gives_an_object_to_the_first_of_two_resources() {
    let same = TINY.1.replace("{{ .Release.Name }}", "the-same");
    let files = [("templates/own.yaml", TINY.1), ("templates/same.yaml", &same), TINY_VALUES];
    let story = Story::new("rivals", &files).await;
    let _operator = story.operator().await;
    story.apply("one", json!({"color": "one"})).await;
    story.wait_deployed("one").await;
    story.apply("two", json!({"color": "two"})).await;
    let said = story.wait_condition("two", "ReleaseFailed", "True", "not owned by this release").await;
    assert!(
        said["message"].as_str().unwrap().contains("current value is \\\"one\\\"")
            || said["message"].as_str().unwrap().contains("\"one\""),
        "{said}"
    );
    assert_eq!(story.get("ConfigMap", "the-same").await["data"]["color"], "one");
    // What was made before it was found out is taken back, with its record.
    story.wait_deleted("ConfigMap", "two").await;
    story.wait_deleted("Secret", "sh.helm.release.v1.two.v1").await;
    // Going takes nothing of the other with it.
    story.delete("Widget", "two").await;
    story.wait_deleted("Widget", "two").await;
    assert_eq!(story.get("ConfigMap", "the-same").await["data"]["color"], "one");
    // Nor what nobody's is.
    story.create(
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "plain"}, "data": {"a": "b"}}),
    )
    .await;
    let other = Story::new("rivals-two", &[TINY, TINY_VALUES]).await;
    let _operator = other.operator().await;
    other.create(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "plain"}, "data": {"a": "b"}})).await;
    other.apply("plain", json!({})).await;
    other.wait_condition("plain", "ReleaseFailed", "True", "not owned by this release").await;
    assert_eq!(other.get("ConfigMap", "plain").await["data"], json!({"a": "b"}));
    other.delete("Widget", "plain").await;
    other.wait_deleted("Widget", "plain").await;
    other.get("ConfigMap", "plain").await;
}
