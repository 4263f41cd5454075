//! The commands of the cluster of this machine, as somebody new uses them: also everything that goes wrong first.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod up;

use std::net::TcpListener;
use std::process::Command;

use serde_json::Value;
use up::{Folder, Up};

const UP: [&str; 4] = ["up", "--no-stacks", "--port", "0"];

/// What a command ended with, and that it said all of this.
fn says(folder: &Folder, arguments: &[&str], code: i32, words: &[&str]) -> String {
    let (ended, text) = folder.run(arguments);
    assert_eq!(ended, Some(code), "{arguments:?}: {text}");
    for word in words {
        assert!(text.contains(word), "{arguments:?} does not say {word:?}: {text}");
    }
    assert!(!text.contains("panicked") && !text.contains("Os {"), "{arguments:?}: {text}");
    text
}

fn detached(folder: &Folder, more: &[&str], code: i32, words: &[&str]) -> String {
    says(folder, &[&["up", "-d", "--no-stacks", "--port", "0"], more].concat(), code, words)
}

#[test]
fn commands_without_a_cluster_say_so() {
    let folder = Folder::new("none");
    let data = folder.data().display().to_string();
    says(&folder, &["down"], 0, &[&data, "is not up"]);
    says(&folder, &["status"], 3, &[&data, "is not up", "podium up"]);
    let status = says(&folder, &["status", "-o", "json"], 3, &[]);
    assert_eq!(serde_json::from_str::<Value>(&status).unwrap()["running"], false);
    says(&folder, &["status", "-o", "xml"], 1, &["-o xml", "json or yaml"]);
    says(&folder, &["reset"], 0, &["There is no cluster in", &data]);
    says(&folder, &["kubeconfig"], 1, &["there is no cluster in", &data, "podium up"]);
    says(&folder, &["logs"], 1, &["there is no log in", "podium up -d"]);
    let mut command = folder.podium(&["status"]);
    let (code, text) = up::said(&command.env_remove("HOME").env_remove("PODIUM_DATA").output().unwrap());
    assert!(code == Some(1) && text.contains("HOME is not set") && text.contains("--data"), "{text}");
    assert!(!folder.data().exists(), "looking leaves nothing behind");
}

#[test]
fn a_port_that_cannot_be_used_is_named() {
    let folder = Folder::new("port");
    let somebody = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = somebody.local_addr().unwrap().port().to_string();
    let words = [&format!("port {port} is taken by another program"), "--port PORT", "--port 0"];
    says(&folder, &["up", "--no-stacks", "--port", &port], 1, &words);
    says(&folder, &["up", "-d", "--no-stacks", "--port", &port], 1, &words);
    says(&folder, &["up", "--port", "many"], 1, &["--port many", "a number up to 65535"]);
    says(&folder, &["up", "--port", "70000"], 1, &["--port 70000", "a number up to 65535"]);
    says(&folder, &["up", "--listen", "not-an-address", "--port", "0"], 1, &["not-an-address"]);
    // An address of nobody on this machine.
    says(&folder, &["up", "--listen", "192.0.2.1", "--port", "0"], 1, &["192.0.2.1", "cannot listen"]);
    says(&folder, &["up", "--prot", "1"], 1, &["--prot", "--port"]);
}

#[test]
fn a_second_up_finds_the_first_and_down_ends_it() {
    let folder = Folder::new("second");
    let first = detached(&folder, &[], 0, &["The cluster is up: https://127.0.0.1:", "export KUBECONFIG="]);
    let words = [
        "The cluster is up already: https://127.0.0.1:",
        "kubeconfig: ",
        "--port, --no-stacks change nothing",
    ];
    let second = says(&folder, &UP, 0, &words);
    let url =
        |text: &str| text.split_whitespace().find(|word| word.starts_with("https://")).unwrap().to_owned();
    assert_eq!(url(&first), url(&second));
    detached(&folder, &[], 0, &["is up already"]);
    says(&folder, &["status"], 0, &[&url(&first), "4 namespaces", "There is no node"]);
    let status = says(&folder, &["status", "-o", "json"], 0, &[]);
    let status: Value = serde_json::from_str(&status).unwrap();
    assert_eq!((&status["running"], &status["objects"]["namespaces"]), (&Value::Bool(true), &4.into()));
    says(&folder, &["logs", "--tail", "few"], 1, &["--tail few", "whole number"]);
    says(&folder, &["logs", "--tail", "1"], 0, &[]);
    says(&folder, &["kubeconfig", "--path"], 0, &["kubeconfig"]);
    // Its files can be read by their owner only.
    use std::os::unix::fs::PermissionsExt;
    for secret in ["kubeconfig", "keys/ca.key"] {
        let mode = std::fs::metadata(folder.data().join(secret)).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{secret}");
    }
    // Somebody who does not see the record finds the lock.
    let record = folder.data().join("running.json");
    let kept = std::fs::read(&record).unwrap();
    std::fs::remove_file(&record).unwrap();
    let pid = serde_json::from_slice::<Value>(&kept).unwrap()["pid"].to_string();
    says(&folder, &UP, 1, &["is in use by process", &pid, "podium down", "--data"]);
    says(&folder, &["reset", "--yes"], 1, &["is in use by process", &pid]);
    std::fs::write(&record, &kept).unwrap();
    says(&folder, &["down"], 0, &["The cluster is down; its data stays"]);
    says(&folder, &["down"], 0, &["is not up"]);
    says(&folder, &["status"], 3, &["is not up"]);
}

