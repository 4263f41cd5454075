//! `podium catalog render`.

use std::io::{self, Write};

use clap::ArgMatches;
use podium_catalog::declcfg::DeclarativeConfig;
use podium_catalog::write::{Format, sorted_metas, write_meta};

use super::input::catalog;
use super::output::{arguments, format, generation};

/// Prints catalogs.
pub fn run(matches: &ArgMatches) -> anyhow::Result<()> {
    let args = arguments(matches, 1, usize::MAX, "render CATALOG...")?;
    let generation = generation(matches)?;
    let format = written(format(matches, &["json", "yaml"])?);
    let mut all = DeclarativeConfig::default();
    for reference in &args {
        let mut config = catalog(reference, generation, matches)?;
        config.normalize();
        all.metas.append(&mut config.metas);
    }
    print(&all, format)
}

/// The format of a name.
pub fn written(name: &str) -> Format {
    if name == "yaml" { Format::Yaml } else { Format::Json }
}

/// As many documents are written at once by each thread.
const BATCH: usize = 128;

/// Writes a catalog to standard output, on all cores. A reader that has gone away is no error.
pub fn print(config: &DeclarativeConfig, format: Format) -> anyhow::Result<()> {
    let metas = sorted_metas(config);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut out = io::stdout().lock();
    let mut buffers: Vec<Vec<u8>> = vec![Vec::new(); threads];
    for wave in metas.chunks(BATCH * threads) {
        let failed = std::thread::scope(|scope| {
            let workers: Vec<_> = wave
                .chunks(BATCH)
                .zip(&mut buffers)
                .map(|(metas, buffer)| {
                    let work = move || {
                        buffer.clear();
                        metas.iter().try_for_each(|meta| write_meta(meta, format, buffer))
                    };
                    scope.spawn(work)
                })
                .collect();
            let joined = workers.into_iter().map(|worker| worker.join().unwrap_or(Ok(())));
            joined.collect::<Result<Vec<()>, _>>().err()
        });
        let used = wave.len().div_ceil(BATCH);
        for buffer in buffers.iter().take(used) {
            match out.write_all(buffer) {
                Err(e) if e.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
                other => other?,
            }
        }
        if let Some(error) = failed {
            return Err(error.into());
        }
    }
    match out.flush() {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}
