//! The patches of Kubernetes: strategic merge, JSON merge and JSON patches.

mod json;
mod lists;
mod merge;
mod order;
mod strategic;

pub use json::{Error as JsonError, MOST_COPIED, MOST_OPERATIONS, json};
pub use merge::{NotAMerge, merge};
pub use strategic::{Error as StrategicError, strategic};
