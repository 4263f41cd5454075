//! YAML out: as `sigs.k8s.io/yaml` writes it, and as go-yaml v3 does.

mod order;
mod out;
mod reread;
mod resolve;
mod shape;
mod write;

pub(crate) use resolve::is_date;

use crate::doc::Doc;
use crate::json;
use crate::walk::walk;
use write::Writer;

/// More levels are refused: go-yaml's own limit when it reads the JSON form, and ours for the pretty form.
const MAX_DEPTH: usize = 10_000;

/// Why a document cannot be written. The texts are Go's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is no JSON form of it.
    #[error("error marshaling into JSON: {0}")]
    Json(#[from] json::Error),
    /// Its JSON form is no YAML, e.g. because of a control character.
    #[error("yaml: {0}")]
    Reread(String),
    /// A value of a Go type that YAML does not know. Go panics with this text, where it returns the others.
    #[error("cannot marshal type: {0}")]
    Type(String),
    /// Nested too deeply for the pretty form; Go has no such limit.
    #[error("more than {MAX_DEPTH} levels")]
    Depth,
}

/// Which of the two writers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dialect {
    /// `sigs.k8s.io/yaml` over go-yaml v2, with JSON in between.
    Kubernetes,
    /// go-yaml v3 with an indentation of 2.
    Pretty,
}

/// The document as `yaml.Marshal` of `sigs.k8s.io/yaml` writes it, with the line break at its end.
///
/// Go writes JSON, reads that as YAML and writes what it read. All that this does to a value happens here too: stray
/// bytes become U+FFFD, U+0085 folds into a space, floats that are whole become integers, and some characters, too long
/// keys and too deep documents are errors.
pub fn to_yaml<T: Doc>(doc: &T) -> Result<Vec<u8>, Error> {
    let mut out = Vec::with_capacity(256);
    append_yaml(doc, &mut out)?;
    Ok(out)
}

/// As [`to_yaml`], behind what is there; with an error, nothing is added.
pub fn append_yaml<T: Doc>(doc: &T, out: &mut Vec<u8>) -> Result<(), Error> {
    let before = out.len();
    let mut writer = Writer::new(Dialect::Kubernetes, std::mem::take(out));
    let walked = walk(doc, &mut writer);
    let lost = writer.lost_entries();
    *out = writer.finish();
    if walked.is_ok() && !lost {
        return Ok(());
    }
    // Which of several errors Go reports depends on the order of the JSON form, so ask that.
    let asked = json::to_string(doc).map_err(Error::from).and_then(|text| match reread::problem(&text) {
        Some(problem) => Err(Error::Reread(problem)),
        None => walked,
    });
    if asked.is_err() {
        out.truncate(before);
    }
    asked
}

/// The document as go-yaml v3 writes it with `SetIndent(2)`, with the line break at its end.
pub fn to_yaml_pretty<T: Doc>(doc: &T) -> Result<Vec<u8>, Error> {
    let mut writer = Writer::new(Dialect::Pretty, Vec::with_capacity(256));
    walk(doc, &mut writer)?;
    Ok(writer.finish())
}
