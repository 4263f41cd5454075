//! What functions are called with.

use super::{Machine, Raised, Step};
use crate::code::{Const, Literal, LiteralKind, Unit};
use crate::compile::{literal, parameter};
use crate::func::{Error, Func};
use crate::heap::Heap;
use crate::syntax::Id;
use crate::types::{Shape, Type};
use crate::value::{Str, Value};

impl<'h> Machine<'h> {
    /// Fails unless a value on the stack fits a type.
    pub(super) fn check(&mut self, i: usize, ty: &'static Type) -> Step<()> {
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

    pub(super) fn method_literal(
        &mut self,
        unit: &Unit,
        found: &Literal,
        ty: &'static Type,
    ) -> Step<Value<'h>> {
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

    pub(super) fn call_builtin(&mut self, base: usize, piped: bool, node: Id) -> Raised {
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
}

/// Functions with `interface {}` parameters see one kind of nil, and copies of structs.
pub(super) fn normalise<'h>(heap: &'h Heap<'h>, func: &'static Func, args: &mut [Value<'h>]) {
    for (i, arg) in args.iter_mut().enumerate() {
        if matches!(arg, Value::NilAny | Value::Struct(_))
            && !matches!(parameter(func, i).shape, Shape::Reflect)
        {
            *arg = heap.boxed(std::mem::take(arg));
        }
    }
}

pub(super) fn constant<'u>(unit: &'u Unit, c: &'u Const) -> Value<'u> {
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
