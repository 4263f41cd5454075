//! Credential helpers and the auth files of Docker and Podman, up to requests to a registry.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{TempDir, image, name, serve};
use podium_oci::registry::Registry;
use podium_oci::registry::htpasswd::Htpasswd;
use podium_oci::registry::store::Store;
use podium_oci::{Client, Credential, Keyring, Layout, Options, no_progress};

/// A home directory with a directory of programs.
struct TestHome(TempDir);

impl TestHome {
    fn new() -> Self {
        let home = Self(TempDir::new());
        fs::create_dir_all(home.0.path("bin")).unwrap();
        home
    }

    /// Installs a helper with the given shell script.
    fn helper(&self, name: &str, program: &str) {
        let path = self.0.path("bin").join(format!("docker-credential-{name}"));
        fs::write(&path, format!("#!/bin/sh\n{program}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn keyring(&self, extra: &[(&str, &Path)]) -> Keyring {
        let variable = |name: &str| match name {
            "HOME" => Some(self.0.path("home").into_os_string()),
            "PATH" => {
                let mut path = self.0.path("bin").into_os_string();
                path.push(":/usr/bin:/bin");
                Some(path)
            }
            _ => extra.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value)),
        };
        Keyring::from_environment(&variable)
    }
}

fn basic(user: &str, password: &str) -> Option<Credential> {
    Some(Credential::Basic(user.to_owned(), password.to_owned()))
}

#[test]
fn helper_credentials_and_missing_entries() {
    let home = TestHome::new();
    // Reads the server from standard input, as the protocol requires.
    home.helper(
        "xyz",
        r#"test "$1" = get || exit 3
read -r server
case "$server" in
  a.example:5000) echo '{"ServerURL":"a.example:5000","Username":"me","Secret":"p:w"}' ;;
  t.example) echo '{"Username":"<token>","Secret":"identity"}' ;;
  https://index.docker.io/v1/) echo '{"Username":"hub","Secret":"x"}' ;;
  *) echo "credentials not found in native keychain"; exit 1 ;;
esac"#,
    );
    home.helper("own", r#"echo '{"Username":"own","Secret":"s"}'"#);
    home.write(
        "home/.docker/config.json",
        // bWU6cGxhaW4= is me:plain
        r#"{"credsStore": "xyz", "credHelpers": {"own.example": "own"},
            "auths": {"a.example:5000": {}, "plain.example": {"auth": "bWU6cGxhaW4="}}}"#,
    );
    let keyring = home.keyring(&[]);
    let find = |registry: &str| keyring.find(registry, "team/app").unwrap();
    assert_eq!(find("a.example:5000"), basic("me", "p:w"));
    assert_eq!(find("t.example"), Some(Credential::IdentityToken("identity".to_owned())));
    assert_eq!(find("docker.io"), basic("hub", "x"));
    assert_eq!(find("own.example"), basic("own", "s"));
    // Falls back to the file when the helper has no credentials.
    assert_eq!(find("plain.example"), basic("me", "plain"));
    assert_eq!(find("none.example"), None);
}

