//! Functions whose result grows with each call: a loop of them has to end at the memory limit.

mod common;

use podium_gotmpl::Cause;
use podium_goyaml::{Map, Node, Value};

#[test]
fn text_that_doubles_ends_the_render() {
    let functions = podium_sprig::functions(&podium_sprig::Library::default());
    let mut wrong = Vec::new();
    for call in [
        "toString (list $s $s)",
        "toString (dict \"a\" $s \"b\" $s)",
        "cat $s $s",
        "squote $s $s",
        "quote $s",
        "regexQuoteMeta $s",
        "urlJoin (dict \"host\" $s \"path\" $s)",
        "toJson (list $s $s)",
        "encryptAES \"k\" (toString (list $s $s))",
    ] {
        let text = format!(
            "{{{{ $s := `\\` }}}}{{{{ range until 18 }}}}{{{{ $s = {call} }}}}{{{{ end }}}}{{{{ len $s }}}}"
        );
        let given = common::render(&text, &functions, &Node::from(Value::Map(Map::new())), 1 << 17);
        let given = given.map(|out| String::from_utf8_lossy(&out).into_owned()).map_err(|e| e.cause);
        if !matches!(given, Err(Cause::Limit(_))) {
            wrong.push(format!("{call}: {given:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn small_texts_that_become_many_values_end_the_render() {
    let functions = podium_sprig::functions(&podium_sprig::Library::default());
    let mut wrong = Vec::new();
    for call in [
        "splitList \",\" (repeat 100000 \",\")",
        "split \",\" (repeat 100000 \",\")",
        "splitn \",\" 99999 (repeat 100000 \",\")",
        "regexFindAll \"a\" (repeat 100000 \"a\") -1",
        "regexSplit \"a\" (repeat 100000 \"a\") -1",
        "fromJsonArray (print \"[\" (repeat 50000 \"[],\") \"1]\")",
        "fromJson (print \"{\\\"a\\\": [\" (repeat 50000 \"1,\") \"1]}\")",
        "fromYamlArray (repeat 50000 \"- a\\n\")",
        "fromYaml (print \"a: [\" (repeat 50000 \"1,\") \"1]\")",
        "fromToml (print \"a = [\" (repeat 50000 \"1,\") \"1]\")",
        "until 100000",
        "toStrings (until 50000)",
        "b64dec (repeat 2000000 \"abcd\")",
        "chunk 1 (until 30000)",
        "concat $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l",
        "keys $d $d $d $d $d $d $d $d $d $d $d $d $d $d $d $d $d $d $d $d $d $d $d $d $d $d",
        "join \"\" (list $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l)",
        "toStrings (list $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l)",
        "dict $l 1 $l 2 $l 3 $l 4 $l 5 $l 6 $l 7 $l 8 $l 9 $l 10 $l 11 $l 12 $l 13 $l 14",
        "quote (repeat 500000 \"\\x00\")",
        "js (repeat 400000 \"<\")",
        "toJson (repeat 400000 \"\\x00\")",
    ] {
        let data = "{{ $l := until 20000 }}{{ $d := dict }}{{ range until 2000 }}{{ $_ := set $d (toString .) 1 }}{{ end }}";
        let text = format!("{data}{{{{ $x := {call} }}}}{{{{ len $x }}}}");
        let given = common::render(&text, &functions, &Node::from(Value::Map(Map::new())), 2 << 20);
        let given = given.map(|out| String::from_utf8_lossy(&out).into_owned()).map_err(|e| e.cause);
        if !matches!(given, Err(Cause::Limit(_))) {
            wrong.push(format!("{call}: {given:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_is_too_deep_for_json_is_not_dropped() {
    let functions = podium_sprig::functions(&podium_sprig::Library::default());
    let deep = "{{ $l := list }}{{ range until 12000 }}{{ $l = list $l }}{{ end }}";
    let cycle = "{{ $l := dict }}{{ $_ := set $l \"a\" (list $l) }}";
    for (call, data, fails) in [
        ("toJson $l", deep, true),
        ("toRawJson $l", deep, true),
        ("toPrettyJson $l", deep, true),
        // As in Helm.
        ("toJson $l", cycle, false),
        ("toYaml $l", deep, false),
    ] {
        let text = format!("{data}{{{{ {call} }}}}");
        let given = common::render(&text, &functions, &Node::from(Value::Map(Map::new())), 1 << 30);
        match given {
            Ok(out) => assert!(!fails && out.is_empty(), "{call}"),
            Err(error) => assert!(fails && matches!(error.cause, Cause::Limit(_)), "{call}: {error}"),
        }
    }
}
