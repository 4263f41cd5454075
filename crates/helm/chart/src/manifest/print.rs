//! What `helm template` prints or writes.

use super::sort::Sorted;
use super::split::{split, trim, trim_end};
use crate::dialect::Dialect;
use crate::files::File;
use crate::path_match::path_match;
use crate::render::Rendered;

/// What is wanted of the output.
#[derive(Clone, Debug, Default)]
pub struct Output {
    /// Leave hooks out.
    pub no_hooks: bool,
    /// Leave test hooks out.
    pub skip_tests: bool,
}

/// A piece of output: which template, and its text. All pieces one after the other are the whole output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Printed<'r> {
    /// The template.
    pub name: &'r str,
    /// The text of one document.
    pub text: &'r [u8],
    /// Whether it is a file of `crds/`.
    pub crd: bool,
}

/// A template that was asked for and is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("could not find template {0} in chart")]
pub struct WriteError(pub String);

fn document<'r>(out: &mut Vec<&'r [u8]>, name: &'r str, text: &'r [u8]) {
    out.extend([b"---\n# Source: ", name.as_bytes(), b"\n", text, b"\n"]);
}

/// Cuts white space off the end of what parts are together, and ends it with a line break.
fn finish(out: &mut Vec<&[u8]>) {
    while let Some(last) = out.pop() {
        let kept = trim_end(last);
        if !kept.is_empty() {
            out.push(kept);
            break;
        }
    }
    out.push(b"\n");
}

/// The pieces of the output in order: CRDs, manifests, hooks.
pub fn pieces<'r>(sorted: &'r Sorted<'r>, crds: &'r [(String, File)], output: &Output) -> Vec<Printed<'r>> {
    let mut pieces = Vec::new();
    pieces.extend(crds.iter().map(|(name, file)| Printed { name, text: &file.data, crd: true }));
    pieces.extend(sorted.manifests.iter().map(|m| Printed { name: m.name, text: m.content, crd: false }));
    pieces.extend(hooks(sorted, output));
    pieces
}

fn hooks<'r>(sorted: &'r Sorted<'r>, output: &Output) -> impl Iterator<Item = Printed<'r>> {
    let output = output.clone();
    sorted
        .hooks
        .iter()
        .filter(move |h| !(output.no_hooks || output.skip_tests && h.events.contains(&"test")))
        .map(|h| Printed { name: h.path, text: h.manifest, crd: false })
}

/// The text of all objects but the hooks, as a release stores it.
pub fn stored(sorted: &Sorted<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    for m in &sorted.manifests {
        document(&mut out, m.name, m.content);
    }
    out.concat()
}

/// The whole output on standard output, in parts: it may be large, and is not copied for printing.
pub fn print<'r>(sorted: &'r Sorted<'r>, crds: &'r [(String, File)], output: &Output) -> Vec<&'r [u8]> {
    let mut out = Vec::new();
    for (name, file) in crds {
        document(&mut out, name, &file.data);
    }
    for m in &sorted.manifests {
        document(&mut out, m.name, m.content);
    }
    finish(&mut out);
    for hook in hooks(sorted, output) {
        document(&mut out, hook.name, hook.text);
    }
    out
}

/// Everything that was rendered, as it is: what `--debug` shows of a render that is no YAML.
pub fn raw(files: &[Rendered]) -> Vec<&[u8]> {
    let mut out = Vec::new();
    for file in files {
        if !trim(&file.text).is_empty() {
            document(&mut out, &file.name, &file.text);
        }
    }
    finish(&mut out);
    out
}

/// Of an output the documents of the wanted templates (file patterns), in the order of the wishes.
pub fn show_only(printed: &[u8], wanted: &[String], dialect: &Dialect) -> Result<Vec<u8>, WriteError> {
    let documents = split(printed, dialect);
    let mut out = Vec::new();
    for pattern in wanted {
        let mut missing = true;
        for document in &documents {
            let Some(path) = source_path(document) else {
                continue;
            };
            if !path_match(pattern, &path).unwrap_or(false) {
                continue;
            }
            missing = false;
            out.extend_from_slice(b"---\n");
            out.extend_from_slice(document);
            out.push(b'\n');
        }
        if missing {
            return Err(WriteError(pattern.clone()));
        }
    }
    Ok(out)
}

/// The path of a document's template below the chart, off the first comment that names one.
fn source_path(document: &[u8]) -> Option<String> {
    const MARK: &[u8] = b"# Source: ";
    let mut at = 0;
    loop {
        let found = document[at..].windows(MARK.len()).position(|w| w == MARK)? + at;
        let rest = &document[found + MARK.len()..];
        // A chart's name, a slash, and at least one character of a path; the name may even span lines.
        let slash = rest.iter().position(|b| *b == b'/');
        if let Some(slash) = slash.filter(|s| *s > 0) {
            let path = &rest[slash + 1..];
            let end = path.iter().position(|b| *b == b'\n').unwrap_or(path.len());
            if end > 0 {
                return Some(String::from_utf8_lossy(&path[..end]).into_owned());
            }
        }
        at = found + MARK.len();
    }
}
