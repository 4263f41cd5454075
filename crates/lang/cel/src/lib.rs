//! The Common Expression Language as the Kubernetes API server speaks it: validation rules of custom resources.
//!
//! ```text
//! schema ──▶ Shape ──▶ Environment ─┐
//!                                   ▼
//! text ──parse──▶ tree ──check──▶ types ──plan──▶ Program (immutable, shared by threads)
//!                                                    │
//!                                 data, by schema ──▶ value or failure, and what it cost
//! ```
//!
//! Texts of problems, costs and limits are the server's.
//!
//! ```
//! use podium_cel::{Environment, Program, Purpose, Shape, Value};
//! use serde_json::json;
//!
//! let schema = json!({"type": "object", "properties": {"size": {"type": "integer"}}});
//! let shape = Shape::new(&schema, false).unwrap();
//! let rule = Program::compile("self.size < 3", Purpose::Rule, &Environment::for_rule(&shape, false)).unwrap();
//! let object = json!({"size": 2});
//! let outcome = rule.run(&object, None);
//! assert!(matches!(outcome.result, Ok(Value::Bool(true))));
//! assert_eq!(outcome.cost, 3);
//! ```

mod ast;
mod checker;
mod cost;
mod data;
mod declarations;
mod environment;
mod escape;
mod estimate;
mod eval;
mod lexer;
mod library;
mod list;
mod literal;
mod macros;
mod map;
mod parser;
mod plan;
mod program;
mod schema;
mod source;
mod types;
mod validate;
mod value;

pub use environment::Environment;
pub use escape::{escape, unescape};
pub use list::List;
pub use map::Map;
pub use program::{
    BUDGET, CompileError, ESTIMATE_LIMIT, EvalError, Outcome, PER_CALL_LIMIT, Program, Purpose,
    TOTAL_ESTIMATE_LIMIT, cost_problem,
};
pub use schema::Shape;
pub use source::{Issue, Issues};
pub use types::Type;
pub use value::{Text, Value};
