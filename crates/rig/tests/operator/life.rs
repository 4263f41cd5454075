//! From the first apply to the last delete.

use podium_client::write::Propagation;
use podium_rig::request::Dialect;
use serde_json::json;

use crate::world::{Tale, condition};
use crate::{SMALL, SMALL_VALUES, TINY, TINY_TEXT, TINY_VALUES};

#[tokio::test]
async fn install_change_a_value_change_the_chart_and_delete() {
    let tale = Tale::begin("life", &[SMALL, SMALL_VALUES]).await;
    let operator = tale
        .operator_with(|command| {
            command.arg("--reload");
        })
        .await;
    tale.apply("a", json!({"color": "green"})).await;
    let custom = tale.deployed("a").await;
    assert_eq!(condition(&custom, "Deployed").unwrap()["reason"], "InstallSuccessful");
    assert_eq!(custom["metadata"]["finalizers"], json!(["helm.sdk.operatorframework.io/uninstall-release"]));
    assert!(custom["status"]["deployedRelease"]["manifest"].is_null());
    let map = tale.get("ConfigMap", "a").await;
    assert_eq!(map["data"], json!({"color": "green", "release": "life/a"}));
    let owner = &map["metadata"]["ownerReferences"][0];
    assert_eq!((&owner["kind"], &owner["uid"]), (&json!("Tale"), &custom["metadata"]["uid"]));
    tale.says("a", "Ready", "True", "").await;

    // A value: the pods that use the ConfigMap start anew.
    let hash = "/spec/template/metadata/annotations/podium.dev~1config-hash";
    let before = tale.get("Deployment", "a").await.pointer(hash).unwrap().clone();
    tale.apply("a", json!({"color": "blue"})).await;
    tale.holds("ConfigMap", "a", "/data/color", "blue").await;
    tale.revision("a", 2).await;
    assert_eq!(condition(&tale.deployed("a").await, "Deployed").unwrap()["reason"], "UpgradeSuccessful");
    assert_ne!(tale.get("Deployment", "a").await.pointer(hash).unwrap(), &before);

    // The chart: an object more, and one less.
    tale.file("chart/templates/more.yaml", &TINY_TEXT.replace(".Release.Name }}", ".Release.Name }}-more"));
    tale.appears("ConfigMap", "a-more").await;
    tale.revision("a", 3).await;
    tale.drop_file("chart/templates/more.yaml");
    tale.vanishes("ConfigMap", "a-more").await;
    tale.revision("a", 4).await;
    assert_eq!(tale.helm(Dialect::Helm4, &["list", "-q"]).trim(), "a");

    tale.delete("Tale", "a").await;
    tale.vanishes("Tale", "a").await;
    for (kind, name) in [("ConfigMap", "a"), ("Deployment", "a")] {
        tale.vanishes(kind, name).await;
    }
    assert_eq!(tale.all("Secret").await, Vec::<serde_json::Value>::new());
    assert_eq!(tale.event("a", "Uninstalled").await, "the release a is uninstalled");
    operator.stop().await;
}

#[tokio::test]
async fn a_chart_that_gets_another_name_is_looked_after_under_it() {
    let tale = Tale::begin("renamed", &[TINY, TINY_VALUES]).await;
    let _operator = tale
        .operator_with(|command| {
            command.arg("--reload");
        })
        .await;
    tale.apply("a", json!({})).await;
    tale.deployed("a").await;
    tale.file("chart/Chart.yaml", "apiVersion: v2\nname: renamed-again\nversion: 0.2.0\n");
    tale.revision("a", 2).await;
    tale.apply("b", json!({})).await;
    tale.deployed("b").await;
    for name in ["a", "b"] {
        let label = "/metadata/labels/helm.sdk.operatorframework.io~1chart";
        tale.holds("ConfigMap", name, label, "renamed-again").await;
        tale.edit("ConfigMap", name, json!({"data": {"color": "x"}})).await;
        tale.holds("ConfigMap", name, "/data/color", "red").await;
        tale.delete("ConfigMap", name).await;
        tale.appears("ConfigMap", name).await;
    }
    for name in ["a", "b"] {
        tale.delete("Tale", name).await;
        tale.vanishes("Tale", name).await;
        tale.vanishes("ConfigMap", name).await;
    }
}

