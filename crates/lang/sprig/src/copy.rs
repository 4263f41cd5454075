//! Deep copies.

use podium_gotmpl::types::ANY;
use podium_gotmpl::{Ctx, Entries, Error, Func, List, Map, Str, Struct, Type, Value};

use crate::args::{Outcome, any, func};
use crate::document::fields_of;

/// The functions of this module.
pub static FUNCS: &[Func] = &[func("deepCopy", &[&ANY], deep_copy), func("mustDeepCopy", &[&ANY], deep_copy)];

fn deep_copy<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    match any(args, 0) {
        Value::Nil | Value::NilAny => Err(Error::new("reflect: call of reflect.Value.Type on zero Value")),
        value => copy(cx, value.clone()),
    }
}

/// A container that is being copied.
enum Frame<'h> {
    List { ty: &'static Type, rest: std::slice::Iter<'h, Value<'h>>, done: Vec<Value<'h>> },
    Struct { ty: &'static Type, boxed: bool, rest: std::slice::Iter<'h, Value<'h>>, done: Vec<Value<'h>> },
    Map { ty: &'static Type, rest: std::vec::IntoIter<(Str<'h>, Value<'h>)>, key: Str<'h>, done: Entries<'h> },
}

impl<'h> Frame<'h> {
    fn list(list: &'h List<'h>) -> Self {
        Frame::List { ty: list.ty, rest: list.items.iter(), done: Vec::with_capacity(list.items.len()) }
    }

    fn structure(structure: &'h Struct<'h>) -> Self {
        let done = Vec::with_capacity(structure.fields.len());
        Frame::Struct { ty: structure.ty, boxed: structure.boxed, rest: structure.fields.iter(), done }
    }

    fn map(map: &'h Map<'h>) -> Self {
        Frame::Map { ty: map.ty, rest: map.entries().into_iter(), key: "".into(), done: Entries::new() }
    }

    /// The next child to copy.
    fn next(&mut self) -> Option<Value<'h>> {
        match self {
            Frame::List { rest, .. } | Frame::Struct { rest, .. } => rest.next().cloned(),
            Frame::Map { rest, key, .. } => {
                let (next_key, value) = rest.next()?;
                *key = next_key;
                Some(value)
            }
        }
    }

    /// Takes the copy of the child that [`next`](Self::next) gave.
    fn put(&mut self, value: Value<'h>) {
        match self {
            Frame::List { done, .. } | Frame::Struct { done, .. } => done.push(value),
            Frame::Map { key, done, .. } => {
                done.insert(std::mem::replace(key, "".into()), value);
            }
        }
    }

    fn finish(self, cx: &Ctx<'h>) -> Value<'h> {
        match self {
            Frame::List { ty, done, .. } => cx.heap.typed_list(ty, done),
            Frame::Struct { ty, boxed, mut done, .. } => {
                // A copier cannot see fields that begin with a small letter.
                for (field, value) in fields_of(ty).iter().zip(&mut done) {
                    if field.name.starts_with(char::is_lowercase) {
                        *value = Value::zero(field.ty, cx.heap);
                    }
                }
                let copied = cx.heap.structure(ty, done);
                if boxed { cx.heap.boxed(copied) } else { copied }
            }
            Frame::Map { ty, done, .. } => Value::Map(cx.heap.typed_map(ty, done)),
        }
    }
}

/// Copies all containers. A value that contains itself ends at the memory limit.
fn copy<'h>(cx: &Ctx<'h>, value: Value<'h>) -> Outcome<'h> {
    // Open containers are paid for on the way, and what was made in the end, but nothing twice.
    let mut made = 0;
    let copied = cx.heap.for_a_while(|| copy_all(cx, value, &mut made))?;
    cx.heap.charge(made)?;
    Ok(copied)
}

fn copy_all<'h>(cx: &Ctx<'h>, value: Value<'h>, made: &mut usize) -> Outcome<'h> {
    let mut frames: Vec<Frame<'h>> = Vec::new();
    let mut next = Some(value);
    loop {
        let ready = match next.take().or_else(|| frames.last_mut().and_then(Frame::next)) {
            Some(Value::List(l)) if !l.nil => {
                open(cx, &mut frames, Frame::list(l), l.items.len(), made)?;
                continue;
            }
            Some(Value::Map(m)) if !m.nil => {
                open(cx, &mut frames, Frame::map(m), 2 * m.len(), made)?;
                continue;
            }
            Some(Value::Struct(s)) => {
                open(cx, &mut frames, Frame::structure(s), s.fields.len(), made)?;
                continue;
            }
            Some(Value::Opaque(o)) => crate::semver::copied(o.as_ref())
                .or_else(|| crate::times::copied(o.as_ref()))
                .unwrap_or(Value::Opaque(o)),
            Some(other) => other,
            // The innermost container is complete.
            None => match frames.pop() {
                Some(frame) => frame.finish(cx),
                None => return Ok(Value::Nil),
            },
        };
        match frames.last_mut() {
            Some(frame) => frame.put(ready),
            None => return Ok(ready),
        }
    }
}

/// Begins the copy of a container with so many values.
fn open<'h>(
    cx: &Ctx<'h>,
    frames: &mut Vec<Frame<'h>>,
    frame: Frame<'h>,
    values: usize,
    made: &mut usize,
) -> Result<(), Error> {
    let size = size_of::<Frame>() + values * size_of::<Value>();
    cx.heap.charge(size)?;
    *made = made.saturating_add(size);
    frames.push(frame);
    Ok(())
}
