//! Tree to instructions.

use std::sync::Arc;

use crate::code::{
    Base, Const, Functions, HERE, Literal, LiteralKind, NO_SLOT, Next, Op, Passed, Text, Unit, Variable,
};
use crate::func::{Call, Func};
use crate::gostr;
use crate::syntax::{Id, NodeKind, Number, Quoted, Span, Tree, VERBATIM};
use crate::types::{Shape, Type};

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
    let Compiler { ops, at, calls, consts, names, depth, .. } = compiler;
    if ops.capacity() <= MAX_ROOM {
        *room = Room { depth, ops, at, calls, consts, names };
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
    depth: Vec<usize>,
    ops: Vec<Op>,
    at: Vec<Id>,
    calls: Vec<Passed>,
    consts: Vec<Const>,
    names: Vec<Span>,
    literals: Vec<Literal>,
    messages: Vec<Box<str>>,
    vars: Vec<Variable>,
    scope: Vec<u32>,
    loops: Vec<Loop>,
    withs: u32,
}

/// What a list holds, in as much memory as it needs.
fn taken<T>(list: &mut Vec<T>) -> Box<[T]> {
    list.drain(..).collect()
}

impl<'c> Compiler<'c> {
    fn new(tree: &'c Tree, functions: &'c Functions, room: Room) -> Self {
        Self {
            tree,
            functions,
            depth: room.depth,
            ops: room.ops,
            at: room.at,
            calls: room.calls,
            consts: room.consts,
            names: room.names,
            literals: Vec::new(),
            messages: Vec::new(),
            vars: Vec::new(),
            scope: Vec::new(),
            loops: Vec::new(),
            withs: 0,
        }
    }

    fn unit(&mut self, name: &[u8], root: Id) -> Unit {
        // The variable of the data itself.
        self.vars.push(Variable { name: b"$".as_slice().into(), hides: NO_SLOT });
        self.scope.push(0);
        self.list(root);
        self.scope.clear();
        Unit {
            name: name.into(),
            source: Arc::clone(&self.tree.source),
            empty: self.tree.is_empty(root),
            ops: taken(&mut self.ops),
            at: taken(&mut self.at),
            calls: taken(&mut self.calls),
            consts: taken(&mut self.consts),
            names: taken(&mut self.names),
            literals: taken(&mut self.literals),
            messages: taken(&mut self.messages),
            vars: taken(&mut self.vars),
        }
    }

    fn emit(&mut self, op: Op, at: Id) -> usize {
        self.ops.push(op);
        self.at.push(at);
        self.ops.len() - 1
    }

    fn here(&self) -> u32 {
        self.ops.len() as u32
    }

