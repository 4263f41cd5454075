//! URLs of repositories and of the archives in them.

use podium_schema::Url;

use crate::text::{clean, join};

/// A URL as a text again.
fn text_of(url: &Url, path: &str) -> String {
    let mut out = String::new();
    if !url.scheme.is_empty() {
        out.push_str(&url.scheme);
        out.push(':');
    }
    let has_host = !url.host.is_empty() || url.user.is_some();
    if has_host {
        out.push_str("//");
        if let Some(user) = &url.user {
            out.push_str(user);
            out.push('@');
        }
        out.push_str(&url.host);
        if !path.is_empty() && !path.starts_with('/') {
            out.push('/');
        }
    } else if url.scheme.is_empty() && path.split('/').next().is_some_and(|first| first.contains(':')) {
        out.push_str("./");
    }
    out.push_str(&escape(path));
    if !url.query.is_empty() {
        out.push('?');
        out.push_str(&url.query);
    }
    if !url.fragment.is_empty() {
        out.push('#');
        out.push_str(&escape(&url.fragment));
    }
    out
}

/// Replaces what cannot stand in a path.
fn escape(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => out.push(char::from(byte)),
            b'-' | b'_' | b'.' | b'~' | b'$' | b'&' | b'+' | b',' | b'/' | b':' | b';' | b'=' | b'@' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// Puts a path behind that of a URL; what is no URL is taken for a path.
pub fn append(base: &str, path: &str) -> String {
    let joined = |first: &str| match (first.is_empty(), path.is_empty()) {
        (true, true) => String::new(),
        (true, false) => clean(path),
        (false, true) => clean(first),
        (false, false) => join(first, path),
    };
    match Url::parse(base) {
        Ok(url) => text_of(&url, &joined(&url.path)),
        Err(_) => joined(base),
    }
}

/// The URL that a reference means beside a repository's; what is whole already stays as it is.
pub fn resolve(base: &str, reference: &str) -> Result<String, String> {
    let parsed =
        Url::parse(reference).map_err(|error| format!("failed to parse {reference} as URL: {error}"))?;
    if !parsed.scheme.is_empty() {
        return Ok(reference.to_owned());
    }
    let mut url = Url::parse(base).map_err(|error| format!("failed to parse {base} as URL: {error}"))?;
    let folder = format!("{}/", url.path.strip_suffix('/').unwrap_or(&url.path));
    let path = if !parsed.host.is_empty() {
        url.host.clone_from(&parsed.host);
        url.user.clone_from(&parsed.user);
        parsed.path.clone()
    } else if parsed.path.is_empty() {
        folder
    } else if parsed.path.starts_with('/') {
        parsed.path.clone()
    } else {
        format!("{folder}{}", parsed.path)
    };
    url.fragment.clone_from(&parsed.fragment);
    Ok(text_of(&url, &without_dots(&path)))
}

/// A path without `.` and `..`; a slash at its end stays.
fn without_dots(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let mut folder = false;
    for part in path.trim_start_matches('/').split('/') {
        folder = matches!(part, "." | "..");
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let end = if folder && !parts.is_empty() { "/" } else { "" };
    format!("/{}{end}", parts.join("/"))
}

/// Whether two URLs are the same place.
pub fn equal(a: &str, b: &str) -> bool {
    let (Ok(first), Ok(second)) = (Url::parse(a), Url::parse(b)) else {
        return Url::parse(a).is_err() && clean(a) == clean(b);
    };
    let normal = |url: &Url| {
        let path = if url.path.is_empty() { "/".to_owned() } else { clean(&url.path) };
        text_of(url, &path)
    };
    normal(&first) == normal(&second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_joined_and_resolved_as_helm_does() {
        assert_eq!(append("", "a.tgz"), "a.tgz");
        assert_eq!(append("", ""), "");
        assert_eq!(append("https://x/y/", "a b.tgz"), "https://x/y/a%20b.tgz");
        assert_eq!(append("https://x/y?t=1", "sub"), "https://x/y/sub?t=1");
        assert_eq!(append("../up", "a.tgz"), "../up/a.tgz");
        assert_eq!(resolve("https://x/y", "a.tgz").unwrap(), "https://x/y/a.tgz");
        assert_eq!(resolve("https://x/y/?t=1", "./a/../b.tgz").unwrap(), "https://x/y/b.tgz?t=1");
        assert_eq!(resolve("https://x/y", "/b.tgz").unwrap(), "https://x/b.tgz");
        assert_eq!(resolve("https://x/y", "../../../b.tgz").unwrap(), "https://x/b.tgz");
        assert_eq!(resolve("https://x/y", "//z/b.tgz").unwrap(), "https://z/b.tgz");
        assert_eq!(resolve("https://x/y", "oci://z/b:1").unwrap(), "oci://z/b:1");
        assert!(equal("https://x", "https://x/") && equal("https://x/a//b", "https://x/a/b/"));
        assert!(!equal("https://x/a", "https://x/b") && !equal("http://x", "https://x"));
    }
}
