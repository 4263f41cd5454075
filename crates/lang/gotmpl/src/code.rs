//! The instructions of a compiled template.

use std::collections::HashMap;
use std::sync::Arc;

use crate::compile::Found;
use crate::func::Func;
use crate::hash::NameHash;
use crate::syntax::{Id, Names, Number, Source, Span};
use crate::types::Type;

/// No node: an instruction that leaves the place for errors as it is.
pub const HERE: Id = Id::MAX;
/// No variable.
pub const NO_SLOT: u32 = u32::MAX;

/// Where a chain of fields starts.
#[derive(Clone, Copy, Debug)]
pub enum Base {
    Dot,
    Var(u32),
    Stack,
}

/// One instruction. "Push" and "pop" mean the value stack.
#[derive(Debug)]
pub enum Op {
    /// Writes a range of the source.
    Text(u32, u32),
    /// Pushes a constant.
    Const(u32),
    /// Pushes no value.
    Nil,
    /// Pushes the dot.
    Dot,
    /// Pushes a variable.
    Var(u32),
    /// Walks fields (so many entries of `names`) from the dot and pushes what is there.
    ChainDot(u32, u32),
    /// The same from a variable.
    ChainVar(u32, u32, u32),
    /// The same from what is popped.
    ChainStack(u32, u32),
    /// Forgets that a nil on the stack was an interface.
    Unwrap,
    /// Fails unless the top of the stack fits a type.
    Check(&'static Type),
    /// Fails unless the value below so many arguments fits a type.
    CheckFinal(&'static Type, u32),
    /// Fails with a message.
    Raise(u32),
    /// Calls as an entry of `calls` says.
    Call(&'static Func, u32),
    /// Ends `and` (false) or `or` (true) early, keeping the top; else pops it.
    ShortCircuit(bool, u32),
    /// Pops a receiver and looks for a method (a name) that will get so many arguments; goes on elsewhere, past the
    /// call, when there is no receiver.
    Method(u32, u32, bool, u32),
    /// Checks the top of the stack as the n-th argument of the pending method.
    MethodArg(u32),
    /// Pushes a literal (an entry of `literals`) as the n-th argument of the pending method.
    MethodLiteral(u32, u32),
    /// Calls the pending method.
    CallMethod(u32, bool, Id),
    /// Sets a variable to the top of the stack, declaring it.
    Declare(u32),
    /// Sets a variable that was declared before.
    Assign(u32),
    /// Drops the top of the stack.
    Pop,
    /// Drops what is below the top of the stack.
    DropBelow,
    /// Only marks the place for errors.
    At,
    /// Prints and drops the top of the stack.
    Print,
    /// Goes on elsewhere.
    Jump(u32),
    /// Pops, and goes on elsewhere if it is not true.
    JumpUnless(u32),
    /// Pops, and makes it the dot if it is true, else goes on elsewhere.
    With(u32),
    /// Takes the dot of before back.
    EndWith,
    /// Pops what to loop over; goes on elsewhere if it is empty. The flag says that two variables are wanted.
    Range(u32, bool),
    /// Begins the next turn of the loop, setting variables, or leaves it.
    Next(Box<Next>),
    /// Leaves a loop.
    EndRange,
    /// Fails unless a template (an entry of `consts`) is there.
    FindTemplate(u32),
    /// Pops the dot for it and runs a template.
    Template(u32),
}

/// Instructions are most of what a compiled chart takes.
const _: () = assert!(size_of::<Op>() == 16);

/// What a function is called with.
#[derive(Debug)]
pub struct Passed {
    /// With so many arguments.
    pub arguments: u32,
    /// And the piped one, which is below them.
    pub piped: bool,
    /// Which node is to blame for errors.
    pub node: Id,
}

/// What the next turn of a loop does.
#[derive(Debug)]
pub struct Next {
    /// Where to go when there is none.
    pub exit: u32,
    /// The variable for the key, if there are two.
    pub key: u32,
    /// The variable for the element.
    pub value: u32,
    /// The variables declared in the body, which are gone in the next turn.
    pub body: (u32, u32),
}

/// A constant.
#[derive(Debug)]
pub enum Const {
    Bool(bool),
    Int(i64),
    Int32(i32),
    Int64(i64),
    Uint8(u8),
    Uint64(u64),
    Float(f64),
    Complex(f64, f64),
    Str(Text),
}

/// A text in a template: a piece of the source, unless it has escapes.
#[derive(Clone, Debug)]
pub enum Text {
    Source(Span),
    Own(Box<[u8]>),
}

/// A literal whose type is known only when the method that gets it is.
#[derive(Debug)]
pub struct Literal {
    /// What it says.
    pub kind: LiteralKind,
    /// How it was written.
    pub shown: Box<str>,
}

/// What a literal says.
#[derive(Clone, Debug)]
pub enum LiteralKind {
    Nil,
    Bool(bool),
    Number(Box<Number>),
    Str(Text),
}

/// A variable of a template.
#[derive(Debug)]
pub struct Variable {
    /// Where the name stands in the source, with `$`. The data itself is `$` and stands nowhere.
    pub name: Option<Span>,
    /// The variable of the same name that this one hides.
    pub hides: u32,
}

/// One compiled template.
#[derive(Debug)]
pub struct Unit {
    /// Its name.
    pub name: Box<[u8]>,
    /// The text it was written in.
    pub source: Arc<Source>,
    /// Whether there is nothing in it but white space.
    pub empty: bool,
    pub(crate) ops: Box<[Op]>,
    /// For each instruction the node to blame for errors, or [`HERE`].
    pub(crate) at: Box<[Id]>,
    pub(crate) calls: Box<[Passed]>,
    pub(crate) consts: Box<[Const]>,
    pub(crate) names: Box<[Span]>,
    pub(crate) literals: Box<[Literal]>,
    pub(crate) messages: Box<[Box<str>]>,
    pub(crate) vars: Box<[Variable]>,
}

impl Unit {
    /// The bytes of a text.
    pub(crate) fn text<'u>(&'u self, text: &'u Text) -> &'u [u8] {
        match text {
            Text::Source(span) => self.source.slice(*span),
            Text::Own(text) => text,
        }
    }

    /// The name of a variable.
    pub(crate) fn variable_name(&self, slot: u32) -> &[u8] {
        self.vars.get(slot as usize).map_or(b"", |variable| variable.name(&self.source))
    }

    /// The text that a constant is.
    pub(crate) fn text_constant(&self, index: u32) -> &[u8] {
        match self.consts.get(index as usize) {
            Some(Const::Str(text)) => self.text(text),
            _ => &[],
        }
    }
}

impl Variable {
    /// The name with `$`.
    pub(crate) fn name<'s>(&self, source: &'s Source) -> &'s [u8] {
        self.name.map_or(b"$", |span| source.slice(span))
    }
}

impl Literal {
    /// The same, borrowed.
    pub(crate) fn found(&self) -> Found<'_> {
        match &self.kind {
            LiteralKind::Nil => Found::Nil,
            LiteralKind::Bool(b) => Found::Bool(*b),
            LiteralKind::Number(n) => Found::Number(n),
            LiteralKind::Str(text) => Found::Str(text.clone()),
        }
    }
}

/// The functions that templates may call.
#[derive(Debug, Default)]
pub struct Functions(HashMap<&'static [u8], &'static Func, NameHash>);

impl Functions {
    /// Go's own functions.
    pub fn builtin() -> Self {
        let mut functions = Self::default();
        functions.extend(crate::builtins::FUNCS);
        functions
    }

    /// Adds functions; of two with one name the later counts.
    pub fn extend(&mut self, more: &'static [Func]) {
        self.0.extend(more.iter().map(|f| (f.name.as_bytes(), f)));
    }

    /// Takes a function out.
    pub fn remove(&mut self, name: &str) {
        self.0.remove(name.as_bytes());
    }

    /// The function of a name.
    pub fn get(&self, name: impl AsRef<[u8]>) -> Option<&'static Func> {
        self.0.get(name.as_ref()).copied()
    }

    /// All names, in no order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.0.values().map(|func| func.name)
    }
}

impl Names for Functions {
    fn has(&self, name: &[u8]) -> bool {
        self.0.contains_key(name)
    }
}
