//! How much a render may use.

use std::rc::Rc;

use super::{Machine, Raised, Step};
use crate::fmt;
use crate::value::{Str, Value};

/// After functions have worked on so many bytes the clock is looked at.
const MUCH_WORK: usize = 1 << 20;

/// The limits of one render. They stop a hostile template; no chart in use comes near the defaults.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Instructions of all templates of the render together.
    pub steps: u64,
    /// Templates that are being executed inside each other.
    pub depth: usize,
    /// Bytes of output of one file.
    pub output: usize,
    /// Bytes of lists, maps and large strings.
    pub memory: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { steps: 2_000_000_000, depth: 150_000, output: 256 << 20, memory: 1 << 30 }
    }
}

impl<'h> Machine<'h> {
    /// How many instructions may still run.
    pub fn steps_left(&self) -> u64 {
        self.steps
    }

    /// Counts instructions that ran elsewhere; false when there may not be so many.
    pub fn count(&mut self, steps: u64) -> bool {
        let left = self.steps.checked_sub(steps);
        self.steps = left.unwrap_or(self.steps);
        left.is_some()
    }

    /// Counts an instruction and looks at the limits now and then.
    pub(super) fn tick(&mut self) -> Step<()> {
        match self.steps.checked_sub(1) {
            Some(left) => self.steps = left,
            None => return Err(self.limit("steps", self.limits.steps)),
        }
        if self.steps.is_multiple_of(1024) {
            self.check_output()?;
            self.check_time()?;
        }
        Ok(())
    }

    pub(super) fn check_output(&self) -> Step<()> {
        if self.output.len() > self.limits.output {
            return Err(self.limit("output bytes", self.limits.output as u64));
        }
        Ok(())
    }

    pub(super) fn check_memory(&self) -> Step<()> {
        if self.ctx.heap.exhausted() {
            return Err(self.limit("memory", self.ctx.heap.budget() as u64));
        }
        Ok(())
    }

    pub(super) fn check_time(&mut self) -> Step<()> {
        self.work = 0;
        if self.ctx.world.out_of_time() {
            return Err(Raised::Limit(b"the render ran out of time".to_vec()));
        }
        Ok(())
    }

    /// Looks at the clock after much work: a step can be a long one.
    pub(super) fn worked(&mut self, bytes: usize) -> Step<()> {
        self.work = self.work.saturating_add(bytes);
        if self.work > MUCH_WORK { self.check_time() } else { Ok(()) }
    }

    pub(super) fn charge(&self, bytes: usize) -> Step<()> {
        self.ctx.heap.charge(bytes).map_err(|e| Raised::Limit(e.message))
    }

    /// After a function: a text that it has made and not paid for is paid, and memory and time are looked at. The
    /// arguments are still held, so that a text which nobody else holds is a new one.
    pub(super) fn settle(&mut self, made: &Value<'h>, before: usize, read: usize) -> Step<()> {
        let paid = before.saturating_sub(self.ctx.heap.left());
        if let Value::Str(Str::Shared(text)) = made
            && Rc::strong_count(text) == 1
        {
            self.charge(text.len().saturating_sub(paid))?;
            if text.len() > fmt::MAX_BYTES {
                return Err(self.limit("text", fmt::MAX_BYTES as u64));
            }
        }
        self.check_memory()?;
        self.worked(read + paid + length_of_text(made))
    }

    pub(super) fn limit(&self, name: &str, value: u64) -> Raised {
        Raised::Limit(format!("the render passed its {name} limit ({value})").into_bytes())
    }
}

pub(super) fn length_of_text(value: &Value<'_>) -> usize {
    match value {
        Value::Str(s) => s.len(),
        Value::Bytes(b) => b.len(),
        _ => 0,
    }
}
