//! The metaschemas: what each draft requires of its keywords, as one table, and the documents that follow from it.

use podium_goyaml::{List, Map, Node, Value};

use crate::draft::{DRAFTS, Draft};

/// What a keyword's value must be. What it is exactly can depend on the draft.
#[derive(Clone, Copy)]
enum Shape {
    Anything,
    Type(&'static str),
    Regex,
    Id,
    Uri,
    Reference,
    Anchor,
    Vocabulary,
    Positive,
    ExclusiveBound,
    Count,
    /// A count that is 0 where it is not given.
    Count0,
    Enum,
    TypeNames,
    AnyList,
    Strings,
    StringsMap,
    Schema,
    /// A schema that can also be a boolean in the draft that has no boolean schemas.
    Additional,
    Items,
    SchemaList,
    SchemaMap,
    PatternMap,
    Dependencies,
    /// A definition of another document.
    Elsewhere(&'static str),
}

use Shape::{
    Additional, Anchor, AnyList, Anything, Count, Count0, Dependencies, Elsewhere, Enum, ExclusiveBound, Id,
    Items, PatternMap, Positive, Reference, Regex, Schema, SchemaList, SchemaMap, Strings, StringsMap, Type,
    TypeNames, Uri, Vocabulary,
};

/// First and last draft.
type Span = (u16, u16);

const NEVER: Span = (0, 0);
const FROM_4: Span = (4, 7);
const FROM_6: Span = (6, 7);
const ONLY_7: Span = (7, 7);
const BOTH: Span = (2019, 2020);
const ONLY_2019: Span = (2019, 2019);
const ONLY_2020: Span = (2020, 2020);

/// The document of a later draft that has the keywords of no vocabulary.
const ROOT: &str = "";

const STRING: Shape = Type("string");
const BOOLEAN: Shape = Type("boolean");
const NUMBER: Shape = Type("number");

/// A keyword, what it must be, the early drafts that have it, and for the later drafts its vocabulary.
static KEYWORDS: [(&str, Shape, Span, &str, Span); 69] = [
    ("id", STRING, (4, 4), ROOT, NEVER),
    ("$id", Id, FROM_6, "core", BOTH),
    ("$schema", Uri, FROM_4, "core", BOTH),
    ("$ref", Reference, FROM_4, "core", BOTH),
    ("$anchor", Anchor, NEVER, "core", BOTH),
    ("$recursiveRef", Reference, NEVER, "core", ONLY_2019),
    ("$recursiveRef", Elsewhere("meta/core#/$defs/uriReferenceString"), NEVER, ROOT, ONLY_2020),
    ("$recursiveAnchor", BOOLEAN, NEVER, "core", ONLY_2019),
    ("$recursiveAnchor", Elsewhere("meta/core#/$defs/anchorString"), NEVER, ROOT, ONLY_2020),
    ("$dynamicRef", Reference, NEVER, "core", ONLY_2020),
    ("$dynamicAnchor", Anchor, NEVER, "core", ONLY_2020),
    ("$vocabulary", Vocabulary, NEVER, "core", BOTH),
    ("$comment", STRING, ONLY_7, "core", BOTH),
    ("$defs", SchemaMap, NEVER, "core", BOTH),
    ("definitions", SchemaMap, FROM_4, ROOT, BOTH),
    ("dependencies", Dependencies, FROM_4, ROOT, BOTH),
    ("title", STRING, FROM_4, "meta-data", BOTH),
    ("description", STRING, FROM_4, "meta-data", BOTH),
    ("default", Anything, FROM_4, "meta-data", BOTH),
    ("deprecated", BOOLEAN, NEVER, "meta-data", BOTH),
    ("readOnly", BOOLEAN, ONLY_7, "meta-data", BOTH),
    ("writeOnly", BOOLEAN, ONLY_7, "meta-data", BOTH),
    ("examples", AnyList, ONLY_7, "meta-data", BOTH),
    ("multipleOf", Positive, FROM_4, "validation", BOTH),
    ("maximum", NUMBER, FROM_4, "validation", BOTH),
    ("exclusiveMaximum", ExclusiveBound, FROM_4, "validation", BOTH),
    ("minimum", NUMBER, FROM_4, "validation", BOTH),
    ("exclusiveMinimum", ExclusiveBound, FROM_4, "validation", BOTH),
    ("maxLength", Count, FROM_4, "validation", BOTH),
    ("minLength", Count0, FROM_4, "validation", BOTH),
    ("pattern", Regex, FROM_4, "validation", BOTH),
    ("maxItems", Count, FROM_4, "validation", BOTH),
    ("minItems", Count0, FROM_4, "validation", BOTH),
    ("uniqueItems", BOOLEAN, FROM_4, "validation", BOTH),
    ("maxContains", Count, NEVER, "validation", BOTH),
    ("minContains", Count, NEVER, "validation", BOTH),
    ("maxProperties", Count, FROM_4, "validation", BOTH),
    ("minProperties", Count0, FROM_4, "validation", BOTH),
    ("required", Strings, FROM_4, "validation", BOTH),
    ("dependentRequired", StringsMap, NEVER, "validation", BOTH),
    ("const", Anything, FROM_6, "validation", BOTH),
    ("enum", Enum, FROM_4, "validation", BOTH),
    ("type", TypeNames, FROM_4, "validation", BOTH),
    ("additionalItems", Additional, FROM_4, "applicator", ONLY_2019),
    ("items", Items, FROM_4, "applicator", BOTH),
    ("prefixItems", SchemaList, NEVER, "applicator", ONLY_2020),
    ("contains", Schema, FROM_6, "applicator", BOTH),
    ("additionalProperties", Additional, FROM_4, "applicator", BOTH),
    ("properties", SchemaMap, FROM_4, "applicator", BOTH),
    ("patternProperties", PatternMap, FROM_4, "applicator", BOTH),
    ("dependentSchemas", SchemaMap, NEVER, "applicator", BOTH),
    ("propertyNames", Schema, FROM_6, "applicator", BOTH),
    ("if", Schema, ONLY_7, "applicator", BOTH),
    ("then", Schema, ONLY_7, "applicator", BOTH),
    ("else", Schema, ONLY_7, "applicator", BOTH),
    ("allOf", SchemaList, FROM_4, "applicator", BOTH),
    ("anyOf", SchemaList, FROM_4, "applicator", BOTH),
    ("oneOf", SchemaList, FROM_4, "applicator", BOTH),
    ("not", Schema, FROM_4, "applicator", BOTH),
    ("unevaluatedItems", Schema, NEVER, "applicator", ONLY_2019),
    ("unevaluatedItems", Schema, NEVER, "unevaluated", ONLY_2020),
    ("unevaluatedProperties", Schema, NEVER, "applicator", ONLY_2019),
    ("unevaluatedProperties", Schema, NEVER, "unevaluated", ONLY_2020),
    ("format", STRING, FROM_4, "format", ONLY_2019),
    ("format", STRING, NEVER, "format-annotation", ONLY_2020),
    ("format", STRING, NEVER, "format-assertion", ONLY_2020),
    ("contentMediaType", STRING, ONLY_7, "content", BOTH),
    ("contentEncoding", STRING, ONLY_7, "content", BOTH),
    ("contentSchema", Schema, NEVER, "content", BOTH),
];

/// The names of types, as the metaschemas list them.
const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

fn object<'k>(entries: impl IntoIterator<Item = (&'k str, Node)>) -> Node {
    Value::Map(entries.into_iter().map(|(key, node)| (key.into(), node)).collect::<Map>()).into()
}

