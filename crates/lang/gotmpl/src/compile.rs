//! Tree to instructions.

mod expression;
mod literal;

use std::sync::Arc;

pub use literal::{Found, literal};
use literal::{literal_of, text_of};

use crate::code::{Const, Functions, HERE, Literal, NO_SLOT, Next, Op, Passed, Unit, Variable};
use crate::func::Func;
use crate::gostr;
use crate::syntax::{Id, NodeKind, Span, Tree};
use crate::types::Type;

/// How deeply expressions may nest on the caller's stack.
const SHALLOW: usize = 100;
const STACK_PER_LEVEL: usize = 4 * 1024;

/// Compiles every template of a tree.
pub fn compile(tree: &Tree, functions: &Functions, room: &mut Room) -> Vec<Unit> {
    let depth = nesting(tree, &mut room.depth);
    if depth <= SHALLOW {
        return units(tree, functions, room);
    }
    // Deep trees get a stack that fits them.
    let stack = depth * STACK_PER_LEVEL + (1 << 20);
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new().stack_size(stack);
        match worker
            .spawn_scoped(scope, || units(tree, functions, &mut Room::default()))
            .map(std::thread::ScopedJoinHandle::join)
        {
            Ok(Ok(units)) => units,
            _ => Vec::new(),
        }
    })
}

fn units(tree: &Tree, functions: &Functions, room: &mut Room) -> Vec<Unit> {
    let mut compiler = Compiler::new(tree, functions, std::mem::take(room));
    let units = tree.templates.iter().map(|(name, root)| compiler.unit(name, *root)).collect();
    if compiler.room.ops.capacity() <= MAX_ROOM {
        *room = compiler.room;
    }
    units
}

/// Lists that are used for one text after the other.
#[derive(Default)]
pub struct Room {
    depth: Vec<usize>,
    ops: Vec<Op>,
    at: Vec<Id>,
    calls: Vec<Passed>,
    consts: Vec<Const>,
    names: Vec<Span>,
    vars: Vec<Variable>,
    scope: Vec<u32>,
}

/// Lists that are longer than this are not kept.
const MAX_ROOM: usize = 4096;

/// An upper bound of the nesting: children are made before their parents, so one pass tells.
fn nesting(tree: &Tree, depth: &mut Vec<usize>) -> usize {
    depth.clear();
    depth.reserve(tree.nodes.len());
    let mut deepest = 0;
    for node in &tree.nodes {
        let of = |id: &Id| depth.get(*id as usize).copied().unwrap_or(0);
        let below = match &node.kind {
            NodeKind::List(ids) | NodeKind::Command(ids) => tree.ids(*ids).iter().map(of).max().unwrap_or(0),
            NodeKind::Action(id) | NodeKind::Chain(id, _) | NodeKind::Template(_, Some(id)) => of(id),
            NodeKind::If(b) | NodeKind::Range(b) | NodeKind::With(b) => {
                of(&b.pipe).max(of(&b.list)).max(b.otherwise.as_ref().map_or(0, of))
            }
            NodeKind::Pipe(p) => tree.ids(p.cmds).iter().map(of).max().unwrap_or(0),
            _ => 0,
        };
        depth.push(below + 1);
        deepest = deepest.max(below + 1);
    }
    deepest
}

/// A loop being compiled: where `continue` goes, which jumps leave it, and how many `with`s are open inside.
struct Loop {
    next: u32,
    breaks: Vec<usize>,
    withs: u32,
    /// Whether the body is being compiled, not what follows `else`.
    running: bool,
}

/// What is compiled so far of a template. The lists are used for one template after the other.
struct Compiler<'c> {
    tree: &'c Tree,
    functions: &'c Functions,
    room: Room,
    literals: Vec<Literal>,
    messages: Vec<Box<str>>,
    loops: Vec<Loop>,
    withs: u32,
}

/// What a list holds, in as much memory as it needs.
fn taken<T>(list: &mut Vec<T>) -> Box<[T]> {
    if list.is_empty() {
        return Box::default();
    }
    let mut all = Vec::with_capacity(list.len());
    all.append(list);
    all.into_boxed_slice()
}

impl<'c> Compiler<'c> {
    fn new(tree: &'c Tree, functions: &'c Functions, room: Room) -> Self {
        Self {
            tree,
            functions,
            room,
            literals: Vec::new(),
            messages: Vec::new(),
            loops: Vec::new(),
            withs: 0,
        }
    }

