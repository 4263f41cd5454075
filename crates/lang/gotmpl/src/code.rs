//! The instructions of a compiled template.

use std::collections::HashMap;
use std::sync::Arc;

use crate::func::Func;
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
    /// Walks fields (so many entries of `names`) from a base and pushes what is there.
    Chain(Base, u32, u32),
    /// Forgets that a nil on the stack was an interface.
    Unwrap,
    /// Fails unless the top of the stack fits a type.
    Check(&'static Type),
    /// Fails unless the value below so many arguments fits a type.
    CheckFinal(&'static Type, u32),
    /// Fails with a message.
    Raise(u32),
    /// Calls with so many arguments, and the piped one below them if the flag is set. The node is for errors.
    Call(&'static Func, u32, bool, Id),
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
    Str(Box<[u8]>),
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
    Str(Box<[u8]>),
}

/// A variable of a template.
#[derive(Debug)]
pub struct Variable {
    /// The name with `$`.
    pub name: Box<[u8]>,
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
    pub(crate) ops: Vec<Op>,
    /// For each instruction the node to blame for errors, or [`HERE`].
    pub(crate) at: Vec<Id>,
    pub(crate) consts: Vec<Const>,
    pub(crate) names: Vec<Span>,
    pub(crate) literals: Vec<Literal>,
    pub(crate) messages: Vec<Box<str>>,
    pub(crate) vars: Vec<Variable>,
}

/// The functions that templates may call.
#[derive(Debug, Default)]
pub struct Functions(HashMap<&'static str, &'static Func>);

impl Functions {
    /// Go's own functions.
    pub fn builtin() -> Self {
        let mut functions = Self::default();
        functions.extend(crate::builtins::FUNCS);
        functions
    }

    /// Adds functions; of two with one name the later counts.
    pub fn extend(&mut self, more: &'static [Func]) {
        self.0.extend(more.iter().map(|f| (f.name, f)));
    }

    /// Takes a function out.
    pub fn remove(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// The function of a name.
    pub fn get(&self, name: &str) -> Option<&'static Func> {
        self.0.get(name).copied()
    }

    /// All names, in no order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.0.keys().copied()
    }
}

impl Names for Functions {
    fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }
}
