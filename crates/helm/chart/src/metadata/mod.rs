//! `Chart.yaml`, `requirements.yaml` and the lock files.

mod decode;
pub mod encode;
mod time;

use std::collections::{BTreeMap, HashSet};

use podium_gotmpl::gostr;
use podium_goyaml::{Node, yaml};
use podium_versions::masterminds::Version;

use crate::text::{base, quote};

pub(crate) use decode::CHART_VERSIONS;
pub use decode::{api_version, metadata_type, parse_lock};
pub(crate) use time::{check as check_time, written as written_time};

/// The `apiVersion` of charts whose dependencies are in `requirements.yaml`.
pub const API_V1: &str = "v1";
/// The `apiVersion` of charts whose dependencies are in `Chart.yaml`.
pub const API_V2: &str = "v2";

/// What `Chart.yaml` says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metadata {
    /// The chart's name.
    pub name: String,
    /// A page about the chart.
    pub home: String,
    /// Where the sources are.
    pub sources: Vec<String>,
    /// The chart's version.
    pub version: String,
    /// One sentence.
    pub description: String,
    /// Words to search for.
    pub keywords: Vec<String>,
    /// Who maintains it.
    pub maintainers: Vec<Maintainer>,
    /// An image.
    pub icon: String,
    /// `v1` or `v2`.
    pub api_version: String,
    /// Not used by Helm.
    pub condition: String,
    /// Not used by Helm.
    pub tags: String,
    /// The version of the application inside.
    pub app_version: String,
    /// Whether the author gave it up.
    pub deprecated: bool,
    /// Anything else; `None` where `Chart.yaml` does not have it.
    pub annotations: Option<BTreeMap<String, String>>,
    /// Which versions of Kubernetes it works with.
    pub kube_version: String,
    /// The dependencies; `None` where there is no such list, which is not the same as an empty one.
    pub dependencies: Option<Vec<Dependency>>,
    /// `application`, `library` or empty.
    pub kind: String,
}

/// Metadata while its files are being read.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// What was read so far, not yet checked.
    pub metadata: Metadata,
    // The first entry of a list that is null; such entries are refused only after other things were looked at.
    null_maintainer: Option<usize>,
    null_dependency: Option<usize>,
}

/// A maintainer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Maintainer {
    /// Name.
    pub name: String,
    /// Mail address.
    pub email: String,
    /// Page.
    pub url: String,
}

/// A chart that another one depends on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dependency {
    /// The name in its `Chart.yaml`.
    pub name: String,
    /// The range of versions that will do.
    pub version: String,
    /// Where it comes from.
    pub repository: String,
    /// Comma-separated paths of values that switch it on or off.
    pub condition: String,
    /// Names below the value `tags` that switch it on or off.
    pub tags: Vec<String>,
    /// Whether it is switched on.
    pub enabled: bool,
    /// What the parent imports of its values.
    pub import_values: Vec<ImportValue>,
    /// The name that it has in the parent.
    pub alias: String,
}

/// One entry of `import-values`.
#[derive(Clone, Debug, PartialEq)]
pub enum ImportValue {
    /// As it was written: a string, or a map with `child` and `parent`.
    Written(Node),
    /// As it was carried out.
    Done {
        /// The path in the dependency's values.
        child: String,
        /// The path in the parent's values.
        parent: String,
    },
}

/// What `Chart.lock` or `requirements.lock` says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lock {
    /// When it was made, as it is written.
    pub generated: String,
    /// A hash over the dependencies of `Chart.yaml`.
    pub digest: String,
    /// The dependencies with their exact versions. A null entry is kept as an empty one.
    pub dependencies: Vec<Dependency>,
}

/// Why metadata cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It cannot be read.
    #[error("{0}")]
    Yaml(yaml::Error),
    /// It cannot be read, in words of the decoder.
    #[error("error unmarshaling JSON: while decoding JSON: {0}")]
    Decode(String),
    /// It can be read, but says something that is not allowed.
    #[error("validation: {0}")]
    Validation(String),
}

