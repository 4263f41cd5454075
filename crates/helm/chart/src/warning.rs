//! What Helm says on standard error about a chart that it renders nevertheless, as data.

use podium_gotmpl::gostr;

use crate::dialect::{Dialect, LogStyle};
use crate::text::quote;

/// Something that deserves a line on standard error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// A value of the chart's defaults was not merged into a map, because it is none.
    NotATable {
        /// The dotted name, with the chart's.
        key: String,
    },
    /// A map of the chart's defaults meets a value that is no map.
    CannotOverwriteTable {
        /// The dotted name, with the chart's.
        key: String,
        /// The map, in Go's notation.
        value: String,
    },
    /// A value of the chart's defaults that is no map meets a map.
    DestinationIsTable {
        /// The dotted name, with the chart's.
        key: String,
        /// The value, in Go's notation.
        value: String,
    },
    /// A subchart's `global` is no map.
    GlobalDestination,
    /// A parent's `global` is no map.
    GlobalSource,
    /// A global map meets a subchart's global that is no map.
    GlobalConflict {
        /// The key below `global`.
        key: String,
    },
    /// A global value that is no map meets a subchart's global map.
    GlobalIsTable {
        /// The key below `global`.
        key: String,
    },
    /// A dependency's condition is no boolean.
    ConditionNotBool {
        /// The path of the condition.
        path: String,
        /// The dependency.
        chart: String,
    },
    /// A dependency's tag is no boolean.
    TagNotBool {
        /// The tag.
        tag: String,
        /// The dependency.
        chart: String,
    },
    /// Values to import are not there.
    ImportMissing {
        /// The dependency.
        chart: String,
        /// The part of the path that is no map.
        table: String,
    },
    /// Values to import from `exports` are not there.
    ExportMissing {
        /// The part of the path that is no map.
        table: String,
    },
    /// `requirements.yaml` in a chart whose dependencies belong into `Chart.yaml`.
    OldRequirements,
    /// `requirements.lock` in a chart whose lock is `Chart.lock`.
    OldLock,
    /// A symbolic link was followed.
    SymbolicLink {
        /// The link.
        path: String,
        /// Where it leads.
        resolved: String,
    },
    /// A document with an unknown hook event is left out.
    UnknownHook {
        /// The events as they are written.
        events: String,
    },
    /// A reference of a values schema cannot be resolved and is taken for "anything goes".
    UnresolvedUrn {
        /// The reference.
        urn: String,
    },
    /// A cluster was asked that may not have the chart's CRDs.
    Crds,
    /// The chart's author gave it up.
    Deprecated,
}

/// The parts of a log line: level and attributes for one style, source line for the other, and each one's message.
struct Log {
    level: &'static str,
    message: String,
    attributes: Vec<(&'static str, String)>,
    source: &'static str,
    line: String,
}

impl Log {
    /// A message that is the same in both styles.
    fn same(source: &'static str, message: String) -> Self {
        Self { level: "INFO", line: message.clone(), message, attributes: Vec::new(), source }
    }

    fn new(
        level: &'static str,
        message: &str,
        attributes: Vec<(&'static str, String)>,
        source: &'static str,
        line: String,
    ) -> Self {
        Self { level, message: message.to_owned(), attributes, source, line }
    }
}

impl Warning {
    /// The line on standard error, as the dialect writes it.
    pub fn line(&self, dialect: &Dialect) -> String {
        let log = self.log();
        match dialect.log {
            LogStyle::SourceLine if log.source.is_empty() => log.line,
            LogStyle::SourceLine => format!("{}: {}", log.source, log.line),
            LogStyle::KeyValue => {
                let mut line = format!("level={} msg={}", log.level, attribute(&log.message));
                for (key, value) in &log.attributes {
                    line.push_str(&format!(" {key}={}", attribute(value)));
                }
                line
            }
        }
    }

