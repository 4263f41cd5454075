//! A chart as one render sees it: with aliases, without what is switched off, with imported values.
//!
//! Helm changes the loaded chart while it processes dependencies. Here the loaded chart stays as it is, and each
//! render gets a [`View`]. Charts, their metadata and their requirements are kept by number, because in Helm several
//! charts can hold the *same* metadata or requirement, and a change through one is seen by all.

use std::sync::Arc;

use crate::chart::Chart;
use crate::dialect::Dialect;
use crate::files::File;
use crate::metadata::{Dependency, Metadata};
use crate::text;
use crate::values::{Coalesce, Defaults, Error, Values};
use crate::warning::Warning;

/// A chart of a [`View`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChartId(usize);

/// Requirements of a chart, as several charts can share them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RequirementId(usize);

#[derive(Clone, Copy, Debug)]
struct MetadataId(usize);

#[derive(Clone, Debug)]
struct Entry {
    chart: Arc<Chart>,
    metadata: MetadataId,
    values: Option<Arc<Values>>,
    parent: Option<ChartId>,
    dependencies: Vec<ChartId>,
}

#[derive(Clone, Debug)]
struct EntryMetadata {
    name: Arc<str>,
    requirements: Option<Vec<RequirementId>>,
}

/// A chart and its subcharts, for one render.
#[derive(Clone, Debug)]
pub struct View {
    charts: Vec<Entry>,
    metadata: Vec<EntryMetadata>,
    requirements: Vec<Dependency>,
}

/// A file of a chart that is sent to the cluster as it is, before anything is rendered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crd {
    /// The path with that of the chart, as in `# Source:` lines.
    pub path: String,
    /// The file.
    pub file: File,
}

impl View {
    /// The chart as it was loaded.
    pub fn new(chart: &Arc<Chart>) -> Self {
        let mut view = Self { charts: Vec::new(), metadata: Vec::new(), requirements: Vec::new() };
        let root = view.add(chart, None);
        let mut work = vec![root];
        while let Some(parent) = work.pop() {
            let subcharts = view.entry(parent).map(|entry| entry.chart.clone());
            for subchart in subcharts.iter().flat_map(|chart| &chart.dependencies) {
                let id = view.add(subchart, Some(parent));
                if let Some(entry) = view.entry_mut(parent) {
                    entry.dependencies.push(id);
                }
                work.push(id);
            }
        }
        view
    }

    fn add(&mut self, chart: &Arc<Chart>, parent: Option<ChartId>) -> ChartId {
        let requirements = chart.metadata.dependencies.as_ref().map(|dependencies| {
            let ids = (self.requirements.len()..).map(RequirementId).take(dependencies.len()).collect();
            self.requirements.extend(dependencies.iter().cloned());
            ids
        });
        let metadata = MetadataId(self.metadata.len());
        self.metadata.push(EntryMetadata { name: chart.metadata.name.as_str().into(), requirements });
        let values = chart.values.clone();
        self.push(Entry { chart: chart.clone(), metadata, values, parent, dependencies: Vec::new() })
    }

    fn push(&mut self, entry: Entry) -> ChartId {
        self.charts.push(entry);
        ChartId(self.charts.len() - 1)
    }

    fn entry(&self, id: ChartId) -> Option<&Entry> {
        self.charts.get(id.0)
    }

    fn entry_mut(&mut self, id: ChartId) -> Option<&mut Entry> {
        self.charts.get_mut(id.0)
    }

    fn metadata_of(&self, id: ChartId) -> Option<&EntryMetadata> {
        self.metadata.get(self.entry(id)?.metadata.0)
    }

    fn metadata_of_mut(&mut self, id: ChartId) -> Option<&mut EntryMetadata> {
        let at = self.entry(id)?.metadata.0;
        self.metadata.get_mut(at)
    }

    /// How many charts there are, those that were copied or left out among them.
    pub(crate) fn size(&self) -> usize {
        self.charts.len()
    }

    /// The outermost chart.
    pub fn root(&self) -> ChartId {
        ChartId(0)
    }

    /// Whether a chart is the outermost one.
    pub fn is_root(&self, id: ChartId) -> bool {
        self.parent(id).is_none()
    }

    /// The chart around a chart.
    pub fn parent(&self, id: ChartId) -> Option<ChartId> {
        self.entry(id)?.parent
    }

    /// The name, or the alias.
    pub fn name(&self, id: ChartId) -> Arc<str> {
        self.metadata_of(id).map(|metadata| metadata.name.clone()).unwrap_or_else(|| "".into())
    }

    /// The subcharts, in the order in which Helm visits them.
    pub fn dependencies(&self, id: ChartId) -> &[ChartId] {
        self.entry(id).map(|entry| entry.dependencies.as_slice()).unwrap_or_default()
    }

    /// The loaded chart: templates, files, schema.
    pub fn chart(&self, id: ChartId) -> Option<&Arc<Chart>> {
        self.entry(id).map(|entry| &entry.chart)
    }

    /// The metadata that templates see: with the alias as name, and the requirements as they were processed.
    pub fn metadata(&self, id: ChartId) -> Metadata {
        let Some((entry, changed)) = self.entry(id).zip(self.metadata_of(id)) else {
            return Metadata::default();
        };
        let mut metadata = entry.chart.metadata.clone();
        metadata.name = changed.name.to_string();
        metadata.dependencies = changed
            .requirements
            .as_ref()
            .map(|ids| ids.iter().filter_map(|id| self.requirements.get(id.0).cloned()).collect());
        metadata
    }

