//! Literals as constants.

use crate::code::{Const, LiteralKind, Text};
use crate::syntax::{Id, NodeKind, Number, Quoted, Tree, VERBATIM};
use crate::types::{Shape, Type};

/// A quoted text of a tree.
pub(super) fn text_of(tree: &Tree, quoted: Quoted) -> Text {
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
    pub(super) fn to_owned(&self) -> LiteralKind {
        match self {
            Found::Nil => LiteralKind::Nil,
            Found::Bool(b) => LiteralKind::Bool(*b),
            Found::Number(n) => LiteralKind::Number(Box::new((*n).clone())),
            Found::Str(text) => LiteralKind::Str(text.clone()),
        }
    }
}

/// The literal that a node is, if it is one.
pub(super) fn literal_of(tree: &Tree, id: Id) -> Option<Found<'_>> {
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
