//! What stands between the braces: pipelines, commands and operands.

use super::super::lex::{Kind, Token};
use super::super::node::{Id, NodeKind, Pipe, Run, Span};
use super::super::number::Number;
use super::{MAX_PARENS, Parser, Result, span};
use crate::gostr;

impl<'t> Parser<'t> {
    pub(super) fn pipeline(&mut self, context: &str, end: Kind) -> Result<Id> {
        let start = self.peek_non_space().start;
        let mut pipe = Pipe::default();
        let since = self.pending.len();
        self.declarations(&mut pipe, context)?;
        pipe.decl = self.children(since);
        loop {
            let token = self.next_non_space();
            match token.kind {
                kind if kind == end => {
                    pipe.cmds = self.children(since);
                    self.check(&pipe, context)?;
                    return Ok(self.node(start, NodeKind::Pipe(pipe)));
                }
                Kind::Bool
                | Kind::CharConstant
                | Kind::Complex
                | Kind::Dot
                | Kind::Field
                | Kind::Identifier
                | Kind::Number
                | Kind::Nil
                | Kind::RawString
                | Kind::String
                | Kind::Variable
                | Kind::LeftParen => {
                    self.backup();
                    let command = self.command()?;
                    self.pending.push(command);
                }
                _ => return self.unexpected(&token, context),
            }
        }
    }

    /// `$x :=`, `$x =`, and in a range `$i, $x :=`.
    pub(super) fn declarations(&mut self, pipe: &mut Pipe, context: &str) -> Result<()> {
        let since = self.pending.len();
        loop {
            let variable = self.peek_non_space();
            if variable.kind != Kind::Variable {
                return Ok(());
            }
            self.next();
            let adjacent = self.peek();
            let next = self.peek_non_space();
            let comma = next.kind == Kind::Char && self.value(&next) == b",";
            if matches!(next.kind, Kind::Assign | Kind::Declare) {
                pipe.assign = next.kind == Kind::Assign;
                self.next_non_space();
                self.declare(&variable);
                return Ok(());
            }
            if comma {
                self.next_non_space();
                self.declare(&variable);
                if context == "range" && self.pending.len() - since < 2 {
                    match self.peek_non_space().kind {
                        Kind::Variable | Kind::RightDelim | Kind::RightParen => continue,
                        _ => return self.fail("range can only initialize variables"),
                    }
                }
                return self.fail(format!("too many declarations in {context}"));
            }
            if adjacent.kind == Kind::Space {
                self.backup3(variable, adjacent);
            } else {
                self.backup2(variable);
            }
            return Ok(());
        }
    }

    pub(super) fn declare(&mut self, token: &Token) {
        let name = self.name(span(token));
        let node = self.node(token.start, NodeKind::Variable(name));
        self.pending.push(node);
        self.vars.push(self.value(token));
    }

    pub(super) fn name(&mut self, name: Span) -> Run {
        let start = self.tree.names.len();
        self.tree.names.push(name);
        Run::since(&self.tree.names, start)
    }

    pub(super) fn check(&self, pipe: &Pipe, context: &str) -> Result<()> {
        if pipe.cmds.is_empty() {
            return self.fail(format!("missing value for {context}"));
        }
        for (i, cmd) in self.tree.ids(pipe.cmds).iter().enumerate().skip(1) {
            let NodeKind::Command(args) = self.tree.kind(*cmd) else {
                continue;
            };
            if let Some(first) = self.tree.ids(*args).first()
                && matches!(
                    self.tree.kind(*first),
                    NodeKind::Bool(_)
                        | NodeKind::Dot
                        | NodeKind::Nil
                        | NodeKind::Number(_)
                        | NodeKind::String(..)
                )
            {
                return self.fail(format!("non executable command in pipeline stage {}", i + 1));
            }
        }
        Ok(())
    }

