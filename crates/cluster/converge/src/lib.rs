//! The objects of a manifest and those of a cluster: whose they are, and what stands in the way of an install.

pub mod check;
pub mod named;
pub mod owner;

pub use named::Named;
pub use owner::Owner;
