//! Conversion between token documents and YAML nodes.

use std::sync::Arc;

use podium_goyaml::{List, Map, Node, Pos};

use super::{Document, Token, TokenKind, Value, View, strings};

impl Document {
    /// Builds a document with the lines of the nodes. Returns nothing if it is too large.
    pub fn from_node(node: &Node) -> Option<Self> {
        let mut builder = TokenBuilder::default();
        builder.add_tree(node)?;
        Some(Self { text: Arc::new(builder.text), tokens: builder.tokens.into_boxed_slice() })
    }
}

#[derive(Default)]
struct TokenBuilder {
    text: Vec<u8>,
    tokens: Vec<Token>,
}

enum BuildStep<'n> {
    Value(&'n Node),
    Key(&'n str, u32),
    End(usize),
}

impl TokenBuilder {
    fn add_tree(&mut self, node: &Node) -> Option<()> {
        let mut work = vec![BuildStep::Value(node)];
        while let Some(step) = work.pop() {
            match step {
                BuildStep::Key(key, line) => self.push_string(key, line)?,
                BuildStep::End(token) => {
                    let next = u32::try_from(self.tokens.len()).ok()?;
                    self.tokens.get_mut(token)?.next = next;
                }
                BuildStep::Value(node) => {
                    let line = node.pos.line;
                    match &node.value {
                        podium_goyaml::Value::Null => self.push_token(b"null", TokenKind::Null, line)?,
                        podium_goyaml::Value::Bool(true) => {
                            self.push_token(b"true", TokenKind::True, line)?
                        }
                        podium_goyaml::Value::Bool(false) => {
                            self.push_token(b"false", TokenKind::False, line)?
                        }
                        podium_goyaml::Value::Int(_) | podium_goyaml::Value::Float(_) => {
                            let encoded = podium_goyaml::json::to_raw_string(&node).ok()?;
                            self.push_token(&encoded, TokenKind::Number, line)?;
                        }
                        podium_goyaml::Value::String(text) => self.push_string(text, line)?,
                        podium_goyaml::Value::List(list) => {
                            work.push(BuildStep::End(self.tokens.len()));
                            self.push_token(b"", TokenKind::List, line)?;
                            work.extend(list.iter().rev().map(BuildStep::Value));
                        }
                        podium_goyaml::Value::Map(map) => {
                            work.push(BuildStep::End(self.tokens.len()));
                            self.push_token(b"", TokenKind::Map, line)?;
                            for (key, value) in map.iter().rev() {
                                work.push(BuildStep::Value(value));
                                work.push(BuildStep::Key(key, value.pos.line));
                            }
                        }
                    }
                }
            }
        }
        Some(())
    }

    fn push_token(&mut self, bytes: &[u8], kind: TokenKind, line: u32) -> Option<()> {
        let at = u32::try_from(self.text.len()).ok()?;
        let next = u32::try_from(self.tokens.len() + 1).ok()?;
        self.text.extend_from_slice(bytes);
        self.tokens.push(Token { at, len: u32::try_from(bytes.len()).ok()?, line, next, kind });
        Some(())
    }

    fn push_string(&mut self, value: &str, line: u32) -> Option<()> {
        let mut encoded = Vec::with_capacity(value.len() + 2);
        strings::encode(&mut encoded, value);
        let literal = encoded.get(1..encoded.len().checked_sub(1)?)?;
        // The encoder has already escaped the string; the kind says how to decode it.
        let kind = strings::classify(literal);
        self.push_token(literal, kind, line)
    }
}

/// A container under construction.
enum OpenNode<'d> {
    List(Vec<Node>, super::Items<'d>, Pos),
    Map(Map, super::Entries<'d>, String, Pos),
}

impl Value<'_> {
    /// Converts a value to a node like Go decodes into `interface{}`: numbers are floats and the last of
    /// duplicate keys wins.
    pub fn to_node(self) -> Node {
        let mut open: Vec<OpenNode<'_>> = Vec::new();
        let mut current = self;
        loop {
            let pos = Pos { source: 0, line: current.line(), column: 0 };
            let mut node = match current.view() {
                View::Null => Node::new(podium_goyaml::Value::Null, pos),
                View::Bool(b) => Node::new(podium_goyaml::Value::Bool(b), pos),
                View::Number(text) => {
                    let parsed = podium_goyaml::json::parse(text, 0).unwrap_or_default();
                    Node { pos, ..parsed }
                }
                View::String(text) => Node::new(text.into_owned(), pos),
                View::List(mut items) => match items.next() {
                    None => Node::new(podium_goyaml::Value::List(List::new()), pos),
                    Some(first) => {
                        open.push(OpenNode::List(Vec::new(), items, pos));
                        current = first;
                        continue;
                    }
                },
                View::Map(mut entries) => match entries.next() {
                    None => Node::new(podium_goyaml::Value::Map(Map::new()), pos),
                    Some((key, value)) => {
                        open.push(OpenNode::Map(Map::new(), entries, key.into_owned(), pos));
                        current = value;
                        continue;
                    }
                },
            };
            loop {
                match open.pop() {
                    None => return node,
                    Some(OpenNode::List(mut nodes, mut items, pos)) => {
                        nodes.push(node);
                        if let Some(next) = items.next() {
                            open.push(OpenNode::List(nodes, items, pos));
                            current = next;
                            break;
                        }
                        node = Node::new(podium_goyaml::Value::List(List::from(nodes)), pos);
                    }
                    Some(OpenNode::Map(mut map, mut entries, key, pos)) => {
                        map.insert(key, node);
                        if let Some((key, value)) = entries.next() {
                            open.push(OpenNode::Map(map, entries, key.into_owned(), pos));
                            current = value;
                            break;
                        }
                        node = Node::new(podium_goyaml::Value::Map(map), pos);
                    }
                }
            }
        }
    }
}
