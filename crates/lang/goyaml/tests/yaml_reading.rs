//! Reading YAML against recorded answers of the Go libraries.
//!
//! `yaml_cases.tsv` has one case per line: how to read (`a`ny value, `o`bject, `l`ist, `h`ead, chart `m`etadata,
//! `d`ocuments), the text, and what `sigs.k8s.io/yaml` v1.6.0 gave: a value or an error.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use podium_goyaml::yaml::types::{ANY, BOOL, Kind, LIST, STRING, STRING_MAP, STRINGS, Struct, Type};
use podium_goyaml::yaml::{self, Error};
use podium_goyaml::{Node, Pos, Value};

static MAINTAINER: Type = Type::pointer(
    "v2.Maintainer",
    Kind::Struct(&Struct {
        name: "Maintainer",
        fields: &[("name", &STRING), ("email", &STRING), ("url", &STRING)],
    }),
);
static MAINTAINERS: Type = Type::new("[]*v2.Maintainer", Kind::List(&MAINTAINER));
static DEPENDENCY: Type = Type::pointer(
    "v2.Dependency",
    Kind::Struct(&Struct {
        name: "Dependency",
        fields: &[("name", &STRING), ("tags", &STRINGS), ("enabled", &BOOL), ("import-values", &LIST)],
    }),
);
static DEPENDENCIES: Type = Type::new("[]*v2.Dependency", Kind::List(&DEPENDENCY));
static METADATA: Type = Type::new(
    "v2.Metadata",
    Kind::Struct(&Struct {
        name: "Metadata",
        fields: &[
            ("name", &STRING),
            ("sources", &STRINGS),
            ("version", &STRING),
            ("maintainers", &MAINTAINERS),
            ("deprecated", &BOOL),
            ("annotations", &STRING_MAP),
            ("dependencies", &DEPENDENCIES),
        ],
    }),
);

fn unescape(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match bytes.next().unwrap() {
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'x' => {
                let digits = [bytes.next().unwrap(), bytes.next().unwrap()];
                out.push(u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap());
            }
            other => out.push(other),
        }
    }
    out
}

fn escape(bytes: &[u8]) -> String {
    let escape = |&b: &u8| match b {
        b'\\' => "\\\\".to_owned(),
        b'\n' => "\\n".to_owned(),
        b'\r' => "\\r".to_owned(),
        b'\t' => "\\t".to_owned(),
        0x20..0x7f => char::from(b).to_string(),
        _ => format!("\\x{b:02x}"),
    };
    bytes.iter().map(escape).collect()
}

