//! Extracts fields from an object's JSON in one pass without parsing all of it: rows of a table show little of a large
//! object.
//!
//! The JSON must be in the API server's own form: no whitespace, no duplicate keys, no escapes in keys. For any other
//! form, extraction fails and the caller parses the whole object.

use std::borrow::Cow;

use memchr::memchr2;

/// Extracts the values at a set of paths.
#[derive(Debug, Clone, Default)]
pub struct PathExtractor {
    root: Node,
    count: usize,
}

/// What is extracted below one value: itself, some of its members, or both.
#[derive(Debug, Clone, Default)]
struct Node {
    index: Option<usize>,
    members: Vec<(String, Node)>,
}

/// The extracted values, by the index that [`PathExtractor::add_path`] returned.
pub type ExtractedValues<'t> = Vec<Option<RawJson<'t>>>;

impl PathExtractor {
    /// Adds a path of keys; returns its index in the extracted values.
    pub fn add_path<'k>(&mut self, path: impl IntoIterator<Item = &'k str>) -> usize {
        let mut node = &mut self.root;
        for key in path {
            let at = node.members.iter().position(|(name, _)| name == key).unwrap_or_else(|| {
                node.members.push((key.to_owned(), Node::default()));
                node.members.len() - 1
            });
            match node.members.get_mut(at) {
                Some((_, member)) => node = member,
                None => return self.count,
            }
        }
        *node.index.get_or_insert_with(|| {
            self.count += 1;
            self.count - 1
        })
    }

    /// Extracts the values from an object's JSON, given the length of its `metadata` value; false if the JSON is not
    /// in the expected form.
    pub fn find<'t>(&self, text: &'t [u8], metadata: usize, found: &mut ExtractedValues<'t>) -> bool {
        found.clear();
        found.resize(self.count, None);
        let mut scanner = Scanner { text, at: 0 };
        scanner.members(&self.root, Some(metadata), true, found).is_some()
    }
}

/// The unparsed JSON of one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawJson<'t>(&'t [u8]);

impl<'t> RawJson<'t> {
    /// The JSON bytes.
    pub fn bytes(self) -> &'t [u8] {
        self.0
    }

    /// Whether it is null.
    pub fn is_null(self) -> bool {
        self.0 == b"null"
    }

    /// The content of a string without escapes.
    pub fn unescaped_str(self) -> Option<&'t str> {
        let inner = self.0.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        if inner.contains(&b'\\') { None } else { str::from_utf8(inner).ok() }
    }

    /// The string, if the value is one.
    pub fn string(self) -> Option<Cow<'t, str>> {
        match self.unescaped_str() {
            Some(plain) => Some(Cow::Borrowed(plain)),
            None => serde_json::from_slice::<String>(self.0).ok().map(Cow::Owned),
        }
    }

    /// The integer, if the value is one.
    pub fn as_i64(self) -> Option<i64> {
        str::from_utf8(self.0).ok()?.parse().ok()
    }

    /// The boolean, if the value is one.
    pub fn as_bool(self) -> Option<bool> {
        match self.0 {
            b"true" => Some(true),
            b"false" => Some(false),
            _ => None,
        }
    }

    /// The number of members or items; `None` for other values.
    pub fn item_count(self) -> Option<usize> {
        let [b'{' | b'[', rest @ ..] = self.0 else { return None };
        if let [b'}' | b']'] = rest {
            return Some(0);
        }
        let (mut scanner, mut count) = (Scanner { text: self.0, at: 1 }, 0);
        loop {
            scanner.skip()?;
            match scanner.next()? {
                // What was skipped was a key.
                b':' => {}
                b',' => count += 1,
                b'}' | b']' => return Some(count + 1),
                _ => return None,
            }
        }
    }
}

/// Strings up to this length are scanned byte by byte.
const SHORT_STRING: usize = 24;

struct Scanner<'t> {
    text: &'t [u8],
    at: usize,
}

