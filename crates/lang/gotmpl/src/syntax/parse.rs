//! Tokens to a tree.

mod expression;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::lex::{Kind, Lexer, Token};
use super::node::{Branch, Id, Node, NodeKind, Quoted, Run, Source, Span, Tree, VERBATIM};
use crate::gostr;
use crate::hash::NameHash;

/// How deeply parentheses may be nested: Go's limit.
const MAX_PARENS: u32 = 10_000;
/// How deeply blocks may be nested. Go has no limit but its stack; no template comes near.
const MAX_BLOCKS: u32 = 100_000;
/// How deep the parser goes on the caller's stack before it moves to one of its own.
const SHALLOW: u32 = 100;
/// What one level of nesting needs of a stack, generously.
const STACK_PER_LEVEL: usize = 8 * 1024;

/// Templates have about this many bytes for each node.
const BYTES_PER_NODE: usize = 20;

/// Which function names exist.
pub trait Names: Sync {
    /// Whether a template may call a function of this name.
    fn has(&self, name: &[u8]) -> bool;
}

/// A text that is no template, with Go's message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The name of the text.
    pub name: Vec<u8>,
    /// The line.
    pub line: u32,
    /// What is wrong there.
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "template: {}:{}: {}", String::from_utf8_lossy(&self.name), self.line, self.message)
    }
}

impl std::error::Error for ParseError {}

/// Why the parser stopped.
enum Stop {
    Error(Box<ParseError>),
    /// Deeper than the caller's stack is trusted with.
    Deep,
}

type Result<T> = std::result::Result<T, Stop>;

/// The lists of an earlier tree: small texts are parsed by the thousand, and making lists takes longer than filling
/// them.
#[derive(Default)]
pub struct Spare {
    nodes: Vec<Node>,
    ids: Vec<Id>,
    names: Vec<Span>,
    pending: Vec<Id>,
}

/// Lists that are longer than this are not kept.
const MAX_SPARE: usize = 4096;

impl Spare {
    /// Takes the lists of a tree that is not needed any more.
    pub fn keep(&mut self, tree: Tree) {
        let Tree { mut nodes, mut ids, mut names, .. } = tree;
        if nodes.capacity().max(ids.capacity()).max(names.capacity()) <= MAX_SPARE {
            nodes.clear();
            ids.clear();
            names.clear();
            *self = Self { nodes, ids, names, pending: std::mem::take(&mut self.pending) };
        }
    }
}

/// Parses a text under a name.
pub fn parse(source: &Arc<Source>, names: &dyn Names) -> std::result::Result<Tree, ParseError> {
    parse_with(source, names, &mut Spare::default())
}

/// Parses a text under a name, with lists of before.
pub fn parse_with(
    source: &Arc<Source>,
    names: &dyn Names,
    spare: &mut Spare,
) -> std::result::Result<Tree, ParseError> {
    let parser = Parser::new(source, names, SHALLOW, std::mem::take(spare));
    match parser.run() {
        Ok((tree, pending)) => {
            spare.pending = pending;
            Ok(tree)
        }
        Err(Stop::Error(e)) => Err(*e),
        Err(Stop::Deep) => deep(source, names),
    }
}

/// Parses a deeply nested text on a stack that is large enough for its nesting.
fn deep(source: &Arc<Source>, names: &dyn Names) -> std::result::Result<Tree, ParseError> {
    let opened = source.text.iter().filter(|b| matches!(b, b'(' | b'{')).count();
    let levels = opened.min(MAX_BLOCKS as usize + MAX_PARENS as usize) + 200;
    let too_deep = || ParseError {
        name: source.name.to_vec(),
        line: 1,
        message: "the template is nested too deeply".to_owned(),
    };
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new().stack_size(levels * STACK_PER_LEVEL + (1 << 20));
        let parse = || Parser::new(source, names, u32::MAX, Spare::default()).run();
        let handle = worker.spawn_scoped(scope, move || match parse() {
            Ok((tree, _)) => Ok(tree),
            Err(Stop::Error(e)) => Err(*e),
            Err(Stop::Deep) => Err(too_deep()),
        });
        match handle.map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok(result)) => result,
            _ => Err(too_deep()),
        }
    })
}

struct Parser<'t> {
    tree: Tree,
    text: &'t [u8],
    lexer: Lexer<'t>,
    names: &'t dyn Names,
    tokens: [Token; 3],
    peeked: usize,
    /// Children of nodes that are not complete.
    pending: Vec<Id>,
    /// Where each defined template is.
    defined: HashMap<Box<[u8]>, usize, NameHash>,
    vars: Vec<&'t [u8]>,
    action_line: u32,
    ranges: u32,
    parens: u32,
    depth: u32,
    shallow: u32,
}