fn show(node: &Node) -> String {
    match &node.value {
        Value::Null => "null".to_owned(),
        Value::Bool(b) => b.to_string(),
        Value::Int(i) => format!("int {i}"),
        Value::Float(f) if f.trunc() == *f && f.abs() < 1e15 && !(*f == 0.0 && f.is_sign_negative()) => {
            format!("{f}")
        }
        Value::Float(f) => format!("{f:e}"),
        Value::String(s) => format!("\"{}\"", escape(s.as_bytes())),
        Value::List(items) => format!("[{}]", items.iter().map(show).collect::<Vec<_>>().join(", ")),
        Value::Map(map) => {
            let entries =
                map.iter().map(|(key, value)| format!("\"{}\": {}", escape(key.as_bytes()), show(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
    }
}

fn show_head(head: &yaml::Head) -> String {
    let text = |s: &str| format!("\"{}\"", escape(s.as_bytes()));
    let metadata = head.metadata.as_ref().map_or("null".to_owned(), |metadata| {
        let entries: Vec<_> =
            metadata.annotations.iter().map(|(k, v)| format!("{}: {}", text(k), text(v))).collect();
        format!("[{}, {{{}}}]", text(&metadata.name), entries.join(", "))
    });
    format!("[{}, {}, {metadata}]", text(&head.api_version), text(&head.kind))
}

fn read(mode: &str, text: &[u8]) -> Result<String, Error> {
    Ok(match mode {
        "a" => show(&yaml::parse(text, 1)?),
        "o" => show(&Value::Map(yaml::parse_object(text, 1)?).into()),
        "l" => match yaml::parse_as(text, 1, &LIST)? {
            node if node.is_null() => "[]".to_owned(),
            node => show(&node),
        },
        "h" => show_head(&yaml::check_head(text, 1, "util.SimpleHead")?),
        "m" => show(&yaml::parse_as(text, 1, &METADATA)?),
        _ => {
            let documents = yaml::documents(text).map(|document| match document {
                Ok(document) => format!("\"{}\"", escape(&document.text)),
                Err(error) => format!("E {}", escape(error.to_string().as_bytes())),
            });
            documents.collect::<Vec<_>>().join(" ")
        }
    })
}

#[test]
fn recorded_answers_of_go_are_ours() {
    let cases = include_str!("recorded/yaml_cases.tsv");
    let mut count = 0;
    for line in cases.lines() {
        let [mode, text, expected] = line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let text = unescape(text);
        let got = match read(mode, &text) {
            Ok(value) => format!("V {value}"),
            Err(error) => {
                assert!(error.pos().line > 0 && error.pos().column > 0, "{line}");
                format!("E {}", escape(error.to_string().as_bytes()))
            }
        };
        assert_eq!(got, expected, "{line}");
        count += 1;
    }
    assert!(count > 450);
}

#[test]
fn every_prefix_of_every_case_is_read_without_panic_and_alike_by_the_head_check() {
    for line in include_str!("recorded/yaml_cases.tsv").lines() {
        let text = unescape(line.split('\t').nth(1).unwrap());
        for end in 0..text.len().min(120) {
            let text = &text[..end];
            let full = yaml::parse(text, 1);
            let head = yaml::check_head(text, 1, "util.SimpleHead");
            if let Err(error @ Error::Convert { .. }) = &full
                && !error.to_string().contains("unsupported value")
            {
                assert_eq!(head.unwrap_err(), *error, "{}", escape(text));
            }
        }
    }
}

fn pos(line: u32, column: u32) -> Pos {
    Pos { source: 7, line, column }
}

#[test]
fn nodes_know_where_they_were_written() {
    let text = "# c\na: 1\nb:\n  - x\n  - {c: \"d\", é: [f, g]}\n  -\ng:\n- h: |\n    t\ni: &x\n  j: k\nl: *x\n? m\n: n\n";
    let node = yaml::parse(text.as_bytes(), 7).unwrap();
    let at = |path: &str| {
        let step = |node: &Node, step: &str| match step.parse::<usize>() {
            Ok(index) => node.as_list().unwrap()[index].clone(),
            Err(_) => node.get(step).unwrap().clone(),
        };
        path.split('.').filter(|s| !s.is_empty()).fold(node.clone(), |node, name| step(&node, name)).pos
    };
    for (path, line, column) in [
        ("", 2, 1),
        ("a", 2, 4),
        ("b", 4, 3),
        ("b.0", 4, 5),
        ("b.1", 5, 5),
        ("b.1.c", 5, 9),
        ("b.1.é", 5, 18),
        ("b.1.é.1", 5, 22),
        ("b.2", 6, 4),
        ("g", 8, 1),
        ("g.0", 8, 3),
        ("g.0.h", 8, 6),
        ("i", 10, 4),
        ("i.j", 11, 6),
        ("l", 10, 4),
        ("m", 14, 3),
    ] {
        assert_eq!(at(path), pos(line, column), "{path}");
    }
}

#[test]
fn errors_know_where_they_are() {
    for (text, line, column) in [
        ("a: [1, 2", 1, 9),
        ("a: [1, 2\n\n", 3, 1),
        ("a: b\n c: d", 2, 3),
        ("a: b\nc: 'd\ne", 3, 2),
        ("a: {x: {{ .y }} }", 1, 9),
        ("a: b\nx: é\u{1}", 2, 6),
        ("a: 1\nb: [1, .nan]", 2, 8),
        ("a: 1\nb: {~: 1}", 2, 4),
        ("a: 1\nb: *x", 2, 4),
        ("a: 1\nb: !!int x", 2, 4),
        ("a: 1\n<<: 3", 2, 5),
    ] {
        assert_eq!(yaml::parse(text.as_bytes(), 7).unwrap_err().pos(), pos(line, column), "{text}");
    }
    let error = yaml::check_head(b"kind: x\nmetadata:\n  annotations:\n    a: [1]\n", 7, "x").unwrap_err();
    assert_eq!(error.pos(), pos(4, 8));
}

#[test]
fn a_later_document_has_the_lines_of_its_file() {
    let text = b"a: 1\n---\nb: 2\n---\nc: [\n";
    let documents: Vec<_> = yaml::documents(text).map(Result::unwrap).collect();
    assert_eq!(documents.iter().map(|d| d.first_line).collect::<Vec<_>>(), [1, 3, 5]);
    let second = yaml::parse(&documents[1].text, documents[1].origin(7)).unwrap();
    assert_eq!(second.get("b").unwrap().pos, pos(3, 4));
    let error = yaml::parse(&documents[2].text, documents[2].origin(7)).unwrap_err();
    assert_eq!(error.pos().line, 6);
    // Go knows nothing of the file.
    assert_eq!(
        error.to_string(),
        "error converting YAML to JSON: yaml: line 1: did not find expected node content"
    );
}

#[test]
fn a_struct_is_read_into_its_fields() {
    let text = b"NAME: 1.10\nunknown: {a: [}]}\n";
    assert!(yaml::parse_as(text, 1, &METADATA).is_err());
    let text = b"NAME: 1.10\nunknown: [x]\nannotations: {a: true, b: ~}\ndependencies: [~, {tags: [1, ~]}]\nsources: ~\n";
    let node = yaml::parse_as(text, 1, &METADATA).unwrap();
    let expected = "{\"annotations\": {\"a\": \"true\", \"b\": \"\"}, \"dependencies\": [null, {\"tags\": [\"1\", \"\"]}], \"name\": \"1.1\"}";
    assert_eq!(show(&node), expected);
    let values = Type::new("chartutil.Values", Kind::Map(&ANY));
    assert_eq!(
        yaml::parse_as(b"- a", 1, &values).unwrap_err().to_string(),
        "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value of type chartutil.Values"
    );
}

fn text_of(result: Result<Node, Error>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn deep_texts_need_no_stack() {
    let small = std::thread::Builder::new().stack_size(256 << 10);
    let check = small.spawn(|| {
        let nested = |open: &str, close: &str, n: usize| open.repeat(n) + &close.repeat(n);
        for text in [nested("[", "]", 10_000), nested("{a: ", "}", 10_000), "- ".repeat(10_000), "? ".repeat(900)] {
            drop(yaml::parse(text.as_bytes(), 1));
            drop(yaml::check_head(text.as_bytes(), 1, "x"));
        }
        assert!(yaml::parse(nested("[", "]", 10_000).as_bytes(), 1).is_ok());
        assert_eq!(
            text_of(yaml::parse(nested("[", "]", 10_001).as_bytes(), 1)),
            "error converting YAML to JSON: yaml: exceeded max depth of 10000"
        );
        assert_eq!(
            text_of(yaml::parse("- ".repeat(10_001).as_bytes(), 1)),
            "error converting YAML to JSON: yaml: exceeded max depth of 10000"
        );
        for (inner, bracket) in [(nested("[", "]", 5_001), '['), (nested("{a: ", "}", 5_001), '{')] {
            let text = "- ".repeat(5_000) + &inner;
            assert_eq!(
                text_of(yaml::parse(text.as_bytes(), 1)),
                format!(
                    "error unmarshaling JSON: while decoding JSON: invalid character '{bracket}' exceeded max depth"
                )
            );
        }
        let deep_key = format!("? {}\n: 1", nested("[", "]", 9_000));
        assert!(text_of(yaml::parse(deep_key.as_bytes(), 1)).contains("invalid map key: []interface {}{[]interface {}{["));
    });
    check.unwrap().join().unwrap();
}

#[test]
fn aliases_are_bounded() {
    let mut bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for (name, last) in "bcdefghijkl".chars().zip("abcdefghijk".chars()) {
        bomb += &format!("{name}: &{name} [{}]\n", vec![format!("*{last}"); 10].join(", "));
    }
    let excess = "error converting YAML to JSON: yaml: document contains excessive aliasing";
    assert_eq!(text_of(yaml::parse(bomb.as_bytes(), 1)), excess);
    assert_eq!(yaml::check_head(bomb.as_bytes(), 1, "x").unwrap_err().to_string(), excess);
    let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(1 << 20), ["*a"; 400].join(", "));
    assert_eq!(text_of(yaml::parse(long.as_bytes(), 1)), excess);
    let fine = format!("a: &a [x, x, x]\nb: [{}]\n", ["*a"; 900].join(", "));
    assert_eq!(yaml::parse(fine.as_bytes(), 1).unwrap().get("b").unwrap().as_list().unwrap().len(), 900);
}

#[test]
fn time_is_linear() {
    for text in [
        "a:".repeat(200_000),
        "[".to_owned() + &"x, ".repeat(200_000) + "]",
        "a: \"".to_owned() + &"\n".repeat(500_000) + "\"",
        "a: |\n".to_owned() + &"\n".repeat(500_000) + "  x",
        "%TAG !e! x\n".to_owned()
            + &(0..20_000).map(|i| format!("%TAG !{i}! x\n")).collect::<String>()
            + "---\n",
        "[".to_owned() + &("[".repeat(300) + &"a]: ".repeat(300) + ", ").repeat(100),
        "\u{feff}a: b\n".repeat(20_000),
        "k: {~: 1}\n".repeat(50_000) + "k: 1\n",
        "é, ".repeat(100_000),
    ] {
        let started = std::time::Instant::now();
        let _ = yaml::parse(text.as_bytes(), 1);
        let _ = yaml::check_head(text.as_bytes(), 1, "x");
        assert!(started.elapsed().as_secs() < 20, "{}", &text[..20]);
    }
}
