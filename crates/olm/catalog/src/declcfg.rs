//! A catalog: its documents by what they are.

use std::borrow::Cow;
use std::sync::Arc;

use podium_goyaml::yaml;
use podium_sprig::encoding::base64_decode;

use crate::compat::OpmCompat;
use crate::error::{CatalogError, SourceSpan, quote};
use crate::go_types;
use crate::header::MetaHeader;
use crate::json::{self, Document, SourceText, Style, Value};
use crate::stream::{DecodedMeta, DocumentStream, is_json};

/// The schema of a package.
pub const SCHEMA_PACKAGE: &str = "olm.package";
/// The schema of a channel.
pub const SCHEMA_CHANNEL: &str = "olm.channel";
/// The schema of a bundle.
pub const SCHEMA_BUNDLE: &str = "olm.bundle";
/// The schema of deprecations.
pub const SCHEMA_DEPRECATIONS: &str = "olm.deprecations";
/// The type of the property that holds an object of a bundle.
pub const PROPERTY_BUNDLE_OBJECT: &str = "olm.bundle.object";

/// What a document is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MetaKind {
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
    pub kind: MetaKind,
    /// Its names.
    pub header: MetaHeader,
    /// Where it begins.
    pub span: SourceSpan,
    document: Document,
}

/// The documents of a catalog, in the order in which they were read.
#[derive(Clone, Debug, Default)]
pub struct DeclarativeConfig {
    /// The documents.
    pub metas: Vec<Meta>,
}

impl MetaKind {
    /// The kind of a schema.
    pub fn from_schema(schema: &str) -> Self {
        match schema {
            SCHEMA_PACKAGE => Self::Package,
            SCHEMA_CHANNEL => Self::Channel,
            SCHEMA_BUNDLE => Self::Bundle,
            SCHEMA_DEPRECATIONS => Self::Deprecations,
            _ => Self::Other,
        }
    }

    /// Its Go type, and what opm calls it when it cannot be read.
    pub(crate) fn go_type(self) -> Option<(&'static yaml::types::Type, &'static str)> {
        match self {
            Self::Package => Some((&go_types::PACKAGE, "package")),
            Self::Channel => Some((&go_types::CHANNEL, "channel")),
            Self::Bundle => Some((&go_types::BUNDLE, "bundle")),
            Self::Deprecations => Some((&go_types::DEPRECATION, "deprecation")),
            Self::Other => None,
        }
    }
}

impl Meta {
    /// A document of a catalog, if opm takes it for one.
    pub fn new(item: DecodedMeta, file: &Arc<str>) -> Result<Self, CatalogError> {
        let DecodedMeta { document, header, blank } = item;
        let root = document.root();
        let span = SourceSpan::new(file, root.line());
        if header.schema.is_empty() {
            let mut blob = Vec::new();
            if !blank {
                json::write(&mut blob, root, Style::Compact);
                blob.push(b'\n');
            }
            let blob = String::from_utf8_lossy(&blob);
            return Err(CatalogError::at(span, format!("object '{blob}' is missing root schema field")));
        }
        let kind = MetaKind::from_schema(&header.schema);
        let document = match kind.go_type() {
            Some((ty, _)) if go_types::matches_exactly(root, ty) => document,
            Some((ty, name)) => go_types::convert(root, ty)
                .map_err(|text| CatalogError::at(span.clone(), format!("parse {name}: {text}")))?,
            None => document,
        };
        let meta = Self { kind, header: typed_header(kind, header, &document), span, document };
        if kind == MetaKind::Bundle {
            meta.check_objects().map_err(|error| error.prefixed("read bundle objects: "))?;
        }
        Ok(meta)
    }

    /// A document that was made from a tree.
    pub fn from_node(node: &podium_goyaml::Node, file: &Arc<str>) -> Result<Self, CatalogError> {
        let text = SourceText::new(
            podium_goyaml::json::to_raw_string(&node).map_err(|e| CatalogError::new(e.to_string()))?,
        );
        let mut items = DocumentStream::new(&text, OpmCompat::V173);
        match items.next() {
            Some(Ok(item)) => Self::new(item, file),
            Some(Err(error)) => Err(CatalogError::new(error.message)),
            None => Err(CatalogError::new("there is no document")),
        }
    }

