//! Dotted paths.

use std::sync::Arc;

use podium_goyaml::Node;

use super::graph::{Cell, Graph, TableId, Values};
use crate::text::quote;

/// A part of a path that is no table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} is not a table", quote(.0))]
pub struct NoTable(pub String);

impl Graph {
    /// The table at a dotted path below a table. A key that has a dot in it cannot be reached.
    pub fn table_at(&self, root: TableId, path: &str) -> Result<TableId, NoTable> {
        path.split('.').try_fold(root, |table, part| {
            self.get(table, part).and_then(Cell::table).ok_or_else(|| NoTable(part.to_owned()))
        })
    }
}

impl Values {
    /// The table at a dotted path. A key that has a dot in it cannot be reached.
    pub fn table(&self, path: &str) -> Result<TableId, NoTable> {
        self.graph.table_at(self.root, path)
    }

    /// The value at a dotted path, if there is one and it is no table.
    pub fn value(&self, path: &str) -> Option<&Arc<Node>> {
        let (table, key) = match path.rsplit_once('.') {
            Some((table, key)) => (self.table(table).ok()?, key),
            None => (self.root, path),
        };
        self.graph.get(table, key).and_then(Cell::node)
    }
}
