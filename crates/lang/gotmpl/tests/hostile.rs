//! What a hostile template cannot do: use more memory than it was given, or bring the process down.

#![allow(clippy::panic)]

use podium_gotmpl::{
    Cause, Entries, Functions, Heap, Limits, Machine, RENDERERS, RenderError, Templates, Texts, Value,
};

const MEMORY: usize = 1 << 20;

fn outcome(text: &str) -> Result<String, Cause> {
    let mut functions = Functions::builtin();
    functions.extend(RENDERERS);
    let mut templates = Templates::default();
    templates.add(b"t", text.as_bytes(), &functions).unwrap_or_else(|e| panic!("{text}: {e}"));
    let texts = Texts::default();
    let heap = Heap::new(MEMORY);
    let limits = Limits { memory: MEMORY, ..Limits::default() };
    let mut machine = Machine::new(&heap, &(), &templates, &functions, &texts, limits);
    machine
        .render(b"t", Value::Map(heap.map(Default::default())), |out| {
            String::from_utf8_lossy(out).into_owned()
        })
        .map_err(|e| e.cause)
}

#[test]
fn text_that_doubles_ends_the_render() {
    let mut wrong = Vec::new();
    for call in [
        "print $s $s",
        "println $s $s",
        "printf \"%s%s\" $s $s",
        "printf \"%v\" (print $s $s)",
        // Every backslash becomes two.
        "js $s",
        "include \"twice\" $s",
        "tpl \"{{ . }}{{ . }}\" $s",
    ] {
        let text = format!(
            "{{{{ define \"twice\" }}}}{{{{ . }}}}{{{{ . }}}}{{{{ end }}}}{{{{ $s := `\\` }}}}\
             {{{{ range 24 }}}}{{{{ $s = {call} }}}}{{{{ end }}}}{{{{ len $s }}}}"
        );
        let given = outcome(&text);
        if !matches!(given, Err(Cause::Limit(_))) {
            wrong.push(format!("{call}: {given:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn printf_takes_every_precision_that_go_takes() {
    for (verb, length) in [("%.70000f", 70_002), ("%.1000000f", 1_000_002), ("%.70000e", 70_006)] {
        let given = outcome(&format!("{{{{ printf \"{verb}\" 1.5 | len }}}}"));
        assert!(given.as_ref().is_ok_and(|text| *text == length.to_string()), "{verb}: {given:?}");
    }
}

/// Renders with a map of so many entries under `m`, and a text under `t`.
fn with_data(text: &str, entries: usize, tpl: &str) -> Result<String, RenderError> {
    let mut functions = Functions::builtin();
    functions.extend(RENDERERS);
    let mut templates = Templates::default();
    templates.add(b"t", text.as_bytes(), &functions).unwrap_or_else(|e| panic!("{text}: {e}"));
    let texts = Texts::default();
    let heap = Heap::new(MEMORY);
    let map = heap.map((0..entries).map(|i| (i.to_string().into(), Value::Int(1))).collect());
    let dot = heap.map(Entries::from([("m".into(), Value::Map(map)), ("t".into(), Value::string(tpl))]));
    let limits = Limits { memory: MEMORY, depth: 50_000, ..Limits::default() };
    let mut machine = Machine::new(&heap, &(), &templates, &functions, &texts, limits);
    machine.render(b"t", Value::Map(dot), |out| String::from_utf8_lossy(out).into_owned())
}

#[test]
fn a_loop_over_a_map_holds_memory_only_while_it_runs() {
    let again = "{{ range 1000 }}{{ range $k, $v := $.m }}{{ break }}{{ end }}{{ end }}";
    assert!(with_data(again, 2_000, "").is_ok());
    let nested =
        "{{ define \"a\" }}{{ range .m }}{{ template \"a\" $ }}{{ end }}{{ end }}{{ template \"a\" . }}";
    let given = with_data(nested, 2_000, "").map_err(|e| e.cause);
    assert!(matches!(given, Err(Cause::Limit(_))), "{given:?}");
}

#[test]
fn variables_of_unfinished_templates_are_counted() {
    let variables: String = (0..500).map(|i| format!("{{{{ $v{i} := 1 }}}}")).collect();
    let text = format!(
        "{{{{ define \"a\" }}}}{variables}{{{{ template \"a\" }}}}{{{{ end }}}}{{{{ template \"a\" }}}}"
    );
    let given = with_data(&text, 0, "").map_err(|e| e.cause);
    assert!(matches!(given, Err(Cause::Limit(_))), "{given:?}");
}

#[test]
fn texts_that_are_compiled_are_paid_for() {
    let text = "{{ range $i, $_ := .m }}{{ $x := tpl (print $.t $i) $ }}{{ end }}";
    let given = with_data(text, 2_000, "{{ 1 }}{{ 2 }}{{ 3 }}").map_err(|e| e.cause);
    assert!(matches!(given, Err(Cause::Limit(_))), "{given:?}");
    // The same text is compiled once.
    assert!(with_data("{{ range .m }}{{ $x := tpl $.t $ }}{{ end }}", 2_000, "{{ 1 }}").is_ok());
}

#[test]
fn a_text_that_renders_itself_is_told_in_a_few_words() {
    let long = ["{{ tpl .t . }}", &"x".repeat(100_000)].concat();
    for (text, most) in [("{{ tpl .t . }}", 10_000), (long.as_str(), 2_000_000)] {
        let Err(error) = with_data("{{ tpl .t . }}", 0, text) else { panic!("it came to an end") };
        assert!(matches!(error.cause, Cause::Limit(_)), "{:?}", error.cause);
        assert!(error.text().len() < most && error.trace.len() >= 2, "{}", error.text().len());
        assert_eq!(error.trace.first().map(|site| site.file.as_slice()), Some(&b"t"[..]));
    }
}

#[test]
fn output_that_is_too_long_has_a_place() {
    let text = "{{ $s := print 1234567890 }}\n{{ range 24 }}{{ $s = print $s $s }}{{ end }}{{ $s }}";
    let mut functions = Functions::builtin();
    functions.extend(RENDERERS);
    let mut templates = Templates::default();
    templates.add(b"t", text.as_bytes(), &functions).unwrap_or_else(|e| panic!("{e}"));
    let (texts, heap) = (Texts::default(), Heap::new(1 << 30));
    let limits = Limits { output: 1 << 20, ..Limits::default() };
    let mut machine = Machine::new(&heap, &(), &templates, &functions, &texts, limits);
    let Err(error) = machine.render(b"t", Value::Nil, <[u8]>::len) else { panic!("it was printed") };
    assert_eq!(error.trace.last().map(|site| site.line), Some(2), "{error}");
}

#[test]
fn bytes_are_printed_as_go_prints_them() {
    let heap = Heap::new(MEMORY);
    let bytes = heap.bytes(vec![0, 7, 255]);
    for (verb, text) in [
        ("%v", "[0 7 255]"),
        ("%d", "[0 7 255]"),
        ("%#v", "[]byte{0x0, 0x7, 0xff}"),
        ("%4d", "[   0    7  255]"),
        ("%+d", "[+0 +7 +255]"),
        ("%o", "[0 7 377]"),
    ] {
        let given = podium_gotmpl::fmt::sprintf(verb.as_bytes(), std::slice::from_ref(&bytes));
        assert_eq!(String::from_utf8_lossy(&given), text, "{verb}");
    }
}
