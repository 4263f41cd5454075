//! What happens, told so that two servers can tell it. Every story ends with what is left, without names of chance.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::api::Api;

/// All stories, several at once.
pub async fn tell(api: &Api) -> BTreeMap<&'static str, Value> {
    definition(api, "gadget", "Namespaced").await;
    definition(api, "planet", "Cluster").await;
    let one = async |name: &'static str, story: Pin<Box<dyn Future<Output = Value> + '_>>| {
        let begin = Instant::now();
        let told = story.await;
        println!("{name}: {:?}", begin.elapsed());
        (name, told)
    };
    let (a, b, c, d, e) = tokio::join!(
        one("content", Box::pin(content(api))),
        one("held", Box::pin(held(api))),
        one("background", Box::pin(background(api))),
        one("foreground", Box::pin(foreground(api))),
        one("orphans", Box::pin(orphans(api))),
    );
    let (f, g, h, i, j, k, l) = tokio::join!(
        one("circle", Box::pin(circle(api))),
        one("astray", Box::pin(astray(api))),
        one("homes", Box::pin(homes(api))),
        one("tokens", Box::pin(tokens(api))),
        one("roles", Box::pin(roles(api))),
        one("defined", Box::pin(defined(api))),
        one("kept", Box::pin(kept(api))),
    );
    BTreeMap::from([a, b, c, d, e, f, g, h, i, j, k, l])
}

pub fn maps(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/configmaps")
}

fn secrets(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/secrets")
}

fn gadgets(namespace: &str) -> String {
    format!("/apis/rig.podium/v1/namespaces/{namespace}/gadgets")
}

pub async fn namespace(api: &Api, name: &str) -> String {
    api.post("/api/v1/namespaces", json!({"metadata": {"name": name}})).await;
    format!("/api/v1/namespaces/{name}")
}

/// Defines a kind in the group `rig.podium`, and waits until it is served.
async fn definition(api: &Api, singular: &str, scope: &str) -> String {
    let plural = format!("{singular}s");
    let kind = format!("{}{}", singular[..1].to_uppercase(), &singular[1..]);
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    api.post(definitions, json!({
        "metadata": {"name": format!("{plural}.rig.podium")},
        "spec": {"group": "rig.podium", "scope": scope, "names": {"plural": plural, "singular": singular, "kind": kind},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}]}
    })).await;
    api.until(&format!("/apis/rig.podium/v1/{plural}"), |list| list["items"].is_array()).await;
    format!("{definitions}/{plural}.rig.podium")
}

/// An object with owners, each `(apiVersion, kind, name, uid)`, which wait for it.
pub fn owned(name: &str, owners: &[(&str, &str, &str, &str)]) -> Value {
    let reference = |(version, kind, name, uid): &(&str, &str, &str, &str)| json!({"apiVersion": version, "kind": kind, "name": name, "uid": uid, "blockOwnerDeletion": true});
    json!({"metadata": {"name": name, "ownerReferences": owners.iter().map(reference).collect::<Vec<_>>()}})
}

fn gadget(name: &str, owners: &[(&str, &str, &str, &str)]) -> Value {
    let mut object = owned(name, owners);
    (object["apiVersion"], object["kind"]) = ("rig.podium/v1".into(), "Gadget".into());
    object
}

