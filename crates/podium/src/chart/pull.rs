//! `podium chart pull` and `podium chart push`.

use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use clap::ArgMatches;
use podium_chart::dialect::Dialect;
use podium_chart::load::go_error;

use crate::chart::expand::expand;
use crate::chart::input::{dialect, refuse_all};
use crate::chart::oci;
use crate::chart::package::{rfc3339, write_whole};
use crate::chart::remote::{OCI, Remote, fetch_from, range};
use crate::flag::{Flag, Takes, many, on, one};
use crate::scratch::Scratch;

/// The flags of `pull` alone.
pub const FLAGS: &[Flag] = &[
    Flag::new("destination", Takes::One("DIR"), "where to write the archive (default: here)").short('d'),
    Flag::new("untar", Takes::Switch, "unpack the chart instead of keeping its archive"),
    Flag::new("untardir", Takes::One("DIR"), "where to unpack it (default: --destination)"),
    Flag::new("prov", Takes::Switch, "keep the signature too, without checking it"),
];

/// Gets charts.
pub fn pull(matches: &ArgMatches) -> anyhow::Result<()> {
    refuse_all(matches)?;
    let dialect = dialect(one(matches, "helm-version"))?;
    let names = many(matches, "args");
    if names.is_empty() {
        bail!(
            "\"podium chart pull\" requires at least 1 argument\n\nUsage:  podium chart pull [chart URL | repo/chartname] \
             [...] [flags]"
        );
    }
    let remote = Remote::new(matches)?;
    names
        .iter()
        .try_for_each(|name| one_chart(&remote, name, matches, dialect).map_err(|error| anyhow!("{error}")))
}

fn one_chart(remote: &Remote, name: &str, matches: &ArgMatches, dialect: &Dialect) -> Result<(), String> {
    let range = range(matches);
    let repository = one(matches, "repo").filter(|repository| !repository.is_empty());
    let destination = PathBuf::from(one(matches, "destination").unwrap_or("."));
    let (file, bytes, provenance) = match repository {
        Some(repository) => {
            let (file, bytes) = fetch_from(remote, repository, name, &range)?;
            (file, bytes, None)
        }
        None if name.starts_with(OCI) => {
            let pulled = oci::pull(remote, name, &range)?;
            remote.tell(&pulled.told)?;
            (pulled.file_name, pulled.chart, pulled.provenance)
        }
        None => {
            let (file, bytes) = remote.download(name, &range, None)?;
            (file, bytes, None)
        }
    };
    if on(matches, "untar") {
        return unpack(name, &bytes, &destination, matches, dialect);
    }
    let path = destination.join(&file);
    write_whole(&path, &bytes)?;
    if on(matches, "prov")
        && let Some(text) = provenance
    {
        write_whole(&destination.join(format!("{file}.prov")), &text)?;
    }
    Ok(())
}

/// Unpacks a chart where nothing is yet. It is unpacked beside its place first, so that there is all of it or nothing.
fn unpack(
    name: &str,
    bytes: &[u8],
    destination: &Path,
    matches: &ArgMatches,
    dialect: &Dialect,
) -> Result<(), String> {
    let below = one(matches, "untardir").unwrap_or(".");
    let folder = PathBuf::from(podium_chart::text::clean(&destination.join(below).to_string_lossy()));
    let last = name.rsplit('/').next().unwrap_or_default();
    let check = PathBuf::from(podium_chart::text::clean(&folder.join(last).to_string_lossy()));
    let taken = |path: &Path| {
        format!("failed to untar: a file or directory with the name {} already exists", path.display())
    };
    if check.exists() {
        return Err(taken(&check));
    }
    std::fs::create_dir_all(&folder).map_err(|error| go_error("mkdir", &folder, &error))?;
    let scratch =
        Scratch::below(&folder, ".podium-pull").map_err(|error| go_error("mkdir", &folder, &error))?;
    let made = expand(scratch.path(), bytes, dialect)?;
    let place = folder.join(made.file_name().unwrap_or_default());
    if place.exists() {
        return Err(taken(&place));
    }
    std::fs::rename(&made, &place).map_err(|error| go_error("rename", &place, &error))
}

/// Sends a chart to a registry.
pub fn push(matches: &ArgMatches) -> anyhow::Result<()> {
    refuse_all(matches)?;
    let [chart, to] = many(matches, "args").try_into().map_err(|_| {
        anyhow!(
            "\"podium chart push\" requires 2 arguments\n\nUsage:  podium chart push [chart] [remote] [flags]"
        )
    })?;
    if !to.starts_with(OCI) {
        bail!("scheme prefix missing from remote (e.g. \"oci://\")");
    }
    let path = Path::new(&chart);
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => bail!("{chart}: no such file"),
        Err(error) => bail!("{}", go_error("stat", path, &error)),
    };
    if metadata.is_dir() {
        bail!("cannot push directory, must provide chart archive (.tgz)");
    }
    let bytes = std::fs::read(path)?;
    let provenance = std::fs::read(format!("{chart}.prov")).ok();
    let written = metadata.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let created = rfc3339(written.unwrap_or_default().as_secs(), 0);
    let remote = Remote::new(matches)?;
    oci::push(&remote, bytes, provenance, &to, &created).map_err(|error| anyhow!("{error}"))
}
