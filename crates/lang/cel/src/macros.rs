//! Calls that stand for loops.

use std::sync::Arc;

use crate::ast::{ACCUMULATOR, Call, Expr, Fold, Kind, Literal, UNUSED};
use crate::parser::Parser;
use crate::source::Place;

/// The accumulator's name of old; nobody may use it.
const OLD_ACCUMULATOR: &str = "__result__";
/// What `sortBy` calls the list that it sorts.
const SORTED: &str = "@__sortBy_input__";

const NOT_IDENTIFIER: &str = "argument is not an identifier";
const NOT_SIMPLE: &str = "argument must be a simple name";
const OVERWRITES: &str = "iteration variable overwrites accumulator variable";

/// A problem of an argument.
struct Wrong(Place, String);

type Made = Result<Expr, Wrong>;

impl Parser<'_> {
    /// Makes a call, or what it stands for.
    pub fn call_or_macro(&mut self, place: Place, target: Option<Expr>, name: &str, args: Vec<Expr>) -> Expr {
        let higher = usize::from(target.is_some());
        let made = match (target, name, args.len()) {
            (None, "has", 1) => self.presence(place, args),
            (Some(target), "all" | "exists" | "exists_one", 2 | 3) | (Some(target), "existsOne", 3) => {
                self.quantifier(place, target, name, args)
            }
            (Some(target), "map", 2 | 3) => self.map_macro(place, target, args),
            (Some(target), "filter", 2) => self.filter_macro(place, target, args),
            (Some(target), "transformList", 3 | 4) => self.transform(place, target, args, Build::List),
            (Some(target), "transformMap", 3 | 4) => self.transform(place, target, args, Build::Map),
            (Some(target), "transformMapEntry", 3 | 4) => self.transform(place, target, args, Build::Entry),
            (Some(target), "optMap", 2) => self.optional_map(place, target, args, false),
            (Some(target), "optFlatMap", 2) => self.optional_map(place, target, args, true),
            (Some(target), "sortBy", 2) => self.sort_by(place, target, args),
            (target, ..) => {
                let call = Call { target: target.map(Box::new), function: name.into(), args };
                return self.node(place, Kind::Call(call), higher);
            }
        };
        match made {
            // The loop is as high as the call was.
            Ok(expr) => expr,
            Err(Wrong(place, message)) => {
                self.issues.report(place, message);
                self.node(place, Kind::Broken, 0)
            }
        }
    }

    fn call(&mut self, place: Place, function: &str, args: Vec<Expr>) -> Expr {
        self.node(place, Kind::Call(Call { target: None, function: function.into(), args }), 0)
    }

    fn method(&mut self, place: Place, target: Expr, function: &str, args: Vec<Expr>) -> Expr {
        let call = Call { target: Some(Box::new(target)), function: function.into(), args };
        self.node(place, Kind::Call(call), 0)
    }

    fn ident(&mut self, place: Place, name: &str) -> Expr {
        self.node(place, Kind::Ident(name.into()), 0)
    }

    fn value(&mut self, place: Place, literal: Literal) -> Expr {
        self.node(place, Kind::Literal(literal), 0)
    }

    fn gathered(&mut self, place: Place) -> Expr {
        self.ident(place, ACCUMULATOR)
    }

    fn presence(&mut self, place: Place, args: Vec<Expr>) -> Made {
        let arg = args.into_iter().next().ok_or_else(|| Wrong(place, String::new()))?;
        match arg.kind {
            Kind::Select(operand, field) => Ok(self.node(place, Kind::Test(operand, field), 1)),
            _ => Err(Wrong(arg.place, "invalid argument to has() macro".to_owned())),
        }
    }

    fn quantifier(&mut self, place: Place, target: Expr, name: &str, mut args: Vec<Expr>) -> Made {
        let test = args.pop().ok_or_else(|| Wrong(place, String::new()))?;
        let variables = variables(&args, NOT_SIMPLE)?;
        let accumulated = self.gathered(place);
        let (start, condition, step, result) = match name {
            "all" => {
                let start = self.value(place, Literal::Bool(true));
                let condition = self.call(place, "@not_strictly_false", vec![accumulated]);
                let accumulated = self.gathered(place);
                let step = self.call(place, "_&&_", vec![accumulated, test]);
                (start, condition, step, self.gathered(place))
            }
            "exists" => {
                let start = self.value(place, Literal::Bool(false));
                let not = self.call(place, "!_", vec![accumulated]);
                let condition = self.call(place, "@not_strictly_false", vec![not]);
                let accumulated = self.gathered(place);
                let step = self.call(place, "_||_", vec![accumulated, test]);
                (start, condition, step, self.gathered(place))
            }
            _ => {
                let start = self.value(place, Literal::Int(0));
                let condition = self.value(place, Literal::Bool(true));
                let one = self.value(place, Literal::Int(1));
                let more = self.call(place, "_+_", vec![accumulated, one]);
                let same = self.gathered(place);
                let step = self.call(place, "_?_:_", vec![test, more, same]);
                let one = self.value(place, Literal::Int(1));
                let accumulated = self.gathered(place);
                let result = self.call(place, "_==_", vec![accumulated, one]);
                (start, condition, step, result)
            }
        };
        Ok(self.fold(place, target, variables, start, condition, step, result))
    }

    fn fold(
        &mut self,
        place: Place,
        range: Expr,
        (variable, second): (Arc<str>, Option<Arc<str>>),
        start: Expr,
        condition: Expr,
        step: Expr,
        result: Expr,
    ) -> Expr {
        let accumulator = ACCUMULATOR.into();
        let fold = Fold { range, variable, second, accumulator, start, condition, step, result };
        self.node(place, Kind::Fold(Box::new(fold)), 1)
    }

    /// A loop that adds to an empty list or map, where a filter lets it.
    fn gather(
        &mut self,
        place: Place,
        target: Expr,
        variables: (Arc<str>, Option<Arc<str>>),
        start: Kind,
        filter: Option<Expr>,
        mut step: Expr,
    ) -> Expr {
        let start = self.node(place, start, 0);
        let condition = self.value(place, Literal::Bool(true));
        if let Some(filter) = filter {
            let same = self.gathered(place);
            step = self.call(place, "_?_:_", vec![filter, step, same]);
        }
        let result = self.gathered(place);
        self.fold(place, target, variables, start, condition, step, result)
    }

    fn added(&mut self, place: Place, element: Expr) -> Expr {
        let accumulated = self.gathered(place);
        let list = self.node(place, Kind::List(vec![(element, false)]), 0);
        self.call(place, "_+_", vec![accumulated, list])
    }

    fn map_macro(&mut self, place: Place, target: Expr, mut args: Vec<Expr>) -> Made {
        let element = args.pop().ok_or_else(|| Wrong(place, String::new()))?;
        let filter = if args.len() > 1 { args.pop() } else { None };
        let variables = variables(&args, NOT_IDENTIFIER)?;
        let step = self.added(place, element);
        Ok(self.gather(place, target, variables, Kind::List(Vec::new()), filter, step))
    }

    fn filter_macro(&mut self, place: Place, target: Expr, mut args: Vec<Expr>) -> Made {
        let filter = args.pop();
        let variables = variables(&args, NOT_IDENTIFIER)?;
        let element = args.pop().ok_or_else(|| Wrong(place, String::new()))?;
        let step = self.added(place, element);
        Ok(self.gather(place, target, variables, Kind::List(Vec::new()), filter, step))
    }

    fn transform(&mut self, place: Place, target: Expr, mut args: Vec<Expr>, build: Build) -> Made {
        let transform = args.pop().ok_or_else(|| Wrong(place, String::new()))?;
        let filter = if args.len() > 2 { args.pop() } else { None };
        let variables = variables(&args, NOT_SIMPLE)?;
        if let Build::List = build {
            let step = self.added(place, transform);
            return Ok(self.gather(place, target, variables, Kind::List(Vec::new()), filter, step));
        }
        let accumulated = self.gathered(place);
        let args = if let Build::Map = build {
            let key = self.ident(place, &variables.0);
            vec![accumulated, key, transform]
        } else {
            vec![accumulated, transform]
        };
        let step = self.call(place, "cel.@mapInsert", args);
        Ok(self.gather(place, target, variables, Kind::Map(Vec::new()), filter, step))
    }

    /// Gives a value a name.
    fn bind(&mut self, place: Place, name: Arc<str>, start: Expr, result: Expr) -> Expr {
        let range = self.node(place, Kind::List(Vec::new()), 0);
        let condition = self.value(place, Literal::Bool(false));
        let step = self.ident(place, &name);
        let fold = Fold {
            range,
            variable: UNUSED.into(),
            second: None,
            accumulator: name,
            start,
            condition,
            step,
            result,
        };
        self.node(place, Kind::Fold(Box::new(fold)), 1)
    }

    fn optional_map(&mut self, place: Place, target: Expr, mut args: Vec<Expr>, flat: bool) -> Made {
        let result = args.pop().ok_or_else(|| Wrong(place, String::new()))?;
        let name = match args.first().map(|arg| (&arg.kind, arg.place)) {
            Some((Kind::Ident(name), _)) => name.clone(),
            other => {
                let name = if flat { "optFlatMap" } else { "optMap" };
                let message = format!("{name}() variable name must be a simple identifier");
                return Err(Wrong(other.and_then(|(_, place)| place), message));
            }
        };
        let again = self.copy(&target);
        let present = self.method(place, target, "hasValue", Vec::new());
        let start = self.method(place, again, "value", Vec::new());
        let mut bound = self.bind(place, name, start, result);
        if !flat {
            bound = self.call(place, "optional.of", vec![bound]);
        }
        let none = self.call(place, "optional.none", Vec::new());
        Ok(self.call(place, "_?_:_", vec![present, bound, none]))
    }

    fn sort_by(&mut self, place: Place, target: Expr, args: Vec<Expr>) -> Made {
        if matches!(target.kind, Kind::Literal(_) | Kind::Map(_) | Kind::Struct(..) | Kind::Broken) {
            let message =
                "sortBy can only be applied to a list, identifier, comprehension, call or select expression";
            return Err(Wrong(target.place, message.to_owned()));
        }
        let sorted = self.ident(place, SORTED);
        let keys = self.map_macro(place, sorted, args)?;
        let list = self.ident(place, SORTED);
        let result = self.method(place, list, "@sortByAssociatedKeys", vec![keys]);
        Ok(self.bind(place, SORTED.into(), target, result))
    }
}

/// What `transform…` makes.
#[derive(Clone, Copy)]
enum Build {
    List,
    Map,
    Entry,
}

/// The loop variables that the first arguments name.
fn variables(args: &[Expr], problem: &str) -> Result<(Arc<str>, Option<Arc<str>>), Wrong> {
    let mut names = Vec::new();
    for arg in args {
        match &arg.kind {
            Kind::Ident(name) => names.push((name.clone(), arg.place)),
            _ => return Err(Wrong(arg.place, problem.to_owned())),
        }
    }
    let [(first, _), rest @ ..] = names.as_slice() else { return Err(Wrong(None, problem.to_owned())) };
    if let [(second, place)] = rest
        && first == second
    {
        return Err(Wrong(*place, format!("duplicate variable name: {first}")));
    }
    for (name, place) in &names {
        if [ACCUMULATOR, OLD_ACCUMULATOR].contains(&&**name) {
            return Err(Wrong(*place, OVERWRITES.to_owned()));
        }
    }
    Ok((first.clone(), rest.first().map(|(second, _)| second.clone())))
}
