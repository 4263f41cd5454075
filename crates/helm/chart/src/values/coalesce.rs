//! Merging: a chart's defaults under what was set for it, globals from parent to subchart, table into table.

use std::sync::Arc;

use podium_goyaml::Pos;

use super::graph::{Cell, Graph, MAX_DEPTH, TableId, Values, cell_node};
use super::{Error, GLOBAL, NoTable};
use crate::dialect::Dialect;
use crate::gofmt;
use crate::warning::Warning;

/// More pairs of tables than this are not merged.
const MAX_MERGES: usize = 1_000_000;

/// A chart as merging sees it.
pub trait Defaults: Copy {
    /// The chart's name, or its alias.
    fn name(&self) -> Arc<str>;
    /// The chart's own values, if it has any.
    fn values(&self) -> Option<&Values>;
    /// The subcharts.
    fn dependencies(&self) -> Vec<Self>;
}

/// What becomes of nulls.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nulls {
    /// A null deletes what it meets: the final values.
    Delete,
    /// Nulls stay, so that a later step can delete with them.
    Keep,
}

/// Merges values and collects what there is to warn about.
pub struct Coalesce<'a> {
    dialect: &'a Dialect,
    warnings: &'a mut Vec<Warning>,
    graph: Graph,
    merges: usize,
}

impl<'a> Coalesce<'a> {
    /// The values that a chart and its subcharts see: what was set, then the charts' defaults; nulls delete.
    pub fn coalesce<C: Defaults>(
        chart: C,
        set: &Values,
        dialect: &'a Dialect,
        warnings: &'a mut Vec<Warning>,
    ) -> Result<Values, Error> {
        Self::start(chart, set, dialect, warnings, Nulls::Delete)
    }

    /// Like [`Self::coalesce`], but nulls stay.
    pub fn merge<C: Defaults>(
        chart: C,
        set: &Values,
        dialect: &'a Dialect,
        warnings: &'a mut Vec<Warning>,
    ) -> Result<Values, Error> {
        Self::start(chart, set, dialect, warnings, Nulls::Keep)
    }

    /// Merges tables of existing values into each other; nulls stay.
    pub(crate) fn on(
        values: Values,
        dialect: &'a Dialect,
        warnings: &'a mut Vec<Warning>,
    ) -> (Self, TableId) {
        (Self { dialect, warnings, graph: values.graph, merges: 0 }, values.root)
    }

    fn start<C: Defaults>(
        chart: C,
        set: &Values,
        dialect: &'a Dialect,
        warnings: &'a mut Vec<Warning>,
        nulls: Nulls,
    ) -> Result<Values, Error> {
        let Values { graph, root } = set.unshared()?;
        let mut run = Self { dialect, warnings, graph, merges: 0 };
        run.chart(chart, root, "", nulls)?;
        Ok(Values { graph: run.graph, root })
    }

    pub(crate) fn new_table(&mut self) -> TableId {
        self.graph.add(Pos::default())
    }

    pub(crate) fn warn(&mut self, warning: Warning) {
        self.warnings.push(warning);
    }

    /// The table at a dotted path below a table.
    pub(crate) fn table(&self, root: TableId, path: &str) -> Result<TableId, NoTable> {
        self.graph.table_at(root, path)
    }

    /// A copy that shares nothing with the original.
    pub(crate) fn copy(&mut self, table: TableId) -> Result<TableId, Error> {
        self.graph.deep_copy(None, table, |_| true)
    }

    /// Puts a table below a dotted path of new tables; `.` is no path at all. Of an empty table only a copy is used.
    pub(crate) fn nested(&mut self, table: TableId, path: &str) -> Result<TableId, Error> {
        let mut table = if self.graph.len(table) == 0 { self.new_table() } else { table };
        if path != "." {
            for part in path.rsplit('.') {
                let outer = self.graph.add(self.graph.pos(table));
                self.graph.share(outer, part.into(), Cell::Table(table))?;
                table = outer;
            }
        }
        Ok(table)
    }

    pub(crate) fn finish(self, root: TableId) -> Values {
        Values { graph: self.graph, root }
    }

    fn chart<C: Defaults>(
        &mut self,
        chart: C,
        into: TableId,
        prefix: &str,
        nulls: Nulls,
    ) -> Result<(), Error> {
        let prefix = dotted(prefix, &chart.name());
        let dependencies = chart.dependencies();
        if let Some(values) = chart.values() {
            let names: Vec<_> = dependencies.iter().map(Defaults::name).collect();
            self.defaults(values, &names, into, &prefix, nulls)?;
        }
        for dependency in dependencies {
            let name = dependency.name();
            let table = match self.graph.get(into, &name) {
                Some(Cell::Table(table)) => *table,
                Some(cell) => {
                    let value = cell.node().map(|node| gofmt::as_bool(node)).unwrap_or_default();
                    return Err(Error::TypeMismatch { name: name.to_string(), value });
                }
                None => {
                    let table = self.graph.add(self.graph.pos(into));
                    self.graph.set(into, name, Cell::Table(table))?;
                    table
                }
            };
            self.globals(table, into, &prefix)?;
            self.chart(dependency, table, &prefix, nulls)?;
        }
        Ok(())
    }

