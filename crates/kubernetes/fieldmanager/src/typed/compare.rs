//! What differs between two values.

use std::collections::BTreeMap;

use podium_schema::shape::{List, Shape, Shapes};
use serde_json::Value;

use super::{Parts, Way, filled_list, filled_map, keys, parts};
use crate::go;
use crate::set::{FieldSet, Node};
use crate::step::Step;

/// What the second of two values has changed. No field is in two of the sets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparison<'a> {
    /// What only the second has.
    pub added: FieldSet<'a>,
    /// What only the first has.
    pub removed: FieldSet<'a>,
    /// What is in both and differs.
    pub modified: FieldSet<'a>,
}

impl<'a> Comparison<'a> {
    /// Whether nothing differs.
    pub fn is_same(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.modified.is_empty()
    }

    fn sets(&mut self) -> [&mut FieldSet<'a>; 3] {
        [&mut self.added, &mut self.removed, &mut self.modified]
    }

    /// Adds what was found below a step.
    fn push(&mut self, step: Step<'a>, marks: Marks, below: Comparison<'a>) {
        let below = [below.added, below.removed, below.modified];
        for ((set, below), owned) in self.sets().into_iter().zip(below).zip(marks.0) {
            if owned || !below.is_empty() {
                set.nodes.push(Node { step: step.clone(), owned, below });
            }
        }
    }
}

/// Whether a value itself was added, removed, modified.
#[derive(Default, Clone, Copy)]
struct Marks([bool; 3]);

const ADDED: Marks = Marks([true, false, false]);
const REMOVED: Marks = Marks([false, true, false]);
const MODIFIED: Marks = Marks([false, false, true]);

/// Compares two values of one shape.
pub fn compare<'a>(shapes: &'a Shapes, shape: &'a Shape, old: &'a Value, new: &'a Value) -> Comparison<'a> {
    let mut out = Comparison::default();
    visit(shapes, shape, Some(old), Some(new), &mut out);
    out
}

fn visit<'a>(
    shapes: &'a Shapes,
    shape: &'a Shape,
    old: Option<&'a Value>,
    new: Option<&'a Value>,
    out: &mut Comparison<'a>,
) -> Marks {
    let parts = parts(shape);
    let mut marks = Marks::default();
    let ways = [old.map(|old| parts.way(old)), new.map(|new| parts.way(new))];
    let first = ways[0].filter(|way| new.is_none() || ways[1] != Some(*way));
    for way in [first, ways[1]].into_iter().flatten() {
        let found = match way {
            Way::Map if filled_map(old).is_some() || filled_map(new).is_some() => {
                entries(shapes, parts, old, new, out);
                whole(old, new)
            }
            Way::List if filled_list(old).is_some() || filled_list(new).is_some() => {
                if let Parts::List(list) = parts {
                    items(shapes, list, old, new, out);
                }
                whole(old, new)
            }
            _ => leaf(old, new),
        };
        for (mark, found) in marks.0.iter_mut().zip(found.0) {
            *mark |= found;
        }
    }
    marks
}

/// What is to be said of a value with parts itself.
fn whole(old: Option<&Value>, new: Option<&Value>) -> Marks {
    match (old, new) {
        (None, _) => ADDED,
        (_, None) => REMOVED,
        _ => Marks::default(),
    }
}

fn leaf(old: Option<&Value>, new: Option<&Value>) -> Marks {
    match (old, new) {
        (Some(old), Some(new)) if !go::same(old, new) => MODIFIED,
        _ => whole(old, new),
    }
}

fn entries<'a>(
    shapes: &'a Shapes,
    shape: Parts<'a>,
    old: Option<&'a Value>,
    new: Option<&'a Value>,
    out: &mut Comparison<'a>,
) {
    let mut olds = filled_map(old).into_iter().flatten().peekable();
    let mut news = filled_map(new).into_iter().flatten().peekable();
    loop {
        let order = match (olds.peek(), news.peek()) {
            (Some((old, _)), Some((new, _))) => old.cmp(new),
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (None, None) => break,
        };
        let old = if order.is_le() { olds.next() } else { None };
        let new = if order.is_ge() { news.next() } else { None };
        let Some((key, _)) = old.or(new) else { break };
        let Some(child) = shape.child(shapes, key) else { continue };
        let mut below = Comparison::default();
        let marks = visit(shapes, child, old.map(|(_, v)| v), new.map(|(_, v)| v), &mut below);
        out.push(Step::field(key), marks, below);
    }
}

fn items<'a>(
    shapes: &'a Shapes,
    list: &'a List,
    old: Option<&'a Value>,
    new: Option<&'a Value>,
    out: &mut Comparison<'a>,
) {
    let shape = shapes.get(list.items);
    let mut found: BTreeMap<Step<'a>, [Vec<&'a Value>; 2]> = BTreeMap::new();
    for (side, value) in [old, new].into_iter().enumerate() {
        for item in filled_list(value).unwrap_or_default() {
            if let Ok(step) = keys::step(shapes, list, item) {
                let sides = found.entry(step).or_default();
                if let Some(items) = sides.get_mut(side) {
                    items.push(item);
                }
            }
        }
    }
    for (step, [olds, news]) in found {
        let mut below = Comparison::default();
        let (old, new) = (olds.first().copied(), news.first().copied());
        let marks = match (olds.len(), news.len()) {
            (0 | 1, 0 | 1) => visit(shapes, shape, old, new, &mut below),
            (2.., 2..) => {
                let same = olds.len() == news.len() && olds.iter().zip(&news).all(|(a, b)| go::same(a, b));
                if same { Marks::default() } else { MODIFIED }
            }
            (2.., _) => {
                let mut marks = REMOVED;
                if new.is_some() {
                    visit(shapes, shape, None, new, &mut below);
                    marks.0[0] = true;
                }
                marks
            }
            (_, _) => {
                let mut marks = ADDED;
                if old.is_some() {
                    visit(shapes, shape, old, None, &mut below);
                    marks.0[1] = true;
                }
                marks
            }
        };
        out.push(step, marks, below);
    }
}
