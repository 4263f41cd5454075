//! `podium catalog`.

mod add;
mod diff;
mod graph;
mod images;
mod init;
mod input;
mod list;
mod output;
mod publish;
mod render;
mod resolve;
mod template;
mod validate;

use clap::{Arg, ArgMatches, Command};

use crate::flag::{Flag, Takes};

const COMPAT: Flag = Flag::new(
    "compat",
    Takes::One("VERSION"),
    "follow the rules of this opm: 1.51 (up to 1.60) or current (1.61 and later, the default)",
);
const WRITTEN: Flag = Flag::new("output", Takes::One("json|yaml"), "how to print (default json)").short('o');
const TABLE: Flag =
    Flag::new("output", Takes::One("table|json|yaml"), "how to print (default table)").short('o');
const PACKAGE: Flag = Flag::new("package", Takes::One("NAME"), "only this package").short('p');

/// A command: its name, what it does, what it is given, more help, its flags.
struct About {
    name: &'static str,
    help: &'static str,
    args: &'static str,
    more: &'static str,
    flags: &'static [Flag],
    run: fn(&ArgMatches) -> anyhow::Result<()>,
}

const COMMANDS: &[About] = &[
    About {
        name: "init",
        help: "Prints an olm.package: the beginning of a catalog that is written by hand",
        args: "PACKAGE",
        more: "A catalog is a folder of YAML or JSON files with three kinds of documents: olm.package names a package and\n\
               its default channel, olm.channel lists versions and the ways between them, olm.bundle is a version. Most\n\
               authors do not write them but a template: see `podium catalog template --help`.\n\n\
               Examples:\n  podium catalog init my-operator --default-channel stable-v1 > catalog/package.json\n  \
               podium catalog init my-operator -c stable-v1 -d README.md -i icon.svg -o yaml",
        flags: &[
            Flag::new("default-channel", Takes::One("NAME"), "the channel for those who do not choose one")
                .short('c'),
            Flag::new("icon", Takes::One("FILE"), "an image for the package").short('i'),
            Flag::new("description", Takes::One("FILE"), "a text about the package, such as its README.md")
                .short('d'),
            WRITTEN,
        ],
        run: init::run,
    },
    About {
        name: "validate",
        help: "Checks a catalog by opm's rules, and says the file and line of everything that is wrong",
        args: "CATALOG",
        more: "All files of the folder are read, in any depth, but those that a .indexignore file names. The words are opm's;\n\
               the lines below them say where to look. The exit status is 0 if the catalog is fine, 1 if it is not.\n\n\
               Examples:\n  podium catalog validate catalog/configs\n  podium catalog validate catalog/configs -o json\n  \
               podium catalog validate catalog/configs --compat 1.51",
        flags: &[
            COMPAT,
            Flag::new("output", Takes::One("text|json|yaml"), "how to print (default text)").short('o'),
        ],
        run: validate::run,
    },
    About {
        name: "render",
        help: "Prints catalogs as one stream, in the order and bytes of `opm render`",
        args: "CATALOG...",
        more: "Examples:\n  podium catalog render catalog/configs -o yaml > catalog.yaml\n  \
               podium catalog render team-a/configs team-b/configs > all.json",
        flags: &[WRITTEN, COMPAT],
        run: render::run,
    },
    About {
        name: "template",
        help: "Makes a catalog from a template: channels, ways between versions and default channel follow from it",
        args: "[semver|basic] [FILE]",
        more: "A semver template lists bundles by how far they are trusted:\n\n  \
               Schema: olm.semver\n  GenerateMajorChannels: true\n  Stable:\n    Bundles:\n    - Image: docker.io/tytn/operator-bundle:0.1.0\n\n\
               and gives channels such as stable-v0, in which each version can follow the ones before it. A basic\n\
               template (olm.template.basic) is a catalog whose bundles are only images. The images are read from their\n\
               registries, many at once; those that --bundles has (as `podium bundle render --catalog` prints them) are not\n\
               asked for. Without FILE, or with -, the template is read from standard input.\n\n\
               Examples:\n  podium catalog template catalog/operator_catalog.yaml -o yaml > catalog/configs/catalog.yaml\n  \
               podium catalog template semver catalog/operator_catalog.yaml --compat 1.51 --bundles bundles/",
        flags: &[
            Flag::new(
                "bundles",
                Takes::Many("CATALOG"),
                "files or folders with the olm.bundle of each image (repeatable)",
            ),
            Flag::new("output", Takes::One("json|yaml|mermaid"), "how to print (default json)").short('o'),
            COMPAT,
        ],
        run: template::run,
    },
    About {
        name: "list",
        help: "Lists the packages, channels or bundles of a catalog",
        args: "[packages|channels|bundles] CATALOG [PACKAGE]",
        more: "Examples:\n  podium catalog list catalog/configs\n  podium catalog list channels catalog/configs\n  \
               podium catalog list bundles catalog/configs my-operator -o json",
        flags: &[TABLE, COMPAT],
        run: list::run,
    },
    About {
        name: "graph",
        help: "Draws the ways between versions, in the terminal or for mermaid",
        args: "CATALOG",
        more: "Examples:\n  podium catalog graph catalog/configs -p my-operator\n  \
               podium catalog graph catalog/configs -o mermaid --minimum-edge my-operator.v1.2.0",
        flags: &[
            PACKAGE,
            Flag::new("output", Takes::One("picture|mermaid"), "how to draw (default picture)").short('o'),
            Flag::new("minimum-edge", Takes::One("BUNDLE"), "for mermaid: draw nothing below this bundle"),
            Flag::new(
                "draw-v0-semantics",
                Takes::Switch,
                "for mermaid: mark what the older lifecycle manager skips",
            ),
            COMPAT,
        ],
        run: graph::run,
    },
    About {
        name: "diff",
        help: "Shows what changed between two catalogs: packages, channels, ways, bundles, deprecations",
        args: "OLD NEW",
        more: "The exit status is 0, whatever changed; with --exit-code it is 1 if anything did, and with --keep-versions it is\n\
               1 if a bundle is gone or another one, because somebody may have installed it.\n\n\
               Examples:\n  podium catalog diff published/configs catalog/configs\n  \
               podium catalog diff published/configs catalog/configs --keep-versions -o json",
        flags: &[
            TABLE,
            Flag::new("exit-code", Takes::Switch, "fail if anything changed"),
            Flag::new("keep-versions", Takes::Switch, "fail if a bundle is gone or another one"),
        ],
        run: diff::run,
    },
    About {
        name: "add",
        help: "Adds a version to a semver template: one line, comments and order stay as they are",
        args: "TEMPLATE IMAGE",
        more: "The image has to be named in full (docker.io/…, with its version), because a cluster and a catalog\n\
               understand short names differently.\n\n\
               Examples:\n  podium catalog add catalog/operator_catalog.yaml docker.io/tytn/operator-bundle:0.2.0 --to fast\n  \
               podium catalog add catalog/operator_catalog.yaml docker.io/tytn/operator-bundle:0.2.0 --to stable,fast --dry-run",
        flags: &[
            Flag::new("to", Takes::List("stable|fast|candidate"), "the lists that get it (default fast)"),
            Flag::new("dry-run", Takes::Switch, "print the new template instead of writing it"),
        ],
        run: add::run,
    },
    About {
        name: "resolve",
        help: "Says which bundle the lifecycle controller would install, and why not each of the others",
        args: "CATALOG...",
        more: "Several catalogs are named NAME=PATH, with a priority if it is not 0: NAME:PRIORITY=PATH. The exit status is 1\n\
               if there is nothing to install.\n\n\
               Examples:\n  podium catalog resolve catalog/configs --package my-operator --channel stable-v1\n  \
               podium catalog resolve catalog/configs --package my-operator --version '>=1.2 <2' --installed 1.1.0\n  \
               podium catalog resolve ours:10=a/configs theirs=b/configs --package my-operator -o json",
        flags: &[
            PACKAGE,
            Flag::new(
                "channel",
                Takes::List("NAME"),
                "the channels to choose from (default all; repeatable)",
            ),
            Flag::new(
                "version",
                Takes::One("RANGE"),
                "the versions to choose from, such as 1.2.x or '>=1.2 <2'",
            ),
            Flag::new("installed", Takes::One("VERSION"), "the version or the bundle that is installed"),
            Flag::new(
                "any-upgrade",
                Takes::Switch,
                "let any version follow the installed one (SelfCertified)",
            ),
            TABLE,
        ],
        run: resolve::run,
    },
    About {
        name: "build",
        help: "Makes the image of a catalog from its folder or its template, without Docker",
        args: "CATALOG oci:PATH[:NAME]",
        more: PUBLISHED_HELP,
        flags: PUBLISH,
        run: publish::build,
    },
    About {
        name: "push",
        help: "Makes the image of a catalog from its folder or its template, and pushes it to a registry",
        args: "CATALOG REFERENCE",
        more: PUBLISHED_HELP,
        flags: PUBLISH,
        run: publish::push,
    },
];

