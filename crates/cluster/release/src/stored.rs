//! A chart as it is stored in a record.

use podium_chart::chart::Chart;
use podium_chart::files::File;
use podium_chart::metadata::{Dependency, ImportValue, Metadata};
use podium_chart::renderer::Prepared;
use podium_goyaml::{List, Map, Node, Pos, Value};
use podium_sprig::encoding::base64_encode;

/// How much of a chart is stored. Helm needs the metadata and the values of old revisions, and nothing else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// Everything.
    #[default]
    Whole,
    /// No templates, no files and no schema.
    Slim,
}

/// Fields that are left out when they are empty, as Go does it.
#[derive(Default)]
struct Fields(Map);

fn node(value: impl Into<Value>) -> Node {
    Node::new(value, Pos::default())
}

fn list(items: impl IntoIterator<Item = Node>) -> Node {
    let mut out = List::default();
    items.into_iter().for_each(|item| out.push(item));
    node(Value::List(out))
}

impl Fields {
    fn put(mut self, key: &str, value: Node) -> Self {
        self.0.insert(key, value);
        self
    }

    fn text(self, key: &str, text: &str) -> Self {
        if text.is_empty() { self } else { self.put(key, node(Value::String(text.into()))) }
    }

    fn flag(self, key: &str, on: bool) -> Self {
        if on { self.put(key, node(Value::Bool(true))) } else { self }
    }

    fn texts(self, key: &str, texts: &[String]) -> Self {
        let items = texts.iter().map(|text| node(Value::String(text.as_str().into())));
        if texts.is_empty() { self } else { self.put(key, list(items)) }
    }

    fn list(self, key: &str, items: Vec<Node>) -> Self {
        if items.is_empty() { self } else { self.put(key, list(items)) }
    }

    fn done(self) -> Node {
        node(Value::Map(self.0))
    }
}

/// What a record says of a chart whose values are settled.
pub fn chart(prepared: &Prepared, extent: Extent) -> Option<Node> {
    let view = &prepared.view;
    let chart = view.chart(view.root())?;
    let values = view.values(view.root()).and_then(|values| values.to_node().ok());
    let files = |files: &[File]| match extent {
        Extent::Whole => list(files.iter().map(file)),
        Extent::Slim => list([]),
    };
    Some(
        Fields::default()
            .put("metadata", metadata(&view.metadata(view.root())))
            .put("lock", lock(chart))
            .put("templates", files(&chart.templates))
            .put("values", values.unwrap_or_default())
            .put("schema", schema(chart, extent))
            .put("files", files(&chart.files))
            .done(),
    )
}

fn bytes(data: &[u8]) -> Node {
    node(Value::String(String::from_utf8_lossy(&base64_encode(data)).as_ref().into()))
}

fn file(file: &File) -> Node {
    let name = node(Value::String(file.name.as_ref().into()));
    Fields::default().put("name", name).put("data", bytes(&file.data)).done()
}

fn schema(chart: &Chart, extent: Extent) -> Node {
    let raw = chart.raw.iter().find(|file| file.name.as_ref() == "values.schema.json");
    raw.filter(|_| extent == Extent::Whole).map(|file| bytes(&file.data)).unwrap_or_default()
}

fn lock(chart: &Chart) -> Node {
    let Some(lock) = &chart.lock else { return Node::default() };
    Fields::default()
        .text("generated", &lock.generated)
        .text("digest", &lock.digest)
        .put("dependencies", list(lock.dependencies.iter().map(dependency)))
        .done()
}

fn dependency(dependency: &Dependency) -> Node {
    let required = |text: &str| node(Value::String(text.into()));
    let import = |value: &ImportValue| match value {
        ImportValue::Written(written) => written.clone(),
        ImportValue::Done { child, parent } => {
            Fields::default().text("child", child).text("parent", parent).done()
        }
    };
    Fields::default()
        .put("name", required(&dependency.name))
        .text("version", &dependency.version)
        .put("repository", required(&dependency.repository))
        .text("condition", &dependency.condition)
        .texts("tags", &dependency.tags)
        .flag("enabled", dependency.enabled)
        .list("import-values", dependency.import_values.iter().map(import).collect())
        .text("alias", &dependency.alias)
        .done()
}

fn metadata(metadata: &Metadata) -> Node {
    let maintainers = metadata.maintainers.iter().map(|person| {
        Fields::default()
            .text("name", &person.name)
            .text("email", &person.email)
            .text("url", &person.url)
            .done()
    });
    let mut annotations = Map::new();
    for (key, value) in metadata.annotations.iter().flatten() {
        annotations.insert(key.as_str(), node(Value::String(value.as_str().into())));
    }
    let mut fields = Fields::default()
        .text("name", &metadata.name)
        .text("home", &metadata.home)
        .texts("sources", &metadata.sources)
        .text("version", &metadata.version)
        .text("description", &metadata.description)
        .texts("keywords", &metadata.keywords)
        .list("maintainers", maintainers.collect())
        .text("icon", &metadata.icon)
        .text("apiVersion", &metadata.api_version)
        .text("condition", &metadata.condition)
        .text("tags", &metadata.tags)
        .text("appVersion", &metadata.app_version)
        .flag("deprecated", metadata.deprecated)
        .text("kubeVersion", &metadata.kube_version)
        .text("type", &metadata.kind);
    if !annotations.is_empty() {
        fields = fields.put("annotations", node(Value::Map(annotations)));
    }
    fields.list("dependencies", metadata.dependencies.iter().flatten().map(dependency).collect()).done()
}
