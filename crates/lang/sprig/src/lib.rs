//! The function library of Helm templates: Sprig's functions, and Helm's own.
//!
//! Each family is a module with a table of [`Func`]s; [`functions`] puts the tables of a dialect together. Behaviour,
//! result types and error texts are those of Go's libraries, because charts branch on all three.

mod args;
mod cast;
pub mod convert;
mod copy;
pub mod crypto;
mod data;
mod dates;
mod decimal;
mod defaults;
mod dicts;
pub mod document;
pub mod encoding;
pub mod gotime;
mod helm;
mod letters;
mod limits;
mod lists;
mod merge;
mod numeric;
mod paths;
mod reflection;
mod regex;
mod semver;
mod strconv;
mod strings;
pub mod text;
mod times;

use podium_gotmpl::{Func, Functions};

/// The tables of all dialects.
static COMMON: &[&[Func]] = &[
    copy::FUNCS,
    crypto::FUNCS,
    data::FUNCS,
    dates::FUNCS,
    defaults::FUNCS,
    dicts::FUNCS,
    encoding::FUNCS,
    helm::FUNCS,
    letters::FUNCS,
    lists::FUNCS,
    merge::FUNCS,
    numeric::FUNCS,
    paths::FUNCS,
    reflection::FUNCS,
    regex::FUNCS,
    semver::FUNCS,
    strings::FUNCS,
];

/// What the functions of two Helm versions differ in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Library {
    /// `mustToYaml` and `mustToToml` exist.
    pub must_writers: bool,
    /// `mustToDuration`, `durationSeconds` and the rest of them exist.
    pub durations: bool,
    /// Nothing is required and nothing fails: the functions of a linter.
    pub lint: bool,
}

impl Default for Library {
    /// All functions, not linting.
    fn default() -> Self {
        Self { must_writers: true, durations: true, lint: false }
    }
}

/// Go's own functions and the library's: all but those that render templates.
pub fn functions(library: &Library) -> Functions {
    let mut all = Functions::builtin();
    for table in COMMON {
        all.extend(table);
    }
    if library.must_writers {
        all.extend(data::MUST_FUNCS);
    }
    if library.durations {
        all.extend(dates::DURATION_FUNCS);
    }
    if library.lint {
        all.extend(helm::LINT_FUNCS);
    }
    all
}
