//! Mail addresses and URLs, as the validators of Helm's linter see them.

use std::sync::OnceLock;

use podium_re2::Regex;
use podium_schema::Url;

/// A URL of so many letters or more is none.
const MAX_URL: usize = 2083;
/// Nor is one of so few bytes.
const MIN_URL: usize = 3;

/// Letters beyond ASCII that mail addresses may have.
const WIDE: &str = r"\x{a0}-\x{d7ff}\x{f900}-\x{fdcf}\x{fdf0}-\x{ffef}";

/// Whether a text is a mail address: dotted words or a quoted text, `@`, and a domain with a dot.
///
/// The original means to take quoted texts of any length, but wants a quotation mark before each letter.
pub(super) fn is_email(text: &str) -> bool {
    static RULE: OnceLock<Option<Regex>> = OnceLock::new();
    let rule = RULE.get_or_init(|| {
        let word = format!(r"[a-zA-Z0-9!#$%&'*+\-/=?^_`{{|}}~{WIDE}]+");
        // Blanks may stand before a letter of a quoted text, and a line break before blanks.
        let blank = r"(?:(?:[ \t]*\r\n)?[ \t]+)";
        let letter = format!(r"(?:[\x01-\x08\x0b\x0c\x0e-\x1f\x7f!#-\[\]-~{WIDE}]|\([\x01-\x09\x0b-\x7f])");
        let quoted = format!(r#"(?:"{blank}?{letter})*{blank}?""#);
        let part = format!(r"[a-zA-Z0-9{WIDE}](?:[a-zA-Z0-9\-._~{WIDE}]*[a-zA-Z0-9{WIDE}])?");
        let last = format!(r"[a-zA-Z{WIDE}](?:[a-zA-Z0-9\-_~{WIDE}]*[a-zA-Z{WIDE}])?");
        Regex::new(format!(r"^(?:{word}(?:\.{word})*|{quoted})@(?:{part}\.)+{last}\.?$")).ok()
    });
    rule.as_ref().is_some_and(|rule| rule.is_match(text))
}

/// Whether a text is a URL, also one without a scheme.
pub(super) fn is_url(text: &str) -> bool {
    if text.chars().count() >= MAX_URL || text.len() <= MIN_URL || text.starts_with('.') {
        return false;
    }
    let parsed = if text.contains(':') && !text.contains("://") {
        Url::parse(&format!("http://{text}"))
    } else {
        Url::parse(text)
    };
    let Ok(url) = parsed else { return false };
    if url.host.starts_with('.') || url.host.is_empty() && !url.path.is_empty() && !url.path.contains('.') {
        return false;
    }
    static RULE: OnceLock<Option<Regex>> = OnceLock::new();
    RULE.get_or_init(|| Regex::new(url_rule()).ok()).as_ref().is_some_and(|rule| rule.is_match(text))
}

fn url_rule() -> String {
    // The first number of an address: not 0, and none of the ranges that are nobody's.
    let first = r"(?:[1-9]\d?|1\d\d|2[01]\d|22[0-3]|24\d|25[0-5])";
    let middle = r"(?:\d{1,2}|1\d\d|2[0-4]\d|25[0-5])";
    let four = format!(r"{first}(?:\.{middle}){{2}}\.{middle}");
    let (hex, byte) = ("[0-9a-fA-F]{1,4}", "(?:25[0-5]|(?:2[0-4]|1?[0-9])?[0-9])");
    let dotted = format!(r"(?:{byte}\.){{3}}{byte}");
    // Eight groups, or fewer with one gap of two colons; a zone; the last two groups as four numbers.
    let mut six = vec![format!("(?:{hex}:){{7}}{hex}"), format!("(?:{hex}:){{1,7}}:")];
    six.extend((1..=6).map(|after| format!("(?:{hex}:){{1,{}}}(?::{hex}){{1,{after}}}", 7 - after)));
    six.push(format!("::(?:{hex}(?::{hex}){{0,6}})?"));
    six.push("fe80:(?::[0-9a-fA-F]{0,4}){0,4}%[0-9a-zA-Z]+".to_owned());
    six.push(format!("::(?:ffff(?::0{{1,4}})?:)?{dotted}"));
    six.push(format!("(?:{hex}:){{1,4}}:{dotted}"));
    let six = format!(r"\[(?:{})\]", six.join("|"));
    let word = r"a-zA-Z0-9\x{a1}-\x{ffff}";
    let before = r"(?:[a-zA-Z0-9][a-zA-Z0-9\-_]*[a-zA-Z0-9](?:[-.][a-zA-Z0-9]+)*|(?:www\.|[a-zA-Z0-9]+(?:[-_.]?[a-zA-Z0-9])*[a-zA-Z0-9]\.[a-zA-Z0-9]+)?)";
    let name = format!(r"(?:{before})?(?:[{word}]+-?-?)*[{word}]+(?:\.[a-zA-Z\x{{a1}}-\x{{ffff}}]+)?");
    format!(
        r"^(?:(?:ftp|tcp|udp|wss?|https?)://)?(?:\S+(?::\S*)?@)?(?:{four}|{six}|{name})\.?(?::\d{{1,5}})?(?:[/?#]\S*)?$"
    )
}

/// Whether a request could be for this text: a URL with a scheme.
pub(super) fn is_request_url(text: &str) -> bool {
    Url::request(text).is_some_and(|url| !url.scheme.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_urls_are_told_from_other_texts() {
        for good in ["a@b.co", "a.b+c@x-y.example.com", "\"a\"@x.io", "ü@bücher.example", "a@b.c."] {
            assert!(is_email(good), "{good}");
        }
        for bad in ["", "a", "a@b", "a@b.c1", "a..b@c.de", "@b.co", "a@-b.co", "a b@c.de", "\"ab\"@x.io"] {
            assert!(!is_email(bad), "{bad}");
        }
        for good in [
            "example.com",
            "http://a.b/c?d#e",
            "user@host.com",
            "localhost:8080",
            "10.0.0.1",
            "http://[::1]:80/",
        ] {
            assert!(is_url(good), "{good}");
        }
        for bad in
            ["", "abc", ".com.com", "http://a b.com", "gopher://x.y/", "http://.x.com", "no dots", "nodots"]
        {
            assert!(!is_url(bad), "{bad}");
        }
        assert!(is_request_url("mailto:a@b") && is_request_url("https://x/y"));
        assert!(!is_request_url("/x") && !is_request_url("x.y") && !is_request_url(""));
    }
}
