//! Where a check is: the way through the value, and the way through the schemas.

use crate::pointer::escape;
use crate::schema::SchemaId;

/// A step into a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Token<'p> {
    Key(&'p str),
    Index(usize),
}

impl Token<'_> {
    fn text(self) -> Box<str> {
        match self {
            Self::Key(key) => key.into(),
            Self::Index(index) => index.to_string().into(),
        }
    }
}

/// The way to a value, as a chain on the stack.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path<'p> {
    last: Option<(&'p Path<'p>, Token<'p>)>,
}

impl<'p> Path<'p> {
    pub fn root() -> Self {
        Self { last: None }
    }

    pub fn join<'q>(&'q self, token: Token<'q>) -> Path<'q> {
        Path { last: Some((self, token)) }
    }

    /// The steps from the root.
    pub fn tokens(&self) -> Vec<Box<str>> {
        let mut out = Vec::new();
        let mut next = self.last;
        while let Some((parent, token)) = next {
            out.push(token.text());
            next = parent.last;
        }
        out.reverse();
        out
    }

    pub fn pointer(&self) -> String {
        self.tokens().iter().map(|token| format!("/{}", escape(token))).collect()
    }
}

/// The schemas that led to a check, as a chain on the stack.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scope<'s> {
    pub schema: SchemaId,
    /// The keyword, if it was a reference.
    pub keyword: Option<&'static str>,
    /// Equal for scopes of the same value.
    pub value: u32,
    pub depth: u32,
    pub parent: Option<&'s Scope<'s>>,
}

impl<'s> Scope<'s> {
    /// An outer scope that checks the same value against the same schema.
    pub fn cycle(&self) -> Option<&'s Scope<'s>> {
        let mut next = self.parent;
        while let Some(scope) = next.filter(|scope| scope.value == self.value) {
            if scope.schema == self.schema {
                return Some(scope);
            }
            next = scope.parent;
        }
        None
    }

    /// This scope and those around it.
    pub fn outwards(&'s self) -> impl Iterator<Item = &'s Scope<'s>> {
        std::iter::successors(Some(self), |scope| scope.parent)
    }
}
