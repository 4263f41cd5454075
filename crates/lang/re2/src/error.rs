//! Why a pattern is refused, in the words that Go uses.

/// What is wrong with a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ErrorKind {
    /// A class range runs backwards, or a named class does not exist.
    #[error("invalid character class range")]
    InvalidCharRange,
    /// A backslash before something that has no meaning there.
    #[error("invalid escape sequence")]
    InvalidEscape,
    /// The name of a group is not made of letters, digits and underscores, or does not end.
    #[error("invalid named capture")]
    InvalidNamedCapture,
    /// `(?` is followed by something that is not supported.
    #[error("invalid or unsupported Perl syntax")]
    InvalidPerlOp,
    /// A repetition of a repetition.
    #[error("invalid nested repetition operator")]
    InvalidRepeatOp,
    /// A repeat count that is too large or runs backwards.
    #[error("invalid repeat count")]
    InvalidRepeatSize,
    /// The pattern is not UTF-8.
    #[error("invalid UTF-8")]
    InvalidUtf8,
    /// A class without an end.
    #[error("missing closing ]")]
    MissingBracket,
    /// A group without an end.
    #[error("missing closing )")]
    MissingParen,
    /// A repetition of nothing.
    #[error("missing argument to repetition operator")]
    MissingRepeatArgument,
    /// A backslash as the last character.
    #[error("trailing backslash at end of expression")]
    TrailingBackslash,
    /// The end of a group that did not start.
    #[error("unexpected )")]
    UnexpectedParen,
    /// More levels than we build.
    #[error("expression nests too deeply")]
    NestingDepth,
    /// The compiled form would take too much memory.
    #[error("expression too large")]
    Large,
}

/// A pattern that was refused: the reason and the part of the pattern that it is about.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("error parsing regexp: {kind}: `{}`", String::from_utf8_lossy(.expr))]
pub struct Error {
    kind: ErrorKind,
    expr: Box<[u8]>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, expr: &[u8]) -> Self {
        Self { kind, expr: expr.into() }
    }

    /// What is wrong.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The part of the pattern that is meant; it may be no UTF-8.
    pub fn expr(&self) -> &[u8] {
        &self.expr
    }

    /// The message byte for byte, also where the pattern is no UTF-8.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut text = format!("error parsing regexp: {}: `", self.kind).into_bytes();
        text.extend_from_slice(&self.expr);
        text.push(b'`');
        text
    }
}
