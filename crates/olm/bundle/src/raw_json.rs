//! Slices, compacts and indents JSON text without decoding it.

/// Returns the offset behind the value at `at`. Open containers are counted, so nesting needs no recursion.
fn skip_value(text: &[u8], mut at: usize) -> usize {
    let mut open = 0usize;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => {
                at += 1;
                while let Some(byte) = text.get(at) {
                    match byte {
                        b'\\' => at += 1,
                        b'"' => break,
                        _ => {}
                    }
                    at += 1;
                }
                at += 1;
            }
            b'{' | b'[' => {
                open += 1;
                at += 1;
                continue;
            }
            b'}' | b']' => {
                open = open.saturating_sub(1);
                at += 1;
            }
            b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' if open > 0 => {
                at += 1;
                continue;
            }
            _ => {
                while text
                    .get(at)
                    .is_some_and(|b| !matches!(b, b',' | b':' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r'))
                {
                    at += 1;
                }
            }
        }
        if open == 0 {
            break;
        }
    }
    at
}

fn skip_whitespace(text: &[u8], mut at: usize) -> usize {
    while text.get(at).is_some_and(|b| matches!(b, b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

fn slice(text: &str, from: usize, to: usize) -> &str {
    text.get(from..to).unwrap_or_default()
}

/// Splits an array into its elements; returns nothing for other values.
pub fn elements(text: &str) -> Option<Vec<&str>> {
    let bytes = text.as_bytes();
    let mut at = skip_whitespace(bytes, 0);
    if bytes.get(at) != Some(&b'[') {
        return None;
    }
    let mut out = Vec::new();
    at = skip_whitespace(bytes, at + 1);
    while bytes.get(at).is_some_and(|b| *b != b']') {
        let end = skip_value(bytes, at).max(at + 1);
        out.push(slice(text, at, end));
        at = skip_whitespace(bytes, end);
        if bytes.get(at) == Some(&b',') {
            at = skip_whitespace(bytes, at + 1);
        }
    }
    Some(out)
}

/// Splits an object into its members, with quoted keys; returns nothing for other values.
pub fn members(text: &str) -> Option<Vec<(&str, &str)>> {
    let bytes = text.as_bytes();
    let mut at = skip_whitespace(bytes, 0);
    if bytes.get(at) != Some(&b'{') {
        return None;
    }
    let mut out = Vec::new();
    at = skip_whitespace(bytes, at + 1);
    while bytes.get(at).is_some_and(|b| *b != b'}') {
        let key_end = skip_value(bytes, at).max(at + 1);
        let colon = skip_whitespace(bytes, key_end);
        let start = skip_whitespace(bytes, colon + 1);
        let end = skip_value(bytes, start).max(start + 1);
        out.push((slice(text, at, key_end), slice(text, start, end)));
        at = skip_whitespace(bytes, end);
        if bytes.get(at) == Some(&b',') {
            at = skip_whitespace(bytes, at + 1);
        }
    }
    Some(out)
}

/// Removes insignificant whitespace.
pub fn compact(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut in_string, mut escaped) = (false, false);
    for c in text.chars() {
        if in_string {
            out.push(c);
            in_string = escaped || c != '"';
            escaped = c == '\\' && !escaped;
        } else if !matches!(c, ' ' | '\t' | '\n' | '\r') {
            out.push(c);
            in_string = c == '"';
        }
    }
    out
}

/// Indents compact JSON like Go's `json.Indent`.
pub fn indent(text: &str, indent_unit: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    let (mut in_string, mut escaped, mut depth) = (false, false, 0usize);
    let mut chars = text.chars().peekable();
    let newline = |out: &mut String, depth: usize| {
        out.push('\n');
        (0..depth).for_each(|_| out.push_str(indent_unit));
    };
    while let Some(c) = chars.next() {
        if in_string {
            out.push(c);
            in_string = escaped || c != '"';
            escaped = c == '\\' && !escaped;
            continue;
        }
        match c {
            '{' | '[' => {
                out.push(c);
                match chars.peek() {
                    Some(end @ ('}' | ']')) => {
                        out.push(*end);
                        chars.next();
                    }
                    _ => {
                        depth += 1;
                        newline(&mut out, depth);
                    }
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                newline(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                newline(&mut out, depth);
            }
            ':' => out.push_str(": "),
            _ => {
                out.push(c);
                in_string = c == '"';
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{compact, elements, indent, members};

    #[test]
    fn keeps_elements_and_members_verbatim() {
        let text = r#" [ {"a" : [1, "]\"" ] , "b":null}, 5 ,"x" ] "#;
        let all = elements(text).unwrap();
        assert_eq!(all, [r#"{"a" : [1, "]\"" ] , "b":null}"#, "5", r#""x""#]);
        assert_eq!(members(all[0]).unwrap(), [(r#""a""#, r#"[1, "]\"" ]"#), (r#""b""#, "null")]);
        assert_eq!(elements("[]").unwrap(), Vec::<&str>::new());
        assert!(elements("{}").is_none() && members("[]").is_none());
        assert_eq!(compact(text), r#"[{"a":[1,"]\""],"b":null},5,"x"]"#);
        assert_eq!(
            indent(r#"{"a":[1,{}],"b":":"}"#, "  "),
            "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": \":\"\n}"
        );
    }
}
