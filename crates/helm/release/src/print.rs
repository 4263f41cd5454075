//! The output of `podium release`: Helm's tables, JSON and YAML.

use podium_chart::dialect::HELM4;
use podium_goyaml::{Node, Value};
use podium_meta::table;
use podium_sprig::gotime::Time;

use crate::helm_table;
use crate::live_objects::LiveObjects;
use crate::output::{Output, OutputFields};
use crate::record::{Hook, HookExecution, Release};

/// Go's time format in tables.
const ANSIC: &str = "Mon Jan _2 15:04:05 2006";
const RFC3339: &str = "2006-01-02T15:04:05Z07:00";

/// Why a release cannot be printed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The values cannot be coalesced with the chart's defaults.
    #[error(transparent)]
    Values(#[from] podium_chart::values::Error),
    /// JSON encoding failed.
    #[error("unable to write JSON output: {0}")]
    Json(#[from] podium_goyaml::json::Error),
    /// YAML encoding failed.
    #[error("unable to write YAML output: {0}")]
    Yaml(#[from] podium_goyaml::emit::Error),
}

fn format(time: &Time, layout: &str) -> String {
    String::from_utf8_lossy(&time.format(layout)).into_owned()
}

fn ansic(time: Option<&Time>) -> String {
    time.map_or_else(|| "Mon Jan  1 00:00:00 0001".to_owned(), |time| format(time, ANSIC))
}

pub(crate) fn json_time(time: Option<&Time>) -> Option<String> {
    time.and_then(|time| time.marshal_text().ok())
}

fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

/// The cells of a release in a list.
fn list_cells(release: &Release, time_format: &str) -> [String; 7] {
    let updated = match &release.info.last_deployed {
        None => "-".to_owned(),
        Some(time) if time_format.is_empty() => time.to_string(),
        Some(time) => format(time, time_format),
    };
    [
        release.name.clone(),
        release.namespace.clone(),
        release.revision.to_string(),
        updated,
        release.info.status.clone(),
        release.chart_name(),
        release.app_version().to_owned(),
    ]
}

/// `release list` as a table.
pub fn list_table(releases: &[Release], time_format: &str, headers: bool) -> String {
    let head = row(["NAME", "NAMESPACE", "REVISION", "UPDATED", "STATUS", "CHART", "APP VERSION"]);
    let mut rows = if headers { vec![head] } else { Vec::new() };
    rows.extend(releases.iter().map(|release| list_cells(release, time_format).to_vec()));
    helm_table::format_table(&rows)
}

/// `release list` as JSON or YAML.
pub fn list<'a>(releases: &[Release], time_format: &str) -> Output<'a> {
    const NAMES: [&str; 7] = ["name", "namespace", "revision", "updated", "status", "chart", "app_version"];
    let line = |release: &Release| {
        Output::Fields(NAMES.into_iter().zip(list_cells(release, time_format).map(Output::from)).collect())
    };
    Output::List(releases.iter().map(line).collect())
}

/// `release history` as a table; revisions are oldest first.
pub fn history_table(releases: &[Release], rollbacks: bool) -> String {
    let mut head = row(["REVISION", "UPDATED", "STATUS", "CHART", "APP VERSION", "DESCRIPTION"]);
    if rollbacks {
        head.insert(5, "ROLLBACK".to_owned());
    }
    let mut rows = vec![head];
    for release in releases {
        let mut cells = vec![
            release.revision.to_string(),
            ansic(release.info.last_deployed.as_ref()),
            release.info.status.clone(),
            release.chart_name(),
            release.app_version().to_owned(),
            release.info.description.clone(),
        ];
        if rollbacks {
            let to = release.info.rollback_revision;
            cells.insert(5, if to > 0 { to.to_string() } else { String::new() });
        }
        rows.push(cells);
    }
    helm_table::format_table(&rows)
}

/// `release history` as JSON or YAML.
pub fn history(releases: &[Release]) -> Output<'_> {
    Output::List(releases.iter().map(history_entry).collect())
}

fn history_entry(release: &Release) -> Output<'_> {
    let Release { revision, info, .. } = release;
    OutputFields::default()
        .add("revision", Output::Number(*revision))
        .add_some("updated", json_time(info.last_deployed.as_ref()))
        .add("status", info.status.as_str())
        .add("chart", release.chart_name())
        .add("app_version", release.app_version())
        .add_number("rollback_revision", info.rollback_revision)
        .add("description", info.description.as_str())
        .build()
}

