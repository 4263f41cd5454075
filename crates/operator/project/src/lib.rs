//! An operator project: which resources are the values of which charts, what CRDs these resources have, and what the
//! operator has to be allowed.
//!
//! Everything here is a function of texts and values that are passed in.

pub mod crd;
pub mod expand;
pub mod name;
pub mod overrides;
pub mod rbac;
pub mod watches;
