//! Kubernetes API client; the only crate that depends on kube.
//!
//! Objects are JSON values. Callers that want typed views define them in their own crates.
//!
//! - [`config`]: kubeconfig, in-cluster configuration and the flags that override them
//! - [`client`]: get, list and server-side apply
//! - [`write`]: create, replace, merge patch and delete
//! - [`request`]: other requests, response timeouts and request counts
//! - [`discovery`]: the resources and the version of a cluster
//! - [`watch`]: list and watch, with resume, relist and backoff

pub mod client;
pub mod config;
mod connection;
pub mod discovery;
mod object_key;
pub mod request;
mod root_cause;
pub mod watch;
pub mod write;

pub use client::{Client, Error};
pub use config::ClientConfig;
pub use discovery::{Discovery, DiscoveryCache};
pub use object_key::ObjectKey;