#[test]
fn releases_are_looked_for_in_the_cluster_of_this_machine_when_there_is_no_other() {
    let folder = Folder::new("found");
    let way = "export KUBECONFIG=$(podium kubeconfig --path)";
    says(&folder, &["release", "list"], 1, &["no cluster is configured", "podium up -d", way]);
    detached(&folder, &[], 0, &[]);
    assert_eq!(says(&folder, &["release", "list", "--short"], 0, &[]), "", "programs see releases only");
    // Programs compare Helm's words.
    for command in [&["status"][..], &["history"], &["get", "values"], &["status", "--revision", "7"]] {
        let line = [&["release"], command, &["web", "-n", "shop"]].concat();
        assert_eq!(says(&folder, &line, 1, &[]), "Error: release: not found\n");
    }
    let text = says(&folder, &["release", "rollback", "web", "-n", "shop"], 1, &["`podium release list -A`"]);
    let there_is_none = "Error: release: not found: there is no \"web\" in the namespace \"shop\"";
    assert!(text.starts_with(there_is_none), "{text}");
    // Whoever names another one means that.
    let mut other = folder.podium(&["release", "list"]);
    let (code, text) = up::said(&other.env("KUBECONFIG", folder.0.join("nothing")).output().unwrap());
    assert!(code == Some(1) && text.contains("there is no such file") && text.contains(way), "{text}");
    says(&folder, &["down"], 0, &[]);
    says(&folder, &["release", "list"], 1, &["no cluster is configured", way]);
}

#[test]
fn a_program_of_another_name_is_known_too() {
    let folder = Folder::new("renamed");
    let renamed = folder.0.join("kube");
    std::fs::copy(env!("CARGO_BIN_EXE_podium"), &renamed).unwrap();
    let mut command = Command::new(renamed);
    let (code, text) = up::said(&folder.clean(&mut command).args(UP).arg("-d").output().unwrap());
    assert_eq!(code, Some(0), "{text}");
    says(&folder, &["status"], 0, &["process"]);
    says(&folder, &["down"], 0, &["The cluster is down"]);
}

#[test]
fn a_reset_has_to_be_meant_and_ends_what_runs() {
    let folder = Folder::new("reset");
    detached(&folder, &[], 0, &[]);
    std::fs::write(folder.data().join("mine.txt"), "of somebody").unwrap();
    says(&folder, &["reset"], 1, &["this removes the cluster in", "--yes"]);
    says(&folder, &["status"], 0, &["process"]);
    says(&folder, &["reset", "--yes"], 0, &["The cluster is gone"]);
    says(&folder, &["status"], 3, &["is not up"]);
    let left: Vec<_> =
        std::fs::read_dir(folder.data()).unwrap().map(|one| one.unwrap().file_name()).collect();
    assert_eq!(left, ["mine.txt"], "what is of others stays");
}

