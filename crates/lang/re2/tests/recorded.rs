//! Answers of Go 1.26's `regexp`, recorded once, for patterns of every kind on texts of every kind.
//!
//! Columns: pattern, text, template, n, then either `error` and its text, or the places of `FindAllIndex(n)`, the places
//! of `FindAllSubmatchIndex(-1)`, `ReplaceAll`, `ReplaceAllLiteral`, `Split(n)`.

use std::ops::Range;

use podium_re2::{Regex, quote_meta};

const RECORDED: &str = include_str!("data/recorded.tsv");

fn unescape(text: &str) -> Vec<u8> {
    let mut parts = text.split("\\x");
    let mut out = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        out.push(u8::from_str_radix(&part[..2], 16).unwrap_or_default());
        out.extend_from_slice(&part.as_bytes()[2..]);
    }
    out
}

fn escape(bytes: &[u8]) -> String {
    let plain = |b: &u8| (0x20..0x7F).contains(b) && *b != b'\\';
    bytes.iter().map(|b| if plain(b) { char::from(*b).to_string() } else { format!("\\x{b:02x}") }).collect()
}

fn place(at: Option<Range<usize>>) -> String {
    at.map_or("-".into(), |at| format!("{}:{}", at.start, at.end))
}

fn answer(pattern: &[u8], text: &[u8], template: &[u8], n: i64) -> String {
    let re = match Regex::new(pattern) {
        Ok(re) => re,
        Err(e) => return format!("error\t{}", escape(&e.to_bytes())),
    };
    let all: Vec<String> = re.find_all_index(text, n).into_iter().map(|at| place(Some(at))).collect();
    let groups: Vec<String> = re
        .captures_all(text, -1)
        .iter()
        .map(|c| (0..c.len()).map(|g| place(c.index(g))).collect::<Vec<_>>().join(" "))
        .collect();
    let pieces: String = re.split(text, n).iter().map(|piece| format!("<{}>", escape(piece))).collect();
    assert_eq!(re.is_match(text), !groups.is_empty());
    assert_eq!(re.find_index(text), re.captures(text).and_then(|c| c.index(0)));
    [
        all.join(","),
        groups.join(","),
        escape(&re.replace_all(text, template)),
        escape(&re.replace_all_literal(text, template)),
        pieces,
    ]
    .join("\t")
}

#[test]
fn every_recorded_answer_is_ours_too() {
    let mut count = 0;
    for line in RECORDED.lines() {
        let mut columns = line.splitn(5, '\t');
        let mut next = || columns.next().unwrap();
        let (pattern, text, template, n) = (next(), next(), next(), next());
        let got = answer(&unescape(pattern), &unescape(text), &unescape(template), n.parse().unwrap());
        assert_eq!(got, next(), "{pattern} on {text}, {template}, {n}");
        count += 1;
    }
    assert!(count > 400);
}

#[test]
fn a_quoted_text_matches_only_itself() {
    let text = r"a.b*c\d[e]{f}(g)|h^i$j+k?";
    let re = Regex::new([b"^".to_vec(), quote_meta(text), b"$".to_vec()].concat()).unwrap();
    assert!(re.is_match(text));
    assert!(!re.is_match("axb*c"));
    assert_eq!(quote_meta("a-b é"), "a-b é".as_bytes());
}

#[test]
fn groups_are_found_by_number_and_name() {
    let re = Regex::new(r"(?P<n>a)|(?P<n>b)|(c)").unwrap();
    assert_eq!(re.group_names().iter().map(|n| &**n).collect::<Vec<_>>(), ["", "n", "n", ""]);
    let found = re.captures("xb").unwrap();
    assert_eq!(found.name("n"), Some(&b"b"[..]));
    assert_eq!(found.name(""), None);
    assert_eq!(found.iter().collect::<Vec<_>>(), [Some(&b"b"[..]), None, Some(&b"b"[..]), None]);
    assert_eq!(found.get(9), None);
}

#[test]
fn hostile_patterns_are_refused_in_time_and_without_a_deep_stack() {
    let refused = [
        ("(".repeat(1_000_000), "missing closing )"),
        ("(?:".repeat(1_000_000), "missing closing )"),
        ("[[:".repeat(200_000), "missing closing ]"),
        (format!("{}a{}", "(".repeat(5000), ")".repeat(5000)), "expression nests too deeply"),
        (r"\pL{1000}".repeat(10), "expression too large"),
        (format!("(?:{}){{1000}}", "(a)".repeat(900)), "expression too large"),
        ("(?:[a-z]{100}){11}".into(), "invalid repeat count"),
    ];
    for (pattern, want) in refused {
        let error = Regex::new(&pattern).unwrap_err();
        assert_eq!(error.kind().to_string(), want);
    }
}

#[test]
fn the_deepest_allowed_pattern_fits_a_small_stack() {
    let deep = [
        format!("{}a{}", "(".repeat(248), ")".repeat(248)),
        format!("{}a{}", "(?:x(?:yy|".repeat(80), "))*".repeat(80)),
        format!("{}a{}", "(?:b|(".repeat(120), "))".repeat(120)),
    ];
    let work = move || deep.map(|pattern| Regex::new(pattern).map(|re| re.is_match("xxa")));
    let results = std::thread::Builder::new().stack_size(640 << 10).spawn(work).unwrap().join().unwrap();
    assert!(results.iter().all(|r| r.is_ok()), "{results:?}");
}
