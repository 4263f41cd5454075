//! Rules in the expression language: where they are in a schema, what they are asked of, and what their answers mean.
//!
//! The language itself is somebody else's: a [`Language`] compiles the rules of a schema once, and the programs that it
//! gives are run with every object.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use podium_meta::{ErrorType, FieldError};
use serde_json::Value;

use crate::correlate::{OldItems, Pair};
use crate::field_path;
use crate::go;
use crate::node::{Node, Type};
use crate::path::Path;
pub use crate::props::Rule;

/// What all rules of one object may cost together.
pub const BUDGET: i64 = 10_000_000;
/// What one rule may cost.
pub const PER_RULE: u64 = 1_000_000;
/// The longest message that an expression may make.
const LONGEST_MESSAGE: usize = 5 * 1024;

/// A rule to compile, and whether its expressions were there before: old ones may use what newer ones may not yet.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The rule.
    pub rule: Rule,
    /// Whether its condition was stored before.
    pub stored: bool,
    /// Whether the expression of its message was stored before.
    pub message_stored: bool,
}

/// Compiles expressions.
pub trait Language: Send + Sync {
    /// Compiles the rules of one schema. The schema is given as it is written; a resource has the fields that every object
    /// has besides. An error is one that concerns all of the rules.
    fn compile(&self, schema: &Value, resource: bool, rules: &[Candidate]) -> Result<Vec<Compiled>, String>;
}

/// A rule that was compiled.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The condition, or what is wrong with it; a blank rule has neither.
    pub condition: Option<Result<Arc<dyn Program>, Defect>>,
    /// Whether it asks for the old value.
    pub uses_old_self: bool,
    /// What it costs at most.
    pub cost: u64,
    /// How often it is asked at most, where the schema does not say.
    pub cardinality: u64,
    /// The expression of its message, or what is wrong with it.
    pub message: Option<Result<Message, Defect>>,
}

/// An expression that makes a message.
#[derive(Clone, Debug)]
pub struct Message {
    /// The expression.
    pub program: Arc<dyn Program>,
    /// What it costs at most.
    pub cost: u64,
}

/// What is wrong with an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defect {
    /// Whether there should be an expression and is none.
    pub required: bool,
    /// What is said of it.
    pub detail: String,
}

/// A compiled expression.
pub trait Program: Debug + Send + Sync {
    /// Runs it.
    fn run(&self, this: &Value, old: Old<'_>) -> Answer;
}

/// The old value as an expression sees it.
#[derive(Clone, Copy, Debug)]
pub enum Old<'a> {
    /// As it is, if there is one.
    Plain(Option<&'a Value>),
    /// As an optional value.
    Optional(Option<&'a Value>),
}

/// What came of running an expression.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The value, or the error.
    pub value: Result<Value, String>,
    /// What it cost.
    pub cost: u64,
}

/// What rules say of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// What is wrong.
    pub flaws: Vec<FieldError>,
    /// What is wrong, but was before.
    pub warnings: Vec<String>,
}

/// The rules of a schema and of the schemas inside it.
#[derive(Debug)]
pub struct Rules {
    own: Vec<(Rule, Compiled, String)>,
    failure: Option<String>,
    kind: String,
    items: Option<Box<Rules>>,
    properties: BTreeMap<String, Rules>,
    extra: Option<Box<Rules>>,
}

impl Rules {
    /// Compiles the rules of a schema; nothing if it has none.
    pub fn compile(language: &dyn Language, schema: &Value, node: &Node, resource: bool) -> Option<Self> {
        has_rules(node).then(|| Self::of(language, schema, node, resource)).flatten()
    }

