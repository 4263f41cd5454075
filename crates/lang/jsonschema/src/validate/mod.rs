//! Values checked against compiled schemas.
//!
//! Rules are checked in the order of the original, because its texts show it; where the original follows the random
//! order of a Go map, we go by key.

mod array;
mod equal;
mod logic;
mod object;
mod scope;
mod uneval;

use std::cell::Cell;

use podium_goyaml::{Node, Value};

use crate::decimal::Decimal;
use crate::document::{Document, Json};
use crate::failure::{Failure, Kind, ValidationError};
use crate::meta::Dialects;
use crate::schema::{Arena, Schema, SchemaId, Types};
use scope::{Path, Scope, Token};
use uneval::Uneval;

/// Schemas within schemas within values that are followed. It bounds the stack.
const MAX_DEPTH: u32 = 400;
/// Schemas that are tried in one run. It bounds the time.
const MAX_STEPS: u64 = 10_000_000;

/// Runs checks against one set of schemas.
pub(crate) struct Validator<'a> {
    rules: Rules<'a>,
    steps: Cell<u64>,
    /// Why it was given up.
    aborted: Cell<Option<&'static str>>,
}

/// Where the schemas come from.
enum Rules<'a> {
    Compiled(&'a Arena),
    /// The value is itself a schema and checked against metaschemas.
    Meta(Schemas<'a>),
}

/// What is known while the value is itself a schema.
struct Schemas<'a> {
    dialects: &'a Dialects<'a>,
    /// The document of the value, which knows how numbers were written.
    doc: &'a Document,
    root: SchemaId,
}

/// One value under one schema.
struct Check<'v, 's> {
    node: &'v Node,
    path: Path<'s>,
    schema: SchemaId,
    scope: &'s Scope<'s>,
    uneval: Uneval<'v>,
    errors: Vec<Failure>,
    /// Only whether it fails is of interest.
    silent: bool,
    /// The metaschema that counts here, while the value is a schema.
    meta: Option<SchemaId>,
}

/// A failure is boxed so that the stack of a deep check stays small.
type Outcome = Result<(), Box<Failure>>;

impl<'a> Validator<'a> {
    pub fn new(arena: &'a Arena) -> Self {
        Self { rules: Rules::Compiled(arena), steps: Cell::new(0), aborted: Cell::new(None) }
    }

    /// For a value that is a schema.
    pub fn of_schemas(dialects: &'a Dialects<'a>, doc: &'a Document, root: SchemaId) -> Self {
        let rules = Rules::Meta(Schemas { dialects, doc, root });
        Self { rules, steps: Cell::new(0), aborted: Cell::new(None) }
    }

