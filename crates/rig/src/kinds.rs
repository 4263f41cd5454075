//! The table of the built-in kinds, taken from a real server and its own packages.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use podium_meta::GroupVersionKind;
use serde_json::Value;

use crate::cluster::{Cluster, Error, run};
use crate::tools;

/// What requests are made of, beside the kinds that are served.
const META: [&str; 7] = [
    "Status",
    "DeleteOptions",
    "CreateOptions",
    "UpdateOptions",
    "PatchOptions",
    "ListOptions",
    "GetOptions",
];

const HEAD: &str = "# The built-in kinds of Kubernetes 1.36.3, written by `make kinds`: what a real server says of itself.
#
# resource: plural, singular, kind, scope, verbs, short names, categories, hash of the stored version
# sub:      name, kind, its group and version if they are others, verbs
# kind:     group and version, kind, type
# column:   group and version, kind, type and format of the cells, priority, heading
# named:    type, what it is, type of a map's keys, `items` if it is a message of its own in protobuf
# type:     name, `atomic` if one writer owns it as a whole; then its fields, a line each:
#   key (`-`: embedded), number in protobuf, flags (e: left out when empty, z: left out when zero, i: embedded,
#   r: required), type (`.X`: of the same package), and then
#   K: type of a map's keys; k: keys of a list of several writers, s: a set, a: a list that is one value, A: an object
#   that is one value; m: merged by a strategic patch, by this key, R: retains keys, P: is replaced; = default
";

/// The whole text of the table.
pub fn table(cluster: &Cluster) -> Result<String, Error> {
    let mut text = HEAD.to_owned();
    let mut kinds = Vec::new();
    let groups = get(cluster, "/apis")?;
    text.push_str("group -\nversion v1\n");
    resources(&mut text, &mut kinds, "", "v1", &get(cluster, "/api/v1")?);
    for group in list(&groups, "groups") {
        let name = word(group, "name");
        let _ = writeln!(text, "group {name}");
        for version in list(group, "versions") {
            let version = word(version, "version");
            let _ = writeln!(text, "version {version}");
            let answer = get(cluster, &format!("/apis/{name}/{version}"))?;
            resources(&mut text, &mut kinds, name, version, &answer);
        }
    }
    kinds.extend(META.iter().map(|kind| GroupVersionKind::new("v1", kind)));
    let mut seen = BTreeSet::new();
    kinds.retain(|kind| seen.insert(kind.clone()));
    text.push_str(&ask(&["types"], &lines(&kinds))?);
    Ok(text)
}

/// Kinds as the real packages want them: a line each.
pub fn lines(kinds: &[GroupVersionKind]) -> String {
    kinds
        .iter()
        .map(|GroupVersionKind { group, version, kind }| format!("{group} {version} {kind}\n"))
        .collect()
}

/// Asks the real packages; see `tools/kubernetes/kinds`.
pub fn ask(args: &[&str], input: &str) -> Result<String, Error> {
    let program = tools::kubernetes("kinds")?;
    let fail =
        |message: String| Error::Command { command: format!("{} {args:?}", program.display()), message };
    let mut command = Command::new(&program);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| fail(error.to_string()))?;
    if let Some(mut stdin) = child.stdin.take() {
        // It reads all before it writes much.
        stdin.write_all(input.as_bytes()).map_err(|error| fail(error.to_string()))?;
    }
    let output = child.wait_with_output().map_err(|error| fail(error.to_string()))?;
    if !output.status.success() {
        return Err(fail(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    String::from_utf8(output.stdout).map_err(|error| fail(error.to_string()))
}

fn get(cluster: &Cluster, path: &str) -> Result<Value, Error> {
    let answer = run(cluster.kubectl().args(["get", "--raw", path]))?;
    let fail =
        |error: serde_json::Error| Error::Command { command: path.to_owned(), message: error.to_string() };
    serde_json::from_str(&answer).map_err(fail)
}

fn resources(
    text: &mut String,
    kinds: &mut Vec<GroupVersionKind>,
    group: &str,
    version: &str,
    answer: &Value,
) {
    for one in list(answer, "resources") {
        let of = |key: &str, usual: &str| one.get(key).and_then(Value::as_str).unwrap_or(usual).to_owned();
        let kind = word(one, "kind").to_owned();
        let verbs = joined(one, "verbs");
        let lists = verbs.split(',').any(|verb| verb == "list");
        kinds.push(GroupVersionKind {
            group: of("group", group),
            version: of("version", version),
            kind: kind.clone(),
        });
        match word(one, "name").split_once('/') {
            Some((_, name)) => {
                let other = one.get("group").is_some();
                let api =
                    if other { format!("{}/{}", of("group", ""), of("version", "")) } else { "-".to_owned() };
                let _ = writeln!(text, "sub {name} {kind} {api} {verbs}");
            }
            None => {
                let namespaced = one.get("namespaced").and_then(Value::as_bool) == Some(true);
                let _ = writeln!(
                    text,
                    "resource {} {} {kind} {} {verbs} {} {} {}",
                    word(one, "name"),
                    word(one, "singularName"),
                    if namespaced { "namespaced" } else { "cluster" },
                    joined(one, "shortNames"),
                    joined(one, "categories"),
                    of("storageVersionHash", "-"),
                );
                if lists {
                    let kind = format!("{kind}List");
                    kinds.push(GroupVersionKind {
                        group: group.to_owned(),
                        version: version.to_owned(),
                        kind,
                    });
                }
            }
        }
    }
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn word<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn joined(value: &Value, key: &str) -> String {
    let words: Vec<&str> = list(value, key).iter().filter_map(Value::as_str).collect();
    if words.is_empty() { "-".to_owned() } else { words.join(",") }
}
