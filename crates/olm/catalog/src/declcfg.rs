//! Declarative config: the typed metas of a file-based catalog.

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

/// Schema of packages.
pub const SCHEMA_PACKAGE: &str = "olm.package";
/// Schema of channels.
pub const SCHEMA_CHANNEL: &str = "olm.channel";
/// Schema of bundles.
pub const SCHEMA_BUNDLE: &str = "olm.bundle";
/// Schema of deprecations.
pub const SCHEMA_DEPRECATIONS: &str = "olm.deprecations";
/// Type of the property that embeds an object of a bundle.
pub const PROPERTY_BUNDLE_OBJECT: &str = "olm.bundle.object";

/// Kind of a meta, by schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MetaKind {
    /// `olm.package`.
    Package,
    /// `olm.channel`.
    Channel,
    /// `olm.bundle`.
    Bundle,
    /// Any other schema.
    Other,
    /// `olm.deprecations`.
    Deprecations,
}

/// A meta of a file-based catalog. Known kinds contain only the fields of their Go type.
#[derive(Clone, Debug)]
pub struct Meta {
    /// Kind.
    pub kind: MetaKind,
    /// Schema, package and name.
    pub header: MetaHeader,
    /// Source position.
    pub span: SourceSpan,
    document: Document,
}

/// A file-based catalog: its metas in file order.
#[derive(Clone, Debug, Default)]
pub struct DeclarativeConfig {
    /// Metas.
    pub metas: Vec<Meta>,
}

impl MetaKind {
    /// Returns the kind of a schema.
    pub fn from_schema(schema: &str) -> Self {
        match schema {
            SCHEMA_PACKAGE => Self::Package,
            SCHEMA_CHANNEL => Self::Channel,
            SCHEMA_BUNDLE => Self::Bundle,
            SCHEMA_DEPRECATIONS => Self::Deprecations,
            _ => Self::Other,
        }
    }

    /// Returns the Go type and the name that opm uses in parse errors.
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
    /// Validates a decoded meta like opm's loader.
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

    /// Builds a meta from a YAML node.
    pub fn from_node(node: &podium_goyaml::Node, file: &Arc<str>) -> Result<Self, CatalogError> {
        let text = SourceText::new(
            podium_goyaml::json::to_raw_string(&node).map_err(|e| CatalogError::new(e.to_string()))?,
        );
        let mut items = DocumentStream::new(&text, OpmCompat::V173);
        match items.next() {
            Some(Ok(item)) => Self::new(item, file),
            Some(Err(error)) => Err(CatalogError::new(error.message)),
            None => Err(CatalogError::new("no document found")),
        }
    }

    /// Returns the root value.
    pub fn root(&self) -> Value<'_> {
        self.document.root()
    }

    /// Returns the source position of a value.
    pub fn span_of(&self, value: Value<'_>) -> SourceSpan {
        SourceSpan::new(&self.span.file, value.line())
    }

    /// Returns a string field, or an empty string.
    pub fn string(&self, key: &str) -> Cow<'_, str> {
        self.root().string(key)
    }

    /// Iterates over the properties.
    pub fn properties(&self) -> impl Iterator<Item = Property<'_>> {
        let list = self.root().get("properties");
        list.into_iter().flat_map(Value::items).map(|item| Property {
            ty: item.string("type"),
            value: item.get("value"),
            line: item.line(),
        })
    }

    /// Returns the package that the meta is grouped under.
    pub fn package(&self) -> &str {
        if self.kind == MetaKind::Package { &self.header.name } else { &self.header.package }
    }

    /// Reports whether the bundle embeds objects.
    pub fn has_objects(&self) -> bool {
        self.properties().any(|property| property.ty == PROPERTY_BUNDLE_OBJECT)
    }

    /// Returns the embedded objects.
    pub fn objects(&self) -> Vec<Vec<u8>> {
        let mut last = Vec::new();
        let mut objects = Vec::new();
        for property in self.properties().filter(|property| property.ty == PROPERTY_BUNDLE_OBJECT) {
            // opm decodes all objects into the same variable: one without data gets the data of its
            // predecessor.
            if let Some(data) = property.value.and_then(object_data) {
                last = data;
            }
            objects.push(last.clone());
        }
        objects
    }

    /// Returns the first embedded ClusterServiceVersion.
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

/// Returns the header after typed decoding, which matches keys case-insensitively.
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

/// Reports whether base64 data starts with a brace, as nearly all embedded objects do.
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

/// A property of a meta.
#[derive(Clone, Debug)]
pub struct Property<'m> {
    /// Property type.
    pub ty: Cow<'m, str>,
    /// Value, if any.
    pub value: Option<Value<'m>>,
    /// Line.
    pub line: u32,
}

impl Property<'_> {
    /// Checks that the value decodes into a Go type. An error is Go's message.
    pub(crate) fn check(&self, ty: &yaml::types::Type) -> Result<(), String> {
        match self.value {
            Some(value) => go_types::check(value, ty),
            None => Err("unexpected end of JSON input".to_owned()),
        }
    }
}

impl DeclarativeConfig {
    /// Appends the metas of a file; errors name the file.
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

    /// Sorts the lists of bundles as in a rendered catalog: embedded objects and CSV metadata after the other
    /// properties, related images by image. The order of equal images is kept; opm's is unstable.
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

    /// Iterates over the metas of a kind.
    pub fn of_kind(&self, kind: MetaKind) -> impl Iterator<Item = &Meta> {
        self.metas.iter().filter(move |meta| meta.kind == kind)
    }
}

/// Decodes the metas of a file and calls `visit` for each.
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