    /// Lets a jump that was emitted before go to here.
    fn land(&mut self, jump: usize) {
        let here = self.here();
        match &mut self.ops[jump] {
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
        self.consts.push(c);
        (self.consts.len() - 1) as u32
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
        let found = self.scope.iter().rev().find(|s| *self.vars[**s as usize].name == *name);
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
                let scope = self.scope.len();
                self.pipeline(b.pipe);
                let skip = self.emit(Op::JumpUnless(0), HERE);
                self.list(b.list);
                self.otherwise(skip, b.otherwise);
                self.scope.truncate(scope);
            }
            NodeKind::With(b) => {
                let scope = self.scope.len();
                self.pipeline(b.pipe);
                let skip = self.emit(Op::With(0), HERE);
                self.withs += 1;
                self.list(b.list);
                self.withs -= 1;
                self.emit(Op::EndWith, HERE);
                self.otherwise(skip, b.otherwise);
                self.scope.truncate(scope);
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
        let scope = self.scope.len();
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
        let first = self.vars.len() as u32;
        let top = self.here();
        let next = self.emit(Op::Next(Box::new(Next { exit: 0, key, value, body: (first, first) })), HERE);
        self.loops.push(Loop { next: top, breaks: Vec::new(), withs: self.withs, running: true });
        self.list(list);
        self.emit(Op::Jump(top), HERE);
        let last = self.vars.len() as u32;
        if let Op::Next(next) = &mut self.ops[next] {
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
        self.scope.truncate(scope);
    }

    fn variable_name(&self, id: Id) -> &'c [u8] {
        match self.tree.kind(id) {
            NodeKind::Variable(names) => {
                self.tree.names(*names).first().map_or(&[], |n| self.tree.source.slice(*n))
            }
            _ => &[],
        }
    }

    // Expressions.

    /// Leaves the value on the stack; true when it was also given to variables.
    fn pipeline(&mut self, id: Id) -> bool {
        let tree = self.tree;
        let NodeKind::Pipe(pipe) = tree.kind(id) else {
            return false;
        };
        for (i, cmd) in tree.ids(pipe.cmds).iter().enumerate() {
            self.command(id, *cmd, i > 0);
        }
        for variable in tree.ids(pipe.decl) {
            let name = self.variable_name(*variable);
            let hides = self.lookup(name);
            if pipe.assign && hides == NO_SLOT {
                self.raise(format!("undefined variable: {}", String::from_utf8_lossy(name)), HERE);
            } else if pipe.assign {
                self.emit(Op::Assign(hides), HERE);
            } else {
                let slot = self.vars.len() as u32;
                self.vars.push(Variable { name: name.into(), hides });
                self.scope.push(slot);
                self.emit(Op::Declare(slot), HERE);
            }
        }
        !pipe.decl.is_empty()
    }

    fn command(&mut self, pipe: Id, cmd: Id, piped: bool) {
        let tree = self.tree;
        let NodeKind::Command(args) = tree.kind(cmd) else {
            return;
        };
        let args = tree.ids(*args);
        let Some(first) = args.first().copied() else {
            return;
        };
        let with_arguments = args.len() > 1 || piped;
        match tree.kind(first) {
            NodeKind::Field(names) => self.chain(first, Base::Dot, tree.names(*names), args, piped),
            NodeKind::Chain(inner, names) => {
                if self.chain_base(first, *inner) {
                    self.chain(HERE, Base::Stack, tree.names(*names), args, piped);
                }
            }
            NodeKind::Identifier(name) => self.function(first, cmd, *name, &args[1..], piped),
            NodeKind::Pipe(_) => {
                if with_arguments {
                    let at = if piped { HERE } else { pipe };
                    self.not_a_function(first, at);
                    return;
                }
                self.pipeline(first);
                return;
            }
            NodeKind::Variable(names) => {
                let names = tree.names(*names);
                let slot = self.lookup(tree.source.slice(names[0]));
                if names.len() == 1 {
                    if with_arguments {
                        // The variable must exist before the arguments are complained of.
                        self.variable(slot, names[0], first);
                        self.not_a_function(first, first);
                        return;
                    }
                    self.variable(slot, names[0], first);
                } else if slot == NO_SLOT {
                    self.variable(slot, names[0], first);
                } else {
                    self.chain(first, Base::Var(slot), &names[1..], args, piped);
                }
            }
            kind => {
                if with_arguments {
                    self.not_a_function(first, first);
                    return;
                }
                match kind {
                    NodeKind::Nil => self.raise("nil is not a command".to_owned(), first),
                    NodeKind::Dot => {
                        self.emit(Op::Dot, first);
                    }
                    _ => {
                        self.literal(first, &crate::types::ANY);
                        return;
                    }
                }
            }
        }
        self.emit(Op::Unwrap, HERE);
    }

    fn not_a_function(&mut self, node: Id, at: Id) {
        // A pipeline is shown without its parentheses here.
        let message = format!("can't give argument to non-function {}", self.shown(node));
        self.raise(message, at);
    }

    /// Evaluates what a chain hangs on. False when that always fails.
    fn chain_base(&mut self, chain: Id, inner: Id) -> bool {
        if matches!(self.tree.kind(inner), NodeKind::Nil) {
            let message = format!("indirection through explicit nil in {}", self.shown(chain));
            self.raise(message, chain);
            return false;
        }
        self.emit(Op::At, chain);
        self.argument(None, inner);
        true
    }

    /// Walks fields from a base.
    fn walk(&mut self, base: Base, names: &[Span], at: Id) {
        let first = self.names.len() as u32;
        self.names.extend_from_slice(names);
        let count = names.len() as u32;
        self.emit(
            match base {
                Base::Dot => Op::ChainDot(first, count),
                Base::Var(slot) => Op::ChainVar(slot, first, count),
                Base::Stack => Op::ChainStack(first, count),
            },
            at,
        );
    }

    /// Walks fields; the last one may be a method that gets arguments.
    fn chain(&mut self, node: Id, base: Base, names: &[Span], args: &[Id], piped: bool) {
        let rest = args.get(1..).unwrap_or_default();
        if rest.is_empty() && !piped {
            self.walk(base, names, node);
            return;
        }
        // The place for errors stays inside the parentheses of a chain, but a failing method is blamed on all of it.
        let blamed = if node == HERE { args[0] } else { node };
        let (last, before) = names.split_last().map_or(((0, 0), &[][..]), |(l, b)| (*l, b));
        self.walk(base, before, node);
        let name = self.constant(Const::Str(Text::Source(last)));
        let method = self.emit(Op::Method(name, rest.len() as u32, piped, 0), HERE);
        for (i, arg) in rest.iter().enumerate() {
            let i = i as u32;
            if let Some(found) = literal_of(self.tree, *arg) {
                let shown = self.shown(*arg).into();
                self.literals.push(Literal { kind: found.to_owned(), shown });
                let index = (self.literals.len() - 1) as u32;
                self.emit(Op::MethodLiteral(i, index), *arg);
            } else {
                self.argument(None, *arg);
                self.emit(Op::MethodArg(i), HERE);
            }
        }
        self.emit(Op::CallMethod(rest.len() as u32, piped, blamed), HERE);
        self.land(method);
    }

    fn function(&mut self, ident: Id, cmd: Id, name: Span, args: &[Id], piped: bool) {
        let name = std::str::from_utf8(self.tree.source.slice(name)).unwrap_or_default();
        let Some(func) = self.functions.get(name) else {
            self.raise(format!("{name:?} is not a defined function"), ident);
            return;
        };
        // Marks the place before anything of the call is evaluated.
        self.emit(Op::At, ident);
        if let Some(message) = arity_error(func, name, args.len(), piped) {
            self.raise(message, HERE);
            return;
        }
        match func.call {
            Call::And => self.short_circuit(false, args, piped),
            Call::Or => self.short_circuit(true, args, piped),
            Call::Call => {
                for arg in args {
                    self.argument(Some(&crate::types::REFLECT), *arg);
                }
                let callee = match args.first() {
                    Some(arg) => self.tree.show(*arg),
                    None => Vec::new(),
                };
                let shown = self.constant(Const::Str(Text::Own(callee.into())));
                self.emit(Op::Const(shown), HERE);
                self.call(func, args.len() + 1, piped, cmd);
            }
            _ => {
                for (i, arg) in args.iter().enumerate() {
                    self.argument(Some(parameter(func, i)), *arg);
                }
                if piped {
                    let ty = parameter(func, args.len());
                    self.emit(Op::CheckFinal(ty, args.len() as u32), HERE);
                }
                self.call(func, args.len(), piped, cmd);
            }
        }
    }

    fn call(&mut self, func: &'static Func, arguments: usize, piped: bool, node: Id) {
        self.calls.push(Passed { arguments: arguments as u32, piped, node });
        self.emit(Op::Call(func, (self.calls.len() - 1) as u32), HERE);
    }

    fn short_circuit(&mut self, or: bool, args: &[Id], piped: bool) {
        let mut jumps = Vec::new();
        for (i, arg) in args.iter().enumerate() {
            self.argument(Some(&crate::types::REFLECT), *arg);
            if i + 1 < args.len() || piped {
                jumps.push(self.emit(Op::ShortCircuit(or, 0), HERE));
            }
        }
        if piped {
            // Not decided yet: the piped value, which is below, is the answer. When it was decided, the answer lies
            // on top of the piped value, which has to go.
            let done = self.emit(Op::Jump(0), HERE);
            for jump in jumps {
                self.land(jump);
            }
            self.emit(Op::DropBelow, HERE);
            self.land(done);
        } else {
            for jump in jumps {
                self.land(jump);
            }
        }
    }

    /// An argument of a declared type, or of any type that the caller checks itself.
    fn argument(&mut self, ty: Option<&'static Type>, id: Id) {
        let tree = self.tree;
        match tree.kind(id) {
            NodeKind::Dot => {
                self.emit(Op::Dot, id);
            }
            NodeKind::Nil => match ty {
                Some(ty) if !ty.can_be_nil() => {
                    self.raise(format!("cannot assign nil to {}", ty.name), id);
                    return;
                }
                _ => {
                    self.emit(Op::Nil, id);
                }
            },
            NodeKind::Field(names) => self.chain(id, Base::Dot, tree.names(*names), &[], false),
            NodeKind::Variable(names) => {
                let names = tree.names(*names);
                let slot = self.lookup(tree.source.slice(names[0]));
                if names.len() == 1 || slot == NO_SLOT {
                    self.variable(slot, names[0], id);
                } else {
                    self.chain(id, Base::Var(slot), &names[1..], &[], false);
                }
            }
            NodeKind::Pipe(_) => {
                self.emit(Op::At, id);
                self.pipeline(id);
            }
            NodeKind::Identifier(name) => self.function(id, id, *name, &[], false),
            NodeKind::Chain(inner, names) => {
                if self.chain_base(id, *inner) {
                    self.chain(HERE, Base::Stack, tree.names(*names), &[], false);
                }
            }
            _ => {
                self.literal(id, ty.unwrap_or(&crate::types::ANY));
                return;
            }
        }
        if let Some(ty) = ty
            && !matches!(ty.shape, Shape::Any | Shape::Reflect)
        {
            self.emit(Op::Check(ty), HERE);
        }
    }

    /// A literal as a value of a type; for an untyped parameter its own form decides.
    fn literal(&mut self, id: Id, ty: &Type) {
        let Some(found) = literal_of(self.tree, id) else {
            return;
        };
        match literal(&found, &|| self.shown(id), ty) {
            Ok(c) => {
                let c = self.constant(c);
                self.emit(Op::Const(c), id);
            }
            Err(message) => self.raise(message, id),
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

/// A quoted text of a tree.
fn text_of(tree: &Tree, quoted: Quoted) -> Text {
    if quoted.text == VERBATIM { Text::Source(quoted.inside()) } else { Text::Own(tree.text(quoted).into()) }
}

/// A literal that may be part of a tree.
pub enum Found<'t> {
    Nil,
    Bool(bool),
    Number(&'t Number),
    Str(Text),
}

impl Found<'_> {
    fn to_owned(&self) -> LiteralKind {
        match self {
            Found::Nil => LiteralKind::Nil,
            Found::Bool(b) => LiteralKind::Bool(*b),
            Found::Number(n) => LiteralKind::Number(Box::new((*n).clone())),
            Found::Str(text) => LiteralKind::Str(text.clone()),
        }
    }
}

/// The literal that a node is, if it is one.
fn literal_of(tree: &Tree, id: Id) -> Option<Found<'_>> {
    Some(match tree.kind(id) {
        NodeKind::Nil => Found::Nil,
        NodeKind::Bool(b) => Found::Bool(*b),
        NodeKind::Number(n) => Found::Number(&tree.numbers[*n as usize]),
        NodeKind::String(quoted) => Found::Str(text_of(tree, *quoted)),
        _ => return None,
    })
}

/// A literal as a value of a type.
pub fn literal(literal: &Found<'_>, shown: &dyn Fn() -> String, ty: &Type) -> Result<Const, String> {
    match (&ty.shape, literal) {
        (Shape::Any | Shape::Reflect, Found::Bool(b)) | (Shape::Bool, Found::Bool(b)) => Ok(Const::Bool(*b)),
        (Shape::Any | Shape::Reflect | Shape::String, Found::Str(text)) => Ok(Const::Str(text.clone())),
        (Shape::Any | Shape::Reflect, Found::Number(n)) => {
            if let (Some((re, im)), _) = (n.complex, n.float) {
                Ok(Const::Complex(re, im))
            } else if let (true, Some(f)) = (n.looks_float(), n.float) {
                Ok(Const::Float(f))
            } else if let Some(i) = n.int {
                Ok(Const::Int(i))
            } else {
                Err(format!("{} overflows int", n.text))
            }
        }
        (Shape::Bool, _) => Err(format!("expected bool; found {}", shown())),
        (Shape::String, _) => Err(format!("expected string; found {}", shown())),
        (Shape::Int(bits), kind) => match kind {
            Found::Number(n) if n.int.is_some() => {
                let i = n.int.unwrap_or(0);
                Ok(match bits {
                    0 => Const::Int(i),
                    32 => Const::Int32(i as i32),
                    _ => Const::Int64(i),
                })
            }
            _ => Err(format!("expected integer; found {}", shown())),
        },
        (Shape::Uint(bits), kind) => match kind {
            Found::Number(n) if n.uint.is_some() => {
                let u = n.uint.unwrap_or(0);
                Ok(if *bits == 8 { Const::Uint8(u as u8) } else { Const::Uint64(u) })
            }
            _ => Err(format!("expected unsigned integer; found {}", shown())),
        },
        (Shape::Float, Found::Number(n)) if n.float.is_some() => Ok(Const::Float(n.float.unwrap_or(0.0))),
        (Shape::Float, _) => Err(format!("expected float; found {}", shown())),
        (Shape::Complex, Found::Number(n)) if n.complex.is_some() => {
            let (re, im) = n.complex.unwrap_or((0.0, 0.0));
            Ok(Const::Complex(re, im))
        }
        (Shape::Complex, _) => Err(format!("expected complex; found {}", shown())),
        _ => Err(format!("can't handle {} for arg of type {}", shown(), ty.name)),
    }
}

/// A name the way `%q` prints it.
pub fn quoted(name: &[u8]) -> String {
    String::from_utf8_lossy(&gostr::quote(name)).into_owned()
}
