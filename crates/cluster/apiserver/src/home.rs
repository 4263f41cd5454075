//! The directory of a cluster: its store, its keys, and how clients reach it.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use podium_meta::base64;
use podium_rbac::Key;
use podium_rbac::certificate::{Authority, Issued, Validity};

use crate::clock;

/// How long certificates last: the machine's owner makes new ones by `reset`, and nobody else trusts them.
const YEARS: i64 = 10 * 365 * 86_400;
/// Clocks may differ a little.
const BEFORE: i64 = 3600;

/// Why a directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A key or a certificate is damaged.
    #[error(
        "{path}: {reason}; move it away and start again: new keys are made, and clients need the new kubeconfig"
    )]
    Key {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

/// A directory with the keys of a cluster.
pub struct Home {
    root: PathBuf,
    authority: Authority,
    tokens: Key,
}

impl Home {
    /// Opens a directory, and makes what is missing in it.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self, Error> {
        let root = root.into();
        let keys = root.join("keys");
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&keys)
            .map_err(|source| Error::File { path: keys.clone(), source })?;
        let authority = authority(&keys)?;
        let tokens = tokens(&keys.join("tokens.key"))?;
        Ok(Self { root, authority, tokens })
    }

    /// Where the store is.
    pub fn store(&self) -> PathBuf {
        self.root.join("store")
    }

    /// Where the kubeconfig is.
    pub fn kubeconfig(&self) -> PathBuf {
        self.root.join("kubeconfig")
    }

    /// The certificate that clients trust, PEM.
    pub fn authority(&self) -> String {
        self.authority.own().to_pem()
    }

    /// The key that signs tokens.
    pub fn tokens(&self) -> Result<Key, Error> {
        let path = self.root.join("keys").join("tokens.key");
        Key::from_pem(&self.tokens.to_pem()).map_err(|error| Error::Key { path, reason: error.to_string() })
    }

    /// A certificate for the server under these names.
    pub fn server(&self, hosts: &[&str]) -> Result<Issued, Error> {
        self.authority.server("kube-apiserver", hosts, validity()).map_err(|error| self.wrong(&error))
    }

    /// A certificate for somebody.
    pub fn client(&self, user: &str, groups: &[&str]) -> Result<Issued, Error> {
        self.authority.client(user, groups, validity()).map_err(|error| self.wrong(&error))
    }

    fn wrong(&self, error: &dyn std::fmt::Display) -> Error {
        Error::Key { path: self.root.join("keys"), reason: error.to_string() }
    }

    /// Writes how the administrator reaches the server; nobody else may read it.
    pub fn write_kubeconfig(&self, server: &str) -> Result<PathBuf, Error> {
        let admin = self.client("podium-admin", &["system:masters"])?;
        let encode = |text: &str| base64::encode(text.as_bytes());
        let text = format!(
            "apiVersion: v1\nkind: Config\nclusters:\n- name: podium\n  cluster:\n    server: {server}\n    \
             certificate-authority-data: {}\ncontexts:\n- name: podium\n  context:\n    cluster: podium\n    user: \
             podium-admin\ncurrent-context: podium\nusers:\n- name: podium-admin\n  user:\n    \
             client-certificate-data: {}\n    client-key-data: {}\n",
            encode(&self.authority()),
            encode(&admin.to_pem()),
            encode(&admin.key.to_pem()),
        );
        let path = self.kubeconfig();
        write(&path, &text)?;
        Ok(path)
    }
}

fn validity() -> Validity {
    let now = clock::seconds();
    Validity { from: now - BEFORE, to: now + YEARS }
}

fn authority(keys: &Path) -> Result<Authority, Error> {
    let (certificate, key) = (keys.join("ca.crt"), keys.join("ca.key"));
    if certificate.exists() && key.exists() {
        return Authority::from_pem(&read(&certificate)?, &read(&key)?)
            .map_err(|error| Error::Key { path: certificate, reason: error.to_string() });
    }
    let authority = Authority::generate("podium", validity())
        .map_err(|error| Error::Key { path: key.clone(), reason: error.to_string() })?;
    write(&key, &authority.own().key.to_pem())?;
    write(&certificate, &authority.own().to_pem())?;
    Ok(authority)
}

fn tokens(path: &Path) -> Result<Key, Error> {
    let wrong =
        |error: podium_rbac::key::Error| Error::Key { path: path.to_owned(), reason: error.to_string() };
    if path.exists() {
        return Key::from_pem(&read(path)?).map_err(wrong);
    }
    let key = Key::generate().map_err(wrong)?;
    write(path, &key.to_pem())?;
    Ok(key)
}

fn read(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(|source| Error::File { path: path.to_owned(), source })
}

/// Writes a file whole or not at all, for its owner's eyes only.
fn write(path: &Path, text: &str) -> Result<(), Error> {
    let wrong = |source| Error::File { path: path.to_owned(), source };
    let new = path.with_extension("new");
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&new)
        .map_err(wrong)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(wrong)?;
    fs::rename(&new, path).map_err(wrong)
}
