//! Pipelines, commands and operands.

use super::{Compiler, arity_error, literal, literal_of, parameter};
use crate::code::{Base, Const, HERE, Literal, NO_SLOT, Op, Passed, Text, Variable};
use crate::func::{Call, Func};
use crate::syntax::{Id, NodeKind, Span};
use crate::types::{Shape, Type};

impl<'c> Compiler<'c> {
    /// Leaves the value on the stack; true when it was also given to variables.
    pub(super) fn pipeline(&mut self, id: Id) -> bool {
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
                let slot = self.room.vars.len() as u32;
                let name = Some(self.variable_span(*variable));
                self.room.vars.push(Variable { name, hides });
                self.room.scope.push(slot);
                self.emit(Op::Declare(slot), HERE);
            }
        }
        !pipe.decl.is_empty()
    }

    pub(super) fn command(&mut self, pipe: Id, cmd: Id, piped: bool) {
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

    pub(super) fn not_a_function(&mut self, node: Id, at: Id) {
        // A pipeline is shown without its parentheses here.
        let message = format!("can't give argument to non-function {}", self.shown(node));
        self.raise(message, at);
    }

    /// Evaluates what a chain hangs on. False when that always fails.
    pub(super) fn chain_base(&mut self, chain: Id, inner: Id) -> bool {
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
    pub(super) fn walk(&mut self, base: Base, names: &[Span], at: Id) {
        let first = self.room.names.len() as u32;
        self.room.names.extend_from_slice(names);
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
    pub(super) fn chain(&mut self, node: Id, base: Base, names: &[Span], args: &[Id], piped: bool) {
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

    pub(super) fn function(&mut self, ident: Id, cmd: Id, name: Span, args: &[Id], piped: bool) {
        let name = self.tree.source.slice(name);
        let Some(func) = self.functions.get(name) else {
            let name = std::str::from_utf8(name).unwrap_or_default();
            self.raise(format!("{name:?} is not a defined function"), ident);
            return;
        };
        // Marks the place before anything of the call is evaluated.
        self.emit(Op::At, ident);
        if let Some(message) = arity_error(func, func.name, args.len(), piped) {
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

    pub(super) fn call(&mut self, func: &'static Func, arguments: usize, piped: bool, node: Id) {
        self.room.calls.push(Passed { arguments: arguments as u32, piped, node });
        self.emit(Op::Call(func, (self.room.calls.len() - 1) as u32), HERE);
    }

    pub(super) fn short_circuit(&mut self, or: bool, args: &[Id], piped: bool) {
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
    pub(super) fn argument(&mut self, ty: Option<&'static Type>, id: Id) {
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
    pub(super) fn literal(&mut self, id: Id, ty: &Type) {
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