/// The names of the owners of the objects of a collection, by object; what every namespace has is left out.
pub async fn owners(api: &Api, path: &str) -> Value {
    let list = api.get(path).await.unwrap_or_default();
    let line = |object: &Value| {
        let owners = object["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
        let names: Vec<Value> = owners.iter().map(|owner| owner["name"].clone()).collect();
        (object["metadata"]["name"].as_str().unwrap_or_default().to_owned(), Value::from(names))
    };
    let all = list["items"].as_array().cloned().unwrap_or_default();
    let lines = all.iter().map(line).filter(|(name, _)| name != "kube-root-ca.crt");
    Value::Object(lines.collect())
}

/// A namespace with twenty objects of many kinds.
async fn content(api: &Api) -> Value {
    let path = namespace(api, "content").await;
    api.until(&format!("{path}/serviceaccounts/default"), |_| true).await;
    for n in 0..12 {
        api.post(&maps("content"), json!({"metadata": {"name": format!("m{n}")}})).await;
    }
    for n in 0..4 {
        api.post(&secrets("content"), json!({"metadata": {"name": format!("s{n}")}})).await;
    }
    api.post(&gadgets("content"), gadget("g", &[])).await;
    let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/content/roles";
    api.post(rbac, json!({"metadata": {"name": "r"}, "rules": []})).await;
    api.post(
        &format!("{path}/services"),
        json!({"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}),
    )
    .await;
    let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    api.post(&format!("{path}/pods"), pod).await;
    api.delete(&path, "Background").await;
    api.until_gone(&path).await;
    let mut left = Vec::new();
    for collection in
        [maps("content"), secrets("content"), gadgets("content"), format!("{path}/serviceaccounts")]
    {
        left.push(owners(api, &collection).await);
    }
    left.into()
}

/// A namespace that finalizers of its objects, and one of its own, hold.
async fn held(api: &Api) -> Value {
    let path = namespace(api, "held").await;
    let mut made = json!({"metadata": {"name": "m", "finalizers": ["rig.podium/a", "rig.podium/b"]}});
    api.post(&maps("held"), made.clone()).await;
    made["metadata"]["finalizers"] = json!(["rig.podium/a"]);
    api.post(&secrets("held"), made).await;
    let mut object = gadget("g", &[]);
    object["metadata"]["finalizers"] = json!(["rig.podium/a"]);
    api.post(&gadgets("held"), object).await;
    api.merge(&path, json!({"metadata": {"finalizers": ["rig.podium/own"]}})).await;
    api.delete(&path, "Background").await;
    let has = |reason: &'static str| {
        move |space: &Value| {
            let conditions = space["status"]["conditions"].as_array().cloned().unwrap_or_default();
            conditions.iter().any(|condition| condition["reason"] == reason)
        }
    };
    let conditions = |space: &Value| {
        let mut conditions = space["status"]["conditions"].clone();
        for condition in conditions.as_array_mut().into_iter().flatten() {
            condition.as_object_mut().map(|fields| fields.remove("lastTransitionTime"));
        }
        json!({"phase": space["status"]["phase"], "conditions": conditions, "spec": space["spec"]})
    };
    let first = conditions(&api.until(&path, has("SomeFinalizersRemain")).await);
    for collection in [maps("held"), secrets("held"), gadgets("held")] {
        let name = if collection == gadgets("held") { "g" } else { "m" };
        api.merge(&format!("{collection}/{name}"), json!({"metadata": {"finalizers": null}})).await;
    }
    let last = api.until(&path, |space| {
        has("ContentHasNoFinalizers")(space) && space["spec"].get("finalizers").is_none()
    });
    let last = conditions(&last.await);
    api.merge(&path, json!({"metadata": {"finalizers": null}})).await;
    api.until_gone(&path).await;
    json!([first, last])
}

/// Owners of several kinds go in the background.
async fn background(api: &Api) -> Value {
    namespace(api, "background").await;
    let (maps, secrets, gadgets) = (maps("background"), secrets("background"), gadgets("background"));
    let first = api.post(&maps, owned("first", &[])).await;
    let second = api.post(&maps, owned("second", &[])).await;
    let (of_first, of_second) =
        (("v1", "ConfigMap", "first", &*first), ("v1", "ConfigMap", "second", &*second));
    let child = api.post(&secrets, owned("child", &[of_first])).await;
    let grandchild = api.post(&gadgets, gadget("grandchild", &[("v1", "Secret", "child", &child)])).await;
    let of_grandchild = ("rig.podium/v1", "Gadget", "grandchild", &*grandchild);
    api.post(&maps, owned("last", &[of_grandchild])).await;
    api.post(&secrets, owned("both", &[of_first, of_second])).await;
    api.post(&gadgets, gadget("both", &[of_first, of_second])).await;
    api.post(&secrets, owned("other", &[of_second])).await;
    let mut kept = owned("kept", &[of_first]);
    kept["metadata"]["finalizers"] = json!(["rig.podium/a"]);
    api.post(&secrets, kept).await;
    api.delete(&format!("{maps}/first"), "Background").await;
    api.until_gone(&format!("{maps}/last")).await;
    let kept = format!("{secrets}/kept");
    api.until(&kept, |kept| kept["metadata"]["deletionTimestamp"].is_string()).await;
    api.merge(&kept, json!({"metadata": {"finalizers": null}})).await;
    for both in [format!("{secrets}/both"), format!("{gadgets}/both")] {
        api.until(&both, |both| {
            both["metadata"]["ownerReferences"].as_array().is_some_and(|all| all.len() == 1)
        })
        .await;
    }
    json!([owners(api, &maps).await, owners(api, &secrets).await, owners(api, &gadgets).await])
}

/// Dependents go before their owner.
async fn foreground(api: &Api) -> Value {
    namespace(api, "foreground").await;
    let (maps, gadgets) = (maps("foreground"), gadgets("foreground"));
    let root = api.post(&gadgets, gadget("root", &[])).await;
    let of_root = ("rig.podium/v1", "Gadget", "root", &*root);
    let child = api.post(&maps, owned("child", &[of_root])).await;
    let mut leaf = gadget("leaf", &[("v1", "ConfigMap", "child", &child)]);
    leaf["metadata"]["finalizers"] = json!(["rig.podium/a"]);
    api.post(&gadgets, leaf).await;
    let mut free = owned("free", &[of_root]);
    free["metadata"]["ownerReferences"][0]["blockOwnerDeletion"] = false.into();
    api.post(&maps, free).await;
    let other = api.post(&maps, owned("other", &[])).await;
    api.post(&maps, owned("both", &[of_root, ("v1", "ConfigMap", "other", &other)])).await;
    api.delete(&format!("{gadgets}/root"), "Foreground").await;
    let leaf = format!("{gadgets}/leaf");
    api.until(&leaf, |leaf| leaf["metadata"]["deletionTimestamp"].is_string()).await;
    let child = api.until(&format!("{maps}/child"), |child| child["metadata"]["finalizers"].is_array()).await;
    let root = api.get(&format!("{gadgets}/root")).await.unwrap();
    let before = json!([child["metadata"]["finalizers"], root["metadata"]["finalizers"]]);
    api.merge(&leaf, json!({"metadata": {"finalizers": null}})).await;
    api.until_gone(&format!("{gadgets}/root")).await;
    api.until_gone(&format!("{maps}/free")).await;
    json!([before, owners(api, &maps).await, owners(api, &gadgets).await])
}

/// Dependents stay.
async fn orphans(api: &Api) -> Value {
    namespace(api, "orphans").await;
    let (maps, secrets, gadgets) = (maps("orphans"), secrets("orphans"), gadgets("orphans"));
    // The original finds new kinds only now and then, and forgets those here that it has not found: one that belongs to
    // nobody goes when it has.
    let nobody = "0b1c2d3e-4f50-4617-8293-a4b5c6d7e8f9";
    api.post(&gadgets, gadget("canary", &[("v1", "ConfigMap", "nobody", nobody)])).await;
    api.until_gone(&format!("{gadgets}/canary")).await;
    let owner = api.post(&maps, owned("owner", &[])).await;
    let of_owner = ("v1", "ConfigMap", "owner", &*owner);
    let other = api.post(&maps, owned("other", &[])).await;
    api.post(&secrets, owned("one", &[of_owner])).await;
    api.post(&secrets, owned("two", &[of_owner, ("v1", "ConfigMap", "other", &other)])).await;
    api.post(&gadgets, gadget("three", &[of_owner])).await;
    api.delete(&format!("{maps}/owner"), "Orphan").await;
    api.until_gone(&format!("{maps}/owner")).await;
    json!([owners(api, &maps).await, owners(api, &secrets).await, owners(api, &gadgets).await])
}

/// Three that own each other in a circle.
async fn circle(api: &Api) -> Value {
    namespace(api, "circle").await;
    let maps = maps("circle");
    let mut uids = Vec::new();
    for name in ["a", "b", "c"] {
        uids.push(api.post(&maps, owned(name, &[])).await);
    }
    for (at, name) in ["a", "b", "c"].iter().enumerate() {
        let owner = (at + 2) % 3;
        let references = owned(name, &[("v1", "ConfigMap", ["a", "b", "c"][owner], &uids[owner])]);
        api.merge(&format!("{maps}/{name}"), references).await;
    }
    api.delete(&format!("{maps}/a"), "Foreground").await;
    for name in ["a", "b", "c"] {
        api.until_gone(&format!("{maps}/{name}")).await;
    }
    owners(api, &maps).await
}

/// Owners that are not there, or not where they are said to be.
async fn astray(api: &Api) -> Value {
    namespace(api, "astray").await;
    namespace(api, "elsewhere").await;
    let (here, there) = (maps("astray"), maps("elsewhere"));
    let owner = api.post(&here, owned("owner", &[])).await;
    let nobody = "0b1c2d3e-4f50-4617-8293-a4b5c6d7e8f9";
    api.post(&here, owned("absent", &[("v1", "ConfigMap", "owner", nobody)])).await;
    api.post(&here, owned("misnamed", &[("v1", "ConfigMap", "another", &owner)])).await;
    api.post(&here, owned("odd", &[("v1", "ConfigMap", "odd", "no-uuid")])).await;
    api.post(&here, owned("unknown", &[("rig.podium/v1", "Nothing", "x", nobody)])).await;
    api.post(&here, owned("good", &[("v1", "ConfigMap", "owner", &owner)])).await;
    api.post(&there, owned("strayed", &[("v1", "ConfigMap", "owner", &owner)])).await;
    let planets = "/apis/rig.podium/v1/planets";
    let mut planet = owned("planet", &[("v1", "ConfigMap", "owner", &owner)]);
    (planet["apiVersion"], planet["kind"]) = ("rig.podium/v1".into(), "Planet".into());
    api.post(planets, planet).await;
    for gone in ["absent", "misnamed", "odd"] {
        api.until_gone(&format!("{here}/{gone}")).await;
    }
    api.until_gone(&format!("{there}/strayed")).await;
    let mut events = Vec::new();
    for (namespace, name) in [("elsewhere", "strayed"), ("default", "planet")] {
        let path =
            format!("/api/v1/namespaces/{namespace}/events?fieldSelector=involvedObject.name%3D{name}");
        let list = api.until(&path, |list| list["items"].as_array().is_some_and(|all| !all.is_empty())).await;
        let event = &list["items"][0];
        let message = event["message"].as_str().unwrap_or_default().replace(&owner, "<uid>");
        let source = &event["source"]["component"];
        events.push(json!([
            event["type"],
            event["reason"],
            message,
            event["involvedObject"]["kind"],
            source
        ]));
    }
    json!([owners(api, &here).await, owners(api, &there).await, owners(api, planets).await, events])
}

/// What every namespace has.
async fn homes(api: &Api) -> Value {
    let path = namespace(api, "homes").await;
    let (account, map) =
        (format!("{path}/serviceaccounts/default"), format!("{path}/configmaps/kube-root-ca.crt"));
    let made = api.until(&account, |_| true).await;
    api.delete(&account, "Background").await;
    let again = api.until(&account, |again| again["metadata"]["uid"] != made["metadata"]["uid"]).await;
    let first = api.until(&map, |_| true).await;
    let same = |found: &Value| found["data"] == first["data"];
    api.merge(&map, json!({"data": {"ca.crt": "x", "more": "y"}})).await;
    api.until(&map, same).await;
    api.merge(&map, json!({"metadata": {"annotations": null}})).await;
    api.until(&map, |found| found["metadata"]["annotations"].is_object()).await;
    api.delete(&map, "Background").await;
    let last = api.until(&map, same).await;
    let strip = |object: &Value| {
        let about = &object["metadata"];
        json!([
            about["name"],
            about["annotations"],
            object["data"].as_object().map(|data| data.keys().cloned().collect::<Vec<_>>())
        ])
    };
    json!([strip(&again), strip(&last)])
}

/// Claims stay while pods have them, and go then; volumes that nobody has go at once.
async fn kept(api: &Api) -> Value {
    let path = namespace(api, "kept").await;
    let claims = format!("{path}/persistentvolumeclaims");
    let storage = json!({"resources": {"requests": {"storage": "1Gi"}}, "accessModes": ["ReadWriteOnce"],
        "storageClassName": "none"});
    for name in ["used", "free"] {
        api.post(&claims, json!({"metadata": {"name": name}, "spec": storage})).await;
    }
    let volume =
        json!({"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}});
    api.post("/api/v1/persistentvolumes", json!({"metadata": {"name": "kept"}, "spec": volume})).await;
    api.until(&format!("{path}/serviceaccounts/default"), |_| true).await;
    let pod = json!({"nodeName": "none", "terminationGracePeriodSeconds": 0, "containers": [{"name": "c", "image": "i"}],
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "used"}}]});
    api.post(&format!("{path}/pods"), json!({"metadata": {"name": "user"}, "spec": pod})).await;
    api.delete(&format!("{claims}/used"), "Background").await;
    for gone in [format!("{claims}/free"), "/api/v1/persistentvolumes/kept".to_owned()] {
        api.delete(&gone, "Background").await;
        api.until_gone(&gone).await;
    }
    let used = api.get(&format!("{claims}/used")).await.unwrap_or_default();
    api.delete(&format!("{path}/pods/user"), "Background").await;
    api.until_gone(&format!("{claims}/used")).await;
    api.delete(&path, "Background").await;
    api.until_gone(&path).await;
    json!([used["metadata"]["finalizers"], used["metadata"]["deletionTimestamp"].is_string()])
}

/// Secrets for tokens.
async fn tokens(api: &Api) -> Value {
    let path = namespace(api, "tokens").await;
    let accounts = format!("{path}/serviceaccounts");
    api.post(&accounts, json!({"metadata": {"name": "bot"}, "secrets": [{"name": "one"}, {"name": "x"}]}))
        .await;
    let token = |name: &str, account: &str| {
        let about = json!({"name": name, "annotations": {"kubernetes.io/service-account.name": account}});
        json!({"metadata": about, "type": "kubernetes.io/service-account-token"})
    };
    let secrets = secrets("tokens");
    for name in ["one", "two"] {
        api.post(&secrets, token(name, "bot")).await;
    }
    api.post(&secrets, token("nobody", "nobody")).await;
    let mut plain = token("plain", "nobody");
    plain["type"] = "Opaque".into();
    api.post(&secrets, plain).await;
    let filled = |secret: &Value| secret["data"]["token"].is_string();
    let two = api.until(&format!("{secrets}/two"), filled).await;
    api.until(&format!("{secrets}/one"), filled).await;
    api.until_gone(&format!("{secrets}/nobody")).await;
    let keys: Vec<String> = two["data"].as_object().unwrap().keys().cloned().collect();
    let annotations: Vec<String> =
        two["metadata"]["annotations"].as_object().unwrap().keys().cloned().collect();
    api.merge(&format!("{secrets}/two"), json!({"data": {"token": null, "ca.crt": "eA=="}})).await;
    let again = api
        .until(&format!("{secrets}/two"), |secret| {
            filled(secret) && secret["data"]["ca.crt"] == two["data"]["ca.crt"]
        })
        .await;
    let is_struck = |bot: &Value| bot["secrets"].as_array().is_some_and(|all| all.len() == 1);
    let mut told = 0;
    let bot = loop {
        told += 1;
        assert!(told < 10, "however often it is told, bot names a secret that is gone");
        api.delete(&format!("{secrets}/one"), "Background").await;
        if !api.mortal {
            break api.until(&format!("{accounts}/bot"), is_struck).await;
        }
        // Whoever was dead then cannot tell `one`, which is gone, from `x`, which may be yet to come: neither
        // can the original. It is told once more.
        if let Ok(bot) = api.within(Duration::from_secs(3), &format!("{accounts}/bot"), is_struck).await {
            break bot;
        }
        api.post(&secrets, token("one", "bot")).await;
        api.until(&format!("{secrets}/one"), filled).await;
    };
    api.delete(&format!("{accounts}/bot"), "Background").await;
    api.until_gone(&format!("{secrets}/two")).await;
    json!([keys, annotations, again["data"]["namespace"], bot["secrets"], owners(api, &secrets).await])
}

/// Roles that are made of others.
async fn roles(api: &Api) -> Value {
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let role = |name: &str, label: &str, verb: &str| {
        let rule = json!({"apiGroups": ["rig.podium"], "resources": ["gadgets"], "verbs": [verb]});
        json!({"metadata": {"name": format!("rig-{name}"), "labels": {format!("rig.podium/to-{label}"): "true"}}, "rules": [rule]})
    };
    let made = |name: &str, from: &str, label: &str| {
        let mut role = role(name, label, "stale");
        role["aggregationRule"] =
            json!({"clusterRoleSelectors": [{"matchLabels": {format!("rig.podium/to-{from}"): "true"}}]});
        role
    };
    api.post(roles, made("all", "all", "none")).await;
    api.post(roles, made("part", "part", "all")).await;
    api.post(roles, role("b", "part", "get")).await;
    api.post(roles, role("a", "part", "list")).await;
    let rules = async |name: &str, count: usize| {
        let is = |role: &Value| role["rules"].as_array().map_or(0, Vec::len) == count;
        api.until(&format!("{roles}/rig-{name}"), is).await["rules"].clone()
    };
    let has = |verb: &'static str| move |role: &Value| role["rules"][0]["verbs"][0] == verb;
    api.until(&format!("{roles}/rig-all"), has("list")).await;
    let first = json!([rules("all", 2).await, rules("part", 2).await]);
    api.delete(&format!("{roles}/rig-a"), "Background").await;
    let second = json!([rules("all", 1).await, rules("part", 1).await]);
    api.delete(&format!("{roles}/rig-b"), "Background").await;
    json!([first, second, rules("all", 0).await, rules("part", 0).await])
}

/// A definition goes with its objects, and with what they own.
async fn defined(api: &Api) -> Value {
    namespace(api, "defined").await;
    let path = definition(api, "widget", "Namespaced").await;
    let widgets = "/apis/rig.podium/v1/namespaces/defined/widgets";
    let widget = |name: &str, finalizers: Value| json!({"apiVersion": "rig.podium/v1", "kind": "Widget", "metadata": {"name": name, "finalizers": finalizers}});
    let free = api.post(widgets, widget("free", json!([]))).await;
    api.post(widgets, widget("held", json!(["rig.podium/a"]))).await;
    let owner = ("rig.podium/v1", "Widget", "free", &*free);
    api.post(&maps("defined"), owned("child", &[owner])).await;
    api.delete(&path, "Background").await;
    api.until(&format!("{widgets}/held"), |held| held["metadata"]["deletionTimestamp"].is_string()).await;
    let ending = api.get(&path).await.unwrap();
    let condition =
        ending["status"]["conditions"].as_array().unwrap().iter().find(|c| c["type"] == "Terminating");
    let condition = condition.map(|c| json!([c["status"], c["reason"], c["message"]]));
    api.until_gone(&format!("{}/child", maps("defined"))).await;
    api.merge(&format!("{widgets}/held"), json!({"metadata": {"finalizers": null}})).await;
    api.until_gone(&path).await;
    json!([condition, owners(api, &maps("defined")).await])
}