    fn unit(&mut self, name: &[u8], root: Id) -> Unit {
        // The variable of the data itself.
        self.room.vars.push(Variable { name: None, hides: NO_SLOT });
        self.room.scope.push(0);
        self.list(root);
        self.room.scope.clear();
        Unit {
            name: name.into(),
            source: Arc::clone(&self.tree.source),
            empty: self.tree.is_empty(root),
            ops: taken(&mut self.room.ops),
            at: taken(&mut self.room.at),
            calls: taken(&mut self.room.calls),
            consts: taken(&mut self.room.consts),
            names: taken(&mut self.room.names),
            literals: taken(&mut self.literals),
            messages: taken(&mut self.messages),
            vars: taken(&mut self.room.vars),
        }
    }

    fn emit(&mut self, op: Op, at: Id) -> usize {
        self.room.ops.push(op);
        self.room.at.push(at);
        self.room.ops.len() - 1
    }

    fn here(&self) -> u32 {
        self.room.ops.len() as u32
    }

    /// Lets a jump that was emitted before go to here.
    fn land(&mut self, jump: usize) {
        let here = self.here();
        match &mut self.room.ops[jump] {
            Op::Jump(to)
            | Op::JumpUnless(to)
            | Op::With(to)
            | Op::Range(to, _)
            | Op::ShortCircuit(_, to)
            | Op::Method(_, _, _, to) => {
                *to = here;
            }
            Op::Next(next) => next.exit = here,
            _ => {}
        }
    }

    fn constant(&mut self, c: Const) -> u32 {
        self.room.consts.push(c);
        (self.room.consts.len() - 1) as u32
    }

    fn raise(&mut self, message: String, at: Id) {
        self.messages.push(message.into());
        let index = (self.messages.len() - 1) as u32;
        self.emit(Op::Raise(index), at);
    }

    fn shown(&self, id: Id) -> String {
        String::from_utf8_lossy(&self.tree.show(id)).into_owned()
    }

    fn lookup(&self, name: &[u8]) -> u32 {
        let Room { vars, scope, .. } = &self.room;
        let named = |slot: &&u32| vars[**slot as usize].name(&self.tree.source) == name;
        let found = scope.iter().rev().find(named);
        found.copied().unwrap_or(NO_SLOT)
    }

    /// Pushes a variable. One that is declared by the very pipeline that asks for it is not there yet.
    fn variable(&mut self, slot: u32, name: Span, at: Id) {
        if slot == NO_SLOT {
            let name = String::from_utf8_lossy(self.tree.source.slice(name)).into_owned();
            self.raise(format!("undefined variable: {name}"), at);
        } else {
            self.emit(Op::Var(slot), at);
        }
    }

    // Statements.

    fn list(&mut self, id: Id) {
        let tree = self.tree;
        if let NodeKind::List(nodes) = tree.kind(id) {
            for node in tree.ids(*nodes) {
                self.statement(*node);
            }
        }
    }

    fn statement(&mut self, id: Id) {
        let tree = self.tree;
        match tree.kind(id) {
            NodeKind::Text(start, end) => {
                self.emit(Op::Text(*start, *end), HERE);
            }
            NodeKind::Action(pipe) => {
                let declares = self.pipeline(*pipe);
                self.emit(if declares { Op::Pop } else { Op::Print }, HERE);
            }
            NodeKind::If(b) => {
                let scope = self.room.scope.len();
                self.pipeline(b.pipe);
                let skip = self.emit(Op::JumpUnless(0), HERE);
                self.list(b.list);
                self.otherwise(skip, b.otherwise);
                self.room.scope.truncate(scope);
            }
            NodeKind::With(b) => {
                let scope = self.room.scope.len();
                self.pipeline(b.pipe);
                let skip = self.emit(Op::With(0), HERE);
                self.withs += 1;
                self.list(b.list);
                self.withs -= 1;
                self.emit(Op::EndWith, HERE);
                self.otherwise(skip, b.otherwise);
                self.room.scope.truncate(scope);
            }
            NodeKind::Range(b) => self.range(id, b.pipe, b.list, b.otherwise),
            NodeKind::Break => {
                if let Some(l) = self.loops.last() {
                    let running = l.running;
                    for _ in 0..self.withs - l.withs {
                        self.emit(Op::EndWith, HERE);
                    }
                    if running {
                        self.emit(Op::EndRange, HERE);
                    }
                    let jump = self.emit(Op::Jump(0), HERE);
                    if let Some(l) = self.loops.last_mut() {
                        l.breaks.push(jump);
                    }
                }
            }
            NodeKind::Continue => {
                if let Some(l) = self.loops.iter().rev().find(|l| l.running) {
                    let next = l.next;
                    for _ in 0..self.withs - l.withs {
                        self.emit(Op::EndWith, HERE);
                    }
                    self.emit(Op::Jump(next), HERE);
                }
            }
            NodeKind::Template(name, pipe) => {
                let name = self.constant(Const::Str(text_of(tree, *name)));
                self.emit(Op::FindTemplate(name), id);
                match pipe {
                    Some(pipe) => {
                        self.pipeline(*pipe);
                    }
                    None => {
                        self.emit(Op::Nil, HERE);
                    }
                }
                self.emit(Op::Template(name), HERE);
            }
            _ => {}
        }
    }

