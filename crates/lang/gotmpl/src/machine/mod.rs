//! Runs compiled templates.
//!
//! Templates that call templates (by `template`, `include` or `tpl`) are frames on a stack of our own: the machine's
//! stack does not grow, however deep they nest.

mod field;
mod limits;
mod range;
mod scope;

use std::collections::HashMap;
use std::rc::Rc;

use crate::code::{Base, Const, Functions, HERE, Literal, LiteralKind, NO_SLOT, Op, Passed, Unit};
use crate::compile::{literal, parameter, quoted};
use crate::error::{Cause, RenderError, Site, Via};
use crate::fmt;
use crate::func::{Call, Ctx, Error, Func, World};
use crate::heap::Heap;
use crate::program::Templates;
use crate::syntax::{self, Id, Names, Tree};
use crate::types::{Shape, Type};
use crate::value::{Str, Value};

pub use limits::Limits;
use range::Iter;
use scope::Scope;
pub use scope::Texts;

/// How often a name may be included inside itself: Helm's limit.
const MAX_INCLUDES: u32 = 1000;
/// How many places of an error are told.
const MAX_TRACE: usize = 4_000;
/// How many of one that Go does not have, so that nobody compares it with Go's.
const MAX_LIMIT_TRACE: usize = 12;
/// How long the places of an error may be together, about.
const MAX_TRACE_BYTES: usize = 1 << 20;
/// After functions have worked on so many bytes the clock is looked at.
const MUCH_WORK: usize = 1 << 20;
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
    included: HashMap<Str<'h>, u32>,
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

/// The trees of the texts that an error is about. They are not kept after compiling: what is parsed again has the same
/// nodes.
#[derive(Default)]
struct Trees(HashMap<usize, Option<Tree>>);

impl Trees {
    /// Where a node is, and its text.
    fn node(&mut self, unit: &Unit, id: Id) -> (u32, Vec<u8>) {
        let key = std::sync::Arc::as_ptr(&unit.source) as usize;
        let tree = self.0.entry(key).or_insert_with(|| syntax::parse(&unit.source, &AnyName).ok());
        tree.as_ref().and_then(|t| Some((t.nodes.get(id as usize)?.pos, t.show(id)))).unwrap_or_default()
    }
}

/// Takes every function for granted: the text was parsed before.
struct AnyName;

impl Names for AnyName {
    fn has(&self, _: &str) -> bool {
        true
    }
}

