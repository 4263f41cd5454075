//! Gives every node of a tree its type, and every name its meaning.

use std::sync::Arc;

use crate::ast::{Call, Expr, Fold, Id, Kind, Literal};
use crate::declarations::{self, Overload};
use crate::environment::Environment;
use crate::source::{Issues, Place};
use crate::types::{Bindings, Type, joined, most_general};

/// What a node refers to.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Meaning {
    /// Nothing by itself.
    #[default]
    None,
    /// A variable.
    Variable(Arc<str>),
    /// A type, by its name.
    TypeName(Arc<str>),
    /// Overloads of a function.
    Overloads(Vec<Arc<str>>),
}

/// A tree with types and meanings.
#[derive(Debug)]
pub struct Checked {
    /// The tree.
    pub tree: Expr,
    types: Vec<Type>,
    meanings: Vec<Meaning>,
}

impl Checked {
    /// The type of a node.
    pub fn type_of(&self, expr: &Expr) -> &Type {
        self.types.get(expr.id).unwrap_or(&Type::Error)
    }

    /// The meaning of a node.
    pub fn meaning(&self, expr: &Expr) -> &Meaning {
        self.meanings.get(expr.id).unwrap_or(&Meaning::None)
    }

    /// The overloads that a call may mean.
    pub fn overloads(&self, expr: &Expr) -> &[Arc<str>] {
        match self.meaning(expr) {
            Meaning::Overloads(overloads) => overloads,
            _ => &[],
        }
    }

    /// Whether a variable is read anywhere.
    pub fn reads(&self, name: &str) -> bool {
        self.meanings.iter().any(|meaning| matches!(meaning, Meaning::Variable(read) if &**read == name))
    }
}

struct Checker<'e> {
    environment: &'e Environment,
    scopes: Vec<(Arc<str>, Type)>,
    bindings: Bindings,
    types: Vec<Option<Type>>,
    meanings: Vec<Meaning>,
    issues: Issues,
}

/// Checks a tree with so many nodes.
pub fn check(text: &str, mut tree: Expr, nodes: usize, environment: &Environment) -> Result<Checked, Issues> {
    let mut checker = Checker {
        environment,
        scopes: Vec::new(),
        bindings: Bindings::default(),
        types: vec![None; nodes],
        meanings: vec![Meaning::None; nodes],
        issues: Issues::new(text),
    };
    checker.check(&mut tree);
    if !checker.issues.is_empty() {
        return Err(checker.issues);
    }
    let bindings = &checker.bindings;
    let types =
        checker.types.iter().map(|t| t.as_ref().map_or(Type::Error, |t| bindings.substitute(t, true)));
    Ok(Checked { tree, types: types.collect(), meanings: checker.meanings })
}

