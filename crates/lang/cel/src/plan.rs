//! What is run: the tree with names and functions resolved, constants computed and patterns compiled.

use std::collections::HashSet;
use std::sync::Arc;

use podium_re2::Regex;

use crate::ast::{Call, Expr, Fold, Kind, Literal};
use crate::checker::{Checked, Meaning};
use crate::library::{self, Op, Style};
use crate::map::{Entries, Key, Map, key};
use crate::types::Type;
use crate::value::Value;

/// A node to run.
#[derive(Debug)]
pub enum Plan {
    /// A value that is known.
    Const(Value<'static>),
    /// A variable or a value, and fields or elements of it.
    Attribute(Box<Attribute>),
    /// Whether the last field is there.
    Test(Box<Attribute>),
    /// `&&`
    And(Box<[Plan; 2]>),
    /// `||`
    Or(Box<[Plan; 2]>),
    /// `==`
    Equal(Box<[Plan; 2]>),
    /// `!=`
    Unequal(Box<[Plan; 2]>),
    /// `in` a list of constants.
    Member(Box<Plan>, HashSet<Key>),
    /// The first optional value that is there.
    Or_(Box<[Plan; 2]>),
    /// The value of an optional one, or another.
    OrValue(Box<[Plan; 2]>),
    /// A function.
    Call(Box<Function>),
    /// A list; elements may be optional.
    List(Vec<(Plan, bool)>),
    /// A map; entries may be optional.
    Map(Vec<(Plan, Plan, bool)>),
    /// A loop.
    Fold(Box<Loop>),
}

/// A call.
#[derive(Debug)]
pub struct Function {
    pub name: Arc<str>,
    /// The overload, if there is just one.
    pub overload: Arc<str>,
    pub args: Vec<Plan>,
    pub style: Style,
    pub op: Op,
}

/// Where a value is found.
#[derive(Debug, Clone)]
pub struct Attribute {
    pub base: Base,
    pub steps: Vec<Arc<Step>>,
}

/// What an attribute begins with.
#[derive(Debug, Clone)]
pub enum Base {
    Variable(Arc<str>),
    Computed(Arc<Plan>),
    /// One of two attributes.
    Choice(Arc<Plan>, Box<[Attribute; 2]>),
}

/// One step into a value.
#[derive(Debug)]
pub struct Step {
    pub by: By,
    pub optional: bool,
}

/// What a step goes by.
#[derive(Debug)]
pub enum By {
    Key(Value<'static>),
    /// Whether the key is there.
    Presence(Value<'static>),
    Attribute(Attribute),
    Computed(Plan),
}

/// A loop.
#[derive(Debug)]
pub struct Loop {
    pub range: Plan,
    pub variable: Arc<str>,
    pub second: Option<Arc<str>>,
    pub accumulator: Arc<str>,
    pub start: Plan,
    pub condition: Plan,
    pub step: Plan,
    pub result: Plan,
    /// The loop only adds to a list or map, which is then built in place.
    pub gather: Option<Gather>,
}

/// What a loop adds in each round.
#[derive(Debug)]
pub struct Gather {
    pub filter: Option<Plan>,
    pub what: Added,
}

/// What is added.
#[derive(Debug)]
pub enum Added {
    /// An element, and whether it is a constant.
    Element(Plan, bool),
    /// An entry.
    Entry(Plan, Plan),
    /// The entries of a map.
    Entries(Plan),
}

/// Functions that make a value of another type; of constants they are computed at once.
const CONVERSIONS: [&str; 10] =
    ["bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"];

/// The value of a literal.
pub fn literal(literal: &Literal) -> Value<'static> {
    match literal {
        Literal::Null => Value::Null,
        Literal::Bool(flag) => Value::Bool(*flag),
        Literal::Int(int) => Value::Int(*int),
        Literal::Uint(uint) => Value::Uint(*uint),
        Literal::Double(double) => Value::Double(*double),
        Literal::String(text) => Value::text(text.clone()),
        Literal::Bytes(bytes) => Value::Bytes(bytes.clone()),
    }
}

impl Attribute {
    fn step(&mut self, step: &Arc<Step>) {
        match &mut self.base {
            Base::Choice(_, branches) => branches.iter_mut().for_each(|branch| branch.step(step)),
            _ => self.steps.push(step.clone()),
        }
    }
}

impl Plan {
    fn constant(&self) -> Option<&Value<'static>> {
        match self {
            Self::Const(value) => Some(value),
            _ => None,
        }
    }