fn no_token() -> Token {
    Token { kind: Kind::Eof, start: 0, end: 0, line: 0 }
}

impl<'t> Parser<'t> {
    fn new(source: &'t Arc<Source>, names: &'t dyn Names, shallow: u32, mut spare: Spare) -> Self {
        let text = &source.text;
        spare.nodes.reserve(text.len() / BYTES_PER_NODE);
        spare.ids.reserve(text.len() / BYTES_PER_NODE);
        Self {
            tree: Tree {
                source: Arc::clone(source),
                nodes: spare.nodes,
                ids: spare.ids,
                names: spare.names,
                numbers: Vec::new(),
                texts: Vec::new(),
                templates: Vec::new(),
            },
            text,
            lexer: Lexer::new(text),
            names,
            tokens: [no_token(), no_token(), no_token()],
            peeked: 0,
            pending: spare.pending,
            defined: HashMap::default(),
            vars: vec![b"$"],
            action_line: 0,
            ranges: 0,
            parens: 0,
            depth: 0,
            shallow,
        }
    }

    fn run(mut self) -> Result<(Tree, Vec<Id>)> {
        let root = self.top()?;
        let name = self.tree.source.name.clone();
        if self.tree.templates.is_empty() {
            self.tree.templates.push((name, root));
        } else {
            self.add(name, root)?;
        }
        Ok((self.tree, self.pending))
    }

    // Tokens, with up to three of look-ahead.

    fn next(&mut self) -> Token {
        if self.peeked > 0 {
            self.peeked -= 1;
        } else {
            self.tokens[0] = self.lexer.next();
        }
        self.tokens[self.peeked]
    }

    fn backup(&mut self) {
        self.peeked += 1;
    }

    fn backup2(&mut self, first: Token) {
        self.tokens[1] = first;
        self.peeked = 2;
    }

    fn backup3(&mut self, second: Token, first: Token) {
        self.tokens[1] = first;
        self.tokens[2] = second;
        self.peeked = 3;
    }

    fn peek(&mut self) -> Token {
        if self.peeked == 0 {
            self.peeked = 1;
            self.tokens[0] = self.lexer.next();
        }
        self.tokens[self.peeked - 1]
    }

    fn next_non_space(&mut self) -> Token {
        loop {
            let token = self.next();
            if token.kind != Kind::Space {
                return token;
            }
        }
    }

    fn peek_non_space(&mut self) -> Token {
        let token = self.next_non_space();
        self.backup();
        token
    }

    fn fail<T>(&self, message: impl Into<String>) -> Result<T> {
        Err(Stop::Error(Box::new(ParseError {
            name: self.tree.source.name.to_vec(),
            line: self.tokens[0].line,
            message: message.into(),
        })))
    }

    fn unexpected<T>(&self, token: &Token, context: &str) -> Result<T> {
        let shown = self.lexer.show(*token);
        if token.kind == Kind::Error {
            let mut extra = String::new();
            if self.action_line != 0 && self.action_line != token.line {
                let name = String::from_utf8_lossy(&self.tree.source.name).into_owned();
                extra = format!(" in action started at {name}:{}", self.action_line);
                if shown.ends_with(" action") {
                    extra = extra[" in action".len()..].to_owned();
                }
            }
            return self.fail(format!("{shown}{extra}"));
        }
        self.fail(format!("unexpected {shown} in {context}"))
    }

    fn expect(&mut self, kind: Kind, context: &str) -> Result<Token> {
        let token = self.next_non_space();
        if token.kind != kind {
            return self.unexpected(&token, context);
        }
        Ok(token)
    }

