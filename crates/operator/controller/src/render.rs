//! Renders a chart for a resource, with what its templates look up.

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
use podium_meta::Kind;
use podium_release::RenderedRelease;
use podium_release::environment;
use podium_release::rendered::BuildOptions;
use podium_release::stored_chart::StoredContent;
use podium_sprig::convert::from_tree;
use serde_json::Value;

use crate::chart::Chart;

/// How long a render may take.
const LONGEST: Duration = Duration::from_secs(30);
/// How often a render is done again because its templates looked up something new.
const ROUNDS: usize = 16;

/// Why there is nothing to install.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The values or the templates are wrong.
    #[error("{0}")]
    Chart(String),
    /// The server says no, or nothing.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// It never ends.
    #[error("the chart looks up something new each time that it is rendered ({ROUNDS} times)")]
    Restless,
    /// A file of `crds/` is wrong.
    #[error("crds/: {0}")]
    Crds(podium_deploy::object::Error),
    /// It takes too long.
    #[error("rendering the chart failed: {0}")]
    Pool(#[from] cpu_pool::Error),
}

type Question = (Kind, String, String);
type Answers = BTreeMap<Question, Option<Value>>;

/// The environment of a render: the answers to `lookup` so far, and what else the templates look up.
struct Lookups<'a> {
    answers: &'a Answers,
    asked: RefCell<Vec<Question>>,
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
        let question = (Kind::new(api_version, kind), namespace.to_owned(), name.to_owned());
        match self.answers.get(&question) {
            Some(Some(found)) => return Ok(from_tree(heap, &json_to_node(found.clone()))),
            Some(None) => {}
            None => self.asked.borrow_mut().push(question),
        }
        Ok(Template::Map(heap.map(Default::default())))
    }

    fn out_of_time(&self) -> bool {
        self.budget.is_over()
    }
}

/// What is rendered: everything that a thread of the pool needs.
struct Input {
    chart: Arc<Chart>,
    capabilities: Arc<Capabilities>,
    facts: Facts,
    config: Map,
}

impl Input {
    /// Prepares, renders and sorts; `Err` holds what the templates look up and `answers` does not have.
    fn render(&self, answers: &Answers, budget: &Budget) -> Outcome<Result<RenderedRelease, Failure>> {
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
        let world = Lookups { answers, asked: RefCell::default(), budget };
        let rendered = renderer.render(&prepared, &self.facts, &self.capabilities, &world, Limits::default());
        if rendered.is_err() && budget.is_over() {
            return Outcome::OutOfTime;
        }
        let asked = world.asked.into_inner();
        if !asked.is_empty() {
            return Outcome::Finished(Err(Failure::Asked(asked)));
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
        let options = BuildOptions {
            dialect: self.chart.renderer.dialect(),
            stored: StoredContent::MetadataAndValues,
            all_notes: false,
        };
        let draft = RenderedRelease::new(prepared, files, &self.facts, self.config.clone(), options);
        let draft = draft.map_err(|e| {
            Error::Chart(String::from_utf8_lossy(&renderer::Error::from(e).text()).into_owned())
        })?;
        draft.with_crds(prepared).map_err(Error::Crds)
    }
}

/// Why a render has no result.
enum Failure {
    Asked(Vec<Question>),
    Error(Error),
}

/// A chart with a cluster to look things up in.
pub struct Job<'a> {
    /// The threads that render.
    pub pool: &'a CpuPool,
    /// Whether the resource rendered slowly the last time.
    pub is_slow: &'a AtomicBool,
    /// The chart.
    pub chart: Arc<Chart>,
    /// The cluster.
    pub client: &'a Client,
    /// Its kinds.
    pub kinds: &'a DiscoveryCache,
    /// What templates see of it.
    pub capabilities: Arc<Capabilities>,
}

impl Job<'_> {
    /// Renders on a thread of the pool. What templates look up is read from the cluster, and then the chart is rendered
    /// again with the answers.
    pub async fn draft(&self, facts: &Facts, config: Map) -> Result<RenderedRelease, Error> {
        let input = Arc::new(Input {
            chart: self.chart.clone(),
            capabilities: self.capabilities.clone(),
            facts: facts.clone(),
            config,
        });
        let mut answers = Arc::new(Answers::new());
        for _ in 0..ROUNDS {
            let (input, known) = (input.clone(), answers.clone());
            let render = move |budget: &Budget| input.render(&known, budget);
            let asked = match self.pool.run_within(LONGEST, self.is_slow, render).await? {
                Ok(draft) => return Ok(draft),
                Err(Failure::Error(error)) => return Err(error),
                Err(Failure::Asked(asked)) => asked,
            };
            for question in asked {
                let answer = self.look_up(&question).await?;
                Arc::make_mut(&mut answers).insert(question, answer);
            }
        }
        Err(Error::Restless)
    }

    /// What a template asks for; nothing when it is not there, or its kind is not.
    async fn look_up(&self, (kind, namespace, name): &Question) -> Result<Option<Value>, client::Error> {
        let known = self.kinds.get().await?;
        let Some(resource) = known.find(kind) else { return Ok(None) };
        let namespace = Some(namespace.as_str()).filter(|namespace| !namespace.is_empty());
        if name.is_empty() {
            return self.client.list_objects(resource, namespace, "").await.map(Some);
        }
        self.client.get(resource, namespace, name).await
    }
}
