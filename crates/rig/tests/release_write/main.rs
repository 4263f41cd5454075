//! What `podium release` does that helm does not, on a control plane.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod engine;
mod interrupted;
mod owners;
mod records;
mod space;
mod undone;

use podium_rig::request::Dialect;
use space::Space;

/// A ConfigMap with the data that the values have.
pub const MAP: &str = "apiVersion: v1
kind: ConfigMap
metadata: { name: '{{ .Release.Name }}' }
data: {{ toYaml (.Values.data | default (dict \"a\" \"1\")) | nindent 2 }}
";

#[test]
fn crds_and_their_resources_come_in_one_release() {
    let space = Space::new("crds");
    let crd = |group: &str| {
        format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{ name: things.{group} }}\n\
             spec:\n  group: {group}\n  scope: Namespaced\n  names: {{ plural: things, singular: thing, kind: Thing }}\n  \
             versions:\n    - name: v1\n      served: true\n      storage: true\n      schema: {{ openAPIV3Schema: {{ type: object, \
             properties: {{ spec: {{ type: object, x-kubernetes-preserve-unknown-fields: true }} }} }} }}\n"
        )
    };
    let thing = |group: &str| {
        format!("---\napiVersion: {group}/v1\nkind: Thing\nmetadata: {{ name: one }}\nspec: {{ a: 1 }}\n")
    };
    space.chart("template", &(crd("in.templates") + &thing("in.templates")));
    space.podium("install one template").good();
    assert!(space.has("things.in.templates/one"));
    space.podium("upgrade one template").good();
    space.helm(Dialect::Helm4, "upgrade one template").good();
    space.podium("uninstall one").good();

    space.chart("folder", &thing("in.crds")).write("folder/crds/thing.yaml", &crd("in.crds"));
    space.podium("install two folder --skip-crds").bad(&["no matches for kind \"Thing\"", "in.crds/v1"]);
    space.podium("install two folder").good();
    assert!(space.has("things.in.crds/one"));
    space.podium("uninstall two").good();
    assert!(space.has("crd/things.in.crds") && !space.has("things.in.crds/one"), "the CRDs of crds/ stay");
}

#[test]
fn names_may_be_long_and_left_to_the_server() {
    let space = Space::new("names");
    space.chart("map", MAP);
    let long = "x".repeat(53);
    space.podium(&format!("install {long} map")).good();
    assert!(space.has(&format!("configmap/{long}")));
    assert_eq!(space.states(&long), ["deployed"]);
    space.podium(&format!("install {long}x map")).bad(&["53"]);
    space.podium("install Not_A_Name map").bad(&["Not_A_Name"]);
    space.chart(
        "made",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: { generateName: made-, labels: { of: made } }\n",
    );
    space.podium("install made made").good();
    space.podium("upgrade made made").good();
    let made = space.cluster.admin().list("configmaps", space.name, "of=made").unwrap();
    assert_eq!(made.len(), 2, "{made:?}");
}

#[test]
fn templates_look_at_the_cluster_that_they_are_for() {
    let space = Space::new("lookups");
    space.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: { name: there }\ndata: { found: \"yes\" }\n");
    space.chart(
        "look",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: looked }\ndata:\n  \
         there: {{ (lookup \"v1\" \"ConfigMap\" .Release.Namespace \"there\").data.found | quote }}\n  \
         self: {{ (lookup \"v1\" \"ConfigMap\" .Release.Namespace \"looked\").metadata | default dict | dig \"name\" \"\" | default \"none\" | quote }}\n",
    );
    space.podium("install look look").good();
    assert_eq!(
        (space.field("cm/looked", ".data.there"), space.field("cm/looked", ".data.self")),
        ("yes".into(), "none".into())
    );
    space.podium("upgrade look look").good();
    assert_eq!(space.field("cm/looked", ".data.self"), "looked");
}

#[test]
fn a_dry_run_writes_nothing() {
    let space = Space::new("dry");
    space.chart("map", MAP);
    let before = space.everything();
    let shown = space.podium("install dry map --dry-run").good();
    assert!(
        shown.stdout.contains("MANIFEST:") && shown.stdout.contains("kind: ConfigMap"),
        "{}",
        shown.stdout
    );
    assert_eq!(space.everything(), before);
    space.podium("install dry map").good();
    let before = space.everything();
    space.podium("upgrade dry map --set data.a=v2 --dry-run=server").good();
    space.podium("rollback dry 1 --dry-run").good();
    space.podium("uninstall dry --dry-run").good();
    assert_eq!(space.everything(), before);
    let missing = Space::missing("dry-not-there");
    missing.chart("map", MAP);
    missing.podium("install dry map --create-namespace --dry-run").good();
    assert!(!missing.has("namespace/dry-not-there"));
    missing.podium("install dry map").bad(&["dry-not-there", "--create-namespace"]);
    missing.podium("install dry map --create-namespace").good();
    assert!(missing.has("configmap/dry"));
}

#[test]
fn who_may_little_is_told_which_right_is_missing() {
    let space = Space::new("rights");
    space.chart("map", MAP);
    let as_user = |user: &str, line: &str| {
        let config = space.cluster.kubeconfig_of(user);
        space.podium_with("KUBECONFIG", config.to_str().unwrap(), line)
    };
    as_user("blind", "install one map").bad(&["blind", "cannot list resource \"secrets\"", "rights"]);
    space.apply(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: { name: records }\n\
         rules: [{ apiGroups: [''], resources: [secrets], verbs: ['*'] }, { apiGroups: [''], resources: [configmaps], verbs: [get] }]\n---\n\
         apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: { name: records }\n\
         roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: records }\n\
         subjects: [{ apiGroup: rbac.authorization.k8s.io, kind: User, name: weak }]\n",
    );
    let denied = "cannot patch resource \"configmaps\"";
    as_user("weak", "install one map").bad(&["v1/ConfigMap rights/one", denied, "weak"]);
    assert_eq!(space.states("one"), ["failed"]);
    space.podium("upgrade one map").good();
    as_user("weak", "upgrade one map --set data.a=v2").bad(&[denied]);
    as_user("weak", "uninstall one").bad(&["cannot delete resource \"configmaps\""]);
    space.podium("uninstall one").good();
    assert!(!space.has("configmap/one"));
}
