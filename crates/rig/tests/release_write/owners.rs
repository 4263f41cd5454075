//! Whose objects and fields are whose.

use podium_rig::request::Dialect;
use serde_json::json;

use crate::MAP;
use crate::space::Space;

/// Two ConfigMaps: the first can be had, the second may be somebody else's.
const TWO: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: free }\n---\n\
                   apiVersion: v1\nkind: ConfigMap\nmetadata: { name: taken }\ndata: { a: ours }\n";

#[test]
fn nothing_is_written_when_an_object_is_somebody_elses() {
    let space = Space::new("taken");
    space
        .chart("two", TWO)
        .chart("map", MAP)
        .chart("other", "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: taken }\n");
    space.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: { name: taken }\ndata: { a: theirs, b: more }\n");
    space.podium("install up map").good();
    let before = space.everything();
    let words = ["v1/ConfigMap taken/taken", "not owned by this release", "podium release adopt"];
    space.podium("install a two").bad(&words);
    space.podium("upgrade up two").bad(&words);
    space.podium("diff a two").bad(&["1 object is blocked"]);
    assert_eq!(space.everything(), before);
    let shown = space.podium("diff a two --take-ownership").good();
    assert!(
        shown.stdout.contains("adopt    v1/ConfigMap taken/taken")
            && shown.stdout.contains(".data.a: \"theirs\" -> \"ours\""),
        "{}",
        shown.stdout
    );
    assert_eq!(space.everything(), before);
    space.podium("adopt a two").good().tells(&["adopted v1/ConfigMap taken/taken"]);
    assert_eq!(
        (space.field("cm/taken", ".data.a"), space.field("cm/taken", ".data.b")),
        ("ours".into(), "more".into())
    );
    // Now it is of the release a, and no other takes it.
    let before = space.everything();
    space
        .podium("install b other")
        .bad(&["taken/taken", "it belongs to the release \"a\" of the namespace \"taken\""]);
    assert_eq!(space.everything(), before);
    space.helm(Dialect::Helm4, "upgrade a two").good();
    space.podium("uninstall a").good();
    assert!(!space.has("cm/taken") && !space.has("cm/free"));
}

#[test]
fn what_was_given_to_another_release_is_left_to_it() {
    let space = Space::new("given");
    space
        .chart("two", TWO)
        .chart("one", "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: taken }\ndata: { a: next }\n");
    space.podium("install a two").good();
    space.podium("install b one --take-ownership").good();
    space.podium("uninstall a").good().tells(&["left v1/ConfigMap given/taken", "not owned by this release"]);
    assert_eq!(space.field("cm/taken", ".data.a"), "next");
}

const WEB: &str = "apiVersion: apps/v1
kind: Deployment
metadata: { name: web, labels: { kept: 'yes' } }
spec:
  replicas: 1
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      containers:
        - name: main
          image: any
          {{- if .Values.env }}
          env: [{ name: A, value: one }, { name: B, value: two }]
          args: [x]
          {{- end }}
---
apiVersion: v1
kind: ConfigMap
metadata: { name: web }
data: { a: '1'{{ if .Values.env }}, b: '2'{{ end }} }
";

#[test]
fn edits_are_repaired_and_what_scalers_set_is_left_and_named() {
    let space = Space::new("drift");
    space.chart("web", WEB);
    space.podium("install web web").good();
    space.merge("configmap/web", json!({"data": {"a": "edited", "extra": "theirs"}}));
    space.merge("deployment/web", json!({"metadata": {"labels": {"kept": "no"}}}));
    space.cluster.admin().scale("deployment", space.name, "web", 3).unwrap();
    let ran = space.podium("upgrade web web").good().tells(&[
        "drift/web",
        ".spec.replicas is left to",
        "which scales it",
    ]);
    assert!(!ran.stderr.contains("configmap"), "{}", ran.stderr);
    assert_eq!(space.field("cm/web", ".data.a"), "1");
    assert_eq!(space.field("cm/web", ".data.extra"), "theirs", "what nobody of us wrote is left");
    assert_eq!(space.field("deployment/web", ".metadata.labels.kept"), "yes");
    assert_eq!(space.field("deployment/web", ".spec.replicas"), "3");
    space.delete("configmap/web");
    space.podium("upgrade web web").good();
    assert!(space.has("cm/web"));
}

#[test]
fn a_release_of_helm_3_goes_on_with_everybody() {
    let space = Space::new("majors");
    space.chart("web", WEB);
    let env = ".spec.template.spec.containers[0].env";
    let dropped =
        || space.field("deployment/web", env).is_empty() && space.field("cm/web", ".data.b").is_empty();
    for (at, next) in [Dialect::Helm3, Dialect::Helm4].into_iter().enumerate() {
        let name = format!("web{at}");
        space.helm(Dialect::Helm3, &format!("install {name} web --set env=true")).good();
        assert!(!dropped());
        space.podium(&format!("upgrade {name} web --set env=false")).good();
        assert!(dropped(), "fields that the chart dropped are still there");
        space.helm(next, &format!("upgrade {name} web --set env=true")).good();
        assert!(!dropped());
        space.helm(next, &format!("rollback {name} 2")).good();
        assert!(dropped(), "{next} does not drop what podium dropped");
        space.podium(&format!("rollback {name} 3")).good();
        assert!(!dropped());
        space.podium(&format!("upgrade {name} web --set env=false")).good();
        assert!(dropped());
        space.helm(next, &format!("uninstall {name}")).good();
        assert!(!space.has("deployment/web") && !space.has("cm/web"));
    }
}
