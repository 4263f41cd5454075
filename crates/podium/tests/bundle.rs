//! `podium bundle` from a project to an image and back.

#![allow(clippy::panic, clippy::unwrap_used, clippy::expect_used)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use podium_oci::registry::store::Store;
use podium_oci::registry::{Registry, server_limits};
use podium_serve::Server;
use serde_json::Value;

fn stack() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../stacks/inference")
}

/// A folder of this test alone.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bundle").join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// What it prints and whether that was a success; complaints come behind.
fn podium(args: &[&str], here: &Path) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_podium")).args(args).current_dir(here).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.success(), text(output.stdout) + &text(output.stderr))
}

fn good(args: &[&str], here: &Path) -> String {
    let (good, text) = podium(args, here);
    assert!(good, "{args:?}: {text}");
    text
}

/// The bundle of the inference stack.
fn bundle(here: &Path, version: &str, more: &[&str]) -> String {
    let to = here.join(version);
    let to = to.to_str().unwrap();
    let image = format!("example.com/operator:{version}");
    let flags = [
        "bundle",
        "generate",
        "--package",
        "inference-stack-operator",
        "--version",
        version,
        "--image",
        &image,
        "-d",
        to,
    ];
    good(&[&flags[..], more].concat(), &stack());
    to.to_owned()
}

#[test]
fn a_bundle_takes_the_place_of_a_bundle_and_of_nothing_else() {
    let here = folder("own");
    let generate = |to: &str, image: &str| {
        let flags =
            ["bundle", "generate", "--package", "web", "--version", "1.0.0", "--image", image, "-d", to];
        podium(&flags, &stack())
    };
    let path = |name: &str| here.join(name).display().to_string();
    std::fs::create_dir_all(here.join("mine/manifests")).unwrap();
    std::fs::write(here.join("mine/manifests/deploy.yaml"), "mine").unwrap();
    std::fs::write(here.join("other.Dockerfile"), "FROM mine").unwrap();
    std::fs::write(here.join("file"), "mine").unwrap();
    for (to, words) in [
        ("mine", "mine has a folder manifests that is no bundle's"),
        ("other", "other.Dockerfile is no Dockerfile of a bundle"),
        ("file", "file is a file"),
    ] {
        let (good, text) = generate(&path(to), "example.com/web:1");
        assert!(!good && text.contains(words), "{to}: {text}");
    }
    assert_eq!(std::fs::read_to_string(here.join("mine/manifests/deploy.yaml")).unwrap(), "mine");
    assert_eq!(std::fs::read_to_string(here.join("other.Dockerfile")).unwrap(), "FROM mine");
    assert!(!here.join("other").exists());
    for _ in 0..2 {
        let (good, text) = generate(&path("new"), "example.com/web:1");
        assert!(good, "{text}");
    }
    let (good, text) = generate(&path("new"), "NOT AN IMAGE");
    assert!(!good && text.contains("--image"), "{text}");
}

