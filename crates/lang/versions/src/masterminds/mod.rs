//! Versions and constraints as Masterminds/semver v3.5.0 reads them.

mod constraint;
mod scan;
mod version;

pub use crate::number::NumberError;
pub use constraint::{
    ConstraintError, Constraints, MAX_CONSTRAINT_GROUPS, MAX_CONSTRAINT_LEN, Mismatch, Violation,
};
pub use version::{MAX_VERSION_LEN, Version, VersionError};
