//! What a server has beside its own work: connections with limits, probes, metrics, a clean end.

pub mod health;
pub mod metrics;
pub mod probes;
pub mod server;
pub mod tls;

pub use health::Health;
pub use metrics::Registry;
pub use server::{ConnectionLimits, PeerCertificate, Server};
