//! Registry credentials from the auth files of Docker and Podman and from credential helpers.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::credential_helper::CredentialHelpers;
use crate::reference::DEFAULT_REGISTRY;

/// Credentials that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An I/O error.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// The cause.
        source: io::Error,
    },
    /// An auth file is invalid.
    #[error("{path}: {reason}")]
    Invalid {
        /// The file.
        path: String,
        /// What is invalid.
        reason: String,
    },
    /// A credential helper failed.
    #[error("the credential helper docker-credential-{name} failed: {reason}")]
    Helper {
        /// The helper.
        name: String,
        /// Its message.
        reason: String,
    },
    /// There is no auth file to write to.
    #[error("there is no auth file for credentials: set HOME, DOCKER_CONFIG or REGISTRY_AUTH_FILE")]
    NoAuthFile,
}

const MAX_FILE: u64 = 4 << 20;

/// A registry credential.
#[derive(Clone, PartialEq, Eq)]
pub enum Credential {
    /// User name and password.
    Basic(String, String),
    /// Identity token, exchanged for bearer tokens.
    IdentityToken(String),
    /// Registry token, sent as bearer token.
    Bearer(String),
}

impl std::fmt::Debug for Credential {
    /// Omits secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Basic(..) => "Basic(…)",
            Self::IdentityToken(_) => "IdentityToken(…)",
            Self::Bearer(_) => "Bearer(…)",
        })
    }
}

/// The sources of credentials.
#[derive(Clone, Debug, Default)]
pub struct Keyring {
    /// Auth files in lookup order.
    files: Vec<PathBuf>,
    /// The auth file for new credentials.
    auth_file: Option<PathBuf>,
    /// Credential of one registry that takes precedence over all files.
    override_credential: Option<(String, Credential)>,
    helpers: CredentialHelpers,
}

impl Keyring {
    /// The auth files of Docker and Podman in Podman's order: only `REGISTRY_AUTH_FILE` if set; otherwise Podman's
    /// runtime and config directories, then Docker's.
    pub fn from_environment(variable: &dyn Fn(&str) -> Option<OsString>) -> Self {
        let path = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let helpers = CredentialHelpers { path: variable("PATH"), ..CredentialHelpers::default() };
        if let Some(file) = path("REGISTRY_AUTH_FILE") {
            return Self {
                files: vec![file.clone()],
                auth_file: Some(file),
                override_credential: None,
                helpers,
            };
        }
        let home = path("HOME");
        let docker = path("DOCKER_CONFIG").or_else(|| Some(home.as_ref()?.join(".docker")));
        let docker = docker.map(|directory| directory.join("config.json"));
        let config = path("XDG_CONFIG_HOME").or_else(|| Some(home.as_ref()?.join(".config")));
        let podman = [path("XDG_RUNTIME_DIR"), config].into_iter().flatten();
        let podman = podman.map(|directory| directory.join("containers/auth.json"));
        let files = podman.chain(docker.clone()).chain(home.map(|home| home.join(".dockercfg"))).collect();
        Self { files, auth_file: docker, override_credential: None, helpers }
    }

    /// Uses a single auth file.
    pub fn from_file(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self { files: vec![path.clone()], auth_file: Some(path), ..Self::default() }
    }

    /// Sets the timeout of credential helpers; two minutes by default.
    pub fn with_helper_timeout(mut self, timeout: Duration) -> Self {
        self.helpers.timeout = timeout;
        self
    }

    /// Sets the credential of a registry host, with precedence over auth files.
    pub fn with_credential(mut self, registry: &str, credential: Credential) -> Self {
        self.override_credential = Some((registry.to_owned(), credential));
        self
    }

