//! Clients that mean harm, or do not read: over TLS, as everybody else.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{ADMIN, BOB, Caller, Folder, MAPS, start, start_with, trusting};
use podium_apiserver::Running;
use podium_rbac::Key;
use rustls::pki_types::ServerName;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fn encode(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word =
            chunk.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        (0..=chunk.len()).for_each(|at| text.push(ALPHABET[(word >> (18 - 6 * at)) as usize & 63].into()));
    }
    text
}

fn decode(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for chunk in text.as_bytes().chunks(4) {
        let digit = |byte: &u8| ALPHABET.iter().position(|one| one == byte).unwrap() as u32;
        let word = chunk.iter().fold(0, |word, byte| word << 6 | digit(byte)) << (6 * (4 - chunk.len()));
        bytes.extend((0..chunk.len() - 1).map(|at| (word >> (16 - 8 * at)) as u8));
    }
    bytes
}

/// A token with other claims, signed anew.
fn altered(token: &str, key: &Key, change: impl FnOnce(&mut Value)) -> String {
    let parts: Vec<&str> = token.split('.').collect();
    let mut claims: Value = serde_json::from_slice(&decode(parts[1])).unwrap();
    change(&mut claims);
    let message = format!("{}.{}", parts[0], encode(claims.to_string().as_bytes()));
    format!("{message}.{}", encode(&key.sign(message.as_bytes()).unwrap()))
}

async fn token_of(admin: &Caller, account: &str) -> String {
    let (code, answer) =
        admin.json("POST", &format!("{ACCOUNTS}/{account}/token"), json!({"spec": {}})).await;
    assert_eq!(code, 201, "{answer}");
    answer["status"]["token"].as_str().unwrap().to_owned()
}

fn account(name: &str) -> Value {
    json!({"metadata": {"name": name}})
}

