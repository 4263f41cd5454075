//! Validate and plan: the input of a render, and whether the deployed revision was rendered from it already.

use std::sync::Arc;

use podium_client::ObjectKey;
use podium_goyaml::Map;

use super::Context;
use super::error::ReconcileError;
use super::ownership::owner_label;
use crate::chart::Chart;
use crate::chart_controller::ChartController;
use crate::custom_resource::{CustomResource, ReconcileOptions};
use crate::resource_state::{self, AppliedObject};
use crate::values;

/// The desired release of a resource.
pub(super) struct Plan {
    /// The chart.
    pub chart: Arc<Chart>,
    /// The options in the resource's annotations.
    pub options: ReconcileOptions,
    /// The values.
    pub values: Map,
    /// The digest of the chart, the values and the kind of the resource.
    pub digest: String,
    /// The resource versions of the sources of the values.
    pub source_versions: Vec<String>,
    /// The warnings for the status.
    pub warnings: Vec<String>,
    /// The latest revision and its objects, if it is deployed and has this digest: then there is nothing to deploy.
    pub deployed: Option<(i64, Vec<AppliedObject>)>,
}

/// Checks the annotations and the name of a resource.
pub(super) fn validate(cr: &CustomResource) -> Result<ReconcileOptions, ReconcileError> {
    let options = cr.reconcile_options().map_err(|e| ReconcileError::irreconcilable("ReconcileError", e))?;
    if !podium_chart::renderer::is_release_name(cr.name()) {
        let message = format!(
            "{:?} cannot be the name of a release: names have up to 53 lower-case letters, digits, dots and dashes; \
             create a resource with a shorter name",
            cr.name()
        );
        return Err(ReconcileError::irreconcilable("ReconcileError", message));
    }
    Ok(options)
}

impl Context {
    /// Collects the values and compares their digest with the deployed revision.
    pub(super) async fn plan(
        &self,
        controller: &ChartController,
        cr: &CustomResource,
        options: ReconcileOptions,
    ) -> Result<Plan, ReconcileError> {
        let collected = values::collect(&self.client, &controller.watch, cr).await.map_err(|e| match e {
            values::Error::Client(error) => error.into(),
            other => ReconcileError::irreconcilable("ErrorGettingValues", other),
        })?;
        let chart = Self::chart(controller)?;
        // A revision that was made for a resource of another kind must not count as this one's.
        let kind = owner_label(&controller.watch.kind);
        let (values, digest, warnings) = {
            let (values, chart) = (collected.values, chart.clone());
            let hash = move || {
                let digest = values::digest(&values, &format!("{kind} {}", chart.digest));
                let warnings = unknown_values(&values, &chart);
                (values, digest, warnings)
            };
            self.pool.run(hash).await.map_err(|e| ReconcileError::irreconcilable("ReconcileError", e))?
        };
        let deployed = self.deployed_revision(controller, &cr.key(), &digest);
        let source_versions = collected.source_versions;
        Ok(Plan { chart, options, values, digest, source_versions, warnings, deployed })
    }

    /// The latest revision and its objects, from the metadata of its record; `None` unless it is deployed and was
    /// rendered from the same input.
    fn deployed_revision(
        &self,
        controller: &ChartController,
        key: &ObjectKey,
        digest: &str,
    ) -> Option<(i64, Vec<AppliedObject>)> {
        let record = self.informers.record(controller.release_namespace(key), key.name())?;
        // The informer may lag behind the last sync.
        let last = controller.state(key).and_then(|state| state.last_applied).map_or(0, |last| last.revision);
        let is_desired = record.revision >= last
            && record.status == "deployed"
            && record.deployed_revisions.len() == 1
            && record.render_label == render_label(digest, record.revision);
        let objects = record.encoded_objects.filter(|_| is_desired);
        let objects = objects.and_then(|line| resource_state::decode_objects(&line))?;
        Some((record.revision, objects))
    }
}

/// The label of a record with the digest of its input. The revision is part of it, so that a revision which `helm`
/// makes from one of the operator's, copying its labels, does not count as the operator's.
pub(super) fn render_label(digest: &str, revision: i64) -> String {
    format!("{digest}-{revision}")
}

/// A warning for each value that the chart does not know; values of subcharts are not checked.
fn unknown_values(values: &Map, chart: &Chart) -> Vec<String> {
    let loaded = chart.renderer.chart();
    let Some(defaults) = loaded.values.as_ref().and_then(|values| values.to_node().ok()) else {
        return Vec::new();
    };
    let subcharts: Vec<&str> = loaded.dependencies.iter().map(|chart| chart.metadata.name.as_str()).collect();
    let unknown = values::unknown(values, &defaults);
    let unknown =
        unknown.into_iter().filter(|path| !subcharts.iter().any(|name| path.split('.').next() == Some(name)));
    unknown.map(|path| format!("the chart {} has no value {path}", chart.name)).collect()
}
