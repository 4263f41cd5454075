//! The values that a stored release was rendered with.

use std::sync::Arc;

use podium_chart::dialect::Dialect;
use podium_chart::values::{Coalesce, Defaults, Error, Values};
use podium_goyaml::{Map, Node, Pos};

use crate::record::Release;

/// The chart of a record; it has no subcharts, since Helm does not store them.
#[derive(Clone, Copy)]
struct RecordedChart<'a> {
    name: &'a str,
    values: &'a Values,
}

impl Defaults for RecordedChart<'_> {
    fn name(&self) -> Arc<str> {
        self.name.into()
    }

    fn values(&self) -> Option<&Values> {
        Some(self.values)
    }

    fn dependencies(&self) -> Vec<Self> {
        Vec::new()
    }
}

impl Release {
    /// The user-supplied values coalesced with the stored chart's defaults.
    pub fn computed_values(&self, dialect: &Dialect) -> Result<Node, Error> {
        let none = Map::new();
        let defaults = self.chart.as_ref().and_then(|chart| chart.get("values")).and_then(Node::as_map);
        let defaults = Values::from_map(defaults.unwrap_or(&none), Pos::default())?;
        let set = Values::from_map(self.config.as_ref().unwrap_or(&none), Pos::default())?;
        let chart = RecordedChart { name: self.chart_field("name"), values: &defaults };
        Coalesce::coalesce(chart, &set, dialect, &mut Vec::new())?.to_node()
    }
}