/// `release status` as JSON or YAML: everything but the chart, with the live objects.
pub fn status<'a>(release: &'a Release, live: &'a LiveObjects) -> Output<'a> {
    release.to_output(None, Some(live))
}

/// `release install` and `upgrade` as JSON or YAML: everything, with the chart.
pub fn full_record(release: &Release) -> Output<'_> {
    release.to_output(release.chart.as_ref(), None)
}

pub(crate) fn hook_output(hook: &Hook) -> Output<'_> {
    let HookExecution { started_at, completed_at, phase } = &hook.last_run;
    let run = OutputFields::default()
        .add_some("started_at", json_time(started_at.as_ref()))
        .add_some("completed_at", json_time(completed_at.as_ref()))
        .add("phase", phase.as_str());
    OutputFields::default()
        .add_text("name", &hook.name)
        .add_text("kind", &hook.kind)
        .add_text("path", &hook.path)
        .add_text("manifest", &hook.manifest)
        .add_texts("events", &hook.events)
        .add("last_run", run.build())
        .add_number("weight", hook.weight)
        .add_texts("delete_policies", &hook.delete_policies)
        .add_texts("output_log_policies", &hook.output_log_policies)
        .build()
}

/// The header of `status` and `get all`.
fn header(release: &Release, with_chart: bool) -> String {
    let mut out = format!("NAME: {}\n", release.name);
    if let Some(time) = &release.info.last_deployed {
        out += &format!("LAST DEPLOYED: {}\n", format(time, ANSIC));
    }
    out += &format!(
        "NAMESPACE: {}\nSTATUS: {}\nREVISION: {}\n",
        release.namespace, release.info.status, release.revision
    );
    if with_chart {
        let field = |key| release.chart_field(key);
        out += &format!(
            "CHART: {}\nVERSION: {}\nAPP_VERSION: {}\n",
            field("name"),
            field("version"),
            field("appVersion")
        );
    }
    out + &format!("DESCRIPTION: {}\n", release.info.description)
}

/// The test suites and their last runs.
fn tests(release: &Release) -> String {
    let tests: Vec<&Hook> =
        release.hooks.iter().filter(|hook| hook.events.iter().any(|e| e == "test")).collect();
    if tests.is_empty() {
        return "TEST SUITE: None\n".to_owned();
    }
    let ran = tests.into_iter().filter(|hook| hook.last_run.started_at.is_some());
    ran.map(|hook| {
        format!(
            "TEST SUITE:     {}\nLast Started:   {}\nLast Completed: {}\nPhase:          {}\n",
            hook.name,
            ansic(hook.last_run.started_at.as_ref()),
            ansic(hook.last_run.completed_at.as_ref()),
            hook.last_run.phase
        )
    })
    .collect()
}

fn notes(release: &Release) -> String {
    match release.info.notes.as_str() {
        "" => String::new(),
        notes => format!("NOTES:\n{}\n", notes.trim()),
    }
}

/// The live objects as the API server prints them, and the missing ones.
fn resources(live: &LiveObjects) -> String {
    let mut out = String::new();
    for key in &live.order {
        let tables = live.objects.get(key).map(Vec::as_slice).unwrap_or_default();
        out += &format!("==> {key}\n{}\n", table::format_tables(tables));
    }
    if !live.missing.is_empty() {
        let line = |object: &podium_deploy::ObjectRef| {
            let namespace =
                object.namespace.as_ref().map(|n| format!(" in the namespace {n}")).unwrap_or_default();
            format!("{}/{} {}{namespace}\n", object.kind.version, object.kind.kind, object.name)
        };
        out += &format!("==> MISSING\n{}\n", live.missing.iter().map(line).collect::<String>());
    }
    if out.is_empty() { out } else { format!("RESOURCES:\n{out}\n") }
}

/// `release status` as text.
pub fn status_text(release: &Release, live: &LiveObjects) -> String {
    let mut out = header(release, false) + &resources(live) + &tests(release);
    if release.info.description.eq_ignore_ascii_case("Dry run complete") {
        out += &format!("HOOKS:\n{}MANIFEST:\n{}\n", hooks_text(release), release.manifest);
    }
    out + &notes(release)
}

/// `release get all`.
pub fn all_text(release: &Release) -> Result<Vec<u8>, Error> {
    let mut out = (header(release, true) + &tests(release) + "USER-SUPPLIED VALUES:\n").into_bytes();
    out.extend(Output::Map(release.config.as_ref()).yaml()?);
    out.extend_from_slice(b"\nCOMPUTED VALUES:\n");
    out.extend(Output::Node(&release.computed_values(&HELM4)?).yaml()?);
    out.extend_from_slice(
        format!("\nHOOKS:\n{}MANIFEST:\n{}\n", hooks_text(release), release.manifest).as_bytes(),
    );
    out.extend_from_slice(notes(release).as_bytes());
    Ok(out)
}

