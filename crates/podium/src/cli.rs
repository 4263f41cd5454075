//! The tree of commands.

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgMatches, Command};

use crate::output::{Exit, complain, complain_of, print};
use crate::{bundle, catalog, chart, image, local, operator, reference, registry, release};

/// The exit status of everything that fails, as Helm's.
const FAILURE: u8 = 1;

/// All commands with their flags.
pub fn commands() -> Command {
    Command::new("podium")
        .bin_name("podium")
        .about("Runs AI stacks on Kubernetes and manages the life of what runs them")
        .version(env!("CARGO_PKG_VERSION"))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .subcommand(bundle::commands())
        .subcommand(catalog::commands())
        .subcommand(chart::commands())
        .subcommand(operator::commands())
        .subcommand(release::commands())
        .subcommand(release::diff_command())
        .subcommand(image::commands())
        .subcommand(registry::commands())
        .subcommands(local::commands())
        .subcommand(
            Command::new("completion")
                .about("Prints a completion script for a shell")
                .after_help("For bash, now:  source <(podium completion bash)")
                .arg(Arg::new("shell").required(true).value_parser([
                    "bash",
                    "zsh",
                    "fish",
                    "elvish",
                    "powershell",
                ])),
        )
        .subcommand(
            Command::new("version")
                .about("Prints the version, and which Helm versions charts are rendered like"),
        )
        .subcommand(
            Command::new("reference")
                .about("Writes the reference of all commands, from their flags")
                .hide(true)
                .arg(Arg::new("check").long("check").num_args(0).action(clap::ArgAction::SetTrue))
                .arg(Arg::new("file").required(true)),
        )
}

/// Runs the command that was given.
pub fn run() -> ExitCode {
    let matches = match commands().try_get_matches() {
        Ok(matches) => matches,
        Err(e) => return usage(&e),
    };
    match dispatch(&matches) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => match e.downcast_ref::<Exit>() {
            Some(Exit(code)) => ExitCode::from(*code),
            None => {
                complain_of(&e);
                ExitCode::from(FAILURE)
            }
        },
    }
}

fn dispatch(matches: &ArgMatches) -> anyhow::Result<()> {
    match matches.subcommand() {
        Some(("bundle", matches)) => bundle::dispatch(matches),
        Some(("catalog", matches)) => catalog::dispatch(matches),
        Some(("chart", matches)) => chart::dispatch(matches),
        Some(("diff", matches)) => release::diff(matches),
        Some(("image", matches)) => image::dispatch(matches),
        Some(("registry", matches)) => registry::dispatch(matches),
        Some(("operator", matches)) => operator::dispatch(matches),
        Some(("release", matches)) => release::dispatch(matches),
        Some(("completion", matches)) => completion(matches),
        Some(("version", _)) => {
            let helm = [podium_chart::dialect::HELM4.helm_version, podium_chart::dialect::HELM3.helm_version];
            print(
                format!(
                    "podium {} (charts as helm {} and {})\n",
                    env!("CARGO_PKG_VERSION"),
                    helm[0].version,
                    helm[1].version
                )
                .as_bytes(),
            )
        }
        Some(("reference", matches)) => reference::run(matches),
        Some((name @ ("up" | "down" | "status" | "reset" | "kubeconfig" | "logs"), matches)) => {
            local::dispatch(name, matches)
        }
        _ => Ok(()),
    }
}

fn completion(matches: &ArgMatches) -> anyhow::Result<()> {
    let name = matches.get_one::<String>("shell").map(String::as_str).unwrap_or_default();
    let shell: clap_complete::Shell = name.parse().map_err(|e| anyhow::anyhow!("{e}"))?;
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut commands(), "podium", &mut script);
    print(&script)
}

/// Help goes to standard output; a mistake in the flags gets a message in Helm's form and a way on.
fn usage(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let _ = print(error.render().to_string().as_bytes());
            return ExitCode::SUCCESS;
        }
        ErrorKind::UnknownArgument => {
            if let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg)
                && flag.starts_with('-')
            {
                complain(&format!("Error: unknown flag: {flag}"));
                if let Some(ContextValue::String(near)) = error.get(ContextKind::SuggestedArg) {
                    complain(&format!("Did you mean {near}?"));
                }
                return ExitCode::from(FAILURE);
            }
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            complain(error.render().to_string().trim_end());
            return ExitCode::from(FAILURE);
        }
        _ => {}
    }
    let text = error.render().to_string();
    complain(&format!("Error: {}", text.trim_start_matches("error: ").trim_end()));
    ExitCode::from(FAILURE)
}
