//! `podium release`.

mod diff;
mod flags;
mod read;

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

/// The commands.
pub fn commands() -> Command {
    let about = |about: &About| {
        with_flags(reading(about.name).about(about.help), about.flags)
            .arg(Arg::new("name").value_name("NAME").required(true).help("the name of the release"))
    };
    Command::new("release")
        .about("Works with Helm releases in a cluster, those that helm installed too")
        .subcommand_required(true)
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
        .subcommand(diff_command())
        .subcommand(
            Command::new("get")
                .about("Prints what is stored of a release")
                .subcommand_required(true)
                .arg_required_else_help(true)
                .subcommands(GETTING.iter().map(about)),
        )
}

fn diff_command() -> Command {
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
        &[chart::flags::VALUES, chart::flags::RENDER, flags::REUSE, flags::OUTPUT, chart::flags::REFUSED],
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

/// Runs one of them.
pub fn dispatch(matches: &ArgMatches) -> anyhow::Result<()> {
    match matches.subcommand() {
        Some(("list", matches)) => read::list(matches),
        Some(("status", matches)) => read::status(matches),
        Some(("history", matches)) => read::history(matches),
        Some(("diff", matches)) => diff::run(matches),
        Some(("get", matches)) => match matches.subcommand() {
            Some((what, matches)) => read::get(what, matches),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}
