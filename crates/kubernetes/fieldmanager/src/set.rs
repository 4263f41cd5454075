//! Sets of fields: a tree of steps, in the order and the spelling in which `fieldsV1` stores them.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use podium_schema::shape::{Shape, Shapes};
use serde_json::{Map, Value};

use crate::go;
use crate::step::Step;
use crate::typed::{Parts, parts};

/// A set nested deeper than this is refused.
const DEEPEST: usize = 256;

/// A set of fields of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldSet<'a> {
    pub(crate) nodes: Vec<Node<'a>>,
}

/// A step that is in the set, or on the way to one that is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node<'a> {
    pub(crate) step: Step<'a>,
    pub(crate) owned: bool,
    pub(crate) below: FieldSet<'a>,
}

impl<'a> Node<'a> {
    fn kept(self) -> Option<Self> {
        (self.owned || !self.below.is_empty()).then_some(self)
    }
}

/// Why a stored set cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a field set: {0}")]
pub struct NotASet(&'static str);

impl<'a> FieldSet<'a> {
    /// The set of one path, or of more.
    pub fn of(paths: &[&[&'a str]]) -> Self {
        let mut set = FieldSet::default();
        for path in paths {
            set.insert(&path.iter().map(|name| Step::field(name)).collect::<Vec<_>>());
        }
        set
    }

    /// Adds a path. What is above it is not added.
    pub fn insert(&mut self, path: &[Step<'a>]) {
        let Some((step, rest)) = path.split_first() else { return };
        let at = match self.nodes.binary_search_by(|node| node.step.cmp(step)) {
            Ok(at) => at,
            Err(at) => {
                let node = Node { step: step.clone(), owned: false, below: FieldSet::default() };
                self.nodes.insert(at, node);
                at
            }
        };
        if let Some(node) = self.nodes.get_mut(at) {
            if rest.is_empty() {
                node.owned = true;
            } else {
                node.below.insert(rest);
            }
        }
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub(crate) fn get(&self, step: &Step<'_>) -> Option<&Node<'a>> {
        let at = self.nodes.binary_search_by(|node| compare(&node.step, step)).ok()?;
        self.nodes.get(at)
    }

    /// Whether a path is in the set.
    pub fn has(&self, path: &[Step<'_>]) -> bool {
        let Some((step, rest)) = path.split_first() else { return false };
        let Some(node) = self.get(step) else { return false };
        if rest.is_empty() { node.owned } else { node.below.has(rest) }
    }

    /// Whether all its fields are in another set.
    pub fn is_within(&self, other: &FieldSet<'_>) -> bool {
        let mut others = other.nodes.iter();
        self.nodes.iter().all(|node| {
            let Some(other) = others.find(|other| compare(&other.step, &node.step).is_ge()) else {
                return false;
            };
            compare(&other.step, &node.step).is_eq()
                && (other.owned || !node.owned)
                && node.below.is_within(&other.below)
        })
    }

    /// What is in one of the two.
    #[must_use]
    pub fn union(&self, other: &FieldSet<'a>) -> Self {
        zip(self, other, |left, right| match (left, right) {
            (Some(one), None) | (None, Some(one)) => Some(one.clone()),
            (Some(left), Some(right)) => Some(Node {
                step: right.step.clone(),
                owned: left.owned || right.owned,
                below: left.below.union(&right.below),
            }),
            (None, None) => None,
        })
    }

    /// What is in both.
    #[must_use]
    pub fn intersection(&self, other: &FieldSet<'_>) -> Self {
        zip(self, other, |left, right| {
            let (left, right) = (left?, right?);
            let below = left.below.intersection(&right.below);
            Node { step: left.step.clone(), owned: left.owned && right.owned, below }.kept()
        })
    }

    /// What is in the first and not in the second; what is below a field of the second stays.
    #[must_use]
    pub fn difference(&self, other: &FieldSet<'_>) -> Self {
        let mut out = self.clone();
        out.subtract(other);
        out
    }

    /// Takes the fields of another set out of this one; what is below them stays.
    pub fn subtract(&mut self, other: &FieldSet<'_>) {
        let mut others = other.nodes.iter().peekable();
        self.nodes.retain_mut(|node| {
            while others.next_if(|other| compare(&other.step, &node.step).is_lt()).is_some() {}
            let Some(other) = others.next_if(|other| compare(&other.step, &node.step).is_eq()) else {
                return true;
            };
            node.owned = node.owned && !other.owned;
            node.below.subtract(&other.below);
            node.owned || !node.below.is_empty()
        });
    }

    /// What is in the first and neither in the second nor below one of its fields.
    #[must_use]
    pub fn without(&self, other: &FieldSet<'_>) -> Self {
        zip(self, other, |left, right| match (left?, right) {
            (left, None) => Some(left.clone()),
            (_, Some(right)) if right.owned => None,
            (left, Some(right)) => {
                let below = left.below.without(&right.below);
                Node { step: left.step.clone(), owned: left.owned, below }.kept()
            }
        })
    }

    /// The fields of the set below which no other is.
    #[must_use]
    pub fn leaves(&self) -> Self {
        let leaf = |node: &Node<'a>| Node {
            step: node.step.clone(),
            owned: node.owned && node.below.is_empty(),
            below: node.below.leaves(),
        };
        FieldSet { nodes: self.nodes.iter().map(leaf).collect() }
    }

    /// The set with the declared fields that lead to its fields.
    #[must_use]
    pub fn with_named(&self, shapes: &Shapes, shape: &Shape) -> Self {
        self.named(shapes, Some(shape))
    }

    fn named(&self, shapes: &Shapes, shape: Option<&Shape>) -> Self {
        let parts = shape.map(parts);
        let nodes = self.nodes.iter().map(|node| {
            let (child, declared) = match (&node.step, &parts) {
                (Step::Field(name), Some(Parts::Any)) => (Parts::Any.child(shapes, name), false),
                (Step::Field(name), Some(map @ Parts::Map(object))) => {
                    (map.child(shapes, name), object.field(name).is_some())
                }
                (Step::Key(_), Some(Parts::List(list))) => (Some(shapes.get(list.items)), false),
                _ => (None, false),
            };
            Node {
                step: node.step.clone(),
                owned: node.owned || (declared && !node.below.is_empty()),
                below: node.below.named(shapes, child),
            }
        });
        FieldSet { nodes: nodes.collect() }
    }

    /// Calls `found` with each path of the set: those of one length before what is below them.
    pub fn each_path(&self, found: &mut impl FnMut(&[Step<'a>])) {
        self.walk(&mut Vec::new(), found);
    }

    fn walk(&self, path: &mut Vec<Step<'a>>, found: &mut impl FnMut(&[Step<'a>])) {
        for node in self.nodes.iter().filter(|node| node.owned) {
            path.push(node.step.clone());
            found(path);
            path.pop();
        }
        for node in self.nodes.iter().filter(|node| !node.below.is_empty()) {
            path.push(node.step.clone());
            node.below.walk(path, found);
            path.pop();
        }
    }

    /// Reads `fieldsV1`. Steps of kinds that are not known are left out.
    pub fn read(value: &'a Value) -> Result<Self, NotASet> {
        Ok(read(value, 0)?.1)
    }

    /// The set as `fieldsV1`.
    pub fn to_value(&self) -> Value {
        Value::Object(self.to_map(false))
    }

    fn to_map(&self, itself: bool) -> Map<String, Value> {
        let mut map = Map::new();
        if itself && !self.is_empty() {
            map.insert(".".to_owned(), Value::Object(Map::new()));
        }
        for node in &self.nodes {
            let mut key = String::with_capacity(24);
            node.step.write(&mut key);
            map.insert(key, Value::Object(node.below.to_map(node.owned)));
        }
        map
    }

    /// The set as the text of `fieldsV1`, in the order of its steps.
    pub fn to_json(&self) -> String {
        let mut out = String::from("{");
        self.write(&mut out, false);
        out.push('}');
        out
    }

    fn write(&self, out: &mut String, itself: bool) {
        let mut key = String::new();
        if itself && !self.is_empty() {
            out.push_str("\".\":{}");
        }
        for (at, node) in self.nodes.iter().enumerate() {
            if at > 0 || itself {
                out.push(',');
            }
            key.clear();
            node.step.write(&mut key);
            go::json_text(out, &key, false);
            out.push_str(":{");
            node.below.write(out, node.owned);
            out.push('}');
        }
    }

    /// The set with its texts its own.
    pub fn into_owned(self) -> FieldSet<'static> {
        let own = |node: Node<'a>| Node {
            step: node.step.into_owned(),
            owned: node.owned,
            below: node.below.into_owned(),
        };
        FieldSet { nodes: self.nodes.into_iter().map(own).collect() }
    }
}

/// Compares steps of different lifetimes.
fn compare(a: &Step<'_>, b: &Step<'_>) -> Ordering {
    a.cmp(b)
}

/// Goes through two sets in the order of their steps, and makes a set of what `pick` gives.
fn zip<'a, 'b>(
    left: &FieldSet<'a>,
    right: &FieldSet<'b>,
    mut pick: impl FnMut(Option<&Node<'a>>, Option<&Node<'b>>) -> Option<Node<'a>>,
) -> FieldSet<'a> {
    let mut nodes = Vec::with_capacity(left.nodes.len());
    let (mut lefts, mut rights) = (left.nodes.iter().peekable(), right.nodes.iter().peekable());
    loop {
        let order = match (lefts.peek(), rights.peek()) {
            (Some(left), Some(right)) => compare(&left.step, &right.step),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => break,
        };
        let left = if order.is_le() { lefts.next() } else { None };
        let right = if order.is_ge() { rights.next() } else { None };
        nodes.extend(pick(left, right));
    }
    FieldSet { nodes }
}

/// The set below a stored node, and whether the node itself is in the set.
fn read(value: &Value, depth: usize) -> Result<(bool, FieldSet<'_>), NotASet> {
    if depth > DEEPEST {
        return Err(NotASet("it is too deep"));
    }
    let map = match value {
        Value::Null => return Ok((true, FieldSet::default())),
        Value::Object(map) => map,
        _ => return Err(NotASet("expected an object")),
    };
    let mut nodes: Vec<Node<'_>> = Vec::with_capacity(map.len());
    let (mut itself, mut sorted) = (false, true);
    for (key, value) in map {
        if key == "." {
            itself = true;
            continue;
        }
        let Some(step) = Step::parse(key).map_err(NotASet)? else { continue };
        let (owned, below) = read(value, depth + 1)?;
        sorted = sorted && nodes.last().is_none_or(|last| last.step < step);
        nodes.push(Node { step, owned, below });
    }
    if !sorted {
        nodes = sort(nodes);
    }
    Ok((itself || nodes.is_empty(), FieldSet { nodes }))
}

/// Puts nodes in order; of those with the same step the last stays. A tree does it, because numbers of which one is
/// whole and the other is not have no total order, and it minds that least.
pub(crate) fn sort(nodes: Vec<Node<'_>>) -> Vec<Node<'_>> {
    let mut sorted = BTreeMap::new();
    for node in nodes {
        sorted.insert(node.step, (node.owned, node.below));
    }
    sorted.into_iter().map(|(step, (owned, below))| Node { step, owned, below }).collect()
}
