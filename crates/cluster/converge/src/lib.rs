//! The objects of a manifest and those of a cluster: whose they are, what stands in the way of an install, and what
//! would have to be done to make the cluster's equal to the manifest's.

pub mod check;
pub mod named;
pub mod object;
pub mod owner;
pub mod plan;
mod yields;

pub use named::Named;
pub use owner::Owner;
