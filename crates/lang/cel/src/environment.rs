//! What an expression can refer to.

use std::collections::HashMap;
use std::sync::Arc;

use crate::schema::{Declared, Shape};
use crate::types::Type;

/// The variables that an expression can read, with their types.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    variables: Vec<(Arc<str>, Type)>,
    shapes: Vec<(Arc<str>, Shape)>,
    objects: HashMap<Arc<str>, Arc<Declared>>,
}

impl Environment {
    /// No variables: only the functions.
    pub fn new() -> Self {
        Self::default()
    }

    /// The variables of a validation rule: `self`, and `oldSelf`, which is an optional value if asked for.
    pub fn for_rule(shape: &Shape, optional_old_self: bool) -> Self {
        let mut environment = Self::new();
        environment.declare_shape("self", shape, false);
        environment.declare_shape("oldSelf", shape, optional_old_self);
        environment
    }

    /// Declares a variable.
    pub fn declare(&mut self, name: &str, t: Type) {
        self.variables.push((name.into(), t));
    }

    /// Declares a variable whose data a schema describes; maybe an optional one.
    pub fn declare_shape(&mut self, name: &str, shape: &Shape, optional: bool) {
        let t = shape.as_type();
        self.declare(name, if optional { Type::optional(t) } else { t });
        self.shapes.push((name.into(), shape.clone()));
        let mut objects = Vec::new();
        shape.declared.objects(&mut objects);
        self.objects.extend(objects.into_iter().map(|(name, declared)| (name, declared.clone())));
    }

    pub(crate) fn variable(&self, name: &str) -> Option<(&Arc<str>, &Type)> {
        self.variables.iter().rev().find(|(known, _)| **known == *name).map(|(name, t)| (name, t))
    }

    pub(crate) fn object(&self, name: &str) -> Option<&Arc<Declared>> {
        self.objects.get(name)
    }

    pub(crate) fn shapes(&self) -> &[(Arc<str>, Shape)] {
        &self.shapes
    }
}