const PUBLISHED_HELP: &str = "The catalog is checked, compared with the one that is published, and refused if a version is gone or another one:\n\
     those who installed it need it there. The image has the catalog in /configs and the label that says so, the same\n\
     input is the same image. With --chart it is also refused if a bundle manages a resource that the catalog chart does\n\
     not define in that version.\n\n\
     Examples:\n  podium catalog build catalog/operator_catalog.yaml oci:images:operator-catalog --chart charts/catalog\n  \
     podium catalog push catalog/operator_catalog.yaml docker.io/tytn/operator-catalog:0.2.0\n  \
     podium catalog push catalog/configs localhost:5000/operator-catalog:0.2.0 --published none";

const PUBLISH: &[Flag] = &[
    Flag::new(
        "published",
        Takes::One("CATALOG|none"),
        "the catalog that users have (default: what the tag names now, or the newest version in the repository)",
    ),
    Flag::new("allow-removal", Takes::Switch, "publish even if a version is gone or another one"),
    Flag::new(
        "chart",
        Takes::Many("CHART"),
        "the catalog chart: it has to define what the bundles manage (repeatable)",
    ),
    Flag::new(
        "bundles",
        Takes::Many("CATALOG"),
        "for a template: olm.bundle documents of images that need not be pulled",
    ),
    Flag::new("output", Takes::One("text|json|yaml"), "how to print (default text)").short('o'),
    COMPAT,
];

