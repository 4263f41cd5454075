//! Which subcharts take part in a render, under which names, and what their parents import of their values.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use podium_goyaml::{Node, Value};
use podium_versions::masterminds::{Constraints, Version};

use crate::dialect::Dialect;
use crate::gofmt;
use crate::metadata::ImportValue;
use crate::values::{Coalesce, Error, Values};
use crate::view::{ChartId, Of, RequirementId, View};
use crate::warning::Warning;

/// More charts than this are refused: each alias doubles everything below it, so that a few of them in each other would
/// fill the memory.
const MAX_CHARTS: usize = 50_000;

/// Reports whether a version satisfies a constraint; what cannot be read never does.
pub fn is_compatible(constraint: &str, version: &str) -> bool {
    match (Version::new(version), Constraints::new(constraint)) {
        (Ok(version), Ok(constraints)) => constraints.check(&version),
        _ => false,
    }
}

/// Switches dependencies on and off, gives them their aliases and imports their values.
pub fn process(
    view: &mut View,
    set: &Values,
    dialect: &Dialect,
    warnings: &mut Vec<Warning>,
) -> Result<(), Error> {
    let mut run = Process { view, dialect, warnings };
    let root = run.view.root();
    run.switch(root, set, "")?;
    run.import(root)
}

/// The names of dependencies that `Chart.yaml` lists but `charts/` does not hold.
pub fn missing(chart: &crate::chart::Chart) -> Vec<String> {
    let there: HashSet<&str> = chart.dependencies.iter().map(|d| d.metadata.name.as_str()).collect();
    let listed = chart.metadata.dependencies.iter().flatten().map(|dependency| dependency.name.clone());
    listed.filter(|name| !there.contains(name.as_str())).collect()
}

struct Process<'a> {
    view: &'a mut View,
    dialect: &'a Dialect,
    warnings: &'a mut Vec<Warning>,
}

