//! From tokens to a tree.
//!
//! The grammar is read by descent. Problems are told as the server's generated parser tells them: a token too many
//! is skipped, a missing closing one is thought to be there, and anything else ends the reading.

use std::sync::Arc;

use crate::ast::{Call, Entry, Expr, Field, Id, Kind, Literal};
use crate::lexer::{Lexeme, Token, tokens};
use crate::literal;
use crate::source::{Issues, Place};

/// How deep rules may nest.
const DEEPEST: usize = 250;
/// The characters of an expression.
const LONGEST: usize = 100_000;

/// The nodes of a tree. Only copies that macros make of copies get there.
const MOST_NODES: usize = 500_000;

/// What an expression begins with.
const FIRST: [Token; 15] = [
    Token::LeftBracket,
    Token::LeftBrace,
    Token::LeftParen,
    Token::Dot,
    Token::Minus,
    Token::Exclam,
    Token::True,
    Token::False,
    Token::Null,
    Token::Float,
    Token::Int,
    Token::Uint,
    Token::String,
    Token::Bytes,
    Token::Identifier,
];

/// What continues an expression.
const OPERATORS: [Token; 18] = [
    Token::Equals,
    Token::NotEquals,
    Token::In,
    Token::Less,
    Token::LessEquals,
    Token::GreaterEquals,
    Token::Greater,
    Token::And,
    Token::Or,
    Token::LeftBracket,
    Token::Dot,
    Token::Minus,
    Token::Question,
    Token::Plus,
    Token::Star,
    Token::Slash,
    Token::Percent,
    Token::LeftBrace,
];

/// Words that name nothing.
const RESERVED: [&str; 21] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "package",
    "namespace",
    "null",
    "return",
    "true",
    "var",
    "void",
    "while",
];

/// The reading ended; the problem has been reported.
pub struct Stop;

type Read<T> = Result<T, Stop>;

/// A tree on the heap: rules call each other deeply, and the machine's stack is small.
type Tree = Box<Expr>;

/// Rules whose nesting is limited, each by itself.
#[derive(Clone, Copy)]
enum Rule {
    Expr,
    Relation,
    Calc,
    Member,
}

/// Reads an expression.
pub struct Parser<'t> {
    text: &'t [char],
    tokens: Vec<Lexeme>,
    at: usize,
    depth: [usize; 4],
    /// What may follow the innermost open bracket's content.
    follow: Vec<Vec<Token>>,
    /// How high the tree below each node is.
    heights: Vec<usize>,
    /// The problems so far.
    pub issues: Issues,
}

/// Reads an expression, or tells what is wrong with it. The number of nodes comes with the tree.
pub fn parse(text: &str) -> Result<(Expr, usize), Issues> {
    let characters: Vec<char> = text.chars().collect();
    let mut issues = Issues::new(text);
    if characters.len() > LONGEST {
        let size = characters.len();
        issues
            .report(None, format!("expression code point size exceeds limit: size: {size}, limit {LONGEST}"));
        return Err(issues);
    }
    let tokens = tokens(&characters, &mut issues);
    let mut parser = Parser {
        text: &characters,
        tokens,
        at: 0,
        depth: [0; 4],
        follow: vec![vec![Token::End]],
        heights: Vec::new(),
        issues,
    };
    match parser.start() {
        Ok(tree) if parser.issues.is_empty() => Ok((*tree, parser.heights.len())),
        _ => Err(parser.issues),
    }
}

