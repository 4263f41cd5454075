//! Charts to text: the objects that templates see, the order in which they run, and Helm's words when they fail.

mod capabilities;
mod chart_object;
mod compiled;
mod error;
mod files_object;
mod values_graph;
mod values_object;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use podium_gotmpl::{
    Entries, Functions, Heap, Limits, Machine, Map, Str, Templates, Texts, Value, World, without_no_value,
};

use crate::capabilities::Capabilities;
use crate::dialect::Dialect;
use crate::files::File;
use crate::manifest::{Heads, heads};
use crate::metadata::Metadata;
use crate::parallel;
use crate::values::Values;
use crate::view::{ChartId, View};

pub use compiled::Cache;
pub use error::RenderError;

/// From so many bytes of templates on the documents are read by another thread.
const MUCH_TEXT: usize = 100_000;

/// One chart of a view, with what its templates are to see.
#[derive(Debug)]
struct Part<'c> {
    name: Arc<str>,
    path: String,
    metadata: Metadata,
    files: &'c [File],
    templates: &'c [File],
    parts: Vec<Part<'c>>,
}

impl<'c> Part<'c> {
    /// A chart with its subcharts. Charts nest a few dozen deep at most, so recursion is fine.
    fn new(view: &'c View, id: ChartId) -> Self {
        let chart = view.chart(id);
        Self {
            name: view.name(id),
            path: view.full_path(id),
            metadata: view.metadata(id),
            files: chart.map_or(&[], |c| &c.files),
            templates: chart.map_or(&[], |c| &c.templates),
            parts: view.dependencies(id).iter().map(|id| Part::new(view, *id)).collect(),
        }
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
    /// Whether another thread may read the documents of finished files, because they will be sorted.
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
        let root = Part::new(self.view, self.view.root());
        let mut sources = Vec::new();
        collect(&root, &mut sources);
        sources.sort_by(|a, b| b.depth.cmp(&a.depth).then_with(|| b.name.cmp(&a.name)));
        // Of two files with one path the last one loaded counts; charts do not have two.
        sources.dedup_by(|a, b| a.name == b.name);
        let functions = functions(self.dialect, self.linting);
        let heap = Heap::new(self.limits.memory);
        let (templates, scopes) =
            self.cache.templates(&sources, functions, || Scopes::new(self, &root, &heap));
        let templates = templates?;
        let texts = Texts::default();
        let mut machine = Machine::new(&heap, self.world, &templates, functions, &texts, self.limits);
        if heap.exhausted() {
            let message =
                format!("the values need more memory than a render may use ({} bytes)", heap.budget());
            return Err(RenderError::plain(&root.path, message));
        }
        let much = self.reads_ahead && sources.iter().map(|s| s.text.len()).sum::<usize>() > MUCH_TEXT;
        let read = |file: &mut Rendered| file.heads = Some(heads(file, self.dialect));
        let (mut rendered, failed) = parallel::follow(much, read, |done| {
            for source in &sources {
                if base_name(&source.name).starts_with('_') {
                    continue;
                }
                let scope = scopes.of(source.part);
                let template = values_object::typed(
                    &heap,
                    self.dialect,
                    Entries::from([
                        ("Name".into(), Value::string(source.name.clone())),
                        ("BasePath".into(), Value::string(format!("{}/templates", source.part.path))),
                    ]),
                );
                scope.set("Template".into(), Value::Map(template));
                let dot = heap.retyped(scope, values_object::ty(self.dialect));
                let text = machine
                    .render(source.name.as_bytes(), Value::Map(dot), |out| without_no_value(out).into_owned())
                    .map_err(|e| RenderError::exec(&source.name, e, self.dialect))?;
                done.push(Rendered::new(source.name.clone(), text));
            }
            Ok(())
        });
        failed?;
        rendered.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(rendered)
    }
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn collect<'c>(part: &'c Part<'c>, sources: &mut Vec<Source<'c>>) {
    let mut work = vec![part];
    while let Some(part) = work.pop() {
        work.extend(&part.parts);
        for file in part.templates {
            if part.metadata.is_library() && !base_name(&file.name).starts_with('_') {
                continue;
            }
            let name = format!("{}/{}", part.path, file.name);
            let depth = name.bytes().filter(|b| *b == b'/').count();
            sources.push(Source { name, depth, text: &file.data, part });
        }
    }
}

/// The top-level object of each chart.
struct Scopes<'h>(HashMap<String, &'h Map<'h>>);

impl<'h> Scopes<'h> {
    fn new(job: &'h Job<'_>, root: &'h Part<'_>, heap: &'h Heap<'h>) -> Self {
        let values = values_graph::to_map(heap, job.values);
        let release = Value::Map(heap.map(Entries::from([
            ("Name".into(), Value::Str(Str::from(job.release.name.as_str()))),
            ("Namespace".into(), Value::Str(Str::from(job.release.namespace.as_str()))),
            ("IsUpgrade".into(), Value::Bool(job.release.is_upgrade)),
            ("IsInstall".into(), Value::Bool(!job.release.is_upgrade && !job.linting)),
            ("Revision".into(), Value::Int(job.release.revision)),
            ("Service".into(), Value::Str(Str::from("Helm"))),
        ])));
        let capabilities = capabilities::to_value(heap, job.capabilities, job.dialect);
        let mut scopes = Self(HashMap::new());
        scopes.add(job, heap, root, true, values, &release, &capabilities);
        scopes
    }

    fn of(&self, part: &Part<'_>) -> &'h Map<'h> {
        self.0[&part.path]
    }

    /// Makes the object of a chart and those of its subcharts. Charts nest as deep as their archives allow, a few
    /// dozen at most, so recursion is fine.
    fn add(
        &mut self,
        job: &'h Job<'_>,
        heap: &'h Heap<'h>,
        part: &'h Part<'_>,
        is_root: bool,
        values: &'h Map<'h>,
        release: &Value<'h>,
        capabilities: &Value<'h>,
    ) -> &'h Map<'h> {
        let subcharts = heap.map(Entries::new());
        let values = heap.retyped(values, values_object::ty(job.dialect));
        let scope = heap.map(Entries::from([
            ("Chart".into(), chart_object::to_value(heap, &part.metadata, is_root, job.dialect)),
            ("Files".into(), files_object::to_value(heap, part.files)),
            ("Release".into(), release.clone()),
            ("Capabilities".into(), capabilities.clone()),
            ("Values".into(), Value::Map(values)),
            ("Subcharts".into(), Value::Map(subcharts)),
        ]));
        for child in &part.parts {
            let own = match values.get(child.name.as_bytes()) {
                Some(Value::Map(map)) => map,
                _ => heap.map(Entries::new()),
            };
            let scope = self.add(job, heap, child, false, own, release, capabilities);
            subcharts.set(Str::from(&*child.name), Value::Map(scope));
        }
        self.0.insert(part.path.clone(), scope);
        scope
    }
}
