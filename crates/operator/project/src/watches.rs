//! `watches.yaml`: which resources are the values of which charts.
//!
//! Two programs read this file, the helm-operator of operator-sdk (1.42.3) and that of helm-operator-plugins (0.9.1). A
//! file that one of them refuses is refused here, in its words and with the place; fields that neither knows are
//! ignored, as both do, and noted. Three fields are ours: `wait`, `valuesFrom`, and `maxConcurrentReconciles` where it
//! counts (the second original reads it and forgets it).

mod decode;

use std::collections::BTreeMap;
use std::fmt;

use podium_gotmpl::World;
use podium_goyaml::{Map, Node, Pos, Value, yaml};
use podium_meta::{GroupVersionKind, Selector};
use podium_sprig::gotime::Duration;

use crate::expand::{self, Environment};

/// The name of the file unless it is said otherwise.
pub const FILE: &str = "watches.yaml";

/// The key of a Secret or ConfigMap that values are read from unless it is said otherwise.
pub const VALUES_KEY: &str = "values.yaml";

/// A place in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// What is wrong with a file: where, in which field, and what.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {}{problem}", if field.is_empty() { String::new() } else { format!("{field}: ") })]
pub struct Error {
    /// Where.
    pub place: Place,
    /// The field, such as `[1].chart`; empty when it is the file as a whole.
    pub field: String,
    /// What.
    pub problem: Problem,
}

/// What can be wrong. The texts are those of the originals where they have one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// It is no YAML, or a field has the wrong type.
    #[error("{0}")]
    Yaml(String),
    /// A group, version and kind that cannot be.
    #[error("invalid GVK: {kind}: {what} must not be empty")]
    GroupVersionKind {
        /// As Go prints it.
        kind: String,
        /// Which part.
        what: &'static str,
    },
    /// The chart cannot be used.
    #[error("invalid chart {chart}: {error}")]
    Chart {
        /// Its path.
        chart: String,
        /// Why.
        error: String,
    },
    /// The same kind twice.
    #[error("duplicate GVK: {kind} (first at {first})")]
    Duplicate {
        /// As Go prints it.
        kind: String,
        /// Where the first one is.
        first: Place,
    },
    /// An override that cannot be expanded.
    #[error("failed to expand override values: {0}")]
    Override(expand::Error),
    /// A selector that no label can be asked for.
    #[error("invalid selector: {0}")]
    Selector(String),
    /// Ours: a source of values that cannot be.
    #[error("invalid valuesFrom: {0}")]
    ValuesFrom(&'static str),
}

/// One entry: resources of a kind, and the chart that they are the values of.
#[derive(Clone, Debug, PartialEq)]
pub struct Watch {
    /// The kind of the resources.
    pub kind: GroupVersionKind,
    /// The path of the chart, a directory or an archive, from the directory that the operator runs in.
    pub chart: String,
    /// Whether what the chart makes is watched.
    pub watch_dependent_resources: bool,
    /// Values that win over those of the resource, expanded: paths as `--set` takes them.
    pub override_values: BTreeMap<String, String>,
    /// Which resources.
    pub selector: Selector,
    /// The same as a text, for requests.
    pub selector_text: String,
    /// How often a resource is looked at without a reason.
    pub reconcile_period: Option<std::time::Duration>,
    /// How many resources are worked on at a time.
    pub max_concurrent_reconciles: Option<i64>,
    /// How changes are found: `server` asks the API server.
    pub dry_run_option: String,
    /// Ours: whether a release counts as deployed only when its objects are ready.
    pub wait: bool,
    /// Ours: where values come from that are below those of the resource, later ones above earlier ones.
    pub values_from: Vec<ValuesFrom>,
    /// Where the entry is written.
    pub place: Place,
}

/// A key of a Secret or ConfigMap in the namespace of the resource, with values as YAML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValuesFrom {
    /// Which of the two.
    pub kind: Holder,
    /// Its name.
    pub name: String,
    /// The key.
    pub key: String,
    /// Whether it may be missing.
    pub optional: bool,
}

/// What can hold values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// A Secret.
    Secret,
    /// A ConfigMap.
    ConfigMap,
}

/// A field that nobody knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// Its path, such as `[0].chrat`.
    pub field: String,
    /// Where its value is.
    pub place: Place,
}

/// A file that was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Watches {
    /// The entries in order.
    pub entries: Vec<Watch>,
    /// Fields that were ignored because nobody knows them.
    pub unknown: Vec<Unknown>,
}

/// What a file is read with.
pub struct Reader<'a> {
    /// The name of the file, for messages.
    pub file: &'a str,
    /// Variables that overrides may use.
    pub environment: &'a Environment<'a>,
    /// Time, chance and names, for the templates in overrides.
    pub world: &'a dyn World,
    /// Says whether there is a chart at a path, or what is wrong with it.
    pub chart: &'a dyn Fn(&str) -> Result<(), String>,
}

