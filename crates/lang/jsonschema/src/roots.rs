//! Documents, the resources and anchors in them, and how a reference finds its target.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use podium_goyaml::{Map, Node};

use crate::Resolver;
use crate::document::{Document, Json};
use crate::draft::{self, Dialect, Draft, Place};
use crate::error::Error;
use crate::go::url;
use crate::meta;
use crate::metaschema;
use crate::pointer::{Fragment, join, location, unescape};

/// A schema with an id of its own (or the whole document).
#[derive(Clone, Debug)]
pub(crate) struct Resource {
    pub pointer: String,
    pub id: String,
    pub dialect: Dialect,
    pub anchors: BTreeMap<String, String>,
    pub dynamic_anchors: BTreeSet<String>,
}

/// A document and what is known of it.
#[derive(Debug)]
pub(crate) struct Root {
    pub url: String,
    pub doc: Arc<Document>,
    resources: BTreeMap<String, Resource>,
    /// The resources' pointers by id.
    ids: HashMap<String, String>,
    /// The places that have been looked through for resources.
    processed: BTreeSet<String>,
}

/// A reference: the document or resource, and the place in it.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub url: String,
    pub fragment: Fragment,
}

/// Takes a reference apart at its `#`.
fn split_fragment(reference: &str) -> Result<(&str, Fragment), Error> {
    let (url, fragment) = reference.split_once('#').unwrap_or((reference, ""));
    let fragment = url::path_unescape(fragment)
        .map_err(|reason| Error::ParseUrl { url: reference.to_owned(), reason })?;
    Ok((url, Fragment::new(fragment)))
}

/// What a reference means on a base.
pub(crate) fn resolve(base: &str, reference: &str) -> Result<Target, Error> {
    let parse =
        |text: &str| url::parse(text).map_err(|reason| Error::ParseUrl { url: text.to_owned(), reason });
    let base = parse(base)?;
    let (reference, fragment) = split_fragment(reference)?;
    Ok(Target { url: base.join(&parse(reference)?).to_string(), fragment })
}

/// The value at a pointer.
pub(crate) fn lookup<'d>(doc: &'d Document, url: &str, pointer: &str) -> Result<&'d Node, Error> {
    let mut node = &doc.root;
    for token in pointer.split('/').skip(1) {
        let token = unescape(token).ok_or_else(|| Error::InvalidPointer(location(url, pointer)))?;
        let next = match doc.view(node) {
            Json::Map(map) => map.get(&token),
            Json::List(list) => index(&token).and_then(|i| list.get(i)),
            _ => None,
        };
        node = next.ok_or_else(|| Error::PointerNotFound(location(url, pointer)))?;
    }
    Ok(node)
}

/// An index as `strconv.Atoi` reads it.
fn index(token: &str) -> Option<usize> {
    let digits = token.strip_prefix(['+', '-']).unwrap_or(token);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let value: usize = digits.parse().ok()?;
    (!token.starts_with('-') || value == 0).then_some(value)
}

impl Root {
    /// The resource that a place belongs to.
    pub fn resource(&self, pointer: &str) -> Option<&Resource> {
        let mut pointer = pointer;
        loop {
            if let Some(resource) = self.resources.get(pointer) {
                return Some(resource);
            }
            pointer = pointer.get(..pointer.rfind('/')?)?;
        }
    }

    fn by_id(&self, id: &str) -> Option<&Resource> {
        self.ids.get(id).and_then(|pointer| self.resources.get(pointer))
    }

    fn fragment_in(&self, fragment: &Fragment, resource: &Resource) -> Result<String, Error> {
        match fragment {
            Fragment::Pointer(pointer) => Ok(format!("{}{pointer}", resource.pointer)),
            Fragment::Anchor(anchor) => {
                resource.anchors.get(anchor).cloned().ok_or_else(|| Error::AnchorNotFound {
                    url: self.url.clone(),
                    reference: location(&resource.id, fragment.text()),
                })
            }
        }
    }

    /// The place that a reference means, if it is in this document.
    pub fn local(&self, target: &Target) -> Result<Option<String>, Error> {
        let resource = if target.url == self.url { self.resources.get("") } else { self.by_id(&target.url) };
        resource.map(|resource| self.fragment_in(&target.fragment, resource)).transpose()
    }

