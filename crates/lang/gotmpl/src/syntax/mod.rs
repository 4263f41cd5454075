//! From text to a tree.

mod lex;
mod node;
mod number;
mod parse;
mod show;

pub use node::{Id, NodeKind, Quoted, Source, Span, Tree, VERBATIM};
pub use number::Number;
pub use parse::{Names, ParseError, Spare, parse, parse_with};
