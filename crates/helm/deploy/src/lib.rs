//! The objects of a manifest and those of a cluster: whose they are, what stands in the way of an install, and what
//! would have to be done to make the cluster's equal to the manifest's.

pub mod apply;
pub mod check;
mod crds;
mod managers;
pub mod named;
pub mod object;
pub mod owner;
pub mod place;
pub mod plan;
pub mod restart;
pub mod wait;
mod yields;

pub use named::Named;
pub use owner::Owner;
pub use place::Place;
