//! Go's syntax of regular expressions (with its Perl flags) to a tree.
//!
//! The parser keeps one frame per open group and never recurses, so that depth costs memory only; the depth of the
//! finished tree has a limit of its own.

mod class;
mod scan;

use std::cell::Cell;

use crate::error::{Error, ErrorKind};
use crate::expr::{Expr, Kind, Place};
use crate::set::RuneSet;
use scan::decode;

/// Levels of a tree. Go allows 1000; building the automaton takes 1.5 kB of stack per level, and our callers may have
/// used most of theirs.
const MAX_HEIGHT: u32 = 250;
/// Copies that nested counted repetitions make, as in Go.
const MAX_COPIES: u32 = 1000;
/// Instructions that Go would compile to, as in Go.
const MAX_SIZE: u64 = (128 << 20) / 40;
/// States of the automaton, estimated. `\pL{1000}` needs 300 000 of them and 50 MB.
const MAX_COST: u64 = 1_000_000;

/// A parsed pattern.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub expr: Expr,
    /// The names of the groups from 0, the whole match; empty where a group has none.
    pub names: Vec<Box<str>>,
    /// Whether `\B` occurs.
    pub not_word_boundary: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Flags {
    fold: bool,
    multi_line: bool,
    dot_newline: bool,
    swap_greed: bool,
}

/// An open group: what was finished in it and what is being read.
#[derive(Debug)]
struct Frame {
    /// The group's number; nothing for a group that only groups.
    index: Option<u32>,
    /// The flags to go back to at its end.
    flags: Flags,
    alternatives: Vec<Expr>,
    sequence: Vec<Expr>,
}

impl Frame {
    fn new(index: Option<u32>, flags: Flags) -> Self {
        Self { index, flags, alternatives: Vec::new(), sequence: Vec::new() }
    }
}

struct Parser<'p> {
    pattern: &'p [u8],
    flags: Flags,
    outer: Vec<Frame>,
    top: Frame,
    names: Vec<Box<str>>,
    /// Where the repetition that was read just before starts.
    last_repeat: Option<usize>,
    not_word_boundary: bool,
    /// Whether `:]` is known not to come any more, so that it is looked for only once.
    no_named_class: Cell<bool>,
}

/// Reads a pattern.
pub(crate) fn parse(pattern: &[u8]) -> Result<Parsed, Error> {
    let flags = Flags::default();
    let top = Frame::new(None, flags);
    let mut parser = Parser {
        pattern,
        flags,
        outer: Vec::new(),
        top,
        names: vec!["".into()],
        last_repeat: None,
        not_word_boundary: false,
        no_named_class: Cell::new(false),
    };
    let mut at = 0;
    while at < pattern.len() {
        at = parser.item(at)?;
    }
    let expr = parser.close_alternatives()?;
    if !parser.outer.is_empty() {
        return Err(Error::new(ErrorKind::MissingParen, pattern));
    }
    Ok(Parsed { expr, names: parser.names, not_word_boundary: parser.not_word_boundary })
}