    /// What is known while the value is itself a schema.
    fn schemas(&self) -> Option<&Schemas<'a>> {
        match &self.rules {
            Rules::Compiled(_) => None,
            Rules::Meta(schemas) => Some(schemas),
        }
    }

    /// Checks a value.
    pub fn run(&self, schema: SchemaId, node: &Node) -> Result<(), ValidationError> {
        let meta = self.schemas().map(|s| s.root);
        let result = self.start(schema, node, meta, 0);
        let location = self.schema(schema).map_or("", |s| &s.location);
        let causes = match (self.aborted.get(), result) {
            (Some(_), _) => Vec::new(),
            (None, Err(causes)) => causes,
            (None, Ok(())) => return Ok(()),
        };
        Err(ValidationError { schema: location.into(), causes, aborted: self.aborted.get() })
    }

    /// Checks a value that has no way to it: the whole one, or the name of a property.
    fn start(
        &self,
        schema: SchemaId,
        node: &Node,
        meta: Option<SchemaId>,
        depth: u32,
    ) -> Result<(), Vec<Failure>> {
        let scope = Scope { schema, keyword: None, value: 0, depth, parent: None };
        let mut check = Check {
            node,
            path: Path::root(),
            schema,
            scope: &scope,
            uneval: Uneval::new(node, self.schema(schema), false),
            errors: Vec::new(),
            silent: false,
            meta,
        };
        self.check(&mut check).map_err(|failure| match *failure {
            Failure { kind: Kind::Group, causes, .. } => causes,
            failure => vec![failure],
        })
    }

    fn schema(&self, id: SchemaId) -> Option<&'a Schema> {
        match &self.rules {
            Rules::Compiled(arena) => arena.schemas.get(id),
            Rules::Meta(schemas) => schemas.dialects.get(id),
        }
    }

    /// The number that a value is.
    fn number(&self, node: &Node) -> Option<Decimal> {
        match self.schemas() {
            None => Decimal::of(&node.value),
            Some(schemas) => match schemas.doc.view(node) {
                Json::Number(text) => Decimal::parse(text),
                _ => None,
            },
        }
    }

    /// The type of a value; nothing for a number that JSON has not.
    fn type_of(&self, node: &Node) -> Option<Types> {
        match self.schemas() {
            Some(schemas) if matches!(schemas.doc.view(node), Json::Number(_)) => Some(Types::NUMBER),
            _ => Types::of(&node.value),
        }
    }

    /// Whether to stop, because the schema or the value is built to take forever.
    fn is_over(&self, depth: u32) -> bool {
        self.steps.set(self.steps.get() + 1);
        if depth > MAX_DEPTH {
            self.aborted.set(Some("schema and value nest too deeply"));
        } else if self.steps.get() > MAX_STEPS {
            self.aborted.set(Some("schema takes too many steps"));
        }
        self.aborted.get().is_some()
    }

    /// Checks a value against a schema; what nobody has looked at stays in the check.
    fn check(&self, check: &mut Check<'_, '_>) -> Outcome {
        let Some(schema) = self.schema(check.schema).filter(|_| !self.is_over(check.scope.depth)) else {
            return Err(check.failure(Kind::Silent));
        };
        if let Some(settled) = self.settle(schema, check) {
            return settled;
        }
        if let Some(target) = schema.reference {
            let result = self.follow(check, target, "$ref");
            if schema.version < 2019 {
                return result;
            }
            check.add(result);
        }
        self.check_contents(schema, check);
        if check.errors.is_empty() || !check.silent {
            if schema.version >= 2019 {
                self.check_later_references(schema, check);
            }
            if let Some(rules) = &schema.logic {
                self.check_logic(rules, check);
            }
            if schema.version >= 2019 {
                self.check_unevaluated(schema, check);
            }
        }
        check.outcome()
    }

    /// What can be said before any other schema is asked.
    #[inline(never)]
    fn settle(&self, schema: &Schema, check: &Check<'_, '_>) -> Option<Outcome> {
        let kind = match schema.boolean {
            Some(true) => return Some(Ok(())),
            Some(false) => Kind::FalseSchema,
            None => match check.scope.cycle() {
                Some(before) => {
                    let (first, second) = (self.keywords(check.scope), self.keywords(before));
                    Kind::Cycle { url: schema.location.clone(), first, second }
                }
                None => self.check_value(schema, check.node).err()?,
            },
        };
        Some(Err(check.failure(kind)))
    }

    /// The rules that end the matter when they are broken.
    fn check_value(&self, schema: &Schema, node: &Node) -> Result<(), Kind> {
        let types = self.type_of(node).ok_or(Kind::InvalidValue("float64"))?;
        if !schema.types.is_empty() && !schema.types.contains(types) {
            let whole = || self.number(node).is_some_and(|n| n.is_integer());
            if !(schema.types.contains(Types::INTEGER) && types == Types::NUMBER && whole()) {
                let got = types.names().first().copied().unwrap_or_default();
                return Err(Kind::Type { got, want: schema.types.names() });
            }
        }
        if let Some(constant) = &schema.constant
            && !constant.equals(&node.value)
        {
            return Err(Kind::Const(constant.shown()));
        }
        if let Some(values) = &schema.values
            && !values.iter().any(|value| value.types() == types && value.equals(&node.value))
        {
            return Err(Kind::Enum(values.iter().map(|value| value.shown()).collect()));
        }
        if let (Some(format), Value::String(text)) = (&schema.format, &node.value) {
            let got = text.clone();
            format.check(text).map_err(|reason| Kind::Format { got, want: format.name, reason })?;
        }
        Ok(())
    }

    #[inline(never)]
    fn check_contents(&self, schema: &Schema, check: &mut Check<'_, '_>) {
        match &check.node.value {
            Value::Map(map) => {
                if let Some(rules) = &schema.object {
                    self.check_object(schema.version, rules, map, check);
                }
            }
            Value::List(list) => {
                if let Some(rules) = &schema.array {
                    self.check_array(schema.version, rules, list, check);
                }
            }
            Value::String(text) => self.check_string(schema, text, check),
            _ => self.check_number(schema, check),
        }
    }

    fn check_string(&self, schema: &Schema, text: &str, check: &mut Check<'_, '_>) {
        let Some(rules) = &schema.string else { return };
        if rules.min.is_some() || rules.max.is_some() {
            let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
            check.bound("minLength", rules.min, length, length < rules.min.unwrap_or(length));
            check.bound("maxLength", rules.max, length, length > rules.max.unwrap_or(length));
        }
        if let Some(pattern) = &rules.pattern
            && !pattern.is_match(text)
        {
            let want = String::from_utf8_lossy(pattern.pattern()).into();
            check.fail(Kind::Pattern { got: text.into(), want });
        }
    }

    fn check_number(&self, schema: &Schema, check: &mut Check<'_, '_>) {
        let Some(rules) = &schema.number else { return };
        let Some(number) = self.number(check.node) else { return };
        let mut bound = |keyword, want: &Option<Decimal>, broken: fn(&Decimal, &Decimal) -> bool| {
            if let Some(want) = want
                && broken(&number, want)
            {
                check.fail(Kind::Bound(keyword, number.clone(), want.clone()));
            }
        };
        bound("minimum", &rules.min, |n, want| n < want);
        bound("maximum", &rules.max, |n, want| n > want);
        bound("exclusiveMinimum", &rules.above, |n, want| n <= want);
        bound("exclusiveMaximum", &rules.below, |n, want| n >= want);
        if let Some(divisor) = &rules.multiple_of
            && !divisor.divides(&number)
        {
            if divisor.value.is_zero() {
                self.aborted.set(Some("division by zero"));
            }
            check.fail(Kind::Bound("multipleOf", number, divisor.value.clone()));
        }
    }

    /// Checks the same value against another schema.
    #[inline(never)]
    fn same(
        &self,
        check: &mut Check<'_, '_>,
        schema: SchemaId,
        keyword: Option<&'static str>,
        silent: bool,
    ) -> Outcome {
        let (value, depth) = (check.scope.value, check.scope.depth + 1);
        let scope = Scope { schema, keyword, value, depth, parent: Some(check.scope) };
        let uneval = Uneval::new(check.node, self.schema(schema), !check.uneval.is_empty());
        let (schema, meta) = self.own_metaschema(schema, check.meta, &check.path);
        let (node, path, silent) = (check.node, check.path, check.silent || silent);
        let mut inner = Check { node, path, schema, scope: &scope, uneval, errors: Vec::new(), silent, meta };
        self.check(&mut inner)?;
        check.uneval.keep(&inner.uneval);
        Ok(())
    }

    /// Checks a value inside the value.
    #[inline(never)]
    fn inside(&self, check: &Check<'_, '_>, schema: SchemaId, node: &Node, token: Token<'_>) -> Outcome {
        let (value, depth) = (check.scope.value + 1, check.scope.depth + 1);
        let scope = Scope { schema, keyword: None, value, depth, parent: Some(check.scope) };
        let path = check.path.join(token);
        let uneval = Uneval::new(node, self.schema(schema), false);
        let (schema, meta) = self.own_metaschema(schema, check.meta, &path);
        let silent = check.silent;
        self.check(&mut Check { node, path, schema, scope: &scope, uneval, errors: Vec::new(), silent, meta })
    }

    /// A resource within a schema has a metaschema of its own.
    fn own_metaschema(
        &self,
        schema: SchemaId,
        meta: Option<SchemaId>,
        path: &Path<'_>,
    ) -> (SchemaId, Option<SchemaId>) {
        let Some(schemas) = self.schemas().filter(|_| meta == Some(schema)) else {
            return (schema, meta);
        };
        match schemas.dialects.at(&path.pointer()) {
            Some(own) => (own, Some(own)),
            None => (schema, meta),
        }
    }

    /// The keywords on the way to a scope.
    fn keywords(&self, scope: &Scope<'_>) -> String {
        let location = |id| self.schema(id).map_or("", |s| &s.location);
        let mut parts = Vec::new();
        let mut next = Some(scope);
        while let Some(scope) = next {
            if let Some(parent) = scope.parent {
                parts.push(match scope.keyword {
                    Some(keyword) => format!("/{keyword}"),
                    None => {
                        let below = location(scope.schema).get(location(parent.schema).len()..);
                        below.unwrap_or_default().to_owned()
                    }
                });
            }
            next = scope.parent;
        }
        parts.reverse();
        parts.concat()
    }
}

