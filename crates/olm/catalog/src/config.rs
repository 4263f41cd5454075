//! A catalog: its documents by what they are.

use std::borrow::Cow;
use std::sync::Arc;

use podium_goyaml::yaml;
use podium_sprig::encoding::base64_decode;

use crate::generation::Generation;
use crate::json::{self, Document, Style, Text, Value};
use crate::meta::Head;
use crate::problem::{Place, Problem, quoted};
use crate::schema;
use crate::stream::{Item, Stream, is_json};

/// The schema of a package.
pub const PACKAGE: &str = "olm.package";
/// The schema of a channel.
pub const CHANNEL: &str = "olm.channel";
/// The schema of a bundle.
pub const BUNDLE: &str = "olm.bundle";
/// The schema of deprecations.
pub const DEPRECATIONS: &str = "olm.deprecations";
/// The type of the property that holds an object of a bundle.
pub const BUNDLE_OBJECT: &str = "olm.bundle.object";

/// What a document is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// `olm.package`.
    Package,
    /// `olm.channel`.
    Channel,
    /// `olm.bundle`.
    Bundle,
    /// Anything else.
    Other,
    /// `olm.deprecations`.
    Deprecations,
}

/// A document of a catalog. Those of a known kind have nothing but the fields of their kind.
#[derive(Clone, Debug)]
pub struct Meta {
    /// What it is.
    pub kind: Kind,
    /// Its names.
    pub head: Head,
    /// Where it begins.
    pub place: Place,
    document: Document,
}

/// The documents of a catalog, in the order in which they were read.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The documents.
    pub metas: Vec<Meta>,
}

impl Kind {
    /// The kind of a schema.
    pub fn of(schema: &str) -> Self {
        match schema {
            PACKAGE => Self::Package,
            CHANNEL => Self::Channel,
            BUNDLE => Self::Bundle,
            DEPRECATIONS => Self::Deprecations,
            _ => Self::Other,
        }
    }

    /// Its Go type, and what opm calls it when it cannot be read.
    pub(crate) fn ty(self) -> Option<(&'static yaml::types::Type, &'static str)> {
        match self {
            Self::Package => Some((&schema::PACKAGE, "package")),
            Self::Channel => Some((&schema::CHANNEL, "channel")),
            Self::Bundle => Some((&schema::BUNDLE, "bundle")),
            Self::Deprecations => Some((&schema::DEPRECATION, "deprecation")),
            Self::Other => None,
        }
    }
}

impl Meta {
    /// A document of a catalog, if opm takes it for one.
    pub fn new(item: Item, file: &Arc<str>) -> Result<Self, Problem> {
        let Item { document, head, blank } = item;
        let root = document.root();
        let place = Place::new(file, root.line());
        if head.schema.is_empty() {
            let mut blob = Vec::new();
            if !blank {
                json::write(&mut blob, root, Style::Compact);
                blob.push(b'\n');
            }
            let blob = String::from_utf8_lossy(&blob);
            return Err(Problem::at(place, format!("object '{blob}' is missing root schema field")));
        }
        let kind = Kind::of(&head.schema);
        let document = match kind.ty() {
            Some((ty, _)) if schema::fits(root, ty) => document,
            Some((ty, name)) => schema::read(root, ty)
                .map_err(|text| Problem::at(place.clone(), format!("parse {name}: {text}")))?,
            None => document,
        };
        let meta = Self { kind, head: names(kind, head, &document), place, document };
        if kind == Kind::Bundle {
            meta.check_objects().map_err(|problem| problem.within("read bundle objects: "))?;
        }
        Ok(meta)
    }

    /// A document that was made from a tree.
    pub fn of_node(node: &podium_goyaml::Node, file: &Arc<str>) -> Result<Self, Problem> {
        let text =
            Text::new(podium_goyaml::json::to_raw_string(&node).map_err(|e| Problem::new(e.to_string()))?);
        let mut items = Stream::new(&text, Generation::V173);
        match items.next() {
            Some(Ok(item)) => Self::new(item, file),
            Some(Err(unreadable)) => Err(Problem::new(unreadable.text)),
            None => Err(Problem::new("there is no document")),
        }
    }

