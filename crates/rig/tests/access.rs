//! Rights beside a real API server: what it begins with, and what it decides.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeSet;
use std::fmt::Write as _;

use podium_rbac::{Policy, User, aggregate, bootstrap, review};
use podium_rig::cluster::{Cluster, run};
use podium_rig::random::Random;
use podium_rig::roles;
use serde_json::{Value, json};

fn everything(cluster: &Cluster) -> Vec<Value> {
    let mut all = Vec::new();
    for (plural, kind) in
        roles::LISTS.iter().zip(["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"])
    {
        for mut object in roles::all(cluster, plural).unwrap() {
            object["kind"] = json!(kind);
            object["apiVersion"] = json!("rbac.authorization.k8s.io/v1");
            let metadata = object["metadata"].as_object_mut().unwrap();
            metadata.retain(|key, _| ["name", "namespace", "labels", "annotations"].contains(&key.as_str()));
            all.push(object);
        }
    }
    all
}

fn is_default(object: &Value) -> bool {
    object
        .pointer("/metadata/labels")
        .is_some_and(|labels| labels.get("kubernetes.io/bootstrapping").is_some())
}

fn name(object: &Value) -> String {
    format!("{} {} {}", object["kind"], object["metadata"]["namespace"], object["metadata"]["name"])
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn a_server_begins_with_the_same_roles() {
    let cluster = Cluster::shared_upstream().unwrap();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../kubernetes/rbac/roles.txt");
    let mut theirs: Vec<Value> = everything(cluster).into_iter().filter(is_default).collect();
    let ours = bootstrap();
    assert_eq!(ours.iter().map(name).collect::<Vec<_>>(), theirs.iter().map(name).collect::<Vec<_>>());
    let sources: Vec<Value> = ours.iter().filter(|object| object["kind"] == "ClusterRole").cloned().collect();
    for (ours, theirs) in ours.iter().zip(&mut theirs) {
        // Without controllers nobody puts roles together.
        if ours.get("aggregationRule").is_some() {
            theirs["rules"] = ours["rules"].clone();
            assert_eq!(aggregate::aggregate(theirs, &sources), None);
            assert!(ours["rules"].as_array().is_some_and(|rules| rules.len() > 5));
        }
        assert_eq!(ours, theirs);
    }
    // Others make bindings of their own in a shared cluster; the table has only what a server begins with.
    let table = roles::table(cluster).unwrap();
    let kept = std::fs::read_to_string(file).unwrap();
    assert!(kept.lines().all(|line| table.contains(line)), "stale: run make roles");
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn decisions_are_the_servers() {
    let cluster = Cluster::shared_upstream().unwrap();
    let mut random = Random::new(11);
    let mut objects = String::new();
    for number in 0..30 {
        let pick = |random: &mut Random, from: &[&str]| random.pick(from).to_owned();
        let rule = json!({
            "verbs": [pick(&mut random, &["get", "list", "*"]), pick(&mut random, &["create", "watch"])],
            "apiGroups": [pick(&mut random, &["", "apps", "*"])],
            "resources": [pick(&mut random, &["pods", "pods/log", "*/scale", "*"]), pick(&mut random, &["deployments", "things"])],
            "resourceNames": if random.chance(30) { json!(["a"]) } else { json!([]) },
        });
        let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": format!("access-{number}")}, "rules": [rule]});
        let subjects = json!([
            {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": pick(&mut random, &["ann", "ben", "cas"])},
            {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": pick(&mut random, &["red", "blue"])},
            {"kind": "ServiceAccount", "name": pick(&mut random, &["s", "t"]), "namespace": "default"},
        ]);
        let there = if random.chance(15) { "access-gone".to_owned() } else { format!("access-{number}") };
        let (kind, place) = if random.chance(50) {
            ("RoleBinding", json!({"name": format!("access-{number}"), "namespace": "default"}))
        } else {
            ("ClusterRoleBinding", json!({"name": format!("access-{number}")}))
        };
        let subject = random.below(3);
        let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": place,
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": there},
            "subjects": [subjects[subject]]});
        let _ = writeln!(objects, "{role}\n---\n{binding}\n---");
    }
    let folder = cluster.folder();
    std::fs::write(folder.join("access.yaml"), objects).unwrap();
    run(cluster.kubectl().arg("create").arg("-f").arg(folder.join("access.yaml"))).unwrap();
    // The server learns of them by watching.
    std::thread::sleep(std::time::Duration::from_secs(2));

    let mut asked = Vec::new();
    for _ in 0..400 {
        let mut attributes = json!({});
        for (key, values) in [
            ("verb", &["get", "list", "create", "watch", "delete"][..]),
            ("group", &["", "apps", "batch"]),
            ("resource", &["pods", "deployments", "things"]),
            ("subresource", &["", "", "log", "scale"]),
            ("namespace", &["", "default", "other"]),
            ("name", &["", "a", "b"]),
        ] {
            attributes[key] = json!(random.pick(values));
        }
        let user = random.pick(&[
            "ann",
            "ben",
            "cas",
            "system:serviceaccount:default:s",
            "system:serviceaccount:x:s",
        ]);
        asked.push(json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": {"user": user, "groups": [random.pick(&["red", "blue", "x"])], "resourceAttributes": attributes}}));
    }
    let list = json!({"apiVersion": "v1", "kind": "List", "items": asked});
    std::fs::write(folder.join("asked.json"), list.to_string()).unwrap();
    let create = ["create", "--validate=false", "-o", "json", "-f"];
    let answer = run(cluster.kubectl().args(create).arg(folder.join("asked.json"))).unwrap();
    // An object after the other, without a list around them.
    let answers: Vec<Value> =
        serde_json::Deserializer::from_str(&answer).into_iter().collect::<Result<_, _>>().unwrap();
    assert_eq!(answers.len(), asked.len());
    let policy = Policy::of(&everything(cluster));
    let mut allowed = 0;
    for (asked, theirs) in asked.into_iter().zip(&answers) {
        let ours = review::subject_access(&policy, asked).unwrap();
        assert_eq!(ours["status"]["allowed"], theirs["status"]["allowed"], "{theirs}");
        if ours["status"]["allowed"] == json!(true) {
            allowed += 1;
        } else {
            assert_eq!(ours["status"]["reason"], theirs["status"]["reason"], "{theirs}");
        }
    }
    assert!((50..350).contains(&allowed), "{allowed}");

    let asked = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": "default"}});
    let file = folder.join("rules.json");
    std::fs::write(&file, asked.to_string()).unwrap();
    let answer = run(cluster.kubectl().args(["--as=ann", "--as-group=red"]).args(create).arg(file)).unwrap();
    let theirs: Value = serde_json::from_str(&answer).unwrap();
    let ann = User::new("ann", &["red", "system:authenticated"]);
    let ours = review::self_subject_rules(&policy, &ann, &asked).unwrap();
    for key in ["resourceRules", "nonResourceRules"] {
        let set = |answer: &Value| -> BTreeSet<String> {
            answer["status"][key].as_array().unwrap().iter().map(Value::to_string).collect()
        };
        assert_eq!(set(&ours), set(&theirs));
    }
    assert_eq!(ours["status"]["incomplete"], theirs["status"]["incomplete"]);
}