    fn otherwise(&mut self, skip: usize, otherwise: Option<Id>) {
        match otherwise {
            Some(list) => {
                let end = self.emit(Op::Jump(0), HERE);
                self.land(skip);
                self.list(list);
                self.land(end);
            }
            None => self.land(skip),
        }
    }

    fn range(&mut self, node: Id, pipe: Id, list: Id, otherwise: Option<Id>) {
        let scope = self.room.scope.len();
        self.emit(Op::At, node);
        self.pipeline(pipe);
        let tree = self.tree;
        let decl = match tree.kind(pipe) {
            NodeKind::Pipe(p) => tree.ids(p.decl),
            _ => &[],
        };
        let slots: Vec<u32> = decl.iter().map(|d| self.lookup(self.variable_name(*d))).collect();
        let (key, value) = match slots.as_slice() {
            [value] => (NO_SLOT, *value),
            [key, value] => (*key, *value),
            _ => (NO_SLOT, NO_SLOT),
        };
        let begin = self.emit(Op::Range(0, slots.len() > 1), HERE);
        let first = self.room.vars.len() as u32;
        let top = self.here();
        let next = self.emit(Op::Next(Box::new(Next { exit: 0, key, value, body: (first, first) })), HERE);
        self.loops.push(Loop { next: top, breaks: Vec::new(), withs: self.withs, running: true });
        self.list(list);
        self.emit(Op::Jump(top), HERE);
        let last = self.room.vars.len() as u32;
        if let Op::Next(next) = &mut self.room.ops[next] {
            next.body = (first, last);
        }
        self.land(begin);
        if let Some(list) = otherwise {
            // A `break` in here leaves this loop, though it never began; a `continue` belongs to the one around.
            if let Some(l) = self.loops.last_mut() {
                l.running = false;
            }
            self.list(list);
        }
        let breaks = self.loops.pop().map(|l| l.breaks).unwrap_or_default();
        self.land(next);
        for jump in breaks {
            self.land(jump);
        }
        self.room.scope.truncate(scope);
    }

    fn variable_name(&self, id: Id) -> &'c [u8] {
        self.tree.source.slice(self.variable_span(id))
    }

    fn variable_span(&self, id: Id) -> Span {
        match self.tree.kind(id) {
            NodeKind::Variable(names) => self.tree.names(*names).first().copied().unwrap_or_default(),
            _ => Span::default(),
        }
    }
}

/// The type of the n-th argument.
pub fn parameter(func: &'static Func, n: usize) -> &'static Type {
    match func.params.get(n).or(func.params.last()) {
        Some(ty) => ty,
        None => &crate::types::ANY,
    }
}

/// Go's complaint about the number of arguments.
pub fn arity_error(func: &Func, name: &str, args: usize, piped: bool) -> Option<String> {
    let given = args + usize::from(piped);
    let declared = func.params.len();
    if func.variadic {
        let least = declared.saturating_sub(1);
        return (given < least)
            .then(|| format!("wrong number of args for {name}: want at least {least} got {args}"));
    }
    (given != declared).then(|| format!("wrong number of args for {name}: want {declared} got {given}"))
}

/// A name the way `%q` prints it.
pub fn quoted(name: &[u8]) -> String {
    String::from_utf8_lossy(&gostr::quote(name)).into_owned()
}
