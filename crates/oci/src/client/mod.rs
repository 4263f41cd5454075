//! A registry client for OCI and Docker images.
//!
//! ```no_run
//! # async fn example(layout: podium_oci::Layout) -> Result<(), Box<dyn std::error::Error>> {
//! use podium_oci::{Client, Options, Platform, Platforms, Reference};
//!
//! let client = Client::new(Options::default());
//! let name = Reference::parse("localhost:5000/team/app:1.0")?;
//! let image = client.pull(&name, &layout, &Platforms::One(Platform::host()), &podium_oci::no_progress()).await?;
//! client.push(&layout, &image, &name.with_tag("copy")?, &podium_oci::no_progress()).await?;
//! # Ok(())
//! # }
//! ```

mod api;
pub mod auth;
mod credential_helper;
pub mod credentials;
pub mod dial;
pub mod fetch;
mod http;
mod pull;
mod push;
pub mod remote;
pub mod tls;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::digest::Digest;
use crate::model::{Descriptor, ManifestOrIndex, Platform};
use crate::{blob_source, layout, model, reference};

pub use remote::RemoteImage;

/// A failed registry operation.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The host cannot be reached.
    #[error("{host} cannot be reached: {reason}")]
    Connect {
        /// The host.
        host: String,
        /// The cause.
        reason: String,
    },
    /// TLS certificate verification failed, on either side. Not retried.
    #[error("TLS to {host} failed: {reason}")]
    Certificate {
        /// The host.
        host: String,
        /// The cause.
        reason: String,
    },
    /// The registry answered with an unexpected status.
    #[error("{method} {url}: {status}: {message}")]
    Status {
        /// HTTP method.
        method: String,
        /// Requested URL.
        url: String,
        /// HTTP status.
        status: ::http::StatusCode,
        /// Error message of the registry.
        message: String,
    },
    /// The registry requires authentication.
    #[error("{registry} {}: podium registry login {registry} --username NAME", if *credentials_sent { "does not accept these credentials; log in again" } else { "wants credentials; log in" })]
    LoginRequired {
        /// The registry.
        registry: String,
        /// Whether credentials were sent.
        credentials_sent: bool,
    },
    /// The image or blob does not exist.
    #[error("{0} not found")]
    NotFound(String),
    /// An unexpected response or an internal failure.
    #[error("{0}")]
    Unexpected(String),
    /// A redirect that is not followed.
    #[error("redirect from {from} rejected: {reason}")]
    Redirect {
        /// The URL that redirects.
        from: String,
        /// The target and the violated rule.
        reason: String,
    },
    /// The URL is invalid.
    #[error("invalid URL {0:?}")]
    InvalidUrl(String),
    /// The TLS configuration is invalid.
    #[error("TLS configuration: {0}")]
    Tls(String),
    /// Credentials cannot be read or written.
    #[error(transparent)]
    Credentials(#[from] credentials::Error),
    /// The reference is invalid.
    #[error(transparent)]
    Reference(#[from] reference::Error),
    /// A manifest or index is invalid.
    #[error("{location}: {source}")]
    Manifest {
        /// Where it was read.
        location: String,
        /// The cause.
        source: model::Error,
    },
    /// The layout cannot be used.
    #[error(transparent)]
    Layout(#[from] layout::Error),
    /// The blob source cannot be read.
    #[error(transparent)]
    BlobSource(#[from] blob_source::Error),
}

impl Error {
    /// Whether the error means that the content does not exist.
    pub fn is_not_found(&self) -> bool {
        match self {
            Self::NotFound(_) => true,
            Self::Status { status, .. } => status.as_u16() == 404,
            _ => false,
        }
    }
}

/// Client settings.
#[derive(Clone)]
pub struct Options {
    /// TLS settings.
    pub tls: tls::TlsOptions,
    /// Registry credentials.
    pub keyring: credentials::Keyring,
    /// Proxies.
    pub proxies: dial::ProxyConfig,
    /// Use plain HTTP for all registries. Loopback registries may always use it.
    pub plain_http: bool,
    /// Number of parallel blob transfers.
    pub jobs: usize,
    /// Number of retries of a failed request.
    pub retries: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            tls: tls::TlsOptions::default(),
            keyring: credentials::Keyring::default(),
            proxies: dial::ProxyConfig::default(),
            plain_http: false,
            jobs: 4,
            retries: 4,
        }
    }
}

/// A registry client. Clones share connections and tokens.
#[derive(Clone)]
pub struct Client {
    inner: Arc<ClientInner>,
}

struct ClientInner {
    options: Options,
    endpoints: Mutex<HashMap<(String, bool), Arc<http::Endpoint>>>,
    hosts: Mutex<HashMap<String, Arc<http::RegistryHost>>>,
    probe_lock: tokio::sync::Mutex<()>,
}

impl Client {
    /// Creates a client. Connects on demand.
    pub fn new(options: Options) -> Self {
        Self {
            inner: Arc::new(ClientInner {
                options,
                endpoints: Mutex::default(),
                hosts: Mutex::default(),
                probe_lock: tokio::sync::Mutex::default(),
            }),
        }
    }
}

/// The platforms of an index to transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Platforms {
    /// All platforms, and the index itself.
    All,
    /// One platform.
    One(Platform),
}

/// The blobs of all manifests without duplicates, largest first, so that no large blob is left for the end.
fn unique_blobs<'d>(documents: impl Iterator<Item = &'d ManifestOrIndex>) -> Vec<Descriptor> {
    let mut blobs: Vec<Descriptor> = Vec::new();
    for blob in documents.flat_map(ManifestOrIndex::blobs) {
        if !blobs.iter().any(|other| other.digest == blob.digest) {
            blobs.push(blob.clone());
        }
    }
    blobs.sort_by_key(|blob| std::cmp::Reverse(blob.size));
    blobs
}

/// Progress of a transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// A blob transfer started: digest, size and bytes already present.
    Started(Digest, u64, u64),
    /// Bytes transferred since the last event.
    Transferred(Digest, u64),
    /// A blob transfer finished.
    Finished(Digest, TransferOutcome),
}

/// How a blob reached its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferOutcome {
    /// The blob existed already.
    AlreadyExists,
    /// The blob was mounted from another repository of the registry.
    Mounted,
    /// The blob was transferred.
    Transferred,
}

/// Receives progress events.
pub type ProgressReporter = Arc<dyn Fn(Progress) + Send + Sync>;

/// Ignores progress events.
pub fn no_progress() -> ProgressReporter {
    Arc::new(|_| {})
}
