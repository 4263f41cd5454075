//! Which templates a text that is rendered by `tpl` sees.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use typed_arena::Arena;

use crate::code::{Functions, Unit};
use crate::hash::NameHash;
use crate::program::Templates;
use crate::syntax::ParseError;

/// The name under which the text of a `tpl` is known.
pub const TEXT_NAME: &[u8] = b"gotpl";

/// The templates that a text defined, in front of those around it.
pub struct Scope<'h> {
    set: &'h Templates,
    outer: Option<&'h Scope<'h>>,
}

/// Finds a template, innermost definition first. An empty definition hides nothing.
pub fn find<'h>(scope: Option<&'h Scope<'h>>, base: &'h Templates, name: &[u8]) -> Option<&'h Unit> {
    let mut empty = None;
    let mut next = scope;
    while let Some(scope) = next {
        match scope.set.get(name) {
            Some(unit) if !unit.empty => return Some(unit),
            Some(unit) => empty = Some(unit),
            None => {}
        }
        next = scope.outer;
    }
    base.get(name).or(empty)
}

/// The texts that a render has compiled for `tpl`, each once.
#[derive(Default)]
pub struct Texts<'h> {
    sets: Arena<Templates>,
    scopes: Arena<Scope<'h>>,
    known: RefCell<HashMap<Arc<[u8]>, &'h Templates, NameHash>>,
}

impl<'h> Texts<'h> {
    /// Compiles a text, or finds it among those that were; and the bytes that are held from now on.
    pub fn compiled(
        &'h self,
        text: &[u8],
        functions: &Functions,
    ) -> Result<(&'h Templates, usize), ParseError> {
        if let Some(set) = self.known.borrow().get(text) {
            return Ok((set, size_of::<Scope>()));
        }
        let text: Arc<[u8]> = text.into();
        let mut set = Templates::default();
        set.add(TEXT_NAME, Arc::clone(&text), functions)?;
        let set: &'h Templates = self.sets.alloc(set);
        let cost = set.size() + text.len();
        self.known.borrow_mut().insert(text, set);
        Ok((set, cost))
    }

    /// A scope with the templates of a text in front.
    pub fn scope(&'h self, set: &'h Templates, outer: Option<&'h Scope<'h>>) -> &'h Scope<'h> {
        self.scopes.alloc(Scope { set, outer })
    }
}
