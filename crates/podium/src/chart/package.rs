//! `podium chart package`.

use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use clap::ArgMatches;
use podium_chart::archive::write::TIME;
use podium_chart::chart::Chart;
use podium_chart::dialect::Dialect;
use podium_chart::load::{self, go_error};
use podium_chart::package::package;
use podium_versions::masterminds::Version;

use crate::chart::dependency::update_first;
use crate::chart::input::{absolute, dialect, refuse_all};
use crate::flag::{Flag, Takes, many, on, one};
use crate::output::{complain, print};

/// The flags of this command alone.
pub const FLAGS: &[Flag] = &[
    Flag::new("version", Takes::One("VERSION"), "the version that the packaged chart has"),
    Flag::new("app-version", Takes::One("VERSION"), "the appVersion that the packaged chart has"),
    Flag::new("destination", Takes::One("DIR"), "where to write the archive (default: here)").short('d'),
    Flag::new("helm-version", Takes::One("3|4"), "which Helm to be like (default 4)"),
];

/// Makes archives of charts.
pub fn run(matches: &ArgMatches) -> anyhow::Result<()> {
    refuse_all(matches)?;
    let dialect = dialect(one(matches, "helm-version"))?;
    let paths = many(matches, "args");
    if paths.is_empty() {
        bail!("need at least one argument, the path to the chart");
    }
    let time = time()?;
    for path in paths {
        let place = absolute(&path);
        if let Err(error) = std::fs::metadata(&path) {
            bail!("{}", go_error("stat", Path::new(&path), &error));
        }
        if on(matches, "dependency-update") {
            update_first(matches, &place)?;
        }
        let written = one_chart(&place, matches, time, dialect)?;
        print(format!("Successfully packaged chart and saved it to: {}\n", written.display()).as_bytes())?;
    }
    Ok(())
}

/// The time of all files: what `SOURCE_DATE_EPOCH` says, or always the same.
pub fn time() -> anyhow::Result<u64> {
    match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(text) if !text.is_empty() => text.parse().map_err(|_| {
            anyhow!("SOURCE_DATE_EPOCH is {text:?}: write the seconds since 1970 as a whole number")
        }),
        _ => Ok(TIME),
    }
}

fn one_chart(path: &Path, matches: &ArgMatches, time: u64, dialect: &Dialect) -> anyhow::Result<PathBuf> {
    let loaded = load::load_dir(path, dialect)?;
    loaded.warnings.iter().for_each(|warning| complain(&warning.line(dialect)));
    let mut chart = Chart::clone(&loaded.chart);
    let given = |flag: &str| one(matches, flag).filter(|text| !text.is_empty()).map(str::to_owned);
    chart.metadata.version = given("version").unwrap_or(chart.metadata.version);
    Version::new(&chart.metadata.version)?;
    chart.metadata.app_version = given("app-version").unwrap_or(chart.metadata.app_version);
    let missing = podium_chart::dependencies::missing(&chart);
    if !missing.is_empty() {
        bail!("found in Chart.yaml, but missing in charts/ directory: {}", missing.join(", "));
    }
    let directory = match one(matches, "destination") {
        None | Some(".") => std::env::current_dir()?,
        Some(directory) => PathBuf::from(podium_chart::text::clean(directory)),
    };
    save(&chart, &directory, time, dialect).map_err(|error| anyhow!("failed to save: {error}"))
}

/// Writes the archive of a chart into a directory, which is made if it is missing. The file is there whole or not at all.
pub fn save(chart: &Chart, directory: &Path, time: u64, dialect: &Dialect) -> Result<PathBuf, String> {
    match std::fs::metadata(directory) {
        Ok(metadata) if !metadata.is_dir() => {
            return Err(format!("is not a directory: {}", directory.display()));
        }
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            std::fs::create_dir_all(directory).map_err(|error| go_error("mkdir", directory, &error))?;
        }
        Err(error) => {
            return Err(format!("stat {}: {}", directory.display(), go_error("stat", directory, &error)));
        }
    }
    let made = package(chart, time, dialect).map_err(|error| error.to_string())?;
    let path = directory.join(&made.file_name);
    write_whole(&path, &made.bytes)?;
    Ok(path)
}

/// Writes a file beside its place and then puts it there.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let mut random = [0; 8];
    podium_release::environment::random(&mut random);
    let beside = path.with_extension(format!("{:016x}.part", u64::from_le_bytes(random)));
    let words = |error: std::io::Error| go_error("open", path, &error);
    let written = std::fs::write(&beside, bytes).and_then(|()| std::fs::rename(&beside, path));
    written.map_err(|error| {
        let _ = std::fs::remove_file(&beside);
        words(error)
    })
}

/// The time as Go writes it; `SOURCE_DATE_EPOCH` says another one.
pub fn now() -> anyhow::Result<String> {
    if std::env::var_os("SOURCE_DATE_EPOCH").is_some_and(|text| !text.is_empty()) {
        return Ok(rfc3339(time()?, 0));
    }
    let (seconds, nanos) = podium_release::environment::now();
    Ok(rfc3339(u64::try_from(seconds).unwrap_or_default(), nanos))
}

/// Seconds since 1970 as a date and a time in Greenwich.
pub fn rfc3339(seconds: u64, nanos: u32) -> String {
    let whole = podium_oci::build::format_rfc3339(i64::try_from(seconds).unwrap_or(i64::MAX));
    match nanos {
        0 => whole,
        nanos => {
            let fraction = format!("{nanos:09}");
            format!("{}.{}Z", whole.trim_end_matches('Z'), fraction.trim_end_matches('0'))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::rfc3339;

    #[test]
    fn times_are_written_as_go_writes_them() {
        assert_eq!(rfc3339(0, 0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(951_782_400, 120_000_000), "2000-02-29T00:00:00.12Z");
        assert_eq!(rfc3339(4_102_444_799, 1), "2099-12-31T23:59:59.000000001Z");
    }
}
