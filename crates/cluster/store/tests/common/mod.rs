//! What the tests have in common: chance that can be repeated, objects, and a simple model of the store.
#![allow(dead_code, reason = "every test uses a part of it")]

use std::collections::BTreeMap;
use std::sync::Arc;

use podium_store::{Draft, Event, Expect, Key, Object, Query, Revision, Store};

/// Numbers that look random, and are the same for the same seed.
pub struct Chance(pub u64);

impl Chance {
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) % limit.max(1) as u64) as usize
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

pub const RESOURCES: [&str; 3] = ["configmaps", "apps/deployments", "nodes"];
const NAMESPACES: [&str; 4] = ["a", "a-b", "b", ""];

/// The JSON of an object, with anything as its revision.
pub fn body(name: &str, color: &str, data: &str, revision: &str) -> String {
    format!(
        r#"{{"kind":"ConfigMap","apiVersion":"v1","metadata":{{"name":"{name}","resourceVersion":"{revision}","labels":{{"color":"{color}"}}}},"data":{{"x":"{data}"}}}}"#
    )
}

#[derive(Debug, Clone)]
pub struct Write {
    pub resource: &'static str,
    pub path: (String, String),
    pub expect: Expect,
    pub content: Option<(String, String)>,
}

impl Write {
    pub fn random(chance: &mut Chance, model: &Model) -> Self {
        let resource = *chance.pick(&RESOURCES);
        let path = (chance.pick(&NAMESPACES).to_string(), format!("n{}", chance.below(6)));
        let current = model.newest().get(&(resource, join(&path))).map(|(revision, _)| *revision);
        let expect = match chance.below(5) {
            0 => Expect::Any,
            1 => Expect::Absent,
            2 => Expect::At(chance.below(model.revision() as usize + 2) as u64),
            _ => current.map_or(Expect::Absent, Expect::At),
        };
        let content = (chance.below(4) > 0).then(|| {
            let length = *chance.pick(&[0, 3, 40, 700]);
            (chance.pick(&["red", "blue"]).to_string(), "x".repeat(length + chance.below(9)))
        });
        Self { resource, path, expect, content }
    }

    pub fn key(&self) -> Key {
        Key::new(self.resource, &self.path.0, &self.path.1)
    }

    pub fn draft(&self) -> Option<Draft> {
        let (color, data) = self.content.as_ref()?;
        Some(Draft::new(body(&self.path.1, color, data, "")).unwrap().field("data.x", data))
    }

    pub fn parts(&self) -> (Key, Expect, Option<Draft>) {
        (self.key(), self.expect, self.draft())
    }

    fn text(&self, revision: Revision) -> Option<String> {
        let (color, data) = self.content.as_ref()?;
        Some(body(&self.path.1, color, data, &revision.to_string()))
    }
}

pub fn join(path: &(String, String)) -> String {
    if path.0.is_empty() { path.1.clone() } else { format!("{}/{}", path.0, path.1) }
}

pub type State = BTreeMap<(&'static str, String), (Revision, Arc<str>)>;

/// What the store should hold: the state at every revision.
#[derive(Debug, Clone)]
pub struct Model {
    states: Vec<Arc<State>>,
    touched: Vec<(&'static str, String)>,
}

impl Default for Model {
    fn default() -> Self {
        Self { states: vec![Arc::default()], touched: Vec::new() }
    }
}

impl Model {
    pub fn revision(&self) -> Revision {
        self.touched.len() as u64
    }

    pub fn newest(&self) -> &State {
        self.states.last().unwrap()
    }

    pub fn at(&self, revision: Revision) -> &State {
        &self.states[revision as usize]
    }

    /// Makes a write; whether it may be made.
    pub fn write(&mut self, write: &Write) -> bool {
        let place = (write.resource, join(&write.path));
        let old = self.newest().get(&place).map(|(revision, _)| *revision);
        let allowed = match (write.expect, old) {
            (Expect::Any, old) => write.content.is_some() || old.is_some(),
            (Expect::Absent, old) => old.is_none() && write.content.is_some(),
            (Expect::At(expected), old) => old == Some(expected),
        };
        if allowed {
            let revision = self.revision() + 1;
            let mut state = State::clone(self.newest());
            match write.text(revision) {
                Some(text) => drop(state.insert(place.clone(), (revision, text.into()))),
                None => drop(state.remove(&place)),
            }
            self.states.push(Arc::new(state));
            self.touched.push(place);
        }
        allowed
    }

    /// What a watcher is told of after a revision, in words.
    pub fn told(&self, resource: &str, prefix: &str, after: Revision) -> Vec<String> {
        let mut told = Vec::new();
        for revision in after + 1..=self.revision() {
            let place = &self.touched[revision as usize - 1];
            if place.0 == resource && place.1.starts_with(prefix) {
                let text = |state: &State| state.get(place).map(|(_, text)| text.to_string());
                told.push(words(revision, text(self.at(revision - 1)), text(self.at(revision))));
            }
        }
        told
    }
}

fn words(revision: Revision, old: Option<String>, new: Option<String>) -> String {
    format!("{revision}: {old:?} -> {new:?}")
}

pub fn text(object: &Object) -> String {
    String::from_utf8(object.body().to_vec()).unwrap()
}

pub fn told(event: &Event) -> String {
    words(event.revision(), event.before().map(text), event.now().map(text))
}

/// Everything that the store has at a revision, page by page.
pub fn state_of(store: &Store, at: Option<Revision>, limit: usize) -> podium_store::Result<State> {
    let mut state = State::new();
    let at = at.unwrap_or(store.revision());
    for resource in RESOURCES {
        let collection = store.collection(resource);
        let mut after: Box<str> = "".into();
        loop {
            let page = collection
                .list(Query { after: &after, limit, at: Some(at), ..Query::default() }, |_| true)?;
            assert_eq!(page.revision, at);
            for object in &page.objects {
                assert!(object.path() > &*after, "in order");
                let data = object.field("data.x");
                assert!(text(object).contains(data));
                after = object.path().into();
                state.insert((resource, object.path().to_string()), (object.revision(), text(object).into()));
            }
            match page.next {
                Some(next) => assert_eq!(next, after),
                None => break,
            }
        }
    }
    Ok(state)
}

/// A directory that is gone when the test is over.
pub struct Scratch(pub std::path::PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("podium-store-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Creates or replaces an object, and waits for it.
pub fn put(store: &Store, resource: &str, name: &str, data: &str) -> Object {
    let draft = Draft::new(body(name, "red", data, "")).unwrap();
    store.put(Key::new(resource, "ns", name), Expect::Any, draft).wait().unwrap().object
}