impl Process<'_> {
    /// Decides for a chart's dependencies and goes on with those that stay. `path` is where the chart's values are
    /// in the outermost chart's, with a dot at its end. The depth of recursion is that of the charts.
    fn switch(&mut self, chart: ChartId, set: &Values, path: &str) -> Result<(), Error> {
        let Some(requirements) = self.view.requirements(chart).map(<[_]>::to_vec) else { return Ok(()) };
        let dependencies = self.find_dependencies(chart, &requirements);
        if self.view.size() > MAX_CHARTS {
            return Err(Error::TooManyCharts { limit: MAX_CHARTS, chart: self.view.full_path(chart) });
        }
        self.view.set_dependencies(chart, dependencies);
        for id in &requirements {
            if let Some(requirement) = self.view.requirement_mut(*id) {
                requirement.enabled = true;
            }
        }
        // Helm merges a subchart's values into the root of the values here; conditions then look below the path.
        let values = Coalesce::coalesce(Of(self.view, chart), set, self.dialect, self.warnings)?;
        self.apply_tags(&requirements, &values);
        self.apply_conditions(&requirements, &values, path);

        let off: Vec<_> = requirements
            .iter()
            .filter_map(|id| self.view.requirement(*id))
            .filter(|requirement| !requirement.enabled)
            .map(|requirement| requirement.name.clone())
            .collect();
        let mut on = self.view.dependencies(chart).to_vec();
        on.retain(|id| !off.iter().any(|name| **name == *self.view.name(*id)));
        let mut kept = requirements;
        kept.retain(|id| self.view.requirement(*id).is_some_and(|r| !off.contains(&r.name)));
        for dependency in &on {
            let name = self.view.name(*dependency);
            self.switch(*dependency, &values, &format!("{path}{name}."))?;
        }
        self.view.set_requirements(chart, kept);
        self.view.set_dependencies(chart, on);
        Ok(())
    }

    /// The subcharts that nobody lists, then one for each requirement that a subchart satisfies.
    fn find_dependencies(&mut self, chart: ChartId, requirements: &[RequirementId]) -> Vec<ChartId> {
        let mut found = self.view.dependencies(chart).to_vec();
        let mut by_name: HashMap<Arc<str>, Vec<ChartId>> = HashMap::new();
        for id in &found {
            by_name.entry(self.view.name(*id)).or_default().push(*id);
        }
        let mut listed = HashSet::new();
        let satisfying = |requirement: &RequirementId| {
            let requirement = self.view.requirement(*requirement)?;
            let named = by_name.get(requirement.name.as_str())?.iter().copied();
            let satisfies = |id: &ChartId| {
                let chart = self.view.chart(*id);
                chart.is_some_and(|chart| is_compatible(&requirement.version, &chart.metadata.version))
            };
            let mut first = None;
            for id in named.filter(satisfies) {
                listed.insert(id);
                first.get_or_insert(id);
            }
            first
        };
        let candidates: Vec<Option<ChartId>> = requirements.iter().map(satisfying).collect();
        found.retain(|id| !listed.contains(id));
        for (requirement, candidate) in requirements.iter().zip(candidates) {
            let alias = self.view.requirement(*requirement).map(|r| r.alias.clone()).unwrap_or_default();
            let own_children = self.dialect.alias_owns_children;
            found.extend(candidate.and_then(|id| self.view.copy_as(id, &alias, own_children)));
            if let Some(requirement) = self.view.requirement_mut(*requirement).filter(|_| !alias.is_empty()) {
                requirement.name = alias;
            }
        }
        found
    }

    /// A dependency with tags of which some are set, and all of those to false, is off.
    fn apply_tags(&mut self, requirements: &[RequirementId], values: &Values) {
        let Ok(tags) = values.table("tags") else { return };
        for id in requirements {
            let Some(requirement) = self.view.requirement_mut(*id) else { continue };
            let (mut any_on, mut any_off) = (false, false);
            for tag in &requirement.tags {
                match values.graph().get(tags, tag) {
                    None => {}
                    Some(cell) => match cell.node().map(|node| &node.value) {
                        Some(Value::Bool(true)) => any_on = true,
                        Some(Value::Bool(false)) => any_off = true,
                        _ => self
                            .warnings
                            .push(Warning::TagNotBool { tag: tag.clone(), chart: requirement.name.clone() }),
                    },
                }
            }
            requirement.enabled = any_on || !any_off;
        }
    }

    /// The first of a dependency's conditions that is a boolean decides.
    fn apply_conditions(&mut self, requirements: &[RequirementId], values: &Values, path: &str) {
        for id in requirements {
            let Some(requirement) = self.view.requirement_mut(*id) else { continue };
            let conditions = crate::text::trim_space(&requirement.condition).to_owned();
            for condition in conditions.split(',').filter(|condition| !condition.is_empty()) {
                match values.value(&format!("{path}{condition}")).map(|node| &node.value) {
                    None => {}
                    Some(Value::Bool(enabled)) => {
                        requirement.enabled = *enabled;
                        break;
                    }
                    Some(_) => self.warnings.push(Warning::ConditionNotBool {
                        path: condition.to_owned(),
                        chart: requirement.name.clone(),
                    }),
                }
            }
        }
    }

    /// Imports values, innermost charts first. The depth of recursion is that of the charts.
    fn import(&mut self, chart: ChartId) -> Result<(), Error> {
        for dependency in self.view.dependencies(chart).to_vec() {
            self.import(dependency)?;
        }
        let Some(requirements) = self.view.requirements(chart).map(<[_]>::to_vec) else { return Ok(()) };
        let nothing = Values::default();
        let values = Coalesce::merge(Of(self.view, chart), &nothing, self.dialect, self.warnings)?;
        let (mut merge, root) = Coalesce::on(values, self.dialect, self.warnings);
        let imported = merge.new_table();
        let mut any = false;
        for id in requirements {
            let Some(requirement) = self.view.requirement_mut(id) else { continue };
            let written = std::mem::take(&mut requirement.import_values);
            for entry in written {
                let Some(import) = Import::new(entry) else { continue };
                let path = format!("{}.{}", requirement.name, import.child);
                match merge.table(root, &path) {
                    Ok(table) => {
                        let table = merge.nested(table, &import.parent)?;
                        merge.merge_tables(imported, table, "")?;
                        any = true;
                    }
                    Err(missing) => merge.warn(import.missing(&requirement.name, missing.0)),
                }
                requirement
                    .import_values
                    .push(ImportValue::Done { child: import.child, parent: import.parent });
            }
        }
        let values = if any {
            // What the parent says itself wins over what it imports.
            let copy = merge.copy(root)?;
            merge.merge_tables(copy, imported, "")?;
            merge.finish(copy).compact()?
        } else {
            merge.finish(root)
        };
        self.view.set_values(chart, values);
        Ok(())
    }
}

/// One import: from which path of the dependency to which of the parent.
struct Import {
    child: String,
    parent: String,
    is_export: bool,
}

impl Import {
    /// Nothing for entries that are neither a string nor a map; they are dropped. So are those that were carried
    /// out before, which happens where two aliases share a requirement.
    fn new(entry: ImportValue) -> Option<Self> {
        let ImportValue::Written(node) = entry else { return None };
        match &node.value {
            Value::String(name) => {
                Some(Self { child: format!("exports.{name}"), parent: ".".to_owned(), is_export: true })
            }
            Value::Map(map) => {
                let text = |key| gofmt::plain(map.get(key).unwrap_or(&Node::default()));
                Some(Self { child: text("child"), parent: text("parent"), is_export: false })
            }
            _ => None,
        }
    }

    fn missing(&self, chart: &str, table: String) -> Warning {
        if self.is_export {
            Warning::ExportMissing { table }
        } else {
            Warning::ImportMissing { chart: chart.to_owned(), table }
        }
    }
}
