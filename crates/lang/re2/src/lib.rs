//! Go's regular expressions: RE2 syntax and semantics.
//!
//! A pattern is read by a parser of Go's syntax, with Go's error texts and limits, and searched by the automata of
//! `regex-automata`: time is linear in the text whatever the pattern. Texts are bytes; a byte that is no UTF-8 is read
//! as U+FFFD of width one, as Go does.
//!
//! ```
//! use podium_re2::Regex;
//!
//! let re = Regex::new(r"(?P<key>\w+)=(\w*)")?;
//! assert_eq!(re.replace_all("a=1 b=", "$2:${key}"), b"1:a :b");
//! let error = Regex::new("[a").unwrap_err();
//! assert_eq!(error.to_string(), "error parsing regexp: missing closing ]: `[a`");
//! # Ok::<(), podium_re2::Error>(())
//! ```

mod captures;
mod compile;
mod error;
mod expr;
mod haystack;
mod parse;
mod regex;
mod replace;
mod set;
mod unicode;

pub use captures::Captures;
pub use error::{Error, ErrorKind};
pub use regex::Regex;
pub use replace::quote_meta;
pub use unicode::is_print;
