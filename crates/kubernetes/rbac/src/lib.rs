//! Who somebody is and what they may do, for the API server of one machine.
//!
//! ```text
//! certificate, token ──▶ user ──▶ impersonate ──▶ user ─┐
//!                                                       ├─▶ policy ──▶ decision, refusal
//! method, path, query ──▶ attributes ───────────────────┘
//! a role or binding that is written ──▶ escalation
//! ```
//!
//! Everything is a function of its arguments: time is passed in, objects are looked up by a closure. Only where keys,
//! signatures and serial numbers are made, chance comes from the operating system.

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
