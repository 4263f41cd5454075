//! Small languages: formats, regular expressions, versions, layouts, durations, JSON, TOML.

use crate::random::Random;

use super::strings;

/// A printf format with one to three verbs.
pub fn format(random: &mut Random) -> String {
    let mut out = String::new();
    for _ in 0..=random.below(3) {
        out.push_str(random.pick(&["", "x", " ", "é", "%%", "|"]));
        out.push_str(&directive(random));
    }
    out
}

fn directive(random: &mut Random) -> String {
    let mut out = String::from("%");
    for _ in 0..random.below(3) {
        out.push_str(random.pick(&["-", "+", "#", "0", " "]));
    }
    out.push_str(random.pick(&["", "", "", "1", "5", "12", "*", "[1]", "[2]", "[3]*", "[x]", "[0]"]));
    out.push_str(random.pick(&["", "", "", ".", ".0", ".2", ".10", ".*", ".[2]*", ".-1"]));
    out.push_str(random.pick(&["", "", "", "", "[1]", "[2]"]));
    out.push_str(random.pick(&[
        "v", "v", "d", "s", "q", "x", "X", "t", "T", "b", "o", "O", "c", "U", "e", "E", "f", "F", "g", "G",
        "p", "w", "!", "é", "z", "",
    ]));
    out
}

/// A regular expression, sometimes a broken one.
pub fn regex(random: &mut Random) -> String {
    let pattern = alternation(random, 3);
    if random.chance(15) {
        strings::damage(
            random,
            &pattern,
            &["(", ")", "[", "]", "{", "}", "\\", "*", "+", "?", "^", "$", "|", "(?"],
        )
    } else {
        pattern
    }
}

fn alternation(random: &mut Random, depth: usize) -> String {
    let parts: Vec<String> =
        (0..1 + random.below(2) * random.below(3)).map(|_| sequence(random, depth)).collect();
    parts.join("|")
}

fn sequence(random: &mut Random, depth: usize) -> String {
    (0..1 + random.below(3)).map(|_| repeated(random, depth)).collect()
}

fn repeated(random: &mut Random, depth: usize) -> String {
    let atom = match random.below(if depth == 0 { 5 } else { 8 }) {
        0 | 1 => random
            .pick(&[
                "a",
                "b",
                "l",
                "1",
                " ",
                "é",
                "日",
                "-",
                "\\.",
                "\\n",
                "\\x41",
                "\\x{e9}",
                "\\Qa.b\\E",
                "\\101",
                "o",
            ])
            .to_owned(),
        2 => random
            .pick(&[
                ".",
                "\\d",
                "\\w",
                "\\s",
                "\\D",
                "\\W",
                "\\S",
                "\\b",
                "\\B",
                "\\pL",
                "\\p{Lu}",
                "\\P{Greek}",
                "\\C",
                "\\z",
                "\\A",
            ])
            .to_owned(),
        3 => random
            .pick(&[
                "[a-z]",
                "[^a-z]",
                "[abc]",
                "[[:alpha:]]",
                "[[:^digit:]x]",
                "[\\d\\-]",
                "[]a]",
                "[^]a]",
                "[a-]",
                "[é-ü]",
                "[\\pL\\s]",
                "[^\\n]",
            ])
            .to_owned(),
        4 => random.pick(&["^", "$", "\\b", ""]).to_owned(),
        5 => format!("({})", alternation(random, depth - 1)),
        6 => format!(
            "({}{})",
            random.pick(&["?:", "?i:", "?s:", "?-i:", "?U:", "?m:", "?i", "?ms-i:"]),
            alternation(random, depth - 1)
        ),
        _ => format!(
            "({}{}>{})",
            random.pick(&["?P<", "?<"]),
            random.pick(&["name", "x", "y1"]),
            alternation(random, depth - 1)
        ),
    };
    format!(
        "{atom}{}",
        random.pick(&[
            "", "", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{0,}", "{2,1}", "{,3}", "**",
            "{1001}"
        ])
    )
}

fn number(random: &mut Random) -> String {
    random.pick(&["0", "1", "1", "2", "3", "10", "20", "01", "x", "*", "99999999999999999999"]).to_owned()
}

