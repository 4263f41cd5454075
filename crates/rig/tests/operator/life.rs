//! From the first apply to the last delete.

use podium_client::write::PropagationPolicy;
use podium_rig::request::Dialect;
use serde_json::json;

use crate::story::{Story, condition};
use crate::{SMALL, SMALL_VALUES, TINY, TINY_TEXT, TINY_VALUES};

#[tokio::test]
async fn installs_upgrades_reloads_and_uninstalls() {
    let story = Story::new("life", &[SMALL, SMALL_VALUES]).await;
    let operator = story
        .operator_with(|command| {
            command.arg("--reload");
        })
        .await;
    story.apply("a", json!({"color": "green"})).await;
    let custom = story.wait_deployed("a").await;
    assert_eq!(condition(&custom, "Deployed").unwrap()["reason"], "InstallSuccessful");
    assert_eq!(custom["metadata"]["finalizers"], json!(["helm.sdk.operatorframework.io/uninstall-release"]));
    assert!(custom["status"]["deployedRelease"]["manifest"].is_null());
    let map = story.get("ConfigMap", "a").await;
    assert_eq!(map["data"], json!({"color": "green", "release": "life/a"}));
    let owner = &map["metadata"]["ownerReferences"][0];
    assert_eq!((&owner["kind"], &owner["uid"]), (&json!("Widget"), &custom["metadata"]["uid"]));
    story.wait_condition("a", "Ready", "True", "").await;

    // A value: the pods that use the ConfigMap start anew.
    let hash = "/spec/template/metadata/annotations/podium.dev~1config-hash";
    let before = story.get("Deployment", "a").await.pointer(hash).unwrap().clone();
    story.apply("a", json!({"color": "blue"})).await;
    story.wait_field("ConfigMap", "a", "/data/color", "blue").await;
    story.wait_revision("a", 2).await;
    assert_eq!(
        condition(&story.wait_deployed("a").await, "Deployed").unwrap()["reason"],
        "UpgradeSuccessful"
    );
    assert_ne!(story.get("Deployment", "a").await.pointer(hash).unwrap(), &before);

    // The chart: an object more, and one less.
    story.file("chart/templates/more.yaml", &TINY_TEXT.replace(".Release.Name }}", ".Release.Name }}-more"));
    story.wait_created("ConfigMap", "a-more").await;
    story.wait_revision("a", 3).await;
    story.remove_file("chart/templates/more.yaml");
    story.wait_deleted("ConfigMap", "a-more").await;
    story.wait_revision("a", 4).await;
    assert_eq!(story.helm(Dialect::Helm4, &["list", "-q"]).trim(), "a");

    story.delete("Widget", "a").await;
    story.wait_deleted("Widget", "a").await;
    for (kind, name) in [("ConfigMap", "a"), ("Deployment", "a")] {
        story.wait_deleted(kind, name).await;
    }
    assert_eq!(story.list("Secret").await, Vec::<serde_json::Value>::new());
    assert_eq!(story.wait_event("a", "Uninstalled").await, "the release a is uninstalled");
    operator.stop().await;
}

#[tokio::test]
async fn follows_a_chart_that_is_renamed() {
    let story = Story::new("renamed", &[TINY, TINY_VALUES]).await;
    let _operator = story
        .operator_with(|command| {
            command.arg("--reload");
        })
        .await;
    story.apply("a", json!({})).await;
    story.wait_deployed("a").await;
    story.file("chart/Chart.yaml", "apiVersion: v2\nname: renamed-again\nversion: 0.2.0\n");
    story.wait_revision("a", 2).await;
    story.apply("b", json!({})).await;
    story.wait_deployed("b").await;
    for name in ["a", "b"] {
        let label = "/metadata/labels/helm.sdk.operatorframework.io~1chart";
        story.wait_field("ConfigMap", name, label, "renamed-again").await;
        story.edit("ConfigMap", name, json!({"data": {"color": "x"}})).await;
        story.wait_field("ConfigMap", name, "/data/color", "red").await;
        story.delete("ConfigMap", name).await;
        story.wait_created("ConfigMap", name).await;
    }
    for name in ["a", "b"] {
        story.delete("Widget", name).await;
        story.wait_deleted("Widget", name).await;
        story.wait_deleted("ConfigMap", name).await;
    }
}

