//! What is remembered of every watched object: enough to see a change, nothing of its body.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use serde_json::Value;

use podium_client::ObjectKey;
use podium_client::watch::WatchEvent;

/// What is remembered of one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectState {
    /// Its uid as a number; see [`uid`].
    pub uid: u128,
    /// Its resourceVersion; 0 if that is no number.
    pub version: u64,
    /// Its generation; 0 if the kind has none.
    pub generation: u64,
    /// What the consumer calls a change.
    pub hash: u64,
}

/// Something that happened to an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Which.
    pub key: ObjectKey,
    /// What it was; nothing if it is new.
    pub before: Option<ObjectState>,
    /// What it is; nothing if it is gone.
    pub after: Option<ObjectState>,
}

impl Change {
    /// Whether the consumer's hash, the object's identity or its existence changed, and not only its version.
    pub fn matters(&self) -> bool {
        let essence = |row: Option<ObjectState>| row.map(|row| (row.uid, row.hash));
        essence(self.before) != essence(self.after)
    }
}

#[derive(Clone, Copy)]
struct Kept {
    row: ObjectState,
    round: u32,
}

/// All objects that a watch has named.
#[derive(Default)]
pub struct ObjectStore {
    rows: HashMap<ObjectKey, Kept>,
    /// Which list an object was last seen in or after, so that what a list did not name stands out.
    round: u32,
    complete: bool,
    /// The version up to which everything was heard.
    heard: u64,
    /// The highest version in a list that has not come to its end.
    listed: Option<u64>,
}

impl ObjectStore {
    /// Takes an event of a watch; what changed is told, also what a list shows to be gone. The hash is the consumer's
    /// choice of what is worth a reaction; an object that was seen in the same version is no change.
    pub fn take(
        &mut self,
        event: &WatchEvent,
        hash: impl FnOnce(&Value) -> u64,
        mut changed: impl FnMut(Change),
    ) {
        match event {
            WatchEvent::ListStarted => {
                self.round = self.round.wrapping_add(1);
                self.listed = Some(0);
            }
            WatchEvent::Applied(object) => {
                let row = ObjectState { hash: hash(object), ..row(object) };
                self.hear(row.version);
                self.put(ObjectKey::from_object(object), row, changed);
            }
            WatchEvent::Deleted(object) => {
                let key = ObjectKey::from_object(object);
                self.hear(row(object).version);
                if let Some(Kept { row, .. }) = self.rows.remove(&key) {
                    changed(Change { key, before: Some(row), after: None });
                }
            }
            // Nothing is known of it but that it is there.
            WatchEvent::TooDeep(key) => {
                self.put(key.clone(), ObjectState { uid: 0, version: 0, generation: 0, hash: 0 }, changed)
            }
            WatchEvent::ListDone => {
                self.complete = true;
                self.heard = self.heard.max(self.listed.take().unwrap_or(0));
                let round = self.round;
                for (key, Kept { row, .. }) in self.rows.extract_if(|_, kept| kept.round != round) {
                    changed(Change { key, before: Some(row), after: None });
                }
                if self.rows.capacity() / 4 > self.rows.len() {
                    self.rows.shrink_to_fit();
                }
            }
            WatchEvent::Failing(_) | WatchEvent::Recovered => {}
        }
    }

    /// Events come in the order of their versions, but those of a list in the order of names.
    fn hear(&mut self, version: u64) {
        let place = self.listed.as_mut().unwrap_or(&mut self.heard);
        *place = version.max(*place);
    }

    fn put(&mut self, key: ObjectKey, row: ObjectState, mut changed: impl FnMut(Change)) {
        let kept = Kept { row, round: self.round };
        let before = match self.rows.entry(key.clone()) {
            Entry::Occupied(mut entry) => Some(entry.insert(kept).row),
            Entry::Vacant(entry) => {
                entry.insert(kept);
                None
            }
        };
        if before != Some(row) {
            changed(Change { key, before, after: Some(row) });
        }
    }

    /// What is remembered of an object.
    pub fn get(&self, key: &ObjectKey) -> Option<&ObjectState> {
        self.rows.get(key).map(|kept| &kept.row)
    }

    /// Everything that is remembered, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&ObjectKey, &ObjectState)> {
        self.rows.iter().map(|(key, kept)| (key, &kept.row))
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The version up to which everything was heard: what had an older one and is not here is gone.
    pub fn heard(&self) -> u64 {
        self.heard
    }

    /// Whether a list has been seen to its end: before, what is not here may still be there.
    pub fn is_complete(&self) -> bool {
        self.complete
    }
}

fn row(object: &Value) -> ObjectState {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
    ObjectState {
        uid: uid(text("/metadata/uid")),
        version: text("/metadata/resourceVersion").parse().unwrap_or_default(),
        generation: object.pointer("/metadata/generation").and_then(Value::as_u64).unwrap_or_default(),
        hash: 0,
    }
}

