//! Tables that can be in several places at once.

use std::sync::Arc;

use podium_entries::Entries;
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

impl TableId {
    /// The number of the table: they are counted from 0.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    /// The number again.
    pub(crate) fn number(self) -> u32 {
        self.0
    }

    /// The table of a number.
    pub(crate) fn of(number: u32) -> Self {
        Self(number)
    }
}

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

    fn nests(&self) -> bool {
        !matches!(self, Self::Scalar(_))
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
    pub(super) entries: Entries<Arc<str>, Cell>,
    /// Whether there may be more than scalars in it. Without, a copy can be the same table until it is changed.
    nests: bool,
}

impl Table {
    fn new(pos: Pos, entries: Entries<Arc<str>, Cell>) -> Self {
        let nests = entries.values().any(Cell::nests);
        Self { pos, entries, nests }
    }
}

/// Tables by number. A copy is cheap: tables are copied when they are changed.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    tables: Vec<Arc<Table>>,
    lists: u32,
    cells: usize,
    /// The entries through which a table or list is in one place more.
    shared: Vec<(TableId, Arc<str>)>,
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
        self.tables.get(id.0 as usize).map(|table| &**table)
    }

    fn table_mut(&mut self, id: TableId) -> Option<&mut Table> {
        self.tables.get_mut(id.0 as usize).map(Arc::make_mut)
    }

    /// A table as it is now; changes do not show in it.
    pub(super) fn snapshot(&self, id: TableId) -> Arc<Table> {
        self.tables.get(id.0 as usize).cloned().unwrap_or_default()
    }

    /// Adds an empty table.
    pub(super) fn add(&mut self, pos: Pos) -> TableId {
        self.push(Arc::new(Table::new(pos, Entries::new())))
    }

    fn push(&mut self, table: Arc<Table>) -> TableId {
        self.tables.push(table);
        TableId(u32::try_from(self.tables.len() - 1).unwrap_or(u32::MAX))
    }

    fn count_cells(&mut self, more: usize) -> Result<(), Error> {
        self.cells = self.cells.saturating_add(more);
        if self.cells > MAX_CELLS { Err(Error::TooLarge { limit: MAX_CELLS }) } else { Ok(()) }
    }

    fn add_list(&mut self) -> ListId {
        self.lists = self.lists.saturating_add(1);
        ListId(self.lists)
    }

    /// A list with a number of its own.
    pub(super) fn new_list(&mut self, node: Arc<Node>) -> Cell {
        Cell::List(self.add_list(), node)
    }

    /// How many tables there are.
    pub(crate) fn size(&self) -> usize {
        self.tables.len()
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

    /// Sets an entry. The cell must not be anywhere else; see [`Self::share`].
    pub(super) fn set(&mut self, id: TableId, key: Arc<str>, cell: Cell) -> Result<(), Error> {
        let Some(table) = self.table_mut(id) else { return Ok(()) };
        table.nests |= cell.nests();
        if table.entries.insert(key, cell).is_none() { self.count_cells(1) } else { Ok(()) }
    }

    /// Sets an entry to a cell that is in another place, too.
    pub(super) fn share(&mut self, id: TableId, key: Arc<str>, cell: Cell) -> Result<(), Error> {
        if cell.nests() {
            self.shared.push((id, key.clone()));
        }
        self.set(id, key, cell)
    }

    pub(super) fn remove(&mut self, id: TableId, key: &str) {
        if let Some(table) = self.table_mut(id) {
            table.entries.remove(key);
        }
    }

    /// A table with the same entries: the tables below it are in both.
    pub(super) fn shallow_copy(&mut self, id: TableId) -> Result<TableId, Error> {
        let table = self.snapshot(id);
        self.count_cells(table.entries.len())?;
        let copy = self.push(table.clone());
        let nested = table.entries.iter().filter(|(_, cell)| cell.nests());
        self.shared.extend(nested.map(|(key, _)| (copy, key.clone())));
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
        let mut work = Vec::new();
        let root = self.copy_table(from, id, 0, &keep, &mut work)?;
        while let Some((original, copy, depth)) = work.pop() {
            if depth > MAX_DEPTH {
                return Err(Error::ContainsItself);
            }
            let mut copied = Vec::with_capacity(original.entries.len());
            for (key, cell) in original.entries.iter().filter(|(_, cell)| keep(cell)) {
                let cell = match cell {
                    Cell::Table(inner) => {
                        Cell::Table(self.copy_table(from, *inner, depth + 1, &keep, &mut work)?)
                    }
                    Cell::List(_, node) => self.new_list(node.clone()),
                    scalar => scalar.clone(),
                };
                copied.push((key.clone(), cell));
            }
            self.count_cells(copied.len())?;
            if let Some(place) = self.tables.get_mut(copy.0 as usize) {
                *place = Arc::new(Table::new(original.pos, copied.into_iter().collect()));
            }
        }
        Ok(root)
    }

    /// Adds a copy of a table. One that cannot be the same table as its original is put on the work list.
    fn copy_table(
        &mut self,
        from: Option<&Graph>,
        id: TableId,
        depth: usize,
        keep: impl Fn(&Cell) -> bool,
        work: &mut Vec<(Arc<Table>, TableId, usize)>,
    ) -> Result<TableId, Error> {
        let table = from.unwrap_or(self).snapshot(id);
        let copy = self.push(table.clone());
        if table.nests || !table.entries.values().all(keep) {
            work.push((table, copy, depth));
        } else {
            self.count_cells(table.entries.len())?;
        }
        Ok(copy)
    }

    /// Makes every table and list be in one place only.
    fn unshare(&mut self) -> Result<(), Error> {
        for (id, key) in std::mem::take(&mut self.shared) {
            let own = match self.get(id, &key) {
                Some(Cell::Table(inner)) => Cell::Table(self.deep_copy(None, *inner, |_| true)?),
                Some(Cell::List(_, node)) => self.new_list(node.clone()),
                _ => continue,
            };
            self.set(id, key, own)?;
        }
        Ok(())
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
        let rest = graph.entries(id).map(|(key, cell)| (key.clone(), cell.clone())).collect();
        Self { key, pos: graph.pos(id), map: Map::new(), rest }
    }
}