    pub(super) fn command(&mut self) -> Result<Id> {
        let start = self.peek_non_space().start;
        let since = self.pending.len();
        loop {
            self.peek_non_space();
            if let Some(operand) = self.operand()? {
                self.pending.push(operand);
            }
            let token = self.next();
            match token.kind {
                Kind::Space => continue,
                Kind::RightDelim | Kind::RightParen => self.backup(),
                Kind::Pipe => {}
                _ => return self.unexpected(&token, "operand"),
            }
            break;
        }
        let args = self.children(since);
        if args.is_empty() {
            return self.fail("empty command");
        }
        Ok(self.node(start, NodeKind::Command(args)))
    }

    pub(super) fn operand(&mut self) -> Result<Option<Id>> {
        let Some(term) = self.term()? else {
            return Ok(None);
        };
        let first = self.peek();
        if first.kind != Kind::Field {
            return Ok(Some(term));
        }
        let start = self.tree.names.len();
        if let NodeKind::Field(names) | NodeKind::Variable(names) = *self.tree.kind(term) {
            // One list of names for all of the chain; that of the term itself is not used again.
            for i in 0..self.tree.names(names).len() {
                self.tree.names.push(self.tree.names(names)[i]);
            }
        }
        while self.peek().kind == Kind::Field {
            let name = field(&self.next());
            self.tree.names.push(name);
        }
        let names = Run::since(&self.tree.names, start);
        let kind = match self.tree.kind(term) {
            NodeKind::Field(_) => NodeKind::Field(names),
            NodeKind::Variable(_) => NodeKind::Variable(names),
            NodeKind::Bool(_)
            | NodeKind::String(..)
            | NodeKind::Number(_)
            | NodeKind::Nil
            | NodeKind::Dot => {
                let shown = gostr::quote(&self.tree.show(term));
                return self.fail(format!("unexpected . after term {}", String::from_utf8_lossy(&shown)));
            }
            _ => NodeKind::Chain(term, names),
        };
        Ok(Some(self.node(first.start, kind)))
    }

    pub(super) fn term(&mut self) -> Result<Option<Id>> {
        let token = self.next_non_space();
        let value = self.value(&token);
        let kind = match token.kind {
            Kind::Identifier => {
                if !self.names.has(value) {
                    return self.fail(format!(
                        "function {} not defined",
                        String::from_utf8_lossy(&gostr::quote(value))
                    ));
                }
                NodeKind::Identifier(span(&token))
            }
            Kind::Dot => NodeKind::Dot,
            Kind::Nil => NodeKind::Nil,
            Kind::Variable => {
                if !self.vars.contains(&value) {
                    return self.fail(format!(
                        "undefined variable {}",
                        String::from_utf8_lossy(&gostr::quote(value))
                    ));
                }
                NodeKind::Variable(self.name(span(&token)))
            }
            Kind::Field => NodeKind::Field(self.name(field(&token))),
            Kind::Bool => NodeKind::Bool(value == b"true"),
            Kind::CharConstant | Kind::Complex | Kind::Number => {
                let text = String::from_utf8_lossy(value);
                let number = match token.kind {
                    Kind::CharConstant => Number::from_char(&text),
                    Kind::Complex => Number::from_complex(&text),
                    _ => Number::from_text(&text),
                };
                match number {
                    Ok(number) => {
                        self.tree.numbers.push(number);
                        NodeKind::Number((self.tree.numbers.len() - 1) as u32)
                    }
                    Err(message) => return self.fail(message),
                }
            }
            Kind::LeftParen => {
                if self.parens >= MAX_PARENS {
                    return self.fail("max expression depth exceeded");
                }
                self.parens += 1;
                self.enter()?;
                let pipe = self.pipeline("parenthesized pipeline", Kind::RightParen)?;
                self.depth -= 1;
                self.parens -= 1;
                return Ok(Some(pipe));
            }
            Kind::String | Kind::RawString => NodeKind::String(self.quoted(&token)?),
            _ => {
                self.backup();
                return Ok(None);
            }
        };
        Ok(Some(self.node(token.start, kind)))
    }
}

/// A field's name without its dot.
fn field(token: &Token) -> Span {
    (token.start + 1, token.end)
}
