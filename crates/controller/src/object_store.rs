//! The state of every watched object: enough to detect a change or drift, nothing of its body.

use std::collections::HashMap;
use std::collections::hash_map;

use serde_json::Value;

use podium_client::ObjectKey;
use podium_client::watch::WatchEvent;

/// The state of one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectState {
    /// Its uid as a number, see [`uid`].
    pub uid: u128,
    /// Its resourceVersion; 0 if it is not a number.
    pub version: u64,
    /// Its generation; 0 if the kind has none.
    pub generation: u64,
    /// A hash of what the consumer compares: the drift signature of an operator covers the fields that it owns.
    pub signature: u64,
}

/// A change of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The object.
    pub key: ObjectKey,
    /// Its state before; `None` if it is new.
    pub before: Option<ObjectState>,
    /// Its state now; `None` if it is gone.
    pub after: Option<ObjectState>,
}

impl Change {
    /// Whether the signature, the identity or the existence of the object changed, and not only its resourceVersion.
    pub fn is_significant(&self) -> bool {
        let essence = |row: Option<ObjectState>| row.map(|row| (row.uid, row.signature));
        essence(self.before) != essence(self.after)
    }
}

#[derive(Clone, Copy)]
struct Entry {
    state: ObjectState,
    list: u32,
}

/// The objects of one list and watch.
#[derive(Default)]
pub struct ObjectStore {
    entries: HashMap<ObjectKey, Entry>,
    /// The number of the last list: entries of an earlier one are gone when the list is complete.
    list: u32,
    synced: bool,
    /// The resourceVersion up to which all events were received.
    observed: u64,
    /// The highest resourceVersion in a list that is not complete.
    listed: Option<u64>,
}

impl ObjectStore {
    /// Applies a watch event and reports every change, also objects that a list shows to be gone. `signature` hashes what
    /// is worth a reaction; an object in an unchanged resourceVersion is no change.
    pub fn apply(
        &mut self,
        event: &WatchEvent,
        signature: impl FnOnce(&Value) -> u64,
        mut changed: impl FnMut(Change),
    ) {
        match event {
            WatchEvent::ListStarted => {
                self.list = self.list.wrapping_add(1);
                self.listed = Some(0);
            }
            WatchEvent::Applied(object) => {
                let state = ObjectState { signature: signature(object), ..state(object) };
                self.observe(state.version);
                self.put(ObjectKey::from_object(object), state, changed);
            }
            WatchEvent::Deleted(object) => {
                let key = ObjectKey::from_object(object);
                self.observe(state(object).version);
                if let Some(Entry { state, .. }) = self.entries.remove(&key) {
                    changed(Change { key, before: Some(state), after: None });
                }
            }
            // It exists, but its body cannot be held.
            WatchEvent::TooDeep(key) => self.put(
                key.clone(),
                ObjectState { uid: 0, version: 0, generation: 0, signature: 0 },
                changed,
            ),
            WatchEvent::ListDone => {
                self.synced = true;
                self.observed = self.observed.max(self.listed.take().unwrap_or(0));
                let list = self.list;
                for (key, Entry { state, .. }) in self.entries.extract_if(|_, entry| entry.list != list) {
                    changed(Change { key, before: Some(state), after: None });
                }
                if self.entries.capacity() / 4 > self.entries.len() {
                    self.entries.shrink_to_fit();
                }
            }
            WatchEvent::Failing(_) | WatchEvent::Recovered => {}
        }
    }

    /// Watch events come in the order of their resourceVersions, the items of a list in the order of their names.
    fn observe(&mut self, version: u64) {
        let version_seen = self.listed.as_mut().unwrap_or(&mut self.observed);
        *version_seen = version.max(*version_seen);
    }

    fn put(&mut self, key: ObjectKey, state: ObjectState, mut changed: impl FnMut(Change)) {
        let new = Entry { state, list: self.list };
        let before = match self.entries.entry(key.clone()) {
            hash_map::Entry::Occupied(mut entry) => Some(entry.insert(new).state),
            hash_map::Entry::Vacant(entry) => {
                entry.insert(new);
                None
            }
        };
        if before != Some(state) {
            changed(Change { key, before, after: Some(state) });
        }
    }

    /// The state of an object.
    pub fn get(&self, key: &ObjectKey) -> Option<&ObjectState> {
        self.entries.get(key).map(|entry| &entry.state)
    }

    /// All objects, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&ObjectKey, &ObjectState)> {
        self.entries.iter().map(|(key, entry)| (key, &entry.state))
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The resourceVersion up to which all events were received: an object with an older one that is absent is gone.
    pub fn observed_version(&self) -> u64 {
        self.observed
    }

    /// Whether the first list is complete: before, an absent object may still exist.
    pub fn has_synced(&self) -> bool {
        self.synced
    }
}

fn state(object: &Value) -> ObjectState {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
    ObjectState {
        uid: uid(text("/metadata/uid")),
        version: text("/metadata/resourceVersion").parse().unwrap_or_default(),
        generation: object.pointer("/metadata/generation").and_then(Value::as_u64).unwrap_or_default(),
        signature: 0,
    }
}

/// The drift signature of an object: a hash of the set of fields that a field manager applies. It changes when another
/// manager takes one of them or the object is being deleted, and not when the status or fields of other managers change.
pub fn drift_signature(object: &Value, field_manager: &str) -> u64 {
    let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    let applied = entries.into_iter().flatten().find(|entry| {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
        text("manager") == field_manager && text("operation") == "Apply" && text("subresource").is_empty()
    });
    let deleted = object.pointer("/metadata/deletionTimestamp").is_some();
    let fields = applied.and_then(|entry| entry.get("fieldsV1")).map(ToString::to_string).unwrap_or_default();
    // FNV-1a: stored in release records, so it has to be the same in every build.
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    fields.bytes().chain([u8::from(deleted)]).fold(0xcbf2_9ce4_8422_2325, mix)
}

