//! What a watch has told, as far as somebody needs it again.

use std::collections::HashMap;

use podium_client::ObjectKey;

/// The objects of a kind that matter to somebody, with what matters of them.
#[derive(Debug)]
pub struct Mirror<T> {
    there: HashMap<ObjectKey, T>,
    /// What was there before the list that is under way.
    before: Option<HashMap<ObjectKey, T>>,
    complete: bool,
}

impl<T> Default for Mirror<T> {
    fn default() -> Self {
        Self { there: HashMap::new(), before: None, complete: false }
    }
}

impl<T: PartialEq> Mirror<T> {
    /// A list begins: what it does not name is gone.
    pub fn begin(&mut self) {
        let mut before = std::mem::take(&mut self.there);
        for (key, value) in self.before.take().into_iter().flatten() {
            before.entry(key).or_insert(value);
        }
        self.before = Some(before);
    }

    /// An object is there; says whether that is news.
    pub fn put(&mut self, key: ObjectKey, value: T) -> bool {
        let before = self.before.as_mut().and_then(|before| before.remove(&key));
        let news = self.there.get(&key).or(before.as_ref()) != Some(&value);
        self.there.insert(key, value);
        news
    }

    /// An object is gone.
    pub fn remove(&mut self, key: &ObjectKey) -> Option<T> {
        let before = self.before.as_mut().and_then(|before| before.remove(key));
        self.there.remove(key).or(before)
    }

    /// The list is complete; gives what has gone unseen.
    pub fn end(&mut self) -> Vec<(ObjectKey, T)> {
        self.complete = true;
        self.before.take().into_iter().flatten().collect()
    }

    /// Whether everything has been told once.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// What is known of an object; while a list is under way also what was known before.
    pub fn get(&self, key: &ObjectKey) -> Option<&T> {
        self.there.get(key).or_else(|| self.before.as_ref()?.get(key))
    }

    /// Everything that is known.
    pub fn iter(&self) -> impl Iterator<Item = (&ObjectKey, &T)> {
        self.there.iter().chain(self.before.iter().flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_shows_what_went_unseen_even_if_it_begins_twice() {
        let key = |name: &str| ObjectKey::new(Some("n"), name);
        let mut mirror = Mirror::default();
        mirror.begin();
        assert!(mirror.put(key("a"), 1) && mirror.put(key("b"), 1) && mirror.end().is_empty());
        assert!(!mirror.put(key("a"), 1) && mirror.put(key("a"), 2));
        mirror.begin();
        assert!(!mirror.put(key("a"), 2));
        assert_eq!((mirror.get(&key("a")), mirror.get(&key("b"))), (Some(&2), Some(&1)));
        mirror.begin();
        assert!(mirror.put(key("c"), 1) && mirror.remove(&key("a")) == Some(2));
        assert_eq!(mirror.end(), [(key("b"), 1)]);
        assert_eq!(mirror.iter().map(|(key, _)| key.name()).collect::<Vec<_>>(), ["c"]);
    }
}