impl Values {
    /// Values from a tree.
    pub fn from_map(map: &Map, pos: Pos) -> Result<Self, Error> {
        Self::from_owned(map.clone(), pos)
    }

    /// Values from a tree that is not needed any more.
    pub fn from_owned(map: Map, pos: Pos) -> Result<Self, Error> {
        let mut graph = Graph::default();
        // What stands for a table until its turn comes.
        let empty = Arc::new(Table::default());
        let root = graph.push(empty.clone());
        let mut work = vec![(map, pos, root)];
        while let Some((map, pos, id)) = work.pop() {
            let entries = map.into_entries().map(|(key, node)| {
                let cell = match node.value {
                    Value::Map(inner) => {
                        let inner_id = graph.push(empty.clone());
                        work.push((inner, node.pos, inner_id));
                        Cell::Table(inner_id)
                    }
                    value @ Value::List(_) => graph.new_list(Arc::new(Node { value, pos: node.pos })),
                    value => Cell::Scalar(Arc::new(Node { value, pos: node.pos })),
                };
                (key, cell)
            });
            let entries: Entries<_, _> = entries.collect();
            graph.count_cells(entries.len())?;
            if let Some(table) = graph.tables.get_mut(id.0 as usize) {
                *table = Arc::new(Table::new(pos, entries));
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

    /// A copy with nothing shared inside.
    pub(super) fn unshared(&self) -> Result<Self, Error> {
        let mut copy = self.clone();
        copy.graph.unshare()?;
        Ok(copy)
    }
}

/// Go's `%v` of a cell needs it as a node.
pub(super) fn cell_node(graph: &Graph, cell: &Cell) -> Result<Arc<Node>, Error> {
    match cell {
        Cell::Table(id) => graph.to_node(*id).map(Arc::new),
        Cell::Scalar(node) | Cell::List(_, node) => Ok(node.clone()),
    }
}