    /// The chart's own values, with what it imports.
    pub fn values(&self, id: ChartId) -> Option<&Arc<Values>> {
        self.entry(id)?.values.as_ref()
    }

    /// The path that template names begin with, such as `parent/charts/sub`.
    pub fn full_path(&self, id: ChartId) -> String {
        let mut names = vec![self.name(id)];
        let mut at = id;
        while let Some(parent) = self.parent(at) {
            names.push(self.name(parent));
            at = parent;
        }
        names.reverse();
        names.join("/charts/")
    }

    /// The files below `crds/` of a chart and its subcharts.
    pub fn crds(&self) -> Vec<Crd> {
        let mut crds = Vec::new();
        let mut work = vec![self.root()];
        while let Some(id) = work.pop() {
            let path = self.full_path(id);
            let files = self.chart(id).into_iter().flat_map(|chart| &chart.files);
            crds.extend(files.filter(|file| is_crd(&file.name)).map(|file| {
                let path = text::join(&path, &file.name);
                Crd { path, file: file.clone() }
            }));
            work.extend(self.dependencies(id).iter().rev());
        }
        crds
    }

    /// The values that the charts see: what was set, then their defaults; nulls delete.
    pub fn coalesce_values(
        &self,
        set: &Values,
        dialect: &Dialect,
        warnings: &mut Vec<Warning>,
    ) -> Result<Values, Error> {
        Coalesce::coalesce(Of(self, self.root()), set, dialect, warnings)
    }

    /// Like [`Self::coalesce_values`], but nulls stay.
    pub fn merge_values(
        &self,
        set: &Values,
        dialect: &Dialect,
        warnings: &mut Vec<Warning>,
    ) -> Result<Values, Error> {
        Coalesce::merge(Of(self, self.root()), set, dialect, warnings)
    }

    /// The text of the template that has a name such as `parent/charts/sub/templates/x.yaml`.
    pub fn template(&self, name: &str) -> Option<Arc<[u8]>> {
        let ids = (0..self.charts.len()).map(ChartId);
        let below = |id: ChartId| Some((id, name.strip_prefix(&self.full_path(id))?.strip_prefix('/')?));
        ids.filter_map(below).find_map(|(id, rest)| {
            let file = self.chart(id)?.templates.iter().find(|file| &*file.name == rest)?;
            Some(file.data.clone())
        })
    }

    pub(crate) fn requirements(&self, id: ChartId) -> Option<&[RequirementId]> {
        self.metadata_of(id)?.requirements.as_deref()
    }

    pub(crate) fn requirement(&self, id: RequirementId) -> Option<&Dependency> {
        self.requirements.get(id.0)
    }

    pub(crate) fn requirement_mut(&mut self, id: RequirementId) -> Option<&mut Dependency> {
        self.requirements.get_mut(id.0)
    }

    pub(crate) fn set_requirements(&mut self, id: ChartId, requirements: Vec<RequirementId>) {
        if let Some(metadata) = self.metadata_of_mut(id) {
            // Go's list is nil again when nothing is left in it.
            metadata.requirements = Some(requirements).filter(|requirements| !requirements.is_empty());
        }
    }

    pub(crate) fn set_dependencies(&mut self, id: ChartId, dependencies: Vec<ChartId>) {
        for dependency in &dependencies {
            if let Some(entry) = self.entry_mut(*dependency) {
                entry.parent = Some(id);
            }
        }
        if let Some(entry) = self.entry_mut(id) {
            entry.dependencies = dependencies;
        }
    }

    pub(crate) fn set_values(&mut self, id: ChartId, values: Values) {
        if let Some(entry) = self.entry_mut(id) {
            entry.values = Some(Arc::new(values));
        }
    }

    /// A copy of a chart with metadata of its own, under an alias if there is one. With `own_children` its
    /// requirements and direct subcharts are copies, too.
    pub(crate) fn copy_as(&mut self, id: ChartId, alias: &str, own_children: bool) -> Option<ChartId> {
        let entry = self.entry(id)?.clone();
        let mut metadata = self.metadata_of(id)?.clone();
        if !alias.is_empty() {
            metadata.name = alias.into();
        }
        if own_children {
            metadata.requirements = metadata.requirements.map(|ids| {
                let copies =
                    ids.iter().filter_map(|id| self.requirements.get(id.0).cloned()).collect::<Vec<_>>();
                let first = self.requirements.len();
                self.requirements.extend(copies);
                (first..self.requirements.len()).map(RequirementId).collect()
            });
        }
        let children = entry.dependencies.clone();
        let metadata_id = MetadataId(self.metadata.len());
        self.metadata.push(metadata);
        let copy = self.push(Entry { metadata: metadata_id, ..entry });
        if own_children {
            let children = children.into_iter().filter_map(|child| {
                let entry = self.entry(child)?.clone();
                Some(self.push(entry))
            });
            let children = children.collect();
            self.set_dependencies(copy, children);
        }
        Some(copy)
    }
}

fn is_crd(name: &str) -> bool {
    let extension = text::extension(name);
    let known = [".yaml", ".yml", ".json"];
    name.starts_with("crds/") && known.iter().any(|known| extension.eq_ignore_ascii_case(known))
}

/// A chart of a view, as merging sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Of<'a>(pub &'a View, pub ChartId);

impl Defaults for Of<'_> {
    fn name(&self) -> Arc<str> {
        self.0.name(self.1)
    }

    fn values(&self) -> Option<&Values> {
        self.0.values(self.1).map(|values| &**values)
    }

    fn dependencies(&self) -> Vec<Self> {
        self.0.dependencies(self.1).iter().map(|id| Self(self.0, *id)).collect()
    }
}
