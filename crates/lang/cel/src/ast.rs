//! The tree of an expression.

use std::sync::Arc;

use crate::source::Place;

/// The name of the variable that comprehensions gather their result in.
pub const ACCUMULATOR: &str = "@result";
/// The name of a loop variable that nobody reads.
pub const UNUSED: &str = "#unused";

/// The number of a node of the tree.
pub type Id = usize;

/// A literal.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// `1`
    Int(i64),
    /// `1u`
    Uint(u64),
    /// `1.0`
    Double(f64),
    /// `'text'`
    String(Arc<str>),
    /// `b'bytes'`
    Bytes(Arc<[u8]>),
}

/// A node of the tree.
#[derive(Debug, Clone)]
pub struct Expr {
    /// Its number.
    pub id: Id,
    /// Where problems with it are shown.
    pub place: Place,
    /// What it is.
    pub kind: Kind,
}

/// What a node is.
#[derive(Debug, Clone)]
pub enum Kind {
    /// What could not be read; a problem has been reported.
    Broken,
    Literal(Literal),
    Ident(Arc<str>),
    Select(Box<Expr>, Arc<str>),
    /// `has(operand.field)`
    Test(Box<Expr>, Arc<str>),
    Call(Call),
    /// Elements, and whether each is optional.
    List(Vec<(Expr, bool)>),
    Map(Vec<Entry>),
    Struct(Arc<str>, Vec<Field>),
    Fold(Box<Fold>),
}

/// A call of a function or an operator.
#[derive(Debug, Clone)]
pub struct Call {
    pub target: Option<Box<Expr>>,
    pub function: Arc<str>,
    pub args: Vec<Expr>,
}

/// An entry of a map literal.
#[derive(Debug, Clone)]
pub struct Entry {
    pub key: Expr,
    pub value: Expr,
    pub optional: bool,
}

/// A field of a message literal.
#[derive(Debug, Clone)]
pub struct Field {
    pub place: Place,
    pub name: Arc<str>,
    pub value: Expr,
}

/// A comprehension: a loop over a range that gathers a result.
#[derive(Debug, Clone)]
pub struct Fold {
    pub range: Expr,
    pub variable: Arc<str>,
    /// The second variable, of comprehensions with two.
    pub second: Option<Arc<str>>,
    pub accumulator: Arc<str>,
    pub start: Expr,
    pub condition: Expr,
    pub step: Expr,
    pub result: Expr,
}

impl Expr {
    /// The nodes directly below, in the order of the text as far as there is one.
    pub fn children(&self) -> Vec<&Expr> {
        match &self.kind {
            Kind::Broken | Kind::Literal(_) | Kind::Ident(_) => Vec::new(),
            Kind::Select(operand, _) | Kind::Test(operand, _) => vec![operand],
            Kind::Call(call) => call.target.as_deref().into_iter().chain(&call.args).collect(),
            Kind::List(elements) => elements.iter().map(|element| &element.0).collect(),
            Kind::Map(entries) => entries.iter().flat_map(|entry| [&entry.key, &entry.value]).collect(),
            Kind::Struct(_, fields) => fields.iter().map(|field| &field.value).collect(),
            Kind::Fold(fold) => {
                vec![&fold.range, &fold.start, &fold.condition, &fold.step, &fold.result]
            }
        }
    }

    /// The dotted name that a chain of identifiers spells.
    pub fn qualified_name(&self) -> Option<String> {
        match &self.kind {
            Kind::Ident(name) => Some(name.to_string()),
            Kind::Select(operand, field) => Some(format!("{}.{field}", operand.qualified_name()?)),
            _ => None,
        }
    }
}