    fn into_attribute(self) -> Attribute {
        match self {
            Self::Attribute(attribute) => *attribute,
            other => Attribute { base: Base::Computed(Arc::new(other)), steps: Vec::new() },
        }
    }
}

/// Makes the plan of a checked tree, or says why it cannot run.
pub fn plan(checked: &Checked, expr: &Expr) -> Result<Plan, String> {
    match &expr.kind {
        Kind::Broken => Err("unsupported expr".to_owned()),
        Kind::Literal(value) => Ok(Plan::Const(literal(value))),
        Kind::Ident(name) => identifier(checked.meaning(expr), name),
        Kind::Select(operand, field) => stepped(checked, operand, By::Key(Value::text(field.clone())), false),
        Kind::Test(operand, field) => {
            match stepped(checked, operand, By::Presence(Value::text(field.clone())), false)? {
                Plan::Attribute(attribute) => Ok(Plan::Test(attribute)),
                other => Ok(other),
            }
        }
        Kind::Call(call) => self::call(checked, expr, call),
        Kind::List(elements) => {
            let elements: Vec<(Plan, bool)> = elements
                .iter()
                .map(|(element, optional)| Ok((plan(checked, element)?, *optional)))
                .collect::<Result<_, String>>()?;
            if elements.iter().all(|(element, _)| element.constant().is_some()) {
                return Ok(Plan::Const(constant_list(&elements)));
            }
            Ok(Plan::List(elements))
        }
        Kind::Map(entries) => {
            let entries: Vec<(Plan, Plan, bool)> = entries
                .iter()
                .map(|entry| Ok((plan(checked, &entry.key)?, plan(checked, &entry.value)?, entry.optional)))
                .collect::<Result<_, String>>()?;
            Ok(constant_map(&entries).unwrap_or(Plan::Map(entries)))
        }
        Kind::Struct(name, _) => Err(format!("unknown type: {name}")),
        Kind::Fold(fold) => self::fold(checked, fold),
    }
}

fn identifier(meaning: &Meaning, name: &Arc<str>) -> Result<Plan, String> {
    match meaning {
        Meaning::TypeName(name) if matches!(&**name, "duration" | "timestamp") => {
            Err(format!("reference to undefined type: {name}"))
        }
        Meaning::TypeName(name) => Ok(Plan::Const(Value::Type(name.clone()))),
        Meaning::Variable(name) => Ok(variable(name)),
        _ => Ok(variable(name)),
    }
}

fn variable(name: &Arc<str>) -> Plan {
    Plan::Attribute(Box::new(Attribute { base: Base::Variable(name.clone()), steps: Vec::new() }))
}

fn stepped(checked: &Checked, operand: &Expr, by: By, optional: bool) -> Result<Plan, String> {
    let mut attribute = plan(checked, operand)?.into_attribute();
    attribute.step(&Arc::new(Step { by, optional }));
    Ok(Plan::Attribute(Box::new(attribute)))
}

fn constant_list(elements: &[(Plan, bool)]) -> Value<'static> {
    let mut items = Vec::new();
    for (element, optional) in elements {
        let Some(value) = element.constant() else { continue };
        if *optional {
            return not_optional(value);
        }
        items.push(value.clone());
    }
    Value::list(items)
}

/// The failure of an element that is marked optional and is not.
pub fn not_optional<'a>(value: &Value<'a>) -> Value<'a> {
    let value = library::show(value);
    Value::error(format!("cannot initialize optional list element from non-optional value {value}"))
}

fn constant_map(entries: &[(Plan, Plan, bool)]) -> Option<Plan> {
    let mut map = Entries::default();
    for (name, value, optional) in entries {
        let (name, value) = (name.constant()?, value.constant()?);
        if *optional {
            return None;
        }
        map.insert(name.clone(), value.clone());
    }
    Some(Plan::Const(Value::Map(Map::of(map))))
}

