//! What a user sets: values files and flags, in Helm's order whatever their order on the command line.

use podium_goyaml::{Map, Value, json};

use crate::chart::{ValuesError, merge_maps, parse_values};
use crate::dialect::Dialect;
use crate::origin::{Source, Sources};
use crate::strvals::{self, Flag};
use crate::text::trim_space;

/// The values files and flags, each list in the order of the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// `--values`: files, later ones win.
    pub files: Vec<String>,
    /// `--set-json`.
    pub json: Vec<String>,
    /// `--set`.
    pub set: Vec<String>,
    /// `--set-string`.
    pub strings: Vec<String>,
    /// `--set-file`.
    pub file_values: Vec<String>,
    /// `--set-literal`.
    pub literals: Vec<String>,
}

/// Why values cannot be used. The texts are Helm's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A file cannot be read; the text is the reader's.
    #[error("{0}")]
    Read(String),
    /// A values file is damaged.
    #[error("failed to parse {path}: {error}")]
    File {
        /// The file.
        path: String,
        /// What is wrong with it.
        error: ValuesError,
    },
    /// `--set-json` with an object that is none.
    #[error("failed parsing --set-json data JSON: {0}")]
    JsonObject(String),
    /// `--set-json` with something that cannot be read.
    #[error("failed parsing --set-json data {text}")]
    Json {
        /// What was written behind the flag.
        text: String,
        /// What is wrong with it, which Helm does not tell.
        error: strvals::Error,
    },
    /// Another flag with something that cannot be read.
    #[error("failed parsing {flag} data: {error}")]
    Flag {
        /// The flag.
        flag: &'static str,
        /// What is wrong with it.
        error: strvals::Error,
    },
}

/// Reads a file, from wherever its name says; the error's text is shown to the user.
pub type ReadFile<'a> = dyn FnMut(&str) -> Result<Vec<u8>, String> + 'a;

impl Options {
    /// Merges everything. Each file and each flag becomes a source.
    pub fn merge(
        &self,
        sources: &mut Sources,
        dialect: &Dialect,
        read: &mut ReadFile<'_>,
    ) -> Result<Map, Error> {
        let mut all = Map::new();
        for path in &self.files {
            let text = read(path).map_err(Error::Read)?;
            let source = sources.add(Source::File(path.clone()));
            let values = parse_values(&text, source, dialect);
            merge_maps(&mut all, values.map_err(|error| Error::File { path: path.clone(), error })?);
        }
        let flags = [
            (Flag::SetJson, &self.json),
            (Flag::Set, &self.set),
            (Flag::SetString, &self.strings),
            (Flag::SetFile, &self.file_values),
            (Flag::SetLiteral, &self.literals),
        ];
        for (flag, texts) in flags {
            for text in texts {
                let source = sources.add(Source::Flag { flag: flag.name(), text: text.clone() });
                apply(flag, text, &mut all, source, dialect, read)?;
            }
        }
        Ok(all)
    }
}

fn apply(
    flag: Flag,
    text: &str,
    all: &mut Map,
    source: u32,
    dialect: &Dialect,
    read: &mut ReadFile<'_>,
) -> Result<(), Error> {
    let trimmed = trim_space(text);
    if flag == Flag::SetJson && dialect.set_json_object && trimmed.starts_with('{') {
        let value = json::parse(trimmed.as_bytes(), source).map(|node| node.value);
        let Ok(Value::Map(map)) = value else { return Err(Error::JsonObject(text.to_owned())) };
        merge_maps(all, map);
        return Ok(());
    }
    // Values are text; what is none in a file is replaced.
    let mut read_text = |path: &str| read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    strvals::apply(flag, text, all, source, dialect, &mut read_text).map_err(|error| match flag {
        Flag::SetJson => Error::Json { text: text.to_owned(), error },
        _ => Error::Flag { flag: flag.name(), error },
    })
}
