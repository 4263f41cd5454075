//! From text to a tree.

mod lex;
mod node;
mod number;
mod parse;
mod show;

pub use node::{Id, NodeKind, Tree};
pub use parse::{Names, ParseError, parse};
