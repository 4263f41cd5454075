//! Heads, hooks and the order of kinds.

use podium_goyaml::yaml::{self, Head};

use super::is_notes;
use super::split::{split, trim};
use crate::dialect::Dialect;
use crate::parallel;
use crate::render::Rendered;

/// An object that is no hook.
#[derive(Clone, Debug)]
pub struct Manifest<'r> {
    /// The template it came from.
    pub name: &'r str,
    /// Its text.
    pub content: &'r [u8],
    /// What Helm reads of it.
    pub head: Head,
}

/// An object that is installed at a certain moment and not with the others.
#[derive(Clone, Debug)]
pub struct Hook<'r> {
    /// The object's name.
    pub name: String,
    /// The object's kind.
    pub kind: String,
    /// The template it came from.
    pub path: &'r str,
    /// Its text.
    pub manifest: &'r [u8],
    /// When it runs.
    pub events: Vec<&'static str>,
    /// Its place among the hooks of one moment.
    pub weight: i64,
    /// When it is deleted.
    pub delete_policies: Vec<String>,
    /// When its logs are shown.
    pub output_log_policies: Vec<String>,
}

/// All objects of a chart, in order.
#[derive(Clone, Debug, Default)]
pub struct Sorted<'r> {
    /// The hooks, in the order of their kinds.
    pub hooks: Vec<Hook<'r>>,
    /// The other objects, in the order in which they are installed.
    pub manifests: Vec<Manifest<'r>>,
    /// The event lists of hooks that were left out because one of their events is not known.
    pub unknown_hooks: Vec<String>,
}

/// A rendered document that is no YAML, or no object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("YAML parse error on {path}: {source}")]
pub struct Error {
    /// The template.
    pub path: String,
    /// What is wrong, with the place in the document.
    pub source: yaml::Error,
    /// The line of the rendered file at which the document starts, from 1.
    pub first_line: usize,
}

const HOOK: &str = "helm.sh/hook";
const WEIGHT: &str = "helm.sh/hook-weight";
const DELETE_POLICY: &str = "helm.sh/hook-delete-policy";
const OUTPUT_LOG_POLICY: &str = "helm.sh/hook-output-log-policy";

/// The moments at which hooks run, as they are written and as they are called.
const EVENTS: &[(&str, &str)] = &[
    ("pre-install", "pre-install"),
    ("post-install", "post-install"),
    ("pre-delete", "pre-delete"),
    ("post-delete", "post-delete"),
    ("pre-upgrade", "pre-upgrade"),
    ("post-upgrade", "post-upgrade"),
    ("pre-rollback", "pre-rollback"),
    ("post-rollback", "post-rollback"),
    ("test", "test"),
    ("test-success", "test"),
];

/// From so many bytes on manifests are read by several threads.
const MUCH_TEXT: usize = 200_000;

/// What each document of a file begins with, or why it is no object.
pub type Heads = Vec<Result<Head, yaml::Error>>;

/// The documents of a file, if it is one of manifests.
fn documents<'r>(file: &'r Rendered, dialect: &Dialect) -> Vec<&'r [u8]> {
    let is_manifest = !crate::text::base(&file.name).starts_with('_') && !trim(&file.text).is_empty();
    if is_manifest { split(&file.text, dialect) } else { Vec::new() }
}

/// Reads the head of every document of a file; the notes have none.
pub fn heads(file: &Rendered, dialect: &Dialect) -> Heads {
    if is_notes(&file.name) {
        return Heads::new();
    }
    documents(file, dialect).into_iter().map(|document| head(document, dialect)).collect()
}

fn head(document: &[u8], dialect: &Dialect) -> Result<Head, yaml::Error> {
    yaml::check_head(document, 0, dialect.head_type)
}

