//! Images beside the originals: crane and skopeo push to and pull from our registry and Debian's docker-registry, and so
//! do we; transfers that break off go on; what we build runs under runc.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use podium_oci::files::Limits;
use podium_oci::{Blobs, Layout, Platform};
use podium_rig::registries::{Error, Registry, crane, cutting, podium, run, skopeo};
use podium_rig::tools;
use serde_json::{Value, json};

struct Scratch(PathBuf);

static NUMBER: AtomicUsize = AtomicUsize::new(0);

impl Scratch {
    fn new() -> Self {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("podium-images-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("home/run")).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    fn home(&self) -> PathBuf {
        self.path("home")
    }

    fn podium(&self, args: &[&str]) -> Result<String, Error> {
        run(podium(&self.home())?.args(args))
    }

    fn crane(&self, args: &[&str]) -> Result<String, Error> {
        run(crane(&self.home())?.args(args))
    }

    fn skopeo(&self, args: &[&str]) -> Result<String, Error> {
        run(skopeo(&self.home()).args(args))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn noise(size: usize) -> Vec<u8> {
    let mut random = podium_rig::random::Random::new(7);
    let mut data = Vec::with_capacity(size + 8);
    while data.len() < size {
        data.extend_from_slice(&random.word().to_le_bytes());
    }
    data.truncate(size);
    data
}

/// Builds an image with our own tool: a program, a folder and `size` bytes that do not compress. As a layout.
fn layout(scratch: &Scratch, size: usize, name: &str) -> String {
    let files = scratch.path("files");
    fs::create_dir_all(files.join("conf/sub")).unwrap();
    fs::write(files.join("data"), noise(size)).unwrap();
    fs::write(files.join("conf/a.yaml"), "a: 1\n").unwrap();
    fs::write(files.join("conf/sub/b"), "b\n").unwrap();
    let _ = std::os::unix::fs::symlink("sub/b", files.join("conf/link"));
    let (data, conf) = (
        format!("{}:/data:0600:5:6", files.join("data").display()),
        format!("{}:/conf", files.join("conf").display()),
    );
    let tag = format!("localhost/{name}:1");
    scratch
        .podium(&["image", "build", "-t", &tag, "-a", &data, "-a", &conf, "--label", "k=v", "--env", "A=b"])
        .unwrap();
    let to = scratch.text(name);
    scratch.podium(&["image", "save", &tag, "-f", &format!("{to}.tar")]).unwrap();
    scratch.podium(&["image", "copy", &format!("oci-archive:{to}.tar"), &format!("oci:{to}:1")]).unwrap();
    to
}

fn digest(layout: &str) -> String {
    Layout::open(layout).unwrap().find(None).unwrap().digest.to_string()
}

/// All blobs of a layout.
fn blobs(layout: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(layout.join("blobs/sha256")).unwrap().flatten();
    entries
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path()).unwrap()))
        .collect()
}

const CLIENTS: [&str; 3] = ["podium", "crane", "skopeo"];

fn push(scratch: &Scratch, client: &str, layout: &str, to: &str) -> Result<(), Error> {
    match client {
        "podium" => scratch.podium(&["image", "copy", &format!("oci:{layout}:1"), to]),
        "crane" => scratch.crane(&["push", layout, to]),
        _ => scratch.skopeo(&[
            "copy",
            "--preserve-digests",
            "--dest-tls-verify=false",
            &format!("oci:{layout}:1"),
            &format!("docker://{to}"),
        ]),
    }
    .map(|_| ())
}

fn pull(scratch: &Scratch, client: &str, from: &str, to: &str) -> Result<(), Error> {
    match client {
        "podium" => scratch.podium(&["image", "copy", from, &format!("oci:{to}:1")]),
        "crane" => scratch.crane(&["pull", "--format=oci", from, to]),
        _ => scratch.skopeo(&[
            "copy",
            "--preserve-digests",
            "--src-tls-verify=false",
            &format!("docker://{from}"),
            &format!("oci:{to}:1"),
        ]),
    }
    .map(|_| ())
}