    fn value(&self, token: &Token) -> &'t [u8] {
        &self.text[token.start as usize..token.end as usize]
    }

    fn node(&mut self, pos: u32, kind: NodeKind) -> Id {
        self.tree.nodes.push(Node { pos, kind });
        (self.tree.nodes.len() - 1) as Id
    }

    /// The children that were left since there were so many.
    fn children(&mut self, since: usize) -> Run {
        let start = self.tree.ids.len();
        self.tree.ids.extend_from_slice(self.pending.get(since..).unwrap_or_default());
        self.pending.truncate(since);
        Run::since(&self.tree.ids, start)
    }

    /// Counts a level of nesting.
    fn enter(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > self.shallow {
            return Err(Stop::Deep);
        }
        if self.depth > MAX_BLOCKS + MAX_PARENS {
            return self.fail("the template is nested too deeply");
        }
        Ok(())
    }

    /// Puts a template into the set of this text.
    fn add(&mut self, name: Box<[u8]>, root: Id) -> Result<()> {
        match self.defined.get(&name).copied() {
            None => {
                self.defined.insert(name.clone(), self.tree.templates.len());
                self.tree.templates.push((name, root));
            }
            Some(at) if self.tree.is_empty(self.tree.templates[at].1) => self.tree.templates[at].1 = root,
            Some(_) if self.tree.is_empty(root) => {}
            Some(_) => {
                let quoted = String::from_utf8_lossy(&gostr::quote(&name)).into_owned();
                return self.fail(format!("template: multiple definition of template {quoted}"));
            }
        }
        Ok(())
    }

    // Blocks.

    fn top(&mut self) -> Result<Id> {
        let start = self.peek().start;
        let since = self.pending.len();
        while self.peek().kind != Kind::Eof {
            if self.peek().kind == Kind::LeftDelim {
                let delim = self.next();
                if self.next_non_space().kind == Kind::Define {
                    self.definition()?;
                    continue;
                }
                self.backup2(delim);
            }
            let node = self.text_or_action()?;
            if let NodeKind::End | NodeKind::Else = self.tree.kind(node) {
                let shown = String::from_utf8_lossy(&self.tree.show(node)).into_owned();
                return self.fail(format!("unexpected {shown}"));
            }
            self.pending.push(node);
        }
        let nodes = self.children(since);
        Ok(self.node(start, NodeKind::List(nodes)))
    }

    /// Runs with the scope of a new template: only `$` is known, and no loop is around.
    fn scoped<T>(&mut self, run: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let vars = std::mem::replace(&mut self.vars, vec![b"$"]);
        let ranges = std::mem::take(&mut self.ranges);
        let action_line = std::mem::take(&mut self.action_line);
        let parens = std::mem::take(&mut self.parens);
        let result = run(self)?;
        self.vars = vars;
        self.ranges = ranges;
        self.action_line = action_line;
        self.parens = parens;
        Ok(result)
    }

    fn definition(&mut self) -> Result<()> {
        const CONTEXT: &str = "define clause";
        self.scoped(|p| {
            let token = p.next_non_space();
            if !matches!(token.kind, Kind::String | Kind::RawString) {
                return p.unexpected(&token, CONTEXT);
            }
            let name = p.quoted(&token)?;
            let name = p.tree.text(name).into();
            p.expect(Kind::RightDelim, CONTEXT)?;
            let (list, end) = p.item_list()?;
            if !matches!(p.tree.kind(end), NodeKind::End) {
                let shown = String::from_utf8_lossy(&p.tree.show(end)).into_owned();
                return p.fail(format!("unexpected {shown} in {CONTEXT}"));
            }
            p.add(name, list)
        })
    }

    fn quoted(&mut self, token: &Token) -> Result<Quoted> {
        let literal = self.value(token);
        let verbatim = match literal {
            // Escapes and what is not UTF-8 are looked at closely.
            [b'"', inside @ .., b'"'] => {
                inside.iter().all(|b| b.is_ascii() && !matches!(b, b'\\' | b'"' | b'\n'))
            }
            [b'`', inside @ .., b'`'] => !inside.iter().any(|b| matches!(b, b'\r' | b'`')),
            _ => false,
        };
        let mut text = VERBATIM;
        if !verbatim {
            let Some(unquoted) = gostr::unquote(literal) else {
                return self.fail("invalid syntax");
            };
            text = self.tree.texts.len() as u32;
            self.tree.texts.push(unquoted.into());
        }
        Ok(Quoted { literal: span(token), text })
    }

    /// Nodes up to an end or else, which is handed back.
    fn item_list(&mut self) -> Result<(Id, Id)> {
        self.enter()?;
        let start = self.peek_non_space().start;
        let since = self.pending.len();
        while self.peek_non_space().kind != Kind::Eof {
            let node = self.text_or_action()?;
            if let NodeKind::End | NodeKind::Else = self.tree.kind(node) {
                self.depth -= 1;
                let nodes = self.children(since);
                return Ok((self.node(start, NodeKind::List(nodes)), node));
            }
            self.pending.push(node);
        }
        self.fail("unexpected EOF")
    }

    fn text_or_action(&mut self) -> Result<Id> {
        let token = self.next_non_space();
        match token.kind {
            Kind::Text => Ok(self.node(token.start, NodeKind::Text(token.start, token.end))),
            Kind::LeftDelim => {
                self.action_line = token.line;
                let node = self.action()?;
                self.action_line = 0;
                Ok(node)
            }
            _ => self.unexpected(&token, "input"),
        }
    }

    fn action(&mut self) -> Result<Id> {
        let token = self.next_non_space();
        match token.kind {
            Kind::Block => self.block(),
            Kind::Break => self.leave_loop(&token, NodeKind::Break, "{{break}}"),
            Kind::Continue => self.leave_loop(&token, NodeKind::Continue, "{{continue}}"),
            Kind::Else => self.else_control(),
            Kind::End => {
                let delim = self.expect(Kind::RightDelim, "end")?;
                Ok(self.node(delim.start, NodeKind::End))
            }
            Kind::If => self.control("if"),
            Kind::Range => self.control("range"),
            Kind::Template => self.template(),
            Kind::With => self.control("with"),
            _ => {
                self.backup();
                let start = self.peek().start;
                let pipe = self.pipeline("command", Kind::RightDelim)?;
                Ok(self.node(start, NodeKind::Action(pipe)))
            }
        }
    }

    fn leave_loop(&mut self, token: &Token, kind: NodeKind, shown: &str) -> Result<Id> {
        let delim = self.next_non_space();
        if delim.kind != Kind::RightDelim {
            return self.unexpected(&delim, shown);
        }
        if self.ranges == 0 {
            return self.fail(format!("{shown} outside {{{{range}}}}"));
        }
        Ok(self.node(token.start, kind))
    }

    fn else_control(&mut self) -> Result<Id> {
        let next = self.peek_non_space();
        if matches!(next.kind, Kind::If | Kind::With) {
            return Ok(self.node(next.start, NodeKind::Else));
        }
        let delim = self.expect(Kind::RightDelim, "else")?;
        Ok(self.node(delim.start, NodeKind::Else))
    }

    fn control(&mut self, word: &str) -> Result<Id> {
        self.enter()?;
        let vars = self.vars.len();
        let pipe = self.pipeline(word, Kind::RightDelim)?;
        let is_range = u32::from(word == "range");
        self.ranges += is_range;
        let (list, next) = self.item_list()?;
        self.ranges -= is_range;
        let mut otherwise = None;
        if matches!(self.tree.kind(next), NodeKind::Else) {
            let chained = match (word, self.peek().kind) {
                ("if", Kind::If) => Some("if"),
                ("with", Kind::With) => Some("with"),
                _ => None,
            };
            if let Some(word) = chained {
                // `else if` ends with the one `end`.
                self.next();
                let pos = self.tree.nodes[next as usize].pos;
                let inner = self.control(word)?;
                self.pending.push(inner);
                let nodes = self.children(self.pending.len() - 1);
                otherwise = Some(self.node(pos, NodeKind::List(nodes)));
            } else {
                let (list, end) = self.item_list()?;
                if !matches!(self.tree.kind(end), NodeKind::End) {
                    let shown = String::from_utf8_lossy(&self.tree.show(end)).into_owned();
                    return self.fail(format!("expected end; found {shown}"));
                }
                otherwise = Some(list);
            }
        }
        self.vars.truncate(vars);
        self.depth -= 1;
        let branch = Branch { pipe, list, otherwise };
        let pos = self.tree.nodes[pipe as usize].pos;
        Ok(self.node(
            pos,
            match word {
                "if" => NodeKind::If(branch),
                "range" => NodeKind::Range(branch),
                _ => NodeKind::With(branch),
            },
        ))
    }

    fn template_name(&mut self, token: &Token, context: &str) -> Result<Quoted> {
        match token.kind {
            Kind::String | Kind::RawString => self.quoted(token),
            _ => self.unexpected(token, context),
        }
    }

    fn block(&mut self) -> Result<Id> {
        const CONTEXT: &str = "block clause";
        let token = self.next_non_space();
        let name = self.template_name(&token, CONTEXT)?;
        let pipe = self.pipeline(CONTEXT, Kind::RightDelim)?;
        let defined = self.tree.text(name).into();
        let line = self.tokens[0].line;
        self.scoped(|p| {
            let (list, end) = p.item_list()?;
            if !matches!(p.tree.kind(end), NodeKind::End) {
                let shown = String::from_utf8_lossy(&p.tree.show(end)).into_owned();
                // Go complains here as the text around the block, which has read no further than its head.
                p.tokens[0].line = line;
                return p.fail(format!("unexpected {shown} in {CONTEXT}"));
            }
            p.add(defined, list)
        })?;
        Ok(self.node(token.start, NodeKind::Template(name, Some(pipe))))
    }

    fn template(&mut self) -> Result<Id> {
        const CONTEXT: &str = "template clause";
        let token = self.next_non_space();
        let name = self.template_name(&token, CONTEXT)?;
        let mut pipe = None;
        if self.next_non_space().kind != Kind::RightDelim {
            self.backup();
            pipe = Some(self.pipeline(CONTEXT, Kind::RightDelim)?);
        }
        Ok(self.node(token.start, NodeKind::Template(name, pipe)))
    }
}

/// A token's text.
fn span(token: &Token) -> Span {
    (token.start, token.end)
}