    /// The outermost value.
    pub fn root(&self) -> Value<'_> {
        self.document.root()
    }

    /// The place of a value in it.
    pub fn place_of(&self, value: Value<'_>) -> Place {
        Place::new(&self.place.file, value.line())
    }

    /// A field that is a string; empty if it is not there.
    pub fn string(&self, key: &str) -> Cow<'_, str> {
        self.root().string(key)
    }

    /// The properties: their types and values; a value that was not given is none.
    pub fn properties(&self) -> impl Iterator<Item = Property<'_>> {
        let list = self.root().get("properties");
        list.into_iter().flat_map(Value::items).map(|item| Property {
            ty: item.string("type"),
            value: item.get("value"),
            line: item.line(),
        })
    }

    /// The package that it is written with.
    pub fn package(&self) -> &str {
        if self.kind == Kind::Package { &self.head.name } else { &self.head.package }
    }

    /// Whether it has an object embedded.
    pub fn has_objects(&self) -> bool {
        self.properties().any(|property| property.ty == BUNDLE_OBJECT)
    }

    /// The embedded objects.
    pub fn objects(&self) -> Vec<Vec<u8>> {
        let mut last = Vec::new();
        let mut objects = Vec::new();
        for property in self.properties().filter(|property| property.ty == BUNDLE_OBJECT) {
            // opm reads all of them into one place: what has no data has that of the one before.
            if let Some(data) = property.value.and_then(data_of) {
                last = data;
            }
            objects.push(last.clone());
        }
        objects
    }

    /// The first embedded ClusterServiceVersion.
    pub fn csv(&self) -> Option<podium_goyaml::Node> {
        self.objects().iter().find_map(|object| {
            let node = yaml::parse(object, 0).ok()?;
            (node.get("kind")?.as_str()? == "ClusterServiceVersion").then_some(node)
        })
    }

    fn check_objects(&self) -> Result<(), Problem> {
        for (index, property) in self.properties().enumerate() {
            if property.ty != BUNDLE_OBJECT {
                continue;
            }
            let place = Place::new(&self.place.file, property.line);
            let (package, name) = (quoted(&self.string("package")), quoted(&self.string("name")));
            let refuse = |words: &str, text: String| {
                let text = format!("package {package}, bundle {name}: {words}: {text}");
                Problem::at(place.clone(), text)
            };
            property
                .check(&schema::OBJECT_PROPERTY)
                .map_err(|text| refuse(&format!("parse property at index {index} as bundle object"), text))?;
            let Some(data) = property.value.and_then(|value| value.get("data")).and_then(Value::as_str)
            else {
                continue;
            };
            if begins_as_json(&data) {
                continue;
            }
            let data = base64_decode(data.as_bytes()).unwrap_or_default();
            if is_json(&data) {
                continue;
            }
            if let Err(error) = yaml::parse(&data, 0) {
                let text = match error {
                    yaml::Error::Convert { text, .. } => text,
                    other => other.to_string(),
                };
                return Err(refuse(
                    &format!("convert bundle object property at index {index} to JSON"),
                    text,
                ));
            }
        }
        Ok(())
    }
}

/// The names that a document has after opm has read it: a field in another case is still the field.
fn names(kind: Kind, head: Head, document: &Document) -> Head {
    if kind == Kind::Other {
        return head;
    }
    let root = document.root();
    Head {
        schema: head.schema,
        package: root.string("package").into_owned(),
        name: root.string("name").into_owned(),
    }
}

/// Whether base64 stands for a text that begins with a brace, as nearly all embedded objects do.
fn begins_as_json(data: &str) -> bool {
    data.get(..4)
        .and_then(|begin| base64_decode(begin.as_bytes()).ok())
        .is_some_and(|begin| begin.starts_with(b"{"))
}

fn data_of(value: Value<'_>) -> Option<Vec<u8>> {
    let document = schema::read(value, &schema::OBJECT_PROPERTY).ok()?;
    let data = document.root().get("data")?.as_str()?;
    base64_decode(data.as_bytes()).ok()
}

/// A property of a document.
#[derive(Clone, Debug)]
pub struct Property<'m> {
    /// Its type.
    pub ty: Cow<'m, str>,
    /// Its value, if there is one.
    pub value: Option<Value<'m>>,
    /// The line on which it begins.
    pub line: u32,
}

impl Property<'_> {
    /// Says why the value does not fit a Go type.
    pub(crate) fn check(&self, ty: &yaml::types::Type) -> Result<(), String> {
        match self.value {
            Some(value) => schema::check(value, ty),
            None => Err("unexpected end of JSON input".to_owned()),
        }
    }
}

impl Config {
    /// Adds the documents of a file; its name is for the places of problems.
    pub fn read(&mut self, file: &Arc<str>, text: &Text, generation: Generation) -> Result<(), Problem> {
        each(file, text, generation, |meta| {
            self.metas.push(meta);
            Ok(())
        })
    }

    /// Brings the lists of bundles into the order of a rendered catalog: embedded objects behind the other properties,
    /// related images by name. (Where images are equal, opm's order is any; here it stays.)
    pub fn arrange(&mut self) {
        for meta in self.metas.iter_mut().filter(|meta| meta.kind == Kind::Bundle) {
            let late = |ty: &str| matches!(ty, BUNDLE_OBJECT | "olm.csv.metadata");
            let properties = meta.properties().is_sorted_by_key(|property| late(&property.ty));
            let related = meta.root().get("relatedImages");
            let images = related.into_iter().flat_map(Value::items).map(|item| item.string("image"));
            if properties && images.is_sorted() {
                continue;
            }
            let mut node = meta.root().to_node();
            let mut sort = |key: &str, by: &dyn Fn(&podium_goyaml::Node) -> (bool, String)| {
                let list = node.as_map_mut().and_then(|map| map.get_mut(key));
                if let Some(podium_goyaml::Value::List(list)) = list.map(|node| &mut node.value) {
                    list.as_vec_mut().sort_by_key(by);
                }
            };
            let string = |node: &podium_goyaml::Node, key: &str| {
                node.get(key).and_then(podium_goyaml::Node::as_str).unwrap_or_default().to_owned()
            };
            sort("properties", &|node| (late(&string(node, "type")), String::new()));
            sort("relatedImages", &|node| (false, string(node, "image")));
            if let Some(document) = Document::of(&node) {
                meta.document = document;
            }
        }
    }

    /// Those of a kind, in the order of reading.
    pub fn of(&self, kind: Kind) -> impl Iterator<Item = &Meta> {
        self.metas.iter().filter(move |meta| meta.kind == kind)
    }
}

/// Shows the documents of a file, one after the other.
pub fn each(
    file: &Arc<str>,
    text: &Text,
    generation: Generation,
    mut show: impl FnMut(Meta) -> Result<(), Problem>,
) -> Result<(), Problem> {
    for item in Stream::new(text, generation) {
        let item =
            item.map_err(|unreadable| Problem::at(Place::new(file, unreadable.line), unreadable.text))?;
        show(Meta::new(item, file)?)?;
    }
    Ok(())
}
