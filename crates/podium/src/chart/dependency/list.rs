//! What a chart needs, and what of that is there.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::ArgMatches;
use podium_chart::chart::Chart;
use podium_chart::dialect::Dialect;
use podium_chart::load;
use podium_chart::metadata::Dependency;
use podium_chart::text::clean;
use podium_versions::masterminds::{Constraints, Version};

use crate::chart::input::dialect;
use crate::flag::one;
use crate::output::print;

use super::{chart_path, entries};

/// Lists what a chart needs, and what of that is there.
pub fn list(matches: &ArgMatches) -> anyhow::Result<()> {
    let dialect = dialect(one(matches, "helm-version"))?.reading_plainly();
    let path = chart_path(matches, "list")?;
    let width = one(matches, "max-col-width").unwrap_or("80");
    let width: usize = width.parse().map_err(|_| anyhow!("--max-col-width {width}: write a number"))?;
    let charts = format!("{path}/charts");
    let loaded = load::load(Path::new(&path), &dialect)?;
    let Some(wanted) = &loaded.chart.metadata.dependencies else {
        return print(format!("WARNING: no dependencies at {}\n", clean(&charts)).as_bytes());
    };
    let mut rows = vec![["NAME", "VERSION", "REPOSITORY", "STATUS"].map(str::to_owned)];
    for dependency in wanted {
        let state = state(&clean(&charts), dependency, &loaded.chart, &dialect);
        let Dependency { name, version, repository, .. } = dependency;
        rows.push([name.clone(), version.clone(), repository.clone(), state.to_owned()]);
    }
    let mut out = table(&rows, width);
    out.push('\n');
    for path in entries(&clean(&charts)) {
        let is_archive = path.extension().is_some_and(|ending| ending == "tgz");
        if !path.is_dir() && !is_archive {
            continue;
        }
        let shown = podium_chart::text::quote(&path.to_string_lossy());
        match load::load(&path, &dialect) {
            Err(_) => out.push_str(&format!("WARNING: {shown} is not a chart.\n")),
            Ok(found) if !wanted.iter().any(|wanted| wanted.name == found.chart.metadata.name) => {
                out.push_str(&format!("WARNING: {shown} is not in Chart.yaml.\n"));
            }
            Ok(_) => {}
        }
    }
    print(out.as_bytes())
}

/// Columns with tabs between them, as helm prints tables.
fn table(rows: &[[String; 4]], most: usize) -> String {
    let count = |text: &str| text.chars().count();
    let mut widths = [0; 4];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            let wanted = if most == 0 { count(cell) } else { count(cell).min(most) };
            *width = wanted.max(*width);
        }
    }
    let mut out = String::new();
    for row in rows {
        let cells = row.iter().zip(widths).map(|(cell, width)| {
            if count(cell) > width {
                let kept: String = cell.chars().take(width.saturating_sub(3)).collect();
                return format!("{kept}...");
            }
            format!("{cell:width$}")
        });
        out.push_str(&cells.collect::<Vec<_>>().join("\t"));
        out.push('\n');
    }
    out
}

/// How a dependency is there.
fn state(charts: &str, wanted: &Dependency, parent: &Chart, dialect: &Dialect) -> &'static str {
    let prefix = format!("{}-", wanted.name);
    let name_of =
        |path: &PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let version_of = |path: &PathBuf| {
        let name = name_of(path);
        Some(name.strip_prefix(&prefix)?.strip_suffix(".tgz")?.to_owned())
    };
    let archives: Vec<PathBuf> =
        entries(charts).into_iter().filter(|path| version_of(path).is_some()).collect();
    let exact = |path: &&PathBuf| version_of(path).is_some_and(|version| Version::strict(version).is_ok());
    let candidates: Vec<&PathBuf> = match archives.len() {
        1 => archives.iter().collect(),
        _ => archives.iter().filter(exact).collect(),
    };
    match candidates.as_slice() {
        [] => {}
        [archive] => {
            return match load::load(archive, dialect) {
                Err(_) => "corrupt",
                Ok(found) if found.chart.metadata.name != wanted.name => "misnamed",
                Ok(found) => fits(wanted, &found.chart.metadata.version).err().unwrap_or("ok"),
            };
        }
        _ => return "too many matches",
    }
    match parent.dependencies.iter().rfind(|chart| chart.metadata.name == wanted.name) {
        None => "missing",
        Some(found) => fits(wanted, &found.metadata.version).err().unwrap_or("unpacked"),
    }
}

fn fits(wanted: &Dependency, version: &str) -> Result<(), &'static str> {
    if version == wanted.version {
        return Ok(());
    }
    match (Constraints::new(&wanted.version), Version::new(version)) {
        (Ok(range), Ok(version)) if range.check(&version) => Ok(()),
        (Ok(_), Ok(_)) => Err("wrong version"),
        _ => Err("invalid version"),
    }
}
