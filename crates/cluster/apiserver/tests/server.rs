//! A whole server, over TLS, as clients see it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use std::time::Duration;

use common::{ADMIN, BOB, Caller, Folder, MAPS, start, start_with};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::time::timeout;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_answered_is_there_after_a_restart() {
    let folder = Folder::new("restart");
    let server = start(&folder).await;
    let admin = Caller::new(&server, ADMIN);
    let (code, made) = admin.json("POST", MAPS, json!({"metadata": {"name": "a"}, "data": {"x": "1"}})).await;
    assert_eq!(code, 201, "{made}");
    let definition = json!({"metadata": {"name": "things.example.com"}, "spec": {"group": "example.com",
        "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"}, "versions": [{"name": "v1", "served": true,
        "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object",
        "properties": {"size": {"type": "integer", "default": 3}},
        "x-kubernetes-validations": [{"rule": "self.size < 10", "message": "too big"}]}}}}}]}});
    let (code, answer) =
        admin.json("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition).await;
    assert_eq!(code, 201, "{answer}");
    let things = "/apis/example.com/v1/namespaces/default/things";
    let thing = |size: i64| {
        json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"},
        "spec": {"size": size, "other": 1}})
    };
    let mut tries = 0;
    while admin.get(things).await.0 == 404 {
        tries += 1;
        assert!(tries < 500, "the kind is not served");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let (code, refused) = admin.json("POST", things, thing(11)).await;
    assert_eq!(
        (code, refused["details"]["causes"][0]["message"].as_str()),
        (422, Some("Invalid value: too big"))
    );
    let (code, stored) = admin.json("POST", things, thing(2)).await;
    assert_eq!((code, &stored["spec"]), (201, &json!({"size": 2})), "{stored}");
    server.stop().await;
    drop(admin);
    let server = start(&folder).await;
    let admin = Caller::new(&server, ADMIN);
    assert_eq!(admin.get(&format!("{MAPS}/a")).await.1, made);
    assert_eq!(admin.get(&format!("{things}/t")).await.1, stored);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_writers_lose_no_update() {
    let folder = Folder::new("writers");
    let server = start(&folder).await;
    let admin = Caller::new(&server, ADMIN);
    admin.json("POST", MAPS, json!({"metadata": {"name": "n"}, "data": {"count": "0"}})).await;
    let mut tasks = Vec::new();
    for writer in 0..8 {
        let admin = admin.clone();
        tasks.push(tokio::spawn(async move {
            for turn in 0..10 {
                // By what was read: whoever is too late is told so and reads again.
                loop {
                    let (_, mut map) = admin.get(&format!("{MAPS}/n")).await;
                    let count: u32 = map["data"]["count"].as_str().unwrap().parse().unwrap();
                    map["data"]["count"] = (count + 1).to_string().into();
                    let (code, answer) = admin.json("PUT", &format!("{MAPS}/n"), map).await;
                    match code {
                        200 => break,
                        409 => {}
                        _ => panic!("{answer}"),
                    }
                }
                // A patch that names no version never fails for others.
                let patch = json!({"data": {format!("w{writer}-{turn}"): "x"}}).to_string();
                let kind = "application/merge-patch+json";
                let (code, answer) = admin.send("PATCH", &format!("{MAPS}/n"), kind, patch).await;
                assert_eq!(code, 200, "{answer}");
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let (_, map) = admin.get(&format!("{MAPS}/n")).await;
    assert_eq!(map["data"]["count"], "80");
    assert_eq!(map["data"].as_object().unwrap().len(), 81);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_watchers_see_everything_and_a_slow_one_stops_nobody() {
    const WATCHERS: usize = 1000;
    let folder = Folder::new("watchers");
    let server = start(&folder).await;
    let admin = Caller::new(&server, ADMIN);
    let mut tasks = Vec::new();
    let watch = format!("{MAPS}?watch=1");
    for _ in 0..WATCHERS {
        let mut answer =
            admin.http.request(admin.request("GET", &watch, "application/json", "")).await.unwrap();
        tasks.push(tokio::spawn(async move {
            let mut text = Vec::new();
            while !text.ends_with(b"\n") || !String::from_utf8_lossy(&text).contains("\"m4\"") {
                text.extend_from_slice(
                    &answer.body_mut().frame().await.unwrap().unwrap().into_data().unwrap(),
                );
            }
            String::from_utf8_lossy(&text).lines().count()
        }));
    }
    // One that never reads.
    let idle = admin.http.request(admin.request("GET", &watch, "application/json", "")).await.unwrap();
    for at in 0..5 {
        let body = json!({"metadata": {"name": format!("m{at}")}, "data": {"x": "y".repeat(100_000)}});
        let made = timeout(Duration::from_secs(10), admin.json("POST", MAPS, body)).await.unwrap();
        assert_eq!(made.0, 201);
    }
    for task in tasks {
        assert_eq!(timeout(Duration::from_secs(60), task).await.unwrap().unwrap(), 5);
    }
    drop(idle);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_may_do_what_they_may_not() {
    let folder = Folder::new("rights");
    let server = start(&folder).await;
    let nobody = Caller::new(&server, "");
    for path in ["/healthz", "/livez", "/readyz", "/version"] {
        assert_eq!(nobody.get(path).await.0, 200, "{path}");
    }
    for path in [
        "/",
        "/api",
        "/apis",
        "/openapi/v3",
        "/api/v1/namespaces",
        "/metrics",
        "/healthz/etcd",
        "/api/v1/../version",
    ] {
        let (code, answer) = nobody.get(path).await;
        assert!(code == 403 || code == 401, "{path}: {code} {answer}");
    }
    for token in ["nonsense", "eyJhbGciOiJub25lIn0.e30.", ""] {
        let forged = Caller::new(&server, token);
        let (code, _) = forged.get("/api/v1/namespaces").await;
        assert!(matches!(code, 401 | 403), "{token:?}: {code}");
    }
    let bob = Caller::new(&server, BOB);
    let (code, answer) = bob.get(MAPS).await;
    assert_eq!(code, 403);
    let words = "configmaps is forbidden: User \"bob\" cannot list resource \"configmaps\" in API group \"\" in the namespace \"default\"";
    assert_eq!(answer["message"], words);
    let role = json!({"metadata": {"name": "r"}, "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]});
    let roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles";
    let admin = Caller::new(&server, ADMIN);
    let writes = json!({"metadata": {"name": "w"}, "rules": [{"apiGroups": ["rbac.authorization.k8s.io"],
        "resources": ["roles"], "verbs": ["create"]}]});
    assert_eq!(admin.json("POST", roles, writes).await.0, 201);
    let binding = json!({"metadata": {"name": "w"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role",
        "name": "w"}, "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "bob"}]});
    assert_eq!(admin.json("POST", &roles.replace("/roles", "/rolebindings"), binding).await.0, 201);
    let (code, answer) = bob.json("POST", roles, role).await;
    assert_eq!(code, 403);
    assert!(
        answer["message"]
            .as_str()
            .unwrap()
            .contains("attempting to grant RBAC permissions not currently held")
    );
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_bodies_are_refused_and_hurt_nobody() {
    let folder = Folder::new("bodies");
    let server = start(&folder).await;
    let admin = Caller::new(&server, ADMIN);
    let json_type = "application/json";
    let deep = format!("{{\"data\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let nested = format!(
        "{{\"metadata\":{{\"name\":\"d\"}},\"data\":{}1{}}}",
        "{\"a\":".repeat(5000),
        "}".repeat(5000)
    );
    for (body, codes) in [
        (vec![b'x'; 4 << 20], [413, 413]),
        (deep.into_bytes(), [400, 422]),
        (nested.into_bytes(), [400, 422]),
        (b"{\"metadata\":{\"name\":\"a\"".to_vec(), [400, 400]),
        (vec![0xff, 0xfe, 0x00], [400, 400]),
        (Vec::new(), [400, 400]),
        (b"null".to_vec(), [400, 422]),
        (b"[]".to_vec(), [400, 422]),
    ] {
        let (code, answer) = admin.send("POST", MAPS, json_type, body).await;
        assert!(codes.contains(&code), "{code} {answer}");
        assert_eq!(answer["kind"], "Status");
    }
    let (code, _) =
        admin.send("POST", MAPS, "application/vnd.kubernetes.protobuf", b"k8s\0\xff\xff\xff".to_vec()).await;
    assert_eq!(code, 400);
    for path in [
        "/api/v1/namespaces/default/configmaps/%2e%2e",
        "/api/v1/namespaces/a%2Fb/configmaps",
        "/api/v1/nothing",
    ] {
        assert_eq!(admin.get(path).await.0, 404, "{path}");
    }
    assert_eq!(admin.get(MAPS).await.1["items"], json!([]));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_history_has_forgotten_is_expired() {
    let folder = Folder::new("history");
    let store = podium_store::Options { history_bytes: 20_000, ..podium_store::Options::default() };
    let server = start_with(&folder, store).await;
    let admin = Caller::new(&server, ADMIN);
    let mut first: u64 = 0;
    for at in 0..40 {
        let body = json!({"metadata": {"name": format!("m{at:02}")}, "data": {"x": "y".repeat(1000)}});
        let (_, made) = admin.json("POST", MAPS, body).await;
        if at == 0 {
            first = made["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
        }
    }
    let (_, page) = admin.get(&format!("{MAPS}?limit=2")).await;
    let next = page["metadata"]["continue"].as_str().unwrap().to_owned();
    assert_eq!(page["metadata"]["remainingItemCount"], 38);
    for at in 0..40 {
        let patch = json!({"data": {"x": "z".repeat(1000)}}).to_string();
        admin.send("PATCH", &format!("{MAPS}/m{at:02}"), "application/merge-patch+json", patch).await;
    }
    // A good answer with one event that says so, and then nothing more.
    let watch = format!("{MAPS}?watch=1&resourceVersion={first}");
    let answer = admin.http.request(admin.request("GET", &watch, "application/json", "")).await.unwrap();
    assert_eq!(answer.status().as_u16(), 200);
    let text = answer.into_body().collect().await.unwrap().to_bytes();
    let event: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!((&event["type"], &event["object"]["code"]), (&json!("ERROR"), &json!(410)));
    assert_eq!(event["object"]["reason"], "Expired");
    let exact = format!("{MAPS}?resourceVersion={first}&resourceVersionMatch=Exact");
    let (code, answer) = admin.get(&exact).await;
    assert_eq!((code, &answer["reason"]), (410, &json!("Expired")));
    // A page that is too old comes with a way to go on.
    let (code, answer) = admin.get(&format!("{MAPS}?limit=2&continue={next}")).await;
    assert_eq!((code, &answer["reason"]), (410, &json!("Expired")));
    let next = answer["metadata"]["continue"].as_str().unwrap();
    let (code, page) = admin.get(&format!("{MAPS}?limit=2&continue={next}")).await;
    assert_eq!((code, &page["items"][0]["metadata"]["name"]), (200, &json!("m02")));
    server.stop().await;
}
