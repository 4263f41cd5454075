//! From text to tokens.
//!
//! Whether something is a mapping key shows only at the `:` behind it. Until then its token waits in a queue; when the
//! `:` comes, the waiting token is told that it leads a key ([`Lead`]), so nothing is ever inserted into the queue.

use std::collections::VecDeque;

use super::cursor::Cursor;
use super::error::{Fault, Mark, Outcome};
use super::input::Input;
use super::room::Room;
use super::token::{Body, Kind, Lead, Token};

/// How deep flow collections and, separately, block collections may be nested.
pub(super) const MAX_DEPTH: usize = 10_000;

/// How many characters a key without `?` may have.
pub(super) const MAX_KEY: usize = 1024;

/// A token that may turn out to be a key. There is one for each flow level.
pub(super) struct KeyGuess {
    pub possible: bool,
    /// Whether it must be one, because of its indentation.
    pub required: bool,
    /// Its number, counted from the start of the text.
    number: usize,
    mark: Mark,
    column: usize,
    index: usize,
}

/// The scanner: a queue of tokens over a cursor.
pub(super) struct Scanner<'t> {
    pub(super) cursor: Cursor<'t>,
    pub(super) queue: VecDeque<Token>,
    /// How many tokens were taken from the queue.
    taken: usize,
    /// Whether the first token of the queue is final.
    ready: bool,
    pub(super) guesses: Vec<KeyGuess>,
    /// The column of the innermost block collection; nothing outside of all.
    pub(super) indent: Option<usize>,
    /// The columns of the block collections around it.
    pub(super) indents: Vec<Option<usize>>,
    /// Whether a key may start at the cursor.
    pub(super) key_allowed: bool,
}

impl<'t> Scanner<'t> {
    pub fn new(input: &'t Input<'_>, room: &mut Room) -> Outcome<Self> {
        let mut cursor = Cursor::new(input);
        cursor.need(1)?;
        let outermost = KeyGuess {
            possible: false,
            required: false,
            number: 0,
            mark: Mark::default(),
            column: 0,
            index: 0,
        };
        let mut guesses = std::mem::take(&mut room.guesses);
        guesses.push(outermost);
        Ok(Self {
            cursor,
            queue: std::mem::take(&mut room.queue),
            taken: 0,
            ready: false,
            guesses,
            indent: None,
            indents: std::mem::take(&mut room.indents),
            key_allowed: true,
        })
    }

    /// The kind of the next token.
    pub fn peek(&mut self) -> Outcome<Kind> {
        if !self.ready {
            self.fill()?;
        }
        Ok(match self.queue.front() {
            Some(token) => match token.lead {
                Lead::None => token.kind,
                Lead::Key => Kind::Key,
                Lead::MappingAndKey => Kind::BlockMappingStart,
            },
            None => Kind::StreamEnd,
        })
    }

    /// The place of the next token, which must have been looked at.
    pub fn mark(&self) -> Mark {
        self.queue.front().map(|token| token.mark).unwrap_or_default()
    }

    /// The place behind the next token, an indicator which must have been looked at.
    pub fn mark_behind(&self) -> Mark {
        let mark = self.mark();
        let width = self.queue.front().map_or(0, |token| u32::from(token.lead == Lead::None));
        Mark { line: mark.line, column: mark.column.saturating_add(width) }
    }

    /// Takes the next token, which must have been looked at.
    pub fn take(&mut self) -> Body {
        if let Some(token) = self.queue.front_mut() {
            match token.lead {
                Lead::None => {}
                Lead::Key => {
                    token.lead = Lead::None;
                    return Body::None;
                }
                Lead::MappingAndKey => {
                    token.lead = Lead::Key;
                    return Body::None;
                }
            }
        }
        self.ready = false;
        self.taken += 1;
        self.queue.pop_front().map_or(Body::None, |token| token.body)
    }

    /// Scans until the first token of the queue cannot become a key any more, or has become one.
    fn fill(&mut self) -> Outcome<()> {
        loop {
            if let Some(first) = self.queue.front() {
                let waits = first.waits;
                if waits == 0 || !self.is_key_possible(waits as usize - 1)? {
                    break;
                }
            }
            self.fetch()?;
        }
        self.ready = true;
        Ok(())
    }

