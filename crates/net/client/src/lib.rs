//! Talks to a Kubernetes API server. The only crate that depends on kube.
//!
//! Objects come and go as JSON values; a caller that needs types has them in a crate of its own.

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
