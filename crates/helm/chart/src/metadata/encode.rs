//! Metadata and lock files as Go writes them: the fields of its types, without those that are empty.

use std::borrow::Cow;

use podium_goyaml::{Doc, List, Map, Node, Pos, Value, View, emit, json};

use super::{API_V1, Dependency, ImportValue, Lock, Metadata, time};

/// Fields that are left out when they are empty, as Go does it.
#[derive(Default)]
pub struct Fields(Map);

/// A value without a place.
pub fn node(value: impl Into<Value>) -> Node {
    Node::new(value, Pos::default())
}

/// A list of values.
pub fn list(items: impl IntoIterator<Item = Node>) -> Node {
    let mut out = List::default();
    items.into_iter().for_each(|item| out.push(item));
    node(Value::List(out))
}

impl Fields {
    /// A field that is always there.
    pub fn put(mut self, key: &str, value: Node) -> Self {
        self.0.insert(key, value);
        self
    }

    /// A text.
    pub fn text(self, key: &str, text: &str) -> Self {
        if text.is_empty() { self } else { self.put(key, node(Value::String(text.into()))) }
    }

    /// A switch.
    pub fn flag(self, key: &str, on: bool) -> Self {
        if on { self.put(key, node(Value::Bool(true))) } else { self }
    }

    /// Texts.
    pub fn texts(self, key: &str, texts: &[String]) -> Self {
        let items = texts.iter().map(|text| node(Value::String(text.as_str().into())));
        if texts.is_empty() { self } else { self.put(key, list(items)) }
    }

    /// Values.
    pub fn list(self, key: &str, items: Vec<Node>) -> Self {
        if items.is_empty() { self } else { self.put(key, list(items)) }
    }

    /// The object.
    pub fn done(self) -> Node {
        node(Value::Map(self.0))
    }
}

/// What a lock file says.
pub fn lock(lock: &Lock) -> Node {
    Fields::default()
        .text("generated", &lock.generated)
        .text("digest", &lock.digest)
        .put("dependencies", list(lock.dependencies.iter().map(dependency)))
        .done()
}

/// The bytes of a lock file.
pub fn lock_yaml(lock: &Lock) -> Result<Vec<u8>, emit::Error> {
    let text = |text: &str| node(Value::String(text.into()));
    let whole = Fields::default()
        .put("generated", text(&time::written(&lock.generated)))
        .put("digest", text(&lock.digest))
        .put("dependencies", list(lock.dependencies.iter().map(dependency)))
        .done();
    emit::to_yaml(&&whole)
}

/// The bytes of a `Chart.yaml`. Charts of the first generation have their dependencies in another file.
pub fn chart_yaml(metadata: &Metadata) -> Result<Vec<u8>, emit::Error> {
    if metadata.api_version == API_V1 && metadata.dependencies.is_some() {
        let without = Metadata { dependencies: None, ..metadata.clone() };
        return emit::to_yaml(&&self::metadata(&without));
    }
    emit::to_yaml(&&self::metadata(metadata))
}

/// What a dependency says.
pub fn dependency(dependency: &Dependency) -> Node {
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

/// What `Chart.yaml` says.
pub fn metadata(metadata: &Metadata) -> Node {
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

/// The order of the fields of a Go type, which its JSON has and its YAML has not.
pub struct Layout {
    /// The struct whose fields come first.
    pub embedded: Option<&'static Layout>,
    /// The fields in their order, with their own layouts; none for what is no struct.
    pub fields: &'static [(&'static str, &'static Layout)],
    /// The layout of the entries of a list or a map.
    pub each: Option<&'static Layout>,
}

/// A value without structs in it.
pub static PLAIN: Layout = Layout { fields: &[], embedded: None, each: None };
/// A dependency.
pub static DEPENDENCY: Layout = Layout {
    fields: &[
        ("name", &PLAIN),
        ("version", &PLAIN),
        ("repository", &PLAIN),
        ("condition", &PLAIN),
        ("tags", &PLAIN),
        ("enabled", &PLAIN),
        ("import-values", &PLAIN),
        ("alias", &PLAIN),
    ],
    embedded: None,
    each: None,
};
/// Dependencies.
pub static DEPENDENCIES: Layout = Layout { fields: &[], embedded: None, each: Some(&DEPENDENCY) };

/// Maintainers.
pub static MAINTAINERS: Layout = Layout {
    fields: &[],
    embedded: None,
    each: Some(&Layout {
        fields: &[("name", &PLAIN), ("email", &PLAIN), ("url", &PLAIN)],
        embedded: None,
        each: None,
    }),
};
/// A `Chart.yaml`.
pub static METADATA: Layout = Layout {
    fields: &[
        ("name", &PLAIN),
        ("home", &PLAIN),
        ("sources", &PLAIN),
        ("version", &PLAIN),
        ("description", &PLAIN),
        ("keywords", &PLAIN),
        ("maintainers", &MAINTAINERS),
        ("icon", &PLAIN),
        ("apiVersion", &PLAIN),
        ("condition", &PLAIN),
        ("tags", &PLAIN),
        ("appVersion", &PLAIN),
        ("deprecated", &PLAIN),
        ("annotations", &PLAIN),
        ("kubeVersion", &PLAIN),
        ("dependencies", &DEPENDENCIES),
        ("type", &PLAIN),
    ],
    embedded: None,
    each: None,
};

/// A value whose fields are written in an order.
#[derive(Clone, Copy)]
pub struct Laid<'a> {
    /// The value.
    pub node: &'a Node,
    /// The order.
    pub layout: &'static Layout,
}

impl Doc for Laid<'_> {
    fn view(&self) -> View<'_, Self> {
        let layout = self.layout.each.unwrap_or(&PLAIN);
        match &self.node.value {
            Value::Null => View::Null,
            Value::Bool(on) => View::Bool(*on),
            Value::Int(number) => View::Int(*number),
            Value::Float(number) => View::Float(*number),
            Value::String(text) => View::Str(Cow::Borrowed(text.as_bytes())),
            Value::List(items) => View::List(items.iter().map(|node| Laid { node, layout }).collect()),
            Value::Map(map) if self.layout.fields.is_empty() => {
                let entries =
                    map.iter().map(|(key, node)| (Cow::Borrowed(key.as_bytes()), Laid { node, layout }));
                View::Map(entries.collect())
            }
            Value::Map(map) => {
                let embedded = self.layout.embedded.unwrap_or(&PLAIN).fields.iter();
                let fields = embedded.chain(self.layout.fields);
                let there = fields.filter_map(|(name, layout)| {
                    Some((Cow::Borrowed(name.as_bytes()), Laid { node: map.get(name)?, layout }))
                });
                View::Fields(there.collect())
            }
        }
    }
}

/// Dependencies as JSON with the fields in the order of Go's type: what a digest is made of.
pub fn dependencies_json(dependencies: Option<&[Dependency]>) -> Result<Vec<u8>, json::Error> {
    let node = dependencies.map(|entries| list(entries.iter().map(dependency))).unwrap_or_default();
    json::to_string(&Laid { node: &node, layout: &DEPENDENCIES })
}
