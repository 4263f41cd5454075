//! Values: what users and charts set, merged as Helm merges it.
//!
//! Helm merges Go maps in place, and some of its results depend on two places holding the *same* map: a global map
//! that a parent and a subchart share, a table that was imported into several places. [`Graph`] therefore keeps
//! tables by number, and a table can be in several places; a template that changes one of them changes all.
//!
//! Where Go walks a map in random order, keys are taken in sorted order here.

mod coalesce;
mod graph;
mod lookup;

pub use coalesce::{Coalesce, Defaults, tables};
pub use graph::{Cell, Graph, ListId, TableId, Values};
pub use lookup::NoTable;

/// The key whose values are handed down to subcharts.
pub const GLOBAL: &str = "global";

/// Why values cannot be merged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The value of a subchart's name is no map.
    #[error("type mismatch on {name}: {value}")]
    TypeMismatch {
        /// The subchart.
        name: String,
        /// The value, in Go's notation.
        value: String,
    },
    /// The merged values are too large.
    #[error(
        "values have more than {limit} entries after merging; set fewer, and check import-values for what is imported twice"
    )]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// Aliases have multiplied the subcharts.
    #[error("the chart has more than {limit} subcharts with their aliases; check the aliases below {chart}")]
    TooManyCharts {
        /// The limit.
        limit: usize,
        /// The chart whose dependencies were one too many.
        chart: String,
    },
    /// A table contains itself. Helm crashes on such imports.
    #[error(
        "values contain themselves after merging; check import-values for imports that contain each other"
    )]
    ContainsItself,
}

#[cfg(test)]
mod tests;
