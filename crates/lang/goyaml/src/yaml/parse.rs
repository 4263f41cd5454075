//! From tokens to nodes: the first document of a text.
//!
//! The parser is a loop over a stack of what is expected next, so nesting costs no machine stack.

use std::collections::BTreeMap;

use super::error::{Fault, Mark, Outcome};
use super::input::Input;
use super::quick::Next;
use super::room::Room;
use super::scan::Scanner;
use super::tape::{Entry, Shape, Tape};
use super::token::{Body, Kind, Scalar};

/// What is expected next.
#[derive(Clone, Copy)]
pub(super) enum Expect {
    /// An entry of a block sequence, or its end.
    BlockItem,
    /// An entry of a block sequence at the column of its key. Whatever else comes ends it.
    InlineItem,
    BlockKey,
    BlockValue,
    FlowItem {
        first: bool,
    },
    /// The parts of a mapping of one pair in a flow sequence, as in `[a: b]`.
    PairKey,
    PairValue,
    PairEnd,
    FlowKey {
        first: bool,
    },
    FlowValue,
    /// The value of a key that has none, as in `{a}`.
    NoValue,
}

/// Which nodes may stand at a place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Flow,
    Block,
    /// As `Block`, but a sequence need not be indented.
    BlockOrInline,
}

/// How deep a JSON text may be nested for Go to read it.
const MAX_SIMPLE_DEPTH: usize = 10_000;

/// Whether a plain key may be null, a number that no key can be, or a merge.
fn is_odd_key(key: &[u8]) -> bool {
    match key {
        b"" | b"~" | b"<<" | b"null" | b"Null" | b"NULL" => true,
        [b'0'..=b'9', ..] => key.len() > 17,
        _ => false,
    }
}

/// Whether a plain scalar may be infinite or not a number.
fn is_not_finite(text: &[u8]) -> bool {
    matches!(text, [b'.', _, _, _] | [b'+' | b'-', b'.', _, _, _])
}

struct Parser<'t, 'p> {
    scanner: Scanner<'t>,
    tape: &'p mut Tape<'t>,
    keep: usize,
    expected: Vec<Expect>,
    /// The collections that are open, as indexes of the tape.
    open: Vec<usize>,
    anchors: BTreeMap<&'t [u8], usize>,
    /// What `%TAG` lines say.
    handles: BTreeMap<Vec<u8>, Vec<u8>>,
}

/// Parses the first document. An empty tape means that there is none.
///
/// Nodes inside more than `keep` collections are parsed, but not put on the tape.
pub(super) fn parse<'t>(input: &'t Input<'_>, keep: usize) -> Outcome<Tape<'t>> {
    let mut tape = Tape::new(&input.text, keep == usize::MAX);
    let mut room = Room::find();
    let mut parser = Parser {
        scanner: Scanner::new(input, &mut room)?,
        tape: &mut tape,
        keep,
        expected: room.expected,
        open: room.open,
        anchors: BTreeMap::new(),
        handles: BTreeMap::new(),
    };
    let parsed = parser.document();
    let Parser { scanner: Scanner { queue, guesses, indents, .. }, expected, open, .. } = parser;
    Room { queue, guesses, indents, expected, open }.leave();
    parsed.map(|()| tape)
}

