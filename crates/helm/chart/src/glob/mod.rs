//! File patterns of `.Files.Glob`: `*` within a path part, `**` across parts, `?`, `[a-z]`, `[!ab]`, `{a,b*}`.
//!
//! Helm uses a library that turns a pattern into a tree of specialised matchers, and the way it builds and searches
//! that tree decides the answer in corner cases (alternatives with stars in them, several negated lists in a row,
//! text that is not ASCII). Charts see those answers, so the tree here is built by the same rules:
//!
//! ```text
//! text ──lex──▶ tokens ──parse──▶ Ast ──compile──▶ Matcher ──matches──▶ yes / no / fault
//! ```

mod ast;
mod compile;
mod matcher;

use matcher::{Matcher, Search};

/// The path separator, which `*` and `?` do not match.
const SEPARATOR: char = '/';

/// A pattern with more parts than this is refused: the time to compile grows with the fourth power of the parts.
const MAX_PARTS: usize = 200;

/// Why a pattern cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The pattern is not well formed. Helm answers such a pattern with every file.
    #[error("syntax error in pattern")]
    Syntax,
    /// The pattern is too long to be compiled in reasonable time.
    #[error("pattern has more than {MAX_PARTS} parts; use a shorter one")]
    TooManyParts,
}

/// Why a name cannot be compared with a pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The search runs past the end of the name; the text is the Go runtime's.
    #[error("runtime error: slice bounds out of range [:{end}] with length {length}")]
    Bounds {
        /// Where the search wanted to read up to.
        end: usize,
        /// How long the text is.
        length: usize,
    },
    /// The search took too many steps.
    #[error("pattern takes too long to compare with {0:?}; use a simpler one")]
    TooSlow(String),
}

/// A compiled pattern.
#[derive(Debug)]
pub struct Pattern(Matcher);

impl Pattern {
    /// Compiles a pattern.
    pub fn new(pattern: &str) -> Result<Self, Error> {
        let ast = ast::parse(pattern)?;
        Ok(Self(compile::compile(&ast)))
    }

    /// Reports whether the name matches.
    pub fn matches(&self, name: &str) -> Result<bool, Fault> {
        Search::new(name).run(&self.0)
    }
}

#[cfg(test)]
mod tests;
