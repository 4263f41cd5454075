//! Paths to fields, as rules and selectable fields write them: `.spec.name`, `['key']`.

use crate::node::Node;
use crate::path::Path;

/// A field that a path leads to.
pub struct Found<'a> {
    /// The path in the words of the API.
    pub path: Path,
    /// The first step of it.
    pub root: String,
    /// The schema of the field.
    pub node: Option<&'a Node>,
}

/// Follows a path through a schema, or says why it leads nowhere.
pub fn find<'a>(text: &str, node: &'a Node, brackets: bool) -> Result<Found<'a>, String> {
    let mut found = Found { path: Path::default(), root: String::new(), node: Some(node) };
    let mut tokens = Tokens { rest: text };
    while let Some(token) = tokens.next() {
        match token {
            "[" if !brackets => return Err("array notation is not allowed".to_owned()),
            "[" => {
                let token = tokens.next().ok_or(END)?;
                let quoted = token.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
                let Some(quoted) = quoted else {
                    return Err(format!("expected single quoted string but got {token}"));
                };
                step(&mut found, &unescape(quoted)?)?;
                match tokens.next().ok_or(END)? {
                    "]" => {}
                    other => return Err(format!("expected ] but got {other}")),
                }
            }
            "." => step(&mut found, tokens.next().ok_or(END)?)?,
            other => return Err(format!("expected [ or . but got: {other}")),
        }
    }
    Ok(found)
}

const END: &str = "unexpected end of JSON path";

fn step(found: &mut Found<'_>, name: &str) -> Result<(), String> {
    const NOWHERE: &str = "does not refer to a valid field";
    let node = found.node.ok_or(NOWHERE)?;
    if !node.properties.is_empty() {
        found.path = found.path.child(name);
        found.node = Some(node.properties.get(name).ok_or(NOWHERE)?);
    } else if let Some(extra) = &node.extra {
        found.path = found.path.key(name);
        found.node = extra.node.as_deref();
    } else {
        return Err(NOWHERE.to_owned());
    }
    if found.root.is_empty() {
        found.root = found.path.text();
    }
    Ok(())
}

fn unescape(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        out.push(match chars.next() {
            Some('a') => '\u{7}',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('v') => '\u{b}',
            Some('\'') => '\'',
            Some('\\') => '\\',
            Some(other) => return Err(format!("invalid string literal: invalid escape char \\{other}")),
            None => '\\',
        });
    }
    Ok(out)
}

/// Delimiters, words, and text in single quotes.
struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let bytes = self.rest.as_bytes();
        let end = match bytes.first()? {
            b'\'' => {
                let close = (1..bytes.len()).find(|i| bytes[*i] == b'\'' && bytes[*i - 1] != b'\\');
                close.map_or(bytes.len(), |close| close + 1)
            }
            b'.' | b'[' | b']' => 1,
            _ => self.rest.find(['.', '[', ']']).unwrap_or(bytes.len()),
        };
        let (token, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(token)
    }
}
