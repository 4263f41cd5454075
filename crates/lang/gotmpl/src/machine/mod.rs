//! Runs compiled templates.
//!
//! Templates that call templates (by `template`, `include` or `tpl`) are frames on a stack of our own: the machine's
//! stack does not grow, however deep they nest.

mod arguments;
mod failure;
mod field;
mod frames;
mod limits;
mod range;
mod scope;

use std::collections::HashMap;

use crate::code::{Base, Functions, HERE, NO_SLOT, Op, Passed, Unit};
use crate::compile::{parameter, quoted};
use crate::error::{Cause, RenderError};
use crate::fmt;
use crate::func::{Call, Ctx, Func, World};
use crate::heap::Heap;
use crate::program::Templates;
use crate::syntax::Id;
use crate::value::{Str, Value};

use arguments::{constant, normalise};
use failure::Raised;
use frames::frame_scope;
pub use limits::Limits;
use limits::length_of_text;
use range::Iter;
use scope::Scope;
pub use scope::Texts;

/// How deeply `template` may nest: Go's limit.
const MAX_TEMPLATES: u32 = 100_000;

/// A variable or the dot: a value, and whether it is known as an `interface {}` (an element of an untyped list).
#[derive(Clone)]
struct Slot<'h> {
    value: Value<'h>,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Unset,
    Plain,
    Interface,
}

/// Why a frame was entered.
enum Entry<'h> {
    Root,
    Template,
    /// With the name.
    Include(Str<'h>),
    /// With the text.
    Tpl(Str<'h>),
}

/// A template that is being executed.
struct Frame<'h> {
    unit: &'h Unit,
    pc: usize,
    at: Id,
    /// The `include` or `tpl` that is under way. What follows it is blamed on its last argument, as in Go.
    call: Id,
    dot: Slot<'h>,
    vars: usize,
    withs: usize,
    iters: usize,
    output: usize,
    depth: u32,
    scope: Option<&'h Scope<'h>>,
    entry: Entry<'h>,
}

/// A method that waits for its arguments.
struct Pending<'h> {
    func: &'static Func,
    receiver: Value<'h>,
}

/// Runs the templates of one render, one after the other.
pub struct Machine<'h> {
    ctx: Ctx<'h>,
    templates: &'h Templates,
    functions: &'h Functions,
    texts: &'h Texts<'h>,
    limits: Limits,
    steps: u64,
    stack: Vec<Value<'h>>,
    vars: Vec<Slot<'h>>,
    withs: Vec<Slot<'h>>,
    iters: Vec<Iter<'h>>,
    frames: Vec<Frame<'h>>,
    pending: Vec<Pending<'h>>,
    /// How often each name is being included, while there are many frames.
    included: HashMap<Str<'h>, usize>,
    output: Vec<u8>,
    involved: Option<Value<'h>>,
    /// Bytes that functions have worked on since the clock was looked at.
    work: usize,
    /// Whether the value that a chain has just pushed is known as an interface.
    walked_interface: bool,
}

impl std::hash::Hash for Str<'_> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

type Step<T> = Result<T, Raised>;

impl<'h> Machine<'h> {
    /// A machine for one render.
    pub fn new(
        heap: &'h Heap<'h>,
        world: &'h dyn World,
        templates: &'h Templates,
        functions: &'h Functions,
        texts: &'h Texts<'h>,
        limits: Limits,
    ) -> Self {
        Self {
            ctx: Ctx { heap, world },
            templates,
            functions,
            texts,
            steps: limits.steps,
            limits,
            stack: Vec::new(),
            vars: Vec::new(),
            withs: Vec::new(),
            iters: Vec::new(),
            frames: Vec::new(),
            pending: Vec::new(),
            included: HashMap::new(),
            output: Vec::new(),
            involved: None,
            work: 0,
            walked_interface: false,
        }
    }

