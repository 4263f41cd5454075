//! What templates see while they run.

use std::cell::OnceCell;
use std::collections::HashMap;

use podium_gotmpl::{
    Entries, Functions, Heap, Limits, Machine, Map, Str, Templates, Texts, Value, World, without_no_value,
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
}

impl Store<'_> {
    /// A store for a render that may make values of so many bytes.
    pub(super) fn new(memory: usize) -> Self {
        Self { heap: Heap::new(memory), texts: Texts::default(), maps: OnceCell::new() }
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
        let Store { heap, texts, maps } = store;
        let values = maps.get_or_init(|| Maps::new(heap, self.scene.values)).root();
        let scopes = Scopes::new(self.scene, self.root, heap, values);
        if heap.exhausted() {
            let budget = heap.budget();
            let message =
                format!("what templates see needs more memory than a render may use ({budget} bytes)");
            return Err(RenderError::plain(&self.root.path, message));
        }
        let machine = Machine::new(heap, world, self.templates, self.functions, texts, self.limits);
        Ok(Stage { scene: self.scene, heap, scopes, machine })
    }
}

/// A machine with the objects that its templates see.
pub(super) struct Stage<'h> {
    pub(super) scene: Scene<'h>,
    pub(super) heap: &'h Heap<'h>,
    pub(super) scopes: Scopes<'h>,
    pub(super) machine: Machine<'h>,
}

impl Stage<'_> {
    /// Lets a template be the one that its chart is rendering, or none of its chart.
    pub(super) fn show(&self, part: &Part<'_>, source: Option<&Source<'_>>) {
        let scope = self.scopes.of(part);
        let Some(source) = source else { return scope.remove(TEMPLATE.as_bytes()) };
        let template = values_object::typed(
            self.heap,
            self.scene.dialect,
            Entries::from([
                ("BasePath".into(), Value::string(format!("{}/templates", part.path))),
                ("Name".into(), Value::string(source.name.clone())),
            ]),
        );
        scope.set(TEMPLATE.into(), Value::Map(template));
    }

    /// Renders a template. Says also whether it has changed what others see.
    pub(super) fn render(&mut self, source: &Source<'_>) -> (Result<Rendered, RenderError>, bool) {
        self.show(source.part, Some(source));
        let dialect = self.scene.dialect;
        let dot = self.heap.retyped(self.scopes.of(source.part), values_object::ty(dialect));
        let run = || {
            self.machine
                .render(source.name.as_bytes(), Value::Map(dot), |out| without_no_value(out).into_owned())
        };
        let (text, changed) = self.heap.watching(run);
        let text = text.map_err(|e| RenderError::exec(&source.name, e, dialect));
        (text.map(|text| Rendered::new(source.name.clone(), text)), changed)
    }
}

/// Where a chart's object says which template is being rendered.
const TEMPLATE: &str = "Template";

/// The top-level object of each chart.
pub(super) struct Scopes<'h>(HashMap<String, &'h Map<'h>>);

impl<'h> Scopes<'h> {
    /// The objects of a chart and its subcharts.
    fn new(scene: Scene<'h>, root: &'h Part<'_>, heap: &'h Heap<'h>, values: &'h Map<'h>) -> Self {
        let release = Value::Map(heap.map(Entries::from([
            ("Name".into(), Value::Str(Str::from(scene.release.name.as_str()))),
            ("Namespace".into(), Value::Str(Str::from(scene.release.namespace.as_str()))),
            ("IsUpgrade".into(), Value::Bool(scene.release.is_upgrade)),
            ("IsInstall".into(), Value::Bool(!scene.release.is_upgrade && !scene.linting)),
            ("Revision".into(), Value::Int(scene.release.revision)),
            ("Service".into(), Value::Str(Str::from("Helm"))),
        ])));
        let capabilities = capabilities::to_value(heap, scene.capabilities, scene.dialect);
        let mut scopes = Self(HashMap::new());
        scopes.add(scene, heap, root, true, values, &release, &capabilities);
        scopes
    }

    fn of(&self, part: &Part<'_>) -> &'h Map<'h> {
        self.0[&part.path]
    }

    /// Makes the object of a chart and those of its subcharts. Charts nest as deep as their archives allow, a few
    /// dozen at most, so recursion is fine.
    fn add(
        &mut self,
        scene: Scene<'h>,
        heap: &'h Heap<'h>,
        part: &'h Part<'_>,
        is_root: bool,
        values: &'h Map<'h>,
        release: &Value<'h>,
        capabilities: &Value<'h>,
    ) -> &'h Map<'h> {
        let subcharts = heap.map(Entries::new());
        let values = heap.retyped(values, values_object::ty(scene.dialect));
        let scope = heap.map(Entries::from([
            ("Capabilities".into(), capabilities.clone()),
            ("Chart".into(), chart_object::to_value(heap, &part.metadata, is_root, scene.dialect)),
            ("Files".into(), files_object::to_value(heap, part.files)),
            ("Release".into(), release.clone()),
            ("Subcharts".into(), Value::Map(subcharts)),
            ("Values".into(), Value::Map(values)),
        ]));
        for child in &part.parts {
            let own = match values.get(child.name.as_bytes()) {
                Some(Value::Map(map)) => map,
                _ => heap.map(Entries::new()),
            };
            let scope = self.add(scene, heap, child, false, own, release, capabilities);
            subcharts.set(Str::from(&*child.name), Value::Map(scope));
        }
        self.0.insert(part.path.clone(), scope);
        scope
    }
}
