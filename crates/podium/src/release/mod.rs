//! `podium release`.

mod diff;
mod draft;
mod flags;
mod listen;
mod read;
mod write;

use clap::{Arg, ArgMatches, Command};

use crate::flag::Flag;
use crate::{chart, cluster};

/// A command about one release.
struct About {
    name: &'static str,
    help: &'static str,
    flags: &'static [&'static [Flag]],
}

const READING: [About; 2] = [
    About {
        name: "status",
        help: "Shows a release: when it was deployed, how it is, and its objects as the cluster has them",
        flags: &[flags::REVISION, flags::OUTPUT],
    },
    About {
        name: "history",
        help: "Shows the revisions of a release",
        flags: &[flags::HISTORY, flags::OUTPUT],
    },
];

const GETTING: [About; 6] = [
    About {
        name: "all",
        help: "Prints everything about a release",
        flags: &[flags::REVISION, flags::GET_ALL],
    },
    About { name: "hooks", help: "Prints the hooks of a release", flags: &[flags::REVISION] },
    About {
        name: "manifest",
        help: "Prints the objects of a release as they were rendered",
        flags: &[flags::REVISION],
    },
    About {
        name: "metadata",
        help: "Prints the chart, version, labels and dates of a release",
        flags: &[flags::REVISION, flags::OUTPUT],
    },
    About { name: "notes", help: "Prints the notes of a release", flags: &[flags::REVISION] },
    About {
        name: "values",
        help: "Prints the values that the user set, or all of them",
        flags: &[flags::REVISION, flags::VALUES, flags::OUTPUT],
    },
];

/// The commands; their flags are only put together when one of them is called.
pub fn commands() -> Command {
    Command::new("release")
        .about("Works with Helm releases in a cluster, those that helm installed too")
        .defer(with_commands)
}

fn with_commands(all: Command) -> Command {
    let about = |about: &About| {
        with_flags(reading(about.name).about(about.help), about.flags)
            .arg(Arg::new("name").value_name("NAME").required(true).help("the name of the release"))
    };
    all.subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            with_flags(reading("list").visible_alias("ls"), &[flags::LIST, flags::OUTPUT])
                .about("Lists the releases of a namespace, or of all, as `helm list` does")
                .after_help(
                    "Examples:\n  podium release list -A\n  podium release list --failed --pending -o json",
                ),
        )
        .subcommands(READING.iter().map(about))
        .mut_subcommand("history", |history| history.visible_alias("hist"))
        .subcommands(changing())
        .subcommand(diff_command())
        .subcommand(
            Command::new("get")
                .about("Prints what is stored of a release")
                .subcommand_required(true)
                .arg_required_else_help(true)
                .subcommands(GETTING.iter().map(about)),
        )
}

/// What is given to a command besides flags.
fn args(names: &'static str, help: &'static str) -> Arg {
    Arg::new("args").value_name(names).num_args(0..).help(help)
}

