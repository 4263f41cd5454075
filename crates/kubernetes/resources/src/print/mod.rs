//! The cells of a kind's row when people look at a list.
//!
//! Which columns a kind has is in the table of kinds; here is what stands in them: `cells` is a table of small
//! expressions, and what is more than an expression is a named function in the module of its subject.

mod age;
mod cell;
mod cells;
mod network;
mod pods;
mod quick;
mod rest;
mod storage;

use std::sync::LazyLock;

use podium_meta::GroupVersionKind;
use serde_json::{Value, json};

use crate::table::{Column, kinds};
pub use age::since;
use cell::{Cell, Look};
use quick::Quick;

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

/// What stands in them.
const USUAL_CELLS: &[Cell] = &[Cell::Name, Cell::Created];

/// The columns of services of the API, which another part of the server prints.
const API_SERVICE: &[Column] = &[
    Column { name: "Name", kind: "string", format: "name", priority: 0 },
    Column { name: "Service", kind: "string", format: "", priority: 0 },
    Column { name: "Available", kind: "string", format: "", priority: 0 },
    Column { name: "Age", kind: "string", format: "", priority: 0 },
];

/// The columns of a kind's tables.
pub fn columns(kind: &GroupVersionKind) -> &'static [Column] {
    match (kinds().columns(kind), kind.kind.as_str()) {
        (Some(columns), _) => columns,
        (None, "APIService") => API_SERVICE,
        _ => USUAL,
    }
}

/// Whether a kind has no columns of its own.
pub fn is_usual(kind: &GroupVersionKind) -> bool {
    kinds().columns(kind).is_none() && kind.kind != "APIService"
}

/// The row of an object, at a moment in seconds since 1970.
pub fn row(kind: &GroupVersionKind, object: &Value, now: i64) -> Cells {
    Printer::new(kind).row(object, now)
}

/// What stands in the rows of a kind.
#[derive(Debug, Clone, Copy)]
pub struct Printer {
    cells: &'static [Cell],
    quick: Option<&'static Quick>,
    ends: bool,
}

/// The printers of all kinds in the order of their table, and that of kinds without one.
static QUICK: LazyLock<Vec<Option<Quick>>> = LazyLock::new(|| {
    let all = cells::PRINTERS.iter().map(|(_, _, cells)| *cells);
    all.chain([USUAL_CELLS]).map(Quick::of).collect()
});

impl Printer {
    /// Of a kind.
    pub fn new(kind: &GroupVersionKind) -> Self {
        let all = cells::PRINTERS;
        let own = |(group, name, _): &(&str, &str, _)| *group == kind.group && *name == kind.kind;
        let at = all.iter().position(own).unwrap_or(all.len());
        let cells = all.get(at).map_or(USUAL_CELLS, |(_, _, cells)| cells);
        Self { cells, quick: QUICK.get(at).and_then(Option::as_ref), ends: kind.kind == "Pod" }
    }

    /// The row of an object, at a moment in seconds since 1970.
    pub fn row(&self, object: &Value, now: i64) -> Cells {
        let look = Look { object, now };
        let cells = self.cells.iter().flat_map(|cell| look.show(cell)).collect();
        let conditions = if self.ends { conditions(object) } else { Value::Null };
        Cells { cells, conditions }
    }

    /// Writes the list of a row's cells from the JSON of an object, whose metadata is so many bytes long. Nothing is written, and
    /// false returned, where the cells are about more than a few fields: these need the whole object, and it is in such rows alone
    /// that there are conditions.
    pub fn write(&self, text: &[u8], metadata: usize, now: i64, out: &mut Vec<u8>) -> bool {
        self.quick.is_some_and(|quick| quick.write(text, metadata, now, out))
    }
}

/// Pods that have ended say so.
fn conditions(pod: &Value) -> Value {
    let phase = pod.pointer("/status/phase").and_then(Value::as_str).unwrap_or_default();
    let message = match phase {
        "Succeeded" => "The pod has completed successfully.",
        "Failed" => "The pod failed.",
        _ => return Value::Null,
    };
    json!([{"type": "Completed", "status": "True", "reason": phase, "message": message}])
}
