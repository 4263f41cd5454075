//! What somebody new types first, and what goes wrong then.

#![allow(clippy::panic, clippy::unwrap_used, clippy::expect_used)]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

const PODIUM: &str = env!("CARGO_BIN_EXE_podium");

/// A folder of a test alone, which is the user's home too.
struct Desk(PathBuf);

impl Desk {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("newcomer").join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn command(&self, here: &str, words: &[&str]) -> Command {
        let mut command = Command::new(PODIUM);
        command.args(words).current_dir(self.0.join(here)).env("HOME", &self.0).env_remove("PODIUM_DATA");
        command.env_remove("KUBECONFIG").stdin(Stdio::null());
        command
    }

    /// Whether it was a success, what it printed, and what it complained of.
    fn run(&self, here: &str, words: &[&str]) -> (bool, String, String) {
        let output = self.command(here, words).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.success(), text(&output.stdout), text(&output.stderr))
    }

    fn good(&self, here: &str, words: &[&str]) -> String {
        let (fine, out, errors) = self.run(here, words);
        assert!(fine, "{words:?}: {out}{errors}");
        out
    }

    fn refused(&self, here: &str, words: &[&str], said: &[&str]) -> String {
        let (fine, out, errors) = self.run(here, words);
        assert!(!fine && out.is_empty(), "{words:?}: {out}{errors}");
        said.iter()
            .for_each(|said| assert!(errors.contains(said), "{words:?} does not say {said:?}: {errors}"));
        errors
    }
}

/// A registry, until it goes.
struct Registry(Child, String);

