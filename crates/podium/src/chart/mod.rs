//! `podium chart`.

pub mod crd;
mod dependency;
mod expand;
pub mod flags;
mod hints;
pub mod input;
mod lint;
mod oci;
mod package;
mod pull;
pub mod remote;
mod repo;
mod report;
mod server;
mod show;
pub mod template;
mod values;

use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::cluster::{ACCESS, PLACE};
use crate::flag::Flag;

/// The commands; their flags are only put together when one of them is called.
pub fn commands() -> Command {
    Command::new("chart")
        .about("Works with Helm charts: renders, checks and packages them, shows and types their values")
        .defer(with_commands)
}

fn with_commands(all: Command) -> Command {
    all.subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(template_command())
        .subcommand(values_command())
        .subcommand(crd_command())
        .subcommand(lint_command())
        .subcommand(show_command())
        .subcommand(package_command())
        .subcommand(dependency_command())
        .subcommand(pull_command())
        .subcommand(push_command())
        .subcommand(repo_command())
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

/// Paths or charts, as many as a command takes.
fn charts(name: &'static str, help: &'static str) -> Arg {
    Arg::new("args").value_name(name).help(help).action(ArgAction::Append).num_args(0..)
}

fn lint_command() -> Command {
    let command = Command::new("lint")
        .about("Looks for what is wrong with charts, with the rules, the words and the verdict of `helm lint`")
        .override_usage("podium chart lint PATH... [flags]")
        .after_help(
            "An [ERROR] keeps a chart from being installed, a [WARNING] is against conventions, an [INFO] is good to\n\
             know. The command fails if there are errors; with --strict also if there are warnings.\n\n\
             Examples:\n  podium chart lint ./mychart\n  podium chart lint --strict ./mychart -f prod.yaml\n  \
             podium chart lint mychart-1.2.3.tgz --helm-version 3",
        )
        .arg(charts("PATH", "charts: directories or archives"));
    command.defer(|command| {
        with_flags(command, &[lint::FLAGS, flags::VALUES, PLACE, flags::GLOBAL, flags::NO_CACHES])
    })
}

fn show_command() -> Command {
    Command::new("show")
        .alias("inspect")
        .about("Shows what a chart says about itself, as `helm show` does")
        .defer(with_parts)
}

fn with_parts(show: Command) -> Command {
    let part = |(name, _, about): &(&'static str, podium_chart::show::Part, &'static str)| {
        let command = Command::new(*name)
            .about(*about)
            .override_usage(format!("podium chart show {name} CHART [flags]"))
            .arg(charts("CHART", "the chart: a directory or an archive"));
        let tables = [
            flags::HELM_VERSION,
            flags::NO_CLUSTER,
            flags::GLOBAL,
            flags::WANTED,
            flags::REMOTE,
            flags::REPOSITORY,
            flags::CACHES,
            flags::SIGNATURES,
            if *name == "values" { flags::JSONPATH } else { &[] },
        ];
        with_flags(command, &tables)
    };
    show.subcommand_required(true).arg_required_else_help(true).subcommands(show::PARTS.iter().map(part))
}

fn package_command() -> Command {
    let command = Command::new("package")
        .about("Makes archives of charts: the same bytes every time, and what helm takes")
        .override_usage("podium chart package CHART... [flags]")
        .after_help(
            "The archive has the files that `helm package` would put in, without what .helmignore leaves out. Its bytes\n\
             depend on nothing but those: not on the time (unless SOURCE_DATE_EPOCH gives one), the machine or the user.\n\n\
             Examples:\n  podium chart package ./mychart\n  podium chart package ./mychart --version 1.2.3 --app-version 4.5 -d out",
        )
        .arg(charts("CHART", "directories of charts"));
    command.defer(|command| {
        let tables = [
            package::FLAGS,
            flags::NO_CLUSTER,
            flags::GLOBAL,
            flags::SIGNING,
            flags::KEYRING,
            flags::UPDATE_FIRST,
            flags::REMOTE,
            flags::CACHES,
        ];
        with_flags(command, &tables)
    })
}

fn dependency_command() -> Command {
    Command::new("dependency")
        .aliases(["dep", "dependencies"])
        .about("Gets the charts that a chart needs, as `helm dependency` does")
        .defer(with_verbs)
}

fn with_verbs(dependency: Command) -> Command {
    let tables = [flags::HELM_VERSION, flags::NO_CLUSTER, flags::GLOBAL];
    let path = || charts("CHART", "the directory of a chart (default: here)");
    let list = Command::new("list")
        .alias("ls")
        .about("Lists what a chart needs of other charts, and what of that is there")
        .override_usage("podium chart dependency list CHART [flags]")
        .arg(path());
    let list = with_flags(with_flags(list, &tables), &[dependency::LIST, flags::NO_CACHES]);
    let fetching = |name: &'static str, about: &'static str| {
        let command = Command::new(name)
            .about(about)
            .override_usage(format!("podium chart dependency {name} CHART [flags]"))
            .arg(path());
        let more = [dependency::FETCH, flags::REMOTE, flags::CACHES, flags::SIGNATURES];
        with_flags(with_flags(command, &tables), &more)
    };
    dependency
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(list)
        .subcommand(fetching("build", "Gets the charts that Chart.lock names into charts/"))
        .subcommand(
            fetching(
                "update",
                "Gets the newest charts that Chart.yaml allows into charts/, and writes Chart.lock",
            )
            .alias("up"),
        )
}

fn pull_command() -> Command {
    let command = Command::new("pull")
        .alias("fetch")
        .about("Gets charts from repositories and registries")
        .override_usage("podium chart pull CHART... [flags]")
        .after_help(
            "A chart is oci://HOST/PATH/NAME, a URL, NAME/CHART of a repository in repositories.yaml, or with --repo URL\n\
             the name of a chart.\n\n\
             Examples:\n  podium chart pull oci://localhost:5000/charts/mychart --version 1.2.3\n  \
             podium chart pull mychart --repo https://charts.example.com --untar",
        )
        .arg(charts("CHART", "charts of repositories and registries"));
    command.defer(|command| {
        let tables = [
            pull::FLAGS,
            flags::HELM_VERSION,
            flags::WANTED,
            flags::REMOTE,
            flags::REPOSITORY,
            flags::CACHES,
            flags::SIGNATURES,
            flags::NO_CLUSTER,
            flags::GLOBAL,
        ];
        with_flags(command, &tables)
    })
}

fn push_command() -> Command {
    let command = Command::new("push")
        .about("Sends a chart's archive to a registry")
        .override_usage("podium chart push ARCHIVE oci://HOST/PATH [flags]")
        .after_help("Example:\n  podium chart push mychart-1.2.3.tgz oci://localhost:5000/charts")
        .arg(charts("ARCHIVE oci://HOST/PATH", "the archive, and where to"));
    command.defer(|command| {
        let tables = [flags::HELM_VERSION, flags::REMOTE, flags::CACHES, flags::NO_CLUSTER, flags::GLOBAL];
        with_flags(command, &tables)
    })
}

fn repo_command() -> Command {
    let index = Command::new("index")
        .about("Writes index.yaml for the archives of a directory: then it is a repository")
        .override_usage("podium chart repo index DIR [flags]")
        .arg(charts("DIR", "a directory with archives"));
    let tables = [repo::FLAGS, flags::HELM_VERSION, flags::NO_CACHES, flags::NO_CLUSTER, flags::GLOBAL];
    Command::new("repo")
        .about("Makes chart repositories")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(with_flags(index, &tables))
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
    command.defer(|command| {
        let tables = [
            flags::VALUES,
            flags::RENDER,
            flags::TOLD,
            flags::OUTPUT,
            flags::CLUSTER,
            PLACE,
            ACCESS,
            flags::INERT,
            flags::WANTED,
            flags::REMOTE,
            flags::REPOSITORY,
            flags::CACHES,
            flags::UPDATE,
            flags::SIGNATURES,
            flags::PLUGINS,
        ];
        with_flags(command, &tables)
    })
}

fn values_command() -> Command {
    let command = Command::new("values")
        .about("Shows the values that a render would see, each with the place that it comes from")
        .override_usage("podium chart values [NAME] CHART [flags]")
        .after_help(
            "Examples:\n  podium chart values ./mychart -f prod.yaml\n  podium chart values ./mychart --set image.tag=1.2 -o json",
        )
        .arg(name_and_chart());
    command.defer(|command| {
        let tables = [
            flags::VALUES,
            flags::RENDER,
            flags::TOLD,
            PLACE,
            values::FLAGS,
            flags::WANTED,
            flags::REMOTE,
            flags::REPOSITORY,
            flags::CACHES,
            flags::UPDATE,
            flags::SIGNATURES,
            flags::PLUGINS,
        ];
        with_flags(command, &tables)
    })
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
    command.defer(|command| with_flags(command, &[crd::FLAGS]))
}

/// Runs one of them.
pub fn dispatch(matches: &ArgMatches) -> anyhow::Result<()> {
    match matches.subcommand() {
        Some(("template", matches)) => template::run(matches),
        Some(("values", matches)) => values::run(matches),
        Some(("crd", matches)) => crd::run(matches),
        Some(("lint", matches)) => lint::run(matches),
        Some(("show", matches)) => match matches.subcommand() {
            Some((name, matches)) => show::run(name, matches),
            None => Ok(()),
        },
        Some(("package", matches)) => package::run(matches),
        Some(("dependency", matches)) => match matches.subcommand() {
            Some(("list", matches)) => dependency::list(matches),
            Some(("build", matches)) => dependency::build(matches),
            Some(("update", matches)) => dependency::update(matches),
            _ => Ok(()),
        },
        Some(("pull", matches)) => pull::pull(matches),
        Some(("push", matches)) => pull::push(matches),
        Some(("repo", matches)) => match matches.subcommand() {
            Some(("index", matches)) => repo::index(matches),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

/// What a chart renders with its own values, CRDs and all, as one text.
pub fn with_defaults(path: &std::path::Path) -> anyhow::Result<String> {
    use podium_chart::capabilities::Capabilities;
    use podium_chart::dialect::HELM4;
    use podium_chart::manifest;
    use podium_chart::values::Values;

    let loaded = podium_chart::load::load(path, &HELM4)?;
    let renderer = podium_chart::renderer::Renderer::new(loaded.chart, &HELM4);
    let wrong = |error: podium_chart::renderer::Error| {
        anyhow::anyhow!("{}: {}", path.display(), String::from_utf8_lossy(&error.text()))
    };
    let none = Values::from_map(&podium_goyaml::Map::new(), podium_goyaml::Pos::default())?;
    let prepared = renderer.prepare(&none, false).map_err(wrong)?;
    let release = podium_chart::render::Release {
        name: "release".to_owned(),
        namespace: "default".to_owned(),
        is_upgrade: false,
        revision: 1,
    };
    let world = crate::world::Machine::new(false, Some(std::time::Duration::from_secs(60)));
    let capabilities = Capabilities::default();
    let mut files = renderer
        .render(&prepared, &release, &capabilities, &world, podium_gotmpl::Limits::default())
        .map_err(wrong)?;
    manifest::take_notes(&mut files, &prepared.view.name(prepared.view.root()), false);
    let sorted = manifest::sort(&files, &HELM4).map_err(|error| wrong(error.into()))?;
    let crds: Vec<_> = prepared.view.crds().into_iter().map(|crd| (crd.path, crd.file)).collect();
    let output = manifest::Output { no_hooks: true, skip_tests: true };
    Ok(String::from_utf8_lossy(&manifest::print(&sorted, &crds, &output).concat()).into_owned())
}
