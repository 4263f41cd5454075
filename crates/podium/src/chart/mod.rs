//! `podium chart`.

mod crd;
pub mod flags;
mod hints;
pub mod input;
mod report;
mod server;
pub mod template;
mod values;

use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::cluster::{ACCESS, PLACE};
use crate::flag::Flag;

/// The commands.
pub fn commands() -> Command {
    Command::new("chart")
        .about("Works with Helm charts: renders them, shows what their values become, and types their values")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(template_command())
        .subcommand(values_command())
        .subcommand(crd_command())
}

fn with_flags(command: Command, tables: &[&[Flag]]) -> Command {
    command.args(tables.iter().copied().flatten().map(|flag| flag.to_arg()))
}

/// `[NAME] CHART`, as Helm takes them.
pub fn name_and_chart() -> Arg {
    Arg::new("args")
        .value_name("[NAME] CHART")
        .help("the name of the release (release-name if it is left out), and the chart: a directory or an archive")
        .action(ArgAction::Append)
        .num_args(0..)
}

fn template_command() -> Command {
    let command = Command::new("template")
        .about("Renders a chart and prints its manifests, byte for byte as `helm template` does")
        .override_usage("podium chart template [NAME] CHART [flags]")
        .after_help(
            "Examples:\n  podium chart template ./mychart\n  podium chart template demo ./mychart -f prod.yaml --set replicas=3\n  \
             podium chart template demo mychart-1.2.3.tgz --show-only templates/deployment.yaml\n  \
             podium chart template demo ./mychart --helm-version 3",
        )
        .arg(name_and_chart());
    let tables = [
        flags::VALUES,
        flags::RENDER,
        flags::TOLD,
        flags::OUTPUT,
        flags::CLUSTER,
        PLACE,
        ACCESS,
        flags::INERT,
        flags::REFUSED,
    ];
    with_flags(command, &tables)
}

fn values_command() -> Command {
    let command = Command::new("values")
        .about("Shows the values that a render would see, each with the place that it comes from")
        .override_usage("podium chart values [NAME] CHART [flags]")
        .after_help(
            "Examples:\n  podium chart values ./mychart -f prod.yaml\n  podium chart values ./mychart --set image.tag=1.2 -o json",
        )
        .arg(name_and_chart());
    with_flags(command, &[flags::VALUES, flags::RENDER, flags::TOLD, PLACE, values::FLAGS, flags::REFUSED])
}

fn crd_command() -> Command {
    let command = Command::new("crd")
        .about("Prints a CRD whose spec is the values of a chart, typed by its values.schema.json")
        .override_usage("podium chart crd CHART --group GROUP --kind KIND [flags]")
        .after_help(
            "The CRD says what values.schema.json says: types, required fields, enums, limits, patterns, and with\n\
             additionalProperties: false that other fields are mistakes. An API server then refuses a resource with a\n\
             wrong value, and `kubectl apply` one with a misspelt field. What a CRD cannot express is noted on standard\n\
             error. Without a schema the types are those of values.yaml.\n\n\
             Examples:\n  podium chart crd ./mychart --group models.example.com --kind InferenceStack\n  \
             podium chart crd ./mychart --group example.com --kind App --version v1,v1alpha1 -o json\n  \
             podium chart crd ./mychart --group example.com --kind App | kubectl apply -f -",
        )
        .arg(
            Arg::new("args")
                .value_name("CHART")
                .help("the chart: a directory or an archive")
                .action(ArgAction::Append)
                .num_args(0..),
        );
    with_flags(command, &[crd::FLAGS])
}

/// Runs one of them.
pub fn dispatch(matches: &ArgMatches) -> anyhow::Result<()> {
    match matches.subcommand() {
        Some(("template", matches)) => template::run(matches),
        Some(("values", matches)) => values::run(matches),
        Some(("crd", matches)) => crd::run(matches),
        _ => Ok(()),
    }
}
