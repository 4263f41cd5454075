//! The language: what templates print, and what Go says when they fail. Expected texts are Go 1.26's.

use podium_gotmpl::{Entries, Functions, Heap, Limits, Machine, RenderError, Templates, Texts, Value};

fn data<'h>(heap: &'h Heap<'h>) -> Value<'h> {
    let nested = heap.map(Entries::from([
        ("x".into(), Value::Float(1.0)),
        ("s".into(), Value::string("text".to_owned())),
    ]));
    let list = heap.list(vec![Value::Int(1), Value::string("two".to_owned()), Value::Nil]);
    let values = heap.map(Entries::from([
        ("m".into(), Value::Map(nested)),
        ("l".into(), list),
        ("n".into(), Value::Nil),
        ("i".into(), Value::Int64(3)),
        ("f".into(), Value::Float(1e6)),
        ("b".into(), Value::Bool(true)),
        ("s".into(), Value::string("str".to_owned())),
        ("strings".into(), heap.strings(["a".to_owned(), "b".to_owned()])),
    ]));
    Value::Map(values)
}

fn try_render(template: &str) -> Result<String, String> {
    let functions = Functions::builtin();
    let mut templates = Templates::default();
    templates.add(b"t", template.as_bytes(), &functions).map_err(|e| e.to_string())?;
    let texts = Texts::default();
    let heap = Heap::new(1 << 24);
    let mut machine = Machine::new(&heap, &(), &templates, &functions, &texts, Limits::default());
    machine
        .render(b"t", data(&heap), |out| String::from_utf8_lossy(out).into_owned())
        .map_err(|e: RenderError| e.to_string())
}

fn render(template: &str) -> String {
    try_render(template).unwrap_or_else(|e| format!("ERROR {e}"))
}

#[test]
fn an_else_belongs_to_its_loop_for_break_and_to_the_outer_one_for_continue() {
    let text = |word: &str| {
        format!(
            "{{{{range .strings}}}}[{{{{range .no}}}}{{{{else}}}}a{{{{if .}}}}{{{{{word}}}}}{{{{end}}}}b{{{{end}}}}]{{{{end}}}}"
        )
    };
    let text = |word: &str| text(word).replace(".no", "$.no");
    assert_eq!(render(&text("break")), "[a][a]");
    assert_eq!(render(&text("continue")), "[a[a");
}

