//! A schema document: the tree and, for its numbers, the text.

use podium_goyaml::{Node, Value, json};

use crate::error::Error;

/// Levels of a schema document.
const MAX_DEPTH: usize = 500;

/// A JSON document that remembers how its numbers were written.
#[derive(Debug)]
pub(crate) struct Document {
    pub root: Node,
    text: Vec<u8>,
    /// Where each line starts.
    lines: Vec<usize>,
}

/// A value of a document.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Json<'d> {
    Null,
    Bool(bool),
    Number(&'d str),
    String(&'d str),
    List(&'d podium_goyaml::List),
    Map(&'d podium_goyaml::Map),
}

impl Document {
    /// Reads a text that must hold exactly one value.
    pub fn parse(text: &[u8]) -> Result<Self, Error> {
        let root = match json::parse_prefix(text, 0) {
            Ok((root, used)) => {
                let rest = text.get(used..).unwrap_or_default();
                if !rest.iter().all(|b| matches!(b, b' ' | b'\t' | b'\r' | b'\n')) {
                    return Err(Error::TrailingData);
                }
                root
            }
            // A number that no float holds is a number all the same; the tree has null in its place.
            Err(error @ json::Error::Type { .. }) => match json::parse_map(text, 0) {
                (Some(map), Some(json::Error::Type { .. })) if !map.is_empty() => Value::Map(map).into(),
                _ => return Err(Error::Json(error)),
            },
            Err(error) => return Err(Error::Json(error)),
        };
        check_depth(&root)?;
        let breaks = text.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(i, _)| i + 1);
        Ok(Self { root, lines: [0].into_iter().chain(breaks).collect(), text: text.to_vec() })
    }

    /// A document that was not read from a text.
    pub fn built(root: Node) -> Self {
        Self { root, text: Vec::new(), lines: Vec::new() }
    }

    /// How a number was written.
    fn literal(&self, node: &Node) -> Option<&str> {
        let line = self.lines.get(usize::try_from(node.pos.line).ok()?.checked_sub(1)?)?;
        let start = line + usize::try_from(node.pos.column).ok()?.checked_sub(1)?;
        let rest = self.text.get(start..)?;
        let is_part = |b: &&u8| matches!(b, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        let length = rest.iter().take_while(is_part).count();
        std::str::from_utf8(rest.get(..length)?).ok().filter(|literal| !literal.is_empty())
    }

    /// A node of this document as JSON.
    pub fn view<'d>(&'d self, node: &'d Node) -> Json<'d> {
        match &node.value {
            Value::Null => self.literal(node).map_or(Json::Null, Json::Number),
            Value::Bool(b) => Json::Bool(*b),
            // Built documents have no other numbers.
            Value::Int(0) if self.text.is_empty() => Json::Number("0"),
            Value::Int(_) | Value::Float(_) => Json::Number(self.literal(node).unwrap_or("1")),
            Value::String(s) => Json::String(s),
            Value::List(l) => Json::List(l),
            Value::Map(m) => Json::Map(m),
        }
    }
}

fn check_depth(root: &Node) -> Result<(), Error> {
    let mut work = vec![(root, 1)];
    while let Some((node, depth)) = work.pop() {
        if depth > MAX_DEPTH {
            return Err(Error::SchemaDepth(MAX_DEPTH));
        }
        match &node.value {
            Value::List(list) => work.extend(list.iter().map(|n| (n, depth + 1))),
            Value::Map(map) => work.extend(map.iter().map(|(_, n)| (n, depth + 1))),
            _ => {}
        }
    }
    Ok(())
}
