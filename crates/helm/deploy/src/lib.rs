//! Deploys the objects of a manifest to a cluster: ownership checks, plan, apply, prune and wait.

pub mod apply;
pub mod check;
pub mod config_hash;
mod crds;
pub mod deployer;
mod field_ownership;
mod managed_fields;
pub mod object;
pub mod object_ref;
pub mod ownership;
pub mod plan;
pub mod wait;

pub use deployer::Deployer;
pub use object_ref::ObjectRef;
pub use ownership::ReleaseRef;