#[test]
fn a_stack_becomes_a_bundle_that_both_take() {
    let here = folder("whole");
    let one = bundle(&here, "1.0.0", &[]);
    assert!(good(&["bundle", "validate", &one], &here).contains("is valid"));
    let objects = good(&["bundle", "render", &one, "-n", "operators", "-o", "json"], &here);
    let objects: Value = serde_json::from_str(&objects).unwrap();
    let names: Vec<String> = objects["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| format!("{}/{}", one["kind"].as_str().unwrap(), one["metadata"]["name"].as_str().unwrap()))
        .collect();
    assert!(names.iter().any(|name| name == "Deployment/inference-stack-operator-1-0-0"), "{names:?}");
    // The names of roles end in a hash instead, of rules and the name of an account.
    let hashed = |name: &str| name.rsplit('-').next().is_some_and(|last| last.len() > 40);
    assert!(names.iter().all(|name| name.contains("1-0-0") || hashed(name)), "{names:?}");
    let catalog = good(
        &["bundle", "render", &one, "--catalog", "--image", "example.com/b:1", "--migrate", "-o", "json"],
        &here,
    );
    let catalog: Value = serde_json::from_str(&catalog).unwrap();
    assert_eq!(catalog["name"], "inference-stack-operator.v1.0.0");
    assert_eq!(catalog["relatedImages"][0]["image"], "example.com/b:1");
    // A resource that nobody would look at is no example.
    let csv = std::fs::read_to_string(
        Path::new(&one).join("manifests/inference-stack-operator.clusterserviceversion.yaml"),
    )
    .unwrap();
    assert!(csv.contains("operatorVersion"), "{csv}");
    let docker = std::fs::read_to_string(here.join("1.0.0.Dockerfile")).unwrap();
    assert!(
        docker.contains("LABEL operators.operatorframework.io.bundle.package.v1=inference-stack-operator"),
        "{docker}"
    );
}

#[test]
fn versions_have_to_say_what_changed() {
    let here = folder("honest");
    let (old, new) = (bundle(&here, "1.0.0", &[]), bundle(&here, "1.0.1", &[]));
    assert!(good(&["bundle", "check", &old, &new], &here).contains("the least honest version is 1.0.1"));
    let diff = good(&["bundle", "diff", &old, &new], &here);
    assert!(diff.contains("example.com/operator:1.0.1"), "{diff}");
    // Every object is beside the one that it takes the place of, also those whose names end in a hash.
    assert!(diff.lines().all(|line| line.starts_with('~')), "{diff}");
    // A kind that is gone.
    let kinds = Path::new(&new).join("metadata/kinds.yaml");
    std::fs::write(&kinds, "kinds: []\n").unwrap();
    let (honest, text) = podium(&["bundle", "check", &old, &new, "-o", "json"], &here);
    assert!(!honest && text.contains("a major one is needed"), "{text}");
    let (built, text) = podium(&["bundle", "build", &new, "oci:images:b", "--previous", &old], &here);
    assert!(!built && text.contains("--allow-breaking"), "{text}");
    good(&["bundle", "build", &new, "oci:images:b", "--previous", &old, "--allow-breaking"], &here);
}

#[test]
fn images_are_the_same_every_time_and_can_be_read_again() {
    let here = folder("image");
    let one = bundle(&here, "1.0.0", &[]);
    let digest = |text: String| {
        text.lines().find_map(|line| line.strip_prefix("digest: ").map(str::to_owned)).unwrap()
    };
    let first = digest(good(&["bundle", "build", &one, "oci:a:b"], &here));
    assert_eq!(first, digest(good(&["bundle", "build", &one, "oci:other:b"], &here)));
    // And in the images of this machine.
    let data = here.join("data");
    let data = data.to_str().unwrap();
    assert_eq!(first, digest(good(&["bundle", "build", &one, "example.com/b:1.0.0", "--data", data], &here)));
    assert!(good(&["image", "list", "--data", data], &here).contains("example.com/b"));
    let archive = here.join("b.tar");
    let archive = archive.to_str().unwrap();
    good(&["image", "save", "example.com/b:1.0.0", "-f", archive, "--data", data], &here);
    assert!(good(&["bundle", "validate", &format!("oci-archive:{archive}")], &here).contains("is valid"));
    assert!(good(&["bundle", "validate", "oci:a:b"], &here).contains("is valid"));
    let from_folder = good(&["bundle", "render", &one], &here);
    assert_eq!(from_folder, good(&["bundle", "render", "oci:a:b"], &here));
}

#[test]
fn what_is_refused_is_told_with_its_place_and_the_next_step() {
    let here = folder("refused");
    let one = bundle(&here, "1.0.0", &[]);
    std::fs::write(
        Path::new(&one).join("manifests/job.yaml"),
        "# a job\napiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\n",
    )
    .unwrap();
    let (valid, text) = podium(&["bundle", "validate", &one], &here);
    assert!(!valid && text.contains("manifests/job.yaml:2: kind: "), "{text}");
    let (valid, text) = podium(&["bundle", "validate", &one, "-o", "yaml"], &here);
    assert!(!valid && text.contains("rule: kind") && text.contains("nextStep:"), "{text}");
    let (built, text) = podium(&["bundle", "build", &one, "oci:x"], &here);
    assert!(!built && text.contains("is not valid") && !here.join("x").exists(), "{text}");
    for (args, words) in [
        (&["bundle", "validate"][..], "requires 1 argument"),
        (&["bundle", "validate", "no/such"], "no folder, no archive and no image"),
        (&["bundle", "render", &one, "-o", "xml"], "write json or yaml"),
        (&["bundle", "generate", "--image", "a:1"], "--version is needed"),
        (&["bundle", "build", &one], "requires 2 arguments"),
    ] {
        let (good, text) = podium(args, &here);
        assert!(!good && text.contains(words), "{args:?}: {text}");
    }
}

#[test]
fn an_archive_is_a_bundle_too() {
    let here = folder("archive");
    bundle(&here, "1.0.0", &[]);
    let tar = Command::new("tar").args(["czf", "b.tgz", "1.0.0"]).current_dir(&here).status().unwrap();
    assert!(tar.success());
    assert!(good(&["bundle", "validate", "b.tgz"], &here).contains("is valid"));
}

#[test]
fn a_registry_gets_honest_versions_only() {
    let here = folder("push");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let store = Arc::new(Store::open(here.join("registry"), false).unwrap());
    let address = runtime.block_on(async {
        let server = Server::bind("127.0.0.1:0", server_limits()).await.unwrap();
        let address = server.local_addr().unwrap();
        tokio::spawn(server.run(Registry::new(store).service(), std::future::pending()));
        address
    });
    let name = |version: &str| format!("{address}/me/operator-bundle:{version}");
    let (old, new) = (bundle(&here, "1.0.0", &[]), bundle(&here, "1.1.0", &[]));
    let first = good(&["bundle", "push", &old, &name("1.0.0")], &here);
    // Once more is nothing new.
    assert_eq!(first, good(&["bundle", "push", &old, &name("1.0.0")], &here));
    assert!(good(&["bundle", "validate", &name("1.0.0")], &here).contains("is valid"));
    // Another version under the same name, and another content of the same version.
    let (pushed, text) = podium(&["bundle", "push", &new, &name("1.0.0")], &here);
    assert!(!pushed && text.contains("is of version 1.1.0, and the tag says 1.0.0"), "{text}");
    let kinds = Path::new(&old).join("metadata/kinds.yaml");
    let whole = std::fs::read(&kinds).unwrap();
    std::fs::write(&kinds, [&whole[..], b"# more\n"].concat()).unwrap();
    let (pushed, text) = podium(&["bundle", "push", &old, &name("1.0.0")], &here);
    assert!(!pushed && text.contains("--overwrite"), "{text}");
    std::fs::write(&kinds, whole).unwrap();
    // The version before is found among the tags.
    let kinds = Path::new(&new).join("metadata/kinds.yaml");
    let whole = std::fs::read(&kinds).unwrap();
    std::fs::write(&kinds, "kinds: []\n").unwrap();
    let (pushed, text) = podium(&["bundle", "push", &new, &name("1.1.0")], &here);
    assert!(!pushed && text.contains("the least version is 2.0.0"), "{text}");
    std::fs::write(&kinds, whole).unwrap();
    good(&["bundle", "push", &new, &name("1.1.0")], &here);
    assert!(good(&["bundle", "check", &name("1.0.0"), &name("1.1.0")], &here).contains("1.0.0 -> 1.1.0"));
}
