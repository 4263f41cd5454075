//! The rules of `values.yaml`.

use std::sync::Arc;

use podium_goyaml::yaml::types::{OBJECT, Type};
use podium_goyaml::{Pos, yaml};

use super::{Options, Report, Severity, Subject};
use crate::dialect::Dialect;
use crate::load::Place;
use crate::schema::ChartSchema;
use crate::values::{Values, tables};

const FILE: &str = "values.yaml";

pub(super) fn check(subject: &Subject, options: &Options<'_>, dialect: &Dialect, report: &mut Report) {
    let exists = if subject.values.exists() { Ok(()) } else { Err("file does not exist".to_owned()) };
    if report.rule(Severity::Info, FILE, exists) {
        report.rule(Severity::Error, FILE, values(subject, options, dialect));
    }
}

/// The values have to be a map, and what the chart's own schema asks for; subcharts are not looked at.
fn values(subject: &Subject, options: &Options<'_>, dialect: &Dialect) -> Result<(), String> {
    let parsed = subject.values.content(&subject.directory, FILE);
    let ty = Type { go: dialect.lint.values_type, ..OBJECT };
    let parsed = parsed.and_then(|text| yaml::parse_as(text, 0, &ty).map_err(|error| error.to_string()));
    let parsed = parsed.map_err(|error| format!("unable to parse YAML: {error}"))?;
    let values = parsed.as_map().cloned().unwrap_or_default();
    let schema = match &subject.schema {
        Place::File(Ok(schema)) if !schema.is_empty() => schema,
        _ => return Ok(()),
    };
    if !options.schemas && dialect.lint.values_schema_can_be_skipped {
        return Ok(());
    }
    let values = Values::from_owned(values, Pos::default()).map_err(|error| error.to_string())?;
    let all = tables(options.set, &values, dialect, &mut Vec::new());
    let all = all.and_then(|all| all.to_node()).map_err(|error| error.to_string())?;
    ChartSchema::new(Arc::from(schema.as_slice())).check(&all, options.resolver)
}