fn pair(checked: &Checked, one: &Expr, two: &Expr) -> Result<Box<[Plan; 2]>, String> {
    Ok(Box::new([plan(checked, one)?, plan(checked, two)?]))
}

fn call(checked: &Checked, expr: &Expr, call: &Call) -> Result<Plan, String> {
    let exprs: Vec<&Expr> = call.target.as_deref().into_iter().chain(&call.args).collect();
    if let [one, two] = exprs.as_slice() {
        match &*call.function {
            "_&&_" => return pair(checked, one, two).map(Plan::And),
            "_||_" => return pair(checked, one, two).map(Plan::Or),
            "_==_" => return pair(checked, one, two).map(Plan::Equal),
            "_!=_" => return pair(checked, one, two).map(Plan::Unequal),
            "or" => return pair(checked, one, two).map(Plan::Or_),
            "orValue" => return pair(checked, one, two).map(Plan::OrValue),
            "_[_]" => return index(checked, one, two, false),
            "_[?_]" | "_?._" => return index(checked, one, two, true),
            _ => {}
        }
    }
    if let ("_?_:_", [condition, truthy, falsy]) = (&*call.function, exprs.as_slice()) {
        let condition = Arc::new(plan(checked, condition)?);
        let branches = [plan(checked, truthy)?.into_attribute(), plan(checked, falsy)?.into_attribute()];
        let base = Base::Choice(condition, Box::new(branches));
        return Ok(Plan::Attribute(Box::new(Attribute { base, steps: Vec::new() })));
    }
    let args = exprs.iter().map(|arg| plan(checked, arg)).collect::<Result<Vec<_>, _>>()?;
    let overload = match checked.overloads(expr) {
        [one] => one.clone(),
        _ => "".into(),
    };
    let (style, op) = library::bind(&call.function, &overload, args.len())?;
    let mut function = Function { name: call.function.clone(), overload, args, style, op };
    optimize(&mut function)?;
    if let ("in_list", [_, Plan::Const(Value::List(list))]) = (&*function.overload, function.args.as_slice())
    {
        if list.is_empty() {
            return Ok(Plan::Const(Value::Bool(false)));
        }
        if let Some(set) = member_set(&list.iter().collect::<Vec<_>>()) {
            let arg = function.args.swap_remove(0);
            return Ok(Plan::Member(Box::new(arg), set));
        }
    }
    if let (true, [Plan::Const(value)]) = (CONVERSIONS.contains(&&*function.name), function.args.as_slice()) {
        return match library::run(&function, vec![value.clone()]) {
            Value::Error(error) => Err(error.to_string()),
            value => Ok(Plan::Const(value)),
        };
    }
    Ok(Plan::Call(Box::new(function)))
}

/// Compiles a pattern that is a constant.
fn optimize(function: &mut Function) -> Result<(), String> {
    let Some(Plan::Const(Value::String(pattern))) = function.args.get(1) else { return Ok(()) };
    if matches!(&*function.name, "matches" | "find" | "findAll") {
        let regex = Regex::new(pattern.as_bytes()).map_err(|error| error.to_string())?;
        function.style = Style::Many;
        function.op = Op::Regex(Arc::new(regex));
    }
    Ok(())
}

