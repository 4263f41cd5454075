//! A Kubernetes API server over one store: one set of handlers for all resources.
//!
//! ```text
//!  request ─▶ guard (authentication, authorization) ─▶ address ─┬─▶ discovery, openapi
//!                                                               ├─▶ list, watch, form (table, metadata) ◀── store
//!                                                               ├─▶ write, patch, scale ─▶ managedFields ─▶ rules ─▶ store
//!                                                               └─▶ delete ─▶ marked or removed
//! ```
//!
//! - `served` finds the resource of a path (the table of built-in kinds, and the CRDs), `model` decodes and encodes its
//!   objects, `rules` runs its defaulting, validation and admission; everything else is the same for all resources.
//! - State that is derived from stored objects (CRDs, roles) is brought up to date when a request needs it (`follow`): an
//!   acknowledged CRD or role counts for every later request.
//! - A write is retried when another client's write came first, so no update is lost.
//! - Stored bytes are sent as they are, unless the client asks for another version or the CRD has changed since.
//! - The same holds for rows of tables: the fields that printer columns need are found in the bytes (`podium_meta::partial_json`)
//!   without decoding the whole object; only kinds whose cells need more than a few fields (Pods, Services) are decoded.
//!
//! Tests: `tests/hostile.rs` has malicious clients, `crates/podium/tests/durability.rs` kills the whole program repeatedly under
//! load, `crates/podium/tests/cluster.rs` tries the usual mistakes of a first-time user. `crates/rig/src/api` compares generated
//! requests with kube-apiserver, `crates/rig/tests/clients` real clients.

mod address;
mod answer;
mod api;
mod clock;
mod custom;
mod delete;
mod discovery;
mod establish;
mod eviction;
mod expire;
mod follow;
mod form;
mod guard;
mod handle;
mod home;
mod language;
mod list;
mod meta;
mod model;
mod openapi;
mod openapi2;
mod parts;
mod patch;
mod query;
mod random;
mod refusal;
mod review;
mod rules;
mod scale;
mod select;
mod served;
pub mod server;
mod shown;
mod start;
mod table;
mod version;
mod watch;
mod write;
mod wrong_selector;

pub use api::Api;
pub use home::Home;
pub use podium_rbac::User;
pub use server::{Options, Running, run};
pub use version::GIT_VERSION as VERSION;
