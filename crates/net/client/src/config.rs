//! Which cluster, and as whom: the kubeconfig, what overrides it, and the service account of a pod.

use std::path::PathBuf;

use kube::config::{InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError};

use crate::root_cause::root_cause;

/// What the user said about the cluster; everything else is in the kubeconfig.
#[derive(Clone, Debug, Default)]
pub struct ClientConfig {
    /// A kubeconfig instead of those of `KUBECONFIG` and `~/.kube/config`.
    pub kubeconfig: Option<PathBuf>,
    /// A context instead of the current one.
    pub context: Option<String>,
    /// The url of the server.
    pub server: Option<String>,
    /// A bearer token.
    pub token: Option<String>,
    /// The user to act as.
    pub as_user: Option<String>,
    /// The groups to act as.
    pub as_groups: Vec<String>,
    /// A file with the certificates that the server's is signed by.
    pub ca_file: Option<PathBuf>,
    /// The name that the server's certificate has to be for.
    pub tls_server_name: Option<String>,
    /// Takes any certificate.
    pub insecure: bool,
    /// A namespace instead of the context's.
    pub namespace: Option<String>,
}

/// Why it is not known how to reach a cluster.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kubeconfig is missing, broken, or has no such context.
    #[error("{files}: {}", root_cause(source))]
    Kubeconfig {
        /// Which file was read.
        files: String,
        /// What is wrong with it.
        #[source]
        source: Box<KubeconfigError>,
    },
    /// There is neither a kubeconfig nor a pod's service account.
    #[error(
        "no cluster is configured: there is no kubeconfig ({searched}) and this is not a pod; give --kubeconfig FILE or \
         set KUBECONFIG"
    )]
    NotConfigured {
        /// Where it was searched for.
        searched: String,
        /// Why this is not a pod.
        #[source]
        source: Box<InClusterError>,
    },
    /// The name of the namespace would lead to another url.
    #[error("invalid namespace {0:?}: it may not be `.` or `..`, nor contain `/` or `%`")]
    InvalidNamespace(String),
    /// The url of the server is none.
    #[error("{url:?} is not the url of a server: {source}")]
    InvalidServerUrl {
        /// What was given.
        url: String,
        /// What is wrong with it.
        #[source]
        source: http::uri::InvalidUri,
    },
    /// The file with certificates cannot be read.
    #[error("the certificates of {}: {reason}", path.display())]
    InvalidCaFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

impl ClientConfig {
    /// Reads the kubeconfig and applies what overrides it.
    pub(crate) async fn load(&self) -> Result<kube::Config, Error> {
        let mut config = self.kubeconfig_or_in_cluster().await?;
        if let Some(url) = &self.server {
            config.cluster_url =
                url.parse().map_err(|source| Error::InvalidServerUrl { url: url.clone(), source })?;
        }
        if let Some(token) = &self.token {
            config.auth_info = kube::config::AuthInfo {
                token: Some(token.clone().into()),
                impersonate: config.auth_info.impersonate.take(),
                impersonate_groups: config.auth_info.impersonate_groups.take(),
                ..Default::default()
            };
        }
        if let Some(user) = &self.as_user {
            config.auth_info.impersonate = Some(user.clone());
        }
        if !self.as_groups.is_empty() {
            config.auth_info.impersonate_groups = Some(self.as_groups.clone());
        }
        if let Some(path) = &self.ca_file {
            config.root_cert = Some(read_ca_file(path)?);
        }
        if let Some(name) = &self.tls_server_name {
            config.tls_server_name = Some(name.clone());
        }
        config.accept_invalid_certs |= self.insecure;
        if let Some(namespace) = &self.namespace {
            if namespace == "." || namespace == ".." || namespace.contains(['/', '%']) {
                return Err(Error::InvalidNamespace(namespace.clone()));
            }
            config.default_namespace.clone_from(namespace);
        }
        Ok(config)
    }

    async fn kubeconfig_or_in_cluster(&self) -> Result<kube::Config, Error> {
        let files = || match (&self.kubeconfig, std::env::var("KUBECONFIG")) {
            (Some(path), _) => path.display().to_string(),
            (None, Ok(paths)) => paths,
            (None, Err(_)) => "~/.kube/config".to_owned(),
        };
        let kubeconfig_error = |source| Error::Kubeconfig { files: files(), source: Box::new(source) };
        let read = match &self.kubeconfig {
            Some(path) => Kubeconfig::read_from(path),
            None => read_kubeconfig_env(),
        };
        let options = KubeConfigOptions { context: self.context.clone(), ..Default::default() };
        match read {
            Ok(file) => kube::Config::from_custom_kubeconfig(file, &options).await.map_err(kubeconfig_error),
            // Nothing to read is usual in a pod; a file that was asked for has to be there.
            Err(error) if self.kubeconfig.is_some() || !is_missing(&error) => Err(kubeconfig_error(error)),
            Err(_) => match (kube::Config::incluster(), &self.server) {
                (Ok(config), _) => Ok(config),
                (Err(_), Some(_)) => Ok(kube::Config::new(http::Uri::default())),
                (Err(error), None) => {
                    let paths = std::env::var("KUBECONFIG").ok().filter(|paths| !paths.is_empty());
                    let searched = paths.map_or_else(
                        || "KUBECONFIG is not set and ~/.kube/config is not there".to_owned(),
                        |paths| format!("KUBECONFIG says {paths}, and there is no such file"),
                    );
                    Err(Error::NotConfigured { searched, source: Box::new(error) })
                }
            },
        }
    }
}

/// The files of `KUBECONFIG`, those that are there; where two name the same thing, the first counts.
fn read_kubeconfig_env() -> Result<Kubeconfig, KubeconfigError> {
    let paths = std::env::var_os("KUBECONFIG").filter(|paths| !paths.is_empty());
    let Some(paths) = paths else { return Kubeconfig::read() };
    let mut merged = None::<Kubeconfig>;
    let mut missing = None;
    for path in std::env::split_paths(&paths).filter(|path| !path.as_os_str().is_empty()) {
        match Kubeconfig::read_from(path) {
            Ok(next) => {
                merged = Some(match merged {
                    Some(first) => first.merge(next)?,
                    None => next,
                });
            }
            Err(error) if is_missing(&error) => missing = Some(error),
            Err(error) => return Err(error),
        }
    }
    merged.ok_or_else(|| missing.unwrap_or(KubeconfigError::FindPath))
}

fn is_missing(error: &KubeconfigError) -> bool {
    match error {
        KubeconfigError::FindPath => true,
        KubeconfigError::ReadConfig(error, _) => error.kind() == std::io::ErrorKind::NotFound,
        _ => false,
    }
}

/// All certificates of a PEM file.
fn read_ca_file(path: &std::path::Path) -> Result<Vec<Vec<u8>>, Error> {
    let invalid = |reason: String| Error::InvalidCaFile { path: path.to_owned(), reason };
    let text = std::fs::read(path).map_err(|e| invalid(e.to_string()))?;
    let blocks = pem::parse_many(text).map_err(|e| invalid(e.to_string()))?;
    let found: Vec<Vec<u8>> =
        blocks.into_iter().filter(|b| b.tag() == "CERTIFICATE").map(|b| b.into_contents()).collect();
    if found.is_empty() { Err(invalid("there are none in the file".to_owned())) } else { Ok(found) }
}
