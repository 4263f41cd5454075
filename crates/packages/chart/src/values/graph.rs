//! Tables that can be in several places at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use podium_goyaml::{Map, Node, Pos, Value};

use super::Error;

/// More entries than this are refused: aliases and imports could double them again and again.
const MAX_CELLS: usize = 1_000_000;

/// Tables that are deeper than this contain themselves: no reader accepts texts that are half as deep.
pub(super) const MAX_DEPTH: usize = 25_000;

/// A table of a [`Graph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId(u32);

/// A list of a [`Graph`]: equal numbers are the same list, also in Go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ListId(u32);

/// A value of a table.
#[derive(Clone, Debug)]
pub enum Cell {
    /// Null, a boolean, a number or a string.
    Scalar(Arc<Node>),
    /// A list. Maps inside of it are not tables of the graph: nothing merges into them.
    List(ListId, Arc<Node>),
    /// A map.
    Table(TableId),
}

impl Cell {
    /// Whether it is null.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Scalar(node) if node.is_null())
    }

    /// The table, if it is one.
    pub fn table(&self) -> Option<TableId> {
        match self {
            Self::Table(id) => Some(*id),
            _ => None,
        }
    }

    /// The node, if it is no table.
    pub fn node(&self) -> Option<&Arc<Node>> {
        match self {
            Self::Scalar(node) | Self::List(_, node) => Some(node),
            Self::Table(_) => None,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    pub(super) pos: Pos,
    pub(super) entries: BTreeMap<Arc<str>, Cell>,
}

/// Tables by number.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    tables: Vec<Table>,
    lists: u32,
    cells: usize,
}

/// A table with all that is below it: the values of a chart and its subcharts.
#[derive(Clone, Debug)]
pub struct Values {
    pub(super) graph: Graph,
    pub(super) root: TableId,
}

impl Default for Values {
    fn default() -> Self {
        let mut graph = Graph::default();
        let root = graph.add(Pos::default());
        Self { graph, root }
    }
}

impl Graph {
    fn table(&self, id: TableId) -> Option<&Table> {
        self.tables.get(id.0 as usize)
    }

    fn table_mut(&mut self, id: TableId) -> Option<&mut Table> {
        self.tables.get_mut(id.0 as usize)
    }

    /// Adds an empty table.
    pub(super) fn add(&mut self, pos: Pos) -> TableId {
        let id = TableId(u32::try_from(self.tables.len()).unwrap_or(u32::MAX));
        self.tables.push(Table { pos, entries: BTreeMap::new() });
        id
    }

    fn add_list(&mut self) -> ListId {
        self.lists = self.lists.saturating_add(1);
        ListId(self.lists)
    }

    /// A list with a number of its own.
    pub(super) fn new_list(&mut self, node: Arc<Node>) -> Cell {
        Cell::List(self.add_list(), node)
    }

    /// Where a table was written.
    pub fn pos(&self, id: TableId) -> Pos {
        self.table(id).map(|table| table.pos).unwrap_or_default()
    }

    /// The entries of a table in key order.
    pub fn entries(&self, id: TableId) -> impl Iterator<Item = (&Arc<str>, &Cell)> {
        self.table(id).into_iter().flat_map(|table| table.entries.iter())
    }

    /// The number of entries of a table.
    pub fn len(&self, id: TableId) -> usize {
        self.table(id).map_or(0, |table| table.entries.len())
    }

    /// The value of a key.
    pub fn get(&self, id: TableId, key: &str) -> Option<&Cell> {
        self.table(id)?.entries.get(key)
    }

    pub(super) fn snapshot(&self, id: TableId) -> Vec<(Arc<str>, Cell)> {
        self.entries(id).map(|(key, cell)| (key.clone(), cell.clone())).collect()
    }

    pub(super) fn set(&mut self, id: TableId, key: Arc<str>, cell: Cell) -> Result<(), Error> {
        if self.cells >= MAX_CELLS {
            return Err(Error::TooLarge { limit: MAX_CELLS });
        }
        if let Some(table) = self.table_mut(id)
            && table.entries.insert(key, cell).is_none()
        {
            self.cells += 1;
        }
        Ok(())
    }

    pub(super) fn remove(&mut self, id: TableId, key: &str) {
        if let Some(table) = self.table_mut(id) {
            table.entries.remove(key);
        }
    }

    /// A table with the same entries: the tables below it are in both.
    pub(super) fn shallow_copy(&mut self, id: TableId) -> Result<TableId, Error> {
        let copy = self.add(self.pos(id));
        for (key, cell) in self.snapshot(id) {
            self.set(copy, key, cell)?;
        }
        Ok(copy)
    }

