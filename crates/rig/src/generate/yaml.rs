//! YAML documents: ordinary ones, odd ones and broken ones.

use crate::random::Random;
use crate::request::{File, RenderRequest};

use super::strings;
use super::{Case, Check, Family};

/// Plain scalars whose meaning is a matter of the reader's rules, and some other scalars.
pub const SCALARS: &[&str] = &[
    "",
    "~",
    "null",
    "Null",
    "NULL",
    "nULL",
    "true",
    "True",
    "TRUE",
    "tRUE",
    "false",
    "yes",
    "Yes",
    "YES",
    "no",
    "NO",
    "on",
    "On",
    "off",
    "OFF",
    "y",
    "Y",
    "n",
    "N",
    "0",
    "-0",
    "+0",
    "1",
    "-1",
    "+1",
    "42",
    "0777",
    "0o17",
    "0O17",
    "08",
    "09.5",
    "0999",
    "0x1F",
    "0X1f",
    "0x",
    "0b11",
    "0b12",
    "0B1",
    "1_000",
    "1__0",
    "1_",
    "_1",
    "0x_1F",
    "1.5",
    "-1.5",
    ".5",
    "5.",
    "1.",
    "1e3",
    "1E3",
    "1e+3",
    "1e-3",
    "1e",
    "e1",
    "1.5e400",
    "-.inf",
    ".inf",
    ".Inf",
    ".INF",
    "+.inf",
    ".nan",
    ".NaN",
    ".NAN",
    "nan",
    "inf",
    "1:30",
    "12:30",
    "12:30:45",
    "1:60",
    "190:20:30.15",
    "2024-05-06",
    "2024-05-06T07:08:09Z",
    "2024-05-06 07:08:09",
    "2024-5-6",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "123456789012345678901234567890",
    "1.7976931348623157e309",
    "0.1",
    "0.30000000000000004",
    "1000000",
    "1234567.5",
    "0.000001",
    "1e21",
    "=",
    "<<",
    ".",
    "..",
    "...",
    "-",
    "--",
    "---",
    "- a",
    "?",
    "? a",
    ":",
    "::",
    "a:b",
    "a: b",
    "a :b",
    "a#b",
    "a #b",
    "#a",
    "&a",
    "*a",
    "!a",
    "!!str 1",
    "!!int \"3\"",
    "!!float 1",
    "!!bool yes",
    "!!null ''",
    "!!binary aGVsbG8=",
    "!!binary \"!\"",
    "!foo 1",
    "! 12",
    "!!set {a, b}",
    "!!map {}",
    "!!seq []",
    "!!timestamp 2024-05-06",
    "!<tag:yaml.org,2002:str> 5",
    "%a",
    "@a",
    "`a`",
    "|",
    ">",
    "'single'",
    "'it''s'",
    "\"double\"",
    "\"esc\\n\\t\\x41\\u00e9\\U0001F600\\0\"",
    "\"bad\\q\"",
    "'open",
    "\"open",
    "[1, 2]",
    "[a, [b], {c: d}]",
    "[1, 2",
    "{a: 1}",
    "{a: 1, b}",
    "{a}",
    "{a: 1",
    "{? a : b}",
    "[a: b, c]",
    "[]",
    "{}",
    "[,]",
    "{,}",
    "{a: , b: }",
    "a b c",
    "héllo",
    "日本",
    "😀",
    "\u{feff}x",
    "\u{85}x",
    "\u{2028}x",
    "a\tb",
    "\ta",
    "a\u{1}b",
    "a\u{7f}b",
    "http://x:80/y",
    "C:\\x",
    "x, y",
    "{{ x }}",
    "\"{{ x }}\"",
];

const MARKS: &[&str] = &[
    "\t", ":", "-", "#", "&", "*", "!", "|", ">", "'", "\"", "[", "]", "{", "}", ",", "?", "\n", "  ", "---",
    "...", "%", "\r", "\u{feff}", "\u{0}",
];

/// A short document, for use inside a literal.
pub fn small(random: &mut Random) -> String {
    document(random, 2)
}

/// A document of some depth; every fifth is damaged.
pub fn document(random: &mut Random, depth: usize) -> String {
    let mut out = String::new();
    out += random.pick(&[
        "",
        "",
        "",
        "",
        "---\n",
        "# head\n",
        "%YAML 1.1\n---\n",
        "%YAML 1.2\n---\n",
        "\u{feff}",
        "--- # c\n",
        "\n",
    ]);
    block(random, &mut out, 0, depth, random_top(depth));
    out += random.pick(&["", "", "", "", "\n", "...\n", "---\nsecond: doc\n", "# tail", "---\n"]);
    let out = match random.below(12) {
        0 => out.replace('\n', "\r\n"),
        1 => out.replace('\n', "\r"),
        _ => out,
    };
    if random.chance(20) { strings::damage(random, &out, MARKS) } else { out }
}

/// Helm wants a map at the top, so most documents are one.
fn random_top(depth: usize) -> fn(&mut Random) -> usize {
    if depth == 0 { |r| r.below(3) } else { |r| [2, 2, 2, 2, 2, 2, 1, 0][r.below(8)] }
}

fn block(
    random: &mut Random,
    out: &mut String,
    indent: usize,
    depth: usize,
    choose: fn(&mut Random) -> usize,
) {
    let pad = " ".repeat(indent);
    match if depth == 0 { 0 } else { choose(random) } {
        1 => {
            for _ in 0..1 + random.below(4) {
                *out += &pad;
                *out += random.pick(&["- ", "-  ", "-   "]);
                child(random, out, indent, depth);
            }
        }
        2 => {
            for _ in 0..1 + random.below(4) {
                *out += &pad;
                *out += &key(random);
                *out += random.pick(&[": ", ":  ", ": ", ": ", " : "]);
                child(random, out, indent, depth);
            }
        }
        _ => {
            *out += &pad;
            *out += random.pick(SCALARS);
            *out += "\n";
        }
    }
}