#[tokio::test]
async fn a_resource_goes_in_every_way_that_kubernetes_has() {
    const FAR: (&str, &str) = (
        "templates/far.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"far-{{ .Release.Name }}\", namespace: deletion-far}\n",
    );
    let tale = Tale::begin("deletion", &[TINY, TINY_VALUES, FAR]).await;
    tale.namespace("deletion-far").await;
    let _operator = tale.operator().await;
    for name in ["background", "foreground", "orphan", "kept"] {
        tale.apply(name, json!({})).await;
    }
    for (name, how) in [
        ("background", Propagation::Background),
        ("foreground", Propagation::Foreground),
        ("orphan", Propagation::Orphan),
    ] {
        tale.deployed(name).await;
        tale.delete_as("Tale", name, how).await;
        tale.vanishes("Tale", name).await;
        let far = format!("deletion-far/far-{name}");
        let record = format!("sh.helm.release.v1.{name}.v1");
        if name == "orphan" {
            // What is orphaned stays, and is a release that helm goes on with.
            tale.holds("ConfigMap", name, "/metadata/ownerReferences", json!(null)).await;
            tale.get("ConfigMap", &far).await;
            tale.helm(Dialect::Helm3, &["upgrade", name, "chart", "--set", "color=mine"]);
            assert_eq!(tale.get("ConfigMap", name).await["data"]["color"], "mine");
            tale.helm(Dialect::Helm3, &["uninstall", name]);
        }
        for (kind, name) in [("ConfigMap", name), ("ConfigMap", &far), ("Secret", &record)] {
            tale.vanishes(kind, name).await;
        }
    }
    // Nothing of others was touched.
    tale.deployed("kept").await;
    tale.get("ConfigMap", "kept").await;
}

#[tokio::test]
async fn a_release_of_helm_becomes_a_resources_and_helms_again() {
    let tale = Tale::begin("takeover", &[TINY, TINY_VALUES]).await;
    tale.helm(Dialect::Helm3, &["install", "three", "chart", "--set", "color=old"]);
    tale.helm(Dialect::Helm4, &["install", "four", "chart", "--set", "color=old"]);
    let operator = tale.operator().await;
    for (name, dialect) in [("three", Dialect::Helm3), ("four", Dialect::Helm4)] {
        let uid = tale.get("ConfigMap", name).await["metadata"]["uid"].clone();
        tale.apply(name, json!({"color": "new"})).await;
        tale.deployed(name).await;
        tale.revision(name, 2).await;
        let map = tale.get("ConfigMap", name).await;
        assert_eq!((&map["metadata"]["uid"], &map["data"]["color"]), (&uid, &json!("new")));
        // What helm does beside the resource is taken back.
        tale.helm(dialect, &["upgrade", name, "chart", "--set", "color=helm"]);
        tale.revision(name, 4).await;
        assert_eq!(tale.get("ConfigMap", name).await["data"]["color"], "new");
        let history = tale.helm(dialect, &["history", name]);
        assert_eq!(history.matches("deployed").count(), 1, "{history}");
    }
    operator.stop().await;
    // Without an operator, helm does as it likes; with one again, the resource counts.
    tale.helm(Dialect::Helm3, &["rollback", "three", "1"]);
    assert_eq!(tale.get("ConfigMap", "three").await["data"]["color"], "old");
    let _operator = tale.operator().await;
    tale.holds("ConfigMap", "three", "/data/color", "new").await;
}

#[tokio::test]
async fn names_may_be_as_long_as_a_releases() {
    let tale = Tale::begin("long", &[TINY, TINY_VALUES]).await;
    let _operator = tale.operator().await;
    let (fits, not) = ("n".repeat(53), "n".repeat(54));
    tale.apply(&fits, json!({})).await;
    tale.apply(&not, json!({})).await;
    tale.deployed(&fits).await;
    tale.get("ConfigMap", &fits).await;
    tale.says(&not, "Irreconcilable", "True", "up to 53").await;
    for name in [&fits, &not] {
        tale.delete("Tale", name).await;
        tale.vanishes("Tale", name).await;
    }
}

#[tokio::test]
async fn hooks_and_definitions_of_a_chart() {
    let hook = |event: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: \"{{{{ .Release.Name }}}}-{event}\", annotations: \
             {{helm.sh/hook: {event}, helm.sh/hook-delete-policy: before-hook-creation}}}}\n"
        )
    };
    let crd = crate::world::crd("Brought", "Namespaced").to_string();
    let tale = Tale::begin(
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
                "apiVersion: tales.podium.dev/v1\nkind: Brought\nmetadata: {name: \"{{ .Release.Name }}\"}\nspec: {a: 1}\n",
            ),
        ],
    )
    .await;
    let _operator = tale.operator().await;
    let quiet = |what: &str| json!({"annotations": {format!("helm.sdk.operatorframework.io/{what}-disable-hooks"): "true"}});
    tale.apply("a", json!({})).await;
    tale.deployed("a").await;
    tale.get("Brought", "a").await;
    tale.apply_with("b", json!({}), quiet("install")).await;
    tale.deployed("b").await;
    assert!(tale.find("ConfigMap", "a-pre-install").await.is_some());
    assert!(tale.find("ConfigMap", "b-pre-install").await.is_none());
    tale.apply_with("a", json!({"color": "x"}), quiet("upgrade")).await;
    tale.revision("a", 2).await;
    assert!(tale.find("ConfigMap", "a-pre-upgrade").await.is_none());
    tale.apply("a", json!({"color": "y"})).await;
    tale.revision("a", 3).await;
    assert!(tale.find("ConfigMap", "a-pre-upgrade").await.is_some());
    tale.apply_with("b", json!({}), quiet("uninstall")).await;
    for name in ["a", "b"] {
        tale.delete("Tale", name).await;
        tale.vanishes("Tale", name).await;
        tale.vanishes("Brought", name).await;
    }
    assert!(tale.find("ConfigMap", "a-post-delete").await.is_some());
    assert!(tale.find("ConfigMap", "b-post-delete").await.is_none());
}

