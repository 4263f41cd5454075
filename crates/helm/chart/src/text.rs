//! Small functions on text and paths with Go's rules.

use std::borrow::Cow;

use podium_gotmpl::gostr;

/// Cuts white space off both ends.
pub fn trim_space(text: &str) -> &str {
    text.trim_matches(gostr::is_space)
}

/// The last part of a slash-separated path; `.` for an empty one.
pub fn base(path: &str) -> &str {
    let trimmed = path.trim_end_matches('/');
    match (path.is_empty(), trimmed.is_empty()) {
        (true, _) => ".",
        (_, true) => "/",
        _ => trimmed.rsplit('/').next().unwrap_or(trimmed),
    }
}

/// The extension of the last part of a path, with its dot; empty if there is none.
pub fn extension(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rfind('.').and_then(|at| name.get(at..)).unwrap_or_default()
}

/// Like [`cleaned`], for who keeps the path.
pub fn clean(path: &str) -> String {
    cleaned(path).into_owned()
}

/// Removes `.`, empty and (where there is a part before them) `..` parts of a slash-separated path.
pub fn cleaned(path: &str) -> Cow<'_, str> {
    // Most paths are clean.
    let is_clean = |part: &str| !matches!(part, "" | "." | "..");
    if path.split('/').all(is_clean) {
        return path.into();
    }
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            ".." if rooted => {}
            _ => parts.push(part),
        }
    }
    match (rooted, parts.is_empty()) {
        (true, _) => format!("/{}", parts.join("/")).into(),
        (false, true) => ".".into(),
        (false, false) => parts.join("/").into(),
    }
}

/// Joins two paths and cleans the result.
pub fn join(base: &str, path: &str) -> String {
    clean(&format!("{base}/{path}"))
}

/// Go's quoted form of a text.
pub fn quote(text: &str) -> String {
    String::from_utf8_lossy(&gostr::quote(text.as_bytes())).into_owned()
}

/// The path of an URL with its `%xx` replaced.
pub(crate) fn unescape_path(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let code = after.get(..2).filter(|_| first == b'%').and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_cleaned_as_go_does() {
        for (path, want) in [
            ("", "."),
            ("a//b/./c", "a/b/c"),
            ("a/../b", "b"),
            ("../a", "../a"),
            ("a/../../b", "../b"),
            ("/../a", "/a"),
            ("/", "/"),
            ("a/..", "."),
        ] {
            assert_eq!(clean(path), want, "{path}");
        }
        assert_eq!([base("a/b/"), base(""), base("//"), base("x")], ["b", ".", "/", "x"]);
        assert_eq!([extension("a.b/c"), extension("a/.x"), extension("a.tgz")], ["", ".x", ".tgz"]);
    }
}
