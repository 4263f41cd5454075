//! What each server makes up itself: moments, ages, uids, versions, addresses, names.

/// What names that a server generates end with.
const CHANCE: &str = "bcdfghjklmnpqrstvwxz2456789";

/// The lines of a text as words, without what each server makes up.
pub fn masked(text: &str) -> Vec<Vec<String>> {
    text.lines().map(line).filter(|words| !words.is_empty()).collect()
}

fn line(line: &str) -> Vec<String> {
    let words: Vec<String> = line.split_whitespace().map(word).collect();
    match words.first().map(String::as_str) {
        Some("resourceVersion:") => vec!["resourceVersion: N".to_owned()],
        Some("Resource") if words.get(1).is_some_and(|word| word == "Version:") => {
            vec!["Resource Version: N".to_owned()]
        }
        _ => words,
    }
}

fn word(word: &str) -> String {
    let word = numbers(&uids(&generated(&local(word))));
    let bare = word.trim_matches(|c: char| "\"',;()[]{}".contains(c));
    let is_age = bare.len() > 1
        && bare.starts_with(|c: char| c.is_ascii_digit())
        && bare.bytes().all(|byte| byte.is_ascii_digit() || b"smhd".contains(&byte))
        && bare.ends_with(['s', 'm', 'h', 'd']);
    let is_year = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_time = bare.len() >= 19
        && bare.get(..4).is_some_and(is_year)
        && bare.get(4..5) == Some("-")
        && bare.contains(':');
    let is_clock = bare.len() >= 8
        && bare.split(':').map(str::len).take(2).eq([2, 2])
        && bare.starts_with(|c: char| c.is_ascii_digit());
    let is_address = bare.starts_with("10.96.") || bare.starts_with("10.244.");
    let is_token = bare.len() > 200 && bare.starts_with("ey") && bare.split('.').count() == 3;
    let instead = match () {
        () if is_age => "AGE",
        () if is_time || is_clock => "TIME",
        () if is_address => "ADDRESS",
        () if is_token => "TOKEN",
        () => return word,
    };
    word.replace(bare, instead)
}

/// The address of the server itself.
fn local(word: &str) -> String {
    match word.split_once("127.0.0.1:") {
        Some((before, after)) => {
            format!("{before}SERVER{}", after.trim_start_matches(|c: char| c.is_ascii_digit()))
        }
        None => word.to_owned(),
    }
}

/// Ends of names that were left to the server: `web-7d4b9c6f5-x2k8p`.
fn generated(word: &str) -> String {
    let mut result = String::new();
    let mut rest = word;
    while let Some(at) = rest.find('-') {
        let (before, after) = rest.split_at(at + 1);
        result.push_str(before);
        let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(after.len());
        let part = after.get(..end).unwrap_or_default();
        if part.len() == 5 && part.chars().all(|c| CHANCE.contains(c)) {
            result.push_str("CHANCE");
            rest = after.get(end..).unwrap_or_default();
        } else {
            rest = after;
        }
    }
    result + rest
}

/// Uids, also in the middle of JSON.
fn uids(word: &str) -> String {
    const PARTS: [usize; 5] = [8, 4, 4, 4, 12];
    let mut result = String::new();
    let mut rest = word;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_hexdigit() && c != '-').unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        result.push_str(if part.split('-').map(str::len).eq(PARTS) { "UID" } else { part });
        let mut others = after.chars();
        result.extend(others.next());
        rest = others.as_str();
    }
    result
}

/// Ports of nodes, which a server takes by chance, and numbers so long that they mean nothing.
fn numbers(word: &str) -> String {
    let mut result = String::new();
    let mut digits = String::new();
    for c in word.chars().chain([' ']) {
        if c.is_ascii_digit() {
            digits.push(c);
            continue;
        }
        let port = digits.len() == 5 && digits.parse().is_ok_and(|port: u32| (30000..=32767).contains(&port));
        // The folders of kubectl diff have a number of any length.
        let folder = result.ends_with("LIVE-") || result.ends_with("MERGED-");
        result.push_str(match digits.len() {
            9.. => "NUMBER",
            1.. if folder => "NUMBER",
            _ if port => "PORT",
            _ => &digits,
        });
        digits.clear();
        result.push(c);
    }
    result.pop();
    result
}

#[test]
fn only_what_is_made_up_is_masked() {
    for (text, shown) in [
        ("web-7d4b9c6f5-x2k8p 1/1 Running 0 3m2s", "web-7d4b9c6f5-CHANCE 1/1 Running 0 AGE"),
        ("80:31234/TCP 10.96.3.4 kube-api-access-bcdfg:", "80:PORT/TCP ADDRESS kube-api-access-CHANCE:"),
        ("https://127.0.0.1:4321/api my-small-name", "https://SERVER/api my-small-name"),
        ("resourceVersion: \"12\"", "resourceVersion: N"),
        ("\"2026-11-17T01:02:03Z\" 12 LIVE-123456789/a", "\"TIME\" 12 LIVE-NUMBER/a"),
        ("/tmp/MERGED-1234/v1.ConfigMap MERGED-a", "/tmp/MERGED-NUMBER/v1.ConfigMap MERGED-a"),
        ("{\"uid\":\"0a1b2c3d-1111-2222-3333-0123456789ab\"}", "{\"uid\":\"UID\"}"),
    ] {
        assert_eq!(masked(text).concat().join(" "), shown);
    }
}
