//! What can be wrong with a text, in Go's words and with its place.

use crate::tree::Pos;

/// Why a text could not be read. The display text is, to the byte, what the Go library says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It is not YAML, or holds something that JSON cannot hold.
    #[error("error converting YAML to JSON: {text}")]
    Convert {
        /// Go's text without the common prefix, such as `yaml: line 3: did not find expected key`.
        text: String,
        /// The place.
        pos: Pos,
    },
    /// It is YAML, but not of the asked type.
    #[error("error unmarshaling JSON: while decoding JSON: {text}")]
    Decode {
        /// Go's text without the common prefix, such as `json: cannot unmarshal array into Go value of type string`.
        text: String,
        /// The place.
        pos: Pos,
    },
    /// A line that starts like a document separator goes on with something else.
    #[error("invalid Yaml document separator: {text}")]
    Separator {
        /// What follows the three hyphens.
        text: String,
        /// The place.
        pos: Pos,
    },
}

impl Error {
    /// The place that the error is about.
    pub fn pos(&self) -> Pos {
        match self {
            Self::Convert { pos, .. } | Self::Decode { pos, .. } | Self::Separator { pos, .. } => *pos,
        }
    }
}

/// Where a text comes from: what its nodes say about themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// The caller's number for the input.
    pub source: u32,
    /// The line of the input at which the text starts, from 1.
    pub first_line: u32,
}

impl From<u32> for Origin {
    fn from(source: u32) -> Self {
        Self { source, first_line: 1 }
    }
}

/// A place in a text: line and column in bytes, both from 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Mark {
    pub line: u32,
    pub column: u32,
}

impl Mark {
    /// The place as users count.
    pub fn pos(self, origin: Origin) -> Pos {
        Pos {
            source: origin.source,
            line: origin.first_line.saturating_add(self.line),
            column: self.column.saturating_add(1),
        }
    }
}

/// A failure before it is known where the text comes from.
#[derive(Debug)]
pub(super) struct Fault {
    pub text: String,
    pub mark: Mark,
}

impl Fault {
    pub fn new(text: impl Into<String>, mark: Mark) -> Box<Self> {
        Box::new(Self { text: text.into(), mark })
    }

    /// The error that it becomes while YAML is turned into JSON.
    pub fn convert(self, origin: Origin) -> Error {
        Error::Convert { text: self.text, pos: self.mark.pos(origin) }
    }
}

pub(super) type Outcome<T> = Result<T, Box<Fault>>;
