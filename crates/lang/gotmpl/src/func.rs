//! Functions that templates call.

use std::fmt;

use crate::heap::Heap;
use crate::types::Type;
use crate::value::Value;

/// A function or method: its signature and its code.
pub struct Func {
    /// The name in templates.
    pub name: &'static str,
    /// The declared parameters; of a variadic function the last one is the type of each further argument. The
    /// receiver of a method is not among them (it is the first argument of the call all the same).
    pub params: &'static [&'static Type],
    /// Whether the last parameter takes any number of arguments.
    pub variadic: bool,
    /// The code.
    pub call: Call,
}

/// The code of a function.
#[derive(Clone, Copy)]
pub enum Call {
    /// A Rust function. It sees arguments that fit the parameters; `nil` for an `interface {}` is [`Value::Nil`].
    Native(for<'h> fn(&Ctx<'h>, &[Value<'h>]) -> Result<Value<'h>, Error>),
    /// Go's short-circuiting `and`.
    And,
    /// Go's short-circuiting `or`.
    Or,
    /// Go's `call`. No value of a template is a function, so it always fails.
    Call,
    /// A method that Go has but templates cannot call; the text says why.
    Refused(&'static str),
    /// Renders a named template to a string.
    Include,
    /// Renders a text as a template to a string.
    Tpl,
}

/// What a function may use besides its arguments.
pub struct Ctx<'h> {
    /// Where containers are made.
    pub heap: &'h Heap<'h>,
    /// Everything from outside.
    pub world: &'h dyn World,
}

/// What a render may ask of the world. Without a world (`()`), there is no time, no chance and no cluster.
pub trait World {
    /// Seconds and nanoseconds since 1970.
    fn now(&self) -> (i64, u32) {
        (0, 0)
    }
    /// Fills a buffer with random bytes.
    fn random(&self, buffer: &mut [u8]) {
        buffer.fill(0);
    }
    /// The name of the local time zone.
    fn local_zone(&self) -> &str {
        "UTC"
    }
    /// The first address of a host name; empty when names may not be looked up.
    fn resolve_host(&self, _name: &str) -> Result<String, String> {
        Ok(String::new())
    }
    /// A variable of the environment; empty when it is not set, or not for templates to see.
    fn variable(&self, _name: &str) -> String {
        String::new()
    }
    /// Reads objects of a cluster as [`Value`]s; an empty map without a cluster.
    fn lookup<'h>(
        &self,
        heap: &'h Heap<'h>,
        _api_version: &str,
        _kind: &str,
        _namespace: &str,
        _name: &str,
    ) -> Result<Value<'h>, String> {
        Ok(Value::Map(heap.map(Default::default())))
    }
    /// Whether there is nobody to ask, because something is only tried: then what needs an answer and takes long is not
    /// worth beginning.
    fn is_closed(&self) -> bool {
        false
    }
    /// Whether the render's time is over.
    fn out_of_time(&self) -> bool {
        false
    }
}

impl World for () {}

/// Why a function failed: the text that Go's function would have given (or panicked with).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The text.
    pub message: Vec<u8>,
    /// Whether a limit of the render was passed, so that nothing may catch or soften the error.
    pub fatal: bool,
}

impl Error {
    /// An error with Go's text.
    pub fn new(message: impl Into<Vec<u8>>) -> Self {
        Self { message: message.into(), fatal: false }
    }

    /// A limit was passed.
    pub fn limit(name: &str, value: usize) -> Self {
        Self { message: format!("the render passed its {name} limit ({value})").into_bytes(), fatal: true }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.message))
    }
}

impl std::error::Error for Error {}

impl From<String> for Error {
    fn from(message: String) -> Self {
        Self::new(message)
    }
}

impl From<&str> for Error {
    fn from(message: &str) -> Self {
        Self::new(message)
    }
}

impl fmt::Debug for Func {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
