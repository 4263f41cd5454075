//! HTTP server with connection limits, TLS and graceful shutdown, and the probes and metrics of a process.
//!
//! - [`server`]: accepts and serves HTTP/1.1 and HTTP/2 connections
//! - [`tls`]: serving certificates and client authentication
//! - [`probes`]: `/healthz`, `/readyz` and `/metrics`
//! - [`health`]: checks behind the probes
//! - [`metrics`]: counters, gauges and histograms in the Prometheus text format

pub mod health;
pub mod metrics;
pub mod probes;
pub mod server;
pub mod tls;

pub use health::Health;
pub use metrics::Registry;
pub use server::{ConnectionLimits, PeerCertificate, Server};
