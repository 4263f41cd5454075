//! The head of a manifest: what Helm wants to know of every document that it renders.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::decode::decode;
use super::error::{Error, Origin};
use super::input::Input;
use super::parse::parse;
use super::resolve::{Resolved, resolve};
use super::tape::{Entry, Shape, Tape};
use super::text::coerce;
use super::types::{Kind, STRING, STRING_MAP, Struct, Type, folds_to};
use crate::tree::{Node, Value};
use crate::unicode;

/// `apiVersion`, `kind` and the part of `metadata` that hooks need.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Head {
    /// `apiVersion`, empty if it is not there.
    pub api_version: String,
    /// `kind`, empty if it is not there.
    pub kind: String,
    /// `metadata`, if it is there and not null.
    pub metadata: Option<Metadata>,
}

/// The part of `metadata` that hooks need.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Metadata {
    /// `name`, empty if it is not there.
    pub name: String,
    /// `annotations`.
    pub annotations: BTreeMap<String, String>,
}

static METADATA: Type = Type::pointer(
    "struct { Name string \"json:\\\"name\\\"\"; Annotations map[string]string \"json:\\\"annotations\\\"\" }",
    Kind::Struct(&Struct { name: "", fields: &[("name", &STRING), ("annotations", &STRING_MAP)] }),
);

static HEAD: Struct = Struct {
    name: "SimpleHead",
    fields: &[("apiVersion", &STRING), ("kind", &STRING), ("metadata", &METADATA)],
};

/// An annotation is inside of three mappings.
const HEAD_DEPTH: usize = 3;

/// Checks a whole document and reads its head, with the errors that Helm has. `go` is the name of the Go type,
/// `releaseutil.SimpleHead` in Helm 3 and `util.SimpleHead` in Helm 4.
pub fn check_head(text: &[u8], origin: impl Into<Origin>, go: &'static str) -> Result<Head, Error> {
    let origin = origin.into();
    let input = Input::new(if text.is_empty() { b"\n" } else { text });
    let tape = parse(&input, HEAD_DEPTH).map_err(|fault| fault.convert(origin))?;
    if let Some(head) = quick(&tape) {
        return Ok(head);
    }
    let tape = parse(&input, usize::MAX).map_err(|fault| fault.convert(origin))?;
    let node = decode(&tape, origin, Some(&Type::new(go, Kind::Struct(&HEAD))), false)?;
    Ok(from_node(&node))
}

/// The text of a field of a document that is a mapping. Nothing if only a full reading tells what it is, or what is wrong.
pub fn quick_field(text: &[u8], name: &str) -> Option<String> {
    let input = Input::new(text);
    let tape = parse(&input, 1).ok().filter(|tape| !tape.intricate)?;
    let [field] = fields(&tape, 0, [name])?;
    string(&tape, Some(field?))
}

fn from_node(node: &Node) -> Head {
    let text = |node: &Node, name: &str| node.get(name).and_then(Node::as_str).unwrap_or_default().to_owned();
    let metadata = node.get("metadata").filter(|m| !m.is_null()).map(|metadata| {
        let annotations = metadata.get("annotations").and_then(Node::as_map);
        let annotations = annotations.into_iter().flat_map(|map| map.iter()).filter_map(|(key, node)| {
            let Value::String(text) = &node.value else { return None };
            Some((key.to_string(), text.to_string()))
        });
        Metadata { name: text(metadata, "name"), annotations: annotations.collect() }
    });
    Head { api_version: text(node, "apiVersion"), kind: text(node, "kind"), metadata }
}

/// Reads the head from the nodes, without a tree. Nothing if the document is not of the usual kind; it may still be
/// a good one.
fn quick(tape: &Tape<'_>) -> Option<Head> {
    if tape.intricate {
        return None;
    }
    if tape.entries.is_empty() {
        return Some(Head::default());
    }
    let [api_version, kind, metadata] = fields(tape, 0, ["apiVersion", "kind", "metadata"])?;
    let metadata = match metadata {
        Some(at) if !is_null(tape, at)? => {
            let [name, annotations] = fields(tape, at, ["name", "annotations"])?;
            Some(Metadata { name: string(tape, name)?, annotations: strings(tape, annotations)? })
        }
        _ => None,
    };
    Some(Head { api_version: string(tape, api_version)?, kind: string(tape, kind)?, metadata })
}

