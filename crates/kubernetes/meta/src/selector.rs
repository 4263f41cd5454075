//! Label selectors in the syntax of `kubectl -l`.

use std::collections::BTreeMap;

use crate::names::{LABEL_MAX_LENGTH, SUBDOMAIN_MAX_LENGTH, is_label, is_qualified_name_part};

/// Why a selector cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the selector {text:?} cannot be read at {rest:?}: expected {expected}")]
pub struct Error {
    text: String,
    rest: String,
    expected: &'static str,
}

impl Error {
    /// The API server's message for this error.
    pub fn server_message(&self) -> String {
        let found: String = self.rest.chars().take_while(|c| !c.is_whitespace() && *c != ',').collect();
        format!("unable to parse requirement: found '{found}', expected: {}", self.expected)
    }
}

/// A label selector: all requirements have to match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: Operator,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Operator {
    Exists,
    Absent,
    /// Present, and one of these values.
    In(Vec<String>),
    /// Absent, or none of these values.
    NotIn(Vec<String>),
    Greater(i64),
    Less(i64),
}

impl Selector {
    /// Parses a selector such as `a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1`.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut parser = Parser { text, rest: text.trim_start() };
        let mut all = Vec::new();
        while !parser.rest.is_empty() {
            all.push(parser.requirement()?);
            if !parser.rest.is_empty() {
                parser.take(",").ok_or_else(|| parser.expected("a comma or the end"))?;
                if parser.rest.is_empty() {
                    return Err(parser.expected("a label after the comma"));
                }
            }
        }
        Ok(Self(all))
    }

    /// Whether labels match.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.matches_with(|name| labels.get(name).map(String::as_str))
    }

    /// Whether labels match, given a lookup by key.
    pub fn matches_with<'l>(&self, label: impl Fn(&str) -> Option<&'l str>) -> bool {
        self.0.iter().all(|requirement| requirement.operator.matches(label(&requirement.key)))
    }
}

impl Operator {
    fn matches(&self, value: Option<&str>) -> bool {
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        let among = |values: &[String]| value.is_some_and(|value| values.iter().any(|one| one == value));
        match self {
            Operator::Exists => value.is_some(),
            Operator::Absent => value.is_none(),
            Operator::In(values) => among(values),
            Operator::NotIn(values) => !among(values),
            Operator::Greater(than) => number().is_some_and(|number| number > *than),
            Operator::Less(than) => number().is_some_and(|number| number < *than),
        }
    }
}

struct Parser<'t> {
    text: &'t str,
    rest: &'t str,
}

impl<'t> Parser<'t> {
    fn expected(&self, expected: &'static str) -> Error {
        Error { text: self.text.to_owned(), rest: self.rest.to_owned(), expected }
    }

    fn take(&mut self, symbol: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(symbol)?.trim_start();
        Some(())
    }

    /// Reads up to whitespace or an operator.
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
        if !is_label_key(key) {
            return Err(self.expected("the name of a label"));
        }
        let operator = if absent { Operator::Absent } else { self.operator()? };
        Ok(Requirement { key: key.to_owned(), operator })
    }

    fn operator(&mut self) -> Result<Operator, Error> {
        for (symbol, parse) in OPERATORS {
            if self.take(symbol).is_some() {
                let value = self.word();
                return parse(value).ok_or_else(|| self.expected("a value that a label can have"));
            }
        }
        if self.rest.is_empty() || self.rest.starts_with(',') {
            return Ok(Operator::Exists);
        }
        match self.word() {
            "in" => Ok(Operator::In(self.values()?)),
            "notin" => Ok(Operator::NotIn(self.values()?)),
            _ => Err(self.expected("one of =, ==, !=, in, notin, <, >")),
        }
    }

    fn values(&mut self) -> Result<Vec<String>, Error> {
        self.take("(").ok_or_else(|| self.expected("values in brackets"))?;
        let mut values = Vec::new();
        loop {
            let value = self.word();
            if !is_label_value(value) {
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

type ParseOperator = fn(&str) -> Option<Operator>;

/// Operators with one value, longest first.
const OPERATORS: [(&str, ParseOperator); 5] = [
    ("==", |value| is_label_value(value).then(|| Operator::In(vec![value.to_owned()]))),
    ("=", |value| is_label_value(value).then(|| Operator::In(vec![value.to_owned()]))),
    ("!=", |value| is_label_value(value).then(|| Operator::NotIn(vec![value.to_owned()]))),
    (">", |value| value.parse().ok().map(Operator::Greater)),
    ("<", |value| value.parse().ok().map(Operator::Less)),
];

/// Whether a text is a valid name part within the length limit.
fn is_name_part(text: &str) -> bool {
    text.len() <= LABEL_MAX_LENGTH && is_qualified_name_part(text)
}

/// Whether a text is a valid label value.
pub fn is_label_value(text: &str) -> bool {
    text.is_empty() || is_name_part(text)
}

/// Whether a text is a valid label key: `name` or `prefix/name`.
pub fn is_label_key(text: &str) -> bool {
    match text.split_once('/') {
        None => is_name_part(text),
        Some((domain, name)) => {
            let part = |part: &str| part.len() <= LABEL_MAX_LENGTH && is_label(part);
            domain.len() <= SUBDOMAIN_MAX_LENGTH && domain.split('.').all(part) && is_name_part(name)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_labels() {
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
    fn error_names_the_selector() {
        for text in
            ["a=1,", "=1", "a in 1", "a in (1", "a b", "a=b c", "-a", "a=é", "a>x", ",a", "A/b/c", "a=1)"]
        {
            let error = Selector::parse(text).unwrap_err().to_string();
            assert!(error.contains(&format!("{text:?}")), "{error}");
        }
    }
}
