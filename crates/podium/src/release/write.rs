//! The commands that change releases.

use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use clap::ArgMatches;
use podium_client::write::PropagationPolicy;
use podium_deploy::apply;
use podium_deploy::plan::{Action, Step};
use podium_deploy::wait::WaitCondition;
use podium_release::engine::{Engine, Error, Options, ReleaseHistory};
use podium_release::hooks::HookRequest;
use podium_release::live_objects::LiveObjects;
use podium_release::record::Hook;
use podium_release::{Release, Store, print as show};
use podium_sprig::gotime;

use super::draft::render;
use super::flags;
use super::listen::Person;
use super::read::{Format, format, is_missing, print_out, release_name, store};
use crate::chart::input::Input;
use crate::cluster::Cluster;
use crate::flag::{many, on, one, refuse};
use crate::output::{complain, print};

/// The longest description that Helm takes.
const LONGEST: usize = 512;

/// What `--timeout` says.
fn timeout(matches: &ArgMatches) -> Result<Duration> {
    let Some(text) = one(matches, "timeout") else { return Ok(Options::default().timeout) };
    let time = gotime::Duration::parse(text)
        .map_err(|e| anyhow!("--timeout {text}: {e}; write 90s, 5m or 1h30m"))?;
    match u64::try_from(time.nanoseconds()) {
        Ok(nanos) if nanos > 0 => Ok(Duration::from_nanos(nanos)),
        _ => bail!("--timeout {text}: it has to be longer than nothing"),
    }
}

/// What `--wait` says.
fn wait(matches: &ArgMatches, implied: bool) -> Result<Option<WaitCondition>> {
    let ready =
        if on(matches, "wait-for-jobs") { WaitCondition::ReadyWithJobs } else { WaitCondition::Ready };
    match one(matches, "wait") {
        None | Some("hookOnly" | "false") => Ok(implied.then_some(ready)),
        Some("watcher" | "legacy" | "true") => Ok(Some(ready)),
        Some(other) => {
            bail!("invalid wait input {other:?}. Valid inputs are watcher, hookOnly, and legacy")
        }
    }
}

/// Whether only to say what would happen. Helm's `client` is answered by the server too: it knows better.
fn dry_run(matches: &ArgMatches) -> Result<bool> {
    match one(matches, "dry-run") {
        None | Some("none" | "false") => Ok(false),
        Some("client" | "server" | "unset" | "true") => Ok(true),
        Some(other) => {
            bail!("invalid dry-run value ({other:?}). Must be \"none\", \"server\", or \"client\"")
        }
    }
}

fn options(matches: &ArgMatches) -> Result<Options> {
    let rollback_on_failure = on(matches, "rollback-on-failure") || on(matches, "atomic");
    let max_history = match one(matches, "history-max") {
        Some(text) => text.parse().with_context(|| format!("--history-max {text}: write a whole number"))?,
        None => match std::env::var("HELM_MAX_HISTORY") {
            Ok(text) => text.parse().unwrap_or(10),
            Err(_) => 10,
        },
    };
    let description = one(matches, "description").unwrap_or_default().to_owned();
    let length = description.chars().count();
    if length > LONGEST {
        bail!("description must be {LONGEST} characters or less, got {length}");
    }
    Ok(Options {
        hooks: !on(matches, "no-hooks"),
        wait: wait(matches, rollback_on_failure)?,
        timeout: timeout(matches)?,
        adopt: on(matches, "take-ownership"),
        rollback_on_failure,
        cleanup_on_failure: on(matches, "cleanup-on-fail"),
        description,
        max_history,
        create_namespace: on(matches, "create-namespace"),
        propagation: match one(matches, "cascade").unwrap_or("background") {
            "background" => PropagationPolicy::Background,
            "foreground" => PropagationPolicy::Foreground,
            "orphan" => PropagationPolicy::Orphan,
            other => bail!(
                "invalid cascade value ({other}). Must be \"background\", \"foreground\", or \"orphan\""
            ),
        },
        dry_run: dry_run(matches)?,
        expect_absent: false,
        require_deletion: false,
    })
}

/// What the commands work with.
struct Desk {
    cluster: Rc<Cluster>,
    store: Store,
    options: Options,
}

impl Desk {
    fn open(matches: &ArgMatches, namespace: Option<&str>) -> Result<Self> {
        refuse(flags::CHANGE_REFUSED, matches)?;
        let options = options(matches)?;
        let cluster = Rc::new(Cluster::open(matches)?);
        let store = cluster.wait(async |client| {
            let namespace = namespace.map_or_else(|| client.namespace().to_owned(), str::to_owned);
            store(client, Some(&namespace))
        })?;
        Ok(Self { cluster, store, options })
    }