impl Parser<'_> {
    fn start(&mut self) -> Read<Tree> {
        let tree = self.expr()?;
        self.expect(Token::End)?;
        if self.heights.get(tree.id).is_some_and(|height| *height > DEEPEST) {
            self.issues.report(None, "max recursion depth exceeded");
            return Err(Stop);
        }
        Ok(tree)
    }

    // Tokens.

    fn token(&self, ahead: usize) -> Token {
        self.tokens.get(self.at + ahead).map_or(Token::End, |lexeme| lexeme.token)
    }

    fn place_of(&self, ahead: usize) -> Place {
        let lexeme = self.tokens.get(self.at + ahead).or(self.tokens.last());
        lexeme.and_then(|lexeme| u32::try_from(lexeme.range.start).ok())
    }

    fn text_of(&self, at: usize) -> String {
        match self.tokens.get(at) {
            Some(lexeme) if lexeme.token != Token::End => {
                self.text.get(lexeme.range.clone()).unwrap_or_default().iter().collect()
            }
            _ => "<EOF>".to_owned(),
        }
    }

    fn advance(&mut self) -> (Place, String) {
        let read = (self.place_of(0), self.text_of(self.at));
        self.at += 1;
        read
    }

    fn take(&mut self, token: Token) -> Option<Place> {
        (self.token(0) == token).then(|| self.advance().0)
    }

    // Problems.

    fn syntax(&mut self, ahead: usize, message: &str) -> Stop {
        let place = self.place_of(ahead);
        self.issues.report(place, format!("Syntax error: {message}"));
        Stop
    }

    fn unexpected(&mut self, how: &str, expected: &[Token]) -> Stop {
        let text = self.text_of(self.at).replace('\n', "\\n").replace('\t', "\\t").replace('\r', "\\r");
        let message = format!("{how} input '{text}' expecting {}", names(expected));
        self.syntax(0, &message)
    }

    /// Sees that one of some tokens is next; one token too many before it is skipped.
    fn sync(&mut self, expected: &[Token]) -> Read<()> {
        if expected.contains(&self.token(0)) {
            return Ok(());
        }
        if self.token(0) != Token::End && expected.contains(&self.token(1)) {
            self.unexpected("extraneous", expected);
            self.at += 1;
            return Ok(());
        }
        Err(self.unexpected("mismatched", expected))
    }

    /// Reads one certain token.
    fn expect(&mut self, token: Token) -> Read<Place> {
        if self.token(0) != token {
            let next = self.token(0);
            if next != Token::End && self.token(1) == token {
                self.unexpected("extraneous", &[token]);
                self.at += 1;
            } else if token != Token::End && self.may_follow(token, next) {
                let message = format!("missing {} at '{}'", token.name(), self.text_of(self.at));
                self.syntax(0, &message);
                return Ok(self.place_of(0));
            } else {
                return Err(self.unexpected("mismatched", &[token]));
            }
        }
        Ok(self.advance().0)
    }

    /// Whether a token can come right behind a missing one.
    fn may_follow(&self, missing: Token, token: Token) -> bool {
        if missing == Token::Colon {
            return FIRST.contains(&token);
        }
        let outer = self.follow.len().checked_sub(2).and_then(|outer| self.follow.get(outer));
        OPERATORS.contains(&token) || outer.is_some_and(|tokens| tokens.contains(&token))
    }

    /// The alternatives that begin alike and of which none goes on.
    fn no_viable(&mut self, from: usize, ahead: usize) -> Stop {
        let start = self.tokens.get(from).map_or(0, |lexeme| lexeme.range.start);
        let end = self.tokens.get(self.at + ahead).map_or(self.text.len(), |lexeme| lexeme.range.end);
        let input: String = self.text.get(start..end).unwrap_or_default().iter().collect();
        let input = input.replace('\n', "\\n").replace('\t', "\\t").replace('\r', "\\r");
        let message = match input.strip_prefix('.') {
            Some(word @ ("true" | "false" | "null")) => {
                format!("mismatched input '{word}' expecting IDENTIFIER")
            }
            _ => format!("no viable alternative at input '{input}'"),
        };
        self.syntax(ahead, &message)
    }

    fn broken(&mut self, place: Place, message: impl Into<String>) -> Expr {
        self.issues.report(place, message);
        self.node(place, Kind::Broken, 0)
    }

    fn enter(&mut self, rule: Rule) -> Read<()> {
        let Some(depth) = self.depth.get_mut(rule as usize) else { return Ok(()) };
        *depth += 1;
        if *depth > DEEPEST {
            self.issues.report(None, format!("expression recursion limit exceeded: {DEEPEST}"));
            return Err(Stop);
        }
        Ok(())
    }

    fn leave(&mut self, rule: Rule, levels: usize) {
        if let Some(depth) = self.depth.get_mut(rule as usize) {
            *depth = depth.saturating_sub(levels);
        }
    }

    /// Sees that an expression, a mark that it is optional, or one of some other tokens is next.
    fn sync_optional(&mut self, others: &[Token]) -> Read<()> {
        let mut expected = FIRST.to_vec();
        expected.push(Token::Question);
        expected.extend(others);
        self.sync(&expected)
    }

    // Nodes.

    /// Makes a node that is so much higher than what is below it.
    pub fn node(&mut self, place: Place, kind: Kind, higher: usize) -> Expr {
        let expr = Expr { id: self.heights.len(), place, kind };
        let below = expr.children().iter().filter_map(|child| self.heights.get(child.id)).max();
        self.heights.push(below.copied().unwrap_or(0) + higher);
        expr
    }

    /// A copy with numbers of its own.
    pub fn copy(&mut self, expr: &Expr) -> Expr {
        if self.heights.len() > MOST_NODES {
            return self.broken(expr.place, "expression is too large");
        }
        let mut copy = expr.clone();
        self.renumber(&mut copy);
        copy
    }

    fn renumber(&mut self, expr: &mut Expr) {
        let height = self.heights.get(expr.id).copied().unwrap_or(0);
        expr.id = self.heights.len() as Id;
        self.heights.push(height);
        match &mut expr.kind {
            Kind::Broken | Kind::Literal(_) | Kind::Ident(_) => {}
            Kind::Select(operand, _) | Kind::Test(operand, _) => self.renumber(operand),
            Kind::Call(call) => {
                call.target.iter_mut().for_each(|target| self.renumber(target));
                call.args.iter_mut().for_each(|arg| self.renumber(arg));
            }
            Kind::List(elements) => elements.iter_mut().for_each(|element| self.renumber(&mut element.0)),
            Kind::Map(entries) => entries.iter_mut().for_each(|entry| {
                self.renumber(&mut entry.key);
                self.renumber(&mut entry.value);
            }),
            Kind::Struct(_, fields) => fields.iter_mut().for_each(|field| self.renumber(&mut field.value)),
            Kind::Fold(fold) => {
                for part in
                    [&mut fold.range, &mut fold.start, &mut fold.condition, &mut fold.step, &mut fold.result]
                {
                    self.renumber(part);
                }
            }
        }
    }

    fn operator(&mut self, place: Place, function: &str, args: Vec<Expr>, higher: usize) -> Expr {
        self.node(place, Kind::Call(Call { target: None, function: function.into(), args }), higher)
    }

    // Rules.

    fn expr(&mut self) -> Read<Tree> {
        self.enter(Rule::Expr)?;
        let condition = self.logical(Token::Or)?;
        let Some(place) = self.take(Token::Question) else {
            self.leave(Rule::Expr, 1);
            return Ok(condition);
        };
        self.follow.push(vec![Token::Colon]);
        let truthy = self.logical(Token::Or)?;
        self.expect(Token::Colon)?;
        self.follow.pop();
        let falsy = self.expr()?;
        self.leave(Rule::Expr, 1);
        Ok(Box::new(self.operator(place, "_?_:_", vec![*condition, *truthy, *falsy], 1)))
    }

    /// A chain of `||`, or of `&&` below it.
    fn logical(&mut self, token: Token) -> Read<Tree> {
        let part = |parser: &mut Self| {
            if token == Token::Or { parser.logical(Token::And) } else { parser.relation(false) }
        };
        let mut terms = vec![part(self)?];
        let mut places = Vec::new();
        while let Some(place) = self.take(token) {
            places.push(place);
            terms.push(part(self)?);
        }
        let function = if token == Token::Or { "_||_" } else { "_&&_" };
        let mut terms: Vec<Option<Tree>> = terms.into_iter().map(Some).collect();
        Ok(self.balanced(function, &mut terms, &places))
    }

    /// A long chain becomes a low tree.
    fn balanced(&mut self, function: &str, terms: &mut [Option<Tree>], places: &[Place]) -> Tree {
        if places.is_empty() {
            let term = terms.first_mut().and_then(Option::take);
            return term.unwrap_or_else(|| Box::new(Expr { id: 0, place: None, kind: Kind::Broken }));
        }
        let middle = places.len() / 2;
        let (left, right) = terms.split_at_mut(middle + 1);
        let (before, after) = places.split_at(middle);
        let left = self.balanced(function, left, before);
        let right = self.balanced(function, right, after.get(1..).unwrap_or_default());
        Box::new(self.operator(after.first().copied().flatten(), function, vec![*left, *right], 0))
    }

    fn relation(&mut self, nested: bool) -> Read<Tree> {
        self.enter(Rule::Relation)?;
        let mut levels = 1;
        let mut left = self.calc(0)?;
        loop {
            let function = match self.token(0) {
                Token::Less => "_<_",
                Token::LessEquals => "_<=_",
                Token::GreaterEquals => "_>=_",
                Token::Greater => "_>_",
                Token::Equals => "_==_",
                Token::NotEquals => "_!=_",
                Token::In => "@in",
                _ => break,
            };
            if nested {
                break;
            }
            self.enter(Rule::Relation)?;
            levels += 1;
            let place = self.advance().0;
            let right = self.relation(true)?;
            left = Box::new(self.operator(place, function, vec![*left, *right], 1));
        }
        self.leave(Rule::Relation, levels);
        Ok(left)
    }

    /// Sums, and above them products.
    fn calc(&mut self, binding: usize) -> Read<Tree> {
        self.enter(Rule::Calc)?;
        let mut levels = 1;
        let mut left = self.unary()?;
        loop {
            let (function, strength) = match self.token(0) {
                Token::Star => ("_*_", 2),
                Token::Slash => ("_/_", 2),
                Token::Percent => ("_%_", 2),
                Token::Plus => ("_+_", 1),
                Token::Minus => ("_-_", 1),
                _ => break,
            };
            if strength <= binding {
                break;
            }
            self.enter(Rule::Calc)?;
            levels += 1;
            let place = self.advance().0;
            let right = self.calc(strength)?;
            left = Box::new(self.operator(place, function, vec![*left, *right], 1));
        }
        self.leave(Rule::Calc, levels);
        Ok(left)
    }

    fn unary(&mut self) -> Read<Tree> {
        self.sync(&FIRST)?;
        let (token, function) = match self.token(0) {
            Token::Exclam => (Token::Exclam, "!_"),
            Token::Minus if !matches!(self.token(1), Token::Int | Token::Float) => (Token::Minus, "-_"),
            _ => return self.member(),
        };
        let place = self.place_of(0);
        let start = self.at;
        let mut count = 0_usize;
        while self.token(0) == token {
            if token == Token::Minus && count > 0 && matches!(self.token(1), Token::Int | Token::Float) {
                // The last sign belongs to the signs, not to the number.
                self.advance();
                count += 1;
                break;
            }
            self.advance();
            count += 1;
        }
        let next = self.token(0);
        if !FIRST.contains(&next) || (token == Token::Minus && next == Token::Exclam) {
            let dashed: Vec<Token> = FIRST.iter().copied().filter(|t| *t != Token::Exclam).collect();
            if token == Token::Minus && count == 1 {
                return Err(self.no_viable(start, 0));
            }
            let expected: &[Token] = if token == Token::Minus { &dashed } else { &FIRST };
            return Err(self.unexpected("extraneous", expected));
        }
        let operand = self.member()?;
        if count.is_multiple_of(2) {
            return Ok(operand);
        }
        Ok(Box::new(self.operator(place, function, vec![*operand], 0)))
    }

    fn member(&mut self) -> Read<Tree> {
        self.enter(Rule::Member)?;
        let mut levels = 1;
        let mut operand = self.primary()?;
        loop {
            match self.token(0) {
                Token::Dot => {
                    self.enter(Rule::Member)?;
                    levels += 1;
                    operand = self.dotted(operand)?;
                }
                Token::LeftBracket => {
                    self.enter(Rule::Member)?;
                    levels += 1;
                    let place = self.advance().0;
                    self.sync_optional(&[])?;
                    let function = if self.take(Token::Question).is_some() { "_[?_]" } else { "_[_]" };
                    self.follow.push(vec![Token::RightBracket]);
                    let index = self.expr()?;
                    self.expect(Token::RightBracket)?;
                    self.follow.pop();
                    operand = Box::new(self.operator(place, function, vec![*operand, *index], 1));
                }
                _ => break,
            }
        }
        self.leave(Rule::Member, levels);
        Ok(operand)
    }

    /// A field or a call behind a dot.
    fn dotted(&mut self, operand: Tree) -> Read<Tree> {
        let start = self.at;
        match (self.token(1), self.token(2)) {
            (Token::Identifier, Token::LeftParen) => {
                self.advance();
                let name = self.advance().1;
                let place = self.advance().0;
                let args = self.args()?;
                Ok(Box::new(self.call_or_macro(place, Some(*operand), &name, args)))
            }
            (Token::Identifier | Token::EscapedIdentifier, _) => {
                let place = self.advance().0;
                let field = self.field_name();
                Ok(Box::new(self.node(place, Kind::Select(operand, field), 1)))
            }
            (Token::Question, _) => {
                let place = self.advance().0;
                self.advance();
                self.sync(&[Token::Identifier, Token::EscapedIdentifier])?;
                let at = self.place_of(0);
                let field = self.field_name();
                let field = self.node(at, Kind::Literal(Literal::String(field)), 0);
                Ok(Box::new(self.operator(place, "_?._", vec![*operand, field], 1)))
            }
            _ => Err(self.no_viable(start, 1)),
        }
    }

    fn field_name(&mut self) -> Arc<str> {
        let escaped = self.token(0) == Token::EscapedIdentifier;
        let (place, name) = self.advance();
        if escaped {
            self.issues.report(place, "unsupported syntax: '`'");
        }
        name.into()
    }

    fn args(&mut self) -> Read<Vec<Expr>> {
        let mut expected = FIRST.to_vec();
        expected.push(Token::RightParen);
        expected.sort();
        self.follow.push(vec![Token::RightParen, Token::Comma]);
        self.sync(&expected)?;
        let mut args = Vec::new();
        if self.token(0) != Token::RightParen {
            args.push(*self.expr()?);
            while self.take(Token::Comma).is_some() {
                args.push(*self.expr()?);
            }
        }
        self.expect(Token::RightParen)?;
        self.follow.pop();
        Ok(args)
    }

    fn primary(&mut self) -> Read<Tree> {
        let expected: Vec<Token> = FIRST.iter().copied().filter(|token| *token != Token::Exclam).collect();
        self.sync(&expected)?;
        match self.token(0) {
            Token::Dot | Token::Identifier => self.named(),
            Token::LeftParen => {
                self.advance();
                self.follow.push(vec![Token::RightParen]);
                let inner = self.expr()?;
                self.expect(Token::RightParen)?;
                self.follow.pop();
                Ok(inner)
            }
            Token::LeftBracket => self.list(),
            Token::LeftBrace => {
                let place = self.advance().0;
                self.sync_optional(&[Token::RightBrace, Token::Comma])?;
                let entries = self.entries(|parser| {
                    let optional = parser.take(Token::Question).is_some();
                    let key = *parser.expr()?;
                    parser.expect(Token::Colon)?;
                    let value = *parser.expr()?;
                    Ok(Entry { key, value, optional })
                })?;
                Ok(Box::new(self.node(place, Kind::Map(entries), 0)))
            }
            _ => self.literal(),
        }
    }

    /// A name, a call, or a message.
    fn named(&mut self) -> Read<Tree> {
        let start = self.at;
        let place = self.place_of(0);
        let dot = if self.take(Token::Dot).is_some() { "." } else { "" };
        if self.token(0) != Token::Identifier {
            return Err(self.no_viable(start, 0));
        }
        let mut ahead = 1;
        while self.token(ahead) == Token::Dot && self.token(ahead + 1) == Token::Identifier {
            ahead += 2;
        }
        if self.token(ahead) == Token::LeftBrace {
            return self.message(dot, ahead);
        }
        let (name_place, name) = self.advance();
        let reserved = RESERVED.contains(&name.as_str());
        if self.token(0) != Token::LeftParen {
            if reserved {
                return Ok(Box::new(self.broken(place, format!("reserved identifier: {name}"))));
            }
            return Ok(Box::new(self.node(name_place, Kind::Ident(format!("{dot}{name}").into()), 0)));
        }
        let call = self.advance().0;
        let args = self.args()?;
        if reserved {
            return Ok(Box::new(self.broken(place, format!("reserved identifier: {name}"))));
        }
        Ok(Box::new(self.call_or_macro(call, None, &format!("{dot}{name}"), args)))
    }

    fn message(&mut self, dot: &str, parts: usize) -> Read<Tree> {
        let mut name = dot.to_owned();
        for _ in 0..parts {
            name.push_str(&self.advance().1);
        }
        let place = self.advance().0;
        let fields = self.entries(|parser| {
            parser.take(Token::Question);
            parser.sync(&[Token::Identifier, Token::EscapedIdentifier])?;
            let name = parser.field_name();
            let place = parser.expect(Token::Colon)?;
            let value = *parser.expr()?;
            Ok(Field { place, name, value })
        })?;
        Ok(Box::new(self.node(place, Kind::Struct(name.into(), fields), 0)))
    }

    /// What is between braces; a comma may follow the last entry.
    fn entries<T>(&mut self, mut entry: impl FnMut(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        self.follow.push(vec![Token::RightBrace, Token::Comma, Token::Colon]);
        let mut found = Vec::new();
        while !matches!(self.token(0), Token::RightBrace | Token::Comma) {
            found.push(entry(self)?);
            if !begins(self.token(1)) || self.take(Token::Comma).is_none() {
                break;
            }
        }
        self.close(Token::RightBrace)?;
        Ok(found)
    }

    fn list(&mut self) -> Read<Tree> {
        let place = self.advance().0;
        self.follow.push(vec![Token::RightBracket, Token::Comma]);
        self.sync_optional(&[Token::RightBracket, Token::Comma])?;
        let mut elements = Vec::new();
        while !matches!(self.token(0), Token::RightBracket | Token::Comma) {
            let optional = self.take(Token::Question).is_some();
            elements.push((*self.expr()?, optional));
            if matches!(self.token(1), Token::RightBracket | Token::End) || self.take(Token::Comma).is_none()
            {
                break;
            }
        }
        self.close(Token::RightBracket)?;
        Ok(Box::new(self.node(place, Kind::List(elements), 0)))
    }

    fn close(&mut self, token: Token) -> Read<()> {
        self.sync(&[token, Token::Comma])?;
        self.take(Token::Comma);
        self.expect(token)?;
        self.follow.pop();
        Ok(())
    }

    fn literal(&mut self) -> Read<Tree> {
        let start = self.at;
        let place = self.place_of(0);
        let sign = if self.take(Token::Minus).is_some() { "-" } else { "" };
        let token = self.token(0);
        if !sign.is_empty() && !matches!(token, Token::Int | Token::Float) {
            return Err(self.no_viable(start, 0));
        }
        let text = self.advance().1;
        match literal::read(token, sign, &text) {
            Ok(literal) => Ok(Box::new(self.node(place, Kind::Literal(literal), 0))),
            Err(message) => Ok(Box::new(self.broken(place, message))),
        }
    }
}

/// Whether an element or a key of a literal can begin so.
fn begins(token: Token) -> bool {
    FIRST.contains(&token) || matches!(token, Token::Question | Token::EscapedIdentifier)
}

/// Tokens as a list of what was expected.
fn names(expected: &[Token]) -> String {
    match expected {
        [one] => one.name(),
        _ => {
            let mut sorted = expected.to_vec();
            sorted.sort();
            format!("{{{}}}", sorted.iter().map(|token| token.name()).collect::<Vec<_>>().join(", "))
        }
    }
}
