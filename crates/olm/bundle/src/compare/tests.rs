use super::{Area, Error, VersionBump, compare};
use crate::BundleFiles;
use serde_json::{Value, json};

/// Builds a bundle of a version after applying a change.
fn bundle(version: &str, change: fn(&mut Value)) -> BundleFiles {
    let name = crate::generate::versioned_name("web", version);
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
        "role": {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": crate::generate::versioned_name("editor", version)},
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
    BundleFiles::new(files).unwrap()
}

/// Returns the changes between the base bundle and a changed one.
fn changes_of(change: fn(&mut Value)) -> Vec<(VersionBump, Area, String)> {
    let comparison = compare(&bundle("1.0.0", |_| {}), &bundle("1.0.1", change)).unwrap();
    comparison.changes.into_iter().map(|change| (change.bump, change.area, change.message)).collect()
}

fn single_change(change: fn(&mut Value)) -> (VersionBump, Area) {
    let all = changes_of(change);
    assert_eq!(all.len(), 1, "{all:?}");
    (all[0].0, all[0].1)
}

#[test]
fn ignores_version_and_description_changes() {
    assert_eq!(changes_of(|_| {}), []);
    assert_eq!(
        changes_of(
            |all| all["crd"]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
                ["size"]["description"] = json!("words")
        ),
        []
    );
}

#[test]
fn classifies_each_change() {
    assert_eq!(
        single_change(
            |all| all["crd"]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
                ["size"]["type"] = json!("string")
        ),
        (VersionBump::Major, Area::Crds)
    );
    assert_eq!(
        single_change(
            |all| all["crd"]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
                ["more"] = json!({"type": "string"})
        ),
        (VersionBump::Minor, Area::Crds)
    );
    assert_eq!(single_change(|all| all["crd"] = Value::Null), (VersionBump::Major, Area::Crds));
    assert_eq!(
        single_change(
            |all| all["csv"]["spec"]["install"]["spec"]["clusterPermissions"][0]["rules"][0]["verbs"] =
                json!(["get", "list", "watch"])
        ),
        (VersionBump::Minor, Area::Rbac)
    );
    assert_eq!(
        single_change(
            |all| all["csv"]["spec"]["install"]["spec"]["clusterPermissions"][0]["rules"][0]["verbs"] =
                json!(["get"])
        ),
        (VersionBump::Patch, Area::Rbac)
    );
    assert_eq!(
        single_change(
            |all| all["csv"]["spec"]["install"]["spec"]["deployments"][0]["spec"]["template"]["spec"]["containers"]
                [0]["image"] = json!("example.com/web:2")
        ),
        (VersionBump::Patch, Area::Images)
    );
    assert_eq!(single_change(|all| all["role"] = Value::Null), (VersionBump::Major, Area::Objects));
    assert_eq!(
        single_change(|all| all["role"]["rules"][0]["verbs"] = json!(["get"])),
        (VersionBump::Major, Area::Objects)
    );
    assert_eq!(
        single_change(|all| all["role"]["rules"][0]["resources"] = json!(["webs", "others"])),
        (VersionBump::Minor, Area::Objects)
    );
    assert_eq!(
        single_change(|all| all["csv"]["spec"]["minKubeVersion"] = json!("1.33.0")),
        (VersionBump::Major, Area::Installation)
    );
    assert_eq!(
        single_change(
            |all| all["csv"]["spec"]["installModes"] = json!([{"type": "AllNamespaces", "supported": true}, {"type": "OwnNamespace", "supported": true}])
        ),
        (VersionBump::Minor, Area::Installation)
    );
    assert_eq!(
        single_change(|all| all["csv"]["spec"]["webhookdefinitions"] =
            json!([{"type": "ValidatingAdmissionWebhook", "generateName": "a"}])),
        (VersionBump::Major, Area::Webhooks)
    );
    let renamed = changes_of(|all| all["role"]["metadata"]["name"] = json!("writer-1-0-1"));
    assert!(
        renamed.iter().any(|(bump, _, message)| *bump == VersionBump::Major && message.contains("is renamed to writer")),
        "{renamed:?}"
    );
}

#[test]
fn derives_minimum_version_from_largest_change() {
    let breaking = |version: &str| {
        compare(&bundle("0.3.1", |_| {}), &bundle(version, |all| all["crd"] = Value::Null)).unwrap()
    };
    for (version, satisfied) in
        [("0.3.2", false), ("0.4.0", false), ("1.0.0", true), ("0.3.1", false), ("0.2.0", false)]
    {
        let comparison = breaking(version);
        assert_eq!(comparison.satisfies_semver(), satisfied, "{version}");
        assert_eq!(comparison.minimum_version(), "1.0.0");
    }
    let nothing = compare(&bundle("1.0.0", |_| {}), &bundle("1.0.1", |_| {})).unwrap();
    assert!(nothing.satisfies_semver() && nothing.required_bump().is_none());
    assert_eq!(nothing.minimum_version(), "1.0.1");
}

#[test]
fn rejects_different_packages_and_missing_versions() {
    let different = bundle("1.0.1", |all| {
        all["annotations"]["annotations"]["operators.operatorframework.io.bundle.package.v1"] = json!("other")
    });
    assert!(matches!(compare(&bundle("1.0.0", |_| {}), &different), Err(Error::Packages(..))));
    let none = bundle("1.0.1", |all| {
        all["csv"]["spec"].as_object_mut().unwrap().remove("version");
    });
    assert!(matches!(compare(&bundle("1.0.0", |_| {}), &none), Err(Error::Version { .. })));
}

#[test]
fn compares_chart_values_when_schema_preserves_unknown_fields() {
    let with = |version: &str, ty: &str| {
        let files = bundle(version, |all| {
            all["crd"]["spec"]["versions"][0]["schema"] =
                json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}})
        });
        let spec = json!({"type": "object", "properties": {"size": {"type": ty}}});
        let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}});
        let values = json!({"metadata": {"name": "webs.example.com"}, "spec": {"scope": "Namespaced",
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}]}});
        let kinds = json!({"kinds": [], "values": [values]}).to_string();
        let mut files: Vec<(String, Vec<u8>)> =
            files.iter().map(|(name, data)| (name.to_owned(), data.to_vec())).collect();
        files.push(("metadata/kinds.yaml".to_owned(), kinds.into_bytes()));
        BundleFiles::new(files).unwrap()
    };
    let same = compare(&with("1.0.0", "integer"), &with("1.0.1", "integer")).unwrap();
    assert_eq!(same.changes, []);
    let different = compare(&with("1.0.0", "integer"), &with("1.0.1", "string")).unwrap();
    assert_eq!(different.required_bump(), Some(VersionBump::Major), "{:?}", different.changes);
}