/// The commands that change something.
fn changing() -> Vec<Command> {
    const NAME_AND_CHART: &str = "the name of the release, and the chart: a directory or an archive";
    let make = |name: &'static str, help: &'static str, examples: &'static str, flags: &[&[Flag]]| {
        let tables: Vec<&[Flag]> = [
            chart::flags::VALUES,
            chart::flags::RENDER,
            flags::MAKE,
            flags::CHANGE,
            flags::DRY_RUN,
            flags::OUTPUT,
            chart::flags::WANTED,
            chart::flags::REMOTE,
            chart::flags::REPOSITORY,
            chart::flags::CACHES,
            chart::flags::UPDATE,
            chart::flags::SIGNATURES,
            chart::flags::PLUGINS,
            flags::CHANGE_REFUSED,
        ]
        .into_iter()
        .chain(flags.iter().copied())
        .collect();
        let usage = format!("podium release {name} NAME CHART [flags]");
        let command = Command::new(name).about(help).override_usage(usage).after_help(examples);
        with_flags(
            command.arg(chart::name_and_chart().value_name("NAME CHART").help(NAME_AND_CHART)),
            &tables,
        )
    };
    vec![
        make(
            "install",
            "Installs a chart as a new release, as `helm install` does",
            "Everything is checked before anything is written. `podium release diff` shows beforehand what would be done.\n\n\
             Examples:\n  podium release install demo ./mychart -n shop --create-namespace --wait\n  \
             podium release install demo ./mychart -f prod.yaml --rollback-on-failure",
            &[flags::INSTALL],
        ),
        make(
            "upgrade",
            "Makes a new revision of a release, as `helm upgrade` does; of one that helm installed too",
            "Fields that somebody edited are put right; fields that others apply, or that an autoscaler sets, are left to them\n\
             and named. A release that a crash left in the middle of a change is recovered.\n\n\
             Examples:\n  podium release upgrade demo ./mychart --set replicas=3\n  \
             podium release upgrade -i demo ./mychart -f prod.yaml --wait --timeout 10m",
            &[flags::UPGRADE, flags::REUSE, flags::REVISE],
        ),
        make(
            "adopt",
            "Makes objects that are there already a release: those of the chart that exist are taken over",
            "The same as `upgrade --install --take-ownership`. `podium release diff --take-ownership` shows beforehand what would\n\
             be adopted and which fields would change.\n\n\
             Example:\n  podium release adopt demo ./mychart -f as-it-is.yaml",
            &[flags::REUSE, flags::REVISE],
        ),
        with_flags(
            Command::new("rollback")
                .about("Goes back to an older revision: the one before the last, or the one that is given")
                .override_usage("podium release rollback NAME [REVISION] [flags]")
                .arg(args("NAME [REVISION]", "the name of the release, and the revision to go back to"))
                .args(cluster::INERT.iter().map(|flag| flag.to_arg())),
            &[flags::CHANGE, flags::DRY_RUN, flags::REVISE, flags::CHANGE_REFUSED],
        ),
        with_flags(
            Command::new("uninstall")
                .visible_aliases(["delete", "del", "un"])
                .about("Deletes the objects of releases, and their records")
                .override_usage("podium release uninstall NAME... [flags]")
                .after_help(
                    "Objects with the annotation helm.sh/resource-policy: keep stay, and so does what belongs to somebody else.\n\
                     The CRDs of crds/ stay too.",
                )
                .arg(args("NAME", "the names of the releases"))
                .args(cluster::INERT.iter().map(|flag| flag.to_arg())),
            &[flags::CHANGE, flags::DRY_RUN, flags::UNINSTALL],
        ),
        with_flags(
            Command::new("test")
                .about("Runs the test hooks of a release")
                .override_usage("podium release test NAME [flags]")
                .arg(args("NAME", "the name of the release"))
                .args(cluster::INERT.iter().map(|flag| flag.to_arg())),
            &[flags::CHANGE, flags::TEST],
        ),
    ]
}

/// `podium diff` and `podium release diff`.
pub fn diff_command() -> Command {
    let command = Command::new("diff")
        .about("Shows what an install or an upgrade would change, object by object and field by field")
        .override_usage("podium release diff NAME CHART [flags]")
        .after_help(
            "The chart is rendered with the values, the cluster and the release as they are, and the server is asked what\n\
             applying it would do. Nothing is written. The exit status is 1 when an object is blocked.\n\n\
             Examples:\n  podium release diff demo ./mychart -f prod.yaml\n  \
             podium release diff demo ./mychart --set replicas=3 -o json",
        )
        .arg(
            chart::name_and_chart()
                .value_name("NAME CHART")
                .help("the name of the release, and the chart: a directory or an archive"),
        );
    with_flags(
        command,
        &[
            chart::flags::VALUES,
            chart::flags::RENDER,
            flags::DIFF,
            flags::REUSE,
            flags::OUTPUT,
            chart::flags::WANTED,
            chart::flags::REMOTE,
            chart::flags::REPOSITORY,
            chart::flags::CACHES,
            chart::flags::UPDATE,
            chart::flags::SIGNATURES,
            chart::flags::PLUGINS,
        ],
    )
}

/// A command that reads, with the flags of Helm's that do nothing for it.
fn reading(name: &'static str) -> Command {
    Command::new(name).args(cluster::INERT.iter().map(|flag| flag.to_arg()))
}

fn with_flags(command: Command, tables: &[&[Flag]]) -> Command {
    command.args(
        tables.iter().copied().chain([cluster::PLACE, cluster::ACCESS]).flatten().map(|flag| flag.to_arg()),
    )
}

/// Runs `diff`.
pub fn diff(matches: &ArgMatches) -> anyhow::Result<()> {
    diff::run(matches)
}

/// Runs one of them.
pub fn dispatch(matches: &ArgMatches) -> anyhow::Result<()> {
    match matches.subcommand() {
        Some(("list", matches)) => read::list(matches),
        Some(("status", matches)) => read::status(matches),
        Some(("history", matches)) => read::history(matches),
        Some(("diff", matches)) => diff::run(matches),
        Some(("install", matches)) => write::change(write::Way::Install, "release install", matches),
        Some(("upgrade", matches)) => write::change(write::Way::Upgrade, "release upgrade", matches),
        Some(("adopt", matches)) => write::change(write::Way::Adopt, "release adopt", matches),
        Some(("rollback", matches)) => write::rollback(matches),
        Some(("uninstall", matches)) => write::uninstall(matches),
        Some(("test", matches)) => write::test(matches),
        Some(("get", matches)) => match matches.subcommand() {
            Some((what, matches)) => read::get(what, matches),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}
