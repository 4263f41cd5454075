//! `podium chart show`.

use anyhow::{anyhow, bail};
use clap::ArgMatches;
use podium_chart::show::{Part, show};

use crate::chart::input::{dialect, refuse_all};
use crate::chart::remote::locate;
use crate::flag::{many, one};
use crate::output::print;

/// The parts of a chart by the names of their commands.
pub const PARTS: &[(&str, Part, &str)] = &[
    ("all", Part::All, "Shows everything that a chart says about itself"),
    ("chart", Part::Chart, "Shows a chart's Chart.yaml, as it was understood"),
    ("values", Part::Values, "Shows a chart's values.yaml"),
    ("readme", Part::Readme, "Shows a chart's readme"),
    ("crds", Part::Crds, "Shows a chart's CRDs"),
];

/// Prints what a chart says about itself.
pub fn run(name: &str, matches: &ArgMatches) -> anyhow::Result<()> {
    refuse_all(matches)?;
    let dialect = dialect(one(matches, "helm-version"))?;
    let Some((_, part, _)) = PARTS.iter().find(|(command, ..)| *command == name) else {
        bail!("there is no part {name} of a chart")
    };
    let [path] = many(matches, "args").try_into().map_err(|_| {
        anyhow!(
            "\"podium chart show {name}\" requires 1 argument\n\nUsage:  podium chart show {name} [CHART] [flags]"
        )
    })?;
    let loaded = locate(matches, &path)?.load(&dialect.reading_plainly())?;
    print(&show(&loaded.chart, *part, dialect)?)
}