    /// The outermost value.
    pub fn root(&self) -> Value<'_> {
        self.document.root()
    }

    /// The place of a value in it.
    pub fn span_of(&self, value: Value<'_>) -> SourceSpan {
        SourceSpan::new(&self.span.file, value.line())
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
        if self.kind == MetaKind::Package { &self.header.name } else { &self.header.package }
    }

    /// Whether it has an object embedded.
    pub fn has_objects(&self) -> bool {
        self.properties().any(|property| property.ty == PROPERTY_BUNDLE_OBJECT)
    }

    /// The embedded objects.
    pub fn objects(&self) -> Vec<Vec<u8>> {
        let mut last = Vec::new();
        let mut objects = Vec::new();
        for property in self.properties().filter(|property| property.ty == PROPERTY_BUNDLE_OBJECT) {
            // opm reads all of them into one place: what has no data has that of the one before.
            if let Some(data) = property.value.and_then(object_data) {
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

    fn check_objects(&self) -> Result<(), CatalogError> {
        for (index, property) in self.properties().enumerate() {
            if property.ty != PROPERTY_BUNDLE_OBJECT {
                continue;
            }
            let span = SourceSpan::new(&self.span.file, property.line);
            let (package, name) = (quote(&self.string("package")), quote(&self.string("name")));
            let reject = |context: &str, text: String| {
                let text = format!("package {package}, bundle {name}: {context}: {text}");
                CatalogError::at(span.clone(), text)
            };
            property
                .check(&go_types::OBJECT_PROPERTY)
                .map_err(|text| reject(&format!("parse property at index {index} as bundle object"), text))?;
            let Some(data) = property.value.and_then(|value| value.get("data")).and_then(Value::as_str)
            else {
                continue;
            };
            if is_base64_json_object(&data) {
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
                return Err(reject(
                    &format!("convert bundle object property at index {index} to JSON"),
                    text,
                ));
            }
        }
        Ok(())
    }
}

/// The names that a document has after opm has read it: a field in another case is still the field.
fn typed_header(kind: MetaKind, header: MetaHeader, document: &Document) -> MetaHeader {
    if kind == MetaKind::Other {
        return header;
    }
    let root = document.root();
    MetaHeader {
        schema: header.schema,
        package: root.string("package").into_owned(),
        name: root.string("name").into_owned(),
    }
}

/// Whether base64 stands for a text that begins with a brace, as nearly all embedded objects do.
fn is_base64_json_object(data: &str) -> bool {
    data.get(..4)
        .and_then(|prefix| base64_decode(prefix.as_bytes()).ok())
        .is_some_and(|prefix| prefix.starts_with(b"{"))
}

fn object_data(value: Value<'_>) -> Option<Vec<u8>> {
    let document = go_types::convert(value, &go_types::OBJECT_PROPERTY).ok()?;
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
            Some(value) => go_types::check(value, ty),
            None => Err("unexpected end of JSON input".to_owned()),
        }
    }
}

impl DeclarativeConfig {
    /// Adds the documents of a file; its name is for the places of problems.
    pub fn read(
        &mut self,
        file: &Arc<str>,
        text: &SourceText,
        compat: OpmCompat,
    ) -> Result<(), CatalogError> {
        for_each_meta(file, text, compat, |meta| {
            self.metas.push(meta);
            Ok(())
        })
    }

    /// Brings the lists of bundles into the order of a rendered catalog: embedded objects behind the other properties,
    /// related images by name. (Where images are equal, opm's order is any; here it stays.)
    pub fn normalize(&mut self) {
        for meta in self.metas.iter_mut().filter(|meta| meta.kind == MetaKind::Bundle) {
            let sorts_last = |ty: &str| matches!(ty, PROPERTY_BUNDLE_OBJECT | "olm.csv.metadata");
            let properties = meta.properties().is_sorted_by_key(|property| sorts_last(&property.ty));
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
            sort("properties", &|node| (sorts_last(&string(node, "type")), String::new()));
            sort("relatedImages", &|node| (false, string(node, "image")));
            if let Some(document) = Document::from_node(&node) {
                meta.document = document;
            }
        }
    }

    /// Those of a kind, in the order of reading.
    pub fn of_kind(&self, kind: MetaKind) -> impl Iterator<Item = &Meta> {
        self.metas.iter().filter(move |meta| meta.kind == kind)
    }
}

/// Shows the documents of a file, one after the other.
pub fn for_each_meta(
    file: &Arc<str>,
    text: &SourceText,
    compat: OpmCompat,
    mut visit: impl FnMut(Meta) -> Result<(), CatalogError>,
) -> Result<(), CatalogError> {
    for item in DocumentStream::new(text, compat) {
        let item =
            item.map_err(|error| CatalogError::at(SourceSpan::new(file, error.line), error.message))?;
        visit(Meta::new(item, file)?)?;
    }
    Ok(())
}
