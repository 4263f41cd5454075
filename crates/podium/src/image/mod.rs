//! `podium image`.

pub mod access;
mod build;
mod files;
mod look;
mod progress;
mod start;
pub mod store;
mod transfer;

use anyhow::{Result, bail};
use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::Value;

use crate::flag::{Flag, Takes};
use crate::output::print;
use access::ACCESS;

/// Where the local images are.
pub const DATA: Flag = Flag::new(
    "data",
    Takes::One("FOLDER"),
    "where the local images are, in its folder images (default: PODIUM_DATA, then ~/.podium)",
);

const OUTPUT: Flag = Flag::new("output", Takes::One("FORMAT"), "json or yaml instead of text").short('o');

const PLATFORM: Flag = Flag::new(
    "platform",
    Takes::One("OS/ARCH"),
    "for which platform (default: linux on this machine's processor)",
);

const CHOSEN: Flag = Flag::new(
    "platform",
    Takes::One("OS/ARCH"),
    "the image for this platform (default: the index with all its images, where there are several)",
);

const ALL_PLATFORMS: Flag = Flag::new("all-platforms", Takes::Switch, "for all platforms that there are");

const BUILD: &[Flag] = &[
    DATA,
    OUTPUT,
    Flag::new("tag", Takes::Many("NAME"), "the name of the image (repeatable)").short('t'),
    Flag::new(
        "add",
        Takes::Many("FROM:TO[:MODE[:UID[:GID]]]"),
        "a file or directory, and its path in the image; each is a layer, the first one lowest (repeatable)",
    )
    .short('a'),
    Flag::new(
        "from",
        Takes::One("IMAGE"),
        "the base: a name (local, or else in a registry), oci:DIR or oci-archive:FILE (default: none, which is also called scratch)",
    ),
    Flag::new("entrypoint", Takes::Many("WORD"), "what is always run, a word each time"),
    Flag::new("cmd", Takes::Many("WORD"), "the words after it, which may be replaced, a word each time"),
    Flag::new("env", Takes::Many("NAME=VALUE"), "a variable (repeatable)").short('e'),
    Flag::new("label", Takes::Many("NAME=VALUE"), "a label (repeatable)").short('l'),
    Flag::new("annotation", Takes::Many("NAME=VALUE"), "an annotation of the manifest (repeatable)"),
    Flag::new("user", Takes::One("UID[:GID]"), "who runs it").short('u'),
    Flag::new("workdir", Takes::One("PATH"), "where it runs").short('w'),
    Flag::new("port", Takes::Many("PORT[/tcp]"), "a port that it listens on (repeatable)"),
    Flag::new(
        "platform",
        Takes::Many("OS/ARCH"),
        "for which platform; several make an index, and {os}, {arch} and {variant} in --add stand for them",
    ),
    Flag::new(
        "created",
        Takes::One("SECONDS"),
        "the time of everything in it, since 1970 (default: SOURCE_DATE_EPOCH, then 0)",
    ),
    Flag::new("push", Takes::Switch, "push it under all its names, too"),
    KEEP,
    Flag::new("allow-no-start", Takes::Switch, "push it even if its program cannot start in it"),
];

/// Whoever publishes versions does not want to change one.
const KEEP: Flag = Flag::new(
    "keep-published",
    Takes::Switch,
    "push only what is new: a name that has other content in the registry already is refused",
);

const PUSH: &[Flag] = &[DATA, OUTPUT, KEEP];
const PULL: &[Flag] = &[DATA, OUTPUT, PLATFORM, ALL_PLATFORMS];
const COPY: &[Flag] = &[OUTPUT, CHOSEN];
const INSPECT: &[Flag] = &[
    DATA,
    OUTPUT,
    CHOSEN,
    Flag::new("remote", Takes::Switch, "in the registry, whatever is here"),
    Flag::new("raw", Takes::Switch, "the manifest or index as it is, byte for byte"),
    Flag::new("config", Takes::Switch, "the configuration as it is, byte for byte"),
    Flag::new("files", Takes::Switch, "the files of the image, too"),
];
const LIST: &[Flag] = &[DATA, OUTPUT];
const TAG: &[Flag] = &[DATA];
const DELETE: &[Flag] = &[DATA, Flag::new("remote", Takes::Switch, "in the registry, not here")];
const LOAD: &[Flag] =
    &[DATA, OUTPUT, Flag::new("tag", Takes::One("NAME"), "the name of the image").short('t')];
const SAVE: &[Flag] = &[
    DATA,
    CHOSEN,
    Flag::new("file", Takes::One("FILE"), "the archive that is written").short('f'),
    Flag::new("format", Takes::One("FORMAT"), "oci (default), or docker: what `docker load` takes"),
];
const PRUNE: &[Flag] =
    &[DATA, OUTPUT, Flag::new("all", Takes::Switch, "forget all names first, so that everything goes")];

/// The commands; their flags are only put together when one of them is called.
pub fn commands() -> Command {
    Command::new("image")
        .about("Builds images of files, without Docker, and moves them between registries, archives and this machine")
        .defer(with_commands)
}

