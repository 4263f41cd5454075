//! From rendered files to what a release is to be.

use std::collections::BTreeMap;

use podium_chart::dialect::Dialect;
use podium_chart::manifest;
use podium_chart::render::{Release as TemplateRelease, Rendered};
use podium_chart::renderer::Prepared;
use podium_deploy::object::{self, Object, parse_manifest};
use podium_goyaml::{Map, Node};

use crate::record::{Hook, HookExecution};
use crate::stored_chart::{self, StoredContent};

/// What a release is to be, rendered.
#[derive(Clone, Debug, Default)]
pub struct RenderedRelease {
    /// The release's name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// The chart, for the record.
    pub chart: Option<Node>,
    /// What the user set.
    pub config: Map,
    /// The objects.
    pub manifest: String,
    /// The hooks.
    pub hooks: Vec<Hook>,
    /// What NOTES.txt says.
    pub notes: String,
    /// Labels of the record.
    pub labels: BTreeMap<String, String>,
    /// The objects of `crds/`.
    pub crds: Vec<Object>,
    /// The revision that is gone back to; 0 when this is none of old.
    pub rollback_to: i64,
    /// Events that hooks name and nobody knows.
    pub unknown_hooks: Vec<String>,
}

/// How a draft is made.
#[derive(Clone, Copy, Debug)]
pub struct BuildOptions {
    /// The dialect that the chart was rendered in.
    pub dialect: &'static Dialect,
    /// How much of the chart is stored.
    pub stored: StoredContent,
    /// Whether the notes of subcharts are shown too.
    pub all_notes: bool,
}

impl RenderedRelease {
    /// Sorts what was rendered.
    pub fn new(
        prepared: &Prepared,
        mut files: Vec<Rendered>,
        release: &TemplateRelease,
        config: Map,
        options: BuildOptions,
    ) -> Result<Self, manifest::Error> {
        let view = &prepared.view;
        let notes = manifest::take_notes(&mut files, &view.name(view.root()), options.all_notes);
        let sorted = manifest::sort(&files, options.dialect)?;
        Ok(Self {
            name: release.name.clone(),
            namespace: release.namespace.clone(),
            chart: stored_chart::chart_node(prepared, options.stored),
            config,
            manifest: text(&manifest::stored(&sorted)),
            hooks: sorted.hooks.iter().map(hook).collect(),
            notes: text(&notes),
            unknown_hooks: sorted.unknown_hooks.clone(),
            ..Self::default()
        })
    }

    /// Adds the objects of `crds/`.
    pub fn with_crds(mut self, prepared: &Prepared) -> Result<Self, object::Error> {
        for crd in prepared.view.crds() {
            self.crds.extend(parse_manifest(&String::from_utf8_lossy(&crd.file.data))?);
        }
        Ok(self)
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn hook(hook: &manifest::Hook<'_>) -> Hook {
    Hook {
        name: hook.name.clone(),
        kind: hook.kind.clone(),
        path: hook.path.to_owned(),
        manifest: text(hook.manifest),
        events: hook.events.iter().map(|event| (*event).to_owned()).collect(),
        last_run: HookExecution::default(),
        weight: hook.weight,
        delete_policies: hook.delete_policies.clone(),
        output_log_policies: hook.output_log_policies.clone(),
    }
}
