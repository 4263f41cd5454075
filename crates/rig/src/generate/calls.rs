//! Calls of one function: right ones, wrong ones, piped or not.

use crate::random::Random;
use crate::request::RenderRequest;

use super::functions::{ALL, Function, Nature};
use super::kinds::{self, Arg, Kind};
use super::{Case, Check, Family, roles, strings};

/// Good arguments for a function.
pub fn arguments(random: &mut Random, function: &Function) -> Vec<Arg> {
    let small = function.nature != Nature::Plain;
    let mut out: Vec<Arg> = Vec::new();
    for role in function.roles.split_whitespace() {
        let (times, role) = match (role.strip_prefix('*'), role.strip_prefix('?')) {
            (Some(role), _) => (random.below(4), role),
            (_, Some(role)) => (random.below(2), role),
            _ => (1, role),
        };
        for _ in 0..times {
            let first = out.first().map(|a| a.kind);
            out.push(match (role, first) {
                ("same", Some(_)) if random.chance(20) => out[0].clone(),
                ("same", Some(kind)) if random.chance(65) => kinds::of(random, kind, small),
                ("same", _) => kinds::any(random, small),
                _ => roles::argument(random, role, small),
            });
        }
    }
    relate(random, function.name, &mut out);
    out
}

/// Arguments that have to do with each other: a prefix that is one, a key that is there.
fn relate(random: &mut Random, name: &str, args: &mut Vec<Arg>) {
    match (name, args.as_mut_slice()) {
        ("dict", args) if random.chance(80) => {
            for (i, arg) in args.iter_mut().enumerate().filter(|(i, _)| i % 2 == 0) {
                *arg = Arg::new(format!("\"{}\"", ["a", "b", "c", "d"][i % 4]), Kind::Str);
            }
        }
        ("dig", _) if random.chance(50) => {
            for _ in 0..random.below(3) {
                args.insert(0, roles::argument(random, "key", false));
            }
        }
        (
            "trimPrefix" | "trimSuffix" | "hasPrefix" | "hasSuffix" | "contains" | "trimAll" | "trimall"
            | "split" | "splitList" | "splitn" | "replace",
            [part, .., whole],
        ) if random.chance(60) => {
            let text = strings::any(random);
            let letters: Vec<char> = text.chars().collect();
            let length = 1 + random.below(3);
            let middle = random.below(letters.len());
            let start = random.pick(&[0, letters.len().saturating_sub(length), middle]);
            let piece: String = letters.iter().skip(start).take(length).collect();
            *part = Arg::new(strings::quoted(&piece), Kind::Str);
            *whole = Arg::new(strings::quoted(&text), Kind::Str);
        }
        ("decryptAES", [password, cipher]) if random.chance(50) => {
            *password = Arg::new("\"a\"", Kind::Str);
            *cipher = Arg::new(strings::quoted("3qWF+ssnbCFXcWvyIEZmwi29RgcR+GNbDth3nWzfLMI="), Kind::Str);
        }
        ("lt" | "le" | "gt" | "ge", [a, b]) if random.chance(70) => {
            let kind = [Kind::Int, Kind::Float, Kind::Str, Kind::Int64][random.below(4)];
            let small = random.chance(60);
            *a = kinds::of(random, kind, small);
            *b = if random.chance(25) { a.clone() } else { kinds::of(random, kind, small) };
        }
        ("substr", [from, to, _]) if random.chance(60) => {
            *from = Arg::new(random.pick(&["0", "1", "-1"]), Kind::Int);
            *to = Arg::new(random.pick(&["0", "1", "2", "-1", "4"]), Kind::Int);
        }
        ("printf", [format, args @ ..]) => steady(format, args),
        ("has" | "mustHas", [item, list]) if random.chance(50) => {
            let (value, kind) =
                random.pick(&[("2", 0), ("\"a\"", 1), ("nil", 2), ("1.0", 3), ("\"two\"", 1)]);
            *item = Arg::new(
                value,
                [Kind::Int, Kind::Str, Kind::Nil, Kind::Float].get(kind).copied().unwrap_or(Kind::Nil),
            );
            *list = Arg::new(
                random.pick(&[
                    "(list 1 2 3)",
                    "(list \"a\" nil)",
                    ".Values.list",
                    ".Values.nums",
                    "(splitList \",\" \"a,b\")",
                ]),
                Kind::List,
            );
        }
        ("without" | "mustWithout", [list, items @ ..]) if random.chance(50) => {
            *list =
                Arg::new(random.pick(&["(list 1 2 3 1)", "(list \"a\" nil 2)", ".Values.strs"]), Kind::List);
            for item in items {
                *item = Arg::new(random.pick(&["1", "\"a\"", "nil", "\"fig\""]), Kind::Int);
            }
        }
        ("merge" | "mustMerge" | "mergeOverwrite" | "mustMergeOverwrite", maps) if random.chance(60) => {
            for map in maps {
                *map = Arg::new(
                    random.pick(&[
                        "(dict \"a\" 1 \"b\" (dict \"x\" 1 \"y\" 2))",
                        "(dict \"a\" 2 \"b\" (dict \"x\" 3 \"z\" nil))",
                        "(dict \"a\" 0 \"c\" (list 1))",
                        "(dict \"a\" nil \"b\" 5)",
                        "(dict \"b\" (dict) \"c\" (list))",
                        ".Values.map",
                        ".Values.nested",
                    ]),
                    Kind::Map,
                );
            }
        }
        ("get" | "unset" | "hasKey", [map, key]) | ("set", [map, key, _]) if random.chance(50) => {
            *map = Arg::new(random.pick(&[".Values.map", "(dict \"a\" 1 \"b\" nil)"]), Kind::Map);
            *key = Arg::new(random.pick(&["\"a\"", "\"b\"", "\"d\""]), Kind::Str);
        }
        ("pick" | "omit", [map, keys @ ..]) if random.chance(50) => {
            *map = Arg::new(".Values.map", Kind::Map);
            for key in keys {
                *key = Arg::new(random.pick(&["\"a\"", "\"b\"", "\"d\"", "\"q\""]), Kind::Str);
            }
        }
        ("toDate" | "mustToDate", [layout, date]) if random.chance(60) => {
            let (form, text) = random.pick(&[
                ("2006-01-02", "2024-05-06"),
                ("2006-01-02 15:04:05", "2024-05-06 07:08:09"),
                ("2006-01-02T15:04:05Z07:00", "2024-05-06T07:08:09+02:00"),
                ("02 Jan 06 15:04 MST", "06 May 24 07:08 CET"),
                ("January 2, 2006", "May 6, 2024"),
                ("03:04PM", "07:08PM"),
                ("2006-01-02", "2024-02-30"),
                ("Jan _2 15:04:05.000", "May  6 07:08:09.123"),
            ]);
            *layout = Arg::new(strings::quoted(form), Kind::Str);
            *date = Arg::new(strings::quoted(text), Kind::Str);
        }
        ("index", [whole, rest @ ..]) if random.chance(60) => {
            *whole = Arg::new(
                random.pick(&[".Values.list", ".Values.maps", ".Values.strs", "(list (list 1 2) (list 3))"]),
                Kind::List,
            );
            for part in rest.iter_mut() {
                *part = Arg::new(random.pick(&["0", "1", "(int64 1)"]), Kind::Int);
            }
        }
        ("slice" | "mustSlice", [list, rest @ ..]) if random.chance(50) => {
            *list = Arg::new(".Values.list", Kind::List);
            for (part, pool) in rest.iter_mut().zip([["0", "1", "2"], ["3", "4", "7"]]) {
                *part = Arg::new(random.pick(&pool), Kind::Int);
            }
        }
        _ => {}
    }
}