impl<'t> Parser<'t, '_> {
    fn document(&mut self) -> Outcome<()> {
        match self.scanner.peek()? {
            Kind::StreamEnd => return Ok(()),
            Kind::VersionDirective | Kind::TagDirective | Kind::DocumentStart => {
                self.directives()?;
                if self.scanner.peek()? != Kind::DocumentStart {
                    return Err(self.fault("did not find expected <document start>"));
                }
                self.scanner.take();
                match self.scanner.peek()? {
                    Kind::VersionDirective
                    | Kind::TagDirective
                    | Kind::DocumentStart
                    | Kind::DocumentEnd
                    | Kind::StreamEnd => self.missing(self.scanner.mark()),
                    _ => self.node(Place::Block)?,
                }
            }
            _ => {
                self.directives()?;
                self.node(Place::Block)?;
            }
        }
        while let Some(expect) = self.expected.pop() {
            self.step(expect)?;
        }
        // Only what follows shows that the document is over.
        self.scanner.peek()?;
        Ok(())
    }

    fn fault(&self, problem: &str) -> Box<Fault> {
        self.scanner.cursor.fault_at(self.scanner.mark(), problem)
    }

    fn directives(&mut self) -> Outcome<()> {
        let mut versioned = false;
        loop {
            match self.scanner.peek()? {
                Kind::VersionDirective => {
                    if versioned {
                        return Err(self.fault("found duplicate %YAML directive"));
                    }
                    versioned = true;
                    let wrong = self.fault("found incompatible YAML document");
                    if !matches!(self.scanner.take(), Body::Version(1, 1)) {
                        return Err(wrong);
                    }
                }
                Kind::TagDirective => {
                    let duplicate = self.fault("found duplicate %TAG directive");
                    if let Body::Tag(tag) = self.scanner.take() {
                        let (handle, prefix) = *tag;
                        if self.handles.insert(handle, prefix).is_some() {
                            return Err(duplicate);
                        }
                    }
                }
                _ => break,
            }
        }
        Ok(())
    }

    fn step(&mut self, expect: Expect) -> Outcome<()> {
        match expect {
            Expect::BlockItem => self.block_item(),
            Expect::InlineItem => self.inline_item(),
            Expect::BlockKey => self.block_key(),
            Expect::BlockValue => self.block_value(),
            Expect::FlowItem { first } => self.flow_item(first),
            Expect::PairKey => self.pair_key(),
            Expect::PairValue => {
                self.after_value(Expect::PairEnd, Place::Flow, &[Kind::FlowEntry, Kind::FlowSequenceEnd])
            }
            Expect::PairEnd => {
                self.scanner.peek()?;
                self.close();
                Ok(())
            }
            Expect::FlowKey { first } => self.flow_key(first),
            Expect::FlowValue => self.after_value(
                Expect::FlowKey { first: false },
                Place::Flow,
                &[Kind::FlowEntry, Kind::FlowMappingEnd],
            ),
            Expect::NoValue => {
                self.scanner.peek()?;
                self.expected.push(Expect::FlowKey { first: false });
                self.missing(self.scanner.mark());
                Ok(())
            }
        }
    }

    /// A node, unless one of `ends` comes first: then it was left out.
    fn node_unless(&mut self, ends: &[Kind], place: Place, mark: Mark) -> Outcome<()> {
        if ends.contains(&self.scanner.peek()?) {
            self.missing(mark);
            return Ok(());
        }
        self.node(place)
    }

    fn block_item(&mut self) -> Outcome<()> {
        match self.scanner.quick_look() {
            Next::Item => return self.quick_item(Expect::BlockItem, Place::Block),
            Next::End => {
                self.scanner.quick_close();
                self.close();
                return Ok(());
            }
            _ => {}
        }
        match self.scanner.peek()? {
            Kind::BlockEntry => {
                let mark = self.scanner.mark_behind();
                self.scanner.take();
                self.expected.push(Expect::BlockItem);
                self.node_unless(&[Kind::BlockEntry, Kind::BlockEnd], Place::Block, mark)
            }
            Kind::BlockEnd => {
                self.scanner.take();
                self.close();
                Ok(())
            }
            _ => Err(self.fault("did not find expected '-' indicator")),
        }
    }

    fn inline_item(&mut self) -> Outcome<()> {
        match self.scanner.quick_look() {
            Next::Item => return self.quick_item(Expect::InlineItem, Place::Block),
            Next::Key(_) | Next::End => {
                self.close();
                return Ok(());
            }
            _ => {}
        }
        if self.scanner.peek()? != Kind::BlockEntry {
            self.close();
            return Ok(());
        }
        let mark = self.scanner.mark_behind();
        self.scanner.take();
        self.expected.push(Expect::InlineItem);
        self.node_unless(&[Kind::BlockEntry, Kind::Key, Kind::Value, Kind::BlockEnd], Place::Block, mark)
    }

    fn block_key(&mut self) -> Outcome<()> {
        loop {
            match self.scanner.quick_look() {
                Next::Key(end) => {
                    if !self.quick_pair(end)? {
                        return Ok(());
                    }
                }
                Next::End => {
                    self.scanner.quick_close();
                    self.close();
                    return Ok(());
                }
                _ => break,
            }
        }
        match self.scanner.peek()? {
            Kind::Key => {
                let mark = self.scanner.mark_behind();
                self.scanner.take();
                self.expected.push(Expect::BlockValue);
                self.node_unless(&[Kind::Key, Kind::Value, Kind::BlockEnd], Place::BlockOrInline, mark)
            }
            Kind::BlockEnd => {
                self.scanner.take();
                self.close();
                Ok(())
            }
            _ => Err(self.fault("did not find expected key")),
        }
    }

    /// An item that starts with the `-` that was looked at.
    fn quick_item(&mut self, next: Expect, place: Place) -> Outcome<()> {
        self.scanner.quick_item();
        self.expected.push(next);
        let mark = self.scanner.cursor.mark();
        if !self.quick_node(place) {
            let ends = match next {
                Expect::InlineItem => &[Kind::BlockEntry, Kind::BlockEnd, Kind::Key, Kind::Value][..],
                _ => &[Kind::BlockEntry, Kind::BlockEnd],
            };
            return self.node_unless(ends, place, mark);
        }
        Ok(())
    }

    /// A pair that starts with the key that was looked at. Says whether its value is done, too.
    fn quick_pair(&mut self, end: usize) -> Outcome<bool> {
        let mark = self.scanner.cursor.mark();
        let key = self.scanner.quick_key(end);
        self.scalar(key, mark, 0, true);
        let mark = self.scanner.cursor.mark();
        if let Some((value, mark)) = self.scanner.quick_value()? {
            self.scalar(value, mark, 0, false);
            return Ok(true);
        }
        self.expected.push(Expect::BlockKey);
        if !self.quick_node(Place::BlockOrInline) {
            self.node_unless(&[Kind::Key, Kind::Value, Kind::BlockEnd], Place::BlockOrInline, mark)?;
        }
        Ok(false)
    }

    /// A block collection without anchor and tag, if it is plain to see. Only its start is taken.
    fn quick_node(&mut self, place: Place) -> bool {
        let (shape, next) = match self.scanner.quick_look() {
            Next::Mapping(_) => (Shape::Mapping, Expect::BlockKey),
            Next::Sequence => (Shape::Sequence, Expect::BlockItem),
            Next::Item if place == Place::BlockOrInline => (Shape::Sequence, Expect::InlineItem),
            _ => return false,
        };
        if !matches!(next, Expect::InlineItem) {
            self.scanner.quick_open();
        }
        let mark = self.scanner.cursor.mark();
        self.expected.push(next);
        self.enter(shape, mark, 0);
        true
    }

    fn block_value(&mut self) -> Outcome<()> {
        self.after_value(Expect::BlockKey, Place::BlockOrInline, &[Kind::Key, Kind::Value, Kind::BlockEnd])
    }

    /// The value of a key; left out if there is no `:`, or nothing behind it.
    fn after_value(&mut self, next: Expect, place: Place, ends: &[Kind]) -> Outcome<()> {
        let value = self.scanner.peek()? == Kind::Value;
        let mark = if value { self.scanner.mark_behind() } else { self.scanner.mark() };
        self.expected.push(next);
        if !value {
            self.missing(mark);
            return Ok(());
        }
        self.scanner.take();
        self.node_unless(ends, place, mark)
    }

    fn flow_item(&mut self, first: bool) -> Outcome<()> {
        let mut kind = self.scanner.peek()?;
        if kind != Kind::FlowSequenceEnd && !first {
            if kind != Kind::FlowEntry {
                return Err(self.fault("did not find expected ',' or ']'"));
            }
            self.scanner.take();
            kind = self.scanner.peek()?;
        }
        match kind {
            Kind::FlowSequenceEnd => {
                self.scanner.take();
                self.close();
                Ok(())
            }
            Kind::Key => {
                self.expected.push(Expect::FlowItem { first: false });
                self.expected.push(Expect::PairKey);
                let mark = self.scanner.mark();
                self.scanner.take();
                self.enter(Shape::Mapping, mark, 0);
                Ok(())
            }
            _ => {
                self.expected.push(Expect::FlowItem { first: false });
                self.node(Place::Flow)
            }
        }
    }

    fn pair_key(&mut self) -> Outcome<()> {
        self.expected.push(Expect::PairValue);
        match self.scanner.peek()? {
            Kind::Value | Kind::FlowEntry | Kind::FlowSequenceEnd => {
                let mark = self.scanner.mark_behind();
                // The token is lost, which makes most such texts fail. So it is in go-yaml.
                self.scanner.take();
                self.missing(mark);
                Ok(())
            }
            _ => self.node(Place::Flow),
        }
    }

    fn flow_key(&mut self, first: bool) -> Outcome<()> {
        let mut kind = self.scanner.peek()?;
        if kind != Kind::FlowMappingEnd && !first {
            if kind != Kind::FlowEntry {
                return Err(self.fault("did not find expected ',' or '}'"));
            }
            self.scanner.take();
            kind = self.scanner.peek()?;
        }
        match kind {
            Kind::FlowMappingEnd => {
                self.scanner.take();
                self.close();
                Ok(())
            }
            Kind::Key => {
                self.scanner.take();
                self.expected.push(Expect::FlowValue);
                self.scanner.peek()?;
                let mark = self.scanner.mark();
                self.node_unless(&[Kind::Value, Kind::FlowEntry, Kind::FlowMappingEnd], Place::Flow, mark)
            }
            _ => {
                self.expected.push(Expect::NoValue);
                self.node(Place::Flow)
            }
        }
    }

    /// A node with its anchor and tag.
    fn node(&mut self, place: Place) -> Outcome<()> {
        let mut kind = self.scanner.peek()?;
        let mark = self.scanner.mark();
        if kind == Kind::Alias {
            return self.alias(mark);
        }
        let mut anchor = None;
        let mut tag = None;
        while (kind == Kind::Anchor && anchor.is_none()) || (kind == Kind::Tag && tag.is_none()) {
            let tag_mark = self.scanner.mark();
            match self.scanner.take() {
                Body::Name(from, to) => anchor = self.scanner.cursor.text.get(from as usize..to as usize),
                Body::Tag(parts) => tag = Some((parts, tag_mark)),
                _ => {}
            }
            kind = self.scanner.peek()?;
        }
        let tag = match tag {
            Some((parts, tag_mark)) => self.tag(&parts, tag_mark)?,
            None => 0,
        };
        self.tape.intricate |= tag != 0;
        if let Some(name) = anchor {
            self.anchors.insert(name, self.tape.entries.len());
        }
        match kind {
            Kind::BlockEntry if place == Place::BlockOrInline => {
                self.tape.intricate |= self.at_key();
                self.expected.push(Expect::InlineItem);
                self.enter(Shape::Sequence, mark, tag);
            }
            Kind::Scalar => {
                let key = self.at_key();
                if let Body::Scalar(scalar) = self.scanner.take() {
                    self.scalar(scalar, mark, tag, key);
                }
            }
            Kind::FlowSequenceStart => {
                self.collection(Shape::Sequence, Expect::FlowItem { first: true }, mark, tag)
            }
            Kind::FlowMappingStart => {
                self.collection(Shape::Mapping, Expect::FlowKey { first: true }, mark, tag)
            }
            Kind::BlockSequenceStart if place != Place::Flow => {
                self.collection(Shape::Sequence, Expect::BlockItem, mark, tag);
            }
            Kind::BlockMappingStart if place != Place::Flow => {
                self.collection(Shape::Mapping, Expect::BlockKey, mark, tag);
            }
            _ if anchor.is_some() || tag != 0 => {
                self.scalar(Scalar::missing(), mark, tag, self.at_key());
            }
            _ => return Err(self.fault("did not find expected node content")),
        }
        Ok(())
    }

    fn alias(&mut self, mark: Mark) -> Outcome<()> {
        let Body::Name(from, to) = self.scanner.take() else { return Ok(()) };
        let name = self.scanner.cursor.text.get(from as usize..to as usize).unwrap_or_default();
        let Some(&target) = self.anchors.get(name) else {
            let text = format!("yaml: unknown anchor '{}' referenced", String::from_utf8_lossy(name));
            return Err(Fault::new(text, mark));
        };
        self.tape.intricate = true;
        let text = Scalar { from, to, ..Scalar::missing() };
        self.push(Entry { shape: Shape::Alias, implicit: false, mark, tag: 0, link: target as u32, text });
        Ok(())
    }

    /// The number of a tag on the tape.
    fn tag(&mut self, (handle, suffix): &(Vec<u8>, Vec<u8>), mark: Mark) -> Outcome<u32> {
        let prefix = self.handles.get(handle).map(Vec::as_slice).or(match handle.as_slice() {
            b"" => Some(b""),
            b"!" => Some(b"!"),
            b"!!" => Some(b"tag:yaml.org,2002:"),
            _ => None,
        });
        let Some(prefix) = prefix else {
            return Err(self.scanner.cursor.fault_at(mark, "found undefined tag handle"));
        };
        self.tape.tags.push([prefix, suffix].concat());
        Ok(u32::try_from(self.tape.tags.len()).unwrap_or(u32::MAX))
    }

    fn collection(&mut self, shape: Shape, first: Expect, mark: Mark, tag: u32) {
        self.tape.intricate |= self.at_key();
        self.scanner.take();
        self.expected.push(first);
        self.enter(shape, mark, tag);
    }

    fn enter(&mut self, shape: Shape, mark: Mark, tag: u32) {
        let at = self.tape.entries.len();
        self.push(Entry { shape, implicit: false, mark, tag, link: 0, text: Scalar::missing() });
        self.open.push(at);
        self.tape.intricate |= self.open.len() > MAX_SIMPLE_DEPTH;
    }

    fn close(&mut self) {
        let end = self.tape.entries.len();
        let at = self.open.pop();
        if let Some(entry) =
            at.filter(|_| self.open.len() <= self.keep).and_then(|at| self.tape.entries.get_mut(at))
        {
            entry.link = end as u32;
        }
    }

    fn push(&mut self, entry: Entry) {
        if self.open.len() <= self.keep {
            self.tape.entries.push(entry);
        }
    }

    /// Whether the node that comes next is a key.
    fn at_key(&self) -> bool {
        matches!(
            self.expected.last(),
            Some(Expect::BlockValue | Expect::FlowValue | Expect::PairValue | Expect::NoValue)
        )
    }

    fn missing(&mut self, mark: Mark) {
        self.scalar(Scalar::missing(), mark, 0, self.at_key());
    }

    fn scalar(&mut self, text: Scalar, mark: Mark, tag: u32, key: bool) {
        // The tag `!` says "what it looks like", yet go-yaml makes a string of it; only merging sees the difference.
        let implicit = if tag == 0 { text.plain } else { self.tape.tags.last().is_some_and(|t| t == b"!") };
        if text.plain && !self.tape.intricate {
            let span = self.tape.text.get(text.span()).unwrap_or_default();
            self.tape.intricate = if key { is_odd_key(span) } else { is_not_finite(span) };
        }
        self.push(Entry { shape: Shape::Scalar, implicit, mark, tag, link: 0, text });
    }
}