    fn engine(&self) -> Engine<'_> {
        Engine { store: &self.store, kinds: self.cluster.kinds(), reporter: &Person, owner: None }
    }

    /// Says which release is not there.
    fn missing(&self, name: &str, error: anyhow::Error) -> anyhow::Error {
        if !is_missing(&error) {
            return error;
        }
        let namespace = self.store.namespace().unwrap_or_default();
        anyhow!(
            "{error}: there is no {name:?} in the namespace {namespace:?}; `podium release list -A` shows the releases of all \
             namespaces"
        )
    }

    /// Does something with a release; when the user interrupts it, the record says so.
    fn run<T>(&self, name: &str, work: impl AsyncFnOnce(Engine<'_>) -> Result<T, Error>) -> Result<T> {
        self.cluster.wait(async |_| {
            let engine = self.engine();
            tokio::select! {
                done = work(engine) => Ok(done?),
                () = podium_controller::shutdown_signal() => {
                    engine.mark_interrupted(name).await?;
                    bail!("interrupted: the release {name} is half changed; the next upgrade or rollback mends it")
                }
            }
        })
    }

    /// What is there of a release; an interrupted change is recovered.
    fn past(&self, name: &str, matches: &ArgMatches) -> Result<ReleaseHistory> {
        let patience = if on(matches, "recover") { Duration::ZERO } else { self.options.timeout };
        let dry_run = self.options.dry_run;
        self.run(name, async |engine| {
            let mut past = engine.history(name).await?;
            if !dry_run {
                engine.recover(&mut past, patience).await?;
            }
            Ok(past)
        })
    }
}

/// Says what became of objects that a user may not expect.
fn report(steps: &[Step]) {
    for step in steps {
        let notes = step.notes.join("; ");
        match &step.action {
            Action::Adopt(_) => complain(&format!("adopted {}", step.object)),
            Action::Leave => complain(&format!("left {}: {notes}", step.object)),
            Action::Change(_) | Action::Keep if !notes.is_empty() => {
                complain(&format!("{}: {notes}", step.object));
            }
            _ => {}
        }
    }
}

fn show_release(release: &Release, format: Format, hide_notes: bool) -> Result<()> {
    if format != Format::Table {
        return print_out(&show::full_record(release), format);
    }
    let mut release = release.clone();
    if hide_notes {
        release.info.notes.clear();
    }
    print(show::status_text(&release, &LiveObjects::default()).as_bytes())
}

/// Which of the two a chart is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Install,
    Upgrade,
    Adopt,
}

/// `release install`, `upgrade` and `adopt`.
pub fn change(way: Way, command: &str, matches: &ArgMatches) -> Result<()> {
    let format = format(matches)?;
    if many(matches, "args").len() < 2 && !(way == Way::Install && makes_name(matches)) {
        bail!("\"podium {command}\" requires 2 arguments\n\nUsage:  podium {command} NAME CHART [flags]");
    }
    let mut input = Input::read(command, matches)?;
    let mut desk = Desk::open(matches, Some(&input.release.namespace))?;
    desk.options.adopt |= way == Way::Adopt;
    let name = input.release.name.clone();
    let past = desk.past(&name, matches)?;
    let install = match way {
        Way::Install => true,
        Way::Upgrade => past.is_uninstalled() && on(matches, "install"),
        Way::Adopt => past.is_uninstalled(),
    };
    if install && way == Way::Upgrade && format == Format::Table {
        print(format!("Release {name:?} does not exist. Installing it now.\n").as_bytes())?;
    }
    let failed = |error: anyhow::Error| {
        let error = match error.downcast_ref() {
            Some(Error::Apply(apply::Error::Foreign(_))) => anyhow!(
                "{error}\nNothing was written. `podium release adopt {name} CHART` makes such objects the release's own"
            ),
            Some(Error::NameInUse) if past.is_uninstalled() => anyhow!(
                "{error}: its history was kept; --replace takes the name, `podium release uninstall {name}` forgets it"
            ),
            Some(Error::NameInUse) => {
                anyhow!("{error}: `podium release upgrade {name} CHART` changes what is there")
            }
            _ => error,
        };
        match (way, install) {
            (Way::Install, _) => anyhow!("INSTALLATION FAILED: {error}"),
            (_, false) => anyhow!("UPGRADE FAILED: {error}"),
            (_, true) => error,
        }
    };
    if !install && past.is_uninstalled() {
        return Err(failed(anyhow!(
            "{name:?} has no deployed releases: install it with `podium release install {name} CHART`, or add --install"
        )));
    }
    let draft = render(&mut input, &desk.cluster, &past, matches)?;
    let replace = on(matches, "replace") || way != Way::Install;
    let outcome = desk.run(&name, async |engine| match install {
        true => engine.install(&past, draft, replace, &desk.options).await,
        false => engine.upgrade(&past, draft, &desk.options).await,
    });
    let outcome = outcome.map_err(failed)?;
    report(&outcome.steps);
    if !install && format == Format::Table {
        print(format!("Release {name:?} has been upgraded. Happy Helming!\n").as_bytes())?;
    }
    show_release(&outcome.release, format, on(matches, "hide-notes"))
}