#[tokio::test]
async fn uninstalls_with_each_propagation_policy() {
    const FAR: (&str, &str) = (
        "templates/far.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"far-{{ .Release.Name }}\", namespace: deletion-far}\n",
    );
    let story = Story::new("deletion", &[TINY, TINY_VALUES, FAR]).await;
    story.namespace("deletion-far").await;
    let _operator = story.operator().await;
    for name in ["background", "foreground", "orphan", "kept"] {
        story.apply(name, json!({})).await;
    }
    for (name, how) in [
        ("background", PropagationPolicy::Background),
        ("foreground", PropagationPolicy::Foreground),
        ("orphan", PropagationPolicy::Orphan),
    ] {
        story.wait_deployed(name).await;
        story.delete_as("Widget", name, how).await;
        story.wait_deleted("Widget", name).await;
        let far = format!("deletion-far/far-{name}");
        let record = format!("sh.helm.release.v1.{name}.v1");
        if name == "orphan" {
            // What is orphaned stays, and is a release that helm goes on with.
            story.wait_field("ConfigMap", name, "/metadata/ownerReferences", json!(null)).await;
            story.get("ConfigMap", &far).await;
            story.helm(Dialect::Helm3, &["upgrade", name, "chart", "--set", "color=mine"]);
            assert_eq!(story.get("ConfigMap", name).await["data"]["color"], "mine");
            story.helm(Dialect::Helm3, &["uninstall", name]);
        }
        for (kind, name) in [("ConfigMap", name), ("ConfigMap", &far), ("Secret", &record)] {
            story.wait_deleted(kind, name).await;
        }
    }
    // Nothing of others was touched.
    story.wait_deployed("kept").await;
    story.get("ConfigMap", "kept").await;
}

#[tokio::test]
async fn adopts_a_helm_release_and_takes_back_helm_upgrades() {
    let story = Story::new("takeover", &[TINY, TINY_VALUES]).await;
    story.helm(Dialect::Helm3, &["install", "three", "chart", "--set", "color=old"]);
    story.helm(Dialect::Helm4, &["install", "four", "chart", "--set", "color=old"]);
    let operator = story.operator().await;
    for (name, dialect) in [("three", Dialect::Helm3), ("four", Dialect::Helm4)] {
        let uid = story.get("ConfigMap", name).await["metadata"]["uid"].clone();
        story.apply(name, json!({"color": "new"})).await;
        story.wait_deployed(name).await;
        story.wait_revision(name, 2).await;
        let map = story.get("ConfigMap", name).await;
        assert_eq!((&map["metadata"]["uid"], &map["data"]["color"]), (&uid, &json!("new")));
        // What helm does beside the resource is taken back.
        story.helm(dialect, &["upgrade", name, "chart", "--set", "color=helm"]);
        story.wait_revision(name, 4).await;
        assert_eq!(story.get("ConfigMap", name).await["data"]["color"], "new");
        let history = story.helm(dialect, &["history", name]);
        assert_eq!(history.matches("deployed").count(), 1, "{history}");
    }
    operator.stop().await;
    // Without an operator, helm does as it likes; with one again, the resource counts.
    story.helm(Dialect::Helm3, &["rollback", "three", "1"]);
    assert_eq!(story.get("ConfigMap", "three").await["data"]["color"], "old");
    let _operator = story.operator().await;
    story.wait_field("ConfigMap", "three", "/data/color", "new").await;
}

#[tokio::test]
async fn accepts_names_up_to_53_characters() {
    let story = Story::new("long", &[TINY, TINY_VALUES]).await;
    let _operator = story.operator().await;
    let (fits, not) = ("n".repeat(53), "n".repeat(54));
    story.apply(&fits, json!({})).await;
    story.apply(&not, json!({})).await;
    story.wait_deployed(&fits).await;
    story.get("ConfigMap", &fits).await;
    story.wait_condition(&not, "Irreconcilable", "True", "up to 53").await;
    for name in [&fits, &not] {
        story.delete("Widget", name).await;
        story.wait_deleted("Widget", name).await;
    }
}

#[tokio::test]
async fn runs_hooks_and_installs_crds() {
    let hook = |event: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: \"{{{{ .Release.Name }}}}-{event}\", annotations: \
             {{helm.sh/hook: {event}, helm.sh/hook-delete-policy: before-hook-creation}}}}\n"
        )
    };
    let crd = crate::story::crd("Brought", "Namespaced").to_string();
    let story = Story::new(
        "hooked",
        &[
            TINY,
            TINY_VALUES,
            ("templates/pre.yaml", &hook("pre-install")),
            ("templates/up.yaml", &hook("pre-upgrade")),
            ("templates/del.yaml", &hook("post-delete")),
            ("crds/brought.yaml", &crd),
            (
                "templates/brought.yaml",
                "apiVersion: stories.podium.dev/v1\nkind: Brought\nmetadata: {name: \"{{ .Release.Name }}\"}\nspec: {a: 1}\n",
            ),
        ],
    )
    .await;
    let _operator = story.operator().await;
    let quiet = |what: &str| json!({"annotations": {format!("helm.sdk.operatorframework.io/{what}-disable-hooks"): "true"}});
    story.apply("a", json!({})).await;
    story.wait_deployed("a").await;
    story.get("Brought", "a").await;
    story.apply_with("b", json!({}), quiet("install")).await;
    story.wait_deployed("b").await;
    assert!(story.find("ConfigMap", "a-pre-install").await.is_some());
    assert!(story.find("ConfigMap", "b-pre-install").await.is_none());
    story.apply_with("a", json!({"color": "x"}), quiet("upgrade")).await;
    story.wait_revision("a", 2).await;
    assert!(story.find("ConfigMap", "a-pre-upgrade").await.is_none());
    story.apply("a", json!({"color": "y"})).await;
    story.wait_revision("a", 3).await;
    assert!(story.find("ConfigMap", "a-pre-upgrade").await.is_some());
    story.apply_with("b", json!({}), quiet("uninstall")).await;
    for name in ["a", "b"] {
        story.delete("Widget", name).await;
        story.wait_deleted("Widget", name).await;
        story.wait_deleted("Brought", name).await;
    }
    assert!(story.find("ConfigMap", "a-post-delete").await.is_some());
    assert!(story.find("ConfigMap", "b-post-delete").await.is_none());
}

