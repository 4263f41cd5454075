//! Images beside the originals: crane and skopeo push to and pull from our registry and Debian's docker-registry, and so
//! do we; transfers that break off go on; what we build runs under runc.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use podium_oci::archive::Archive;
use podium_oci::files::ExtractLimits;
use podium_oci::{BlobSource, Descriptor, Layout, Platform};
use podium_rig::registries::{Error, Registry, crane, cutting, podium, proxy, run, skopeo};
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
    assert!(error.contains("Content-Length is"), "{error}");
}

/// `tls.crt` and `tls.key` of a registry, and `ca.crt` of who has signed it.
fn certificate(scratch: &Scratch, names: &str) {
    let openssl = |args: &str| {
        run(Command::new("openssl").args(args.split(' ')).current_dir(scratch.path(""))).unwrap();
    };
    fs::write(scratch.path("san"), format!("subjectAltName={names}\nbasicConstraints=CA:FALSE\n")).unwrap();
    openssl(
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.crt -days 2 -subj /CN=ca",
    );
    openssl(
        "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout tls.key -out tls.csr -subj /CN=registry",
    );
    openssl(
        "x509 -req -in tls.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile san -out tls.crt",
    );
}

#[test]
#[ignore = "needs crane, skopeo and docker-registry (make tools)"]
fn passwords_and_certificates() {
    let scratch = Scratch::new();
    // htpasswd -nbB -C 5 me 'pass:word'
    fs::write(scratch.path("users"), "me:$2y$05$7VXat5jtbqS.RRGmdB/u.OLgQlR9GikrMKGTqvoxIcAV5aLr4R93S\n")
        .unwrap();
    certificate(&scratch, "IP:127.0.0.1");
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
    let blobs: &dyn BlobSource = &layout;
    let (_, manifest) = blobs.select_image(&layout.find(None).unwrap(), &Platform::host()).unwrap();
    let root = scratch.path("bundle/rootfs");
    fs::create_dir_all(scratch.path("bundle")).unwrap();
    podium_oci::unpack::unpack(blobs, &manifest, &root, ExtractLimits::default()).unwrap();

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

#[test]
#[ignore = "needs podium beside the test, and openssl"]
fn proxies_are_gone_through_with_and_without_tls() {
    let scratch = Scratch::new();
    certificate(&scratch, "DNS:registry.invalid");
    let (cert, key, ca) = (scratch.text("tls.crt"), scratch.text("tls.key"), scratch.text("ca.crt"));
    let tls = Registry::podium(&scratch.path("tls"), &["--tls-cert", &cert, "--tls-key", &key]).unwrap();
    let plain = Registry::podium(&scratch.path("plain"), &[]).unwrap();
    let layout = layout(&scratch, 3 << 20, "image");
    let (source, name) = (format!("oci:{layout}:1"), "registry.invalid:5000/team/app:1");
    let through = |variables: &[(&str, &str)], args: &[&str]| {
        run(podium(&scratch.home())
            .unwrap()
            .envs(variables.iter().copied())
            .args(["image", "copy"])
            .args(args))
    };
    for (variable, registry, flags) in
        [("HTTPS_PROXY", &tls, ["--ca-file", &ca]), ("http_proxy", &plain, ["--plain-http", "--jobs=2"])]
    {
        let (address, heads) = proxy(&registry.address).unwrap();
        let at = format!("http://me:pw@{address}");
        through(&[(variable, &at)], &[&[source.as_str(), name], &flags[..]].concat()).unwrap();
        let back = scratch.text(&format!("back-{variable}"));
        let to = format!("oci:{back}:1");
        through(&[(variable, &at)], &[&[name, &to], &flags[..]].concat()).unwrap();
        assert_eq!(blobs(Path::new(&back)), blobs(Path::new(&layout)));
        let heads = std::mem::take(&mut *heads.lock().unwrap());
        let begin = match variable {
            "HTTPS_PROXY" => "CONNECT registry.invalid:5000 HTTP/1.1",
            _ => "GET http://registry.invalid:5000/v2/",
        };
        assert!(heads.iter().any(|head| head.starts_with(begin)), "{heads:?}");
        // The proxy is shown who we are.
        assert!(heads.iter().all(|head| head.to_lowercase().contains("proxy-authorization: basic bwu6chc=")));
        // Who is not behind the proxy is not looked for there; nobody else knows this name.
        let without = [(variable, at.as_str()), ("NO_PROXY", "other.example,registry.invalid")];
        let error = through(&without, &[&[source.as_str(), name], &flags[..]].concat()).unwrap_err();
        assert!(error.to_string().contains("registry.invalid:5000 cannot be reached"), "{error}");
        // A proxy that is not there is named.
        let gone = [(variable, "http://127.0.0.1:1")];
        let error = through(&gone, &[&[source.as_str(), name], &flags[..]].concat()).unwrap_err();
        assert!(error.to_string().contains("through the proxy http://127.0.0.1:1"), "{error}");
    }
}

/// The image in something, unpacked; and its configuration.
fn unpacked(blobs: &dyn BlobSource, image: &Descriptor, to: &Path) -> Value {
    let (_, manifest) = blobs.select_image(image, &Platform::host()).unwrap();
    podium_oci::unpack::unpack(blobs, &manifest, to, ExtractLimits::default()).unwrap();
    let config = blobs.read(&manifest.config, 1 << 20).unwrap();
    serde_json::from_slice::<Value>(&config).unwrap()["config"].clone()
}

#[test]
#[ignore = "needs skopeo (make tools)"]
fn layers_that_others_compress_with_zstd_are_read() {
    let scratch = Scratch::new();
    let layout = layout(&scratch, 3 << 20, "image");
    let zstd = scratch.text("zstd");
    scratch
        .skopeo(&[
            "copy",
            "--dest-compress-format",
            "zstd",
            "--dest-compress",
            &format!("oci:{layout}:1"),
            &format!("dir:{zstd}"),
        ])
        .unwrap();
    let manifest: Value =
        serde_json::from_str(&fs::read_to_string(scratch.path("zstd/manifest.json")).unwrap()).unwrap();
    let kinds: Vec<&str> =
        manifest["layers"].as_array().unwrap().iter().map(|l| l["mediaType"].as_str().unwrap()).collect();
    assert!(kinds.iter().all(|kind| kind.ends_with("tar+zstd")), "{kinds:?}");
    scratch
        .skopeo(&[
            "copy",
            "--preserve-digests",
            &format!("dir:{zstd}"),
            &format!("oci:{}:1", scratch.text("theirs")),
        ])
        .unwrap();
    let trees = [layout, scratch.text("theirs")].map(|layout| {
        let (layout, to) = (Layout::open(&layout).unwrap(), scratch.path("tree"));
        let _ = fs::remove_dir_all(&to);
        unpacked(&layout, &layout.find(None).unwrap(), &to);
        tree(&to)
    });
    assert_eq!(trees[0].len(), 6);
    assert_eq!(trees[0], trees[1]);
}

#[test]
#[ignore = "needs buildah, and to be root (make tools)"]
fn the_dockerfiles_of_the_stack_build_what_make_pushes() {
    let scratch = Scratch::new();
    let ours = Registry::podium(&scratch.path("ours"), &[]).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../stacks/inference");
    let stack = scratch.path("stack");
    run(Command::new("cp").arg("-R").arg(&root).arg(&stack)).unwrap();
    // What runs in the image is not looked at here.
    fs::write(stack.join("podium"), noise(100_000)).unwrap();
    let program = tools::podium().unwrap().display().to_string();
    let base = format!("{}/operator", ours.address);
    let make = |words: &[&str]| {
        let mut command = Command::new("make");
        command.env_remove("MAKEFLAGS").env_remove("MAKELEVEL").current_dir(&stack).args(words);
        command.env("PODIUM_DATA", scratch.path("data")).args([
            format!("PODIUM={program}"),
            "PROGRAM=podium".to_owned(),
            format!("IMAGE_TAG_BASE={base}"),
        ]);
        run(&mut command).unwrap();
    };
    make(&["bundle-build-push", "VERSION=0.1.0", "CRD_VERSION=v1alpha1"]);
    make(&["bundle-build-push", "catalog-check", "catalog-build-push"]);

    for (name, file, context) in [
        ("operator:1.0.0", "operator.Dockerfile", "."),
        ("operator-bundle:1.0.0", "build/1.0.0/bundle.Dockerfile", "build/1.0.0"),
        ("operator-catalog:1.0.0", "catalog.Dockerfile", "."),
    ] {
        let archive = scratch.path(&format!("{}.tar", name.replace(':', "-")));
        let mut buildah = Command::new("buildah");
        buildah.current_dir(&stack).args(["--storage-driver", "vfs"]);
        buildah.arg("--root").arg(scratch.path("storage")).arg("--runroot").arg(scratch.path("running"));
        buildah.args(["bud", "--isolation", "chroot", "--build-arg", "PROJECT=build/1.0.0/project"]);
        buildah.args(["-f", file, "-t", &format!("oci-archive:{}", archive.display()), context]);
        run(&mut buildah).unwrap();
        let theirs = Archive::open(&archive, &std::env::temp_dir()).unwrap();
        let to = scratch.text(&format!("{}-layout", name.replace(':', "-")));
        pull(&scratch, "podium", &format!("{}/{name}", ours.address), &to).unwrap();
        let own = Layout::open(&to).unwrap();
        let places = ["own", "theirs"].map(|who| scratch.path(&format!("{who}-{}", name.replace(':', "-"))));
        let configs = [
            unpacked(&own, &own.find(None).unwrap(), &places[0]),
            unpacked(&theirs, &theirs.find(None).unwrap(), &places[1]),
        ];
        let [own, theirs] = places.map(|place| tree(&place));
        let paths =
            |tree: &BTreeMap<String, (u32, u32, u32, Vec<u8>)>| tree.keys().cloned().collect::<Vec<_>>();
        assert_eq!(paths(&own), paths(&theirs), "{name}");
        for (path, file) in &own {
            assert!(file == &theirs[path], "{name}: {path} has {:o} and {:o}", file.0, theirs[path].0);
        }
        for key in ["Entrypoint", "Cmd", "User", "WorkingDir"] {
            assert_eq!(configs[0][key], configs[1][key], "{name}: {key}");
        }
        let labels = configs.map(|config| {
            let mut labels = config["Labels"].as_object().cloned().unwrap_or_default();
            labels.remove("io.buildah.version");
            labels
        });
        assert_eq!(labels[0], labels[1], "{name}");
    }
}
