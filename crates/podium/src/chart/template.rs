//! `podium chart template`.

use std::collections::HashSet;
use std::io::Write;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::ArgMatches;
use podium_chart::dialect::Dialect;
use podium_chart::manifest::{self, Output, Printed};
use podium_chart::renderer::{Error, Prepared};

use crate::chart::input::Input;
use crate::chart::server::Asked;
use crate::chart::{hints, report};
use crate::flag::{many, on, one};
use crate::output::{Words, complain, person_reads_errors, print, print_all};

/// Renders a chart and prints or writes it.
pub fn run(matches: &ArgMatches) -> anyhow::Result<()> {
    let asked = Asked::read(matches)?;
    // The process ends after this; taking everything apart first would only cost time.
    let mut input = ManuallyDrop::new(Input::read("chart template", matches)?);
    let dialect = input.renderer.dialect();
    let debug = on(matches, "debug");
    let wanted = many(matches, "show-only");
    let cluster = asked.open(matches, &mut input)?;
    let prepared = ManuallyDrop::new(input.prepare()?);
    let said = dialect.one_server_dry_run || debug;
    if said && cluster.is_some() && !prepared.view.crds().is_empty() {
        complain(&podium_chart::warning::Warning::Crds.line(dialect));
    }
    let mut files = match input.render(&prepared) {
        Ok(files) => ManuallyDrop::new(files),
        Err(e) => {
            if debug && wanted.is_empty() {
                print(b"\n")?;
            }
            return Err(failed(e, &prepared, debug));
        }
    };
    manifest::take_notes(&mut files, &prepared.view.name(prepared.view.root()), false);
    let sorted = match manifest::sort(&files, dialect) {
        Ok(sorted) => ManuallyDrop::new(sorted),
        Err(e) => {
            if debug && wanted.is_empty() {
                print_all(&manifest::raw(&files))?;
            }
            return Err(failed(e.into(), &prepared, debug));
        }
    };
    for events in &sorted.unknown_hooks {
        complain(&podium_chart::warning::Warning::UnknownHook { events: events.clone() }.line(dialect));
    }
    let crds = if on(matches, "include-crds") { prepared.view.crds() } else { Vec::new() };
    let crds: Vec<_> = crds.into_iter().map(|crd| (crd.path, crd.file)).collect();
    if let Some(cluster) = &cluster {
        let objects = manifest::print(&sorted, &crds, &Output { no_hooks: true, skip_tests: false }).concat();
        Asked::check(cluster, &objects, &input.release, dialect)?;
    }
    let output = Output { no_hooks: on(matches, "no-hooks"), skip_tests: on(matches, "skip-tests") };
    if let Some(directory) = one(matches, "output-dir").filter(|d| !d.is_empty()) {
        let below = if on(matches, "release-name") { input.release.name.as_str() } else { "" };
        write_files(Path::new(directory), below, &manifest::pieces(&sorted, &crds, &output))?;
        return show(&[b"\n"], &wanted, dialect);
    }
    show(&manifest::print(&sorted, &crds, &output), &wanted, dialect)
}

fn show(printed: &[&[u8]], wanted: &[String], dialect: &Dialect) -> anyhow::Result<()> {
    if wanted.is_empty() {
        return print_all(printed);
    }
    print(&manifest::show_only(&printed.concat(), wanted, dialect)?)
}

/// Helm's words, the way on, and for a person the place.
pub fn failed(error: Error, prepared: &Prepared, debug: bool) -> anyhow::Error {
    let mut message = error.text();
    if error.while_rendering() && !debug {
        message.extend_from_slice(b"\n\nUse --debug flag to render out invalid YAML");
    }
    if let Error::Render(render) = &error
        && let Some(hint) = hints::limit(render)
    {
        message.extend_from_slice(b"\n\n  = ");
        message.extend_from_slice(hint.as_bytes());
    }
    if person_reads_errors()
        && let Error::Render(render) = &error
        && let Some(excerpt) = report::excerpt(render, |name| prepared.view.template(name))
    {
        message.extend_from_slice(b"\n\n");
        message.extend_from_slice(excerpt.trim_end().as_bytes());
    }
    Words(message).into()
}

/// Writes a file per template, as Helm lays them out.
fn write_files(directory: &Path, below: &str, pieces: &[Printed<'_>]) -> anyhow::Result<()> {
    let mut written: HashSet<PathBuf> = HashSet::new();
    for piece in pieces {
        let base = if piece.crd { directory.to_path_buf() } else { directory.join(below) };
        let path = base.join(piece.name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(|e| anyhow!("cannot make {}: {e}", parent.display()))?;
        }
        let again = !written.insert(path.clone());
        let mut file = std::fs::OpenOptions::new()
            .create(true)
            .write(true)
            .append(again)
            .truncate(!again)
            .open(&path)
            .map_err(|e| anyhow!("cannot write {}: {e}", path.display()))?;
        file.write_all(b"---\n# Source: ")?;
        file.write_all(piece.name.as_bytes())?;
        file.write_all(b"\n")?;
        file.write_all(piece.text)?;
        file.write_all(b"\n")?;
        print(format!("wrote {}\n", path.display()).as_bytes())?;
    }
    Ok(())
}