/// The number that a uid is; what is no UUID (an aggregated server's own idea) is spread over all numbers.
pub fn uid(text: &str) -> u128 {
    let digits = text.bytes().filter(|byte| *byte != b'-');
    let number = digits.clone().try_fold((0_u128, 0), |(number, count), byte| {
        let digit = char::from(byte).to_digit(16)?;
        Some(((number << 4) | u128::from(digit), count + 1))
    });
    match number {
        Some((number, 32)) if text.len() == 36 => number,
        // FNV-1a: it has to be the same in every process, and nobody gains by a collision with himself.
        _ => text.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |hash, byte| {
            (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
        }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(name: &str, version: u64) -> Value {
        let uid = "7c1f2e0a-0b4d-4f7e-9a44-000000000001";
        json!({"metadata": {"namespace": "n", "name": name, "uid": uid, "resourceVersion": version.to_string(),
               "generation": 3}, "spec": version / 10})
    }

    fn changes(store: &mut ObjectStore, event: &WatchEvent) -> Vec<(String, Option<u64>, Option<u64>, bool)> {
        let mut all = Vec::new();
        store.take(
            event,
            |object| object["spec"].as_u64().unwrap_or_default(),
            |change| {
                let version = |row: Option<ObjectState>| row.map(|row| row.version);
                let Change { key, before, after } = &change;
                all.push((key.to_string(), version(*before), version(*after), change.matters()));
            },
        );
        all
    }

    #[test]
    fn changes_are_told_with_what_was_before() {
        let mut store = ObjectStore::default();
        let applied = |version| WatchEvent::Applied(object("a", version));
        let key = || "n/a".to_owned();
        assert_eq!(changes(&mut store, &applied(10)), [(key(), None, Some(10), true)]);
        assert_eq!(changes(&mut store, &applied(10)), []);
        assert_eq!(changes(&mut store, &applied(11)), [(key(), Some(10), Some(11), false)]);
        assert_eq!(changes(&mut store, &applied(21)), [(key(), Some(11), Some(21), true)]);
        let row = store.get(&ObjectKey::new(Some("n"), "a")).unwrap();
        assert_eq!((row.version, row.generation, row.hash), (21, 3, 2));
        assert_eq!(
            changes(&mut store, &WatchEvent::Deleted(object("a", 22))),
            [(key(), Some(21), None, true)]
        );
        assert_eq!(changes(&mut store, &WatchEvent::Deleted(object("a", 22))), []);
    }

    #[test]
    fn a_version_counts_as_heard_when_nothing_older_can_come() {
        let mut store = ObjectStore::default();
        let mut heard = |event: WatchEvent| {
            changes(&mut store, &event);
            store.heard()
        };
        assert_eq!(heard(WatchEvent::ListStarted), 0);
        assert_eq!(heard(WatchEvent::Applied(object("a", 30))), 0, "the list goes on");
        assert_eq!(heard(WatchEvent::Applied(object("b", 20))), 0);
        assert_eq!(heard(WatchEvent::ListDone), 30);
        assert_eq!(heard(WatchEvent::Deleted(object("c", 35))), 35, "also of what was never here");
        assert_eq!(heard(WatchEvent::ListStarted), 35);
        assert_eq!(heard(WatchEvent::ListDone), 35);
    }

    #[test]
    fn what_vanished_while_nobody_looked_is_found_by_the_next_list() {
        let mut store = ObjectStore::default();
        let list = |store: &mut ObjectStore, names: &[&str]| {
            let mut all = changes(store, &WatchEvent::ListStarted);
            for name in names {
                all.extend(changes(store, &WatchEvent::Applied(object(name, 10))));
            }
            all.extend(changes(store, &WatchEvent::ListDone));
            all.into_iter().map(|(key, before, _, _)| (key, before.is_none())).collect::<Vec<_>>()
        };
        assert!(!store.is_complete());
        assert_eq!(list(&mut store, &["a", "b"]), [("n/a".to_owned(), true), ("n/b".to_owned(), true)]);
        assert!(store.is_complete());
        assert_eq!(list(&mut store, &["b"]), [("n/a".to_owned(), false)]);
        // A list that broke off says nothing about what it did not name.
        assert_eq!(changes(&mut store, &WatchEvent::ListStarted), []);
        assert_eq!(changes(&mut store, &WatchEvent::Applied(object("c", 10))).len(), 1);
        assert_eq!(store.len(), 2);
        assert_eq!(list(&mut store, &["c"]), [("n/b".to_owned(), false)]);
        assert_eq!(store.len(), 1);
    }

    #[test]
    fn an_object_too_deep_to_read_is_still_there() {
        let mut store = ObjectStore::default();
        changes(&mut store, &WatchEvent::ListStarted);
        assert_eq!(changes(&mut store, &WatchEvent::TooDeep(ObjectKey::new(None, "a"))).len(), 1);
        changes(&mut store, &WatchEvent::ListDone);
        assert!(store.get(&ObjectKey::new(None, "a")).is_some());
    }

    #[test]
    fn uids_are_told_apart() {
        assert_eq!(uid("00000000-0000-0000-0000-0000000000ff"), 255);
        assert_ne!(uid("a"), uid("b"));
        assert_ne!(uid(""), 0);
    }
}
