use super::{Area, Error, Step, compare};
use crate::Tree;
use serde_json::{Value, json};

/// A bundle of a version, after a change.
fn bundle(version: &str, change: fn(&mut Value)) -> Tree {
    let name = crate::generate::suffixed("web", version);
    let mut all = json!({
        "csv": {"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
            "metadata": {"name": format!("web.v{version}")},
            "spec": {"version": version, "installModes": [{"type": "AllNamespaces", "supported": true}],
                "install": {"strategy": "deployment", "spec": {
                    "deployments": [{"name": name, "spec": {"template": {"spec": {"containers": [{"name": "a", "image": "example.com/web:1"}]}}}}],
                    "clusterPermissions": [{"serviceAccountName": name, "rules": [{"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "list"]}]}]}}}},
        "crd": {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "webs.example.com"},
            "spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Web", "plural": "webs"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object",
                    "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer", "description": "how many"}}}}}}}]}},
        "role": {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": crate::generate::suffixed("editor", version)},
            "rules": [{"apiGroups": ["example.com"], "resources": ["webs"], "verbs": ["*"]}]},
        "annotations": {"annotations": {"operators.operatorframework.io.bundle.package.v1": "web"}},
    });
    change(&mut all);
    let mut files = Vec::new();
    for key in ["csv", "crd", "role"] {
        if !all[key].is_null() {
            files.push((format!("manifests/{key}.yaml"), all[key].to_string().into_bytes()));
        }
    }
    files.push(("metadata/annotations.yaml".to_owned(), all["annotations"].to_string().into_bytes()));
    Tree::new(files).unwrap()
}

/// The steps and texts of what a change makes.
fn told(change: fn(&mut Value)) -> Vec<(Step, Area, String)> {
    let comparison = compare(&bundle("1.0.0", |_| {}), &bundle("1.0.1", change)).unwrap();
    comparison.changes.into_iter().map(|change| (change.step, change.area, change.text)).collect()
}

fn only(change: fn(&mut Value)) -> (Step, Area) {
    let all = told(change);
    assert_eq!(all.len(), 1, "{all:?}");
    (all[0].0, all[0].1)
}

#[test]
fn a_version_alone_changes_nothing() {
    assert_eq!(told(|_| {}), []);
    assert_eq!(
        told(
            |all| all["crd"]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
                ["size"]["description"] = json!("words")
        ),
        []
    );
}

#[test]
fn each_change_has_its_step() {
    assert_eq!(
        only(
            |all| all["crd"]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
                ["size"]["type"] = json!("string")
        ),
        (Step::Major, Area::Kinds)
    );
    assert_eq!(
        only(
            |all| all["crd"]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
                ["more"] = json!({"type": "string"})
        ),
        (Step::Minor, Area::Kinds)
    );
    assert_eq!(only(|all| all["crd"] = Value::Null), (Step::Major, Area::Kinds));
    assert_eq!(
        only(|all| all["csv"]["spec"]["install"]["spec"]["clusterPermissions"][0]["rules"][0]["verbs"] =
            json!(["get", "list", "watch"])),
        (Step::Minor, Area::Rights)
    );
    assert_eq!(
        only(|all| all["csv"]["spec"]["install"]["spec"]["clusterPermissions"][0]["rules"][0]["verbs"] =
            json!(["get"])),
        (Step::Patch, Area::Rights)
    );
    assert_eq!(
        only(
            |all| all["csv"]["spec"]["install"]["spec"]["deployments"][0]["spec"]["template"]["spec"]["containers"]
                [0]["image"] = json!("example.com/web:2")
        ),
        (Step::Patch, Area::Images)
    );
    assert_eq!(only(|all| all["role"] = Value::Null), (Step::Major, Area::Objects));
    assert_eq!(only(|all| all["role"]["rules"][0]["verbs"] = json!(["get"])), (Step::Major, Area::Objects));
    assert_eq!(
        only(|all| all["role"]["rules"][0]["resources"] = json!(["webs", "others"])),
        (Step::Minor, Area::Objects)
    );
    assert_eq!(
        only(|all| all["csv"]["spec"]["minKubeVersion"] = json!("1.33.0")),
        (Step::Major, Area::Installation)
    );
    assert_eq!(
        only(
            |all| all["csv"]["spec"]["installModes"] = json!([{"type": "AllNamespaces", "supported": true}, {"type": "OwnNamespace", "supported": true}])
        ),
        (Step::Minor, Area::Installation)
    );
    assert_eq!(
        only(|all| all["csv"]["spec"]["webhookdefinitions"] =
            json!([{"type": "ValidatingAdmissionWebhook", "generateName": "a"}])),
        (Step::Major, Area::Webhooks)
    );
    let renamed = told(|all| all["role"]["metadata"]["name"] = json!("writer-1-0-1"));
    assert!(
        renamed.iter().any(|(step, _, text)| *step == Step::Major && text.contains("is now called writer")),
        "{renamed:?}"
    );
}

#[test]
fn the_least_honest_version_follows_from_the_largest_change() {
    let breaking = |version: &str| {
        compare(&bundle("0.3.1", |_| {}), &bundle(version, |all| all["crd"] = Value::Null)).unwrap()
    };
    for (version, honest) in
        [("0.3.2", false), ("0.4.0", false), ("1.0.0", true), ("0.3.1", false), ("0.2.0", false)]
    {
        let comparison = breaking(version);
        assert_eq!(comparison.is_honest(), honest, "{version}");
        assert_eq!(comparison.least(), "1.0.0");
    }
    let nothing = compare(&bundle("1.0.0", |_| {}), &bundle("1.0.1", |_| {})).unwrap();
    assert!(nothing.is_honest() && nothing.needed().is_none());
    assert_eq!(nothing.least(), "1.0.1");
}

#[test]
fn only_versions_of_a_package_are_compared() {
    let other = bundle("1.0.1", |all| {
        all["annotations"]["annotations"]["operators.operatorframework.io.bundle.package.v1"] = json!("other")
    });
    assert!(matches!(compare(&bundle("1.0.0", |_| {}), &other), Err(Error::Packages(..))));
    let none = bundle("1.0.1", |all| {
        all["csv"]["spec"].as_object_mut().unwrap().remove("version");
    });
    assert!(matches!(compare(&bundle("1.0.0", |_| {}), &none), Err(Error::Version { .. })));
}

#[test]
fn values_are_compared_where_definitions_say_nothing() {
    let with = |version: &str, ty: &str| {
        let tree = bundle(version, |all| {
            all["crd"]["spec"]["versions"][0]["schema"] =
                json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}})
        });
        let spec = json!({"type": "object", "properties": {"size": {"type": ty}}});
        let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}});
        let values = json!({"metadata": {"name": "webs.example.com"}, "spec": {"scope": "Namespaced",
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}]}});
        let kinds = json!({"kinds": [], "values": [values]}).to_string();
        let mut files: Vec<(String, Vec<u8>)> =
            tree.iter().map(|(name, data)| (name.to_owned(), data.to_vec())).collect();
        files.push(("metadata/kinds.yaml".to_owned(), kinds.into_bytes()));
        Tree::new(files).unwrap()
    };
    let same = compare(&with("1.0.0", "integer"), &with("1.0.1", "integer")).unwrap();
    assert_eq!(same.changes, []);
    let other = compare(&with("1.0.0", "integer"), &with("1.0.1", "string")).unwrap();
    assert_eq!(other.needed(), Some(Step::Major), "{:?}", other.changes);
}
