//! `helm lint`: what is wrong with a chart, in Helm's words and in its order.
//!
//! A chart that is linted may be broken in any way, so the rules see what is on the disk (a [`Subject`]) and not only
//! what could be loaded.

mod address;
mod chartfile;
mod crds;
mod dependencies;
mod deprecated;
mod objects;
mod templates;
mod values;

use std::path::Path;

use podium_gotmpl::{Limits, World};

use crate::capabilities::KubeVersion;
use crate::chart::Loaded;
use crate::dialect::Dialect;
use crate::load::{self, Place};
use crate::schema::Resolver;
use crate::values::Values;

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Good to know.
    Info,
    /// Against conventions.
    Warning,
    /// The chart cannot be installed so.
    Error,
}

impl Severity {
    fn name(self) -> &'static str {
        match self {
            Self::Info => "INFO",
            Self::Warning => "WARNING",
            Self::Error => "ERROR",
        }
    }
}

/// What a rule found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// How bad it is.
    pub severity: Severity,
    /// The file or directory that it is about.
    pub path: String,
    /// What is wrong; what templates say need not be UTF-8.
    pub text: Vec<u8>,
}

impl Message {
    /// The line that is printed.
    pub fn line(&self) -> Vec<u8> {
        [format!("[{}] {}: ", self.severity.name(), self.path).as_bytes(), &self.text].concat()
    }
}

/// A chart directory as the rules see it.
#[derive(Debug)]
pub struct Subject {
    /// Its path, which messages name.
    pub directory: String,
    /// `Chart.yaml`.
    pub chart_yaml: Place,
    /// `values.yaml`.
    pub values: Place,
    /// `values.schema.json`.
    pub schema: Place,
    /// `templates`.
    pub templates: Place,
    /// `crds`.
    pub crds: Place,
    /// What loading it gives.
    pub loaded: Result<Loaded, load::Error>,
}

impl Subject {
    /// Looks at a directory.
    pub fn read(path: &Path, dialect: &Dialect) -> Self {
        let place = |name: &str| load::place(&path.join(name));
        Self {
            directory: path.to_string_lossy().into_owned(),
            chart_yaml: place("Chart.yaml"),
            values: place("values.yaml"),
            schema: place("values.schema.json"),
            templates: place("templates"),
            crds: place("crds"),
            loaded: load::load_dir(path, &dialect.reading_plainly()),
        }
    }
}

/// What a chart is linted with.
pub struct Options<'a> {
    /// What the user set.
    pub set: &'a Values,
    /// The namespace that templates see.
    pub namespace: &'a str,
    /// The version of Kubernetes that templates see, and that objects may be too old for.
    pub kube_version: Option<&'a KubeVersion>,
    /// Whether values are checked against schemas.
    pub schemas: bool,
    /// Documents that schemas refer to.
    pub resolver: Option<&'a dyn Resolver>,
    /// Time and chance for templates.
    pub world: &'a dyn World,
    /// What rendering may use.
    pub limits: Limits,
}

/// Collects what rules find.
#[derive(Debug, Default)]
struct Report(Vec<Message>);

impl Report {
    /// Notes what a rule says; tells whether it is content.
    fn rule(&mut self, severity: Severity, path: &str, verdict: Result<(), String>) -> bool {
        self.bytes(severity, path, verdict.map_err(String::into_bytes))
    }

    /// Like [`rule`](Self::rule), for words that need not be UTF-8.
    fn bytes(&mut self, severity: Severity, path: &str, verdict: Result<(), Vec<u8>>) -> bool {
        match verdict {
            Ok(()) => true,
            Err(text) => {
                self.0.push(Message { severity, path: path.to_owned(), text });
                false
            }
        }
    }
}

/// Runs all rules of a dialect.
pub fn run(subject: &Subject, options: &Options<'_>, dialect: &'static Dialect) -> Vec<Message> {
    let mut report = Report::default();
    chartfile::check(subject, dialect, &mut report);
    values::check(subject, options, dialect, &mut report);
    templates::check(subject, options, dialect, &mut report);
    dependencies::check(subject, &mut report);
    if dialect.lint.crds {
        crds::check(subject, dialect, &mut report);
    }
    report.0
}

#[cfg(test)]
mod tests;
