//! Nodes back to text, the way error messages show them.

use super::node::{Id, NodeKind, Tree};
use crate::gostr;

/// Whether Go's `bytes.TrimSpace` leaves nothing.
pub fn blank(text: &[u8]) -> bool {
    gostr::runes(text).all(|(_, c, _)| gostr::is_space(c))
}

enum Work<'t> {
    Node(Id),
    Bytes(&'t [u8]),
}

impl Tree {
    /// The text of a node.
    pub fn show(&self, id: Id) -> Vec<u8> {
        let mut out = Vec::new();
        let mut work = vec![Work::Node(id)];
        while let Some(item) = work.pop() {
            match item {
                Work::Bytes(bytes) => out.extend_from_slice(bytes),
                Work::Node(id) => {
                    let mut items = Vec::new();
                    self.expand(id, &mut out, &mut items);
                    work.extend(items.into_iter().rev());
                }
            }
        }
        out
    }

    /// A pipeline used as an operand has parentheses.
    fn operand<'t>(&'t self, id: Id, items: &mut Vec<Work<'t>>) {
        if matches!(self.kind(id), NodeKind::Pipe(_)) {
            items.extend([Work::Bytes(b"("), Work::Node(id), Work::Bytes(b")")]);
        } else {
            items.push(Work::Node(id));
        }
    }

    fn expand<'t>(&'t self, id: Id, out: &mut Vec<u8>, items: &mut Vec<Work<'t>>) {
        match self.kind(id) {
            NodeKind::List(nodes) => items.extend(self.ids(*nodes).iter().map(|n| Work::Node(*n))),
            NodeKind::Text(start, end) => {
                out.extend_from_slice(self.source.slice((*start, *end)));
            }
            NodeKind::Action(pipe) => {
                items.extend([Work::Bytes(b"{{"), Work::Node(*pipe), Work::Bytes(b"}}")]);
            }
            NodeKind::If(b) | NodeKind::Range(b) | NodeKind::With(b) => {
                let word: &[u8] = match self.kind(id) {
                    NodeKind::If(_) => b"if",
                    NodeKind::Range(_) => b"range",
                    _ => b"with",
                };
                items.extend([
                    Work::Bytes(b"{{"),
                    Work::Bytes(word),
                    Work::Bytes(b" "),
                    Work::Node(b.pipe),
                    Work::Bytes(b"}}"),
                    Work::Node(b.list),
                ]);
                if let Some(otherwise) = b.otherwise {
                    items.extend([Work::Bytes(b"{{else}}"), Work::Node(otherwise)]);
                }
                items.push(Work::Bytes(b"{{end}}"));
            }
            NodeKind::Template(name, pipe) => {
                out.extend_from_slice(b"{{template ");
                out.extend(gostr::quote(self.text(*name)));
                if let Some(pipe) = pipe {
                    items.extend([Work::Bytes(b" "), Work::Node(*pipe)]);
                }
                items.push(Work::Bytes(b"}}"));
            }
            NodeKind::Break => out.extend_from_slice(b"{{break}}"),
            NodeKind::Continue => out.extend_from_slice(b"{{continue}}"),
            NodeKind::Pipe(pipe) => {
                for (i, v) in self.ids(pipe.decl).iter().enumerate() {
                    if i > 0 {
                        items.push(Work::Bytes(b", "));
                    }
                    items.push(Work::Node(*v));
                }
                if !pipe.decl.is_empty() {
                    items.push(Work::Bytes(if pipe.assign { b" = " } else { b" := " }));
                }
                for (i, c) in self.ids(pipe.cmds).iter().enumerate() {
                    if i > 0 {
                        items.push(Work::Bytes(b" | "));
                    }
                    items.push(Work::Node(*c));
                }
            }
            NodeKind::Command(args) => {
                for (i, arg) in self.ids(*args).iter().enumerate() {
                    if i > 0 {
                        items.push(Work::Bytes(b" "));
                    }
                    self.operand(*arg, items);
                }
            }
            NodeKind::Identifier(name) => out.extend_from_slice(self.source.slice(*name)),
            NodeKind::Variable(names) => {
                for (i, name) in self.names(*names).iter().enumerate() {
                    if i > 0 {
                        out.push(b'.');
                    }
                    out.extend_from_slice(self.source.slice(*name));
                }
            }
            NodeKind::Field(names) => {
                for name in self.names(*names) {
                    out.push(b'.');
                    out.extend_from_slice(self.source.slice(*name));
                }
            }
            NodeKind::Chain(node, names) => {
                self.operand(*node, items);
                for name in self.names(*names) {
                    items.extend([Work::Bytes(b"."), Work::Bytes(self.source.slice(*name))]);
                }
            }
            NodeKind::Dot => out.push(b'.'),
            NodeKind::Nil => out.extend_from_slice(b"nil"),
            NodeKind::Bool(b) => out.extend_from_slice(if *b { b"true" } else { b"false" }),
            NodeKind::Number(n) => out.extend_from_slice(self.numbers[*n as usize].text.as_bytes()),
            NodeKind::String(quoted) => out.extend_from_slice(self.source.slice(quoted.literal)),
            NodeKind::End => out.extend_from_slice(b"{{end}}"),
            NodeKind::Else => out.extend_from_slice(b"{{else}}"),
        }
    }
}
