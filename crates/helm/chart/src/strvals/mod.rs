//! The little languages of `--set`, `--set-string`, `--set-json`, `--set-file` and `--set-literal`.
//!
//! ```text
//! a.b=1,list[0].name=x,words={p,q}
//! ```
//!
//! A line is read assignment by assignment: first the path and the value, while a cursor walks along the values that
//! are already there (so that an error is found in the order in which Helm finds it), then the change itself.

mod apply;
mod line;

use podium_goyaml::Map;

use crate::dialect::Dialect;

/// The largest list index.
pub const MAX_INDEX: usize = 65_536;
/// How many dots a name can have.
pub const MAX_DOTS: usize = 30;
/// How many list entries one line can create. Helm has no such limit, so some text can make it use all memory.
pub const MAX_NEW_ENTRIES: usize = 1 << 20;

/// Which flag a line belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flag {
    /// `--set-json`: values are JSON.
    SetJson,
    /// `--set`: words, numbers, `true`, `false`, `null` and `{lists}`.
    Set,
    /// `--set-string`: like `--set`, but every value is a string.
    SetString,
    /// `--set-file`: a value is a path, and the file's text is the value.
    SetFile,
    /// `--set-literal`: one assignment, nothing in the value is special.
    SetLiteral,
}

impl Flag {
    /// How the flag is written on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::SetJson => "--set-json",
            Self::Set => "--set",
            Self::SetString => "--set-string",
            Self::SetFile => "--set-file",
            Self::SetLiteral => "--set-literal",
        }
    }
}

/// What is wrong with a line. The texts are Helm's, except where Helm has no limit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The line ends in a name.
    #[error("key {} has no value", crate::text::quote(.0))]
    NoValue(String),
    /// A comma where `=` should be.
    #[error("key {} has no value (cannot end with ,)", crate::text::quote(.0))]
    Comma(String),
    /// A path goes into a map but names nothing in it.
    #[error("key map {} has no value", crate::text::quote(.0))]
    EmptyMap(String),
    /// What stands between `[` and `]` is no number.
    #[error("error parsing index: strconv.Atoi: parsing {}: {reason}", crate::text::quote(text))]
    Index {
        /// The text between the brackets.
        text: String,
        /// Go's reason.
        reason: &'static str,
    },
    /// The line ends between `[` and `]`.
    #[error("error parsing index: EOF")]
    OpenIndex,
    /// An index below zero.
    #[error("negative {0} index not allowed")]
    NegativeIndex(i64),
    /// An index past [`MAX_INDEX`].
    #[error("index of {0} is greater than maximum supported index of {MAX_INDEX}")]
    IndexTooLarge(i64),
    /// Text between `]` and what may follow it.
    #[error("unexpected data at end of array index: {}", rune_list(.0))]
    AfterIndex(String),
    /// A name with too many dots.
    #[error("value name nested level is greater than maximum supported nested level of {MAX_DOTS}")]
    TooDeep,
    /// A path goes through a value that is no map or no list.
    #[error("unable to parse key: interface conversion: interface {{}} is {is}, not {wanted}")]
    Conversion {
        /// The Go type that is there.
        is: &'static str,
        /// The Go type that the path needs.
        wanted: &'static str,
    },
    /// A list without its closing brace.
    #[error("list must terminate with '}}'")]
    OpenList,
    /// A value that is no JSON.
    #[error("{0}")]
    Json(String),
    /// A file that could not be read.
    #[error("{0}")]
    File(String),
    /// More list entries than a line may create.
    #[error(
        "one line cannot create more than {MAX_NEW_ENTRIES} list entries; put the list into a values file"
    )]
    TooManyEntries,
}

/// Go's `%q` of the characters one by one.
fn rune_list(text: &str) -> String {
    let quoted = text.chars().map(|c| podium_gotmpl::gostr::quote_rune(c.into()));
    let quoted: Vec<_> = quoted.map(|q| String::from_utf8_lossy(&q).into_owned()).collect();
    format!("[{}]", quoted.join(" "))
}

/// Reads a file for `--set-file`; the error's text is shown to the user.
pub type ReadFile<'a> = dyn FnMut(&str) -> Result<String, String> + 'a;

/// Applies a line of a flag to values. Values that it sets carry `source`, line 1 and their column in the text.
///
/// After an error the values may hold the assignments that came before it.
pub fn apply(
    flag: Flag,
    text: &str,
    values: &mut Map,
    source: u32,
    dialect: &Dialect,
    read_file: &mut ReadFile<'_>,
) -> Result<(), Error> {
    let mut line = line::Line::new(flag, text, source, dialect, read_file);
    let mut budget = MAX_NEW_ENTRIES;
    loop {
        let change = line.next_change(values)?;
        let at_end = change.at_end;
        apply::apply(change, values, &mut budget)?;
        if at_end {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests;
