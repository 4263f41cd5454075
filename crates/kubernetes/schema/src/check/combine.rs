//! Combinations of schemas: all of, any of, one of, not.

use serde_json::Value;

use super::outcome::Outcome;
use super::{Run, Trail};
use crate::go;
use crate::node::{Combined, Node};

impl Run<'_> {
    /// Checks a value against combined schemas. Inside them nothing is forgiven because it is old.
    pub(super) fn combine(&self, combined: &Combined, value: &Value, at: &Trail<'_>) -> Outcome {
        let mut out = Outcome::default();
        let name = go::quote(&at.text());
        if !combined.any.is_empty() {
            self.any(&mut out, &combined.any, value, at, &name);
        }
        if !combined.one.is_empty() {
            self.one(&mut out, &combined.one, value, at, &name);
        }
        if !combined.all.is_empty() {
            let mut valid = 0;
            for schema in &combined.all {
                let outcome = self.check(schema, value, at, None);
                valid += usize::from(outcome.is_valid());
                out.merge(outcome);
            }
            if valid != combined.all.len() {
                let none = if valid == 0 { ". None validated" } else { "" };
                out.add(self.loose(format!("{name} must validate all the schemas (allOf){none}")));
            }
        }
        if let Some(not) = &combined.not
            && self.check(not, value, at, None).is_valid()
        {
            out.add(self.loose(format!("{name} must not validate the schema (not)")));
        }
        out
    }

    fn any(&self, out: &mut Outcome, schemas: &[Node], value: &Value, at: &Trail<'_>, name: &str) {
        let mut best: Option<Outcome> = None;
        for schema in schemas {
            let outcome = self.check(schema, value, at, None);
            if outcome.is_valid() {
                out.merge(outcome);
                return;
            }
            if best.as_ref().is_none_or(|best| outcome.matches > best.matches) {
                best = Some(outcome);
            }
        }
        out.add(self.loose(format!("{name} must validate at least one schema (anyOf)")));
        if let Some(best) = best {
            out.merge(best);
        }
    }

    fn one(&self, out: &mut Outcome, schemas: &[Node], value: &Value, at: &Trail<'_>, name: &str) {
        let mut best: Option<Outcome> = None;
        let mut first: Option<Outcome> = None;
        let mut valid = 0;
        for schema in schemas {
            let outcome = self.check(schema, value, at, None);
            if outcome.is_valid() {
                valid += 1;
                best = None;
                first.get_or_insert(outcome);
            } else if valid == 0 && best.as_ref().is_none_or(|best| outcome.matches > best.matches) {
                best = Some(outcome);
            }
        }
        if valid == 1 {
            if let Some(first) = first {
                out.merge(first);
            }
            return;
        }
        let found = match valid {
            0 => "Found none valid".to_owned(),
            valid => format!("Found {valid} valid alternatives"),
        };
        out.add(self.loose(format!("{name} must validate one and only one schema (oneOf). {found}")));
        if let Some(best) = best {
            out.merge(best);
        }
    }
}
