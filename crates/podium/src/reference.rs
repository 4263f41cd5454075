//! The reference of all commands, generated from their flags.

use std::fmt::Write;

use anyhow::anyhow;
use clap::{ArgMatches, Command};

use crate::chart::flags;
use crate::cli::commands;
use crate::flag::{Flag, State};

/// Writes the reference, or checks that what was written is still right.
pub fn run(matches: &ArgMatches) -> anyhow::Result<()> {
    let file = matches.get_one::<String>("file").map(String::as_str).unwrap_or_default();
    let text = markdown();
    if !matches.get_flag("check") {
        return std::fs::write(file, text).map_err(|e| anyhow!("cannot write {file}: {e}"));
    }
    let there = std::fs::read_to_string(file).map_err(|e| anyhow!("cannot read {file}: {e}"))?;
    anyhow::ensure!(there == text, "{file} is not what the flags say: run `make docs` and commit the result");
    Ok(())
}

/// The reference as Markdown.
pub fn markdown() -> String {
    let mut out = String::from(
        "# Commands\n\nGenerated from the flags by `make docs`; do not edit.\n\nExit status: 0 when it worked, 1 when it did not.\n",
    );
    let mut root = commands();
    root.build();
    section(&mut out, &root, "podium");
    out
}

fn section(out: &mut String, command: &Command, path: &str) {
    let _ = writeln!(out, "\n## `{path}`\n");
    if let Some(about) = command.get_long_about().or(command.get_about()) {
        let _ = writeln!(out, "{about}.");
    }
    let names: Vec<&Command> = command.get_subcommands().filter(|c| !c.is_hide_set()).collect();
    if !names.is_empty() {
        let _ = writeln!(out, "\n| command | what it does |\n|---|---|");
        for sub in &names {
            let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(out, "| `{path} {}` | {about} |", sub.get_name());
        }
    }
    let arguments: Vec<_> = command.get_positionals().collect();
    if !arguments.is_empty() {
        for argument in arguments {
            let name = match argument.get_value_names() {
                Some([name]) => name.to_string(),
                _ => argument.get_id().as_str().to_uppercase(),
            };
            let help = argument.get_help().map(|help| format!(": {help}")).unwrap_or_default();
            let _ = writeln!(out, "\nArguments: `{name}`{help}.");
        }
    }
    let flags: Vec<_> =
        command.get_opts().filter(|a| !a.is_hide_set() && a.get_long() != Some("help")).collect();
    if !flags.is_empty() {
        let _ = writeln!(out, "\n| flag | what it does |\n|---|---|");
        for flag in flags {
            let short = flag.get_short().map(|s| format!("`-{s}`, ")).unwrap_or_default();
            let value = match flag.get_value_names() {
                Some([name]) if name.as_str() != "BOOL" => format!(" {name}").replace('|', "\\|"),
                _ => String::new(),
            };
            let help = flag.get_help().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(out, "| {short}`--{}{value}` | {help} |", flag.get_long().unwrap_or_default());
        }
    }
    if path == "podium chart template" {
        helm_flags(out);
    }
    for sub in names {
        section(out, sub, &format!("{path} {}", sub.get_name()));
    }
}

/// What becomes of the other flags of `helm template`.
fn helm_flags(out: &mut String) {
    let inert: Vec<String> = flags::INERT.iter().map(|f| format!("`--{}`", f.long)).collect();
    let _ = writeln!(
        out,
        "\nFlags of `helm template` that change nothing in what it prints are taken and change nothing here: {}.",
        inert.join(", ")
    );
    let _ = writeln!(
        out,
        "\nFlags of `helm template` that need what is not there are refused:\n\n| flag | why |\n|---|---|"
    );
    let mut reasons: Vec<(&str, Vec<&Flag>)> = Vec::new();
    for flag in flags::REFUSED.iter().copied().flatten() {
        let State::Refused(why) = flag.state else { continue };
        match reasons.iter_mut().find(|(reason, _)| *reason == why) {
            Some((_, flags)) => flags.push(flag),
            None => reasons.push((why, vec![flag])),
        }
    }
    for (why, flags) in reasons {
        let names: Vec<String> = flags.iter().map(|f| format!("`--{}`", f.long)).collect();
        let _ = writeln!(out, "| {} | {why} |", names.join(", "));
    }
}
