//! `podium operator`.

mod flags;
mod project;
mod run;

pub use flags::CHARTS;
pub use project::{Kept, Project, check_image, deployment, project, project_name};
pub use run::watches;

use clap::{Arg, ArgMatches, Command};

use crate::chart::crd;
use crate::cluster::{ACCESS, PLACE};
use crate::flag::Flag;

/// The commands; their flags are only put together when one of them is called.
pub fn commands() -> Command {
    Command::new("operator")
        .about("Runs the chart operator: a custom resource is the values of a chart")
        .defer(with_commands)
}

fn with_commands(all: Command) -> Command {
    let old: Vec<Flag> = flags::OLD.iter().map(|(flag, _)| *flag).collect();
    let run_flags = [flags::RUN, &old, flags::INERT, PLACE, ACCESS];
    all
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
        .subcommand(
            Command::new("init")
                .about("Makes a project from a chart: watches.yaml, a CRD from the chart's schema, an example")
                .override_usage("podium operator init CHART [FOLDER] --group GROUP --kind KIND [flags]")
                .after_help("Example:\n  podium operator init ./mychart shop-operator --group shop.example.com --kind Shop")
                .arg(
                    Arg::new("args")
                        .value_name("CHART [FOLDER]")
                        .num_args(0..)
                        .help("the chart: a directory or an archive; and where the project goes (default: here)"),
                )
                .args(crd::FLAGS.iter().filter(|flag| flag.long != "output" && flag.long != "defaults").map(|flag| flag.to_arg())),
        )
        .subcommand(
            Command::new("rbac")
                .about("Prints the least Role or ClusterRole for what the charts of a project render")
                .after_help(
                    "The charts are rendered with their defaults, and with the values or resources of each -f FILE.\n\n\
                     Examples:\n  podium operator rbac -f examples/shop.yaml\n  \
                     podium operator rbac --watch-namespace shop -n shop",
                )
                .args(flags::CHARTS.iter().chain(flags::PROJECT).map(|flag| flag.to_arg())),
        )
        .subcommand(
            Command::new("manifests")
                .about("Prints what runs the operator of a project in a cluster: CRDs, ServiceAccount, roles, Deployment")
                .after_help(
                    "Example:\n  podium operator manifests --image registry.example.com/shop-operator:1.0.0 -n shop-system \\\n    \
                     -f examples/shop.yaml | kubectl apply -f -",
                )
                .args(flags::CHARTS.iter().chain(flags::PROJECT).chain(flags::MANIFESTS).map(|flag| flag.to_arg())),
        )
}

/// Runs one of them.
pub fn dispatch(matches: &ArgMatches) -> anyhow::Result<()> {
    match matches.subcommand() {
        Some(("run", matches)) => run::run(matches),
        Some(("init", matches)) => project::init(matches),
        Some(("rbac", matches)) => project::rbac(matches),
        Some(("manifests", matches)) => project::manifests(matches),
        _ => Ok(()),
    }
}
