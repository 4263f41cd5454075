//! A Kubernetes API server over one store: one set of handlers for all kinds, driven by the table of kinds and by the
//! definitions that users add.

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
