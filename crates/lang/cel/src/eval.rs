//! Runs plans, and counts what it costs.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use crate::cost;
use crate::library::{self, Style};
use crate::list::List;
use crate::map::{Entries, Map, key};
use crate::plan::{Added, Attribute, Base, By, Function, Gather, Loop, Plan, Step, not_optional};
use crate::value::Value;

/// The run ended without a value.
#[derive(Debug)]
pub enum Cancelled {
    /// The work cost more than is allowed.
    Cost,
    /// The original would have stumbled here: nothing absorbs that.
    Broken(&'static str),
}

type Run<T> = Result<T, Cancelled>;

/// What the names of an expression stand for.
pub type Variables<'a> = [(Arc<str>, Value<'a>)];

/// One run of a plan.
pub struct Machine<'a, 'v> {
    variables: &'v Variables<'a>,
    /// What the run has cost so far.
    pub cost: u64,
    limit: u64,
}

/// The variables of a loop.
struct Frame<'a> {
    fold: &'a Loop,
    gathered: RefCell<Option<Value<'a>>>,
    first: RefCell<Value<'a>>,
    second: RefCell<Value<'a>>,
    /// The loop is over: its variables are gone.
    over: Cell<bool>,
}

/// Loops around loops.
pub struct Scope<'s, 'a> {
    outer: Option<&'s Scope<'s, 'a>>,
    frame: Option<Frame<'a>>,
}

