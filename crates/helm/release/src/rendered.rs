//! Builds a release from rendered templates.

use std::collections::BTreeMap;

use podium_chart::dialect::Dialect;
use podium_chart::manifest;
use podium_chart::render::{Release as TemplateRelease, Rendered};
use podium_chart::renderer::Prepared;
use podium_deploy::object::{self, Object, parse_manifest};
use podium_goyaml::{Map, Node};

use crate::record::{Hook, HookExecution};
use crate::stored_chart::{self, StoredContent};

/// A rendered release, before it becomes a revision.
#[derive(Clone, Debug, Default)]
pub struct RenderedRelease {
    /// The release's name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// The chart, as the record stores it.
    pub chart: Option<Node>,
    /// The user-supplied values.
    pub config: Map,
    /// The manifest.
    pub manifest: String,
    /// The hooks.
    pub hooks: Vec<Hook>,
    /// The rendered NOTES.txt.
    pub notes: String,
    /// User-supplied labels of the record.
    pub labels: BTreeMap<String, String>,
    /// The objects of `crds/`.
    pub crds: Vec<Object>,
    /// The revision that is rolled back to; 0 when this is not a rollback.
    pub rollback_to: i64,
    /// Unknown events of `helm.sh/hook` annotations.
    pub unknown_hooks: Vec<String>,
}

/// How a [`RenderedRelease`] is built.
#[derive(Clone, Copy, Debug)]
pub struct BuildOptions {
    /// The dialect that the chart was rendered in.
    pub dialect: &'static Dialect,
    /// How much of the chart the record stores.
    pub stored: StoredContent,
    /// Whether the notes of subcharts are included.
    pub all_notes: bool,
}

impl RenderedRelease {
    /// Splits and sorts the rendered templates into manifest, hooks and notes.
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