#[test]
fn reports_failing_and_hanging_helpers() {
    let home = TestHome::new();
    home.helper("fails", "echo 'the keychain is locked'; exit 1");
    home.helper("silent", "exit 7");
    home.helper("rubbish", "echo 'hunter2 is not JSON'");
    home.helper("endless", "exec yes");
    home.helper("hangs", "exec sleep 600");
    // The helper exits, but its child keeps the pipe open.
    home.helper("leaves", "sleep 5 &\nexit 0");
    home.helper("lingers", "echo '{}'\nexec >&-\nexec sleep 600");
    home.helper("empty", "echo '{}'");
    for (helper, expected) in [
        ("fails", "docker-credential-fails failed: the keychain is locked"),
        ("silent", "docker-credential-silent failed"),
        ("rubbish", "docker-credential-rubbish failed: its answer is not JSON"),
        ("endless", "docker-credential-endless failed"),
        ("hangs", "docker-credential-hangs failed: it did not end in 1 s"),
        ("leaves", "docker-credential-leaves failed: it did not end in 1 s"),
        ("lingers", "docker-credential-lingers failed: it did not end in 1 s"),
        ("missing", "docker-credential-missing failed: it cannot be started"),
    ] {
        home.write("home/.docker/config.json", &format!(r#"{{"credHelpers": {{"a.example": "{helper}"}}}}"#));
        let keyring = home.keyring(&[]).with_helper_timeout(Duration::from_secs(1));
        let begin = Instant::now();
        let error = keyring.find("a.example", "x").unwrap_err().to_string();
        assert!(error.contains(expected), "{helper}: {error}");
        // Output that may contain secrets is not shown.
        assert!(!error.contains("hunter2") && error.len() < 500, "{helper}: {error}");
        assert!(begin.elapsed() < Duration::from_secs(4), "{helper}");
        assert_eq!(keyring.find("other.example", "x").unwrap(), None);
    }
    home.write("home/.docker/config.json", r#"{"credsStore": "empty"}"#);
    assert_eq!(home.keyring(&[]).find("a.example", "x").unwrap(), None);
}

#[test]
fn helpers_store_and_erase_credentials() {
    let home = TestHome::new();
    let kept = home.0.path("kept");
    home.helper("xyz", &format!("echo \"$1 $(cat)\" >> {}", kept.display()));
    home.write("home/.docker/config.json", r#"{"credsStore": "xyz"}"#);
    let keyring = home.keyring(&[]);
    keyring.store("a.example", "me", "secret").unwrap();
    assert!(keyring.remove("a.example").unwrap());
    let text = fs::read_to_string(kept).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("store {") && lines[0].contains(r#""Secret":"secret""#), "{text}");
    assert_eq!(lines[1], "erase a.example");
    // Only the helper has the secret.
    assert!(!fs::read_to_string(home.0.path("home/.docker/config.json")).unwrap().contains("secret"));
}

#[test]
fn reads_podman_and_registry_auth_file() {
    let home = TestHome::new();
    let entry = |user: &str| {
        // Output of `printf user:pw | base64`.
        let auth = match user {
            "run" => "cnVuOnB3",
            "team" => "dGVhbTpwdw==",
            "config" => "Y29uZmlnOnB3",
            _ => "bmFtZWQ6cHc=",
        };
        format!(r#"{{"auth": "{auth}"}}"#)
    };
    home.write(
        "home/.config/containers/auth.json",
        &format!(r#"{{"auths": {{"c.example": {0}, "h.example": {0}}}}}"#, entry("config")),
    );
    home.write(
        "run/containers/auth.json",
        &format!(r#"{{"auths": {{"h.example": {}, "h.example/team": {}}}}}"#, entry("run"), entry("team")),
    );
    home.write("named.json", &format!(r#"{{"auths": {{"n.example": {}}}}}"#, entry("named")));
    let run = home.0.path("run");
    let keyring = home.keyring(&[("XDG_RUNTIME_DIR", &run)]);
    assert_eq!(keyring.find("h.example", "app").unwrap(), basic("run", "pw"));
    assert_eq!(keyring.find("h.example", "team/app").unwrap(), basic("team", "pw"));
    assert_eq!(keyring.find("c.example", "app").unwrap(), basic("config", "pw"));
    assert_eq!(keyring.find("n.example", "app").unwrap(), None);
    // REGISTRY_AUTH_FILE excludes all other files.
    let named = home.0.path("named.json");
    let keyring = home.keyring(&[("XDG_RUNTIME_DIR", &run), ("REGISTRY_AUTH_FILE", &named)]);
    assert_eq!(keyring.find("n.example", "app").unwrap(), basic("named", "pw"));
    assert_eq!(keyring.find("h.example", "app").unwrap(), None);
    assert_eq!(keyring.auth_file().unwrap(), named);
    // Podman's auth files support helpers too.
    home.helper("xyz", r#"echo '{"Username":"from","Secret":"helper"}'"#);
    home.write("named.json", r#"{"credHelpers": {"n.example": "xyz"}}"#);
    assert_eq!(keyring.find("n.example", "app").unwrap(), basic("from", "helper"));
    home.write("named.json", "no JSON");
    let error = keyring.find("n.example", "app").unwrap_err().to_string();
    assert!(error.contains("named.json"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn helper_runs_once_per_client() {
    let home = TestHome::new();
    let store = Arc::new(Store::open(home.0.path("registry"), false).unwrap());
    // htpasswd -nbB -C 5 me 'pass:word'
    let users = Htpasswd::parse("me:$2y$05$7VXat5jtbqS.RRGmdB/u.OLgQlR9GikrMKGTqvoxIcAV5aLr4R93S").unwrap();
    let address = serve(Registry::new(store).with_htpasswd(users)).await;
    let count = home.0.path("count");
    let program = r#"echo '{"Username":"me","Secret":"pass:word"}'"#;
    home.helper("xyz", &format!("echo >> {}\n{program}", count.display()));
    home.write("home/.docker/config.json", r#"{"credsStore": "xyz"}"#);
    let layout = Layout::create(home.0.path("l")).unwrap();
    let built = image(&layout, 2 << 20);
    let client = Client::new(Options { keyring: home.keyring(&[]), ..Options::default() });
    client.push(&layout, &built, &name(&address, "app:1"), &no_progress()).await.unwrap();
    assert_eq!(fs::read_to_string(&count).unwrap().len(), 1);
    // A failing helper is an error, not a missing credential.
    home.helper("xyz", "echo 'locked'; exit 1");
    let client = Client::new(Options { keyring: home.keyring(&[]), ..Options::default() });
    let error =
        client.push(&layout, &built, &name(&address, "app:2"), &no_progress()).await.unwrap_err().to_string();
    assert!(error.contains("docker-credential-xyz failed: locked"), "{error}");
}
