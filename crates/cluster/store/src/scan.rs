//! Finds the places of an object's JSON that are asked for later, in one pass and without building a tree.

use std::ops::Range;

/// A piece of the body.
pub(crate) type Span = Range<u32>;

/// The places of one body.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Marks {
    /// Where the body goes on after its leading `kind` and `apiVersion`.
    pub item: u32,
    /// The object `metadata`, with its braces.
    pub metadata: Span,
    /// What is between the quotes of `metadata.resourceVersion`.
    pub revision: Span,
    /// Names and values of the labels, without quotes.
    pub labels: Vec<(Span, Span)>,
}

/// Finds the places, or says what is missing.
pub(crate) fn scan(body: &[u8]) -> Result<Marks, &'static str> {
    if u32::try_from(body.len()).is_err() {
        return Err("it is too large");
    }
    let mut marks = Marks::default();
    let mut cursor = Cursor { body, at: 0 };
    let mut leading = true;
    let mut found = false;
    cursor.members(|cursor, name| {
        match name {
            b"metadata" => {
                found = true;
                leading = false;
                marks.metadata = metadata(cursor, &mut marks)?;
            }
            b"kind" | b"apiVersion" if leading => {
                cursor.skip()?;
                marks.item = cursor.after_comma();
            }
            _ => {
                leading = false;
                cursor.skip()?;
            }
        }
        Ok(())
    })?;
    if marks.item == 0 {
        marks.item = 1;
    }
    match (found, marks.revision == Span::default()) {
        (true, false) => Ok(marks),
        _ => Err("it has no metadata.resourceVersion to write the revision into"),
    }
}

fn metadata(cursor: &mut Cursor<'_>, marks: &mut Marks) -> Result<Span, &'static str> {
    cursor.blank();
    let start = cursor.place();
    cursor.members(|cursor, name| {
        match name {
            b"resourceVersion" => marks.revision = cursor.string()?,
            b"labels" if cursor.next_is(b'{') => {
                marks.labels.clear();
                cursor.pairs(&mut marks.labels)?;
            }
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok(start..cursor.place())
}

struct Cursor<'a> {
    body: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn peek(&self) -> Option<u8> {
        self.body.get(self.at).copied()
    }

    fn place(&self) -> u32 {
        self.at as u32
    }

    fn blank(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn next_is(&mut self, byte: u8) -> bool {
        self.blank();
        self.peek() == Some(byte)
    }

    fn take(&mut self, byte: u8) -> Result<(), &'static str> {
        if !self.next_is(byte) {
            return Err("it is not the JSON of an object");
        }
        self.at += 1;
        Ok(())
    }

    /// Where the next member begins, without moving.
    fn after_comma(&mut self) -> u32 {
        if self.next_is(b',') { self.place() + 1 } else { self.place() }
    }

    fn slice(&self, span: &Span) -> &'a [u8] {
        self.body.get(span.start as usize..span.end as usize).unwrap_or_default()
    }

    /// A string; the span is what is between its quotes.
    fn string(&mut self) -> Result<Span, &'static str> {
        self.take(b'"')?;
        let start = self.place();
        loop {
            match self.peek().ok_or("a string does not end")? {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        let span = start..self.place();
        self.at += 1;
        Ok(span)
    }

    /// All members of an object; the function takes each value.
    fn members(
        &mut self,
        mut each: impl FnMut(&mut Self, &[u8]) -> Result<(), &'static str>,
    ) -> Result<(), &'static str> {
        self.take(b'{')?;
        if self.next_is(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            let name = self.string()?;
            self.take(b':')?;
            each(self, self.slice(&name))?;
            if self.next_is(b',') {
                self.at += 1;
            } else {
                return self.take(b'}');
            }
        }
    }

    /// An object of plain strings.
    fn pairs(&mut self, into: &mut Vec<(Span, Span)>) -> Result<(), &'static str> {
        self.take(b'{')?;
        if self.next_is(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            let name = self.string()?;
            self.take(b':')?;
            let value = self.string()?;
            for span in [&name, &value] {
                let text = self.slice(span);
                if text.contains(&b'\\')
                    || text.len() > usize::from(u16::MAX)
                    || str::from_utf8(text).is_err()
                {
                    return Err("a label is too long or not plain text");
                }
            }
            into.push((name, value));
            if self.next_is(b',') {
                self.at += 1;
            } else {
                return self.take(b'}');
            }
        }
    }

    /// Any value, however deep.
    fn skip(&mut self) -> Result<(), &'static str> {
        self.blank();
        let mut depth = 0usize;
        loop {
            match self.peek().ok_or("a value does not end")? {
                b'"' => {
                    self.string()?;
                }
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' if depth > 0 => {
                    depth -= 1;
                    self.at += 1;
                }
                b'}' | b']' | b',' if depth == 0 => return Err("a value is missing"),
                _ if depth > 0 => self.at += 1,
                _ => {
                    while !matches!(
                        self.peek(),
                        None | Some(b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t')
                    ) {
                        self.at += 1;
                    }
                }
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text<'a>(body: &'a str, span: &Span) -> &'a str {
        &body[span.start as usize..span.end as usize]
    }

    #[test]
    fn places_are_found_whatever_is_around_them() {
        let body = r#" {"apiVersion":"v1", "kind":"Pod" , "spec":{"a":[{"}":"]\""}]},
            "metadata":{"name":"a","labels":{"app":"x","a/b":""},"x":null,"resourceVersion":"7","n":-1.5e3},"z":true}"#;
        let marks = scan(body.as_bytes()).unwrap();
        assert_eq!(text(body, &marks.revision), "7");
        assert!(text(body, &marks.metadata).starts_with(r#"{"name""#) && body.ends_with(r#"},"z":true}"#));
        assert!(text(body, &marks.metadata).ends_with("-1.5e3}"));
        let labels: Vec<_> = marks.labels.iter().map(|(k, v)| (text(body, k), text(body, v))).collect();
        assert_eq!(labels, [("app", "x"), ("a/b", "")]);
        assert!(body[marks.item as usize..].trim_start().starts_with(r#""spec""#));
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for body in [
            "",
            "[]",
            "{",
            r#"{"metadata"}"#,
            r#"{"metadata":{}}"#,
            r#"{"metadata":{"resourceVersion":1}}"#,
            r#"{"metadata":{"resourceVersion":"#,
            r#"{"metadata":{"resourceVersion":"\"#,
            r#"{"a":,"metadata":{"resourceVersion":""}}"#,
            r#"{"metadata":{"resourceVersion":"","labels":{"a":1}}}"#,
            r#"{"metadata":{"resourceVersion":"","labels":{"\u0061":"1"}}}"#,
        ] {
            assert!(scan(body.as_bytes()).is_err(), "{body}");
        }
    }

    #[test]
    fn a_deep_value_takes_no_machine_stack() {
        let deep = "[".repeat(1_000_000);
        let close = "]".repeat(1_000_000);
        let body = format!(r#"{{"a":{deep}{close},"metadata":{{"resourceVersion":""}}}}"#);
        assert!(scan(body.as_bytes()).is_ok());
    }
}
