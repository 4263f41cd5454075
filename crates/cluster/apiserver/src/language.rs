//! The language that rules in definitions are written in.

use std::sync::Arc;

use podium_cel::{Environment, Program, Purpose, Shape, Value as Given};
use podium_schema::expressions::{
    Answer, Candidate, Compiled, Defect, Language, Message, Old, Program as Runs,
};
use serde_json::Value;

/// The language.
pub fn language() -> Option<&'static dyn Language> {
    static CEL: Cel = Cel;
    Some(&CEL)
}

struct Cel;

/// An expression that is ready to run.
#[derive(Debug)]
struct Ready(Program);

impl Runs for Ready {
    fn run(&self, this: &Value, old: Old<'_>) -> Answer {
        let old = match old {
            Old::Plain(old) | Old::Optional(old) => old,
        };
        let outcome = self.0.run(this, old);
        let value = match outcome.result {
            Ok(Given::Bool(truth)) => Ok(Value::Bool(truth)),
            Ok(Given::String(text)) => Ok(Value::String(text.to_string())),
            Ok(_) => Err("the expression gave neither truth nor text".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        Answer { value, cost: outcome.cost }
    }
}

impl Language for Cel {
    fn compile(&self, schema: &Value, resource: bool, rules: &[Candidate]) -> Result<Vec<Compiled>, String> {
        let Some(shape) = Shape::new(schema, resource) else { return Ok(Vec::new()) };
        let cardinality = shape.cardinality();
        let one = |candidate: &Candidate| {
            let rule = &candidate.rule;
            let environment = Environment::for_rule(&shape, rule.optional_old_self.unwrap_or(false));
            let ready = |text: &str, purpose: Purpose| {
                Program::compile(text, purpose, &environment)
                    .map_err(|error| Defect { required: false, detail: error.to_string() })
            };
            let mut compiled =
                Compiled { condition: None, uses_old_self: false, cost: 0, cardinality, message: None };
            if rule.rule.trim().is_empty() {
                return compiled;
            }
            match ready(&rule.rule, Purpose::Rule) {
                Err(defect) => compiled.condition = Some(Err(defect)),
                Ok(program) => {
                    compiled.uses_old_self = program.uses_old_self();
                    compiled.cost = program.estimated_cost();
                    compiled.condition = Some(Ok(Arc::new(Ready(program))));
                }
            }
            if !rule.message_expression.is_empty() && matches!(compiled.condition, Some(Ok(_))) {
                compiled.message = Some(ready(&rule.message_expression, Purpose::Message).map(|program| {
                    let cost = program.estimated_cost();
                    Message { program: Arc::new(Ready(program)), cost }
                }));
            }
            compiled
        };
        Ok(rules.iter().map(one).collect())
    }
}