#[test]
fn what_is_no_cluster_is_left_alone() {
    let folder = Folder::new("strange");
    let file = folder.data().join("store/mine");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "mine").unwrap();
    says(&folder, &["reset", "--yes"], 0, &["There is no cluster in"]);
    says(&folder, &UP, 1, &["has a folder store that is no cluster's", "--data"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
}

#[test]
fn a_cluster_that_was_killed_comes_back() {
    let folder = Folder::new("killed");
    let mut up = Up::start(&folder);
    up.kill();
    assert!(folder.data().join("running.json").exists());
    says(&folder, &["status"], 3, &["is not up"]);
    says(&folder, &["down"], 0, &["is not up"]);
    detached(&folder, &[], 0, &["The cluster is up"]);
    says(&folder, &["down"], 0, &["is down"]);
}

#[test]
fn manifests_that_cannot_be_applied_are_told_with_their_place() {
    let folder = Folder::new("apply");
    let write = |name: &str, text: &str| std::fs::write(folder.0.join(name), text).unwrap();
    write(
        "good.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: good}\n---\n# nothing\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n",
    );
    write("broken.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: [a\n");
    write(
        "second.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: first}\n---\napiVersion: v1\nkind: {{ nothing }}\n",
    );
    write("unknown.yaml", "apiVersion: example.com/v1\nkind: Wheel\nmetadata: {name: a}\n");
    write("version.yaml", "apiVersion: apps/v1beta1\nkind: Deployment\nmetadata: {name: a}\n");
    write("nameless.yaml", "apiVersion: v1\nkind: ConfigMap\n");
    write("name.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Wrong_Name}\n");
    write(
        "field.yaml",
        "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: many}]}\n",
    );
    write("nowhere.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: nowhere}\n");
    detached(&folder, &["--apply", "good.yaml"], 0, &["ConfigMap default/good is applied", "default/other"]);
    let apply = |file: &str, words: &[&str]| {
        let text = detached(&folder, &["--apply", file], 1, &[&["Error", file], words].concat());
        assert!(text.contains("is up already"), "the cluster stays: {text}");
    };
    // What cannot be read is told before anything is done.
    let refuse = |file: &str, words: &[&str]| {
        let text = detached(&folder, &["--apply", file], 1, &[&["Error", file], words].concat());
        assert!(!text.contains("is up already") && !text.contains("is applied"), "{text}");
    };
    refuse("broken.yaml", &["line"]);
    refuse("second.yaml", &["invalid map key"]);
    apply("unknown.yaml", &["does not know the kind Wheel of example.com/v1", "CustomResourceDefinition"]);
    apply("version.yaml", &["does not know the kind Deployment of apps/v1beta1", "kubectl api-resources"]);
    refuse("nameless.yaml", &["no kind or no metadata.name"]);
    apply("name.yaml", &["Wrong_Name", "lowercase"]);
    apply("field.yaml", &["port"]);
    apply("nowhere.yaml", &["namespaces \"nowhere\" not found"]);
    refuse("missing.yaml", &["No such file"]);
    refuse(".", &["directory"]);
    says(&folder, &["down"], 0, &[]);
}

#[test]
fn folders_that_cannot_be_used_are_named() {
    let folder = Folder::new("folders");
    std::fs::write(folder.0.join("file"), "x").unwrap();
    says(
        &folder,
        &["up", "--no-stacks", "--port", "0", "--data", "file"],
        1,
        &["is a file", "choose a folder"],
    );
    says(&folder, &["up", "-d", "--no-stacks", "--port", "0", "--data", "file"], 1, &["file"]);
    // The folder of somebody else: root gives one away, everybody else has one of root.
    let gone = folder.0.join("given");
    std::fs::create_dir(&gone).unwrap();
    let given = Command::new("chown").arg("12345").arg(&gone).output().unwrap().status.success();
    let foreign = if given { gone.display().to_string() } else { "/usr".to_owned() };
    let text = says(&folder, &["up", "--no-stacks", "--port", "0", "--data", &foreign], 1, &[&foreign]);
    let owner = if given { "belongs to user 12345" } else { "belongs to user 0" };
    assert!(text.contains(owner) && text.contains("choose another"), "{text}");
    let left = std::fs::read_dir(&gone).unwrap().count();
    assert_eq!(left, 0, "nothing is written into it");
}

#[test]
fn a_store_of_a_newer_version_is_left_alone() {
    let folder = Folder::new("newer");
    drop(Up::start(&folder));
    let store = folder.data().join("store");
    for entry in std::fs::read_dir(store).unwrap() {
        let path = entry.unwrap().path();
        let mut bytes = std::fs::read(&path).unwrap();
        if bytes.len() > 20 {
            bytes[16..20].copy_from_slice(&9_u32.to_le_bytes());
            std::fs::write(&path, bytes).unwrap();
        }
    }
    says(&folder, &UP, 1, &["was written by podium", "in format 9", "or newer"]);
}

#[test]
fn users_of_a_file_have_to_be_written_well() {
    let folder = Folder::new("users");
    std::fs::write(folder.0.join("users"), "a-token,ann,1,\"people\"\nonly-a-token\n").unwrap();
    says(&folder, &["up", "--token-file", "users", "--port", "0"], 1, &["users, line 2", "token,user,uid"]);
    says(&folder, &["up", "--token-file", "nothing", "--port", "0"], 1, &["nothing", "No such file"]);
}