async fn allow(admin: &Caller, who: &str, name: &str, rules: Value) {
    let role = json!({"metadata": {"name": name}, "rules": rules});
    let path = format!("{RBAC}/namespaces/default");
    assert_eq!(admin.json("POST", &format!("{path}/roles"), role).await.0, 201);
    let subject = json!({"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": who});
    let binding = json!({"metadata": {"name": name}, "subjects": [subject],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}});
    assert_eq!(admin.json("POST", &format!("{path}/rolebindings"), binding).await.0, 201);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_that_are_not_ours_or_not_valid_any_more_are_refused() {
    let (folder, other) = (Folder::new("tokens"), Folder::new("foreign"));
    let (server, foreign) = (start(&folder).await, start(&other).await);
    let admin = Caller::new(&server, ADMIN);
    for of in [&admin, &Caller::new(&foreign, ADMIN)] {
        assert_eq!(of.json("POST", ACCOUNTS, account("robot")).await.0, 201);
    }
    let good = token_of(&admin, "robot").await;
    let who = |token: String| {
        let caller = Caller::new(&server, &token);
        async move { caller.get("/api/v1/namespaces/default/configmaps").await.0 }
    };
    // Known, and may not: that is the right answer for a good one.
    assert_eq!(who(good.clone()).await, 403);
    let key = Key::from_pem(&std::fs::read_to_string(folder.0.join("keys/tokens.key")).unwrap()).unwrap();
    assert_eq!(who(altered(&good, &key, |_| {})).await, 403, "signed anew by the same key");
    let stranger = Key::generate().unwrap();
    let parts: Vec<String> = good.split('.').map(str::to_owned).collect();
    let none = encode(br#"{"alg":"none"}"#);
    let symmetric = encode(br#"{"alg":"HS256"}"#);
    let bad = [
        ("of another cluster", token_of(&Caller::new(&foreign, ADMIN), "robot").await),
        ("signed by somebody else", altered(&good, &stranger, |_| {})),
        ("expired", altered(&good, &key, |claims| claims["exp"] = 1000.into())),
        ("not valid yet", altered(&good, &key, |claims| claims["nbf"] = 9_999_999_999_i64.into())),
        ("of another issuer", altered(&good, &key, |claims| claims["iss"] = "https://example.com".into())),
        ("for others", altered(&good, &key, |claims| claims["aud"] = json!(["vault"]))),
        (
            "of an account of another uid",
            altered(&good, &key, |claims| claims["kubernetes.io"]["serviceaccount"]["uid"] = "x".into()),
        ),
        (
            "of no account",
            altered(&good, &key, |claims| {
                claims["kubernetes.io"]["serviceaccount"]["name"] = "nobody".into()
            }),
        ),
        ("that says admin", altered(&good, &stranger, |claims| claims["sub"] = "admin".into())),
        ("unsigned", format!("{none}.{}.", parts[1])),
        ("unsigned with a signature", format!("{none}.{}.{}", parts[1], parts[2])),
        ("of another algorithm", format!("{symmetric}.{}.{}", parts[1], parts[2])),
        ("cut", good[..good.len() - 4].to_owned()),
        ("of two parts", format!("{}.{}", parts[0], parts[1])),
        ("of dots", "...".to_owned()),
        ("very long", "x".repeat(100_000)),
    ];
    for (what, token) in bad {
        assert_eq!(who(token).await, 401, "{what}");
    }
    // The account goes: so do its tokens, also for one of the same name.
    assert_eq!(admin.json("DELETE", &format!("{ACCOUNTS}/robot"), Value::Null).await.0, 200);
    assert_eq!(who(good.clone()).await, 401, "of an account that is gone");
    assert_eq!(admin.json("POST", ACCOUNTS, account("robot")).await.0, 201);
    assert_eq!(who(good).await, 401, "of an account that was there before");
    server.stop().await;
    foreign.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_gives_themselves_more_than_they_have() {
    let folder = Folder::new("escalation");
    let server = start(&folder).await;
    let (admin, bob) = (Caller::new(&server, ADMIN), Caller::new(&server, BOB));
    let rbac = "rbac.authorization.k8s.io";
    let rules = json!([
        {"apiGroups": [rbac], "resources": ["roles", "rolebindings"], "verbs": ["create", "update", "patch", "get", "delete"]},
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]},
    ]);
    allow(&admin, "bob", "bobs", rules).await;
    let roles = format!("{RBAC}/namespaces/default/roles");
    let bindings = format!("{RBAC}/namespaces/default/rolebindings");
    let role = |rules: Value| json!({"metadata": {"name": "mine"}, "rules": rules});
    let rule =
        |resource: &str, verb: &str| json!([{"apiGroups": [""], "resources": [resource], "verbs": [verb]}]);
    let subject = json!({"kind": "User", "apiGroup": rbac, "name": "bob"});
    let binding = |kind: &str, name: &str| json!({"metadata": {"name": "mine"}, "roleRef": {"apiGroup": rbac, "kind": kind, "name": name}, "subjects": [subject]});
    for (what, path, body) in [
        ("secrets", &roles, role(rule("secrets", "get"))),
        ("another verb", &roles, role(rule("configmaps", "list"))),
        ("everything", &roles, role(json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]))),
        ("a part of what he has", &roles, role(rule("configmaps/status", "get"))),
        ("cluster-admin", &bindings, binding("ClusterRole", "cluster-admin")),
        ("view", &bindings, binding("ClusterRole", "view")),
        ("a role that is not there", &bindings, binding("Role", "nothing")),
    ] {
        let (code, answer) = bob.json("POST", path, body).await;
        assert!(matches!(code, 403 | 404), "{what}: {code} {answer}");
    }
    let (code, answer) = bob.json("POST", &roles, role(rule("configmaps", "get"))).await;
    assert_eq!(code, 201, "what he has he may give: {answer}");
    // Not by a change either, in any form.
    let more = json!({"rules": rule("secrets", "get")}).to_string();
    let changes = r#"[{"op":"replace","path":"/rules/0/resources/0","value":"secrets"}]"#.to_owned();
    for (kind, body) in [
        ("application/merge-patch+json", more.clone()),
        ("application/strategic-merge-patch+json", more.clone()),
        ("application/json-patch+json", changes),
    ] {
        let (code, answer) = bob.send("PATCH", &format!("{roles}/mine"), kind, body).await;
        assert_eq!(code, 403, "{kind}: {answer}");
    }
    let apply = json!({"apiVersion": format!("{rbac}/v1"), "kind": "Role", "metadata": {"name": "mine"}, "rules": rule("secrets", "get")});
    let path = format!("{roles}/mine?fieldManager=bob&force=true");
    assert_eq!(bob.send("PATCH", &path, "application/apply-patch+yaml", apply.to_string()).await.0, 403);
    assert_eq!(bob.json("PUT", &format!("{roles}/mine"), role(rule("secrets", "get"))).await.0, 403);
    // Nor by being somebody else, nor with the token of one who may more.
    for (name, value) in
        [("impersonate-user", "admin"), ("impersonate-group", "system:masters"), ("impersonate-uid", "1")]
    {
        let mut request = bob.request("GET", SECRETS, "application/json", "");
        request.headers_mut().insert(name, value.parse().unwrap());
        let code = bob.http.request(request).await.unwrap().status().as_u16();
        assert!(matches!(code, 400 | 403 | 500), "{name}: {code}");
    }
    let (code, _) = bob.json("POST", &format!("{ACCOUNTS}/default/token"), json!({"spec": {}})).await;
    assert_eq!(code, 403);
    assert_eq!(bob.get(SECRETS).await.0, 403);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_is_read_once_and_in_one_way() {
    let folder = Folder::new("paths");
    let server = start(&folder).await;
    let (admin, bob) = (Caller::new(&server, ADMIN), Caller::new(&server, BOB));
    let secret = json!({"metadata": {"name": "hidden"}, "stringData": {"a": "treasure"}});
    assert_eq!(admin.json("POST", SECRETS, secret).await.0, 201);
    allow(&admin, "bob", "maps", json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]))
        .await;
    assert_eq!(bob.get(MAPS).await.0, 200);
    let mut tricks: Vec<String> = [
        "/api/v1/namespaces/default/configmaps/../secrets",
        "/api/v1/namespaces/default/configmaps/%2e%2e/secrets/hidden",
        "/api/v1/namespaces/default/configmaps/..%2fsecrets%2fhidden",
        "/api/v1/namespaces/default/configmaps%2f..%2fsecrets",
        "/api/v1/namespaces/default/./secrets",
        "/api/v1/namespaces/default//secrets",
        "//api/v1/namespaces/default/secrets",
        "/api/v1//namespaces/default/secrets/hidden",
        "/api/v1/namespaces/default/secrets/hidden/",
        "/api/v1/namespaces/default/secrets%00",
        "/api/v1/namespaces/default/Secrets",
        "/API/v1/namespaces/default/secrets",
        "/api/v1/namespaces/default%2fsecrets",
        "/api/v1/namespaces/default/configmaps;/secrets",
        "/api/v1/watch/namespaces/default/secrets",
        "/api/v1/watch/secrets",
        "/api/v1/secrets?namespace=default",
        "/api/v1/namespaces/default/configmaps/hidden?resource=secrets",
        "/version/../api/v1/namespaces/default/secrets",
        "/healthz/../../api/v1/secrets",
        "/api/v1/namespaces/default/serviceaccounts/default/token",
        "/apis//v1/namespaces/default/secrets",
        "/api/v1/namespaces/default/secrets/hidden/status",
    ]
    .map(str::to_owned)
    .into();
    tricks.push(format!("/api/v1/namespaces/default/configmaps/{}", "../".repeat(5000)));
    tricks.push(format!("/{}", "a/".repeat(20_000)));
    for path in &tricks {
        for caller in [&bob, &Caller::new(&server, "")] {
            for method in ["GET", "POST", "DELETE"] {
                let (code, answer) = caller.json(method, path, Value::Null).await;
                let text = answer.to_string();
                assert!(
                    !(200..300).contains(&code) && !text.contains("treasure"),
                    "{method} {path}: {code} {text}"
                );
                assert!(code < 500, "{method} {path}: {code} {text}");
            }
        }
    }
    assert_eq!(admin.get(&format!("{SECRETS}/hidden")).await.0, 200, "it is still there");
    server.stop().await;
}