fn list(items: impl IntoIterator<Item = Node>) -> Node {
    Value::List(items.into_iter().collect::<List>()).into()
}

fn text(s: &str) -> Node {
    Value::from(s).into()
}

fn number(n: i64) -> Node {
    Value::Int(n).into()
}

fn truth() -> Node {
    Value::Bool(true).into()
}

fn typed(name: &str) -> Node {
    object([("type", text(name))])
}

fn reference(to: &str) -> Node {
    object([("$ref", text(to))])
}

fn either(a: Node, b: Node) -> Node {
    object([("anyOf", list([a, b]))])
}

/// The rules of one draft.
struct Rules {
    version: u16,
}

impl Rules {
    fn def(&self, name: &str) -> Node {
        let place = if self.version < 2019 { "definitions" } else { "$defs" };
        reference(&format!("#/{place}/{name}"))
    }

    fn count_name(&self) -> &'static str {
        if self.version == 4 { "positiveInteger" } else { "nonNegativeInteger" }
    }

    /// Any schema of this draft.
    fn schema(&self) -> Node {
        match self.version {
            2019 => object([("$recursiveRef", text("#"))]),
            2020 => object([("$dynamicRef", text("#meta"))]),
            _ => reference("#"),
        }
    }

    fn map_of(&self, value: Node) -> Node {
        object([("type", text("object")), ("additionalProperties", value)])
    }

    /// A string of a format, by name where the draft has a name for it.
    fn formatted(&self, format: &str, def: &str) -> Node {
        match self.version {
            2020 if !def.is_empty() => self.def(def),
            _ => object([("type", text("string")), ("format", text(format))]),
        }
    }

    fn unique_list(&self, items: Node, at_least_one: bool) -> Node {
        let mut entries = vec![("type", text("array")), ("items", items), ("uniqueItems", truth())];
        if at_least_one {
            entries.push(("minItems", number(1)));
        }
        object(entries)
    }

    /// A schema that allows everything.
    fn anything(&self) -> Node {
        if self.version == 4 { object([]) } else { truth() }
    }

    fn keyword(&self, shape: Shape) -> Node {
        let early = self.version < 2019;
        match shape {
            Anything => self.anything(),
            Type(name) => typed(name),
            Regex => self.formatted("regex", ""),
            Id => {
                let mut node = self.formatted("uri-reference", "uriReferenceString");
                if let Some(map) = node.as_map_mut().filter(|_| !early) {
                    map.insert("pattern", text("^[^#]*#?$"));
                }
                node
            }
            Uri => self.formatted("uri", "uriString"),
            Reference if self.version == 4 => typed("string"),
            Reference => self.formatted("uri-reference", "uriReferenceString"),
            Anchor if self.version == 2020 => self.def("anchorString"),
            Anchor => object([("type", text("string")), ("pattern", text("^[A-Za-z][-A-Za-z0-9.:_]*$"))]),
            Vocabulary => object([
                ("type", text("object")),
                ("propertyNames", self.formatted("uri", "uriString")),
                ("additionalProperties", typed("boolean")),
            ]),
            Positive if self.version == 4 => {
                object([("type", text("number")), ("minimum", number(0)), ("exclusiveMinimum", truth())])
            }
            Positive => object([("type", text("number")), ("exclusiveMinimum", number(0))]),
            ExclusiveBound => typed(if self.version == 4 { "boolean" } else { "number" }),
            Count => self.def(self.count_name()),
            Count0 => self.def(&format!("{}Default0", self.count_name())),
            Enum if early => self.unique_list(self.anything(), true),
            Enum | AnyList => object([("type", text("array")), ("items", truth())]),
            TypeNames => either(self.def("simpleTypes"), self.unique_list(self.def("simpleTypes"), true)),
            Strings => self.def("stringArray"),
            StringsMap => self.map_of(self.def("stringArray")),
            Schema => self.schema(),
            Additional if self.version == 4 => either(typed("boolean"), self.schema()),
            Additional => self.schema(),
            Items if self.version == 2020 => self.schema(),
            Items => either(self.schema(), self.def("schemaArray")),
            SchemaList => self.def("schemaArray"),
            SchemaMap => self.map_of(self.schema()),
            PatternMap if self.version < 7 => self.map_of(self.schema()),
            PatternMap => object([
                ("type", text("object")),
                ("additionalProperties", self.schema()),
                ("propertyNames", object([("format", text("regex"))])),
            ]),
            Dependencies => {
                let names = if early {
                    self.def("stringArray")
                } else {
                    reference("meta/validation#/$defs/stringArray")
                };
                self.map_of(either(self.schema(), names))
            }
            Elsewhere(place) => reference(place),
        }
    }

    /// The definitions that a document of these rules needs.
    fn definitions(&self, vocabulary: Option<&str>) -> Vec<(String, Node)> {
        let early = vocabulary.is_none();
        let count = self.count_name();
        let mut defs: Vec<(String, Node)> = Vec::new();
        if early || vocabulary == Some("applicator") {
            let items = [("type", text("array")), ("minItems", number(1)), ("items", self.schema())];
            defs.push(("schemaArray".into(), object(items)));
        }
        if early || vocabulary == Some("validation") {
            let or_0 = if early {
                object([("allOf", list([self.def(count), self.anything()]))])
            } else {
                self.def(count)
            };
            defs.extend([
                (count.into(), object([("type", text("integer")), ("minimum", number(0))])),
                (format!("{count}Default0"), or_0),
                ("simpleTypes".into(), object([("enum", list(TYPES.map(text)))])),
                ("stringArray".into(), self.unique_list(typed("string"), self.version == 4)),
            ]);
        }
        if self.version == 2020 && vocabulary == Some("core") {
            let string =
                |rule: &'static str, value: &str| object([("type", text("string")), (rule, text(value))]);
            defs.extend([
                ("anchorString".into(), string("pattern", "^[A-Za-z_][-A-Za-z0-9._]*$")),
                ("uriString".into(), string("format", "uri")),
                ("uriReferenceString".into(), string("format", "uri-reference")),
            ]);
        }
        defs
    }

    fn properties(&self, has: impl Fn(Span, &str, Span) -> bool) -> Node {
        let rows = KEYWORDS.iter().filter(|(_, _, early, vocabulary, later)| has(*early, vocabulary, *later));
        object(rows.map(|(keyword, shape, ..)| (*keyword, self.keyword(*shape))))
    }

    fn within(&self, (first, last): Span) -> bool {
        (first..=last).contains(&self.version)
    }

    fn early_document(&self, url: &str) -> Node {
        let mut entries = vec![
            ("$schema", text(&format!("{url}#"))),
            ("definitions", object(self.definitions(None).iter().map(|(k, v)| (k.as_str(), v.clone())))),
            ("properties", self.properties(|early, _, _| self.within(early))),
        ];
        if self.version == 4 {
            let needs = |name| list([text(name)]);
            let both = [("exclusiveMaximum", needs("maximum")), ("exclusiveMinimum", needs("minimum"))];
            entries.extend([("type", text("object")), ("dependencies", object(both))]);
        } else {
            entries
                .extend([("$id", text(&format!("{url}#"))), ("type", list(["object", "boolean"].map(text)))]);
        }
        object(entries)
    }

    /// The document of a vocabulary, or of the draft itself.
    fn later_document(&self, draft: &Draft, url: &str, vocabulary: &str) -> Node {
        let anchor = match self.version {
            2019 => ("$recursiveAnchor", truth()),
            _ => ("$dynamicAnchor", text("meta")),
        };
        let mut entries = vec![
            ("$schema", text(draft.url)),
            ("$id", text(url)),
            anchor,
            ("type", list(["object", "boolean"].map(text))),
            ("properties", self.properties(|_, name, later| name == vocabulary && self.within(later))),
        ];
        if vocabulary == ROOT {
            let parts = draft.vocabularies.iter().filter(|name| **name != "format-assertion");
            entries.push(("allOf", list(parts.map(|name| reference(&format!("meta/{name}"))))));
        } else {
            let defs = self.definitions(Some(vocabulary));
            let chosen = url.replace("/meta/", "/vocab/");
            entries.push(("$vocabulary", object([(chosen.as_str(), truth())])));
            entries.push(("$defs", object(defs.iter().map(|(k, v)| (k.as_str(), v.clone())))));
        }
        object(entries)
    }
}

/// The URL of a draft's vocabulary.
pub(crate) fn vocabulary_url(draft: &Draft, name: &str) -> String {
    format!("{}meta/{name}", draft.url.trim_end_matches("schema"))
}

/// The document that a URL of json-schema.org names.
pub(crate) fn document(url: &str) -> Option<Node> {
    let host = "json-schema.org/";
    let path = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"))?.strip_prefix(host)?;
    let path_of = |url: &str| url.split_once(host).map(|(_, path)| path.to_owned());
    let path = if path == "schema" { path_of(crate::draft::latest().url)? } else { path.to_owned() };
    for draft in &DRAFTS {
        let rules = Rules { version: draft.version };
        if path_of(draft.url)? == path {
            return Some(match draft.version {
                ..2019 => rules.early_document(draft.url),
                _ => rules.later_document(draft, draft.url, ROOT),
            });
        }
        for name in draft.vocabularies {
            let url = vocabulary_url(draft, name);
            if path_of(&url)? == path {
                return Some(rules.later_document(draft, &url, name));
            }
        }
    }
    None
}
