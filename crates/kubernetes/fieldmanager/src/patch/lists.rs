//! Lists in strategic merge patches: merged by key or as sets, with directives for their items and their order.

use std::collections::{HashMap, HashSet};

use podium_schema::shape::ShapeId;
use serde_json::{Map, Value};

use super::order;
use super::strategic::{DIRECTIVE, Error, ORDER, Strategic, after, unknown, without_directives};
use crate::go;

/// The Go type of objects.
const MAP: &str = "map[string]interface {}";

impl Strategic<'_> {
    /// Merges the lists for which the patch tells the order of their items.
    pub(super) fn orders(
        &self,
        object: &mut Map<String, Value>,
        patch: &mut Map<String, Value>,
        shape: Option<ShapeId>,
    ) -> Result<(), Error> {
        let given: Vec<String> = patch.keys().filter(|key| key.starts_with(ORDER)).cloned().collect();
        for name in given {
            let order = match patch.remove(&name) {
                Some(Value::Array(order)) => order,
                other => return Err(Error::not_a("[]interface {}", &other.unwrap_or_default())),
            };
            let key = after(&name, ORDER).ok_or(Error::OrderFormat)?;
            let list = |map: &Map<String, Value>| match map.get(key) {
                None => Ok(None),
                Some(Value::Array(items)) => Ok(Some(items.clone())),
                Some(other) => Err(Error::not_a("[]interface {}", other)),
            };
            let (live, new) = (list(object)?, list(patch)?);
            let (child, strategy) = self.list_field(shape, key)?;
            let by = strategy.key.as_deref();
            check_order(new.as_deref().unwrap_or_default(), &order, by)?;
            let kind = element_kind(live.as_deref().unwrap_or_default(), new.as_deref().unwrap_or_default());
            let by_name = by.unwrap_or_default();
            let bare = live.iter().flatten().find(|item| item.get(by_name).is_none()).cloned();
            let mut window: Vec<String> = live.iter().flatten().map(|item| order::mark(item, by)).collect();
            let merged = match (live, new) {
                (Some(live), None) => live,
                (None, Some(new)) => match without_directives(Value::Array(new)) {
                    Some(Value::Array(new)) => new,
                    _ => continue,
                },
                (Some(live), Some(new)) if strategy.merge => {
                    let (merged, seen) = self.list(live, new, child, by, false)?;
                    window = seen.unwrap_or(window);
                    merged
                }
                (Some(_), Some(new)) => new,
                (None, None) => continue,
            };
            if let Some(by) = by {
                order::check(&merged, by)?;
            }
            let kind = kind?;
            let marks: Vec<String> = order.iter().map(|item| order::mark(item, by)).collect();
            let (wanted, rest) = order::partition(merged, &marks, by);
            if kind == MAP {
                order::check(&wanted, by_name)?;
                order::check(&order, by_name)?;
                order::check(&rest, by_name)?;
                order::check(bare.as_slice(), by_name)?;
            }
            let joined = order::join(wanted, rest, &marks, &window, by);
            patch.remove(key);
            object.insert(key.to_owned(), Value::Array(joined));
        }
        Ok(())
    }

    /// Merges two lists. Gives as well what the original's memory of the live list looks like afterwards, where that
    /// differs: items that were appended stand where others were deleted.
    pub(super) fn list(
        &self,
        live: Vec<Value>,
        patch: Vec<Value>,
        shape: Option<ShapeId>,
        key: Option<&str>,
        deletes: bool,
    ) -> Result<(Vec<Value>, Option<Vec<String>>), Error> {
        if live.is_empty() && patch.is_empty() {
            return Ok((live, None));
        }
        let kind = element_kind(&live, &patch)?;
        if kind != MAP {
            return scalars(live, patch, key, deletes).map(|merged| (merged, None));
        }
        let Some(key) = key else {
            return Err(Error::Failed(format!(
                "cannot merge lists without merge key for {}",
                self.kind(shape)
            )));
        };
        let marks: Vec<String> = live.iter().map(|item| order::mark(item, Some(key))).collect();
        let (mut patch, special): (Vec<Value>, Vec<Value>) =
            patch.into_iter().partition(|item| item.get(DIRECTIVE).is_none());
        let mut window = Window::new(marks);
        let mut replace = false;
        for item in special.iter().filter_map(Value::as_object) {
            match item.get(DIRECTIVE).and_then(Value::as_str) {
                Some("delete") => match item.get(key) {
                    Some(value) => window.delete(&value.to_string()),
                    None => return Err(Error::no_key(item, key)),
                },
                Some("replace") => replace = true,
                Some("merge") => {
                    return Err(Error::Failed(
                        "merging lists cannot yet be specified in the patch".to_owned(),
                    ));
                }
                _ => return Err(unknown(item.get(DIRECTIVE).unwrap_or(&Value::Null), item)),
            }
        }
        let mut merged: Vec<Value> = if replace {
            std::mem::take(&mut patch)
        } else {
            let alive = |(at, item)| window.is_alive(at).then_some(item);
            live.into_iter().enumerate().filter_map(alive).collect()
        };
        let server: Vec<String> = merged.iter().map(|item| order::mark(item, Some(key))).collect();
        // Items without the key are not found by it.
        let keyed = |item: &Value| item.get(key).is_some();
        let mut places: HashMap<String, usize> = HashMap::new();
        for (at, mark) in server.iter().enumerate() {
            if merged.get(at).is_some_and(keyed) {
                places.entry(mark.clone()).or_insert(at);
            }
        }
        let wanted: Vec<String> = patch.iter().map(|item| order::mark(item, Some(key))).collect();
        for (item, mark) in patch.into_iter().zip(&wanted) {
            let Value::Object(item) = item else { continue };
            if !item.contains_key(key) {
                return Err(Error::no_key(&item, key));
            }
            match places.get(mark).and_then(|at| merged.get_mut(*at)) {
                Some(found) => {
                    let Value::Object(old) = found.take() else { continue };
                    *found = Value::Object(self.map(old, item, shape)?);
                }
                None => {
                    places.insert(mark.clone(), merged.len());
                    merged.push(Value::Object(item));
                    window.append(mark);
                }
            }
        }
        order::check(&merged, key)?;
        let (ours, theirs) = order::partition(merged, &wanted, Some(key));
        Ok((order::join(ours, theirs, &wanted, &server, Some(key)), Some(window.marks)))
    }
}