/// The keys of a list of plain constants, with numbers in all their kinds.
fn member_set(items: &[Value<'static>]) -> Option<HashSet<Key>> {
    let mut set = HashSet::new();
    for item in items {
        match item {
            Value::Bool(_) | Value::String(_) => {}
            Value::Double(double) => {
                let as_int = *double as i64;
                if as_int as f64 == *double && *double < i64::MAX as f64 {
                    set.insert(key(&Value::Int(as_int)));
                }
                let as_uint = *double as u64;
                if as_uint as f64 == *double && *double < u64::MAX as f64 {
                    set.insert(key(&Value::Uint(as_uint)));
                }
            }
            Value::Int(int) => {
                set.insert(key(&Value::Double(*int as f64)));
                if let Ok(uint) = u64::try_from(*int) {
                    set.insert(key(&Value::Uint(uint)));
                }
            }
            Value::Uint(uint) => {
                set.insert(key(&Value::Double(*uint as f64)));
                if let Ok(int) = i64::try_from(*uint) {
                    set.insert(key(&Value::Int(int)));
                }
            }
            _ => return None,
        }
        set.insert(key(item));
    }
    Some(set)
}

fn index(checked: &Checked, operand: &Expr, by: &Expr, optional: bool) -> Result<Plan, String> {
    let by = match plan(checked, by)? {
        Plan::Const(
            value @ (Value::String(_) | Value::Int(_) | Value::Uint(_) | Value::Bool(_) | Value::Double(_)),
        ) => By::Key(value),
        Plan::Const(value) => return Err(format!("invalid qualifier type: {}", library::go_type(&value))),
        Plan::Attribute(attribute) => By::Attribute(*attribute),
        other => By::Computed(other),
    };
    stepped(checked, operand, by, optional)
}

fn fold(checked: &Checked, fold: &Fold) -> Result<Plan, String> {
    let gather = gather(checked, fold)?;
    Ok(Plan::Fold(Box::new(Loop {
        range: plan(checked, &fold.range)?,
        variable: fold.variable.clone(),
        second: fold.second.clone(),
        accumulator: fold.accumulator.clone(),
        start: plan(checked, &fold.start)?,
        condition: plan(checked, &fold.condition)?,
        // What builds in place has its own step.
        step: if gather.is_some() { Plan::Const(Value::Null) } else { plan(checked, &fold.step)? },
        result: plan(checked, &fold.result)?,
        gather,
    })))
}

/// Finds the steps that the macros make of `map`, `filter` and the transformations.
fn gather(checked: &Checked, fold: &Fold) -> Result<Option<Gather>, String> {
    let is_accumulator = |expr: &Expr| matches!(&expr.kind, Kind::Ident(name) if *name == fold.accumulator);
    let is_empty = match &fold.start.kind {
        Kind::List(elements) => elements.is_empty(),
        Kind::Map(entries) => entries.is_empty(),
        _ => false,
    };
    if !is_empty || !is_accumulator(&fold.result) {
        return Ok(None);
    }
    let mut step = &fold.step;
    let mut filter = None;
    if let Kind::Call(Call { function, args, .. }) = &step.kind
        && let ("_?_:_", [condition, truthy, falsy]) = (&**function, args.as_slice())
        && is_accumulator(falsy)
    {
        filter = Some(condition);
        step = truthy;
    }
    let Kind::Call(Call { function, args, target: None }) = &step.kind else { return Ok(None) };
    let what = match (&**function, args.as_slice()) {
        ("_+_", [accumulator, list]) if is_accumulator(accumulator) => match &list.kind {
            Kind::List(elements) => match elements.as_slice() {
                [(element, false)] => {
                    let element = plan(checked, element)?;
                    let constant = element.constant().is_some();
                    Added::Element(element, constant)
                }
                _ => return Ok(None),
            },
            _ => return Ok(None),
        },
        ("cel.@mapInsert", [accumulator, name, value]) if is_accumulator(accumulator) => {
            Added::Entry(plan(checked, name)?, plan(checked, value)?)
        }
        ("cel.@mapInsert", [accumulator, map]) if is_accumulator(accumulator) => {
            Added::Entries(plan(checked, map)?)
        }
        _ => return Ok(None),
    };
    let filter = filter.map(|filter| plan(checked, filter)).transpose()?;
    Ok(Some(Gather { filter, what }))
}

/// Whether a value may be taken for a type when an expression runs; lists and maps are judged by their first entry.
pub fn fits(value: &Value<'_>, t: &Type) -> bool {
    match (t, value) {
        (Type::Dyn | Type::Param(_), Value::Error(_)) => false,
        (Type::Dyn | Type::Param(_), _) => true,
        (Type::List(element), Value::List(list)) => list.get(0).is_none_or(|first| fits(&first, element)),
        (Type::Map(types), Value::Map(map)) => map.keys().first().is_none_or(|name| {
            fits(name, &types.0) && map.find(name).is_some_and(|value| fits(&value, &types.1))
        }),
        (t, value) => t.runtime_name() == value.type_name(),
    }
}
