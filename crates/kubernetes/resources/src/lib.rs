//! Built-in resources: the type table, codecs, storage forms, strategies and printer columns.
//!
//! [`table`] has the built-in kinds as the API server serves them, [`typed`] decodes bodies by it, [`stored`] converts
//! them to what the API server stores, [`strategy`] validates and defaults them, and [`print`](mod@print) has the
//! columns of server-side printing. All functions are pure.

pub mod openapi;
pub mod print;
mod selectable;
pub mod stored;
pub mod strategy;
pub mod table;
pub mod typed;
mod usual;
mod writing;

pub use selectable::{check_field, field_value, selectable_fields};
pub use table::{Column, Group, Kinds, Row, Subresource, Version, kinds, kinds_with};
pub use usual::{all_usual, usual};
pub use writing::{Writing, reset_fields, writing};
