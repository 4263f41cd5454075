//! The tokens that the scanner hands to the parser.

use super::error::Mark;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    StreamEnd,
    VersionDirective,
    TagDirective,
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias,
    Anchor,
    Tag,
    Scalar,
}

/// What the scanner found out about a token after it had read it: whether it starts a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lead {
    None,
    /// A key starts here.
    Key,
    /// A block mapping starts here, with this key.
    MappingAndKey,
}

/// How the text of a scalar is got from its span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The span is the text.
    Verbatim,
    /// Without quotation marks, over several lines.
    Plain,
    Single,
    Double,
    Literal,
    Folded,
}

/// What happens to the line breaks at the end of a block scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chomp {
    Strip,
    Clip,
    Keep,
}

/// A scalar whose text is not put together before it is wanted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scalar {
    /// Where its span starts and ends. Texts are small enough for 32 bits, see [`super::input::MAX_SIZE`].
    pub from: u32,
    pub to: u32,
    /// The indentation of a block scalar.
    pub indent: u32,
    pub form: Form,
    pub chomp: Chomp,
    /// Whether it stood without quotation marks, so that it may be something else than a string.
    pub plain: bool,
}

impl Scalar {
    /// A scalar that is no block.
    pub fn new(from: usize, to: usize, form: Form, plain: bool) -> Self {
        Self { from: from as u32, to: to as u32, indent: 0, form, chomp: Chomp::Clip, plain }
    }

    /// An empty scalar that was left out.
    pub fn missing() -> Self {
        Self::new(0, 0, Form::Verbatim, true)
    }

    /// The span.
    pub fn span(self) -> std::ops::Range<usize> {
        self.from as usize..self.to as usize
    }
}

/// The part of a token that only some kinds have.
#[derive(Debug)]
pub(super) enum Body {
    None,
    Scalar(Scalar),
    /// The name of an anchor or alias, as a span of the text.
    Name(u32, u32),
    Version(u8, u8),
    /// Handle and suffix of a tag, or handle and prefix of a tag directive.
    Tag(Box<(Vec<u8>, Vec<u8>)>),
}

/// A token.
#[derive(Debug)]
pub(super) struct Token {
    pub kind: Kind,
    pub lead: Lead,
    /// One more than the flow level on which the token may still turn out to be a key; 0 if it cannot.
    pub waits: u32,
    pub mark: Mark,
    pub body: Body,
}

impl Token {
    pub fn new(kind: Kind, mark: Mark, body: Body) -> Self {
        Self { kind, lead: Lead::None, waits: 0, mark, body }
    }
}