async fn connect(server: &Running) -> TlsStream<TcpStream> {
    let address = server.url.trim_start_matches("https://").to_owned();
    let connector = TlsConnector::from(Arc::new(trusting(server)));
    let stream = TcpStream::connect(address).await.unwrap();
    connector.connect(ServerName::try_from("127.0.0.1").unwrap(), stream).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_clients_keep_nobody_waiting() {
    let folder = Folder::new("slow");
    let server = start(&folder).await;
    let address = server.url.trim_start_matches("https://").to_owned();
    let mut held = Vec::new();
    let mut raw = Vec::new();
    for at in 0..300 {
        if at % 3 == 0 {
            // Not even a greeting.
            let mut stream = TcpStream::connect(&address).await.unwrap();
            stream.write_all(b"\x16\x03").await.unwrap();
            raw.push(stream);
            continue;
        }
        let mut stream = connect(&server).await;
        let begin: &[u8] = if at % 3 == 1 {
            b"GET /api/v1/namespaces HTTP/1.1\r\nhost: x\r\nauthorization: Be"
        } else {
            b"POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nhost: x\r\nauthorization: Bearer token-of-admin\r\n\
              content-type: application/json\r\ncontent-length: 1000000\r\n\r\n{\"metadata\""
        };
        stream.write_all(begin).await.unwrap();
        held.push(stream);
    }
    let admin = Caller::new(&server, ADMIN);
    let begin = Instant::now();
    for at in 0..20 {
        let body = json!({"metadata": {"name": format!("m{at}")}});
        let made = timeout(Duration::from_secs(5), admin.json("POST", MAPS, body)).await.unwrap();
        assert_eq!(made.0, 201);
    }
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    drop((held, raw));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn heads_and_bodies_without_end_are_cut_off() {
    let folder = Folder::new("endless");
    let server = start(&folder).await;
    // A head that never ends, headers without number, a body without end in pieces, a length that is a lie.
    let header = format!("x: {}\r\n", "y".repeat(1000));
    let chunk = format!("10000\r\n{}\r\n", "z".repeat(0x10000));
    let start_of = |more: &str| {
        format!(
            "POST {MAPS} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {ADMIN}\r\ncontent-type: application/json\r\n{more}"
        )
    };
    for (what, first, again) in [
        ("a head", start_of(""), header),
        ("headers", start_of(""), "a: b\r\n".repeat(2000)),
        ("a body", start_of("transfer-encoding: chunked\r\n\r\n"), chunk),
        ("a line", "GET /".to_owned(), "a".repeat(10_000)),
    ] {
        let mut stream = connect(&server).await;
        let mut sent = first.len();
        let _ = stream.write_all(first.as_bytes()).await;
        let mut answer = Vec::new();
        let ended = timeout(Duration::from_secs(20), async {
            let mut buffer = [0_u8; 4096];
            loop {
                tokio::select! {
                    read = stream.read(&mut buffer) => match read {
                        Ok(0) | Err(_) => return,
                        Ok(count) => {
                            answer.extend_from_slice(&buffer[..count]);
                            return;
                        }
                    },
                    () = tokio::time::sleep(Duration::from_micros(50)) => {
                        if stream.write_all(again.as_bytes()).await.is_err() {
                            return;
                        }
                        sent += again.len();
                    }
                }
                assert!(sent < 200 << 20, "{what} may have {sent} bytes");
            }
        });
        ended.await.unwrap_or_else(|_| panic!("{what} has no end after {sent} bytes"));
        let text = String::from_utf8_lossy(&answer).into_owned();
        assert!(answer.is_empty() || text.starts_with("HTTP/1.1 4"), "{what}: {text}");
    }
    assert_eq!(Caller::new(&server, ADMIN).get(MAPS).await.0, 200);
    server.stop().await;
}

/// Memory of this process that is in use, in bytes.
fn memory() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watchers_that_do_not_read_cost_nothing_and_find_their_way_back() {
    let folder = Folder::new("idle");
    let store = podium_store::Options { history_bytes: 1 << 20, ..podium_store::Options::default() };
    let server = start_with(&folder, store).await;
    let admin = Caller::new(&server, ADMIN);
    assert_eq!(admin.json("POST", MAPS, json!({"metadata": {"name": "m"}})).await.0, 201);
    let mut idle = Vec::new();
    for _ in 0..100 {
        let mut stream = connect(&server).await;
        let request = format!(
            "GET {MAPS}?watch=1 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {ADMIN}\r\naccept: application/json\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        // The answer has begun; nobody reads on.
        assert!(stream.read(&mut [0_u8; 16]).await.unwrap() > 0);
        idle.push(stream);
    }
    let before = memory();
    let begin = Instant::now();
    for at in 0..400 {
        let last = if at == 399 { "yes" } else { "no" };
        let patch = json!({"data": {"x": format!("{at}{}", "y".repeat(100_000)), "last": last}}).to_string();
        let kind = "application/merge-patch+json";
        let path = format!("{MAPS}/m");
        let done = timeout(Duration::from_secs(10), admin.send("PATCH", &path, kind, patch));
        assert_eq!(done.await.unwrap().0, 200);
    }
    // 40 MB of events for each of a hundred: 4 GB, if they were kept for them.
    let grown = memory().saturating_sub(before) >> 20;
    assert!(grown < 400, "{grown} MB more after {:?}", begin.elapsed());
    // One of them reads on, and is told that it has missed something, or has not.
    let mut stream = idle.pop().unwrap();
    let mut text = String::new();
    let read = async {
        let mut buffer = vec![0_u8; 1 << 16];
        while !text.contains("\"code\":410") && !text.contains("\"last\":\"yes\"") {
            let count = stream.read(&mut buffer).await.unwrap();
            assert!(count > 0, "it ends without a word");
            text.push_str(&String::from_utf8_lossy(&buffer[..count]));
            // Only the end: there are megabytes of it.
            let cut = text.len().saturating_sub(1000);
            text.drain(..(cut..).find(|at| text.is_char_boundary(*at)).unwrap_or(0));
        }
    };
    timeout(Duration::from_secs(30), read).await.unwrap();
    drop(idle);
    server.stop().await;
}