    /// Puts a chart's own values under what is there. `prefix` ends with the chart's name.
    fn defaults(
        &mut self,
        values: &Values,
        subcharts: &[Arc<str>],
        into: TableId,
        prefix: &str,
        nulls: Nulls,
    ) -> Result<(), Error> {
        for (key, default) in values.graph.entries(values.root) {
            match self.graph.get(into, key) {
                None => self.adopt(into, key, &values.graph, default, nulls)?,
                Some(set) if set.is_null() => {
                    if nulls == Nulls::Delete {
                        self.graph.remove(into, key);
                    }
                }
                Some(Cell::Table(table)) => {
                    let table = *table;
                    match default {
                        Cell::Table(defaults) => {
                            // What a subchart will be given keeps its nulls: they delete the subchart's own defaults.
                            let nulls = if subcharts.contains(key) { Nulls::Keep } else { nulls };
                            self.under(table, &values.graph, *defaults, [prefix, key], nulls)?;
                        }
                        default if default.is_null() => {}
                        _ => self.warnings.push(Warning::NotATable { key: format!("{prefix}.{key}") }),
                    }
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Whether a default is left out because it is null.
    fn drops(&self, nulls: Nulls, default: &Cell) -> bool {
        self.dialect.drop_default_nulls && nulls == Nulls::Delete && default.is_null()
    }

    /// Copies a default to a key that has no value.
    fn adopt(
        &mut self,
        into: TableId,
        key: &Arc<str>,
        from: &Graph,
        default: &Cell,
        nulls: Nulls,
    ) -> Result<(), Error> {
        if self.drops(nulls, default) {
            return Ok(());
        }
        let cell = self.copy_default(from, default, nulls)?;
        self.graph.set(into, key.clone(), cell)
    }

    fn copy_default(&mut self, from: &Graph, cell: &Cell, nulls: Nulls) -> Result<Cell, Error> {
        let drop_nulls = self.dialect.drop_default_nulls && nulls == Nulls::Delete;
        match cell {
            Cell::Table(id) => {
                self.graph.deep_copy(Some(from), *id, |cell| !(drop_nulls && cell.is_null())).map(Cell::Table)
            }
            Cell::List(_, node) => Ok(self.graph.new_list(node.clone())),
            scalar => Ok(scalar.clone()),
        }
    }

    /// Puts a table of defaults under a table: what is there wins. `root` is where that is, in two parts.
    fn under(
        &mut self,
        table: TableId,
        from: &Graph,
        defaults: TableId,
        root: [&str; 2],
        nulls: Nulls,
    ) -> Result<(), Error> {
        let mut trail = Trail { root, steps: Vec::new() };
        let mut work = vec![(table, defaults, 0)];
        while let Some((table, defaults, at)) = work.pop() {
            self.count_merge()?;
            for (key, default) in from.entries(defaults) {
                let Some(set) = self.graph.get(table, key) else {
                    self.adopt(table, key, from, default, nulls)?;
                    continue;
                };
                if set.is_null() {
                    if nulls == Nulls::Delete && !default.is_null() {
                        self.graph.remove(table, key);
                    }
                    continue;
                }
                match (set.table(), default.table()) {
                    (Some(set), Some(default)) => work.push((set, default, trail.step(at, key))),
                    (None, Some(_)) => {
                        let copy = self.copy_default(from, default, nulls)?;
                        let value = gofmt::plain(&*cell_node(&self.graph, &copy)?);
                        self.warnings.push(Warning::CannotOverwriteTable { key: trail.path(at, key), value });
                    }
                    (Some(_), None) if !default.is_null() => {
                        let value = default.node().map(|node| gofmt::plain(node)).unwrap_or_default();
                        self.warnings.push(Warning::DestinationIsTable { key: trail.path(at, key), value });
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Hands a parent's globals down: the parent wins, and maps below the first level become shared.
    fn globals(&mut self, child: TableId, parent: TableId, prefix: &str) -> Result<(), Error> {
        let child_globals = match self.graph.get(child, GLOBAL) {
            None => self.graph.add(self.graph.pos(child)),
            Some(Cell::Table(id)) => *id,
            Some(_) => {
                self.warnings.push(Warning::GlobalDestination);
                return Ok(());
            }
        };
        let parent_globals = match self.graph.get(parent, GLOBAL) {
            None => Arc::default(),
            Some(Cell::Table(id)) => self.graph.snapshot(*id),
            Some(_) => {
                self.warnings.push(Warning::GlobalSource);
                return Ok(());
            }
        };
        for (key, value) in &parent_globals.entries {
            let there = self.graph.get(child_globals, key).cloned();
            let handed_down = match (value, there) {
                (Cell::Table(table), None) => Cell::Table(self.graph.shallow_copy(*table)?),
                (Cell::Table(table), Some(Cell::Table(own))) => {
                    let copy = self.graph.shallow_copy(*table)?;
                    self.merge_tables(copy, own, &dotted(prefix, key))?;
                    Cell::Table(copy)
                }
                (Cell::Table(_), Some(_)) => {
                    self.warnings.push(Warning::GlobalConflict { key: key.to_string() });
                    continue;
                }
                (_, Some(Cell::Table(_))) => {
                    self.warnings.push(Warning::GlobalIsTable { key: key.to_string() });
                    continue;
                }
                _ => value.clone(),
            };
            if handed_down.table().is_some() {
                self.graph.set(child_globals, key.clone(), handed_down)?;
            } else {
                self.graph.share(child_globals, key.clone(), handed_down)?;
            }
        }
        self.graph.set(child, GLOBAL.into(), Cell::Table(child_globals))
    }

    /// Merges one table of the graph into another; the first one wins, nulls stay, and tables that only the second
    /// one has are then in both.
    pub(crate) fn merge_tables(&mut self, into: TableId, from: TableId, prefix: &str) -> Result<(), Error> {
        let mut work = vec![(into, from, prefix.to_owned(), 0)];
        while let Some((into, from, prefix, depth)) = work.pop() {
            self.count_merge()?;
            if depth > MAX_DEPTH {
                return Err(Error::ContainsItself);
            }
            // A null of the first table also goes to the second one, which may be in other places, too.
            for (key, cell) in &self.graph.snapshot(into).entries {
                if cell.is_null() {
                    self.graph.set(from, key.clone(), cell.clone())?;
                }
            }
            for (key, cell) in &self.graph.snapshot(from).entries {
                let Some(there) = self.graph.get(into, key) else {
                    self.graph.share(into, key.clone(), cell.clone())?;
                    continue;
                };
                match (there.table(), cell.table()) {
                    (Some(there), Some(inner)) => {
                        work.push((there, inner, dotted(&prefix, key), depth + 1));
                    }
                    (None, Some(_)) => {
                        let value = gofmt::plain(&*cell_node(&self.graph, cell)?);
                        self.warnings
                            .push(Warning::CannotOverwriteTable { key: dotted(&prefix, key), value });
                    }
                    (Some(_), None) if !cell.is_null() => {
                        let value = cell.node().map(|node| gofmt::plain(node)).unwrap_or_default();
                        self.warnings.push(Warning::DestinationIsTable { key: dotted(&prefix, key), value });
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn count_merge(&mut self) -> Result<(), Error> {
        self.merges += 1;
        if self.merges > MAX_MERGES { Err(Error::TooLarge { limit: MAX_MERGES }) } else { Ok(()) }
    }
}

/// Puts values under others, which win; charts play no part. A null of the upper ones deletes what it meets, and one of
/// the lower ones stays.
pub fn tables(
    upper: &Values,
    lower: &Values,
    dialect: &Dialect,
    warnings: &mut Vec<Warning>,
) -> Result<Values, Error> {
    let dialect = Dialect { drop_default_nulls: false, ..dialect.clone() };
    let Values { graph, root } = upper.unshared()?;
    let mut run = Coalesce { dialect: &dialect, warnings, graph, merges: 0 };
    run.under(root, &lower.graph, lower.root, [""; 2], Nulls::Delete)?;
    Ok(Values { graph: run.graph, root })
}

/// Where tables are. Nearly always nobody is warned, so a path is put together only when somebody is.
struct Trail<'t> {
    root: [&'t str; 2],
    /// The number of the step before, from 1, and a key.
    steps: Vec<(usize, &'t str)>,
}

impl<'t> Trail<'t> {
    /// Goes one key further, and gives the number of this step.
    fn step(&mut self, before: usize, key: &'t str) -> usize {
        self.steps.push((before, key));
        self.steps.len()
    }

    /// The path of a key after a step.
    fn path(&self, mut step: usize, key: &str) -> String {
        let mut keys = vec![key];
        while let Some((before, key)) = step.checked_sub(1).and_then(|at| self.steps.get(at)) {
            keys.push(key);
            step = *before;
        }
        let whole = self.root.iter().chain(keys.iter().rev());
        whole.fold(String::new(), |path, key| dotted(&path, key))
    }
}

fn dotted(prefix: &str, key: &str) -> String {
    if prefix.is_empty() { key.to_owned() } else { [prefix, ".", key].concat() }
}