#[test]
#[ignore = "needs crane, skopeo and docker-registry (make tools)"]
fn every_client_works_with_every_registry() {
    let scratch = Scratch::new();
    let layout = layout(&scratch, 3 << 20, "image");
    let expected = blobs(Path::new(&layout));
    let registries = [
        ("ours", Registry::podium(&scratch.path("ours"), &[]).unwrap()),
        ("docker", Registry::docker(&scratch.path("docker"), None).unwrap()),
    ];
    let mut compared = 0;
    for (which, registry) in &registries {
        for pusher in CLIENTS {
            let name = format!("{}/team/{pusher}:1", registry.address);
            push(&scratch, pusher, &layout, &name).unwrap_or_else(|e| panic!("{pusher} to {which}: {e}"));
            let said = scratch.crane(&["digest", &name]).unwrap();
            assert_eq!(said.trim(), digest(&layout), "{pusher} to {which}");
            scratch.crane(&["validate", "--remote", &name]).unwrap();
            for puller in CLIENTS {
                let to = scratch.text(&format!("{which}-{pusher}-{puller}"));
                pull(&scratch, puller, &name, &to).unwrap_or_else(|e| panic!("{puller} from {which}: {e}"));
                assert_eq!(blobs(Path::new(&to)), expected, "{pusher} to {which}, back by {puller}");
                compared += 1;
            }
        }
        // Lists and deletions are the same for all.
        let name = format!("{}/team/crane", registry.address);
        scratch.crane(&["tag", &format!("{name}:1"), "2"]).unwrap();
        let ours = scratch.podium(&["image", "list", &name, "-o", "json"]).unwrap();
        let ours: Value = serde_json::from_str(&ours).unwrap();
        // docker-registry gives them in any order.
        let sorted = |mut tags: Vec<String>| {
            tags.sort();
            tags
        };
        let tags =
            ours["tags"].as_array().unwrap().iter().map(|tag| tag.as_str().unwrap().to_owned()).collect();
        assert_eq!(sorted(tags), ["1", "2"], "{which}");
        let theirs = scratch.crane(&["ls", &name]).unwrap();
        assert_eq!(sorted(theirs.lines().map(str::to_owned).collect()), ["1", "2"], "{which}");
        scratch.podium(&["image", "delete", "--remote", &format!("{name}@{}", digest(&layout))]).unwrap();
        assert!(scratch.crane(&["digest", &format!("{name}:1")]).is_err(), "{which}");
        assert!(scratch.podium(&["image", "inspect", "--remote", &format!("{name}:1")]).is_err(), "{which}");
    }
    let ours = &registries[0].1;
    scratch.crane(&["delete", &format!("{}/team/skopeo@{}", ours.address, digest(&layout))]).unwrap();
    assert_eq!(scratch.crane(&["ls", &format!("{}/team/skopeo", ours.address)]).unwrap(), "");
    assert_eq!(compared, 18);
}

