//! The parsed tree: nodes in one vector, so that a deep tree is freed without recursion.

use std::sync::Arc;

use super::number::Number;

/// The index of a node in its tree.
pub type Id = u32;

/// A piece of the text: where it starts and ends.
pub type Span = (u32, u32);

/// A node and where it starts in the text.
#[derive(Debug)]
pub struct Node {
    /// Byte offset in the text.
    pub pos: u32,
    /// What it is.
    pub kind: NodeKind,
}

/// What a node is.
#[derive(Debug)]
pub enum NodeKind {
    /// A sequence of nodes.
    List(Vec<Id>),
    /// Plain text, as a range of the source.
    Text(u32, u32),
    /// `{{pipeline}}`.
    Action(Id),
    /// `{{if}}`.
    If(Branch),
    /// `{{range}}`.
    Range(Branch),
    /// `{{with}}`.
    With(Branch),
    /// `{{template "name" pipeline}}`.
    Template(Box<[u8]>, Option<Id>),
    /// `{{break}}`.
    Break,
    /// `{{continue}}`.
    Continue,
    /// Commands with `|` between them, perhaps with variables declared or assigned.
    Pipe(Box<Pipe>),
    /// A word and its arguments.
    Command(Vec<Id>),
    /// A function name.
    Identifier(Box<str>),
    /// `$x.Field…`: the name with `$` first.
    Variable(Vec<Span>),
    /// `.Field.Field`.
    Field(Vec<Span>),
    /// `(pipeline).Field` and the like.
    Chain(Id, Vec<Span>),
    /// `.`.
    Dot,
    /// `nil`.
    Nil,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(Box<Number>),
    /// A string: the range of its literal, and its value.
    String(u32, u32, Box<[u8]>),
    /// `{{end}}`, seen only while parsing.
    End,
    /// `{{else}}`, seen only while parsing.
    Else,
}

/// The parts of an if, range or with.
#[derive(Clone, Copy, Debug)]
pub struct Branch {
    /// What decides.
    pub pipe: Id,
    /// What is done.
    pub list: Id,
    /// What is done otherwise.
    pub otherwise: Option<Id>,
}

/// The parts of a pipeline.
#[derive(Debug, Default)]
pub struct Pipe {
    /// The variables on the left.
    pub decl: Vec<Id>,
    /// Whether they are assigned (`=`) and not declared.
    pub assign: bool,
    /// The commands.
    pub cmds: Vec<Id>,
}

/// A text with a name for error messages.
#[derive(Debug)]
pub struct Source {
    /// The name.
    pub name: Box<[u8]>,
    /// The text.
    pub text: Arc<[u8]>,
}

impl Source {
    /// A piece of the text.
    pub fn slice(&self, (start, end): Span) -> &[u8] {
        &self.text[start as usize..end as usize]
    }

    /// Line and column of an offset, the way Go's messages count: the column is in bytes, from 0.
    pub fn location(&self, pos: u32) -> (usize, usize) {
        let before = &self.text[..(pos as usize).min(self.text.len())];
        let line = 1 + before.iter().filter(|b| **b == b'\n').count();
        let column = before.iter().rev().take_while(|b| **b != b'\n').count();
        (line, column)
    }
}

/// One parsed text with all the templates that are defined in it.
#[derive(Debug)]
pub struct Tree {
    /// The text.
    pub source: Arc<Source>,
    /// All nodes.
    pub nodes: Vec<Node>,
    /// The templates, each with its root; the text itself is one of them, under its own name.
    pub templates: Vec<(Box<[u8]>, Id)>,
}

impl Tree {
    /// The kind of a node.
    pub fn kind(&self, id: Id) -> &NodeKind {
        &self.nodes[id as usize].kind
    }

    /// Whether there is nothing but white space and comments in a list.
    pub fn is_empty(&self, list: Id) -> bool {
        match self.kind(list) {
            NodeKind::List(nodes) => nodes.iter().all(|n| match self.kind(*n) {
                NodeKind::Text(start, end) => crate::syntax::show::blank(self.source.slice((*start, *end))),
                _ => false,
            }),
            _ => false,
        }
    }
}
