//! Carrying out one assignment.

use podium_goyaml::{List, Map, Node, Value};

use super::line::{Change, Step};
use super::{Error, MAX_INDEX};

/// Changes the values. `budget` is what is left of the list entries that the line may create.
pub(super) fn apply(change: Change, values: &mut Map, budget: &mut usize) -> Result<(), Error> {
    if !change.cut_short {
        check(&change.steps)?;
    }
    let Change { steps, value, cut_short, .. } = change;
    let mut value = value;
    let mut place = Place::Map(values);
    let mut rest = steps.as_slice();
    while let Some((step, after)) = rest.split_first() {
        rest = after;
        let inside = match (place, step) {
            (Place::Map(map), Step::Key { name, pos, .. }) => {
                if name.is_empty() && !map.contains_key("") {
                    // Nothing can be stored under an empty name.
                    return Ok(());
                }
                if after.is_empty() {
                    if let Some(value) = value.take().filter(|_| !name.is_empty()) {
                        map.insert(name.clone(), value);
                    }
                    return Ok(());
                }
                let is_list = matches!(after.first(), Some(Step::Index(_)));
                if !map.contains_key(name) {
                    if !is_list && !creates(after, value.is_some()) {
                        return Ok(());
                    }
                    let empty = if is_list { Value::List(List::new()) } else { Value::Map(Map::new()) };
                    map.insert(name.clone(), Node { value: empty, pos: *pos });
                }
                // Under an empty name only what is already there can change.
                let may_grow = !cut_short && !name.is_empty();
                map.get_mut(name).and_then(|node| Place::of(node, may_grow))
            }
            (Place::List(list, may_grow), Step::Index(index)) => {
                let at = usize::try_from(*index).unwrap_or(usize::MAX);
                if at >= list.len() {
                    if !may_grow {
                        return Ok(());
                    }
                    let more = (at + 1).saturating_sub(list.len());
                    *budget = budget.checked_sub(more).ok_or(Error::TooManyEntries)?;
                    list.as_vec_mut().resize_with(at + 1, Node::default);
                }
                let Some(entry) = list.as_vec_mut().get_mut(at) else { return Ok(()) };
                match after.first() {
                    None => {
                        if let Some(value) = value.take() {
                            *entry = value;
                        }
                        return Ok(());
                    }
                    Some(Step::Index(_)) if entry.as_list().is_none() => {
                        if cut_short {
                            return Ok(());
                        }
                        entry.value = Value::List(List::new());
                    }
                    Some(Step::Key { pos, .. }) if entry.as_map().is_none() => {
                        *entry = Node { value: Value::Map(Map::new()), pos: *pos };
                    }
                    Some(_) => {}
                }
                Place::of(entry, !cut_short)
            }
            _ => None,
        };
        match inside {
            Some(inside) => place = inside,
            None => return Ok(()),
        }
    }
    Ok(())
}

enum Place<'v> {
    Map(&'v mut Map),
    /// A list, and whether entries can be added to it.
    List(&'v mut List, bool),
}

impl<'v> Place<'v> {
    fn of(node: &'v mut Node, may_grow: bool) -> Option<Self> {
        match &mut node.value {
            Value::Map(map) => Some(Self::Map(map)),
            Value::List(list) => Some(Self::List(list, may_grow)),
            _ => None,
        }
    }
}

/// Whether these steps, started in a map that does not exist yet, leave anything in it.
fn creates(steps: &[Step], has_value: bool) -> bool {
    for (at, step) in steps.iter().enumerate() {
        match (step, steps.get(at + 1)) {
            (Step::Key { name, .. }, _) if name.is_empty() => return false,
            (Step::Key { .. }, None) => return has_value,
            (Step::Key { .. }, Some(Step::Index(_))) => return true,
            _ => {}
        }
    }
    false
}

/// What Helm checks on its way back from a complete assignment, innermost step first.
fn check(steps: &[Step]) -> Result<(), Error> {
    for (at, step) in steps.iter().enumerate().rev() {
        match step {
            Step::Index(index) if usize::try_from(*index).is_ok_and(|i| i > MAX_INDEX) => {
                return Err(Error::IndexTooLarge(*index));
            }
            Step::Key { name, inner_empty: true, .. } => {
                if let Some(Step::Key { name: inner, .. }) = steps.get(at + 1)
                    && inner.is_empty()
                {
                    return Err(Error::EmptyMap(name.to_string()));
                }
            }
            _ => {}
        }
    }
    Ok(())
}