    fn add_anchors(&mut self, schema: &Map, pointer: &str, id: &str) -> Result<(), Error> {
        let url = self.url.clone();
        let Some(resource) = self.ids.get(id).and_then(|p| self.resources.get_mut(p)) else { return Ok(()) };
        let string = |key: &str| schema.get(key).and_then(Node::as_str);
        let draft = resource.dialect.draft;
        let mut found: Vec<(String, bool)> = Vec::new();
        if draft.version < 2019 {
            if schema.contains_key("$ref") {
                return Ok(());
            }
            if let Some(id) = string(draft.id) {
                let (_, fragment) =
                    split_fragment(id).map_err(|_| Error::ParseAnchor(location(&url, pointer)))?;
                if let Fragment::Anchor(anchor) = fragment {
                    found.push((anchor, false));
                }
            }
        }
        if draft.version >= 2019 {
            found.extend(string("$anchor").map(|anchor| (anchor.to_owned(), false)));
        }
        if draft.version >= 2020 {
            found.extend(string("$dynamicAnchor").map(|anchor| (anchor.to_owned(), true)));
        }
        for (anchor, dynamic) in found {
            match resource.anchors.get(&anchor) {
                Some(first) if first != pointer => {
                    let (first, second) = (first.clone(), pointer.to_owned());
                    return Err(Error::DuplicateAnchor { anchor, url, first, second });
                }
                _ => resource.anchors.insert(anchor.clone(), pointer.to_owned()),
            };
            if dynamic {
                resource.dynamic_anchors.insert(anchor);
            }
        }
        Ok(())
    }
}

/// All documents that a schema needs.
pub(crate) struct Roots<'r> {
    roots: HashMap<String, Root>,
    docs: HashMap<String, Arc<Document>>,
    resolver: Option<&'r dyn Resolver>,
    /// Whether schemas are checked against their metaschemas; the metaschemas themselves are not.
    checks: bool,
}

/// A subschema that waits to be looked through.
struct Pending<'d> {
    node: &'d Node,
    base: String,
    pointer: String,
    fallback: Dialect,
}

impl<'r> Roots<'r> {
    pub fn new(resolver: Option<&'r dyn Resolver>) -> Self {
        Self { roots: HashMap::new(), docs: HashMap::new(), resolver, checks: true }
    }

    pub fn of_metaschemas() -> Self {
        Self { checks: false, ..Self::new(None) }
    }

    pub fn add_document(&mut self, url: &str, doc: Document) {
        self.docs.insert(url.to_owned(), Arc::new(doc));
    }

    pub fn get(&self, url: &str) -> Option<&Root> {
        self.roots.get(url)
    }

    fn document(&mut self, url: &str) -> Result<Arc<Document>, Error> {
        if let Some(doc) = self.docs.get(url) {
            return Ok(doc.clone());
        }
        let doc = match metaschema::document(url) {
            Some(root) => Document::built(root),
            None => self.fetch(url)?,
        };
        let doc = Arc::new(doc);
        self.docs.insert(url.to_owned(), doc.clone());
        Ok(doc)
    }

    /// Asks the resolver. An URN that it does not know stands for a schema that allows everything.
    fn fetch(&self, url: &str) -> Result<Document, Error> {
        let failed = |reason: String| Error::Load { url: url.to_owned(), reason };
        let parsed = url::parse(url).map_err(failed)?;
        if !matches!(parsed.scheme.as_str(), "http" | "https" | "file" | "urn") {
            let name = crate::go::quote::double(parsed.to_string());
            return Err(failed(format!("no URLLoader registered for {name}")));
        }
        let answer = match self.resolver {
            Some(resolver) => resolver.load(url),
            None => Err("references to other documents are not followed; copy what it defines into the chart's schema".to_owned()),
        };
        match answer {
            Ok(text) => Document::parse(&text).map_err(|error| failed(error.to_string())),
            Err(_) if parsed.scheme == "urn" => Document::parse(b"true"),
            Err(reason) => Err(failed(reason)),
        }
    }

