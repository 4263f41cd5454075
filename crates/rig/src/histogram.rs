//! How often each function met each kind of argument.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::generate::Case;
use crate::generate::functions::ALL;
use crate::generate::kinds::Kind;
use crate::request::Dialect;

/// Counts per function and kind.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    cells: BTreeMap<(&'static str, Kind), usize>,
    dialect: Dialect,
}

impl Histogram {
    /// Counts the calls of the cases that a dialect has functions for.
    pub fn of(cases: &[Case], dialect: Dialect) -> Self {
        let mut cells = BTreeMap::new();
        for case in cases.iter().filter(|c| dialect == Dialect::Helm4 || !c.only4) {
            for cell in &case.cells {
                *cells.entry(*cell).or_default() += 1;
            }
        }
        Histogram { cells, dialect }
    }

    fn rows(&self) -> impl Iterator<Item = &'static str> {
        let all = self.dialect == Dialect::Helm4;
        ALL.iter().filter(move |f| all || !f.only4).map(|f| f.name)
    }

    fn count(&self, name: &'static str, kind: Kind) -> usize {
        self.cells.get(&(name, kind)).copied().unwrap_or(0)
    }

    /// The cells that nothing fell into.
    pub fn empty(&self) -> Vec<(&'static str, Kind)> {
        self.rows()
            .flat_map(|name| Kind::ALL.map(|kind| (name, kind)))
            .filter(|(name, kind)| self.count(name, *kind) == 0)
            .collect()
    }

    /// A table with a row per function.
    pub fn table(&self) -> String {
        let mut out = format!("{:<27}", "function");
        for kind in Kind::ALL {
            let _ = write!(out, "{:>11}", kind.label());
        }
        for name in self.rows() {
            let _ = write!(out, "\n{name:<27}");
            for kind in Kind::ALL {
                let _ = write!(out, "{:>11}", self.count(name, kind));
            }
        }
        out.push('\n');
        out
    }
}
