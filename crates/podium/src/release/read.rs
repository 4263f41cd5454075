//! The commands that only read.

use anyhow::{Context, Result, bail};
use clap::ArgMatches;
use podium_chart::dialect::HELM4;
use podium_client::Client;
use podium_client::client::Representation;
use podium_meta::Selector;
use podium_re2::Regex;
use podium_release::list::{ListOptions, STATUSES};
use podium_release::live_objects::LiveObjects;
use podium_release::output::Output;
use podium_release::{Driver, Release, Store, print as show};
use podium_sprig::gotime::Location;

use super::flags;
use crate::cluster::with_cluster;
use crate::flag;
use crate::output::{complain, print, with_hint};
use crate::world::local_zone;

/// What `-o` asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Table,
    Json,
    Yaml,
}

pub fn format(matches: &ArgMatches) -> Result<Format> {
    match flag::one(matches, "output").unwrap_or("table") {
        "table" => Ok(Format::Table),
        "json" => Ok(Format::Json),
        "yaml" => Ok(Format::Yaml),
        other => bail!("invalid format {other:?} for --output: write table, json or yaml"),
    }
}

fn number(matches: &ArgMatches, name: &str) -> Result<Option<i64>> {
    let read = |text: &str| text.parse().with_context(|| format!("--{name} {text}: this is no whole number"));
    flag::one(matches, name).map(read).transpose()
}

fn count(matches: &ArgMatches, name: &str, default: usize) -> Result<usize> {
    // Helm takes a negative number for none.
    Ok(number(matches, name)?.map_or(default, |number| usize::try_from(number).unwrap_or(0)))
}

/// The releases of a namespace, or of all.
pub fn store(client: Client, namespace: Option<&str>) -> Result<Store> {
    let driver = Driver::parse(&std::env::var("HELM_DRIVER").unwrap_or_default())?;
    let local = Location::load(local_zone()).unwrap_or(Location::UTC).local();
    Ok(Store::new(client, driver, namespace.map(str::to_owned), local))
}

fn name(matches: &ArgMatches) -> Result<&str> {
    release_name(matches.get_one::<String>("name").map(String::as_str).unwrap_or_default())
}

/// A text that is the name of a release.
pub fn release_name(name: &str) -> Result<&str> {
    if !podium_chart::renderer::is_release_name(name) {
        bail!(
            "{name:?} is not the name of a release: names have up to 53 lower-case letters, digits, dots and lines"
        );
    }
    Ok(name)
}

/// The releases of the namespace that the flags say.
fn own(client: Client) -> Result<Store> {
    let namespace = client.namespace().to_owned();
    store(client, Some(&namespace))
}

/// The release that a command is about.
async fn release(store: &Store, matches: &ArgMatches) -> Result<Release> {
    let revision = number(matches, "revision")?.filter(|revision| *revision > 0);
    let name = name(matches)?;
    store.get(name, revision).await.map_err(|error| missing(store, name, revision, error.into()))
}

/// Whether it says that a release is not there.
pub fn is_missing(error: &anyhow::Error) -> bool {
    use podium_release::{Error, engine};
    matches!(error.downcast_ref(), Some(Error::NotFound))
        || matches!(error.downcast_ref(), Some(engine::Error::Store(Error::NotFound)))
}

/// Helm's words, which programs compare; a person is told which release or revision is not there, and where to look.
fn missing(store: &Store, name: &str, revision: Option<i64>, error: anyhow::Error) -> anyhow::Error {
    if !is_missing(&error) {
        return error;
    }
    let namespace = store.namespace().unwrap_or_default();
    let hint = match revision {
        None => format!(
            "there is no {name:?} in the namespace {namespace:?}; `podium release list -A` shows the releases of all namespaces"
        ),
        Some(revision) => format!(
            "there is no revision {revision} of {name:?} in the namespace {namespace:?}; `podium release history {name} -n \
             {namespace}` shows those that are there"
        ),
    };
    with_hint(&error, Some(hint))
}

pub fn print_out(out: &Output<'_>, format: Format) -> Result<()> {
    let bytes = match format {
        Format::Json => out.json()?,
        Format::Yaml | Format::Table => out.yaml()?,
    };
    print(&bytes)
}

