//! What a hostile template cannot do: use more memory than it was given, or never end.

mod common;

use podium_gotmpl::{Call, Cause, Ctx, Heap};
use podium_goyaml::{Map, Node, Value};

const MEMORY: usize = 8 << 20;

fn outcome_in(memory: usize, text: &str) -> Result<Vec<u8>, Cause> {
    let functions = podium_sprig::functions(&podium_sprig::Library::default());
    let values = Node::from(Value::Map(Map::new()));
    common::render(text, &functions, &values, memory).map_err(|e| e.cause)
}

fn outcome(text: &str) -> Result<Vec<u8>, Cause> {
    outcome_in(MEMORY, text)
}

#[test]
fn results_that_are_too_large_end_the_render() {
    let grow = r#"{{ $s := repeat 100000 "ab " }}"#;
    for text in [
        r#"{{ repeat 1000000000000 "x" }}"#,
        r#"{{ repeat 4611686018427387904 "x" }}"#,
        r#"{{ until 1000000000000 }}"#,
        r#"{{ untilStep 0 9223372036854775807 4611686018427387904 }}"#,
        r#"{{ untilStep 0 -9223372036854775807 -1 }}"#,
        r#"{{ seq 1000000000000 }}"#,
        r#"{{ seq 1 -1 -1000000000000 }}"#,
        r#"{{ indent 1000000000000 "x" }}"#,
        r#"{{ nindent 9223372036854775807 "x\ny" }}"#,
        &format!("{grow}{{{{ replace \"a\" $s $s }}}}"),
        &format!("{grow}{{{{ replace \"\" $s $s }}}}"),
        &format!("{grow}{{{{ regexReplaceAll \"a\" $s $s }}}}"),
        &format!("{grow}{{{{ regexReplaceAll \"(.*)\" $s (repeat 1000 \"$1\") }}}}"),
        &format!("{grow}{{{{ regexReplaceAllLiteral \"a\" $s $s }}}}"),
        &format!("{grow}{{{{ wrapWith 1 $s $s }}}}"),
        &format!("{grow}{{{{ join $s (splitList \" \" $s) }}}}"),
        &format!("{grow}{{{{ indent 1000 (replace \" \" \"\\n\" $s) }}}}"),
    ] {
        let cause = outcome(text).unwrap_err();
        assert!(
            matches!(&cause, Cause::Limit(m) if m.starts_with(b"the render passed its memory limit")),
            "{text}: {cause:?}"
        );
    }
}

#[test]
fn values_that_contain_themselves_end_the_render() {
    let cycle = r#"{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ $e := dict }}{{ $_ := set $e "d" $e }}"#;
    for (call, limit) in [
        ("deepCopy $d", true),
        ("merge $d $e", true),
        ("mergeOverwrite $d $e", true),
        ("mustToJson $d", false),
        ("mustToYaml $d", false),
        ("mustToToml $d", false),
    ] {
        let cause = outcome(&format!("{cycle}{{{{ {call} }}}}")).unwrap_err();
        assert!(!limit || matches!(cause, Cause::Limit(_)), "{call}: {cause:?}");
    }
    // With more memory the writers themselves find that the end does not come.
    let text = format!("{cycle}{{{{ toJson $d }}}}{{{{ toYamlPretty $d }}}}");
    assert!(outcome_in(32 * MEMORY, &text).is_ok_and(|o| o.is_empty()));
}

#[test]
fn a_value_that_grows_when_it_is_written_ends_the_render() {
    let functions = podium_sprig::functions(&podium_sprig::Library::default());
    for name in ["toJson", "toPrettyJson", "toRawJson", "toYaml", "toYamlPretty", "toToml", "deepCopy"] {
        let heap = Heap::new(MEMORY);
        let mut doubling = heap.list(Vec::new());
        for _ in 0..40 {
            doubling = heap.list(vec![doubling.clone(), doubling]);
        }
        let Some(Call::Native(code)) = functions.get(name).map(|f| f.call) else { panic!("{name}") };
        let given = code(&Ctx { heap: &heap, world: &common::Still }, &[doubling]);
        assert!(given.is_err_and(|e| e.fatal), "{name}");
    }
}

#[test]
fn a_long_product_ends_the_render() {
    let factors = "1.2345678901234567e308 ".repeat(20_000);
    assert!(matches!(outcome(&format!("{{{{ mulf {factors} }}}}")), Err(Cause::Limit(_))));
}

#[test]
fn deep_values_need_no_stack() {
    let deep = "{{ $l := list }}{{ range until 9000 }}{{ $l = list $l }}{{ end }}";
    for call in ["deepCopy $l", "toJson $l", "uniq (list $l $l)", "has $l (list (deepCopy $l))"] {
        assert!(outcome(&format!("{deep}{{{{ $_ := {call} }}}}")).is_ok(), "{call}");
    }
}