    /// How deep the cursor is in flow collections.
    pub(super) fn flow(&self) -> usize {
        self.guesses.len() - 1
    }

    /// The least column of text that continues a scalar.
    pub(super) fn content_column(&self) -> usize {
        self.indent.map_or(0, |indent| indent + 1)
    }

    fn push(&mut self, kind: Kind, mark: Mark, body: Body) {
        self.queue.push_back(Token::new(kind, mark, body));
    }

    /// Scans one token, or what must come before it.
    fn fetch(&mut self) -> Outcome<()> {
        self.cursor.need(1)?;
        self.skip_gap()?;
        self.close_blocks(Some(self.cursor.column()));
        self.cursor.need(4)?;
        let flow = self.flow() > 0;
        let first = self.cursor.peek(0);
        if self.cursor.is_line_start() {
            match first {
                b'%' => return self.fetch_directive(),
                b'-' | b'.' if self.at_document_mark() => return self.fetch_document_mark(first),
                _ => {}
            }
        }
        match first {
            0 => self.fetch_end(),
            b'[' => self.fetch_flow_start(Kind::FlowSequenceStart),
            b'{' => self.fetch_flow_start(Kind::FlowMappingStart),
            b']' => self.fetch_flow_end(Kind::FlowSequenceEnd),
            b'}' => self.fetch_flow_end(Kind::FlowMappingEnd),
            b',' => self.fetch_flow_entry(),
            b'-' if self.cursor.is_gap(1) => self.fetch_block_entry(),
            b'?' if flow || self.cursor.is_gap(1) => self.fetch_key(),
            b':' if flow || self.cursor.is_gap(1) => self.fetch_value(),
            b'*' => self.fetch_with_key(Kind::Alias),
            b'&' => self.fetch_with_key(Kind::Anchor),
            b'!' => self.fetch_with_key(Kind::Tag),
            b'|' | b'>' if !flow => self.fetch_block_scalar(first == b'|'),
            b'\'' | b'"' => self.fetch_with_key(Kind::Scalar),
            b'\t' | b'#' | b'|' | b'>' | b'%' | b'@' | b'`' => {
                Err(self.cursor.fault("found character that cannot start any token"))
            }
            _ => self.fetch_with_key(Kind::Scalar),
        }
    }

    /// Moves over spaces, comments and line breaks.
    pub(super) fn skip_gap(&mut self) -> Outcome<()> {
        loop {
            self.cursor.need(1)?;
            self.cursor.skip_bom();
            self.cursor.need(1)?;
            // A tab is no indentation.
            let tabs = self.flow() > 0 || !self.key_allowed;
            loop {
                match self.cursor.peek(0) {
                    b' ' => self.cursor.skip(1),
                    b'\t' if tabs => self.cursor.skip(1),
                    _ => break,
                }
            }
            self.cursor.need(1)?;
            if self.cursor.peek(0) == b'#' {
                self.cursor.skip_line_rest()?;
            }
            if !self.cursor.is_break(0) {
                return Ok(());
            }
            self.cursor.need(2)?;
            self.cursor.skip_break();
            if self.flow() == 0 {
                self.key_allowed = true;
            }
        }
    }

    /// Whether `---` or `...` stands alone at the cursor.
    pub(super) fn at_document_mark(&self) -> bool {
        let text = self.cursor.text.get(self.cursor.at..).unwrap_or_default();
        (text.starts_with(b"---") || text.starts_with(b"...")) && self.cursor.is_gap(3)
    }

    /// Whether the guess of a flow level can still come true. Fails if it has to and cannot.
    fn is_key_possible(&mut self, level: usize) -> Outcome<bool> {
        let Some(guess) = self.guesses.get_mut(level) else { return Ok(false) };
        if !guess.possible {
            return Ok(false);
        }
        if guess.mark.line < self.cursor.line || guess.index + MAX_KEY < self.cursor.index() {
            if guess.required {
                return Err(missing_colon(&self.cursor));
            }
            guess.possible = false;
            return Ok(false);
        }
        Ok(true)
    }

