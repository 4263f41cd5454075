//! Versions and ranges as blang/semver v4 reads them.

mod range;
mod version;

pub use crate::number::NumberError;
pub use range::{Range, RangeError};
pub use version::{Identifier, Version, VersionError};
