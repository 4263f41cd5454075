//! Talks to a Kubernetes API server. The only crate that depends on kube.
//!
//! Objects come and go as JSON values; who needs types has them in a crate of its own.

pub mod access;
pub mod client;
pub mod discovery;
mod reason;
pub mod write;

pub use access::Access;
pub use client::{Client, Error};
pub use discovery::{Discovery, Kinds};
