//! Merged values as the maps that templates see.

use std::cell::RefCell;

use podium_gotmpl::{Entries, Heap, Map, Str, Tables, Value};
use podium_sprig::convert;

use crate::values::{Cell, TableId, Values};

/// The maps of values. A template looks at a few of them, so each is made when a template looks at it. A table that is in several places is one map: what a template changes in one place changes in all.
pub struct Maps<'h> {
    heap: &'h Heap<'h>,
    values: &'h Values,
    /// The maps by the numbers of their tables.
    made: RefCell<Vec<Option<&'h Map<'h>>>>,
}

impl<'h> Maps<'h> {
    /// The maps of values in a heap.
    pub fn new(heap: &'h Heap<'h>, values: &'h Values) -> Self {
        Self { heap, values, made: RefCell::new(vec![None; values.graph().size()]) }
    }

    /// The map that holds everything.
    pub fn root(&'h self) -> &'h Map<'h> {
        self.of(self.values.root())
    }

    fn of(&'h self, table: TableId) -> &'h Map<'h> {
        let mut made = self.made.borrow_mut();
        let make = || self.heap.later_map(self, table.number());
        match made.get_mut(table.index()) {
            Some(place) => place.get_or_insert_with(make),
            None => make(),
        }
    }
}

impl<'h> Tables<'h> for Maps<'h> {
    fn entries(&'h self, table: u32) -> Entries<'h> {
        let entries = self.values.graph().entries(TableId::of(table)).map(|(key, cell)| {
            let value = match cell {
                Cell::Table(inner) => Value::Map(self.of(*inner)),
                Cell::Scalar(node) | Cell::List(_, node) => convert::borrow_tree(self.heap, node),
            };
            (Str::from(&**key), value)
        });
        self.heap.as_before(|| entries.collect())
    }
}