fn wanted(matches: &ArgMatches) -> Result<ListOptions> {
    let statuses = STATUSES
        .iter()
        .filter(|(flag, _)| flag::on(matches, flag))
        .flat_map(|(_, words)| words.iter().copied());
    let pattern = flag::one(matches, "filter").filter(|pattern| !pattern.is_empty());
    Ok(ListOptions {
        statuses: statuses.collect(),
        filter: pattern.map(Regex::new).transpose()?,
        selector: Selector::parse(flag::one(matches, "selector").unwrap_or_default())?,
        sort_by_date: flag::on(matches, "date"),
        reverse: flag::on(matches, "reverse"),
        offset: count(matches, "offset", 0)?,
        max: count(matches, "max", 256)?,
    })
}

/// `release list`.
pub fn list(matches: &ArgMatches) -> Result<()> {
    let (wanted, format) = (wanted(matches)?, format(matches)?);
    let all = flag::on(matches, "all-namespaces");
    let listed = with_cluster(matches, async |client| {
        let store = if all { store(client, None)? } else { own(client)? };
        Ok(wanted.list(&store).await?)
    })?;
    for error in &listed.unreadable {
        complain(&format!("left out: {error}"));
    }
    let releases = &listed.releases;
    let times = flag::one(matches, "time-format").unwrap_or_default();
    let names = || releases.iter().map(|release| release.name.as_str());
    match (flag::on(matches, "short"), format) {
        (true, Format::Table) => {
            print(names().map(|name| format!("{name}\n")).collect::<String>().as_bytes())
        }
        (true, format) => print_out(&Output::List(names().map(Output::from).collect()), format),
        (false, Format::Table) => {
            let headers = !flag::on(matches, "no-headers");
            print(show::list_table(releases, times, headers).as_bytes())
        }
        (false, format) => print_out(&show::list(releases, times), format),
    }
}

/// `release status`.
pub fn status(matches: &ArgMatches) -> Result<()> {
    let format = format(matches)?;
    let form = if format == Format::Table { Representation::Table } else { Representation::Full };
    let (release, live) = with_cluster(matches, async |client| {
        let release = release(&own(client.clone())?, matches).await?;
        let live = LiveObjects::read(&client, &release.manifest, client.namespace(), form).await?;
        Ok((release, live))
    })?;
    for status in &live.errors {
        complain(&format!("left out: {status}"));
    }
    match format {
        Format::Table => print(show::status_text(&release, &live).as_bytes()),
        format => print_out(&show::status(&release, &live), format),
    }
}

/// `release history`.
pub fn history(matches: &ArgMatches) -> Result<()> {
    let (format, max) = (format(matches)?, count(matches, "max", 256)?);
    let mut releases = with_cluster(matches, async |client| {
        let (store, name) = (own(client)?, name(matches)?);
        store.history(name).await.map_err(|error| missing(&store, name, None, error.into()))
    })?;
    releases.drain(..releases.len().saturating_sub(max));
    match format {
        Format::Table => {
            let rollbacks = flag::on(matches, "show-rollback-revision");
            print(show::history_table(&releases, rollbacks).as_bytes())
        }
        format => print_out(&show::history(&releases), format),
    }
}

/// `release get`.
pub fn get(what: &str, matches: &ArgMatches) -> Result<()> {
    if what == "all" {
        flag::refuse(flags::GET_ALL, matches)?;
    }
    let format = if matches!(what, "values" | "metadata") { format(matches)? } else { Format::Table };
    let release = with_cluster(matches, async |client| release(&own(client)?, matches).await)?;
    match what {
        "all" => print(&show::all_text(&release)?),
        "hooks" => print(show::hooks_text(&release).as_bytes()),
        "manifest" => print(format!("{}\n", release.manifest).as_bytes()),
        "metadata" if format == Format::Table => print(show::metadata_text(&release).as_bytes()),
        "metadata" => print_out(&show::metadata(&release), format),
        "notes" if release.info.notes.is_empty() => Ok(()),
        "notes" => print(format!("NOTES:\n{}\n", release.info.notes).as_bytes()),
        "values" => values(&release, flag::on(matches, "all"), format),
        _ => Ok(()),
    }
}

fn values(release: &Release, all: bool, format: Format) -> Result<()> {
    let computed;
    let (title, out) = if all {
        computed = release.computed_values(&HELM4)?;
        ("COMPUTED", Output::Node(&computed))
    } else {
        ("USER-SUPPLIED", Output::Map(release.config.as_ref()))
    };
    if format == Format::Table {
        print(format!("{title} VALUES:\n").as_bytes())?;
    }
    print_out(&out, format)
}
