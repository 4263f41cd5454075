//! Stored sets, made to fit a schema that has changed since.

use podium_schema::shape::{Merge, Object, Scalar, Shape, Shapes};

use super::{Parts, parts};
use crate::set::{FieldSet, Node};
use crate::step::Step;

/// The set with one field in the place of all those below what has become one value; nothing where it fits.
pub fn reconcile<'a>(shapes: &Shapes, shape: &Shape, set: &FieldSet<'a>) -> Option<FieldSet<'a>> {
    let fits =
        |node: &Node<'a>| child(shapes, shape, &node.step).is_none_or(|child| settles(shapes, child, node));
    if set.nodes.iter().all(fits) {
        return None;
    }
    let nodes = set.nodes.iter().map(|node| match child(shapes, shape, &node.step) {
        Some(child) if became_whole(shapes, child, node) => {
            Node { step: node.step.clone(), owned: true, below: FieldSet::default() }
        }
        Some(child) => {
            let below = reconcile(shapes, child, &node.below).unwrap_or_else(|| node.below.clone());
            Node { step: node.step.clone(), owned: node.owned, below }
        }
        None => node.clone(),
    });
    Some(FieldSet { nodes: nodes.collect() })
}

/// Whether a node needs no change.
fn settles(shapes: &Shapes, shape: &Shape, node: &Node<'_>) -> bool {
    let below = |below: &Node<'_>| {
        child(shapes, shape, &below.step).is_none_or(|child| settles(shapes, child, below))
    };
    !became_whole(shapes, shape, node) && node.below.nodes.iter().all(below)
}

fn became_whole(shapes: &Shapes, shape: &Shape, node: &Node<'_>) -> bool {
    let single = match parts(shape) {
        Parts::List(list) => list.merge == Merge::Whole,
        Parts::Map(object) => object.whole && !is_free(shapes, object),
        Parts::Opaque => true,
        _ => false,
    };
    single && !node.below.is_empty()
}

/// The shape at a step, where sets are looked into.
fn child<'s>(shapes: &'s Shapes, shape: &'s Shape, step: &Step<'_>) -> Option<&'s Shape> {
    match parts(shape) {
        Parts::Map(object) => {
            if is_free(shapes, object) {
                return None;
            }
            let Step::Field(name) = step else { return None };
            parts(shape).child(shapes, name)
        }
        Parts::List(list) => Some(shapes.get(list.items)),
        _ => None,
    }
}

/// Whether nothing is declared in an object: such sets are left as they are.
fn is_free(shapes: &Shapes, object: &Object) -> bool {
    let unknown = match object.rest.map(|rest| shapes.get(rest)) {
        None | Some(Shape::Anything) => true,
        Some(Shape::Scalar(scalar)) => {
            matches!(scalar, Scalar::IntOrString | Scalar::Time | Scalar::Formatted)
        }
        Some(_) => false,
    };
    object.fields.is_empty() && unknown
}