fn key(random: &mut Random) -> String {
    if random.chance(60) {
        return random
            .pick(&["a", "b", "c", "d", "key", "a1", "a10", "a9", "A", "_x", "x.y", "global"])
            .to_owned();
    }
    match random.below(4) {
        0 => random
            .pick(&[
                "<<",
                "\"<<\"",
                "? x",
                "true",
                "yes",
                "1",
                "1.5",
                "null",
                "~",
                "\"\"",
                "'q'",
                "\"dq\"",
                "012",
                ".inf",
                "2024-05-06",
                "y",
                "é",
                "-x",
                "[a]",
                "{b: c}",
            ])
            .to_owned(),
        1 => format!("&k{} kk", random.below(3)),
        2 => format!("*x{}", random.below(3)),
        _ => random
            .pick(&[
                "dup",
                "dup",
                "long key with spaces",
                "0x1F",
                "1_0",
                "!!str 5",
                "!t k",
                "9223372036854775808",
                "a:b",
            ])
            .to_owned(),
    }
}

fn child(random: &mut Random, out: &mut String, indent: usize, depth: usize) {
    match random.below(12) {
        0..=5 => {
            *out += random.pick(SCALARS);
            *out += random.pick(&["\n", "\n", "\n", " # c\n", "  \n"]);
        }
        6 => {
            *out += &format!("&x{} ", random.below(3));
            *out += random.pick(&["1\n", "{q: 1, r: 2}\n", "[1, 2]\n", "text\n", "\n"]);
        }
        7 => *out += &format!("*x{}\n", random.below(3)),
        8 => {
            *out += random.pick(&["|", "|-", "|+", ">", ">-", ">+", "|2", "|1-", "> # c", "|-2", "|0", "|x"]);
            *out += "\n";
            for _ in 0..random.below(4) {
                *out += &" ".repeat(indent + 1 + random.below(3));
                *out +=
                    random.pick(&["text", "", "two words", "  more", "# no comment", "\ttab", "trail ", "é"]);
                *out += "\n";
            }
        }
        9 => {
            let text = strings::any(random);
            *out += &serde_json::Value::String(text).to_string();
            *out += "\n";
        }
        10 => {
            *out += "plain start\n";
            *out += &" ".repeat(indent + 2);
            *out += random.pick(&["continued\n", "more: colon\n", "\n", "# comment\n"]);
        }
        _ => {
            *out += "\n";
            let deeper = indent + 1 + random.below(2);
            block(random, out, deeper, depth - 1, |r| r.below(3));
        }
    }
}

const SHOW: &str =
    "{{ $d := .Files.Get \"doc\" | fromYaml }}{{ toJson $d }}\n{{ toYaml $d }}\n{{ toYamlPretty $d }}\n";

/// A document through `fromYaml` or `fromYamlArray` and out again in each form.
pub fn read_case(random: &mut Random) -> Case {
    let text = document(random, 3);
    let template =
        if random.chance(15) { SHOW.replace("fromYaml", "fromYamlArray") } else { SHOW.to_owned() };
    let mut request = RenderRequest::template(template);
    let mut bytes = text.into_bytes();
    if random.chance(4) {
        let at = random.below(bytes.len() + 1);
        bytes.insert(at, random.pick(&[0xff, 0xc3, 0x80, 0xed]));
    }
    request.files.push(File::new("doc", bytes));
    Case::new(Family::YamlRead, request, Check::Exact)
}

/// A string or tree, written in each form.
pub fn write_case(random: &mut Random) -> Case {
    let source = super::kinds::any(random, false).source;
    let mut request = match random.below(4) {
        0 => RenderRequest::template(format!("{{{{ $d := {source} }}}}{WRITE}")),
        1 => RenderRequest::template(format!(
            "{{{{ $d := dict \"k\" {source} \"l\" (list {source}) }}}}{WRITE}"
        )),
        _ => RenderRequest::template(format!(
            "{{{{ $d := dict \"k\" (.Files.Get \"doc\") \"l\" (list (.Files.Get \"doc\")) (.Files.Get \"doc\") 1 }}}}{WRITE}"
        )),
    };
    let mut bytes = strings::any(random).into_bytes();
    for _ in 0..random.below(3) {
        bytes.extend(strings::any(random).into_bytes());
        bytes.extend(random.pick(&["\n", " ", "", "\n\n", "\n  "]).bytes());
    }
    if random.chance(5) {
        bytes.push(0xff);
    }
    request.files.push(File::new("doc", bytes));
    Case::new(Family::YamlWrite, request, Check::Exact)
}

const WRITE: &str = "{{ toYaml $d }}\n{{ toYamlPretty $d }}\n{{ toJson $d }}\n{{ toPrettyJson $d }}\n{{ toRawJson $d }}\n{{ toToml $d }}";

/// JSON and TOML texts through their readers and out again.
pub fn other_case(random: &mut Random) -> Case {
    let (text, reader) = if random.chance(55) {
        (super::patterns::json(random), random.pick(&["fromJson", "fromJsonArray", "mustFromJson"]))
    } else {
        (super::patterns::toml(random), "fromToml")
    };
    let mut request = RenderRequest::template(format!(
        "{{{{ $d := .Files.Get \"doc\" | {reader} }}}}{{{{ toJson $d }}}}\n{{{{ toYaml $d }}}}\n{{{{ toToml $d }}}}\n"
    ));
    request.files.push(File::new("doc", text));
    Case::new(if reader == "fromToml" { Family::Toml } else { Family::Json }, request, Check::Exact)
}