impl Check<'_, '_> {
    fn failure(&self, kind: Kind) -> Box<Failure> {
        Box::new(match self.silent {
            true => Failure { at: Vec::new(), kind: Kind::Silent, causes: Vec::new() },
            false => Failure { at: self.path.tokens(), kind, causes: Vec::new() },
        })
    }

    fn fail(&mut self, kind: Kind) {
        self.fail_because(kind, Vec::new());
    }

    fn fail_because(&mut self, kind: Kind, causes: Vec<Failure>) {
        let mut failure = self.failure(kind);
        failure.causes = causes;
        self.errors.push(*failure);
    }

    fn add(&mut self, result: Outcome) {
        self.errors.extend(result.err().map(|failure| *failure));
    }

    /// What the failures come to.
    fn outcome(&mut self) -> Outcome {
        match self.errors.len() {
            0 => Ok(()),
            1 => Err(Box::new(self.errors.remove(0))),
            _ => {
                let mut group = self.failure(Kind::Group);
                group.causes = std::mem::take(&mut self.errors);
                Err(group)
            }
        }
    }

    /// Fails if a count is out of bounds.
    fn bound(&mut self, keyword: &'static str, want: Option<i64>, got: i64, broken: bool) {
        if let Some(want) = want.filter(|_| broken) {
            self.fail(Kind::Count(keyword, got, want));
        }
    }