impl<'p> Parser<'p> {
    fn rest(&self, at: usize) -> &'p [u8] {
        self.pattern.get(at..).unwrap_or_default()
    }

    fn slice(&self, from: usize, to: usize) -> &'p [u8] {
        self.pattern.get(from..to).unwrap_or_default()
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.pattern.get(at).copied()
    }

    fn error<T>(&self, kind: ErrorKind, from: usize, to: usize) -> Result<T, Error> {
        Err(Error::new(kind, self.slice(from, to)))
    }

    /// The code point at a place and the place after it.
    fn rune(&self, at: usize) -> Result<(u32, usize), Error> {
        match decode(self.rest(at)) {
            Some((c, width)) => Ok((c, at + width)),
            None => self.error(ErrorKind::InvalidUtf8, at, self.pattern.len()),
        }
    }

    /// Reads one item and says where the next one starts.
    fn item(&mut self, at: usize) -> Result<usize, Error> {
        let mut repeat = None;
        let next = match self.byte(at).unwrap_or_default() {
            b'(' if self.byte(at + 1) == Some(b'?') => self.flags_or_group(at)?,
            b'(' => {
                self.open(Some(""));
                at + 1
            }
            b'|' => {
                let alternative = self.close_sequence()?;
                self.top.alternatives.push(alternative);
                at + 1
            }
            b')' => {
                self.close_group()?;
                at + 1
            }
            b'^' => {
                self.place(if self.flags.multi_line { Place::LineStart } else { Place::TextStart }, at + 1)?
            }
            b'$' => {
                self.place(if self.flags.multi_line { Place::LineEnd } else { Place::TextEnd }, at + 1)?
            }
            b'.' => {
                let set = if self.flags.dot_newline { RuneSet::any() } else { RuneSet::any_but_newline() };
                self.push(Expr::class(set))?;
                at + 1
            }
            b'[' => {
                let (set, next) = self.bracket(at)?;
                self.push(Expr::class(set))?;
                next
            }
            b'*' => {
                repeat = Some(at);
                self.repeat(at, at + 1, 0, None, false)?
            }
            b'+' => {
                repeat = Some(at);
                self.repeat(at, at + 1, 1, None, false)?
            }
            b'?' => {
                repeat = Some(at);
                self.repeat(at, at + 1, 0, Some(1), false)?
            }
            b'{' => match scan::counts(self.rest(at)) {
                Some((counts, width)) => {
                    repeat = Some(at);
                    self.counted(at, at + width, counts)?
                }
                None => self.literal(u32::from(b'{'), at + 1)?,
            },
            b'\\' => self.backslash(at)?,
            _ => {
                let (rune, next) = self.rune(at)?;
                self.literal(rune, next)?
            }
        };
        self.last_repeat = repeat;
        Ok(next)
    }

    fn check(&self, expr: &Expr) -> Result<(), Error> {
        if expr.size > MAX_SIZE || expr.cost > MAX_COST && expr.copies <= MAX_COPIES {
            return self.error(ErrorKind::Large, 0, self.pattern.len());
        }
        if expr.height > MAX_HEIGHT {
            return self.error(ErrorKind::NestingDepth, 0, self.pattern.len());
        }
        Ok(())
    }

    /// Adds an item to the sequence. Two literals that wait there become one first: the last one stays alone as
    /// long as a repetition can still take it.
    fn push(&mut self, expr: Expr) -> Result<(), Error> {
        self.check(&expr)?;
        self.join_literals();
        self.top.sequence.push(expr);
        Ok(())
    }

    fn join_literals(&mut self) {
        let Some(last) = self.top.sequence.pop() else { return };
        if let (Kind::Literal { runes: tail, fold: last_fold }, Some(before)) =
            (&last.kind, self.top.sequence.last_mut())
            && let Kind::Literal { runes, fold } = &mut before.kind
            && fold == last_fold
        {
            runes.extend_from_slice(tail);
            before.size += last.size;
            before.cost = before.cost.saturating_add(last.cost);
            return;
        }
        self.top.sequence.push(last);
    }

    fn literal(&mut self, rune: u32, next: usize) -> Result<usize, Error> {
        self.push(Expr::literal(rune, self.flags.fold))?;
        Ok(next)
    }

    fn place(&mut self, place: Place, next: usize) -> Result<usize, Error> {
        self.push(Expr::leaf(Kind::Place(place)))?;
        Ok(next)
    }

    fn open(&mut self, name: Option<&str>) {
        let index = name.map(|name| {
            self.names.push(name.into());
            (self.names.len() - 1) as u32
        });
        let inner = Frame::new(index, self.flags);
        self.outer.push(std::mem::replace(&mut self.top, inner));
    }

    fn close_sequence(&mut self) -> Result<Expr, Error> {
        self.join_literals();
        let expr = Expr::concat(std::mem::take(&mut self.top.sequence));
        self.check(&expr)?;
        Ok(expr)
    }

    fn close_alternatives(&mut self) -> Result<Expr, Error> {
        let last = self.close_sequence()?;
        if self.top.alternatives.is_empty() {
            return Ok(last);
        }
        let mut alternatives = std::mem::take(&mut self.top.alternatives);
        alternatives.push(last);
        let expr = Expr::alternate(alternatives);
        self.check(&expr)?;
        Ok(expr)
    }

    fn close_group(&mut self) -> Result<(), Error> {
        let inner = self.close_alternatives()?;
        let Some(outer) = self.outer.pop() else {
            return self.error(ErrorKind::UnexpectedParen, 0, self.pattern.len());
        };
        let group = std::mem::replace(&mut self.top, outer);
        self.flags = group.flags;
        self.push(match group.index {
            Some(index) => Expr::group(index, inner),
            None => inner,
        })
    }

    fn counted(&mut self, at: usize, after: usize, counts: scan::Counts) -> Result<usize, Error> {
        match counts {
            Some((min, max))
                if min <= MAX_COPIES && max.is_none_or(|max| max <= MAX_COPIES && min <= max) =>
            {
                self.repeat(at, after, min, max, true)
            }
            _ => self.error(ErrorKind::InvalidRepeatSize, at, after),
        }
    }

    /// Repeats the last item; the operator was read from `at` to `after`.
    fn repeat(
        &mut self,
        at: usize,
        mut after: usize,
        min: u32,
        max: Option<u32>,
        counted: bool,
    ) -> Result<usize, Error> {
        let mut greedy = !self.flags.swap_greed;
        if self.byte(after) == Some(b'?') {
            after += 1;
            greedy = !greedy;
        }
        if let Some(before) = self.last_repeat {
            return self.error(ErrorKind::InvalidRepeatOp, before, after);
        }
        let Some(sub) = self.top.sequence.pop() else {
            return self.error(ErrorKind::MissingRepeatArgument, at, after);
        };
        let expr = Expr::repeat(min, max, greedy, counted, sub);
        self.check(&expr)?;
        if counted && max.unwrap_or(min) >= 2 && expr.copies > MAX_COPIES {
            return self.error(ErrorKind::InvalidRepeatSize, at, after);
        }
        self.top.sequence.push(expr);
        Ok(after)
    }

    /// Reads what starts with `(?`: flags, a group with flags, or a group with a name.
    fn flags_or_group(&mut self, at: usize) -> Result<usize, Error> {
        let name_at = match self.rest(at + 2) {
            [b'P', b'<', _, ..] => Some(at + 4),
            [b'<', _, ..] => Some(at + 3),
            _ => None,
        };
        if let Some(name_at) = name_at {
            return self.named_group(at, name_at);
        }
        let mut flags = self.flags;
        let mut on = true;
        let mut saw_flag = false;
        let mut t = at + 2;
        while t < self.pattern.len() {
            let (c, next) = self.rune(t)?;
            t = next;
            let flag = match char::from_u32(c) {
                Some('i') => &mut flags.fold,
                Some('m') => &mut flags.multi_line,
                Some('s') => &mut flags.dot_newline,
                Some('U') => &mut flags.swap_greed,
                Some('-') if on => {
                    on = false;
                    saw_flag = false;
                    continue;
                }
                Some(end @ (':' | ')')) if on || saw_flag => {
                    if end == ':' {
                        self.open(None);
                    }
                    self.flags = flags;
                    return Ok(t);
                }
                _ => break,
            };
            *flag = on;
            saw_flag = true;
        }
        self.error(ErrorKind::InvalidPerlOp, at, t)
    }

    fn named_group(&mut self, at: usize, name_at: usize) -> Result<usize, Error> {
        let Some(end) = self.rest(at).iter().position(|b| *b == b'>').map(|n| at + n) else {
            self.check_utf8(at, self.pattern.len())?;
            return self.error(ErrorKind::InvalidNamedCapture, at, self.pattern.len());
        };
        self.check_utf8(name_at, end)?;
        let name = std::str::from_utf8(self.slice(name_at, end)).unwrap_or_default();
        if name.is_empty() || !name.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric()) {
            return self.error(ErrorKind::InvalidNamedCapture, at, end + 1);
        }
        self.open(Some(name));
        Ok(end + 1)
    }

    fn check_utf8(&self, from: usize, to: usize) -> Result<(), Error> {
        match std::str::from_utf8(self.slice(from, to)) {
            Ok(_) => Ok(()),
            Err(e) => self.error(ErrorKind::InvalidUtf8, from + e.valid_up_to(), to),
        }
    }

    fn backslash(&mut self, at: usize) -> Result<usize, Error> {
        match self.byte(at + 1) {
            Some(b'A') => return self.place(Place::TextStart, at + 2),
            Some(b'z') => return self.place(Place::TextEnd, at + 2),
            Some(b'b') => return self.place(Place::WordBoundary, at + 2),
            Some(b'B') => {
                self.not_word_boundary = true;
                return self.place(Place::NotWordBoundary, at + 2);
            }
            Some(b'C') => return self.error(ErrorKind::InvalidEscape, at, at + 2),
            Some(b'Q') => return self.quoted(at + 2),
            _ => {}
        }
        if let Some((set, next)) = self.class_escape(at)? {
            self.push(Expr::class(set))?;
            return Ok(next);
        }
        let (rune, next) = self.escape(at)?;
        self.literal(rune, next)
    }

    /// Reads literals up to `\E` or the end.
    fn quoted(&mut self, from: usize) -> Result<usize, Error> {
        let length = self.rest(from).windows(2).position(|pair| pair == b"\\E");
        let end = length.map_or(self.pattern.len(), |n| from + n);
        let mut at = from;
        while at < end {
            // What is not UTF-8 is reported up to the end of the quotation, not of the pattern.
            let Some((rune, width)) = decode(self.slice(at, end)) else {
                return self.error(ErrorKind::InvalidUtf8, at, end);
            };
            at = self.literal(rune, at + width)?;
        }
        Ok(if length.is_some() { end + 2 } else { end })
    }
}