/// The marks of a live list as they are remembered while it is merged.
struct Window {
    marks: Vec<String>,
    alive: Vec<bool>,
    /// How many items there are now.
    length: usize,
    /// Where the items of each mark are.
    places: HashMap<String, Vec<usize>>,
    deleted: Vec<(usize, String)>,
}

impl Window {
    fn new(marks: Vec<String>) -> Self {
        let mut places: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, mark) in marks.iter().enumerate() {
            places.entry(mark.clone()).or_default().push(at);
        }
        Window { alive: vec![true; marks.len()], length: marks.len(), marks, places, deleted: Vec::new() }
    }

    /// Deletes the items of a mark. The memory of the list closes up, and keeps its last item where it was.
    fn delete(&mut self, mark: &str) {
        for at in self.places.remove(mark).unwrap_or_default() {
            // What is behind the last item was deleted before, and is not looked at again.
            let last = self.alive.iter().rposition(|alive| *alive).unwrap_or_default();
            self.alive.truncate(last + 1);
            self.length -= 1;
            self.deleted.push((self.length, self.marks.get(last).cloned().unwrap_or_default()));
            if let Some(alive) = self.alive.get_mut(at) {
                *alive = false;
            }
        }
    }

    fn is_alive(&self, at: usize) -> bool {
        self.alive.get(at).is_some_and(|alive| *alive)
    }

    fn append(&mut self, mark: &str) {
        self.settle();
        if let Some(place) = self.marks.get_mut(self.length) {
            mark.clone_into(place);
        }
        self.length += 1;
    }

    /// Closes up after all deletions.
    fn settle(&mut self) {
        if self.deleted.is_empty() {
            return;
        }
        let marks = std::mem::take(&mut self.marks);
        let kept = marks.into_iter().enumerate().filter_map(|(at, mark)| self.is_alive(at).then_some(mark));
        self.marks = kept.collect();
        self.alive = vec![true; self.marks.len()];
        let mut tail = std::mem::take(&mut self.deleted);
        tail.sort_by_key(|(at, _)| *at);
        self.marks.extend(tail.into_iter().map(|(_, mark)| mark));
    }
}