#[tokio::test]
async fn leaves_nothing_of_a_resource_deleted_during_install() {
    let story = Story::new("hasty", &[SMALL, SMALL_VALUES]).await;
    story.watches("wait: true");
    let _operator = story.operator().await;
    story.apply("a", json!({"podAnnotations": {"rig.podium/ready": "false"}})).await;
    story.wait_created("Deployment", "a").await;
    story.delete("Widget", "a").await;
    story.wait_deleted("Widget", "a").await;
    story.wait_deleted("Deployment", "a").await;
    story.wait_deleted("ConfigMap", "a").await;
    assert!(story.list("Secret").await.is_empty());
}

#[tokio::test]
async fn recreates_an_object_deleted_during_install() {
    let story = Story::new("early", &[SMALL, SMALL_VALUES]).await;
    story.watches("wait: true");
    let operator = story
        .operator_with(|command| {
            command.arg("--zap-log-level=debug");
        })
        .await;
    // Its objects make the operator listen before the second one is installed.
    story.apply("a", json!({})).await;
    story.wait_deployed("a").await;
    story.apply("b", json!({"podAnnotations": {"rig.podium/ready": "false"}})).await;
    // The wait has seen the ConfigMap and goes on for the Deployment: one that is missing from the start fails the install.
    operator.wait_log("apps/v1/Deployment early/b").await;
    story.delete("ConfigMap", "b").await;
    story.edit("ConfigMap", "a", json!({"metadata": {"labels": {"later": "heard"}}})).await;
    let pods = story
        .until("a pod of b", async || {
            let pods = story.list("Pod").await;
            let names = pods.iter().filter_map(|pod| pod["metadata"]["name"].as_str());
            let names: Vec<String> = names.filter(|name| name.starts_with("b-")).map(str::to_owned).collect();
            if names.is_empty() { Err("there is none".to_owned()) } else { Ok(names) }
        })
        .await;
    for pod in pods {
        story.edit("Pod", &pod, json!({"metadata": {"annotations": {"rig.podium/ready": null}}})).await;
    }
    story.wait_deployed("b").await;
    story.wait_created("ConfigMap", "b").await;
}

#[tokio::test]
async fn applies_a_change_made_during_a_wait() {
    let story = Story::new("impatient", &[SMALL, SMALL_VALUES]).await;
    story.watches("wait: true");
    let _operator = story.operator().await;
    story.apply("a", json!({"podAnnotations": {"rig.podium/ready": "false"}})).await;
    story.wait_created("Deployment", "a").await;
    story.apply("a", json!({"color": "second"})).await;
    story.wait_field("ConfigMap", "a", "/data/color", "second").await;
    story.wait_deployed("a").await;
    story.wait_condition("a", "Ready", "True", "").await;
}

#[tokio::test]
async fn uninstall_wait_keeps_the_resource_until_its_objects_are_gone() {
    let story = Story::new("patient", &[TINY, TINY_VALUES]).await;
    let _operator = story.operator().await;
    for (name, wait) in [("waits", "true"), ("does-not", "false")] {
        let metadata = json!({"annotations": {"helm.sdk.operatorframework.io/uninstall-wait": wait}});
        story.apply_with(name, json!({}), metadata).await;
        story.wait_deployed(name).await;
        story.edit("ConfigMap", name, json!({"metadata": {"finalizers": ["story.podium.dev/stay"]}})).await;
        story.delete("Widget", name).await;
    }
    story.wait_deleted("Widget", "does-not").await;
    story.custom("waits").await;
    for name in ["waits", "does-not"] {
        assert!(story.get("ConfigMap", name).await["metadata"]["deletionTimestamp"].is_string());
        story.edit("ConfigMap", name, json!({"metadata": {"finalizers": null}})).await;
    }
    story.wait_deleted("Widget", "waits").await;
}
