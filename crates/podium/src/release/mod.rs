//! `podium release`.

mod flags;
mod read;

use clap::{Arg, ArgMatches, Command};

use crate::cluster;
use crate::flag::Flag;

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
        with_flags(Command::new(about.name).about(about.help), about.flags)
            .arg(Arg::new("name").value_name("NAME").required(true).help("the name of the release"))
    };
    Command::new("release")
        .about("Works with Helm releases in a cluster, those that helm installed too")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            with_flags(Command::new("list").visible_alias("ls"), &[flags::LIST, flags::OUTPUT])
                .about("Lists the releases of a namespace, or of all, as `helm list` does")
                .after_help(
                    "Examples:\n  podium release list -A\n  podium release list --failed --pending -o json",
                ),
        )
        .subcommands(READING.iter().map(about))
        .mut_subcommand("history", |history| history.visible_alias("hist"))
        .subcommand(
            Command::new("get")
                .about("Prints what is stored of a release")
                .subcommand_required(true)
                .arg_required_else_help(true)
                .subcommands(GETTING.iter().map(about)),
        )
}

fn with_flags(command: Command, tables: &[&[Flag]]) -> Command {
    command.args(tables.iter().copied().chain([cluster::FLAGS]).flatten().map(|flag| flag.to_arg()))
}

/// Runs one of them.
pub fn dispatch(matches: &ArgMatches) -> anyhow::Result<()> {
    match matches.subcommand() {
        Some(("list", matches)) => read::list(matches),
        Some(("status", matches)) => read::status(matches),
        Some(("history", matches)) => read::history(matches),
        Some(("get", matches)) => match matches.subcommand() {
            Some((what, matches)) => read::get(what, matches),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}