#[test]
#[ignore = "needs crane, skopeo and docker-registry (make tools)"]
fn several_platforms_and_archives_are_read_by_others() {
    let scratch = Scratch::new();
    let ours = Registry::podium(&scratch.path("ours"), &[]).unwrap();
    let docker = Registry::docker(&scratch.path("docker"), None).unwrap();
    for arch in ["amd64", "arm64"] {
        fs::create_dir_all(scratch.path(&format!("bin/{arch}"))).unwrap();
        fs::write(scratch.path(&format!("bin/{arch}/app")), arch).unwrap();
    }
    let name = format!("{}/multi:1", ours.address);
    let add = format!("{}:/app:0755", scratch.text("bin/{arch}/app"));
    let built = [
        "image",
        "build",
        "-t",
        &name,
        "-a",
        &add,
        "--platform",
        "linux/amd64",
        "--platform",
        "linux/arm64",
        "--push",
        "-o",
        "json",
    ];
    let built: Value = serde_json::from_str(&scratch.podium(&built).unwrap()).unwrap();
    assert_eq!(scratch.crane(&["digest", &name]).unwrap().trim(), built["digest"].as_str().unwrap());
    for arch in ["amd64", "arm64"] {
        let platform = format!("linux/{arch}");
        let config: Value =
            serde_json::from_str(&scratch.crane(&["config", "--platform", &platform, &name]).unwrap())
                .unwrap();
        assert_eq!(config["architecture"], json!(arch));
        let tar = run(crane(&scratch.home()).unwrap().args([
            "export",
            "--platform",
            &platform,
            &name,
            &scratch.text("export.tar"),
        ]));
        tar.unwrap();
        let listed = run(Command::new("tar").args(["xOf", &scratch.text("export.tar"), "app"])).unwrap();
        assert_eq!(listed, arch);
    }
    let to = format!("{}/multi:1", docker.address);
    let (from_ours, to_docker) = (format!("docker://{name}"), format!("docker://{to}"));
    scratch
        .skopeo(&[
            "copy",
            "--all",
            "--preserve-digests",
            "--src-tls-verify=false",
            "--dest-tls-verify=false",
            &from_ours,
            &to_docker,
        ])
        .unwrap();
    scratch.podium(&["image", "copy", &to, &format!("{}/multi:back", ours.address)]).unwrap();
    let back = scratch.crane(&["digest", &format!("{}/multi:back", ours.address)]).unwrap();
    assert_eq!(back.trim(), built["digest"].as_str().unwrap());

    // Archives, both ways.
    let image = layout(&scratch, 10_000, "image");
    let config = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    scratch
        .podium(&["image", "save", "localhost/image:1", "-f", &scratch.text("d.tar"), "--format", "docker"])
        .unwrap();
    let theirs = scratch
        .skopeo(&["inspect", "--config", &format!("docker-archive:{}", scratch.text("d.tar"))])
        .unwrap();
    let own = scratch.podium(&["image", "inspect", "localhost/image:1", "--config"]).unwrap();
    assert_eq!(config(&theirs)["rootfs"], config(&own)["rootfs"]);
    assert_eq!(config(&theirs)["config"]["Labels"], json!({"k": "v"}));
    scratch
        .skopeo(&[
            "copy",
            &format!("oci:{image}:1"),
            &format!("docker-archive:{}:some/name:7", scratch.text("e.tar")),
        ])
        .unwrap();
    scratch.podium(&["image", "load", &scratch.text("e.tar")]).unwrap();
    let loaded = scratch.podium(&["image", "inspect", "some/name:7", "--config"]).unwrap();
    assert_eq!(config(&loaded)["rootfs"], config(&own)["rootfs"]);
    scratch.crane(&["pull", &format!("{}/multi:1", docker.address), &scratch.text("crane.tar")]).unwrap();
    let copied = scratch.podium(&[
        "image",
        "copy",
        &format!("docker-archive:{}", scratch.text("crane.tar")),
        &format!("{}/tarball:1", ours.address),
    ]);
    copied.unwrap();
    scratch.crane(&["validate", "--remote", &format!("{}/tarball:1", ours.address)]).unwrap();
}

#[test]
#[ignore = "needs crane and docker-registry (make tools)"]
fn interrupted_transfers_go_on() {
    let scratch = Scratch::new();
    let layout = layout(&scratch, 12 << 20, "image");
    let registries = [
        Registry::podium(&scratch.path("ours"), &[]).unwrap(),
        Registry::docker(&scratch.path("docker"), None).unwrap(),
    ];
    for (number, registry) in registries.iter().enumerate() {
        // Cut twice while it is sent, and twice while it is got.
        let (address, left) = cutting(&registry.address, vec![5 << 20, 3 << 20]).unwrap();
        let name = format!("{address}/cut:1");
        push(&scratch, "podium", &layout, &name).unwrap();
        assert_eq!(left.lock().unwrap().len(), 0, "both cuts were made");
        scratch.crane(&["validate", "--remote", &format!("{}/cut:1", registry.address)]).unwrap();
        *left.lock().unwrap() = vec![5 << 20, 3 << 20];
        let to = scratch.text(&format!("back-{number}"));
        pull(&scratch, "podium", &name, &to).unwrap();
        assert_eq!(left.lock().unwrap().len(), 0, "both cuts were made");
        assert_eq!(blobs(Path::new(&to)), blobs(Path::new(&layout)));
    }
}

