//! Merged values as the maps that templates see.

use podium_gotmpl::{Entries, Heap, Map, Str, Value};
use podium_sprig::convert;

use crate::values::{Cell, TableId, Values};

/// Makes a map of every table. A table that is in several places is one map: what a template changes in one place
/// changes in all.
pub fn to_map<'h>(heap: &'h Heap<'h>, values: &'h Values) -> &'h Map<'h> {
    let graph = values.graph();
    // The maps by the numbers of their tables, and those to be filled.
    let mut made: Vec<Option<&'h Map<'h>>> = vec![None; graph.size()];
    let mut work = Vec::new();
    let mut map_of = |id: TableId, work: &mut Vec<_>| match made.get_mut(id.index()) {
        Some(Some(map)) => *map,
        place => {
            let map = heap.map(Entries::new());
            work.push((id, map));
            if let Some(place) = place {
                *place = Some(map);
            }
            map
        }
    };
    let root = map_of(values.root(), &mut work);
    while let Some((id, map)) = work.pop() {
        let entries = graph.entries(id).map(|(key, cell)| {
            let value = match cell {
                Cell::Table(inner) => Value::Map(map_of(*inner, &mut work)),
                Cell::Scalar(node) | Cell::List(_, node) => convert::borrow_tree(heap, node),
            };
            (Str::from(&**key), value)
        });
        map.fill(entries.collect());
    }
    root
}