impl Reader<'_> {
    /// Reads the text of a `watches.yaml`.
    pub fn read(&self, text: &[u8]) -> Result<Watches, Error> {
        let refuse = |error: yaml::Error| {
            self.error(error.pos(), blamed(&error.to_string()), Problem::Yaml(error.to_string()))
        };
        let root = yaml::parse_as(text, 0, &decode::WATCHES).map_err(refuse)?;
        let mut entries: Vec<Watch> = Vec::new();
        // The originals look at selectors only after they have read everything.
        let mut late = Ok(());
        for (at, node) in root.as_list().into_iter().flat_map(|list| list.iter()).enumerate() {
            let mut watch = self.entry(at, node, &entries)?;
            late = late.and_then(|()| self.finish(at, node, &mut watch));
            entries.push(watch);
        }
        late?;
        let unknown = yaml::parse(text, 0).map(|root| self.unknown(&root)).unwrap_or_default();
        Ok(Watches { entries, unknown })
    }

    fn place(&self, pos: Pos) -> Place {
        Place { file: self.file.to_owned(), line: pos.line, column: pos.column }
    }

    fn error(&self, pos: Pos, field: String, problem: Problem) -> Error {
        Error { place: self.place(pos), field, problem }
    }

    /// Checks in the order in which the originals do.
    fn entry(&self, at: usize, node: &Node, before: &[Watch]) -> Result<Watch, Error> {
        let empty = Map::new();
        let map = node.as_map().unwrap_or(&empty);
        let fail = |name: &str, problem| {
            let pos = map.get(name).map_or(node.pos, |value| value.pos);
            let field = match name {
                "Group" | "Version" | "Kind" => name.to_ascii_lowercase(),
                name => name.to_owned(),
            };
            self.error(pos, format!("[{at}].{field}"), problem)
        };
        let text = |name: &str| map.get(name).and_then(Node::as_str).unwrap_or_default().to_owned();
        let kind = GroupVersionKind { group: text("Group"), version: text("Version"), kind: text("Kind") };
        let shown = format!("{}/{}, Kind={}", kind.group, kind.version, kind.kind);
        for (what, value) in [("version", &kind.version), ("kind", &kind.kind)] {
            if value.is_empty() {
                let name = if what == "kind" { "Kind" } else { "Version" };
                return Err(fail(name, Problem::GroupVersionKind { kind: shown, what }));
            }
        }
        let chart = text("chart");
        let found = match chart.is_empty() {
            // It will not be there later either.
            true => Err(format!("{shown} has none: write the path of a directory or an archive")),
            false => (self.chart)(&chart),
        };
        let named = if chart.is_empty() { "\"\"" } else { &chart };
        found.map_err(|error| fail("chart", Problem::Chart { chart: named.to_owned(), error }))?;
        if let Some(first) = before.iter().find(|watch| watch.kind == kind) {
            return Err(fail("Kind", Problem::Duplicate { kind: shown, first: first.place.clone() }));
        }
        let mut override_values = BTreeMap::new();
        for (key, value) in map.get("overrideValues").and_then(Node::as_map).into_iter().flat_map(Map::iter) {
            let value = expand::value(key, value.as_str().unwrap_or_default(), self.environment, self.world)
                .map_err(|error| fail("overrideValues", Problem::Override(error)))?;
            override_values.insert(key.to_string(), value);
        }
        let period = map.get("reconcilePeriod").and_then(Node::as_str);
        let period = period.and_then(|text| Duration::parse(text).ok());
        let on = |name: &str| map.get(name).and_then(Node::as_bool);
        Ok(Watch {
            kind,
            chart,
            watch_dependent_resources: on("watchDependentResources").unwrap_or(true),
            override_values,
            selector: Selector::default(),
            selector_text: String::new(),
            // Nothing happens less than never.
            reconcile_period: period
                .map(|p| std::time::Duration::from_nanos(u64::try_from(p.nanoseconds()).unwrap_or_default())),
            max_concurrent_reconciles: match map.get("maxConcurrentReconciles").map(|node| &node.value) {
                Some(Value::Int(i)) => Some(*i),
                _ => None,
            },
            dry_run_option: text("dryRunOption"),
            wait: on("wait").unwrap_or(false),
            values_from: Vec::new(),
            place: self.place(node.pos),
        })
    }

    /// The selector and the sources of values.
    fn finish(&self, at: usize, node: &Node, watch: &mut Watch) -> Result<(), Error> {
        let fail = |name: &str, problem| {
            let pos = node.get(name).map_or(node.pos, |value| value.pos);
            self.error(pos, format!("[{at}].{name}"), problem)
        };
        let text = node.get("selector").map_or(Ok(String::new()), selector);
        watch.selector_text = text.map_err(|error| fail("selector", Problem::Selector(error)))?;
        watch.selector = Selector::parse(&watch.selector_text)
            .map_err(|error| fail("selector", Problem::Selector(error.to_string())))?;
        watch.values_from = values_from(node).map_err(|why| fail("valuesFrom", Problem::ValuesFrom(why)))?;
        Ok(())
    }

    /// Fields of entries that are in no table, as written.
    fn unknown(&self, root: &Node) -> Vec<Unknown> {
        let mut unknown = Vec::new();
        for (at, entry) in root.as_list().into_iter().flat_map(|list| list.iter()).enumerate() {
            for (key, value) in entry.as_map().into_iter().flat_map(Map::iter) {
                if !decode::WATCH.fields.iter().any(|(name, _)| name.eq_ignore_ascii_case(key)) {
                    let field = format!("[{at}].{key}");
                    unknown.push(Unknown { field, place: self.place(value.pos) });
                }
            }
        }
        unknown
    }
}

