//! Renders a chart for a resource, with what its templates look up.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use podium_chart::capabilities::Capabilities;
use podium_chart::render::Release as Facts;
use podium_chart::renderer::{self, Prepared};
use podium_chart::values::Values;
use podium_client::{Client, Kinds, client};
use podium_deploy::object::tree;
use podium_gotmpl::{Heap, Limits, Value as Template, World};
use podium_goyaml::Map;
use podium_meta::Kind;
use podium_release::Draft;
use podium_release::draft::Form;
use podium_release::machine::{self, Deadline};
use podium_release::stored::Extent;
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
}

type Question = (Kind, String, String);

/// The world of a render: what was looked up so far, and what else was asked for.
struct Asking<'a> {
    answers: &'a BTreeMap<Question, Option<Value>>,
    asked: RefCell<Vec<Question>>,
    deadline: Deadline,
}

impl World for Asking<'_> {
    fn now(&self) -> (i64, u32) {
        machine::now()
    }

    fn random(&self, buffer: &mut [u8]) {
        machine::random(buffer);
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
            Some(Some(found)) => return Ok(from_tree(heap, &tree(found.clone()))),
            Some(None) => {}
            None => self.asked.borrow_mut().push(question),
        }
        Ok(Template::Map(heap.map(Default::default())))
    }

    fn out_of_time(&self) -> bool {
        self.deadline.is_over()
    }
}

/// A chart with a cluster to look things up in.
pub struct Job<'a> {
    /// The chart.
    pub chart: &'a Chart,
    /// The cluster.
    pub client: &'a Client,
    /// Its kinds.
    pub kinds: &'a Kinds,
    /// What templates see of it.
    pub capabilities: &'a Capabilities,
}

impl Job<'_> {
    /// Renders; what templates look up is asked for, and then rendered again with the answers.
    pub async fn draft(&self, facts: &Facts, config: Map) -> Result<Draft, Error> {
        let wrong =
            |error: renderer::Error| Error::Chart(String::from_utf8_lossy(&error.text()).into_owned());
        let renderer = &self.chart.renderer;
        let set = Values::from_map(&config, podium_goyaml::Pos::default())
            .map_err(|e| Error::Chart(e.to_string()))?;
        let prepared = renderer.prepare(&set, true).map_err(wrong)?;
        let mut answers = BTreeMap::new();
        for _ in 0..ROUNDS {
            let world = Asking {
                answers: &answers,
                asked: RefCell::default(),
                deadline: Deadline::after(Some(LONGEST)),
            };
            let rendered = renderer.render(&prepared, facts, self.capabilities, &world, Limits::default());
            let asked = world.asked.into_inner();
            if asked.is_empty() {
                return self.finish(&prepared, rendered.map_err(wrong)?, facts, config);
            }
            for question in asked {
                let answer = self.look_up(&question).await?;
                answers.insert(question, answer);
            }
        }
        Err(Error::Restless)
    }

    fn finish(
        &self,
        prepared: &Prepared,
        files: Vec<podium_chart::render::Rendered>,
        facts: &Facts,
        config: Map,
    ) -> Result<Draft, Error> {
        // Neither the operator nor Helm needs the templates of old revisions, and they would be most of a record.
        let form = Form { dialect: self.chart.renderer.dialect(), extent: Extent::Slim, all_notes: false };
        let draft = Draft::new(prepared, files, facts, config, form);
        let draft = draft.map_err(|e| {
            Error::Chart(String::from_utf8_lossy(&renderer::Error::from(e).text()).into_owned())
        })?;
        draft.with_crds(prepared).map_err(Error::Crds)
    }

    /// What a template asks for; nothing when it is not there, or its kind is not.
    async fn look_up(&self, (kind, namespace, name): &Question) -> Result<Option<Value>, client::Error> {
        let known = self.kinds.known().await?;
        let Some(resource) = known.find(kind) else { return Ok(None) };
        let namespace = Some(namespace.as_str()).filter(|namespace| !namespace.is_empty());
        if name.is_empty() {
            return self.client.whole_list(resource, namespace, "").await.map(Some);
        }
        self.client.get(resource, namespace, name).await
    }
}