    fn of(language: &dyn Language, schema: &Value, node: &Node, resource: bool) -> Option<Self> {
        let (own, failure) = Self::own(language, schema, node, resource);
        let part = |name: &str| schema.get(name).unwrap_or(&Value::Null);
        let inner =
            |schema: &Value, node: &Node| Self::of(language, schema, node, node.embedded).map(Box::new);
        let items = node.items.as_deref().and_then(|items| inner(part("items"), items));
        let extra = node.extra.as_ref().and_then(|extra| extra.node.as_deref());
        let extra = extra.and_then(|extra| inner(part("additionalProperties"), extra));
        let schemas = part("properties");
        let mut properties = BTreeMap::new();
        // What has no type is not for expressions.
        for (name, node) in node.properties.iter().filter(|(_, node)| has_type(node)) {
            let schema = schemas.get(name).unwrap_or(&Value::Null);
            if let Some(rules) = Self::of(language, schema, node, node.embedded) {
                properties.insert(name.clone(), rules);
            }
        }
        let empty = own.is_empty() && failure.is_none() && items.is_none() && extra.is_none();
        let kind = node.kind.map(Type::name).unwrap_or_default().to_owned();
        (!empty || !properties.is_empty()).then_some(Self { own, failure, kind, items, properties, extra })
    }

    fn own(
        language: &dyn Language,
        schema: &Value,
        node: &Node,
        resource: bool,
    ) -> (Vec<(Rule, Compiled, String)>, Option<String>) {
        if node.rules.is_empty() {
            return (Vec::new(), None);
        }
        if !has_type(node) {
            return (Vec::new(), Some("failed to convert to declType for CEL validation rules".to_owned()));
        }
        let candidate = |rule: &Rule| Candidate { rule: rule.clone(), stored: true, message_stored: true };
        let candidates: Vec<Candidate> = node.rules.iter().map(candidate).collect();
        match language.compile(schema, resource, &candidates) {
            Err(error) => (Vec::new(), Some(error)),
            Ok(compiled) => {
                let place = |rule: &Rule| {
                    let found = field_path::find(&rule.field_path, node, true);
                    found.map(|found| found.path.text()).unwrap_or_default()
                };
                let all = node.rules.iter().zip(compiled);
                let all = all.map(|(rule, compiled)| {
                    let place = if rule.field_path.is_empty() { String::new() } else { place(rule) };
                    (rule.clone(), compiled, place)
                });
                (all.collect(), None)
            }
        }
    }

    /// Asks the rules of an object; with an old one, of what has changed.
    pub fn check(&self, at: &Path, new: &Value, old: Option<&Value>, node: &Node, ratchet: bool) -> Verdict {
        let pair = old.filter(|_| ratchet).map(|old| Pair::new(new, old, node));
        let mut run = Run { verdict: Verdict::default(), budget: BUDGET };
        run.check(self, at, new, old, Link { current: pair.as_ref(), parent: None }, node);
        run.verdict
    }

    /// The same within a budget; what is left of it comes back.
    pub fn check_within(
        &self,
        at: &Path,
        new: &Value,
        old: Option<&Value>,
        node: &Node,
        budget: i64,
    ) -> (Verdict, i64) {
        let mut run = Run { verdict: Verdict::default(), budget };
        run.check(self, at, new, old, Link { current: None, parent: None }, node);
        (run.verdict, run.budget)
    }
}

fn has_rules(node: &Node) -> bool {
    let extra = node.extra.as_ref().and_then(|extra| extra.node.as_deref());
    !node.rules.is_empty()
        || node.items.as_deref().is_some_and(has_rules)
        || extra.is_some_and(has_rules)
        || node.properties.values().any(has_rules)
}

/// Whether values of a schema have a type in the expression language.
pub fn has_type(node: &Node) -> bool {
    if node.int_or_string {
        return true;
    }
    match node.kind {
        Some(Type::Array) => node.items.as_deref().is_some_and(has_type),
        Some(Type::Object) => {
            node.extra.as_ref().and_then(|extra| extra.node.as_deref()).is_none_or(has_type)
        }
        Some(Type::Null) | None => false,
        Some(_) => true,
    }
}

/// Which old value belongs to the present one, and to the nearest one around it that has any.
#[derive(Clone, Copy)]
struct Link<'r, 'a> {
    current: Option<&'r Pair<'a>>,
    parent: Option<&'r Pair<'a>>,
}