fn invalid<T>(text: impl Into<String>) -> Result<T, Error> {
    Err(Error::Validation(text.into()))
}

impl Metadata {
    /// Whether the chart only has templates for other charts.
    pub fn is_library(&self) -> bool {
        self.kind.eq_ignore_ascii_case("library")
    }

    /// Tidies up the texts and refuses what Helm refuses, except for maintainers and dependencies.
    fn validate(&mut self) -> Result<(), Error> {
        let texts = [
            &mut self.name,
            &mut self.description,
            &mut self.home,
            &mut self.icon,
            &mut self.condition,
            &mut self.tags,
            &mut self.app_version,
            &mut self.kube_version,
        ];
        texts.into_iter().chain(&mut self.sources).chain(&mut self.keywords).for_each(sanitize);
        for maintainer in &mut self.maintainers {
            [&mut maintainer.name, &mut maintainer.email, &mut maintainer.url].into_iter().for_each(sanitize);
        }
        let name = &self.name;
        if self.api_version.is_empty() {
            return invalid("chart.metadata.apiVersion is required");
        }
        if name.is_empty() {
            return invalid("chart.metadata.name is required");
        }
        if name == "." || name == ".." {
            return invalid(format!("chart.metadata.name {} is not allowed", quote(name)));
        }
        if name != base(name) {
            return invalid(format!("chart.metadata.name {} is invalid", quote(name)));
        }
        if self.version.is_empty() {
            return invalid("chart.metadata.version is required");
        }
        if Version::new(&self.version).is_err() {
            return invalid(format!("chart.metadata.version {} is invalid", quote(&self.version)));
        }
        if !matches!(self.kind.as_str(), "" | "application" | "library") {
            return invalid("chart.metadata.type must be application or library");
        }
        Ok(())
    }
}

impl Draft {
    /// Tidies up the texts and refuses what Helm refuses, but not two dependencies of one name: indexes that others
    /// wrote may lack their aliases.
    pub(crate) fn finish_entry(self) -> Result<Metadata, Error> {
        let metadata = self.metadata.clone();
        match self.finish() {
            Err(Error::Validation(text))
                if text.starts_with("more than one dependency with name or alias") =>
            {
                Ok(metadata)
            }
            finished => finished,
        }
    }

    /// The first maintainer that is null.
    pub fn null_maintainer(&self) -> Option<usize> {
        self.null_maintainer
    }

    /// Tidies up the texts and refuses what Helm refuses.
    pub fn finish(mut self) -> Result<Metadata, Error> {
        self.metadata.validate()?;
        if self.null_maintainer.is_some() {
            return invalid("maintainers must not contain empty or null nodes");
        }
        let mut seen = HashSet::new();
        for (at, dependency) in self.metadata.dependencies.iter_mut().flatten().enumerate() {
            if self.null_dependency == Some(at) {
                return invalid("dependencies must not contain empty or null nodes");
            }
            dependency.tidy();
            let Dependency { name, alias, .. } = dependency;
            if !alias.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')) {
                return invalid(format!("dependency {} has disallowed characters in the alias", quote(name)));
            }
            let key = if alias.is_empty() { name } else { alias };
            if !seen.insert(key.clone()) {
                return invalid(format!("more than one dependency with name or alias {}", quote(key)));
            }
        }
        Ok(self.metadata)
    }
}

impl Dependency {
    fn tidy(&mut self) {
        [&mut self.name, &mut self.version, &mut self.repository, &mut self.condition]
            .into_iter()
            .chain(&mut self.tags)
            .for_each(sanitize);
    }
}

/// Makes every white space a space and drops what cannot be printed.
fn sanitize(text: &mut String) {
    let tidy = |c: char| match c {
        c if gostr::is_space(c) => Some(' '),
        c if gostr::is_print(c) => Some(c),
        _ => None,
    };
    if text.chars().any(|c| tidy(c) != Some(c)) {
        *text = text.chars().filter_map(tidy).collect();
    }
}

#[cfg(test)]
mod tests;