/// Some verbs print addresses: those of the original are nobody's business.
pub fn steady(format: &Arg, args: &mut [Arg]) {
    let odd_for_time = |c: char| !"vsqxXTw0123456789-+# .*[]|%".contains(c) && c.is_ascii_alphabetic();
    for arg in args {
        let pointer = matches!(
            arg.kind,
            Kind::List
                | Kind::TypedList
                | Kind::Map
                | Kind::TypedMap
                | Kind::Semver
                | Kind::Object
                | Kind::Time
        );
        let time = matches!(arg.kind, Kind::Time | Kind::Object);
        if pointer && format.source.contains('p') || time && format.source.contains(odd_for_time) {
            *arg = Arg::new("7", Kind::Int);
        }
    }
}

/// The source of a call; the last argument is piped in when asked.
pub fn source(function: &str, args: &[Arg], piped: bool) -> String {
    let join = |args: &[Arg]| args.iter().map(|a| format!(" {}", a.source)).collect::<String>();
    match args.split_last() {
        Some((last, rest)) if piped => format!("{} | {function}{}", last.source, join(rest)),
        _ => format!("{function}{}", join(args)),
    }
}

/// How the result is shown: text alone would hide types and whitespace.
fn shown(random: &mut Random, call: &str, piped: bool) -> String {
    match random.below(10) {
        0..=3 => format!("{{{{ {call} }}}}"),
        4 => format!("{{{{ {call} | printf \"%T %v\" }}}}")
            .replace("| printf \"%T %v\"", "| printf \"%[1]T %#[1]v\""),
        5 => format!("{{{{ {call} | toJson }}}}"),
        6 => format!("{{{{ {call} | typeOf }}}}"),
        7 => format!("{{{{ $r := {call} }}}}[{{{{ $r }}}}]{{{{ $r | kindOf }}}}"),
        8 => format!("{{{{ {call} | quote }}}}"),
        _ if piped => format!("{{{{- {call} -}}}}"),
        _ => format!("{{{{ with {call} }}}}<{{{{ . }}}}>{{{{ else }}}}empty{{{{ end }}}}"),
    }
}