    /// Copies a table of this or another graph with all that is below it; nothing is shared with the original.
    /// Where `keep` says no, an entry is left out.
    pub(super) fn deep_copy(
        &mut self,
        from: Option<&Graph>,
        id: TableId,
        keep: impl Fn(&Cell) -> bool,
    ) -> Result<TableId, Error> {
        let root = self.add(from.unwrap_or(self).pos(id));
        let mut work = vec![(id, root, 0)];
        while let Some((original, copy, depth)) = work.pop() {
            if depth > MAX_DEPTH {
                return Err(Error::ContainsItself);
            }
            for (key, cell) in from.unwrap_or(self).snapshot(original) {
                if !keep(&cell) {
                    continue;
                }
                let cell = match cell {
                    Cell::Table(inner) => {
                        let inner_copy = self.add(from.unwrap_or(self).pos(inner));
                        work.push((inner, inner_copy, depth + 1));
                        Cell::Table(inner_copy)
                    }
                    Cell::List(_, node) => Cell::List(self.add_list(), node),
                    scalar => scalar,
                };
                self.set(copy, key, cell)?;
            }
        }
        Ok(root)
    }

    /// The tree of a table. What is in several places is repeated.
    pub fn to_node(&self, id: TableId) -> Result<Node, Error> {
        // Tables whose entries are being turned, outermost first, with the key that they go to.
        let mut open: Vec<Open> = vec![Open::new(self, None, id)];
        let mut count = 0usize;
        loop {
            if open.len() > MAX_DEPTH {
                return Err(Error::ContainsItself);
            }
            let Some(top) = open.last_mut() else { break };
            match top.rest.pop() {
                Some((key, Cell::Table(inner))) => {
                    let next = Open::new(self, Some(key), inner);
                    open.push(next);
                }
                Some((key, Cell::Scalar(node) | Cell::List(_, node))) => {
                    top.map.insert(&*key, (*node).clone());
                }
                None => {
                    let Some(done) = open.pop() else { break };
                    let node = Node { value: Value::Map(done.map), pos: done.pos };
                    match (open.last_mut(), done.key) {
                        (Some(outer), Some(key)) => drop(outer.map.insert(&*key, node)),
                        _ => return Ok(node),
                    }
                }
            }
            count += 1;
            if count > MAX_CELLS {
                return Err(Error::TooLarge { limit: MAX_CELLS });
            }
        }
        Ok(Node::default())
    }
}

struct Open {
    key: Option<Arc<str>>,
    pos: Pos,
    map: Map,
    rest: Vec<(Arc<str>, Cell)>,
}

impl Open {
    fn new(graph: &Graph, key: Option<Arc<str>>, id: TableId) -> Self {
        Self { key, pos: graph.pos(id), map: Map::new(), rest: graph.snapshot(id) }
    }
}

impl Values {
    /// Values from a tree.
    pub fn from_map(map: &Map, pos: Pos) -> Result<Self, Error> {
        let mut graph = Graph::default();
        let root = graph.add(pos);
        let mut work = vec![(map, root)];
        while let Some((map, id)) = work.pop() {
            for (key, node) in map {
                let cell = match &node.value {
                    Value::Map(inner) => {
                        let inner_id = graph.add(node.pos);
                        work.push((inner, inner_id));
                        Cell::Table(inner_id)
                    }
                    Value::List(_) => Cell::List(graph.add_list(), Arc::new(node.clone())),
                    _ => Cell::Scalar(Arc::new(node.clone())),
                };
                graph.set(id, Arc::from(&**key), cell)?;
            }
        }
        Ok(Self { graph, root })
    }

    /// The tables.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The table that holds everything.
    pub fn root(&self) -> TableId {
        self.root
    }

    /// The tree. What is in several places is repeated.
    pub fn to_node(&self) -> Result<Node, Error> {
        self.graph.to_node(self.root)
    }

    /// The same values with nothing shared inside and no tables that are not reachable.
    pub(crate) fn compact(&self) -> Result<Self, Error> {
        let mut graph = Graph::default();
        let root = graph.deep_copy(Some(&self.graph), self.root, |_| true)?;
        Ok(Self { graph, root })
    }
}

/// Go's `%v` of a cell needs it as a node.
pub(super) fn cell_node(graph: &Graph, cell: &Cell) -> Result<Arc<Node>, Error> {
    match cell {
        Cell::Table(id) => graph.to_node(*id).map(Arc::new),
        Cell::Scalar(node) | Cell::List(_, node) => Ok(node.clone()),
    }
}
