//! Meta header: the `schema`, `package` and `name` that every meta may have.

use std::borrow::Cow;
use std::collections::BTreeMap;

use podium_gotmpl::{Heap, fmt};
use podium_sprig::convert::from_tree;

use crate::error::{format_list, quote};
use crate::fold::{eq_fold, fold};
use crate::json::{self, Document, Style, Value, View};

/// Schema, package and name of a meta.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetaHeader {
    /// Schema, such as `olm.bundle`.
    pub schema: String,
    /// Package that the meta belongs to.
    pub package: String,
    /// Name.
    pub name: String,
}

/// Limit of a value printed in an error.
const MAX_PRINTED_BYTES: usize = 1 << 20;

/// Reads the header of a document. An error is opm's message; `raw` returns the source text for it.
pub fn read_header(document: &Document, raw: impl FnOnce() -> Vec<u8>) -> Result<MetaHeader, String> {
    let root = document.root();
    let entries = match root.view() {
        View::Map(entries) => entries,
        // Go decodes null to an empty map.
        View::Null => return Ok(MetaHeader::default()),
        other => return Err(not_an_object(&other, raw())),
    };
    let mut header = MetaHeader::default();
    let mut keys: Vec<Cow<'_, str>> = Vec::new();
    let mut non_string = None;
    for (key, value) in entries {
        let slot = match key.len() {
            _ if eq_fold(&key, "schema") => Some(&mut header.schema),
            _ if eq_fold(&key, "package") => Some(&mut header.package),
            _ if eq_fold(&key, "name") => Some(&mut header.name),
            _ => None,
        };
        match (slot, value.as_str()) {
            (None, _) => {}
            (Some(slot), Some(text)) => *slot = text.into_owned(),
            (Some(_), None) => non_string = Some((key.clone(), value)),
        }
        keys.push(key);
    }
    reject_folded_duplicates(&keys)?;
    match non_string {
        // The last of duplicate keys wins.
        Some((key, _)) if root.get(&key).is_some_and(|value| value.as_str().is_some()) => Ok(header),
        Some((key, value)) => Err(not_a_string(&key, value)),
        None => Ok(header),
    }
}