fn is_null(tape: &Tape<'_>, at: usize) -> Option<bool> {
    let entry = tape.entries.get(at)?;
    Some(entry.shape == Shape::Scalar && matches!(resolve(tape, entry).ok()?, Resolved::Null))
}

/// The keys and values of a mapping.
fn pairs<'a>(tape: &'a Tape<'_>, at: usize) -> Option<impl Iterator<Item = (&'a Entry, usize)>> {
    tape.entries.get(at).filter(|e| e.shape == Shape::Mapping)?;
    let end = tape.after(at);
    let mut next = at + 1;
    Some(std::iter::from_fn(move || {
        let key = tape.entries.get(next).filter(|_| next < end)?;
        let value = tape.after(next);
        next = tape.after(value);
        Some((key, value))
    }))
}

/// The values of some fields of a mapping. Nothing if a field is spelled in another way, too; names are ASCII.
fn fields<const N: usize>(tape: &Tape<'_>, at: usize, names: [&str; N]) -> Option<[Option<usize>; N]> {
    let mut found = [None; N];
    for (key, value) in pairs(tape, at)? {
        let text = tape.text_of(key);
        for (name, slot) in names.iter().zip(&mut found) {
            if *text == *name.as_bytes() {
                *slot = Some(value);
            } else if (text.len() == name.len() || !text.is_ascii())
                && std::str::from_utf8(&text).is_ok_and(|text| folds_to(text, name))
            {
                return None;
            }
        }
    }
    Some(found)
}

fn string(tape: &Tape<'_>, at: Option<usize>) -> Option<String> {
    let Some(at) = at else { return Some(String::new()) };
    let entry = tape.entries.get(at).filter(|e| e.shape == Shape::Scalar)?;
    let value = resolve(tape, entry).ok()?;
    Some(coerce(&value, Some(&STRING)).unwrap_or_else(|| match value {
        Resolved::Str(text) => unicode::valid(&text).into_owned(),
        _ => String::new(),
    }))
}

fn strings(tape: &Tape<'_>, at: Option<usize>) -> Option<BTreeMap<String, String>> {
    let mut map = BTreeMap::new();
    let Some(at) = at else { return Some(map) };
    if is_null(tape, at)? {
        return Some(map);
    }
    for (key, value) in pairs(tape, at)? {
        let key = super::text::key_text(&resolve(tape, key).ok()?).map(Cow::into_owned)?;
        map.insert(key, string(tape, Some(value))?);
    }
    Some(map)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::parse_as;

    #[test]
    fn a_quick_field_is_what_a_full_reading_gives() {
        static BASE: Struct = Struct { name: "Base", fields: &[("apiVersion", &STRING)] };
        let ty = Type::new("Base", Kind::Struct(&BASE));
        let texts = [
            "apiVersion: v2\nname: x\ndependencies:\n- {name: a, tags: [b]}\n",
            "name: x\napiVersion: \"v1\"\n",
            "apiVersion: 2\n",
            "apiVersion: 1.0\n",
            "apiVersion: yes\n",
            "apiVersion: ~\n",
            "apiVersion:\n",
            "apiVersion: v1\napiVersion: v2\n",
            "apiVersion: v1\nAPIVERSION: v2\n",
            "apiversion: v3\n",
            "apiVersion: v1\nap\u{131}Version: v2\n",
            "apiVersion: [v1]\n",
            "apiVersion: &a v1\nname: *a\n",
            "<<: {apiVersion: v1}\n",
            "? apiVersion\n: v1\n",
            "apiVersion: |\n  v1\n",
            "apiVersion: v1\nx: {y: [\n",
            "apiVersion: v1\nx: !!binary zzz\n",
            "---\napiVersion: v1\n---\napiVersion: v2\n",
            "",
            "text\n",
            "- apiVersion: v1\n",
        ];
        let mut quick = 0;
        for text in texts {
            let Some(field) = quick_field(text.as_bytes(), "apiVersion") else { continue };
            let node = parse_as(text.as_bytes(), 0, &ty).unwrap();
            let full = node.get("apiVersion").and_then(Node::as_str).unwrap_or_default().to_owned();
            assert_eq!(field, full, "{text}");
            quick += 1;
        }
        assert!(quick >= 6, "{quick}");
    }
}
