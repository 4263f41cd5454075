//! The drafts: what differs between them.

use podium_goyaml::{Map, Node};

/// Where a keyword holds subschemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The value itself.
    Value,
    /// Every entry of a mapping.
    Entries,
    /// Every item of a list.
    Items,
}

/// A version of JSON Schema.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Draft {
    /// 4, 6, 7, 2019 or 2020; newer is larger.
    pub version: u16,
    /// The metaschema's URL.
    pub url: &'static str,
    /// The keyword that names a schema.
    pub id: &'static str,
    /// What the URLs of its vocabularies start with.
    vocabulary_prefix: &'static str,
    /// The vocabularies that it has.
    pub vocabularies: &'static [&'static str],
    /// Those that count where a metaschema does not say.
    default_vocabularies: &'static [&'static str],
}

/// All drafts, oldest first.
pub(crate) static DRAFTS: [Draft; 5] = [
    Draft::early(4, "http://json-schema.org/draft-04/schema", "id"),
    Draft::early(6, "http://json-schema.org/draft-06/schema", "$id"),
    Draft::early(7, "http://json-schema.org/draft-07/schema", "$id"),
    Draft {
        version: 2019,
        url: "https://json-schema.org/draft/2019-09/schema",
        id: "$id",
        vocabulary_prefix: "https://json-schema.org/draft/2019-09/vocab/",
        vocabularies: &["core", "applicator", "validation", "meta-data", "format", "content"],
        default_vocabularies: &["core", "applicator", "validation"],
    },
    Draft {
        version: 2020,
        url: "https://json-schema.org/draft/2020-12/schema",
        id: "$id",
        vocabulary_prefix: "https://json-schema.org/draft/2020-12/vocab/",
        vocabularies: &[
            "core",
            "applicator",
            "unevaluated",
            "validation",
            "meta-data",
            "format-annotation",
            "format-assertion",
            "content",
        ],
        default_vocabularies: &["core", "applicator", "unevaluated", "validation"],
    },
];

/// The draft of a schema that does not say.
pub(crate) fn latest() -> &'static Draft {
    let [.., latest] = &DRAFTS;
    latest
}

/// Keywords that hold subschemas and the first draft that has them.
static SUBSCHEMAS: [(u16, &str, Place); 23] = [
    (4, "definitions", Place::Entries),
    (4, "not", Place::Value),
    (4, "allOf", Place::Items),
    (4, "anyOf", Place::Items),
    (4, "oneOf", Place::Items),
    (4, "properties", Place::Entries),
    (4, "additionalProperties", Place::Value),
    (4, "patternProperties", Place::Entries),
    (4, "items", Place::Value),
    (4, "items", Place::Items),
    (4, "additionalItems", Place::Value),
    (4, "dependencies", Place::Entries),
    (6, "propertyNames", Place::Value),
    (6, "contains", Place::Value),
    (7, "if", Place::Value),
    (7, "then", Place::Value),
    (7, "else", Place::Value),
    (2019, "$defs", Place::Entries),
    (2019, "dependentSchemas", Place::Entries),
    (2019, "unevaluatedProperties", Place::Value),
    (2019, "unevaluatedItems", Place::Value),
    (2019, "contentSchema", Place::Value),
    (2020, "prefixItems", Place::Items),
];

impl Draft {
    const fn early(version: u16, url: &'static str, id: &'static str) -> Self {
        Self { version, url, id, vocabulary_prefix: "", vocabularies: &[], default_vocabularies: &[] }
    }

    /// The draft whose metaschema has this URL.
    pub fn from_url(url: &str) -> Option<&'static Self> {
        let (url, fragment) = url.split_once('#').unwrap_or((url, ""));
        if !fragment.is_empty() {
            return None;
        }
        let bare = |url: &'_ str| -> String {
            let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
            rest.unwrap_or(url).to_owned()
        };
        let wanted = bare(url);
        if wanted == "json-schema.org/schema" {
            return Some(latest());
        }
        DRAFTS.iter().find(|draft| bare(draft.url) == wanted)
    }

    /// The keywords of this draft that hold subschemas.
    pub fn subschemas(&self) -> impl Iterator<Item = (&'static str, Place)> {
        let version = self.version;
        SUBSCHEMAS
            .iter()
            .filter(move |(since, ..)| *since <= version)
            .map(|(_, keyword, place)| (*keyword, *place))
    }

    /// The id of a schema without its fragment; empty if it has none.
    pub fn id_of<'m>(&self, schema: &'m Map) -> &'m str {
        if self.version < 2019 && schema.contains_key("$ref") {
            // Before 2019 nothing counts beside a reference.
            return "";
        }
        let id = schema.get(self.id).and_then(Node::as_str).unwrap_or_default();
        id.split('#').next().unwrap_or_default()
    }

    /// The short name of one of its vocabularies.
    pub fn vocabulary(&self, url: &str) -> Option<&'static str> {
        let name = url.strip_prefix(self.vocabulary_prefix)?;
        self.vocabularies.iter().find(|known| **known == name).copied()
    }
}

/// A draft with the vocabularies that a metaschema chose from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dialect {
    pub draft: &'static Draft,
    /// A bit per vocabulary of the draft; nothing where the draft's default counts.
    pub chosen: Option<u16>,
}

impl Dialect {
    /// The vocabularies as a metaschema chose them.
    pub fn choose(draft: &'static Draft, names: &[&str]) -> Self {
        let bits = draft.vocabularies.iter().enumerate();
        let chosen = bits.filter(|(_, name)| names.contains(name)).fold(0, |bits, (i, _)| bits | 1 << i);
        Self { draft, chosen: Some(chosen) }
    }

    /// The vocabularies that a metaschema chose.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let chosen = self.chosen.unwrap_or_default();
        let all = self.draft.vocabularies.iter().enumerate();
        all.filter(move |(i, _)| chosen & 1 << i != 0).map(|(_, name)| *name)
    }

    /// Whether the keywords of a vocabulary count.
    pub fn has(&self, name: &str) -> bool {
        if name == "core" || self.draft.version < 2019 {
            return true;
        }
        match self.chosen {
            Some(_) => self.names().any(|known| known == name),
            None => self.draft.default_vocabularies.contains(&name),
        }
    }

    /// Whether `format` is checked: always in early drafts, later only if the metaschema asks for it.
    pub fn asserts_format(&self) -> bool {
        match self.draft.version {
            2019 => self.has("format"),
            2020 => self.has("format-assertion"),
            _ => true,
        }
    }
}