    /// Whether nothing more needs to be known.
    fn is_settled(&self) -> bool {
        self.silent && !self.errors.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every schema refers twice to the next one.
    fn doubling(levels: usize) -> String {
        let twice = |i: usize| format!(r##"{{"$ref": "#/$defs/d{i}"}}, {{"$ref": "#/$defs/d{i}"}}"##);
        let defs: String =
            (0..levels).map(|i| format!(r#""d{i}": {{"allOf": [{}]}}, "#, twice(i + 1))).collect();
        format!(r##"{{"$ref": "#/$defs/d0", "$defs": {{{defs} "d{levels}": {{"type": "object"}}}}}}"##)
    }

    #[test]
    fn a_schema_that_doubles_its_work_is_given_up() {
        let value = Node::from(Value::Map(podium_goyaml::Map::new()));
        for (levels, gives_up) in [(3, false), (60, true)] {
            let schema = crate::Schema::compile(doubling(levels).as_bytes(), None).unwrap();
            let validator = Validator::new(&schema.arena);
            validator.steps.set(MAX_STEPS - 10_000);
            let result = validator.run(schema.root, &value).map_err(|error| error.to_string());
            let want = "unable to validate schema: schema takes too many steps";
            assert_eq!(result, if gives_up { Err(want.to_owned()) } else { Ok(()) });
        }
    }
}