/// `release get hooks`.
pub fn hooks_text(release: &Release) -> String {
    release.hooks.iter().map(|hook| format!("---\n# Source: {}\n{}\n", hook.path, hook.manifest)).collect()
}

/// `release get metadata` as JSON or YAML.
pub fn metadata(release: &Release) -> Output<'_> {
    let metadata = release.metadata();
    let field = |key: &'static str| metadata.and_then(|m| m.get(key)).filter(|node| !is_empty(node));
    let info = &release.info;
    let user_labels = &release.labels;
    OutputFields::default()
        .add("name", release.name.as_str())
        .add("chart", release.chart_field("name"))
        .add("version", release.chart_field("version"))
        .add("appVersion", release.chart_field("appVersion"))
        .add_some("annotations", field("annotations").map(Output::Node))
        .add_some("labels", Some(Output::StringMap(user_labels)).filter(|_| !user_labels.is_empty()))
        .add_some("dependencies", field("dependencies").map(dependencies))
        .add("namespace", release.namespace.as_str())
        .add("revision", Output::Number(release.revision))
        .add("status", info.status.as_str())
        .add("deployedAt", deployed_at(release))
        .add_text("applyMethod", &release.apply_method)
        .build()
}

/// A chart dependency, with its fields in Helm's order.
fn dependency(node: &Node) -> Output<'_> {
    const NAMES: [&str; 8] =
        ["name", "version", "repository", "condition", "tags", "enabled", "import-values", "alias"];
    let mut fields = OutputFields::default();
    for name in NAMES {
        fields = match node.get(name).filter(|value| !is_empty(value)) {
            Some(value) => fields.add(name, Output::Node(value)),
            None if matches!(name, "name" | "repository") => fields.add(name, ""),
            None => fields,
        };
    }
    fields.build()
}

fn dependencies(list: &Node) -> Output<'_> {
    Output::List(list.as_list().into_iter().flat_map(|list| list.iter()).map(dependency).collect())
}

fn is_empty(node: &Node) -> bool {
    node.is_null()
        || node.as_str() == Some("")
        || matches!(node.value, Value::Bool(false))
        || node.as_map().is_some_and(|map| map.is_empty())
        || node.as_list().is_some_and(|list| list.iter().next().is_none())
}

fn deployed_at(release: &Release) -> String {
    release
        .info
        .last_deployed
        .as_ref()
        .map_or_else(|| "0001-01-01T00:00:00Z".to_owned(), |t| format(t, RFC3339))
}

/// `release get metadata` as text.
pub fn metadata_text(release: &Release) -> String {
    let metadata = release.metadata();
    let annotations = metadata.and_then(|m| m.get("annotations")).and_then(Node::as_map);
    let pairs = |pairs: Vec<String>| pairs.join(",");
    let annotations = annotations
        .into_iter()
        .flat_map(|map| map.iter())
        .map(|(k, v)| format!("{k}={}", v.as_str().unwrap_or("")));
    let mut dependency_names: Vec<&str> = metadata
        .and_then(|m| m.get("dependencies"))
        .and_then(Node::as_list)
        .map(|list| list.iter().filter_map(|item| item.get("name")?.as_str()).collect())
        .unwrap_or_default();
    dependency_names.sort_unstable();
    let method = match release.apply_method.as_str() {
        "" => "client-side apply (defaulted)".to_owned(),
        "csa" => "client-side apply".to_owned(),
        "ssa" => "server-side apply".to_owned(),
        other => format!("unknown ({other:?})"),
    };
    let lines = [
        ("NAME", release.name.clone()),
        ("CHART", release.chart_field("name").to_owned()),
        ("VERSION", release.chart_field("version").to_owned()),
        ("APP_VERSION", release.chart_field("appVersion").to_owned()),
        ("ANNOTATIONS", pairs(annotations.collect())),
        ("LABELS", pairs(release.labels.iter().map(|(k, v)| format!("{k}={v}")).collect())),
        ("DEPENDENCIES", dependency_names.join(",")),
        ("NAMESPACE", release.namespace.clone()),
        ("REVISION", release.revision.to_string()),
        ("STATUS", release.info.status.clone()),
        ("DEPLOYED_AT", deployed_at(release)),
        ("APPLY_METHOD", method),
    ];
    lines.into_iter().map(|(name, value)| format!("{name}: {value}\n")).collect()
}
