//! `podium bundle`.

mod compare;
pub mod flags;
mod generate;
mod image;
pub mod input;
mod show;

use clap::{Arg, ArgMatches, Command};

use crate::flag::Flag;
use crate::image::access::ACCESS;

/// What every place of a bundle may be.
const PLACES: &str = "BUNDLE is a folder with manifests/ and metadata/, a .tgz of one, oci:PATH[:NAME], oci-archive:FILE[:NAME], or the reference of an image.";

fn command(name: &'static str, about: &'static str, args: &'static str, flags: &[&[Flag]]) -> Command {
    Command::new(name)
        .about(about)
        .override_usage(format!("podium bundle {name} {args} [flags]"))
        .arg(Arg::new("args").value_name(args).num_args(0..).help(PLACES))
        .args(flags.iter().copied().flatten().map(|flag| flag.to_arg()))
}

/// The commands; their flags are only put together when one of them is called.
pub fn commands() -> Command {
    Command::new("bundle")
        .about("Makes, checks and compares bundles: an operator of one version, ready to be installed")
        .defer(with_commands)
}

fn with_commands(all: Command) -> Command {
    let (place, registry, out) = (flags::PLACE, ACCESS, flags::OUTPUT);
    all
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("generate")
                .about("Makes a bundle from an operator project: manifests/ and metadata/ with a ClusterServiceVersion")
                .after_help(
                    "Every object's name ends in the version, so that several versions can be in one cluster. The rights are\n\
                     computed from what the charts render (with -f FILE for values that switch more on), or those of --role.\n\
                     The CRDs are not in the bundle unless --crds is given: of several extensions that install the same CRD\n\
                     a cluster takes only the first. metadata/kinds.yaml keeps their schemas for `podium bundle check`.\n\n\
                     Examples:\n  podium bundle generate --version 1.2.0 --image docker.io/me/operator:1.2.0\n  \
                     podium bundle generate --version 1.2.0 --image me/operator:1.2.0 --base csv.yaml -f examples/stack.yaml",
                )
                .args(flags::GENERATE.iter().chain(crate::operator::CHARTS).map(|flag| flag.to_arg())),
        )
        .subcommand(
            command("validate", "Says what opm or the lifecycle controller would refuse: file, line and rule", "BUNDLE", &[place, registry, out])
                .after_help(
                    "Exits with 0 if both take the bundle, with 1 if one refuses it.\n\n\
                     Examples:\n  podium bundle validate ./bundle\n  podium bundle validate docker.io/me/operator-bundle:1.2.0 -o json",
                ),
        )
        .subcommand(
            command("render", "Prints the objects that the lifecycle controller puts into a cluster", "BUNDLE", &[place, flags::RENDER, registry, out])
                .after_help(
                    "Names and content are those of OLM v1. --catalog prints what a catalog has of the bundle instead, as\n\
                     `opm render` does.\n\n\
                     Examples:\n  podium bundle render ./bundle -n operators\n  podium bundle render ./bundle --catalog --image docker.io/me/operator-bundle:1.2.0",
                ),
        )
        .subcommand(
            command("diff", "Shows field by field how the objects of two bundles differ", "OLD NEW", &[place, registry, out])
                .after_help("Exits with 0 whether or not there is a difference.\n\nExample:\n  podium bundle diff docker.io/me/operator-bundle:1.1.0 ./bundle"),
        )
        .subcommand(
            command("check", "Says what changes for users between two versions, and the least version that is honest", "OLD NEW", &[registry, out])
                .after_help(
                    "A breaking change needs a new major version, also before 1.0.0: channels are cut by major versions, and a new\n\
                     version of a channel is installed without asking. Exits with 1 if the new version says less than has changed.\n\n\
                     Example:\n  podium bundle check docker.io/me/operator-bundle:1.1.0 ./bundle",
                ),
        )
        .subcommand(
            command("build", "Makes the image of a bundle, without Docker", "BUNDLE NAME", &[flags::BUILD, flags::KEPT, registry, out])
                .after_help(
                    "The same files always give the same digest. A bundle that is not valid is refused, and with --previous one\n\
                     whose version says less than has changed.\n\
                     NAME is the reference under which it is kept on this machine (`podium image list`), or oci:PATH[:NAME].\n\n\
                     Examples:\n  podium bundle build ./bundle docker.io/me/operator-bundle:1.2.0 --previous docker.io/me/operator-bundle:1.1.0\n  \
                     podium bundle build ./bundle oci:images:operator-bundle",
                ),
        )
        .subcommand(
            command("push", "Makes the image of a bundle and sends it to a registry", "BUNDLE REFERENCE", &[flags::BUILD, flags::PUSH, registry, out])
                .after_help(
                    "The newest older version among the tags of the repository is what the bundle is compared with, unless\n\
                     --previous names another one (or none). A tag that has other content is not replaced.\n\n\
                     Example:\n  podium bundle push ./bundle docker.io/me/operator-bundle:1.2.0",
                ),
        )
}

/// Runs a command.
pub fn dispatch(matches: &ArgMatches) -> anyhow::Result<()> {
    match matches.subcommand() {
        Some(("generate", matches)) => generate::run(matches),
        Some(("validate", matches)) => show::validate(matches),
        Some(("render", matches)) => show::render(matches),
        Some(("diff", matches)) => compare::diff(matches),
        Some(("check", matches)) => compare::check(matches),
        Some(("build", matches)) => image::build(matches),
        Some(("push", matches)) => image::push(matches),
        _ => Ok(()),
    }
}
