//! Rules for lists.

use podium_goyaml::{List, Node};

use super::scope::Token;
use super::{Check, Validator, equal};
use crate::failure::Kind;
use crate::schema::{Additional, ArrayRules, Items, SchemaId};

impl Validator<'_> {
    pub(super) fn check_array<'v>(
        &self,
        version: u16,
        rules: &ArrayRules,
        list: &'v List,
        check: &mut Check<'v, '_>,
    ) {
        let length = i64::try_from(list.len()).unwrap_or(i64::MAX);
        check.bound("minItems", rules.min, length, length < rules.min.unwrap_or(length));
        check.bound("maxItems", rules.max, length, length > rules.max.unwrap_or(length));
        if rules.unique
            && let Some((first, second)) = equal::duplicate(list, |node| self.number(node))
        {
            check.fail(Kind::UniqueItems(first, second));
        }
        if version < 2020 {
            self.check_early_items(rules, list, check);
        } else {
            let prefix = rules.prefix.len().min(list.len());
            self.check_each(&rules.prefix, list, check);
            if let Some(schema) = rules.rest {
                self.check_from(prefix, schema, list, check);
            }
        }
        if let Some(schema) = rules.contains {
            self.check_contains(version, rules, schema, list, check);
        }
    }

    fn check_early_items<'v>(&self, rules: &ArrayRules, list: &'v List, check: &mut Check<'v, '_>) {
        let evaluated = match &rules.items {
            Some(Items::All(schema)) => {
                self.check_from(0, *schema, list, check);
                list.len()
            }
            Some(Items::Each(schemas)) => {
                self.check_each(schemas, list, check);
                schemas.len().min(list.len())
            }
            None => 0,
        };
        match rules.additional {
            Some(Additional::Allowed(false)) if evaluated != list.len() => {
                check.fail(Kind::AdditionalItems(list.len() - evaluated));
            }
            Some(Additional::Schema(schema)) => self.check_from(evaluated, schema, list, check),
            _ => {}
        }
    }

    fn check_each<'v>(&self, schemas: &[SchemaId], list: &'v List, check: &mut Check<'v, '_>) {
        for (i, (schema, node)) in schemas.iter().zip(list.iter()).enumerate() {
            check.add(self.inside(check, *schema, node, Token::Index(i)));
        }
    }

    fn check_from<'v>(&self, first: usize, schema: SchemaId, list: &'v List, check: &mut Check<'v, '_>) {
        for (i, node) in list.iter().enumerate().skip(first) {
            check.add(self.inside(check, schema, node, Token::Index(i)));
        }
    }

    fn check_contains<'v>(
        &self,
        version: u16,
        rules: &ArrayRules,
        schema: SchemaId,
        list: &'v [Node],
        check: &mut Check<'v, '_>,
    ) {
        let mut errors = Vec::new();
        let mut matched = Vec::new();
        for (i, node) in list.iter().enumerate() {
            match self.inside(check, schema, node, Token::Index(i)) {
                Err(failure) => errors.push(*failure),
                Ok(()) => {
                    matched.push(i);
                    if version >= 2020 {
                        check.uneval.items.remove(&i);
                    }
                }
            }
        }
        let count = i64::try_from(matched.len()).unwrap_or(i64::MAX);
        match rules.min_contains {
            Some(want) if count < want => {
                check.fail_because(Kind::MinContains { matched: matched.clone(), want }, errors);
            }
            None if count == 0 => check.fail_because(Kind::Contains, errors),
            _ => {}
        }
        if let Some(want) = rules.max_contains.filter(|want| count > *want) {
            check.fail(Kind::MaxContains { matched, want });
        }
    }
}