impl Link<'_, '_> {
    fn unchanged(self) -> bool {
        self.current.or(self.parent).is_some_and(Pair::equal)
    }
}

struct Run {
    verdict: Verdict,
    /// Below zero: no more rules are asked.
    budget: i64,
}

impl Run {
    fn check(
        &mut self,
        rules: &Rules,
        at: &Path,
        new: &Value,
        old: Option<&Value>,
        link: Link<'_, '_>,
        node: &Node,
    ) {
        if new.is_null() {
            return;
        }
        self.own(rules, at, new, old.filter(|old| !old.is_null()), link);
        if self.budget < 0 {
            return;
        }
        match new {
            Value::Array(items) => {
                let (Some(rules), Some(schema)) = (rules.items.as_deref(), node.items.as_deref()) else {
                    return;
                };
                let before = old.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
                let before = OldItems::new(node, before);
                for (index, item) in items.iter().enumerate() {
                    let pair = link.current.and_then(|pair| pair.index(index));
                    let link = match link.current {
                        Some(parent) => Link { current: pair.as_ref(), parent: Some(parent) },
                        None => link,
                    };
                    self.check(rules, &at.index(index), item, before.get(item), link, schema);
                    if self.budget < 0 {
                        return;
                    }
                }
            }
            Value::Object(fields) => {
                let related = matches!(node.map_type.as_deref(), None | Some("granular" | "atomic"));
                let before = old.and_then(Value::as_object).filter(|_| related);
                let extra = node.extra.as_ref().and_then(|extra| extra.node.as_deref());
                for named in [false, true] {
                    for (name, value) in fields {
                        let (rules, schema, at) = if named {
                            let (Some(rules), Some(schema)) =
                                (rules.properties.get(name), node.properties.get(name))
                            else {
                                continue;
                            };
                            (rules, schema, at.child(name))
                        } else {
                            let (Some(rules), Some(schema)) = (rules.extra.as_deref(), extra) else { break };
                            (rules, schema, at.key(name))
                        };
                        let meta = link.parent.is_none() && matches!(name.as_str(), "apiVersion" | "kind");
                        let pair = link.current.and_then(|pair| pair.key(name));
                        let link = match link.current {
                            None => link,
                            Some(_) if meta => Link { current: None, parent: None },
                            Some(parent) => Link { current: pair.as_ref(), parent: Some(parent) },
                        };
                        self.check(rules, &at, value, before.and_then(|old| old.get(name)), link, schema);
                        if self.budget < 0 {
                            return;
                        }
                    }
                }
            }
            _ => {}
        }
    }