    /// Executes a template by name with a dot and hands its output to a function.
    pub fn render<T>(
        &mut self,
        name: &[u8],
        dot: Value<'h>,
        done: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, RenderError> {
        self.reset();
        let Some(unit) = self.templates.get(name) else {
            let message =
                format!("template: no template {} associated with template \"gotpl\"", quoted(name));
            return Err(RenderError {
                trace: Vec::new(),
                cause: Cause::Start(message.into_bytes()),
                value: None,
            });
        };
        self.push_frame(unit, dot, None, Entry::Root, 0);
        match self.run() {
            Ok(()) => Ok(done(&self.output)),
            Err(raised) => Err(self.failed(raised)),
        }
    }

    fn reset(&mut self) {
        self.stack.clear();
        self.vars.clear();
        self.withs.clear();
        self.iters.clear();
        self.frames.clear();
        self.pending.clear();
        self.included.clear();
        self.output.clear();
        self.involved = None;
    }

    fn run(&mut self) -> Step<()> {
        let mut unit: &'h Unit = match self.frames.last() {
            Some(frame) => frame.unit,
            None => return Ok(()),
        };
        let mut pc = 0;
        loop {
            let Some(op) = unit.ops.get(pc) else {
                if self.leave()? {
                    return Ok(());
                }
                (unit, pc) = match self.resume() {
                    Some(next) => next,
                    None => return Ok(()),
                };
                continue;
            };
            self.tick()?;
            let at = unit.at[pc];
            pc += 1;
            let Some(frame) = self.frames.last_mut() else {
                return Ok(());
            };
            if at != HERE {
                frame.at = at;
            }
            match op {
                Op::Text(start, end) => {
                    self.output.extend_from_slice(unit.source.slice((*start, *end)));
                }
                Op::Const(c) => self.stack.push(constant(unit, &unit.consts[*c as usize])),
                Op::Nil => self.stack.push(Value::Nil),
                Op::Dot => {
                    let dot = interface_nil(&frame.dot);
                    self.stack.push(dot);
                }
                Op::Var(slot) => {
                    let slot = self.variable(*slot)?;
                    let value = interface_nil(&self.vars[slot]);
                    self.stack.push(value);
                }
                Op::ChainDot(first, count) => self.walk(unit, Base::Dot, *first, *count)?,
                Op::ChainVar(slot, first, count) => self.walk(unit, Base::Var(*slot), *first, *count)?,
                Op::ChainStack(first, count) => self.walk(unit, Base::Stack, *first, *count)?,
                Op::Unwrap => {
                    if let Some(top @ Value::NilAny) = self.stack.last_mut() {
                        *top = Value::Nil;
                    }
                }
                Op::Check(ty) => {
                    let i = self.stack.len() - 1;
                    self.check(i, ty)?;
                }
                Op::CheckFinal(ty, argc) => {
                    let i = self.stack.len() - 1 - *argc as usize;
                    self.check(i, ty)?;
                }
                Op::Raise(m) => return Err(unit.messages[*m as usize].to_string().into()),
                Op::Call(func, site) => {
                    let Passed { arguments, piped, node } = &unit.calls[*site as usize];
                    let base = self.stack.len() - *arguments as usize - usize::from(*piped);
                    if *piped {
                        self.stack[base..].rotate_left(1);
                    }
                    match func.call {
                        Call::Native(native) => {
                            normalise(self.ctx.heap, func, &mut self.stack[base..]);
                            let before = self.ctx.heap.left();
                            match native(&self.ctx, &self.stack[base..]) {
                                Ok(value) => {
                                    let read = self.stack[base..].iter().map(length_of_text).sum();
                                    self.settle(&value, before, read)?;
                                    self.stack.truncate(base);
                                    self.stack.push(value);
                                }
                                Err(e) => {
                                    self.involved = self.stack.last().cloned();
                                    return Err(Raised::Function(func.name, e, *node));
                                }
                            }
                        }
                        Call::Include => {
                            if let Some(frame) = self.frames.last_mut() {
                                frame.pc = pc;
                                frame.call = *node;
                            }
                            self.include(base, *node)?;
                            (unit, pc) = match self.resume() {
                                Some(next) => next,
                                None => return Ok(()),
                            };
                        }
                        Call::Tpl => {
                            if let Some(frame) = self.frames.last_mut() {
                                frame.pc = pc;
                                frame.call = *node;
                            }
                            self.tpl(base, *node)?;
                            (unit, pc) = match self.resume() {
                                Some(next) => next,
                                None => return Ok(()),
                            };
                        }
                        Call::Call => return Err(self.call_builtin(base, *piped, *node)),
                        // The compiler turns these into jumps.
                        Call::And | Call::Or => {}
                        Call::Refused(why) => return Err(why.to_owned().into()),
                    }
                }
                Op::ShortCircuit(or, to) => {
                    if self.stack.last().is_some_and(|v| v.truth() == *or) {
                        pc = *to as usize;
                    } else {
                        self.stack.pop();
                    }
                }
                Op::DropBelow => {
                    let top = self.stack.pop();
                    self.stack.pop();
                    self.stack.extend(top);
                }
                Op::At => {}
                Op::Method(name, argc, piped, skip) => {
                    let name = unit.text_constant(*name);
                    if !self.method(name, *argc as usize, *piped)? {
                        pc = *skip as usize;
                    }
                }
                Op::MethodArg(n) => {
                    let i = self.stack.len() - 1;
                    if let Some(pending) = self.pending.last() {
                        let ty = parameter(pending.func, *n as usize);
                        self.check(i, ty)?;
                    }
                }
                Op::MethodLiteral(n, index) => {
                    let ty = self.pending.last().map(|p| parameter(p.func, *n as usize));
                    let found = &unit.literals[*index as usize];
                    let value = self.method_literal(unit, found, ty.unwrap_or(&crate::types::ANY))?;
                    self.stack.push(value);
                }
                Op::CallMethod(argc, piped, node) => self.call_method(*argc as usize, *piped, *node)?,
                Op::Declare(slot) => {
                    let i = frame.vars + *slot as usize;
                    if let (Some(value), Some(var)) = (self.stack.last(), self.vars.get_mut(i)) {
                        *var = Slot { value: value.clone(), state: State::Plain };
                    }
                }
                Op::Assign(slot) => {
                    let i = self.variable(*slot)?;
                    if let Some(value) = self.stack.last() {
                        self.vars[i] = Slot { value: value.clone(), state: State::Plain };
                    }
                }
                Op::Pop => {
                    self.stack.pop();
                }
                Op::Print => self.print()?,
                Op::Jump(to) => pc = *to as usize,
                Op::JumpUnless(to) => {
                    if !self.stack.pop().is_some_and(|v| v.truth()) {
                        pc = *to as usize;
                    }
                }
                Op::With(to) => match self.stack.pop().filter(Value::truth) {
                    Some(value) => {
                        let dot = Slot { value, state: State::Plain };
                        self.withs.push(std::mem::replace(&mut frame.dot, dot));
                    }
                    None => pc = *to as usize,
                },
                Op::EndWith => {
                    if let Some(dot) = self.withs.pop() {
                        frame.dot = dot;
                    }
                }
                Op::Range(to, two) => {
                    if !self.begin_range(*two)? {
                        pc = *to as usize;
                    }
                }
                Op::Next(next) => {
                    if !self.next_turn(next) {
                        pc = next.exit as usize;
                    }
                }
                Op::EndRange => self.end_range(),
                Op::FindTemplate(name) => {
                    let name = unit.text_constant(*name);
                    if self.find(frame_scope(&self.frames), name).is_none() {
                        return Err(format!("template {} not defined", quoted(name)).into());
                    }
                    if self.frames.last().is_some_and(|f| f.depth == MAX_TEMPLATES) {
                        return Err(format!("exceeded maximum template depth ({MAX_TEMPLATES})").into());
                    }
                }
                Op::Template(name) => {
                    let name = unit.text_constant(*name);
                    let dot = self.stack.pop().unwrap_or_default();
                    let (scope, depth) = (frame.scope, frame.depth + 1);
                    frame.pc = pc;
                    if let Some(target) = self.find(scope, name) {
                        self.enter(target, dot, scope, Entry::Template, depth)?;
                    }
                    (unit, pc) = match self.resume() {
                        Some(next) => next,
                        None => return Ok(()),
                    };
                }
            }
        }
    }

