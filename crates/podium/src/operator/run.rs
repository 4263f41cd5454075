//! `podium operator run`.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use clap::ArgMatches;
use podium_controller::log::{Level, Log, Style};
use podium_controller::shutdown_signal;
use podium_operator::{Election, Settings};
use podium_project::watches::{Reader, Watches};
use podium_sprig::gotime;

use super::flags;
use crate::cluster::connect;
use crate::flag::{on, one};
use crate::output::complain;
use crate::world::Machine;

/// A server is kept busy by few, and each costs memory.
const CONCURRENCY: usize = 6;

/// A flag, or its older name; both at once is a mistake.
fn either<'m>(matches: &'m ArgMatches, name: &str) -> Result<Option<&'m str>> {
    let old = flags::OLD.iter().find(|(_, new)| *new == name).map(|(flag, _)| flag.long);
    match (one(matches, name), old.and_then(|old| one(matches, old))) {
        (Some(_), Some(_)) => bail!("--{name} and --{} are the same: give one", old.unwrap_or_default()),
        (new, old) => Ok(new.or(old)),
    }
}

fn address(matches: &ArgMatches, name: &str, default: &str) -> Result<Option<String>> {
    let said = either(matches, name)?.unwrap_or(default);
    Ok(Some(said.to_owned()).filter(|said| !said.is_empty() && said != "0"))
}

fn log(matches: &ArgMatches) -> Result<Log> {
    let level = match one(matches, "zap-log-level") {
        None if on(matches, "zap-devel") => Level::Debug,
        None => Level::Info,
        Some(text) => {
            Level::parse(text).ok_or_else(|| anyhow!("--zap-log-level {text}: write debug, info or error"))?
        }
    };
    let style = match one(matches, "zap-encoder").unwrap_or("console") {
        "console" => Style::Console,
        "json" => Style::Json,
        other => bail!("--zap-encoder {other}: write console or json"),
    };
    Ok(Log::new(level, style))
}

/// Reads `watches.yaml`; its charts are paths from here, and have to be there if they are needed at once.
pub fn watches(path: &str, needed: bool) -> Result<Watches> {
    let text = std::fs::read(path).with_context(|| {
        format!("{path} cannot be read: give --watches-file, or run this where watches.yaml is")
    })?;
    let machine = Machine::new(false, None);
    let environment = |name: &str| std::env::var(name).ok();
    let chart = |path: &str| match !needed || Path::new(path).exists() {
        true => Ok(()),
        false => Err("there is no such directory or archive".to_owned()),
    };
    let reader = Reader { file: path, environment: &environment, world: &machine, chart: &chart };
    let watches = reader.read(&text)?;
    for unknown in &watches.unknown {
        complain(&format!(
            "Warning: {}: the field {} is not known, and ignored",
            unknown.place, unknown.field
        ));
    }
    Ok(watches)
}

fn settings(matches: &ArgMatches, namespace: &str) -> Result<Settings> {
    let file = one(matches, "watches-file").unwrap_or("watches.yaml");
    let number = |name: &str| -> Result<Option<usize>> {
        let read =
            |text: &str| text.parse().with_context(|| format!("--{name} {text}: write a whole number"));
        one(matches, name).map(read).transpose()
    };
    let reconcile_period = match one(matches, "reconcile-period") {
        None => None,
        Some(text) => {
            let time = gotime::Duration::parse(text)
                .map_err(|e| anyhow!("--reconcile-period {text}: {e}; write 90s, 5m or 1h"))?;
            Some(Duration::from_nanos(u64::try_from(time.nanoseconds()).unwrap_or(0)))
        }
    };
    if on(matches, "metrics-require-rbac") && !on(matches, "metrics-secure") {
        bail!("--metrics-secure flag is required when --metrics-require-rbac is present");
    }
    let namespaces = std::env::var("WATCH_NAMESPACE").unwrap_or_default();
    let namespaces = namespaces.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned);
    let leads = on(matches, "leader-elect") || on(matches, "enable-leader-election");
    let id = one(matches, "leader-election-id").map(str::to_owned);
    let id = id.or_else(|| std::env::var("OPERATOR_NAME").ok()).filter(|id| !id.is_empty());
    let election = match (leads, id) {
        (false, _) => None,
        (true, None) => bail!("--leader-elect needs a name: give --leader-election-id NAME"),
        (true, Some(id)) => {
            let namespace = one(matches, "leader-election-namespace").unwrap_or(namespace).to_owned();
            Some(Election { id, namespace })
        }
    };
    let host = std::env::var("POD_NAME").ok().filter(|name| !name.is_empty());
    let host =
        host.unwrap_or_else(|| std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default());
    let host = host.trim().to_owned();
    let mut random = [0_u8; 4];
    getrandom::fill(&mut random)?;
    let watches = watches(file, false)?.entries;
    if watches.is_empty() {
        bail!(
            "{file} lists no kinds, so there is nothing to watch: write an entry with group, version, kind and chart, or let \
             podium operator init make one"
        );
    }
    Ok(Settings {
        watches,
        namespaces: namespaces.collect(),
        namespace: namespace.to_owned(),
        identity: format!("{host}_{:08x}", u32::from_le_bytes(random)),
        host,
        concurrency: number("max-concurrent-reconciles")?.unwrap_or(CONCURRENCY),
        reconcile_period,
        metrics: address(matches, "metrics-bind-address", ":8080")?,
        metrics_secure: on(matches, "metrics-secure"),
        metrics_require_rbac: on(matches, "metrics-require-rbac"),
        probes: address(matches, "health-probe-bind-address", ":8081")?,
        election,
        hide_overrides: on(matches, "suppress-override-values"),
        history: number("history-max")?.unwrap_or(10),
        reload: on(matches, "reload"),
        version: env!("CARGO_PKG_VERSION"),
    })
}

/// Runs until it is told to end.
pub fn run(matches: &ArgMatches) -> Result<()> {
    let log = log(matches)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let client = connect(matches).await?;
        let settings = settings(matches, client.namespace())?;
        for watch in &settings.watches {
            log.info(
                "watching",
                &[("kind", &watch.kind), ("chart", &watch.chart), ("selector", &watch.selector_text)],
            );
        }
        Ok(podium_operator::run(client, settings, log.clone(), shutdown_signal()).await?)
    })
}
