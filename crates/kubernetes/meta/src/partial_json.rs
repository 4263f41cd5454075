//! A few parts of an object's JSON, found in one pass that makes no values of it: most rows of a list show little of a large object.
//!
//! Texts are those that a server has written itself: without spaces, each key once, and no letter of a key escaped. Whatever looks
//! different is not found, and its reader takes the whole object instead.

use std::borrow::Cow;

use memchr::memchr2;

/// Which parts are wanted.
#[derive(Debug, Clone, Default)]
pub struct PathExtractor {
    root: Node,
    count: usize,
}

/// What is wanted of one value: all of it, some of its members, or both.
#[derive(Debug, Clone, Default)]
struct Node {
    index: Option<usize>,
    members: Vec<(String, Node)>,
}

/// The JSON of the parts that were found, by their numbers.
pub type ExtractedValues<'t> = Vec<Option<RawJson<'t>>>;

impl PathExtractor {
    /// Wants a part, by a path of keys; the number is that of the part among those that are found.
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

    /// Finds the parts in the JSON of an object whose metadata is known to be so many bytes long; false if it is no such text.
    pub fn find<'t>(&self, text: &'t [u8], metadata: usize, found: &mut ExtractedValues<'t>) -> bool {
        found.clear();
        found.resize(self.count, None);
        let mut scanner = Scanner { text, at: 0 };
        scanner.members(&self.root, Some(metadata), true, found).is_some()
    }
}

/// The JSON of one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawJson<'t>(&'t [u8]);

impl<'t> RawJson<'t> {
    /// Its bytes.
    pub fn bytes(self) -> &'t [u8] {
        self.0
    }

    /// Whether it is null.
    pub fn is_null(self) -> bool {
        self.0 == b"null"
    }

    /// What stands between the quotes of a text, if nothing in it is escaped.
    pub fn unescaped_str(self) -> Option<&'t str> {
        let inner = self.0.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        if inner.contains(&b'\\') { None } else { str::from_utf8(inner).ok() }
    }

    /// The text, if it is one.
    pub fn string(self) -> Option<Cow<'t, str>> {
        match self.unescaped_str() {
            Some(plain) => Some(Cow::Borrowed(plain)),
            None => serde_json::from_slice::<String>(self.0).ok().map(Cow::Owned),
        }
    }

    /// The number, if it is a whole one.
    pub fn as_i64(self) -> Option<i64> {
        str::from_utf8(self.0).ok()?.parse().ok()
    }

    /// The truth, if it is one.
    pub fn as_bool(self) -> Option<bool> {
        match self.0 {
            b"true" => Some(true),
            b"false" => Some(false),
            _ => None,
        }
    }

    /// How many members or items it has; nothing for other values.
    pub fn item_count(self) -> Option<usize> {
        let [b'{' | b'[', rest @ ..] = self.0 else { return None };
        if let [b'}' | b']'] = rest {
            return Some(0);
        }
        let (mut scanner, mut count) = (Scanner { text: self.0, at: 1 }, 0);
        loop {
            scanner.skip()?;
            match scanner.next()? {
                // Of a member this was the key.
                b':' => {}
                b',' => count += 1,
                b'}' | b']' => return Some(count + 1),
                _ => return None,
            }
        }
    }
}

/// How many bytes of a text are looked at one by one.
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

    /// Looks for members of the object that begins here; `last` if nothing behind it matters, so that the search ends with the last
    /// one that is wanted.
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

    /// Goes behind the value that begins here, whose length may be known.
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

    /// What stands between the quotes here.
    fn string(&mut self) -> Option<&'t [u8]> {
        if self.next()? != b'"' {
            return None;
        }
        let start = self.at;
        loop {
            let rest = self.text.get(self.at..)?;
            let ends = |byte: &u8| matches!(byte, b'"' | b'\\');
            // Most texts are keys: shorter than what it takes to look at many bytes at once.
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
    fn parts_are_found_wherever_they_stand() {
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
    fn what_is_no_object_is_not_looked_at() {
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
    fn parts_are_read_as_values_are() {
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