    /// Makes sure that a document is read, looked through and valid.
    pub fn load(&mut self, url: &str) -> Result<(), Error> {
        if self.roots.contains_key(url) {
            return Ok(());
        }
        let doc = self.document(url)?;
        let root = Root {
            url: url.to_owned(),
            doc,
            resources: BTreeMap::new(),
            ids: HashMap::new(),
            processed: BTreeSet::new(),
        };
        let default = Dialect { draft: draft::latest(), chosen: None };
        let root = self.collect(root, url.to_owned(), String::new(), default)?;
        let official = ["http://json-schema.org/", "https://json-schema.org/"];
        if !official.iter().any(|prefix| url.starts_with(prefix)) {
            self.validate(&root, "")?;
        }
        self.roots.insert(url.to_owned(), root);
        Ok(())
    }

    /// The place that a reference to another document means.
    pub fn remote(&mut self, target: &Target) -> Result<String, Error> {
        self.load(&target.url)?;
        let root = self.roots.get(&target.url);
        let place = root.and_then(|root| Some((root, root.resources.get("")?)));
        place.map_or(Ok(String::new()), |(root, resource)| root.fragment_in(&target.fragment, resource))
    }

    /// Makes sure that a place is known as a schema: what is no subschema by its keyword can still be referred to.
    pub fn ensure(&mut self, url: &str, pointer: &str) -> Result<(), Error> {
        self.load(url)?;
        let known = |root: &Root| root.processed.contains(pointer);
        if self.roots.get(url).is_none_or(known) {
            return Ok(());
        }
        let Some(root) = self.roots.remove(url) else { return Ok(()) };
        lookup(&root.doc, url, pointer)?;
        let Some(base) = root.resource(pointer).cloned() else { return Ok(()) };
        let root = self.collect(root, base.id, pointer.to_owned(), base.dialect)?;
        self.validate(&root, pointer)?;
        self.roots.insert(url.to_owned(), root);
        Ok(())
    }

    /// Finds the resources and anchors of a schema and its subschemas.
    fn collect(
        &mut self,
        mut root: Root,
        base: String,
        pointer: String,
        fallback: Dialect,
    ) -> Result<Root, Error> {
        let doc = root.doc.clone();
        let node = lookup(&doc, &root.url, &pointer)?;
        let mut pending = vec![Pending { node, base, pointer, fallback }];
        while let Some(next) = pending.pop() {
            if root.processed.insert(next.pointer.clone()) {
                self.visit(&mut root, &doc, next, &mut pending)?;
            }
        }
        Ok(root)
    }

