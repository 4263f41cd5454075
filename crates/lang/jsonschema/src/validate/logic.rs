//! Schemas that apply to the same value: references, combinations, conditions, and what is left over.

use podium_goyaml::Value;

use super::scope::Token;
use super::{Check, Outcome, Validator};
use crate::failure::{Failure, Kind};
use crate::schema::{Logic, Schema, SchemaId};

impl Validator<'_> {
    /// Follows a reference.
    #[inline(never)]
    pub(super) fn follow(
        &self,
        check: &mut Check<'_, '_>,
        target: SchemaId,
        keyword: &'static str,
    ) -> Outcome {
        self.same(check, target, Some(keyword), false).map_err(|failure| {
            let mut outer = check.failure(Kind::Reference);
            outer.causes = match *failure {
                Failure { kind: Kind::Group, causes, .. } => causes,
                failure => vec![failure],
            };
            outer
        })
    }

    pub(super) fn check_later_references(&self, schema: &Schema, check: &mut Check<'_, '_>) {
        if let Some(mut target) = schema.recursive_ref {
            if self.schema(target).is_some_and(|s| s.recursive_anchor) {
                let anchored = |s: &Schema| self.schema(s.resource).is_some_and(|r| r.recursive_anchor);
                let scopes = check.scope.outwards().filter(|s| self.schema(s.schema).is_some_and(anchored));
                target = scopes.last().map_or(target, |scope| scope.schema);
            }
            let result = self.follow(check, target, "$recursiveRef");
            check.add(result);
        }
        if let Some((target, anchor)) = &schema.dynamic_ref {
            let mut target = *target;
            if !anchor.is_empty() && self.schema(target).is_some_and(|s| s.dynamic_anchor == *anchor) {
                let resource = |id| self.schema(id).and_then(|s| self.schema(s.resource));
                let named = |id| resource(id).and_then(|r| r.dynamic_anchors.get(anchor)).copied();
                target = check.scope.outwards().filter_map(|s| named(s.schema)).last().unwrap_or(target);
            }
            let result = self.follow(check, target, "$dynamicRef");
            check.add(result);
        }
    }

    pub(super) fn check_logic(&self, rules: &Logic, check: &mut Check<'_, '_>) {
        if let Some(schema) = rules.not
            && self.same(check, schema, None, true).is_ok()
        {
            check.fail(Kind::Not);
        }
        self.check_all(rules, check);
        self.check_any(rules, check);
        self.check_one(rules, check);
        if let Some(condition) = rules.condition {
            let holds = self.same(check, condition, None, true).is_ok();
            if let Some(schema) = if holds { rules.then } else { rules.otherwise } {
                let result = self.same(check, schema, None, false);
                check.add(result);
            }
        }
    }

    fn check_all(&self, rules: &Logic, check: &mut Check<'_, '_>) {
        let mut errors = Vec::new();
        for schema in &rules.all_of {
            if let Err(failure) = self.same(check, *schema, None, false) {
                errors.push(*failure);
                if check.silent {
                    break;
                }
            }
        }
        if !errors.is_empty() {
            check.fail_because(Kind::AllOf, errors);
        }
    }

    fn check_any(&self, rules: &Logic, check: &mut Check<'_, '_>) {
        let mut errors = Vec::new();
        let mut matched = rules.any_of.is_empty();
        for schema in &rules.any_of {
            match self.same(check, *schema, None, false) {
                Err(failure) => errors.push(*failure),
                Ok(()) => {
                    matched = true;
                    // All that match say what they have looked at, if somebody asks.
                    if check.uneval.is_empty() {
                        break;
                    }
                }
            }
        }
        if !matched {
            check.fail_because(Kind::AnyOf, errors);
        }
    }

    fn check_one(&self, rules: &Logic, check: &mut Check<'_, '_>) {
        let mut errors = Vec::new();
        let mut matched = None;
        for (i, schema) in rules.one_of.iter().enumerate() {
            match (self.same(check, *schema, None, matched.is_some()), matched) {
                (Err(failure), None) => errors.push(*failure),
                (Err(_), Some(_)) => {}
                (Ok(()), None) => matched = Some(i),
                (Ok(()), Some(first)) => {
                    check.fail(Kind::OneOf(Some((first, i))));
                    break;
                }
            }
        }
        if matched.is_none() && !rules.one_of.is_empty() {
            check.fail_because(Kind::OneOf(None), errors);
        }
    }

    /// Checks what no other keyword has looked at.
    pub(super) fn check_unevaluated(&self, schema: &Schema, check: &mut Check<'_, '_>) {
        match &check.node.value {
            Value::Map(map) => {
                let Some(rule) = schema.object.as_ref().and_then(|rules| rules.unevaluated) else { return };
                for name in std::mem::take(&mut check.uneval.properties) {
                    if let Some(node) = map.get(name) {
                        check.add(self.inside(check, rule, node, Token::Key(name)));
                    }
                }
            }
            Value::List(list) => {
                let Some(rule) = schema.array.as_ref().and_then(|rules| rules.unevaluated) else { return };
                for i in std::mem::take(&mut check.uneval.items) {
                    if let Some(node) = list.get(i) {
                        check.add(self.inside(check, rule, node, Token::Index(i)));
                    }
                }
            }
            _ => {}
        }
    }
}