#[test]
fn wrapping_verbs_are_bad_for_all_but_plain_values() {
    for (template, want) in [
        (r#"{{ printf "%w" .l }}"#, "%!w([]interface {}=[1 two <nil>])"),
        (r#"{{ printf "%w" .m }}"#, "%!w(map[string]interface {}=map[s:text x:1])"),
        (r#"{{ printf "%w %w" .s 1 }}"#, "%!w(string=str) %!w(int=1)"),
        (
            "{{ with $x := $x.a }}{{ end }}",
            "ERROR template: t:1:16: executing \"t\" at <$x.a>: undefined variable: $x",
        ),
        (
            r#"{{ range "\xff" }}{{ end }}"#,
            "ERROR template: t:1:9: executing \"t\" at <\"\\xff\">: range can't iterate over \u{fffd}",
        ),
    ] {
        assert_eq!(render(template), want, "{template}");
    }
}

#[test]
fn prints_values_as_go_does() {
    for (template, want) in [
        ("plain", "plain"),
        ("{{ .i }} {{ .f }} {{ .b }} {{ .s }}", "3 1e+06 true str"),
        ("{{ .m }} {{ .l }} {{ .strings }}", "map[s:text x:1] [1 two <nil>] [a b]"),
        ("{{ .n }}|{{ .nope }}", "<no value>|<no value>"),
        ("{{ (.nope).x }}", "<no value>"),
        ("a {{- 1 -}} b", "a1b"),
        ("{{/* c */}}x{{- /* d */ -}} y", "xy"),
        ("{{ if .n }}a{{ else if .b }}b{{ else }}c{{ end }}", "b"),
        ("{{ with .m }}{{ .x }}{{ else }}no{{ end }}", "1"),
        ("{{ with .n }}a{{ else with .s }}{{ . }}{{ end }}", "str"),
        ("{{ range .l }}[{{ . }}]{{ end }}", "[1][two][<no value>]"),
        ("{{ range $i, $x := .l }}{{ $i }}={{ $x }};{{ end }}", "0=1;1=two;2=<no value>;"),
        ("{{ range $k, $v := .m }}{{ $k }}={{ $v }};{{ end }}", "s=text;x=1;"),
        ("{{ range 3 }}{{ . }}{{ end }}", "012"),
        ("{{ range .nope }}a{{ else }}none{{ end }}", "none"),
        ("{{ range .strings }}{{ if eq . \"a\" }}{{ continue }}{{ end }}{{ . }}{{ break }}{{ end }}", "b"),
        ("{{ $x := 1 }}{{ if true }}{{ $x = 2 }}{{ end }}{{ $x }}", "2"),
        ("{{ define \"d\" }}<{{ . }}>{{ end }}{{ template \"d\" .s }}", "<str>"),
        ("{{ block \"b\" .i }}<{{ . }}>{{ end }}", "<3>"),
        ("{{ and .b .s }} {{ or .n \"x\" }} {{ not .n }} {{ .s | and .n }}", "str x true <no value>"),
        ("{{ .s | or .n }}", "str"),
        ("{{ .s | or .b }}", "true"),
        ("{{ len .l }} {{ index .l 1 }} {{ index .m \"x\" }} {{ index .s 0 }}", "3 two 1 115"),
        (
            "{{ printf \"%05d|%-4s|%q|%v|%T\" 42 \"ab\" \"q\" .l .f }}",
            "00042|ab  |\"q\"|[1 two <nil>]|float64",
        ),
        ("{{ printf \"%d\" .f }} {{ printf \"%s\" .n }}", "%!d(float64=1e+06) %!s(<nil>)"),
        ("{{ print 1 2 \"a\" 3 }}", "1 2a3"),
        ("{{ 'a' }} {{ 0x10 }} {{ 1e3 }} {{ 1_000 }} {{ 1i }}", "97 16 1000 1000 (0+1i)"),
        ("{{ html \"<a>\" }} {{ js \"'x'\" }} {{ urlquery \"a b&c\" }}", "&lt;a&gt; \\'x\\' a+b%26c"),
        ("{{ eq .i 3 }} {{ eq .n nil }} {{ lt 1 2 }} {{ ge 2 2 }}", "true true true true"),
        ("{{ $ | len }}", "8"),
    ] {
        assert_eq!(render(template), want, "{template}");
    }
}

#[test]
fn fails_with_gos_words() {
    for (template, want) in [
        (
            "{{ .nope.x }}",
            "template: t:1:8: executing \"t\" at <.nope.x>: nil pointer evaluating interface {}.x",
        ),
        (
            "{{ .s.x }}",
            "template: t:1:5: executing \"t\" at <.s.x>: can't evaluate field x in type interface {}",
        ),
        ("{{ (.s).x }}", "template: t:1:4: executing \"t\" at <.s>: can't evaluate field x in type string"),
        (
            "{{ range .l }}{{ .x }}{{ end }}",
            "template: t:1:17: executing \"t\" at <.x>: can't evaluate field x in type interface {}",
        ),
        (
            "{{ index .l 9 }}",
            "template: t:1:3: executing \"t\" at <index .l 9>: error calling index: index out of range: 9",
        ),
        (
            "{{ len .n }}",
            "template: t:1:3: executing \"t\" at <len .n>: error calling len: len of nil pointer",
        ),
        (
            "{{ .n | len }}",
            "template: t:1:8: executing \"t\" at <len>: error calling len: reflect: call of reflect.Value.Type on zero Value",
        ),
        (
            "{{ eq .f 1 }}",
            "template: t:1:3: executing \"t\" at <eq .f 1>: error calling eq: incompatible types for comparison: float64 and int",
        ),
        ("{{ printf 3 }}", "template: t:1:10: executing \"t\" at <3>: expected string; found 3"),
        (
            "{{ printf .nope }}",
            "template: t:1:10: executing \"t\" at <.nope>: wrong type for value; expected string; got interface {}",
        ),
        ("{{ printf nil }}", "template: t:1:10: executing \"t\" at <nil>: cannot assign nil to string"),
        (
            "{{ .nope | printf }}",
            "template: t:1:11: executing \"t\" at <printf>: invalid value; expected string",
        ),
        (
            "{{ len 1 2 }}",
            "template: t:1:3: executing \"t\" at <len>: wrong number of args for len: want 1 got 2",
        ),
        (
            "{{ not }}",
            "template: t:1:3: executing \"t\" at <not>: wrong number of args for not: want 1 got 0",
        ),
        (
            "{{ and }}",
            "template: t:1:3: executing \"t\" at <and>: wrong number of args for and: want at least 1 got 0",
        ),
        ("{{ .s 1 }}", "template: t:1:3: executing \"t\" at <.s>: s is not a method but has arguments"),
        ("{{ (1) 2 }}", "template: t:1:3: executing \"t\" at <(1) 2>: can't give argument to non-function 1"),
        (
            "{{ template \"nope\" }}",
            "template: t:1:12: executing \"t\" at <{{template \"nope\"}}>: template \"nope\" not defined",
        ),
        (
            "{{ range .f }}{{ end }}",
            "template: t:1:9: executing \"t\" at <.f>: range can't iterate over 1e+06",
        ),
        ("{{ nope }}", "template: t:1: function \"nope\" not defined"),
        ("{{ if }}", "template: t:1: missing value for if"),
        ("{{ $x }}", "template: t:1: undefined variable \"$x\""),
        ("{{ end }}", "template: t:1: unexpected {{end}}"),
        ("{{ if 1 }}", "template: t:1: unexpected EOF"),
        ("{{ \"x }}", "template: t:1: unterminated quoted string"),
        ("{{ break }}", "template: t:1: {{break}} outside {{range}}"),
    ] {
        assert_eq!(try_render(template).unwrap_err(), want, "{template}");
    }
}

#[test]
fn deep_nesting_needs_no_stack() {
    let depth = 9_000;
    let nested = format!("{{{{ {}1{} }}}}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(render(&nested), "1");
    let too_deep = format!("{{{{ {}1{} }}}}", "(".repeat(10_001), ")".repeat(10_001));
    assert_eq!(render(&too_deep), "ERROR template: t:1: max expression depth exceeded");
    let blocks = format!("{}x{}", "{{ if true }}".repeat(20_000), "{{ end }}".repeat(20_000));
    assert_eq!(render(&blocks), "x");
}

#[test]
fn recursion_ends_in_gos_error() {
    let out = render("{{ define \"r\" }}{{ template \"r\" . }}{{ end }}{{ template \"r\" . }}");
    assert_eq!(
        out,
        "ERROR template: t:1:28: executing \"r\" at <{{template \"r\" .}}>: exceeded maximum template depth (100000)"
    );
}
