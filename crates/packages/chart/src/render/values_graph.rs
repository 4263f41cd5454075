//! Merged values as the maps that templates see.

use std::collections::HashMap;

use podium_gotmpl::{Entries, Heap, Map, Str, Value};
use podium_sprig::convert;

use crate::values::{Cell, TableId, Values};

/// Makes a map of every table. A table that is in several places is one map: what a template changes in one place
/// changes in all.
pub fn to_map<'h>(heap: &'h Heap<'h>, values: &'h Values) -> &'h Map<'h> {
    let graph = values.graph();
    let root = heap.map(Entries::new());
    let mut made: HashMap<TableId, &'h Map<'h>> = HashMap::from([(values.root(), root)]);
    let mut work = vec![(values.root(), root)];
    while let Some((id, map)) = work.pop() {
        let entries = graph.entries(id).map(|(key, cell)| {
            let value = match cell {
                Cell::Table(inner) => Value::Map(made.entry(*inner).or_insert_with(|| {
                    let map = heap.map(Entries::new());
                    work.push((*inner, map));
                    map
                })),
                Cell::Scalar(node) | Cell::List(_, node) => convert::borrow_tree(heap, node),
            };
            (Str::from(&**key), value)
        });
        map.fill(entries.collect());
    }
    root
}
