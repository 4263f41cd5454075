//! `podium chart crd`.

use anyhow::{anyhow, bail};
use clap::ArgMatches;
use podium_chart::chart::Chart;
use podium_deploy::object::json_to_node;
use podium_goyaml::{Value as Tree, emit};
use podium_project::crd::{Names, Options, crd, with_subcharts};
use serde_json::Value;

use crate::chart::input::dialect;
use crate::chart::remote::locate_here;
use crate::flag::{Flag, Takes, list, many, on, one};
use crate::output::{complain, print};

/// The flags of this command alone.
pub const FLAGS: &[Flag] = &[
    Flag::new("group", Takes::One("GROUP"), "the API group of the resource, such as models.example.com"),
    Flag::new("kind", Takes::One("KIND"), "the kind of the resource, such as InferenceStack"),
    Flag::new("plural", Takes::One("NAME"), "its plural name (default: the kind in small letters, and an s)"),
    Flag::new(
        "version",
        Takes::List("VERSION"),
        "the version of the resource (default v1alpha1; repeatable: all have the same schema, the first is stored)",
    ),
    Flag::new("short", Takes::List("NAME"), "a short name for kubectl (repeatable)"),
    Flag::new("scope", Takes::One("Namespaced|Cluster"), "where resources live (default Namespaced)"),
    Flag::new(
        "closed",
        Takes::Switch,
        "refuse fields that the schema does not name, unless it says additionalProperties: true",
    ),
    Flag::new("defaults", Takes::Switch, "write the defaults of values.yaml into the CRD too"),
    Flag::new("output", Takes::One("yaml|json"), "how to print (default yaml)").short('o'),
    Flag::new("quiet", Takes::Switch, "do not say what the CRD cannot express"),
];

/// Prints the CRD of a chart's values.
pub fn run(matches: &ArgMatches) -> anyhow::Result<()> {
    let format = one(matches, "output").unwrap_or("yaml");
    if !matches!(format, "json" | "yaml") {
        bail!("-o {format}: write yaml or json");
    }
    let names = names(matches)?;
    let [path] = many(matches, "args").try_into().map_err(|given: Vec<String>| {
        anyhow!("\"podium chart crd\" requires 1 argument, the chart; {} given", given.len())
    })?;
    let dialect = dialect(None)?;
    let loaded = locate_here(&path)?.load(dialect)?;
    let chart = &loaded.chart;
    let options = Options { closed: on(matches, "closed"), defaults: on(matches, "defaults") };
    let made = generate(&path, chart, &names, options, on(matches, "quiet"))?;
    match format {
        "yaml" => print(&emit::to_yaml(&&json_to_node(made))?),
        _ => print(format!("{made:#}\n").as_bytes()),
    }
}

/// The CRD of a chart's values; what it cannot express is said, unless nobody wants to know.
pub fn generate(
    path: &str,
    chart: &Chart,
    names: &Names,
    options: Options,
    quiet: bool,
) -> anyhow::Result<Value> {
    let schema = schema(chart)?;
    if schema.is_null() && !quiet {
        complain(&format!(
            "{path} has no values.schema.json: types are those of values.yaml, and fields that it does not have are \
             taken too"
        ));
    }
    let made = crd(names, &schema, Some(&values(chart)?), options).map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(|problem| format!("  {problem}")).collect();
        anyhow!("there can be no CRD for {path}:\n{}", lines.join("\n"))
    })?;
    if !quiet {
        made.notes.iter().for_each(|note| complain(&format!("note: {note}")));
    }
    Ok(made.crd)
}

/// The names of a kind, from the flags.
pub fn names(matches: &ArgMatches) -> anyhow::Result<Names> {
    let needed = |flag: &str, example: &str| {
        let given = one(matches, flag).filter(|text| !text.is_empty()).map(str::to_owned);
        given.ok_or_else(|| anyhow!("--{flag} is needed, for example --{flag} {example}"))
    };
    let (group, kind) = (needed("group", "models.example.com")?, needed("kind", "InferenceStack")?);
    let plural =
        one(matches, "plural").map_or_else(|| format!("{}s", kind.to_ascii_lowercase()), str::to_owned);
    let cluster = match one(matches, "scope") {
        None | Some("Namespaced") => false,
        Some("Cluster") => true,
        Some(other) => bail!("--scope {other}: write Namespaced or Cluster"),
    };
    let mut versions = list(matches, "version");
    if versions.is_empty() {
        versions.push("v1alpha1".to_owned());
    }
    Ok(Names { group, kind, plural, short: list(matches, "short"), cluster, versions })
}

/// The schema of a chart; null if it has none. Its subcharts' values are below their names, and unchecked.
fn schema(chart: &Chart) -> anyhow::Result<Value> {
    let Some(file) = chart.raw.iter().find(|file| *file.name == *"values.schema.json") else {
        return Ok(Value::Null);
    };
    let schema =
        serde_json::from_slice(&file.data).map_err(|error| anyhow!("values.schema.json: {error}"))?;
    let subcharts = chart.metadata.dependencies.iter().flatten();
    let called = |name: &str, alias: &str| if alias.is_empty() { name.to_owned() } else { alias.to_owned() };
    let names: Vec<String> = subcharts
        .map(|dependency| called(&dependency.name, &dependency.alias))
        .chain(chart.dependencies.iter().map(|subchart| subchart.metadata.name.to_string()))
        .collect();
    Ok(with_subcharts(&schema, &names))
}

/// The defaults of a chart.
fn values(chart: &Chart) -> anyhow::Result<Value> {
    let Some(values) = &chart.values else { return Ok(Value::Object(serde_json::Map::new())) };
    let node = values.to_node()?;
    let text = podium_goyaml::json::to_string(&&node)?;
    let value = serde_json::from_slice(&text).map_err(|error| anyhow!("values.yaml: {error}"))?;
    Ok(if matches!(node.value, Tree::Null) { Value::Object(serde_json::Map::new()) } else { value })
}
