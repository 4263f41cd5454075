//! Breaks functions one by one: a comparison that cannot fail proves nothing.

use crate::compare::{self, Tally};
use crate::generate::Case;
use crate::record::{self, Record};
use crate::request::{Dialect, Outcome, RenderRequest};
use crate::subject::Subject;

/// A function and the near relative whose answer is given in its place.
pub const MUTATIONS: &[(&str, &str)] = &[
    ("upper", "lower"),
    ("quote", "squote"),
    ("trimPrefix", "trimSuffix"),
    ("snakecase", "kebabcase"),
    ("nindent", "indent"),
    ("contains", "hasPrefix"),
    ("splitList", "list"),
    ("regexReplaceAll", "regexReplaceAllLiteral"),
    ("add", "sub"),
    ("int64", "int"),
    ("floor", "ceil"),
    ("max", "min"),
    ("lt", "le"),
    ("eq", "deepEqual"),
    ("first", "last"),
    ("has", "without"),
    ("merge", "mergeOverwrite"),
    ("get", "hasKey"),
    ("default", "and"),
    ("toJson", "toRawJson"),
    ("toYaml", "toYamlPretty"),
    ("fromYaml", "fromJson"),
    ("sha256sum", "sha1sum"),
    ("b64enc", "b32enc"),
    ("toDate", "list"),
    ("kindOf", "typeOf"),
];

/// A subject whose function gives another function's results.
pub struct Mutant<'a> {
    inner: &'a dyn Subject,
    from: &'a str,
    to: &'a str,
}

impl<'a> Mutant<'a> {
    /// Breaks `from` in a subject.
    pub fn new(inner: &'a dyn Subject, from: &'a str, to: &'a str) -> Self {
        Mutant { inner, from, to }
    }

    fn changed(&self, request: &RenderRequest) -> RenderRequest {
        let mut request = request.clone();
        for file in request.files.iter_mut().filter(|f| f.name.starts_with("templates/")) {
            file.data = replace_word(&file.data, self.from.as_bytes(), self.to.as_bytes());
        }
        request
    }
}

impl Subject for Mutant<'_> {
    fn name(&self) -> String {
        format!("{} with {} broken", self.inner.name(), self.from)
    }

    fn render(&self, request: &RenderRequest) -> Outcome {
        self.inner.render(&self.changed(request))
    }

    fn render_many(&self, requests: &[RenderRequest]) -> Vec<Outcome> {
        let changed: Vec<RenderRequest> = requests.iter().map(|r| self.changed(r)).collect();
        self.inner.render_many(&changed)
    }
}

fn is_part(byte: Option<&u8>) -> bool {
    byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_' || *b == b'$' || *b == b'.')
}

/// Whether a text uses a word on its own.
pub fn has_word(text: &[u8], word: &[u8]) -> bool {
    replace_word(text, word, b"") != text
}

fn replace_word(text: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let before = at.checked_sub(1).and_then(|i| text.get(i));
        if text[at..].starts_with(from) && !is_part(before) && !is_part(text.get(at + from.len())) {
            out.extend_from_slice(to);
            at += from.len();
        } else {
            out.push(text[at]);
            at += 1;
        }
    }
    out
}

/// The mutations that no case notices by its output; error texts do not count, for they name the function.
pub fn unnoticed(
    cases: &[Case],
    dialect: Dialect,
    original: &dyn Subject,
    subject: &dyn Subject,
) -> Vec<&'static str> {
    let mut out = Vec::new();
    for (from, to) in MUTATIONS {
        let uses = |case: &&Case| case.request.files.iter().any(|f| has_word(&f.data, from.as_bytes()));
        let using: Vec<Case> = cases.iter().filter(uses).take(400).cloned().collect();
        let Tally { differences, .. } =
            compare::run(&using, dialect, original, &Mutant::new(subject, from, to));
        let by_output = |d: &compare::Difference| !d.original.is_error() && !d.subject.is_error();
        if !differences.iter().any(by_output) {
            out.push(*from);
        }
    }
    out
}

/// As [`unnoticed`], with recorded answers in the place of an original.
pub fn unnoticed_in(records: &[Record], dialect: Dialect, subject: &dyn Subject) -> Vec<&'static str> {
    let mut out = Vec::new();
    for (from, to) in MUTATIONS {
        let uses = |r: &&Record| r.case.request.files.iter().any(|f| has_word(&f.data, from.as_bytes()));
        let using: Vec<Record> = records.iter().filter(uses).cloned().collect();
        // What differs without the mutation as well proves nothing.
        let before = record::replay(&using, dialect, subject);
        let after = record::replay(&using, dialect, &Mutant::new(subject, from, to));
        let noticed = after.iter().any(|d| {
            !d.original.is_error() && !d.subject.is_error() && !before.iter().any(|b| b.case.id == d.case.id)
        });
        if !noticed {
            out.push(*from);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_words_are_replaced() {
        assert_eq!(replace_word(b"get .get forget $get get", b"get", b"x"), b"x .get forget $get x");
    }

    #[test]
    fn at_least_twenty_functions_are_broken() {
        assert!(MUTATIONS.len() >= 20);
    }
}
