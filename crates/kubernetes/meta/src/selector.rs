//! Label selectors, as `-l` takes them.

use std::collections::BTreeMap;

use crate::names::{LONGEST_LABEL, LONGEST_SUBDOMAIN, is_label, is_word};

/// Why a text is no selector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the selector {text:?} cannot be read at {rest:?}: expected {expected}")]
pub struct Error {
    text: String,
    rest: String,
    expected: &'static str,
}

impl Error {
    /// The same in the words of an API server.
    pub fn server_text(&self) -> String {
        let found: String = self.rest.chars().take_while(|c| !c.is_whitespace() && *c != ',').collect();
        format!("unable to parse requirement: found '{found}', expected: {}", self.expected)
    }
}

/// A list of requirements that labels have to meet, all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    Exists,
    Absent,
    /// Present, and one of these.
    In(Vec<String>),
    /// Absent, or none of these.
    NotIn(Vec<String>),
    Greater(i64),
    Less(i64),
}

impl Selector {
    /// Reads `a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1`.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut reader = Reader { text, rest: text.trim_start() };
        let mut all = Vec::new();
        while !reader.rest.is_empty() {
            all.push(reader.requirement()?);
            if !reader.rest.is_empty() {
                reader.take(",").ok_or_else(|| reader.expected("a comma or the end"))?;
                if reader.rest.is_empty() {
                    return Err(reader.expected("a label after the comma"));
                }
            }
        }
        Ok(Self(all))
    }

    /// Whether labels meet it.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.matches_with(|name| labels.get(name).map(String::as_str))
    }

    /// Whether labels meet it that are looked up one by one.
    pub fn matches_with<'l>(&self, label: impl Fn(&str) -> Option<&'l str>) -> bool {
        self.0.iter().all(|requirement| requirement.test.holds(label(&requirement.key)))
    }
}

impl Test {
    fn holds(&self, value: Option<&str>) -> bool {
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        let among = |values: &[String]| value.is_some_and(|value| values.iter().any(|one| one == value));
        match self {
            Test::Exists => value.is_some(),
            Test::Absent => value.is_none(),
            Test::In(values) => among(values),
            Test::NotIn(values) => !among(values),
            Test::Greater(than) => number().is_some_and(|number| number > *than),
            Test::Less(than) => number().is_some_and(|number| number < *than),
        }
    }
}

struct Reader<'t> {
    text: &'t str,
    rest: &'t str,
}

impl<'t> Reader<'t> {
    fn expected(&self, expected: &'static str) -> Error {
        Error { text: self.text.to_owned(), rest: self.rest.to_owned(), expected }
    }

    fn take(&mut self, mark: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(mark)?.trim_start();
        Some(())
    }

    /// Everything up to a blank or a sign.
    fn word(&mut self) -> &'t str {
        let end =
            self.rest.find(|c: char| c.is_whitespace() || "=!,()<>".contains(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        word
    }

    fn requirement(&mut self) -> Result<Requirement, Error> {
        let absent = self.take("!").is_some();
        let key = self.word();
        if !is_key(key) {
            return Err(self.expected("the name of a label"));
        }
        let test = if absent { Test::Absent } else { self.test()? };
        Ok(Requirement { key: key.to_owned(), test })
    }

    fn test(&mut self) -> Result<Test, Error> {
        for (mark, make) in MARKS {
            if self.take(mark).is_some() {
                let value = self.word();
                return make(value).ok_or_else(|| self.expected("a value that a label can have"));
            }
        }
        if self.rest.is_empty() || self.rest.starts_with(',') {
            return Ok(Test::Exists);
        }
        match self.word() {
            "in" => Ok(Test::In(self.values()?)),
            "notin" => Ok(Test::NotIn(self.values()?)),
            _ => Err(self.expected("one of =, ==, !=, in, notin, <, >")),
        }
    }

    fn values(&mut self) -> Result<Vec<String>, Error> {
        self.take("(").ok_or_else(|| self.expected("values in brackets"))?;
        let mut values = Vec::new();
        loop {
            let value = self.word();
            if !is_value(value) {
                return Err(self.expected("a value that a label can have"));
            }
            values.push(value.to_owned());
            if self.take(")").is_some() {
                return Ok(values);
            }
            self.take(",").ok_or_else(|| self.expected("a comma or a closing bracket"))?;
        }
    }
}

type Make = fn(&str) -> Option<Test>;

/// Signs between a label and one value, the longer ones first.
const MARKS: [(&str, Make); 5] = [
    ("==", |value| is_value(value).then(|| Test::In(vec![value.to_owned()]))),
    ("=", |value| is_value(value).then(|| Test::In(vec![value.to_owned()]))),
    ("!=", |value| is_value(value).then(|| Test::NotIn(vec![value.to_owned()]))),
    (">", |value| value.parse().ok().map(Test::Greater)),
    ("<", |value| value.parse().ok().map(Test::Less)),
];

/// A word that is not too long.
fn is_name(text: &str) -> bool {
    text.len() <= LONGEST_LABEL && is_word(text)
}

/// Whether a label may have this value.
pub fn is_value(text: &str) -> bool {
    text.is_empty() || is_name(text)
}

/// Whether a label may have this name: `name` or `domain/name`.
pub fn is_key(text: &str) -> bool {
    match text.split_once('/') {
        None => is_name(text),
        Some((domain, name)) => {
            let part = |part: &str| part.len() <= LONGEST_LABEL && is_label(part);
            domain.len() <= LONGEST_SUBDOMAIN && domain.split('.').all(part) && is_name(name)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_chosen() {
        let labels: BTreeMap<String, String> =
            [("a", "1"), ("b", ""), ("x.io/c", "v")].map(|(k, v)| (k.to_owned(), v.to_owned())).into();
        for (text, expected) in [
            ("", true),
            (" ", true),
            ("a", true),
            ("!a", false),
            ("!z", true),
            ("a=1", true),
            ("a == 1", true),
            ("a!=1", false),
            ("z!=1", true),
            ("b=", true),
            ("a=1,b", true),
            ("a in (1, 2)", true),
            ("a in (2)", false),
            ("a in (,)", false),
            ("b in ()", true),
            ("z notin (1)", true),
            ("x.io/c notin (v)", false),
            ("a>0", true),
            ("a < 1", false),
            ("z>0", false),
        ] {
            assert_eq!(Selector::parse(text).map(|s| s.matches(&labels)), Ok(expected), "{text:?}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for text in
            ["a=1,", "=1", "a in 1", "a in (1", "a b", "a=b c", "-a", "a=é", "a>x", ",a", "A/b/c", "a=1)"]
        {
            let error = Selector::parse(text).unwrap_err().to_string();
            assert!(error.contains(&format!("{text:?}")), "{error}");
        }
    }
}