/// A uid as a number. A uid that is not a UUID (of an aggregated API server) is hashed.
pub fn uid(text: &str) -> u128 {
    let digits = text.bytes().filter(|byte| *byte != b'-');
    let number = digits.clone().try_fold((0_u128, 0), |(number, count), byte| {
        let digit = char::from(byte).to_digit(16)?;
        Some(((number << 4) | u128::from(digit), count + 1))
    });
    match number {
        Some((number, 32)) if text.len() == 36 => number,
        // FNV-1a: equal in every process; a collision harms only the one who provokes it.
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
        store.apply(
            event,
            |object| object["spec"].as_u64().unwrap_or_default(),
            |change| {
                let version = |row: Option<ObjectState>| row.map(|row| row.version);
                let Change { key, before, after } = &change;
                all.push((key.to_string(), version(*before), version(*after), change.is_significant()));
            },
        );
        all
    }

    #[test]
    fn reports_changes_with_the_state_before() {
        let mut store = ObjectStore::default();
        let applied = |version| WatchEvent::Applied(object("a", version));
        let key = || "n/a".to_owned();
        assert_eq!(changes(&mut store, &applied(10)), [(key(), None, Some(10), true)]);
        assert_eq!(changes(&mut store, &applied(10)), []);
        assert_eq!(changes(&mut store, &applied(11)), [(key(), Some(10), Some(11), false)]);
        assert_eq!(changes(&mut store, &applied(21)), [(key(), Some(11), Some(21), true)]);
        let row = store.get(&ObjectKey::new(Some("n"), "a")).unwrap();
        assert_eq!((row.version, row.generation, row.signature), (21, 3, 2));
        assert_eq!(
            changes(&mut store, &WatchEvent::Deleted(object("a", 22))),
            [(key(), Some(21), None, true)]
        );
        assert_eq!(changes(&mut store, &WatchEvent::Deleted(object("a", 22))), []);
    }

    #[test]
    fn a_version_is_observed_when_nothing_older_can_come() {
        let mut store = ObjectStore::default();
        let mut observed = |event: WatchEvent| {
            changes(&mut store, &event);
            store.observed_version()
        };
        assert_eq!(observed(WatchEvent::ListStarted), 0);
        assert_eq!(observed(WatchEvent::Applied(object("a", 30))), 0, "the list goes on");
        assert_eq!(observed(WatchEvent::Applied(object("b", 20))), 0);
        assert_eq!(observed(WatchEvent::ListDone), 30);
        assert_eq!(
            observed(WatchEvent::Deleted(object("c", 35))),
            35,
            "also of an object that was never stored"
        );
        assert_eq!(observed(WatchEvent::ListStarted), 35);
        assert_eq!(observed(WatchEvent::ListDone), 35);
    }

    #[test]
    fn a_list_reports_objects_deleted_while_the_watch_was_down() {
        let mut store = ObjectStore::default();
        let list = |store: &mut ObjectStore, names: &[&str]| {
            let mut all = changes(store, &WatchEvent::ListStarted);
            for name in names {
                all.extend(changes(store, &WatchEvent::Applied(object(name, 10))));
            }
            all.extend(changes(store, &WatchEvent::ListDone));
            all.into_iter().map(|(key, before, _, _)| (key, before.is_none())).collect::<Vec<_>>()
        };
        assert!(!store.has_synced());
        assert_eq!(list(&mut store, &["a", "b"]), [("n/a".to_owned(), true), ("n/b".to_owned(), true)]);
        assert!(store.has_synced());
        assert_eq!(list(&mut store, &["b"]), [("n/a".to_owned(), false)]);
        // An interrupted list says nothing about the objects that it did not name.
        assert_eq!(changes(&mut store, &WatchEvent::ListStarted), []);
        assert_eq!(changes(&mut store, &WatchEvent::Applied(object("c", 10))).len(), 1);
        assert_eq!(store.len(), 2);
        assert_eq!(list(&mut store, &["c"]), [("n/b".to_owned(), false)]);
        assert_eq!(store.len(), 1);
    }

    #[test]
    fn keeps_an_object_that_is_too_deep_to_read() {
        let mut store = ObjectStore::default();
        changes(&mut store, &WatchEvent::ListStarted);
        assert_eq!(changes(&mut store, &WatchEvent::TooDeep(ObjectKey::new(None, "a"))).len(), 1);
        changes(&mut store, &WatchEvent::ListDone);
        assert!(store.get(&ObjectKey::new(None, "a")).is_some());
    }

    #[test]
    fn drift_signature_covers_the_applied_fields_only() {
        let entry = |manager: &str, fields: &str| json!({"manager": manager, "operation": "Apply", "fieldsV1": {fields: {}}});
        let object = |own: &str, other: &str| json!({"metadata": {"managedFields": [entry("own", own), entry("other", other)]}});
        let signature = |object: Value| drift_signature(&object, "own");
        assert_eq!(signature(object("f:spec", "f:a")), signature(object("f:spec", "f:b")));
        assert_ne!(signature(object("f:spec", "f:a")), signature(object("f:data", "f:a")));
        let mut deleted = object("f:spec", "f:a");
        deleted["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        assert_ne!(signature(deleted), signature(object("f:spec", "f:a")));
    }

    #[test]
    fn uids_are_distinguished() {
        assert_eq!(uid("00000000-0000-0000-0000-0000000000ff"), 255);
        assert_ne!(uid("a"), uid("b"));
        assert_ne!(uid(""), 0);
    }
}
