//! Maps that are sorted lists until they are large and change.
//!
//! Most maps of values are small or never change: a sorted list is smaller than a tree, and found in faster.

mod iter;

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt;

pub use iter::{IntoIter, Iter, IterMut};

/// Entries by key, in the order of the keys.
#[derive(Clone)]
pub struct Entries<K, V>(Form<K, V>);

#[derive(Clone)]
enum Form<K, V> {
    List(Vec<(K, V)>),
    /// In a box, since it is rare and would make every map larger.
    #[allow(clippy::box_collection)]
    Tree(Box<BTreeMap<K, V>>),
}

/// A list longer than this becomes a tree before it is changed.
const LONG: usize = 64;

/// A list up to this length is looked through entry by entry.
const SHORT: usize = 20;

impl<K, V> Default for Entries<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K, V> Entries<K, V> {
    /// No entries.
    pub const fn new() -> Self {
        Self(Form::List(Vec::new()))
    }

    /// No entries, with room for so many.
    pub fn with_room(entries: usize) -> Self {
        Self(Form::List(Vec::with_capacity(entries)))
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

    /// The entries in the order of their keys.
    pub fn iter(&self) -> Iter<'_, K, V> {
        match &self.0 {
            Form::List(list) => Iter::List(list.iter()),
            Form::Tree(tree) => Iter::Tree(tree.iter()),
        }
    }

    /// The entries in the order of their keys, changeable.
    pub fn iter_mut(&mut self) -> IterMut<'_, K, V> {
        match &mut self.0 {
            Form::List(list) => IterMut::List(list.iter_mut()),
            Form::Tree(tree) => IterMut::Tree(tree.iter_mut()),
        }
    }

    /// The keys in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + ExactSizeIterator {
        self.iter().map(|(key, _)| key)
    }

    /// The values in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator {
        self.iter().map(|(_, value)| value)
    }
}

impl<K: Ord, V> Entries<K, V> {
    /// The value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        match &self.0 {
            // Most keys differ in length: then their texts need not be looked at.
            Form::List(list) if list.len() <= SHORT => {
                list.iter().find(|(there, _)| there.borrow() == key).map(|(_, value)| value)
            }
            Form::List(list) => list.get(place(list, key).ok()?).map(|(_, value)| value),
            Form::Tree(tree) => tree.get(key),
        }
    }

    /// The value of a key, changeable.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        match &mut self.0 {
            Form::List(list) => {
                let at = place(list, key).ok()?;
                list.get_mut(at).map(|(_, value)| value)
            }
            Form::Tree(tree) => tree.get_mut(key),
        }
    }

    /// Whether a key is there.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.get(key).is_some()
    }

    /// Sets an entry and hands back the value that was there. The key that was there stays.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        if let Form::List(list) = &mut self.0 {
            match place(list, &key) {
                Ok(at) => return list.get_mut(at).map(|there| std::mem::replace(&mut there.1, value)),
                Err(at) if at == list.len() || list.len() < LONG => {
                    if list.capacity() == 0 {
                        list.reserve_exact(1);
                    }
                    list.insert(at, (key, value));
                    return None;
                }
                Err(_) => {}
            }
        }
        self.change_tree(|tree| tree.insert(key, value))
    }

    /// Takes an entry out.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        if let Form::List(list) = &mut self.0 {
            let at = place(list, key).ok()?;
            if list.len() < LONG || at + 1 == list.len() {
                return Some(list.remove(at).1);
            }
        }
        self.change_tree(|tree| tree.remove(key))
    }

    /// Keeps the entries for which the answer is yes.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        match &mut self.0 {
            Form::List(list) => list.retain_mut(|(key, value)| keep(key, value)),
            Form::Tree(tree) => tree.retain(keep),
        }
    }

    fn change_tree<T: Default>(&mut self, change: impl FnOnce(&mut BTreeMap<K, V>) -> T) -> T {
        if let Form::List(list) = &mut self.0 {
            self.0 = Form::Tree(Box::new(std::mem::take(list).into_iter().collect()));
        }
        match &mut self.0 {
            Form::Tree(tree) => change(tree),
            Form::List(_) => T::default(),
        }
    }
}

fn place<K: Borrow<Q>, V, Q: Ord + ?Sized>(list: &[(K, V)], key: &Q) -> Result<usize, usize> {
    list.binary_search_by(|(there, _)| there.borrow().cmp(key))
}

impl<K: PartialEq, V: PartialEq> PartialEq for Entries<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for Entries<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for Entries<K, V> {
    /// Of two entries with one key the later counts.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut list: Vec<(K, V)> = entries.into_iter().collect();
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

impl<K: Ord, V, const N: usize> From<[(K, V); N]> for Entries<K, V> {
    fn from(entries: [(K, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: usize) -> String {
        format!("{n:04}")
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
                    assert_eq!(entries.remove(&key(n)), tree.remove(&key(n)));
                } else {
                    assert_eq!(entries.insert(key(n), i), tree.insert(key(n), i));
                }
                assert_eq!(entries.len(), tree.len());
                assert_eq!(entries.get(&key(n)), tree.get(&key(n)));
                assert_eq!(entries.get_mut(&key(n)), tree.get_mut(&key(n)));
            }
            assert!(entries.iter().eq(tree.iter()));
            assert!(entries.iter().rev().eq(tree.iter().rev()));
            assert!(entries.iter_mut().rev().eq(tree.iter_mut().rev()));
            let keep = |_: &String, value: &mut usize| !(*value).is_multiple_of(3);
            entries.retain(keep);
            tree.retain(keep);
            assert!(entries.clone().into_iter().rev().eq(tree.clone().into_iter().rev()));
            assert!(entries.into_iter().eq(tree));
        }
    }

    #[test]
    fn entries_in_order_stay_a_list_and_the_last_goes_first() {
        let mut entries: Entries<usize, usize> = (0..1000).map(|n| (n, n)).collect();
        entries.insert(1000, 0);
        entries.remove(&1000);
        assert!(matches!(entries.0, Form::List(_)));
        entries.remove(&5);
        assert!(matches!(entries.0, Form::Tree(_)));
        assert_eq!(entries.len(), 999);
    }

    #[test]
    fn of_two_with_one_key_the_later_counts() {
        let keys = [3, 1, 3, 2, 1, 3];
        let entries: Entries<i32, usize> = keys.into_iter().zip(0..).collect();
        assert!(entries.into_iter().eq([(1, 4), (2, 3), (3, 5)]));
    }
}