impl Checker<'_> {
    fn set(&mut self, id: Id, t: Type) {
        if let Some(slot) = self.types.get_mut(id) {
            *slot = Some(t);
        }
    }

    fn mean(&mut self, id: Id, meaning: Meaning) {
        if let Some(slot) = self.meanings.get_mut(id) {
            *slot = meaning;
        }
    }

    fn type_of(&self, expr: &Expr) -> Type {
        self.types.get(expr.id).cloned().flatten().unwrap_or(Type::Error)
    }

    fn mismatch(&mut self, place: Place, expected: &Type, found: &Type) {
        self.issues.report(place, format!("expected type '{expected}' but found '{found}'"));
    }

    fn undeclared(&mut self, expr: &Expr, name: &str) {
        self.issues.report(expr.place, format!("undeclared reference to '{name}' (in container '')"));
        self.set(expr.id, Type::Error);
    }

    /// The type and the meaning of a name.
    fn lookup(&self, name: &str) -> Option<(Type, Meaning)> {
        let name = name.strip_prefix('.').unwrap_or(name);
        if let Some((name, t)) = self.scopes.iter().rev().find(|(known, _)| **known == *name) {
            return Some((t.clone(), Meaning::Variable(name.clone())));
        }
        if let Some((name, t)) = self.environment.variable(name) {
            return Some((t.clone(), Meaning::Variable(name.clone())));
        }
        let any = || Type::Param("A".into());
        let inner = match name {
            "bool" => Type::Bool,
            "bytes" => Type::Bytes,
            "double" => Type::Double,
            "duration" | "google.protobuf.Duration" => Type::Duration,
            "int" => Type::Int,
            "list" => Type::list(any()),
            "map" => Type::map(any(), Type::Param("B".into())),
            "null_type" => Type::Null,
            "string" => Type::String,
            "timestamp" | "google.protobuf.Timestamp" => Type::Timestamp,
            "type" => Type::Type(None),
            "uint" => Type::Uint,
            "optional_type" => Type::optional(Type::Param("V".into())),
            "net.IP" | "net.CIDR" => Type::Opaque(name.into(), Arc::new([])),
            _ => return None,
        };
        Some((Type::of(inner), Meaning::TypeName(name.into())))
    }

    fn check(&mut self, expr: &mut Expr) {
        match &mut expr.kind {
            Kind::Broken => self.set(expr.id, Type::Error),
            Kind::Literal(literal) => {
                let t = match literal {
                    Literal::Null => Type::Null,
                    Literal::Bool(_) => Type::Bool,
                    Literal::Int(_) => Type::Int,
                    Literal::Uint(_) => Type::Uint,
                    Literal::Double(_) => Type::Double,
                    Literal::String(_) => Type::String,
                    Literal::Bytes(_) => Type::Bytes,
                };
                self.set(expr.id, t);
            }
            Kind::Ident(name) => {
                let name = name.clone();
                match self.lookup(&name) {
                    Some((t, meaning)) => {
                        self.set(expr.id, t);
                        self.mean(expr.id, meaning);
                    }
                    None => self.undeclared(expr, &name),
                }
            }
            Kind::Select(..) => self.select(expr),
            Kind::Test(operand, field) => {
                let field = field.clone();
                self.field(expr.id, expr.place, operand, &field, false);
                self.set(expr.id, Type::Bool);
            }
            Kind::Call(_) => self.call(expr),
            Kind::List(_) => self.list(expr),
            Kind::Map(_) => self.map(expr),
            Kind::Struct(name, fields) => {
                let name = name.clone();
                if let Some((Type::Type(Some(inner)), _)) = self.lookup(&name) {
                    self.issues
                        .report(expr.place, format!("'{}' is not a message type", inner.runtime_name()));
                    for field in fields {
                        self.check(&mut field.value);
                        self.issues.report(field.place, format!("undefined field '{}'", field.name));
                    }
                    self.set(expr.id, Type::Error);
                } else {
                    self.undeclared(expr, &name);
                }
            }
            Kind::Fold(_) => self.fold(expr),
        }
    }

    fn select(&mut self, expr: &mut Expr) {
        if let Some((t, meaning)) = expr.qualified_name().and_then(|name| self.lookup(&name)) {
            if let Meaning::Variable(name) | Meaning::TypeName(name) = &meaning {
                expr.kind = Kind::Ident(name.clone());
            }
            self.set(expr.id, t);
            self.mean(expr.id, meaning);
            return;
        }
        let (id, place) = (expr.id, expr.place);
        if let Kind::Select(operand, field) = &mut expr.kind {
            let field = field.clone();
            let t = self.field(id, place, operand, &field, false);
            let t = self.bindings.substitute(&t, false);
            self.set(id, t);
        }
    }

    /// The type of a field.
    fn field(&mut self, _id: Id, place: Place, operand: &mut Expr, field: &str, optional: bool) -> Type {
        self.check(operand);
        let operand = self.bindings.substitute(&self.type_of(operand), false);
        let target = operand.unwrapped().unwrap_or(&operand);
        let t = match target {
            Type::Map(types) => types.1.clone(),
            Type::Object(name) => match self.environment.object(name) {
                Some(object) => match object.field_type(field) {
                    Some(t) => t,
                    None => {
                        self.issues.report(place, format!("undefined field '{field}'"));
                        Type::Error
                    }
                },
                None => {
                    self.issues.report(place, format!("unexpected failed resolution of '{name}'"));
                    Type::Error
                }
            },
            Type::Param(_) => {
                self.bindings.assignable(&Type::Dyn, target);
                Type::Dyn
            }
            Type::Dyn | Type::Error => Type::Dyn,
            other => {
                self.issues.report(place, format!("type '{other}' does not support field selection"));
                Type::Dyn
            }
        };
        if optional || operand.unwrapped().is_some() { Type::optional(t) } else { t }
    }

    fn call(&mut self, expr: &mut Expr) {
        let (id, place) = (expr.id, expr.place);
        let Kind::Call(call) = &mut expr.kind else { return };
        if &*call.function == "_?._" {
            if let [operand, Expr { kind: Kind::Literal(Literal::String(field)), .. }] =
                call.args.as_mut_slice()
            {
                let field = field.clone();
                let t = self.field(id, place, operand, &field, true);
                let t = self.bindings.substitute(&t, false);
                self.set(id, t);
                self.mean(id, Meaning::Overloads(vec!["select_optional_field".into()]));
            }
            return;
        }
        for arg in &mut call.args {
            self.check(arg);
        }
        let name = call.function.strip_prefix('.').unwrap_or(&call.function).to_owned();
        if let Some(target) = &mut call.target {
            let qualified = target.qualified_name().map(|prefix| format!("{prefix}.{name}"));
            let qualified = qualified.map(|name| name.strip_prefix('.').map(str::to_owned).unwrap_or(name));
            if let Some(qualified) = qualified
                && let Some(overloads) = declarations::function(&qualified)
            {
                call.target = None;
                call.function = qualified.as_str().into();
                self.resolve(id, place, call, overloads);
                return;
            }
            self.check(target);
        }
        match declarations::function(&name) {
            Some(overloads) => {
                call.function = name.into();
                self.resolve(id, place, call, overloads);
            }
            None => {
                let name = call.function.clone();
                self.undeclared(expr, &name);
            }
        }
    }

    /// Finds the overloads that fit.
    fn resolve(&mut self, id: Id, place: Place, call: &Call, overloads: &[Overload]) {
        self.set(id, Type::Error);
        let exprs: Vec<&Expr> = call.target.as_deref().into_iter().chain(&call.args).collect();
        let args: Vec<Type> = exprs.iter().map(|arg| self.type_of(arg)).collect();
        if matches!(&*call.function, "_&&_" | "_||_") {
            let mut wrong = false;
            for (expr, t) in exprs.iter().zip(&args) {
                if !self.bindings.assignable(t, &Type::Bool) {
                    self.mismatch(expr.place, &Type::Bool, t);
                    wrong = true;
                }
            }
            if !wrong {
                self.set(id, Type::Bool);
                self.mean(id, Meaning::Overloads(overloads.iter().map(|o| o.id.clone()).collect()));
            }
            return;
        }
        let mut found = Vec::new();
        let mut result: Option<Type> = None;
        for overload in overloads.iter().filter(|overload| overload.member == call.target.is_some()) {
            let mut fresh = Bindings::default();
            let instance = self.instance(overload, &mut fresh);
            if !self.bindings.assignable_all(&args, &instance.0) {
                continue;
            }
            found.push(overload.id.clone());
            let t = self.bindings.substitute(&instance.1, false);
            result = Some(match result {
                None => t,
                Some(Type::Dyn) => Type::Dyn,
                Some(before) if before == t => before,
                Some(_) => Type::Dyn,
            });
        }
        match result {
            Some(t) => {
                self.set(id, t);
                self.mean(id, Meaning::Overloads(found));
            }
            None => {
                let shown: Vec<Type> = args.iter().map(|t| self.bindings.substitute(t, true)).collect();
                let signature = match (&call.target, shown.split_first()) {
                    (Some(_), Some((target, rest))) => format!("{target}.({})", joined(rest)),
                    _ => format!("({})", joined(&shown)),
                };
                let name = &call.function;
                self.issues.report(
                    place,
                    format!("found no matching overload for '{name}' applied to '{signature}'"),
                );
            }
        }
    }

    /// An overload with parameters of its own.
    fn instance(&mut self, overload: &Overload, named: &mut Bindings) -> (Vec<Type>, Type) {
        let mut params = Vec::new();
        overload.args.iter().chain([&overload.result]).for_each(|t| collect_params(t, &mut params));
        for param in params {
            let fresh = self.bindings.fresh();
            named.assignable(&fresh, &param);
        }
        let args = overload.args.iter().map(|t| named.substitute(t, false)).collect();
        (args, named.substitute(&overload.result, false))
    }

    /// The type of an element that may be optional.
    fn element(&mut self, expr: &Expr, optional: bool) -> Type {
        let t = self.type_of(expr);
        if !optional {
            return t;
        }
        match t.unwrapped() {
            Some(inner) => inner.clone(),
            None => {
                if t != Type::Dyn {
                    self.mismatch(expr.place, &Type::optional(t.clone()), &t);
                }
                t
            }
        }
    }

    fn join(&mut self, before: Option<Type>, t: Type) -> Option<Type> {
        let Some(before) = before else { return Some(t) };
        // Mixed types are told later, where they are not allowed.
        Some(if self.bindings.assignable(&before, &t) { most_general(&before, &t) } else { Type::Dyn })
    }

    fn list(&mut self, expr: &mut Expr) {
        let Kind::List(elements) = &mut expr.kind else { return };
        let mut joined = None;
        for (element, optional) in elements {
            self.check(element);
            let t = self.element(element, *optional);
            joined = self.join(joined, t);
        }
        let t = joined.unwrap_or_else(|| self.bindings.fresh());
        self.set(expr.id, Type::list(t));
    }

    fn map(&mut self, expr: &mut Expr) {
        let Kind::Map(entries) = &mut expr.kind else { return };
        let (mut keys, mut values) = (None, None);
        for entry in entries {
            self.check(&mut entry.key);
            let t = self.type_of(&entry.key);
            keys = self.join(keys, t);
            self.check(&mut entry.value);
            let t = self.element(&entry.value, entry.optional);
            values = self.join(values, t);
        }
        let key = keys.unwrap_or_else(|| self.bindings.fresh());
        let value = values.unwrap_or_else(|| self.bindings.fresh());
        self.set(expr.id, Type::map(key, value));
    }

    fn fold(&mut self, expr: &mut Expr) {
        let Kind::Fold(fold) = &mut expr.kind else { return };
        let Fold { range, variable, second, accumulator, start, condition, step, result } = &mut **fold;
        self.check(range);
        self.check(start);
        let ranged = self.bindings.substitute(&self.type_of(range), false);
        let gathered = self.type_of(start);
        let depth = self.scopes.len();
        self.scopes.push((accumulator.clone(), gathered.clone()));
        let (first, other) = match &ranged {
            Type::List(element) if second.is_some() => (Type::Int, (**element).clone()),
            Type::List(element) => ((**element).clone(), Type::Error),
            Type::Map(types) => (types.0.clone(), types.1.clone()),
            Type::Dyn | Type::Error | Type::Param(_) => {
                self.bindings.assignable(&Type::Dyn, &ranged);
                (Type::Dyn, Type::Dyn)
            }
            other => {
                self.issues.report(
                    range.place,
                    format!(
                        "expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"
                    ),
                );
                (Type::Error, Type::Error)
            }
        };
        self.scopes.push((variable.clone(), first));
        if let Some(second) = second {
            self.scopes.push((second.clone(), other));
        }
        self.check(condition);
        self.require(condition, &Type::Bool);
        self.check(step);
        self.require(step, &gathered);
        self.scopes.truncate(depth + 1);
        self.check(result);
        self.scopes.truncate(depth);
        let t = self.bindings.substitute(&self.type_of(result), false);
        self.set(expr.id, t);
    }

    fn require(&mut self, expr: &Expr, wanted: &Type) {
        let found = self.type_of(expr);
        if !self.bindings.assignable(wanted, &found) {
            self.mismatch(expr.place, wanted, &found);
        }
    }
}

fn collect_params(t: &Type, params: &mut Vec<Type>) {
    match t {
        Type::Param(_) if !params.contains(t) => params.push(t.clone()),
        Type::List(element) => collect_params(element, params),
        Type::Map(types) => {
            collect_params(&types.0, params);
            collect_params(&types.1, params);
        }
        Type::Opaque(_, inner) => inner.iter().for_each(|t| collect_params(t, params)),
        Type::Type(Some(inner)) => collect_params(inner, params),
        _ => {}
    }
}
