//! `podium registry`.

mod login;
mod serve;

use anyhow::Result;
use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::flag::{Flag, Takes};
use crate::image::access::ACCESS;

const SERVE: &[Flag] = &[
    Flag::new(
        "data",
        Takes::One("FOLDER"),
        "where the images are (default: registry in PODIUM_DATA, then in ~/.podium)",
    ),
    Flag::new(
        "listen",
        Takes::One("HOST:PORT"),
        "the address to listen on (default 127.0.0.1:5000; port 0 is any that is free)",
    ),
    Flag::new("htpasswd", Takes::One("FILE"), "let in only the users of this file, as htpasswd -B writes it"),
    Flag::new("tls-cert", Takes::One("FILE"), "speak TLS with this certificate (PEM)"),
    Flag::new("tls-key", Takes::One("FILE"), "the key of the certificate (PEM)"),
    Flag::new("read-only", Takes::Switch, "nobody may change anything"),
    Flag::new(
        "garbage-after",
        Takes::One("SECONDS"),
        "remove what nothing needs any more after so long, every so often (default 3600; 0 is never)",
    ),
];

const LOGIN: &[Flag] = &[
    Flag::new("username", Takes::One("NAME"), "who you are").short('u'),
    Flag::new("password", Takes::One("TEXT"), "your password; others may see it in the list of processes")
        .short('p'),
    Flag::new("password-stdin", Takes::Switch, "read the password from standard input"),
];

/// The commands; their flags are only put together when one of them is called.
pub fn commands() -> Command {
    Command::new("registry")
        .about("Serves a registry for images on this machine, and remembers who you are to others")
        .defer(with_commands)
}

fn with_commands(all: Command) -> Command {
    let host = || Arg::new("host").value_name("HOST[:PORT]").action(ArgAction::Set).required(true);
    let flags =
        |tables: &[&[Flag]]| tables.iter().copied().flatten().map(|flag| flag.to_arg()).collect::<Vec<_>>();
    all
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("serve")
                .about("Serves a registry: push, pull, delete; docker, podman, crane, skopeo, helm and opm work with it")
                .after_help(
                    "Everything is in one folder and survives a power cut. Without --htpasswd everybody who reaches it may\n\
                     change it; so it listens on this machine alone, unless --listen says something else.\n\n\
                     Examples:\n  podium registry serve\n  podium registry serve --listen :5000 --htpasswd users --tls-cert cert.pem --tls-key key.pem",
                )
                .args(flags(&[SERVE])),
        )
        .subcommand(
            Command::new("login")
                .about("Remembers your name and password for a registry, where docker and podman find them too")
                .after_help("Example:\n  echo \"$TOKEN\" | podium registry login registry.example -u me --password-stdin")
                .arg(host())
                .args(flags(&[LOGIN, ACCESS])),
        )
        .subcommand(
            Command::new("logout").about("Forgets your name and password for a registry").arg(host()).args(flags(&[ACCESS])),
        )
}

/// Runs one of them.
pub fn dispatch(matches: &ArgMatches) -> Result<()> {
    match matches.subcommand() {
        Some(("serve", matches)) => serve::run(matches),
        Some(("login", matches)) => login::login(matches),
        Some(("logout", matches)) => login::logout(matches),
        _ => Ok(()),
    }
}
