use podium_meta::GroupVersionKind;

use super::*;

fn resource(api_version: &str, kind: &str, plural: &str, namespaced: bool) -> Resource {
    Resource { kind: GroupVersionKind::new(api_version, kind), plural: plural.to_owned(), namespaced }
}

fn rendered(resource: Resource, namespace: Option<&str>, object: Value) -> Rendered {
    Rendered { part: Part::Object, resource, namespace: namespace.map(str::to_owned), object }
}

fn role(kind: &str, plural: &str, name: &str, rules: Value) -> Rendered {
    let resource = resource("rbac.authorization.k8s.io/v1", kind, plural, kind == "Role");
    rendered(resource, None, json!({ "metadata": { "name": name }, "rules": rules }))
}

fn binding(kind: &str, plural: &str, role_kind: &str, role: &str) -> Rendered {
    let resource = resource("rbac.authorization.k8s.io/v1", kind, plural, kind == "RoleBinding");
    rendered(resource, None, json!({ "roleRef": { "kind": role_kind, "name": role } }))
}

fn custom() -> Resource {
    resource("models.takeoff.co/v1alpha1", "InferenceStack", "inferencestacks", true)
}

fn shown(rules: &[Rule]) -> Vec<String> {
    let list = |names: &merge::Names| names.iter().map(String::as_str).collect::<Vec<_>>().join(",");
    rules
        .iter()
        .map(|rule| {
            let names =
                if rule.names.is_empty() { String::new() } else { format!("({})", list(&rule.names)) };
            format!(
                "{}/{}{names}{}: {}",
                list(&rule.groups),
                list(&rule.resources),
                list(&rule.urls),
                list(&rule.verbs)
            )
        })
        .collect()
}

fn made(objects: &[Rendered], scope: Scope) -> Rules {
    rules(&Duties { custom: &[custom()], objects, reads: &[], scope, namespace: "system" })
}

#[test]
fn an_operator_for_the_whole_cluster_gets_one_cluster_role_and_its_leases() {
    let objects = [
        rendered(resource("v1", "ConfigMap", "configmaps", true), None, json!({})),
        rendered(resource("v1", "Service", "services", true), None, json!({})),
        rendered(resource("apps/v1", "Deployment", "deployments", true), None, json!({})),
        rendered(resource("apps/v1", "Deployment", "deployments", true), Some("other"), json!({})),
        rendered(resource("batch/v1", "Job", "jobs", true), Some("other"), json!({})),
        rendered(resource("v1", "Namespace", "namespaces", false), None, json!({})),
    ];
    let rules = made(&objects, Scope::Cluster);
    let object = "create,delete,get,list,patch,watch";
    assert_eq!(
        shown(&rules.cluster),
        [
            format!("/configmaps,namespaces,services: {object}"),
            "/events: create,patch".to_owned(),
            "/secrets: create,delete,get,list,update,watch".to_owned(),
            format!("apps/deployments: {object}"),
            "coordination.k8s.io/leases: list,watch".to_owned(),
            "models.takeoff.co/inferencestacks: get,list,patch,watch".to_owned(),
            "models.takeoff.co/inferencestacks/finalizers: update".to_owned(),
            "models.takeoff.co/inferencestacks/status: patch".to_owned(),
        ]
    );
    // What the ClusterRole allows everywhere is not said again.
    assert_eq!(rules.namespaces.keys().collect::<Vec<_>>(), ["other", "system"]);
    assert_eq!(shown(&rules.namespaces["other"]), [format!("batch/jobs: {object}")]);
    assert_eq!(
        shown(&rules.namespaces["system"]),
        ["coordination.k8s.io/leases: create,delete,get,patch,update"]
    );
}