/// Rejects keys that differ only in case.
fn reject_folded_duplicates(keys: &[Cow<'_, str>]) -> Result<(), String> {
    let few_ascii_keys = keys.len() <= 16 && keys.iter().all(|key| key.is_ascii());
    let differ = |a: &str, b: &str| a == b || !a.eq_ignore_ascii_case(b);
    let is_unique = |at: usize, key: &str| keys.iter().skip(at + 1).all(|other| differ(key, other));
    if few_ascii_keys && keys.iter().enumerate().all(|(at, key)| is_unique(at, key)) {
        return Ok(());
    }
    let mut sets: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for key in keys {
        sets.entry(fold(key)).or_default().push(key);
    }
    let mut errors = Vec::new();
    for (folded, mut spellings) in sets {
        spellings.sort_unstable();
        spellings.dedup();
        if spellings.len() > 1 {
            errors.push(format!("duplicate keys for key {}: {}", quote(&folded), format_list(&spellings)));
        }
    }
    match errors.as_slice() {
        [] => Ok(()),
        [one] => Err(one.clone()),
        several => Err(format!("[{}]", several.join(", "))),
    }
}

/// Formats the error for a header field that is not a string. opm prints the value with `%t`.
fn not_a_string(key: &str, value: Value<'_>) -> String {
    let node = value.to_node();
    let heap = Heap::new(MAX_PRINTED_BYTES);
    let printed = from_tree(&heap, &node);
    let text = fmt::sprintf(b"got %t: %v", &[printed.clone(), printed]);
    format!("expected value for key {} to be a string, {}", quote(key), String::from_utf8_lossy(&text))
}

/// Formats Go's error for a document that is not an object.
fn not_an_object(view: &View<'_>, raw: Vec<u8>) -> String {
    let (kind, offset) = match view {
        View::List(_) => ("array", 1),
        View::String(_) => ("string", raw.len()),
        View::Bool(_) => ("bool", raw.len()),
        _ => ("number", raw.len()),
    };
    let message = format!("json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}");
    pretty_unmarshal_error(&(raw, Some(offset)), &message)
}

/// Adds the indented source to an error, with a marker at the offset.
pub(crate) fn pretty_unmarshal_error((raw, offset): &(Vec<u8>, Option<usize>), message: &str) -> String {
    const MARK: &str = " <==";
    let Some(offset) = offset.filter(|&offset| !raw.is_empty() && offset <= raw.len()) else {
        return message.to_owned();
    };
    let indented = indent(raw);
    let mut text = format!("{message} at offset {offset} (indicated by{MARK})\n").into_bytes();
    if offset == raw.len() {
        text.extend_from_slice(&indented);
        text.extend_from_slice(MARK.as_bytes());
    } else {
        // The texts differ only in whitespace: finds the offset behind the same number of bytes.
        let mut at = 0;
        for byte in raw.iter().take(offset) {
            match indented.get(at..).and_then(|rest| memchr::memchr(*byte, rest)) {
                Some(found) => at += found + 1,
                None => return message.to_owned(),
            }
        }
        let (before, after) = indented.split_at(at.min(indented.len()));
        text.extend_from_slice(before);
        text.extend_from_slice(MARK.as_bytes());
        text.push(b' ');
        text.extend_from_slice(after);
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// Indents JSON like `json.Indent`, with strings and numbers verbatim.
fn indent(raw: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len() * 2);
    let (mut depth, mut in_string, mut opened) = (0_usize, false, false);
    let mut at = 0;
    while let Some(&byte) = raw.get(at) {
        at += 1;
        if in_string {
            out.push(byte);
            match byte {
                b'\\' => {
                    out.extend(raw.get(at));
                    at += 1;
                }
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        if byte.is_ascii_whitespace() {
            continue;
        }
        let closes = matches!(byte, b'}' | b']');
        if opened && !closes {
            depth += 1;
            json::newline(&mut out, depth, Style::Pretty(0));
        }
        match byte {
            b'}' | b']' if opened => out.push(byte),
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                json::newline(&mut out, depth, Style::Pretty(0));
                out.push(byte);
            }
            b',' => {
                out.push(byte);
                json::newline(&mut out, depth, Style::Pretty(0));
            }
            b':' => out.extend_from_slice(b": "),
            _ => out.push(byte),
        }
        in_string = byte == b'"';
        opened = matches!(byte, b'{' | b'[');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{SourceText, parse};

    fn read(text: &str) -> Result<MetaHeader, String> {
        let (document, _) = parse(&SourceText::new(text.as_bytes()), 0, 1).unwrap();
        read_header(&document, || text.as_bytes().to_vec())
    }

    #[test]
    fn reads_header_keys_case_insensitively() {
        let header = read(r#"{"SCHEMA":"s","ſchemas":1,"PacKage":"p","name":"n"}"#).unwrap();
        assert_eq!(header, MetaHeader { schema: "s".into(), package: "p".into(), name: "n".into() });
        assert_eq!(read(r#"{"ſchema":"s"}"#).unwrap().schema, "s");
    }

    #[test]
    fn rejects_keys_that_differ_only_in_case() {
        assert_eq!(read(r#"{"a":1,"A":2}"#).unwrap_err(), r#"duplicate keys for key "a": [A a]"#);
        assert_eq!(read(r#"{"name":1,"name":"x"}"#).unwrap().name, "x");
    }

    #[test]
    fn formats_non_string_values_as_go_does() {
        assert_eq!(
            read(r#"{"name":1.5}"#).unwrap_err(),
            r#"expected value for key "name" to be a string, got %!t(float64=1.5): 1.5"#
        );
        assert_eq!(
            read(r#"{"Name":null}"#).unwrap_err(),
            r#"expected value for key "Name" to be a string, got %!t(<nil>): <nil>"#
        );
    }

    #[test]
    fn marks_offset_of_non_object_documents() {
        assert_eq!(
            read("[1,{}]").unwrap_err(),
            "json: cannot unmarshal array into Go value of type map[string]interface {} at offset 1 (indicated by \
             <==)\n[ <== \n    1,\n    {}\n]"
        );
    }
}
