//! A client of registries: OCI's and docker's.
//!
//! ```no_run
//! # async fn example(layout: podium_oci::Layout) -> Result<(), Box<dyn std::error::Error>> {
//! use podium_oci::{Client, Options, Platform, Platforms, Reference};
//!
//! let client = Client::new(Options::default());
//! let name = Reference::parse("localhost:5000/team/app:1.0")?;
//! let image = client.pull(&name, &layout, &Platforms::One(Platform::here()), &podium_oci::quiet()).await?;
//! client.push(&layout, &image, &name.with_tag("copy")?, &podium_oci::quiet()).await?;
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

/// Why a registry could not be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There was no answer.
    #[error("{host} cannot be reached: {reason}")]
    Connect {
        /// Who was asked.
        host: String,
        /// Why.
        reason: String,
    },
    /// There is an answer, and who gives it is not believed, or does not believe us. To ask again is no help.
    #[error("{host} cannot be talked to: {reason}")]
    Certificate {
        /// Who was asked.
        host: String,
        /// Why.
        reason: String,
    },
    /// The answer was no.
    #[error("{method} {url}: {status}: {message}")]
    Status {
        /// What was asked.
        method: String,
        /// Of whom.
        url: String,
        /// The answer.
        status: ::http::StatusCode,
        /// What it said.
        message: String,
    },
    /// The registry wants to know who we are.
    #[error("{registry} {}: podium registry login {registry} --username NAME", if *credentials_sent { "does not accept these credentials; log in again" } else { "wants credentials; log in" })]
    LoginRequired {
        /// Which.
        registry: String,
        /// Whether it was shown some.
        credentials_sent: bool,
    },
    /// It is not there.
    #[error("{0} is not there")]
    NotFound(String),
    /// An answer is not what was asked for.
    #[error("{0}")]
    Unexpected(String),
    /// Somebody wants us to go where we do not go.
    #[error("{from} redirects, and that is not followed: {reason}")]
    Redirect {
        /// Who.
        from: String,
        /// Where, and why not.
        reason: String,
    },
    /// An address is none.
    #[error("{0:?} is not an address")]
    InvalidUrl(String),
    /// No connection can be prepared.
    #[error("connections cannot be prepared: {0}")]
    Tls(String),
    /// Credentials.
    #[error(transparent)]
    Credentials(#[from] credentials::Error),
    /// A name.
    #[error(transparent)]
    Reference(#[from] reference::Error),
    /// A document.
    #[error("{location}: {source}")]
    Manifest {
        /// Whose.
        location: String,
        /// Why.
        source: model::Error,
    },
    /// The layout.
    #[error(transparent)]
    Layout(#[from] layout::Error),
    /// What is read from.
    #[error(transparent)]
    BlobSource(#[from] blob_source::Error),
}

impl Error {
    /// Whether it says that something is not there.
    pub fn is_not_found(&self) -> bool {
        match self {
            Self::NotFound(_) => true,
            Self::Status { status, .. } => status.as_u16() == 404,
            _ => false,
        }
    }
}

/// How a client works.
#[derive(Clone)]
pub struct Options {
    /// Whom to believe.
    pub tls: tls::TlsOptions,
    /// Who we are.
    pub keyring: credentials::Keyring,
    /// Which proxies stand before whom.
    pub proxies: dial::ProxyConfig,
    /// No TLS for any registry. Those of this machine need none anyway.
    pub plain_http: bool,
    /// How many blobs are under way at a time.
    pub jobs: usize,
    /// How often something is tried again.
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

/// A client of registries. Clones share connections and tokens.
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
    /// One that works so. Connections are made when they are needed.
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

/// Which images of an index are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Platforms {
    /// All, and the index.
    All,
    /// The one for a platform.
    One(Platform),
}

/// The blobs of some documents, each once, the largest first: nobody waits for it at the end.
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

/// How a transfer goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// A blob of this size begins, with so much of it there already.
    Started(Digest, u64, u64),
    /// So many bytes more.
    Transferred(Digest, u64),
    /// It is there; how it came there.
    Finished(Digest, TransferOutcome),
}

/// How a blob came to where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferOutcome {
    /// It was there before.
    AlreadyExists,
    /// From another repository of the same registry.
    Mounted,
    /// It was moved.
    Transferred,
}

/// Who is told of progress.
pub type ProgressReporter = Arc<dyn Fn(Progress) + Send + Sync>;

/// Nobody is told.
pub fn no_progress() -> ProgressReporter {
    Arc::new(|_| {})
}
