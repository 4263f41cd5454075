//! `podium operator`.

mod flags;
mod run;

use clap::{ArgMatches, Command};

use crate::cluster::{ACCESS, PLACE};
use crate::flag::Flag;

/// The commands.
pub fn commands() -> Command {
    let old: Vec<Flag> = flags::OLD.iter().map(|(flag, _)| *flag).collect();
    let run_flags = [flags::RUN, &old, flags::INERT, flags::REFUSED, PLACE, ACCESS];
    Command::new("operator")
        .about("Runs the chart operator: a custom resource is the values of a chart")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("run")
                .about("Handles the resources of watches.yaml: renders their charts and keeps the cluster equal to them")
                .after_help(
                    "A project of the Helm operator (operator-sdk) runs unchanged. WATCH_NAMESPACE says which namespaces are\n\
                     watched (a,b; empty is all of them); in a pod, the service account says which cluster.\n\n\
                     Examples:\n  podium operator run\n  \
                     podium operator run --watches-file ./watches.yaml --reload --metrics-bind-address 0\n  \
                     podium operator run --leader-elect --leader-election-id my-operator",
                )
                .args(run_flags.into_iter().flatten().map(|flag| flag.to_arg())),
        )
}

/// Runs one of them.
pub fn dispatch(matches: &ArgMatches) -> anyhow::Result<()> {
    match matches.subcommand() {
        Some(("run", matches)) => run::run(matches),
        _ => Ok(()),
    }
}
