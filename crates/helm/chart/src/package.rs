//! A loaded chart to the archive that `helm package` makes of it, as far as its files go.

use std::io;

use podium_goyaml::{emit, json};

use crate::archive::write::{Entry, pack};
use crate::chart::Chart;
use crate::dialect::Dialect;
use crate::metadata::{API_V2, encode};
use crate::text::{base, join};

/// An archive, and how its file is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// `NAME-VERSION.tgz`.
    pub file_name: String,
    /// The content.
    pub bytes: Vec<u8>,
}

/// Why a chart cannot be packaged. The texts are Helm's.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The schema is no JSON.
    #[error("{0}")]
    Schema(&'static str),
    /// A name that is a path.
    #[error("{} is not a valid chart name", crate::text::quote(.0))]
    Name(String),
    /// A version that is a path, which would put the archive elsewhere.
    #[error("version {} cannot be part of a file's name", crate::text::quote(.0))]
    Version(String),
    /// Metadata cannot be written.
    #[error(transparent)]
    Emit(#[from] emit::Error),
    /// The archive cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Packs a chart with its subcharts. All files have the given time.
pub fn package(chart: &Chart, time: u64, dialect: &Dialect) -> Result<Package, Error> {
    let metadata = &chart.metadata;
    if metadata.version.contains('/') {
        return Err(Error::Version(metadata.version.clone()));
    }
    let mut made = Vec::new();
    written(chart, "", dialect, &mut made)?;
    let entries: Vec<Entry<'_>> = made.iter().map(|(path, data)| (path.clone(), data.as_ref())).collect();
    let bytes = pack(&entries, time)?;
    Ok(Package { file_name: format!("{}-{}.tgz", metadata.name, metadata.version), bytes })
}

/// A path in an archive, and what is there.
type Written<'c> = (String, std::borrow::Cow<'c, [u8]>);

/// The files of a chart and, below `charts/`, those of its subcharts. The depth of recursion is that of the charts.
fn written<'c>(
    chart: &'c Chart,
    prefix: &str,
    dialect: &Dialect,
    out: &mut Vec<Written<'c>>,
) -> Result<(), Error> {
    let metadata = &chart.metadata;
    if base(&metadata.name) != metadata.name {
        return Err(Error::Name(metadata.name.clone()));
    }
    let root = if prefix.is_empty() { metadata.name.clone() } else { join(prefix, &metadata.name) };
    let at = |name: &str| join(&root, name);
    out.push((at("Chart.yaml"), encode::chart_yaml(metadata)?.into()));
    if let Some(lock) = chart.lock.as_ref().filter(|_| metadata.api_version == API_V2) {
        out.push((at("Chart.lock"), encode::lock_yaml(lock)?.into()));
    }
    let values = chart.raw.iter().filter(|file| *file.name == *"values.yaml");
    out.extend(values.map(|file| (at(&file.name), (&*file.data).into())));
    if let Some(schema) = &chart.schema {
        if json::parse(schema.text(), 0).is_err_and(|error| !matches!(error, json::Error::Type { .. })) {
            return Err(Error::Schema(dialect.schema_error));
        }
        out.push((at("values.schema.json"), (&**schema.text()).into()));
    }
    out.extend(chart.templates.iter().chain(&chart.files).map(|file| (at(&file.name), (&*file.data).into())));
    chart.dependencies.iter().try_for_each(|subchart| written(subchart, &at("charts"), dialect, out))
}
