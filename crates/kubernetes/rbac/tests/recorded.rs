//! What a real kube-apiserver 1.36.3 answered, beside our answers.
//!
//! The files are lists of JSON values, a line each: the objects of a policy first, then questions with their answers.
//! `PODIUM_RECORDED` names another folder with such files.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::path::PathBuf;

use podium_rbac::impersonate::{Way, become_user, wanted};
use podium_rbac::token::{Bearer, Fixed, Issuer, Request};
use podium_rbac::{Attributes, Key, Policy, Refusal, User, escalation, review, token};
use serde_json::{Value, json};

fn lines(name: &str) -> Vec<Value> {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recorded");
    let folder = std::env::var_os("PODIUM_RECORDED").map_or_else(|| PathBuf::from(own), PathBuf::from);
    let text = std::fs::read_to_string(folder.join(name)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn user(value: &Value) -> User {
    let groups: Vec<&str> = value["groups"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let mut user = User::new(text(value, "/name"), &groups);
    user.uid = text(value, "/uid").to_owned();
    for (key, values) in value.get("extra").and_then(Value::as_object).into_iter().flatten() {
        let values = values.as_array().unwrap().iter().filter_map(Value::as_str).map(str::to_owned);
        user.extra.insert(key.clone(), values.collect());
    }
    user
}

/// What a server begins with, and what was made on it.
fn policy(lines: &[Value]) -> Policy {
    let mut policy = Policy::of(&podium_rbac::bootstrap());
    lines.iter().filter(|line| line["t"] == "object").for_each(|line| policy.put(&line["o"]));
    policy
}

/// The real server goes through bindings in any order: what it says in brackets is put in order.
fn ordered(said: &str) -> String {
    match said.rsplit_once('[') {
        Some((before, list)) if list.ends_with(']') && said.contains("not found") => {
            let all: BTreeSet<&str> = list.trim_end_matches(']').split(", ").collect();
            format!("{before}[{}]", all.into_iter().collect::<Vec<_>>().join(", "))
        }
        _ => said.to_owned(),
    }
}

fn ordered_message(mut status: Value) -> Value {
    let message = ordered(text(&status, "/message"));
    status["message"] = json!(message);
    status
}

fn check_access(policy: &Policy, line: &Value) {
    let ours = review::subject_access(policy, json!({"spec": line["spec"]}));
    let ours = ours.unwrap_or_else(|refusal| panic!("{refusal}: {line}"));
    let (ours, theirs) = (&ours["status"], &line["status"]);
    assert_eq!(ours["allowed"], theirs["allowed"], "{line}");
    if ours["allowed"] == json!(false) {
        assert_eq!(ordered(text(ours, "/reason")), ordered(text(theirs, "/reason")), "{line}");
        return;
    }
    // Several bindings may allow it, and theirs is any of them.
    let spec = &line["spec"];
    let of = |key: &str| text(spec, &format!("/resourceAttributes/{key}")).to_owned();
    let request = if spec.get("resourceAttributes").is_some() {
        let mut request =
            Attributes::resource(&of("verb"), &of("group"), &of("resource"), &of("namespace"), &of("name"));
        request.subresource = of("subresource");
        request
    } else {
        Attributes::path(text(spec, "/nonResourceAttributes/verb"), text(spec, "/nonResourceAttributes/path"))
    };
    let who = user(&json!({"name": spec["user"], "groups": spec["groups"]}));
    let mut sources = BTreeSet::new();
    let _: Option<()> = policy.visit(&who, &request.namespace, |found| {
        if let Ok((source, rule)) = found
            && rule.allows(&request)
        {
            sources.insert(format!("RBAC: allowed by {source}"));
        }
        ControlFlow::Continue(())
    });
    assert!(sources.contains(text(theirs, "/reason")), "{sources:?}: {line}");
    assert!(sources.contains(text(ours, "/reason")));
}

fn check_rules(policy: &Policy, line: &Value) {
    let ours = review::self_subject_rules(
        policy,
        &user(&line["user"]),
        &json!({"spec": {"namespace": line["namespace"]}}),
    );
    let set = |value: &Value| value.as_array().unwrap().iter().map(Value::to_string).collect::<BTreeSet<_>>();
    let (mut ours, mut theirs) = (ours.unwrap(), line["answer"].clone());
    for status in [&mut ours["status"], &mut theirs["status"]] {
        let rules = ["resourceRules", "nonResourceRules"].map(|key| set(&status[key]));
        *status = json!({"rules": rules, "incomplete": status["incomplete"], "error": ordered(text(status, "/evaluationError"))});
    }
    assert_eq!(ours, theirs, "{line}");
}

fn decode(text: &str) -> String {
    let mut pieces = text.split('%');
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, piece| {
        let (digits, rest) = piece.split_at(2);
        format!("{text}{}{rest}", char::from(u8::from_str_radix(digits, 16).unwrap()))
    })
}

fn request(line: &Value) -> Attributes {
    let (path, query) = text(line, "/path").split_once('?').unwrap_or((text(line, "/path"), ""));
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let query: Vec<(String, String)> = pairs.map(|(key, value)| (decode(key), decode(value))).collect();
    Attributes::of_request(text(line, "/method"), &decode(path), &query).unwrap()
}

fn check_request(policy: &Policy, line: &Value) {
    let request = request(line);
    let who = user(&line["user"]);
    let decision = policy.authorize(&who, &request);
    assert_eq!(decision.allowed, line["code"] != json!(403), "{line}");
    if !decision.allowed {
        let ours = request.refusal(&who, &decision).status();
        assert_eq!(ordered_message(ours), ordered_message(line["status"].clone()), "{line}");
    }
}

fn check_escalation(policy: &Policy, line: &Value) -> bool {
    let code = line["code"].as_u64().unwrap();
    let write = escalation::Write {
        namespace: text(line, "/namespace"),
        name: text(line, "/name"),
        new: &line["new"],
        old: Some(&line["old"]).filter(|old| !old.is_null()),
    };
    let ours = escalation::check(policy, &user(&line["user"]), &write);
    match code {
        403 | 404 => {
            assert_eq!(ours.map_err(|refusal| refusal.status()), Err(line["status"].clone()), "{line}")
        }
        _ => assert_eq!(ours, Ok(()), "{line}"),
    }
    code < 400
}

#[test]
fn rights_are_the_servers() {
    let lines = lines("policy.jsonl");
    let policy = policy(&lines);
    let mut counts: HashMap<String, usize> = HashMap::new();
    for line in lines.iter().filter(|line| line["t"] != "object") {
        let kind = text(line, "/t");
        match kind {
            "sar" => check_access(&policy, line),
            "rules" => check_rules(&policy, line),
            "request" => check_request(&policy, line),
            "escalation" => drop(check_escalation(&policy, line)),
            other => panic!("{other}"),
        }
        *counts.entry(kind.to_owned()).or_default() += 1;
    }
    assert!(counts.len() == 4 && counts.values().all(|count| *count >= 20), "{counts:?}");
}

#[test]
fn odd_paths_are_the_same_to_both() {
    let policy = Policy::of(&podium_rbac::bootstrap());
    let nobody = User::new("nobody", &["x", "system:authenticated"]);
    let lines = lines("paths.jsonl");
    for line in &lines {
        let request = request(line);
        let decision = policy.authorize(&nobody, &request);
        assert_eq!(decision.allowed, line["code"] != json!(403), "{line}");
        if !decision.allowed {
            assert_eq!(request.refusal(&nobody, &decision).message, text(line, "/message"), "{line}");
        }
    }
    assert!(lines.len() > 100);
}

#[test]
fn who_may_be_whom_is_the_servers() {
    let lines = lines("impersonation.jsonl");
    let policy = policy(&lines);
    let mut ways: HashMap<String, Way> = HashMap::new();
    let mut count = [0; 2];
    let mut request = Attributes::resource("create", "authentication.k8s.io", "selfsubjectreviews", "", "");
    request.version = "v1".to_owned();
    for line in lines.iter().filter(|line| line["t"] == "impersonation") {
        let headers = line["headers"].as_array().unwrap().iter();
        let headers = headers.map(|pair| (pair[0].as_str().unwrap(), pair[1].as_str().unwrap()));
        let requester = user(&line["user"]);
        let before = ways.get(&requester.name).copied();
        let became = wanted(headers).and_then(|wanted| match wanted {
            None => Ok((requester.clone(), None)),
            Some(wanted) => become_user(&policy, &requester, &wanted, &request, before)
                .map(|(user, way)| (user, Some(way))),
        });
        let ours = became.and_then(|(user, way)| {
            if let Some(way) = way {
                ways.insert(requester.name.clone(), way);
            }
            let decision = policy.authorize(&user, &request);
            if decision.allowed { Ok(user.to_json()) } else { Err(request.refusal(&user, &decision)) }
        });
        count[usize::from(ours.is_ok())] += 1;
        // Of several things that else are known of a user, the server looks at any first.
        let extra = line["headers"].as_array().unwrap().iter().map(|pair| text(pair, "/0"));
        let extra: BTreeSet<&str> = extra.filter(|name| name.starts_with("Impersonate-Extra-")).collect();
        if extra.len() > 1 && ours.as_ref().is_err_and(|refusal| refusal.code == 403) {
            assert_ne!(line["code"], 201, "{line}");
            continue;
        }
        match line["code"].as_u64() {
            Some(201) => assert_eq!(ours.as_ref(), Ok(&line["answer"]["status"]["userInfo"]), "{line}"),
            _ => assert_eq!(ours.map_err(|refusal| refusal.status()), Err(line["answer"].clone()), "{line}"),
        }
    }
    assert!(count.iter().all(|count| *count >= 10), "{count:?}");
}

/// Without what a server adds around the answer, and what differs every time.
fn bare(mut answer: Value) -> Value {
    if let Some(metadata) = answer.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
        metadata.remove("creationTimestamp");
        // Reading a body leaves out what is empty.
        metadata
            .remove("labels")
            .filter(|labels| *labels != json!({}))
            .map(|labels| metadata.insert("labels".to_owned(), labels));
    }
    for key in ["kind", "apiVersion"] {
        answer.as_object_mut().unwrap().remove(key);
    }
    answer
}

/// The claims of a token without what differs every time, and how long it is valid.
fn claims(token: &str) -> Value {
    let body = token.split('.').nth(1).unwrap();
    let mut claims: Value = serde_json::from_slice(&unbase64(body)).unwrap();
    let begin = claims["iat"].as_i64().unwrap();
    for pointer in ["/exp", "/iat", "/nbf", "/kubernetes.io/warnafter"] {
        if let Some(moment) = claims.pointer_mut(pointer) {
            *moment = json!(moment.as_i64().unwrap() - begin);
        }
    }
    claims["jti"] = json!("");
    claims
}

fn unbase64(text: &str) -> Vec<u8> {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let digits = text.bytes().map(|byte| LETTERS.iter().position(|letter| *letter == byte).unwrap());
    let bits: Vec<usize> = digits.flat_map(|digit| (0..6).rev().map(move |bit| digit >> bit & 1)).collect();
    bits.chunks_exact(8).map(|byte| byte.iter().fold(0, |all, bit| all << 1 | *bit as u8)).collect()
}

#[test]
fn reviews_and_tokens_are_the_servers() {
    let lines = lines("reviews.jsonl");
    let policy = Policy::of(&podium_rbac::bootstrap());
    let issuer = Issuer::new("https://kubernetes.default.svc", Key::generate().unwrap());
    let mut objects: HashMap<(String, String, String), Value> = HashMap::new();
    let mut count = 0;
    for line in &lines {
        if line["t"] == "object" {
            let of = |pointer: &str| text(&line["o"], pointer).to_owned();
            let place = (text(line, "/resource").to_owned(), of("/metadata/namespace"), of("/metadata/name"));
            objects.insert(place, line["o"].clone());
            continue;
        }
        let lookup = |resource: &str, namespace: &str, name: &str| {
            objects.get(&(resource.to_owned(), namespace.to_owned(), name.to_owned())).cloned()
        };
        let (mut body, code) = (line["body"].clone(), line["code"].as_u64().unwrap_or_default());
        // The owners of fields are noted before a review is answered.
        let said = text(line, "/answer/message");
        if let Some((_, rest)) = said.split_once("\"managedFields\":")
            && let Some((owners, _)) = rest.split_once("}: must be")
        {
            body["metadata"]["managedFields"] = serde_json::from_str(owners).unwrap();
        }
        let ours = match text(line, "/t") {
            "sar" => review::subject_access(&policy, body),
            "selfsar" => {
                review::self_subject_access(&policy, &User::new("u", &["g", "system:authenticated"]), body)
            }
            "localsar" => review::local_subject_access(&policy, text(line, "/ns"), body),
            "token" => {
                let name = text(line, "/path").split('/').nth(6).unwrap();
                let asked = Request { namespace: "na", name, body: &body, now: 1_800_000_000, id: "id" };
                token::request(&issuer, &asked, &lookup)
            }
            "self" => {
                let whose = &line["answer"]["status"]["userInfo"];
                let whose = json!({"name": whose["username"], "uid": whose["uid"], "groups": whose["groups"], "extra": whose["extra"]});
                Ok(review::self_subject(&user(&whose), 0, &body))
            }
            _ => continue,
        };
        count += 1;
        let theirs = line["answer"].clone();
        match ours {
            Err(refusal) => assert_eq!(refusal.status(), theirs, "{line}"),
            Ok(mut ours) => {
                assert!(code == 201, "{line}");
                let mut theirs = theirs;
                for answer in [&mut ours, &mut theirs] {
                    if let Some(token) = answer.pointer("/status/token").and_then(Value::as_str) {
                        answer["status"] = claims(token);
                    }
                    answer.as_object_mut().unwrap().entry("metadata").or_insert_with(|| json!({}));
                }
                let (ours, theirs) = (bare(ours), bare(theirs));
                assert_eq!(ours["status"], theirs["status"], "{line}");
                assert_eq!(ours["metadata"], theirs["metadata"], "{line}");
            }
        }
    }
    assert!(count > 100, "{count}");
}

#[test]
fn reviews_of_tokens_are_the_servers() {
    let lines = lines("reviews.jsonl");
    // Signed anew with a key of ours, what the server's tokens say.
    let issuer = Issuer::new("https://kubernetes.default.svc", Key::generate().unwrap());
    let mut fixed = Fixed::default();
    fixed.add("t1", User { uid: "uid1".to_owned(), ..User::new("tom1", &["gt1"]) });
    let mut objects: HashMap<(String, String, String), Value> = HashMap::new();
    let mut count = 0;
    for line in &lines {
        if line["t"] == "object" {
            let of = |pointer: &str| text(&line["o"], pointer).to_owned();
            let place = (text(line, "/resource").to_owned(), of("/metadata/namespace"), of("/metadata/name"));
            objects.insert(place, line["o"].clone());
        }
        if line["t"] != "review" {
            continue;
        }
        let lookup = |resource: &str, namespace: &str, name: &str| {
            objects.get(&(resource.to_owned(), namespace.to_owned(), name.to_owned())).cloned()
        };
        let mut body = line["body"].clone();
        let given = text(&body, "/spec/token").to_owned();
        let mut now = 0;
        if given.split('.').count() == 3 && line.get("forged").is_none() {
            let said: Value = serde_json::from_slice(&unbase64(given.split('.').nth(1).unwrap())).unwrap();
            let claims = token::Claims::read(&said).unwrap();
            match line["now"].as_i64() {
                // A variant of a good token.
                Some(then) => now = then,
                None => {
                    assert_eq!(claims.to_json(), said);
                    now = claims.issued.unwrap();
                }
            }
            body["spec"]["token"] = json!(issuer.sign(&claims).unwrap());
        }
        let bearer = Bearer { fixed: &fixed, issuer: &issuer };
        let ours = review::token(body, &issuer.audiences, |token, audiences| {
            // A forged token names their key, which makes no difference but for one that names none.
            bearer.known(token, now, audiences, &lookup)
        });
        let ours = ours.map_or_else(|refusal: Refusal| refusal.status(), |answer| answer["status"].clone());
        let theirs = if line["code"] == json!(201) { &line["answer"]["status"] } else { &line["answer"] };
        if line.get("forged").is_some() {
            assert!(ours.get("authenticated").is_none() && theirs.get("authenticated").is_none(), "{line}");
        } else {
            assert_eq!(&ours, theirs, "{line}");
        }
        count += 1;
    }
    assert!(count > 40, "{count}");
}
