//! Charts to text: the objects that templates see, the order in which they run, and Helm's words when they fail.

mod capabilities;
mod chart_object;
mod compiled;
mod error;
mod files_object;
mod stage;
mod tried;
mod values_graph;
mod values_object;

use std::sync::{Arc, OnceLock};

use podium_gotmpl::{Functions, Heap, Limits, Machine, Templates, Texts, Value, World};

use crate::capabilities::Capabilities;
use crate::dialect::Dialect;
use crate::files::File;
use crate::manifest::Heads;
use crate::metadata::Metadata;
use crate::values::Values;
use crate::view::{ChartId, View};

pub use compiled::Cache;
pub use error::RenderError;
use stage::{Cast, Scene, Store};

/// From so many bytes of templates on the documents are read by another thread.
const MUCH_TEXT: usize = 100_000;

/// One chart of a view, with what its templates are to see.
#[derive(Debug)]
struct Part<'c> {
    /// How many charts come before it, a chart before its subcharts.
    number: usize,
    view: &'c View,
    id: ChartId,
    name: Arc<str>,
    path: String,
    metadata: OnceLock<Metadata>,
    files: &'c [File],
    templates: &'c [File],
    parts: Vec<Part<'c>>,
}

impl<'c> Part<'c> {
    /// A chart with its subcharts. Charts nest a few dozen deep at most, so recursion is fine.
    fn new(view: &'c View, id: ChartId, count: &mut usize) -> Self {
        let chart = view.chart(id);
        let number = *count;
        *count += 1;
        Self {
            number,
            view,
            id,
            name: view.name(id),
            path: view.full_path(id),
            metadata: OnceLock::new(),
            files: chart.map_or(&[], |c| &c.files),
            templates: chart.map_or(&[], |c| &c.templates),
            parts: view.dependencies(id).iter().map(|id| Part::new(view, *id, count)).collect(),
        }
    }

    /// What `.Chart` is made of.
    fn metadata(&self) -> &Metadata {
        self.metadata.get_or_init(|| self.view.metadata(self.id))
    }

    fn is_library(&self) -> bool {
        self.view.chart(self.id).is_some_and(|chart| chart.metadata.is_library())
    }
}

/// What `.Release` says.
#[derive(Clone, Debug)]
pub struct Release {
    /// The name.
    pub name: String,
    /// The namespace.
    pub namespace: String,
    /// Whether this is an upgrade (or a rollback) and not an installation.
    pub is_upgrade: bool,
    /// The revision.
    pub revision: i64,
}

/// One rendered file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// The path of the template below the root chart.
    pub name: String,
    /// Its text.
    pub text: Vec<u8>,
    /// What its documents begin with, where that was read while other files were rendered.
    pub(crate) heads: Option<Heads>,
}

impl Rendered {
    /// A file whose documents nobody has read yet.
    pub fn new(name: String, text: Vec<u8>) -> Self {
        Self { name, text, heads: None }
    }
}

/// Everything that a render depends on.
pub struct Job<'c> {
    /// Which Helm to be like.
    pub dialect: &'static Dialect,
    /// Whether this is for a linter.
    pub linting: bool,
    /// The charts that take part.
    pub view: &'c View,
    /// The values of the root chart, with those of its subcharts inside.
    pub values: &'c Values,
    /// The release.
    pub release: &'c Release,
    /// What the cluster can do.
    pub capabilities: &'c Capabilities,
    /// Time, chance, names and a cluster to look things up in.
    pub world: &'c dyn World,
    /// What the render may use.
    pub limits: Limits,
    /// Compiled templates of earlier renders.
    pub cache: &'c Cache,
    /// Whether another thread may read the documents of finished files, because they will be sorted; and the process ends
    /// after that.
    pub reads_ahead: bool,
}

/// A template that will be parsed, and rendered unless it is a partial.
struct Source<'c> {
    name: String,
    /// How many slashes are in the name.
    depth: usize,
    text: &'c Arc<[u8]>,
    part: &'c Part<'c>,
}