/// The Go type of all items of two lists.
fn element_kind(left: &[Value], right: &[Value]) -> Result<&'static str, Error> {
    let mut kind = None;
    for item in left.iter().chain(right) {
        let this = go::type_name(item);
        match kind {
            None if item.is_array() => return Err(Error::ListOfLists),
            None => kind = Some(this),
            Some(kind) if kind != this => {
                let mut lists = String::from("[");
                go::plain_list(&mut lists, left);
                lists.push(' ');
                go::plain_list(&mut lists, right);
                lists.push(']');
                return Err(Error::Failed(format!("list element types are not identical: {lists}")));
            }
            Some(_) => {}
        }
    }
    kind.ok_or_else(|| Error::Failed("no elements in any of the given slices".to_owned()))
}

/// Merges lists of values without parts: each is there once.
fn scalars(
    live: Vec<Value>,
    patch: Vec<Value>,
    key: Option<&str>,
    deletes: bool,
) -> Result<Vec<Value>, Error> {
    let server: Vec<String> = live.iter().map(Value::to_string).collect();
    let wanted: Vec<String> = patch.iter().map(Value::to_string).collect();
    if deletes {
        let gone: HashSet<&str> = wanted.iter().map(String::as_str).collect();
        return Ok(live.into_iter().filter(|item| !gone.contains(item.to_string().as_str())).collect());
    }
    let mut seen = HashSet::new();
    let merged: Vec<Value> =
        live.into_iter().chain(patch).filter(|item| seen.insert(item.to_string())).collect();
    if let (Some(_), Some(first)) = (key, merged.first()) {
        return Err(Error::not_a_map(first));
    }
    let (ours, theirs) = order::partition(merged, &wanted, None);
    Ok(order::join(ours, theirs, &wanted, &server, None))
}

/// The items of a patch must be in the order that the patch tells.
fn check_order(patch: &[Value], order: &[Value], key: Option<&str>) -> Result<(), Error> {
    if patch.is_empty() || order.is_empty() {
        return Ok(());
    }
    let marked = |item: &Value, word: Option<&str>| match (item.get(DIRECTIVE), word) {
        (Some(found), Some(word)) => found == word,
        (found, _) => found.is_some(),
    };
    if key.is_some()
        && let Some(other) = patch.iter().find(|item| !item.is_object())
    {
        return Err(Error::not_a_map(other));
    }
    let mut left = patch.iter().filter(|item| key.is_none() || !marked(item, Some("delete"))).peekable();
    let mut rest = order.iter().peekable();
    while let (Some(item), Some(next)) = (left.peek(), rest.peek()) {
        if marked(item, None) {
            left.next();
            continue;
        }
        let same = match key {
            Some(key) => {
                order::check(std::slice::from_ref(*item), key)?;
                order::check(std::slice::from_ref(*next), key)?;
                item.get(key) == next.get(key)
            }
            None => item == next,
        };
        if same {
            left.next();
        }
        rest.next();
    }
    if left.peek().is_none() {
        return Ok(());
    }
    let (mut a, mut b) = (String::new(), String::new());
    go::plain_list(&mut a, patch);
    go::plain_list(&mut b, order);
    Err(Error::Failed(format!("The order in patch list:\n{a}\n doesn't match {ORDER} list:\n{b}\n")))
}