    /// Finds the credential for a repository. May run a credential helper and block.
    pub fn find(&self, registry: &str, repository: &str) -> Result<Option<Credential>, Error> {
        if let Some((_, credential)) = self.override_credential.as_ref().filter(|(host, _)| host == registry)
        {
            return Ok(Some(credential.clone()));
        }
        for file in &self.files {
            let Some(value) = read_auth_file(file)? else { continue };
            let legacy = file.ends_with(".dockercfg");
            let auths = AuthFile { path: file, value: &value, legacy, helpers: &self.helpers };
            if let Some(found) = auths.find(registry, repository)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The file written by [`Keyring::store`].
    pub fn auth_file(&self) -> Option<&Path> {
        self.auth_file.as_deref()
    }

    /// Stores a credential in the auth file or its credential helper.
    pub fn store(&self, registry: &str, user: &str, password: &str) -> Result<(), Error> {
        let path = self.auth_file.as_deref().ok_or(Error::NoAuthFile)?;
        let mut value = read_auth_file(path)?.unwrap_or_else(|| json!({}));
        if let Some(helper) = helper_for(&value, registry) {
            let request = json!({ "ServerURL": server_url(registry), "Username": user, "Secret": password });
            self.helpers.run(&helper, "store", request.to_string().as_bytes())?;
            return Ok(());
        }
        let auth = STANDARD.encode(format!("{user}:{password}"));
        update_auths(path, &mut value, |auths| {
            auths.insert(server_url(registry), json!({ "auth": auth }));
        })
    }

    /// Removes a credential; returns whether it existed.
    pub fn remove(&self, registry: &str) -> Result<bool, Error> {
        let path = self.auth_file.as_deref().ok_or(Error::NoAuthFile)?;
        let Some(mut value) = read_auth_file(path)? else { return Ok(false) };
        if let Some(helper) = helper_for(&value, registry) {
            return Ok(self.helpers.run(&helper, "erase", server_url(registry).as_bytes())?.is_some());
        }
        let mut found = false;
        let existing = value.get("auths").and_then(Value::as_object);
        if !existing.is_some_and(|auths| auths.keys().any(|name| entry_host(name) == registry)) {
            return Ok(false);
        }
        update_auths(path, &mut value, |auths| {
            let before = auths.len();
            auths.retain(|name, _| entry_host(name) != registry);
            found = auths.len() < before;
        })?;
        Ok(found)
    }
}

/// The key of a registry in Docker's auth files.
fn server_url(registry: &str) -> String {
    if registry == DEFAULT_REGISTRY { "https://index.docker.io/v1/".to_owned() } else { registry.to_owned() }
}

/// The host of an entry; some keys are URLs.
fn entry_host(name: &str) -> &str {
    let rest = name.strip_prefix("https://").or_else(|| name.strip_prefix("http://")).unwrap_or(name);
    let host = rest.split('/').next().unwrap_or_default();
    if matches!(host, "index.docker.io" | "registry-1.docker.io") { DEFAULT_REGISTRY } else { host }
}

/// The repository path of an entry; Podman supports entries per repository.
fn entry_path(name: &str) -> &str {
    if name.starts_with("https://") || name.starts_with("http://") {
        return "";
    }
    let path = name.split_once('/').map_or("", |(_, path)| path);
    // API version paths apply to the whole host.
    if matches!(path.trim_end_matches('/'), "v1" | "v2") { "" } else { path.trim_end_matches('/') }
}

struct AuthFile<'f> {
    path: &'f Path,
    value: &'f Value,
    legacy: bool,
    helpers: &'f CredentialHelpers,
}

impl AuthFile<'_> {
    fn find(&self, registry: &str, repository: &str) -> Result<Option<Credential>, Error> {
        if let Some(helper) = helper_for(self.value, registry)
            && let Some(found) = credential_from_helper(self.helpers, &helper, registry)?
        {
            return Ok(Some(found));
        }
        let auths = if self.legacy { Some(self.value) } else { self.value.get("auths") };
        let Some(auths) = auths.and_then(Value::as_object) else { return Ok(None) };
        let path_matches = |path: &str| {
            let rest = repository.strip_prefix(path);
            path.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let mut longest: Option<(&str, &Value)> = None;
        for (name, entry) in auths {
            let path = entry_path(name);
            let matches = entry_host(name) == registry && path_matches(path);
            if matches && longest.is_none_or(|(other, _)| path.len() > other.len()) {
                longest = Some((path, entry));
            }
        }
        match longest {
            Some((_, entry)) => self.parse_entry(registry, entry),
            None => Ok(None),
        }
    }

    fn parse_entry(&self, registry: &str, entry: &Value) -> Result<Option<Credential>, Error> {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        if let Some(token) = text("registrytoken") {
            return Ok(Some(Credential::Bearer(token.to_owned())));
        }
        if let Some(token) = text("identitytoken") {
            return Ok(Some(Credential::IdentityToken(token.to_owned())));
        }
        if let (Some(user), Some(password)) = (text("username"), text("password")) {
            return Ok(Some(Credential::Basic(user.to_owned(), password.to_owned())));
        }
        let Some(auth) = text("auth") else { return Ok(None) };
        let invalid = || Error::Invalid {
            path: self.path.display().to_string(),
            reason: format!("the auth of {registry} is not base64 of USER:PASSWORD"),
        };
        let decoded = STANDARD.decode(auth.trim()).map_err(|_| invalid())?;
        let decoded = String::from_utf8(decoded).map_err(|_| invalid())?;
        let (user, password) = decoded.split_once(':').ok_or_else(invalid)?;
        // Docker pads passwords with NUL bytes.
        Ok(Some(Credential::Basic(user.to_owned(), password.trim_end_matches('\0').to_owned())))
    }
}

/// Finds a credential in the content of an auth file; for tests and fuzzing.
pub fn find_in_auth_file(data: &[u8], registry: &str, repository: &str) -> Result<Option<Credential>, Error> {
    let path = Path::new("auth.json");
    let value: Value = serde_json::from_slice(data).map_err(|e| invalid_file(path, e))?;
    // Do not run helpers.
    let mut value = value;
    if let Some(map) = value.as_object_mut() {
        map.remove("credsStore");
        map.remove("credHelpers");
    }
    AuthFile { path, value: &value, legacy: false, helpers: &CredentialHelpers::default() }
        .find(registry, repository)
}

fn invalid_file(path: &Path, reason: impl std::fmt::Display) -> Error {
    Error::Invalid { path: path.display().to_string(), reason: reason.to_string() }
}

fn read_auth_file(path: &Path) -> Result<Option<Value>, Error> {
    let failed = |source| Error::Io { path: path.display().to_string(), source };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(e) => return Err(failed(e)),
    };
    let mut data = Vec::new();
    if file.take(MAX_FILE + 1).read_to_end(&mut data).map_err(failed)? as u64 > MAX_FILE {
        return Err(invalid_file(path, "it is larger than 4 MiB"));
    }
    if data.iter().all(u8::is_ascii_whitespace) {
        return Ok(None);
    }
    let value: Value = serde_json::from_slice(&data).map_err(|e| invalid_file(path, e))?;
    if value.is_object() { Ok(Some(value)) } else { Err(invalid_file(path, "it is not a JSON object")) }
}

