//! Go's `filepath.Match`, which `.helmignore` and `--show-only` use: `*` and `?` stop at `/`, `[^a-z]`, `\` escapes.

use podium_gotmpl::gostr::decode_char;

/// The pattern is not well formed; the text is Go's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("syntax error in pattern")]
pub struct BadPattern;

/// Reports whether the whole name matches the pattern.
///
/// A damaged pattern is only noticed when the comparison gets that far: callers that want to refuse bad patterns
/// compare with a name that is not empty, as Helm does.
pub fn path_match(pattern: &str, name: &str) -> Result<bool, BadPattern> {
    let (mut pattern, mut name) = (pattern.as_bytes(), name.as_bytes());
    while !pattern.is_empty() {
        let (star, chunk, rest) = next_chunk(pattern);
        pattern = rest;
        if star && chunk.is_empty() {
            return Ok(!name.contains(&b'/'));
        }
        let last = pattern.is_empty();
        let mut after = match_chunk(chunk, name)?.filter(|after| after.is_empty() || !last);
        if after.is_none() && star {
            after = match_later(chunk, name, last)?;
        }
        match after {
            Some(after) => name = after,
            None => return Ok(false),
        }
    }
    Ok(name.is_empty())
}

/// Lets a star swallow more and more of the name, but no `/`.
fn match_later<'a>(chunk: &[u8], name: &'a [u8], last: bool) -> Result<Option<&'a [u8]>, BadPattern> {
    let mut rest = name;
    while let [first, tail @ ..] = rest {
        if *first == b'/' {
            break;
        }
        if let Some(after) = match_chunk(chunk, tail)?
            && (after.is_empty() || !last)
        {
            return Ok(Some(after));
        }
        rest = tail;
    }
    Ok(None)
}

/// Cuts leading stars and the text up to the next star off the pattern.
fn next_chunk(pattern: &[u8]) -> (bool, &[u8], &[u8]) {
    let stars = pattern.iter().take_while(|byte| **byte == b'*').count();
    let stripped = pattern.get(stars..).unwrap_or_default();
    let mut in_range = false;
    let mut end = stripped.len();
    let mut bytes = stripped.iter().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            b'[' => in_range = true,
            b']' => in_range = false,
            b'*' if !in_range => {
                end = at;
                break;
            }
            _ => {}
        }
    }
    let (chunk, rest) = stripped.split_at_checked(end).unwrap_or((stripped, &[]));
    (stars > 0, chunk, rest)
}

/// Compares a chunk (no stars outside of brackets) with the start of the name and hands back the rest of the name.
///
/// After the first difference the chunk is still read to its end, to find damage.
fn match_chunk<'a>(mut chunk: &[u8], mut name: &'a [u8]) -> Result<Option<&'a [u8]>, BadPattern> {
    let mut failed = false;
    while let [op, rest @ ..] = chunk {
        failed = failed || name.is_empty();
        chunk = rest;
        match op {
            b'[' => {
                let c = (!failed).then(|| next_char(&mut name));
                let found = match_brackets(&mut chunk, c)?;
                failed = failed || !found;
            }
            b'?' => {
                failed = failed || name.first() == Some(&b'/');
                next_char(&mut name);
            }
            _ => {
                let mut wanted = op;
                if *op == b'\\' {
                    (wanted, chunk) = chunk.split_first().ok_or(BadPattern)?;
                }
                if let [first, tail @ ..] = name {
                    failed = failed || first != wanted;
                    name = tail;
                }
            }
        }
    }
    Ok((!failed).then_some(name))
}

fn next_char(text: &mut &[u8]) -> char {
    let (c, width) = decode_char(text);
    *text = text.get(width..).unwrap_or_default();
    c
}

fn match_brackets(pattern: &mut &[u8], c: Option<char>) -> Result<bool, BadPattern> {
    let negated = pattern.first() == Some(&b'^');
    if negated {
        next_char(pattern);
    }
    let mut found = false;
    let mut ranges = 0usize;
    loop {
        if pattern.first() == Some(&b']') && ranges > 0 {
            next_char(pattern);
            return Ok(found != negated);
        }
        let lo = bracket_char(pattern)?;
        let mut hi = lo;
        if pattern.first() == Some(&b'-') {
            next_char(pattern);
            hi = bracket_char(pattern)?;
        }
        found = found || c.is_some_and(|c| lo <= c && c <= hi);
        ranges += 1;
    }
}

/// One end of a range. The bracket must still be open after it.
fn bracket_char(pattern: &mut &[u8]) -> Result<char, BadPattern> {
    match pattern.first() {
        None | Some(b'-' | b']') => return Err(BadPattern),
        Some(b'\\') => drop(next_char(pattern)),
        Some(_) => {}
    }
    if pattern.is_empty() {
        return Err(BadPattern);
    }
    let c = next_char(pattern);
    if pattern.is_empty() { Err(BadPattern) } else { Ok(c) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_equal_go() {
        // pattern, name, answer; `None` is a bad pattern. The answers are Go's.
        for (pattern, name, want) in [
            ("abc", "abc", Some(true)),
            ("*", "abc", Some(true)),
            ("*c", "abc", Some(true)),
            ("a*", "ab/c", Some(false)),
            ("a*/b", "abc/b", Some(true)),
            ("a*b*c*d*e*/f", "axbxcxdxe/f", Some(true)),
            ("a*b?c*x", "abxbbxdbxebxczzx", Some(true)),
            ("ab[^c]", "abc", Some(false)),
            ("ab[^e-g]", "abc", Some(true)),
            ("a\\*b", "a*b", Some(true)),
            ("a?b", "a/b", Some(false)),
            ("a*b", "a/b", Some(false)),
            ("[\\]a]", "]", Some(true)),
            ("[]a]", "]", None),
            ("[-]", "-", None),
            ("[x-]", "x", None),
            ("[a-b-c]", "a", None),
            ("[", "a", None),
            ("[^bc", "a", None),
            ("a[", "a", None),
            ("a[", "ab", None),
            ("a[", "x", None),
            ("a*b[", "x", Some(false)),
            ("*x", "xxx", Some(true)),
            ("\\", "a", None),
            ("a?", "a", Some(false)),
            ("", "", Some(true)),
            ("", "a", Some(false)),
        ] {
            assert_eq!(path_match(pattern, name).ok(), want, "{pattern} {name}");
        }
    }
}
