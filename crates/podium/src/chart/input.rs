//! What the flags of a render mean: the chart, the values, the release.

use std::path::{Component, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{anyhow, bail};
use clap::ArgMatches;
use podium_chart::capabilities::{Capabilities, KubeVersion};
use podium_chart::chart::{Chart, Loaded};
use podium_chart::dialect::{Dialect, HELM3, HELM4};
use podium_chart::load::read_regular_file;
use podium_chart::origin::Sources;
use podium_chart::render::{Release, Rendered};
use podium_chart::renderer::{Prepared, Renderer};
use podium_chart::schema::local_document;
use podium_chart::user_values::Options;
use podium_chart::values::Values;
use podium_gotmpl::Limits;
use podium_goyaml::{Map, Node, Pos, yaml};

use crate::chart::dependency::update_first;
use crate::chart::remote::{Located, locate};
use crate::chart::{flags, hints};
use crate::flag::{list, many, on, one, refuse};
use crate::output::{complain, with_hint};
use crate::world::Machine;

/// How long a render may take unless it is said otherwise.
pub const DEFAULT_SECONDS: u64 = 60;

/// Everything that a render needs.
pub struct Input {
    /// The chart, ready to be rendered.
    pub renderer: Renderer,
    /// Where values come from.
    pub sources: Sources,
    /// What the user set.
    pub set: Values,
    /// The release.
    pub release: Release,
    /// What the cluster is said to be able to do.
    pub capabilities: Capabilities,
    /// Whether schemas count.
    pub schemas: bool,
    /// Time, chance and names.
    pub world: Machine,
}

impl Input {
    /// Decides which subcharts take part, merges all values and checks them.
    pub fn prepare(&self) -> Result<Prepared, podium_chart::renderer::Error> {
        let files = |url: &str| local_document(url, read_regular_file);
        self.renderer.prepare_with(&self.set, self.schemas, Some(&files))
    }

    /// Renders all templates; says before what there is to warn about.
    pub fn render(&self, prepared: &Prepared) -> Result<Vec<Rendered>, podium_chart::renderer::Error> {
        for warning in &prepared.warnings {
            complain(&warning.line(self.renderer.dialect()));
        }
        self.renderer.render_to_sort(
            prepared,
            &self.release,
            &self.capabilities,
            &self.world,
            Limits::default(),
        )
    }

    /// Puts other defaults in the place of the chart's own.
    pub fn replace_defaults(&mut self, defaults: Node) -> anyhow::Result<()> {
        let mut chart = Chart::clone(self.renderer.chart());
        let map = defaults.as_map().cloned().unwrap_or_default();
        chart.values = Some(Arc::new(Values::from_owned(map, Pos::default())?));
        self.renderer = Renderer::new(Arc::new(chart), self.renderer.dialect());
        Ok(())
    }

    /// Reads flags, values and the chart, in the order in which Helm does.
    pub fn read(command: &str, matches: &ArgMatches) -> anyhow::Result<Self> {
        refuse_all(matches)?;
        let dialect = dialect(one(matches, "helm-version"))?;
        let args = many(matches, "args");
        if args.is_empty() {
            bail!(
                "\"podium {command}\" requires at least 1 argument\n\nUsage:  podium {command} [NAME] CHART \
                 [flags]\nTry:    podium {command} --help"
            );
        }
        let mut capabilities = Capabilities::default();
        if let Some(text) = one(matches, "kube-version").filter(|text| !text.is_empty()) {
            capabilities.kube_version = KubeVersion::parse(text, dialect)
                .map_err(|e| anyhow!("invalid kube version '{text}': {e}"))?;
        }
        capabilities.api_versions.extend(list(matches, "api-versions"));
        let seconds = match one(matches, "max-seconds") {
            Some(text) => {
                text.parse().map_err(|_| anyhow!("--max-seconds {text}: write a number of seconds"))?
            }
            None => DEFAULT_SECONDS,
        };
        let dns = on(matches, "enable-dns");
        let world = Machine::new(dns, (seconds > 0).then(|| Duration::from_secs(seconds)));
        let (name, path) = name_and_chart(&args, matches, &world)?;
        let located = locate(matches, &path)?;
        let place = located.place();
        let mut loaded = located.load(dialect);
        if let (Ok(found), Located::Path(path)) = (&loaded, &located)
            && on(matches, "dependency-update")
            && !podium_chart::dependencies::missing(&found.chart).is_empty()
        {
            update_first(matches, path)?;
            loaded = located.load(dialect);
        }
        // A mistake in the values is told before one in the chart, as Helm does; but the chart's sources come first.
        let mut sources = loaded.as_ref().map(|l| l.sources.clone()).unwrap_or_default();
        let set = options(matches).merge(&mut sources, dialect, &mut read_file);
        let set = set.map_err(|error| with_hint(&error, hints::values(&error)))?;
        let set = Values::from_map(&set, Pos::default())?;
        let loaded = loaded.map_err(|error| with_hint(&error, hints::load(&error, &place)))?;
        let Loaded { chart, warnings, .. } = loaded;
        for warning in &warnings {
            complain(&warning.line(dialect));
        }
        let release = Release {
            name,
            namespace: namespace(matches),
            is_upgrade: on(matches, "is-upgrade"),
            revision: 1,
        };
        if chart.metadata.deprecated {
            complain(&podium_chart::warning::Warning::Deprecated.line(dialect));
        }
        let renderer = Renderer::new(chart, dialect);
        renderer.check()?;
        renderer.check_release_name(&release.name)?;
        let schemas = !on(matches, "skip-schema-validation");
        Ok(Self { renderer, sources, set, release, capabilities, schemas, world })
    }
}

/// Complains about the first flag that needs what is not there.
pub fn refuse_all(matches: &ArgMatches) -> anyhow::Result<()> {
    flags::REFUSED.iter().try_for_each(|table| refuse(table, matches))
}

/// Which Helm to be like.
pub fn dialect(version: Option<&str>) -> anyhow::Result<&'static Dialect> {
    match version.map(|v| v.trim_start_matches('v').split('.').next().unwrap_or_default()) {
        None | Some("4") => Ok(&HELM4),
        Some("3") => Ok(&HELM3),
        Some(other) => bail!("--helm-version {other}: podium can be like helm 3 and helm 4; write 3 or 4"),
    }
}

