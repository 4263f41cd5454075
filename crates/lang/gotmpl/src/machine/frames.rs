//! Templates that run inside of templates.

use super::scope::{self, Scope};
use super::{Entry, Frame, Machine, Raised, Slot, State, Step, without_no_value};
use crate::code::{HERE, Unit};
use crate::compile::quoted;
use crate::func::Error;
use crate::syntax::Id;
use crate::value::{Str, Value};

/// How often a name may be included inside itself: Helm's limit.
const MAX_INCLUDES: usize = 1000;

impl<'h> Machine<'h> {
    pub(super) fn push_frame(
        &mut self,
        unit: &'h Unit,
        dot: Value<'h>,
        scope: Option<&'h Scope<'h>>,
        entry: Entry<'h>,
        depth: u32,
    ) {
        let vars = self.vars.len();
        let dot = Slot { value: dot, state: State::Plain };
        self.vars.push(dot.clone());
        self.vars.resize_with(vars + unit.vars.len(), || Slot { value: Value::Nil, state: State::Unset });
        self.frames.push(Frame {
            unit,
            pc: 0,
            at: HERE,
            call: HERE,
            dot,
            vars,
            withs: self.withs.len(),
            iters: self.iters.len(),
            output: self.output.len(),
            depth,
            scope,
            entry,
        });
    }

    pub(super) fn enter(
        &mut self,
        unit: &'h Unit,
        dot: Value<'h>,
        scope: Option<&'h Scope<'h>>,
        entry: Entry<'h>,
        depth: u32,
    ) -> Step<()> {
        if self.frames.len() >= self.limits.depth {
            return Err(self.limit("depth", self.limits.depth as u64));
        }
        let slots = (self.vars.len() + unit.vars.len()) * size_of::<Slot>();
        if slots + self.stack.len() * size_of::<Value>() > self.limits.memory / 4 {
            return Err(self.limit("memory", self.limits.memory as u64));
        }
        self.push_frame(unit, dot, scope, entry, depth);
        Ok(())
    }

    /// Leaves the finished frame. True when it was the outermost.
    pub(super) fn leave(&mut self) -> Step<bool> {
        self.check_output()?;
        self.check_memory()?;
        let Some(frame) = self.frames.pop() else {
            return Ok(true);
        };
        self.vars.truncate(frame.vars);
        self.withs.truncate(frame.withs);
        while self.iters.len() > frame.iters {
            self.drop_iter();
        }
        match frame.entry {
            Entry::Root => return Ok(true),
            Entry::Template => {}
            Entry::Include(name) => {
                self.forget_included(&name);
                self.charge(self.output.len() - frame.output)?;
                let text = Str::Shared(self.output[frame.output..].into());
                self.output.truncate(frame.output);
                self.stack.push(Value::Str(text));
            }
            Entry::Tpl(_) => {
                self.charge(self.output.len() - frame.output)?;
                let text = without_no_value(&self.output[frame.output..]);
                let text = Str::Shared(text.as_ref().into());
                self.output.truncate(frame.output);
                self.stack.push(Value::Str(text));
            }
        }
        Ok(false)
    }

    pub(super) fn include(&mut self, base: usize, node: Id) -> Step<()> {
        let data = self.stack.pop().unwrap_or_default();
        let name = match self.stack.pop() {
            Some(Value::Str(name)) => name,
            _ => Str::Borrowed(b""),
        };
        self.stack.truncate(base);
        if self.is_included_too_often(&name) {
            let mut message = b"rendering template has a nested reference name: ".to_vec();
            message.extend_from_slice(&name);
            message.extend_from_slice(b": unable to execute template");
            return Err(Raised::Function("include", Error::new(message), node));
        }
        let scope = frame_scope(&self.frames);
        match self.find(scope, &name) {
            Some(unit) => self.enter(unit, self.ctx.heap.boxed(data), scope, Entry::Include(name), 0),
            None => {
                let message =
                    format!("template: no template {} associated with template \"gotpl\"", quoted(&name));
                Err(Raised::NoTemplate(message.into_bytes(), node))
            }
        }
    }

    /// Counts a name that is to be included. There are as many names in each other as there are frames at most, so
    /// that they are only counted where there are many.
    fn is_included_too_often(&mut self, name: &Str<'h>) -> bool {
        if self.frames.len() <= MAX_INCLUDES {
            return false;
        }
        if self.included.is_empty() {
            for frame in &self.frames {
                if let Entry::Include(name) = &frame.entry {
                    *self.included.entry(name.clone()).or_default() += 1;
                }
            }
        }
        let count = self.included.entry(name.clone()).or_default();
        *count += 1;
        *count > MAX_INCLUDES + 1
    }

    fn forget_included(&mut self, name: &Str<'h>) {
        if self.frames.len() <= MAX_INCLUDES {
            self.included.clear();
        } else if let Some(count) = self.included.get_mut(name) {
            *count -= 1;
        }
    }

    pub(super) fn tpl(&mut self, base: usize, node: Id) -> Step<()> {
        let data = self.stack.pop().unwrap_or_default();
        let text = match self.stack.pop() {
            Some(Value::Str(text)) => text,
            _ => Str::Borrowed(b""),
        };
        self.stack.truncate(base);
        self.worked(text.len())?;
        let set = match self.texts.compiled(&text, self.functions) {
            Ok((set, cost)) => {
                self.charge(cost)?;
                set
            }
            Err(e) => {
                let message = format!("cannot parse template {}: {e}", quoted(&text));
                return Err(Raised::Function("tpl", Error::new(message), node));
            }
        };
        let scope = self.texts.scope(set, frame_scope(&self.frames));
        match set.get(scope::TEXT_NAME) {
            Some(unit) => self.enter(unit, self.ctx.heap.boxed(data), Some(scope), Entry::Tpl(text), 0),
            None => {
                self.stack.push(Value::Str(Str::Borrowed(b"")));
                Ok(())
            }
        }
    }

    pub(super) fn find(&self, scope: Option<&'h Scope<'h>>, name: &[u8]) -> Option<&'h Unit> {
        scope::find(scope, self.templates, name)
    }
}

pub(super) fn frame_scope<'h>(frames: &[Frame<'h>]) -> Option<&'h Scope<'h>> {
    frames.last().and_then(|f| f.scope)
}