    fn own(&mut self, rules: &Rules, at: &Path, new: &Value, old: Option<&Value>, link: Link<'_, '_>) {
        let kind = go::quote(&rules.kind);
        let said = |detail: &str| FieldError::new(ErrorType::Invalid, at, &kind, detail);
        if let Some(error) = &rules.failure {
            self.verdict.flaws.push(said(&format!("rule compiler initialization error: {error}")));
            return;
        }
        if rules.own.is_empty() {
            return;
        }
        const SPENT: &str =
            "validation failed due to running out of cost budget, no further validation rules will be run";
        if self.budget <= 0 {
            self.verdict.flaws.push(said(SPENT));
            self.budget = -1;
            return;
        }
        for (rule, compiled, place) in &rules.own {
            let program = match &compiled.condition {
                None => continue,
                Some(Err(defect)) => {
                    self.verdict.flaws.push(said(&format!("rule compile error: {}", defect.detail)));
                    continue;
                }
                Some(Ok(program)) => program,
            };
            let optional = rule.optional_old_self == Some(true);
            if compiled.uses_old_self && old.is_none() && !optional {
                continue;
            }
            let answer = program.run(new, if optional { Old::Optional(old) } else { Old::Plain(old) });
            match i64::try_from(answer.cost).ok().filter(|cost| *cost <= self.budget) {
                Some(cost) => self.budget -= cost,
                None => {
                    self.verdict.flaws.push(said(SPENT));
                    self.budget = -1;
                    return;
                }
            }
            let value = match answer.value {
                Ok(value) => value,
                Err(error) => {
                    let name = rule_name(rule);
                    if error.starts_with("no such overload") {
                        self.verdict.flaws.push(said(&format!(
                            "'{error}': call arguments did not match a supported operator, function or macro signature \
                             for rule: {name}"
                        )));
                    } else if error.starts_with("operation cancelled: actual cost limit exceeded") {
                        self.verdict.flaws.push(said(&format!(
                            "'{error}': no further validation rules will be run due to call cost exceeds limit for \
                             rule: {name}"
                        )));
                        self.budget = -1;
                        return;
                    } else {
                        self.verdict.flaws.push(said(&format!("{error} evaluating rule: {name}")));
                    }
                    continue;
                }
            };
            if value == Value::Bool(true) {
                continue;
            }
            let at = if place.is_empty() { at.clone() } else { at.child(place) };
            let old_news = !compiled.uses_old_self && link.unchanged();
            let add = |verdict: &mut Verdict, flaw: FieldError| {
                if old_news {
                    verdict.warnings.push(flaw.to_string());
                } else {
                    verdict.flaws.push(flaw);
                }
            };
            let mut detail = None;
            if let Some(Ok(message)) = &compiled.message {
                match self.message(message, &rule.message_expression, new, old) {
                    Ok(text) => detail = text,
                    Err(error) => {
                        add(&mut self.verdict, FieldError::new(ErrorType::Invalid, &at, &kind, &error));
                        self.budget = -1;
                        return;
                    }
                }
            }
            let detail = detail.unwrap_or_else(|| match rule.message.is_empty() {
                true => format!("failed rule: {}", rule_name(rule)),
                false => rule.message.trim().to_owned(),
            });
            let shown = (!matches!(rules.kind.as_str(), "object" | "array")).then(|| go::shown(new));
            add(&mut self.verdict, flaw(&at, shown.as_deref(), &detail, rule.reason.as_deref()));
        }
    }

    /// What the expression of a message makes: nothing if it fails, an error if it was too expensive.
    fn message(
        &mut self,
        message: &Message,
        source: &str,
        new: &Value,
        old: Option<&Value>,
    ) -> Result<Option<String>, String> {
        let answer = message.program.run(new, Old::Plain(old));
        let Some(cost) = i64::try_from(answer.cost).ok().filter(|cost| *cost <= self.budget) else {
            return Err("messageExpression evaluation failed due to running out of cost budget, no further validation \
                        rules will be run"
                .to_owned());
        };
        match answer.value {
            Err(error) if error.starts_with("operation cancelled: actual cost limit exceeded") => {
                Err(format!(
                    "no further validation rules will be run due to call cost exceeds limit for messageExpression: {}",
                    go::quote(source)
                ))
            }
            Ok(Value::String(text)) => {
                self.budget -= cost;
                let text = text.trim();
                let fits = !text.is_empty() && text.len() <= LONGEST_MESSAGE && !text.contains('\n');
                Ok(fits.then(|| text.to_owned()))
            }
            _ => {
                self.budget -= cost;
                Ok(None)
            }
        }
    }
}

/// How errors name a rule.
fn rule_name(rule: &Rule) -> &str {
    if rule.message.is_empty() { rule.rule.trim() } else { rule.message.trim() }
}

fn flaw(at: &Path, shown: Option<&str>, detail: &str, reason: Option<&str>) -> FieldError {
    let with = |wrong: ErrorType, detail: &str| match shown {
        Some(shown) => FieldError::new(wrong, at, shown, detail),
        None => FieldError::without_value(wrong, at, detail),
    };
    match reason {
        Some("FieldValueForbidden") => FieldError::forbidden(at, detail),
        Some("FieldValueRequired") => FieldError::required(at, detail),
        Some("FieldValueDuplicate") => with(ErrorType::Duplicate, ""),
        _ => with(ErrorType::Invalid, detail),
    }
}
