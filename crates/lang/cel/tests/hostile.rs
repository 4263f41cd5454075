//! Expressions that are made to break things end in a problem, soon.
#![allow(clippy::unwrap_used)]

use podium_cel::{CompileError, Environment, EvalError, Program, Purpose, Shape};
use serde_json::{Value, json};

fn compile(rule: &str) -> Result<Program, CompileError> {
    let schema = json!({"type": "object", "properties": {
        "s": {"type": "string"}, "l": {"type": "array", "items": {"type": "integer"}},
    }});
    let shape = Shape::new(&schema, false).unwrap();
    Program::compile(rule, Purpose::Rule, &Environment::for_rule(&shape, false))
}

fn problem(rule: &str) -> String {
    compile(rule).unwrap_err().to_string()
}

fn runs_out(rule: &str, object: &Value) {
    let program = compile(rule).unwrap();
    assert_eq!(program.run(object, None).result.unwrap_err(), EvalError::CostLimit, "{rule}");
}

#[test]
fn deep_nesting_is_refused() {
    let limit = "compilation failed: ERROR: <input>:-1:0: expression recursion limit exceeded: 250";
    for rule in [
        format!("{}1{} == 1", "(".repeat(5_000), ")".repeat(5_000)),
        format!("{}1{} == 1", "[".repeat(5_000), "]".repeat(5_000)),
        format!("self{}", ".a".repeat(5_000)),
        format!("1{}", " + 1".repeat(5_000)),
        format!("1{}", " == 1".repeat(5_000)),
        format!("{}true", "true ? ".repeat(5_000)),
    ] {
        let found = problem(&rule);
        assert!(found.starts_with(limit) || found.contains("Syntax error"), "{found:.200}");
    }
    let signs = format!("{}true", "!".repeat(50_000));
    assert!(compile(&signs).is_ok());
}

#[test]
fn long_texts_are_refused() {
    let long = format!("'{}' == ''", "a".repeat(100_000));
    let wanted = "compilation failed: ERROR: <input>:-1:0: expression code point size exceeds limit: size: 100008, limit 100000";
    assert_eq!(problem(&long), wanted);
}

#[test]
fn long_chains_are_fine() {
    let chain = vec!["1 == 1"; 10_000].join(" && ");
    let program = compile(&chain).unwrap();
    assert_eq!(program.run(&json!({}), None).cost, 10_000);
}

#[test]
fn copies_of_copies_are_refused() {
    let mapped = format!("optional.of(1){}.hasValue()", ".optMap(x, x)".repeat(60));
    assert!(problem(&mapped).contains("expression is too large"));
}

#[test]
fn work_without_end_is_cancelled() {
    let object = json!({"s": "x".repeat(1_000), "l": (0..2_000).collect::<Vec<i32>>()});
    runs_out("self.l.all(a, self.l.all(b, self.l.all(c, a + b + c >= 0)))", &object);
    runs_out("self.l.map(a, self.l.map(b, self.s)).size() > 0", &object);
    runs_out("self.l.exists(x, self.s.matches('(a*)*b(a*)*c(a*)*d' + self.s))", &object);
    runs_out("self.l.all(x, self.l.distinct().size() > 0)", &object);
    runs_out("lists.range(9000000000000000000).size() > 0", &object);
    runs_out("self.l.all(x, self.s.replace('', self.s).replace('', self.s).size() > 0)", &object);
    let doubled = format!("[dyn(self.s)]{}.size() > 0", ".map(x, x + x)".repeat(60));
    runs_out(&doubled, &object);
}
