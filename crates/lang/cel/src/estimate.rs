//! What an expression costs at most, before it runs: by the sizes that schemas allow.

use std::collections::HashMap;
use std::sync::Arc;

use crate::ast::{ACCUMULATOR, Call, Expr, Fold, Id, Kind, Literal};
use crate::checker::Checked;
use crate::cost::{CHARACTER, CHECK, PATTERN};
use crate::environment::Environment;
use crate::types::Type;

/// The least and the most of a cost or a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Range {
    /// The least.
    pub least: u64,
    /// The most.
    pub most: u64,
}

/// Nothing is known.
const UNKNOWN: Range = Range { least: 0, most: u64::MAX };
const ONE: Range = Range::exactly(1);

fn factored(number: u64, factor: f64) -> u64 {
    let product = (number as f64 * factor).ceil();
    if product >= 18_446_744_073_709_551_615.0 { u64::MAX } else { product as u64 }
}

impl Range {
    const fn exactly(number: u64) -> Self {
        Self { least: number, most: number }
    }

    fn plus(self, other: Self) -> Self {
        Self { least: self.least.saturating_add(other.least), most: self.most.saturating_add(other.most) }
    }

    fn times(self, other: Self) -> Self {
        Self { least: self.least.saturating_mul(other.least), most: self.most.saturating_mul(other.most) }
    }

    fn by(self, factor: f64) -> Self {
        Self { least: factored(self.least, factor), most: factored(self.most, factor) }
    }

    fn union(self, other: Self) -> Self {
        Self { least: self.least.min(other.least), most: self.most.max(other.most) }
    }
}

/// The sizes of the elements or entries of a list or map.
#[derive(Debug, Clone, Copy)]
struct Parts {
    list: bool,
    key: Range,
    value: Range,
}

impl Parts {
    fn union(self, other: Self) -> Self {
        Self { list: self.list, key: self.key.union(other.key), value: self.value.union(other.value) }
    }
}

type Path = Vec<Arc<str>>;

/// A variable of a loop.
struct Local {
    path: Path,
    size: Option<Range>,
    parts: Option<Parts>,
}

/// What is known of a node.
struct Node<'e> {
    expr: &'e Expr,
    path: Path,
    size: Option<Range>,
}

struct Estimator<'c> {
    checked: &'c Checked,
    environment: &'c Environment,
    paths: HashMap<Id, Path>,
    locals: HashMap<Arc<str>, Vec<Local>>,
    sizes: HashMap<Id, Range>,
    parts: HashMap<Id, Parts>,
}

/// Estimates the cost of an expression.
pub fn estimate(checked: &Checked, environment: &Environment) -> Range {
    let mut estimator = Estimator {
        checked,
        environment,
        paths: HashMap::new(),
        locals: HashMap::new(),
        sizes: HashMap::new(),
        parts: HashMap::new(),
    };
    estimator.cost(&checked.tree)
}

impl<'c> Estimator<'c> {
    fn cost(&mut self, expr: &'c Expr) -> Range {
        match &expr.kind {
            Kind::Broken | Kind::Literal(_) | Kind::Struct(..) => Range::default(),
            Kind::Ident(name) => {
                let path = self.local(name).map_or_else(|| vec![name.clone()], |local| local.path.clone());
                self.paths.insert(expr.id, path);
                ONE
            }
            Kind::Select(operand, field) => {
                let mut cost = self.cost(operand);
                if matches!(self.checked.type_of(operand), Type::Map(_) | Type::Object(_) | Type::Param(_)) {
                    cost = cost.plus(ONE);
                }
                self.set_path(expr, operand, field);
                cost
            }
            Kind::Test(operand, _) => self.cost(operand),
            Kind::Call(call) => self.call(expr, call),
            Kind::List(elements) => {
                let mut cost = Range::exactly(crate::cost::LIST);
                let mut value = Range { least: if elements.is_empty() { 0 } else { u64::MAX }, most: 0 };
                for (element, _) in elements {
                    cost = cost.plus(self.cost(element));
                    value = value.union(self.size_or_unknown(element));
                }
                self.parts.insert(expr.id, Parts { list: true, key: ONE, value });
                cost
            }
            Kind::Map(entries) => {
                let mut cost = Range::exactly(crate::cost::MAP);
                let empty = Range { least: if entries.is_empty() { 0 } else { u64::MAX }, most: 0 };
                let (mut key, mut value) = (empty, empty);
                for entry in entries {
                    cost = cost.plus(self.cost(&entry.key)).plus(self.cost(&entry.value));
                    key = key.union(self.size_or_unknown(&entry.key));
                    value = value.union(self.size_or_unknown(&entry.value));
                }
                self.parts.insert(expr.id, Parts { list: false, key, value });
                cost
            }
            Kind::Fold(fold) => self.fold(expr, fold),
        }
    }

