//! Loops.

use super::{Machine, Raised, Slot, State, Step};
use crate::code::{NO_SLOT, Next};
use crate::fmt;
use crate::types::Shape;
use crate::value::{List, Str, Value};

/// A loop that is under way, and the dot to go back to.
pub(super) struct Iter<'h> {
    over: Over<'h>,
    dot: Slot<'h>,
    /// What was charged for the copy of a map's entries.
    held: usize,
}

enum Over<'h> {
    Int { next: i64, end: i64, like: Like },
    List { list: &'h List<'h>, next: usize, interface: bool },
    Bytes { bytes: &'h [u8], next: usize },
    Map { entries: std::vec::IntoIter<(Str<'h>, Value<'h>)>, interface: bool },
}

/// Which integer type the elements have.
#[derive(Clone, Copy)]
enum Like {
    Int,
    Int64,
    Int32,
    Uint8,
    Uint64,
}

impl<'h> Machine<'h> {
    /// Begins a loop over the top of the stack. False when there is nothing to loop over.
    pub(super) fn begin_range(&mut self, two: bool) -> Step<bool> {
        let value = self.stack.pop().unwrap_or_default();
        let value = match value {
            Value::Opaque(o) => match o.basic() {
                Some(basic) => basic.adopt(),
                None => Value::Opaque(o),
            },
            value => value,
        };
        let integer = match value {
            Value::Int(i) => Some((i, Like::Int)),
            Value::Int64(i) => Some((i, Like::Int64)),
            Value::Int32(i) => Some((i64::from(i), Like::Int32)),
            Value::Uint8(u) => Some((i64::from(u), Like::Uint8)),
            Value::Uint64(u) => Some((i64::try_from(u).unwrap_or(i64::MAX), Like::Uint64)),
            _ => None,
        };
        let mut held = 0;
        let over = if let Some((end, like)) = integer {
            if two {
                let text = fmt::sprintf(b"can't use %v to iterate over more than one variable", &[value]);
                return Err(Raised::Template(text));
            }
            if end <= 0 {
                return Ok(false);
            }
            Over::Int { next: 0, end, like }
        } else {
            match value {
                Value::Nil => return Ok(false),
                Value::List(list) => {
                    let interface = matches!(list.ty.shape, Shape::Slice(e) if matches!(e.shape, Shape::Any));
                    Over::List { list, next: 0, interface }
                }
                Value::Bytes(bytes) => Over::Bytes { bytes, next: 0 },
                Value::Map(map) => {
                    let interface = matches!(map.ty.shape, Shape::Map(e) if matches!(e.shape, Shape::Any));
                    held = map.len() * size_of::<(Str<'h>, Value<'h>)>();
                    self.charge(held)?;
                    Over::Map { entries: map.entries().into_iter(), interface }
                }
                other => {
                    let target = self.ctx.heap.pointed_to(other.clone());
                    self.involved = Some(other);
                    return Err(Raised::Template(fmt::sprintf(b"range can't iterate over %v", &[target])));
                }
            }
        };
        let empty = match &over {
            Over::Int { .. } => false,
            Over::List { list, .. } => list.items.is_empty(),
            Over::Bytes { bytes, .. } => bytes.is_empty(),
            Over::Map { entries, .. } => entries.len() == 0,
        };
        self.worked(held)?;
        if empty {
            return Ok(false);
        }
        if let Some(frame) = self.frames.last() {
            let dot = frame.dot.clone();
            self.iters.push(Iter { over, dot, held });
        }
        Ok(true)
    }

    /// Begins the next turn. False when there is none, and the loop is over.
    pub(super) fn next_turn(&mut self, next: &Next) -> bool {
        let (Some(iter), Some(frame)) = (self.iters.last_mut(), self.frames.last_mut()) else {
            return false;
        };
        let Some((key, element)) = iter.over.turn() else {
            self.end_range();
            return false;
        };
        let base = frame.vars;
        for slot in next.body.0..next.body.1 {
            if let Some(var) = self.vars.get_mut(base + slot as usize) {
                var.state = State::Unset;
            }
        }
        if next.key != NO_SLOT
            && let Some(var) = self.vars.get_mut(base + next.key as usize)
        {
            *var = Slot { value: key, state: State::Plain };
        }
        if next.value != NO_SLOT
            && let Some(var) = self.vars.get_mut(base + next.value as usize)
        {
            *var = element.clone();
        }
        frame.dot = element;
        true
    }

    /// Leaves the innermost loop.
    pub(super) fn end_range(&mut self) {
        if let (Some(iter), Some(frame)) = (self.drop_iter(), self.frames.last_mut()) {
            frame.dot = iter.dot;
        }
    }

    /// Takes the innermost loop away, and what it held.
    pub(super) fn drop_iter(&mut self) -> Option<Iter<'h>> {
        let iter = self.iters.pop()?;
        if iter.held > 0 {
            self.ctx.heap.refund(iter.held);
        }
        Some(iter)
    }
}

impl<'h> Over<'h> {
    fn turn(&mut self) -> Option<(Value<'h>, Slot<'h>)> {
        let state = |interface| if interface { State::Interface } else { State::Plain };
        match self {
            Over::Int { next, end, like } => {
                let i = *next;
                if i >= *end {
                    return None;
                }
                *next += 1;
                let value = match like {
                    Like::Int => Value::Int(i),
                    Like::Int64 => Value::Int64(i),
                    Like::Int32 => Value::Int32(i as i32),
                    Like::Uint8 => Value::Uint8(i as u8),
                    Like::Uint64 => Value::Uint64(i as u64),
                };
                Some((Value::Nil, Slot { value, state: State::Plain }))
            }
            Over::List { list, next, interface } => {
                let i = *next;
                let value = list.items.get(i)?.clone();
                *next += 1;
                Some((Value::Int(i as i64), Slot { value, state: state(*interface) }))
            }
            Over::Bytes { bytes, next } => {
                let i = *next;
                let value = Value::Uint8(*bytes.get(i)?);
                *next += 1;
                Some((Value::Int(i as i64), Slot { value, state: State::Plain }))
            }
            Over::Map { entries, interface } => {
                let (key, value) = entries.next()?;
                Some((Value::Str(key), Slot { value, state: state(*interface) }))
            }
        }
    }
}