impl<'t> Scanner<'t> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek();
        self.at += 1;
        byte
    }

    /// Scans the members of the object at the current position. With `last`, nothing after the object matters, so that
    /// the scan stops at the last extracted member.
    fn members(
        &mut self,
        node: &Node,
        metadata: Option<usize>,
        last: bool,
        found: &mut ExtractedValues<'t>,
    ) -> Option<()> {
        if self.next()? != b'{' {
            return None;
        }
        if self.peek()? == b'}' {
            self.at += 1;
            return Some(());
        }
        let mut remaining = node.members.len();
        loop {
            if last && remaining == 0 {
                return Some(());
            }
            let key = self.string()?;
            if self.next()? != b':' {
                return None;
            }
            let known = metadata.filter(|_| key == b"metadata");
            match node.members.iter().find(|(name, _)| name.as_bytes() == key) {
                Some((_, member)) => {
                    remaining -= 1;
                    self.member(member, known, found)?;
                }
                None => self.skip_known(known)?,
            }
            match self.next()? {
                b',' => {}
                b'}' => return Some(()),
                _ => return None,
            }
        }
    }

    fn member(&mut self, node: &Node, known: Option<usize>, found: &mut ExtractedValues<'t>) -> Option<()> {
        let start = self.at;
        let inside = !node.members.is_empty() && self.peek()? == b'{';
        if inside && node.index.is_none() && known.is_none() {
            return self.members(node, None, false, found);
        }
        self.skip_known(known)?;
        let part = self.text.get(start..self.at)?;
        if let Some(slot) = node.index.and_then(|index| found.get_mut(index)) {
            *slot = Some(RawJson(part));
        }
        if inside {
            Scanner { text: part, at: 0 }.members(node, None, true, found)?;
        }
        Some(())
    }

    /// Skips the value at the current position, whose length may be known.
    fn skip_known(&mut self, known: Option<usize>) -> Option<()> {
        match known {
            Some(length) => {
                self.at += length;
                Some(())
            }
            None => self.skip(),
        }
    }

    fn skip(&mut self) -> Option<()> {
        match self.peek()? {
            b'"' => self.string().map(drop),
            b'{' | b'[' => {
                let mut depth = 0_usize;
                loop {
                    match self.peek()? {
                        b'"' => drop(self.string()?),
                        byte => {
                            self.at += 1;
                            match byte {
                                b'{' | b'[' => depth += 1,
                                b'}' | b']' => depth -= 1,
                                _ => {}
                            }
                            if depth == 0 {
                                return Some(());
                            }
                        }
                    }
                }
            }
            _ => {
                let rest = self.text.get(self.at..)?;
                self.at += rest.iter().position(|byte| matches!(byte, b',' | b'}' | b']'))?;
                Some(())
            }
        }
    }

    /// Reads the string at the current position, without its quotes.
    fn string(&mut self) -> Option<&'t [u8]> {
        if self.next()? != b'"' {
            return None;
        }
        let start = self.at;
        loop {
            let rest = self.text.get(self.at..)?;
            let ends = |byte: &u8| matches!(byte, b'"' | b'\\');
            // Most strings are keys, too short for a vectorized search to pay off.
            let at = match rest.iter().take(SHORT_STRING).position(ends) {
                Some(at) => at,
                None => SHORT_STRING + memchr2(b'"', b'\\', rest.get(SHORT_STRING..)?)?,
            };
            self.at += at + 1;
            if rest.get(at) == Some(&b'"') {
                return self.text.get(start..self.at - 1);
            }
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn extract<'t>(text: &'t str, paths: &[&str]) -> Option<Vec<Option<&'t str>>> {
        let mut extractor = PathExtractor::default();
        let indexes: Vec<usize> = paths.iter().map(|path| extractor.add_path(path.split('.'))).collect();
        let metadata =
            serde_json::from_str::<Value>(text).ok().map_or(0, |value| value["metadata"].to_string().len());
        let mut found = Vec::new();
        let whole = extractor.find(text.as_bytes(), metadata, &mut found);
        let text = |index: &usize| found[*index].map(|part| str::from_utf8(part.bytes()).unwrap());
        whole.then(|| indexes.iter().map(text).collect())
    }

    #[test]
    fn extracts_values_by_path() {
        let text = json!({
            "a": [1, {"b": "]}"}], "metadata": {"labels": {"x": "\"}"}, "name": "n"},
            "spec": {"empty": {}, "list": ["a,b", {"c": 1}], "n": -5, "no": null, "text": "\\\"q"}, "z": true,
        })
        .to_string();
        let paths = [
            "metadata.name",
            "spec.n",
            "spec",
            "spec.text",
            "spec.list",
            "z",
            "spec.none",
            "a.b",
            "spec.no",
            "metadata.name",
        ];
        let found = extract(&text, &paths).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        for (path, found) in paths.iter().zip(found) {
            let expected =
                path.split('.').try_fold(&value, |value, key| value.get(key)).map(Value::to_string);
            assert_eq!(found.map(str::to_owned), expected, "{path}");
        }
    }

    #[test]
    fn rejects_unexpected_json() {
        for text in [
            "",
            "{",
            "[]",
            r#"{"a":"#,
            r#"{"a":"x}"#,
            r#"{"a":{"b":1}"#,
            r#"{"a" :1}"#,
            r#"{a:1}"#,
            r#"{"a":1]"#,
        ] {
            assert_eq!(extract(text, &["a.c", "d"]), None, "{text}");
        }
        assert_eq!(extract("{}", &["a"]), Some(vec![None]));
    }

    #[test]
    fn converts_raw_json() {
        let part = |text: &'static str| RawJson(text.as_bytes());
        for (text, count) in [
            ("{}", Some(0)),
            ("[]", Some(0)),
            (r#"{"a":{"b":1,"c":2},"d":[1,2]}"#, Some(2)),
            (r#"["a,b",{"c":",,"},3]"#, Some(3)),
            ("null", None),
            ("7", None),
            ("[1", None),
        ] {
            assert_eq!(part(text).item_count(), count, "{text}");
        }
        assert_eq!(part(r#""a\u003c\"b""#).string().as_deref(), Some("a<\"b"));
        assert_eq!(
            (part(r#""a\"b""#).unescaped_str(), part(r#""ü""#).unescaped_str(), part("5").string()),
            (None, Some("ü"), None)
        );
        assert_eq!(
            (part("-7").as_i64(), part("1.5").as_i64(), part("true").as_bool()),
            (Some(-7), None, Some(true))
        );
    }
}