/// The field that a message of Go's decoder names.
fn blamed(message: &str) -> String {
    let field = message.split_once("Go struct field ").and_then(|(_, rest)| rest.split(' ').next());
    field.and_then(|field| field.split_once('.')).map_or("", |(_, path)| path).to_owned()
}

/// The sources of values of an entry.
fn values_from(entry: &Node) -> Result<Vec<ValuesFrom>, &'static str> {
    let list = entry.get("valuesFrom").and_then(Node::as_list);
    let read = |node: &Node| {
        let text = |name: &str| node.get(name).and_then(Node::as_str).unwrap_or_default();
        let kind = match text("kind") {
            "Secret" => Holder::Secret,
            "ConfigMap" => Holder::ConfigMap,
            _ => return Err("kind must be Secret or ConfigMap"),
        };
        if text("name").is_empty() {
            return Err("name must not be empty");
        }
        let key = Some(text("key")).filter(|key| !key.is_empty()).unwrap_or(VALUES_KEY);
        Ok(ValuesFrom {
            kind,
            name: text("name").to_owned(),
            key: key.to_owned(),
            optional: node.get("optional").and_then(Node::as_bool).unwrap_or(false),
        })
    };
    list.into_iter().flat_map(|list| list.iter()).map(read).collect()
}

/// A label selector as the text that requests carry, in Kubernetes' order.
fn selector(node: &Node) -> Result<String, String> {
    let mut all: Vec<(String, String)> = Vec::new();
    for (key, value) in node.get("matchLabels").and_then(Node::as_map).into_iter().flat_map(Map::iter) {
        let value = value.as_str().unwrap_or_default();
        check_value(key, value)?;
        all.push((key.to_string(), format!("{key}={value}")));
    }
    let list = node.get("matchExpressions").and_then(Node::as_list);
    for requirement in list.into_iter().flat_map(|list| list.iter()) {
        let text = |name: &str| requirement.get(name).and_then(Node::as_str).unwrap_or_default();
        let values = requirement.get("values").and_then(Node::as_list);
        let mut values: Vec<&str> = values
            .into_iter()
            .flat_map(|values| values.iter())
            .map(|value| value.as_str().unwrap_or_default())
            .collect();
        values.sort_unstable();
        let (key, operator) = (text("key"), text("operator"));
        let among = || values.join(",");
        let clause = match operator {
            "In" | "NotIn" if values.is_empty() => {
                return Err(format!("{key}: for 'in', 'notin' operators, values set can't be empty"));
            }
            "In" => format!("{key} in ({})", among()),
            "NotIn" => format!("{key} notin ({})", among()),
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                return Err(format!("{key}: values set must be empty for exists and does not exist"));
            }
            "Exists" => key.to_owned(),
            "DoesNotExist" => format!("!{key}"),
            other => return Err(format!("{other:?} is not a valid label selector operator")),
        };
        check_key(key)?;
        values.iter().try_for_each(|value| check_value(key, value))?;
        all.push((key.to_owned(), clause));
    }
    all.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(all.into_iter().map(|(_, clause)| clause).collect::<Vec<_>>().join(","))
}

fn check_key(key: &str) -> Result<(), String> {
    match podium_meta::selector::is_label_key(key) {
        true => Ok(()),
        false => Err(format!("{key:?} is not the name of a label")),
    }
}

fn check_value(key: &str, value: &str) -> Result<(), String> {
    check_key(key)?;
    match podium_meta::selector::is_label_value(value) {
        true => Ok(()),
        false => Err(format!("{key}: {value:?} is not a value that a label can have")),
    }
}

#[cfg(test)]
mod tests;
