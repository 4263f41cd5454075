//! The cluster of this machine: `podium up`, `down`, `status`, `reset`, `kubeconfig`, `logs`.

mod apply;
mod background;
pub mod home;
mod look;
mod stacks;
mod up;

use anyhow::{Result, anyhow};
use clap::{ArgMatches, Command};

use crate::flag::{Flag, Takes};
use crate::output::Exit;

/// Where the cluster is.
const DATA: Flag = Flag::new(
    "data",
    Takes::One("FOLDER"),
    "where the cluster's data is (default: PODIUM_DATA, then ~/.podium)",
);

const UP: &[Flag] = &[
    DATA,
    Flag::new("detach", Takes::Switch, "run in the background, and come back when it is ready").short('d'),
    Flag::new("port", Takes::One("PORT"), "the port of the API (default 6443; 0 is any that is free)"),
    Flag::new(
        "listen",
        Takes::One("ADDRESS"),
        "the address to listen on (default 127.0.0.1; others can reach any other one)",
    ),
    Flag::new(
        "apply",
        Takes::Many("FILE"),
        "manifests to apply when the cluster is up; stacks among them are waited for (repeatable)",
    ),
    Flag::new(
        "token-file",
        Takes::One("FILE"),
        "users that are known by a token: lines of token,user,uid,\"group,group\"",
    ),
    Flag::new("host", Takes::Many("NAME"), "a name or address that clients reach the API by (repeatable)"),
    Flag::new(
        "no-stacks",
        Takes::Switch,
        "only the API and its own controllers: no chart operator, no stacks",
    ),
];

const STATUS: &[Flag] =
    &[DATA, Flag::new("output", Takes::One("FORMAT"), "json or yaml instead of text").short('o')];

const RESET: &[Flag] = &[DATA, Flag::new("yes", Takes::Switch, "do not ask").short('y')];

const KUBECONFIG: &[Flag] =
    &[DATA, Flag::new("path", Takes::Switch, "print where the file is, not what is in it")];

const LOGS: &[Flag] = &[
    DATA,
    Flag::new("follow", Takes::Switch, "go on when there is more").short('f'),
    Flag::new("tail", Takes::One("LINES"), "only the last lines"),
];

/// The commands.
pub fn commands() -> Vec<Command> {
    let command = |name: &'static str, about: &'static str, flags: &[Flag]| {
        Command::new(name).about(about).args(flags.iter().map(|flag| flag.to_arg()))
    };
    vec![
        command("up", "Brings up a Kubernetes API on this machine, with the chart operator and the stacks", UP).after_help(
            "Everything is in one folder (~/.podium) and survives a power cut. There is no node yet: objects are stored,\n\
             checked and kept in order, and pods do not run.\n\n\
             Examples:\n  podium up\n  podium up -d && export KUBECONFIG=$(podium kubeconfig --path)\n  \
             podium up -d --apply mystack.yaml\n  podium up --data /tmp/try --port 0",
        ),
        command("down", "Ends the cluster of this machine; its data stays", &[DATA]),
        command("status", "Tells whether the cluster of this machine runs, and what is in it", STATUS)
            .after_help("Ends with 0 if it is up, and with 3 if it is not."),
        command("reset", "Removes the cluster of this machine with all its data", RESET),
        command("kubeconfig", "Prints how clients reach the cluster of this machine", KUBECONFIG)
            .after_help("Example:\n  export KUBECONFIG=$(podium kubeconfig --path)"),
        command("logs", "Prints what the cluster of this machine has told in the background", LOGS),
    ]
}

/// Runs one of them.
pub fn dispatch(name: &str, matches: &ArgMatches) -> Result<()> {
    let done = match name {
        "up" => up::run(matches),
        "down" => background::down(matches),
        "status" => look::status(matches),
        "reset" => background::reset(matches),
        "kubeconfig" => look::kubeconfig(matches),
        _ => look::logs(matches),
    };
    // With all its reasons: the file alone says nothing.
    done.map_err(|error| if error.is::<Exit>() { error } else { anyhow!("{error:#}") })
}