    fn log(&self) -> Log {
        let no_table = |table: &str| format!("{} is not a table", quote(table));
        match self {
            Self::NotATable { key } => {
                Log::same("coalesce.go:237", format!("warning: skipped value for {key}: Not a table."))
            }
            Self::CannotOverwriteTable { key, value } => Log::same(
                "coalesce.go:316",
                format!("warning: cannot overwrite table with non table for {key} ({value})"),
            ),
            Self::DestinationIsTable { key, value } => Log::same(
                "coalesce.go:319",
                format!("warning: destination for {key} is a table. Ignoring non-table value ({value})"),
            ),
            Self::GlobalDestination => Log::same(
                "coalesce.go:138",
                "warning: skipping globals because destination global is not a table.".to_owned(),
            ),
            Self::GlobalSource => Log::same(
                "coalesce.go:145",
                "warning: skipping globals because source global is not a table.".to_owned(),
            ),
            Self::GlobalConflict { key } => Log::same(
                "coalesce.go:161",
                format!("Conflict: cannot merge map onto non-map for {}. Skipping.", quote(key)),
            ),
            Self::GlobalIsTable { key } => {
                Log::same("coalesce.go:175", format!("key {key} is table. Skipping"))
            }
            Self::ConditionNotBool { path, chart } => Log::new(
                "WARN",
                "returned non-bool value",
                vec![("path", path.clone()), ("chart", chart.clone())],
                "dependencies.go:64",
                format!("Warning: Condition path '{path}' for chart {chart} returned non-bool value"),
            ),
            Self::TagNotBool { tag, chart } => Log::new(
                "WARN",
                "returned non-bool value",
                vec![("tag", tag.clone()), ("chart", chart.clone())],
                "dependencies.go:95",
                format!("Warning: Tag '{tag}' for chart {chart} returned non-bool value"),
            ),
            Self::ImportMissing { chart, table } => Log::new(
                "WARN",
                "ImportValues missing table from chart",
                vec![("chart", chart.clone()), ("error", no_table(table))],
                "dependencies.go:270",
                format!("Warning: ImportValues missing table from chart {chart}: {}", no_table(table)),
            ),
            Self::ExportMissing { table } => Log::new(
                "WARN",
                "ImportValues missing table",
                vec![("error", no_table(table))],
                "dependencies.go:287",
                format!("Warning: ImportValues missing table: {}", no_table(table)),
            ),
            Self::OldRequirements => Log::same(
                "load.go:120",
                "Warning: Dependencies are handled in Chart.yaml since apiVersion \"v2\". We recommend migrating \
                 dependencies to Chart.yaml."
                    .to_owned(),
            ),
            Self::OldLock => Log::same(
                "load.go:138",
                "Warning: Dependency locking is handled in Chart.lock since apiVersion \"v2\". We recommend migrating \
                 to Chart.lock."
                    .to_owned(),
            ),
            Self::SymbolicLink { path, resolved } => Log::new(
                "INFO",
                "found symbolic link in path. Contents of linked file included and used",
                vec![("path", path.clone()), ("resolved", resolved.clone())],
                "walk.go:75",
                format!(
                    "found symbolic link in path: {path} resolves to {resolved}. Contents of linked file included and \
                     used"
                ),
            ),
            Self::UnknownHook { events } => Log::new(
                "INFO",
                "skipping unknown hooks",
                vec![("hookTypes", events.clone())],
                "manifest_sorter.go:199",
                format!("info: skipping unknown hook: {}", quote(events)),
            ),
            Self::UnresolvedUrn { urn } => Log::new(
                "WARN",
                "unresolved URN reference ignored; using permissive schema",
                vec![("urn", urn.clone())],
                "jsonschema.go:192",
                format!("WARNING: unresolved URN reference ignored; using permissive schema: {urn}"),
            ),
            Self::Crds => Log::new(
                "WARN",
                "This chart or one of its subcharts contains CRDs. Rendering may fail or contain inaccuracies.",
                Vec::new(),
                "",
                "WARNING: This chart or one of its subcharts contains CRDs. Rendering may fail or contain inaccuracies."
                    .to_owned(),
            ),
            Self::Deprecated => {
                Log::new("WARN", "this chart is deprecated", Vec::new(), "", "WARNING: This chart is deprecated".to_owned())
            }
        }
    }
}

/// A value of a key-value line, quoted where it must be.
fn attribute(text: &str) -> String {
    let is_bare = |c: char| match c {
        ' ' | '=' | '"' | '\0'..='\x1F' | char::REPLACEMENT_CHARACTER => false,
        c if c.is_ascii() => true,
        c => !gostr::is_space(c) && gostr::is_print(c),
    };
    if !text.is_empty() && text.chars().all(is_bare) { text.to_owned() } else { quote(text) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{HELM3, HELM4};

    #[test]
    fn lines_have_the_style_of_their_dialect() {
        let warning = Warning::NotATable { key: "c.a".to_owned() };
        assert_eq!(warning.line(&HELM3), "coalesce.go:237: warning: skipped value for c.a: Not a table.");
        assert_eq!(warning.line(&HELM4), r#"level=INFO msg="warning: skipped value for c.a: Not a table.""#);
        let warning = Warning::ExportMissing { table: "x".to_owned() };
        assert_eq!(
            warning.line(&HELM4),
            r#"level=WARN msg="ImportValues missing table" error="\"x\" is not a table""#
        );
        let warning = Warning::TagNotBool { tag: "a\\b".to_owned(), chart: String::new() };
        assert_eq!(warning.line(&HELM4), r#"level=WARN msg="returned non-bool value" tag=a\b chart="""#);
    }
}
