//! What templates see while they run.

use std::cell::{Cell, OnceCell};

use podium_gotmpl::{
    Entries, Functions, Heap, Limits, Machine, Map, Str, Tables, Templates, Texts, Value, World,
    without_no_value,
};

use super::values_graph::Maps;
use super::{Part, Release, RenderError, Rendered, Source};
use super::{capabilities, chart_object, files_object, values_object};
use crate::capabilities::Capabilities;
use crate::dialect::Dialect;
use crate::values::Values;

/// What the objects that templates see are made of.
#[derive(Clone, Copy)]
pub(super) struct Scene<'c> {
    pub(super) dialect: &'static Dialect,
    pub(super) linting: bool,
    pub(super) values: &'c Values,
    pub(super) release: &'c Release,
    pub(super) capabilities: &'c Capabilities,
}

/// What a stage keeps its values and texts in.
pub(super) struct Store<'h> {
    heap: Heap<'h>,
    texts: Texts<'h>,
    maps: OnceCell<Maps<'h>>,
    scopes: OnceCell<Scopes<'h>>,
}

impl Store<'_> {
    /// A store for a render that may make values of so many bytes.
    pub(super) fn new(memory: usize) -> Self {
        Self {
            heap: Heap::new(memory),
            texts: Texts::default(),
            maps: OnceCell::new(),
            scopes: OnceCell::new(),
        }
    }
}

/// Everything but the store that a stage is made of: two threads can each have one.
#[derive(Clone, Copy)]
pub(super) struct Cast<'c> {
    pub(super) scene: Scene<'c>,
    pub(super) root: &'c Part<'c>,
    pub(super) templates: &'c Templates,
    pub(super) functions: &'c Functions,
    pub(super) limits: Limits,
}

impl<'c> Cast<'c> {
    /// A stage with all objects.
    pub(super) fn stage<'h>(
        &self,
        store: &'h Store<'h>,
        world: &'h dyn World,
    ) -> Result<Stage<'h>, RenderError>
    where
        'c: 'h,
    {
        let Store { heap, texts, maps, scopes } = store;
        let values = maps.get_or_init(|| Maps::new(heap, self.scene.values)).root();
        let scopes = scopes.get_or_init(|| Scopes::new(self.scene, heap));
        scopes.fill(self.root, values);
        if heap.exhausted() {
            let budget = heap.budget();
            let message =
                format!("what templates see needs more memory than a render may use ({budget} bytes)");
            return Err(RenderError::plain(&self.root.path, message));
        }
        let machine = Machine::new(heap, world, self.templates, self.functions, texts, self.limits);
        Ok(Stage { dialect: self.scene.dialect, heap, scopes, machine })
    }
}

/// A machine with the objects that its templates see.
pub(super) struct Stage<'h> {
    dialect: &'static Dialect,
    pub(super) heap: &'h Heap<'h>,
    scopes: &'h Scopes<'h>,
    pub(super) machine: Machine<'h>,
}

impl<'h> Stage<'h> {
    /// Lets a template be the one that its chart is rendering, or none of its chart.
    pub(super) fn show(&self, part: &Part<'_>, source: Option<&'h Source<'h>>) {
        self.scopes.show(part, source);
    }

    /// Renders a template. Says also whether it has changed what others see.
    pub(super) fn render(&mut self, source: &'h Source<'h>) -> (Result<Rendered, RenderError>, bool) {
        self.show(source.part, Some(source));
        let dot = self.scopes.object(source.part);
        let run = || {
            self.machine
                .render(source.name.as_bytes(), Value::Map(dot), |out| without_no_value(out).into_owned())
        };
        let (text, changed) = self.heap.watching(run);
        let text = text.map_err(|e| RenderError::exec(&source.name, e, self.dialect));
        (text.map(|text| Rendered::new(source.name.clone(), text)), changed)
    }
}

/// Where a chart's object says which template is being rendered.
const TEMPLATE: &str = "Template";

/// The top-level object of each chart. Templates look at that of their own chart, so each is made when a template looks
/// at it.
struct Scopes<'h> {
    scene: Scene<'h>,
    heap: &'h Heap<'h>,
    release: Value<'h>,
    capabilities: Value<'h>,
    /// By the numbers of the charts.
    all: OnceCell<Vec<Scope<'h>>>,
}

