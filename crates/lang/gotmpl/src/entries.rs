//! The entries of a map, in the order of their keys.

use crate::value::{Str, Value};

/// Entries by key.
pub type Entries<'h> = podium_entries::Entries<Str<'h>, Value<'h>>;
