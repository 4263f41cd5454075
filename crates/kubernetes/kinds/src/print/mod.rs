//! The cells of a kind's row when people look at a list.
//!
//! Which columns a kind has is in the table of kinds; here is what stands in them: `cells` is a table of small
//! expressions, and what is more than an expression is a named function in the module of its subject.

mod age;
mod cell;
mod cells;
mod network;
mod pods;
mod rest;
mod storage;

use podium_objects::Kind;
use serde_json::{Value, json};

use crate::table::{Column, kinds};
pub use age::since;
use cell::{Cell, Look};

/// A row of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Cells {
    /// A value for each column, also for those that only the wide form shows.
    pub cells: Vec<Value>,
    /// What is to be known of the row as a whole, as `TableRowCondition`s; null if nothing.
    pub conditions: Value,
}

/// The columns of kinds that have none of their own.
const USUAL: &[Column] = &[
    Column { name: "Name", kind: "string", format: "name", priority: 0 },
    Column { name: "Created At", kind: "date", format: "", priority: 0 },
];

/// The columns of services of the API, which another part of the server prints.
const API_SERVICE: &[Column] = &[
    Column { name: "Name", kind: "string", format: "name", priority: 0 },
    Column { name: "Service", kind: "string", format: "", priority: 0 },
    Column { name: "Available", kind: "string", format: "", priority: 0 },
    Column { name: "Age", kind: "string", format: "", priority: 0 },
];

/// The columns of a kind's tables.
pub fn columns(kind: &Kind) -> &'static [Column] {
    match (kinds().columns(kind), kind.kind.as_str()) {
        (Some(columns), _) => columns,
        (None, "APIService") => API_SERVICE,
        _ => USUAL,
    }
}

/// Whether a kind has no columns of its own.
pub fn is_usual(kind: &Kind) -> bool {
    kinds().columns(kind).is_none() && kind.kind != "APIService"
}

/// The row of an object, at a moment in seconds since 1970.
pub fn row(kind: &Kind, object: &Value, now: i64) -> Cells {
    let look = Look { object, now };
    let printer = cells::PRINTERS.iter().find(|(group, name, _)| *group == kind.group && *name == kind.kind);
    let cells = match printer {
        Some((_, _, cells)) => cells.iter().flat_map(|cell| look.show(cell)).collect(),
        None => [Cell::Name, Cell::Created].iter().flat_map(|cell| look.show(cell)).collect(),
    };
    Cells { cells, conditions: conditions(kind, object) }
}

/// Pods that have ended say so.
fn conditions(kind: &Kind, object: &Value) -> Value {
    let phase = object.pointer("/status/phase").and_then(Value::as_str).unwrap_or_default();
    let message = match (kind.kind.as_str(), phase) {
        ("Pod", "Succeeded") => "The pod has completed successfully.",
        ("Pod", "Failed") => "The pod failed.",
        _ => return Value::Null,
    };
    json!([{"type": "Completed", "status": "True", "reason": phase, "message": message}])
}
