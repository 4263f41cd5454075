//! Talks to a Kubernetes API server. The only crate that depends on kube.
//!
//! Objects come and go as JSON values; a caller that needs types has them in a crate of its own.

pub mod access;
pub mod client;
mod connection;
pub mod discovery;
mod key;
mod reason;
pub mod request;
pub mod watch;
pub mod write;

pub use access::Access;
pub use client::{Client, Error};
pub use discovery::{Discovery, Kinds};
pub use key::Key;
