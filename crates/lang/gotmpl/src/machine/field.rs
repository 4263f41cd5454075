//! Fields and methods.

use super::{Machine, Pending, Raised, State, Step};
use crate::code::Base;
use crate::compile::{arity_error, parameter};
use crate::func::{Call, Func};
use crate::syntax::{Id, Source, Span};
use crate::types::{Shape, Type};
use crate::value::{Struct, Value};

/// A value and whether it is known as an `interface {}`.
type Known<'h> = (Value<'h>, bool);

fn receiver_type(value: &Value<'_>, interface: bool) -> &'static str {
    if interface { "interface {}" } else { value.type_name() }
}

fn is_any(ty: &Type) -> bool {
    matches!(ty.shape, Shape::Any)
}

/// The method of a value.
fn method_of(value: &Value<'_>, name: &[u8]) -> Option<&'static Func> {
    if matches!(value, Value::Struct(s) if s.boxed) {
        return None;
    }
    let ty = value.ty()?;
    ty.method(name).or_else(|| match ty.shape {
        Shape::Pointer(target) => target.method(name),
        _ => None,
    })
}

impl<'h> Machine<'h> {
    /// Walks fields from a base.
    pub(super) fn chain(&mut self, base: Base, source: &'h Source, names: &[Span]) -> Step<Known<'h>> {
        let (mut value, mut interface) = match base {
            Base::Stack => match self.stack.pop() {
                Some(Value::NilAny) => (Value::Nil, true),
                Some(value) => (value, false),
                None => (Value::Nil, false),
            },
            Base::Dot => match self.frames.last() {
                Some(frame) => (frame.dot.value.clone(), frame.dot.state == State::Interface),
                None => (Value::Nil, false),
            },
            Base::Var(slot) => {
                let slot = &self.vars[self.variable(slot)?];
                (slot.value.clone(), slot.state == State::Interface)
            }
        };
        for name in names {
            (value, interface) = self.field(value, interface, source.slice(*name))?;
        }
        Ok((value, interface))
    }

    /// One field of a value, or the result of a method without arguments.
    fn field(&mut self, value: Value<'h>, interface: bool, name: &[u8]) -> Step<Known<'h>> {
        // The everyday case first: an entry of a map.
        if let Value::Map(map) = value
            && map.ty.method(name).is_none()
        {
            return Ok(self.entry(map, name));
        }
        if value.is_nil() {
            if interface {
                return Err(nil_pointer(name));
            }
            return Ok((Value::Nil, false));
        }
        let text = String::from_utf8_lossy(name);
        if let Some(method) = method_of(&value, name) {
            if let Some(message) = arity_error(method, &text, 0, false) {
                return Err(message.into());
            }
            let result = self.call_native(method, &[value], super::HERE)?;
            return Ok((result, false));
        }
        if let Value::Struct(s) = &value
            && let Some(found) = struct_field(s, &text)
        {
            return Ok(found);
        }
        let ty = receiver_type(&value, interface);
        let message = format!("can't evaluate field {text} in type {ty}");
        self.involved = Some(value);
        Err(message.into())
    }

    fn entry(&self, map: &'h crate::value::Map<'h>, name: &[u8]) -> Known<'h> {
        let Shape::Map(element) = map.ty.shape else {
            return (Value::Nil, false);
        };
        match map.get(name) {
            Some(value) => (value, is_any(element)),
            None if is_any(element) => (Value::Nil, true),
            None => (Value::zero(element, self.ctx.heap), false),
        }
    }

    fn call_native(&mut self, func: &'static Func, args: &[Value<'h>], node: Id) -> Step<Value<'h>> {
        let native = match func.call {
            Call::Native(native) => native,
            Call::Refused(why) => return Err(why.to_owned().into()),
            _ => return Ok(Value::Nil),
        };
        let before = self.ctx.heap.left();
        let made = native(&self.ctx, args).map_err(|e| Raised::Function(func.name, e, node))?;
        self.settle(&made, before, args.iter().map(super::length_of_text).sum())?;
        Ok(made)
    }

    /// Takes the receiver off the stack and looks for the method that gets the arguments which follow. False when
    /// there is no receiver: then there is no call, and the arguments are not even evaluated.
    pub(super) fn method(&mut self, name: &[u8], argc: usize, piped: bool) -> Step<bool> {
        let (value, interface) = match self.stack.pop() {
            Some(Value::NilAny) => (Value::Nil, true),
            Some(value) => (value, self.walked_interface),
            None => (Value::Nil, false),
        };
        let text = String::from_utf8_lossy(name);
        if value.is_nil() {
            if interface {
                return Err(nil_pointer(name));
            }
            if piped {
                self.stack.pop();
            }
            self.stack.push(Value::Nil);
            return Ok(false);
        }
        if let Some(func) = method_of(&value, name) {
            if let Some(message) = arity_error(func, &text, argc, piped) {
                return Err(message.into());
            }
            self.pending.push(Pending { func, receiver: value });
            return Ok(true);
        }
        let message = match &value {
            Value::Map(_) => format!("{text} is not a method but has arguments"),
            Value::Struct(s) if struct_field(s, &text).is_some() => {
                format!("{text} has arguments but cannot be invoked as function")
            }
            other => {
                format!("can't evaluate field {text} in type {}", receiver_type(other, interface))
            }
        };
        self.involved = Some(value);
        Err(message.into())
    }

    /// Calls the pending method with its arguments.
    pub(super) fn call_method(&mut self, argc: usize, piped: bool, node: Id) -> Step<()> {
        let Some(Pending { func, receiver }) = self.pending.pop() else {
            return Ok(());
        };
        let base = self.stack.len() - argc - usize::from(piped);
        if piped {
            self.check(base, parameter(func, argc))?;
            self.stack[base..].rotate_left(1);
        }
        let mut args = vec![receiver];
        args.extend(self.stack.drain(base..).map(|v| self.ctx.heap.boxed(v)));
        let result = self.call_native(func, &args, node)?;
        self.stack.push(result);
        Ok(())
    }

    /// What `String()` gives for a struct that a template prints where it is (so that Go could take its address).
    pub(super) fn addressed_string(&mut self, value: &Value<'h>) -> Step<Option<Vec<u8>>> {
        let Some(method) = method_of(value, b"String").filter(|m| m.params.is_empty()) else {
            return Ok(None);
        };
        match self.call_native(method, std::slice::from_ref(value), super::HERE)? {
            Value::Str(text) => Ok(Some(text.to_vec())),
            _ => Ok(None),
        }
    }
}

fn nil_pointer(name: &[u8]) -> Raised {
    let mut message = b"nil pointer evaluating interface {}.".to_vec();
    message.extend_from_slice(name);
    Raised::Template(message)
}

/// A field of a struct, also one of an embedded struct.
fn struct_field<'h>(s: &Struct<'h>, name: &str) -> Option<Known<'h>> {
    let fields = match s.ty.shape {
        Shape::Struct(fields) => fields,
        Shape::Pointer(target) => match target.shape {
            Shape::Struct(fields) => fields,
            _ => return None,
        },
        _ => return None,
    };
    for (field, value) in fields.iter().zip(&s.fields) {
        if field.name == name {
            return Some((value.clone(), is_any(field.ty)));
        }
    }
    fields.iter().zip(&s.fields).filter(|(f, _)| f.embedded).find_map(|(_, v)| match v {
        Value::Struct(inner) => struct_field(inner, name),
        _ => None,
    })
}