#[test]
#[ignore = "needs docker-registry (make tools)"]
fn what_a_registry_has_spoiled_is_refused() {
    let scratch = Scratch::new();
    let layout = layout(&scratch, 1 << 20, "image");
    let docker = Registry::docker(&scratch.path("docker"), None).unwrap();
    let name = format!("{}/spoiled:1", docker.address);
    push(&scratch, "podium", &layout, &name).unwrap();
    let large = blobs(Path::new(&layout)).into_iter().max_by_key(|(_, data)| data.len()).unwrap().0;
    let file = docker
        .folder
        .join("data/docker/registry/v2/blobs/sha256")
        .join(&large[..2])
        .join(&large)
        .join("data");
    let mut data = fs::read(&file).unwrap();
    data[1000] ^= 1;
    fs::write(&file, &data).unwrap();
    let error = pull(&scratch, "podium", &name, &scratch.text("to")).unwrap_err().to_string();
    assert!(error.contains("the content should be sha256:"), "{error}");
    data.truncate(5000);
    fs::write(&file, &data).unwrap();
    let error = pull(&scratch, "podium", &name, &scratch.text("to2")).unwrap_err().to_string();
    assert!(error.contains("bytes and should have"), "{error}");
}

#[test]
#[ignore = "needs crane, skopeo and docker-registry (make tools)"]
fn passwords_and_certificates() {
    let scratch = Scratch::new();
    // htpasswd -nbB -C 5 me 'pass:word'
    fs::write(scratch.path("users"), "me:$2y$05$7VXat5jtbqS.RRGmdB/u.OLgQlR9GikrMKGTqvoxIcAV5aLr4R93S\n")
        .unwrap();
    let openssl = |args: &str| {
        run(Command::new("openssl").args(args.split(' ')).current_dir(scratch.path(""))).unwrap();
    };
    fs::write(scratch.path("san"), "subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n").unwrap();
    openssl(
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.crt -days 2 -subj /CN=ca",
    );
    openssl(
        "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout tls.key -out tls.csr -subj /CN=registry",
    );
    openssl(
        "x509 -req -in tls.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile san -out tls.crt",
    );
    let (users, cert, key, ca) =
        (scratch.text("users"), scratch.text("tls.crt"), scratch.text("tls.key"), scratch.text("ca.crt"));
    let ours = Registry::podium(
        &scratch.path("ours"),
        &["--htpasswd", &users, "--tls-cert", &cert, "--tls-key", &key],
    )
    .unwrap();
    let docker = Registry::docker(&scratch.path("docker"), Some(&scratch.path("users"))).unwrap();
    let layout = layout(&scratch, 2 << 20, "image");

    let name = format!("{}/app:1", ours.address);
    let copy = |flags: &[&str], to: &str| {
        scratch.podium(&[&["image", "copy", &format!("oci:{layout}:1"), to], flags].concat())
    };
    let error = copy(&[], &name).unwrap_err().to_string();
    assert!(error.contains("certificate"), "{error}");
    let error = copy(&["--ca-file", &ca], &name).unwrap_err().to_string();
    assert!(error.contains("wants credentials") && error.contains("podium registry login"), "{error}");
    let login = |address: &str, password: &str, more: &[&str]| {
        scratch.podium(&[&["registry", "login", address, "-u", "me", "-p", password], more].concat())
    };
    let error = login(&ours.address, "wrong", &["--ca-file", &ca]).unwrap_err().to_string();
    assert!(error.contains("does not accept"), "{error}");
    login(&ours.address, "pass:word", &["--ca-file", &ca]).unwrap();
    copy(&["--ca-file", &ca], &name).unwrap();
    // What we have written down, crane and skopeo find; they believe the same authority.
    let digest =
        run(crane(&scratch.home()).unwrap().env("SSL_CERT_FILE", &ca).args(["digest", &name])).unwrap();
    assert_eq!(digest.trim(), self::digest(&layout));
    let auth = scratch.home().join(".docker/config.json");
    assert_eq!(fs::metadata(&auth).unwrap().permissions().mode() & 0o777, 0o600);
    fs::create_dir_all(scratch.path("certs")).unwrap();
    fs::copy(&ca, scratch.path("certs/ca.crt")).unwrap();
    let inspected = scratch.skopeo(&[
        "inspect",
        "--cert-dir",
        &scratch.text("certs"),
        "--authfile",
        &auth.display().to_string(),
        &format!("docker://{name}"),
    ]);
    assert!(inspected.unwrap().contains(&self::digest(&layout)));
    // And the other way round: what they have written down, we find.
    let name = format!("{}/app:1", docker.address);
    assert!(copy(&[], &name).is_err());
    scratch.crane(&["auth", "login", &docker.address, "-u", "me", "-p", "pass:word"]).unwrap();
    copy(&[], &name).unwrap();
    scratch.podium(&["registry", "logout", &docker.address]).unwrap();
    assert!(copy(&[], &name).is_err());
    scratch.skopeo(&["login", "--tls-verify=false", "-u", "me", "-p", "pass:word", &docker.address]).unwrap();
    let podman = scratch.home().join("run/containers/auth.json");
    let found = run(podium(&scratch.home())
        .unwrap()
        .env("XDG_RUNTIME_DIR", scratch.home().join("run"))
        .args(["image", "inspect", "--remote", &name]));
    assert!(podman.exists());
    found.unwrap();
}

