//! Going through entries.

use std::collections::btree_map;
use std::slice;
use std::vec;

use crate::{Entries, Form};

/// Goes through entries.
pub enum Iter<'a, K, V> {
    /// Of a list.
    List(slice::Iter<'a, (K, V)>),
    /// Of a tree.
    Tree(btree_map::Iter<'a, K, V>),
}

/// Goes through entries and can change their values.
pub enum IterMut<'a, K, V> {
    /// Of a list.
    List(slice::IterMut<'a, (K, V)>),
    /// Of a tree.
    Tree(btree_map::IterMut<'a, K, V>),
}

/// Takes entries out.
pub enum IntoIter<K, V> {
    /// Of a list.
    List(vec::IntoIter<(K, V)>),
    /// Of a tree.
    Tree(btree_map::IntoIter<K, V>),
}

/// Forwards to the iterator of the list, whose items need a different form, or to that of the tree.
macro_rules! iterate {
    ($name:ident $(<$life:lifetime>)?, $item:ty, $form:expr) => {
        impl<$($life,)? K, V> Iterator for $name<$($life,)? K, V> {
            type Item = $item;

            fn next(&mut self) -> Option<Self::Item> {
                match self {
                    Self::List(list) => list.next().map($form),
                    Self::Tree(tree) => tree.next(),
                }
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                match self {
                    Self::List(list) => list.size_hint(),
                    Self::Tree(tree) => tree.size_hint(),
                }
            }
        }

        impl<$($life,)? K, V> DoubleEndedIterator for $name<$($life,)? K, V> {
            fn next_back(&mut self) -> Option<Self::Item> {
                match self {
                    Self::List(list) => list.next_back().map($form),
                    Self::Tree(tree) => tree.next_back(),
                }
            }
        }

        impl<$($life,)? K, V> ExactSizeIterator for $name<$($life,)? K, V> {}
    };
}

iterate!(Iter<'a>, (&'a K, &'a V), |(key, value)| (key, value));
iterate!(IterMut<'a>, (&'a K, &'a mut V), |(key, value)| (&*key, value));
iterate!(IntoIter, (K, V), |entry| entry);

impl<'a, K, V> IntoIterator for &'a Entries<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<K, V> IntoIterator for Entries<K, V> {
    type Item = (K, V);
    type IntoIter = IntoIter<K, V>;

    fn into_iter(self) -> Self::IntoIter {
        match self.0 {
            Form::List(list) => IntoIter::List(list.into_iter()),
            Form::Tree(tree) => IntoIter::Tree(tree.into_iter()),
        }
    }
}