/// A semantic version, sometimes a loose or broken one.
pub fn version(random: &mut Random) -> String {
    let small = |random: &mut Random| random.pick(&["0", "1", "2", "3", "10"]).to_owned();
    if random.chance(12) {
        return random
            .pick(&[
                "",
                "v",
                "1.2.3.4",
                "1.2.-3",
                "a.b.c",
                "1.2.3-",
                "1.2.3+",
                "01.2.3",
                "1.2.3-01",
                "1.2.3-a..b",
                " 1.2.3",
                "1.2.3-é",
            ])
            .to_owned();
    }
    let mut out = random.pick(&["", "", "", "v", "V"]).to_owned();
    out += &small(random);
    for _ in 0..[2, 2, 2, 1, 0][random.below(5)] {
        out += ".";
        out += &small(random);
    }
    out += random.pick(&["", "", "", "-alpha", "-rc.1", "-alpha.1", "-0", "-alpha.beta", "-1.2.3"]);
    out += random.pick(&["", "", "", "+meta", "+b.5", "+001"]);
    out
}

/// A version constraint, sometimes a broken one.
pub fn constraint(random: &mut Random) -> String {
    let mut out = String::new();
    for i in 0..1 + random.below(3) {
        if i > 0 {
            out += random.pick(&[", ", " ", ",", " || ", "||", " - ", " , "]);
        }
        out += random.pick(&[
            "", "=", "==", "!=", ">", "<", ">=", "=>", "<=", "=<", "~", "~>", "^", ">= ", "^ ", "<>",
        ]);
        out += random.pick(&["", "", "", "v"]);
        out += &number(random);
        for _ in 0..random.below(3) {
            out += ".";
            out += &number(random);
        }
        out += random.pick(&["", "", "", "", "-0", "-alpha", "-rc.1", "+meta", "-beta.2"]);
    }
    out
}

/// A time layout.
pub fn layout(random: &mut Random) -> String {
    if random.chance(35) {
        return random
            .pick(&[
                "2006-01-02",
                "2006-01-02 15:04:05",
                "2006-01-02T15:04:05Z07:00",
                "02 Jan 06 15:04 MST",
                "Mon, 02 Jan 2006 15:04:05 MST",
                "January 2, 2006",
                "03:04PM",
            ])
            .to_owned();
    }
    let mut out = String::new();
    for _ in 0..1 + random.below(5) {
        out += random.pick(&[
            "2006",
            "06",
            "01",
            "1",
            "Jan",
            "January",
            "02",
            "2",
            "_2",
            "002",
            "__2",
            "15",
            "03",
            "3",
            "04",
            "4",
            "05",
            "5",
            "PM",
            "pm",
            "MST",
            "Z0700",
            "Z07:00",
            "Z07",
            "-0700",
            "-07:00",
            "-07",
            "Z070000",
            "-07:00:00",
            ".000",
            ".999999",
            ",00",
            "Mon",
            "Monday",
            "_2006",
            "x",
        ]);
        out += random.pick(&["-", " ", ":", "", "/", "T"]);
    }
    out
}

/// A duration text, sometimes a broken one.
pub fn duration(random: &mut Random) -> String {
    if random.chance(30) {
        return random
            .pick(&[
                "",
                "95",
                "1.5",
                "0",
                "-3600",
                "1e3",
                "h",
                "1",
                "1d",
                "1h 30m",
                "9223372036854775807",
                "99999999999999999999h",
                "+-1s",
                ".s",
                "1µs",
                "1μs",
            ])
            .to_owned();
    }
    let mut out = random.pick(&["", "", "", "-", "+"]).to_owned();
    for _ in 0..1 + random.below(3) {
        out += random.pick(&["0", "1", "2", "30", "90", "1.5", ".5", "720", "1000"]);
        out += random.pick(&["h", "m", "s", "ms", "us", "ns", "h", "m", "s"]);
    }
    out
}

/// JSON text, sometimes broken.
pub fn json(random: &mut Random) -> String {
    let text = json_value(random, 3);
    let padded =
        format!("{}{text}{}", random.pick(&["", " ", "\n"]), random.pick(&["", "", "\n", " x", "{}"]));
    if random.chance(20) {
        strings::damage(
            random,
            &padded,
            &["{", "}", "[", "]", ",", ":", "\"", "\\", "'", "//", "0", "-", "nul"],
        )
    } else {
        padded
    }
}