/// Everything below a folder: kind, rights, owner, content.
fn tree(root: &Path) -> BTreeMap<String, (u32, u32, u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut todo = vec![root.to_owned()];
    while let Some(at) = todo.pop() {
        for entry in fs::read_dir(&at).unwrap().flatten() {
            let (path, meta) = (entry.path(), fs::symlink_metadata(entry.path()).unwrap());
            let content = if meta.is_dir() {
                todo.push(path.clone());
                Vec::new()
            } else if meta.is_symlink() {
                fs::read_link(&path).unwrap().to_string_lossy().into_owned().into_bytes()
            } else {
                fs::read(&path).unwrap()
            };
            let name = path.strip_prefix(root).unwrap().display().to_string();
            found.insert(name, (meta.mode(), meta.uid(), meta.gid(), content));
        }
    }
    found
}

#[test]
#[ignore = "needs crane and runc, and to be root (make tools)"]
fn what_is_built_runs_and_is_file_by_file_what_it_should_be() {
    let scratch = Scratch::new();
    let ours = Registry::podium(&scratch.path("ours"), &[]).unwrap();
    let files = scratch.path("files");
    fs::create_dir_all(files.join("conf/sub")).unwrap();
    fs::write(files.join("conf/a"), "a").unwrap();
    fs::write(files.join("conf/sub/run"), "#!").unwrap();
    fs::set_permissions(files.join("conf/sub/run"), fs::Permissions::from_mode(0o700)).unwrap();
    std::os::unix::fs::symlink("../a", files.join("conf/sub/link")).unwrap();
    let program = tools::crane().unwrap();
    let name = format!("{}/runs:1", ours.address);
    let (crane_add, conf) = (
        format!("{}:/bin/crane", program.display()),
        format!("{}:/etc/conf:0640:7:8", files.join("conf").display()),
    );
    let args = [
        "image",
        "build",
        "-t",
        &name,
        "-a",
        &crane_add,
        "-a",
        &conf,
        "--entrypoint",
        "/bin/crane",
        "--cmd",
        "version",
        "--user",
        "65532",
        "--push",
    ];
    scratch.podium(&args).unwrap();

    let layout = scratch.text("layout");
    pull(&scratch, "podium", &name, &layout).unwrap();
    let layout = Layout::open(&layout).unwrap();
    let blobs: &dyn Blobs = &layout;
    let (_, manifest) = blobs.image(&layout.find(None).unwrap(), &Platform::here()).unwrap();
    let root = scratch.path("bundle/rootfs");
    fs::create_dir_all(scratch.path("bundle")).unwrap();
    podium_oci::unpack::unpack(blobs, &manifest, &root, Limits::default()).unwrap();

    // The same as crane makes of it, and the same as it should be.
    let theirs = scratch.path("theirs");
    fs::create_dir_all(&theirs).unwrap();
    scratch.crane(&["export", &name, &scratch.text("export.tar")]).unwrap();
    run(Command::new("tar").arg("xpf").arg(scratch.path("export.tar")).arg("-C").arg(&theirs)).unwrap();
    assert_eq!(tree(&root), tree(&theirs));
    let found = tree(&root);
    let of = |path: &str| {
        found.get(path).map(|(mode, uid, gid, content)| (mode & 0o7777, *uid, *gid, content.clone())).unwrap()
    };
    assert_eq!(of("etc/conf/a"), (0o640, 7, 8, b"a".to_vec()));
    assert_eq!(of("etc/conf/sub/run"), (0o640, 7, 8, b"#!".to_vec()));
    assert_eq!(of("etc/conf/sub/link").3, b"../a");
    assert_eq!(of("etc/conf/sub").0, 0o755);
    assert_eq!(of("bin/crane"), (0o755, 0, 0, fs::read(&program).unwrap()));
    assert_eq!(found.len(), 8);

    let config = blobs.config(&manifest).unwrap();
    let spec = json!({
        "ociVersion": "1.0.2",
        "process": {"user": {"uid": 65532, "gid": 65532}, "args": config.command(), "env": ["HOME=/"], "cwd": "/"},
        "root": {"path": "rootfs", "readonly": true},
        "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"}],
        "linux": {"namespaces": [{"type": "pid"}, {"type": "mount"}, {"type": "network"}, {"type": "ipc"}, {"type": "uts"}]},
    });
    fs::write(scratch.path("bundle/config.json"), spec.to_string()).unwrap();
    let id = format!("podium-images-{}", std::process::id());
    let state = scratch.text("runc");
    let said =
        run(Command::new("runc").args(["--root", &state, "run", "--bundle", &scratch.text("bundle"), &id]))
            .unwrap();
    let expected = scratch.crane(&["version"]).unwrap();
    assert_eq!(said, expected);
}

#[test]
#[ignore = "needs podium beside the test"]
fn building_twice_gives_the_same_digest() {
    let digest = |umask: &str, order: bool| {
        let scratch = Scratch::new();
        let files = scratch.path("files");
        let names = if order { ["a", "b", "c"] } else { ["c", "a", "b"] };
        fs::create_dir_all(&files).unwrap();
        for name in names {
            let mode = if umask == "077" { 0o600 } else { 0o664 };
            fs::write(files.join(name), name).unwrap();
            fs::set_permissions(files.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        let add = format!("{}:/x", files.display());
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("umask {umask}; exec \"$0\" \"$@\"")).arg(tools::podium().unwrap());
        command.env("PODIUM_DATA", scratch.path("data")).args(["image", "build", "-a", &add, "-o", "json"]);
        let built: Value = serde_json::from_str(&run(&mut command).unwrap()).unwrap();
        built["digest"].as_str().unwrap().to_owned()
    };
    let first = digest("022", true);
    assert_eq!(first, digest("077", false));
    assert!(first.starts_with("sha256:"));
}