    fn visit<'d>(
        &mut self,
        root: &mut Root,
        doc: &'d Document,
        schema: Pending<'d>,
        pending: &mut Vec<Pending<'d>>,
    ) -> Result<(), Error> {
        let Pending { node, mut base, pointer, fallback } = schema;
        let whole = pointer.is_empty();
        let add = |root: &mut Root, id: &str, dialect: Dialect| {
            let resource = Resource {
                pointer: pointer.clone(),
                id: id.to_owned(),
                dialect,
                anchors: BTreeMap::new(),
                dynamic_anchors: BTreeSet::new(),
            };
            root.ids.insert(id.to_owned(), pointer.clone());
            root.resources.insert(pointer.clone(), resource);
        };
        let Json::Map(map) = doc.view(node) else {
            if whole {
                add(root, &base, fallback);
            }
            return Ok(());
        };
        let mut own = map.get("$schema").and_then(Node::as_str);
        let mut draft = self.draft_of(&root.url, &pointer, map, fallback.draft)?;
        let mut id = draft.id_of(map);
        if id.is_empty() && !whole {
            // `$schema` counts only where a resource starts.
            draft = fallback.draft;
            own = None;
            id = draft.id_of(map);
        }
        if !id.is_empty() {
            let joined = resolve(&base, id).map_err(|_| Error::ParseId(location(&root.url, &pointer)));
            base = joined?.url;
        }
        if whole || !id.is_empty() {
            match root.ids.get(&base) {
                Some(other) if *other != pointer => {
                    return Err(Error::DuplicateId {
                        id: base,
                        url: root.url.clone(),
                        first: pointer.clone(),
                        second: other.clone(),
                    });
                }
                Some(_) => {}
                None => {
                    let dialect = match own {
                        Some(url) => self.dialect(url, draft)?,
                        None => fallback,
                    };
                    add(root, &base, dialect);
                }
            }
        }
        root.add_anchors(map, &pointer, &base)?;
        let dialect = root.by_id(&base).map_or(fallback, |resource| resource.dialect);
        let first = pending.len();
        subschemas(doc, map, draft, &pointer, &mut |node, pointer| {
            pending.push(Pending { node, base: base.clone(), pointer, fallback: dialect });
        });
        // The last one is taken first.
        pending.get_mut(first..).unwrap_or_default().reverse();
        Ok(())
    }

    /// The draft that a schema asks for, through its metaschemas if need be.
    fn draft_of(
        &mut self,
        url: &str,
        pointer: &str,
        schema: &Map,
        default: &'static Draft,
    ) -> Result<&'static Draft, Error> {
        let Some(mut wanted) = schema.get("$schema").and_then(Node::as_str).map(str::to_owned) else {
            return Ok(default);
        };
        let mut place = (url.to_owned(), pointer.to_owned());
        let mut seen = BTreeSet::new();
        loop {
            if let Some(draft) = Draft::from_url(&wanted) {
                return Ok(draft);
            }
            let url = wanted.split('#').next().unwrap_or_default().to_owned();
            url::parse(&url)
                .map_err(|reason| Error::MetaSchemaUrl { location: location(&place.0, &place.1), reason })?;
            if place.1.is_empty() && url == place.0 {
                return Err(Error::UnsupportedDraft(url));
            }
            if !seen.insert(url.clone()) {
                return Err(Error::MetaSchemaCycle(url));
            }
            let doc = self.document(&url)?;
            place = (url, String::new());
            match doc.root.get("$schema").and_then(Node::as_str) {
                Some(next) => wanted = next.to_owned(),
                None => return Ok(default),
            }
        }
    }

    /// The dialect of a schema that names its metaschema.
    fn dialect(&mut self, metaschema: &str, draft: &'static Draft) -> Result<Dialect, Error> {
        let default = Dialect { draft, chosen: None };
        if Draft::from_url(metaschema).is_some() || draft.version < 2019 {
            return Ok(default);
        }
        let url = metaschema.split('#').next().unwrap_or_default();
        let doc = self.document(url)?;
        let Some(chosen) = doc.root.get("$vocabulary").and_then(Node::as_map) else { return Ok(default) };
        let mut names = vec!["core"];
        for (vocabulary, required) in chosen {
            if required.as_bool() != Some(true) {
                continue;
            }
            let unknown = || Error::Vocabulary { url: url.to_owned(), vocabulary: vocabulary.to_string() };
            names.push(draft.vocabulary(vocabulary).ok_or_else(unknown)?);
        }
        Ok(Dialect::choose(draft, &names))
    }

    /// Checks a schema against the metaschema of its dialect.
    fn validate(&self, root: &Root, pointer: &str) -> Result<(), Error> {
        let Some(resource) = root.resource(pointer).filter(|_| self.checks) else { return Ok(()) };
        let node = lookup(&root.doc, &root.url, pointer)?;
        meta::check(&root.doc, node, resource.dialect, &root.resources)
            .map_err(|error| Error::Invalid { location: location(&root.url, pointer), error })
    }
}

/// Hands over every subschema of a schema.
fn subschemas<'d>(
    doc: &'d Document,
    schema: &'d Map,
    draft: &Draft,
    pointer: &str,
    found: &mut impl FnMut(&'d Node, String),
) {
    for (keyword, place) in draft.subschemas() {
        let Some(node) = schema.get(keyword) else { continue };
        match (place, doc.view(node)) {
            (Place::Value, _) => found(node, join(pointer, &[keyword])),
            (Place::Entries, Json::Map(map)) => {
                map.iter().for_each(|(key, node)| found(node, join(pointer, &[keyword, key])));
            }
            (Place::Items, Json::List(list)) => {
                let items = list.iter().enumerate();
                items.for_each(|(i, node)| found(node, join(pointer, &[keyword, &i.to_string()])));
            }
            _ => {}
        }
    }
}