fn json_value(random: &mut Random, depth: usize) -> String {
    match random.below(if depth == 0 { 5 } else { 9 }) {
        0 => random.pick(&["null", "true", "false"]).to_owned(),
        1 | 2 => random
            .pick(&[
                "0",
                "1",
                "-1",
                "1.5",
                "1e3",
                "1E+2",
                "-0",
                "0.1",
                "12345678901234567890",
                "1e400",
                "1e-400",
                "9007199254740993",
                "123456789.125",
                "01",
                "+1",
                ".5",
                "1.",
            ])
            .to_owned(),
        3 => random
            .pick(&[
                "\"\"",
                "\"x\"",
                "\"a\\nb\"",
                "\"\\u00e9\"",
                "\"\\ud83d\\ude00\"",
                "\"\\ud800\"",
                "\"<&>\"",
                "\"\\/\"",
                "\"tab\\t\"",
                "\"\\x\"",
                "\"é日😀\"",
                "\"a\u{1}\"",
                "'x'",
            ])
            .to_owned(),
        4 => {
            let text = strings::any(random);
            serde_json::Value::String(text).to_string()
        }
        5 | 6 => {
            let items: Vec<String> = (0..random.below(4)).map(|_| json_value(random, depth - 1)).collect();
            format!("[{}]", items.join(random.pick(&[",", ", ", " , "])))
        }
        _ => {
            let items: Vec<String> = (0..random.below(4))
                .map(|_| {
                    let key = random.pick(&[
                        "\"a\"", "\"b\"", "\"a\"", "\"z.y\"", "\"1\"", "\"\"", "\"é\"", "\"A\"", "\"a10\"",
                        "\"a9\"", "\"_\"", "\"true\"",
                    ]);
                    format!("{key}:{}", json_value(random, depth - 1))
                })
                .collect();
            format!("{{{}}}", items.join(","))
        }
    }
}

/// TOML text, sometimes broken.
pub fn toml(random: &mut Random) -> String {
    let mut out = String::new();
    for _ in 0..1 + random.below(5) {
        match random.below(6) {
            0 => {
                out += random.pick(&[
                    "[t]\n",
                    "[a.b]\n",
                    "[\"q\".x]\n",
                    "[[arr]]\n",
                    "[[arr.in]]\n",
                    "[ s ]\n",
                    "[t.u] # c\n",
                ])
            }
            1 => out += random.pick(&["# comment\n", "\n", "  \n"]),
            _ => {
                out += random.pick(&["a", "b", "c.d", "\"k k\"", "'l'", "e", "1", "x-y", "t"]);
                out += random.pick(&[" = ", "=", " =  "]);
                out += &toml_value(random, 2);
                out += "\n";
            }
        }
    }
    if random.chance(15) {
        strings::damage(random, &out, &["[", "]", "=", "\"", "'", "{", "}", "\n", "#", ".", ","])
    } else {
        out
    }
}

fn toml_value(random: &mut Random, depth: usize) -> String {
    match random.below(if depth == 0 { 4 } else { 6 }) {
        0 | 1 => random
            .pick(&[
                "1",
                "-7",
                "+3",
                "0x1F",
                "0o17",
                "0b11",
                "1_000",
                "1.5",
                "1e6",
                "-2.5e-3",
                "inf",
                "nan",
                "true",
                "false",
                "9223372036854775807",
                "9223372036854775808",
                "010",
            ])
            .to_owned(),
        2 => random
            .pick(&[
                "\"x\"",
                "'lit\\n'",
                "\"esc\\t\\u00e9\"",
                "\"\"\"\nmulti\n line\"\"\"",
                "'''\nraw\n'''",
                "\"\"",
                "\"bad\\q\"",
            ])
            .to_owned(),
        3 => random
            .pick(&[
                "2024-05-06",
                "07:08:09",
                "2024-05-06T07:08:09Z",
                "2024-05-06 07:08:09.123",
                "2024-05-06T07:08:09+02:00",
                "2024-13-01",
            ])
            .to_owned(),
        4 => {
            let items: Vec<String> = (0..random.below(4)).map(|_| toml_value(random, depth - 1)).collect();
            format!("[{}]", items.join(", "))
        }
        _ => {
            let items: Vec<String> =
                (0..random.below(3)).map(|i| format!("k{i} = {}", toml_value(random, depth - 1))).collect();
            format!("{{ {} }}", items.join(", "))
        }
    }
}
