//! The parsed tree: nodes in one vector, so that a deep tree is freed without recursion.

use std::sync::Arc;

use super::number::Number;

/// The index of a node in its tree.
pub type Id = u32;

/// A piece of the text: where it starts and ends.
pub type Span = (u32, u32);

/// A run of entries in one of the tree's lists.
#[derive(Clone, Copy, Debug, Default)]
pub struct Run {
    start: u32,
    len: u32,
}

impl Run {
    /// The entries that a list got since it had so many.
    pub fn since<T>(list: &[T], start: usize) -> Self {
        Self { start: start as u32, len: (list.len() - start) as u32 }
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    fn of<T>(self, list: &[T]) -> &[T] {
        &list[self.start as usize..(self.start + self.len) as usize]
    }
}

/// A quoted text: its literal, and which of the tree's texts it means unless that is what stands between the quotes.
#[derive(Clone, Copy, Debug)]
pub struct Quoted {
    /// Where the literal is.
    pub literal: Span,
    /// The text, or [`VERBATIM`].
    pub text: u32,
}

/// The mark of a quoted text that means what stands between its quotes.
pub const VERBATIM: u32 = u32::MAX;

impl Quoted {
    /// What stands between the quotes.
    pub fn inside(self) -> Span {
        (self.literal.0 + 1, self.literal.1 - 1)
    }
}

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
    List(Run),
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
    Template(Quoted, Option<Id>),
    /// `{{break}}`.
    Break,
    /// `{{continue}}`.
    Continue,
    /// Commands with `|` between them, perhaps with variables declared or assigned.
    Pipe(Pipe),
    /// A word and its arguments.
    Command(Run),
    /// A function name.
    Identifier(Span),
    /// `$x.Field…`: the name with `$` first.
    Variable(Run),
    /// `.Field.Field`.
    Field(Run),
    /// `(pipeline).Field` and the like.
    Chain(Id, Run),
    /// `.`.
    Dot,
    /// `nil`.
    Nil,
    /// `true` or `false`.
    Bool(bool),
    /// A number, an entry of the tree's.
    Number(u32),
    /// A string.
    String(Quoted),
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
#[derive(Clone, Copy, Debug, Default)]
pub struct Pipe {
    /// The variables on the left.
    pub decl: Run,
    /// Whether they are assigned (`=`) and not declared.
    pub assign: bool,
    /// The commands.
    pub cmds: Run,
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
    /// The nodes that nodes consist of.
    pub ids: Vec<Id>,
    /// The names in chains of fields.
    pub names: Vec<Span>,
    /// The numbers.
    pub numbers: Vec<Number>,
    /// The quoted texts that have escapes.
    pub texts: Vec<Box<[u8]>>,
    /// The templates, each with its root; the text itself is one of them, under its own name.
    pub templates: Vec<(Box<[u8]>, Id)>,
}

impl Tree {
    /// The kind of a node.
    pub fn kind(&self, id: Id) -> &NodeKind {
        &self.nodes[id as usize].kind
    }

    /// The nodes of a run.
    pub fn ids(&self, run: Run) -> &[Id] {
        run.of(&self.ids)
    }

    /// The names of a run.
    pub fn names(&self, run: Run) -> &[Span] {
        run.of(&self.names)
    }

    /// What a quoted text means.
    pub fn text(&self, quoted: Quoted) -> &[u8] {
        match self.texts.get(quoted.text as usize) {
            Some(text) => text,
            None => self.source.slice(quoted.inside()),
        }
    }

    /// Whether there is nothing but white space and comments in a list.
    pub fn is_empty(&self, list: Id) -> bool {
        match self.kind(list) {
            NodeKind::List(nodes) => self.ids(*nodes).iter().all(|n| match self.kind(*n) {
                NodeKind::Text(start, end) => crate::syntax::show::blank(self.source.slice((*start, *end))),
                _ => false,
            }),
            _ => false,
        }
    }
}
