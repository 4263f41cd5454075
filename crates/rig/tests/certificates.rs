//! Certificates beside helm: servers that ask for one, and servers that have signed their own.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use podium_rig::registries::{Error, Registry, podium, run};
use podium_rig::request::Dialect;
use podium_rig::tools;

#[derive(Clone, Copy)]
enum Who {
    Podium,
    Helm,
}

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("podium-certificates-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("home")).unwrap();
        let scratch = Self(path);
        scratch.certificates();
        scratch
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// `ca`, what it has signed for a server (`tls`) and for us (`own`), and `self`, which is its own authority.
    fn certificates(&self) {
        let openssl = |args: &str| {
            run(Command::new("openssl").args(args.split(' ')).current_dir(&self.0)).unwrap();
        };
        let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
        fs::write(self.path("san"), "subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n").unwrap();
        openssl(&format!("req -x509 {key} -keyout ca.key -out ca.crt -days 2 -subj /CN=ca"));
        for name in ["tls", "own"] {
            openssl(&format!("req {key} -keyout {name}.key -out {name}.csr -subj /CN={name}"));
            openssl(&format!(
                "x509 -req -in {name}.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile san -out {name}.crt"
            ));
        }
        openssl(&format!(
            "req -x509 {key} -keyout self.key -out self.crt -days 2 -subj /CN=self -addext subjectAltName=IP:127.0.0.1"
        ));
    }

    fn podium(&self, args: &[&str]) -> Result<String, Error> {
        run(podium(&self.path("home"))?.args(args))
    }

    /// A command about charts, of ours or of helm.
    fn chart_command(&self, who: Who, args: &[&str]) -> Result<String, Error> {
        match who {
            Who::Podium => self.podium(&[&["chart"], args].concat()),
            Who::Helm => {
                let helm = tools::helm(Dialect::Helm4)?;
                run(tools::quiet_command(&helm).env("HOME", self.path("home")).args(args))
            }
        }
    }

    /// A chart's archive in a folder.
    fn chart(&self, folder: &Path) -> String {
        fs::create_dir_all(folder).unwrap();
        fs::create_dir_all(self.path("demo")).unwrap();
        fs::write(self.path("demo/Chart.yaml"), "apiVersion: v2\nname: demo\nversion: 0.1.0\n").unwrap();
        let to = folder.display().to_string();
        self.podium(&["chart", "package", &self.text("demo"), "-d", &to]).unwrap();
        format!("{to}/demo-0.1.0.tgz")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
#[ignore = "needs docker-registry, openssl and helm (make tools)"]
fn registries_that_ask_for_a_certificate_get_it() {
    let scratch = Scratch::new("registry");
    let registry = Registry::docker_for_known(&scratch.path("docker"), &scratch.path("")).unwrap();
    let (ca, own, key) = (scratch.text("ca.crt"), scratch.text("own.crt"), scratch.text("own.key"));
    let flags = ["--ca-file", &ca, "--cert-file", &own, "--key-file", &key];
    let archive = scratch.chart(&scratch.path("charts"));
    let to = format!("oci://{}/charts", registry.address);
    // Whether its reason arrives before the connection ends is chance.
    for _ in 0..20 {
        let error =
            scratch.podium(&["chart", "push", &archive, &to, "--ca-file", &ca]).unwrap_err().to_string();
        assert!(error.contains("--cert-file and --key-file"), "{error}");
    }
    scratch.podium(&[&["chart", "push", &archive, &to], &flags[..]].concat()).unwrap();
    let chart = format!("{to}/demo");
    let show = [&["show", "chart", &chart, "--version", "0.1.0"], &flags[..]].concat();
    let shown = |who| scratch.chart_command(who, &show).unwrap();
    assert_eq!(shown(Who::Podium), shown(Who::Helm));
    // Images are asked for in the same way, and a name and password are shown over the same connection.
    let name = format!("{}/charts/demo:0.1.0", registry.address);
    let inspect = |flags: &[&str]| scratch.podium(&[&["image", "inspect", &name, "--raw"], flags].concat());
    assert!(inspect(&flags).unwrap().contains("vnd.cncf.helm"));
    assert!(inspect(&flags[..2]).is_err());
    let login = ["registry", "login", &registry.address, "-u", "me", "-p", "x"];
    scratch.podium(&[&login, &flags[..]].concat()).unwrap();
    assert!(scratch.podium(&[&login, &flags[..2]].concat()).is_err());
    // What does not belong together is said before anybody is asked.
    let wrong = scratch.text("tls.key");
    for (flags, words) in [
        (&["--cert-file", &own][..], "--key-file"),
        (&["--key-file", &key], "--cert-file"),
        (&["--cert-file", &own, "--key-file", &wrong], "the key does not match the certificate"),
        (&["--cert-file", &key, "--key-file", &key], "no PEM certificate found"),
        (&["--cert-file", &own, "--key-file", &own], "no unencrypted PEM private key"),
        (&["--cert-file", "/nonexistent", "--key-file", &key], "/nonexistent"),
    ] {
        let error = inspect(flags).unwrap_err().to_string();
        assert!(error.contains(words), "{flags:?}: {error}");
    }
}

#[test]
#[ignore = "needs openssl and helm (make tools)"]
fn repositories_that_ask_for_a_certificate_get_it() {
    let scratch = Scratch::new("repository");
    let files = scratch.path("files");
    scratch.chart(&files);
    scratch.podium(&["chart", "repo", "index", &files.display().to_string()]).unwrap();
    let server = Registry::files(&files, &scratch.path(""), "tls", true).unwrap();
    let url = format!("https://{}", server.address);
    let (ca, own, key) = (scratch.text("ca.crt"), scratch.text("own.crt"), scratch.text("own.key"));
    let show = |who: Who, flags: &[&str]| {
        let all = [&["show", "chart", "demo", "--repo", &url, "--ca-file", &ca], flags].concat();
        scratch.chart_command(who, &all)
    };
    let known = ["--cert-file", own.as_str(), "--key-file", &key];
    assert_eq!(show(Who::Podium, &known).unwrap(), show(Who::Helm, &known).unwrap());
    assert!(show(Who::Helm, &[]).is_err());
    let error = show(Who::Podium, &[]).unwrap_err().to_string();
    assert!(error.contains("--cert-file and --key-file"), "{error}");
    // A repository with a name has its own.
    let list = scratch.text("repositories.yaml");
    fs::write(
        &list,
        format!(
            "repositories:\n- {{name: known, url: \"{url}\", caFile: {ca}, certFile: {own}, keyFile: {key}}}\n"
        ),
    )
    .unwrap();
    fs::create_dir_all(scratch.path("cache")).unwrap();
    fs::copy(files.join("index.yaml"), scratch.path("cache/known-index.yaml")).unwrap();
    let places = ["--repository-config", &list, "--repository-cache", &scratch.text("cache")];
    let show = [&["show", "chart", "known/demo"], &places[..]].concat();
    let shown = |who| scratch.chart_command(who, &show).unwrap();
    assert_eq!(shown(Who::Podium), shown(Who::Helm));
}

#[test]
#[ignore = "needs openssl and helm (make tools)"]
fn a_certificate_that_is_its_own_authority_is_believed_when_it_is_given() {
    let scratch = Scratch::new("self");
    let files = scratch.path("files");
    scratch.chart(&files);
    scratch.podium(&["chart", "repo", "index", &files.display().to_string()]).unwrap();
    let server = Registry::files(&files, &scratch.path(""), "self", false).unwrap();
    let show = |who: Who, host: &str, flags: &[&str]| {
        let url = format!("https://{}", server.address.replace("127.0.0.1", host));
        scratch.chart_command(who, &[&["show", "chart", "demo", "--repo", &url], flags].concat())
    };
    let given = ["--ca-file", &scratch.text("self.crt")];
    assert_eq!(
        show(Who::Podium, "127.0.0.1", &given).unwrap(),
        show(Who::Helm, "127.0.0.1", &given).unwrap()
    );
    // For another name it is not, and another certificate does not vouch for it.
    assert!(show(Who::Helm, "localhost", &given).is_err());
    let error = show(Who::Podium, "localhost", &given).unwrap_err().to_string();
    assert!(error.contains("certificate"), "{error}");
    for other in [&["--ca-file", &scratch.text("ca.crt")][..], &[]] {
        assert!(show(Who::Helm, "127.0.0.1", other).is_err());
        let error = show(Who::Podium, "127.0.0.1", other).unwrap_err().to_string();
        assert!(error.contains("trust it with --ca-file"), "{error}");
    }
}