    /// Notes that the next token may be a key, and says for which flow level it has to wait.
    fn guess_key(&mut self) -> Outcome<u32> {
        if !self.key_allowed {
            return Ok(0);
        }
        let column = self.cursor.column();
        let required = self.flow() == 0 && self.indent == Some(column);
        self.drop_guess()?;
        let number = self.taken + self.queue.len();
        let (mark, index) = (self.cursor.mark(), self.cursor.index());
        if let Some(guess) = self.guesses.last_mut() {
            *guess = KeyGuess { possible: true, required, number, mark, column, index };
        }
        Ok(self.guesses.len() as u32)
    }

    /// Gives up the guess of this flow level. Fails if it had to come true.
    fn drop_guess(&mut self) -> Outcome<()> {
        let Some(guess) = self.guesses.last_mut() else { return Ok(()) };
        if !guess.possible {
            return Ok(());
        }
        if guess.required {
            return Err(missing_colon(&self.cursor));
        }
        guess.possible = false;
        let number = guess.number;
        self.let_go(number);
        Ok(())
    }

    /// A token needs to wait no longer.
    fn let_go(&mut self, number: usize) {
        if let Some(token) = number.checked_sub(self.taken).and_then(|at| self.queue.get_mut(at)) {
            token.waits = 0;
        }
    }

    /// Opens a block collection if the column is further right than the innermost one; says whether it did.
    fn open_block(&mut self, column: usize) -> Outcome<bool> {
        if self.flow() > 0 || self.indent >= Some(column) {
            return Ok(false);
        }
        self.indents.push(self.indent);
        self.indent = Some(column);
        if self.indents.len() > MAX_DEPTH {
            return Err(self.cursor.fault(&format!("exceeded max depth of {MAX_DEPTH}")));
        }
        Ok(true)
    }

    /// Ends the block collections that are further right than the column.
    fn close_blocks(&mut self, column: Option<usize>) {
        if self.flow() > 0 {
            return;
        }
        while self.indent > column {
            self.push(Kind::BlockEnd, self.cursor.mark(), Body::None);
            self.indent = self.indents.pop().flatten();
        }
    }

    /// Takes an indicator of one character.
    fn indicator(&mut self, kind: Kind) {
        let mark = self.cursor.mark();
        self.cursor.skip(1);
        self.push(kind, mark, Body::None);
    }

    fn fetch_end(&mut self) -> Outcome<()> {
        self.cursor.end_line();
        self.close_blocks(None);
        self.drop_guess()?;
        self.key_allowed = false;
        self.push(Kind::StreamEnd, self.cursor.mark(), Body::None);
        Ok(())
    }

    fn fetch_directive(&mut self) -> Outcome<()> {
        self.close_blocks(None);
        self.drop_guess()?;
        self.key_allowed = false;
        let mark = self.cursor.mark();
        let (kind, body) = self.scan_directive()?;
        self.push(kind, mark, body);
        Ok(())
    }

    fn fetch_document_mark(&mut self, first: u8) -> Outcome<()> {
        self.close_blocks(None);
        self.drop_guess()?;
        self.key_allowed = false;
        let mark = self.cursor.mark();
        self.cursor.skip(3);
        let kind = if first == b'-' { Kind::DocumentStart } else { Kind::DocumentEnd };
        self.push(kind, mark, Body::None);
        Ok(())
    }

    fn fetch_flow_start(&mut self, kind: Kind) -> Outcome<()> {
        let waits = self.guess_key()?;
        let number = self.taken + self.queue.len();
        let mark = self.cursor.mark();
        self.guesses.push(KeyGuess { possible: false, required: false, number, mark, column: 0, index: 0 });
        if self.flow() > MAX_DEPTH {
            return Err(self.cursor.fault(&format!("exceeded max depth of {MAX_DEPTH}")));
        }
        self.key_allowed = true;
        self.cursor.skip(1);
        self.queue.push_back(Token { waits, ..Token::new(kind, mark, Body::None) });
        Ok(())
    }