    /// Walks fields and pushes what is there.
    fn walk(&mut self, unit: &'h Unit, base: Base, first: u32, count: u32) -> Step<()> {
        let names = &unit.names[first as usize..(first + count) as usize];
        let walked = self.chain(base, &unit.source, names);
        // What a map could not be made of is not missing.
        self.check_memory()?;
        let (value, interface) = walked?;
        self.walked_interface = interface;
        self.stack.push(if interface { as_interface(value) } else { value });
        Ok(())
    }

    /// The frame to go on with.
    fn resume(&self) -> Option<(&'h Unit, usize)> {
        self.frames.last().map(|frame| (frame.unit, frame.pc))
    }

    /// The place of a variable, following what it hides while it is not set.
    fn variable(&self, slot: u32) -> Step<usize> {
        let Some(frame) = self.frames.last() else {
            return Ok(0);
        };
        let mut slot = slot;
        let first = slot;
        while slot != NO_SLOT {
            let i = frame.vars + slot as usize;
            if self.vars.get(i).is_some_and(|v| v.state != State::Unset) {
                return Ok(i);
            }
            slot = frame.unit.vars.get(slot as usize).map_or(NO_SLOT, |v| v.hides);
        }
        let mut message = b"undefined variable: ".to_vec();
        message.extend_from_slice(frame.unit.variable_name(first));
        Err(Raised::Template(message))
    }

    fn print(&mut self) -> Step<()> {
        match self.stack.pop() {
            Some(Value::Nil) | None => self.output.extend_from_slice(b"<no value>"),
            Some(value @ Value::Struct(_)) => {
                let text = self.addressed_string(&value)?;
                match text {
                    Some(text) => self.output.extend_from_slice(&text),
                    None => {
                        let target = self.ctx.heap.pointed_to(value);
                        fmt::value(&mut self.output, &target);
                    }
                }
            }
            Some(value) => fmt::value(&mut self.output, &value),
        }
        Ok(())
    }
}

/// A nil that an untyped list or map held is known as an interface.
fn interface_nil<'h>(slot: &Slot<'h>) -> Value<'h> {
    if slot.state == State::Interface { as_interface(slot.value.clone()) } else { slot.value.clone() }
}

fn as_interface(value: Value<'_>) -> Value<'_> {
    if let Value::Nil = value { Value::NilAny } else { value }
}

/// Removes every `<no value>`.
pub fn without_no_value(text: &[u8]) -> std::borrow::Cow<'_, [u8]> {
    const MARK: &[u8] = b"<no value>";
    let mut out: Option<Vec<u8>> = None;
    let mut copied = 0;
    let mut at = 0;
    while let Some(offset) = memchr::memchr(b'<', &text[at..]) {
        at += offset;
        if text[at..].starts_with(MARK) {
            let out = out.get_or_insert_with(|| Vec::with_capacity(text.len()));
            out.extend_from_slice(&text[copied..at]);
            at += MARK.len();
            copied = at;
        } else {
            at += 1;
        }
    }
    match out {
        Some(mut out) => {
            out.extend_from_slice(&text[copied..]);
            out.into()
        }
        None => text.into(),
    }
}