fn makes_name(matches: &ArgMatches) -> bool {
    on(matches, "generate-name") || one(matches, "name-template").is_some()
}

/// `release rollback`.
pub fn rollback(matches: &ArgMatches) -> Result<()> {
    let args = many(matches, "args");
    let (name, to) = match args.as_slice() {
        [name] => (name, None),
        [name, to, ..] => (
            name,
            Some(
                to.parse::<i64>()
                    .with_context(|| format!("could not convert revision {to:?} to a number"))?,
            ),
        ),
        [] => bail!(
            "\"podium release rollback\" requires at least 1 argument\n\nUsage:  podium release rollback NAME [REVISION] [flags]"
        ),
    };
    let name = release_name(name)?;
    let to = match to {
        Some(negative) if negative < 0 => bail!("invalid release revision"),
        to => to.filter(|to| *to > 0),
    };
    let desk = Desk::open(matches, None)?;
    let past = desk.past(name, matches)?;
    let outcome = desk.run(name, async |engine| engine.rollback(name, &past, to, &desk.options).await);
    let outcome = outcome.map_err(|e| desk.missing(name, e))?;
    report(&outcome.steps);
    print(b"Rollback was a success! Happy Helming!\n")
}

/// `release uninstall`.
pub fn uninstall(matches: &ArgMatches) -> Result<()> {
    let names = many(matches, "args");
    if names.is_empty() {
        bail!(
            "\"podium release uninstall\" requires at least 1 argument\n\nUsage:  podium release uninstall NAME... [flags]"
        );
    }
    let desk = Desk::open(matches, None)?;
    for name in &names {
        let name = release_name(name)?;
        let keep = on(matches, "keep-history");
        let ended = desk.run(name, async |engine| match engine.uninstall(name, keep, &desk.options).await {
            Err(Error::Store(podium_release::Error::NotFound)) if on(matches, "ignore-not-found") => Ok(None),
            ended => ended.map(Some),
        });
        let Some(ended) = ended.map_err(|e| not_loaded(&desk, name, e))? else {
            print(format!("release \"{name}\" uninstalled\n").as_bytes())?;
            continue;
        };
        let kept = |step: &&Step| {
            step.action == Action::Leave && step.notes.iter().any(|n| n.contains("resource-policy"))
        };
        let lines: String = ended
            .steps
            .iter()
            .filter(kept)
            .map(|step| format!("[{}] {}\n", step.object.kind.kind, step.object.name))
            .collect();
        if !lines.is_empty() {
            print(format!("These resources were kept due to the resource policy:\n{lines}\n").as_bytes())?;
        }
        report(&ended.steps.into_iter().filter(|step| !kept(&step)).collect::<Vec<_>>());
        print(format!("release \"{name}\" uninstalled\n").as_bytes())?;
    }
    Ok(())
}

fn not_loaded(desk: &Desk, name: &str, error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<Error>() {
        Some(Error::Store(podium_release::Error::NotFound)) => {
            anyhow!("uninstall: Release not loaded: {name}: {}", desk.missing(name, error))
        }
        _ => error,
    }
}

/// Which tests `--filter name=a --filter '!name=b'` chooses.
fn chosen(filters: &[String], hook: &Hook) -> bool {
    let named = |prefix: &'static str| filters.iter().filter_map(move |filter| filter.strip_prefix(prefix));
    let wanted: Vec<&str> = named("name=").collect();
    let not: Vec<&str> = named("!name=").chain(named("! name=")).collect();
    (wanted.is_empty() || wanted.contains(&hook.name.as_str())) && !not.contains(&hook.name.as_str())
}

/// `release test`.
pub fn test(matches: &ArgMatches) -> Result<()> {
    let [name] = many(matches, "args").try_into().map_err(|_| {
        anyhow!("\"podium release test\" requires 1 argument\n\nUsage:  podium release test NAME [flags]")
    })?;
    let name = release_name(&name)?.to_owned();
    let filters = crate::flag::list(matches, "filter");
    let desk = Desk::open(matches, None)?;
    let ran = desk.run(&name, async |engine| {
        let mut release = desk.store.get(&name, None).await?;
        let wanted = |hook: &Hook| chosen(&filters, hook);
        let all_output = on(matches, "logs");
        let request =
            HookRequest { filter: &wanted, all_output, ..HookRequest::new("test", desk.options.timeout) };
        let ran = engine.run_hooks(&mut release, &request).await;
        desk.store.update(&release).await?;
        Ok((release, ran.map_err(|e| e.to_string())))
    });
    let (release, ran) = ran.map_err(|e| desk.missing(&name, e))?;
    show_release(&release, Format::Table, true)?;
    ran.map_err(|e| anyhow!(e))
}