fn update_auths(
    path: &Path,
    value: &mut Value,
    edit: impl FnOnce(&mut Map<String, Value>),
) -> Result<(), Error> {
    let failed = |source| Error::Io { path: path.display().to_string(), source };
    let map = value.as_object_mut().ok_or_else(|| invalid_file(path, "it is not a JSON object"))?;
    let mut auths = match map.remove("auths") {
        Some(Value::Object(auths)) => auths,
        _ => Map::new(),
    };
    edit(&mut auths);
    map.insert("auths".to_owned(), Value::Object(auths));
    let directory = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory).map_err(failed)?;
    let temporary = directory.join(format!(".{}.new", crate::disk::random_name().map_err(failed)?));
    let write = || {
        use std::os::unix::fs::OpenOptionsExt;
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
        file.write_all(format!("{value:#}\n").as_bytes())?;
        file.sync_all()?;
        // Write through a symlink to the auth file.
        fs::rename(&temporary, fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()))
    };
    write().map_err(|source| {
        let _ = fs::remove_file(&temporary);
        failed(source)
    })
}

fn helper_for(value: &Value, registry: &str) -> Option<String> {
    let helpers = value.get("credHelpers").and_then(Value::as_object);
    let registry_helper = helpers.and_then(|map| map.iter().find(|(name, _)| entry_host(name) == registry));
    let registry_helper = registry_helper.and_then(|(_, helper)| helper.as_str());
    let name =
        registry_helper.or_else(|| value.get("credsStore")?.as_str()).filter(|name| !name.is_empty())?;
    // The name becomes part of a program name and must not contain a path.
    let valid = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    valid.then(|| name.to_owned())
}

