//! JSON in and out as Go's `encoding/json` does it.

mod parse;
mod text;
mod write;

pub use parse::{parse, parse_list, parse_map, parse_prefix};
pub use write::{MAX_DEPTH, to_pretty, to_raw_string, to_string};

pub(crate) use write::check;

/// Why a document cannot be written or a text cannot be read. The texts are Go's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// JSON has no such number.
    #[error("json: unsupported value: {0}")]
    Value(&'static str),
    /// A value of a Go type that no document can hold; the text is the document's own.
    #[error("{0}")]
    Unsupported(String),
    /// Nested so deeply that the value must contain itself; the text names the container's Go type.
    #[error("json: unsupported value: encountered a cycle via {0}")]
    Cycle(&'static str),
    /// A character that cannot stand where it stands.
    #[error("invalid character {character} {context}")]
    Character {
        /// The character in Go's quotation marks.
        character: String,
        /// Where the reader was, e.g. `looking for beginning of value`, or `exceeded max depth`.
        context: &'static str,
        /// How many bytes had been read, this character included.
        offset: usize,
    },
    /// The text ends too early.
    #[error("unexpected end of JSON input")]
    End {
        /// The length of the text.
        offset: usize,
    },
    /// The text that should start with a value ends too early.
    #[error("unexpected EOF")]
    PrefixEnd,
    /// The text that should start with a value has nothing but white space.
    #[error("EOF")]
    PrefixEmpty,
    /// A value of another kind than asked for, or a number that is too large.
    #[error("json: cannot unmarshal {value} into Go value of type {target}")]
    Type {
        /// What stands there: `array`, `number 1e999`.
        value: String,
        /// The Go type that was asked for.
        target: &'static str,
    },
}
