//! Records that are damaged, or made to do damage.

use podium_rig::cluster::{Cluster, Options, Server};
use podium_sprig::encoding::base64_encode;
use serde_json::{Value, json};

use crate::both::{Ran, equal, podium, small_podium};
use crate::world::{create, gzip, pack, secret};

/// The KiB of address space that podium may use, its code and all, where a record says 300 MB. Unoptimised code is larger.
const LIMIT: u32 = if cfg!(debug_assertions) { 800 << 10 } else { 600 << 10 };

fn good() -> Value {
    json!({
        "name": "good", "namespace": "default", "version": 1, "manifest": "",
        "info": {"status": "deployed", "description": "", "first_deployed": "2024-01-02T03:04:05Z",
                 "last_deployed": "2024-01-02T03:04:05Z"},
        "chart": {"metadata": {"name": "c", "version": "1.0.0"}},
    })
}

fn cut(bytes: Vec<u8>) -> Vec<u8> {
    bytes[..bytes.len() / 2].to_vec()
}

/// Names and texts of records that cannot be read, with a word of the complaint.
fn broken() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let plain = |json: &str| base64_encode(json.as_bytes());
    let deep = "[".repeat(200_000);
    vec![
        ("empty", Vec::new(), "JSON"),
        ("base64", b"%%%".to_vec(), "base64"),
        ("cut-base64", cut(plain("{\"a\":1}")), "base64"),
        ("cut-gzip", base64_encode(&cut(gzip(good().to_string().as_bytes()))), "compressed"),
        (
            "checksum",
            base64_encode(&{
                let mut bytes = gzip(good().to_string().as_bytes());
                let at = bytes.len() - 8;
                bytes[at] ^= 1;
                bytes
            }),
            "compressed",
        ),
        ("bomb", base64_encode(&gzip(&vec![b' '; 300 << 20])), "larger than"),
        ("deep", base64_encode(&gzip(deep.as_bytes())), "JSON"),
        ("text", plain("hello"), "JSON"),
        ("tail", plain("{} {}"), "JSON"),
        ("list", plain("[]"), "wrong type"),
        ("number", plain("7"), "wrong type"),
        ("string-info", plain(r#"{"info":"x"}"#), "info"),
        ("list-hooks", plain(r#"{"hooks":[5]}"#), "hooks"),
        ("number-name", plain(r#"{"name":5}"#), "name"),
        ("string-version", plain(r#"{"version":"5"}"#), "version"),
        ("large-version", plain(r#"{"version":1e300}"#), "version"),
        ("string-chart", plain(r#"{"chart":"x"}"#), "chart"),
        ("number-time", plain(r#"{"info":{"last_deployed":5}}"#), "last_deployed"),
        ("no-time", plain(r#"{"info":{"last_deployed":"yesterday"}}"#), "last_deployed"),
        ("list-config", plain(r#"{"config":[1]}"#), "config"),
    ]
}

/// A cluster with records that cannot be read, and a good one.
fn hostile(server: Server) -> Cluster {
    let cluster = Cluster::with(Options { server: Some(server), ..Options::default() }).unwrap();
    let mut objects: Vec<Value> =
        broken().iter().map(|(name, text, _)| secret("default", name, 1, text)).collect();
    objects.push(secret("default", "good", 1, &pack(&good(), true)));
    let mut without = secret("default", "no-data", 1, b"");
    without["data"] = Value::Null;
    objects.push(without);
    let mut other = secret("default", "other-data", 1, b"");
    other["data"] = json!({"other": "eA=="});
    objects.push(other);
    create(&cluster, &objects);
    cluster
}

fn bounded(ran: Ran) -> Ran {
    assert!(matches!(ran.status, Some(0 | 1)) && !ran.stderr.contains("panicked"), "{ran}");
    ran
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn lists_without_broken_records_are_helms() {
    let cluster = hostile(Server::Kubernetes);
    let lines = ["list", "list -q", "list -o json", "list -A --superseded", "list --filter ^good -o yaml"];
    equal(&cluster, &[], &lines.map(str::to_owned));
}

#[test]
fn broken_records_are_left_out_of_lists_and_named_elsewhere() {
    let cluster = hostile(Server::chosen());
    // Helm reads this one, in gigabytes.
    let many = format!("{{\"config\":{{\"a\":[{}0]}}}}", "0,".repeat(40 << 20));
    create(&cluster, &[secret("default", "many", 1, &base64_encode(&gzip(many.as_bytes())))]);
    let list = bounded(small_podium(&cluster, LIMIT, "list -q"));
    assert_eq!((list.status, list.stdout.as_str()), (Some(0), "good\n"), "{list}");
    let mut names: Vec<(&str, &str)> = broken().iter().map(|(name, _, word)| (*name, *word)).collect();
    names.extend([
        ("many", "values"),
        ("no-data", "no field `release`"),
        ("other-data", "no field `release`"),
    ]);
    for (name, word) in names {
        let key = format!("sh.helm.release.v1.{name}.v1");
        assert!(list.stderr.lines().any(|line| line.contains(&key)), "{name}: {list}");
        for command in ["status", "history", "get all", "get values -o json"] {
            let ran = bounded(small_podium(&cluster, LIMIT, &format!("{command} {name}")));
            let said = ran.stderr.contains(&key) && ran.stderr.contains(word);
            assert!(ran.status == Some(1) && said && ran.stdout.is_empty(), "{word}: {ran}");
        }
    }
}

#[test]
fn records_without_the_labels_of_helm_do_no_harm() {
    let cluster = Cluster::start().unwrap();
    let record = pack(&good(), true);
    let mut objects = vec![secret("default", "good", 1, &record)];
    for (name, labels) in [
        ("nameless", json!({"owner": "helm", "version": "1"})),
        ("versionless", json!({"owner": "helm", "name": "versionless"})),
        ("strange-version", json!({"owner": "helm", "name": "strange-version", "version": "x"})),
        ("not-helms", json!({"owner": "somebody", "name": "not-helms", "version": "1"})),
        ("no-labels", Value::Null),
    ] {
        let mut object = secret("default", name, 1, &record);
        object["metadata"]["labels"] = labels;
        objects.push(object);
    }
    create(&cluster, &objects);
    for line in [
        "list",
        "list -o json",
        "list -A",
        "status good",
        "history good",
        "history versionless",
        "get all strange-version",
        "get values versionless --revision 1",
        "history not-helms",
        "status no-labels",
    ] {
        bounded(podium(&cluster, &[], line));
    }
    let list = podium(&cluster, &[], "list -q");
    assert!(list.status == Some(0) && list.stdout.starts_with("good\n"), "{list}");
}