fn case(random: &mut Random, function: &'static Function, args: Vec<Arg>) -> Case {
    let piped = !args.is_empty() && random.chance(35);
    let call = source(function.name, &args, piped);
    let text = match function.name {
        // Any printable letter may come out: only their number can be compared.
        "randAscii" => format!("{{{{ {call} | len }}}}"),
        _ => shown(random, &call, piped),
    };
    let check =
        if matches!(function.nature, Nature::Random | Nature::Slow) { Check::Shape } else { Check::Exact };
    let mut case = Case::new(Family::Function, RenderRequest::template(text), check);
    case.only4 = function.only4;
    case.cells = args.iter().map(|a| (function.name, a.kind)).collect();
    if args.is_empty() {
        case.cells.push((function.name, Kind::Missing));
    }
    case
}

/// How many calls with good arguments every function gets besides.
const GOOD_CALLS: usize = 5;

/// One case for every function, kind and position: whatever else is random, no cell is empty.
pub fn sweep(random: &mut Random) -> Vec<Case> {
    let mut out = Vec::new();
    for function in ALL {
        for kind in Kind::ALL {
            let mut args = arguments(random, function);
            let slow = function.nature == Nature::Slow;
            let small = function.nature != Nature::Plain;
            // A costly function gets good arguments only once; a surplus one keeps it from running.
            if args.is_empty() || slow && kind != Kind::Str {
                args.push(kinds::of(random, kind, small));
            } else {
                let position = random.below(args.len());
                args[position] = kinds::of(random, kind, small);
            }
            out.push(case(random, function, args));
        }
        for _ in 0..if function.nature == Nature::Slow { 0 } else { GOOD_CALLS } {
            let args = arguments(random, function);
            out.push(case(random, function, args));
        }
    }
    out
}

/// A random call.
pub fn random_case(random: &mut Random) -> Case {
    let function = loop {
        let function = &ALL[random.below(ALL.len())];
        if function.nature != Nature::Slow || random.chance(2) {
            break function;
        }
    };
    let small = function.nature != Nature::Plain;
    let mut args = arguments(random, function);
    match random.below(10) {
        0 => drop(args.pop()),
        1 => args.push(kinds::any(random, small)),
        2 | 3 if !args.is_empty() => {
            let position = random.below(args.len());
            args[position] = kinds::any(random, small);
        }
        _ => {}
    }
    case(random, function, args)
}

/// `printf` with every verb, flag and kind.
pub fn printf_case(random: &mut Random) -> Case {
    let format = super::patterns::format(random);
    let verbs = format.matches('%').count();
    let count = if random.chance(80) { verbs } else { random.below(4) };
    let mut args: Vec<Arg> = (0..count).map(|_| kinds::any(random, false)).collect();
    steady(&Arg::new(format.as_str(), Kind::Str), &mut args);
    let list: String = args.iter().map(|a| format!(" {}", a.source)).collect();
    let text = format!("{{{{ printf {}{list} }}}}", super::strings::quoted(&format));
    let mut case = Case::new(Family::Printf, RenderRequest::template(text), Check::Exact);
    case.cells = args.iter().map(|a| ("printf", a.kind)).collect();
    case
}

/// Regular expressions, versions, dates, numbers in text, globs: functions that hide a language.
pub fn language_case(random: &mut Random) -> Case {
    const NAMES: &[&str] = &[
        "regexMatch",
        "mustRegexMatch",
        "regexFind",
        "regexFindAll",
        "regexReplaceAll",
        "mustRegexReplaceAll",
        "regexSplit",
        "mustRegexFindAll",
        "semver",
        "semverCompare",
        "semverCompare",
        "semverCompare",
        "toDate",
        "mustToDate",
        "date",
        "dateInZone",
        "duration",
        "durationRound",
        "dateModify",
        "int",
        "int64",
        "float64",
        "atoi",
        "toDecimal",
        "urlParse",
        "round",
        "addf",
        "divf",
        "mulf",
        "b64dec",
        "derive-glob",
        "snakecase",
        "camelcase",
        "kebabcase",
        "wrap",
        "abbrevboth",
        "tpl",
    ];
    let name = random.pick(NAMES);
    if name == "derive-glob" {
        let pattern = random.pick(&[
            "files/*",
            "files/**",
            "**",
            "*",
            "files/*.txt",
            "files/[a-l]*",
            "files/{a,lines}*",
            "files/sub/?.yaml",
            "files/[!a]*",
            "[",
            "{a",
            "files/sub/**",
            "",
        ]);
        let method = random.pick(&["AsConfig", "AsSecrets", "Get \"files/a.conf\""]);
        let text = format!(
            "{{{{ range $p, $_ := .Files.Glob {} }}}}{{{{ $p }}}};{{{{ end }}}}{{{{ (.Files.Glob {}).{method} }}}}",
            super::strings::quoted(pattern),
            super::strings::quoted(pattern)
        );
        return Case::new(Family::Language, RenderRequest::template(text), Check::Exact);
    }
    let Some(function) = super::functions::find(name) else { return random_case(random) };
    let mut args = arguments(random, function);
    if matches!(name, "date" | "dateInZone") && args.len() > 1 {
        // With a time the answer does not depend on the clock.
        args[1] = kinds::of(random, Kind::Time, true);
    }
    let mut case = case(random, function, args);
    case.family = Family::Language;
    if name.starts_with("date") {
        case.check = Check::Exact;
    }
    case
}
