//! TOML in and out as `github.com/BurntSushi/toml` does it.

mod date;
mod lex;
mod read;
mod tables;
mod value;
mod write;

pub use read::{parse, parse_with};
pub use tables::{Build, Leaf};
pub use write::to_string;

/// More levels of a document are refused. Go has no such limit, but the header of a table repeats its whole path.
const MAX_DEPTH: usize = 1_000;

/// Why a document cannot be written or a text cannot be read. The texts are Go's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The text is no TOML.
    #[error("toml: line {line}{}: {message}", last_key(.key))]
    Syntax {
        /// The line, as Go counts it: for what is missing at the end of the text it can be one too small.
        line: usize,
        /// The key or table that was read last; empty if none was.
        key: String,
        /// What is wrong.
        message: String,
    },
    /// TOML has no null.
    #[error("toml: cannot encode array with nil element")]
    NilElement,
    /// A list of tables without a key.
    #[error("toml: top-level values must be Go maps or structs")]
    NoKey,
    /// A value of a Go kind that no document can hold.
    #[error("unsupported type: {0}")]
    Type(String),
    /// The document itself is of a Go kind that no document can hold.
    #[error("unsupported type for key '': {0}")]
    RootType(String),
    /// The document is null. Go panics with this text, where it returns the others.
    #[error("reflect: call of reflect.Value.Type on zero Value")]
    Nil,
    /// Nested too deeply; Go has no such limit.
    #[error("more than {MAX_DEPTH} levels")]
    Depth,
}

fn last_key(key: &str) -> String {
    let mut text = String::new();
    if !key.is_empty() {
        text.push_str(" (last key ");
        crate::unicode::quote(&mut text, key.as_bytes());
        text.push(')');
    }
    text
}

/// Appends a part of a key, quoted if it has to be.
fn write_key(out: &mut Vec<u8>, key: &[u8]) {
    if !key.is_empty() && key.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')) {
        out.extend_from_slice(key);
    } else {
        write_string(out, key);
    }
}

/// Appends a string with its quotation marks.
fn write_string(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    for &byte in text {
        let short = match byte {
            b'"' | b'\\' => byte,
            8 => b'b',
            b'\t' => b't',
            b'\n' => b'n',
            12 => b'f',
            b'\r' => b'r',
            0..0x20 | 0x7f => {
                out.extend_from_slice(format!("\\u{byte:04x}").as_bytes());
                continue;
            }
            _ => {
                out.push(byte);
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', short]);
    }
    out.push(b'"');
}
