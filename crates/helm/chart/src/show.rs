//! `helm show`: what a chart says about itself.

use podium_goyaml::emit;

use crate::chart::Chart;
use crate::dialect::Dialect;
use crate::files::File;
use crate::metadata::encode;
use crate::view::View;

/// What is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Everything.
    All,
    /// `Chart.yaml`, as it was read.
    Chart,
    /// `values.yaml`, as it is.
    Values,
    /// The readme.
    Readme,
    /// The CRDs.
    Crds,
}

const READMES: &[&str] = &["readme.md", "readme.txt", "readme"];
const LINE: &[u8] = b"---\n";

/// The text that is shown.
pub fn show(chart: &std::sync::Arc<Chart>, part: Part, dialect: &Dialect) -> Result<Vec<u8>, emit::Error> {
    let all = part == Part::All;
    let mut out = Vec::new();
    let metadata = emit::to_yaml(&&encode::metadata(&chart.metadata))?;
    if all || part == Part::Chart {
        out.extend([metadata.as_slice(), b"\n"].concat());
    }
    if (all || part == Part::Values) && chart.values.is_some() {
        out.extend_from_slice(if all { LINE } else { b"" });
        for file in chart.raw.iter().filter(|file| *file.name == *"values.yaml") {
            out.extend([&*file.data, b"\n"].concat());
        }
    }
    if (all || part == Part::Readme)
        && let Some(readme) = readme(&chart.files)
    {
        out.extend_from_slice(if all { LINE } else { b"" });
        out.extend([&*readme.data, b"\n"].concat());
    }
    if all || part == Part::Crds {
        for (at, crd) in View::new(chart).crds().iter().enumerate() {
            let separated = if dialect.separates_crds { true } else { all && at == 0 };
            if separated && !crd.file.data.starts_with(b"---") {
                out.extend_from_slice(LINE);
            }
            out.extend([&*crd.file.data, b"\n"].concat());
        }
    }
    Ok(out)
}

fn readme(files: &[File]) -> Option<&File> {
    files.iter().find(|file| READMES.iter().any(|name| file.name.eq_ignore_ascii_case(name)))
}
