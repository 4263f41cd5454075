//! Between tokens and trees.

use std::sync::Arc;

use podium_goyaml::{List, Map, Node, Pos};

use super::{Document, Kind, Token, Value, View, text};

impl Document {
    /// The document of a tree; its lines are those of the nodes. None if it is too large or too deep.
    pub fn of(node: &Node) -> Option<Self> {
        let mut build = Build::default();
        build.run(node)?;
        Some(Self { text: Arc::new(build.text), tokens: build.tokens.into_boxed_slice() })
    }
}

#[derive(Default)]
struct Build {
    text: Vec<u8>,
    tokens: Vec<Token>,
}

enum Step<'n> {
    Value(&'n Node),
    Key(&'n str, u32),
    End(usize),
}

impl Build {
    fn run(&mut self, node: &Node) -> Option<()> {
        let mut work = vec![Step::Value(node)];
        while let Some(step) = work.pop() {
            match step {
                Step::Key(key, line) => self.string(key, line)?,
                Step::End(token) => {
                    let next = u32::try_from(self.tokens.len()).ok()?;
                    self.tokens.get_mut(token)?.next = next;
                }
                Step::Value(node) => {
                    let line = node.pos.line;
                    match &node.value {
                        podium_goyaml::Value::Null => self.word(b"null", Kind::Null, line)?,
                        podium_goyaml::Value::Bool(true) => self.word(b"true", Kind::True, line)?,
                        podium_goyaml::Value::Bool(false) => self.word(b"false", Kind::False, line)?,
                        podium_goyaml::Value::Int(_) | podium_goyaml::Value::Float(_) => {
                            let written = podium_goyaml::json::to_raw_string(&node).ok()?;
                            self.word(&written, Kind::Number, line)?;
                        }
                        podium_goyaml::Value::String(text) => self.string(text, line)?,
                        podium_goyaml::Value::List(list) => {
                            work.push(Step::End(self.tokens.len()));
                            self.word(b"", Kind::List, line)?;
                            work.extend(list.iter().rev().map(Step::Value));
                        }
                        podium_goyaml::Value::Map(map) => {
                            work.push(Step::End(self.tokens.len()));
                            self.word(b"", Kind::Map, line)?;
                            for (key, value) in map.iter().rev() {
                                work.push(Step::Value(value));
                                work.push(Step::Key(key, value.pos.line));
                            }
                        }
                    }
                }
            }
        }
        Some(())
    }

    fn word(&mut self, word: &[u8], kind: Kind, line: u32) -> Option<()> {
        let at = u32::try_from(self.text.len()).ok()?;
        let next = u32::try_from(self.tokens.len() + 1).ok()?;
        self.text.extend_from_slice(word);
        self.tokens.push(Token { at, len: u32::try_from(word.len()).ok()?, line, next, kind });
        Some(())
    }

    fn string(&mut self, value: &str, line: u32) -> Option<()> {
        let mut written = Vec::with_capacity(value.len() + 2);
        text::write(&mut written, value);
        let literal = written.get(1..written.len().checked_sub(1)?)?;
        // What Go wrote, Go writes; but a reader has to undo the escapes.
        let kind = text::kind(literal);
        self.word(literal, kind, line)
    }
}

/// A container whose end has not been seen.
enum Open<'d> {
    List(Vec<Node>, super::Items<'d>, Pos),
    Map(Map, super::Entries<'d>, String, Pos),
}

impl Value<'_> {
    /// The tree of a value, as Go reads it into `interface{}`. Numbers are floats, the last of equal keys counts.
    pub fn to_node(self) -> Node {
        let mut open: Vec<Open<'_>> = Vec::new();
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
                        open.push(Open::List(Vec::new(), items, pos));
                        current = first;
                        continue;
                    }
                },
                View::Map(mut entries) => match entries.next() {
                    None => Node::new(podium_goyaml::Value::Map(Map::new()), pos),
                    Some((key, value)) => {
                        open.push(Open::Map(Map::new(), entries, key.into_owned(), pos));
                        current = value;
                        continue;
                    }
                },
            };
            loop {
                match open.pop() {
                    None => return node,
                    Some(Open::List(mut nodes, mut items, pos)) => {
                        nodes.push(node);
                        if let Some(next) = items.next() {
                            open.push(Open::List(nodes, items, pos));
                            current = next;
                            break;
                        }
                        node = Node::new(podium_goyaml::Value::List(List::from(nodes)), pos);
                    }
                    Some(Open::Map(mut map, mut entries, key, pos)) => {
                        map.insert(key, node);
                        if let Some((key, value)) = entries.next() {
                            open.push(Open::Map(map, entries, key.into_owned(), pos));
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
