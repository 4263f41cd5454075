//! Whether the defaults of a schema are values that the schema itself lets through.

use podium_meta::{ErrorType, FieldError};
use serde_json::{Map, Value};

use crate::check::check as fits;
use crate::defaults::{Step, surround};
use crate::expressions::{BUDGET, Language, Rules};
use crate::go;
use crate::metadata;
use crate::node::{Node, Use};
use crate::path::Path;
use crate::props::Props;
use crate::prune::prune;

/// What is wrong with the defaults of a schema.
pub fn check(
    props: &Props,
    schema: &Value,
    at: &Path,
    pruned: bool,
    language: Option<&dyn Language>,
) -> Result<Vec<FieldError>, String> {
    let mut node = Node::compile(props, Use::Defaults);
    node.embedded = true;
    let mut checker = Checker { flaws: Vec::new(), pruned, language, budget: BUDGET };
    checker.check(&node, schema, &node, &mut Vec::new(), false, at)?;
    Ok(checker.flaws)
}

struct Checker<'a> {
    flaws: Vec<FieldError>,
    pruned: bool,
    language: Option<&'a dyn Language>,
    budget: i64,
}

impl Checker<'_> {
    fn check(
        &mut self,
        node: &Node,
        schema: &Value,
        root: &Node,
        steps: &mut Vec<Step>,
        inside: bool,
        at: &Path,
    ) -> Result<(), String> {
        if node.embedded && !std::ptr::eq(node, root) {
            return self.check(node, schema, node, &mut Vec::new(), false, at);
        }
        if let Some(default) = &node.default {
            self.one(node, schema, root, steps, inside, default, &at.child("default"))?;
            if self.budget < 0 {
                return Ok(());
            }
        }
        if let Some(items) = node.items.as_deref() {
            steps.push(Step::Item);
            let schema = schema.get("items").unwrap_or(&Value::Null);
            self.check(items, schema, root, steps, inside, &at.child("items"))?;
            steps.pop();
            if self.budget < 0 {
                return Ok(());
            }
        }
        let schemas = schema.get("properties").unwrap_or(&Value::Null);
        for (name, field) in &node.properties {
            let meta = node.embedded && matches!(name.as_str(), "metadata" | "apiVersion" | "kind");
            steps.push(Step::Field(name.clone()));
            let schema = schemas.get(name).unwrap_or(&Value::Null);
            self.check(field, schema, root, steps, inside || meta, &at.child("properties").key(name))?;
            steps.pop();
            if self.budget < 0 {
                return Ok(());
            }
        }
        Ok(())
    }

    fn one(
        &mut self,
        node: &Node,
        schema: &Value,
        root: &Node,
        steps: &[Step],
        inside: bool,
        default: &Value,
        at: &Path,
    ) -> Result<(), String> {
        let invalid = |default: &Value, detail: &str| {
            FieldError::new(ErrorType::Invalid, at, &go::shown(default), detail)
        };
        let mut default = default.clone();
        if inside {
            let mut object = whole(default.clone(), steps)?;
            if let Err(flaw) = metadata::coerce(&mut object, root, true, false) {
                let detail = format!("must result in valid metadata: {flaw}");
                self.flaws.push(invalid(&default, &detail));
                return Ok(());
            }
            let flaws = metadata::embedded(&object, root, true, &Path::default());
            if !flaws.is_empty() {
                let detail = format!("must result in valid metadata: {}", FieldError::aggregate(&flaws));
                self.flaws.push(invalid(&default, &detail));
                return Ok(());
            }
        } else {
            let mut rest = default.clone();
            prune(&mut rest, node, node.embedded);
            let unknown = self.pruned && rest != default;
            let coerced = metadata::coerce_at(&mut default, node, node.embedded, false, at);
            if unknown {
                self.flaws.push(invalid(&default, "must not have unknown fields"));
            }
            if let Err(flaw) = coerced {
                self.flaws.push(*flaw);
                return Ok(());
            }
            let flaws = metadata::embedded(&default, node, node.embedded, at);
            if !flaws.is_empty() {
                self.flaws.extend(flaws);
                return Ok(());
            }
        }
        let flaws = fits(node, at, &default, None);
        if !flaws.is_empty() {
            self.flaws.extend(flaws);
            return Ok(());
        }
        self.ask(node, schema, std::ptr::eq(node, root), &default, at);
        Ok(())
    }

    /// Asks the rules: of the default as a value that stays, and as one that is new.
    fn ask(&mut self, node: &Node, schema: &Value, resource: bool, default: &Value, at: &Path) {
        let Some(rules) = self.language.and_then(|language| Rules::compile(language, schema, node, resource))
        else {
            return;
        };
        let (verdict, mut left) = rules.check_within(at, default, Some(default), node, self.budget);
        let clean = verdict.flaws.is_empty();
        self.flaws.extend(verdict.flaws);
        if clean {
            let (verdict, fresh) = rules.check_within(at, default, None, node, self.budget);
            self.flaws.extend(verdict.flaws);
            left = left.min(fresh);
        }
        self.budget = left;
    }
}

/// An object with nothing but the default and what every object says of itself.
fn whole(default: Value, steps: &[Step]) -> Result<Value, String> {
    let mut object = surround(default, steps);
    let Value::Object(fields) = &mut object else {
        let why = "object root default value must be of object type";
        return Err(format!("failed to validate default value inside metadata: {why}"));
    };
    let says: Map<String, Value> = [("kind", "Validation"), ("apiVersion", "validation/v1")]
        .map(|(n, v)| (n.to_owned(), v.into()))
        .into_iter()
        .collect();
    for (name, value) in says {
        fields.entry(name).or_insert(value);
    }
    Ok(object)
}