    fn fetch_flow_end(&mut self, kind: Kind) -> Outcome<()> {
        self.drop_guess()?;
        if self.flow() > 0
            && let Some(guess) = self.guesses.pop()
        {
            // If nothing inside could be a key, this lets the start of the collection go, so that `{}: x` is not a
            // mapping to go-yaml.
            self.let_go(guess.number);
        }
        self.key_allowed = false;
        self.indicator(kind);
        Ok(())
    }

    fn fetch_flow_entry(&mut self) -> Outcome<()> {
        self.drop_guess()?;
        self.key_allowed = true;
        self.indicator(Kind::FlowEntry);
        Ok(())
    }

    fn fetch_block_entry(&mut self) -> Outcome<()> {
        if self.flow() == 0 {
            self.start_block(
                Kind::BlockSequenceStart,
                "block sequence entries are not allowed in this context",
            )?;
        }
        self.drop_guess()?;
        self.key_allowed = true;
        self.indicator(Kind::BlockEntry);
        Ok(())
    }

    fn fetch_key(&mut self) -> Outcome<()> {
        if self.flow() == 0 {
            self.start_block(Kind::BlockMappingStart, "mapping keys are not allowed in this context")?;
        }
        self.drop_guess()?;
        self.key_allowed = self.flow() == 0;
        self.indicator(Kind::Key);
        Ok(())
    }

    /// Opens a block collection at the cursor if needed; `refusal` if none may start here.
    fn start_block(&mut self, kind: Kind, refusal: &str) -> Outcome<()> {
        if !self.key_allowed {
            return Err(self.cursor.fault(refusal));
        }
        if self.open_block(self.cursor.column())? {
            self.push(kind, self.cursor.mark(), Body::None);
        }
        Ok(())
    }

    fn fetch_value(&mut self) -> Outcome<()> {
        if self.is_key_possible(self.flow())? {
            self.confirm_guess()?;
            self.key_allowed = false;
        } else {
            if self.flow() == 0 {
                self.start_block(Kind::BlockMappingStart, "mapping values are not allowed in this context")?;
            }
            self.key_allowed = self.flow() == 0;
        }
        self.indicator(Kind::Value);
        Ok(())
    }

    /// The guess of this flow level came true.
    fn confirm_guess(&mut self) -> Outcome<()> {
        let Some(guess) = self.guesses.last_mut() else { return Ok(()) };
        guess.possible = false;
        let (number, column, mark) = (guess.number, guess.column, guess.mark);
        let opened = self.open_block(column)?;
        match number.checked_sub(self.taken).and_then(|at| self.queue.get_mut(at)) {
            Some(token) => {
                token.lead = if opened { Lead::MappingAndKey } else { Lead::Key };
                token.waits = 0;
            }
            // It was let go too early and is gone: go-yaml reports the key late.
            None => {
                self.push(Kind::Key, mark, Body::None);
                if opened {
                    self.push(Kind::BlockMappingStart, mark, Body::None);
                }
            }
        }
        Ok(())
    }

    /// Scans a token that may be a key.
    fn fetch_with_key(&mut self, kind: Kind) -> Outcome<()> {
        let waits = self.guess_key()?;
        self.key_allowed = false;
        let mark = self.cursor.mark();
        let body = match (kind, self.cursor.peek(0)) {
            (Kind::Alias | Kind::Anchor, _) => self.scan_name()?,
            (Kind::Tag, _) => self.scan_tag()?,
            (_, b'\'') => Body::Scalar(self.scan_single()?),
            (_, b'"') => Body::Scalar(self.scan_double()?),
            _ => Body::Scalar(self.scan_plain()?),
        };
        self.queue.push_back(Token { waits, ..Token::new(kind, mark, body) });
        Ok(())
    }

    fn fetch_block_scalar(&mut self, literal: bool) -> Outcome<()> {
        self.drop_guess()?;
        self.key_allowed = true;
        let mark = self.cursor.mark();
        let body = Body::Scalar(self.scan_block(literal)?);
        self.push(Kind::Scalar, mark, body);
        Ok(())
    }
}

fn missing_colon(cursor: &Cursor<'_>) -> Box<Fault> {
    cursor.fault("could not find expected ':'")
}