fn name_and_chart(
    args: &[String],
    matches: &ArgMatches,
    world: &Machine,
) -> anyhow::Result<(String, String)> {
    let template = one(matches, "name-template").filter(|t| !t.is_empty());
    match args {
        [chart] => match template {
            Some(template) => Ok((podium_chart::render::name_from_template(template, world)?, chart.clone())),
            None => Ok(("release-name".to_owned(), chart.clone())),
        },
        [name, chart] => {
            if matches.try_contains_id("generate-name").is_ok() && on(matches, "generate-name") {
                bail!("cannot set --generate-name and also specify a name");
            }
            if template.is_some() {
                bail!("cannot set --name-template and also specify a name");
            }
            Ok((name.clone(), chart.clone()))
        }
        [_, _, more @ ..] => {
            bail!("expected at most two arguments, unexpected arguments: {}", more.join(", "))
        }
        [] => bail!("a chart is missing"),
    }
}

/// The whole path, without `.` and `..`: messages name it, as Helm's do.
pub fn absolute(path: &str) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path));
    let mut clean = PathBuf::new();
    for part in whole.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            part => clean.push(part),
        }
    }
    clean
}

/// The values files and flags.
fn options(matches: &ArgMatches) -> Options {
    Options {
        files: list(matches, "values"),
        json: many(matches, "set-json"),
        set: many(matches, "set"),
        strings: many(matches, "set-string"),
        file_values: many(matches, "set-file"),
        literals: many(matches, "set-literal"),
    }
}

/// What the user set, with values files and flags.
pub fn user_values(matches: &ArgMatches, dialect: &Dialect) -> anyhow::Result<Map> {
    let set = options(matches).merge(&mut Sources::default(), dialect, &mut read_file);
    set.map_err(|error| with_hint(&error, hints::values(&error)))
}

/// Reads a file, or standard input for `-`.
fn read_file(path: &str) -> Result<Vec<u8>, String> {
    use std::io::Read;
    if path.trim() == "-" {
        let mut text = Vec::new();
        let limit = podium_chart::load::MAX_VALUES;
        let read = std::io::stdin().take(limit + 1).read_to_end(&mut text).map_err(|e| e.to_string())?;
        return if read as u64 > limit {
            Err(format!("standard input is larger than {limit} bytes; is it the right one?"))
        } else {
            Ok(text)
        };
    }
    if path.starts_with("http://") || path.starts_with("https://") {
        return Err(format!("{path}: values are not fetched from the network; download the file first"));
    }
    podium_chart::load::read_values_file(path)
}

/// The namespace: the flag, `HELM_NAMESPACE`, the kubeconfig's context, or `default`.
pub fn namespace(matches: &ArgMatches) -> String {
    if let Some(name) = one(matches, "namespace").filter(|n| !n.is_empty()) {
        return name.to_owned();
    }
    if let Ok(name) = std::env::var("HELM_NAMESPACE")
        && !name.is_empty()
    {
        return name;
    }
    kubeconfig_namespace(matches).unwrap_or_else(|| "default".to_owned())
}

fn kubeconfig_namespace(matches: &ArgMatches) -> Option<String> {
    let paths = match one(matches, "kubeconfig") {
        Some(path) => path.to_owned(),
        None => std::env::var("KUBECONFIG")
            .ok()
            .filter(|paths| !paths.is_empty())
            .or_else(|| Some(format!("{}/.kube/config", std::env::var("HOME").ok()?)))?,
    };
    let files: Vec<_> = std::env::split_paths(&paths)
        .filter_map(|path| std::fs::read(path).ok())
        .filter_map(|text| yaml::parse(&text, 0).ok())
        .collect();
    let context = match one(matches, "kube-context") {
        Some(name) => name.to_owned(),
        None => files.iter().find_map(|f| f.get("current-context")?.as_str().map(str::to_owned))?,
    };
    let contexts = files.iter().filter_map(|f| f.get("contexts")?.as_list());
    let found = contexts
        .flat_map(|list| list.iter())
        .find(|c| c.get("name").and_then(podium_goyaml::Node::as_str) == Some(context.as_str()))?;
    found.get("context")?.get("namespace")?.as_str().filter(|n| !n.is_empty()).map(str::to_owned)
}