/// How registries are spoken to, for the commands that read images.
fn reads(about: &About) -> &'static [Flag] {
    if matches!(about.name, "init" | "add" | "validate") { &[] } else { crate::image::access::ACCESS }
}

/// The commands; their flags are only put together when one of them is called.
pub fn commands() -> Command {
    Command::new("catalog")
        .about("Works with file-based catalogs: the versions of operators and the ways between them")
        .defer(with_commands)
}

fn with_commands(all: Command) -> Command {
    let command = |about: &About| {
        let usage = format!("podium catalog {} {} [flags]", about.name, about.args);
        let args =
            Arg::new("args").value_name(about.args).num_args(0..).help("see the usage and the examples");
        Command::new(about.name)
            .about(about.help)
            .override_usage(usage)
            .after_help(about.more)
            .arg(args)
            .args(about.flags.iter().map(|flag| flag.to_arg()))
            .args(reads(about).iter().map(|flag| flag.to_arg()))
    };
    all.subcommand_required(true).arg_required_else_help(true).subcommands(COMMANDS.iter().map(command))
}

/// Runs one of them.
pub fn dispatch(matches: &ArgMatches) -> anyhow::Result<()> {
    let Some((name, matches)) = matches.subcommand() else { return Ok(()) };
    match COMMANDS.iter().find(|about| about.name == name) {
        // What lies behind an error says what to do about it.
        Some(about) => (about.run)(matches).map_err(|error| anyhow::anyhow!("{error:#}")),
        None => Ok(()),
    }
}
