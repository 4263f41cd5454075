//! Reading YAML exactly as `sigs.k8s.io/yaml` does, on which all of Kubernetes' and Helm's reading rests.
//!
//! There, go-yaml v2 reads the first document (YAML 1.1, with quirks of its own), its values become JSON, and
//! `encoding/json` reads that: so all numbers are `float64`, all keys strings, and errors come in the words of one of
//! the three. Here it is one pass from bytes to nodes (modules `scan` and `parse`), and one from nodes to the tree
//! (`walk` and `decode`). Time is linear in the size of the text, nesting is no recursion, and aliases are bounded as in
//! go-yaml.

mod cook;
mod cursor;
mod decode;
mod documents;
mod error;
mod head;
mod input;
mod parse;
mod quick;
mod resolve;
mod room;
mod scan;
mod scan_scalar;
mod scan_tag;
mod strict;
mod tape;
mod text;
mod timestamp;
mod token;
mod typed;
pub mod types;
mod walk;

use crate::tree::{Map, Node, Value};

pub use documents::{Document, Documents, documents};
pub use error::{Error, Origin};
pub use head::{Head, Metadata, check_head, quick_field};
use input::Input;
use types::Type;

/// Reads the first document into whatever it is: `yaml.Unmarshal(text, &interface{})`.
pub fn parse(text: &[u8], origin: impl Into<Origin>) -> Result<Node, Error> {
    read(text, origin.into(), None, false)
}

/// Reads the first document as clients of a cluster read objects: whole numbers stay whole.
pub fn parse_exact(text: &[u8], origin: impl Into<Origin>) -> Result<Node, Error> {
    read(text, origin.into(), None, true)
}

/// Reads the first document into a Go type, with Go's conversions and errors.
pub fn parse_as(text: &[u8], origin: impl Into<Origin>, ty: &Type) -> Result<Node, Error> {
    read(text, origin.into(), Some(ty), false)
}

/// Reads the first document into a Go type, and refuses keys that come twice or that the type does not have
/// (`yaml.UnmarshalStrict`).
pub fn parse_strict(text: &[u8], origin: impl Into<Origin>, ty: &Type) -> Result<Node, Error> {
    let origin = origin.into();
    let input = Input::new(if text.is_empty() { b"\n" } else { text });
    let tape = parse::parse(&input, usize::MAX).map_err(|fault| fault.convert(origin))?;
    decode::decode_strictly(&tape, origin, ty)
}

/// Like [`parse_as`], but whole numbers of values of any type stay whole.
pub fn parse_as_exact(text: &[u8], origin: impl Into<Origin>, ty: &Type) -> Result<Node, Error> {
    read(text, origin.into(), Some(ty), true)
}

/// Reads the first document into a `map[string]interface{}`, which null leaves empty.
pub fn parse_object(text: &[u8], origin: impl Into<Origin>) -> Result<Map, Error> {
    let mut node = parse_as(text, origin, &types::OBJECT)?;
    Ok(match &mut node.value {
        Value::Map(map) => std::mem::take(map),
        _ => Map::new(),
    })
}

/// Reads the first document into a Go type as a strict reader does: no key twice, no field that the type does not have.
pub fn parse_strict_as(text: &[u8], origin: impl Into<Origin>, ty: &Type) -> Result<Node, Error> {
    let origin = origin.into();
    let input = Input::new(if text.is_empty() { b"\n" } else { text });
    let tape = parse::parse(&input, usize::MAX).map_err(|fault| fault.convert(origin))?;
    strict::check_keys(&tape, origin)?;
    let node = decode::decode(&tape, origin, Some(ty), false)?;
    // Reading into the type leaves unknown fields out.
    strict::check_fields(&decode::decode(&tape, origin, None, false)?, ty)?;
    Ok(node)
}

fn read(text: &[u8], origin: Origin, ty: Option<&Type>, whole: bool) -> Result<Node, Error> {
    let input = Input::new(if text.is_empty() { b"\n" } else { text });
    let tape = parse::parse(&input, usize::MAX).map_err(|fault| fault.convert(origin))?;
    decode::decode(&tape, origin, ty, whole)
}
