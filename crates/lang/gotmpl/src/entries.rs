//! The entries of a map, in the order of their keys.

use std::collections::{BTreeMap, btree_map};

use crate::value::{Str, Value};

/// Entries by key. Most maps are small or never change: a sorted list is smaller than a tree, and found in faster. It
/// becomes a tree when it is large and changes.
#[derive(Clone)]
pub struct Entries<'h>(Form<'h>);

#[derive(Clone)]
enum Form<'h> {
    List(Vec<(Str<'h>, Value<'h>)>),
    Tree(BTreeMap<Str<'h>, Value<'h>>),
}

/// A list longer than this becomes a tree before it is changed.
const LONG: usize = 64;

impl Default for Entries<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'h> Entries<'h> {
    /// No entries.
    pub const fn new() -> Self {
        Self(Form::List(Vec::new()))
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::List(list) => list.len(),
            Form::Tree(tree) => tree.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entry of a key.
    pub fn get(&self, key: &[u8]) -> Option<&Value<'h>> {
        match &self.0 {
            Form::List(list) => list.get(place(list, key).ok()?).map(|(_, value)| value),
            Form::Tree(tree) => tree.get(key),
        }
    }

    /// Whether a key is there.
    pub fn contains_key(&self, key: &[u8]) -> bool {
        self.get(key).is_some()
    }

    /// Sets an entry. Of an entry that is there the key stays and the value is replaced.
    pub fn insert(&mut self, key: Str<'h>, value: Value<'h>) {
        if let Form::List(list) = &mut self.0 {
            match place(list, &key) {
                Ok(at) => {
                    list[at].1 = value;
                    return;
                }
                Err(at) if at == list.len() || list.len() < LONG => {
                    if list.capacity() == 0 {
                        list.reserve_exact(1);
                    }
                    list.insert(at, (key, value));
                    return;
                }
                Err(_) => {}
            }
        }
        self.change_tree(|tree| drop(tree.insert(key, value)));
    }

    /// Takes an entry out.
    pub fn remove(&mut self, key: &[u8]) {
        if let Form::List(list) = &mut self.0
            && list.len() < LONG
        {
            if let Ok(at) = place(list, key) {
                list.remove(at);
            }
            return;
        }
        self.change_tree(|tree| drop(tree.remove(key)));
    }

    fn change_tree(&mut self, change: impl FnOnce(&mut BTreeMap<Str<'h>, Value<'h>>)) {
        if let Form::List(list) = &mut self.0 {
            self.0 = Form::Tree(std::mem::take(list).into_iter().collect());
        }
        if let Form::Tree(tree) = &mut self.0 {
            change(tree);
        }
    }

    /// The entries in the order of their keys.
    pub fn iter(&self) -> Iter<'_, 'h> {
        match &self.0 {
            Form::List(list) => Iter::List(list.iter()),
            Form::Tree(tree) => Iter::Tree(tree.iter()),
        }
    }

    /// The keys in order.
    pub fn keys(&self) -> impl Iterator<Item = &Str<'h>> {
        self.iter().map(|(key, _)| key)
    }

    /// The values in the order of their keys.
    pub fn values(&self) -> impl Iterator<Item = &Value<'h>> {
        self.iter().map(|(_, value)| value)
    }
}

fn place(list: &[(Str<'_>, Value<'_>)], key: &[u8]) -> Result<usize, usize> {
    list.binary_search_by(|(there, _)| there.as_bytes().cmp(key))
}

/// Goes through entries.
pub enum Iter<'a, 'h> {
    /// Of a list.
    List(std::slice::Iter<'a, (Str<'h>, Value<'h>)>),
    /// Of a tree.
    Tree(btree_map::Iter<'a, Str<'h>, Value<'h>>),
}

impl<'a, 'h> Iterator for Iter<'a, 'h> {
    type Item = (&'a Str<'h>, &'a Value<'h>);

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Iter::List(list) => list.next().map(|(key, value)| (key, value)),
            Iter::Tree(tree) => tree.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            Iter::List(list) => list.size_hint(),
            Iter::Tree(tree) => tree.size_hint(),
        }
    }
}

impl<'h> FromIterator<(Str<'h>, Value<'h>)> for Entries<'h> {
    /// Of two entries with one key the later counts.
    fn from_iter<I: IntoIterator<Item = (Str<'h>, Value<'h>)>>(entries: I) -> Self {
        let mut list: Vec<(Str<'h>, Value<'h>)> = entries.into_iter().collect();
        if !list.is_sorted_by(|a, b| a.0 < b.0) {
            list.sort_by(|a, b| a.0.cmp(&b.0));
            list.dedup_by(|later, kept| {
                let same = later.0 == kept.0;
                if same {
                    std::mem::swap(&mut later.1, &mut kept.1);
                }
                same
            });
        }
        list.shrink_to_fit();
        Self(Form::List(list))
    }
}

impl<'h, const N: usize> From<[(Str<'h>, Value<'h>); N]> for Entries<'h> {
    fn from(entries: [(Str<'h>, Value<'h>); N]) -> Self {
        entries.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: usize) -> Str<'static> {
        format!("{n:04}").into()
    }

    fn shown(entries: &Entries<'_>) -> Vec<(String, i64)> {
        let int = |value: &Value<'_>| if let Value::Int(i) = value { *i } else { -1 };
        entries.iter().map(|(key, value)| (key.to_text().into_owned(), int(value))).collect()
    }

    #[test]
    fn they_are_what_a_tree_of_the_same_changes_is() {
        // Changes in an order that jumps about, over the length at which a list becomes a tree.
        for count in [1, 3, 64, 65, 500] {
            let mut tree = BTreeMap::new();
            let mut entries = Entries::new();
            for i in 0..count * 3 {
                let n = i * 7919 % count;
                if i % 5 == 4 {
                    tree.remove(&format!("{n:04}"));
                    entries.remove(&key(n));
                } else {
                    tree.insert(format!("{n:04}"), i as i64);
                    entries.insert(key(n), Value::Int(i as i64));
                }
                assert_eq!(entries.len(), tree.len());
                assert_eq!(entries.contains_key(&key(n)), tree.contains_key(&format!("{n:04}")));
            }
            assert_eq!(shown(&entries), tree.into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn of_two_with_one_key_the_later_counts() {
        let keys = [3, 1, 3, 2, 1, 3];
        let entries: Entries<'_> = keys.iter().zip(0..).map(|(n, i)| (key(*n), Value::Int(i))).collect();
        assert_eq!(shown(&entries), [("0001".to_owned(), 4), ("0002".to_owned(), 3), ("0003".to_owned(), 5)]);
    }
}