fn with_commands(all: Command) -> Command {
    let command = |name: &'static str, about: &'static str, usage: &'static str, flags: &[&[Flag]]| {
        let names = Arg::new("names").value_name("WORD").action(ArgAction::Append).num_args(0..).hide(true);
        Command::new(name)
            .about(about)
            .override_usage(format!("podium image {name} {usage}"))
            .arg(names)
            .args(flags.iter().copied().flatten().map(|flag| flag.to_arg()))
    };
    all
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(command("build", "Builds an image of files; the same files are always the same digest", "-t NAME --add FROM:TO [flags]", &[BUILD, ACCESS]).after_help(
            "A static program needs no base. Owners, times and all rights but \"is a program\" of this machine are not kept:\n\
             files are root's, directories and programs 0755, other files 0644, unless --add says something else.\n\n\
             Examples:\n  podium image build -t localhost:5000/operator:1.0.0 -a ./podium:/podium -a ./mychart:/chart --entrypoint /podium\n  \
             podium image build -t app:1 --from ./base.tar:base -a ./conf:/etc/app::1000:1000 --push\n  \
             podium image build -t app:1 --platform linux/amd64 --platform linux/arm64 -a 'bin/{arch}/app:/app' --entrypoint /app",
        ))
        .subcommand(command("push", "Sends an image of this machine to its registry", "NAME [AS] [flags]", &[PUSH, ACCESS]).after_help(
            "What the registry has already is not sent again; what breaks off goes on where it broke off.\n\n\
             Examples:\n  podium image push localhost:5000/operator:1.0.0\n  podium image push operator:dev localhost:5000/operator:dev",
        ))
        .subcommand(command("pull", "Gets an image from its registry to this machine", "NAME [flags]", &[PULL, ACCESS]))
        .subcommand(command("copy", "Copies an image between registries, layouts and archives", "FROM TO [flags]", &[COPY, ACCESS]).after_help(
            "A place is a name in a registry, oci:DIRECTORY[:NAME], oci-archive:FILE[:NAME] or docker-archive:FILE[:NAME].\n\
             An index is copied with all its images, unless --platform says which one.\n\n\
             Examples:\n  podium image copy localhost:5000/app:1 localhost:5001/app:1\n  podium image copy localhost:5000/app:1 oci:./app:1\n  \
             podium image copy docker-archive:./saved.tar localhost:5000/app:1",
        ))
        .subcommand(command("inspect", "Shows what an image is: digest, platforms, command, labels, layers", "IMAGE [flags]", &[INSPECT, ACCESS]).after_help(
            "A name is looked for on this machine, then in its registry. Files can be looked into too: oci:DIR, oci-archive:FILE.\n\n\
             Examples:\n  podium image inspect localhost:5000/app:1\n  podium image inspect app:1 -o json\n  podium image inspect oci:./layout --files",
        ))
        .subcommand(command("list", "Lists the images of this machine, or the tags of a repository in a registry", "[REPOSITORY] [flags]", &[LIST, ACCESS]))
        .subcommand(command("tag", "Gives an image of this machine another name", "NAME NEW [flags]", &[TAG]))
        .subcommand(command("delete", "Takes names away, here or in the registry", "NAME... [flags]", &[DELETE, ACCESS]).after_help(
            "What no name leads to any more stays until podium image prune; in a registry until its garbage is collected.\n\
             In a registry, a name with a digest removes the image with all its tags.",
        ))
        .subcommand(command("load", "Takes images from an archive: OCI's, docker's, also compressed", "FILE [flags]", &[LOAD]))
        .subcommand(command("save", "Writes images to an archive", "NAME... -f FILE [flags]", &[SAVE]))
        .subcommand(command("prune", "Removes what no name of this machine leads to", "[flags]", &[PRUNE]))
}

/// Runs one of them.
pub fn dispatch(matches: &ArgMatches) -> Result<()> {
    match matches.subcommand() {
        Some(("build", matches)) => build::run(matches),
        Some(("push", matches)) => transfer::push(matches),
        Some(("pull", matches)) => transfer::pull(matches),
        Some(("copy", matches)) => transfer::copy(matches),
        Some(("inspect", matches)) => look::inspect(matches),
        Some(("list", matches)) => look::list(matches),
        Some(("tag", matches)) => files::tag(matches),
        Some(("delete", matches)) => files::delete(matches),
        Some(("load", matches)) => files::load(matches),
        Some(("save", matches)) => files::save(matches),
        Some(("prune", matches)) => files::prune(matches),
        _ => Ok(()),
    }
}

/// The words that are no flags.
fn names(matches: &ArgMatches) -> Vec<String> {
    matches.get_many::<String>("names").map(|names| names.cloned().collect()).unwrap_or_default()
}

/// The only word that is no flag.
fn only(matches: &ArgMatches, what: &str) -> Result<String> {
    match names(matches).as_slice() {
        [one] => Ok(one.clone()),
        [] => bail!("{what} is missing"),
        [_, more @ ..] => bail!("only one {what} is taken, unexpected: {}", more.join(" ")),
    }
}

/// Prints what a program or a person wants.
pub fn show(format: Option<&str>, value: &Value, text: &str) -> Result<()> {
    match format.unwrap_or_default() {
        "" => print(text.as_bytes()),
        "json" => print(format!("{value:#}\n").as_bytes()),
        "yaml" => {
            let node = podium_goyaml::json::parse(value.to_string().as_bytes(), 0)?;
            print(&podium_goyaml::emit::to_yaml(&&node)?)
        }
        other => bail!("-o {other}: write json or yaml"),
    }
}

/// Bytes for people.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1000 => format!("{bytes} B"),
        1000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.2} GB", bytes as f64 / 1e9),
    }
}