impl Registry {
    fn start(desk: &Desk) -> Self {
        let mut command = desk.command("", &["registry", "serve", "--listen", "127.0.0.1:0"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let rest = line.split_once("http://").expect(&line).1;
        let address = rest.split_once(',').map_or(rest, |(address, _)| address).to_owned();
        Self(child, address)
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const CHART: &str = "apiVersion: v2\nname: web\nversion: 1.0.0\n";
const WATCHES: &str = "- {group: example.com, version: v1, kind: Web, chart: web}\n";

#[test]
fn what_runs_an_operator_is_named_after_its_project() {
    let desk = Desk::new("names");
    for folder in ["shop", "My_Store"] {
        desk.write(&format!("{folder}/watches.yaml"), WATCHES);
        desk.write(&format!("{folder}/web/Chart.yaml"), CHART);
        desk.write(&format!("{folder}/web/values.yaml"), "a: 1\n");
    }
    desk.write("sdk/checkout/PROJECT", "projectName: web-operator\n");
    desk.write("sdk/checkout/watches.yaml", WATCHES);
    desk.write("sdk/checkout/web/Chart.yaml", CHART);
    let image = "example.com/o:1";
    for (folder, name) in [("shop", "shop"), ("My_Store", "my-store"), ("sdk/checkout", "web-operator")] {
        let all = desk.good(folder, &["operator", "manifests", "--image", image]);
        for kind in ["ClusterRole", "ClusterRoleBinding", "Deployment", "ServiceAccount"] {
            let object =
                all.split("---\n").find(|object| object.contains(&format!("kind: {kind}\n"))).expect(kind);
            assert!(object.contains(&format!("\n  name: {name}\n")), "{kind}: {object}");
        }
        assert!(desk.good(folder, &["operator", "rbac"]).contains(&format!("\n  name: {name}\n")));
        let bundle = ["bundle", "generate", "--version", "1.0.0", "--image", image];
        assert!(desk.good(folder, &bundle).starts_with(&format!("{name}.v1.0.0 is in bundle")));
    }
    let given = desk.good("shop", &["operator", "manifests", "--image", image, "--name", "other"]);
    assert!(given.contains("\n  name: other\n") && !given.contains("\n  name: shop\n"), "{given}");
    desk.refused(
        "shop",
        &["operator", "rbac", "--name", "Not_A_Name"],
        &["--name Not_A_Name", "small letters"],
    );
}

#[test]
fn an_operator_with_nothing_to_watch_says_so() {
    let desk = Desk::new("watches");
    // Nobody is asked before the file is read.
    let run = ["operator", "run", "--kube-apiserver", "http://127.0.0.1:1"];
    for text in ["", "[]\n", "# nothing yet\n"] {
        desk.write("watches.yaml", text);
        desk.refused("", &run, &["watches.yaml lists no kinds", "podium operator init"]);
    }
    desk.write("watches.yaml", "- {group: example.com, version: v1, kind: Web}\n");
    let words = ["watches.yaml:1:3: [0].chart", "example.com/v1, Kind=Web has none"];
    desk.refused("", &run, &words);
    desk.refused("", &["operator", "rbac"], &words);
}

#[test]
fn a_path_that_is_mistyped_has_the_words_of_helm_for_programs() {
    let desk = Desk::new("paths");
    desk.write("examples/hello/Chart.yaml", CHART);
    for (path, words) in [
        ("./helo", "Error: path \"./helo\" not found\n"),
        ("examples/helo", "Error: repo examples not found\n"),
    ] {
        assert_eq!(desk.refused("", &["chart", "template", "x", path], &[]), words);
    }
    desk.refused("", &["chart", "template", "x", "helo"], &["there is no file or directory \"helo\""]);
}

#[test]
fn an_image_that_cannot_start_is_not_pushed_unless_it_is_meant() {
    let desk = Desk::new("start");
    let registry = Registry::start(&desk);
    desk.write("run", "#!/bin/sh\n");
    let name = format!("{}/app:1", registry.1);
    let build = ["image", "build", "-t", &name, "-a", "run:/run:0755"];
    for program in [&["--entrypoint", "/run"][..], &["--cmd", "/run"], &["--entrypoint", "/other"]] {
        let build = [&build, program].concat();
        let (fine, _, errors) = desk.run("", &build);
        assert!(fine && errors.starts_with("Warning: the image will not start"), "{errors}");
        for more in [&["--push"][..], &["--push", "--keep-published"], &["--push", "--from", "scratch"]] {
            let said = ["the image would not start", "--allow-no-start"];
            desk.refused("", &[&build, more].concat(), &said);
        }
    }
    assert!(!desk.run("", &["image", "inspect", "--remote", &name]).0, "nothing was pushed");
    desk.good("", &[&build[..], &["--entrypoint", "/run", "--push", "--allow-no-start"]].concat());
    desk.good("", &["image", "inspect", "--remote", &name]);
}

#[test]
fn scratch_is_no_base() {
    let desk = Desk::new("scratch");
    desk.write("file", "text");
    let digest = |more: &[&str]| {
        let built = desk.good("", &[&["image", "build", "-a", "file:/file", "-o", "json"], more].concat());
        serde_json::from_str::<Value>(&built).unwrap()["digest"].as_str().unwrap().to_owned()
    };
    assert_eq!(digest(&[]), digest(&["--from", "scratch"]));
    desk.refused("", &["image", "build", "--from", "scratch"], &["there is nothing to build an image of"]);
}

#[test]
fn one_of_several_platforms_is_chosen_everywhere_and_does_not_take_the_place_of_all_without_a_word() {
    let desk = Desk::new("platforms");
    let registry = Registry::start(&desk);
    desk.write("bin/amd64/app", "one");
    desk.write("bin/arm64/app", "another");
    let name = format!("{}/app:1", registry.1);
    let (amd, arm) = ("linux/amd64", "linux/arm64");
    let build =
        ["image", "build", "-t", &name, "-a", "bin/{arch}/app:/app", "--platform", amd, "--platform", arm];
    desk.good("", &[&build[..], &["--push"]].concat());
    let value = |words: &[&str]| serde_json::from_str::<Value>(&desk.good("", words)).unwrap();
    let whole = value(&["image", "inspect", &name, "-o", "json"]);
    let of = |platform: &str| {
        let all = whole["platforms"].as_array().unwrap().iter();
        all.clone().find(|one| one["platform"] == platform).unwrap()["digest"].clone()
    };
    for place in [&[][..], &["--remote"]] {
        for platform in [amd, arm] {
            let words = [&["image", "inspect", &name, "--platform", platform, "-o", "json"], place].concat();
            let one = value(&words);
            assert_eq!((&one["digest"], &one["platform"]), (&of(platform), &platform.into()), "{words:?}");
        }
        let other = ["image", "inspect", &name, "--platform", "linux/s390x"];
        desk.refused("", &[&other[..], place].concat(), &["linux/s390x"]);
    }
    let raw = desk.good("", &["image", "inspect", &name, "--platform", arm, "--raw"]);
    assert!(
        raw.contains("application/vnd.oci.image.manifest.v1+json") && !raw.contains("manifests"),
        "{raw}"
    );
    for format in ["oci", "docker"] {
        let file = format!("{format}.tar");
        desk.good("", &["image", "save", &name, "--platform", arm, "-f", &file, "--format", format]);
        desk.good("", &["image", "load", &file, "-t", "saved:1"]);
        assert_eq!(value(&["image", "inspect", "saved:1", "-o", "json"])["platform"], arm, "{format}");
    }
    desk.refused(
        "",
        &["image", "save", &name, "--platform", "linux/s390x", "-f", "no.tar"],
        &["linux/s390x"],
    );
    assert!(!desk.0.join("no.tar").exists());

    // The same again takes nothing away.
    let (_, _, errors) = desk.run("", &["image", "push", &name]);
    assert_eq!(errors, "");
    desk.good("", &["image", "pull", &name, "--platform", amd]);
    desk.refused(
        "",
        &["image", "push", &name, "--keep-published"],
        &["is there already, also for linux/arm64"],
    );
    assert_eq!(value(&["image", "inspect", "--remote", &name, "-o", "json"])["digest"], whole["digest"]);
    let layout = ["image", "copy", &name, "oci:whole:1"];
    desk.good("", &layout);
    let (fine, _, errors) = desk.run("", &["image", "push", &name]);
    assert!(fine && errors.contains("is there also for linux/arm64"), "{errors}");
    desk.good("", &["image", "copy", "oci:whole:1", &name]);
    let (fine, _, errors) = desk.run("", &["image", "copy", "oci:whole:1", &name, "--platform", arm]);
    assert!(fine && errors.contains("is there also for linux/amd64"), "{errors}");
}