fn credential_from_helper(
    helpers: &CredentialHelpers,
    helper: &str,
    registry: &str,
) -> Result<Option<Credential>, Error> {
    let Some(output) = helpers.run(helper, "get", server_url(registry).as_bytes())? else { return Ok(None) };
    let invalid = |reason: &str| Error::Helper { name: helper.to_owned(), reason: reason.to_owned() };
    let value: Value = serde_json::from_slice(&output).map_err(|_| invalid("its answer is not JSON"))?;
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (user, secret) = (text("Username"), text("Secret"));
    Ok(match (user.as_str(), secret.is_empty()) {
        (_, true) => None,
        ("<token>", _) => Some(Credential::IdentityToken(secret)),
        _ => Some(Credential::Basic(user, secret)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_util::TempDir;

    fn basic(user: &str) -> Option<Credential> {
        Some(Credential::Basic(user.to_owned(), "p:w".to_owned()))
    }

    fn auth(user: &str) -> String {
        STANDARD.encode(format!("{user}:p:w"))
    }

    #[test]
    fn longest_matching_entry_wins() {
        let text = json!({"auths": {
            "host.example": {"auth": auth("host")}, "host.example/team": {"auth": auth("team")},
            "host.example/team/app": {"auth": auth("app")}, "https://old.example/v1/": {"auth": auth("old")},
            "https://index.docker.io/v1/": {"auth": auth("hub")}, "t.example": {"identitytoken": "t"},
            "host.example.evil": {"auth": auth("evil")}, "empty.example": {}, "bad.example": {"auth": "!"},
        }})
        .to_string();
        let find = |registry: &str, repository: &str| {
            find_in_auth_file(text.as_bytes(), registry, repository).unwrap()
        };
        assert_eq!(find("host.example", "x"), basic("host"));
        assert_eq!(find("host.example", "team/other"), basic("team"));
        assert_eq!(find("host.example", "team/app"), basic("app"));
        assert_eq!(find("host.example", "teamster"), basic("host"));
        assert_eq!(find("old.example", "x"), basic("old"));
        assert_eq!(find("docker.io", "library/x"), basic("hub"));
        assert_eq!(find("t.example", "x"), Some(Credential::IdentityToken("t".to_owned())));
        for host in ["example", "host.example:5000", "ost.example", "empty.example", ""] {
            assert_eq!(find(host, "x"), None, "{host}");
        }
        assert!(find_in_auth_file(text.as_bytes(), "bad.example", "x").is_err());
        assert!(
            find_in_auth_file(b"[", "x", "y").is_err()
                && find_in_auth_file(b"[]", "x", "y").unwrap().is_none()
        );
        assert!(!format!("{:?}", basic("secret")).contains("p:w"));
    }

    #[test]
    fn auth_files_follow_podman_order_and_are_updated_in_place() {
        let scratch = TempDir::new();
        let (home, run) = (scratch.path("home"), scratch.path("run"));
        let write = |path: &Path, user: &str, host: &str| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, json!({"auths": {host: {"auth": auth(user)}}, "other": 1}).to_string()).unwrap();
        };
        write(&home.join(".docker/config.json"), "docker", "h.example");
        let variable = |name: &str| match name {
            "HOME" => Some(home.clone().into_os_string()),
            "XDG_RUNTIME_DIR" => Some(run.clone().into_os_string()),
            _ => None,
        };
        let keyring = Keyring::from_environment(&variable);
        assert_eq!(keyring.find("h.example", "x").unwrap(), basic("docker"));
        write(&run.join("containers/auth.json"), "podman", "h.example");
        assert_eq!(keyring.find("h.example", "x").unwrap(), basic("podman"));
        let override_credential =
            keyring.clone().with_credential("h.example", Credential::Bearer("b".to_owned()));
        assert_eq!(
            override_credential.find("h.example", "x").unwrap(),
            Some(Credential::Bearer("b".to_owned()))
        );
        assert_eq!(override_credential.find("other.example", "x").unwrap(), None);

        keyring.store("new.example:5000", "me", "p:w").unwrap();
        keyring.store("docker.io", "hub", "p:w").unwrap();
        assert_eq!(keyring.find("new.example:5000", "x").unwrap(), basic("me"));
        assert_eq!(keyring.find("docker.io", "x").unwrap(), basic("hub"));
        let text = fs::read_to_string(home.join(".docker/config.json")).unwrap();
        assert!(
            text.contains("\"other\": 1")
                && text.contains("h.example")
                && text.contains("index.docker.io/v1/")
        );
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(
            fs::metadata(home.join(".docker/config.json")).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert!(keyring.remove("new.example:5000").unwrap() && !keyring.remove("new.example:5000").unwrap());
        assert_eq!(keyring.find("new.example:5000", "x").unwrap(), None);
        assert!(Keyring::default().store("x", "y", "z").is_err());
    }

    #[test]
    fn rejects_helper_names_with_paths() {
        let value = json!({"credsStore": "../../evil", "credHelpers": {"a.example": "ecr-login", "b.example": "x/y"}});
        assert_eq!(helper_for(&value, "a.example").unwrap(), "ecr-login");
        assert_eq!(helper_for(&value, "b.example"), None);
        assert_eq!(helper_for(&value, "c.example"), None);
    }
}