/// What a loop has built so far, or why it failed.
enum Built<'a> {
    List(Vec<Value<'a>>),
    Map(Entries<'a>),
    Failed(Value<'a>),
}

impl Scope<'_, '_> {
    /// No loop.
    pub const OUTSIDE: Self = Self { outer: None, frame: None };
}

impl<'a, 'v> Machine<'a, 'v> {
    /// A machine that may spend so much.
    pub fn new(variables: &'v Variables<'a>, limit: u64) -> Self {
        Self { variables, cost: 0, limit }
    }

    fn charge(&mut self, cost: u64) -> Run<()> {
        self.cost = self.cost.saturating_add(cost);
        if self.cost > self.limit { Err(Cancelled::Cost) } else { Ok(()) }
    }

    /// The value of a plan; failures are values.
    pub fn eval(&mut self, plan: &'a Plan, scope: &Scope<'_, 'a>) -> Run<Value<'a>> {
        match plan {
            Plan::Const(value) => Ok(value.clone()),
            Plan::Attribute(attribute) => {
                let value = self.resolve(attribute, scope)?;
                let choice = matches!(attribute.base, Base::Choice(..));
                self.charge(u64::from(!choice))?;
                Ok(value)
            }
            Plan::Test(attribute) => {
                let value = self.resolve(attribute, scope)?;
                if let Base::Choice(..) = attribute.base {
                    self.cost = self.cost.saturating_sub(1);
                }
                Ok(match value {
                    Value::Optional(inner) => Value::Bool(inner.is_some()),
                    other => other,
                })
            }
            Plan::And(terms) => self.logical(terms, false, scope),
            Plan::Or(terms) => self.logical(terms, true, scope),
            Plan::Equal(terms) => self.equal(terms, scope, "_==_", "equals", Value::equals),
            Plan::Unequal(terms) => self.equal(terms, scope, "_!=_", "not_equals", |one, two| {
                Value::Bool(!one.equals(two).is_true())
            }),
            Plan::Member(arg, set) => Ok(match self.eval(arg, scope)? {
                error @ Value::Error(_) => error,
                value => Value::Bool(set.contains(&key(&value))),
            }),
            Plan::Or_(terms) => {
                let [one, two] = &**terms;
                match self.eval(one, scope)? {
                    Value::Optional(None) => self.eval(two, scope),
                    other => Ok(other),
                }
            }
            Plan::OrValue(terms) => {
                let [one, two] = &**terms;
                match self.eval(one, scope)? {
                    Value::Optional(None) => self.eval(two, scope),
                    Value::Optional(Some(inner)) => Ok((*inner).clone()),
                    other => Ok(other),
                }
            }
            Plan::Call(function) => self.call(function, scope),
            Plan::List(elements) => {
                let value = self.list(elements, scope)?;
                self.charge(cost::LIST)?;
                Ok(value)
            }
            Plan::Map(entries) => {
                let value = self.map(entries, scope)?;
                self.charge(cost::MAP)?;
                Ok(value)
            }
            Plan::Fold(fold) => self.fold(fold, scope),
        }
    }

    /// `||` and `&&`: one value decides, and then failures of the other side do not matter.
    fn logical(&mut self, terms: &'a [Plan; 2], decisive: bool, scope: &Scope<'_, 'a>) -> Run<Value<'a>> {
        let mut failure = None;
        for term in terms {
            match self.eval(term, scope)? {
                Value::Bool(value) if value == decisive => return Ok(Value::Bool(decisive)),
                Value::Bool(_) => {}
                other => drop(failure.get_or_insert_with(|| other.no_overload())),
            }
        }
        Ok(failure.unwrap_or(Value::Bool(!decisive)))
    }

    fn equal(
        &mut self,
        terms: &'a [Plan; 2],
        scope: &Scope<'_, 'a>,
        function: &str,
        overload: &str,
        compare: fn(&Value<'a>, &Value<'a>) -> Value<'a>,
    ) -> Run<Value<'a>> {
        let [one, two] = terms;
        let args = [self.eval(one, scope)?, self.eval(two, scope)?];
        let value = match &args {
            [error @ Value::Error(_), _] | [_, error @ Value::Error(_)] => error.clone(),
            [one, two] => compare(one, two),
        };
        self.charge(cost::call(function, overload, &args, Some(&value)))?;
        Ok(value)
    }

    fn call(&mut self, function: &'a Function, scope: &Scope<'_, 'a>) -> Run<Value<'a>> {
        let mut args = Vec::with_capacity(function.args.len());
        let mut failure = None;
        for (at, arg) in function.args.iter().enumerate() {
            let value = self.eval(arg, scope)?;
            if value.is_error() && function.style != Style::NotStrict && failure.is_none() {
                failure = Some(value.clone());
                if function.style == Style::Many && at + 1 < function.args.len() {
                    // The rest is not looked at, and the call is not counted.
                    return Ok(value);
                }
            }
            args.push(value);
        }
        let (name, overload) = (&function.name, &function.overload);
        if let Some(problem) = cost::stumble(overload, &args) {
            return Err(Cancelled::Broken(problem));
        }
        // What is too expensive is not begun.
        if cost::call(name, overload, &args, None).saturating_add(self.cost) > self.limit {
            self.charge(cost::call(name, overload, &args, None))?;
        }
        let value = match failure {
            Some(failure) => failure,
            None => library::run(function, args.clone()),
        };
        if matches!(&value, Value::Error(error) if &**error == library::TOO_LARGE) {
            self.cost = self.limit.saturating_add(1);
            return Err(Cancelled::Cost);
        }
        self.charge(cost::call(name, overload, &args, Some(&value)))?;
        Ok(value)
    }

    fn list(&mut self, elements: &'a [(Plan, bool)], scope: &Scope<'_, 'a>) -> Run<Value<'a>> {
        let mut items = Vec::with_capacity(elements.len());
        for (element, optional) in elements {
            match self.eval(element, scope)? {
                error @ Value::Error(_) => return Ok(error),
                Value::Optional(inner) if *optional => items.extend(inner.map(|inner| (*inner).clone())),
                value if *optional => return Ok(not_optional(&value)),
                value => items.push(value),
            }
        }
        Ok(Value::list(items))
    }

    fn map(&mut self, entries: &'a [(Plan, Plan, bool)], scope: &Scope<'_, 'a>) -> Run<Value<'a>> {
        let mut map = Entries::default();
        for (name, value, optional) in entries {
            let name = self.eval(name, scope)?;
            if name.is_error() {
                return Ok(name);
            }
            match self.eval(value, scope)? {
                error @ Value::Error(_) => return Ok(error),
                Value::Optional(Some(inner)) if *optional => map.insert(name, (*inner).clone()),
                Value::Optional(None) if *optional => map.remove(&name),
                value if *optional => {
                    let (name, value) = (library::show(&name), library::show(&value));
                    return Ok(Value::error(format!(
                        "cannot initialize optional entry '{name}' from non-optional value {value}"
                    )));
                }
                value => map.insert(name, value),
            }
        }
        Ok(Value::Map(Map::of(map)))
    }

    // Attributes.

    fn variable(&mut self, name: &str, scope: &Scope<'_, 'a>) -> Run<Option<Value<'a>>> {
        let mut scope = scope;
        while let (Some(frame), Some(outer)) = (&scope.frame, scope.outer) {
            if *frame.fold.accumulator == *name {
                let known = frame.gathered.borrow().clone();
                if let Some(known) = known {
                    return Ok(Some(known));
                }
                let value = self.eval(&frame.fold.start, outer)?;
                frame.gathered.replace(Some(value.clone()));
                return Ok(Some(value));
            }
            if !frame.over.get() {
                if *frame.fold.variable == *name {
                    return Ok(Some(frame.first.borrow().clone()));
                }
                if frame.fold.second.as_deref() == Some(name) {
                    return Ok(Some(frame.second.borrow().clone()));
                }
            }
            scope = outer;
        }
        Ok(self.variables.iter().find(|(known, _)| **known == *name).map(|(_, value)| value.clone()))
    }

    fn resolve(&mut self, attribute: &'a Attribute, scope: &Scope<'_, 'a>) -> Run<Value<'a>> {
        let value = match &attribute.base {
            Base::Variable(name) => match self.variable(name, scope)? {
                Some(value) => value,
                None => return Ok(Value::error(format!("no such attribute(s): {name}"))),
            },
            Base::Computed(plan) => self.eval(plan, scope)?,
            Base::Choice(condition, branches) => {
                let [truthy, falsy] = &**branches;
                return match self.eval(condition, scope)? {
                    Value::Bool(true) => self.resolve(truthy, scope),
                    Value::Bool(false) => self.resolve(falsy, scope),
                    other => Ok(other.no_overload()),
                };
            }
        };
        let (mut value, mut optional) = match value {
            Value::Error(_) | Value::Optional(None) => return Ok(value),
            Value::Optional(Some(inner)) => ((*inner).clone().without_schema(), true),
            value => (value, false),
        };
        for step in &attribute.steps {
            optional |= step.optional;
            match self.step(step, &value, optional, scope)? {
                None => return Ok(Value::Optional(None)),
                Some(error @ Value::Error(_)) => return Ok(error),
                Some(next) => value = next,
            }
        }
        Ok(if optional { Value::some(value) } else { value })
    }

    /// Goes one step into a value. Where it may be absent, nothing means that it is.
    fn step(
        &mut self,
        step: &'a Step,
        value: &Value<'a>,
        optional: bool,
        scope: &Scope<'_, 'a>,
    ) -> Run<Option<Value<'a>>> {
        let computed;
        let name = match &step.by {
            By::Key(name) | By::Presence(name) => name,
            By::Attribute(attribute) => {
                computed = self.resolve(attribute, scope)?;
                &computed
            }
            By::Computed(plan) => {
                computed = self.eval(plan, scope)?;
                &computed
            }
        };
        let presence = matches!(step.by, By::Presence(_));
        let mut found = match name {
            Value::Error(_) => Some(name.clone()),
            Value::String(_) | Value::Int(_) | Value::Uint(_) | Value::Bool(_) | Value::Double(_) => {
                index(value, name, optional || presence)
            }
            other => Some(Value::error(format!("invalid qualifier type: {}", library::go_type(other)))),
        };
        if !optional && presence && !matches!(found, Some(Value::Error(_))) {
            found = Some(Value::Bool(found.is_some()));
        }
        if !optional || matches!(&found, Some(found) if !found.is_error()) {
            self.charge(1)?;
        }
        Ok(found)
    }

    // Loops.

    fn fold(&mut self, fold: &'a Loop, scope: &Scope<'_, 'a>) -> Run<Value<'a>> {
        let range = self.eval(&fold.range, scope)?;
        let mut rounds: Box<dyn Iterator<Item = (Value<'a>, Value<'a>)>> = match (&range, &fold.second) {
            (Value::Error(_), _) => return Ok(range),
            (Value::List(list), None) => Box::new(list.iter().map(|item| (item, Value::Null))),
            (Value::List(list), Some(_)) => {
                Box::new(list.iter().enumerate().map(|(at, item)| (Value::Int(at as i64), item)))
            }
            (Value::Map(map), None) => Box::new(map.keys().into_iter().map(|name| (name, Value::Null))),
            (Value::Map(map), Some(_)) => Box::new(map.keys().into_iter().map(|name| {
                let value = map.find(&name).unwrap_or(Value::Null);
                (name, value)
            })),
            (other, None) => {
                let found = library::go_type(other);
                return Ok(Value::error(format!("got '{found}', expected iterable type")));
            }
            (other, Some(_)) => {
                let found = library::go_type(other);
                return Ok(Value::error(format!("unsupported comprehension range type: {found}")));
            }
        };
        let frame = Frame {
            fold,
            gathered: RefCell::new(None),
            first: RefCell::new(Value::Null),
            second: RefCell::new(Value::Null),
            over: Cell::new(false),
        };
        let scope = Scope { outer: Some(scope), frame: Some(frame) };
        let Some(frame) = &scope.frame else { return Ok(Value::Null) };
        if let Some(gather) = &fold.gather {
            let built = self.gather(gather, &mut *rounds, &scope, frame)?;
            frame.gathered.replace(Some(built));
        } else {
            for (first, second) in rounds {
                frame.first.replace(first);
                frame.second.replace(second);
                if matches!(self.eval(&fold.condition, &scope)?, Value::Bool(false)) {
                    break;
                }
                let value = self.eval(&fold.step, &scope)?;
                frame.gathered.replace(Some(value));
            }
        }
        frame.over.set(true);
        self.eval(&fold.result, &scope)
    }

    /// Builds a list or map in place.
    fn gather(
        &mut self,
        gather: &'a Gather,
        rounds: &mut dyn Iterator<Item = (Value<'a>, Value<'a>)>,
        scope: &Scope<'_, 'a>,
        frame: &Frame<'a>,
    ) -> Run<Value<'a>> {
        let mut built = match gather.what {
            Added::Element(..) => Built::List(Vec::new()),
            _ => Built::Map(Entries::default()),
        };
        for (first, second) in rounds {
            frame.first.replace(first);
            frame.second.replace(second);
            if let Some(filter) = &gather.filter {
                match self.eval(filter, scope)? {
                    Value::Bool(true) => {}
                    Value::Bool(false) => continue,
                    other => {
                        built = Built::Failed(other.no_overload());
                        continue;
                    }
                }
            }
            self.add(&gather.what, &mut built, scope)?;
        }
        Ok(match built {
            Built::List(items) => Value::List(List::Items(items.into())),
            Built::Map(entries) => Value::Map(Map::of(entries)),
            Built::Failed(failure) => failure,
        })
    }

    /// One round; it costs what adding to the accumulator costs.
    fn add(&mut self, what: &'a Added, built: &mut Built<'a>, scope: &Scope<'_, 'a>) -> Run<()> {
        self.charge(1)?;
        match what {
            Added::Element(element, constant) => {
                let value = self.eval(element, scope)?;
                self.charge(if *constant { 0 } else { cost::LIST })?;
                self.charge(1)?;
                match (built, value) {
                    (Built::Failed(_), _) => {}
                    (built, error @ Value::Error(_)) => *built = Built::Failed(error),
                    (Built::List(items), value) => items.push(value),
                    _ => {}
                }
            }
            Added::Entry(name, value) => {
                if let Built::Failed(_) = built {
                    return Ok(());
                }
                let name = self.eval(name, scope)?;
                if name.is_error() {
                    *built = Built::Failed(name);
                    return Ok(());
                }
                let value = self.eval(value, scope)?;
                self.charge(1)?;
                if value.is_error() {
                    *built = Built::Failed(value);
                } else {
                    insert(built, name, value);
                }
            }
            Added::Entries(map) => {
                let value = self.eval(map, scope)?;
                self.charge(1)?;
                match (&*built, value) {
                    (Built::Failed(_), _) => {}
                    (_, error @ Value::Error(_)) => *built = Built::Failed(error),
                    (_, Value::Map(map)) => {
                        for name in map.keys() {
                            let value = map.find(&name).unwrap_or(Value::Null);
                            insert(built, name, value);
                        }
                    }
                    (_, other) => *built = Built::Failed(other.no_overload()),
                }
            }
        }
        Ok(())
    }
}

fn insert<'a>(built: &mut Built<'a>, name: Value<'a>, value: Value<'a>) {
    if let Built::Map(entries) = built {
        if entries.find(&name).is_some() {
            let name = library::show(&name);
            *built = Built::Failed(Value::error(format!("insert failed: key {name} already exists")));
        } else {
            entries.insert(name, value);
        }
    }
}

/// What is at a key or an index; where it may be absent, nothing means that it is.
fn index<'a>(value: &Value<'a>, name: &Value<'a>, optional: bool) -> Option<Value<'a>> {
    let missing = |what: &str| {
        if optional { None } else { Some(Value::error(format!("{what}: {}", library::show(name)))) }
    };
    match value {
        Value::Error(_) => Some(value.clone()),
        Value::Map(map) => map.find(name).or_else(|| missing("no such key")),
        Value::List(list) => {
            let at = match library::list_index(name) {
                Ok(at) => at,
                Err(error) => return Some(Value::error(error)),
            };
            let found = usize::try_from(at).ok().and_then(|at| list.get(at));
            match (found, list, name) {
                (Some(_), List::Typed(_), Value::Double(_) | Value::Uint(_)) => {
                    Some(Value::error(format!("unsupported index: {}", library::show(name))))
                }
                (Some(found), ..) => Some(found),
                (None, ..) => missing("index out of bounds"),
            }
        }
        _ => missing("no such key"),
    }
}