/// The functions of a dialect, made once.
pub(crate) fn functions(dialect: &'static Dialect, linting: bool) -> &'static Functions {
    static MADE: [OnceLock<Functions>; 4] = [const { OnceLock::new() }; 4];
    let [three, three_linting, four, four_linting] = &MADE;
    let cell = match (dialect.functions.durations, linting) {
        (false, false) => three,
        (false, true) => three_linting,
        (true, false) => four,
        (true, true) => four_linting,
    };
    cell.get_or_init(|| {
        let mut functions =
            podium_sprig::functions(&podium_sprig::Library { lint: linting, ..dialect.functions });
        functions.extend(podium_gotmpl::RENDERERS);
        functions
    })
}

/// The name of a release, made by a template that sees no values.
pub fn name_from_template(template: &str, world: &dyn World) -> Result<String, RenderError> {
    const NAME: &str = "name-template";
    let functions = podium_sprig::functions(&podium_sprig::Library::default());
    let mut templates = Templates::default();
    templates
        .add(NAME.as_bytes(), template.as_bytes(), &functions)
        .map_err(|e| RenderError::plain(NAME, e.to_string()))?;
    let limits = Limits::default();
    let heap = Heap::new(limits.memory);
    let texts = Texts::default();
    let mut machine = Machine::new(&heap, world, &templates, &functions, &texts, limits);
    machine
        .render(NAME.as_bytes(), Value::Nil, |out| String::from_utf8_lossy(out).into_owned())
        .map_err(|e| RenderError::plain(NAME, e.to_string()))
}

impl Job<'_> {
    /// Renders every template that is no partial, in Helm's order. The result is sorted by name.
    pub fn run(&self) -> Result<Vec<Rendered>, RenderError> {
        let root = Part::new(self.view, self.view.root(), &mut 0);
        let mut sources = Vec::new();
        collect(&root, &mut sources);
        sources.sort_by(|a, b| b.depth.cmp(&a.depth).then_with(|| b.name.cmp(&a.name)));
        // Of two files with one path the last one loaded counts; charts do not have two.
        sources.dedup_by(|a, b| a.name == b.name);
        let mut rendered = match self.files(&root, &sources, self.reads_ahead)? {
            Some(rendered) => rendered,
            // What was tried got in the way.
            None => self.files(&root, &sources, false)?.unwrap_or_default(),
        };
        rendered.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(rendered)
    }

    /// Renders the files. When some were tried ahead and then something failed, there is nothing: it may not have failed
    /// without.
    fn files(
        &self,
        root: &Part<'_>,
        sources: &[Source<'_>],
        ahead: bool,
    ) -> Result<Option<Vec<Rendered>>, RenderError> {
        let functions = functions(self.dialect, self.linting);
        let scene = Scene {
            dialect: self.dialect,
            linting: self.linting,
            values: self.values,
            release: self.release,
            capabilities: self.capabilities,
        };
        let templates = &*self.cache.templates(sources, functions)?;
        let files: Vec<&Source<'_>> =
            sources.iter().filter(|source| !base_name(&source.name).starts_with('_')).collect();
        let cast = Cast { scene, root, templates, functions, limits: self.limits };
        if ahead {
            let much = sources.iter().map(|s| s.text.len()).sum::<usize>() > MUCH_TEXT;
            return tried::render(&files, cast, self.world, much);
        }
        let store = Store::new(self.limits.memory);
        let mut stage = cast.stage(&store, self.world)?;
        files.iter().map(|source| stage.render(source).0).collect::<Result<_, _>>().map(Some)
    }
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn collect<'c>(part: &'c Part<'c>, sources: &mut Vec<Source<'c>>) {
    let mut work = vec![part];
    while let Some(part) = work.pop() {
        work.extend(&part.parts);
        let is_library = part.is_library();
        for file in part.templates {
            if is_library && !base_name(&file.name).starts_with('_') {
                continue;
            }
            let name = [&part.path, "/", &file.name].concat();
            let depth = name.bytes().filter(|b| *b == b'/').count();
            sources.push(Source { name, depth, text: &file.data, part });
        }
    }
}
