//! Client configuration: the kubeconfig, flags that override it, and the service account of a pod.

use std::path::PathBuf;

use kube::config::{InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError};

use crate::root_cause::root_cause;

/// Overrides of the kubeconfig; unset fields keep its values.
#[derive(Clone, Debug, Default)]
pub struct ClientConfig {
    /// Kubeconfig file instead of `KUBECONFIG` and `~/.kube/config`.
    pub kubeconfig: Option<PathBuf>,
    /// Context instead of `current-context`.
    pub context: Option<String>,
    /// URL of the API server.
    pub server: Option<String>,
    /// Bearer token.
    pub token: Option<String>,
    /// User to impersonate.
    pub as_user: Option<String>,
    /// Groups to impersonate.
    pub as_groups: Vec<String>,
    /// PEM file with the certificate authorities that sign the serving certificate.
    pub ca_file: Option<PathBuf>,
    /// Host name to verify the serving certificate against.
    pub tls_server_name: Option<String>,
    /// Skips verification of the serving certificate.
    pub insecure: bool,
    /// Namespace instead of that of the context.
    pub namespace: Option<String>,
}

/// Failure to load the client configuration.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kubeconfig is missing or invalid, or has no such context.
    #[error("{files}: {}", root_cause(source))]
    Kubeconfig {
        /// Files that were read.
        files: String,
        /// Underlying error.
        #[source]
        source: Box<KubeconfigError>,
    },
    /// Neither a kubeconfig nor the service account of a pod exists.
    #[error(
        "no cluster is configured: there is no kubeconfig ({searched}) and this is not a pod; give --kubeconfig FILE or \
         set KUBECONFIG"
    )]
    NotConfigured {
        /// Files that were searched.
        searched: String,
        /// Why the in-cluster configuration cannot be loaded.
        #[source]
        source: Box<InClusterError>,
    },
    /// The namespace would change the request path.
    #[error("invalid namespace {0:?}: it may not be `.` or `..`, nor contain `/` or `%`")]
    InvalidNamespace(String),
    /// The server is not a valid URL.
    #[error("{url:?} is not the url of a server: {source}")]
    InvalidServerUrl {
        /// The configured value.
        url: String,
        /// Parse error.
        #[source]
        source: http::uri::InvalidUri,
    },
    /// The CA file cannot be read.
    #[error("CA file {}: {reason}", path.display())]
    InvalidCaFile {
        /// Path of the file.
        path: PathBuf,
        /// Why it cannot be read.
        reason: String,
    },
}

impl ClientConfig {
    /// Loads the kubeconfig, or the in-cluster configuration, and applies the overrides.
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
            // A pod has no kubeconfig; a file that the user named must exist.
            Err(error) if self.kubeconfig.is_some() || !is_missing(&error) => Err(kubeconfig_error(error)),
            Err(_) => match (kube::Config::incluster(), &self.server) {
                (Ok(config), _) => Ok(config),
                (Err(_), Some(_)) => Ok(kube::Config::new(http::Uri::default())),
                (Err(error), None) => {
                    let paths = std::env::var("KUBECONFIG").ok().filter(|paths| !paths.is_empty());
                    let searched = paths.map_or_else(
                        || "KUBECONFIG is not set and ~/.kube/config does not exist".to_owned(),
                        |paths| format!("KUBECONFIG is {paths}, but there is no such file"),
                    );
                    Err(Error::NotConfigured { searched, source: Box::new(error) })
                }
            },
        }
    }
}

/// Merges the files of `KUBECONFIG` that exist; the first file to define a cluster, user or context wins.
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

/// DER of all certificates in a PEM file.
fn read_ca_file(path: &std::path::Path) -> Result<Vec<Vec<u8>>, Error> {
    let invalid = |reason: String| Error::InvalidCaFile { path: path.to_owned(), reason };
    let text = std::fs::read(path).map_err(|e| invalid(e.to_string()))?;
    let blocks = pem::parse_many(text).map_err(|e| invalid(e.to_string()))?;
    let found: Vec<Vec<u8>> =
        blocks.into_iter().filter(|b| b.tag() == "CERTIFICATE").map(|b| b.into_contents()).collect();
    if found.is_empty() { Err(invalid("the file has no certificates".to_owned())) } else { Ok(found) }
}
