//! Applies rules to all parts of a value whose types have some.

use std::collections::HashMap;

use serde_json::Value;

use super::resources;
use super::view::Object;
use crate::table::{Form, Kinds, TypeId, Types};

/// What is done with an object.
#[derive(Clone, Copy)]
pub enum Rule {
    /// A field that nobody has set gets a value, written as JSON; the path may lead through objects that are there.
    Set(&'static str, &'static str),
    /// A function looks at it.
    Call(fn(&mut Object)),
    /// A function looks at it and may refuse.
    Try(fn(&mut Object) -> Result<(), String>),
}

/// A default in its place.
struct Fill {
    path: Vec<&'static str>,
    value: Value,
    /// A pointer to an empty value is one that somebody has set.
    pointer: bool,
}

enum Step {
    Fill(Fill),
    Call(fn(&mut Object)),
    Try(fn(&mut Object) -> Result<(), String>),
}

/// Rules by type.
pub struct Rules {
    types: &'static Types,
    steps: HashMap<u16, Vec<Step>>,
    /// By type: whether something in its values may have rules.
    wanted: Vec<bool>,
    /// Amounts of resources are rounded.
    rounds: Option<TypeId>,
}

impl Rules {
    pub fn new(table: &'static Kinds, list: &[(&str, &[Rule])]) -> Self {
        let types = table.types();
        let mut rules = Self { types, steps: HashMap::new(), wanted: Vec::new(), rounds: None };
        for (name, list) in list {
            let Some(id) = types.named(name) else { continue };
            let steps = list.iter().filter_map(|rule| rules.step(id, *rule)).collect::<Vec<Step>>();
            rules.steps.entry(id.0).or_default().extend(steps);
        }
        rules.look();
        rules
    }

    /// With the defaults that the fields of the table declare, but for those that are what an empty field has anyway.
    pub fn with_declared(mut self, table: &'static Kinds) -> Self {
        self.rounds = self.types.named("core/v1.ResourceList");
        for one in &table.types().structs {
            let Some(id) = self.types.named(one.name) else { continue };
            for field in &one.fields {
                let Some((_, text)) = field.rest.split_once('=') else { continue };
                let pointer = matches!(self.types.get(field.ty).form, Form::Pointer(_));
                if (pointer || !matches!(text, "\"\"" | "{}" | "0" | "false"))
                    && let Some(step) = self.step(id, Rule::Set(field.key, text))
                {
                    self.steps.entry(id.0).or_default().push(step);
                }
            }
        }
        self.look();
        self
    }

    fn step(&self, id: TypeId, rule: Rule) -> Option<Step> {
        Some(match rule {
            Rule::Call(call) => Step::Call(call),
            Rule::Try(call) => Step::Try(call),
            Rule::Set(path, text) => {
                let path: Vec<&'static str> = path.split('.').collect();
                let mut at = id;
                for key in &path {
                    let inner = self.types.target(at).1.form.as_struct()?;
                    at = self.types.struct_(inner).field(key)?.1.ty;
                }
                let pointer = matches!(self.types.get(at).form, Form::Pointer(_));
                Step::Fill(Fill { path, value: serde_json::from_str(text).ok()?, pointer })
            }
        })
    }

    /// Finds the types whose values must be looked into.
    fn look(&mut self) {
        self.wanted = vec![false; self.types.all.len()];
        loop {
            let mut changed = false;
            for at in 0..self.types.all.len() {
                let id = TypeId(u16::try_from(at).unwrap_or(u16::MAX));
                if !self.wanted(id) && self.leads(id) {
                    if let Some(place) = self.wanted.get_mut(at) {
                        *place = true;
                    }
                    changed = true;
                }
            }
            if !changed {
                return;
            }
        }
    }

    fn wanted(&self, id: TypeId) -> bool {
        self.wanted.get(usize::from(id.0)).copied().unwrap_or(false)
    }

    fn leads(&self, id: TypeId) -> bool {
        if self.rounds == Some(id) {
            return true;
        }
        match self.types.get(id).form {
            // The one place where amounts are kept as they are.
            Form::Struct(_) if self.types.get(id).name == "node/v1.Overhead" => false,
            Form::Pointer(inner) | Form::List(inner) | Form::Map(inner) => self.wanted(inner),
            Form::Struct(inner) => {
                self.steps.contains_key(&id.0)
                    || self.types.struct_(inner).own.iter().any(|field| self.wanted(field.ty))
            }
            _ => false,
        }
    }

    /// Applies the rules to a value of a type and to all in it, from the outside in.
    pub fn apply(&self, id: TypeId, value: &mut Value) -> Result<(), String> {
        if !self.wanted(id) {
            return Ok(());
        }
        if self.rounds == Some(id) {
            resources::round(value);
            return Ok(());
        }
        match (self.types.get(id).form, value) {
            (Form::Pointer(inner), value) => self.apply(inner, value),
            (Form::List(inner), Value::Array(list)) => {
                list.iter_mut().try_for_each(|item| self.apply(inner, item))
            }
            (Form::Map(inner), Value::Object(map)) => {
                map.values_mut().try_for_each(|item| self.apply(inner, item))
            }
            (Form::Struct(inner), Value::Object(object)) => {
                self.steps_of(id, object)?;
                let one = self.types.struct_(inner);
                // Embedded types are where their fields are.
                for field in one.own.iter().filter(|field| field.embedded) {
                    self.embedded(field.ty, object)?;
                }
                for field in one.fields.iter().filter(|field| self.wanted(field.ty)) {
                    if let Some(value) = object.get_mut(field.key) {
                        self.apply(field.ty, value)?;
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn embedded(&self, id: TypeId, object: &mut Object) -> Result<(), String> {
        self.steps_of(id, object)?;
        if let Form::Struct(inner) = self.types.get(id).form {
            for field in self.types.struct_(inner).own.iter().filter(|field| field.embedded) {
                self.embedded(field.ty, object)?;
            }
        }
        Ok(())
    }

    fn steps_of(&self, id: TypeId, object: &mut Object) -> Result<(), String> {
        for step in self.steps.get(&id.0).into_iter().flatten() {
            match step {
                Step::Call(call) => call(object),
                Step::Try(call) => call(object)?,
                Step::Fill(fill) => fill.apply(object),
            }
        }
        Ok(())
    }
}

impl Fill {
    fn apply(&self, object: &mut Object) {
        let Some((key, path)) = self.path.split_last() else { return };
        let mut at = object;
        for key in path {
            match at.get_mut(*key).and_then(Value::as_object_mut) {
                Some(inner) => at = inner,
                None => return,
            }
        }
        let empty = match at.get(*key) {
            None | Some(Value::Null) => true,
            Some(Value::String(text)) => !self.pointer && text.is_empty(),
            Some(Value::Number(number)) => !self.pointer && number.as_i64() == Some(0),
            Some(_) => false,
        };
        if empty {
            at.insert((*key).to_owned(), self.value.clone());
        }
    }
}
