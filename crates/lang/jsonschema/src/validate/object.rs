//! Rules for mappings.

use podium_goyaml::{Map, Node, Value};

use super::scope::Token;
use super::{Check, Validator};
use crate::failure::{Failure, Kind};
use crate::schema::{Additional, Dependency, ObjectRules, SchemaId};

impl Validator<'_> {
    pub(super) fn check_object<'v>(
        &self,
        version: u16,
        rules: &ObjectRules,
        map: &'v Map,
        check: &mut Check<'v, '_>,
    ) {
        let length = i64::try_from(map.len()).unwrap_or(i64::MAX);
        check.bound("minProperties", rules.min, length, length < rules.min.unwrap_or(length));
        check.bound("maxProperties", rules.max, length, length > rules.max.unwrap_or(length));
        let missing = missing(map, &rules.required);
        if !missing.is_empty() {
            check.fail(Kind::Required(missing));
        }
        if check.is_settled() {
            return;
        }
        self.check_dependencies(rules, map, check);
        if !self.check_properties(rules, map, check) || version == 4 {
            return;
        }
        if let Some(schema) = rules.names {
            map.keys().for_each(|name| self.check_name(schema, name, check));
        }
        if version > 6 {
            self.check_dependents(rules, map, check);
        }
    }

    fn check_dependencies<'v>(&self, rules: &ObjectRules, map: &'v Map, check: &mut Check<'v, '_>) {
        for (property, dependency) in rules.dependencies.iter().filter(|(p, _)| map.contains_key(p)) {
            match dependency {
                Dependency::Names(names) => depend(property, missing(map, names), check),
                Dependency::Schema(schema) => {
                    let result = self.same(check, *schema, None, false);
                    check.add(result);
                }
            }
        }
    }

    /// Checks every property; says no if it stopped on the way, because enough is known.
    fn check_properties<'v>(&self, rules: &ObjectRules, map: &'v Map, check: &mut Check<'v, '_>) -> bool {
        let mut additional = Vec::new();
        for (name, node) in map {
            if check.is_settled() {
                return false;
            }
            let mut schemas: Vec<SchemaId> = rules.properties.get(&**name).copied().into_iter().collect();
            let patterns = rules.patterns.iter().filter(|(regex, _)| regex.is_match(name.as_bytes()));
            schemas.extend(patterns.map(|(_, schema)| *schema));
            let evaluated = !schemas.is_empty() || rules.additional.is_some();
            match rules.additional.filter(|_| schemas.is_empty()) {
                Some(Additional::Allowed(false)) => additional.push(Box::from(&**name)),
                Some(Additional::Schema(schema)) => schemas.push(schema),
                _ => {}
            }
            for schema in schemas {
                check.add(self.inside(check, schema, node, Token::Key(name)));
            }
            if evaluated {
                check.uneval.properties.remove(&**name);
            }
        }
        if !additional.is_empty() {
            check.fail(Kind::AdditionalProperties(additional));
        }
        true
    }

    fn check_name(&self, schema: SchemaId, name: &str, check: &mut Check<'_, '_>) {
        let (target, meta) = self.own_metaschema(schema, check.meta, &check.path);
        let node = Node::from(Value::from(name));
        if let Err(causes) = self.start(target, &node, meta, check.scope.depth + 1) {
            // The original forgets here that nobody will read it.
            let at = check.path.tokens();
            check.errors.push(Failure { at, kind: Kind::PropertyName(name.into()), causes });
        }
    }

    fn check_dependents<'v>(&self, rules: &ObjectRules, map: &'v Map, check: &mut Check<'v, '_>) {
        for (_, schema) in rules.dependent_schemas.iter().filter(|(p, _)| map.contains_key(p)) {
            let result = self.same(check, *schema, None, false);
            check.add(result);
        }
        for (property, names) in rules.dependent_required.iter().filter(|(p, _)| map.contains_key(p)) {
            depend(property, missing(map, names), check);
        }
    }
}

fn missing(map: &Map, wanted: &[Box<str>]) -> Vec<Box<str>> {
    wanted.iter().filter(|name| !map.contains_key(name)).cloned().collect()
}

fn depend(property: &str, missing: Vec<Box<str>>, check: &mut Check<'_, '_>) {
    if !missing.is_empty() {
        check.fail(Kind::Dependency { property: property.into(), missing });
    }
}
