//! Values against the charts' schemas.

use std::sync::{Arc, OnceLock};

use podium_goyaml::Node;
use podium_jsonschema::Schema;

pub use podium_jsonschema::Resolver;

use crate::gofmt;
use crate::values::{Cell, TableId, Values};
use crate::view::{ChartId, View};

/// A `values.schema.json`, compiled when it is first needed.
#[derive(Debug)]
pub struct ChartSchema {
    text: Arc<[u8]>,
    compiled: OnceLock<Result<Schema, String>>,
}

impl ChartSchema {
    /// A schema that is not yet compiled.
    pub fn new(text: Arc<[u8]>) -> Self {
        Self { text, compiled: OnceLock::new() }
    }

    /// The file's content.
    pub fn text(&self) -> &Arc<[u8]> {
        &self.text
    }

    /// Checks values; the error is what Helm shows below the chart's name.
    pub(crate) fn check(&self, values: &Node, resolver: Option<&dyn Resolver>) -> Result<(), String> {
        let compile = || Schema::compile(&self.text, resolver).map_err(|error| error.to_string());
        let now;
        // What a resolver answers can change, so only schemas without one are kept.
        let compiled = if resolver.is_none() {
            self.compiled.get_or_init(compile)
        } else {
            now = compile();
            &now
        };
        let schema = compiled.as_ref().map_err(Clone::clone)?;
        schema.validate(values).map_err(|error| error.helm_text())
    }
}

/// The document at an URL that a schema refers to, if it is a file of this machine: then `read` gets its path.
pub fn local_document(url: &str, read: impl Fn(&str) -> Result<Vec<u8>, String>) -> Result<Vec<u8>, String> {
    match url.strip_prefix("file://") {
        Some(path) => read(&crate::text::unescape_path(path)),
        None => Err("references to other documents are not followed".to_owned()),
    }
}

/// Checks the values of every chart that has a schema. The error lists all charts whose values are not right.
///
/// References to other documents are not followed.
pub fn validate(view: &View, values: &Values) -> Result<(), String> {
    validate_with(view, values, None)
}

/// Like [`validate`], with a resolver for references to other documents.
pub fn validate_with(view: &View, values: &Values, resolver: Option<&dyn Resolver>) -> Result<(), String> {
    let mut errors = String::new();
    check(view, view.root(), values, values.root(), resolver, &mut errors)?;
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Checks a chart and its subcharts. The depth of recursion is that of the charts.
fn check(
    view: &View,
    chart: ChartId,
    values: &Values,
    table: TableId,
    resolver: Option<&dyn Resolver>,
    errors: &mut String,
) -> Result<(), String> {
    if let Some(schema) = view.chart(chart).and_then(|chart| chart.schema.as_ref()) {
        let node = values.graph().to_node(table).map_err(|error| error.to_string())?;
        if let Err(error) = schema.check(&node, resolver) {
            errors.push_str(&format!("{}:\n{error}", view.name(chart)));
        }
    }
    for subchart in view.dependencies(chart) {
        let name = view.name(*subchart);
        match values.graph().get(table, &name) {
            Some(Cell::Table(inner)) => check(view, *subchart, values, *inner, resolver, errors)?,
            None => {}
            Some(cell) => {
                if let Some(kind) = cell.node().and_then(|node| gofmt::type_name(node)) {
                    errors.push_str(&format!(
                        "{name}:\ninvalid type for values: expected object (map), got {kind}\n"
                    ));
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::load_files;
    use crate::dialect::HELM4;
    use crate::files::File;

    fn check_charts(root_values: &str) -> Result<(), String> {
        let schema = br#"{"properties": {"port": {"type": "integer"}}, "required": ["port"]}"#;
        let file = |name: &str, text: &[u8]| File::new(name, text);
        let files = vec![
            file("Chart.yaml", b"apiVersion: v2\nname: root\nversion: 1.0.0\n"),
            file("values.yaml", root_values.as_bytes()),
            file("values.schema.json", schema),
            file("charts/sub/Chart.yaml", b"apiVersion: v2\nname: sub\nversion: 1.0.0\n"),
            file("charts/sub/values.schema.json", schema),
        ];
        let chart = load_files(files, &HELM4).unwrap().chart;
        let view = View::new(&chart);
        let values = view.coalesce_values(&Values::default(), &HELM4, &mut Vec::new()).unwrap();
        validate(&view, &values)
    }

    #[test]
    fn all_charts_are_listed_with_what_is_wrong() {
        assert_eq!(check_charts("port: 1\nsub: {port: 2}\n"), Ok(()));
        assert_eq!(
            check_charts("port: a\nsub: {}\n").unwrap_err(),
            "root:\n- at '/port': got string, want integer\nsub:\n- at '': missing property 'port'\n"
        );
    }
}