#[test]
fn an_operator_for_one_namespace_needs_no_cluster_role() {
    let objects = [rendered(resource("v1", "Secret", "secrets", true), None, json!({}))];
    let rules = made(&objects, Scope::Namespaces(vec!["system".to_owned()]));
    assert!(rules.cluster.is_empty(), "{rules:?}");
    assert_eq!(rules.namespaces.len(), 1);
    assert!(
        shown(&rules.namespaces["system"])
            .contains(&"coordination.k8s.io/leases: create,delete,get,list,patch,update,watch".to_owned())
    );
    let names: Vec<String> = rules
        .objects("op", "system", "op")
        .iter()
        .map(|o| o["kind"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(names, ["Role", "RoleBinding"]);
}

#[test]
fn who_runs_elsewhere_keeps_its_leases_at_home() {
    let rules = made(&[], Scope::Namespaces(vec!["a".to_owned()]));
    assert!(rules.cluster.is_empty(), "{rules:?}");
    assert_eq!(
        shown(&rules.namespaces["system"]),
        ["/events: create,patch", "coordination.k8s.io/leases: create,delete,get,list,patch,update,watch"]
    );
    assert!(!shown(&rules.namespaces["a"]).iter().any(|rule| rule.contains("leases")), "{rules:?}");
}

#[test]
fn hooks_definitions_and_what_is_read_need_less() {
    let jobs = resource("batch/v1", "Job", "jobs", true);
    let crds =
        resource("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", false);
    let objects = [
        Rendered { part: Part::Hook, ..rendered(jobs, None, json!({})) },
        Rendered { part: Part::Definition, ..rendered(crds, None, json!({})) },
    ];
    let read = |namespace: Option<&str>, plural: &str, verbs| Read {
        resource: resource("v1", "X", plural, true),
        namespace: namespace.map(str::to_owned),
        verbs,
    };
    let reads = [read(None, "pods/log", &["get"]), read(Some("far"), "configmaps", &["get", "list"])];
    let rules = rules(&Duties {
        custom: &[],
        objects: &objects,
        reads: &reads,
        scope: Scope::Cluster,
        namespace: "system",
    });
    let cluster = shown(&rules.cluster);
    for rule in [
        "batch/jobs: create,delete,get,patch",
        "apiextensions.k8s.io/customresourcedefinitions: create,get,patch",
        "/pods/log: get",
    ] {
        assert!(cluster.contains(&rule.to_owned()), "{rule} is not in {cluster:?}");
    }
    assert_eq!(shown(&rules.namespaces["far"]), ["/configmaps: get,list"]);
}

#[test]
fn what_rendered_roles_grant_is_held_too() {
    let objects = [
        role(
            "ClusterRole",
            "clusterroles",
            "nodes",
            json!([
                { "apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["get", "list"] },
                { "apiGroups": [""], "resources": ["nodes"], "verbs": ["*"] },
                { "nonResourceURLs": ["/metrics"], "verbs": ["get"] },
            ]),
        ),
        role(
            "Role",
            "roles",
            "in",
            json!([{ "apiGroups": ["x.io"], "resources": ["things"], "resourceNames": ["a"], "verbs": ["get"] }]),
        ),
        binding("ClusterRoleBinding", "clusterrolebindings", "ClusterRole", "nodes"),
        binding("RoleBinding", "rolebindings", "ClusterRole", "view"),
    ];
    let rules = made(&objects, Scope::Namespaces(vec!["a".to_owned()]));
    assert_eq!(
        shown(&rules.cluster),
        [
            "//metrics: get",
            "/nodes: *",
            "/pods: get,list",
            "rbac.authorization.k8s.io/clusterrolebindings,clusterroles: create,delete,get,list,patch,watch",
        ]
    );
    let inner = shown(&rules.namespaces["a"]);
    assert!(inner.contains(&"rbac.authorization.k8s.io/clusterroles(view): bind".to_owned()), "{inner:?}");
    assert!(inner.contains(&"x.io/things(a): get".to_owned()), "{inner:?}");
}

#[test]
fn a_huge_rule_is_not_taken_apart() {
    let many: Vec<String> = (0..1000).map(|i| format!("r{i}")).collect();
    let huge = json!([{ "apiGroups": many, "resources": many, "verbs": many }]);
    let rules = made(&[role("ClusterRole", "clusterroles", "huge", huge)], Scope::Cluster);
    assert!(rules.cluster.iter().any(|rule| rule.verbs.len() == 1000));
}
