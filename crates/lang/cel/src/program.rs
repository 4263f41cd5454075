//! Compiled expressions.

use std::sync::Arc;

use serde_json::Value as Json;

use crate::environment::Environment;
use crate::eval::{Cancelled, Machine, Scope};
use crate::plan::{self, Plan};
use crate::schema::Shape;
use crate::source::Issues;
use crate::types::Type;
use crate::value::Value;
use crate::{checker, data, estimate, parser, validate};

/// What one call may cost at most.
pub const PER_CALL_LIMIT: u64 = 1_000_000;
/// What all calls for one object may cost together.
pub const BUDGET: i64 = 10_000_000;
/// What a rule may cost by estimate.
pub const ESTIMATE_LIMIT: u64 = 10_000_000;
/// What all rules of a definition may cost together by estimate.
pub const TOTAL_ESTIMATE_LIMIT: u64 = 100_000_000;

/// What an expression is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A rule: true or false.
    Rule,
    /// The message of a rule: a text.
    Message,
}

/// Why an expression cannot be used, in the server's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// It is not written or typed well.
    #[error("{}compilation failed: {issues}", prefix(.purpose))]
    Issues {
        /// What it is for.
        purpose: Purpose,
        /// What is wrong.
        issues: Issues,
    },
    /// It does not compute what it is for.
    #[error("{}", match .0 {
        Purpose::Rule => "cel expression must evaluate to a bool",
        Purpose::Message => "messageExpression must evaluate to a string",
    })]
    Result(Purpose),
    /// It cannot run.
    #[error("{} instantiation failed: {reason}", match .purpose {
        Purpose::Rule => "program",
        Purpose::Message => "messageExpression",
    })]
    Plan {
        /// What it is for.
        purpose: Purpose,
        /// Why.
        reason: String,
    },
}

fn prefix(purpose: &Purpose) -> &'static str {
    match purpose {
        Purpose::Rule => "",
        Purpose::Message => "messageExpression ",
    }
}

/// Why a run gave no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EvalError {
    /// It cost more than one call may.
    #[error("operation cancelled: actual cost limit exceeded")]
    CostLimit,
    /// It failed.
    #[error("{0}")]
    Failed(Arc<str>),
}

/// The result of a run, and what it cost.
#[derive(Debug)]
pub struct Outcome<'a> {
    /// The value, or why there is none.
    pub result: Result<Value<'a>, EvalError>,
    /// The cost.
    pub cost: u64,
}

/// A compiled expression; threads can share it.
#[derive(Debug)]
pub struct Program {
    plan: Plan,
    shapes: Vec<(Arc<str>, Shape)>,
    result: Type,
    reads_old: bool,
    estimate: u64,
    /// Variables that are optional values.
    optional: Vec<Arc<str>>,
}

impl Program {
    /// Compiles an expression.
    pub fn compile(text: &str, purpose: Purpose, environment: &Environment) -> Result<Self, CompileError> {
        let wrong = |issues: Issues| CompileError::Issues { purpose, issues };
        let (tree, nodes) = parser::parse(text).map_err(wrong)?;
        let checked = checker::check(text, tree, nodes, environment).map_err(wrong)?;
        let mut issues = Issues::new(text);
        validate::validate(&checked, &mut issues);
        if !issues.is_empty() {
            return Err(wrong(issues));
        }
        let result = checked.type_of(&checked.tree).clone();
        let wanted = match purpose {
            Purpose::Rule => Type::Bool,
            Purpose::Message => Type::String,
        };
        if result != wanted {
            return Err(CompileError::Result(purpose));
        }
        let plan =
            plan::plan(&checked, &checked.tree).map_err(|reason| CompileError::Plan { purpose, reason })?;
        let optional = environment
            .shapes()
            .iter()
            .filter(|(name, _)| environment.variable(name).is_some_and(|(_, t)| t.unwrapped().is_some()));
        Ok(Self {
            plan,
            optional: optional.map(|(name, _)| name.clone()).collect(),
            shapes: environment.shapes().to_vec(),
            result,
            reads_old: checked.reads("oldSelf"),
            estimate: estimate::estimate(&checked, environment).most,
        })
    }

    /// Whether it reads `oldSelf`: then it only runs when there is an old value.
    pub fn uses_old_self(&self) -> bool {
        self.reads_old
    }

    /// What it costs at most, by the bounds of its schema.
    pub fn estimated_cost(&self) -> u64 {
        self.estimate
    }

    /// The type of the result.
    pub fn result_type(&self) -> &Type {
        &self.result
    }

    /// Runs a rule on an object and, maybe, what it was before.
    pub fn run<'a>(&'a self, object: &'a Json, old: Option<&'a Json>) -> Outcome<'a> {
        let mut variables = vec![("self", Some(object))];
        if old.is_some() || self.optional.iter().any(|name| &**name == "oldSelf") {
            variables.push(("oldSelf", old));
        }
        self.run_with(&variables, PER_CALL_LIMIT)
    }

    /// Runs with variables; nothing is an optional value that is absent.
    pub fn run_with<'a>(&'a self, variables: &[(&str, Option<&'a Json>)], limit: u64) -> Outcome<'a> {
        let variables: Vec<(Arc<str>, Value<'a>)> =
            variables.iter().map(|(name, json)| ((*name).into(), self.variable(name, *json))).collect();
        let mut machine = Machine::new(&variables, limit);
        let result = match machine.eval(&self.plan, &Scope::OUTSIDE) {
            Err(Cancelled::Cost) => Err(EvalError::CostLimit),
            Err(Cancelled::Broken(problem)) => Err(EvalError::Failed(problem.into())),
            Ok(Value::Error(error)) => Err(EvalError::Failed(error)),
            Ok(value) => Ok(value),
        };
        let cost = machine.cost;
        Outcome { result, cost }
    }

    fn variable<'a>(&'a self, name: &str, json: Option<&'a Json>) -> Value<'a> {
        let optional = self.optional.iter().any(|known| **known == *name);
        let Some(json) = json else { return if optional { Value::Optional(None) } else { Value::Null } };
        let shape = self.shapes.iter().find(|(known, _)| **known == *name);
        let value = shape.map_or_else(|| Value::from_json(json), |(_, shape)| data::read(json, &shape.node));
        if optional { Value::some(value) } else { value }
    }
}

/// What the server says of an expression that costs too much by estimate: `estimated rule cost` or the like, the
/// cost, and the limit.
pub fn cost_problem(what: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = if factor > 100.0 {
        // A far estimate is no exact one.
        "more than 100x".to_owned()
    } else if factor < 1.5 {
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    };
    format!(
        "{what} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, \
         and maxLength where arrays, maps, and strings are declared)"
    )
}