/// An error before its place is known.
enum Raised {
    /// The language refuses.
    Template(Vec<u8>),
    /// A function failed; blame this node.
    Function(&'static str, Error, Id),
    /// A missing include; blame this node.
    NoTemplate(Vec<u8>, Id),
    /// A limit.
    Limit(Vec<u8>),
}

impl From<String> for Raised {
    fn from(message: String) -> Self {
        Raised::Template(message.into_bytes())
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

    fn push_frame(
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

    /// Turns what was raised into an error with all its places.
    fn failed(&mut self, raised: Raised) -> RenderError {
        if let (Raised::Function(_, _, node) | Raised::NoTemplate(_, node), Some(frame)) =
            (&raised, self.frames.last_mut())
            && *node != HERE
        {
            frame.at = *node;
        }
        let mut trace: Vec<Site> = Vec::new();
        let mut trees = Trees::default();
        let mut room = MAX_TRACE_BYTES;
        let is_limit =
            matches!(&raised, Raised::Limit(_)) || matches!(&raised, Raised::Function(_, e, _) if e.fatal);
        let most = if is_limit { MAX_LIMIT_TRACE } else { MAX_TRACE };
        // From the inside: where there are too many places, the innermost and the outermost one tell most.
        for i in (0..self.frames.len()).rev() {
            if i > 0 && (room == 0 || trace.len() >= most) {
                continue;
            }
            // A `template` call is not a place of its own: the error is reported where it happened.
            let via = match self.frames.get(i + 1).map(|f| &f.entry) {
                Some(Entry::Template) => continue,
                Some(Entry::Include(_)) => Via::Include,
                Some(Entry::Tpl(text)) => Via::Tpl(text.to_vec()),
                Some(Entry::Root) | None => Via::None,
            };
            let frame = &self.frames[i];
            let unit = frame.unit;
            let at = if via == Via::None { frame.at } else { frame.call };
            if at == HERE {
                continue;
            }
            let (pos, expression) = trees.node(unit, at);
            let (line, column) = unit.source.location(pos);
            let (file, template) = (unit.source.name.to_vec(), unit.name.to_vec());
            let text = if let Via::Tpl(text) = &via { text.len() } else { 0 };
            room = room.saturating_sub(file.len() + template.len() + expression.len() + text + 50);
            trace.push(Site { file, line, column, template, expression, via });
        }
        trace.reverse();
        let cause = match raised {
            Raised::Template(m) => Cause::Template(m),
            Raised::Function(_, e, _) if e.fatal => Cause::Limit(e.message),
            Raised::Function(name, e, _) => Cause::Function { name: name.to_owned(), message: e.message },
            Raised::NoTemplate(m, _) => Cause::NoTemplate(m),
            Raised::Limit(m) => Cause::Limit(m),
        };
        let value = self.involved.take().map(|v| describe(&v));
        RenderError { trace, cause, value }
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
        let (value, interface) = self.chain(base, &unit.source, names)?;
        self.walked_interface = interface;
        self.stack.push(if interface { as_interface(value) } else { value });
        Ok(())
    }

    /// Counts an instruction and looks at the limits now and then.
    fn tick(&mut self) -> Step<()> {
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

    fn check_output(&self) -> Step<()> {
        if self.output.len() > self.limits.output {
            return Err(self.limit("output bytes", self.limits.output as u64));
        }
        Ok(())
    }

    fn check_time(&mut self) -> Step<()> {
        self.work = 0;
        if self.ctx.world.out_of_time() {
            return Err(Raised::Limit(b"the render ran out of time".to_vec()));
        }
        Ok(())
    }

    /// Looks at the clock after much work: a step can be a long one.
    fn worked(&mut self, bytes: usize) -> Step<()> {
        self.work = self.work.saturating_add(bytes);
        if self.work > MUCH_WORK { self.check_time() } else { Ok(()) }
    }

    fn charge(&self, bytes: usize) -> Step<()> {
        self.ctx.heap.charge(bytes).map_err(|e| Raised::Limit(e.message))
    }

    /// After a function: a text that it has made and not paid for is paid, and memory and time are looked at. The
    /// arguments are still held, so that a text which nobody else holds is a new one.
    fn settle(&mut self, made: &Value<'h>, before: usize, read: usize) -> Step<()> {
        let paid = before.saturating_sub(self.ctx.heap.left());
        if let Value::Str(Str::Shared(text)) = made
            && Rc::strong_count(text) == 1
        {
            self.charge(text.len().saturating_sub(paid))?;
            if text.len() > fmt::MAX_BYTES {
                return Err(self.limit("text", fmt::MAX_BYTES as u64));
            }
        }
        if self.ctx.heap.exhausted() {
            return Err(self.limit("memory", self.ctx.heap.budget() as u64));
        }
        self.worked(read + paid + length_of_text(made))
    }

    fn limit(&self, name: &str, value: u64) -> Raised {
        Raised::Limit(format!("the render passed its {name} limit ({value})").into_bytes())
    }

    /// The frame to go on with.
    fn resume(&self) -> Option<(&'h Unit, usize)> {
        self.frames.last().map(|frame| (frame.unit, frame.pc))
    }

    fn enter(
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
    fn leave(&mut self) -> Step<bool> {
        self.check_output()?;
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
                if let Some(count) = self.included.get_mut(&name) {
                    *count -= 1;
                }
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

    fn include(&mut self, base: usize, node: Id) -> Step<()> {
        let data = self.stack.pop().unwrap_or_default();
        let name = match self.stack.pop() {
            Some(Value::Str(name)) => name,
            _ => Str::Borrowed(b""),
        };
        self.stack.truncate(base);
        let count = self.included.entry(name.clone()).or_insert(0);
        if *count > MAX_INCLUDES {
            let mut message = b"rendering template has a nested reference name: ".to_vec();
            message.extend_from_slice(&name);
            message.extend_from_slice(b": unable to execute template");
            return Err(Raised::Function("include", Error::new(message), node));
        }
        *count += 1;
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

    fn tpl(&mut self, base: usize, node: Id) -> Step<()> {
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

    fn find(&self, scope: Option<&'h Scope<'h>>, name: &[u8]) -> Option<&'h Unit> {
        scope::find(scope, self.templates, name)
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
        message.extend(frame.unit.vars.get(first as usize).into_iter().flat_map(|v| v.name.iter()));
        Err(Raised::Template(message))
    }

    /// Fails unless a value on the stack fits a type.
    fn check(&mut self, i: usize, ty: &'static Type) -> Step<()> {
        let value = &self.stack[i];
        let Some(actual) = value.ty() else {
            if ty.can_be_nil() {
                if !matches!(ty.shape, Shape::Any | Shape::Reflect) {
                    self.stack[i] = Value::zero(ty, self.ctx.heap);
                }
                return Ok(());
            }
            return Err(format!("invalid value; expected {}", ty.name).into());
        };
        if matches!(ty.shape, Shape::Any | Shape::Reflect) || actual.assignable_to(ty) {
            return Ok(());
        }
        if let Shape::Pointer(target) = actual.shape
            && target.assignable_to(ty)
        {
            return Ok(());
        }
        self.involved = Some(value.clone());
        Err(format!("wrong type for value; expected {}; got {}", ty.name, actual.name).into())
    }

    fn method_literal(&mut self, unit: &Unit, found: &Literal, ty: &'static Type) -> Step<Value<'h>> {
        if matches!(found.kind, LiteralKind::Nil) {
            if ty.can_be_nil() {
                return Ok(Value::zero(ty, self.ctx.heap));
            }
            return Err(format!("cannot assign nil to {}", ty.name).into());
        }
        let c = literal(&found.found(), &|| found.shown.to_string(), ty).map_err(Raised::from)?;
        Ok(match c {
            Const::Str(text) => Value::Str(Str::Shared(unit.text(&text).into())),
            Const::Bool(b) => Value::Bool(b),
            Const::Int(i) => Value::Int(i),
            Const::Int32(i) => Value::Int32(i),
            Const::Int64(i) => Value::Int64(i),
            Const::Uint8(u) => Value::Uint8(u),
            Const::Uint64(u) => Value::Uint64(u),
            Const::Float(f) => Value::Float(f),
            Const::Complex(re, im) => Value::Complex(re, im),
        })
    }

    fn call_builtin(&mut self, base: usize, piped: bool, node: Id) -> Raised {
        // No value of a template is a function: all that is left is to say so.
        let args = &self.stack[base..];
        let shown = args.len() - 1 - usize::from(piped);
        let (callee, name) = if shown == 0 {
            let callee = args.last().cloned().unwrap_or_default();
            let name = match &callee {
                Value::Str(s) => s.to_text().into_owned(),
                Value::Nil | Value::NilAny => "<invalid Value>".to_owned(),
                other => format!("<{} Value>", other.type_name()),
            };
            (callee, name)
        } else {
            let name = match args.get(shown) {
                Some(Value::Str(s)) => s.to_text().into_owned(),
                _ => String::new(),
            };
            (args[0].clone(), name)
        };
        let message = if callee.is_nil() {
            "call of nil".to_owned()
        } else {
            format!("non-function {name} of type {}", callee.type_name())
        };
        Raised::Function("call", Error::new(message), node)
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

fn frame_scope<'h>(frames: &[Frame<'h>]) -> Option<&'h Scope<'h>> {
    frames.last().and_then(|f| f.scope)
}

/// A nil that an untyped list or map held is known as an interface.
fn interface_nil<'h>(slot: &Slot<'h>) -> Value<'h> {
    if slot.state == State::Interface { as_interface(slot.value.clone()) } else { slot.value.clone() }
}

fn as_interface(value: Value<'_>) -> Value<'_> {
    if let Value::Nil = value { Value::NilAny } else { value }
}

/// Functions with `interface {}` parameters see one kind of nil, and copies of structs.
fn normalise<'h>(heap: &'h Heap<'h>, func: &'static Func, args: &mut [Value<'h>]) {
    for (i, arg) in args.iter_mut().enumerate() {
        if matches!(arg, Value::NilAny | Value::Struct(_))
            && !matches!(parameter(func, i).shape, Shape::Reflect)
        {
            *arg = heap.boxed(std::mem::take(arg));
        }
    }
}

fn constant<'u>(unit: &'u Unit, c: &'u Const) -> Value<'u> {
    match c {
        Const::Bool(b) => Value::Bool(*b),
        Const::Int(i) => Value::Int(*i),
        Const::Int32(i) => Value::Int32(*i),
        Const::Int64(i) => Value::Int64(*i),
        Const::Uint8(u) => Value::Uint8(*u),
        Const::Uint64(u) => Value::Uint64(*u),
        Const::Float(f) => Value::Float(*f),
        Const::Complex(re, im) => Value::Complex(*re, *im),
        Const::Str(text) => Value::Str(Str::Borrowed(unit.text(text))),
    }
}

fn length_of_text(value: &Value<'_>) -> usize {
    match value {
        Value::Str(s) => s.len(),
        Value::Bytes(b) => b.len(),
        _ => 0,
    }
}

/// Removes every `<no value>`.
pub fn without_no_value(text: &[u8]) -> std::borrow::Cow<'_, [u8]> {
    const MARK: &[u8] = b"<no value>";
    let mut out: Option<Vec<u8>> = None;
    let mut copied = 0;
    let mut at = 0;
    while let Some(offset) = text[at..].iter().position(|b| *b == b'<') {
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

/// A value in a few words, for people. Containers are only counted: they may be huge.
fn describe(value: &Value<'_>) -> String {
    let ty = value.type_name();
    match value {
        Value::Map(m) => format!("{ty} with {} entries", m.len()),
        Value::List(l) => format!("{ty} with {} elements", l.items.len()),
        Value::Bytes(b) => format!("{ty} of {} bytes", b.len()),
        Value::Struct(_) => ty.to_owned(),
        Value::Str(s) => {
            let text = String::from_utf8_lossy(&s[..s.len().min(240)]).into_owned();
            let short: String = text.chars().take(60).collect();
            let more = if short.len() < s.len() { "…" } else { "" };
            format!("{ty} {short:?}{more}")
        }
        other => format!("{ty} {}", String::from_utf8_lossy(&fmt::to_bytes(other))),
    }
}