/// Cuts files (sorted by name) into documents and puts those in the order of installation.
pub fn sort<'r>(files: &'r [Rendered], dialect: &Dialect) -> Result<Sorted<'r>, Error> {
    let cut = |file: &'r Rendered| {
        let known = file.heads.as_deref().unwrap_or_default();
        let known = known.iter().map(Some).chain(std::iter::repeat(None));
        documents(file, dialect).into_iter().zip(known).map(move |(document, head)| (file, document, head))
    };
    let documents: Vec<_> = files.iter().flat_map(cut).collect();
    let unknown = documents.iter().filter(|(.., head)| head.is_none());
    let size: usize = unknown.map(|(_, document, _)| document.len()).sum();
    let heads = parallel::map(&documents, size > MUCH_TEXT, |(_, document, known)| match known {
        Some(known) => Result::clone(known),
        None => head(document, dialect),
    });
    let mut sorted = Sorted::default();
    for ((file, document, _), head) in documents.into_iter().zip(heads) {
        let head = head.map_err(|source| Error {
            path: file.name.clone(),
            source,
            first_line: first_line(&file.text, document),
        })?;
        sorted.add(&file.name, document, head);
    }
    let kinds = dialect.install_order;
    sorted.manifests.sort_by_cached_key(|manifest| kind_key(&manifest.head.kind, kinds));
    sorted.hooks.sort_by_cached_key(|hook| kind_key(&hook.kind, kinds));
    Ok(sorted)
}

/// The line of a file at which one of its documents starts.
fn first_line(file: &[u8], document: &[u8]) -> usize {
    let offset = (document.as_ptr() as usize).saturating_sub(file.as_ptr() as usize).min(file.len());
    1 + file[..offset].iter().filter(|b| **b == b'\n').count()
}

/// The order of two kinds: known ones (of the dialect's install or uninstall order) by their place, then the others
/// by name.
pub fn kind_order(a: &str, b: &str, kinds: &[&str]) -> std::cmp::Ordering {
    kind_key(a, kinds).cmp(&kind_key(b, kinds))
}

/// What kinds are sorted by: the place of a known one, or the name of another, which comes after all known ones.
fn kind_key(kind: &str, kinds: &[&str]) -> (usize, String) {
    match kinds.iter().position(|known| *known == kind) {
        Some(place) => (place, String::new()),
        None => (usize::MAX, kind.to_owned()),
    }
}

/// A list with commas, trimmed and in lower case.
fn words(list: &str) -> Vec<String> {
    let lower =
        |word: &str| crate::text::trim_space(word).chars().map(podium_gotmpl::gostr::to_lower).collect();
    list.split(',').map(lower).collect()
}

/// Go's `strconv.Atoi`; 0 for what is no number.
fn weight(text: &str) -> i64 {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return 0;
    }
    text.parse().unwrap_or(0)
}