    // What is known of nodes.

    fn local(&self, name: &str) -> Option<&Local> {
        self.locals.get(name).and_then(|stack| stack.last())
    }

    fn path(&self, expr: &Expr) -> Path {
        if let Kind::Ident(name) = &expr.kind
            && let Some(local) = self.local(name)
        {
            return local.path.clone();
        }
        self.paths.get(&expr.id).cloned().unwrap_or_default()
    }

    fn set_path(&mut self, expr: &Expr, operand: &Expr, step: &str) {
        let mut path = self.path(operand);
        path.push(step.into());
        self.paths.insert(expr.id, path);
    }

    fn node<'e>(&mut self, expr: &'e Expr) -> Node<'e> {
        let mut path = self.path(expr);
        if path.first().is_some_and(|first| [ACCUMULATOR, "__result__"].contains(&&**first)) {
            path.clear();
        }
        let size = self.size(expr);
        Node { expr, path, size }
    }

    /// The bound of the schema.
    fn bound(&self, path: &[Arc<str>]) -> Option<Range> {
        let (_, rest) = path.split_first()?;
        // As the server does, every variable is taken for the first one.
        let (_, shape) = self.environment.shapes().first()?;
        shape.declared.most_at(rest).map(|most| Range { least: 0, most })
    }

    fn size(&mut self, expr: &Expr) -> Option<Range> {
        if let Some(known) = self.sizes.get(&expr.id) {
            return Some(*known);
        }
        let written = match &expr.kind {
            Kind::Literal(Literal::String(text)) => Some(text.chars().count()),
            Kind::Literal(Literal::Bytes(bytes)) => Some(bytes.len()),
            Kind::Literal(_) => Some(1),
            Kind::List(elements) => Some(elements.len()),
            Kind::Map(entries) => Some(entries.len()),
            _ => None,
        };
        if let Some(size) = written {
            return Some(Range::exactly(size as u64));
        }
        if let Some(bound) = self.bound(&self.path(expr)) {
            self.sizes.insert(expr.id, bound);
            return Some(bound);
        }
        if is_scalar(self.checked.type_of(expr)) {
            return Some(ONE);
        }
        match &expr.kind {
            Kind::Ident(name) => self.local(name).and_then(|local| local.size),
            _ => None,
        }
    }

    fn size_or_unknown(&mut self, expr: &Expr) -> Range {
        self.size(expr).unwrap_or(UNKNOWN)
    }

    fn parts_of(&self, expr: &Expr) -> Option<Parts> {
        if let Some(known) = self.parts.get(&expr.id) {
            return Some(*known);
        }
        match &expr.kind {
            Kind::Ident(name) => self.local(name).and_then(|local| local.parts),
            _ => None,
        }
    }

    fn set_size(&mut self, expr: &Expr, size: Option<Range>) {
        if let Some(size) = size {
            self.sizes.insert(expr.id, size);
        }
    }

    fn set_parts(&mut self, expr: &Expr, parts: Option<Parts>) {
        if let Some(parts) = parts {
            self.parts.insert(expr.id, parts);
        }
    }

    // Loops.

    fn push(&mut self, name: &Arc<str>, local: Local) {
        self.locals.entry(name.clone()).or_default().push(local);
    }

    fn pop(&mut self, name: &str) {
        self.locals.get_mut(name).map(Vec::pop);
    }

    fn push_value(&mut self, name: &Arc<str>, expr: &Expr) {
        let local = Local { path: self.path(expr), size: self.size(expr), parts: self.parts_of(expr) };
        self.push(name, local);
    }

    /// A loop variable: the keys or the values of the range.
    fn push_variable(&mut self, name: &Arc<str>, range: &Expr, keys: Option<bool>) {
        let parts = self.parts_of(range);
        let list = parts.map_or(matches!(self.checked.type_of(range), Type::List(_)), |parts| parts.list);
        let keys = keys.unwrap_or(!list);
        let step = match (list, keys) {
            (true, true) => "@indices",
            (true, false) => "@items",
            (false, true) => "@keys",
            (false, false) => "@values",
        };
        let mut path = self.path(range);
        path.push(step.into());
        let size = parts.map(|parts| if keys { parts.key } else { parts.value });
        self.push(name, Local { path, size, parts: None });
    }

    fn fold(&mut self, expr: &'c Expr, fold: &'c Fold) -> Range {
        let mut cost = self.cost(&fold.range).plus(self.cost(&fold.start));
        self.push_value(&fold.accumulator, &fold.start);
        let bind = matches!(&fold.range.kind, Kind::List(elements) if elements.is_empty())
            && matches!(fold.condition.kind, Kind::Literal(Literal::Bool(false)));
        if bind {
            cost = cost.plus(self.cost(&fold.result));
            self.pop(&fold.accumulator);
            let size = self.size(&fold.result);
            self.set_size(expr, size);
            self.set_parts(expr, self.parts_of(&fold.result));
            return cost;
        }
        match &fold.second {
            Some(second) => {
                self.push_variable(&fold.variable, &fold.range, Some(true));
                self.push_variable(second, &fold.range, Some(false));
            }
            None => self.push_variable(&fold.variable, &fold.range, None),
        }
        let condition = self.cost(&fold.condition);
        let step = self.cost(&fold.step);
        self.pop(&fold.variable);
        if let Some(second) = &fold.second {
            self.pop(second);
        }
        cost = cost.plus(self.cost(&fold.result));
        self.pop(&fold.accumulator);
        let rounds = self.size_or_unknown(&fold.range);
        cost = cost.plus(rounds.times(step.plus(condition)));
        match fold.start.kind {
            Kind::Literal(_) => {
                let size = self.size(&fold.start);
                self.set_size(expr, size);
            }
            Kind::List(_) | Kind::Map(_) => {
                self.set_size(expr, Some(rounds));
                self.set_parts(expr, self.parts_of(&fold.step));
            }
            _ => {}
        }
        cost
    }

    // Calls.

    fn call(&mut self, expr: &'c Expr, call: &'c Call) -> Range {
        if let ("dyn", [arg]) = (&*call.function, call.args.as_slice()) {
            let cost = self.cost(arg).plus(ONE);
            let size = self.size(arg);
            self.set_size(expr, size);
            self.set_parts(expr, self.parts_of(arg));
            return cost;
        }
        let mut costs = Vec::new();
        let mut args = Vec::new();
        for arg in &call.args {
            costs.push(self.cost(arg));
            args.push(self.node(arg));
        }
        let checked = self.checked;
        let overloads = checked.overloads(expr);
        if overloads.is_empty() {
            return Range::default();
        }
        let mut sum = Range::default();
        let target = call.target.as_deref().map(|target| {
            sum = self.cost(target);
            self.node(target)
        });
        let mut cost = Range { least: u64::MAX, most: 0 };
        let mut result: Option<Range> = None;
        for overload in overloads {
            let (one, size) = self.overload(expr, &call.function, overload, target.as_ref(), &args, &costs);
            cost = cost.union(one);
            if let Some(size) = size {
                result = Some(result.map_or(size, |known| known.union(size)));
            }
            if let ("index_list" | "index_map", Some(first)) = (&**overload, call.args.first()) {
                result = self.parts_of(first).map(|parts| parts.value);
                let step = if &**overload == "index_list" { "@items" } else { "@values" };
                self.set_path(expr, first, step);
            }
            if result.is_none() {
                result = self.size(expr);
            }
        }
        self.set_size(expr, result);
        sum.plus(cost)
    }

    /// The cost of an overload with its arguments, and the size of the result if it is known.
    fn overload(
        &mut self,
        expr: &Expr,
        function: &str,
        overload: &str,
        target: Option<&Node<'_>>,
        args: &[Node<'_>],
        costs: &[Range],
    ) -> (Range, Option<Range>) {
        let sum = costs.iter().fold(Range::default(), |sum, cost| sum.plus(*cost));
        if let Some((cost, size)) = self.of_extension(overload, target, args) {
            return (cost.plus(sum), size);
        }
        if let Some((cost, size)) = self.of_function(function, overload, target, args) {
            return (cost.plus(sum), size);
        }
        let known = |node: &Node<'_>| node.size.unwrap_or(UNKNOWN);
        let (cost, size) = match (overload, target, args) {
            ("string_format", Some(target), _) => (known(target).by(CHARACTER), None),
            ("string_to_bytes", _, [arg]) => {
                let size = known(arg);
                (size.by(CHARACTER), Some(Range { least: size.least, most: size.most.wrapping_mul(4) }))
            }
            ("bytes_to_string", _, [arg]) => {
                let size = known(arg);
                (size.by(CHARACTER), Some(Range { least: size.least / 4, most: size.most }))
            }
            ("strings_quote", _, [arg]) => {
                let size = known(arg);
                let quoted = Range {
                    least: size.least.wrapping_add(2),
                    most: size.most.wrapping_mul(2).wrapping_add(2),
                };
                (size.by(CHARACTER), Some(quoted))
            }
            ("starts_with_string" | "ends_with_string", _, [arg]) => (known(arg).by(CHARACTER), None),
            ("in_list", _, [_, list]) => (known(list).by(1.0), None),
            ("matches_string", Some(target), [pattern]) => {
                let text = known(target).plus(ONE).by(CHARACTER);
                (text.times(known(pattern).by(PATTERN)), None)
            }
            ("contains_string", Some(target), [part]) => {
                (known(target).by(CHARACTER).times(known(part).by(CHARACTER)), None)
            }
            ("logical_or" | "logical_and", ..) => match costs {
                [one, two] => return (Range { least: one.least, most: one.plus(*two).most }, None),
                _ => (ONE, None),
            },
            ("conditional", _, [_, one, two]) => {
                let size = known(one).union(known(two));
                let parts = self.parts_of(one.expr).zip(self.parts_of(two.expr)).map(|(a, b)| a.union(b));
                self.set_parts(expr, parts);
                return match costs {
                    [test, one, two] => (test.plus(one.union(*two)), Some(size)),
                    _ => (sum, Some(size)),
                };
            }
            ("add_string" | "add_bytes" | "add_list", _, [one, two]) => {
                let size = known(one).plus(known(two));
                let parts = self.parts_of(one.expr).zip(self.parts_of(two.expr)).map(|(a, b)| a.union(b));
                self.set_parts(expr, parts);
                (if overload == "add_list" { ONE } else { size.by(CHARACTER) }, Some(size))
            }
            (
                "less_string"
                | "greater_string"
                | "less_equals_string"
                | "greater_equals_string"
                | "less_bytes"
                | "greater_bytes"
                | "less_equals_bytes"
                | "greater_equals_bytes"
                | "equals"
                | "not_equals",
                _,
                [one, two],
            ) => {
                let most = known(one).most.min(known(two).most);
                (Range { least: u64::from(most > 0), most }.by(CHARACTER), None)
            }
            _ => (ONE, None),
        };
        (cost.plus(sum), size)
    }

    fn size_of(&self, node: &Node<'_>) -> Range {
        node.size.or_else(|| self.bound(&node.path)).unwrap_or(UNKNOWN)
    }

    /// The functions of lists and sets.
    fn of_extension(
        &self,
        overload: &str,
        target: Option<&Node<'_>>,
        args: &[Node<'_>],
    ) -> Option<(Range, Option<Range>)> {
        let allocating = |factor: f64, size: Range| {
            (size.by(factor).plus(ONE).plus(Range::exactly(crate::cost::LIST)), Some(size))
        };
        let int = |node: &Node<'_>, default: u64| match &node.expr.kind {
            Kind::Literal(Literal::Int(int)) => u64::try_from(*int).unwrap_or(0),
            _ => default,
        };
        let squared = |node: &Node<'_>, texts: bool| {
            let size = self.size_of(node);
            allocating(if texts { 2.0 + CHARACTER } else { 2.0 }, size.times(size))
        };
        let texts = overload.starts_with("list_string_") || overload.starts_with("list_bytes_");
        Some(match (overload, target, args) {
            ("list_slice", Some(list), [start, end]) => {
                let end = int(end, self.size_of(list).most);
                allocating(1.0, Range::exactly(end.wrapping_sub(int(start, 0))))
            }
            ("lists_range", None, [count]) => allocating(1.0, Range::exactly(int(count, u64::MAX))),
            ("list_reverse", Some(list), []) => allocating(1.0, self.size_of(list)),
            ("list_flatten", Some(list), []) => allocating(1.0, self.size_of(list)),
            ("list_flatten_int", Some(list), [depth]) => {
                allocating(int(depth, u64::MAX) as f64, self.size_of(list))
            }
            ("list_distinct", Some(list), []) => squared(list, false),
            (_, Some(list), []) if overload.ends_with("_sort") => squared(list, texts),
            (_, Some(_), [keys]) if overload.ends_with("_sortByAssociatedKeys") => squared(keys, texts),
            ("list_sets_contains_list" | "list_sets_intersects_list", _, [one, two]) => {
                (self.size_of(one).times(self.size_of(two)).by(1.0).plus(ONE), None)
            }
            ("list_sets_equivalent_list", _, [one, two]) => {
                (self.size_of(one).times(self.size_of(two)).by(2.0).plus(ONE), None)
            }
            _ => return None,
        })
    }

    /// The elements of a list: their type and size.
    fn elements(&self, list: &Node<'_>) -> Option<(Type, Range)> {
        let t = match self.checked.type_of(list.expr) {
            Type::List(element) => (**element).clone(),
            Type::Map(types) => types.0.clone(),
            Type::Opaque(_, params) => params.first()?.clone(),
            Type::Type(Some(inner)) => (**inner).clone(),
            _ => return None,
        };
        let mut path = list.path.clone();
        path.push("@items".into());
        let size = if list.path.is_empty() { None } else { self.bound(&path) };
        Some((t, size.unwrap_or(UNKNOWN)))
    }

    /// The functions that Kubernetes adds.
    fn of_function(
        &self,
        function: &str,
        overload: &str,
        target: Option<&Node<'_>>,
        args: &[Node<'_>],
    ) -> Option<(Range, Option<Range>)> {
        let size = |node: &Node<'_>| self.size_of(node);
        let address = Range { least: 4, most: 16 };
        Some(match (function, target, args) {
            ("check", ..) => (Range::exactly(CHECK), None),
            (
                "serviceAccount"
                | "path"
                | "group"
                | "resource"
                | "subresource"
                | "namespace"
                | "name"
                | "allowed"
                | "reason"
                | "error"
                | "errored"
                | "masked"
                | "prefixLength"
                | "family"
                | "isUnspecified"
                | "isLoopback"
                | "isLinkLocalMulticast"
                | "isLinkLocalUnicast"
                | "isGlobalUnicast"
                | "format.named"
                | "sign"
                | "asInteger"
                | "isInteger"
                | "asApproximateFloat"
                | "isGreaterThan"
                | "isLessThan"
                | "compareTo"
                | "add"
                | "sub"
                | "major"
                | "minor"
                | "patch"
                | "getScheme"
                | "getHostname"
                | "getHost"
                | "getPort"
                | "getEscapedPath"
                | "getQuery",
                ..,
            ) => (ONE, None),
            ("isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf", Some(list), _) => {
                match self.elements(list) {
                    Some((t, element)) => {
                        let texts = matches!(t, Type::String | Type::Bytes);
                        let each = if texts { ONE.plus(element.by(CHARACTER)) } else { ONE };
                        (size(list).times(each), None)
                    }
                    None => (size(list).by(CHARACTER), None),
                }
            }
            ("url", _, [arg]) => (size(arg).by(CHARACTER), Some(size(arg))),
            ("lowerAscii" | "upperAscii" | "substring" | "trim", Some(text), _) => {
                (size(text).by(CHARACTER), Some(size(text)))
            }
            ("replace", Some(text), [old, new, ..]) => {
                (size(text).by(2.0 * CHARACTER), Some(replaced(size(text), size(old), size(new))))
            }
            ("split", Some(text), _) => {
                let most = match args.get(1).map(|arg| &arg.expr.kind) {
                    Some(Kind::Literal(Literal::Int(int))) => *int as u64,
                    _ => size(text).most,
                };
                (size(text).by(2.0 * CHARACTER), Some(Range { least: 0, most }))
            }
            ("join", Some(list), _) => {
                let count = size(list);
                let mut result =
                    self.elements(list).map_or(Range::default(), |(_, element)| count.times(element));
                if let Some(separator) = args.first() {
                    let between =
                        Range { least: count.least.saturating_sub(1), most: count.most.saturating_sub(1) };
                    result = result.plus(size(separator).times(between));
                }
                (result.by(CHARACTER), Some(result))
            }
            ("find" | "findAll", Some(text), [pattern, ..]) => {
                let cost = size(text).plus(ONE).by(CHARACTER).times(size(pattern).by(PATTERN));
                (cost, Some(Range { least: 0, most: size(text).most }))
            }
            ("ip", ..) if overload == "cidr_ip" => (ONE, None),
            (
                "cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" | "semver" | "isSemver",
                _,
                [arg, ..],
            ) => (size(arg).by(CHARACTER), None),
            ("ip.isCanonical", _, [arg, ..]) => (size(arg).by(2.0 * CHARACTER), None),
            ("containsIP", _, [arg, ..]) => {
                let mut cost = address.plus(address).by(CHARACTER);
                if overload == "cidr_contains_ip_string" {
                    cost = cost.plus(size(arg).by(CHARACTER));
                }
                (cost, None)
            }
            ("containsCIDR", _, [arg, ..]) => {
                let mut cost = address.plus(address).by(CHARACTER).plus(address.by(CHARACTER)).plus(ONE);
                if overload == "cidr_contains_cidr_string" {
                    cost = cost.plus(size(arg).by(CHARACTER));
                }
                (cost, None)
            }
            ("validate", _, [arg, ..]) => (size(arg).by(CHARACTER).by(128.0 * PATTERN), None),
            ("_==_", _, [one, two]) if self.checked.type_of(one.expr) == self.checked.type_of(two.expr) => {
                let most = |most: u64| (Range { least: 1, most }.by(CHARACTER), None);
                match self.checked.type_of(one.expr).runtime_name() {
                    "net.IP" | "net.CIDR" => (ONE, None),
                    "kubernetes.NamedFormat" => most(64),
                    "kubernetes.URL" => most(two.size.map_or(1, |size| size.most)),
                    name if name.starts_with("kubernetes.") => (ONE, None),
                    _ => return None,
                }
            }
            _ => return None,
        })
    }
}

/// The size of a text after replacements: as long as possible, and as short.
fn replaced(text: Range, old: Range, new: Range) -> Range {
    let ratio = |text: u64, old: u64| (text as f64 / old as f64).ceil() as u64;
    let (count_most, kept_most) = if old.least == 0 {
        (text.most.saturating_add(1), text.most)
    } else if new.most <= old.least {
        (0, text.most)
    } else {
        (ratio(text.most, old.least), 0)
    };
    let (count_least, kept_least) = if old.most == 0 {
        (text.least.saturating_add(1), text.least)
    } else if old.most <= new.least {
        (0, text.least)
    } else {
        (ratio(text.least, old.most), 0)
    };
    let count = Range { least: count_least, most: count_most };
    count.times(new).plus(Range { least: kept_least, most: kept_most })
}

fn is_scalar(t: &Type) -> bool {
    match t {
        Type::Bool | Type::Double | Type::Duration | Type::Int | Type::Timestamp | Type::Uint => true,
        other => other.unwrapped().is_some_and(is_scalar),
    }
}
