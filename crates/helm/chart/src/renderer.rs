//! From a loaded chart and values to rendered files: all steps of Helm's `template`, in its order.

use std::sync::Arc;

use podium_gotmpl::{Functions, Limits, World};

use crate::capabilities::Capabilities;
use crate::chart::Chart;
use crate::dependencies;
use crate::dialect::Dialect;
use crate::manifest;
use crate::render::{Cache, Job, Release, RenderError, Rendered, functions};
use crate::schema::Resolver;
use crate::values::{self, Coalesce, Values};
use crate::view::{Of, View};
use crate::warning::Warning;

/// A chart that is ready to be rendered again and again, by several threads at once.
#[derive(Debug)]
pub struct Renderer {
    chart: Arc<Chart>,
    dialect: &'static Dialect,
    linting: bool,
    cache: Cache,
}

/// What the values of a chart and its subcharts have become, and which charts take part.
#[derive(Debug)]
pub struct Prepared {
    /// The charts.
    pub view: View,
    /// The values.
    pub values: Values,
    /// What there is to warn about.
    pub warnings: Vec<Warning>,
}

/// Why a chart cannot be rendered. The texts are Helm's.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The chart is for other charts to use.
    #[error("{0} charts are not installable")]
    NotInstallable(String),
    /// Dependencies are not there.
    #[error("{prefix}found in Chart.yaml, but missing in charts/ directory: {}", names.join(", "))]
    MissingDependencies {
        /// What the dialect puts before it.
        prefix: &'static str,
        /// Which are missing.
        names: Vec<String>,
    },
    /// The release cannot be called so.
    #[error("{prefix}release name {}: {problem}", crate::text::quote(name))]
    ReleaseName {
        /// What the dialect puts before it.
        prefix: &'static str,
        /// The name.
        name: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// Dependencies cannot be switched on and off.
    #[error("{prefix}{error}")]
    Dependencies {
        /// What the dialect puts before it.
        prefix: &'static str,
        /// Why.
        error: values::Error,
    },
    /// Values cannot be merged.
    #[error(transparent)]
    Values(#[from] values::Error),
    /// The values are not what the schemas ask for.
    #[error("values don't meet the specifications of the schema(s) in the following chart(s):\n{0}")]
    Schema(String),
    /// The chart is not for this version of Kubernetes.
    #[error("chart requires kubeVersion: {wanted} which is incompatible with Kubernetes {actual}")]
    KubeVersion {
        /// The chart's constraint.
        wanted: String,
        /// The version.
        actual: String,
    },
    /// A template failed.
    #[error(transparent)]
    Render(#[from] Box<RenderError>),
    /// What was rendered is no YAML.
    #[error(transparent)]
    Manifest(#[from] manifest::Error),
}

impl Error {
    /// Helm's words as bytes: what a template says need not be UTF-8.
    pub fn text(&self) -> Vec<u8> {
        match self {
            Error::Render(error) => error.message.clone(),
            other => other.to_string().into_bytes(),
        }
    }

    /// Whether it happened after the values were settled: Helm then says how to see what was rendered.
    pub fn while_rendering(&self) -> bool {
        matches!(self, Error::KubeVersion { .. } | Error::Render(_) | Error::Manifest(_))
    }
}

/// How long the name of a release can be.
const MAX_NAME: usize = 53;

/// Whether a release can have this name.
pub fn is_release_name(name: &str) -> bool {
    name.len() <= MAX_NAME && name.split('.').all(is_name_part)
}

/// Small letters, digits and hyphens, with no hyphen at either end.
fn is_name_part(part: &str) -> bool {
    let is_word = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let bytes = part.as_bytes();
    let ends = [bytes.first(), bytes.last()];
    ends.iter().all(|b| b.is_some_and(|b| is_word(*b))) && bytes.iter().all(|b| is_word(*b) || *b == b'-')
}

impl Renderer {
    /// Makes a chart ready.
    pub fn new(chart: Arc<Chart>, dialect: &'static Dialect) -> Self {
        Self { chart, dialect, linting: false, cache: Cache::default() }
    }

    /// Makes a chart ready for a linter: nothing is required, nothing fails, and it is nobody's release.
    pub fn linting(chart: Arc<Chart>, dialect: &'static Dialect) -> Self {
        Self { chart, dialect, linting: true, cache: Cache::default() }
    }

    /// The chart.
    pub fn chart(&self) -> &Arc<Chart> {
        &self.chart
    }

    /// The dialect.
    pub fn dialect(&self) -> &'static Dialect {
        self.dialect
    }

    /// Refuses charts that cannot be installed on their own, and those that are not complete.
    pub fn check(&self) -> Result<(), Error> {
        let kind = &self.chart.metadata.kind;
        if !matches!(kind.as_str(), "" | "application") {
            return Err(Error::NotInstallable(kind.clone()));
        }
        let names = dependencies::missing(&self.chart);
        if !names.is_empty() {
            return Err(Error::MissingDependencies { prefix: self.dialect.missing_dependency_prefix, names });
        }
        Ok(())
    }

    /// Refuses names that no release can have.
    pub fn check_release_name(&self, name: &str) -> Result<(), Error> {
        let problem = if name.is_empty() {
            "no name provided"
        } else if !is_release_name(name) {
            "invalid release name, must match regex \
             ^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$ and the length must not be longer than 53"
        } else {
            return Ok(());
        };
        Err(Error::ReleaseName {
            prefix: self.dialect.release_name_error_prefix,
            name: name.to_owned(),
            problem,
        })
    }

    /// Decides which subcharts take part and merges all values.
    pub fn prepare(&self, set: &Values, schemas: bool) -> Result<Prepared, Error> {
        self.prepare_with(set, schemas, None)
    }

    /// Like [`prepare`](Self::prepare), with a resolver for documents that schemas refer to.
    pub fn prepare_with(
        &self,
        set: &Values,
        schemas: bool,
        resolver: Option<&dyn Resolver>,
    ) -> Result<Prepared, Error> {
        self.cache.beside(&self.chart, self.functions(), || self.settle(set, schemas, resolver))
    }

    /// The functions that the templates may call.
    fn functions(&self) -> &'static Functions {
        functions(self.dialect, self.linting)
    }

    /// Merges the values as a linter does. It does so twice, so that a default that the user deleted is back; and it
    /// has nothing to say about values that cannot be merged: then there is nothing.
    pub fn prepare_lint(
        &self,
        set: &Values,
        schemas: bool,
        resolver: Option<&dyn Resolver>,
    ) -> Result<Option<Prepared>, Error> {
        let mut warnings = Vec::new();
        let mut view = View::new(&self.chart);
        if dependencies::process(&mut view, set, self.dialect, &mut warnings).is_err() {
            return Ok(None);
        }
        let chart = Of(&view, view.root());
        let Ok(first) = Coalesce::coalesce(chart, set, self.dialect, &mut warnings) else { return Ok(None) };
        let values = Coalesce::coalesce(chart, &first, self.dialect, &mut warnings)?;
        if schemas {
            crate::schema::validate_with(&view, &values, resolver).map_err(Error::Schema)?;
        }
        Ok(Some(Prepared { view, values, warnings }))
    }

    fn settle(
        &self,
        set: &Values,
        schemas: bool,
        resolver: Option<&dyn Resolver>,
    ) -> Result<Prepared, Error> {
        let mut warnings = Vec::new();
        let mut view = View::new(&self.chart);
        dependencies::process(&mut view, set, self.dialect, &mut warnings)
            .map_err(|error| Error::Dependencies { prefix: self.dialect.dependency_error_prefix, error })?;
        let values = Coalesce::coalesce(Of(&view, view.root()), set, self.dialect, &mut warnings)?;
        if schemas {
            crate::schema::validate_with(&view, &values, resolver).map_err(Error::Schema)?;
        }
        Ok(Prepared { view, values, warnings })
    }

    /// Renders all templates. The files are sorted by name; notes are among them.
    pub fn render(
        &self,
        prepared: &Prepared,
        release: &Release,
        capabilities: &Capabilities,
        world: &dyn World,
        limits: Limits,
    ) -> Result<Vec<Rendered>, Error> {
        self.render_as(prepared, release, capabilities, world, limits, false)
    }

    /// Like [`render`](Self::render), for a process that sorts the files next and ends soon: the memory of the render is not
    /// given back. Another thread may read their documents and render some of them meanwhile.
    pub fn render_to_sort(
        &self,
        prepared: &Prepared,
        release: &Release,
        capabilities: &Capabilities,
        world: &dyn World,
        limits: Limits,
    ) -> Result<Vec<Rendered>, Error> {
        self.render_as(prepared, release, capabilities, world, limits, true)
    }

    fn render_as(
        &self,
        prepared: &Prepared,
        release: &Release,
        capabilities: &Capabilities,
        world: &dyn World,
        limits: Limits,
        reads_ahead: bool,
    ) -> Result<Vec<Rendered>, Error> {
        let wanted = &self.chart.metadata.kube_version;
        let kube = &capabilities.kube_version;
        if !self.linting && !wanted.is_empty() && !dependencies::is_compatible(wanted, kube.comparable()) {
            return Err(Error::KubeVersion { wanted: wanted.clone(), actual: kube.version.clone() });
        }
        let job = Job {
            dialect: self.dialect,
            linting: self.linting,
            view: &prepared.view,
            values: &prepared.values,
            release,
            capabilities,
            world,
            limits,
            cache: &self.cache,
            reads_ahead,
        };
        Ok(job.run().map_err(Box::new)?)
    }
}
