//! The rules of dependencies.

use std::collections::HashSet;

use super::{Report, Severity, Subject};
use crate::chart::Chart;

pub(super) fn check(subject: &Subject, report: &mut Report) {
    let chart = match &subject.loaded {
        Ok(loaded) => &loaded.chart,
        Err(error) => {
            report.rule(Severity::Error, "", Err(format!("unable to load chart\n\t{error}")));
            return;
        }
    };
    // A chart with two dependencies of one name is not loaded, so there is nothing to say about that here.
    report.rule(Severity::Error, &subject.directory, all_are_listed(chart));
    report.rule(Severity::Warning, &subject.directory, all_are_there(chart));
}

fn all_are_listed(chart: &Chart) -> Result<(), String> {
    let listed: HashSet<&str> =
        chart.metadata.dependencies.iter().flatten().map(|dependency| dependency.name.as_str()).collect();
    let there = chart.dependencies.iter().map(|chart| chart.metadata.name.as_str());
    let missing: Vec<&str> = there.filter(|name| !listed.contains(name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!("chart metadata is missing these dependencies: {}", missing.join(",")))
}

fn all_are_there(chart: &Chart) -> Result<(), String> {
    let missing = crate::dependencies::missing(chart);
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!("chart directory is missing these dependencies: {}", missing.join(",")))
}