impl<'r> Sorted<'r> {
    /// The hooks of a moment in the order in which they run: by weight, then by name, then by kind. A hook that names
    /// the moment twice runs twice.
    pub fn hooks_for(&self, event: &str) -> Vec<&Hook<'r>> {
        let times = |hook: &Hook<'_>| hook.events.iter().filter(|e| **e == event).count();
        let mut hooks: Vec<_> = self.hooks.iter().flat_map(|h| std::iter::repeat_n(h, times(h))).collect();
        hooks.sort_by(|a, b| (a.weight, &a.name).cmp(&(b.weight, &b.name)));
        hooks
    }

    fn add(&mut self, path: &'r str, document: &'r [u8], head: Head) {
        let metadata = head.metadata.as_ref();
        let Some((metadata, hook)) = metadata.and_then(|m| Some((m, m.annotations.get(HOOK)?))) else {
            self.manifests.push(Manifest { name: path, content: document, head });
            return;
        };
        let known =
            |word: &String| EVENTS.iter().find(|(written, _)| written == word).map(|(_, event)| *event);
        let Some(events) = words(hook).iter().map(known).collect::<Option<Vec<_>>>() else {
            self.unknown_hooks.push(hook.clone());
            return;
        };
        let annotation = |name: &str| metadata.annotations.get(name);
        self.hooks.push(Hook {
            name: metadata.name.clone(),
            kind: head.kind.clone(),
            path,
            manifest: document,
            events,
            weight: annotation(WEIGHT).map_or(0, |w| weight(w)),
            delete_policies: annotation(DELETE_POLICY).map(|p| words(p)).unwrap_or_default(),
            output_log_policies: annotation(OUTPUT_LOG_POLICY).map(|p| words(p)).unwrap_or_default(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{HELM3, HELM4};

    fn document(kind: &str, name: &str, annotations: &str) -> String {
        format!("apiVersion: v1\nkind: {kind}\nmetadata:\n  name: {name}\n  annotations: {{{annotations}}}\n")
    }

    fn file(name: &str, documents: &[String]) -> Rendered {
        Rendered::new(name.to_owned(), documents.join("---\n").into_bytes())
    }

    #[test]
    fn kinds_have_the_order_of_their_dialect() {
        let webhook = "MutatingWebhookConfiguration";
        let documents = [("Zoo", "a"), (webhook, "b"), ("Service", "c"), ("Abc", "d"), ("Namespace", "e")];
        let documents: Vec<_> = documents.iter().map(|(kind, name)| document(kind, name, "")).collect();
        let files = [file("c/templates/a.yaml", &documents)];
        let kinds = |dialect| {
            let sorted = sort(&files, dialect).unwrap();
            sorted.manifests.into_iter().map(|m| m.head.kind).collect::<Vec<_>>()
        };
        assert_eq!(kinds(&HELM4), ["Namespace", "Service", webhook, "Abc", "Zoo"]);
        assert_eq!(kinds(&HELM3), ["Namespace", "Service", "Abc", webhook, "Zoo"]);
        let mut removal = ["Namespace", "Service", webhook, "Abc"];
        removal.sort_by(|a, b| kind_order(a, b, HELM4.uninstall_order));
        assert_eq!(removal, [webhook, "Service", "Namespace", "Abc"]);
    }

    #[test]
    fn hooks_run_by_weight_and_name_and_unknown_events_drop_the_document() {
        let hook = |name: &str, rest: &str| document("Job", name, rest);
        let files = [file(
            "c/templates/hooks.yaml",
            &[
                hook("b", "helm.sh/hook: ' Pre-Install , test-success', helm.sh/hook-weight: 5"),
                hook("a", "helm.sh/hook: 'pre-install', helm.sh/hook-weight: '5'"),
                hook("z", "helm.sh/hook: 'pre-install,pre-install', helm.sh/hook-weight: -1"),
                hook("x", "helm.sh/hook: crd-install"),
                hook(
                    "p",
                    "helm.sh/hook: test, helm.sh/hook-delete-policy: ' Hook-Failed,x', helm.sh/hook-weight: no",
                ),
            ],
        )];
        let sorted = sort(&files, &HELM4).unwrap();
        let names = |event| sorted.hooks_for(event).into_iter().map(|h| h.name.as_str()).collect::<Vec<_>>();
        assert_eq!(names("pre-install"), ["z", "z", "a", "b"]);
        assert_eq!(names("test"), ["p", "b"]);
        assert_eq!(sorted.unknown_hooks, ["crd-install"]);
        assert!(sorted.manifests.is_empty());
        let last = sorted.hooks.iter().find(|h| h.name == "p").unwrap();
        assert_eq!(
            (last.weight, last.delete_policies.as_slice()),
            (0, &["hook-failed".to_owned(), "x".to_owned()][..])
        );
    }

    #[test]
    fn errors_name_the_file() {
        let files = [file("c/templates/bad.yaml", &["a: b\n".to_owned(), "a: b: c\n".to_owned()])];
        let error = sort(&files, &HELM4).unwrap_err();
        assert_eq!(
            error.to_string(),
            "YAML parse error on c/templates/bad.yaml: error converting YAML to JSON: yaml: mapping values are not \
             allowed in this context"
        );
        let list = [file("c/templates/list.yaml", &["- a\n".to_owned()])];
        for (dialect, package) in [(&HELM4, "util"), (&HELM3, "releaseutil")] {
            assert_eq!(
                sort(&list, dialect).unwrap_err().to_string(),
                format!(
                    "YAML parse error on c/templates/list.yaml: error unmarshaling JSON: while decoding JSON: json: \
                     cannot unmarshal array into Go value of type {package}.SimpleHead"
                )
            );
        }
    }
}
