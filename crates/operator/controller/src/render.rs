//! Renders a chart for a resource, on the CPU pool, with the results of its `lookup` calls.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use podium_chart::capabilities::Capabilities;
use podium_chart::render::Release as Facts;
use podium_chart::renderer::{self, Prepared};
use podium_chart::values::Values;
use podium_client::{Client, DiscoveryCache, client};
use podium_controller::cpu_pool::{self, Budget, CpuPool, Outcome};
use podium_deploy::object::json_to_node;
use podium_gotmpl::{Heap, Limits, Value as Template, World};
use podium_goyaml::Map;
use podium_meta::GroupVersionKind;
use podium_release::RenderedRelease;
use podium_release::environment;
use podium_release::rendered::BuildOptions;
use podium_release::stored_chart::StoredContent;
use podium_sprig::convert::from_tree;
use serde_json::Value;

use crate::chart::Chart;

/// How long a render may take.
const RENDER_TIMEOUT: Duration = Duration::from_secs(30);
/// How often a render is repeated because its templates look up further objects.
const MAX_LOOKUP_ROUNDS: usize = 16;

/// Why a chart cannot be rendered.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The values or the templates are wrong.
    #[error("{0}")]
    Chart(String),
    /// A request failed.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// Every render looks up objects that the one before did not.
    #[error("the chart looks up something new each time that it is rendered ({MAX_LOOKUP_ROUNDS} times)")]
    UnboundedLookups,
    /// A file of `crds/` is invalid.
    #[error("crds/: {0}")]
    Crds(podium_deploy::object::Error),
    /// The render exceeds its time limit.
    #[error("rendering the chart failed: {0}")]
    Pool(#[from] cpu_pool::Error),
}

/// The arguments of a `lookup` call: kind, namespace and name, where an empty name is a list.
type LookupKey = (GroupVersionKind, String, String);
type LookupResults = BTreeMap<LookupKey, Option<Value>>;

/// The environment of a render: the `lookup` results so far, and the lookups that are not among them.
struct Lookups<'a> {
    results: &'a LookupResults,
    missing: RefCell<Vec<LookupKey>>,
    budget: &'a Budget,
}

impl World for Lookups<'_> {
    fn now(&self) -> (i64, u32) {
        environment::now()
    }

    fn random(&self, buffer: &mut [u8]) {
        environment::random(buffer);
    }

    fn lookup<'h>(
        &self,
        heap: &'h Heap<'h>,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Template<'h>, String> {
        let key = (GroupVersionKind::new(api_version, kind), namespace.to_owned(), name.to_owned());
        match self.results.get(&key) {
            Some(Some(found)) => return Ok(from_tree(heap, &json_to_node(found.clone()))),
            Some(None) => {}
            None => self.missing.borrow_mut().push(key),
        }
        Ok(Template::Map(heap.map(Default::default())))
    }

    fn out_of_time(&self) -> bool {
        self.budget.is_over()
    }
}

/// One render, with everything that a thread of the pool needs.
struct RenderTask {
    chart: Arc<Chart>,
    capabilities: Arc<Capabilities>,
    facts: Facts,
    config: Map,
}

impl RenderTask {
    /// Coalesces the values, renders and sorts. Fails with the lookups that `results` does not have.
    fn render(&self, results: &LookupResults, budget: &Budget) -> Outcome<Result<RenderedRelease, Failure>> {
        let chart_error =
            |error: renderer::Error| Error::Chart(String::from_utf8_lossy(&error.text()).into_owned());
        let renderer = &self.chart.renderer;
        let prepared = Values::from_map(&self.config, podium_goyaml::Pos::default())
            .map_err(|e| Error::Chart(e.to_string()))
            .and_then(|set| renderer.prepare(&set, true).map_err(chart_error));
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(error) => return Outcome::Finished(Err(Failure::Error(error))),
        };
        let lookups = Lookups { results, missing: RefCell::default(), budget };
        let rendered =
            renderer.render(&prepared, &self.facts, &self.capabilities, &lookups, Limits::default());
        if rendered.is_err() && budget.is_over() {
            return Outcome::OutOfTime;
        }
        let missing = lookups.missing.into_inner();
        if !missing.is_empty() {
            return Outcome::Finished(Err(Failure::MissingLookups(missing)));
        }
        let draft = rendered.map_err(chart_error).and_then(|files| self.sort(&prepared, files));
        Outcome::Finished(draft.map_err(Failure::Error))
    }

    fn sort(
        &self,
        prepared: &Prepared,
        files: Vec<podium_chart::render::Rendered>,
    ) -> Result<RenderedRelease, Error> {
        // Neither the operator nor Helm needs the templates of old revisions, and they would be most of a record.
        let form = BuildOptions {
            dialect: self.chart.renderer.dialect(),
            stored: StoredContent::MetadataAndValues,
            all_notes: false,
        };
        let draft = RenderedRelease::new(prepared, files, &self.facts, self.config.clone(), form);
        let draft = draft.map_err(|e| {
            Error::Chart(String::from_utf8_lossy(&renderer::Error::from(e).text()).into_owned())
        })?;
        draft.with_crds(prepared).map_err(Error::Crds)
    }
}

/// Why a render has no result.
enum Failure {
    MissingLookups(Vec<LookupKey>),
    Error(Error),
}

/// Renders a chart and reads the objects that its templates look up.
pub struct ChartRenderer<'a> {
    /// The threads that render.
    pub pool: &'a CpuPool,
    /// Whether the last render of the resource needed the slow lane.
    pub is_slow: &'a AtomicBool,
    /// The chart.
    pub chart: Arc<Chart>,
    /// The API server.
    pub client: &'a Client,
    /// Its discovery.
    pub kinds: &'a DiscoveryCache,
    /// Its capabilities, as templates see them.
    pub capabilities: Arc<Capabilities>,
}

impl ChartRenderer<'_> {
    /// Renders on the pool. Objects that templates look up are read from the API server, and the chart is rendered
    /// again with them.
    pub async fn render(&self, facts: &Facts, config: Map) -> Result<RenderedRelease, Error> {
        let task = Arc::new(RenderTask {
            chart: self.chart.clone(),
            capabilities: self.capabilities.clone(),
            facts: facts.clone(),
            config,
        });
        let mut results = Arc::new(LookupResults::new());
        for _ in 0..MAX_LOOKUP_ROUNDS {
            let (task, known) = (task.clone(), results.clone());
            let render = move |budget: &Budget| task.render(&known, budget);
            let missing = match self.pool.run_within(RENDER_TIMEOUT, self.is_slow, render).await? {
                Ok(draft) => return Ok(draft),
                Err(Failure::Error(error)) => return Err(error),
                Err(Failure::MissingLookups(missing)) => missing,
            };
            for key in missing {
                let found = self.look_up(&key).await?;
                Arc::make_mut(&mut results).insert(key, found);
            }
        }
        Err(Error::UnboundedLookups)
    }

    /// The result of a `lookup` call; `None` when the object or its kind does not exist.
    async fn look_up(&self, (kind, namespace, name): &LookupKey) -> Result<Option<Value>, client::Error> {
        let known = self.kinds.get().await?;
        let Some(resource) = known.find(kind) else { return Ok(None) };
        let namespace = Some(namespace.as_str()).filter(|namespace| !namespace.is_empty());
        if name.is_empty() {
            return self.client.list_objects(resource, namespace, "").await.map(Some);
        }
        self.client.get(resource, namespace, name).await
    }
}
