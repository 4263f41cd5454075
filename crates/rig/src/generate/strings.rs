//! Odd strings, and how Go template source spells a string.

use crate::random::Random;

/// Strings that have broken some implementation of something.
pub const ODD: &[&str] = &[
    "",
    "a",
    "hello",
    "Hello World",
    "foo bar-baz_qux.quux",
    "camelCaseString",
    "HTTPServer2Go",
    "snake_case_x",
    "12",
    "-3",
    "+7",
    "1.5",
    "0x1F",
    "010",
    "08",
    "0b11",
    "1_000",
    "1e3",
    "5.0",
    "9223372036854775808",
    "true",
    "False",
    "null",
    "~",
    "yes",
    "off",
    ".inf",
    ".NaN",
    "NaN",
    " padded ",
    "\ttab\t",
    "line1\nline2",
    "line1\r\nline2\r\n",
    "trailing\n\n",
    "\n leading",
    "a,b,,c",
    "a/b/c.txt",
    "/abs/../x//y/",
    "./rel.tar.gz",
    "héllo wörld",
    "日本語テキスト",
    "emoji 😀 x",
    "ß ǅ İ ŉ",
    "a\u{300}e\u{301}",
    "quo\"te",
    "it's",
    "back\\slash \\n",
    "<b>&amp;</b>",
    "$1 ${2} $$",
    "%d %s %v %",
    "{{ .x }}",
    "a: b",
    "- x",
    "# c",
    "*x",
    "&y",
    "!t",
    "@at",
    "`tick`",
    "a #b",
    "key:",
    "? q",
    "|",
    ">",
    "[1, 2]",
    "{a: 1}",
    "\u{0}nul",
    "\u{1}\u{7f}",
    "\u{85}nel",
    "\u{a0}nbsp\u{2003}",
    "\u{feff}bom",
    "\u{2028}ls",
    "\u{fffd}",
    "\u{10ffff}",
    "the quick brown fox jumps over the lazy dog and then runs on and on until the line is far too long to fit",
    "averyveryveryveryveryveryveryveryveryveryveryveryveryveryveryveryveryveryveryverylongword",
    "2024-05-06",
    "2024-05-06T07:08:09Z",
    "12:30:45",
    "1h30m",
    "95",
    "1.2.3",
    "v1.2.3-alpha.1+b",
    ">=1.2.0, <2",
    "https://u:p@h.test:80/x/y?y=z&q#f",
    "aGVsbG8=",
    "NBSWY3DP",
    "{\"a\":1,\"b\":[true,null]}",
    "[1,\"x\"]",
    "a=b",
    "k: v\nl: [1]",
    "x = 1\n[t]\ny = \"z\"",
];

/// A few short, well-behaved words: what keys and names usually are.
pub const WORDS: &[&str] = &["a", "b", "c", "d", "k", "name", "x", "hello", "_0", "_1", "missing"];

/// An odd string, a word, or letters in any order.
pub fn any(random: &mut Random) -> String {
    match random.below(10) {
        0..=5 => random.pick(ODD).to_owned(),
        6 => random.pick(WORDS).to_owned(),
        7 => format!("{}{}", random.pick(ODD), random.pick(ODD)),
        8 => soup(random, "abcXYZ 019_-./:,'\"\\\n\t#{}[]&*!|>%@`~$()=+?^éß日😀"),
        _ => soup(random, "abc XYZ-_ 123"),
    }
}

/// Up to 24 letters of an alphabet.
pub fn soup(random: &mut Random, alphabet: &str) -> String {
    let letters: Vec<char> = alphabet.chars().collect();
    (0..random.below(24)).map(|_| random.pick(&letters)).collect()
}

/// A Go interpreted string literal.
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if (c as u32) < 0x20 || c as u32 == 0x7f => out.push_str(&format!("\\x{:02x}", c as u32)),
            '\u{85}' | '\u{feff}' | '\u{2028}' => out.push_str(&format!("\\u{:04x}", letter as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A literal in one of Go's two spellings.
pub fn literal(random: &mut Random, text: &str) -> String {
    let raw_is_possible = !text.contains(['`', '\r', '\0']);
    if raw_is_possible && random.chance(25) { format!("`{text}`") } else { quoted(text) }
}

/// A literal of a generated text.
pub fn literal_of(random: &mut Random, make: fn(&mut Random) -> String) -> String {
    let text = make(random);
    literal(random, &text)
}

/// Cuts, doubles, swaps or inserts a few letters.
pub fn damage(random: &mut Random, text: &str, insert: &[&str]) -> String {
    let mut letters: Vec<String> = text.chars().map(String::from).collect();
    for _ in 0..=random.below(3) {
        let at = random.below(letters.len() + 1);
        match random.below(5) {
            0 if at < letters.len() => drop(letters.remove(at)),
            1 if at < letters.len() => letters.insert(at, letters[at].clone()),
            2 if at + 1 < letters.len() => letters.swap(at, at + 1),
            3 => letters.truncate(at.max(1)),
            _ => letters.insert(at, random.pick(insert).to_owned()),
        }
    }
    letters.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_spelled_as_go_reads_them() {
        assert_eq!(quoted("a\"\\\n\u{1}é"), "\"a\\\"\\\\\\n\\x01é\"");
        let mut random = Random::new(1);
        for _ in 0..200 {
            assert!(!literal(&mut random, "a`b").starts_with('`'));
        }
    }
}
