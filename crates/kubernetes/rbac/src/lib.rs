//! Authentication, authorization and impersonation for the API server of the local cluster.
//!
//! ```text
//! certificate, token ──▶ user ──▶ impersonate ──▶ user ─┐
//!                                                       ├─▶ policy ──▶ decision, refusal
//! method, path, query ──▶ attributes ───────────────────┘
//! a role or binding that is written ──▶ escalation
//! ```
//!
//! Everything is a function of its arguments: time is passed in, objects are looked up by a closure. Only keys, signatures and
//! serial numbers take randomness from the operating system.
//!
//! The policy is an index: bindings are found by user and group, so a decision costs as much as one user's bindings. The
//! bootstrap roles are a table (`roles.txt`, written by `make roles`). `tests/recorded` has answers of kube-apiserver:
//! decisions, messages word for word, reviews, tokens; `crates/rig/tests/access.rs` asks a real server for them again.

pub mod aggregate;
pub mod attributes;
pub mod bootstrap;
pub mod certificate;
mod covers;
pub mod escalation;
pub mod impersonate;
pub mod key;
mod names;
mod pem;
pub mod policy;
pub mod refusal;
pub mod review;
pub mod rule;
mod text;
mod time;
pub mod token;
pub mod user;

pub use attributes::Attributes;
pub use bootstrap::bootstrap;
pub use key::Key;
pub use policy::{Decision, Policy};
pub use refusal::Refusal;
pub use rule::Rule;
pub use user::User;