/// The top-level object of a chart.
struct Scope<'h> {
    part: &'h Part<'h>,
    object: &'h Map<'h>,
    /// The values that the chart had before the first template: one that gives it others changes nothing.
    values: &'h Map<'h>,
    /// The template that the chart is rendering.
    shown: Cell<Option<&'h Source<'h>>>,
}

impl<'h> Scopes<'h> {
    fn new(scene: Scene<'h>, heap: &'h Heap<'h>) -> Self {
        let release = Value::Map(heap.map(Entries::from([
            ("Name".into(), Value::Str(Str::from(scene.release.name.as_str()))),
            ("Namespace".into(), Value::Str(Str::from(scene.release.namespace.as_str()))),
            ("IsUpgrade".into(), Value::Bool(scene.release.is_upgrade)),
            ("IsInstall".into(), Value::Bool(!scene.release.is_upgrade && !scene.linting)),
            ("Revision".into(), Value::Int(scene.release.revision)),
            ("Service".into(), Value::Str(Str::from("Helm"))),
        ])));
        let capabilities = capabilities::to_value(heap, scene.capabilities, scene.dialect);
        Self { scene, heap, release, capabilities, all: OnceCell::new() }
    }

    /// The charts with their values, a chart before its subcharts, as they are numbered.
    fn fill(&'h self, root: &'h Part<'h>, values: &'h Map<'h>) {
        self.all.get_or_init(|| {
            let mut all = Vec::new();
            self.add(root, values, &mut all);
            all
        });
    }

    /// Charts nest as deep as their archives allow, a few dozen at most, so recursion is fine.
    fn add(&'h self, part: &'h Part<'h>, values: &'h Map<'h>, all: &mut Vec<Scope<'h>>) {
        let object = self.heap.later_map(self, u32::try_from(part.number).unwrap_or(u32::MAX));
        all.push(Scope { part, object, values, shown: Cell::new(None) });
        for child in &part.parts {
            let own = match values.get(child.name.as_bytes()) {
                Some(Value::Map(map)) => map,
                _ => self.heap.map(Entries::new()),
            };
            self.add(child, own, all);
        }
    }

    /// The chart of a number.
    fn numbered(&self, number: usize) -> &Scope<'h> {
        &self.all.get().map(Vec::as_slice).unwrap_or_default()[number]
    }

    /// The object of a chart.
    fn object(&self, part: &Part<'_>) -> &'h Map<'h> {
        let ty = values_object::ty(self.scene.dialect);
        self.heap.retyped(self.numbered(part.number).object, ty)
    }

    fn show(&self, part: &Part<'_>, source: Option<&'h Source<'h>>) {
        let scope = self.numbered(part.number);
        scope.shown.set(source);
        match source {
            // Nobody has looked: it gets what is shown then.
            _ if !scope.object.is_made() => {}
            Some(source) => scope.object.set(TEMPLATE.into(), self.template(source)),
            None => scope.object.remove(TEMPLATE.as_bytes()),
        }
    }

    /// `.Template`.
    fn template(&self, source: &Source<'_>) -> Value<'h> {
        let entries = Entries::from([
            ("BasePath".into(), Value::string(format!("{}/templates", source.part.path))),
            ("Name".into(), Value::string(source.name.clone())),
        ]);
        Value::Map(values_object::typed(self.heap, self.scene.dialect, entries))
    }
}

impl<'h> Tables<'h> for Scopes<'h> {
    fn entries(&'h self, number: u32) -> Entries<'h> {
        let scope = self.numbered(number as usize);
        let (heap, dialect, part) = (self.heap, self.scene.dialect, scope.part);
        heap.as_before(|| {
            let subcharts = part.parts.iter().map(|child| {
                let object = self.numbered(child.number).object;
                (Str::from(&*child.name), Value::Map(object))
            });
            let subcharts = heap.map(subcharts.collect());
            let values = heap.retyped(scope.values, values_object::ty(dialect));
            let chart = chart_object::to_value(heap, part.metadata(), number == 0, dialect);
            let mut entries = Entries::from([
                ("Capabilities".into(), self.capabilities.clone()),
                ("Chart".into(), chart),
                ("Files".into(), files_object::to_value(heap, part.files)),
                ("Release".into(), self.release.clone()),
                ("Subcharts".into(), Value::Map(subcharts)),
                ("Values".into(), Value::Map(values)),
            ]);
            if let Some(source) = scope.shown.get() {
                entries.insert(TEMPLATE.into(), self.template(source));
            }
            entries
        })
    }
}
