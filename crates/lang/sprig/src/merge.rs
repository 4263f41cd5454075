//! Merging maps, with the rules of mergo.
//!
//! `merge` fills what the first map lacks or has empty, `mergeOverwrite` lets the others win; both go into maps that
//! both sides have, and both change the first map. What is taken over is shared, not copied.

use podium_gotmpl::types::{ANY, MAP};
use podium_gotmpl::{Ctx, Error, Func, Kind, Map, Shape, Str, Type, Value};

use crate::args::{Outcome, map, rest, string, variadic};
use crate::dicts::plain;

/// The functions of this module.
pub static FUNCS: &[Func] = &[
    variadic("merge", &[&MAP, &MAP], |cx, a| merge(cx, a, false, true)),
    variadic("mustMerge", &[&MAP, &MAP], |cx, a| merge(cx, a, false, false)),
    variadic("mergeOverwrite", &[&MAP, &MAP], |cx, a| merge(cx, a, true, true)),
    variadic("mustMergeOverwrite", &[&MAP, &MAP], |cx, a| merge(cx, a, true, false)),
];

fn merge<'h>(cx: &Ctx<'h>, args: &[Value<'h>], overwrite: bool, lenient: bool) -> Outcome<'h> {
    let mut target = map(args, 0);
    for from in rest(args, 1).iter().filter_map(Value::as_map).filter(|m| !m.nil) {
        let into = target.filter(|m| !m.nil).unwrap_or_else(|| cx.heap.map(Default::default()));
        target = Some(into);
        match (merge_into(cx, into, from, overwrite), lenient) {
            (Err(Trouble::Differ), true) => return string(""),
            (Err(Trouble::Differ), false) => return Err(Error::new("src and dst must be of same type")),
            (Err(Trouble::Panic(error)), _) => return Err(error),
            (Ok(()), _) => {}
        }
    }
    Ok(plain(cx, target))
}

enum Trouble {
    /// An error that mergo returns, which `merge` swallows.
    Differ,
    /// A panic on the way.
    Panic(Error),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Trouble::Panic(error)
    }
}

/// Two maps on the way of being merged.
struct Level<'h> {
    into: &'h Map<'h>,
    from: &'h Map<'h>,
    keys: std::vec::IntoIter<Str<'h>>,
    /// An entry whose maps are being merged one level deeper.
    waiting: Option<Entry<'h>>,
}

struct Entry<'h> {
    key: Str<'h>,
    from: Value<'h>,
    /// What was there before anything happened to the entry.
    into: Option<Value<'h>>,
}

fn merge_into<'h>(
    cx: &Ctx<'h>,
    into: &'h Map<'h>,
    from: &'h Map<'h>,
    overwrite: bool,
) -> Result<(), Trouble> {
    let mut levels = vec![Level::new(cx, into, from)?];
    while let Some(level) = levels.last_mut() {
        if let Some(entry) = level.waiting.take() {
            level.take_over(entry, overwrite)?;
        }
        let Some(key) = level.keys.next() else {
            levels.pop();
            continue;
        };
        let Some(value) = level.from.get(&key) else { continue };
        let entry = Entry { into: level.into.get(&key), key, from: value };
        if let (true, Some(into)) = (overwrite, &entry.into) {
            check_targets(&entry.from, into)?;
        }
        match (&entry.from, &entry.into) {
            (Value::Nil | Value::NilAny, _) => {
                if overwrite {
                    level.assign(entry.key, Value::Nil, element_type(level.from))?;
                }
            }
            (Value::Map(from), Some(Value::Map(into))) if !into.nil => {
                let deeper = Level::new(cx, into, from)?;
                level.waiting = Some(entry);
                levels.push(deeper);
            }
            (from, Some(into)) if !overwrite && parts_with(from, into) => return Err(Trouble::Differ),
            (from, _) if from.kind() == Kind::Slice => {
                level.place_slice(&entry, overwrite)?;
                level.take_over(entry, overwrite)?;
            }
            _ => level.take_over(entry, overwrite)?,
        }
    }
    Ok(())
}

/// Whether what is there is a pointer and what comes is a map or a struct, but not one that it points to.
fn parts_with(from: &Value<'_>, into: &Value<'_>) -> bool {
    let (Some(from), Some(Shape::Pointer(target))) = (from.ty(), into.ty().map(|ty| &ty.shape)) else {
        return false;
    };
    matches!(from.kind(), Kind::Map | Kind::Struct) && !target.is(from)
}

/// mergo's idea of empty; it does not know complex numbers.
fn is_empty(value: &Value<'_>) -> bool {
    !matches!(value, Value::Complex(..)) && !value.truth()
}

/// Of two pointers the targets are merged, which must be of one type to be overwritten.
fn check_targets(from: &Value<'_>, into: &Value<'_>) -> Result<(), Error> {
    let target = |value: &Value<'_>| match value.ty()?.shape {
        Shape::Pointer(target) => Some(target),
        _ => None,
    };
    match (target(from), target(into)) {
        (Some(from), Some(into)) if !from.is(into) => Err(Error::new(format!(
            "reflect.Set: value of type {} is not assignable to type {}",
            from.name, into.name
        ))),
        _ => Ok(()),
    }
}

fn element_type(map: &Map<'_>) -> &'static Type {
    match map.ty.shape {
        Shape::Map(element) => element,
        _ => &ANY,
    }
}

impl<'h> Level<'h> {
    fn new(cx: &Ctx<'h>, into: &'h Map<'h>, from: &'h Map<'h>) -> Result<Self, Error> {
        cx.heap.charge(size_of::<Self>() + from.len() * size_of::<Str>())?;
        let keys: Vec<Str<'h>> = from.borrow().keys().cloned().collect();
        Ok(Self { into, from, keys: keys.into_iter(), waiting: None })
    }

    /// Writes a value that Go knows as `ty`.
    fn assign(&self, key: Str<'h>, value: Value<'h>, ty: &Type) -> Result<(), Error> {
        let element = element_type(self.into);
        if !ty.assignable_to(element) {
            return Err(Error::new(format!(
                "reflect.Value.SetMapIndex: value of type {} is not assignable to type {}",
                ty.name, element.name
            )));
        }
        self.into.set(key, value);
        Ok(())
    }

    /// A slice is put in its place at once: the new one, or again what is there.
    fn place_slice(&self, entry: &Entry<'h>, overwrite: bool) -> Result<(), Error> {
        let element = element_type(self.into);
        if entry.into.is_some() && !element.can_be_nil() {
            return Err(Error::new(format!(
                "reflect: call of reflect.Value.IsNil on {} Value",
                element.kind().name()
            )));
        }
        let kept = entry.into.as_ref().filter(|v| !v.is_nil() && !overwrite);
        let chosen = kept.unwrap_or(&entry.from);
        self.assign(entry.key.clone(), chosen.clone(), chosen.ty().unwrap_or(&ANY))
    }

    /// The last word on an entry.
    fn take_over(&self, entry: Entry<'h>, overwrite: bool) -> Result<(), Error> {
        let empty = entry.into.as_ref().is_none_or(is_empty);
        let is_map = |v: &Value<'h>| v.kind() == Kind::Map;
        let both_maps = is_map(&entry.from) && entry.into.as_ref().is_some_and(is_map);
        if !empty && (entry.from.kind() == Kind::Slice || both_maps) {
            return Ok(());
        }
        if overwrite || empty {
            self.assign(entry.key, entry.from, element_type(self.from))?;
        }
        Ok(())
    }
}