#[tokio::test]
async fn a_resource_that_goes_while_it_is_installed_leaves_nothing() {
    let tale = Tale::begin("hasty", &[SMALL, SMALL_VALUES]).await;
    tale.watches("wait: true");
    let _operator = tale.operator().await;
    tale.apply("a", json!({"podAnnotations": {"rig.podium/ready": "false"}})).await;
    tale.appears("Deployment", "a").await;
    tale.delete("Tale", "a").await;
    tale.vanishes("Tale", "a").await;
    tale.vanishes("Deployment", "a").await;
    tale.vanishes("ConfigMap", "a").await;
    assert!(tale.all("Secret").await.is_empty());
}

#[tokio::test]
async fn an_object_that_goes_during_the_first_installation_comes_back() {
    let tale = Tale::begin("early", &[SMALL, SMALL_VALUES]).await;
    tale.watches("wait: true");
    let _operator = tale.operator().await;
    // Its objects make the operator listen before the second one is installed.
    tale.apply("a", json!({})).await;
    tale.deployed("a").await;
    tale.apply("b", json!({"podAnnotations": {"rig.podium/ready": "false"}})).await;
    tale.appears("Deployment", "b").await;
    tale.delete("ConfigMap", "b").await;
    tale.edit("ConfigMap", "a", json!({"metadata": {"labels": {"later": "heard"}}})).await;
    let pods = tale
        .until("a pod of b", async || {
            let pods = tale.all("Pod").await;
            let names = pods.iter().filter_map(|pod| pod["metadata"]["name"].as_str());
            let names: Vec<String> = names.filter(|name| name.starts_with("b-")).map(str::to_owned).collect();
            if names.is_empty() { Err("there is none".to_owned()) } else { Ok(names) }
        })
        .await;
    for pod in pods {
        tale.edit("Pod", &pod, json!({"metadata": {"annotations": {"rig.podium/ready": null}}})).await;
    }
    tale.deployed("b").await;
    tale.appears("ConfigMap", "b").await;
}

#[tokio::test]
async fn a_change_counts_while_another_one_is_waited_for() {
    let tale = Tale::begin("impatient", &[SMALL, SMALL_VALUES]).await;
    tale.watches("wait: true");
    let _operator = tale.operator().await;
    tale.apply("a", json!({"podAnnotations": {"rig.podium/ready": "false"}})).await;
    tale.appears("Deployment", "a").await;
    tale.apply("a", json!({"color": "second"})).await;
    tale.holds("ConfigMap", "a", "/data/color", "second").await;
    tale.deployed("a").await;
    tale.says("a", "Ready", "True", "").await;
}

#[tokio::test]
async fn uninstall_wait_keeps_the_resource_until_its_objects_are_gone() {
    let tale = Tale::begin("patient", &[TINY, TINY_VALUES]).await;
    let _operator = tale.operator().await;
    for (name, wait) in [("waits", "true"), ("does-not", "false")] {
        let metadata = json!({"annotations": {"helm.sdk.operatorframework.io/uninstall-wait": wait}});
        tale.apply_with(name, json!({}), metadata).await;
        tale.deployed(name).await;
        tale.edit("ConfigMap", name, json!({"metadata": {"finalizers": ["story.podium.dev/stay"]}})).await;
        tale.delete("Tale", name).await;
    }
    tale.vanishes("Tale", "does-not").await;
    tale.custom("waits").await;
    for name in ["waits", "does-not"] {
        assert!(tale.get("ConfigMap", name).await["metadata"]["deletionTimestamp"].is_string());
        tale.edit("ConfigMap", name, json!({"metadata": {"finalizers": null}})).await;
    }
    tale.vanishes("Tale", "waits").await;
}
